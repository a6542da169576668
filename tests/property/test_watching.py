"""Files that arrive, change and are taken anew, against a run of all files as they are."""

from __future__ import annotations

import itertools

import fsspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bicliq import kernels
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import (
    ClusterSettings,
    IngestSettings,
    PlanSettings,
    SearchSettings,
    Settings,
    parse_duration,
)
from bicliq.pipeline.stages.verify import verify
from bicliq.pipeline.store.edges import read_edge_rows
from bicliq.pipeline.store.labels import read_labels
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.versions.difference import Difference, Step
from bicliq.pipeline.versions.watch import Watch
from tests.heard_disk import SHARES, killed_on_the_way
from tests.nightly import drawn
from tests.property.test_versions import by_force, read_back
from tests.reference.brute_force import maximal_bicliques, passing

PLACE = "heard://watching"
LABELS = st.sampled_from([*"abcdefg", "10", "9", "é"])
ROW = st.tuples(LABELS, LABELS, st.integers(0, 30), st.integers(1, 4))
ROWS = st.lists(ROW, min_size=1, max_size=9).map(lambda rows: [(*rows[0][:3], 4), *rows[1:]])
"""Left and right label, time and weight; a file of which nothing is left would be refused."""

KEPT = {
    "no window": {},
    "a window": {"window": "8"},
    "weights of a window": {"window": "0.2m", "weight": "n", "duplicates": "sum", "min_weight": 2},
    "first weights": {"window": "8s", "weight": "n"},
    "largest weights": {"weight": "n", "duplicates": "max"},
}
"""Settings of the input."""


def put(name, rows):
    with fsspec.open(f"{PLACE}/{name}", "w") as file:
        file.write("\n".join(["user,item,when,n", *(",".join(map(str, row)) for row in rows)]) + "\n")
    return f"{PLACE}/{name}"


def stored_rows(opened):
    """Edges of a run's graph with their weights, and the rows of its window, by labels."""
    graph = opened.store.graph(opened.manifest.graph)
    labels = [list(map(str, ids.to_pylist())) for ids in read_labels(graph)]
    edges = read_edge_rows(graph)
    found = [{"left": edges.left, "right": edges.indices}]
    if edges.weights is not None:
        found[0]["weight"] = edges.weights
    if "rows.parquet" in graph.record().named:
        found.append(graph.read_table(graph.record().named["rows.parquet"]).to_pydict())
    for columns in found:
        for ids, side in zip(labels, ("left", "right"), strict=True):
            columns[side] = [ids[at] for at in columns[side]]
    return [sorted(zip(*(columns[name] for name in sorted(columns)), strict=True)) for columns in found]


class Arrivals(RuleBasedStateMachine):
    """Files come, change, and wait for others; every version is what a run of all of them gives."""

    @initialize(
        rows=ROWS,
        least=st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 4)),
        side=st.sampled_from(["left", "right"]),
        kept=st.sampled_from(sorted(KEPT)),
    )
    def begin(self, rows, least, side, kept):
        fs = fsspec.filesystem("heard")
        if fs.exists("/watching"):
            fs.rm("/watching", recursive=True)
        self.least, self.files, self.taken, self.held = least, {}, {}, []
        asked = dict(zip(("min_left", "min_right", "min_edges"), least, strict=True))
        self.settings = Settings(
            store=f"{PLACE}/store",
            ingest=IngestSettings(left="user", right="item", time="when", window_jump="inf", **KEPT[kept]),
            search=SearchSettings(side=side, threads=1, **asked),
            plan=PlanSettings(partitions=2),
            cluster=ClusterSettings(local=True),
        )
        self.arrive([*rows, ("é", "é", *rows[0][2:])])  # a side of numbers would take no text later
        self.look()

    @rule(rows=ROWS)
    def arrive(self, rows):
        name = f"{len(self.files)}.csv"
        self.files[name] = rows
        put(f"in/{name}", rows)

    @rule(data=st.data(), rows=ROWS)
    def change(self, data, rows):
        name = data.draw(st.sampled_from(sorted(self.files)))
        self.files[name] = rows
        put(f"in/{name}", rows)

    @rule()
    def look(self):
        assert [uri.rsplit("/", 1)[-1] for uri in self.watched().files] == self.new()
        self.hold_all()

    def watched(self):
        return Watch(f"{PLACE}/in", self.settings, replace=True, settle=0).take()

    def new(self):
        return sorted(name for name in self.files if self.files[name] != self.taken.get(name))

    def hold_all(self):
        new = self.new()
        self.taken = {name: rows for name, rows in self.taken.items() if name not in new}
        self.taken |= {name: self.files[name] for name in new}
        self.held = [row for rows in self.taken.values() for row in rows]

    @precondition(lambda self: self.held)
    @rule(share=SHARES)
    def be_killed_and_look_again(self, share):
        killed_on_the_way(self.watched, share)
        self.watched()
        self.hold_all()

    @invariant()
    def the_latest_is_what_a_run_of_all_files_gives(self):
        opened = open_run(self.settings.store)
        asked = self.settings.ingest
        rows = [row for row in self.held if row[3] >= (asked.min_weight or 0)]
        if asked.window is not None:
            first = max(row[2] for row in rows) - parse_duration(asked.window)
            rows = [row for row in rows if row[2] >= first]
        assert read_back(opened) == by_force({row[:2] for row in rows}, self.least)
        whole = run(put("all.csv", self.held), self.settings.model_copy(update={"store": f"{PLACE}/scratch"}))
        assert (opened.manifest.digest, opened.manifest.bicliques) == (whole.digest, whole.bicliques)
        assert stored_rows(opened) == stored_rows(open_run(f"{PLACE}/scratch", whole.run))

    def teardown(self):
        if getattr(self, "held", None):
            store = Store.open(self.settings.store)
            for name in store.runs():
                found = verify(store, name)
                assert found.ok, found.problems


Arrivals.TestCase.settings = settings(max_examples=drawn(90), stateful_step_count=8, deadline=None)
TestArrivals = Arrivals.TestCase


EDGES = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=16)


@settings(deadline=None)
@given(before=EDGES, after=EDGES, least=st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 4)))
def test_edges_that_come_and_go_at_once_change_what_differs(before, after, least):
    def found(edges):
        return {(frozenset(a), frozenset(b)) for a, b in passing(maximal_bicliques(sorted(edges), 5), *least)}

    def lists(of):
        sides = [
            [frozenset(members[a:b].tolist()) for a, b in itertools.pairwise(offsets)]
            for offsets, members in ((of.left_offsets, of.left), (of.right_offsets, of.right))
        ]
        pairs = list(zip(*sides, strict=True))
        assert len(pairs) == len(set(pairs))
        return set(pairs)

    def step(edges, changed, delete):
        graph = BipartiteGraph.from_edges(*ends(edges), 5, 5)
        asked = dict(zip(("min_left", "min_right", "min_edges"), least, strict=True))
        return Step(graph, "in memory", ends(changed), delete, asked)

    difference = Difference([step(before, before - after, True), step(after, after - before, False)])
    changes = difference.find(lambda step, search: search.find())
    assert isinstance(changes, kernels.Changes)
    assert lists(changes.appeared) == found(after) - found(before)
    assert lists(changes.vanished) == found(before) - found(after)


def ends(edges):
    pairs = np.array(sorted(edges), np.int32).reshape(-1, 2)
    return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
