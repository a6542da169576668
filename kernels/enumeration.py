"""Maximal bicliques: counted, digested, or streamed as batches."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from kernels.backend import Backend, available_threads, why_not
from kernels.contracts import (
    EnumerationRequest,
    EnumerationResult,
    Int32Array,
    Int64Array,
    ProgressCallback,
    Side,
    as_int32,
    check_csr,
    check_roots,
)
from kernels.cpu import BicliqueStream, CpuSearch
from kernels.cuda.enumeration import CudaSearch
from kernels.cuda.stream import CudaStreamSearch
from kernels.errors import BackendError, CapacityError
from kernels.side import choose_side, choose_side_for_warps


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
        The side whose vertices are the roots of the search; "auto" takes the one that `choose_side`
        estimates to be faster.
    roots : array of int, optional
        Search below these vertices of `side` only, taking the order of its numbers as the search
        order (a partition is written in the order of its plan). By default all vertices, by
        ascending degree.
    left_ids, right_ids : array of int32, optional
        Ids of the vertices for the digest; their numbers by default.
    min_left, min_right, min_edges : int
        Only bicliques with at least so many left vertices, right vertices, and edges (left times
        right).
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
    Time grows with the number of bicliques times the words of their two-step neighbourhoods; see
    `src/enumeration/mbe.hpp` for the method. Memory: 8 bytes an edge and the bit matrix of one root
    a thread. On a GPU `threads` has no meaning, and memory is a share of what the card has free
    (`kernels/cuda/search_memory.py`).

    Examples
    --------
    The complete graph K(2, 2) with one more left vertex that knows one right vertex:

    >>> enumerate_maximal_bicliques([0, 2, 4, 5], [0, 1, 0, 1, 0], 2).bicliques
    2
    """
    if mode not in ("count", "digest"):
        raise ValueError(f"mode is {mode!r}; it must be 'count' or 'digest' (stream_maximal_bicliques enumerates)")
    request = _checked_request(
        indptr,
        indices,
        n_right,
        backend,
        side=side,
        roots=roots,
        left_ids=left_ids,
        right_ids=right_ids,
        min_left=min_left,
        min_right=min_right,
        min_edges=min_edges,
        max_bicliques=max_bicliques,
        threads=threads,
    )
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
        Leave the arrays of the batches on the GPU, as CuPy arrays of whatever a launch of the
        search has found; only with ``backend="cuda"``.

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
    request = _checked_request(
        indptr,
        indices,
        n_right,
        backend,
        side=side,
        roots=roots,
        left_ids=left_ids,
        right_ids=right_ids,
        min_left=min_left,
        min_right=min_right,
        min_edges=min_edges,
        max_bicliques=max_bicliques,
        threads=threads,
        batch_bicliques=batch_bicliques,
        batch_ids=batch_ids,
    )
    if on_device and backend != Backend.CUDA:
        raise BackendError(
            f"backend {str(backend)!r} has no batches on a device; leave on_device out, or search on a GPU"
        )
    if backend == Backend.CUDA:
        return BicliqueStream(CudaStreamSearch(request, on_device=on_device), max_bicliques)
    return BicliqueStream(CpuSearch(request, "enumerate"), max_bicliques)


def _checked_request(
    indptr: Any,
    indices: Any,
    n_right: int,
    backend: str,
    *,
    side: str,
    roots: Any,
    left_ids: Any,
    right_ids: Any,
    min_left: int,
    min_right: int,
    min_edges: int,
    max_bicliques: int | None,
    threads: int,
    batch_bicliques: int = 65_536,
    batch_ids: int = 1 << 20,
) -> EnumerationRequest:
    """Check everything that the compiled code takes for granted."""
    reason = why_not(backend)
    if reason is not None:
        raise BackendError(f"backend {backend!r} cannot run here: {reason}")
    starts = np.ascontiguousarray(indptr, dtype=np.int64)
    columns = as_int32(indices, "indices")
    check_csr(starts, columns, n_right)
    _check_at_least_one(
        min_left=min_left,
        min_right=min_right,
        min_edges=min_edges,
        batch_bicliques=batch_bicliques,
        batch_ids=batch_ids,
        max_bicliques=1 if max_bicliques is None else max_bicliques,
    )
    if max(min_left, min_right) >= 2**31:
        raise CapacityError(f"min_left and min_right must be below 2**31, not {max(min_left, min_right)}")
    n_left = len(starts) - 1
    if roots is not None and side == "auto":
        raise ValueError("roots are vertices of one side: say side='left' or side='right'")
    chosen = _chosen_side(side, starts, columns, n_right, backend)
    return EnumerationRequest(
        indptr=starts,
        indices=columns,
        n_right=n_right,
        side=chosen,
        roots=None if roots is None else check_roots(roots, n_left if chosen == "left" else n_right),
        left_ids=_checked_ids(left_ids, n_left, "left_ids"),
        right_ids=_checked_ids(right_ids, n_right, "right_ids"),
        min_left=int(min_left),
        min_right=int(min_right),
        min_edges=int(min_edges),
        max_bicliques=max_bicliques,
        threads=threads if threads > 0 else available_threads(),
        batch_bicliques=batch_bicliques,
        batch_ids=batch_ids,
    )


def _check_at_least_one(**numbers: Any) -> None:
    for name, value in numbers.items():
        if int(value) != value or value < 1:
            raise ValueError(f"{name} is {value!r}; it must be a whole number of at least 1")


def _chosen_side(side: str, indptr: Int64Array, indices: Int32Array, n_right: int, backend: Backend | str) -> Side:
    if side in ("left", "right"):
        return "left" if side == "left" else "right"
    if side != "auto":
        raise ValueError(f"side is {side!r}; it must be 'auto', 'left' or 'right'")
    if Backend(backend) is Backend.CUDA:
        return choose_side_for_warps(indptr, indices, n_right)
    return choose_side(np.diff(indptr), np.bincount(indices, minlength=n_right))


def _checked_ids(ids: Any, n: int, name: str) -> Int32Array:
    if ids is None:
        return np.arange(n, dtype=np.int32)
    array = as_int32(ids, name)
    if len(array) != n:
        raise ValueError(f"{name} has {len(array)} entries for {n} vertices")
    return array
