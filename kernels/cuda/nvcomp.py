"""NVIDIA's nvCOMP, which RAPIDS brings: compresses many pages of a GPU side by side.

Its functions are called as its headers of version 5 declare them (``nvcomp/lz4.h``,
``nvcomp/zstd.h``); another version has another name.
"""

from __future__ import annotations

import ctypes
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

from bicliq.kernels.errors import BackendError

LIBRARY = "libnvcomp.so.5"
PREFIXES = {"zstd": "nvcompBatchedZstdCompress", "lz4_raw": "nvcompBatchedLZ4Compress"}
"""What the functions of a codec are called."""

ALIGNMENT = 16
"""Bytes; more than any codec asks for."""


class Options(ctypes.Structure):
    """What a codec can be told; all zeros is its own choice."""

    _fields_ = (("words", ctypes.c_uint32 * 16),)


@cache
def library() -> ctypes.CDLL | None:
    """Open it, or return None where it is not installed."""
    package = importlib.util.find_spec("nvidia")
    folders = [Path(place) for place in package.submodule_search_locations or ()] if package else []
    for path in (*(str(found) for folder in folders for found in folder.glob(f"libnvcomp/lib*/{LIBRARY}")), LIBRARY):
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    return None


def compresses(codec: str) -> bool:
    """Whether pages of a GPU can be compressed so on this machine."""
    return codec == "none" or (codec in PREFIXES and library() is not None)


def compress(codec: str, pointers: Any, sizes: Any, largest: int, total: int) -> tuple[Any, Any, Any]:
    """Have pages of the current GPU compressed, on CuPy's current stream; returns at once.

    Parameters
    ----------
    codec : {"zstd", "lz4_raw"}
    pointers, sizes : array of uint64, on the device
        Where each page begins (a multiple of `ALIGNMENT`), and its bytes.
    largest, total : int
        Bytes of the largest page, and of all.

    Returns
    -------
    room : array of uint8, shape (pages, bytes)
        A row for each, on the device.
    packed : array of uint64
        Bytes of each that are used.
    failed : array of int32
        Not 0 where nvCOMP could not compress a page.

    Raises
    ------
    BackendError
        If nvCOMP refuses them all.
    """
    import cupy

    n, options = len(sizes), Options()
    width, needed = ctypes.c_size_t(), ctypes.c_size_t()
    _call(codec, "GetMaxOutputChunkSize", ctypes.c_size_t(largest), options, ctypes.byref(width))
    _call(
        codec, "GetTempSizeAsync", ctypes.c_size_t(n), ctypes.c_size_t(largest), options, ctypes.byref(needed),
        ctypes.c_size_t(total),
    )  # fmt: skip
    room = cupy.empty((n, -(-width.value // ALIGNMENT) * ALIGNMENT), cupy.uint8)
    scratch, packed, failed = (
        cupy.empty(needed.value, cupy.uint8),
        cupy.empty(n, cupy.uint64),
        cupy.empty(n, cupy.int32),
    )
    outputs = room.data.ptr + cupy.arange(n, dtype=cupy.uint64) * room.shape[1]
    _call(
        codec, "Async", _pointer(pointers), _pointer(sizes), ctypes.c_size_t(largest), ctypes.c_size_t(n), _pointer(scratch),
        needed, _pointer(outputs), _pointer(packed), options, _pointer(failed),
        ctypes.c_void_p(cupy.cuda.get_current_stream().ptr),
    )  # fmt: skip
    return room, packed, failed


def _call(codec: str, function: str, *arguments: Any) -> None:
    status = getattr(library(), PREFIXES[codec] + function)(*arguments)
    if status:
        raise BackendError(
            f"nvCOMP could not compress pages by {codec} ({function}: {status}); use another codec or the CPU"
        )


def _pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.data.ptr)
