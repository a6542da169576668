"""Maximum cliques of an undirected graph, and the projection of one side of a bipartite graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bicliq.kernels.arguments import checked_csr, number_of_threads, one_of, whole_number
from bicliq.kernels.contracts import Int32Array, Int64Array, Packed
from bicliq.kernels.cpu import load_extension, wait_for
from bicliq.kernels.errors import BackendError, memory_is_capacity
from bicliq.kernels.machine import Backend, check_room, require_backend

BOUNDS = ("refute", "recolour", "colour")
LARGEST_BOUND = 2**31 - 1


@dataclass(frozen=True, eq=False)
class CliqueResult:
    """A maximum clique, or the best one that was found in time.

    Attributes
    ----------
    size : int
        Vertices of the clique; 0 of a graph without vertices, or where none is larger than
        `lower_bound`.
    members : array of int32, shape (size,)
        Its vertices, ascending.
    cliques : array of int32, shape (n_cliques, size)
        All maximum cliques where asked for, else the one; rows ascending, in lexicographic order.
    proven : bool
        Whether the search came to its end: no clique is larger (and with ``all=True``, none of this
        size is missing).
    nodes : int
        Nodes of the search trees.
    degeneracy : int
        The largest core number; the size is at most one more.
    seconds : dict of str to float
        ``order`` (core numbers), ``heuristic`` (first clique), ``search``, and ``collect`` where
        all were asked for; on a GPU also ``roots`` (their local graphs).
    threads : int
        Worker threads, or warps.
    backend : str
        ``"cpu"`` with its instruction set, as ``"cpu-avx512"``, or ``"cuda"``.
    """

    size: int
    members: Int32Array
    cliques: Int32Array
    proven: bool
    nodes: int
    degeneracy: int
    seconds: dict[str, float]
    threads: int
    backend: str


@memory_is_capacity
def maximum_clique(
    indptr: Any,
    indices: Any,
    *,
    all: bool = False,
    time_limit: float | None = None,
    lower_bound: int = 0,
    threads: int = 1,
    backend: str = "cpu",
    bounds: str = "refute",
    devices: int = 1,
) -> CliqueResult:
    """Find a maximum clique of an undirected graph, exactly, or all of them.

    Parameters
    ----------
    indptr : array of int, shape (n + 1,)
    indices : array of int, shape (2 * n_edges,)
        Symmetric CSR: each edge in the rows of both ends; rows ascending, without repetition, no
        vertex in its own row.
    all : bool
        Find every clique of the largest size; there may be exponentially many.
    time_limit : float, optional
        Stop after so many seconds with the best clique so far; the result then says that it is not
        proven.
    lower_bound : int
        Look only for cliques larger than this; `size` is 0 if there is none.
    threads : int
        Worker threads; 0 takes all cores that this process may use. More than four a core, or than
        64 on a small machine, are refused.
    backend : {"cpu", "cuda"}
        ``"cuda"`` finds one clique, not all.
    bounds : {"refute", "recolour", "colour"}
        The strongest bound in use; the weaker ones are there to be compared with.
    devices : int
        GPUs of ``"cuda"``; 0 takes all that this process sees.

    Returns
    -------
    CliqueResult

    Raises
    ------
    ValueError
        If the arrays are no symmetric CSR matrix, or a parameter is out of range.
    BackendError
        If the backend cannot run here, or cannot do what is asked.
    CapacityError
        If an id is beyond 32 bits, a thread cannot be started, or memory runs out.

    Notes
    -----
    Branch and bound on bits with re-colouring and MaxSAT bounds (`src/clique/colouring.hpp`,
    `src/clique/clique.hpp`), below the roots of a degeneracy order. Exponential in the worst case;
    memory is 4 bytes an edge, and 2·d²/8 bytes a thread for a degeneracy d. An interrupt (Ctrl-C)
    ends all threads, and the kernels on a GPU (`src/clique/warp_clique.hpp`).

    References
    ----------
    San Segundo et al., "An exact bit-parallel algorithm for the maximum clique problem", 2011. Li,
    Fang and Xu, "Combining MaxSAT reasoning and incremental upper bound for the maximum clique
    problem", 2013.

    Examples
    --------
    A triangle 0, 1, 2 with a tail 2, 3:

    >>> result = maximum_clique([0, 2, 4, 7, 8], [1, 2, 0, 2, 0, 1, 3, 2])
    >>> result.members.tolist(), result.proven
    ([0, 1, 2], True)
    """
    starts, neighbours = check_undirected(indptr, indices)
    require_backend(backend)
    one_of("bounds", bounds, BOUNDS)
    larger_than = whole_number("lower_bound", lower_bound, least=0, most=LARGEST_BOUND)
    if time_limit is not None and (isinstance(time_limit, bool) or not time_limit > 0):
        raise ValueError(f"time_limit is {time_limit!r}; it must be a number of seconds above 0")
    cards = whole_number("devices", devices, least=0)
    workers = number_of_threads(threads)
    if backend == Backend.CUDA:
        return _search_on_gpus(starts, neighbours, all, time_limit, larger_than, bounds, cards)
    extension = load_extension()
    search = extension.CliqueSearch(
        starts, neighbours, larger_than, all, workers, bounds != "colour", bounds == "refute"
    )
    wait_for(search, time_limit=time_limit)
    found = search.result()
    size = found["size"]
    cliques = _sorted_rows(found["members"].reshape(-1, size) if size else np.empty((0, 0), np.int32))
    return CliqueResult(
        size=size,
        members=cliques[0] if len(cliques) else np.empty(0, np.int32),
        cliques=cliques,
        proven=found["proven"],
        nodes=found["nodes"],
        degeneracy=found["degeneracy"],
        seconds=found["seconds"],
        threads=workers,
        backend=f"cpu-{extension.isa}",
    )


def _search_on_gpus(
    starts: Int64Array,
    neighbours: Int32Array,
    all: bool,
    time_limit: float | None,
    lower_bound: int,
    bounds: str,
    devices: int,
) -> CliqueResult:
    if all:
        raise BackendError("the CUDA backend finds one maximum clique, not all; use the CPU backend")
    from bicliq.kernels.cuda.clique import cards, search

    found = search(
        cards(devices),
        starts,
        neighbours,
        lower_bound=lower_bound,
        recolour=bounds != "colour",
        refute=bounds == "refute",
        time_limit=time_limit,
    )
    size = len(found.members)
    return CliqueResult(
        size=size,
        members=found.members,
        cliques=found.members.reshape(1, -1) if size else np.empty((0, 0), np.int32),
        proven=found.proven,
        nodes=found.nodes,
        degeneracy=found.degeneracy,
        seconds=found.seconds,
        threads=found.groups,
        backend="cuda",
    )


@memory_is_capacity
def project_one_mode(
    indptr: Any,
    indices: Any,
    n_right: int,
    *,
    side: Literal["left", "right"] = "left",
    min_shared: int = 1,
    threads: int = 1,
) -> tuple[Int64Array, Int32Array]:
    """Tie two vertices of one side of a bipartite graph when they share enough of the other side.

    Parameters
    ----------
    indptr, indices, n_right
        CSR of the left side, as of `enumerate_maximal_bicliques`.
    side : {"left", "right"}
        The side whose vertices become the vertices of the result.
    min_shared : int
        Two of them are neighbours when they have at least so many common neighbours.
    threads : int
        As of `maximum_clique`.

    Returns
    -------
    indptr : array of int64, shape (n + 1,)
    indices : array of int32
        Symmetric CSR of the undirected graph, rows ascending: what `maximum_clique` takes.

    Raises
    ------
    ValueError
        If the arrays are no CSR matrix, or `min_shared` is below 1.
    CapacityError
        If an id is beyond 32 bits, a thread cannot be started, or memory runs out.

    Notes
    -----
    Time is that of the paths of two edges between vertices of `side`; memory is the result and 4
    bytes a vertex and thread, however many paths there are.

    Examples
    --------
    Two left vertices that share two right ones, and one that shares one with each:

    >>> project_one_mode([0, 2, 4, 5], [0, 1, 0, 1, 1], 2, min_shared=2)[1].tolist()
    [1, 0]
    """
    one_of("side", side, ("left", "right"))
    least = whole_number("min_shared", min_shared)
    workers = number_of_threads(threads)
    starts, others, n_columns = checked_csr(indptr, indices, n_right)
    graph = Packed.of(starts, others, n_columns)
    if least > LARGEST_BOUND:  # more than any two vertices share
        graph, least = Packed.of(np.zeros_like(starts), others[:0], n_columns), LARGEST_BOUND
    run = load_extension().OneMode(*graph.csr, side == "right", least, workers)
    projected: tuple[Int64Array, Int32Array] = run.result()
    return _among_all(*projected, graph.of_side(side), n_columns if side == "right" else len(starts) - 1)


def _among_all(indptr: Int64Array, indices: Int32Array, kept: Any, n: int) -> tuple[Int64Array, Int32Array]:
    """Put the vertices without neighbours, which were left out, back into an undirected graph."""
    if kept is None:
        return indptr, indices
    check_room(8 * (n + 1), f"the rows of {n:,} vertices")
    starts = np.zeros(n + 1, np.int64)
    starts[kept + 1] = np.diff(indptr)
    np.cumsum(starts, out=starts)
    return starts, kept.astype(np.int32)[indices]


def _sorted_rows(cliques: Any) -> Int32Array:
    rows = np.sort(cliques, axis=1)
    return np.ascontiguousarray(rows[np.lexsort(rows.T[::-1])] if rows.size else rows)


def check_undirected(indptr: Any, indices: Any) -> tuple[Int64Array, Int32Array]:
    """Check that two arrays are the CSR of an undirected graph; returns them as int64 and int32."""
    starts, neighbours, n = checked_csr(indptr, indices, max(len(np.atleast_1d(indptr)) - 1, 0))
    if not n:
        return starts, neighbours
    extension = load_extension()
    fault = extension.undirected_fault(starts, neighbours)
    if fault == extension.NOT_SYMMETRIC:
        raise ValueError("the matrix is not symmetric: each edge must be in the rows of both of its ends")
    if fault != extension.UNDIRECTED:
        raise ValueError(f"vertex {fault} is its own neighbour; drop self-loops")
    return starts, neighbours
