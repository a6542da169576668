"""The trees that a search of all (p,q) gives to a GPU: counted here by the same search in lanes of
the CPU, they make the same table."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq.kernels import count_all_bicliques, counting
from bicliq.kernels._cpu_warps import count_trees
from bicliq.kernels.counting import checked_request, count_table_by_trees
from bicliq.kernels.cuda import table as cuda_table
from tests.nightly import drawn
from tests.property.test_counting import complete, graphs, random_graph


class HostTrees:
    """Stands where `CudaTrees` does on a machine with a GPU, and counts in lanes of the CPU."""

    def __init__(self, shape, tree_words):
        self.shape, self.tree_words = shape, tree_words
        self.trees = []
        self.wait_seconds = 0.0

    def add(self, trees):
        assert trees.dtype == np.uint32
        assert len(trees) % self.tree_words == 0
        self.trees.append(trees)

    def finish(self):
        all_trees = np.concatenate([np.zeros(0, np.uint32), *self.trees])
        shape = self.shape
        high, low = count_trees(all_trees, shape.most_roots, shape.most_rows, shape.optional)
        return shape.sizes(high, low), len(all_trees) // self.tree_words


def table_by_trees(graph, max_p, max_q, side="auto", roots=None, threads=1):
    request = checked_request(*graph, max_p, max_q, side, roots, threads)
    return count_table_by_trees(request, HostTrees, "host", None)


@settings(max_examples=drawn(400), deadline=None)
@given(graphs(), st.integers(1, 6), st.integers(1, 6), st.sampled_from(["auto", "left", "right"]), st.integers(1, 2))
def test_small_graphs_have_the_table_of_the_cpu(graph, max_p, max_q, side, threads):
    expected = count_all_bicliques(*graph, max_p, max_q)
    assert table_by_trees(graph, max_p, max_q, side, threads=threads).counts == expected.counts


@pytest.mark.parametrize("seed", range(150))
def test_wide_graphs_have_the_table_of_the_cpu(seed):
    rng = np.random.default_rng(seed)
    n_left, n_right = int(rng.integers(8, 110)), int(rng.integers(8, 110))
    graph = random_graph(seed, n_left, n_right, float(rng.uniform(0.05, 0.35)))
    max_p, max_q = int(rng.integers(2, 14)), int(rng.integers(2, 14))
    side = "left" if seed % 2 else "right"
    found = table_by_trees(graph, max_p, max_q, side, threads=1 + seed % 2)
    assert found.counts == count_all_bicliques(*graph, max_p, max_q).counts
    assert (found.side, found.backend) == (side, "host")


def test_most_of_the_work_is_given_away():
    graph = random_graph(1, 400, 400, 0.08)
    threads_alone = count_all_bicliques(*graph, 12, 12, side="left")
    found = table_by_trees(graph, 12, 12, "left")
    assert found.counts == threads_alone.counts
    assert found.work < threads_alone.work / 2  # here a tree counts as one node


@pytest.mark.parametrize("optional", [0, 5, 9, 20])
def test_trees_with_too_many_optional_vertices_stay_on_the_cpu(optional, monkeypatch):
    monkeypatch.setattr(counting, "most_optional", lambda _: optional or 1)
    for seed in range(10):
        graph = random_graph(seed, 60, 70, 0.2)
        assert table_by_trees(graph, 9, 7).counts == count_all_bicliques(*graph, 9, 7).counts


def test_all_lanes_give_trees_alike(lanes):
    for seed in range(5):
        graph = random_graph(seed, 50, 60, 0.25)
        assert table_by_trees(graph, 8, 8).counts == count_all_bicliques(*graph, 8, 8).counts


def test_parts_of_the_roots_add_up():
    graph = random_graph(3, 90, 80, 0.2)
    parts = [table_by_trees(graph, 7, 6, "left", np.arange(k, 90, 3)).counts for k in range(3)]
    whole = count_all_bicliques(*graph, 7, 6).counts
    assert {size: sum(part[size] for part in parts) for size in whole} == whole


def crown(n):
    """Every vertex adjacent to all but its twin: nothing is settled before the last level."""
    return np.arange(0, n * n, n - 1)[: n + 1], np.array([v for u in range(n) for v in range(n) if v != u], np.int32), n


@pytest.mark.parametrize("n", [5, 12, 16])
def test_crowns_go_as_deep_as_a_tree_can(n):
    counts = table_by_trees(crown(n), n, n).counts
    assert counts == {(p, q): comb(n, p) * comb(n - p, q) if p + q <= n else 0 for p, q in counts}


def test_counts_beyond_64_and_128_bits_are_exact():
    table = table_by_trees(complete(6, 120), 6, 120).counts
    assert table == {(p, q): comb(6, p) * comb(120, q) for p, q in table}
    table = table_by_trees(complete(4, 300), 3, 150).counts
    assert table == {(p, q): comb(4, p) * comb(300, q) for p, q in table}


def test_an_exception_of_the_device_stops_the_search():
    class Broken(HostTrees):
        def add(self, trees):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count_table_by_trees(
            checked_request(*random_graph(0, 60, 60, 0.3), 6, 6, "left", None, 2), Broken, "host", None
        )


def test_no_cell_can_wrap_between_two_flushes():
    for size in (2, 12, 40, 1000):
        cells = cuda_table.TreeCells(size, size, cuda_table.most_optional(size))
        largest = max(comb(n, k) for n in range(cells.optional + 1) for k in range(min(n, size) + 1))
        leaves = cells.leaves_a_flush * cuda_table.LAUNCHES_AT_ONCE * cuda_table.WARPS_A_BLOCK
        assert cells.leaves_a_flush >= 1
        assert leaves * largest < 2**63
