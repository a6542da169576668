"""A run that stores what its bicliques are worth answers as one that does not."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import bicliq
from bicliq.flows.cli.app import invoke
from bicliq.pipeline.results.bicliques import Bicliques
from bicliq.pipeline.rules import find_fitting
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import NotifySettings, PlanSettings, PublishSettings, Settings, load_settings
from bicliq.pipeline.stages.verify import verify
from bicliq.pipeline.store.records import Commit
from bicliq.pipeline.store.results import Run, open_run
from bicliq.pipeline.versions.compact import compact
from bicliq.pipeline.versions.update import update

RANDOM = np.random.default_rng(17)
ONCE = {(f"once {n:03}", 200 + n) for n in range(200)}  # beside whom a ring is no chance
RING = {(f"u{u:02}", v) for u in range(8) for v in range(100, 109)}
PAIRS = sorted({(f"u{u:02}", int(v)) for u in range(30) for v in RANDOM.zipf(1.6, 14) if v < 25} | ONCE | RING)
LATER = sorted({(f"u{u:02}", int(v)) for u in range(0, 34, 3) for v in RANDOM.zipf(1.4, 4) if v < 28} - set(PAIRS))
ALL = ("surprise", "edges", "vertices", "balanced")


def table(pairs: list[tuple[str, int]]) -> dict[str, list[int]]:
    lists: dict[str, list[int]] = {}
    for user, item in pairs:
        lists.setdefault(user, []).append(item)
    return lists


def made(store: Any, objectives: Any = (), pairs: Any = PAIRS, **asked: Any) -> Run:
    publish = PublishSettings(objectives=objectives, **asked)
    run(table(pairs), Settings(store=store, plan=PlanSettings(partitions=3), publish=publish))
    return open_run(store)


def plain(table: Any) -> list[dict[str, Any]]:
    """Rows without what depends on the partitions and on the order of a search."""
    rows = [{name: value for name, value in row.items() if name != "biclique_id"} for row in table.to_pylist()]
    return [
        {name: row[name] for name in ("left", "right", "n_edges", "surprise", "expected") if name in row}
        for row in rows
    ]


@pytest.fixture(scope="module")
def without(tmp_path_factory) -> Run:
    return made(tmp_path_factory.mktemp("without"))


@pytest.fixture(scope="module", params=["both", "smaller"])
def stored(request, tmp_path_factory) -> Run:
    return made(tmp_path_factory.mktemp("stored"), ALL, columns=request.param)


def test_the_most_surprising_are_the_same_with_and_without_a_column_and_those_of_find(stored, without) -> None:
    best = plain(without.top(40, "surprise"))
    assert len(best) == 40
    assert plain(stored.top(40, "surprise")) == best
    found = bicliq.find(table(PAIRS), top=40, by="surprise", min_surprise=-1e6)
    assert [(group["left"], group["right"], group["value"], group["expected"]) for group in found] == [
        (row["left"], row["right"], row["surprise"], row["expected"]) for row in best
    ]


@pytest.mark.parametrize("least", [-5.0, 0, 3.5, 1e9])
def test_a_choice_by_surprise_takes_the_same_with_and_without_a_column(stored, without, least) -> None:
    mine, theirs = (Bicliques(of).where(min_surprise=least, min_left=2) for of in (stored, without))
    every = Bicliques(without).where(min_left=2).page(1, 10_000, "surprise")["surprise"].to_numpy()
    assert len(mine) == len(theirs) == int((every >= least).sum())
    assert {tuple(row["left"]) for row in mine} == {tuple(row["left"]) for row in theirs}
    assert all(row["surprise"] >= least for row in mine)


def test_tables_of_a_run_have_its_objectives(stored, tmp_path) -> None:
    groups = Bicliques(stored)
    assert groups.schema.names[5:] == ["n_edges", "surprise", "n_vertices", "balanced"]
    for row in groups:
        sizes = row["n_left"], row["n_right"]
        assert (row["n_edges"], row["n_vertices"], row["balanced"]) == (sizes[0] * sizes[1], sum(sizes), min(sizes))
    groups.export(tmp_path / "groups.parquet")
    assert pq.read_table(tmp_path / "groups.parquet").schema.names == groups.schema.names
    assert {"surprise", "n_edges"} <= set(stored.dataset().schema.names)
    assert stored.dataset().to_table(columns=["surprise"]).num_rows == len(groups)


def test_rules_tell_the_same_groups_with_and_without_a_column(stored, without) -> None:
    for asked in (
        NotifySettings(webhook_surprise=4.0),
        NotifySettings(webhook_surprise=1.0, webhook_members=("u03",)),
    ):
        mine, theirs = (find_fitting(of, asked, 5) for of in (stored, without))
        assert mine.groups == theirs.groups > 0
        assert [row["surprise"] for row in mine.shown] == [row["surprise"] for row in theirs.shown]


def test_versions_value_bicliques_by_their_own_degrees_and_store_it_when_they_are_written_whole(tmp_path) -> None:
    settings = load_settings(store=tmp_path / "store", publish={"objectives": ALL}, versions={"compact_share": "inf"})
    run(table(PAIRS), settings)
    done = update(table(LATER), settings)
    assert done.appeared
    assert done.vanished
    version = open_run(settings.store)
    assert (version.objectives, version.stores("surprise")) == (ALL, False)
    fresh = made(tmp_path / "fresh", (), sorted({*PAIRS, *LATER}))
    best = plain(fresh.top(60, "surprise"))
    assert plain(version.top(60, "surprise")) == best
    assert len(Bicliques(version).where(min_surprise=3)) == len(Bicliques(fresh).where(min_surprise=3))
    assert "surprise" not in version.dataset().schema.names
    written = open_run(settings.store, compact(version.store, version.run).run)
    assert written.stores("surprise")
    assert plain(written.top(60, "surprise")) == best
    assert written.dataset().to_table(columns=["surprise"])["surprise"].to_pylist() == [
        row["surprise"] for row in Bicliques(written)
    ]
    for checked in (version.run, written.run):
        assert verify(version.store, checked).problems == []


@pytest.mark.parametrize("name", ["surprise", "n_edges"])
def test_verify_tells_of_values_that_are_not_those_of_the_graph(tmp_path, name) -> None:
    opened = made(tmp_path, ("surprise", "edges"))
    assert verify(opened.store, opened.run).problems == []
    commit = next(iter(opened.commits.values()))
    table = opened.folder.read_table(commit.data)
    place = table.schema.get_field_index(name)
    values = table[name].to_numpy().copy()
    values[3] += 1
    file = opened.folder.write_table(commit.file, table.set_column(place, table.schema.field(place), [values]))
    opened.folder.write(Commit.name(commit.partition), replace(commit, stored=(file,)))
    opened.folder.unpublish()
    problems = verify(opened.store, opened.run).problems
    assert any(f"1 bicliques are worth another {name.removeprefix('n_')} than is stored" in one for one in problems)


def test_objectives_make_a_run_of_their_own(tmp_path) -> None:
    asked = {(): None, ("surprise",): None, ("surprise", "edges"): None}
    names = {objectives: made(tmp_path, objectives).run for objectives in asked}
    assert len(set(names.values())) == 3


def test_the_command_line_stores_shows_and_exports_by_surprise(tmp_path, capsys) -> None:
    edges, store = tmp_path / "edges.csv", str(tmp_path / "store")
    edges.write_text("user,item\n" + "".join(f"{user},{item}\n" for user, item in PAIRS))
    assert invoke(["run", str(edges), "--store", store, "--objectives", "surprise,balanced", "--json"]) == 0
    capsys.readouterr()
    assert invoke(["top", "-k", "3", "--by", "surprise", "--store", store, "--json"]) == 0
    top = json.loads(capsys.readouterr().out)["bicliques"]
    least = top[2]["surprise"]
    assert invoke(["show", "--by", "surprise", "--min-surprise", str(least), "--store", store, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["matching"] == sum(row["surprise"] >= least for row in top)
    assert [shown["bicliques"][0][name] for name in ("left", "expected")] == [
        top[0][name] for name in ("left", "expected")
    ]
    assert invoke(["top", "-k", "3", "--by", "surprise", "--store", store]) == 0
    told = capsys.readouterr().out
    assert f"{top[0]['surprise']:,.2f}" in told
    assert "by chance" in " ".join(told.split())
    out = tmp_path / "out.parquet"
    assert invoke(["export", str(out), "--min-surprise", str(least), "--store", store, "--json"]) == 0
    exported = pq.read_table(out)["surprise"].to_pylist()
    assert sorted(exported, reverse=True) == [row["surprise"] for row in top]


@pytest.mark.parametrize("wrong", ["weight", "surprise,surprise", "", "surprise,,edges"])
def test_an_objective_that_is_none_is_refused(tmp_path, capsys, wrong) -> None:
    (tmp_path / "edges.csv").write_text("a,b\n1,2\n")
    assert invoke(["run", str(tmp_path / "edges.csv"), "--store", str(tmp_path / "s"), "--objectives", wrong]) == 2
    assert "objectives" in capsys.readouterr().err
    with pytest.raises(bicliq.InputError, match="min_surprise"):
        bicliq.enumerate(table(PAIRS)).where(min_surprise="much")
