"""Maximum cliques against the definition, networkx, and the published sizes."""

from __future__ import annotations

import itertools
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq.kernels import maximum_clique, project_one_mode
from tests import dimacs
from tests.nightly import by_night, drawn
from tests.property.graphs import random_graphs as bipartite_graphs
from tests.reference.cliques import maximum_cliques


def neighbours_of(indptr, indices):
    return [set(indices[a:b].tolist()) for a, b in pairwise(indptr)]


def assert_is_clique(members, indptr, indices):
    near = neighbours_of(indptr, indices)
    members = np.asarray(members).tolist()
    assert len(set(members)) == len(members)
    assert all(set(members) - {v} <= near[v] for v in members)


@st.composite
def random_graphs(draw: st.DrawFn, max_n: int = 14):
    """Any density; with twins, several components, and isolated vertices mixed in."""
    n = draw(st.integers(0, max_n))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    matrix = random.random((n, n)) < draw(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 1.0]))
    if n:
        for shape in draw(st.lists(st.sampled_from(["twin", "isolated", "component"]), max_size=3)):
            u = int(random.integers(n))
            if shape == "twin":
                matrix[u] = matrix[:, u] = matrix[int(random.integers(n))]
            elif shape == "isolated":
                matrix[u] = matrix[:, u] = False
            else:
                matrix[:u, u:] = matrix[u:, :u] = False
    return dimacs.symmetric_csr(np.argwhere(np.triu(matrix, 1)), n)


@given(random_graphs(), st.integers(1, 3))
@settings(max_examples=drawn(300), deadline=None)
def test_all_maximum_cliques_agree_with_the_definition(graph, threads):
    size, cliques = maximum_cliques(neighbours_of(*graph))
    found = maximum_clique(*graph, all=True, threads=threads)
    assert (found.size, found.proven) == (size, True)
    assert [tuple(row) for row in found.cliques.tolist()] == cliques
    one = maximum_clique(*graph, threads=threads)
    assert one.size == size
    assert tuple(one.members.tolist()) in (cliques or [()])


@given(st.integers(20, 90), st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9]), st.integers(0, 2**32 - 1))
@settings(max_examples=drawn(120), deadline=None)
def test_sizes_agree_with_networkx(n, density, seed):
    if density > 0.8:
        n = min(n, 45)
    graph = nx.gnp_random_graph(n, density, seed=seed)
    csr = dimacs.symmetric_csr(np.array(graph.edges), n)
    cliques = list(nx.find_cliques(graph))
    size = max(map(len, cliques))
    for bounds in ("refute", "recolour", "colour"):
        found = maximum_clique(*csr, all=True, bounds=bounds)
        assert found.size == size
        assert found.cliques.tolist() == sorted(sorted(c) for c in cliques if len(c) == size)


@pytest.mark.parametrize("name", dimacs.CLIQUE_NUMBERS)
def test_published_sizes(name):
    graph = dimacs.load(name)
    found = maximum_clique(*graph, threads=2)
    assert (found.size, found.proven) == (dimacs.CLIQUE_NUMBERS[name], True)
    assert_is_clique(found.members, *graph)


@pytest.mark.parametrize("name", dimacs.BEYOND_A_TEST)
def test_a_search_that_is_cut_short_never_claims_more_than_is_known(name):
    graph = dimacs.load(name)
    found = maximum_clique(*graph, threads=2, time_limit=1)
    assert_is_clique(found.members, *graph)
    assert found.size == dimacs.BEYOND_A_TEST[name] if found.proven else found.size <= dimacs.BEYOND_A_TEST[name]


@pytest.mark.parametrize("name", ["keller4", "c-fat500-5", "p_hat300-3", "gen200_p0.9_44", "san200_0.9_2"])
def test_threads_and_bounds_change_no_list_of_maximum_cliques(name):
    graph = dimacs.load(name)
    found = maximum_clique(*graph, all=True)
    assert (found.size, found.proven) == (dimacs.CLIQUE_NUMBERS[name], True)
    for clique in found.cliques:
        assert_is_clique(clique, *graph)
    for threads in (2, 5):
        assert np.array_equal(maximum_clique(*graph, all=True, threads=threads).cliques, found.cliques)
    assert np.array_equal(maximum_clique(*graph, all=True, bounds="recolour", threads=2).cliques, found.cliques)


def test_ten_runs_of_many_threads_find_the_same_size():
    graph = dimacs.load("gen200_p0.9_44")
    assert {maximum_clique(*graph, threads=2 + run % 4).size for run in range(10)} == {44}


@given(st.integers(600, 3000), st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
def test_a_clique_hidden_in_a_sparse_graph_is_found(n, seed):
    random = np.random.default_rng(seed)
    edges = random.integers(n, size=(4 * n, 2))
    hidden = random.choice(n, 11, replace=False)
    edges = np.concatenate([edges, np.array([(u, v) for u in hidden for v in hidden if u < v])])
    graph = dimacs.symmetric_csr(edges, n)
    found = maximum_clique(*graph, all=True, threads=2)
    assert found.cliques.tolist() == [sorted(hidden.tolist())]


@pytest.mark.parametrize("n", [64, 65, 128, 129, 256, 257, 512, 513, 1024, 1025, 2049])
def test_widths_of_the_local_graph_meet_at_their_borders(n):
    """A graph without many edges, where the last vertices hold the clique; the widths grow by
    powers of two."""
    random = np.random.default_rng(n)
    matrix = np.triu(random.random((n, n)) < 0.12, 1)
    matrix[n - 12 :, n - 12 :] = np.triu(np.ones((12, 12), bool), 1)
    graph = dimacs.symmetric_csr(np.argwhere(matrix), n)
    found = maximum_clique(*graph, all=True)
    assert found.cliques.tolist() == [list(range(n - 12, n))]


@pytest.mark.parametrize("n", [500, 1100])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_agree_where_classes_are_many_and_sets_are_wide(n, seed):
    """Dense blocks of many sizes under a sparse cover: one-mode projections look like this."""
    random = np.random.default_rng(seed)
    matrix = random.random((n, n)) < 0.05
    for _ in range(12):
        block = random.choice(n, int(random.integers(n // 6, n // 3)), replace=False)
        matrix[np.ix_(block, block)] |= random.random((len(block), len(block))) < 0.9985
    graph = dimacs.symmetric_csr(np.argwhere(np.triu(matrix & matrix.T, 1)), n)
    found = [maximum_clique(*graph, bounds=bounds, time_limit=1) for bounds in ("refute", "recolour", "colour")]
    best = max(one.size for one in found)
    for one in found:
        assert_is_clique(one.members, *graph)
        assert not one.proven or one.size == best


@pytest.mark.parametrize(
    ("n", "parts", "missing"), [(4200, 70, 0), (4200, 70, 0.004), (4200, 840, 0.0004), (2500, 500, 0.0003)]
)
def test_one_vertex_of_each_part_is_a_largest_clique(n, parts, missing):
    """More vertices than 64 words hold; edges are missing, but none of those between the first
    vertices of the parts."""
    random = np.random.default_rng(n + parts)
    part = random.permutation(np.arange(n) % parts)
    first = np.unique(part, return_index=True)[1]
    matrix = part[:, None] != part
    matrix &= random.random((n, n), dtype=np.float32) >= missing
    matrix[np.ix_(first, first)] = ~np.eye(parts, dtype=bool)
    graph = dimacs.csr_of_matrix(np.triu(matrix, 1))
    for options in ({}, {"lower_bound": parts - 1, "bounds": "recolour"}):
        found = maximum_clique(*graph, time_limit=30, **options)
        assert (found.size, found.proven) == (parts, True)
        assert len(set(part[found.members].tolist())) == parts
        rows = [graph[1][graph[0][v] : graph[0][v + 1]] for v in found.members]
        assert all(np.isin(found.members, row).sum() == parts - 1 for row in rows)


@pytest.mark.parametrize("n", [300, 1500, pytest.param(4200, marks=by_night)])
def test_nearly_complete_graphs(n):
    """What is missing is a few paths and cycles, whose largest sets without two neighbours networkx
    finds."""
    missing = nx.gnm_random_graph(n // 10, n // 14, seed=n)
    upper = np.triu(np.ones((n, n), bool), 1)
    label = np.random.default_rng(n).permutation(n)
    for u, v in missing.edges:
        upper[min(label[u], label[v]), max(label[u], label[v])] = False
    parts = (nx.complement(missing.subgraph(part)) for part in nx.connected_components(missing))
    size = n - n // 10 + sum(nx.max_weight_clique(part, weight=None)[1] for part in parts)
    found = maximum_clique(*dimacs.csr_of_matrix(upper), time_limit=30)
    assert (found.size, found.proven) == (size, True)
    assert upper[np.ix_(found.members, found.members)].sum() == size * (size - 1) // 2


@pytest.mark.parametrize(("n", "threads"), [(300, 1), (300, 2), (1100, 2)])
def test_all_maximum_cliques_of_a_nearly_complete_graph(n, threads):
    """Of a missing edge either end, of a missing path of three both ends, of a triangle any corner,
    of a square a diagonal."""
    missing = [(0, 1), (2, 3), (3, 4), (5, 6), (6, 7), (5, 7), (8, 9), (9, 10), (10, 11), (8, 11)]
    choices = [[{0}, {1}], [{2, 4}], [{5}, {6}, {7}], [{8, 10}, {9, 11}]]
    label = np.random.default_rng(n).permutation(n)
    upper = np.triu(np.ones((n, n), bool), 1)
    for u, v in label[missing]:
        upper[min(u, v), max(u, v)] = False
    expected = [label[sorted(set(range(12, n)).union(*chosen))] for chosen in itertools.product(*choices)]
    found = maximum_clique(*dimacs.csr_of_matrix(upper), all=True, threads=threads)
    assert found.cliques.tolist() == sorted(np.sort(clique).tolist() for clique in expected)


def overlapping_blocks(n: int, blocks: int, size: int, seed: int):
    """Too sparse for one matrix, so that roots are searched; greed alone does not find the largest
    clique."""
    random = np.random.default_rng(seed)
    matrix = np.zeros((n, n), bool)
    for _ in range(blocks):
        block = random.choice(n, size, replace=False)
        matrix[np.ix_(block, block)] |= np.triu(random.random((size, size)) < 0.8, 1)
    return np.argwhere(np.triu(matrix | matrix.T, 1))


@given(st.integers(300, 500), st.integers(10, 40), st.integers(0, 2**32 - 1), st.integers(1, 3))
@settings(max_examples=drawn(120), deadline=None)
def test_roots_that_colours_rule_out_hold_no_maximum_clique(n, blocks, seed, threads):
    edges = overlapping_blocks(n, blocks, 14, seed)
    cliques = list(nx.find_cliques(nx.Graph(edges.tolist())))
    size = max(map(len, cliques))
    found = maximum_clique(*dimacs.symmetric_csr(edges, n), all=True, threads=threads)
    assert found.cliques.tolist() == sorted(sorted(c) for c in cliques if len(c) == size)


def test_a_hub_is_found_before_the_search():
    """The vertices that share one hub are a clique by construction, the densest core of their
    one-mode projection."""
    random = np.random.default_rng(1)
    left = np.concatenate([np.arange(2500), random.integers(6000, size=9000)])
    right = np.concatenate([np.zeros(2500, int), random.integers(1, 4000, size=9000)])
    order = np.lexsort((right, left))
    table = np.unique(np.stack([left, right], axis=1)[order], axis=0)
    indptr = np.searchsorted(table[:, 0], np.arange(6001))
    found = maximum_clique(*project_one_mode(indptr, table[:, 1], 4000), time_limit=30)
    assert (found.proven, found.nodes) == (True, 0)
    assert set(range(2500)) <= set(found.members.tolist())


@given(bipartite_graphs(), st.integers(1, 4), st.sampled_from(["left", "right"]), st.integers(1, 3))
@settings(max_examples=drawn(150), deadline=None)
def test_projections_agree_with_the_matrix_product(graph, min_shared, side, threads):
    matrix = np.zeros((graph.n_left, graph.n_right), int)
    for u, v in graph.edges:
        matrix[u, v] = 1
    shared = matrix @ matrix.T if side == "left" else matrix.T @ matrix
    np.fill_diagonal(shared, 0)
    indptr, indices = project_one_mode(*graph.csr, side=side, min_shared=min_shared, threads=threads)
    rows = [indices[a:b].tolist() for a, b in pairwise(indptr)]
    assert rows == [np.flatnonzero(row >= min_shared).tolist() for row in shared]
