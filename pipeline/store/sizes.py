"""Sizes of bicliques: how many there are of each, and the largest.

Counted while they are found, and added up to publish.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pipeline.placement.arrays import counts_of_small, library_of, to_host

Histogram = list[tuple[int, int]]
"""Pairs (size, number of bicliques), ascending."""


class Sizes:
    """Histograms of the sizes of both sides, and the biclique with most edges.

    Of several with as many edges, the one with most left vertices.

    Examples
    --------
    >>> import numpy as np
    >>> sizes = Sizes()
    >>> sizes.add(np.array([2, 3]), np.array([3, 1]))
    >>> sizes.record()
    {'left': [(2, 1), (3, 1)], 'right': [(1, 1), (3, 1)], 'largest': {'n_left': 2, 'n_right': 3, 'n_edges': 6}}
    """

    def __init__(self) -> None:
        self._left: Counter[int] = Counter()
        self._right: Counter[int] = Counter()
        self.largest: dict[str, int] | None = None

    def add(self, left: Any, right: Any) -> None:
        """Add bicliques of so many left and right vertices, given as arrays of NumPy or CuPy."""
        if not len(left):
            return
        xp = library_of(left)
        self._left.update(_counts(xp, left))
        self._right.update(_counts(xp, right))
        edges = left.astype(xp.int64) * right
        of_most = xp.flatnonzero(edges == edges.max())
        best = of_most[left[of_most].argmax()]
        n_left, n_right = int(left[best]), int(right[best])
        self._offer({"n_left": n_left, "n_right": n_right, "n_edges": n_left * n_right})

    def merge(self, record: Mapping[str, Any], **where: int) -> None:
        """Add what another one has recorded; `where` it was is noted with the largest."""
        self._left.update(dict(record["left"]))
        self._right.update(dict(record["right"]))
        if record["largest"] is not None:
            self._offer({**record["largest"], **where})

    def record(self) -> dict[str, Any]:
        """Plain values, for a JSON file."""
        return {"left": self.left, "right": self.right, "largest": self.largest}

    @property
    def left(self) -> Histogram:
        """Bicliques by the number of their left vertices."""
        return sorted(self._left.items())

    @property
    def right(self) -> Histogram:
        """Bicliques by the number of their right vertices."""
        return sorted(self._right.items())

    def _offer(self, found: dict[str, int]) -> None:
        if self.largest is None or _rank(found) > _rank(self.largest):
            self.largest = found


def _rank(biclique: Mapping[str, int]) -> tuple[int, int]:
    return biclique["n_edges"], biclique["n_left"]


def _counts(xp: Any, sizes: Any) -> dict[int, int]:
    """How often each size occurs.

    By a table of all sizes where they are small, as a rule, by sorting otherwise.
    """
    most = int(sizes.max())
    if most > len(sizes) + 1024:
        values, counts = xp.unique(sizes, return_counts=True)
    else:
        every = counts_of_small(sizes, most + 1)
        values = xp.flatnonzero(every)
        counts = every[values]
    return dict(zip(to_host(values).tolist(), to_host(counts).tolist(), strict=True))
