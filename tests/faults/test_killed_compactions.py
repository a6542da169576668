"""A compaction and a resume of it that are really killed, in turn: what is published is whole."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.faults.commands import PATIENCE
from tests.forked import command
from tests.nightly import by_night


def ended(store: Path, *words: str) -> dict[str, Any]:
    process = command(*words, "--store", str(store), "--json")
    out, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, (words, said)
    return dict(json.loads(out.splitlines()[-1]))


def kill_when(moment: Callable[[], bool], store: Path, *words: str) -> None:
    """Give a command, and kill it as soon as something is there, unless it ends before."""
    process, deadline = command(*words, "--store", str(store)), time.monotonic() + PATIENCE
    while process.poll() is None and not moment() and time.monotonic() < deadline:
        time.sleep(0.0005)
    process.kill()
    process.wait()


@pytest.mark.parametrize("last", ["compact", pytest.param("resume", marks=by_night)])
def test_a_compaction_and_its_resume_that_are_killed_publish_the_version(tmp_path: Path, last: str) -> None:
    random, store = np.random.default_rng(5), tmp_path / "store"
    rows = [f"{u},{v}" for u, v in zip(*np.nonzero(random.random((400, 300)) < 0.04), strict=True)]
    more = [f"{random.integers(405)},{random.integers(305)}" for _ in range(60)]
    for name, some in {"base": rows, "new": more}.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(["l,r", *some, ""]))
    ended(store, "run", str(tmp_path / "base.csv"), "--local", "--partitions", "12")
    version = ended(store, "update", str(tmp_path / "new.csv"))
    known = {path.name for path in (store / "runs").iterdir()}

    def made(name: str) -> bool:
        return any((path / name).exists() for path in (store / "runs").iterdir() if path.name not in known)

    kill_when(lambda: made("run.json"), store, "compact")
    kill_when(lambda: made("plan.json"), store, "resume", "--local")
    for words in (["compact"], ["resume", "--local"]) if last == "resume" else (["resume", "--local"], ["compact"]):
        found = ended(store, *words)
        assert (found["bicliques"], found["digest"]) == (version["bicliques"], version["digest"])
    assert ended(store, "verify", "--deep", "all")["ok"]
    assert ended(store, "show")["matching"] == version["bicliques"]
