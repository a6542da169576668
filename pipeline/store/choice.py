"""Which bicliques of a run are wanted: by their sizes, their edges, and who is in them.

Sizes are columns of their own, so that a choice by size reads no list; members are looked for only
in the rows whose sizes fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.errors import InputError

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Choice:
    """Bounds of what is wanted; both ends belong to it.

    Parameters
    ----------
    min_left, max_left, min_right, max_right, min_edges, max_edges
        Numbers of left and right vertices, and of edges (left times right); None: no bound.
    with_left, with_right
        Original ids that must all be members.

    Raises
    ------
    InputError
        Where a bound is no whole number of at least 1, or a least one is above its most.

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

    def __post_init__(self) -> None:
        for name in (entry.name for entry in fields(self) if entry.name[:3] in ("min", "max")):
            bound = getattr(self, name)
            if bound is not None and (isinstance(bound, bool) or not isinstance(bound, int) or bound < 1):
                raise InputError(f"{name} {bound!r}: it must be a whole number of at least 1")
        for what in ("left", "right", "edges"):
            least, most = getattr(self, f"min_{what}"), getattr(self, f"max_{what}")
            if most is not None and least > most:
                raise InputError(f"min_{what} {least} is above max_{what} {most}; nothing can be both")
        for name in ("with_left", "with_right"):
            if isinstance(getattr(self, name), str | bytes):
                raise InputError(f"{name} {getattr(self, name)!r}: give a list of ids, as [{getattr(self, name)!r}]")
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def may_take(self, sizes: dict[str, Any]) -> bool:
        """Whether a partition may hold what is wanted, by the histograms of its commit record."""
        largest = sizes["largest"]
        if largest is None or largest["n_edges"] < self.min_edges:
            return False
        return all(
            any(least <= int(size) and (most is None or int(size) <= most) for size, _ in sizes[side])
            for side, least, most in (
                ("left", self.min_left, self.max_left),
                ("right", self.min_right, self.max_right),
            )
        )

    def rows(self, file: pq.ParquetFile, left: Int32s, right: Int32s) -> Iterator[tuple[int, int, Int64s]]:
        """Yield the rows of a data file that are wanted.

        Parameters
        ----------
        file
            The file.
        left, right
            Dense ids of the members that must be there.

        Returns
        -------
        Iterator of (group, start, rows)
            A row group, the number of its first row in the file, and positions in the group.
        """
        start = 0
        for group in range(file.num_row_groups):
            size = file.metadata.row_group(group).num_rows
            rows = self._of_size(file, group, size)
            for name, ids in (("left", left), ("right", right)):
                if rows.size and ids.size:
                    lists = file.read_row_group(group, columns=[name])[name].combine_chunks()
                    rows = rows[_hold_all(lists.take(pa.array(rows)), ids)]
            if rows.size:
                yield group, start, rows
            start += size

    def _of_size(self, file: pq.ParquetFile, group: int, size: int) -> Int64s:
        bounds = (
            (0, self.min_left, self.max_left),
            (1, self.min_right, self.max_right),
            (2, self.min_edges, self.max_edges),
        )
        asked = [bound for bound in bounds if bound[1:] != (1, None)]
        if not asked:
            return np.arange(size)
        left, right = sizes_of(file, group)
        values, mask = (left, right, left * right), np.ones(size, np.bool_)
        for at, least, most in asked:
            mask &= values[at] >= least
            if most is not None:
                mask &= values[at] <= most
        return np.flatnonzero(mask)


EVERYTHING = Choice()
"""The choice that takes all."""


def sizes_of(file: pq.ParquetFile, group: int, rows: Int64s | None = None) -> tuple[Int64s, Int64s]:
    """Numbers of left and of right vertices of the rows of a row group."""
    table = file.read_row_group(group, columns=["n_left", "n_right"])
    left, right = (table[name].to_numpy().astype(np.int64) for name in ("n_left", "n_right"))
    return (left, right) if rows is None else (left[rows], right[rows])


def _hold_all(lists: Any, ids: Int32s) -> npt.NDArray[np.bool_]:
    """Whether each list holds every one of these ids; no list holds one twice."""
    distinct = np.unique(ids)
    found = pc.is_in(lists.flatten(), value_set=pa.array(distinct)).to_numpy(zero_copy_only=False)
    parents = pc.list_parent_indices(lists).to_numpy()
    return np.asarray(np.bincount(parents[found], minlength=len(lists)) == len(distinct))
