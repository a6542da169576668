"""The graph that a search on a device reads, made by its steps on threads of this machine."""

from __future__ import annotations

import numpy as np
import pytest

from bicliq.kernels.contracts import EnumerationRequest
from bicliq.kernels.cuda.search_graph import SearchGraph, search_graph
from bicliq.kernels.cuda.search_program import Tuning, compiled_search
from tests import host_cupy, host_kernels
from tests.host_cupy import HostCupy


@pytest.fixture
def gpu(monkeypatch):
    """A machine whose GPU is this one's processor."""
    with host_cupy.installed(HostCupy(host_kernels.ENUMERATION), monkeypatch) as cupy:
        yield cupy


def made(gpu: HostCupy, request: EnumerationRequest) -> SearchGraph:
    return search_graph(gpu, request, compiled_search("search_count", Tuning()))


def request_of(table: np.ndarray, side: str, roots: np.ndarray | None) -> EnumerationRequest:
    n_left, n_right = table.shape
    return EnumerationRequest(
        indptr=np.concatenate([[0], table.sum(axis=1).cumsum()]).astype(np.int64),
        indices=np.nonzero(table)[1].astype(np.int32),
        n_right=n_right,
        side=side,
        roots=roots,
        left_ids=np.arange(n_left, dtype=np.int32),
        right_ids=np.arange(n_right, dtype=np.int32),
        left_hashes=np.arange(n_left, dtype=np.uint64),
        right_hashes=np.arange(n_right, dtype=np.uint64),
        min_left=1,
        min_right=1,
        min_edges=1,
        max_bicliques=None,
        threads=1,
    )


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("with_roots", [False, True])
def test_both_lists_are_ascending_and_places_point_back(gpu: HostCupy, side: str, with_roots: bool) -> None:
    table = np.random.default_rng(3).random((20, 15)) < 0.3
    by_column = table.T if side == "left" else table
    roots = np.array([2, 0], dtype=np.int32) if with_roots else None
    graph = made(gpu, request_of(table, side, roots))
    starts = graph.column_start.astype(int)
    assert with_roots or (np.diff(np.diff(starts)) >= 0).all()
    for column, vertex in enumerate(graph.vertex_of_column):
        edges = slice(starts[column], starts[column + 1])
        assert graph.column_rows[edges].tolist() == np.nonzero(by_column[:, vertex])[0].tolist()
        for row, place in zip(graph.column_rows[edges], graph.places[edges], strict=True):
            assert graph.row_columns[int(graph.row_start[row]) + int(place)] == column
    row_degree = by_column.sum(axis=1)
    assert graph.column_degree.tolist() == np.diff(starts).tolist()
    assert graph.largest_row == row_degree.max()
    assert graph.edges_in_two_steps.tolist() == [
        row_degree[by_column[:, vertex]].sum() for vertex in graph.vertex_of_column
    ]
    assert not with_roots or graph.vertex_of_column.tolist() == list(range(by_column.shape[1]))


def test_a_graph_without_edges_has_empty_lists(gpu: HostCupy) -> None:
    graph = made(gpu, request_of(np.zeros((3, 2), dtype=bool), "right", None))
    assert graph.row_start.tolist() == [0, 0, 0, 0]
    assert graph.edges_in_two_steps.tolist() == [0, 0]
