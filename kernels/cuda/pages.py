"""Pages of Parquet that a device lays out: what each holds, its bytes, and its place."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bicliq.kernels.cuda import nvcomp
from bicliq.kernels.cuda.program import Struct

PLAIN_WIDTH = 32
HEADER_BYTES = 64
ZSTD_BLOCK, FRAME_BYTES, BLOCK_HEADER_BYTES = 1 << 17, 9, 3


class PageType(IntEnum):
    """As parquet.thrift numbers them."""

    DATA = 0
    DICTIONARY = 2


PAGE = Struct(
    "Page",
    np.dtype([
        ("at", "u8"), ("size", "u8"),
        *((name, "u4") for name in ("type", "column", "group", "width", "first", "n", "first_row", "end_row")),
    ]),
)  # fmt: skip


def in_order(pages: list[NDArray[Any]]) -> NDArray[Any]:
    """Pages of each column in the order of the file, with their places."""
    chunk = np.concatenate([each["group"].astype(np.int64) * len(pages) + each["column"] for each in pages])
    words = np.concatenate([each.view(np.uint64).reshape(len(each), -1) for each in pages])  # fields take longer
    every = words[np.argsort(chunk, kind="stable")].view(PAGE.dtype).ravel()
    room = -(-every["size"].astype(np.int64) // nvcomp.ALIGNMENT) * nvcomp.ALIGNMENT
    every["at"] = room.cumsum() - room
    return every


def framed(size: Any) -> Any:
    """Bytes of a frame of zstd whose blocks are not compressed."""
    return FRAME_BYTES + -(-size // ZSTD_BLOCK) * BLOCK_HEADER_BYTES + size


def number_bytes(n: Any, width: Any) -> Any:
    """Bytes of a page of numbers, so many bits each."""
    eights = (n + 7) // 8
    return np.where(width == PLAIN_WIDTH, 4 * n, 1 + _varint_bytes(2 * eights + 1) + eights * width)


def list_bytes(n: Any, width: Any) -> Any:
    """Bytes of a page of lists: repetition levels, definition levels, and ids."""
    eights = (n + 7) // 8
    return 4 + _varint_bytes(2 * eights + 1) + eights + 4 + _varint_bytes(2 * n) + 1 + number_bytes(n, width)


def _varint_bytes(x: Any) -> Any:
    """Bytes of a number, seven bits a byte.

    Examples
    --------
    >>> _varint_bytes(np.array([0, 127, 128, 2**31])).tolist()
    [1, 1, 2, 5]
    """
    return 1 + sum((x >= 1 << shift).astype(np.int64) for shift in (7, 14, 21, 28))
