"""Sorted runs: the edges of a table that outgrows its share of memory, sorted on disk.

Rows are taken until they fill a share of memory. Then they are ranked, sorted and united as a whole
table would be (`pipeline.stages.uniting`), and written to the disk as a *run*, with the labels that
occur in it. The labels of all runs are united in memory: of vertices there are fewer than of edges,
and every later stage holds arrays of them. Then each run is read again, gets the ranks that its
labels have among all, and is written as before; and all runs are read side by side and merged.

The files have no names, so nothing is left of them when the process ends, however it ends. They lie
in the folder that TMPDIR names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.columns import column_of, values_of
from bicliq.pipeline.events import tell
from bicliq.pipeline.placement.arrays import differs
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.beyond import BeyondLimit
from bicliq.pipeline.stages.column_on_disk import ColumnOnDisk, LabelsOnDisk
from bicliq.pipeline.stages.edge_table import EdgesOnDisk, summarize
from bicliq.pipeline.stages.host_rows import KeptRows
from bicliq.pipeline.stages.limits import Later, MemoryRoom
from bicliq.pipeline.stages.uniting import Float64s, Int64s, ascends, halves, keys_of_rows, unite_keys

ROW_SHARE = 8
"""Room for each byte of the rows that are held before they are sorted: their labels are looked up
in tables of their range, sorted as pairs, and united."""

FEW_BYTES = 16 << 20
"""Bytes of rows that are always held: a table so small is read in memory, whatever the limit."""

BESIDE_ROWS = 64 << 20
"""Room for what is there beside rows: a batch that is read and filtered, and a row group that is
written."""

SHARE_OF_LABELS = 4
"""Labels may take one part in so many of the room: while they are united they are there twice, with
a table by which they are found or the order that sorts them."""

MERGED_SHARE = 144
"""Room for each edge that is merged at a time: its key and its weight in a block, in one row with
those of the other runs, sorted, and united."""

MOST_RUN_BYTES = 1 << 30
"""Bytes of rows that a run is made of at most: Arrow's text ends at twice as many."""


class _Run:
    """Some rows of a table as ascending keys, and the labels that its keys are ranks of.

    Weights that are to be summed stay as they are, in the order of the rows: they are added up in
    one go, so that the sum does not depend on where a run ends.
    """

    def __init__(self, rows: KeptRows, settings: IngestSettings) -> None:
        keys, labels = keys_of_rows(rows)
        self.labels = LabelsOnDisk(labels[0]), LabelsOnDisk(labels[1])
        self.n_rows = len(keys)
        weights = rows.weights()
        self.keys, self.weights = ColumnOnDisk(np.int64), None if weights is None else ColumnOnDisk(np.float64)
        rows.clear()
        if weights is None or settings.duplicates != "sum":
            self._write(*unite_keys(keys, weights, settings))
        else:
            self._write_sorted(keys, weights)

    def _write(self, keys: Int64s, weights: Float64s | None) -> None:
        self.keys.append(keys)
        if self.weights is not None and weights is not None:
            self.weights.append(weights)

    def _write_sorted(self, keys: Int64s, weights: Float64s | None) -> None:
        order = np.argsort(keys, kind="stable")
        self._write(keys[order], None if weights is None else weights[order])

    def read(self, first: int, n: int) -> tuple[Int64s, Float64s | None]:
        return self.keys.read(first, n), None if self.weights is None else self.weights.read(first, n)

    def rank(self, left: Int64s, right: Int64s) -> None:
        """Replace the ends by others, which ascend as they do unless numbers became text."""
        keys, weights = self.read(0, len(self.keys))
        keys = left[keys >> 32] << 32 | right[keys & 0xFFFFFFFF]
        self.keys, self.weights = ColumnOnDisk(np.int64), None if weights is None else ColumnOnDisk(np.float64)
        if ascends(keys):
            self._write(keys, weights)
        else:
            self._write_sorted(keys, weights)


class SortedRuns:
    """The runs of a table, as they come, and the labels of all of them.

    Parameters
    ----------
    source
        The table, for messages.
    settings
        The policies.
    room
        The memory that there is for all of it.
    in_memory
        Whether the rows are kept in memory, as of a window of time and of groups in step, and no
        runs are made of them.
    later
        What the stages after it need of the graph.
    """

    def __init__(self, source: str, settings: IngestSettings, room: MemoryRoom, in_memory: bool, later: Later) -> None:
        self._in_memory = in_memory or settings.window is not None or settings.in_step is not None
        self.source, self.settings, self.room = source, settings, room
        self.n_rows = self._let_go = 0
        self._later, self._beyond = later, BeyondLimit(0, "")
        self._runs: list[_Run] = []
        self._labels: list[pa.Array] = []

    def __len__(self) -> int:
        """Number of runs."""
        return len(self._runs)

    def take(self, rows: KeptRows) -> None:
        """Make a run of the rows that are kept where they fill their share; they are let go of.

        Where the limit of memory is too low the table is read on, to say how much would do.
        """
        if self._beyond.needed:
            self._beyond.add(rows)
            return
        size = rows.bytes
        if size < max(min((self.room.bytes - BESIDE_ROWS) // ROW_SHARE, MOST_RUN_BYTES), FEW_BYTES):
            return
        if self._in_memory:
            if BESIDE_ROWS + ROW_SHARE * size > self.room.bytes:
                self._let_go += size
                rows.clear()
            return
        if self._is_beyond(BESIDE_ROWS + ROW_SHARE * FEW_BYTES, f"{self.source}: a table that is sorted on disk"):
            self._beyond.add(rows)
            return
        if not self._runs:
            tell("edges are sorted on disk", source=self.source, memory_limit=self.room.limit, run_bytes=size)
        self._add(rows)

    def require_kept(self, rows: KeptRows) -> None:
        """Raise CapacityError where rows were let go of; `rows` are the last."""
        if self._beyond.needed:
            self._beyond.add(rows)
            in_all = self._beyond.in_all(BESIDE_ROWS, SHARE_OF_LABELS, self._later)
            self.room.require(self._beyond.needed, self._beyond.what, in_all)
        if self._in_memory and self._let_go:
            needed, n = BESIDE_ROWS + ROW_SHARE * (self._let_go + rows.bytes), rows.counts["rows_read"]
            timed = "a table for groups in step" if self.settings.in_step is not None else "an update"
            why = "a window of time" if self.settings.window is not None else timed
            self.room.require(needed, f"{self.source}: {why} is read in memory, and for its {n:,} rows")

    def _add(self, rows: KeptRows) -> None:
        run = _Run(rows, self.settings)
        self.n_rows += run.n_rows
        self._runs.append(run)
        more = [labels.read() for labels in run.labels]
        self._labels = [_all_labels(*both) for both in zip(self._labels or more, more, strict=True)]
        needed = BESIDE_ROWS + SHARE_OF_LABELS * sum(side.nbytes for side in self._labels)
        if self._is_beyond(needed, f"{self.source}: to hold the labels of its first {self.n_rows:,} rows"):
            self._beyond.add_labels(self.n_rows, self._labels)
            self._runs.clear()
            self._labels.clear()

    def _is_beyond(self, needed: int, what: str) -> bool:
        if needed > self.room.bytes:
            self._beyond = BeyondLimit(needed, what)
        return needed > self.room.bytes

    def unite(self, rows: KeptRows) -> EdgesOnDisk:
        """Rank the labels, and merge the runs and what rows are left.

        `rows`: the last rows, which are let go of, with the counts of all.
        """
        if rows.left:
            self._add(rows)
            self.require_kept(rows)
        ids = self._rank_labels()
        left, right = ColumnOnDisk(np.int32), ColumnOnDisk(np.int32)
        weight = None if self._runs[0].weights is None else ColumnOnDisk(np.float64)
        for keys, weights in self._merged():
            for column, values in zip((left, right, weight), (*halves(keys), weights), strict=True):
                if column is not None and values is not None:
                    column.append(values)
        counted = self.n_rows, len(left), ids, self.settings, rows.noted, len(left)
        summary = summarize(self.source, rows.counts, *counted)
        return EdgesOnDisk(left, right, weight, *ids, replace(summary, sorted_runs=len(self)), {})

    def _rank_labels(self) -> tuple[pa.Array, pa.Array]:
        """Sort the labels of both sides, and give each run the ranks of its own among them."""
        left, right = self._labels = [_sorted(side) for side in self._labels]
        for run in self._runs:
            run.rank(*(_ranks(of, some.read()) for of, some in zip((left, right), run.labels, strict=True)))
        return left, right

    def _merged(self) -> Iterator[tuple[Int64s, Float64s | None]]:
        """Return all edges, ascending and united, some at a time."""
        n = max(self.room.bytes // (MERGED_SHARE * len(self._runs)), 2)
        readers = [_Reader(run, n) for run in self._runs]
        while readers:
            bound = min((reader.last for reader in readers if not reader.at_end), default=None)
            parts = [reader.below(bound) for reader in readers]
            keys = np.concatenate([part[0] for part in parts])
            weights = None if parts[0][1] is None else np.concatenate([part[1] for part in parts])
            if weights is None:
                keys.sort(kind="stable")
            yield unite_keys(keys, weights, self.settings)
            readers = [reader for reader in readers if not reader.is_done]


class _Reader:
    """Reads a run from its beginning, and holds some of it."""

    def __init__(self, run: _Run, n: int) -> None:
        self._run, self._n, self._next = run, n, 0
        self._keys, self._weights = run.read(0, 0)
        self._fill()

    @property
    def at_end(self) -> bool:
        """Whether all that is left is held."""
        return self._next >= len(self._run.keys)

    @property
    def is_done(self) -> bool:
        return self.at_end and not self._keys.size

    @property
    def last(self) -> int:
        return int(self._keys[-1])

    def _fill(self) -> None:
        """Hold two different keys at least, if there are: those below the last one can be taken."""
        while not self.at_end and (self._keys.size < 2 or self._keys[0] == self._keys[-1]):
            keys, weights = self._run.read(self._next, self._n)
            self._next += keys.size
            self._keys = np.concatenate([self._keys, keys])
            if weights is not None:
                self._weights = np.concatenate([self._weights, weights])

    def below(self, bound: int | None) -> tuple[Int64s, Float64s | None]:
        """Take the keys that are less, or all; more is read where few are left."""
        n = self._keys.size if bound is None else int(np.searchsorted(self._keys, bound))
        keys, self._keys = self._keys[:n], self._keys[n:]
        weights = self._weights
        if weights is not None:
            weights, self._weights = weights[:n], weights[n:]
        self._fill()
        return keys, weights


# ---- labels --------------------------------------------------------------------------------------


def _all_labels(known: pa.Array, more: pa.Array) -> pa.Array:
    """Labels that are in one array or the other, in any order; text where one of them is text."""
    if known.type != more.type:
        known, more = known.cast(pa.string()), more.cast(pa.string())
    if pa.types.is_integer(known.type):
        both = np.concatenate([values_of(known), values_of(more)])
        both.sort(kind="stable")  # which merges what is in order
        return column_of(both[differs(both)])
    return pc.unique(pa.chunked_array([known, more]))


def _sorted(labels: pa.Array) -> pa.Array:
    """Labels in ascending order; numbers have it already."""
    return labels if pa.types.is_integer(labels.type) else labels.take(pc.sort_indices(labels))


def _ranks(labels: pa.Array, some: pa.Array) -> Int64s:
    """Places of some labels among all, which are sorted."""
    if pa.types.is_integer(labels.type):
        places: Int64s = np.searchsorted(values_of(labels), values_of(some))
    else:
        places = values_of(pc.index_in(some.cast(pa.string()), value_set=labels)).astype(np.int64)
    return places
