"""Which side's vertices are the roots of the search, where nobody asked for one."""

from __future__ import annotations

from typing import Any

import numpy as np

from bicliq.kernels.arguments import as_int64
from bicliq.kernels.contracts import Int64Array, Side
from bicliq.kernels.cpu import load_extension

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
    return _side_of_paths(len(of_left), len(of_right), int(of_left.sum()), from_left, from_right)


def _side_of_paths(n_left: int, n_right: int, n_edges: int, from_left: float, from_right: float) -> Side:
    left_is_crowded = from_left >= CROWDED * n_edges * n_left
    right_is_crowded = from_right >= CROWDED * n_edges * n_right
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
    fast. Pairs are the ends of a seeded sample of paths of two edges
    (`src/graphs/path_sample.hpp`). O(edges + sample · largest degree).

    Parameters
    ----------
    indptr, indices, n_right
        CSR of the left side, as `kernels.arguments.checked_csr` returns it.

    Examples
    --------
    Two left vertices that share 40 right ones, each of which belongs to no other:

    >>> indices = np.tile(np.arange(40, dtype=np.int32), 2)
    >>> choose_side_for_warps(np.array([0, 40, 80]), indices, 40)
    'right'
    """
    starts, columns = np.ascontiguousarray(indptr, np.int64), np.ascontiguousarray(indices, np.int32)
    paths = load_extension().Paths(starts, columns, n_right)
    chosen = _side_of_paths(len(starts) - 1, n_right, len(columns), paths.from_left, paths.from_right)
    other: Side = "right" if chosen == "left" else "left"
    fewer, more = (paths.from_left, paths.from_right)[:: 1 if chosen == "left" else -1]
    if more > MOST_PATHS_FOR_WARPS * max(fewer, 1):
        return chosen

    def wide_share(side: Side) -> float:
        return float(paths.crowded(side == "left", SAMPLED_PATHS, WARP_ROWS, SEED))

    return other if wide_share(chosen) >= WIDE_SHARE and wide_share(other) <= NARROW_SHARE else chosen
