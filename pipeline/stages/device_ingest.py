"""Ingest on a GPU: the same edge table as on the CPU, read, filtered, coded and united on the device with cuDF.

Files are read chunk by chunk. What passes the filters is kept as 16 bytes an edge on the device, and on the host where the
device has no room for it; labels of text are kept as one dictionary a chunk. Then labels are ranked, and edges sorted and
united range by range, so that neither the file nor the graph need fit on the device.

The reader here is strict: whatever it is not sure to read exactly as the CPU does (a quoted line break, a missing field,
an id beyond 18 digits, weights whose sum depends on their order) it leaves to the CPU, by `NotOnDevice`. So bad
input gives the same error, and every table the same graph, on both.
"""

from __future__ import annotations

import codecs
import io
import re
import time
from collections.abc import Callable, Iterator
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import InputError
from pipeline.formats import EdgeSource, TextLabels, open_bytes
from pipeline.placement.device import cudf_and_cupy, free_bytes
from pipeline.settings import IngestSettings
from pipeline.stages.ingest import EdgeTable, in_window, sampled, summary_of

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
            source = source.with_text(turn.side)
    read = time.perf_counter()
    table = _unite(rows, source.uri, settings)
    table.seconds.update(read=round(read - started, 6), unite=round(time.perf_counter() - read, 6))
    return table


class _Rows:
    """The rows that pass the filters, chunk by chunk, and the counts of those that do not."""

    def __init__(self) -> None:
        budget = int(free_bytes() * KEPT_SHARE)
        self.left, self.right, self.weight = (Kept(budget // 3) for _ in range(3))
        self.labels: dict[str, list[Any]] = {
            "left": [],
            "right": [],
        }  # dictionaries of the chunks, where labels are text
        names = ("rows_read", "dropped_nulls", "dropped_self_labels", "dropped_by_weight", "dropped_by_time")
        self.counts = dict.fromkeys((*names, "dropped_by_sample", "dropped_ragged"), 0)


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


def _read(source: EdgeSource, settings: IngestSettings, progress: Callable[[int, int], None] | None) -> _Rows:
    rows = _Rows()
    for part in source.files:
        if part.format == "adjacency":
            raise NotOnDevice("adjacency lists are read by the CPU")
        for frame in _parquet_frames(part) if part.format == "parquet" else _text_frames(part):
            rows.counts["rows_read"] += len(frame)
            _add(rows, _filtered(frame, part, settings, rows.counts))
            if progress is not None:
                progress(rows.counts["rows_read"], source.bytes)
    return rows


def _wanted(source: EdgeSource) -> dict[str, int]:
    layout = source.layout
    assert layout is not None
    places = {"left": layout.left, "right": layout.right, "weight": layout.weight, "time": layout.time}
    return {name: at for name, at in places.items() if at is not None}


def _parquet_frames(source: EdgeSource) -> Iterator[Any]:
    """Read row groups until they fill a chunk."""
    cudf, _ = cudf_and_cupy()
    with open_bytes(source.uri) as raw:
        file = pq.ParquetFile(pa.PythonFile(raw, "r"))
        names = [file.schema_arrow.names[at] for at in _wanted(source).values()]
        sizes = [file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)]
        group: list[int] = []
        for number, size in enumerate(sizes):
            group.append(number)
            if number + 1 == len(sizes) or sum(sizes[i] for i in group) + size > PARQUET_CHUNK:
                frame = cudf.read_parquet(source.uri, columns=names, row_groups=[group])
                frame = frame[names]
                frame.columns = list(_wanted(source))
                yield _typed_parquet(frame, source)
                group = []


def _typed_parquet(frame: Any, source: EdgeSource) -> Any:
    """Ids as int64 or text, weights as float64."""
    for side in ("left", "right"):
        kind = frame[side].dtype
        if side in source.text_sides:
            frame[side] = frame[side].astype("str")
        elif kind.kind in "iu" and kind.name != "uint64":
            frame[side] = frame[side].astype("int64")
            if len(frame) and (frame[side] < 0).any():
                raise NotOnDevice(f"column {side} has an id below 0")
        else:
            raise NotOnDevice(f"column {side} is of type {kind}")
    if "weight" in frame.columns:
        frame["weight"] = _parquet_weights(frame["weight"])
    return frame


def _parquet_weights(column: Any) -> Any:
    whole = column.dtype.kind in "iu"
    if not (whole or column.dtype.kind == "f") or column.has_nulls:
        raise NotOnDevice(f"weights are of type {column.dtype} or missing")
    if whole and len(column) and max(abs(int(column.max())), abs(int(column.min()))) > EXACT:
        raise NotOnDevice("weights are beyond 2**53")
    return column.astype("float64")


def _text_frames(source: EdgeSource) -> Iterator[Any]:
    """Read whole lines until they fill a chunk."""
    layout = source.layout
    assert layout is not None
    rows = 0
    with open_bytes(source.uri) as file:
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
    layout = source.layout
    assert layout is not None
    ascii_only = _check_bytes(chunk, source)
    separator = layout.delimiter or "\t"
    if layout.delimiter is None:
        chunk = chunk.replace(b" ", b"\t")
        if b"\t\t" in chunk:
            chunk = re.sub(rb"\t+", b"\t", chunk)
    wanted = _wanted(source)
    names = [f"column {i}" for i in range(layout.columns)]
    used = [names[at] for at in sorted({*wanted.values(), layout.columns - 1})]  # the last one shows lines too short
    frame = cudf.read_csv(
        io.BytesIO(chunk), sep=separator, header=None, names=names, usecols=used, dtype=dict.fromkeys(used, "str"),
        na_values=[""], keep_default_na=False, skip_blank_lines=True,
    )  # fmt: skip
    if any(frame[name].has_nulls for name in used):
        raise NotOnDevice("a field is empty or missing")
    if len(frame) != chunk.count(b"\n") + (not chunk.endswith(b"\n")):
        raise NotOnDevice("a line is empty, or a field holds a line break")
    if chunk.count(separator.encode()) != len(frame) * (layout.columns - 1):
        raise NotOnDevice("a line has too many or too few fields")  # cuDF cuts off what is too many
    typed = {}
    for name, at in wanted.items():
        column = frame[names[at]]
        if name in ("left", "right"):
            typed[name] = column if name in source.text_sides else _ids(column, name, source, ascii_only)
        else:
            typed[name] = _weights(column) if name == "weight" else column
    return cudf.DataFrame(typed)


def _check_bytes(chunk: bytes, source: EdgeSource) -> bool:
    """Refuse what the two parsers may take differently; returns whether all is ASCII."""
    comment = {"snap": b"#", "konect": b"%", "mtx": b"%"}.get(source.format)
    if comment is not None and comment in chunk:
        raise NotOnDevice("a comment stands between the edges")
    if chunk.startswith(codecs.BOM_UTF8):
        raise NotOnDevice("the text begins with a byte order mark")
    if b"\r" in chunk and chunk.count(b"\r") != chunk.count(b"\r\n"):
        raise NotOnDevice("a line ends with a carriage return only")
    if chunk.isascii():
        return True
    try:
        chunk.decode()
    except UnicodeDecodeError:
        raise NotOnDevice("the text is no UTF-8") from None
    return False


def _ids(column: Any, side: str, source: EdgeSource, ascii_only: bool) -> Any:
    """Whole numbers; `TextLabels` where the column holds something else."""
    layout = source.layout
    assert layout is not None
    digits = column.str.isdecimal() if ascii_only else column.str.match("^[0-9]+$")
    if (digits & (column.str.len() > SAFE_DIGITS)).any():
        raise NotOnDevice(f"a {side} id may be beyond 64 bits")
    if not digits.all():
        if layout.ids == "labels" and not column[~digits].str.match("^[ \t]*-?[0-9]+[ \t]*$").all():
            raise TextLabels(side)
        raise NotOnDevice(f"a {side} id is no plain whole number")
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
        return cudf.Series.from_arrow(pa.compute.cast(column.to_arrow(), pa.float64()))
    except pa.ArrowInvalid:
        raise NotOnDevice("a weight is no number") from None


# ---- filtering ---------------------------------------------------------------------------------------------------


def _filtered(frame: Any, source: EdgeSource, settings: IngestSettings, counts: dict[str, int]) -> Any:
    """Apply the policies in the order in which the CPU does, and count what each drops."""
    for name, keep in _filters(source, settings):
        kept = frame[keep(frame)]
        counts[name] += len(frame) - len(kept)
        frame = kept
    return frame


def _filters(source: EdgeSource, settings: IngestSettings) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    yield "dropped_nulls", lambda frame: _valid(frame, settings)
    if settings.self_labels != "keep":
        yield "dropped_self_labels", lambda frame: _distinct(frame, settings)
    if settings.min_weight is not None:
        yield "dropped_by_weight", lambda frame: frame["weight"] >= settings.min_weight
    if settings.since is not None or settings.until is not None:
        yield "dropped_by_time", lambda frame: _on_time(frame["time"], source, settings)
    if settings.sample is not None:
        yield "dropped_by_sample", lambda frame: _in_sample(frame["left"], settings.sample or 1.0)


def _valid(frame: Any, settings: IngestSettings) -> Any:
    valid = frame["left"].notna() & frame["right"].notna()
    if settings.nulls == "error" and not valid.all():
        raise NotOnDevice("an id is missing")
    return valid


def _distinct(frame: Any, settings: IngestSettings) -> Any:
    if frame["left"].dtype != frame["right"].dtype:
        return frame["left"].notna()
    distinct = frame["left"] != frame["right"]
    if settings.self_labels == "error" and not distinct.all():
        raise NotOnDevice("an edge has the same label on both sides")
    return distinct


def _on_time(times: Any, source: EdgeSource, settings: IngestSettings) -> Any:
    """Whether times lie in the window; Arrow reads them, as on the CPU."""
    import cudf

    keep = in_window(times.to_arrow(), source, settings)
    found = cudf.Series.from_arrow(pa.compute.fill_null(keep, False))
    found.index = times.index
    return found


def _in_sample(labels: Any, fraction: float) -> Any:
    """Whether labels are of the sample; each distinct one is hashed on the host."""
    import cudf

    distinct = labels.unique().to_arrow()
    return labels.isin(cudf.Series.from_arrow(distinct.filter(sampled(distinct, fraction))))


def _add(rows: _Rows, frame: Any) -> None:
    for side, kept in (("left", rows.left), ("right", rows.right)):
        if frame[side].dtype.kind == "i":
            kept.add(frame[side].values)
            continue
        codes, labels = frame[side].factorize()
        kept.add(codes.astype("int32"))
        import cudf

        rows.labels[side].append(cudf.Series(labels))
    if "weight" in frame.columns:
        rows.weight.add(frame["weight"].values)


# ---- uniting -----------------------------------------------------------------------------------------------------


def _unite(rows: _Rows, uri: str, settings: IngestSettings) -> EdgeTable:
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
    if settings.duplicates == "error" and left.size < n_rows:
        raise InputError(
            f"{uri}: {n_rows - left.size} of {n_rows} rows repeat an edge; unite them with duplicates = 'first', 'sum' or 'max'"
        )
    summary = summary_of(rows.counts, n_rows, (left.size, len(left_ids), len(right_ids)), settings)
    return EdgeTable(left, right, weight, left_ids, right_ids, summary, {})


def _ranked(rows: _Rows, side: str) -> tuple[Callable[[int, Any], Any], pa.Array]:
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
