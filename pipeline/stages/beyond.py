"""What a table that does not fit a limit of memory would need: its rows and labels, as they come.

A refused table is read on, and nothing of it is kept but samples of its labels, so that the limit
that the refusal advises holds for the stages after it as well.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.columns import values_of
from bicliq.pipeline.placement.arrays import distinct
from bicliq.pipeline.stages.host_rows import KeptRows
from bicliq.pipeline.stages.limits import Later

MOST_HASHES = 1 << 15
"""Hashes of labels that a sample keeps: its estimate is wrong by half a percent."""

AT_A_TIME = 1 << 14
"""Labels of text whose hashes are taken together, which are Python's strings then."""

MARGIN = 1.05
"""What estimates are taken larger by."""

LOADED_LATER = 112 << 20
"""Bytes that a process holds more in later stages: libraries, and what allocators keep."""


class Distinct:
    """Estimates how many labels there are, and their bytes, by the smallest of their hashes.

    Examples
    --------
    >>> labels = Distinct()
    >>> for first in (0, 50_000):
    ...     labels.add(pa.array(range(first, first + 100_000)))
    >>> 140_000 < labels.n < 165_000
    True
    """

    def __init__(self) -> None:
        self._hashes: npt.NDArray[np.uint64] = np.empty(0, np.uint64)
        self._share = 1.0
        self._bytes = self._seen = 0

    @property
    def n(self) -> int:
        """About so many labels, and no fewer but for luck."""
        return int(MARGIN * len(self._hashes) / self._share)

    @property
    def bytes(self) -> int:
        """About so many bytes of Arrow."""
        return self.n * self._bytes // max(self._seen, 1)

    def add(self, labels: pa.Array) -> None:
        """Take labels, some of which may have come before."""
        self._bytes, self._seen = self._bytes + labels.nbytes, self._seen + len(labels)
        for hashes in _hashes(labels):
            kept = distinct(np.concatenate([self._hashes, hashes[hashes < self._share * 2.0**64]]))
            while len(kept) > MOST_HASHES:
                self._share /= 2
                kept = kept[kept < self._share * 2.0**64]
            self._hashes = kept


def _hashes(labels: pa.Array) -> Iterable[npt.NDArray[np.uint64]]:
    if pa.types.is_integer(labels.type):
        mixed = values_of(labels).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        yield (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD6E8FEB86659FD93)
        return
    for first in range(0, len(labels), AT_A_TIME):
        some = labels[first : first + AT_A_TIME].to_pylist()
        yield np.array([hash(label) for label in some], np.int64).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)


class BeyondLimit:
    """Rows and labels of a table that was refused, while it is read on.

    `needed`, `what`: bytes that did not fit, and what they were for.
    """

    def __init__(self, needed: int, what: str) -> None:
        self.needed, self.what = needed, what
        self.n_rows = 0
        self._labels = Distinct(), Distinct()

    def add(self, rows: KeptRows) -> None:
        """Take rows, which are let go of."""
        self.n_rows += sum(map(len, rows.left))
        for labels, chunks in zip(self._labels, (rows.left, rows.right), strict=True):
            for chunk in chunks:
                labels.add(chunk.dictionary if pa.types.is_dictionary(chunk.type) else pc.unique(chunk))
        rows.clear()

    def add_labels(self, n_rows: int, sides: Iterable[pa.Array]) -> None:
        """Take the labels of rows that were let go of before."""
        self.n_rows += n_rows
        for labels, side in zip(self._labels, sides, strict=True):
            labels.add(side)

    def in_all(self, beside: int, share_of_labels: int, later: Later) -> int:
        """Bytes for the labels of all rows, or for what comes after them."""
        n_labels = sum(labels.n for labels in self._labels)
        of_labels = beside + share_of_labels * sum(labels.bytes for labels in self._labels)
        after = later(self.n_rows, n_labels)
        return max(self.needed, of_labels, after + LOADED_LATER if after else 0)
