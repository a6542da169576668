"""What a search will find, before it: bicliques and the ids in their lists, from a seeded sample.

Roots are drawn with chances in proportion to their paths of two edges, which are nearly in
proportion to what they find. One thread lists what they find, up to a number of bicliques: of a
short search that is a twentieth. Where it is not all, the search is long. Then each root that is
left is searched by itself, and where that finds more than it may, some of the columns below it are
drawn instead, and so on down the tree of the search (Knuth's random ways down, several at a time).
Nothing depends on time, threads or lanes: a graph gives the same numbers on every machine.

References
----------
Hansen and Hurwitz, "On the theory of sampling from finite populations" (1943); Knuth, "Estimating
the efficiency of backtrack programs" (1975).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import kernels
from pipeline.graphs.bipartite import BipartiteGraph, Int64s
from pipeline.placement.arrays import library_of, starts_of, sums_of_rows, to_host
from pipeline.settings import SearchSettings

SEED = 20_260_101

DRAWS, DRAWS_BELOW = 16, 3
"""Roots that are drawn, and columns below a root; one of large cost may be drawn several times."""

LISTED, LISTED_BELOW = 1 << 15, 1 << 11
"""Bicliques that are listed of the drawn roots together (20 ms of a core), and then of a root, or
below a column of it."""

SEARCHES_A_ROOT = 10
"""Searches of a root and below it: one or two milliseconds each."""

ALONE, HEDGE = 0.75, 8
"""An estimate that rests on one root is likely too low, as most roots of its kind were not drawn.
Above that share of it, it is taken so many times (fimi-chess: a root in 200 finds 6.9 million, and
a third of them nearly nothing)."""

COUNTED_SHARE, MOST_COUNTED = 0.02, 1 << 21
"""Bicliques of single roots that are counted at last: such a share of what is expected, and so many
at most (half a second of a core, where minutes are expected)."""

SAMPLED_EDGES = 1 << 22
"""Edges of the subgraph of the drawn roots: the last ones are left out until it holds no more, or
only the first is left."""

Sums = npt.NDArray[np.float64]
"""Bicliques, those among them that pass the thresholds, and the ids in the lists of these."""


@dataclass(frozen=True)
class Expected:
    """What a search is expected to find.

    Parameters
    ----------
    bicliques
        Maximal bicliques of all sizes: its work.
    found
        Those among them that pass the thresholds.
    ids
        Ids in the lists of these.
    """

    bicliques: int
    found: int
    ids: int


def expected_output(by_root: BipartiteGraph, order: Int64s, cost: Int64s, asked: SearchSettings, side: str) -> Expected:
    """Estimate what the search of a graph finds.

    Parameters
    ----------
    by_root
        The graph, its left side the one that holds the roots.
    order
        The roots in the order of the search.
    cost
        int64: paths of two edges of each vertex of the roots' side.
    asked
        The thresholds, in terms of the canonical graph.
    side
        The side of the canonical graph that holds the roots.

    Notes
    -----
    O(n_edges), and the search of the sample.
    """
    if order.size == 0:
        return Expected(0, 0, 0)
    least = (asked.min_left, asked.min_right) if side == "left" else (asked.min_right, asked.min_left)
    sampling = _Sampling(least, asked.min_edges)
    draws = sampling.drawn(to_host(cost[order]), DRAWS)
    graph, roots = _closed_part(by_root, order, draws.places)
    return Expected(*(round(value) for value in sampling.of_roots(graph, roots, draws)))


@dataclass(frozen=True, eq=False)
class _Draws:
    """Places that were drawn, each once, in random order; how often each was.

    And that over its chance.
    """

    places: Int64s
    times: Int64s
    weights: Sums


class _Sampling:
    """One estimate: its random numbers, what counts, and how many searches it may still make."""

    def __init__(self, least: tuple[int, int], min_edges: int) -> None:
        self._random = np.random.default_rng(SEED)
        self._least, self._min_edges = least, min_edges
        self._searches = 0

    def drawn(self, cost: Any, n: int) -> _Draws:
        """Draw so many places in proportion to their cost, evenly over its running sum."""
        spent = np.cumsum(cost)
        at = (np.arange(n) + self._random.random()) * (float(spent[-1]) / n)
        places, times = np.unique(np.searchsorted(spent, at, side="right"), return_counts=True)
        shuffled = self._random.permutation(places.size)
        places, times = places[shuffled], times[shuffled]
        return _Draws(places, times, times * float(spent[-1]) / cost[places])

    def of_roots(self, graph: BipartiteGraph, roots: Int64s, draws: _Draws) -> Sums:
        """Estimate what all roots find from those that were drawn."""
        found, done = self._listed(graph, roots, 0, LISTED)
        for place in np.flatnonzero(~done).tolist():
            self._searches = SEARCHES_A_ROOT
            found[place], done[place] = self._below(graph, int(roots[place]), 1)
        weights = draws.weights[: roots.size] / draws.times[: roots.size].sum()
        self._count(graph, roots, found, done, weights)
        parts = weights * found[:, 0]
        hedge = HEDGE if parts.max() > ALONE * parts.sum() else 1
        sums: Sums = hedge * (weights @ found)
        return sums

    def _below(self, graph: BipartiteGraph, root: int, depth: int) -> tuple[Sums, bool]:
        """Estimate what one root finds, and say whether that is exact.

        `depth` columns are taken with it.
        """
        found, done = self._listed(graph, np.array([root]), depth - 1, LISTED_BELOW)
        self._searches -= 1
        if done[0] or self._searches <= 0:
            return found[0], bool(done[0])
        narrow = _rows_of(graph, root)
        cost = _later_paths(narrow) ** 1.5
        cost[:root] = 0  # those before it have their own bicliques
        if not cost.any():
            return found[0], False
        draws = self.drawn(cost, DRAWS_BELOW)
        values = np.array([self._below(narrow, place, depth + 1)[0] for place in draws.places.tolist()])
        return np.maximum(draws.weights @ values / draws.times.sum(), found[0]), False

    def _count(self, graph: BipartiteGraph, roots: Int64s, found: Sums, done: Any, weights: Sums) -> None:
        """Count what roots find whose estimate may be too low, while that is cheap."""
        limit, counted = LISTED_BELOW, 0
        while not done.all():
            limit *= 4
            share = COUNTED_SHARE * float(weights @ found[:, 0])
            if counted + limit * int((~done).sum()) > min(share, MOST_COUNTED):
                return
            for place in np.flatnonzero(~done).tolist():
                at_least, done[place] = _counted(graph, int(roots[place]), limit)
                counted += at_least
                if done[place] or at_least > found[place, 0]:
                    found[place] *= at_least / max(found[place, 0], 1)

    def _listed(self, graph: BipartiteGraph, roots: Int64s, depth: int, limit: int) -> tuple[Sums, Any]:
        """List what roots find, one after the other, until there are so many.

        Says which are searched to their end.
        """
        sums, last = np.zeros((graph.n_left, 3)), -1
        csr = (graph.indptr, graph.indices, graph.n_right)
        with kernels.stream_maximal_bicliques(*csr, side="left", roots=roots, max_bicliques=limit) as stream:
            for batch in stream:
                left, right = np.diff(batch.left_offsets).astype(np.int64) + depth, np.diff(batch.right_offsets)
                kept = (left >= self._least[0]) & (right >= self._least[1]) & (left * right >= self._min_edges)
                for column, values in enumerate((np.ones(left.size), kept, kept * (left + right))):
                    sums[:, column] += np.bincount(batch.root, values, minlength=graph.n_left)
                last = int(batch.root[-1])
        found = sums[roots]
        done = np.full(roots.size, True) if stream.result.complete else (found[:, 0] > 0) & (roots != last)
        return found, done


def _counted(graph: BipartiteGraph, root: int, limit: int) -> tuple[int, bool]:
    """Count what a root finds, up to a limit; says whether that is all."""
    found = kernels.enumerate_maximal_bicliques(
        graph.indptr, graph.indices, graph.n_right, side="left", roots=np.array([root]), max_bicliques=limit, threads=0
    )
    return found.bicliques, found.complete


def _closed_part(by_root: BipartiteGraph, order: Int64s, places: Int64s) -> tuple[BipartiteGraph, Int64s]:
    """Cut drawn roots out with their neighbours and all neighbours of these.

    The roots are numbered in the order of the search.
    """
    xp = library_of(by_root.indices)
    inside, n = xp.zeros(by_root.n_right, xp.bool_), 0
    for place in places.tolist():
        wider = inside.copy()
        wider[by_root.rows_of(order[place : place + 1])[1]] = True
        if n and int(by_root.right_degrees[wider].sum()) > SAMPLED_EDGES:
            break
        inside, n = wider, n + 1
    lengths, rows = by_root.rows_of(order)
    kept = inside[rows]
    degrees = sums_of_rows(kept, starts_of(lengths))
    columns = xp.flatnonzero(degrees)
    numbers = xp.cumsum(inside, dtype=xp.int32) - 1
    starts = to_host(starts_of(degrees[columns]))
    part = BipartiteGraph(columns.size, int(inside.sum()), starts, to_host(numbers[rows[kept]]))
    return part, np.searchsorted(to_host(columns), places[:n])


def _rows_of(graph: BipartiteGraph, root: int) -> BipartiteGraph:
    """The graph of a root's rows alone, without the root, which all of them have."""
    rows = graph.indices[graph.indptr[root] : graph.indptr[root + 1]]
    numbers = np.full(graph.n_right, -1, np.int32)
    numbers[rows] = np.arange(rows.size, dtype=np.int32)
    found = numbers[graph.indices]
    kept = found >= 0
    kept[graph.indptr[root] : graph.indptr[root + 1]] = False
    degrees = sums_of_rows(kept, graph.indptr)
    return BipartiteGraph(graph.n_left, rows.size, starts_of(degrees), found[kept])


def _later_paths(graph: BipartiteGraph) -> Any:
    """Paths of two edges from each left vertex to those after it.

    What its search has to choose from.
    """
    rows = graph.transpose()
    place = np.arange(rows.n_edges) - np.repeat(rows.indptr[:-1], rows.left_degrees)
    later = np.repeat(rows.left_degrees, rows.left_degrees) - place - 1
    return np.bincount(rows.indices, later, minlength=graph.n_left)
