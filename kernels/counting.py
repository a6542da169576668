"""Exact (p,q)-biclique counts: checks, the choice of the search, and Python integers out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from kernels.backend import available_threads
from kernels.contracts import Int32Array, Int64Array, Progress, ProgressCallback, as_int32
from kernels.cpu import POLL_SECONDS, load_extension
from kernels.errors import CapacityError

Method = Literal["levels", "butterfly"]
UInt64Array = NDArray[np.uint64]

ROOT_SIDES = {"auto": 0, "left": 1, "right": 2}
LARGEST_SIDE = 2**31 - 1


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
    method : {"levels", "butterfly"}
    seconds : dict of str to float
        ``prepare`` (core and order), ``estimate`` (choice of the side) and ``search``.
    threads : int
    backend : str
        ``"cpu"`` with the instruction set of its lanes, as ``"cpu-avx512"``.
    work : int
        Registers that the search touched; 0 for butterflies.
    left_counts, right_counts : array of uint64 or None
        How many of the subgraphs each vertex lies in, where asked.
    edge_counts : array of uint64 or None
        The same of each edge, in the order of `indices`.
    """

    count: int
    p: int
    q: int
    side: Literal["left", "right"] | None
    method: Method
    seconds: dict[str, float]
    threads: int
    backend: str
    work: int = 0
    left_counts: UInt64Array | None = None
    right_counts: UInt64Array | None = None
    edge_counts: UInt64Array | None = None


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


def choose_method(method: str, p: int, q: int, *, roots: bool, per_vertex: bool) -> Method:
    """Choose the search for one (p,q), or say why the asked one does not do.

    Examples
    --------
    >>> choose_method("auto", 2, 2, roots=False, per_vertex=False)
    'butterfly'
    """
    possible = (p, q) == (2, 2) and not roots
    if per_vertex and not possible:
        raise ValueError(f"counts of vertices and edges exist for p = q = 2 over all roots, not for ({p}, {q})")
    if method == "auto":
        return "butterfly" if possible else "levels"
    if method == "butterfly":
        if not possible:
            raise ValueError(f"method 'butterfly' counts p = q = 2 over all roots, not ({p}, {q}) with roots={roots}")
        return "butterfly"
    if method != "levels":
        raise ValueError(f"method is {method!r}; it must be 'auto', 'levels' or 'butterfly'")
    if per_vertex:
        raise ValueError("counts of vertices and edges need method 'butterfly' (or 'auto')")
    return "levels"


def count_by_levels(request: CountRequest, progress: ProgressCallback | None) -> CountResult:
    """Count by levels; see `src/pq.hpp`."""
    threads = request.threads if request.threads > 0 else available_threads()
    extension = load_extension()
    if max(request.p, request.q) > LARGEST_SIDE:
        return CountResult(0, request.p, request.q, "left", "levels", {}, threads, f"cpu-{extension.isa}")
    roots = request.roots
    search = extension.LevelCount(
        request.indptr,
        request.indices,
        request.n_right,
        request.p,
        request.q,
        ROOT_SIDES[request.side],
        roots is not None,
        np.empty(0, np.int32) if roots is None else roots,
        threads,
    )
    _wait(search, progress)
    return CountResult(
        count=_whole(search.count, request.p, request.q),
        p=request.p,
        q=request.q,
        side="left" if search.on_left else "right",
        method="levels",
        seconds={
            "prepare": search.prepare_seconds,
            "estimate": search.estimate_seconds,
            "search": search.search_seconds,
        },
        threads=threads,
        backend=f"cpu-{extension.isa}",
        work=search.work,
    )


def count_butterflies(request: CountRequest, per_vertex: bool) -> CountResult:
    """Count butterflies; see `src/butterfly.hpp`."""
    extension = load_extension()
    start = time.perf_counter()
    total, of_vertex, of_edge = extension.count_butterflies(
        request.indptr, request.indices, request.n_right, per_vertex
    )
    n_left = len(request.indptr) - 1
    return CountResult(
        count=_whole(total, 2, 2),
        p=2,
        q=2,
        side=None,
        method="butterfly",
        seconds={"prepare": 0.0, "estimate": 0.0, "search": time.perf_counter() - start},
        threads=1,
        backend=f"cpu-{extension.isa}",
        left_counts=of_vertex[:n_left] if per_vertex else None,
        right_counts=of_vertex[n_left:] if per_vertex else None,
        edge_counts=of_edge if per_vertex else None,
    )


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


def _wait(search: Any, progress: ProgressCallback | None) -> None:
    try:
        while not search.wait(POLL_SECONDS):
            if progress is not None:
                progress(Progress(search.roots_done, search.n_roots, 0))
    except BaseException:
        search.stop()
        raise


def _whole(number: tuple[int, int, bool], p: int, q: int) -> int:
    high, low, too_large = number
    if too_large:
        raise CapacityError(
            f"the count for p={p}, q={q} does not fit in 128 bits; ask for smaller p and q, or for some roots"
        )
    return (high << 64) | low
