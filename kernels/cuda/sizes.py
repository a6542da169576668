"""How often each size occurs among bicliques on a GPU, by `src/output/count_sizes.cu`."""

from __future__ import annotations

from typing import Any

import numpy as np

from bicliq.kernels.cuda.device import device_errors, multiprocessors
from bicliq.kernels.cuda.program import Program

PROGRAM = Program("output/count_sizes.cu")
THREADS = 512
BLOCKS_A_MULTIPROCESSOR = 4


def count_sizes(sizes: Any, n: int) -> Any:
    """How often each of 0 … n - 1 occurs in an int32 array of the current GPU, uint64.

    Raises
    ------
    BackendError
        If the device has no room for them.
    """
    import cupy

    with device_errors():
        counts = cupy.zeros(n, cupy.uint64)
        blocks = min(multiprocessors() * BLOCKS_A_MULTIPROCESSOR, -(-sizes.size // THREADS))
        every = cupy.ascontiguousarray(sizes, cupy.int32)
        PROGRAM.compiled().get_function("count_sizes")((blocks,), (THREADS,), (every, np.uint64(sizes.size), counts))
    return counts
