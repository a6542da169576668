"""`python -m benchmarks update`: batches of edges joined to a run, and what they cost."""

from __future__ import annotations

import json

import pytest

from benchmarks.updates import UpdateMeasured, batch_sizes, draw_updates, measure_nights, measure_updates
from bicliq.pipeline.errors import InputError
from tests.benches import bench
from tests.real_graphs import DATA

UC = DATA / "UCforum.parquet"


def test_batches_of_one_edge_to_a_tenth_are_measured_and_drawn(tmp_path, capsys):
    picture = tmp_path / "updates.svg"
    assert bench("update", str(UC), "--edges", "1", "--edges", "40", "--picture", str(picture), "--json") == 0
    rows = json.loads(capsys.readouterr().out)["graphs"]
    assert [(row["edges"], row["how"]) for row in rows] == [(1, "changes"), (40, "changes")]
    assert rows[1]["appeared"] > rows[0]["appeared"] > 0
    assert all(row["full"] > 0 and row["seconds"] >= row["search"] > 0 and row["bytes"] > 0 for row in rows)
    assert "a full run is made" in picture.read_text()
    draw_updates(rows, tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_bytes() == picture.read_bytes()


def test_sizes_go_up_to_a_tenth_and_leave_some_edges():
    assert batch_sizes(1_000_000) == [1, 10, 100, 1000, 10_000, 100_000]
    with pytest.raises(InputError, match="some edges must be left"):
        list(measure_updates({"UC": UC}, sizes=[10**6]))
    (found,) = measure_updates({"UC": UC}, sizes=[2])
    assert isinstance(found, UpdateMeasured)
    assert found.record()["graph"] == "UC"


def test_nights_follow_one_another_and_end_in_the_run_of_all_edges(capsys):
    assert bench("update", str(UC), "--nights", "3", "--edges", "30", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["graphs"]
    assert [row["edges"] for row in rows] == [30, 30, 30]
    assert len({row["bicliques"] for row in rows}) == 3
    (one,) = measure_nights({"UC": UC}, 1)
    assert one.edges == 7


def test_nights_take_one_size_and_leave_some_edges(capsys):
    assert bench("update", str(UC), "--nights", "2", "--edges", "1", "--edges", "2") == 2
    assert "one size" in capsys.readouterr().err
    with pytest.raises(InputError, match="some edges must be left"):
        list(measure_nights({"UC": UC}, 8, size=1000))


def test_repeated_batches_find_the_store_as_it_was():
    (found,) = measure_updates({"UC": UC}, sizes=[7], runs=3)
    (once,) = measure_updates({"UC": UC}, sizes=[7])
    same = "appeared", "vanished", "bicliques", "bytes"
    assert [getattr(found, name) for name in same] == [getattr(once, name) for name in same]


def test_nights_are_joined_once_each(capsys):
    assert bench("update", str(UC), "--nights", "2", "--runs", "2") == 2
    assert "leave --runs out" in capsys.readouterr().err
