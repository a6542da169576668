"""Components and transposed graphs are the same with and without SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.graphs import bipartite
from pipeline.graphs.bipartite import BipartiteGraph
from pipeline.stages import profile
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


@pytest.mark.parametrize("few", [0, 1 << 14])
@settings(deadline=None, max_examples=100)
@given(graph=st.one_of(random_graphs(), long_paths()))
def test_components_are_named_by_their_first_vertex(few: int, graph: Graph) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profile, "FEW_PAIRS", few - 1)
        left, right = profile.components(graph_of(graph))
    assert [*left.tolist(), *right.tolist()] == first_of_component(graph)


@pytest.mark.parametrize("few", [0, 1 << 16])
@settings(deadline=None, max_examples=100)
@given(graph=random_graphs())
def test_a_transposed_graph_has_its_edges_turned(few: int, graph: Graph) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bipartite, "FEW_ENTRIES", few - 1)
        turned = graph_of(graph).transpose()
    assert (turned.n_left, turned.n_right) == (graph.n_right, graph.n_left)
    assert sorted(graph.edges) == sorted(zip(turned.indices.tolist(), turned.edge_left.tolist(), strict=True))
    assert turned.edge_left.tolist() == sorted(turned.edge_left.tolist())
