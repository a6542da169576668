"""Scheduled runs: the etl flow as a Prefect deployment, served by this process.

Three processes take part. The Prefect server keeps the schedule and says when a run is due; this
one asks it every few seconds, and starts a process for each run. Without a server there is nobody
who could say so: hence one is required.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from typing import Any

from pipeline.errors import InputError
from pipeline.settings import Settings

NEEDS_A_SERVER = (
    "start one with `prefect server start`, and name it with `prefect config set"
    " PREFECT_API_URL=http://127.0.0.1:4200/api` or in the variable PREFECT_API_URL"
)
DEAD_AFTER = 60
"""Seconds without a sign of life after which a run counts as dead, and another may start.

The least that Prefect takes.
"""

LONGEST_INTERVAL = 366 * 86_400
"""Seconds: a schedule that is rarer than once a year is a mistake."""


def serve_etl(
    source: str,
    settings: Settings,
    *,
    name: str | None = None,
    cron: str | None = None,
    interval: float | None = None,
    replace: bool = False,
) -> None:
    """Register the etl flow with its schedule and stay to run it, until interrupted.

    Parameters
    ----------
    source
        Path or fsspec URL of the edge table that every run reads.
    settings
        Settings of every run.
    name
        Name of the deployment; None: that of `deployment_name`.
    cron, interval
        The schedule: a cron expression (UTC), or seconds between two runs; neither: runs are
        started by hand.
    replace
        Whether a deployment of this name that has another table or store may be replaced.

    Raises
    ------
    InputError
        If both schedules are given, or one makes no sense; if there is no server; if the name is
        taken.

    Notes
    -----
    Runs never overlap: one that is due while another is on its way is cancelled, since the next one
    does what is missing. The schedule is not paused when this process ends: another one that serves
    the same name goes on with it, and begins with what was due in between. `prefect.yaml` declares
    such a deployment for work pools.
    """
    _check_schedule(cron, interval)
    source, store = _anywhere(source), _anywhere(settings.store)
    name = deployment_name(source, store) if name is None else name
    if not name.strip() or re.search("[/%&<>]", name):
        raise InputError(f"--name {name!r}: a deployment's name needs a letter, and none of / % & < >")
    parameters = {"source": source, "settings": {**settings.model_dump(mode="json"), "store": store}}
    _require_server()
    from flows.etl import etl

    if not replace:
        _refuse_another(f"{etl.name}/{name}", parameters)
    _serve(etl, name, parameters, {"cron": cron, "interval": interval})


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


def _serve(flow: Any, name: str, parameters: dict[str, Any], schedule: dict[str, Any]) -> None:
    from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy

    one_at_a_time = ConcurrencyLimitConfig(
        limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW, grace_period_seconds=DEAD_AFTER
    )
    flow.serve(
        name=name,
        parameters=parameters,
        pause_on_shutdown=False,
        global_limit=one_at_a_time,
        description="An edge table to its maximal bicliques, resumable.",
        tags=["bicliq"],
        **schedule,
    )


def _anywhere(uri: str) -> str:
    """Return a path or URL that means the same in any folder."""
    return uri if "://" in uri or "::" in uri else os.path.abspath(uri)


def _require_server() -> None:
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
    if taken != (parameters["source"], parameters["settings"]["store"]):
        raise InputError(
            f"the deployment {deployment} is there already, and takes {taken[0]} to {taken[1]}; give another --name, or"
            " --replace it"
        )


def _check_schedule(cron: str | None, interval: float | None) -> None:
    if cron is not None and interval is not None:
        raise InputError("--cron and --interval contradict each other; give one of them")
    if interval is not None and not 1 <= interval <= LONGEST_INTERVAL:
        raise InputError(f"--interval {interval:g}: between two runs there must be from 1 second to a year")
    if cron is not None:
        _check_cron(cron)


def _check_cron(text: str) -> None:
    """Refuse what is no cron expression, and one whose day never comes.

    The scheduler of the server would die of the latter.
    """
    from prefect.server.schemas.schedules import CronSchedule
    from pydantic import ValidationError

    fields = 'write five fields, as in "0 3 * * *"'
    try:
        coming = asyncio.run(CronSchedule(cron=text).get_dates(1))
    except ValidationError as error:
        raise InputError(
            f"--cron {text!r}: {error.errors()[0]['msg'].removeprefix('Value error, ')}; {fields}"
        ) from None
    except ValueError:  # of croniter, which finds no such day
        coming = []
    if not coming:
        raise InputError(f"--cron {text!r}: such a day never comes; {fields}")
