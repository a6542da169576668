"""Rejoin: a stored graph of groups in step, with the actions of a table or without them.

Windows may come, go and change with any row, early or late. So all rows are kept, those of a table
join them or leave them, and the graph is made of what is then there. Dense ids stay as they are,
new labels follow, and labels without actions remain.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats import Edges
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.placement.arrays import distinct
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.edge_table import EdgeTable
from bicliq.pipeline.stages.extend import SIDES, Extended, appended, of_parent, read_like, same_policies, tell_forms
from bicliq.pipeline.stages.ingest import GraphRecord, store_table
from bicliq.pipeline.stages.window import TimedRows, read_rows
from bicliq.pipeline.store.edges import ends_of
from bicliq.pipeline.store.labels import read_labels
from bicliq.pipeline.store.layout import Store

Bools = npt.NDArray[np.bool_]
Does = Literal["join", "take away", "replace"]


def rejoin(store: Store, graph: str, source: Edges, settings: IngestSettings, does: Does, **how: Any) -> Extended:
    """Write a graph of groups in step with the actions of a table, or without them.

    `store`, `graph`: the graph, which stays as it is. `source`, `settings`: the table, and how it
    is read; its policies must be those of the graph. `does`: whether its actions are joined, are
    taken away, or are all that the graph is to have. `**how`: as of `extend`: backend,
    memory_limit. Of what is returned ``left``, ``right`` are the ends of the actions that came, or
    were taken away; ``gone`` those of the actions that went because all were replaced. Raises
    InputError at anything wrong in the table, or where no action would be left.

    O(rows log rows), of the graph and of the table.
    """
    folder = store.graph(graph)
    known = folder.record()
    same_policies(folder, known, settings, delete=does == "take away", alone=does != "replace")
    table = read_like(known, source, settings, in_step=True, **how)
    started, before, labels = time.perf_counter(), read_rows(folder, known), read_labels(folder, known)
    assert before is not None  # a graph of this policy has rows
    assert table.rows is not None
    new = zip(SIDES, labels, (table.left_ids, table.right_ids), strict=True)
    ids, places = zip(*(appended(*side) for side in new), strict=True)
    fresh = table.rows.in_ids(*places)
    tell_forms(table, labels, ids)
    if does == "take away":  # who is new has no actions
        fresh, ids = fresh.where((fresh.left < len(labels[0])) & (fresh.right < len(labels[1]))), labels
    rows, was, told = _side_by_side(before, fresh)
    stays = {"join": was | told, "take away": was & ~told, "replace": told}[does]
    if not stays.any():
        raise InputError(f"{table.summary.source.uri}: no edge of the graph would be left; nothing was changed")
    changed = np.flatnonzero(was != stays if does == "take away" else stays & ~was)
    gone = np.flatnonzero(was & ~stays) if does == "replace" else changed[:0]
    summary = replace(table.summary, **of_parent(graph, known, len(changed), delete=does == "take away"))
    ends = ends_of(distinct(rows.keys[stays]))
    sizes = len(ids[0]), len(ids[1])
    if len(changed) or len(gone):
        whole = EdgeTable(*ends, None, ids[0], ids[1], summary, dict(table.seconds), rows.where(stays))
        record = store_table(store, whole, started)
    else:
        record = GraphRecord(graph, folder.uri, *known.sizes, known.n_edges, summary, dict(table.seconds))
    return Extended(
        record,
        rows.left[changed],
        rows.right[changed],
        len(table.rows) - len(changed),
        BipartiteGraph.from_edges(*ends, *sizes),
        (rows.left[gone], rows.right[gone]),
    )


def _side_by_side(before: TimedRows, fresh: TimedRows) -> tuple[TimedRows, Bools, Bools]:
    """Return the actions of both, each once, in the order of a graph; and which are in which."""
    both = TimedRows(
        np.concatenate([before.left, fresh.left]),
        np.concatenate([before.right, fresh.right]),
        np.concatenate([before.time, fresh.time]),
        None,
        -math.inf,
    )
    is_fresh = np.arange(len(both)) >= len(before)
    order, first = both.as_actions()
    owner, n = np.cumsum(first) - 1, int(first.sum())
    was, told = (np.bincount(owner[some], minlength=n) > 0 for some in (~is_fresh[order], is_fresh[order]))
    return both.where(order[first]), was, told
