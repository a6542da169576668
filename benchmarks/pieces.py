"""Some of the roots of a partition, or of the first level of one, to be searched on their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.stages.partition import Partition

PARTS = 8
"""Parts that a piece is cut in: few rounds down to one root of thousands."""


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
        whole = part if self.below is None else below(part, int(part.roots[self.below]))
        return replace(whole, roots=whole.roots[self.first : self.last])


def below(part: Partition, root: int) -> Partition:
    """Return the subtree of a root as a partition of its own; its roots are the first level.

    Parameters
    ----------
    part, root
        A partition, and a vertex of its enumerated side.

    Notes
    -----
    Every biclique with the root lies in the root's rows. Here the vertices before the root come
    first, and are no roots: they rule out what belongs to earlier roots. Those after it follow,
    and the root itself is the last one. So what it finds is found once, below the vertex that
    comes second in it; below the root itself only what has no second one.
    O(edges of the root's rows), after the edges of the partition are transposed once.
    """
    is_left = part.side == "left"
    graph = BipartiteGraph(part.left_ids.size, part.right_ids.size, part.indptr, part.indices)
    by_root, by_row = (graph, graph.transpose()) if is_left else (graph.transpose(), graph)
    rows = by_root.indices[by_root.indptr[root] : by_root.indptr[root + 1]].astype(np.int64)
    lengths, columns = by_row.rows_of(rows)
    kept = np.unique(columns).astype(np.int64)
    order = np.concatenate([kept[kept < root], kept[kept > root], [root]])
    local = np.empty(by_row.n_right, np.int64)
    local[order] = np.arange(order.size)
    ends = np.repeat(np.arange(rows.size), lengths), local[columns]
    (left, lefts), (right, rights) = (rows, ends[0]), (order, ends[1])
    if is_left:
        left, lefts, right, rights = right, rights, left, lefts
    cut = BipartiteGraph.from_edges(lefts, rights, left.size, right.size)
    roots = np.arange(np.searchsorted(kept, root), order.size, dtype=np.int32)
    ids = part.left_ids[left], part.right_ids[right]
    hashes = part.left_hashes[left], part.right_hashes[right]
    return Partition(part.number, part.side, cut.indptr, cut.indices, *ids, *hashes, roots)
