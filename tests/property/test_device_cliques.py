"""The device's search for a maximum clique, on threads of the host, against the definition and the
CPU kernel."""

from __future__ import annotations

import time
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq.kernels import BackendError, maximum_clique
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.cuda.clique import search
from bicliq.kernels.cuda.clique_program import SMALL_NEAR_WORDS
from tests import dimacs
from tests.emulated_gpu import EmulatedGpu
from tests.nightly import drawn, part_of
from tests.property.test_cliques import assert_is_clique, neighbours_of, random_graphs
from tests.reference.cliques import maximum_cliques


def random_graph(n, density, seed):
    matrix = np.random.default_rng(seed).random((n, n)) < density
    return dimacs.symmetric_csr(np.argwhere(np.triu(matrix, 1)), n)


def with_hidden_clique(n, size, seed):
    """A sparse graph, so that roots are searched, each with its own local graph."""
    random = np.random.default_rng(seed)
    edges = random.integers(n, size=(4 * n, 2))
    hidden = random.choice(n, size, replace=False)
    return dimacs.symmetric_csr(np.concatenate([edges, np.array([(u, v) for u in hidden for v in hidden if u < v])]), n)


def assert_agrees(found, graph, size):
    assert (len(found.members), found.proven) == (size, True)
    assert_is_clique(found.members, *graph)


@given(random_graphs(), st.lists(st.integers(1, 4), min_size=1, max_size=3), st.sampled_from([1, 300, 5000]), st.data())
@settings(max_examples=drawn(300), deadline=None)
def test_sizes_agree_with_the_definition(graph, crews, near_words, data):
    machines = [EmulatedGpu(8 * crew, near_words) for crew in crews]
    switches = {name: data.draw(st.booleans(), name) for name in ("recolour", "refute")}
    found = search(machines, *graph, **switches)
    assert_agrees(found, graph, maximum_cliques(neighbours_of(*graph))[0])


@given(st.integers(15, 130), st.sampled_from([0.05, 0.2, 0.5, 0.7, 0.9]), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=drawn(150), deadline=None)
def test_sizes_agree_with_the_cpu(n, density, seed, refute):
    graph = random_graph(min(n, 70) if density > 0.8 else n, density, seed)
    found = search([EmulatedGpu(16)], *graph, refute=refute)
    assert_agrees(found, graph, maximum_clique(*graph).size)


@given(st.integers(100, 3000), st.integers(5, 14), st.integers(0, 2**32 - 1), st.integers(1, 2))
@settings(max_examples=drawn(60), deadline=None)
def test_roots_of_sparse_graphs(n, size, seed, devices):
    graph = with_hidden_clique(n, size, seed)
    machines = [EmulatedGpu() for _ in range(devices)]
    assert_agrees(search(machines, *graph), graph, maximum_clique(*graph).size)


@pytest.mark.parametrize("seed", part_of(range(8), 4))
def test_roots_are_searched_where_the_first_clique_leaves_some(seed):
    """Many overlapping blocks: greed alone does not find the largest clique."""
    random = np.random.default_rng(seed)
    n, matrix = 1500, np.zeros((1500, 1500), bool)
    for _ in range(60):
        block = random.choice(n, 60, replace=False)
        matrix[np.ix_(block, block)] |= np.triu(random.random((60, 60)) < 0.8, 1)
    graph = dimacs.symmetric_csr(np.argwhere(matrix | matrix.T), n)
    size = maximum_clique(*graph).size
    machine, small = EmulatedGpu(), EmulatedGpu(memory=1_500_000)
    assert_agrees(search([machine], *graph), graph, size)
    assert [kernel for kernel, _ in machine.launches] == ["build_clique_roots", "search_cliques"]
    assert_agrees(search([small], *graph), graph, size)
    assert [kernel for kernel, _ in small.launches].count("build_clique_roots") > 1
    assert_agrees(search([EmulatedGpu(), EmulatedGpu()], *graph), graph, size)


def test_what_colours_rule_out_reaches_no_device():
    """Many complete multipartite graphs, too sparse together for one matrix: as many colours as the
    first clique has."""
    part = np.arange(40) % 8
    one = np.argwhere(np.triu(part[:, None] != part, 1))
    graph = dimacs.symmetric_csr(np.concatenate([one + 40 * i for i in range(50)]), 2000)
    machine = EmulatedGpu()
    assert_agrees(search([machine], *graph), graph, 8)
    assert machine.launches == []


@pytest.mark.parametrize(
    "name",
    ["keller4", "c-fat500-5", "hamming8-4", "C125.9", "MANN_a27", "p_hat700-1", "san200_0.9_2", "gen200_p0.9_44"],
)
def test_published_sizes(name):
    graph = dimacs.load(name)
    found = search([EmulatedGpu(16, near_words=2048), EmulatedGpu(8, near_words=100)], *graph)
    assert_agrees(found, graph, dimacs.CLIQUE_NUMBERS[name])


@pytest.mark.parametrize("name", ["keller4", "hamming8-4", "p_hat300-3"])
def test_the_matrix_of_few_vertices_changes_no_node(name):
    """What the first clique proves is the same tree, in whatever memory it is searched; the last
    has no room for a small matrix."""
    graph = dimacs.load(name)
    found = [search([EmulatedGpu(4, near_words)], *graph) for near_words in (5000, 1000, SMALL_NEAR_WORDS - 4)]
    assert len({one.nodes for one in found}) == 1
    assert found[0].nodes > 1000


@pytest.mark.parametrize("near_words", [300, 1000])
def test_busy_groups_give_parts_away_and_slots_go_round(near_words):
    graph = dimacs.load("p_hat300-3")
    found = search([EmulatedGpu(32, near_words)], *graph)
    assert_agrees(found, graph, 36)
    assert found.given > 64  # the slots that 32 groups have


@pytest.mark.parametrize(("n", "width"), [(1024, 1), (1040, 2), (2070, 4)])
def test_widths_meet_at_their_borders(n, width):
    """Nearly complete, so that one graph is searched; pentagons of strangers, which colours do not
    decide; the last vertices are no part of the clique."""
    random = np.random.default_rng(n)
    matrix = np.triu(np.ones((n, n), bool), 1)
    for pentagon in random.permutation(n)[:15].reshape(3, 5):
        for u, v in zip(pentagon, np.roll(pentagon, 1), strict=True):
            matrix[min(u, v), max(u, v)] = False
    matrix[:5, n - 5 :] = False
    graph = dimacs.symmetric_csr(np.argwhere(matrix), n)
    missing = np.flatnonzero(((matrix | matrix.T).sum(axis=1)) < n - 1)
    rest = dimacs.symmetric_csr(np.argwhere(matrix[np.ix_(missing, missing)]), len(missing))
    size = n - len(missing) + maximum_clique(*rest).size
    machine = EmulatedGpu()
    assert_agrees(search([machine], *graph, lower_bound=size - 1), graph, size)
    assert ("search_cliques", width) in machine.launches


def test_a_lower_bound_is_a_promise():
    graph = random_graph(60, 0.5, 1)
    size = maximum_clique(*graph).size
    assert len(search([EmulatedGpu()], *graph, lower_bound=size - 1).members) == size
    nothing = search([EmulatedGpu()], *graph, lower_bound=size)
    assert (len(nothing.members), nothing.proven) == (0, True)


@pytest.mark.parametrize("devices", [1, 2])
def test_a_time_limit_returns_the_best_so_far_and_says_so(devices):
    graph = random_graph(500, 0.9, 1)
    found = search([EmulatedGpu() for _ in range(devices)], *graph, time_limit=1)
    assert not found.proven
    assert len(found.members) > 20
    assert_is_clique(found.members, *graph)


def test_a_time_limit_is_heard_while_the_host_plans():
    """Its search checks were empty: a plan of seconds went on to its end."""
    random = np.random.default_rng(1)
    graph = dimacs.csr_of_matrix(np.triu(random.random((3000, 3000)) < 0.5, 1))
    began, used = time.monotonic(), time.process_time()
    whole = SimpleNamespace(**load_extension().plan_cliques(*graph, 0).result())
    limit, of_all, used = 0.02 * (time.monotonic() - began), time.process_time() - used, time.process_time()
    found = search([EmulatedGpu()], *graph, time_limit=limit)
    assert whole.is_complete
    assert time.process_time() - used < of_all / 2  # of the processor, which others may use as well
    assert not found.proven
    assert len(found.members) >= 1
    assert_is_clique(found.members, *graph)


def test_too_little_memory_is_said():
    with pytest.raises(BackendError, match=r"free memory does not hold; use the CPU backend"):
        search([EmulatedGpu(memory=20_000)], *random_graph(200, 0.5, 1))
