"""Versions made by updates, one after the other, against the bicliques of all edges by force."""

import itertools
import pickle
from dataclasses import replace
from functools import partial

import fsspec
import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from bicliq.pipeline.results.bicliques import Bicliques
from bicliq.pipeline.results.changes import changes_between
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import (
    ClusterSettings,
    PlanSettings,
    PublishSettings,
    SearchSettings,
    Settings,
    VersionSettings,
)
from bicliq.pipeline.stages.verify import verify
from bicliq.pipeline.stages.verify_roots import EVERY_ROOT
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.manifest import ran_on
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.versions.compact import compact
from bicliq.pipeline.versions.layer import MOST
from bicliq.pipeline.versions.portions import FOUND_A_PORTION, Found, SharedSearch
from bicliq.pipeline.versions.prune import prune
from bicliq.pipeline.versions.update import update
from tests.heard_disk import SHARES, killed_on_the_way
from tests.nightly import drawn
from tests.reference.brute_force import maximal_bicliques, passing

LABELS = st.sampled_from([*"abcdefg", "10", "9", "é"])
TABLES = st.sets(st.tuples(LABELS, LABELS), min_size=1, max_size=14)
PLACE = "heard://versions"


def put(name, rows):
    with fsspec.open(f"{PLACE}/{name}", "w") as file:
        file.write("\n".join(["user,item", *(",".join(row) for row in sorted(rows))]) + "\n")
    return f"{PLACE}/{name}"


def by_force(edges, least):
    """Pairs of frozen sets of labels."""
    left, right = (sorted({edge[side] for edge in edges}) for side in (0, 1))
    dense = sorted((left.index(u), right.index(v)) for u, v in edges)
    return {
        (frozenset(left[u] for u in some), frozenset(right[v] for v in others))
        for some, others in passing(maximal_bicliques(dense, len(left)), *least)
    }


def read_back(opened):
    rows = Bicliques(opened).to_arrow().to_pylist()
    found = [tuple(frozenset(map(str, row[side])) for side in ("left", "right")) for row in rows]
    assert len(set(found)) == len(found)
    assert len({row["biclique_id"] for row in rows}) == len(rows)
    return set(found)


def in_portions(portions, difference, folder, placement, way, *_):
    """Search what changes as the workers of a cluster do, in this process."""
    shared = SharedSearch(None, folder, placement, replace(way, found=portions * FOUND_A_PORTION))
    changes = difference.find(shared.find)
    assert not [name for name in folder.files("changes") if name.endswith(".arrow")]
    return Found(changes, ran_on(shared.backends), shared.threads, 0)


class Versions(RuleBasedStateMachine):
    """Insertions, deletions, compactions, prunings, kills: a version is what a run would give."""

    @initialize(
        rows=TABLES,
        least=st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 4)),
        partitions=st.integers(1, 3),
        side=st.sampled_from(["left", "right"]),
        columns=st.sampled_from(["both", "smaller"]),
        heavy=st.sampled_from([0.0, 0.5, float("inf")]),
        differs=st.sampled_from([0, 2, 10**9]),
        portions=st.sampled_from([None, 1, 3, 1000]),
        folded=st.sampled_from([0, 4, 10**9]),
        layers=st.sampled_from([2, 32]),
        grouped=st.sampled_from([1, 3, 1 << 16]),
        merged=st.sampled_from([1e-9, float("inf")]),
    )
    def begin(self, rows, least, partitions, side, columns, heavy, differs, portions, folded, layers, grouped, merged):
        fs = fsspec.filesystem("heard")
        if fs.exists("/versions"):
            fs.rm("/versions", recursive=True)
        rows = rows | {("é", "é")}  # a side of numbers would take no text later
        self.least, self.edges, self.files = least, set(rows), 0
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr("bicliq.pipeline.versions.compact.LIGHT", 0)
        self.patch.setattr("bicliq.pipeline.versions.compact.MERGED_A_SECOND", merged)  # else it is searched
        self.patch.setattr("bicliq.pipeline.stages.extend.DIFFERS", differs)
        self.patch.setattr(
            "bicliq.pipeline.versions.layer.FOLDED_ROWS", folded
        )  # layers above hold smaller sides alone
        self.patch.setattr("bicliq.pipeline.versions.layer.MOST_LAYERS", layers)
        self.patch.setitem(MOST, "most_rows", grouped)  # row groups are packed as their rows are found
        if portions is not None:
            self.patch.setattr("bicliq.pipeline.versions.update.find_changes", partial(in_portions, portions))
        asked = dict(zip(("min_left", "min_right", "min_edges"), least, strict=True))
        self.settings = Settings(
            store=f"{PLACE}/store",
            search=SearchSettings(side=side, threads=1, **asked),
            plan=PlanSettings(partitions=partitions),
            publish=PublishSettings(columns=columns),
            versions=VersionSettings(compact_share=heavy),
            cluster=ClusterSettings(local=True),
        )
        self.latest = run(put("base.csv", rows), self.settings).run
        self.known = {self.latest: by_force(self.edges, least)}

    def table(self, rows):
        self.files += 1
        return put(f"{self.files}.csv", rows)

    def take(self, source, edges, *, delete=False):
        before = self.known[self.latest]
        found = update(source, self.settings, delete=delete)
        self.edges = edges
        after = by_force(edges, self.least)
        if found.how == "changes":
            assert found.parent == self.latest
            assert (found.appeared, found.vanished) == (len(after - before), len(before - after))
        self.known[found.version] = after
        self.latest = found.compacted or found.version
        self.known[self.latest] = after
        return found

    @rule(rows=TABLES)
    def insert(self, rows):
        found = self.take(self.table(rows), self.edges | rows)
        assert found.edges + found.unchanged == len(rows) if found.how == "changes" else found.edges == 0

    @precondition(lambda self: len(self.edges) > 1)
    @rule(data=st.data())
    def delete(self, data):
        some = data.draw(st.sets(st.sampled_from(sorted(self.edges)), min_size=1, max_size=len(self.edges) - 1))
        self.take(self.table(some), self.edges - some, delete=True)

    @rule(rows=TABLES)
    def search_whole(self, rows):
        with pytest.MonkeyPatch.context() as patch:
            for name in ("FEW_PATHS", "FEW"):
                patch.setattr(f"bicliq.pipeline.versions.way.{name}", -1)
            patch.setattr("bicliq.pipeline.versions.way.PRICE", 10**9)
            self.take(self.table(rows), self.edges | rows)

    @rule(rows=TABLES)
    def find_more_than_was_expected(self, rows):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("bicliq.pipeline.versions.way.FEW_PATHS", -1)
            patch.setattr("bicliq.pipeline.versions.way.GIVEN_UP", 0)
            found = self.take(self.table(rows), self.edges | rows)
        assert found.how in ("full run", "nothing", "taken") or found.appeared == 0

    @rule(rows=TABLES, share=SHARES)
    def be_killed_and_do_it_again(self, rows, share):
        source, latest = self.table(rows), self.latest
        killed_on_the_way(lambda: update(source, self.settings), share)  # a version may be written whole, too
        # made the latest before its commit it would be the same: readers pass such an entry over
        opened = open_run(self.settings.store)
        assert opened.run == latest or read_back(opened) == by_force(self.edges | rows, self.least)
        self.take(source, self.edges | rows)
        opened = open_run(self.settings.store)
        if opened.folder.record().compacts == self.latest:  # it was written whole before, and killed after that
            self.known[opened.run], self.latest = self.known[self.latest], opened.run

    @rule(data=st.data(), share=SHARES)
    def compact_a_version(self, data, share):
        name = data.draw(st.sampled_from([self.latest, *sorted(self.known)]))
        store, latest = Store.open(self.settings.store), self.latest
        killed_on_the_way(lambda: compact(store, name), share)
        assert read_back(open_run(store)) == self.known[latest]
        found = compact(store, name)
        assert found.version == name
        assert store.run(found.run).record().layered is None
        self.known[found.run] = self.known[name]
        if name == latest:
            self.latest = found.run
        assert compact(store, found.run).run == found.run

    @rule(keep=st.integers(1, 3), share=SHARES)
    def prune_the_store(self, keep, share):
        store = Store.open(self.settings.store)
        listed = prune(store, keep).removed
        removed = []
        killed_on_the_way(lambda: removed.append(prune(store, keep, remove=True).removed), share)
        assert removed[0] == listed
        assert prune(store, keep, remove=True).done
        assert prune(store, keep).removed == []
        self.known = {run: self.known[run] for run in self.known if run in store.runs()}
        assert self.latest in self.known

    @precondition(lambda self: self.files)
    @rule()
    def take_the_last_file_again(self):
        source = f"{PLACE}/again.csv"
        put("again.csv", self.edges)
        first = update(source, self.settings)
        second = update(source, self.settings)
        assert first.how in ("nothing", "taken")  # the same file may have been taken before
        assert second.how == "taken"
        latest = Store.open(self.settings.store).run(self.latest).record()
        assert second.version in (self.latest, latest.compacts)  # or the version that it is, written whole

    @invariant()
    def the_latest_is_what_a_run_would_give(self):
        opened = open_run(self.settings.store)
        assert opened.run == self.latest
        assert read_back(opened) == self.known[self.latest]
        scratch = self.settings.model_copy(update={"store": f"{PLACE}/scratch"})
        whole = run(put("all.csv", self.edges), scratch)
        assert (opened.manifest.digest, opened.manifest.bicliques) == (whole.digest, whole.bicliques)
        other = open_run(f"{PLACE}/scratch", whole.run)
        assert opened.manifest.left_histogram == other.manifest.left_histogram
        largest, wanted = (found.manifest.largest for found in (opened, other))
        assert largest == wanted or replace(largest, partition=0) == replace(wanted, partition=0)
        for by, size in (("edges", "n_edges"), ("left", "n_left"), ("right", "n_right")):
            assert opened.top(4, by)[size].to_pylist() == other.top(4, by)[size].to_pylist()
        assert len(opened.top(1000)) == opened.manifest.bicliques
        assert opened.folder.record().publish == self.settings.publish
        assert opened.sizes() == other.sizes()
        for sizes in ({"min_left": 2}, {"max_right": 1, "min_edges": 2}, {"with_left": [min(self.edges)[0]]}):
            chosen = Bicliques(opened).where(**sizes)
            assert len(chosen) == chosen.to_arrow().num_rows == len(Bicliques(other).where(**sizes))
        surprising = Bicliques(opened).where(min_surprise=1.0)
        assert len(surprising) == surprising.to_arrow().num_rows
        assert verify(Store.open(self.settings.store), opened.run, roots=EVERY_ROOT).problems == []

    def differences(self):
        """Every version beside the one before, the first beside the last, and backwards."""
        names = list(self.known)
        pairs = [*itertools.pairwise(names), (names[0], names[-1]), (names[-1], names[0])]
        for before, after in pairs:
            changes = changes_between(open_run(self.settings.store, after), before)
            came, went = self.known[after] - self.known[before], self.known[before] - self.known[after]
            for kind, wanted, others in (("appeared", came, went), ("vanished", went, came)):
                rows = changes.top(kind, 1000)
                found = [tuple(frozenset(map(str, row[side])) for side in ("left", "right")) for row in rows]
                assert (len(found), set(found)) == (len(wanted), wanted)
                assert changes.count(kind) == len(wanted)
                self.counterparts(kind, rows, others)

    def counterparts(self, kind, rows, others):
        """What each group was or became, by all pairs."""
        for row in rows:
            own = tuple(frozenset(map(str, row[side])) for side in ("left", "right"))
            shared = {other: len(own[0] & other[0]) * len(own[1] & other[1]) for other in others}
            most = max(shared.values(), default=0)
            if not most:
                assert (row["other"], row["how"]) == (None, {"appeared": "new", "vanished": "gone"}[kind])
                continue
            found = tuple(frozenset(map(str, row["other"][side])) for side in ("left", "right"))
            assert shared[found] == row["other"]["shared_edges"] == most
            holds = [all(a >= b for a, b in zip(*pair, strict=True)) for pair in ((own, found), (found, own))]
            ways = ("grown", "shrunk") if kind == "appeared" else ("shrunk", "grown")
            assert row["how"] == next((way for way, held in zip(ways, holds, strict=True) if held), "overlapping")

    def teardown(self):
        if not hasattr(self, "known"):
            return
        self.patch.undo()
        self.differences()
        for version, bicliques in self.known.items():
            assert read_back(open_run(self.settings.store, version)) == bicliques
            found = verify(Store.open(self.settings.store), version)
            assert found.ok, found.problems
            assert found.bicliques == len(bicliques)


Versions.TestCase.settings = settings(max_examples=drawn(60), stateful_step_count=6, deadline=None)
TestVersions = Versions.TestCase


@pytest.mark.parametrize("columns", ["both", "smaller"])
def test_readers_of_every_kind_see_one_version(columns):
    settings = Settings(
        store=f"{PLACE}/readers-{columns}",
        cluster=ClusterSettings(local=True),
        plan=PlanSettings(partitions=2),
        publish=PublishSettings(columns=columns),
    )
    run(put("r.csv", [(u, v) for u in "abcde" for v in "vwxyz" if u + v not in ("av", "bw", "cx", "dy")]), settings)
    update(put("r1.csv", [("a", "v"), ("f", "v"), ("f", "w")]), settings)
    update(put("r2.csv", [("e", "z")]), settings, delete=True)
    opened = open_run(settings.store)
    wanted = read_back(opened)
    tables = [
        opened.table(),
        opened.dataset().to_table(),
        pa.concat_tables(map(opened.read_partition, opened.partitions)),
    ]
    tables.append(pa.Table.from_pandas(opened.to_dask().compute(scheduler="sync")))
    parts = pickle.loads(pickle.dumps(opened.parts))  # as another process gets them, after they were read
    tables.append(pa.concat_tables(part.read() for part in parts.values()))
    assert [table.num_rows for table in tables] == [len(wanted)] * 5
    assert tables[-1].equals(opened.table(ids=False))
    assert tables[1].select(tables[-1].schema.names).equals(tables[-1])
    assert opened.dataset().count_rows() == opened.count(Bicliques(opened).choice) == len(wanted)
    big = Bicliques(opened).where(min_left=3, with_right=["w"])
    assert len(big) == big.to_arrow().num_rows == sum(len(a) >= 3 and "w" in b for a, b in wanted)
