"""A disk in memory, ``mortal://``, on which a process may be killed before any change: from then on
it changes nothing more."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

import fsspec
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import strategies as st


class Killed(BaseException):
    """What a process is killed by."""


class MortalFileSystem(MemoryFileSystem):
    """Files in memory, how often they were changed, and how many changes the process lives for."""

    protocol = "mortal"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    changes: ClassVar[int] = 0
    lives_for: ClassVar[float] = float("inf")

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        return super()._strip_protocol(str(path).removeprefix("mortal://"))

    @classmethod
    def change(cls) -> None:
        if cls.changes >= cls.lives_for:
            raise Killed
        cls.changes += 1

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        if mode != "rb":
            self.change()
        return super()._open(path, mode, **options)

    def _rm(self, path: str) -> None:
        self.change()
        super()._rm(path)


fsspec.register_implementation("mortal", MortalFileSystem)

SHARES = st.floats(0, 1, exclude_max=True)
"""Of the changes that some work makes."""


def killed_on_the_way(work: Callable[[], object], share: float) -> None:
    """Do some work up to a share, below 1, of the changes that a rehearsal makes."""
    disk, before = MortalFileSystem, dict(MortalFileSystem.store)
    disk.changes = 0
    work()
    disk.store.clear()
    disk.store.update(before)
    disk.changes, disk.lives_for = 0, int(share * disk.changes)
    try:
        with suppress(Killed):
            work()
    finally:
        disk.lives_for = float("inf")
