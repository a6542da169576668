"""Updates whose search a real cluster shares: the same version, whoever is killed meanwhile."""

from __future__ import annotations

import json
import logging
import os
import signal
from contextlib import contextmanager

import numpy as np
import pytest

from bicliq.flows.cli.app import invoke
from bicliq.pipeline.errors import BicliqError
from bicliq.pipeline.events import LOGGER
from bicliq.pipeline.placement import where
from bicliq.pipeline.placement.cluster import open_cluster
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import ClusterSettings, Settings, load_settings
from bicliq.pipeline.stages.verify import verify_store
from bicliq.pipeline.store.layout import RunFolder, Store
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.versions import portions, way
from bicliq.pipeline.versions.update import update
from tests.integration.stored_graphs import flip_a_bit, random_graph
from tests.nightly import by_night


@pytest.fixture(autouse=True)
def every_batch_is_worth_it(monkeypatch):
    monkeypatch.setattr(where, "FOUND_A_THREAD", 0)
    monkeypatch.setattr(portions, "FOUND_A_PORTION", 300)
    monkeypatch.setattr(way, "FEW_PATHS", 0)
    monkeypatch.setattr(way, "FEW", 10**9)  # no full run


@pytest.fixture
def table(tmp_path):
    """Some 20,000 bicliques: base.csv, and new.csv with 40 edges, which change many of them."""
    graph = random_graph(60, 60, 0.4, seed=2)
    rows = np.stack([graph.edge_left, graph.indices], axis=1)
    order = np.random.default_rng(5).permutation(len(rows))
    for name, some in (("new", order[:40]), ("base", order[40:]), ("all", order)):
        np.savetxt(tmp_path / f"{name}.csv", rows[some], "%d", ",", header="l,r", comments="")
    return tmp_path


def settings_of(store, client=None, **cluster) -> Settings:
    if client is not None:
        cluster["scheduler"] = client.scheduler.address
    return load_settings(store=str(store), search={"threads": 1}, cluster=cluster or {"local": True})


def base_of(table, store) -> str:
    return run(str(table / "base.csv"), settings_of(store)).run


def left_by_workers(store) -> list[str]:
    return [path.name for path in (store / "runs").rglob("*.arrow") if path.parent.name == "changes"]


def rows_of(store, version) -> set[tuple[frozenset[int], frozenset[int]]]:
    rows = open_run(str(store), version).table().to_pylist()
    return {(frozenset(row["left"]), frozenset(row["right"])) for row in rows}


@pytest.mark.parametrize("most", [20, 2000])  # one portion finds more, or all together
def test_a_cluster_gives_a_search_up_that_finds_too_many(table, cluster, monkeypatch, most):
    base_of(table, table / "there")
    chosen = way.Way("changes", "few are expected", 5000, most)
    monkeypatch.setattr("bicliq.pipeline.versions.difference.choose_way", lambda *asked: chosen)
    found = update(str(table / "new.csv"), settings_of(table / "there", cluster))
    whole = run(str(table / "all.csv"), settings_of(table / "whole"))
    assert (found.how, found.digest, found.bicliques) == ("full run", whole.digest, whole.bicliques)
    assert found.reason.startswith(f"more than {most:,} bicliques are found around what changed, where about 5,000")
    assert left_by_workers(table / "there") == []
    assert verify_store(Store.open(found.store)).problems == []


def test_a_cluster_finds_what_this_process_finds(table, cluster):
    base_of(table, table / "here"), base_of(table, table / "there")
    here = update(str(table / "new.csv"), settings_of(table / "here"))
    there = update(str(table / "new.csv"), settings_of(table / "there", cluster))
    assert here.how == there.how == "changes"
    for name in ("version", "digest", "bicliques", "appeared", "vanished", "backend"):
        assert getattr(there, name) == getattr(here, name)
    assert rows_of(table / "there", there.version) == rows_of(table / "here", here.version)
    assert (here.workers, there.threads) == (0, 1)
    assert there.workers in (1, 2)  # the second one may have been busy with other work
    record = Store.open(there.store).run(there.version).record()
    assert record.update.workers == there.workers
    assert record.update.placement["changes"].startswith("a cluster: about ")
    assert (record.version.manifest.backend, record.version.manifest.threads) == (there.backend, 1)
    for delete in (True, False):
        again = [
            update(str(table / "new.csv"), settings_of(table / name, client), delete=delete)
            for name, client in (("here", None), ("there", cluster))
        ]
        assert len({(found.digest, found.appeared, found.vanished) for found in again}) == 1
        assert again[1].workers >= 1
    assert left_by_workers(table / "there") == []
    assert verify_store(Store.open(there.store)).problems == []


def test_edges_that_enter_and_leave_a_window_are_searched_by_the_cluster(tmp_path, cluster):
    graph = random_graph(40, 40, 0.4, seed=3)
    rows = np.stack([graph.edge_left, graph.indices, np.arange(graph.n_edges) // 20], axis=1)
    for name, some in (("base", rows[:-60]), ("new", rows[-60:]), ("all", rows)):
        np.savetxt(tmp_path / f"{name}.csv", some, "%d", ",", header="l,r,t", comments="")
    ingest = {"left": "l", "right": "r", "time": "t", "window": "20"}
    run(str(tmp_path / "base.csv"), load_settings(store=str(tmp_path / "s"), ingest=ingest, cluster={"local": True}))
    found = update(str(tmp_path / "new.csv"), settings_of(tmp_path / "s", cluster))
    assert (found.how, found.edges, found.gone) == ("changes", 60, 60)
    assert found.workers >= 1
    whole = load_settings(store=str(tmp_path / "t"), ingest=ingest, cluster={"local": True})
    assert found.digest == run(str(tmp_path / "all.csv"), whole).digest


def test_the_command_starts_a_cluster_of_its_own(table, capsys):
    base_of(table, table / "store")
    arguments = ["update", str(table / "new.csv"), "--store", str(table / "store"), "--workers", "1", "--threads", "1"]
    assert invoke([*arguments, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["how"], record["workers"]) == ("changes", 1)
    assert record["digest"] == run(str(table / "all.csv"), settings_of(table / "scratch")).digest


class Told(logging.Handler):
    """Does something as soon as so many portions were searched."""

    def __init__(self, portions, then):
        super().__init__()
        self.portions, self.then = portions, then

    def emit(self, record):
        if record.event == "portion searched":
            self.portions -= 1
            if self.portions == 0:
                self.then()


@contextmanager
def after(portions, then):
    told, level = Told(portions, then), LOGGER.level
    LOGGER.addHandler(told)
    LOGGER.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOGGER.removeHandler(told)
        LOGGER.setLevel(level)


@by_night
@pytest.mark.usefixtures("spawned")
def test_a_worker_that_is_killed_costs_nothing_but_time(table):
    base_of(table, table / "store")
    killed = []

    def kill():
        killed.append(next(iter(client.run(os.getpid).values())))
        os.kill(killed[0], signal.SIGKILL)

    with open_cluster(ClusterSettings(workers=2, dashboard=False)) as client, after(1, kill):
        found = update(str(table / "new.csv"), settings_of(table / "store", client))
    assert killed
    assert found.digest == run(str(table / "all.csv"), settings_of(table / "scratch")).digest
    assert left_by_workers(table / "store") == []


@contextmanager
def interrupted():
    """Ctrl-C while portions are searched."""
    with after(3, lambda: os.kill(os.getpid(), signal.SIGINT)):
        yield


@contextmanager
def spoilt():
    """Changed edges that no worker can read."""
    real = RunFolder.write_arrays

    def write(self, name, arrays, about=None):
        file = real(self, name, arrays, about)
        flip_a_bit(self, name)
        return file

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunFolder, "write_arrays", write)
        yield


@pytest.mark.parametrize(
    ("end", "error", "said"),
    [(interrupted, KeyboardInterrupt, "^$"), (spoilt, BicliqError, "checksum.*the version before stays the latest")],
)
def test_an_update_that_ends_early_leaves_the_version_before(table, cluster, end, error, said):
    base = base_of(table, table / "store")
    settings = settings_of(table / "store", cluster)
    with end(), pytest.raises(error, match=said):
        update(str(table / "new.csv"), settings)
    assert open_run(settings.store).run == base
    found = update(str(table / "new.csv"), settings)
    assert found.digest == run(str(table / "all.csv"), settings_of(table / "scratch")).digest
    assert left_by_workers(table / "store") == []
    assert verify_store(Store.open(settings.store)).problems == []


def test_a_few_edges_ask_no_cluster(table, monkeypatch):
    monkeypatch.undo()
    base_of(table, table / "store")
    nobody = load_settings(store=str(table / "store"), cluster={"scheduler": "tcp://127.0.0.1:9"})
    (table / "one.csv").write_text("l,r\n0,89\n1,88\n")
    found = update(str(table / "one.csv"), nobody)
    assert (found.how, found.workers) == ("changes", 0)
    assert found.placement["changes"].startswith("this process: few ")
