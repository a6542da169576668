"""The search from the cores down against that of the whole graph; here on arrays of the host, with
cores by peeling."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.cores import cores_of_numbers
from bicliq.kernels import maximum_clique
from bicliq.pipeline.graphs.cores import cores_by_halving
from bicliq.pipeline.graphs.undirected import UndirectedGraph
from bicliq.pipeline.questions import clique_by_cores
from bicliq.pipeline.questions.clique_by_cores import induced_part, search_by_cores
from tests import dimacs
from tests.nightly import drawn
from tests.property.graphs import random_graphs as bipartite_graphs
from tests.property.test_cliques import assert_is_clique, random_graphs
from tests.reference.cores import core_numbers


def graph_of(csr):
    indptr, indices = csr
    return UndirectedGraph(
        np.asarray(indptr, np.int64), np.asarray(indices, np.int32), pa.array(range(len(indptr) - 1))
    )


def searched(graph, *, all=False, time_limit=None, cores=None):
    """What is found from the cores down, and the vertices, limit and lower bound of each search of
    what was left."""
    calls = []

    def search(indptr, indices, limit, lower_bound):
        calls.append((len(indptr) - 1, limit, lower_bound))
        return maximum_clique(indptr, indices, all=all, time_limit=limit, lower_bound=lower_bound)

    cores = cores or cores_of_numbers(core_numbers(graph.indptr, graph.indices))
    return search_by_cores(graph, cores, search, all=all, time_limit=time_limit), calls


def assert_same(graph, all):
    expected = maximum_clique(graph.indptr, graph.indices, all=all)
    for cores in (None, cores_by_halving(graph)):
        found, _ = searched(graph, all=all, cores=cores)
        assert (found.size, found.proven, found.degeneracy) == (expected.size, True, expected.degeneracy)
        assert len(found.cliques) == len(expected.cliques)
        assert_is_clique(found.members, graph.indptr, graph.indices)
        assert (found.members.dtype, found.cliques.dtype) == (np.int32, np.int32)
        if all:
            assert np.array_equal(found.cliques, expected.cliques)
            assert found.members.tolist() == expected.members.tolist()


@given(random_graphs(max_n=24), st.booleans())
@settings(max_examples=drawn(300), deadline=None)
def test_cliques_are_those_of_the_whole_graph(csr, all):
    assert_same(graph_of(csr), all)


@given(st.integers(30, 120), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=drawn(60), deadline=None)
def test_so_are_those_of_dense_blocks_in_a_sparse_graph(n, seed, all):
    """The densest core often holds no maximum clique: a block may be dense without one, and a
    clique small beside it."""
    random = np.random.default_rng(seed)
    matrix = random.random((n, n)) < 0.05
    for density in (0.5, 0.7, 1.0):
        block = random.choice(n, int(random.integers(4, 16)), replace=False)
        matrix[np.ix_(block, block)] |= random.random((len(block), len(block))) < density
    assert_same(graph_of(dimacs.symmetric_csr(np.argwhere(np.triu(matrix, 1)), n)), all)


@given(st.integers(12, 40), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=drawn(60), deadline=None)
def test_so_are_those_where_the_first_search_finds_next_to_nothing(n, seed, all):
    """Whatever the first search has in its time is a lower bound only: here it has one vertex of
    the densest core."""

    def one_vertex(core, time_limit, threads):
        whole = maximum_clique(core.indptr, core.indices)
        vertex = core.vertices[:1]
        return replace(whole, size=1, members=vertex, cliques=vertex[None], proven=False)

    graph = graph_of(dimacs.symmetric_csr(np.array(nx.gnp_random_graph(n, 0.4, seed=seed).edges), n))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clique_by_cores, "_first_clique", one_vertex)
        found, calls = searched(graph, all=all)
    expected = maximum_clique(graph.indptr, graph.indices, all=all)
    assert (found.size, found.proven) == (expected.size, True)
    assert len(found.cliques) == len(expected.cliques)
    assert len(calls) == (found.backend != "none")


@pytest.mark.parametrize("all", [False, True])
@pytest.mark.parametrize(
    ("edges", "n"),
    [([], 0), ([], 1), ([], 5), ([(0, 1)], 2), ([(0, 1), (2, 3), (3, 4), (2, 4), (5, 6)], 8),
     ([(u, v) for u in range(40) for v in range(u)], 40), ([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], 6),
     ([(u, (u + 1) % 9) for u in range(9)], 9)],
    ids=["no vertices", "one vertex", "no edges", "one edge", "disconnected", "complete", "two triangles", "ring"],
)  # fmt: skip
def test_graphs_with_known_answers(edges, n, all):
    assert_same(graph_of(dimacs.symmetric_csr(np.array(edges), n)), all)


@pytest.mark.parametrize("all", [False, True])
def test_nothing_is_searched_where_the_densest_core_is_a_clique(all):
    complete = [(u, v) for u in range(20) for v in range(u)]
    ring = [(20 + u, 20 + (u + 1) % 9) for u in range(9)]
    found, calls = searched(graph_of(dimacs.symmetric_csr(np.array(complete + ring), 29)), all=all)
    assert (found.size, found.proven, found.degeneracy, found.backend, calls) == (20, True, 19, "none", [])
    assert found.cliques.tolist() == [list(range(20))]
    assert set(found.seconds) == {"first"}


def test_nothing_is_searched_again_where_no_core_can_hold_more_or_only_the_one_that_was_searched():
    two_cliques = [(u, v) for u in range(8) for v in range(u)] + [(8 + u, 8 + v) for u in range(8) for v in range(u)]
    ring = [(u, (u + 1) % 9) for u in range(9)]
    for edges, size in ((two_cliques, 8), (ring, 2)):
        found, calls = searched(graph_of(dimacs.symmetric_csr(np.array(edges), 16)))
        assert (found.size, found.proven, calls) == (size, True, [])
        assert set(found.seconds) == {"first"}


def test_only_cores_that_can_hold_a_larger_clique_are_left():
    """K(6,6) is the densest core, with cliques of 2 only; K5 lies below it, and the path cannot
    hold three."""
    sides = [(u, 6 + v) for u in range(6) for v in range(6)]
    complete = [(12 + u, 12 + v) for u in range(5) for v in range(u)]
    path = [(17 + u, 18 + u) for u in range(9)]
    graph = graph_of(dimacs.symmetric_csr(np.array(sides + complete + path), 27))
    found, calls = searched(graph, time_limit=100)
    assert found.members.tolist() == [12, 13, 14, 15, 16]
    ((vertices, limit, lower_bound),) = calls
    assert (vertices, lower_bound) == (17, 2)
    assert 0 < limit < 100
    assert {"first", "narrow", "search"} <= set(found.seconds)
    assert searched(graph, all=True)[1] == [(27, None, 1)]


def test_a_time_limit_gives_the_best_so_far():
    random = np.random.default_rng(5)
    csr = dimacs.symmetric_csr(np.argwhere(np.triu(random.random((400, 400)) < 0.9, 1)), 400)
    found, _ = searched(graph_of(csr), time_limit=0.3)
    assert not found.proven
    assert found.size > 20
    assert_is_clique(found.members, *csr)


@given(bipartite_graphs(), st.integers(0, 2**32 - 1))
@settings(max_examples=drawn(100), deadline=None)
def test_an_induced_part_holds_the_edges_between_its_vertices(bipartite, seed):
    n = bipartite.n_left + bipartite.n_right
    edges = np.array(bipartite.edges, np.int64).reshape(-1, 2) + np.array([0, bipartite.n_left])
    kept = np.random.default_rng(seed).random(n) < 0.6
    part = induced_part(graph_of(dimacs.symmetric_csr(edges, n)), kept)
    numbers = np.cumsum(kept) - 1
    indptr, indices = dimacs.symmetric_csr(numbers[edges[kept[edges].all(axis=1)]], int(kept.sum()))
    assert part.vertices.tolist() == np.flatnonzero(kept).tolist()
    assert part.indptr.tolist() == indptr.tolist()
    assert part.indices.tolist() == indices.tolist()


@given(random_graphs(max_n=30))
@settings(max_examples=drawn(200), deadline=None)
def test_every_core_by_halving_is_that_of_networkx_and_of_the_reference(csr):
    indptr, indices = csr
    graph = nx.empty_graph(len(indptr) - 1)
    graph.add_edges_from((u, int(v)) for u in range(len(indptr) - 1) for v in indices[indptr[u] : indptr[u + 1]])
    numbers = np.array([k for _, k in sorted(nx.core_number(graph).items())], np.int64)
    assert core_numbers(indptr, indices).tolist() == numbers.tolist()
    cores = cores_by_halving(graph_of(csr))
    assert cores.degeneracy == numbers.max(initial=0)
    for k in range(cores.degeneracy + 3):
        assert cores.at_least(k).tolist() == (numbers >= k).tolist()
