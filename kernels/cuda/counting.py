"""The CUDA driver of (p,q)-counts: compiles `src/counting/levels.cu` at run time and runs it through CuPy.

Core, order and adjacency are made on the device with array operations; then one kernel builds the roots and one kernel a
level searches them. Where the memory of a run does not suffice it is repeated with half of the roots at a time: a sum is
taken over only from a run that came to its end.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from kernels.contracts import Progress, ProgressCallback
from kernels.cuda.enumeration import MEMORY_VARIABLE, NOT_READY, OPTIONS, POLL_SECONDS, device_errors, source
from kernels.errors import BackendError

ROOT_THREADS, WAVE_THREADS = 256, 128
ROOT_BLOCKS_A_MULTIPROCESSOR = 8
WAVE_BLOCKS_A_MULTIPROCESSOR = 12
NODE_BYTES, TASK_BYTES = 24, 8
MOST_WAVES = 64
ARENA_SHARE, TASKS_SHARE, NODES_SHARE, SCRATCH_SHARE, WORKSPACE_SHARE = 0.4, 0.1, 0.1, 0.1, 0.2  # of the free memory
LARGEST_ARENA_BYTES, LARGEST_TASKS, LARGEST_NODES = 32 << 30, 1 << 28, 1 << 26
MOST_SUBSETS = 1024  # of a small set that are kept as words; the kernel asks for no more
SMALL = 33
TOO_LARGE = 2**128 - 1

COUNTERS = ("next_root", "arena_used", "n_nodes", "n_tasks", "failure", "too_large", "work")
N_COUNTERS = len(COUNTERS) + 2 * MOST_WAVES + 1
RUN_FIELDS = (
    "root_start", "row_start", "root_rows", "row_roots", "roots", "scratch", "arena", "nodes", "tasks", "workspace", "totals",
    "table_low", "table_high", "binomials", "subsets", "first_subset", "counters", "n_vertices", "n_roots", "p", "q",
    "arena_words", "node_capacity", "task_capacity", "workspace_words",
)  # fmt: skip


@dataclass(frozen=True)
class CountRoots:
    """Both adjacency lists of the core, in search order, as arrays of CuPy (or NumPy, in tests)."""

    root_start: Any
    root_rows: Any
    row_start: Any
    row_roots: Any
    vertex_of_root: Any  # its number in the input


def prepare(
    xp: Any, indptr: Any, indices: Any, n_right: int, left: bool, p: int, q: int, keep_order: bool
) -> CountRoots:
    """Keep what can hold a p×q (p on the side of the roots), number it by ascending degree, and build both adjacencies."""
    starts = xp.asarray(indptr)
    rights = xp.asarray(indices).astype(xp.int64)
    lefts = _owners(xp, starts, len(rights))
    roots, rows = (lefts, rights) if left else (rights, lefts)
    n_roots, n_rows = (len(indptr) - 1, n_right)[:: 1 if left else -1]
    while True:
        root_degree, row_degree = xp.bincount(roots, minlength=n_roots), xp.bincount(rows, minlength=n_rows)
        keep = (root_degree[roots] >= q) & (row_degree[rows] >= p)
        kept = int(keep.sum())
        if kept == len(roots):
            break
        roots, rows = roots[keep], rows[keep]
    numbers = xp.arange(n_roots, dtype=xp.int64)
    order = numbers if keep_order else xp.argsort(root_degree * max(n_roots, 1) + numbers)
    order = order[root_degree[order] > 0]
    rank = xp.zeros(n_roots, dtype=xp.int64)
    rank[order] = xp.arange(len(order), dtype=xp.int64)
    row_rank = xp.cumsum(row_degree > 0) - 1
    roots, rows, n_rows = rank[roots], row_rank[rows], int((row_degree > 0).sum())
    by_root = xp.argsort(roots * max(n_rows, 1) + rows)
    by_row = xp.argsort(rows * max(len(order), 1) + roots)
    return CountRoots(
        root_start=_starts(xp, roots, len(order)),
        root_rows=rows[by_root].astype(xp.uint32),
        row_start=_starts(xp, rows, n_rows),
        row_roots=roots[by_row].astype(xp.uint32),
        vertex_of_root=order,
    )


def _owners(xp: Any, starts: Any, n: int) -> Any:
    return xp.searchsorted(starts, xp.arange(n, dtype=xp.int64), side="right") - 1


def _starts(xp: Any, owners: Any, n: int) -> Any:
    starts = xp.zeros(n + 1, dtype=xp.uint64)
    starts[1:] = xp.cumsum(xp.bincount(owners, minlength=n))
    return starts


@cache
def small_subsets() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """C(n, k) for n, k <= 32; the k-subsets of n things as words, where there are few; where those of [n][k] begin."""
    binomials = np.array([[comb(n, k) for k in range(SMALL)] for n in range(SMALL)], np.uint32)
    words: list[int] = []
    first = np.zeros((SMALL, SMALL), np.uint32)
    for n, k in np.ndindex(SMALL, SMALL):
        first[n, k] = len(words)
        if 0 < comb(n, k) <= MOST_SUBSETS:
            words.extend(sum(1 << i for i in chosen) for chosen in combinations(range(n), k))
    return binomials.ravel(), np.array(words, np.uint32), first.ravel()


def choices(largest: int, q: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """C(n, q) for n up to the largest, in low and high halves; all ones stand for what does not fit.

    Examples
    --------
    >>> low, high = choices(4, 2)
    >>> low.tolist(), high.tolist()
    ([0, 0, 1, 3, 6], [0, 0, 0, 0, 0])
    """
    value, values = 1, [0] * min(q, largest + 1)
    for n in range(q, largest + 1):
        values.append(min(value, TOO_LARGE))
        value = value * (n + 1) // (n + 1 - q) if value < TOO_LARGE else value
    half = 2**64 - 1
    return np.array([v & half for v in values], np.uint64), np.array([v >> 64 for v in values], np.uint64)


@cache
def compiled(name: str, device: int) -> Any:
    """Compile one of the sources for the current GPU; `device` is part of the cache's key."""
    import cupy

    del device
    module = cupy.RawModule(code=source(name), options=OPTIONS)
    try:
        module.compile()
    except cupy.cuda.compiler.CompileException as error:
        raise BackendError(f"the CUDA kernels do not compile for this GPU: {str(error)[:2000]}") from error
    return module


def free_memory(cp: Any) -> int:
    """Bytes that a count may take of the current GPU: what is free, or the cap of the environment."""
    free = int(cp.cuda.Device().mem_info[0]) + int(cp.get_default_memory_pool().free_bytes())
    return min(free, int(os.environ.get(MEMORY_VARIABLE, free)))


class CudaCount:
    """One count by levels on the current GPU; `wait` runs it.

    Parameters
    ----------
    indptr, indices, n_right
        CSR of the left side.
    p, q
        Left and right size, both 2 or more.
    left
        Whether the roots are left vertices.
    roots
        Vertices of that side to count below, in the order of its numbers; None: all, by ascending degree.
    """

    def __init__(self, indptr: Any, indices: Any, n_right: int, p: int, q: int, left: bool, roots: Any) -> None:
        self._graph = (indptr, indices, n_right)
        self._left, self._roots = left, roots
        self._p, self._q = (p, q) if left else (q, p)
        self.count = 0
        self.too_large = False
        self.work = 0
        self.seconds = {"prepare": 0.0, "roots": 0.0, "search": 0.0}
        self._progress = Progress(0, 0, 0)

    def wait(self, progress: ProgressCallback | None) -> None:
        """Run to the end."""
        import cupy

        if self._p - 1 > MOST_WAVES:
            raise BackendError(
                f"the CUDA backend chooses at most {MOST_WAVES + 1} vertices of the side of the roots, not {self._p};"
                " take the other side, or the CPU backend"
            )
        with device_errors():
            self._run(cupy, progress)

    def _run(self, cp: Any, progress: ProgressCallback | None) -> None:
        started = time.perf_counter()
        graph = prepare(cp, *self._graph, self._left, self._p, self._q, self._roots is not None)
        chosen = self._chosen(cp, graph)
        memory = CountMemory(cp, graph)
        fields = memory.fields() | self._describe(cp, graph, memory)
        cp.cuda.Device().synchronize()
        self.seconds["prepare"] = time.perf_counter() - started
        batches, done, all_roots = [chosen], 0, len(chosen)
        while batches:
            batch = batches.pop()
            if not len(batch):
                continue
            outcome = self._attempt(cp, fields, memory, batch)
            if outcome["failure"]:
                if len(batch) < 2:
                    raise BackendError("the largest root does not fit in the GPU's free memory; use the CPU backend")
                batches += [cp.ascontiguousarray(half) for half in (batch[1::2], batch[::2])]
                continue
            totals = memory.totals.get().reshape(-1, 2)
            self.count += sum(int(low) + (int(high) << 64) for low, high in totals[totals.any(axis=1)].tolist())
            self.too_large |= bool(outcome["too_large"]) or self.count > TOO_LARGE
            self.work += outcome["work"]
            done += len(batch)
            if progress is not None:
                progress(Progress(done, all_roots, 0))

    def _chosen(self, cp: Any, graph: CountRoots) -> Any:
        """Roots, those with most paths of two edges first."""
        n = len(graph.root_start) - 1
        places = cp.arange(n)
        if self._roots is not None:
            wanted = cp.zeros(int(max(len(self._graph[0]) - 1, self._graph[2])), dtype=cp.bool_)
            wanted[cp.asarray(self._roots)] = True
            places = places[wanted[graph.vertex_of_root]]
        owners = _owners(cp, graph.root_start.astype(cp.int64), len(graph.root_rows))
        row_degree = cp.diff(graph.row_start.astype(cp.int64))
        paths = cp.bincount(owners, weights=row_degree[graph.root_rows].astype(cp.float64), minlength=n)
        return places[cp.argsort(-paths[places])].astype(cp.uint32)

    def _describe(self, cp: Any, graph: CountRoots, memory: CountMemory) -> dict[str, int]:
        degrees = cp.diff(graph.root_start.astype(cp.int64))
        low, high = choices(int(degrees.max()) if len(degrees) else 0, self._q)
        binomials, subsets, first = small_subsets()
        arrays = {
            "table_low": low, "table_high": high, "binomials": binomials, "subsets": subsets, "first_subset": first,
            "root_start": graph.root_start, "row_start": graph.row_start, "root_rows": graph.root_rows, "row_roots": graph.row_roots,
        }  # fmt: skip
        self._held = {name: cp.asarray(array) for name, array in arrays.items()}
        pointers = {name: int(array.data.ptr) for name, array in self._held.items()}
        return pointers | {"n_vertices": len(degrees), "p": self._p, "q": self._q}

    def _attempt(self, cp: Any, fields: dict[str, int], memory: CountMemory, roots: Any) -> dict[str, int]:
        """Run the kernels over a batch of roots; returns the counters."""
        module = compiled("counting/levels.cu", cp.cuda.Device().id)
        counters = cp.zeros(N_COUNTERS, dtype=cp.uint64)
        memory.totals[:] = 0
        values = {**fields, "roots": int(roots.data.ptr), "n_roots": len(roots), "counters": int(counters.data.ptr)}
        run = cp.asarray(np.array([values[name] for name in RUN_FIELDS], dtype=np.uint64))
        build, close, search = (module.get_function(name) for name in ("count_roots", "close_wave", "count_wave"))
        events = [cp.cuda.Event() for _ in range(3)]
        events[0].record()
        build((min(memory.root_blocks, len(roots)),), (ROOT_THREADS,), (run,))
        events[1].record()
        for wave in range(self._p - 2):
            close((1,), (1,), (run, np.uint32(wave)))
            search((memory.wave_blocks,), (WAVE_THREADS,), (run, np.uint32(wave)))
        events[2].record()
        while cp.cuda.runtime.eventQuery(events[2].ptr) == NOT_READY:
            time.sleep(POLL_SECONDS)
        events[2].synchronize()
        self.seconds["roots"] += cp.cuda.get_elapsed_time(events[0], events[1]) / 1000
        self.seconds["search"] += cp.cuda.get_elapsed_time(events[1], events[2]) / 1000
        return dict(zip(COUNTERS, map(int, counters.get()), strict=False))


class CountMemory:
    """Blocks of device memory for a count, as shares of what is free."""

    def __init__(self, cp: Any, graph: CountRoots) -> None:
        device = cp.cuda.Device()
        free = free_memory(cp)
        multiprocessors = int(device.attributes["MultiProcessorCount"])
        n = len(graph.root_start) - 1
        degrees = cp.diff(graph.root_start.astype(cp.int64))
        words = (int(degrees.max()) if n else 0) // 32 + 64
        self._workspace_words = max(2 * (n + 64), 4 * words)
        self.root_blocks = blocks_that_fit(
            multiprocessors * ROOT_BLOCKS_A_MULTIPROCESSOR, free * SCRATCH_SHARE, 8 * max(n, 1)
        )
        warps = WAVE_THREADS // 32
        self.wave_blocks = blocks_that_fit(
            multiprocessors * WAVE_BLOCKS_A_MULTIPROCESSOR, free * WORKSPACE_SHARE, 4 * self._workspace_words * warps
        )
        n_warps = max(self.root_blocks * ROOT_THREADS // 32, self.wave_blocks * warps)
        self.arena = cp.empty(min(int(free * ARENA_SHARE), LARGEST_ARENA_BYTES) // 4, dtype=cp.uint32)
        self._n_nodes = min(LARGEST_NODES, int(free * NODES_SHARE) // NODE_BYTES)
        self._n_tasks = min(LARGEST_TASKS, int(free * TASKS_SHARE) // TASK_BYTES)
        self.nodes = cp.empty(self._n_nodes * NODE_BYTES, dtype=cp.uint8)
        self.tasks = cp.empty(self._n_tasks * TASK_BYTES, dtype=cp.uint8)
        self.scratch = cp.zeros(2 * n * self.root_blocks, dtype=cp.uint32)
        self.workspace = cp.empty(self._workspace_words * self.wave_blocks * warps, dtype=cp.uint32)
        self.totals = cp.zeros(2 * n_warps, dtype=cp.uint64)

    def fields(self) -> dict[str, int]:
        """The fields of `CountRun` that describe memory."""
        names = ("scratch", "arena", "nodes", "tasks", "workspace", "totals")
        return {name: int(getattr(self, name).data.ptr) for name in names} | {
            "arena_words": self.arena.size,
            "node_capacity": self._n_nodes,
            "task_capacity": self._n_tasks,
            "workspace_words": self._workspace_words,
        }


def blocks_that_fit(wanted: int, share: float, bytes_a_block: int) -> int:
    """As many blocks as are wanted and fit."""
    fitting = int(share) // bytes_a_block
    if fitting < 1:
        raise BackendError(
            f"a block of this count needs {bytes_a_block >> 10:,} KiB, which this GPU's free memory does not hold"
        )
    return min(wanted, fitting)
