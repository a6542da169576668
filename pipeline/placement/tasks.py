"""Tasks, done by the workers of a cluster or in this process: one loop for both.

Everything comes to the thread that goes through the loop: what running tasks tell, and how each of
them ended. So whoever counts commits, writes records or draws a bar needs no lock, and meets an
interrupt where Python raises it.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from bicliq.kernels import available_threads
from bicliq.pipeline.errors import BicliqError, may_heal, sentence
from bicliq.pipeline.events import LOGGER, Message, passed_on, tell, warn
from bicliq.pipeline.placement.stopping import stopped_when_cancelled
from bicliq.pipeline.placement.work import metrics_on

RETRIES = 2
"""Attempts at a task after its first one failed in a way that may heal."""

QUEUED_PER_THREAD = 2
"""Tasks handed to each thread of a cluster at a time: one to work on and one to go on with."""

LOOK_SECONDS = 5.0
"""Time between two looks at who the workers of a cluster are."""

WORKERLESS_SECONDS = 300.0
"""How long a cluster may be without a worker: as long as its manager may take to start new ones."""


@dataclass(frozen=True)
class Here:
    """What a task knows of the process that it runs in.

    `tell`: tells whoever handed the task out something, such as how far it is. `sharers`: tasks
    that run on this machine at the same time, this one included.
    """

    tell: Callable[[Any], None]
    sharers: int = 1

    def threads(self, asked: int) -> int:
        """Return the threads of a kernel: those asked for, or for 0 the share of this task.

        Examples
        --------
        >>> Here(print, sharers=1000).threads(0), Here(print).threads(7)
        (1, 7)
        """
        return asked or max(available_threads() // self.sharers, 1)


Task = Callable[[Here], Any]
"""Some work; where a cluster does it, it must survive pickling."""


@dataclass(frozen=True)
class Ended:
    """How a task ended.

    `number`: the number that it was handed out with. `value`: what it returned. `error`: why it
    failed; None where it did not. `worker`: name of the worker that did it; None in this process.
    """

    number: int
    value: Any = None
    error: BaseException | None = None
    worker: str | None = None


def hand_out(
    client: Any | None,
    next_task: Callable[[], tuple[int, Task] | None],
    hear: Callable[[Any], None] = lambda message: None,
) -> Iterator[Ended]:
    """Keep the workers of a cluster busy, or this process, and yield each task as it ends.

    `client`: a Dask client; None: this process does one task after the other. `next_task`: gives
    the number of the next task and the task, or None when there is none (any more, or because a
    limit was reached). It is asked again after each task that ended. `hear`: is called with what
    running tasks tell, in the thread of the caller. Raises BicliqError where the cluster is lost,
    or has no worker for `WORKERLESS_SECONDS`.

    Whoever is done gets the next task, so the costliest should come first. A task that waits behind
    a long one is stolen by a worker that is idle (Dask's work stealing). A task that fails is tried
    again where that may help (`pipeline.errors.may_heal`), and one whose worker died on another
    worker.
    """
    return _done_here(next_task, hear) if client is None else _unless_lost(_done_by(client, next_task, hear))


def _done_here(next_task: Callable[[], tuple[int, Task] | None], hear: Callable[[Any], None]) -> Iterator[Ended]:
    while (task := next_task()) is not None:
        try:
            value = task[1](Here(hear))
        except Exception as error:
            yield Ended(task[0], error=error)
        else:
            yield Ended(task[0], value)


def _unless_lost(tasks: Iterator[Ended]) -> Iterator[Ended]:
    """Say that the cluster was lost where a connection to its scheduler breaks in our hands."""
    from distributed.comm import CommClosedError

    try:
        yield from tasks
    except CommClosedError as error:
        raise _lost(str(error)) from error


def _done_by(
    client: Any, next_task: Callable[[], tuple[int, Task] | None], hear: Callable[[Any], None]
) -> Iterator[Ended]:
    events: SimpleQueue[Any] = SimpleQueue()  # Dask's threads fill it, the caller's empties it
    topic = f"bicliq-{uuid.uuid4().hex}"
    workers = _Workers(client)
    running: dict[str, tuple[int, Task, Any]] = {}

    def submit(number: int, task: Task) -> None:
        if client.status == "closed":
            raise _lost("it closed its connections")
        call = task, topic, workers.slots, LOGGER.getEffectiveLevel()
        future = client.submit(_on_worker, *call, pure=False, retries=RETRIES)
        running[future.key] = number, task, future
        future.add_done_callback(events.put)

    def start() -> None:
        """Keep all workers busy, those too that came since."""
        while len(running) < QUEUED_PER_THREAD * max(workers.slots.all, 1):
            task = next_task()
            if task is None:
                return
            submit(*task)

    client.subscribe_topic(topic, events.put)
    try:
        start()
        while running:
            if workers.look():
                start()
            try:
                event = events.get(timeout=LOOK_SECONDS)
            except Empty:
                continue
            workers.heard()
            if isinstance(event, tuple):  # time and message of a running task
                _hear(event[1], hear)
                continue
            number, task, future = running.pop(event.key)
            if future.status == "lost" and client.status == "running":
                future.release()
                submit(number, task)  # its worker died with the result; what it committed is found
                continue
            ended = _ended(number, future)
            future.release()  # or its worker's death would make a result again that we have
            yield ended
            start()
    finally:
        with suppress(Exception):  # a client that was lost can neither release nor unsubscribe
            for _, _, future in running.values():
                future.release()  # whoever stops listening stops the work
            client.unsubscribe_topic(topic)


@dataclass(frozen=True)
class Slots:
    """Tasks that each machine of a cluster runs at a time.

    It travels with every task. Machines are many and mostly alike, so only those are named that
    differ from most.

    `all`: of all machines together. `usual`: of a machine that is not named, or came later; None:
    there was no machine yet.

    Examples
    --------
    >>> Slots.of({"tcp://10.0.0.7": 8, "tcp://10.0.0.8": 8, "tcp://10.0.0.9": 4})
    Slots(all=20, usual=8, others={'tcp://10.0.0.9': 4})
    """

    all: int = 0
    usual: int | None = None
    others: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, by_host: dict[str, int]) -> Slots:
        """Name the machines that differ from most."""
        counts = list(by_host.values())
        usual = max(counts, key=counts.count, default=None)
        return cls(sum(counts), usual, {host: slots for host, slots in by_host.items() if slots != usual})


class _Workers:
    """The workers of a cluster, which come and go: looked at every `LOOK_SECONDS`."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.slots = Slots.of(_slots_by_host(client))
        self._looked = self._seen = time.monotonic()
        self._waited_for = False

    def heard(self) -> None:
        """Note that a task was heard of."""
        self._seen = time.monotonic()

    def look(self) -> bool:
        """Look who there is, unless that was done a moment ago; says whether it is another number.

        Raises BicliqError where nobody has been there, or heard of, for `WORKERLESS_SECONDS`.
        """
        now = time.monotonic()
        if now - self._looked < LOOK_SECONDS:
            return False
        self._looked, before = now, self.slots.all
        if by_host := _slots_by_host(self._client):
            self.slots, self._seen, self._waited_for = Slots.of(by_host), now, False
        elif now - self._seen >= WORKERLESS_SECONDS:
            raise BicliqError(
                f"the cluster has had no worker for {WORKERLESS_SECONDS:.0f} s; start workers and run the same command"
                " again: what is committed is kept"
            )
        elif not self._waited_for:
            self._waited_for = True
            warn("waiting for workers", scheduler=self._client.scheduler.address, seconds=WORKERLESS_SECONDS)
        return self.slots.all != before


def _hear(message: dict[str, Any], hear: Callable[[Any], None]) -> None:
    """Pass on what a task tells, and log what its worker would have logged."""
    if "event" in message:
        level, event, facts = message["event"]
        tell(event, level, **facts | {"worker": message["worker"]})
    else:
        hear(message["told"])


def _on_worker(task: Task, topic: str, slots: Slots, level: int) -> tuple[str, Any, BicliqError | None]:
    """Do a task on a Dask worker.

    An error that would come again is returned, since Dask tries again what is raised.
    """
    from distributed import get_worker

    from bicliq.pipeline.placement.batches import send_when_the_clock_is_put_back

    send_when_the_clock_is_put_back()
    worker = get_worker()
    metrics_on(worker)
    sharers = slots.others.get(_host(worker.address), slots.usual or worker.state.nthreads)

    def send(event: Message) -> None:
        worker.log_event(topic, {"worker": str(worker.name), "event": event})

    try:
        with stopped_when_cancelled(worker), passed_on(send, level):
            return str(worker.name), task(Here(partial(_tell, worker, topic), sharers)), None
    except Exception as error:
        if may_heal(error):
            raise
        ours = error if isinstance(error, BicliqError) else BicliqError(sentence(error))
        return str(worker.name), None, ours


def _tell(worker: Any, topic: str, message: Any) -> None:
    worker.log_event(topic, {"told": message})


def _ended(number: int, future: Any) -> Ended:
    if future.status == "error":
        return Ended(number, error=future.exception())
    try:
        if future.status == "finished":
            worker, value, error = future.result(timeout=WORKERLESS_SECONDS)
            return Ended(number, value, error, worker)
    except TimeoutError:  # its worker died with the result, and no other one came
        pass
    raise _lost(f"a task was {future.status}")


def _lost(why: str) -> BicliqError:
    return BicliqError(
        f"the cluster was lost: {why}; check its scheduler and run the same command again: what is committed is kept"
    )


def _slots_by_host(client: Any) -> dict[str, int]:
    """Tasks that each machine of a cluster runs at a time; none if no scheduler answers."""
    slots: dict[str, int] = {}
    try:
        threads = client.nthreads(callback_timeout=LOOK_SECONDS)
    except (OSError, TimeoutError):
        return slots
    for address, count in threads.items():
        slots[_host(address)] = slots.get(_host(address), 0) + int(count)
    return slots


def _host(address: str) -> str:
    """The machine in the address of a worker, as tcp://10.0.0.7 of tcp://10.0.0.7:40001."""
    return address.rsplit(":", 1)[0]
