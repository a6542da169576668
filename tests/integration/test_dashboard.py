"""The page of searches on Dask's dashboard, seen in a real browser, and the figures for
Prometheus."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import httpx
import numpy as np
import pytest
from distributed import Client

from bicliq.pipeline.placement import watching
from bicliq.pipeline.placement.cluster import open_cluster
from bicliq.pipeline.placement.dashboard import RATE_SECONDS, Searches
from bicliq.pipeline.placement.watching import TOPIC, Watched, standing
from bicliq.pipeline.settings import ClusterSettings, PlanSettings, SearchSettings, load_settings
from bicliq.pipeline.stages.plan import plan
from bicliq.pipeline.stages.search_run import search_run
from bicliq.pipeline.store.layout import Store
from tests.integration.chromium import browser, needs_chromium
from tests.integration.server import wait_for
from tests.integration.stored_graphs import put_graph, random_graph
from tests.nightly import by_night
from tests.real_graphs import COUNTS, DATA

LONG = random_graph(160, 160, 0.4, seed=1)
"""23,565,628 bicliques: some seconds of a core."""


@pytest.fixture(scope="module")
def cluster():
    """One of its own, on which nothing was searched before."""
    with open_cluster(ClusterSettings(workers=2)) as client:
        yield client


@pytest.fixture
def store(tmp_path):
    return Store.open(str(tmp_path / "store"))


def planned(store, graph, partitions) -> str:
    return plan(store, put_graph(store, graph), SearchSettings(threads=1), PlanSettings(partitions=partitions)).run


def home_of(client) -> str:
    return client.dashboard_link.removesuffix("/status")


def figures(address: str) -> dict[str, float]:
    """Our figures at a ``/metrics``, by their names and labels."""
    lines = httpx.get(f"{address}/metrics", timeout=30).raise_for_status().text.splitlines()
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line.startswith("bicliq"))}


# ---- on a real run -------------------------------------------------------------------------------


@needs_chromium
def test_a_browser_sees_a_search_go_on_and_end(tmp_path, cluster, store):
    run = planned(store, LONG, 48)
    with browser(tmp_path / "browser") as tab:
        tab.open(f"{home_of(cluster)}/bicliq")
        tab.wait_for("no search yet")
        search = threading.Thread(target=search_run, args=(store, run, cluster))
        search.start()
        seen = tab.wait_for("1 of 1 searches go on, 2 workers", run, "until", "GiB of")
        assert "goes on" in seen
        tab.wait_for(run, "done 48 of 48 100.0% 23,565,628")
        search.join()
        assert tab.value("document.querySelectorAll('.navbar a[href=bicliq]').length") == 1
        tab.open(f"{home_of(cluster)}/workers")
        tab.wait_for("bicliq_partition", "bicliq_bicliques_per_second")


def test_prometheus_finds_the_search_at_the_scheduler_and_its_share_at_each_worker(cluster, store):
    run = planned(store, random_graph(120, 100, 0.08, seed=4), 9)
    addresses = [
        f"http://127.0.0.1:{info['services']['dashboard']}" for info in cluster.scheduler_info()["workers"].values()
    ]
    before = sum(figures(address).get("bicliq_worker_bicliques_total", 0) for address in addresses)
    found = search_run(store, run, cluster)
    told = figures(home_of(cluster))
    assert told[f'bicliq_partitions{{asks="bicliques",run="{run}",state="committed"}}'] == 9
    assert told[f'bicliq_partitions{{asks="bicliques",run="{run}",state="waiting"}}'] == 0
    assert told[f'bicliq_bicliques{{asks="bicliques",run="{run}"}}'] == found.bicliques
    shares = [figures(address) for address in addresses]
    assert sum(share["bicliq_worker_bicliques_total"] for share in shares) - before == found.bicliques
    assert {share["bicliq_worker_searching"] for share in shares} == {0}


@contextmanager
def dask(*command: str):
    process = subprocess.Popen(
        [sys.executable, "-m", "dask", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(60)


@by_night
def test_a_scheduler_of_others_gets_the_page_by_a_preload(tmp_path):
    file = tmp_path / "scheduler.json"
    options = (
        "--host",
        "127.0.0.1",
        "--port",
        "0",
        "--dashboard-address",
        "127.0.0.1:0",
        "--scheduler-file",
        str(file),
    )
    preload = ("--preload", "bicliq.pipeline.placement.dashboard")
    worker = ("worker", "--scheduler-file", str(file), "--nthreads", "1", "--no-dashboard")
    with dask("scheduler", *options, *preload), dask(*worker):
        wait_for(file.exists, 60)
        with Client(scheduler_file=str(file)) as client:
            client.wait_for_workers(1, timeout=240)
            address = client.scheduler.address
            from bicliq.pipeline.run import run

            settings = load_settings(
                store=str(tmp_path / "store"), cluster={"scheduler": address}, plan={"partitions": 5}
            )
            record = run(str(DATA / "UCforum.adj"), settings)
            assert record.bicliques == COUNTS["UCforum"]
            home = home_of(client)
            assert "Bicliq" in httpx.get(f"{home}/bicliq", timeout=30).raise_for_status().text
            assert 'href="bicliq"' in httpx.get(f"{home}/status", timeout=30).text
            told = figures(home)
        assert told[f'bicliq_bicliques{{asks="bicliques",run="{record.run}"}}'] == record.bicliques


def test_a_count_is_watched_too(tmp_path, cluster):
    from bicliq.pipeline.questions.count_asked import CountAsked
    from bicliq.pipeline.questions.count_partitions import count_partitions, plan_count

    store = Store.open(str(tmp_path / "store"))
    settings = load_settings(
        store=store.uri, cluster={"scheduler": cluster.scheduler.address}, plan={"partitions": 6}, search={"threads": 1}
    )
    run, method = plan_count(store, put_graph(store, random_graph(seed=2)), CountAsked(2, 3), settings)
    assert count_partitions(store, run, CountAsked(2, 3), method, settings) == 6
    told = figures(home_of(cluster))
    assert told[f'bicliq_partitions{{asks="counts",run="{run}",state="committed"}}'] == 6
    assert f'bicliq_bicliques{{asks="counts",run="{run}"}}' not in told


# ---- what it costs -------------------------------------------------------------------------------


def test_watching_costs_a_message_a_second_however_many_partitions_there_are(cluster, store):
    run = planned(store, random_graph(300, 200, 0.03, seed=3), 60)
    before, started = len(cluster.get_events(TOPIC)), time.monotonic()
    search_run(store, run, cluster)
    messages, took = len(cluster.get_events(TOPIC)) - before, time.monotonic() - started
    assert 2 <= messages <= took / watching.SECONDS_APART + 2


def test_a_scheduler_that_is_gone_is_not_told_and_nothing_fails():
    with open_cluster(ClusterSettings(workers=1)) as client:
        watched = Watched(client, "a run", "bicliques")
    asked = []
    watched.tell(lambda: asked.append(1) or {}, last=True)
    assert asked == []


# ---- figures of a search -------------------------------------------------------------------------


def told(seconds: float, done: set[int], *, bicliques: int = 0, run: str = "r", ended: bool = False, failed=()) -> dict:
    known = standing(np.full(10, 2.0), done, {}, failed)
    return {"run": run, "asks": "bicliques", **known, "bicliques": bicliques, "seconds": seconds, "ended": ended}


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("bicliq.pipeline.placement.dashboard.time.time", lambda: now[0])
    return now


def test_the_end_is_estimated_from_what_this_search_did_itself(clock):
    searches = Searches()
    searches.log_event(TOPIC, told(0, {0, 1, 2, 3}))
    assert searches.by_run["r"].seconds_left is None
    searches.log_event(TOPIC, told(20, {0, 1, 2, 3, 4, 5}))
    assert searches.by_run["r"].seconds_left == 40  # two partitions in 20 s, four are left
    searches.log_event(TOPIC, told(0, {0, 1, 2, 3, 4, 5}))  # the next batch
    assert searches.by_run["r"].seconds_left is None


def test_rates_are_those_of_the_last_seconds(clock):
    searches = Searches()
    for second in range(20):
        clock[0] = 1000.0 + second
        searches.log_event(TOPIC, told(second, set(), bicliques=100 * second if second < 10 else 1000 * second))
    rates = dict(searches.by_run["r"].rates())
    assert rates[1009.0] == 100
    assert rates[1019.0] == 1000
    assert len(rates) == 19
    assert RATE_SECONDS < 9


@pytest.mark.parametrize(
    ("message", "later", "state"),
    [
        (told(1, {0}), 0, "goes on"),
        (told(1, {0}), 120, "silent for 120 s"),
        (told(1, set(range(10)), ended=True), 0, "done"),
        (told(1, {0}, ended=True), 0, "stopped"),
        (told(1, set(range(9)), ended=True, failed=[9]), 0, "1 failed"),
    ],
)
def test_a_search_has_a_state_in_words(clock, message, later, state):
    searches = Searches()
    searches.log_event(TOPIC, message)
    clock[0] += later
    assert searches.by_run["r"].state == state


def test_only_the_last_searches_are_kept_and_other_topics_are_none_of_ours():
    searches = Searches()
    for n in range(30):
        searches.log_event(TOPIC, told(1, {0}, run=f"run {n}"))
    searches.log_event("another topic", {"what": "ever"})
    assert list(searches.by_run) == [f"run {n}" for n in range(22, 30)]
