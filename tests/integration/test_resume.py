"""Killing any process loses nothing that was committed; the next run does only what is missing."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from bicliq.pipeline.placement.cluster import open_cluster
from bicliq.pipeline.settings import ClusterSettings, PlanSettings, SearchSettings
from bicliq.pipeline.stages.partition import write_partition
from bicliq.pipeline.stages.plan import plan
from bicliq.pipeline.stages.publish import publish
from bicliq.pipeline.stages.search import search_partition
from bicliq.pipeline.stages.search_run import search_run
from bicliq.pipeline.stages.verify import verify
from bicliq.pipeline.store.commits import data_name
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.records import Commit
from bicliq.pipeline.store.results import open_run
from tests.forked import Forked
from tests.integration.killed import search
from tests.integration.stored_graphs import bicliques_of, brute_force, digest_of, put_graph, random_graph

GRAPH = random_graph(240, 200, 0.02, seed=5)
ANSWER = brute_force(GRAPH)
PARTITIONS = 60
PATIENCE = 60
"""Seconds to wait for a process to get somewhere."""


@pytest.fixture
def store(tmp_path):
    return Store.open(str(tmp_path / "store"))


@pytest.fixture
def run(store):
    record = plan(store, put_graph(store, GRAPH), SearchSettings(side="left"), PlanSettings(partitions=PARTITIONS))
    assert record.partitions == PARTITIONS
    return record.run


def wait_for_commits(folder, number):
    deadline = time.monotonic() + PATIENCE
    while sum(name.endswith(".json") for name in folder.files("commits")) < number:
        assert time.monotonic() < deadline, "nothing was committed"
        time.sleep(0.001)


def kill_a_search_after(store, run, commits):
    process = Forked(search, store.uri, run)
    try:
        wait_for_commits(store.run(run), commits)
    finally:
        process.kill()
        process.wait()


def test_a_killed_search_goes_on_where_it_was(store, run):
    folder = store.run(run)
    kill_a_search_after(store, run, 3)
    kept = folder.committed()
    assert 3 <= len(kept) < PARTITIONS
    assert bicliques_of(open_run(store).table(ids=False)) <= ANSWER
    written = {n: os.stat(folder.path_of(data_name(n))).st_mtime_ns for n in kept}

    kill_a_search_after(store, run, len(kept) + 3)
    again = search_run(store, run)

    assert again.searched < PARTITIONS - len(kept)
    assert {n: commit for n, commit in folder.committed().items() if n in kept} == kept
    assert {n: os.stat(folder.path_of(data_name(n))).st_mtime_ns for n in kept} == written
    assert publish(store, run).digest == digest_of(ANSWER)
    assert verify(store, run).problems == []


@pytest.mark.usefixtures("spawned")
def test_killed_workers_lose_nothing(store, run):
    folder = store.run(run)
    with open_cluster(ClusterSettings(workers=2, dashboard=False)) as client:
        victims = client.run(os.getpid)
        found = []
        searching = threading.Thread(target=lambda: found.append(search_run(store, run, client)))
        searching.start()
        wait_for_commits(folder, 2)
        os.kill(next(iter(victims.values())), signal.SIGKILL)
        searching.join(PATIENCE)
        assert not searching.is_alive()
    assert found[0].digest == digest_of(ANSWER)
    assert publish(store, run).bicliques == len(ANSWER)
    assert verify(store, run).problems == []


def test_a_search_killed_before_its_commit_searches_that_partition_again(store, run):
    folder = store.run(run)
    search_run(store, run)
    folder.remove(Commit.name(7))
    assert Forked(search, store.uri, run).wait() == 0
    assert folder.read_commit(7) is not None


def test_two_searches_at_once_share_the_partitions(store, run):
    folder = store.run(run)
    searches = [Forked(search, store.uri, run) for _ in range(2)]
    first, second = searches
    wait_for_commits(folder, 5)
    second.kill()
    second.wait()
    assert first.wait(PATIENCE) == 0
    assert publish(store, run).digest == digest_of(ANSWER)
    assert verify(store, run).problems == []


def test_a_claimed_partition_is_waited_for(store, run):
    write_partition(store, run, 0)
    folder, began = store.run(run), threading.Event()

    def claim():
        began.set()
        search_partition(store.uri, run, 0)

    with folder.claim_partition(0):
        waiting = threading.Thread(target=claim)
        waiting.start()
        assert began.wait(PATIENCE)
        waiting.join(0.3)
        assert waiting.is_alive()
        assert folder.read_commit(0) is None
    waiting.join(PATIENCE)
    assert folder.read_commit(0) is not None
