"""What Prefect asks its server in a loop, asked on through an outage, and without a traceback.

As Prefect makes them, these loops end after three questions that were not answered, and say each.
`served` tells of an outage in one sentence. And who only listens for events hears no more of them
once the server closed the connection in good order: a run was cancelled in the pages, and went on.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, ParamSpec
from uuid import UUID

import httpx
from prefect._internal.observers import FlowRunCancellingObserver
from prefect.utilities.services import critical_service_loop

P = ParamSpec("P")
Listen = Callable[[Any], Coroutine[Any, Any, None]]

SERVER_ERROR = 500
"""The least status with which a server says that the fault is its own."""


def asks_on(asks: type, question: str) -> None:
    """Let the method of a class of Prefect's that asks in a loop outlive outages of the server."""
    setattr(asks, question, _until_answered(getattr(asks, question)))


def observes_on(observer: type, question: str) -> None:
    """Let an observer of Prefect's outlive outages, and end without a word when it is stopped."""
    asks_on(observer, question)
    logging.getLogger(f"prefect.{observer.__name__}").setLevel(logging.ERROR)
    ended = "_handle_polling_task_done"
    setattr(observer, ended, _unless_cancelled(getattr(observer, ended)))


def hears_of_cancelling(observer: type[FlowRunCancellingObserver]) -> None:
    """Let Prefect's observer of cancelled runs ask at its interval besides listening for events."""
    question = "_check_for_cancelled_flow_runs"
    observes_on(observer, question)
    observer._consume_events = _asking_as_well(observer._consume_events, question)  # type: ignore[method-assign]


def _until_answered(ask: Callable[P, Awaitable[None]]) -> Callable[P, Awaitable[None]]:
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


def _asking_as_well(listen: Listen, question: str) -> Listen:
    """Listen for events, and ask at an interval for those that were not heard."""

    @functools.wraps(listen)
    async def listen_and_ask(observer: Any) -> None:
        observer.on_cancelling = _once(observer.on_cancelling, observer._in_flight_flow_run_ids)
        asks = critical_service_loop(getattr(observer, question), observer.polling_interval, jitter_range=0.3)
        asking = asyncio.create_task(asks)
        try:
            await listen(observer)
            await asking
        finally:
            asking.cancel()

    return listen_and_ask


def _once(tell: Callable[[UUID], None], in_flight: set[UUID]) -> Callable[[UUID], None]:
    """Tell of each flow run once, as long as it is in flight."""
    told: set[UUID] = set()

    def tell_once(flow_run: UUID) -> None:
        told.intersection_update(in_flight)
        if flow_run not in told:
            told.add(flow_run)
            tell(flow_run)

    return tell_once


def _unless_cancelled(ended: Callable[[Any, asyncio.Task[None]], None]) -> Callable[[Any, asyncio.Task[None]], None]:
    @functools.wraps(ended)
    def quietly(observer: Any, task: asyncio.Task[None]) -> None:
        if not task.cancelled():  # asked for its exception, a cancelled task raises
            ended(observer, task)

    return quietly
