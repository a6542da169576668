"""Maximum cliques on a GPU: published sizes, random graphs against the CPU, roots, wide sets,
memory, time limits, several GPUs."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pytest

from bicliq import kernels
from bicliq.flows.cli import invoke
from bicliq.kernels import maximum_clique
from tests import dimacs

REASON = kernels.why_not("cuda")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=REASON or "")]

LARGE = {"brock400_4": 33, "brock400_2": 29, "C250.9": 44}


def random_graph(n: int, density: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    matrix = np.random.default_rng(seed).random((n, n)) < density
    return dimacs.symmetric_csr(np.argwhere(np.triu(matrix, 1)), n)


def blocks(n: int, seed: int, size: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """A sparse graph whose roots have to be searched."""
    random = np.random.default_rng(seed)
    matrix = np.zeros((n, n), bool)
    for _ in range(60):
        block = random.choice(n, size, replace=False)
        matrix[np.ix_(block, block)] |= np.triu(random.random((size, size)) < 0.8, 1)
    return dimacs.symmetric_csr(np.argwhere(matrix | matrix.T), n)


def assert_found(found: Any, graph: tuple[np.ndarray, np.ndarray], size: int) -> None:
    assert (found.size, found.proven, found.backend) == (size, True, "cuda")
    assert_clique(found, graph)


def assert_clique(found: Any, graph: tuple[np.ndarray, np.ndarray]) -> None:
    members = set(found.members.tolist())
    assert len(members) == found.size
    assert all(members - {v} <= set(graph[1][graph[0][v] : graph[0][v + 1]].tolist()) for v in members)


@pytest.mark.parametrize("name", [*dimacs.CLIQUE_NUMBERS, *LARGE])
def test_published_sizes(name: str) -> None:
    graph = dimacs.load(name)
    assert_found(maximum_clique(*graph, backend="cuda"), graph, {**dimacs.CLIQUE_NUMBERS, **LARGE}[name])


@pytest.mark.parametrize("seed", range(60))
def test_random_graphs_of_many_densities(seed: int) -> None:
    random = np.random.default_rng(seed)
    density = float(random.choice([0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 1.0]))
    graph = random_graph(int(random.integers(0, 120 if density > 0.8 else 400)), density, seed)
    for bounds in ("refute", "recolour", "colour"):
        assert_found(maximum_clique(*graph, backend="cuda", bounds=bounds), graph, maximum_clique(*graph).size)


@pytest.mark.parametrize("seed", range(6))
def test_roots(seed: int) -> None:
    graph = blocks(3000, seed)
    assert_found(maximum_clique(*graph, backend="cuda"), graph, maximum_clique(*graph).size)


@pytest.mark.parametrize("n", [1024, 1040, 2048, 2070])
def test_wide_sets(n: int) -> None:
    random = np.random.default_rng(n)
    matrix = np.triu(np.ones((n, n), bool), 1)
    for u, v in random.integers(n, size=(12, 2)):
        matrix[min(u, v), max(u, v)] = False
    matrix[:5, n - 5 :] = False
    graph = dimacs.symmetric_csr(np.argwhere(matrix), n)
    size = maximum_clique(*graph).size
    assert_found(maximum_clique(*graph, backend="cuda", lower_bound=size - 1), graph, size)


@pytest.mark.parametrize("n", [1024, 1040, 2048, 2070, 4200])
def test_wide_sets_of_many_parts(n: int) -> None:
    part = np.random.default_rng(n).integers(n // 60, size=n)
    graph = dimacs.symmetric_csr(np.argwhere(np.triu(part[:, None] != part, 1)), n)
    assert_found(maximum_clique(*graph, backend="cuda", lower_bound=n // 60 - 1), graph, n // 60)


@pytest.mark.parametrize("name", ["p_hat300-3", "MANN_a27", "keller4"])
def test_ten_runs_are_alike(name: str) -> None:
    graph = dimacs.load(name)
    for _ in range(10):
        assert_found(maximum_clique(*graph, backend="cuda"), graph, dimacs.CLIQUE_NUMBERS[name])


def test_a_lower_bound_is_a_promise() -> None:
    graph = random_graph(200, 0.5, 1)
    size = maximum_clique(*graph).size
    assert maximum_clique(*graph, backend="cuda", lower_bound=size - 1).size == size
    nothing = maximum_clique(*graph, backend="cuda", lower_bound=size)
    assert (nothing.size, nothing.proven) == (0, True)


def test_a_time_limit_ends_the_kernels_and_the_next_search_is_sound() -> None:
    graph = random_graph(800, 0.9, 1)
    maximum_clique(*graph, backend="cuda", time_limit=0.1)
    started = time.monotonic()
    found = maximum_clique(*graph, backend="cuda", time_limit=0.5)
    assert time.monotonic() - started < 5
    assert not found.proven
    assert found.size > 50
    assert_clique(found, graph)
    keller = dimacs.load("keller4")
    assert_found(maximum_clique(*keller, backend="cuda"), keller, 11)


@pytest.mark.parametrize("megabytes", [30, 100])
def test_the_memory_cap_is_kept_with_fewer_warps_or_more_batches(monkeypatch: Any, megabytes: int) -> None:
    monkeypatch.setenv("BICLIQ_GPU_MEMORY", str(megabytes << 20))
    for graph in (blocks(3000, 1), dimacs.load("p_hat300-3")):
        assert_found(maximum_clique(*graph, backend="cuda"), graph, maximum_clique(*graph).size)


def test_too_little_memory_is_said(monkeypatch: Any) -> None:
    monkeypatch.setenv("BICLIQ_GPU_MEMORY", "10000")
    with pytest.raises(kernels.BackendError, match="use the CPU backend"):
        maximum_clique(*dimacs.load("p_hat300-3"), backend="cuda")


def test_all_gpus_of_the_process_find_the_same() -> None:
    for graph in (dimacs.load("p_hat300-3"), blocks(3000, 2)):
        assert_found(maximum_clique(*graph, backend="cuda", devices=0), graph, maximum_clique(*graph).size)
    with pytest.raises(kernels.BackendError, match="99 GPUs were asked for"):
        maximum_clique(*dimacs.load("keller4"), backend="cuda", devices=99)


def test_the_product_searches_on_the_gpu(capsys: Any) -> None:
    assert invoke(["clique", str(dimacs.find("keller4")), "--backend", "cuda", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["size"], record["backend"]) == (11, "cuda")
    with pytest.raises(kernels.BackendError, match="not all"):
        maximum_clique(*dimacs.load("keller4"), backend="cuda", all=True)
