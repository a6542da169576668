"""An object store that fails, throttles, answers late or knows no conditions loses nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from bicliq.pipeline.errors import StorageError, may_heal
from bicliq.pipeline.settings import PlanSettings, SearchSettings
from bicliq.pipeline.stages.partition import write_partitions
from bicliq.pipeline.stages.plan import plan
from bicliq.pipeline.stages.publish import publish
from bicliq.pipeline.stages.search import search_partition
from bicliq.pipeline.stages.search_run import search_run
from bicliq.pipeline.stages.verify import verify, verify_store
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run
from tests.integration.stored_graphs import bicliques_of, brute_force, digest_of, put_graph, random_graph
from tests.nightly import by_night

pytest.importorskip("s3fs")
pytest.importorskip("moto.server")

GRAPH = random_graph(seed=11)
ANSWER = brute_force(GRAPH)
OUTAGES = 3 if "BICLIQ_FAULTS" not in os.environ else 20


def planned(name: str) -> tuple[Store, str]:
    store = Store.open(f"s3://bad-days/{name}")
    return store, plan(store, put_graph(store, GRAPH), SearchSettings(), PlanSettings(partitions=3)).run


def check(store: Store, run: str) -> None:
    assert publish(store, run).digest == digest_of(ANSWER)
    found = verify(store, run)
    assert (found.problems, found.leftovers) == ([], [])
    assert bicliques_of(open_run(store).table(ids=False)) == ANSWER


def test_a_partition_takes_few_requests(door):
    """Each takes a while on a store far away: whether there is one, three records, what is
    committed, the partition and its record; both writes, what other attempts left, and an earlier
    failure."""
    store, run = planned("few")
    write_partitions(store, run)
    for number in range(3):
        before = door.requests
        search_partition(store.uri, run, number)
        assert door.requests - before <= 11
        before = door.requests
        search_partition(store.uri, run, number)
        assert door.requests - before <= 3, "the store, its record, and the commit"


def test_requests_that_fail_now_and_then_are_made_again(door):
    store, run = planned("now-and-then")
    before = door.failed
    door.fails = lambda method, path, number: ("500", "gone", "503")[number % 3] if number % 17 == 3 else None
    search_run(store, run)
    assert door.failed > before + 3
    door.fails = lambda method, path, number: None
    check(store, run)


def test_what_was_written_though_its_answer_was_lost_is_written_once(door):
    """The second try meets its own object: that is no other process's commit."""
    store, run = planned("lost")
    before = door.failed
    door.fails = lambda method, path, number: "lost" if method == "PUT" and number % 2 else None
    searched = search_run(store, run)
    assert (searched.searched, searched.digest) == (3, digest_of(ANSWER))
    assert door.failed > before + 3
    door.fails = lambda method, path, number: None
    assert search_run(store, run).searched == 0
    check(store, run)


def test_what_a_store_that_fails_for_long_interrupts_goes_on_when_it_is_back(door, monkeypatch):
    store, run = planned("for-long")
    random = np.random.default_rng(4)
    interrupted = list[StorageError]()
    monkeypatch.setattr("s3fs.S3FileSystem.retries", 1)
    for _ in range(OUTAGES):
        begins = door.requests + int(random.integers(5, 60))
        door.fails = lambda method, path, number, begins=begins: "503" if number >= begins else None
        try:
            search_run(store, run)
        except StorageError as error:
            interrupted.append(error)
        door.fails = lambda method, path, number: None
        kept = store.run(run).committed()
        assert all(commit.complete for commit in kept.values())
    assert interrupted
    assert all(may_heal(error) for error in interrupted), "a flow tries such a task again"
    assert all("cannot" in str(error) for error in interrupted)
    monkeypatch.undo()
    search_run(store, run)
    check(store, run)


def test_lists_that_lag_behind_lose_nothing(door):
    store, run = planned("lists")
    search_run(store, run, only=[0, 1])
    store.run(run).committed()
    door.lags = True
    kept = search_run(store, run)
    assert kept.digest == digest_of(ANSWER)
    door.lags = False
    assert search_run(store, run).searched == 0
    check(store, run)


def test_a_store_without_conditions_commits_each_partition_once_after_another(door):
    door.knows_conditions = False
    store, run = planned("no-conditions")
    search_run(store, run)
    commits = store.run(run).committed()
    for number, commit in commits.items():
        assert search_partition(store.uri, run, number) == commit
    check(store, run)


@by_night
def test_two_searches_at_once_on_a_store_that_throttles_commit_each_partition_once(door):
    store, run = planned("two-at-once")
    write_partitions(store, run)
    throttled = set[tuple[str, str]]()

    def throttle(method: str, path: str, number: int) -> str | None:
        if number % 29 != 5 or (method, path) in throttled:
            return None  # a request that is made again may be the twenty-ninth again
        throttled.add((method, path))
        return "503"

    door.fails = throttle
    started = threading.Barrier(2)

    def search(number: int) -> str:
        started.wait()
        return search_partition(store.uri, run, number).file

    with ThreadPoolExecutor(2) as pool:
        for number in range(3):
            one, other = pool.map(search, [number, number])
            assert one == other
    check(store, run)


QUICK = '{"config_kwargs": {"read_timeout": 0.5, "retries": {"max_attempts": 0}}}'
"""What docs/operations.md says of the time to wait, for a test."""


@pytest.mark.parametrize("what", ["store", "table"])
def test_a_store_that_never_answers_ends_the_command_in_time_and_is_named(door, tmp_path, what):
    table, store = write_table(tmp_path), str(tmp_path / "store")
    if what == "store":
        store = "s3://bad-days/silent"
    else:
        table = "s3://bad-days/silent.csv"
    before = door.failed
    door.fails = lambda method, path, number: "silent"
    ended = bicliq("run", table, "--store", store, "--local")
    assert ended.returncode == 2, ended.stderr
    (line,) = ended.stderr.splitlines()
    assert "bad-days/silent" in line
    assert door.url in line
    assert "there was no answer in time: check that it can be reached" in line
    assert 2 <= door.failed - before <= 10, "it was tried again some times"


@by_night
def test_a_store_that_answers_late_is_asked_again_and_loses_nothing(door, tmp_path):
    before = door.failed
    door.fails = lambda method, path, number: "silent" if number % 40 == 7 else None
    ended = bicliq("run", write_table(tmp_path), "--store", "s3://bad-days/late", "--local", "--json")
    assert ended.returncode == 0, ended.stderr
    assert door.failed > before + 1
    door.fails = lambda method, path, number: None
    assert json.loads(ended.stdout)["bicliques"] == len(ANSWER)
    found = verify_store(Store.open("s3://bad-days/late"))
    assert (found.problems, found.leftovers) == ([], [])


def write_table(folder: Path) -> str:
    """The graph as a table."""
    rows = zip(GRAPH.edge_left.tolist(), GRAPH.indices.tolist(), strict=True)
    (folder / "edges.csv").write_text("".join(["l,r\n", *(f"u{u},v{v}\n" for u, v in rows)]))
    return str(folder / "edges.csv")


def bicliq(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command that waits half a second for an answer; a hang is an error."""
    return subprocess.run(
        [sys.executable, "-m", "bicliq.flows.cli", *arguments],
        env={**os.environ, "FSSPEC_S3": QUICK},
        capture_output=True,
        text=True,
        timeout=240,
    )
