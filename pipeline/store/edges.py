"""The edges of a stored graph: all of them in one file, or what differs from another graph.

A graph that an update made of another one holds no copy of it. Its record names that graph (its
*base*, which is whole), and its files hold the edges that differ and the labels that follow the
base's. Whoever reads it reads both. What differs is told from the base, however many updates ago
that was, so two folders are read at most; where it is much, the graph is written whole
(`pipeline.stages.extend`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bicliq import kernels
from bicliq.pipeline.columns import values_of
from bicliq.pipeline.errors import DamageError
from bicliq.pipeline.store.folder import MEND
from bicliq.pipeline.store.layout import GraphFolder
from bicliq.pipeline.store.records import StoredGraph

EDGES, CHANGED = "edges.parquet", "changed.parquet"
"""All edges of a whole graph; and the edges that differ, of another one: left, right, whether they
are there, and the weight where there are weights."""

RIGHT_BITS = 32
"""Bits of a key that hold the right end; those above hold the left one."""

Keys = npt.NDArray[np.int64]
Ids = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class EdgeRows:
    """Edges as rows of the left side.

    `indptr`, `indices`: int64, shape (n_left + 1,), and int32, shape (n_edges,); each row ascends.
    `weights`: float64, shape (n_edges,), or None.
    """

    indptr: npt.NDArray[np.int64]
    indices: Ids
    weights: npt.NDArray[np.float64] | None

    def __len__(self) -> int:
        """Number of edges."""
        return len(self.indices)

    @property
    def left(self) -> Ids:
        """Left ends."""
        return np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int32), np.diff(self.indptr))

    def find(self, left: npt.ArrayLike, right: npt.ArrayLike) -> tuple[Keys, npt.NDArray[np.bool_]]:
        """Say of some edges where they stand among these, and whether they are there."""
        return kernels.find_edges(self.indptr, self.indices, left, right)

    def after(self, changed: ChangedEdges, n_left: int) -> EdgeRows:
        """Return the edges after some of them changed, as rows of so many left vertices."""
        change = *ends_of(changed.keys), changed.there, changed.weight
        return EdgeRows(*kernels.change_rows(self.indptr, self.indices, self.weights, *change, n_left))


@dataclass(frozen=True, eq=False)
class ChangedEdges:
    """Edges, as ascending keys, that are there or not, and their weights where there are any."""

    keys: Keys
    there: npt.NDArray[np.bool_]
    weight: Any

    def then(self, later: ChangedEdges) -> ChangedEdges:
        """Return both changes as one.

        Without weights, what changed twice is as it was at first.
        """
        keys = np.concatenate([self.keys, later.keys])
        order = np.argsort(keys, kind="stable")
        last = np.append(np.diff(keys[order]) != 0, True)[: len(keys)]
        if self.weight is None:
            last &= np.append(True, last[:-1])[: len(keys)]
        kept = order[last]
        weight = None if self.weight is None else np.concatenate([self.weight, later.weight])[kept]
        return ChangedEdges(keys[kept], np.concatenate([self.there, later.there])[kept], weight)


def read_edge_rows(folder: GraphFolder, record: StoredGraph | None = None) -> EdgeRows:
    """Read all edges as rows.

    `folder`, `record`: a graph, and its graph.json where that was read already. Raises DamageError
    where a file is damaged, or the base is not the one that the graph was made of.
    """
    record = record or folder.record()
    base = folder.base(record)
    if base is None:
        table = folder.read_table(record.written(EDGES))
        starts = kernels.row_starts(values_of(table["left"]), record.n_left)
        return EdgeRows(starts, values_of(table["right"]), _weights(table))
    rows = read_edge_rows(base).after(read_changed(folder, record), record.n_left)
    if len(rows) != record.n_edges:
        raise DamageError(
            f"{folder.uri}: it has {len(rows)} edges, its record says {record.n_edges}: {base.uri} is not the graph"
            f" that it was made of; {MEND}"
        )
    return rows


def read_edge_columns(folder: GraphFolder) -> tuple[Any, Any]:
    """Read the ends of all edges, sorted; raises as `read_edge_rows`."""
    record = folder.record()
    if folder.base(record) is not None:
        rows = read_edge_rows(folder, record)
        return rows.left, rows.indices
    table = folder.read_table(record.written(EDGES), ["left", "right"])
    return values_of(table["left"]), values_of(table["right"])


def read_changed(folder: GraphFolder, record: StoredGraph) -> ChangedEdges:
    """Read the edges in which a graph differs from its base."""
    table = folder.read_table(record.written(CHANGED))
    keys = keys_of(values_of(table["left"]), values_of(table["right"]))
    return ChangedEdges(keys, values_of(table["there"]), _weights(table))


def _weights(table: pa.Table) -> Any:
    return values_of(table["weight"]) if "weight" in table.column_names else None


def keys_of(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> Keys:
    """Return edges as numbers, which ascend as their ends do."""
    keys: Keys = left.astype(np.int64)
    keys <<= RIGHT_BITS
    keys |= right
    return keys


def ends_of(keys: Keys) -> tuple[Ids, Ids]:
    """Return the ends of edges that are given as numbers."""
    return (keys >> RIGHT_BITS).astype(np.int32), keys.astype(np.int32)
