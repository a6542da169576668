"""Row groups of a GPU on a machine without one: kernels as a host compiler builds them, and what
nvCOMP and the counts of sizes come to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bicliq.kernels.cuda import nvcomp, row_groups
from bicliq.pipeline.placement import arrays
from tests.device_source import host_kernels_of
from tests.host_cupy import as_array
from tests.host_kernels import at


def row_group_kernels(folder: Path) -> dict[str, Callable[[Any, Any, Any], None]]:
    """The kernels, built there."""
    return host_kernels_of(row_groups.PROGRAM, folder)


def use_host(patch: pytest.MonkeyPatch) -> None:
    """Have pages compressed and sizes counted by the host."""
    patch.setattr(nvcomp, "compress", compress_on_host)
    patch.setattr(nvcomp, "compresses", lambda codec: True)
    patch.setattr(arrays, "count_sizes", lambda values, n: np.bincount(values, minlength=n))


def compress_on_host(codec: str, pointers: Any, lengths: Any, largest: int, total: int) -> tuple[Any, Any, Any]:
    """What nvCOMP does, by pyarrow."""
    pages = [at(int(pointer), int(n), np.uint8).tobytes() for pointer, n in zip(pointers, lengths, strict=True)]
    assert max(map(len, pages)) == largest
    assert sum(map(len, pages)) == total
    assert all(int(pointer) % nvcomp.ALIGNMENT == 0 for pointer in pointers - pointers[0])
    packed = [pa.Codec(codec).compress(page, asbytes=True) for page in pages]
    room = np.zeros((len(pages), max(map(len, packed))), np.uint8)
    for row, page in zip(room, packed, strict=True):
        row[: len(page)] = np.frombuffer(page, np.uint8)
    return (
        as_array(room),
        as_array(np.array(list(map(len, packed)), np.uint64)),
        as_array(np.zeros(len(pages), np.int32)),
    )
