"""Ingest: an edge table in, a canonical graph in the store out.

Rows are filtered batch by batch (nulls, equal labels, weights, times, sample), their labels coded,
repeated edges united, and each side's labels replaced by their ranks in sorted order. So the graph,
and the digest of all that is found in it, depend on neither the order of the rows nor the format of
the file.

Memory: 16 bytes an edge while it reads and 24 while it sorts, whatever the size of the file.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from pipeline.columns import column_of, values_of
from pipeline.errors import InputError
from pipeline.events import tell, warn
from pipeline.formats import EdgeBatch, Edges, EdgeSource, open_edges, read_batches
from pipeline.formats.words import shown
from pipeline.placement.where import CPU_DATA, Backend, Place, place_data
from pipeline.redact import without_secrets
from pipeline.settings import IngestSettings
from pipeline.stages.edge_table import EdgeTable, summarize
from pipeline.stages.ingest_policies import filtered, no_rows, of_sample
from pipeline.stages.window import ROWS_FILE, TimedRows, cut_to_window
from pipeline.store.device_tables import write_table
from pipeline.store.edges import EDGES
from pipeline.store.labels import labels_table
from pipeline.store.layout import GraphFolder, Store
from pipeline.store.records import StoredFile

__all__ = ["EdgeTable", "GraphRecord", "ingest", "read_edge_table"]

COMPACT_RANGE = 8
"""Whole-number labels are ranked by a table of their range where that is at most so many times
their number."""

ROWS_WORTH_THE_DEVICE = 1 << 20
"""Rows from which on a table is written faster on the device, where a file takes 30 ms and a row
next to nothing."""

ASCENDING = ("left", "right", "id", "hash")
"""Columns of numbers that ascend, or do so in each row; a label that is one hashes to itself."""

HIGH = 1 if sys.byteorder == "little" else 0
"""Place of the upper half of a 64-bit word."""

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class GraphRecord:
    """An ingested graph.

    Parameters
    ----------
    graph
        Its name in the store: 16 hex digits, a hash of edges and labels.
    uri
        Its folder.
    n_left, n_right, n_edges
        Sizes.
    summary
        rows_read, duplicates, what was dropped and why, and the policies.
    seconds
        Duration of ``read``, ``unite`` and ``write``.
    """

    graph: str
    uri: str
    n_left: int
    n_right: int
    n_edges: int
    summary: dict[str, Any]
    seconds: dict[str, float]


def ingest(
    source: Edges,
    store: Store,
    settings: IngestSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
    backend: str = "cpu",
) -> GraphRecord:
    """Read an edge table and write its canonical graph to the store.

    Parameters
    ----------
    source
        Path or fsspec URL of a file, a glob, or a folder of tables; or a table in memory.
    store
        Where the graph goes; the same table gives the same graph, which is then not written again.
    settings
        Format, columns and policies.
    progress
        Called with the rows read so far and the file's bytes after each batch.
    backend
        "cpu", "cuda" (cuDF), or "auto": the GPU for a table that is large enough. The graph is the
        same.

    Returns
    -------
    GraphRecord

    Raises
    ------
    InputError
        At anything wrong in the file; nothing is then in the store.
    BackendError
        If "cuda" cannot run here.

    Notes
    -----
    O(rows log rows) time for the sort of edges; labels of text are sorted once each.
    """
    settings = settings or IngestSettings()
    table = read_edge_table(source, settings, progress, backend)
    return store_table(store, table, time.perf_counter(), place_data(backend))


def store_table(store: Store, table: EdgeTable, started: float, place: Place = CPU_DATA) -> GraphRecord:
    """Write a table as a graph of the store, unless it is there and sound.

    Parameters
    ----------
    store
        Where the graph goes.
    table
        The canonical table.
    started
        When this stage began, by `time.perf_counter`.
    place
        Where large tables are encoded that were read on a GPU.
    """
    columns = {"left": column_of(table.left), "right": column_of(table.right)}
    if table.weight is not None:
        columns["weight"] = column_of(table.weight)
    tables = {
        EDGES: pa.table(columns),
        "left_ids.parquet": labels_table(table.left_ids),
        "right_ids.parquet": labels_table(table.right_ids),
    }
    if table.rows is not None:
        tables[ROWS_FILE] = pa.table(table.rows.columns())
    sizes = len(table.left_ids), len(table.right_ids), len(table.left)
    folder = store.graph(_digest(table))
    made = GraphRecord(_name(folder), folder.uri, *sizes, table.summary, dict(table.seconds))
    return _stored(folder, made, tables, started, place)


def store_changed(
    store: Store,
    base: GraphFolder,
    tables: dict[str, pa.Table],
    sizes: tuple[int, int, int],
    summary: dict[str, Any],
    seconds: dict[str, float],
    started: float,
) -> GraphRecord:
    """Write a graph as what differs from another one (`pipeline.store.edges`).

    Parameters
    ----------
    store, base
        Where it goes, and the whole graph that it differs from.
    tables
        Its files: the edges that differ, and labels that follow those of the base.
    sizes, summary, seconds
        Left and right vertices and edges of all of it, what is told of the table, and how long it
        took to read.
    started
        When this stage began, by `time.perf_counter`.
    """
    state = xxhash.xxh3_64(base.place.encode())
    for name, part in tables.items():
        state.update(name.encode())
        for column in part.columns:
            state.update(repr(column.to_pylist()).encode())  # quoted: labels may hold any character
    folder = store.graph(str(state.hexdigest()))
    made = GraphRecord(_name(folder), folder.uri, *sizes, summary, dict(seconds))
    return _stored(folder, made, tables, started, CPU_DATA, base)


def _name(folder: GraphFolder) -> str:
    return folder.place.rsplit("/", 1)[-1]


def _stored(
    folder: GraphFolder,
    made: GraphRecord,
    tables: dict[str, pa.Table],
    started: float,
    place: Place,
    base: GraphFolder | None = None,
) -> GraphRecord:
    """Write the files of a graph, unless they are there and sound."""
    with folder.claim("ingest"):
        damage = folder.why_damaged() if folder.exists() else None
        if damage is not None:
            warn("graph is written again", graph=made.graph, reason=damage)
        if damage is not None or not folder.exists():
            _write(folder, made, tables, started, place, base)
    record = replace(made, seconds={**made.seconds, "write": round(time.perf_counter() - started, 6)})
    counted = {"rows": record.summary["rows_read"], "left": record.n_left, "right": record.n_right}
    tell("table ingested", graph=record.graph, **counted, edges=record.n_edges, seconds=sum(record.seconds.values()))
    return record


def read_edge_table(
    source: Edges,
    settings: IngestSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
    backend: str = "cpu",
) -> EdgeTable:
    """Read an edge table into memory; what `ingest` does before it writes.

    Raises
    ------
    InputError
        At anything wrong in the file.
    BackendError
        If "cuda" cannot run here.
    """
    settings = settings or IngestSettings()
    started = time.perf_counter()
    opened = open_edges(source, settings)
    place = place_data(backend, opened.bytes)
    table = place.run(lambda chosen: _read_by(opened, settings, progress, chosen))
    if len(table.left) == 0:
        raise InputError(f"{opened.uri}: no edge is left: {_dropped(table.summary)}; check the filters and the columns")
    table.summary["columns"] = opened.columns
    table.summary["source"] = {
        "uri": without_secrets(opened.uri),
        "format": opened.format,
        "bytes": opened.bytes,
        "files": len(opened.files),
    }
    table.summary["seconds"] = round(time.perf_counter() - started, 6)
    return table


def _read_by(
    opened: EdgeSource, settings: IngestSettings, progress: Callable[[int, int], None] | None, backend: str
) -> EdgeTable:
    """Read a table on the device, or on the CPU where asked or where the device declines."""
    reason = None
    if backend == "cuda":
        from pipeline.stages.device_ingest import read_on_device
        from pipeline.stages.device_reading import NotOnDevice

        try:
            table = read_on_device(opened, settings, progress)
            table.summary["backend"] = "cuda"
            return table
        except NotOnDevice as left:
            reason = str(left)
    started = time.perf_counter()
    rows = _read(opened, settings, progress)
    read = time.perf_counter()
    table = _unite(rows, opened.uri, settings)
    table.seconds.update(read=round(read - started, 6), unite=round(time.perf_counter() - read, 6))
    table.summary["backend"] = "cpu" if reason is None else f"cpu: {reason}"
    return table


def _dropped(summary: dict[str, Any]) -> str:
    """What was read and dropped, in words."""
    reasons = {name: n for name, n in summary.items() if name.startswith("dropped") and n}
    said = ", ".join(f"{n:,} dropped {name.removeprefix('dropped_').replace('_', ' ')}" for name, n in reasons.items())
    return f"{summary['rows_read']:,} rows were read" + (f" ({said})" if said else "")


# ---- reading -------------------------------------------------------------------------------------


class _Kept:
    """The rows that pass the filters, one array a batch, and the counts of those that do not."""

    def __init__(self) -> None:
        self.left: list[pa.Array] = []
        self.right: list[pa.Array] = []
        self.weight: list[pa.Array] = []
        self.time: list[pa.Array] = []
        self.latest = -math.inf
        self.counts = no_rows()

    def add(self, edges: pa.RecordBatch) -> None:
        """Keep rows; labels of text as a dictionary and codes."""
        for name, chunks in (("left", self.left), ("right", self.right)):
            column = edges[name]
            chunks.append(column.dictionary_encode() if pa.types.is_string(column.type) else column)
        for name, chunks in (("weight", self.weight), ("time", self.time)):
            if name in edges.schema.names:
                chunks.append(edges[name])

    def cut(self, window: str) -> None:
        """Keep the rows of a window of time."""
        self.latest, masks = cut_to_window(self.time, window)
        for chunks in (self.left, self.right, self.weight, self.time):
            chunks[:] = [chunk.filter(column_of(mask)) for chunk, mask in zip(chunks, masks, strict=False)]
        self.counts["dropped_by_window"] += sum(int((~mask).sum()) for mask in masks)


def _read(source: EdgeSource, settings: IngestSettings, progress: Callable[[int, int], None] | None) -> _Kept:
    """Read and filter all batches."""
    kept = _Kept()
    for batch in read_batches(source):
        kept.counts["rows_read"] += batch.edges.num_rows + batch.ragged
        kept.counts["dropped_ragged"] += batch.ragged
        kept.add(filtered(HostRows(batch.edges, batch, settings), settings, kept.counts).edges)
        if progress is not None:
            progress(kept.counts["rows_read"], source.bytes)
    if settings.window is not None:
        kept.cut(settings.window)
    return kept


@dataclass(frozen=True, eq=False)
class HostRows:
    """Rows in Arrow arrays, for the policies (`ingest_policies.Rows`).

    Parameters
    ----------
    edges
        The rows that are left.
    batch
        What was read, to say where a row stands.
    settings
        How equal labels are taken.
    """

    edges: pa.RecordBatch
    batch: EdgeBatch
    settings: IngestSettings

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.edges.num_rows)

    def where(self, mask: pa.Array) -> HostRows:
        """Keep the rows for which a mask is true."""
        return replace(self, edges=self.edges.filter(mask, null_selection_behavior="drop"))

    def complete(self) -> pa.Array | None:
        """Whether nothing is missing."""
        valid = [pc.is_valid(column) for column in self.edges.columns if column.null_count]
        return reduce(pc.and_, valid) if valid else None

    def distinct(self) -> pa.Array:
        """Whether the two labels are different text."""
        if self.settings.self_labels == "error":
            row = pc.index(_equal_labels(self.batch.edges), True).as_py()
            if row >= 0:
                raise InputError(
                    f"{self.batch.place(row)}: an edge has the same label"
                    f" {shown(self.batch.edges['left'][row].as_py())} on both sides; drop such edges with"
                    " self_labels = 'drop', or keep them with 'keep'"
                )
        return pc.invert(_equal_labels(self.edges))

    def heavy(self, least: float) -> pa.Array:
        """Whether the weight is so large."""
        return pc.greater_equal(self.edges["weight"], least)

    def within(self, since: float, until: float) -> pa.Array:
        """Whether the time lies in a window."""
        seconds = self.edges["time"]
        return pc.and_(pc.greater_equal(seconds, since), pc.less(seconds, until))

    def sampled(self, fraction: float) -> pa.Array:
        """Whether the left label is of the sample."""
        return of_sample(self.edges["left"], fraction)


def _equal_labels(edges: pa.RecordBatch) -> pa.Array:
    left, right = edges["left"], edges["right"]
    if left.type != right.type:
        left, right = pc.cast(left, pa.string()), pc.cast(right, pa.string())
    return pc.equal(left, right)


# ---- uniting -------------------------------------------------------------------------------------


def _unite(rows: _Kept, source: str, settings: IngestSettings) -> EdgeTable:
    """Rank the labels, and unite repeated edges."""
    left, left_ids = _ranked(rows.left)
    right, right_ids = _ranked(rows.right)
    rows.left.clear()
    rows.right.clear()
    n_rows = len(left)
    timed = None if settings.window is None else _timed(rows, left, right)
    keys = left
    keys <<= 32
    keys |= right
    del left, right
    weight = None
    if rows.weight:
        keys, weight = unite_weights(keys, values_of(pa.chunked_array(rows.weight)), settings)
    else:
        keys.sort()
        keys = keys[_first_of_run(keys)]
    summary = summarize(source, rows.counts, n_rows, len(keys), (left_ids, right_ids), settings)
    words = keys.view(np.int32)
    ends = np.ascontiguousarray(words[HIGH::2]), np.ascontiguousarray(words[1 - HIGH :: 2])
    if timed is not None:
        summary["latest"] = timed.latest
    return EdgeTable(*ends, weight, left_ids, right_ids, summary, {}, timed)


def _timed(rows: _Kept, left: Int64s, right: Int64s) -> TimedRows:
    """What a window of time needs of its rows, in dense ids."""
    time, weight = (values_of(pa.chunked_array(chunks)) if chunks else None for chunks in (rows.time, rows.weight))
    time = np.zeros(0) if time is None else time
    return TimedRows(left.astype(np.int32), right.astype(np.int32), time, weight, rows.latest).needed()


def _first_of_run(ascending: Int64s) -> npt.NDArray[np.bool_]:
    first = np.ones(len(ascending), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return first


def unite_weights(
    keys: Int64s, weights: npt.NDArray[np.float64], settings: IngestSettings
) -> tuple[Int64s, npt.NDArray[np.float64]]:
    """Sort edges and unite the weights of equal ones, as the policy of duplicates says."""
    order = np.argsort(keys, kind="stable")
    keys, weights = keys[order], weights[order]
    starts = np.flatnonzero(_first_of_run(keys))
    if settings.duplicates == "sum":
        united = np.add.reduceat(weights, starts) if len(starts) else weights
    elif settings.duplicates == "max":
        united = np.maximum.reduceat(weights, starts) if len(starts) else weights
    else:
        united = weights[starts]
    return keys[starts], united


def _ranked(chunks: list[pa.Array]) -> tuple[Int64s, pa.Array]:
    """Ranks of all labels of a side, and the labels by rank.

    One chunk of text makes all labels text.
    """
    if any(pa.types.is_dictionary(chunk.type) for chunk in chunks):
        return _ranked_text(pa.chunked_array([_as_text(chunk) for chunk in chunks]))
    return _ranked_numbers([values_of(chunk) for chunk in chunks if len(chunk)])


def _as_text(chunk: pa.Array) -> pa.DictionaryArray:
    """Labels as text: a number stands for a label only where it is written like it."""
    return chunk if pa.types.is_dictionary(chunk.type) else pc.cast(chunk, pa.string()).dictionary_encode()


def _ranked_numbers(chunks: list[Int64s]) -> tuple[Int64s, pa.Array]:
    """By a table of the labels' range where it is compact, by sorting otherwise."""
    if not chunks:
        return np.zeros(0, np.int64), column_of(np.zeros(0, np.int64))
    size = sum(map(len, chunks))
    least, most = min(int(chunk.min()) for chunk in chunks), max(int(chunk.max()) for chunk in chunks)
    if most - least > COMPACT_RANGE * size + 1024:
        found, ranks = np.unique(np.concatenate(chunks), return_inverse=True)
        return ranks.astype(np.int64), column_of(found)
    present = np.zeros(most - least + 1, np.bool_)
    for chunk in chunks:
        present[chunk - least] = True
    rank = np.cumsum(present, dtype=np.int64) - 1
    ranks = np.empty(size, np.int64)
    start = 0
    for chunk in chunks:
        ranks[start : start + len(chunk)] = rank[chunk - least]
        start += len(chunk)
    return ranks, column_of(np.flatnonzero(present) + least)


def _ranked_text(column: pa.ChunkedArray) -> tuple[Int64s, pa.Array]:
    """Dictionaries of the batches are united and sorted by code point (UTF-8 bytes sort alike)."""
    column = column.unify_dictionaries()
    labels = column.chunk(0).dictionary
    order = pc.sort_indices(labels)
    rank = np.empty(len(labels), np.int64)
    rank[values_of(order)] = np.arange(len(labels))
    codes = np.concatenate([values_of(chunk.indices) for chunk in column.chunks])
    used = np.zeros(len(labels), np.bool_)
    used[rank[codes]] = True
    dense = np.cumsum(used, dtype=np.int64) - 1
    return dense[rank[codes]], labels.take(order).filter(column_of(used))


# ---- writing -------------------------------------------------------------------------------------


def _digest(table: EdgeTable) -> str:
    state = xxhash.xxh3_64()
    for array in (table.left, table.right, table.weight):
        state.update(b"-" if array is None else array.tobytes())
    for ids in (table.left_ids, table.right_ids):
        state.update(str(ids.type).encode())
        for buffer in ids.buffers()[1:]:
            state.update(b"-" if buffer is None else memoryview(buffer))
    if table.rows is not None:
        state.update(np.float64(table.rows.latest).tobytes())
        for column in table.rows.columns().values():
            state.update(column.tobytes())
    return str(state.hexdigest())


def _write(
    folder: GraphFolder,
    made: GraphRecord,
    tables: dict[str, pa.Table],
    started: float,
    place: Place,
    base: GraphFolder | None,
) -> None:
    with ThreadPoolExecutor(len(tables)) as pool:  # each waits for the disk
        writes = []
        stored: list[StoredFile] = []
        for name, whole in tables.items():
            if made.summary["backend"] == "cuda" and whole.num_rows >= ROWS_WORTH_THE_DEVICE:
                stored.append(place.run(partial(_write_table, folder, name, whole)))
            else:
                writes.append(pool.submit(folder.write_table, name, whole, differences=_ascending(name, whole)))
        stored += [write.result() for write in writes]
    folder.write_record(
        "graph.json",
        {
            **({} if base is None else {"base": _name(base)}),
            "source": made.summary["source"],
            "n_left": made.n_left,
            "n_right": made.n_right,
            "n_edges": made.n_edges,
            "summary": made.summary,
            "seconds": {**made.seconds, "write": round(time.perf_counter() - started, 6)},
        },
        stored,
    )


def _ascending(name: str, table: pa.Table) -> list[str]:
    """Columns of a graph's file that are stored by their differences: ends of edges, and ids.

    They take less time to read then than as a dictionary, and less space (docs/decisions.md).
    """
    numbers = name != ROWS_FILE and pa.types.is_integer(table.schema.field(0).type)
    return [column for column in table.column_names if column in ASCENDING] if numbers else []


def _write_table(folder: GraphFolder, name: str, table: pa.Table, backend: Backend) -> StoredFile:
    """Write a table as Parquet, encoded on the GPU or on the CPU."""
    return write_table(folder, name, table) if backend == "cuda" else folder.write_table(name, table)
