"""What the profile takes from cuGraph on a GPU: connected components.

cuGraph knows no sides: the right vertices' numbers are offset by the number of left ones.
"""

from __future__ import annotations

from typing import Any

from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.placement.device import cudf_and_cupy


def component_labels(graph: BipartiteGraph) -> Any:
    """Return a label of the component of each vertex, left before right.

    `graph`: a graph on the device. Returns int64, shape (n_left + n_right,).
    """
    import cugraph

    cudf, cp = cudf_and_cupy()
    size = graph.n_left + graph.n_right
    labels = cp.arange(size, dtype=cp.int64)
    if graph.n_edges:
        found = cugraph.weakly_connected_components(cugraph_of(cudf, cugraph, graph))
        labels[found["vertex"].values] = found["labels"].values.astype(cp.int64) + size
    return labels


def cugraph_of(cudf: Any, cugraph: Any, graph: BipartiteGraph) -> Any:
    """Return the graph as one of cuGraph: its right vertices are numbered after the left ones."""
    whole = cugraph.Graph(directed=False)
    edges = cudf.DataFrame({"left": graph.edge_left, "right": graph.indices + graph.n_left})
    whole.from_cudf_edgelist(edges, source="left", destination="right", renumber=False)
    return whole
