"""Tables within a file of several: sheets of an Excel workbook, tables of a DuckDB file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.extras import file_system, needs
from bicliq.pipeline.formats.columns import SAMPLE
from bicliq.pipeline.formats.csv_heads import UNDERLINED, asked_columns, begins_with_names
from bicliq.pipeline.formats.files import WITHIN, file_of, input_errors, open_bytes, table_within
from bicliq.pipeline.formats.frames import Frame, arrow_frame
from bicliq.pipeline.formats.heads import refuse_comment, refuse_lines
from bicliq.pipeline.formats.in_python import array_of_values
from bicliq.pipeline.formats.parquet import index_of, opened_parquet
from bicliq.pipeline.formats.source import KNOWN, EdgeSource
from bicliq.pipeline.formats.tables import frame_source, matrix_frame
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import brief, listed, shown

DUCKDB, DUCKDB_HEAD = b"DUCK", 12
"""What stands in the head of a DuckDB file, behind a checksum."""


def open_sheet(source: str, size: int, settings: IngestSettings) -> EdgeSource:
    """A sheet of a workbook: the one that is named behind ``::``, or the only one.

    Raises InputError where openpyxl is not installed, the file is no workbook, or the sheet is not
    clear.
    """
    refuse_comment(source, settings)
    with needs("excel", source):
        import openpyxl
    with input_errors(source), open_bytes(source) as file:
        whole = io.BytesIO(file.read())  # not all web servers give parts
        try:
            book = openpyxl.load_workbook(whole, read_only=True, data_only=True)
        except MemoryError:
            raise
        except Exception as error:
            raise InputError(f"{source}: is no Excel workbook (.xlsx): {brief(error)}; save it again as one") from error
        with closing(book):
            sheet = book[_chosen(source, book.sheetnames, "sheet")]
            below = enumerate(sheet.iter_rows(min_row=settings.skip + 1, values_only=True), settings.skip + 1)
            numbered = [(at, row) for at, row in below if any(value is not None for value in row)]
    if not numbered:
        raise InputError(f"{source}: the sheet holds nothing{', but for rows to skip' if settings.skip else ''}")
    frame = _sheet_frame(source, numbered, settings)
    return _source(frame, settings, "excel")


def _sheet_frame(source: str, numbered: Sequence[tuple[int, tuple[Any, ...]]], settings: IngestSettings) -> Frame:
    """Columns of a sheet; a first row of text names them, unless that is said otherwise."""
    numbers, rows = zip(*numbered, strict=True)
    first = numbers[0]
    named = _has_names(source, first, rows, settings) if settings.header is None else settings.header
    width = max(at for row in rows for at, value in enumerate(row, 1) if value is not None)
    rows = tuple(row[:width] for row in rows)
    names = [str(at) if not named or value is None else str(value) for at, value in enumerate(_filled(rows[0], width))]
    if settings.format == "matrix" and settings.header is None:
        names = ["" if value is None else str(value) for value in _filled(rows[0], width)]
    body, of_body = (rows[1:], numbers[1:]) if named else (rows, numbers)
    lines = [str(value) for value in body[0] if value is not None] if named and body else []
    if lines and all(map(UNDERLINED.fullmatch, lines)):
        raise InputError(
            f"{source}, row {of_body[0]}: {listed(lines)} underline the names above them; take the row out of the sheet"
        )
    columns = [[_filled(row, width)[at] for row in body] for at in range(width)]
    assumed: tuple[str, ...] = ()
    if settings.header is None:
        what = (
            f"({listed(rows[0])}) was taken for names of columns; say header = false if it is data"
            if named
            else "was taken for data; say header = true if it names columns"
        )
        assumed = (f"{source}: row {first} {what}",)

    def read(positions: Sequence[int]) -> list[Any]:
        return [array_of_values(source, names[at], columns[at], lambda row: f"row {of_body[row]}") for at in positions]

    return Frame(source, tuple(names), read, is_table=True, rows=of_body, assumed=assumed)


def _has_names(source: str, first: int, rows: Sequence[tuple[Any, ...]], settings: IngestSettings) -> bool:
    filled = [value for value in rows[0] if value is not None]
    whole = settings.format != "matrix" or (rows[0][0] is not None and len(rows[0]) > 2)
    if (
        whole
        and len(filled) == 1 < len(rows)
        and max(sum(value is not None for value in row) for row in rows[1:SAMPLE]) > 1
    ):
        raise InputError(
            f"{source}, row {first}: {shown(str(filled[0]))} stands alone and may be a title; leave it out with skip ="
            f" {first}, or say header = true if it names a column, or header = false if it is data"
        )
    if settings.format == "matrix":
        return True
    if asked := asked_columns(source, settings):
        some = [["" if value is None else str(value) for value in row] for row in rows[:SAMPLE]]
        return begins_with_names(f"{source}, row {first}", some, asked)
    return all(isinstance(value, str | None) for value in rows[0])


def _filled(row: tuple[Any, ...], width: int) -> tuple[Any, ...]:
    return row + (None,) * (width - len(row))


def open_duckdb(source: str, size: int, settings: IngestSettings) -> EdgeSource:
    """A table or view of a DuckDB file: the one that is named behind ``::``, or the only one.

    Raises InputError where duckdb is not installed, the file is none of it or not on a disk, or the
    table is not clear.
    """
    refuse_lines(source, settings)
    with needs("frames", source):
        import duckdb
    fs, path = file_system(file_of(source))
    if "file" not in (fs.protocol if isinstance(fs.protocol, tuple) else (fs.protocol,)):
        raise InputError(f"{source}: a DuckDB file is read where it lies on a disk; copy it to one first")
    with input_errors(source), open_bytes(file_of(source)) as file:
        if DUCKDB not in file.read(DUCKDB_HEAD):
            raise InputError(f"{source}: is no DuckDB file; name another, or its format: one of {KNOWN}")
    try:
        with duckdb.connect(path, read_only=True) as database:
            found = database.execute("select table_schema, table_name from information_schema.tables").fetchall()
            named = {name if schema == "main" else f"{schema}.{name}": (schema, name) for schema, name in found}
            chosen = named[_chosen(source, sorted(named), "table")]
            quoted = ".".join('"' + part.replace('"', '""') + '"' for part in chosen)
            table = database.sql(f"select * from {quoted}").to_arrow_table()
    except duckdb.Error as error:
        raise InputError(
            f"{source}: cannot be read as a DuckDB file: {brief(error)}; close it elsewhere, or check it"
        ) from error
    return _source(arrow_frame(source, table), settings, "duckdb")


def open_parquet_matrix(source: str, size: int, settings: IngestSettings) -> EdgeSource:
    """A Parquet file whose cells say which row has which column; an index of pandas names rows."""
    refuse_lines(source, settings)
    with opened_parquet(source) as file:
        table, index = file.read(), [] if settings.left else index_of(file.schema_arrow)
    if len(index) > 1:
        raise InputError(f"{source}: its index of pandas has several levels; write columns, as with .reset_index()")
    frame = arrow_frame(source, table.drop_columns(index))
    return _source(replace(frame, index=table[index[0]].combine_chunks()) if index else frame, settings, "parquet")


def _chosen(source: str, names: Sequence[str], what: str) -> str:
    wanted = table_within(source)
    if wanted is None and len(names) == 1:
        return names[0]
    if wanted in names:
        return str(wanted)
    said = f"holds no {what} {shown(wanted)}" if wanted is not None else f"holds {len(names)} {what}s"
    if not names:
        raise InputError(f"{source}: {said}; name another file")
    example = f"{source.split(WITHIN)[0]}{WITHIN}{names[0]}"
    raise InputError(f"{source}: {said}; there are: {listed(names)}; name one, as in {example}")


def _source(frame: Frame, settings: IngestSettings, kind: str) -> EdgeSource:
    chosen = matrix_frame(frame, settings) if settings.format == "matrix" else frame
    return frame_source(chosen, settings, kind)
