"""Stages that work block by block give what whole-array code gives, whatever the size of a
block."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph

from bicliq.pipeline.errors import CapacityError
from bicliq.pipeline.graphs import bipartite as graph
from bicliq.pipeline.graphs import paths
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.graphs.paths import wedges
from bicliq.pipeline.graphs.reduce import reduce
from bicliq.pipeline.placement import arrays
from bicliq.pipeline.stages import profile
from bicliq.pipeline.stages.profile import components, profile_graph


@pytest.fixture(params=[3, 50, 1 << 24], autouse=True)
def block(request, monkeypatch):
    for module in (arrays, graph, paths):
        monkeypatch.setattr(module, "BLOCK", request.param)


def random_graph(seed):
    rng = np.random.default_rng(seed)
    table = rng.random(rng.integers(1, 40, 2)) < rng.choice([0, 0.01, 0.03, 0.1, 0.4])
    left, right = np.nonzero(table)
    return BipartiteGraph.from_edges(left, right, *table.shape), table


@pytest.mark.parametrize("seed", range(40))
def test_wedges_and_components_are_those_of_the_whole_matrix(seed):
    found, table = random_graph(seed)
    left, right = wedges(found)
    assert left.tolist() == (table @ table.sum(axis=0)).tolist()
    assert right.tolist() == (table.T @ table.sum(axis=1)).tolist()
    square = np.zeros((sum(table.shape),) * 2, np.int8)
    square[: table.shape[0], table.shape[0] :] = table
    labels = csgraph.connected_components(sp.csr_array(square), directed=False)[1]
    _, first, names = np.unique(labels, return_index=True, return_inverse=True)
    assert np.concatenate(components(found)).tolist() == first[names].tolist()
    figures, _ = profile_graph(found)
    assert figures.components == np.unique(labels[np.flatnonzero(square.any(axis=0) | square.any(axis=1))]).size


@pytest.mark.parametrize("seed", range(20))
def test_rows_come_in_the_order_that_was_asked_for(seed):
    found, table = random_graph(seed)
    order = np.random.default_rng(seed).permutation(table.shape[0])
    lengths, neighbours = found.rows_of(order)
    assert lengths.tolist() == table.sum(axis=1)[order].tolist()
    assert neighbours.tolist() == [v for u in order for v in np.flatnonzero(table[u])]


@pytest.mark.parametrize("seed", range(20))
def test_the_core_keeps_the_vertices_that_have_enough_neighbours(seed):
    found, table = random_graph(seed)
    core = reduce(found, 2, 3)
    while True:
        keep = table & (table.sum(axis=1) >= 3)[:, None] & (table.sum(axis=0) >= 2)
        if (keep == table).all():
            break
        table = keep
    assert core.in_old_ids(*table.shape).edge_left.tolist() == np.nonzero(table)[0].tolist()
    assert core.in_old_ids(*table.shape).indices.tolist() == np.nonzero(table)[1].tolist()


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("at_a_time", [1, 40, 1 << 26])
def test_two_hop_neighbours_are_those_of_the_product(seed, at_a_time, monkeypatch):
    monkeypatch.setattr(profile, "HOST_PATHS_AT_A_TIME", at_a_time)
    found, table = random_graph(seed)
    product = table.astype(int) @ table.T.astype(int) > 0
    np.fill_diagonal(product, False)
    assert profile.all_two_hop(found).tolist() == product.sum(axis=1).tolist()


def test_too_many_paths_are_refused():
    n = 1 << 19
    star = BipartiteGraph.from_edges(np.arange(n + 1), np.zeros(n + 1, int), n + 1, 1)
    with pytest.raises(CapacityError, match=r"has 27\d,\d+,\d+,\d+ paths of two edges: too many to follow"):
        profile.all_two_hop(star)
