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
    choose_side,
)
from kernels.contracts import check_csr as _check_csr
from kernels.counting import (
    CountResult,
    checked_request,
    choose_method,
    count_butterflies,
    count_by_levels,
)
from kernels.cpu import BicliqueStream, CpuSearch
from kernels.cuda import CudaSearch
from kernels.digest import set_digest
from kernels.errors import BackendError, BicliqError, CapacityError

__all__ = [
    "Backend",
    "BackendError",
    "BicliqError",
    "BicliqueBatch",
    "BicliqueStream",
    "CapacityError",
    "CliqueResult",
    "CountResult",
    "EnumerationResult",
    "Progress",
    "available_threads",
    "choose_side",
    "count_bicliques",
    "enumerate_maximal_bicliques",
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
    Time grows with the number of bicliques times the words of their two-step neighbourhoods; see `src/mbe.hpp`
    for the method. Memory: 8 bytes an edge and the bit matrix of one root a thread. On a GPU `threads` has no
    meaning, and memory is a share of what the card has free (`kernels/cuda.py`).

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
) -> BicliqueStream:
    """Enumerate the maximal bicliques of a bipartite graph as a stream of batches.

    The parameters are those of `enumerate_maximal_bicliques`, and:

    Parameters
    ----------
    batch_bicliques, batch_ids : int
        A batch ends when it holds so many bicliques, or so many ids on either side.

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
    if backend == Backend.CUDA:
        raise BackendError("the CUDA backend counts and digests; to stream bicliques, use the CPU backend")
    return BicliqueStream(CpuSearch(request, "enumerate"), max_bicliques)


def count_bicliques(
    indptr: Any,
    indices: Any,
    n_right: int,
    p: int,
    q: int,
    *,
    method: Literal["auto", "levels", "butterfly"] = "auto",
    side: Literal["auto", "left", "right"] = "auto",
    roots: Any = None,
    threads: int = 1,
    per_vertex: bool = False,
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
    method : {"auto", "levels", "butterfly"}
        The search; "auto" takes "butterfly" for p = q = 2 without roots, else "levels".
    side : {"auto", "left", "right"}
        The side that holds the roots; "auto" estimates the cheaper one by a sample.
    roots : array of int, optional
        Count only the subgraphs whose first vertex on `side`, in the order of its numbers, is one of these.
    threads : int
        Worker threads of "levels"; 0 takes all cores that this process may use.
    per_vertex : bool
        Count for each vertex and each edge as well (p = q = 2).
    progress : callable, optional
        Called about five times a second with a `Progress`.

    Returns
    -------
    CountResult

    Raises
    ------
    CapacityError
        If the count does not fit in 128 bits, or an id is beyond 32 bits.
    ValueError
        If p or q is no whole number of at least 1, or the arrays are no CSR matrix.

    Notes
    -----
    Time grows with the p-subsets of the root side that have q common neighbours, but for the last level; see
    `src/pq.hpp`. Parts of the roots add up to the whole.

    Examples
    --------
    >>> count_bicliques([0, 3, 6], [0, 1, 2, 0, 1, 2], 3, 2, 2).count
    3
    """
    starts = np.ascontiguousarray(indptr, dtype=np.int64)
    request = checked_request(starts, indices, n_right, p, q, side, roots, threads)
    _check_csr(request.indptr, request.indices, n_right)
    if roots is not None:
        n = len(starts) - 1 if side == "left" else n_right
        request = replace(request, roots=_check_roots(roots, n))
    if choose_method(method, p, q, roots=roots is not None, per_vertex=per_vertex) == "butterfly":
        return count_butterflies(request, per_vertex)
    return count_by_levels(request, progress)


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
    chosen: Side = _faster_side(starts, columns, n_right) if side == "auto" else "left" if side == "left" else "right"
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


def _faster_side(indptr: Any, indices: Any, n_right: int) -> Side:
    return choose_side(np.diff(indptr), np.bincount(indices, minlength=n_right))


def _check_roots(roots: Any, n: int) -> np.ndarray[Any, np.dtype[np.int32]]:
    chosen = as_int32(roots, "roots")
    if len(chosen) and chosen.max() >= n:
        raise ValueError(f"roots holds {chosen.max()}, but the enumerated side has {n} vertices")
    if len(np.unique(chosen)) != len(chosen):
        raise ValueError("roots holds a vertex twice")
    return chosen


def _ids(ids: Any, n: int, name: str) -> np.ndarray[Any, np.dtype[np.int32]]:
    if ids is None:
        return np.arange(n, dtype=np.int32)
    array = as_int32(ids, name)
    if len(array) != n:
        raise ValueError(f"{name} has {len(array)} entries for {n} vertices")
    return array
