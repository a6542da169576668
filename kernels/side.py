"""Which side's vertices are the roots of the search, where nobody asked for one."""

from __future__ import annotations

from operator import mul
from typing import Any

from bicliq.kernels.arguments import checked_csr, whole_number
from bicliq.kernels.contracts import Int32Array, Int64Array, Side
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.machine import Backend

CROWDED = 0.7  # share of a side's vertices that a neighbour of a random edge has
MOST_PATHS = 128  # times the paths of the other side: the lists of the roots are made of them
HIGH = 0.25  # share of a side that is asked for at least: then few pairs of the crowded side are searched less

MOST_UNPRUNED = 2  # pairs that share less are no nodes in any case
# What a path costs to search where its ends share enough, twice and four times that, which leaves
# more and more below them: so many times what it costs when a root is built.
SEARCHED = (2, 6, 30)
# A crowded side stays the better one as long as so much of its paths has ends that share enough,
# and so little of the side is asked for.
HARDLY_PRUNED, LOW = 0.5, 0.02
SAMPLED_PATHS = 160  # of a side
SEED = 9  # with this one no pair that docs/results.md speaks of is misjudged
HOPELESS = 14  # times the paths of a side: the other one is not taken

SAMPLED_FOR_WARPS = 64
WARP_ROWS = 32  # rows of a node that a warp holds one a lane
FEW_COLUMNS, MOST_COLUMNS = 4, 0xFF00  # as src/search/short_rows.hpp has them
WIDE_SHARE, NARROW_SHARE = 0.5, 0.1
MOST_PATHS_FOR_WARPS = 32  # times the paths of the side that has fewer


def choose_side(
    indptr: Any,
    indices: Any,
    n_right: int,
    *,
    min_left: int = 1,
    min_right: int = 1,
    backend: Backend | str = Backend.CPU,
) -> Side:
    """The side to enumerate where nobody asked for one: that with less to search.

    Without thresholds it is the side with fewer paths of two edges from its vertices;
    docs/methods.md says how much slower the side with fewer vertices would be. A crowded side,
    where a neighbour of a random edge has seven tenths of its vertices, is taken all the same:
    roots on the other one have nearly all of them as rows, down to the last nodes. On a GPU, pairs
    that share more rows than a warp has lanes count against a side.

    A threshold above two prunes where the roots are on the other side: a pair of roots that shares
    fewer is not searched. So each path counts once, some times more where its ends share enough,
    and many where they share several times that, by a seeded sample (`src/graphs/path_sample.hpp`).
    A threshold of the roots' own side prunes as well: of the vertices beside a row the last ones
    begin nothing that is large enough, so a path counts less, the more so the deeper it leads.
    A crowded side of which little is asked for stays the better one while most of its pairs share
    enough.

    Parameters
    ----------
    indptr : array of int, shape (n_left + 1,)
    indices : array of int, shape (n_edges,)
    n_right : int
        CSR of the left side; rows ascending without repetition, and best what thresholds leave.
    min_left, min_right : int
        Only bicliques with at least so many left and right vertices are searched for.
    backend : {"cpu", "cuda"}
        Where it is searched.

    Raises
    ------
    ValueError
        If the arrays are no CSR matrix, or a threshold is below 1.

    Notes
    -----
    O(edges + sample · largest degree).

    Examples
    --------
    A star: one left vertex, three right ones. Its centre is the one root worth having.

    >>> choose_side([0, 3], [0, 1, 2], 3)
    'left'

    Two left vertices that share 40 right ones, each of which belongs to no other:

    >>> import numpy as np
    >>> indices = np.tile(np.arange(40, dtype=np.int32), 2)
    >>> choose_side([0, 40, 80], indices, 40, backend="cuda")
    'right'
    """
    checked = checked_csr(indptr, indices, n_right)
    return side_of(*checked, whole_number("min_left", min_left), whole_number("min_right", min_right), backend)


def side_of(
    starts: Int64Array,
    columns: Int32Array,
    n_columns: int,
    min_left: int,
    min_right: int,
    backend: Backend | str,
    paths: Any = None,
) -> Side:
    """The same of arrays that are known to be a CSR matrix: to check them takes a tenth of it.

    `paths`: the extension's `Paths` of these arrays, where somebody has them.
    """
    least = {"left": min_left, "right": min_right}
    paths = paths or load_extension().Paths(starts, columns, n_columns)
    chosen = _side_of_paths(len(starts) - 1, n_columns, len(columns), paths, least)
    if Backend(backend) is Backend.CUDA:
        return _side_for_warps(paths, chosen)
    if max(least.values()) <= MOST_UNPRUNED:
        return chosen

    n_paths = {"left": float(paths.from_left), "right": float(paths.from_right)}
    other: Side = "right" if chosen == "left" else "left"
    if n_paths[other] >= HOPELESS * n_paths[chosen]:
        return chosen
    n_chosen = len(starts) - 1 if chosen == "left" else n_columns
    is_crowded = n_paths[other] < n_paths[chosen] and least[chosen] <= LOW * n_chosen

    def cost(side: Side, others: int) -> float:
        asked = max(others, MOST_UNPRUNED), least[side]
        opened, *searched = paths.crowd(side == "left", *asked, SAMPLED_PATHS, SEED)
        if is_crowded and side == chosen and searched[0] >= HARDLY_PRUNED:
            return 0.0
        return n_paths[side] * float(opened + sum(map(mul, SEARCHED, searched)))

    of_left = cost("left", min_right)  # first: paths from the right take a pass over the edges
    if of_left >= HOPELESS * n_paths["right"]:
        return "right"
    if not (is_crowded and chosen == "right"):
        n_rows = len(starts) - 1
        least_of_right = n_paths["right"] - n_rows * (min_right - 1.0) ** 2  # the last of a row are no roots
        if of_left <= least_of_right:
            return "left"
    return "left" if of_left <= cost("right", min_left) else "right"


def searches_roots_together(side: Side, min_left: int, min_right: int, n_roots: int) -> bool:
    """Whether a search of all roots of a side takes less than several of some of them each.

    So it is where a biclique has many rows and few columns at least, as of frequent itemsets: rows
    are then laid out for all roots at once (`src/search/short_rows.hpp`).

    Examples
    --------
    >>> searches_roots_together("right", 916, 1, 6_720), searches_roots_together("left", 916, 1, 6_720)
    (True, False)
    """
    rows, columns = (min_right, min_left) if side == "left" else (min_left, min_right)
    return rows > WARP_ROWS and columns <= FEW_COLUMNS and n_roots <= MOST_COLUMNS


def _side_of_paths(n_left: int, n_right: int, n_edges: int, paths: Any, least: dict[str, int]) -> Side:
    from_left, from_right = float(paths.from_left), float(paths.from_right)
    left_is_crowded = from_left >= CROWDED * n_edges * n_left and least["left"] <= max(MOST_UNPRUNED, HIGH * n_left)
    right_is_crowded = from_right >= CROWDED * n_edges * n_right and least["right"] <= max(
        MOST_UNPRUNED, HIGH * n_right
    )
    if left_is_crowded != right_is_crowded:
        crowded, other = (from_left, from_right) if left_is_crowded else (from_right, from_left)
        if crowded <= MOST_PATHS * other:
            return "left" if left_is_crowded else "right"
    return "left" if from_left <= from_right else "right"


def _side_for_warps(paths: Any, chosen: Side) -> Side:
    """The chosen side, or the other where too many pairs share more rows than a warp has lanes.

    The nodes below such pairs are wide, and cost a warp many times what a node of at most 32 rows
    does. So the other side is taken where its pairs are narrow; on edit-nawiki that is 1.6 times as
    fast.
    """
    other: Side = "right" if chosen == "left" else "left"
    fewer, more = (paths.from_left, paths.from_right)[:: 1 if chosen == "left" else -1]
    if more > MOST_PATHS_FOR_WARPS * max(fewer, 1):
        return chosen

    def wide_share(side: Side) -> float:
        return float(paths.crowd(side == "left", WARP_ROWS + 1, 1, SAMPLED_FOR_WARPS, SEED)[1])

    return other if wide_share(chosen) >= WIDE_SHARE and wide_share(other) <= NARROW_SHARE else chosen
