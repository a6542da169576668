"""Graphs in memory: read, turned round, reduced, profiled."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from bicliq.pipeline.errors import DamageError, InputError
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, read_edges
from bicliq.pipeline.graphs.paths import wedges
from bicliq.pipeline.graphs.reduce import reduce
from bicliq.pipeline.stages.profile import components, profile_graph
from bicliq.pipeline.store.layout import Store
from tests.integration.stored_graphs import random_graph


def from_pairs(*pairs, n_left=None, n_right=None):
    left, right = np.array(pairs or np.zeros((0, 2)), int).T
    return BipartiteGraph.from_edges(
        left,
        right,
        n_left if n_left is not None else left.max(initial=-1) + 1,
        n_right if n_right is not None else right.max(initial=-1) + 1,
    )


def test_edges_are_sorted_and_unique_whatever_their_order():
    graph = from_pairs((1, 2), (0, 1), (1, 0), (0, 1))
    assert graph.indptr.tolist() == [0, 1, 3]
    assert graph.indices.tolist() == [1, 0, 2]
    assert graph.digest == from_pairs((0, 1), (1, 0), (1, 2)).digest
    assert (graph.indptr.dtype, graph.indices.dtype) == (np.int64, np.int32)


def test_isolated_vertices_change_the_digest():
    assert from_pairs((0, 0)).digest != from_pairs((0, 0), n_left=2).digest


def test_transposing_twice_gives_the_graph_back():
    graph = from_pairs((0, 3), (0, 1), (2, 1), (2, 0), n_left=4, n_right=6)
    there = graph.transpose()
    assert (there.n_left, there.n_right) == (6, 4)
    assert there.left_degrees.tolist() == graph.right_degrees.tolist()
    assert there.transpose().digest == graph.digest


def test_ids_outside_their_side_are_named():
    with pytest.raises(InputError, match="right ids run from 0 to 7, outside 0…2"):
        BipartiteGraph.from_edges([0, 0], [0, 7], 1, 3)
    with pytest.raises(InputError, match="left ids run from 0 to 2, outside 0…1"):
        BipartiteGraph.from_edges([0, 2], [0, 1], 2, 3)


def test_rows_are_gathered_in_the_asked_order():
    graph = from_pairs((0, 0), (1, 1), (1, 2), (2, 0), (2, 2))
    lengths, found = graph.rows_of(np.array([2, 0, 1]))
    assert lengths.tolist() == [2, 1, 2]
    assert found.tolist() == [0, 2, 0, 1, 2]


def test_an_empty_graph_has_no_edges_and_a_profile():
    graph = from_pairs(n_left=3, n_right=0)
    found, table = profile_graph(graph)
    assert (graph.n_edges, found.components, found.left_wedges, table.num_rows) == (0, 0, 0, 3)
    assert reduce(graph).graph.n_left == 0


def test_the_core_keeps_ids_and_degrees():
    # K(2,3) on left 1, 2 and right 0, 1, 2, with a tail 0-2 and 3-3
    pairs = [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (2, 2), (0, 2), (3, 3)]
    core = reduce(from_pairs(*pairs), min_left=2, min_right=2)
    assert core.left_kept.tolist() == [1, 2]
    assert core.right_kept.tolist() == [0, 1, 2]
    assert core.graph.n_edges == 6
    old = core.in_old_ids(4, 4)
    assert old.left_degrees.tolist() == [0, 3, 3, 0]
    assert reduce(from_pairs(*pairs), min_left=3, min_right=2).graph.n_edges == 0


@pytest.mark.parametrize("seed", range(20))
def test_the_core_is_the_largest_subgraph_with_these_degrees(seed):
    left, right = np.nonzero(np.random.default_rng(seed).random((20, 15)) < 0.2)
    keep = set(zip(left.tolist(), right.tolist(), strict=True))
    core = reduce(BipartiteGraph.from_edges(left, right, 20, 15), min_left=3, min_right=2)
    while True:
        drop = {(u, v) for u, v in keep if sum(a == u for a, _ in keep) < 2 or sum(b == v for _, b in keep) < 3}
        if not drop:
            break
        keep -= drop
    old = core.in_old_ids(20, 15)
    assert set(zip(old.edge_left.tolist(), old.indices.tolist(), strict=True)) == keep


def test_wedges_are_the_degrees_of_neighbours():
    graph = from_pairs((0, 0), (0, 1), (1, 1), (2, 1))
    left, right = wedges(graph)
    assert left.tolist() == [4, 3, 3]
    assert right.tolist() == [2, 4]


def test_a_profile_counts_components_with_edges():
    graph = from_pairs((0, 0), (1, 0), (2, 2), n_left=4, n_right=3)
    found, table = profile_graph(graph)
    assert (found.components, found.largest_component) == (2, 2)
    assert found.left_degree_histogram == [(0, 1), (1, 3)]
    assert components(graph)[0].tolist()[:2] == [0, 0]
    assert table.column_names == ["side", "vertex", "degree", "wedges", "component"]
    assert table["degree"].to_pylist() == [1, 1, 1, 0, 2, 0, 1]


@pytest.mark.parametrize("degree", [1, 1000, 1024])  # row groups of 2^20 edges end in rows, and with them
def test_edges_are_written_and_read_a_row_group_at_a_time(degree):
    left, right = np.divmod(np.arange((2 << 20) + 1), degree)
    graph = BipartiteGraph.from_edges(left, right, left[-1] + 1, degree)
    folder = Store.open(f"memory://rows-{degree}").graph("rows")
    file = folder.write_table("edges.parquet", graph.to_batches())
    with folder.open_parquet(file) as parquet:
        assert parquet.num_row_groups == 3
    found = read_edges(folder, file, graph.n_left, degree)
    assert np.array_equal(found.indptr, graph.indptr)
    assert np.array_equal(found.indices, graph.indices)
    assert graph.to_batches().read_all().num_rows == graph.n_edges


def with_last(left, right):
    """A table of all edges between 1,024 vertices and 1,024, a row group, and one more edge."""
    u, v = np.divmod(np.arange(1 << 20, dtype=np.int32), np.int32(1 << 10))
    ends = np.append(u, np.int32(left)), np.append(v, np.int32(right))
    folder = Store.open("memory://unsorted").graph("unsorted")
    return folder, folder.write_table("edges.parquet", pa.table(dict(zip(("left", "right"), ends, strict=True))))


def test_stored_edges_that_ascend_are_read():
    assert read_edges(*with_last(1024, 7), 1025, 1024).indices[-1] == 7


@pytest.mark.parametrize(
    ("left", "right"), [([0, 0], [1, 0]), ([1, 0], [0, 0]), ([0, 0], [1, 1]), ([0, 2], [0, 0]), ([0, 0], [0, 2])]
)
def test_edges_of_a_row_group_that_do_not_ascend_are_damage(left, right):
    folder = Store.open("memory://unsorted").graph("unsorted")
    ends = {"left": pa.array(left, pa.int32()), "right": pa.array(right, pa.int32())}
    file = folder.write_table("edges.parquet", pa.table(ends))
    with pytest.raises(DamageError, match="do not ascend, or are not in the graph"):
        read_edges(folder, file, 2, 2)


@pytest.mark.parametrize(("left", "right"), [(1023, 0), (0, 1023), (1023, 1023), (1025, 0), (1024, 1024)])
def test_stored_edges_that_do_not_ascend_are_damage(left, right):
    folder, file = with_last(left, right)
    with pytest.raises(DamageError, match="do not ascend, or are not in the graph"):
        read_edges(folder, file, 1025, 1024)


def test_peeling_in_place_leaves_the_graph_as_it_was():
    graph = random_graph(30, 20, 0.2, seed=3)
    before = graph.digest
    core = reduce(graph, 4, 4)
    assert core.rounds > 1
    assert BipartiteGraph(graph.n_left, graph.n_right, graph.indptr, graph.indices).digest == before
