"""Hooks of the flows: a webhook is told how a run ended, where settings ask for it.

Prefect calls them at the end of a run, or, where the process was killed or cancelled, its worker
does.
"""

from __future__ import annotations

from typing import Any

from prefect.events import emit_event

from bicliq.flows.tasks import settings_of
from bicliq.pipeline.notify import notify_failed
from bicliq.pipeline.settings import Settings

TOLD = "bicliq.run.told"
"""Name of the event of a run that fits the rules."""


def tell_failure(flow: Any, flow_run: Any, state: Any) -> None:
    """Tell that a flow failed, crashed or was cancelled."""
    given = flow_run.parameters
    what = given.get("source") or f"graph {given.get('graph')}"
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


HOOKS: dict[str, Any] = {
    "on_failure": [tell_failure],
    "on_crashed": [tell_failure],
    "on_cancellation": [tell_failure],
}
"""Options of every flow."""
