"""Notifications, at a real HTTP server; none of them ever fails a run."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

import pipeline.notify
from flows.etl import etl
from pipeline.errors import InputError
from pipeline.run import run
from pipeline.settings import load_settings
from tests.real_graphs import COUNTS, DATA

EDGES = str(DATA / "UCforum.adj")


class Webhook(HTTPServer):
    """Keeps what it is told, and answers with a status."""

    status = 200

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Listen)
        self.told: list[dict] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/services/secret"


class _Listen(BaseHTTPRequestHandler):
    def do_POST(self):
        assert self.headers["Content-Type"] == "application/json"
        self.server.told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *arguments):
        pass


@pytest.fixture
def webhook():
    server = Webhook()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def settings(tmp_path, webhook, **notify):
    return load_settings(
        store=str(tmp_path / "store"), cluster={"local": True}, notify={"webhook": webhook.url, **notify}
    )


def test_a_finished_run_is_told_with_its_largest_groups_and_a_text_for_people(tmp_path, webhook):
    record = run(EDGES, settings(tmp_path, webhook))
    (told,) = webhook.told
    assert (told["event"], told["run"], told["digest"]) == ("finished", record.run, record.digest)
    assert told["bicliques"] == COUNTS["UCforum"]
    assert told["groups"][0]["n_left"] * told["groups"][0]["n_right"] == record.largest["n_edges"]
    assert told["text"].startswith(f"Bicliq: run {record.run} finished: 16,261 maximal bicliques of 899 left")
    assert len(told["text"].splitlines()) == 1 + pipeline.notify.GROUPS


def test_a_failed_run_is_told_with_its_reason(tmp_path, webhook):
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n<3>\n")
    with pytest.raises(InputError, match="line 3"):
        run(tmp_path / "bad.csv", settings(tmp_path, webhook))
    (told,) = webhook.told
    assert told["event"] == "failed"
    assert "line 3" in told["reasons"][0]
    assert "line 3" in told["text"]
    assert "<" not in told["text"]


@pytest.mark.parametrize(
    ("rules", "events"),
    [
        ({"webhook_on": "failed"}, []),
        ({"webhook_on": "finished"}, ["finished"]),
        ({"webhook_groups": COUNTS["UCforum"]}, ["finished"]),
        ({"webhook_groups": COUNTS["UCforum"] + 1}, []),
        ({"webhook_groups": 1, "webhook_edges": 10**6}, []),
    ],
)
def test_only_runs_that_fit_the_rules_are_told(tmp_path, webhook, rules, events):
    run(EDGES, settings(tmp_path, webhook, **rules))
    assert [told["event"] for told in webhook.told] == events


def test_groups_count_from_the_edges_that_are_asked_for(tmp_path, webhook):
    from pipeline.store.results import open_run

    record = run(EDGES, settings(tmp_path, webhook, webhook_on="failed"))
    sizes = open_run(record.store).table()
    large = sum(p * q >= 40 for p, q in zip(*(sizes[n].to_pylist() for n in ("n_left", "n_right")), strict=True))
    for asked in (large, large + 1):
        run(EDGES, settings(tmp_path, webhook, webhook_groups=asked, webhook_edges=40))
    (told,) = webhook.told
    assert f"{large:,} bicliques of at least 40 edges" in told["reasons"][1]
    assert all(group["n_left"] * group["n_right"] >= 40 for group in told["groups"])


def test_who_cannot_be_told_never_fails_a_run(tmp_path, webhook, caplog, monkeypatch):
    monkeypatch.setattr(pipeline.notify, "SECONDS_APART", 0)
    webhook.status = 500
    assert run(EDGES, settings(tmp_path, webhook)).bicliques == COUNTS["UCforum"]
    assert len(webhook.told) == pipeline.notify.TRIES
    assert "HTTP Error 500" in caplog.text
    nobody = load_settings(
        store=str(tmp_path / "store"), cluster={"local": True}, notify={"webhook": "http://127.0.0.1:9/secret"}
    )
    assert run(EDGES, nobody).bicliques == COUNTS["UCforum"]
    assert "refused" in caplog.text
    assert "secret" not in caplog.text


@pytest.mark.parametrize("url", ["hooks.example.com", "ftp://x/y", "https://"])
def test_what_is_no_url_is_refused(url):
    with pytest.raises(InputError, match="webhook"):
        load_settings(notify={"webhook": url})


@pytest.mark.usefixtures("prefect_server")
def test_flows_tell_of_their_end_too(tmp_path, webhook):
    asked = {"store": str(tmp_path / "s"), "cluster": {"local": True}, "notify": {"webhook": webhook.url}}
    record = etl(EDGES, asked)
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3\n")
    with pytest.raises(InputError):
        etl(str(tmp_path / "bad.csv"), asked)
    finished, failed = webhook.told
    assert (finished["event"], finished["run"]) == ("finished", record["run"])
    assert (failed["event"], failed["source"]) == ("failed", str(tmp_path / "bad.csv"))
    assert "line 3" in failed["reasons"][0]
