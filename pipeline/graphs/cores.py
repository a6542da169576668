"""Cores of an undirected graph on a GPU, one core at a time.

The k-core is what is left when vertices with fewer than k neighbours are taken away until there is
none. A search for cliques asks for two of them: the densest, and the one that a known clique
leaves. cuGraph's core numbers, which hold all of them (`benchmarks.cores`), take 2 to 53 times
as long (docs/results.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bicliq.pipeline.graphs.undirected import UndirectedGraph
from bicliq.pipeline.placement.arrays import counts_of, library_of, repeat


@dataclass(frozen=True, eq=False)
class Cores:
    """What a search asks of the cores of a graph.

    Parameters
    ----------
    degeneracy
        The largest core number.
    at_least
        Given a number k: bool, shape (n,), which vertices are in the k-core; where the graph lies.
    """

    degeneracy: int
    at_least: Callable[[int], Any]


def cores_by_halving(graph: UndirectedGraph) -> Cores:
    """Find the densest core of a graph on a GPU (or on the host) by halving the range of its k.

    Notes
    -----
    The range ends at the largest h such that h vertices have degree h. A k-core is found in rounds,
    each O(edges left); cores that are found serve as the start of those inside them. The logarithm
    of h cores are looked for, whatever the number of levels.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> graph = UndirectedGraph.from_edges([0, 0, 1, 2], [1, 2, 2, 3], pa.array(["a", "b", "c", "d"]))
    >>> cores = cores_by_halving(graph)
    >>> cores.degeneracy, cores.at_least(2).tolist()
    (2, [True, True, True, False])
    """
    xp = library_of(graph.indices)
    known = {0: edges_once(graph)}

    def core(k: int) -> tuple[Any, Any, Any]:
        return _k_core(*known[max(j for j in known if j <= k)], graph.n, k)

    degrees = xp.sort(xp.diff(graph.indptr))[::-1]
    low, high = 0, int((degrees > xp.arange(graph.n)).sum())
    while low < high:
        k = (low + high + 1) // 2
        degrees, u, v = core(k)
        if u.size:
            low = int(degrees[degrees >= k].min())
            known[low] = u, v
        else:
            high = k - 1
    return Cores(low, lambda k: core(k)[0] >= k)


def edges_once(graph: UndirectedGraph) -> tuple[Any, Any]:
    """Return the lesser and the greater end of each edge, int32."""
    xp = library_of(graph.indices)
    u = repeat(xp.arange(graph.n, dtype=xp.int32), xp.diff(graph.indptr))
    once = u < graph.indices
    return u[once], graph.indices[once]


def _k_core(u: Any, v: Any, n: int, k: int) -> tuple[Any, Any, Any]:
    """Degrees in the k-core of a graph (0 outside), and its edges."""
    while True:
        degrees = counts_of(u, n) + counts_of(v, n)
        inside = degrees >= k
        stay = inside[u] & inside[v]
        if bool(stay.all()):
            return degrees, u, v
        u, v = u[stay], v[stay]
