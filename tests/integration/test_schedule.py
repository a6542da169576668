"""Schedules on a real Prefect server: nothing here starts a run but the schedule itself."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cloudpickle
import pytest
import yaml
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.testing.cli import invoke_and_assert

from bicliq.flows.cli import invoke
from bicliq.flows.deploy import deployment_name
from bicliq.flows.deployments import FLOWS, read_deployments
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.store.results import open_run
from tests.integration.server import deployed, forget, published, runs_of, wait_for
from tests.nightly import by_night
from tests.real_graphs import COUNTS, DATA

ROOT = DATA.parents[1]
EDGES = str(DATA / "UCforum.adj")


@contextmanager
def running(log: Path, *command: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command that stays, ended by an interrupt as of a terminal."""
    with log.open("w") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", *command],
            cwd=ROOT,
            env={**os.environ, "PREFECT_RUNNER_POLL_FREQUENCY": "1", "PREFECT_WORKER_QUERY_SECONDS": "1", **variables},
            stdout=said,
            stderr=said,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored behind a shell's "&"
        )
    try:
        yield process
    except AssertionError as error:
        raise AssertionError(f"{error}; {' '.join(command[:2])} said:\n{log.read_text()}") from error
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def first_run(server: str, name: str, seconds: float = 240) -> dict:
    """The first completed run of a deployment."""
    deployment = wait_for(lambda: deployed(server, name), 120)
    return wait_for(
        lambda: next((r for r in runs_of(server, deployment["id"]) if r["state_type"] == "COMPLETED"), None), seconds
    )


def test_a_schedule_starts_runs_by_itself_and_its_name_is_not_taken_for_another_store(tmp_path, prefect_server, capsys):
    store, other = str(tmp_path / "store"), str(tmp_path / "other")
    name = deployment_name(EDGES, store)
    serve = ("serve", EDGES, "--interval", "5", "--local", "--nulls", "drop")
    with running(tmp_path / "serve.log", "bicliq.flows.cli", *serve, "--store", store) as process:
        wait_for(lambda: deployed(prefect_server, name), 120)
        assert invoke([*serve, "--store", other, "--name", name]) == 2
        said = capsys.readouterr().err
        assert store in said
        assert "--replace" in said
        assert deployed(prefect_server, name)["parameters"]["settings"]["store"] == store
        run = first_run(prefect_server, name)
        assert process.poll() is None
    assert run["auto_scheduled"] is True
    assert run["state"]["message"].startswith("16,261 maximal bicliques")
    assert run["parameters"]["settings"]["ingest"]["nulls"] == "drop"
    assert open_run(store).manifest.bicliques == COUNTS["UCforum"]
    assert process.returncode == 130
    assert "run the same command again to go on" in (tmp_path / "serve.log").read_text()
    left = deployed(prefect_server, name)
    assert left["paused"] is False
    assert left["schedules"][0]["active"] is True
    assert left["global_concurrency_limit"]["limit"] == 1
    replace = ("serve", EDGES, "--store", other, "--name", name, "--replace")
    with running(tmp_path / "other.log", "bicliq.flows.cli", *replace):
        wait_for(lambda: deployed(prefect_server, name)["parameters"]["settings"]["store"] == other, 120)
    forget(prefect_server, left["id"])


def test_deployments_are_named_by_table_and_store():
    assert deployment_name(EDGES, "mine") != deployment_name(EDGES, "other")
    assert deployment_name("s3://lake/edges.parquet", "s3://lake/groups").startswith("edges-parquet-to-groups-")


@by_night
def test_a_file_of_deployments_is_served_by_one_process(tmp_path, prefect_server):
    text = f"""
        [nightly-groups]
        flow = "etl"
        interval = 10
        source = "{EDGES}"
        settings = {{store = "{tmp_path / "groups"}", cluster = {{local = true}}}}

        [squares]
        flow = "count"
        interval = 10
        source = "{EDGES}"
        asked = {{p = 2, q = 2}}
        settings = {{store = "{tmp_path / "counts"}", cluster = {{local = true}}}}
    """
    (tmp_path / "deployments.toml").write_text(textwrap.dedent(text))
    serve = ("bicliq.flows.cli", "serve", "--file", str(tmp_path / "deployments.toml"))
    with running(tmp_path / "serve.log", *serve):
        groups, squares = (first_run(prefect_server, name) for name in ("nightly-groups", "squares"))
    assert groups["state"]["message"].startswith("16,261 maximal bicliques")
    assert "complete 2 × 2 subgraphs" in squares["state"]["message"]
    assert deployed(prefect_server, "squares")["global_concurrency_limit"]["limit"] == 1
    for run in (groups, squares):
        forget(prefect_server, run["deployment_id"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no deployment in it"),
        ("[a", "this is no TOML"),
        ("a = 1", "[a]: it must be a table"),
        ("[a]\nflow = 'etll'", "[a]: flow is 'etll'; it must be one of etl, "),
        ("[a]\nflow = 'etl'\nsorce = 'x'", "[a]: the flow has no sorce; it has source, settings, verify"),
        ("[a]\nflow = 'etl'", "[a]: source is missing"),
        ("[a]\nflow = 'etl'\nsource = 'x'\nsettings = {stoer = 's'}", "[a]: "),
        ("[a]\nflow = 'etl'\nsource = 'x'\ncron = 'daily'", "[a]: --cron 'daily': "),
        ("[a]\nflow = 'etl'\nsource = 'x'\ninterval = 'x'", "[a]: --interval x: "),
        ("[a]\nflow = 'etl'\nsource = 'x'\ninterval = 5\ncron = '0 3 * * *'", "[a]: --cron and --interval"),
    ],
)
def test_a_file_of_deployments_that_makes_no_sense_is_refused(tmp_path, capsys, text, said):
    path = tmp_path / "deployments.toml"
    path.write_text(text)
    assert invoke(["serve", "--file", str(path)]) == 2
    assert f"{path}: {said}" in capsys.readouterr().err.replace("bicliq: ", "")


def test_a_file_may_name_every_flow_that_prefect_yaml_declares(tmp_path):
    declared = {
        each["name"].removeprefix("bicliq-")
        for each in yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]
    }
    assert declared == set(FLOWS)
    path = tmp_path / "deployments.toml"
    path.write_text("[arrivals]\nflow = 'watch'\nsource = 'orders'\ninterval = 60\n")
    (found,) = read_deployments(path)
    assert (found.flow.name, found.parameters["source"]) == ("bicliq-watch", str(Path("orders").absolute()))


@pytest.mark.parametrize("place", FLOWS.values())
def test_a_flow_goes_to_the_process_of_its_run_by_name(place):
    importlib.import_module("bicliq.flows.runner")
    module, name = place.split(".")
    flow = getattr(importlib.import_module(f"bicliq.flows.{module}"), name)
    assert cloudpickle.loads(cloudpickle.dumps(flow)) is flow


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name an edge table, or a --file of deployments"),
        (("edges.csv", "--file", "d.toml"), "name an edge table, or a --file of deployments"),
        (("--file", "d.toml", "--cron", "0 3 * * *"), "--cron is for one table"),
        (("--file", "d.toml", "--min-left", "3"), "--min-left is for one table"),
        (("--file", "d.toml"), "the file of deployments cannot be read"),
    ],
)
def test_a_table_and_a_file_of_deployments_are_not_mixed(tmp_path, monkeypatch, capsys, arguments, said):
    monkeypatch.chdir(tmp_path)
    assert invoke(["serve", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("url", [None, "http://127.0.0.1:9/api"])
def test_serving_without_a_server_is_refused_with_the_two_commands(url, capsys):
    with temporary_settings({PREFECT_API_URL: url}):
        assert invoke(["serve", EDGES, "--cron", "0 3 * * *"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert "prefect server start" in said.err
    assert "prefect config set PREFECT_API_URL=" in said.err


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--cron", "nonsense"),
        ("--cron", "0 3 * *"),
        ("--cron", "0 0 31 2 *"),
        ("--interval", "0"),
        ("--interval", "nan"),
        ("--name", " "),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused(option, value, capsys):
    assert invoke(["serve", EDGES, option, value]) == 2
    assert option in capsys.readouterr().err


def test_prefect_yaml_declares_a_deployment_a_flow_with_parameters_that_it_takes():
    declared = yaml.safe_load((ROOT / "prefect.yaml").read_text())["deployments"]
    flows = {}
    for deployment in declared:
        path, name = deployment["entrypoint"].split(":")
        flow = getattr(importlib.import_module(path.removesuffix(".py").replace("/", ".")), name)
        assert set(deployment["parameters"]) <= set(flow.parameters.properties)
        load_settings(**deployment["parameters"]["settings"])
        flows[deployment["name"]] = flow.name
    assert flows == {name: name for name in flows}
    files = {path.stem for path in (ROOT / "flows").glob("*.py") if "@flow(" in path.read_text()}
    assert files == {deployment["entrypoint"].split("/")[1].split(".")[0] for deployment in declared}


@by_night
def test_a_worker_of_a_pool_does_what_prefect_yaml_schedules(tmp_path, prefect_server, monkeypatch):
    declared = yaml.safe_load((ROOT / "prefect.yaml").read_text())
    deployment = declared["deployments"][0]
    deployment["schedules"] = [{"interval": 10}]  # not every night, as it stands
    deployment["parameters"]["settings"] = {"store": str(tmp_path / "store"), "cluster": {"local": True}}
    deployment["parameters"]["source"] = EDGES
    (tmp_path / "prefect.yaml").write_text(yaml.safe_dump(declared))
    monkeypatch.setenv("BICLIQ_HOME", str(ROOT))
    monkeypatch.chdir(ROOT)
    pool = deployment["work_pool"]["name"]
    for command in (
        f"work-pool create {pool} --type process",
        f"deploy --all --prefect-file {tmp_path / 'prefect.yaml'}",
    ):
        invoke_and_assert(["--no-prompt", *command.split()])
    with running(tmp_path / "worker.log", "prefect", "worker", "start", "--pool", pool):
        run = first_run(prefect_server, deployment["name"])
    forget(prefect_server, run["deployment_id"])
    assert run["auto_scheduled"] is True
    assert run["work_pool_name"] == pool
    assert "16,261 maximal bicliques" in run["state"]["message"]
    assert published(str(tmp_path / "store"))
