"""(p,q)-counts on a GPU against the CPU, one size and all sizes: both sides, roots, wide roots,
small memory, ten runs alike; butterflies of vertices and edges."""

from __future__ import annotations

from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.peers import count_peers
from bicliq import kernels
from bicliq.kernels.cuda import butterflies as cuda_butterflies
from bicliq.kernels.cuda import counting as cuda_count
from bicliq.kernels.cuda import pivots as cuda_pivots
from bicliq.kernels.cuda import table as cuda_table
from bicliq.kernels.cuda.device import MEMORY_VARIABLE
from bicliq.pipeline.questions.count import count_run, count_table
from bicliq.pipeline.questions.count_asked import CountAsked
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.store.records import Counts
from bicliq.pipeline.store.results import open_run
from tests import real_graphs
from tests.real_graphs import DATA

REASON = kernels.why_not("cuda")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=REASON or "")]


def random_graph(seed: int, n_left: int, n_right: int, density: float) -> tuple[np.ndarray, np.ndarray, int]:
    table = np.random.default_rng(seed).random((n_left, n_right)) < density
    return np.concatenate([[0], table.sum(axis=1).cumsum()]), np.nonzero(table)[1].astype(np.int32), n_right


GRAPHS = {
    "sparse": random_graph(1, 400, 400, 0.03),
    "broad": random_graph(2, 60, 300, 0.2),
    "tall": random_graph(3, 1500, 40, 0.2),
    "dense": random_graph(4, 40, 45, 0.5),
    "wide roots": random_graph(5, 300, 90, 0.15),
    "empty": (np.zeros(4, dtype=np.int64), np.zeros(0, dtype=np.int32), 3),
}
SIZES = [(2, 2), (2, 5), (3, 3), (5, 2), (4, 4), (3, 8), (6, 5), (1, 3), (3, 40)]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_counts_are_those_of_the_cpu(name: str, side: Any) -> None:
    for p, q in SIZES:
        found = kernels.count_bicliques(*GRAPHS[name], p, q, side=side, backend="cuda")
        assert found.count == kernels.count_bicliques(*GRAPHS[name], p, q).count


def test_parts_of_the_roots_add_up() -> None:
    graph = GRAPHS["wide roots"]
    roots = np.random.default_rng(0).permutation(300)
    parts = [kernels.count_bicliques(*graph, 4, 4, side="left", roots=roots[k::3], backend="cuda") for k in range(3)]
    assert sum(part.count for part in parts) == kernels.count_bicliques(*graph, 4, 4).count


def test_ten_runs_are_alike() -> None:
    graph = GRAPHS["dense"]
    counts = {kernels.count_bicliques(*graph, 5, 5, side="left", backend="cuda").count for _ in range(10)}
    assert counts == {kernels.count_bicliques(*graph, 5, 5).count}


def test_counts_beyond_64_bits_are_exact_and_sums_beyond_128_an_error() -> None:
    complete = (np.arange(7) * 120, np.tile(np.arange(120, dtype=np.int32), 6), 120)
    for p, q in [(3, 50), (2, 60), (4, 33)]:
        found = kernels.count_bicliques(*complete, p, q, side="left", backend="cuda").count
        assert found == kernels.count_bicliques(*complete, p, q).count
    large = (np.arange(5) * 300, np.tile(np.arange(300, dtype=np.int32), 4), 300)
    with pytest.raises(kernels.BackendError, match="128 bits"):
        kernels.count_bicliques(*large, 3, 150, side="left", backend="cuda")


@pytest.mark.parametrize(
    ("name", "largest"), [("LARGEST_ARENA_BYTES", 60_000), ("LARGEST_TASKS", 300), ("LARGEST_NODES", 40)]
)
def test_too_little_memory_means_more_runs(monkeypatch: pytest.MonkeyPatch, name: str, largest: int) -> None:
    monkeypatch.setattr(cuda_count, name, largest)
    graph = GRAPHS["wide roots"]
    found = kernels.count_bicliques(*graph, 4, 3, side="left", backend="cuda")
    assert found.count == kernels.count_bicliques(*graph, 4, 3).count


def test_the_product_counts_on_the_gpu_in_memory_and_by_partitions(tmp_path: Path) -> None:
    settings = load_settings(
        store=str(tmp_path), plan={"partitions": 4}, cluster={"local": True}, search={"backend": "cuda"}
    )
    edges = str(DATA / "UCforum.adj")
    assert count_table(edges, CountAsked(3, 3), settings).counts == {(3, 3): 39_733}
    record = count_run(edges, CountAsked(3, 3), settings)
    assert (record.counts, record.backend) == ({(3, 3): 39_733}, "cuda")
    sizes = CountAsked(4, 4, all_sizes=True)
    on_cpu = count_table(edges, sizes, load_settings(store=str(tmp_path))).counts
    assert count_table(edges, sizes, settings).counts == count_run(edges, sizes, settings).counts == on_cpu
    counted = CountAsked(3, 3, vertices=True)
    of_vertices = [
        open_run(
            tmp_path / place, count_run(edges, counted, asked.model_copy(update={"store": str(tmp_path / place)})).run
        )
        for place, asked in (("cpu", load_settings(cluster={"local": True})), ("cuda", settings))
    ]
    tables = [
        found.folder.read_table(found.folder.read(Counts).named["vertex_counts.parquet"]) for found in of_vertices
    ]
    assert tables[0].equals(tables[1])


def test_what_the_backend_cannot_do_is_said() -> None:
    with pytest.raises(kernels.BackendError, match="by levels, not 67"):
        kernels.count_bicliques(*GRAPHS["dense"], 67, 3, method="levels", side="left", backend="cuda")


# ---- butterflies


def assert_butterflies(graph: Any, times: int = 1) -> None:
    expected = kernels.count_bicliques(*graph, 2, 2, per_vertex=True)
    for _ in range(times):
        found = kernels.count_bicliques(*graph, 2, 2, per_vertex=True, backend="cuda")
        assert (found.count, found.method, found.backend) == (expected.count, "butterfly", "cuda")
        assert np.array_equal(found.left_counts, expected.left_counts)
        assert np.array_equal(found.right_counts, expected.right_counts)
        assert np.array_equal(found.edge_counts, expected.edge_counts)
        assert kernels.count_bicliques(*graph, 2, 2, backend="cuda").count == expected.count


@pytest.mark.parametrize("name", GRAPHS)
def test_butterflies_of_vertices_and_edges_are_those_of_the_cpu(name: str) -> None:
    assert_butterflies(GRAPHS[name])


@pytest.mark.parametrize("seed", range(40))
def test_butterflies_of_random_graphs_are_those_of_the_cpu(seed: int) -> None:
    random = np.random.default_rng(seed)
    n_left, n_right = (int(n) for n in random.integers(1, 900, 2))
    assert_butterflies(random_graph(seed, n_left, n_right, float(random.uniform(0.005, 0.5))))


@pytest.mark.parametrize("name", ["UCforum", "marvel", "movielens-ui", "YouTube", "EuAll", "gowalla", "edit-nawiki"])
def test_butterflies_of_real_graphs_are_those_of_the_cpu_ten_times(name: str) -> None:
    graph = real_graphs.load(name)
    assert_butterflies((graph.indptr, graph.indices, graph.n_right), times=10)


@pytest.mark.parametrize("words", [1, 1000, 1 << 16])
def test_butterflies_in_many_batches_are_the_same(monkeypatch: pytest.MonkeyPatch, words: int) -> None:
    monkeypatch.setattr(cuda_butterflies, "LARGEST_TABLE_WORDS", words)
    assert_butterflies(GRAPHS["wide roots"])
    if words > 1000:
        graph = real_graphs.load("YouTube")
        assert_butterflies((graph.indptr, graph.indices, graph.n_right))


def test_butterflies_of_little_memory_are_the_same_or_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    indptr, indices, n_right = graph = GRAPHS["wide roots"]
    n = len(indptr) - 1 + n_right
    needed = cuda_butterflies.BYTES_AN_EDGE * len(indices) + cuda_butterflies.BYTES_A_VERTEX * n
    monkeypatch.setenv(MEMORY_VARIABLE, str(needed + 16 * n))
    assert_butterflies(graph)
    monkeypatch.setenv(MEMORY_VARIABLE, str(needed // 2))
    with pytest.raises(kernels.BackendError, match="use the CPU backend"):
        kernels.count_bicliques(*graph, 2, 2, per_vertex=True, backend="cuda")


# ---- by pivots


def by_pivots(graph: Any, p: int, q: int, side: Any = "auto", **options: Any) -> int:
    found = kernels.count_bicliques(*graph, p, q, side=side, method="pivot", backend="cuda", **options)
    assert (found.method, found.backend) == ("pivot", "cuda")
    return found.count


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_counts_by_pivots_are_those_of_the_cpu(name: str, side: Any) -> None:
    for p, q in [size for size in SIZES if min(size) > 1]:
        assert by_pivots(GRAPHS[name], p, q, side) == kernels.count_bicliques(*GRAPHS[name], p, q).count


def assert_vertices(graph: Any, p: int, q: int, side: Any, **options: Any) -> None:
    found = kernels.count_bicliques(*graph, p, q, side=side, per_vertex=True, backend="cuda", **options)
    expected = kernels.count_bicliques(*graph, p, q, side=side, method="pivot", per_vertex=True, **options)
    assert (found.count, found.backend, found.method) == (expected.count, "cuda", "pivot")
    assert np.array_equal(found.left_counts, expected.left_counts)
    assert np.array_equal(found.right_counts, expected.right_counts)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_counts_of_vertices_are_those_of_the_cpu(name: str, side: Any) -> None:
    for p, q in [(2, 2), (2, 5), (3, 3), (5, 2), (4, 4), (6, 5)]:
        assert_vertices(GRAPHS[name], p, q, side)


def test_counts_of_vertices_of_wide_graphs_large_counts_and_some_roots() -> None:
    complete = (np.arange(7) * 120, np.tile(np.arange(120, dtype=np.int32), 6), 120)
    assert_vertices(complete, 3, 50, "left")
    for seed in range(10):
        assert_vertices(random_graph(seed, 120, 90, 0.3), 3, 4, "left")
    assert_vertices(random_graph(3, 120, 90, 0.3), 3, 4, "left", roots=np.arange(0, 120, 3))


@pytest.mark.parametrize(("name", "p", "q"), [("YouTube", 5, 5), ("marvel", 8, 8), ("EuAll", 8, 8)])
def test_counts_of_vertices_of_real_graphs_are_those_of_the_cpu_ten_times(name: str, p: int, q: int) -> None:
    graph = real_graphs.load(name)
    csr = (graph.indptr, graph.indices, graph.n_right)
    expected = kernels.count_bicliques(*csr, p, q, per_vertex=True, threads=0)
    for _ in range(10):
        found = kernels.count_bicliques(*csr, p, q, per_vertex=True, threads=0, backend="cuda")
        assert found.count == expected.count
        assert np.array_equal(found.left_counts, expected.left_counts)
        assert np.array_equal(found.right_counts, expected.right_counts)


@pytest.mark.parametrize("seed", range(30))
def test_counts_of_wide_graphs_by_pivots_are_those_of_the_cpu(seed: int) -> None:
    random = np.random.default_rng(seed)
    n_left, n_right = (int(n) for n in random.integers(30, 200, 2))
    graph = random_graph(seed, n_left, n_right, float(random.uniform(0.1, 0.4)))
    p, q = (int(n) for n in random.integers(3, 9, 2))
    assert by_pivots(graph, p, q, "left" if seed % 2 else "right") == kernels.count_bicliques(*graph, p, q).count


def test_parts_of_the_roots_add_up_by_pivots() -> None:
    graph = GRAPHS["wide roots"]
    roots = np.random.default_rng(0).permutation(300)
    parts = [by_pivots(graph, 4, 4, "left", roots=roots[k::3]) for k in range(3)]
    assert sum(parts) == kernels.count_bicliques(*graph, 4, 4).count


def test_ten_runs_by_pivots_are_alike() -> None:
    graph = random_graph(9, 150, 120, 0.35)
    assert {by_pivots(graph, 5, 5) for _ in range(10)} == {kernels.count_bicliques(*graph, 5, 5).count}


def test_counts_by_pivots_beyond_64_bits_are_exact_and_beyond_128_an_error() -> None:
    complete = (np.arange(7) * 120, np.tile(np.arange(120, dtype=np.int32), 6), 120)
    for p, q in [(3, 50), (4, 33), (6, 120)]:
        assert by_pivots(complete, p, q, "left") == comb(6, p) * comb(120, q)
    large = (np.arange(5) * 300, np.tile(np.arange(300, dtype=np.int32), 4), 300)
    with pytest.raises(kernels.BackendError, match="128 bits"):
        by_pivots(large, 3, 150, "left")


@pytest.mark.parametrize(
    ("module", "name", "largest"),
    [
        (cuda_count, "LARGEST_ARENA_BYTES", 60_000),
        (cuda_count, "LARGEST_NODES", 40),
        (cuda_pivots, "LARGEST_NODE_WORDS", 12_000),
        (cuda_pivots, "LARGEST_TASKS", 4_000),
    ],
)
def test_too_little_memory_for_pivots_means_more_runs(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, largest: int
) -> None:
    monkeypatch.setattr(module, name, largest)
    graph = random_graph(2, 90, 90, 0.4)
    assert by_pivots(graph, 4, 4, "left") == kernels.count_bicliques(*graph, 4, 4).count


@pytest.mark.parametrize(
    ("name", "p", "q"),
    [("marvel", 8, 8), ("marvel", 10, 10), ("YouTube", 8, 8), ("movielens-ui", 8, 8), ("EuAll", 8, 8), ("gowalla", 12, 12),
     ("edit-nawiki", 12, 12)],
)  # fmt: skip
def test_counts_of_real_graphs_by_pivots_are_those_of_the_cpu(name: str, p: int, q: int) -> None:
    graph = real_graphs.load(name)
    csr = (graph.indptr, graph.indices, graph.n_right)
    expected = kernels.count_bicliques(*csr, p, q, threads=0).count
    assert {by_pivots(csr, p, q, threads=0) for _ in range(10)} == {expected}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_all_sizes_are_those_of_the_cpu(name: str, side: Any) -> None:
    expected = kernels.count_all_bicliques(*GRAPHS[name], 12, 12).counts
    for threads in (1, 4):
        found = kernels.count_all_bicliques(*GRAPHS[name], 12, 12, side=side, threads=threads, backend="cuda")
        assert (found.counts, found.backend) == (expected, "cuda")


def test_ten_tables_are_alike() -> None:
    graph = GRAPHS["wide roots"]
    expected = kernels.count_all_bicliques(*graph, 12, 12).counts
    for _ in range(10):
        assert kernels.count_all_bicliques(*graph, 12, 12, threads=4, backend="cuda").counts == expected


def test_cells_that_are_flushed_all_the_time_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_table.TreeCells, "leaves_a_flush", 3)
    graph = GRAPHS["wide roots"]
    expected = kernels.count_all_bicliques(*graph, 9, 14).counts
    assert kernels.count_all_bicliques(*graph, 9, 14, threads=4, backend="cuda").counts == expected


def test_tables_of_little_memory_are_the_same_or_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = GRAPHS["dense"]
    expected = kernels.count_all_bicliques(*graph, 12, 12).counts
    monkeypatch.setenv(MEMORY_VARIABLE, str(1 << 20))
    assert kernels.count_all_bicliques(*graph, 12, 12, backend="cuda").counts == expected
    monkeypatch.setenv(MEMORY_VARIABLE, str(1 << 12))
    with pytest.raises(kernels.BackendError, match="does not hold"):
        kernels.count_all_bicliques(*graph, 12, 12, backend="cuda")


def test_tables_beyond_64_bits_are_exact() -> None:
    complete = (np.arange(7) * 120, np.tile(np.arange(120, dtype=np.int32), 6), 120)
    table = kernels.count_all_bicliques(*complete, 6, 120, backend="cuda").counts
    assert table == {(p, q): comb(6, p) * comb(120, q) for p, q in table}


@pytest.mark.parametrize("name", ["YouTube", "EuAll"])
def test_tables_of_large_graphs_are_those_of_the_cpu(name: str) -> None:
    graph = real_graphs.load(name)
    csr = (graph.indptr, graph.indices, graph.n_right)
    expected = kernels.count_all_bicliques(*csr, 12, 12, threads=0).counts
    assert kernels.count_all_bicliques(*csr, 12, 12, threads=0, backend="cuda").counts == expected


@pytest.mark.parametrize(("name", "size"), [(name, size) for name, sizes in count_peers().items() for size in sizes])
def test_ten_runs_give_the_known_count(name: str, size: tuple[int, int]) -> None:
    graph = real_graphs.load(name)
    csr = graph.indptr, graph.indices, graph.n_right
    method, side = kernels.choose_count(*csr, *size, backend="cuda")
    for prescribed in (*[{"method": method, "side": side}] * 10, {}):  # else the host may be first
        found = kernels.count_bicliques(*csr, *size, backend="cuda", **prescribed)
        assert found.count == count_peers()[name][size].count
        assert found.backend == "cuda" or not prescribed
