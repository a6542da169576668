"""Fields of CSV lines: where quotes enclose them, and how a line is cut up.

Arrow's parser takes any quoting as it comes: an open quote swallows the lines below, and what
follows a closing one is joined to it. So blocks that hold a quote are looked at first. Nearly
always all quotes are regular, which whole-array operations show; only where they are not is a block
read line by line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache

import numpy as np

QUOTE, NEWLINE, RETURN = b'"\n\r'

PIECE = 1 << 18
"""Bytes that whole-array operations look at together: what a processor's second cache holds."""


@dataclass(frozen=True)
class Record:
    """A row of a text file as it stands there.

    `line`: number of its first line, from 1. `fields`: its fields; bytes that are no UTF-8 are lone
    surrogates. `quoted`: whether each field was in quotes. `problem`: what is wrong with its
    quotes, if something is; it has no fields then.
    """

    line: int
    fields: list[str]
    quoted: list[bool]
    problem: str | None = None

    def labels(self, missing: Set[str]) -> Sequence[str | None]:
        """Return its fields; None where one is a word for a missing value, and not in quotes."""
        if missing.isdisjoint(self.fields):
            return self.fields
        return [
            None if field in missing and not quoted else field
            for field, quoted in zip(self.fields, self.quoted, strict=True)
        ]


def quotes_are_regular(lines: bytes, delimiter: str) -> bool:
    r"""Whether every quote encloses a field or is one of two within one.

    `lines`: whole lines, with a line break before the first and one after the last. `delimiter`:
    field separator.

    Examples
    --------
    >>> def check(lines): return quotes_are_regular(lines, ",")
    >>> check(b'\n"a ""b"" c",1\n')
    True
    >>> check(b'\n"a" b,1\n'), check(b'\n5" pipe,1\n'), check(b'\n"a,1\n')
    (False, False, False)
    """
    data = np.frombuffer(lines, np.uint8)
    at = np.flatnonzero(data == QUOTE)
    if len(at) % 2:
        return False
    opening, closing = at[0::2], at[1::2]
    before, after = data[opening - 1], data[closing + 1]
    doubled = opening[1:] == closing[:-1] + 1
    begins = (before == ord(delimiter)) | (before == NEWLINE)
    ends = (after == ord(delimiter)) | (after == NEWLINE) | (after == RETURN)
    begins[1:] |= doubled
    ends[:-1] |= doubled
    return bool(begins.all() and ends.all())


def records(data: bytes, line: int, delimiter: str, quotes: bool, multiline: bool) -> Iterator[Record]:
    """Cut whole lines into records and fields, one by one; blank lines are passed over.

    `data`, `line`: whole lines, and the number of the first. `delimiter`, `quotes`, `multiline`: as
    in `IngestSettings`.
    """
    text = data.decode("utf-8", "surrogateescape")
    start = 0
    while start < len(text):
        end = _end_of_record(text, start, quotes and multiline)
        record = text[start:end].removesuffix("\n").removesuffix("\r")
        if record:
            yield cut_line(record, line, delimiter, quotes)
        line += text.count("\n", start, end)
        start = end


def _end_of_record(text: str, start: int, over_lines: bool) -> int:
    """Where the record that begins here ends: behind the first line break that is not in quotes."""
    end = start
    while True:
        end = text.find("\n", end) + 1 or len(text)
        if not over_lines or end == len(text) or text.count('"', start, end) % 2 == 0:
            return end


def cut_line(record: str, line: int, delimiter: str | None, quotes: bool) -> Record:
    """Cut a line into fields, which stand in quotes where that is told.

    `record`, `line`: the line without its end, and its number. `delimiter`: what stands between
    fields; None: blanks. `quotes`: whether quotes enclose fields.

    Examples
    --------
    >>> cut_line('"a b"  1 0', 1, None, True).fields, cut_line('"a b",1', 1, ",", False).fields
    (['a b', '1', '0'], ['"a b"', '1'])
    """
    if delimiter is None:
        record = record.strip()
    if not quotes or '"' not in record:
        fields = record.split(delimiter)
        return Record(line, fields, [False] * len(fields))
    fields, quoted, at = [], [], 0
    field = _field_pattern(delimiter)
    while True:
        found = field.match(record, at)
        if found is None:
            return Record(line, [], [], _bad_quote(record, at, len(fields)))
        enclosed = found[1] is not None
        fields.append(found[1].replace('""', '"') if enclosed else found[2])
        quoted.append(enclosed)
        at = found.end()
        if at == len(record):
            return Record(line, fields, quoted)
        at += delimiter is not None


@cache
def _field_pattern(delimiter: str | None) -> re.Pattern[str]:
    """A field in quotes, or one that begins with none: quotes within it are characters."""
    mark, behind = (r"\s", r"\s*") if delimiter is None else (re.escape(delimiter), "")
    return re.compile(rf'(?:"([^"]*(?:""[^"]*)*)"|([^"{mark}][^{mark}]*|))(?={mark}|\Z){behind}')


def _bad_quote(record: str, at: int, column: int) -> str:
    closed = re.compile(r'"[^"]*(?:""[^"]*)*"').match(record, at)
    what = (
        "is not closed on that line"
        if closed is None
        else f"is closed before its end: {record[closed.end()]!r} follows"
    )
    return f"column {column}: the quote before {record[at + 1 : at + 41]!r} {what}"
