"""Revise: a stored graph given the edges of another table; ids stay, and edges come and go.

`extend` joins a table to a graph, or takes it out. Here the table says what the graph is to be, and
what it lacks goes. Dense ids stay as they are, new labels follow, and labels without edges remain.
"""

from __future__ import annotations

import time

import numpy as np

from pipeline.graphs.bipartite import Int32s, Int64s, read_graph
from pipeline.stages.edge_table import EdgeTable
from pipeline.stages.extend import Extended, appended
from pipeline.stages.ingest import store_table
from pipeline.store.labels import read_labels
from pipeline.store.layout import Store


def revise(store: Store, graph: str, table: EdgeTable) -> Extended:
    """Write a stored graph with exactly the edges of a table, as a new graph of the store.

    Parameters
    ----------
    store, graph
        A graph of a store, which stays as it is.
    table
        All edges of the new one, read by the policies of the graph.

    Returns
    -------
    Extended
        ``left``, ``right`` are the edges that came, ``gone`` those that went.

    Notes
    -----
    O(edges log edges), of the graph and of the table.
    """
    started = time.perf_counter()
    folder = store.graph(graph)
    before = read_graph(folder)
    ids, places = zip(*map(appended, read_labels(folder), (table.left_ids, table.right_ids)), strict=True)
    n_right = max(len(ids[1]), 1)
    old = before.edge_left.astype(np.int64) * n_right + before.indices
    new = places[0][table.left] * n_right + places[1][table.right]
    order = np.argsort(new)
    came, went = np.setdiff1d(new, old, assume_unique=True), np.setdiff1d(old, new, assume_unique=True)
    left, right = _ends(new[order], n_right)
    counted = {"parent": graph, "inserted": len(came), "deleted": len(went)}
    revised = EdgeTable(
        left,
        right,
        None if table.weight is None else table.weight[order],
        ids[0],
        ids[1],
        {**table.summary, **counted},
        dict(table.seconds),
    )
    record = store_table(store, revised, started)
    return Extended(record, *_ends(came, n_right), len(new) - len(came), gone=_ends(went, n_right))


def _ends(keys: Int64s, n_right: int) -> tuple[Int32s, Int32s]:
    """Left and right ends of edges that are numbers."""
    left, right = np.divmod(keys, n_right)
    return left.astype(np.int32), right.astype(np.int32)
