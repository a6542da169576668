"""Graphs with a planted colouring: searched class by class where greed needs many more colours, not
at all where colours suffice."""

from __future__ import annotations

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from bicliq.kernels import maximum_clique
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.cuda.clique import search
from tests import dimacs
from tests.emulated_gpu import EmulatedGpu
from tests.nightly import drawn
from tests.property.test_cliques import assert_is_clique


def planted(parts, size, density, seed):
    """Random edges between the parts, none within; the vertices in any order."""
    random = np.random.default_rng(seed)
    part = random.permutation(parts * size) % parts
    matrix = (random.random((len(part), len(part))) < density) & (part[:, None] != part)
    return dimacs.symmetric_csr(np.argwhere(np.triu(matrix, 1)), len(part))


def matrix_of(indptr, indices):
    return csr_array((np.ones(len(indices)), indices, indptr), shape=(len(indptr) - 1,) * 2)


def runs_of_strangers(graph, order):
    """How long the runs of vertices without an edge among them are."""
    tied, runs = matrix_of(*graph).toarray() > 0, [[]]
    for v in order:
        if tied[v, runs[-1]].any():
            runs.append([])
        runs[-1].append(v)
    return [len(run) for run in runs]


@given(st.integers(6, 12), st.integers(8, 13), st.sampled_from([0.4, 0.5, 0.55, 0.6]), st.integers(0, 2**32 - 1))
@settings(max_examples=drawn(60), deadline=None)
def test_sizes_agree_with_networkx(parts, size, density, seed):
    graph = planted(parts, size, density, seed)
    cliques = [sorted(c) for c in nx.find_cliques(nx.from_scipy_sparse_array(matrix_of(*graph)))]
    largest = max(map(len, cliques))
    found = maximum_clique(*graph, all=True, threads=1)
    assert (found.size, found.proven) == (largest, True)
    assert found.cliques.tolist() == sorted(c for c in cliques if len(c) == largest)
    on_device = search([EmulatedGpu(16, near_words=1000)], *graph)
    assert (len(on_device.members), on_device.proven) == (largest, True)
    assert_is_clique(on_device.members, *graph)


@pytest.mark.parametrize("seed", range(4))
def test_a_planted_colouring_is_found_and_gives_the_order(seed):
    graph = planted(16, 16, 0.6, seed)
    plan = SimpleNamespace(**load_extension().plan_cliques(*graph, 0).result())
    order = plan.ids[plan.whole]
    assert sorted(order.tolist()) == list(range(256))
    runs = runs_of_strangers(graph, order)
    assert len(runs) <= plan.best * 3 // 2
    assert len(runs) < len(runs_of_strangers(graph, range(256))) // 2
    found = maximum_clique(*graph, threads=1)
    assert len(search([EmulatedGpu(16)], *graph).members) == found.size


def test_nothing_is_searched_where_a_second_colouring_shows_the_largest_clique():
    """Greed takes more colours than there are parts, greed along its classes does not."""
    graph = planted(12, 20, 0.65, 0)
    machine = EmulatedGpu()
    assert len(search([machine], *graph).members) == 12
    assert machine.launches == []
    assert (maximum_clique(*graph, threads=1).nodes, maximum_clique(*graph, threads=1).size) == (0, 12)
