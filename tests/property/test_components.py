"""What passes over the rows of a graph say: components, the other side's rows, cores and paths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq import kernels
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.graphs.reduce import peel
from bicliq.pipeline.stages import profile
from tests.nightly import drawn
from tests.property.graphs import Graph, random_graphs


def graph_of(graph: Graph) -> BipartiteGraph:
    pairs = np.array(graph.edges, np.int64).reshape(-1, 2)
    return BipartiteGraph.from_edges(pairs[:, 0], pairs[:, 1], graph.n_left, graph.n_right)


def first_of_component(graph: Graph) -> list[int]:
    """The first vertex that can be reached from each, left ones before right ones."""
    top = list(range(graph.n_left + graph.n_right))
    for _ in top:
        for u, v in graph.edges:
            top[u] = top[graph.n_left + v] = min(top[u], top[graph.n_left + v])
    return top


@st.composite
def long_paths(draw: st.DrawFn) -> Graph:
    """A path over vertices in any order: the labels of many rounds."""
    n = draw(st.integers(2, 40))
    left, right = draw(st.permutations(range(n))), draw(st.permutations(range(n)))
    edges = {(left[i], right[i]) for i in range(n)} | {(left[i + 1], right[i]) for i in range(n - 1)}
    return Graph(n, n, tuple(sorted(edges)))


@settings(deadline=None, max_examples=drawn(200))
@given(graph=st.one_of(random_graphs(), long_paths()))
def test_components_are_named_by_their_first_vertex(graph: Graph) -> None:
    left, right = profile.components(graph_of(graph))
    assert [*left.tolist(), *right.tolist()] == first_of_component(graph)


@settings(deadline=None, max_examples=drawn(100))
@given(graph=random_graphs())
def test_a_transposed_graph_has_its_edges_turned(graph: Graph) -> None:
    turned = graph_of(graph).transpose()
    assert (turned.n_left, turned.n_right) == (graph.n_right, graph.n_left)
    assert sorted(graph.edges) == sorted(zip(turned.indices.tolist(), turned.edge_left.tolist(), strict=True))
    assert turned.edge_left.tolist() == sorted(turned.edge_left.tolist())


@pytest.mark.parametrize("n", [3, 300, 3000])
def test_a_transposed_graph_of_any_size_takes_the_places_of_an_order(n: int) -> None:
    """The largest has more edges than are sorted at a time, and more columns than ranges."""
    random = np.random.default_rng(n)
    table = random.random((n, 2 * n // 3)) < 0.8
    order = random.permutation(n)[: 2 * n // 3 + 1].astype(np.int32)
    indptr = np.concatenate([[0], table.sum(axis=1).cumsum()])
    starts, rows = kernels.transpose_rows(indptr, np.nonzero(table)[1], table.shape[1], order)
    assert starts.tolist() == [0, *table[order].sum(axis=0).cumsum().tolist()]
    assert np.array_equal(rows, np.nonzero(table[order].T)[1])


@settings(deadline=None, max_examples=drawn(200))
@given(graph=random_graphs(), least=st.tuples(st.integers(1, 6), st.integers(1, 6)), in_place=st.booleans())
def test_a_core_is_what_peeling_one_by_one_leaves(graph: Graph, least: tuple[int, int], in_place: bool) -> None:
    edges = set(graph.edges)
    while True:
        left, right = ([edge[side] for edge in edges] for side in (0, 1))
        stay = {(u, v) for u, v in edges if left.count(u) >= least[1] and right.count(v) >= least[0]}
        if stay == edges:
            break
        edges = stay
    whole = graph_of(graph)
    core, rounds = peel(whole, *least, in_place=in_place)
    assert list(zip(core.edge_left.tolist(), core.indices.tolist(), strict=True)) == sorted(edges)
    assert (rounds > 0) == (len(edges) < len(graph.edges))
    assert in_place or (whole.n_edges == len(graph.edges) and whole.digest == graph_of(graph).digest)


@settings(deadline=None, max_examples=drawn(100))
@given(graph=random_graphs())
def test_paths_of_two_edges_are_counted_by_the_degrees_between(graph: Graph) -> None:
    left, right = ([edge[side] for edge in graph.edges] for side in (0, 1))
    found = kernels.count_paths(*graph.csr)
    assert found[0].tolist() == [sum(right.count(v) for w, v in graph.edges if w == u) for u in range(graph.n_left)]
    assert found[1].tolist() == [sum(left.count(u) for u, w in graph.edges if w == v) for v in range(graph.n_right)]


def test_vertices_whose_numbers_do_not_fit_are_refused_before_they_are_counted() -> None:
    with pytest.raises(kernels.CapacityError, match=r"2\*\*31 - 1 are the most"):
        kernels.connect_rows(np.zeros(3, np.int64), [], 2**31 - 2)


@pytest.mark.parametrize("rows", [[0, 1], np.array([0, 1], np.int64)])
def test_rows_are_peeled_only_where_they_can_be_written_to(rows) -> None:
    fixed = np.array([0, 1], np.int32)
    fixed.flags.writeable = False
    for values in (rows, fixed):
        with pytest.raises(ValueError, match="can be written to"):
            kernels.peel_rows([0, 1, 2], values, 2, 1, 1)
