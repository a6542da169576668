"""Count: (p,q)-bicliques of an edge table in memory, or partition by partition into the store.

A count in the store is a planned run (thresholds p and q, so that the graph is reduced to what can hold one) whose partitions
are counted instead of searched. Every (p,q)-biclique belongs to its first vertex in the order of the plan, so the
partitions' counts add up. The folder of the run then holds ``counts.parquet`` (p, q, count) and, where asked,
``vertex_counts.parquet`` (p, q, side, vertex, id, count); counts are text, since 2^128 - 1 has 39 digits.
"""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import kernels
from kernels.counting import check_table
from pipeline.errors import BicliqError, CapacityError, DamageError, InputError, StorageError
from pipeline.graphs.bipartite import BipartiteGraph, read_graph
from pipeline.placement.cluster import open_cluster
from pipeline.run import Observer
from pipeline.settings import Settings
from pipeline.stages.ingest import ingest, read_edge_table
from pipeline.stages.partition import ready_partition, write_partitions
from pipeline.stages.plan import plan, read_plan, read_plan_record
from pipeline.stages.profile import profile
from pipeline.stages.reduce import reduce
from pipeline.stages.search_run import RETRIES, SearchProgress
from pipeline.store.counts import (
    COUNTS_FILE,
    COUNTS_RECORD,
    VERTICES_FILE,
    Sizes,
    commit_count,
    count_name,
    examine_counts,
    keys_of,
    sizes_of_key,
    sums_of,
    vertices_name,
)
from pipeline.store.layout import RunFolder, Store
from pipeline.store.records import named_files

LOGGER = logging.getLogger("bicliq")

NEEDED_SETTINGS: dict[str, Any] = {"min_edges": 1}
"""What a count asks of a run's plan besides p, q and the side: nothing."""

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


@dataclass(frozen=True)
class CountAsked:
    """What is to be counted.

    Parameters
    ----------
    p, q
        Left and right size; with `all_sizes`, the largest ones.
    all_sizes
        Every (p, q) up to these.
    vertices
        How many (p, q) each vertex lies in, too.
    method
        "auto", "levels", "pivot", or "butterfly" (in memory, p = q = 2).

    Raises
    ------
    InputError
        Where these are no sizes, contradict each other, or ask for more than can be held.
    """

    p: int
    q: int
    all_sizes: bool = False
    vertices: bool = False
    method: str = "auto"

    def __post_init__(self) -> None:
        names = ("max_p", "max_q") if self.all_sizes else ("p", "q")
        for name, value in zip(names, (self.p, self.q), strict=True):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"{name} {value!r}: it must be a whole number of at least 1")
        if self.method not in ("auto", "levels", "pivot", "butterfly"):
            raise InputError(f"method {self.method!r}: it must be auto, levels, pivot or butterfly")
        if self.method == "butterfly" and (self.p, self.q) != (2, 2):
            raise InputError(f"method 'butterfly' counts p = q = 2, not ({self.p}, {self.q}); leave it at auto")
        if self.method in ("levels", "butterfly") and self.all_sizes:
            raise InputError(f"method {self.method!r} counts one (p, q); all sizes need pivot (or auto)")
        if self.method == "levels" and self.vertices:
            raise InputError("method 'levels' counts no vertices; they need pivot (or auto)")
        if self.all_sizes and self.vertices:
            raise InputError("all sizes and counts of vertices contradict each other; count vertices for one (p, q)")
        if self.all_sizes:
            try:
                check_table(self.p, self.q)
            except CapacityError as error:
                raise InputError(str(error)) from None

    @classmethod
    def of_key(cls, key: str) -> CountAsked:
        """Return the question of a key; its method is not known from it."""
        kind, p, q = key.split("-")
        return cls(int(p[1:]), int(q[1:]), all_sizes=kind == "all", vertices=kind == "vertices")

    @property
    def least(self) -> tuple[int, int]:
        """Sizes below which nothing is asked for."""
        return (1, 1) if self.all_sizes else (self.p, self.q)

    @property
    def key(self) -> str:
        """Name of the question in the store (`pipeline.store.counts`)."""
        kind = "all" if self.all_sizes else "vertices" if self.vertices else "one"
        return f"{kind}-p{self.p}-q{self.q}"


@dataclass(frozen=True)
class CountRecord:
    """What was counted, and what it took.

    Parameters
    ----------
    counts
        Of each (p, q) that was asked for.
    n_left, n_right, n_edges
        Size of the graph.
    too_large
        Why a count is 0 before anything is counted: the graph has no side of this size.
    method, side, backend, threads
        How it was counted.
    seconds
        Duration of each stage.
    run, output, partitions, counted
        Run and folder in the store, its partitions, and those that this call counted; None in memory.
    """

    counts: Sizes
    n_left: int
    n_right: int
    n_edges: int
    too_large: str | None
    method: str
    side: str | None
    backend: str
    threads: int
    seconds: dict[str, float]
    run: str | None = None
    output: str | None = None
    partitions: int | None = None
    counted: int | None = None

    def record(self) -> dict[str, Any]:
        """Plain record for JSON; counts are text, since they outgrow what most readers take a number for."""
        rows = [{"p": p, "q": q, "count": str(count)} for (p, q), count in self.counts.items()]
        return {**asdict(self), "counts": rows}


def count_table(source: str, asked: CountAsked, settings: Settings) -> CountRecord:
    """Count the (p,q)-bicliques of an edge table in memory, and publish nothing.

    Parameters
    ----------
    source
        Path or fsspec URL of the edge table.
    asked
        What to count.
    settings
        Its `ingest` part, and `side`, `threads` and `backend` of its `search` part, are used.

    Returns
    -------
    CountRecord

    Raises
    ------
    InputError
        At bad input, or where vertices are asked for: these counts are files of a store.
    CapacityError
        Where a count is 2^128 or more.
    """
    if asked.vertices:
        raise InputError("counts of vertices are written to a store; name one with --store")
    backend = usable_backend(asked, settings)
    started = time.perf_counter()
    table = read_edge_table(source, settings.ingest)
    graph = BipartiteGraph.from_edges(table.left, table.right, len(table.left_ids), len(table.right_ids))
    read = time.perf_counter()
    options: dict[str, Any] = {"side": settings.search.side, "threads": settings.search.threads}
    csr = (graph.indptr, graph.indices, graph.n_right)
    found: kernels.CountResult | kernels.CountTable
    if asked.all_sizes:
        found = kernels.count_all_bicliques(*csr, asked.p, asked.q, backend=backend, **options)
        counts, method = found.counts, "pivot"
    else:
        options |= {"method": asked.method, "backend": backend}
        found = kernels.count_bicliques(*csr, asked.p, asked.q, **options)
        counts, method = {(asked.p, asked.q): found.count}, found.method
    return CountRecord(
        counts=counts,
        n_left=graph.n_left,
        n_right=graph.n_right,
        n_edges=graph.n_edges,
        too_large=why_none(asked, graph.n_left, graph.n_right),
        method=method,
        side=found.side,
        backend=found.backend,
        threads=found.threads,
        seconds={"ingest": read - started, **found.seconds, "total": time.perf_counter() - started},
    )


def count_run(source: str, asked: CountAsked, settings: Settings, observer: Observer | None = None) -> CountRecord:
    """Take an edge table all the way to counts in the store, partition by partition.

    Parameters
    ----------
    source
        Path or fsspec URL of the edge table.
    asked
        What to count.
    settings
        Where to, how, and on which cluster. The same table and settings give the same run, which is then resumed.
    observer
        Whom to tell how far the work is.

    Returns
    -------
    CountRecord

    Raises
    ------
    InputError, StorageError
        At bad input.
    BicliqError
        Where partitions failed, after all others were counted.
    """
    observer = observer or Observer()
    usable_backend(asked, settings)
    store = Store.open(settings.store)
    observer.stage("ingest")
    started = time.perf_counter()
    graph = ingest(source, store, settings.ingest, observer.rows).graph
    ingested = time.perf_counter()
    observer.stage("plan")
    run, method = plan_count(store, graph, asked, settings)
    planned = time.perf_counter()
    observer.stage("count")
    counted = count_partitions(store, run, asked, method, settings, observer.search)
    searched = time.perf_counter()
    observer.stage("publish")
    record = publish_counts(store, run, asked, method, counted, settings)
    times = (started, ingested, planned, searched, time.perf_counter())
    seconds = dict(zip(("ingest", "plan", "count", "publish"), np.diff(times).round(6).tolist(), strict=True))
    return CountRecord(**{**vars(record), "seconds": {**seconds, "total": round(times[-1] - started, 6)}})


def plan_count(store: Store, graph: str, asked: CountAsked, settings: Settings) -> tuple[str, str]:
    """Plan the run whose partitions are counted; returns its name and the search that all of them use."""
    profile(store, graph)
    whole = read_graph(store.graph(graph))
    least_p, least_q = asked.least
    core = reduce(whole, least_p, least_q).graph
    method, side = kernels.choose_count(
        core.indptr,
        core.indices,
        core.n_right,
        min(asked.p, 2) if asked.all_sizes else asked.p,
        min(asked.q, 2) if asked.all_sizes else asked.q,
        method=_partition_method(asked, settings),
        side=settings.search.side,
        threads=settings.search.threads,
    )
    bounded = {"min_left": min(least_p, 2**31 - 1), "min_right": min(least_q, 2**31 - 1), "side": side}
    search = settings.search.model_copy(update={**bounded, **NEEDED_SETTINGS})
    return plan(store, graph, search, settings.plan, cluster=settings.cluster, asks="counts").run, method


def count_partitions(
    store: Store,
    run: str,
    asked: CountAsked,
    method: str,
    settings: Settings,
    progress: Callable[[SearchProgress], None] | None = None,
) -> int:
    """Count the partitions of a planned run that are not counted yet, the costliest first; returns how many these were."""
    how = {"method": method, "backend": usable_backend(asked, settings)}
    if settings.cluster.is_local(read_plan_record(store.run(run)).est_cost):
        here = {**how, "threads": settings.search.threads}
        return _count_missing(store, run, asked, here, None, progress, settings.search.check)
    with open_cluster(settings.cluster) as client:
        there = {**how, "threads": 1}
        return _count_missing(store, run, asked, there, client, progress, settings.search.check)


def count_partition(
    store_uri: str, run: str, number: int, asked: CountAsked, method: str, backend: str, threads: int
) -> int:
    """Count one partition and commit its counts; one that was counted is left as it is. Returns its number."""
    folder = Store.open(store_uri, create=False).run(run)
    with folder.claim(f"{asked.key}-{number:05d}"):
        if not folder.has(count_name(asked.key, number)):
            _count_and_commit(folder, number, asked, method, backend, threads)
    return number


def _count_and_commit(
    folder: RunFolder, number: int, asked: CountAsked, method: str, backend: str, threads: int
) -> None:
    started = time.perf_counter()
    part = ready_partition(folder, number)
    csr = (part.indptr, part.indices, part.n_right)
    options: dict[str, Any] = {"side": part.side, "roots": part.roots, "threads": threads}
    files = []
    if asked.all_sizes:
        counts = kernels.count_all_bicliques(*csr, asked.p, asked.q, backend=backend, **options).counts
    else:
        options |= {"method": method, "backend": backend, "per_vertex": asked.vertices}
        found = kernels.count_bicliques(*csr, asked.p, asked.q, **options)
        counts = {(asked.p, asked.q): found.count}
        if asked.vertices:
            for side, ids, values in (
                ("left", part.left_ids, found.left_counts),
                ("right", part.right_ids, found.right_counts),
            ):
                name = vertices_name(asked.key, number, side)
                files.append(folder.write_table(name, _vertex_table(ids, values)))
    content = {
        "plan": read_plan_record(folder).digest,
        "counts": [[p, q, str(count)] for (p, q), count in counts.items() if count],
        "method": method,
        "seconds": round(time.perf_counter() - started, 6),
    }
    commit_count(folder, asked.key, number, content, files)


def publish_counts(
    store: Store, run: str, asked: CountAsked, method: str, counted: int, settings: Settings
) -> CountRecord:
    """Add up the partitions and write counts.parquet, beside what other counts of this run left there.

    Raises
    ------
    StorageError
        Where partitions are not counted, or damaged.
    CapacityError
        Where a count is 2^128 or more.
    """
    folder = store.run(run)
    record = read_plan_record(folder)
    counts = counts_of_key(folder, asked.key)
    publish_all_counts(folder, again=asked.key)
    graph = store.graph(record.graph).read_record("graph.json")
    n_left, n_right = int(graph["n_left"]), int(graph["n_right"])
    return CountRecord(
        counts=counts,
        n_left=n_left,
        n_right=n_right,
        n_edges=int(graph["n_edges"]),
        too_large=why_none(asked, n_left, n_right),
        method="pivot" if asked.all_sizes else method,
        side=record.side,
        backend=usable_backend(asked, settings),
        threads=settings.search.threads or kernels.available_threads(),
        seconds={},
        run=run,
        output=folder.uri,
        partitions=record.partitions,
        counted=counted,
    )


def counts_of_key(folder: RunFolder, key: str) -> Sizes:
    """Add up the partitions of one question; the exceptions are those of `publish_counts`."""
    sound, damaged = examine_counts(folder, key)
    total = read_plan_record(folder).partitions
    missing = [number for number in range(total) if number not in sound]
    if missing:
        reason = damaged.get(missing[0], "it is not counted")
        raise StorageError(
            f"{folder.uri}: {len(missing)} of {total} partitions of {key} are missing (partition {missing[0]}: {reason});"
            " count again"
        )
    counts = {**dict.fromkeys(sizes_of_key(key), 0), **sums_of(sound.values())}
    beyond = next((size for size, count in counts.items() if count >= 1 << 128), None)
    if beyond is not None:
        raise CapacityError(f"{folder.uri}: the count for p={beyond[0]}, q={beyond[1]} does not fit in 128 bits")
    return counts


def publish_all_counts(folder: RunFolder, again: str | None = None) -> None:
    """Write the tables of all questions of a run that are counted to their end, and the record that names them.

    Those that were published before are taken over, but for the question `again`; on an object store, where another
    process may publish at the same time, until none is missing.
    """
    with folder.claim("counts"):
        while True:
            done, counts, vertices = _published(folder)
            if again is not None:
                done.pop(again, None)
            new = {key: method for key, method in _whole_keys(folder).items() if key not in done}
            if not new:
                return
            for key in new:
                counts |= counts_of_key(folder, key)
                if key.startswith("vertices"):
                    ((p, q),) = sizes_of_key(key)
                    old = vertices.filter(pc.or_(pc.not_equal(vertices["p"], p), pc.not_equal(vertices["q"], q)))
                    vertices = pa.concat_tables([old, _vertex_sums(folder, key, counts[p, q])])
            folder.remove(COUNTS_RECORD)
            by_size = [("p", "ascending"), ("q", "ascending")]
            files = [folder.write_table(COUNTS_FILE, _count_rows(counts).sort_by(by_size))]
            if any(key.startswith("vertices") for key in {**done, **new}):
                files.append(folder.write_table(VERTICES_FILE, vertices.sort_by(by_size)))
            created = dt.datetime.now(dt.UTC).isoformat()
            folder.write_record(COUNTS_RECORD, {"keys": {**done, **new}, "created": created}, files)
            again = None


def _published(folder: RunFolder) -> tuple[dict[str, str], Sizes, pa.Table]:
    """Questions that are published with their method, their counts, and those of vertices; nothing where they are damaged."""
    try:
        record = folder.read_record(COUNTS_RECORD) if folder.has(COUNTS_RECORD) else None
        if record is not None:
            files = named_files(record)
            rows = folder.read_table(files[COUNTS_FILE]).to_pylist()
            vertices = (
                folder.read_table(files[VERTICES_FILE]) if VERTICES_FILE in files else VERTEX_SCHEMA.empty_table()
            )
            return dict(record["keys"]), {(row["p"], row["q"]): int(row["count"]) for row in rows}, vertices
    except DamageError as error:
        LOGGER.warning("the counts are put together again: %s", error)
    return {}, {}, VERTEX_SCHEMA.empty_table()


def _whole_keys(folder: RunFolder) -> dict[str, str]:
    """Questions of which every partition is counted, and by which method."""
    total = read_plan_record(folder).partitions
    sound = {key: examine_counts(folder, key)[0] for key in keys_of(folder)}
    return {key: str(records[0]["method"]) for key, records in sound.items() if len(records) == total}


def usable_backend(asked: CountAsked, settings: Settings) -> str:
    """Return the backend to count with: the CPU unless a GPU is asked for. One that cannot is refused before anything is read."""
    if settings.search.backend != "cuda":
        return "cpu"
    reason = kernels.why_not("cuda")
    if reason is None and asked.vertices:
        reason = "it counts no vertices"
    if reason is None and asked.method == "pivot" and not asked.all_sizes:
        reason = "it counts one (p, q) by levels"
    if reason is not None:
        raise kernels.BackendError(f"backend 'cuda' cannot do this here: {reason}; use the CPU backend")
    return "cuda"


def why_none(asked: CountAsked, n_left: int, n_right: int) -> str | None:
    """Say why a count must be 0: the graph has no side of this size."""
    for name, size, n in (("left", asked.p, n_left), ("right", asked.q, n_right)):
        if size > n and not asked.all_sizes:
            return f"the graph has only {n:,} {name} vertices, and {size:,} are asked for"
    return None


def _partition_method(asked: CountAsked, settings: Settings) -> Literal["auto", "levels", "pivot"]:
    """The search of partitions, as far as it is prescribed; butterflies count whole graphs only."""
    if asked.all_sizes or asked.vertices or asked.method == "pivot":
        return "pivot"
    return "levels" if asked.method == "levels" or settings.search.backend == "cuda" else "auto"


def _count_missing(
    store: Store,
    run: str,
    asked: CountAsked,
    how: dict[str, Any],
    client: Any | None,
    progress: Callable[[SearchProgress], None] | None,
    check: bool,
) -> int:
    started = time.perf_counter()
    write_partitions(store, run, client)
    folder, planned = store.run(run), read_plan(store.run(run))
    cost = np.bincount(planned.partition, weights=planned.cost)
    roots = np.bincount(planned.partition)
    sound, damaged = examine_counts(folder, asked.key, check)
    for number, reason in damaged.items():
        LOGGER.warning("partition %d is counted again: %s", number, reason)
        folder.remove(count_name(asked.key, number))
    waiting = [n for n in np.argsort(-cost, kind="stable").tolist() if n not in sound]
    done, failures = set(range(cost.size)) - set(waiting), dict[int, str]()
    for number, error in _counted(store, run, waiting, client, {"asked": asked, **how}):
        if error is None:
            done.add(number)
        else:
            failures[number] = error
        if progress is not None:
            chosen = sorted(done)
            figures = (int(roots[chosen].sum()), int(roots.sum()), int(cost[chosen].sum()), int(cost.sum()))
            progress(SearchProgress(len(done), cost.size, *figures, 0, time.perf_counter() - started))
    if failures:
        named = "; ".join(f"partition {number}: {error}" for number, error in sorted(failures.items())[:5])
        raise BicliqError(
            f"{folder.uri}: {len(failures)} of {cost.size} partitions failed ({named}); all others are counted: run"
            " the same command again to count only these"
        )
    return len(waiting)


def _counted(
    store: Store, run: str, waiting: list[int], client: Any | None, arguments: dict[str, Any]
) -> Iterator[tuple[int, str | None]]:
    """Count what is waiting; yields each number with None, or with what went wrong."""
    if client is None:
        for number in waiting:
            error = None
            try:
                count_partition(store.uri, run, number, **arguments)
            except BicliqError as failure:
                error = str(failure)
            yield number, error
        return
    from distributed import as_completed

    numbers = {
        client.submit(count_partition, store.uri, run, number, **arguments, pure=False, retries=RETRIES): number
        for number in waiting
    }
    for future in as_completed(list(numbers), loop=client.loop):
        failed = future.status != "finished"
        yield numbers[future], str(future.exception() or future.status) if failed else None


def _count_rows(counts: Sizes) -> pa.Table:
    sizes = list(counts)
    columns = [[p for p, _ in sizes], [q for _, q in sizes], [str(count) for count in counts.values()]]
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def _vertex_table(ids: Any, values: Any) -> pa.Table:
    """Vertices of a partition that lie in a biclique, and in how many."""
    some = np.flatnonzero(values != 0)
    counts = pa.array([str(value) for value in values[some].tolist()], pa.string())
    return pa.table({"vertex": pa.array(ids[some].astype(np.int32)), "count": counts})


def _vertex_sums(folder: RunFolder, key: str, count: int) -> pa.Table:
    """Add up the counts of each vertex over the partitions; none exceeds the count of all."""
    kind = np.uint64 if count < 1 << 64 else object
    ((p, q),) = sizes_of_key(key)
    graph = folder.store.graph(read_plan_record(folder).graph)
    stored, parts = graph.stored(), []
    records = examine_counts(folder, key)[0].values()
    for side in ("left", "right"):
        labels = graph.read_table(stored[f"{side}_ids.parquet"])["id"].combine_chunks().cast(pa.string())
        sums = np.zeros(len(labels), kind)
        for record in records:
            (file,) = (f for f in named_files(record).values() if f.name.startswith(f"counts/{key}/{side}-"))
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
