"""The best bicliques by the GPU are those of the CPU, in every run."""

from __future__ import annotations

import numpy as np
import pytest

from bicliq import kernels
from bicliq.kernels.cuda import finding
from bicliq.kernels.cuda.search_program import Tuning, tuned
from bicliq.kernels.worth import OBJECTIVES
from tests.real_graphs import DIGESTS, load

REASON = kernels.why_not("cuda")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=REASON or "")]

SIZES = ({}, {"min_left": 3, "min_right": 3}, {"max_left": 4}, {"max_right": 2, "min_edges": 6})
LONG = {"fimi-chess"}


def answers(found: kernels.FindResult) -> list[tuple[float, list[int], list[int]]]:
    return [(group.value, group.left.tolist(), group.right.tolist()) for group in found.groups]


def weights(n_left: int, n_right: int) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(3)
    return {"left_weights": draw.integers(-3, 20, n_left), "right_weights": draw.random(n_right)}


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_random_graphs(objective: str) -> None:
    draw = np.random.default_rng(11)
    for case in range(150):
        n_left, n_right = draw.integers(1, 45, 2).tolist()
        cells = draw.random((n_left, n_right)) < draw.choice([0.1, 0.3, 0.6, 0.9])
        graph = np.concatenate([[0], cells.sum(axis=1).cumsum()]), np.nonzero(cells)[1].astype(np.int32), n_right
        k, sizes = int(draw.choice([1, 3, 20, 200])), SIZES[case % len(SIZES)]
        options = weights(n_left, n_right) if objective == "weight" else {}
        want = kernels.top_bicliques(*graph, k, objective, **options, **sizes)
        for side in ("left", "right"):
            found = kernels.top_bicliques(*graph, k, objective, **options, **sizes, side=side, backend="cuda")
            assert answers(found) == answers(want), (case, side, k, sizes)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("name", sorted(DIGESTS))
def test_real_graphs_in_ten_runs(name: str, objective: str) -> None:
    graph = load(name)
    csr = graph.indptr, graph.indices, graph.n_right
    least = {"min_left": 8, "min_right": 8} if name in LONG else {"min_left": 2, "min_right": 2}
    options = weights(len(graph.indptr) - 1, graph.n_right) if objective == "weight" else {}
    want = kernels.top_bicliques(*csr, 20, objective, **options, **least, threads=0, time_limit=60)
    if not want.proven:
        pytest.skip("the CPU takes over a minute")
    for _ in range(2 if name in LONG or objective == "surprise" else 10):
        found = kernels.top_bicliques(*csr, 20, objective, **options, **least, backend="cuda")
        assert answers(found) == answers(want)


def test_a_block_that_fills_up_and_other_layouts(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = load("marvel")
    csr = graph.indptr, graph.indices, graph.n_right
    want = answers(kernels.top_bicliques(*csr, 500, "balanced"))
    monkeypatch.setattr(finding, "OUTPUT_WORDS", 1 << 14)
    for tuning in (Tuning(), Tuning(warps_a_block=1, blocks_a_multiprocessor=8), Tuning(most_given=0)):
        with tuned(tuning):
            assert answers(kernels.top_bicliques(*csr, 500, "balanced", backend="cuda")) == want


def test_surprise_of_a_block_that_fills_up_rises_from_launch_to_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = load("marvel")
    csr = graph.indptr, graph.indices, graph.n_right
    want = answers(kernels.top_bicliques(*csr, 20, "surprise"))
    monkeypatch.setattr(finding, "OUTPUT_WORDS", 1 << 14)
    assert answers(kernels.top_bicliques(*csr, 20, "surprise", backend="cuda")) == want
