"""The sums of the counts of all partitions: the tables that a count leaves in the store.

``counts.parquet`` (p, q, count) and, where asked, ``vertex_counts.parquet`` (p, q, side, vertex,
id, count); counts are text, of as many digits as they have.
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.errors import DamageError, StorageError
from bicliq.pipeline.events import warn
from bicliq.pipeline.questions.count_asked import CountAsked, CountRecord, why_none
from bicliq.pipeline.stages.checks import read_checks
from bicliq.pipeline.store.counts import (
    COUNTS_FILE,
    VERTICES_FILE,
    Sizes,
    examine_counts,
    keys_of,
    sizes_of_key,
    sums_of,
)
from bicliq.pipeline.store.labels import read_labels
from bicliq.pipeline.store.layout import RunFolder, Store
from bicliq.pipeline.store.log import number_counts, tell_again
from bicliq.pipeline.store.manifest import ran_on
from bicliq.pipeline.store.records import Checks, Counts, PartitionCounts

SCHEMA = pa.schema([("p", pa.int64()), ("q", pa.int64()), ("count", pa.string())])
VERTEX_SCHEMA = pa.schema(
    [
        ("p", pa.int64()),
        ("q", pa.int64()),
        ("side", pa.string()),
        ("vertex", pa.int32()),
        ("id", pa.string()),
        ("count", pa.string()),
    ]
)


def publish_counts(store: Store, run: str, asked: CountAsked, method: str, counted: int) -> CountRecord:
    """Add up the partitions and write counts.parquet, beside other counts of this run.

    Raises StorageError where partitions are not counted, or damaged.
    """
    folder = store.run(run)
    planned = folder.planned
    partitions = _records_of_key(folder, asked.key)
    counts = _sums(asked.key, partitions)
    publish_all_counts(folder, again=asked.key)
    graph = store.graph(planned.graph).record()
    return CountRecord(
        counts=counts,
        n_left=graph.n_left,
        n_right=graph.n_right,
        n_edges=graph.n_edges,
        too_large=why_none(asked, *graph.sizes),
        method="pivot" if asked.all_sizes else method,
        side=planned.side,
        backend=ran_on(record.backend for record in partitions),
        threads=max((record.threads for record in partitions), default=0),
        seconds={},
        run=run,
        output=folder.uri,
        partitions=planned.partitions,
        counted=counted,
        checks=read_checks(folder),
    )


def _records_of_key(folder: RunFolder, key: str) -> list[PartitionCounts]:
    """The records of one question, one a partition; raises what `publish_counts` does."""
    sound, damaged = examine_counts(folder, key)
    total = folder.planned.partitions
    missing = [number for number in range(total) if number not in sound]
    if missing:
        reason = damaged.get(missing[0], "it is not counted")
        raise StorageError(
            f"{folder.uri}: {len(missing)} of {total} partitions of {key} are missing (partition {missing[0]}: {reason});"
            " count again"
        )
    return list(sound.values())


def _sums(key: str, records: list[PartitionCounts]) -> Sizes:
    return {**dict.fromkeys(sizes_of_key(key), 0), **sums_of(records)}


def publish_all_counts(folder: RunFolder, again: str | None = None) -> None:
    """Write the tables of all questions of a run that are counted to their end, and their record.

    Those that were published before are taken over, but for the question `again`; on an object
    store, where another process may publish at the same time, until none is missing.
    """
    with folder.claim("counts"):
        while True:
            done, counts, vertices = _published(folder)
            if again is not None:
                done.pop(again, None)
            new = {key: method for key, method in _whole_keys(folder, again).items() if key not in done}
            if not new:
                tell_again(folder)
                return
            for key in new:
                counts |= _sums(key, _records_of_key(folder, key))
                if key.startswith("vertices"):
                    ((p, q),) = sizes_of_key(key)
                    old = vertices.filter(pc.or_(pc.not_equal(vertices["p"], p), pc.not_equal(vertices["q"], q)))
                    vertices = pa.concat_tables([old, _vertex_sums(folder, key, counts[p, q])])
            folder.remove(Counts.at)
            by_size = [("p", "ascending"), ("q", "ascending")]
            files = [folder.write_table(COUNTS_FILE, _count_rows(counts).sort_by(by_size))]
            if any(key.startswith("vertices") for key in {**done, **new}):
                files.append(folder.write_table(VERTICES_FILE, vertices.sort_by(by_size)))
            created = dt.datetime.now(dt.UTC).isoformat()
            checked = folder.has(Checks.at)
            record = Counts(stored=tuple(files), keys={**done, **new}, checked=checked, created=created)
            folder.write(record.at, record)
            number_counts(folder, created)
            folder.sweep()
            folder.graph.sweep()
            again = None


def _published(folder: RunFolder) -> tuple[dict[str, str], Sizes, pa.Table]:
    """Published questions with their method, their counts, and those of vertices.

    Nothing where the tables are damaged.
    """
    try:
        record = folder.find(Counts)
        if record is not None:
            files = record.named
            rows = folder.read_table(files[COUNTS_FILE]).to_pylist()
            vertices = (
                folder.read_table(files[VERTICES_FILE]) if VERTICES_FILE in files else VERTEX_SCHEMA.empty_table()
            )
            return dict(record.keys), {(row["p"], row["q"]): int(row["count"]) for row in rows}, vertices
    except DamageError as error:
        warn("counts are put together again", reason=error)
    return {}, {}, VERTEX_SCHEMA.empty_table()


def _whole_keys(folder: RunFolder, asked: str | None) -> dict[str, str]:
    """Questions of which every partition is counted, and by which method.

    Where there are no partitions, the counts are 0 by any, and only what is asked tells the
    question.
    """
    total = folder.planned.partitions
    if not total:
        return {} if asked is None else {asked: "auto"}
    sound = {key: examine_counts(folder, key)[0] for key in keys_of(folder)}
    return {key: records[0].method for key, records in sound.items() if len(records) == total}


def _count_rows(counts: Sizes) -> pa.Table:
    sizes = list(counts)
    columns = [[p for p, _ in sizes], [q for _, q in sizes], [str(count) for count in counts.values()]]
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def vertex_table(ids: Any, values: Any) -> pa.Table:
    """Return the vertices of a partition that lie in a biclique, and in how many."""
    some = np.flatnonzero(values != 0)
    counts = pa.array([str(value) for value in values[some].tolist()], pa.string())
    return pa.table({"vertex": pa.array(ids[some].astype(np.int32)), "count": counts})


def _vertex_sums(folder: RunFolder, key: str, count: int) -> pa.Table:
    """Add up the counts of each vertex over the partitions; none exceeds the count of all."""
    kind = np.uint64 if count < 1 << 64 else object
    ((p, q),) = sizes_of_key(key)
    graph = folder.store.graph(folder.planned.graph)
    parts = []
    records = examine_counts(folder, key)[0].values()
    for side, ids in zip(("left", "right"), read_labels(graph), strict=True):
        labels = ids.cast(pa.string())
        sums = np.zeros(len(labels), kind)
        for record in records:
            (file,) = (f for f in record.stored if f.name.startswith(f"counts/{key}/{side}-"))
            table = folder.read_table(file)
            sums[table["vertex"].to_numpy()] += np.array([int(x) for x in table["count"].to_pylist()], kind)
        some = np.flatnonzero(sums != 0)
        columns = {
            "p": pa.array(np.full(some.size, p, np.int64)),
            "q": pa.array(np.full(some.size, q, np.int64)),
            "side": pa.array([side] * some.size, pa.string()),
            "vertex": pa.array(some.astype(np.int32)),
            "id": labels.take(pa.array(some)),
            "count": pa.array([str(value) for value in sums[some].tolist()], pa.string()),
        }
        parts.append(pa.table(columns, schema=VERTEX_SCHEMA))
    return pa.concat_tables(parts)
