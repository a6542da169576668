"""Commands about a run that is in the store: `resume`, `top`, `verify`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

import typer

from flows.cli.commands import Room
from flows.cli.options import EXIT_OTHER, Json, RunName
from pipeline.settings import Settings

room = Room("Runs of the store")


@room.command("resume", "bicliq resume 3f2a --store wiki-store")
def resume(settings: Settings, run: RunName = None, json: Json = False) -> None:
    """Search what is missing of a run, and publish it."""
    from flows.cli import console
    from pipeline.run import resume as resume_run
    from pipeline.store.results import open_run

    name = open_run(settings.store, run).run
    with console.observed(json) as observer:
        record = resume_run(name, settings, observer).record()
    console.answer(record, json, console.summary_table)


@room.command("top", "bicliq top -k 20 --by left --store wiki-store")
def top(
    settings: Settings,
    run: RunName = None,
    k: Annotated[int, typer.Option("-k", help="How many.")] = 10,
    by: Annotated[Literal["edges", "left", "right"], typer.Option("--by", help="What is large.")] = "edges",
    dense: Annotated[bool, typer.Option("--dense", help="Show dense ids instead of the original ones.")] = False,
    json: Json = False,
) -> None:
    """Show the largest bicliques of a run, with their original ids."""
    from flows.cli import console
    from pipeline.store.results import open_run

    opened = open_run(settings.store, run)
    rows = opened.top(k, by, ids=not dense).to_pylist()
    console.answer({"run": opened.run, "by": by, "bicliques": rows}, json, console.biclique_table)


@room.command("verify", "bicliq verify --store wiki-store")
def verify(
    settings: Settings,
    run: RunName = None,
    sample: Annotated[int, typer.Option("--sample", min=0, help="Bicliques to check against the graph.")] = 1000,
    json: Json = False,
) -> None:
    """Read a run again and check it: checksums, rows, digest, and a sample against the graph."""
    from flows.cli import console
    from pipeline.stages.publish import verify as verify_run
    from pipeline.store.results import open_run

    opened = open_run(settings.store, run)
    found = verify_run(opened.store, opened.run, sample)
    if found.ok or json:
        console.answer({**asdict(found), "ok": found.ok}, json, console.verified)
    else:
        console.complain(found.problems)
    if not found.ok:
        raise typer.Exit(EXIT_OTHER)
