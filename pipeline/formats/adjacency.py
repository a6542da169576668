"""Adjacency lists: a line of neighbours a vertex, with or without a head."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.lines import TextLines
from bicliq.pipeline.formats.one_set import Row, one_set_rows
from bicliq.pipeline.formats.problems import int64_of
from bicliq.pipeline.formats.source import EdgeBatch, EdgeSource
from bicliq.pipeline.words import shown

SAFE_DIGITS = 18
"""Whole numbers of so many digits fit 64 bits."""


METIS_FORM = 2
"""Field of the first line in which METIS says what there is, as 011."""


def adjacency_batches(source: EdgeSource) -> Iterator[EdgeBatch]:
    """Row i holds the right neighbours of left vertex i.

    With a head 'n n_left n_edges', its own id comes first.
    """
    lines = TextLines(source.uri, source.settings)
    rows = [(number, _neighbours(source, number, line, at == 0)) for at, (number, line) in enumerate(lines)]
    body = one_set_rows(source, rows) or _labelled_rows(source, rows)
    lengths = np.array([len(row) for _, row in body], dtype=np.int64)
    left = np.repeat(np.array([vertex for vertex, _ in body], dtype=np.int64), lengths)
    right = np.concatenate([row for _, row in body]) if body else np.zeros(0, np.int64)
    yield lines.told(
        EdgeBatch(pa.record_batch({"left": left, "right": right}), lambda row: f"{source.uri}, edge {row}")
    )


def _neighbours(source: EdgeSource, number: int, line: str, first: bool) -> npt.NDArray[np.int64]:
    """The ids of a line; an array takes an eighth of the memory of its words."""
    fields = line.split()
    for at, value in enumerate(fields):
        if value[0] == "0" and len(value) > 1 and not (first and at == METIS_FORM):
            raise InputError(
                f"{source.uri}, line {number}: {shown(value)} begins with a zero, as no number does: write it without; rows of 0"
                " and 1 without blanks between are read with format = 'matrix', names with format = 'baskets'"
            )
        if not (value.isascii() and value.isdigit()):
            cure = f"leave such lines out with comment = '{line[0]}'" if line[0] in "#%" else "mend the line"
            raise InputError(f"{source.uri}, line {number}: {shown(value)} is no whole number from 0; {cure}")
        if len(value) > SAFE_DIGITS and int64_of(value) is None:
            raise InputError(f"{source.uri}, line {number}: id {shown(value)} is beyond 64 bits; use smaller ids")
    if any(len(value) > SAFE_DIGITS for value in fields):
        return np.array([int64_of(value) for value in fields], dtype=np.int64)
    return np.array(fields, dtype=np.int64)


def _labelled_rows(source: EdgeSource, rows: list[Row]) -> list[Row]:
    """Each row's left vertex and its neighbours.

    A first line 'n n_left n_edges' is a head if n > n_left and the rows below begin with ascending
    ids: rows of neighbours are sorted as a rule, and are not headed by ascending ids.
    """
    if not _has_head(rows):
        return [(i, row) for i, (_, row) in enumerate(rows)]
    n, n_left, n_edges = rows[0][1].tolist()
    body = []
    for number, row in rows[1:]:
        if len(row) == 0:
            continue
        if row.max() >= n:
            raise InputError(
                f"{source.uri}, line {number}: id {row.max()} is beyond the {n} vertices of the head; mend it"
            )
        vertex, neighbours = int(row[0]), row[1:]
        same = neighbours[(neighbours < n_left) == (vertex < n_left)]
        if len(same):
            raise InputError(
                f"{source.uri}, line {number}: {vertex} and {same[0]} are of one side (left vertices are"
                f" 0…{n_left - 1}), so the graph is not bipartite; mend the row or the head"
            )
        body.append((vertex, neighbours))
    left = [(vertex, row) for vertex, row in body if vertex < n_left]
    right = [(vertex, row) for vertex, row in body if vertex >= n_left]
    for side in (left, right):  # rows of right vertices repeat the edges from their other end
        found = sum(len(row) for _, row in side)
        if found != n_edges and (side is left or right):
            raise InputError(
                f"{source.uri}, line 1: declares {n_edges} edges, but the rows of {'left' if side is left else 'right'}"
                f" vertices hold {found}; the file is cut off, or its head is wrong: fetch it again, or mend the head"
            )
    return left


def _has_head(rows: list[Row]) -> bool:
    head = rows[0][1]
    if len(head) != 3 or head[0] <= head[1]:
        return False
    first = np.array([row[0] for _, row in rows[1:] if len(row)], dtype=np.int64)
    return len(first) > 0 and bool(np.all(np.diff(first) > 0))
