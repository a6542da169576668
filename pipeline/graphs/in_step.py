"""Groups in step: left vertices that act on the same right vertices within the same minutes.

A set L of left vertices is in step at a right vertex where each of L acted on it within one window
[t, t + length]. R(L) are the right vertices where L is in step, and a group is an L with its R(L)
to which no left vertex can be added without losing one of R(L).

They are found by expansion. Each window of a right vertex that no other of its windows holds is a
column: the left vertices that acted in it. L lies in a window of r where it lies in a column of r,
so R(L) are the right vertices of the columns that hold L. A left vertex that is in all of these
columns could be added; so the L of a group is that of a maximal biclique of left vertices and
columns, and of one only. The reverse fails where two columns of one right vertex hold L: one left
vertex may be in the one column of each right vertex, though not in all columns. `groups_among`
leaves such out, and counts each right vertex once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bicliq import kernels
from bicliq.pipeline.graphs.actions import Actions, Bools, blocks_of, rights_of_keys, rows_of_ranges
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, Int32s, Int64s
from bicliq.pipeline.graphs.moments import window_sizes
from bicliq.pipeline.placement.arrays import differs, distinct, starts_of


@dataclass(frozen=True, eq=False)
class Windows:
    """Left vertices and the windows in which they acted.

    Parameters
    ----------
    graph
        The right side are the windows, by right vertex, then time.
    right
        int32: the right vertex of each window.
    """

    graph: BipartiteGraph
    right: Int32s

    @property
    def one_each(self) -> bool:
        """Whether no right vertex has two windows: then maximal bicliques are the groups."""
        return len(self.right) == len(distinct(self.right))

    @cached_property
    def by_window(self) -> BipartiteGraph:
        """The left vertices of each window."""
        return self.graph.transpose()

    def why_not(self, left: list[int], right: list[int]) -> str | None:
        """Say why some left and right vertices are no group, or None.

        Examples
        --------
        >>> made = Windows(BipartiteGraph.from_edges([0, 1, 1], [0, 0, 1], 2, 2), np.int32([0, 3]))
        >>> made.why_not([1], [0, 3]), made.why_not([0], [0])
        (None, 'another left vertex is in step with the left side at the whole right side')
        """
        found, counts = np.unique(self.graph.rows_of(np.array(left))[1], return_counts=True)
        windows = found[counts == len(left)]
        if np.unique(self.right[windows]).tolist() != right:
            return "the right side is not the set of all right vertices at which the left side is in step"
        _, members = self.by_window.rows_of(windows)
        at = np.repeat(self.right[windows], self.by_window.left_degrees[windows])
        pairs = distinct(at.astype(np.int64) << 32 | members)
        if np.count_nonzero(np.bincount(pairs & 0xFFFFFFFF) == len(right)) != len(left):
            return "another left vertex is in step with the left side at the whole right side"
        return None


def windows_of(actions: Actions, length: int, min_left: int, n_left: int) -> Windows:
    """Make the windows of at least `min_left` left vertices.

    Parameters
    ----------
    actions
        Which may be in step.
    length
        Of a window, in microseconds; both of its ends belong to it.
    min_left
        Least left vertices.
    n_left
        Number of left vertices.

    Examples
    --------
    >>> actions = Actions.of(np.int32([0, 1, 2]), np.int32([0, 0, 0]), np.array([0.0, 5.0, 9.0]))
    >>> made = windows_of(actions, 5_000_000, 2, 3)
    >>> made.by_window.indices.tolist(), made.right.tolist()
    ([0, 1, 1, 2], [0, 0])
    """
    first, sizes = window_sizes(actions, length, min_left)
    members: list[Int64s] = []
    right: list[Int32s] = []
    made = 0
    for block in blocks_of(sizes):
        rows, owner = rows_of_ranges(first[block], sizes[block])
        keys = distinct((owner << 32) | actions.left[rows])  # who acted twice is there once
        counts = np.bincount(keys >> 32, minlength=len(first[block]))
        enough = counts >= min_left
        number = made + np.cumsum(enough) - 1
        keys = keys[enough[keys >> 32]]
        members.append((number[keys >> 32] << 32) | (keys & 0xFFFFFFFF))
        right.append(actions.right[first[block]][enough])
        made += int(enough.sum())
    united = np.concatenate([np.zeros(0, np.int64), *members])
    members.clear()
    left = (united & 0xFFFFFFFF).astype(np.int32)
    graph = BipartiteGraph.from_edges(left, (united >> 32).astype(np.int32), n_left, made)
    return Windows(graph, np.concatenate([np.zeros(0, np.int32), *right]))


def groups_among(
    batch: kernels.BicliqueBatch, windows: Windows, min_right: int, min_edges: int
) -> kernels.BicliqueBatch:
    """Choose the groups among maximal bicliques of left vertices and windows.

    Parameters
    ----------
    batch
        The maximal bicliques.
    windows
        What they were found in.
    min_right, min_edges
        Sizes of the groups, in right vertices.

    Returns
    -------
    BicliqueBatch
        The groups, their right side in right vertices, each once.
    """
    right = windows.right[batch.right]
    new = differs(right)
    new[batch.right_offsets[:-1]] = True
    n_right = np.diff(starts_of(new)[batch.right_offsets])
    kept = (n_right >= min_right) & (n_right * batch.n_left >= min_edges)
    doubtful = np.flatnonzero(kept & (n_right < batch.n_right))
    kept[doubtful] = _are_maximal(batch, doubtful, n_right, windows)
    left_rows = np.repeat(kept, batch.n_left)
    right_rows = np.repeat(kept, batch.n_right) & new
    return kernels.BicliqueBatch(
        starts_of(batch.n_left[kept]).astype(np.int32),
        batch.left[left_rows],
        starts_of(n_right[kept]).astype(np.int32),
        right[right_rows],
        batch.root[kept],
    )


def _are_maximal(batch: kernels.BicliqueBatch, chosen: Int64s, n_right: Int64s, windows: Windows) -> Bools:
    """Say of some bicliques whether no other left vertex is in a window of each right vertex."""
    by_window, sizes = windows.by_window, np.diff(windows.by_window.indptr)
    held = np.add.reduceat(sizes[batch.right], batch.right_offsets[:-1]) if len(batch) else sizes[:0]
    maximal = np.zeros(len(chosen), np.bool_)
    for block in blocks_of(held[chosen]):
        some = chosen[block]
        at, group = rows_of_ranges(batch.right_offsets[some].astype(np.int64), batch.n_right[some].astype(np.int64))
        columns = batch.right[at]
        rows, column = rows_of_ranges(by_window.indptr[columns], sizes[columns])
        key = group[column] * by_window.n_right + by_window.indices[rows]
        order, starts, counts = rights_of_keys(key, windows.right[columns[column]])
        owner = key[order[starts]] // by_window.n_right
        in_all = np.bincount(owner[counts == n_right[some][owner]], minlength=len(some))
        maximal[block] = in_all == batch.n_left[some]
    return maximal
