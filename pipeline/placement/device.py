"""The GPU side of the data path: cuDF, CuPy and their one memory pool, and tables between the store and the device."""

from __future__ import annotations

import importlib.util
import io
import sys
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

import kernels
from kernels.cuda.device import device_errors
from pipeline.errors import BackendError
from pipeline.placement.arrays import library_of
from pipeline.store.layout import Folder

INSTALL = "pip install 'bicliq[gpu]' (NVIDIA driver 580 or newer, Linux)"
POOL_KEEPS = 0.6  # of a GPU's memory, between two uses: about what a search takes, since taking it anew costs 35 ms
LIBRARIES = ("cupy", "cudf", "cugraph", "rmm")

AUTO_BYTES = 64 << 20
"""Size of an edge table from which on the GPU is worth starting for it (docs/results.md)."""

WRITTEN_ROWS = 32 << 20
"""Rows written to a Parquet file at a time."""

LISTS: dict[str, Any] = {"compression": "ZSTD", "use_dictionary": False, "max_page_size_bytes": 1 << 16}
"""Options of a file of bicliques: small pages are compressed side by side, and dictionaries of ids save nothing (docs/methods.md)."""


def why_no_data_on_device() -> str | None:
    """Say why ingest, reduce, profile and plan cannot run on a GPU here, or None when they can."""
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        return f"{', '.join(missing)} not installed: {INSTALL}"
    return kernels.why_not("cuda")


def data_backend(asked: str, n_bytes: int) -> str:
    """Return where the data stages run: "cpu" or "cuda".

    Parameters
    ----------
    asked
        "cpu", "cuda", or "auto": the GPU where it can run and the table is large enough to be worth its start.
    n_bytes
        Size of the edge table's files.

    Raises
    ------
    BackendError
        If "cuda" is asked for and cannot run here.
    """
    if asked == "cpu" or (asked == "auto" and n_bytes < AUTO_BYTES):
        return "cpu"
    reason = why_no_data_on_device()
    if reason is not None and asked == "cuda":
        raise BackendError(f"data backend 'cuda' cannot run here: {reason}; or leave data_backend at 'auto'")
    return "cpu" if reason else "cuda"


@cache
def cudf_and_cupy() -> tuple[Any, Any]:
    """Import cuDF and CuPy, once a process: one pool of memory for both, and tables that spill to the host.

    Raises
    ------
    BackendError
        If they cannot run here.
    """
    reason = why_no_data_on_device()
    if reason is not None:
        raise BackendError(f"the GPU data path cannot run here: {reason}; or use the CPU backend")
    import cudf
    import cupy
    import rmm
    from rmm.allocators.cupy import rmm_cupy_allocator

    if isinstance(rmm.mr.get_current_device_resource(), rmm.mr.CudaMemoryResource):  # a Dask-CUDA worker has its pool
        kept = int(POOL_KEEPS * cupy.cuda.Device().mem_info[1])
        rmm.mr.set_current_device_resource(rmm.mr.CudaAsyncMemoryResource(release_threshold=kept))
    cupy.cuda.set_allocator(rmm_cupy_allocator)
    cupy.get_default_memory_pool().free_all_blocks()  # what an earlier search left in CuPy's own pool nobody else could have
    cudf.set_option("spill", True)
    return cudf, cupy


def gpu_count() -> int:
    """GPUs that this process sees, at least 1."""
    import cupy

    return max(int(cupy.cuda.runtime.getDeviceCount()), 1)


def is_loaded() -> bool:
    """Whether this process has loaded cuDF, which takes seconds: if so, what it does best costs nothing more."""
    return "cudf" in sys.modules and why_no_data_on_device() is None


@cache
def free_bytes() -> int:
    """Device memory that was free when this process began to use it; the pool keeps what it has taken."""
    cudf_and_cupy()
    import cupy

    return int(cupy.cuda.Device().mem_info[0])


def device_errors_of(array: Any) -> AbstractContextManager[None]:
    """Return a context in which what goes wrong on the GPU that an array lies on, if it does, is a `BackendError`."""
    return nullcontext() if library_of(array) is np else device_errors()


def to_device(array: Any) -> Any:
    """Copy an array of the host to the GPU.

    Raises
    ------
    BackendError
        If the data path cannot run here, or the device has no room for it.
    """
    _, cp = cudf_and_cupy()
    with device_errors():
        return cp.asarray(array)


def read_columns(folder: Folder, name: str, columns: list[str]) -> list[Any]:
    """Read columns of a Parquet file of the store as CuPy arrays."""
    cudf, _ = cudf_and_cupy()
    if folder.is_local:
        frame = cudf.read_parquet(folder.path_of(name), columns=columns)
    else:
        with folder.source(name) as source:
            frame = cudf.read_parquet(io.BytesIO(source.read()), columns=columns)
    return [frame[column].values for column in columns]


def write_table(folder: Folder, name: str, table: pa.Table) -> None:
    """Write a table as Parquet, encoded and compressed on the device."""
    with folder.sink(name) as sink, DeviceParquetWriter(sink, compression="ZSTD") as writer:
        for start in range(0, max(table.num_rows, 1), WRITTEN_ROWS):
            writer.write(table.slice(start, WRITTEN_ROWS))


class DeviceParquetWriter:
    """Writes tables and bicliques as row groups of a Parquet file, encoded and compressed on the device.

    Parameters
    ----------
    sink
        A binary file, which is written as the row groups come.
    options
        Options of cuDF's `ParquetWriter`.

    Notes
    -----
    Eight times as fast as pyarrow on list columns (docs/results.md).
    """

    def __init__(self, sink: Any, **options: Any) -> None:
        self._cudf, _ = cudf_and_cupy()
        from cudf.io.parquet import ParquetWriter

        self._writer = ParquetWriter(_Through(sink), index=False, **options)

    def __enter__(self) -> DeviceParquetWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self._writer.close()

    def write(self, table: pa.Table) -> None:
        """Append a table."""
        self._writer.write_table(self._cudf.DataFrame.from_arrow(table))

    def write_bicliques(self, batch: Any) -> None:
        """Append a kernel's batch that is on the device; nothing but the encoded file leaves it."""
        columns = {
            "left": self._lists(batch.left_offsets, batch.left),
            "right": self._lists(batch.right_offsets, batch.right),
            "n_left": self._cudf.Series(batch.left_offsets[1:] - batch.left_offsets[:-1]),
            "n_right": self._cudf.Series(batch.right_offsets[1:] - batch.right_offsets[:-1]),
            "root": self._cudf.Series(batch.root),
        }
        self._writer.write_table(self._cudf.DataFrame(columns))

    def _lists(self, offsets: Any, values: Any) -> Any:
        import pylibcudf as plc

        parts = [plc.Column.from_array(array) for array in (offsets, values)]
        return self._cudf.Series.from_pylibcudf(
            plc.Column(plc.DataType(plc.TypeId.LIST), len(offsets) - 1, None, None, 0, 0, parts)
        )


class _Through(io.BytesIO):
    """What cuDF takes for a file in memory; it passes all on to a sink."""

    def __init__(self, sink: Any) -> None:
        super().__init__()
        self._sink = sink

    def write(self, data: Any, /) -> int:
        return int(self._sink.write(data))

    def tell(self) -> int:
        return int(self._sink.tell())

    def flush(self) -> None:
        self._sink.flush()
