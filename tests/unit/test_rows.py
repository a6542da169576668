"""Edges as rows: what is refused."""

import numpy as np
import pytest

from bicliq.kernels import change_rows, find_edges, peel_rows, row_starts, transpose_rows


@pytest.mark.parametrize(("left", "n_left"), [([1, 0], 2), ([0, 2], 2), ([0], 0), ([-1], 3)])
def test_left_ends_that_do_not_ascend_or_lie_outside_are_refused(left, n_left):
    with pytest.raises(ValueError, match="left"):
        row_starts(left, n_left)


@pytest.mark.parametrize("call", [peel_rows, transpose_rows])
def test_a_right_vertex_that_is_one_too_many_is_refused(call):
    sizes = (1, 1) if call is peel_rows else ()
    with pytest.raises(ValueError, match="indices holds 3 at index 1, but there are 3 right vertices"):
        call([0, 2], [1, 3], 3, *sizes)


def test_a_graph_without_edges_has_empty_rows():
    assert row_starts([], 3).tolist() == [0, 0, 0, 0]
    assert find_edges([0, 0], [], [0, 1], [0, 0])[1].tolist() == [False, False]


@pytest.mark.parametrize(
    ("left", "right", "there", "weights", "n_left", "problem"),
    [
        ([0, 0], [1, 1], [True, True], (None, None), 2, "each edge once"),
        ([1, 0], [0, 0], [True, True], (None, None), 2, "ascend"),
        ([2], [0], [True], (None, None), 2, "n_left is 2"),
        ([0], [0], [True], (None, None), 1, "n_left is 1"),
        ([0], [0], [True, False], (None, None), 2, "there has|there"),
        ([0], [0], [True], (None, [1.0]), 2, "new_weight"),
        ([0], [0], [True], ([1.0, 2.0], None), 2, "new_weight"),
        ([0], [0], [True], ([1.0], [2.0]), 2, "weight"),
    ],
)
def test_changes_that_do_not_fit_are_refused(left, right, there, weights, n_left, problem):
    before, after = (None if of is None else np.array(of) for of in weights)
    with pytest.raises(ValueError, match=problem):
        change_rows([0, 1, 2], [1, 0], before, left, right, there, after, n_left)
