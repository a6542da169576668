"""The graphs that searches and counts on a GPU read, made by the extension on the host."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bicliq.kernels.contracts import EnumerationRequest, Int64Array, UInt64Array
from bicliq.kernels.cpu import load_extension

UInt32Array = NDArray[np.uint32]


class SearchGraph(NamedTuple):
    """What an enumeration reads: columns in search order, their rows, and the rows' columns."""

    row_start: UInt64Array
    column_start: UInt64Array
    row_columns: UInt32Array
    column_rows: UInt32Array
    places: UInt32Array
    """For each edge of a column, the column's place in the row's list."""
    vertex_of_column: UInt32Array
    edges_in_two_steps: Int64Array
    """Of each column: the edges of its rows."""


def search_graph(request: EnumerationRequest) -> SearchGraph:
    """Number the columns in search order and build both adjacency lists, on the host.

    Parameters
    ----------
    request : EnumerationRequest
        Its side holds the columns; their order is by ascending degree, or that of their numbers
        where roots are given.
    """
    graph = request.indptr, request.indices, request.n_right
    making = load_extension().card_graph(*graph, request.side == "left", request.roots is not None)
    return SearchGraph(*making.result())


class CountGraph(NamedTuple):
    """What a count reads: the core of the graph, both sides by ascending degree.

    It is that of a count on the host (`src/graphs/counting_core.hpp`), as its `card_graph` says.
    """

    root_start: UInt64Array
    root_rows: UInt32Array
    row_start: UInt64Array
    row_roots: UInt32Array
    vertex_of_root: UInt32Array
    """Its number in the input."""
    vertex_of_row: UInt32Array
    paths: UInt64Array
    """Of each root: those of two edges from it."""
