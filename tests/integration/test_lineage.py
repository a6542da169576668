"""OpenLineage events of runs, at a real HTTP server."""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from bicliq.flows.etl import etl
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.lineage import dataset_of, lineage_told
from bicliq.pipeline.run import resume, run
from bicliq.pipeline.settings import load_settings
from tests.real_graphs import COUNTS, DATA

EDGES = str(DATA / "UCforum.adj")


class Catalogue(BaseHTTPRequestHandler):
    def do_POST(self):
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.told.append((self.path, event))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments):
        pass


@pytest.fixture
def catalogue():
    pytest.importorskip("openlineage.client", reason="OpenLineage's client is not installed")
    server = HTTPServer(("127.0.0.1", 0), Catalogue)
    server.told, server.url = [], f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def settings(tmp_path, url, **more):
    return load_settings(store=str(tmp_path / "store"), cluster={"local": True}, notify={"lineage": url}, **more)


def states(catalogue):
    return [event["eventType"] for _, event in catalogue.told]


def test_a_run_says_what_it_reads_and_what_it_wrote(tmp_path, catalogue):
    record = run(EDGES, settings(tmp_path, catalogue.url, checks={"dropped_above": 0.5}))
    assert {path for path, _ in catalogue.told} == {"/api/v1/lineage"}
    assert states(catalogue) == ["START", "COMPLETE"]
    start, end = (event for _, event in catalogue.told)
    assert start["run"]["runId"] == end["run"]["runId"]
    assert start["job"] == end["job"]
    assert end["job"]["name"] == f"{EDGES} to {tmp_path / 'store'}"
    ((read,), (written,)) = end["inputs"], end["outputs"]
    assert (read["namespace"], read["name"]) == ("file", EDGES)
    assert read["inputFacets"]["inputStatistics"]["rowCount"] == 7089
    made = {a["assertion"]: a["success"] for a in read["inputFacets"]["dataQualityAssertions"]["assertions"]}
    assert made == dict.fromkeys(("rows", "dropped", "labels", "degree", "paths"), True)
    assert written["outputFacets"]["outputStatistics"]["rowCount"] == record.bicliques == COUNTS["UCforum"]
    assert written["outputFacets"]["outputStatistics"]["size"] == record.bytes
    assert written["facets"]["version"]["datasetVersion"] == record.digest
    assert [column["name"] for column in written["facets"]["schema"]["fields"]] == [
        "left", "right", "n_left", "n_right", "root",
    ]  # fmt: skip


def test_a_run_that_fails_says_why_and_one_that_is_resumed_is_told_too(tmp_path, catalogue):
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3\n")
    with pytest.raises(InputError, match="line 3"):
        run(tmp_path / "bad.csv", settings(tmp_path, catalogue.url))
    assert states(catalogue) == ["START", "FAIL"]
    assert "line 3" in catalogue.told[-1][1]["run"]["facets"]["errorMessage"]["message"]
    record = run(EDGES, settings(tmp_path, None))
    assert len(catalogue.told) == 2
    resume(record.run, settings(tmp_path, catalogue.url))
    assert states(catalogue)[2:] == ["START", "COMPLETE"]
    assert record.run in catalogue.told[-1][1]["inputs"][0]["name"]


def test_an_interrupted_run_is_aborted(tmp_path, catalogue):
    with pytest.raises(KeyboardInterrupt), lineage_told(settings(tmp_path, catalogue.url), EDGES):
        raise KeyboardInterrupt
    assert states(catalogue) == ["START", "ABORT"]


@pytest.mark.usefixtures("prefect_server")
def test_a_flow_is_told_by_the_id_of_its_run(tmp_path, catalogue):
    state = etl(EDGES, settings(tmp_path, catalogue.url).model_dump(mode="json"), return_state=True)
    assert states(catalogue) == ["START", "COMPLETE"]
    assert {event["run"]["runId"] for _, event in catalogue.told} == {str(state.state_details.flow_run_id)}


def test_a_catalogue_that_is_away_never_fails_a_run(tmp_path, caplog):
    pytest.importorskip("openlineage.client", reason="OpenLineage's client is not installed")
    assert run(EDGES, settings(tmp_path, "http://127.0.0.1:9/secret")).bicliques == COUNTS["UCforum"]
    assert "lineage failed" in caplog.text


def test_lineage_without_its_library_is_refused_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openlineage", None)
    with pytest.raises(InputError, match=r"pip install 'bicliq\[openlineage\]'"):
        run(EDGES, settings(tmp_path, "http://127.0.0.1:9"))


@pytest.mark.parametrize(
    ("uri", "dataset"),
    [
        ("s3://lake/a/b.parquet", ("s3://lake", "a/b.parquet")),
        ("file:///data/x.csv", ("file", "/data/x.csv")),
        ("/data/x.csv", ("file", "/data/x.csv")),
    ],
)
def test_datasets_are_named_as_the_standard_wants(uri, dataset):
    assert dataset_of(uri) == dataset
