"""Sizes of bicliques: how many there are of each, and the largest.

Counted while they are found, and added up to publish.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from bicliq.pipeline.placement.arrays import counts_of_small, library_of, to_host
from bicliq.pipeline.store.entries import Histogram, Largest, SizeCounts


class Sizes:
    """Histograms of the sizes of both sides, and the biclique with most edges.

    Of several with as many edges, the one with most left vertices.

    Examples
    --------
    >>> import numpy as np
    >>> sizes = Sizes()
    >>> sizes.add(np.array([2, 3]), np.array([3, 1]))
    >>> sizes.counts()
    SizeCounts(left=[(2, 1), (3, 1)], right=[(1, 1), (3, 1)], largest=Largest(n_left=2, n_right=3, n_edges=6))
    """

    def __init__(self) -> None:
        self._left: Counter[int] = Counter()
        self._right: Counter[int] = Counter()
        self.largest: Largest | None = None

    def add(self, left: Any, right: Any) -> None:
        """Add bicliques of so many left and right vertices, given as arrays of NumPy or CuPy."""
        if not len(left):
            return
        xp = library_of(left)
        edges = left.astype(xp.int64) * right
        n_edges = edges.max()
        most = left.max(), right.max(), n_edges, xp.where(edges == n_edges, left, 0).max()
        most_left, most_right, n_edges, n_left = map(int, to_host(xp.stack(most)))
        for known, found in zip(
            (self._left, self._right), _counts(xp, (left, right), (most_left, most_right)), strict=True
        ):
            known.update(found)
        self._offer(Largest(n_left, n_edges // n_left, n_edges))

    def merge(self, counts: SizeCounts) -> None:
        """Add what another one has counted."""
        self._left.update(dict(counts.left))
        self._right.update(dict(counts.right))
        if counts.largest is not None:
            self._offer(counts.largest)

    def counts(self) -> SizeCounts:
        """What was counted, for a record."""
        return SizeCounts(self.left, self.right, self.largest)

    @property
    def left(self) -> Histogram:
        """Bicliques by the number of their left vertices."""
        return sorted(self._left.items())

    @property
    def right(self) -> Histogram:
        """Bicliques by the number of their right vertices."""
        return sorted(self._right.items())

    def _offer(self, found: Largest) -> None:
        if self.largest is None or found.rank > self.largest.rank:
            self.largest = found


def _counts(xp: Any, sizes: tuple[Any, Any], most: tuple[int, int]) -> Iterator[dict[int, int]]:
    """How often each size occurs on either side, of which the largest are known.

    By a table of all sizes where they are small, as a rule, by sorting otherwise.
    """
    if max(most) > len(sizes[0]) + 1024:
        for side in sizes:
            values, counts = xp.unique(side, return_counts=True)
            yield dict(zip(to_host(values).tolist(), to_host(counts).tolist(), strict=True))
        return
    tables = [counts_of_small(side, largest + 1) for side, largest in zip(sizes, most, strict=True)]
    both = to_host(xp.concatenate(tables))
    for table in np.split(both, [most[0] + 1]):
        values = np.flatnonzero(table)
        yield dict(zip(values.tolist(), table[values].tolist(), strict=True))
