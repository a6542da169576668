"""Groups of roots: every root once, every partition used, equal shares, shared rows together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq.kernels import cut_roots, group_roots
from tests.nightly import drawn


@settings(max_examples=drawn(200), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_every_root_with_a_row_is_in_one_partition(seed, partitions):
    rng = np.random.default_rng(seed)
    table = rng.random(rng.integers(1, 30, 2)) < rng.random()
    indptr = np.concatenate([[0], table.sum(axis=1).cumsum()])
    cost = rng.integers(0, 100, len(table))
    order, partition = group_roots(indptr, np.nonzero(table)[1], rng.integers(0, 50, table.shape[1]), cost, partitions)
    assert sorted(order.tolist()) == np.flatnonzero(table.any(axis=1)).tolist()
    assert (np.diff(partition) >= 0).all()
    assert np.unique(partition).tolist() == list(range(min(partitions, order.size)))


def test_roots_of_one_community_stay_together_at_equal_cost():
    communities = [(root, 10 * (root % 4) + column) for root in range(40) for column in range(10)]
    indptr, indices = np.arange(41) * 10, np.array([column for _, column in communities])
    order, partition = group_roots(indptr, indices, np.ones(40, int), np.ones(40, int), 4)
    assert np.bincount(partition).tolist() == [10] * 4
    assert all(np.unique(order[partition == p] % 4).size == 1 for p in range(4))


@settings(max_examples=drawn(200), deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 200))
def test_roots_are_cut_at_the_cuts_and_where_their_rows_outgrow_the_budget(seed, budget):
    rng = np.random.default_rng(seed)
    table = rng.random(rng.integers(1, 20, 2)) < rng.random()
    row_bytes = rng.integers(0, 50, table.shape[1])
    roots = rng.permutation(len(table))[: int(rng.integers(0, len(table) + 1))]
    cuts = np.flatnonzero(rng.random(len(roots)) < 0.2)[1:]
    indptr = np.concatenate([[0], table.sum(axis=1).cumsum()])
    starts, taken = cut_roots(indptr, np.nonzero(table)[1], row_bytes, roots, cuts, budget)
    expected, sizes = [], []
    held = np.zeros(table.shape[1], bool)
    for i, root in enumerate(roots):
        larger = int(row_bytes[held | table[root]].sum())
        if i == 0 or i in cuts or larger > max(budget, int(row_bytes[table[roots[expected[-1]]]].sum())):
            expected.append(i)
            held[:] = False
        held |= table[root]
        sizes[len(expected) - 1 :] = [int(row_bytes[held].sum())]
    assert (starts.tolist(), taken.tolist()) == (expected, sizes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [3], [1], [0], [], 1), "indices holds 3"),
        (([0, 1], [0], [1], [1], [], 1), "roots holds 1"),
        (([0, 1, 2], [0, 1], [1, 1], [0, 0], [], 1), "twice"),
        (([0, 1, 2], [0, 1], [1, 1], [0, 1], [0], 1), "cuts must ascend"),
        (([0, 1, 2], [0, 1], [1, 1], [0, 1], [2], 1), "cuts must ascend"),
        (([0, 1], [0], [1], [0], [], 0), "at least 1"),
    ],
)
def test_sequences_that_cannot_be_cut_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        cut_roots(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [0], [1], [1, 1], 1), "cost has 2 entries for 1 roots"),
        (([0, 1], [3], [1], [1], 1), "indices holds 3"),
        (([0, 2], [0], [1], [1], 1), "indptr"),
        (([0, 1], [0], [1], [1], 0), "at least 1"),
        (([0, 1], [0], [-1], [1], 1), "below 0"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        group_roots(*arguments)
