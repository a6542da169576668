"""Groups in step, from the definition: every set of left vertices, every window."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from math import log

Action = tuple[int, int, int]
"""Left vertex, right vertex, time."""

GroupInStep = tuple[frozenset[int], frozenset[int]]


def window_of(left: Iterable[int], right: int, actions: Iterable[Action], length: int) -> tuple[int, int] | None:
    """First and last action of the earliest window in which all of `left` act on `right`."""
    wanted = set(left)
    events = [(time, u) for u, r, time in actions if r == right and u in wanted]
    for end in sorted(time for time, _ in events):
        inside = [(time, u) for time, u in events if end - length <= time <= end]
        if {u for _, u in inside} == wanted:
            return min(inside)[0], end
    return None


def groups_in_step(
    actions: Iterable[Action], length: int, min_left: int = 1, min_right: int = 1, min_edges: int = 1
) -> set[GroupInStep]:
    """All groups in step: no left vertex can be added without losing a right vertex."""
    rows = list(actions)
    lefts, rights = {u for u, _, _ in rows}, {r for _, r, _ in rows}
    together = {
        frozenset(some): frozenset(r for r in rights if window_of(some, r, rows, length))
        for size in range(1, len(lefts) + 1)
        for some in combinations(sorted(lefts), size)
    }
    return {
        (some, shared)
        for some, shared in together.items()
        if shared
        and all(together[some | {one}] != shared for one in lefts - some)
        and len(some) >= min_left
        and len(shared) >= min_right
        and len(some) * len(shared) >= min_edges
    }


def beyond_chance(left: set[int], right: set[int], rows: list[Action], length: int, block: float) -> float:
    """Worth of a group of which `block` is the worth without times."""
    worth = block
    for r in right:
        share, windows = chance_in_window(left, r, rows, length)
        worth += len(left) * -log(share) - log(windows)
    return worth


def chance_in_window(left: set[int], right: int, rows: list[Action], length: int) -> tuple[float, int]:
    """With which chance one acts in the window of a group, and how many windows there are."""
    events = [(time, u) for u, other, time in rows if other == right]
    every = [frozenset(one for one in events if t <= one[0] <= t + length) for t, _ in events]
    windows = {one for one in every if not any(one < other for other in every)}
    told = window_of(left, right, rows, length)
    assert told is not None
    holding = [one for one in windows if min(one)[0] <= told[0] and told[1] <= max(one)[0]]
    return min(1.0, min(map(len, holding)) / len({u for _, u in events})), len(windows)
