"""The CUDA driver of the enumeration: counts by `src/search/device/enumeration.cu`, through CuPy.

Order and adjacency are made on the device, step by step (`kernels.cuda.search_graph`); then three
kernels run back to back: the bicliques of one row, the subtrees of the roots, the search. Where the
memory of a run does not suffice, it is repeated with more, or with half of the roots at a time: a
count is taken over only from a run that came to its end. Nothing here asks CuPy for a kernel of its
own, which it would compile when a machine first needs it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from bicliq.kernels.contracts import EnumerationRequest, EnumerationResult, Progress, ProgressCallback
from bicliq.kernels.cuda.batches import Failure, RootBatches
from bicliq.kernels.cuda.device import current_device, device_errors, streams, wait_for_event, with_room
from bicliq.kernels.cuda.search_graph import SearchGraph, search_graph
from bicliq.kernels.cuda.search_memory import SearchMemory
from bicliq.kernels.cuda.search_program import (
    COUNTERS,
    HEAVY_THREADS,
    LIGHT_THREADS,
    OPTIONAL,
    RUN,
    Stop,
    compiled_search,
    current_tuning,
)
from bicliq.kernels.digest import LEFT_SEED, RIGHT_SEED, vertex_hashes

NO_LIMIT = 2**64 - 1

HEAVY_ROOT_EDGES = 4096  # edges in two steps of a root from which on a block of `HEAVY_THREADS` builds it
SINGLE_ROW_BLOCKS_A_MULTIPROCESSOR, SINGLE_ROW_THREADS = 8, 256
WATCH_SECONDS = 0.2

Watch = Callable[[dict[str, int]], None]
"""Is shown the counters of a launch while it runs."""


@dataclass(frozen=True, eq=False)
class SearchBatch:
    """Roots that are searched together.

    Parameters
    ----------
    heavy, light : array of uint32
        Roots that large blocks of threads build, and those of small blocks; by falling size. They
        lie on the host.
    single_rows : bool
        Whether the bicliques of one row go with them.
    """

    heavy: Any
    light: Any
    single_rows: bool

    def __len__(self) -> int:
        return len(self.heavy) + len(self.light)

    def halves(self) -> tuple[SearchBatch, SearchBatch]:
        """Two batches that take turns over the roots; the first has the bicliques of one row."""
        first = SearchBatch(self.heavy[::2], self.light[1::2], self.single_rows)
        return first, SearchBatch(self.heavy[1::2], self.light[::2], False)


class CudaRun:
    """A batch of roots on the device: its counters, and the kernels that run over it."""

    def __init__(self, cp: Any, fields: dict[str, Any], memory: SearchMemory, batch: SearchBatch, search: str) -> None:
        self._cp, self._memory, self._search, self._batch = cp, memory, search, batch
        self._beside = streams(current_device()).beside
        self._launched = cp.cuda.Event()
        self._module = compiled_search(search, memory.tuning)
        self._min_rows = fields["min_rows"]
        self._roots = cp.asarray(np.concatenate([batch.heavy, batch.light]))
        self.counters = cp.asarray(COUNTERS.packed({"pending": memory.n_warps}, COUNTERS.names))
        memory.slot_states.fill(0)
        sizes = {"n_heavy": len(batch.heavy), "n_light": len(batch.light)}
        own = {"roots": self._roots, "counters": self.counters, **sizes}
        self.fields = cp.asarray(RUN.packed(fields | memory.fields() | own, OPTIONAL))

    def build(self) -> None:
        """Launch the kernels that make the subtrees of the roots."""
        memory, batch = self._memory, self._batch
        if batch.single_rows and self._min_rows <= 1:
            blocks = memory.multiprocessors * SINGLE_ROW_BLOCKS_A_MULTIPROCESSOR
            self.launch("single_rows", blocks, SINGLE_ROW_THREADS)
        if len(batch.heavy):
            self.launch("build_heavy_roots", memory.heavy_blocks, HEAVY_THREADS)
        if len(batch.light):
            self.launch("build_light_roots", memory.light_blocks, LIGHT_THREADS, np.uint32(memory.heavy_blocks))

    def search(self) -> None:
        """Launch the search."""
        warps = self._memory.tuning.warps_a_block
        self.launch(self._search, self._memory.n_warps // warps, 32 * warps)
        self._launched = self._cp.cuda.get_current_stream().record()

    def launch(self, kernel: str, blocks: int, threads: int, *arguments: Any) -> None:
        """Launch a kernel on the current stream."""
        self._module.get_function(kernel)((blocks,), (threads,), (self.fields, *arguments))

    def wait(self, watch: Watch | None = None) -> dict[str, int]:
        """Wait for what was launched on the current stream, and read the counters.

        An interrupt is heard meanwhile, and ends the kernels. `watch` is shown the counters now and
        then.
        """
        done = self._cp.cuda.Event()
        done.record()
        due = time.monotonic() + WATCH_SECONDS

        def look() -> None:
            nonlocal due
            if watch is not None and time.monotonic() >= due:
                watch(self._read(self._beside))
                due = time.monotonic() + WATCH_SECONDS

        try:
            wait_for_event(done, look)
        except BaseException:
            self.halt()
            raise
        return self._read(self._cp.cuda.get_current_stream())

    def halt(self) -> None:
        """End what may still run; its memory may be freed after that."""
        with suppress(self._cp.cuda.runtime.CUDARuntimeError):  # on a lost device nothing runs
            if not self._launched.done:
                place = COUNTERS.word("stop")
                self.counters[place : place + 1].set(np.full(1, Stop.END, dtype=np.uint64), stream=self._beside)
                self._launched.synchronize()

    def _read(self, stream: Any) -> dict[str, int]:
        """The counters; a copy beside a running kernel needs nothing that the kernel holds."""
        return COUNTERS.unpacked(self.counters.get(stream=stream))


class CudaSearch:
    """One search on the current GPU that counts; `wait` runs it."""

    def __init__(self, request: EnumerationRequest, mode: str, output_words: int = 0) -> None:
        self._request = request
        self._mode = mode
        self._output_words = output_words  # of the block that bicliques are written to; 0: they are counted only
        self._totals = dict.fromkeys(COUNTERS.names, 0)
        self._seconds = {"prepare": 0.0, "lists": 0.0, "search": 0.0}
        self._roots_done = self._n_roots = self._warps = self._bytes = 0
        self._now: Progress | None = None
        self._most_cycles = 0  # of all warps, had each searched as long as the one that did longest

    def wait(self, progress: ProgressCallback | None) -> None:
        """Run to the end, reporting progress after each batch of roots."""
        import cupy

        with device_errors(), streams(current_device()).search:
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
            not_canonical=self._totals["dropped"],
            seconds=self._seconds,
            threads=self._warps,
            backend="cuda",
            workspace_bytes=self._bytes,
            busy_ratio=self._totals["busy"] / self._most_cycles if self._most_cycles else 1.0,
        )

    # ---- one search

    def _run(self, cp: Any, progress: ProgressCallback | None) -> None:
        fields, memory, batches = self._prepare(cp)
        for batch in batches:
            watch = None if progress is None else self._watch(dict(self._totals), batch, progress)
            counters = self._attempt(cp, fields, memory, batch, watch)
            if counters["failure"] == Failure.WORKSPACE_FULL:
                memory.enlarge_workspaces()
                batches.repeat(batch)
            elif counters["failure"]:
                batches.halve(batch)
            else:
                self._add(counters, batch)
                self._most_cycles += memory.n_warps * counters["longest"]
                if progress is not None:
                    progress(self.progress())
                if self._limit_reached():
                    break
        self._warps, self._bytes = memory.n_warps, memory.bytes()

    def _prepare(self, cp: Any) -> tuple[dict[str, Any], SearchMemory, RootBatches[SearchBatch]]:
        """The fields of `RUN` that do not change, the memory, and all roots as one batch."""
        started = time.perf_counter()
        fields, memory, batch = with_room(lambda: self._laid_out(cp))
        self._n_roots = len(batch)
        cp.cuda.Device().synchronize()
        self._seconds["prepare"] = time.perf_counter() - started
        return fields, memory, RootBatches(batch, SearchBatch.halves)

    def _laid_out(self, cp: Any) -> tuple[dict[str, Any], SearchMemory, SearchBatch]:
        """All that is on the device; where it does not fit, nothing stays there."""
        graph = search_graph(cp, self._request, compiled_search(self.kernel, current_tuning()))
        arrays = {name: cp.asarray(array) for name, array in self._arrays(graph).items()}
        fields = arrays | self._numbers(graph)
        batch = self._choose_roots(graph)
        return fields, SearchMemory(cp, graph, len(batch), self._output_words), batch

    def _limit_reached(self) -> bool:
        limit = self._request.max_bicliques
        return limit is not None and self._totals["found"] > limit

    def _watch(self, before: dict[str, int], batch: SearchBatch, progress: ProgressCallback | None = None) -> Watch:
        """Notes how far a launch is, and tells `progress`."""
        done, n_roots = self._roots_done, len(batch)

        def watch(counters: dict[str, int]) -> None:
            share = min(counters["next_task"] / max(counters["n_tasks"], 1), 1.0)
            self._now = Progress(done + int(share * n_roots), self._n_roots, before["found"] + counters["found"])
            if progress is not None:
                progress(self._now)

        return watch

    def _add(self, counters: dict[str, int], batch: SearchBatch) -> None:
        self._totals = summed(self._totals, counters)
        self._roots_done += len(batch)

    def _arrays(self, graph: SearchGraph) -> dict[str, Any]:
        """The arrays that fields of `RUN` point to, the same for all batches."""
        request, roots = self._request, self._some_roots()
        is_root = np.full(len(graph.column_degree), roots is None, np.uint32)
        if roots is not None:
            is_root[roots] = 1
        arrays = {
            "row_start": graph.row_start,
            "column_start": graph.column_start,
            "row_columns": graph.row_columns,
            "column_rows": graph.column_rows,
            "places": graph.places,
            "is_root": is_root,
        }
        if self._mode != "count":
            arrays |= self._hashes(graph)
        if self._output_words:
            column_ids, row_ids = self._by_role(request.left_ids, request.right_ids)
            arrays |= {"column_ids": column_ids[graph.vertex_of_column], "row_ids": row_ids}
        return arrays

    def _hashes(self, graph: SearchGraph) -> dict[str, Any]:
        """What the kernels add up over the members of a biclique."""
        columns, rows = self._by_role(self._request.left_hashes, self._request.right_hashes)
        column_seed, row_seed = self._by_role(LEFT_SEED, RIGHT_SEED)
        return {
            "column_hashes": vertex_hashes(columns, column_seed)[graph.vertex_of_column],
            "row_hashes": vertex_hashes(rows, row_seed),
        }

    def _by_role(self, left: Any, right: Any) -> tuple[Any, Any]:
        """What belongs to the columns, and what to the rows."""
        return (left, right) if self._request.side == "left" else (right, left)

    def _numbers(self, graph: SearchGraph) -> dict[str, int]:
        """The fields of `RUN` that are numbers, the same for all batches."""
        request, left = self._request, self._request.side == "left"
        return {
            "n_rows": len(graph.row_start) - 1,
            "n_columns": len(graph.column_degree),
            "min_rows": request.min_right if left else request.min_left,
            "min_columns": request.min_left if left else request.min_right,
            "min_edges": request.min_edges,
            "columns_are_left": int(left),
            "max_bicliques": NO_LIMIT if request.max_bicliques is None else request.max_bicliques,
            "task_words": current_tuning().task_words,
        }

    def _some_roots(self) -> Any:
        """The columns that are roots, in search order; None where all are."""
        return self._request.roots

    def _choose_roots(self, graph: SearchGraph) -> SearchBatch:
        """Roots with at least two rows, by falling size: those for large blocks, and the others."""
        some = self._some_roots()
        roots = np.arange(len(graph.column_degree)) if some is None else np.asarray(some)
        roots = roots[graph.column_degree[roots] >= 2]
        weight = graph.edges_in_two_steps[roots]
        roots = roots[np.argsort(-weight)].astype(np.uint32)
        n_heavy = int((weight > HEAVY_ROOT_EDGES).sum())
        return SearchBatch(roots[:n_heavy], roots[n_heavy:], single_rows=True)

    def _attempt(
        self, cp: Any, fields: dict[str, Any], memory: SearchMemory, batch: SearchBatch, watch: Watch | None
    ) -> dict[str, int]:
        """Run the kernels over a batch of roots; returns the counters."""
        run = CudaRun(cp, fields, memory, batch, self.kernel)
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

    @property
    def kernel(self) -> str:
        """The search, one of `SEARCHES`."""
        request = self._request
        min_rows, min_columns = request.min_left, request.min_right
        if request.side == "left":
            min_rows, min_columns = min_columns, min_rows
        knows_both = self._mode != "count" or min_columns > 1 or request.min_edges > max(min_rows, 1)
        return "search_members" if knows_both else "search_count"


def summed(before: dict[str, int], counters: dict[str, int]) -> dict[str, int]:
    """The totals of earlier runs and the counters of one more, modulo 2^64 as on the device."""
    return {name: (value + counters[name]) % 2**64 for name, value in before.items()}
