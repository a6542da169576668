"""A binary file that counts and hashes what is written to it, and brings it to the disk while its writer goes on."""

from __future__ import annotations

import contextlib
import io
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO, Any

import xxhash

DIRECT_BYTES = 1 << 20
"""A file up to this size is written by its caller: most are, and a thread would cost more than it saves."""

WAITING_BYTES = 128 << 20
"""Bytes that may wait for the thread that writes them."""

FLUSHED_BYTES = 32 << 20
"""Bytes after which the disk is told to write, so that there is little left to wait for when the file ends."""


@contextlib.contextmanager
def hashing_sink(file: IO[bytes], *, on_disk: bool = False) -> Iterator[HashingSink]:
    """Write a file through a `HashingSink`; all is written when the block ends, and its thread has ended in any case."""
    sink = HashingSink(file, on_disk=on_disk)
    try:
        yield sink
        sink.finish()
    finally:
        sink.stop()


class HashingSink(io.RawIOBase):
    """A binary file that counts and hashes what is written to it; a large one on a thread beside its writer.

    Parameters
    ----------
    file
        The file below; its owner closes it.
    on_disk
        Whether it is a file of the operating system, which is flushed to the disk as it grows.

    Notes
    -----
    `finish` waits for the thread and raises what went wrong there; until then a checksum would be that of a part.
    """

    def __init__(self, file: IO[bytes], *, on_disk: bool = False) -> None:
        self.bytes = 0
        self._file = file
        self._on_disk = on_disk
        self._hash = xxhash.xxh3_128()
        self._unflushed = 0
        self._pool: ThreadPoolExecutor | None = None
        self._waiting: deque[tuple[Future[None], int]] = deque()
        self._waiting_bytes = 0

    @property
    def checksum(self) -> str:
        """xxh3-128 of the bytes, in hex, once the sink has finished."""
        return str(self._hash.hexdigest())

    def writable(self) -> bool:
        """Say that this file can be written."""
        return True

    def write(self, data: Any, /) -> int:
        """Write one buffer, which the caller may use again."""
        view = memoryview(data).cast("B")
        self.bytes += view.nbytes
        if self.bytes <= DIRECT_BYTES:
            self._put(view)
        else:
            self._hand_over(data if isinstance(data, bytes) else bytes(view))
        return view.nbytes

    def tell(self) -> int:
        """Return the position, which is the number of bytes written."""
        return self.bytes

    def flush(self) -> None:
        """Do nothing: `finish` ends what is under way."""

    def finish(self) -> None:
        """Wait until all is written, and on the disk where it goes to one.

        Raises
        ------
        OSError
            Where a write failed.
        """
        while self._waiting:
            self._wait_for_one()
        if self._on_disk:
            self._file.flush()
            os.fsync(self._file.fileno())

    def stop(self) -> None:
        """End the thread, and give up what it has not written."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _hand_over(self, data: bytes) -> None:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "write")
        while self._waiting and self._waiting_bytes + len(data) > WAITING_BYTES:
            self._wait_for_one()
        self._waiting.append((self._pool.submit(self._put, data), len(data)))
        self._waiting_bytes += len(data)

    def _wait_for_one(self) -> None:
        future, size = self._waiting.popleft()
        self._waiting_bytes -= size
        future.result()

    def _put(self, data: bytes | memoryview) -> None:
        self._hash.update(data)
        self._file.write(data)
        self._unflushed += len(data)
        if self._on_disk and self._unflushed >= FLUSHED_BYTES:
            os.fdatasync(self._file.fileno())
            self._unflushed = 0
