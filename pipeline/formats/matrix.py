"""Matrices in text: a row a left vertex, a column a right one; a cell that is not 0 ties them."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.baskets import record_of, told_delimiter
from bicliq.pipeline.formats.cells import (
    COLUMN_SUMS,
    GLUED,
    REMARKS,
    SUMS,
    are_names,
    are_other_marks,
    are_sums,
    cell,
    is_binary,
    told_others,
    told_sums,
)
from bicliq.pipeline.formats.columns import SAMPLE, wants_time
from bicliq.pipeline.formats.csv_heads import taken_for_comments, without_declaration
from bicliq.pipeline.formats.files import bare_name
from bicliq.pipeline.formats.lines import Label, Neighbours, TextLines, edge_batches, refuse_line
from bicliq.pipeline.formats.problems import DROP_CELLS, MARKS, comment_cure
from bicliq.pipeline.formats.recognise import text_head
from bicliq.pipeline.formats.source import EdgeBatch, EdgeSource
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import listed, number_cure, shown

NAMES_ROWS = re.compile(r"#?(.*[\s_])?(id|ids|name|names|index|key|label|labels|row|rows)", re.IGNORECASE)
"""What the column of row names is called."""

TYPES = "#q2:types"
"""What the line of QIIME 2 begins with that says of which types the columns are."""


@dataclass(frozen=True)
class Head:
    """What the first lines of a matrix say.

    Parameters
    ----------
    skip
        Lines before the first row.
    delimiter
        Field separator; None: blanks; nothing: each sign is a field.
    width
        Fields of a row.
    names
        Position of the name of a row; None: rows are numbered.
    columns
        Labels of the right vertices, by their positions.
    assumed
        What was taken for granted.
    """

    skip: int
    delimiter: str | None
    width: int
    names: int | None
    columns: dict[int, Label]
    assumed: tuple[str, ...]


def matrix_head(uri: str, settings: IngestSettings) -> Head:
    """Read the first lines of a matrix: its names, if it has some, and how its fields are parted.

    Raises InputError where columns share a name, hold no cells, or the names of rows cannot be
    found.
    """
    head, declared = without_declaration(text_head(uri, settings))
    delimiter = settings.delimiter or declared or ("\t" if bare_name(uri).endswith(".tsv") else told_delimiter(head))
    lines = [(number, line) for number, line in enumerate(head.split("\n"), 1) if line.strip()]
    start = next((at for at, (_, line) in enumerate(lines) if not line.startswith(MARKS)), len(lines))
    if delimiter is None and all(GLUED.fullmatch(line.strip()) for _, line in lines[start:]):
        delimiter = ""
    cut = [(number, record_of(uri, number, line, delimiter, settings)) for number, line in lines]
    told = [(number, _names(record.fields, settings)) for number, record in cut]
    above, body = told[:start], told[start:]
    if not body:
        raise InputError(f"{uri}: holds no row of a matrix; check the file")
    width = len(body[:2][-1][1])  # the first row: its header may have one field less
    commented = above[-1] if above and len(above[-1][1]) == width and delimiter is not None else None
    first, rows = body[0], [fields for _, fields in body[1:]]
    guessed = settings.header is None and commented is None
    named = commented or (first if (_names_columns(first[1], rows) if guessed else settings.header) else None)
    if named is None or named is commented:
        rows = [first[1], *rows]
    shorter = named is not None and len(named[1]) == width - 1
    if settings.header is None and width > 2:
        _refuse_title(uri, *first, width)
    if named is not None and shorter and width > 2 and not any(row[-1] for row in rows):
        raise InputError(
            f"{uri}, line {named[0]}: names one column less than the lines below have, and their last holds nothing; take"
            " the delimiters at their ends out"
        )
    names = [] if named is None else ([""] * shorter + named[1])
    at = place_of_names(uri, settings, names, rows)
    head_line = named[0] if named else body[0][0] - 1
    assumed = (
        *taken_for_comments(uri, [number for number, _ in (above[:-1] if commented else above)]),
        *assumed_of_names(uri, named if settings.header is None else None, named is None and guessed, at, names),
    )
    written = dict(cut)[named[0]].labels(frozenset(settings.null_values)) if named else ()
    columns, remarks = label_columns(uri, [""] * shorter + [name or "" for name in written], width, at, settings)
    whole = [row for row in rows if len(row) == width][:SAMPLE]
    others = told_others(uri, {name: [cell(row[place]) or 0 for row in whole] for place, name in columns.items()})
    return Head(head_line, delimiter, width, at, columns, (*assumed, *remarks, *others))


def _refuse_title(uri: str, number: int, fields: Sequence[str], width: int) -> None:
    """Raise an `InputError` where the first line may be a title, alone or above blank fields."""
    name, *others = fields
    if name and not any(others) and len(others) in (0, width - 1):
        raise InputError(
            f"{uri}, line {number}: {shown(name)} stands alone and may be a title; leave it out with skip = {number}, or say"
            " header = true if it names a column, or header = false if it is a row"
        )


def _names(fields: Sequence[str], settings: IngestSettings) -> list[str]:
    """Fields as names, without blanks around them unless these are to stay."""
    return [field.strip() for field in fields] if settings.strip else [*fields]


def _names_columns(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first line names columns: no cells, one field less, or numbers above 0 and 1."""
    if len(first) == 1 and rows and len(rows[0]) == 1:
        return cell(first[0]) is None
    if not rows or len(first) == len(rows[0]) - 1 or any(cell(field) is None for field in first[1:]):
        return bool(rows) or any(cell(field) is None for field in first[1:])
    if are_other_marks(first[1:], chain(*(row[1:] for row in rows))):
        return True
    corner = first[0] == "" and all(first[1:]) and all(row[0] for row in rows)
    inner = [row[1:] for row in rows]
    return corner or (len(first) > 1 and is_binary(*inner) and not is_binary(first[1:]))


def place_of_names(
    uri: str, settings: IngestSettings, names: Sequence[str], rows: Sequence[Sequence[str]]
) -> int | None:
    """The column of row names: the one that was asked for, or the first if it is no cells.

    `uri`, `settings`: the matrix, and how it is read. `names`, `rows`: names of its columns, if it
    has some, and some first rows.
    """
    if settings.left is not None:
        if settings.left in names:
            return names.index(settings.left)
        if settings.left.isascii() and settings.left.isdigit() and int(settings.left) < len(rows[0] if rows else names):
            return int(settings.left)
        raise InputError(
            f"{uri}: there is no column {shown(settings.left)} for the names of rows; there are: {listed(names)}"
        )
    first = [row[0] for row in rows]
    others = [row[1:] for row in rows]
    if not any(others):
        return None  # what names it has are no cells, and there is nothing else
    counted = all(name.isdigit() for name in first)
    if any(cell(name) is None for name in first) or (is_binary(*others) and not is_binary(first) and counted):
        return 0
    if are_names(first, chain(*others)):
        return 0
    if names and (names[0] == "" or NAMES_ROWS.fullmatch(names[0])):
        return 0
    numbers = [cell(name) or 0 for name in first]
    ascending = len(rows) > 2 and all(low < high for low, high in pairwise(numbers))
    return 0 if names and ascending and counted else None


ROWS_ARE_NUMBERED = "no column was taken for names of rows, which are numbered from 0"


def assumed_of_names(
    uri: str, named: tuple[int, Sequence[str]] | None, unnamed: bool, at: int | None, names: Sequence[str]
) -> tuple[str, ...]:
    """What was taken for names of columns and of rows, in sentences.

    `uri`: the matrix. `named`, `unnamed`: the line that was taken for names of columns, or whether
    that none was is a guess.
    """
    said = []
    if named:
        said.append(f"line {named[0]} ({listed(named[1])}) was taken for names of columns; say header = false if not")
    if unnamed:
        said.append("no line was taken for names of columns, which are numbered from 0; say header = true if one is")
    if at is None:
        said.append(f"{ROWS_ARE_NUMBERED}; another is named by left = 'NAME'")
    else:
        called = f" ({shown(names[at])})" if names and names[at] else ""
        said.append(f"column {at}{called} was taken for names of rows; another is named by left = 'NAME'")
    return tuple(f"{uri}: {sentence}" for sentence in said)


def label_columns(
    uri: str, written: Sequence[str], width: int, at: int | None, settings: IngestSettings
) -> tuple[dict[int, Label], tuple[str, ...]]:
    """Labels of columns of cells by their positions, and what was left out, in sentences.

    Blanks around them are left out, and counted, where labels are.

    `uri`: the matrix. `written`, `width`: names of its columns as they are written, if it has some,
    and their number. `at`: the column of the names of rows. `settings`: whether blanks are
    stripped. Raises InputError where columns share a name or lack one.
    """
    names = _names(written, settings)
    places = [place for place in range(width) if place != at]
    remarks = []
    if names and names[-1].lower() in REMARKS and places[-1] == width - 1:
        places.pop()
        remarks.append(f"{uri}: column {shown(names[-1])} holds text about the rows, and was left out")
    if names:
        for name, uses in Counter(names[place] for place in places).items():
            if not name:
                raise InputError(
                    f"{uri}: a column has no name; give each column of a matrix one, take it out where it holds nothing (as"
                    " behind delimiters at the ends of lines), or say header = false if line 1 is a row"
                )
            if uses > 1:
                raise InputError(
                    f"{uri}: {uses} columns are called {shown(name)}; rename them, as they would become one"
                )
        return {place: written[place] for place in places}, tuple(remarks)
    return dict(zip(places, range(len(places)), strict=True)), tuple(remarks)


def open_matrix(source: str, size: int, settings: IngestSettings) -> EdgeSource:
    """Recognise a matrix by its first lines; errors as of `matrix_head`."""
    if settings.right is not None or wants_time(settings) or settings.weight not in (None, "weight"):
        raise InputError(
            f"{source}: the columns of a matrix are the right side, and its cells the weights; leave out right, weight,"
            " time, since, until, window and in_step"
        )
    typed = next((line for line in text_head(source, settings).split("\n") if line.startswith(TYPES)), None)
    said: tuple[str, ...] = ()
    if typed is not None and settings.comment is None:
        settings = settings.model_copy(update={"comment": TYPES})
        said = (f"{source}: {shown(typed)}, types of columns in QIIME 2, was left out",)
    head = matrix_head(source, settings)
    if settings.sides == "source-target":
        refuse_two_sets(source, _row_names(source, head, settings), list(head.columns.values()))
    return EdgeSource(source, "matrix", size, settings, None, assumed=(*said, *head.assumed))


def told_column_sums(source: EdgeSource) -> str:
    """Say that the last column of a matrix in text holds the sums of the others."""
    *_, last = matrix_head(source.files[0].uri, source.settings).columns.values()
    return told_sums(source.uri, last)


def numbers_its_rows(source: EdgeSource) -> bool:
    """Whether the rows of a matrix in text have no names."""
    return matrix_head(source.uri, source.settings).names is None


def matrix_batches(source: EdgeSource) -> Iterator[EdgeBatch]:
    """Batches of the cells of a matrix that are not 0."""
    lines = TextLines(source.uri, source.settings)
    yield from edge_batches(source, lines, _rows(source, lines), quoted=True)


def _rows(source: EdgeSource, lines: TextLines) -> Iterator[Neighbours]:
    uri, settings = source.uri, source.settings
    head, missing = matrix_head(uri, settings), frozenset(settings.null_values)
    seen: dict[Label | None, int] = {}
    above, row, of_columns = np.zeros(len(head.columns)), np.zeros(len(head.columns)), _ColumnSums()
    for number, line in lines:
        if number <= head.skip or not line.strip():
            continue
        found = record_of(uri, number, line, head.delimiter, settings)
        fields = found.fields
        if len(fields) != head.width:
            raise refuse_line(
                uri,
                number,
                line,
                f"has {len(fields)} fields, and the rows before have {head.width}; {comment_cure(line)}mend the line",
            )
        called: Label | None = len(seen) if head.names is None else found.labels(missing)[head.names]
        name = called.strip() if settings.strip and isinstance(called, str) else called
        if name is not None and name in seen:
            raise InputError(
                f"{uri}, line {number}: the row {shown(name)} is there already, in line {seen[name]}; rename one"
            )
        seen[name] = number
        values = {
            place: _value(uri, number, fields[place], label, head.names is not None, settings)
            for place, label in head.columns.items()
        }
        above, row = above + row, np.array(list(values.values()))
        of_columns.add(row)
        tied = {place: value for place, value in values.items() if value != 0}
        yield Neighbours(number, called, [head.columns[place] for place in tied], list(tied.values()))
    if len(seen) > 2 and are_sums([above, np.zeros(len(row))], row):
        lines.noted[SUMS] += 1
    if of_columns.found:
        lines.noted[COLUMN_SUMS] += 1


@dataclass
class _ColumnSums:
    """Whether the last of several columns holds the sums of the others, row by row."""

    may_be: bool = True
    above_one: bool = False

    def add(self, row: npt.NDArray[np.float64]) -> None:
        """Take the cells of a row."""
        if self.may_be:
            self.may_be = len(row) > 2 and bool(np.isclose(row[:-1].sum(), row[-1]))
            self.above_one |= bool(row[-1] > 1)

    @property
    def found(self) -> bool:
        """Whether it does in all rows so far, of which one is more than 1."""
        return self.may_be and self.above_one


def no_cell(text: str, named: bool) -> str:
    """Say that a field is no cell of a matrix, and what to do, given whether its rows have names.

    Examples
    --------
    >>> no_cell("50%", True)
    "'50%' is no cell of a matrix, which is a number, true or false, X, or blank; write 50"
    """
    cure = number_cure(text)
    if cure == "mend it":
        cure += ", leave its column out, or say format = 'csv' if it is an edge table"
        cure += "" if named else "; a column of row names is named by left = 'NAME'"
    return f"{shown(text)} is no cell of a matrix, which is a number, true or false, X, or blank; {cure}"


def _value(uri: str, number: int, text: str, column: Label, named: bool, settings: IngestSettings) -> float:
    value = cell(text)
    if value is None:
        raise InputError(f"{uri}, line {number}, column {shown(column)}: {no_cell(text, named)}")
    if math.isnan(value) and settings.nulls == "error":
        raise InputError(
            f"{uri}, line {number}, column {shown(column)}: {shown(text)} is a word for a missing value; write 0 for no"
            f" edge, or {DROP_CELLS}"
        )
    return value


def refuse_two_sets(source: str, rows: Sequence[Label], columns: Sequence[Label]) -> None:
    """Raise an `InputError` where a matrix that ties two sets is asked for as the graph of one."""
    if set(map(str, rows)) != set(map(str, columns)):
        raise InputError(
            f"{source}: its {len(rows):,} rows and {len(columns):,} columns are two sets of vertices; give a square"
            " matrix whose rows and columns have the same names, or project a side: project = 'left' or 'right'"
        )


def _row_names(source: str, head: Head, settings: IngestSettings) -> list[Label]:
    names: list[Label] = []
    for number, line in TextLines(source, settings):
        if number > head.skip and line.strip():
            fields = _names(record_of(source, number, line, head.delimiter, settings).fields, settings)
            names.append(len(names) if head.names is None else fields[min(head.names, len(fields) - 1)])
    return names
