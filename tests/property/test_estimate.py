"""The estimate of a search: exact where all is searched, right on average, honest about doubt."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq import kernels
from bicliq.kernels import estimate
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from tests.nightly import drawn


def random_graph(n_left: int, n_right: int, density: float, seed: int) -> BipartiteGraph:
    left, right = np.nonzero(np.random.default_rng(seed).random((n_left, n_right)) < density)
    return BipartiteGraph.from_edges(left, right, n_left, n_right)


def truth(graph: BipartiteGraph, min_left: int = 1, min_right: int = 1, min_edges: int = 1) -> tuple[int, int]:
    """Bicliques and ids, by brute force: all closed sets of right vertices."""
    rows = [frozenset(graph.indices[graph.indptr[u] : graph.indptr[u + 1]].tolist()) for u in range(graph.n_left)]
    closed: set[frozenset[int]] = set()
    for row in rows:
        closed |= {row & other for other in closed} | {row}
    found = [(sum(row >= right for row in rows), len(right)) for right in closed if right]
    kept = [a + b for a, b in found if a >= min_left and b >= min_right and a * b >= min_edges]
    return len(kept), sum(kept)


graphs = st.builds(random_graph, st.integers(1, 14), st.integers(1, 14), st.floats(0.1, 0.9), st.integers(0, 2**32 - 1))


@settings(deadline=None, max_examples=drawn(60))
@given(graphs, st.integers(1, 4), st.integers(1, 4), st.integers(1, 9), st.integers(0, 100))
def test_a_search_that_is_cheap_is_made_and_the_estimate_exact(
    graph: BipartiteGraph, min_left: int, min_right: int, min_edges: int, seed: int
) -> None:
    found = kernels.estimate_bicliques(
        graph.indptr,
        graph.indices,
        graph.n_right,
        min_left=min_left,
        min_right=min_right,
        min_edges=min_edges,
        left_steps=(3, 5),
        right_steps=(2, 4),
        seed=seed,
    )
    assert found.exact
    bicliques, ids = truth(graph, min_left, min_right, min_edges)
    assert (found.bicliques, found.low, found.high) == (bicliques,) * 3
    assert (found.ids, found.low_ids, found.high_ids) == (ids,) * 3
    for i, left in enumerate(found.left_steps):
        for j, right in enumerate(found.right_steps):
            known = truth(graph, left, right, min_edges)
            assert (found.table[i, j, 0], found.ids_table[i, j, 0]) == known
    searched = kernels.enumerate_maximal_bicliques(
        graph.indptr, graph.indices, graph.n_right, min_left=min_left, min_right=min_right, min_edges=min_edges
    )
    assert found.nodes == searched.nodes


@settings(deadline=None, max_examples=12)
@given(st.integers(14, 20), st.floats(0.4, 0.7), st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_an_estimate_is_right_on_average(n: int, density: float, seed: int, least: int) -> None:
    graph = random_graph(n, n, density, seed)
    known = truth(graph, least, least)
    samples = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(estimate, "NODE_WORK", 1)  # so that small nodes are opened, too
        for number in range(150):
            found = sampled(graph, number, least)
            samples.append((found.bicliques, found.ids))
    means, doubts = np.mean(samples, axis=0), np.std(samples, axis=0, ddof=1) / np.sqrt(len(samples))
    assert np.all(np.abs(means - known) <= 5 * doubts + 0.02 * np.array(known) + 1)


def test_columns_that_share_just_as_many_rows_as_are_asked_for_are_gone_down_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(estimate, "NODE_WORK", 1)
    n = 300  # columns, of which each two share two rows of their own: more than a sample searches of a root
    one, other = np.triu_indices(n, 1)
    rows = np.arange(2 * len(one))
    graph = BipartiteGraph.from_edges(np.tile(rows, 2), np.concatenate([one, one, other, other]), len(rows), n)
    for seed in range(4):
        assert sampled(graph, seed, 2).bicliques == pytest.approx(n * (n - 1) / 2, rel=0.1)


def sampled(graph: BipartiteGraph, seed: int, least: int = 1, threads: int = 1) -> kernels.BicliqueEstimate:
    """An estimate that may do next to nothing."""
    return kernels.estimate_bicliques(
        graph.indptr,
        graph.indices,
        graph.n_right,
        min_left=least,
        min_right=least,
        work=1,
        share=0,
        seed=seed,
        threads=threads,
    )


def test_the_seed_makes_the_estimate_and_threads_do_not() -> None:
    graph = random_graph(60, 60, 0.4, 3)
    one, again, other = (sampled(graph, seed, threads=threads) for seed, threads in ((1, 1), (1, 2), (2, 1)))
    assert not one.exact
    assert np.array_equal(one.table, again.table)
    assert one.work == again.work
    assert one.bicliques != other.bicliques


@pytest.mark.parametrize(
    ("size", "density", "work", "is_small"),
    [((70, 50), 0.35, 4096, False), ((2000, 1500), 0.004, 512, True)],
    ids=["crowded", "sparse, laid out once"],
)
def test_the_interval_holds_the_truth_in_nine_cases_of_ten(
    size: tuple[int, int], density: float, work: int, is_small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = []
    monkeypatch.setattr(estimate, "LARGE_EDGES", 0)
    for seed in range(10):
        graph = random_graph(*size, density, seed)
        csr = graph.indptr, graph.indices, graph.n_right
        known = kernels.enumerate_maximal_bicliques(*csr).bicliques
        for number in range(4):
            found = kernels.estimate_bicliques(*csr, work=work, share=0, seed=number)
            assert not found.exact
            assert found.low <= found.bicliques <= found.high
            # It takes an eighth of the edges; who lays the graph out twice makes three.
            assert (found.work < graph.n_edges / 5) == is_small
            held.append(found.low <= known <= found.high)
    assert np.mean(held) >= 0.8


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"work": 0}, "work"),
        ({"share": 1.0}, "share"),
        ({"left_steps": (5, 3)}, "ascending"),
        ({"right_steps": (1, 2**31 - 1)}, "above the least threshold"),
        ({"left_steps": range(2, 60)}, "at most|are the most"),
        ({"seed": -1}, "seed"),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        kernels.estimate_bicliques([0, 1], [0], 1, **options)


def test_a_small_sample_that_timed_nothing_does_not_say_that_nodes_take_no_time() -> None:
    def sample(side: Literal["left", "right"], found: int, root_seconds: float, seconds: float) -> estimate._Sample:
        batch = SimpleNamespace(found=[found], ids=[found], nodes=found, root_seconds=root_seconds, seconds=seconds)
        told = {"exact": False, "batches": [batch] * 2, "prepare_seconds": 0.5, "work": 0}
        return estimate._Sample(SimpleNamespace(result=lambda: told), side, (1, 1))

    # What a clock does not see is made by hand: on most machines it sees it.
    whole, here = sample("right", 1_000_000, 2.0, 5.0), sample("left", 100, 1.0, 1.0)
    found = estimate._estimate(whole, here, ([1], [1]), 1)
    assert found.nodes == 1_000_000
    assert found.seconds == pytest.approx(0.5 + 1.0 + 3.0)


def test_a_graph_without_edges_has_no_biclique() -> None:
    found = kernels.estimate_bicliques([0, 0], [], 3)
    assert (found.bicliques, found.high, found.ids, found.exact) == (0, 0, 0, True)


def test_thresholds_beyond_all_sizes_leave_nothing() -> None:
    found = kernels.estimate_bicliques([0, 2, 4], [0, 1, 0, 1], 2, min_left=2**31 - 1)
    assert (found.bicliques, found.exact) == (0, True)
