"""A partition that takes down each worker that searches it, searched in pieces.

A process may die of one root, or of one branch below it: its memory runs out, or a driver fails. So
once all others are done, such a partition is given to a worker alone, in case another one was to
blame. Where that dies too, its roots are cut in parts, these in parts again, and a single root by
its first level (`pipeline.stages.partition.Partition.below`), until all is found but what takes a
worker down by itself. One piece runs at a time, so the piece is to blame when its worker dies.

Each piece is written to a file of its own, which nobody reads. In the end they are joined to the
data file of the partition, and it is committed: as complete, or as cut off where something is
missing, and then the partition is marked as failed. It is searched from its beginning by the call
that goes on.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from bicliq.pipeline.errors import BicliqError, sentence
from bicliq.pipeline.events import warn
from bicliq.pipeline.placement.tasks import Ended, Here, Task, hand_out
from bicliq.pipeline.placement.where import Placement
from bicliq.pipeline.placement.work import WORK
from bicliq.pipeline.stages.limits import Cut, LimitName, Limits
from bicliq.pipeline.stages.partition import Partition, read_partition, ready_partition
from bicliq.pipeline.stages.search import join_pieces, search_apart
from bicliq.pipeline.store.commits import Commit
from bicliq.pipeline.store.labels import read_labels
from bicliq.pipeline.store.layout import RunFolder, Store

PARTS = 8
"""Parts that a piece is cut in: few rounds down to one root of thousands."""

MOST_DEADLY = 32
"""Pieces that may take their workers down, some three each (`ALLOWED_FAILURES`), before the
partition is given up."""

NAMED = 5
"""Roots that a message names before it stops."""


@dataclass(frozen=True)
class Piece:
    """Some of the roots of a partition, or of what lies below one of them.

    Parameters
    ----------
    first, last
        Places of its roots: from the first up to, not including, the last.
    below
        The root, by its place in the partition, whose first level this is part of; or None.
    """

    first: int
    last: int
    below: int | None = None

    def parts(self) -> Iterator[Piece]:
        """Cut it in at most `PARTS` parts."""
        size = -(-(self.last - self.first) // PARTS)
        for first in range(self.first, self.last, size):
            yield replace(self, first=first, last=min(first + size, self.last))

    def of(self, part: Partition) -> Partition:
        """Return the piece of its partition."""
        whole = part if self.below is None else part.below(int(part.roots[self.below]))
        return replace(whole, roots=whole.roots[self.first : self.last])


def is_killed(error: BaseException | None) -> bool:
    """Whether a task failed because each worker that tried it died."""
    return type(error).__name__ == "KilledWorker"


def search_in_pieces(
    client: Any,
    folder: RunFolder,
    number: int,
    n_roots: int,
    room: Limits,
    placement: Placement,
    hear: Callable[[Any], None],
) -> Ended:
    """Search a partition whose workers died, and say how that ended, as `hand_out` does.

    Parameters
    ----------
    client
        A Dask client.
    folder, number, n_roots
        The partition, and how many roots it has.
    room
        What is left of the limits.
    placement
        Where workers search.
    hear
        Is called with what running tasks tell.

    Returns
    -------
    Ended
        Its value is the commit and the limit that ended it, if one did; None where nothing was
        found. Its error says what takes workers down, where something does.
    """
    with folder.claim_partition(number):
        done = folder.read_commit(number)
        if done is not None and done.complete:
            return Ended(number, (done, None))
        warn("partition is searched in pieces", run=folder.run, partition=number, roots=n_roots)
        pieces = _Pieces(folder, number, n_roots, room, placement)
        for ended in hand_out(client, pieces.next_task, hear):
            pieces.note(ended)
        return pieces.outcome()


class _Pieces:
    """Pieces of a partition: those that wait, the one that runs, and what was found."""

    def __init__(self, folder: RunFolder, number: int, n_roots: int, room: Limits, placement: Placement) -> None:
        self._folder, self._number, self._placement = folder, number, placement
        self._room, self._began = room, time.monotonic()
        self._waiting = deque([Piece(0, n_roots)])
        self._running: Piece | None = None
        self._found: list[Commit] = []
        self._cut: LimitName | None = None
        self._deaths = 0
        self._deadly: set[int] = set()  # roots, below which a branch alone takes a worker down
        self._error: str | None = None

    def next_task(self) -> tuple[int, Task] | None:
        """Give the next piece, when none runs."""
        over = self._error is not None or self._cut is not None or self._deaths >= MOST_DEADLY
        if over or self._running is not None or not self._waiting:
            return None
        self._running = self._waiting.popleft()
        call = self._folder.store.uri, self._folder.run, self._number, self._running, self._left(), time.time()
        return self._number, partial(_search_piece, *call, self._placement)

    def _left(self) -> Limits:
        """What the pieces before this one have left of the limits."""
        room, found = self._room, self._found
        most, largest, seconds = room.max_bicliques, room.max_bytes, room.time_limit
        return replace(
            room,
            max_bicliques=None if most is None else max(most - sum(commit.rows for commit in found), 0),
            max_bytes=None if largest is None else max(largest - sum(commit.bytes for commit in found), 0),
            time_limit=None if seconds is None else max(seconds - (time.monotonic() - self._began), 0.0),
        )

    def note(self, ended: Ended) -> None:
        """Keep what the piece that ran has found, or cut it up."""
        piece, self._running = self._running, None
        assert piece is not None  # it has just ended
        if ended.error is None:
            commit, self._cut = ended.value
            self._found.append(commit)
            if not commit.complete:
                self._cut = self._cut or "max_bicliques"
        elif is_killed(ended.error):
            self._deaths += 1
            self._waiting.extend(self._smaller(piece))
        else:
            self._error = sentence(ended.error)

    def _smaller(self, piece: Piece) -> Iterator[Piece]:
        """Parts of a piece; a branch of the first level alone has none, and is to blame."""
        if piece.last - piece.first > 1:
            yield from piece.parts()
        elif piece.below is None:
            part = read_partition(self._folder, self._number)
            branches = part.below(int(part.roots[piece.first])).roots.size
            yield from Piece(0, branches, piece.first).parts()
        else:
            self._deadly.add(piece.below)

    def outcome(self) -> Ended:
        """Join what was found and commit it; says what is to blame where something is missing."""
        reason = self._error or self._blame()
        complete = reason is None and self._cut is None
        found = self._found
        commit = join_pieces(self._folder, self._number, found, complete=complete) if found else None
        value = None if commit is None else (commit, self._cut)
        return Ended(self._number, value, None if reason is None else BicliqError(reason))

    def _blame(self) -> str | None:
        """Name the roots that take their workers down."""
        if self._deaths >= MOST_DEADLY:
            return (
                f"{self._deaths} pieces of it took down each worker that searched them, and no more were tried: give"
                " workers more memory"
            )
        if not self._deadly:
            return None
        plan = read_partition(self._folder, self._number)
        ids = plan.left_ids if plan.side == "left" else plan.right_ids
        graph = self._folder.store.graph(str(self._folder.read_record("run.json")["graph"]))
        labels = read_labels(graph)[0 if plan.side == "left" else 1]
        roots = [str(labels[int(ids[plan.roots[place]])]) for place in sorted(self._deadly)]
        named = ", ".join(map(repr, roots[:NAMED])) + (", …" if len(roots) > NAMED else "")
        return (
            f"each worker that searched it died, and each that searched a branch alone below {len(roots)} of its"
            f" {plan.roots.size} roots ({plan.side}: {named}); all others are searched: give workers more memory"
        )


def _search_piece(
    store_uri: str,
    run: str,
    number: int,
    piece: Piece,
    room: Limits,
    handed_out: float,
    placement: Placement,
    here: Here,
) -> tuple[Commit, LimitName | None]:
    """Search a piece; what is returned is not committed.

    Returns which limit ended it, too.
    """
    here.tell([number, 0, 0, 0])
    folder = Store.open(store_uri, create=False).run(run)
    cut, threads = Cut(room, handed_out), here.threads(placement.threads)
    with WORK.on(number) as found:
        commit = search_apart(folder, lambda: piece.of(ready_partition(folder, number)), threads, placement.search, cut)
        found(commit.rows)
    return commit, cut.reason
