"""Readers of edge tables: a file of any known format in, Arrow batches of raw labels out.

Text formats differ in their head (comments, declared sizes, column names) and in what their ids mean; a `Layout`
says both, and one reader serves them all. The fast path checks whole columns; when something is wrong, the
slow path (`locate`) reads the file again, line by line, to say where.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import IO, Any, Literal, NoReturn

import fsspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from pipeline.errors import InputError
from pipeline.settings import IngestSettings, parse_time

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
        Fields a line has.
    rows
        Declared number of edges; None: not declared.
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
    rows: int | None = None


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
    parts
        The files of a glob or folder; none for a single file.
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
    parts: tuple[EdgeSource, ...] = ()

    @property
    def files(self) -> tuple[EdgeSource, ...]:
        """The files of the table, each a source of its own, in the order of their names."""
        return self.parts or (self,)

    def with_text(self, side: str) -> EdgeSource:
        """The same table with the labels of a side read as text."""
        parts = tuple(part.with_text(side) for part in self.parts)
        return replace(self, text_sides=self.text_sides | {side}, parts=parts)

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
        try:
            for part in self.files:
                if part.format == "parquet":
                    yield from _parquet_batches(part)
                elif part.format == "adjacency":
                    yield from _adjacency_batches(part)
                else:
                    yield from _text_batches(part, dropped)
        except (OSError, EOFError, pa.ArrowException) as error:
            raise InputError(
                f"{part.uri}: cannot be read to its end: {error}; the file is damaged or cut off: fetch it again"
            ) from error


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
    names = _expand(source)
    if names != [source]:
        return _open_several(source, [open_edges(name, settings) for name in names])
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


def _expand(source: str) -> list[str]:
    """The files that a glob or a folder of Parquet files stands for; any other source stands for itself."""
    fs, path = _file_system(source)
    try:
        if fs.isfile(path):  # its name may hold a bracket
            return [source]
        if any(mark in path for mark in "*?["):
            found = fs.glob(path)
            if not found:
                raise InputError(f"{source}: no such file: nothing matches; check the pattern")
        elif fs.isdir(path):
            found = [name for name in fs.find(path) if name.endswith((".parquet", ".pq"))]
            if not found:
                raise InputError(
                    f"{source}: is a folder without Parquet files; name one edge table, or a glob such as {path}/*.csv"
                )
        else:
            return [source]
    except OSError as error:
        raise InputError(f"{source}: cannot be listed: {error}; check the path and its permissions") from error
    names = [name for name in sorted(found) if not name.rsplit("/", 1)[-1].startswith((".", "_"))]
    return [str(fs.unstrip_protocol(name)) if "://" in source else str(name) for name in names]


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


def _size(source: str) -> int:
    fs, path = _file_system(source)
    try:
        info = fs.info(path)
    except FileNotFoundError:
        raise InputError(f"{source}: no such file; check the path") from None
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {error}; check the path and its permissions") from error
    if info.get("size") == 0:
        raise InputError(f"{source}: the file is empty; an edge table has at least one line")
    return int(info.get("size") or 0)  # some web servers do not say


def open_bytes(source: str) -> IO[bytes]:
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


def bare_name(source: str) -> str:
    """The last part of a path or URL, without the suffixes of compressions, in lower case: `out.brunson.GZ` is `out.brunson`."""
    name = source.rstrip("/").rsplit("/", 1)[-1]
    for suffix in COMPRESSIONS:
        name = name.removesuffix(suffix)
    return name


def _recognise(source: str) -> str:
    """The format, from the name first and the first bytes then."""
    name = bare_name(source)
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
    first = next(line for line in head.splitlines() if line.strip())
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
    with open_bytes(source) as file:
        try:
            return file.read(HEAD_BYTES)
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{source}: cannot be decompressed: {error}; check the file") from error


def _text_head(source: str) -> str:
    """The first lines, as text; a binary file is refused."""
    head = _head_bytes(source)
    whole = head[: head.rfind(b"\n") + 1] if len(head) == HEAD_BYTES and b"\n" in head else head
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(whole, final=len(head) < HEAD_BYTES)
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
    return Layout(at + 1, None, 0, 1, weight, None, "indices", columns, *map(int, sizes))


def _need_two(source: str, at: int, line: str, columns: int) -> None:
    if columns < 2:
        raise InputError(
            f"{source}, line {at + 1}: {line[:60]!r} has {columns} column; an edge needs a left and a right id"
        )


def _csv_layout(source: str, head: str, settings: IngestSettings) -> Layout:
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
        return _column(source, wanted, what, names, header)

    left, right = place(settings.left or defaults[0], "left"), place(settings.right or defaults[1], "right")
    _refuse_one_column(source, left, right, names[left])
    return Layout(
        skip=line_num if header else 0,
        delimiter=delimiter,
        left=left,
        right=right,
        weight=place(settings.weight, "weight") if _wants_weight(settings) else None,
        time=place(settings.time, "time") if _wants_time(settings) else None,
        ids="labels",
        columns=len(first),
    )


def _looks_like_names(first: list[str], second: list[str], numbered: bool) -> bool:
    """Whether a first line names columns: it holds no number, and the second does or the columns go by name."""
    if any(_whole(field) for field in first):
        return False
    return not numbered or any(_whole(field) for field in second)


def _refuse_one_column(source: str, left: int, right: int, name: str) -> None:
    if left == right:
        raise InputError(f"{source}: column {name!r} is asked for as both left and right; name two columns")


def _guess_delimiter(source: str, head: str) -> str:
    first = next(line for line in head.splitlines() if line.strip())
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
    return re.fullmatch(r"\s*-?[0-9]+\s*", text) is not None


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
    with open_bytes(source.uri) as file:
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
        n_rows = 0
        with reader:  # it reads ahead in threads of its own
            for batch in reader:
                n_rows += batch.num_rows
                yield _checked(source, layout, batch.rename_columns(list(wanted)))
    if layout.rows is not None and n_rows + (dropped.lines if dropped else 0) != layout.rows:
        raise InputError(
            f"{source.uri}, line {layout.skip}: declares {layout.rows} entries, but {n_rows} follow;"
            " the file is cut off, or its head is wrong: fetch it again, or mend the head"
        )


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
    with open_bytes(source.uri) as raw:
        text = io.TextIOWrapper(raw, "utf-8", errors="surrogateescape", newline="")
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
            f"{len(fields)} columns: the lines before have {layout.columns}; mend the line"
            " (a field that holds the delimiter must be quoted), or drop such lines with ragged = 'drop'"
        )
    for at, field in enumerate(fields):
        if any("\udc80" <= letter <= "\udcff" for letter in field):
            shown = field.encode("utf-8", "surrogateescape")[:60]
            return f"column {at}: {shown!r} is no UTF-8 text; convert the file to UTF-8"
    for side, at, most in (("left", layout.left, layout.n_left), ("right", layout.right, layout.n_right)):
        problem = _id_problem(fields[at].strip(), layout, most, settings)
        if problem is not None:
            return f"column {at} ({side}): {problem}"
    if layout.weight is not None:
        try:
            float(fields[layout.weight])
        except ValueError:
            return f"column {layout.weight} (weight): {fields[layout.weight]!r} is no number; mend it"
    if layout.time is not None and not _is_time(fields[layout.time].strip()):
        return (
            f"column {layout.time} (time): {fields[layout.time]!r} is neither Unix seconds nor an ISO date;"
            " mend it, or leave out time, since and until"
        )
    return None


def _is_time(text: str) -> bool:
    try:
        parse_time(text or "0")
    except ValueError:
        return False
    return True


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
    with open_bytes(source) as file:
        try:
            schema = pq.ParquetFile(pa.PythonFile(file, "r")).schema_arrow
        except (pa.ArrowException, OSError) as error:
            raise InputError(
                f"{source}: is no Parquet file: {error}; check the file, or name its format: {KNOWN}"
            ) from error
    names = schema.names
    if len(names) < 2:
        raise InputError(f"{source}: has the columns {', '.join(names)}; an edge table needs a left and a right one")
    defaults = ("left", "right") if {"left", "right"} <= set(names) else ("0", "1")
    left = _column(source, settings.left or defaults[0], "left", names, True)
    right = _column(source, settings.right or defaults[1], "right", names, True)
    _refuse_one_column(source, left, right, names[left])
    layout = Layout(
        skip=0,
        delimiter=None,
        left=left,
        right=right,
        weight=_column(source, settings.weight, "weight", names, True) if _wants_weight(settings) else None,
        time=_column(source, settings.time, "time", names, True) if _wants_time(settings) else None,
        ids="labels",
        columns=len(names),
    )
    text = frozenset(side for side in ("left", "right") if _is_text(schema.field(getattr(layout, side)).type))
    has = layout.weight is not None, layout.time is not None
    return EdgeSource(source, "parquet", size, settings, layout, *has, text_sides=text)


def _parquet_batches(source: EdgeSource) -> Iterator[pa.RecordBatch]:
    layout = source.layout
    assert layout is not None
    places = {"left": layout.left, "right": layout.right, "weight": layout.weight, "time": layout.time}
    wanted = {name: at for name, at in places.items() if at is not None}
    row = 0
    with open_bytes(source.uri) as raw:
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
        return _parquet_weights(source, column, row)
    if column.null_count and source.settings.nulls == "error":
        at = row + pc.index(pc.is_null(column), True).as_py()
        raise InputError(
            f"{source.uri}, row {at}, column {name}: an id is missing (null); mend it, or drop such rows with nulls = 'drop'"
        )
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_integer(column.type):
        try:
            column = pc.cast(column, pa.int64())
        except pa.ArrowInvalid as error:
            raise InputError(f"{source.uri}, from row {row}, column {name}: {error}; ids must fit 64 bits") from None
        least = pc.min(column).as_py()
        if least is not None and least < 0:
            at = pc.index(pc.less(column, 0), True).as_py()
            raise InputError(
                f"{source.uri}, row {row + at}, column {name}: id {column[at]} is below 0; number the vertices from 0, or use text labels"
            )
        return column
    if _is_text(column.type):
        return pc.cast(column, pa.string())
    raise InputError(
        f"{source.uri}, column {name}: ids of type {column.type} are neither whole numbers nor text; cast them first"
    )


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _parquet_weights(source: EdgeSource, column: pa.Array, row: int) -> pa.Array:
    try:
        weights = pc.cast(column, pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"{source.uri}, from row {row}, column weight: {error}; weights are numbers: cast the column first"
        ) from None
    if weights.null_count:
        at = row + pc.index(pc.is_null(weights), True).as_py()
        raise InputError(f"{source.uri}, row {at}, column weight: a weight is missing (null); fill it in")
    return weights


def _adjacency_batches(source: EdgeSource) -> Iterator[pa.RecordBatch]:
    """Row i holds the right neighbours of left vertex i, or (with a head 'n n_left n_edges') its own id first."""
    with open_bytes(source.uri) as raw:
        text = io.TextIOWrapper(raw, "utf-8", errors="replace")
        rows = [(n, _neighbours(source, n, line)) for n, line in enumerate(text, 1)]
    body = _labelled_rows(source, rows)
    lengths = np.array([len(row) for _, row in body], dtype=np.int64)
    left = np.repeat(np.array([vertex for vertex, _ in body], dtype=np.int64), lengths)
    right = np.concatenate([row for _, row in body]) if body else np.zeros(0, np.int64)
    yield pa.RecordBatch.from_arrays([pa.array(left), pa.array(right)], names=["left", "right"])


def _neighbours(source: EdgeSource, number: int, line: str) -> npt.NDArray[np.int64]:
    """The ids of a line; an array takes an eighth of the memory of its words."""
    fields = line.split()
    for value in fields:
        if not (value.isascii() and value.isdigit()):
            raise InputError(f"{source.uri}, line {number}: {value!r} is no whole number from 0; mend the line")
        if len(value) > 18 and int(value) not in INT64:
            raise InputError(f"{source.uri}, line {number}: id {value} is beyond 64 bits; use smaller ids")
    return np.array(fields, dtype=np.int64)


Row = tuple[int, npt.NDArray[np.int64]]


def _labelled_rows(source: EdgeSource, rows: list[Row]) -> list[Row]:
    """Each row's left vertex and its neighbours.

    A first line 'n n_left n_edges' is a head if n > n_left and the rows below begin with ascending ids: rows of
    neighbours are sorted as a rule, and are not headed by ascending ids.
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
