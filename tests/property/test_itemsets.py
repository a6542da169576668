"""Itemsets and rules of the kernel are those of their definitions, on thousands of small tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bicliq import kernels
from tests.property.graphs import from_matrix
from tests.property.test_maximal_bicliques import digest_of, enumerated
from tests.reference import itemsets as reference

baskets_of_few = st.lists(st.frozensets(st.integers(0, 6)), min_size=1, max_size=12)


def closed_of(baskets, least):
    rows = [sorted(basket) for basket in baskets]
    indptr = np.cumsum([0, *map(len, rows)])
    return kernels.closed_itemsets(indptr, [item for row in rows for item in row], 7, least)


def sets_of(closed, kind, max_items=None):
    found = {}
    for batch in closed.sets(kind, max_items):
        for i in range(len(batch)):
            items = batch.items[batch.offsets[i] : batch.offsets[i + 1]].tolist()
            assert items == sorted(items)
            assert frozenset(items) not in found
            found[frozenset(items)] = int(batch.support[i])
    return found


def rules_of(closed, *asked, **more):
    found = {}
    for batch in closed.rules(*asked, **more):
        for i in range(len(batch)):
            sides = (
                (batch.antecedent_offsets, batch.antecedents),
                (batch.consequent_offsets, batch.consequents),
            )
            rule = tuple(frozenset(items[offsets[i] : offsets[i + 1]].tolist()) for offsets, items in sides)
            assert rule not in found
            numbers = batch.support, batch.antecedent_support, batch.consequent_support
            found[rule] = tuple(int(each[i]) for each in numbers)
    return found


def random_baskets(seed, n=40, n_items=12):
    chance = np.random.default_rng(seed)
    weights = chance.uniform(0.1, 0.9, n_items)
    return [frozenset(np.flatnonzero(chance.random(n_items) < weights).tolist()) for _ in range(n)]


@given(baskets_of_few, st.integers(1, 3), st.integers(1, 4))
def test_few_items_need_no_closed_sets_of_many(baskets, least, most):
    rows = [sorted(basket) for basket in baskets]
    arrays = np.cumsum([0, *map(len, rows)]), [item for row in rows for item in row], 7, least
    whole = kernels.closed_itemsets(*arrays)
    few, one_more = (kernels.closed_itemsets(*arrays, max_items=n) for n in (most, most + 1))
    assert sets_of(few, "all", most) == sets_of(whole, "all", most)
    assert rules_of(few, "all", 0.5, most) == rules_of(whole, "all", 0.5, most)
    for kind in ("closed", "maximal"):
        assert sets_of(one_more, kind, most) == sets_of(whole, kind, most)
    for consequents in ([], [0]):
        asked = {"consequents": consequents, "max_items": most}
        assert rules_of(one_more, min_confidence=0.4, **asked) == rules_of(whole, min_confidence=0.4, **asked)


@given(baskets_of_few, st.integers(1, 3))
def test_itemsets_are_those_of_their_definition(baskets, least):
    sets, found = reference.frequent(baskets, least), closed_of(baskets, least)
    assert sets_of(found, "closed") == reference.closed(sets)
    assert sets_of(found, "maximal") == reference.maximal(sets)
    assert sets_of(found, "all") == sets
    assert sets_of(found, "all", 2) == {some: n for some, n in sets.items() if len(some) <= 2}


@given(baskets_of_few, st.integers(1, 3), st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0]))
def test_rules_are_those_of_their_definition(baskets, least, confidence):
    sets, found = reference.frequent(baskets, least), closed_of(baskets, least)
    assert rules_of(found, "all", confidence) == reference.all_rules(sets, confidence)
    assert rules_of(found, "non-redundant", confidence) == reference.non_redundant_rules(sets, confidence)


@given(
    baskets_of_few, st.frozensets(st.integers(0, 6), max_size=2), st.frozensets(st.integers(0, 6), max_size=2),
    st.sampled_from([0.0, 0.6]), st.sampled_from([None, 2, 3]), st.sampled_from(["all", "non-redundant"]),
)  # fmt: skip
def test_items_that_rules_must_have_choose_among_them(baskets, left, right, confidence, most, kind):
    sets, found = reference.frequent(baskets, 1), closed_of(baskets, 1)
    whole = reference.all_rules if kind == "all" else reference.non_redundant_rules
    wanted = {
        (some, other): numbers
        for (some, other), numbers in whole(sets, confidence).items()
        if left <= some and right <= other and (most is None or len(some | other) <= most)
    }
    assert rules_of(found, kind, confidence, most, left, right) == wanted


@given(baskets_of_few, st.integers(1, 2), st.sampled_from([0.0, 0.4, 0.75]))
def test_every_rule_follows_from_a_non_redundant_one(baskets, least, confidence):
    found = closed_of(baskets, least)
    basis = rules_of(found, "non-redundant", confidence)
    for (some, other), (both, of_some, _) in rules_of(found, "all", confidence).items():
        from_it = [
            (n, m)
            for (less, more), (n, m, _) in basis.items()
            if less <= some and other <= more and some <= less | more
        ]
        assert (both, of_some) in from_it


@pytest.mark.parametrize("seed", range(12))
def test_larger_tables_have_the_same(seed):
    baskets = random_baskets(seed)
    least = 2 + seed % 4
    sets = reference.frequent(baskets, least)
    rows = [sorted(basket) for basket in baskets]
    arrays = np.cumsum([0, *map(len, rows)]), [item for row in rows for item in row]
    found = kernels.closed_itemsets(*arrays, 12, least, threads=2)
    assert sets_of(found, "all") == sets
    assert sets_of(found, "maximal") == reference.maximal(sets)
    assert rules_of(found, "non-redundant", 0.6) == reference.non_redundant_rules(sets, 0.6)


def many_baskets(seed):
    """Hundreds of baskets as rows of a matrix, some alike, and in how many a set is at least."""
    chance = np.random.default_rng(seed)
    n_items, n_kinds = chance.choice([3, 9, 70, 150, 400]), chance.integers(1, 60)
    weights = chance.uniform(0.1, 1.0, n_items) * chance.choice([0.05, 0.3, 0.7, 1.0])
    kinds = chance.random((n_kinds, n_items)) < weights
    matrix = kinds[chance.integers(n_kinds, size=chance.integers(34, 400))]
    matrix ^= chance.random(matrix.shape) < chance.choice([0.0, 0.02, 0.1])
    if seed % 3 == 0:  # items that are always together, or always with another one
        some, other = chance.integers(n_items, size=(2, 3))
        matrix[:, some] = matrix[:, other]
        matrix[:, some[0]] |= matrix[:, other[1]]
    if seed % 2:
        matrix = matrix[:, np.argsort(matrix.sum(0), kind="stable")]
    return matrix, int(chance.integers(33, 33 + len(matrix) // 4))


def assert_named(matrix, sets, least, threads):
    """A stream and a digest know which baskets have a set, from either side, and where all items
    are roots in this order."""
    few = 1 + least % 4
    of_right = {(frozenset(np.flatnonzero(matrix[:, list(s)].all(1)).tolist()), s) for s in sets if len(s) >= few}
    of_left = {(items, baskets) for baskets, items in of_right}
    for table, side, wanted in ((matrix, "right", of_right), (matrix.T, "left", of_left)):
        graph, sizes = from_matrix(table), (least, few) if side == "right" else (few, least)
        for roots in (None, np.arange(matrix.shape[1])):
            asked = {"side": side, "roots": roots, "min_left": sizes[0], "min_right": sizes[1], "threads": threads}
            found = enumerated(graph, **asked)
            assert len(found) == len(wanted)
            assert set(found) == wanted
            digested = kernels.enumerate_maximal_bicliques(*graph.csr, mode="digest", **asked)
            assert digested.digest == digest_of(wanted)


@pytest.mark.parametrize("seeds", [range(i, i + 30) for i in range(0, 240, 30)])
def test_sets_of_many_baskets_are_those_of_their_definition(seeds):
    n_searched = 0
    for seed in seeds:
        matrix, least = many_baskets(seed)
        arrays = np.concatenate([[0], np.cumsum(matrix.sum(1))]), np.nonzero(matrix)[1], matrix.shape[1]
        asked = {"side": "right", "min_left": least, "max_bicliques": 500, "threads": 1 + seed % 2}
        counted = kernels.enumerate_maximal_bicliques(*arrays, **asked)
        if not counted.complete:
            continue
        n_searched += counted.bicliques > 3
        sets = reference.closed_of_matrix(matrix, least)
        assert counted.bicliques == len(sets)
        assert_named(matrix, sets, least, 1 + seed % 4)
        with_empty = np.append(arrays[0], arrays[0][-1])
        assert sets_of(kernels.closed_itemsets(with_empty, *arrays[1:], least, 1 + seed % 2), "closed") == sets
    assert n_searched > 2


@pytest.mark.parametrize("n_items", [31, 32, 33, 63, 64, 65, 127, 128, 129])
def test_dense_rows_of_a_word_and_of_more(n_items):
    chance = np.random.default_rng(n_items)
    matrix = (chance.random((8, n_items)) < 0.8)[chance.integers(8, size=120)]
    least = 34
    assert (matrix.sum(0) >= least).all()
    sets = reference.closed_of_matrix(matrix, least)
    assert len(sets) > 20
    arrays = np.concatenate([[0], np.cumsum(matrix.sum(1))]), np.nonzero(matrix)[1], n_items
    assert sets_of(kernels.closed_itemsets(*arrays, least), "closed") == sets


def test_many_items_and_few_baskets_of_each_are_looked_up_by_lists():
    chance = np.random.default_rng(5)
    pool = [chance.choice(400, 4, replace=False) for _ in range(150)]
    baskets = [frozenset(np.concatenate([pool[i] for i in chance.choice(150, 2)]).tolist()) for _ in range(600)]
    rows = [sorted(basket) for basket in baskets]
    arrays = np.cumsum([0, *map(len, rows)]), [item for row in rows for item in row]
    found = kernels.closed_itemsets(*arrays, 400, 2)
    sets = sets_of(found, "all")
    for some, n in sets.items():
        assert sum(some <= basket for basket in baskets) == n
    assert sets_of(found, "closed") == reference.closed_by_growth(sets)
    rules = rules_of(found, "non-redundant", 0.5)
    assert len(rules) > 100
    for (some, other), (both, of_some, of_other) in rules.items():
        assert (sets[some | other], sets[some], sets[other]) == (both, of_some, of_other)
        assert all(sets[some - {item}] > of_some for item in some if len(some) > 1)


@pytest.mark.parametrize("arrays", [([0, 1], [3], [1]), ([0, 2], [0], [1]), ([1, 0], [0], [1]), ([0, 1], [0], [1, 1])])
def test_lists_that_are_none_are_refused(arrays):
    with pytest.raises(ValueError, match=r"item|offsets"):
        kernels.ClosedSets(*arrays, 2)
