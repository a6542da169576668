"""Commands about what is in the store: `runs`, `resume`, `top`, `verify`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from flows.cli.commands import Room
from flows.cli.options import EXIT_OTHER, Json, RunName
from pipeline.settings import Settings

room = Room("Runs of the store")


@room.command("resume", "bicliq resume 3f2a --store wiki-store")
def resume(settings: Settings, run: RunName = None, json: Json = False) -> None:
    """Search what is missing or damaged of a run, and publish it.

    Without RUN: the last one that is not complete.
    """
    from flows.cli import console
    from pipeline.run import resume as resume_run
    from pipeline.store.layout import Store
    from pipeline.store.states import run_to_resume

    opened = Store.open(settings.store, create=False)
    name = run_to_resume(opened) if run is None else opened.find_run(run)
    with console.observed(json) as observer:
        record = resume_run(name, settings, observer).record()
    console.answer(record, json, console.summary_table)


@room.command("runs", "bicliq runs --store wiki-store")
def runs(settings: Settings, json: Json = False) -> None:
    """List the runs of a store: how far each is, what it asks for, its sizes and times."""
    from flows.cli import console
    from pipeline.store.layout import Store
    from pipeline.store.states import list_runs

    opened = Store.open(settings.store, create=False)
    record = {"store": opened.uri, "runs": list_runs(opened)}
    console.answer(record, json, console.runs_table, wide_table=True)


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
    record = {"run": opened.run, "by": by, **opened.state.record(), "bicliques": rows}
    console.answer(record, json, lambda shown: console.biclique_table(shown, str(opened.state)))


@room.command("verify", "bicliq verify --store wiki-store", "bicliq verify --repair --store wiki-store")
def verify(
    settings: Settings,
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="A run, or how its name begins; by default all that is in the store."),
    ] = None,
    sample: Annotated[
        int, typer.Option("--sample", min=0, help="Bicliques of a run to check against the graph.")
    ] = 1000,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Search or derive again what is damaged, remove what killed processes left."),
    ] = False,
    json: Json = False,
) -> None:
    """Read every file again and check it: seals, checksums, rows, digests, and a sample.

    The sample of bicliques is checked against the graph.
    """
    from flows.cli import console
    from pipeline.stages.verify import verify_store
    from pipeline.store.layout import Store

    opened = Store.to_verify(settings.store)
    name = None if run is None else opened.find_run(run)
    mended = {}
    if repair:
        from pipeline.repair import repair as mend

        mended = {"repaired": mend(opened, settings, name)}
    found = verify_store(opened, name, sample)
    console.answer({**found.record(), **mended}, json, console.verified)
    if not json:
        console.complain(found.problems)
    if not found.ok:
        raise typer.Exit(EXIT_OTHER)
