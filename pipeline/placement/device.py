"""The GPU side of the data path: cuDF, CuPy and their one memory pool, and what goes there."""

from __future__ import annotations

import importlib.util
import io
import threading
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from bicliq import kernels
from bicliq.kernels.cuda import nvcomp
from bicliq.kernels.cuda.row_groups import LONGEST_SIDE
from bicliq.pipeline.errors import BackendError
from bicliq.pipeline.extras import install
from bicliq.pipeline.placement.arrays import library_of
from bicliq.pipeline.placement.fallback import gpu_errors
from bicliq.pipeline.settings import PublishSettings

INSTALL = f"{install('gpu')} (CUDA 13: NVIDIA driver 580 or newer, Linux), or bicliq[gpu-cu12] (CUDA 12)"
POOL_KEEPS = 0.6  # of a GPU's memory, between two uses: about what a search takes, since taking it anew costs 35 ms
LIBRARIES = ("cupy", "cudf", "cugraph", "rmm")


def encodes(publish: PublishSettings, longest_side: int = 0) -> bool:
    """Whether a GPU lays files of bicliques out as these settings ask.

    None of the bicliques has more vertices than `longest_side` on a side.
    """
    return nvcomp.compresses(publish.compression) and not publish.objectives and longest_side <= LONGEST_SIDE


SQUARE = [0, 2, 4], [0, 1, 0, 1], 2
"""A graph for the first search of a process, which loads all that the second one needs."""


def start_search() -> None:
    """Start the GPU for a search, in a thread, while a table is read."""

    def first() -> None:
        kernels.enumerate_maximal_bicliques(*SQUARE, mode="digest", backend="cuda")
        with kernels.stream_maximal_bicliques(*SQUARE, backend="cuda") as stream:
            list(stream)

    kernels.start_gpu(first)


def why_no_data_on_device() -> str | None:
    """Say why ingest, reduce, profile and plan cannot run on a GPU here, or None when they can."""
    missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        return f"{', '.join(missing)} not installed: {INSTALL}"
    return kernels.why_not("cuda")


LOADING = threading.RLock()
"""Held while libraries of RAPIDS are loaded: a second thread that does so at the same time sees
modules of which half is there."""


@cache
def cudf_and_cupy() -> tuple[Any, Any]:
    """Import cuDF and CuPy, once a process: with one pool of memory, and tables that spill.

    Raises BackendError if they cannot run here.
    """
    reason = why_no_data_on_device()
    if reason is not None:
        raise BackendError(f"the GPU data path cannot run here: {reason}; or use the CPU backend")
    with LOADING:
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


@cache
def free_bytes() -> int:
    """Bytes of the device that were free when this process began to use it.

    The pool keeps what it has taken, so later figures would say less.
    """
    cudf_and_cupy()
    import cupy

    return int(cupy.cuda.Device().mem_info[0])


def device_errors_of(array: Any) -> AbstractContextManager[None]:
    """Return a context for work on an array: where it lies on a GPU, that of `gpu_errors`."""
    return nullcontext() if library_of(array) is np else gpu_errors()


def to_device(array: Any) -> Any:
    """Copy an array of the host to the GPU.

    Raises BackendError if the data path cannot run here, or the device has no room for it.
    """
    _, cp = cudf_and_cupy()
    with gpu_errors():
        return cp.asarray(array)


def on(backend: str, *arrays: Any) -> tuple[Any, ...]:
    """Return arrays of the host as they are ("cpu"), or copied to the GPU ("cuda")."""
    return arrays if backend == "cpu" else tuple(map(to_device, arrays))


class DeviceParquetWriter:
    """Writes tables as a Parquet file, encoded and compressed on the device by cuDF.

    `sink`: a binary file, which is written as the row groups come. `options`: options of cuDF's
    `ParquetWriter`.
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
