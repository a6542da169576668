"""Chunks of an edge table as frames of the device, read with cuDF.

The reader here is strict, and the CPU's is the judge. Whatever it is not sure to read exactly as
the CPU does it leaves to the CPU, by `NotOnDevice`: a missing field or a word for one, a quote that
encloses no field, a blank or a sign before a number, an id of more than 18 digits, ids of unusual
types. So bad input gives the same error, and every table the same graph, on both.
"""

from __future__ import annotations

import codecs
import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from bicliq.pipeline.formats import EdgeSource, Layout, input_errors, open_bytes
from bicliq.pipeline.formats.fields import quotes_are_regular
from bicliq.pipeline.formats.problems import COMMENTS
from bicliq.pipeline.formats.times import told_of, unix_seconds
from bicliq.pipeline.placement.device import cudf_and_cupy
from bicliq.pipeline.settings import IngestSettings

TEXT_CHUNK = 512 << 20
"""Bytes of a text file read at a time: far below 2^31, the most that a column of text may hold."""

PARQUET_CHUNK = 2 << 30
"""Bytes (decompressed) of Parquet row groups read at a time."""

SAFE_DIGITS = 18
"""Whole numbers of so many digits fit 64 bits."""

BLANKS = "[\\s\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]"
"""What the CPU strips from the ends of labels, as a pattern."""

EXACT = 2**53
"""Sums of whole numbers up to here are exact in float64, in any order."""


READ_HERE = ("csv", "tsv", "parquet", "konect", "snap", "mtx", "table")
"""Formats that are read on the device, but for tables in memory, of which it is said."""


class NotOnDevice(Exception):
    """Raised where the CPU must read a table, with the reason."""


class TextLabels(Exception):
    """Raised where a side's labels are text after all: the table is read again as such."""

    def __init__(self, side: str) -> None:
        super().__init__(side)
        self.side = side


def frames_of(source: EdgeSource, noted: Counter[str]) -> Iterator[Any]:
    """Read a table chunk by chunk.

    `source`: the table, from `open_edges`. `noted`: is told of times as on the CPU. Returns columns
    left and right (int64 or text), weight (float64) and time (Unix seconds, float64) as wanted.
    Raises NotOnDevice where the CPU must read this table. Raises TextLabels where a side that was
    read as numbers is text: read the table again `with_text`.
    """
    _refuse_settings(source.settings)
    for part in source.files:
        if part.format not in READ_HERE or part.layout is None or part.layout.value is not None:
            raise NotOnDevice(f"files of the format {part.format} are read by the CPU")
        if part.table is not None:
            raise NotOnDevice("tables in memory are read by the CPU")
        if part.layout.keys:
            raise NotOnDevice("keys of folders are read by the CPU")
        yield from _parquet_frames(part, noted) if part.format == "parquet" else _text_frames(part, noted)


def with_text(source: EdgeSource, side: str) -> EdgeSource:
    """The same table with the labels of a side read as text."""
    parts = tuple(with_text(part, side) for part in source.parts)
    return replace(source, text_sides=source.text_sides | {side}, parts=parts)


def _refuse_settings(settings: IngestSettings) -> None:
    if settings.multiline:
        raise NotOnDevice("fields over several lines are read by the CPU")
    for name in ("encoding", "comment", "split", "fold"):
        if getattr(settings, name) is not None:
            raise NotOnDevice(f"tables are read by the CPU with {name}")
    if not settings.quotes:
        raise NotOnDevice("quotes that are characters are read by the CPU")


def _layout(source: EdgeSource) -> Layout:
    assert source.layout is not None
    return source.layout


def _parquet_frames(source: EdgeSource, noted: Counter[str]) -> Iterator[Any]:
    """Read row groups until they fill a chunk."""
    cudf, _ = cudf_and_cupy()
    with open_bytes(source.uri) as raw, input_errors(source.uri):
        file = pq.ParquetFile(pa.PythonFile(raw, "r"))
        _refuse_types(source, file.schema_arrow)
        zoned = "time" in source.columns and _has_zone(file.schema_arrow.field(source.columns["time"]).type)
        names = list(source.columns.values())
        sizes = [file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)]
        group: list[int] = []
        for number, size in enumerate(sizes):
            group.append(number)
            if number + 1 == len(sizes) or sum(sizes[i] for i in group) + size > PARQUET_CHUNK:
                frame = cudf.read_parquet(source.uri, columns=names, row_groups=[group])
                frame = frame[names]
                frame.columns = list(source.columns)
                yield _typed_parquet(frame, source, Counter() if zoned else noted)
                group = []


def _has_zone(kind: pa.DataType) -> bool:
    """Whether these are times with a zone, which cuDF reads and forgets."""
    return getattr(kind, "tz", None) is not None


def _refuse_types(source: EdgeSource, schema: pa.Schema) -> None:
    """Leave to the CPU ids that are neither text nor 64-bit numbers, or numbers meant as text."""
    if not set(source.columns.values()) <= set(schema.names):
        raise NotOnDevice("keys of folders are read by the CPU")
    for side in ("left", "right"):
        kind = schema.field(source.columns[side]).type
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        is_text = pa.types.is_string(plain) or pa.types.is_large_string(plain)
        is_number = pa.types.is_integer(kind) and not pa.types.is_uint64(kind) and side not in source.text_sides
        if not (is_text or is_number):
            raise NotOnDevice(f"column {side} is of type {kind}")


def _typed_parquet(frame: Any, source: EdgeSource, noted: Counter[str]) -> Any:
    """Ids as int64 or text, weights as float64, times as Unix seconds."""
    if source.settings.nulls == "error" and any(frame[name].has_nulls for name in frame.columns):
        raise NotOnDevice("a value is missing")
    for side in ("left", "right"):
        frame[side] = frame[side].astype("str" if side in source.text_sides else "int64")
        if side in source.text_sides:
            _refuse_untidy(frame[side], source.settings)
    if "weight" in frame.columns:
        frame["weight"] = _parquet_weights(frame["weight"])
    if "time" in frame.columns:
        frame["time"] = _seconds(frame["time"], source, noted)
    return frame


def _parquet_weights(column: Any) -> Any:
    whole = column.dtype.kind in "iu"
    if not (whole or column.dtype.kind == "f") or column.has_nulls:
        raise NotOnDevice(f"weights are of type {column.dtype} or missing")
    if whole and len(column) and max(abs(int(column.max())), abs(int(column.min()))) > EXACT:
        raise NotOnDevice("weights are beyond 2**53")
    return _finite(column.astype("float64"))


def _finite(weights: Any) -> Any:
    _, cp = cudf_and_cupy()
    if not bool(cp.isfinite(weights.values).all()):
        raise NotOnDevice("a weight is not finite")
    return weights


def _seconds(times: Any, source: EdgeSource, noted: Counter[str]) -> Any:
    """Unix seconds; Arrow reads them, as on the CPU."""
    import cudf

    found = times.to_arrow()
    try:
        seconds = cudf.Series.from_arrow(unix_seconds(found))
    except pa.ArrowInvalid:
        raise NotOnDevice("a time is none") from None
    if source.settings.in_step is not None:
        noted.update(told_of(found))
    seconds.index = times.index
    return seconds


def _text_frames(source: EdgeSource, noted: Counter[str]) -> Iterator[Any]:
    """Read whole lines until they fill a chunk."""
    layout = _layout(source)
    rows = 0
    with open_bytes(source.uri) as file, input_errors(source.uri):
        for _ in range(layout.skip):
            file.readline()
        while chunk := _lines(file):
            frame = _parsed(chunk, source, noted)
            rows += len(frame)
            yield frame
    if layout.rows is not None and rows != layout.rows:
        raise NotOnDevice(f"{layout.rows} rows are declared, {rows} follow")


def _lines(file: IO[bytes]) -> bytes:
    chunk = file.read(TEXT_CHUNK)
    return chunk + file.readline() if len(chunk) == TEXT_CHUNK else chunk


def _parsed(chunk: bytes, source: EdgeSource, noted: Counter[str]) -> Any:
    """Parse lines: every field is text first, so that nothing is read as a number that is none."""
    cudf, _ = cudf_and_cupy()
    layout = _layout(source)
    ascii_only = check_bytes(chunk, source)
    separator = layout.delimiter or "\t"
    if layout.delimiter is None:
        chunk = chunk.replace(b" ", b"\t")
        if b"\t\t" in chunk:
            chunk = re.sub(rb"\t+", b"\t", chunk)
    names = [f"column {i}" for i in range(layout.columns)]
    wanted = {role: names[at] for role, at in layout.wanted.items()}
    used = [names[at] for at in sorted({*layout.wanted.values(), layout.columns - 1})]  # the last shows short lines
    frame = cudf.read_csv(
        io.BytesIO(chunk), sep=separator, header=None, names=names, usecols=used, dtype=dict.fromkeys(used, "str"),
        na_values=[""], keep_default_na=False, skip_blank_lines=True,
        compression=None,  # of bytes it cannot tell, and says so on standard error
    )  # fmt: skip
    if any(frame[name].has_nulls for name in used):
        raise NotOnDevice("a field is empty or missing")
    words = list(source.settings.null_values) if layout.ids == "labels" else []
    if words and any(frame[name].isin(words).any() for name in wanted.values()):
        raise NotOnDevice("a field is a word for a missing value")
    if len(frame) != chunk.count(b"\n") + (not chunk.endswith(b"\n")):
        raise NotOnDevice("a line is empty, or a field holds a line break")
    if chunk.count(separator.encode()) != len(frame) * (layout.columns - 1):
        raise NotOnDevice("a line has too many or too few fields")  # cuDF cuts off what is too many
    for side in ("left", "right") if layout.ids == "labels" else ():
        _refuse_untidy(frame[wanted[side]], source.settings)
    typed = {role: _typed_text(frame[name], role, source, ascii_only, noted) for role, name in wanted.items()}
    return cudf.DataFrame(typed)


def _refuse_untidy(labels: Any, settings: IngestSettings) -> None:
    """Leave to the CPU labels with blanks around them, and those that mean that there is none."""
    untidy = labels.isin(["", *settings.null_values])
    if settings.strip:
        untidy |= labels.str.match(f"^{BLANKS}|.*{BLANKS}$")
    if untidy.any():
        raise NotOnDevice("a label has blanks around it, or means that a value is missing")


def _typed_text(column: Any, role: str, source: EdgeSource, ascii_only: bool, noted: Counter[str]) -> Any:
    if role == "weight":
        return _weights(column)
    if role == "time":
        return _seconds(column, source, noted)
    return column if role in source.text_sides else _ids(column, role, source, ascii_only)


def check_bytes(chunk: bytes, source: EdgeSource) -> bool:
    """Refuse what the two parsers may take differently; returns whether all is ASCII.

    Raises NotOnDevice where the CPU must read these lines.
    """
    layout = _layout(source)
    comment = COMMENTS.get(source.format)
    if comment is not None and comment.encode() in chunk:
        raise NotOnDevice("a comment stands between the edges")
    if chunk.startswith(codecs.BOM_UTF8):
        raise NotOnDevice("the text begins with a byte order mark")
    if b"\r" in chunk and chunk.count(b"\r") != chunk.count(b"\r\n"):
        raise NotOnDevice("a line ends with a carriage return only")
    if b'"' in chunk and (layout.delimiter is None or not quotes_are_regular(b"\n%b\n" % chunk, layout.delimiter)):
        raise NotOnDevice("a quote encloses no field")
    if chunk.isascii():
        return True
    try:
        chunk.decode()
    except UnicodeDecodeError:
        raise NotOnDevice("the text is no UTF-8") from None
    return False


def _ids(column: Any, side: str, source: EdgeSource, ascii_only: bool) -> Any:
    """Whole numbers; `TextLabels` where the column holds something else."""
    layout = _layout(source)
    digits = column.str.isdecimal() if ascii_only else column.str.match("^[0-9]+$")
    length = column.str.len()
    if (digits & (length > SAFE_DIGITS)).any():
        raise NotOnDevice(f"a {side} id may be beyond 64 bits")
    if not digits.all():
        if layout.ids == "labels" and not column[~digits].str.match("^[ \t]*-?[0-9]+[ \t]*$").all():
            raise TextLabels(side)
        raise NotOnDevice(f"a {side} id is no plain whole number")
    if layout.ids == "labels" and (column.str.startswith("0") & (length > 1)).any():
        raise TextLabels(side)
    ids = column.astype("int64")
    most = layout.n_left if side == "left" else layout.n_right
    least = 1 if layout.ids == "indices" else 0
    if len(ids) and (int(ids.min()) < least or (most and int(ids.max()) > most)):
        raise NotOnDevice(f"a {side} id is out of range")
    return ids


def _weights(column: Any) -> Any:
    """Numbers, parsed on the device where they are whole, else by Arrow, which rounds correctly."""
    import cudf

    if column.str.isdecimal().all() and int(column.str.len().max()) < 16:
        return column.astype("int64").astype("float64")
    try:
        return _finite(cudf.Series.from_arrow(pa.compute.cast(column.to_arrow(), pa.float64())))
    except pa.ArrowInvalid:
        raise NotOnDevice("a weight is no number") from None
