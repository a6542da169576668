"""Count: (p,q)-bicliques of an edge table in memory, or partition by partition into the store.

A count in the store is a planned run (thresholds p and q, so that the graph is reduced to what can hold one) whose partitions
are counted instead of searched. Every (p,q)-biclique belongs to its first vertex in the order of the plan, so the
partitions' counts add up. The folder of the run then holds ``counts.parquet`` (p, q, count) and, where asked,
``vertex_counts.parquet`` (p, q, side, vertex, id, count); counts are text, since 2^128 - 1 has 39 digits.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

import kernels
from pipeline.errors import BicliqError, CapacityError, InputError
from pipeline.graphs.bipartite import BipartiteGraph, read_graph
from pipeline.placement.cluster import open_cluster
from pipeline.run import Observer
from pipeline.settings import Settings
from pipeline.stages.ingest import ingest, read_edge_table
from pipeline.stages.partition import read_partition, write_partitions
from pipeline.stages.plan import plan, read_plan, read_plan_record
from pipeline.stages.profile import profile
from pipeline.stages.reduce import reduce
from pipeline.stages.search_run import RETRIES, SearchProgress
from pipeline.store.layout import RunFolder, Store

Sizes = dict[tuple[int, int], int]

COUNTS_FILE = "counts.parquet"
VERTICES_FILE = "vertex_counts.parquet"
NEEDED_SETTINGS: dict[str, Any] = {"min_edges": 1, "max_bicliques": None, "on_limit": "flag"}
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
                kernels.check_table(self.p, self.q)
            except CapacityError as error:
                raise InputError(str(error)) from None

    @property
    def least(self) -> tuple[int, int]:
        """Sizes below which nothing is asked for."""
        return (1, 1) if self.all_sizes else (self.p, self.q)

    @property
    def key(self) -> str:
        """Name of the folder of its partitions' counts."""
        kind = "all" if self.all_sizes else "vertices" if self.vertices else "one"
        return f"counts/{kind}-p{self.p}-q{self.q}"


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
    return plan(store, graph, search, settings.plan, cluster=settings.cluster).run, method


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
        return _count_missing(store, run, asked, {**how, "threads": settings.search.threads}, None, progress)
    with open_cluster(settings.cluster) as client:
        return _count_missing(store, run, asked, {**how, "threads": 1}, client, progress)


def count_partition(
    store_uri: str, run: str, number: int, asked: CountAsked, method: str, backend: str, threads: int
) -> int:
    """Count one partition and commit its counts; one that was counted is left as it is. Returns its number."""
    folder = Store.open(store_uri, create=False).run(run)
    if folder.has(_commit_name(asked, number)):
        return number
    started = time.perf_counter()
    part = read_partition(folder, number)
    csr = (part.indptr, part.indices, part.n_right)
    options: dict[str, Any] = {"side": part.side, "roots": part.roots, "threads": threads}
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
                folder.write_table(_vertices_name(asked, number, side), _vertex_table(ids, values))
    rows = [[p, q, str(count)] for (p, q), count in counts.items() if count]
    commit = {"partition": number, "counts": rows, "seconds": round(time.perf_counter() - started, 6)}
    folder.write_bytes(_commit_name(asked, number), (json.dumps(commit) + "\n").encode())
    return number


def publish_counts(
    store: Store, run: str, asked: CountAsked, method: str, counted: int, settings: Settings
) -> CountRecord:
    """Add up the partitions and write counts.parquet, beside what other counts of this run left there."""
    folder = store.run(run)
    record = read_plan_record(folder)
    counts = dict.fromkeys(_asked_sizes(asked), 0)
    for number in range(record.partitions):
        for p, q, count in folder.read_json(_commit_name(asked, number))["counts"]:
            counts[p, q] += int(count)
    beyond = next((size for size, count in counts.items() if count >= 1 << 128), None)
    if beyond is not None:
        raise CapacityError(f"{folder.uri}: the count for p={beyond[0]}, q={beyond[1]} does not fit in 128 bits")
    if asked.vertices:
        _publish_vertices(store, folder, record.graph, asked, record.partitions, max(counts.values()))
    _write_merged(folder, COUNTS_FILE, _count_rows(counts), asked, SCHEMA)
    graph = store.graph(record.graph).read_json("graph.json")
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
) -> int:
    started = time.perf_counter()
    write_partitions(store, run, client)
    folder, planned = store.run(run), read_plan(store.run(run))
    cost = np.bincount(planned.partition, weights=planned.cost)
    roots = np.bincount(planned.partition)
    there = {*folder.names(f"{asked.key}/partition-*.json")}
    waiting = [n for n in np.argsort(-cost, kind="stable").tolist() if _commit_name(asked, n) not in there]
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


def _asked_sizes(asked: CountAsked) -> list[tuple[int, int]]:
    if not asked.all_sizes:
        return [(asked.p, asked.q)]
    return [(p, q) for p in range(1, asked.p + 1) for q in range(1, asked.q + 1)]


def _count_rows(counts: Sizes) -> pa.Table:
    sizes = list(counts)
    columns = [[p for p, _ in sizes], [q for _, q in sizes], [str(count) for count in counts.values()]]
    return pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def _vertex_table(ids: Any, values: Any) -> pa.Table:
    """Vertices of a partition that lie in a biclique, and in how many."""
    some = np.flatnonzero(values != 0)
    counts = pa.array([str(value) for value in values[some].tolist()], pa.string())
    return pa.table({"vertex": pa.array(ids[some].astype(np.int32)), "count": counts})


def _publish_vertices(
    store: Store, folder: RunFolder, graph: str, asked: CountAsked, partitions: int, count: int
) -> None:
    """Add up the counts of each vertex over the partitions; none exceeds the count of all."""
    kind = np.uint64 if count < 1 << 64 else object
    parts = []
    for side in ("left", "right"):
        labels = store.graph(graph).read_table(f"{side}_ids.parquet")["id"].combine_chunks().cast(pa.string())
        sums = np.zeros(len(labels), kind)
        for number in range(partitions):
            table = folder.read_table(_vertices_name(asked, number, side))
            sums[table["vertex"].to_numpy()] += np.array([int(x) for x in table["count"].to_pylist()], kind)
        some = np.flatnonzero(sums != 0)
        columns = {
            "p": pa.array(np.full(some.size, asked.p, np.int64)),
            "q": pa.array(np.full(some.size, asked.q, np.int64)),
            "side": pa.array([side] * some.size, pa.string()),
            "vertex": pa.array(some.astype(np.int32)),
            "id": labels.take(pa.array(some)),
            "count": pa.array([str(value) for value in sums[some].tolist()], pa.string()),
        }
        parts.append(pa.table(columns, schema=VERTEX_SCHEMA))
    _write_merged(folder, VERTICES_FILE, pa.concat_tables(parts), asked, VERTEX_SCHEMA)


def _write_merged(folder: RunFolder, name: str, table: pa.Table, asked: CountAsked, schema: pa.Schema) -> None:
    """Write a table of counts, with the rows of other sizes that are there already."""
    if folder.has(name):
        old = folder.read_table(name)
        new = set(_asked_sizes(asked))
        sizes = zip(old["p"].to_pylist(), old["q"].to_pylist(), strict=True)
        table = pa.concat_tables([old.filter(pa.array([size not in new for size in sizes], pa.bool_())), table])
    folder.write_table(name, table.sort_by([(field, "ascending") for field in schema.names if field in ("p", "q")]))


def _commit_name(asked: CountAsked, number: int) -> str:
    return f"{asked.key}/partition-{number:05d}.json"


def _vertices_name(asked: CountAsked, number: int, side: str) -> str:
    return f"{asked.key}/{side}-{number:05d}.parquet"
