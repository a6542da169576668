"""The arguments of the public functions, checked once.

What the compiled code takes for granted holds after this.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bicliq.kernels.contracts import Int32Array, Int64Array, UInt64Array
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.errors import CapacityError
from bicliq.kernels.machine import FEWEST_MOST_THREADS, available_threads, most_threads


def whole_number(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """Check that an argument is a whole number, of Python or NumPy, within bounds.

    Raises
    ------
    ValueError
        If it is none, or below `least`.
    CapacityError
        If it is above `most`.

    Examples
    --------
    >>> whole_number("p", np.int16(3))
    3
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} is {value!r}; it must be a whole number of at least {least}")
    if most is not None and value > most:
        raise CapacityError(f"{name} is {value:,}; the most that fits is {most:,}")
    return int(value)


def one_of(name: str, value: Any, choices: Iterable[str]) -> str:
    """Check that an argument is one of some words."""
    words = tuple(choices)
    if not isinstance(value, str) or value not in words:
        raise ValueError(f"{name} is {value!r}; it must be {', '.join(map(repr, words[:-1]))} or {words[-1]!r}")
    return str(value)


def number_of_threads(threads: Any) -> int:
    """Check a number of threads; 0 stands for all cores that this process may use.

    Raises
    ------
    ValueError
        If it is no whole number from 0 up.
    CapacityError
        If it is more than `most_threads`, which no search is faster for.

    Examples
    --------
    >>> number_of_threads(3), number_of_threads(0) >= 1
    (3, True)
    """
    if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 0:
        raise ValueError(f"threads is {threads!r}; it must be a whole number of at least 1, or 0 for all cores")
    if threads > FEWEST_MOST_THREADS and threads > most_threads():  # which asks the system
        raise CapacityError(
            f"threads is {threads}; at most {most_threads()} are started here, where this process may use"
            f" {available_threads()} cores; ask for fewer, or for 0 to take all cores"
        )
    return int(threads) or available_threads()


def as_int32(values: Any, name: str, least: int = 0) -> Int32Array:
    """Check an array of ids, and make it one of int32; what is one already is not copied.

    Raises
    ------
    ValueError
        If it has more than one dimension, holds anything but whole numbers, or one below `least`.
    CapacityError
        If a number is beyond 32 bits.

    Examples
    --------
    >>> as_int32([1, 2], "indices").dtype
    dtype('int32')
    >>> as_int32([1.5], "indices")
    Traceback (most recent call last):
    ...
    ValueError: indices holds 1.5 at index 0; it must be an array of whole numbers
    """
    array = whole_numbers(values, name)
    most = np.iinfo(np.int32).max
    if array.size and (np.min(array) < least or (array.dtype != np.int32 and np.max(array) > most)):
        place = int(np.flatnonzero((array < least) | (array > most))[0])
        bad = array[place]
        if bad < least:
            raise ValueError(f"{name} holds {bad} at index {place}; it must be at least {least}")
        raise CapacityError(
            f"{name} holds {bad} at index {place}: ids must lie in 0…{most}; use dense ids (`bicliq ingest`)"
        )
    return np.ascontiguousarray(array, dtype=np.int32)


def as_int64(values: Any, name: str) -> Int64Array:
    """Check an array of whole numbers, and make it one of int64.

    What is one already is not copied.
    """
    array = whole_numbers(values, name)
    if array.dtype.kind == "u" and array.size and np.max(array) > np.iinfo(np.int64).max:
        place = int(np.argmax(array))
        raise CapacityError(f"{name} holds {array[place]} at index {place}, and 63 bits are the most")
    return np.ascontiguousarray(array, dtype=np.int64)


def whole_numbers(values: Any, name: str) -> NDArray[Any]:
    """Check that an array has one dimension of whole numbers, of whatever size and byte order."""
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{name} must be an array of whole numbers in one dimension: {error}") from None
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} dimensions; it must be an array of whole numbers in one")
    if array.size == 0:
        return np.zeros(0, np.int64)
    if array.dtype.kind == "f" and not hasattr(values, "dtype"):  # a list, perhaps of whole numbers beyond 63 bits
        array = np.asarray(values, dtype=object)
    if array.dtype.kind == "O":
        _refuse_objects(array, name)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} holds {array[0]!s} at index 0 ({array.dtype}); it must be an array of whole numbers")
    return array


def _refuse_objects(array: NDArray[Any], name: str) -> None:
    for place, value in enumerate(array):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise ValueError(f"{name} holds {value!r} at index {place}; it must be an array of whole numbers")
    large = max(range(len(array)), key=lambda place: abs(array[place]))
    raise CapacityError(f"{name} holds {array[large]} at index {large}, and 63 bits are the most")


def checked_starts(indptr: Any, n_entries: int, name: str = "indptr", of: str = "indices") -> Int64Array:
    """Check where the rows of a table begin and end; returns that as int64."""
    starts = as_int64(indptr, name)
    if not len(starts) or starts[0] != 0 or starts[-1] != n_entries or (np.diff(starts) < 0).any():
        raise ValueError(
            f"{name} must start with 0, never fall, and end with the number of {of}: {_fault_of_starts(starts, n_entries)}"
        )
    if len(starts) > 2**31:
        raise CapacityError(f"a side may have at most 2**31 - 1 vertices, not {len(starts) - 1}")
    return starts


def _fault_of_starts(starts: Int64Array, n_entries: int) -> str:
    if not len(starts):
        return "it is empty"
    if starts[0] != 0:
        return f"it starts with {starts[0]}"
    falls = np.flatnonzero(np.diff(starts) < 0)
    if len(falls):
        place = int(falls[0])
        return f"it falls from {starts[place]} to {starts[place + 1]} at index {place + 1}"
    return f"it ends with {starts[-1]}, and there are {n_entries}"


def checked_csr(indptr: Any, indices: Any, n_right: Any) -> tuple[Int64Array, Int32Array, int]:
    """Check a CSR matrix whose rows are ascending, without repetition.

    Returns
    -------
    indptr : array of int64
    indices : array of int32
    n_right : int

    Raises
    ------
    ValueError
        If it is none: the message names the array, the place and the value.
    CapacityError
        If a number is beyond 32 bits.

    Notes
    -----
    One pass over the edges.
    """
    columns = as_int32(indices, "indices")
    starts = checked_starts(indptr, len(columns))
    n_columns = whole_number("n_right", n_right, least=0, most=2**31 - 1)
    place = load_extension().row_fault(starts, columns, n_columns)
    if place < 0:
        return starts, columns, n_columns
    if columns[place] >= n_columns:
        raise ValueError(
            f"indices holds {columns[place]} at index {place}, but there are {n_columns} right vertices (from 0 on)"
        )
    row = int(np.searchsorted(starts, place, side="right")) - 1
    raise ValueError(
        "indices must be ascending and without repetition within each row:"
        f" row {row} has {columns[place - 1]}, then {columns[place]} (index {place})"
    )


def checked_roots(roots: Any, n: int) -> Int32Array:
    """Check that roots are vertices of a side of `n`, each named once; returns them as int32."""
    chosen = as_int32(roots, "roots")
    if len(chosen) and chosen.max() >= n:
        place = int(np.argmax(chosen >= n))
        raise ValueError(f"roots holds {chosen[place]} at index {place}, but the enumerated side has {n} vertices")
    ordered = np.sort(chosen)
    twice = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(twice):
        raise ValueError(f"roots holds vertex {ordered[twice[0]]} twice")
    return chosen


def checked_ids(ids: Any, n: int, name: str) -> Int32Array:
    """Check ids of the vertices of a side of `n`; returns them as int32."""
    array = as_int32(ids, name)
    if len(array) != n:
        raise ValueError(f"{name} has {len(array)} entries for {n} vertices")
    return array


def checked_hashes(hashes: Any, n: int, name: str) -> UInt64Array:
    """Check 64-bit hashes of the labels of a side of `n`; returns them as uint64."""
    array = np.asarray(hashes)
    if array.ndim != 1 or array.dtype != np.uint64:
        raise ValueError(f"{name} must be one row of uint64, not {array.dtype} of shape {array.shape}")
    if len(array) != n:
        raise ValueError(f"{name} has {len(array)} entries for {n} vertices")
    return np.ascontiguousarray(array)
