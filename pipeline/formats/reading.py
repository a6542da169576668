"""The two ways in: recognise an edge table, and read it batch by batch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

from bicliq.pipeline.errors import CapacityError, InputError
from bicliq.pipeline.formats.adjacency import adjacency_batches
from bicliq.pipeline.formats.baskets import (
    baskets_batches,
    context_batches,
    gmt_batches,
    refuse_one_set,
    told_leading_names,
    top_of,
)
from bicliq.pipeline.formats.columns import wants_time
from bicliq.pipeline.formats.containers import open_duckdb, open_parquet_matrix, open_sheet
from bicliq.pipeline.formats.csv_heads import csv_layout
from bicliq.pipeline.formats.files import Files, files_of, input_errors, size_of, told_others
from bicliq.pipeline.formats.forms import in_forms
from bicliq.pipeline.formats.heads import (
    konect_layout,
    mtx_layout,
    refuse_choice,
    refuse_columns,
    snap_layout,
    told_idle,
)
from bicliq.pipeline.formats.json_lines import json_batches, open_json_lines
from bicliq.pipeline.formats.kinds import LINES
from bicliq.pipeline.formats.matrix import matrix_batches, numbers_its_rows, open_matrix
from bicliq.pipeline.formats.pajek import pajek_batches
from bicliq.pipeline.formats.parquet import open_parquet, parquet_batches
from bicliq.pipeline.formats.recognise import recognise, text_head, typed_kind
from bicliq.pipeline.formats.source import FIRST_WORD, EdgeBatch, EdgeSource, Layout
from bicliq.pipeline.formats.tables import Edges, name_of, open_table, table_batches
from bicliq.pipeline.formats.text import text_batches
from bicliq.pipeline.formats.ucinet import dl_batches
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import listed

LAYOUTS = {"konect": konect_layout, "snap": snap_layout, "mtx": mtx_layout, "csv": csv_layout, "tsv": csv_layout}
READERS = {
    "parquet": parquet_batches,
    "adjacency": adjacency_batches,
    "matrix": matrix_batches,
    "baskets": baskets_batches,
    "gmt": gmt_batches,
    "cxt": context_batches,
    "pajek": pajek_batches,
    "dl": dl_batches,
    "jsonl": json_batches,
}

OPENERS = {
    "parquet": open_parquet,
    "jsonl": open_json_lines,
    "excel": open_sheet,
    "duckdb": open_duckdb,
    "matrix": open_matrix,
}
"""How formats are opened whose columns have names or types, or whose cells are edges."""


def open_edges(source: Edges, settings: IngestSettings) -> EdgeSource:
    """Recognise an edge table.

    `source`: path or fsspec URL; ``.gz`` and ``.zst`` are decompressed. A glob names several files
    of one format, a folder all the tables below it. Or the files themselves (`Files`), a table in
    memory (`pipeline.formats.tables`), or one that was opened, which is given back. `settings`:
    format, columns and what is needed of weights and times. Raises InputError if a file is missing,
    empty, binary or of unknown format, lacks a named column or does not say which columns are
    meant, or if several files are not one table. Raises CapacityError if memory runs out.
    """
    try:
        return _opened(source, settings)
    except MemoryError as error:
        raise CapacityError(
            f"{name_of(source)}: memory ran out while the table was recognised ({str(error) or 'MemoryError'}); raise what"
            " this process may take (ulimit -v, the memory of a container), or give it as CSV or Parquet, of which a part"
            " at a time is read"
        ) from error


def _opened(source: Edges, settings: IngestSettings) -> EdgeSource:
    if isinstance(source, EdgeSource):
        return source
    if isinstance(source, Files):
        return _open_several(source.name, files_of(source), settings)
    if not isinstance(source, str | os.PathLike):
        return open_table(source, settings)
    uri = os.fspath(source)
    names = files_of(uri)
    if names == [uri]:
        return _open_file(uri, settings)
    opened = _open_several(uri, names, settings)
    return replace(opened, assumed=(*opened.assumed, *told_others(uri)))


def _open_file(source: str, settings: IngestSettings) -> EdgeSource:
    size = size_of(source)
    kind: str = settings.format
    if kind == "auto":
        kind = recognise(source, settings)
    if kind == "matrix":
        kind = typed_kind(source) or kind
    if kind == "parquet" and settings.format == "matrix":
        return open_parquet_matrix(source, size, settings)
    if kind in OPENERS:
        opened = OPENERS[kind](source, size, settings)
        return replace(opened, assumed=(*opened.assumed, *told_idle(source, kind, settings)))
    head, said = text_head(source, settings), told_idle(source, kind, settings)
    if kind in LINES:
        about = LINES[kind]
        if not about.valued or wants_time(settings):
            refuse_columns(source, settings, about.called)
        named = kind == "baskets" and settings.left == FIRST_WORD
        chosen = settings.model_copy(update={"left": None}) if named else settings
        refuse_choice(source, chosen, about.called, numbered=about.numbered)
        if about.two_sided:
            refuse_one_set(source, settings, about.called)
        said += top_of(source, kind, settings).assumed if about.with_top else ()
        said += told_leading_names(source, settings) if kind == "baskets" else ()
        return EdgeSource(source, kind, size, settings, None, assumed=said)
    layout = LAYOUTS[kind](source, head, _implied(settings, kind))
    text = frozenset(("left", "right") if settings.ids == "text" else ())
    return EdgeSource(source, kind, size, settings, layout, text, assumed=(*layout.assumed, *said))


def _implied(settings: IngestSettings, kind: str) -> IngestSettings:
    """Settings with the delimiter that the format implies."""
    if kind == "tsv" and settings.delimiter is None:
        return settings.model_copy(update={"delimiter": "\t"})
    return settings


# ---- several files -------------------------------------------------------------------------------


def _open_several(source: str, names: list[str], settings: IngestSettings) -> EdgeSource:
    """One table of several files, which must have one format, the same columns and types."""
    first, *others = (_open_file(name, settings) for name in names)
    parts = [first, *(_with_header_of(first, part) for part in others)]
    for part in parts:
        _refuse_another_table(first, part)
    if len(parts) > 1:
        _refuse_numbered_alike(parts)
    size = sum(part.bytes for part in parts)
    return replace(first, uri=source, bytes=size, parts=tuple(parts), assumed=_assumed_of(parts))


def _assumed_of(parts: list[EdgeSource]) -> tuple[str, ...]:
    """What was taken for granted of some files; what is the same of several is said once."""
    files: dict[str, list[str]] = {}
    for part in parts:
        for sentence in part.assumed:
            files.setdefault(sentence.removeprefix(f"{part.uri}: "), []).append(part.uri)
    return tuple(
        f"{first}{f' and {len(more):,} more' if more else ''}: {sentence}" for sentence, (first, *more) in files.items()
    )


def _with_header_of(first: EdgeSource, part: EdgeSource) -> EdgeSource:
    """The part, with the header of the first file where its first line is just that."""
    if part.format not in ("csv", "tsv") or first.layout is None or part.layout is None:
        return part
    if first.layout.header and not part.layout.header and part.settings.header is None:
        named = _open_file(part.uri, part.settings.model_copy(update={"header": True}))
        if named.layout is not None and named.layout.names == first.layout.names:
            return replace(named, settings=part.settings)
    return part


def _refuse_numbered_alike(parts: list[EdgeSource]) -> None:
    """Raise an `InputError` where lines of several files are numbered alike, and would be one."""
    for part in parts:
        if part.format == "baskets" and not part.names_its_baskets:
            what, cure = (
                "baskets",
                "join the files into one, as cat does, or say left = '0' if each begins with its name",
            )
        elif part.format == "matrix" and numbers_its_rows(part):
            what, cure = "rows without names", "name the rows in each file"
        else:
            continue
        raise InputError(
            f"{part.uri}: the {what} of each of {len(parts):,} files are numbered alike, and would become one; {cure}"
        )


def _refuse_another_table(first: EdgeSource, part: EdgeSource) -> None:
    """Raise an `InputError` where two files are not parts of one table."""
    if part.format != first.format:
        raise InputError(
            f"{part.uri}: is {part.format}, but {first.uri} is {first.format}; give files of one format at a time"
        )
    if part.layout is not None and first.layout is not None and part.layout.ids == "labels":
        _refuse_other_columns(first, first.layout, part, part.layout)
    for side in sorted(part.text_sides ^ first.text_sides):
        raise InputError(
            f"{part.uri}: its {side} ids are {'text' if side in part.text_sides else 'numbers'}, unlike those of"
            f" {first.uri}; cast the column to one type in all files, or take all as text with ids = 'text'"
        )


def _refuse_other_columns(first: EdgeSource, known: Layout, part: EdgeSource, layout: Layout) -> None:
    """Raise an `InputError` where two files have other columns, or one of them names of them."""
    if layout.header != known.header:
        bare, (named, names) = (first, (part, layout.names)) if layout.header else (part, (first, known.names))
        raise InputError(
            f"{bare.uri}: begins with data, but {named.uri} with what looks like names of columns"
            f" ({listed(names)}); give all files the same header, or say with header = true or false"
            " whether they have one"
        )
    if not (layout.by_name and known.by_name) and layout.names != known.names:
        raise InputError(
            f"{part.uri}: has the columns {listed(layout.names)}, but {first.uri} has {listed(known.names)};"
            " name left and right, so that they are found in each file by their names; if the first lines are data, say"
            " header = false"
        )


# ---- rows ----------------------------------------------------------------------------------------


def read_batches(source: EdgeSource) -> Iterator[EdgeBatch]:
    """Read a table, file by file.

    `source`: the table, from `open_edges`. Every row of the files comes once, in their order.
    Raises InputError at the first bad line, naming file, line, column, value and remedy.
    """
    for part in source.files:
        read = READERS.get(part.format, text_batches) if part.table is None else table_batches
        with input_errors(part.uri):
            for batch in read(part):
                yield in_forms(part, batch)
