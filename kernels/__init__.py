"""Algorithms on bipartite graphs, arrays in and arrays out: maximal bicliques, (p,q) counts, maximum cliques.

A graph is the CSR matrix of its left side: `indptr` (int64, ``n_left + 1``) and `indices` (int32, sorted and unique
within a row). The kernels know neither tables nor files nor clusters.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from kernels.backend import Backend, available_threads, why_not
from kernels.clique import CliqueResult, maximum_clique, project_one_mode
from kernels.contracts import (
    BicliqueBatch,
    EnumerationRequest,
    EnumerationResult,
    Progress,
    ProgressCallback,
    Side,
    as_int32,
)
from kernels.contracts import check_csr as _check_csr
from kernels.counting import (
    CountRequest,
    CountResult,
    CountTable,
    check_table,
    checked_request,
    choose_method,
    chosen_search,
    count_butterflies,
    count_by_search,
    count_on_gpu,
    count_table,
    count_table_on_gpu,
)
from kernels.cpu import BicliqueStream, CpuSearch
from kernels.cuda.enumeration import CudaSearch
from kernels.digest import set_digest
from kernels.errors import BackendError, BicliqError, CapacityError
from kernels.grouping import group_roots
from kernels.side import choose_side, choose_side_for_warps

__all__ = [
    "Backend",
    "BackendError",
    "BicliqError",
    "BicliqueBatch",
    "BicliqueStream",
    "CapacityError",
    "CliqueResult",
    "CountResult",
    "CountTable",
    "EnumerationResult",
    "Progress",
    "available_threads",
    "choose_count",
    "choose_side",
    "count_all_bicliques",
    "count_bicliques",
    "enumerate_maximal_bicliques",
    "group_roots",
    "maximum_clique",
    "project_one_mode",
    "set_digest",
    "stream_maximal_bicliques",
    "why_not",
]


def enumerate_maximal_bicliques(
    indptr: Any,
    indices: Any,
    n_right: int,
    *,
    mode: Literal["count", "digest"] = "count",
    side: Literal["auto", "left", "right"] = "auto",
    roots: Any = None,
    left_ids: Any = None,
    right_ids: Any = None,
    min_left: int = 1,
    min_right: int = 1,
    min_edges: int = 1,
    max_bicliques: int | None = None,
    threads: int = 1,
    backend: str = "cpu",
    progress: ProgressCallback | None = None,
) -> EnumerationResult:
    """Count, or digest, the maximal bicliques of a bipartite graph.

    Parameters
    ----------
    indptr : array of int, shape (n_left + 1,)
    indices : array of int, shape (n_edges,)
        CSR of the left side; each row ascending, without repetition.
    n_right : int
        Number of right vertices.
    mode : {"count", "digest"}
        Whether to compute the set digest of all bicliques as well.
    side : {"auto", "left", "right"}
        The side whose vertices are the roots of the search; "auto" takes the one that `choose_side` estimates to be faster.
    roots : array of int, optional
        Search below these vertices of `side` only, taking the order of its numbers as the search order (a
        partition is written in the order of its plan). By default all vertices, by ascending degree.
    left_ids, right_ids : array of int32, optional
        Ids of the vertices for the digest; their numbers by default.
    min_left, min_right, min_edges : int
        Only bicliques with at least so many left vertices, right vertices, and edges (left times right).
    max_bicliques : int, optional
        Stop after so many; the result then says that it is not complete.
    threads : int
        Worker threads; 0 takes all cores that this process may use.
    backend : {"cpu", "cuda"}
    progress : callable, optional
        Called about five times a second with a `Progress`.

    Returns
    -------
    EnumerationResult

    Raises
    ------
    CapacityError
        If an id or a size is beyond 32 bits.
    BackendError
        If the backend cannot run here.
    ValueError
        If the arrays are no CSR matrix, or a threshold is below 1.

    Notes
    -----
    Time grows with the number of bicliques times the words of their two-step neighbourhoods; see `src/enumeration/mbe.hpp`
    for the method. Memory: 8 bytes an edge and the bit matrix of one root a thread. On a GPU `threads` has no
    meaning, and memory is a share of what the card has free (`kernels/cuda/enumeration.py`).

    Examples
    --------
    The complete graph K(2, 2) with one more left vertex that knows one right vertex:

    >>> enumerate_maximal_bicliques([0, 2, 4, 5], [0, 1, 0, 1, 0], 2).bicliques
    2
    """
    request = _request(
        indptr,
        indices,
        n_right,
        side,
        roots,
        left_ids,
        right_ids,
        min_left,
        min_right,
        min_edges,
        max_bicliques,
        threads,
        backend,
    )
    if mode not in ("count", "digest"):
        raise ValueError(f"mode is {mode!r}; it must be 'count' or 'digest' (stream_maximal_bicliques enumerates)")
    search = CudaSearch(request, mode) if backend == Backend.CUDA else CpuSearch(request, mode)
    search.wait(progress)
    return search.result()


def stream_maximal_bicliques(
    indptr: Any,
    indices: Any,
    n_right: int,
    *,
    side: Literal["auto", "left", "right"] = "auto",
    roots: Any = None,
    left_ids: Any = None,
    right_ids: Any = None,
    min_left: int = 1,
    min_right: int = 1,
    min_edges: int = 1,
    max_bicliques: int | None = None,
    threads: int = 1,
    backend: str = "cpu",
    batch_bicliques: int = 65_536,
    batch_ids: int = 1 << 20,
    on_device: bool = False,
) -> BicliqueStream:
    """Enumerate the maximal bicliques of a bipartite graph as a stream of batches.

    The parameters are those of `enumerate_maximal_bicliques`, and:

    Parameters
    ----------
    batch_bicliques, batch_ids : int
        A batch ends when it holds so many bicliques, or so many ids on either side.
    on_device : bool
        Leave the arrays of the batches on the GPU, as CuPy arrays of whatever a launch of the search has found; only
        with ``backend="cuda"``.

    Returns
    -------
    BicliqueStream
        An iterator of `BicliqueBatch`; a context manager that ends the search when it is left.

    Examples
    --------
    >>> with stream_maximal_bicliques([0, 2, 4], [0, 1, 0, 1], 2) as stream:
    ...     [(batch.left.tolist(), batch.right.tolist()) for batch in stream]
    [([0, 1], [0, 1])]
    """
    request = _request(
        indptr, indices, n_right, side, roots, left_ids, right_ids, min_left, min_right, min_edges, max_bicliques, threads, backend,
        batch_bicliques, batch_ids,
    )  # fmt: skip
    if on_device and backend != Backend.CUDA:
        raise BackendError(
            f"backend {str(backend)!r} has no batches on a device; leave on_device out, or search on a GPU"
        )
    if backend == Backend.CUDA:
        from kernels.cuda.stream import CudaStreamSearch

        return BicliqueStream(CudaStreamSearch(request, on_device=on_device), max_bicliques)
    return BicliqueStream(CpuSearch(request, "enumerate"), max_bicliques)


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
    request = _count_request(indptr, indices, n_right, p, q, side, roots, threads)
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
    request = _count_request(indptr, indices, n_right, max_p, max_q, side, roots, threads)
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
    request = _count_request(indptr, indices, n_right, p, q, side, None, threads)
    return chosen_search(request, choose_method(method, p, q, side="left", roots=True, per_vertex=False))


def _count_request(
    indptr: Any, indices: Any, n_right: int, p: int, q: int, side: str, roots: Any, threads: int
) -> CountRequest:
    """Check everything that the compiled code takes for granted."""
    starts = np.ascontiguousarray(indptr, dtype=np.int64)
    request = checked_request(starts, indices, n_right, p, q, side, roots, threads)
    _check_csr(request.indptr, request.indices, n_right)
    if roots is None:
        return request
    return replace(request, roots=_check_roots(roots, len(starts) - 1 if side == "left" else n_right))


def _request(
    indptr: Any,
    indices: Any,
    n_right: int,
    side: str,
    roots: Any,
    left_ids: Any,
    right_ids: Any,
    min_left: int,
    min_right: int,
    min_edges: int,
    max_bicliques: int | None,
    threads: int,
    backend: str,
    batch_bicliques: int = 65_536,
    batch_ids: int = 1 << 20,
) -> EnumerationRequest:
    """Check everything that the compiled code takes for granted."""
    reason = why_not(backend)
    if reason is not None:
        raise BackendError(f"backend {backend!r} cannot run here: {reason}")
    starts = np.ascontiguousarray(indptr, dtype=np.int64)
    columns = as_int32(indices, "indices")
    _check_csr(starts, columns, n_right)
    thresholds = {"min_left": min_left, "min_right": min_right, "min_edges": min_edges, "batch_bicliques": batch_bicliques,
                  "batch_ids": batch_ids, "max_bicliques": 1 if max_bicliques is None else max_bicliques}  # fmt: skip
    for name, value in thresholds.items():
        if int(value) != value or value < 1:
            raise ValueError(f"{name} is {value!r}; it must be a whole number of at least 1")
    if max(min_left, min_right) >= 2**31:
        raise CapacityError(f"min_left and min_right must be below 2**31, not {max(min_left, min_right)}")
    n_left = len(starts) - 1
    if side not in ("auto", "left", "right"):
        raise ValueError(f"side is {side!r}; it must be 'auto', 'left' or 'right'")
    if roots is not None and side == "auto":
        raise ValueError("roots are vertices of one side: say side='left' or side='right'")
    chosen: Side = (
        _faster_side(starts, columns, n_right, backend) if side == "auto" else "left" if side == "left" else "right"
    )
    return EnumerationRequest(
        indptr=starts,
        indices=columns,
        n_right=n_right,
        side=chosen,
        roots=None if roots is None else _check_roots(roots, n_left if chosen == "left" else n_right),
        left_ids=_ids(left_ids, n_left, "left_ids"),
        right_ids=_ids(right_ids, n_right, "right_ids"),
        min_left=int(min_left),
        min_right=int(min_right),
        min_edges=int(min_edges),
        max_bicliques=max_bicliques,
        threads=threads if threads > 0 else available_threads(),
        batch_bicliques=batch_bicliques,
        batch_ids=batch_ids,
    )


def _faster_side(indptr: Any, indices: Any, n_right: int, backend: Backend | str) -> Side:
    if Backend(backend) is Backend.CUDA:
        return choose_side_for_warps(indptr, indices, n_right)
    return choose_side(np.diff(indptr), np.bincount(indices, minlength=n_right))


def _check_roots(roots: Any, n: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    chosen = as_int32(roots, "roots")
    if len(chosen) and chosen.max() >= n:
        raise ValueError(f"roots holds {chosen.max()}, but the enumerated side has {n} vertices")
    if np.bincount(chosen).max(initial=0) > 1:
        raise ValueError("roots holds a vertex twice")
    return chosen


def _ids(ids: Any, n: int, name: str) -> np.ndarray[Any, np.dtype[np.int32]]:
    if ids is None:
        return np.arange(n, dtype=np.int32)
    array = as_int32(ids, name)
    if len(array) != n:
        raise ValueError(f"{name} has {len(array)} entries for {n} vertices")
    return array
