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
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.columns import EXAMPLES
from bicliq.pipeline.formats.files import Files
from bicliq.pipeline.formats.parquet import BATCH_ROWS, text_sides, typed_batches, typed_layout
from bicliq.pipeline.formats.source import EdgeBatch, EdgeSource
from bicliq.pipeline.formats.words import brief, shown
from bicliq.pipeline.redact import without_secrets
from bicliq.pipeline.settings import IngestSettings

KINDS = (
    "a path, a glob, a pandas, Polars, Dask or cuDF frame, an Arrow table or stream, a DuckDB relation, a SciPy sparse"
    " matrix, a networkx graph, a list of baskets, or a dict of them"
)
"""What may be given, in words."""

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
    """

    name: str
    columns: tuple[str, ...]
    read: Callable[[Sequence[int]], list[Column]]
    head: Callable[[], Frame] | None = None

    def first_rows(self) -> list[list[str]]:
        """Return some first rows as text, for messages."""
        if self.head is not None:
            return self.head().first_rows()
        columns = [column[:EXAMPLES].to_pylist() for column in self.read(range(len(self.columns)))]
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

    Parameters
    ----------
    source
        One of `KINDS`.
    settings
        Names of columns, and what is needed of weights and times.

    Returns
    -------
    EdgeSource
        With the columns that are read, as an Arrow table.

    Raises
    ------
    InputError
        Where it is none of these, has no rows, or does not say which columns are meant.
    """
    frame = _frame_of(source, settings)
    if settings.format != "auto":
        raise InputError(f"{frame.name}: a table in memory has no format {settings.format!r}; leave it at auto")
    layout = typed_layout(frame.name, settings, frame.columns, frame.first_rows)
    columns = dict(zip(layout.wanted, frame.read(list(layout.wanted.values())), strict=True))
    table = pa.table({frame.columns[layout.wanted[role]]: column for role, column in columns.items()})
    if table.num_rows == 0:
        raise InputError(f"{frame.name}: has no rows; there is nothing to search")
    kinds = {side: columns[side].type for side in ("left", "right")}
    return EdgeSource(frame.name, "table", table.nbytes, settings, layout, text_sides(kinds, settings), table=table)


def table_batches(source: EdgeSource) -> Iterator[EdgeBatch]:
    """Batches of a table in memory."""
    assert source.table is not None
    yield from typed_batches(source, source.table.to_batches(BATCH_ROWS))


def from_matrix(matrix: SparseMatrix, left: Sequence[Any], right: Sequence[Any]) -> pa.Table:
    """Return the entries of a sparse matrix as an edge table with the labels of rows and columns.

    Parameters
    ----------
    matrix
        SciPy sparse matrix or array, shape (len(left), len(right)).
    left, right
        Labels of the rows and of the columns; none may be there twice.

    Returns
    -------
    pyarrow.Table
        Columns left, right, weight.

    Raises
    ------
    InputError
        Where shapes differ, labels repeat, or stored entries are 0.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from_matrix(sp.coo_array([[0, 2], [1, 0]]), ["ann", "bob"], ["jam", "tea"]).to_pylist()[0]
    {'left': 'ann', 'right': 'tea', 'weight': 2}
    """
    frame = _matrix_frame(_called(matrix), matrix)
    *ends, weight = frame.read(range(3))
    columns = {}
    for at, (side, labels) in enumerate((("left", left), ("right", right))):
        size = matrix.shape[at]
        if len(labels) != size:
            raise InputError(f"{frame.name}: {len(labels):,} {side} labels for {size:,} of the matrix; give one each")
        values = _of_values(frame.name, side, labels)
        if len(values.unique()) != size:
            raise InputError(f"{frame.name}: some {side} labels are there twice; two vertices would become one")
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


def _called(source: Any) -> str:
    """What a table in memory is, for messages."""
    kind, room = type(source).__name__, type(source).__module__.split(".")[0]
    if room in LIBRARIES:
        return f"{LIBRARIES[room]} {kind}"
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        return {"pyarrow": "Arrow table", "duckdb": "DuckDB relation"}.get(room.lstrip("_"), f"Arrow stream ({kind})")
    return "baskets by name" if isinstance(source, Mapping) else f"{kind} of baskets"


def _frame_of(source: Any, settings: IngestSettings) -> Frame:
    name = _called(source)
    if name == "pandas DataFrame":
        return _pandas_frame(name, source)
    if name in ("Dask DataFrame", "Dask-cuDF DataFrame"):
        return _dask_frame(name, source, settings)
    if name == "cuDF DataFrame":
        return _arrow_frame(name, source.to_arrow())
    if name == "Polars LazyFrame":
        source = source.collect()
    if hasattr(source, "__arrow_c_stream__"):
        return _arrow_frame(name, pa.table(source))
    if hasattr(source, "__arrow_c_array__"):
        return _arrow_frame(name, pa.table(pa.record_batch(source)))
    if hasattr(source, "tocoo"):
        return _matrix_frame(name, source)
    if hasattr(source, "nodes") and hasattr(source, "edges"):
        return _network_frame(name, source, settings)
    if isinstance(source, Mapping) or (isinstance(source, Sequence) and not isinstance(source, bytes | bytearray)):
        return _baskets_frame(name, source)
    raise InputError(f"edges: {_hint(source)}; give {KINDS}")


def _hint(source: Any) -> str:
    """Why something is no edge table, and what makes one of it."""
    kind = f"{type(source).__module__.split('.')[0]}.{type(source).__name__}"
    if kind == "numpy.ndarray":
        return "a NumPy array says not what it holds: a matrix is scipy.sparse.coo_array(array)"
    if hasattr(source, "compute"):
        return f"{kind} is computed first, with .compute(), or written to a folder of Parquet files"
    return f"{kind} is no edge table"


def _arrow_frame(name: str, table: pa.Table) -> Frame:
    return Frame(name, tuple(table.column_names), _each(table.column))


def _pandas_frame(name: str, frame: Any) -> Frame:
    """A pandas frame, of which only the columns that are meant are converted."""
    columns = tuple(str(column) for column in frame.columns)
    return Frame(name, columns, _each(lambda at: _of_values(name, columns[at], frame.iloc[:, at])))


def _dask_frame(name: str, frame: Any, settings: IngestSettings) -> Frame:
    """A Dask frame, of which only the columns that are meant are computed, all in one go."""

    def read(positions: Sequence[int]) -> list[Column]:
        some = _frame_of(frame.iloc[:, list(positions)].compute(), settings)
        return some.read(range(len(positions)))

    def head() -> Frame:
        return _frame_of(frame.get_partition(0).compute().head(EXAMPLES), settings)

    return Frame(name, tuple(str(column) for column in frame.columns), read, head)


def _matrix_frame(name: str, matrix: Any) -> Frame:
    """The entries of a sparse matrix: rows are left, columns are right."""
    if len(matrix.shape) != 2:
        raise InputError(f"{name}: has the shape {matrix.shape}; an edge table is a matrix of two dimensions")
    entries = matrix.tocoo()
    zeros = int((entries.data == 0).sum())
    if zeros:
        raise InputError(
            f"{name}: {zeros:,} of {len(entries.data):,} stored entries are 0, and whether these are edges is not said;"
            " remove them with .eliminate_zeros(), or store 1"
        )
    columns = (entries.row, entries.col, entries.data)
    return Frame(name, ("left", "right", "weight"), _each(lambda at: pa.array(columns[at])))


def _network_frame(name: str, network: Any, settings: IngestSettings) -> Frame:
    """The edges of a graph, and the attributes of edges that are weights and times."""
    attributes = [attribute for attribute in (settings.weight, settings.time) if attribute is not None]
    rows = [(*ends, *map(told.get, attributes)) for *ends, told in _sided(name, network, settings)]
    columns = ("left", "right", *attributes)
    return Frame(name, columns, _each(lambda at: _of_values(name, columns[at], [row[at] for row in rows])))


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


def _baskets_frame(name: str, baskets: Any) -> Frame:
    """Baskets: their numbers from 0 or their names are left, what is in them is right."""
    named = list(baskets.items()) if isinstance(baskets, Mapping) else list(enumerate(baskets))
    for basket, items in named:
        if isinstance(items, str | bytes) or not isinstance(items, Iterable):
            raise InputError(
                f"{name}: basket {shown(basket)} is {shown(items)}, and not a list of items; a basket of one item is"
                f" [{shown(items)}]"
            )
    if named and all(isinstance(items, tuple) and len(items) == 2 for _, items in named):
        raise InputError(
            f"{name}: each is a tuple of two, which may be a basket of two items or an edge; give baskets as lists, and"
            " edges as a frame: pandas.DataFrame(edges, columns=['left', 'right'])"
        )
    pairs = [(basket, item) for basket, items in named for item in items]
    columns = ("left", "right")
    return Frame(name, columns, _each(lambda at: _of_values(name, columns[at], [pair[at] for pair in pairs])))


# ---- columns of Python values --------------------------------------------------------------------


def _of_values(name: str, column: str, values: Any) -> Any:
    """A column of Python or pandas values as Arrow; NaN means missing, as in pandas."""
    try:
        found = pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError) as error:
        raise InputError(f"{name}, {_mixed(column, values) or f'column {column}: {brief(error)}'}") from None
    return found


def _mixed(column: str, values: Any) -> str | None:
    """Where the type of a column changes, in words; None where it does not."""
    first: Any = None
    for row, value in enumerate(values):
        if value is None or value != value:  # NaN is missing
            continue
        if first is not None and type(value) is not type(first):
            kinds = type(value).__name__, type(first).__name__
            return (
                f"row {row}, column {column}: {shown(value)} is of type {kinds[0]}, and those before it are {kinds[1]};"
                f" make them one type, as with str"
            )
        first = value if first is None else first
    return None
