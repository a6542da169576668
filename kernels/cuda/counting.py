"""The CUDA driver of (p,q)-counts: runs `src/counting/levels.cu` through CuPy.

Core, order and adjacency are those of the host, which has made them to choose the search; then one
kernel builds the roots and one kernel a level searches them, or `kernels.cuda.pivots` does. Where
the memory of a run does not suffice it is repeated with half of the roots at a time: a sum is taken
over only from a run that came to its end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bicliq.kernels.contracts import CountRequest, Progress, ProgressCallback
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.cuda.batches import FAILURE, Failure, RootBatches
from bicliq.kernels.cuda.device import (
    Budget,
    current_device,
    device_errors,
    free_budget,
    multiprocessors,
    streams,
    wait_for_event,
)
from bicliq.kernels.cuda.pivots import NODE, CudaPivots
from bicliq.kernels.cuda.program import Program, Struct, Values
from bicliq.kernels.errors import BackendError

ROOT_THREADS, WAVE_THREADS = 256, 128
ROOT_BLOCKS_A_MULTIPROCESSOR = 8
WAVE_BLOCKS_A_MULTIPROCESSOR = 12
MOST_WAVES = 64
ARENA_SHARE, TASKS_SHARE, NODES_SHARE, SCRATCH_SHARE, WORKSPACE_SHARE = 0.4, 0.1, 0.1, 0.1, 0.2  # of the free memory
BYTES_AN_EDGE = 150  # of the graph on the device, with what its preparation takes
GRIDS_SHARE, GRID_NODES_SHARE = 0.3, 0.05  # the same of arena and nodes, where pivots take the rest
LARGEST_ARENA_BYTES, LARGEST_TASKS, LARGEST_NODES = 32 << 30, 1 << 28, 1 << 26
MOST_SUBSETS = 1024  # of a small set that are kept as words; the kernel asks for no more
SMALL = 33
TOO_LARGE = 2**128 - 1

TASK = Struct("CountTask", np.dtype([("node", "u4"), ("column", "u4")]))
COUNTERS = Struct(
    "CountCounters",
    np.dtype(
        [(name, "u8") for name in ("next_root", "arena_used", "n_nodes", "n_tasks", "failure", "too_large", "work")]
        + [("next_task", "u8", (MOST_WAVES,)), ("end_of_wave", "u8", (MOST_WAVES + 1,))]
    ),
)
RUN = Struct.of_words(
    "CountRun", "root_start", "row_start", "root_rows", "row_roots", "roots", "scratch", "arena", "nodes", "tasks", "workspace",
    "totals", "table_low", "table_high", "binomials", "subsets", "first_subset", "counters", "n_vertices", "n_roots", "p", "q",
    "arena_words", "node_capacity", "task_capacity", "workspace_words", "grids",
)  # fmt: skip
PROGRAM = Program(
    "counting/levels.cu",
    (
        NODE, TASK, COUNTERS, RUN, FAILURE,
        Values.of(
            kRootThreads=ROOT_THREADS, kWaveThreads=WAVE_THREADS, kMostWaves=MOST_WAVES, kMostSubsets=MOST_SUBSETS, kSmall=SMALL
        ),
    ),
)  # fmt: skip


@cache
def small_subsets() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Tables of small sets.

    C(n, k) for n, k <= 32; the k-subsets of n things as words, where there are few; where those of
    [n][k] begin.
    """
    binomials = np.array([[comb(n, k) for k in range(SMALL)] for n in range(SMALL)], np.uint32)
    words: list[int] = []
    first = np.zeros((SMALL, SMALL), np.uint32)
    for n, k in np.ndindex(SMALL, SMALL):
        first[n, k] = len(words)
        if 0 < comb(n, k) <= MOST_SUBSETS:
            words.extend(sum(1 << i for i in chosen) for chosen in combinations(range(n), k))
    return binomials.ravel(), np.array(words, np.uint32), first.ravel()


class CountGraph(NamedTuple):
    """What a count reads: the core of the graph, both sides by ascending degree.

    It is that of a count on the host (`src/graphs/counting_core.hpp`), as its `card_graph` says.
    """

    root_start: NDArray[np.uint64]
    root_rows: NDArray[np.uint32]
    row_start: NDArray[np.uint64]
    row_roots: NDArray[np.uint32]
    vertex_of_root: NDArray[np.uint32]
    """Its number in the input."""
    vertex_of_row: NDArray[np.uint32]
    paths: NDArray[np.uint64]
    """Of each root: those of two edges from it."""


class SearchGivenUp(Exception):
    """Raised where a search takes longer than there is patience for, or than another has taken."""


class CudaCount:
    """One count on the current GPU; `wait` runs it.

    Parameters
    ----------
    request
        The sizes, both 2 or more, and which roots.
    graph
        Its core.
    left
        Whether the roots are left vertices.
    by_pivots
        Search by pivots, not by levels.
    per_vertex
        Count for each vertex as well, by pivots.
    patience
        Seconds of searching after which a search by levels is given up; None: never.
    is_late
        Whether another has counted already.
    """

    def __init__(
        self,
        request: CountRequest,
        graph: CountGraph,
        left: bool,
        by_pivots: bool,
        per_vertex: bool,
        patience: float | None,
        is_late: Callable[[], bool],
    ) -> None:
        self._graph, self._is_late = graph, is_late
        self._by_pivots, self._per_vertex, self._patience = by_pivots, per_vertex, patience
        self._deadline: float | None = None
        self.of_roots: list[Any] = []
        self.of_rows: list[Any] = []
        self._left, self._roots = left, request.roots
        self._p, self._q = (request.p, request.q) if left else (request.q, request.p)
        self.count = 0
        self.too_large = False
        self.work = 0
        self.seconds = {"prepare": 0.0, "roots": 0.0, "search": 0.0}

    def wait(self, progress: ProgressCallback | None) -> None:
        """Run to the end.

        Raises
        ------
        BackendError
            If the GPU cannot hold the largest root, cannot choose so many vertices, or is lost.
        SearchGivenUp
            If it took longer than there was patience, or another had counted.
        """
        import cupy

        if self._p - 1 > MOST_WAVES and not self._by_pivots:
            raise BackendError(
                f"the CUDA backend chooses at most {MOST_WAVES + 1} vertices of the side of the roots by levels, not"
                f" {self._p}; take the other side, or method 'pivot'"
            )
        with device_errors():
            self._run(cupy, progress)

    def _run(self, cp: Any, progress: ProgressCallback | None) -> None:
        started = time.perf_counter()
        graph = self._graph
        budget = free_budget(cp.cuda.Device()).without(BYTES_AN_EDGE * len(graph.root_rows))
        blocks = CountBlocks(cp, budget, self._by_pivots)  # first of all: the largest, of the same size for all graphs
        by_roots_alone = self._p == 2 and not self._per_vertex
        self._pivots = CudaPivots(cp, budget, self._p, self._q) if self._by_pivots and not by_roots_alone else None
        if self._pivots is not None and self._per_vertex:
            self._pivots.of_vertices = len(graph.root_start) - 1, len(graph.row_start) - 1
        roots = self._chosen()
        memory = CountMemory(cp, blocks, graph)
        numbers = {
            "n_vertices": len(graph.root_start) - 1,
            "p": self._p,
            "q": self._q,
            "grids": int(self._by_pivots) + int(self._per_vertex),
        }
        fields = memory.fields() | self._arrays(cp) | numbers
        cp.cuda.Device().synchronize()
        self.seconds["prepare"] = time.perf_counter() - started
        batches = RootBatches(roots, lambda batch: (batch[::2], batch[1::2]))
        done = 0
        for batch in batches:
            if not len(batch):
                continue
            outcome = self._attempt(cp, fields, memory, batch)
            if outcome["failure"]:
                batches.halve(batch)
                continue
            self._take(outcome, memory)
            if self._per_vertex and self._pivots is not None:
                self._take_vertices(self._pivots.vertices)
            done += len(batch)
            if progress is not None:
                progress(Progress(done, len(roots), 0))

    def _take(self, outcome: dict[str, int], memory: CountMemory) -> None:
        """Add what a run that came to its end has counted."""
        totals = memory.totals.get().reshape(-1, 2)
        self.count += outcome["by_pivots"]
        self.count += sum(int(low) + (int(high) << 64) for low, high in totals[totals.any(axis=1)].tolist())
        self.too_large |= bool(outcome["too_large"]) or self.count > TOO_LARGE
        self.work += outcome["work"]

    def _take_vertices(self, vertices: list[Any]) -> None:
        """Keep the counts of vertices of a run that came to its end, as (number, low, high)."""
        numbers = self._graph.vertex_of_root, self._graph.vertex_of_row
        for kept, words, of in zip((self.of_roots, self.of_rows), vertices, numbers, strict=True):
            kept.append((of, *words.get().reshape(-1, 2).T))

    def _chosen(self) -> NDArray[np.uint32]:
        """Roots, those with most paths of two edges first."""
        graph = self._graph
        places = np.argsort(graph.paths)[::-1].astype(np.uint32)
        if self._roots is None:
            return places
        return places[np.isin(graph.vertex_of_root[places], self._roots)]

    def _arrays(self, cp: Any) -> dict[str, Any]:
        """The arrays that fields of `RUN` point to, the same for all batches."""
        graph = self._graph
        low, high = load_extension().choices(_most(graph.root_start), self._q)
        binomials, subsets, first = small_subsets()
        arrays = {
            "table_low": low, "table_high": high, "binomials": binomials, "subsets": subsets, "first_subset": first,
            "root_start": graph.root_start, "row_start": graph.row_start, "root_rows": graph.root_rows, "row_roots": graph.row_roots,
        }  # fmt: skip
        return {name: cp.asarray(array) for name, array in arrays.items()}

    def _attempt(self, cp: Any, fields: dict[str, Any], memory: CountMemory, roots: Any) -> dict[str, int]:
        """Run the kernels over a batch of roots; returns the counters."""
        module = PROGRAM.compiled()
        counters = cp.zeros(COUNTERS.size // 8, dtype=cp.uint64)
        memory.totals.fill(0)
        own = {"roots": cp.asarray(np.ascontiguousarray(roots)), "n_roots": len(roots), "counters": counters}
        run = cp.asarray(RUN.packed(fields | own))
        build, close, search = (module.get_function(name) for name in ("count_roots", "close_wave", "count_wave"))
        events = [cp.cuda.Event() for _ in range(3)]
        events[0].record()
        build((min(memory.root_blocks, len(roots)),), (ROOT_THREADS,), (run,))
        events[1].record()
        for wave in range(0 if self._by_pivots else self._p - 2):
            close((1,), (1,), (run, np.uint32(wave)))
            search((memory.wave_blocks,), (WAVE_THREADS,), (run, np.uint32(wave)))
        events[2].record()
        if self._patience is not None and self._deadline is None:  # loading the kernels is no part of the search
            self._deadline = time.perf_counter() + self._patience

        wait_for_event(events[2], self._look(counters, COUNTERS, events[2]))
        self.seconds["roots"] += cp.cuda.get_elapsed_time(events[0], events[1]) / 1000
        self.seconds["search"] += cp.cuda.get_elapsed_time(events[1], events[2]) / 1000
        outcome = COUNTERS.unpacked(counters.get()) | {"by_pivots": 0}
        if self._pivots is None or outcome["failure"]:
            return outcome
        found, told, seconds = self._pivots.search(memory.arena, memory.nodes, outcome["n_nodes"], self._look)
        self.seconds["search"] += seconds
        return outcome | {"by_pivots": found} | {name: told[name] for name in ("failure", "too_large", "work")}

    def _look(self, counters: Any, struct: Struct, end: Any) -> Callable[[], None]:
        """Asks whether the kernels before the event `end` are in vain, which then ends them."""
        place = struct.word("failure")

        def look() -> None:
            if self._is_late() or (self._deadline is not None and time.perf_counter() > self._deadline):
                told = np.array([Failure.GIVEN_UP], np.uint64)
                counters[place : place + 1].set(told, stream=streams(current_device()).beside)
                end.synchronize()
                raise SearchGivenUp

        return look


class CountBlocks:
    """Blocks of device memory for a count by levels, as shares of a budget, or for grids."""

    def __init__(self, cp: Any, budget: Budget, for_grids: bool) -> None:
        self.budget, self.for_grids = budget, for_grids
        arena_share, nodes_share = (GRIDS_SHARE, GRID_NODES_SHARE) if for_grids else (ARENA_SHARE, NODES_SHARE)
        self.arena = cp.empty(budget.items(arena_share, 4, LARGEST_ARENA_BYTES // 4), dtype=cp.uint32)
        self.n_nodes = budget.items(nodes_share, NODE.size, LARGEST_NODES)
        self.n_tasks = 0 if for_grids else budget.items(TASKS_SHARE, TASK.size, LARGEST_TASKS)
        self.nodes = cp.empty(self.n_nodes * NODE.size, dtype=cp.uint8)
        self.tasks = cp.empty(self.n_tasks * TASK.size, dtype=cp.uint8)


class CountMemory:
    """All of the memory of a count: what its graph asks for, beside the blocks."""

    def __init__(self, cp: Any, blocks: CountBlocks, graph: CountGraph) -> None:
        self._blocks, budget = blocks, blocks.budget
        self.arena, self.nodes, self.tasks = blocks.arena, blocks.nodes, blocks.tasks
        n = len(graph.root_start) - 1
        words = _most(graph.root_start) // 32 + 64
        self._workspace_words = max(2 * (n + 64), 4 * words)
        self.root_blocks = budget.fitting(
            multiprocessors() * ROOT_BLOCKS_A_MULTIPROCESSOR, SCRATCH_SHARE, 8 * max(n, 1), "blocks"
        )
        warps = WAVE_THREADS // 32
        self.wave_blocks = 0
        if not blocks.for_grids:
            wanted = multiprocessors() * WAVE_BLOCKS_A_MULTIPROCESSOR
            self.wave_blocks = budget.fitting(wanted, WORKSPACE_SHARE, 4 * self._workspace_words * warps, "blocks")
        n_warps = max(self.root_blocks * ROOT_THREADS // 32, self.wave_blocks * warps)
        self.scratch = cp.zeros(2 * n * self.root_blocks, dtype=cp.uint32)
        self.workspace = cp.empty(self._workspace_words * self.wave_blocks * warps, dtype=cp.uint32)
        self.totals = cp.zeros(2 * n_warps, dtype=cp.uint64)

    def fields(self) -> dict[str, Any]:
        """The fields of `RUN` that describe memory."""
        names = ("scratch", "arena", "nodes", "tasks", "workspace", "totals")
        return {name: getattr(self, name) for name in names} | {
            "arena_words": self.arena.size,
            "node_capacity": self._blocks.n_nodes,
            "task_capacity": self._blocks.n_tasks,
            "workspace_words": self._workspace_words,
        }


def _most(starts: NDArray[np.uint64]) -> int:
    """Length of the longest list."""
    return int(np.diff(starts).max(initial=0))
