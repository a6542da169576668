"""Hooks of the flows: a webhook is told how a run ended, where settings ask for it.

Prefect calls them at the end of a run, or, where the process was killed or cancelled, its worker
does.
"""

from __future__ import annotations

from typing import Any

from prefect import get_run_logger
from prefect.events import emit_event

from bicliq.flows.artifacts import Artifacts, show_search
from bicliq.flows.tasks import quiet_dask, settings_of
from bicliq.pipeline.notify import notify_failed
from bicliq.pipeline.run import Observer
from bicliq.pipeline.settings import Settings

TOLD = "bicliq.run.told"
"""Name of the event of a run that fits the rules."""


def tell_failure(flow: Any, flow_run: Any, state: Any) -> None:
    """Tell that a flow failed, crashed or was cancelled."""
    given = flow_run.parameters
    whose = (f"{each} {given[each]}" for each in ("graph", "run") if given.get(each))
    what = given.get("source") or next(whose, flow.name)
    notify_failed(settings_of(given.get("settings")), what, state.message or "no reason is known", state.name.lower())


def finishes_alone(settings: Settings) -> Settings:
    """Return settings by which the work itself tells of its finish alone: hooks tell of failures.

    Else each try of a task would tell of its own, and the flow once more.
    """
    change: dict[str, Any] = {"webhook": None} if settings.notify.webhook_on == "failed" else {"webhook_on": "finished"}
    return settings.model_copy(update={"notify": settings.notify.model_copy(update=change)})


def tell_prefect(told: dict[str, Any] | None) -> None:
    """Emit what a notification says as an event of Prefect, which automations can wait for."""
    if told is not None:
        named = {"prefect.resource.id": f"bicliq.run.{told['run']}", "prefect.resource.name": told["run"]}
        emit_event(TOLD, resource=named, payload=told)


def watched(shown: Artifacts, asks: str = "search") -> Observer:
    """Show in Prefect's pages how far the partitions of a run are; automations hear of its end."""
    runs: list[str] = []

    def planned(run: str) -> None:
        runs.append(run)
        quiet_dask()

    def dashboard(address: str) -> None:
        get_run_logger().info("Dask dashboard: %s", address)
        shown.text(f"dask-{runs[-1]}", f"[Dask dashboard]({address})", "the workers, while the search runs")

    return Observer(
        planned=planned,
        search=lambda state: show_search(runs[-1], asks, state),
        dashboard=dashboard,
        told=tell_prefect,
    )


HOOKS: dict[str, Any] = {
    "on_failure": [tell_failure],
    "on_crashed": [tell_failure],
    "on_cancellation": [tell_failure],
}
"""Options of every flow."""
