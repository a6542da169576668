"""Who acted on what, and when: the rows of a table with times, and which of them can be in step.

An action is a left vertex, a right vertex and a time. Left vertices are *in step* at a right vertex
where all of them acted on it within one window of some length. A group of at least `min_left` ×
`min_right` needs, of each of its actions, `min_left` - 1 others within the length of it; and any
two of its left vertices are in step at `min_right` right vertices. What lacks that is left out
before windows are made: among popular things nearly all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bicliq.pipeline.placement.arrays import (
    counts_of,
    differs,
    library_of,
    order_by,
    repeat,
    starts_of,
    sums_of_rows,
    to_host,
)

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MICROSECONDS = 1_000_000
"""A second: times are compared in whole microseconds, so that sums of seconds are exact."""

AT_ONCE = 1 << 22
"""Members of windows, or pairs of actions, that are held at a time: some 200 MB."""

SLOT_BITS = 22
"""Bits of the hash by which most pairs are known to be rare, without sorting them."""

WORTH_ANOTHER_ROUND = 0.95
"""Share of the actions that a round of leaving out must fall below for another one to follow."""


def micros_of(seconds: npt.NDArray[np.float64]) -> Int64s:
    """Return times as whole microseconds.

    Examples
    --------
    >>> micros_of(np.array([0.1 + 0.2])).tolist()
    [300000]
    """
    micros: Int64s = library_of(seconds).rint(seconds * MICROSECONDS).astype(np.int64)
    return micros


def in_one(right: Int32s, micros: Int64s) -> Int64s:
    """Return right vertex and time in one number each, which sorts like them.

    Examples
    --------
    >>> in_one(np.int32([1, 0, 1]), np.array([7, 9, 8])).argsort().tolist()
    [1, 0, 2]
    """
    if not len(right):
        return right.astype(np.int64)
    least = int(micros.min())
    span = int(micros.max()) - least + 1
    if (int(right.max()) + 1) * span > np.iinfo(np.int64).max:
        found, micros = library_of(micros).unique(micros, return_inverse=True)
        least, span = 0, len(found)
    return right.astype(np.int64) * span + (micros - least)


@dataclass(frozen=True, eq=False)
class Actions:
    """Actions by right vertex, then time, then left vertex, each once.

    Parameters
    ----------
    left, right
        int32: dense ids.
    moment
        int64: the number of the action's time.
    times
        int64: the times, in microseconds, ascending.

    Examples
    --------
    >>> actions = Actions.of(np.int32([1, 0, 2]), np.int32([0, 0, 0]), np.array([70.0, 0.0, 60.0]))
    >>> actions.left.tolist(), [span.tolist() for span in actions.within(60 * MICROSECONDS)]
    ([0, 2, 1], [[0, 0, 1], [2, 3, 3]])
    """

    left: Int32s
    right: Int32s
    moment: Int64s
    times: Int64s

    @classmethod
    def of(cls, left: Int32s, right: Int32s, seconds: npt.NDArray[np.float64]) -> Actions:
        """Sort rows, with Unix seconds; equal ones are one."""
        xp = library_of(seconds)
        times, moment = xp.unique(micros_of(seconds), return_inverse=True)
        given = cls(left, right, moment, times)
        order = order_by(left, given.key)
        actions = given.where(order)
        return actions.where(differs(actions.key) | differs(actions.left))

    def __len__(self) -> int:
        """Number of actions."""
        return len(self.left)

    @cached_property
    def key(self) -> Int64s:
        """Right vertex and time in one number, ascending."""
        key: Int64s = self.right.astype(np.int64) * len(self.times) + self.moment
        return key

    def on_host(self) -> Actions:
        """Return them in arrays of the host, wherever they lie."""
        return Actions(*map(to_host, (self.left, self.right, self.moment, self.times)))

    def where(self, mask: Bools | Int64s) -> Actions:
        """Keep some of them: a mask, or their numbers."""
        return replace(self, left=self.left[mask], right=self.right[mask], moment=self.moment[mask])

    def within(self, length: int) -> tuple[Int64s, Int64s]:
        """Say of each action which ones are on the same right vertex within so many microseconds.

        Returns the first of them, and where they end.
        """
        search = library_of(self.times).searchsorted
        base = self.right.astype(np.int64) * len(self.times)
        first = search(self.times, self.times - length)[self.moment]
        end = search(self.times, self.times + length, side="right")[self.moment]
        return search(self.key, base + first), search(self.key, base + end)

    def that_may_be(self, length: int, min_left: int, min_right: int) -> Actions:
        """Leave out actions that no group in step of these sizes has; see the head of this file."""
        actions = self
        while len(actions):
            before = len(actions)
            first, end = actions.within(length)
            actions = actions.where(end - first >= min_left)
            if min_right > 1 and len(actions):
                actions = actions.where(_often(actions, min_right))
            if len(actions) < WORTH_ANOTHER_ROUND * before:
                continue
            if min_left == 1 or min_right == 1:
                break
            before = len(actions)
            actions = actions.where(_with_partners(actions, length, min_left, min_right))
            if len(actions) >= WORTH_ANOTHER_ROUND * before:
                break
        return actions


def rows_of_ranges(first: Int64s, counts: Int64s) -> tuple[Int64s, Int64s]:
    """Return the members of some ranges one after the other, and of which range each is.

    Examples
    --------
    >>> [part.tolist() for part in rows_of_ranges(np.array([5, 1]), np.array([2, 1]))]
    [[5, 6, 1], [0, 0, 1]]
    """
    xp = library_of(counts)
    owner = repeat(xp.arange(len(counts)), counts)
    return xp.arange(len(owner)) + (first - starts_of(counts)[:-1])[owner], owner


def blocks_of(counts: Int64s, most: int = AT_ONCE) -> Iterator[slice]:
    """Cut ranges into blocks of at most so many members; one larger range is a block alone.

    Examples
    --------
    >>> list(blocks_of(np.array([2, 2, 9, 1]), 4))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    ends = np.cumsum(to_host(counts))
    start = 0
    while start < len(counts):
        done = int(ends[start - 1]) if start else 0
        stop = max(int(np.searchsorted(ends, done + most, side="right")), start + 1)
        yield slice(start, stop)
        start = stop


def rights_of_keys(key: Int64s, right: Int32s) -> tuple[Int64s, Int64s, Int64s]:
    """Count the different right vertices of each key; those of one key come in ascending order.

    Returns what sorts the keys, where each begins in that order, and its right vertices.

    Examples
    --------
    >>> order, starts, counts = rights_of_keys(np.array([7, 5, 7, 7]), np.int32([0, 0, 0, 4]))
    >>> order.tolist(), starts.tolist(), counts.tolist()
    ([1, 0, 2, 3], [0, 1], [1, 2])
    """
    xp = library_of(key)
    order = xp.argsort(key, kind="stable")
    first = differs(key[order])
    new = first | differs(right[order])
    starts = xp.flatnonzero(first)
    return order, starts, sums_of_rows(new, _with_end(starts, len(order)))


def _with_end(starts: Any, end: int) -> Any:
    """Return where some ranges begin, and then where the last one ends."""
    xp = library_of(starts)
    return xp.concatenate([starts, xp.full(1, end, starts.dtype)])


def _often(actions: Actions, min_right: int) -> Bools:
    """Say whether the left vertex of each action acts on so many right vertices."""
    xp = library_of(actions.left)
    order, starts, counts = rights_of_keys(actions.left.astype(np.int64), actions.right)
    enough: Bools = xp.zeros(len(actions), np.bool_)
    enough[order] = repeat(counts >= min_right, xp.diff(_with_end(starts, len(order))))
    return enough


def _with_partners(actions: Actions, length: int, min_left: int, min_right: int) -> Bools:
    """Say whether near each action are enough others of left vertices that are often near its own.

    A left vertex of more pairs than are held at a time keeps all of its actions.
    """
    xp = library_of(actions.left)
    first, end = actions.within(length)
    by_left = xp.argsort(actions.left, kind="stable")
    bounds = _with_end(xp.flatnonzero(differs(actions.left[by_left])), len(by_left))
    pairs = to_host(sums_of_rows((end - first)[by_left], bounds))
    bounds = to_host(bounds)
    enough: Bools = xp.ones(len(actions), np.bool_)
    for block in blocks_of(pairs):
        if pairs[block].sum() <= AT_ONCE:
            chosen = by_left[int(bounds[block.start]) : int(bounds[block.stop])]
            near, owner = rows_of_ranges(first[chosen], (end - first)[chosen])
            partners = _partners(actions, chosen[owner], near, min_right)
            enough[chosen] = counts_of(partners, len(actions))[chosen] >= min_left - 1
    return enough


def _partners(actions: Actions, action: Int64s, near: Int64s, min_right: int) -> Int64s:
    """Return the actions of pairs that are near each other at enough right vertices."""
    xp = library_of(near)
    key = (actions.left[action].astype(np.int64) << 32) | actions.left[near]
    slot = (key.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - SLOT_BITS)
    slot = slot.astype(np.int64)
    often = counts_of(slot, 1 << SLOT_BITS) >= min_right
    chosen = xp.flatnonzero(often[slot] & (actions.left[action] != actions.left[near]))
    action = action[chosen]
    order, starts, counts = rights_of_keys(key[chosen], actions.right[action])
    found: Int64s = action[order][repeat(counts >= min_right, xp.diff(_with_end(starts, len(order))))]
    return found
