"""Lines of whole numbers that are no adjacency lists: matrices, and graphs of one set of vertices.

LAD: the number of vertices, then a line each, its degree first. METIS: numbers of vertices and
edges, then the neighbours of each, from 1; weights between them are left out. NDE: the number of
vertices, 'vertex degree' a line, then a line an edge. Each is told by numbers that must agree with
each other, read as the graph that it is where a graph of one set is asked for, and refused
elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.cells import GLUED
from bicliq.pipeline.formats.source import EdgeSource

Row: TypeAlias = tuple[int, npt.NDArray[np.int64]]
"""A number, of a line or a vertex, and the numbers that follow."""

LEAST_DEGREES = 3
"""Lines whose first number is the number of those behind it, at least, to be taken for degrees."""


FORMS = {int(f"{form:b}"): (form >> 2, form >> 1 & 1, form & 1) for form in range(8)}
"""METIS: whether vertices have sizes and weights, and edges weights, by the digits of a number."""


def one_set_rows(source: EdgeSource, lines: Sequence[Row]) -> list[Row] | None:
    """Vertices and their neighbours in a file of one of these formats; None: it is of none.

    `source`, `lines`: the file, and its numbered lines. Raises InputError where it is of one, and a
    graph of two sides is asked for; and for matrices.
    """
    body = [row for _, row in lines]
    while body and len(body[-1]) == 0:
        body.pop()
    _refuse_matrix(source, body)
    for kind, read in (("LAD", _lad), ("NDE", _nde), ("METIS", _metis)):
        found = read(body)
        if found is not None:
            if source.settings.sides == "source-target":
                return found
            raise InputError(
                f"{source.uri}, line 1: the numbers are those of the format {kind}, which ties one set of vertices and not"
                " two sides; bicliq clique reads it (format = 'adjacency'), and a table of its edges, two ids a line, is read"
                " with format = 'snap'"
            )
    if len(body) > 1 and len(body[0]) == 1 and body[0][0] == len(body) - 1:
        raise InputError(
            f"{source.uri}, line 1: {body[0][0]} is the number of the lines below, as a count is: take it out; if it is a"
            " neighbour, format = 'baskets' reads the lines"
        )
    filled = [row for row in body if len(row)]
    for skip, what in ((0, "first"), (1, "second")):
        if len(filled) >= LEAST_DEGREES and all(len(row) > skip and row[skip] == len(row) - skip - 1 for row in filled):
            raise InputError(
                f"{source.uri}, line 1: the {what} number of every line is that of the numbers behind it, as a degree is:"
                " take the degrees out; if they are neighbours, format = 'baskets' reads the lines"
            )
    return None


def _refuse_matrix(source: EdgeSource, body: Sequence[npt.NDArray[np.int64]]) -> None:
    filled = [row for row in body if len(row)]
    if len(filled) > 1 and (_are_cells(filled) or _are_glued(filled)):
        raise InputError(
            f"{source.uri}, line 1: the lines hold 0 and 1 alone, as those of a matrix do: read it with format = 'matrix'; if"
            " they hold neighbours, format = 'baskets' reads them"
        )


def _are_cells(rows: Sequence[npt.NDArray[np.int64]]) -> bool:
    if any(row.max() > 1 for row in rows):
        return False
    widths = {len(row) for row in rows}
    return (len(widths) == 1 and widths != {1}) or any(len(np.unique(row)) < len(row) for row in rows)


def _are_glued(rows: Sequence[npt.NDArray[np.int64]]) -> bool:
    """Whether all are one number each of as many digits, 0 and 1 alone: cells without blanks."""
    if any(len(row) > 1 for row in rows):
        return False
    words = [str(row[0]) for row in rows]
    return len(set(map(len, words))) == 1 and all(map(GLUED.fullmatch, words))


def _lad(body: Sequence[npt.NDArray[np.int64]]) -> list[Row] | None:
    n = _lone(body)
    rows = body[1:]
    if n is None or len(rows) != n or any(len(row) == 0 or row[0] != len(row) - 1 for row in rows):
        return None
    return [(vertex, row[1:]) for vertex, row in enumerate(rows)]


def _nde(body: Sequence[npt.NDArray[np.int64]]) -> list[Row] | None:
    n = _lone(body)
    if n is None or len(body) <= n or any(len(row) != 2 for row in body[1:]):
        return None
    degrees, edges = body[1 : n + 1], body[n + 1 :]
    if [int(row[0]) for row in degrees] != list(range(n)) or sum(int(row[1]) for row in degrees) != 2 * len(edges):
        return None
    return [(int(row[0]), row[1:]) for row in edges]


def _metis(body: Sequence[npt.NDArray[np.int64]]) -> list[Row] | None:
    """The neighbours of each vertex, without its weights and those of its edges.

    Which of them are there says a third number of the head, and a fourth how many a vertex has.
    """
    if not body or not 2 <= len(body[0]) <= 4:
        return None
    n, m, form, n_weights = (*map(int, body[0]), *(0, 1)[len(body[0]) - 2 :])
    if form not in FORMS:
        return None
    sizes, weights, of_edges = FORMS[form]
    skip, step = sizes + weights * n_weights, 1 + of_edges
    rows = [*body[1:], *[np.zeros(skip, np.int64)] * max(0, n - len(body) + 1)]  # lines at the end may be blank
    if m == 0 or len(rows) != n or any(len(row) < skip or (len(row) - skip) % step for row in rows):
        return None
    rows = [row[skip::step] for row in rows]
    if sum(map(len, rows)) != 2 * m or any(len(row) and not 1 <= row.min() <= row.max() <= n for row in rows):
        return None
    return [(vertex, row) for vertex, row in enumerate(rows, 1)]


def _lone(body: Sequence[npt.NDArray[np.int64]]) -> int | None:
    """The only number of the first line."""
    return int(body[0][0]) if body and len(body[0]) == 1 and body[0][0] > 0 else None
