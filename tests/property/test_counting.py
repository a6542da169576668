"""(p,q)-biclique counts against a brute force, closed forms and published numbers."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import kernels
from kernels import CapacityError, count_bicliques
from tests import real_graphs

PUBLISHED = {
    "UCforum": {(2, 2): 76_095, (3, 3): 39_733, (4, 4): 3_059},
    "MovieLens": {(3, 3): 2_578_855, (4, 4): 4_213_666},
    "marvel": {(2, 2): 10_709_594, (3, 3): 462_550_547, (4, 4): 8_634_112_357, (5, 5): 17_564_422_616, (8, 8): 4_316_588_655},
    "movielens-ui": {(2, 2): 7_490_391, (3, 3): 149_912_190, (4, 4): 857_935_315, (5, 5): 1_943_851_098, (8, 8): 179_356_013},
    "YouTube": {(2, 2): 12_540_261, (3, 3): 146_517_782, (4, 4): 626_892_852, (5, 5): 1_260_503_264, (8, 8): 205_411_586},
    "EuAll": {(3, 3): 288_159_409, (4, 4): 1_928_149_589, (5, 5): 6_235_136_330, (8, 8): 29_815_436_729},
    "gowalla": {(3, 3): 1_229_541_650, (4, 4): 12_893_738_932},
}  # fmt: skip
CASES = [(name, size) for name, sizes in PUBLISHED.items() for size in sizes]


def load(name):
    graph = real_graphs.load(name)
    return graph.indptr, graph.indices, graph.n_right


def csr_of(u, v, n_left, n_right):
    matrix = csr_array((np.ones(len(u), np.int64), (u, v)), shape=(n_left, n_right))
    matrix.sort_indices()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), n_right


def from_rows(rows, n_right):
    indptr = np.cumsum([0] + [len(row) for row in rows])
    return indptr, np.array([v for row in rows for v in sorted(row)], np.int32), n_right


def rows_of(graph):
    indptr, indices, _ = graph
    return [set(indices[a:b].tolist()) for a, b in pairwise(indptr)]


def brute_force(graph, p, q):
    return sum(comb(len(set.intersection(*chosen)), q) for chosen in combinations(rows_of(graph), p))


def random_graph(seed, n_left, n_right, density):
    matrix = np.random.default_rng(seed).random((n_left, n_right)) < density
    return csr_of(*np.nonzero(matrix), n_left, n_right)


@st.composite
def graphs(draw, largest=9):
    n_left, n_right = draw(st.integers(0, largest)), draw(st.integers(0, largest))
    rows = [draw(st.sets(st.integers(0, n_right - 1))) if n_right else set() for _ in range(n_left)]
    return from_rows(rows, n_right)


@settings(max_examples=1500, deadline=None)
@given(
    graphs(),
    st.integers(1, 5),
    st.integers(1, 5),
    st.sampled_from(["auto", "left", "right"]),
    st.integers(1, 2),
)
def test_levels_agree_with_a_brute_force_on_either_side(graph, p, q, side, threads):
    assert count_bicliques(*graph, p, q, method="levels", side=side, threads=threads).count == brute_force(graph, p, q)


@settings(max_examples=500, deadline=None)
@given(graphs())
def test_butterflies_agree_with_a_brute_force_and_their_parts_add_up(graph):
    result = count_bicliques(*graph, 2, 2, per_vertex=True)
    assert result.method == "butterfly"
    assert result.count == brute_force(graph, 2, 2)
    assert result.left_counts.sum() == result.right_counts.sum() == 2 * result.count
    assert result.edge_counts.sum() == 4 * result.count
    indptr = graph[0]
    of_rows = [int(result.edge_counts[a:b].sum()) for a, b in pairwise(indptr)]
    assert of_rows == [2 * int(x) for x in result.left_counts]


@pytest.mark.parametrize("seed", range(120))
def test_wide_rows_agree_on_both_sides_and_with_closed_forms(seed):
    rng = np.random.default_rng(seed)
    n_left, n_right = int(rng.integers(2, 40)), int(rng.integers(30, 260))
    graph = random_graph(seed, n_left, n_right, float(rng.uniform(0.05, 0.7)))
    degrees = np.diff(graph[0])
    shared = csr_array((np.ones(len(graph[1]), np.int64), graph[1], graph[0]), shape=(n_left, n_right))
    common = np.triu((shared @ shared.T).toarray(), 1)
    for q in (1, 2, 3, 7, 20):
        assert count_bicliques(*graph, 1, q).count == sum(comb(int(d), q) for d in degrees)
        expected = sum(comb(int(c), q) for c in common.ravel())
        assert {count_bicliques(*graph, 2, q, method="levels", side=side).count for side in ("auto", "left")} == {
            expected
        }
    assert count_bicliques(*graph, 2, 2).count == sum(comb(int(c), 2) for c in common.ravel())
    if n_left <= 14:
        assert count_bicliques(*graph, 4, 3, side="left").count == brute_force(graph, 4, 3)
    sides = {count_bicliques(*graph, 3, 3, side=side, threads=2).count for side in ("left", "right")}
    assert sides == {count_bicliques(*graph, 3, 3).count}


@settings(max_examples=200, deadline=None)
@given(graphs(), st.integers(1, 4), st.integers(1, 4), st.sampled_from(["left", "right"]), st.integers(1, 4))
def test_parts_of_the_roots_add_up_to_the_whole(graph, p, q, side, parts):
    n = len(graph[0]) - 1 if side == "left" else graph[2]
    roots = np.random.default_rng(n).permutation(n)
    counts = [count_bicliques(*graph, p, q, side=side, roots=roots[k::parts]).count for k in range(parts)]
    assert sum(counts) == brute_force(graph, p, q)


@pytest.mark.parametrize(("name", "size"), CASES, ids=[f"{name}-{size[0]}x{size[1]}" for name, size in CASES])
def test_published_counts_are_found(name, size):
    graph = load(name)
    assert count_bicliques(*graph, *size).count == PUBLISHED[name][size]
    assert count_bicliques(*graph, *size, method="levels", threads=2).count == PUBLISHED[name][size]


@pytest.mark.parametrize("lanes", ["avx2", "portable"])
def test_all_lanes_count_alike(lanes, monkeypatch):
    monkeypatch.setenv("BICLIQ_LANES", lanes)
    kernels.cpu.load_extension.cache_clear()
    try:
        for seed in range(20):
            graph = random_graph(seed, 14, 90, 0.4)
            assert count_bicliques(*graph, 4, 3, side="left").count == brute_force(graph, 4, 3)
            assert count_bicliques(*graph, 4, 3, side="right").count == brute_force(graph, 4, 3)
    finally:
        kernels.cpu.load_extension.cache_clear()


def complete(n_left, n_right):
    return from_rows([range(n_right)] * n_left, n_right)


@pytest.mark.parametrize(("p", "q"), [(1, 20), (2, 33), (3, 32), (5, 5), (3, 60)])
def test_a_complete_graph_has_a_product_of_binomials_beyond_64_bits(p, q):
    assert count_bicliques(*complete(6, 120), p, q, side="left").count == comb(6, p) * comb(120, q)


def test_a_count_beyond_128_bits_is_an_error_and_never_wraps():
    for p in (1, 2, 3):
        with pytest.raises(CapacityError, match="128 bits"):
            count_bicliques(*complete(4, 300), p, 150, side="left")
    assert count_bicliques(*complete(4, 300), 3, 300, side="left").count == 4


@pytest.mark.parametrize("bad", [0, -1, 2.5, "3", True, None])
def test_sizes_that_are_no_whole_numbers_from_one_up_are_refused(bad):
    with pytest.raises(ValueError, match="whole number of at least 1"):
        count_bicliques(*complete(2, 2), bad, 2)
    with pytest.raises(ValueError, match="whole number of at least 1"):
        count_bicliques(*complete(2, 2), 2, bad)


def test_sizes_beyond_the_graph_count_nothing():
    for p, q in [(9, 1), (1, 9), (9, 9), (2**40, 1), (2**31, 2**31)]:
        assert count_bicliques(*complete(3, 3), p, q).count == 0


def test_what_a_method_cannot_do_is_said():
    with pytest.raises(ValueError, match="butterfly"):
        count_bicliques(*complete(3, 3), 3, 3, method="butterfly")
    with pytest.raises(ValueError, match="p = q = 2"):
        count_bicliques(*complete(3, 3), 3, 3, per_vertex=True)
    with pytest.raises(ValueError, match="method is"):
        count_bicliques(*complete(3, 3), 3, 3, method="guess")
    with pytest.raises(ValueError, match="say side="):
        count_bicliques(*complete(3, 3), 3, 3, roots=[0])
