"""Prefect's runner, as `serve` needs it: it outlives its server's outages, and ends with its runs.

As Prefect makes it, it ends after three questions to a server that does not answer, in half a
minute, and what listens for runs that are cancelled in the pages ends before it.
"""

from __future__ import annotations

import asyncio
import copyreg
import functools
import importlib
import logging
import multiprocessing
import signal
import time
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec

import httpx
from prefect import Flow
from prefect._internal.observers import FlowRunCancellingObserver
from prefect.runner import Runner
from prefect.runner._scheduled_run_poller import ScheduledRunPoller

P = ParamSpec("P")

ENDS_WITHIN = 10.0
"""Seconds that runs have to end, when `serve` is stopped."""

SERVER_ERROR = 500
"""The least status with which a server says that the fault is its own."""


class LastingRunner(Runner):
    """A runner that only a signal ends: SIGINT, SIGTERM and SIGHUP do it in one way."""

    def handle_sigterm(self, number: int, frame: Any) -> None:
        """Answer a signal as Ctrl-C is answered; Prefect's own answer ends with a traceback."""
        signal.raise_signal(signal.SIGINT)

    async def __aenter__(self) -> LastingRunner:
        """Begin; questions that were not answered are asked again."""
        logging.getLogger("prefect.FlowRunCancellingObserver").setLevel(logging.ERROR)  # an outage: `served` tells
        for asks, question in (
            (ScheduledRunPoller, "_get_and_submit_flow_runs"),
            (FlowRunCancellingObserver, "_check_for_cancelled_flow_runs"),
        ):
            setattr(asks, question, _until_answered(getattr(asks, question)))
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


def _until_answered(ask: Callable[P, Awaitable[None]]) -> Callable[P, Awaitable[None]]:
    """A question that is asked in a loop, which no outage ends; `served` tells of it."""

    @functools.wraps(ask)
    async def patiently(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            await ask(*args, **kwargs)
        except httpx.TransportError:
            pass
        except httpx.HTTPStatusError as error:
            if error.response.status_code < SERVER_ERROR:
                raise

    return patiently
