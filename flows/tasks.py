"""A stage as a Prefect task: tried again only where that may help (`pipeline.errors.may_heal`).

A task that runs again finds what is committed, and does only the rest. Tasks are stages, Dask
futures are partitions, since a Prefect task costs far more than a future (docs/decisions.md, 12).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, cast

from prefect import get_run_logger, task
from prefect._internal import observers
from prefect.cache_policies import NO_CACHE
from prefect.exceptions import MissingContextError, TerminationSignal
from prefect.runtime import flow_run
from prefect.states import Completed

from bicliq.flows.outages import observes_on
from bicliq.pipeline.errors import BicliqError, may_heal
from bicliq.pipeline.events import LOGGER
from bicliq.pipeline.settings import Settings, load_settings


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
if hasattr(observers, "FlowRunSuspendingObserver"):  # in the process of each run; not in every 3.8
    observes_on(observers.FlowRunSuspendingObserver, "_check_for_suspended_flow_runs")


def settings_of(values: dict[str, Any] | None) -> Settings:
    """Settings from plain values over environment, file and defaults; Prefect hears all events."""
    LOGGER.setLevel(logging.INFO)
    return load_settings(**(values or {}))


def run_named(question: str) -> Callable[[], str]:
    """Names runs of a flow after what it asks: a file, a run, or the latest run of the store."""

    def name() -> str:
        asked = flow_run.parameters
        run = asked.get("run")
        return f"{question} {asked.get('source') or (f'run {run}' if run else 'the latest run')}"

    return name


def as_task(name: str, stage: Callable[[], None]) -> None:
    """Call a stage as a task of the flow run that is on its way (`pipeline.run.Call`)."""

    @task(name=name, **STAGE)
    def call() -> None:
        stage()

    call()


def ended(message: str, record: dict[str, Any]) -> dict[str, Any]:
    """End a flow in a state that says what was found; whoever called the flow gets the record."""
    return cast(dict[str, Any], Completed(message=message, data=record))


def quiet_dask() -> None:
    """Keep Dask's chatter out of the flow's log, whose root logger Prefect opens at INFO."""
    import distributed  # noqa: F401 - sets the level of its logger when it is first imported

    logging.getLogger("distributed").setLevel(logging.WARNING)
