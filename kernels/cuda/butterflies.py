"""The CUDA driver of butterflies (`src/counting/butterflies.cu`): all, and those of each edge.

The lists, the paths of two edges through each edge and the batches of roots are made on the device,
step by step (`src/counting/butterfly_lists.hpp`); then one kernel a batch counts paths at their
ends, and a second one gives the edges their share. The tables of a batch are bounded, so a small
card only means more batches.
"""

from __future__ import annotations

import time
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bicliq.kernels.contracts import Progress, ProgressCallback
from bicliq.kernels.cuda.device import device_errors, free_budget, wait_for_event
from bicliq.kernels.cuda.program import Program, SharedEnum, Struct, Values
from bicliq.kernels.errors import BackendError, CapacityError

BUTTERFLY_THREADS = 256
PATHS_A_THREAD = 8
TOTALS = 1024
BATCHES_AT_ONCE = 16
"""Batches that are launched without a look; twice as many may wait."""

BYTES_AN_EDGE, BYTES_A_VERTEX = 120, 70  # of the graph on the device, with what its preparation takes
LARGEST_TABLE_WORDS = 1 << 22
"""Of the tables of a batch: 32 MiB, which a second-level cache of 50 MiB holds."""

LARGEST_RANK, LARGEST_SLOT = 2**31 - 1, 2**32 - 1  # of the kernels' numbers
LARGEST_PART = 2**64 - 1
"""Of edges × largest degree, which is twice what a vertex lies in, or more."""


class ButterflyStep(IntEnum):
    """What is done for all vertices, edges or slots before the next step."""

    DEGREES = 0
    RANKS = 1
    SLOTS = 2
    LISTS = 3
    PATHS = 4
    LONE_UNITS = 5
    TABLES = 6
    BATCHES = 7
    PARTS = 8


LISTS = Struct.of_words(
    "ButterflyLists", "indptr", "indices", "degrees", "rank", "slots", "start", "adjacent", "first_path", "units", "first_word",
    "largest", "batches", "of_slot", "of_edge", "of_vertex", "n_left", "n_vertices", "n_edges", "n_batches", "batch_words",
)  # fmt: skip
RUN = Struct.of_words(
    "ButterflyRun", "start", "adjacent", "slots", "first_path", "first_word", "batch_root", "batch_unit", "table",
    "of_slot", "totals",
)  # fmt: skip
PROGRAM = Program(
    "counting/butterflies.cu",
    (
        LISTS,
        RUN,
        SharedEnum(ButterflyStep),
        Values.of(kButterflyThreads=BUTTERFLY_THREADS, kPathsAThread=PATHS_A_THREAD, kButterflyTotals=TOTALS),
    ),
)


class Lists:
    """What is made of a graph, step by step.

    Parameters
    ----------
    cp : module
        CuPy.
    indptr, indices, n_right
        CSR of the left side.
    parts
        Whether edges and vertices are counted.
    """

    def __init__(self, cp: Any, indptr: Any, indices: Any, n_right: int, parts: bool) -> None:
        self._cp, self._kernel = cp, PROGRAM.compiled().get_function("lay_out_butterflies")
        n_left, m = len(indptr) - 1, len(indices)
        n, slots = n_left + n_right, 2 * m
        self.held: dict[str, Any] = {
            "indptr": cp.asarray(indptr), "indices": cp.asarray(indices), "rank": cp.empty(n, cp.uint32),
            "start": cp.empty(n + 1, cp.uint64), "slots": cp.empty(slots, cp.uint64), "adjacent": cp.empty(slots, cp.uint32),
            "first_path": cp.zeros(slots + 1, cp.uint64), "first_word": cp.zeros(n + 1, cp.uint64),
            "degrees": cp.zeros(n, cp.uint64), "units": cp.zeros(n, cp.uint64), "largest": cp.zeros(1, cp.uint64),
            "of_slot": cp.zeros(slots if parts else 0, cp.uint64), "of_edge": cp.empty(m if parts else 0, cp.uint64),
            "of_vertex": cp.zeros(n if parts else 0, cp.uint64), "n_left": n_left, "n_vertices": n, "n_edges": m,
            "batches": 0, "n_batches": 0, "batch_words": 0,
        }  # fmt: skip
        self._take(ButterflyStep.DEGREES)
        self.held["degrees"].sort()
        self._take(ButterflyStep.RANKS, ButterflyStep.SLOTS)
        self.held["slots"].sort()
        self._take(ButterflyStep.LISTS, ButterflyStep.PATHS, ButterflyStep.LONE_UNITS)
        self._add_up("first_path")
        self._take(ButterflyStep.TABLES)
        self._add_up("first_word")
        self.largest_degree = int(np.diff(self.held["start"][n - 1 :].get())[0])
        self.largest_table = int(self.held["largest"].get()[0])

    def batches(self, words: int) -> NDArray[np.uint64]:
        """Roots, slots, paths and words at which batches begin, and the last one ends.

        A batch has at most so many words of tables, or that and those of its first root.
        """
        n = -(-int(self.held["first_word"][-1:].get()[0]) // words)
        found = self._cp.empty((4, max(n, 1) + 1), self._cp.uint64)
        self.held |= {"batches": found, "n_batches": found.shape[1] - 1, "batch_words": words}
        self._take(ButterflyStep.BATCHES)
        numbers: NDArray[np.uint64] = found.get()
        return numbers

    def parts(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """What edges and vertices lie in: the sums over the slots that have been counted."""
        self._take(ButterflyStep.PARTS)
        return self.held["of_edge"].get(), self.held["of_vertex"].get() >> np.uint64(1)

    def _take(self, *steps: ButterflyStep) -> None:
        told = self._cp.asarray(LISTS.packed(self.held))
        n_items = self.held["n_vertices"] + 1 + 2 * self.held["n_edges"]  # the most that a step has
        blocks = min(-(-n_items // BUTTERFLY_THREADS), 2**31 - 1)
        for step in steps:
            self._kernel((blocks,), (BUTTERFLY_THREADS,), (told, np.uint32(step)))

    def _add_up(self, name: str) -> None:
        """Turn the sizes of pieces into where they end."""
        cub = self._cp.cuda.cub  # comes compiled with CuPy, as its sort does
        cub.cub_scan(self.held[name], cub.CUPY_CUB_CUMSUM)


class CudaButterflies:
    """One count of butterflies on the current GPU; `wait` runs it.

    Parameters
    ----------
    indptr, indices, n_right
        CSR of the left side.
    parts
        Count for each vertex and edge as well.
    """

    def __init__(self, indptr: Any, indices: Any, n_right: int, parts: bool) -> None:
        self._graph, self._parts = (indptr, indices, n_right), parts
        self.count = 0
        self.of_vertices: NDArray[np.uint64] | None = None
        """Left vertices, then right ones."""
        self.of_edges: NDArray[np.uint64] | None = None
        self.seconds = {"prepare": 0.0, "search": 0.0}

    def wait(self, progress: ProgressCallback | None) -> None:
        """Run to the end.

        Raises
        ------
        BackendError
            If the GPU cannot hold the graph or the largest root's table, or is lost.
        CapacityError
            If counts of a vertex may not fit in 64 bits.
        """
        import cupy

        with device_errors():
            self._run(cupy, progress)

    def _find_nothing(self) -> None:
        """What there is in a graph without edges."""
        indptr, _, n_right = self._graph
        if self._parts:
            self.of_vertices, self.of_edges = np.zeros(len(indptr) - 1 + n_right, np.uint64), np.zeros(0, np.uint64)

    def _run(self, cp: Any, progress: ProgressCallback | None) -> None:
        started = time.perf_counter()
        if not len(self._graph[1]):
            self._find_nothing()
            return
        words = self._words_of_tables(cp)
        lists = Lists(cp, *self._graph, self._parts)
        if self._parts and len(self._graph[1]) * lists.largest_degree > LARGEST_PART:
            raise CapacityError(
                "this graph is so large that butterflies of a vertex may not fit in 64 bits; count them all together"
            )
        if lists.largest_table >= words:
            raise BackendError("the largest root does not fit in the GPU's free memory; use the CPU backend")
        batches = lists.batches(min(words - lists.largest_table, LARGEST_TABLE_WORDS))
        held = {
            **{
                name: lists.held[name] for name in ("start", "adjacent", "slots", "first_path", "first_word", "of_slot")
            },
            "batch_root": lists.held["batches"][0],
            "batch_unit": lists.held["batches"][1],
            "table": cp.empty(int(np.diff(batches[3]).max()), dtype=cp.uint64),
            "totals": cp.zeros(2 * TOTALS, dtype=cp.uint64),
        }
        cp.cuda.Device().synchronize()
        self.seconds["prepare"] = time.perf_counter() - started
        self._search(cp, held, [batches[0], *batches[2:]], progress)
        totals = held["totals"].get().reshape(-1, 2)
        self.count = sum(int(low) + (int(high) << 64) for low, high in totals[totals.any(axis=1)].tolist())
        if self._parts:
            self.of_edges, self.of_vertices = lists.parts()

    def _words_of_tables(self, cp: Any) -> int:
        """Words that the tables of a batch may take beside the graph."""
        indptr, indices, n_right = self._graph
        n, m = len(indptr) - 1 + n_right, len(indices)
        budget = free_budget(cp.cuda.Device()).n_bytes
        needed = BYTES_AN_EDGE * m + BYTES_A_VERTEX * n
        if needed > budget or n > LARGEST_RANK or 2 * m > LARGEST_SLOT:
            raise BackendError(
                f"the butterflies of {m:,} edges need some {needed >> 20:,} MiB beside their tables, and the GPU has"
                f" {budget >> 20:,} MiB free; use the CPU backend"
            )
        return (budget - needed) // 8

    def _search(self, cp: Any, held: dict[str, Any], batches: list[Any], progress: ProgressCallback | None) -> None:
        """Run the kernels over all batches, and look now and then whether they have ended."""
        module = PROGRAM.compiled()
        names = ["count_path_ends", "count_edge_shares"][: 2 if self._parts else 1]
        functions = [module.get_function(name) for name in names]
        run = cp.asarray(RUN.packed(held))
        roots, paths, words = batches
        first = cp.cuda.Event()
        first.record()
        marks = [(first, 0)]
        for batch, (n_paths, n_words) in enumerate(zip(np.diff(paths).tolist(), np.diff(words).tolist(), strict=True)):
            if not n_paths:
                continue
            held["table"][:n_words].fill(0)
            blocks = -(-n_paths // (PATHS_A_THREAD * BUTTERFLY_THREADS))
            for function in functions:
                function((min(blocks, 2**31 - 1),), (BUTTERFLY_THREADS,), (run, np.uint32(batch)))
            if batch % BATCHES_AT_ONCE == BATCHES_AT_ONCE - 1:
                marks.append((cp.cuda.Event(), int(roots[batch + 1])))
                marks[-1][0].record()
                _tell(progress, marks[-2], int(roots[-1]))
        last = cp.cuda.Event()
        last.record()
        _tell(progress, (last, int(roots[-1])), int(roots[-1]))
        self.seconds["search"] = float(cp.cuda.get_elapsed_time(first, last)) / 1000


def _tell(progress: ProgressCallback | None, mark: tuple[Any, int], n_roots: int) -> None:
    """Wait until the device has come to a mark, and say so."""
    event, roots_done = mark
    wait_for_event(event)
    if progress is not None and roots_done:
        progress(Progress(roots_done, n_roots, 0))
