"""Ingest: an edge table in, a canonical graph in the store out.

Rows are filtered batch by batch (nulls, equal labels, weights, times, sample), their labels coded, repeated edges
united, and each side's labels replaced by their ranks in sorted order. So the graph, and the digest of all that is
found in it, depend on neither the order of the rows nor the format of the file.

Memory: 16 bytes an edge while it reads and 24 while it sorts, whatever the size of the file.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import xxhash

from pipeline.errors import InputError
from pipeline.formats import DroppedLines, EdgeSource, TextLabels, locate, open_edges, read_batches
from pipeline.placement.where import Backend, Place, place_data
from pipeline.settings import IngestSettings, parse_time
from pipeline.store.device_tables import write_table
from pipeline.store.layout import GraphFolder, Store
from pipeline.store.records import StoredFile

COMPACT_RANGE = 8
"""Whole-number labels are ranked by a table of their range where that is at most so many times their number."""

ROWS_WORTH_THE_DEVICE = 1 << 20
"""Rows from which on a table is written faster on the device, where a file takes 30 ms and a row next to nothing."""

Int64s = npt.NDArray[np.int64]
LOGGER = logging.getLogger("bicliq")


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


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """A canonical edge table in memory: dense ids, sorted, unique; labels by dense id.

    Parameters
    ----------
    left, right
        int32, shape (n_edges,).
    weight
        float64 of the same shape, where weights were asked for.
    left_ids, right_ids
        Arrow arrays (int64 or string) of the labels, ascending.
    summary
        Counts of rows read and dropped, and the policies.
    """

    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    weight: npt.NDArray[np.float64] | None
    left_ids: pa.Array
    right_ids: pa.Array
    summary: dict[str, Any]
    seconds: dict[str, float]


def ingest(
    source: str,
    store: Store,
    settings: IngestSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
    backend: str = "cpu",
) -> GraphRecord:
    """Read an edge table and write its canonical graph to the store.

    Parameters
    ----------
    source
        Path or fsspec URL of a file, a glob, or a folder of Parquet files.
    store
        Where the graph goes; the same table gives the same graph, which is then not written again.
    settings
        Format, columns and policies.
    progress
        Called with the rows read so far and the file's bytes after each batch.
    backend
        "cpu", "cuda" (cuDF), or "auto": the GPU for a table that is large enough. The graph is the same.

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
    started = time.perf_counter()
    name = _digest(table)
    folder = store.graph(name)
    seconds = dict(table.seconds)
    with folder.claim("ingest"):
        damage = folder.why_damaged() if folder.exists() else None
        if damage is not None:
            LOGGER.warning("%s: the graph is written again", damage)
        if damage is not None or not folder.exists():
            _write(folder, table, seconds, started, place_data(backend))
    seconds["write"] = round(time.perf_counter() - started, 6)
    sizes = len(table.left_ids), len(table.right_ids), len(table.left)
    return GraphRecord(name, folder.uri, *sizes, table.summary, seconds)


def read_edge_table(
    source: str,
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
        raise InputError(
            f"{source}: no edge is left after {_dropped(table.summary)}; check the filters and the columns"
        )
    table.summary["source"] = {"uri": source, "format": opened.format, "bytes": opened.bytes}
    table.summary["seconds"] = round(time.perf_counter() - started, 6)
    return table


def _read_by(
    opened: EdgeSource, settings: IngestSettings, progress: Callable[[int, int], None] | None, backend: str
) -> EdgeTable:
    """Read a table on the device, or on the CPU where that is asked for or the device's reader leaves it to it."""
    reason = None
    if backend == "cuda":
        from pipeline.stages.device_ingest import NotOnDevice, read_on_device

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


def _dropped(summary: dict[str, Any]) -> dict[str, int]:
    return {name: value for name, value in summary.items() if name == "rows_read" or name.startswith("dropped")}


# ---- reading -----------------------------------------------------------------------------------------------------


class _Rows:
    """The rows that pass the filters, one array a batch, and the counts of those that do not."""

    def __init__(self) -> None:
        self.left: list[pa.Array] = []
        self.right: list[pa.Array] = []
        self.weight: list[pa.Array] = []
        names = (
            "rows_read",
            "dropped_nulls",
            "dropped_self_labels",
            "dropped_by_weight",
            "dropped_by_time",
            "dropped_by_sample",
        )
        self.counts = dict.fromkeys(names, 0)


def _read(source: EdgeSource, settings: IngestSettings, progress: Callable[[int, int], None] | None) -> _Rows:
    """Read and filter all batches; start again where labels turn out to be text."""
    while True:
        rows = _Rows()
        try:
            ragged = DroppedLines() if settings.ragged == "drop" else None
            for part in source.files:  # a bad row is looked for in the file that it is of
                for batch in read_batches(part, ragged):
                    rows.counts["rows_read"] += batch.num_rows
                    _add(rows, _filtered(batch, part, settings, rows.counts))
                    if progress is not None:
                        progress(rows.counts["rows_read"], source.bytes)
            rows.counts["dropped_ragged"] = ragged.lines if ragged else 0
            return rows
        except TextLabels as turn:
            source = source.with_text(turn.side)


def _add(rows: _Rows, batch: pa.RecordBatch) -> None:
    for name, chunks in (("left", rows.left), ("right", rows.right)):
        column = batch[name]
        chunks.append(column.dictionary_encode() if pa.types.is_string(column.type) else column)
    if "weight" in batch.schema.names:
        rows.weight.append(batch["weight"])


def _filtered(
    batch: pa.RecordBatch, source: EdgeSource, settings: IngestSettings, counts: dict[str, int]
) -> pa.RecordBatch:
    """Apply the policies in their stated order, and count what each drops."""
    for name, keep in _filters(batch, source, settings):
        kept = batch.filter(keep(batch), null_selection_behavior="drop")
        counts[name] += batch.num_rows - kept.num_rows
        batch = kept
    return batch


def _filters(
    batch: pa.RecordBatch, source: EdgeSource, settings: IngestSettings
) -> Iterator[tuple[str, Callable[[pa.RecordBatch], Any]]]:
    if batch["left"].null_count or batch["right"].null_count:
        if settings.nulls == "error":
            _refuse_null(batch, source)
        yield "dropped_nulls", lambda b: pc.and_(pc.is_valid(b["left"]), pc.is_valid(b["right"]))
    if settings.self_labels != "keep" and batch["left"].type == batch["right"].type:
        if settings.self_labels == "error":
            _refuse_self_label(batch, source)
        yield "dropped_self_labels", lambda b: pc.not_equal(b["left"], b["right"])
    if settings.min_weight is not None:
        yield "dropped_by_weight", lambda b: pc.greater_equal(b["weight"], settings.min_weight)
    if settings.since is not None or settings.until is not None:
        yield "dropped_by_time", lambda b: in_window(b["time"], source, settings)
    if settings.sample is not None:
        yield "dropped_by_sample", lambda b: sampled(b["left"], settings.sample or 1.0)


def _refuse_null(batch: pa.RecordBatch, source: EdgeSource) -> None:
    if source.format != "parquet":
        locate(source, "an id is missing (null)")
    side = "left" if batch["left"].null_count else "right"
    raise InputError(
        f"{source.uri}, column {side}: an id is missing (null); mend it, or drop such rows with nulls = 'drop'"
    )


def _refuse_self_label(batch: pa.RecordBatch, source: EdgeSource) -> None:
    equal = batch.filter(pc.equal(batch["left"], batch["right"]))
    if equal.num_rows:
        raise InputError(
            f"{source.uri}: an edge has the same label {equal['left'][0].as_py()!r} on both sides;"
            " drop such edges with self_labels = 'drop', or keep them"
        )


def in_window(times: pa.Array, source: EdgeSource, settings: IngestSettings) -> Any:
    """Whether times lie in the window that the settings ask for."""
    seconds = _unix_seconds(times, source)
    keep = pc.is_valid(seconds)
    if settings.since is not None:
        keep = pc.and_(keep, pc.greater_equal(seconds, parse_time(settings.since)))
    if settings.until is not None:
        keep = pc.and_(keep, pc.less(seconds, parse_time(settings.until)))
    return keep


def _unix_seconds(times: pa.Array, source: EdgeSource) -> pa.Array:
    """Unix seconds of a time column: numbers, ISO text, or Arrow dates and timestamps."""
    if pa.types.is_timestamp(times.type) or pa.types.is_date(times.type):
        return pc.divide(pc.cast(pc.cast(times, pa.timestamp("us")), pa.int64()).cast(pa.float64()), 1e6)
    try:
        return pc.cast(times, pa.float64())
    except pa.ArrowInvalid:
        pass
    try:
        return pc.divide(pc.cast(pc.cast(times, pa.timestamp("us")), pa.int64()).cast(pa.float64()), 1e6)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        if source.format != "parquet":
            locate(source, str(error))
        raise InputError(
            f"{source.uri}: times must be Unix seconds or ISO dates: {error}; name the column with time, or leave it out"
        ) from None


def sampled(labels: pa.Array, fraction: float) -> pa.Array:
    """Keep a fraction of the labels, always the same ones."""
    encoded = labels.dictionary_encode()
    keep = [
        xxhash.xxh3_64_intdigest(str(label).encode()) < fraction * 2**64 for label in encoded.dictionary.to_pylist()
    ]
    return pa.array(keep, pa.bool_()).take(encoded.indices)


# ---- uniting -------------------------------------------------------------------------------------------------------


def _unite(rows: _Rows, source: str, settings: IngestSettings) -> EdgeTable:
    """Rank the labels, and unite repeated edges."""
    left, left_ids = _ranked(rows.left)
    right, right_ids = _ranked(rows.right)
    rows.left.clear()
    rows.right.clear()
    n_rows = len(left)
    keys = left << 32 | right
    del left, right
    weight = None
    if rows.weight:
        keys, weight = _unite_weights(keys, pa.chunked_array(rows.weight).to_numpy(), settings)
    else:
        keys.sort()
        keys = keys[_first_of_run(keys)]
    if settings.duplicates == "error" and len(keys) < n_rows:
        raise InputError(
            f"{source}: {n_rows - len(keys)} of {n_rows} rows repeat an edge; unite them with duplicates = 'first', 'sum' or 'max'"
        )
    summary = summary_of(rows.counts, n_rows, (len(keys), len(left_ids), len(right_ids)), settings)
    return EdgeTable(
        (keys >> 32).astype(np.int32), (keys & 0xFFFFFFFF).astype(np.int32), weight, left_ids, right_ids, summary, {}
    )


def summary_of(
    counts: dict[str, int], n_rows: int, sizes: tuple[int, int, int], settings: IngestSettings
) -> dict[str, Any]:
    """What was read, dropped and united, and by which policies; sizes are those of edges, left and right."""
    edges, n_left, n_right = sizes
    policies = ("duplicates", "ragged", "nulls", "self_labels", "min_weight", "since", "until", "sample")
    return {
        **counts,
        "duplicates": n_rows - edges,
        "edges": edges,
        "n_left": n_left,
        "n_right": n_right,
        "policies": {name: getattr(settings, name) for name in policies},
    }


def _first_of_run(ascending: Int64s) -> npt.NDArray[np.bool_]:
    first = np.ones(len(ascending), np.bool_)
    np.not_equal(ascending[1:], ascending[:-1], out=first[1:])
    return first


def _unite_weights(
    keys: Int64s, weights: npt.NDArray[np.float64], settings: IngestSettings
) -> tuple[Int64s, npt.NDArray[np.float64]]:
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
    """Ranks of all labels of a side, and the labels by rank."""
    if not chunks:
        return np.zeros(0, np.int64), pa.array([], pa.int64())
    column = pa.chunked_array(chunks)
    if pa.types.is_dictionary(column.type):
        return _ranked_text(column)
    return _ranked_numbers(column.to_numpy())


def _ranked_numbers(labels: Int64s) -> tuple[Int64s, pa.Array]:
    """By a table of the labels' range where it is compact, by sorting otherwise."""
    if len(labels) == 0:
        return labels, pa.array([], pa.int64())
    least, most = int(labels.min()), int(labels.max())
    if most - least > COMPACT_RANGE * len(labels) + 1024:
        found, ranks = np.unique(labels, return_inverse=True)
        return ranks.astype(np.int64), pa.array(found)
    present = np.zeros(most - least + 1, np.bool_)
    shifted = labels - least
    present[shifted] = True
    rank = np.cumsum(present, dtype=np.int64) - 1
    return rank[shifted], pa.array(np.flatnonzero(present) + least)


def _ranked_text(column: pa.ChunkedArray) -> tuple[Int64s, pa.Array]:
    """Dictionaries of the batches are united and sorted by code point (UTF-8 bytes sort alike)."""
    column = column.unify_dictionaries()
    labels = column.chunk(0).dictionary
    order = pc.sort_indices(labels)
    rank = np.empty(len(labels), np.int64)
    rank[order.to_numpy()] = np.arange(len(labels))
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in column.chunks])
    used = np.zeros(len(labels), np.bool_)
    used[rank[codes]] = True
    dense = np.cumsum(used, dtype=np.int64) - 1
    return dense[rank[codes]], labels.take(order).filter(pa.array(used))


# ---- writing -------------------------------------------------------------------------------------------------------


def _digest(table: EdgeTable) -> str:
    state = xxhash.xxh3_64()
    for array in (table.left, table.right, table.weight):
        state.update(b"-" if array is None else array.tobytes())
    for ids in (table.left_ids, table.right_ids):
        state.update(str(ids.type).encode())
        for buffer in ids.buffers()[1:]:
            state.update(b"-" if buffer is None else memoryview(buffer))
    return str(state.hexdigest())


def _write(folder: GraphFolder, table: EdgeTable, seconds: dict[str, float], started: float, place: Place) -> None:
    columns = {"left": pa.array(table.left), "right": pa.array(table.right)}
    if table.weight is not None:
        columns["weight"] = pa.array(table.weight)
    tables = {"edges": columns, "left_ids": {"id": table.left_ids}, "right_ids": {"id": table.right_ids}}
    with ThreadPoolExecutor(len(tables)) as pool:  # each waits for the disk
        writes = []
        stored: list[StoredFile] = []
        for name, content in tables.items():
            whole = pa.table(content)
            if table.summary["backend"] == "cuda" and whole.num_rows >= ROWS_WORTH_THE_DEVICE:
                stored.append(place.run(partial(_write_table, folder, f"{name}.parquet", whole)))
            else:
                writes.append(pool.submit(folder.write_table, f"{name}.parquet", whole))
        stored += [write.result() for write in writes]
    folder.write_record(
        "graph.json",
        {
            "source": table.summary["source"],
            "n_left": len(table.left_ids),
            "n_right": len(table.right_ids),
            "n_edges": len(table.left),
            "summary": table.summary,
            "seconds": {**seconds, "write": round(time.perf_counter() - started, 6)},
        },
        stored,
    )


def _write_table(folder: GraphFolder, name: str, table: pa.Table, backend: Backend) -> StoredFile:
    """Write a table as Parquet, encoded on the GPU or on the CPU."""
    return write_table(folder, name, table) if backend == "cuda" else folder.write_table(name, table)
