"""The start of a GPU beside what comes before its work, as the reading of a table.

A driver waits for the end of a start before it does anything: there is one search at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_starts: list[threading.Thread] = []


def start_gpu(first: Callable[[], Any]) -> None:
    """Start the GPU of this process in a thread of its own, unless that was done before.

    Parameters
    ----------
    first
        A small piece of the work that will come: it loads the context, the libraries and the
        programs. What goes wrong in it is not told: the work itself will meet it again.

    Examples
    --------
    >>> from bicliq.kernels import count_bicliques, start_gpu
    >>> start_gpu(lambda: count_bicliques([0, 2, 4], [0, 1, 0, 1], 2, 2, 2, backend="cuda"))
    """
    if _starts:
        return

    def run() -> None:
        with suppress(Exception):
            first()
            import cupy

            cupy.get_default_memory_pool().free_all_blocks()  # the work may be that of other processes

    _starts.append(threading.Thread(target=run, name="start of the GPU"))
    _starts[0].start()


def wait_for_start() -> None:
    """Wait until a start that is under way has ended; the thread that starts goes on."""
    for thread in _starts:
        if thread is not threading.current_thread():
            thread.join()
