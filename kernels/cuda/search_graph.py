"""The graph that a search on a GPU reads, made there (`src/search/device/search_lists.hpp`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bicliq.kernels.contracts import EnumerationRequest
from bicliq.kernels.cuda.search_program import LISTS, ListStep

THREADS = 256


@dataclass(frozen=True, eq=False)
class SearchGraph:
    """Columns in search order, their rows, and the rows' columns; on the device, and of the host.

    Parameters
    ----------
    row_start, column_start, row_columns, column_rows : array
        Both adjacency lists, ascending, on the device.
    places : array
        For each edge of a column, the column's place in the row's list, on the device.
    vertex_of_column, column_degree, edges_in_two_steps : array
        Of each column: its vertex, its rows, and the edges of its rows; on the host.
    """

    row_start: Any
    column_start: Any
    row_columns: Any
    column_rows: Any
    places: Any
    vertex_of_column: NDArray[np.uint32]
    column_degree: NDArray[np.int64]
    edges_in_two_steps: NDArray[np.int64]

    @property
    def largest_row(self) -> int:
        """Columns of the row that has most."""
        return int(np.diff(self.row_start.get()).max(initial=0))


def search_graph(cp: Any, request: EnumerationRequest, module: Any) -> SearchGraph:
    """Number the columns in search order and build both adjacency lists.

    Parameters
    ----------
    cp : module
        CuPy.
    request : EnumerationRequest
        Its side holds the columns; their order is by ascending degree, or that of their numbers
        where roots are given.
    module
        The program of a search.
    """
    left, m = request.side == "left", len(request.indices)
    n_columns, n_rows = (request.n_left, request.n_right)[:: 1 if left else -1]
    held: dict[str, Any] = {
        "indptr": cp.asarray(request.indptr), "indices": cp.asarray(request.indices),
        "degrees": cp.zeros(n_columns, cp.uint64), "rank": cp.empty(n_columns, cp.uint32),
        "by_column": cp.empty(m, cp.uint64), "by_row": cp.empty(m, cp.uint64),
        "column_start": cp.empty(n_columns + 1, cp.uint64), "row_start": cp.empty(n_rows + 1, cp.uint64),
        **{name: cp.empty(m, cp.uint32) for name in ("column_rows", "row_columns", "places")},
        "edges_in_two_steps": cp.zeros(n_columns, cp.uint64), "n_left": request.n_left, "n_columns": n_columns,
        "n_rows": n_rows, "n_edges": m, "columns_are_left": int(left),
    }  # fmt: skip
    told, kernel = cp.asarray(LISTS.packed(held)), module.get_function("lay_out_lists")
    blocks = min(-(-(m + n_columns + n_rows + 2) // THREADS), 2**31 - 1)  # for the most items that a step has

    def take(*steps: ListStep) -> None:
        for step in steps:
            kernel((blocks,), (THREADS,), (told, np.uint32(step)))

    take(ListStep.DEGREES)
    if request.roots is None:
        held["degrees"].sort()
    take(ListStep.RANKS, ListStep.EDGES)
    held["by_column"].sort()
    held["by_row"].sort()
    take(ListStep.LISTS, ListStep.PLACES)
    degrees = held["degrees"].get()
    return SearchGraph(
        row_start=held["row_start"],
        column_start=held["column_start"],
        row_columns=held["row_columns"],
        column_rows=held["column_rows"],
        places=held["places"],
        vertex_of_column=degrees.astype(np.uint32),
        column_degree=(degrees >> np.uint64(32)).astype(np.int64),
        edges_in_two_steps=held["edges_in_two_steps"].get().astype(np.int64),
    )
