"""The enumeration on a GPU against the CPU: counts, digests, thresholds, roots, limits, small
memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bicliq import kernels
from bicliq.kernels.cuda import search_memory
from tests.reference.brute_force import maximal_bicliques

REASON = kernels.why_not("cuda")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=REASON or "")]


def random_graph(seed: int, n_left: int, n_right: int, density: float) -> tuple[np.ndarray, np.ndarray, int]:
    table = np.random.default_rng(seed).random((n_left, n_right)) < density
    return np.concatenate([[0], table.sum(axis=1).cumsum()]), np.nonzero(table)[1], n_right


GRAPHS = {
    "sparse": random_graph(1, 400, 400, 0.03),
    "broad": random_graph(2, 60, 300, 0.2),
    "tall": random_graph(3, 1500, 40, 0.3),
    "dense": random_graph(4, 45, 45, 0.5),
    "wide roots": random_graph(5, 500, 90, 0.12),
    "empty": (np.zeros(4, dtype=np.int64), np.zeros(0, dtype=np.int64), 3),
}


def assert_same(graph: Any, **options: Any) -> None:
    expected = kernels.enumerate_maximal_bicliques(*graph, mode="digest", **options)
    found = kernels.enumerate_maximal_bicliques(*graph, mode="digest", backend="cuda", **options)
    counted = kernels.enumerate_maximal_bicliques(*graph, backend="cuda", **options)
    assert (found.bicliques, found.digest) == (expected.bicliques, expected.digest)
    assert counted.bicliques == expected.bicliques


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_count_and_digest_are_those_of_the_cpu(name: str, side: str) -> None:
    assert_same(GRAPHS[name], side=side)


@pytest.mark.parametrize("name", ["broad", "wide roots"])
def test_thresholds_and_roots_are_those_of_the_cpu(name: str) -> None:
    assert_same(GRAPHS[name], min_left=2, min_right=3, min_edges=9)
    assert_same(GRAPHS[name], side="right", roots=np.arange(0, 60, 2))


def test_small_graphs_match_the_brute_force() -> None:
    for seed in range(30):
        graph = random_graph(seed, 7, 8, 0.5)
        edges = [(u, int(v)) for u in range(7) for v in graph[1][graph[0][u] : graph[0][u + 1]]]
        found = kernels.enumerate_maximal_bicliques(*graph, backend="cuda")
        assert found.bicliques == len(maximal_bicliques(edges, 7))


def test_ten_runs_give_one_digest() -> None:
    runs = [kernels.enumerate_maximal_bicliques(*GRAPHS["broad"], mode="digest", backend="cuda") for _ in range(10)]
    assert len({run.digest for run in runs}) == 1


def test_a_limit_cuts_the_run_off() -> None:
    run = kernels.enumerate_maximal_bicliques(*GRAPHS["broad"], max_bicliques=100, backend="cuda")
    assert run.bicliques == 100
    assert not run.complete


@pytest.mark.parametrize(("name", "share"), [("ARENA_SHARE", 2e-6), ("WORKSPACE_SHARE", 1e-5)])
def test_too_little_memory_means_more_runs_or_a_clear_error(
    monkeypatch: pytest.MonkeyPatch, name: str, share: float
) -> None:
    monkeypatch.setattr(search_memory, name, share)
    try:
        assert_same(GRAPHS["wide roots"], side="right")
    except kernels.BackendError as error:
        message = str(error)
    else:
        message = "use the CPU backend"
    assert "use the CPU backend" in message
