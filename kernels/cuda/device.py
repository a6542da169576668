"""A GPU as all drivers see it: streams, free memory, waiting, and what goes wrong."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, TypeVar

from bicliq.kernels.cuda.start import wait_for_start
from bicliq.kernels.errors import BackendError

MEMORY_VARIABLE = "BICLIQ_GPU_MEMORY"
"""Environment variable: bytes of device memory that a search may take at most."""

POLL_SECONDS = 0.0002
"""Between two looks at whether a kernel has ended."""

FIRST = -1
"""Priority of a stream whose blocks of threads start before those of others that wait."""

COMPRESSED_BESIDE = 2
"""Parts of a file that are compressed at the same time, so that the device has work while the host
lays out the next one."""

NOT_READY = 600  # cudaErrorNotReady


def current_device() -> int:
    """Number of the current GPU."""
    import cupy

    return int(cupy.cuda.Device().id)


def multiprocessors() -> int:
    """How many multiprocessors the current GPU has."""
    import cupy

    return int(cupy.cuda.Device().attributes["MultiProcessorCount"])


# ---- streams and events


class Streams(NamedTuple):
    """The streams of a device."""

    search: Any
    beside: Any
    """For what is short and waited for: copies while a kernel of the search runs, and kernels that
    go before those of `compress`."""
    compress: tuple[Any, ...]
    """For what takes long: each holds a part of a file."""


@cache
def streams(device: int) -> Streams:
    """The two streams of a device.

    All searches of a process share them, so one search follows another: the warps of two at a time
    would wait for warps that have no place on the device yet. And what one has freed is there for
    the next.
    """
    del device  # part of the cache's key
    return Streams(new_stream(), new_stream(FIRST), tuple(new_stream() for _ in range(COMPRESSED_BESIDE)))


def new_stream(priority: int | None = None) -> Any:
    """A stream of the current device that waits for no other."""
    import cupy

    return cupy.cuda.Stream(non_blocking=True, priority=priority)


def is_pending(event: Any) -> bool:
    """Whether the device has not come to an event yet.

    Asking does not hold the interpreter, so whoever asks in a loop hears an interrupt.
    """
    import cupy

    return bool(cupy.cuda.runtime.eventQuery(event.ptr) == NOT_READY)


def wait_for_event(event: Any, look: Callable[[], Any] | None = None) -> None:
    """Wait until the device has come to an event; `look` is called meanwhile."""
    while is_pending(event):
        if look is not None:
            look()
        time.sleep(POLL_SECONDS)
    event.synchronize()


# ---- errors


@contextmanager
def device_errors() -> Iterator[None]:
    """Turn what goes wrong on a GPU into a `BackendError` that says what to do.

    A GPU that is being started is waited for.
    """
    wait_for_start()
    import cupy

    try:
        yield
    except MemoryError as error:  # CuPy's own error is one, and what RMM raises
        raise BackendError(
            f"the GPU has too little free memory for this search ({error}); use the CPU backend, or free memory on the GPU"
        ) from error
    except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as error:
        raise BackendError(
            f"the GPU was lost during the search ({error}); use the CPU backend, or start again in a new process"
        ) from error


# ---- memory

Prepared = TypeVar("Prepared")


def with_room(prepare: Callable[[], Prepared]) -> Prepared:
    """Prepare a search; where memory is there in pieces alone, give them back and do it once more.

    CuPy keeps what a search has freed for the next one, and cuts small arrays out of large pieces.
    A search of another graph needs pieces of other sizes: with one array in a piece of 24 GB, that
    can neither be used nor be given back, and a card with nothing on it has no room.

    Parameters
    ----------
    prepare
        Where it fails, it leaves nothing on the device.

    Raises
    ------
    MemoryError
        If there is not enough in one piece either.
    """
    import cupy

    with suppress(MemoryError):
        return prepare()
    cupy.get_default_memory_pool().free_all_blocks()
    return prepare()


@dataclass(frozen=True)
class Budget:
    """Device memory that a search may take, of which it takes shares.

    Parameters
    ----------
    n_bytes : int
        All of it.

    Examples
    --------
    >>> Budget(1000).items(0.5, 12), Budget(1000).items(0.5, 12, at_most=7)
    (41, 7)
    >>> Budget(1000).fitting(64, 0.5, 10, "warps", granule=4)
    48
    """

    n_bytes: int

    def share(self, part: float) -> int:
        """Bytes of a share."""
        return int(self.n_bytes * part)

    def without(self, n_bytes: int) -> Budget:
        """What is left beside something else, at least half, and a round number.

        Blocks of the same size are found again in the memory pool by the next search; those of
        another size are cut out of larger ones, until a large one must be taken anew.

        Examples
        --------
        >>> Budget(1000).without(100), Budget(1000).without(900)
        (Budget(n_bytes=896), Budget(n_bytes=480))
        """
        n = max(self.n_bytes - n_bytes, self.n_bytes // 2)
        place = max(n.bit_length() - 4, 0)
        return Budget(n >> place << place)

    def items(self, part: float, item_bytes: int, at_most: int | None = None) -> int:
        """How many items a share holds, or `at_most`."""
        n = self.share(part) // item_bytes
        return n if at_most is None else min(n, at_most)

    def fitting(self, wanted: int, part: float, bytes_each: int, what: str, granule: int = 1) -> int:
        """As many blocks or warps as are wanted and fit in a share, in multiples of `granule`.

        Raises
        ------
        BackendError
            If not even `granule` of them fit.
        """
        n = self.items(part, bytes_each, wanted) // granule * granule
        if n < 1:
            raise BackendError(
                f"{granule} {what} of this search need {granule * bytes_each >> 10:,} KiB, which this GPU's free memory "
                "does not hold; use the CPU backend"
            )
        return n


def free_budget(device: Any) -> Budget:
    """What a search may take of a CuPy device: what is free, or the environment's cap if less.

    Raises
    ------
    BackendError
        If the cap is no number of bytes.
    """
    import cupy

    free = int(device.mem_info[0]) + int(cupy.get_default_memory_pool().free_bytes())
    cap = os.environ.get(MEMORY_VARIABLE, "").strip()
    if not cap:
        return Budget(free)
    if not cap.isdecimal():
        raise BackendError(f"{MEMORY_VARIABLE} is {cap!r}; it must be a number of bytes")
    return Budget(min(free, int(cap)))
