"""The commands that faults happen to: how each is given, what comes before it, what it answers."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.store.states import latest_run
from tests import forked
from tests.faults.network import Line
from tests.forked import Forked

ROOT = Path(__file__).parents[2]
PATIENCE = 180
"""Seconds that a command may take before it is said to hang."""

Record = dict[str, Any]


def bicliques(record: Record) -> Any:
    return record["bicliques"], record["digest"]


def watched(record: Record) -> Any:
    """The latest run: a look that finds nothing new has no answer of its own."""
    latest = open_run(record["store"]).manifest
    return latest.bicliques, latest.digest


@dataclass(frozen=True)
class Command:
    """A command line, without the store.

    Parameters
    ----------
    line
        Its words; ``{table}``, ``{new}``, ``{arrivals}``, ``{run}`` and ``{scheduler}`` stand for
        what they name.
    answer
        What of its record must be the same, however it came about.
    after
        The command that made the store as it finds it.
    again
        The command that does the rest, where it is another one.
    reads
        What can be read of the store before: None where there is nothing that is whole.
    """

    line: str
    answer: Callable[[Record], Any] = bicliques
    after: str | None = None
    again: str | None = None

    @property
    def publishes(self) -> bool:
        """Whether its answer is what readers of the store then see."""
        return self.answer in (bicliques, watched)


COMMANDS = {
    "run": Command("run {table} --local --partitions 12"),
    "run on workers": Command("run {table} --workers 2 --partitions 12 --dashboard false"),
    "run on a scheduler": Command("run {table} --scheduler {scheduler} --partitions 12", again="run"),
    "flow": Command("run {table} --local --partitions 12 --prefect", again="run"),
    "cut off": Command("run {table} --local --partitions 12 --max-bicliques 30000"),
    "resume": Command("resume --local", after="cut off"),
    "update": Command("update {new}", after="run"),
    "first watch": Command("watch {arrivals}/table* --once --settle 0s --local --partitions 12", watched),
    "watch": Command("watch {arrivals} --once --settle 0s --local", watched, after="first watch"),
    "compact": Command("compact", after="update"),
    "prune": Command("prune --keep-last 1 --yes", lambda record: record["kept"], after="compact"),
    "count": Command("count {table} 3 3 --vertices --local --partitions 6", lambda record: record["counts"]),
    "clique": Command(
        "clique {table} --project left --min-shared 8", lambda record: (record["size"], record["proven"])
    ),
    "find": Command("find --run {run} --top 3", lambda record: record["groups"], after="run"),
}
"""All that faults can happen to; a command that is added needs a line here and its faults in
`tests.faults.campaign.FAULTS`."""


TABLES = {"table": "table.csv", "new": "new.csv", "arrivals": "arrivals"}
"""Files that commands read, and a folder that has both."""


def write_tables(folder: Path) -> None:
    """A table with some 100,000 maximal bicliques, skewed on both sides, and one to update it."""
    random = np.random.default_rng(20_261_122)
    chance = np.outer(np.linspace(0.5, 0.05, 300), np.linspace(1, 0.3, 90))
    left, right = np.nonzero(random.random(chance.shape) < chance)
    rows = [f"person {u},{v + 1000}\n" for u, v in zip(left, right, strict=True)]
    (folder / "table.csv").write_text("l,r\n" + "".join(rows))
    more = [
        f"person {u},{v + 1000}\n" for u, v in zip(random.integers(0, 320, 60), random.integers(0, 90, 60), strict=True)
    ]
    (folder / "new.csv").write_text("l,r\n" + "".join(more))
    (folder / "arrivals").mkdir()
    for name in ("table.csv", "new.csv"):
        shutil.copy(folder / name, folder / "arrivals" / name)


class Cluster:
    """A scheduler and two workers, each a process, which reach each other over a `Line`."""

    def __init__(self, folder: Path) -> None:
        address = folder / "scheduler.json"
        self._log = (folder / "cluster.log").open("w")
        served = ["--host", "127.0.0.1", "--port", "0", "--dashboard-address", "127.0.0.1:0"]
        self.scheduler = self._start("dask_scheduler", *served, "--scheduler-file", str(address))
        deadline = time.monotonic() + PATIENCE
        while not address.exists() or not address.read_text().endswith("}"):
            assert time.monotonic() < deadline, "no scheduler came"
            time.sleep(0.05)
        self.line = Line(int(json.loads(address.read_text())["address"].rsplit(":", 1)[1]))
        self.address = f"tcp://127.0.0.1:{self.line.port}"
        served = ["--no-dashboard", "--nworkers", "2", "--nthreads", "1", "--local-directory", str(folder)]
        self.workers = self._start("dask_worker", self.address, *served)

    def _start(self, module: str, *words: str) -> subprocess.Popen[bytes]:
        line = [sys.executable, "-m", f"distributed.cli.{module}", *words]
        return subprocess.Popen(line, cwd=ROOT, stdout=self._log, stderr=self._log, start_new_session=True)

    def close(self) -> None:
        """End all of it."""
        for process in (self.workers, self.scheduler):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()
        self.line.close()
        self._log.close()


@dataclass
class Table:
    """The tables that commands read, in a folder, and what else their lines name.

    Parameters
    ----------
    folder
        Where the tables are.
    variables
        Of the environment of each command.
    """

    folder: Path
    variables: dict[str, str] = field(default_factory=dict)

    def start(
        self, command: str, store: Path, *more: str, scheduler: str = "", **variables: str
    ) -> subprocess.Popen[str] | Forked:
        """Give a command, and do not wait: it begins anew where it starts workers or a variable
        says what it loads."""
        line = COMMANDS[command].line
        run = latest_run(Store.open(str(store))) if "{run}" in line else ""
        tables = {name: self.folder / file for name, file in TABLES.items()}
        named = {**tables, "run": run, "scheduler": scheduler}
        words = [*(word.format(**named) for word in line.split()), "--store", str(store), "--json", *more]
        if not variables and not any(option in line for option in ("--workers", "--scheduler", "--prefect")):
            return forked.command(*words)
        return subprocess.Popen(
            [sys.executable, "-m", "bicliq.flows.cli", *words],
            cwd=ROOT,
            env={**os.environ, **self.variables, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def give(self, command: str, store: Path, scheduler: str = "") -> Any:
        """Give a command and return its answer; raises where it fails."""
        process = self.start(command, store, scheduler=scheduler)
        out, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, f"{command}: exit code {process.returncode}: {said}"
        return COMMANDS[command].answer(json.loads(out.splitlines()[-1]))
