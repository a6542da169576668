"""Exact (p,q)-biclique counts: checks, the choice of the search, and Python integers out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np

from kernels.backend import Backend, available_threads, why_not
from kernels.contracts import (
    CountRequest,
    CountResult,
    Counts,
    CountTable,
    Method,
    Progress,
    ProgressCallback,
    Side,
    as_int32,
    check_csr,
    check_roots,
)
from kernels.cpu import POLL_SECONDS, load_extension
from kernels.cuda.counting import CudaCount
from kernels.cuda.table import CudaTrees, TreeCells, most_optional
from kernels.errors import BackendError, CapacityError

METHODS = {"auto": 0, "levels": 1, "pivot": 2}
ROOT_SIDES = {"auto": 0, "left": 1, "right": 2}
ONE, OF_VERTICES, ALL = 0, 1, 2
LARGEST_SIDE = 2**31 - 1

TREE_POLL_SECONDS = 0.002
"""Between two looks for trees that a device can count."""

LARGEST_TABLE = 1 << 20
"""Cells of a table of all (p,q): 16 MiB of 128-bit sums a thread."""


def count_bicliques(
    indptr: Any,
    indices: Any,
    n_right: int,
    p: int,
    q: int,
    *,
    method: Literal["auto", "levels", "pivot", "butterfly"] = "auto",
    side: Literal["auto", "left", "right"] = "auto",
    roots: Any = None,
    threads: int = 1,
    per_vertex: bool = False,
    backend: str = "cpu",
    progress: ProgressCallback | None = None,
) -> CountResult:
    """Count the complete p×q subgraphs of a bipartite graph, exactly.

    Parameters
    ----------
    indptr : array of int, shape (n_left + 1,)
    indices : array of int, shape (n_edges,)
        CSR of the left side; each row ascending, without repetition.
    n_right : int
        Number of right vertices.
    p, q : int
        Left and right size, from 1 up; larger than the graph counts 0.
    method : {"auto", "levels", "pivot", "butterfly"}
        The search; "auto" takes "butterfly" for p = q = 2 without roots and side, else "levels" or "pivot", whichever a
        sample estimates to be cheaper.
    side : {"auto", "left", "right"}
        The side that holds the roots; "auto" takes the cheaper one by the same sample.
    roots : array of int, optional
        Count only the subgraphs whose first vertex on `side`, in the order of its numbers, is one of these.
    threads : int
        Worker threads; 0 takes all cores that this process may use. With a GPU they choose the side of the roots.
    per_vertex : bool
        Count for each vertex as well, and for p = q = 2 by "butterfly" for each edge.
    backend : {"cpu", "cuda"}
        "cuda" counts by levels, and no vertices; its device time is ``roots`` and ``search``.
    progress : callable, optional
        Called about five times a second with a `Progress`.

    Returns
    -------
    CountResult

    Raises
    ------
    CapacityError
        If the count is 2^128 or more, or an id is beyond 32 bits.
    BackendError
        If the backend cannot run here, or cannot do what is asked.
    ValueError
        If p or q is no whole number of at least 1, or the arrays are no CSR matrix.

    Notes
    -----
    "levels" (`src/counting/pq.hpp`) takes time with the p-subsets of the root side that have q common neighbours, but for the
    last levels; "pivot" (`src/counting/pivot.hpp`) with the leaves of a tree that does not depend much on p and q. Parts of the roots
    add up to the whole. Papers: BCList++ (VLDB J. 2021), EPivoter (SIGMOD 2023), BFC-VP (PVLDB 2019).

    Examples
    --------
    >>> count_bicliques([0, 3, 6], [0, 1, 2, 0, 1, 2], 3, 2, 2).count
    3
    >>> count_bicliques([0, 3, 6], [0, 1, 2, 0, 1, 2], 3, 2, 2, per_vertex=True).right_counts.tolist()
    [2, 2, 2]
    """
    request = checked_request(indptr, indices, n_right, p, q, side, roots, threads)
    search = choose_method(method, request.p, request.q, side=side, roots=roots is not None, per_vertex=per_vertex)
    if backend != Backend.CPU:
        reason = why_not(backend) or ("it counts no vertices" if per_vertex else None)
        if reason is not None:
            raise BackendError(f"backend {backend!r} cannot do this here: {reason}")
        return count_on_gpu(request, search, progress)
    if search == "butterfly":
        return count_butterflies(request, per_vertex, progress)
    return count_by_search(request, search, per_vertex, progress)


def count_all_bicliques(
    indptr: Any,
    indices: Any,
    n_right: int,
    max_p: int,
    max_q: int,
    *,
    side: Literal["auto", "left", "right"] = "auto",
    roots: Any = None,
    threads: int = 1,
    backend: str = "cpu",
    progress: ProgressCallback | None = None,
) -> CountTable:
    """Count the complete p×q subgraphs for all p up to `max_p` and q up to `max_q`, in one pass.

    Parameters
    ----------
    indptr : array of int, shape (n_left + 1,)
    indices : array of int, shape (n_edges,)
        CSR of the left side; each row ascending, without repetition.
    n_right : int
        Number of right vertices.
    max_p, max_q : int
        Largest left and right size, from 1 up.
    side, roots, threads, progress
        As of `count_bicliques`.
    backend : {"cpu", "cuda"}
        "cuda" counts the narrow ends of the search on the GPU while `threads` of the CPU go on with the rest.

    Returns
    -------
    CountTable

    Raises
    ------
    CapacityError
        If a count is 2^128 or more, the table has more than a million cells, or an id is beyond 32 bits.
    BackendError
        If the backend cannot run here.
    ValueError
        If a size is no whole number of at least 1, or the arrays are no CSR matrix.

    Notes
    -----
    By pivots (`src/counting/pivot.hpp`): time grows with the leaves of the search, which `max_p` and `max_q` bound from above. Paper:
    EPivoter (SIGMOD 2023).

    Examples
    --------
    >>> count_all_bicliques([0, 3, 6], [0, 1, 2, 0, 1, 2], 3, 2, 2).counts
    {(1, 1): 6, (1, 2): 6, (2, 1): 3, (2, 2): 3}
    """
    check_table(max_p, max_q)
    request = checked_request(indptr, indices, n_right, max_p, max_q, side, roots, threads)
    if backend == Backend.CPU:
        return count_table(request, progress)
    reason = why_not(backend)
    if reason is not None:
        raise BackendError(f"backend {backend!r} cannot do this here: {reason}")
    return count_table_on_gpu(request, progress)


def choose_count(
    indptr: Any,
    indices: Any,
    n_right: int,
    p: int,
    q: int,
    *,
    method: Literal["auto", "levels", "pivot"] = "auto",
    side: Literal["auto", "left", "right"] = "auto",
    threads: int = 1,
) -> tuple[str, Side]:
    """Choose the search and the side of the roots for a count, by the sample that `count_bicliques` draws.

    Parameters
    ----------
    indptr, indices, n_right, p, q
        As of `count_bicliques`.
    method, side
        What is prescribed of the choice.
    threads : int
        Threads that share the sample; the choice does not depend on them. 0 takes all cores that this process may use.

    Returns
    -------
    tuple of str
        "levels" or "pivot", and "left" or "right".

    Raises
    ------
    ValueError
        As `count_bicliques`.

    Examples
    --------
    >>> choose_count([0, 3, 6], [0, 1, 2, 0, 1, 2], 3, 1, 2)
    ('levels', 'left')
    """
    request = checked_request(indptr, indices, n_right, p, q, side, None, threads)
    return chosen_search(request, choose_method(method, p, q, side="left", roots=True, per_vertex=False))


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
    """Check everything that the compiled code takes for granted."""
    if side not in ROOT_SIDES:
        raise ValueError(f"side is {side!r}; it must be 'auto', 'left' or 'right'")
    if roots is not None and side == "auto":
        raise ValueError("roots are vertices of one side: say side='left' or side='right'")
    if threads < 0:
        raise ValueError(f"threads is {threads!r}; it must be at least 1, or 0 for all cores")
    starts, columns = np.ascontiguousarray(indptr, dtype=np.int64), as_int32(indices, "indices")
    sizes = check_size("p", p), check_size("q", q)
    check_csr(starts, columns, n_right)
    return CountRequest(
        indptr=starts,
        indices=columns,
        n_right=n_right,
        p=sizes[0],
        q=sizes[1],
        side="left" if side == "left" else "right" if side == "right" else "auto",
        roots=None if roots is None else check_roots(roots, len(starts) - 1 if side == "left" else n_right),
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
