"""Maximum cliques of an undirected graph: checks, the run, and a frozen result."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels.backend import available_threads, why_not
from kernels.contracts import Int32Array, Int64Array, as_int32
from kernels.cpu import load_extension
from kernels.errors import BackendError, CapacityError

POLL_SECONDS = 0.1


@dataclass(frozen=True, eq=False)
class CliqueResult:
    """A maximum clique, or the best one that was found in time.

    Attributes
    ----------
    size : int
        Vertices of the clique; 0 of a graph without vertices, or where none is larger than `lower_bound`.
    members : array of int32, shape (size,)
        Its vertices, ascending.
    cliques : array of int32, shape (n_cliques, size)
        All maximum cliques where asked for, else the one; rows ascending, in lexicographic order.
    proven : bool
        Whether the search came to its end: no clique is larger (and with ``all=True``, none of this size is missing).
    nodes : int
        Nodes of the search trees.
    degeneracy : int
        The largest core number; the size is at most one more.
    seconds : dict of str to float
        ``order`` (core numbers), ``heuristic`` (first clique), ``search``, and ``collect`` where all were asked for.
    threads : int
    backend : str
        ``"cpu"`` with its instruction set, as ``"cpu-avx512"``.
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
) -> CliqueResult:
    """Find a maximum clique of an undirected graph, exactly, or all of them.

    Parameters
    ----------
    indptr : array of int, shape (n + 1,)
    indices : array of int, shape (2 * n_edges,)
        Symmetric CSR: each edge in the rows of both ends; rows ascending, without repetition, no vertex in its own row.
    all : bool
        Find every clique of the largest size; there may be exponentially many.
    time_limit : float, optional
        Stop after so many seconds with the best clique so far; the result then says that it is not proven.
    lower_bound : int
        Look only for cliques larger than this; `size` is 0 if there is none.
    threads : int
        Worker threads; 0 takes all cores that this process may use.
    backend : {"cpu"}
    bounds : {"refute", "recolour", "colour"}
        The strongest bound in use; the weaker ones are there to be compared with.

    Returns
    -------
    CliqueResult

    Raises
    ------
    ValueError
        If the arrays are no symmetric CSR matrix, or a parameter is out of range.
    BackendError
        If the backend cannot run here.
    CapacityError
        If an id is beyond 32 bits.

    Notes
    -----
    Branch and bound on bits with re-colouring and MaxSAT bounds (`src/colouring.hpp`, `src/clique.hpp`), below the
    roots of a degeneracy order. Exponential in the worst case; memory is 4 bytes an edge, and 2·d²/8 bytes a thread
    for a degeneracy d. An interrupt (Ctrl-C) ends all threads.

    References
    ----------
    San Segundo et al., "An exact bit-parallel algorithm for the maximum clique problem", 2011. Li, Fang and Xu,
    "Combining MaxSAT reasoning and incremental upper bound for the maximum clique problem", 2013.

    Examples
    --------
    A triangle 0, 1, 2 with a tail 2, 3:

    >>> result = maximum_clique([0, 2, 4, 7, 8], [1, 2, 0, 2, 0, 1, 3, 2])
    >>> result.members.tolist(), result.proven
    ([0, 1, 2], True)
    """
    starts, neighbours = check_undirected(indptr, indices)
    reason = why_not(backend)
    if reason is not None:
        raise BackendError(f"backend {backend!r} cannot run here: {reason}")
    if backend != "cpu":
        raise BackendError("maximum cliques are searched on the CPU; use the CPU backend")
    if bounds not in ("refute", "recolour", "colour"):
        raise ValueError(f"bounds is {bounds!r}; it must be 'refute', 'recolour' or 'colour'")
    if int(lower_bound) != lower_bound or not 0 <= lower_bound < 2**31:
        raise ValueError(f"lower_bound is {lower_bound!r}; it must be a whole number from 0 up")
    if time_limit is not None and not time_limit > 0:
        raise ValueError(f"time_limit is {time_limit!r}; it must be a number of seconds above 0")
    workers = threads if threads > 0 else available_threads()
    extension = load_extension()
    search = extension.CliqueSearch(
        starts, neighbours, int(lower_bound), all, workers, bounds != "colour", bounds == "refute"
    )
    _wait(search, time_limit)
    size = search.size
    cliques = _sorted_rows(search.members.reshape(search.n_cliques, size) if size else np.empty((0, 0), np.int32))
    return CliqueResult(
        size=size,
        members=cliques[0] if len(cliques) else np.empty(0, np.int32),
        cliques=cliques,
        proven=search.proven,
        nodes=search.nodes,
        degeneracy=search.degeneracy,
        seconds=search.seconds,
        threads=workers,
        backend=f"cpu-{extension.isa}",
    )


def _wait(search: Any, time_limit: float | None) -> None:
    deadline = None if time_limit is None else time.monotonic() + time_limit
    try:
        while True:
            left = POLL_SECONDS if deadline is None else min(POLL_SECONDS, deadline - time.monotonic())
            if search.wait(max(left, 0.0)):
                return
            if deadline is not None and time.monotonic() >= deadline:
                search.stop()
                return
    except BaseException:
        search.stop()
        raise


def _sorted_rows(cliques: Any) -> Int32Array:
    rows = np.sort(cliques, axis=1)
    return np.ascontiguousarray(rows[np.lexsort(rows.T[::-1])] if rows.size else rows)


def check_undirected(indptr: Any, indices: Any) -> tuple[Int64Array, Int32Array]:
    """Check that two arrays are the CSR of an undirected graph; returns them as int64 and int32."""
    starts = np.ascontiguousarray(indptr, dtype=np.int64)
    neighbours = as_int32(indices, "indices")
    if starts.ndim != 1 or len(starts) == 0 or starts[0] != 0 or starts[-1] != len(neighbours):
        raise ValueError("indptr must start with 0, never fall, and end with the number of indices")
    degrees = np.diff(starts)
    n = len(degrees)
    if (degrees < 0).any():
        raise ValueError("indptr must start with 0, never fall, and end with the number of indices")
    if n >= 2**31:
        raise CapacityError(f"a graph may have at most 2**31 - 1 vertices, not {n}")
    if len(neighbours) == 0:
        return starts, neighbours
    if neighbours.max() >= n:
        raise ValueError(f"indices holds {neighbours.max()}, but there are {n} vertices (0…{n - 1})")
    rows = np.repeat(np.arange(n, dtype=np.int32), degrees)
    if (rows == neighbours).any():
        raise ValueError(f"vertex {rows[rows == neighbours][0]} is its own neighbour; drop self-loops")
    if ((np.diff(neighbours) <= 0) & (rows[1:] == rows[:-1])).any():
        raise ValueError("indices must be ascending and without repetition within each row")
    if not load_extension().is_symmetric(starts, neighbours):
        raise ValueError("the matrix is not symmetric: each edge must be in the rows of both of its ends")
    return starts, neighbours
