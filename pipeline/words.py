"""Values in messages, cut to a length that a reader takes in and that gives no table away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

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


def about(number: float) -> str:
    """Two digits of a number, without an exponent where it is large.

    Examples
    --------
    >>> about(0.9817), about(12.0), about(592.3), about(10637.0)
    ('0.98', '12', '590', '11,000')
    """
    return f"{float(f'{number:.2g}'):,.15g}"


def number_cure(text: str) -> str:
    r"""What to do about a text that is no number.

    Examples
    --------
    >>> print(number_cure("1.234,5"))
    it has a decimal comma: write 1234.5
    >>> print(number_cure("1,5"))
    it has a decimal comma: write 1.5, as sed -E 's/([0-9]),([0-9])/\1.\2/g' does where the delimiter is no comma
    >>> print(number_cure("1,000"))
    write 1000 if its comma parts thousands, or 1.000 if it is a decimal comma
    >>> number_cure("1,234,567.8"), number_cure("50%"), number_cure("much")
    ('write 1234567.8', 'write 50', 'mend it')
    """
    text = text.strip()
    if re.fullmatch(r"[+-]?[0-9.]+ ?%", text):
        return f"write {text.rstrip(' %')}"
    if re.fullmatch(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}", text):
        return f"write {text.replace(',', '')} if its comma parts thousands, or {text.replace(',', '.')} if it is a decimal comma"
    if re.fullmatch(r"[+-]?[1-9][0-9]{0,2}(,[0-9]{3})+(\.[0-9]*)?", text):
        return f"write {text.replace(',', '')}"
    if not re.fullmatch(r"[+-]?[0-9][0-9.']*,[0-9]+", text):
        return "mend it"
    number = text.replace(".", "").replace("'", "").replace(",", ".")
    if len(number) < len(text):  # sed would leave the marks of thousands
        return f"it has a decimal comma: write {number}"
    return (
        rf"it has a decimal comma: write {number}, as sed -E 's/([0-9]),([0-9])/\1.\2/g' does where the delimiter is no"
        " comma"
    )


def time_cure(text: str) -> str:
    r"""What to do about a text that is no time.

    Examples
    --------
    >>> print(time_cure("31.1.2026"))
    write 2026-01-31, as sed -E 's/([0-9]{2})\.([0-9]{2})\.([0-9]{4})/\3-\2-\1/g' does with 31.01.2026
    >>> time_cure("1/2/2026"), time_cure("soon")
    ('write the year first, as 2026-01-31', 'mend it')
    """
    found = re.fullmatch(r"\s*([0-9]{1,2})([./-])([0-9]{1,2})[./-]([0-9]{4})\b.*", text)
    if found is None:
        is_time = re.fullmatch(r"\s*([0-9.]+|[0-9]{4}-[0-9]{2}-[0-9]{2}.*)", text)
        return "write all of the column as 2026-01-31T12:00, or all as Unix seconds" if is_time else "mend it"
    day, mark, month, year = found.groups()
    if mark != ".":
        return "write the year first, as 2026-01-31"
    return (
        f"write {year}-{month:0>2}-{day:0>2}, as sed -E"
        r" 's/([0-9]{2})\.([0-9]{2})\.([0-9]{4})/\3-\2-\1/g' does with 31.01.2026"
    )


def brief(error: BaseException) -> str:
    """What another library says went wrong, on one line and cut.

    It may quote whole fields of the file.
    """
    text = " ".join(str(error).split())
    return text if len(text) <= 3 * SHOWN else f"{text[: 3 * SHOWN]}…"


def number_of_found(record: Mapping[str, Any]) -> str:
    """Say how many maximal bicliques, or groups in step, a record says that there are.

    Examples
    --------
    >>> number_of_found({"bicliques": 1, "in_step": None}), number_of_found({"bicliques": 2000, "in_step": "60s"})
    ('1 maximal biclique', '2,000 groups in step')
    """
    n, ending = record["bicliques"], "" if record["bicliques"] == 1 else "s"
    return f"{n:,} group{ending} in step" if record.get("in_step") else f"{n:,} maximal biclique{ending}"
