"""Stores whose files fit all of their records, and are wrong: only a new search can tell."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bicliq import kernels
from bicliq.flows.cli.app import invoke
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, read_graph
from bicliq.pipeline.repair import repair
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import SearchSettings, Settings, load_settings
from bicliq.pipeline.stages.planned import read_plan
from bicliq.pipeline.stages.publish import publish
from bicliq.pipeline.stages.verify import verify, verify_store
from bicliq.pipeline.stages.verify_roots import EVERY_ROOT, NAMED
from bicliq.pipeline.stages.verify_rows import RowChecker
from bicliq.pipeline.store.biclique_file import BicliqueWriter
from bicliq.pipeline.store.bicliques import MASK, SCHEMA, batches_of
from bicliq.pipeline.store.inventory import places_of
from bicliq.pipeline.store.labels import read_hashes
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.records import Commit, LayerRows, PlanRecord, Version
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.store.sizes import Sizes
from bicliq.pipeline.versions import update as updates
from bicliq.pipeline.versions.compact import compact
from tests.integration.stored_graphs import bicliques_of
from tests.real_graphs import DATA
from tests.system_calls import read_below

Rows = list[dict[str, Any]]
SEARCHES = {"all": {}, "large ones": {"min_left": 2, "min_right": 2, "min_edges": 6}}


def settings_of(tmp_path: Any, columns: str = "both", **search: Any) -> Settings:
    return load_settings(
        store=f"{tmp_path}/store",
        plan={"partitions": 3},
        publish={"columns": columns},
        search=search,
        cluster={"local": True},
    )


def searched(tmp_path: Any, columns: str = "both", **search: Any) -> tuple[Store, str]:
    """A store with a run of a random graph of 30 + 25 vertices."""
    left, right = np.nonzero(np.random.default_rng(7).random((30, 25)) < 0.25)
    pq.write_table(pa.table({"l": [f"left {i}" for i in left], "r": right + 100}), tmp_path / "edges.parquet")
    settings = settings_of(tmp_path, columns, **search)
    return Store.open(settings.store), run(str(tmp_path / "edges.parquet"), settings).run


def forge(store: Store, name: str, number: int, change: Callable[[Rows], Rows]) -> str:
    """Change the bicliques of a partition, with all that is known of them; return its file."""
    folder, opened = store.run(name), open_run(store, name)
    asked = folder.record()
    commit = opened.commits[number]
    table = pa.Table.from_pylist(change(opened.parts[number].read().to_pylist()), schema=SCHEMA)
    sizes, digest = Sizes(), 0
    with folder.sink(commit.file) as sink, BicliqueWriter(sink, 1, asked.publish) as writer:
        for batch in batches_of(table):
            writer.write(batch)
            sizes.add(np.diff(batch.left_offsets), np.diff(batch.right_offsets))
            digest += kernels.check_bicliques(batch, *read_hashes(store.graph(asked.graph)))[0]
    forged = replace(
        commit,
        stored=(sink.file(commit.file),),
        rows=len(table),
        digest=f"{digest & MASK:016x}",
        sizes=sizes.counts(),
    )
    folder.write(Commit.name(number), forged)
    publish(store, name)
    assert verify_store(store, sample=0).problems == []  # nothing but the graph can tell
    return f"runs/{name}/{commit.file}"


def deep(store: Store, name: str) -> list[str]:
    return verify(store, name, sample=0, roots=EVERY_ROOT).problems


def on_the_side(row: dict[str, Any]) -> str:
    return f"left {row['left'][:5]}"


@pytest.fixture(params=["both", "smaller"])
def columns(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_a_sound_run_has_all_that_its_roots_give(tmp_path, columns, search) -> None:
    store, name = searched(tmp_path, columns, **search)
    found = verify(store, name, roots=EVERY_ROOT)
    assert (found.problems, found.roots) == ([], len(read_plan(store.run(name)).roots))
    assert verify(store, name, roots=4).roots == 4
    assert verify(store, name).roots == 0


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_a_biclique_that_is_missing_is_named(tmp_path, columns, search) -> None:
    store, name = searched(tmp_path, columns, **search)
    gone: Rows = []
    forge(store, name, 1, lambda rows: gone.append(rows.pop(3)) or rows)
    (problem,) = deep(store, name)
    assert problem.startswith(f"runs/{name}: {on_the_side(gone[0])}")
    assert problem.endswith(f"it is not stored, and a search of root {gone[0]['root']} finds it")


def test_many_that_are_missing_are_counted(tmp_path, columns) -> None:
    store, name = searched(tmp_path, columns)
    forge(store, name, 1, lambda rows: rows[: -NAMED - 5])
    *named, more = deep(store, name)
    assert (len(named), more) == (NAMED, f"runs/{name}: 5 more of partition 1 are not stored")


def test_a_biclique_that_is_not_maximal_is_named(tmp_path, columns) -> None:
    store, name = searched(tmp_path, columns)
    graph = read_graph(store.graph(open_run(store, name).manifest.graph))
    neighbours = [set(graph.indices[a:b].tolist()) for a, b in zip(graph.indptr, graph.indptr[1:], strict=False)]
    wrong: Rows = []

    def without_a_member(rows: Rows) -> Rows:
        """Leave out a left member that is not the root; the right side has no more in common."""
        for row in rows:
            for member in [u for u in row["left"] if u != row["root"]] if len(row["left"]) > 2 else []:
                left = [u for u in row["left"] if u != member]
                if set.intersection(*(neighbours[u] for u in left)) == set(row["right"]) and (
                    columns == "both" or len(left) < len(row["right"])
                ):
                    row |= {"left": left, "n_left": len(left)}
                    wrong.append(row)
                    return rows
        raise AssertionError("no biclique has one member too many")

    file = forge(store, name, 0, without_a_member)
    missing, surplus = deep(store, name)
    assert "it is not stored, and a search" in missing
    assert surplus.startswith(f"{file}: {on_the_side(wrong[0])}")
    assert surplus.endswith("the left side is not the set of all common neighbours of the right side")


def test_a_side_that_lacks_a_member_is_named(tmp_path) -> None:
    store, name = searched(tmp_path)

    def shorter(rows: Rows) -> Rows:
        row = max(rows, key=lambda row: row["n_right"])
        return [one for one in rows if one is not row] + [
            row | {"right": row["right"][1:], "n_right": row["n_right"] - 1}
        ]

    file = forge(store, name, 2, shorter)
    missing, surplus = deep(store, name)
    assert "it is not stored, and a search" in missing
    assert surplus.startswith(file)
    assert surplus.endswith("the right side is not the set of all common neighbours of the left side")


def test_a_biclique_that_is_stored_twice_is_named(tmp_path, columns) -> None:
    store, name = searched(tmp_path, columns)
    file = forge(store, name, 0, lambda rows: [*rows, rows[5]])
    (problem,) = deep(store, name)
    assert problem.startswith(file)
    assert problem.endswith("it is stored twice")


def test_a_biclique_of_another_root_is_named(tmp_path, columns) -> None:
    store, name = searched(tmp_path, columns)
    plan = read_plan(store.run(name))
    of_partition = set(plan.roots[plan.partition == 0].tolist())

    def later_root(rows: Rows) -> Rows:
        for row in rows:
            others = [u for u in row[plan.side] if u != row["root"] and u in of_partition]
            if others:
                row["root"] = others[-1]
                return rows
        raise AssertionError("no biclique has two roots of one partition")

    file = forge(store, name, 0, later_root)
    missing, surplus = deep(store, name)
    assert "it is not stored, and a search" in missing
    assert surplus.startswith(file)
    assert "but of an earlier one" in surplus


def test_bicliques_in_the_file_of_another_partition_are_found_without_a_search(tmp_path) -> None:
    store, name = searched(tmp_path)
    taken: Rows = []
    forge(store, name, 0, lambda rows: taken.append(rows.pop()) or rows)
    with pytest.raises(AssertionError, match="1 bicliques are of roots of other partitions"):
        forge(store, name, 1, lambda rows: rows + taken)


def test_a_plan_that_lacks_a_root_is_named(tmp_path) -> None:
    store, name = searched(tmp_path)
    folder, plan = store.run(name), read_plan(store.run(name))
    shorter = replace(plan, roots=plan.roots[1:], cost=plan.cost[1:], partition=plan.partition[1:])
    stored = (folder.write_table("plan.parquet", shorter.to_table()),)
    folder.write(PlanRecord.at, replace(folder.planned, digest=shorter.digest, stored=stored))
    assert f"runs/{name}: its plan has other roots than its graph" in str(deep(store, name))


def test_what_is_wrong_is_searched_again(tmp_path, columns) -> None:
    store, name = searched(tmp_path, columns)
    digest = open_run(store, name).manifest.digest
    forge(store, name, 1, lambda rows: rows[3:])
    forge(store, name, 2, lambda rows: [*rows, rows[0]])
    created = open_run(store, name).manifest.created
    assert repair(store, settings_of(tmp_path), name) == []  # its files are as they were written
    said = repair(store, settings_of(tmp_path), name, EVERY_ROOT)
    assert f"runs/{name}: partitions 1, 2 searched again" in said
    assert deep(store, name) == []
    mended = open_run(store, name).manifest
    assert (mended.digest, mended.created) == (digest, created)


def test_a_cut_off_partition_lacks_nothing_that_was_promised(tmp_path) -> None:
    store, name = searched(tmp_path, max_bicliques=60)
    found = verify(store, name, roots=EVERY_ROOT)
    commits = open_run(store, name).commits.values()
    plan = read_plan(store.run(name))
    whole = [commit.partition for commit in commits if commit.complete]
    assert (found.problems, found.roots) == ([], int(np.isin(plan.partition, whole).sum()))
    assert len(whole) < 3


# ---- versions ------------------------------------------------------------------------------------


@pytest.fixture
def forum(tmp_path, columns):
    """A run of UCforum, and tables to add to it and take out of it."""
    edges = pq.read_table(DATA / "UCforum.parquet")
    order = np.random.default_rng(5).permutation(len(edges))
    for name, rows in (("base", order[60:]), ("new", order[:40]), ("more", order[40:60]), ("old", order[100:130])):
        pq.write_table(edges.take(rows), tmp_path / f"{name}.parquet")
    settings = settings_of(tmp_path, columns, min_left=2, min_right=2, min_edges=6)
    return settings, run(str(tmp_path / "base.parquet"), settings).run


def test_versions_have_all_that_their_roots_give(tmp_path, forum) -> None:
    settings, _ = forum
    store = Store.open(settings.store)
    updates.update(str(tmp_path / "new.parquet"), settings)
    updates.update(str(tmp_path / "old.parquet"), settings, delete=True)
    version = updates.update(str(tmp_path / "more.parquet"), settings).version
    found = verify(store, version, roots=EVERY_ROOT)
    assert (found.problems, found.roots > 300) == ([], True)
    merged = compact(store, version)
    again = verify(store, merged.run, roots=EVERY_ROOT)
    assert (again.problems, again.roots, again.digest) == ([], found.roots, found.digest)


def test_what_an_update_left_out_is_named(tmp_path, forum, monkeypatch) -> None:
    settings, _ = forum
    write = updates.write_changes

    def all_but_one(folder, name, lists, *more, **options):
        if name == updates.APPEARED:
            ends = lists.left_offsets[:-1], lists.right_offsets[:-1]
            members = lists.left[: ends[0][-1]], lists.right[: ends[1][-1]]
            lists = kernels.BicliqueLists(ends[0], members[0], ends[1], members[1])
        return write(folder, name, lists, *more, **options)

    monkeypatch.setattr(updates, "write_changes", all_but_one)
    version = updates.update(str(tmp_path / "new.parquet"), settings).version
    monkeypatch.undo()
    store = Store.open(settings.store)
    assert verify_store(store, sample=0).problems == []
    (problem,) = deep(store, version)
    assert problem.startswith(f"runs/{version}: left [")
    assert "it is not stored, and a search" in problem


def test_what_a_base_lacks_its_versions_lack(tmp_path, forum) -> None:
    settings, base = forum
    shutil.copytree(settings.store, tmp_path / "sound")
    updates.update(str(tmp_path / "new.parquet"), settings.model_copy(update={"store": str(tmp_path / "sound")}))
    living = bicliques_of(open_run(str(tmp_path / "sound")).table(ids=False))
    gone: Rows = []

    def without_one_that_lives(rows: Rows) -> Rows:
        gone.append(next(row for row in rows if (tuple(row["left"]), tuple(row["right"])) in living))
        return [row for row in rows if row is not gone[0]]

    forge(Store.open(settings.store), base, 1, without_one_that_lives)
    version = updates.update(str(tmp_path / "new.parquet"), settings).version
    problems = verify_store(Store.open(settings.store), sample=0, roots=EVERY_ROOT).problems
    sentence = f"{on_the_side(gone[0])}"
    assert [problem.split(sentence)[0] for problem in problems] == [f"runs/{run}: " for run in sorted((base, version))]


def test_each_run_below_a_version_is_looked_at_once(tmp_path) -> None:
    """A version names its parent, and this one its own: 40 of them were looked at 2^40 times."""
    store, base = searched(tmp_path)
    names = [base, *(f"version-{number:02}" for number in range(40))]
    asked, manifest = store.run(base).record(), store.run(base).published()
    changed = LayerRows(rows=0, digest="0" * 16, sizes=Sizes().counts(), partitions=[], columns="both")
    for number, name in enumerate(names[1:], 1):
        layers = [*names[max(number - 3, 1) : number], name]
        layered = Version(base=base, layers=layers, appeared=changed, vanished=changed, manifest=manifest)
        record = replace(asked, run=name, parent=names[number - 1], layered=layered)
        store.run(name).write(record.at, record)
    with read_below(store.root.path) as read:
        places = places_of(store, names[-1])
    assert set(places) == {f"graphs/{asked.graph}", *(f"runs/{name}" for name in names)}
    assert sorted(path.split("/")[-2] for path in read) == sorted([asked.graph, *names])


# ---- the command ---------------------------------------------------------------------------------


def test_the_command_says_how_many_roots_it_searched_and_what_is_wrong(tmp_path, capsys) -> None:
    store, name = searched(tmp_path)
    assert invoke(["verify", "--deep", "5", "--seed", "3", "--store", store.path]) == 0
    assert "5 roots searched again" in capsys.readouterr().out
    forge(store, name, 1, lambda rows: rows[1:])
    assert invoke(["verify", "--deep", "all", "--sample", "0", "--store", store.path]) == 1
    assert "it is not stored, and a search" in capsys.readouterr().err
    assert invoke(["verify", "--deep", "all", "--json", "--store", store.path]) == 1
    assert json.loads(capsys.readouterr().out)["roots"] == len(read_plan(store.run(name)).roots)
    for wrong in ("some", "-1", "1.5"):
        assert invoke(["verify", "--deep", wrong, "--store", store.path]) == 2
        assert "neither a number of roots nor all" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("left", "right", "root", "reason"),
    [
        ([0, 1], [0, 1], 0, None),
        ([], [0, 1], 0, "a side is empty"),
        ([0, 1], [-1, 1], 0, "a negative id"),
        ([0, 2], [0, 1], 0, "not in the graph"),
        ([0, 1], [0, 3], 0, "not in the graph"),
        ([1, 0], [0, 1], 0, "not ascending"),
        ([0, 1], [1, 0], 0, "not ascending"),
        ([0, 1], [0, 0, 1], 0, "not ascending"),
        ([0, 1], [0, 1], 7, "the root 7 is not a member"),
        ([0, 1], [0], 0, "the right side is not the set of all common neighbours"),
        ([0], [0, 1], 0, "the left side is not the set of all common neighbours"),
    ],
)
def test_why_a_row_is_no_maximal_biclique(left, right, root, reason) -> None:
    graph = BipartiteGraph.from_edges([0, 0, 1, 1], [0, 1, 0, 1], 2, 3)
    said = RowChecker(graph, "left", SearchSettings(), None).why_not({"left": left, "right": right, "root": root})
    assert said == reason if reason is None else reason in said
