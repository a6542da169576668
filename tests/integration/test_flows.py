"""The flows on a real Prefect server with a real Dask cluster."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

import httpx
import pytest
import yaml

from flows.enumerate import enumerate_graph
from flows.etl import etl
from flows.ingest import ingest
from pipeline.run import run
from pipeline.settings import load_settings
from pipeline.store.layout import Store
from pipeline.store.results import open_run
from tests.real_graphs import COUNTS, DATA

pytestmark = pytest.mark.usefixtures("prefect_server")
EDGES = str(DATA / "UCforum.adj")


def artifacts(server: str) -> dict[str, dict]:
    found = ask(f"{server}/artifacts/latest/filter", {"limit": 200})
    return {entry["key"]: entry for entry in found}


def test_the_etl_flow_does_what_the_plain_functions_do(tmp_path, prefect_server):
    store = str(tmp_path / "store")
    started = time.perf_counter()
    record = etl(EDGES, {"store": store, "plan": {"partitions": 7}, "cluster": {"workers": 2}}, verify=True)
    stages = {"ingest", "profile", "plan", "search", "publish", "verify"}
    assert set(record["seconds"]) == {*stages, "total"}
    assert 0 < record["seconds"]["total"] <= time.perf_counter() - started
    plain = run(EDGES, load_settings(store=str(tmp_path / "plain"), cluster={"local": True}))
    assert record["bicliques"] == plain.bicliques == COUNTS["UCforum"]
    assert record["digest"] == plain.digest
    assert record["partitions"] == record["searched"] == 7
    left = artifacts(prefect_server)
    run_id = record["run"]
    assert left[f"dask-{run_id}"]["type"] == "markdown"
    assert "/status" in left[f"dask-{run_id}"]["data"]
    assert left[f"search-{run_id}-0"]["type"] == "progress"
    assert float(left[f"search-{run_id}-0"]["data"]) > 0
    assert left[f"summary-{run_id}"]["type"] == "table"
    assert record["digest"] in left[f"summary-{run_id}"]["data"]
    report = left[f"report-{run_id}"]["data"]
    assert "16,261 maximal bicliques" in report
    rows = [line.split("|")[1:3] for line in report.splitlines() if line.startswith("| ")][1:]
    largest = open_run(store).top(10)
    assert [[int(cell.replace(",", "")) for cell in row] for row in rows] == list(
        map(list, zip(largest["n_left"].to_pylist(), largest["n_right"].to_pylist(), strict=True))
    )


def test_a_flow_that_runs_again_searches_nothing_again(tmp_path):
    settings = {"store": str(tmp_path / "store"), "plan": {"partitions": 3}, "cluster": {"local": True}}
    first, second = etl(EDGES, settings), etl(EDGES, settings)
    assert (first["searched"], second["searched"]) == (3, 0)
    assert second["digest"] == first["digest"]


def test_ingest_and_enumerate_are_flows_of_their_own(tmp_path):
    settings = {"store": str(tmp_path / "store"), "cluster": {"local": True}, "search": {"min_left": 3, "min_right": 3}}
    graph = ingest(EDGES, settings)["graph"]
    record = enumerate_graph(graph[:8], settings)
    assert record["graph"] == graph
    table = open_run(settings["store"]).table()
    assert table.num_rows == record["bicliques"] > 0
    assert min(table["n_left"].to_pylist()) >= 3


def test_bad_input_fails_the_flow_and_publishes_nothing(tmp_path):
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3\n")
    with pytest.raises(Exception, match="line 3"):
        etl(str(tmp_path / "bad.csv"), {"store": str(tmp_path / "store"), "cluster": {"local": True}})
    assert Store.open(str(tmp_path / "store")).runs() == []


def test_serve_registers_the_schedule_and_runs_the_flow(tmp_path, prefect_server):
    store = str(tmp_path / "store")
    command = [
        sys.executable,
        "-m",
        "flows.cli",
        "serve",
        EDGES,
        "--store",
        store,
        "--interval",
        "3600",
        "--name",
        "nightly",
    ]
    environment = {**os.environ, "PREFECT_API_URL": prefect_server, "BICLIQ__CLUSTER__LOCAL": "true"}
    server = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored where tests run behind a shell's "&"
    )
    try:
        deployment = wait_for(lambda: deployed(prefect_server, "nightly"), 90)
        assert deployment["schedules"][0]["schedule"]["interval"] == 3600
        assert deployment["parameters"]["source"] == EDGES
        ask(f"{prefect_server}/deployments/{deployment['id']}/create_flow_run", {"idempotency_key": "once"})
        wait_for(lambda: published(store), 120)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(60)
    assert open_run(store).manifest.bicliques == COUNTS["UCforum"]
    assert deployed(prefect_server, "nightly")["paused"] is False


def test_prefect_yaml_declares_the_same_deployment():
    declared = yaml.safe_load((DATA.parents[1] / "prefect.yaml").read_text())["deployments"][0]
    module, name = declared["entrypoint"].split(":")
    assert (module, name) == ("flows/etl.py", etl.fn.__name__)
    assert set(declared["parameters"]) <= set(etl.parameters.properties)
    load_settings(**declared["parameters"]["settings"])


def ask(url: str, question: dict) -> Any:
    """The server's answer; a server on SQLite says 503 while its database is locked, and means: again."""

    def answer() -> httpx.Response | None:
        response = httpx.post(url, json=question, timeout=30)
        return None if response.status_code == 503 else response.raise_for_status()

    return wait_for(answer, 60).json()


def deployed(server: str, name: str) -> dict | None:
    found = ask(f"{server}/deployments/filter", {})
    return next((entry for entry in found if entry["name"] == name), None)


def published(store: str) -> bool:
    try:
        opened = Store.open(store, create=False)
    except Exception:
        return False
    return any(opened.run(run).manifest() for run in opened.runs())


def wait_for(condition, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.5)
    raise AssertionError(f"nothing after {seconds} s")
