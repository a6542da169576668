"""What is said, warned of and refused before the search of a run."""

from __future__ import annotations

import json
import logging
import shutil
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from bicliq import kernels
from bicliq.flows.cli.app import invoke
from bicliq.flows.etl import etl
from bicliq.pipeline.errors import CapacityError
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import IngestSettings, PublishSettings, SearchSettings, Settings, load_settings
from bicliq.pipeline.stages.expected import FEW, expected_output, would_do
from bicliq.pipeline.stages.in_memory import bipartite_of
from bicliq.pipeline.stages.ingest import read_edge_table

BUNDLED = "tests/data/UCforum.parquet"


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def small_disk(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    """A disk with so many bytes free: the one thing here that a test cannot have for real."""
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(2 * free, free, free))


def settings(tmp_path: Path, **more: Any) -> Settings:
    return load_settings(store=str(tmp_path / "store"), cluster={"local": True}, **more)


def test_a_run_says_before_it_starts_what_it_will_find(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["run", BUNDLED, "--store", str(tmp_path / "store"), "--local"]) == 0
    assert "expected: 16,261 bicliques" in capsys.readouterr().err
    assert invoke(["run", BUNDLED, "--store", str(tmp_path / "store"), "--local"]) == 0
    assert "expected" not in capsys.readouterr().err  # everything is there: nothing is searched


def test_with_json_the_estimate_is_in_the_record_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["run", BUNDLED, "--store", str(tmp_path / "store"), "--local", "--json"]) == 0
    printed = capsys.readouterr()
    expected = json.loads(printed.out)["expected"]
    assert (expected["low"], expected["bicliques"], expected["high"], expected["exact"]) == (16261, 16261, 16261, True)
    assert min(expected["ids"], expected["bytes"], expected["seconds"]) > 0
    assert "expected" not in printed.err


@pytest.mark.parametrize("partitions", [None, 3])
def test_a_run_that_does_not_fit_the_disk_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], partitions: int | None
) -> None:
    small_disk(monkeypatch, 10_000)
    asked = ["run", BUNDLED, "--store", str(tmp_path / "store"), "--local"]
    asked += [] if partitions is None else ["--partitions", str(partitions)]
    assert invoke(asked) == 2
    assert "--force" in capsys.readouterr().err
    assert not list((tmp_path / "store").glob("runs/*/commits/*"))
    assert invoke([*asked, "--max-bicliques", "100"]) == 0  # so few fit
    assert invoke([*asked, "--force"]) == 0


@pytest.mark.usefixtures("prefect_server")
def test_flow_and_python_refuse_as_the_command_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_disk(monkeypatch, 10_000)
    asked = settings(tmp_path)
    with pytest.raises(CapacityError, match="the disk has"):
        run(BUNDLED, asked)
    with pytest.raises(CapacityError, match="the disk has"):
        etl(BUNDLED, asked.model_dump(mode="json"))
    forced = etl(BUNDLED, settings(tmp_path, force=True).model_dump(mode="json"))
    assert forced["expected"]["bicliques"] == forced["bicliques"] == 16_261


def test_an_explosion_is_warned_of_with_thresholds_that_would_do(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def warned(ties: Any, **search: Any) -> list[str]:
        caplog.clear()
        table = pa.table(dict(zip(("u", "v"), np.nonzero(ties), strict=True)))
        run(table, settings(tmp_path, search={"time_limit": 0.1, **search}))
        return [message for message in map(logging.LogRecord.getMessage, caplog.records) if "many biclique" in message]

    dense = np.random.default_rng(0).random((60, 60)) < 0.8
    assert "min_left = 30" in warned(dense)[0]
    assert warned(dense, min_left=30) == []
    (crown,) = warned(~np.eye(40, dtype=bool))
    assert "min_left" not in crown, "with min_left = 30 there are 10⁹, of which a sample of 10¹² sees 35"


def test_what_a_run_does_once_is_not_counted_for_each_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """Terms of surprise take a look at every vertex, which may be a hundred million."""
    now, of_degrees = [0.0], kernels.SurpriseTerms.of_degrees

    def slow(*arguments: Any) -> Any:
        now[0] += 1000
        return of_degrees(*arguments)

    monkeypatch.setattr(kernels.SurpriseTerms, "of_degrees", slow)
    monkeypatch.setattr(time, "process_time", lambda: now[0])
    graph = bipartite_of(read_edge_table(BUNDLED, IngestSettings()))
    asked = SearchSettings()
    found = expected_output(graph, asked, "left", PublishSettings(objectives="surprise"), work=1000, written=1000)
    assert (now[0], found.write_seconds) == (1000, 0)
    assert found.bytes > 0
    expected_output(graph, asked, "left", PublishSettings(), work=1000, written=1000)
    assert now[0] == 1000, "who does not ask for surprise does not wait for it"


def test_thresholds_that_would_do_leave_few_and_are_the_lowest() -> None:
    row = dict(low=0, ids=0, bytes=0)
    table = [
        {"min_left": a, "min_right": b, "bicliques": 40 * FEW // (a * b), "high": 50 * FEW // (a * b), **row}
        for a in (1, 2, 5, 10, 50)
        for b in (1, 2, 5, 10, 50)
    ]
    chosen = [(found["min_left"], found["min_right"]) for found in would_do(table)]
    assert chosen == [(1, 50), (5, 10), (50, 1)]
    assert would_do([{**found, "high": FEW + 1} for found in table]) == []


def test_what_a_sample_did_not_see_is_bounded_by_lower_thresholds() -> None:
    table = read_edge_table("tests/data/out.edit-nawiki", load_settings().ingest, backend="cpu")
    graph = bipartite_of(table, "cpu")
    found = expected_output(graph, load_settings().search, "auto", work=1 << 14, written=1)
    assert not found.exact
    unseen = [row for row in found.thresholds if row["bicliques"] == 0]
    by_place = {(row["min_left"], row["min_right"]): row["high"] for row in found.thresholds}
    assert unseen
    assert all(row["high"] > 0 for row in unseen)
    rights = sorted({right for _, right in by_place})
    for row in unseen:
        lower = [right for right in rights if right < row["min_right"]]
        assert not lower or row["high"] <= by_place[row["min_left"], lower[-1]]
    assert np.isfinite(found.search_seconds)
