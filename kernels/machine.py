"""What this process may take of the machine: a GPU or not, and why; cores, threads and memory.

By affinity, control group and limits.
"""

from __future__ import annotations

import importlib.util
import math
import os
import resource
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from pathlib import Path

from bicliq.kernels.errors import BackendError, CapacityError

THREADS_A_CORE, FEWEST_MOST_THREADS = 4, 64
UNLIMITED = 2**62
SMALL_BYTES = 1 << 28  # of an array that nobody asks the system about
CONTROL_GROUPS = Path("/sys/fs/cgroup")

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


def require_backend(backend: Backend | str) -> None:
    """Raise `BackendError` where a backend cannot run here."""
    reason = why_not(backend)
    if reason is not None:
        raise BackendError(f"backend {str(backend)!r} cannot run here: {reason}")


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


def available_threads() -> int:
    """Cores that this process may use.

    Those of its affinity, or fewer where its control group has fewer.

    Examples
    --------
    >>> available_threads() >= 1
    True
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(min(cores, math.ceil(_cores_of_group(_folders()))), 1)


def most_threads() -> int:
    """The most threads that a kernel starts: four a core, and 64 in any case.

    More make no search faster.

    Examples
    --------
    >>> most_threads() >= 64
    True
    """
    return max(THREADS_A_CORE * available_threads(), FEWEST_MOST_THREADS)


def available_memory() -> int:
    """Bytes that this process may still take, as far as the system says.

    Free memory, control group, address space.

    Examples
    --------
    >>> available_memory() > 0
    True
    """
    return max(min(_free_memory(), _memory_of_group(_folders()), _address_space()), 0)


def check_room(n_bytes: int, what: str) -> None:
    """Raise `CapacityError` where an array is larger than the memory that is left.

    Small ones are not looked at.
    """
    if n_bytes < SMALL_BYTES:
        return
    room = available_memory()
    if n_bytes > room:
        raise CapacityError(f"{what} would take {n_bytes >> 20:,} MiB, and {room >> 20:,} MiB are left")


@cache
def _folders() -> tuple[Path, ...]:
    """Folders of the control groups that this process belongs to, its own first.

    Version 2, or the root of version 1.
    """
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return ()
    own = next((line[3:] for line in lines if line.startswith("0::")), "/")
    folder = CONTROL_GROUPS / own.lstrip("/")
    nested = [folder, *(parent for parent in folder.parents if parent.is_relative_to(CONTROL_GROUPS))]
    return tuple(dict.fromkeys([*nested, CONTROL_GROUPS / "cpu", CONTROL_GROUPS / "memory"]))


def _numbers(folders: tuple[Path, ...], name: str) -> Iterator[tuple[Path, list[int]]]:
    """The numbers in a file of each folder that has it.

    What is no limit ("max", -1) is left out.
    """
    for folder in folders:
        try:
            words = (folder / name).read_text().split()
        except OSError:
            continue
        numbers = [int(word) for word in words if word.isdigit()]
        if len(numbers) == len(words):
            yield folder, numbers


def _cores_of_group(folders: tuple[Path, ...]) -> float:
    shares = [quota / period for _, (quota, period) in _numbers(folders, "cpu.max")]
    for folder, (quota,) in _numbers(folders, "cpu.cfs_quota_us"):
        shares += [quota / period for _, (period,) in _numbers((folder,), "cpu.cfs_period_us")]
    return min(shares, default=UNLIMITED)


def _memory_of_group(folders: tuple[Path, ...]) -> int:
    left = UNLIMITED
    for limit, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
        for folder, (most,) in _numbers(folders, limit):
            for _, (now,) in _numbers((folder,), used):
                left = min(left, most - now)
    return left


def _free_memory() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return UNLIMITED
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), UNLIMITED)


def _address_space() -> int:
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return UNLIMITED
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return UNLIMITED
    return most - pages * resource.getpagesize()
