"""The edges of a stored graph: all of them in one file, or what differs from another graph.

A graph that an update made of another one holds no copy of it. Its record names that graph (its
*base*, which is whole), and its files hold the edges that differ and the labels that follow the
base's. Whoever reads it reads both. What differs is told from the base, however many updates ago
that was, so two folders are read at most; where it is much, the graph is written whole
(`pipeline.stages.extend`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.errors import DamageError
from pipeline.store.folder import MEND
from pipeline.store.layout import GraphFolder
from pipeline.store.records import named_files

EDGES, CHANGED = "edges.parquet", "changed.parquet"
"""All edges of a whole graph; and the edges that differ, of another one: left, right, whether they
are there, and the weight where there are weights."""

RIGHT_BITS = 32
"""Bits of a key that hold the right end; those above hold the left one."""

Keys = npt.NDArray[np.int64]


def read_edge_columns(folder: GraphFolder) -> tuple[Any, Any]:
    """Read the ends of all edges, sorted; raises as `read_edge_keys`."""
    record = folder.read_record("graph.json")
    if folder.base(record) is not None:
        return ends_of(read_edge_keys(folder)[0])
    table = folder.read_table(named_files(record)[EDGES], ["left", "right"])
    return table["left"].to_numpy(), table["right"].to_numpy()


def read_edge_keys(folder: GraphFolder) -> tuple[Keys, Any]:
    """Read all edges as ascending keys, and their weights, or None.

    Raises
    ------
    DamageError
        Where a file is damaged, or the base is not the one that the graph was made of.
    """
    record = folder.read_record("graph.json")
    base = folder.base(record)
    if base is None:
        return _keys_and_weights(folder.read_table(named_files(record)[EDGES]))
    changed = folder.read_table(named_files(record)[CHANGED])
    there = changed["there"].to_numpy(zero_copy_only=False)
    keys, weights = _keys_and_weights(changed)
    known, weights = changed_edges(*read_edge_keys(base), keys, there, weights)
    if len(known) != int(record["n_edges"]):
        raise DamageError(
            f"{folder.uri}: it has {len(known)} edges, its record says {record['n_edges']}: {base.uri} is not the graph"
            f" that it was made of; {MEND}"
        )
    return known, weights


def _keys_and_weights(table: pa.Table) -> tuple[Keys, Any]:
    keys = keys_of(table["left"].to_numpy(), table["right"].to_numpy())
    return keys, table["weight"].to_numpy() if "weight" in table.column_names else None


def changed_edges(known: Keys, weights: Any, keys: Keys, there: npt.NDArray[np.bool_], weight: Any) -> tuple[Keys, Any]:
    """Return edges, as ascending keys, after some of them changed.

    Parameters
    ----------
    known, weights
        The edges, ascending, and their weights or None.
    keys, there, weight
        Edges that change, ascending: whether they are there then, and with which weights.

    Notes
    -----
    O(changes log edges), and a copy.

    Examples
    --------
    >>> import numpy as np
    >>> changed_edges(np.array([2, 5, 9]), None, np.array([5, 7]), np.array([False, True]), None)[0].tolist()
    [2, 7, 9]
    """
    places = np.searchsorted(known, keys)
    found = known[np.minimum(places, len(known) - 1)] == keys if len(known) else np.zeros(len(keys), np.bool_)
    kept = np.delete(known, places[found])
    joined = keys[there]
    at = np.searchsorted(kept, joined)
    if weights is not None:
        weights = np.insert(np.delete(weights, places[found]), at, weight[there])
    return np.insert(kept, at, joined), weights


def keys_of(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> Keys:
    """Return edges as numbers, which ascend as their ends do."""
    keys: Keys = left.astype(np.int64)
    keys <<= RIGHT_BITS
    keys |= right
    return keys


def ends_of(keys: Keys) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the ends of edges that are given as numbers."""
    return (keys >> RIGHT_BITS).astype(np.int32), keys.astype(np.int32)
