"""Readers of edge tables: a file of any known format in, Arrow batches of raw labels out.

Text formats differ in their head (comments, declared sizes, column names) and in what their ids mean; a `Layout`
says both, and one reader serves them all. The fast path checks whole columns; when something is wrong, the
slow path (`locate`) reads the file again, line by line, to say where.
"""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import IO, Any, Literal, NoReturn

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from pipeline.errors import InputError
from pipeline.settings import IngestSettings

HEAD_BYTES = 1 << 16
"""Bytes looked at to recognise a format."""

BLOCK_BYTES = 16 << 20
"""Bytes parsed at a time: what a batch of a text file comes from."""

INT64 = range(-(2**63), 2**63)
KNOWN = "csv, tsv, parquet, konect, snap, mtx, adjacency"
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True)
class Layout:
    """Where the columns of a text file are, and what its ids mean.

    Parameters
    ----------
    skip
        Lines before the first edge.
    delimiter
        Field separator; None: any run of blanks.
    left, right, weight, time
        Positions of the columns, from 0; weight and time only where they are wanted.
    ids
        "labels" are any text or whole numbers, "numbers" are whole numbers from 0, and "indices" count from 1.
    n_left, n_right
        Declared sizes, which no index may exceed; 0: not declared.
    columns
        Fields a line has; lines of whitespace-separated files may have more.
    """

    skip: int
    delimiter: str | None
    left: int
    right: int
    weight: int | None
    time: int | None
    ids: Literal["labels", "numbers", "indices"]
    columns: int
    n_left: int = 0
    n_right: int = 0


class TextLabels(Exception):
    """Raised when a side's labels are text after all: read the table again `with_text`."""

    def __init__(self, side: str) -> None:
        super().__init__(side)
        self.side = side


class DroppedLines:
    """Counts the ragged lines that a reader leaves out."""

    def __init__(self) -> None:
        self.lines = 0

    def add(self, row: Any) -> str:
        """Tell the parser to skip a row."""
        self.lines += 1
        return "skip"


@dataclass(frozen=True)
class EdgeSource:
    """An edge table that was recognised, ready to be read.

    Parameters
    ----------
    uri, format, bytes
        The file, its format and its size.
    has_weight, has_time
        Which columns the batches have besides left and right.
    shared_labels
        Whether both sides draw their ids from one space, so that equal labels are the same thing.
    """

    uri: str
    format: str
    bytes: int
    settings: IngestSettings
    layout: Layout | None
    has_weight: bool
    has_time: bool
    shared_labels: bool = False
    text_sides: frozenset[str] = frozenset()

    def with_text(self, side: str) -> EdgeSource:
        """The same table with the labels of a side read as text."""
        return replace(self, text_sides=self.text_sides | {side})

    def batches(self, dropped: DroppedLines | None = None) -> Iterator[pa.RecordBatch]:
        """Batches with columns left and right (int64 or string), and weight (float64) and time as asked.

        Parameters
        ----------
        dropped
            Counts lines with too many or too few fields, which are then left out; None: such a line is an error.

        Raises
        ------
        InputError
            At the first bad line, naming file, line, column, value and remedy.
        TextLabels
            Where labels that began as whole numbers turn out to be text.
        """
        if self.format == "parquet":
            return _parquet_batches(self)
        if self.format == "adjacency":
            return _adjacency_batches(self)
        return _text_batches(self, dropped)


def open_edges(source: str, settings: IngestSettings) -> EdgeSource:
    """Recognise an edge table.

    Parameters
    ----------
    source
        Path or fsspec URL; ``.gz`` and ``.zst`` are decompressed.
    settings
        Format, columns and what is needed of weights and times.

    Raises
    ------
    InputError
        If the file is missing, empty, binary, of unknown format, or lacks a named column.
    """
    size = _size(source)
    kind = settings.format
    if kind == "auto":
        kind = _recognise(source)  # type: ignore[assignment]
    if kind == "parquet":
        return _open_parquet(source, size, settings)
    head = _text_head(source)
    if kind == "adjacency":
        _refuse_columns(source, settings, "an adjacency list")
        return EdgeSource(source, kind, size, settings, None, False, False)
    openers = {
        "konect": _konect_layout,
        "snap": _snap_layout,
        "mtx": _mtx_layout,
        "csv": _csv_layout,
        "tsv": _csv_layout,
    }
    layout = openers[kind](source, head, _implied(settings, kind))
    shared = kind == "snap"
    return EdgeSource(source, kind, size, settings, layout, layout.weight is not None, layout.time is not None, shared)


def _implied(settings: IngestSettings, kind: str) -> IngestSettings:
    """Settings with the delimiter that the format implies."""
    if kind == "tsv" and settings.delimiter is None:
        return settings.model_copy(update={"delimiter": "\t"})
    return settings


# ---- opening files ---------------------------------------------------------------------------------------------


def _file_system(source: str) -> tuple[Any, str]:
    try:
        fs, path = fsspec.core.url_to_fs(source)
    except (ImportError, ValueError) as error:
        raise InputError(f"{source}: this URL cannot be opened: {error}; give a path or an fsspec URL") from error
    return fs, str(path)


def _size(source: str) -> int:
    fs, path = _file_system(source)
    try:
        info = fs.info(path)
    except FileNotFoundError:
        raise InputError(f"{source}: no such file; check the path") from None
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {error}; check the path and its permissions") from error
    if info.get("type") == "directory":
        raise InputError(f"{source}: is a folder; name one edge table")
    if not info.get("size"):
        raise InputError(f"{source}: the file is empty; an edge table has at least one line")
    return int(info["size"])


def _open(source: str) -> IO[bytes]:
    """Open for reading, decompressed by the name's extension."""
    fs, path = _file_system(source)
    try:
        file = fs.open(path, "rb")
        kind = next((name for suffix, name in COMPRESSIONS.items() if path.endswith(suffix)), None)
        if kind is None:
            return file  # type: ignore[no-any-return]
        return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(file, "r"), kind))
    except PermissionError as error:
        raise InputError(f"{source}: cannot be read: {error}; check its permissions") from error


def _bare_name(source: str) -> str:
    name = source.rstrip("/").rsplit("/", 1)[-1]
    for suffix in COMPRESSIONS:
        name = name.removesuffix(suffix)
    return name


def _recognise(source: str) -> str:
    """The format, from the name first and the first bytes then."""
    name = _bare_name(source)
    by_suffix = {
        ".parquet": "parquet",
        ".pq": "parquet",
        ".csv": "csv",
        ".tsv": "tsv",
        ".mtx": "mtx",
        ".adj": "adjacency",
    }
    for suffix, kind in by_suffix.items():
        if name.endswith(suffix):
            return kind
    if _head_bytes(source).startswith(b"PAR1"):
        return "parquet"
    head = _text_head(source)
    first = head.splitlines()[0]
    if first.startswith("%%MatrixMarket"):
        return "mtx"
    if first.startswith("%") or name.startswith("out."):
        return "konect"
    if first.startswith("#"):
        return "snap"
    if "\t" in first:
        return "tsv"
    if any(mark in first for mark in ",;|"):
        return "csv"
    raise InputError(
        f"{source}, line 1: {first[:60]!r} is of no format that can be told from its name or its first line;"
        f" name the format: one of {KNOWN}"
    )


def _head_bytes(source: str) -> bytes:
    with _open(source) as file:
        try:
            return file.read(HEAD_BYTES)
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{source}: cannot be decompressed: {error}; check the file") from error


def _text_head(source: str) -> str:
    """The first lines, as text; a binary file is refused."""
    head = _head_bytes(source)
    whole = head[: head.rfind(b"\n") + 1] if len(head) == HEAD_BYTES and b"\n" in head else head
    try:
        text = whole.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = whole[: error.start].count(b"\n") + 1
        raise InputError(
            f"{source}, line {line}: byte {whole[error.start]:#04x} is no UTF-8 text: a binary file, or another encoding;"
            f" convert it to UTF-8, or name its format (one of {KNOWN})"
        ) from None
    if "\0" in text:
        raise InputError(f"{source}: holds zero bytes: a binary file; name an edge table in one of {KNOWN}")
    if not text.strip():
        raise InputError(f"{source}: holds nothing but blanks; an edge table has at least one line")
    return text


# ---- layouts of text formats ---------------------------------------------------------------------------------------


def _wants_weight(settings: IngestSettings) -> bool:
    return settings.weight is not None or settings.min_weight is not None or settings.duplicates in ("sum", "max")


def _wants_time(settings: IngestSettings) -> bool:
    return settings.time is not None or settings.since is not None or settings.until is not None


def _refuse_columns(source: str, settings: IngestSettings, what: str) -> None:
    if _wants_weight(settings) or _wants_time(settings):
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


def _konect_layout(source: str, head: str, settings: IngestSettings) -> Layout:
    """KONECT: '%' lines (the second declares edges, left, right), then 'left right [weight [time]]' from 1."""
    lines = head.splitlines()
    at = _data_line(source, lines, "%")
    sizes = next((m for m in (re.fullmatch(r"%\s+\d+\s+(\d+)\s+(\d+)\s*", line) for line in lines[:at]) if m), None)
    columns = len(lines[at].split())
    _need_two(source, at, lines[at], columns)
    return Layout(
        skip=at,
        delimiter=None,
        left=0,
        right=1,
        weight=_optional_column(source, _wants_weight(settings), "weight", 2, columns),
        time=_optional_column(source, _wants_time(settings), "time", 3, columns),
        ids="indices",
        columns=columns,
        n_left=int(sizes[1]) if sizes else 0,
        n_right=int(sizes[2]) if sizes else 0,
    )


def _snap_layout(source: str, head: str, settings: IngestSettings) -> Layout:
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
    weight = _optional_column(source, _wants_weight(settings), "weight", 2, columns)
    time = _optional_column(source, _wants_time(settings), "time", 3 if weight is not None else 2, columns)
    return Layout(at, None, 0, 1, weight, time, "numbers", columns)


def _mtx_layout(source: str, head: str, settings: IngestSettings) -> Layout:
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
    if _wants_time(settings):
        raise InputError(f"{source}: a MatrixMarket file has no times; leave out time, since and until")
    weight = _optional_column(source, _wants_weight(settings), "weight", 2, columns)
    return Layout(at + 1, None, 0, 1, weight, None, "indices", columns, int(sizes[0]), int(sizes[1]))


def _need_two(source: str, at: int, line: str, columns: int) -> None:
    if columns < 2:
        raise InputError(
            f"{source}, line {at + 1}: {line[:60]!r} has {columns} column; an edge needs a left and a right id"
        )


def _csv_layout(source: str, head: str, settings: IngestSettings) -> Layout:
    """CSV and TSV: columns by name or number; labels may be text or whole numbers."""
    delimiter = settings.delimiter or _guess_delimiter(source, head)
    rows = csv.reader(io.StringIO(head), delimiter=delimiter)
    first = next(rows)
    named = any(
        name is not None and not name.isdigit()
        for name in (settings.left, settings.right, settings.weight, settings.time)
    )
    header = settings.header
    if header is None:
        numbered = settings.left is not None and not named
        header = named or not (numbered or _whole(first[0]))
    names = first if header else [str(i) for i in range(len(first))]
    defaults = ("left", "right") if header and {"left", "right"} <= set(first) else ("0", "1")

    def place(wanted: str | None, what: str) -> int:
        return _column(source, wanted, what, names, header)

    return Layout(
        skip=rows.line_num if header else 0,
        delimiter=delimiter,
        left=place(settings.left or defaults[0], "left"),
        right=place(settings.right or defaults[1], "right"),
        weight=place(settings.weight, "weight") if _wants_weight(settings) else None,
        time=place(settings.time, "time") if _wants_time(settings) else None,
        ids="labels",
        columns=len(first),
    )


def _guess_delimiter(source: str, head: str) -> str:
    first = head.splitlines()[0]
    found = [mark for mark in ",\t;|" if mark in first]
    if not found:
        raise InputError(f"{source}, line 1: {first[:60]!r} holds none of , tab ; |; name the delimiter")
    return max(found, key=first.count)


def _column(source: str, wanted: str | None, what: str, names: list[str], header: bool) -> int:
    listed = ", ".join(names) if header else f"numbers 0…{len(names) - 1}"
    if wanted is None:
        raise InputError(f"{source}: which column is the {what}? Name it; there are: {listed}")
    if header and wanted in names:
        return names.index(wanted)
    if wanted.isdigit() and int(wanted) < len(names):
        return int(wanted)
    raise InputError(f"{source}, line 1: there is no column {wanted!r} for the {what}; there are: {listed}")


def _whole(text: str) -> bool:
    return re.fullmatch(r"\s*[-+]?\d+\s*", text) is not None


# ---- reading text ------------------------------------------------------------------------------------------------


class _Blanks(io.RawIOBase):
    """A text body whose runs of blanks are single tabs, and whose lines have no blanks at their ends."""

    def __init__(self, file: IO[bytes], skip: int, comment: bytes) -> None:
        self._file = file
        self._comment = comment
        self._rest = b""
        for _ in range(skip):
            file.readline()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            block = self._file.read(1 << 20)
            if not block:
                return 0
            block += self._file.readline()
            if not block.endswith(b"\n"):
                block = block.rstrip() + b"\n"
            block = re.sub(rb"[ \t\r]*\n[ \t]*", b"\n", re.sub(rb"[ \t]+", b"\t", block).lstrip(b"\t"))
            if self._comment in block:
                block = re.sub(rb"(?m)^" + self._comment + rb".*\n?", b"", block)
            self._rest = block
        n = min(len(buffer), len(self._rest))
        buffer[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n


def _text_batches(source: EdgeSource, dropped: DroppedLines | None) -> Iterator[pa.RecordBatch]:
    layout = source.layout
    assert layout is not None
    types = {side: pa.string() if side in source.text_sides else pa.int64() for side in ("left", "right")}
    try:
        yield from _parsed(source, layout, types, dropped)
    except pa.ArrowInvalid as error:
        failed = re.search(r"column #(\d+): CSV conversion error to int64: invalid value '(.*)'", str(error), re.DOTALL)
        if failed and layout.ids == "labels" and not _whole(failed[2]):
            raise TextLabels("left" if int(failed[1]) == layout.left else "right") from None
        locate(source, str(error))


def _parsed(
    source: EdgeSource, layout: Layout, types: dict[str, pa.DataType], dropped: DroppedLines | None
) -> Iterator[pa.RecordBatch]:
    places = {"left": layout.left, "right": layout.right, "weight": layout.weight, "time": layout.time}
    wanted = {name: at for name, at in places.items() if at is not None}
    names = [f"column {i}" for i in range(layout.columns)]
    kinds: dict[str, pa.DataType] = {**types, "weight": pa.float64(), "time": pa.string()}
    with _open(source.uri) as file:
        body: Any = file
        skip = layout.skip
        if layout.delimiter is None:
            body = io.BufferedReader(_Blanks(file, skip, b"#" if source.format == "snap" else b"%"), 1 << 20)
            skip = 0
        reader = pacsv.open_csv(
            body,
            read_options=pacsv.ReadOptions(column_names=names, skip_rows=skip, block_size=BLOCK_BYTES),
            parse_options=pacsv.ParseOptions(
                delimiter=layout.delimiter or "\t",
                newlines_in_values=False,
                invalid_row_handler=None if dropped is None else dropped.add,
            ),
            convert_options=pacsv.ConvertOptions(
                column_types={names[at]: kinds[name] for name, at in wanted.items()},
                include_columns=[names[at] for at in wanted.values()],
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        for batch in reader:
            yield _checked(source, layout, batch.rename_columns(list(wanted)))


def _checked(source: EdgeSource, layout: Layout, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Refuse ids out of range and missing weights."""
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name in ("left", "right") and pa.types.is_integer(column.type):
            limits = pc.min_max(column).as_py()
            least = 1 if layout.ids == "indices" else 0
            most = layout.n_left if name == "left" else layout.n_right
            if limits["min"] is not None and (limits["min"] < least or (most and limits["max"] > most)):
                locate(source, f"{name} ids from {limits['min']} to {limits['max']}")
        if name == "weight" and column.null_count:
            locate(source, "a weight is missing")
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


# ---- saying where ------------------------------------------------------------------------------------------------


def find_problem(source: EdgeSource) -> str | None:
    """Read a text file line by line (slowly) and say what is wrong with the first bad line, or None."""
    layout = source.layout
    assert layout is not None
    with _open(source.uri) as raw:
        text = io.TextIOWrapper(raw, "utf-8", errors="replace", newline="")
        for number, fields in _lines(text, source, layout):
            problem = _problem(fields, layout, source.settings)
            if problem is not None:
                return f"{source.uri}, line {number}, {problem}"
    return None


def locate(source: EdgeSource, otherwise: str) -> NoReturn:
    """Raise an `InputError` for the first bad line of a text file."""
    raise InputError(
        find_problem(source)
        or f"{source.uri}: cannot be read as {source.format}: {otherwise}; check the file and its settings"
    ) from None


def _lines(text: IO[str], source: EdgeSource, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    if layout.delimiter is not None:
        rows = csv.reader(text, delimiter=layout.delimiter)
        for fields in rows:
            if rows.line_num > layout.skip and fields:
                yield rows.line_num, fields
        return
    comment = "#" if source.format == "snap" else "%"
    for number, line in enumerate(text, 1):
        if number > layout.skip and line.strip() and not line.startswith(comment):
            yield number, line.split()


def _problem(fields: list[str], layout: Layout, settings: IngestSettings) -> str | None:
    """What is wrong with a line, or None."""
    if len(fields) != layout.columns:
        if settings.ragged == "drop":
            return None
        return (
            f"columns {len(fields)}: the lines before have {layout.columns}; mend the line"
            " (a field that holds the delimiter must be quoted), or drop such lines with ragged = 'drop'"
        )
    for side, at, most in (("left", layout.left, layout.n_left), ("right", layout.right, layout.n_right)):
        problem = _id_problem(fields[at].strip(), layout, most, settings)
        if problem is not None:
            return f"column {at} ({side}): {problem}"
    if layout.weight is not None:
        try:
            float(fields[layout.weight])
        except ValueError:
            return f"column {layout.weight} (weight): {fields[layout.weight]!r} is no number; mend it"
    return None


def _id_problem(value: str, layout: Layout, most: int, settings: IngestSettings) -> str | None:
    if not value:
        return (
            None
            if settings.nulls == "drop"
            else "the id is missing (null); mend it, or drop such lines with nulls = 'drop'"
        )
    if not _whole(value):
        return None if layout.ids == "labels" else f"{value!r} is no whole number; this format numbers its vertices"
    number, least = int(value), 1 if layout.ids == "indices" else 0
    if number not in INT64:
        return f"id {value} is beyond 64 bits; use smaller ids, or text labels"
    if number < least:
        return f"id {value} is below {least}; number the vertices from {least}, or use text labels"
    if most and number > most:
        return f"id {value} is beyond the {most} vertices that the file declares; mend the id or the head of the file"
    return None


# ---- Parquet and adjacency lists -------------------------------------------------------------------------------------


def _open_parquet(source: str, size: int, settings: IngestSettings) -> EdgeSource:
    with _open(source) as file:
        try:
            names = pq.ParquetFile(pa.PythonFile(file, "r")).schema_arrow.names
        except (pa.ArrowException, OSError) as error:
            raise InputError(
                f"{source}: is no Parquet file: {error}; check the file, or name its format: {KNOWN}"
            ) from error
    if len(names) < 2:
        raise InputError(f"{source}: has the columns {', '.join(names)}; an edge table needs a left and a right one")
    defaults = ("left", "right") if {"left", "right"} <= set(names) else ("0", "1")
    layout = Layout(
        skip=0,
        delimiter=None,
        left=_column(source, settings.left or defaults[0], "left", names, True),
        right=_column(source, settings.right or defaults[1], "right", names, True),
        weight=_column(source, settings.weight, "weight", names, True) if _wants_weight(settings) else None,
        time=_column(source, settings.time, "time", names, True) if _wants_time(settings) else None,
        ids="labels",
        columns=len(names),
    )
    return EdgeSource(source, "parquet", size, settings, layout, layout.weight is not None, layout.time is not None)


def _parquet_batches(source: EdgeSource) -> Iterator[pa.RecordBatch]:
    layout = source.layout
    assert layout is not None
    places = {"left": layout.left, "right": layout.right, "weight": layout.weight, "time": layout.time}
    wanted = {name: at for name, at in places.items() if at is not None}
    row = 0
    with _open(source.uri) as raw:
        file = pq.ParquetFile(pa.PythonFile(raw, "r"))
        columns = [file.schema_arrow.names[at] for at in wanted.values()]
        for batch in file.iter_batches(1 << 20, columns=columns):
            arrays = [
                _parquet_column(source, name, batch[column], row) for name, column in zip(wanted, columns, strict=True)
            ]
            row += batch.num_rows
            yield pa.RecordBatch.from_arrays(arrays, names=list(wanted))


def _parquet_column(source: EdgeSource, name: str, column: pa.Array, row: int) -> pa.Array:
    """A column as int64 or text (ids), float64 (weight), or as it is (time)."""
    if name == "time":
        return column
    if name == "weight":
        return pc.cast(column, pa.float64())
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_integer(column.type):
        try:
            column = pc.cast(column, pa.int64())
        except pa.ArrowInvalid as error:
            raise InputError(f"{source.uri}, from row {row}, column {name}: {error}; ids must fit 64 bits") from None
        least = pc.min(column).as_py()
        if least is not None and least < 0:
            at = row + pc.index(pc.less(column, 0), True).as_py()
            raise InputError(
                f"{source.uri}, row {at}, column {name}: id {least} is below 0; number the vertices from 0, or use text labels"
            )
        return column
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type) or pa.types.is_string_view(column.type):
        return pc.cast(column, pa.string())
    raise InputError(
        f"{source.uri}, column {name}: ids of type {column.type} are neither whole numbers nor text; cast them first"
    )


def _adjacency_batches(source: EdgeSource) -> Iterator[pa.RecordBatch]:
    """Row i holds the right neighbours of left vertex i, or (with a head 'n n_left n_edges') its own id first."""
    with _open(source.uri) as raw:
        rows = [(n, line.split()) for n, line in enumerate(io.TextIOWrapper(raw, "utf-8"), 1)]
    for number, fields in rows:
        for value in fields:
            if not value.isdigit():
                raise InputError(f"{source.uri}, line {number}: {value!r} is no whole number from 0; mend the line")
            if int(value) not in INT64:
                raise InputError(f"{source.uri}, line {number}: id {value} is beyond 64 bits; use smaller ids")
    body = _labelled_rows(source, rows)
    lengths = np.array([len(fields) for _, fields in body], dtype=np.int64)
    left = np.repeat(np.array([vertex for vertex, _ in body], dtype=np.int64), lengths)
    right = np.fromiter(
        itertools.chain.from_iterable(fields for _, fields in body), dtype=np.int64, count=int(lengths.sum())
    )
    yield pa.RecordBatch.from_arrays([pa.array(left), pa.array(right)], names=["left", "right"])


def _labelled_rows(source: EdgeSource, rows: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """Each row's left vertex and its neighbours."""
    _, head = rows[0]
    ends = sum(len(fields) - 1 for _, fields in rows[1:] if fields)
    if len(head) != 3 or ends not in (int(head[2]), 2 * int(head[2])):
        return [(i, fields) for i, (_, fields) in enumerate(rows)]
    n, n_left = int(head[0]), int(head[1])
    mirrored = ends == 2 * int(head[2])  # right vertices have rows of their own, which say nothing new
    body = []
    for number, fields in rows[1:]:
        if not fields:
            continue
        for value in fields:
            if int(value) >= n:
                raise InputError(
                    f"{source.uri}, line {number}: id {value} is beyond the {n} vertices of the head; mend it"
                )
        if int(fields[0]) >= n_left:
            if mirrored:
                continue
            raise InputError(
                f"{source.uri}, line {number}: {fields[0]} heads a row, but left vertices are 0…{n_left - 1}; mend the row or the head"
            )
        body.append((int(fields[0]), fields[1:]))
    return body
