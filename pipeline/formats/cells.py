"""Cells of matrices as text: what they say, and whether some rows look like those of a matrix."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np

from bicliq.pipeline.formats.problems import is_number
from bicliq.pipeline.settings import NULL_WORDS
from bicliq.pipeline.words import shown

MARKS = frozenset(("x", "✓", "✔", "*", "+", "•", "●", "☑", "true", "yes", "y"))
BLANKS = frozenset(("", ".", "-", "·", "✗", "✘", "☐", "false", "no", "n"))
MISSING = frozenset(NULL_WORDS)

KINDS = ({"true", "false"}, {"yes", "no"}, {"y", "n"}, {"t", "f"}, {"x"})
"""Words that are marks beside each other: in other words for them, cells are names."""

REMARKS = frozenset(("taxonomy", "consensus lineage", "consensuslineage"))
"""Columns of abundance tables that hold text about the row, behind the cells."""

NAMES_OF_COUNTS = re.compile(r"#?\s*(OTU|ASV|feature)[ _.-]?ID", re.IGNORECASE)
"""What the column of row names is called in abundance tables."""

AMOUNT = re.compile(r"[+-]?([0-9][0-9.,']*(e[+-]?[0-9]+)? ?%?|inf(inity)?)", re.IGNORECASE)
"""How much of something there is, as people write it: not all are numbers that can be read."""

NAME_OF_IDS = re.compile(r"(^|[^A-Za-z])[iI][dD]$|[a-z]I[dD]$")
"""What columns of ids are called: id, user_id, movieId."""

MOSTLY_ZERO = 0.3
"""Least share of 0 in a table of counts: columns of ids and weights have few."""

AS_MATRIX = (
    "looks like a matrix, whose cells say which row has which column: read it with format = 'matrix' (rows are left,"
    " columns are right, 0 and blanks are no edges)"
)


GLUED = re.compile("[01]{2,}")
"""A line of a matrix of 0 and 1 without blanks between."""


SUMS = "rows_of_sums"
"""What a last row that holds the sums of those above it is counted as."""

COLUMN_SUMS = "columns_of_sums"
"""What a last column of text that holds the sums of those before it is counted as."""

TOLD_SUMS = "its last row holds the sums of those above it, and was taken for a vertex; take it out (pandas.crosstab: no margins)"


def are_sums(parts: Sequence[Any], totals: Any) -> bool:
    """Whether numbers are the sums of several others, place by place, and not all 0 and 1.

    Examples
    --------
    >>> are_sums([[1, 0], [2, 1]], [3, 1]), are_sums([[1, 0], [0, 1]], [1, 1])
    (True, False)
    """
    sums = np.sum(np.asarray(parts, float), axis=0)
    return len(parts) > 1 and bool((sums > 1).any()) and bool(np.allclose(sums, np.asarray(totals, float)))


def told_sums(uri: str, column: object) -> str:
    """Say that the last column holds the sums of the others.

    Examples
    --------
    >>> print(told_sums("t.csv", "All"))
    t.csv: column 'All' holds the sums of those before it, and was taken for a vertex; take it out (pandas.crosstab: no margins)
    """
    return f"{uri}: column {shown(column)} holds the sums of those before it, {TOLD_SUMS.split(', ', 1)[1]}"


def told_others(uri: str, columns: Mapping[Any, Sequence[float]]) -> tuple[str, ...]:
    """Say which columns, by their first values, are most likely no cells: ids, ages or prices.

    They hold other numbers than 0 and 1, unlike all beside them; and either no 0, or no number
    twice.

    Examples
    --------
    >>> print(*told_others("t.csv", {"age": [34, 25, 34], "jam": [0, 1, 1], "tea": [1, 0, 1]}))
    t.csv: column 'age' holds other numbers than 0 and 1, unlike those beside it, and was taken for a vertex of its rows; leave it out if it is none, or say left = 'age' if it names them
    """
    *parts, last = columns.values() if columns else [()]
    if are_sums(parts, last):  # that is said of all its rows
        columns = dict(list(columns.items())[:-1])
    others = {name: set(values) for name, values in columns.items() if not {0, 1} >= set(values)}
    if 2 * len(others) >= len(columns) or any(
        len(found) < 2 or (0 in found and len(found) < len(columns[name])) for name, found in others.items()
    ):
        return ()
    return tuple(
        f"{uri}: column {shown(name)} holds other numbers than 0 and 1, unlike those beside it, and was taken for a vertex"
        f" of its rows; leave it out if it is none, or say left = {str(name)!r} if it names them"
        for name in others
    )


@lru_cache(1 << 14)
def cell(text: str) -> float | None:
    """The number that a cell says, NaN where it says that none is known; None: it is no cell.

    Examples
    --------
    >>> cell("X"), cell("F"), cell(" 2.5 "), cell("NA"), cell("jam")
    (1.0, 0.0, 2.5, nan, None)
    """
    word = text.strip()
    lower = word.lower()
    if lower in BLANKS or word == "F":
        return 0.0
    if lower in MARKS or word == "T":
        return 1.0
    if word in MISSING:
        return math.nan
    return float(word) if is_number(word) else None


def looks_like_matrix(rows: Sequence[Sequence[str]]) -> bool:
    """Whether first rows are those of a matrix: names aside, cells of 0 and 1, or counts.

    `rows`: their fields; the first row may name the columns, and the first field the row.

    Examples
    --------
    >>> looks_like_matrix([["name", "a", "b"], ["o1", "X", ""], ["o2", "", "X"]])
    True
    >>> looks_like_matrix([["1", "0", "1"], ["0", "1", "1"]])
    True
    >>> looks_like_matrix([["u", "v"], ["0", "1"], ["1", "2"]])
    False
    >>> looks_like_matrix([["gene", "s1", "s2", "s3"], ["g1", "0", "3", "1"], ["g2", "0", "0", "2"]])
    True
    """
    body = list(rows)
    remarks = bool(body and body[0]) and body[0][-1].strip().lower() in REMARKS
    counts = bool(body and body[0]) and NAMES_OF_COUNTS.fullmatch(body[0][0].strip()) is not None
    if remarks:
        body = [row[:-1] for row in body]
    if (body and (any(cell(field) is None for field in body[0][1:]) or _stands_above_marks(body))) or (
        len(body) > 1 and are_other_marks(body[0][1:], chain(*(row[1:] for row in body[1:])))
    ):
        del body[0]
    width = len(body[0]) if body else 0
    if len(body) < 2 or any(len(row) != width for row in body):
        return False
    columns = list(zip(*body, strict=True))
    worded = any(cell(field) is None for field in columns[0]) or are_names(columns[0], chain(*columns[1:]))
    if counts or (not is_binary(columns[0]) and (worded or is_binary(*columns[1:]))):
        del columns[0]
    if len(columns) < 2 or not all(cell(field) is not None for column in columns for field in column):
        return False
    if is_binary(*columns):
        if {"x", "y"} <= {field.strip().lower() for column in columns for field in column}:
            return False  # no marks, but names
        return len(columns) > 2 or any(cell(field) for column in columns for field in column)
    if counts or (remarks and worded):
        return True
    zeros = sum(cell(field) == 0 for column in columns for field in column)
    return (remarks or len(columns) > 2) and zeros >= MOSTLY_ZERO * len(columns) * len(body)


def _stands_above_marks(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row holds numbers above cells of 0 and 1: names, as years are."""
    below = [row[1:] for row in rows[1:]]
    return len(below) > 1 and is_binary(*below) and not is_binary(rows[0][1:])


def are_other_marks(fields: Iterable[str], cells: Iterable[str]) -> bool:
    """Whether some fields are marks of a kind that cells, which are marks or numbers, have none of.

    Examples
    --------
    >>> are_other_marks(["x", "y"], ["1", "0"]), are_other_marks(["x", ""], ["X", "x"]), are_other_marks(["x"], [""])
    (True, False, False)
    """
    within = {field.strip().lower() for field in cells} - BLANKS
    beside = [kind for kind in KINDS if not kind.isdisjoint(within)]
    words = {field.strip().lower() for field in fields}
    return bool(within) and any(kind not in beside and not kind.isdisjoint(words) for kind in KINDS)


def are_names(column: Sequence[str], cells: Iterable[str]) -> bool:
    """Whether the fields of a column, each another, are marks of a kind that its cells are not.

    Examples
    --------
    >>> are_names(["x", "y"], ["1", "0"]), are_names(["yes", "no", "yes"], ["1", "0", "1"])
    (True, False)
    """
    return len(set(column)) == len(column) > 1 and are_other_marks(column, cells)


def may_be_matrix(rows: Sequence[Sequence[str]]) -> bool:
    """Whether first rows are names and then amounts alone: a matrix, or ids and weights.

    Names are words, or numbers of which none is there twice; two columns called ids are sides.

    `rows`: as of `looks_like_matrix`.

    Examples
    --------
    >>> may_be_matrix([["name", "a", "b"], ["o1", "50%", "0,5"]]), may_be_matrix([["u", "v", "w"], ["ann", "jam", "1"]])
    (True, False)
    >>> may_be_matrix([["user_id", "item_id", "n"], ["1", "7", "3"], ["2", "8", "3"]])
    False
    """
    width = len(rows[0]) - (rows[0][-1].strip().lower() in REMARKS) if rows else 0
    below = [row[1:width] for row in rows[1:]]
    firsts = [row[0] for row in rows[1:]]
    return (
        width > 2
        and sum(NAME_OF_IDS.search(name) is not None for name in rows[0]) < 2
        and (any(cell(first) is None for first in firsts) or len(set(firsts)) == len(firsts) > 1)
        and all(cell(field) is not None or AMOUNT.fullmatch(field.strip()) for row in below for field in row)
    )


def is_binary(*columns: Iterable[str]) -> bool:
    """Whether columns hold 0 and 1, true and false, marks and nothing alone."""
    return all(cell(field) in (0.0, 1.0) or field.strip() in MISSING for column in columns for field in column)
