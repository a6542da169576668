"""Profile: what a graph looks like and what its search will cost, root by root."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from bicliq import kernels
from bicliq.pipeline.columns import column_of, words_column
from bicliq.pipeline.errors import CapacityError, DamageError
from bicliq.pipeline.events import tell, warn
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, Int32s, Int64s, read_graph, stored_edges, stored_sizes
from bicliq.pipeline.graphs.paths import PATHS_AT_A_TIME, two_hop_sizes, wedges
from bicliq.pipeline.placement.arrays import library_of, to_host
from bicliq.pipeline.placement.where import place_graph
from bicliq.pipeline.stages import device_profile
from bicliq.pipeline.stages.limits import GraphNeeds, MemoryRoom
from bicliq.pipeline.store.layout import GraphFolder, Store
from bicliq.pipeline.store.records import Profile, TwoHop

MOST_PATHS = 1 << 38
"""Most paths of two edges that are followed: three quarters of an hour of a core, a minute of an
H200."""

HOST_PATHS_AT_A_TIME = 1 << 20
"""Paths of two edges that a core follows at a time: their keys stay in its cache."""

PROFILED = GraphNeeds(edge=4, vertex=40)


def profile(store: Store, graph_id: str, backend: str = "cpu", memory_limit: int | None = None) -> Profile:
    """Profile a graph of the store and write profile.parquet and profile.json beside it.

    `backend`: "cpu", "cuda" (CuPy and cuGraph), or "auto": the GPU for a large graph. The figures
    are the same. `memory_limit`: bytes of memory that this process may hold; None: no limit. It is
    read back where the graph was profiled before. Raises CapacityError where the limit of memory is
    too low, with one that would do.
    """
    folder = store.graph(graph_id)
    known = _known(folder)
    if known is not None:
        return known
    place = place_graph(backend, stored_edges(folder))
    sizes = stored_sizes(folder)
    MemoryRoom.within(memory_limit).require_for_graph(
        PROFILED.of(*sizes), f"{folder.uri}: to profile the graph", *sizes
    )
    found, table = place.run(lambda chosen: profile_graph(read_graph(folder, chosen)))
    written = folder.write_table("profile.parquet", table, durable=False)
    found = replace(found, stored=(written,))
    folder.write(found.at, found, durable=False)
    degrees = {"max_left_degree": found.max_left_degree, "max_right_degree": found.max_right_degree}
    tell("graph profiled", graph=graph_id, components=found.components, **degrees, seconds=found.seconds)
    return found


def profile_graph(graph: BipartiteGraph) -> tuple[Profile, pa.Table]:
    """Profile a graph in memory.

    Returns
    -------
    Profile
        The figures of the whole graph.
    pyarrow.Table
        One row a vertex: side ("left" or "right"), vertex, degree, wedges, component (the
        components of the graph, each with the number of its first vertex, left before right).

    Notes
    -----
    O(n_edges) time; beside the graph some numbers a vertex.
    """
    started = time.perf_counter()
    left_wedges, right_wedges = wedges(graph)
    left_component, right_component = components(graph)
    edges_of = _edges_of_components(graph, left_component)
    found = Profile(
        n_left=graph.n_left,
        n_right=graph.n_right,
        n_edges=graph.n_edges,
        max_left_degree=_largest(graph.left_degrees),
        max_right_degree=_largest(graph.right_degrees),
        left_degree_histogram=histogram(graph.left_degrees),
        right_degree_histogram=histogram(graph.right_degrees),
        left_wedges=int(left_wedges.sum()),
        right_wedges=int(right_wedges.sum()),
        components=int((edges_of > 0).sum()),
        largest_component=_largest(edges_of),
        seconds=round(time.perf_counter() - started, 6),
    )
    table = pa.table(
        {
            **_vertices(graph.n_left, graph.n_right),
            "degree": _both(graph.left_degrees, graph.right_degrees),
            "wedges": _both(left_wedges, right_wedges),
            "component": _both(left_component, right_component),
        }
    )
    return found, table


def two_hop(store: Store, graph_id: str, backend: str = "cpu") -> dict[str, dict[str, float]]:
    """Count the 2-hop neighbours of each vertex of a graph, into two_hop.parquet.

    `backend`: as for `profile`. Returns a record for ``left`` and ``right``: pairs (ordered), and
    the largest and the mean neighbourhood. Raises CapacityError where a side has more than
    `MOST_PATHS` paths of two edges.

    Time grows with the paths of two edges, about 10 ns each on a core and 0.2 ns on an H200.
    """
    folder = store.graph(graph_id)
    place = place_graph(backend, stored_edges(folder))

    def of_both(backend: str) -> dict[str, Int64s]:
        graph = read_graph(folder, backend)
        return {"left": all_two_hop(graph), "right": all_two_hop(graph.transpose())}

    sizes = place.run(of_both)
    columns = {**_vertices(sizes["left"].size, sizes["right"].size), "two_hop": _both(sizes["left"], sizes["right"])}
    written = folder.write_table("two_hop.parquet", pa.table(columns), durable=False)
    figures: dict[str, dict[str, float]] = {
        side: {"pairs": int(n.sum()), "largest": _largest(n), "mean": float(n.mean()) if n.size else 0.0}
        for side, n in sizes.items()
    }
    folder.write(TwoHop.at, TwoHop(stored=(written,), **figures), durable=False)
    return figures


def all_two_hop(graph: BipartiteGraph) -> Int64s:
    """Return how many others each left vertex shares a neighbour with, as an array of the host.

    Examples
    --------
    >>> all_two_hop(BipartiteGraph.from_edges([0, 1, 1, 2], [0, 0, 1, 1], 4, 2)).tolist()
    [1, 2, 1, 0]
    """
    xp = library_of(graph.indices)
    paths = int(wedges(graph)[0].sum())
    if paths > MOST_PATHS:
        raise CapacityError(
            f"a side has {paths:,} paths of two edges: too many to follow (at most {MOST_PATHS:,});"
            " profile a sample (sample = 0.1 at ingest), or a core (min_left, min_right)"
        )
    most = HOST_PATHS_AT_A_TIME if xp is np else PATHS_AT_A_TIME
    return to_host(two_hop_sizes(graph, xp.arange(graph.n_left), most))  # type: ignore[no-any-return]


def sampled_two_hop(graph: BipartiteGraph, most_paths: int, seed: int = 0) -> Int64s:
    """Return how many others some left vertices share a neighbour with; a graph of the host.

    `most_paths`: paths of two edges that are followed at most. Vertices are taken in an order drawn
    at random, all of them where their paths are no more; one in any case. `seed`: of that order.

    Examples
    --------
    >>> graph = BipartiteGraph.from_edges([0, 1, 1, 2], [0, 0, 1, 1], 3, 2)
    >>> sorted(sampled_two_hop(graph, 100).tolist()), len(sampled_two_hop(graph, 1))
    ([1, 1, 2], 1)
    """
    order = np.random.default_rng(seed).permutation(graph.n_left)
    paths = wedges(graph)[0][order]
    n = max(int(np.searchsorted(np.cumsum(paths), most_paths, side="right")), 1)
    return two_hop_sizes(graph, order[:n], HOST_PATHS_AT_A_TIME)  # type: ignore[no-any-return]


def components(graph: BipartiteGraph) -> tuple[Int32s, Int32s]:
    """Return the component of each left and each right vertex: the number of its first vertex.

    Notes
    -----
    A pass over the edges; on a GPU the components are cuGraph's.
    """
    if library_of(graph.indices) is np:
        numbered = kernels.connect_rows(graph.indptr, graph.indices, graph.n_right)
    else:
        labels = device_profile.component_labels(graph)
        xp = library_of(labels)
        _, first, names = xp.unique(labels, return_index=True, return_inverse=True)
        numbered = first[names].astype(xp.int32)
    return numbered[: graph.n_left], numbered[graph.n_left :]


def _edges_of_components(graph: BipartiteGraph, left_component: Int32s) -> Int64s:
    xp = library_of(left_component)
    found: Int64s = xp.bincount(left_component, weights=graph.left_degrees, minlength=1).astype(xp.int64)
    return found


def _largest(values: Int64s) -> int:
    return int(values.max()) if values.size else 0


def _vertices(n_left: int, n_right: int) -> dict[str, pa.Array]:
    """Columns side and vertex of a table with one row a vertex."""
    sides = np.repeat(np.arange(2, dtype=np.int8), [n_left, n_right])
    vertices = np.concatenate([np.arange(n_left, dtype=np.int32), np.arange(n_right, dtype=np.int32)])
    named = pa.DictionaryArray.from_arrays(column_of(sides), words_column(["left", "right"]))
    return {"side": named, "vertex": column_of(vertices)}


def _both(left: Any, right: Any) -> pa.ChunkedArray:
    return pa.chunked_array([column_of(to_host(left)), column_of(to_host(right))])


def histogram(values: Int64s) -> list[tuple[int, int]]:
    """Return pairs (value, how often it occurs), ascending."""
    counts = library_of(values).bincount(values)
    found = library_of(values).flatnonzero(counts)
    return list(zip(to_host(found).tolist(), to_host(counts[found]).tolist(), strict=True))


def _known(folder: GraphFolder) -> Profile | None:
    """Profile that was made before, unless its record is damaged."""
    try:
        return folder.find(Profile)
    except DamageError as error:
        warn("graph is profiled again", graph=folder.place.rsplit("/", 1)[-1], reason=error)
        return None
