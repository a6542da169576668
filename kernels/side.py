"""Which side's vertices are the roots of the search, where nobody asked for one."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernels.arguments import as_int64
from kernels.contracts import Int64Array, Side

CROWDED = 0.7  # share of a side's vertices that a neighbour of a random edge has
MOST_PATHS = 128  # times the paths of the other side: the lists of the roots are made of them


def choose_side(left_degrees: Any, right_degrees: Any) -> Side:
    """The side to enumerate where nobody asked for one.

    That with fewer paths of two edges from its vertices.

    Paths that start on the left are counted by the squares of the right degrees, and the other way
    round. On nine real graphs the rule finds the faster side, or one within a fifth of it
    (docs/methods.md); the side with fewer vertices would be up to 27 times slower (fimi-retail).

    In a crowded table, where a neighbour of a random edge has seven tenths of the vertices of a
    side, it is that side: roots on the other one have nearly all of them as rows, down to the last
    nodes (fimi-chess: three times the time).

    Raises
    ------
    ValueError
        If the degrees are no whole numbers from 0 up.

    Examples
    --------
    A star: one left vertex, three right ones. Its centre is the one root worth having.

    >>> choose_side([3], [1, 1, 1])
    'left'
    """
    of_left, of_right = _degrees(left_degrees, "left_degrees"), _degrees(right_degrees, "right_degrees")
    from_left, from_right = (float(np.square(degrees, dtype=np.float64).sum()) for degrees in (of_right, of_left))
    n_edges = int(of_left.sum())
    left_is_crowded = from_left >= CROWDED * n_edges * len(of_left)
    right_is_crowded = from_right >= CROWDED * n_edges * len(of_right)
    if left_is_crowded != right_is_crowded:
        crowded, other = (from_left, from_right) if left_is_crowded else (from_right, from_left)
        if crowded <= MOST_PATHS * other:
            return "left" if left_is_crowded else "right"
    return "left" if from_left <= from_right else "right"


def _degrees(values: Any, name: str) -> Int64Array:
    degrees = as_int64(values, name)
    if (degrees < 0).any():
        place = int(np.argmax(degrees < 0))
        raise ValueError(f"{name} holds {degrees[place]} at index {place}; a degree is at least 0")
    return degrees


SAMPLED_PATHS, SEED = 64, 1
WARP_ROWS = 32  # rows of a node that a warp holds one a lane
WIDE_SHARE, NARROW_SHARE = 0.5, 0.1
MOST_PATHS_FOR_WARPS = 32  # times the paths of the side that has fewer


def choose_side_for_warps(indptr: Any, indices: Any, n_right: int) -> Side:
    """The side for a GPU: that of `choose_side`, unless most of its pairs share too many rows.

    Too many are more than a warp has lanes.

    The nodes below such pairs are wide, and cost a warp many times what a node of at most 32 rows
    does. So the other side is taken where its pairs are narrow; on edit-nawiki that is 1.6 times as
    fast. Pairs are the ends of a seeded sample of paths of two edges. O(edges + sample · largest
    degree).

    Examples
    --------
    Two left vertices that share 40 right ones, each of which belongs to no other:

    >>> indices = np.tile(np.arange(40, dtype=np.int32), 2)
    >>> choose_side_for_warps(np.array([0, 40, 80]), indices, 40)
    'right'
    """
    starts, columns = np.asarray(indptr, dtype=np.int64), np.asarray(indices)
    degrees: dict[Side, Any] = {"left": np.diff(starts), "right": np.bincount(columns, minlength=n_right)}
    chosen = choose_side(degrees["left"], degrees["right"])
    other: Side = "right" if chosen == "left" else "left"
    fewer, more = (int(np.square(degrees[side], dtype=np.int64).sum()) for side in (other, chosen))
    if more > MOST_PATHS_FOR_WARPS * max(fewer, 1):
        return chosen
    sample = _Paths(starts, columns, degrees)
    swap = sample.wide_share(chosen) >= WIDE_SHARE and sample.wide_share(other) <= NARROW_SHARE
    return other if swap else chosen


class _Paths:
    """A seeded sample of the paths of two edges between the vertices of a side."""

    def __init__(self, starts: Any, columns: Any, degrees: dict[Side, Any]) -> None:
        self._starts, self._columns, self._degrees = starts, columns, degrees

    def wide_share(self, side: Side) -> float:
        """How many of the paths join vertices that share more than `WARP_ROWS` others."""
        middle: Side = "right" if side == "left" else "left"
        degrees = self._degrees[middle].astype(np.int64)
        paths = np.cumsum(degrees * (degrees - 1))
        if not len(paths) or not paths[-1]:
            return 0.0
        random = np.random.default_rng(SEED)
        middles = np.searchsorted(paths, random.integers(paths[-1], size=SAMPLED_PATHS), side="right")
        members = self._neighbours(middle, middles)
        ends = [members[vertex][random.choice(degrees[vertex], 2, replace=False)] for vertex in middles.tolist()]
        lists = self._neighbours(side, np.concatenate(ends))
        shared = [len(np.intersect1d(lists[a], lists[b], assume_unique=True)) for a, b in map(np.ndarray.tolist, ends)]
        return sum(n > WARP_ROWS for n in shared) / SAMPLED_PATHS

    def _neighbours(self, side: Side, vertices: Any) -> dict[int, Any]:
        """The neighbours of some vertices, ascending."""
        chosen = np.unique(vertices)
        if side == "left":
            return {v: self._columns[self._starts[v] : self._starts[v + 1]] for v in chosen.tolist()}
        wanted = np.zeros(len(self._degrees[side]), dtype=np.bool_)
        wanted[chosen] = True
        edges = np.flatnonzero(wanted[self._columns])
        edges = edges[np.argsort(self._columns[edges], kind="stable")]
        owners = np.searchsorted(self._starts, edges, side="right") - 1
        cuts = np.cumsum(self._degrees[side][chosen])[:-1]
        return dict(zip(chosen.tolist(), np.split(owners, cuts), strict=True))
