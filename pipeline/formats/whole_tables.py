"""Tables of which every column is meant, whatever it holds: from files, and from memory."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.baskets import record_of, told_delimiter
from bicliq.pipeline.formats.csv_heads import comments_above, taken_for_comments, without_declaration
from bicliq.pipeline.formats.files import bare_name, files_of
from bicliq.pipeline.formats.frames import Frame, arrow_frame, frame_of
from bicliq.pipeline.formats.lines import TextLines, refuse_line
from bicliq.pipeline.formats.parquet import opened_parquet
from bicliq.pipeline.formats.recognise import text_head
from bicliq.pipeline.formats.tables import name_of, names_its_columns
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import listed

TAKEN = {"format", "left", "delimiter", "encoding", "quotes", "skip", "comment", "strip", "null_values"}
"""Settings of ingest that say something of such a table."""


def read_whole_table(source: Any, settings: IngestSettings) -> tuple[Frame, bool]:
    """Read all columns of a table, and whether numbers in it are text as in CSV.

    `source`: path or fsspec URL of a CSV, TSV or Parquet file, or a frame in memory. `settings`:
    how lines are cut up; those beside `TAKEN` are refused. Raises InputError where it is no such
    table, or a line has more or fewer fields than there are names.
    """
    for name in settings.model_dump(exclude_defaults=True).keys() - TAKEN:
        raise InputError(f"{name} is for edge tables, and all columns of this table are scaled; leave it out")
    if not isinstance(source, str | os.PathLike):
        if not names_its_columns(source):
            raise InputError(f"{name_of(source)}: has no columns with names; give a frame, or a file of columns")
        return frame_of(source, settings), False
    uri = os.fspath(source)
    if files_of(uri) != [uri] or not bare_name(uri).endswith((".csv", ".tsv", ".txt", ".parquet")):
        raise InputError(f"{uri}: is no file of columns that can be scaled; write it as one .csv, .tsv or .parquet")
    if bare_name(uri).endswith(".parquet"):
        with opened_parquet(uri) as file:
            return arrow_frame(uri, file.read()), False
    return _text_frame(uri, settings), True


def _text_frame(uri: str, settings: IngestSettings) -> Frame:
    """Columns of text: the first line names them."""
    head, declared = without_declaration(text_head(uri, settings))
    delimiter = settings.delimiter or declared or ("\t" if bare_name(uri).endswith(".tsv") else told_delimiter(head))
    missing, rows = frozenset(settings.null_values), list[list[str | None]]()
    above, names = list[tuple[int, list[str | None]]](), list[str]()
    commented = comments_above([line for line in head.split("\n") if line.strip()], settings)
    for number, line in TextLines(uri, settings):
        if not line.strip() or (declared and number == 1):
            continue
        fields = record_of(uri, number, line, delimiter, settings).labels(missing)
        cut = [field.strip() if field and settings.strip else field for field in fields]
        if commented:
            above.append((number, cut))
            commented -= 1
            continue
        if not names and above and len(above[-1][1]) == len(cut) > 1:
            names = [field or "" for field in above.pop()[1]]
            names[0] = names[0].lstrip("#% ")
        if not names:
            names = [field or "" for field in cut]
        elif len(cut) != len(names):
            raise refuse_line(uri, number, line, f"has {len(cut)} fields, and {len(names)} columns have names; mend it")
        else:
            rows.append(cut)
    if not rows:
        raise InputError(f"{uri}: has no row below the names of its columns; check the file")
    columns = {at: pa.array([row[at] or None for row in rows], pa.string()) for at in range(len(names))}
    said = f"{uri}: the first line of fields was taken for names of columns: {listed(names)}"
    assumed = (*taken_for_comments(uri, [number for number, _ in above]), said)
    return Frame(uri, tuple(names), lambda positions: [columns[at] for at in positions], is_table=True, assumed=assumed)
