"""What each library gives, as a frame: named columns that become Arrow columns when they are read.

None of the libraries is imported: what is given says itself what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.baskets import begin_with_names
from bicliq.pipeline.formats.columns import SAMPLE
from bicliq.pipeline.formats.frame_matrix import Lone
from bicliq.pipeline.formats.in_python import array_of_values, basket_columns
from bicliq.pipeline.formats.parquet import is_list
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
    rows, assumed, noted, lone
        Numbers of its rows in a sheet, what was taken for granted, what was found, and who is tied
        to nothing (`EdgeSource`).
    """

    name: str
    columns: tuple[str, ...]
    read: Callable[[Sequence[int]], list[Column]]
    head: Callable[[], Frame] | None = None
    has_values: bool = False
    is_table: bool = False
    index: pa.Array | None = None
    rows: Sequence[int] = ()
    assumed: tuple[str, ...] = ()
    noted: Mapping[str, int] = field(default_factory=dict)
    lone: Lone = ((), ())

    def first_rows(self) -> list[list[str]]:
        """Return some first rows as text, for messages."""
        if self.head is not None:
            return self.head().first_rows()
        columns = [column[:SAMPLE].to_pylist() for column in self.read(range(len(self.columns)))]
        return [[str(value) for value in row] for row in zip(*columns, strict=True)]


def each_by(column: Callable[[int], Column]) -> Callable[[Sequence[int]], list[Column]]:
    """Reads columns one after the other."""
    return lambda positions: [column(at) for at in positions]


def empty_rows(n_rows: int, left: pa.Array | pa.ChunkedArray) -> dict[str, int]:
    """How many rows of a matrix tie nothing, where some do not."""
    empty = n_rows - len(pc.unique(left))
    return {"empty_rows": empty} if empty else {}


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


def called(source: Any) -> str:
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
    name = called(source)
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
        return frame_of_entries(name, source)
    if hasattr(source, "nodes") and hasattr(source, "edges"):
        return _network_frame(name, source, settings)
    if isinstance(source, Mapping) or (
        isinstance(source, Sequence) and not isinstance(source, str | bytes | bytearray)
    ):
        lists = [] if isinstance(source, Mapping) else source
        first = [list(one) for one in lists[:NAMED] if isinstance(one, BASKETS)]
        named = _told_names(name, first, lambda: (list(one) for one in lists if isinstance(one, BASKETS)))
        return replace(_frame_of_baskets(name, source, settings), assumed=named)
    raise InputError(f"edges: {_hint(source)}; give {KINDS}")


def _series_frame(name: str, series: Any, settings: IngestSettings) -> Frame:
    """A column of lists: its index, or numbers of rows, are left, what is in them right."""
    values = series.to_arrow() if name == "Polars Series" else series
    if name == "pandas Series":
        _refuse_levels(name, series)
        return _frame_of_baskets(name, series, settings)
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
    return Frame(name, tuple(table.column_names), each_by(lambda at: _without_views(table.column(at))), is_table=True)


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
        each_by(lambda at: array_of_values(name, columns[at], frame.iloc[:, at])),
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


def frame_of_entries(name: str, matrix: Any) -> Frame:
    """Entries of a sparse matrix, what is not 0 of a dense one: rows left, columns right."""
    if np.ma.is_masked(matrix):
        raise InputError(f"{name}: some of its cells are masked; say what they are, as in matrix.filled(0) for no edge")
    if np.iscomplexobj(matrix):
        raise InputError(
            f"{name}: complex numbers say not which of them are edges; give their amounts, as with abs(matrix)"
        )
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
    return _python_frame(name, columns, empty_rows(shape[0], pa.array(tied)) | summed)


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
    return Frame(name, columns, each_by(lambda at: array_of_values(name, columns[at], [row[at] for row in rows])))


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


def _frame_of_baskets(name: str, baskets: Any, settings: IngestSettings) -> Frame:
    columns, empty, missing = basket_columns(name, baskets, settings)
    noted = {kind: n for kind, n in (("empty_lists", len(empty) - missing), ("null_lists", missing)) if n}
    return replace(_python_frame(name, columns, noted), lone=(empty, ()))


def _python_frame(name: str, columns: Mapping[str, Any], noted: Mapping[str, int]) -> Frame:
    """Columns of Python values; a weight that comes with them says which rows are edges."""
    names = tuple(columns)
    return Frame(
        name,
        names,
        each_by(lambda at: array_of_values(name, names[at], columns[names[at]])),
        has_values="weight" in names,
        noted=noted,
    )
