"""(p,q)-biclique counts against a brute force, closed forms and published numbers."""

from __future__ import annotations

from functools import partial
from itertools import combinations, pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from bicliq.kernels import CapacityError, choose_count, count_all_bicliques, count_bicliques
from tests import real_graphs
from tests.nightly import drawn

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


def skewed_graph(seed):
    """Hubs and dense blocks, and so many edges that the threads of a count share its estimate."""
    random = np.random.default_rng(seed)
    left, right = (5000 * random.random((2, 60_000)) ** 2).astype(int)
    for _ in range(20):
        rows, columns = random.integers(5000, size=(2, 12))
        left, right = np.append(left, np.repeat(rows, 12)), np.append(right, np.tile(columns, 12))
    return csr_of(left, right, 5000, 5000)


@st.composite
def graphs(draw, largest=9):
    n_left, n_right = draw(st.integers(0, largest)), draw(st.integers(0, largest))
    rows = [draw(st.sets(st.integers(0, n_right - 1))) if n_right else set() for _ in range(n_left)]
    return from_rows(rows, n_right)


@pytest.mark.parametrize("method", ["levels", "pivot"])
@settings(max_examples=drawn(1500), deadline=None)
@given(
    graphs(),
    st.integers(1, 5),
    st.integers(1, 5),
    st.sampled_from(["auto", "left", "right"]),
    st.integers(1, 2),
)
def test_both_methods_agree_with_a_brute_force_on_either_side(method, graph, p, q, side, threads):
    assert count_bicliques(*graph, p, q, method=method, side=side, threads=threads).count == brute_force(graph, p, q)


@settings(max_examples=drawn(300), deadline=None)
@given(graphs(), st.integers(1, 6), st.integers(1, 6), st.sampled_from(["auto", "left", "right"]), st.integers(1, 2))
def test_one_pass_finds_all_sizes(graph, max_p, max_q, side, threads):
    table = count_all_bicliques(*graph, max_p, max_q, side=side, threads=threads)
    assert list(table.counts) == [(p, q) for p in range(1, max_p + 1) for q in range(1, max_q + 1)]
    assert table.counts == {(p, q): brute_force(graph, p, q) for p, q in table.counts}


def counts_of_vertices(graph, p, q):
    rows, left, right = rows_of(graph), np.zeros(len(graph[0]) - 1, int), np.zeros(graph[2], int)
    for chosen in combinations(range(len(rows)), p):
        common = set.intersection(*(rows[u] for u in chosen))
        left[list(chosen)] += comb(len(common), q)
        right[list(common)] += comb(len(common) - 1, q - 1) if common else 0
    return left.tolist(), right.tolist()


@settings(max_examples=drawn(400), deadline=None)
@given(graphs(), st.integers(1, 4), st.integers(1, 4), st.sampled_from(["auto", "left", "right"]), st.integers(1, 2))
def test_counts_of_vertices_agree_with_a_brute_force(graph, p, q, side, threads):
    result = count_bicliques(*graph, p, q, per_vertex=True, method="pivot", side=side, threads=threads)
    assert (result.left_counts.tolist(), result.right_counts.tolist()) == counts_of_vertices(graph, p, q)
    assert result.count == brute_force(graph, p, q)


@pytest.mark.parametrize("seed", range(60))
def test_pivots_agree_with_levels_beyond_32_candidates(seed):
    rng = np.random.default_rng(seed)
    n_left, n_right = int(rng.integers(20, 90)), int(rng.integers(30, 120))
    graph = random_graph(seed, n_left, n_right, float(rng.uniform(0.03, 0.35)))
    sides = ["left", "right"]
    for p, q in [(2, 3), (3, 3), (4, 2), (3, 5)]:
        counts = {count_bicliques(*graph, p, q, method="pivot", side=side, threads=2).count for side in sides}
        assert counts == {count_bicliques(*graph, p, q, method="levels").count}
    tables = [count_all_bicliques(*graph, 6, 5, side=side).counts for side in sides]
    assert tables[0] == tables[1]
    assert tables[0][3, 4] == count_bicliques(*graph, 3, 4, method="levels").count
    assert tables[0][1, 5] == sum(comb(int(d), 5) for d in np.diff(graph[0]))
    of_sides = [count_bicliques(*graph, 3, 3, per_vertex=True, side=side, threads=2) for side in sides]
    for result in of_sides:
        assert result.left_counts.sum() == result.right_counts.sum() == 3 * tables[0][3, 3]
    assert (of_sides[0].left_counts == of_sides[1].left_counts).all()
    assert (of_sides[0].right_counts == of_sides[1].right_counts).all()
    by_pivots = count_bicliques(*graph, 2, 2, per_vertex=True, method="pivot")
    by_wedges = count_bicliques(*graph, 2, 2, per_vertex=True)
    assert (by_pivots.left_counts == by_wedges.left_counts).all()
    assert (by_pivots.right_counts == by_wedges.right_counts).all()


@settings(max_examples=drawn(300), deadline=None)
@given(graphs(), st.integers(1, 4), st.integers(1, 4), st.sampled_from(["left", "right"]), st.integers(1, 4))
def test_parts_of_the_roots_add_up_in_every_kind_of_count(graph, p, q, side, parts):
    n = len(graph[0]) - 1 if side == "left" else graph[2]
    roots = np.random.default_rng(n).permutation(n)
    shares = [roots[k::parts] for k in range(parts)]
    tables = [count_all_bicliques(*graph, p, q, side=side, roots=share).counts for share in shares]
    whole = count_all_bicliques(*graph, p, q).counts
    assert {size: sum(table[size] for table in tables) for size in whole} == whole
    results = [count_bicliques(*graph, p, q, side=side, roots=share, per_vertex=True) for share in shares]
    left, right = counts_of_vertices(graph, p, q)
    assert sum(r.left_counts for r in results).tolist() == left
    assert sum(r.right_counts for r in results).tolist() == right


@settings(max_examples=drawn(500), deadline=None)
@given(graphs(), st.integers(1, 3))
def test_butterflies_agree_with_a_brute_force_and_their_parts_add_up(graph, threads):
    result = count_bicliques(*graph, 2, 2, per_vertex=True, threads=threads)
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


@settings(max_examples=drawn(200), deadline=None)
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


@pytest.mark.parametrize("name", ["UCforum", "MovieLens", "marvel", "movielens-ui", "YouTube"])
def test_published_counts_are_found_by_pivots_in_one_pass(name):
    graph = load(name)
    counts = count_all_bicliques(*graph, 8, 8, threads=2).counts
    for size, expected in PUBLISHED[name].items():
        assert counts[size] == expected
    p, q = max(PUBLISHED[name])
    result = count_bicliques(*graph, p, q, per_vertex=True, threads=2)
    assert result.method == "pivot"
    assert result.count == PUBLISHED[name][p, q]
    assert int(result.left_counts.sum()) == p * result.count
    assert int(result.right_counts.sum()) == q * result.count


def test_all_lanes_count_alike(lanes):
    for seed in range(20):
        graph = random_graph(seed, 14, 90, 0.4)
        assert count_bicliques(*graph, 4, 3, side="left").count == brute_force(graph, 4, 3)
        assert count_bicliques(*graph, 4, 3, side="right").count == brute_force(graph, 4, 3)


def complete(n_left, n_right):
    return from_rows([range(n_right)] * n_left, n_right)


@pytest.mark.parametrize(("p", "q"), [(1, 20), (2, 33), (3, 32), (5, 5), (3, 60)])
def test_a_complete_graph_has_a_product_of_binomials_beyond_64_bits(p, q):
    assert count_bicliques(*complete(6, 120), p, q, side="left").count == comb(6, p) * comb(120, q)


def test_a_count_beyond_128_bits_is_exact():
    for p in (1, 2, 3):
        assert count_bicliques(*complete(4, 300), p, 150, side="left").count == comb(4, p) * comb(300, 150)
    assert count_bicliques(*complete(4, 300), 3, 300, side="left").count == 4


@pytest.mark.parametrize(("n", "p", "m", "q"), [(4, 3, 300, 150), (3, 2, 131, 65)])  # 298 bits, and 129
def test_counts_of_vertices_beyond_128_bits_are_refused_with_the_count(n, p, m, q):
    bits = (comb(n, p) * comb(m, q)).bit_length()
    with pytest.raises(CapacityError, match=f"has {bits} bits, and 128 are the most"):
        count_bicliques(*complete(n, m), p, q, per_vertex=True)


def test_the_largest_counts_that_fit_are_exact():
    for p, q in [(1, 64), (2, 50), (3, 80), (5, 60)]:
        graph = complete(6, 128)
        expected = comb(6, p) * comb(128, q)
        assert expected < 2**128
        for side in ("left", "right"):
            assert count_bicliques(*graph, p, q, method="pivot", side=side).count == expected
    table = count_all_bicliques(*complete(6, 120), 6, 120).counts
    assert table == {(p, q): comb(6, p) * comb(120, q) for p, q in table}
    counts = count_bicliques(*complete(6, 128), 5, 64, per_vertex=True)
    assert counts.left_counts.tolist() == [comb(5, 4) * comb(128, 64)] * 6
    assert counts.right_counts.tolist() == [comb(6, 5) * comb(127, 63)] * 128


def stars(sizes):
    """Left vertices of these degrees, no two with a neighbour in common: (1,q) is a sum of
    C(degree, q)."""
    starts = np.cumsum([0, *sizes])
    return from_rows([range(a, b) for a, b in pairwise(starts)], int(starts[-1]))


def test_a_sum_of_2_to_the_128_less_one_is_exact_and_so_is_one_more():
    sizes, left, q = [], 2**128 - 1, 62
    while left:
        n = q
        while comb(n + 1, q) <= left:
            n += 1
        sizes.append(n)
        left -= comb(n, q)
    for method in ("levels", "pivot"):
        assert count_bicliques(*stars(sizes), 1, q, method=method, side="left").count == 2**128 - 1
        assert count_bicliques(*stars([*sizes, q]), 1, q, method=method, side="left").count == 2**128


@pytest.mark.parametrize("bad", [0, -1, 2.5, "3", True, None])
def test_sizes_that_are_no_whole_numbers_from_one_up_are_refused(bad):
    with pytest.raises(ValueError, match="whole number of at least 1"):
        count_bicliques(*complete(2, 2), bad, 2)
    with pytest.raises(ValueError, match="whole number of at least 1"):
        count_bicliques(*complete(2, 2), 2, bad)


def test_sizes_beyond_the_graph_count_nothing():
    for p, q in [(9, 1), (1, 9), (9, 9), (2**40, 1), (2**31, 2**31)]:
        for method in ("auto", "levels", "pivot"):
            assert count_bicliques(*complete(3, 3), p, q, method=method).count == 0
        assert not count_bicliques(*complete(3, 3), p, q, per_vertex=True).left_counts.any()
    assert choose_count(*complete(3, 3), 2**40, 1) == ("levels", "left")


FASTER = {  # many times, as measured on one core
    ("marvel", 4, 4): ("levels", "left"),
    ("movielens-ui", 4, 4): ("levels", "right"),
    ("movielens-ui", 3, 7): ("levels", "left"),
    ("edit-nawiki", 4, 4): ("levels", "left"),
    ("edit-nawiki", 7, 3): ("levels", "right"),
}


@pytest.mark.parametrize(("name", "p", "q"), FASTER, ids=lambda x: str(x))
def test_the_side_is_chosen_whose_count_takes_a_fraction_of_the_other(name, p, q):
    assert choose_count(*load(name), p, q) == FASTER[name, p, q]


@pytest.mark.parametrize(
    ("name", "p", "q", "side"),
    [("marvel", 5, 5, "left"), ("gowalla", 6, 6, "right"), ("gowalla", 8, 8, "right"), ("gowalla", 10, 10, "right")],
)  # fmt: skip
def test_where_levels_are_prescribed_their_faster_side_is_found(name, p, q, side):
    assert choose_count(*load(name), p, q, method="levels") == ("levels", side)


def test_pivots_are_chosen_where_levels_would_visit_too_many_subsets():
    assert choose_count(*load("edit-nawiki"), 12, 12)[0] == "pivot"
    assert choose_count(*complete(100, 100), 8, 8)[0] == "pivot"
    assert choose_count(*complete(100, 100), 8, 8, method="levels")[0] == "levels"
    assert choose_count(*complete(100, 100), 8, 8, side="right") == ("pivot", "right")
    assert count_bicliques(*complete(100, 100), 8, 8).count == comb(100, 8) ** 2


@pytest.mark.parametrize("seed", range(3))
def test_threads_share_the_sample_and_choose_as_one_does(seed):
    graph = skewed_graph(seed)
    for p, q in [(3, 3), (6, 3), (8, 8)]:
        results = [count_bicliques(*graph, p, q, threads=threads) for threads in (1, 2, 5)]
        choices = {choose_count(*graph, p, q, threads=threads) for threads in (1, 2, 5)}
        assert {(r.method, r.side) for r in results} == choices
        assert len(choices) == 1
        assert len({r.count for r in results}) == 1


@pytest.mark.parametrize("method", ["levels", "pivot"])
def test_workers_without_a_root_take_steps_of_the_one_that_is_left(method):
    graph = random_graph(7, 60, 150, 0.4)
    of_roots = [
        count_bicliques(*graph, 4, 3, method=method, side="left", roots=np.array([v], np.int32), threads=4).count
        for v in range(60)
    ]
    assert sum(of_roots) == count_bicliques(*graph, 4, 3, method=method, side="left").count


@pytest.mark.parametrize("kept", [0.97, 0.99, 1.0])
def test_counts_do_not_depend_on_how_much_the_first_sweep_removes(kept):
    random = np.random.default_rng(5)
    rows = [set(random.choice(40, 12, replace=False).tolist()) for _ in range(60)]
    for k in range(round(60 * 12 * (1 - kept))):  # right vertices of one edge each
        rows[k % 60].add(40 + k)
    graph = from_rows(rows, 100)
    expected = brute_force(graph, 3, 3)
    for method in ("levels", "pivot"):
        for side in ("left", "right"):
            assert count_bicliques(*graph, 3, 3, method=method, side=side).count == expected


def test_a_table_that_cannot_fit_is_refused():
    with pytest.raises(CapacityError, match="1,000,000,000 cells"):
        count_all_bicliques(*complete(3, 3), 10, 10**8)
    with pytest.raises(ValueError, match="max_q is 0"):
        count_all_bicliques(*complete(3, 3), 10, 0)


def test_cells_beyond_128_bits_are_as_exact_as_those_beside_them():
    counts = count_all_bicliques(*complete(4, 300), 2, 300).counts
    assert counts == {(p, q): comb(4, p) * comb(300, q) for p, q in counts}


SLOW_COUNTS = {
    "levels": partial(count_bicliques, p=9, q=9, method="levels", side="left"),
    "pivot": partial(count_bicliques, p=9, q=9, method="pivot", side="left"),
    "vertices": partial(count_bicliques, p=9, q=9, side="left", per_vertex=True),
    "butterflies": partial(count_bicliques, p=2, q=2, per_vertex=True),
    "all": partial(count_all_bicliques, max_p=9, max_q=9, side="left"),
}


@pytest.mark.parametrize("name", SLOW_COUNTS)
def test_an_exception_of_the_caller_stops_the_search(name):
    def stop(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SLOW_COUNTS[name](*random_graph(0, 3000, 3000, 0.2), progress=stop)


def test_what_a_method_cannot_do_is_said():
    with pytest.raises(ValueError, match="butterfly"):
        count_bicliques(*complete(3, 3), 3, 3, method="butterfly")
    with pytest.raises(ValueError, match="counts of vertices"):
        count_bicliques(*complete(3, 3), 3, 3, per_vertex=True, method="levels")
    with pytest.raises(ValueError, match="method is"):
        count_bicliques(*complete(3, 3), 3, 3, method="guess")
    with pytest.raises(ValueError, match="say side="):
        count_bicliques(*complete(3, 3), 3, 3, roots=[0])
