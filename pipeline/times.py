"""Times and lengths of time as people write them, in options and in the settings."""

from __future__ import annotations

import datetime as dt
import math
import re
from typing import Any

UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
"""Seconds of the units of lengths of time."""

LAST_YEAR = 2100
"""Last year of dates that are written without marks between."""

LATEST = 253_402_300_800
"""Unix seconds of the year 10000: what is beyond was counted in smaller units."""

LONGEST = 1e11
"""Seconds (3,000 years): a length of time that is longer is a mistake."""

SHORTEST = 1e-6
"""Seconds: times are compared in whole microseconds."""


def parse_time(text: str) -> float:
    """Unix seconds of an ISO date (UTC unless it says otherwise) or of a number.

    Raises ValueError if the text is neither, or a number that looks like a year or a date.

    Examples
    --------
    >>> parse_time("2009-01-01")
    1230768000.0
    """
    if re.fullmatch("[12][0-9]{3}", text):
        raise ValueError(f"is {text} a year? Write {text}-01-01; Unix seconds that are meant are {text}.0")
    if (date := date_of_digits(text)) is not None:
        raise ValueError(f"is {text} a date? Write {date}; Unix seconds that are meant are {text}.0")
    try:
        seconds = float(text)
    except ValueError:
        pass
    else:
        if abs(seconds) < LATEST:
            return seconds
        if math.isfinite(seconds):
            raise ValueError(f"{text} is beyond the year 9999: Unix seconds are meant, not milliseconds")
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither an ISO date (2009-01-31, 2009-01-31T12:00) nor Unix seconds") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)).timestamp()


def date_of_digits(text: str) -> str | None:
    """ISO date that eight digits write; None: they write none of the years 1900 to 2100.

    Examples
    --------
    >>> date_of_digits("20260131"), date_of_digits("20261301"), date_of_digits("99991231")
    ('2026-01-31', None, None)
    """
    if not re.fullmatch("(19|20|21)[0-9]{6}", text):
        return None
    try:
        date = dt.date.fromisoformat(text)
    except ValueError:
        return None
    return date.isoformat() if date.year <= LAST_YEAR else None


def parse_duration(text: str) -> float:
    """Seconds of a length of time: a number, or one with a unit: s, m, h, d or w.

    Raises ValueError if the text is neither, or beyond what can be told apart.

    Examples
    --------
    >>> parse_duration("30d"), parse_duration("1.5h"), parse_duration("90")
    (2592000.0, 5400.0, 90.0)
    """
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)([smhdw]?)", text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no length of time: write a number and s, m, h, d or w, as in 30d or 12h")
    seconds = float(match[1]) * UNITS[match[2]]
    if seconds >= LONGEST:
        raise ValueError(f"{text!r} is too long: at most {LONGEST / UNITS['d']:,.0f}d can be told apart")
    if 0 < seconds < SHORTEST:
        raise ValueError(f"{text!r} is too short: times are compared in microseconds; 0 asks for the very same moment")
    return seconds


def written_duration(given: Any) -> Any:
    """Return a length of time, or a number of seconds, as text that `parse_duration` reads."""
    if isinstance(given, int | float) and not isinstance(given, bool):
        given = f"{given:.6f}".rstrip("0").rstrip(".") if given >= SHORTEST or given == 0 else str(given)
    if isinstance(given, str):
        parse_duration(given)
    return given


def parse_jump(text: str, window: str) -> float:
    """Seconds by which one row may move a window on: a number of windows, or a length of time.

    Raises ValueError if the text is neither.

    Examples
    --------
    >>> parse_jump("3", "30d") == parse_jump("90d", "30d"), parse_jump("inf", "30d")
    (True, inf)
    """
    if text.strip() == "inf":
        return math.inf
    try:
        windows = float(text)
    except ValueError:
        return parse_duration(text)
    if not 0 <= windows < LONGEST:
        raise ValueError(f"{text!r} is no number of windows: write one from 0 on, a length of time as in 90d, or inf")
    return windows * parse_duration(window)


def seconds_of(option: str, text: str) -> float:
    """Read a length of time that an option gives.

    Raises InputError where it is none.
    """
    from bicliq.pipeline.errors import InputError

    try:
        return parse_duration(text)
    except ValueError as error:
        raise InputError(f"{option} {error}") from None
