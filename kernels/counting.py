"""Exact (p,q)-biclique counts: checks, the choice of the search, and Python integers out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from bicliq.kernels.arguments import checked_csr, checked_roots, number_of_threads, one_of, whole_number
from bicliq.kernels.card_count import count_on_gpu
from bicliq.kernels.contracts import (
    CountRequest,
    CountResult,
    CountTable,
    Packed,
    ProgressCallback,
    Side,
)
from bicliq.kernels.count_numbers import table_of, whole_number_of
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.cuda.butterflies import CudaButterflies
from bicliq.kernels.cuda.table import CudaTrees, TreeCells, most_optional
from bicliq.kernels.errors import CapacityError, memory_is_capacity
from bicliq.kernels.host_count import chosen_search, count_by_search, count_table, ended_count, started_count
from bicliq.kernels.machine import Backend, require_backend

METHODS, ROOT_SIDES = ("auto", "levels", "pivot"), ("auto", "left", "right")

TREE_POLL_SECONDS = 0.002
"""Between two looks for trees that a device can count."""

LARGEST_TABLE = 1 << 20
"""Cells of a table of all (p,q): 32 MiB of sums a thread."""


@memory_is_capacity
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
    indptr, indices, n_right
        CSR of the left side, as of `enumerate_maximal_bicliques`.
    p, q : int
        Left and right size, from 1 up; larger than the graph counts 0.
    method : {"auto", "levels", "pivot", "butterfly"}
        The search; "auto" takes "butterfly" for p = q = 2 without roots and side, else "levels" or
        "pivot", whichever a sample estimates to be cheaper.
    side : {"auto", "left", "right"}
        The side that holds the roots; "auto" takes the cheaper one by the same sample.
    roots : array of int, optional
        Count only the subgraphs whose first vertex on `side`, in the order of its numbers, is one
        of these.
    threads : int
        Worker threads; 0 takes all cores that this process may use. More than four a core, or than
        64 on a small machine, are refused. With a GPU they choose the search and the side.
    per_vertex : bool
        Count for each vertex as well, and for p = q = 2 by "butterfly" for each edge.
    backend : {"cpu", "cuda"}
        The device time of "cuda" is ``roots`` and ``search``. Where side and search are left to
        "auto", the host's threads count as well: who should have the count sooner begins, and who
        ends first has counted, as its `backend` says. What the host should have within 10 ms (300,
        where the GPU has not started) it begins.
    progress : callable, optional
        Called about five times a second with a `Progress`.

    Returns
    -------
    CountResult

    Raises
    ------
    CapacityError
        If an id is beyond 32 bits, a thread cannot be started, or memory runs out; if counts of
        vertices are asked for, and the count of all is 2^128 or more, or the butterflies of one may
        be 2^64 or more.
    BackendError
        If the backend cannot run here, or cannot do what is asked; a GPU counts up to 2^128 - 1.
    ValueError
        If p or q is no whole number of at least 1, or the arrays are no CSR matrix.

    Notes
    -----
    "levels" (`src/counting/pq.hpp`) takes time with the p-subsets of the root side that have q
    common neighbours, but for the last levels; "pivot" (`src/counting/pivot.hpp`) with the leaves
    of a tree that does not depend much on p and q. Parts of the roots add up to the whole. Papers:
    BCList++ (VLDB J. 2021), EPivoter (SIGMOD 2023), BFC-VP (PVLDB 2019).

    Examples
    --------
    >>> count_bicliques([0, 3, 6], [0, 1, 2, 0, 1, 2], 3, 2, 2).count
    3
    >>> count_bicliques([0, 3, 6], [0, 1, 2, 0, 1, 2], 3, 2, 2, per_vertex=True).right_counts.tolist()
    [2, 2, 2]
    """
    request = checked_request(indptr, indices, n_right, p, q, side, roots, threads)
    search = choose_method(method, request.p, request.q, side=side, roots=roots is not None, per_vertex=per_vertex)
    require_backend(backend)
    if search == "butterfly":
        return count_butterflies(request, per_vertex, progress, on_card=backend != Backend.CPU)
    if backend != Backend.CPU:
        return count_on_gpu(request, search, per_vertex, progress)
    return count_by_search(request, search, per_vertex, progress)


@memory_is_capacity
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
    indptr, indices, n_right
        CSR of the left side, as of `enumerate_maximal_bicliques`.
    max_p, max_q : int
        Largest left and right size, from 1 up.
    side, roots, threads, progress
        As of `count_bicliques`.
    backend : {"cpu", "cuda"}
        "cuda" counts the narrow ends of the search on the GPU while `threads` of the CPU go on with
        the rest.

    Returns
    -------
    CountTable

    Raises
    ------
    CapacityError
        If the table has more than a million cells, an id is beyond 32 bits, a thread cannot be
        started, or memory runs out.
    BackendError
        If the backend cannot run here.
    ValueError
        If a size is no whole number of at least 1, or the arrays are no CSR matrix.

    Notes
    -----
    By pivots (`src/counting/pivot.hpp`): time grows with the leaves of the search, which `max_p`
    and `max_q` bound from above. Paper: EPivoter (SIGMOD 2023).

    Examples
    --------
    >>> count_all_bicliques([0, 3, 6], [0, 1, 2, 0, 1, 2], 3, 2, 2).counts
    {(1, 1): 6, (1, 2): 6, (2, 1): 3, (2, 2): 3}
    """
    check_table(max_p, max_q)
    request = checked_request(indptr, indices, n_right, max_p, max_q, side, roots, threads)
    require_backend(backend)
    if backend == Backend.CPU:
        return count_table(request, progress)
    return count_table_by_trees(request, CudaTrees, "cuda", progress)


@memory_is_capacity
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
    backend: str = "cpu",
) -> tuple[str, Side]:
    """Choose the search and the side of the roots of a count, by the sample of `count_bicliques`.

    Parameters
    ----------
    indptr, indices, n_right, p, q
        As of `count_bicliques`.
    method, side
        What is prescribed of the choice.
    threads : int
        Threads that share the sample; the choice does not depend on them. 0 takes all cores that
        this process may use.
    backend : {"cpu", "cuda"}
        The machine that will count.

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
    search = choose_method(method, request.p, request.q, side="left", roots=True, per_vertex=False)
    return chosen_search(request, search, on_card=backend != Backend.CPU)


def check_table(max_p: Any, max_q: Any) -> tuple[int, int]:
    """Check the sizes of a table of all counts, and that it fits.

    Examples
    --------
    >>> check_table(12, 12)
    (12, 12)
    """
    p, q = whole_number("max_p", max_p), whole_number("max_q", max_q)
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
    one_of("method", method, (*METHODS, "butterfly"))
    possible = (p, q) == (2, 2) and not roots
    if method == "butterfly" and not possible:
        raise ValueError(f"method 'butterfly' counts p = q = 2 over all roots, not ({p}, {q}) with roots={roots}")
    if method == "levels" and per_vertex:
        raise ValueError("counts of vertices need method 'pivot', 'butterfly' or 'auto', not 'levels'")
    if method == "auto" and possible and side == "auto":
        return "butterfly"
    return "pivot" if per_vertex and method == "auto" else method


def count_table_by_trees(
    request: CountRequest, device: Callable[[TreeCells, int], Any], backend: str, progress: ProgressCallback | None
) -> CountTable:
    """Count all (p,q) by pivots, with a device for the trees of the search, its narrow ends.

    The device, a `CudaTrees` (`src/counting/trees.cu`), counts while the CPU goes on with the rest.
    """
    extension = load_extension()
    optional = most_optional(max(request.p, request.q))
    search = started_count(request, "all", "pivot", optional)
    try:
        while not search.wait_for_choice(TREE_POLL_SECONDS):
            pass
        _, on_left, _ = search.choice
        roots, rows = (request.p, request.q) if on_left else (request.q, request.p)
        trees = device(TreeCells(roots, rows, optional), extension.TREE_WORDS)
    except BaseException:
        search.stop()
        raise

    def hand_over(ended: bool) -> None:
        while len(parcel := search.take_trees(ended)):
            trees.add(parcel)

    found = ended_count(search, progress, look=hand_over, look_seconds=TREE_POLL_SECONDS)
    of_trees, nodes = trees.finish()
    counts = table_of(found)
    for (a, b), count in of_trees.items():
        counts[(a, b) if on_left else (b, a)] += count
    return CountTable(
        counts=counts,
        max_p=request.p,
        max_q=request.q,
        side="left" if on_left else "right",
        seconds={**found["seconds"], "device_wait": trees.wait_seconds},
        threads=request.threads,
        backend=backend,
        work=found["work"] + nodes,
    )


def count_butterflies(
    request: CountRequest, per_vertex: bool, progress: ProgressCallback | None, on_card: bool = False
) -> CountResult:
    """Count butterflies, with per_vertex of each vertex and edge.

    On the CPU by `src/counting/butterfly.hpp`, on a GPU by `src/counting/butterflies.cu`.
    """
    graph = request.graph
    left = right = of_vertex = of_edge = None
    if on_card:
        found = CudaButterflies(*graph.csr, per_vertex)
        found.wait(progress)
        count, seconds, backend = found.count, found.seconds, "cuda"
        of_vertex, of_edge = found.of_vertices, found.of_edges
    else:
        extension = load_extension()
        search = extension.ButterflyCount(*graph.csr, per_vertex, request.threads)
        told = ended_count(search, progress)
        count, seconds, backend = whole_number_of(told["count"]), told["seconds"], f"cpu-{extension.isa}"
        of_vertex, of_edge = told.get("of_vertices"), told.get("of_edges")
    if of_vertex is not None:
        left = graph.spread(of_vertex[: graph.n_left], "left", request.n_left)
        right = graph.spread(of_vertex[graph.n_left :], "right", request.n_right)
    return CountResult(
        count=count,
        p=2,
        q=2,
        side=None,
        method="butterfly",
        seconds=seconds,
        threads=request.threads,
        backend=backend,
        left_counts=left,
        right_counts=right,
        edge_counts=of_edge,
    )


def checked_request(
    indptr: Any, indices: Any, n_right: int, p: int, q: int, side: str, roots: Any, threads: int
) -> CountRequest:
    """Check everything that the compiled code takes for granted."""
    one_of("side", side, ROOT_SIDES)
    if roots is not None and side == "auto":
        raise ValueError("roots are vertices of one side: say side='left' or side='right'")
    sizes = whole_number("p", p), whole_number("q", q)
    workers = number_of_threads(threads)
    starts, columns, n_columns = checked_csr(indptr, indices, n_right)
    n_left = len(starts) - 1
    graph = Packed.of(starts, columns, n_columns)
    chosen = None
    if roots is not None:
        chosen = graph.roots(checked_roots(roots, n_left if side == "left" else n_columns), side)
    return CountRequest(
        graph=graph,
        n_left=n_left,
        n_right=n_columns,
        p=sizes[0],
        q=sizes[1],
        side="left" if side == "left" else "right" if side == "right" else "auto",
        roots=chosen,
        threads=workers,
    )
