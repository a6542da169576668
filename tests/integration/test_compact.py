"""`bicliq compact` and `bicliq prune`: versions written whole, and runs that nobody keeps."""

from __future__ import annotations

import datetime as dt
import json
import os

import numpy as np
import pyarrow.parquet as pq
import pytest

from bicliq.flows.cli.app import invoke
from bicliq.pipeline.errors import DamageError, InputError
from bicliq.pipeline.repair import repair
from bicliq.pipeline.results.changes import changes_between
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.stages.extend import extended_plan
from bicliq.pipeline.stages.plan import plan
from bicliq.pipeline.stages.planned import Plan, read_plan
from bicliq.pipeline.stages.verify import StoreVerification, verify_store
from bicliq.pipeline.store.inventory import forgotten
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.records import Pruned
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.store.versions import net_changes
from bicliq.pipeline.versions.compact import CompactRecord, compact, compact_id, why_heavy
from bicliq.pipeline.versions.prune import PruneRecord, Removed, parse_age, prune
from bicliq.pipeline.versions.update import update
from tests.integration.killed import killed
from tests.integration.stored_graphs import copied, put_graph, random_graph
from tests.nightly import part_of
from tests.real_graphs import DATA
from tests.system_calls import OPENS, REMOVES, heard, once, read_below

HERE = {"cluster": {"local": True}}
SHOP = [("ann", "jam"), ("ann", "tea"), ("bob", "jam"), ("bob", "tea"), ("cid", "tea")]


def csv(path, rows):
    path.write_text("\n".join(["user,item", *(",".join(map(str, row)) for row in rows)]) + "\n")
    return str(path)


def said(capsys, *arguments):
    capsys.readouterr()
    assert invoke([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture(params=["merged", "searched"])
def way(request, monkeypatch):
    """What is written whole is merged from files, or searched."""
    seldom = {"merged": float("inf"), "searched": 1e-9}[request.param]
    monkeypatch.setattr("bicliq.pipeline.versions.compact.MERGED_A_SECOND", seldom)
    return request.param


@pytest.fixture(scope="module")
def first_shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    settings = load_settings(store=str(folder / "store"), ingest={"left": "user", "right": "item"}, **HERE)
    run(csv(folder / "base.csv", SHOP), settings)
    return load_settings(store=settings.store, **HERE)


@pytest.fixture
def shop(tmp_path, first_shop):
    return copied(first_shop, tmp_path)


@pytest.fixture(scope="module")
def first_forum(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("forum")
    edges = pq.read_table(DATA / "UCforum.parquet")
    order = np.random.default_rng(5).permutation(len(edges))
    for name, rows in (("base", order[40:]), ("new", order[:40]), ("old", order[100:130])):
        pq.write_table(edges.take(rows), tmp_path / f"{name}.parquet")
    settings = load_settings(
        store=str(tmp_path / "store"), plan={"partitions": 3}, search={"min_left": 2, "min_right": 2}, **HERE
    )
    run(str(tmp_path / "base.parquet"), settings)
    update(str(tmp_path / "new.parquet"), settings)
    update(str(tmp_path / "old.parquet"), settings, delete=True)
    return settings


@pytest.fixture
def forum(tmp_path, first_forum):
    """UCforum in three partitions, and a version of it that took edges and lost others."""
    return copied(first_forum, tmp_path)


def test_a_version_written_whole_is_a_run_like_any_other(forum, way, capsys):
    before = open_run(forum.store)
    record = said(capsys, "compact", "--store", forum.store)
    assert record["how"] == way
    assert (record["version"], record["digest"]) == (before.run, before.manifest.digest)
    after = open_run(forum.store)
    assert (after.run, after.manifest.digest) == (record["run"], before.manifest.digest)
    assert after.manifest.largest.n_edges == before.manifest.largest.n_edges
    assert sorted(after.table().to_pylist(), key=str) == sorted(before.table().to_pylist(), key=str)
    assert after.manifest.created == before.manifest.created
    assert after.folder.record().layered is None
    assert verify_store(after.store).problems == []
    assert invoke(["verify", after.run, "--store", forum.store]) == 0
    again = compact(after.store, record["version"])
    assert isinstance(again, CompactRecord)
    assert (again.run, again.written) == (record["run"], 0)
    assert compact(after.store).run == record["run"]
    assert invoke(["compact", "--store", forum.store]) == 0
    assert "nothing to do" in capsys.readouterr().out
    assert compact_id(record["version"]) == record["run"]


@pytest.mark.usefixtures("way")
def test_what_is_damaged_of_a_version_written_whole_is_searched_again(forum):
    found = compact(Store.open(forum.store))
    folder = Store.open(forum.store).run(found.run)
    commit = folder.committed()[1]
    with open(folder.path_of(commit.file), "ab") as file:
        file.write(b"x")
    assert invoke(["verify", "--repair", "--store", forum.store]) == 0
    assert open_run(forum.store).manifest.digest == found.digest
    assert verify_store(folder.store).problems == []


@pytest.mark.usefixtures("way")
def test_the_next_update_goes_on_from_a_version_written_whole(tmp_path, shop, capsys):
    new = csv(tmp_path / "new.csv", [("cid", "jam"), ("dan", "rum")])
    first = update(new, shop)
    found = compact(Store.open(shop.store))
    assert update(new, shop).how == "taken"
    changed = changes_between(open_run(shop.store))
    assert (changed.count("appeared"), changed.count("vanished")) == (first.appeared, first.vanished)
    second = update(csv(tmp_path / "more.csv", [("dan", "tea")]), shop)
    assert second.parent == found.run
    listed = said(capsys, "runs", "--store", shop.store)["runs"]
    assert [entry["compacts"] for entry in listed] == [None, None, first.version, None]
    assert invoke(["runs", "--store", shop.store]) == 0
    assert f"{first.version} written whole" in capsys.readouterr().out
    assert verify_store(Store.open(shop.store)).problems == []


def test_an_earlier_version_written_whole_is_not_the_latest(tmp_path, shop):
    first = update(csv(tmp_path / "a.csv", [("cid", "jam")]), shop)
    second = update(csv(tmp_path / "b.csv", [("dan", "jam")]), shop)
    compact(Store.open(shop.store), first.version)
    assert open_run(shop.store).run == second.version


def test_heavy_layers_are_written_whole_and_said(tmp_path, shop, monkeypatch, capsys):
    monkeypatch.setattr("bicliq.pipeline.versions.compact.LIGHT", 0)
    rows = [("cid", "jam"), ("dan", "rum")]
    assert update(csv(tmp_path / "a.csv", [("zoe", "tea")]), shop).compacted is not None
    light = shop.model_copy(update={"versions": shop.versions.model_copy(update={"compact_share": float("inf")})})
    found = update(csv(tmp_path / "b.csv", rows), light)
    assert found.compacted is None
    assert why_heavy(Store.open(shop.store), open_run(shop.store).folder.record(), 0.0)
    record = said(capsys, "update", csv(tmp_path / "c.csv", [("eve", "jam")]), "--store", shop.store,
                  "--compact-share", "0.1")  # fmt: skip
    assert record["compacted"] == open_run(shop.store).run
    assert "bicliques changed since its base was searched" in record["reason"]
    assert record["digest"] == open_run(shop.store).manifest.digest
    assert "compact" in record["seconds"]


def test_only_what_is_published_is_written_whole(tmp_path):
    store = Store.open(tmp_path / "store")
    planned = plan(store, put_graph(store, random_graph(3)), *(load_settings().search, load_settings().plan))
    with pytest.raises(InputError, match="only a published run"):
        compact(store, planned.run)


def test_a_damaged_version_is_not_published_whole(forum, way):
    version = open_run(forum.store)
    path = version.folder.path_of("changes/vanished.parquet")
    with open(path, "r+b") as file:
        file.seek(8)
        file.write(b"xxxx")
    if way == "searched":  # no file of the version is read, and what is found has its digest
        found = compact(version.store)
        assert (found.digest, len(open_run(version.store).table())) == (version.manifest.digest, found.bicliques)
        return
    with pytest.raises(DamageError, match="checksum"):
        compact(version.store)
    assert open_run(forum.store).run == version.run


COMPACT = """
from bicliq.pipeline.versions.compact import compact
compact(Store.open(given[0], create=False))
"""
PRUNE = """
from bicliq.pipeline.versions.prune import prune
from tests.system_calls import OPENS, REMOVES, heard, once, read_below
prune(Store.open(given[0], create=False), 1, remove=True)
"""


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("at", part_of([1, 2, 5, 7, 9], 2))
def test_a_compaction_that_is_killed_leaves_the_version_and_goes_on(forum, at):
    before = open_run(forum.store)
    killed(COMPACT, forum.store, folder="Folder", method="sink", at=at)
    store = Store.open(forum.store)
    assert open_run(forum.store).run == before.run
    assert verify_store(store).problems == []
    found = compact(store)
    assert (found.digest, found.written) == (before.manifest.digest, 3 if at < 9 else found.written)
    assert open_run(forum.store).run == found.run
    assert verify_store(store).problems == []


def test_a_plan_goes_on_for_a_later_graph_in_the_same_order():
    from bicliq.pipeline.graphs.bipartite import BipartiteGraph

    before = BipartiteGraph.from_edges([0, 0, 1, 2], [0, 1, 1, 1], 3, 2)
    known = Plan("left", np.array([1, 2, 0], np.int32), np.zeros(3, np.int64), np.array([0, 0, 1], np.int32))
    assert extended_plan(known, before).roots.tolist() == [1, 2, 0]
    later = BipartiteGraph.from_edges([0, 2, 4, 3], [1, 1, 1, 0], 5, 2)
    found = extended_plan(known, later)
    assert (found.roots.tolist(), found.partition.tolist()) == ([2, 0, 3, 4], [0, 1, 2, 2])


def test_changes_of_several_updates_add_up(forum):
    layers = next(part.later for part in open_run(forum.store).parts.values() if part.base is not None)
    steps = [(layer.appeared(), layer.vanished()) for layer in layers]
    came, went = net_changes(steps)
    back = net_changes([*steps, *((vanished, appeared) for appeared, vanished in reversed(steps))])
    assert (came.num_rows > 0, went.num_rows > 0, [table.num_rows for table in back]) == (True, True, [0, 0])


# ---- prune ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def first_history(tmp_path_factory, first_shop):
    folder = tmp_path_factory.mktemp("history")
    shop = copied(first_shop, folder)
    return shop, [update(csv(folder / f"{n}.csv", [(f"u{n}", "jam"), (f"u{n}", "tea")]), shop) for n in range(5)]


@pytest.fixture
def history(tmp_path, first_history):
    """A run and five versions of it, one after the other."""
    settings, versions = first_history
    return copied(settings, tmp_path), versions


def test_what_would_go_is_listed_and_nothing_removed(history, capsys):
    settings, versions = history
    compact(Store.open(settings.store))
    runs = Store.open(settings.store).runs()
    record = said(capsys, "prune", "--keep-last", "1", "--store", settings.store)
    assert not record["done"]
    assert {one["what"] for one in record["removed"] if one["what"].startswith("runs/")} == {
        f"runs/{run}" for run in runs if run != open_run(settings.store).run
    }
    assert record["bytes"] == sum(one["bytes"] for one in record["removed"]) > 0
    assert Store.open(settings.store).runs() == runs
    assert invoke(["prune", "--keep-last", "1", "--store", settings.store]) == 0
    assert "nothing was removed; --yes removes" in capsys.readouterr().out
    assert len(versions) == 5


def test_what_a_kept_version_stands_on_stays(history, capsys):
    settings, versions = history
    store, latest = Store.open(settings.store), open_run(settings.store)
    wanted = sorted(latest.table().to_pylist(), key=str)
    asked = latest.folder.record()
    found = prune(store, 1, remove=True)
    assert isinstance(found, PruneRecord)
    assert all(isinstance(one, Removed) for one in found.removed)
    assert set(store.runs()) == {asked.base, *asked.layers}
    assert sorted(open_run(settings.store).table().to_pylist(), key=str) == wanted
    assert verify_store(store).problems == []
    with pytest.raises(InputError, match="was pruned"):
        changes_between(open_run(settings.store))
    whole = compact(store)
    assert prune(store, 1, remove=True).removed
    assert store.runs() == [whole.run]
    assert sorted(open_run(settings.store).table().to_pylist(), key=str) == wanted
    assert len(store.graphs()) <= 2
    assert verify_store(store).problems == []
    assert invoke(["prune", "--keep-last", "1", "--yes", "--store", settings.store]) == 0
    assert "nothing to remove" in capsys.readouterr().out
    assert update(versions[4].sources[0], settings).how == "taken"
    assert len(versions) == 5


def test_young_runs_stay_whatever_their_number(history):
    settings, _ = history
    store = Store.open(settings.store)
    assert prune(store, 1, dt.timedelta(days=1)).removed == []
    assert prune(store, None, dt.timedelta(0)).removed
    with pytest.raises(InputError, match="say what to keep"):
        prune(store)
    with pytest.raises(InputError, match="at least one"):
        prune(store, 0)


def test_runs_of_other_tables_and_questions_are_families_of_their_own(tmp_path, history):
    settings, _ = history
    compact(Store.open(settings.store))
    other = run(csv(tmp_path / "other.csv", SHOP[:3]), settings)
    strict = settings.model_copy(update={"search": settings.search.model_copy(update={"min_left": 2})})
    question = run(str(tmp_path / "other.csv"), strict)
    store = Store.open(settings.store)
    prune(store, 1, remove=True)
    assert {other.run, question.run} < set(store.runs())
    assert len(store.runs()) == 3


def test_a_run_at_work_is_never_removed(history):
    settings, versions = history
    store = Store.open(settings.store)
    compact(store)
    at_work = versions[0].parent
    with store.run(at_work).claim_run("share"):
        found = prune(store, 1, remove=True)
    assert found.kept[at_work] == "at work"
    assert at_work in store.runs()


@pytest.mark.parametrize("place", ["/runs/{latest}/bicliques/", "edges.parquet"])
@pytest.mark.parametrize("asked", [verify_store, lambda store: repair(store, load_settings(store=store.uri))])
def test_what_a_prune_removes_while_it_is_read_is_no_damage(history, asked, place):
    store = Store.open(history[0].store)
    latest = compact(store).run

    with once(OPENS, place.format(latest=latest), lambda: prune(store, 1, remove=True)) as pruned:
        found = asked(store)
    assert pruned
    if isinstance(found, StoreVerification):
        assert (found.problems, found.leftovers) == ([], [])
        assert [one.run for one in found.runs] == [latest]
    else:
        assert not any("cannot be mended" in said or "again" in said.split(";")[0] for said in found), found
    assert store.runs() == [latest]
    checked = verify_store(store)
    assert (checked.problems, checked.leftovers) == ([], [])


@pytest.mark.parametrize("at", part_of([2, 3, 4, 5, 7], 2))
def test_what_a_killed_prune_leaves_is_no_damage_and_goes_with_the_next(history, at):
    settings, _ = history
    store = Store.open(settings.store)
    latest = compact(store).run
    killed(PRUNE, settings.store, folder="Folder", method="remove", at=at)
    assert verify_store(store).problems == []
    assert open_run(settings.store).run == latest
    prune(store, 1, remove=True)
    assert (store.runs(), verify_store(store).problems, forgotten(store)) == ([latest], [], [])
    assert {path.split("/")[1] for path in store.root.files("runs")} == {latest}


@pytest.mark.parametrize("at", [9, 11])
def test_no_graph_outlives_what_it_is_made_of(forum, at):
    """The versions went, a kill, and then the run that they stood on, with its graph."""
    store = Store.open(forum.store)
    latest = compact(store).run
    assert any(store.graph(graph).record().base for graph in store.graphs())
    killed(PRUNE, forum.store, folder="Folder", method="remove", at=at)
    assert verify_store(store).problems == []
    prune(store, 1, remove=True)
    assert (store.runs(), verify_store(store).problems) == ([latest], [])


@pytest.mark.parametrize("back", [1, 2])
def test_the_graphs_of_a_prune_that_was_cut_off_go_with_the_next(forum, back):
    """All runs of them had gone, so that no run tells of them."""
    store = Store.open(forum.store)
    latest = compact(store).run
    doomed = [one.what for one in prune(store, 1).removed if one.what.startswith("graphs/")]
    assert doomed

    def cut_off(event, path):
        if event == REMOVES and any(f"/{graph}/" in path for graph in doomed[-back:]):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), heard(cut_off):
        prune(store, 1, remove=True)
    assert verify_store(store).problems == []
    prune(store, 1, remove=True)
    needed = store.run(latest).record().graph
    base = store.graph(needed).record().base or needed
    assert (store.runs(), set(store.graphs())) == ([latest], {needed, base})
    assert verify_store(store).problems == []


def test_a_run_that_a_prune_had_marked_and_the_next_keeps_is_whole(forum):
    store = Store.open(forum.store)
    latest = compact(store).run
    runs = store.runs()
    killed(PRUNE, forum.store, folder="Folder", method="remove", at=2)
    assert any(store.run(run).has(Pruned.at) for run in runs)
    prune(store, len(runs), remove=True)
    assert store.runs() == runs
    assert not any(store.run(run).has(Pruned.at) for run in runs)
    assert open_run(forum.store).run == latest
    assert verify_store(store).problems == []


def test_a_reader_that_was_open_reads_on_or_is_told(history):
    settings, versions = history
    store, reader = Store.open(settings.store), open_run(settings.store, versions[2].version)
    half = open_run(settings.store, versions[2].version)
    assert len(reader.parts) == len(half.parts)
    part = next(iter(reader.parts.values()))
    with part.open() as file:
        compact(store)
        prune(store, 1, remove=True)
        assert file.table(0).num_rows
    with pytest.raises(DamageError, match="it is missing"):
        half.table()


def test_what_a_killed_update_left_goes_when_it_is_old(tmp_path, history):
    settings, _ = history
    store = Store.open(settings.store)
    from bicliq.pipeline.stages.extend import extend
    from bicliq.pipeline.versions.sources import reading_of

    latest = open_run(settings.store).folder.record()
    new = csv(tmp_path / "left.csv", [("zed", "jam")])
    left = extend(store, latest.graph, new, reading_of(new, latest.reading, settings.ingest, delete=False))
    place = f"graphs/{left.record.graph}"
    assert place not in {one.what for one in prune(store, 5).removed}
    os.utime(store.root.path_of(f"{place}/graph.json"), (0, 0))
    assert place in {one.what for one in prune(store, 5, remove=True).removed}
    assert left.record.graph not in store.graphs()


@pytest.mark.parametrize("text", ["30", "d", "-1d", "1y", "1e5d", "999999999w"])
def test_an_age_is_a_number_and_a_unit(text):
    with pytest.raises(InputError, match="a number and a unit"):
        parse_age(text)


def test_the_plan_of_a_version_written_whole_covers_its_graph(forum):
    found = compact(Store.open(forum.store))
    folder = Store.open(forum.store).run(found.run)
    assert found.partitions == len(folder.committed()) == int(read_plan(folder).partition.max()) + 1


def test_the_graph_of_a_version_is_verified_with_the_one_that_it_differs_from(forum, capsys):
    store = Store.open(forum.store)
    graph = store.graph(open_run(forum.store).folder.record().graph)
    assert {"changed.parquet", "graph.json"} <= set(graph.files())
    assert "edges.parquet" not in graph.files()
    assert "changed.parquet: it is missing" in remove_and_verify(store, f"{graph.place}/changed.parquet")
    whole = graph.base()
    assert whole is not None
    assert "graph.json: it is missing, and " in remove_and_verify(store, f"{whole.place}/graph.json")
    assert invoke(["verify", "--repair", "--store", forum.store]) == 0
    capsys.readouterr()
    found = compact(store)
    assert store.graph(store.run(found.run).record().graph).base() is None
    assert invoke(["find", "--run", found.run, "--top", "3", "--store", forum.store]) == 0


def remove_and_verify(store, path):
    data = store.fs.cat_file(store.root.path_of(path))
    store.root.remove(path)
    problems = "\n".join(verify_store(store).problems)
    store.fs.pipe_file(store.root.path_of(path), data)
    return problems


def test_many_versions_in_a_row_stand_on_few_layers_and_read_few_records(tmp_path):
    settings = load_settings(store=str(tmp_path / "store"), search={"threads": 1}, **HERE)
    latest = run(csv(tmp_path / "base.csv", {(n % 40, n * 7 % 30) for n in range(200)}), settings).run
    layers, store, generator = [], Store.open(settings.store), np.random.default_rng(1)
    for n in range(VERSIONS):
        new = csv(tmp_path / "new.csv", generator.integers(0, 90, (2, 2)).tolist())
        with read_below(store.root.path, ".json") as calls:
            latest = update(new, settings, latest).version
        asked = store.run(latest).record()
        layers.append(len(asked.layers))
        assert len(calls) < MOST_RECORDS, n
        assert len([name for name in store.run(latest).files() if "/claims/" not in f"/{name}"]) <= 3
        assert len([name for name in store.graph(asked.graph).files() if "/claims/" not in f"/{name}"]) <= 4
    assert 1 < max(layers) <= 8
    assert open_run(store, latest).table().num_rows == open_run(store, latest).manifest.bicliques


VERSIONS, MOST_RECORDS = 60, 60
"""Updates in a row, and more records than any of them reads, be it the first or the last."""


def test_a_damaged_graph_of_an_update_names_the_table_to_take_again(forum, capsys):
    store = Store.open(forum.store)
    graph = store.graph(open_run(forum.store).folder.record().graph)
    with open(graph.path_of("changed.parquet"), "ab") as file:
        file.write(b"x")
    assert invoke(["verify", "--repair", "--store", forum.store]) == 1
    assert "old.parquet again" in capsys.readouterr().out
