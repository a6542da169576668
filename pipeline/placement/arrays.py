"""Arrays of the host and of a GPU by one code: NumPy's functions, or CuPy's.

The few operations that the two do not share, or that would take too much memory for 200 million
edges at once, are here; everything else calls `library_of(array)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bicliq.kernels.cuda.sizes import count_sizes

BLOCK = 1 << 22
"""Entries that are worked on at a time where an operation needs temporary arrays several times as
large."""


def library_of(array: Any) -> Any:
    """Return the module whose functions take this array: NumPy or CuPy.

    Examples
    --------
    >>> library_of(np.zeros(1)).__name__
    'numpy'
    """
    if type(array).__module__.split(".")[0] != "cupy":
        return np
    import cupy

    return cupy


def to_host(array: Any) -> Any:
    """Return the array as one of NumPy, copied only where it lies on a device."""
    return array if library_of(array) is np else array.get()


def counts_of(values: Any, n: int) -> Any:
    """Return how often each of 0…n-1 occurs, int64.

    Examples
    --------
    >>> counts_of(np.array([2, 0, 2]), 4).tolist()
    [1, 0, 2, 0]
    """
    xp = library_of(values)
    found = xp.zeros(n, xp.int64)
    step = max(BLOCK, n)  # bincount makes an int64 copy, and an array of n
    for start in range(0, values.size, step):
        found += xp.bincount(values[start : start + step], minlength=n)
    return found


def counts_of_small(values: Any, n: int) -> Any:
    """Return how often each of 0…n-1 occurs in an int32 array, most of whose values are small.

    On a GPU the threads that count at one place would wait for one another, so this is another
    function than `counts_of`.

    Examples
    --------
    >>> counts_of_small(np.array([2, 0, 2]), 4).tolist()
    [1, 0, 2, 0]
    """
    return np.bincount(values, minlength=n) if library_of(values) is np else count_sizes(values, n)


def starts_of(lengths: Any) -> Any:
    """Return where each of some lists begins in a row of them, and where the last ends, int64.

    Examples
    --------
    >>> starts_of(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    xp = library_of(lengths)
    starts = xp.zeros(lengths.size + 1, xp.int64)
    xp.cumsum(lengths, out=starts[1:])
    return starts


def differs(values: Any) -> Any:
    """Say which values differ from the one before; the first one does.

    Examples
    --------
    >>> differs(np.array([4, 4, 5])).tolist()
    [True, False, True]
    """
    xp = library_of(values)
    first = xp.ones(len(values), xp.bool_)
    xp.not_equal(values[1:], values[:-1], out=first[1:])
    return first


def distinct(values: Any) -> Any:
    """Return the values that occur, ascending, each once.

    As `unique`, for which NumPy 2.3 and later hash: 9 s for ten million, which sort in 0.07.

    Examples
    --------
    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ascending = library_of(values).sort(values)
    return ascending[differs(ascending)]


def repeat(values: Any, counts: Any) -> Any:
    """Return each value as often as its count says.

    Examples
    --------
    >>> repeat(np.array([7, 8, 9]), np.array([2, 0, 1])).tolist()
    [7, 7, 9]
    """
    xp = library_of(counts)
    if xp is np:
        return np.repeat(values, counts)
    starts = xp.cumsum(counts) - counts
    owners = xp.zeros(int(counts.sum()) + 1, xp.int32)
    xp.add.at(owners, starts[1:], 1)
    return values[xp.cumsum(owners[:-1], dtype=xp.int32)]


def sums_of_rows(values: Any, indptr: Any) -> Any:
    """Return the sum of each row's values, int64; an empty row's is 0.

    Examples
    --------
    >>> sums_of_rows(np.array([1, 2, 3]), np.array([0, 2, 2, 3])).tolist()
    [3, 0, 3]
    """
    xp = library_of(values)
    sums = xp.zeros(values.size + 1, xp.int64)
    xp.cumsum(values, out=sums[1:])
    return sums[indptr[1:]] - sums[indptr[:-1]]


def order_by(*keys: Any) -> Any:
    """Return what sorts by the last of some keys, equal ones by the one before it, and so on.

    As NumPy's `lexsort`, which takes five times as long where few of the last are equal (ten
    million: 0.5 s for 3), as its `argsort` is vectorised; CuPy's takes keys of one type only.

    Examples
    --------
    >>> order_by(np.array([2.5, 1.5, 0.5]), np.array([0, 0, 1])).tolist()
    [1, 0, 2]
    """
    xp = library_of(keys[0])
    if xp is np:
        order = np.argsort(keys[-1])
        last = keys[-1][order]
        equal = np.zeros(len(order) + 1, np.bool_)
        np.equal(last[1:], last[:-1], out=equal[1:-1])
        tied = np.flatnonzero(equal[1:] | equal[:-1])
        some = order[tied]
        order[tied] = some[np.lexsort((some, *(key[some] for key in keys[:-1]), last[tied]))]
        return order
    order = xp.argsort(keys[0], kind="stable")
    for key in keys[1:]:
        order = order[xp.argsort(key[order], kind="stable")]
    return order


def largest_of_rows(values: Any, indptr: Any) -> Any:
    """Return the largest value of each row (int32, none negative); an empty row's is -1.

    Examples
    --------
    >>> largest_of_rows(np.array([1, 5, 3], np.int32), np.array([0, 2, 2, 3])).tolist()
    [5, -1, 3]
    """
    xp = library_of(values)
    found = xp.full(indptr.size - 1, -1, xp.int32)
    lengths = xp.diff(indptr)
    if xp is np:
        filled = np.flatnonzero(lengths)
        if filled.size:
            found[filled] = np.maximum.reduceat(values, indptr[filled])
        return found
    xp.maximum.at(found, repeat(xp.arange(found.size, dtype=xp.int32), lengths), values)
    return found
