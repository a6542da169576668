"""Tables between the store and a GPU: read and written by cuDF."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa

from bicliq.pipeline.placement.device import DeviceParquetWriter, cudf_and_cupy
from bicliq.pipeline.store.folder import Folder
from bicliq.pipeline.store.record import StoredFile

WRITTEN_ROWS = 32 << 20
"""Rows written to a Parquet file at a time."""


def read_columns(folder: Folder, file: StoredFile, columns: list[str]) -> list[Any]:
    """Read columns of a Parquet file of the store as CuPy arrays, after it was checked."""
    cudf, _ = cudf_and_cupy()
    with folder.source(file) as source:
        of = folder.path_of(file.name) if folder.is_local else io.BytesIO(source.read())
        frame = cudf.read_parquet(of, columns=columns)
    return [frame[column].values for column in columns]


def write_table(folder: Folder, name: str, table: pa.Table) -> StoredFile:
    """Write a table as Parquet, encoded and compressed on the device."""
    with folder.sink(name) as sink, DeviceParquetWriter(sink, compression="ZSTD") as writer:
        for start in range(0, max(table.num_rows, 1), WRITTEN_ROWS):
            writer.write(table.slice(start, WRITTEN_ROWS))
    return sink.file(name)
