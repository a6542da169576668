"""The command that schedules runs, and stays to run them: `serve`."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from bicliq.flows.cli.commands import Room

if TYPE_CHECKING:
    from bicliq.pipeline.settings import Settings

room = Room("Schedules")


@room.command(
    "serve",
    'bicliq serve s3://lake/edges.parquet --cron "0 3 * * *" --store s3://lake/groups',
    "bicliq serve --file deployments.toml",
)
def serve(
    context: typer.Context,
    settings: Settings,
    edges: Annotated[str | None, typer.Argument(metavar="EDGES", help="Edge table: a path or an fsspec URL.")] = None,
    file: Annotated[
        str | None,
        typer.Option("--file", help="A TOML file with a table a deployment: flow, cron or interval, parameters."),
    ] = None,
    cron: Annotated[str | None, typer.Option("--cron", help='Schedule, as "0 3 * * *" (UTC).')] = None,
    interval: Annotated[float | None, typer.Option("--interval", help="Schedule: seconds between two runs.")] = None,
    name: Annotated[
        str | None, typer.Option("--name", help="Name of the deployment; by default made of EDGES and the store.")
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take over a deployment of this name that has another table or store.")
    ] = False,
) -> None:
    """Schedule the whole way, or the flows of a file, as Prefect deployments, and stay to run them.

    It needs a Prefect server, which fires the schedules: start one with [bold]prefect server
    start[/bold] and name it with [bold]prefect config set
    PREFECT_API_URL=http://127.0.0.1:4200/api[/bold].
    """
    from bicliq.flows.deploy import etl_deployment
    from bicliq.flows.deploy import serve as stay
    from bicliq.flows.deployments import read_deployments
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.extras import needs

    if (edges is None) == (file is None):
        raise InputError("name an edge table, or a --file of deployments, one of the two")
    with needs("flows", "serve"):
        import prefect  # noqa: F401
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Prefect's loop puts its own one in its place
    if file is not None:
        given = [each for each, value in context.params.items() if value not in (None, False)]
        if idle := [each for each in given if each not in ("file", "replace", "settings", "verbose", "log_json")]:
            raise InputError(f"--{idle[0].replace('_', '-')} is for one table; with --file it stands in the file")
        deployments = read_deployments(file)
    else:
        deployments = [etl_deployment(str(edges), settings, name=name, cron=cron, interval=interval)]
    stay(deployments, take_over=replace, ready=lambda each: print(f"{each} is served", file=sys.stderr, flush=True))
