"""Subgraphs around changed edges, side by side as one graph, for one search of them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from bicliq.kernels.contracts import Int32Array, Int64Array, Side


@dataclass(frozen=True, eq=False)
class Subgraphs:
    """Subgraphs of changes side by side, as one graph.

    Parameters
    ----------
    indptr, indices
        CSR of the left side.
    left, right
        The vertices that numbers stand for.
    change
        The change of each left vertex.
    left_start, right_start
        Where the vertices of each subgraph begin.
    searches
        Of each side the order in which it is searched, and the roots that find everything.
    """

    indptr: Int64Array
    indices: Int32Array
    left: Int32Array
    right: Int32Array
    change: Int32Array
    left_start: Int64Array
    right_start: Int64Array
    searches: dict[Side, tuple[Int32Array, Int32Array]]

    @property
    def told(self) -> tuple[Any, ...]:
        """What tells vertices and changes by numbers."""
        return self.left, self.right, self.change, self.left_start, self.right_start


def side_by_side(parts: Sequence[Any]) -> Subgraphs:
    """Some graphs of subgraphs, as the extension tells them, as one."""
    indptr, indices, left, right, change, left_start, right_start, *searches = zip(*parts, strict=True)
    rows, columns = _before(left), _before(right)
    return Subgraphs(
        _behind(indptr, _before(indices)),
        _numbered(indices, columns),
        _one_after_the_other(left),
        _one_after_the_other(right),
        _one_after_the_other(change),
        _behind(left_start, rows),
        _behind(right_start, columns),
        {
            "left": _order_and_roots(searches[0], rows),
            "right": _order_and_roots(searches[1], columns),
        },
    )


def _order_and_roots(searches: Sequence[Any], before: list[int]) -> tuple[Int32Array, Int32Array]:
    order, roots = zip(*searches, strict=True)
    return _numbered(order, before), _numbered(roots, before)


def _numbered(arrays: Sequence[Any], before: list[int]) -> Int32Array:
    """Numbers of vertices as one array; so many vertices come before those of each."""
    numbered: Int32Array = _one_after_the_other(
        [some + np.int32(n) if n else some for some, n in zip(arrays, before, strict=True)]
    )
    return numbered


def _one_after_the_other(arrays: Sequence[Any]) -> Any:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _before(arrays: Sequence[Any]) -> list[int]:
    """How many entries there are before those of each array."""
    return [0, *accumulate(len(array) for array in arrays)][:-1]


def _behind(arrays: Sequence[Any], before: list[int]) -> Any:
    """Arrays of starts, each of which begins with 0, as one; `before` lie that many entries."""
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate([[0], *(array[1:] + n for array, n in zip(arrays, before, strict=True))])
