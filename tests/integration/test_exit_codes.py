"""Bad input ends the process with exit code 2, every time: no thread of a reader outlives the
error."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.nightly import drawn, part_of

ROOT = Path(__file__).parents[2]
TIMES = int(os.environ.get("BICLIQ_TEST_TIMES", drawn(6)))
"""Runs of each kind: a process that aborted did so in one of five."""

NUMBERS = "".join(f"{i % 5000},{i % 77}\n" for i in range(300_000))
WORDS = "".join(f"u{i % 5000},i{i % 77},x\n" for i in range(200_000))
WEIGHT = ("--left", "user", "--right", "item", "--weight", "w", "--min-weight", "1")

BAD: dict[str, tuple[str, bytes, tuple[str, ...]]] = {
    "a weight that is text": ("w.csv", b"user,item,w\n" + WORDS.encode(), WEIGHT),
    "a compressed weight that is text": ("w.csv.gz", gzip.compress(b"user,item,w\n" + WORDS.encode(), 1), WEIGHT),
    "a missing id": ("null.csv", b"user,item\n1,\n" + NUMBERS.encode(), ()),
    "an id beyond 64 bits": ("out.big", b"% bip\n1 99999999999999999999\n" + NUMBERS.replace(",", " ").encode(), ()),
    "a ragged line": ("ragged.csv.gz", gzip.compress(b"user,item\n1,2,3\n" + NUMBERS.encode(), 1), ()),
    "a compressed file that is cut off": (
        "cut.csv.gz",
        gzip.compress(b"user,item\n" + NUMBERS.encode(), 1)[:-9999],
        (),
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bad")
    for name, content, _ in BAD.values():
        (path / name).write_bytes(content)
    columns = {"u": [None, *range(300_000)], "v": [1, *range(300_000)]}
    pq.write_table(pa.table(columns), path / "null.parquet", row_group_size=1000)
    return path


@pytest.mark.parametrize("kind", [*BAD, "a missing id in Parquet"])
def test_bad_input_is_exit_code_2_every_time(folder, kind):
    name, _, options = BAD.get(kind, ("null.parquet", b"", ()))
    command = [sys.executable, "-m", "bicliq.flows.cli", "enumerate", str(folder / name), *options]

    def run(_: int) -> tuple[int, int, bool]:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return done.returncode, len(done.stderr.strip().splitlines()), "Traceback" in done.stderr

    with ThreadPoolExecutor(2) as pool:
        assert set(pool.map(run, range(TIMES))) == {(2, 1, False)}


FEW_PIDS = ["setpriv", "--ruid=65534", "--bounding-set=-sys_resource,-sys_admin", "prlimit"]
"""Root, but with a limit of processes and threads, which the system does not hold root to."""


@pytest.mark.skipif(os.geteuid() != 0 or not all(map(shutil.which, FEW_PIDS[::3])), reason="needs root and setpriv")
@pytest.mark.parametrize(("command", "most"), part_of(itertools.product(("enumerate", "run"), (1, 2, 3, 4, 5, 8)), 4))
def test_a_limit_of_threads_is_said_and_no_damage(tmp_path, command, most):
    (tmp_path / "t.csv").write_text("u,v\n" + "".join(f"{i},{i % 7}\n" for i in range(200_000)))
    line = [sys.executable, "-m", "bicliq.flows.cli", command, str(tmp_path / "t.csv"), "--threads", "16", "--json"]
    line += ["--store", str(tmp_path / "s"), "--local"] if command == "run" else []
    quiet = {name: value for name, value in os.environ.items() if name != "BICLIQ_TRACEBACK"}
    limited = [*FEW_PIDS, f"--nproc={most}", *line]
    ended = subprocess.run(limited, capture_output=True, text=True, check=False, env=quiet)
    assert ended.returncode == 2, ended.stderr
    said = json.loads(ended.stdout)
    assert (said["kind"], "ulimit -u" in said["error"]) == ("CapacityError", True)
    assert "Traceback" not in ended.stderr
    assert not any(word in ended.stderr for word in ("damaged", "defect", "interrupted"))


@pytest.mark.parametrize("kilobytes", [200_000, 250_000, 350_000])
def test_a_limit_of_memory_is_said_and_no_damage(tmp_path, kilobytes):
    (tmp_path / "t.csv").write_text("u,v\n" + "".join(f"{i},{i % 7}\n" for i in range(200_000)))
    line = [sys.executable, "-m", "bicliq.flows.cli", "enumerate", str(tmp_path / "t.csv"), "--count-only", "--json"]
    limited = f"ulimit -v {kilobytes}; exec {shlex.join(line)}"
    quiet = {name: value for name, value in os.environ.items() if name != "BICLIQ_TRACEBACK"}
    ended = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, check=False, env=quiet)
    assert "Traceback" not in ended.stderr
    assert "damaged" not in ended.stderr
    if ended.returncode != 0:
        if ended.returncode == -signal.SIGABRT:  # a thread of Arrow's or of OpenBLAS had none for its stack
            assert "bad_alloc" in ended.stderr
            return
        assert ended.returncode == 2, ended.stderr
        assert json.loads(ended.stdout)["kind"] == "CapacityError"
