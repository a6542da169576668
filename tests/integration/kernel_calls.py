"""Every kernel as a call of a graph and a number of threads: what the tests of limits and
interrupts have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bicliq import kernels

Call = Callable[[Any, int], Any]


def bipartite(n_left: int, n_right: int, degree: int, seed: int = 0) -> tuple[Any, Any, int]:
    """A random graph whose left vertices all have the same degree, as a CSR matrix."""
    columns = np.sort(np.random.default_rng(seed).integers(0, n_right - degree, (n_left, degree), np.int32), axis=1)
    columns += np.arange(degree, dtype=np.int32)
    return np.arange(n_left + 1, dtype=np.int64) * degree, columns.ravel(), n_right


def undirected(graph: tuple[Any, Any, int]) -> tuple[Any, Any]:
    """The same graph without its sides."""
    indptr, indices, n_right = graph
    n_left = len(indptr) - 1
    left = np.repeat(np.arange(n_left, dtype=np.int32), np.diff(indptr))
    by_right = np.argsort(indices, kind="stable")
    starts = np.concatenate([indptr, indptr[-1] + np.cumsum(np.bincount(indices, minlength=n_right))])
    return starts, np.concatenate([indices + n_left, left[by_right]]).astype(np.int32)


def stream(graph: Any, threads: int) -> int:
    with kernels.stream_maximal_bicliques(*graph, threads=threads) as batches:
        return sum(len(batch) for batch in batches)


def for_kernel(kernel: str, graph: tuple[Any, Any, int]) -> tuple[Any, ...]:
    """What a kernel is given instead of the graph itself."""
    if kernel in ("clique", "cliques"):
        return undirected(graph)
    if kernel == "groups":
        indptr, indices, n_right = graph
        return indptr, indices, np.ones(n_right, int), np.ones(len(indptr) - 1, int), 8
    return graph


KERNELS: dict[str, Call] = {
    "enumerate": lambda graph, threads: kernels.enumerate_maximal_bicliques(*graph, threads=threads),
    "digest": lambda graph, threads: kernels.enumerate_maximal_bicliques(*graph, mode="digest", threads=threads),
    "stream": stream,
    "levels": lambda graph, threads: kernels.count_bicliques(*graph, 4, 4, method="levels", threads=threads),
    "pivot": lambda graph, threads: kernels.count_bicliques(*graph, 4, 4, method="pivot", threads=threads),
    "auto": lambda graph, threads: kernels.count_bicliques(*graph, 4, 4, threads=threads),
    "vertices": lambda graph, threads: kernels.count_bicliques(*graph, 3, 3, per_vertex=True, threads=threads),
    "table": lambda graph, threads: kernels.count_all_bicliques(*graph, 5, 5, threads=threads),
    "butterflies": lambda graph, threads: kernels.count_bicliques(*graph, 2, 2, per_vertex=True, threads=threads),
    "choice": lambda graph, threads: kernels.choose_count(*graph, 4, 4, threads=threads),
    "projection": lambda graph, threads: kernels.project_one_mode(*graph, threads=threads),
    "right projection": lambda graph, threads: kernels.project_one_mode(*graph, side="right", threads=threads),
    "clique": lambda graph, threads: kernels.maximum_clique(*graph, threads=threads),
    "cliques": lambda graph, threads: kernels.maximum_clique(*graph, all=True, threads=threads),
    "groups": lambda graph, _: kernels.group_roots(*graph),
}


def plain(found: Any) -> Any:
    """What can be compared of an answer."""
    if isinstance(found, tuple):
        return [part.tolist() if isinstance(part, np.ndarray) else part for part in found]
    for name in ("digest", "bicliques", "counts", "count", "size"):
        if getattr(found, name, None) is not None:
            return getattr(found, name)
    return found
