"""What the Prefect server does by itself about runs that died without a word.

A process that is killed, or a machine that goes down, tells nobody: its run would be *Running* for
ever, and hold the place of the next one. Two automations of the server see it by what is missing.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from bicliq.pipeline.errors import sentence
from bicliq.pipeline.events import tell, warn

WATCHED = "bicliq-watched"
"""Tag of the deployments whose runs send a heartbeat every `HEARTBEAT_SECONDS`."""

HEARTBEAT_SECONDS = 30
"""The least that Prefect takes."""

SILENT_AFTER = 120
"""Seconds without a heartbeat after which a run counts as dead: four are missing."""

SILENT = f"No sign of life for {SILENT_AFTER} s: its process or its machine died."

STARTS_WITHIN = 1800
"""Seconds in which a run must have begun once a worker has it: an image of gigabytes is pulled."""

ENDS = ("Completed", "Failed", "Crashed", "Cancelled", "Cancelling", "TimedOut", "AwaitingRetry", "Paused", "Suspended")


def register_automations() -> dict[str, Any]:
    """Make the automations on the Prefect server, or bring those that are there up to date.

    `bicliq serve` does it, and `prefect deploy` as a build step of ``prefect.yaml``, to which it
    returns nothing. Where the server does not allow it, that is a warning in the log: the place of
    a run that died is then free when its lease ends, after five minutes.
    """
    from prefect.client.orchestration import get_client

    try:
        with get_client(sync_client=True) as client:
            for wanted in _automations():
                found = client.read_automations_by_name(wanted.name)
                if not found:
                    client.create_automation(wanted)
                    tell("automation made", name=wanted.name)
                elif _differ(found[0], wanted):
                    client.update_automation(found[0].id, wanted)
                    tell("automation brought up to date", name=wanted.name)
                for other in found[1:]:  # of two that began at once
                    client.delete_automation(other.id)
    except Exception as error:
        warn("runs that die are noticed late: the server takes no automations", reason=sentence(error))
    return {}


def _automations() -> list[Any]:
    return [
        _crashed_without(
            "bicliq: a run that fell silent has crashed",
            SILENT,
            after=("heartbeat", "Running"),
            expect=("heartbeat", *ENDS),
            within=SILENT_AFTER,
        ),
        _crashed_without(
            "bicliq: a run that never began has crashed",
            f"Not begun within {STARTS_WITHIN // 60} minutes: its worker or its machine died, or its image is missing.",
            after=("Pending",),
            expect=("Running", "heartbeat", *ENDS),
            within=STARTS_WITHIN,
        ),
    ]


def _crashed_without(name: str, message: str, after: tuple[str, ...], expect: tuple[str, ...], within: int) -> Any:
    """An automation: runs of ours that do not do what is expected of them are crashed."""
    from prefect.automations import AutomationCore, ChangeFlowRunState, EventTrigger, Posture, ResourceSpecification
    from prefect.client.schemas.objects import StateType

    return AutomationCore(
        name=name,
        description="Made by bicliq; changes are undone when it is deployed or served again.",
        trigger=EventTrigger(
            posture=Posture.Proactive,
            after={f"prefect.flow-run.{event}" for event in after},
            expect={f"prefect.flow-run.{event}" for event in expect},
            match=ResourceSpecification({"prefect.resource.id": ["prefect.flow-run.*"]}),
            match_related=ResourceSpecification(
                {"prefect.resource.role": ["tag"], "prefect.resource.id": [f"prefect.tag.{WATCHED}"]}
            ),
            for_each={"prefect.resource.id"},
            threshold=1,
            within=timedelta(seconds=within),
        ),
        actions=[ChangeFlowRunState(state=StateType.CRASHED, message=message)],
    )


def _differ(found: Any, wanted: Any) -> bool:
    """Whether what the server has is not what is wanted, apart from ids that it adds."""

    def plain(automation: Any) -> Any:
        values = automation.model_dump(mode="json", include={"description", "trigger", "actions"})
        values["trigger"].pop("id", None)
        return {**values, "trigger": {k: sorted(v) if isinstance(v, list) else v for k, v in values["trigger"].items()}}

    return bool(plain(found) != plain(wanted))
