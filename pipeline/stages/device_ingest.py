"""Ingest on a GPU: the same edge table as on the CPU, read, filtered, coded and united on the device with cuDF.

Files are read chunk by chunk. What passes the filters is kept as 16 bytes an edge on the device,
and on the host where the device has no room for it; labels of text are kept as one dictionary a
chunk. Then labels are ranked, and edges sorted and united range by range, so that neither the file
nor the graph need fit on the device.

The reader here is strict, and the CPU's is the judge. Whatever it is not sure to read exactly as
the CPU does it leaves to the CPU, by `NotOnDevice`: a missing field or a word for one, a quote that
encloses no field, a blank or a sign before a number, an id of more than 18 digits, ids of unusual
types, weights whose sum depends on their order. So bad input gives the same error, and every table
the same graph, on both.
"""

from __future__ import annotations

import codecs
import io
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.formats import EdgeSource, Layout, open_bytes, reading
from pipeline.formats.fields import quotes_are_regular
from pipeline.formats.problems import COMMENTS
from pipeline.formats.times import unix_seconds
from pipeline.placement.device import cudf_and_cupy, free_bytes
from pipeline.settings import IngestSettings
from pipeline.stages.edge_table import EdgeTable, summarize
from pipeline.stages.ingest_policies import filtered, no_rows, of_sample

TEXT_CHUNK = 512 << 20
"""Bytes of a text file read at a time: far below 2^31, the most that a column of text may hold."""

PARQUET_CHUNK = 2 << 30
"""Bytes (decompressed) of Parquet row groups read at a time."""

SAFE_DIGITS = 18
"""Whole numbers of so many digits fit 64 bits."""

EXACT = 2**53
"""Sums of whole numbers up to here are exact in float64, in any order."""

KEPT_SHARE = 0.35
"""Share of the free device memory in which edges are kept; sorting takes as much again."""

SORT_SHARE = 0.2
"""Share of the free device memory that the keys of one range may take while they are sorted."""


class NotOnDevice(Exception):
    """Raised where the CPU must read a table, with the reason."""


class TextLabels(Exception):
    """Raised where a side's labels are text after all: the table is read again as such."""

    def __init__(self, side: str) -> None:
        super().__init__(side)
        self.side = side


def read_on_device(
    source: EdgeSource, settings: IngestSettings, progress: Callable[[int, int], None] | None = None
) -> EdgeTable:
    """Read an edge table with cuDF.

    Parameters
    ----------
    source
        A recognised table (`pipeline.formats.open_edges`).
    settings
        Columns and policies.
    progress
        Called with the rows read so far and the file's bytes after each chunk.

    Returns
    -------
    EdgeTable
        Equal to the CPU's.

    Raises
    ------
    NotOnDevice
        Where the CPU must read this table.
    BackendError
        Where cuDF cannot run here.

    Notes
    -----
    O(rows) device time and one sort of the edges; device memory is bounded, host memory is 8 to 16 bytes an edge where the
    device cannot hold them.
    """
    started = time.perf_counter()
    while True:
        try:
            rows = _read(source, settings, progress)
            break
        except TextLabels as turn:
            source = _with_text(source, turn.side)
    read = time.perf_counter()
    table = _unite(rows, source.uri, settings)
    table.seconds.update(read=round(read - started, 6), unite=round(time.perf_counter() - read, 6))
    return table


def _with_text(source: EdgeSource, side: str) -> EdgeSource:
    """The same table with the labels of a side read as text."""
    parts = tuple(_with_text(part, side) for part in source.parts)
    return replace(source, text_sides=source.text_sides | {side}, parts=parts)


class _Table:
    """The rows that pass the filters, chunk by chunk, and the counts of those that do not."""

    def __init__(self) -> None:
        budget = int(free_bytes() * KEPT_SHARE)
        self.left, self.right, self.weight = (Kept(budget // 3) for _ in range(3))
        self.labels: dict[str, list[Any]] = {"left": [], "right": []}  # dictionaries of the chunks of text
        self.counts = no_rows()

    def add(self, frame: Any) -> None:
        """Keep the rows of a chunk."""
        import cudf

        for side, kept in (("left", self.left), ("right", self.right)):
            if frame[side].dtype.kind == "i":
                kept.add(frame[side].values)
            else:
                codes, labels = frame[side].factorize()
                kept.add(codes.astype("int32"))
                self.labels[side].append(cudf.Series(labels))
        if "weight" in frame.columns:
            self.weight.add(frame["weight"].values)


class Kept:
    """A list of device arrays; beyond its budget they lie on the host until they are asked for.

    Parameters
    ----------
    budget
        Bytes that may stay on the device.
    """

    def __init__(self, budget: int) -> None:
        self._room = budget
        self._chunks: list[Any] = []

    def __len__(self) -> int:
        return len(self._chunks)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(int(chunk.nbytes) for chunk in self._chunks)

    def add(self, array: Any) -> None:
        """Keep an array of the device."""
        self._room -= array.nbytes
        self._chunks.append(array if self._room >= 0 else array.get())

    def pop_first(self) -> Any:
        """Return the first array, on the device, and forget it."""
        import cupy

        return cupy.asarray(self._chunks.pop(0))

    def part(self, number: int, start: int, stop: int) -> Any:
        """Return a part of an array, on the device."""
        import cupy

        return cupy.asarray(self._chunks[number][start:stop])

    def find(self, values: Any) -> Any:
        """Return, for each array (ascending), where these values (of the host) would be inserted."""
        import cupy

        places = []
        for chunk in self._chunks:
            host = isinstance(chunk, np.ndarray)
            found = np.searchsorted(chunk, values) if host else cupy.searchsorted(chunk, cupy.asarray(values)).get()
            places.append(np.concatenate([[0], found, [chunk.size]]))
        return places


# ---- reading -----------------------------------------------------------------------------------------------------


def _read(source: EdgeSource, settings: IngestSettings, progress: Callable[[int, int], None] | None) -> _Table:
    _refuse_settings(settings)
    table = _Table()
    for part in source.files:
        if part.format == "adjacency":
            raise NotOnDevice("adjacency lists are read by the CPU")
        for frame in _parquet_frames(part) if part.format == "parquet" else _text_frames(part):
            table.counts["rows_read"] += len(frame)
            table.add(filtered(DeviceRows(frame, settings), settings, table.counts).frame)
            if progress is not None:
                progress(table.counts["rows_read"], source.bytes)
    return table


def _refuse_settings(settings: IngestSettings) -> None:
    if settings.multiline:
        raise NotOnDevice("fields over several lines are read by the CPU")
    if not settings.quotes:
        raise NotOnDevice("quotes that are characters are read by the CPU")


def _layout(source: EdgeSource) -> Layout:
    assert source.layout is not None
    return source.layout


def _parquet_frames(source: EdgeSource) -> Iterator[Any]:
    """Read row groups until they fill a chunk."""
    cudf, _ = cudf_and_cupy()
    with open_bytes(source.uri) as raw, reading(source.uri):
        file = pq.ParquetFile(pa.PythonFile(raw, "r"))
        _refuse_types(source, file.schema_arrow)
        names = list(source.columns.values())
        sizes = [file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)]
        group: list[int] = []
        for number, size in enumerate(sizes):
            group.append(number)
            if number + 1 == len(sizes) or sum(sizes[i] for i in group) + size > PARQUET_CHUNK:
                frame = cudf.read_parquet(source.uri, columns=names, row_groups=[group])
                frame = frame[names]
                frame.columns = list(source.columns)
                yield _typed_parquet(frame, source)
                group = []


def _refuse_types(source: EdgeSource, schema: pa.Schema) -> None:
    """Leave to the CPU ids that are neither text nor whole numbers of 64 bits, or numbers that shall be text."""
    for side in ("left", "right"):
        kind = schema.field(source.columns[side]).type
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        is_text = pa.types.is_string(plain) or pa.types.is_large_string(plain)
        is_number = pa.types.is_integer(kind) and not pa.types.is_uint64(kind) and side not in source.text_sides
        if not (is_text or is_number):
            raise NotOnDevice(f"column {side} is of type {kind}")


def _typed_parquet(frame: Any, source: EdgeSource) -> Any:
    """Ids as int64 or text, weights as float64, times as Unix seconds."""
    if source.settings.nulls == "error" and any(frame[name].has_nulls for name in frame.columns):
        raise NotOnDevice("a value is missing")
    for side in ("left", "right"):
        frame[side] = frame[side].astype("str" if side in source.text_sides else "int64")
    if "weight" in frame.columns:
        frame["weight"] = _parquet_weights(frame["weight"])
    if "time" in frame.columns:
        frame["time"] = _seconds(frame["time"])
    return frame


def _parquet_weights(column: Any) -> Any:
    whole = column.dtype.kind in "iu"
    if not whole and column.dtype.kind != "f":
        raise NotOnDevice(f"weights are of type {column.dtype}")
    if whole and len(column.dropna()) and max(abs(int(column.max())), abs(int(column.min()))) > EXACT:
        raise NotOnDevice("weights are beyond 2**53")
    return _finite(column.astype("float64"))


def _finite(weights: Any) -> Any:
    _, cp = cudf_and_cupy()
    if not bool(cp.isfinite(weights.dropna().values).all()):
        raise NotOnDevice("a weight is not finite")
    return weights


def _seconds(times: Any) -> Any:
    """Unix seconds; Arrow reads them, as on the CPU."""
    import cudf

    try:
        seconds = cudf.Series.from_arrow(unix_seconds(times.to_arrow()))
    except pa.ArrowInvalid:
        raise NotOnDevice("a time is none") from None
    seconds.index = times.index
    return seconds


def _text_frames(source: EdgeSource) -> Iterator[Any]:
    """Read whole lines until they fill a chunk."""
    layout = _layout(source)
    rows = 0
    with open_bytes(source.uri) as file, reading(source.uri):
        for _ in range(layout.skip):
            file.readline()
        while chunk := _lines(file):
            frame = _parsed(chunk, source)
            rows += len(frame)
            yield frame
    if layout.rows is not None and rows != layout.rows:
        raise NotOnDevice(f"{layout.rows} rows are declared, {rows} follow")


def _lines(file: IO[bytes]) -> bytes:
    chunk = file.read(TEXT_CHUNK)
    return chunk + file.readline() if len(chunk) == TEXT_CHUNK else chunk


def _parsed(chunk: bytes, source: EdgeSource) -> Any:
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
    typed = {role: _typed_text(frame[name], role, source, ascii_only) for role, name in wanted.items()}
    return cudf.DataFrame(typed)


def _typed_text(column: Any, role: str, source: EdgeSource, ascii_only: bool) -> Any:
    if role == "weight":
        return _weights(column)
    if role == "time":
        return _seconds(column)
    return column if role in source.text_sides else _ids(column, role, source, ascii_only)


def check_bytes(chunk: bytes, source: EdgeSource) -> bool:
    """Refuse what the two parsers may take differently; returns whether all is ASCII.

    Raises
    ------
    NotOnDevice
        Where the CPU must read these lines.
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
    """Numbers, parsed on the device where they are whole, by Arrow otherwise, which rounds correctly."""
    import cudf

    if column.str.isdecimal().all() and int(column.str.len().max()) < 16:
        return column.astype("int64").astype("float64")
    try:
        return _finite(cudf.Series.from_arrow(pa.compute.cast(column.to_arrow(), pa.float64())))
    except pa.ArrowInvalid:
        raise NotOnDevice("a weight is no number") from None


# ---- filtering ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DeviceRows:
    """Rows in a frame of the device, for the policies (`ingest_policies.Rows`).

    Parameters
    ----------
    frame
        The rows that are left.
    settings
        How equal labels are taken.
    """

    frame: Any
    settings: IngestSettings

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def where(self, mask: Any) -> DeviceRows:
        """Keep the rows for which a mask is true."""
        return replace(self, frame=self.frame[mask])

    def complete(self) -> Any:
        """Whether nothing is missing."""
        valid = [self.frame[name].notna() for name in self.frame.columns if self.frame[name].has_nulls]
        return reduce(and_, valid) if valid else None

    def distinct(self) -> Any:
        """Whether the two labels are different text."""
        left, right = self.frame["left"], self.frame["right"]
        if left.dtype != right.dtype:
            raise NotOnDevice("labels of one side are numbers, those of the other text")
        distinct = left != right
        if self.settings.self_labels == "error" and not distinct.all():
            raise NotOnDevice("an edge has the same label on both sides")
        return distinct

    def heavy(self, least: float) -> Any:
        """Whether the weight is so large."""
        return self.frame["weight"] >= least

    def within(self, since: float, until: float) -> Any:
        """Whether the time lies in a window."""
        return (self.frame["time"] >= since) & (self.frame["time"] < until)

    def sampled(self, fraction: float) -> Any:
        """Whether the left label is of the sample; each distinct one is hashed on the host."""
        import cudf

        distinct = self.frame["left"].unique().to_arrow()
        return self.frame["left"].isin(cudf.Series.from_arrow(distinct.filter(of_sample(distinct, fraction))))


# ---- uniting -----------------------------------------------------------------------------------------------------


def _unite(rows: _Table, uri: str, settings: IngestSettings) -> EdgeTable:
    """Rank the labels, and unite repeated edges."""
    _, cp = cudf_and_cupy()
    left_of, left_ids = _ranked(rows, "left")
    right_of, right_ids = _ranked(rows, "right")
    weighted = len(rows.weight) > 0
    keys, weights = Kept(int(free_bytes() * KEPT_SHARE)), Kept(int(free_bytes() * KEPT_SHARE))
    n_rows = 0
    for number in range(len(rows.left)):
        left = left_of(number, rows.left.pop_first())
        key = left.astype(cp.int64) << 32 | right_of(number, rows.right.pop_first())
        n_rows += key.size
        weight = rows.weight.pop_first() if weighted else None
        key, weight = _united(cp, key, weight, settings)
        keys.add(key)
        if weight is not None:
            weights.add(weight)
        del left, key, weight
    left, right, weight = _merged(cp, keys, weights if weighted else None, settings)
    summary = summarize(uri, rows.counts, n_rows, left.size, (left_ids, right_ids), settings)
    return EdgeTable(left, right, weight, left_ids, right_ids, summary, {})


def _ranked(rows: _Table, side: str) -> tuple[Callable[[int, Any], Any], pa.Array]:
    """A function that ranks the labels of a chunk, and all labels by rank."""
    return _ranked_text(rows.labels[side]) if rows.labels[side] else _ranked_numbers(getattr(rows, side))


def _ranked_numbers(kept: Kept) -> tuple[Callable[[int, Any], Any], pa.Array]:
    _, cp = cudf_and_cupy()
    found = cp.zeros(0, cp.int64)
    for number in range(len(kept)):
        found = cp.unique(cp.concatenate([found, cp.unique(kept.part(number, 0, None))]))  # type: ignore[arg-type]
    return lambda number, labels: cp.searchsorted(found, labels), pa.array(found.get())


def _ranked_text(dictionaries: list[Any]) -> tuple[Callable[[int, Any], Any], pa.Array]:
    """Dictionaries of the chunks are united and sorted by their UTF-8 bytes, which is by code point."""
    cudf, cp = cudf_and_cupy()
    codes, labels = cudf.concat(dictionaries, ignore_index=True).factorize()
    labels = cudf.Series(labels)
    order = labels.argsort()
    rank = cp.empty(len(labels), cp.int64)
    rank[order.values] = cp.arange(len(labels))
    ranks = rank[cp.asarray(codes)]
    starts = np.cumsum([0, *map(len, dictionaries)])
    ascending = labels.iloc[order].to_arrow()
    return lambda number, code: ranks[int(starts[number]) + code], _plain_text(ascending)


def _plain_text(labels: pa.Array) -> pa.Array:
    """The labels as Arrow's own readers leave them: 32-bit offsets from 0, no spare bytes, no validity."""
    labels = labels.cast(pa.string())
    return pa.array(labels.to_numpy(zero_copy_only=False), pa.string())


def _united(cp: Any, keys: Any, weights: Any, settings: IngestSettings) -> tuple[Any, Any]:
    """Sort keys and unite equal ones, as the policy says."""
    if weights is None:
        keys.sort()
        return keys[_first_of_run(cp, keys)], None
    order = cp.argsort(keys, kind="stable")
    keys, weights = keys[order], weights[order]
    starts = cp.flatnonzero(_first_of_run(cp, keys))
    if settings.duplicates == "sum":
        whole = weights.size == 0 or bool((cp.floor(weights) == weights).all() & (cp.abs(weights).sum() < EXACT))
        if not whole:
            raise NotOnDevice("sums of such weights depend on their order")
        sums = cp.concatenate([cp.zeros(1), cp.cumsum(weights)])
        return keys[starts], sums[cp.append(starts[1:], weights.size)] - sums[starts]
    if settings.duplicates == "max":
        order = cp.lexsort(cp.stack([weights, keys]))
        last = cp.append(starts[1:], weights.size) - 1
        return keys[starts], weights[order][last]
    return keys[starts], weights[starts]


def _first_of_run(cp: Any, ascending: Any) -> Any:
    first = cp.ones(ascending.size, cp.bool_)
    first[1:] = ascending[1:] != ascending[:-1]
    return first


def _merged(cp: Any, keys: Kept, weights: Kept | None, settings: IngestSettings) -> tuple[Any, Any, Any]:
    """Unite the chunks, each sorted and united, range by range; returns arrays of the host."""
    ranges = max(1, -(-keys.nbytes // int(free_bytes() * SORT_SHARE)))
    places = keys.find(_bounds(keys, ranges))
    parts: list[tuple[Any, Any, Any]] = []
    for number in range(ranges if len(keys) else 0):
        spans = [(i, int(place[number]), int(place[number + 1])) for i, place in enumerate(places)]
        key = cp.concatenate([keys.part(*span) for span in spans])
        weight = None if weights is None else cp.concatenate([weights.part(*span) for span in spans])
        if len(keys) > 1:
            key, weight = _united(cp, key, weight, settings)
        left, right = (key >> 32).astype(cp.int32).get(), (key & 0xFFFFFFFF).astype(cp.int32).get()
        parts.append((left, right, None if weight is None else weight.get()))
    if not parts:
        return np.zeros(0, np.int32), np.zeros(0, np.int32), None
    left, right, weight = (None if column[0] is None else np.concatenate(column) for column in zip(*parts, strict=True))
    return left, right, weight


def _bounds(keys: Kept, ranges: int) -> Any:
    """Keys that cut all chunks in so many ranges of about equal size."""
    if ranges == 1:
        return np.zeros(0, np.int64)
    step = max(keys.nbytes // 8 // (1000 * ranges), 1)
    sample = np.sort(np.concatenate([keys.part(i, 0, None)[::step].get() for i in range(len(keys))]))  # type: ignore[arg-type]
    return sample[np.arange(1, ranges) * sample.size // ranges]
