"""Ctrl-C, SIGTERM and SIGHUP end every command in one way: a sentence, a code, nothing left."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests import forked
from tests.nightly import NIGHTLY, by_night

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
NUMBERS = list(CODES) if NIGHTLY else [signal.SIGTERM]
SENTENCE = "bicliq: interrupted; what was committed is kept: run the same command again to go on\n"
NOT_KEPT = "bicliq: interrupted; nothing of it is kept\n"
MANY = "".join(f"u{i},v{j}\n" for i in range(40) for j in range(40) if i != j)
"""All but a perfect matching: 2^40 maximal bicliques."""


@contextmanager
def command(tmp_path: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command at work, whose temporary files lie in a folder of its own."""
    (tmp_path / "temporary").mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "bicliq.flows.cli", *arguments],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary"), "BICLIQ__FORCE": "true"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: [signal.signal(each, signal.SIG_DFL) for each in CODES],
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def ended(process: subprocess.Popen[str] | forked.Forked, number: int) -> tuple[int, str, str]:
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def at_work(process: subprocess.Popen[str] | forked.Forked, seconds: float = 1) -> None:
    """Wait until it has computed for longer than its start takes."""
    times = psutil.Process(process.pid).cpu_times
    while process.poll() is None and times().user < seconds:
        time.sleep(0.1)
    assert process.poll() is None


def begun(process: subprocess.Popen[str], event: str) -> None:
    """Wait for an event of the log."""
    assert process.stderr is not None
    for line in process.stderr:
        if event in line:
            return
    raise AssertionError(f"{event} did not come")


@pytest.fixture
def many(tmp_path):
    (tmp_path / "many.csv").write_text("user,item\n" + MANY)
    return "many.csv"


@pytest.mark.parametrize("number", CODES)
@pytest.mark.parametrize("name", ["run", "watch"] if NIGHTLY else ["watch"])  # which ends as the run in it does
def test_a_run_and_a_watch_keep_what_is_committed(tmp_path, many, name, number):
    at_once = ["--settle", "0"] if name == "watch" else []
    with command(tmp_path, name, many, *at_once, "--local", "--store", "s", "-v") as process:
        begun(process, "search begun")
        code, out, err = ended(process, number)
    assert (code, out) == (CODES[number], "")
    assert err.endswith(SENTENCE)
    assert "Traceback" not in err
    assert not list((tmp_path / "s").rglob(".*.tmp"))
    assert not list((tmp_path / "temporary").iterdir())


@pytest.mark.parametrize("number", NUMBERS)
def test_an_update_leaves_the_version_before(tmp_path, number):
    (tmp_path / "a.csv").write_text("user,item\nu0,v0\n")
    (tmp_path / "b.csv").write_text("user,item\n" + MANY)
    with command(tmp_path, "run", "a.csv", "--store", "s", "--local") as process:
        assert process.wait(60) == 0
    with command(tmp_path, "update", "b.csv", "--store", "s", "--local", "-v") as process:
        begun(process, "search begun")
        code, _, err = ended(process, number)
    assert (code, err.endswith(SENTENCE)) == (CODES[number], True)
    with command(tmp_path, "top", "--store", "s", "--json") as process:
        out, _ = process.communicate(timeout=60)
    assert len(json.loads(out)["bicliques"]) == 1


def hard_to_clique(path: Path) -> str:
    chance = random.Random(3)
    edges = [(i, j) for i in range(400) for j in range(i) if chance.random() < 0.9]
    path.write_text(f"p edge 400 {len(edges)}\n" + "".join(f"e {i + 1} {j + 1}\n" for i, j in edges))
    return path.name


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", ["count", "count all", "find", "clique", "enumerate"])
def test_answers_that_are_not_stored(tmp_path, monkeypatch, many, name, number):
    asked = {
        "count": ("count", many, "20", "20", "--method", "levels"),
        "count all": ("count", many, "--all", "--max-p", "39", "--max-q", "39"),
        "find": ("find", many, "--top", "1000000"),
        "clique": ("clique", hard_to_clique(tmp_path / "hard.clq")),
        "enumerate": ("enumerate", many),
    }[name]
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path)
    process = forked.command(*asked, "--json", variables={"TMPDIR": "temporary", "BICLIQ__FORCE": "true"})
    at_work(process, 0.5)
    code, out, err = ended(process, number)
    assert (code, err.endswith(NOT_KEPT)) == (CODES[number], True)
    found = json.loads(out)
    assert (found["kind"], found["exit_code"]) == ("Interrupted", CODES[number])
    assert not list((tmp_path / "temporary").iterdir())


@by_night
@pytest.mark.parametrize("number", NUMBERS)
def test_who_waits_for_workers_is_told_so_and_can_be_ended(tmp_path, many, number):
    with subprocess.Popen(
        [Path(sys.executable).with_name("dask"), "scheduler", "--port", "0", "--no-dashboard",
         "--scheduler-file", tmp_path / "scheduler.json"], stderr=subprocess.DEVNULL,
    ) as scheduler:  # fmt: skip
        try:
            for _ in range(100):
                if (tmp_path / "scheduler.json").exists():
                    break
                time.sleep(0.2)
            address = json.loads((tmp_path / "scheduler.json").read_text())["address"]
            with command(tmp_path, "run", many, "--store", "s", "--scheduler", address) as process:
                begun(process, "waiting for workers")
                code, _, err = ended(process, number)
            assert (code, err.endswith(SENTENCE)) == (CODES[number], True)
        finally:
            scheduler.terminate()


@pytest.mark.parametrize("number", NUMBERS)
def test_workers_of_ones_own_end_with_the_command(tmp_path, many, number):
    with command(tmp_path, "run", many, "--store", "s", "--workers", "2", "--partitions", "8", "-v") as process:
        begun(process, "search begun")
        time.sleep(1)  # within the search of its workers
        code, _, err = ended(process, number)
    assert (code, "Traceback" in err) == (CODES[number], False)
    assert err.endswith(SENTENCE)
    assert not list((tmp_path / "temporary").glob("*/worker-*"))


def test_a_service_manager_that_sends_two_at_once_is_answered_once(tmp_path, many):
    with command(tmp_path, "run", many, "--store", "s", "--local", "-v") as process:
        begun(process, "search begun")
        process.send_signal(signal.SIGTERM)
        code, _, err = ended(process, signal.SIGHUP)
    assert code in (143, 129)
    assert err.endswith(SENTENCE)


def test_hang_ups_that_are_ignored_stay_ignored(tmp_path, many):
    arguments = [sys.executable, "-m", "bicliq.flows.cli", "enumerate", str(tmp_path / many)]
    ignored = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))  # fmt: skip
    at_work(ignored)
    ignored.send_signal(signal.SIGHUP)
    time.sleep(1)
    assert ignored.poll() is None
    ignored.send_signal(signal.SIGTERM)
    assert ignored.communicate(timeout=60)[1].endswith(NOT_KEPT)
    assert ignored.returncode == 143
