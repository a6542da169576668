"""Scheduled runs: flows as Prefect deployments, served by this process.

Three processes take part. The Prefect server keeps the schedule and says when a run is due; this
one asks it every few seconds, and starts a process for each run. Without a server there is nobody
who could say so: hence one is required. Each of the three may die at any time (`flows.served`,
`flows.automations`, `flows.turns`).
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import signal
from collections.abc import Callable
from typing import Any

from bicliq.flows.automations import HEARTBEAT_SECONDS, WATCHED, register_automations
from bicliq.flows.deployments import Deployment, anywhere
from bicliq.flows.served import BEGINS_WITHIN, ServedDeployments
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.events import LOGGER
from bicliq.pipeline.settings import Settings

NEEDS_A_SERVER = (
    "start one with `prefect server start`, and name it with `prefect config set"
    " PREFECT_API_URL=http://127.0.0.1:4200/api` or in the variable PREFECT_API_URL"
)


def etl_deployment(
    source: str, settings: Settings, *, name: str | None = None, cron: str | None = None, interval: float | None = None
) -> Deployment:
    """Make the deployment of a table's way to its store.

    `source`: path or fsspec URL of the edge table that every run reads. `settings`: settings of
    every run. `name`: name of the deployment; None: that of `deployment_name`. `cron`, `interval`:
    the schedule: a cron expression (UTC), or seconds between two runs; neither: runs are started by
    hand. Raises InputError if both schedules are given, or one makes no sense; if the name is none.
    """
    from bicliq.flows.etl import etl

    source, store = anywhere(source), anywhere(settings.store)
    parameters = {"source": source, "settings": {**settings.model_dump(mode="json"), "store": store}}
    named = deployment_name(source, store) if name is None else name
    found = Deployment(named, etl, parameters, cron, interval)
    found.check()
    return found


def serve(
    deployments: list[Deployment], *, take_over: bool = False, ready: Callable[[str], None] | None = None
) -> None:
    """Register deployments with their schedules and stay to run them, until interrupted.

    `deployments`: those to run. `take_over`: whether a deployment of such a name that has another
    table or store may be replaced. `ready`: called with the name of each deployment, as soon as it
    is registered. Raises KeyboardInterrupt at SIGINT, SIGTERM and SIGHUP, which end it; runs that
    are on their way are ended, too. Raises InputError if there is no server, or a name is taken.

    Runs of a deployment never overlap: one that is due while another is on its way is cancelled,
    since the next one does what is missing. Of runs that died before, the first look makes an end,
    so that what is due starts. The schedules are not paused when this process ends: another one
    that serves the same names goes on with them, and begins with what was due in between.
    `prefect.yaml` declares such deployments for work pools.
    """
    from bicliq.flows.runner import LastingRunner

    LOGGER.propagate = False  # Prefect's root logger would say all again
    require_server()
    if not take_over:
        for deployment in deployments:
            _refuse_another(f"{deployment.flow.name}/{deployment.name}", deployment.parameters)
    register_automations()
    served = ServedDeployments(deployments)
    served.look()
    runner = LastingRunner(heartbeat_seconds=HEARTBEAT_SECONDS, limit=None, pause_on_shutdown=False)
    signal.signal(signal.SIGHUP, runner.handle_sigterm)
    for deployment in deployments:
        _add(runner, deployment)
        if ready is not None:
            ready(f"{deployment.flow.name}/{deployment.name}")
    served.look_until_the_end()
    try:
        asyncio.run(runner.start())
    finally:
        served.end()


def deployment_name(source: str, store: str) -> str:
    """Name the deployment that takes a table to a store: readable, and no other pair has the same.

    Examples
    --------
    >>> deployment_name("s3://lake/edges.parquet", "s3://lake/groups")
    'edges-parquet-to-groups-37e4e1'
    """
    ends = (re.sub(r"[^a-z0-9]+", "-", uri.rstrip("/").rsplit("/", 1)[-1].lower()) for uri in (source, store))
    digest = hashlib.sha256(f"{source}\n{store}".encode()).hexdigest()[:6]
    return "-".join(["-to-".join(end.strip("-") or "data" for end in ends), digest])


def _add(runner: Any, deployment: Deployment) -> None:
    """Register a deployment, whose runs the runner starts as processes of its own.

    They write to its own standard error: of a pipe to a runner that was killed, a run would die.
    """
    from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy

    one_at_a_time = ConcurrencyLimitConfig(
        limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW, grace_period_seconds=BEGINS_WITHIN
    )
    runner.add_flow(
        deployment.flow,
        name=deployment.name,
        parameters=deployment.parameters,
        cron=deployment.cron,
        interval=deployment.interval,
        concurrency_limit=one_at_a_time,
        description=(deployment.flow.__doc__ or "").strip().split("\n")[0],
        tags=["bicliq", WATCHED],
    )


def require_server() -> None:
    """Refuse to serve where no server answers."""
    from prefect.client.orchestration import get_client
    from prefect.settings import PREFECT_API_URL

    url = PREFECT_API_URL.value()
    if not url:
        raise InputError(f"serve needs a Prefect server, which keeps the schedule; {NEEDS_A_SERVER}")
    with get_client(sync_client=True) as client:
        problem = client.api_healthcheck()
    if problem is not None:
        raise InputError(f"serve needs a Prefect server, and none answers at {url} ({problem}); {NEEDS_A_SERVER}")


def _refuse_another(deployment: str, parameters: dict[str, Any]) -> None:
    """Refuse to replace a deployment that takes another table, or goes to another store."""
    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound

    try:
        with get_client(sync_client=True) as client:
            found = client.read_deployment_by_name(deployment).parameters
    except ObjectNotFound:
        return
    taken = found.get("source"), (found.get("settings") or {}).get("store")
    if taken != (parameters.get("source"), parameters["settings"]["store"]):
        raise InputError(
            f"the deployment {deployment} is there already, and takes {taken[0]} to {taken[1]}; give another --name, or"
            " --replace it"
        )
