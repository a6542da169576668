"""The flows on a real Prefect server with a real Dask cluster."""

from __future__ import annotations

import base64
import http.server
import json
import re
import threading
import time
from contextlib import nullcontext
from xml.etree import ElementTree

import pytest

from bicliq.flows.cli.app import invoke
from bicliq.flows.enumerate import enumerate_graph
from bicliq.flows.etl import etl
from bicliq.flows.ingest import ingest
from bicliq.pipeline.errors import (
    BackendError,
    BicliqError,
    CapacityError,
    InputError,
    LimitReached,
    StorageError,
    may_heal,
)
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run
from tests.heard_disk import heard
from tests.integration.server import artifacts, ask, logs_of, wait_for
from tests.real_graphs import COUNTS, DATA

pytestmark = pytest.mark.usefixtures("prefect_server")
EDGES = str(DATA / "UCforum.adj")


def test_the_etl_flow_does_what_the_plain_functions_do(tmp_path, prefect_server):
    store = str(tmp_path / "store")
    started = time.perf_counter()
    record = etl(EDGES, {"store": store, "plan": {"partitions": 7}, "cluster": {"workers": 2}}, verify=True)
    stages = {"ingest", "plan", "check", "search", "publish", "verify"}
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
    assert left[f"search-{run_id}"]["type"] == "progress"
    assert float(left[f"search-{run_id}"]["data"]) == 100.0
    states = {row["state"]: row for row in json.loads(left[f"partitions-{run_id}"]["data"])}
    assert states["committed"] == {"state": "committed", "partitions": "7", "estimated work": "100.0%"}
    assert {states[name]["partitions"] for name in ("searching", "waiting", "failed")} == {"0"}
    report = left[f"report-{run_id}"]["data"]
    assert "16,261 maximal bicliques" in report
    assert f"| digest | {record['digest']} |" in report
    (picture,) = re.findall(r"\(data:image/svg\+xml;base64,(\S+)\)", report)
    assert ElementTree.fromstring(base64.b64decode(picture)).tag.endswith("svg")
    table = report.split("## The largest")[1].split("##")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines() if line.startswith("| ")][1:]
    largest = open_run(store).top(10)
    assert [[int(cell.replace(",", "")) for cell in row] for row in rows] == list(
        map(list, zip(largest["n_left"].to_pylist(), largest["n_right"].to_pylist(), strict=True))
    )


def test_a_flow_that_runs_again_searches_nothing_again_and_leaves_the_report_as_it_is(tmp_path):
    settings = {"store": str(tmp_path / "store"), "plan": {"partitions": 3}, "cluster": {"local": True}}
    first = etl(EDGES, settings)
    report = tmp_path / "store" / "reports" / f"{first['run']}.html"
    written = report.stat().st_mtime_ns
    second = etl(EDGES, settings)
    assert (first["searched"], second["searched"]) == (3, 0)
    assert second["digest"] == first["digest"]
    assert report.stat().st_mtime_ns == written
    report.unlink()  # as where the first was killed before it wrote one
    etl(EDGES, settings)
    assert report.exists()


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


def test_progress_reaches_prefect_while_a_cluster_searches_and_ends_at_100_percent(
    tmp_path, prefect_server, monkeypatch
):
    monkeypatch.setattr("bicliq.flows.artifacts.SECONDS_APART", 0.1)  # the search lasts two seconds
    seen: dict[str, set[float]] = {}
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.3):
            for key, bar in artifacts(prefect_server).items():
                if bar["type"] == "progress" and key.startswith("search-"):
                    seen.setdefault(key, set()).add(float(bar["data"]))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        settings = {"store": str(tmp_path / "store"), "plan": {"partitions": 8}, "cluster": {"workers": 2}}
        record = etl(str(DATA / "edit-nawiki.parquet"), {**settings, "search": {"threads": 1}})
    finally:
        over.set()
        watcher.join()
    bars = {
        key: float(bar["data"])
        for key, bar in artifacts(prefect_server).items()
        if record["run"] in key and bar["type"] == "progress"
    }
    assert list(bars.values()) == [100.0]
    assert any(0 < share < 100 for key in bars for share in seen.get(key, ())), seen


def test_the_last_state_says_what_was_found_and_the_log_what_each_stage_did(tmp_path, prefect_server):
    state = etl(EDGES, {"store": str(tmp_path / "store"), "cluster": {"local": True}}, return_state=True)
    record = state.result()
    for figure in ("16,261 maximal bicliques", record["digest"], record["run"], record["output"], " s; "):
        assert figure in state.message
    (stored,) = ask(
        f"{prefect_server}/flow_runs/filter", {"flow_runs": {"id": {"any_": [str(state.state_details.flow_run_id)]}}}
    )
    assert stored["state"]["message"] == state.message
    wait_for(lambda: "run published" in logs_of(prefect_server, stored["id"]), 30)
    log = logs_of(prefect_server, stored["id"])
    for said in (
        "left=899 right=522 edges=7089",
        "side=right roots=522 partitions=1",
        "search ended",
        "run published",
    ):
        assert said in log


@pytest.mark.parametrize(
    ("error", "heals"),
    [
        (CapacityError("too large"), False),
        (ValueError("a defect"), False),
        (PermissionError("not yours"), False),
        (ConnectionResetError("reset by peer"), True),
    ],
)
def test_only_what_can_heal_is_tried_again(error, heals):
    settings, tries = {"store": f"heard://{type(error).__name__}", "cluster": {"local": True}}, []

    def fail_once(does, path):
        if does == "wb" and "/edges" in path:
            tries.append(path)
            if len(tries) == 1:
                raise error

    with heard(fail_once), nullcontext() if heals else pytest.raises(Exception, match=str(error)):
        assert etl(EDGES, settings)["bicliques"] == COUNTS["UCforum"]
    assert len(tries) == 1 + heals


def test_only_networks_disks_and_workers_heal():
    from botocore.exceptions import EndpointConnectionError, NoCredentialsError
    from distributed import KilledWorker

    def caused(error: BicliqError, cause: BaseException) -> BicliqError:
        error.__cause__ = cause
        return error

    heal = [
        OSError(28, "disk full"),
        TimeoutError(),
        EndpointConnectionError(endpoint_url="x"),
        KilledWorker("t", None, 3),
    ]
    stay = [PermissionError(), FileNotFoundError(), NoCredentialsError(), ValueError(), KeyError()]
    assert all(may_heal(error) and may_heal(caused(StorageError("s"), error)) for error in heal)
    assert not any(may_heal(error) or may_heal(caused(StorageError("s"), error)) for error in stay)
    ours = [kind("x") for kind in (InputError, LimitReached, BackendError, CapacityError, StorageError, BicliqError)]
    assert not any(may_heal(error) for error in ours)


def test_a_server_that_cannot_be_told_the_progress_does_not_stop_the_search(tmp_path, monkeypatch):
    def gone(*arguments, **options):
        raise ConnectionRefusedError("nobody there")

    monkeypatch.setattr("bicliq.flows.artifacts.get_client", gone)
    record = etl(EDGES, {"store": str(tmp_path / "store"), "cluster": {"local": True}})
    assert record["bicliques"] == COUNTS["UCforum"]


def test_a_table_whose_server_is_away_for_a_moment_is_asked_for_again(tmp_path, capsys):
    """The server hangs up on whoever asks within a second of the first; a task waits two."""
    pytest.importorskip("aiohttp")
    asked: list[float] = []

    class Away(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(time.monotonic())
            if asked[-1] < asked[0] + 1 or self.path != "/t.csv":
                self.close_connection = True  # without a word, or with a word that stands
                return None if self.path == "/t.csv" else self.send_error(403)
            self.send_response(200)
            self.send_header("Content-Length", "18")
            self.end_headers()
            self.wfile.write(b"user,item\nann,jam\n" if self.command == "GET" else b"")

        do_HEAD = do_GET

        def log_message(self, *words: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Away) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url, store = f"http://127.0.0.1:{server.server_port}", str(tmp_path / "store")
        assert invoke(["run", f"{url}/t.csv", "--store", store, "--local", "--json"]) == 2
        said = json.loads(capsys.readouterr().out)
        assert (said["kind"], said["exit_code"]) == ("StorageError", 2)
        assert f"{url}/t.csv: cannot be reached: Server disconnected" in said["error"]
        with pytest.raises(InputError, match="cannot be reached"):
            etl(f"{url}/forbidden.csv", {"store": store, "cluster": {"local": True}})
        asked.clear()
        assert etl(f"{url}/t.csv", {"store": store, "cluster": {"local": True}})["bicliques"] == 1
        assert asked[-1] > asked[0] + 1
        server.shutdown()
