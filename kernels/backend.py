"""Which backends can run here, and why not: a sentence rather than a Boolean."""

from __future__ import annotations

import importlib.util
from enum import StrEnum
from functools import cache

OLDEST_CAPABILITY = 75  # Turing: the first with the warp instructions that the kernels use


class Backend(StrEnum):
    """Where a kernel runs."""

    CPU = "cpu"
    CUDA = "cuda"


def why_not(backend: Backend | str) -> str | None:
    """Say why a backend cannot run here, or None when it can.

    Examples
    --------
    >>> why_not("cpu") is None
    True
    """
    if Backend(backend) is Backend.CPU:
        return None
    return _why_not_cuda()


@cache
def _why_not_cuda() -> str | None:
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed; install bicliq[gpu], or use the CPU backend"
    import cupy

    try:
        n_devices = int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CUDA finds no usable driver ({error}); use the CPU backend"
    if n_devices == 0:
        return "this machine has no NVIDIA GPU; use the CPU backend"
    capability = str(cupy.cuda.Device().compute_capability)
    if int(capability) < OLDEST_CAPABILITY:
        return f"the GPU has compute capability {capability}, the kernels need {OLDEST_CAPABILITY}; use the CPU backend"
    return None
