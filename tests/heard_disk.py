"""A disk in memory, ``heard://``: somebody hears what is done there before it happens, and may
raise. A process that is killed so changes nothing more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, ClassVar

import fsspec
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import strategies as st

SEEN = "info", "rb"  # what changes nothing; else it is a mode in which a file is opened, or "remove"

_hearing: list[Callable[[str, str], object]] = []


class HeardFileSystem(MemoryFileSystem):
    protocol = "heard"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return super()._strip_protocol(str(path).removeprefix("heard://"))

    def info(self, path: str, **options: Any) -> Any:
        _tell("info", path)
        return super().info(path, **options)

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        _tell(mode, path)
        return super()._open(path, mode, **options)

    def _rm(self, path: str) -> None:
        _tell("remove", path)
        super()._rm(path)


def _tell(does: str, path: str) -> None:
    for hears in tuple(_hearing):
        hears(does, path)


fsspec.register_implementation("heard", HeardFileSystem)


@contextmanager
def heard(hears: Callable[[str, str], object]) -> Iterator[None]:
    """Tell somebody of all that is done within it, and of which path."""
    _hearing.append(hears)
    try:
        yield
    finally:
        _hearing.remove(hears)


class Killed(BaseException):
    """What a process is killed by."""


SHARES = st.floats(0, 1, exclude_max=True)
"""Of the changes that some work makes."""


def killed_on_the_way(work: Callable[[], object], share: float) -> None:
    """Do some work up to a share, below 1, of the changes that a rehearsal makes."""
    changes, before, lives_for = list[str](), dict(HeardFileSystem.store), float("inf")

    def hears(does: str, path: str) -> None:
        if does not in SEEN:
            if len(changes) >= lives_for:
                raise Killed
            changes.append(path)

    with heard(hears), suppress(Killed):
        work()
        HeardFileSystem.store.clear()
        HeardFileSystem.store.update(before)
        lives_for = int(share * len(changes))
        changes.clear()
        work()
