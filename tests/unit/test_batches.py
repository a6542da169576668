"""Dask's batches are sent, though the clock of the day was put back."""

from __future__ import annotations

import asyncio
import time

import pytest
from distributed import batched
from distributed.batched import BatchedSend
from distributed.comm import connect, listen
from tornado.ioloop import IOLoop

from bicliq.pipeline.placement import batches
from bicliq.pipeline.placement.batches import send_when_the_clock_is_put_back

HOUR = 3600.0
PATIENCE = 10.0


class Clock:
    """The clock of the day, and by how much it was put back."""

    back = 0.0

    def __call__(self) -> float:
        return time.time() - self.back


async def numbers_received(clock: Clock) -> list[int]:
    """Send numbers; after each the clock is put back while the batch is on its way."""
    received = list[int]()
    n = 5

    async def receive(comm):
        while len(received) < n:
            received.extend(await comm.read())

    listener = await listen("inproc://", receive)
    comm = await connect(listener.contact_address)
    write = comm.write

    async def write_slowly(*words, **options):
        clock.back += HOUR
        return await write(*words, **options)

    comm.write = write_slowly
    sender = BatchedSend(interval="2ms")
    sender.start(comm)
    for number in range(n):
        sender.send(number)
        await asyncio.sleep(0.02)
    started = time.monotonic()
    while len(received) < n and time.monotonic() - started < 1:
        await asyncio.sleep(0.01)
    sender.abort()
    listener.stop()
    return received


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    for module in (batched, batches):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(IOLoop, "time", lambda _: clock())
    return clock


def test_messages_arrive_though_the_clock_is_put_back(clock):
    send_when_the_clock_is_put_back()
    assert asyncio.run(asyncio.wait_for(numbers_received(clock), PATIENCE)) == list(range(5))


def test_dask_alone_would_wait_for_the_clock(clock, monkeypatch):
    """Where this fails, Dask has mended it, and `pipeline.placement.batches` can go."""
    send_when_the_clock_is_put_back()
    monkeypatch.delattr(BatchedSend, "next_deadline")
    assert asyncio.run(asyncio.wait_for(numbers_received(clock), PATIENCE)) == [0]


def test_a_batch_still_waits_for_its_moment():
    send_when_the_clock_is_put_back()
    sender = BatchedSend(interval="50ms")
    assert sender.next_deadline is None
    soon = time.time() + 0.04
    sender.next_deadline = soon
    assert sender.next_deadline == soon
    sender.next_deadline = time.time() + 0.2
    assert sender.next_deadline is None, "no batch waits so long: the clock was put back"
