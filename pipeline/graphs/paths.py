"""Paths of two edges: how many begin at each vertex, and how to follow them some at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from bicliq import kernels
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, Int64s
from bicliq.pipeline.placement.arrays import BLOCK, distinct, library_of, repeat, sums_of_rows, to_host

PATHS_AT_A_TIME = 1 << 26
"""Paths of two edges that are followed at a time, 16 bytes each."""


def wedges(graph: BipartiteGraph) -> tuple[Int64s, Int64s]:
    """Return, for each left and each right vertex, the sum of the degrees of its neighbours.

    That is the work of reading its 2-hop neighbourhood, and the estimate of its cost as a root.

    Examples
    --------
    >>> left, right = wedges(BipartiteGraph.from_edges([0, 0, 1], [0, 1, 1], 2, 2))
    >>> left.tolist(), right.tolist()
    ([3, 2], [2, 3])
    """
    xp = library_of(graph.indices)
    if xp is np:
        return kernels.count_paths(graph.indptr, graph.indices, graph.n_right)
    left = xp.zeros(graph.n_left, xp.int64)
    right = xp.zeros(graph.n_right, xp.int64)
    for rows in row_blocks(graph):
        first, last = int(graph.indptr[rows.start]), int(graph.indptr[rows.stop])
        indices = graph.indices[first:last]
        left[rows] = sums_of_rows(graph.right_degrees[indices], graph.indptr[rows.start : rows.stop + 1] - first)
        degrees = repeat(graph.left_degrees[rows], graph.left_degrees[rows])
        right += xp.bincount(indices, weights=degrees, minlength=graph.n_right).astype(xp.int64)
    return left, right


def two_hop_sizes(graph: BipartiteGraph, starts: Any, most: int = PATHS_AT_A_TIME) -> Any:
    """Return how many other left vertices share a right neighbour with each of some left vertices.

    `graph`: a graph of the host or of a GPU. `starts`: left vertices, whole numbers. `most`: most
    paths of two edges that are followed at a time: some 32 bytes each; a vertex with more of them
    is a batch of its own. Returns int64, shape (starts,), where the graph lies.

    Paths of two edges are laid out by two gathers, and equal ends united by a sort of 64-bit keys.
    cuDF's merge and cuGraph's two-hop neighbours (`benchmarks.two_hop`) are slower
    (docs/results.md).

    Examples
    --------
    >>> graph = BipartiteGraph.from_edges([0, 1, 1, 2], [0, 0, 1, 1], 4, 2)
    >>> two_hop_sizes(graph, np.arange(4)).tolist()
    [1, 2, 1, 0]
    """
    xp = library_of(graph.indices)
    back = graph.transpose()
    sizes = xp.zeros(starts.size, xp.int64)
    for batch in path_batches(graph, starts, most):
        lengths, middle = graph.rows_of(starts[batch])
        owner = repeat(xp.arange(lengths.size, dtype=xp.int64), lengths)
        paths, ends = back.rows_of(middle)
        keys = distinct(repeat(owner, paths) << 32 | ends)
        sizes[batch] = xp.bincount(keys >> 32, minlength=lengths.size) - (lengths > 0)
    return sizes


def path_batches(graph: BipartiteGraph, starts: Any, most: int) -> Iterator[slice]:
    """Cut starts in runs that have at most so many paths of two edges, or one start.

    Examples
    --------
    >>> graph = BipartiteGraph.from_edges([0, 1, 1, 2], [0, 0, 1, 1], 3, 2)
    >>> list(path_batches(graph, np.arange(3), 6))
    [slice(0, 2, None), slice(2, 3, None)]
    """
    yield from cut_evenly(to_host(library_of(graph.indices).cumsum(wedges(graph)[0][starts])), most)


def cut_evenly(spent: Int64s, most: int) -> Iterator[slice]:
    """Cut a range by the running sum of its costs: slices of at most so much, or of one entry.

    Examples
    --------
    >>> list(cut_evenly(np.cumsum([2, 2, 9, 1]), 4))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    first = 0
    while first < spent.size:
        before = int(spent[first - 1]) if first else 0
        last = max(int(np.searchsorted(spent, before + most, side="right")), first + 1)
        yield slice(first, last)
        first = last


def row_blocks(graph: BipartiteGraph) -> Iterator[slice]:
    """Cut the left vertices in slices of about `BLOCK` edges; a single vertex may have more."""
    xp = library_of(graph.indptr)
    bounds = to_host(xp.searchsorted(graph.indptr, xp.arange(0, graph.n_edges, BLOCK), side="left"))
    for start, stop in itertools.pairwise(sorted({*bounds.tolist(), graph.n_left})):
        yield slice(start, stop)
