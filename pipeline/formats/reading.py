"""The two ways in: recognise an edge table, and read it batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.formats.adjacency import adjacency_batches
from pipeline.formats.files import files_of, size_of
from pipeline.formats.heads import csv_layout, konect_layout, mtx_layout, refuse_columns, snap_layout
from pipeline.formats.parquet import open_parquet, parquet_batches
from pipeline.formats.recognise import recognise, text_head
from pipeline.formats.source import DroppedLines, EdgeSource
from pipeline.formats.text import text_batches
from pipeline.settings import IngestSettings


def open_edges(source: str, settings: IngestSettings) -> EdgeSource:
    """Recognise an edge table.

    Parameters
    ----------
    source
        Path or fsspec URL; ``.gz`` and ``.zst`` are decompressed. A glob names several files of one format, a
        folder all the Parquet files below it.
    settings
        Format, columns and what is needed of weights and times.

    Raises
    ------
    InputError
        If the file is missing, empty, binary, of unknown format, or lacks a named column.
    """
    names = files_of(source)
    if names != [source]:
        return _open_several(source, [open_edges(name, settings) for name in names])
    size = size_of(source)
    kind = settings.format
    if kind == "auto":
        kind = recognise(source)  # type: ignore[assignment]
    if kind == "parquet":
        return open_parquet(source, size, settings)
    head = text_head(source)
    if kind == "adjacency":
        refuse_columns(source, settings, "an adjacency list")
        return EdgeSource(source, kind, size, settings, None, False, False)
    openers = {
        "konect": konect_layout,
        "snap": snap_layout,
        "mtx": mtx_layout,
        "csv": csv_layout,
        "tsv": csv_layout,
    }
    layout = openers[kind](source, head, _implied(settings, kind))
    shared = kind == "snap"
    return EdgeSource(source, kind, size, settings, layout, layout.weight is not None, layout.time is not None, shared)


def _implied(settings: IngestSettings, kind: str) -> IngestSettings:
    """Settings with the delimiter that the format implies."""
    if kind == "tsv" and settings.delimiter is None:
        return settings.model_copy(update={"delimiter": "\t"})
    return settings


def _open_several(source: str, parts: list[EdgeSource]) -> EdgeSource:
    """One table of several files, which must have one format and one type of labels a side."""
    first = parts[0]
    for part in parts:
        if part.format != first.format:
            raise InputError(
                f"{part.uri}: is {part.format}, but {first.uri} is {first.format}; give files of one format at a time"
            )
        for side in sorted(part.text_sides ^ first.text_sides):
            raise InputError(
                f"{part.uri}: its {side} ids are {'text' if side in part.text_sides else 'numbers'}, unlike those of"
                f" {first.uri}; cast the column to one type in all files"
            )
    return replace(first, uri=source, bytes=sum(part.bytes for part in parts), parts=tuple(parts))


def read_batches(source: EdgeSource, dropped: DroppedLines | None = None) -> Iterator[pa.RecordBatch]:
    """Batches with columns left and right (int64 or string), and weight (float64) and time as asked.

    Parameters
    ----------
    source
        The table, from `open_edges`.
    dropped
        Counts lines with too many or too few fields, which are then left out; None: such a line is an error.

    Raises
    ------
    InputError
        At the first bad line, naming file, line, column, value and remedy.
    TextLabels
        Where labels that began as whole numbers turn out to be text.
    """
    try:
        for part in source.files:
            if part.format == "parquet":
                yield from parquet_batches(part)
            elif part.format == "adjacency":
                yield from adjacency_batches(part)
            else:
                yield from text_batches(part, dropped)
    except (OSError, EOFError, pa.ArrowException) as error:
        raise InputError(
            f"{part.uri}: cannot be read to its end: {error}; the file is damaged or cut off: fetch it again"
        ) from error
