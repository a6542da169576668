"""Bicliques in files: the columns of a data file, how it is written, and its digest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import kernels
from pipeline.store.folder import COMPRESSION_LEVEL
from pipeline.store.parquet_parts import ParallelParquetWriter
from pipeline.store.sink import HashingSink

SCHEMA = pa.schema(
    [
        pa.field("left", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
        pa.field("right", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
        pa.field("n_left", pa.int32(), nullable=False),
        pa.field("n_right", pa.int32(), nullable=False),
        pa.field("root", pa.int32(), nullable=False),
    ]
)
"""Columns of a partition's data file: dense ids of the canonical graph, ascending in each list."""

PARQUET: dict[str, Any] = {
    "compression": "zstd",
    "compression_level": COMPRESSION_LEVEL,
    "use_dictionary": False,
    "write_statistics": ["n_left", "n_right", "root"],
}
"""Options of a data file. Half of the time of a write is the encoding, whatever the compression
(edit-nawiki, a tenth of it: none 0.19 s and 146 MB, lz4 0.26 s and 19 MB, zstd 0.33 s and 11 MB);
dictionaries and statistics of lists cost time and save nothing."""

MASK = (1 << 64) - 1
"""Set digests add up modulo 2**64."""


def parquet_writer(sink: HashingSink, threads: int) -> Any:
    """Writer of a data file on the CPU: pyarrow, on all threads."""
    threads = threads or kernels.available_threads()
    return (
        ParallelParquetWriter(sink, SCHEMA, threads, **PARQUET)
        if threads > 1
        else pq.ParquetWriter(sink, SCHEMA, **PARQUET)
    )


def record_batch(batch: Any) -> pa.RecordBatch:
    """Arrow batch of a kernel's batch; dense ids are int32 by construction."""
    columns = [
        _lists(batch.left_offsets, batch.left, 0),
        _lists(batch.right_offsets, batch.right, 1),
        pa.array(np.diff(batch.left_offsets)),
        pa.array(np.diff(batch.right_offsets)),
        pa.array(batch.root),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _lists(offsets: Any, values: Any, column: int) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values), type=SCHEMA.field(column).type)


def table_digest(table: pa.Table, hashes: tuple[Any, Any]) -> int:
    """Set digest of a table of bicliques (columns left and right, dense ids).

    `hashes` are those of the labels of both sides (`pipeline.store.labels.read_hashes`).
    """
    total = 0
    for batch in table.to_batches():
        total += kernels.set_digest(*_offsets_and_values(batch["left"]), *_offsets_and_values(batch["right"]), *hashes)
    return total & MASK


def _offsets_and_values(lists: pa.ListArray) -> tuple[Any, Any]:
    offsets = lists.offsets.to_numpy()
    return offsets - offsets[0], lists.flatten().to_numpy()
