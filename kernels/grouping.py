"""Roots grouped in partitions that store few rows twice."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernels.arguments import as_int32, as_int64, checked_starts, whole_number
from kernels.contracts import Int32Array, Int64Array
from kernels.cpu import load_extension, wait_for
from kernels.errors import CapacityError, memory_is_capacity

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
    if rows.size and rows.max() >= sizes.size:
        place = int(np.argmax(rows >= sizes.size))
        raise ValueError(f"indices holds {rows[place]} at index {place}, but row_bytes has {sizes.size} entries")
    wanted = whole_number("partitions", partitions, most=MOST_PARTITIONS)
    if sizes.size and int(sizes.max()) * max(rows.size, 1) > MOST_WORK:
        raise CapacityError(
            f"row_bytes holds {sizes.max()} for one of {rows.size} entries; 2**56 bytes in all are the most"
        )
    run = load_extension().RootGrouping(starts, rows, sizes, work, wanted)
    wait_for(run)
    return run.take()  # type: ignore[no-any-return]


def _amounts(values: Any, name: str) -> Int64Array:
    amounts = as_int64(values, name)
    if (amounts < 0).any():
        place = int(np.argmax(amounts < 0))
        raise ValueError(f"{name} holds {amounts[place]} at index {place}; it must not be below 0")
    if float(amounts.sum(dtype=np.float64)) > MOST_WORK:
        raise CapacityError(f"{name} adds up to more than 2**56")
    return amounts
