"""Two different commands at once on one store, each killed or not: nothing is lost or partial.

Commands are those of the command line, in processes that a server forks (`tests.forked`): a trial
takes a second or two instead of ten.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Any

import fsspec
import numpy as np

from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.stages.search import enumerate_table
from bicliq.pipeline.stages.verify import verify_store
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.log import last_number, number_name
from bicliq.pipeline.store.records import Numbered
from bicliq.pipeline.store.states import latest_run
from bicliq.pipeline.store.taken import all_taken
from bicliq.pipeline.versions.sources import name_of_key
from tests.faults.campaign import NOT_PUBLISHED
from tests.faults.commands import PATIENCE
from tests.forked import Forked, command
from tests.integration.killed import killed

COMMANDS = {
    "run": "run {folder}/base.csv --local --partitions 6",
    "resume": "resume --local",
    "update": "update {folder}/new.csv",
    "watch": "watch {folder}/arrivals --once --settle 0s --local",
    "compact": "compact",
    "prune": "prune --keep-last 2 --yes",
    "rollback": "rollback {parent}",
    "verify --repair": "verify --repair",
    "find": "find --run {latest} --top 3",
    "count": "count {folder}/base.csv 2 2 --local --partitions 3",
}
"""All that change a store, and two that read it."""

PAIRS = list(itertools.combinations(COMMANDS, 2))
JOINS = {"update": "new.csv", "watch": "arrivals/more.csv"}
"""Commands that join edges, and the files that have them."""

TURNS_BACK = {"run", "resume", "rollback"}
"""Commands that make something the latest that does not follow from what was."""

NOTHING_LEFT = "there is nothing to resume"
"""What `resume` says, with exit code 2, where all is finished and the latest is a version."""

COMPACT = """
from bicliq.pipeline.versions.compact import compact
compact(Store.open(given[0]))
"""
PREPARED = ["a run that is cut off", "a compaction that is cut off"]
"""What waits to be resumed in the store that commands find."""


@dataclass(frozen=True)
class Trial:
    """Two commands; which of them are killed, and when each starts and is killed, in seconds."""

    on_disk: bool
    pair: tuple[str, str]
    killed: tuple[bool, bool]
    starts: tuple[float, float]
    ends: tuple[float, float]
    prepared: str

    def __str__(self) -> str:
        names = (f"{name}{' killed' if killed else ''}" for name, killed in zip(self.pair, self.killed, strict=True))
        return f"{' beside '.join(names)}, {self.prepared}{'' if self.on_disk else ', on S3'}"


def trials(seed: int, n: int) -> list[Trial]:
    """Return so many trials: all pairs, with each way to kill one, both or none in turn.

    Each pair is on an object store in a fourth of its trials, in each way after four rounds.
    """
    random = np.random.default_rng(seed)
    ways = itertools.product([(False, False), (True, False), (False, True), (True, True)], PREPARED)
    ordered = [(pair, *way) for way in ways for pair in PAIRS]
    picked = random.permutation(len(ordered))
    found = []
    for at in range(n):
        way = picked[at % len(ordered)]
        pair, killed, prepared = ordered[way]
        on_disk = (way % len(PAIRS) + way // len(PAIRS) + at // len(ordered)) % 4 != 3
        starts = tuple(random.uniform(0, 0.15, 2).tolist())
        found.append(Trial(on_disk, pair, killed, starts, tuple(random.uniform(0.02, 0.6, 2).tolist()), prepared))  # type: ignore[arg-type]
    return found


# ---- commands ------------------------------------------------------------------------------------


@dataclass
class Ended:
    """A command that has ended: its exit code (negative: killed), its record, and what it said."""

    name: str
    code: int
    record: dict[str, Any]
    said: str


class Shop:
    """A folder with tables, and stores in which something is not finished.

    Parameters
    ----------
    folder
        An empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[Any, tuple[int, str]] = {}
        random = np.random.default_rng(48)
        chance = np.outer(np.linspace(0.4, 0.05, 120), np.linspace(1, 0.3, 60))
        edges = [f"p{u},{v}" for u, v in zip(*np.nonzero(random.random(chance.shape) < chance), strict=True)]
        more = [f"p{random.integers(125)},{random.integers(62)}" for _ in range(120)]
        (folder / "arrivals").mkdir()
        tables = {
            "base": edges,
            "first": more[:30],
            "second": more[30:60],
            "new": more[60:90],
            "arrivals/more": more[90:],
            "other": edges[::2],
        }
        for name, rows in tables.items():
            (folder / f"{name}.csv").write_text("\n".join(["l,r", *rows, ""]))
        self._prepared = {prepared: self._prepare(prepared) for prepared in PREPARED}

    def _prepare(self, what: str) -> Path:
        store = self.folder / what
        self.give("run", str(store))
        self.give(f"update {self.folder}/first.csv", str(store))
        if what == "a compaction that is cut off":
            killed(COMPACT, str(store), method="commit_partition", when="after")
        else:
            self.give(f"run {self.folder}/other.csv --local --partitions 4 --max-bicliques 500", str(store))
            self.give("rollback {second}", str(store))
        self.give(f"update {self.folder}/second.csv", str(store))
        return store

    def store(self, prepared: str, uri: str) -> Store:
        """Put a store as a command finds it where a URL says."""
        if "://" in uri:
            fs, path = fsspec.core.url_to_fs(uri)
            fs.put(f"{self._prepared[prepared]}/", path, recursive=True)
        else:
            shutil.copytree(self._prepared[prepared], uri)
        return Store.open(uri)

    def start(self, line: str, uri: str, wait: float = 0.0) -> Forked:
        """Give a command, and do not wait."""
        names = {"folder": self.folder}
        if "{parent}" in line or "{latest}" in line or "{second}" in line:
            store = Store.open(uri)
            names |= {
                "latest": latest_run(store),
                "parent": store.run(latest_run(store)).asked.parent or latest_run(store),
            }
            names["second"] = next(run for run in store.runs() if store.run(run).asked.layered is not None)
        words = [word.format(**names) for word in line.split()]
        return command(*words, "--store", uri, "--json", wait=wait)

    def give(self, name: str, uri: str) -> Ended:
        """Give a command and wait; it must end well."""
        found = ended(name, self.start(COMMANDS.get(name, name), uri))
        assert found.code in (0, 3), (name, found)
        return found

    def expected(self, store: Store, run: str) -> tuple[int, str]:
        """Number and digest of the bicliques of all edges that a run says it took."""
        asked = store.run(run).record()
        graph = store.graph(asked.graph).record()
        table = asked.table or graph.summary.source.uri
        taken = frozenset(name_of_key(key) for key, e in all_taken(store, asked).items() if not e.deleted)
        key = table, taken
        if key not in self._known:
            lines = ["l,r", *sorted({line for uri in (table, *taken) for line in _lines(uri)})]
            united = self.folder / "united.csv"
            united.write_text("\n".join([*lines, ""]))
            found = enumerate_table(str(united), load_settings(search=asked.search.model_dump()), "digest")
            self._known[key] = found["bicliques"], found["digest"]
        return self._known[key]


def _lines(uri: str) -> list[str]:
    return Path(uri.removeprefix("file://")).read_text().split()[1:]


def ended(name: str, process: Forked) -> Ended:
    out, said = process.communicate(PATIENCE)
    record: dict[str, Any] = {}
    with contextlib.suppress(ValueError, IndexError):
        record = json.loads(out.splitlines()[-1])
    return Ended(name, process.wait(), record, said)


# ---- a trial -------------------------------------------------------------------------------------


def try_both(shop: Shop, trial: Trial, uri: str) -> list[Ended]:
    """Give two commands at once, kill those that are to be, and demand all that is promised."""
    store = shop.store(trial.prepared, uri)
    began, running = time.monotonic(), []
    lines = [COMMANDS[name] for name in trial.pair]
    for line, wait in zip(lines, trial.starts, strict=True):
        running.append(shop.start(line, uri, wait))
    for at in sorted(range(2), key=lambda at: trial.ends[at]):
        process, moment = running[at], trial.starts[at] + trial.ends[at]
        if trial.killed[at]:
            with contextlib.suppress(TimeoutExpired):
                process.wait(max(began + moment - time.monotonic(), 0))
            process.kill()
    found = [ended(name, started) for name, started in zip(trial.pair, running, strict=True)]
    for one, may_be_killed in zip(found, trial.killed, strict=True):
        allowed = (0, 2, -9) if may_be_killed else (0, 2)
        assert one.code in allowed, (str(trial), one)
        assert "Traceback" not in one.said, (str(trial), one)
    damage = [problem for problem in verify_store(store).problems if not problem.endswith(NOT_PUBLISHED)]
    assert damage == [], (str(trial), damage, found)
    check_latest(shop, store, trial, found)
    again = []
    for name in trial.pair:
        once_more = ended(name, shop.start(COMMANDS[name].replace("{parent}", "{latest}"), uri))
        assert once_more.code == 0 or NOTHING_LEFT in once_more.said, (str(trial), found, once_more)
        again.append(once_more)
    check_latest(shop, store, trial, again, at_once=False)
    if store.root.is_local:
        mended = ended("verify --repair", shop.start("verify --repair", uri))
        assert mended.code == 0, (str(trial), mended)
    checked = verify_store(store)
    assert checked.problems == [], (str(trial), checked.problems, found, again)
    assert checked.leftovers == [] or not store.root.is_local, (str(trial), checked.leftovers)
    return found


def check_latest(shop: Shop, store: Store, trial: Trial, found: list[Ended], *, at_once: bool = True) -> None:
    """The latest run holds all bicliques of the edges that it says it took, and what was said."""
    latest = latest_run(store)
    manifest = store.run(latest).manifest()
    assert manifest is not None, (str(trial), latest)
    assert manifest.complete, (str(trial), latest)
    has = manifest.bicliques, manifest.digest
    assert has == shop.expected(store, latest), (str(trial), latest, has, shop.expected(store, latest), found)
    taken = {Path(name_of_key(key)).name for key in all_taken(store, store.run(latest).record())}
    names = (number_name(number) for number in range(1, last_number(store) + 1))
    numbered = [store.root.read(Numbered, name).run for name in names]
    for at, one in enumerate(found):
        if one.code == 0 and one.name in JOINS:
            others = {other.name for other in found if other is not one} if at_once else set(trial.pair[at + 1 :])
            made = (one.record.get("update") or one.record).get("version")
            assert made is None or made in numbered or one.record.get("how") in ("taken", "nothing", "nothing new"), (
                str(trial),
                one,
                numbered,
            )
            if not others & TURNS_BACK:
                assert Path(JOINS[one.name]).name in taken, (str(trial), latest, taken, found)
