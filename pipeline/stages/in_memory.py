"""Tables and stored graphs read into memory: bipartite, undirected, or one side projected."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.columns import column_of, values_of
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.events import say
from bicliq.pipeline.formats import Edges, EdgeSource, bare_name, open_edges
from bicliq.pipeline.formats.numbered import DIMACS_SUFFIXES, NumberedEdges, read_dimacs, read_matrix_market
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, read_graph, stored_edges
from bicliq.pipeline.graphs.undirected import UndirectedGraph, expected_ties, project
from bicliq.pipeline.placement.arrays import library_of
from bicliq.pipeline.placement.device import on
from bicliq.pipeline.placement.where import Backend, place_data, place_graph, place_projection
from bicliq.pipeline.redact import without_secrets
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.ingest import EdgeTable, read_edge_table
from bicliq.pipeline.store.account import DROPPED, Summary, account
from bicliq.pipeline.store.labels import read_labels
from bicliq.pipeline.store.layout import Store


def bipartite_of(table: EdgeTable, backend: str = "cpu") -> BipartiteGraph:
    """Return the graph of an edge table, on the host ("cpu") or on the GPU ("cuda")."""
    left, right = on(backend, table.left, table.right)
    return BipartiteGraph.from_edges(left, right, len(table.left_ids), len(table.right_ids))


def read_undirected(source: Edges, settings: IngestSettings | None = None, backend: str = "cpu") -> UndirectedGraph:
    """Read a file of edges as an undirected graph.

    `source`: path or fsspec URL: DIMACS, MatrixMarket (square), or any edge table that
    `read_edge_table` reads, tables in memory as well. `settings`: format, columns and filters of an
    edge table. `backend`: "cpu"; "cuda": an edge table is read on the GPU, and the graph's arrays
    lie there; or "auto": the GPU for a large table. DIMACS and MatrixMarket files stay on the host.
    Raises InputError at anything wrong in the file: what, and in which line. Raises BackendError if
    "cuda" cannot run here.
    """
    settings = settings or IngestSettings()
    numbered = _numbered_file(source, settings) if isinstance(source, str | os.PathLike) else None
    if numbered is not None:
        return _of_numbers(numbered)
    said = settings.sides is not None
    settings = settings.model_copy(update={"sides": "source-target"})  # loops are counted
    opened = open_edges(source, settings)
    table = read_edge_table(opened, settings, backend=backend)
    left_ids, right_ids = table.left_ids, table.right_ids
    if left_ids.type != right_ids.type:
        left_ids, right_ids = left_ids.cast(pa.string()), right_ids.cast(pa.string())
    ids = pc.unique(pa.chunked_array([left_ids, right_ids]))
    ids = ids.take(pc.sort_indices(ids))
    shared = len(left_ids) + len(right_ids) - len(ids)
    if shared and not said and not _one_set(opened):
        _assume_one_set(opened, shared, table.summary)
    left = values_of(pc.index_in(left_ids, value_set=ids))
    right = values_of(pc.index_in(right_ids, value_set=ids))
    u, v = left[table.left], right[table.right]
    place = place_data(backend, table.summary.source.bytes)
    return _with_account(place.run(lambda chosen: _graph_on(chosen, u, v, ids)), table.summary)


def _one_set(opened: EdgeSource) -> bool:
    """Whether a table says itself that it is a graph of one set of vertices."""
    return (
        opened.format in ("adjacency", "pajek", "dl")
        or opened.uri.startswith("networkx ")
        or bool(opened.layout and opened.layout.one_set)
    )


def _assume_one_set(opened: EdgeSource, shared: int, summary: Summary) -> None:
    sentence = (
        f"{without_secrets(opened.uri)}: both columns were taken for one set of vertices, since they share"
        f" {shared:,} {'label' if shared == 1 else 'labels'}; say project = 'left' or 'right' if they are two sets"
    )
    summary.assumed.append(sentence)
    say("assumed", sentence)


def _with_account(graph: UndirectedGraph, summary: Summary) -> UndirectedGraph:
    """The graph with what became of the rows of its table: loops and repetitions are rows here."""
    read = summary.account
    loops = int(read["noted"].pop("self_loops", 0))
    repeated = read["edges"] + read["duplicates"] - loops - graph.n_edges
    read |= {"edges": graph.n_edges, "duplicates": repeated}
    read["dropped"] |= {"self_loops": loops} if loops else {}
    return replace(graph, self_loops=loops, repeated=repeated, account=read)


def _numbered_file(source: str | os.PathLike[str], settings: IngestSettings) -> NumberedEdges | None:
    """The edges of a DIMACS or MatrixMarket file, None where the file is no such one."""
    uri = os.fspath(source)
    name = bare_name(uri)
    if settings.format == "auto" and name.endswith(DIMACS_SUFFIXES):
        return read_dimacs(uri)
    if settings.format == "mtx" or (settings.format == "auto" and name.endswith(".mtx")):
        return read_matrix_market(uri, settings)
    return None


def _graph_on(backend: Backend, u: Any, v: Any, ids: pa.Array) -> UndirectedGraph:
    u, v = on(backend, u, v)
    return UndirectedGraph.from_edges(u, v, ids)


def project_table(
    source: Edges,
    side: Literal["left", "right"],
    min_shared: int,
    settings: IngestSettings | None = None,
    store: Store | None = None,
    threads: int = 1,
    backend: str = "cpu",
) -> UndirectedGraph:
    """Tie the vertices of one side of a bipartite table that share enough of the other side.

    Parameters
    ----------
    source
        Path or fsspec URL of an edge table, or a table in memory; with a store, the name of one of
        its graphs, or how it begins.
    side, min_shared
        The side to keep, and how many common neighbours make an edge.
    settings
        How a table is read.
    store
        Where `source` is a graph.
    threads
        Threads of the projection on the CPU; 0 takes all cores.
    backend
        "cpu"; "cuda": the table is read and projected on the GPU, where the arrays of the graph
        then lie; or "auto": the GPU where it is worth its start, for a large table or for a small
        one with many paths of two edges, and the CPU where the GPU fails.

    Raises
    ------
    InputError
        Where the table is wrong, or the graph is not in the store.
    BackendError
        If "cuda" cannot run here, or has too little memory.
    """
    graph, ids, read = read_sides(source, side, settings, store, backend)
    on_device = library_of(graph.indices) is not np

    def work(chosen: Backend) -> UndirectedGraph:
        lost = on_device and chosen == "cpu"  # with the GPU on which it lay: it is read again
        there = read_sides(source, side, settings, store)[0] if lost else graph.on(chosen)
        return replace(project(there, ids, side, min_shared, threads), account=read)

    place = place_data(backend) if on_device else place_projection(backend, expected_ties(graph, side, min_shared))
    return place.run(work)


def read_sides(
    source: Edges,
    side: Literal["left", "right"],
    settings: IngestSettings | None = None,
    store: Store | None = None,
    backend: str = "cpu",
) -> tuple[BipartiteGraph, pa.Array, dict[str, Any]]:
    """Read a bipartite graph, the labels of one side, and what became of the rows of a table.

    Parameters as of `project_table`.
    """
    if store is not None:
        folder = store.graph(store.find_graph(str(source)))
        if folder.record().summary.in_step is not None:
            raise InputError(f"{folder.uri}: is of groups in step, whose times a projection would lose; read the table")
        place = place_graph(backend, stored_edges(folder))
        graph = place.run(lambda chosen: read_graph(folder, chosen))
        return graph, read_labels(folder)[0 if side == "left" else 1], {}
    table = read_edge_table(source, settings, backend=backend)
    place = place_data(backend, table.summary.source.bytes)
    graph = place.run(lambda chosen: bipartite_of(table, chosen))
    return graph, table.left_ids if side == "left" else table.right_ids, table.summary.account


def _of_numbers(file: NumberedEdges) -> UndirectedGraph:
    ids = column_of(np.arange(1, file.n + 1, dtype=np.int64))
    graph = UndirectedGraph.from_edges(file.edges[:, 0] - 1, file.edges[:, 1] - 1, ids)
    read = len(file.edges) + sum(file.dropped.values())
    rows = {"rows_read": read, "edges": graph.n_edges, "duplicates": graph.repeated, **file.dropped}
    return replace(graph, account=account({**rows, f"{DROPPED}self_loops": graph.self_loops}))
