"""The GPU drivers from start to end, over a stand-in of CuPy and kernels in Python: memory,
halving, parking, interrupts."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bicliq import kernels
from bicliq.kernels.cuda import counting, device, finding, search_memory, search_program, start
from bicliq.kernels.cuda.search_program import Tuning, tuned
from bicliq.kernels.worth import OBJECTIVES
from bicliq.pipeline.run import check_machines
from bicliq.pipeline.settings import load_settings
from tests import dimacs, host_counts, host_cupy, host_kernels
from tests.emulated_gpu import CLIQUES
from tests.host_cupy import HostCupy

COUNT, STREAM = kernels.enumerate_maximal_bicliques, kernels.stream_maximal_bicliques


def random_graph(seed: int, n_left: int, n_right: int, density: float) -> tuple[np.ndarray, np.ndarray, int]:
    cells = np.random.default_rng(seed).random((n_left, n_right)) < density
    return np.concatenate([[0], cells.sum(axis=1).cumsum()]), np.nonzero(cells)[1].astype(np.int32), n_right


GRAPHS = {
    "square": random_graph(1, 12, 12, 0.4),
    "broad": random_graph(2, 7, 30, 0.3),
    "dense": random_graph(4, 10, 11, 0.7),
    "empty": (np.zeros(4, np.int64), np.zeros(0, np.int32), 3),
}


MEMORY = 1 << 26
SMALL_OUTPUT, SOME_OUTPUT = 40 << 10, 104 << 10
"""Of the card: one warp writes to 204 words, less than a chunk, or to two chunks."""

ONE_WARP = tuned(Tuning(warps_a_block=1, blocks_a_multiprocessor=1, most_multiprocessors=1))
"""A card of which so little memory is enough for a workspace."""


@pytest.fixture
def gpu(monkeypatch):
    """A machine whose GPU is this one's processor."""
    functions = {**host_kernels.ENUMERATION, **host_counts.COUNTS, **CLIQUES}
    with host_cupy.installed(HostCupy(functions, MEMORY), monkeypatch) as cupy, tuned(Tuning(most_multiprocessors=1)):
        yield cupy


def listed(batches: Any) -> list[tuple[int, list[int], list[int]]]:
    return sorted(
        (int(batch.root[i]), batch.left[slice(*batch.left_offsets[i : i + 2])].tolist(), batch.right[slice(*batch.right_offsets[i : i + 2])].tolist())
        for batch in batches
        for i in range(len(batch))
    )  # fmt: skip


def assert_same(graph: Any, **options: Any) -> None:
    expected = COUNT(*graph, mode="digest", **options)
    found = COUNT(*graph, mode="digest", backend="cuda", **options)
    assert (found.bicliques, found.digest, found.backend) == (expected.bicliques, expected.digest, "cuda")
    assert COUNT(*graph, backend="cuda", **options).bicliques == expected.bicliques
    with STREAM(*graph, **options) as theirs, STREAM(*graph, backend="cuda", **options) as ours:
        assert listed(ours) == listed(theirs)


# ---- the start of a GPU


def test_a_driver_waits_for_a_start_and_a_process_starts_its_gpu_once(gpu):
    went, told = threading.Event(), []

    def first() -> None:
        told.append("started")
        assert went.wait(10)
        COUNT(*GRAPHS["square"], backend="cuda")  # whoever starts does not wait for itself
        told.append("ready")
        raise kernels.BackendError("is not told: the work meets it again")

    kernels.start_gpu(first)
    kernels.start_gpu(first)
    threading.Timer(0.2, went.set).start()
    assert_same(GRAPHS["square"])
    assert told == ["started", "ready"]


@pytest.mark.parametrize(
    ("settings", "starts"),
    [
        ({"search": {"backend": "cuda"}, "data_backend": "cpu"}, True),
        ({"search": {"backend": "cuda"}}, True),  # there is no cuDF
        ({"search": {"backend": "auto"}, "data_backend": "cpu"}, False),
        ({"search": {"backend": "cuda"}, "cluster": {"workers": 2}, "data_backend": "cpu"}, False),
    ],
)
def test_a_run_starts_the_gpu_that_it_is_asked_for_while_it_reads(gpu, monkeypatch, settings, starts):
    host_cupy.take_away(monkeypatch, "cudf")
    check_machines(load_settings(**settings))
    start.wait_for_start()
    assert ("search_bicliques" in gpu.launches, "search_members" in gpu.launches) == (starts, starts)


# ---- enumeration


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_what_is_found_is_what_the_cpu_finds(name, side):
    assert_same(GRAPHS[name], side=side)


@pytest.mark.usefixtures("gpu")
def test_thresholds_roots_and_ids_reach_the_kernels():
    assert_same(GRAPHS["square"], min_left=2, min_right=3, min_edges=8)
    ids = np.random.default_rng(1).permutation(100)[:12].astype(np.int32)
    assert_same(GRAPHS["square"], side="right", roots=np.array([7, 2, 3, 11]), right_ids=ids, left_ids=ids[::-1])


def test_a_search_is_compiled_once_for_each_layout(gpu):
    for _ in range(2):
        COUNT(*GRAPHS["square"], backend="cuda")
    assert len(gpu.compiled) == 1
    with tuned(Tuning(shares=2)):
        COUNT(*GRAPHS["square"], backend="cuda")
    assert [option for option in gpu.compiled[1] if option not in gpu.compiled[0]] == ["-DBICLIQ_SHARES=2"]
    assert "-DBICLIQ_SEARCH=0" in gpu.compiled[0]


ARENA_WORDS = int(search_memory.ARENA_SHARE * MEMORY) // 4


@pytest.mark.parametrize("roots_at_once", [1, 3, 5])
def test_roots_that_do_not_fit_are_searched_by_halves(gpu, monkeypatch, roots_at_once):
    monkeypatch.setattr(host_kernels, "ARENA_WORDS_A_ROOT", ARENA_WORDS // roots_at_once)
    assert_same(GRAPHS["square"], side="left")
    runs = gpu.launches.count("search_members")
    assert runs > 1  # those that fail are launched as well
    assert gpu.launches.count("single_rows") < gpu.launches.count("build_light_roots")


@pytest.mark.usefixtures("gpu")
def test_a_root_that_does_not_fit_alone_is_an_error(monkeypatch):
    monkeypatch.setattr(host_kernels, "ARENA_WORDS_A_ROOT", ARENA_WORDS + 1)
    for search in (
        lambda: COUNT(*GRAPHS["square"], backend="cuda"),
        lambda: list(STREAM(*GRAPHS["square"], backend="cuda")),
    ):
        with pytest.raises(kernels.BackendError, match=r"the largest root does not fit .* use the CPU backend"):
            search()


def test_large_roots_get_large_blocks(gpu):
    indptr, indices, n_right = GRAPHS["square"]
    rows, columns = 70, 70  # all of them joined, which is more than 4,096 edges in two steps of each
    more = np.tile(np.arange(n_right, n_right + columns, dtype=np.int32), rows)
    starts = indptr[-1] + columns * np.arange(1, rows + 1)
    assert_same((np.concatenate([indptr, starts]), np.concatenate([indices, more]), n_right + columns), side="left")
    assert {"build_heavy_roots", "build_light_roots"} <= set(gpu.launches)


WORKSPACE_WORDS = search_memory.FIRST_WORKSPACE_WORDS
"""Of a warp, where there is enough memory."""


def test_a_workspace_that_is_too_small_grows(gpu, monkeypatch):
    gpu.memory = 1 << 30  # which is not touched
    monkeypatch.setattr(host_kernels, "WORKSPACE_WORDS", 4 * WORKSPACE_WORDS)
    expected = COUNT(*GRAPHS["square"])
    found = COUNT(*GRAPHS["square"], backend="cuda")
    assert found.bicliques == expected.bicliques
    assert gpu.launches.count("search_count") == 3
    assert found.threads == Tuning().warps_a_block * Tuning().blocks_a_multiprocessor


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("memory", [1 << 13, 1 << 16, MEMORY])
def test_a_workspace_that_cannot_grow_is_an_error(monkeypatch, memory):
    monkeypatch.setattr(host_kernels, "WORKSPACE_WORDS", 2**40)
    monkeypatch.setenv(device.MEMORY_VARIABLE, str(memory))
    for search in (
        lambda: COUNT(*GRAPHS["square"], backend="cuda"),
        lambda: list(STREAM(*GRAPHS["square"], backend="cuda")),
    ):
        with pytest.raises(
            kernels.BackendError, match=r"a node needs more than .* of workspace a warp, .* use the CPU backend"
        ):
            search()


@pytest.mark.usefixtures("gpu")
def test_a_limit_cuts_the_run_off():
    run = COUNT(*GRAPHS["dense"], max_bicliques=10, backend="cuda")
    assert (run.bicliques, run.complete) == (10, False)


@pytest.mark.usefixtures("gpu")
def test_progress_is_told_while_a_kernel_runs(monkeypatch):
    monkeypatch.setattr(host_cupy, "POLLS", int(0.25 / device.POLL_SECONDS))  # it runs for longer than that
    told: list[kernels.Progress] = []
    found = COUNT(*GRAPHS["dense"], backend="cuda", progress=told.append)
    assert len(told) > 1
    assert (told[-1].bicliques, told[-1].roots_done) == (found.bicliques, told[-1].n_roots)
    assert found.busy_ratio == pytest.approx(60 / (20 * found.threads))


def test_an_interrupt_ends_the_kernels(gpu, monkeypatch):
    searching: list[host_kernels.Search] = []
    stopped: list[int] = []

    def interrupted(pointer: int) -> int:
        if searching:
            raise KeyboardInterrupt
        return 0

    def search(grid: Any, block: Any, arguments: Any) -> None:
        searching.append(host_kernels.Search(arguments[0]))

    def waited_for(event: host_cupy.Event) -> None:
        stopped.extend(run.read("stop") for run in searching)

    monkeypatch.setitem(gpu.kernels, "search_count", search)
    monkeypatch.setattr(gpu.cuda.runtime, "eventQuery", interrupted)
    monkeypatch.setattr(host_cupy.Event, "synchronize", waited_for)
    with pytest.raises(KeyboardInterrupt):
        COUNT(*GRAPHS["square"], backend="cuda")
    assert stopped == [search_program.Stop.END]  # before they are waited for


@pytest.mark.usefixtures("gpu")
def test_what_goes_wrong_on_a_gpu_says_what_to_do(gpu, monkeypatch):
    def lost(grid: Any, block: Any, arguments: Any) -> None:
        raise gpu.CUDARuntimeError("cudaErrorIllegalAddress")

    monkeypatch.setitem(gpu.kernels, "search_count", lost)
    with pytest.raises(kernels.BackendError, match=r"the GPU was lost .*IllegalAddress.*; use the CPU backend"):
        COUNT(*GRAPHS["square"], backend="cuda")

    def full(grid: Any, block: Any, arguments: Any) -> None:
        raise MemoryError("out of memory")

    monkeypatch.setitem(gpu.kernels, "search_count", full)
    with pytest.raises(kernels.BackendError, match="too little free memory"):
        COUNT(*GRAPHS["square"], backend="cuda")


# ---- the best


@pytest.mark.parametrize("memory", [SMALL_OUTPUT, MEMORY])
@pytest.mark.parametrize("objective", [each for each in OBJECTIVES if each != "surprise"])
@ONE_WARP
def test_the_best_are_those_of_the_cpu(gpu, monkeypatch, memory, objective):
    monkeypatch.setenv(device.MEMORY_VARIABLE, str(memory))
    for name, graph in GRAPHS.items():
        weights = np.random.default_rng(7).integers(-5, 9, (2, 40))
        by = {"left_weights": weights[0, : len(graph[0]) - 1], "right_weights": weights[1, : graph[2]]}
        options = by if objective == "weight" else {}
        for k, sizes in ((1, {}), (5, {"min_left": 2}), (9, {"max_right": 3, "min_edges": 3})):
            want = kernels.top_bicliques(*graph, k, objective, **options, **sizes)
            for side in ("left", "right"):
                found = kernels.top_bicliques(*graph, k, objective, **options, **sizes, side=side, backend="cuda")
                assert (found.backend, found.side, found.proven) == ("cuda", side, True)
                assert listed_groups(found) == listed_groups(want), (name, k, sizes, side)
    assert "search_best" in gpu.launches


def listed_groups(found: kernels.FindResult) -> list[tuple[float, list[int], list[int]]]:
    return [(group.value, group.left.tolist(), group.right.tolist()) for group in found.groups]


@pytest.mark.usefixtures("gpu")
def test_answers_that_are_worth_too_little_are_left_out():
    for objective in ("edges", "vertices", "balanced"):
        every = kernels.top_bicliques(*GRAPHS["dense"], 4000, objective).groups
        least = every[9].value
        found = kernels.top_bicliques(*GRAPHS["dense"], 4000, objective, min_value=least, backend="cuda")
        want = [group for group in every if group.value >= least]
        assert listed_groups(found) == [(g.value, g.left.tolist(), g.right.tolist()) for g in want]
        assert len(want) < len(every)


@pytest.mark.usefixtures("gpu")
def test_what_a_gpu_cannot_find_is_refused():
    assert kernels.gpu_cannot_find(finding.MOST_WANTED) is None
    assert kernels.gpu_cannot_find(1, edge_weights=True) == "it takes weights of vertices only"
    for options in ({"diverse": True}, {"time_limit": 1.0}, {"k": finding.MOST_WANTED + 1}):
        with pytest.raises(kernels.BackendError, match="backend 'cuda' cannot find this"):
            kernels.top_bicliques(*GRAPHS["square"], **options, backend="cuda")


# ---- streams


@pytest.mark.parametrize(("memory", "n"), [(SMALL_OUTPUT, 10), (SOME_OUTPUT, 12), (MEMORY, 12)])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.timeout(60)
@ONE_WARP
def test_a_search_that_parks_finds_the_same(gpu, monkeypatch, memory, n, side):
    monkeypatch.setenv(device.MEMORY_VARIABLE, str(memory))
    assert_same(random_graph(4, n, n + 1, 0.7), side=side)
    assert (gpu.launches.count("search_bicliques") > 3) == (memory < MEMORY)


@pytest.mark.usefixtures("gpu")
@ONE_WARP
def test_batches_keep_their_bounds_and_a_reader_may_stop(monkeypatch):
    with STREAM(*GRAPHS["dense"], backend="cuda", batch_bicliques=4, batch_ids=30) as found:
        batches = list(found)
    assert max(map(len, batches)) <= 4
    assert sum(map(len, batches)) == found.result.bicliques
    monkeypatch.setenv(device.MEMORY_VARIABLE, str(SMALL_OUTPUT))
    with STREAM(*GRAPHS["dense"], backend="cuda", batch_bicliques=2) as found:
        next(found)
    assert not found.result.complete
    with STREAM(*GRAPHS["dense"], backend="cuda", max_bicliques=7) as found:
        assert sum(map(len, found)) == 7
    assert not found.result.complete


@pytest.mark.usefixtures("gpu")
def test_batches_may_stay_on_the_device():
    expected = list(STREAM(*GRAPHS["square"]))
    with STREAM(*GRAPHS["square"], backend="cuda", on_device=True) as found:
        batches = list(found)
    assert all(isinstance(batch.left, host_cupy.Array) for batch in batches)
    assert listed(batches) == listed(expected)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("memory", [SMALL_OUTPUT, SOME_OUTPUT, MEMORY])
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("on_device", [True, False])
@ONE_WARP
def test_a_stream_of_smaller_sides_has_the_smaller_one_of_each_biclique(monkeypatch, memory, side, on_device):
    monkeypatch.setenv(device.MEMORY_VARIABLE, str(memory))
    for name in ("square", "dense", "empty"):
        with STREAM(*GRAPHS[name], side=side) as both:
            expected = [
                (root, left if len(left) <= len(right) else right, len(left), len(right))
                for root, left, right in listed(both)
            ]
        options = {} if on_device else {"batch_bicliques": 5, "batch_ids": 11}
        with kernels.stream_smaller_sides(*GRAPHS[name], side=side, on_device=on_device, **options) as found:
            batches = list(found)
        assert all(isinstance(one.smaller, host_cupy.Array) == on_device for one in batches)
        assert on_device or all(len(one) <= 5 and (len(one) == 1 or len(one.smaller) <= 11) for one in batches)
        ours = [
            (int(one.root[i]), one.smaller[slice(*one.offsets[i : i + 2])].tolist(), int(one.n_left[i]), int(one.n_right[i]))
            for one in batches
            for i in range(len(one))
        ]  # fmt: skip
        assert sorted(ours) == sorted(expected), name


# ---- counts


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_counts_are_those_of_the_cpu(name, side):
    for p, q in ((2, 2), (2, 5), (3, 3), (4, 2)):
        found = kernels.count_bicliques(*GRAPHS[name], p, q, side=side, backend="cuda")
        assert (found.count, found.backend) == (kernels.count_bicliques(*GRAPHS[name], p, q).count, "cuda")


@pytest.mark.usefixtures("gpu")
def test_parts_of_the_roots_add_up():
    graph, roots = GRAPHS["dense"], np.random.default_rng(0).permutation(10)
    parts = [kernels.count_bicliques(*graph, 3, 2, side="left", roots=roots[k::3], backend="cuda") for k in range(3)]
    assert sum(part.count for part in parts) == kernels.count_bicliques(*graph, 3, 2).count


def test_a_count_whose_roots_do_not_fit_goes_by_halves(gpu, monkeypatch):
    arena = int(counting.ARENA_SHARE * MEMORY) // 4
    monkeypatch.setattr(host_counts, "ARENA_WORDS_A_ROOT", arena // 3)
    told: list[kernels.Progress] = []
    asked: dict[str, Any] = {"side": "left", "method": "levels", "backend": "cuda"}
    found = kernels.count_bicliques(*GRAPHS["dense"], 3, 2, **asked, progress=told.append)
    assert found.count == kernels.count_bicliques(*GRAPHS["dense"], 3, 2).count
    assert gpu.launches.count("count_roots") > len(told) > 1
    assert told[-1].roots_done == told[-1].n_roots == found.work
    monkeypatch.setattr(host_counts, "ARENA_WORDS_A_ROOT", arena + 1)
    with pytest.raises(kernels.BackendError, match="the largest root does not fit"):
        kernels.count_bicliques(*GRAPHS["dense"], 3, 2, **asked)


@pytest.mark.usefixtures("gpu")
def test_a_count_that_chooses_too_many_vertices_is_an_error():
    with pytest.raises(kernels.BackendError, match="at most 65 vertices of the side of the roots by levels, not 66"):
        kernels.count_bicliques(*GRAPHS["dense"], 66, 2, side="left", method="levels", backend="cuda")
    assert kernels.count_bicliques(*GRAPHS["dense"], 66, 2, side="left", backend="cuda").count == 0


@pytest.mark.parametrize("side", ["left", "right"])
def test_tables_are_those_of_the_cpu(gpu, side):
    graph = random_graph(5, 60, 70, 0.2)
    for threads in (1, 2):
        found = kernels.count_all_bicliques(*graph, 7, 9, side=side, threads=threads, backend="cuda")
        assert found.counts == kernels.count_all_bicliques(*graph, 7, 9).counts
    assert gpu.launches.count("count_trees") > 0


@pytest.mark.usefixtures("gpu")
def test_a_table_that_does_not_fit_is_an_error(monkeypatch):
    monkeypatch.setenv(device.MEMORY_VARIABLE, "4096")
    said = r"1 blocks of this search need .* does not hold; use the CPU backend"
    with pytest.raises(kernels.BackendError, match=said):
        kernels.count_all_bicliques(*GRAPHS["dense"], 9, 9, backend="cuda")


# ---- cliques


def blocks(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A sparse graph whose roots have to be searched."""
    random = np.random.default_rng(seed)
    matrix = np.zeros((n, n), bool)
    for _ in range(60):
        block = random.choice(n, 60, replace=False)
        matrix[np.ix_(block, block)] |= np.triu(random.random((60, 60)) < 0.8, 1)
    return dimacs.symmetric_csr(np.argwhere(matrix | matrix.T), n)


@pytest.mark.parametrize("devices", [1, 2])
def test_cliques_are_found_on_cards(gpu, devices):
    found = kernels.maximum_clique(*dimacs.load("keller4"), backend="cuda", devices=devices)
    assert (found.size, found.proven, found.backend) == (11, True, "cuda")
    assert found.threads == 2 * 8 * 4 * devices
    assert "-DBICLIQ_WIDTH=1" in gpu.compiled[0]
    with pytest.raises(kernels.BackendError, match="3 GPUs were asked for, but this process sees 2"):
        kernels.maximum_clique(*dimacs.load("keller4"), backend="cuda", devices=3)


def test_roots_of_cliques_go_by_halves_where_memory_is_small(gpu, monkeypatch):
    graph = blocks(1500, 3)
    expected = kernels.maximum_clique(*graph).size
    assert kernels.maximum_clique(*graph, backend="cuda").size == expected
    whole = gpu.launches.count("build_clique_roots")
    monkeypatch.setenv(device.MEMORY_VARIABLE, str(MEMORY // 40))
    assert kernels.maximum_clique(*graph, backend="cuda").size == expected
    assert gpu.launches.count("build_clique_roots") - whole > whole


# ---- memory and structs


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("cap", ["lots", "-1", "1e9"])
def test_a_cap_that_is_no_number_is_an_error(monkeypatch, cap):
    monkeypatch.setenv(device.MEMORY_VARIABLE, cap)
    with pytest.raises(kernels.BackendError, match=f"BICLIQ_GPU_MEMORY is '{cap}'; it must be a number of bytes"):
        COUNT(*GRAPHS["square"], backend="cuda")


@pytest.mark.parametrize(("cap", "expected"), [("", 1 << 26), ("1000", 1000), (str(1 << 40), 1 << 26)])
def test_the_budget_is_what_is_free_or_the_cap(gpu, monkeypatch, cap, expected):
    monkeypatch.setenv(device.MEMORY_VARIABLE, cap)
    assert device.free_budget(gpu.cuda.Device()).n_bytes == expected


class InPieces:
    """A card whose memory an earlier search left in pieces, until they are given back."""

    def __init__(self, gpu: HostCupy, monkeypatch: Any, *, is_full: bool = False) -> None:
        self.in_pieces, self.is_full, self.given_back, empty = True, is_full, 0, gpu.empty
        pool = SimpleNamespace(free_bytes=lambda: 0, free_all_blocks=self.give_back)
        monkeypatch.setattr(gpu, "get_default_memory_pool", lambda: pool)
        monkeypatch.setattr(gpu, "empty", lambda *a, **o: self.room(empty, *a, **o), raising=False)

    def give_back(self) -> None:
        self.in_pieces, self.given_back = self.is_full, self.given_back + 1

    def room(self, empty: Any, *arguments: Any, **options: Any) -> Any:
        if self.in_pieces:
            raise MemoryError("Out of memory allocating 25,329,401,856 bytes")
        return empty(*arguments, **options)


def test_memory_that_is_in_pieces_is_given_back_and_the_search_goes_on(gpu, monkeypatch):
    card = InPieces(gpu, monkeypatch)
    assert_same(GRAPHS["dense"])
    assert card.given_back == 1


def test_a_card_that_is_full_is_an_error(gpu, monkeypatch):
    card = InPieces(gpu, monkeypatch, is_full=True)
    with pytest.raises(kernels.BackendError, match="too little free memory for this search"):
        COUNT(*GRAPHS["dense"], backend="cuda")
    assert card.given_back == 1
