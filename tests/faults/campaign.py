"""One fault at a time, into a real command that is at work; then the same command again.

A fault strikes when the store has so many files, so that every step that writes is hit alike. After
it nothing that was committed may be lost or searched again, the command must finish when it is
given again, with the answer of an undisturbed one, and whoever reads meanwhile sees nothing, or all
of it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from pipeline.errors import BicliqError
from pipeline.stages.verify import verify_store
from pipeline.store.layout import Store
from pipeline.store.results import open_run

ROOT = Path(__file__).parents[2]
PATIENCE = 120
"""Seconds that a command may take before it is said to hang."""

COMMANDS = {
    "run": ["run", "{table}", "--local", "--partitions", "12"],
    "run on workers": ["run", "{table}", "--workers", "2", "--partitions", "12", "--dashboard", "false"],
    "count": ["count", "{table}", "3", "3", "--vertices", "--local", "--partitions", "6"],
    "clique": ["clique", "{table}", "--project", "left", "--min-shared", "8"],
}

FAULTS = {
    "the process is killed": list(COMMANDS),
    "the process and its workers are killed": ["run on workers"],
    "a worker is killed": ["run on workers"],
    "a worker stands still for a while": ["run on workers"],
    "the disk is full": ["run", "count", "clique"],
}
"""What happens, and the commands that it can happen to."""


@dataclass(frozen=True)
class Fault:
    """What strikes which command, at which share of the files that it writes."""

    kind: str
    command: str
    share: float


def faults(seed: int, n: int) -> list[Fault]:
    """Return so many faults, of every kind alike."""
    random = np.random.default_rng(seed)
    pairs = [(kind, command) for kind, commands in FAULTS.items() for command in commands]
    return [Fault(*pairs[i % len(pairs)], float(random.random())) for i in range(n)]


def write_table(path: Path) -> None:
    """A table with some 100,000 maximal bicliques, skewed on both sides."""
    random = np.random.default_rng(20_261_122)
    chance = np.outer(np.linspace(0.5, 0.05, 300), np.linspace(1, 0.3, 90))
    left, right = np.nonzero(random.random(chance.shape) < chance)
    path.write_text("l,r\n" + "".join(f"person {u},{v + 1000}\n" for u, v in zip(left, right, strict=True)))


@dataclass(frozen=True)
class Undisturbed:
    """What a command answers where nothing happens, and how many files and bytes it leaves."""

    answer: Any
    files: int
    bytes: int


class Stage:
    """A folder with a table, in which commands are given and disturbed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write_table(folder / "table.csv")

    def undisturbed(self, command: str) -> Undisturbed:
        store = self.folder / f"undisturbed {command}"
        answer = self.give(command, store)
        there = files(store)
        return Undisturbed(answer, len(there), sum(path.stat().st_size for path in there))

    def start(self, command: str, store: Path, *more: str) -> subprocess.Popen[str]:
        words = [word.format(table=self.folder / "table.csv") for word in COMMANDS[command]]
        line = [sys.executable, "-m", "flows.cli", *words, "--store", str(store), "--json", *more]
        return subprocess.Popen(
            line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )

    def give(self, command: str, store: Path) -> Any:
        """Give a command and return its answer; raises where it fails."""
        process = self.start(command, store)
        out, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, f"{command}: exit code {process.returncode}: {said}"
        return answer_of(command, json.loads(out))

    def strike(self, fault: Fault, expected: Undisturbed, store: Path) -> None:
        """Give a command, let the fault happen, and wait for the end of all that was started."""
        process = self.start(fault.command, store)
        family = [psutil.Process(process.pid)]
        moment = 1 + int(fault.share * (expected.files - 1))
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and len(files(store)) < moment and time.monotonic() < deadline:
            time.sleep(0.002)
        with_children = [*family, *children(process.pid)]
        if process.poll() is None:
            happen(fault, process.pid)
        if fault.kind.startswith("the process"):
            process.wait(PATIENCE)
        else:
            process.communicate(timeout=PATIENCE)
        for left in psutil.wait_procs(with_children, timeout=PATIENCE)[1]:
            raise AssertionError(f"{fault}: {left} is still there")


def happen(fault: Fault, pid: int) -> None:
    """Let the fault strike a process and its children."""
    workers = [child for child in children(pid) if any("spawn_main" in word for word in child.cmdline())]
    if fault.kind == "the process is killed":
        os.kill(pid, signal.SIGKILL)
    elif fault.kind == "the process and its workers are killed":
        os.killpg(pid, signal.SIGKILL)
    elif fault.kind == "a worker is killed" and workers:
        workers[0].kill()
    elif fault.kind == "a worker stands still for a while" and workers:
        workers[0].suspend()
        time.sleep(3)
        if workers[0].is_running():
            workers[0].resume()


def children(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def files(store: Path) -> list[Path]:
    return [path for path in store.rglob("*") if path.is_file()] if store.exists() else []


def answer_of(command: str, record: dict[str, Any]) -> Any:
    """What of a record must be the same, however it came about."""
    if command == "count":
        return record["counts"]
    if command == "clique":
        return record["size"], record["proven"]
    return record["bicliques"], record["digest"]


def commits(store: Path) -> dict[str, bytes]:
    """The commit records of a store: of partitions, and of counts."""
    names = [path for path in files(store) if path.parent.name == "commits" or "counts" in path.parts]
    return {str(path): path.read_bytes() for path in names if path.suffix == ".json" and "partition-" in path.name}


@contextmanager
def a_reader(store: Path, expected: Undisturbed) -> Iterator[list[str]]:
    """Read the latest run again and again; yields what was seen that should not be."""
    seen, over = list[str](), threading.Event()

    def read() -> None:
        while not over.wait(0.05):
            try:
                run = open_run(str(store))
                if run.state.name == "published" and (run.manifest.bicliques, run.manifest.digest) != expected.answer:
                    seen.append(str(run.manifest))
            except BicliqError:
                continue

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield seen
    finally:
        over.set()
        reader.join()


def try_fault(stage: Stage, fault: Fault, expected: Undisturbed, store: Path) -> dict[str, int]:
    """Let a fault happen, and demand all that is promised; returns what was kept."""
    stage.strike(fault, expected, store)
    kept = commits(store)
    if (store / "bicliq-store.json").exists():
        found = verify_store(Store.to_verify(str(store)))
        damage = [problem for problem in found.problems if not problem.endswith("count again")]
        assert damage == [], (fault, damage)
    with a_reader(store, expected) as seen:
        answer = stage.give(fault.command, store)
    assert answer == expected.answer, (fault, answer)
    assert seen == [], (fault, seen)
    after = commits(store)
    assert all(after[name] == content for name, content in kept.items()), (fault, "a commit has changed")
    found = verify_store(Store.to_verify(str(store)))
    assert found.problems == [], (fault, found.problems)
    assert found.leftovers == [], (fault, found.leftovers)
    return {"kept": len(kept), "committed": len(after)}
