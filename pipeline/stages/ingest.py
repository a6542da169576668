"""Ingest: an edge table in, a canonical graph in the store out.

Rows are filtered batch by batch (nulls, equal labels, weights, times, sample), their labels coded,
repeated edges united, and each side's labels replaced by their ranks in sorted order. So the graph,
and the digest of all that is found in it, depend on neither the order of the rows nor the format of
the file.

Memory: 16 bytes an edge while it reads and 24 while it sorts, whatever the size of the file. Within
a limit of memory, rows beyond their share of it are sorted on disk (`pipeline.stages.sorted_runs`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from bicliq.pipeline.columns import column_of
from bicliq.pipeline.errors import CapacityError, InputError
from bicliq.pipeline.events import say, tell, warn
from bicliq.pipeline.formats import EdgeBatch, Edges, EdgeSource, open_edges, read_batches
from bicliq.pipeline.formats.cells import COLUMN_SUMS, SUMS, TOLD_SUMS
from bicliq.pipeline.formats.forms import told_answers, told_forms, told_names, told_odd
from bicliq.pipeline.formats.matrix import told_column_sums
from bicliq.pipeline.formats.times import IN_SECONDS, WITHOUT_ZONE, times_in_words
from bicliq.pipeline.graphs.bipartite import ROW_GROUP
from bicliq.pipeline.placement.where import CPU_DATA, Backend, Place, place_data
from bicliq.pipeline.redact import without_secrets
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.column_on_disk import ColumnOnDisk
from bicliq.pipeline.stages.edge_table import EdgesOnDisk, EdgeTable
from bicliq.pipeline.stages.host_rows import HostRows, KeptRows, loops_among
from bicliq.pipeline.stages.ingest_policies import filtered, no_rows, refuse_in_step
from bicliq.pipeline.stages.label_kinds import refuse_mixed
from bicliq.pipeline.stages.limits import Later, MemoryRoom, of_a_run
from bicliq.pipeline.stages.sorted_runs import SortedRuns
from bicliq.pipeline.stages.uniting import unite
from bicliq.pipeline.stages.window import find_jump, in_words
from bicliq.pipeline.store.account import Source, Summary
from bicliq.pipeline.store.acted import ROWS_FILE
from bicliq.pipeline.store.device_tables import write_table
from bicliq.pipeline.store.edges import EDGES
from bicliq.pipeline.store.labels import labels_table
from bicliq.pipeline.store.layout import GraphFolder, Store
from bicliq.pipeline.store.record import StoredFile
from bicliq.pipeline.store.records import StoredGraph
from bicliq.pipeline.times import parse_duration

__all__ = ["EdgeTable", "GraphRecord", "ingest", "read_edge_table"]

ROWS_WORTH_THE_DEVICE = 1 << 20
"""Rows from which on a table is written faster on the device, where a file takes 30 ms and a row
next to nothing."""

ASCENDING = ("left", "right", "id", "hash")
"""Columns of numbers that ascend, or do so in each row; a label that is one hashes to itself."""


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
        The table that was read.
    seconds
        Duration of ``read``, ``unite`` and ``write``.
    """

    graph: str
    uri: str
    n_left: int
    n_right: int
    n_edges: int
    summary: Summary
    seconds: dict[str, float]

    def record(self) -> dict[str, Any]:
        """Plain record for JSON."""
        return {**vars(self), "summary": self.summary.record()}


def ingest(
    source: Edges,
    store: Store,
    settings: IngestSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
    backend: str = "cpu",
    memory_limit: int | None = None,
    later: Later = of_a_run,
    in_step: bool = False,
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
    memory_limit
        Bytes of memory that this process may hold; None: no limit. Edges that do not fit are sorted
        on disk, in the folder that TMPDIR names, and "auto" stays on the CPU; the graph is the
        same.
    later
        What is done with the graph then, for the limit that is advised where this one is too low.
    in_step
        Whether groups in step may be asked for: the graph then keeps all rows with their times.

    Raises
    ------
    InputError
        At anything wrong in the file; nothing is then in the store.
    BackendError
        If "cuda" cannot run here.
    CapacityError
        Where the limit of memory is too low even so, with one that would do.

    Notes
    -----
    O(rows log rows) time for the sort of edges; labels of text are sorted once each.
    """
    settings = settings or IngestSettings()
    if memory_limit is not None and backend == "auto":
        backend = "cpu"
    table = _read_table(source, settings, progress, backend, memory_limit, in_step, later=later)
    if settings.in_step is not None:
        assert table.rows is not None  # they were not sorted on disk
        table = replace(table, weight=None)
    return store_table(store, table, time.perf_counter(), place_data(backend))


def store_table(store: Store, table: EdgeTable | EdgesOnDisk, started: float, place: Place = CPU_DATA) -> GraphRecord:
    """Write a table as a graph of the store, unless it is there and sound.

    `store`: where the graph goes. `table`: the canonical table. `started`: when this stage began,
    by `time.perf_counter`. `place`: where large tables are encoded that were read on a GPU.
    """
    tables = {
        EDGES: _edges_of(table),
        "left_ids.parquet": labels_table(table.left_ids),
        "right_ids.parquet": labels_table(table.right_ids),
    }
    if table.rows is not None:
        tables[ROWS_FILE] = pa.table(table.rows.columns())
    sizes = len(table.left_ids), len(table.right_ids), len(table.left)
    folder = store.graph(_digest(table))
    made = GraphRecord(_name(folder), folder.uri, *sizes, table.summary, dict(table.seconds))
    return _stored(folder, made, tables, started, place)


def _edges_of(table: EdgeTable | EdgesOnDisk) -> pa.Table | pa.RecordBatchReader:
    if isinstance(table, EdgesOnDisk):
        return table.batches(ROW_GROUP)
    columns = {"left": column_of(table.left), "right": column_of(table.right)}
    if table.weight is not None:
        columns["weight"] = column_of(table.weight)
    return pa.table(columns)


def store_changed(
    store: Store,
    base: GraphFolder,
    tables: dict[str, pa.Table],
    sizes: tuple[int, int, int],
    summary: Summary,
    seconds: dict[str, float],
    started: float,
) -> GraphRecord:
    """Write a graph as what differs from another one (`pipeline.store.edges`).

    `store`, `base`: where it goes, and the whole graph that it differs from. `tables`: its files:
    the edges that differ, and labels that follow those of the base. `sizes`, `summary`, `seconds`:
    left and right vertices and edges of all of it, what is told of the table, and how long it took
    to read. `started`: when this stage began, by `time.perf_counter`.
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
    tables: dict[str, pa.Table | pa.RecordBatchReader],
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
            _write(folder, made, tables, started, place, base, damage is not None)
    record = replace(made, seconds={**made.seconds, "write": round(time.perf_counter() - started, 6)})
    counted = {"rows": record.summary.rows_read, "left": record.n_left, "right": record.n_right}
    tell("table ingested", graph=record.graph, **counted, edges=record.n_edges, seconds=sum(record.seconds.values()))
    return record


def read_edge_table(
    source: Edges,
    settings: IngestSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
    backend: str = "cpu",
    memory_limit: int | None = None,
    latest: float | None = None,
    in_step: bool = False,
    may_be_empty: bool = False,
) -> EdgeTable:
    """Read an edge table into memory; what `ingest` does before it writes.

    `latest` is where a window of time ends that the table is joined to, in Unix seconds; `in_step`
    says that the caller looks for groups in step, which other questions refuse, and `may_be_empty`
    that a table without any edge is one as well, to which others have no answer.

    Raises InputError at anything wrong in the file. Raises BackendError if "cuda" cannot run here.
    Raises CapacityError where the table does not fit the limit of memory.
    """
    if memory_limit is not None and backend == "auto":
        backend = "cpu"
    table = _read_table(
        source,
        settings or IngestSettings(),
        progress,
        backend,
        memory_limit,
        latest=latest,
        in_memory=True,
        in_step=in_step,
        may_be_empty=may_be_empty,
    )
    assert isinstance(table, EdgeTable)  # it was asked for
    return table


def _read_table(
    source: Edges,
    settings: IngestSettings,
    progress: Callable[[int, int], None] | None,
    backend: str,
    memory_limit: int | None = None,
    in_step: bool = False,
    may_be_empty: bool = False,
    **how: Any,
) -> EdgeTable | EdgesOnDisk:
    """Read an edge table into memory, or sort its edges on disk where a limit asks for that."""
    started = time.perf_counter()
    refuse_in_step(settings, in_step)
    opened = open_edges(source, settings)
    place = place_data(backend, opened.bytes)
    table = place.run(lambda chosen: _read_by(opened, settings, progress, chosen, memory_limit, **how))
    if len(table.left) == 0 and not may_be_empty:
        taken = "".join(f"; {without_secrets(sentence)}" for sentence in opened.assumed)
        raise InputError(
            f"{opened.uri}: no edge is left: {_dropped(table.summary)}; check the filters and the columns{taken}"
        )
    refuse_mixed(opened, (table.left_ids, table.right_ids))
    noted, said = _told(opened, settings, table)
    noted = table.summary.noted | noted
    assumed = list(map(without_secrets, (*opened.assumed, *said)))
    if settings.in_step is not None:
        told = [name for name in (IN_SECONDS, WITHOUT_ZONE) if noted.pop(name, 0)]
        assumed += times_in_words(opened.columns_to_ask["time"], told)
    for sentence in assumed:
        say("assumed", sentence)
    summary = replace(
        table.summary,
        noted=noted,
        assumed=assumed,
        columns=opened.columns_to_ask,
        source=Source(without_secrets(opened.uri), opened.format, opened.bytes, len(opened.files)),
        seconds=round(time.perf_counter() - started, 6),
    )
    return replace(table, summary=summary)


def _told(
    opened: EdgeSource, settings: IngestSettings, table: EdgeTable | EdgesOnDisk
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Return what the labels and entries of a table may be but for what they were taken for."""
    sides = {"left": table.left_ids, "right": table.right_ids}
    alike, said = told_forms(opened.uri, sides)
    odd, told = told_odd(opened.uri, sides, settings.encoding)
    said += told
    layout, counted, n_twice = opened.layout, table.summary.noted, table.summary.duplicates
    if layout is not None and layout.header:
        said += told_names(opened.uri, opened.columns, sides)
    if layout is not None and layout.value is None:
        said += told_answers(opened.uri, opened.columns, sides, len(table.left))
    if counted.get(SUMS):
        said += (f"{opened.uri}: {TOLD_SUMS}",)
    if counted.get(COLUMN_SUMS):
        said += (told_column_sums(opened),)
    if opened.format == "mtx" and "value" in opened.columns and settings.duplicates == "first" and n_twice:
        said += (
            f"{opened.uri}: {n_twice:,} of its entries repeat others, of which the first counts; SciPy sums them: say"
            " duplicates = 'sum' if that is meant",
        )
    return alike | odd, said


def _read_by(
    opened: EdgeSource,
    settings: IngestSettings,
    progress: Callable[[int, int], None] | None,
    backend: str,
    memory_limit: int | None,
    **how: Any,
) -> EdgeTable | EdgesOnDisk:
    """Read a table on the device, or on the CPU where asked or where the device declines."""
    reason = None
    if backend == "cuda":
        from bicliq.pipeline.stages.device_ingest import read_on_device
        from bicliq.pipeline.stages.device_reading import NotOnDevice

        try:
            table = read_on_device(opened, settings, progress)
            return replace(table, summary=replace(table.summary, backend="cuda"))
        except NotOnDevice as left:
            reason = str(left)
    try:
        found = _read_on_host(opened, settings, progress, memory_limit, **how)
    except MemoryError as error:
        where = "in a run (bicliq run), with" if how.get("in_memory") else "with"
        raise CapacityError(
            f"{opened.uri}: memory ran out while the table was read ({str(error) or 'MemoryError'}); {where} a"
            " memory_limit below what there is, its edges are sorted on disk"
        ) from error
    return replace(found, summary=replace(found.summary, backend="cpu" if reason is None else f"cpu: {reason}"))


def _read_on_host(
    opened: EdgeSource,
    settings: IngestSettings,
    progress: Callable[[int, int], None] | None,
    memory_limit: int | None,
    latest: float | None = None,
    in_memory: bool = False,
    later: Later = of_a_run,
) -> EdgeTable | EdgesOnDisk:
    started = time.perf_counter()
    room = MemoryRoom.within(memory_limit)
    runs = None if memory_limit is None else SortedRuns(opened.uri, settings, room, in_memory, later)
    rows = KeptRows()
    for batch in read_batches(opened):
        rows.counts["rows_read"] += batch.edges.num_rows + batch.ragged
        rows.counts["dropped_ragged"] += batch.ragged
        rows.noted.update(batch.noted)
        kept = filtered(HostRows(batch.edges, batch, settings), settings, rows.counts).edges
        if settings.sides == "source-target" and (loops := loops_among(kept)):
            rows.noted["self_loops"] += loops
        rows.add(kept)
        if runs is not None:
            runs.take(rows)
        if progress is not None:
            progress(rows.counts["rows_read"], opened.bytes)
    if runs is not None:
        runs.require_kept(rows)
    if settings.window is not None:
        _refuse_jump(opened, settings, rows, latest)
        rows.cut(settings.window)
    read = time.perf_counter()
    table = runs.unite(rows) if runs else unite(rows, opened.uri, settings)
    table.seconds.update(read=round(read - started, 6), unite=round(time.perf_counter() - read, 6))
    return table


def _refuse_jump(opened: EdgeSource, settings: IngestSettings, rows: KeptRows, latest: float | None) -> None:
    """Refuse a row that moves the window on too far; it is read again to say where it stands."""
    window, most = str(settings.window), settings.window_jump
    jump = find_jump(rows.time, window, most, latest)
    if jump is None:
        return
    where = next(filter(None, (_place_of(batch, settings, jump.time) for batch in read_batches(opened))), opened.uri)
    times = in_words(jump.time), in_words(jump.before)
    raise InputError(
        f"{where}: the time {times[0]} would move the window of {window} on from {times[1]}, further than window_jump ="
        f" {most!r} allows, and the rows before would leave it: mend the time, or, where it is right, give"
        f" window_jump = '{jump.windows}'"
    )


def _place_of(batch: EdgeBatch, settings: IngestSettings, time: float) -> str | None:
    """Say where the first row of this time stands that passes the filters; None: there is none."""
    numbered = batch.edges.append_column("row", column_of(np.arange(batch.edges.num_rows)))
    kept = filtered(HostRows(numbered, batch, settings), settings, no_rows()).edges
    found = np.flatnonzero(kept["time"].to_numpy(zero_copy_only=False) == time)
    return batch.place(kept["row"][int(found[0])].as_py()) if len(found) else None


def _dropped(summary: Summary) -> str:
    """What was read and dropped, in words."""
    said = ", ".join(f"{n:,} dropped {name.replace('_', ' ')}" for name, n in summary.account["dropped"].items())
    empty = summary.noted.get("empty_rows")
    tied = f"{empty:,} rows of it tie nothing, and " if empty else ""
    return f"{tied}{summary.rows_read:,} rows were read" + (f" ({said})" if said else "")


# ---- writing -------------------------------------------------------------------------------------


def _digest(table: EdgeTable | EdgesOnDisk) -> str:
    state = xxhash.xxh3_64()
    for column in (table.left, table.right, table.weight):
        for block in column.blocks(ROW_GROUP) if isinstance(column, ColumnOnDisk) else [column]:
            state.update(b"-" if block is None else block.data)
    for ids in (table.left_ids, table.right_ids):
        state.update(str(ids.type).encode())
        for buffer in ids.buffers()[1:]:
            state.update(b"-" if buffer is None else memoryview(buffer))
    if table.rows is not None:
        in_step = table.summary.in_step
        state.update(np.float64(table.rows.latest if in_step is None else parse_duration(in_step)).tobytes())
        for column in table.rows.columns().values():
            state.update(column.tobytes())
    return str(state.hexdigest())


def _write(
    folder: GraphFolder,
    made: GraphRecord,
    tables: dict[str, pa.Table | pa.RecordBatchReader],
    started: float,
    place: Place,
    base: GraphFolder | None,
    damaged: bool,
) -> None:
    if damaged:  # on an object store the first that is written stands
        folder.remove(StoredGraph.at)
    with ThreadPoolExecutor(len(tables)) as pool:  # each waits for the disk
        writes = []
        stored: list[StoredFile] = []
        for name, whole in tables.items():
            file = folder.attempt_of(name)
            on_device = made.summary.backend == "cuda" and whole.num_rows >= ROWS_WORTH_THE_DEVICE
            if on_device:
                stored.append(place.run(partial(_write_table, folder, file, whole)))
            else:
                writes.append(pool.submit(folder.write_table, file, whole, differences=_ascending(name, whole)))
        stored += [write.result() for write in writes]
    record = StoredGraph(
        stored=tuple(stored),
        n_left=made.n_left,
        n_right=made.n_right,
        n_edges=made.n_edges,
        summary=made.summary,
        seconds={**made.seconds, "write": round(time.perf_counter() - started, 6)},
        base=None if base is None else _name(base),
    )
    folder.commit(record.at, record)


def _ascending(name: str, table: pa.Table | pa.RecordBatchReader) -> list[str]:
    """Columns of a graph's file that are stored by their differences: ends of edges, and ids.

    They take less time to read then than as a dictionary, and less space.
    """
    numbers = name != ROWS_FILE and pa.types.is_integer(table.schema.field(0).type)
    return [column for column in table.schema.names if column in ASCENDING] if numbers else []


def _write_table(folder: GraphFolder, name: str, table: pa.Table, backend: Backend) -> StoredFile:
    """Write a table as Parquet, encoded on the GPU or on the CPU."""
    return write_table(folder, name, table) if backend == "cuda" else folder.write_table(name, table)
