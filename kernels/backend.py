"""Which backends can run here, and why not: a sentence rather than a Boolean."""

from __future__ import annotations

import os
from enum import StrEnum


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
    return "the CUDA kernels are not part of this release; use the CPU backend"


def available_threads() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
