"""When groups were in step, and how far that is beyond chance.

`pipeline.graphs.in_step` finds the groups.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from bicliq import kernels
from bicliq.pipeline.graphs.actions import Actions, Int32s, Int64s, rows_of_ranges
from bicliq.pipeline.placement.arrays import order_by

Spans = list[tuple[int, int]]
"""Of each right vertex of a group the first and the last action in its window, in microseconds."""


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
        key = (actions.right.astype(np.int64) << 32) | actions.left
        order = order_by(actions.moment, key)
        self._key = key[order]
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
    degrees, terms
        Of the table without times: the degree of each right vertex, and the terms of surprise.
    """

    def __init__(self, actions: Actions, length: int, degrees: Int64s, terms: kernels.SurpriseTerms) -> None:
        first, self._sizes = window_sizes(actions, length, 1)
        self._begin = actions.times[actions.moment[first]]
        self._end = actions.times[actions.moment[first + self._sizes - 1]]
        self._of = np.searchsorted(actions.right[first], np.arange(len(degrees) + 1))
        self._degrees, self._terms = degrees, terms
        self._choice = np.log(np.maximum(np.diff(self._of), 1))

    def of(self, left: Int32s, right: Int32s, spans: Spans) -> tuple[float, float]:
        """Return the worth of a group, and how many of its pairs chance puts into its windows."""
        worth, expected = self._terms.of_group(left, right)[0], 0.0
        for vertex, share in zip(right.tolist(), self._shares(right, spans).tolist(), strict=True):
            worth -= len(left) * np.log(share) + self._choice[vertex]
            expected += share * self._terms.expected(left, np.array([vertex]))
        return float(worth), expected

    def of_pairs(self, left: Int32s, right: Int32s, spans: Spans) -> npt.NDArray[np.float64]:
        """Return what each pair of a group adds to its worth; shape (left, right)."""
        nats = self._terms.pairs(left, right) * self._terms.unit
        return np.asarray(nats - np.log(self._shares(right, spans)), np.float64)

    def _shares(self, right: Int32s, spans: Spans) -> npt.NDArray[np.float64]:
        """Return with which chance who acts on each right vertex does so in the group's window."""
        shares = []
        for vertex, (begin, end) in zip(right.tolist(), spans, strict=True):
            at, beyond = self._of[vertex : vertex + 2]
            some = slice(
                at + np.searchsorted(self._end[at:beyond], end),
                at + np.searchsorted(self._begin[at:beyond], begin, "right"),
            )
            shares.append(min(1.0, self._sizes[some].min() / self._degrees[vertex]))
        return np.array(shares)

    def bounds(self, groups: kernels.BicliqueBatch) -> npt.NDArray[np.float64]:
        """Return what some groups are worth at most, as if nobody else acted in their windows."""
        per_group = np.repeat(groups.n_left, groups.n_right)
        rarest = np.log(np.maximum(self._degrees[groups.right] / per_group, 1))
        each = per_group * rarest - self._choice[groups.right]
        bounds: npt.NDArray[np.float64] = self._terms.of(groups) + np.add.reduceat(each, groups.right_offsets[:-1])
        return bounds
