"""How far a search is: told in the caller's thread, in order, not too often, and of the batch that
is searched."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from bicliq.pipeline.settings import PlanSettings, SearchSettings
from bicliq.pipeline.stages import search_run as searching
from bicliq.pipeline.stages.plan import plan
from bicliq.pipeline.stages.search_run import search_run
from bicliq.pipeline.store.layout import Store
from tests.integration.stored_graphs import put_graph, random_graph

GRAPH = random_graph(120, 100, 0.08, seed=4)


@pytest.fixture(params=["here", "on a cluster"])
def client(request, cluster):
    return None if request.param == "here" else cluster


@pytest.fixture
def store(tmp_path):
    return Store.open(str(tmp_path / "store"))


def planned(store, partitions=9) -> str:
    return plan(store, put_graph(store, GRAPH), SearchSettings(), PlanSettings(partitions=partitions)).run


class Listener:
    """Keeps what it is told, in which thread, and whether an event loop runs there."""

    def __init__(self):
        self.told, self.threads, self.in_a_loop = [], set(), False

    def __call__(self, state):
        self.told.append(state)
        self.threads.add(threading.current_thread())
        try:
            asyncio.get_running_loop()
            self.in_a_loop = True
        except RuntimeError:
            pass


def test_it_is_told_in_the_callers_thread_never_goes_back_and_ends_with_everything_done(store, client, monkeypatch):
    monkeypatch.setattr(searching, "REPORT_SECONDS", 0)
    listener = Listener()
    record = search_run(store, planned(store), client, listener)
    assert listener.threads == {threading.current_thread()}
    assert not listener.in_a_loop
    done = [state.partitions_done for state in listener.told]
    assert done == sorted(done)
    assert (done[0], len(done) > 10) == (0, True), "partitions that are being searched tell nothing"
    last = listener.told[-1]
    assert (last.partitions_done, last.partitions, last.bicliques) == (9, 9, record.bicliques)
    assert (last.roots_done, last.cost_done) == (last.n_roots, last.cost)


def test_it_is_not_told_more_often_than_it_is_of_use_but_always_the_end(store, client):
    listener, run, began = Listener(), planned(store, partitions=20), time.monotonic()
    search_run(store, run, client, listener)
    assert len(listener.told) <= 2 + (time.monotonic() - began) / searching.REPORT_SECONDS
    assert [listener.told[at].partitions_done for at in (0, -1)] == [0, 20]


def test_a_batch_tells_of_its_own_partitions_and_ends_with_all_of_them(store, client):
    run, bicliques = planned(store), 0
    for batch in ([0, 4, 8], [1, 5], [2, 6], [3, 7]):
        listener = Listener()
        search_run(store, run, client, listener, only=batch)
        first, last = listener.told[0], listener.told[-1]
        assert (first.partitions_done, first.roots_done, first.cost_done, first.bicliques) == (0, 0, 0, 0)
        assert (last.partitions_done, last.partitions) == (len(batch), len(batch))
        assert (last.roots_done, last.cost_done) == (last.n_roots, last.cost)
        commits = store.run(run).committed()
        assert last.bicliques == sum(commits[number].rows for number in batch)
        bicliques += last.bicliques
    assert bicliques == search_run(store, run).bicliques


def test_a_batch_that_was_searched_before_is_told_as_done(store):
    run = planned(store)
    batch = [0, 4, 8]
    search_run(store, run, only=batch)
    listener = Listener()
    assert search_run(store, run, progress=listener, only=batch).searched == 0
    assert {state.partitions_done for state in listener.told} == {len(batch)}


def test_who_interrupts_is_heard_while_workers_search(store, cluster):
    def stop(state):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search_run(store, planned(store), cluster, stop)
    assert search_run(store, planned(store), cluster).complete
