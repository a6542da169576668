"""Every graph with a published count, from either side and with several threads."""

from __future__ import annotations

import pytest

from bicliq import kernels
from tests.real_graphs import COUNTS, DIGESTS, load

SMALL = ["southern-women", "corporate-leadership", "Unicode", "moreno_crime", "UCforum", "marvel", "MovieLens"]
MIDDLE = ["movielens-ui", "edit-nawiki", "YouTube", "fimi-retail", "EuAll"]


@pytest.mark.parametrize("name", SMALL + MIDDLE)
def test_the_published_count_is_found(name: str) -> None:
    graph = load(name)
    result = kernels.enumerate_maximal_bicliques(graph.indptr, graph.indices, graph.n_right)
    assert result.bicliques == COUNTS[name]
    assert result.complete


@pytest.mark.large
@pytest.mark.parametrize("name", ["gowalla", "fimi-chess"])
def test_the_published_count_of_a_heavy_graph_is_found(name: str) -> None:
    graph = load(name)
    result = kernels.enumerate_maximal_bicliques(graph.indptr, graph.indices, graph.n_right, threads=0)
    assert result.bicliques == COUNTS[name]


@pytest.mark.parametrize("name", [*SMALL, "movielens-ui", "YouTube"])
def test_sides_and_threads_give_the_same_digest(name: str) -> None:
    graph = load(name)
    csr = (graph.indptr, graph.indices, graph.n_right)
    results = [
        kernels.enumerate_maximal_bicliques(*csr, mode="digest", side=side, threads=threads)
        for side, threads in [("left", 1), ("right", 1), ("left", 2), ("right", 2), ("right", 5)]
    ]
    assert {(r.bicliques, r.digest) for r in results} == {(COUNTS[name], DIGESTS[name])}


def test_a_stream_that_is_left_early_ends_its_search() -> None:
    graph = load("edit-nawiki")
    with kernels.stream_maximal_bicliques(graph.indptr, graph.indices, graph.n_right, threads=2) as stream:
        first = next(stream)
    assert len(first) > 0
    assert not stream.result.complete
    assert stream.result.digest is None
    assert stream.result.bicliques < COUNTS["edit-nawiki"]
