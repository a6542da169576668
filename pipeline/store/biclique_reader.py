"""The bicliques of a data file, row group after row group, with both sides whatever is stored.

Pages that `pipeline.store.biclique_file` wrote are read by the kernels, those that cuDF wrote by
pyarrow. Where the smaller sides alone are stored, the others are found in the graph.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections import deque
from collections.abc import Iterator
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bicliq import kernels
from bicliq.pipeline.columns import column_of, values_of
from bicliq.pipeline.errors import DamageError
from bicliq.pipeline.store.bicliques import (
    OBJECTIVE_COLUMNS,
    SCHEMA,
    SMALLER_SCHEMA,
    batch_of,
    offsets_and_ids,
    smaller_batch_of,
    table_of,
)
from bicliq.pipeline.store.edges import read_edge_columns
from bicliq.pipeline.store.file_systems import storage_errors
from bicliq.pipeline.store.folder import MEND
from bicliq.pipeline.store.layout import GraphFolder, RunFolder
from bicliq.pipeline.store.record import StoredFile
from bicliq.pipeline.store.worth import By, Surprise, of_sizes

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Range = tuple[Any, Any]

CODECS: dict[str, Literal["zstd", "lz4_raw", "none"]] = {"ZSTD": "zstd", "LZ4": "lz4_raw", "UNCOMPRESSED": "none"}
"""Codecs whose pages the kernels read, by the names that pyarrow gives them."""


KINDS = {pa.int32(): "int32", pa.int64(): "int64", pa.float64(): "float64"}
"""What the kernels call the types of columns of numbers."""


GRAPHS_HELD = 4
"""Graphs that a process holds to restore sides: each takes its edges twice, and bit sets."""


class LargerSides:
    """The larger sides of bicliques of a graph, which is read when they are first asked for.

    A version has a graph for each of its layers. A process holds those that were read last, at most
    `GRAPHS_HELD`.

    `graph`: folder of the graph.
    """

    _held: ClassVar[deque[LargerSides]] = deque()
    _holding: ClassVar[threading.Lock] = threading.Lock()
    _reading: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, graph: GraphFolder) -> None:
        self.graph = graph

    def __getstate__(self) -> dict[str, Any]:
        return {"graph": self.graph}  # another process reads the graph itself

    def restored(self, table: pa.Table) -> pa.Table:
        """Return a table of `SMALLER_SCHEMA` as one of `SCHEMA`.

        Raises DamageError where the graph does not hold these bicliques.
        """
        smaller = offsets_and_ids(table["smaller"].combine_chunks())
        numbers = [values_of(table[name]) for name in ("n_left", "n_right", "root")]
        try:
            batch = self._restorer().restore(*smaller, *numbers)
        except ValueError as error:
            raise DamageError(f"{self.graph.uri}: is not the graph of these bicliques: {error}; {MEND}") from error
        lists = batch.left_offsets, batch.left, batch.right_offsets, batch.right
        return table_of([*lists, *numbers], SCHEMA)

    def _restorer(self) -> kernels.SideRestorer:
        """What restores sides; of threads that ask at once, one reads the graph."""
        with self._reading:
            return self._known

    @cached_property
    def _known(self) -> kernels.SideRestorer:
        record = self.graph.record()
        left, right = read_edge_columns(self.graph)
        degrees = np.bincount(left, minlength=record.n_left)
        self._hold()
        return kernels.SideRestorer(np.concatenate([[0], np.cumsum(degrees)]), right, record.n_right)

    def _hold(self) -> None:
        """Let go of the graph that has been held longest; who still reads it keeps it."""
        with self._holding:
            self._held.append(self)
            if len(self._held) > GRAPHS_HELD:
                vars(self._held.popleft()).pop("_known", None)


class BicliqueReader:
    """Reads one data file, in one thread.

    `source`: the open file. `sides`: where larger sides are found that are not stored, by the graph
    of the file. `surprise`: of the graph by whose degrees bicliques are valued: by default that of
    the file. A later one has other degrees, so that the file's column does not count.
    """

    def __init__(self, source: Any, sides: LargerSides, surprise: Surprise | None = None) -> None:
        self._source, self._sides = source, sides
        self._parquet = pq.ParquetFile(source)
        self.schema = self._parquet.schema_arrow
        valued = {field.name: field for field in OBJECTIVE_COLUMNS.values()}
        self._names = [name for name in self.schema.names if name not in valued]
        listed = SMALLER_SCHEMA if "smaller" in self._names else SCHEMA
        objectives = [valued[name] for name in self.schema.names if name in valued]
        self._is_ours = self.schema.equals(pa.schema([*listed, *objectives]))
        self._surprise = surprise or Surprise(sides.graph)
        self._same_degrees = surprise is None or surprise.graph == sides.graph
        metadata = self._parquet.metadata
        self._groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
        self.rows = [group.num_rows for group in self._groups]
        self._sizes: tuple[int, tuple[Int32s, Int32s]] | None = None

    def table(self, group: int, rows: Int64s | None = None) -> pa.Table:
        """Return the bicliques of a row group, or some of them, with the columns of `SCHEMA`."""
        table = self._columns(group, self._names)
        if rows is not None:
            table = table.take(column_of(rows))
        if "smaller" in self.schema.names:
            return self._sides.restored(table)
        return table if self._is_ours else table.cast(SCHEMA)  # cuDF names the items of lists otherwise

    def batches(self, group: int) -> Iterator[kernels.BicliqueBatch | kernels.SmallerBatch]:
        """Yield the bicliques of a row group as they are stored: both sides, or the smaller one."""
        table = self._columns(group, self._names)
        made = smaller_batch_of if "smaller" in self.schema.names else batch_of
        for rows in table.to_batches():
            yield made(rows)

    def lists(self, group: int, side: str) -> pa.ListArray:
        """Return the lists of one side of a row group."""
        is_stored = side in self.schema.names
        column = (self._columns(group, [side]) if is_stored else self.table(group))[side]
        return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()  # which would copy

    def numbers(self, group: int) -> pa.Table:
        """Return the columns of the bicliques of a row group that are no lists."""
        return self._columns(group, ["n_left", "n_right", "root"])

    def sizes(self, group: int) -> tuple[Int32s, Int32s]:
        """Return the numbers of left and of right vertices of the bicliques of a row group.

        Those of the group that was asked for last are at hand.
        """
        if self._sizes is None or self._sizes[0] != group:
            table = self._columns(group, ["n_left", "n_right"])
            self._sizes = group, (values_of(table["n_left"]), values_of(table["n_right"]))
        return self._sizes[1]

    def ranges(self, group: int) -> tuple[Range, Range] | None:
        """Return the least and the most left vertices of a row group, and right ones.

        By the statistics of the file; None where it has none.
        """
        left, right = self._range(group, "n_left"), self._range(group, "n_right")
        return None if left is None or right is None else (left, right)

    def stores(self, by: By) -> bool:
        """Whether what bicliques are worth is a column of the file."""
        field = OBJECTIVE_COLUMNS.get(by)
        return field is not None and field.name in self.schema.names and (by != "surprise" or self._same_degrees)

    def values(self, group: int, by: By, rows: Int64s) -> Any:
        """Return what some bicliques of a row group are worth: by its column, or reckoned."""
        if self.stores(by):
            name = OBJECTIVE_COLUMNS[by].name
            return values_of(self._columns(group, [name])[name])[rows]
        if by == "surprise":
            return self._surprise.of(self.table(group, None if rows.size == self.rows[group] else rows))
        return of_sizes(by, *(sizes[rows].astype(np.int64) for sizes in self.sizes(group)))

    def values_of(self, table: pa.Table, by: By) -> Any:
        """Return what the bicliques of a table of `SCHEMA` are worth, reckoned anew."""
        if by == "surprise":
            return self._surprise.of(table)
        return of_sizes(by, *(values_of(table[name]).astype(np.int64) for name in ("n_left", "n_right")))

    def most(self, group: int, by: By) -> float:
        """Return what no biclique of a row group goes beyond, by the statistics of the file."""
        if self.stores(by):
            found = self._range(group, OBJECTIVE_COLUMNS[by].name)
            return math.inf if found is None else found[1]
        ranges = None if by == "surprise" else self.ranges(group)
        return math.inf if ranges is None else float(of_sizes(by, *(end for _, end in ranges)))

    def _range(self, group: int, name: str) -> Range | None:
        """The least and the largest number of a column of a row group, where the file says so."""
        statistics = self._groups[group].column(self._place(name)).statistics
        return None if statistics is None or not statistics.has_min_max else (statistics.min, statistics.max)

    def _place(self, name: str) -> int:
        return int(self.schema.names.index(name))  # each of these columns has one leaf

    def _columns(self, group: int, names: list[str]) -> pa.Table:
        """Read some of the stored columns."""
        table = self._by_kernels(group, names) if self._is_ours else None
        if table is None:
            table = self._parquet.read_row_group(group, columns=names, use_threads=False)
        return table

    def _by_kernels(self, group: int, names: list[str]) -> pa.Table | None:
        """Read them with the kernels; None where these cannot."""
        chunks = [self._groups[group].column(self._place(name)) for name in names]
        compression = CODECS.get(chunks[0].compression)
        if compression is None:
            return None
        begins = [chunk.dictionary_page_offset or chunk.data_page_offset for chunk in chunks]
        ends = [begin + chunk.total_compressed_size for begin, chunk in zip(begins, chunks, strict=True)]
        first = min(begins)
        fields = [self.schema.field(name) for name in names]
        columns: list[Any] = [
            (begin - first, end - first, chunk.num_values, KINDS.get(field.type, "list"))
            for begin, end, chunk, field in zip(begins, ends, chunks, fields, strict=True)
        ]
        data = np.frombuffer(self._bytes(first, max(ends)), np.uint8)
        arrays = kernels.read_columns(data, compression, columns, self.rows[group])
        return None if arrays is None else table_of(arrays, pa.schema(fields))

    def _bytes(self, begin: int, end: int) -> Any:
        self._source.seek(begin)
        if isinstance(self._source, pa.NativeFile):
            return self._source.read_buffer(end - begin)  # no copy of what is mapped
        return self._source.read(end - begin)


@contextlib.contextmanager
def open_bicliques(
    folder: RunFolder, file: StoredFile, sides: LargerSides, check: bool = True, surprise: Surprise | None = None
) -> Iterator[BicliqueReader]:
    """Open a data file, after it was checked as `Folder.source` does."""
    with folder.source(file, check) as source, storage_errors("read", folder.path_of(file.name)):
        yield BicliqueReader(source, sides, surprise)
