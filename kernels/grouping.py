"""Roots grouped in partitions that store few rows twice, and cut where these would be too large."""

from __future__ import annotations

from typing import Any

import numpy as np

from bicliq.kernels.arguments import as_int32, as_int64, checked_roots, checked_starts, whole_number
from bicliq.kernels.contracts import Int32Array, Int64Array
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.errors import CapacityError, memory_is_capacity

MOST_PARTITIONS = 2**31 - 1
MOST_WORK = 2**56
"""Of all roots together, in units of cost or bytes: shares of it are made by multiplication."""


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
    rows = as_int32(indices, "indices")
    starts = checked_starts(indptr, len(rows))
    sizes, work = _amounts(row_bytes, "row_bytes"), _amounts(cost, "cost")
    if work.shape != (starts.size - 1,):
        raise ValueError(f"cost has {work.size} entries for {starts.size - 1} roots")
    _check_rows(rows, sizes)
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
    rows = as_int32(indices, "indices")
    starts = checked_starts(indptr, len(rows))
    sizes = _amounts(row_bytes, "row_bytes")
    _check_rows(rows, sizes)
    sequence, places = checked_roots(roots, len(starts) - 1), as_int64(cuts, "cuts")
    if places.size and (places[0] < 1 or places[-1] >= sequence.size or (np.diff(places) < 1).any()):
        raise ValueError(f"cuts must ascend, from 1 to {sequence.size - 1} at most: places where a partition begins")
    most = min(whole_number("budget", budget), MOST_WORK)
    return load_extension().cut_roots(starts, rows, sizes, sequence, places, most).result()  # type: ignore[no-any-return]


def _check_rows(rows: Int32Array, sizes: Int64Array) -> None:
    if rows.size and rows.max() >= sizes.size:
        place = int(np.argmax(rows >= sizes.size))
        raise ValueError(f"indices holds {rows[place]} at index {place}, but row_bytes has {sizes.size} entries")


def _amounts(values: Any, name: str) -> Int64Array:
    amounts = as_int64(values, name)
    if (amounts < 0).any():
        place = int(np.argmax(amounts < 0))
        raise ValueError(f"{name} holds {amounts[place]} at index {place}; it must not be below 0")
    if float(amounts.sum(dtype=np.float64)) > MOST_WORK:
        raise CapacityError(f"{name} adds up to more than 2**56")
    return amounts
