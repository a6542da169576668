"""What Prefect asks its server in a loop, asked on through an outage, and without a traceback.

As Prefect makes them, these loops end after three questions that were not answered, and say each.
`served` tells of an outage in one sentence.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec

import httpx

P = ParamSpec("P")

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


def _unless_cancelled(ended: Callable[[Any, asyncio.Task[None]], None]) -> Callable[[Any, asyncio.Task[None]], None]:
    @functools.wraps(ended)
    def quietly(observer: Any, task: asyncio.Task[None]) -> None:
        if not task.cancelled():  # asked for its exception, a cancelled task raises
            ended(observer, task)

    return quietly
