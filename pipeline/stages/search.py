"""Search: a partition's subgraph in, its maximal bicliques as one committed Parquet file out."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np

from bicliq import kernels
from bicliq.pipeline.errors import LimitReached
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.graphs.reduce import Reduced, reduce
from bicliq.pipeline.placement.device import encodes
from bicliq.pipeline.placement.where import CPU_SEARCH, Backend, Place, check_backends, place_data, place_search
from bicliq.pipeline.settings import SearchSettings, Settings
from bicliq.pipeline.stages.in_memory import bipartite_of
from bicliq.pipeline.stages.in_step import GroupStream, count_in_step, search_windows
from bicliq.pipeline.stages.ingest import EdgeTable, read_edge_table
from bicliq.pipeline.stages.limits import Cut, Limits
from bicliq.pipeline.stages.partition import Partition, ready_partition
from bicliq.pipeline.store.biclique_file import BicliqueWriter, layout_of
from bicliq.pipeline.store.biclique_reader import LargerSides, open_bicliques
from bicliq.pipeline.store.bicliques import MASK, batches_of
from bicliq.pipeline.store.device_bicliques import DeviceBicliqueWriter
from bicliq.pipeline.store.labels import Hashes, label_hashes, read_hashes
from bicliq.pipeline.store.layout import RunFolder, Store
from bicliq.pipeline.store.records import Commit
from bicliq.pipeline.store.worth import Surprise


def search_partition(
    store_uri: str,
    run: str,
    number: int,
    threads: int = 1,
    progress: Callable[[Any], None] | None = None,
    place: Place = CPU_SEARCH,
    cut: Cut | None = None,
) -> Commit:
    """Search one partition, stream its bicliques to its data file, and commit it.

    Parameters
    ----------
    store_uri, run, number
        The partition, which must have been written.
    threads
        Threads of the kernel; 0: all that this process may use.
    progress
        Called after each batch with the kernel's progress (roots_done, n_roots, bicliques).
    place
        Where it is searched.
    cut
        What is left of the limits: where one is reached, the partition is committed as incomplete,
        and is searched again when more is asked for.

    Returns
    -------
    Commit
        The commit record. A partition that is committed, and complete, is not searched again.

    Notes
    -----
    Memory is bounded by the partition's subgraph and one batch, however many bicliques there are.
    """
    cut = cut or Cut(Limits(), time.time())
    most = cut.room.max_bicliques
    folder = Store.open(store_uri, create=False).run(run)
    with folder.claim_partition(number):
        done = folder.read_commit(number)
        if done is not None and (done.complete or (most is not None and done.rows >= most)):
            return done
        return place.run(partial(_search_and_commit, folder, number, done, threads, cut, progress))


def _search_and_commit(
    folder: RunFolder,
    number: int,
    replaces: Commit | None,
    threads: int,
    cut: Cut,
    progress: Callable[[Any], None] | None,
    backend: Backend,
) -> Commit:
    """Search a partition and commit it, unless that holds less than what is there; what stands."""
    commit = _search_to_file(folder, number, threads, cut, progress, backend)
    if replaces is not None and (replaces.complete or (not commit.complete and commit.rows <= replaces.rows)):
        folder.remove(commit.file)  # it was cut off before it had what is there
        return replaces
    return folder.commit_partition(commit, replaces)


def _search_to_file(
    folder: RunFolder,
    number: int,
    threads: int,
    cut: Cut,
    progress: Callable[[Any], None] | None,
    backend: Backend,
) -> Commit:
    """Search a partition to a data file, and describe it as a commit does."""
    file = folder.attempt_name(number)
    started = time.perf_counter()
    part = ready_partition(folder, number)
    publish, in_step = folder.asked.publish, folder.asked.in_step is not None
    on_device = backend == "cuda" and not cut.room and encodes(publish, _most_neighbours(part))
    with folder.sink(file) as sink, _stream(folder, part, threads, cut, sink, backend, on_device=on_device) as stream:
        batches: Iterable[Any] = stream if progress is None else _told(stream, progress)
        writer = DeviceBicliqueWriter(sink, publish) if on_device else biclique_writer(folder, sink, threads)
        digest = _write_bicliques(batches, writer, _hashes(folder) if cut.room or in_step else None)
    result = stream.result
    return Commit(
        stored=(sink.file(file),),
        partition=part.number,
        rows=result.bicliques,
        digest=f"{result.digest if digest is None else digest:016x}",
        seconds=round(time.perf_counter() - started, 6),
        complete=result.complete,
        backend=result.backend,
        threads=result.threads,
        sizes=writer.sizes.counts(),
        plan=folder.planned.digest,
    )


def _stream(
    folder: RunFolder, part: Partition, threads: int, cut: Cut, sink: Any, backend: Backend, *, on_device: bool
) -> kernels.Stream[Any] | GroupStream:
    """Search a partition for what its run asks for, in the form in which it is written."""
    settings, publish = folder.asked.search, folder.asked.publish
    until = (lambda: cut.due(sink.bytes)) if cut.room else None
    if folder.asked.in_step is not None:
        return search_windows(part, settings, threads, until, cut.room.max_bicliques)
    graph = part.indptr, part.indices, part.n_right
    asked: dict[str, Any] = {
        "side": part.side,
        "roots": part.roots,
        "left_ids": part.left_ids,
        "right_ids": part.right_ids,
        "left_hashes": part.left_hashes,
        "right_hashes": part.right_hashes,
        "min_left": settings.min_left,
        "min_right": settings.min_right,
        "min_edges": settings.min_edges,
        "threads": threads,
    }
    if backend == "cpu" and not cut.room:
        return kernels.stream_row_groups(*graph, layout_of(publish, _terms(folder)), **asked)
    if not cut.room and publish.columns == "smaller" and "surprise" not in publish.objectives:
        return kernels.stream_smaller_sides(*graph, on_device=on_device, **asked)
    return kernels.stream_maximal_bicliques(
        *graph, max_bicliques=cut.room.max_bicliques, backend=backend, on_device=on_device, until=until, **asked
    )


def _most_neighbours(part: Partition) -> int:
    """The largest degree: no biclique has more vertices on a side."""
    return max(int(np.diff(part.indptr).max(initial=0)), int(np.bincount(part.indices).max(initial=0)))


def _told(stream: kernels.Stream[Any] | GroupStream, progress: Callable[[Any], None]) -> Iterator[Any]:
    """Pass batches or row groups on, and say after each how far the search has come."""
    for batch in stream:
        yield batch
        progress(stream.progress())


def _write_bicliques(batches: Iterable[Any], writer: BicliqueWriter, hashes: Any | None = None) -> int | None:
    """Write batches as row groups, or row groups as they are.

    Returns the digest of what was written, made of these hashes of labels, where a limit may keep
    the kernel from knowing it.
    """
    digest = 0
    with writer:
        for batch in batches:
            writer.write(batch)
            if hashes is not None:
                digest += kernels.check_bicliques(batch, *hashes)[0]
    return digest & MASK if hashes is not None else None


def keep_first(folder: RunFolder, commit: Commit, rows: int) -> Commit:
    """Write a partition's data file anew with its first rows only, and commit it as incomplete."""
    with folder.claim_partition(commit.partition):
        file = folder.attempt_name(commit.partition)
        with folder.sink(file) as sink:
            writer = biclique_writer(folder, sink, 1)
            digest = _write_bicliques(_first(folder, commit, rows), writer, _hashes(folder))
        short = replace(
            commit,
            stored=(sink.file(file),),
            rows=rows,
            digest=f"{digest:016x}",
            complete=False,
            sizes=writer.sizes.counts(),
        )
        return folder.commit_partition(short, replaces=commit)


def _first(folder: RunFolder, commit: Commit, rows: int) -> Iterator[kernels.BicliqueBatch]:
    """The first rows of a data file."""
    with open_bicliques(folder, commit.data, LargerSides(folder.graph)) as file:
        for group in range(len(file.rows)):
            if rows > 0:
                table = file.table(group).slice(0, rows)
                rows -= table.num_rows
                yield from batches_of(table)


def enumerate_table(
    source: str | os.PathLike[str], settings: Settings, mode: Literal["count", "digest"] = "count"
) -> dict[str, Any]:
    """Search an edge table in memory, and publish nothing.

    `source`: path or fsspec URL of the edge table. `settings`: its `ingest` and `search` parts are
    used, and `data_backend`. `mode`: whether to compute the set digest. Returns bicliques, digest,
    complete, n_left, n_right, n_edges, columns, side, backend, threads, nodes, not_canonical (nodes
    that were left for that), seconds, and the `account` of the table. With `in_step` bicliques are
    the groups in step, and in_step says what was searched.
    """
    if settings.ingest.in_step is not None:
        return count_in_step(source, settings, mode)
    asked = settings.search
    started = time.perf_counter()
    check_backends(settings.data_backend, asked.backend, asked.threads, starts=True)
    table = read_edge_table(os.fspath(source), settings.ingest, backend=settings.data_backend)
    read = time.perf_counter()
    core = reduced_table(table, asked, settings.data_backend)
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
        left_hashes=label_hashes(table.left_ids)[core.left_kept],
        right_hashes=label_hashes(table.right_ids)[core.right_kept],
        min_left=asked.min_left,
        min_right=asked.min_right,
        min_edges=asked.min_edges,
        max_bicliques=asked.max_bicliques,
        threads=asked.threads,
    )
    result = place_search(asked.backend, _paths(core.graph)).run(lambda backend: search(backend=backend))
    seconds = {"ingest": read - started, "reduce": reduced - read, **result.seconds}
    if not result.complete and asked.on_limit == "error":
        raise LimitReached(f"{source}: the limit of {asked.max_bicliques} bicliques was reached; raise max_bicliques")
    return {
        "bicliques": result.bicliques,
        "digest": None if result.digest is None else f"{result.digest:016x}",
        "complete": result.complete,
        "n_left": len(table.left_ids),
        "n_right": len(table.right_ids),
        "n_edges": len(table.left),
        "columns": table.summary.columns,
        "side": result.side,
        "backend": result.backend,
        "threads": result.threads,
        "nodes": result.nodes,
        "not_canonical": result.not_canonical,
        **table.summary.account,
        "seconds": {**seconds, "total": time.perf_counter() - started},
    }


def biclique_writer(folder: RunFolder, sink: Any, threads: int) -> BicliqueWriter:
    """Open a data file of a run, laid out as the run asks."""
    return BicliqueWriter(sink, threads, folder.asked.publish, _terms(folder))


def _terms(folder: RunFolder) -> kernels.SurpriseTerms | None:
    """What each vertex of a run's graph adds to surprise, where that is asked for."""
    wanted = "surprise" in folder.asked.publish.objectives
    return _terms_of_graph(folder.store.uri, folder.asked.graph) if wanted else None


@lru_cache(maxsize=1)
def _terms_of_graph(store_uri: str, graph: str) -> kernels.SurpriseTerms:
    """What each vertex of a graph adds to surprise; kept for the next partition."""
    return Surprise(Store.open(store_uri, create=False).graph(graph)).terms


def _hashes(folder: RunFolder) -> tuple[Hashes, Hashes]:
    """Read the hashes of the labels of a run's graph."""
    return read_hashes(folder.graph)


def reduced_table(table: EdgeTable, asked: SearchSettings, backend: str) -> Reduced:
    """What of a table can be in an answer, on the host, wherever it was reduced."""
    bounds = asked.min_left, asked.min_right
    place = place_data(backend, table.summary.source.bytes)
    return place.run(lambda backend: reduce(bipartite_of(table, backend), *bounds).on_host())


def _paths(graph: BipartiteGraph) -> int:
    """Paths of two edges from the side that has fewer of them."""
    return min(int((degrees**2).sum()) for degrees in (graph.left_degrees, graph.right_degrees))
