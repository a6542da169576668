"""Where a text file is wrong.

A block is read again, line by line, when something in it turned out to be bad.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NoReturn

import pyarrow as pa

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.blocks import Block
from bicliq.pipeline.formats.encoded import encoding_advice
from bicliq.pipeline.formats.fields import Record, records
from bicliq.pipeline.formats.source import EdgeSource
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import number_cure, shown

COMMENTS = {"snap": "#", "konect": "%", "mtx": "%"}
"""What begins a comment, by format."""

MARKS = ("#", "%", "//")
"""What begins comments above the rows; below, a label may begin so."""

DELIMITERS = ",\t;|"
"""What parts fields, where nothing is said."""

SAMPLE = 20
"""Lines by which the head of a text file is judged."""

INT64 = range(-(2**63), 2**63)
INT64_DIGITS = 19

DROP_RAGGED = "or drop such lines with ragged = 'drop'"
DROP_NULLS = "drop such rows with nulls = 'drop'"
DROP_CELLS = "drop such cells with nulls = 'drop'"


def find_problem(source: EdgeSource, block: Block) -> str | None:
    """Read a block line by line (slowly) and say what is wrong with its first bad line, or None."""
    for record in records_of(source, block):
        problem = _problem(record, source)
        if problem is not None:
            return f"{source.uri}, line {record.line}{':' if problem.startswith('holds') else ','} {problem}"
    return None


def locate(source: EdgeSource, block: Block, otherwise: str) -> NoReturn:
    """Raise an `InputError` for the first bad line of a block.

    `otherwise` says what is known without it.
    """
    last = block.line + block.n_lines - 1
    raise InputError(
        find_problem(source, block)
        or f"{source.uri}, lines {block.line} to {last}: cannot be read as {source.format}: {otherwise}; check the file"
        " and its settings"
    ) from None


def refuse_bad_quotes(source: EdgeSource, block: Block) -> None:
    """Raise an `InputError` at the first line whose quotes enclose no field."""
    for record in records_of(source, block):
        if record.problem is not None:
            raise InputError(f"{source.uri}, line {record.line}, {_quote_problem(record, source.settings)}")


def line_of(source: EdgeSource, block: Block, row: int) -> str:
    """Say in which line of which file a row of a block stands."""
    columns = source.layout.columns if source.layout else 0
    rows = (r for r in records_of(source, block) if source.settings.ragged == "error" or len(r.fields) == columns)
    return f"{source.uri}, line {next(islice(rows, row, None)).line}"


def records_of(source: EdgeSource, block: Block) -> Iterator[Record]:
    """The lines of a block as they stand in the file, without blank ones and comments."""
    layout, settings = source.layout, source.settings
    assert layout is not None
    data = block.data
    if settings.comment is not None:  # left blank: lines keep their numbers
        data = re.sub(rb"(?m)^" + re.escape(settings.comment.encode()) + rb".*$", b"", data)
    if layout.delimiter is not None:
        yield from records(data, block.line, layout.delimiter, settings.quotes, settings.multiline)
        return
    text = data.decode("utf-8", "surrogateescape")
    for number, line in enumerate(text.split("\n"), block.line):
        fields = line.split()
        if fields and not fields[0].startswith(COMMENTS[source.format]):
            yield Record(number, fields, [False] * len(fields))


def first_failing(convert: Callable[[pa.Array], Any], values: pa.Array) -> int:
    """Position of the first value at which a conversion of the values up to there fails.

    It must fail for all.

    Notes
    -----
    O(n log n) conversions.
    """
    passes, fails = 0, len(values)
    while fails - passes > 1:
        middle = (passes + fails) // 2
        try:
            convert(values[:middle])
            passes = middle
        except pa.ArrowInvalid:
            fails = middle
    return passes


def int64_of(digits: str) -> int | None:
    """A whole number of ASCII digits, however many, or None where it does not fit 64 bits.

    Examples
    --------
    >>> int64_of("-9223372036854775808"), int64_of("9" * 5000), int64_of("0" * 5000 + "7")
    (-9223372036854775808, None, 7)
    """
    sign, size = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    size = size.lstrip("0") or "0"
    number = int(sign + size) if len(size) <= INT64_DIGITS else None
    return number if number is not None and number in INT64 else None


def _problem(record: Record, source: EdgeSource) -> str | None:
    """What is wrong with a record, or None."""
    layout, settings = source.layout, source.settings
    assert layout is not None
    if record.problem is not None:
        return _quote_problem(record, settings)
    if len(record.fields) != layout.columns:
        return None if settings.ragged == "drop" else _ragged(record, source)
    for role, at in layout.wanted.items():
        if (role == "weight" and at == layout.value) or at >= layout.columns:
            continue
        problem = _field_problem(record.fields[at], record.quoted[at], role, source)
        if problem is not None:
            return f"column {layout.names[at]} ({role}): {problem}"
    return None


def _quote_problem(record: Record, settings: IngestSettings) -> str:
    over_lines = "" if settings.multiline else "; fields that hold line breaks need multiline = true"
    return f"{record.problem}; mend the quotes, or take them as characters with quotes = false{over_lines}"


def _ragged(record: Record, source: EdgeSource) -> str:
    layout = source.layout
    assert layout is not None
    if len(record.fields) < 2 and not record.fields[0].strip():
        return f"holds blanks alone; take it out, {DROP_RAGGED}"
    begins = shown((layout.delimiter or " ").join(record.fields))
    names = " (and header = true if line 1 is names)" if layout.header and source.settings.header is None else ""
    cure = (
        f"{comment_cure((record.fields or [''])[0])}mend the line (a field that holds the delimiter must be quoted), read"
        f" each line as a basket of items with format = 'baskets'{names},"
    )
    return (
        f"{len(record.fields)} columns: the lines before have {layout.columns}, this one is {begins};"
        f" {'mend the line,' if layout.delimiter is None else cure} {DROP_RAGGED}"
    )


def refuse_double_colons(where: str, lines: Sequence[str], settings: IngestSettings) -> None:
    """Raise an `InputError` where two colons part fields, as in MovieLens, and nothing else."""
    some = lines[:SAMPLE] if settings.delimiter is None else []
    otherwise = any(all(mark in line for line in some) for mark in DELIMITERS)
    if some and all("::" in line for line in some) and not otherwise:
        raise InputError(
            f"{where}: {shown(some[0])} is parted by '::', and a delimiter is one character; write tabs, as sed"
            r" 's/::/\t/g' does, and say delimiter = 'tab'"
        )


def comment_cure(line: str) -> str:
    """What to do about a line that begins like a comment, in words before other advice.

    Examples
    --------
    >>> comment_cure("# total"), comment_cure("total")
    ("leave such lines out with comment = '#', ", '')
    """
    mark = next((mark for mark in MARKS if line.startswith(mark)), None)
    return f"leave such lines out with comment = '{mark}', " if mark else ""


def _field_problem(field: str, quoted: bool, role: str, source: EdgeSource) -> str | None:
    if any("\udc80" <= letter <= "\udcff" for letter in field):
        raw = field.encode("utf-8", "surrogateescape")
        return f"{shown(raw)} is no UTF-8 text; {encoding_advice(raw)}"
    if is_null(field, quoted, source):
        return None if source.settings.nulls == "drop" else _null_problem(field, role)
    if role == "time":
        return None  # looked for otherwise: the whole column decides how times are written
    if role == "value" and field.lower().strip("+-") == "nan":
        return None if source.settings.nulls == "drop" else f"{shown(field)} is no value; write 0, or {DROP_NULLS}"
    if role in ("weight", "value"):
        return None if is_number(field) else f"{shown(field)} is no number; {number_cure(field)}"
    return _id_problem(field, role, source)


def is_null(field: str, quoted: bool, source: EdgeSource) -> bool:
    """Whether a field means a missing value: it is empty, or a word for one, not in quotes."""
    assert source.layout is not None
    if source.layout.ids != "labels":
        return not field
    text = field.strip() if source.settings.strip else field
    return not text or (text in source.settings.null_values and (not quoted or text != field))


def _null_problem(field: str, role: str) -> str:
    what = "the id is" if role in ("left", "right") else f"the {role} is"
    if not field.strip():
        return f"{what} missing (null): the field is empty; fill it in, or {DROP_NULLS}"
    return (
        f"{what} missing (null): {field!r} is a word for a missing value; {DROP_NULLS}, or take it as text with"
        f" null_values without {field!r} (null_values = [] takes every word as text)"
    )


def is_number(field: str) -> bool:
    """Whether a field is a number as Arrow reads it: finite, in ASCII digits.

    Examples
    --------
    >>> is_number("-1.5e3"), is_number("1_000"), is_number("nan")
    (True, False, False)
    """
    if not field.isascii() or "_" in field:
        return False
    try:
        return abs(float(field)) < float("inf")
    except ValueError:
        return False


def _id_problem(value: str, role: str, source: EdgeSource) -> str | None:
    layout = source.layout
    assert layout is not None
    if layout.ids == "labels":
        return None
    if re.fullmatch("-?[0-9]+", value) is None:
        return f"{shown(value)} is no whole number; this format numbers its vertices"
    number, least = int64_of(value), 1 if layout.ids == "indices" else 0
    if number is None:
        return f"id {shown(value)} is beyond 64 bits; use smaller ids, or a CSV file with text labels"
    most = layout.n_left if role == "left" else layout.n_right
    if number < least:
        return f"id {number} is below {least}; number the vertices from {least}"
    if most and number > most:
        return f"id {number} is beyond the {most} vertices that the file declares; mend the id or the head of the file"
    return None
