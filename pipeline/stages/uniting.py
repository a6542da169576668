"""Uniting: labels become their ranks, and rows that repeat an edge become one."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.columns import column_of, values_of
from bicliq.pipeline.placement.arrays import differs
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.edge_table import EdgeTable, summarize
from bicliq.pipeline.stages.host_rows import KeptRows
from bicliq.pipeline.stages.window import TimedRows

COMPACT_RANGE = 8
"""Whole-number labels are ranked by a table of their range where that is at most so many times
their number."""

HIGH = 1 if sys.byteorder == "little" else 0
"""Place of the upper half of a 64-bit word."""

Int64s = npt.NDArray[np.int64]
Int32s = npt.NDArray[np.int32]
Float64s = npt.NDArray[np.float64]


def unite(rows: KeptRows, source: str, settings: IngestSettings) -> EdgeTable:
    """Rank the labels, and unite repeated edges.

    `rows`: the rows, which are let go of. `source`, `settings`: the table, for messages, and the
    policies.
    """
    keys, ids = keys_of_rows(rows)
    n_rows = len(keys)
    timed = None
    if settings.in_step is not None:
        timed = _timed(rows, keys).each_once()
    elif settings.window is not None:
        timed = _timed(rows, keys).needed()
    keys, weight = unite_keys(keys, rows.weights(), settings)
    n_once = len(keys) if timed is None or settings.in_step is None else len(timed)
    summary = summarize(source, rows.counts, n_rows, len(keys), ids, settings, rows.noted, n_once)
    if timed is not None and settings.window is not None:
        summary = replace(summary, latest=timed.latest)
    return EdgeTable(*halves(keys), weight, *ids, summary, {}, timed)


def keys_of_rows(rows: KeptRows) -> tuple[Int64s, tuple[pa.Array, pa.Array]]:
    """Return each row as a number that ascends as its labels do, and the labels of both sides.

    The labels of the rows are let go of.
    """
    keys, left_ids = _ranked(rows.left)
    rows.left.clear()
    right, right_ids = _ranked(rows.right)
    rows.right.clear()
    keys <<= 32
    keys |= right
    return keys, (left_ids, right_ids)


def halves(keys: Int64s) -> tuple[Int32s, Int32s]:
    """Return the left and the right ends of edges that are given as numbers."""
    words = keys.view(np.int32)
    return np.ascontiguousarray(words[HIGH::2]), np.ascontiguousarray(words[1 - HIGH :: 2])


def _timed(rows: KeptRows, keys: Int64s) -> TimedRows:
    """The rows with their times, in dense ids."""
    time = values_of(pa.chunked_array(rows.time)) if rows.time else np.zeros(0)
    return TimedRows(*halves(keys), time, rows.weights(), rows.latest)


def unite_keys(keys: Int64s, weights: Float64s | None, settings: IngestSettings) -> tuple[Int64s, Float64s | None]:
    """Sort edges, which may be done in their place, and unite equal ones."""
    if weights is not None:
        return unite_weights(keys, weights, settings)
    if not ascends(keys):  # as many tables do
        keys.sort()
    return keys[differs(keys)], None


def ascends(numbers: Int64s) -> bool:
    """Say whether no number is less than the one before."""
    return bool((numbers[1:] >= numbers[:-1]).all())


def unite_weights(keys: Int64s, weights: Float64s, settings: IngestSettings) -> tuple[Int64s, Float64s]:
    """Sort edges and unite the weights of equal ones, as the policy of duplicates says."""
    order = np.argsort(keys, kind="stable")
    keys, weights = keys[order], weights[order]
    starts = np.flatnonzero(differs(keys))
    if settings.duplicates == "sum":
        united = np.add.reduceat(weights, starts) if len(starts) else weights
    elif settings.duplicates == "max":
        united = np.maximum.reduceat(weights, starts) if len(starts) else weights
    else:
        united = weights[starts]
    return keys[starts], united


def _ranked(chunks: list[pa.Array]) -> tuple[Int64s, pa.Array]:
    """Ranks of all labels of a side, and the labels by rank.

    One chunk of text makes all labels text.
    """
    if any(pa.types.is_dictionary(chunk.type) for chunk in chunks):
        return _ranked_text(pa.chunked_array([_as_text(chunk) for chunk in chunks]))
    return _ranked_numbers([values_of(chunk) for chunk in chunks if len(chunk)])


def _as_text(chunk: pa.Array) -> pa.DictionaryArray:
    """Labels as text: a number stands for a label only where it is written like it."""
    return chunk if pa.types.is_dictionary(chunk.type) else pc.cast(chunk, pa.string()).dictionary_encode()


def _ranked_numbers(chunks: list[Int64s]) -> tuple[Int64s, pa.Array]:
    """By a table of the labels' range where it is compact, by sorting otherwise."""
    if not chunks:
        return np.zeros(0, np.int64), column_of(np.zeros(0, np.int64))
    size = sum(map(len, chunks))
    least, most = min(int(chunk.min()) for chunk in chunks), max(int(chunk.max()) for chunk in chunks)
    if most - least > COMPACT_RANGE * size + 1024:
        found, ranks = np.unique(np.concatenate(chunks), return_inverse=True)
        return ranks.astype(np.int64), column_of(found)
    present = np.zeros(most - least + 1, np.bool_)
    for chunk in chunks:
        present[chunk - least] = True
    rank = np.cumsum(present, dtype=np.int64) - 1
    ranks = np.empty(size, np.int64)
    start = 0
    for chunk in chunks:
        ranks[start : start + len(chunk)] = rank[chunk - least]
        start += len(chunk)
    return ranks, column_of(np.flatnonzero(present) + least)


def _ranked_text(column: pa.ChunkedArray) -> tuple[Int64s, pa.Array]:
    """Dictionaries of the batches are united and sorted by code point (UTF-8 bytes sort alike)."""
    column = column.unify_dictionaries()
    labels = column.chunk(0).dictionary
    order = pc.sort_indices(labels)
    rank = np.empty(len(labels), np.int64)
    rank[values_of(order)] = np.arange(len(labels))
    codes = np.concatenate([values_of(chunk.indices) for chunk in column.chunks])
    used = np.zeros(len(labels), np.bool_)
    used[rank[codes]] = True
    dense = np.cumsum(used, dtype=np.int64) - 1
    return dense[rank[codes]], labels.take(order).filter(column_of(used))
