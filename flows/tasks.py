"""The stages as Prefect tasks: each calls one `pipeline` function, and logs what that did.

A task that runs again, after a failure or because a worker died, finds what is committed and does
only the rest. It is tried again only where that may help (`pipeline.errors.may_heal`).
"""

from __future__ import annotations

import logging
from dataclasses import asdict
from functools import partial
from typing import Any, cast

from prefect import get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.exceptions import MissingContextError, TerminationSignal
from prefect.states import Completed

from bicliq.flows.artifacts import show_search
from bicliq.flows.words import many
from bicliq.pipeline.errors import BicliqError, may_heal
from bicliq.pipeline.events import LOGGER, tell
from bicliq.pipeline.placement.cluster import open_cluster
from bicliq.pipeline.run import call_options
from bicliq.pipeline.settings import Settings, load_settings
from bicliq.pipeline.stages.checks import check_input
from bicliq.pipeline.stages.forecast import forecast
from bicliq.pipeline.stages.ingest import ingest
from bicliq.pipeline.stages.plan import plan
from bicliq.pipeline.stages.planned import place_partitions
from bicliq.pipeline.stages.profile import profile
from bicliq.pipeline.stages.publish import publish
from bicliq.pipeline.stages.search_run import search_run
from bicliq.pipeline.stages.verify import verify
from bicliq.pipeline.store.layout import Store


def _worth_a_retry(task: Any, task_run: Any, state: Any) -> bool:
    return may_heal(state.result(raise_on_failure=False))


STAGE: dict[str, Any] = {
    "retries": 2,
    "retry_delay_seconds": [2, 10],
    "retry_condition_fn": _worth_a_retry,
    "cache_policy": NO_CACHE,
    "persist_result": False,
}
"""Options of every task."""


class _OneLine(logging.Filter):
    """Leaves the traceback of our own errors out, whose message says what to do, and of signals."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.exc_info and isinstance(record.exc_info[1], (BicliqError, TerminationSignal, KeyboardInterrupt)):
            record.exc_info = None
        return True


def _to_prefect(record: logging.LogRecord) -> bool:
    """Hand an event to the logger of the Prefect run that it happens in, and to nobody else."""
    try:
        logger = get_run_logger()
    except MissingContextError:  # no run, or a thread that knows of none
        return True
    logger.log(record.levelno, record.getMessage())
    return False


LOGGER.addFilter(_to_prefect)
for _name in ("prefect.flow_runs", "prefect.task_runs", "prefect.engine"):
    logging.getLogger(_name).addFilter(_OneLine())


def settings_of(values: dict[str, Any] | None) -> Settings:
    """Settings from plain values over environment, file and defaults; Prefect hears all events."""
    LOGGER.setLevel(logging.INFO)
    return load_settings(**(values or {}))


@task(name="ingest", task_run_name="ingest {source}", **STAGE)
def ingest_task(source: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Edge table to canonical graph."""
    asked = settings_of(settings)
    record = ingest(
        source,
        Store.open(asked.store),
        asked.ingest,
        backend=asked.data_backend,
        memory_limit=asked.search.memory_limit,
    )
    return {"graph": record.graph, "summary": record.summary, "seconds": record.seconds}


@task(name="profile", **STAGE)
def profile_task(graph: str, settings: dict[str, Any]) -> float:
    """Degrees, two-step work, components."""
    asked = settings_of(settings)
    return profile(Store.open(asked.store, create=False), graph, asked.data_backend, asked.search.memory_limit).seconds


@task(name="plan", **STAGE)
def plan_task(graph: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Side, order, partitions."""
    asked = settings_of(settings)
    store = Store.open(asked.store, create=False)
    where = asked.data_backend, asked.cluster
    limit = asked.search.memory_limit
    record = plan(store, graph, asked.search, asked.plan, *where, publish=asked.publish, memory_limit=limit)
    return {"run": record.run, "partitions": record.partitions, "side": record.side}


@task(name="check", **STAGE)
def check_task(run: str, summary: dict[str, Any], settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Checks of the input; one that fails stops the run, where the settings say so."""
    asked = settings_of(settings)
    return [asdict(check) for check in check_input(Store.open(asked.store, create=False), run, summary, asked.checks)]


@task(name="forecast", **STAGE)
def forecast_task(run: str, settings: dict[str, Any]) -> dict[str, Any] | None:
    """What the search will find and cost; what does not fit the disk is refused."""
    asked = settings_of(settings)
    store = Store.open(asked.store, create=False)
    return forecast(store, store.run(run).planned, asked)


@task(name="search", task_run_name="search {run} batch {number}", **STAGE)
def search_task(
    run: str,
    number: int,
    partitions: list[int],
    settings: dict[str, Any],
    scheduler: str | None,
    time_limit: float | None = None,
) -> dict[str, Any]:
    """Search one batch of partitions, here or on a cluster, and tell Prefect how far it is.

    Returns how many were ``searched``, and the limit that it was ``limited_by``; the time limit is
    what is left of it.
    """
    asked = settings_of(settings)
    store = Store.open(asked.store, create=False)
    placement = place_partitions(store.run(run).planned, asked)
    call = {**call_options(asked.search), "time_limit": time_limit}
    options: dict[str, Any] = {**call, "placement": placement, "only": partitions}
    show = partial(show_search, run, "search")
    if scheduler is None:
        record = search_run(store, run, None, show, **options)
    else:
        with open_cluster(asked.cluster.model_copy(update={"scheduler": scheduler})) as client:
            record = search_run(store, run, client, show, **options)
    return {"searched": record.searched, "limited_by": record.limited_by}


@task(name="publish", **STAGE)
def publish_task(run: str, settings: dict[str, Any], limited_by: str | None = None) -> str:
    """Write the manifest; the run is now whole, or says which limit ended it."""
    asked = settings_of(settings)
    return publish(Store.open(asked.store, create=False), run, limited_by=limited_by).digest


@task(name="verify", **STAGE)
def verify_task(run: str, settings: dict[str, Any]) -> int:
    """Read everything again, and fail at any problem."""
    found = verify(Store.open(settings_of(settings).store, create=False), run)
    if not found.ok:
        raise BicliqError(f"run {run}: {many(len(found.problems), 'problem')}: {'; '.join(found.problems[:5])}")
    tell("run verified", run=run, files=found.partitions)
    return found.bicliques


def ended(message: str, record: dict[str, Any]) -> dict[str, Any]:
    """End a flow in a state that says what was found; whoever called the flow gets the record."""
    return cast(dict[str, Any], Completed(message=message, data=record))


def quiet_dask() -> None:
    """Keep Dask's chatter out of the flow's log, whose root logger Prefect opens at INFO."""
    import distributed  # noqa: F401 - sets the level of its logger when it is first imported

    logging.getLogger("distributed").setLevel(logging.WARNING)
