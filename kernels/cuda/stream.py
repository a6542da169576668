"""Streams of maximal bicliques from a GPU.

The search fills a bounded block of records, parks, and goes on when the block is empty. What the
warps wrote is turned into lists on the device; then they are launched again, and while they search,
the lists are copied to the host and the consumer works on them. Where the lists stay on the device,
the consumer comes first: what it launches there would wait for the search, which leaves no room
beside it, and so would the disk that it writes to.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

import numpy as np

from bicliq.kernels.contracts import BicliqueBatch, EnumerationRequest, SmallerBatch
from bicliq.kernels.cuda.device import Streams, current_device, device_errors, multiprocessors, streams
from bicliq.kernels.cuda.enumeration import CudaRun, CudaSearch, SearchBatch, Watch, summed
from bicliq.kernels.cuda.search_memory import SearchMemory
from bicliq.kernels.cuda.search_program import COUNTERS, SORT_THREADS, Stop

EMPTIED = ("head", "stop", "output_used", "n_chunks")  # counters that start anew with each launch
THREADS, LANES = 256, 32
SORT_BLOCKS_A_MULTIPROCESSOR = 16

Batch = TypeVar("Batch", BicliqueBatch, SmallerBatch)

OUTPUT_WORDS = 1 << 26
"""Of the block that bicliques are written to, where the host empties it during the search."""

OUTPUT_WORDS_KEPT = 1 << 28
"""The same where they stay on the device: whoever takes them does more at a time the better."""


class CudaStreamSearch(CudaSearch):
    """One search on the current GPU that writes what it finds; a `BicliqueStream` reads it."""

    kernel = "search_bicliques"

    def __init__(self, request: EnumerationRequest, *, on_device: bool = False) -> None:
        super().__init__(request, "enumerate", OUTPUT_WORDS_KEPT if on_device else OUTPUT_WORDS)
        self._on_device = on_device
        self._batches = self._produce()

    def next_batch(self, until: Callable[[], bool] | None = None) -> Any:
        """The next batch, or None when the search has ended.

        A launch is not ended by `until`: its output is bounded, and the stream asks before the
        next.
        """
        with device_errors():
            return next(self._batches, None)

    def stop(self) -> None:
        """End the search; returns when the device is free again."""
        with device_errors():
            self._batches.close()

    def _produce(self) -> Generator[Any, None, None]:
        import cupy as cp

        own = streams(current_device())
        with own.search:
            fields, memory, batches = self._prepare(cp)
        self._warps, self._bytes = memory.n_warps, memory.bytes()
        for batch in batches:
            if self._limit_reached():
                return
            with own.search:
                run = self._build(cp, fields, memory, batch)
            if run is None:
                batches.halve(batch)
            else:
                yield from self._drained(cp, own, run, memory, batch)

    def _build(self, cp: Any, fields: dict[str, Any], memory: SearchMemory, batch: SearchBatch) -> CudaRun | None:
        """Make the subtrees of the roots; None where they need more memory than there is."""
        started = time.perf_counter()
        memory.forget_parked()
        run = CudaRun(cp, fields, memory, batch, self.kernel)
        run.build()
        counters = run.wait()
        self._seconds["lists"] += time.perf_counter() - started
        if not counters["failure"]:
            return run
        memory.clear_scratch()
        return None

    def _drained(self, cp: Any, own: Streams, run: CudaRun, memory: SearchMemory, batch: SearchBatch) -> Iterator[Any]:
        """Search a batch of roots, launch after launch.

        A launch is under way while the host reads the output of the one before.
        """
        before = dict(self._totals)
        try:
            with own.search:
                run.search()
            more = True
            while more:
                with own.search:
                    counters = self._waited(run, memory, self._watch(before, batch))
                    lists = self._unpacked(cp, run, counters["n_chunks"])
                    unpacked = own.search.record()
                    more = counters["stop"] == Stop.PARK and counters["pending"] > 0
                    if more and not self._on_device:
                        self._go_on(run, memory, counters)
                self._totals = summed(before, counters)
                yield from self._delivered(lists, unpacked, own.beside)
                del lists
                if more and self._on_device:
                    with own.search:
                        self._go_on(run, memory, counters)
            self._roots_done += len(batch)
        finally:
            run.halt()

    def _waited(self, run: CudaRun, memory: SearchMemory, watch: Watch) -> dict[str, int]:
        """The counters of a launch when it has ended."""
        started = time.perf_counter()
        counters = run.wait(watch)
        self._seconds["search"] += time.perf_counter() - started
        if counters["failure"]:
            raise memory.too_small()
        return counters

    def _go_on(self, run: CudaRun, memory: SearchMemory, counters: dict[str, int]) -> None:
        """Launch the search again, with an empty output and a queue of what nobody has taken."""
        for name in EMPTIED:
            counters[name] = 0
        counters["tail"], moves = memory.requeue(counters["tail"])
        if moves.size:
            n = moves.shape[1]
            run.launch("move_subtrees", -(-n * LANES // THREADS), THREADS, moves, np.uint64(n))
        run.counters.set(COUNTERS.packed(counters))
        run.search()

    def _delivered(self, lists: list[Any], unpacked: Any, beside: Any) -> Iterator[Any]:
        """The batches of a launch, as soon as its lists are made."""
        if self._on_device:
            unpacked.synchronize()
            yield self._batch(lists)
            return
        beside.wait_event(unpacked)
        found = self._batch([to_host(array, beside) for array in lists])
        yield from cut(found, self._request.batch_bicliques, self._request.batch_ids)

    def _unpacked(self, cp: Any, run: CudaRun, n_chunks: int) -> list[Any]:
        """The lists of a launch."""
        return _unpack(cp, run, n_chunks)

    def _batch(self, lists: list[Any]) -> Any:
        """All that a launch has found, the rows and the columns on their sides."""
        roots, row_offsets, rows, column_offsets, columns = lists
        left, right = ((row_offsets, rows), (column_offsets, columns))[:: -1 if self._request.side == "left" else 1]
        return BicliqueBatch(*left, *right, roots)


class CudaSmallerSearch(CudaStreamSearch):
    """The same, of each biclique the smaller side alone."""

    def _unpacked(self, cp: Any, run: CudaRun, n_chunks: int) -> list[Any]:
        return _unpack_smaller(cp, run, n_chunks)

    def _batch(self, lists: list[Any]) -> Any:
        roots, offsets, ids, n_rows, n_columns = lists
        return SmallerBatch(offsets, ids, *self._by_role(n_columns, n_rows), roots)


def cut(batch: Batch, most_bicliques: int, most_ids: int) -> Iterator[Batch]:
    """Cut a batch into parts of so many bicliques and ids a side at most.

    One biclique may have more ids.
    """
    first = 0
    while first < len(batch):
        last = min(len(batch), first + most_bicliques)
        for offsets, _ in batch.lists.values():
            ends = offsets[first + 1 : last + 1]  # of all of them, the search would make a copy
            last = first + int(np.searchsorted(ends, int(offsets[first]) + most_ids, side="right"))
        last = max(last, first + 1)
        yield batch.part(first, last)
        first = last


def to_host(array: Any, stream: Any) -> Any:
    """Copy an array to pinned memory.

    CuPy keeps a pool of it: memory that is used again takes 51 GB/s, new pages 3.
    """
    import cupyx

    if not array.size:
        return array.get(stream=stream)
    pinned = cupyx.empty_pinned(array.shape, array.dtype)
    return array.get(stream=stream, out=pinned)


def _unpack(cp: Any, run: CudaRun, n_chunks: int) -> list[Any]:
    """Turn the records of a launch into lists: roots, and of either side offsets and ids.

    The ids of a list ascend.
    """
    if not n_chunks:
        return [cp.zeros(n, dtype=cp.int32) for n in (0, 1, 0, 1, 0)]
    sizes, ends, (n, n_rows, n_columns) = _measured(cp, run, n_chunks, smaller_only=False)
    roots = cp.empty(n, dtype=cp.int32)
    row_offsets, column_offsets = (cp.zeros(n + 1, dtype=cp.int32) for _ in range(2))
    rows, columns = cp.empty(n_rows, dtype=cp.int32), cp.empty(n_columns, dtype=cp.int32)
    arguments = (sizes, ends, np.uint64(n_chunks), roots, row_offsets[1:], column_offsets[1:], rows, columns)
    run.launch("unpack_chunks", -(-n_chunks * 32 // THREADS), THREADS, *arguments)
    _sort_long(run, row_offsets, rows)
    _sort_long(run, column_offsets, columns)
    return [roots, row_offsets, rows, column_offsets, columns]


def _unpack_smaller(cp: Any, run: CudaRun, n_chunks: int) -> list[Any]:
    """The same of smaller sides: roots, offsets, ids, and the numbers of rows and columns."""
    if not n_chunks:
        return [cp.zeros(n, dtype=cp.int32) for n in (0, 1, 0, 0, 0)]
    sizes, ends, (n, n_ids, _) = _measured(cp, run, n_chunks, smaller_only=True)
    roots, n_rows, n_columns = (cp.empty(n, dtype=cp.int32) for _ in range(3))
    offsets, ids = cp.zeros(n + 1, dtype=cp.int32), cp.empty(n_ids, dtype=cp.int32)
    arguments = (sizes, ends, np.uint64(n_chunks), roots, offsets[1:], n_rows, n_columns, ids)
    run.launch("unpack_smaller", -(-n_chunks * 32 // THREADS), THREADS, *arguments)
    _sort_long(run, offsets, ids)
    return [roots, offsets, ids, n_rows, n_columns]


def _sort_long(run: CudaRun, offsets: Any, ids: Any) -> None:
    """Put the ids of long lists in order; a warp orders others while it writes them."""
    n = len(offsets) - 1
    blocks = min(n, SORT_BLOCKS_A_MULTIPROCESSOR * multiprocessors())
    run.launch("sort_long_lists", blocks, SORT_THREADS, offsets, np.uint64(n), ids)


def _measured(cp: Any, run: CudaRun, n_chunks: int, *, smaller_only: bool) -> tuple[Any, Any, tuple[int, int, int]]:
    """Sizes of chunks, these added up, and records, ids of rows and ids of columns of all."""
    sizes = cp.empty((3, n_chunks), dtype=cp.uint64)
    counted = sizes, np.uint64(n_chunks), np.uint64(smaller_only)
    run.launch("measure_chunks", -(-n_chunks // THREADS), THREADS, *counted)
    ends = sizes.get().cumsum(axis=1)
    n, n_rows, n_columns = ends[:, -1].tolist()
    return sizes, cp.asarray(ends), (n, n_rows, n_columns)
