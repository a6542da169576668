"""Undirected graphs in memory: symmetric CSR of edges, or of one side of a bipartite graph.

The direction of an edge, its repetition and self-loops mean nothing to a clique: they are counted
and dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bicliq import kernels
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, Int32s, Int64s
from bicliq.pipeline.graphs.projection import frequent, symmetric_csr, tied_pairs
from bicliq.pipeline.placement.arrays import library_of
from bicliq.pipeline.placement.device import device_errors_of


@dataclass(frozen=True, eq=False)
class UndirectedGraph:
    """An undirected graph with the labels of its vertices.

    Parameters
    ----------
    indptr, indices
        Symmetric CSR, rows ascending, without self-loops; on the host or on a GPU.
    ids
        Label of each vertex (int64 or string), ascending.
    self_loops, repeated
        Rows that were dropped: an edge of a vertex with itself, and an edge given before, in either
        direction.
    account
        What became of the rows of its table (`pipeline.store.account`).
    """

    indptr: Int64s
    indices: Int32s
    ids: pa.Array
    self_loops: int = 0
    repeated: int = 0
    account: dict[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self.indptr) - 1

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return len(self.indices) // 2

    @classmethod
    def from_edges(cls, u: npt.ArrayLike, v: npt.ArrayLike, ids: pa.Array) -> UndirectedGraph:
        """Build a graph from pairs of vertex numbers in any order, where their arrays lie.

        Examples
        --------
        >>> graph = UndirectedGraph.from_edges([0, 1, 1], [1, 0, 1], pa.array(["a", "b"]))
        >>> graph.n_edges, graph.repeated, graph.self_loops
        (1, 1, 1)
        """
        xp = library_of(u)
        us, vs = xp.asarray(u, xp.int64), xp.asarray(v, xp.int64)
        apart = us != vs
        pairs = frequent((xp.minimum(us, vs) << 32 | xp.maximum(us, vs))[apart], 1)
        loops = us.size - int(apart.sum())
        return cls(*symmetric_csr(pairs, len(ids)), ids, loops, us.size - loops - pairs.size)


def project(
    graph: BipartiteGraph, ids: pa.Array, side: Literal["left", "right"], min_shared: int, threads: int = 1
) -> UndirectedGraph:
    """Project one side of a bipartite graph where its arrays lie; `ids` are the side's labels."""
    if library_of(graph.indices) is np:
        csr = kernels.project_one_mode(
            graph.indptr, graph.indices, graph.n_right, side=side, min_shared=min_shared, threads=threads
        )
        return UndirectedGraph(*csr, ids)
    with device_errors_of(graph.indices):
        rows = graph if side == "left" else graph.transpose()
        return UndirectedGraph(*symmetric_csr(tied_pairs(rows, min_shared), rows.n_left), ids)


def expected_ties(graph: BipartiteGraph, side: Literal["left", "right"], min_shared: int) -> int:
    """Return how many edges a projection is expected to have.

    Of the pairs of vertices that share something, about one in k² shares k (docs/methods.md).

    Examples
    --------
    >>> expected_ties(BipartiteGraph.from_edges([0, 1, 2], [0, 0, 0], 3, 1), "left", 1)
    3
    """
    degrees = graph.right_degrees if side == "left" else graph.left_degrees
    return int((degrees * (degrees - 1) // 2).sum()) // min_shared**2
