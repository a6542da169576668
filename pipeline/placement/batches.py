"""Dask's messages, where the clock is put back.

Dask gathers messages for 2 ms and sends them as one. It notes by the clock of the day when the next
batch may go (`distributed.batched.BatchedSend`, as of 2026.7): where that clock is put back by an
hour, as a machine may do that has just found its time server, nothing is sent for an hour, and a
run stands still without a word. `tests/faults` found it.
"""

from __future__ import annotations

from typing import Any

from distributed.batched import BatchedSend
from distributed.metrics import time


def send_when_the_clock_is_put_back() -> None:
    """Have batches of this process sent, old connections and new, whatever its clock does.

    Notes
    -----
    A moment further ahead than a batch waits was noted before the clock was put back, and is over.
    """
    BatchedSend.next_deadline = property(_next_batch, _note_next_batch)


def _next_batch(sender: Any) -> float | None:
    noted: float | None = vars(sender).get("next_deadline")
    return None if noted is None or noted > time() + sender.interval else noted


def _note_next_batch(sender: Any, noted: float | None) -> None:
    vars(sender)["next_deadline"] = noted
