"""Roots grouped in partitions that store few rows twice."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernels.contracts import Int32Array, as_int32
from kernels.cpu import load_extension


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
    Time linear in the edges that the partitions store together; deterministic. See `src/graphs/grouping.hpp`. GBC calls such
    partitions communication-free (BCPar).

    Examples
    --------
    Roots 0 and 2 share their neighbours, and so do 1 and 3:

    >>> order, partition = group_roots([0, 2, 4, 6, 8], [0, 1, 2, 3, 0, 1, 2, 3], [1, 1, 1, 1], [1, 1, 1, 1], 2)
    >>> order.tolist(), partition.tolist()
    ([0, 2, 1, 3], [0, 0, 1, 1])
    """
    starts, rows = np.ascontiguousarray(indptr, np.int64), as_int32(indices, "indices")
    sizes, work = np.ascontiguousarray(row_bytes, np.int64), np.ascontiguousarray(cost, np.int64)
    if starts.ndim != 1 or starts.size == 0 or starts[0] != 0 or starts[-1] != rows.size or (np.diff(starts) < 0).any():
        raise ValueError("indptr must start with 0, never fall, and end with the number of indices")
    if work.shape != (starts.size - 1,):
        raise ValueError(f"cost has {work.size} entries for {starts.size - 1} roots")
    if rows.size and rows.max() >= sizes.size:
        raise ValueError(f"indices holds {rows.max()}, but row_bytes has {sizes.size} entries")
    if not 1 <= partitions < 2**31 or (sizes < 0).any() or (work < 0).any():
        raise ValueError("partitions must be at least 1, and neither bytes nor cost below 0")
    return load_extension().group_roots(starts, rows, sizes, work, int(partitions))  # type: ignore[no-any-return]
