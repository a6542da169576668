"""Streams of bicliques from a GPU against the CPU: the same bicliques, however often the search
must park."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bicliq import kernels
from bicliq.kernels.cuda import stream as cuda_stream
from bicliq.kernels.cuda.device import MEMORY_VARIABLE
from tests.gpu.test_cuda_enumeration import GRAPHS as COUNTED
from tests.gpu.test_cuda_enumeration import random_graph

REASON = kernels.why_not("cuda")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=REASON or "")]


GRAPHS = {**COUNTED, "tall": random_graph(3, 300, 40, 0.2)}  # a fifth of the rows: every list is compared


def records(stream: kernels.BicliqueStream) -> list[tuple[int, list[int], list[int]]]:
    """Root, left and right vertices of every biclique, sorted by them."""
    with stream:
        found = [
            (
                int(batch.root[i]),
                batch.left[batch.left_offsets[i] : batch.left_offsets[i + 1]].tolist(),
                batch.right[batch.right_offsets[i] : batch.right_offsets[i + 1]].tolist(),
            )
            for batch in stream
            for i in range(len(batch))
        ]
    return sorted(found)


def both(graph: Any, **options: Any) -> tuple[Any, Any]:
    return tuple(records(kernels.stream_maximal_bicliques(*graph, backend=name, **options)) for name in ("cpu", "cuda"))


@pytest.mark.parametrize("words", [1 << 12, 1 << 26])
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_the_bicliques_are_those_of_the_cpu(monkeypatch: pytest.MonkeyPatch, name: str, side: str, words: int) -> None:
    monkeypatch.setattr(cuda_stream, "OUTPUT_WORDS", words)
    expected, found = both(GRAPHS[name], side=side)
    assert found == expected


def test_graphs_of_other_sizes_follow_each_other_in_one_process() -> None:
    """What one search has freed is in pieces of its sizes; on 80 GB the second found no room."""
    import cupy

    broad, long = (sparse_graph(seed, *sizes) for seed, sizes in ((1, (30_000, 40_000)), (2, (260_000, 260_000))))
    cupy.get_default_memory_pool().free_all_blocks()
    for graph in (broad, long, GRAPHS["tall"], broad, long):
        expected, found = (kernels.stream_maximal_bicliques(*graph, backend=name) for name in ("cpu", "cuda"))
        with expected, found:
            assert sum(map(len, found)) == sum(map(len, expected))


def sparse_graph(seed: int, n_left: int, n_right: int) -> tuple[Any, Any, int]:
    """Some ten edges for each vertex of the left side, or two."""
    random, n = np.random.default_rng(seed), 400_000
    keys = np.unique(random.integers(0, n_left, n) << 32 | random.integers(0, n_right, n))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(keys >> 32, minlength=n_left))])
    return indptr, (keys & 0xFFFFFFFF).astype(np.int32), n_right


def test_thresholds_roots_and_ids_are_those_of_the_cpu() -> None:
    graph = GRAPHS["wide roots"]
    expected, found = both(graph, side="left", min_left=2, min_right=3, min_edges=9)
    assert found == expected
    shuffled = np.random.default_rng(1).permutation(3 * 90)[:90]
    expected, found = both(graph, side="right", roots=np.arange(0, 60, 2), right_ids=shuffled)
    assert found == expected


def test_batches_keep_their_bounds() -> None:
    with kernels.stream_maximal_bicliques(
        *GRAPHS["broad"], backend="cuda", batch_bicliques=100, batch_ids=500
    ) as stream:
        batches = list(stream)
    assert max(len(batch) for batch in batches) <= 100
    assert all(len(batch) == 1 or max(len(batch.left), len(batch.right)) <= 500 for batch in batches)
    assert sum(map(len, batches)) == stream.result.bicliques


def test_a_limit_and_a_consumer_that_stops_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_stream, "OUTPUT_WORDS", 1 << 12)
    with kernels.stream_maximal_bicliques(*GRAPHS["broad"], backend="cuda", max_bicliques=100) as stream:
        assert sum(map(len, stream)) == 100
    assert not stream.result.complete
    with kernels.stream_maximal_bicliques(*GRAPHS["broad"], backend="cuda", batch_bicliques=10) as stream:
        next(stream)
    assert not stream.result.complete
    whole = kernels.enumerate_maximal_bicliques(*GRAPHS["broad"], mode="digest", backend="cuda")
    assert whole.digest == kernels.enumerate_maximal_bicliques(*GRAPHS["broad"], mode="digest").digest


def test_little_memory_means_more_launches_or_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = records(kernels.stream_maximal_bicliques(*GRAPHS["wide roots"], side="right"))
    for mebibytes in (1, 16, 256):
        monkeypatch.setenv(MEMORY_VARIABLE, str(mebibytes << 20))
        try:
            found = records(kernels.stream_maximal_bicliques(*GRAPHS["wide roots"], side="right", backend="cuda"))
        except kernels.BackendError as error:
            message, found = str(error), expected
        else:
            message = "use the CPU backend"
        assert found == expected
        assert "use the CPU backend" in message


def test_batches_that_stay_on_the_device_are_the_same() -> None:
    for options in ({}, {"min_left": 2, "min_right": 3}):
        expected, _ = both(GRAPHS["wide roots"], **options)
        stream = kernels.stream_maximal_bicliques(
            *GRAPHS["wide roots"], backend="cuda", on_device=True, side="auto", **options
        )
        with stream:
            batches = [kernels.BicliqueBatch(*(array.get() for array in vars(batch).values())) for batch in stream]
        found = [
            (batch.left[slice(*batch.left_offsets[i : i + 2])].tolist(), batch.right[slice(*batch.right_offsets[i : i + 2])].tolist())
            for batch in batches
            for i in range(len(batch))
        ]  # fmt: skip
        assert sorted(found) == sorted((left, right) for _, left, right in expected)


@pytest.mark.parametrize("words", [1 << 12, 1 << 26])
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("on_device", [True, False])
def test_smaller_sides_are_those_of_the_cpu(
    monkeypatch: pytest.MonkeyPatch, name: str, side: str, words: int, on_device: bool
) -> None:
    monkeypatch.setattr(cuda_stream, "OUTPUT_WORDS_KEPT" if on_device else "OUTPUT_WORDS", words)
    ids = np.random.default_rng(1).permutation(1000)[: GRAPHS[name][2]]
    expected = [
        (root, left if len(left) <= len(right) else right, len(left), len(right))
        for root, left, right in records(kernels.stream_maximal_bicliques(*GRAPHS[name], side=side, right_ids=ids))
    ]
    found = []
    with kernels.stream_smaller_sides(*GRAPHS[name], side=side, right_ids=ids, on_device=on_device) as stream:
        for batch in stream:
            own = kernels.SmallerBatch(*(array.get() for array in vars(batch).values())) if on_device else batch
            lists = [own.smaller[slice(*own.offsets[i : i + 2])].tolist() for i in range(len(own))]
            found += zip(own.root.tolist(), lists, own.n_left.tolist(), own.n_right.tolist(), strict=True)
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(
    ("n_left", "n_right", "density"), [(12, 5000, 0.5), (9, 60_000, 0.7), (200, 200, 0.05), (3000, 11, 0.4)]
)
def test_lists_ascend_however_long_they_are(n_left, n_right, density, side):
    cells = np.random.default_rng(5).random((n_left, n_right)) < density
    cells[: n_left // 2, : n_right // 2] = True
    graph = np.concatenate([[0], cells.sum(axis=1).cumsum()]), np.nonzero(cells)[1].astype(np.int32), n_right
    longest = 0
    for stream in (
        kernels.stream_maximal_bicliques(*graph, side=side, backend="cuda", min_left=2),
        kernels.stream_smaller_sides(*graph, side=side, min_left=2),
    ):
        with stream:
            for batch in stream:
                for offsets, ids in batch.lists.values():
                    within = np.ones(len(ids), bool)
                    within[offsets[:-1]] = False
                    assert (np.diff(ids, prepend=-1)[within] > 0).all()
                    longest = max(longest, int(np.diff(offsets).max()))
    assert longest > 32
