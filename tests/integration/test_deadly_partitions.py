"""A partition that takes its workers down: real workers that die, and what is said of it
afterwards."""

from __future__ import annotations

import json
import os
import signal
from html import escape

import numpy as np
import pytest
from distributed import WorkerPlugin

from bicliq import kernels
from bicliq.pipeline.errors import PartitionsFailed
from bicliq.pipeline.graphs.bipartite import read_graph
from bicliq.pipeline.placement import cluster
from bicliq.pipeline.placement.cluster import open_cluster
from bicliq.pipeline.report.page import write_report
from bicliq.pipeline.run import resume
from bicliq.pipeline.settings import ClusterSettings, IngestSettings, PlanSettings, SearchSettings, Settings
from bicliq.pipeline.stages.ingest import ingest
from bicliq.pipeline.stages.partition import read_partition, write_partitions
from bicliq.pipeline.stages.plan import plan
from bicliq.pipeline.stages.planned import read_plan
from bicliq.pipeline.stages.publish import publish
from bicliq.pipeline.stages.search_run import search_run
from bicliq.pipeline.stages.verify import verify
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.store.states import list_runs
from tests.integration.stored_graphs import (
    bicliques_of,
    brute_force,
    digest_of,
    left_label,
    random_graph,
    right_label,
    streamed,
)

GRAPH = random_graph(30, 24, 0.3, seed=7)
ANSWER = brute_force(GRAPH)
PARTITIONS = 3


class Deadly(WorkerPlugin):
    """Takes a worker down when it searches a root that a file names; without a file, nothing.

    So often as the file says.
    """

    name = "deadly"

    def __init__(self, file: str) -> None:
        self.file = file

    def setup(self, worker) -> None:

        for name in ("stream_maximal_bicliques", "stream_row_groups"):
            setattr(kernels, name, self.deadly(getattr(kernels, name)))

    def deadly(self, stream):
        def deadly(*graph, roots, left_ids, **options):
            if os.path.exists(self.file):
                with open(self.file) as file:
                    found = json.load(file)
                if found["root"] in left_ids[roots] and found["times"]:
                    with open(self.file, "w") as file:
                        json.dump({**found, "times": found["times"] - 1}, file)
                    os.kill(os.getpid(), signal.SIGKILL)
            return stream(*graph, roots=roots, left_ids=left_ids, **options)

        return deadly


SEARCH, PLAN = SearchSettings(side="left"), PlanSettings(partitions=PARTITIONS)


@pytest.fixture
def planned(tmp_path):
    table = tmp_path / "edges.csv"
    edges = zip(GRAPH.edge_left.tolist(), GRAPH.indices.tolist(), strict=True)
    table.write_text("".join(["user,item\n", *(f"{left_label(u)},{right_label(v)}\n" for u, v in edges)]))
    store = Store.open(str(tmp_path / "store"))
    graph = ingest(str(table), store, IngestSettings()).graph
    assert read_graph(store.graph(graph)).digest == GRAPH.digest, "its dense ids are those of the test"
    record = plan(store, graph, SEARCH, PLAN)
    assert record.partitions == PARTITIONS
    write_partitions(store, record.run)
    return store, record.run


@pytest.fixture(scope="module")
def workers(tmp_path_factory):
    """A cluster, and the file that says what its workers die of."""
    file = tmp_path_factory.mktemp("deadly") / "deadly.json"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "ALLOWED_FAILURES", 0)  # the first death counts, which saves minutes
        with open_cluster(ClusterSettings(workers=2, dashboard=False)) as client:
            client.register_plugin(Deadly(str(file)))
            yield client, file


@pytest.fixture
def client(workers):
    yield workers[0]
    workers[1].unlink(missing_ok=True)


@pytest.fixture
def dies_of(workers):
    return lambda root, times=99: workers[1].write_text(json.dumps({"root": root, "times": times}))


def a_root(store, run):
    """A partition, and the root in it that has most bicliques."""
    found = read_plan(store.run(run))
    at = int(np.argmax(found.cost))
    return int(found.partition[at]), int(found.roots[at])


def test_a_partition_whose_worker_died_once_is_searched_alone(planned, client, dies_of):
    store, run = planned
    _, root = a_root(store, run)
    dies_of(root, times=1)
    found = search_run(store, run, client)
    assert (found.digest, found.searched, found.complete) == (digest_of(ANSWER), PARTITIONS, True)
    assert publish(store, run).complete
    checked = verify(store, run)
    assert (checked.problems, checked.leftovers) == ([], [])
    assert bicliques_of(open_run(store).table(ids=False)) == ANSWER
    assert search_run(store, run).searched == 0


def test_a_partition_that_takes_its_workers_down_fails_and_all_others_finish(planned, client, dies_of):
    store, run = planned
    number, root = a_root(store, run)
    part = read_partition(store.run(run), number)
    lost = streamed(part)
    assert lost
    dies_of(root)
    asked = Settings(store=store.uri, cluster=ClusterSettings(scheduler=client.scheduler.address))
    with pytest.raises(PartitionsFailed, match=f"1 of {PARTITIONS} partitions failed .partition {number}") as failed:
        resume(run, asked)
    said = store.run(run).failures()[number]
    assert said in str(failed.value)
    assert "give workers more memory" in said

    opened = open_run(store)
    assert bicliques_of(opened.table(ids=False)) == ANSWER - lost
    assert (opened.state.name, opened.state.complete, opened.state.failed) == ("failed", False, {number: said})
    assert (opened.manifest.complete, opened.manifest.failed) == (False, {str(number): said})
    (listed,) = list_runs(store)
    assert (listed["state"], listed["complete"], listed["failed"]) == ("failed", False, {str(number): said})
    assert escape(said) in store.fs.cat_file(write_report(opened)).decode()
    checked = verify(store, run)
    assert (checked.problems, checked.leftovers, checked.complete) == ([], [], False)
    assert said in checked.state

    again = search_run(store, run)  # in a process that does not die
    assert (again.searched, again.digest, again.complete) == (1, digest_of(ANSWER), True)
    assert (publish(store, run).failed, store.run(run).failures()) == ({}, {})
    assert open_run(store).state.complete


def test_a_flow_searches_all_others_and_publishes_what_they_found(planned, client, dies_of, prefect_server):
    """Each partition is a batch of its own."""
    from bicliq.flows.enumerate import enumerate_graph  # not above: each worker reads this module

    store, run = planned
    number, root = a_root(store, run)
    dies_of(root)
    parts = {"search": SEARCH.model_dump(), "plan": PLAN.model_dump()}
    asked = {"store": store.uri, "cluster": {"scheduler": client.scheduler.address}, **parts}
    with pytest.raises(PartitionsFailed, match=f"partition {number}: each worker"):
        enumerate_graph(store.graphs()[0], asked)
    manifest = store.run(run).published()
    assert (manifest.complete, set(manifest.failed), manifest.partitions) == (False, {str(number)}, PARTITIONS - 1)
