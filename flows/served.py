"""What `serve` looks after, besides running what is due: runs that died, or did not come.

A thread of its own looks as often as the runner does. What it finds is an error in the log, and is
told to the webhook of the deployment, where there is one.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID

from bicliq.flows.automations import SILENT
from bicliq.flows.deployments import Deployment
from bicliq.flows.turns import run_that_died
from bicliq.pipeline.errors import sentence
from bicliq.pipeline.events import tell, warn
from bicliq.pipeline.notify import notify_failed
from bicliq.pipeline.settings import Settings, load_settings
from bicliq.pipeline.stale import StaleStore

if TYPE_CHECKING:
    from prefect.client.schemas.objects import FlowRun

BEGINS_WITHIN = 60
"""Seconds in which a run that was taken up here must have begun; the least that Prefect takes."""

SURE_AFTER = 30.0
"""Seconds for which looks must find a run dead, or a place taken by nobody."""

BACK = timedelta(days=1)
"""How far back a look goes for runs that did not come."""


GOING = {"RUNNING", "PENDING", "CANCELLING"}
"""Types of state in which a run has the place of its deployment."""

DIED = "Its process ended without a word: it was killed, or its machine died."

STOPPED = "It was stopped with bicliq serve; the next run does what is missing."


class ServedDeployments:
    """The deployments of this process, and what was told of them."""

    def __init__(self, deployments: Iterable[Deployment]) -> None:
        self._each = [_Served(deployment) for deployment in deployments]
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def look(self) -> None:
        """Look once; what goes wrong is a warning, and the next look tries again."""
        self._with_each(_Served.look)

    def look_until_the_end(self) -> None:
        """Begin to look as often as the runner asks for runs that are due."""
        from prefect.settings import get_current_settings

        apart = get_current_settings().runner.poll_frequency

        def look_again() -> None:
            while not self._ended.wait(apart):
                self.look()

        self._thread = threading.Thread(target=look_again, name="served-deployments", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Look no more; the runs that the runner ended are crashed, so that others may start."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
        self._with_each(_Served.end)

    def _with_each(self, do: Callable[[_Served, Any], None]) -> None:
        from prefect.client.orchestration import get_client

        for served in self._each:
            try:
                with get_client(sync_client=True) as client:
                    do(served, client)
                served.trouble = ""
            except Exception as error:
                if served.trouble != (reason := sentence(error)):  # once, and not at every look
                    warn("a look after the deployment failed", deployment=served.name, reason=reason)
                served.trouble = reason


class _Served:
    """One deployment: the looks at its runs, and at the age of its last version."""

    def __init__(self, deployment: Deployment) -> None:
        self.name = f"{deployment.flow.name}/{deployment.name}"
        self._source = str(deployment.parameters.get("source") or deployment.parameters.get("graph"))
        self._settings: Settings = load_settings(**deployment.parameters["settings"])
        self.trouble = ""  # why the last look failed
        self._began = datetime.now(UTC)
        self._suspects: dict[Any, float] | None = None  # dead since when; None: there was no look yet
        self._completed: datetime | None = None
        self._told: set[str] = set()  # reasons, since then
        self._store = StaleStore(self._settings, self._source)

    def look(self, client: Any) -> None:
        """Crash what is dead, free its place, and tell what was missed."""
        if (deployment := self._found(client)) is None:
            self._suspects = {}  # nobody served it before
        else:
            runs = _runs(client, deployment)
            self._crash_dead(client, deployment, runs)
            self._tell_missed(runs)
        self._store.look()

    def end(self, client: Any) -> None:
        """Crash the run that the runner has ended."""
        from prefect.states import Crashed

        if (deployment := self._found(client)) is None:
            return
        died = run_that_died(deployment)
        for run in filter(_going, _runs(client, deployment)):
            if str(run.id) == died or (run.state is not None and run.state.is_pending()):
                client.set_flow_run_state(run.id, Crashed(message=STOPPED), force=True)

    def _found(self, client: Any) -> str | None:
        """The id of the deployment; None: it is about to be registered."""
        from prefect.exceptions import ObjectNotFound

        try:
            return str(client.read_deployment_by_name(self.name).id)
        except ObjectNotFound:
            return None

    def _crash_dead(self, client: Any, deployment: str, runs: list[FlowRun]) -> None:
        """Crash runs whose process is gone, and give back a place that nobody holds.

        The runner sees the end of its own processes, and tells of them, and a server with much to
        do may give a place some time before it says to whom: hence what is dead must be so for some
        time, except at the first look, when nobody but this process could see it.
        """
        from prefect.client.schemas.actions import GlobalConcurrencyLimitUpdate
        from prefect.states import Crashed

        going = [run for run in runs if _going(run)]
        died = run_that_died(deployment)
        dead = {run.id for run in going if str(run.id) == died or _never_began(run)}
        orphaned = {deployment} if not going and _places_taken(client, deployment) else set()
        now, known = time.monotonic(), self._suspects
        self._suspects = {each: (known or {}).get(each, now) for each in dead | orphaned}
        sure = {each for each, since in self._suspects.items() if known is None or now - since >= SURE_AFTER}
        for run in going:
            if run.id in sure:
                run.state = client.set_flow_run_state(run.id, Crashed(message=DIED), force=True).state or run.state
        if orphaned & sure:
            client.update_global_concurrency_limit(_limit(deployment), GlobalConcurrencyLimitUpdate(active_slots=0))

    def _tell_missed(self, runs: list[FlowRun]) -> None:
        """Tell of what was due since the last run that was completed, and did not come.

        Once for each reason: where a run takes longer than the time between two, many are missed.
        """
        completed = [_due(run) for run in runs if _is(run, "Completed")]
        since = max(completed, default=datetime.now(UTC) - BACK)
        if completed and since != self._completed:
            self._completed, self._told = since, set()
        missed: dict[str, list[FlowRun]] = {}
        for run in runs:
            if _due(run) > since and (why := self._why_missed(run)) and why not in self._told:
                missed.setdefault(why, []).append(run)
        for why, found in missed.items():
            first, more = found[-1], len(found) - 1
            due = f"{_due(first):%Y-%m-%d %H:%M:%S} UTC" + (f", and {more} after it" if more else "")
            self._tell(f"{self.name}: the run due at {due}: {why}")
        self._told |= set(missed)

    def _why_missed(self, run: FlowRun) -> str | None:
        message = (run.state.message or "") if run.state else ""
        if _is(run, "Cancelled") and "oncurrency" in message:
            return f"cancelled, since another was on its way. {message}"
        if _is(run, "Crashed") and message.startswith((DIED, SILENT)):
            return f"crashed. {message}"
        waited = datetime.now(UTC) - max(_due(run), self._began)
        return "it has not begun" if _is(run, "Late") and waited > timedelta(seconds=BEGINS_WITHIN) else None

    def _tell(self, reason: str) -> None:
        tell("a run that was due is missing", logging.ERROR, deployment=self.name, reason=reason)
        notify_failed(self._settings, self._source, reason, "missed")


def _runs(client: Any, deployment: str) -> list[FlowRun]:
    """The runs of a deployment that were due by now, the last first."""
    from prefect.client.schemas.filters import (
        DeploymentFilter,
        DeploymentFilterId,
        FlowRunFilter,
        FlowRunFilterExpectedStartTime,
    )
    from prefect.client.schemas.sorting import FlowRunSort

    now = datetime.now(UTC)
    found: list[FlowRun] = client.read_flow_runs(
        deployment_filter=DeploymentFilter(id=DeploymentFilterId(any_=[UUID(deployment)])),
        flow_run_filter=FlowRunFilter(expected_start_time=FlowRunFilterExpectedStartTime(before_=now)),
        sort=FlowRunSort.EXPECTED_START_TIME_DESC,
        limit=200,
    )
    return found


def _never_began(run: FlowRun) -> bool:
    """Whether a run was taken up, and its process did not come to report itself."""
    return (
        run.state is not None
        and run.state.is_pending()
        and datetime.now(UTC) - run.state.timestamp > timedelta(seconds=2 * BEGINS_WITHIN)
    )


def _going(run: FlowRun) -> bool:
    return run.state_type is not None and run.state_type.value in GOING


def _is(run: FlowRun, state: str) -> bool:
    return run.state is not None and run.state.name == state


def _due(run: FlowRun) -> datetime:
    """When a run should have begun."""
    return cast(datetime, run.expected_start_time)


def _limit(deployment: str) -> str:
    """The name that Prefect gives to the limit of a deployment."""
    return f"deployment:{deployment}"


def _places_taken(client: Any, deployment: str) -> bool:
    from prefect.exceptions import ObjectNotFound

    try:
        return bool(client.read_global_concurrency_limit_by_name(_limit(deployment)).active_slots)
    except ObjectNotFound:
        return False
