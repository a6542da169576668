"""Stopping a task of a Dask worker that nobody waits for any more.

Dask cannot: a thread that runs goes on until it is done, also when the flow was cancelled, the
client closed or its process killed. So each task has a watcher that looks what Dask thinks of it,
and raises an exception in the task's thread. Kernels look around many times a second and end.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LOOK_SECONDS = 0.5
"""Time between two looks: a search has stopped a second or two after nobody waits for it."""


class NobodyWaits(BaseException):
    """Raised in a task that was cancelled; it is no error, and so nobody takes it for one."""


@contextmanager
def stopped_when_cancelled(worker: Any) -> Iterator[None]:
    """End the block, in a thread of a Dask worker, when Dask has cancelled its task.

    Raises NobodyWaits where it was.
    """
    key, thread = worker.get_current_task(), threading.get_ident()
    ended, at_the_end = threading.Event(), threading.Lock()

    def watch() -> None:
        while not ended.wait(LOOK_SECONDS):
            task = worker.state.tasks.get(key)
            if task is not None and task.state != "cancelled":
                continue
            with at_the_end:
                if not ended.is_set():
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(NobodyWaits))
            return

    watcher = threading.Thread(target=watch, name="watch for cancellation", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        with at_the_end:
            ended.set()
