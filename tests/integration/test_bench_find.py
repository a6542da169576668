"""The benchmark of finding: every question is asked of a graph; a wrong answer shows."""

from __future__ import annotations

import json

import pytest

from benchmarks import finding
from benchmarks.finding import measure_finds
from benchmarks.graphs import find_graphs, read_graph_file
from benchmarks.peers import MaximumPeer, maximum_peers
from bicliq import kernels
from bicliq.flows.cli.options import EXIT_OTHER
from tests.benches import bench

GRAPH = "UCforum"


def test_every_objective_is_measured_and_its_best_is_that_of_the_kernels(capsys):
    assert bench("find", GRAPH, "--top", "3", "--runs", "2", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["questions"]
    assert [row["by"] for row in rows] == ["edges", "vertices", "balanced", "surprise", "weight", "edge weight"]
    graph = read_graph_file(find_graphs([GRAPH])[GRAPH])
    for row in rows[:4]:
        best = kernels.top_bicliques(graph.indptr, graph.indices, graph.n_right, 3, row["by"]).groups[0]
        assert (row["left"], row["right"], row["value"]) == (len(best.left), len(best.right), best.value)
    assert all(row["exact"] and 0 < row["milliseconds"] <= row["median"] and row["published"] is None for row in rows)
    assert all(row["backend"].startswith("cpu-") and row["nodes"] > 0 for row in rows)
    assert rows[4]["value"] <= finding.HEAVIEST * (rows[4]["left"] + rows[4]["right"])
    assert rows[5]["value"] <= finding.HEAVIEST * rows[5]["left"] * rows[5]["right"]


@pytest.mark.parametrize(("more", "code"), [(0, 0), (1, EXIT_OTHER)])
def test_an_answer_that_is_not_the_published_one_is_an_error(more, code, monkeypatch, capsys):
    graph = read_graph_file(find_graphs([GRAPH])[GRAPH])
    best = kernels.top_bicliques(graph.indptr, graph.indices, graph.n_right, 1, min_left=3, min_right=3).groups[0]
    known = len(best.left) * len(best.right) + more
    monkeypatch.setattr(finding, "maximum_peers", lambda: {GRAPH: [MaximumPeer(3, known, 5)]})
    assert bench("find", GRAPH, "--runs", "1", "--json") == code
    first = json.loads(capsys.readouterr().out)["questions"][0]
    assert first["exact"] == (code == 0)
    assert (first["published"], "times" in first) == (5, False)  # a ratio is of one machine


def test_answers_that_differ_are_not_exact():
    one, *_ = measure_finds(find_graphs([GRAPH]), 1, 1)
    assert one.exact
    assert not finding.FindMeasured(**{**vars(one), "alike": False}).exact


def test_published_answers_have_the_sizes_that_they_say():
    assert all(row.edges >= row.min_size**2 and row.best > 0 for rows in maximum_peers().values() for row in rows)
