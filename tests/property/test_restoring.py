"""The larger sides of bicliques, restored from the smaller ones, are those that were left out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq.kernels import BicliqueBatch, SideRestorer, stream_maximal_bicliques
from tests.nightly import drawn
from tests.property.graphs import Graph, broad_graphs, hub_graphs, random_graphs, tall_graphs
from tests.reference.brute_force import maximal_bicliques

ANY_GRAPH = random_graphs() | tall_graphs() | hub_graphs() | broad_graphs()


def offsets_of(lists: list[list[int]]) -> np.ndarray:
    return np.cumsum([0, *map(len, lists)]).astype(np.int32)


def flat(lists: list[list[int]]) -> np.ndarray:
    return np.array([x for one in lists for x in one], np.int32)


def restored(graph: Graph, bicliques: list[tuple[list[int], list[int]]]) -> BicliqueBatch:
    smaller = [left if len(left) <= len(right) else right for left, right in bicliques]
    sizes = [np.array([len(biclique[side]) for biclique in bicliques], np.int32) for side in (0, 1)]
    root = np.arange(len(bicliques), dtype=np.int32)
    return SideRestorer(*graph.csr).restore(offsets_of(smaller), flat(smaller), *sizes, root)


def lists_of(batch: BicliqueBatch) -> list[tuple[list[int], list[int]]]:
    left, right = (
        [ids[begin:end].tolist() for begin, end in itertools.pairwise(offsets)]
        for offsets, ids in ((batch.left_offsets, batch.left), (batch.right_offsets, batch.right))
    )
    return list(zip(left, right, strict=True))


@given(random_graphs())
@settings(max_examples=drawn(100), deadline=None)
def test_all_bicliques_of_a_small_graph_are_restored(graph: Graph) -> None:
    expected = [(sorted(left), sorted(right)) for left, right in maximal_bicliques(graph.edges, graph.n_left)]
    batch = restored(graph, expected)
    assert lists_of(batch) == expected
    assert batch.root.tolist() == list(range(len(expected)))


def sparse_graph(seed: int) -> Graph:
    """Rows of a few neighbours in a side of thousands, and some long ones: lists and bit sets."""
    random = np.random.default_rng(seed)
    matrix = random.random((300, 5000)) < 0.004
    matrix[:40] |= random.random((40, 5000)) < 0.1
    left, right = np.nonzero(matrix)
    return Graph(300, 5000, tuple(zip(left.tolist(), right.tolist(), strict=True)))


@given(ANY_GRAPH | st.integers(0, 3).map(sparse_graph))
@settings(max_examples=40, deadline=None)
def test_what_a_search_finds_is_restored(graph: Graph) -> None:
    with stream_maximal_bicliques(*graph.csr) as stream:
        expected = [row for batch in stream for row in lists_of(batch)]
    assert lists_of(restored(graph, expected)) == expected


GRAPH = Graph(3, 2, ((0, 0), (0, 1), (1, 0), (1, 1), (2, 0)))  # two bicliques: {0,1} x {0,1}, all x {0}


@pytest.mark.parametrize(
    ("smaller", "n_left", "n_right", "message"),
    [
        ([0], 2, 1, "has not 2"),  # all three have it
        ([0], 4, 1, "has not 4"),
        ([1], 3, 1, "has not 3"),
        ([5], 3, 1, "no vertex"),
        ([0, 1], 3, 1, "as is said beside it"),
        ([0], 3, 2, "as is said beside it"),
        ([], 0, 1, "has not 1"),
    ],
)
def test_what_the_graph_does_not_hold_is_an_error(smaller, n_left, n_right, message) -> None:
    with pytest.raises(ValueError, match=message):
        SideRestorer(*GRAPH.csr).restore([0, len(smaller)], smaller, [n_left], [n_right], [0])


def test_arrays_that_do_not_fit_are_refused() -> None:
    graph = SideRestorer(*GRAPH.csr)
    with pytest.raises(ValueError, match="do not fit"):
        graph.restore([0, 2], [0], [3], [1], [0])
    with pytest.raises(ValueError, match="differ in length"):
        graph.restore([0, 1], [0], [3], [1, 1], [0])
    with pytest.raises(ValueError, match="whole numbers"):
        graph.restore([0, 1], [0.5], [3], [1], [0])
