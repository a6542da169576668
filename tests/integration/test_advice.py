"""A limit of memory that a message advises is enough, and a limit of time needs no room on disk."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bicliq.flows.cli.app import invoke
from bicliq.pipeline.stages import forecast
from tests.nightly import by_night


def bicliq(*arguments):
    command = [sys.executable, "-m", "bicliq.flows.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=500)


@by_night
@pytest.mark.parametrize(("command", "seed"), product(["update", "window", "run", "count"], range(2)))
def test_advice_that_is_followed_once_is_enough(tmp_path, command, seed):
    chance = np.random.default_rng(seed)
    n, labels = int(chance.integers(900_000, 1_500_000)), int(chance.integers(10_000, 600_000))
    rows = {"user": chance.integers(0, labels, n), "item": chance.integers(0, labels, n)}
    if command == "run":  # labels of text
        rows = {name: [f"{name} {label}" for label in labels.tolist()] for name, labels in rows.items()}
    pq.write_table(pa.table({**rows, "day": chance.integers(0, 2_000_000, n)}), tmp_path / "many.parquet")
    asked = ["--store", tmp_path / "s", "--left", "user", "--right", "item", "--local"]
    line = [tmp_path / "many.parquet", *(["3", "3"] if command == "count" else [])]
    if command == "window":
        asked += ["--window", "30d", "--time", "day", "--time-limit", "1", "--min-left", "3", "--min-right", "3"]
        command = "run"
    elif command == "run":
        asked += ["--min-left", "3", "--min-right", "3"]
    elif command == "update":
        (tmp_path / "a.csv").write_text("user,item\n1,2\n")
        assert bicliq("run", tmp_path / "a.csv", *asked, "--min-left", "3", "--min-right", "3").returncode == 0
    refused = bicliq(command, *line, *asked, "--memory-limit", int(chance.integers(120, 200)) << 20)
    assert refused.returncode == 2
    advice = re.findall(r"--memory-limit (\d+)", refused.stderr)[-1]
    done = bicliq(command, *line, *asked, "--memory-limit", advice)
    assert done.returncode == 0, done.stderr


def test_a_limit_of_time_needs_no_room_for_all_results(tmp_path, monkeypatch, capsys):
    pairs = "".join(f"u{i},v{j}\n" for i in range(40) for j in range(40) if i != j)
    (tmp_path / "many.csv").write_text("user,item\n" + pairs)
    monkeypatch.setattr(forecast.shutil, "disk_usage", lambda path: type("Disk", (), {"free": 1 << 20}))
    line = ["run", str(tmp_path / "many.csv"), "--store", str(tmp_path / "s"), "--local"]
    assert invoke(line) == 2
    assert "the disk has 1.0 MiB free" in capsys.readouterr().err
    assert invoke([*line, "--time-limit", "0.2"]) == 0
