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

import httpx
from prefect import Flow
from prefect._internal.observers import FlowRunCancellingObserver
from prefect.client.orchestration import get_client
from prefect.runner import Runner
from prefect.runner._scheduled_run_poller import ScheduledRunPoller
from websockets.exceptions import WebSocketException

from bicliq.flows.outages import asks_on, hears_of_cancelling

ENDS_WITHIN = 10.0
"""Seconds that runs have to end, when `serve` is stopped."""

NO_ANSWER = (OSError, httpx.TransportError, WebSocketException)
"""What a server that is away is to those who ask it."""


class LastingRunner(Runner):
    """A runner that only a signal ends: SIGINT, SIGTERM and SIGHUP do it in one way."""

    def handle_sigterm(self, number: int, frame: Any) -> None:
        """Answer a signal as Ctrl-C is answered; Prefect's own answer ends with a traceback."""
        signal.raise_signal(signal.SIGINT)

    async def __aenter__(self) -> LastingRunner:
        """Begin, once the server answers; questions later are asked until they are answered."""
        asks_on(ScheduledRunPoller, "_get_and_submit_flow_runs")
        hears_of_cancelling(FlowRunCancellingObserver)
        while not await self._has_begun():
            await self._exit_stack.aclose()
            async with get_client() as client:
                while await client.api_healthcheck() is not None:
                    await asyncio.sleep(self.query_seconds)
        return self

    async def _has_begun(self) -> bool:
        """Begin as Prefect does; False: the server went after the deployments were registered."""
        try:
            await super().__aenter__()
        except RuntimeError as error:
            if isinstance(error.__cause__, NO_ANSWER):
                return False
            raise
        return True

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
