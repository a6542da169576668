"""The larger sides of bicliques, found again in the graph from the smaller ones."""

from __future__ import annotations

from typing import Any

from bicliq.kernels.arguments import as_int32, checked_csr
from bicliq.kernels.contracts import BicliqueBatch
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.errors import memory_is_capacity


class SideRestorer:
    """Restores bicliques of one graph of which only the smaller sides were kept.

    Either side of a maximal biclique is the set of all common neighbours of the other one, so the
    smaller one is enough.

    Parameters
    ----------
    indptr, indices, n_right
        CSR of the left side, as of `enumerate_maximal_bicliques`.

    Raises
    ------
    ValueError
        If the arrays are no CSR matrix of whole numbers.

    Notes
    -----
    Memory: the graph in both orientations, and as much again or 64 MiB a side for bit sets.
    `src/output/restore_sides.hpp` has the method. Threads may share one.

    Examples
    --------
    >>> from bicliq.kernels import SideRestorer
    >>> graph = SideRestorer([0, 2, 4, 5], [0, 1, 0, 1, 0], 2)
    >>> batch = graph.restore([0, 1, 3], [0, 0, 1], [3, 2], [1, 2], [0, 0])
    >>> batch.left.tolist(), batch.right.tolist()
    ([0, 1, 2, 0, 1], [0, 0, 1])
    """

    def __init__(self, indptr: Any, indices: Any, n_right: int) -> None:
        self._graph = load_extension().SideRestorer(*checked_csr(indptr, indices, n_right))

    @memory_is_capacity
    def restore(self, offsets: Any, ids: Any, n_left: Any, n_right: Any, root: Any) -> BicliqueBatch:
        """Restore some bicliques.

        Parameters
        ----------
        offsets, ids : array of int
            The smaller side of each, as a list column: the left one where ``n_left <= n_right``.
        n_left, n_right : array of int
            Numbers of vertices of both sides.
        root : array of int
            The root of each, which is passed on.

        Returns
        -------
        BicliqueBatch

        Raises
        ------
        ValueError
            If the arrays do not fit together, an id is not in the graph, or the graph gives a side
            another size.
        CapacityError
            If a side of all of them together has more than 2^31 - 1 ids.

        Notes
        -----
        O(smaller * larger) lookups a biclique at most; as a rule few, since the number of ids that
        are to come says when no more rows need to be looked at.
        """
        lists = as_int32(offsets, "offsets"), as_int32(ids, "ids")
        sizes = as_int32(n_left, "n_left"), as_int32(n_right, "n_right")
        left_offsets, left, right_offsets, right = self._graph.restore(*lists, *sizes)
        return BicliqueBatch(left_offsets, left, right_offsets, right, as_int32(root, "root"))
