"""Planted rings, who finds them, and the published ways that they are compared with."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from pyarrow import csv, parquet

from benchmarks.planted import WAYS, measure_planted
from benchmarks.rings import ACCOUNTS, ITEMS, SMALL, plant_rings
from benchmarks.suspects import COLUMN_WEIGHT, dense_blocks, frequent_itemsets
from bicliq.flows.cli.app import invoke
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from tests.benches import bench
from tests.nightly import by_night, drawn
from tests.property.graphs import Graph, random_graphs
from tests.reference.brute_force import maximal_bicliques


def random_background(seed: int = 0) -> BipartiteGraph:
    left, right = np.nonzero(np.random.default_rng(seed).random((300, 200)) < 0.02)
    return BipartiteGraph.from_edges(left, right, 300, 200)


def edges_of(graph: BipartiteGraph) -> set[tuple[int, int]]:
    return set(zip(graph.edge_left.tolist(), graph.indices.tolist(), strict=True))


def test_rings_are_whole_hidden_and_the_same_for_a_seed() -> None:
    background = random_background()
    graph, rings = plant_rings(background, 4, seed=7)
    again, _ = plant_rings(background, 4, seed=7)
    other, _ = plant_rings(background, 4, seed=8)
    assert edges_of(graph) == edges_of(again) != edges_of(other)
    assert edges_of(background) < edges_of(graph)
    for ring in rings:
        assert ACCOUNTS[0] <= ring.left.size <= ACCOUNTS[1]
        assert ITEMS[0] <= ring.right.size <= ITEMS[1]
        assert {(u, v) for u in ring.left.tolist() for v in ring.right.tolist()} <= edges_of(graph)
        assert (ring.left < background.n_left).any()  # accounts that were taken over
        assert graph.left_degrees[ring.left].min() > ring.right.size  # each has honest traffic as well
    members = [u for ring in rings for u in ring.left.tolist()]
    assert len(members) == len(set(members))


def test_a_sparser_ring_has_that_share_of_its_pairs() -> None:
    graph, rings = plant_rings(random_background(), 6, seed=1, density=0.8)
    pairs = [(u, v) for ring in rings for u in ring.left.tolist() for v in ring.right.tolist()]
    assert 0.75 < len(set(pairs) & edges_of(graph)) / len(pairs) < 0.87


def test_what_cannot_be_planted_is_refused() -> None:
    with pytest.raises(InputError, match="so many rings need"):
        plant_rings(BipartiteGraph.from_edges([0], [0], 1, 1), 5)
    with pytest.raises(InputError, match="density is 0"):
        plant_rings(random_background(), 1, density=0)


@by_night
def test_rings_in_a_generated_table_are_named_and_come_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hubs bound their roots loosely: a search that goes by bounds alone is cut off among them."""
    table, truth = tmp_path / "shop.parquet", tmp_path / "rings.csv"
    sizes = ["--left", "20000", "--right", "4000", "--edges", "300000", "--seed", "3"]
    assert bench("generate", str(table), *sizes, "--rings", "4", "--truth", str(truth), "--text") == 0
    members = csv.read_csv(truth).to_pandas()
    rows = parquet.read_table(table).to_pandas()
    edges = set(zip(rows["left"], rows["right"], strict=True))
    rings = []
    for _, ring in members.groupby("ring"):
        left, right = (set(ring.loc[ring["side"] == side, "label"]) for side in ("left", "right"))
        assert {(u, v) for u in left for v in right} <= edges
        rings.append((left, right))
    assert len(rings) == 4
    capsys.readouterr()
    options = ["--by", "surprise", "--top", "1", "--min-left", "4", "--min-right", "4", "--time-limit", "20", "--json"]
    assert invoke(["find", str(table), *options]) == 0
    (best,) = json.loads(capsys.readouterr().out)["groups"]
    largest = max(rings, key=lambda ring: len(ring[0]) * len(ring[1]))
    assert set(best["left"]) & largest[0] == largest[0] or set(best["right"]) & largest[1] == largest[1]
    again = tmp_path / "again.parquet"
    assert bench("generate", str(again), *sizes, "--rings", "4", "--text") == 0
    assert again.read_bytes() == table.read_bytes()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--truth", "rings.csv"], "add --rings"),
        (["--rings", "2", "--truth", "rings.txt"], "let the name end in .csv"),
        (["--rings", "900"], "so many rings need"),
    ],
)
def test_rings_that_cannot_be_generated_are_refused(tmp_path, capsys, options, said) -> None:
    target = tmp_path / "table.csv"
    assert bench("generate", str(target), "--left", "50", "--right", "50", "--edges", "500", *options) == 2
    assert said in capsys.readouterr().err
    assert not target.exists()


def test_surprise_finds_the_rings_of_a_random_graph(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture = tmp_path / "planted.svg"
    asked = ["planted", "southern-women", "--rings", "1", "--seeds", "2", "--picture", str(picture), "--json"]
    assert bench(*asked) == 0
    records = json.loads(capsys.readouterr().out)["graphs"]
    assert [(r["graph"], r["way"]) for r in records[: len(WAYS)]] == [("generated", way) for way in WAYS]
    first = records[0]
    assert (first["way"], first["found"], first["precision"], first["recall"]) == ("surprise, diverse", 1, [1], [1])
    assert picture.read_text().startswith("<?xml")


def test_small_rings_in_a_table_of_any_size_and_the_ways_that_are_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["planted", "--rings", "3", "--seeds", "1", "--small", "--purchases", "8000"]
    assert bench(*asked, "--way", "surprise, diverse", "--json") == 0
    (record,) = json.loads(capsys.readouterr().out)["graphs"]
    assert (record["way"], record["found"], record["precision"][-1]) == ("surprise, diverse", 3, 1)
    assert bench(*asked, "--way", "luck") == 2
    assert "--way 'luck' is none of surprise, diverse, surprise" in capsys.readouterr().err
    _, rings = plant_rings(random_background(), 4, 7, 1.0, SMALL)
    assert {*(ring.left.size for ring in rings), *(ring.right.size for ring in rings)} <= set(range(5, 9))


def test_a_way_that_names_nobody_has_no_precision() -> None:
    measured = {of.way: of for of in measure_planted({}, 1, 1)}
    assert set(measured) == set(WAYS)
    assert all(0 <= of.precision[0] <= 1 and 0 <= of.recall[0] <= 1 for of in measured.values())


def density(block: tuple[frozenset[int], frozenset[int]], graph: Graph) -> float:
    """FRAUDAR's measure: the weight of a block's edges over its vertices."""
    degrees = np.bincount([v for _, v in graph.edges], minlength=graph.n_right)
    left, right = block
    weight = sum(1 / np.log(degrees[v] + COLUMN_WEIGHT) for u, v in graph.edges if u in left and v in right)
    return float(weight) / max(len(left) + len(right), 1)


@settings(max_examples=drawn(150), deadline=None)
@given(random_graphs())
def test_greed_finds_at_least_half_of_the_best_density(graph: Graph) -> None:
    """Theorem 1 of the paper, against all blocks of small graphs."""
    if not graph.edges or graph.n_left + graph.n_right > 11:
        return
    bipartite = BipartiteGraph.from_edges(*zip(*graph.edges, strict=True), graph.n_left, graph.n_right)
    left, right = dense_blocks(bipartite, 1)[0]
    vertices = [("left", u) for u in range(graph.n_left)] + [("right", v) for v in range(graph.n_right)]
    best = max(
        density(
            (frozenset(x for side, x in some if side == "left"), frozenset(x for side, x in some if side == "right")),
            graph,
        )
        for n in range(1, len(vertices) + 1)
        for some in combinations(vertices, n)
    )
    found = density((frozenset(left), frozenset(right)), graph)
    assert best / 2 - 1e-9 <= found <= best + 1e-9


@settings(max_examples=drawn(300), deadline=None)
@given(random_graphs())
def test_itemsets_are_the_closed_ones_that_most_have(graph: Graph) -> None:
    if not graph.edges:
        return
    bipartite = BipartiteGraph.from_edges(*zip(*graph.edges, strict=True), graph.n_left, graph.n_right)
    closed = [
        (sorted(left), sorted(right))
        for left, right in maximal_bicliques(graph.edges, graph.n_left)
        if len(right) >= 2 and len(left) >= 2
    ]
    supports = sorted((len(left) for left, _ in closed), reverse=True)[:3]
    found = frequent_itemsets(bipartite, 3, 2)
    assert [len(left) for left, _ in found] == supports
    assert all((left, right) in closed for left, right in found)
