"""Both adjacency lists of a graph in search order.

They are made by array operations, of CuPy or, in tests, of NumPy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bicliq.kernels.contracts import EnumerationRequest

WORTH_A_ROUND = 50
"""Of so many edges a round has to take one away, for another one to be worth it; as on the CPU
(`src/graphs/counting_core.hpp`)."""


@dataclass(frozen=True)
class SearchGraph:
    """What an enumeration reads: columns in search order, their rows, and the rows' columns."""

    row_start: Any
    column_start: Any
    row_columns: Any
    column_rows: Any
    places: Any
    """For each edge of a column, the column's place in the row's list."""
    vertex_of_column: Any
    edges_in_two_steps: Any
    """Of each column: the edges of its rows."""


def search_graph(xp: Any, request: EnumerationRequest) -> SearchGraph:
    """Number the columns in search order and build both adjacency lists.

    Parameters
    ----------
    xp : module
        CuPy or NumPy.
    request : EnumerationRequest
        Its side holds the columns; their order is by ascending degree, or that of their numbers
        where roots are given.
    """
    indptr, right = xp.asarray(request.indptr), xp.asarray(request.indices).astype(xp.int64)
    left = owners(xp, indptr, len(right))
    rows, vertices = (right, left) if request.side == "left" else (left, right)
    n_rows, n_columns = (request.n_right, request.n_left)[:: 1 if request.side == "left" else -1]
    numbers = xp.arange(n_columns, dtype=xp.int64)
    order = numbers
    if request.roots is None:
        degree = xp.bincount(vertices, minlength=n_columns)
        order = xp.argsort(degree * max(n_columns, 1) + numbers)
    columns = _ranks(xp, order, n_columns)[vertices]
    row_start, column_start = _starts(xp, rows, n_rows), _starts(xp, columns, n_columns)
    by_row, by_column = _sorted_by(xp, rows, columns, n_columns), _sorted_by(xp, columns, rows, n_rows)
    edge_numbers = xp.arange(len(right), dtype=xp.int64)
    place = xp.empty_like(edge_numbers)
    place[by_row] = edge_numbers - row_start[rows[by_row]]
    row_degree = xp.diff(row_start)
    weight = xp.bincount(columns, weights=row_degree[rows].astype(xp.float64), minlength=n_columns)
    return SearchGraph(
        row_start=row_start.astype(xp.uint64),
        column_start=column_start.astype(xp.uint64),
        row_columns=columns[by_row].astype(xp.uint32),
        column_rows=rows[by_column].astype(xp.uint32),
        places=place[by_column].astype(xp.uint32),
        vertex_of_column=order,
        edges_in_two_steps=weight.astype(xp.int64),
    )


@dataclass(frozen=True)
class CountGraph:
    """What a count reads: the core of the graph, its roots in search order."""

    root_start: Any
    root_rows: Any
    row_start: Any
    row_roots: Any
    vertex_of_root: Any
    """Its number in the input."""
    vertex_of_row: Any


def count_graph(
    xp: Any, indptr: Any, indices: Any, n_right: int, left: bool, p: int, q: int, keep_order: bool
) -> CountGraph:
    """Keep what can hold a p×q, number it by ascending degree, and build both adjacency lists.

    Parameters
    ----------
    xp : module
        CuPy or NumPy.
    indptr, indices, n_right
        CSR of the left side.
    left : bool
        Whether the roots are left vertices.
    p, q : int
        Vertices that are chosen of the roots' side, and of the other.
    keep_order : bool
        Take the roots in the order of their numbers.
    """
    starts = xp.asarray(indptr)
    rights = xp.asarray(indices).astype(xp.int64)
    lefts = owners(xp, starts, len(rights))
    roots, rows = (lefts, rights) if left else (rights, lefts)
    n_roots, n_rows = (len(indptr) - 1, n_right)[:: 1 if left else -1]
    roots, rows, root_degree, row_degree = _core(xp, roots, rows, n_roots, n_rows, p, q)
    numbers = xp.arange(n_roots, dtype=xp.int64)
    order = numbers if keep_order else xp.argsort(root_degree * max(n_roots, 1) + numbers)
    order = order[root_degree[order] > 0]
    vertex_of_row = xp.flatnonzero(row_degree > 0)
    row_rank = xp.cumsum(row_degree > 0) - 1
    roots, rows, n_rows = _ranks(xp, order, n_roots)[roots], row_rank[rows], len(vertex_of_row)
    return CountGraph(
        root_start=_starts(xp, roots, len(order)).astype(xp.uint64),
        root_rows=rows[_sorted_by(xp, roots, rows, n_rows)].astype(xp.uint32),
        row_start=_starts(xp, rows, n_rows).astype(xp.uint64),
        row_roots=roots[_sorted_by(xp, rows, roots, len(order))].astype(xp.uint32),
        vertex_of_root=order,
        vertex_of_row=vertex_of_row,
    )


@dataclass(frozen=True)
class RankedGraph:
    """What a count of butterflies reads: both sides as one, vertices by ascending degree.

    A *slot* is an entry of the lists, one after the other; every edge has two.
    """

    start: Any
    """Where the list of each vertex begins, by rank."""
    owner: Any
    """Of each slot: the rank of the vertex whose list it is in."""
    adjacent: Any
    """Of each slot: the rank of the other vertex; lists are ascending."""
    places: Any
    """The slots of all edges in the lists of left vertices, then those in the right ones'."""
    vertex: Any
    """Of each rank: the left vertex, or the right one beyond all left ones."""


def ranked_graph(xp: Any, indptr: Any, indices: Any, n_right: int) -> RankedGraph:
    """Rank the vertices of both sides together by ascending degree, and build their lists.

    Parameters
    ----------
    xp : module
        CuPy or NumPy.
    indptr, indices, n_right
        CSR of the left side.

    Examples
    --------
    >>> import numpy as np
    >>> graph = ranked_graph(np, np.array([0, 2, 3]), np.array([0, 1, 1], np.int32), 2)
    >>> graph.vertex.tolist(), graph.start.tolist(), graph.adjacent.tolist()
    ([1, 2, 0, 3], [0, 1, 2, 4, 6], [3, 2, 1, 3, 0, 2])
    """
    n_left, m = len(indptr) - 1, len(indices)
    n = n_left + n_right
    starts, rights = xp.asarray(indptr), xp.asarray(indices).astype(xp.int64)
    degree = xp.concatenate([xp.diff(starts), xp.bincount(rights, minlength=n_right)])
    vertex = xp.argsort(degree * max(n, 1) + xp.arange(n, dtype=xp.int64))
    rank = _ranks(xp, vertex, n)
    lefts, rights = rank[owners(xp, starts, m)], rank[rights + n_left]
    owner, member = xp.concatenate([lefts, rights]), xp.concatenate([rights, lefts])
    order = _sorted_by(xp, owner, member, n)
    return RankedGraph(
        start=_starts(xp, owner, n),
        owner=owner[order].astype(xp.uint32),
        adjacent=member[order].astype(xp.uint32),
        places=_ranks(xp, order, 2 * m),
        vertex=vertex,
    )


def _core(xp: Any, roots: Any, rows: Any, n_roots: int, n_rows: int, p: int, q: int) -> tuple[Any, Any, Any, Any]:
    """The edges whose root has q rows and whose row has p roots, among themselves; degrees.

    The last few that have less may stay (`WORTH_A_ROUND`): they cost time, and are never counted.
    """
    while True:
        root_degree, row_degree = xp.bincount(roots, minlength=n_roots), xp.bincount(rows, minlength=n_rows)
        keep = (root_degree[roots] >= q) & (row_degree[rows] >= p)
        if (len(roots) - int(keep.sum())) * WORTH_A_ROUND <= len(roots):
            return roots, rows, root_degree, row_degree
        roots, rows = roots[keep], rows[keep]


def owners(xp: Any, starts: Any, n: int) -> Any:
    """The row of each of the n entries of a CSR matrix."""
    return xp.searchsorted(starts, xp.arange(n, dtype=xp.int64), side="right") - 1


def _starts(xp: Any, holders: Any, n: int) -> Any:
    """Where the list of each holder begins, and the last one ends."""
    starts = xp.zeros(n + 1, dtype=xp.int64)
    starts[1:] = xp.cumsum(xp.bincount(holders, minlength=n))
    return starts


def _ranks(xp: Any, order: Any, n: int) -> Any:
    """The place of each of n vertices in an order of some of them."""
    ranks = xp.zeros(n, dtype=xp.int64)
    ranks[order] = xp.arange(len(order), dtype=xp.int64)
    return ranks


def _sorted_by(xp: Any, holders: Any, members: Any, n_members: int) -> Any:
    """The order that sorts edges by their holder, then by member."""
    return xp.argsort(holders * max(n_members, 1) + members)
