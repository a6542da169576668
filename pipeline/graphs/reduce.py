"""Reduce: keep what can still be in an answer, the (α,β)-core for the asked minimum sizes.

A biclique with at least `min_left` × `min_right` vertices gives each of its left vertices
`min_right` neighbours and each of its right vertices `min_left`. Peeling all others off, until none
is left to peel, changes neither the set of such maximal bicliques nor their maximality.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bicliq import kernels
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, Int32s, Int64s
from bicliq.pipeline.graphs.paths import row_blocks
from bicliq.pipeline.placement.arrays import BLOCK, counts_of, library_of, repeat, starts_of, sums_of_rows, to_host

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Reduced:
    """A reduced graph and where its vertices come from.

    Parameters
    ----------
    graph
        The core, its vertices numbered anew from 0 in their old order.
    left_kept, right_kept
        int32: the old id of each vertex of the core, ascending.
    rounds
        Rounds of peeling.
    """

    graph: BipartiteGraph
    left_kept: Int32s
    right_kept: Int32s
    rounds: int

    def in_old_ids(self, n_left: int, n_right: int) -> BipartiteGraph:
        """Return the core with the old ids; vertices peeled off are isolated."""
        xp = library_of(self.left_kept)
        degrees = xp.zeros(n_left, xp.int64)
        degrees[self.left_kept] = self.graph.left_degrees
        return BipartiteGraph(n_left, n_right, starts_of(degrees), self.right_kept[self.graph.indices])

    def on_host(self) -> Reduced:
        """Return the same with its arrays on the host."""
        return Reduced(self.graph.on("cpu"), to_host(self.left_kept), to_host(self.right_kept), self.rounds)


def reduce(graph: BipartiteGraph, min_left: int = 1, min_right: int = 1) -> Reduced:
    """Return the core where left degrees reach `min_right` and right degrees `min_left`.

    `graph`: any bipartite graph; isolated vertices are always dropped. `min_left`, `min_right`:
    smallest sides of the bicliques that are asked for, each at least 1. Returns the core and the
    maps of its ids to the old ones.

    Rounds of O(edges left): beside the graph there is its core, and nothing else of that size. A
    graph whose arrays lie on a GPU is reduced there; each round drops all vertices below their
    bound at once, some edges at a time.

    Examples
    --------
    >>> star = BipartiteGraph.from_edges([0, 0, 0], [0, 1, 2], 1, 3)
    >>> reduce(star, min_left=2).graph.n_edges
    0
    """
    xp = library_of(graph.indices)
    core, rounds = peel(graph, min_left, min_right)
    (left_kept, _), (right_kept, right_rank) = map(_numbered, _degrees(core))
    starts = starts_of(core.left_degrees[left_kept])
    indices = core.indices if rounds else xp.empty_like(core.indices)
    for first in range(0, indices.size, BLOCK):
        indices[first : first + BLOCK] = right_rank[core.indices[first : first + BLOCK]]
    return Reduced(BipartiteGraph(left_kept.size, right_kept.size, starts, indices), left_kept, right_kept, rounds)


def peel(graph: BipartiteGraph, min_left: int, min_right: int, *, in_place: bool = False) -> tuple[BipartiteGraph, int]:
    """Return the core of `reduce` with the ids of the graph, and the rounds of peeling.

    Vertices that are peeled off are isolated. With `in_place` the core is written over a graph of
    the host, which must not be used any more: then there is nothing of its size beside it.

    Examples
    --------
    >>> graph = BipartiteGraph.from_edges([0, 1, 1, 2, 2], [0, 1, 2, 1, 2], 3, 3)
    >>> core, rounds = peel(graph, 2, 2)
    >>> core.left_degrees.tolist(), core.indices.tolist(), rounds
    ([0, 2, 2], [1, 2, 1, 2], 1)
    """
    xp = library_of(graph.indices)
    if xp is np:
        rows = graph.indices if in_place else graph.indices.copy()
        indptr, indices, rounds = kernels.peel_rows(graph.indptr, rows, graph.n_right, min_right, min_left)
        if 2 * indices.size < rows.size:  # what was peeled off is not kept in memory
            indices = indices.copy()
        return BipartiteGraph(graph.n_left, graph.n_right, indptr, indices), rounds
    rounds = 0
    while True:
        keep = graph.left_degrees >= min_right, graph.right_degrees >= min_left
        if all(bool((degrees[~kept] == 0).all()) for degrees, kept in zip(_degrees(graph), keep, strict=True)):
            return graph, rounds
        graph = _peeled(graph, *keep, graph.indices if rounds else xp.empty_like(graph.indices))
        rounds += 1


def largest_degree(graph: BipartiteGraph) -> int:
    """Return the most edges of a vertex; numbers of a vertex are let go of at once.

    Examples
    --------
    >>> largest_degree(BipartiteGraph.from_edges([0, 1, 1, 2], [0, 0, 1, 0], 3, 2))
    3
    """
    xp = library_of(graph.indptr)
    largest = [int(counts_of(graph.indices, graph.n_right).max())] if graph.n_edges else [0]
    for first in range(0, graph.n_left, BLOCK):
        largest.append(int(xp.diff(graph.indptr[first : first + BLOCK + 1]).max()))
    return max(largest)


def _degrees(graph: BipartiteGraph) -> tuple[Int64s, Int64s]:
    return graph.left_degrees, graph.right_degrees


def _peeled(graph: BipartiteGraph, left: Bools, right: Bools, indices: Int32s) -> BipartiteGraph:
    """Keep the edges between the vertices for which the masks are true.

    They are written to `indices`, which may be those of the graph: what is written comes after what
    is read.
    """
    xp = library_of(graph.indices)
    degrees = xp.zeros(graph.n_left, xp.int64)
    end = 0
    for rows in row_blocks(graph):
        first, last = int(graph.indptr[rows.start]), int(graph.indptr[rows.stop])
        keep = right[graph.indices[first:last]]
        keep &= repeat(left[rows], graph.left_degrees[rows])
        degrees[rows] = sums_of_rows(keep, graph.indptr[rows.start : rows.stop + 1] - first)
        kept = graph.indices[first:last][keep]
        indices[end : end + kept.size] = kept
        end += kept.size
    return BipartiteGraph(graph.n_left, graph.n_right, starts_of(degrees), indices[:end])


def _numbered(degrees: Int64s) -> tuple[Int32s, Int32s]:
    """Vertices with an edge, and the number of each vertex among them."""
    xp = library_of(degrees)
    present = degrees > 0
    return xp.flatnonzero(present).astype(xp.int32), xp.cumsum(present, dtype=xp.int32) - 1
