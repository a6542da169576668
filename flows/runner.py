"""Prefect's runner, as `serve` needs it: it outlives its server's outages, and ends with its runs.

As Prefect makes it, it ends after three questions to a server that does not answer, in half a
minute, and what listens for runs that are cancelled in the pages ends before it.
"""

from __future__ import annotations

import asyncio
import copyreg
import importlib
import multiprocessing
import signal
import time
from collections.abc import Callable
from typing import Any

from prefect import Flow
from prefect._internal.observers import FlowRunCancellingObserver
from prefect.runner import Runner
from prefect.runner._scheduled_run_poller import ScheduledRunPoller

from bicliq.flows.outages import asks_on, observes_on

ENDS_WITHIN = 10.0
"""Seconds that runs have to end, when `serve` is stopped."""


class LastingRunner(Runner):
    """A runner that only a signal ends: SIGINT, SIGTERM and SIGHUP do it in one way."""

    def handle_sigterm(self, number: int, frame: Any) -> None:
        """Answer a signal as Ctrl-C is answered; Prefect's own answer ends with a traceback."""
        signal.raise_signal(signal.SIGINT)

    async def __aenter__(self) -> LastingRunner:
        """Begin; questions that were not answered are asked again."""
        asks_on(ScheduledRunPoller, "_get_and_submit_flow_runs")
        observes_on(FlowRunCancellingObserver, "_check_for_cancelled_flow_runs")
        await super().__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        """End the runs first: Prefect waits for them, however long they take."""
        children, deadline = multiprocessing.active_children(), time.monotonic() + ENDS_WITHIN
        for child in children:
            child.terminate()
        for child in children:
            await asyncio.to_thread(child.join, max(deadline - time.monotonic(), 0))
            child.kill()
        await super().__aexit__(*raised)


def _by_name(flow: Flow[Any, Any]) -> tuple[Callable[..., Any], tuple[str, str]]:
    """Send a flow to the process of its run by name.

    By value it would be the code of this process, beside that of a newer version.
    """
    return _named, (flow.fn.__module__, flow.fn.__name__)


def _named(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


copyreg.pickle(Flow, _by_name)
