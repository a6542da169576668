"""A data file of bicliques: row groups that the kernels encode side by side, and a footer.

What the footer says of the columns is what pyarrow says of them in an empty file; the row groups
are added to it.

References
----------
Apache Parquet format, ``parquet.thrift`` (FileMetaData, RowGroup, ColumnChunk, ColumnMetaData).
"""

from __future__ import annotations

import io
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bicliq import kernels
from bicliq.pipeline.settings import PublishSettings
from bicliq.pipeline.store.bicliques import schema_of
from bicliq.pipeline.store.entries import Largest, SizeCounts
from bicliq.pipeline.store.folder import COMPRESSION_LEVEL
from bicliq.pipeline.store.sizes import Sizes
from bicliq.pipeline.store.thrift import BINARY, I32, I64, LIST, STRUCT, TRUE, Struct, decode_struct, encode_struct

MAGIC = b"PAR1"
BATCHES_A_THREAD = 2
"""Batches that wait for each thread, or for their turn to be written."""

PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
DATA_PAGE, DICTIONARY_PAGE = 0, 2
PHYSICAL = {pa.int32(): 1, pa.int64(): 2, pa.float64(): 5}
"""The format's numbers of types."""


def layout_of(publish: PublishSettings, terms: kernels.SurpriseTerms | None = None) -> kernels.RowGroupLayout:
    """How row groups are laid out that a `BicliqueWriter` of these settings writes."""
    compress = None if kernels.has_codec(publish.compression) else _arrow_codec(publish.compression)
    return kernels.RowGroupLayout(
        publish.compression, COMPRESSION_LEVEL, compress, publish.columns, publish.objectives, terms
    )


class BicliqueWriter:
    """Writes batches of bicliques as row groups of one Parquet file, in their order.

    `sink`: a binary file, empty; it is not closed. `threads`: threads that encode; 0: all that this
    process may use. At most twice as many batches wait. One more thread writes. `publish`: the
    codec, which sides are written, and by which objectives bicliques have a value. `terms`: what
    the vertices add to surprise, where that is one of them.

    Attributes
    ----------
    sizes : Sizes
        Of the bicliques that were written.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> with kernels.stream_maximal_bicliques([0, 2, 4], [0, 1, 0, 1], 2) as stream:
    ...     with BicliqueWriter(file, threads=1) as writer:
    ...         for batch in stream:
    ...             writer.write(batch)
    >>> pq.read_table(file).to_pylist()
    [{'left': [0, 1], 'right': [0, 1], 'n_left': 2, 'n_right': 2, 'root': 0}]
    """

    def __init__(
        self,
        sink: Any,
        threads: int,
        publish: PublishSettings | None = None,
        terms: kernels.SurpriseTerms | None = None,
    ) -> None:
        self.sizes = Sizes()
        self._sink, self._publish = sink, publish or PublishSettings()
        self._layout = layout_of(self._publish, terms)
        self._schema = schema_of(self._publish)
        self._threads = threads or kernels.available_threads()
        self._encode = ThreadPoolExecutor(self._threads, "encode")
        self._write = ThreadPoolExecutor(1, "write")  # whoever finds bicliques shall not wait for a disk
        self._waiting: deque[Future[None]] = deque()
        self._groups: list[bytes] = []  # as the footer says them, written while the search goes on
        self._rows = 0
        self._at = self._sink.write(MAGIC)

    def __enter__(self) -> BicliqueWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        try:
            if kind is None:
                self.close()
        finally:
            for pool in (self._write, self._encode):  # in this order: the one waits for the other
                pool.shutdown(cancel_futures=True)

    def write(self, batch: kernels.BicliqueBatch | kernels.SmallerBatch | kernels.RowGroup) -> None:
        """Append a batch as a row group, or one that was made by `layout_of`.

        Returns when it waits its turn.
        """
        if isinstance(batch, kernels.RowGroup):
            self._waiting.append(self._write.submit(self._append, batch))
        elif len(batch):
            encoded = self._encode.submit(kernels.encode_bicliques, batch, self._layout)
            self._waiting.append(self._write.submit(lambda: self._append(encoded.result())))
        while len(self._waiting) > BATCHES_A_THREAD * self._threads or (self._waiting and self._waiting[0].done()):
            self._waiting.popleft().result()

    def close(self) -> None:
        """Write what waits, and the footer."""
        while self._waiting:
            self._waiting.popleft().result()
        footer = encode_struct(
            {
                **_empty_footer(self._schema),
                3: (I64, self._rows),
                4: (LIST, (STRUCT, self._groups)),
            }  # num_rows, row_groups
        )
        self._sink.write(footer + len(footer).to_bytes(4, "little") + MAGIC)

    def _append(self, group: kernels.RowGroup) -> None:
        self._note(group.described)
        largest = group.sizes["largest"]
        self.sizes.merge(SizeCounts(**{**group.sizes, "largest": largest and Largest(**largest)}))
        self._sink.write(group.data)

    def _note(self, group: kernels.DescribedRowGroup) -> None:
        """Note for the footer what is written next."""
        columns = [
            _column_chunk(field, chunk, self._at, group.codec)
            for field, chunk in zip(self._schema, group.columns, strict=True)
        ]
        self._groups.append(
            encode_struct(
                {
                    1: (LIST, (STRUCT, columns)),
                    2: (I64, sum(chunk.uncompressed for chunk in group.columns)),
                    3: (I64, group.rows),
                    5: (I64, self._at),  # file_offset
                    6: (I64, group.size),
                }
            )
        )
        self._rows += group.rows
        self._at += group.size


def _column_chunk(field: pa.Field, chunk: Any, at: int, codec: int) -> Struct:
    """What the footer says of a column of the row group that begins at a place of the file."""
    has_dictionary, is_list = chunk.data > chunk.begin, pa.types.is_list(field.type)
    path = [field.name, "list", "element"] if is_list else [field.name]
    kind = field.type.value_type if is_list else field.type
    encodings = [PLAIN, RLE, RLE_DICTIONARY] if has_dictionary else [PLAIN, RLE]
    pages = [(DATA_PAGE, RLE_DICTIONARY if has_dictionary else PLAIN, chunk.n_pages)]
    if has_dictionary:
        pages.insert(0, (DICTIONARY_PAGE, PLAIN, 1))
    data: Struct = {
        1: (I32, PHYSICAL[kind]),
        2: (LIST, (I32, encodings)),
        3: (LIST, (BINARY, [name.encode() for name in path])),
        4: (I32, codec),
        5: (I64, chunk.n_values),
        6: (I64, chunk.uncompressed),
        7: (I64, chunk.end - chunk.begin),
        9: (I64, at + chunk.data),
        13: (LIST, (STRUCT, [_pages(*each) for each in pages])),
    }
    if has_dictionary:
        data[11] = (I64, at + chunk.begin)
    if not is_list:
        data[12] = (STRUCT, _statistics(chunk.least, chunk.most))
    return {2: (I64, 0), 3: (STRUCT, data)}


@cache
def _pages(kind: int, encoding: int, n: int) -> bytes:
    """How many pages of a kind are encoded so; a few numbers, again and again."""
    return encode_struct({1: (I32, kind), 2: (I32, encoding), 3: (I32, n)})


def _statistics(least: bytes, most: bytes) -> Struct:
    return {3: (I64, 0), 5: (BINARY, most), 6: (BINARY, least), 7: (TRUE, True), 8: (TRUE, True)}


@cache
def _empty_footer(schema: pa.Schema) -> Struct:
    """What pyarrow says of the columns: their types, and the schema of Arrow."""
    file = io.BytesIO()
    pq.ParquetWriter(file, schema).close()
    data = file.getvalue()
    footer, _ = decode_struct(data[-8 - int.from_bytes(data[-8:-4], "little") : -8], 0)
    return footer


def _arrow_codec(compression: str) -> Any:
    """The codec of pyarrow, from bytes to bytes."""
    codec = pa.Codec(compression, COMPRESSION_LEVEL) if compression == "zstd" else pa.Codec(compression)
    return lambda data: codec.compress(data, asbytes=True)
