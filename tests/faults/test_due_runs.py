"""Each process of a real Prefect set-up is killed, and the next due run is waited for.

In the ordinary suite one kill of `serve` with the run that it started. ``BICLIQ_FAULTS`` (or
``make faults``): each process alone, a worker of a pool, the server, and a run that is taken for
dead and lives.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from pyarrow import csv

from bicliq.flows import automations
from bicliq.flows.automations import SILENT, SILENT_AFTER, register_automations
from bicliq.flows.etl import etl
from bicliq.flows.served import DIED
from bicliq.pipeline.stages.verify import verify_store
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run
from tests.integration.server import ask, deployed, forget, runs_of, wait_for
from tests.integration.stored_graphs import random_graph
from tests.integration.test_cancelled import edge_table
from tests.integration.test_notify import Webhook, webhook  # noqa: F401
from tests.nightly import by_night
from tests.real_graphs import COUNTS, DATA

ROOT = DATA.parents[1]
SHORT, LONG_RUN = DATA / "UCforum.adj", DATA / "out.edit-nawiki"
OF_MINUTES = ("--min-left", "12", "--min-right", "12")
"""Sizes with which `table_of_minutes` is searched for minutes, and next to nothing is written."""
OUTAGE = 20
"""Seconds without a server, after which a runner of Prefect's own is over: it asks every second."""

IN_FULL = pytest.mark.skipif("BICLIQ_FAULTS" not in os.environ, reason="BICLIQ_FAULTS is not set")


class Group:
    """A command in a process group of its own, with all that it starts."""

    def __init__(self, log: Path, *command: str, **variables: str) -> None:
        self.log, self.command = log, command
        self.environment = {**os.environ, "PREFECT_RUNNER_POLL_FREQUENCY": "1", "PREFECT_WORKER_QUERY_SECONDS": "1"}
        self.environment |= variables
        self.start()

    def start(self) -> None:
        with self.log.open("a") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *self.command],
                cwd=ROOT,
                env=self.environment,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )

    def kill(self) -> None:
        """SIGKILL to all of it, as when a machine goes down."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)

    def kill_alone(self) -> None:
        """SIGKILL to the command, and not to the runs that it started."""
        self.process.kill()
        self.process.wait(60)


@contextmanager
def running(log: Path, *command: str, **variables: str) -> Iterator[Group]:
    group = Group(log, *command, **variables)
    try:
        yield group
    except AssertionError as error:
        raise AssertionError(f"{error}; {' '.join(command[:2])} said:\n{log.read_text()[-4000:]}") from error
    finally:
        group.kill()


@contextmanager
def served(
    tmp_path: Path, table: Path = SHORT, seconds: int = 10, sizes: Sequence[str] = (), **variables: str
) -> Iterator[Group]:
    """`bicliq serve` of a deployment that is named like the folder, due every so many seconds."""
    command = ("bicliq.flows.cli", "serve", str(table), "--store", str(tmp_path / "store"), "--name", tmp_path.name)
    options = ("--interval", str(seconds), "--local", "--nulls", "drop", *sizes)
    with running(tmp_path / "serve.log", *command, *options, **variables) as group:
        yield group
    server = variables.get("PREFECT_API_URL") or os.environ["PREFECT_API_URL"]
    if deployment := deployed(server, tmp_path.name):  # or it plans runs all through the other tests
        forget(server, deployment["id"])


def table_of_minutes(folder: Path) -> Path:
    graph = random_graph(300, 300, 0.5, seed=1)
    edges = np.stack([graph.edge_left, graph.indices], axis=1)
    np.savetxt(folder / "edges.csv", edges, "%d", ",", header="l,r", comments="")
    return folder / "edges.csv"


@contextmanager
def a_server(tmp_path: Path) -> Iterator[tuple[Group, str, dict[str, str]]]:
    """A Prefect server that may be killed, its URL, and the variables by which it is found."""
    url, start = "http://127.0.0.1:4799/api", ("server", "start", "--host", "127.0.0.1", "--port", "4799")
    variables = {"PREFECT_HOME": str(tmp_path / "home"), "PREFECT_API_URL": url}
    with running(tmp_path / "server.log", "prefect", *start, **variables) as server:
        ask(f"{url}/deployments/filter", {})  # waits for the server
        yield server, url, variables


def in_state(server: str, name: str, state: str, after: str = "") -> dict[str, Any] | None:
    """The first run of a deployment that is in a state, and was due after a moment."""
    deployment = deployed(server, name)
    if deployment is None:
        return None
    found = [r for r in runs_of(server, deployment["id"]) if r["state_name"] == state]
    return min(
        (r for r in found if r["expected_start_time"] > after), key=lambda r: r["expected_start_time"], default=None
    )


def begun(server: str, name: str) -> dict[str, Any]:
    """A run in the midst of its work."""
    found: dict[str, Any] = wait_for(lambda: in_state(server, name, "Running"), 240)
    return found


def state_of(server: str, run: dict[str, Any]) -> dict[str, Any]:
    (found,) = ask(f"{server}/flow_runs/filter", {"flow_runs": {"id": {"any_": [run["id"]]}}})
    return found["state"]


def next_completed(server: str, name: str, run: dict[str, Any], seconds: float = 120) -> dict[str, Any]:
    return wait_for(lambda: in_state(server, name, "Completed", run["expected_start_time"]), seconds)


def process_of(run: dict[str, Any], home: str | None = None) -> int:
    """The process of a flow run, as soon as it is its turn: the one that holds its lock."""
    place = Path(home or os.environ["PREFECT_HOME"]) / "bicliq" / f"{run['deployment_id']}.run"

    def holds_the_lock() -> int | None:
        if not place.exists() or place.read_text() != run["id"]:
            return None
        locks = (line.split() for line in Path("/proc/locks").read_text().splitlines())
        return next((int(pid) for *_, pid, file, _, _ in locks if file.endswith(f":{place.stat().st_ino}")), None)

    return wait_for(holds_the_lock, 60)


def stop_between_claims(process: int) -> None:
    """Stop a run that holds its turn alone: for what else it held, others would wait."""
    os.kill(process, signal.SIGSTOP)
    while sum(line.split()[4] == str(process) for line in Path("/proc/locks").read_text().splitlines()) > 1:
        os.kill(process, signal.SIGCONT)
        time.sleep(0.05)
        os.kill(process, signal.SIGSTOP)


@by_night
def test_the_run_after_a_killed_serve_starts_and_the_dead_one_is_crashed_and_told(
    tmp_path: Path,
    prefect_server: str,
    webhook: Webhook,  # noqa: F811
) -> None:
    table = edge_table(tmp_path, 240)  # of minutes, so that it is killed at work
    with served(tmp_path, Path(table), 5, BICLIQ__NOTIFY__WEBHOOK=webhook.url) as serve:
        dead = begun(prefect_server, tmp_path.name)
        process_of(dead)  # one that was killed before it is at work is the server's to notice
        serve.kill()
        assert state_of(prefect_server, dead)["type"] == "RUNNING"
        csv.write_csv(pq.read_table(SHORT.with_suffix(".parquet")), table)
        serve.start()
        wait_for(lambda: state_of(prefect_server, dead)["type"] == "CRASHED", 60)
        assert state_of(prefect_server, dead)["message"] == DIED
        after = next_completed(prefect_server, tmp_path.name, dead)
        assert open_run(str(tmp_path / "store")).manifest.bicliques == COUNTS["UCforum"]
        assert after["start_time"] > dead["start_time"]
        said = serve.log.read_text()  # Prefect itself says the traceback of a run that is stopped at work
        serve.process.send_signal(signal.SIGTERM)
        assert serve.process.wait(60) in (130, 143)
    assert "Traceback" not in said
    assert "RuntimeWarning" not in serve.log.read_text()
    told = [t for t in webhook.told if t["event"] == "missed" and DIED in t["reasons"][0]]
    assert len(told) == 1
    assert tmp_path.name in told[0]["text"]


@IN_FULL
def test_a_run_that_lives_on_after_its_serve_was_killed_is_not_crashed_and_ends_well(
    tmp_path: Path, prefect_server: str
) -> None:
    with served(tmp_path, LONG_RUN) as serve:
        alive = begun(prefect_server, tmp_path.name)
        process_of(alive)
        serve.kill_alone()
        serve.start()
        wait_for(lambda: state_of(prefect_server, alive)["type"] == "COMPLETED", 120)
        next_completed(prefect_server, tmp_path.name, alive)
        never_two_at_once(prefect_server, tmp_path.name)


@IN_FULL
def test_a_killed_run_is_crashed_by_its_serve_and_the_next_starts(tmp_path: Path, prefect_server: str) -> None:
    with served(tmp_path):
        dead = begun(prefect_server, tmp_path.name)
        os.kill(process_of(dead), signal.SIGKILL)
        wait_for(lambda: state_of(prefect_server, dead)["type"] == "CRASHED", 60)
        next_completed(prefect_server, tmp_path.name, dead)
        never_two_at_once(prefect_server, tmp_path.name)


@IN_FULL
def test_a_run_that_is_taken_for_dead_and_lives_keeps_the_next_from_starting(
    tmp_path: Path, prefect_server: str
) -> None:
    with served(tmp_path, LONG_RUN) as serve:
        alive = begun(prefect_server, tmp_path.name)
        process = process_of(alive)
        stop_between_claims(process)  # it lives until the next was due
        crashed = {"state": {"type": "CRASHED", "message": "by hand"}, "force": True}
        ask(f"{prefect_server}/flow_runs/{alive['id']}/set_state", crashed)
        refused = wait_for(
            lambda: next(
                (
                    run
                    for run in runs_of(prefect_server, alive["deployment_id"])
                    if alive["id"] in (run["state"]["message"] or "")
                ),
                None,
            ),
            60,
        )
        os.kill(process, signal.SIGCONT)
        assert refused["state_name"] == "Cancelled"
        assert refused["state"]["message"].endswith("is on its way on this machine")
        next_completed(prefect_server, tmp_path.name, refused)
        assert serve.process.poll() is None


@IN_FULL
def test_a_run_that_wakes_after_another_machine_did_its_work_changes_nothing(
    tmp_path: Path, prefect_server: str
) -> None:
    homes = [str(tmp_path / name) for name in ("first", "second")]  # a machine's locks are in its home
    with served(tmp_path, LONG_RUN, PREFECT_HOME=homes[0]) as serve:
        asleep = begun(prefect_server, tmp_path.name)
        process = process_of(asleep, homes[0])
        stop_between_claims(process)
        serve.kill_alone()
        crashed = {"state": {"type": "CRASHED", "message": "by hand"}, "force": True}
        ask(f"{prefect_server}/flow_runs/{asleep['id']}/set_state", crashed)
        serve.environment["PREFECT_HOME"] = homes[1]
        serve.start()
        next_completed(prefect_server, tmp_path.name, asleep, 240)
        store = Store.open(str(tmp_path / "store"))
        files = open_run(store.uri).manifest.files
        os.kill(process, signal.SIGCONT)
        wait_for(lambda: not Path(f"/proc/{process}").exists(), 120)
        assert open_run(store.uri).manifest.files == files
        assert verify_store(store).problems == []


@IN_FULL
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_serve_and_its_run_with_a_sentence(
    tmp_path: Path, prefect_server: str, number: signal.Signals
) -> None:
    with served(tmp_path, LONG_RUN) as serve:
        process_of(begun(prefect_server, tmp_path.name))
        if number == signal.SIGINT:  # of a terminal, which sends it to all
            os.killpg(serve.process.pid, number)
        else:
            serve.process.send_signal(number)
        assert serve.process.wait(60) in (130, 128 + number)
    said = serve.log.read_text()
    assert "Traceback" not in said
    assert said.strip().splitlines()[-1].startswith("bicliq: ")


@IN_FULL
def test_a_server_that_was_killed_goes_on_with_what_is_due(tmp_path: Path) -> None:
    with a_server(tmp_path) as (server, url, variables), served(tmp_path, **variables) as serve:
        dead = begun(url, tmp_path.name)
        server.kill()
        serve.kill()
        server.start()
        wait_for(lambda: deployed(url, tmp_path.name), 120)
        serve.start()
        wait_for(lambda: state_of(url, dead)["type"] == "CRASHED", 60)
        next_completed(url, tmp_path.name, dead)
        last = in_state(url, tmp_path.name, "Completed")
        assert last is not None
        wait_for(lambda: none_is_on_its_way(url, tmp_path.name), 60)  # Prefect says more of one that is just beginning
        server.kill()  # alone: `serve` stays, and finds it again
        time.sleep(OUTAGE)
        server.start()
        next_completed(url, tmp_path.name, {"expected_start_time": datetime.now(UTC).isoformat()})
        assert serve.process.poll() is None
        assert "Traceback" not in serve.log.read_text()


@IN_FULL
def test_a_server_that_goes_while_serve_begins_is_waited_for(tmp_path: Path) -> None:
    with a_server(tmp_path) as (server, url, variables):
        variables |= {"SERVED": str(SHORT), "STORE": str(tmp_path / "store"), "SERVER": str(server.process.pid)}
        with running(tmp_path / "serve.log", "tests.faults.serve_and_kill_the_server", **variables) as serve:
            wait_for(lambda: server.process.poll() is not None, 120)
            time.sleep(OUTAGE)
            assert serve.process.poll() is None, serve.log.read_text()
            server.start()
            begun_and_ended = wait_for(lambda: in_state(url, "outage", "Completed"), 120)
            assert begun_and_ended["name"]
            assert "Traceback" not in serve.log.read_text()


@IN_FULL
def test_a_run_is_cancelled_in_the_pages_though_the_server_was_away(tmp_path: Path) -> None:
    with (
        a_server(tmp_path) as (server, url, variables),
        served(tmp_path, table_of_minutes(tmp_path), 86_400, OF_MINUTES, **variables),
    ):
        deployment = wait_for(lambda: deployed(url, tmp_path.name), 120)
        server.kill()
        time.sleep(OUTAGE)
        server.start()
        ask(f"{url}/deployments/{deployment['id']}/create_flow_run", {})
        run = begun(url, tmp_path.name)
        process = process_of(run, variables["PREFECT_HOME"])
        ask(f"{url}/flow_runs/{run['id']}/set_state", {"state": {"type": "CANCELLING"}})
        wait_for(lambda: state_of(url, run)["type"] == "CANCELLED", 60)
        wait_for(lambda: not Path(f"/proc/{process}").exists(), 30)


@IN_FULL
def test_a_run_of_a_worker_that_was_killed_is_crashed_by_the_server_and_the_next_starts(
    tmp_path: Path, prefect_server: str
) -> None:
    declared = yaml.safe_load((ROOT / "prefect.yaml").read_text())
    deployment = declared["deployments"][0]
    deployment |= {"name": tmp_path.name, "schedules": [{"interval": 15}], "work_pool": {"name": tmp_path.name}}
    deployment["work_pool"]["job_variables"] = declared["deployments"][0]["work_pool"].get("job_variables", {})
    deployment["parameters"] = {
        "source": str(LONG_RUN),
        "settings": {"store": str(tmp_path / "store"), "cluster": {"local": True}},
    }
    declared["deployments"] = [deployment]
    (tmp_path / "prefect.yaml").write_text(yaml.safe_dump(declared))
    for command in (
        f"work-pool create {tmp_path.name} --type process",
        f"--no-prompt deploy --all --prefect-file {tmp_path / 'prefect.yaml'}",
    ):
        subprocess.run(
            [sys.executable, "-m", "prefect", *command.split()],
            cwd=ROOT,
            env={**os.environ, "BICLIQ_HOME": str(ROOT)},
            check=True,
            timeout=120,
        )
    with running(tmp_path / "worker.log", "prefect", "worker", "start", "--pool", tmp_path.name) as worker:
        dead = begun(prefect_server, tmp_path.name)
        # A state of a run that was planned within five minutes before waits for events that never
        # come.
        beats = {"filter": {"event": {"name": ["prefect.flow-run.heartbeat"]}}}
        wait_for(lambda: dead["id"] in str(ask(f"{prefect_server}/events/filter", beats)), 30)
        killed, run = time.monotonic(), process_of(dead)
        worker.kill()
        with suppress(ProcessLookupError):
            os.kill(run, signal.SIGKILL)
        worker.start()
        wait_for(lambda: state_of(prefect_server, dead)["type"] == "CRASHED", 2 * SILENT_AFTER + 90)
        assert state_of(prefect_server, dead)["message"] == SILENT
        print(f"crashed {time.monotonic() - killed:.0f} s after the kill")
        next_completed(prefect_server, tmp_path.name, dead)
    never_two_at_once(prefect_server, tmp_path.name)


@IN_FULL
def test_a_run_that_was_taken_up_and_never_began_is_crashed_by_the_server(
    tmp_path: Path, prefect_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(automations, "STARTS_WITHIN", 60)
    register_automations()
    made = etl.to_deployment(tmp_path.name, parameters={"source": str(SHORT)}, tags=[automations.WATCHED]).apply()
    run = ask(f"{prefect_server}/deployments/{made}/create_flow_run", {})
    ask(f"{prefect_server}/flow_runs/{run['id']}/set_state", {"state": {"type": "PENDING"}})
    taken = time.monotonic()
    wait_for(lambda: state_of(prefect_server, run)["type"] == "CRASHED", 600)
    assert state_of(prefect_server, run)["message"].startswith("Not begun within 1 minutes")
    print(f"crashed {time.monotonic() - taken:.0f} s after it was taken up")
    monkeypatch.undo()
    register_automations()


def test_the_automations_are_made_once_and_brought_up_to_date(prefect_server: str) -> None:
    register_automations()
    register_automations()
    found = [each for each in ask(f"{prefect_server}/automations/filter", {}) if each["name"].startswith("bicliq: ")]
    assert len(found) == len({each["name"] for each in found}) == 2
    changed = {**found[0], "trigger": {**found[0]["trigger"], "within": 7200}}
    kept = {key: changed[key] for key in ("name", "description", "enabled", "trigger", "actions")}
    ask(f"{prefect_server}/automations/{changed['id']}", kept, "PUT")
    register_automations()
    again = [each for each in ask(f"{prefect_server}/automations/filter", {}) if each["name"].startswith("bicliq: ")]
    assert {each["id"] for each in again} == {each["id"] for each in found}
    assert all(each["trigger"]["within"] < 7200 for each in again)


def none_is_on_its_way(server: str, name: str) -> bool:
    """Whether no run of a deployment is beginning, or runs."""
    deployment = deployed(server, name)
    assert deployment is not None
    return not any(run["state_type"] in ("PENDING", "RUNNING") for run in runs_of(server, deployment["id"]))


def never_two_at_once(server: str, name: str) -> None:
    """No run of a deployment began before the one before it had ended."""
    deployment = deployed(server, name)
    assert deployment is not None
    spans = sorted(
        (datetime.fromisoformat(run["start_time"]), datetime.fromisoformat(run["end_time"]))
        for run in runs_of(server, deployment["id"])
        if run["start_time"] and run["end_time"] and run["state_name"] != "Cancelled"
    )
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
