"""Which side holds the roots, for a CPU and for a GPU."""

from __future__ import annotations

import numpy as np
import pytest

from bicliq import kernels
from bicliq.kernels.cpu import load_extension
from tests.real_graphs import load


def choices(graph) -> tuple[str, str]:
    csr = graph.indptr, graph.indices, graph.n_right
    return kernels.choose_side(*csr), kernels.choose_side(*csr, backend="cuda")


def test_a_gpu_takes_the_side_whose_pairs_share_few_rows() -> None:
    graph = load(
        "edit-nawiki"
    )  # three quarters of the paths between left vertices join such as share over 32 right ones
    assert choices(graph) == ("left", "right")
    assert choices(graph.transpose()) == ("right", "left")


def test_where_pairs_are_narrow_it_is_the_side_of_the_cpu() -> None:
    for name in ("UCforum", "Unicode", "southern-women"):
        on_cpu, on_gpu = choices(load(name))
        assert on_cpu == on_gpu


def test_a_crowded_side_is_taken_while_little_is_asked_of_it_and_little_of_it_is_pruned() -> None:
    cells = np.random.default_rng(1).random((2000, 60)) < np.linspace(0.3, 1, 60)
    csr = np.append(0, cells.sum(axis=1).cumsum()), np.nonzero(cells)[1], 60
    chosen = [kernels.choose_side(*csr, min_left=a, min_right=b) for a, b in ((1, 1), (40, 8), (41, 8), (1, 30))]
    assert chosen == ["left", "left", "right", "right"]


def test_a_side_of_far_more_paths_is_never_taken() -> None:
    indices = np.tile(np.arange(2000, dtype=np.int32), 2)  # two left vertices with 2,000 others in common
    assert kernels.choose_side(np.array([0, 2000, 4000]), indices, 2000, backend="cuda") == "left"


def test_graphs_without_paths_have_a_side() -> None:
    assert kernels.choose_side(np.zeros(4, np.int64), np.zeros(0, np.int32), 3, backend="cuda") in ("left", "right")
    assert kernels.choose_side(np.arange(4), np.arange(3, dtype=np.int32), 3, backend="cuda") in ("left", "right")


@pytest.mark.parametrize("name", ["southern-women", "UCforum", "edit-nawiki"])
@pytest.mark.parametrize("many", [1, 3, 33])
def test_a_sample_of_paths_is_like_all_of_them(name, many) -> None:
    graph = load(name)
    cells = np.zeros((len(graph.indptr) - 1, graph.n_right), np.float32)
    cells[np.repeat(np.arange(len(cells)), np.diff(graph.indptr)), graph.indices] = 1
    are_sampled_well(cells, many)


@pytest.mark.parametrize("many", [8, 100, 1000])
def test_so_is_one_of_some_blocks_of_the_edges(many) -> None:
    cells = np.random.default_rng(1).random((4000, 200)) < np.linspace(0.05, 0.7, 200)
    are_sampled_well(cells.astype(np.float32), many)


def are_sampled_well(cells: np.ndarray, many: int) -> None:
    starts = np.append(0, cells.sum(axis=1, dtype=np.int64).cumsum())
    paths = load_extension().Paths(starts, np.nonzero(cells)[1].astype(np.int32), cells.shape[1])
    for from_left, side, n_paths in ((True, cells, paths.from_left), (False, cells.T, paths.from_right)):
        shared = side @ side.T
        assert n_paths == shared.sum(dtype=np.float64)
        np.fill_diagonal(shared, 0)
        shares = [shared[shared >= least].sum() / shared.sum() for least in (many, 2 * many, 4 * many)]
        found = []
        for seed in range(10):
            opened, *some = paths.crowd(from_left, many, 1, 120, seed)
            assert opened == 1
            found.append(some)
        assert np.mean(found, axis=0) == pytest.approx(shares, abs=0.06)
        assert all(len(set(some)) > 1 or some[0] in (0, 1) for some in zip(*found, strict=True))


def test_a_path_counts_less_where_few_of_its_row_begin_what_is_wanted() -> None:
    indices = np.tile(np.arange(10, dtype=np.int32), 12)  # all of 12 left and 10 right vertices are adjacent
    paths = load_extension().Paths(np.arange(0, 121, 10), indices, 10)
    assert paths.crowd(False, 6, 1, 50, 1) == (1, 1, 1, 0)
    assert paths.crowd(False, 6, 6, 50, 1) == pytest.approx((0.75, 0.5, 0.25, 0))  # five of ten are roots
    assert paths.crowd(False, 6, 11, 50, 1) == (0, 0, 0, 0)
    assert paths.crowd(True, 3, 7, 50, 1) == pytest.approx((0.75, 0.5, 0.25, 0))


def test_lists_are_compared_as_far_as_it_matters() -> None:
    paths = load_extension().Paths(np.arange(0, 2201, 2), np.tile(np.arange(2, dtype=np.int32), 1100), 2)
    assert paths.crowd(False, 275, 1, 50, 1) == (1, 1, 1, 1)  # two right vertices share 1,100 left ones
    assert paths.crowd(False, 276, 1, 50, 1) == (1, 1, 1, 0)
    assert paths.crowd(False, 551, 1, 50, 1) == (1, 1, 0, 0)
    assert paths.crowd(False, 1101, 1, 50, 1) == (1, 0, 0, 0)


def test_roots_are_searched_together_where_many_rows_and_few_columns_are_wanted() -> None:
    together = kernels.searches_roots_together
    assert together("right", 33, 4, 65_280)
    assert together("left", 4, 33, 65_280)
    for side, left, right, n_roots in (
        ("right", 32, 1, 9),
        ("right", 33, 5, 9),
        ("left", 33, 1, 9),
        ("left", 1, 33, 65_281),
    ):
        assert not together(side, left, right, n_roots)
