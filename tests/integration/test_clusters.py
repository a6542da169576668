"""Clusters of others: a job script, workers that are killed, a cluster that scales itself."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import dask
import httpx
import pytest
from distributed import Client, LocalCluster

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.placement import cluster
from bicliq.pipeline.placement.cluster import open_cluster
from bicliq.pipeline.questions.count import count_run
from bicliq.pipeline.questions.count_asked import CountAsked
from bicliq.pipeline.run import Observer, run
from bicliq.pipeline.settings import ClusterSettings, load_settings
from bicliq.pipeline.store.results import open_run
from tests.integration.server import wait_for
from tests.integration.test_cancelled import committed, edge_table
from tests.nightly import by_night
from tests.real_graphs import COUNTS, DATA

ROOT = DATA.parents[1]
PAGE = ROOT / "docs" / "clusters.md"


@pytest.fixture
def table(tmp_path):
    """An edge table with nine million bicliques."""
    return edge_table(tmp_path, 140)


@pytest.fixture
def commands(tmp_path):
    """Makes programs of an own name, found before all others; returns the environment for them."""

    def make(**bodies: str) -> dict[str, str]:
        for name, body in bodies.items():
            (tmp_path / name).write_text(f"#!/bin/bash\n{body}\n")
            (tmp_path / name).chmod(0o755)
        path, modules = f"{tmp_path}:{os.environ['PATH']}", f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"
        return {**os.environ, "PATH": path, "PYTHONPATH": modules, "PYTHON": sys.executable}

    return make


def ends_well(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    """Run a command, end all that it left behind, and return what it printed."""
    with (folder / "job.log").open("w") as log:
        job = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True)
        try:
            assert job.wait(300) == 0, (folder / "job.log").read_text()
        finally:
            os.killpg(job.pid, signal.SIGTERM)  # as the end of a job ends all that it started
    return (folder / "job.log").read_text()


def of_the_docs(kind: str, first: str) -> str:
    """The example of the page that begins with these words."""
    (found,) = re.findall(rf"```{kind}\n({re.escape(first)}.*?)```", PAGE.read_text(), re.DOTALL)
    return found


@by_night
def test_the_job_script_of_the_docs_searches_a_table(tmp_path, commands):
    environment = commands(
        bicliq='exec "$PYTHON" -m bicliq.flows.cli "$@"',
        dask='exec "$PYTHON" -m dask "$@"',
        python='exec "$PYTHON" "$@"',
        srun='"$@" & "$@" & wait',  # two nodes
    )
    (tmp_path / "bicliq.sbatch").write_text(of_the_docs("bash", "#!/bin/bash\n#SBATCH"))
    command = ["bash", "bicliq.sbatch", str(DATA / "UCforum.adj"), str(tmp_path / "store")]
    ends_well(command, tmp_path, environment | {"SLURM_JOB_ID": "7"})
    found = open_run(str(tmp_path / "store")).manifest
    assert found.bicliques == COUNTS["UCforum"]


@by_night
def test_the_cluster_of_jobs_of_the_docs_searches_a_table(tmp_path, commands):
    pytest.importorskip("dask_jobqueue", reason="no dask-jobqueue here")
    environment = commands(
        # it keeps the script, as SLURM does: whoever gave it removes it then
        sbatch='cp "$1" $$.sh\nbash $$.sh > $$.log 2>&1 &\necho $! >> jobs\necho Submitted batch job $!',
        scancel='kill "$@"',
    )
    script = of_the_docs("python", "import sys\n\nfrom dask_jobqueue")
    (tmp_path / "jobqueue.py").write_text(script.replace("maximum=128", "maximum=2"))
    command = [sys.executable, "jobqueue.py", str(DATA / "UCforum.adj"), str(tmp_path / "store")]
    printed = ends_well(command, tmp_path, environment)
    found = open_run(str(tmp_path / "store")).manifest
    assert found.digest in printed
    assert found.bicliques == COUNTS["UCforum"]
    assert (tmp_path / "jobs").read_text().split()


@by_night
def test_the_commands_of_the_docs_for_kubernetes_make_a_cluster(tmp_path):
    text = of_the_docs("python", "from dask_kubernetes")
    (arguments,) = re.findall(r'scheduler\["args"\] = (\[.*?\])', text)
    (worker,) = re.findall(r'worker_command="(.*?)"', text)
    file = tmp_path / "scheduler.json"
    here = ["--port", "0", "--dashboard-address", ":0", "--scheduler-file", str(file)]
    operators = ["--name", "first", "--dashboard", "--dashboard-address", "0"]  # what the operator adds
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    pods = []
    try:
        for command in ([*json.loads(arguments), *here], [*worker.split(), "--scheduler-file", str(file), *operators]):
            assert command[0] == "dask"
            pods.append(subprocess.Popen([sys.executable, "-m", *command], env=environment, cwd=tmp_path))
            wait_for(file.exists, 240)
        address = json.loads(file.read_text())["address"]
        with Client(address) as client:
            settings = load_settings(store=str(tmp_path / "s"), cluster={"scheduler": address})
            assert run(str(DATA / "UCforum.adj"), settings).bicliques == COUNTS["UCforum"]
            page = client.dashboard_link.replace("/status", "/bicliq")
            assert "Bicliq" in httpx.get(page, timeout=30).raise_for_status().text
    finally:
        for pod in pods:
            pod.terminate()
        for pod in pods:
            pod.wait(60)


def written(store: str) -> dict[str, int]:
    """When each commit record was written, in nanoseconds."""
    return {path.name: path.stat().st_mtime_ns for path in Path(store).glob("runs/*/commits/*.json")}


@by_night
@pytest.mark.usefixtures("spawned")
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
    assert record.bicliques == 9_458_362
    assert record.searched == 16
    assert {name: written(store)[name] for name in kept} == kept


@pytest.mark.parametrize("where", ["a worker", "the scheduler"])
def test_a_machine_without_bicliq_is_named_before_anything_is_handed_out(tmp_path, where):
    def forget() -> None:
        import sys

        sys.modules["bicliq.pipeline"] = None

    with open_cluster(ClusterSettings(workers=2, dashboard=False)) as client:
        address = client.scheduler.address
        if where == "a worker":
            named = sorted(client.nthreads())[0]
            client.run(forget, workers=[named])
            asked = load_settings(store=str(tmp_path / "store"), cluster={"scheduler": address})
            with pytest.raises(InputError, match=f"cannot be imported by worker {named}; install this version"):
                run(str(DATA / "UCforum.adj"), asked)
        else:
            lost = sys.modules.pop("bicliq.kernels")  # the scheduler is this process
            try:
                sys.modules["bicliq.kernels"] = None
                with (
                    pytest.raises(InputError, match="by the scheduler"),
                    open_cluster(ClusterSettings(scheduler=address)),
                ):
                    pass
            finally:
                sys.modules["bicliq.kernels"] = lost


@pytest.mark.usefixtures("spawned")
def test_a_worker_that_dies_again_is_started_again():
    """Dask's default would close its nanny for good: here as soon as one worker is down."""
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1ms"}),
        open_cluster(ClusterSettings(workers=1, dashboard=False)) as client,
    ):
        died = set()
        for _ in range(2):
            died.add(pid := client.submit(os.getpid, pure=False).result(240))
            os.kill(pid, signal.SIGKILL)
        assert len(died) == 2
        assert client.submit(os.getpid, pure=False).result(240) not in died


def workers_besides(before: list[multiprocessing.Process]) -> set[multiprocessing.Process]:
    return {*multiprocessing.active_children()} - {*before}


@pytest.mark.parametrize("ask", [run, lambda source, *how: count_run(source, CountAsked(2, 2), *how)])
def test_workers_that_are_asked_for_start_while_the_table_is_read(tmp_path, ask):
    settings = load_settings(
        store=str(tmp_path / "store"), data_backend="cpu", search={"backend": "cpu"}, cluster={"workers": 1}
    )
    links, before = [], multiprocessing.active_children()

    def no_row_before_a_worker_has_started(rows, size):
        wait_for(lambda: workers_besides(before), 60)

    observer = Observer(rows=no_row_before_a_worker_has_started, dashboard=links.append)
    assert ask(str(DATA / "UCforum.adj"), settings, observer).n_edges == 7_089
    assert len(links) == 1
    assert links[0].startswith("http://127.0.0.1:")  # served to this machine unless told otherwise
    assert not workers_besides(before)  # it was the cluster that searched, and there was no other


def test_workers_that_started_for_a_table_that_is_refused_are_closed(tmp_path):
    before = multiprocessing.active_children()
    settings = load_settings(store=str(tmp_path / "store"), cluster={"workers": 1})
    (tmp_path / "edges.csv").write_text("left,right\na,b\n" + "a,b,c,d\n")
    with pytest.raises(InputError, match="line 3"):
        run(str(tmp_path / "edges.csv"), settings)
    wait_for(lambda: not workers_besides(before), 60)


def test_a_cluster_that_scales_itself_grows_from_nothing(tmp_path, table):
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
    assert record.bicliques == 9_458_362
    assert len(seen) == 16
    assert len(record.busy) >= 1


def test_a_script_that_its_workers_would_run_again_ends_and_says_why(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(
        "from bicliq.pipeline.run import run\n"
        "from bicliq.pipeline.settings import load_settings\n"
        f"run({str(DATA / 'UCforum.adj')!r}, load_settings(store={str(tmp_path / 's')!r}, cluster={{'workers': 1}}))\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True, timeout=240)
    last = done.stderr.strip().splitlines()[-1]
    assert done.returncode == 1
    assert "BackendError: no cluster starts here" in last
    assert '`if __name__ == "__main__":`' in last


def test_a_cluster_that_does_not_close_is_left(monkeypatch, caplog):
    async def never(_):
        await asyncio.sleep(1000)

    monkeypatch.setattr(LocalCluster, "_close", never)  # as Dask does at times, when workers hang
    monkeypatch.setattr(cluster, "CLOSING_SECONDS", 0.5)
    with open_cluster(ClusterSettings(workers=1, dashboard=False)) as client:
        opened = client.cluster
        assert client.submit(sum, [1, 2]).result(timeout=60) == 3
    assert "cluster is left open" in caplog.text
    monkeypatch.undo()
    opened.close(timeout=60)
