"""Edges as ascending rows of the left side: looked up, joined, taken out, transposed, and cut.

`indptr`, `indices` and `n_right` are its CSR, as of `enumerate_maximal_bicliques`; where they are
none, there is a ValueError that says why.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bicliq.kernels.arguments import as_int32, as_int64, checked_roots, checked_starts, whole_number
from bicliq.kernels.contracts import Int32Array, Int64Array
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.errors import CapacityError, memory_is_capacity
from bicliq.kernels.machine import check_room

Weights = NDArray[np.float64] | None

MOST_PARTITIONS = 2**31 - 1
MOST_WORK = 2**56
"""Of all roots together, in units of cost or bytes: shares of it are made by multiplication."""


def occurrences(ids: Any, n: int) -> Int64Array:
    """Return how many times each number below `n` stands among some.

    Notes
    -----
    That of NumPy, `bincount`, holds Python's lock meanwhile.

    Examples
    --------
    >>> occurrences([0, 2, 2], 4).tolist()
    [1, 0, 2, 0]
    """
    found: Int64Array = load_extension().occurrences(as_int32(ids, "ids"), n)
    return found


ROWS_AT_ONCE = 1 << 16
"""Python's lock is held by `np.repeat` for so many."""


def of_entries(values: Any, indptr: Int64Array) -> Any:
    """Return what each row has, for each of its entries.

    Examples
    --------
    >>> of_entries(np.array([7, 8, 9]), np.array([0, 2, 2, 3])).tolist()
    [7, 7, 9]
    """
    found = np.empty(indptr[-1], values.dtype)
    for first in range(0, len(values), ROWS_AT_ONCE):
        starts = indptr[first : first + ROWS_AT_ONCE + 1]
        found[starts[0] : starts[-1]] = np.repeat(values[first : first + ROWS_AT_ONCE], np.diff(starts))
    return found


def row_starts(left: Any, n_left: int) -> Int64Array:
    """Return where each left vertex's row begins among ascending edges, and where the last ends.

    Parameters
    ----------
    left : array of int32, shape (n_edges,)
        Left ends, ascending.
    n_left : int
        Left vertices.

    Raises
    ------
    ValueError
        If the ends do not ascend, or one is outside 0…n_left - 1.

    Notes
    -----
    One pass over the edges.

    Examples
    --------
    >>> row_starts([0, 0, 2], 4).tolist()
    [0, 2, 2, 3, 3]
    """
    ends = as_int32(left, "left")
    found: Int64Array | None = load_extension().row_starts(ends, whole_number("n_left", n_left, least=0))
    if found is None or (len(ends) and n_left == 0):
        raise ValueError(f"left must ascend, and lie in 0…{n_left - 1}")
    return found


@memory_is_capacity
def transpose_rows(indptr: Any, indices: Any, n_right: int, order: Any = None) -> tuple[Int64Array, Int32Array]:
    """Return the rows of the other side: for each right vertex the left ones, ascending.

    Parameters
    ----------
    order : array of int, or None
        Left vertices, each once: the rows then hold their places in this order, and the other
        vertices are left out.

    Raises
    ------
    ValueError
        If the order is none.

    Notes
    -----
    Two passes over the edges, in 8 bytes a right vertex beside input and output.

    Examples
    --------
    >>> starts, rows = transpose_rows([0, 2, 3], [0, 1, 1], 2)
    >>> starts.tolist(), rows.tolist()
    ([0, 1, 3], [0, 0, 1])
    >>> transpose_rows([0, 2, 3], [0, 1, 1], 2, order=[1, 0])[1].tolist()
    [1, 0, 1]
    """
    columns, starts, n_columns = _checked_rows(indptr, indices, n_right)
    chosen = None if order is None else checked_roots(order, len(starts) - 1)
    return load_extension().transpose(starts, columns, n_columns, chosen).result()  # type: ignore[no-any-return]


REWIRING_PASSES = 50
"""In which each row trades once. Of 287,446 edges 6.6 % were where they had been after 20 passes,
6.1 % after 50, 6.0 % after 100; of 26,240 edges 17.9, 17.4 and 17.2 %."""


@memory_is_capacity
def rewire_rows(indptr: Any, indices: Any, n_right: int, seed: int) -> Int32Array:
    """Return the columns of a random table in which every vertex has as many edges.

    Parameters
    ----------
    seed : int
        The same gives the same table. Its rows are as long as those of the graph.

    Notes
    -----
    O(n_edges) a pass, without Python's lock (`src/estimate/rewiring.hpp`).

    Examples
    --------
    >>> columns = rewire_rows([0, 2, 3, 4], [0, 1, 2, 0], 3, seed=1)
    >>> np.bincount(columns).tolist()
    [2, 1, 1]
    """
    columns, starts, _ = _checked_rows(indptr, indices, n_right)
    found: Int32Array = load_extension().rewire(starts, columns, whole_number("seed", seed, least=0), REWIRING_PASSES)
    return found


@memory_is_capacity
def peel_rows(
    indptr: Any, indices: Int32Array, n_right: int, least_left: int, least_right: int
) -> tuple[Int64Array, Int32Array, int]:
    """Take vertices with too few edges away until there is none, in the place of the rows.

    Parameters
    ----------
    indptr : array of int, shape (n_left + 1,)
    indices : array of int32, shape (n_edges,)
        CSR of the left side; what is left is written over its entries.
    n_right : int
        Number of right vertices.
    least_left, least_right : int
        Degrees that the left and the right vertices that stay have at least.

    Returns
    -------
    indptr : array of int64
    indices : array of int32
        The first entries of those that were given.
    rounds : int
        Passes over the rows in which something was dropped.

    Raises
    ------
    ValueError
        If `indices` cannot be written to.

    Notes
    -----
    A pass over what is left a round, in 8 bytes a vertex beside the input.

    Examples
    --------
    >>> rows = np.array([0, 1, 2, 1, 2], np.int32)
    >>> starts, left, rounds = peel_rows([0, 1, 3, 5], rows, 3, 2, 2)
    >>> starts.tolist(), left.tolist(), rounds
    ([0, 0, 2, 4], [1, 2, 1, 2], 1)
    """
    columns, starts, n_columns = _checked_rows(indptr, indices, n_right)
    if columns.size and (columns is not indices or not columns.flags.writeable):
        raise ValueError("indices must be an array of int32 in one piece that can be written to")
    asked = ("least_left", least_left), ("least_right", least_right)
    least = [whole_number(name, value, most=2**63 - 1) for name, value in asked]
    left, rounds = load_extension().peel(starts, columns, n_columns, *least).result()
    return left, columns[: left[-1]], rounds


@memory_is_capacity
def count_paths(indptr: Any, indices: Any, n_right: int) -> tuple[Int64Array, Int64Array]:
    """Return for each left and each right vertex the sum of its neighbours' degrees.

    These are the paths of two edges that begin there.

    Notes
    -----
    Two passes over the edges, in 4 bytes a right vertex beside input and output.

    Examples
    --------
    >>> left, right = count_paths([0, 2, 3], [0, 1, 1], 2)
    >>> left.tolist(), right.tolist()
    ([3, 2], [2, 3])
    """
    columns, starts, n_columns = _checked_rows(indptr, indices, n_right)
    return load_extension().count_paths(starts, columns, n_columns).result()  # type: ignore[no-any-return]


@memory_is_capacity
def connect_rows(indptr: Any, indices: Any, n_right: int) -> Int32Array:
    """Return for each vertex the first one that it is connected with; right ones follow left ones.

    Raises
    ------
    CapacityError
        If there are 2^31 vertices or more on both sides together.

    Notes
    -----
    One pass over the edges, in 4 bytes a vertex.

    Examples
    --------
    >>> connect_rows([0, 1, 1, 3], [1, 0, 2], 3).tolist()
    [0, 1, 2, 2, 0, 2]
    """
    columns, starts, n_columns = _checked_rows(indptr, indices, n_right)
    if len(starts) - 1 + n_columns > np.iinfo(np.int32).max:
        raise CapacityError(f"both sides have {len(starts) - 1 + n_columns} vertices; 2**31 - 1 are the most")
    return load_extension().connect(starts, columns, n_columns).result().view(np.int32)  # type: ignore[no-any-return]


def find_edges(indptr: Any, indices: Any, left: Any, right: Any) -> tuple[Int64Array, NDArray[np.bool_]]:
    """Return where edges stand in `indices`, or would stand, and whether they are there.

    Parameters
    ----------
    indptr, indices
        Ascending rows of the left side, which are not checked.
    left, right : array of int
        Ends of the edges. One with a vertex that the graph has not is not there, whatever its ids.

    Notes
    -----
    A bisection of a row an edge.

    Examples
    --------
    >>> places, there = find_edges([0, 2, 3], [1, 4, 0], [0, 1, 7], [4, 2, 0])
    >>> places.tolist(), there.tolist()
    ([1, 3, 3], [True, False, False])
    """
    starts, columns = as_int64(indptr, "indptr"), as_int32(indices, "indices")
    ends = as_int32(left, "left", least=-1), as_int32(right, "right", least=-1)
    _same_length("left", ends[0], "right", ends[1])
    places, there = load_extension().find_edges(starts, columns, *ends)
    return places, there.view(np.bool_)


def change_rows(
    indptr: Any, indices: Any, weight: Weights, left: Any, right: Any, there: Any, new_weight: Weights, n_left: int
) -> tuple[Int64Array, Int32Array, Weights]:
    """Return the rows of a graph after some of its edges changed, and their weights.

    Parameters
    ----------
    indptr, indices, weight
        Ascending rows of the left side, which are not checked, and the weights of the edges, or
        None.
    left, right, there, new_weight
        Edges that change, ascending, each once: whether they are there then; their weights.
    n_left : int
        Left vertices of the graph that is made: those of the graph and new ones.

    Raises
    ------
    ValueError
        If the changes do not ascend, lie outside the graph that is made, or differ in number.

    Notes
    -----
    A bisection a change, and one copy.

    Examples
    --------
    >>> indptr, indices, _ = change_rows([0, 2, 3], [1, 4, 0], None, [0, 2], [4, 0], [False, True], None, 3)
    >>> indptr.tolist(), indices.tolist()
    ([0, 1, 2, 3], [1, 0, 0])
    """
    starts, columns = as_int64(indptr, "indptr"), as_int32(indices, "indices")
    ends, are_there = (as_int32(left, "left"), as_int32(right, "right")), np.asarray(there, np.bool_)
    _same_length("left", ends[0], "right", ends[1])
    _same_length("left", ends[0], "there", are_there)
    for name, values, length in (("weight", weight, len(columns)), ("new_weight", new_weight, len(ends[0]))):
        if (values is None) != (weight is None) or (values is not None and len(values) != length):
            raise ValueError(f"{name}: edges have a weight each, before and after, or none has")
    if n_left < len(starts) - 1 or (len(ends[0]) and int(ends[0].max()) >= n_left):
        raise ValueError(
            f"n_left is {n_left}; it must count the {len(starts) - 1} vertices there were, and all new ones"
        )
    keys = ends[0].astype(np.int64) << 32 | ends[1]
    if (np.diff(keys) <= 0).any():
        raise ValueError("left, right: changes must ascend, each edge once")
    found = load_extension().change_rows(starts, columns, weight, *ends, are_there.view(np.uint8), new_weight, n_left)
    return found[0], found[1], None if weight is None else found[2]


def _checked_rows(indptr: Any, indices: Any, n_right: int) -> tuple[Int32Array, Int64Array, int]:
    """Check rows whose entries may stand in any order."""
    columns = as_int32(indices, "indices")
    starts = checked_starts(indptr, len(columns))
    n_columns = whole_number("n_right", n_right, least=0, most=2**31 - 1)
    if columns.size and columns.max() >= n_columns:
        place = int(np.argmax(columns >= n_columns))
        raise ValueError(f"indices holds {columns[place]} at index {place}, but there are {n_columns} right vertices")
    check_room(8 * n_columns, f"one number for each of the {n_columns:,} right vertices")
    return columns, starts, n_columns


def _same_length(name: str, values: NDArray[Any], other_name: str, others: NDArray[Any]) -> None:
    if len(values) != len(others):
        raise ValueError(f"{name} has {len(values)} entries, {other_name} {len(others)}")


@memory_is_capacity
def group_roots(indptr: Any, indices: Any, row_bytes: Any, cost: Any, partitions: int) -> tuple[Int32Array, Int32Array]:
    """Group roots so that those of one partition share as many neighbours as possible.

    Parameters
    ----------
    indptr : array of int, shape (n_roots + 1,)
    indices : array of int, shape (n_edges,)
        CSR of the side that holds the roots.
    row_bytes : array of int, shape (n_rows,)
        Bytes that a vertex of the other side takes in a partition that holds it.
    cost : array of int, shape (n_roots,)
        Work of each root; partitions get about equal shares of it.
    partitions : int
        Their number, at least 1; fewer where there are fewer roots with a neighbour.

    Returns
    -------
    order, partition : array of int32
        The roots with a neighbour, one partition after the other, and the partition of each.

    Raises
    ------
    ValueError
        If the arrays do not fit together.

    Notes
    -----
    Time linear in the edges that the partitions store together; deterministic. See
    `src/graphs/grouping.hpp`. GBC calls such partitions communication-free (BCPar).

    Examples
    --------
    Roots 0 and 2 share their neighbours, and so do 1 and 3:

    >>> order, partition = group_roots([0, 2, 4, 6, 8], [0, 1, 2, 3, 0, 1, 2, 3], [1, 1, 1, 1], [1, 1, 1, 1], 2)
    >>> order.tolist(), partition.tolist()
    ([0, 2, 1, 3], [0, 0, 1, 1])
    """
    starts, rows, sizes = _rows_with_bytes(indptr, indices, row_bytes)
    work = _amounts(cost, "cost")
    if work.shape != (starts.size - 1,):
        raise ValueError(f"cost has {work.size} entries for {starts.size - 1} roots")
    wanted = whole_number("partitions", partitions, most=MOST_PARTITIONS)
    if sizes.size and int(sizes.max()) * max(rows.size, 1) > MOST_WORK:
        raise CapacityError(
            f"row_bytes holds {sizes.max()} for one of {rows.size} entries; 2**56 bytes in all are the most"
        )
    return load_extension().group_roots(starts, rows, sizes, work, wanted).result()  # type: ignore[no-any-return]


@memory_is_capacity
def cut_roots(
    indptr: Any, indices: Any, row_bytes: Any, roots: Any, cuts: Any, budget: int
) -> tuple[Int64Array, Int64Array]:
    """Cut a sequence of roots in partitions: at given places, and where one outgrows a budget.

    Parameters
    ----------
    indptr : array of int, shape (n_roots + 1,)
    indices : array of int, shape (n_edges,)
        CSR of the side that holds the roots.
    row_bytes : array of int, shape (n_rows,)
        Bytes that a vertex of the other side takes in a partition that holds it, once.
    roots : array of int
        The sequence: some of the roots, each once.
    cuts : array of int
        Places in it where a partition begins, ascending, from 1 on.
    budget : int
        Most bytes of a partition. A root that takes more has one of its own, with those that follow
        it and add nothing.

    Returns
    -------
    starts, bytes : array of int64
        Where each partition begins in the sequence, and what it takes.

    Raises
    ------
    ValueError
        If the arrays do not fit together.

    Notes
    -----
    One pass over the edges, in 4 bytes a row beside the input.

    Examples
    --------
    >>> starts, taken = cut_roots([0, 2, 4, 6], [0, 1, 0, 1, 2, 3], [5, 5, 5, 5], [0, 1, 2], [], 10)
    >>> starts.tolist(), taken.tolist()
    ([0, 2], [10, 10])
    """
    starts, rows, sizes = _rows_with_bytes(indptr, indices, row_bytes)
    sequence, places = checked_roots(roots, len(starts) - 1), as_int64(cuts, "cuts")
    if places.size and (places[0] < 1 or places[-1] >= sequence.size or (np.diff(places) < 1).any()):
        raise ValueError(f"cuts must ascend, from 1 to {sequence.size - 1} at most: places where a partition begins")
    most = min(whole_number("budget", budget), MOST_WORK)
    return load_extension().cut_roots(starts, rows, sizes, sequence, places, most).result()  # type: ignore[no-any-return]


def _rows_with_bytes(indptr: Any, indices: Any, row_bytes: Any) -> tuple[Int64Array, Int32Array, Int64Array]:
    rows, sizes = as_int32(indices, "indices"), _amounts(row_bytes, "row_bytes")
    starts = checked_starts(indptr, len(rows))
    if rows.size and rows.max() >= sizes.size:
        place = int(np.argmax(rows >= sizes.size))
        raise ValueError(f"indices holds {rows[place]} at index {place}, but row_bytes has {sizes.size} entries")
    return starts, rows, sizes


def _amounts(values: Any, name: str) -> Int64Array:
    amounts = as_int64(values, name)
    if (amounts < 0).any():
        place = int(np.argmax(amounts < 0))
        raise ValueError(f"{name} holds {amounts[place]} at index {place}; it must not be below 0")
    if float(amounts.sum(dtype=np.float64)) > MOST_WORK:
        raise CapacityError(f"{name} adds up to more than 2**56")
    return amounts
