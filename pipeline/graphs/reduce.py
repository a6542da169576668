"""Reduce: keep what can still be in an answer, the (α,β)-core for the asked minimum sizes.

A biclique with at least `min_left` × `min_right` vertices gives each of its left vertices
`min_right` neighbours and each of its right vertices `min_left`. Peeling all others off, until none
is left to peel, changes neither the set of such maximal bicliques nor their maximality.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.graphs.bipartite import BipartiteGraph, Int32s, Int64s
from pipeline.placement.arrays import counts_of, library_of, to_host


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
        left, right = self.left_kept[self.graph.edge_left], self.right_kept[self.graph.indices]
        return BipartiteGraph.from_edges(left, right, n_left, n_right)

    def on_host(self) -> Reduced:
        """Return the same with its arrays on the host."""
        return Reduced(self.graph.on("cpu"), to_host(self.left_kept), to_host(self.right_kept), self.rounds)


def reduce(graph: BipartiteGraph, min_left: int = 1, min_right: int = 1) -> Reduced:
    """Return the core where left degrees reach `min_right` and right degrees `min_left`.

    Parameters
    ----------
    graph
        Any bipartite graph; isolated vertices are always dropped.
    min_left, min_right
        Smallest sides of the bicliques that are asked for, each at least 1.

    Returns
    -------
    Reduced
        The core and the maps of its ids to the old ones.

    Notes
    -----
    Each round drops all vertices below their bound at once, O(edges left) a round. A graph whose
    arrays lie on a GPU is reduced there.

    Examples
    --------
    >>> star = BipartiteGraph.from_edges([0, 0, 0], [0, 1, 2], 1, 3)
    >>> reduce(star, min_left=2).graph.n_edges
    0
    """
    left, right = graph.edge_left, graph.indices
    left_degrees, right_degrees, rounds = graph.left_degrees, graph.right_degrees, 0
    while True:
        keep = (left_degrees >= min_right)[left]
        keep &= (right_degrees >= min_left)[right]
        if bool(keep.all()):
            break
        left, right, rounds = left[keep], right[keep], rounds + 1
        left_degrees, right_degrees = counts_of(left, graph.n_left), counts_of(right, graph.n_right)
    left_kept, left_rank = _numbered(left_degrees)
    right_kept, right_rank = _numbered(right_degrees)
    core = BipartiteGraph.from_edges(left_rank[left], right_rank[right], left_kept.size, right_kept.size)
    return Reduced(core, left_kept, right_kept, rounds)


def _numbered(degrees: Int64s) -> tuple[Int32s, Int32s]:
    """Vertices with an edge, and the number of each vertex among them."""
    xp = library_of(degrees)
    present = degrees > 0
    return xp.flatnonzero(present).astype(xp.int32), xp.cumsum(present, dtype=xp.int32) - 1
