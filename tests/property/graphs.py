"""Random bipartite graphs of every kind that a search may trip over, as hypothesis strategies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st


@dataclass(frozen=True)
class Graph:
    n_left: int
    n_right: int
    edges: tuple[tuple[int, int], ...]

    @property
    def csr(self) -> tuple[np.ndarray, np.ndarray, int]:
        pairs = np.array(self.edges, dtype=np.int64).reshape(-1, 2)
        indptr = np.concatenate([[0], np.cumsum(np.bincount(pairs[:, 0], minlength=self.n_left))])
        return indptr, pairs[:, 1].astype(np.int32), self.n_right


def from_matrix(matrix: np.ndarray) -> Graph:
    left, right = np.nonzero(matrix)
    return Graph(matrix.shape[0], matrix.shape[1], tuple(zip(left.tolist(), right.tolist(), strict=True)))


@st.composite
def random_graphs(draw: st.DrawFn, max_side: int = 12) -> Graph:
    """Any density, with twins, stars, isolated vertices, empty or one-sided graphs mixed in."""
    n_left = draw(st.integers(0, max_side))
    n_right = draw(st.integers(0, max_side))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    matrix = random.random((n_left, n_right)) < draw(st.sampled_from([0.0, 0.08, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0]))
    if matrix.size:
        for shape in draw(st.lists(st.sampled_from(["left twins", "right twins", "star", "isolated"]), max_size=4)):
            u, v = int(random.integers(n_left)), int(random.integers(n_right))
            if shape == "left twins":
                matrix[u] = matrix[int(random.integers(n_left))]
            elif shape == "right twins":
                matrix[:, v] = matrix[:, int(random.integers(n_right))]
            elif shape == "star":
                matrix[u] = True
            else:
                matrix[:, v] = False
    return from_matrix(matrix)


@st.composite
def tall_graphs(draw: st.DrawFn) -> Graph:
    """Few columns over many rows (more than 32, so that roots need a bit matrix), with crowds of
    twins."""
    n_right = draw(st.integers(2, 9))
    n_left = draw(st.integers(33, 150))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    density = draw(st.sampled_from([0.15, 0.4, 0.6, 0.85, 0.95]))
    return from_matrix(random.random((n_left, n_right)) < density)


@st.composite
def hub_graphs(draw: st.DrawFn) -> Graph:
    """A few dense rows and columns in a large sparse graph: wide roots with many befores, long
    candidate lists."""
    n_left, n_right = draw(st.integers(40, 120)), draw(st.integers(40, 120))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    matrix = random.random((n_left, n_right)) < draw(st.sampled_from([0.01, 0.03]))
    matrix[: draw(st.integers(1, 5))] |= random.random(n_right) < 0.7
    matrix[:, : draw(st.integers(1, 5))] |= (random.random(n_left) < 0.7)[:, None]
    return from_matrix(matrix)


@st.composite
def broad_graphs(draw: st.DrawFn) -> Graph:
    """Over a thousand columns, so that a row of a root's matrix is longer than a group of lanes."""
    n_left, n_right = draw(st.integers(36, 60)), draw(st.integers(1100, 2300))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    matrix = random.random((n_left, n_right)) < draw(st.sampled_from([0.02, 0.04]))
    dense = draw(st.integers(2, 6))
    matrix[:, random.choice(n_right, dense, replace=False)] = random.random((n_left, dense)) < 0.93
    return from_matrix(matrix)


@st.composite
def repeated_graphs(draw: st.DrawFn) -> Graph:
    """Many rows of few kinds, some with a cell changed; the kinds may be columns instead."""
    n_right = draw(st.integers(2, 9))
    n_left = draw(st.integers(34, 300))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = random.random((draw(st.integers(1, 40)), n_right)) < draw(st.sampled_from([0.1, 0.3, 0.6, 0.8, 0.95]))
    matrix = kinds[random.integers(0, len(kinds), n_left)]
    matrix ^= random.random(matrix.shape) < draw(st.sampled_from([0.0, 0.01, 0.05]))
    matrix[:, random.random(n_right) < 0.1] = True
    return from_matrix(matrix.T if draw(st.booleans()) else matrix)
