"""Exact (p,q)-biclique counts: checks, the choice of the search, and Python integers out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kernels.backend import available_threads
from kernels.contracts import Int32Array, Int64Array, Progress, ProgressCallback, Side, as_int32
from kernels.cpu import POLL_SECONDS, load_extension
from kernels.cuda.counting import CudaCount
from kernels.cuda.table import CudaTrees, TreeCells, most_optional
from kernels.errors import BackendError, CapacityError

Method = Literal["levels", "pivot", "butterfly"]
Counts = NDArray[Any]

METHODS = {"auto": 0, "levels": 1, "pivot": 2}
ROOT_SIDES = {"auto": 0, "left": 1, "right": 2}
ONE, OF_VERTICES, ALL = 0, 1, 2
LARGEST_SIDE = 2**31 - 1

TREE_POLL_SECONDS = 0.002
"""Between two looks for trees that a device can count."""

LARGEST_TABLE = 1 << 20
"""Cells of a table of all (p,q): 16 MiB of 128-bit sums a thread."""


@dataclass(frozen=True, eq=False)
class CountResult:
    """Outcome of a count.

    Attributes
    ----------
    count : int
        Number of complete p×q subgraphs.
    p, q : int
        Their left and right size.
    side : {"left", "right"} or None
        The side that held the roots; None where the method roots at both.
    method : {"levels", "pivot", "butterfly"}
    seconds : dict of str to float
        ``prepare`` (core and order), ``estimate`` (choice of search and side) and ``search``; on a GPU ``roots`` as well.
    threads : int
    backend : str
        ``"cpu"`` with the instruction set of its lanes, as ``"cpu-avx512"``, or ``"cuda"``.
    work : int
        What the search did, in the time of a register that levels touch (3 ns) or of a small node of pivots (36 ns); 0 for
        butterflies. On a GPU the registers alone.
    left_counts, right_counts : array of uint64, or of object, or None
        How many of the subgraphs each vertex lies in, where asked; Python integers where one is beyond 64 bits.
    edge_counts : array of uint64 or None
        The same of each edge, in the order of `indices` (p = q = 2).
    """

    count: int
    p: int
    q: int
    side: Side | None
    method: Method
    seconds: dict[str, float]
    threads: int
    backend: str
    work: int = 0
    left_counts: Counts | None = None
    right_counts: Counts | None = None
    edge_counts: Counts | None = None


@dataclass(frozen=True, eq=False)
class CountTable:
    """All counts up to a largest p and q.

    Attributes
    ----------
    counts : dict of (int, int) to int
        Number of complete p×q subgraphs of each (p, q), in ascending order.
    max_p, max_q : int
    side : {"left", "right"}
        The side that held the roots.
    seconds : dict of str to float
        As of a `CountResult`; with a GPU ``device_wait`` as well, what it still took when the CPU's part had ended.
    threads : int
    backend : str
    work : int
        What the search did, in the time of a small node, those that a GPU counted included.
    """

    counts: dict[tuple[int, int], int]
    max_p: int
    max_q: int
    side: Side
    seconds: dict[str, float]
    threads: int
    backend: str
    work: int = 0


@dataclass(frozen=True, eq=False)
class CountRequest:
    """A checked request."""

    indptr: Int64Array
    indices: Int32Array
    n_right: int
    p: int
    q: int
    side: Literal["auto", "left", "right"] = "auto"
    roots: Int32Array | None = None
    threads: int = 1


def check_size(name: str, value: Any) -> int:
    """Check a side's size: a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} is {value!r}; it must be a whole number of at least 1")
    return int(value)


def check_table(max_p: Any, max_q: Any) -> tuple[int, int]:
    """Check the sizes of a table of all counts, and that it fits.

    Examples
    --------
    >>> check_table(12, 12)
    (12, 12)
    """
    p, q = check_size("max_p", max_p), check_size("max_q", max_q)
    if (p + 1) * (q + 1) > LARGEST_TABLE:
        raise CapacityError(
            f"a table of all counts up to p={p}, q={q} would have {p * q:,} cells, and {LARGEST_TABLE:,} fit;"
            " ask for smaller max_p and max_q, or count single (p,q)"
        )
    return p, q


def choose_method(method: str, p: int, q: int, *, side: str, roots: bool, per_vertex: bool) -> str:
    """Choose the search for one (p,q), or say why the asked one does not do.

    Returns
    -------
    str
        "butterfly", "levels", "pivot", or "auto" where levels or pivot is up to the estimate.

    Examples
    --------
    >>> choose_method("auto", 2, 2, side="auto", roots=False, per_vertex=False)
    'butterfly'
    """
    if method not in (*METHODS, "butterfly"):
        raise ValueError(f"method is {method!r}; it must be 'auto', 'levels', 'pivot' or 'butterfly'")
    possible = (p, q) == (2, 2) and not roots
    if method == "butterfly" and not possible:
        raise ValueError(f"method 'butterfly' counts p = q = 2 over all roots, not ({p}, {q}) with roots={roots}")
    if method == "levels" and per_vertex:
        raise ValueError("counts of vertices need method 'pivot', 'butterfly' or 'auto', not 'levels'")
    if method == "auto" and possible and side == "auto":
        return "butterfly"
    return "pivot" if per_vertex and method == "auto" else method


def allowed_threads(request: CountRequest) -> int:
    """Threads that a count may take."""
    return request.threads if request.threads > 0 else available_threads()


def count_by_search(
    request: CountRequest, method: str, per_vertex: bool, progress: ProgressCallback | None
) -> CountResult:
    """Count one (p,q) by levels (`src/counting/pq.hpp`) or pivots (`src/counting/pivot.hpp`)."""
    threads = allowed_threads(request)
    extension = load_extension()
    n_left = len(request.indptr) - 1
    p, q = request.p, request.q
    if max(p, q) > LARGEST_SIDE:  # larger than any graph, and than the 32 bits of the kernels
        none = [np.zeros(n, np.uint64) if per_vertex else None for n in (n_left, request.n_right)]
        chosen: Method = "pivot" if method == "pivot" else "levels"
        side: Side = "right" if request.side == "right" else "left"
        return CountResult(0, p, q, side, chosen, {}, threads, f"cpu-{extension.isa}", 0, *none)
    search = _started(extension, request, OF_VERTICES if per_vertex else ONE, METHODS[method], threads)
    _wait(search, progress)
    count = _whole(search.count, p, q)
    left, right = (_together(*halves) for halves in search.of_vertices()) if per_vertex else (None, None)
    return CountResult(
        count=count,
        p=p,
        q=q,
        side="left" if search.on_left else "right",
        method="pivot" if search.is_pivot else "levels",
        seconds=_seconds(search),
        threads=threads,
        backend=f"cpu-{extension.isa}",
        work=search.work,
        left_counts=left,
        right_counts=right,
    )


def count_table(request: CountRequest, progress: ProgressCallback | None) -> CountTable:
    """Count all (p,q) up to those of the request by pivots, in one pass."""
    threads = allowed_threads(request)
    extension = load_extension()
    search = _started(extension, request, ALL, METHODS["pivot"], threads)
    _wait(search, progress)
    return CountTable(
        counts={(p, q): _whole(number, p, q) for p, q, *number in search.table()},
        max_p=request.p,
        max_q=request.q,
        side="left" if search.on_left else "right",
        seconds=_seconds(search),
        threads=threads,
        backend=f"cpu-{extension.isa}",
        work=search.work,
    )


def count_table_on_gpu(request: CountRequest, progress: ProgressCallback | None) -> CountTable:
    """Count all (p,q) by pivots, the narrow ends of the search on the GPU (`src/counting/trees.cu`) while the CPU goes on with the rest."""
    return count_table_by_trees(request, CudaTrees, "cuda", progress)


def count_table_by_trees(
    request: CountRequest, device: Callable[[TreeCells, int], Any], backend: str, progress: ProgressCallback | None
) -> CountTable:
    """Count all (p,q), with a device (`CudaTrees`, or what stands for it in a test) for the trees of the search."""
    threads = allowed_threads(request)
    extension = load_extension()
    optional = most_optional(max(request.p, request.q))
    search = _started(extension, request, ALL, METHODS["pivot"], threads, optional)
    try:
        on_left = search.on_left
        roots, rows = (request.p, request.q) if on_left else (request.q, request.p)
        trees = device(TreeCells(roots, rows, optional), extension.TREE_WORDS)
        for ended in _polled(search, progress, TREE_POLL_SECONDS):
            while len(parcel := search.take_trees(ended)):
                trees.add(parcel)
        of_trees, nodes = trees.finish()
    except BaseException:
        search.stop()
        raise
    counts = {(p, q): _whole(number, p, q) for p, q, *number in search.table()}
    for (a, b), count in of_trees.items():
        counts[(a, b) if on_left else (b, a)] += count
    for (p, q), count in counts.items():
        _whole((count >> 64, count & (2**64 - 1), count >> 128 > 0), p, q)
    return CountTable(
        counts=counts,
        max_p=request.p,
        max_q=request.q,
        side="left" if on_left else "right",
        seconds={**_seconds(search), "device_wait": trees.wait_seconds},
        threads=threads,
        backend=backend,
        work=search.work + nodes,
    )


def count_butterflies(request: CountRequest, per_vertex: bool, progress: ProgressCallback | None) -> CountResult:
    """Count butterflies; see `src/counting/butterfly.hpp`."""
    threads = allowed_threads(request)
    extension = load_extension()
    search = extension.ButterflyCount(request.indptr, request.indices, request.n_right, per_vertex, threads)
    if per_vertex and not search.parts_fit:
        search.stop()
        raise CapacityError("this graph is so large that butterflies of a vertex may not fit in 64 bits")
    _wait(search, progress)
    n_left = len(request.indptr) - 1
    of_vertex = search.of_vertices() if per_vertex else None
    return CountResult(
        count=_whole(search.count, 2, 2),
        p=2,
        q=2,
        side=None,
        method="butterfly",
        seconds=_seconds(search),
        threads=threads,
        backend=f"cpu-{extension.isa}",
        left_counts=None if of_vertex is None else of_vertex[:n_left],
        right_counts=None if of_vertex is None else of_vertex[n_left:],
        edge_counts=search.of_edges() if per_vertex else None,
    )


def count_on_gpu(request: CountRequest, method: str, progress: ProgressCallback | None) -> CountResult:
    """Count one (p,q) by levels on the GPU (`src/counting/levels.cu`), rooted on the side that the CPU's threads choose.

    Sums over degrees, with a size of 1, stay on the CPU.
    """
    if min(request.p, request.q) == 1 or max(request.p, request.q) > LARGEST_SIDE:
        return count_by_search(request, "levels", False, progress)
    if method not in ("auto", "levels", "butterfly"):
        raise BackendError(f"the CUDA backend counts by levels, not by method {method!r}; use the CPU backend")
    started = time.perf_counter()
    side: Side = chosen_search(request, "levels")[1] if request.side == "auto" else request.side
    estimated = time.perf_counter() - started
    search = CudaCount(
        request.indptr, request.indices, request.n_right, request.p, request.q, side == "left", request.roots
    )
    search.wait(progress)
    number = (search.count >> 64, search.count & (2**64 - 1), search.too_large)
    return CountResult(
        count=_whole(number, request.p, request.q),
        p=request.p,
        q=request.q,
        side=side,
        method="levels",
        seconds={**search.seconds, "estimate": estimated},
        threads=allowed_threads(request),
        backend="cuda",
        work=search.work,
    )


def chosen_search(request: CountRequest, method: str) -> tuple[Method, Side]:
    """Choose search and side as a count over all roots would, without counting."""
    if max(request.p, request.q) > LARGEST_SIDE:
        return "levels", "right" if request.side == "right" else "left"
    is_pivot, on_left = load_extension().choose_count(
        request.indptr,
        request.indices,
        request.n_right,
        request.p,
        request.q,
        METHODS[method],
        ROOT_SIDES[request.side],
        allowed_threads(request),
    )
    return "pivot" if is_pivot else "levels", "left" if on_left else "right"


def checked_request(
    indptr: Any, indices: Any, n_right: int, p: int, q: int, side: str, roots: Any, threads: int
) -> CountRequest:
    """Bring the arrays to their types; the caller has checked their contents."""
    if side not in ROOT_SIDES:
        raise ValueError(f"side is {side!r}; it must be 'auto', 'left' or 'right'")
    if roots is not None and side == "auto":
        raise ValueError("roots are vertices of one side: say side='left' or side='right'")
    if threads < 0:
        raise ValueError(f"threads is {threads!r}; it must be at least 1, or 0 for all cores")
    return CountRequest(
        indptr=np.ascontiguousarray(indptr, dtype=np.int64),
        indices=as_int32(indices, "indices"),
        n_right=n_right,
        p=check_size("p", p),
        q=check_size("q", q),
        side="left" if side == "left" else "right" if side == "right" else "auto",
        roots=roots,
        threads=threads,
    )


def _started(
    extension: Any, request: CountRequest, asked: int, method: int, threads: int, tree_optional: int = 0
) -> Any:
    roots = request.roots
    return extension.Count(
        request.indptr,
        request.indices,
        request.n_right,
        request.p,
        request.q,
        asked,
        method,
        ROOT_SIDES[request.side],
        roots is not None,
        np.empty(0, np.int32) if roots is None else roots,
        threads,
        tree_optional,
    )


def _wait(search: Any, progress: ProgressCallback | None) -> None:
    try:
        for _ in _polled(search, progress, POLL_SECONDS):
            pass
    except BaseException:
        search.stop()
        raise


def _polled(search: Any, progress: ProgressCallback | None, seconds: float) -> Iterator[bool]:
    """Whether the search has ended, again and again until it has."""
    while not search.wait(seconds):
        if progress is not None:
            progress(Progress(search.roots_done, search.n_roots, 0))
        yield False
    yield True


def _seconds(search: Any) -> dict[str, float]:
    return dict(zip(("prepare", "estimate", "search"), search.seconds, strict=True))


def _whole(number: Any, p: int, q: int) -> int:
    high, low, too_large = number
    if too_large:
        raise CapacityError(
            f"the count for p={p}, q={q} does not fit in 128 bits; ask for smaller p and q, or for some roots"
        )
    return int((high << 64) | low)


def _together(high: Counts, low: Counts) -> Counts:
    if not high.any():
        return low
    together: Counts = (high.astype(object) << 64) | low.astype(object)
    return together
