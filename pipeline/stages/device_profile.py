"""What the profile takes from cuGraph on a GPU: connected components and 2-hop neighbourhoods.

cuGraph knows no sides: the right vertices' numbers are offset by the number of left ones.
"""

from __future__ import annotations

from typing import Any

from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.graphs.paths import cut_evenly, wedges
from bicliq.pipeline.placement.arrays import repeat
from bicliq.pipeline.placement.device import cudf_and_cupy


def component_labels(graph: BipartiteGraph) -> Any:
    """Return a label of the component of each vertex, left before right.

    Parameters
    ----------
    graph
        A graph on the device.

    Returns
    -------
    cupy.ndarray
        int64, shape (n_left + n_right,).
    """
    import cugraph

    cudf, cp = cudf_and_cupy()
    size = graph.n_left + graph.n_right
    labels = cp.arange(size, dtype=cp.int64)
    if graph.n_edges:
        found = cugraph.weakly_connected_components(cugraph_of(cudf, cugraph, graph))
        labels[found["vertex"].values] = found["labels"].values.astype(cp.int64) + size
    return labels


def two_hop_sizes(graph: BipartiteGraph, starts: Any, pairs: int) -> Any:
    """Return how many other left vertices share a right neighbour with each of some left vertices.

    Parameters
    ----------
    graph
        A graph on the device.
    starts
        Left vertices, int32.
    pairs
        Most paths of two edges that are followed at a time: 16 bytes each; a vertex with more of
        them is a batch of its own.

    Returns
    -------
    cupy.ndarray
        int64, shape (starts,).

    Notes
    -----
    Paths of two edges are laid out by two gathers, and equal ends united by a sort of 64-bit keys.
    cuDF's merge and cuGraph's two-hop neighbours (`benchmarks.two_hop`) are slower
    (docs/results.md).
    """
    _, cp = cudf_and_cupy()
    back = graph.transpose()
    sizes = cp.zeros(starts.size, cp.int64)
    for first, last in batches_of(graph, starts, pairs):
        lengths, middle = graph.rows_of(starts[first:last])
        owner = repeat(cp.arange(last - first, dtype=cp.int64), lengths)
        paths, ends = back.rows_of(middle)
        keys = cp.unique(repeat(owner, paths) << 32 | ends)
        sizes[first:last] = cp.bincount(keys >> 32, minlength=last - first) - (lengths > 0)
    return sizes


def batches_of(graph: BipartiteGraph, starts: Any, pairs: int) -> list[tuple[int, int]]:
    """Cut starts in runs that have at most so many paths of two edges, or one start."""
    _, cp = cudf_and_cupy()
    spent = cp.cumsum(wedges(graph)[0][starts]).get()
    return [(run.start, run.stop) for run in cut_evenly(spent, pairs)]


def cugraph_of(cudf: Any, cugraph: Any, graph: BipartiteGraph) -> Any:
    """Return the graph as one of cuGraph: its right vertices are numbered after the left ones."""
    whole = cugraph.Graph(directed=False)
    edges = cudf.DataFrame({"left": graph.edge_left, "right": graph.indices + graph.n_left})
    whole.from_cudf_edgelist(edges, source="left", destination="right", renumber=False)
    return whole
