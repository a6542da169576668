"""The command that schedules runs, and stays to run them: `serve`."""

from __future__ import annotations

from typing import Annotated

import typer

from flows.cli.commands import Room
from flows.cli.options import Edges
from pipeline.settings import Settings

room = Room("Schedules")


@room.command("serve", 'bicliq serve s3://lake/edges.parquet --cron "0 3 * * *" --store s3://lake/groups')
def serve(
    settings: Settings,
    edges: Edges,
    cron: Annotated[str | None, typer.Option("--cron", help='Schedule, as "0 3 * * *" (UTC).')] = None,
    interval: Annotated[float | None, typer.Option("--interval", help="Schedule: seconds between two runs.")] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the deployment; by default made of EDGES and the store.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take over a deployment of this name that has another table or store.")
    ] = False,
) -> None:
    """Schedule the whole way as a Prefect deployment, and stay to run it.

    It needs a Prefect server, which fires the schedule: start one with [bold]prefect server
    start[/bold] and name it with [bold]prefect config set
    PREFECT_API_URL=http://127.0.0.1:4200/api[/bold].
    """
    from flows.deploy import serve_etl

    serve_etl(edges, settings, name=name, cron=cron, interval=interval, replace=replace)
    raise KeyboardInterrupt  # Prefect ends at one without a word, and nothing else ends it
