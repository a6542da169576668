"""The log: an event is a line with run, partition and worker, the same words wherever it is
read."""

from __future__ import annotations

import json
import logging
import re

import pytest

from bicliq.flows.cli import invoke
from bicliq.flows.etl import etl
from bicliq.pipeline.events import tell
from bicliq.pipeline.placement.cluster import open_cluster
from bicliq.pipeline.placement.tasks import hand_out
from bicliq.pipeline.settings import ClusterSettings
from tests.integration.server import ask, logs_of, wait_for
from tests.real_graphs import DATA

EDGES = str(DATA / "UCforum.adj")
STAGES = [
    "table ingested",
    "run planned",
    "run expected",
    "search begun",
    "search ended",
    "run published",
]


def logged(capsys, *arguments: str) -> list[str]:
    assert invoke(["run", EDGES, *arguments]) == 0
    return capsys.readouterr().err.splitlines()


def test_nothing_is_logged_unless_it_is_asked_for(tmp_path, capsys):
    (said,) = logged(capsys, "--store", str(tmp_path / "s"), "--local")
    assert said.startswith("expected: 16,261 bicliques, ")


def test_v_logs_a_line_for_each_stage_and_partition(tmp_path, capsys):
    lines = logged(capsys, "--store", str(tmp_path / "s"), "--partitions", "3", "--workers", "2", "-v")
    words = [re.sub(r"^\S+ \S+ INFO +", "", line) for line in lines if " INFO " in line]
    assert [stage for stage in STAGES if any(line.startswith(stage + " ") for line in words)] == STAGES
    committed = [line for line in words if line.startswith("partition committed ")]
    assert sorted(re.findall(r" partition=(\d+) worker=\S+ ", " ".join(committed))) == ["0", "1", "2"]
    checked = [line for line in words if line.startswith("input checked ")]
    assert len(words) == len(STAGES) + len(committed) + len(checked)


def test_json_lines_have_the_same_words_and_keep_standard_output_clean(tmp_path, capsys):
    store = str(tmp_path / "s")
    assert invoke(["run", EDGES, "--store", store, "--partitions", "3", "--local", "-v", "--log-json", "--json"]) == 0
    said = capsys.readouterr()
    record = json.loads(said.out)
    events = [json.loads(line) for line in said.err.splitlines()]
    assert {event["event"] for event in events} == {*STAGES, "partition committed", "input checked"}
    assert {event["run"] for event in events if "run" in event} == {record["run"]}
    assert {event["level"] for event in events} == {"info"}
    committed = [event for event in events if event["event"] == "partition committed"]
    assert sum(event["bicliques"] for event in committed) == record["bicliques"]


def say_something(here) -> None:
    logging.getLogger("bicliq").warning("no event, %d", 7)
    tell("partition is looked at", logging.WARNING, run="r", partition=4, reason=ValueError("bad"))
    tell("a detail", logging.INFO, run="r")


def test_what_a_worker_logs_is_said_by_who_handed_out_the_task_and_names_the_worker(caplog):
    tasks = iter([(4, say_something)])
    with open_cluster(ClusterSettings(workers=1, dashboard=False)) as client, caplog.at_level("WARNING", "bicliq"):
        assert [ended.error for ended in hand_out(client, lambda: next(tasks, None))] == [None]
    said = [entry.getMessage() for entry in caplog.records if entry.name == "bicliq"]
    assert [re.sub(r"worker=tcp://[\d.:]+$", "worker=…", line) for line in said] == [
        "no event, 7 worker=…",
        "partition is looked at run=r partition=4 reason=bad worker=…",
    ]


@pytest.mark.usefixtures("prefect_server")
def test_prefect_logs_the_same_lines(tmp_path, prefect_server, capsys):
    settings = {"store": str(tmp_path / "s"), "plan": {"partitions": 3}, "cluster": {"local": True}}
    record = etl(EDGES, settings, return_state=True)
    run = str(record.state_details.flow_run_id)
    wait_for(lambda: "run published" in logs_of(prefect_server, run), 30)
    log = logs_of(prefect_server, run)
    assert all(f"{stage} " in log for stage in STAGES)
    assert log.count("partition committed run=") == 3
    found = ask(f"{prefect_server}/logs/filter", {"logs": {"flow_run_id": {"any_": [run]}}, "limit": 200})
    committed = [entry for entry in found if entry["message"].startswith("partition committed")]
    assert all(entry["task_run_id"] for entry in committed)
