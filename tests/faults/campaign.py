"""One fault at a time, into a real command that is at work; then the same command again.

A fault strikes when the store has so many files, so that every step that writes is hit alike. After
it nothing that was committed may be lost or searched again, the command must finish when it is
given again, with the answer of an undisturbed one, and whoever reads meanwhile sees what was there
before, or all of it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, cycle, zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from bicliq.pipeline.errors import BicliqError
from bicliq.pipeline.stages.verify import verify_store
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run
from tests.faults.commands import COMMANDS, PATIENCE, Cluster, Table, write_tables
from tests.forked import Forked

WRITERS = ["run", "update", "count", "clique", "resume", "watch", "compact"]

FAULTS = {
    "the process is killed": [*WRITERS, "find", "first watch", "prune", "run on workers", "run on a scheduler", "flow"],
    "the disk is full": ["count", "clique", "run", "update", "resume", "compact", "watch"],
    "the disk breaks": [
        "resume",
        "run",
        "count",
        "update",
        "clique",
        "prune",
        "watch",
        "run on workers",
        "find",
        "compact",
    ],
    "the clock jumps": ["update", "resume", "run", "watch", "run on workers"],
    "the process and its workers are killed": ["run on workers", "flow"],
    "a worker is killed": ["run on a scheduler", "run on workers"],
    "a worker stands still for a while": ["run on workers", "run on a scheduler"],
    "a worker hangs": ["run on workers"],
    "the scheduler is killed": ["run on a scheduler"],
    "connections are cut": ["run on a scheduler"],
    "connections are slow": ["run on a scheduler"],
}
"""What happens, and the commands that it can happen to."""

DAYS = 86_400
SLOW = ("run on workers", "run on a scheduler", "flow")
"""Commands with processes of their own."""

NOT_PUBLISHED = ("count again", "resume the run", "give its command again")
"""How sentences of verify end on what was searched, counted or made, and not published yet."""

CUT_SHORT = ("the disk is full", "the disk breaks")
"""Faults that a command meets itself, and must say what happened."""


@dataclass(frozen=True)
class Fault:
    """What strikes which command, at which share of the files that it writes."""

    kind: str
    command: str
    share: float


def faults(seed: int, n: int) -> list[Fault]:
    """Return so many faults: of every kind one, then the next of every kind, and all over again.

    Those that need several processes take a minute, so they come every sixth time.
    """
    random = np.random.default_rng(seed)
    by_kind = ([(kind, command) for command in commands] for kind, commands in FAULTS.items())
    pairs = [pair for pair in chain.from_iterable(zip_longest(*by_kind)) if pair is not None]
    quick = [pair for pair in pairs if pair[1] not in SLOW]
    rounds = chain(pairs, *(quick,) * 5)
    endless = cycle(list(rounds))
    return [Fault(*next(endless), float(random.random())) for _ in range(n)]


@dataclass(frozen=True)
class Undisturbed:
    """A command where nothing happens.

    Parameters
    ----------
    answer
        What it answers.
    before
        A store as the command finds it, and what can be read of it; None where there is none.
    files, bytes, seconds, n_commits
        Files, bytes and commits that are there in the end, and how long it took.
    """

    answer: Any
    before: Path | None
    seen_before: Any
    files: int
    bytes: int
    seconds: float
    n_commits: int


class Stage:
    """A folder with tables, in which commands are given and disturbed.

    Parameters
    ----------
    folder
        An empty folder.
    broken
        The library of ``broken.c``.
    """

    def __init__(self, folder: Path, broken: Path | None) -> None:
        write_tables(folder)
        self.folder, self.table, self.broken = folder, Table(folder), broken
        self._undisturbed: dict[str, Undisturbed] = {}

    def undisturbed(self, command: str) -> Undisturbed:
        """What a command does where nothing happens; tried once."""
        if command not in self._undisturbed:
            store = self.folder / f"undisturbed {command}"
            after = COMMANDS[command].after
            before = None if after is None else self.folder / f"undisturbed {after}"
            seen = None
            if after is not None:
                seen = self.undisturbed(after).answer
                shutil.copytree(self.folder / f"undisturbed {after}", store)
            started = time.monotonic()
            if "scheduler" in COMMANDS[command].line:
                answer = self.undisturbed("run").answer
                shutil.copytree(self.folder / "undisturbed run", store)
            else:
                answer = self.table.give(command, store)
            seconds = time.monotonic() - started
            there = files(store)
            size = sum(path.stat().st_size for path in there)
            self._undisturbed[command] = Undisturbed(
                answer, before, seen, len(there), size, seconds, len(commits(store))
            )
        return self._undisturbed[command]

    # ---- the fault -------------------------------------------------------------------------------

    def strike(self, fault: Fault, store: Path) -> None:
        """Give a command, let the fault happen, and wait for the end of all that was started."""
        cluster = Cluster(new_folder(store.with_name("cluster"))) if "scheduler" in fault.command else None
        try:
            process = self._begin(fault, store, cluster)
            self._wait_for_the_moment(fault, process, store)
            with_children = children(process.pid)
            if process.poll() is None:
                happen(fault, process.pid, store, cluster)
            _, said = process.communicate(timeout=PATIENCE)
            for left in psutil.wait_procs(with_children, timeout=PATIENCE)[1]:
                raise AssertionError(f"{fault}: {left} is still there")
            check_words(fault, process.returncode, said)
        finally:
            if cluster is not None:
                cluster.close()

    def _begin(self, fault: Fault, store: Path, cluster: Cluster | None) -> subprocess.Popen[str] | Forked:
        expected = self.undisturbed(fault.command)
        variables, more = {}, []
        if fault.kind in ("the disk breaks", "the clock jumps"):
            if self.broken is None:
                pytest.skip("a disk that breaks needs a C compiler")
            variables["LD_PRELOAD"] = str(self.broken)
        if fault.kind == "the disk breaks":
            operations = 6 * abs(expected.files - files_before(expected)) + 10
            variables |= {"FAULTY_PATH": str(store), "FAULTY_AT": str(1 + int(fault.share * operations))}
        if fault.kind == "the clock jumps":
            by = 30 * DAYS if fault.share > 0.5 else -30 * DAYS
            variables |= {"FAULTY_CLOCK": str(store.with_name("clock")), "FAULTY_JUMP": str(by)}
        if fault.kind == "a worker hangs":
            variables["DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL"] = "3s"
        if fault.kind == "the disk is full" and fault.command in ("run", "resume"):
            more = ["--force"]  # or it is refused, since it will not fit
        address = "" if cluster is None else cluster.address
        return self.table.start(fault.command, store, *more, scheduler=address, **variables)

    def _wait_for_the_moment(self, fault: Fault, process: subprocess.Popen[str] | Forked, store: Path) -> None:
        if fault.kind in CUT_SHORT:
            return
        expected = self.undisturbed(fault.command)
        started, before = time.monotonic(), files_before(expected)
        new = expected.files - before
        moment = before + (1 if new > 0 else -1) + int(fault.share * new)

        def is_there() -> bool:
            if new == 0:  # nothing is written: a share of its time
                return time.monotonic() - started > fault.share * expected.seconds
            n = len(files(store))
            return n >= moment if new > 0 else n <= moment

        while process.poll() is None and not is_there() and time.monotonic() - started < PATIENCE:
            time.sleep(0.002)


def check_words(fault: Fault, code: int, said: str) -> None:
    """Whatever a command meets, it ends with a code that says so and one sentence."""
    if fault.kind.startswith("the process"):
        return
    assert "Traceback" not in said, (fault, said)
    assert code in (0, 1, 2), (fault, code, said)
    if fault.kind == "the disk is full":
        assert code == 0 or "No space left" in said, (fault, said)
    if fault.kind == "the disk breaks":
        assert code == 0 or "Input/output error" in said, (fault, said)
    if fault.kind in ("the clock jumps", "connections are slow", "a worker hangs", "a worker stands still for a while"):
        assert code == 0, (fault, said)


def happen(fault: Fault, pid: int, store: Path, cluster: Cluster | None) -> None:
    """Let the fault strike a process, its children or its cluster."""
    family = pid if cluster is None else cluster.workers.pid
    workers = [child for child in children(family) if any("spawn_main" in word for word in words_of(child))]
    if fault.kind == "the process is killed":
        os.kill(pid, signal.SIGKILL)
    elif fault.kind == "the process and its workers are killed":
        os.killpg(pid, signal.SIGKILL)
    elif fault.kind == "a worker is killed" and workers:
        workers[0].kill()
    elif fault.kind == "a worker stands still for a while" and workers:
        stand_still(workers[0], 3)
    elif fault.kind == "a worker hangs" and workers:
        workers[0].suspend()
    elif fault.kind == "the clock jumps":
        store.with_name("clock").touch()
    elif cluster is not None:
        if fault.kind == "the scheduler is killed":
            cluster.scheduler.kill()
        elif fault.kind == "connections are cut":
            cluster.line.cut()
        elif fault.kind == "connections are slow":
            cluster.line.delay = 0.3
            time.sleep(5)
            cluster.line.delay = 0


def stand_still(process: psutil.Process, seconds: float) -> None:
    with suppress(psutil.NoSuchProcess):
        process.suspend()
        time.sleep(seconds)
        process.resume()


def children(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def words_of(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return list(process.cmdline())
    return []


# ---- what is there -------------------------------------------------------------------------------


def new_folder(path: Path) -> Path:
    path.mkdir()
    return path


def files(store: Path) -> list[Path]:
    """The files that are there; those whose folder goes meanwhile are not."""
    return [Path(folder, name) for folder, _, names in os.walk(store) for name in names]


def files_before(expected: Undisturbed) -> int:
    return 0 if expected.before is None else len(files(expected.before))


def commits(store: Path) -> dict[str, bytes]:
    """The records of partitions that were searched, or counted, to their end."""
    names = [path for path in files(store) if path.parent.name == "commits" or "counts" in path.parts]
    found = {str(path): path.read_bytes() for path in names if path.suffix == ".json" and "partition-" in path.name}
    return {name: data for name, data in found.items() if json.loads(data).get("complete", True)}


@contextmanager
def a_reader(store: Path, allowed: tuple[Any, ...]) -> Iterator[list[str]]:
    """Read the latest run again and again; yields what was seen that should not be."""
    seen, over = list[str](), threading.Event()

    def read() -> None:
        while not over.wait(0.05):
            try:
                run = open_run(str(store))
                if run.state.name == "published" and (run.manifest.bicliques, run.manifest.digest) not in allowed:
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


def try_fault(stage: Stage, fault: Fault, store: Path) -> dict[str, int]:
    """Let a fault happen, and demand all that is promised; returns what was kept."""
    expected, command = stage.undisturbed(fault.command), COMMANDS[fault.command]
    if expected.before is not None:
        shutil.copytree(expected.before, store, dirs_exist_ok=True)
    with a_reader(store, (expected.seen_before, expected.answer)) as seen:
        stage.strike(fault, store)
        kept = commits(store)
        if (store / "bicliq-store.json").exists():
            found = verify_store(Store.to_verify(str(store)))
            damage = [problem for problem in found.problems if not problem.endswith(NOT_PUBLISHED)]
            assert damage == [], (fault, damage)
        with room_again(store):
            answer = stage.table.give(command.again or fault.command, store)
    assert answer == expected.answer, (fault, answer)
    assert not (command.publishes or expected.before) or seen == [], (fault, seen)
    after = commits(store)
    assert expected.n_commits <= len(after), (fault, "commits are missing")
    gone = set(kept) - set(after)
    assert not gone or fault.command == "prune", (fault, gone)
    assert all(after[name] == kept[name] for name in set(kept) & set(after)), (fault, "a commit has changed")
    found = verify_store(Store.to_verify(str(store)))
    assert found.problems == [], (fault, found.problems)
    assert found.leftovers == [], (fault, found.leftovers)
    if command.publishes:
        latest = open_run(str(store)).manifest
        assert (latest.bicliques, latest.digest) == expected.answer, (fault, "another run is the latest")
    return {"kept": len(kept), "committed": len(after)}


# ---- a disk of its own ---------------------------------------------------------------------------


@contextmanager
def a_small_disk(folder: Path, size: int) -> Iterator[None]:
    """A disk of so many bytes at a folder."""
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "bicliq", str(folder)], capture_output=True)
    if made.returncode:
        pytest.skip(f"a disk cannot be made here: {made.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)  # whoever was not killed yet may still be there


@contextmanager
def room_again(store: Path) -> Iterator[None]:
    """Where the store has a disk of its own, make it large."""
    if os.path.ismount(store.parent):
        subprocess.run(["mount", "-o", "remount,size=1g", str(store.parent)], check=True)
    yield
