"""Pieces of a partition, by which a benchmark works out what many workers would take."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.pieces import PARTS, Piece, below
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.stages.partition import Partition
from tests.integration.stored_graphs import brute_force, streamed


@settings(deadline=None)
@given(st.data(), st.integers(1, 7), st.integers(1, 7), st.sampled_from(["left", "right"]))
def test_the_first_level_of_a_root_holds_each_biclique_of_it_once(data, n_left, n_right, side):
    cells = st.tuples(st.integers(0, n_left - 1), st.integers(0, n_right - 1))
    edges = data.draw(st.lists(cells, min_size=1, max_size=40))
    graph = BipartiteGraph.from_edges(*map(np.array, zip(*edges, strict=True)), n_left, n_right)
    ids = np.arange(n_left), np.arange(n_right)
    hashes = (i.astype(np.uint64) for i in ids)
    first = data.draw(st.integers(0, (n_left if side == "left" else n_right) - 1))
    part = Partition(0, side, graph.indptr, graph.indices, *ids, *hashes, np.array([first], np.int32))
    found = streamed(part)
    at = 0 if side == "left" else 1
    assert found == {one for one in brute_force(graph) if min(one[at]) == first}
    level = below(part, first)
    levels = [streamed(replace(level, roots=level.roots[i : i + 1])) for i in range(level.roots.size)]
    assert sum(map(len, levels)) == len(found)
    assert set().union(*levels) == found
    for root in level.roots.tolist():  # and so on, level by level
        deeper = below(level, root)
        assert streamed(deeper) == streamed(replace(level, roots=np.array([root], np.int32)))


def test_a_piece_is_cut_in_few_parts_without_a_gap():
    for n in (2, 7, 8, 9, 100):
        parts = list(Piece(3, 3 + n, 5).parts())
        assert len(parts) <= PARTS
        assert [i for p in parts for i in range(p.first, p.last)] == list(range(3, 3 + n))
        assert {p.below for p in parts} == {5}
