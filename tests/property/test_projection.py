"""The one-mode projection by array operations against the kernel's, bit for bit; here on arrays of
the host."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq.kernels import project_one_mode
from bicliq.pipeline.graphs import projection
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.graphs.undirected import UndirectedGraph
from tests import dimacs
from tests.nightly import drawn
from tests.property.graphs import Graph, hub_graphs, random_graphs, tall_graphs


def assert_same_projection(graph: Graph, side: str, min_shared: int, paths: int) -> None:
    indptr, indices, n_right = graph.csr
    whole = BipartiteGraph(graph.n_left, n_right, indptr.astype(np.int64), indices)
    rows = whole if side == "left" else whole.transpose()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(projection, "PATHS_AT_A_TIME", paths)
        pairs = projection.tied_pairs(rows, min_shared)
    found = projection.symmetric_csr(pairs, rows.n_left)
    expected = project_one_mode(indptr, indices, n_right, side=side, min_shared=min_shared)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours, theirs)


sides, batches = st.sampled_from(["left", "right"]), st.sampled_from([1, 9, 1 << 20])


@given(random_graphs(), sides, st.integers(1, 6), batches)
@settings(max_examples=drawn(300), deadline=None)
def test_pairs_that_share_enough_are_the_kernels(graph, side, min_shared, paths):
    assert_same_projection(graph, side, min_shared, paths)


@given(st.one_of(tall_graphs(), hub_graphs()), sides, st.integers(1, 12), st.sampled_from([100, 5000]))
@settings(max_examples=drawn(60), deadline=None)
def test_so_are_those_of_hubs_and_twins_in_many_batches(graph, side, min_shared, paths):
    assert_same_projection(graph, side, min_shared, paths)


@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11))))
@settings(max_examples=drawn(150), deadline=None)
def test_edges_in_any_order_and_direction_are_counted_once(n, pairs):
    ends = np.array(pairs, np.int64).reshape(-1, 2) % n
    graph = UndirectedGraph.from_edges(ends[:, 0], ends[:, 1], pa.array(range(n)))
    indptr, indices = dimacs.symmetric_csr(ends, n)
    assert graph.indptr.tolist() == indptr.tolist()
    assert graph.indices.tolist() == indices.tolist()
    assert graph.self_loops == (ends[:, 0] == ends[:, 1]).sum()
    assert graph.repeated == len(ends) - graph.self_loops - graph.n_edges
