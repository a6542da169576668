"""Heads of CSV and TSV files: what stands above the rows, and names of columns, a `Layout` out.

Above the rows may stand lines to skip, a line ``sep=;`` as Excel writes it, comments, and names of
columns, which may be marked like the comments above them. What is none of the file's own words but
taken for granted is said (`Layout.assumed`), and what may be meant in two ways is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise

import pyarrow as pa

from bicliq.pipeline.columns import words_column
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.columns import asked_keys, choose_columns
from bicliq.pipeline.formats.fields import Record, records
from bicliq.pipeline.formats.files import folder_keys
from bicliq.pipeline.formats.forms import told_lists
from bicliq.pipeline.formats.problems import DELIMITERS, MARKS, SAMPLE, is_number, refuse_double_colons
from bicliq.pipeline.formats.source import Layout
from bicliq.pipeline.formats.times import unix_seconds
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import LISTED, SHOWN, listed, shown

DECLARED = re.compile(r'"?sep=([^"\r\n])"?', re.IGNORECASE)
"""The line by which Excel is told the delimiter."""

UNDERLINED = re.compile(r" *:?[-=]{3,}:? *")
"""What stands below a name, in tables of Markdown and of databases."""


def csv_layout(source: str, head: str, settings: IngestSettings) -> Layout:
    """CSV and TSV: columns by name or number; labels may be text or whole numbers."""
    head, declared = without_declaration(head)
    delimiter = settings.delimiter or declared or _guess_delimiter(source, head, settings)
    top = _top(source, head, delimiter, settings)
    rows = _rows(top.head, delimiter, settings)
    if not rows:
        raise InputError(f"{source}: holds no rows below its comments; check the file")
    first = rows[0]
    if first.problem is not None:
        raise InputError(
            f"{source}, line {first.line}, {first.problem}; mend the quotes, or take them as characters with quotes = false"
        )
    header = top.names or (_has_header(source, rows, settings) if settings.header is None else settings.header)
    if settings.header is None:
        (_refuse_odd_names if header else _refuse_title)(source, rows, delimiter, settings)
    own = tuple(_label(name, settings) for name in first.fields) if header else _numbers(first)
    keys = asked_keys(source, settings, own)
    names = (*own, *keys)
    data = [row.fields for row in (rows[1:] if header else rows) if row.problem is None]
    chosen = choose_columns(source, settings, names, header, lambda: data, keys)
    guessed = header and settings.header is None and not _by_name(asked_columns(source, settings))
    return Layout(
        skip=_lines_up_to(first, settings) if header else first.line - 1,
        delimiter=delimiter,
        left=chosen.left,
        right=chosen.right,
        weight=chosen.weight,
        time=chosen.time,
        ids="labels",
        columns=len(first.fields),
        names=names,
        header=header,
        by_name=chosen.by_name,
        keys=keys,
        assumed=(
            *top.assumed,
            *((_taken_for_names(source, first),) if guessed else ()),
            *(
                ()
                if header or settings.header is False
                else _taken_for_an_edge(source, rows, (chosen.left, chosen.right))
            ),
            *told_lists(
                source,
                {names[at]: [row[at] for row in data if at < len(row)] for at in (chosen.left, chosen.right)},
                settings,
            ),
        ),
    )


def _rows(head: str, delimiter: str, settings: IngestSettings) -> list[Record]:
    return list(islice(records(head.encode(), 1, delimiter, settings.quotes, settings.multiline), SAMPLE))


def _numbers(first: Record) -> tuple[str, ...]:
    return tuple(map(str, range(len(first.fields))))


def _label(name: str, settings: IngestSettings) -> str:
    return name.strip() if settings.strip else name


def _lines_up_to(header: Record, settings: IngestSettings) -> int:
    """Lines of a file down to the end of its header, whose quoted names may hold line breaks."""
    breaks = sum(name.count("\n") for name in header.fields) if settings.multiline else 0
    return header.line + breaks


# ---- names of columns ----------------------------------------------------------------------------


def _has_header(source: str, rows: list[Record], settings: IngestSettings) -> bool:
    """Whether the first line names columns.

    It does where it holds no number and no time, and none is asked for.
    """
    if asked := asked_columns(source, settings):
        return begins_with_names(f"{source}, line {rows[0].line}", [row.fields for row in rows], asked)
    return not any(is_value(field) for field in rows[0].fields)


def _refuse_odd_names(source: str, rows: Sequence[Record], delimiter: str, settings: IngestSettings) -> None:
    """Raise an `InputError` where names of columns are none, or not those of the columns below.

    They may be a title that a sheet filled up with delimiters, be one less than the columns, as R
    writes them above names of rows, or be underlined.
    """
    first, *below = rows
    if first.fields[0].strip() and not any(map(str.strip, first.fields[1:])) and len(first.fields) > 1:
        raise InputError(
            f"{source}, line {first.line}: {shown(first.fields[0])} stands alone above {len(first.fields)} columns and may be"
            f" a title; leave it out with skip = {first.line}, or say header = true if it is a name"
        )
    wider = [row for row in below if len(row.fields) == len(first.fields) + 1 and row.fields[-1].strip()]
    if len(below) == len(wider) > 1:
        raise InputError(
            f"{source}, line {first.line}: {listed(first.fields)} are one name less than the lines below have fields, as R"
            f" writes them above names of rows; say skip = {first.line}, header = false, and the columns by number, as in"
            " left = '1', right = '2', or format = 'baskets' if each line is a basket"
        )
    if below and "#q2:types" in below[0].fields[:1]:
        raise InputError(
            f"{source}, line {below[0].line}: '#q2:types' begins no edge, but types of columns in QIIME 2; leave the line out"
            " with comment = '#q2:types'"
        )
    if below and any(below[0].fields) and all(UNDERLINED.fullmatch(field) for field in below[0].fields if field):
        line = delimiter.join(below[0].fields)
        raise InputError(
            f"{source}, line {below[0].line}: {shown(line)} underlines the names above it; leave it out with comment ="
            f" {line[:2]!r}"
        )


def _refuse_title(source: str, rows: Sequence[Record], _: str, settings: IngestSettings) -> None:
    """Raise an `InputError` where the first row may be a title.

    It stands alone above a blank line, or has numbers or times, and words beside them, above a row
    that has none while the others are alike.
    """
    first, *below = rows
    values = list(map(is_value, first.fields))
    if len(below) < 2 or all(values):
        return
    gaps = [low.line - high.line > 1 for high, low in pairwise(rows)]
    alone = gaps[0] and not any(gaps[1:]) and settings.comment is None
    second, *others = [any(map(is_value, row.fields)) for row in below]
    unlike = any(values) and not second and (not any(others) or (len(others) > 1 and all(others)))
    if alone or unlike:
        raise InputError(
            f"{source}, line {first.line}: {listed(first.fields)} may be a title or an edge, as it is unlike the lines"
            f" below; leave it out with skip = {below[0].line - 1}, or say header = false if it is an edge"
        )


def asked_columns(source: str, settings: IngestSettings) -> list[str]:
    """Columns that are asked for, by name or number, but for keys of the file's folders.

    Examples
    --------
    >>> asked_columns("lake/year=2024/a.csv", IngestSettings(left="year", right="1"))
    ['1']
    """
    asked, keys = (settings.left, settings.right, settings.weight, settings.time), folder_keys(source)
    return [name for name in asked if name is not None and name not in keys]


def _by_name(asked: Sequence[str]) -> bool:
    return any(not name.isdigit() for name in asked)


def begins_with_names(where: str, rows: Sequence[Sequence[str]], asked: Sequence[str]) -> bool:
    """Whether the first row names columns: it does where they are asked for by name.

    Where they are asked for by number data may begin at once, and nothing is guessed.

    `where`: the first row, for messages. `rows`, `asked`: fields of some first rows, and the
    columns that are asked for. Raises InputError where columns are asked for by number, and the
    first row is words above nothing but numbers.
    """
    if _by_name(asked):
        return True
    first, *below = [[row[at] for at in map(int, asked) if at < len(row)] for row in rows]
    if not any(map(is_value, first)) and all(map(is_value, chain(*below))) and any(below):
        raise InputError(
            f"{where}: {listed(rows[0])} may be names of columns or an edge, as all below is numbers and columns are asked"
            " for by number; say header = true or header = false"
        )
    return False


def _taken_for_names(source: str, first: Record) -> str:
    more = f" and {len(first.fields) - LISTED:,} more" if len(first.fields) > LISTED else ""
    return (
        f"{source}: line {first.line} ({', '.join(map(_plain, first.fields[:LISTED]))}{more}) was taken for names of"
        " columns; say header = false if it is data"
    )


def _taken_for_an_edge(source: str, rows: Sequence[Record], sides: Sequence[int]) -> tuple[str, ...]:
    """Say that line 1, taken for an edge, is unlike all below: it may be names.

    It has a word above numbers alone, or numbers above words alone.
    """
    first, *below = rows
    unlike = {}
    for at in (at for at in sides if at < len(first.fields)):  # others are keys of folders
        field, under = first.fields[at], {is_value(row.fields[at]) for row in below if at < len(row.fields)}
        if len(below) > 1 and field.strip() and under == {not is_value(field)}:
            unlike[field] = "words" if is_value(field) else "numbers"
    if not unlike or (len(unlike) < len(sides) and "numbers" not in unlike.values()):
        return ()
    field, what = next((field, what) for field, what in unlike.items() if what == "numbers" or len(unlike) > 1)
    return (
        f"{source}: line {first.line} ({listed(first.fields)}) was taken for an edge, though {shown(field)} stands above"
        f" {what} alone; say header = true if it is names, or header = false if not",
    )


def _plain(name: str) -> str:
    """A name as it is; in quotes and cut where it is long or holds what is not seen."""
    return name if name.isprintable() and len(name) <= SHOWN else shown(name)


def is_value(field: str) -> bool:
    """Whether a field is a number or a time, and so no name of a column.

    Examples
    --------
    >>> is_value("2024"), is_value("2024-01-31"), is_value("user")
    (True, True, False)
    """
    if is_number(field):
        return True
    try:
        unix_seconds(words_column([field]))
    except pa.ArrowInvalid:
        return False
    return True


# ---- above the rows ------------------------------------------------------------------------------


def without_declaration(head: str) -> tuple[str, str | None]:
    r"""The head with the line ``sep=;`` left blank: lines keep their numbers; and its mark.

    Examples
    --------
    >>> without_declaration("sep=;\na;b\n"), without_declaration("a;b\n")
    (('\na;b\n', ';'), ('a;b\n', None))
    """
    lines = head.split("\n")
    at = next((at for at, line in enumerate(lines) if line.strip()), 0)
    found = DECLARED.fullmatch(lines[at].rstrip("\r"))
    if found is None:
        return head, None
    lines[at] = ""
    return "\n".join(lines), found[1]


@dataclass(frozen=True)
class _Top:
    """The head without comments, whether they said the names, and what was taken for granted."""

    head: str
    names: bool = False
    assumed: tuple[str, ...] = ()


def _top(source: str, head: str, delimiter: str, settings: IngestSettings) -> _Top:
    """Tell the comments above the rows, and names that are marked like them.

    A marked line with as many fields as the rows may be a comment, names or a row: one alone, right
    above the rows, is names; what several are is asked.
    """
    lines = head.split("\n")
    filled = [at for at, line in enumerate(lines) if line.strip()]
    count = next((i for i, at in enumerate(filled) if not lines[at].startswith(MARKS)), len(filled))
    if settings.comment is not None or count in (0, len(filled)):
        return _Top(head)
    marked, first = filled[:count], filled[count]
    width = _width(lines[first], delimiter, settings)
    alike = [at for at in marked if _width(lines[at], delimiter, settings) == width]
    if settings.header is False and alike:
        marked, alike = [at for at in marked if at < alike[0]], []
    asked = asked_columns(source, settings)
    if alike and (alike != marked[-1:] or (asked and not _by_name(asked))):
        mark = next(mark for mark in MARKS if lines[alike[0]].startswith(mark))
        raise InputError(
            f"{source}, line {alike[0] + 1}: {shown(lines[alike[0]])} begins like a comment and has as many fields as"
            f" the rows; say comment = '{mark}' to leave such lines out, or header = false if it is a row"
        )
    if alike:
        lines[alike[0]] = re.sub(r"^(#|%|//)+\s*", "", lines[alike[0]])
    comments = [at for at in marked if at not in alike]
    for at in comments:
        lines[at] = ""
    said = taken_for_comments(source, [at + 1 for at in comments])
    return _Top("\n".join(lines), bool(alike), said)


def comments_above(lines: Sequence[str], settings: IngestSettings) -> int:
    """How many lines at the top are comments, where none of them names columns.

    None are where all begin so, where the mark of comments is said, or that line 1 is a row.

    Examples
    --------
    >>> comments_above(["# baskets", "jam tea"], IngestSettings()), comments_above(["#1 #2"], IngestSettings())
    (1, 0)
    """
    if settings.comment is not None or settings.header is False:
        return 0
    return next((at for at, line in enumerate(lines) if not line.startswith(MARKS)), 0)


def _width(line: str, delimiter: str, settings: IngestSettings) -> int:
    return len(next(records(line.encode(), 1, delimiter, settings.quotes, False)).fields)


def taken_for_comments(source: str, lines: Sequence[int]) -> tuple[str, ...]:
    """Say which lines, by their numbers, were taken for comments.

    Examples
    --------
    >>> taken_for_comments("t.csv", [1, 2]), taken_for_comments("t.csv", [])
    (('t.csv: lines 1 to 2 were taken for comments',), ())
    """
    if not lines:
        return ()
    which = f"line {lines[0]} was" if len(lines) == 1 else f"lines {lines[0]} to {lines[-1]} were"
    return (f"{source}: {which} taken for comments",)


def _guess_delimiter(source: str, head: str, settings: IngestSettings) -> str:
    """The most frequent mark of the first line, what stands in quotes aside.

    A mark that the second line has as often comes before one that it has not. Where all first lines
    have each of two as often, either may be meant: that is refused.
    """
    quoted = '"[^"]*"' if settings.multiline else '"[^"\n]*"'
    filled = [line for line in re.sub(quoted, "", head).split("\n") if line.strip()]
    rows = [line for line in filled if not line.startswith(MARKS)]
    if not rows and filled and settings.comment is None and not any(mark in head for mark in DELIMITERS):
        raise InputError(f"{source}: holds nothing but comments; an edge table has at least one line below them")
    lines = (rows or filled)[:2]
    refuse_double_colons(f"{source}, line 1", rows or filled, settings)
    found = [mark for mark in DELIMITERS if lines and mark in lines[0]]
    if not found:
        title = next((at for at, line in enumerate(head.split("\n")) if any(mark in line for mark in DELIMITERS)), 0)
        begins = next(line for line in head.split("\n") if line.strip())
        raise InputError(
            f"{source}, line 1: {shown(begins)} holds none of , tab ; |; name the delimiter (delimiter = ' ' is a blank)"
            f"{f', or, if it is a title, leave it out with skip = {title}' if title else ''}"
        )
    even = [mark for mark in found if len(rows) > 1 and len({line.count(mark) for line in rows[:SAMPLE]}) == 1]
    even = [mark for mark in even if mark != settings.split] or even
    if len(even) > 1:
        marks = " or ".join(f"delimiter = {mark!r}" for mark in even)
        raise InputError(
            f"{source}, line 1: {shown(lines[0])} may be cut at {' or '.join(map(repr, even))}, which all lines have as"
            f" often; say {marks}"
        )
    if even:
        return even[0]
    return max(found, key=lambda mark: (lines[0].count(mark) == lines[-1].count(mark), lines[0].count(mark)))
