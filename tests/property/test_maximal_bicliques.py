"""The enumeration against the brute force, on thousands of random graphs."""

from __future__ import annotations

from random import Random

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bicliq import kernels
from tests.nightly import drawn
from tests.property.graphs import Graph, broad_graphs, hub_graphs, random_graphs, repeated_graphs, tall_graphs
from tests.reference.brute_force import Biclique, maximal_bicliques, passing

MANY = settings(max_examples=drawn(1500, 10), deadline=None, suppress_health_check=list(HealthCheck))
SOME = settings(max_examples=drawn(300), deadline=None, suppress_health_check=list(HealthCheck))
FEW = settings(max_examples=drawn(60), deadline=None, suppress_health_check=list(HealthCheck))


def enumerated(graph: Graph, **options: object) -> list[Biclique]:
    """The bicliques of the stream, as a list so that a repetition shows."""
    found: list[Biclique] = []
    with kernels.stream_maximal_bicliques(*graph.csr, **options) as stream:
        for batch in stream:
            for i in range(len(batch)):
                left = batch.left[batch.left_offsets[i] : batch.left_offsets[i + 1]]
                right = batch.right[batch.right_offsets[i] : batch.right_offsets[i + 1]]
                assert (np.diff(left) > 0).all()
                assert (np.diff(right) > 0).all()
                found.append((frozenset(left.tolist()), frozenset(right.tolist())))
    assert stream.result.bicliques == len(found)
    return found


def digest_of(bicliques: set[Biclique]) -> int:
    left = [sorted(pair[0]) for pair in bicliques]
    right = [sorted(pair[1]) for pair in bicliques]

    def column(lists: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
        return np.cumsum([0, *map(len, lists)]), np.array([x for items in lists for x in items], dtype=np.int64)

    return kernels.set_digest(*column(left), *column(right))


def check(graph: Graph, **thresholds: int) -> None:
    expected = passing(
        maximal_bicliques(graph.edges, graph.n_left),
        thresholds.get("min_left", 1),
        thresholds.get("min_right", 1),
        thresholds.get("min_edges", 1),
    )
    for side in ("left", "right"):
        found = enumerated(graph, side=side, **thresholds)
        assert len(found) == len(expected)
        assert set(found) == expected
        counted = kernels.enumerate_maximal_bicliques(*graph.csr, side=side, **thresholds)
        assert counted.bicliques == len(expected)
        assert counted.complete
        digested = kernels.enumerate_maximal_bicliques(*graph.csr, side=side, mode="digest", **thresholds)
        assert digested.bicliques == len(expected)
        assert digested.digest == digest_of(expected)


@MANY
@given(random_graphs())
def test_small_graphs_give_every_maximal_biclique_once(graph: Graph) -> None:
    check(graph)


@SOME
@given(tall_graphs())
def test_tall_graphs_give_every_maximal_biclique_once(graph: Graph) -> None:
    check(graph)


@SOME
@given(hub_graphs())
def test_graphs_with_hubs_give_every_maximal_biclique_once(graph: Graph) -> None:
    check(graph)


@FEW
@given(broad_graphs())
def test_broad_graphs_give_every_maximal_biclique_once(graph: Graph) -> None:
    check(graph)


@SOME
@given(st.one_of(random_graphs(), tall_graphs()), st.integers(1, 6), st.integers(1, 6), st.integers(1, 24))
def test_thresholds_give_what_a_filter_would(graph: Graph, min_left: int, min_right: int, min_edges: int) -> None:
    check(graph, min_left=min_left, min_right=min_right, min_edges=min_edges)


@SOME
@given(repeated_graphs(), st.integers(20, 150), st.integers(1, 6))
def test_high_thresholds_give_what_a_filter_would(graph: Graph, many: int, few: int) -> None:
    many_left = graph.n_left >= graph.n_right
    check(graph, min_left=many if many_left else few, min_right=few if many_left else many)


@FEW
@given(repeated_graphs(), st.integers(33, 100), st.integers(2, 4))
def test_threads_change_nothing_where_equal_rows_are_one(graph: Graph, many: int, threads: int) -> None:
    least = {"min_left" if graph.n_left >= graph.n_right else "min_right": many}
    for side in ("left", "right"):
        results = [
            kernels.enumerate_maximal_bicliques(*graph.csr, mode="digest", side=side, threads=n, **least)
            for n in (1, threads)
        ]
        assert results[0].digest == results[1].digest


@SOME
@given(st.one_of(random_graphs(), tall_graphs(), hub_graphs()), st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_roots_may_be_searched_in_any_groups(graph: Graph, groups: int, random: object) -> None:
    expected = kernels.enumerate_maximal_bicliques(*graph.csr, mode="digest")
    for side, n in (("left", graph.n_left), ("right", graph.n_right)):
        roots = list(range(n))
        random.shuffle(roots)  # type: ignore[attr-defined]
        parts = [
            kernels.enumerate_maximal_bicliques(
                *graph.csr, mode="digest", side=side, roots=np.array(sorted(roots[i::groups]), dtype=np.int32)
            )
            for i in range(groups)
        ]
        assert sum(part.bicliques for part in parts) == expected.bicliques
        assert sum(part.digest or 0 for part in parts) % 2**64 == expected.digest


def test_threads_that_count_share_tall_nodes() -> None:
    cells = np.random.default_rng(5).random((400, 20)) < 0.8
    graph = np.concatenate([[0], cells.sum(axis=1).cumsum()]), np.nonzero(cells)[1].astype(np.int32), 20
    alone = kernels.enumerate_maximal_bicliques(*graph, mode="digest", threads=1).bicliques
    for side in ("left", "right"):
        for _ in range(3):
            assert kernels.enumerate_maximal_bicliques(*graph, mode="count", side=side, threads=8).bicliques == alone


@FEW
@given(st.one_of(tall_graphs(), hub_graphs()), st.integers(2, 4))
def test_threads_change_nothing(graph: Graph, threads: int) -> None:
    alone = kernels.enumerate_maximal_bicliques(*graph.csr, mode="digest")
    together = kernels.enumerate_maximal_bicliques(*graph.csr, mode="digest", threads=threads)
    assert (together.bicliques, together.digest) == (alone.bicliques, alone.digest)
    assert kernels.enumerate_maximal_bicliques(*graph.csr, mode="count", threads=threads).bicliques == alone.bicliques


@FEW
@given(st.one_of(random_graphs(), tall_graphs()), st.integers(1, 40))
def test_a_limit_gives_exactly_so_many_and_says_so(graph: Graph, limit: int) -> None:
    expected = maximal_bicliques(graph.edges, graph.n_left)
    with kernels.stream_maximal_bicliques(*graph.csr, max_bicliques=limit, batch_bicliques=3) as stream:
        delivered = sum(len(batch) for batch in stream)
    counted = kernels.enumerate_maximal_bicliques(*graph.csr, max_bicliques=limit)
    for result in (stream.result, counted):
        assert result.bicliques == min(limit, len(expected))
        assert result.complete == (len(expected) <= limit)
    assert delivered == min(limit, len(expected))


@FEW
@given(st.one_of(random_graphs(), tall_graphs(), hub_graphs()), st.integers(1, 9), st.integers(1, 50))
def test_the_size_of_the_batches_changes_nothing(graph: Graph, bicliques: int, ids: int) -> None:
    plain = enumerated(graph)
    small = enumerated(graph, batch_bicliques=bicliques, batch_ids=ids)
    assert sorted(map(repr, small)) == sorted(map(repr, plain))


@FEW
@given(st.one_of(random_graphs(), tall_graphs(), hub_graphs()), st.randoms(use_true_random=False))
def test_lists_ascend_whatever_the_ids_of_the_vertices_are(graph: Graph, random: Random) -> None:
    ids = [random.sample(range(1000), n) for n in (graph.n_left, graph.csr[2])]
    for side in ("left", "right"):
        named = enumerated(graph, side=side, left_ids=ids[0], right_ids=ids[1])  # it looks at the order
        plain = [
            tuple(frozenset(of[v] for v in members) for of, members in zip(ids, pair, strict=True))
            for pair in enumerated(graph, side=side)
        ]
        assert set(named) == set(plain)
        assert len(named) == len(plain)


def test_every_instruction_set_finds_the_same(lanes: str) -> None:
    random = np.random.default_rng(7)
    matrices = [
        random.random((n, m)) < p
        for n, m, p in [(12, 9, 0.5), (90, 8, 0.7), (60, 70, 0.2), (200, 12, 0.5), (40, 300, 0.1), (400, 40, 0.3)]
    ]
    for matrix in matrices:
        left, right = np.nonzero(matrix)
        graph = Graph(*matrix.shape, tuple(zip(left.tolist(), right.tolist(), strict=True)))
        expected = maximal_bicliques(graph.edges, graph.n_left) if matrix.shape[1] <= 12 else None
        result = kernels.enumerate_maximal_bicliques(*graph.csr, mode="digest", threads=2)
        reference = kernels.enumerate_maximal_bicliques(*graph.csr, mode="digest", side="left")
        assert result.backend == f"cpu-{lanes}"
        assert (result.bicliques, result.digest) == (reference.bicliques, reference.digest)
        if expected is not None:
            assert result.bicliques == len(expected)
