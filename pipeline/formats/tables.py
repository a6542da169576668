"""Edge tables in memory, as sources like files.

pandas, Polars, Dask and cuDF frames, Arrow tables and whatever hands out an Arrow stream (DuckDB
relations), SciPy sparse matrices, networkx graphs, and lists of baskets. Each becomes named
columns (`pipeline.formats.frames`); those that are meant become Arrow columns, which the reader of
Parquet's columns (`pipeline.formats.parquet`) takes: labels, checks and policies are those of a
file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.cells import SUMS
from bicliq.pipeline.formats.columns import wants_weight
from bicliq.pipeline.formats.files import Files
from bicliq.pipeline.formats.frame_matrix import as_compared, matrix_table
from bicliq.pipeline.formats.frames import Frame, called, each_by, empty_rows, frame_of, frame_of_entries
from bicliq.pipeline.formats.heads import refuse_lines, told_idle
from bicliq.pipeline.formats.in_python import array_of_values
from bicliq.pipeline.formats.parquet import (
    BATCH_ROWS,
    names_of_sides,
    text_sides,
    told_cells,
    typed_batches,
    typed_layout,
    with_keys,
)
from bicliq.pipeline.formats.source import EdgeBatch, EdgeSource
from bicliq.pipeline.redact import without_secrets
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import shown


class ArrowStream(Protocol):
    """What hands out its rows as an Arrow stream: Arrow, Polars, DuckDB, pandas."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Capsule of an Arrow stream."""
        ...


class ArrowFrame(Protocol):
    """A frame that gives itself as an Arrow table: cuDF."""

    columns: Any

    def to_arrow(self) -> pa.Table:
        """The frame in the memory of the host."""
        ...


class LazyFrame(Protocol):
    """A frame that is computed when it is needed: Dask, Dask-cuDF."""

    columns: Any

    def compute(self) -> Any:
        """The frame in memory."""
        ...


class SparseMatrix(Protocol):
    """A SciPy sparse matrix or array: rows are left, columns are right."""

    shape: tuple[int, ...]

    def tocoo(self) -> Any:
        """Its entries by row and column."""
        ...


class Network(Protocol):
    """A networkx graph whose nodes say with ``bipartite=0`` or ``1`` on which side they are."""

    nodes: Any
    edges: Any


Edges: TypeAlias = (
    str
    | os.PathLike[str]
    | Files
    | ArrowStream
    | ArrowFrame
    | LazyFrame
    | SparseMatrix
    | Network
    | Mapping[Any, Iterable[Any]]
    | Sequence[Iterable[Any]]
    | EdgeSource
)
"""Whatever can be read as an edge table."""


def name_of(source: Edges) -> str:
    """Return how a table is called: its path, or what it is.

    Examples
    --------
    >>> name_of("edges.csv"), name_of(pa.table({"left": [1]})), name_of([["jam", "tea"]])
    ('edges.csv', 'Arrow table', 'list of baskets')
    """
    if isinstance(source, Files):
        return without_secrets(source.name)
    if isinstance(source, EdgeSource):
        return without_secrets(source.uri)
    return without_secrets(os.fspath(source)) if isinstance(source, str | os.PathLike) else called(source)


def open_table(source: Any, settings: IngestSettings) -> EdgeSource:
    """Recognise a table in memory.

    `source`: one of `KINDS`. `settings`: names of columns, and what is needed of weights and times.
    It has the columns that are read, as an Arrow table. Raises InputError where it is none of
    these, has no rows, or does not say which columns are meant.
    """
    frame = frame_of(source, settings)
    refuse_lines(frame.name, settings)
    kind = settings.format
    fits = {"matrix": frame.is_table or frame.has_values, "baskets": not frame.is_table, "auto": True}
    if not fits.get(kind, False):
        raise InputError(f"{frame.name}: is of no format {kind!r}; leave it at auto")
    for side, chosen in (("left", settings.left), ("right", settings.right)):
        if frame.has_values and chosen not in (None, side):
            raise InputError(
                f"{frame.name}: {side} = {shown(chosen)} cannot be chosen: its sides are fixed; leave it out"
            )
    opened = frame_source(matrix_frame(frame, settings) if kind == "matrix" and frame.is_table else frame, settings)
    return replace(opened, assumed=(*opened.assumed, *told_idle(frame.name, "table", settings)))


def matrix_frame(frame: Frame, settings: IngestSettings) -> Frame:
    """The cells of a frame that is a matrix, as an edge table."""
    table, n_rows, sums, assumed, lone = matrix_table(
        frame.name, frame.columns, lambda at: frame.read([at])[0], frame.first_rows(), frame.index, settings
    )
    said, noted = (*frame.assumed, *assumed), empty_rows(n_rows, table["left"]) | ({SUMS: 1} if sums else {})
    return Frame(
        frame.name,
        tuple(table.column_names),
        each_by(table.column),
        has_values=True,
        assumed=said,
        noted=noted,
        lone=lone,
    )


def frame_source(frame: Frame, settings: IngestSettings, kind: str = "table") -> EdgeSource:
    """The columns of a frame that are meant, as a source; errors as of `open_table`."""
    if frame.has_values:
        named = {"left": "left", "right": "right"} | ({"weight": "weight"} if wants_weight(settings) else {})
        settings = settings.model_copy(update=named)
    layout = typed_layout(frame.name, settings, frame.columns, frame.first_rows)
    if frame.has_values:
        layout = replace(layout, value=len(frame.columns) - 1)
    own = list(dict.fromkeys(at for at in layout.wanted.values() if at < len(frame.columns)))
    table = pa.table(dict(zip([frame.columns[at] for at in own], frame.read(own), strict=True)))
    table = with_keys(table, layout)
    if table.num_rows == 0 and not frame.noted.get("empty_rows"):
        raise InputError(f"{frame.name}: has no rows; there is nothing to search")
    kinds = {side: table[layout.names[layout.wanted[side]]].type for side in ("left", "right")}
    return EdgeSource(
        frame.name,
        kind,
        table.nbytes,
        settings,
        layout,
        text_sides(kinds, settings),
        table=table,
        assumed=(
            *frame.assumed,
            *told_cells(frame.name, {name: table[name] for name in names_of_sides(layout)}, settings),
        ),
        noted=frame.noted,
        lone=frame.lone,
        rows=frame.rows,
    )


def table_batches(source: EdgeSource) -> Iterator[EdgeBatch]:
    """Batches of a table in memory."""
    assert source.table is not None
    noted = source.noted
    parts = source.table.to_batches(BATCH_ROWS) or [pa.RecordBatch.from_pylist([], source.table.schema)]
    rows = source.rows or range(source.table.num_rows)
    for batch in typed_batches(source, parts, lambda first: lambda row: f"{source.uri}, row {rows[first + row]}"):
        yield replace(batch, noted={**batch.noted, **noted})
        noted = {}


def from_matrix(matrix: SparseMatrix | npt.NDArray[Any], left: Sequence[Any], right: Sequence[Any]) -> pa.Table:
    """Return the entries of a sparse matrix as an edge table with the labels of rows and columns.

    Parameters
    ----------
    matrix
        SciPy sparse matrix, or a dense array, shape (len(left), len(right)); 0 is no edge.
    left, right
        Labels of the rows and of the columns; none may be there twice.

    Returns
    -------
    pyarrow.Table
        Columns left, right, weight.

    Raises
    ------
    InputError
        Where shapes differ, labels repeat, or entries are NaN.

    Examples
    --------
    >>> from_matrix([[0, 2], [1, 0]], ["ann", "bob"], ["jam", "tea"]).to_pylist()[0]
    {'left': 'ann', 'right': 'tea', 'weight': 2}
    """
    name = called(matrix)
    frame = frame_of_entries(name, matrix)
    *ends, weight = frame.read(range(3))
    if weight.null_count:
        raise InputError(f"{name}: {weight.null_count:,} entries are NaN; write 0 for no edge, or a number")
    ties = pc.not_equal(pc.cast(weight, pa.float64()), 0)
    ends, weight = [end.filter(ties) for end in ends], weight.filter(ties)
    columns = {}
    for at, (side, labels) in enumerate((("left", left), ("right", right))):
        size = np.shape(matrix)[at]
        if len(labels) != size:
            raise InputError(f"{frame.name}: {len(labels):,} {side} labels for {size:,} of the matrix; give one each")
        values = array_of_values(frame.name, side, labels)
        if len(as_compared(values).unique()) != size:
            raise InputError(
                f"{frame.name}: some {side} labels are there twice, blanks around them aside; two vertices would become one:"
                " rename them"
            )
        columns[side] = values.take(ends[at])
    return pa.table({**columns, "weight": weight})


def names_its_columns(source: Any) -> bool:
    """Whether the columns of a table in memory have names of its own: of baskets they have none.

    Examples
    --------
    >>> names_its_columns(pa.table({"user": ["ann"]})), names_its_columns([["jam"]])
    (True, False)
    """
    return hasattr(source, "columns") or hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__")
