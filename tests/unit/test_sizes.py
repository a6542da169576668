"""Sizes of bicliques, counted as a GPU counts them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.store import sizes
from pipeline.store.sizes import Sizes

LIKE_CUPY = SimpleNamespace(arange=np.arange, bincount=np.bincount, int32=np.int32)


@pytest.mark.parametrize("counters", [1, 40, 1 << 22])
@given(st.lists(st.integers(1, 30), min_size=1, max_size=600))
def test_many_tables_count_what_one_does(counters: int, lengths: list[int]) -> None:
    found = np.array(lengths, np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "MOST_COUNTERS", counters)
        assert sizes._histogram(LIKE_CUPY, found).tolist() == np.bincount(found).tolist()


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 5000)), min_size=1, max_size=300), st.integers(1, 299))
def test_parts_add_up_to_the_whole(pairs: list[tuple[int, int]], cut: int) -> None:
    left, right = (np.array(side, np.int32) for side in zip(*pairs, strict=True))
    whole, parts = Sizes(), Sizes()
    whole.add(left, right)
    for piece in (slice(cut), slice(cut, None)):
        parts.add(left[piece], right[piece])
    assert parts.record() == whole.record()
    assert whole.left == sorted((int(n), int((left == n).sum())) for n in set(left.tolist()))
    edges = left.astype(np.int64) * right
    assert whole.largest is not None
    assert whole.largest["n_edges"] == edges.max()
    assert whole.largest["n_left"] == left[edges == edges.max()].max()
