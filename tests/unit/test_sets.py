"""Sets of bicliques, and what changes leave of one, beside sets of Python."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq.kernels import BicliqueBatch, BicliqueSet, SmallerBatch, kept_rows, net_changes
from tests.nightly import drawn

SIDES = st.sets(st.integers(0, 40), min_size=1, max_size=6).map(sorted).map(tuple)
BICLIQUES = st.lists(st.tuples(SIDES, SIDES, st.integers(0, 5)), max_size=40)


def column(lists):
    return np.cumsum([0, *map(len, lists)], dtype=np.int32), np.array([i for one in lists for i in one], np.int32)


def both(rows):
    lefts, rights, roots = ([row[at] for row in rows] for at in range(3))
    return BicliqueBatch(*column(lefts), *column(rights), np.array(roots, np.int32))


def key(row):
    """The smaller side of a biclique, and which one it is; root and sizes tell it apart first."""
    left, right, _ = row
    is_left = len(left) <= len(right)
    return (left if is_left else right), is_left


def smaller(rows):
    numbers = [
        np.array([f(row) for row in rows], np.int32) for f in (lambda r: len(r[0]), lambda r: len(r[1]), lambda r: r[2])
    ]
    return SmallerBatch(*column([key(row)[0] for row in rows]), *numbers)


@settings(max_examples=drawn(200))
@given(BICLIQUES, BICLIQUES, st.booleans(), st.booleans(), st.sampled_from([0, 5, 300]))
def test_a_set_holds_what_was_given_and_nothing_else(known, others, known_smaller, others_smaller, room):
    found = BicliqueSet(
        [(smaller if known_smaller else both)(known[:7]), (smaller if known_smaller else both)(known[7:])], room
    )
    sides, kinds = {key(row) for row in known}, {(len(left), len(right), root) for left, right, root in known}
    assert len(found) == len(sides)
    for rows in (known, others):
        batch = (smaller if others_smaller else both)(rows)
        alike = [(len(left), len(right), root) in kinds for left, right, root in rows]
        told = found.holds(batch).tolist()
        certain = [key(row) in sides and same for row, same in zip(rows, alike, strict=True)]
        possible = [key(row) in sides for row in rows]
        assert all(told[i] for i, yes in enumerate(certain) if yes)
        assert not any(told[i] for i, yes in enumerate(possible) if not yes)
        may = found.may_hold(batch.n_left, batch.n_right, batch.root)
        assert all(may[i] for i, yes in enumerate(alike) if yes)
    if known:
        assert found.holds(both(known)).all()


def test_a_set_grows_and_still_finds_all():
    generator = np.random.default_rng(5)
    rows = [(tuple(sorted(generator.choice(500, 3, replace=False).tolist())), (1, 2, 3, 4), 0) for _ in range(5000)]
    found = BicliqueSet(both(rows[i : i + 700]) for i in range(0, 4200, 700))
    assert found.holds(smaller(rows[:4200])).all()
    known = {key(row) for row in rows[:4200]}
    assert found.holds(both(rows)).tolist() == [key(row) in known for row in rows]


@settings(max_examples=drawn(300))
@given(BICLIQUES, st.data())
def test_rows_with_a_flag_are_kept_in_their_order(rows, data):
    flags = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    kept = kept_rows(both(rows), np.array(flags, np.bool_))
    wanted = both([row for row, flag in zip(rows, flags, strict=True) if flag])
    for name, array in vars(kept).items():
        assert (array.dtype, array.tolist()) == (np.int32, getattr(wanted, name).tolist())


def test_an_empty_set_holds_nothing():
    found = BicliqueSet([])
    assert not found.holds(both([((1,), (2,), 0)])).any()
    assert not found.may_hold(*(np.ones(1, np.int32),) * 3).any()
    assert found.holds(both([])).shape == (0,)


@pytest.mark.parametrize("offsets", [[0, 3], [1, 0], [-1, 1], [0]])
def test_arrays_that_are_no_batch_are_refused(offsets):
    wrong = np.array(offsets, np.int32), np.array([7, 8], np.int32)
    right, root = (np.array([0, 1], np.int32), np.array([9], np.int32)), np.array([7], np.int32)
    with pytest.raises(ValueError, match="offsets"):
        BicliqueSet([BicliqueBatch(*wrong, *right, root)])
    with pytest.raises(ValueError, match="offsets"):
        net_changes([(BicliqueBatch(*wrong, *right, root), 1)])
    with pytest.raises(ValueError, match="offsets"):
        BicliqueSet([]).holds(SmallerBatch(*wrong, root, root, root))
    with pytest.raises(ValueError, match="offsets"):
        kept_rows(BicliqueBatch(*wrong, *right, root), np.ones(1, np.bool_))
    with pytest.raises(ValueError, match="offsets"):
        kept_rows(BicliqueBatch(*right, *right, root), np.ones(2, np.bool_))
    with pytest.raises(ValueError, match="length"):
        BicliqueSet([SmallerBatch(*right, root, np.zeros(2, np.int32), root)])
    with pytest.raises(ValueError, match="length"):
        BicliqueSet([]).may_hold(root, root, np.zeros(2, np.int32))


@settings(max_examples=drawn(200))
@given(st.lists(st.sets(st.tuples(SIDES, SIDES), max_size=8), min_size=1, max_size=6))
def test_what_comes_and_goes_is_left_out(states):
    """States one after the other: what changed between the first and the last."""
    batches, rows = [], []
    for before, after in pairwise(states):
        for some, sign in ((sorted(after - before), 1), (sorted(before - after), -1)):
            batches.append((both([(*one, 0) for one in some]), sign))
            rows.append((some, sign))
    flags = net_changes(batches)
    kept = {
        sign: [
            one
            for (some, own), flag in zip(rows, flags, strict=True)
            if own == sign
            for one, keep in zip(some, flag, strict=True)
            if keep
        ]
        for sign in (1, -1)
    }
    assert sorted(kept[1]) == sorted(states[-1] - states[0])
    assert sorted(kept[-1]) == sorted(states[0] - states[-1])
