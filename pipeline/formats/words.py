"""Values in messages, cut to a length that a reader takes in and that gives no table away."""

from __future__ import annotations

from collections.abc import Iterable

SHOWN = 60
"""Characters of a value that a message shows."""

LISTED = 12
"""Columns that a message names before it says how many more there are."""


def shown(value: object) -> str:
    """A value in quotes, its middle left out where it is long.

    Examples
    --------
    >>> print(shown("ann"))
    'ann'
    >>> print(shown("x" * 1000))
    'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…' (1,000 characters)
    """
    if isinstance(value, str | bytes) and len(value) > SHOWN:
        unit = "characters" if isinstance(value, str) else "bytes"
        start = repr(value[: SHOWN - 20])
        return f"{start[:-1]}…{start[-1]} ({len(value):,} {unit})"
    return repr(value)


def listed(values: Iterable[object]) -> str:
    """Values with commas between them, each cut, and how many more there are."""
    every = list(values)
    some = ", ".join(shown(value) for value in every[:LISTED])
    return some + (f" and {len(every) - LISTED:,} more" if len(every) > LISTED else "")


def brief(error: BaseException) -> str:
    """What another library says went wrong, on one line and cut.

    It may quote whole fields of the file.
    """
    text = " ".join(str(error).split())
    return text if len(text) <= 3 * SHOWN else f"{text[: 3 * SHOWN]}…"
