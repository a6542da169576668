"""What is no CSR matrix, or that of no undirected graph, is refused, and everything else taken:
against plain definitions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bicliq.kernels import arguments, clique


@st.composite
def matrices(draw: st.DrawFn) -> tuple[list[list[int]], int]:
    """Rows of small numbers, most of them ascending, and a bound of them; also symmetric ones."""
    n = draw(st.integers(1, 6))
    if draw(st.booleans()):
        table = draw(st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=n, max_size=n))
        whole = np.triu(np.array(table), draw(st.sampled_from([0, 1, 1, 1])))
        whole |= whole.T
        if draw(st.booleans()):
            whole[draw(st.integers(0, n - 1)), draw(st.integers(0, n - 1))] ^= True
        return [np.flatnonzero(row).tolist() for row in whole], n
    rows = draw(st.lists(st.lists(st.integers(0, n), max_size=5), min_size=n, max_size=n))
    return [sorted(set(row)) if draw(st.integers(0, 4)) else row for row in rows], n


@given(matrix=matrices())
def test_only_csr_and_undirected_graphs_pass(matrix: tuple[list[list[int]], int]) -> None:
    rows, n = matrix
    indptr, indices = np.cumsum([0, *map(len, rows)]), np.array([v for row in rows for v in row], np.int32)
    is_csr = all(row == sorted(set(row)) and all(v < n for v in row) for row in rows)
    edges = {(u, v) for u, row in enumerate(rows) for v in row}
    is_undirected = is_csr and all(u != v and (v, u) in edges for u, v in edges)
    assert accepts(arguments.checked_csr, indptr, indices, n) == is_csr
    assert accepts(clique.check_undirected, indptr, indices) == is_undirected


def accepts(check, *arrays) -> bool:
    try:
        check(*arrays)
    except ValueError:
        return False
    return True
