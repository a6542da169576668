"""Extend: new edges of a table joined to a stored graph, or taken out of it; old ids stay.

Dense ids are ranks of labels when a table is ingested. In an extended graph they are not: every old
vertex keeps its id, and new labels follow in the order of the new table. So bicliques of the old
graph are read with the new one's labels, and `kernels.ChangeSearch` says which of them change.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import InputError
from pipeline.formats import Edges
from pipeline.graphs.bipartite import Int32s, Int64s
from pipeline.settings import IngestSettings
from pipeline.stages.edge_table import POLICIES, EdgeTable
from pipeline.stages.ingest import GraphRecord, read_edge_table, store_table, unite_weights
from pipeline.stages.window import read_rows
from pipeline.store.labels import read_labels
from pipeline.store.layout import GraphFolder, Store

OF_WHAT_STAYS = ("duplicates", "window")
"""Policies that are of no importance for what is taken away."""

NO_EDGES: Int32s = np.zeros(0, np.int32)


@dataclass(frozen=True, eq=False)
class Extended:
    """A graph that was extended, and what changed.

    Parameters
    ----------
    record
        The new graph; it is the old one where nothing changed.
    left, right
        int32: the edges that were joined or taken away, in dense ids of the new graph, sorted.
    unchanged
        Different edges of the table that were there already, or were not there to be taken away.
    gone
        int32: ends of the edges that went in the same step in which others were joined.
    """

    record: GraphRecord
    left: Int32s
    right: Int32s
    unchanged: int
    gone: tuple[Int32s, Int32s] = (NO_EDGES, NO_EDGES)


def extend(
    store: Store,
    graph: str,
    source: Edges,
    settings: IngestSettings | None = None,
    *,
    delete: bool = False,
) -> Extended:
    """Join the edges of a table to a stored graph, or take them away, as a new graph of the store.

    Parameters
    ----------
    store, graph
        A graph of a store, which stays as it is.
    source
        Path or fsspec URL of an edge table, or a table in memory.
    settings
        Format, columns and policies of the table; policies must be those of the graph.
    delete
        Take the edges away. Vertices stay, with their ids, though without edges. How repeated edges
        are united is then of no importance.

    Returns
    -------
    Extended

    Raises
    ------
    InputError
        At anything wrong in the table, where its policies are not those of the graph, or where no
        edge would be left.

    Notes
    -----
    O(edges log edges). An edge that is there already changes nothing but its weight, which is
    united as the policy of duplicates says.
    """
    settings = settings or IngestSettings()
    folder = store.graph(graph)
    folder.must_exist()
    known = folder.read_record("graph.json")
    same_policies(folder, known, settings, delete=delete)
    table = read_edge_table(source, settings)
    started = time.perf_counter()
    ids, places = zip(*map(appended, read_labels(folder), (table.left_ids, table.right_ids)), strict=True)
    if delete:
        ids, places = _without_unknown(read_labels(folder), places)
    n_right = max(len(ids[1]), 1)
    keys, weights = _keys(folder, n_right)
    if not delete:
        same_weights(folder, weights is not None, table.weight is not None)
    asked = places[0][table.left] * n_right + places[1][table.right]
    known_ends = (places[0][table.left] >= 0) & (places[1][table.right] >= 0)
    there = known_ends & _are_in(keys, asked)
    changed = asked[there if delete else ~there]
    if delete:
        gone = np.searchsorted(keys, changed)
        keys, weights = np.delete(keys, gone), None if weights is None else np.delete(weights, gone)
    elif weights is None:
        fresh = np.sort(changed)
        keys = np.insert(keys, np.searchsorted(keys, fresh), fresh)
    else:
        keys, weights = unite_weights(np.concatenate([keys, asked]), np.concatenate([weights, table.weight]), settings)
    if not len(keys):
        raise InputError(f"{table.summary['source']['uri']}: no edge of the graph would be left; nothing was changed")
    left, right = (end.astype(np.int32) for end in np.divmod(keys, n_right))
    summary = {**table.summary, "parent": graph, "deleted" if delete else "inserted": len(changed)}
    summary["policies"], rows = known["summary"]["policies"], read_rows(folder)
    if rows is not None:
        rows = rows.where(~np.isin(rows.left.astype(np.int64) * n_right + rows.right, changed))
        summary["latest"] = rows.latest
    grown = EdgeTable(left, right, weights, ids[0], ids[1], summary, dict(table.seconds), rows)
    record = store_table(store, grown, started)
    left, right = (end.astype(np.int32) for end in np.divmod(np.sort(changed), n_right))
    return Extended(record, left, right, len(asked) - len(changed))


def same_policies(folder: GraphFolder, known: dict[str, Any], settings: IngestSettings, *, delete: bool) -> None:
    """Refuse policies that are not those of the graph: its edges would mean two things.

    What is taken away needs neither a way to unite weights nor a window.
    """
    names = [name for name in POLICIES if not (delete and name in OF_WHAT_STAYS)]
    before = known["summary"]["policies"]
    now = json.loads(json.dumps({name: getattr(settings, name) for name in names}, default=str))
    differ = [name for name in names if before.get(name) != now[name]]
    if differ:
        said = ", ".join(f"{name} {now[name]!r} (the graph has {before.get(name)!r})" for name in differ)
        raise InputError(f"{folder.uri}: a table is joined by the policies of its graph, but {said}")


def appended(labels: pa.Array, more: pa.Array) -> tuple[pa.Array, Int64s]:
    """Return labels with new ones at the end, and the id of each of `more`.

    Examples
    --------
    >>> labels, ids = appended(pa.array(["ann", "cid"]), pa.array(["bob", "cid"]))
    >>> labels.to_pylist(), ids.tolist()
    (['ann', 'cid', 'bob'], [2, 1])
    """
    if labels.type != more.type:
        labels, more = labels.cast(pa.string()), more.cast(pa.string())
    found = pc.index_in(more, value_set=labels)
    fresh = pc.is_null(found).to_numpy(zero_copy_only=False)
    ids: Int64s = found.fill_null(0).to_numpy().astype(np.int64)
    ids[fresh] = len(labels) + np.arange(int(fresh.sum()))
    return pa.concat_arrays([labels, more.filter(pa.array(fresh))]), ids


def _without_unknown(labels: tuple[pa.Array, ...], places: tuple[Int64s, ...]) -> tuple[Any, Any]:
    """Return the labels as they were, and -1 in place of ids that are new: they have no edges."""
    return labels, tuple(np.where(ids < len(of), ids, -1) for of, ids in zip(labels, places, strict=True))


def _keys(folder: GraphFolder, n_right: int) -> tuple[Int64s, Any]:
    """Return the edges of a graph as numbers, ascending, and their weights where there are any."""
    edges = folder.read_table(folder.stored()["edges.parquet"])
    keys = edges["left"].to_numpy().astype(np.int64) * n_right + edges["right"].to_numpy()
    return keys, edges["weight"].to_numpy() if "weight" in edges.column_names else None


def _are_in(ascending: Int64s, keys: Int64s) -> npt.NDArray[np.bool_]:
    """Whether each key is among the ascending ones (`np.isin` takes a second for a million)."""
    places = np.searchsorted(ascending, keys)
    found: npt.NDArray[np.bool_] = ascending[np.minimum(places, len(ascending) - 1)] == keys
    return found


def same_weights(folder: GraphFolder, known: bool, more: bool) -> None:
    """Refuse to join edges with weights to edges without, and the other way round."""
    if known != more:
        raise InputError(
            f"{folder.uri}: the graph has {'weights' if known else 'no weights'}, the table has"
            f" {'some' if more else 'none'}; name a column of weights just as it was done for the graph"
        )
