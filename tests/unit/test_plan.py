"""Plans: the side, its roots, and how they are cut into partitions."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pyarrow.parquet as pq
import pytest

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.placement.where import place_run
from bicliq.pipeline.settings import ClusterSettings, IngestSettings, PlanSettings, SearchSettings
from bicliq.pipeline.stages.ingest import ingest
from bicliq.pipeline.stages.plan import BYTES_PER_EDGE, BYTES_PER_VERTEX, choose_side, plan, plan_partitions, run_id
from bicliq.pipeline.stages.worth import FOUND_A_PARTITION, Worth, worth_to
from bicliq.pipeline.store.entries import Expected
from bicliq.pipeline.store.layout import Store


def random_graph(seed, n_left=60, n_right=50, density=0.08):
    left, right = np.nonzero(np.random.default_rng(seed).random((n_left, n_right)) < density)
    return BipartiteGraph.from_edges(left, right, n_left, n_right)


def bytes_of(by_root, roots):
    rows = np.unique(by_root.rows_of(roots)[1])
    return int((by_root.right_degrees[rows] * BYTES_PER_EDGE + BYTES_PER_VERTEX).sum())


def test_the_cheaper_side_is_chosen():
    star = BipartiteGraph.from_edges([0] * 9, range(9), 1, 9)
    assert choose_side(star) == "left"
    assert choose_side(star.transpose()) == "right"
    assert choose_side(star, "right") == "right"
    with pytest.raises(InputError, match="'up'"):
        choose_side(star, "up")


def test_a_crowded_side_holds_the_roots_unless_its_lists_are_too_long() -> None:
    def chosen(n_left, right_degrees):
        """Of a table whose right vertices have so many left ones each, spread evenly."""
        left = np.concatenate([np.arange(d) + 7 * v for v, d in enumerate(right_degrees)]) % n_left
        right = np.repeat(np.arange(len(right_degrees)), right_degrees)
        graph = BipartiteGraph.from_edges(left, right, n_left, len(right_degrees))
        return choose_side(graph), choose_side(graph.transpose())

    crowded = [90] * 20 + [5] * 40  # a random neighbour has most of the 100 vertices
    assert chosen(100, crowded) == ("left", "right")
    assert chosen(100, [30] * 66) == ("right", "left")
    assert chosen(100_000, [90_000] * 22)[0] == "right"


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("partitions", [1, 7, 45, 1000])
def test_every_root_is_in_one_of_the_asked_partitions(side, partitions):
    graph = random_graph(0)
    found, largest = plan_partitions(graph if side == "left" else graph.transpose(), side, partitions, 1)
    degrees = graph.left_degrees if side == "left" else graph.right_degrees
    assert sorted(found.roots.tolist()) == np.flatnonzero(degrees).tolist()
    assert np.unique(found.partition).tolist() == list(range(min(partitions, found.roots.size)))
    ordered = degrees[found.roots]
    assert (np.diff(ordered) >= 0).all()
    assert (np.diff(found.roots)[np.diff(ordered) == 0] > 0).all()
    by_root = graph if side == "left" else graph.transpose()
    assert largest == max(bytes_of(by_root, found.roots[found.partition == p]) for p in set(found.partition))


def test_partitions_are_worth_their_work_unless_their_number_is_asked_for():
    graph = random_graph(1, 3000, 400, 0.01)
    cost = int(plan_partitions(graph, "left", 1, 1 << 30)[0].cost.sum())
    for worth, most, expected in ((cost // 5, 32, 5), (cost // 50, 32, 32), (cost + 1, 32, 1)):
        found, _ = plan_partitions(graph, "left", None, 1 << 30, Worth(worth, most))
        assert found.partition.max() + 1 == expected
    assert plan_partitions(graph, "left", 7, 1 << 30, Worth(cost + 1, 1))[0].partition.max() + 1 == 7


@pytest.mark.parametrize(("times", "partitions"), [(1, 5), (3, 2), (16, 1)])
def test_partitions_find_no_more_than_those_who_search_can_lose(times, partitions):
    found = {field.name: 0 for field in fields(Expected)} | {"bicliques": 5 * FOUND_A_PARTITION}
    one_by_work = Worth(1 << 40, found=times)
    graph = random_graph(1, 3000, 400, 0.01)
    plan, _ = plan_partitions(graph, "left", None, 1 << 30, one_by_work, Expected(**found))
    assert plan.partition.max() + 1 == partitions


@pytest.mark.parametrize(("alone", "partitions"), [(False, 5), (True, 1)])
def test_one_process_alone_is_given_fewer_partitions(tmp_path, alone, partitions):
    source, store = tmp_path / "edges.parquet", Store.open(str(tmp_path / "store"))
    pq.write_table(random_graph(1, 300, 100, 0.3).to_batches().read_all(), source)
    graph = ingest(str(source), store, IngestSettings()).graph
    assert (
        plan(store, graph, SearchSettings(), PlanSettings(), cluster=ClusterSettings(local=alone)).partitions
        == partitions
    )


def test_roots_that_are_best_searched_together_are_cut_within_a_memory_budget_that_is_asked_for(tmp_path):
    source, store = tmp_path / "edges.parquet", Store.open(str(tmp_path / "store"))
    pq.write_table(random_graph(1, 300, 100, 0.3).to_batches().read_all(), source)
    graph = ingest(str(source), store, IngestSettings()).graph
    few_columns = SearchSettings(min_left=40, side="right")
    assert plan(store, graph, few_columns, PlanSettings()).partitions == 1
    assert plan(store, graph, few_columns, PlanSettings(memory_budget=1 << 16)).partitions > 10


@pytest.mark.parametrize(("threads", "found"), [(1, 1), (2, 1), (16, 8)])
def test_a_process_alone_with_more_threads_is_given_more_to_find(threads, found):
    search = SearchSettings(threads=threads, backend="cpu")
    for cluster, times in ((ClusterSettings(local=True), found), (ClusterSettings(workers=2), 1)):
        assert worth_to("cpu", search, cluster, n_edges=1 << 20, paths=1 << 40).found == times


def test_roots_that_are_best_searched_together_are_one_partition_of_one_process_unless_a_cluster_is_asked_for():
    work, search = {"n_edges": 1 << 25, "paths": 1 << 40, "whole": True}, SearchSettings(backend="cpu")
    assert worth_to("cpu", search, ClusterSettings(), **work).partitions(1 << 40, None) == 1
    assert worth_to("cpu", search, ClusterSettings(workers=2), **work).partitions(1 << 40, None) == 32
    assert not place_run("cpu", search, ClusterSettings(), **work).cluster
    assert place_run("cpu", search, ClusterSettings(), **work | {"whole": False}).cluster


def test_partitions_share_the_cost():
    found, _ = plan_partitions(random_graph(1, 3000, 400, 0.01), "left", 10, 1)
    cost = np.bincount(found.partition, found.cost)
    assert cost.max() < 1.1 * cost.mean()


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("budget", [1, 2_000, 3_000, 1 << 30])
def test_the_memory_budget_is_kept_except_by_single_roots(seed, budget):
    graph = random_graph(seed)
    found, _ = plan_partitions(graph, "left", None, budget)
    for number in range(int(found.partition.max()) + 1):
        roots = found.roots[found.partition == number]
        assert roots.size == 1 or bytes_of(graph, roots) <= budget
    assert (found.partition.max() > 0) == (budget < 1 << 30)


def test_a_graph_without_edges_has_no_partitions():
    found, largest = plan_partitions(BipartiteGraph.from_edges([], [], 3, 3), "left", None, 1 << 20)
    assert (found.roots.size, largest) == (0, 0)
    found, _ = plan_partitions(BipartiteGraph.from_edges([], [], 3, 3), "left", 5, 1 << 20)
    assert found.partition.size == 0


def test_a_run_is_named_by_what_changes_its_result():
    name = run_id("g", SearchSettings(), PlanSettings())
    assert len(name) == 12
    for same in ({"threads": 7}, {"max_bicliques": 2, "on_limit": "error"}, {"check": True}):
        assert name == run_id("g", SearchSettings(**same), PlanSettings())
    others = [
        run_id("h", SearchSettings(), PlanSettings()),
        run_id("g", SearchSettings(min_left=2), PlanSettings()),
        run_id("g", SearchSettings(), PlanSettings(), "counts"),
        run_id("g", SearchSettings(), PlanSettings(partitions=2)),
    ]
    assert len({name, *others}) == 5
