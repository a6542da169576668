"""Maximal bicliques: counted, digested, or streamed as batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

from bicliq.kernels.arguments import (
    checked_csr,
    checked_hashes,
    checked_ids,
    checked_roots,
    number_of_threads,
    one_of,
    whole_number,
)
from bicliq.kernels.contracts import (
    EnumerationRequest,
    EnumerationResult,
    Int32Array,
    Packed,
    ProgressCallback,
    Side,
    SmallerBatch,
    UInt64Array,
)
from bicliq.kernels.cpu import BicliqueStream, CpuSearch, Stream, load_extension
from bicliq.kernels.cuda.enumeration import CudaSearch
from bicliq.kernels.cuda.stream import CudaSmallerSearch, CudaStreamSearch
from bicliq.kernels.errors import BackendError, memory_is_capacity
from bicliq.kernels.machine import Backend, require_backend
from bicliq.kernels.output import RowGroup, RowGroupLayout
from bicliq.kernels.side import side_of

LARGEST_SIZE = 2**31 - 1
LARGEST_BATCH = 2**30
UNREACHED = 2**63
"""More edges than a biclique can have, and more bicliques than a search can find."""


class AskedOfAll(TypedDict, total=False):
    """What a search or an estimate may be asked for; `enumerate_maximal_bicliques` has it all."""

    side: Literal["auto", "left", "right"]
    min_left: int
    min_right: int
    min_edges: int
    threads: int


class Asked(AskedOfAll, total=False):
    """The same of a search."""

    roots: Any
    left_ids: Any
    right_ids: Any
    left_hashes: Any
    right_hashes: Any
    max_bicliques: int | None


class AskedOfStream(Asked, total=False):
    """The same of a stream, and when a batch ends; `stream_maximal_bicliques`."""

    batch_bicliques: int
    batch_ids: int


@memory_is_capacity
def enumerate_maximal_bicliques(
    indptr: Any,
    indices: Any,
    n_right: int,
    *,
    mode: Literal["count", "digest"] = "count",
    backend: str = "cpu",
    progress: ProgressCallback | None = None,
    **asked: Unpack[Asked],
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
        Ids of the vertices; their numbers by default.
    left_hashes, right_hashes : array of uint64, optional
        A 64-bit hash of each vertex's label: what the digest is made of, so that it does not depend
        on how vertices are numbered. The ids by default.
    min_left, min_right, min_edges : int
        Only bicliques with at least so many left vertices, right vertices, and edges (left times
        right).
    max_bicliques : int, optional
        Stop after so many; the result then says that it is not complete.
    threads : int
        Worker threads; 0 takes all cores that this process may use. More than four a core, or than
        64 on a small machine, are refused.
    backend : {"cpu", "cuda"}
    progress : callable, optional
        Called about five times a second with a `Progress`.

    Returns
    -------
    EnumerationResult

    Raises
    ------
    CapacityError
        If an id or a size is beyond 32 bits, a thread cannot be started, or memory runs out.
    BackendError
        If the backend cannot run here.
    ValueError
        If the arrays are no CSR matrix of whole numbers, or a threshold is below 1.

    Notes
    -----
    Time grows with the number of bicliques times the words of their two-step neighbourhoods; see
    `src/search/mbe.hpp` for the method. Memory: 8 bytes an edge and the bit matrix of one root
    a thread. On a GPU `threads` has no meaning, and memory is a share of what the card has free
    (`kernels/cuda/search_memory.py`).

    Examples
    --------
    The complete graph K(2, 2) with one more left vertex that knows one right vertex:

    >>> enumerate_maximal_bicliques([0, 2, 4, 5], [0, 1, 0, 1, 0], 2).bicliques
    2
    """
    one_of("mode", mode, ("count", "digest"))  # stream_maximal_bicliques enumerates
    request = checked_request(indptr, indices, n_right, backend, **asked)
    search = CudaSearch(request, mode) if backend == Backend.CUDA else CpuSearch(request, mode)
    search.wait(progress)
    return search.result()


@memory_is_capacity
def stream_maximal_bicliques(
    indptr: Any,
    indices: Any,
    n_right: int,
    *,
    backend: str = "cpu",
    on_device: bool = False,
    until: Callable[[], bool] | None = None,
    **asked: Unpack[AskedOfStream],
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
    until : callable, optional
        Asked before each batch, and on a CPU many times a second while there is none: the stream
        ends as soon as it returns True, and its result then says that it is not complete.

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
    request = checked_request(indptr, indices, n_right, backend, **asked)
    if on_device and backend != Backend.CUDA:
        raise BackendError(
            f"backend {str(backend)!r} has no batches on a device; leave on_device out, or search on a GPU"
        )
    if backend == Backend.CUDA:
        return BicliqueStream(CudaStreamSearch(request, on_device=on_device), asked.get("max_bicliques"), until)
    return BicliqueStream(CpuSearch(request, "enumerate"), asked.get("max_bicliques"), until)


def stream_row_groups(
    indptr: Any,
    indices: Any,
    n_right: int,
    layout: RowGroupLayout,
    *,
    until: Callable[[], bool] | None = None,
    **asked: Unpack[AskedOfStream],
) -> Stream[RowGroup]:
    """Enumerate the maximal bicliques of a bipartite graph as row groups of a Parquet file.

    Each is made by the thread that found its bicliques, on the CPU.

    Parameters
    ----------
    layout : RowGroupLayout
        How they are laid out.
    until, **asked
        As of `stream_maximal_bicliques`; but no `max_bicliques`. A row group of both sides ends
        before it has more than 65,536 vertices of one, if it can.

    Returns
    -------
    Stream
        An iterator of `RowGroup`; a context manager that ends the search when it is left.

    Examples
    --------
    >>> from bicliq.kernels import RowGroupLayout
    >>> with stream_row_groups([0, 2, 4], [0, 1, 0, 1], 2, RowGroupLayout("none")) as stream:
    ...     [(group.rows, group.sizes["largest"]) for group in stream]
    [(1, {'n_left': 2, 'n_right': 2, 'n_edges': 4})]
    """
    if asked.get("max_bicliques") is not None:
        raise ValueError("a limit of bicliques cuts batches, not row groups: use stream_maximal_bicliques")
    request = checked_request(indptr, indices, n_right, Backend.CPU, **asked)
    return Stream(CpuSearch(request, "enumerate", layout.maker, layout.group), until)


def stream_smaller_sides(
    indptr: Any,
    indices: Any,
    n_right: int,
    *,
    on_device: bool = False,
    **asked: Unpack[AskedOfStream],
) -> Stream[SmallerBatch]:
    """Enumerate the maximal bicliques of a bipartite graph on a GPU, of each the smaller side.

    A quarter of the time of a stream puts lists in order, and smaller sides have a third of all ids
    (docs/methods.md).

    Parameters
    ----------
    on_device, **asked
        As of `stream_maximal_bicliques`; but no `max_bicliques`.

    Returns
    -------
    Stream
        An iterator of `SmallerBatch`; a context manager that ends the search when it is left.

    Raises
    ------
    BackendError
        Where there is no GPU.

    Examples
    --------
    >>> from bicliq import kernels
    >>> if kernels.why_not("cuda") is None:
    ...     with kernels.stream_smaller_sides([0, 2, 4, 6], [0, 1, 0, 1, 0, 1], 2) as stream:
    ...         assert [batch.smaller.tolist() for batch in stream] == [[0, 1]]
    """
    request = checked_request(indptr, indices, n_right, Backend.CUDA, **asked)
    return Stream(CudaSmallerSearch(request, on_device=on_device), None)


def checked_request(
    indptr: Any,
    indices: Any,
    n_right: int,
    backend: str,
    *,
    side: str = "auto",
    roots: Any = None,
    left_ids: Any = None,
    right_ids: Any = None,
    left_hashes: Any = None,
    right_hashes: Any = None,
    min_left: int = 1,
    min_right: int = 1,
    min_edges: int = 1,
    max_bicliques: int | None = None,
    threads: int = 1,
    batch_bicliques: int = 65_536,
    batch_ids: int = 1 << 20,
    peels: bool = True,
) -> EnumerationRequest:
    """Check everything that the compiled code takes for granted.

    `peels`: whether vertices that are in nothing wanted leave before; else the search sees to it.
    """
    require_backend(backend)
    starts, columns, n_columns = checked_csr(indptr, indices, n_right)
    n_left = len(starts) - 1
    one_of("side", side, ("auto", "left", "right"))
    if roots is not None and side == "auto":
        raise ValueError("roots are vertices of one side: say side='left' or side='right'")
    checked: dict[str, Any] = {
        "min_left": whole_number("min_left", min_left, most=LARGEST_SIZE),
        "min_right": whole_number("min_right", min_right, most=LARGEST_SIZE),
        "min_edges": min(whole_number("min_edges", min_edges), UNREACHED),
        "max_bicliques": None
        if max_bicliques is None
        else min(whole_number("max_bicliques", max_bicliques), UNREACHED),
        "threads": number_of_threads(threads),
        "batch_bicliques": whole_number("batch_bicliques", batch_bicliques, most=LARGEST_BATCH),
        "batch_ids": whole_number("batch_ids", batch_ids, most=LARGEST_BATCH),
    }
    graph = Packed.of(starts, columns, n_columns)
    least = checked["min_left"], checked["min_right"]
    if roots is None and peels:
        graph = core_of(graph, *least)
    chosen = chosen_side(side, graph, backend, *least)
    wanted = None if roots is None else checked_roots(roots, n_left if chosen == "left" else n_columns)
    left = _ids_of(graph.left, left_ids, n_left, "left_ids")
    right = _ids_of(graph.right, right_ids, n_columns, "right_ids")
    return EnumerationRequest(
        *graph.csr,
        chosen,
        None if wanted is None else graph.roots(wanted, chosen),
        left,
        right,
        _hashes_of(graph.left, left_hashes, n_left, "left_hashes", left),
        _hashes_of(graph.right, right_hashes, n_columns, "right_hashes", right),
        **checked,
    )


def _ids_of(kept: Any, ids: Any, n: int, name: str) -> Int32Array:
    """Ids of the vertices of a side that were kept, by default their numbers."""
    if ids is None:
        return np.arange(n, dtype=np.int32) if kept is None else kept.astype(np.int32)
    array = checked_ids(ids, n, name)
    return array if kept is None else array[kept]


def _hashes_of(kept: Any, hashes: Any, n: int, name: str, ids: Int32Array) -> UInt64Array:
    """Hashes of the labels of a side's vertices that were kept, by default their ids."""
    if hashes is None:
        return ids.astype(np.uint64)
    array = checked_hashes(hashes, n, name)
    return array if kept is None else array[kept]


def core_of(graph: Packed, min_left: int, min_right: int) -> Packed:
    """What is left of a graph without vertices that have too few edges for any biclique wanted."""
    if min_left == min_right == 1:
        return graph
    core = load_extension().find_core(*graph.csr, min_right, min_left).result()
    if core is None:
        return graph
    indptr, indices, left, right, paths = core
    left, right = (kept if of is None else of[kept] for of, kept in ((graph.left, left), (graph.right, right)))
    return Packed(indptr, indices, len(right), left, right, paths)


def chosen_side(
    side: str, graph: Packed, backend: Backend | str = Backend.CPU, min_left: int = 1, min_right: int = 1
) -> Side:
    """The side whose vertices are the roots: the one asked for, or the one with less to search."""
    if side != "auto":
        return "left" if side == "left" else "right"
    return side_of(*graph.csr, min_left, min_right, backend, graph.paths)
