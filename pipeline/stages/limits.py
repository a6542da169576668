"""Limits of a call: how much a search may find, write, take and hold before it stops.

A limit ends a search where it is: what was found is committed as cut off, the manifest says that
it is not complete and why, and a later call with a higher limit, or none, goes on.
"""

from __future__ import annotations

import contextlib
import ctypes
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa

from bicliq.pipeline.errors import CapacityError

LimitName = Literal["max_bicliques", "max_bytes", "time_limit", "memory_limit"]

LOOK_SECONDS = 0.05
"""Time between two looks at the memory of this process."""


NO_LIMIT = 1 << 62

BESIDE_GRAPH = 64 << 20
"""What a stage holds beside a graph, whatever its size: row groups that are read and written, and
code that is loaded."""

SMALL_GRAPH = 16 << 20
"""Bytes of a graph that is taken whatever the limit, as ingest takes its table."""

ANOTHER_START = 16 << 20
"""What a process may hold more when it is started again."""

KEPT_OF_READING = 256 << 20
"""What a process still holds at most of the table that it read, with another limit than this."""


@dataclass(frozen=True)
class Limits:
    """What a call may do; None: no limit.

    `max_bicliques`, `max_bytes`: bicliques of the whole run, and bytes of its data files.
    `time_limit`: seconds of the search. `memory_limit`: bytes that a process that searches may hold
    (its resident set).
    """

    max_bicliques: int | None = None
    max_bytes: int | None = None
    time_limit: float | None = None
    memory_limit: int | None = None

    def __bool__(self) -> bool:
        return self != Limits()

    def in_words(self, name: LimitName) -> str:
        """Name a limit with its value.

        Examples
        --------
        >>> Limits(max_bytes=10**9).in_words("max_bytes"), Limits(time_limit=60).in_words("time_limit")
        ('limit of 1,000,000,000 bytes', 'limit of 60 seconds')
        """
        unit = {"max_bicliques": "bicliques", "max_bytes": "bytes", "time_limit": "seconds"}
        return f"limit of {getattr(self, name):,} {unit.get(name, 'bytes of memory')}"


class Cut:
    """Says when the search of one partition has to end; made where it is searched.

    `room`: what is left of the limits as it was handed out. `handed_out`: when that was, by the
    clock of the day of whoever handed it out: a partition may have waited behind another one. A
    clock that jumps makes it end early, never late.

    Attributes
    ----------
    reason
        The limit that ended it, or None.

    Examples
    --------
    >>> cut = Cut(Limits(max_bytes=100), time.time())
    >>> cut.due(99), cut.due(100), cut.reason
    (False, True, 'max_bytes')
    """

    def __init__(self, room: Limits, handed_out: float) -> None:
        self.reason: LimitName | None = None
        self.room = room
        self._looked = float("-inf")
        self._deadline = float("inf")
        if room.time_limit is not None:
            waited = max(time.time() - handed_out, 0.0)
            self._deadline = time.monotonic() + room.time_limit - waited

    def due(self, written: int) -> bool:
        """Whether it has to end now, with so many bytes in its file."""
        now, room = time.monotonic(), self.room
        if now >= self._deadline:
            self.reason = "time_limit"
        elif room.max_bytes is not None and written >= room.max_bytes:
            self.reason = "max_bytes"
        elif room.memory_limit is not None and now - self._looked >= LOOK_SECONDS:
            self._looked = now
            if resident_bytes() >= room.memory_limit:
                self.reason = "memory_limit"
        return self.reason is not None


@dataclass(frozen=True)
class GraphNeeds:
    """What a stage holds of a graph at most, in bytes; measured (docs/scale.md).

    `edge`, `vertex`: for each edge, and for each vertex of both sides.

    Examples
    --------
    >>> GraphNeeds(edge=4, vertex=40).of(100_000_000, 10_000_000) - BESIDE_GRAPH
    800000000
    """

    edge: float
    vertex: float

    def of(self, edges: int, vertices: int) -> int:
        """Bytes for a graph of so many edges and vertices; a small one is taken in any case."""
        own = int(self.edge * edges + self.vertex * vertices)
        return BESIDE_GRAPH + own if own > SMALL_GRAPH else 0


Later = Callable[[int, int], int]
"""What is done with a graph after it was read needs so many bytes, by its edges and vertices."""

LARGE_PARTITION = 256 << 20
"""Bytes of a partition at most, where nothing else is asked for and there are several."""


def of_a_run(edges: int, vertices: int) -> int:
    """Bytes that a run holds at most after its table was read: when its partitions are cut.

    Examples
    --------
    >>> of_a_run(100_000_000, 10_000_000) >> 20
    2035
    """
    laid_out, one = GraphNeeds(edge=8, vertex=56), GraphNeeds(edge=4, vertex=24)
    largest = min(12 * edges + 24 * vertices, LARGE_PARTITION)
    whole = laid_out.of(edges, vertices)
    return whole and whole + max(one.of(edges, vertices), largest)


@dataclass(frozen=True)
class MemoryRoom:
    """What a limit of memory leaves to a stage.

    `limit`: bytes that this process may hold; None: there is no limit. `held`: bytes that it held
    when the stage began.

    Examples
    --------
    >>> MemoryRoom(300 << 20, held=100 << 20).bytes >> 20
    200
    """

    limit: int | None
    held: int

    @classmethod
    def within(cls, limit: int | None) -> MemoryRoom:
        """Return the room that a limit leaves now, when what is kept for later is given back."""
        if limit is None:
            return cls(None, 0)
        _give_back()
        return cls(limit, resident_bytes())

    @property
    def bytes(self) -> int:
        """Bytes that may be taken."""
        return NO_LIMIT if self.limit is None else max(self.limit - self.held, 0)

    def require(self, needed: int, what: str, in_all: int = 0, kept: int = 0) -> None:
        """Raise a `CapacityError` where so many bytes are more than there is room for.

        Its message names a limit that would do: for them, or for what comes after as well, if that
        is `in_all` at most, beside what it holds, or up to `kept` when it is started again.
        """
        if self.limit is not None and needed > self.bytes:
            enough = max(self.held, kept) + max(needed, in_all) + ANOTHER_START
            mebibytes = [-(-size // (1 << 20)) for size in (needed, self.held, self.limit, enough)]
            raise CapacityError(
                "{}: needs {:,} MiB of memory beside the {:,} MiB that this process holds, which is beyond the limit of"
                " {:,} MiB; give it at least memory_limit = {}".format(what, *mebibytes[:3], mebibytes[3] << 20)
            )

    def require_for_graph(self, needed: int, what: str, edges: int, vertices: int) -> None:
        """Raise as `require`, for a stage of a run whose graph was read: its limit does for all."""
        self.require(needed, what, of_a_run(edges, vertices), KEPT_OF_READING)


def _give_back() -> None:
    """Let go of memory that was freed, and that allocators keep: Arrow's, and glibc's."""
    pa.default_memory_pool().release_unused()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def resident_bytes() -> int:
    """Return the bytes of memory that this process holds.

    Examples
    --------
    >>> resident_bytes() > 1 << 20
    True
    """
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * resource.getpagesize()
    except FileNotFoundError:  # not Linux: the most that it held so far
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
