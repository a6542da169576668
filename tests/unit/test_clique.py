"""Maximum cliques: graphs with known answers, limits, and bad input."""

from __future__ import annotations

import numpy as np
import pytest

from bicliq.kernels import maximum_clique
from tests import dimacs

TRIANGLE_WITH_TAIL = dimacs.symmetric_csr([(0, 1), (1, 2), (0, 2), (2, 3)], 4)


def complete(n):
    return dimacs.symmetric_csr(np.argwhere(np.triu(np.ones((n, n)), 1)), n)


@pytest.mark.parametrize(
    ("graph", "cliques"),
    [
        (dimacs.symmetric_csr([], 0), []),
        (dimacs.symmetric_csr([], 1), [[0]]),
        (dimacs.symmetric_csr([], 3), [[0], [1], [2]]),
        (dimacs.symmetric_csr([(0, 1)], 2), [[0, 1]]),
        (dimacs.symmetric_csr([(0, 1), (1, 2)], 3), [[0, 1], [1, 2]]),
        (TRIANGLE_WITH_TAIL, [[0, 1, 2]]),
        (dimacs.symmetric_csr([(0, 1), (2, 3), (3, 4), (2, 4), (5, 6)], 8), [[2, 3, 4]]),
        (complete(70), [list(range(70))]),
        (complete(700), [list(range(700))]),
    ],
    ids=["no vertices", "one vertex", "no edges", "one edge", "path", "tail", "disconnected", "K70", "K700"],
)
def test_known_answers(graph, cliques):
    found = maximum_clique(*graph, all=True, threads=2)
    assert found.proven
    assert found.cliques.tolist() == cliques
    assert found.size == (len(cliques[0]) if cliques else 0)
    assert maximum_clique(*graph).size == found.size


def test_a_lower_bound_is_a_promise():
    assert maximum_clique(*TRIANGLE_WITH_TAIL, lower_bound=2).members.tolist() == [0, 1, 2]
    nothing = maximum_clique(*TRIANGLE_WITH_TAIL, lower_bound=3)
    assert (nothing.size, nothing.members.tolist(), nothing.proven) == (0, [], True)


def test_a_time_limit_returns_the_best_so_far_and_says_so():
    random = np.random.default_rng(1)
    graph = dimacs.symmetric_csr(np.argwhere(np.triu(random.random((500, 500)) < 0.9, 1)), 500)
    found = maximum_clique(*graph, time_limit=0.2, threads=2)
    assert not found.proven
    assert found.size > 30
    near = [set(graph[1][a:b].tolist()) for a, b in zip(graph[0], graph[0][1:], strict=False)]
    assert all(set(found.members.tolist()) - {v} <= near[v] for v in found.members.tolist())


def test_every_instruction_set_finds_the_same(lanes):
    found = maximum_clique(*dimacs.load("keller4"), all=True)
    expected = maximum_clique(*dimacs.load("keller4"), all=True, bounds="colour").cliques
    assert found.backend == f"cpu-{lanes}"
    assert found.size == 11
    assert np.array_equal(found.cliques, expected)


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 1, 1], [1], "not symmetric"),
        ([0, 1, 2], [0, 1], "vertex 0 is its own neighbour"),
        ([0, 2, 4], [1, 1, 0, 0], "ascending and without repetition"),
        ([0, 1], [5], "indices holds 5 at index 0, but there are 1 right vertices"),
        ([0, 2, 1], [1], "never fall"),
        ([], [], "indptr must start with 0"),
    ],
)
def test_bad_arrays_are_refused(indptr, indices, message):
    with pytest.raises(ValueError, match=message):
        maximum_clique(indptr, indices)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time_limit": 0}, "time_limit is 0"),
        ({"lower_bound": -1}, "lower_bound is -1"),
        ({"bounds": "best"}, "bounds is 'best'"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        maximum_clique(*TRIANGLE_WITH_TAIL, **options)
