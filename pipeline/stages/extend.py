"""Extend: new edges of a table joined to a stored graph, or taken out of it; old ids stay.

Dense ids are ranks of labels when a table is ingested. In an extended graph they are not: every old
vertex keeps its id, and new labels follow in the order of the new table. So bicliques of the old
graph are read with the new one's labels, and `kernels.ChangeSearch` says which of them change.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.columns import column_of, values_of
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.events import say
from bicliq.pipeline.formats import Edges, EdgeSource, open_edges, read_batches
from bicliq.pipeline.formats.forms import told_beside
from bicliq.pipeline.formats.matrix import ROWS_ARE_NUMBERED
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, Int32s, Int64s
from bicliq.pipeline.graphs.paths import wedges
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.device_reading import with_text
from bicliq.pipeline.stages.edge_table import POLICIES, EdgeTable, same_policy
from bicliq.pipeline.stages.ingest import GraphRecord, read_edge_table, store_changed, store_table
from bicliq.pipeline.stages.label_kinds import in_kind, refuse_twins
from bicliq.pipeline.stages.planned import Plan
from bicliq.pipeline.stages.uniting import unite_weights
from bicliq.pipeline.stages.window import TimedRows, read_rows
from bicliq.pipeline.store.account import Summary
from bicliq.pipeline.store.edges import CHANGED, ChangedEdges, EdgeRows, ends_of, keys_of, read_changed, read_edge_rows
from bicliq.pipeline.store.labels import Hashes, label_hashes, labels_table, read_hashes, read_labels
from bicliq.pipeline.store.layout import GraphFolder, Store
from bicliq.pipeline.store.records import StoredGraph
from bicliq.pipeline.words import listed

SIDES = ("left", "right")

DIFFERS = 16
"""A graph is written as what differs from another one while that is less than the 16th part."""

OF_WHAT_STAYS = ("duplicates", "window")
"""Policies that are of no importance for what is taken away."""

OF_A_FILE = ("ragged", "nulls", "split", "comment", "skip", "encoding")
"""Policies that say how a file is read, and not what its edges mean: each may have its own."""

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
    larger
        The graph that has the changed edges, in memory: the new one, or, where they were taken
        away, the old one.
    gone
        int32: ends of the edges that went in the same step in which others were joined.
    labels
        Labels of both sides of the new graph, by dense id, where they are at hand.
    """

    record: GraphRecord
    left: Int32s
    right: Int32s
    unchanged: int
    larger: BipartiteGraph
    gone: tuple[Int32s, Int32s] = (NO_EDGES, NO_EDGES)
    labels: tuple[pa.Array, pa.Array] | None = None

    def hashes(self, folder: GraphFolder) -> tuple[Hashes, Hashes]:
        """Hashes of the labels of the new graph, which `folder` holds.

        Numbers are hashed sooner than their hashes are read.
        """
        if self.labels is None or not all(pa.types.is_integer(labels.type) for labels in self.labels):
            return read_hashes(folder)
        left, right = map(label_hashes, self.labels)
        return left, right


def extend(
    store: Store,
    graph: str,
    source: Edges,
    settings: IngestSettings | None = None,
    *,
    delete: bool = False,
    backend: str = "cpu",
    memory_limit: int | None = None,
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
    backend
        Where the table is read: "auto", "cpu" or "cuda".
    memory_limit
        Bytes that this process may hold, which the table must fit; None: no limit.

    Raises
    ------
    InputError
        At anything wrong in the table, where its policies are not those of the graph, or where no
        edge would be left.

    Notes
    -----
    O(edges) to read the graph; what is written is what differs from a whole graph
    (`pipeline.store.edges`). An edge that is there already changes nothing but its weight, which is
    united as the policy of duplicates says.
    """
    settings = settings or IngestSettings()
    folder = store.graph(graph)
    folder.must_exist()
    known = folder.record()
    same_policies(folder, known, settings, delete=delete)
    table = read_like(known, source, settings, backend=backend, memory_limit=memory_limit)
    started = time.perf_counter()
    before = _Stored.read(folder, known)
    ids, places = zip(*map(appended, SIDES, before.labels, (table.left_ids, table.right_ids)), strict=True)
    tell_forms(table, before.labels, ids)
    if delete:
        ids, places = _without_unknown(before.labels, places)
    else:
        same_weights(folder, before.rows.weights is not None, table.weight is not None)
    ends = places[0][table.left], places[1][table.right]
    there = before.rows.find(*ends)[1]
    asked = keys_of(*ends)
    changed = np.sort(asked[there if delete else ~there])
    if not delete and (what := _numbered(table)) is not None:
        _refuse_others(table.summary.source.uri, what, before, ends[0], ends_of(changed)[0])
    step = ChangedEdges(
        changed, np.full(len(changed), not delete), None if before.rows.weights is None else np.zeros(len(changed))
    )
    if not delete and before.rows.weights is not None:
        step = before.reweighted(asked, table.weight, settings)
    after = before.rows.after(step, len(ids[0]))
    if not len(after):
        raise InputError(f"{table.summary.source.uri}: no edge of the graph would be left; nothing was changed")
    summary = replace(table.summary, **of_parent(graph, known, len(changed), delete=delete))
    rows = read_rows(folder, known)
    if rows is not None:
        rows = rows.where(~np.isin(rows.keys, changed))
        summary = replace(summary, latest=rows.latest)
    grown = _Grown(after, ids, rows, summary, dict(table.seconds))
    if len(step.keys):
        record = _store(store, folder, known, before, step, grown, started)
    else:
        record = GraphRecord(graph, folder.uri, len(ids[0]), len(ids[1]), len(after), summary, dict(table.seconds))
    larger = before.rows if delete else after
    in_memory = BipartiteGraph(len(ids[0]), len(ids[1]), larger.indptr, larger.indices)
    return Extended(record, *ends_of(changed), len(asked) - len(changed), in_memory, labels=ids)


def of_parent(graph: str, known: StoredGraph, n: int, *, delete: bool) -> dict[str, Any]:
    """What a table's summary says of the graph that it was joined to, or taken away from."""
    of_graph = {"policies": known.summary.policies, "labels": known.summary.labels}
    return {"parent": graph, "deleted" if delete else "inserted": n, **of_graph}


def write_whole(store: Store, graph: str) -> str:
    """Write a graph that is told by its differences as one that holds all of its edges.

    Returns the whole graph, with the same ids; it is the given one where that is whole.
    """
    folder = store.graph(graph)
    record = folder.record()
    if folder.base(record) is None:
        return graph
    started, rows = time.perf_counter(), read_edge_rows(folder, record)
    edges = rows.left, rows.indices, rows.weights
    table = EdgeTable(*edges, *read_labels(folder, record), record.summary, {})
    return store_table(store, table, started).graph


def extended_plan(plan: Plan, graph: BipartiteGraph) -> Plan:
    """Return the plan of a graph that another graph became, with the order of the earlier one.

    `graph`: the later one, reduced where it is searched so. Vertices keep their ids.

    Vertices without edges leave the plan, and new ones come last, by their ids, in a partition of
    their own. So the first member of a biclique, its root, is the same by both plans. Partitions
    keep their numbers; one whose roots all left is empty.
    """
    by_root = graph if plan.side == "left" else graph.transpose()
    there = by_root.left_degrees > 0
    kept = there[plan.roots]
    new = there.copy()
    new[plan.roots] = False
    roots = np.concatenate([plan.roots[kept], np.flatnonzero(new)]).astype(np.int32)
    last = int(plan.partition.max(initial=-1)) + 1
    partition = np.concatenate([plan.partition[kept], np.full(int(new.sum()), last, np.int32)])
    return Plan(plan.side, roots, wedges(by_root)[0][roots], partition)


@dataclass(frozen=True, eq=False)
class _Stored:
    """A graph as it is stored: its edges, and the labels."""

    rows: EdgeRows
    labels: tuple[pa.Array, pa.Array]

    @classmethod
    def read(cls, folder: GraphFolder, record: StoredGraph) -> _Stored:
        return cls(read_edge_rows(folder, record), read_labels(folder, record))

    def reweighted(self, asked: Int64s, weight: Any, settings: IngestSettings) -> ChangedEdges:
        """Return the edges among some that are new, or get another weight."""
        old, known = self._weights_of(asked)
        keys, united = unite_weights(
            np.concatenate([asked[old], asked]), np.concatenate([known[old], weight]), settings
        )
        there, known = self._weights_of(keys)
        differ = ~there | (known != united)
        return ChangedEdges(keys[differ], np.ones(int(differ.sum()), np.bool_), united[differ])

    def _weights_of(self, keys: Int64s) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
        """Say of some edges whether they are there, and with which weights."""
        weights = np.full(len(keys), np.nan)
        places, there = self.rows.find(*ends_of(keys))
        assert self.rows.weights is not None  # it is asked of graphs with weights
        weights[there] = self.rows.weights[places[there]]
        return there, weights


# ---- writing -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Grown:
    """A graph that is not stored yet: its edges, its labels, and what is told of it."""

    edges: EdgeRows
    labels: tuple[pa.Array, pa.Array]
    rows: TimedRows | None
    summary: Summary
    seconds: dict[str, float]

    @property
    def sizes(self) -> tuple[int, int, int]:
        return len(self.labels[0]), len(self.labels[1]), len(self.edges)

    def table(self) -> EdgeTable:
        edges = self.edges.left, self.edges.indices, self.edges.weights
        return EdgeTable(*edges, *self.labels, self.summary, self.seconds, self.rows)


def _store(
    store: Store,
    folder: GraphFolder,
    known: StoredGraph,
    before: _Stored,
    step: ChangedEdges,
    grown: _Grown,
    started: float,
) -> GraphRecord:
    """Write what differs from the base of the graph, or all where that is much or has a window."""
    if grown.rows is not None:
        return store_table(store, grown.table(), started)
    base = folder.base(known)
    if base is None:
        base, differs, first = folder, step, [len(labels) for labels in before.labels]
    else:
        record = base.record()
        differs = read_changed(folder, known).then(step)
        first = list(record.sizes)
    new = [labels.slice(n) for labels, n in zip(grown.labels, first, strict=True)]
    if (len(differs.keys) + sum(map(len, new))) * DIFFERS > len(grown.edges):
        return store_table(store, grown.table(), started)
    left, right = ends_of(differs.keys)
    columns = {"left": left, "right": right, "there": differs.there}
    if differs.weight is not None:
        columns["weight"] = differs.weight
    tables = {CHANGED: pa.table({name: column_of(values) for name, values in columns.items()})}
    tables |= {
        f"{side}_ids.parquet": labels_table(some)
        for side, some in zip(("left", "right"), new, strict=True)
        if len(some)
    }
    return store_changed(store, base, tables, grown.sizes, grown.summary, grown.seconds, started)


def same_policies(
    folder: GraphFolder, known: StoredGraph, settings: IngestSettings, *, delete: bool, alone: bool = True
) -> None:
    """Refuse policies that are not those of the graph: its edges would mean two things.

    What is taken away needs neither a way to unite weights nor a window; a table that is read alone
    is read as its file needs.
    """
    left_out = {*(OF_WHAT_STAYS if delete else ()), *(OF_A_FILE if alone else ())}
    names = [name for name in POLICIES if name not in left_out]
    before = known.summary.policies
    now = json.loads(json.dumps({name: getattr(settings, name) for name in names}, default=str))
    differ = [name for name in names if not same_policy(name, before.get(name), now[name])]
    if differ:
        said = ", ".join(f"{name} {now[name]!r} (the graph has {before.get(name)!r})" for name in differ)
        raise InputError(
            f"{folder.uri}: a table is joined by the policies of its graph, but {said}; leave that out, or begin another"
            " store"
        )


def read_like(known: StoredGraph, source: Edges, settings: IngestSettings, **how: Any) -> EdgeTable:
    """Read a table whose ids are numbers or text as those of a graph are, given its record.

    Raises InputError as `read_edge_table`, and where a side of numbers gets an id that is none.
    """
    opened, kinds = open_edges(source, settings), known.summary.labels
    for side in SIDES:
        if kinds[side] == "text" and opened.layout is not None and opened.layout.ids == "labels":
            opened = with_text(opened, side)
    table = read_edge_table(opened, settings, **how)
    told = _told_first(opened, table)
    table.summary.assumed.extend(told)
    for sentence in told:
        say("assumed", sentence)
    left_ids, right_ids = (
        in_kind(opened, side, labels, kinds[side])
        for side, labels in zip(SIDES, (table.left_ids, table.right_ids), strict=True)
    )
    return replace(table, left_ids=left_ids, right_ids=right_ids, summary=replace(table.summary, labels=kinds))


def _numbered(table: EdgeTable) -> str | None:
    """What of a table has no names but its places in the file or list; None: nothing."""
    summary = table.summary
    if any(ROWS_ARE_NUMBERED in said for said in summary.assumed):
        return "row"
    in_file = summary.source.format == "baskets" and summary.columns.get("left") == "line"
    return "basket" if in_file or summary.source.uri.endswith(" of baskets") else None


def _refuse_others(uri: str, what: str, before: _Stored, left: Int32s, joined: Int32s) -> None:
    """Refuse numbered rows, or baskets, that are others than those with their numbers in the graph.

    `left`, `joined`: of each edge of the table, and of each that is new, its left vertex. A file
    that grew at its end has those of before as they were.
    """
    had = np.diff(before.rows.indptr)[: len(before.labels[0])]
    now = np.bincount(left, minlength=len(had))[: len(had)]
    differ = (now > 0) & (now != had)
    differ[joined[joined < len(had)]] = True
    if differ.any():
        number = before.labels[0][int(np.argmax(differ))].as_py()
        cure = (
            "begin each line with a number that is new, and say format = 'baskets' and left = '0'"
            if what == "basket"
            else "give them a column of numbers that are new, and name it: left = 'NAME'"
        )
        raise InputError(
            f"{uri}: {what} {number} is another one than {what} {number} of the run; {what}s without names are known by their"
            f" places alone: put the new ones behind those of before and give all of them, or {cure}"
        )


def _told_first(opened: EdgeSource, table: EdgeTable) -> tuple[str, ...]:
    """Say that line 1 was taken for an edge, as in the run, where no other row has its labels."""
    layout, ids = opened.layout, (table.left_ids, table.right_ids)
    named = layout is None or layout.header or opened.settings.header is not None
    if named or opened.format not in ("csv", "tsv") or not all(pa.types.is_string(labels.type) for labels in ids):
        return ()
    batch = next(read_batches(opened), None)
    if batch is None or len(batch.edges) == 0 or len(table.left) < 2:
        return ()
    first = [str(batch.edges[side][0]) for side in SIDES]
    for label, labels, ends in zip(first, ids, (table.left, table.right), strict=True):
        if int((ends == pc.index(labels, label).as_py()).sum()) != 1:
            return ()
    return (
        f"{opened.uri}: line 1 ({listed(first)}) was taken for an edge, as tables of the run name no columns; no other row has"
        " its labels: say header = true if it is names",
    )


def tell_forms(table: EdgeTable, known: tuple[pa.Array, ...], labels: tuple[pa.Array, ...]) -> None:
    """Say which labels are new to the graph by their case or Unicode form alone."""
    sides = {side: (old, every[len(old) :]) for side, old, every in zip(SIDES, known, labels, strict=True)}
    alike, said = told_beside(table.summary.source.uri, sides)
    table.summary.noted.update(alike)
    table.summary.assumed.extend(said)
    for sentence in said:
        say("assumed", sentence)


def appended(side: str, labels: pa.Array, more: pa.Array) -> tuple[pa.Array, Int64s]:
    """Return the labels of a side with new ones at the end, and the id of each of `more`.

    Examples
    --------
    >>> labels, ids = appended("left", pa.array(["ann", "cid"]), pa.array(["bob", "cid"]))
    >>> labels.to_pylist(), ids.tolist()
    (['ann', 'cid', 'bob'], [2, 1])
    """
    if labels.type != more.type:
        labels, more = labels.cast(pa.string()), more.cast(pa.string())
    places = pc.index_in(labels, value_set=more)  # a table of the few labels, not of the many
    known = np.flatnonzero(values_of(pc.is_valid(places)))
    ids: Int64s = np.full(len(more), -1, np.int64)
    ids[values_of(places.drop_null())] = known
    fresh = ids < 0
    refuse_twins(side, labels, more.filter(column_of(fresh)))
    ids[fresh] = len(labels) + np.arange(int(fresh.sum()))
    return pa.concat_arrays([labels, more.filter(column_of(fresh))]), ids


def _without_unknown(labels: tuple[pa.Array, ...], places: tuple[Int64s, ...]) -> tuple[Any, Any]:
    """Return the labels as they were, and -1 in place of ids that are new: they have no edges."""
    return labels, tuple(np.where(ids < len(of), ids, -1) for of, ids in zip(labels, places, strict=True))


def same_weights(folder: GraphFolder, known: bool, more: bool) -> None:
    """Refuse to join edges with weights to edges without, and the other way round."""
    if known != more:
        raise InputError(
            f"{folder.uri}: the graph has {'weights' if known else 'no weights'}, the table has"
            f" {'some' if more else 'none'}; name a column of weights just as it was done for the graph"
        )
