"""Where a text file is wrong: read again, line by line, when a whole column turned out to be bad."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import IO, NoReturn

from pipeline.errors import InputError
from pipeline.formats.files import open_bytes
from pipeline.formats.heads import is_whole
from pipeline.formats.source import INT64, EdgeSource, Layout
from pipeline.settings import IngestSettings, parse_time


def find_problem(source: EdgeSource) -> str | None:
    """Read a text file line by line (slowly) and say what is wrong with the first bad line, or None."""
    layout = source.layout
    assert layout is not None
    with open_bytes(source.uri) as raw:
        text = io.TextIOWrapper(raw, "utf-8", errors="surrogateescape", newline="")
        for number, fields in _lines(text, source, layout):
            problem = _problem(fields, layout, source.settings)
            if problem is not None:
                return f"{source.uri}, line {number}, {problem}"
    return None


def locate(source: EdgeSource, otherwise: str) -> NoReturn:
    """Raise an `InputError` for the first bad line of a text file."""
    raise InputError(
        find_problem(source)
        or f"{source.uri}: cannot be read as {source.format}: {otherwise}; check the file and its settings"
    ) from None


def _lines(text: IO[str], source: EdgeSource, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    if layout.delimiter is not None:
        rows = csv.reader(text, delimiter=layout.delimiter)
        for fields in rows:
            if rows.line_num > layout.skip and fields:
                yield rows.line_num, fields
        return
    comment = "#" if source.format == "snap" else "%"
    for number, line in enumerate(text, 1):
        if number > layout.skip and line.strip() and not line.startswith(comment):
            yield number, line.split()


def _problem(fields: list[str], layout: Layout, settings: IngestSettings) -> str | None:
    """What is wrong with a line, or None."""
    if len(fields) != layout.columns:
        if settings.ragged == "drop":
            return None
        return (
            f"{len(fields)} columns: the lines before have {layout.columns}; mend the line"
            " (a field that holds the delimiter must be quoted), or drop such lines with ragged = 'drop'"
        )
    for at, field in enumerate(fields):
        if any("\udc80" <= letter <= "\udcff" for letter in field):
            shown = field.encode("utf-8", "surrogateescape")[:60]
            return f"column {at}: {shown!r} is no UTF-8 text; convert the file to UTF-8"
    for side, at, most in (("left", layout.left, layout.n_left), ("right", layout.right, layout.n_right)):
        problem = _id_problem(fields[at].strip(), layout, most, settings)
        if problem is not None:
            return f"column {at} ({side}): {problem}"
    if layout.weight is not None:
        try:
            float(fields[layout.weight])
        except ValueError:
            return f"column {layout.weight} (weight): {fields[layout.weight]!r} is no number; mend it"
    if layout.time is not None and not _is_time(fields[layout.time].strip()):
        return (
            f"column {layout.time} (time): {fields[layout.time]!r} is neither Unix seconds nor an ISO date;"
            " mend it, or leave out time, since and until"
        )
    return None


def _is_time(text: str) -> bool:
    try:
        parse_time(text or "0")
    except ValueError:
        return False
    return True


def _id_problem(value: str, layout: Layout, most: int, settings: IngestSettings) -> str | None:
    if not value:
        return (
            None
            if settings.nulls == "drop"
            else "the id is missing (null); mend it, or drop such lines with nulls = 'drop'"
        )
    if not is_whole(value):
        return None if layout.ids == "labels" else f"{value!r} is no whole number; this format numbers its vertices"
    number, least = int(value), 1 if layout.ids == "indices" else 0
    if number not in INT64:
        return f"id {value} is beyond 64 bits; use smaller ids, or text labels"
    if number < least:
        return f"id {value} is below {least}; number the vertices from {least}, or use text labels"
    if most and number > most:
        return f"id {value} is beyond the {most} vertices that the file declares; mend the id or the head of the file"
    return None
