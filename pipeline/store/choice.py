"""Which bicliques of a run are wanted: by their sizes, their edges, their surprise, and members.

Sizes are columns of their own, so that a choice by size reads no list, and nothing at all of a row
group whose statistics say that all of it fits, or nothing. So it is with surprise where that is a
column (`PublishSettings.objectives`), else it is reckoned from the lists; members are looked for
only in the rows that fit otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.store.biclique_reader import BicliqueReader, Int64s
from bicliq.pipeline.store.bicliques import offsets_and_ids
from bicliq.pipeline.store.entries import SizeCounts

Int32s = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Choice:
    """Bounds of what is wanted; both ends belong to it.

    Parameters
    ----------
    min_left, max_left, min_right, max_right, min_edges, max_edges
        Numbers of left and right vertices, and of edges (left times right); None: no bound.
    with_left, with_right
        Original ids that must all be members.
    min_surprise
        Least surprise, in nats; None: no bound.

    Raises
    ------
    InputError
        Where a bound is no whole number of at least 1, a least one is above its most, or the least
        surprise is no number.

    Examples
    --------
    >>> Choice(min_left=3, with_right=("tea",)).with_right
    ('tea',)
    """

    min_left: int = 1
    max_left: int | None = None
    min_right: int = 1
    max_right: int | None = None
    min_edges: int = 1
    max_edges: int | None = None
    with_left: tuple[Any, ...] = ()
    with_right: tuple[Any, ...] = ()
    min_surprise: float | None = None

    def __post_init__(self) -> None:
        surprise = self.min_surprise
        if surprise is not None and (
            isinstance(surprise, bool) or not isinstance(surprise, int | float) or surprise != surprise
        ):
            raise InputError(f"min_surprise {surprise!r}: it must be a number, in nats")
        for name in (entry.name for entry in fields(self) if entry.name[:3] in ("min", "max")):
            bound = getattr(self, name)
            if (
                name != "min_surprise"
                and bound is not None
                and (isinstance(bound, bool) or not isinstance(bound, int) or bound < 1)
            ):
                raise InputError(f"{name} {bound!r}: it must be a whole number of at least 1")
        for what in ("left", "right", "edges"):
            least, most = getattr(self, f"min_{what}"), getattr(self, f"max_{what}")
            if most is not None and least > most:
                raise InputError(f"min_{what} {least} is above max_{what} {most}; nothing can be both")
        for name in ("with_left", "with_right"):
            if isinstance(getattr(self, name), str | bytes):
                raise InputError(f"{name} {getattr(self, name)!r}: give a list of ids, as [{getattr(self, name)!r}]")
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def may_take(self, sizes: SizeCounts) -> bool:
        """Whether a partition may hold what is wanted, by the histograms of its commit record."""
        if sizes.largest is None or sizes.largest.n_edges < self.min_edges:
            return False
        return all(
            any(least <= size and (most is None or size <= most) for size, _ in sizes_of)
            for sizes_of, least, most in (
                (sizes.left, self.min_left, self.max_left),
                (sizes.right, self.min_right, self.max_right),
            )
        )

    def rows(self, file: BicliqueReader, left: Int32s, right: Int32s) -> Iterator[tuple[int, int, Int64s]]:
        """Yield the rows of a data file that are wanted.

        `left`, `right`: dense ids of the members that must be there. Returns a row group, the
        number of its first row in the file, and positions in the group.
        """
        start = 0
        for group, size in enumerate(file.rows):
            rows = self.rows_of(file, group, left, right)
            if rows.size:
                yield group, start, rows
            start += size

    def rows_of(self, file: BicliqueReader, group: int, left: Int32s, right: Int32s) -> Int64s:
        """Positions of the wanted rows in one row group."""
        rows = self._surprising(file, group, self._of_size(file, group))
        for name, ids in (("left", left), ("right", right)):
            if rows.size and ids.size:
                rows = rows[_hold_all(file.lists(group, name), np.unique(ids))[rows]]
        return rows

    def _of_size(self, file: BicliqueReader, group: int) -> Int64s:
        """Rows of a row group whose sizes fit; they are read where its statistics leave it open."""
        size, ranges = file.rows[group], file.ranges(group)
        if ranges is not None:
            (left, most_left), (right, most_right) = ranges
            within = (left, most_left), (right, most_right), (left * right, most_left * most_right)
            pairs = list(zip(within, self._bounds, strict=True))
            if any(end < least or begin > most for (begin, end), (least, most) in pairs):
                return np.zeros(0, np.int64)
            if all(begin >= least and end <= most for (begin, end), (least, most) in pairs):
                return np.arange(size)
        lefts, rights = file.sizes(group)
        by_left, by_right, by_edges = self._bounds
        fits = _within(lefts, by_left) & _within(rights, by_right)
        if by_edges != (1, NO_BOUND):
            fits &= _within(lefts.astype(np.int64) * rights, by_edges)
        return np.flatnonzero(fits)

    def _surprising(self, file: BicliqueReader, group: int, rows: Int64s) -> Int64s:
        """Those of some rows that are surprising enough; none is read where statistics tell."""
        least = self.min_surprise
        if least is None or not rows.size:
            return rows
        if file.most(group, "surprise") < least:
            return np.zeros(0, np.int64)
        fits: npt.NDArray[np.bool_] = file.values(group, "surprise", rows) >= least
        return rows[fits]

    @property
    def _bounds(self) -> list[tuple[int, int]]:
        """Least and most of left vertices, of right ones, and of edges."""
        of = ("left", "right", "edges")
        return [(getattr(self, f"min_{what}"), getattr(self, f"max_{what}") or NO_BOUND) for what in of]


EVERYTHING = Choice()
"""The choice that takes all."""

NO_BOUND = 2**63 - 1
"""More than any biclique has of anything."""


def _within(values: npt.NDArray[Any], bounds: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Which values lie between the bounds; one that no value can pass is not looked at."""
    least, most = bounds
    found = np.ones(len(values), np.bool_) if least <= 1 else values >= least
    return np.asarray(found if most == NO_BOUND else found & (values <= most))


def _hold_all(lists: pa.ListArray, ids: Int32s) -> npt.NDArray[np.bool_]:
    """Whether each list holds every one of these different ids; no list holds one twice.

    Ids are compared one after the other, which takes a third of a nanosecond each and is done for
    few; only where one is found is it asked which list that is.
    """
    starts, members = offsets_and_ids(lists)
    held = np.zeros(len(lists), np.int64)
    for id in ids:
        held += np.bincount(
            np.searchsorted(starts, np.flatnonzero(members == id), side="right") - 1, minlength=len(lists)
        )
    return np.asarray(held == len(ids))
