"""`bicliq estimate`: what a run would find and cost, compared with the run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.choice import random_graph
from benchmarks.estimates import SHARE, WORK, MeasuredEstimate, measure_estimates
from benchmarks.graphs import read_graph_file
from bicliq import kernels
from bicliq.flows.cli.app import invoke
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.questions.estimate import estimate_table
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import ClusterSettings, PublishSettings, SearchSettings, Settings
from bicliq.pipeline.stages.writing_rate import writing_rate
from bicliq.pipeline.store.biclique_file import layout_of
from tests import host_cupy
from tests.host_cupy import HostCupy

BUNDLED = Path("tests/data/UCforum.parquet")


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """What a command prints as JSON."""
    assert invoke(["estimate", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_an_estimate_says_what_the_run_finds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    thresholds = "--min-left", "3", "--min-right", "2"
    found = asked(capsys, str(BUNDLED), "--threads", "1", *thresholds)
    settings = Settings(
        store=str(tmp_path / "store"),
        search=SearchSettings(min_left=3, min_right=2),
        cluster=ClusterSettings(local=True),
    )
    summary = run(str(BUNDLED), settings)
    assert found["exact"]
    assert found["low"] == found["bicliques"] == found["high"] == summary.bicliques
    assert summary.bytes / 1.4 < found["bytes"] < 1.4 * summary.bytes
    assert {"search", "write", "gpu_search", "gpu_write", "ingest", "estimate", "total"} == set(found["seconds"])
    assert (found["seconds"]["gpu_search"] is None) == (kernels.why_not("cuda") is not None)


def test_thresholds_are_those_that_a_search_would_have(capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, str(BUNDLED), "--min-left", "2")
    assert min(row["min_left"] for row in found["thresholds"]) == 2
    for row in found["thresholds"][::17]:
        search = SearchSettings(min_left=row["min_left"], min_right=row["min_right"])
        assert row["bicliques"] == estimate_table(BUNDLED, Settings(search=search))["bicliques"]


def test_a_table_is_printed_and_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "thresholds.svg"
    assert invoke(["estimate", str(BUNDLED), "--picture", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert "16,261 maximal bicliques" in printed
    assert "least left (down)" in printed
    assert picture.read_text().startswith("<?xml")


def test_a_picture_that_cannot_be_written_is_refused_before_the_search(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["estimate", str(BUNDLED), "--picture", "thresholds.txt"]) == 2
    assert "--picture 'thresholds.txt'" in capsys.readouterr().err


def test_a_table_that_thresholds_empty_takes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    found = asked(capsys, str(BUNDLED), "--min-left", "5000")
    assert (found["bicliques"], found["ids"], found["bytes"], found["exact"]) == (0, 0, 0, True)


def test_estimates_are_measured_against_the_truth() -> None:
    by_name: dict[str, MeasuredEstimate] = {}
    for found in measure_estimates({"UCforum": BUNDLED}, [1], 2, WORK, SHARE, 1):
        by_name[found.graph] = found
    forum = by_name["UCforum"]
    assert (forum.bicliques, forum.held, forum.exact, forum.error, forum.width) == (16_261, 2, 2, 0, 0)
    counted = kernels.enumerate_maximal_bicliques(*random_graph("rmat", 1)).bicliques
    assert by_name["rmat 1"].record()["bicliques"] == counted


def test_a_machine_with_a_gpu_is_told_its_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with host_cupy.nvcomp_at(monkeypatch, None), host_cupy.installed(HostCupy({}), monkeypatch):
        found = asked(capsys, str(BUNDLED), "--threads", "1")
        assert invoke(["estimate", str(BUNDLED)]) == 0
        assert kernels.gpu_seconds(23_000_000) == pytest.approx(1.004)  # two multiprocessors
    seconds = found["seconds"]
    assert 0.004 < seconds["gpu_search"] < 1
    assert seconds["gpu_write"] == seconds["write"]  # without nvCOMP the host writes
    assert "; on the GPU 0.0" in capsys.readouterr().out


@pytest.mark.parametrize("columns", ["both", "smaller"])
@pytest.mark.parametrize(("side", "most"), [("left", 1.4), ("right", 2.2)])  # roots on the right have few each
def test_bytes_are_near_those_of_the_whole(columns: Any, side: Any, most: float) -> None:
    publish = PublishSettings(columns=columns)
    graph = marvel()
    size = bicliques = 0
    csr = graph.indptr, graph.indices, graph.n_right
    with kernels.stream_row_groups(*csr, layout_of(publish), side=side) as stream:
        for group in stream:
            size, bicliques = size + len(group.data), bicliques + group.rows
    rate = writing_rate(graph, SearchSettings(), side, publish, 1 << 16)
    assert 0.7 < rate.bytes / (size / bicliques) < most


def test_bicliques_that_no_root_has_are_not_taken_for_nothing() -> None:
    graph = marvel()
    assert writing_rate(graph, SearchSettings(min_left=10_000), "right", PublishSettings(), 1000).bytes > 0
    empty = BipartiteGraph.from_edges([], [], 3, 3)
    assert writing_rate(empty, SearchSettings(), "left", PublishSettings(), 1000).bytes > 0


def marvel() -> BipartiteGraph:
    return read_graph_file(Path("tests/data/marvel.parquet"))
