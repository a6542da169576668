"""One run of a deployment at a time on a machine, and which of them died.

The Prefect server counts the runs of a deployment by what they report, and takes one that is silent
for dead. Here a run holds a lock for as long as its process lives: so the next one is sure that no
other is left, and whoever finds the lock free knows that the run which held it last is over.
"""

from __future__ import annotations

import fcntl
import functools
import time
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TextIO, TypeVar, cast

from prefect.context import FlowRunContext
from prefect.settings import get_current_settings
from prefect.states import Cancelled

SECONDS_FOR_A_LOOK = 2.0
"""For how long a look of `run_that_died` may hold a lock that a run wants, at most."""

P = ParamSpec("P")
R = TypeVar("R")

_held: dict[str, TextIO] = {}  # until the process ends: nothing else may say that a run is over


def in_turn(function: Callable[P, R]) -> Callable[P, R]:
    """Make the function of a flow end as cancelled while another run of its deployment lives here.

    A run that no deployment started has no turn to wait for.
    """

    @functools.wraps(function)
    def alone(*args: P.args, **kwargs: P.kwargs) -> R:
        context = FlowRunContext.get()
        started = None if context is None else context.flow_run
        if started is not None and started.deployment_id is not None:
            other = _take_turn(str(started.deployment_id), str(started.id))
            if other is not None:
                return cast(R, Cancelled(message=f"flow run {other} of this deployment is on its way on this machine"))
        return function(*args, **kwargs)

    return alone


def run_that_died(deployment: str) -> str | None:
    """Return the flow run that had the last turn on this machine, if its process is gone.

    `deployment`: id of the deployment. Returns id of the flow run, which may have ended well; None:
    it lives, or there was none.
    """
    try:
        with open(_place(deployment)) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return file.read().strip() or None
    except (FileNotFoundError, BlockingIOError):
        return None


def _take_turn(deployment: str, run: str) -> str | None:
    """Hold the turn until this process ends; says which other run has it, or None."""
    if deployment in _held:
        return None
    place = _place(deployment)
    place.parent.mkdir(parents=True, exist_ok=True)
    file, deadline = open(place, "a+"), time.monotonic() + SECONDS_FOR_A_LOOK  # noqa: SIM115 - held to the end
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > deadline:
                file.seek(0)
                return file.read().strip() or "of an unknown name"
            time.sleep(0.1)
    file.truncate(0)
    file.write(run)
    file.flush()
    _held[deployment] = file
    return None


def _place(deployment: str) -> Path:
    return get_current_settings().home / "bicliq" / f"{deployment}.run"
