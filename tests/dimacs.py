"""DIMACS graphs with their clique numbers: small ones bundled, the others where BICLIQ_DATA names
their folder."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

FOLDER = Path(__file__).parent / "data" / "dimacs"

CLIQUE_NUMBERS = {
    "C125.9": 34,
    "MANN_a27": 126,
    "brock400_2": 29,
    "brock400_4": 33,
    "c-fat500-5": 64,
    "gen200_p0.9_44": 44,
    "gen200_p0.9_55": 55,
    "hamming8-4": 16,
    "keller4": 11,
    "p_hat300-3": 36,
    "p_hat700-1": 11,
    "p_hat700-2": 44,
    "p_hat1000-1": 10,
    "p_hat1500-1": 12,
    "san200_0.9_2": 60,
    "san400_0.7_2": 30,
    "san400_0.9_1": 100,
    "sanr200_0.9": 42,
}

# The best known sizes where a search takes minutes to days.
BEYOND_A_TEST = {"C250.9": 44, "C500.9": 57, "brock800_2": 24, "brock800_4": 26, "keller5": 27}


def find(name: str) -> Path:
    """The file of a graph, or skip the test with the reason."""
    for folder in (FOLDER, *(Path(root, "dimacs") for root in [os.environ.get("BICLIQ_DATA")] if root)):
        if (folder / f"{name}.clq.zst").exists():
            return folder / f"{name}.clq.zst"
    pytest.skip(f"{name}.clq.zst is not bundled: set BICLIQ_DATA to the folder of the larger graphs")


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The symmetric CSR of a graph, read line by line."""
    with pa.input_stream(str(find(name)), compression="zstd") as stream:
        lines = stream.read().decode().splitlines()
    n = next(int(line.split()[2]) for line in lines if line.startswith("p"))
    edges = np.array([line.split()[1:] for line in lines if line.startswith("e")], dtype=np.int64) - 1
    return symmetric_csr(edges, n)


def symmetric_csr(edges: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The CSR of an undirected graph from pairs in any direction; repetitions and self-loops are
    dropped."""
    edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    u, v = np.concatenate([edges, edges[:, ::-1]]).T
    matrix = csr_array((np.ones(len(u)), (u, v)), shape=(n, n))
    matrix.setdiag(0)
    matrix.eliminate_zeros()
    matrix.sum_duplicates()
    return matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)


def csr_of_matrix(upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The CSR of an undirected graph from the upper triangle of its matrix; for large dense
    graphs."""
    matrix = upper | upper.T
    indptr = np.zeros(len(matrix) + 1, np.int64)
    np.cumsum(matrix.sum(axis=1), out=indptr[1:])
    return indptr, np.nonzero(matrix)[1].astype(np.int32)
