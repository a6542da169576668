"""The CUDA driver: compiles `src/enumeration/enumeration.cu` at run time and counts with its kernels through CuPy.

Order and adjacency are made on the device with array operations; then three kernels run back to back: the bicliques
of one row, the subtrees of the roots, the search. Where the memory of a run does not suffice, it is repeated with
more, or with half of the roots at a time: a count is taken over only from a run that came to its end.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from kernels.contracts import EnumerationRequest, EnumerationResult, Progress, ProgressCallback
from kernels.cuda.tuning import Tuning, current_tuning
from kernels.digest import LEFT_SEED, RIGHT_SEED, vertex_hashes
from kernels.errors import BackendError

SOURCES = Path(__file__).parents[1] / "src"
OPTIONS = ("--std=c++17", "--device-as-default-execution-space", "-DBICLIQ_ISA=cuda")
NO_LIMIT = 2**64 - 1

HEAVY_ROOT_EDGES = 4096  # edges in two steps of a root from which on a block of 1,024 threads builds it
HEAVY_BLOCKS_A_MULTIPROCESSOR = 1
LIGHT_BLOCKS_A_MULTIPROCESSOR = 16
SUBTREE_BYTES = 152
TASK_BYTES = 12
N_TASKS = 1 << 25
N_GIVEN = 1 << 20
GIVEN = 1  # flag of a slot whose node nobody has taken
PARKED_WORDS = 64  # what a warp keeps between two launches
FIRST_WORKSPACE_WORDS = 1 << 19  # of a warp
ARENA_SHARE, WORKSPACE_SHARE, SCRATCH_SHARE = 0.4, 0.3, 0.1  # of the free memory
OUTPUT_SHARE = 0.02  # six times as much is needed to sort it
POLL_SECONDS = 0.0002
WATCH_SECONDS = 0.2
STOP, END = 2, 1  # place of the counter that ends everybody, and its value
NOT_READY = 600  # cudaErrorNotReady

Batch = tuple[Any, Any, bool]
"""Heavy roots, light roots, and whether the bicliques of one row go with them."""

Watch = Callable[[dict[str, int]], None]
"""Is shown the counters of a launch while it runs."""

COUNTERS = (
    "head", "tail", "stop", "found", "digest", "nodes", "dropped", "next_heavy", "next_light", "next_task",
    "arena_used", "n_subtrees", "n_tasks", "pending", "failure", "busy", "longest", "output_used", "n_chunks",
)  # fmt: skip
RUN_FIELDS = (
    "row_start", "column_start", "row_columns", "column_rows", "places", "row_hashes", "column_hashes", "is_root", "roots",
    "scratch", "arena", "subtrees", "tasks", "slots", "ready", "workspace", "counters", "parked", "output", "chunks", "row_ids",
    "column_ids", "n_rows", "n_columns", "n_heavy", "n_light", "max_degree", "arena_words", "subtree_capacity", "task_capacity", "slot_capacity", "workspace_words",
    "min_rows", "min_columns", "min_edges", "columns_are_left", "max_bicliques", "task_words",
    "output_words", "chunk_words", "max_row_degree",
)  # fmt: skip
ARENA_FULL, TASKS_FULL, WORKSPACE_FULL = 1, 2, 3
SEARCHES = {"search_count": 0, "search_members": 1, "search_bicliques": 2}
MEMORY_VARIABLE = "BICLIQ_GPU_MEMORY"
"""Environment variable: bytes of device memory that a search may take, where that is less than what is free."""


@cache
def source(name: str = "enumeration/enumeration.cu") -> str:
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
def compiled(device: int, search: str, tuning: Tuning) -> Any:
    """The module of the current device with one of the searches (CuPy keeps the cubin on disk, by source and options)."""
    import cupy

    del device  # part of the cache's key
    options = (*OPTIONS, f"-DBICLIQ_SEARCH={SEARCHES[search]}", *tuning.options())
    module = cupy.RawModule(code=source(), options=options)
    try:
        module.compile()
    except cupy.cuda.compiler.CompileException as error:
        raise BackendError(f"the CUDA kernels do not compile for this GPU: {str(error)[:2000]}") from error
    return module


def current_device() -> int:
    """Number of the current GPU."""
    import cupy

    return int(cupy.cuda.Device().id)


@cache
def streams(device: int) -> tuple[Any, Any]:
    """The two streams of a device: one computes, the other copies beside it.

    All searches of a process share them, so one search follows another: the warps of two at a time would wait for
    warps that have no place on the device yet. And what one has freed is there for the next.
    """
    import cupy

    del device  # part of the cache's key
    return cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)


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


class CudaRun:
    """A batch of roots on the device: its counters, and the kernels that run over it."""

    def __init__(self, cp: Any, fields: dict[str, int], memory: DeviceMemory, batch: Batch, search: str) -> None:
        heavy, light, self._single_rows = batch
        self._cp, self._memory, self._search = cp, memory, search
        self._beside = streams(cp.cuda.Device().id)[1]
        self._launched = cp.cuda.Event()
        self._module = compiled(cp.cuda.Device().id, search, memory.tuning)
        self._min_rows = fields["min_rows"]
        self._n_heavy, self._n_light = len(heavy), len(light)
        self._roots = cp.concatenate([heavy, light])
        self.counters = cp.zeros(len(COUNTERS), dtype=cp.uint64)
        self.counters[COUNTERS.index("pending")] = memory.n_warps
        memory.ready[:] = 0
        pointers = {
            "roots": int(self._roots.data.ptr),
            "counters": int(self.counters.data.ptr),
            "n_heavy": self._n_heavy,
            "n_light": self._n_light,
        }
        values = {**fields, **memory.fields(), **pointers}
        self.fields = cp.asarray(np.array([values.get(name, 0) for name in RUN_FIELDS], dtype=np.uint64))

    def build(self) -> None:
        """Launch the kernels that make the subtrees of the roots."""
        memory = self._memory
        if self._single_rows and self._min_rows <= 1:
            self.launch("single_rows", memory.multiprocessors * 8, 256)
        if self._n_heavy:
            self.launch("build_heavy_roots", memory.heavy_blocks, 1024)
        if self._n_light:
            self.launch("build_light_roots", memory.light_blocks, 64, np.uint32(memory.heavy_blocks))

    def search(self) -> None:
        """Launch the search."""
        warps = self._memory.tuning.warps_a_block
        self.launch(self._search, self._memory.n_warps // warps, 32 * warps)
        self._launched = self._cp.cuda.get_current_stream().record()

    def launch(self, kernel: str, blocks: int, threads: int, *arguments: Any) -> None:
        """Launch a kernel on the current stream."""
        self._module.get_function(kernel)((blocks,), (threads,), (self.fields, *arguments))

    def wait(self, watch: Callable[[dict[str, int]], None] | None = None) -> dict[str, int]:
        """Wait for what was launched on the current stream, and read the counters.

        The interpreter is not held meanwhile, so an interrupt is seen: it ends the kernels. `watch` is shown the
        counters now and then.
        """
        done = self._cp.cuda.Event()
        done.record()
        due = time.monotonic() + WATCH_SECONDS
        try:
            while self._cp.cuda.runtime.eventQuery(done.ptr) == NOT_READY:
                time.sleep(POLL_SECONDS)
                if watch is not None and time.monotonic() >= due:
                    watch(self._read(self._beside))
                    due = time.monotonic() + WATCH_SECONDS
        except BaseException:
            self.halt()
            raise
        done.synchronize()
        return self._read(self._cp.cuda.get_current_stream())

    def halt(self) -> None:
        """End what may still run; its memory may be freed after that."""
        with suppress(self._cp.cuda.runtime.CUDARuntimeError):  # on a lost device nothing runs
            if not self._launched.done:
                self.counters[STOP : STOP + 1].set(np.full(1, END, dtype=np.uint64), stream=self._beside)
                self._launched.synchronize()

    def _read(self, stream: Any) -> dict[str, int]:
        """The counters; a copy beside a running kernel needs no part of the device that the kernel holds."""
        return dict(zip(COUNTERS, map(int, self.counters.get(stream=stream)), strict=True))


@contextmanager
def device_errors() -> Iterator[None]:
    """Turn what goes wrong on a GPU into a `BackendError` that says what to do."""
    import cupy

    try:
        yield
    except MemoryError as error:  # CuPy's own error is one, and what RMM raises
        raise BackendError(
            f"the GPU has too little free memory for this search ({error}); use the CPU backend, or free memory on the GPU"
        ) from error
    except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as error:
        raise BackendError(
            f"the GPU was lost during the search ({error}); use the CPU backend, or start again in a new process"
        ) from error


class CudaSearch:
    """One search on the current GPU that counts; `wait` runs it."""

    def __init__(self, request: EnumerationRequest, mode: str, output_words: int = 0) -> None:
        self._request = request
        self._mode = mode
        self._output_words = output_words  # of the block that bicliques are written to; 0: they are counted only
        self._totals = dict.fromkeys(COUNTERS, 0)
        self._seconds = {"prepare": 0.0, "lists": 0.0, "search": 0.0}
        self._roots_done = self._n_roots = self._warps = self._bytes = 0
        self._now: Progress | None = None
        self._most_cycles = 0  # of all warps, had each searched as long as the one that did longest

    def wait(self, progress: ProgressCallback | None) -> None:
        """Run to the end, reporting progress after each batch of roots."""
        import cupy

        with device_errors(), streams(cupy.cuda.Device().id)[0]:
            self._run(cupy, progress)

    def progress(self) -> Progress:
        """How far the search has come."""
        finished = Progress(self._roots_done, self._n_roots, self._totals["found"])
        return finished if self._now is None or finished.roots_done > self._now.roots_done else self._now

    def result(self, *, interrupted: bool = False) -> EnumerationResult:
        """The outcome; valid once the search has ended."""
        found, limit = self._totals["found"], self._request.max_bicliques
        complete = not interrupted and (limit is None or found <= limit)
        return EnumerationResult(
            bicliques=found if limit is None else min(found, limit),
            digest=self._totals["digest"] if complete and self._mode != "count" else None,
            complete=complete,
            side=self._request.side,
            nodes=self._totals["nodes"],
            dropped=self._totals["dropped"],
            seconds=self._seconds,
            threads=self._warps,
            backend="cuda",
            workspace_bytes=self._bytes,
            busy_ratio=self._totals["busy"] / self._most_cycles if self._most_cycles else 1.0,
        )

    # ---- one search

    def _run(self, cp: Any, progress: ProgressCallback | None) -> None:
        fields, memory, batches = self._prepare(cp)
        while batches:
            batch = batches.pop()
            watch = None if progress is None else self._watch(dict(self._totals), batch, progress)
            counters = self._attempt(cp, fields, memory, batch, watch)
            failure = counters["failure"]
            if failure == WORKSPACE_FULL:
                memory.enlarge_workspaces()
                batches.append(batch)
            elif failure:
                batches.extend(halves(batch))
            else:
                self._add(counters, batch)
                self._most_cycles += memory.n_warps * counters["longest"]
                if progress is not None:
                    progress(self.progress())
                if self._limit_reached():
                    break
        self._warps, self._bytes = memory.n_warps, memory.bytes()

    def _prepare(self, cp: Any) -> tuple[dict[str, int], DeviceMemory, list[Batch]]:
        """The fields of `Run` that do not change, the memory, and all roots as one batch."""
        started = time.perf_counter()
        graph = prepare(cp, self._request)
        fields, self._held = self._describe(cp, graph)
        heavy, light = self._choose_roots(cp, graph)
        self._n_roots = len(heavy) + len(light)
        memory = DeviceMemory(cp, graph, self._n_roots, self._output_words)
        cp.cuda.Device().synchronize()
        self._seconds["prepare"] = time.perf_counter() - started
        return fields, memory, [(heavy, light, True)]

    def _limit_reached(self) -> bool:
        limit = self._request.max_bicliques
        return limit is not None and self._totals["found"] > limit

    def _watch(self, before: dict[str, int], batch: Batch, progress: ProgressCallback | None = None) -> Watch:
        """Notes how far a launch is, and tells `progress`."""
        done, n_roots = self._roots_done, len(batch[0]) + len(batch[1])

        def watch(counters: dict[str, int]) -> None:
            share = min(counters["next_task"] / max(counters["n_tasks"], 1), 1.0)
            self._now = Progress(done + int(share * n_roots), self._n_roots, before["found"] + counters["found"])
            if progress is not None:
                progress(self._now)

        return watch

    def _add(self, counters: dict[str, int], batch: Batch) -> None:
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
        column_ids, row_ids = (request.left_ids, request.right_ids)[:: 1 if left else -1]
        if self._mode != "count":
            seeds = (LEFT_SEED, RIGHT_SEED)[:: 1 if left else -1]
            arrays["column_hashes"] = cp.asarray(vertex_hashes(column_ids, seeds[0]))[graph.vertex_of_column]
            arrays["row_hashes"] = cp.asarray(vertex_hashes(row_ids, seeds[1]))
        if self._output_words:
            arrays["column_ids"] = cp.asarray(column_ids)[graph.vertex_of_column]
            arrays["row_ids"] = cp.asarray(row_ids)
        fields = {name: int(array.data.ptr) for name, array in arrays.items()}
        fields |= {
            "n_rows": len(graph.row_start) - 1,
            "n_columns": len(graph.column_start) - 1,
            "min_rows": request.min_right if left else request.min_left,
            "min_columns": request.min_left if left else request.min_right,
            "min_edges": request.min_edges,
            "columns_are_left": int(left),
            "max_bicliques": NO_LIMIT if request.max_bicliques is None else request.max_bicliques,
            "task_words": current_tuning().task_words,
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
        self, cp: Any, fields: dict[str, int], memory: DeviceMemory, batch: Batch, watch: Watch | None
    ) -> dict[str, int]:
        """Run the kernels over a batch of roots; returns the counters."""
        run = CudaRun(cp, fields, memory, batch, "search_members" if self._needs_members() else "search_count")
        events = [cp.cuda.Event() for _ in range(3)]
        events[0].record()
        run.build()
        events[1].record()
        run.search()
        events[2].record()
        counters = run.wait(watch)
        self._seconds["lists"] += cp.cuda.get_elapsed_time(events[0], events[1]) / 1000
        self._seconds["search"] += cp.cuda.get_elapsed_time(events[1], events[2]) / 1000
        if counters["failure"]:
            memory.clear_scratch()
        return counters

    def _needs_members(self) -> bool:
        request = self._request
        min_rows, min_columns = request.min_left, request.min_right
        if request.side == "left":
            min_rows, min_columns = min_columns, min_rows
        return self._mode != "count" or min_columns > 1 or request.min_edges > max(min_rows, 1)


def halves(batch: Batch) -> list[Batch]:
    """Two batches that take turns over the roots of one; its bicliques of one row go with the first."""
    heavy, light, single_rows = batch
    if len(heavy) + len(light) < 2:
        raise BackendError("the largest root does not fit in the GPU's free memory; use the CPU backend")
    return [(heavy[1::2], light[::2], False), (heavy[::2], light[1::2], single_rows)]


class DeviceMemory:
    """Blocks of device memory for a run, as shares of what is free."""

    def __init__(self, cp: Any, graph: DeviceGraph, n_roots: int, output_words: int = 0) -> None:
        self._cp = cp
        device = cp.cuda.Device()
        self.tuning = current_tuning()
        self.multiprocessors = min(int(device.attributes["MultiProcessorCount"]), self.tuning.most_multiprocessors)
        self._blocks_a_multiprocessor = self.tuning.blocks_a_multiprocessor
        pool = cp.get_default_memory_pool()
        free = int(device.mem_info[0]) + int(pool.free_bytes())
        free = self._free = min(free, int(os.environ.get(MEMORY_VARIABLE, free)))
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
        self.workspace_words = int(free * WORKSPACE_SHARE) // 4 // self.n_warps // 16 * 16  # aligned, as every piece
        if not output_words:  # a search that has written cannot start again with more: it gets all at once
            self.workspace_words = min(FIRST_WORKSPACE_WORDS, self.workspace_words)
        self.workspace = cp.empty(self.workspace_words * self.n_warps, dtype=cp.uint32)
        self._output: dict[str, Any] = {}
        if output_words:
            max_row_degree = int(cp.diff(graph.row_start.astype(cp.int64)).max()) if len(graph.row_start) > 1 else 0
            self._make_output(output_words, max_row_degree)

    @property
    def n_warps(self) -> int:
        """Warps of the search."""
        return self.multiprocessors * self._blocks_a_multiprocessor * self.tuning.warps_a_block

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
            **self._output_fields(),
        }

    def bytes(self) -> int:
        """All of it."""
        arrays = (self.scratch, self.arena, self.subtrees, self.tasks, self.slots, self.ready, self.workspace)
        arrays += tuple(self._output.values())
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

    def forget_parked(self) -> None:
        """No warp has anything to go on with."""
        self._output["parked"][:] = 0

    def requeue(self, tail: int) -> int:
        """Move the given nodes that nobody has taken to the front of the queue; returns their number."""
        untaken = self._cp.flatnonzero(self.ready[:tail] == GIVEN)
        slots = self.slots.reshape(-1, SUBTREE_BYTES)
        slots[: len(untaken)] = slots[untaken]
        self.ready[:] = 0
        self.ready[: len(untaken)] = GIVEN
        return len(untaken)

    def _make_output(self, most_words: int, max_row_degree: int) -> None:
        """The block that bicliques are written to, which holds the largest one that may come; what warps keep when they park."""
        self._max_row_degree = max_row_degree
        largest = 3 + self._max_degree + max_row_degree
        words = max(min(most_words, int(self._free * OUTPUT_SHARE) // 4), largest)
        self._chunk_words = min(max(words // (4 * self.n_warps), 256), 4096)
        self._output = {
            "output": self._cp.empty(words, dtype=self._cp.uint32),
            "chunks": self._cp.empty((words // self._chunk_words + 1, 2), dtype=self._cp.uint64),
            "parked": self._cp.zeros(self.n_warps * PARKED_WORDS, dtype=self._cp.uint32),
        }

    def _output_fields(self) -> dict[str, int]:
        if not self._output:
            return {}
        return {
            **{name: int(array.data.ptr) for name, array in self._output.items()},
            "output_words": self._output["output"].size,
            "chunk_words": self._chunk_words,
            "max_row_degree": self._max_row_degree,
        }

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
