"""Times as Unix seconds, whatever they are written as."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.times import LATEST, date_of_digits

SAMPLE = 100
"""First times by which numbers are told from dates of eight digits."""

YEARS = range(1900, 2101)

EXCEL_START = dt.date(1899, 12, 30)
EXCEL_DAYS = 32_874, 54_789
"""The days of 1990 to 2049, as Excel counts them."""

ZONED = ":[0-9.]+ *(Z|[+-][0-9:]+)$|[0-9]Z$|T[0-9]+[+-][0-9:]+$"
"""How a time ends that has a zone; one column may hold both kinds."""

FINER = r"(\.[0-9]{6})[0-9]+"
"""Digits of a second beyond the microsecond, which Unix seconds as numbers cannot hold."""

IN_SECONDS, WITHOUT_ZONE = "times_in_seconds", "times_without_zone"
"""What `told_of` says of a column of times; reading says a sentence in place of numbers."""


def unix_seconds(times: pa.Array, head: bool = True) -> pa.Array:
    """Unix seconds (float64) of numbers, ISO text, or Arrow dates and timestamps.

    Without a zone they are UTC; what is finer than a microsecond is left out. Whether numbers are
    seconds at all is told at the head of a column: counters and seconds of a day come by years and
    Excel's days further down.

    Raises pyarrow.ArrowInvalid where one is none of these, or most are numbers as 20260131, which
    may be dates.

    Examples
    --------
    >>> unix_seconds(pa.array(["2009-01-01", "2009-01-01T01:00:00"])).to_pylist()
    [1230768000.0, 1230771600.0]
    >>> unix_seconds(pa.array(["2009-01-01T01:00:00+01:00", "2009-01-01 00:00"])).to_pylist()
    [1230768000.0, 1230768000.0]
    """
    if pa.types.is_dictionary(times.type):
        times = times.dictionary_decode()
    if pa.types.is_timestamp(times.type) or pa.types.is_date(times.type):
        return _of_timestamps(times)
    try:
        seconds = pc.cast(times, pa.float64())
    except pa.ArrowInvalid:
        return _of_text(times)
    except pa.ArrowNotImplementedError:
        raise pa.ArrowInvalid(f"{times.type} is neither a number, nor text, a date or a timestamp") from None
    if pc.any(pc.or_(pc.greater_equal(pc.abs(seconds), LATEST), pc.is_nan(seconds))).as_py():
        raise pa.ArrowInvalid("a time beyond the year 9999: Unix seconds are meant, not milliseconds")
    if head:
        _refuse_dates(seconds[:SAMPLE].drop_null().to_pylist())
    return seconds


def told_of(times: pa.Array) -> dict[str, int]:
    """Say whether times that `unix_seconds` read are numbers, and whether some lack a zone.

    Examples
    --------
    >>> told_of(pa.array(["2009-01-01T01:00:00+01:00"])), told_of(pa.array(["2009-01-01", "2009-01-01T00:00Z"]))
    ({}, {'times_without_zone': 1})
    """
    if pa.types.is_dictionary(times.type):
        times = times.dictionary_decode()
    times = times.drop_null()
    if not len(times) or getattr(times.type, "tz", None) is not None:
        return {}
    if pa.types.is_timestamp(times.type) or pa.types.is_date(times.type):
        return {WITHOUT_ZONE: 1}
    try:
        pc.cast(times[:1], pa.float64())
    except pa.ArrowInvalid:  # then all are dates
        return {} if pc.all(pc.match_substring_regex(times, ZONED)).as_py() else {WITHOUT_ZONE: 1}
    return {IN_SECONDS: 1}


def times_in_words(column: str, told: Collection[str]) -> list[str]:
    """Say what times were taken for, by what `told_of` said of all of them.

    Examples
    --------
    >>> times_in_words("at", {WITHOUT_ZONE: 3}), times_in_words("at", {})
    (['times of column at: dates without a zone are UTC'], [])
    """
    said = {IN_SECONDS: "numbers are Unix seconds", WITHOUT_ZONE: "dates without a zone are UTC"}
    taken = ", ".join(sentence for name, sentence in said.items() if name in told)
    return [f"times of column {column}: {taken}"] if taken else []


def _refuse_dates(numbers: list[float]) -> None:
    """Raise an error where most numbers may be dates, years or days of Excel, not seconds."""
    for what, read in (
        ("eight digits may be a date", lambda number: date_of_digits(f"{number:.15g}")),
        ("four digits may be a year", _year),
        ("these numbers may be days, as Excel counts them,", _excel_day),
    ):
        dates = [(number, date) for number in numbers if (date := read(number))]
        if 2 * len(dates) > len(numbers):
            number, date = dates[0]
            moment = dt.datetime.fromtimestamp(number, dt.UTC).strftime("%Y-%m-%dT%H:%M:%S")
            raise pa.ArrowInvalid(f"{what} or Unix seconds; write {date}, or {moment} for seconds")


def _year(number: float) -> str | None:
    """The first day of a year of today's tables; None: the number is none."""
    return f"{int(number)}-01-01" if number in YEARS else None


def _excel_day(number: float) -> str | None:
    """The date that a number is in Excel; None: it is none of this time."""
    return (EXCEL_START + dt.timedelta(number)).isoformat() if EXCEL_DAYS[0] <= number < EXCEL_DAYS[1] else None


def _of_text(times: pa.Array) -> pa.Array:
    try:
        return _of_dates(times)
    except pa.ArrowInvalid:
        shorter = pc.replace_substring_regex(times, FINER, r"\1")  # most columns have no such digits
    try:
        return _of_dates(shorter)
    except pa.ArrowInvalid:  # it quotes another of the times
        raise pa.ArrowInvalid("as 2026-01-31 and 2026-01-31T12:00 are") from None


def _of_dates(times: pa.Array) -> pa.Array:
    zoned = pc.match_substring_regex(times, ZONED)
    nothing = pa.nulls(1, times.type)[0]  # pa.scalar brings pandas
    plain = _of_timestamps(pc.cast(pc.if_else(zoned, nothing, times), pa.timestamp("us")))
    return pc.coalesce(plain, _of_timestamps(pc.cast(pc.if_else(zoned, times, nothing), pa.timestamp("us", "UTC"))))


def _of_timestamps(times: pa.Array) -> pa.Array:
    zone = getattr(times.type, "tz", None)
    micros = pc.cast(pc.cast(times, pa.timestamp("us", zone), safe=False), pa.int64())
    return pc.divide(pc.cast(micros, pa.float64(), safe=False), 1e6)  # some are beyond 2255
