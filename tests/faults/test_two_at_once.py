"""One job given twice at once, here and on workers, who cut it differently: one plan stands."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import (
    ClusterSettings,
    PlanSettings,
    SearchSettings,
    Settings,
    VersionSettings,
    load_settings,
)
from bicliq.pipeline.stages.ingest import ingest
from bicliq.pipeline.stages.plan import plan
from bicliq.pipeline.stages.planned import read_plan
from bicliq.pipeline.stages.search import enumerate_table
from bicliq.pipeline.stages.verify import verify_store
from bicliq.pipeline.store.folder import Folder
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.records import PlanRecord
from bicliq.pipeline.store.states import latest_run
from bicliq.pipeline.store.taken import all_taken
from bicliq.pipeline.versions.compact import compact
from bicliq.pipeline.versions.prune import prune
from bicliq.pipeline.versions.rollback import rollback
from bicliq.pipeline.versions.sources import name_of_key
from bicliq.pipeline.versions.update import update
from tests.faults.bad_object_store import Door
from tests.faults.commands import PATIENCE, ROOT
from tests.faults.conftest import BUCKET
from tests.forked import Forked, command
from tests.integration.stored_graphs import flip_a_bit
from tests.nightly import by_night, part_of

pytest.importorskip("s3fs")
pytest.importorskip("moto.server")

WAYS = {"here": ["--local"], "on workers": ["--workers", "2", "--dashboard", "false"]}


def write_table(folder: Path) -> None:
    """Write a table with close to a million maximal bicliques: one cut for a process alone."""
    left, right = np.nonzero(np.random.default_rng(5).random((100, 100)) < 0.4)
    rows = [f"person {u},{v}\n" for u, v in zip(left, right, strict=True)]
    (folder / "table.csv").write_text("l,r\n" + "".join(rows))


def given(way: str, folder: Path, store: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "bicliq.flows.cli",
            "run",
            str(folder / "table.csv"),
            "--store",
            store,
            "--json",
            *WAYS[way],
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def answer_of(process: subprocess.Popen[str] | Forked) -> dict[str, Any]:
    out, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, said
    return dict(json.loads(out.splitlines()[-1]))


def a_plan_is_there(store: Store) -> bool:
    return any(store.run(run).has("plan.json") for run in store.runs())


BY_DAY = [("here", "a disk")]


@pytest.mark.parametrize(
    ("killed", "place"),
    [
        pytest.param(*case, marks=() if case in BY_DAY else by_night)
        for case in itertools.product(("nobody", "here", "on workers"), ("a disk", "an object store"))
    ],
)
def test_one_plan_stands_and_both_end_with_its_answer(killed: str, place: str, tmp_path: Path, opened: Door) -> None:
    write_table(tmp_path)
    expected = enumerate_table(str(tmp_path / "table.csv"), load_settings(), "digest")
    uri = str(tmp_path / "store") if place == "a disk" else f"s3://{BUCKET}/{killed.replace(' ', '-')}"
    both = {way: given(way, tmp_path, uri) for way in WAYS}
    store = Store.open(uri)
    if killed in both:
        deadline = time.monotonic() + PATIENCE
        while not a_plan_is_there(store):
            assert time.monotonic() < deadline, "nothing was planned"
            time.sleep(0.01)
        os.killpg(both[killed].pid, signal.SIGKILL)
        both[killed].communicate()
    ended = {way: answer_of(process) for way, process in both.items() if way != killed}
    if killed in both:
        ended[killed] = answer_of(given(killed, tmp_path, uri))

    (run,) = {answer["run"] for answer in ended.values()}
    assert {(answer["bicliques"], answer["digest"]) for answer in ended.values()} == {
        (expected["bicliques"], expected["digest"])
    }
    folder = store.run(run)
    planned = folder.read(PlanRecord)
    commits = folder.committed()
    assert sorted(commits) == list(range(planned.partitions))
    assert {commit.plan for commit in commits.values()} == {planned.digest}
    found = verify_store(store)
    assert found.problems == []
    if place == "a disk":
        assert found.leftovers == []
        assert sum(answer["searched"] for answer in ended.values()) <= planned.partitions


def test_the_two_ways_would_cut_differently(tmp_path: Path) -> None:
    write_table(tmp_path)
    cut = {}
    for way, cluster in {"here": ClusterSettings(local=True), "on workers": ClusterSettings(workers=2)}.items():
        store = Store.open(str(tmp_path / way))
        graph = ingest(str(tmp_path / "table.csv"), store).graph
        cut[way] = plan(store, graph, SearchSettings(), PlanSettings(), cluster=cluster).partitions
    assert cut["here"] < cut["on workers"]


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a graph, cut otherwise for a process alone than for workers."""
    folder = tmp_path_factory.mktemp("ingested")
    write_table(folder)
    ingest(str(folder / "table.csv"), Store.open(str(folder / "store")))
    return folder / "store"


def put(made: Path, name: str) -> Store:
    """Put a store into the object store."""
    uri = f"s3://{BUCKET}/{name}".replace(" ", "-")
    fs, path = fsspec.core.url_to_fs(uri)
    fs.put(f"{made}/", path, recursive=True)
    return Store.open(uri)


def two_plans(ingested: Path, name: str) -> tuple[Store, str, dict[str, ClusterSettings]]:
    store = put(ingested, name)
    ways = {"here": ClusterSettings(local=True), "on workers": ClusterSettings(workers=2)}
    return store, store.graphs()[0], ways


MOMENTS = itertools.product(WAYS, ("reduced-", "plan-", "plan.json"))


@pytest.mark.parametrize(("first", "moment"), part_of(MOMENTS, 2))
def test_a_plan_that_comes_while_another_is_written_stands(first: str, moment: str, ingested: Path, door: Door) -> None:
    store, graph, ways = two_plans(ingested, f"{first}-{moment}")
    (second,) = ways.keys() - {first}
    search, came = SearchSettings(min_left=2, min_right=2), []

    def meanwhile(method: str, path: str, number: int) -> None:
        if method == "PUT" and f"/{moment}" in path and not came:
            came.append(None)  # its own requests come by here
            came[0] = plan(store, graph, search, PlanSettings(), cluster=ways[second])

    door.fails = meanwhile
    planned = plan(store, graph, search, PlanSettings(), cluster=ways[first])
    assert [planned] == came
    folder = store.run(planned.run)
    assert folder.read(PlanRecord) == planned
    assert read_plan(folder).digest == planned.digest
    found = verify_store(store)
    assert (found.problems, found.leftovers) == ([], [])
    assert all(plan(store, graph, search, PlanSettings(), cluster=way) == planned for way in ways.values())


def test_a_damaged_plan_is_made_again_and_the_first_stands(ingested: Path, opened: Door) -> None:
    store, graph, ways = two_plans(ingested, "damaged")
    before = plan(store, graph, SearchSettings(), PlanSettings(), cluster=ways["here"])
    folder = store.run(before.run)
    flip_a_bit(folder, folder.read(PlanRecord).written("plan.parquet").name)
    again, known = (
        plan(store, graph, SearchSettings(), PlanSettings(), cluster=way) for way in reversed(ways.values())
    )
    assert again.partitions > before.partitions
    assert known == again
    assert read_plan(folder).digest == again.digest
    found = verify_store(store)
    assert (found.problems, found.leftovers) == ([], [])


# ---- two ingests of one table at once ------------------------------------------------------------


@pytest.mark.parametrize("moment", ["edges", "left_ids", "graph.json"])
def test_of_two_ingests_at_once_one_graph_stands_and_nothing_is_left(moment: str, tmp_path: Path, door: Door) -> None:
    write_table(tmp_path)
    table, store, came = str(tmp_path / "table.csv"), Store.open(f"s3://{BUCKET}/ingests-{moment}"), list[Any]()

    def meanwhile(method: str, path: str, number: int) -> None:
        if method == "PUT" and f"/{moment}" in path and not came:
            came.append(None)  # its own requests come by here
            came[0] = ingest(table, store).graph

    door.fails = meanwhile
    assert [ingest(table, store).graph] == came
    assert store.graphs() == came
    assert (folder := store.graph(came[0])).why_damaged() is None
    assert {*folder.files()} == {"graph.json", *folder.record().named}
    found = verify_store(store)
    assert (found.problems, found.leftovers) == ([], [])


@pytest.mark.parametrize("place", ["a disk", "an object store"])
def test_a_killed_ingest_beside_another_costs_it_nothing(place: str, tmp_path: Path, opened: Door) -> None:
    write_table(tmp_path)
    uri = str(tmp_path / "store") if place == "a disk" else f"s3://{BUCKET}/killed-ingest"
    both = [command("ingest", str(tmp_path / "table.csv"), "--store", uri, "--json") for _ in "ab"]
    store = Store.at(uri)
    deadline = time.monotonic() + PATIENCE
    while not Folder(store.fs, store.path, "graphs").folders():
        assert time.monotonic() < deadline, "nothing was written"
    both[0].kill()
    both[0].communicate()
    graph = answer_of(both[1])["graph"]
    assert store.graphs() == [graph]
    assert store.graph(graph).why_damaged() is None
    assert verify_store(store).problems == []


# ---- two changes of one version at once ----------------------------------------------------------


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table and a store of its run, and three tables to join to it."""
    folder = tmp_path_factory.mktemp("shop")
    for table, rows in {"base": "a,x a,y b,x b,z c,z", "one": "b,y", "two": "c,x", "three": "d,x"}.items():
        (folder / f"{table}.csv").write_text("\n".join(["l,r", *rows.split(), ""]))
    run(str(folder / "base.csv"), load_settings(store=str(folder / "store"), cluster={"local": True}))
    return folder


def a_shop(shop: Path, name: str, **versions: bool) -> tuple[Store, Settings]:
    """Put its store into the object store."""
    store = put(shop / "store", name)
    return store, load_settings(store=store.uri, cluster={"local": True}, versions=versions)


def just_before_the_number(door: Door, action: Callable[[], Any]) -> list[Any]:
    """Do something else just before the next entry of the log is written."""
    came = list[Any]()

    def meanwhile(method: str, path: str, number: int) -> None:
        if method == "PUT" and "/publications/number-" in path and not came:
            came.append(None)  # its own requests come by here
            came[0] = action()

    door.fails = meanwhile
    return came


def files_of(store: Store) -> set[str]:
    return {Path(name_of_key(key)).name for key in all_taken(store, store.run(latest_run(store)).record())}


def whole(store: Store, folder: Path) -> bool:
    """Whether the latest run has the bicliques of all edges of the files that it took."""
    lines = {line for name in ("base.csv", *files_of(store)) for line in (folder / name).read_text().split()[1:]}
    (folder / "united.csv").write_text("\n".join(["l,r", *sorted(lines), ""]))
    expected = enumerate_table(str(folder / "united.csv"), load_settings(), "digest")
    manifest = store.run(latest_run(store)).manifest()
    return manifest is not None and manifest.digest == expected["digest"]


def test_the_second_of_two_updates_of_one_version_is_refused_and_joins_when_it_is_given_again(
    shop: Path, door: Door
) -> None:
    store, settings = a_shop(shop, "fork")
    came = just_before_the_number(door, lambda: update(str(shop / "two.csv"), settings))
    with pytest.raises(InputError, match="became the latest while"):
        update(str(shop / "one.csv"), settings)
    assert latest_run(store) == came[0].version
    assert len(store.runs()) == 2, "nothing is left of the one that was refused"
    update(str(shop / "one.csv"), settings)
    assert files_of(store) == {"one.csv", "two.csv"}
    assert whole(store, shop)
    assert verify_store(store).problems == []


def test_the_second_of_two_updates_joins_by_itself_where_that_is_asked(shop: Path, door: Door) -> None:
    store, settings = a_shop(shop, "rebase", rebase=True)
    came = just_before_the_number(door, lambda: update(str(shop / "two.csv"), settings))
    made = update(str(shop / "one.csv"), settings)
    assert made.parent == came[0].version
    assert files_of(store) == {"one.csv", "two.csv"}
    assert whole(store, shop)


@pytest.mark.parametrize("other", part_of(["prune", "rollback", "compact"], 3))
def test_an_update_beside_another_change_loses_nothing(shop: Path, door: Door, other: str) -> None:
    store, settings = a_shop(shop, f"beside {other}")
    first = latest_run(store)
    update(str(shop / "three.csv"), settings)
    actions = {
        "rollback": lambda: rollback(store, first),
        "prune": lambda: prune(store, 1, remove=True),
        "compact": lambda: compact(store),
    }
    just_before_the_number(door, actions[other])
    try:
        update(str(shop / "one.csv"), settings)
        assert files_of(store) == {"one.csv", "three.csv"}
    except InputError:
        assert other == "rollback"
        assert latest_run(store) == first
    assert whole(store, shop)
    assert verify_store(store).problems == []


def test_a_prune_sees_a_version_that_came_while_it_looked(shop: Path, door: Door) -> None:
    store, settings = a_shop(shop, "prune sees")
    update(str(shop / "three.csv"), settings)
    whole_one = compact(store).run
    came = just_before_the_number(door, lambda: update(str(shop / "one.csv"), settings))
    found = prune(store, 1, remove=True)
    assert set(found.kept) == {whole_one, came[0].version}
    assert latest_run(store) == came[0].version
    assert whole(store, shop)
    assert verify_store(store).problems == []


def test_an_update_of_what_a_prune_is_about_to_remove_is_refused(shop: Path, door: Door) -> None:
    store, settings = a_shop(shop, "prune first")
    first = latest_run(store)
    update(str(shop / "three.csv"), settings)
    compact(store)

    def refused() -> str:
        with pytest.raises(InputError, match="pruned meanwhile") as error:
            update(str(shop / "one.csv"), settings, first)
        return str(error.value)

    came = just_before_the_number(door, refused)
    found = prune(store, 1, remove=True)
    assert first in came[0]
    assert f"runs/{first}" in {one.what for one in found.removed}
    assert whole(store, shop)
    assert verify_store(store).problems == []


def test_a_store_without_conditions_takes_updates_of_one_writer_alone(shop: Path, door: Door) -> None:
    door.knows_conditions = False
    store, settings = a_shop(shop, "no conditions")
    with pytest.raises(InputError, match="one_writer = true"):
        update(str(shop / "one.csv"), settings)
    alone = settings.model_copy(update={"versions": VersionSettings(one_writer=True)})
    update(str(shop / "one.csv"), alone)
    assert files_of(store) == {"one.csv"}
    assert whole(store, shop)
