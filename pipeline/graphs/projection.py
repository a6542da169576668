"""The one-mode projection by array operations: `kernels.project_one_mode` on a GPU.

A pair of vertices is one whole number of 64 bits, the lesser vertex in the upper half. The paths of
two edges from some vertices at a time are written down as such pairs and sorted; pairs that occur
often enough are edges of the projection.
"""

from __future__ import annotations

from typing import Any

from bicliq.pipeline.graphs.bipartite import BipartiteGraph, gather
from bicliq.pipeline.graphs.paths import PATHS_AT_A_TIME, cut_evenly
from bicliq.pipeline.graphs.reduce import reduce
from bicliq.pipeline.placement.arrays import counts_of, library_of, repeat, starts_of, sums_of_rows, to_host


def tied_pairs(graph: BipartiteGraph, min_shared: int) -> Any:
    """Return the pairs of left vertices that share at least so many right ones.

    `graph`: a graph on the host or on a GPU. `min_shared`: how many common neighbours tie two
    vertices, at least 1. Returns int64, ascending: u << 32 | v, with u < v.

    Only vertices of the (2, min_shared)-core have such partners, and keep all their common
    neighbours there. Time is that of a sort of the paths u, w, v with u < v of this core;
    `PATHS_AT_A_TIME` of them take memory at a time, or those from one vertex.

    Examples
    --------
    >>> graph = BipartiteGraph.from_edges([0, 0, 1, 1, 2], [0, 1, 0, 1, 1], 3, 2)
    >>> [(pair >> 32, pair & 0xFFFFFFFF) for pair in tied_pairs(graph, 2).tolist()]
    [(0, 1)]
    """
    xp = library_of(graph.indices)
    core = reduce(graph, 2, min_shared)
    vertices = core.left_kept[core.graph.edge_left]
    members, begins, lengths = _later_members(core.graph, vertices)
    found = [xp.zeros(0, xp.int64)]
    for starts in cut_evenly(to_host(xp.cumsum(sums_of_rows(lengths, core.graph.indptr))), PATHS_AT_A_TIME):
        edges = slice(int(core.graph.indptr[starts.start]), int(core.graph.indptr[starts.stop]))
        keys = repeat(vertices[edges].astype(xp.int64) << 32, lengths[edges])
        keys |= gather(members, begins[edges], lengths[edges])
        found.append(frequent(keys, min_shared))
    return xp.concatenate(found)


def _later_members(graph: BipartiteGraph, vertices: Any) -> tuple[Any, Any, Any]:
    """The left vertices of all right ones, one list after the other.

    And for each edge where in its list those behind its own vertex begin, and how many they are.
    """
    xp = library_of(graph.indices)
    order = xp.argsort(graph.indices.astype(xp.int64) << 32 | graph.edge_left)
    begins = xp.empty_like(order)
    begins[order] = xp.arange(1, order.size + 1)
    ends = starts_of(graph.right_degrees)[1:]
    return vertices[order], begins, ends[graph.indices] - begins


def frequent(keys: Any, least: int) -> Any:
    """Return, ascending, the keys that occur at least so often; `keys` is sorted in place.

    Examples
    --------
    >>> import numpy as np
    >>> frequent(np.array([5, 3, 5, 4, 3, 5]), 2).tolist()
    [3, 5]
    """
    keys.sort()
    n = max(keys.size - least + 1, 0)
    begins_run = library_of(keys).ones(n, bool)
    begins_run[1:] = keys[1:n] != keys[: max(n - 1, 0)]
    return keys[:n][begins_run & (keys[least - 1 :] == keys[:n])]


def symmetric_csr(pairs: Any, n: int) -> tuple[Any, Any]:
    """Return the CSR of an undirected graph with n vertices, of pairs u << 32 | v, each given once.

    Returns int64 and int32; each edge in the rows of both ends, rows ascending.

    Examples
    --------
    >>> import numpy as np
    >>> indptr, indices = symmetric_csr(np.array([0 << 32 | 2, 1 << 32 | 2]), 3)
    >>> indptr.tolist(), indices.tolist()
    ([0, 1, 2, 4], [2, 2, 0, 1])
    """
    xp = library_of(pairs)
    both = xp.concatenate([pairs, pairs << 32 | pairs >> 32])
    both.sort()
    return starts_of(counts_of(both >> 32, n)), both.astype(xp.int32)  # the lower half
