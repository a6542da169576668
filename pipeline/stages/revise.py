"""Revise: a stored graph given the edges of another table; ids stay, and edges come and go.

`extend` joins a table to a graph, or takes it out. Here the table says what the graph is to be, and
what it lacks goes. Dense ids stay as they are, new labels follow, and labels without edges remain.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from bicliq.pipeline.columns import column_of
from bicliq.pipeline.events import warn
from bicliq.pipeline.formats import Edges
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, Int32s, Int64s, read_graph
from bicliq.pipeline.placement.arrays import distinct
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.edge_table import EdgeTable
from bicliq.pipeline.stages.extend import SIDES, Extended, appended, read_like, same_policies, same_weights
from bicliq.pipeline.stages.ingest import store_table
from bicliq.pipeline.stages.uniting import unite_weights
from bicliq.pipeline.stages.window import begin_of, in_words, read_rows
from bicliq.pipeline.store.edges import read_edge_rows
from bicliq.pipeline.store.labels import read_labels
from bicliq.pipeline.store.layout import Store

LOWER_HALF = 0xFFFFFFFF


def revise(
    store: Store,
    graph: str,
    source: Edges,
    settings: IngestSettings,
    backend: str = "cpu",
    memory_limit: int | None = None,
) -> Extended:
    """Write a stored graph with exactly the edges of a table, as a new graph of the store.

    `store`, `graph`: a graph of a store, which stays as it is. `settings`: format, columns and
    policies of the table; policies must be those of the graph. `backend`: where the table is read:
    "auto", "cpu" or "cuda". `memory_limit`: bytes that this process may hold, which the table must
    fit; None: no limit. Of what is returned ``left``, ``right`` are the edges that came, ``gone``
    those that went. Raises InputError at anything wrong in the table, or where its policies are not
    those of the graph.

    O(edges log edges), of the graph and of the table.
    """
    folder = store.graph(graph)
    known = folder.record()
    same_policies(folder, known, settings, delete=False, alone=False)
    table = read_like(known, source, settings, backend=backend, memory_limit=memory_limit)
    same_weights(folder, read_edge_rows(folder).weights is not None, table.weight is not None)
    extended = _with_edges_of(store, graph, table)
    return replace(extended, unchanged=len(table.left) - len(extended.left))


def slide(
    store: Store,
    graph: str,
    source: Edges,
    settings: IngestSettings,
    backend: str = "cpu",
    memory_limit: int | None = None,
) -> Extended:
    """Join a table to a graph of a window of time, which moves on to the latest row of both.

    `store`, `graph`: a graph of a store that was read with a window. `source`: the table. Rows that
    came too late for the window are dropped and counted. `settings`: as for `revise`; `window` is
    that of the graph. `backend`, `memory_limit`: as for `revise`. Of what is returned ``left``,
    ``right`` are the edges that entered the window, ``gone`` those that left it. Raises InputError
    as `revise`.

    O(rows log rows), of the window. An edge stays until its latest row leaves.
    """
    folder = store.graph(graph)
    known = folder.record()
    same_policies(folder, known, settings, delete=False)
    before = read_rows(folder, known)
    assert before is not None  # a graph of this policy has rows
    how: dict[str, Any] = {"backend": backend, "memory_limit": memory_limit, "latest": before.latest}
    table = read_like(known, source, settings, **how)
    assert table.rows is not None
    assert settings.window is not None
    same_weights(folder, before.weight is not None, table.weight is not None)
    latest = max(before.latest, table.rows.latest)
    fresh = table.rows.until(latest, settings.window)
    sides = zip(SIDES, read_labels(folder), (table.left_ids, table.right_ids), (fresh.left, fresh.right), strict=True)
    ids, places = zip(*(_appended_as_used(*side) for side in sides), strict=True)
    fresh = fresh.in_ids(*places)
    stay = before.until(latest, settings.window)
    whole = stay.followed_by(fresh).needed()
    keys, weight = distinct(whole.keys), None
    if whole.weight is not None:
        keys, weight = unite_weights(whole.keys, whole.weight, settings)
    late = len(table.rows) - len(fresh)
    dropped = table.summary.dropped_by_window + late
    if dropped:
        begin = in_words(begin_of(latest, settings.window))
        warn("rows lie before the window", source=table.summary.source.uri, rows=dropped, begin=begin)
    left_window = len(before) - len(stay)
    summary = replace(table.summary, dropped_by_window=dropped, left_window=left_window, latest=latest)
    ends = (keys >> 32).astype(np.int32), (keys & LOWER_HALF).astype(np.int32)
    moved = EdgeTable(*ends, weight, ids[0], ids[1], summary, dict(table.seconds), whole)
    extended = _with_edges_of(store, graph, moved)
    return replace(extended, unchanged=len(distinct(fresh.keys)) - len(extended.left))


def _appended_as_used(side: str, labels: pa.Array, more: pa.Array, codes: Int32s) -> tuple[pa.Array, Int64s]:
    """Append the labels that some rows have; returns all, and the id of each of these."""
    used = distinct(codes)
    ids, found = appended(side, labels, more.take(column_of(used)))
    places = np.full(len(more), -1, np.int64)
    places[used] = found
    return ids, places


def _with_edges_of(store: Store, graph: str, table: EdgeTable) -> Extended:
    started = time.perf_counter()
    folder = store.graph(graph)
    before = read_graph(folder)
    ids, places = zip(*map(appended, SIDES, read_labels(folder), (table.left_ids, table.right_ids)), strict=True)
    n_right = max(len(ids[1]), 1)
    old = before.edge_left.astype(np.int64) * n_right + before.indices
    new = places[0][table.left] * n_right + places[1][table.right]
    order = np.argsort(new)
    came, went = np.setdiff1d(new, old, assume_unique=True), np.setdiff1d(old, new, assume_unique=True)
    left, right = _ends(new[order], n_right)
    revised = EdgeTable(
        left,
        right,
        None if table.weight is None else table.weight[order],
        ids[0],
        ids[1],
        replace(table.summary, parent=graph, inserted=len(came), deleted=len(went)),
        dict(table.seconds),
        None if table.rows is None else table.rows.in_ids(*places),
    )
    record = store_table(store, revised, started)
    larger = BipartiteGraph.from_edges(left, right, len(ids[0]), len(ids[1]))
    return Extended(record, *_ends(np.sort(came), n_right), 0, larger, _ends(went, n_right))


def _ends(keys: Int64s, n_right: int) -> tuple[Int32s, Int32s]:
    """Left and right ends of edges that are numbers."""
    left, right = np.divmod(keys, n_right)
    return left.astype(np.int32), right.astype(np.int32)
