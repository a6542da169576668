"""Sets of bicliques: which rows are in one, and what changes leave of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bicliq.kernels.contracts import BicliqueBatch, SmallerBatch
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.errors import memory_is_capacity

Flags = NDArray[np.bool_]


class BicliqueSet:
    """Maximal bicliques that are found again by their smaller sides.

    Parameters
    ----------
    batches : iterable of BicliqueBatch or SmallerBatch
        Taken one after the other; their arrays may go afterwards.
    rows : int
        About how many they hold together, for which room is made at once.

    Raises
    ------
    ValueError
        If the arrays are no batch.

    Notes
    -----
    A side of a maximal biclique tells the other one in its graph. So a biclique counts as held
    where one is that has the same smaller side, on the same side; of bicliques of one graph that is
    the same one. O(ids) time to fill. See `src/output/biclique_set.hpp`.

    Examples
    --------
    >>> import numpy as np
    >>> batch = BicliqueBatch(*[np.array(x, np.int32) for x in ([0, 1, 3], [7, 0, 1], [0, 2, 3], [4, 5, 5], [7, 0])])
    >>> known = BicliqueSet([batch.head(1)])
    >>> known.holds(batch).tolist(), len(known)
    ([True, False], 1)
    """

    @memory_is_capacity
    def __init__(self, batches: Iterable[BicliqueBatch | SmallerBatch], rows: int = 0) -> None:
        self._set = load_extension().BicliqueSet()
        self._set.reserve(rows)
        for batch in batches:
            add = self._set.add_smaller if isinstance(batch, SmallerBatch) else self._set.add
            add(*vars(batch).values())

    def __len__(self) -> int:
        return len(self._set)

    @memory_is_capacity
    def holds(self, batch: BicliqueBatch | SmallerBatch) -> Flags:
        """Say of each biclique whether it is in the set."""
        holds = self._set.holds_smaller if isinstance(batch, SmallerBatch) else self._set.holds
        found: Flags = holds(*vars(batch).values()).view(np.bool_)
        return found

    @memory_is_capacity
    def may_hold(self, n_left: Any, n_right: Any, root: Any) -> Flags:
        """Say of bicliques of these sizes and roots which ones may be in the set.

        Parameters
        ----------
        n_left, n_right, root : array of int32, shape (n,)

        Returns
        -------
        array of bool, shape (n,)
            False only where no biclique of the set is alike.
        """
        found: Flags = self._set.may_hold(n_left, n_right, root).view(np.bool_)
        return found


@memory_is_capacity
def kept_rows(batch: BicliqueBatch, kept: Flags) -> BicliqueBatch:
    """Return the bicliques of a batch that have a flag, in new arrays.

    Parameters
    ----------
    batch : BicliqueBatch
    kept : array of bool, shape (n,)

    Raises
    ------
    ValueError
        If the arrays are no batch, or there is not a flag for each row.

    Notes
    -----
    O(ids) time. Arrow's filter takes list after list, four times as long.

    Examples
    --------
    >>> import numpy as np
    >>> batch = BicliqueBatch(*[np.array(x, np.int32) for x in ([0, 1, 3], [7, 0, 1], [0, 2, 3], [4, 5, 5], [7, 0])])
    >>> [array.tolist() for array in vars(kept_rows(batch, np.array([False, True]))).values()]
    [[0, 2], [0, 1], [0, 1], [5], [0]]
    """
    lists, flags = load_extension().kept_lists, kept.view(np.uint8)
    left_offsets, left = lists(batch.left_offsets, batch.left, flags)
    right_offsets, right = lists(batch.right_offsets, batch.right, flags)
    return BicliqueBatch(left_offsets, left, right_offsets, right, batch.root[kept])


@memory_is_capacity
def net_changes(batches: Iterable[tuple[BicliqueBatch, int]]) -> list[Flags]:
    """Tell what several changes change together.

    Parameters
    ----------
    batches : iterable of (BicliqueBatch, {1, -1})
        What came (1) and what went (-1), in the order in which it did; both sides ascending.

    Returns
    -------
    list of array of bool
        Of each batch, which rows stand for a biclique that came or went after all: the first of
        those that are equal.

    Raises
    ------
    ValueError
        If the arrays are no batch.

    Notes
    -----
    O(ids) time. See `src/changes/net_changes.hpp`.

    Examples
    --------
    >>> import numpy as np
    >>> batch = BicliqueBatch(*[np.array(x, np.int32) for x in ([0, 1, 3], [7, 0, 1], [0, 2, 3], [4, 5, 5], [7, 0])])
    >>> [flags.tolist() for flags in net_changes([(batch, 1), (batch.head(1), -1)])]
    [[False, True], [False]]
    """
    net = load_extension().NetChanges()
    for batch, sign in batches:
        net.add(batch.left_offsets, batch.left, batch.right_offsets, batch.right, sign)
    return [flags.view(np.bool_) for flags in net.take()]
