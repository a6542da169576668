"""The CUDA driver of butterflies (`src/counting/butterflies.cu`): all, and those of each edge.

The lists, the paths of two edges through each edge and the batches of roots are made on the device
with array operations; then one kernel a batch counts paths at their ends, and a second one gives
the edges their share. The tables of a batch are bounded, so a small card only means more batches.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bicliq.kernels.contracts import Progress, ProgressCallback
from bicliq.kernels.cuda.adjacency import RankedGraph, ranked_graph
from bicliq.kernels.cuda.device import device_errors, free_budget, wait_for_event
from bicliq.kernels.cuda.program import Program, Struct, Values
from bicliq.kernels.errors import BackendError, CapacityError

BUTTERFLY_THREADS = 256
PATHS_A_THREAD = 8
TOTALS = 1024
BATCHES_AT_ONCE = 16
"""Batches that are launched without a look; twice as many may wait."""

BYTES_AN_EDGE, BYTES_A_VERTEX = 250, 100  # of the graph on the device, with what its preparation takes
LARGEST_TABLE_WORDS = 1 << 22
"""Of the tables of a batch: 32 MiB, which a second-level cache of 50 MiB holds."""

LARGEST_RANK, LARGEST_SLOT = 2**31 - 1, 2**32 - 1  # of the kernels' numbers
LARGEST_PART = 2**64 - 1
"""Of edges × largest degree, which is twice what a vertex lies in, or more."""

RUN = Struct.of_words(
    "ButterflyRun", "start", "adjacent", "root", "slot", "first_path", "first_word", "batch_root", "batch_unit", "table",
    "of_slot", "totals",
)  # fmt: skip
PROGRAM = Program(
    "counting/butterflies.cu",
    (RUN, Values.of(kButterflyThreads=BUTTERFLY_THREADS, kPathsAThread=PATHS_A_THREAD, kButterflyTotals=TOTALS)),
)


class Units(NamedTuple):
    """The paths of two edges below all roots, by their first edges (`butterfly_paths.hpp`)."""

    root: Any
    slot: Any
    first_path: Any
    first_unit: Any
    """Of each root, and the number of units."""
    first_word: Any
    """Of each root's table, and the number of words of all."""


def path_units(xp: Any, graph: RankedGraph) -> Units:
    """The edges from a root to a vertex of lower rank with a path through them.

    Parameters
    ----------
    xp : module
        CuPy or NumPy.
    graph : RankedGraph

    Notes
    -----
    A root with one such edge is no butterfly's vertex of highest rank, and is left out.

    Examples
    --------
    Two left vertices with three common neighbours, of ranks 3 and 4:

    >>> import numpy as np
    >>> graph = ranked_graph(np, np.array([0, 3, 6]), np.array([0, 1, 2, 0, 1, 2], np.int32), 3)
    >>> units = path_units(np, graph)
    >>> units.root.tolist(), units.first_path.tolist(), units.first_word.tolist()
    ([4, 4, 4], [0, 1, 2, 3], [0, 0, 0, 0, 0, 6])
    """
    n, m = len(graph.start) - 1, len(graph.places) // 2
    twin = xp.empty_like(graph.places)
    twin[graph.places] = xp.concatenate([graph.places[m:], graph.places[:m]])
    below = twin - graph.start[graph.adjacent]  # how many in the other vertex's list come before this one
    slot = xp.flatnonzero((graph.adjacent < graph.owner) & (below > 0))
    del twin
    root = graph.owner[slot].astype(xp.int64)
    slot = slot[xp.bincount(root, minlength=n)[root] > 1]
    root = graph.owner[slot].astype(xp.int64)
    first_path, first_unit = _starts(xp, below[slot]), _starts(xp, xp.bincount(root, minlength=n))
    paths = xp.diff(first_path[first_unit])
    return Units(root, slot, first_path, first_unit, _starts(xp, 2 * xp.minimum(paths, xp.arange(n, dtype=xp.int64))))


def batch_bounds(xp: Any, first_word: Any, words: int) -> Any:
    """Roots at which batches begin, and the last one ends.

    A batch has at most so many words of tables, or that and those of its first root.

    Examples
    --------
    >>> batch_bounds(np, np.array([0, 2, 4, 12, 14, 14, 16]), 5).tolist()
    [0, 2, 5, 6]
    """
    n, n_words = len(first_word) - 1, int(first_word[-1])
    cuts = xp.searchsorted(first_word[1:], xp.arange(words, n_words, words, dtype=xp.int64), side="right")
    ends = xp.asarray(np.array([0, n], np.int64))
    return xp.unique(xp.concatenate([ends, cuts.astype(xp.int64)]))


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
        graph = ranked_graph(cp, *self._graph)
        degrees = cp.diff(graph.start)
        if self._parts and len(self._graph[1]) * int(degrees[-1]) > LARGEST_PART:
            raise CapacityError(
                "this graph is so large that butterflies of a vertex may not fit in 64 bits; count them all together"
            )
        units = path_units(cp, graph)
        largest = int(cp.diff(units.first_word).max())
        if largest >= words:
            raise BackendError("the largest root does not fit in the GPU's free memory; use the CPU backend")
        bounds = batch_bounds(cp, units.first_word, min(words - largest, LARGEST_TABLE_WORDS))
        batch_unit = units.first_unit[bounds]
        held = {
            "start": graph.start.astype(cp.uint64),
            "adjacent": graph.adjacent,
            "root": units.root.astype(cp.uint32),
            "slot": units.slot.astype(cp.uint32),
            "first_path": units.first_path.astype(cp.uint64),
            "first_word": units.first_word.astype(cp.uint64),
            "batch_root": bounds.astype(cp.uint64),
            "batch_unit": batch_unit.astype(cp.uint64),
            "table": cp.empty(int(cp.diff(units.first_word[bounds]).max()), dtype=cp.uint64),
            "of_slot": cp.zeros(len(graph.adjacent) if self._parts else 0, dtype=cp.uint64),
            "totals": cp.zeros(2 * TOTALS, dtype=cp.uint64),
        }
        batches = [array.get() for array in (bounds, units.first_path[batch_unit], units.first_word[bounds])]
        del units, degrees
        cp.cuda.Device().synchronize()
        self.seconds["prepare"] = time.perf_counter() - started
        self._search(cp, held, batches, progress)
        totals = held["totals"].get().reshape(-1, 2)
        self.count = sum(int(low) + (int(high) << 64) for low, high in totals[totals.any(axis=1)].tolist())
        if self._parts:
            self._take_parts(cp, graph, held["of_slot"])

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

    def _take_parts(self, cp: Any, graph: RankedGraph, of_slot: Any) -> None:
        """Add up what was found at both ends of each edge, and at each vertex."""
        m, n = len(graph.places) // 2, len(graph.vertex)
        edges = of_slot[graph.places[:m]] + of_slot[graph.places[m:]]
        of_slot[graph.places[:m]] = edges
        of_slot[graph.places[m:]] = edges
        sums = cp.zeros(2 * m + 1, dtype=cp.uint64)  # modulo 2^64; differences are right
        sums[1:] = cp.cumsum(of_slot)
        vertices = cp.zeros(n, dtype=cp.uint64)
        vertices[graph.vertex] = (sums[graph.start[1:]] - sums[graph.start[:-1]]) >> np.uint64(1)
        self.of_edges, self.of_vertices = edges.get(), vertices.get()


def _tell(progress: ProgressCallback | None, mark: tuple[Any, int], n_roots: int) -> None:
    """Wait until the device has come to a mark, and say so."""
    event, roots_done = mark
    wait_for_event(event)
    if progress is not None and roots_done:
        progress(Progress(roots_done, n_roots, 0))


def _starts(xp: Any, sizes: Any) -> Any:
    """Where each of some pieces begins, and the last one ends."""
    starts = xp.zeros(len(sizes) + 1, dtype=xp.int64)
    starts[1:] = xp.cumsum(sizes)
    return starts
