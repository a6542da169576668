"""The CUDA driver: compiles `src/device.cu` at run time and runs its kernels through CuPy.

Order and adjacency are made on the device with array operations; then three kernels run back to back: the bicliques
of one row, the subtrees of the roots, the search. Where the memory of a run does not suffice, it is repeated with
more, or with half of the roots at a time: a count is taken over only from a run that came to its end.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kernels.contracts import EnumerationRequest, EnumerationResult, Progress, ProgressCallback
from kernels.digest import LEFT_SEED, RIGHT_SEED, vertex_hashes
from kernels.errors import BackendError

SOURCES = Path(__file__).parent / "src"
OPTIONS = ("--std=c++17", "--device-as-default-execution-space", "-DBICLIQ_ISA=cuda")
NO_LIMIT = 2**64 - 1

WARPS_A_BLOCK = 4
BLOCKS_A_MULTIPROCESSOR = 3  # more do not pay: the search waits for latency, and fewer registers spill
HEAVY_ROOT_EDGES = 4096  # edges in two steps of a root from which on a block of 1,024 threads builds it
HEAVY_BLOCKS_A_MULTIPROCESSOR = 1
LIGHT_BLOCKS_A_MULTIPROCESSOR = 16
TASK_WORDS = 1 << 13  # words of a wide root that a task should read, about 5 µs
SUBTREE_BYTES = 152
TASK_BYTES = 12
N_TASKS = 1 << 25
N_GIVEN = 1 << 20
FIRST_WORKSPACE_WORDS = 1 << 19  # of a warp
ARENA_SHARE, WORKSPACE_SHARE, SCRATCH_SHARE = 0.4, 0.3, 0.1  # of the free memory
POLL_SECONDS = 0.0005
NOT_READY = 600  # cudaErrorNotReady

COUNTERS = (
    "head", "tail", "stop", "found", "digest", "nodes", "dropped", "next_heavy", "next_light", "next_task",
    "arena_used", "n_subtrees", "n_tasks", "pending", "failure", "busy",
)  # fmt: skip
RUN_FIELDS = (
    "row_start", "column_start", "row_columns", "column_rows", "places", "row_hashes", "column_hashes", "is_root", "roots",
    "scratch", "arena", "subtrees", "tasks", "slots", "ready", "workspace", "counters", "n_rows", "n_columns", "n_heavy",
    "n_light", "max_degree", "arena_words", "subtree_capacity", "task_capacity", "slot_capacity", "workspace_words",
    "min_rows", "min_columns", "min_edges", "columns_are_left", "max_bicliques", "task_words",
)  # fmt: skip
ARENA_FULL, TASKS_FULL, WORKSPACE_FULL = 1, 2, 3


@cache
def source(name: str = "device.cu") -> str:
    """One of the sources with its headers put in place, so that one string is all that a compiler or its cache needs."""
    return _flatten(name, set())


def _flatten(name: str, seen: set[str]) -> str:
    if name in seen:
        return ""
    seen.add(name)
    lines = (SOURCES / name).read_text(encoding="utf-8").splitlines(keepends=True)
    parts = []
    for line in lines:
        include = re.match(r'#include "(.*)"', line)
        if include:
            parts.append(_flatten(include[1], seen))
        elif not line.startswith("#pragma once"):
            parts.append(line)
    return "".join(parts)


@cache
def _kernels(device: int) -> Any:
    """The compiled module of the current device (CuPy keeps the cubin on disk)."""
    import cupy

    del device  # part of the cache's key
    tuning = (f"-DBICLIQ_WARPS={WARPS_A_BLOCK}", f"-DBICLIQ_BLOCKS={BLOCKS_A_MULTIPROCESSOR}")
    module = cupy.RawModule(code=source(), options=OPTIONS + tuning)
    try:
        module.compile()
    except cupy.cuda.compiler.CompileException as error:
        raise BackendError(f"the CUDA kernels do not compile for this GPU: {str(error)[:2000]}") from error
    return module


@dataclass(frozen=True)
class DeviceGraph:
    """Both adjacency lists in search order, as arrays of CuPy (or NumPy, in tests)."""

    row_start: Any
    column_start: Any
    row_columns: Any
    column_rows: Any
    places: Any  # for each edge of a column: the column's place in the row's list
    vertex_of_column: Any
    edges_in_two_steps: Any  # of each column


def prepare(xp: Any, request: EnumerationRequest) -> DeviceGraph:
    """Number the columns in search order and build both adjacency lists; `xp` is CuPy or NumPy."""
    indptr, right = xp.asarray(request.indptr), xp.asarray(request.indices).astype(xp.int64)
    edge_numbers = xp.arange(len(right), dtype=xp.int64)
    left = xp.searchsorted(indptr, edge_numbers, side="right") - 1
    rows, vertices = (right, left) if request.side == "left" else (left, right)
    n_rows, n_columns = (request.n_right, request.n_left)[:: 1 if request.side == "left" else -1]
    numbers = xp.arange(n_columns, dtype=xp.int64)
    order = numbers
    if request.roots is None:
        degree = xp.bincount(vertices, minlength=n_columns)
        order = xp.argsort(degree * max(n_columns, 1) + numbers)
    rank = xp.empty_like(numbers)
    rank[order] = numbers
    columns = rank[vertices]
    row_start, column_start = _starts(xp, rows, n_rows), _starts(xp, columns, n_columns)
    by_row = xp.argsort(rows * max(n_columns, 1) + columns)
    by_column = xp.argsort(columns * max(n_rows, 1) + rows)
    place = xp.empty_like(edge_numbers)
    place[by_row] = edge_numbers - row_start[rows[by_row]]
    row_degree = xp.diff(row_start)
    weight = xp.bincount(columns, weights=row_degree[rows].astype(xp.float64), minlength=n_columns)
    return DeviceGraph(
        row_start=row_start.astype(xp.uint64),
        column_start=column_start.astype(xp.uint64),
        row_columns=columns[by_row].astype(xp.uint32),
        column_rows=rows[by_column].astype(xp.uint32),
        places=place[by_column].astype(xp.uint32),
        vertex_of_column=order,
        edges_in_two_steps=weight.astype(xp.int64),
    )


def _starts(xp: Any, owners: Any, n: int) -> Any:
    starts = xp.zeros(n + 1, dtype=xp.int64)
    starts[1:] = xp.cumsum(xp.bincount(owners, minlength=n))
    return starts


class CudaSearch:
    """One search on the current GPU; `wait` runs it."""

    def __init__(self, request: EnumerationRequest, mode: str) -> None:
        self._request = request
        self._mode = mode
        self._totals = dict.fromkeys(COUNTERS, 0)
        self._seconds = {"prepare": 0.0, "lists": 0.0, "search": 0.0}
        self._roots_done = self._n_roots = self._warps = self._bytes = 0
        self._busy_ratio = 1.0

    def wait(self, progress: ProgressCallback | None) -> None:
        """Run to the end, reporting progress after each batch of roots."""
        import cupy

        try:
            self._run(cupy, progress)
        except cupy.cuda.memory.OutOfMemoryError as error:
            raise BackendError(
                f"the GPU has too little free memory for this search ({error}); use the CPU backend"
            ) from error
        except cupy.cuda.runtime.CUDARuntimeError as error:
            raise BackendError(f"the GPU was lost during the search ({error}); use the CPU backend") from error

    def progress(self) -> Progress:
        """How far the search has come."""
        return Progress(self._roots_done, self._n_roots, self._totals["found"])

    def result(self) -> EnumerationResult:
        """The outcome; valid once `wait` has returned."""
        found, limit = self._totals["found"], self._request.max_bicliques
        complete = limit is None or found <= limit
        return EnumerationResult(
            bicliques=found if limit is None else min(found, limit),
            digest=self._totals["digest"] if complete and self._mode == "digest" else None,
            complete=complete,
            side=self._request.side,
            nodes=self._totals["nodes"],
            dropped=self._totals["dropped"],
            seconds=self._seconds,
            threads=self._warps,
            backend="cuda",
            workspace_bytes=self._bytes,
        )

    # ---- one search

    def _run(self, cp: Any, progress: ProgressCallback | None) -> None:
        started = time.perf_counter()
        graph = prepare(cp, self._request)
        fields, held = self._describe(cp, graph)
        heavy, light = self._choose_roots(cp, graph)
        self._n_roots = len(heavy) + len(light)
        memory = DeviceMemory(cp, graph, self._n_roots)
        cp.cuda.Device().synchronize()
        self._seconds["prepare"] = time.perf_counter() - started
        batches = [(heavy, light, True)]
        while batches:
            batch = batches.pop()
            counters = self._attempt(cp, {**fields, **memory.fields()}, memory, batch)
            failure = counters["failure"]
            if failure == WORKSPACE_FULL:
                memory.enlarge_workspaces()
                batches.append(batch)
            elif failure:
                batches.extend(_halves(batch))
            else:
                self._add(counters, batch)
                if progress is not None:
                    progress(self.progress())
                if self._request.max_bicliques is not None and self._totals["found"] > self._request.max_bicliques:
                    break
        self._warps, self._bytes = memory.n_warps, memory.bytes()
        del held

    def _add(self, counters: dict[str, int], batch: tuple[Any, Any, bool]) -> None:
        for name, value in counters.items():
            self._totals[name] = (self._totals[name] + value) % 2**64
        self._roots_done += len(batch[0]) + len(batch[1])

    def _describe(self, cp: Any, graph: DeviceGraph) -> tuple[dict[str, int], list[Any]]:
        """The fields of `Run` that do not change between batches, and the arrays that they point to."""
        request, left = self._request, self._request.side == "left"
        is_root = cp.ones(len(graph.column_start) - 1, dtype=cp.uint32)
        if request.roots is not None:
            is_root[:] = 0
            is_root[cp.asarray(request.roots)] = 1
        arrays = {
            "row_start": graph.row_start,
            "column_start": graph.column_start,
            "row_columns": graph.row_columns,
            "column_rows": graph.column_rows,
            "places": graph.places,
            "is_root": is_root,
        }
        if self._mode == "digest":
            column_ids, row_ids = (request.left_ids, request.right_ids)[:: 1 if left else -1]
            seeds = (LEFT_SEED, RIGHT_SEED)[:: 1 if left else -1]
            arrays["column_hashes"] = cp.asarray(vertex_hashes(column_ids, seeds[0]))[graph.vertex_of_column]
            arrays["row_hashes"] = cp.asarray(vertex_hashes(row_ids, seeds[1]))
        fields = {name: int(array.data.ptr) for name, array in arrays.items()}
        fields |= {
            "n_rows": len(graph.row_start) - 1,
            "n_columns": len(graph.column_start) - 1,
            "min_rows": request.min_right if left else request.min_left,
            "min_columns": request.min_left if left else request.min_right,
            "min_edges": request.min_edges,
            "columns_are_left": int(left),
            "max_bicliques": NO_LIMIT if request.max_bicliques is None else request.max_bicliques,
            "task_words": TASK_WORDS,
        }
        return fields, list(arrays.values())

    def _choose_roots(self, cp: Any, graph: DeviceGraph) -> tuple[Any, Any]:
        """Roots with at least two rows, by falling size: those for large blocks, and the others."""
        roots = (
            cp.arange(len(graph.column_start) - 1) if self._request.roots is None else cp.asarray(self._request.roots)
        )
        roots = roots[cp.diff(graph.column_start.astype(cp.int64))[roots] >= 2]
        weight = graph.edges_in_two_steps[roots]
        roots = roots[cp.argsort(-weight)].astype(cp.uint32)
        n_heavy = int((weight > HEAVY_ROOT_EDGES).sum())
        return roots[:n_heavy], roots[n_heavy:]

    def _attempt(
        self, cp: Any, fields: dict[str, int], memory: DeviceMemory, batch: tuple[Any, Any, bool]
    ) -> dict[str, int]:
        """Run the kernels over a batch of roots; returns the counters."""
        heavy, light, single_rows = batch
        module = _kernels(cp.cuda.Device().id)
        roots = cp.concatenate([heavy, light])
        counters = cp.zeros(len(COUNTERS), dtype=cp.uint64)
        counters[COUNTERS.index("pending")] = memory.n_warps
        memory.ready[:] = 0
        pointers = {
            "roots": int(roots.data.ptr),
            "counters": int(counters.data.ptr),
            "n_heavy": len(heavy),
            "n_light": len(light),
        }
        values = {**fields, **pointers}
        run = cp.asarray(np.array([values.get(name, 0) for name in RUN_FIELDS], dtype=np.uint64))
        events = [cp.cuda.Event() for _ in range(3)]
        events[0].record()
        if single_rows and fields["min_rows"] <= 1:
            module.get_function("single_rows")((memory.multiprocessors * 8,), (256,), (run,))
        if len(heavy):
            module.get_function("build_heavy_roots")((memory.heavy_blocks,), (1024,), (run,))
        if len(light):
            blocks = memory.light_blocks
            module.get_function("build_light_roots")((blocks,), (64,), (run, np.uint32(memory.heavy_blocks)))
        events[1].record()
        name = "search_members" if self._needs_members() else "search_count"
        module.get_function(name)((memory.n_warps // WARPS_A_BLOCK,), (32 * WARPS_A_BLOCK,), (run,))
        events[2].record()
        self._await(cp, events[2])
        self._seconds["lists"] += cp.cuda.get_elapsed_time(events[0], events[1]) / 1000
        self._seconds["search"] += cp.cuda.get_elapsed_time(events[1], events[2]) / 1000
        outcome = dict(zip(COUNTERS, map(int, counters.get()), strict=True))
        if outcome["failure"]:
            memory.clear_scratch()
        return outcome

    def _needs_members(self) -> bool:
        request = self._request
        min_rows, min_columns = request.min_left, request.min_right
        if request.side == "left":
            min_rows, min_columns = min_columns, min_rows
        return self._mode != "count" or min_columns > 1 or request.min_edges > max(min_rows, 1)

    @staticmethod
    def _await(cp: Any, event: Any) -> None:
        """Wait without holding the interpreter, so that an interrupt is seen; raises what the kernels ran into."""
        while cp.cuda.runtime.eventQuery(event.ptr) == NOT_READY:
            time.sleep(POLL_SECONDS)
        event.synchronize()


def _halves(batch: tuple[Any, Any, bool]) -> list[tuple[Any, Any, bool]]:
    """Two batches that take turns over the roots of one; its bicliques of one row go with the first."""
    heavy, light, single_rows = batch
    if len(heavy) + len(light) < 2:
        raise BackendError("the largest root does not fit in the GPU's free memory; use the CPU backend")
    return [(heavy[1::2], light[::2], False), (heavy[::2], light[1::2], single_rows)]


class DeviceMemory:
    """Blocks of device memory for a run, as shares of what is free."""

    def __init__(self, cp: Any, graph: DeviceGraph, n_roots: int) -> None:
        self._cp = cp
        device = cp.cuda.Device()
        self.multiprocessors = int(device.attributes["MultiProcessorCount"])
        self._blocks_a_multiprocessor = BLOCKS_A_MULTIPROCESSOR
        pool = cp.get_default_memory_pool()
        free = int(device.mem_info[0]) + int(pool.free_bytes())
        self._free = free
        n_columns = len(graph.column_start) - 1
        self._max_degree = int(cp.diff(graph.column_start.astype(cp.int64)).max()) if n_columns else 0
        self._shape_scratch(n_columns)
        arena_words = min(int(free * ARENA_SHARE), 32 << 30) // 4
        self.arena = cp.empty(arena_words, dtype=cp.uint32)
        self.n_tasks = min(N_TASKS, int(free * 0.02) // TASK_BYTES)
        self.tasks = cp.empty(self.n_tasks * TASK_BYTES, dtype=cp.uint8)
        self.subtrees = cp.empty(max(n_roots, 1) * SUBTREE_BYTES, dtype=cp.uint8)
        self.n_given = min(N_GIVEN, int(free * 0.02) // SUBTREE_BYTES)
        self.slots = cp.empty(self.n_given * SUBTREE_BYTES, dtype=cp.uint8)
        self.ready = cp.zeros(self.n_given, dtype=cp.uint32)
        self.workspace_words = min(FIRST_WORKSPACE_WORDS, int(free * WORKSPACE_SHARE) // 4 // self.n_warps)
        self.workspace = cp.empty(self.workspace_words * self.n_warps, dtype=cp.uint32)

    @property
    def n_warps(self) -> int:
        """Warps of the search."""
        return self.multiprocessors * self._blocks_a_multiprocessor * WARPS_A_BLOCK

    def fields(self) -> dict[str, int]:
        """The fields of `Run` that describe memory."""
        arrays = ("scratch", "arena", "subtrees", "tasks", "slots", "ready", "workspace")
        fields = {name: int(getattr(self, name).data.ptr) for name in arrays}
        return fields | {
            "max_degree": self._max_degree,
            "arena_words": self.arena.size,
            "subtree_capacity": self.subtrees.size // SUBTREE_BYTES,
            "task_capacity": self.n_tasks,
            "slot_capacity": self.n_given,
            "workspace_words": self.workspace_words,
        }

    def bytes(self) -> int:
        """All of it."""
        arrays = (self.scratch, self.arena, self.subtrees, self.tasks, self.slots, self.ready, self.workspace)
        return sum(int(array.nbytes) for array in arrays)

    def enlarge_workspaces(self) -> None:
        """Twice the workspace a warp, with half of the warps where the memory is too small for all."""
        words = 2 * self.workspace_words
        while 4 * words * self.n_warps > self._free * WORKSPACE_SHARE and self._blocks_a_multiprocessor > 1:
            self._blocks_a_multiprocessor //= 2
        if 4 * words * self.n_warps > self._free * (WORKSPACE_SHARE + 0.1):
            raise BackendError(
                f"a node needs more than {4 * self.workspace_words >> 20} MiB of workspace a warp, which this GPU's free "
                "memory does not hold; use the CPU backend"
            )
        self.workspace = None
        self.workspace_words = words
        self.workspace = self._cp.empty(words * self.n_warps, dtype=self._cp.uint32)

    def clear_scratch(self) -> None:
        """A run that failed leaves marks behind."""
        self.scratch[:] = 0

    def _shape_scratch(self, n_columns: int) -> None:
        """Four words a column and block for the builders of roots; fewer blocks where there are many columns."""
        words = 4 * n_columns + self._max_degree
        blocks = max(2, int(self._free * SCRATCH_SHARE) // 4 // max(words, 1))
        self.heavy_blocks = min(self.multiprocessors * HEAVY_BLOCKS_A_MULTIPROCESSOR, blocks // 2)
        self.light_blocks = min(self.multiprocessors * LIGHT_BLOCKS_A_MULTIPROCESSOR, blocks - self.heavy_blocks)
        self.scratch = self._cp.zeros((self.heavy_blocks + self.light_blocks) * words, dtype=self._cp.uint32)
