"""Butterflies on a GPU: the driver and its kernels on threads of this machine, against a sum over
the adjacency matrix and against the CPU; of each vertex, of each edge, and in all."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bicliq import kernels
from bicliq.kernels.cuda import butterflies
from bicliq.kernels.cuda.device import MEMORY_VARIABLE
from tests import host_counts, host_cupy, real_graphs
from tests.host_cupy import HostCupy
from tests.nightly import drawn, part_of
from tests.property.test_counting import complete, csr_of, graphs, random_graph, skewed_graph

MEMORY = 1 << 28
RANDOM = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def gpu():
    """A machine whose GPU is this one's processor."""
    gpu = HostCupy(host_counts.COUNTS, memory=MEMORY)
    with pytest.MonkeyPatch.context() as patch, host_cupy.installed(gpu, patch) as cupy:
        yield cupy


def count(graph, **options):
    found = kernels.count_bicliques(*graph, 2, 2, per_vertex=True, backend="cuda", **options)
    assert (found.side, found.method, found.backend) == (None, "butterfly", "cuda")
    return found


def numbers(found):
    return [found.count, found.left_counts.tolist(), found.right_counts.tolist(), found.edge_counts.tolist()]


def by_the_matrix(graph):
    """Total, left vertices, right ones and edges, from what pairs of rows have in common."""
    indptr, indices, n_right = graph
    n_left = len(indptr) - 1
    owner = np.repeat(np.arange(n_left), np.diff(indptr))
    matrix = np.zeros((n_left, n_right), np.int64)
    matrix[owner, indices] = 1
    walks = matrix @ matrix.T @ matrix  # of three edges; those that turn back are none of a butterfly's
    edges = (walks - matrix.sum(axis=1)[:, None] - matrix.sum(axis=0)[None, :] + 1) * matrix
    left, right = edges.sum(axis=1) // 2, edges.sum(axis=0) // 2
    return [int(left.sum()) // 2, left.tolist(), right.tolist(), edges[owner, indices].tolist()]


@pytest.mark.usefixtures("gpu")
@settings(RANDOM, max_examples=drawn(1500, 12))
@given(graphs())
def test_small_graphs_have_the_butterflies_of_their_matrix(graph):
    assert numbers(count(graph)) == by_the_matrix(graph)
    assert kernels.count_bicliques(*graph, 2, 2, backend="cuda").count == by_the_matrix(graph)[0]


@pytest.mark.usefixtures("gpu")
@settings(RANDOM, max_examples=drawn(300))
@given(
    st.integers(0, 2**32), st.integers(1, 90), st.integers(1, 90), st.floats(0.02, 0.9), st.sampled_from([1, 7, 50, 4096])
)  # fmt: skip
def test_other_batches_find_the_same(seed, n_left, n_right, density, words):
    graph = random_graph(seed, n_left, n_right, density)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(butterflies, "LARGEST_TABLE_WORDS", words)
        found = numbers(count(graph))
    assert found == by_the_matrix(graph) == numbers(kernels.count_bicliques(*graph, 2, 2, per_vertex=True))


@settings(RANDOM, max_examples=drawn(500))
@given(graphs(), st.integers(1, 40))
def test_batches_hold_all_roots_and_no_more_words_than_fit(gpu, graph, words):
    assume(len(graph[1]))
    lists = butterflies.Lists(gpu, *graph, parts=False)
    roots, slots, paths, at = lists.batches(words)
    start, first_path, first_word = (lists.held[name].get() for name in ("start", "first_path", "first_word"))
    assert (roots[0], roots[-1], slots[-1]) == (0, len(start) - 1, 2 * len(graph[1]))
    assert [slots.tolist(), paths.tolist()] == [start[roots].tolist(), first_path[slots].tolist()]
    assert at.tolist() == first_word[roots].tolist()
    assert lists.largest_table == np.diff(first_word).max()
    for begin, end in pairwise(roots.tolist()):
        assert begin == end or first_word[end] - first_word[begin + 1] <= words


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("seed", part_of(range(3), 3))
def test_uneven_graphs_have_the_butterflies_of_the_cpu_ten_times(seed):
    graph = skewed_graph(seed)
    want = numbers(kernels.count_bicliques(*graph, 2, 2, per_vertex=True))
    assert all(numbers(count(graph)) == want for _ in range(10))


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("name", ["UCforum", "moreno_crime", "southern-women", "marvel"])
def test_real_graphs_have_the_butterflies_of_the_cpu(name):
    graph = real_graphs.load(name)
    csr = graph.indptr, graph.indices, graph.n_right
    assert numbers(count(csr)) == numbers(kernels.count_bicliques(*csr, 2, 2, per_vertex=True))


@pytest.mark.usefixtures("gpu")
def test_closed_forms_and_graphs_without_any():
    found = count(complete(40, 60))
    assert found.count == 780 * 1770
    assert set(found.edge_counts.tolist()) == {39 * 59}
    star = csr_of(np.zeros(50, int), np.arange(50), 1, 50)
    path = csr_of([0, 1, 1, 2, 2], [0, 0, 1, 1, 2], 3, 3)
    for graph in (star, path, (np.zeros(1, int), np.zeros(0, np.int32), 0), (np.zeros(6, int), [], 4)):
        found = count(graph)
        assert (found.count, found.left_counts.sum(), found.edge_counts.sum()) == (0, 0, 0)
        assert (len(found.left_counts), len(found.right_counts)) == (len(graph[0]) - 1, graph[2])


@pytest.mark.usefixtures("gpu")
def test_vertices_without_an_edge_keep_their_place():
    u, v = np.array([0, 0, 9_000_000, 9_000_000]), np.array([7, 8_000_000, 7, 8_000_000])
    found = count(csr_of(u, v, 9_000_001, 8_000_001))
    assert np.flatnonzero(found.left_counts).tolist() == [0, 9_000_000]
    assert np.flatnonzero(found.right_counts).tolist() == [7, 8_000_000]


def test_all_of_them_take_one_walk_and_the_parts_two(gpu):
    graph, before = random_graph(1, 60, 60, 0.3), len(gpu.launches)
    kernels.count_bicliques(*graph, 2, 2, backend="cuda")
    count(graph)
    walks = [name for name in gpu.launches[before:] if name != "lay_out_butterflies"]
    assert walks == ["count_path_ends", "count_path_ends", "count_edge_shares"]


@pytest.mark.usefixtures("gpu")
def test_progress_is_told_in_order_and_ends_at_all_roots(monkeypatch):
    graph = random_graph(1, 120, 120, 0.3)
    needed = butterflies.BYTES_AN_EDGE * len(graph[1]) + butterflies.BYTES_A_VERTEX * 240
    monkeypatch.setenv(MEMORY_VARIABLE, str(needed + 8 * 2 * 240))  # little more than for the table of one root
    told = []
    count(graph, progress=told.append)
    done = [progress.roots_done for progress in told]
    assert len(done) > 5
    assert done == sorted(done)
    assert done[-1] == told[-1].n_roots == 240


@pytest.mark.usefixtures("gpu")
def test_little_memory_is_enough_or_an_error(monkeypatch):
    graph = random_graph(1, 60, 60, 0.3)
    m = len(graph[1])
    needed = butterflies.BYTES_AN_EDGE * m + butterflies.BYTES_A_VERTEX * 120
    monkeypatch.setenv(MEMORY_VARIABLE, str(needed + 8 * 2 * 120))
    assert numbers(count(graph)) == by_the_matrix(graph)
    monkeypatch.setenv(MEMORY_VARIABLE, str(needed + 8 * 100))
    with pytest.raises(kernels.BackendError, match=r"the largest root does not fit .*; use the CPU backend"):
        count(graph)
    monkeypatch.setenv(MEMORY_VARIABLE, str(needed - 1))
    with pytest.raises(kernels.BackendError, match=rf"butterflies of {m:,} edges need .*; use the CPU backend"):
        count(graph)


@pytest.mark.usefixtures("gpu")
def test_parts_that_may_not_fit_in_64_bits_are_an_error(monkeypatch):
    graph = complete(18, 40)  # 720 edges, and 40 at a vertex
    monkeypatch.setattr(butterflies, "LARGEST_PART", 720 * 40 - 1)
    with pytest.raises(kernels.CapacityError, match=r"butterflies of a vertex may not fit in 64 bits"):
        count(graph)
    assert kernels.count_bicliques(*graph, 2, 2, backend="cuda").count == 153 * 780
    monkeypatch.setattr(butterflies, "LARGEST_PART", 720 * 40)
    assert count(graph).count == 153 * 780
