"""Edge tables in memory, as sources like files.

pandas, Polars, Dask and cuDF frames, Arrow tables and whatever hands out an Arrow stream (DuckDB
relations), SciPy sparse matrices, networkx graphs, and lists of baskets. Each becomes named
columns; those that are meant become Arrow columns, which the reader of Parquet's columns
(`pipeline.formats.parquet`) takes: labels, checks and policies are those of a file.

None of the libraries is imported: what is given says itself what it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.baskets import begin_with_names
from bicliq.pipeline.formats.cells import SUMS
from bicliq.pipeline.formats.columns import SAMPLE, wants_weight
from bicliq.pipeline.formats.files import Files
from bicliq.pipeline.formats.frame_matrix import Lone, as_compared, matrix_table
from bicliq.pipeline.formats.heads import refuse_lines
from bicliq.pipeline.formats.in_python import array_of_values, basket_columns
from bicliq.pipeline.formats.parquet import (
    BATCH_ROWS,
    is_list,
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
from bicliq.pipeline.words import brief, shown

KINDS = (
    "a path, a glob, a pandas, Polars, Dask or cuDF frame, an Arrow table or stream, a DuckDB relation, a SciPy sparse"
    " matrix, a networkx graph, a list of baskets, or a dict of them"
)
"""What may be given, in words."""

NAMED = 100
"""Baskets by which it is seen soon that no names are before them."""

BASKETS = (list, tuple, set, frozenset)
"""What a basket of a list is, nearly always."""

Column: TypeAlias = "pa.Array | pa.ChunkedArray"


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


@dataclass(frozen=True)
class Frame:
    """A table in memory before its columns are chosen.

    Parameters
    ----------
    name
        What it is, for messages: "pandas DataFrame".
    columns
        Names of its columns.
    read
        Returns the columns at some positions as Arrow.
    head
        Its first rows; None: those of `read`.
    has_values
        Whether its columns are left, right and weight, and rows with the weight 0 are no edges.
    is_table
        Whether its columns are somebody's own: it may be a matrix.
    index
        Names of its rows, where it has some beside its columns.
    assumed, noted, lone
        What was taken for granted, what was found, and who is tied to nothing (`EdgeSource`).
    """

    name: str
    columns: tuple[str, ...]
    read: Callable[[Sequence[int]], list[Column]]
    head: Callable[[], Frame] | None = None
    has_values: bool = False
    is_table: bool = False
    index: pa.Array | None = None
    assumed: tuple[str, ...] = ()
    noted: Mapping[str, int] = field(default_factory=dict)
    lone: Lone = ((), ())

    def first_rows(self) -> list[list[str]]:
        """Return some first rows as text, for messages."""
        if self.head is not None:
            return self.head().first_rows()
        columns = [column[:SAMPLE].to_pylist() for column in self.read(range(len(self.columns)))]
        return [[str(value) for value in row] for row in zip(*columns, strict=True)]


def _each(column: Callable[[int], Column]) -> Callable[[Sequence[int]], list[Column]]:
    """Reads columns one after the other."""
    return lambda positions: [column(at) for at in positions]


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
    return without_secrets(os.fspath(source)) if isinstance(source, str | os.PathLike) else _called(source)


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
    return frame_source(matrix_frame(frame, settings) if kind == "matrix" and frame.is_table else frame, settings)


def matrix_frame(frame: Frame, settings: IngestSettings) -> Frame:
    """The cells of a frame that is a matrix, as an edge table."""
    table, n_rows, sums, assumed, lone = matrix_table(
        frame.name, frame.columns, lambda at: frame.read([at])[0], frame.first_rows(), frame.index, settings
    )
    said, noted = (*frame.assumed, *assumed), _empty_rows(n_rows, table["left"]) | ({SUMS: 1} if sums else {})
    return Frame(
        frame.name,
        tuple(table.column_names),
        _each(table.column),
        has_values=True,
        assumed=said,
        noted=noted,
        lone=lone,
    )


def _empty_rows(n_rows: int, left: pa.Array | pa.ChunkedArray) -> dict[str, int]:
    """How many rows of a matrix tie nothing, where some do not."""
    empty = n_rows - len(pc.unique(left))
    return {"empty_rows": empty} if empty else {}


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
    )


def table_batches(source: EdgeSource) -> Iterator[EdgeBatch]:
    """Batches of a table in memory."""
    assert source.table is not None
    noted = source.noted
    parts = source.table.to_batches(BATCH_ROWS) or [pa.RecordBatch.from_pylist([], source.table.schema)]
    for batch in typed_batches(source, parts):
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
    called = _called(matrix)
    frame = _matrix_frame(called, matrix)
    *ends, weight = frame.read(range(3))
    if weight.null_count:
        raise InputError(f"{called}: {weight.null_count:,} entries are NaN; write 0 for no edge, or a number")
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


# ---- what is given -------------------------------------------------------------------------------


LIBRARIES = {
    "pandas": "pandas",
    "polars": "Polars",
    "dask": "Dask",
    "cudf": "cuDF",
    "dask_cudf": "Dask-cuDF",
    "scipy": "SciPy",
    "networkx": "networkx",
}


SERIES = ("pandas Series", "Polars Series", "Arrow Array")
"""What one column is called."""


def _called(source: Any) -> str:
    """What a table in memory is, for messages."""
    kind, room = type(source).__name__, type(source).__module__.split(".")[0]
    if room in LIBRARIES:
        return f"{LIBRARIES[room]} {kind}"
    if isinstance(source, pa.Array | pa.ChunkedArray):
        return "Arrow Array"
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        return {"pyarrow": "Arrow table", "duckdb": "DuckDB relation"}.get(room.lstrip("_"), f"Arrow stream ({kind})")
    return "baskets by name" if isinstance(source, Mapping) else f"{kind} of baskets"


def frame_of(source: Any, settings: IngestSettings) -> Frame:
    """A table in memory before its columns are chosen; errors as of `open_table`."""
    name = _called(source)
    if name == "pandas DataFrame":
        return _pandas_frame(name, source)
    if name in ("Dask DataFrame", "Dask-cuDF DataFrame"):
        return _dask_frame(name, source, settings)
    if name == "cuDF DataFrame":
        return arrow_frame(name, source.to_arrow())
    if name == "Polars LazyFrame":
        source = source.collect()
    if settings.format == "matrix" and (name in SERIES or isinstance(source, Mapping | list | tuple)):
        raise InputError(f"{name}: is no matrix; make a frame or an array of its rows, as with pandas.DataFrame")
    if name in SERIES:
        return _series_frame(name, source, settings)
    if hasattr(source, "__arrow_c_stream__"):
        try:
            return arrow_frame(name, pa.table(source))
        except pa.ArrowInvalid as error:
            raise InputError(f"{name}: cannot be taken as Arrow: {brief(error)}; cast the column to text") from None
    if hasattr(source, "__arrow_c_array__"):
        return arrow_frame(name, pa.table(pa.record_batch(source)))
    if hasattr(source, "tocoo") or (isinstance(source, np.ndarray) and settings.format == "matrix"):
        return _matrix_frame(name, source)
    if hasattr(source, "nodes") and hasattr(source, "edges"):
        return _network_frame(name, source, settings)
    if isinstance(source, Mapping) or (
        isinstance(source, Sequence) and not isinstance(source, str | bytes | bytearray)
    ):
        lists = [] if isinstance(source, Mapping) else source
        first = [list(one) for one in lists[:NAMED] if isinstance(one, BASKETS)]
        named = _told_names(name, first, lambda: (list(one) for one in lists if isinstance(one, BASKETS)))
        return replace(_python_frame(name, *basket_columns(name, source, settings)), assumed=named)
    raise InputError(f"edges: {_hint(source)}; give {KINDS}")


def _series_frame(name: str, series: Any, settings: IngestSettings) -> Frame:
    """A column of lists: its index, or numbers of rows, are left, what is in them right."""
    values = series.to_arrow() if name == "Polars Series" else series
    if name == "pandas Series":
        _refuse_levels(name, series)
        return _python_frame(name, *basket_columns(name, series, settings))
    if not is_list(values.type):
        raise InputError(f"{name}: is one column of type {values.type}; an edge table has two, and baskets are lists")
    frame = arrow_frame(name, pa.table({"left": pa.array(np.arange(len(values))), "right": values}))
    first = [items or [] for items in values[:NAMED].to_pylist()]
    return replace(frame, assumed=_told_names(name, first, lambda: [items or [] for items in values.to_pylist()]))


def _told_names(
    name: str, first: Sequence[Sequence[Any]], every: Callable[[], Iterable[Sequence[Any]]]
) -> tuple[str, ...]:
    """Say that the first items of numbered baskets may be their names: of some, then of all."""
    if not (begin_with_names(first) and begin_with_names(every())):
        return ()
    return (
        f"{name}: {shown(first[0][0])} and the first items of the others may be names of the baskets; if they are, give a"
        " dict of baskets, as {items[0]: items[1:] for items in baskets}",
    )


def _hint(source: Any) -> str:
    """Why something is no edge table, and what makes one of it."""
    kind = f"{type(source).__module__.split('.')[0]}.{type(source).__name__}"
    if kind == "numpy.ndarray":
        return "a NumPy array says not what it holds: format = 'matrix' takes rows as left and columns as right"
    if hasattr(source, "compute"):
        return f"{kind} is computed first, with .compute(), or written to a folder of Parquet files"
    return f"{kind} is no edge table"


def arrow_frame(name: str, table: pa.Table) -> Frame:
    """An Arrow table, whose columns may be chosen."""
    return Frame(name, tuple(table.column_names), _each(lambda at: _without_views(table.column(at))), is_table=True)


def _without_views(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column without views of text or bytes, which functions of Arrow do not take."""
    if pa.types.is_list_view(column.type) or pa.types.is_large_list_view(column.type):  # Arrow casts them wrongly
        return pa.chunked_array([column.to_pylist()], pa.large_list(column.type.value_type))
    kind = _plain_text(column.type)
    if kind == column.type:
        return column
    if not pa.types.is_dictionary(kind):
        return column.cast(kind)
    parts = [
        pa.DictionaryArray.from_arrays(part.indices, part.dictionary.cast(kind.value_type)) for part in column.chunks
    ]
    return pa.chunked_array(parts, pa.dictionary(kind.index_type, kind.value_type))


def _plain_text(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        return pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary()
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _plain_text(kind.value_type))
    if is_list(kind) and _plain_text(kind.value_type) != kind.value_type:
        return pa.large_list(_plain_text(kind.value_type))
    return kind


def _pandas_frame(name: str, frame: Any) -> Frame:
    """A pandas frame, of which only the columns that are meant are converted."""
    _refuse_levels(name, frame)
    if frame.columns.nlevels > 1:
        raise InputError(
            f"{name}: names of its columns have several levels, and a label is one; join them, as with frame.columns ="
            " ['_'.join(map(str, names)) for names in frame.columns]"
        )
    columns = tuple(str(column) for column in frame.columns)
    numbered = type(frame.index).__name__ == "RangeIndex"
    return Frame(
        name,
        columns,
        _each(lambda at: array_of_values(name, columns[at], frame.iloc[:, at])),
        head=None if len(frame) <= SAMPLE else lambda: _pandas_frame(name, frame.iloc[:SAMPLE]),
        is_table=True,
        index=None if numbered else array_of_values(name, "index", frame.index),
    )


def _refuse_levels(name: str, some: Any) -> None:
    if some.index.nlevels > 1:
        raise InputError(f"{name}: its index has several levels; make columns of them, as with .reset_index()")


def _dask_frame(name: str, frame: Any, settings: IngestSettings) -> Frame:
    """A Dask frame, of which only the columns that are meant are computed, all in one go."""

    def read(positions: Sequence[int]) -> list[Column]:
        some = frame_of(frame.iloc[:, list(positions)].compute(), settings)
        return some.read(range(len(positions)))

    def head() -> Frame:
        return frame_of(frame.get_partition(0).compute().head(SAMPLE), settings)

    return Frame(name, tuple(str(column) for column in frame.columns), read, head, is_table=True)


def _matrix_frame(name: str, matrix: Any) -> Frame:
    """Entries of a sparse matrix, what is not 0 of a dense one: rows left, columns right."""
    if np.ma.is_masked(matrix):
        raise InputError(f"{name}: some of its cells are masked; say what they are, as in matrix.filled(0) for no edge")
    if hasattr(matrix, "tocoo"):
        entries, summed = _summed(matrix)
        shape, columns = matrix.shape, {"left": entries.row, "right": entries.col, "weight": entries.data}
    else:
        dense, summed = np.asarray(matrix), {}
        shape = dense.shape
        if dense.dtype.kind not in "biuf":
            raise InputError(f"{name}: holds values of type {dense.dtype}; a matrix has numbers")
        places = np.nonzero(dense)
        columns = dict(zip(("left", "right", "weight"), (*places, dense[places]), strict=False))
    if len(shape) != 2:
        raise InputError(f"{name}: has the shape {shape}; an edge table is a matrix of two dimensions")
    tied = columns["left"][np.asarray(columns["weight"]) != 0]
    return _python_frame(name, columns, _empty_rows(shape[0], pa.array(tied)) | summed)


def _summed(matrix: Any) -> tuple[Any, dict[str, int]]:
    """Entries of a sparse matrix, those that are there twice summed, and how many were."""
    if len(matrix.shape) != 2 or getattr(matrix, "has_canonical_format", False):
        return matrix.tocoo(), {}
    rows = matrix.tocsr(copy=True)
    rows.sum_duplicates()
    summed = matrix.tocoo().nnz - rows.nnz
    return rows.tocoo(), {"summed_entries": summed} if summed else {}


def _network_frame(name: str, network: Any, settings: IngestSettings) -> Frame:
    """The edges of a graph, and the attributes of edges that are weights and times."""
    attributes = [attribute for attribute in (settings.weight, settings.time) if attribute is not None]
    rows = [(*ends, *map(told.get, attributes)) for *ends, told in _sided(name, network, settings)]
    columns = ("left", "right", *attributes)
    return Frame(name, columns, _each(lambda at: array_of_values(name, columns[at], [row[at] for row in rows])))


def _sided(name: str, network: Any, settings: IngestSettings) -> Iterator[tuple[Any, Any, Any]]:
    """Edges with their left end first; as they stand where sources are left and targets right."""
    side = dict(network.nodes(data="bipartite"))
    for u, v, told in network.edges(data=True):
        if settings.sides == "source-target" or (side[u], side[v]) == (0, 1):
            yield u, v, told
        elif (side[u], side[v]) == (1, 0):
            yield v, u, told
        else:
            raise InputError(
                f"{name}: the edge {shown(u)} – {shown(v)} has ends on the sides {side[u]} and {side[v]}; give each node"
                " the attribute bipartite, 0 for left and 1 for right (sides = 'source-target' takes edges as they stand)"
            )


def _python_frame(name: str, columns: Mapping[str, Any], noted: Mapping[str, int]) -> Frame:
    """Columns of Python values; a weight that comes with them says which rows are edges."""
    names = tuple(columns)
    return Frame(
        name,
        names,
        _each(lambda at: array_of_values(name, names[at], columns[names[at]])),
        has_values="weight" in names,
        noted=noted,
    )
