"""The bipartite graph in memory: compressed sparse rows of its left side, and of both where asked."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp
import xxhash

from pipeline.errors import InputError
from pipeline.store import Folder, GraphFolder

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BipartiteGraph:
    """An unweighted bipartite graph, as rows of its left side.

    Parameters
    ----------
    n_left, n_right
        Number of vertices of each side, isolated ones included.
    indptr
        int64, shape (n_left + 1,): where each left vertex's neighbours begin.
    indices
        int32, shape (n_edges,): right neighbours, ascending and unique in each row.

    Examples
    --------
    >>> import numpy as np
    >>> graph = BipartiteGraph.from_edges(np.array([0, 0, 1]), np.array([0, 1, 1]), 2, 2)
    >>> graph.n_edges, graph.right_degrees.tolist()
    (3, [1, 2])
    """

    n_left: int
    n_right: int
    indptr: Int64s
    indices: Int32s

    @classmethod
    def from_edges(cls, left: npt.ArrayLike, right: npt.ArrayLike, n_left: int, n_right: int) -> BipartiteGraph:
        """Build a graph from its edges, in any order; repeated edges count once.

        Parameters
        ----------
        left, right
            Integer ids of the ends of each edge, from 0.
        n_left, n_right
            Number of vertices of each side.

        Raises
        ------
        InputError
            Where an id is outside its side.

        Notes
        -----
        O(n_edges) for sorted input, O(n_edges log n_edges) otherwise.
        """
        lefts, rights = np.asarray(left, np.int64), np.asarray(right, np.int64)
        for side, ids, size in (("left", lefts, n_left), ("right", rights, n_right)):
            if ids.size and (ids.min() < 0 or ids.max() >= size):
                raise InputError(
                    f"{side} ids run from {ids.min()} to {ids.max()}, outside 0…{size - 1}; "
                    "number the vertices of each side from 0"
                )
        keys = lefts * max(n_right, 1) + rights
        if keys.size and not bool((keys[1:] > keys[:-1]).all()):
            keys = np.unique(keys)
            lefts, rights = np.divmod(keys, max(n_right, 1))
        indptr = np.zeros(n_left + 1, np.int64)
        np.cumsum(np.bincount(lefts, minlength=n_left), out=indptr[1:])
        return cls(n_left, n_right, indptr, rights.astype(np.int32))

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(self.indices.size)

    @cached_property
    def left_degrees(self) -> Int64s:
        """Degree of each left vertex."""
        return np.diff(self.indptr)

    @cached_property
    def right_degrees(self) -> Int64s:
        """Degree of each right vertex."""
        return np.bincount(self.indices, minlength=self.n_right).astype(np.int64)

    @cached_property
    def edge_left(self) -> Int32s:
        """Left end of each edge, in the order of `indices`."""
        return np.repeat(np.arange(self.n_left, dtype=np.int32), self.left_degrees)

    @cached_property
    def digest(self) -> str:
        """xxh3-64 of sizes and edges, 16 hex digits; ids only, no labels."""
        state = xxhash.xxh3_64(f"{self.n_left} {self.n_right}\n".encode())
        state.update(self.indptr.tobytes())
        state.update(self.indices.tobytes())
        return str(state.hexdigest())

    def matrix(self) -> Any:
        """Biadjacency matrix (scipy CSR of int8 ones, left × right); shares the arrays."""
        ones = np.ones(self.n_edges, np.int8)
        return sp.csr_array((ones, self.indices, self.indptr), shape=(self.n_left, self.n_right))

    def transpose(self) -> BipartiteGraph:
        """Return the same graph with its sides exchanged: rows of the right side.

        Notes
        -----
        O(n_edges); rows come out ascending.
        """
        csc = self.matrix().tocsc()
        return BipartiteGraph(self.n_right, self.n_left, csc.indptr.astype(np.int64), csc.indices.astype(np.int32))

    def rows_of(self, rows: npt.NDArray[np.integer[Any]]) -> tuple[Int64s, Int32s]:
        """Return the lengths of some rows and their neighbours, one row after the other."""
        starts = self.indptr[rows]
        lengths = self.indptr[rows + 1] - starts
        return lengths, self.indices[ranges(starts, lengths)]

    def to_table(self) -> pa.Table:
        """Return the edges as a table with columns left and right (int32), sorted."""
        return pa.table({"left": pa.array(self.edge_left), "right": pa.array(self.indices)})


def ranges(starts: Int64s, lengths: Int64s) -> Int64s:
    """Return start, start + 1, … start + length - 1 of each range, one range after the other."""
    total = int(lengths.sum())
    shift = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    values: Int64s = np.arange(total, dtype=np.int64) + shift
    return values


def read_graph(folder: GraphFolder) -> BipartiteGraph:
    """Read an ingested graph.

    Raises
    ------
    InputError
        Where the graph is not in the store.
    """
    if not folder.exists():
        raise InputError(f"{folder.uri}: this graph is not in the store; ingest its edge table first")
    record = folder.read_json("graph.json")
    return read_edges(folder, "edges.parquet", int(record["n_left"]), int(record["n_right"]))


def read_edges(folder: Folder, name: str, n_left: int, n_right: int) -> BipartiteGraph:
    """Read a table of edges (dense ids, columns left and right) of a folder."""
    table = folder.read_table(name, ["left", "right"])
    return BipartiteGraph.from_edges(table["left"].to_numpy(), table["right"].to_numpy(), n_left, n_right)
