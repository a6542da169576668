"""What this process asks of the system, heard by an audit hook of Python: which files are opened,
listed and removed. Whoever hears may act before it happens, or raise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

OPENS, LISTS, REMOVES = "open", "os.scandir", "os.remove"

Hears = Callable[[str, str], None]
"""Is told of a call and of its path."""

_hearing: list[Hears] = []
_hooks: list[Any] = []


def _tell(event: str, arguments: tuple[Any, ...]) -> None:
    if _hearing and event in (OPENS, LISTS, REMOVES):
        for hears in tuple(_hearing):
            hears(event, str(arguments[0]))


@contextmanager
def heard(hears: Hears) -> Iterator[None]:
    """Tell somebody of all calls within it; a hook stays to the end of the process."""
    if not _hooks:
        sys.addaudithook(_tell)
        _hooks.append(_tell)
    _hearing.append(hears)
    try:
        yield
    finally:
        _hearing.remove(hears)


@contextmanager
def read_below(folder: Any, ends: str = "", *, listed: bool = False) -> Iterator[list[str]]:
    """The files below a folder that are opened within it, and the folders that are listed."""
    found: list[str] = []

    def hears(event: str, path: str) -> None:
        below = path.startswith(str(folder))
        if below and ((event == OPENS and path.endswith(ends)) or (listed and event == LISTS)):
            found.append(path)

    with heard(hears):
        yield found


@contextmanager
def once(event: str, part: str, then: Callable[[], object], number: int = 1) -> Iterator[list[str]]:
    """Act before the n-th such call whose path has this part; returns the paths up to then."""
    met: list[str] = []

    def hears(called: str, path: str) -> None:
        if called == event and part in path and len(met) < number:
            met.append(path)
            if len(met) == number:
                then()

    with heard(hears):
        yield met
