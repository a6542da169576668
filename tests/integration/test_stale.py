"""A store that gets no version for too long: said by runs, and told by watch and by serve."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest

from bicliq.flows.cli import invoke
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.stale import StaleStore, last_published, stale_in_words
from bicliq.pipeline.store.layout import Store
from tests.integration.server import wait_for
from tests.integration.test_notify import Webhook, webhook  # noqa: F401
from tests.real_graphs import DATA

EDGES = str(DATA / "southern-women.parquet")
SECOND = 1 / 3600


def settings(tmp_path, **notify):
    return load_settings(store=str(tmp_path / "store"), cluster={"local": True}, notify=notify)


def test_runs_says_that_the_last_version_is_too_old(tmp_path, capsys):
    run(EDGES, settings(tmp_path))
    published = last_published(Store.at(str(tmp_path / "store")))
    assert timedelta() <= datetime.now(UTC) - published < timedelta(minutes=5)
    time.sleep(1.1)
    for hours, stale in ((str(SECOND), True), ("1", False)):
        assert invoke(["runs", "--store", str(tmp_path / "store"), "--stale-hours", hours, "--json"]) == 0
        said = capsys.readouterr()
        record = json.loads(said.out)
        assert (record["stale"] is not None) == stale == ("no version came" in said.err)
    assert invoke(["runs", "--store", str(tmp_path / "store"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stale"] is None


def test_doctor_says_how_old_the_last_version_is(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert invoke(["doctor", "--json"]) == 0
    assert "stale" not in json.loads(capsys.readouterr().out)
    assert invoke(["doctor", "--store", "nowhere"]) == 2
    assert "no store is here" in capsys.readouterr().err
    run(EDGES, settings(tmp_path))
    time.sleep(1.1)
    for hours, stale in ((str(SECOND), True), ("1", False)):
        assert invoke(["doctor", "--store", str(tmp_path / "store"), "--stale-hours", hours, "--json"]) == 0
        said = capsys.readouterr()
        facts = json.loads(said.out)
        assert f"{tmp_path / 'store'}: the last version came {datetime.now(UTC):%Y-%m-%dT}" in facts["store"]
        assert (facts["stale"] != "no") == stale == ("no version came" in said.err)


def test_a_store_without_any_version_is_stale_from_when_somebody_waits(tmp_path):
    asked = settings(tmp_path, stale_hours=1)
    assert stale_in_words(asked) is None
    assert stale_in_words(asked, datetime.now(UTC)) is None
    said = stale_in_words(asked, datetime.now(UTC) - timedelta(hours=2))
    assert said == f"{tmp_path / 'store'}: nothing was ever published, and one is expected every 1 hours (stale_hours)"


def test_it_is_told_once_until_a_version_comes(tmp_path, webhook: Webhook, monkeypatch):  # noqa: F811
    monkeypatch.setattr("bicliq.pipeline.stale.LOOKS_APART", 0)
    asked = settings(tmp_path, stale_hours=SECOND, webhook=webhook.url, webhook_on="failed")
    store = StaleStore(asked, "orders")
    store.look()
    assert webhook.told == []
    time.sleep(1.1)
    store.look()
    store.look()
    (told,) = webhook.told
    assert (told["event"], told["source"]) == ("stale", "orders")
    assert "nothing was ever published" in told["text"]
    run(EDGES, asked)
    store.look()
    time.sleep(1.1)
    store.look()
    assert len(webhook.told) == 2


def test_watch_tells_of_it_while_no_file_comes(tmp_path, webhook: Webhook):  # noqa: F811
    (tmp_path / "orders").mkdir()
    variables = {**os.environ, "BICLIQ__NOTIFY__WEBHOOK": webhook.url}
    words = ["watch", str(tmp_path / "orders"), "--store", str(tmp_path / "store"), "--every", "1s"]
    words += ["--stale-hours", "0.00001"]
    program = f"from bicliq.pipeline import stale; stale.LOOKS_APART = 1; from bicliq.flows.cli import invoke; invoke({words})"
    watch = subprocess.Popen(
        [sys.executable, "-c", program],
        env=variables,
        cwd=DATA.parents[1],
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(lambda: webhook.told, 120)
    finally:
        watch.terminate()
        _, said = watch.communicate(timeout=60)
    assert webhook.told[0]["event"] == "stale"
    assert "no version came" in said


def test_hours_that_are_none_are_refused():
    for hours in (0, -1, "nan", "inf"):
        with pytest.raises(InputError, match="stale_hours"):
            load_settings(notify={"stale_hours": hours})
