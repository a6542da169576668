"""Sizes of bicliques, counted by parts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bicliq.pipeline.store.sizes import Sizes


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 5000)), min_size=1, max_size=300), st.integers(1, 299))
def test_parts_add_up_to_the_whole(pairs: list[tuple[int, int]], cut: int) -> None:
    left, right = (np.array(side, np.int32) for side in zip(*pairs, strict=True))
    whole, parts = Sizes(), Sizes()
    whole.add(left, right)
    for piece in (slice(cut), slice(cut, None)):
        parts.add(left[piece], right[piece])
    assert parts.counts() == whole.counts()
    assert whole.left == sorted((int(n), int((left == n).sum())) for n in set(left.tolist()))
    edges = left.astype(np.int64) * right
    assert whole.largest is not None
    assert whole.largest.n_edges == edges.max()
    assert whole.largest.n_left == left[edges == edges.max()].max()
