"""Counts of one (p,q) on a GPU, and by the host's threads beside it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bicliq.kernels.contracts import CountRequest, CountResult, Counts, Method, ProgressCallback, Side
from bicliq.kernels.count_numbers import together
from bicliq.kernels.cpu import POLL_SECONDS
from bicliq.kernels.cuda.counting import MOST_WAVES, CountGraph, CudaCount, SearchGivenUp
from bicliq.kernels.cuda.program import is_anything_loaded
from bicliq.kernels.errors import BackendError, CapacityError
from bicliq.kernels.host_count import LARGEST_SIDE, chosen_search, count_by_search, found_by, started_count
from bicliq.kernels.machine import available_threads

LEAST_PATIENCE, SECONDS_A_REGISTER = 0.01, 0.13e-9
"""Of a search by levels on a GPU: seconds that it gets in any case, and for its estimated work."""

DOUBT = 3
"""Times the work that a sample shows which levels may have, where none is for a GPU (`kOfACard` of
`src/counting/estimate.hpp`)."""

SECONDS_A_REGISTER_OF_A_CORE = 3.3e-9
"""Of the estimated work, on one thread of the host (`kOfACore`)."""

HOST_SECONDS, HOST_SECONDS_OF_A_START = 0.004, 0.3
"""What the host's threads get for a count alone, if they should have it by then. More for the first
count of a process, since a GPU that has done nothing yet takes longer than that to start."""

START_WAS_SPARED = threading.Event()
"""Set by that first count: a GPU that no count is long enough to start would help with none."""

GPU_FIRST_SECONDS = 0.1
"""What the host's threads should take up to which a GPU begins where they do not: estimates of so
little are not worth much, and a GPU often needs a tenth of its own."""

HEAD_START = 0.2
"""Of what the second should take: so much later than the first it begins."""


def count_on_gpu(
    request: CountRequest, method: str, per_vertex: bool, progress: ProgressCallback | None
) -> CountResult:
    """Count one (p,q) on the GPU, by levels (`src/counting/levels.cu`) or pivots (`pivots.cu`).

    The CPU's threads make the core and choose which, and the side of the roots. Where all of that
    is up to them, they count as well, and whoever ends first has counted.

    Sums over degrees, with a size of 1, stay on the CPU.
    """
    if min(request.p, request.q) == 1 or max(request.p, request.q) > LARGEST_SIDE:
        return count_by_search(request, "pivot" if method == "pivot" else "levels", per_vertex, progress)
    started = time.perf_counter()
    is_free = method == "auto" and request.side == "auto" and not per_vertex
    if is_free:  # one core is that of the thread that launches and looks, which would wait for it again and again
        request = replace(request, threads=max(min(request.threads, available_threads() - 1), 1))
    host = started_count(request, "one" if is_free else "choice", method, on_card=True)
    try:
        while not host.wait_for_choice(POLL_SECONDS):
            pass
        chosen = time.perf_counter() - started
        is_late = _host_beside(host, request.threads) if is_free else lambda: False
        found = None if is_late() else _counted_by_card(request, host, method, per_vertex, progress, is_late)
        if found is None:
            return found_by(host, request, False, progress)
        found.seconds.setdefault("estimate", chosen)
        return found
    finally:
        host.stop()


def _host_beside(host: Any, threads: int) -> Callable[[], bool]:
    """Let the host's threads count beside a GPU; returns what says whether they have.

    Who should have the count sooner begins, and the other follows after a share of what it should
    take itself: so neither a wrong estimate nor a slow machine costs much.
    """
    is_pivot, _, work = host.choice
    own = SECONDS_A_REGISTER_OF_A_CORE * work / threads
    of_card = SECONDS_A_REGISTER * work * (1 if is_pivot else DOUBT)
    alone = HOST_SECONDS if is_anything_loaded() or START_WAS_SPARED.is_set() else HOST_SECONDS_OF_A_START
    START_WAS_SPARED.set()
    begins = time.perf_counter()
    if own <= alone or GPU_FIRST_SECONDS < own < of_card:
        host.go_on()
        card_begins = begins + max(alone, HEAD_START * of_card)
        while not _is_counted(host, HOST_SECONDS) and time.perf_counter() < card_begins:
            pass
    else:
        begins += max(HOST_SECONDS, HEAD_START * own)

    def is_late() -> bool:
        if time.perf_counter() >= begins:
            host.go_on()
        return _is_counted(host)

    return is_late


def _is_counted(host: Any, seconds: float = 0.0) -> bool:
    """Whether the host's threads have counted, after so many seconds more at most."""
    try:
        return bool(host.wait(seconds))
    except (CapacityError, MemoryError):  # nothing that a card could not do
        return False


def _counted_by_card(
    request: CountRequest,
    host: Any,
    method: str,
    per_vertex: bool,
    progress: ProgressCallback | None,
    is_late: Callable[[], bool],
) -> CountResult | None:
    """What a card counts; None where it is late: the host was first."""
    seconds: dict[str, float] = {}
    failed: BackendError | None = None
    for search_by, side, patience in _searches_on_gpu(request, method, host):
        begun = time.perf_counter()
        on_left = side == "left"
        graph = CountGraph(*host.card_graph(on_left))
        search = CudaCount(request, graph, on_left, search_by == "pivot", per_vertex, patience, is_late)
        try:
            search.wait(progress)
        except (SearchGivenUp, BackendError) as error:
            if is_late():
                return None
            if isinstance(error, BackendError):
                failed = error.with_traceback(None)  # whose frames would keep the memory that the next search needs
            seconds["given_up"] = time.perf_counter() - begun
            continue
        if search.too_large:
            raise BackendError(
                f"the count for p={request.p}, q={request.q} does not fit in the 128 bits in which the CUDA backend adds"
                " up; use the CPU backend"
            )
        return CountResult(
            count=search.count,
            p=request.p,
            q=request.q,
            side=side,
            method=search_by,
            seconds={**search.seconds, **seconds},
            threads=request.threads,
            backend="cuda",
            work=search.work,
            left_counts=_of_vertices(request, search, "left", side) if per_vertex else None,
            right_counts=_of_vertices(request, search, "right", side) if per_vertex else None,
        )
    assert failed is not None  # of the last search, which nobody gives up
    raise failed


def _of_vertices(request: CountRequest, search: CudaCount, side: Side, root_side: Side) -> Counts:
    """The counts of a side's vertices that a GPU has counted."""
    graph = request.graph
    n, n_all = (graph.n_left, request.n_left) if side == "left" else (graph.n_right, request.n_right)
    low, high = np.zeros(n, np.uint64), np.zeros(n, np.uint64)
    for numbers, more_low, more_high in search.of_roots if side == root_side else search.of_rows:
        low[numbers] += more_low
        high[numbers] += more_high + (low[numbers] < more_low)
    counts: Counts = graph.spread(together(high, low), side, n_all)
    return counts


def _searches_on_gpu(request: CountRequest, method: str, host: Any) -> Iterator[tuple[Method, Side, float | None]]:
    """The search, the side and the patience of a count on a GPU.

    Where the search is not prescribed another follows, for where the first takes far too long, or
    more memory than there is.
    """
    is_pivot, on_left, work = host.choice
    side: Side = "left" if on_left else "right"
    if method != "auto":
        yield "pivot" if is_pivot else "levels", side, None
    elif not is_pivot:
        if (request.p if on_left else request.q) <= MOST_WAVES:
            doubt = DOUBT if request.side == "auto" else 1
            yield "levels", side, LEAST_PATIENCE + SECONDS_A_REGISTER * doubt * work
        yield "pivot", side if request.side != "auto" else chosen_search(request, "pivot", on_card=True)[1], None
    else:
        yield "pivot", side, None
        yield "levels", side, None
