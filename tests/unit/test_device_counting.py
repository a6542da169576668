"""What the CUDA driver of (p,q)-counts sends to the device."""

from __future__ import annotations

from itertools import combinations, pairwise
from math import comb

import numpy as np
import pytest

from bicliq import kernels
from bicliq.kernels.counting import checked_request
from bicliq.kernels.cpu import load_extension, wait_for
from bicliq.kernels.cuda import counting as cuda_count
from bicliq.kernels.cuda import table
from bicliq.kernels.host_count import started_count

WORTH_A_ROUND = 50
"""Of so many edges a round takes one away, for another one to be worth it (`counting_core.hpp`)."""


def random_graph(seed: int, n_left: int, n_right: int, density: float):
    table = np.random.default_rng(seed).random((n_left, n_right)) < density
    return np.concatenate([[0], table.sum(axis=1).cumsum()]), np.nonzero(table)[1].astype(np.int32), n_right


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("left", [True, False])
def test_the_core_holds_every_biclique_and_lists_are_ascending(seed, left):
    graph = random_graph(seed, 12, 15, 0.4)
    p, q = 3, 2
    choosing = started_count(checked_request(*graph, *((p, q) if left else (q, p)), "auto", None, 1), "choice", "auto")
    wait_for(choosing)
    core = cuda_count.CountGraph(*choosing.card_graph(left))
    bounds = core.root_start.astype(np.int64)
    rows = [core.root_rows[a:b].tolist() for a, b in pairwise(bounds)]
    assert all(row == sorted(set(row)) for row in rows)
    degrees = [len(row) for row in rows]
    assert degrees == sorted(degrees)
    assert sum(degree for degree in degrees if degree < q) * WORTH_A_ROUND <= sum(degrees)
    backward = [(r, i) for i, row in enumerate(rows) for r in row]
    starts = core.row_start.astype(np.int64)
    assert sorted(backward) == [
        (r, int(i)) for r in range(len(starts) - 1) for i in core.row_roots[starts[r] : starts[r + 1]]
    ]
    assert core.paths.tolist() == [sum(int(starts[r + 1] - starts[r]) for r in row) for row in rows]
    found = sum(comb(len(set.intersection(*(set(row) for row in chosen))), q) for chosen in combinations(rows, p))
    assert found == kernels.count_bicliques(*graph, *((p, q) if left else (q, p))).count


def test_choices_are_binomials_and_mark_what_does_not_fit():
    low, high = load_extension().choices(200, 60)
    values = [int(a) + (int(b) << 64) for a, b in zip(low, high, strict=True)]
    assert values == [min(comb(n, 60), 2**128 - 1) for n in range(201)]
    assert load_extension().choices(3, 9)[0].tolist() == [0, 0, 0, 0]


def test_small_subsets_are_all_there():
    binomials, words, first = cuda_count.small_subsets()
    assert binomials[32 * 33 + 16] == comb(32, 16)
    for n, k in [(5, 2), (32, 1), (32, 30), (12, 6), (4, 4)]:
        chosen = words[first[n * 33 + k] :][: comb(n, k)].tolist()
        assert len(set(chosen)) == comb(n, k)
        assert all(word.bit_count() == k and word < 1 << n for word in chosen)


def test_a_gpu_that_is_not_there_is_a_clear_error():
    if kernels.why_not("cuda") is None:
        pytest.skip("there is a GPU")
    with pytest.raises(kernels.BackendError, match=r"'cuda' cannot run here: .*use the CPU backend"):
        kernels.count_bicliques(*random_graph(0, 5, 5, 0.5), 2, 2, backend="cuda")


def test_cells_are_places_of_three_numbers():
    cells = table.TreeCells(3, 5, 7)
    assert cells.n_cells == 4 * 8 * 6
