"""Many small runs, flows and versions in one process and one store, and many processes at once.

By night some dozens; ``make load`` does 1,000 of each, and tells what they held.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from bicliq.flows.etl import etl
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.stages.verify import verify, verify_store
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.versions.update import update
from tests.nightly import NIGHTLY
from tests.reference.brute_force import maximal_bicliques

MANY = int(os.environ.get("BICLIQ_LOAD", "40"))
"""Runs, and versions, one after the other."""

FLOWS, AT_ONCE = max(MANY // 4, 8), 20 if MANY >= 1000 else 4
"""Flows one after the other, and processes at once."""

pytestmark = pytest.mark.skipif(
    not NIGHTLY and "BICLIQ_LOAD" not in os.environ, reason="neither BICLIQ_NIGHTLY nor BICLIQ_LOAD is set"
)

MOST_BYTES = 48 << 20
"""Memory that may come in the last four fifths: an allocator's, and records of Dask and Prefect."""


@dataclass(frozen=True)
class Held:
    """What this process holds, and the seconds of the processor that it has taken."""

    resident: int
    handles: int
    threads: int
    seconds: float

    @classmethod
    def now(cls) -> Held:
        gc.collect()
        process = psutil.Process()
        times = process.cpu_times()
        return cls(process.memory_info().rss, process.num_fds(), process.num_threads(), times.user + times.system)


def repeated(name: str, times: int, once: Callable[[int], None]) -> None:
    """Do something many times; nothing is held longer, and the last fifth takes what others took.

    The first fifth fills caches and pools. Seconds are those of the processor: others work here.
    """
    fifth = times // 5
    marks, started = [], time.perf_counter()
    for number in range(times):
        once(number)
        if (number + 1) % fifth == 0:
            marks.append(Held.now())
    seconds = [(after.seconds - before.seconds) / fifth for before, after in itertools.pairwise(marks)]
    first, last = marks[0], marks[-1]
    print(
        f"\n{name}: {times} in {time.perf_counter() - started:.0f} s; from the first fifth to the last: memory"
        f" {first.resident >> 20} to {last.resident >> 20} MiB, handles {first.handles} to {last.handles}, threads"
        f" {first.threads} to {last.threads}, CPU seconds each {seconds[0]:.3f} to {seconds[-1]:.3f}"
    )
    assert last.resident - first.resident < MOST_BYTES
    assert last.handles <= first.handles + 3
    assert last.threads <= first.threads + 3
    assert seconds[-1] <= 2 * seconds[0] + 0.02


def edges_of(seed: int, n: int = 12) -> list[tuple[int, int]]:
    left, right = np.nonzero(np.random.default_rng(seed).random((n, n)) < 0.35)
    return list(zip(left.tolist(), right.tolist(), strict=True))


def written(path: Path, edges: list[tuple[int, int]]) -> str:
    """A table of edges as a file."""
    path.write_text("".join(["user,item\n", *(f"u{u},i{v}\n" for u, v in edges)]))
    return str(path)


def by_force(edges: list[tuple[int, int]]) -> int:
    return len(maximal_bicliques(edges, max(u for u, _ in edges) + 1))


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of temporary files of its own, which must be empty in the end."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    assert [path for path in place.rglob("*") if path.is_file()] == []


@pytest.mark.timeout(7200)
def test_many_runs_in_a_row_hold_no_more_than_few(tmp_path, temporary) -> None:
    settings = load_settings(store=str(tmp_path / "store"), plan={"partitions": 2}, cluster={"local": True})
    files: list[int] = []

    def once(number: int) -> None:
        edges = edges_of(number)
        found = run(written(tmp_path / f"{number}.csv", edges), settings)
        assert (found.bicliques, found.complete) == (by_force(edges), True)
        folder = Path(Store.open(settings.store).run(found.run).path)
        files.append(sum(path.is_file() for path in folder.rglob("*")))

    repeated("runs", MANY, once)
    store = Store.open(settings.store)
    assert (len(store.runs()), set(files)) == (MANY, {files[0]})
    found = verify_store(store, sample=10, roots=3)
    assert (found.problems, found.leftovers) == ([], [])


@pytest.mark.timeout(7200)
def test_many_versions_in_a_row_hold_no_more_than_few(tmp_path, temporary) -> None:
    settings = load_settings(store=str(tmp_path / "store"), plan={"partitions": 2}, cluster={"local": True})
    every = edges_of(1, n=30 + MANY // 50)
    order = np.random.default_rng(2).permutation(len(every))
    there = {every[at] for at in order[: len(order) // 2]}
    run(written(tmp_path / "base.csv", sorted(there)), settings)
    random = np.random.default_rng(3)

    def once(number: int) -> None:
        """An edge comes, or goes, as about as many did."""
        edge = every[random.integers(len(every))]
        goes = edge in there
        found = update(written(tmp_path / f"{number}.csv", [edge]), settings, delete=goes)
        there.symmetric_difference_update({edge})
        assert found.how == "changes"

    repeated("versions", MANY, once)
    opened = open_run(settings.store)
    whole = run(written(tmp_path / "all.csv", sorted(there)), settings)
    assert (opened.manifest.digest, opened.manifest.bicliques) == (whole.digest, whole.bicliques)
    found = verify(Store.open(settings.store), opened.run, roots=10)
    assert (found.problems, found.leftovers) == ([], [])


@pytest.mark.timeout(7200)
def test_many_flows_in_a_row_hold_no_more_than_few(tmp_path, temporary, prefect_server) -> None:
    def once(number: int) -> None:
        edges = edges_of(number)
        source = written(tmp_path / f"{number}.csv", edges)
        record = etl(source, {"store": str(tmp_path / "store"), "cluster": {"local": True}})
        assert (record["bicliques"], record["complete"]) == (by_force(edges), True)

    repeated("flows", FLOWS, once)
    assert verify_store(Store.open(str(tmp_path / "store"))).problems == []


@pytest.mark.timeout(7200)
def test_many_at_once_on_one_store_and_one_server_are_all_right(tmp_path, temporary, prefect_server) -> None:
    """Processes of their own: half of them flows, two of each the same run."""
    store, processes = str(tmp_path / "store"), []
    flow = (
        "import json, sys; from bicliq.flows.etl import etl; print(json.dumps(etl(sys.argv[1], json.loads(sys.argv[2]))), "
        "file=open(sys.argv[3], 'w'))"
    )
    started = time.perf_counter()
    for number in range(AT_ONCE):
        source = written(tmp_path / f"{number // 2}.csv", edges_of(number // 2))
        settings = {"store": store, "cluster": {"local": True}, "plan": {"partitions": 2}}
        answer = str(tmp_path / f"{number}.json")
        if number // 2 % 2:
            command = ["-c", flow, source, json.dumps(settings), answer]
        else:
            command = ["-m", "bicliq.flows.cli", "run", source, "--store", store]
            command += ["--local", "--partitions", "2", "--json"]
        with open(answer, "a") as out, open(tmp_path / f"{number}.log", "w") as log:
            processes.append(subprocess.Popen([sys.executable, *command], stdout=out, stderr=log))
    for number, process in enumerate(processes):
        assert process.wait(1800) == 0, (tmp_path / f"{number}.log").read_text()
        record: dict[str, Any] = json.loads((tmp_path / f"{number}.json").read_text())
        assert (record["bicliques"], record["complete"]) == (by_force(edges_of(number // 2)), True)
    print(f"\nat once: {AT_ONCE} processes in {time.perf_counter() - started:.0f} s")
    opened = Store.open(store)
    assert len(opened.runs()) == (AT_ONCE + 1) // 2
    found = verify_store(opened, roots=10)
    assert (found.problems, found.leftovers) == ([], [])
