"""Profile: what a graph looks like and what its search will cost, root by root."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from scipy.sparse import csgraph

from pipeline.graph import BipartiteGraph, Int32s, Int64s, read_graph
from pipeline.store import Store


@dataclass(frozen=True)
class Profile:
    """Figures of a graph; the same for every order of its edges.

    Parameters
    ----------
    n_left, n_right, n_edges
        Sizes; isolated vertices count.
    max_left_degree, max_right_degree
        Largest degrees.
    left_degree_histogram, right_degree_histogram
        Pairs (degree, number of vertices), ascending.
    left_wedges, right_wedges
        Paths of two edges that start on that side, ends that return to their start included: the work of
        building the neighbourhoods of all roots, were that side the enumerated one.
    components, largest_component
        Connected components with at least one edge, and edges in the largest one.
    seconds
        Duration of the profile.
    """

    n_left: int
    n_right: int
    n_edges: int
    max_left_degree: int
    max_right_degree: int
    left_degree_histogram: list[tuple[int, int]]
    right_degree_histogram: list[tuple[int, int]]
    left_wedges: int
    right_wedges: int
    components: int
    largest_component: int
    seconds: float


def profile(store: Store, graph_id: str) -> Profile:
    """Profile a graph of the store and write profile.parquet and profile.json beside it.

    Parameters
    ----------
    store, graph_id
        Where the graph is.

    Returns
    -------
    Profile
        Read back, where the graph was profiled before.
    """
    folder = store.graph(graph_id)
    if folder.has("profile.json"):
        return _from_json(folder.read_json("profile.json"))
    graph = read_graph(folder)
    found, table = profile_graph(graph)
    folder.write_table("profile.parquet", table)
    folder.write_json("profile.json", asdict(found))
    return found


def profile_graph(graph: BipartiteGraph) -> tuple[Profile, pa.Table]:
    """Profile a graph in memory.

    Returns
    -------
    Profile
        The figures of the whole graph.
    pyarrow.Table
        One row a vertex: side ("left" or "right"), vertex, degree, wedges, component (the components
        of the graph, each with the number of its first vertex, left before right).

    Notes
    -----
    O(n_edges) time and memory.
    """
    started = time.perf_counter()
    left_wedges, right_wedges = wedges(graph)
    left_component, right_component = components(graph)
    edges_of = np.bincount(left_component[graph.edge_left]) if graph.n_edges else np.zeros(1, np.int64)
    found = Profile(
        n_left=graph.n_left,
        n_right=graph.n_right,
        n_edges=graph.n_edges,
        max_left_degree=int(graph.left_degrees.max(initial=0)),
        max_right_degree=int(graph.right_degrees.max(initial=0)),
        left_degree_histogram=histogram(graph.left_degrees),
        right_degree_histogram=histogram(graph.right_degrees),
        left_wedges=int(left_wedges.sum()),
        right_wedges=int(right_wedges.sum()),
        components=int(np.count_nonzero(edges_of)),
        largest_component=int(edges_of.max()),
        seconds=round(time.perf_counter() - started, 6),
    )
    sides = pa.DictionaryArray.from_arrays(
        pa.array(np.repeat(np.arange(2, dtype=np.int8), [graph.n_left, graph.n_right])), ["left", "right"]
    )
    vertices = np.concatenate([np.arange(graph.n_left), np.arange(graph.n_right)]).astype(np.int32)
    table = pa.table(
        {
            "side": sides,
            "vertex": vertices,
            "degree": np.concatenate([graph.left_degrees, graph.right_degrees]),
            "wedges": np.concatenate([left_wedges, right_wedges]),
            "component": np.concatenate([left_component, right_component]),
        }
    )
    return found, table


def wedges(graph: BipartiteGraph) -> tuple[Int64s, Int64s]:
    """Return, for each left and each right vertex, the sum of the degrees of its neighbours.

    That is the work of reading its 2-hop neighbourhood, and the estimate of its cost as a root.
    """
    sums = np.zeros(graph.n_edges + 1, np.int64)
    np.cumsum(graph.right_degrees[graph.indices], out=sums[1:])
    left = sums[graph.indptr[1:]] - sums[graph.indptr[:-1]]
    right = np.zeros(graph.n_right, np.int64)
    np.add.at(right, graph.indices, graph.left_degrees[graph.edge_left])
    return left, right


def components(graph: BipartiteGraph) -> tuple[Int32s, Int32s]:
    """Return the connected component of each left and each right vertex."""
    size = graph.n_left + graph.n_right
    ends = (graph.edge_left, graph.indices.astype(np.int64) + graph.n_left)
    square = sp.coo_array((np.ones(graph.n_edges, np.int8), ends), shape=(size, size))
    _, labels = csgraph.connected_components(square.tocsr(), directed=False)
    _, first, names = np.unique(labels, return_index=True, return_inverse=True)
    numbered = first[names].astype(np.int32)
    return numbered[: graph.n_left], numbered[graph.n_left :]


def histogram(values: Int64s) -> list[tuple[int, int]]:
    """Return pairs (value, how often it occurs), ascending."""
    found, counts = np.unique(values, return_counts=True)
    return [(int(value), int(count)) for value, count in zip(found, counts, strict=True)]


def _from_json(record: dict[str, Any]) -> Profile:
    for name in ("left_degree_histogram", "right_degree_histogram"):
        record[name] = [(int(value), int(count)) for value, count in record[name]]
    return Profile(**record)
