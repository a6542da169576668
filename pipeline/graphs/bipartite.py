"""The bipartite graph in memory: compressed sparse rows of its left side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from bicliq import kernels
from bicliq.pipeline.columns import column_of, values_of
from bicliq.pipeline.errors import DamageError, InputError
from bicliq.pipeline.placement.arrays import BLOCK, counts_of, distinct, library_of, repeat, starts_of, to_host
from bicliq.pipeline.placement.device import to_device
from bicliq.pipeline.store.device_tables import read_columns
from bicliq.pipeline.store.edges import EDGES, read_edge_rows
from bicliq.pipeline.store.folder import MEND, Folder
from bicliq.pipeline.store.layout import GraphFolder
from bicliq.pipeline.store.record import StoredFile

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]


ROW_GROUP = 1 << 20
"""Edges that are read or written at a time: as many as pyarrow puts in a row group."""

SCHEMA = pa.schema({"left": pa.int32(), "right": pa.int32()})


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

        `left`, `right`: integer ids of the ends of each edge, from 0. `n_left`, `n_right`: number
        of vertices of each side. Raises InputError where an id is outside its side.

        O(n_edges) for sorted input, O(n_edges log n_edges) otherwise.
        """
        lefts, rights = _ids(left), _ids(right)
        xp = library_of(lefts)
        for side, ids, size in (("left", lefts, n_left), ("right", rights, n_right)):
            if ids.size and (ids.min() < 0 or ids.max() >= size):
                raise InputError(
                    f"{side} ids run from {ids.min()} to {ids.max()}, outside 0…{size - 1}; "
                    "number the vertices of each side from 0"
                )
        if not _ascending(lefts, rights):
            keys = distinct(lefts.astype(xp.int64) * max(n_right, 1) + rights)
            lefts, rights = xp.divmod(keys, max(n_right, 1))
        return cls(n_left, n_right, starts_of(counts_of(lefts, n_left)), rights.astype(xp.int32, copy=False))

    @property
    def n_edges(self) -> int:
        """Number of edges."""
        return int(self.indices.size)

    @cached_property
    def left_degrees(self) -> Int64s:
        """Degree of each left vertex."""
        degrees: Int64s = library_of(self.indptr).diff(self.indptr)
        return degrees

    @cached_property
    def right_degrees(self) -> Int64s:
        """Degree of each right vertex."""
        degrees: Int64s = counts_of(self.indices, self.n_right)
        return degrees

    @cached_property
    def surprise_terms(self) -> kernels.SurpriseTerms:
        """What the surprise of its groups is made of."""
        return kernels.SurpriseTerms.of_degrees(to_host(self.left_degrees), to_host(self.right_degrees))

    @cached_property
    def edge_left(self) -> Int32s:
        """Left end of each edge, in the order of `indices`."""
        xp = library_of(self.indptr)
        owners: Int32s = repeat(xp.arange(self.n_left, dtype=xp.int32), self.left_degrees)
        return owners

    @cached_property
    def digest(self) -> str:
        """xxh3-64 of sizes and edges, 16 hex digits; ids only, no labels."""
        state = xxhash.xxh3_64(f"{self.n_left} {self.n_right}\n".encode())
        state.update(to_host(self.indptr).tobytes())
        state.update(to_host(self.indices).tobytes())
        return str(state.hexdigest())

    def transpose(self, order: Int32s | None = None) -> BipartiteGraph:
        """Return the same graph with its sides exchanged: rows of the right side.

        `order`: some left vertices, each once: the graph then has these alone, numbered by their
        places.

        O(n_edges); rows come out ascending.
        """
        xp = library_of(self.indices)
        n = self.n_left if order is None else int(order.size)
        if xp is np:
            rows = kernels.transpose_rows(self.indptr, self.indices, self.n_right, order)
            return BipartiteGraph(self.n_right, n, *rows)
        lengths, columns = (self.left_degrees, self.indices) if order is None else self.rows_of(order)
        keys = columns.astype(xp.int64) << 32 | repeat(xp.arange(n, dtype=xp.int32), lengths)
        keys.sort()
        return BipartiteGraph.from_edges(keys >> 32, keys & 0xFFFFFFFF, self.n_right, n)

    def on(self, backend: str) -> BipartiteGraph:
        """Return the graph with its arrays on the host ("cpu") or on the GPU ("cuda")."""
        there = library_of(self.indices) is np
        if there == (backend == "cpu"):
            return self
        move = to_device if there else to_host
        return BipartiteGraph(self.n_left, self.n_right, move(self.indptr), move(self.indices))

    def rows_of(self, rows: npt.NDArray[np.integer[Any]]) -> tuple[Int64s, Int32s]:
        """Return the lengths of some rows and their neighbours, one row after the other."""
        starts = self.indptr[rows]
        lengths = self.indptr[rows + 1] - starts
        return lengths, gather(self.indices, starts, lengths)

    def to_batches(self) -> pa.RecordBatchReader:
        """Return the edges with columns left and right (int32), sorted, a row group at a time."""
        parts = (pa.record_batch(self._edges_from(first), schema=SCHEMA) for first in range(0, self.n_edges, ROW_GROUP))
        return pa.RecordBatchReader.from_batches(SCHEMA, parts)

    def _edges_from(self, first: int) -> list[Any]:
        """Ends of the edges of a row group."""
        xp = library_of(self.indptr)
        last = min(first + ROW_GROUP, self.n_edges)
        top, end = (int(row) for row in xp.searchsorted(self.indptr, xp.asarray([first, last - 1]), side="right"))
        counts = xp.diff(xp.clip(self.indptr[top - 1 : end + 1], first, last))
        left = repeat(xp.arange(top - 1, end, dtype=xp.int32), counts)
        return [column_of(to_host(left)), column_of(to_host(self.indices[first:last]))]


def gather(values: Any, starts: Int64s, lengths: Int64s) -> Any:
    """Return values[start : start + length] of each range, one range after the other.

    Examples
    --------
    >>> gather(np.array([7, 8, 9]), np.array([1, 0]), np.array([2, 1])).tolist()
    [8, 9, 7]
    """
    xp = library_of(values)
    ends = xp.cumsum(lengths)
    found = xp.empty(int(lengths.sum()), values.dtype)
    at, begin = 0, 0
    while at < starts.size:  # some ranges at a time: positions take sixteen bytes each
        end = max(int(xp.searchsorted(ends, xp.asarray([begin + BLOCK]), side="right")[0]), at + 1)
        part = ranges(starts[at:end], lengths[at:end])
        found[begin : begin + part.size] = values[part]
        at, begin = end, begin + part.size
    return found


def ranges(starts: Int64s, lengths: Int64s) -> Int64s:
    """Return start, start + 1, … start + length - 1 of each range, one range after the other."""
    xp = library_of(lengths)
    values: Int64s = repeat(starts - (xp.cumsum(lengths) - lengths), lengths)
    values += xp.arange(values.size, dtype=xp.int64)
    return values


def read_graph(folder: GraphFolder, backend: str = "cpu") -> BipartiteGraph:
    """Read an ingested graph.

    `backend`: "cpu"; or "cuda": its arrays lie on the GPU, and so does what is made of it. Raises
    InputError where the graph is not in the store. Raises DamageError where it is damaged: its
    edges are compared with their checksum before they are used. Raises BackendError if "cuda"
    cannot run here.
    """
    folder.must_exist()
    record = folder.record()
    if folder.base(record) is not None:
        rows = read_edge_rows(folder, record)
        return BipartiteGraph(*record.sizes, rows.indptr, rows.indices).on(backend)
    return read_edges(folder, record.written(EDGES), *record.sizes, backend)


def stored_sizes(folder: GraphFolder) -> tuple[int, int]:
    """Return the number of edges of an ingested graph, and of its vertices on both sides."""
    folder.must_exist()
    record = folder.record()
    return record.n_edges, sum(record.sizes)


def stored_edges(folder: GraphFolder) -> int:
    """Return the number of edges of an ingested graph."""
    return stored_sizes(folder)[0]


def read_edges(folder: Folder, file: StoredFile, n_left: int, n_right: int, backend: str = "cpu") -> BipartiteGraph:
    """Read a table of edges (dense ids, columns left and right), after it was checked."""
    if backend == "cuda":
        left, right = read_columns(folder, file, ["left", "right"])
        return BipartiteGraph.from_edges(left, right, n_left, n_right)
    return BipartiteGraph(n_left, n_right, *_read_rows(folder, file, n_left, n_right))


def _read_rows(folder: Folder, file: StoredFile, n_left: int, n_right: int) -> tuple[Int64s, Int32s]:
    """Read stored edges, which ascend, as rows: some at a time, so that they are in memory once."""
    degrees = np.zeros(n_left, np.int64)
    at, last = 0, -1
    with folder.open_parquet(file) as parquet:
        indices = np.empty(parquet.metadata.num_rows, np.int32)
        for batch in parquet.iter_batches(ROW_GROUP, columns=["left", "right"]):
            left, right = values_of(batch["left"]), values_of(batch["right"])
            keys = left.astype(np.int64) << 32 | right
            ascend = last < keys[0] and bool((keys[1:] > keys[:-1]).all())
            if not ascend or left[-1] >= n_left or right.min() < 0 or right.max() >= n_right:
                raise DamageError(
                    f"{folder.path_of(file.name)}: its edges do not ascend, or are not in the graph; {MEND}"
                )
            degrees[left[0] : left[-1] + 1] += np.bincount(left - left[0])
            indices[at : at + len(right)] = right
            at, last = at + len(right), int(keys[-1])
    return starts_of(degrees), indices


def _ids(values: npt.ArrayLike) -> Any:
    return np.asarray(values, np.int64) if library_of(values) is np and not hasattr(values, "dtype") else values


def _ascending(left: Any, right: Any) -> bool:
    """Whether edges are sorted by both ends, without repetition."""
    rises = left[1:] > left[:-1]
    rises |= (left[1:] == left[:-1]) & (right[1:] > right[:-1])
    return bool(rises.all())
