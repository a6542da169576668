"""Files on a local disk: written whole, held by who writes them, and read only where they end."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
import uuid
from collections.abc import Iterator
from typing import Any

from bicliq.pipeline.errors import DamageError
from bicliq.pipeline.events import warn
from bicliq.pipeline.store.sink import HashingSink, hashing_sink

RECORD_BYTES = 1 << 30
"""The largest record that is read."""

WAITS_IN_SILENCE = 3.0
"""Seconds for which another process may hold a claim, before it is said that we wait for it."""

NO_FILE = -1
"""Size that is said of a FIFO, a device, a socket, or a link to a folder."""


def writer_lives(path: str) -> bool:
    """Whether the process that writes a temporary file on a local disk still holds it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:  # it is gone, or a link, or no file
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def read_regular(path: str, most: int | None = None) -> bytes:
    """Read a small local file, or its first bytes.

    Raises DamageError where it is a FIFO, a device, or too large for a record: it would never end.
    """
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        about = os.fstat(file.fileno())
        refuse_special(path, about)
        if most is None and about.st_size > RECORD_BYTES:
            raise DamageError(f"{path}: it has {about.st_size:,} bytes, too many for a record; remove it")
        return file.read(-1 if most is None else most)


def refuse_special(path: str, about: os.stat_result) -> None:
    """Refuse what is neither a file nor a folder: to read it might never end."""
    if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):
        raise DamageError(f"{path}: it is a FIFO, a device or a socket, and no file of a store: remove it")


@contextlib.contextmanager
def local_sink(path: str, durable: bool) -> Iterator[HashingSink]:
    """Open a file for writing that appears whole when the block ends, and never when it raises."""
    folder, name = os.path.split(path)
    os.makedirs(folder, exist_ok=True)
    temporary = f"{folder}/.{name}.{uuid.uuid4().hex}.tmp"
    try:
        with _held(temporary) as file:
            with hashing_sink(file, on_disk=durable) as sink:
                yield sink
            file.flush()
            os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    if durable:
        _sync_folder(folder)


def _held(path: str) -> Any:
    """Make a file and lock it, which says that its writer lives.

    Another process may take it for forgotten, and remove it, before it is locked.
    """
    while True:
        file = open(path, "wb")  # noqa: SIM115  who calls closes it
        fcntl.flock(file, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(path), os.fstat(file.fileno())):
                return file
        file.close()


def _sync_folder(folder: str) -> None:
    """Flush a rename to the disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def walk(folder: str) -> dict[str, dict[str, int]]:
    """Files below a local folder, links to folders not followed, with their sizes.

    What is no regular file, nor a link to one, has the size `NO_FILE`.
    """
    found = {}
    waiting = [folder]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except (FileNotFoundError, NotADirectoryError):
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            else:
                with contextlib.suppress(FileNotFoundError):
                    about = entry.stat()
                    found[entry.path] = {"size": about.st_size if stat.S_ISREG(about.st_mode) else NO_FILE}
    return found


def wait_for_lock(file: Any, path: str) -> None:
    """Lock a file, as soon as no other process has it; one that is stopped may have it for ever."""
    until = time.monotonic() + WAITS_IN_SILENCE
    while time.monotonic() < until:
        with contextlib.suppress(BlockingIOError):
            return fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        time.sleep(0.01)
    warn("waiting for another process, which holds a lock", file=path)
    fcntl.flock(file, fcntl.LOCK_EX)
