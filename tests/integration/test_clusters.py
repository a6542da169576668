"""Clusters of others: a job script, workers that are killed, a cluster that scales itself."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from pipeline.placement.cluster import open_cluster
from pipeline.run import run
from pipeline.settings import ClusterSettings, load_settings
from pipeline.store.results import open_run
from tests.integration.server import wait_for
from tests.integration.stored_graphs import random_graph
from tests.integration.test_cancelled import committed
from tests.real_graphs import COUNTS, DATA

ROOT = DATA.parents[1]
PAGE = ROOT / "docs" / "clusters.md"


@pytest.fixture
def table(tmp_path):
    """An edge table with five million bicliques: some seconds of one core."""
    graph = random_graph(130, 130, 0.4, seed=1)
    rows = np.stack([graph.edge_left, graph.indices], axis=1)
    np.savetxt(tmp_path / "edges.csv", rows, "%d", ",", header="l,r", comments="")
    return str(tmp_path / "edges.csv")


def test_the_job_script_of_the_docs_searches_a_table(tmp_path):
    (script,) = re.findall(r"```bash\n(#!/bin/bash\n#SBATCH.*?)```", PAGE.read_text(), re.DOTALL)
    places = {"bicliq": 'exec "$PYTHON" -m flows.cli "$@"', "dask": 'exec "$PYTHON" -m dask "$@"'}
    places |= {"python": 'exec "$PYTHON" "$@"', "srun": '"$@" & "$@" & wait'}  # two nodes
    for name, body in places.items():
        (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "bicliq.sbatch").write_text(script)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHON": sys.executable}
    environment |= {"PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}", "SLURM_JOB_ID": "7"}
    command = ["bash", "bicliq.sbatch", str(DATA / "UCforum.adj"), str(tmp_path / "store")]
    with (tmp_path / "job.log").open("w") as log:
        job = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            assert job.wait(300) == 0, (tmp_path / "job.log").read_text()
        finally:
            os.killpg(job.pid, signal.SIGTERM)  # as the end of a job ends all that it started
    assert json.loads((tmp_path / "scheduler-7.json").read_text())["address"].startswith("tcp://")
    found = open_run(str(tmp_path / "store")).manifest
    assert found.bicliques == COUNTS["UCforum"]


def written(store: str) -> dict[str, int]:
    """When each commit record was written, in nanoseconds."""
    return {path.name: path.stat().st_mtime_ns for path in Path(store).glob("runs/*/commits/*.json")}


def test_what_a_killed_worker_had_committed_is_not_searched_again(tmp_path, table):
    store, found = str(tmp_path / "store"), []
    with open_cluster(ClusterSettings(workers=2, dashboard=False)) as client:
        settings = load_settings(
            store=store, plan={"partitions": 16}, search={"threads": 1}, cluster={"scheduler": client.scheduler.address}
        )
        search = threading.Thread(target=lambda: found.append(run(table, settings)))
        search.start()
        wait_for(lambda: len(committed(store)) >= 3, 120)
        kept = written(store)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        search.join(240)
    (record,) = found
    assert record.bicliques == 5_415_539
    assert record.searched == 16
    assert {name: written(store)[name] for name in kept} == kept


def test_a_cluster_that_scales_itself_grows_from_nothing(tmp_path, table):
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=None) as cluster:
        cluster.adapt(minimum=0, maximum=2, interval="500ms")
        scheduler = cluster.scheduler_address
        settings = load_settings(
            store=str(tmp_path / "store"),
            plan={"partitions": 16},
            search={"threads": 1},
            cluster={"scheduler": scheduler},
        )
        record = run(table, settings)
        seen = {commit.partition for commit in open_run(record.store).commits.values()}
    assert record.bicliques == 5_415_539
    assert len(seen) == 16
    assert len(record.busy) >= 1
