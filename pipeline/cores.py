"""Maximum cliques by the cores of a graph on a GPU: a first clique in the densest core, then only what can hold a larger one.

A clique of k vertices lies among the vertices of core number k - 1 and above. So most of a graph never leaves the GPU: its
cores are cuGraph's, and the search on the host, or by the kernels, gets the few vertices that are left.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import kernels
from pipeline.arrays import counts_of, library_of, repeat, starts_of, to_host
from pipeline.graph import Int32s, Int64s, gather
from pipeline.undirected import UndirectedGraph

FIRST_SECONDS = 0.5
"""Most time for the first clique: where the densest core is not searched to its end in so long, its best clique so far is
near to the largest, and what is left of the graph is to be searched for longer anyway."""

Search = Callable[[Int64s, Int32s, float | None, int], kernels.CliqueResult]
"""Searches a symmetric CSR of the host within a time limit for cliques larger than a lower bound."""


@dataclass(frozen=True, eq=False)
class InducedPart:
    """The subgraph of some vertices, on the host.

    Parameters
    ----------
    vertices
        int32, ascending: their numbers in the whole graph.
    indptr, indices
        Symmetric CSR in numbers of the part.
    """

    vertices: Int32s
    indptr: Int64s
    indices: Int32s


def core_numbers(graph: UndirectedGraph) -> Any:
    """Return the core number of each vertex of a graph on a GPU, by cuGraph, int64; that of an isolated vertex is 0.

    Notes
    -----
    cuGraph is given each edge once, and makes both directions of it; the degree is that of one direction.
    """
    import cugraph

    from pipeline.device import cudf_and_cupy

    cudf, cp = cudf_and_cupy()
    cores = cp.zeros(graph.n, cp.int64)
    if graph.n_edges:
        u = repeat(cp.arange(graph.n, dtype=cp.int32), cp.diff(graph.indptr))
        once = u < graph.indices
        whole = cugraph.Graph(directed=False)
        edges = cudf.DataFrame({"u": u[once], "v": graph.indices[once]})
        whole.from_cudf_edgelist(edges, source="u", destination="v", renumber=False)
        found = cugraph.core_number(whole, degree_type="incoming")
        cores[found["vertex"].values] = found["core_number"].values.astype(cp.int64)
    return cores


def induced_part(graph: UndirectedGraph, kept: Any) -> InducedPart:
    """Bring the subgraph of some vertices to the host; only their rows are read.

    Parameters
    ----------
    graph
        A graph on the host or on a GPU.
    kept
        bool, shape (graph.n,), where the graph lies.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> path = UndirectedGraph.from_edges([0, 1, 2], [1, 2, 3], pa.array(["a", "b", "c", "d"]))
    >>> part = induced_part(path, np.array([True, False, True, True]))
    >>> part.vertices.tolist(), part.indptr.tolist(), part.indices.tolist()
    ([0, 2, 3], [0, 0, 1, 2], [2, 1])
    """
    xp = library_of(graph.indices)
    vertices = xp.flatnonzero(kept)
    starts = graph.indptr[vertices]
    lengths = graph.indptr[vertices + 1] - starts
    neighbours = gather(graph.indices, starts, lengths)
    inside = kept[neighbours]
    rows = repeat(xp.arange(vertices.size, dtype=xp.int32), lengths)[inside]
    numbers = xp.cumsum(kept, dtype=xp.int32) - 1
    csr = starts_of(counts_of(rows, vertices.size)), numbers[neighbours[inside]]
    return InducedPart(to_host(vertices.astype(xp.int32)), *map(to_host, csr))


def search_by_cores(
    graph: UndirectedGraph,
    cores: Any,
    search: Search,
    *,
    all: bool = False,
    time_limit: float | None = None,
    threads: int = 1,
) -> kernels.CliqueResult:
    """Find a maximum clique, or all of them, from the cores down.

    Parameters
    ----------
    graph
        A graph on a GPU (or on the host).
    cores
        Core number of each vertex, where the graph lies.
    search
        The search of what is left after the first clique.
    all
        Whether `search` finds every clique of the largest size.
    time_limit
        Seconds for both searches together.
    threads
        Threads of the first search.

    Returns
    -------
    kernels.CliqueResult
        As of the whole graph; ``seconds`` has ``first`` (first clique) and ``narrow`` (what is left is brought to the host),
        and those of `search`.
    """
    started = time.perf_counter()
    degeneracy = int(cores.max()) if graph.n else 0
    densest = cores == degeneracy
    first = _first_clique(induced_part(graph, densest), time_limit, threads)
    found = time.perf_counter()
    bound = max(first.size - all, 0)
    left = cores >= bound
    if _holds_no_more(first, densest, left, all):
        return _whole(replace(first, proven=True), degeneracy, {"first": found - started})
    part = induced_part(graph, left)
    narrowed = time.perf_counter()
    limit = time_left(time_limit, narrowed - started)
    second = _in_old_numbers(search(part.indptr, part.indices, limit, bound), part)
    stages = {"first": found - started, "narrow": narrowed - found, **second.seconds}
    return _whole(united(first, second), degeneracy, stages)


def united(first: kernels.CliqueResult, second: kernels.CliqueResult) -> kernels.CliqueResult:
    """Two searches, the second for cliques larger than the first found, as one."""
    best = second if second.size else first
    seconds = {
        name: first.seconds.get(name, 0) + second.seconds.get(name, 0) for name in {**first.seconds, **second.seconds}
    }
    return replace(
        second,
        size=best.size,
        members=best.members,
        cliques=best.cliques,
        nodes=first.nodes + second.nodes,
        seconds=seconds,
    )


def time_left(limit: float | None, spent: float) -> float | None:
    """Seconds that are left of a limit, if there is one: at least a millisecond, in which a search says what it has."""
    return None if limit is None else max(limit - spent, 0.001)


def _first_clique(core: InducedPart, time_limit: float | None, threads: int) -> kernels.CliqueResult:
    limit = FIRST_SECONDS if time_limit is None else min(FIRST_SECONDS, time_limit)
    found = kernels.maximum_clique(core.indptr, core.indices, time_limit=limit, threads=threads)
    return _in_old_numbers(found, core)


def _holds_no_more(first: kernels.CliqueResult, densest: Any, left: Any, all: bool) -> bool:
    """Whether no other clique can be wanted: nothing is left, or only the core of which the first is proven to be the largest."""
    n_left = int(left.sum())
    return n_left == 0 or (first.proven and not all and n_left == int(densest.sum()))


def _in_old_numbers(found: kernels.CliqueResult, part: InducedPart) -> kernels.CliqueResult:
    return replace(found, members=part.vertices[found.members], cliques=part.vertices[found.cliques])


def _whole(found: kernels.CliqueResult, degeneracy: int, seconds: dict[str, float]) -> kernels.CliqueResult:
    return replace(found, degeneracy=degeneracy, seconds={name: round(value, 6) for name, value in seconds.items()})
