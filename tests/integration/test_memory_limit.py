"""Large tables within a limit of memory that the operating system enforces.

``BICLIQ_LARGE_TABLE=1`` ingests a hundred million edges with 2 GiB as well, which takes minutes and
4 GB of disk.
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

from flows.cli import invoke

LIMITED = """
import re, resource, sys
from pathlib import Path
limit = int(sys.argv[1])
if limit:
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
from flows.cli import invoke
code = invoke(sys.argv[2:])
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[0], file=sys.stderr)
sys.exit(code)
"""
ONE_CORE = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1", "BICLIQ_LANES": "portable"}
"""Stacks of threads count as memory, whether they are used or not."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Linux counts what a process may write to")


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, its record, what it said, and bytes it held at most."""

    code: int
    record: dict[str, Any]
    said: str
    held: int


def limited(limit: int, *arguments: str | Path) -> Ended:
    """Run a command in a process that may not have more memory of its own than so many bytes."""
    command = [sys.executable, "-c", LIMITED, str(limit), *map(str, arguments), "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **ONE_CORE})
    held = re.search(r"VmHWM:\s+(\d+)", ended.stderr)
    record = json.loads(ended.stdout) if ended.returncode == 0 else {}
    return Ended(ended.returncode, record, ended.stderr, 1024 * int(held[1]) if held else 0)


def generated(folder: Path, edges: int) -> Path:
    """A skewed table of so many edges."""
    sizes = ["--left", str(edges // 10), "--right", str(edges // 40), "--edges", str(edges), "--seed", "7"]
    corners = ["--corners", "0.35,0.25,0.25,0.15"]
    assert invoke(["generate", str(folder / "table"), *sizes, *corners, "--json"]) == 0
    return folder / "table"


def test_a_table_beyond_the_memory_of_a_process_is_ingested_within_a_limit(tmp_path):
    table = generated(tmp_path, 12_000_000)
    allowed = 480 << 20
    in_memory = limited(allowed, "ingest", table, "--store", tmp_path / "a")
    assert in_memory.code == 2
    assert "memory ran out" in in_memory.said
    assert "--memory-limit" in in_memory.said
    assert not list((tmp_path / "a").rglob("graph.json"))
    limit = 400 << 20
    on_disk = limited(allowed, "ingest", table, "--store", tmp_path / "b", "--memory-limit", str(limit))
    assert on_disk.code == 0, on_disk.said
    assert on_disk.held <= limit
    assert on_disk.record["summary"]["sorted_runs"] > 1
    free = limited(0, "ingest", table, "--store", tmp_path / "c")
    assert free.held > limit
    assert on_disk.record["graph"] == free.record["graph"]


def test_a_limit_that_no_large_table_fits_is_refused_with_one_that_would_do(tmp_path):
    table = generated(tmp_path, 3_000_000)
    refused = limited(0, "ingest", table, "--store", tmp_path / "s", "--memory-limit", str(80 << 20))
    assert refused.code == 2
    assert not list((tmp_path / "s").rglob("graph.json"))
    enough = re.search(r"at least --memory-limit (\d+)", refused.said)
    assert enough is not None
    done = limited(0, "ingest", table, "--store", tmp_path / "s", "--memory-limit", enough[1])
    assert done.code == 0
    assert done.held <= int(enough[1]), done.said


@pytest.mark.skipif("BICLIQ_LARGE_TABLE" not in os.environ, reason="takes minutes: set BICLIQ_LARGE_TABLE=1")
def test_a_hundred_million_edges_are_ingested_with_two_gibibytes(tmp_path):
    table, limit = generated(tmp_path, 100_000_000), 2 << 30
    on_disk = limited(limit, "ingest", table, "--store", tmp_path / "b", "--memory-limit", str(limit))
    assert on_disk.code == 0, on_disk.said
    assert on_disk.held <= limit
    free = limited(0, "ingest", table, "--store", tmp_path / "c")
    assert free.held > limit
    assert on_disk.record["graph"] == free.record["graph"]
