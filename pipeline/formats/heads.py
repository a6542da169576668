"""Heads of text formats: comments, declared sizes and column names in, a `Layout` out."""

from __future__ import annotations

import csv
import io
import re

from pipeline.errors import InputError
from pipeline.formats.source import Layout
from pipeline.settings import IngestSettings


def wants_weight(settings: IngestSettings) -> bool:
    """Whether the settings need weights: as a column, to filter by, or to unite repeated edges by."""
    return settings.weight is not None or settings.min_weight is not None or settings.duplicates in ("sum", "max")


def wants_time(settings: IngestSettings) -> bool:
    """Whether the settings need times: as a column, or to filter by."""
    return settings.time is not None or settings.since is not None or settings.until is not None


def refuse_columns(source: str, settings: IngestSettings, what: str) -> None:
    """Raise an `InputError` where the settings ask for weights or times of a format that has neither."""
    if wants_weight(settings) or wants_time(settings):
        raise InputError(
            f"{source}: {what} has neither weights nor times; leave out weight, min_weight, time, since and until"
        )


def _optional_column(source: str, wanted: bool, name: str, at: int, columns: int) -> int | None:
    if wanted and at >= columns:
        raise InputError(
            f"{source}: asked for a {name}, but its lines have {columns} columns; leave out what needs a {name}"
        )
    return at if wanted else None


def _data_line(source: str, lines: list[str], comments: str) -> int:
    at = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith(tuple(comments))), None)
    if at is None:
        raise InputError(f"{source}: no edge follows its {len(lines)} comment lines; check the file")
    return at


def konect_layout(source: str, head: str, settings: IngestSettings) -> Layout:
    """KONECT: '%' lines (the second declares edges, left, right), then 'left right [weight [time]]' from 1."""
    lines = head.splitlines()
    at = _data_line(source, lines, "%")
    sizes = next((m for m in (re.fullmatch(r"%\s+(\d+)\s+(\d+)\s+(\d+)\s*", line) for line in lines[:at]) if m), None)
    columns = len(lines[at].split())
    _need_two(source, at, lines[at], columns)
    return Layout(
        skip=at,
        delimiter=None,
        left=0,
        right=1,
        weight=_optional_column(source, wants_weight(settings), "weight", 2, columns),
        time=_optional_column(source, wants_time(settings), "time", 3, columns),
        ids="indices",
        columns=columns,
        n_left=int(sizes[2]) if sizes else 0,
        n_right=int(sizes[3]) if sizes else 0,
        rows=int(sizes[1])
        if sizes and columns == 2
        else None,  # a third column may be a multiplicity, counted as edges
    )


def snap_layout(source: str, head: str, settings: IngestSettings) -> Layout:
    """SNAP: '#' lines, then 'source target' with one id space; the sides must be said."""
    if settings.sides is None:
        raise InputError(
            f"{source}: a SNAP file lists the edges of one set of vertices, not of two sides; say what the sides are:"
            " sides = 'source-target' makes every source a left and every target a right vertex,"
            " sides = 'columns' says that the two columns are two sets"
        )
    lines = head.splitlines()
    at = _data_line(source, lines, "#")
    columns = len(lines[at].split())
    _need_two(source, at, lines[at], columns)
    weight = _optional_column(source, wants_weight(settings), "weight", 2, columns)
    time = _optional_column(source, wants_time(settings), "time", 3 if weight is not None else 2, columns)
    return Layout(at, None, 0, 1, weight, time, "numbers", columns)


def mtx_layout(source: str, head: str, settings: IngestSettings) -> Layout:
    """MatrixMarket coordinate files: rows are left, columns are right, both from 1."""
    lines = head.splitlines()
    words = lines[0].lower().split()
    if len(words) != 5 or words[0] != "%%matrixmarket" or words[1:3] != ["matrix", "coordinate"]:
        raise InputError(
            f"{source}, line 1: {lines[0][:60]!r} heads no coordinate matrix; it must be '%%MatrixMarket matrix coordinate …'"
        )
    if words[4] != "general":
        raise InputError(
            f"{source}, line 1: a {words[4]} matrix ties one set of vertices to itself and is no bipartite graph;"
            " give the biadjacency matrix (general), rows for the left side and columns for the right"
        )
    at = _data_line(source, lines, "%")
    sizes = lines[at].split()
    if len(sizes) != 3 or not all(size.isdigit() for size in sizes):
        raise InputError(f"{source}, line {at + 1}: {lines[at][:60]!r} must be three numbers: rows, columns, entries")
    columns = 2 if words[3] == "pattern" else 3
    if wants_time(settings):
        raise InputError(f"{source}: a MatrixMarket file has no times; leave out time, since and until")
    weight = _optional_column(source, wants_weight(settings), "weight", 2, columns)
    return Layout(at + 1, None, 0, 1, weight, None, "indices", columns, *map(int, sizes))


def _need_two(source: str, at: int, line: str, columns: int) -> None:
    if columns < 2:
        raise InputError(
            f"{source}, line {at + 1}: {line[:60]!r} has {columns} column; an edge needs a left and a right id"
        )


def csv_layout(source: str, head: str, settings: IngestSettings) -> Layout:
    """CSV and TSV: columns by name or number; labels may be text or whole numbers."""
    delimiter = settings.delimiter or _guess_delimiter(source, head)
    rows = csv.reader(io.StringIO(head), delimiter=delimiter)
    first = next((fields for fields in rows if fields), [])
    line_num = rows.line_num
    named = any(
        name is not None and not name.isdigit()
        for name in (settings.left, settings.right, settings.weight, settings.time)
    )
    header = settings.header
    if header is None:
        numbered = settings.left is not None and not named
        header = named or _looks_like_names(first, next((fields for fields in rows if fields), []), numbered)
    names = first if header else [str(i) for i in range(len(first))]
    defaults = ("left", "right") if header and {"left", "right"} <= set(first) else ("0", "1")

    def place(wanted: str | None, what: str) -> int:
        return place_of(source, wanted, what, names, header)

    left, right = place(settings.left or defaults[0], "left"), place(settings.right or defaults[1], "right")
    refuse_one_column(source, left, right, names[left])
    return Layout(
        skip=line_num if header else 0,
        delimiter=delimiter,
        left=left,
        right=right,
        weight=place(settings.weight, "weight") if wants_weight(settings) else None,
        time=place(settings.time, "time") if wants_time(settings) else None,
        ids="labels",
        columns=len(first),
    )


def _looks_like_names(first: list[str], second: list[str], numbered: bool) -> bool:
    """Whether a first line names columns: it holds no number, and the second does or the columns go by name."""
    if any(is_whole(field) for field in first):
        return False
    return not numbered or any(is_whole(field) for field in second)


def refuse_one_column(source: str, left: int, right: int, name: str) -> None:
    """Raise an `InputError` where left and right are the same column."""
    if left == right:
        raise InputError(f"{source}: column {name!r} is asked for as both left and right; name two columns")


def _guess_delimiter(source: str, head: str) -> str:
    first = next(line for line in head.splitlines() if line.strip())
    found = [mark for mark in ",\t;|" if mark in first]
    if not found:
        raise InputError(f"{source}, line 1: {first[:60]!r} holds none of , tab ; |; name the delimiter")
    return max(found, key=first.count)


def place_of(source: str, wanted: str | None, what: str, names: list[str], header: bool) -> int:
    """Position of a wanted column, by name or number from 0; an `InputError` lists the columns there are."""
    listed = ", ".join(names) if header else f"numbers 0…{len(names) - 1}"
    if wanted is None:
        raise InputError(f"{source}: which column is the {what}? Name it; there are: {listed}")
    if header and wanted in names:
        return names.index(wanted)
    if wanted.isdigit() and int(wanted) < len(names):
        return int(wanted)
    raise InputError(f"{source}, line 1: there is no column {wanted!r} for the {what}; there are: {listed}")


def is_whole(text: str) -> bool:
    """Whether a text is a whole number, blanks aside."""
    return re.fullmatch(r"\s*-?[0-9]+\s*", text) is not None
