"""Bicliques that changed, as many as there may be: their sizes are at hand, lists are read again.

Of two runs that share no data files, millions of bicliques may be in one alone. Runs are compared
by the 64-bit hashes of labels (two numbers of 8 bytes a biclique), file after file, on several
threads; what is in one alone is then known by its place in its file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bicliq import kernels
from bicliq.pipeline.columns import column_of, empty_table, values_of
from bicliq.pipeline.graphs.bipartite import Int32s
from bicliq.pipeline.store.biclique_reader import Int64s
from bicliq.pipeline.store.bicliques import SCHEMA
from bicliq.pipeline.store.choice import EVERYTHING
from bicliq.pipeline.store.labels import read_hashes
from bicliq.pipeline.store.results import Run
from bicliq.pipeline.store.versions import Part, UInt64s, hashes_of

Progress = Callable[[str, int, int], None]
"""Whom is told what is done, and how many files of how many are."""

T = TypeVar("T")
U = TypeVar("U")


class Piece(Protocol):
    """Some of the bicliques that changed."""

    @property
    def sizes(self) -> tuple[Int32s, Int32s]:
        """Left and right vertices of each."""

    def tables(self, rows: Int64s | None = None) -> Iterator[pa.Table]:
        """Yield all, or some by their numbers, which ascend and differ, as tables of `SCHEMA`."""


@dataclass(frozen=True, eq=False)
class Held:
    """Bicliques in memory."""

    table: pa.Table

    @property
    def sizes(self) -> tuple[Int32s, Int32s]:
        """As of `Piece`."""
        return values_of(self.table["n_left"]), values_of(self.table["n_right"])

    def tables(self, rows: Int64s | None = None) -> Iterator[pa.Table]:
        """As of `Piece`."""
        yield self.table if rows is None else self.table.take(column_of(rows))


@dataclass(frozen=True, eq=False)
class Stored:
    """Some bicliques of a data file: row groups, and rows of each."""

    part: Part
    groups: list[tuple[int, Int64s]]

    @cached_property
    def sizes(self) -> tuple[Int32s, Int32s]:
        """As of `Piece`."""
        with self.part.open(check=False) as file:  # it was checked when it was compared
            found = [[sizes[rows] for sizes in file.sizes(group)] for group, rows in self.groups]
        left, right = (np.concatenate([np.zeros(0, np.int32), *side]) for side in zip(*found, strict=True))
        return left, right

    def tables(self, rows: Int64s | None = None) -> Iterator[pa.Table]:
        """As of `Piece`."""
        ends = np.cumsum([len(of_group) for _, of_group in self.groups])
        with self.part.open(check=False) as file:
            for (group, of_group), end in zip(self.groups, ends.tolist(), strict=True):
                start = end - len(of_group)
                some = of_group if rows is None else of_group[rows[(rows >= start) & (rows < end)] - start]
                if len(some):
                    yield file.table(group, None if len(some) == file.rows[group] else some)


class Changed:
    """Bicliques that are in one run alone.

    `pieces`: where they are; their rows are numbered one piece after the other.

    Examples
    --------
    >>> table = pa.table({"left": [[0], [0, 1]], "right": [[2, 4], [2]], "n_left": [1, 2], "n_right": [2, 1]})
    >>> changed = Changed([Held(table), Held(table.slice(1))])
    >>> len(changed), changed.take(np.array([2, 0]))["left"].to_pylist()
    (3, [[0, 1], [0]])
    """

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.pieces = [piece for piece in pieces if len(piece.sizes[0])]
        sizes = [piece.sizes for piece in self.pieces]
        self.n_left, self.n_right = (
            np.concatenate([np.zeros(0, np.int32), *(of_piece[side] for of_piece in sizes)]) for side in (0, 1)
        )
        self.starts = np.cumsum([0, *(len(left) for left, _ in sizes)])

    def __len__(self) -> int:
        """How many there are."""
        return int(self.starts[-1])

    def tables(self) -> Iterator[pa.Table]:
        """Yield all, with dense ids."""
        return (table for piece in self.pieces for table in piece.tables())

    def take(self, rows: Int64s) -> pa.Table:
        """Return some by their number, in this order."""
        once, places = np.unique(rows, return_inverse=True)
        at = np.searchsorted(once, self.starts)
        parts = [
            table
            for piece, start, low, high in zip(self.pieces, self.starts, at, at[1:], strict=False)
            if low < high
            for table in piece.tables(once[low:high] - start)
        ]
        return pa.concat_tables(parts).take(column_of(places)) if parts else empty_table(SCHEMA)


def in_one_alone(before: Run, after: Run, progress: Progress | None = None) -> tuple[Changed, Changed]:
    """Return what is in `after` alone, and what is in `before` alone.

    Both are compared by the hashes of their labels. Memory: 32 bytes a biclique, and what the
    row groups take that are read at the same time. O(members of all bicliques).
    """
    (of_old, old), (of_new, new) = (_hashed(run, progress) for run in (before, after))
    by_old, by_new = np.argsort(old), np.argsort(new)
    gone = _alone(old, by_old, new[by_new])
    came = _alone(new, by_new, old[by_old])
    return _places(of_new, came), _places(of_old, gone)


def side_by_side(work: Callable[[T], U], items: Sequence[T]) -> Iterator[U]:
    """Do something with each of some items, on all cores; what comes of it, in order."""
    with ThreadPoolExecutor(kernels.available_threads(), "compare") as pool:
        yield from pool.map(work, items)


_Group = tuple[Part, int, int, Int64s | None]
"""Part, row group, how many of its rows are there, and which, where that is not all of them."""


def _hashed(run: Run, progress: Progress | None) -> tuple[list[_Group], UInt64s]:
    """The row groups of a run, and the hashes of their bicliques one after the other."""
    labels = read_hashes(run.graph)

    def of_part(part: Part) -> list[tuple[_Group, UInt64s]]:
        with part.open() as file:
            return [
                ((part, group, len(rows), None if len(rows) == file.rows[group] else rows), hashes_of(table, labels))
                for group, _, rows, table in part.tables(file, EVERYTHING)
            ]

    groups, hashes, parts = [], [np.zeros(0, np.uint64)], list(run.parts.values())
    for number, of_one in enumerate(side_by_side(of_part, parts), 1):
        for group, of_group in of_one:
            groups.append(group)
            hashes.append(of_group)
        if progress is not None:
            progress(f"reading {run.run}", number, len(parts))
    return groups, np.concatenate(hashes)


def _alone(hashes: UInt64s, order: Int64s, others: UInt64s) -> npt.NDArray[np.bool_]:
    """Say which hashes are not among others, that ascend.

    They are looked for in ascending order as well, since that stays in the cache.
    """
    alone = np.ones(len(hashes), np.bool_)
    if len(others):
        ascending = hashes[order]
        at = np.searchsorted(others, ascending)
        at[at == len(others)] = 0
        alone[order] = others[at] != ascending
    return alone


def _places(groups: list[_Group], alone: npt.NDArray[np.bool_]) -> Changed:
    found: dict[int, Stored] = {}
    start = 0
    for part, group, n, rows in groups:
        some = np.flatnonzero(alone[start : start + n])
        start += n
        if len(some):
            here = some if rows is None else rows[some]
            found.setdefault(part.commit.partition, Stored(part, [])).groups.append((group, here))
    return Changed(list(found.values()))
