"""Commands about versions of a run: `update`."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.cli.commands import Room
from flows.cli.options import Edges, Json
from pipeline.settings import Settings

room = Room("Versions of a run")


@room.command(
    "update",
    "bicliq update today.csv --store shop-store",
    "bicliq update cancelled.csv --delete --store shop-store",
    "bicliq update today.parquet --run 3f2a --left buyer --right product --store shop-store",
)
def update(
    settings: Settings,
    edges: Edges,
    delete: Annotated[bool, typer.Option("--delete", help="Take the edges away.")] = False,
    run: Annotated[
        str | None, typer.Option("--run", help="A run, or how its name begins; by default the latest.")
    ] = None,
    prefect: Annotated[
        bool, typer.Option("--prefect", help="Run as a Prefect flow, with its states and artifacts.")
    ] = False,
    json: Json = False,
) -> None:
    """Join the edges of a table to a run, or take them away, as a new version of the run.

    Only what they change is searched. The table is read as that of the run was, unless options say
    otherwise; thresholds are those of the run. Files that were taken are not taken again.
    """
    from flows.cli import console

    if prefect:
        from flows.update import update_flow

        given = settings.model_dump(mode="json", exclude_unset=True)
        record = update_flow(edges, {**given, "store": settings.store}, run, delete)
    else:
        from pipeline.versions.update import update as update_run

        with console.observed(json) as observer:
            record = update_run(edges, settings, run, delete=delete, observer=observer).record()
    console.answer(record, json, console.updated)
