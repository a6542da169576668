"""Runs that are cancelled: the work stops on all workers, what is committed stays, and the next run
goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from bicliq import kernels
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.placement.tasks import hand_out
from bicliq.pipeline.run import Observer, run
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.store.layout import Store
from tests.integration.killed import killed
from tests.integration.server import ask, deployed, runs_of, wait_for
from tests.integration.stored_graphs import random_graph

SECONDS = 60.0
"""Within which work that nobody waits for must have stopped; it would take hours."""

BICLIQUES = 44_244
"""Of `table`."""


def search_for_hours(here):
    here.tell("begun")
    graph = random_graph(400, 400, 0.5, seed=1)
    return kernels.enumerate_maximal_bicliques(graph.indptr, graph.indices, graph.n_right, threads=1).bicliques


def stream_nothing_for_hours(here):
    here.tell("begun")
    graph = random_graph(400, 400, 0.5, seed=1)
    stream = kernels.stream_maximal_bicliques(graph.indptr, graph.indices, graph.n_right, threads=1, min_edges=10**4)
    return sum(len(batch) for batch in stream)


def answer_seven(here):
    return 7


def running_tasks(client) -> int:
    return sum(client.run(lambda dask_worker: dask_worker.state.executing_count).values())


def known_tasks(client) -> int:
    """Tasks that the scheduler would still start, or waits for."""
    return client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def stop_at_once(message):
    raise KeyboardInterrupt


@pytest.mark.parametrize("task", [search_for_hours, stream_nothing_for_hours])
def test_work_stops_when_nobody_waits_for_it(cluster, task):
    tasks = iter([(0, task), (1, task), (2, task), (3, task)])
    with pytest.raises(KeyboardInterrupt):
        list(hand_out(cluster, lambda: next(tasks, None), stop_at_once))
    assert running_tasks(cluster) > 0
    deadline = time.monotonic() + SECONDS
    while running_tasks(cluster) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert running_tasks(cluster) == 0
    assert cluster.call_stack() == {}
    later = iter([(n, answer_seven) for n in range(20)])
    assert [ended.value for ended in hand_out(cluster, lambda: next(later, None))] == [7] * 20


def test_work_stops_when_the_process_that_waits_for_it_is_killed(cluster):
    code = (
        "import sys; from distributed import Client; from bicliq.pipeline.placement.tasks import hand_out;"
        "from tests.integration.test_cancelled import search_for_hours;"
        "tasks = iter([(0, search_for_hours)]);"
        "list(hand_out(Client(sys.argv[1]), lambda: next(tasks, None), lambda said: print(said, flush=True)))"
    )
    process = subprocess.Popen([sys.executable, "-c", code, cluster.scheduler.address], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"begun\n"
    assert running_tasks(cluster) == 1
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + SECONDS
    while running_tasks(cluster) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert running_tasks(cluster) == 0


# ---- the whole way -------------------------------------------------------------------------------


def edge_table(folder, n_vertices: int) -> str:
    """An edge table of a dense random graph with so many vertices a side."""
    graph = random_graph(n_vertices, n_vertices, 0.4, seed=1)
    rows = np.stack([graph.edge_left, graph.indices], axis=1)
    np.savetxt(folder / "edges.csv", rows, "%d", ",", header="l,r", comments="")
    return str(folder / "edges.csv")


@pytest.fixture
def table(tmp_path):
    """An edge table with `BICLIQUES` of them."""
    return edge_table(tmp_path, 60)


@contextmanager
def running(log, *command, ended_by=signal.SIGINT):
    with log.open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "bicliq.flows.cli", *command],
            env={**os.environ, "PREFECT_RUNNER_POLL_FREQUENCY": "1"},
            stdout=said,
            stderr=said,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    try:
        yield process
    finally:
        process.send_signal(ended_by)
        process.wait(60)


def committed(store: str) -> set[str]:
    """Names of the commit records that are there."""
    try:
        opened = Store.open(store, create=False)
        return {name for run in opened.runs() for name in opened.run(run).files("commits")}
    except Exception:  # the store is being made
        return set()


def contents(store: str, names: set[str]) -> dict[str, bytes]:
    """What the records hold that have these names; they are of the store's one run."""
    opened = Store.open(store, create=False)
    (run_id,) = opened.runs()
    folder = Path(store) / "runs" / run_id
    return {name: (folder / name).read_bytes() for name in sorted(names)}


def test_a_flow_that_is_cancelled_stops_its_workers_keeps_commits_and_resumes(tmp_path, cluster, prefect_server):
    table, store, url = edge_table(tmp_path, 240), str(tmp_path / "store"), prefect_server  # minutes of work
    search = (table, "--store", store, "--partitions", "64", "--threads", "1")
    serve = ("serve", *search, "--name", "to-cancel")
    with running(tmp_path / "serve.log", *serve, "--scheduler", cluster.scheduler.address):
        deployment = wait_for(lambda: deployed(url, "to-cancel"), 120)["id"]
        ask(f"{url}/deployments/{deployment}/create_flow_run", {})
        wait_for(lambda: len(committed(store)) >= 2, 180)
        (flow_run,) = runs_of(url, deployment)
        asked = {"state": {"type": "CANCELLING"}, "force": False}
        ask(f"{url}/flow_runs/{flow_run['id']}/set_state", asked)
        wait_for(lambda: runs_of(url, deployment)[0]["state_type"] == "CANCELLED", 180)
        wait_for(lambda: known_tasks(cluster) == 0 and running_tasks(cluster) == 0, SECONDS)
        kept = committed(store)
    assert 2 <= len(kept) < 64
    records = contents(store, kept)
    with running(tmp_path / "again.log", "run", *search, "--local", ended_by=signal.SIGKILL):
        wait_for(lambda: len(committed(store)) > len(kept), 120)
    assert contents(store, kept) == records


HEARD = """
import asyncio, sys
from prefect import flow
from prefect._internal.observers import FlowRunCancellingObserver
from prefect.client.orchestration import get_client
from prefect.states import Cancelling, Running
from bicliq.flows.outages import hears_of_cancelling

hears_of_cancelling(FlowRunCancellingObserver)

async def heard(connection_closes):
    told = []
    async with get_client() as client, FlowRunCancellingObserver(told.append, polling_interval=1) as observer:
        run = await client.create_flow_run(flow(lambda: None, name="cancelled"), state=Running())
        observer.add_in_flight_flow_run_id(run.id)
        if connection_closes:
            await observer._events_subscriber._websocket.close()
        await client.set_flow_run_state(run.id, Cancelling())
        for _ in range(600):
            await asyncio.sleep(0.1)
            if told:
                break
        await asyncio.sleep(3)  # asked at least twice more
        return told == [run.id]

print([asyncio.run(heard(closes)) for closes in (False, True)])
"""


def test_a_run_that_is_cancelled_is_told_of_once_whether_or_not_its_event_was_heard(prefect_server):
    assert subprocess.run([sys.executable, "-c", HEARD], capture_output=True, text=True).stdout == "[True, True]\n"


SEARCH = """
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import load_settings
run(given[0], load_settings(store=given[1], plan={"partitions": 8}, cluster={"local": True}, second_run="wait"))
"""


def test_a_second_run_takes_over_from_a_dead_one(tmp_path, table):
    store = str(tmp_path / "store")
    killed(SEARCH, table, store, method="commit_partition", when="after", at=3)
    settings = {"store": store, "plan": {"partitions": 8}, "cluster": {"local": True}, "second_run": "refuse"}
    record = run(table, load_settings(**settings))  # the lock died with its process
    assert (record.bicliques, record.searched) == (BICLIQUES, 8 - 3)


def test_a_second_run_is_refused_or_waits_and_finds_everything_done(tmp_path, table, caplog):
    settings = {"store": str(tmp_path / "store"), "plan": {"partitions": 4}, "cluster": {"local": True}}
    searches, may_go_on = Event(), Event()

    def stands_still(progress):
        searches.set()
        assert may_go_on.wait(120)

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(run, table, load_settings(**settings, second_run="refuse"), Observer(search=stands_still))
        try:
            assert searches.wait(120)
            with pytest.raises(InputError, match="another process searches this run"):
                run(table, load_settings(**settings, second_run="refuse"))
            second = pool.submit(run, table, load_settings(**settings, second_run="wait"))
            wait_for(lambda: "run waits for another process" in caplog.text, 120)
        finally:
            may_go_on.set()
        assert (first.result().bicliques, first.result().searched) == (BICLIQUES, 4)
        assert (second.result().bicliques, second.result().searched) == (BICLIQUES, 0)


def test_locks_that_an_object_store_does_not_have_are_refused(table):
    settings = load_settings(store="memory://no-locks", cluster={"local": True}, second_run="wait")
    with pytest.raises(InputError, match="object stores know no locks"):
        run(table, settings)


def test_a_count_that_another_process_makes_is_refused_or_shared_as_asked(tmp_path, table):
    from bicliq.pipeline.questions.count_asked import CountAsked
    from bicliq.pipeline.questions.count_partitions import count_partitions, plan_count
    from bicliq.pipeline.settings import IngestSettings
    from bicliq.pipeline.stages.ingest import ingest

    store = Store.open(str(tmp_path / "store"))
    settings = {"store": store.uri, "plan": {"partitions": 3}, "cluster": {"local": True}}
    graph = ingest(table, store, IngestSettings()).graph
    run, method = plan_count(store, graph, CountAsked(2, 2), load_settings(**settings))
    with store.run(run).claim_run("share"):  # as another process has it that counts
        with pytest.raises(InputError, match="another process searches this run"):
            count_partitions(store, run, CountAsked(2, 2), method, load_settings(**settings, second_run="refuse"))
        assert count_partitions(store, run, CountAsked(2, 2), method, load_settings(**settings)) == 3
