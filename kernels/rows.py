"""Edges as ascending rows of the left side: looked up, joined and taken out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.arguments import as_int32, as_int64, whole_number
from kernels.contracts import Int32Array, Int64Array
from kernels.cpu import load_extension

Weights = NDArray[np.float64] | None


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


def _same_length(name: str, values: NDArray[Any], other_name: str, others: NDArray[Any]) -> None:
    if len(values) != len(others):
        raise ValueError(f"{name} has {len(values)} entries, {other_name} {len(others)}")
