"""Core numbers by cuGraph, to be compared with the cores by halving of a clique search."""

from __future__ import annotations

from typing import Any

from bicliq.pipeline.graphs.cores import Cores, edges_once
from bicliq.pipeline.graphs.undirected import UndirectedGraph
from bicliq.pipeline.placement.device import cudf_and_cupy


def cores_of_numbers(numbers: Any) -> Cores:
    """Return the cores of a graph whose core numbers are known (an array, shape (n,))."""
    return Cores(int(numbers.max()) if numbers.size else 0, lambda k: numbers >= k)


def core_numbers(graph: UndirectedGraph) -> Any:
    """Return the core number (int64) of each vertex of a graph on a GPU; 0 if it is isolated.

    Notes
    -----
    cuGraph is given each edge once, and makes both directions of it; the degree is that of one
    direction.
    """
    import cugraph

    cudf, cp = cudf_and_cupy()
    numbers = cp.zeros(graph.n, cp.int64)
    if graph.n_edges:
        u, v = edges_once(graph)
        whole = cugraph.Graph(directed=False)
        whole.from_cudf_edgelist(cudf.DataFrame({"u": u, "v": v}), source="u", destination="v", renumber=False)
        found = cugraph.core_number(whole, degree_type="incoming")
        numbers[found["vertex"].values] = found["core_number"].values.astype(cp.int64)
    return numbers
