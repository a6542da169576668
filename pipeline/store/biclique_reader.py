"""The bicliques of a data file, row group after row group, with both sides whatever is stored.

Pages that `pipeline.store.biclique_file` wrote are read by the kernels, those that cuDF wrote by
pyarrow. Where the smaller sides alone are stored, the others are found in the graph.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

import kernels
from pipeline.errors import DamageError
from pipeline.store.bicliques import SCHEMA, SMALLER_SCHEMA, offsets_and_ids, table_of
from pipeline.store.edges import read_edge_columns
from pipeline.store.folder import MEND, storage_errors
from pipeline.store.layout import GraphFolder, RunFolder
from pipeline.store.records import StoredFile

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Range = tuple[int, int]

CODECS: dict[str, Literal["zstd", "lz4_raw", "none"]] = {"ZSTD": "zstd", "LZ4": "lz4_raw", "UNCOMPRESSED": "none"}
"""Codecs whose pages the kernels read, by the names that pyarrow gives them."""


class LargerSides:
    """The larger sides of bicliques of a graph, which is read when they are first asked for.

    Parameters
    ----------
    graph
        Folder of the graph.
    """

    def __init__(self, graph: GraphFolder) -> None:
        self._graph = graph

    def __getstate__(self) -> dict[str, Any]:
        return {"_graph": self._graph}  # another process reads the graph itself

    def restored(self, table: pa.Table) -> pa.Table:
        """Return a table of `SMALLER_SCHEMA` as one of `SCHEMA`.

        Raises
        ------
        DamageError
            Where the graph does not hold these bicliques.
        """
        smaller = offsets_and_ids(table["smaller"].combine_chunks())
        numbers = [table[name].to_numpy() for name in ("n_left", "n_right", "root")]
        try:
            batch = self._restorer.restore(*smaller, *numbers)
        except ValueError as error:
            raise DamageError(f"{self._graph.uri}: is not the graph of these bicliques: {error}; {MEND}") from error
        lists = batch.left_offsets, batch.left, batch.right_offsets, batch.right
        return table_of([*lists, *numbers], SCHEMA)

    @cached_property
    def _restorer(self) -> kernels.SideRestorer:
        record = self._graph.read_record("graph.json")
        left, right = read_edge_columns(self._graph)
        degrees = np.bincount(left, minlength=int(record["n_left"]))
        return kernels.SideRestorer(np.concatenate([[0], np.cumsum(degrees)]), right, int(record["n_right"]))


class BicliqueReader:
    """Reads one data file, in one thread.

    Parameters
    ----------
    source
        The open file.
    sides
        Where larger sides are found that are not stored.
    """

    def __init__(self, source: Any, sides: LargerSides) -> None:
        self._source, self._sides = source, sides
        self._parquet = pq.ParquetFile(source)
        self.schema = self._parquet.schema_arrow
        self._is_ours = self.schema.equals(SCHEMA) or self.schema.equals(SMALLER_SCHEMA)
        metadata = self._parquet.metadata
        self._groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
        self.rows = [group.num_rows for group in self._groups]
        self._sizes: tuple[int, tuple[Int32s, Int32s]] | None = None

    def table(self, group: int, rows: Int64s | None = None) -> pa.Table:
        """Return the bicliques of a row group, or some of them, with the columns of `SCHEMA`."""
        table = self._columns(group, self.schema.names)
        if rows is not None:
            table = table.take(pa.array(rows))
        if "smaller" in self.schema.names:
            return self._sides.restored(table)
        return table if self._is_ours else table.cast(SCHEMA)  # cuDF names the items of lists otherwise

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
            self._sizes = group, (table["n_left"].to_numpy(), table["n_right"].to_numpy())
        return self._sizes[1]

    def ranges(self, group: int) -> tuple[Range, Range] | None:
        """Return the least and the most left vertices of a row group, and right ones.

        By the statistics of the file; None where it has none.
        """
        found = []
        for name in ("n_left", "n_right"):
            statistics = self._groups[group].column(self._place(name)).statistics
            if statistics is None or not statistics.has_min_max:
                return None
            found.append((int(statistics.min), int(statistics.max)))
        return found[0], found[1]

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
        columns = [
            (begin - first, end - first, chunk.num_values, pa.types.is_list(field.type))
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
    folder: RunFolder, file: StoredFile, sides: LargerSides, check: bool = True
) -> Iterator[BicliqueReader]:
    """Open a data file, after it was checked as `Folder.source` does."""
    with folder.source(file, check) as source, storage_errors("read", folder.path_of(file.name)):
        yield BicliqueReader(source, sides)
