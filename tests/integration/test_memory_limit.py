"""Large tables within a limit of memory that the operating system enforces.

``BICLIQ_LARGE_TABLE=1`` takes a hundred million edges all the way with 2 GiB as well, which takes
many minutes and 4 GB of disk.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.benches import bench
from tests.nightly import NIGHTLY, by_night

LIMITED = """
import re, resource, sys
from pathlib import Path
limit = int(sys.argv[1])
if limit:
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
from bicliq.flows.cli import invoke
code = invoke(sys.argv[2:])
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[0], file=sys.stderr)
sys.exit(code)
"""
ONE_CORE = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1", "BICLIQ_LANES": "portable"}
"""Stacks of threads count as memory, whether they are used or not."""
EDGES = 3_000_000 if NIGHTLY else 2_000_000
"""Of tables whose limits are told."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux counts what a process may write to")


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, its record, what it said, and bytes it held at most."""

    code: int
    record: dict[str, Any]
    said: str
    held: int


def limited(limit: int, *arguments: str | Path) -> Ended:
    """Run a command in a process that may not have more memory of its own than so many bytes.

    What a command of this process, with a limit, chose for Arrow is not handed on.
    """
    command = [sys.executable, "-c", LIMITED, str(limit), *map(str, arguments), "--json"]
    environment = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment | ONE_CORE)
    held = re.search(r"VmHWM:\s+(\d+)", ended.stderr)
    record = json.loads(ended.stdout) if ended.returncode == 0 else {}
    return Ended(ended.returncode, record, ended.stderr, 1024 * int(held[1]) if held else 0)


def generated(folder: Path, edges: int) -> Path:
    """A skewed table of so many edges."""
    sizes = ["--left", str(edges // 10), "--right", str(edges // 40), "--edges", str(edges), "--seed", "7"]
    corners = ["--corners", "0.35,0.25,0.25,0.15", "--rings", str(edges // 1_000_000)]
    assert bench("generate", str(folder / "table"), *sizes, *corners, "--json") == 0
    return folder / "table"


def run_of(table: Path, store: Path, least: int) -> list[str | Path]:
    """A run with thresholds, by one process."""
    thresholds = ["--min-left", str(least), "--min-right", str(least)]
    return ["run", table, "--store", store, *thresholds, "--local", "--threads", "1", "--data-backend", "cpu"]


@by_night
def test_a_run_beyond_the_memory_of_a_process_keeps_to_a_limit_from_its_table_to_its_manifest(tmp_path):
    table = generated(tmp_path, 9_000_000)
    allowed = 400 << 20
    in_memory = limited(allowed, *run_of(table, tmp_path / "a", 20))
    assert in_memory.code == 2
    assert "memory ran out" in in_memory.said
    assert "--memory-limit" in in_memory.said
    assert not list((tmp_path / "a").rglob("graph.json"))
    limit = ["--memory-limit", str(330 << 20)]
    on_disk = limited(allowed, *run_of(table, tmp_path / "b", 20), *limit)
    assert on_disk.code == 0, on_disk.said
    assert on_disk.held <= 330 << 20
    assert on_disk.record["ingest"]["sorted_runs"] > 1
    free = limited(0, *run_of(table, tmp_path / "c", 20))
    assert free.held > 330 << 20
    assert on_disk.record["bicliques"] > 0
    for same in ("graph", "run", "bicliques", "digest", "complete"):
        assert on_disk.record[same] == free.record[same]
    planned = limited(allowed, "plan", free.record["graph"], "--store", tmp_path / "c", "--local", *limit)
    assert planned.code == 0, planned.said
    assert planned.held <= 330 << 20
    assert planned.record["n_edges"] == free.record["n_edges"]
    assert planned.record["expected"] is None, "an estimate is left out where it does not fit"


def refused_then_done(*arguments: str | Path) -> dict[str, Any]:
    """Run a command with a limit that is too low, and then with the one that its error names."""
    refused = limited(0, *arguments, "--memory-limit", str(80 << 20))
    assert refused.code == 2, refused.said
    enough = re.search(r"at least --memory-limit (\d+)", refused.said)
    assert enough is not None, refused.said
    done = limited(0, *arguments, "--memory-limit", enough[1])
    assert done.code == 0, done.said
    assert done.held <= int(enough[1]), done.said
    return done.record


@by_night
def test_a_limit_that_a_stage_does_not_fit_is_refused_with_one_that_would_do(tmp_path):
    table, store = generated(tmp_path, EDGES), ["--store", tmp_path / "s"]
    graph = refused_then_done("ingest", table, *store)["graph"]
    assert not list((tmp_path / "s").rglob("profile.json"))
    refused_then_done("profile", graph, *store)
    planned = refused_then_done("plan", graph, *store, "--local")
    assert planned["n_edges"] > 0.96 * EDGES


def test_a_count_and_an_update_keep_to_a_limit_too(tmp_path):
    table, store = generated(tmp_path, EDGES), ["--store", tmp_path / "s"]
    low = ["--memory-limit", str(80 << 20)]
    counted = limited(0, "count", table, "25", "25", *store, "--local", *low)
    assert counted.code == 2
    assert "--memory-limit" in counted.said
    done = limited(0, *run_of(table, tmp_path / "s", 25))
    assert done.code == 0, done.said
    more = generated(tmp_path / "more", 1_000_000)
    updated = limited(0, "update", more, *store, *low)
    assert updated.code == 2
    assert "at least --memory-limit" in updated.said


@pytest.mark.skipif("BICLIQ_LARGE_TABLE" not in os.environ, reason="takes minutes: set BICLIQ_LARGE_TABLE=1")
def test_a_hundred_million_edges_go_all_the_way_with_two_gibibytes(tmp_path):
    table, limit = generated(tmp_path, 100_000_000), 2 << 30
    on_disk = limited(limit, *run_of(table, tmp_path / "b", 20), "--memory-limit", str(limit))
    assert on_disk.code == 0, on_disk.said
    assert on_disk.held <= limit
    free = limited(0, *run_of(table, tmp_path / "c", 20))
    assert free.held > limit
    assert on_disk.record["bicliques"] > 0
    for same in ("graph", "run", "bicliques", "digest", "complete"):
        assert on_disk.record[same] == free.record[same]
