"""Groups in step: left vertices that act on the same right vertices within the same minutes.

A set L of left vertices is in step at a right vertex where each of L acted on it within one window
[t, t + length]. R(L) are the right vertices where L is in step, and a group is an L with its R(L)
to which no left vertex can be added without losing one of R(L).

They are found by expansion. Each window of a right vertex that no other of its windows holds is a
column: the left vertices that acted in it. L lies in a window of r where it lies in a column of r,
so R(L) are the right vertices of the columns that hold L. A left vertex that is in all of these
columns could be added; so the L of a group is that of a maximal biclique of left vertices and
columns, and of one only. The reverse fails where two columns of one right vertex hold L: one left
vertex may be in the one column of each right vertex, though not in all columns. `groups_among`
leaves such out, and counts each right vertex once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bicliq import kernels
from bicliq.pipeline.graphs.actions import Actions, Bools, blocks_of, rights_of_keys, rows_of_ranges
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, Int32s, Int64s
from bicliq.pipeline.placement.arrays import starts_of

Spans = list[tuple[int, int]]
"""Of each right vertex of a group the first and the last action in its window, in microseconds."""


@dataclass(frozen=True, eq=False)
class Windows:
    """Left vertices and the windows in which they acted.

    Parameters
    ----------
    graph
        The right side are the windows, by right vertex, then time.
    right
        int32: the right vertex of each window.
    """

    graph: BipartiteGraph
    right: Int32s

    @property
    def one_each(self) -> bool:
        """Whether no right vertex has two windows: then maximal bicliques are the groups."""
        return len(self.right) == len(np.unique(self.right))

    def by_window(self) -> BipartiteGraph:
        """Return the left vertices of each window."""
        rows = self.graph
        return BipartiteGraph.from_edges(rows.indices, rows.edge_left, rows.n_right, rows.n_left)


def window_sizes(actions: Actions, length: int, min_left: int) -> tuple[Int64s, Int64s]:
    """Return the first action of each window that no other holds, and how many it has.

    Those of fewer than `min_left` actions are left out.

    Examples
    --------
    >>> actions = Actions.of(np.int32([0, 1, 2]), np.int32([0, 0, 0]), np.array([0.0, 5.0, 9.0]))
    >>> [part.tolist() for part in window_sizes(actions, 5_000_000, 2)]
    [[0, 1], [2, 2]]
    """
    _, end = actions.within(length)
    largest = np.ones(len(actions), np.bool_)  # ends never fall: a new right vertex begins behind the last end
    largest[1:] = end[1:] > end[:-1]
    sizes = end - np.arange(len(actions))
    first = np.flatnonzero(largest & (sizes >= min_left))
    return first, sizes[first]


def windows_of(actions: Actions, length: int, min_left: int, n_left: int) -> Windows:
    """Make the windows of at least `min_left` left vertices.

    Parameters
    ----------
    actions
        Which may be in step.
    length
        Of a window, in microseconds; both of its ends belong to it.
    min_left
        Least left vertices.
    n_left
        Number of left vertices.

    Examples
    --------
    >>> actions = Actions.of(np.int32([0, 1, 2]), np.int32([0, 0, 0]), np.array([0.0, 5.0, 9.0]))
    >>> made = windows_of(actions, 5_000_000, 2, 3)
    >>> made.by_window().indices.tolist(), made.right.tolist()
    ([0, 1, 1, 2], [0, 0])
    """
    first, sizes = window_sizes(actions, length, min_left)
    members: list[Int64s] = []
    right: list[Int32s] = []
    made = 0
    for block in blocks_of(sizes):
        rows, owner = rows_of_ranges(first[block], sizes[block])
        keys = np.unique((owner << 32) | actions.left[rows])  # who acted twice is there once
        counts = np.bincount(keys >> 32, minlength=len(first[block]))
        enough = counts >= min_left
        number = made + np.cumsum(enough) - 1
        keys = keys[enough[keys >> 32]]
        members.append((number[keys >> 32] << 32) | (keys & 0xFFFFFFFF))
        right.append(actions.right[first[block]][enough])
        made += int(enough.sum())
    united = np.concatenate([np.zeros(0, np.int64), *members])
    members.clear()
    left = (united & 0xFFFFFFFF).astype(np.int32)
    graph = BipartiteGraph.from_edges(left, (united >> 32).astype(np.int32), n_left, made)
    return Windows(graph, np.concatenate([np.zeros(0, np.int32), *right]))


def groups_among(
    batch: kernels.BicliqueBatch, windows: Windows, by_window: BipartiteGraph, min_right: int, min_edges: int
) -> kernels.BicliqueBatch:
    """Choose the groups among maximal bicliques of left vertices and windows.

    Parameters
    ----------
    batch
        The maximal bicliques.
    windows, by_window
        What they were found in.
    min_right, min_edges
        Sizes of the groups, in right vertices.

    Returns
    -------
    BicliqueBatch
        The groups, their right side in right vertices, each once.
    """
    right = windows.right[batch.right]
    new = np.ones(len(right), np.bool_)
    new[1:] = right[1:] != right[:-1]
    new[batch.right_offsets[:-1]] = True
    n_right = np.diff(starts_of(new)[batch.right_offsets])
    kept = (n_right >= min_right) & (n_right * batch.n_left >= min_edges)
    doubtful = np.flatnonzero(kept & (n_right < batch.n_right))
    kept[doubtful] = _are_maximal(batch, doubtful, n_right, windows, by_window)
    left_rows = np.repeat(kept, batch.n_left)
    right_rows = np.repeat(kept, batch.n_right) & new
    return kernels.BicliqueBatch(
        starts_of(batch.n_left[kept]).astype(np.int32),
        batch.left[left_rows],
        starts_of(n_right[kept]).astype(np.int32),
        right[right_rows],
        batch.root[kept],
    )


def _are_maximal(
    batch: kernels.BicliqueBatch, chosen: Int64s, n_right: Int64s, windows: Windows, by_window: BipartiteGraph
) -> Bools:
    """Say of some bicliques whether no other left vertex is in a window of each right vertex."""
    sizes = np.diff(by_window.indptr)
    held = np.add.reduceat(sizes[batch.right], batch.right_offsets[:-1]) if len(batch) else sizes[:0]
    maximal = np.zeros(len(chosen), np.bool_)
    for block in blocks_of(held[chosen]):
        some = chosen[block]
        at, group = rows_of_ranges(batch.right_offsets[some].astype(np.int64), batch.n_right[some].astype(np.int64))
        columns = batch.right[at]
        rows, column = rows_of_ranges(by_window.indptr[columns], sizes[columns])
        key = group[column] * by_window.n_right + by_window.indices[rows]
        order, starts, counts = rights_of_keys(key, windows.right[columns[column]])
        owner = key[order[starts]] // by_window.n_right
        in_all = np.bincount(owner[counts == n_right[some][owner]], minlength=len(some))
        maximal[block] = in_all == batch.n_left[some]
    return maximal


class Moments:
    """When groups were in step.

    Parameters
    ----------
    actions
        All that may be in step.
    length
        Of a window, in microseconds.
    """

    def __init__(self, actions: Actions, length: int) -> None:
        order = np.lexsort((actions.moment, actions.left, actions.right))
        self._key = (actions.right[order].astype(np.int64) << 32) | actions.left[order]
        self._time = actions.times[actions.moment[order]]
        self._length = length

    def of(self, left: Int32s, right: Int32s) -> Spans:
        """Return for each right vertex of a group the first and the last action in its window.

        That is the earliest window that holds all of the group: it ends as soon as each of the
        left vertices has acted within the length, and the first action of one of them within the
        length before that is its start. In microseconds.

        Examples
        --------
        >>> times = np.array([0.0, 90.0, 100.0])
        >>> actions = Actions.of(np.int32([0, 0, 1]), np.int32([0, 0, 0]), times)
        >>> Moments(actions, 60_000_000).of(np.int32([0, 1]), np.int32([0]))
        [(90000000, 100000000)]
        """
        keys = (right.astype(np.int64)[:, None] << 32) | left
        first, end = np.searchsorted(self._key, keys), np.searchsorted(self._key, keys, side="right")
        return [self._earliest(*row) for row in zip(first, end, strict=True)]

    def of_members(self, left: Int32s, right: Int32s, spans: Spans) -> Int64s:
        """Return when each left vertex acted first within the window of each right one.

        Shape (left, right), in microseconds.

        Examples
        --------
        >>> actions = Actions.of(np.int32([0, 0, 1]), np.int32([0, 0, 0]), np.array([0.0, 90.0, 100.0]))
        >>> moments, group = Moments(actions, 60_000_000), (np.int32([0, 1]), np.int32([0]))
        >>> moments.of_members(*group, moments.of(*group)).tolist()
        [[90000000], [100000000]]
        """
        at = np.empty((len(left), len(right)), np.int64)
        for column, (vertex, (begin, _)) in enumerate(zip(right.tolist(), spans, strict=True)):
            for row, member in enumerate(left.tolist()):
                first, end = np.searchsorted(self._key, [vertex << 32 | member, (vertex << 32 | member) + 1])
                at[row, column] = self._time[first + np.searchsorted(self._time[first:end], begin)]
        return at

    def _earliest(self, first: Int64s, end: Int64s) -> tuple[int, int]:
        at, who = rows_of_ranges(first, end - first)
        order = np.argsort(self._time[at], kind="stable")
        times = self._time[at][order].tolist()
        latest: dict[int, int] = {}
        for member, time in zip(who[order].tolist(), times, strict=True):
            latest[member] = time
            if len(latest) == len(first) and min(latest.values()) >= time - self._length:
                return next(begin for begin in times if begin >= time - self._length), time
        raise AssertionError("a group is in step at each of its right vertices")


class ByChance:
    """How far groups in step are beyond chance, in nats.

    Who acts on what is drawn by lot as for groups without times (`kernels.SurpriseTerms`), with
    probability p of a pair. When is drawn from the times at which others act on the same: of s
    actions in a window of a right vertex, on which d left vertices act, a left vertex has one with
    probability p · min(1, s / d). So a link that everybody shares within the hour is no news. A
    group pays for the choice of its members, as without times, and at each right vertex for that of
    its window among the k that no other window holds: ln k. By the union bound exp(−worth) bounds
    how many such groups there are on average.

    Parameters
    ----------
    actions
        All of the table.
    length
        Of a window, in microseconds.
    graph
        The table without times.
    """

    def __init__(self, actions: Actions, length: int, graph: BipartiteGraph) -> None:
        first, self._sizes = window_sizes(actions, length, 1)
        self._begin = actions.times[actions.moment[first]]
        self._end = actions.times[actions.moment[first + self._sizes - 1]]
        self._of = np.searchsorted(actions.right[first], np.arange(graph.n_right + 1))
        self._degrees, self._terms = graph.right_degrees, graph.surprise_terms
        self._choice = np.log(np.maximum(np.diff(self._of), 1))

    def of(self, left: Int32s, right: Int32s, spans: Spans) -> tuple[float, float]:
        """Return the worth of a group, and how many of its pairs chance puts into its windows."""
        worth, expected = self._terms.of_group(left, right)[0], 0.0
        for vertex, (begin, end) in zip(right.tolist(), spans, strict=True):
            at, beyond = self._of[vertex : vertex + 2]
            some = slice(
                at + np.searchsorted(self._end[at:beyond], end),
                at + np.searchsorted(self._begin[at:beyond], begin, "right"),
            )
            share = min(1.0, self._sizes[some].min() / self._degrees[vertex])
            worth -= len(left) * np.log(share) + self._choice[vertex]
            expected += share * self._terms.expected(left, np.array([vertex]))
        return float(worth), expected

    def bounds(self, groups: kernels.BicliqueBatch) -> npt.NDArray[np.float64]:
        """Return what some groups are worth at most, as if nobody else acted in their windows."""
        per_group = np.repeat(groups.n_left, groups.n_right)
        rarest = np.log(np.maximum(self._degrees[groups.right] / per_group, 1))
        each = per_group * rarest - self._choice[groups.right]
        bounds: npt.NDArray[np.float64] = self._terms.of(groups) + np.add.reduceat(each, groups.right_offsets[:-1])
        return bounds
