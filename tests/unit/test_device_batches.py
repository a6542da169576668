"""Batches that are cut out of what a GPU found in one launch."""

from __future__ import annotations

import numpy as np
import pytest

from bicliq import kernels
from bicliq.kernels.cuda.stream import cut


def found(n: int) -> kernels.BicliqueBatch:
    rng = np.random.default_rng(n)
    offsets = [np.concatenate([[0], rng.integers(1, 9, n).cumsum()]).astype(np.int32) for _ in range(2)]
    ids = [rng.integers(0, 99, ends[-1]).astype(np.int32) for ends in offsets]
    return kernels.BicliqueBatch(offsets[0], ids[0], offsets[1], ids[1], np.arange(n, dtype=np.int32))


@pytest.mark.parametrize("n", [0, 1, 7, 500])
@pytest.mark.parametrize(
    ("most_bicliques", "most_ids"), [(1, 100), (10, 1 << 20), (1000, 20), (1000, 1), (1000, 1 << 40)]
)
def test_they_are_within_their_bounds_and_together_all(n, most_bicliques, most_ids):
    whole = found(n)
    parts = list(cut(whole, most_bicliques, most_ids))
    assert len(parts) >= -(-n // most_bicliques)
    for part in parts:
        assert 1 <= len(part) <= most_bicliques
        assert len(part) == 1 or max(len(part.left), len(part.right)) <= most_ids
        assert part.left_offsets[0] == part.right_offsets[0] == 0
        assert part.left_offsets.dtype == np.int32
    for name in ("left", "right", "root"):
        assert np.concatenate([getattr(part, name) for part in parts] or [[]]).tolist() == getattr(whole, name).tolist()
    for name in ("left_offsets", "right_offsets"):
        lengths = [np.diff(getattr(part, name)) for part in parts]
        assert np.concatenate(lengths or [[]]).tolist() == np.diff(getattr(whole, name)).tolist()


def test_no_batch_could_take_one_biclique_more():
    whole = found(500)
    parts, first = list(cut(whole, 40, 100)), 0
    for part in parts[:-1]:
        longer = first + len(part) + 1
        ids = max(int(ends[longer] - ends[first]) for ends in (whole.left_offsets, whole.right_offsets))
        assert len(part) == 40 or ids > 100
        first += len(part)
