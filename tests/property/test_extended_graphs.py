"""Graphs that grow and shrink, table by table, against the same graph ingested at once."""

from dataclasses import replace
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bicliq import kernels
from bicliq.pipeline.errors import DamageError, InputError
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, read_graph
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.extend import extend, write_whole
from bicliq.pipeline.stages.ingest import ingest
from bicliq.pipeline.store.edges import ChangedEdges, EdgeRows, ends_of, keys_of, read_edge_columns, read_edge_rows
from bicliq.pipeline.store.labels import read_hashes, read_labels
from bicliq.pipeline.store.layout import Store
from tests.nightly import drawn

LABELS = st.sampled_from([*"abcdefgh", "10", "9", "é", "7x"])
TABLES = st.sets(st.tuples(LABELS, LABELS), min_size=1, max_size=10)
NUMBERS = IngestSettings(weight="weight", duplicates="sum")


def edges_of(folder: Any) -> Any:
    """The stored file of a graph's edges; its name has an attempt in it."""
    return next(file for name, file in folder.record().named.items() if name.startswith("edges"))


def put(name, rows, head="user,item"):
    with fsspec.open(f"memory://extend/{name}", "w") as file:
        file.write("\n".join([head, *(",".join(map(str, row)) for row in rows)]) + "\n")
    return f"memory://extend/{name}"


def fresh_store(name):
    fs = fsspec.filesystem("memory")
    if fs.exists(f"/extend-{name}"):
        fs.rm(f"/extend-{name}", recursive=True)
    return Store.open(f"memory://extend-{name}")


def digest_of(store, name):
    graph, (left, right) = read_graph(store.graph(name)), read_hashes(store.graph(name))
    found = kernels.enumerate_maximal_bicliques(
        graph.indptr, graph.indices, graph.n_right, mode="digest", left_hashes=left, right_hashes=right
    )
    return found.digest


def as_list(column):
    return column.cast(pa.string()).to_pylist()


class GrowingGraph(RuleBasedStateMachine):
    """The digest of the bicliques is kept by what changes, and never reckoned from all of them."""

    @initialize(rows=TABLES, differs=st.sampled_from([0, 2, 10**9]))
    def begin(self, rows, differs):
        rows = rows | {("é", "7x")}  # a side of numbers would take no text later
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr("bicliq.pipeline.stages.extend.DIFFERS", differs)
        self.store = fresh_store("machine")
        self.edges = set(rows)
        self.name = ingest(put("base.csv", sorted(rows)), self.store).graph
        self.digest = digest_of(self.store, self.name)
        self.labels = tuple(map(as_list, read_labels(self.store.graph(self.name))))

    @rule(rows=TABLES)
    def insert(self, rows):
        self.take(extend(self.store, self.name, put("new.csv", sorted(rows))), rows - self.edges, delete=False)
        self.edges |= rows

    @precondition(lambda self: len(self.edges) > 1)
    @rule(data=st.data())
    def delete(self, data):
        some = data.draw(st.sets(st.sampled_from(sorted(self.edges)), min_size=1, max_size=len(self.edges) - 1))
        unknown = data.draw(st.sets(st.tuples(LABELS, LABELS), max_size=3)) - self.edges
        found = extend(self.store, self.name, put("old.csv", sorted(some | unknown)), delete=True)
        assert found.unchanged == len(unknown)
        self.take(found, some, delete=True)
        self.edges -= some

    def take(self, found, changed, delete):
        assert len(found.left) == len(changed)
        larger = self.store.graph(self.name if delete else found.record.graph)
        after = self.store.graph(found.record.graph)
        graph, hashes = read_graph(larger), read_hashes(after)
        changes = kernels.ChangeSearch(graph.indptr, graph.indices, graph.n_right, found.left, found.right).find()
        came, went = (
            kernels.set_digest(one.left_offsets, one.left, one.right_offsets, one.right, *hashes)
            for one in (changes.appeared, changes.vanished)
        )
        self.digest = (self.digest + (went - came if delete else came - went)) % 2**64
        self.name = found.record.graph

    @invariant()
    def it_is_the_graph_of_all_edges(self):
        once = ingest(put("all.csv", sorted(self.edges)), fresh_store("once"))
        assert digest_of(Store.open("memory://extend-once"), once.graph) == self.digest
        graph: BipartiteGraph = read_graph(self.store.graph(self.name))
        left, right = map(as_list, read_labels(self.store.graph(self.name)))
        ends = zip(graph.edge_left.tolist(), graph.indices.tolist(), strict=True)
        assert {(left[u], right[v]) for u, v in ends} == self.edges

    @invariant()
    def old_ids_stay(self):
        now = tuple(map(as_list, read_labels(self.store.graph(self.name))))
        assert all(new[: len(old)] == old for new, old in zip(now, self.labels, strict=True))
        self.labels = now

    def teardown(self):
        if hasattr(self, "patch"):
            self.patch.undo()


GrowingGraph.TestCase.settings = settings(max_examples=drawn(60), stateful_step_count=6, deadline=None)
TestGrowingGraph = GrowingGraph.TestCase


def test_weights_are_united_as_the_graph_had_them():
    store = fresh_store("weights")
    head = "user,item,weight"
    base = ingest(put("w.csv", [("a", "x", 2), ("b", "x", 1)], head), store, NUMBERS)
    more = extend(store, base.graph, put("v.csv", [("a", "x", 3), ("c", "x", 5)], head), NUMBERS)
    folder = store.graph(more.record.graph)
    assert folder.read_table(edges_of(folder))["weight"].to_pylist() == [5.0, 1.0, 5.0]
    assert (len(more.left), more.unchanged) == (1, 1)


WEIGHTED = st.lists(st.tuples(LABELS, LABELS, st.integers(1, 3)), min_size=1, max_size=8)


@given(
    base=WEIGHTED,
    tables=st.lists(st.tuples(WEIGHTED, st.booleans()), min_size=1, max_size=4),
    policy=st.sampled_from(["sum", "max", "first"]),
    differs=st.sampled_from([0, 2, 10**9]),
)
@settings(max_examples=drawn(60), deadline=None)
def test_weights_are_those_of_all_tables_one_after_the_other(base, tables, policy, differs):
    unite = {"sum": lambda a, b: a + b, "max": max, "first": lambda a, b: a}[policy]
    head, how = "user,item,weight", IngestSettings(weight="weight", duplicates=policy)
    store, known = fresh_store("weighted"), {}
    base = [("é", "7x", 1), *base]  # a side of numbers would take no text later
    for u, v, w in base:
        known[u, v] = unite(known[u, v], w) if (u, v) in known else w
    name = ingest(put("base.csv", base, head), store, how).graph
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bicliq.pipeline.stages.extend.DIFFERS", differs)
        for rows, delete in tables:
            left = known.keys() - {(u, v) for u, v, _ in rows}
            if delete and not left:
                continue
            for u, v, w in [] if delete else rows:
                known[u, v] = unite(known[u, v], w) if (u, v) in known else w
            known = {edge: known[edge] for edge in left} if delete else known
            name = extend(store, name, put("t.csv", rows, head), how, delete=delete).record.graph
            assert weights_of(store, name) == known
    whole = write_whole(store, name)
    assert (weights_of(store, whole), store.graph(whole).base()) == (known, None)
    assert write_whole(store, whole) == whole


def weights_of(store, name):
    rows = read_edge_rows(store.graph(name))
    left, right = map(as_list, read_labels(store.graph(name)))
    ends = zip(rows.left, rows.indices, rows.weights.tolist(), strict=True)
    return {(left[u], right[v]): w for u, v, w in ends}


PAIRS = st.tuples(st.integers(0, 6), st.integers(0, 6))


@given(
    st.dictionaries(PAIRS, st.floats(0, 9)),
    st.dictionaries(PAIRS, st.tuples(st.booleans(), st.floats(0, 9))),
    st.booleans(),
)
def test_edges_that_change_are_taken_out_and_joined(known, changes, with_weights):
    left, right = (np.array([edge[side] for edge in sorted(known)], np.int32) for side in (0, 1))
    n_left = int(left.max(initial=-1)) + 1
    weights = np.array([known[edge] for edge in sorted(known)], np.float64) if with_weights else None
    rows = EdgeRows(kernels.row_starts(left, n_left), right, weights)
    ends = (np.array([edge[side] for edge in sorted(changes)], np.int32) for side in (0, 1))
    there, new = (np.array([changes[edge][of] for edge in sorted(changes)]) for of in (0, 1))
    step = ChangedEdges(keys_of(*ends), there.astype(np.bool_), new.astype(np.float64) if with_weights else None)
    found = rows.after(step, 7)
    wanted = {edge: w for edge, w in known.items() if edge not in changes}
    wanted |= {edge: w for edge, (is_there, w) in changes.items() if is_there}
    assert list(zip(found.left.tolist(), found.indices.tolist(), strict=True)) == sorted(wanted)
    assert len(found.indptr) == 8
    if with_weights:
        assert found.weights.tolist() == [wanted[edge] for edge in sorted(wanted)]
    else:
        assert found.weights is None
    every = [(u, v) for u in range(-1, 9) for v in range(-1, 9)]
    places, are_there = found.find(*np.array(every, np.int64).T)
    assert [edge for edge, is_there in zip(every, are_there, strict=True) if is_there] == sorted(wanted)
    inside = [(edge, at) for edge, at in zip(every, places.tolist(), strict=True) if 0 <= edge[0] < 7]
    assert all(at == sum(other < edge for other in wanted) for edge, at in inside)


def test_ends_and_keys_are_the_same_edges():
    left, right = np.array([0, 1, 2**31 - 1], np.int32), np.array([5, 0, 2**31 - 1], np.int32)
    keys = keys_of(left, right)
    assert np.array_equal(ends_of(keys), (left, right))
    assert (np.diff(keys) > 0).all()


def test_a_graph_that_differs_little_is_stored_as_what_differs(monkeypatch):
    store = fresh_store("differs")
    rows = [(f"u{u}", f"v{v}") for u in range(20) for v in range(5)]
    base = ingest(put("base.csv", rows), store).graph
    more = extend(store, base, put("a.csv", [("u0", "new")])).record
    folder = store.graph(more.graph)
    assert [name.split("-")[0].split(".")[0] for name in sorted(folder.files())] == ["changed", "graph", "right_ids"]
    assert (folder.base().place, folder.why_damaged()) == (f"graphs/{base}", None)
    less = extend(store, more.graph, put("b.csv", [("u3", "v3")]), delete=True).record
    assert store.graph(less.graph).base().place == f"graphs/{base}"
    assert len(read_edge_columns(store.graph(less.graph))[0]) == less.n_edges == 100
    many = extend(store, less.graph, put("c.csv", [(f"w{n}", "v0") for n in range(9)])).record
    assert store.graph(many.graph).base() is None
    folder.write("graph.json", replace(folder.record(), n_edges=7))
    with pytest.raises(DamageError, match="is not the graph that it was made of"):
        read_graph(folder)
    store.graph(base).remove(edges_of(store.graph(base)).name)
    assert "it is missing" in store.graph(less.graph).why_damaged()


def test_a_table_of_other_policies_or_without_weights_is_refused():
    store = fresh_store("policies")
    base = ingest(put("p.csv", [("a", "x"), ("b", "x")]), store)
    with pytest.raises(InputError, match=r"duplicates 'max' \(the graph has 'first'\)"):
        extend(store, base.graph, put("q.csv", [("c", "x")]), IngestSettings(duplicates="max"))
    with pytest.raises(InputError, match="the graph has no weights"):
        extend(store, base.graph, put("r.csv", [("c", "x", 1)], "user,item,weight"), IngestSettings(weight="weight"))


def test_a_graph_never_loses_its_last_edge():
    store = fresh_store("last")
    base = ingest(put("l.csv", [("a", "x")]), store)
    with pytest.raises(InputError, match="no edge of the graph would be left"):
        extend(store, base.graph, put("m.csv", [("a", "x")]), delete=True)
    assert store.graphs() == [base.graph]


def test_edges_are_taken_from_a_graph_with_weights_by_a_table_without():
    store = fresh_store("lighter")
    base = ingest(
        put("g.csv", [("a", "x", 2), ("b", "x", 1)], "user,item,weight"), store, IngestSettings(weight="weight")
    )
    less = extend(store, base.graph, put("h.csv", [("b", "x")]), delete=True)
    folder = store.graph(less.record.graph)
    assert folder.read_table(edges_of(folder))["weight"].to_pylist() == [2.0]
