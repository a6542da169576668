"""Counts of any size against Python's integers: large p and q on small, uneven graphs, by every
method, side and kind."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bicliq.kernels import count_all_bicliques, count_bicliques
from tests.nightly import drawn
from tests.property.test_counting import from_rows
from tests.property.test_trees import table_by_trees

MANY = settings(max_examples=drawn(1500), deadline=None, suppress_health_check=list(HealthCheck))
SOME = settings(max_examples=drawn(400), deadline=None, suppress_health_check=list(HealthCheck))
FEW = settings(max_examples=drawn(60), deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def uneven_graphs(draw, few=7, many=400):
    """A matrix of few rows and many columns, its rows from nearly empty to nearly full, or the
    other way round."""
    n_few, n_many = draw(st.integers(1, few)), draw(st.integers(1, many))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    fullness = random.random(n_few) ** draw(st.sampled_from([0.05, 0.5, 1.0, 3.0]))
    matrix = random.random((n_few, n_many)) < fullness[:, None]
    if draw(st.booleans()):
        matrix |= random.random(n_many) < draw(st.sampled_from([0.1, 0.5, 0.9]))
    return matrix if draw(st.booleans()) else matrix.T


def csr_of(matrix):
    return from_rows([np.flatnonzero(row).tolist() for row in matrix], matrix.shape[1])


@cache
def choices(n, k):
    return comb(n, k)


def closed_form(matrix, p, q):
    """Sum over the subsets of the smaller side of what each has in common, as many at a time as are
    asked for."""
    if len(matrix) > len(matrix.T):
        return closed_form(matrix.T, q, p)
    rows = [int.from_bytes(np.packbits(row).tobytes(), "big") for row in matrix]
    total = 0
    for chosen in combinations(rows, p):
        common = chosen[0]
        for row in chosen[1:]:
            common &= row
        total += choices(common.bit_count(), q)
    return total


def shorter_side(matrix):
    return "left" if len(matrix) <= len(matrix.T) else "right"


def longer_side(matrix):
    return "right" if shorter_side(matrix) == "left" else "left"


@st.composite
def asked(draw, few=7, many=400):
    """A graph, and sizes of which that of its longer side may be large."""
    matrix = draw(uneven_graphs(few, many))
    n_few, n_many = sorted(matrix.shape)
    small, large = draw(st.integers(1, n_few)), draw(st.integers(1, n_many))
    return (matrix, small, large) if shorter_side(matrix) == "left" else (matrix, large, small)


@MANY
@given(asked())
def test_one_count_is_that_of_pythons_integers(case):
    matrix, p, q = case
    expected = closed_form(matrix, p, q)
    csr = csr_of(matrix)
    assert count_bicliques(*csr, p, q).count == expected
    for side in ("left", "right"):
        assert count_bicliques(*csr, p, q, method="pivot", side=side).count == expected
    assert count_bicliques(*csr, p, q, method="levels", side=shorter_side(matrix)).count == expected


@SOME
@given(asked(few=6, many=300))
def test_levels_from_the_longer_side_end_and_are_right(case):
    """As many as 300 vertices are chosen there: the search is by the few vertices of the other
    side."""
    matrix, p, q = case
    found = count_bicliques(*csr_of(matrix), p, q, method="levels", side=longer_side(matrix))
    assert found.count == closed_form(matrix, p, q)


@SOME
@given(asked())
def test_counts_of_vertices_are_those_of_pythons_integers(case):
    matrix, p, q = case
    expected = closed_form(matrix, p, q)
    if expected >= 2**128:
        matrix, p, q = matrix[:, :100], p, min(q, 100)
        matrix = matrix[:100]
        p = min(p, 100)
        expected = closed_form(matrix, p, q)
    without = [closed_form(np.delete(matrix, u, axis=0), p, q) for u in range(min(len(matrix), 8))]
    for side in ("left", "right"):
        found = count_bicliques(*csr_of(matrix), p, q, per_vertex=True, side=side)
        assert found.count == expected
        assert [expected - int(x) for x in found.left_counts[:8]] == without
        assert sum(map(int, found.left_counts)) == p * expected
        assert sum(map(int, found.right_counts)) == q * expected


@FEW
@given(uneven_graphs(few=6, many=220), st.integers(1, 7), st.integers(1, 240), st.integers(1, 2))
def test_every_cell_of_a_table_is_that_of_pythons_integers(matrix, few, many, threads):
    most_p, most_q = (few, many) if shorter_side(matrix) == "left" else (many, few)
    csr = csr_of(matrix)
    counts = count_all_bicliques(*csr, most_p, most_q, side="left", threads=threads).counts
    assert counts == {(p, q): closed_form(matrix, p, q) for p, q in counts}
    assert count_all_bicliques(*csr, most_p, most_q, side="right").counts == counts
    for side in ("left", "right"):
        assert table_by_trees(csr, most_p, most_q, side, threads=threads).counts == counts


@FEW
@given(uneven_graphs(few=5, many=220), st.integers(2, 4))
def test_parts_of_the_roots_add_up_to_tables_of_any_size(matrix, parts):
    csr = csr_of(matrix)
    most_p, most_q = (min(n, 150) for n in matrix.shape)
    whole = count_all_bicliques(*csr, most_p, most_q).counts
    for side, n in (("left", len(matrix)), ("right", len(matrix.T))):
        shares = [np.arange(k, n, parts) for k in range(parts)]
        tables = [count_all_bicliques(*csr, most_p, most_q, side=side, roots=share).counts for share in shares]
        assert {size: sum(table[size] for table in tables) for size in whole} == whole


def test_all_lanes_count_alike_beyond_128_bits(lanes):
    random = np.random.default_rng(11)
    for _ in range(40):
        n_few, n_many = int(random.integers(3, 7)), int(random.integers(150, 400))
        matrix = random.random((n_few, n_many)) < random.random(n_few)[:, None] ** 0.1
        csr = csr_of(matrix)
        p, q = int(random.integers(1, n_few + 1)), int(random.integers(1, n_many))
        expected = closed_form(matrix, p, q)
        assert count_bicliques(*csr, p, q, method="levels", side="left").count == expected
        assert count_bicliques(*csr, p, q, method="levels", side="right").count == expected
        assert count_bicliques(*csr, p, q, method="pivot", side="left").count == expected
        assert count_bicliques(*csr, p, q, method="pivot", side="right").count == expected
    table = count_all_bicliques(*csr, n_few, n_many).counts
    assert table == {(p, q): closed_form(matrix, p, q) for p, q in table}


@pytest.mark.parametrize("method", ["auto", "pivot", "levels"])
def test_5_rows_of_300_columns_have_the_count_of_the_closed_form(method):
    random = np.random.default_rng(0)
    matrix = np.ones((5, 300), bool)
    matrix.flat[random.choice(1500, 79, replace=False)] = False
    for side in ("auto", "left", "right"):
        found = count_bicliques(*csr_of(matrix), 3, 49, method=method, side=side)
        assert found.count == closed_form(matrix, 3, 49) > 2**128


@pytest.mark.parametrize("n_few", [5, 12])
def test_a_search_that_would_choose_thousands_of_vertices_one_by_one_is_not_taken(n_few):
    """Half of 60,000 vertices are to be chosen on one side: pivots need none of it, and levels go
    by the other side."""
    matrix = np.ones((n_few, 60_000), bool)
    matrix[np.arange(5), np.arange(5)] = False
    found = count_bicliques(*csr_of(matrix), 2, 30_000)
    assert found.count == closed_form(matrix, 2, 30_000)
    assert (found.method, found.side) != ("levels", "right")
