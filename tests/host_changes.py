"""The kernels of changes in Python, from their definitions: by sets of vertices, and on the memory
that the driver prepares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bicliq.kernels.cuda.changes import CHANGE_LISTS, CHANGE_TABLES, Kind
from tests.host_kernels import at

UNCLEAR = None


class Tables:
    """What both kernels are told."""

    def __init__(self, words: Any) -> None:
        self.told = CHANGE_TABLES.unpacked(np.asarray(words))
        self.n = self.told["n_bicliques"]
        self.sizes = at(self.told["sizes"], 3 * len(Kind) * self.n, np.int32).reshape(len(Kind), 3, self.n)
        self.verdicts = at(self.told["verdicts"], self.n, np.uint8)

    def values(self, name: str, first: int, n: int = 1, dtype: Any = np.int32) -> list[int]:
        return at(self.told[name] + first * np.dtype(dtype).itemsize, n, dtype).tolist()

    def row(self, name: str, vertex: int) -> set[int]:
        first, end = self.values(f"{name}_start", vertex, 2, np.int64)
        return set(self.values(f"{name}_row", first, end - first))

    def numbers(self, side: str, biclique: int) -> list[int]:
        first, end = self.values(f"{side}_offsets", biclique, 2)
        return self.values(side, first, end - first)

    def vertices(self, side: str, biclique: int) -> list[int]:
        return [self.values(f"{side}_of", number)[0] for number in self.numbers(side, biclique)]

    def ends(self, biclique: int) -> tuple[int, int]:
        (change,) = self.values("change_of", self.numbers("left", biclique)[0])
        return self.values("change_left", change)[0], self.values("change_right", change)[0]

    def accepts(self, left: Any, right: Any) -> bool:
        n, m = len(left), len(right)
        least = (self.told[name] for name in ("min_left", "min_right", "min_edges"))
        return bool(n and m) and all(a >= b for a, b in zip((n, m, n * m), least, strict=True))

    def goes(self, side: str, members: set[int], others: set[int]) -> bool | None:
        """Does a remainder vanish? `UNCLEAR` where another biclique may leave it."""
        after = [self.row(side, x) for x in members]
        before = [self.row(side, x) - self.row(f"fresh_{side}", x) for x in members]
        if set.intersection(*before) - others:
            return False
        return UNCLEAR if set.intersection(*after) - others else True


def judge_changes(grid: Any, block: Any, arguments: Any) -> None:
    g = Tables(arguments[0])
    for b in range(g.n):
        left, right = set(g.vertices("left", b)), set(g.vertices("right", b))
        u, v = g.ends(b)
        judged, gone = {(x, y) for x in left for y in g.row("fresh_left", x) & right} == {(u, v)}, [False, False]
        if judged:
            without = left - {u}, right - {v}
            fates = (
                g.accepts(without[0], right) and g.goes("left", without[0], right),
                g.accepts(left, without[1]) and g.goes("right", without[1], left),
            )
            judged = UNCLEAR not in fates
            gone = [judged and bool(fate) for fate in fates]
        g.verdicts[b] = judged + 2 * gone[0] + 4 * gone[1]
        n, n_left, n_right = sum(gone), len(left), len(right)
        g.sizes[Kind.APPEARED, :, b] = (judged, judged * n_left, judged * n_right)
        g.sizes[Kind.VANISHED, :, b] = (n, n * n_left - gone[0], n * n_right - gone[1])
        g.sizes[Kind.UNSETTLED, :, b] = (not judged, (not judged) * n_left, (not judged) * n_right)


def write_changes(grid: Any, block: Any, arguments: Any) -> None:
    g, lists = Tables(arguments[0]), np.asarray(arguments[1]).view(CHANGE_LISTS.dtype)[0]
    ends = at(int(lists["ends"]), g.sizes.size, np.int64).reshape(g.sizes.shape)
    base = (ends[:, :, -1] - g.sizes.sum(axis=2))[:, :, None]
    starts = ends - g.sizes - base
    columns = np.asarray(lists["columns"]).reshape(len(Kind), 4).tolist()
    for b in range(g.n):
        place = starts[:, :, b].copy()
        for kind, *sides in added(g, b):
            for k, side in enumerate(sides):
                offsets, ids = columns[kind][2 * k : 2 * k + 2]
                at(ids, place[kind, k + 1] + len(side), np.int32)[place[kind, k + 1] :] = side
                place[kind, k + 1] += len(side)
                at(offsets, place[kind, 0] + 2, np.int64)[-1] = place[kind, k + 1]
            place[kind, 0] += 1
        assert (place == starts[:, :, b] + g.sizes[:, :, b]).all()


def added(g: Tables, b: int) -> Iterator[tuple[Kind, list[int], list[int]]]:
    """What a biclique adds to which lists."""
    left, right, verdict = g.vertices("left", b), g.vertices("right", b), g.verdicts[b]
    if not verdict:
        yield Kind.UNSETTLED, g.numbers("left", b), g.numbers("right", b)
        return
    u, v = g.ends(b)
    yield Kind.APPEARED, left, right
    if verdict & 2:
        yield Kind.VANISHED, [x for x in left if x != u], right
    if verdict & 4:
        yield Kind.VANISHED, left, [y for y in right if y != v]


CHANGES = {"judge_changes": judge_changes, "write_changes": write_changes}
