"""Heads of text formats with fixed columns: comments and declared sizes in, a `Layout` out."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.columns import wants_time, wants_weight
from bicliq.pipeline.formats.problems import int64_of
from bicliq.pipeline.formats.source import Layout
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import shown


def refuse_columns(source: str, settings: IngestSettings, what: str) -> None:
    """Raise an `InputError` where weights or times are asked of a format that has neither."""
    if wants_weight(settings) or wants_time(settings):
        raise InputError(
            f"{source}: {what} has neither weights nor times; leave out weight, min_weight, time, since,"
            " until, window and in_step"
        )


def refuse_choice(source: str, settings: IngestSettings, what: str, numbered: bool = True) -> None:
    """Refuse settings that choose columns or labels of a format that leaves no choice."""
    for name, chosen in (("left", settings.left), ("right", settings.right)):
        if chosen is not None:
            raise InputError(
                f"{source}: {name} = {shown(chosen)} cannot be chosen: {what} has fixed columns; leave it out, or name"
                " the format csv if the file is one"
            )
    if numbered and settings.ids == "text":
        raise InputError(f"{source}: {what} numbers its vertices, so its ids are no text; leave out ids = 'text'")


def refuse_lines(source: str, settings: IngestSettings) -> None:
    """Refuse settings that leave out lines of a table that has none."""
    if settings.skip:
        raise InputError(
            f"{source}: skip = {settings.skip} is for lines of text and rows of sheets; leave it out, and such rows before"
        )
    refuse_comment(source, settings)


def refuse_comment(source: str, settings: IngestSettings) -> None:
    """Refuse marks of comments in a table that is no text."""
    if settings.comment is not None:
        raise InputError(
            f"{source}: comment = {shown(settings.comment)} is for lines of text; leave it out, and such rows before"
        )


IDLE = {
    "parquet": ("delimiter", "encoding", "header", "quotes", "multiline"),
    "duckdb": ("delimiter", "encoding", "header", "quotes", "multiline"),
    "table": ("delimiter", "encoding", "header", "quotes", "multiline"),
    "excel": ("delimiter", "encoding", "quotes", "multiline"),
    "jsonl": ("delimiter", "header", "quotes", "multiline"),
    "gmt": ("delimiter", "quotes", "multiline"),
    **dict.fromkeys(("cxt", "pajek", "dl"), ("delimiter", "header", "quotes", "multiline")),
    **dict.fromkeys(
        ("konect", "snap", "mtx", "adjacency"), ("delimiter", "header", "quotes", "multiline", "split", "fold")
    ),
}
"""Settings of delimited text that formats have no use for."""


def told_idle(source: str, kind: str, settings: IngestSettings) -> tuple[str, ...]:
    """Say which settings of text were given for a file of another format.

    Examples
    --------
    >>> told_idle("t.parquet", "parquet", IngestSettings(header=False))
    ("t.parquet: header = false has no effect on format 'parquet'",)
    """
    given = ((name, getattr(settings, name)) for name in IDLE.get(kind, ()))
    return tuple(
        f"{source}: {name} = {str(value).lower() if isinstance(value, bool) else shown(value)} has no effect on"
        f" {'a table in memory' if kind == 'table' else f'format {kind!r}'}"
        for name, value in given
        if value != IngestSettings.model_fields[name].default
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
    """KONECT: '%' lines, then 'left right [weight [time]]' from 1.

    The second '%' line declares edges, left, right.
    """
    refuse_choice(source, settings, "a KONECT file")
    lines = head.split("\n")
    at = _data_line(source, lines, "%")
    one_set = re.match(r"%\s*(sym|asym)\b", lines[0]) is not None
    if one_set:
        _need_sides(source, settings, f"a KONECT file that begins with {shown(lines[0])}")
    found = (re.fullmatch(r"%\s+([0-9]+)\s+([0-9]+)\s+([0-9]+)\s*", line) for line in lines[:at])
    declared = next((match.groups() for match in found if match), None)
    rows, n_left, n_right = _sizes(source, declared) if declared else (None, 0, 0)
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
        names=_fixed_names(columns, "left", "right", "weight", "time"),
        n_left=n_left,
        n_right=n_right,
        rows=rows if columns == 2 else None,  # a third column may be a multiplicity, counted as edges
        one_set=one_set,
    )


def snap_layout(source: str, head: str, settings: IngestSettings) -> Layout:
    """SNAP: '#' lines, then 'source target' with one id space; the sides must be said."""
    refuse_choice(source, settings, "a SNAP file")
    _need_sides(source, settings, "a SNAP file")
    lines = head.split("\n")
    at = _data_line(source, lines, "#")
    columns = len(lines[at].split())
    _need_two(source, at, lines[at], columns)
    weight = _optional_column(source, wants_weight(settings), "weight", 2, columns)
    time = _optional_column(source, wants_time(settings), "time", 3 if weight is not None else 2, columns)
    left_out = f"{source}: columns beyond the second, as {shown(lines[at].split()[-1])}, were left out"
    return Layout(
        at,
        None,
        0,
        1,
        weight,
        time,
        "numbers",
        columns,
        _fixed_names(columns, "source", "target"),
        one_set=True,
        assumed=(left_out,) if columns > 2 and weight is None and time is None else (),
    )


def _need_sides(source: str, settings: IngestSettings, what: str) -> None:
    """Refuse a file of one set of vertices, unless it is said how they become two sides."""
    if settings.sides is None:
        raise InputError(
            f"{source}: {what} lists the edges of one set of vertices, not of two sides; say what the sides are:"
            " sides = 'source-target' makes every source a left and every target a right vertex,"
            " sides = 'columns' says that the two columns are two sets"
        )


def mtx_layout(source: str, head: str, settings: IngestSettings) -> Layout:
    """MatrixMarket coordinate files: rows are left, columns are right, both from 1."""
    refuse_choice(source, settings, "a MatrixMarket file")
    lines = head.split("\n")
    words = lines[0].lower().split()
    if len(words) != 5 or words[0] != "%%matrixmarket" or words[1:3] != ["matrix", "coordinate"]:
        raise InputError(
            f"{source}, line 1: {shown(lines[0])} heads no coordinate matrix; it must be"
            " '%%MatrixMarket matrix coordinate …'"
        )
    refuse_complex(source, words)
    if words[4] != "general":
        raise InputError(
            f"{source}, line 1: a {words[4][:20]} matrix ties one set of vertices to itself and is no bipartite graph;"
            " give the biadjacency matrix (general), rows for the left side and columns for the right"
        )
    at = _data_line(source, lines, "%")
    sizes = lines[at].split()
    if len(sizes) != 3 or not all(re.fullmatch("[0-9]+", size) for size in sizes):
        raise InputError(f"{source}, line {at + 1}: {shown(lines[at])} must be three numbers: rows, columns, entries")
    columns = 2 if words[3] == "pattern" else 3
    if wants_time(settings):
        raise InputError(
            f"{source}: a MatrixMarket file has no times; leave out time, since, until, window and in_step"
        )
    weight = _optional_column(source, wants_weight(settings), "weight", 2, columns)
    n_left, n_right, rows = _sizes(source, sizes)
    names = _fixed_names(columns, "row", "column", "value")
    value = None if columns == 2 else 2
    return Layout(
        at + 1,
        None,
        0,
        1,
        weight,
        None,
        "indices",
        columns,
        names,
        n_left=n_left,
        n_right=n_right,
        rows=rows,
        value=value,
    )


def refuse_complex(source: str, words: Sequence[str]) -> None:
    """Raise an `InputError` where the head of a MatrixMarket file, in words, says complex."""
    if "complex" in map(str.lower, words):
        raise InputError(
            f"{source}, line 1: a matrix of complex numbers says not which of them are edges; write their amounts as real"
            " numbers, or pattern alone"
        )


def _fixed_names(columns: int, *names: str) -> tuple[str, ...]:
    """Names of the columns that a format fixes, and numbers of the others."""
    return (*names[:columns], *map(str, range(len(names), columns)))


def _sizes(source: str, declared: Sequence[str]) -> list[int]:
    sizes = []
    for digits in declared:
        size = int64_of(digits)
        if size is None:
            raise InputError(f"{source}: declares the size {shown(digits)}, which is beyond 64 bits; mend the head")
        sizes.append(size)
    return sizes


def _need_two(source: str, at: int, line: str, columns: int) -> None:
    if columns < 2:
        raise InputError(
            f"{source}, line {at + 1}: {shown(line)} has {columns} column; an edge needs a left and a right id"
        )
