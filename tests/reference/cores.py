"""Core numbers, by taking the vertex of least degree away again and again."""

from __future__ import annotations

import numpy as np


def core_numbers(indptr: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The largest k for which each vertex is in a subgraph of least degree k, int64."""
    degrees = np.diff(indptr).astype(np.int64)
    cores = np.zeros(len(degrees), np.int64)
    there = np.ones(len(degrees), bool)
    core = 0
    for _ in range(len(degrees)):
        v = int(np.where(there, degrees, np.iinfo(np.int64).max).argmin())
        core = max(core, int(degrees[v]))
        cores[v], there[v] = core, False
        degrees[indices[indptr[v] : indptr[v + 1]]] -= 1
    return cores
