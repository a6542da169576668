"""Groups in step whose rows a card sorts: the CPU's, and the CPU's work where the card fills up.

The card is emulated; `tests/gpu/test_device_in_step.py` asks a real one about the same tables.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import bicliq
from bicliq.flows.cli.app import invoke
from bicliq.pipeline.errors import AskedBackendError
from bicliq.pipeline.graphs import actions as actions_module
from bicliq.pipeline.placement import fallback
from bicliq.pipeline.questions.find import FindAsked, find_in_table
from bicliq.pipeline.settings import load_settings
from tests.emulated_cupy import Card, card
from tests.nightly import part_of

__all__ = ["card"]  # a fixture

FIRST = 1_767_225_600
"""Unix seconds of 2026-01-01."""

ZONES = [dt.timezone(dt.timedelta(hours=hours)) for hours in (-5, 0, 1, 9)]


def iso(zoned: bool) -> Callable[[np.ndarray], list[str]]:
    """Times as ISO text: all without a zone, or each in one of four."""

    def written(seconds: np.ndarray) -> list[str]:
        moments = [dt.datetime.fromtimestamp(second, dt.UTC) for second in seconds.tolist()]
        if not zoned:
            return [moment.replace(tzinfo=None).isoformat() for moment in moments]
        return [moment.astimezone(ZONES[i % 4]).isoformat() for i, moment in enumerate(moments)]

    return written


def stamps(unit: str, zone: str | None) -> Callable[[np.ndarray], pa.Array]:
    """Times as timestamps of Arrow."""
    a_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    return lambda seconds: pa.array(np.rint(seconds * a_second).astype(np.int64), pa.timestamp(unit, zone))


WAYS: list[tuple[str, Callable[[np.ndarray], Any]]] = [
    ("csv", lambda seconds: np.rint(seconds).astype(np.int64)),
    ("csv", lambda seconds: seconds),
    ("csv", iso(zoned=False)),
    ("csv", iso(zoned=True)),
    ("parquet", lambda seconds: seconds),
    ("parquet", stamps("s", None)),
    ("parquet", stamps("ms", "UTC")),
    ("parquet", stamps("us", "Asia/Tokyo")),
    ("parquet", stamps("ns", None)),
    ("parquet", iso(zoned=True)),
]
"""Formats, and how the times are written there."""

READ = ("left", "right", "time", "in_step")

NUMBERS = 100
"""Random tables that are asked about, by their numbers."""


def timed_table(folder: Path, number: int) -> tuple[str, dict[str, Any]]:
    """Write a random table of actions, and say what is asked of it.

    Some act again and again, many at the same moment, and the rows come in any order.
    """
    random = np.random.default_rng(number)
    kind, written = WAYS[number % len(WAYS)]
    n = int(random.integers(1, 250))
    who, what = random.integers(0, int(random.integers(2, 12)), n), random.integers(0, int(random.integers(2, 9)), n)
    seconds = FIRST + random.integers(0, int(random.choice([3, 60, 2000])), n) / random.choice([1, 2, 8])
    again = random.integers(0, n, n // 4)  # the same actions once more, and late
    who, what, seconds = (np.append(column, column[again]) for column in (who, what, seconds))
    text = number % 3 == 0
    names = {"account": [f"é{i}" for i in who] if text else who, "link": [f"{i}.org" for i in what] if text else what}
    table = pa.table({**names, "at": written(seconds)})
    path = folder / f"{number}.{kind}"
    pq.write_table(table, path, row_group_size=50) if kind == "parquet" else csv.write_csv(table, path)
    sizes = {"min_left": int(random.integers(1, 4)), "min_right": int(random.integers(1, 4))}
    window = str(random.choice(["0", "1s", "2.5s", "10", "1m", "1h"]))
    read = {"left": "account", "right": "link", "time": "at", "in_step": window}
    by = str(random.choice(["edges", "balanced", "surprise"]))
    return str(path), {**read, **sizes, "by": by}


def answer(path: str, asked: dict[str, Any], backend: str) -> dict[str, Any]:
    """What is found, but for how long it took."""
    settings = load_settings(
        ingest={name: asked[name] for name in READ},
        search={name: asked[name] for name in ("min_left", "min_right")},
        data_backend=backend,
    )
    found = find_in_table(path, FindAsked(by=asked["by"], top=1000), settings)
    return {name: value for name, value in found.items() if name != "seconds"}


def assert_same(path: str, asked: dict[str, Any], backend: str, machines: dict[str, str]) -> None:
    """Compare a card with the CPU."""
    expected, found = answer(path, asked, "cpu"), answer(path, asked, backend)
    assert expected["in_step"].pop("machines") == {"read": "cpu", "sorted": "cpu", "searched": "cpu"}
    assert found["in_step"].pop("machines") == machines
    assert found == expected


def stored(run: bicliq.Bicliques) -> tuple[Any, ...]:
    """What lies in a store, in whatever order."""
    groups = [(row["left"], row["right"], [*map(str, row["windows"])]) for row in run.to_arrow().to_pylist()]
    return run.run.graph.place, run.digest, sorted(groups)


@pytest.fixture
def read_by_the_cpu(monkeypatch):
    """What a card leaves to the CPU: cuDF is not emulated."""
    monkeypatch.setenv("BICLIQ__INGEST__MULTILINE", "true")


BY_THE_CPU = "cpu: fields over several lines are read by the CPU"
SORTED_THERE = {"read": BY_THE_CPU, "sorted": "cuda", "searched": "cpu"}


@pytest.mark.usefixtures("read_by_the_cpu")
@pytest.mark.parametrize("at_once", part_of([5, 1 << 22], 2))
def test_groups_whose_rows_a_card_sorts_are_those_of_the_cpu(tmp_path, card: Card, monkeypatch, at_once):
    monkeypatch.setattr(actions_module, "AT_ONCE", at_once)
    monkeypatch.setattr(actions_module.blocks_of, "__defaults__", (at_once,))
    n_groups = 0
    for number in range(NUMBERS // 2):
        path, asked = timed_table(tmp_path, number)
        assert_same(path, asked, "cuda", SORTED_THERE)
        n_groups += len(answer(path, asked, "cpu")["groups"])
    assert n_groups > 200
    assert card.used > 0


@pytest.mark.usefixtures("read_by_the_cpu")
def test_runs_and_versions_are_those_of_the_cpu(tmp_path, card: Card, capsys):
    for number in range(0, 10, 3):
        path, more = (timed_table(tmp_path, number + of)[0] for of in (0, 30))  # written alike
        asked = ["--left", "account", "--right", "link", "--time", "at", "--data-backend"]
        found = []
        for backend in ("cpu", "cuda"):
            store = str(tmp_path / f"{backend}-{number}")
            assert invoke(["run", path, "--in-step", "10s", "--store", store, *asked, backend]) == 0
            first = bicliq.open(store)
            assert invoke(["update", more, "--store", store, *asked, backend]) == 0
            second = bicliq.open(store)
            found.append([stored(run) for run in (first, second)])
        assert found[0] == found[1]
    capsys.readouterr()
    assert card.used > 0


@pytest.mark.usefixtures("read_by_the_cpu")
@pytest.mark.parametrize("share", [0, 0.1, 0.5, 0.95])
def test_a_card_that_fills_up_leaves_the_rows_to_the_cpu(tmp_path, card: Card, share):
    path, asked = timed_table(tmp_path, 1)
    answer(path, asked, "auto")
    card.has_left(int(share * card.used))
    assert_same(path, asked, "auto", {**SORTED_THERE, "sorted": "cpu"})
    assert "the GPU has too little free memory" in (fallback.given_up() or "")
    fallback.reasons.clear()
    with pytest.raises(AskedBackendError, match="the GPU has too little free memory"):
        answer(path, asked, "cuda")


@pytest.mark.usefixtures("card", "read_by_the_cpu")
def test_the_command_says_which_machine_did_what(tmp_path, capsys):
    path, _ = timed_table(tmp_path, 1)
    asked = ["find", path, "--left", "account", "--right", "link", "--time", "at", "--in-step", "1m", "--data-backend"]
    assert invoke([*asked, "cuda", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["in_step"]["machines"] == SORTED_THERE
    assert invoke([*asked, "cuda", "--backend", "cuda"]) == 2
    said = capsys.readouterr().err
    assert "leave out --backend cuda: --data-backend cuda reads and sorts their rows on a GPU" in said
