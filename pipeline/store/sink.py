"""A file that counts and hashes what is written, and is brought to the disk while it grows."""

from __future__ import annotations

import contextlib
import ctypes
import io
import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import IO, Any

import xxhash

from bicliq.pipeline.store.record import StoredFile

FLUSHED_BYTES = 2 << 20
"""Bytes after which the disk is told to write, so that there is little left to wait for when the
file ends."""

WRITE = 2  # SYNC_FILE_RANGE_WRITE: begin to write what is not written yet, and do not wait

HASHED_BESIDE = 1 << 22
"""Bytes of a buffer from which on a thread hashes it while it is written."""


@contextlib.contextmanager
def hashing_sink(file: IO[bytes], *, on_disk: bool = False) -> Iterator[HashingSink]:
    """Write a file through a `HashingSink`.

    All is written when the block ends, and its threads have ended in any case.
    """
    sink = HashingSink(file, on_disk=on_disk)
    try:
        yield sink
        sink.finish()
    finally:
        sink.stop()


class HashingSink(io.RawIOBase):
    """A binary file that counts and hashes what is written to it.

    A large one goes to the disk beside its writer.

    `file`: the file below; its owner closes it. `on_disk`: whether it is a file of the operating
    system, which is flushed to the disk as it grows.
    """

    def __init__(self, file: IO[bytes], *, on_disk: bool = False) -> None:
        self.bytes = 0
        self._file = file
        self._on_disk = on_disk
        self._hash = xxhash.xxh3_128()
        self._unflushed = 0
        self._pool: ThreadPoolExecutor | None = None
        self._hashing: ThreadPoolExecutor | None = None
        self._flushing: Future[None] | None = None

    @property
    def checksum(self) -> str:
        """xxh3-128 of the bytes so far, in hex."""
        return str(self._hash.hexdigest())

    def file(self, name: str) -> StoredFile:
        """Return what is written so far, as a record names it."""
        return StoredFile(name, self.bytes, self.checksum)

    def writable(self) -> bool:
        """Say that this file can be written."""
        return True

    def write(self, data: Any, /) -> int:
        """Write one buffer."""
        view = memoryview(data).cast("B")
        hashed = self._hashed(view)
        self._file.write(view)
        if hashed is not None:
            hashed.result()  # its owner may use the buffer again
        self.bytes += view.nbytes
        self._unflushed += view.nbytes
        if self._on_disk and self._unflushed >= FLUSHED_BYTES and (self._flushing is None or self._flushing.done()):
            self._start_flush()
        return view.nbytes

    def tell(self) -> int:
        """Return the position, which is the number of bytes written."""
        return self.bytes

    def finish(self) -> None:
        """Wait until all is on the disk, where it goes to one.

        Raises OSError where the disk failed, now or before.
        """
        if self._flushing is not None:
            self._flushing.result()
        if self._on_disk:
            self._file.flush()
            os.fsync(self._file.fileno())

    def stop(self) -> None:
        """End the threads."""
        for pool in (self._pool, self._hashing):
            if pool is not None:
                pool.shutdown()

    def _hashed(self, view: memoryview) -> Future[None] | None:
        """Hash a buffer: at once, or beside what follows."""
        if view.nbytes < HASHED_BESIDE:
            self._hash.update(view)
            return None
        if self._hashing is None:
            self._hashing = ThreadPoolExecutor(1, "hash")
        return self._hashing.submit(self._hash.update, view)

    def _start_flush(self) -> None:
        """Have a thread call the disk while the writer goes on."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "flush")
        if self._flushing is not None:
            self._flushing.result()  # it is done; an error is raised here
        begin = self.bytes - self._unflushed
        self._flushing = self._pool.submit(_begin_to_write, self._file.fileno(), begin, self._unflushed)
        self._unflushed = 0


def _begin_to_write(descriptor: int, begin: int, n_bytes: int) -> None:
    """Have the disk begin with a part of a file.

    Linux is told so, and other systems wait for the disk; what comes of it `finish` asks for.
    """
    begins = getattr(_c_library(), "sync_file_range", None)
    if begins is None:
        os.fdatasync(descriptor)
    else:
        begins(descriptor, ctypes.c_int64(begin), ctypes.c_int64(n_bytes), ctypes.c_uint(WRITE))


@cache
def _c_library() -> ctypes.CDLL:
    return ctypes.CDLL(None)
