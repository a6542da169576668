"""Maximum cliques of a graph on a GPU: of its densest core, then of what may hold a larger one.

A clique of k vertices lies in the (k - 1)-core. So most of a graph never leaves the GPU: its cores
are found there, and the search on the host, or by the kernels, gets the few vertices that are left.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bicliq import kernels
from bicliq.pipeline.graphs.bipartite import Int32s, Int64s, gather
from bicliq.pipeline.graphs.cores import Cores
from bicliq.pipeline.graphs.undirected import UndirectedGraph
from bicliq.pipeline.placement.arrays import counts_of, library_of, repeat, starts_of, to_host
from bicliq.pipeline.placement.device import device_errors_of

FIRST_SECONDS = 0.5
"""Most time for the first clique: where the densest core is not searched to its end in so long, its
best clique so far is near to the largest, and what is left of the graph is to be searched for
longer anyway."""

Search = Callable[[Int64s, Int32s, float | None, int], kernels.CliqueResult]
"""Searches a symmetric CSR of the host within a time limit for cliques larger than a lower
bound."""


@dataclass(frozen=True, eq=False)
class InducedPart:
    """The subgraph of some vertices, on the host.

    `vertices`: int32, ascending: their numbers in the whole graph. `indptr`, `indices`: symmetric
    CSR in numbers of the part.
    """

    vertices: Int32s
    indptr: Int64s
    indices: Int32s


def induced_part(graph: UndirectedGraph, kept: Any) -> InducedPart:
    """Bring the subgraph of some vertices to the host; only their rows are read.

    `graph`: a graph on the host or on a GPU. `kept`: bool, shape (graph.n,), where the graph lies.

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
    cores: Cores,
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
        Its cores (`pipeline.graphs.cores`).
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
        As of the whole graph; ``seconds`` has ``first`` (first clique) and ``narrow`` (what is left
        is brought to the host), and those of `search`. Where the densest core is a clique, nothing
        is searched, and ``backend`` is "none".
    """
    started = time.perf_counter()
    with device_errors_of(graph.indices):
        densest = cores.at_least(cores.degeneracy)
        n_densest = int(densest.sum())
        if n_densest == cores.degeneracy + 1:
            return _whole(_complete(densest), cores, {"first": time.perf_counter() - started})
        core = induced_part(graph, densest)
    first = _first_clique(core, time_limit, threads)
    found = time.perf_counter()
    bound = max(first.size - all, 0)
    with device_errors_of(graph.indices):
        left = cores.at_least(bound)
        n_left = int(left.sum())
        if n_left == 0 or (
            first.proven and not all and n_left == n_densest
        ):  # nothing, or what was searched to its end
            return _whole(replace(first, proven=True), cores, {"first": found - started})
        part = induced_part(graph, left)
    narrowed = time.perf_counter()
    limit = time_left(time_limit, narrowed - started)
    second = _in_old_numbers(search(part.indptr, part.indices, limit, bound), part)
    stages = {"first": found - started, "narrow": narrowed - found, **second.seconds}
    return _whole(united(first, second), cores, stages)


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
    """Seconds left of a limit, if there is one: at least 0.001, in which a search can end."""
    return None if limit is None else max(limit - spent, 0.001)


def _first_clique(core: InducedPart, time_limit: float | None, threads: int) -> kernels.CliqueResult:
    limit = FIRST_SECONDS if time_limit is None else min(FIRST_SECONDS, time_limit)
    found = kernels.maximum_clique(core.indptr, core.indices, time_limit=limit, threads=threads)
    return _in_old_numbers(found, core)


def _complete(densest: Any) -> kernels.CliqueResult:
    """The densest core as the answer, where it is a clique: each vertex is tied to all others."""
    members = to_host(library_of(densest).flatnonzero(densest)).astype(np.int32)
    return kernels.CliqueResult(
        size=members.size, members=members, cliques=members[None], proven=True, nodes=0, degeneracy=members.size - 1,
        seconds={}, threads=0, backend="none",
    )  # fmt: skip


def _in_old_numbers(found: kernels.CliqueResult, part: InducedPart) -> kernels.CliqueResult:
    return replace(found, members=part.vertices[found.members], cliques=part.vertices[found.cliques])


def _whole(found: kernels.CliqueResult, cores: Cores, seconds: dict[str, float]) -> kernels.CliqueResult:
    rounded = {name: round(value, 6) for name, value in seconds.items()}
    return replace(found, degeneracy=cores.degeneracy, seconds=rounded)
