"""One Parquet file whose row groups are encoded side by side.

pyarrow encodes a file on one core. Here each batch becomes a Parquet file of its own in memory, on
a thread of a pool; their row groups are put one after the other, and the footer names them all. A
footer is a tree in Thrift's compact protocol, of which only the offsets change: so it is read
without knowing what its fields mean, and written again.

References
----------
Apache Parquet format, ``parquet.thrift`` (FileMetaData, RowGroup, ColumnChunk, ColumnMetaData) and
"File format"; Apache Thrift, "Compact protocol encoding".
"""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

MAGIC = b"PAR1"
BATCHES_A_THREAD = 2
"""Batches that wait for each thread, or for their turn to be written."""

# Thrift's types in the compact protocol
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = range(1, 13)

# Fields of parquet.thrift
NUM_ROWS, ROW_GROUPS = 3, 4  # of FileMetaData
COLUMNS, GROUP_OFFSET, ORDINAL = 1, 5, 7  # of RowGroup
META_DATA, CHUNK_OFFSETS = 3, (2, 4, 6)  # of ColumnChunk
PAGE_OFFSETS = (9, 10, 11, 14)  # of ColumnMetaData

Struct = dict[int, tuple[int, Any]]
"""Type and value of each field, by number; a list is the type of its elements and these."""


class ParallelParquetWriter:
    """Writes batches as row groups of one Parquet file, encoded on several threads.

    Their order is kept.

    Parameters
    ----------
    sink
        A binary file, empty; it is not closed.
    schema
        Schema of the batches.
    threads
        Threads that encode. At most twice as many batches are held at a time.
    options
        Options of `pyarrow.parquet.ParquetWriter`.

    Examples
    --------
    >>> import io
    >>> file, batch = io.BytesIO(), pa.record_batch({"x": [1, 2]})
    >>> with ParallelParquetWriter(file, batch.schema, threads=2) as writer:
    ...     writer.write_batch(batch)
    ...     writer.write_batch(batch)
    >>> pq.read_table(file)["x"].to_pylist()
    [1, 2, 1, 2]
    """

    def __init__(self, sink: Any, schema: pa.Schema, threads: int, **options: Any) -> None:
        self._sink, self._schema, self._options = sink, schema, options
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads)
        self._encoding: deque[Future[memoryview]] = deque()
        self._footer: Struct | None = None
        self._at = self._sink.write(MAGIC)

    def __enter__(self) -> ParallelParquetWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        try:
            if kind is None:
                self.close()
        finally:
            self._pool.shutdown(cancel_futures=True)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Append a batch as a row group; returns when it waits its turn."""
        self._encoding.append(self._pool.submit(self._encode, batch))
        while len(self._encoding) > BATCHES_A_THREAD * self._threads:
            self._append(self._encoding.popleft().result())

    def close(self) -> None:
        """Write what waits, and the footer."""
        while self._encoding:
            self._append(self._encoding.popleft().result())
        if self._footer is None:
            self._append(self._encode(pa.RecordBatch.from_pylist([], schema=self._schema)))
        footer = encode_struct(self._footer or {})
        self._sink.write(footer + len(footer).to_bytes(4, "little") + MAGIC)

    def _encode(self, batch: pa.RecordBatch) -> memoryview:
        file = pa.BufferOutputStream()
        with pq.ParquetWriter(file, self._schema, **self._options) as writer:
            if batch.num_rows:
                writer.write_batch(batch)
        return memoryview(file.getvalue())

    def _append(self, part: memoryview) -> None:
        """Write the row groups of a file of one batch, and take over what its footer says."""
        end = len(part) - 8 - int.from_bytes(part[-8:-4], "little")
        footer, _ = decode_struct(part[end:-8].tobytes(), 0)
        _shift(footer, self._at - len(MAGIC))
        if self._footer is None:
            self._footer = footer
        else:
            _join(self._footer, footer)
        self._at += self._sink.write(part[len(MAGIC) : end])


def _shift(footer: Struct, distance: int) -> None:
    """Move everything that a footer names by so many bytes."""
    for group in footer[ROW_GROUPS][1][1]:
        _add(group, (GROUP_OFFSET,), distance)
        for chunk in group[COLUMNS][1][1]:
            _add(chunk, CHUNK_OFFSETS, distance)
            _add(chunk[META_DATA][1], PAGE_OFFSETS, distance)


def _add(struct: Struct, fields: tuple[int, ...], distance: int) -> None:
    for field in fields:
        if struct.get(field, (I64, 0))[1]:
            struct[field] = (I64, struct[field][1] + distance)


def _join(footer: Struct, more: Struct) -> None:
    groups = footer[ROW_GROUPS][1][1]
    for group in more[ROW_GROUPS][1][1]:
        group.pop(ORDINAL, None)  # optional, and only 16 bits wide
        groups.append(group)
    footer[NUM_ROWS] = (I64, footer[NUM_ROWS][1] + more[NUM_ROWS][1])


# ---- Thrift's compact protocol


def decode_struct(data: bytes, at: int) -> tuple[Struct, int]:
    """Read a struct; returns it and the place behind it.

    Examples
    --------
    >>> decode_struct(encode_struct({1: (I32, -5), 20: (BINARY, b"ab")}), 0)
    ({1: (5, -5), 20: (8, b'ab')}, 8)
    """
    struct: Struct = {}
    field = 0
    while head := data[at]:
        at += 1
        if head >> 4:
            field += head >> 4
        else:
            field, at = _decode_zigzag(data, at)
        kind = head & 15
        if kind in (TRUE, FALSE):
            struct[field] = (TRUE, kind == TRUE)
        else:
            value, at = _decode(data, at, kind)
            struct[field] = (kind, value)
    return struct, at + 1


def encode_struct(struct: Struct) -> bytes:
    """Write a struct, as `decode_struct` reads it."""
    out = bytearray()
    last = 0
    for field, (kind, value) in sorted(struct.items()):
        head = FALSE if kind == TRUE and not value else kind
        step = field - last
        out += bytes([step << 4 | head]) if 0 < step < 16 else bytes([head]) + _encode_zigzag(field)
        out += b"" if kind == TRUE else _encode(kind, value)
        last = field
    return bytes(out) + b"\0"


def _decode(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind in (I16, I32, I64):
        return _decode_zigzag(data, at)
    if kind == BINARY:
        length, at = _decode_varint(data, at)
        return data[at : at + length], at + length
    if kind == STRUCT:
        return decode_struct(data, at)
    if kind in (LIST, SET):
        return _decode_list(data, at)
    if kind in (TRUE, FALSE, BYTE):  # a Boolean among others is a byte
        return data[at : at + 1], at + 1
    if kind == DOUBLE:
        return data[at : at + 8], at + 8
    raise ValueError(f"type {kind} of Thrift's compact protocol is in no Parquet footer")


def _decode_list(data: bytes, at: int) -> tuple[tuple[int, list[Any]], int]:
    length, kind = data[at] >> 4, data[at] & 15
    at += 1
    if length == 15:
        length, at = _decode_varint(data, at)
    items = []
    for _ in range(length):
        item, at = _decode(data, at, kind)
        items.append(item)
    return (kind, items), at


def _encode(kind: int, value: Any) -> bytes:
    if kind in (I16, I32, I64):
        return _encode_zigzag(value)
    if kind == BINARY:
        return _encode_varint(len(value)) + bytes(value)
    if kind == STRUCT:
        return encode_struct(value)
    if kind in (LIST, SET):
        of, items = value
        head = bytes([len(items) << 4 | of]) if len(items) < 15 else bytes([0xF0 | of]) + _encode_varint(len(items))
        return head + b"".join(_encode(of, item) for item in items)
    return bytes(value)


def _decode_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
    return value | data[at] << shift, at + 1


def _encode_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _decode_zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _decode_varint(data, at)
    return value >> 1 ^ -(value & 1), at


def _encode_zigzag(value: int) -> bytes:
    return _encode_varint(value << 1 if value >= 0 else (-value << 1) - 1)
