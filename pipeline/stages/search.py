"""Search: a partition's subgraph in, its maximal bicliques as one committed Parquet file out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Literal

import pyarrow.parquet as pq

import kernels
from pipeline.errors import LimitReached
from pipeline.graphs.bipartite import BipartiteGraph
from pipeline.placement.device import LISTS, DeviceParquetWriter
from pipeline.placement.fallback import failed, search_on
from pipeline.settings import SearchSettings, Settings
from pipeline.stages.ingest import read_edge_table
from pipeline.stages.partition import read_partition
from pipeline.stages.plan import read_plan_record
from pipeline.stages.reduce import reduce
from pipeline.store.bicliques import MASK, PARQUET, parquet_writer, record_batch, table_digest, writes_on_device
from pipeline.store.layout import Commit, RunFolder, Store
from pipeline.store.sizes import Sizes

AUTO_PATHS = 1 << 20
"""Paths of two edges from which on a GPU is worth starting: all measured graphs with fewer take half a second on one core."""


def search_partition(
    store_uri: str,
    run: str,
    number: int,
    threads: int = 1,
    backend: str = "cpu",
    max_bicliques: int | None = None,
    progress: Callable[[Any], None] | None = None,
) -> Commit:
    """Search one partition, stream its bicliques to its data file, and commit it.

    Parameters
    ----------
    store_uri, run, number
        The partition, which must have been written.
    threads
        Threads of the kernel; 0: all cores.
    backend
        "cpu", "cuda", or "auto".
    max_bicliques
        Stop after so many, and commit the partition as incomplete.
    progress
        Called after each batch with the kernel's progress (roots_done, n_roots, bicliques).

    Returns
    -------
    Commit
        The commit record. A committed partition is not searched again.

    Notes
    -----
    Memory is bounded by the partition's subgraph and one batch, however many bicliques there are.
    """
    folder = Store.open(store_uri, create=False).run(run)
    with folder.claim(number):
        if (done := folder.read_commit(number)) is not None:
            return done
        chosen = usable_backend(backend, paths=read_plan_record(folder).est_cost)
        search = partial(_search_and_commit, folder, number, threads, max_bicliques, progress)
        return search_on(backend, chosen, search)


def _search_and_commit(
    folder: RunFolder,
    number: int,
    threads: int,
    max_bicliques: int | None,
    progress: Callable[[Any], None] | None,
    backend: str,
) -> Commit:
    started = time.perf_counter()
    part = read_partition(folder, number)
    settings = search_settings(folder)
    on_device = writes_on_device(backend) and max_bicliques is None
    stream = kernels.stream_maximal_bicliques(
        part.indptr,
        part.indices,
        part.n_right,
        side=part.side,
        roots=part.roots,
        left_ids=part.left_ids,
        right_ids=part.right_ids,
        min_left=settings.min_left,
        min_right=settings.min_right,
        min_edges=settings.min_edges,
        max_bicliques=max_bicliques,
        threads=threads,
        backend=backend,
        on_device=on_device,
    )
    sizes = Sizes()
    file = folder.attempt_name(number)
    with stream, folder.sink(file) as sink:
        batches = _counted(stream, sizes, progress)
        digest = None
        if on_device:
            _write_on_device(batches, sink)
        else:
            digest = _write_bicliques(batches, parquet_writer(sink, threads), max_bicliques is not None)
    result = stream.result
    commit = Commit(
        partition=number,
        file=file,
        rows=result.bicliques,
        bytes=sink.bytes,
        checksum=sink.checksum,
        digest=f"{result.digest if digest is None else digest:016x}",
        seconds=round(time.perf_counter() - started, 6),
        complete=result.complete,
        sizes=sizes.record(),
    )
    return folder.commit_partition(commit)


def _counted(stream: Any, sizes: Sizes, progress: Callable[[Any], None] | None) -> Iterator[Any]:
    """Pass batches on, and count the sizes of their bicliques."""
    for batch in stream:
        sizes.add(*(offsets[1:] - offsets[:-1] for offsets in (batch.left_offsets, batch.right_offsets)))
        yield batch
        if progress is not None:
            progress(stream.progress())


def _write_bicliques(batches: Iterator[Any], writer: Any, limited: bool) -> int | None:
    """Write batches as row groups.

    Returns the digest of what was written, where a limit may keep the kernel from knowing it.
    """
    digest = 0
    with writer:
        for batch in batches:
            writer.write_batch(record_batch(batch))
            if limited:
                digest += kernels.set_digest(batch.left_offsets, batch.left, batch.right_offsets, batch.right)
    return digest & MASK if limited else None


def _write_on_device(batches: Iterator[Any], sink: Any) -> None:
    """Write batches as row groups, encoded on the device that they are on, each while the next one is made ready."""
    with DeviceParquetWriter(sink, **LISTS) as writer, ThreadPoolExecutor(1, "encode") as pool:
        written = None
        for batch in batches:
            if written is not None:
                written.result()
            written = pool.submit(writer.write_bicliques, batch)
        if written is not None:
            written.result()


def keep_first(folder: RunFolder, commit: Commit, rows: int) -> Commit:
    """Write a partition's data file anew with its first rows only, and commit it as incomplete."""
    number, file = commit.partition, folder.attempt_name(commit.partition)
    table = folder.read_table(commit.file).slice(0, rows).combine_chunks()
    folder.uncommit_partition(number)
    with folder.sink(file) as sink:
        pq.write_table(table, sink, **PARQUET)
    if file != commit.file:
        folder.remove(commit.file)
    sizes = Sizes()
    sizes.add(table["n_left"].to_numpy(), table["n_right"].to_numpy())
    short = Commit(
        partition=number,
        file=file,
        rows=rows,
        bytes=sink.bytes,
        checksum=sink.checksum,
        digest=f"{table_digest(table):016x}",
        seconds=commit.seconds,
        complete=False,
        sizes=sizes.record(),
    )
    return folder.commit_partition(short)


def enumerate_table(source: str, settings: Settings, mode: Literal["count", "digest"] = "count") -> dict[str, Any]:
    """Search an edge table in memory, and publish nothing.

    Parameters
    ----------
    source
        Path or fsspec URL of the edge table.
    settings
        Its `ingest` and `search` parts are used.
    mode
        Whether to compute the set digest.

    Returns
    -------
    dict
        bicliques, digest, complete, n_left, n_right, n_edges, columns, side, backend, threads, nodes, dropped, seconds.
    """
    asked = settings.search
    started = time.perf_counter()
    table = read_edge_table(source, settings.ingest)
    graph = BipartiteGraph.from_edges(table.left, table.right, len(table.left_ids), len(table.right_ids))
    read = time.perf_counter()
    core = reduce(graph, asked.min_left, asked.min_right)
    reduced = time.perf_counter()
    search = partial(
        kernels.enumerate_maximal_bicliques,
        core.graph.indptr,
        core.graph.indices,
        core.graph.n_right,
        mode=mode,
        side=asked.side,
        left_ids=core.left_kept,
        right_ids=core.right_kept,
        min_left=asked.min_left,
        min_right=asked.min_right,
        min_edges=asked.min_edges,
        max_bicliques=asked.max_bicliques,
        threads=asked.threads,
    )
    chosen = usable_backend(asked.backend, paths=_paths(core.graph))
    result = search_on(asked.backend, chosen, lambda backend: search(backend=backend))
    seconds = {"ingest": read - started, "reduce": reduced - read, **result.seconds}
    if not result.complete and asked.on_limit == "error":
        raise LimitReached(f"{source}: the limit of {asked.max_bicliques} bicliques was reached; raise max_bicliques")
    return {
        "bicliques": result.bicliques,
        "digest": None if result.digest is None else f"{result.digest:016x}",
        "complete": result.complete,
        "n_left": graph.n_left,
        "n_right": graph.n_right,
        "n_edges": graph.n_edges,
        "columns": table.summary["columns"],
        "side": result.side,
        "backend": result.backend,
        "threads": result.threads,
        "nodes": result.nodes,
        "dropped": result.dropped,
        "seconds": {**seconds, "total": time.perf_counter() - started},
    }


def search_settings(folder: RunFolder) -> SearchSettings:
    """Read what a run searches for."""
    return SearchSettings.model_validate(folder.read_json("run.json")["search"])


def usable_backend(asked: str, *, paths: int | None = None) -> str:
    """Return the backend to search with: where none is named, a GPU if one can run here and there is work for it.

    `paths` is the estimated work, where it is known: paths of two edges from the roots.
    """
    if asked != "auto":
        return asked
    small = paths is not None and paths < AUTO_PATHS
    return "cpu" if small or failed() or kernels.why_not("cuda") else "cuda"


def _paths(graph: BipartiteGraph) -> int:
    """Paths of two edges from the side that has fewer of them."""
    return min(int((degrees**2).sum()) for degrees in (graph.left_degrees, graph.right_degrees))
