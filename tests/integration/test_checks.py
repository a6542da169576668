"""Checks of the input: against the last run of the same source, before anything is searched."""

from __future__ import annotations

import json

import pytest

from bicliq.flows.cli import invoke
from bicliq.flows.etl import etl
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.run import resume, run
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.stages.verify import verify_store
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.records import Checks
from tests.integration.server import artifacts


@pytest.fixture
def table(tmp_path):
    return tmp_path / "edges.csv"


def write(table, rows, extra=()) -> str:
    table.write_text("user,item\n" + "".join(f"u{i % 7},i{i}\n" for i in range(rows)) + "".join(extra))
    return str(table)


def asked(tmp_path, **checks):
    return load_settings(store=str(tmp_path / "store"), cluster={"local": True}, checks=checks)


def values(record) -> dict[str, tuple[str, float | None]]:
    return {check.name: (check.state, check.value) for check in record.checks}


def test_each_check_is_measured_and_stands_in_the_manifest(tmp_path, table):
    settings = asked(tmp_path, labels_above=0.9)
    first = run(write(table, 100), settings)
    paths = values(first)["paths"][1]
    assert values(first) == {
        "rows": ("pass", None),
        "dropped": ("pass", 0),
        "labels": ("pass", None),
        "degree": ("pass", 15),
        "paths": ("pass", paths),
    }
    second = run(write(table, 125), settings)
    assert second.run != first.run
    assert values(second)["rows"] == ("pass", 0.25)
    assert values(second)["labels"] == ("pass", 25 / 132)
    assert Store.open(settings.store).run(second.run).published().checks == second.checks
    assert verify_store(Store.open(settings.store)).ok


def test_a_value_above_its_threshold_warns_or_fails(tmp_path, table, caplog):
    run(write(table, 100), asked(tmp_path))
    checks = {"rows_above": "0.05:0.5", "degree_above": "15:15", "on_fail": "flag"}
    record = run(write(table, 120), asked(tmp_path, **checks))
    assert {name: state for name, (state, _) in values(record).items() if state != "pass"} == {
        "rows": "warn",
        "degree": "fail",
    }
    assert "input checked" in caplog.text
    assert "check=rows state=warn value=0.2" in caplog.text


def test_a_failed_check_stops_the_run_before_its_search_and_can_be_overruled(tmp_path, table):
    settings = asked(tmp_path, rows_above=":0.5")
    run(write(table, 100), settings)
    with pytest.raises(InputError, match=r"rows: 0\.9 is above 0\.5.*bicliq resume") as failure:
        run(write(table, 10), settings)
    store = Store.open(settings.store)
    name = str(failure.value).rsplit(" ", 1)[-1]
    assert store.run(name).committed() == {}
    assert store.run(name).manifest() is None
    assert values(resume(name, settings))["rows"] == ("fail", 0.9)


def test_what_failed_is_not_what_the_next_run_is_compared_with(tmp_path, table):
    settings = asked(tmp_path, rows_above=":0.5")
    run(write(table, 100), settings)
    with pytest.raises(InputError):
        run(write(table, 10), settings)
    assert values(run(write(table, 110), settings))["rows"] == ("pass", 0.1)


def test_rows_that_are_dropped_count(tmp_path, table):
    settings = load_settings(
        store=str(tmp_path / "store"),
        cluster={"local": True},
        ingest={"nulls": "drop"},
        checks={"dropped_above": ":0.2"},
    )
    assert values(run(write(table, 80, [",x\n"] * 20), settings))["dropped"] == ("pass", 0.2)
    with pytest.raises(InputError, match="dropped: 0"):
        run(write(table, 80, [",x\n"] * 21), settings)


def test_labels_of_numbers_are_compared_with_those_of_text(tmp_path, table):
    settings = asked(tmp_path, labels_above=0.3)
    table.write_text("user,item\n1,1\n2,2\n")
    run(str(table), settings)
    table.write_text("user,item\n1,1\n2,2\nx,1\n")
    assert values(run(str(table), settings))["labels"] == ("pass", 1 / 5)


def test_another_source_is_not_compared(tmp_path, table):
    run(write(table, 100), asked(tmp_path))
    assert values(run(write(tmp_path / "other.csv", 10), asked(tmp_path)))["rows"] == ("pass", None)


def test_damaged_checks_are_mended(tmp_path, table):
    record = run(write(table, 100), asked(tmp_path))
    folder = Store.open(str(tmp_path / "store")).run(record.run)
    folder.write_bytes(Checks.at, b"{}")
    run(write(table, 90), asked(tmp_path))
    assert invoke(["verify", "--store", str(tmp_path / "store")]) == 1
    assert invoke(["verify", "--repair", "--store", str(tmp_path / "store")]) == 0


def test_the_command_line_takes_thresholds_and_says_what_warns(tmp_path, table, capsys):
    arguments = ["run", write(table, 100), "--store", str(tmp_path / "s"), "--local", "--degree-warn", "3"]
    assert invoke(arguments) == 0
    said = capsys.readouterr()
    assert "degree warns (15)" in said.out
    assert "check=degree state=warn value=15 warn=3" in said.err
    assert invoke([*arguments, "--degree-fail", "5", "--json"]) == 2
    assert "degree: 15 is above 5" in capsys.readouterr().err
    assert invoke([*arguments, "--json"]) == 0
    assert {check["name"] for check in json.loads(capsys.readouterr().out)["checks"]} >= {"rows", "degree"}


def test_a_count_in_a_store_checks_its_input_as_a_run_does(tmp_path, table, capsys):
    store = ["--store", str(tmp_path / "s"), "--local"]
    assert invoke(["run", write(table, 100), *store]) == 0
    count = ["count", write(table, 120), "1", "2", *store]
    capsys.readouterr()
    assert invoke([*count, "--rows-above", "0.1", "--json"]) == 0
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert (checks["rows"]["state"], checks["rows"]["value"]) == ("warn", 0.2)
    assert invoke([*count, "--degree-fail", "3"]) == 2
    assert capsys.readouterr().err.rstrip().endswith("or, all the same, count with --on-fail flag")
    assert invoke([*count, "--degree-fail", "3", "--on-fail", "flag"]) == 0
    assert "checks: degree fails (18)" in capsys.readouterr().out
    assert invoke(["count", write(table, 60), "1", "2", *store, "--rows-fail", "0.2"]) == 2
    assert "rows: 0.5 is above 0.2" in capsys.readouterr().err  # the count before is what it is compared with
    assert invoke(["verify", "--store", str(tmp_path / "s")]) == 0
    assert invoke(["count", str(table), "1", "2", "--rows-fail", "0.2"]) == 2
    assert "--rows-fail is for counts that go to a store" in capsys.readouterr().err


@pytest.mark.usefixtures("prefect_server")
def test_the_flow_shows_its_checks_and_stops_at_one_that_fails(tmp_path, table, prefect_server):
    settings = {"store": str(tmp_path / "s"), "cluster": {"local": True}, "checks": {"rows_above": ":0.5"}}
    record = etl(write(table, 100), settings)
    assert "| degree | pass | 15 | – | – |" in artifacts(prefect_server)[f"report-{record['run']}"]["data"]
    with pytest.raises(InputError, match="fails its checks"):
        etl(write(table, 10), settings)
