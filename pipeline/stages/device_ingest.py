"""Ingest on a GPU: the edge table of the CPU, filtered, coded and united on the device.

Files are read chunk by chunk (`device_reading`). What passes the filters is kept as 16 bytes an
edge on the device, and on the host where the device has no room for it; labels of text are kept as
one dictionary a chunk. Then labels are ranked, and edges sorted and united range by range, so that
neither the file nor the graph need fit on the device.

What the device would reckon otherwise than the CPU, such as weights whose sum depends on their
order, is left to the CPU, by `NotOnDevice`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bicliq.pipeline.formats import EdgeSource
from bicliq.pipeline.placement.arrays import differs, library_of
from bicliq.pipeline.placement.device import cudf_and_cupy, free_bytes
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.device_reading import EXACT, NotOnDevice, TextLabels, frames_of, with_text
from bicliq.pipeline.stages.edge_table import EdgeTable, summarize
from bicliq.pipeline.stages.ingest_policies import filtered, no_rows, of_sample
from bicliq.pipeline.stages.window import TimedRows

KEPT_SHARE = 0.35
"""Share of the free device memory in which edges are kept; sorting takes as much again."""

SORT_SHARE = 0.2
"""Share of the free device memory that the keys of one range may take while they are sorted."""


def read_on_device(
    source: EdgeSource, settings: IngestSettings, progress: Callable[[int, int], None] | None = None
) -> EdgeTable:
    """Read an edge table with cuDF.

    `source`: a recognised table (`pipeline.formats.open_edges`). `settings`: columns and policies.
    `progress`: called with the rows read so far and the file's bytes after each chunk. The table is
    equal to the CPU's. Raises NotOnDevice where the CPU must read this table. Raises BackendError
    where cuDF cannot run here.

    O(rows) device time and one sort of the edges; device memory is bounded, host memory is 8 to 16
    bytes an edge where the device cannot hold them.
    """
    if settings.window is not None:
        raise NotOnDevice("rows of a window of time are kept by the CPU")
    started = time.perf_counter()
    while True:
        try:
            rows = _read(source, settings, progress)
            break
        except TextLabels as turn:
            source = with_text(source, turn.side)
    read = time.perf_counter()
    table = _unite(rows, source.uri, settings)
    table.seconds.update(read=round(read - started, 6), unite=round(time.perf_counter() - read, 6))
    return table


class _Table:
    """The rows that pass the filters, chunk by chunk, and the counts of those that do not."""

    def __init__(self) -> None:
        budget = int(free_bytes() * KEPT_SHARE)
        self.left, self.right, self.weight = (Kept(budget // 3) for _ in range(3))
        self.time: list[npt.NDArray[np.float64]] = [np.zeros(0)]  # of groups in step, on the host
        self.labels: dict[str, list[Any]] = {"left": [], "right": []}  # dictionaries of the chunks of text
        self.counts = no_rows()
        self.noted: Counter[str] = Counter()  # of times and loops; else the CPU reads what is to be noted

    def add(self, frame: Any, timed: bool) -> None:
        """Keep the rows of a chunk, `timed` with their times."""
        import cudf

        for side, kept in (("left", self.left), ("right", self.right)):
            if frame[side].dtype.kind == "i":
                kept.add(frame[side].values)
            else:
                codes, labels = frame[side].factorize()
                kept.add(codes.astype("int32"))
                self.labels[side].append(cudf.Series(labels))
        if "weight" in frame.columns:
            self.weight.add(frame["weight"].values)
        if timed:
            self.time.append(frame["time"].values.get())


class Kept:
    """A list of device arrays; beyond its budget they lie on the host until they are asked for.

    `budget`: bytes that may stay on the device.
    """

    def __init__(self, budget: int) -> None:
        self._room = budget
        self._chunks: list[Any] = []

    def __len__(self) -> int:
        return len(self._chunks)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(int(chunk.nbytes) for chunk in self._chunks)

    def add(self, array: Any) -> None:
        """Keep an array of the device."""
        self._room -= array.nbytes
        self._chunks.append(array if self._room >= 0 else array.get())

    def pop_first(self) -> Any:
        """Return the first array, on the device, and forget it."""
        import cupy

        return cupy.asarray(self._chunks.pop(0))

    def part(self, number: int, start: int, stop: int) -> Any:
        """Return a part of an array, on the device."""
        import cupy

        return cupy.asarray(self._chunks[number][start:stop])

    def find(self, values: Any) -> Any:
        """Return, for each array (ascending), where these values of the host belong."""
        import cupy

        places = []
        for chunk in self._chunks:
            host = library_of(chunk) is np
            found = np.searchsorted(chunk, values) if host else cupy.searchsorted(chunk, cupy.asarray(values)).get()
            places.append(np.concatenate([[0], found, [chunk.size]]))
        return places


# ---- reading -------------------------------------------------------------------------------------


def _read(source: EdgeSource, settings: IngestSettings, progress: Callable[[int, int], None] | None) -> _Table:
    table = _Table()
    for frame in frames_of(source, table.noted):
        table.counts["rows_read"] += len(frame)
        kept = filtered(DeviceRows(frame, settings), settings, table.counts)
        if settings.sides == "source-target" and (loops := len(kept) - int(kept.distinct().sum())):
            table.noted["self_loops"] += loops
        table.add(kept.frame, settings.in_step is not None)
        if progress is not None:
            progress(table.counts["rows_read"], source.bytes)
    return table


# ---- filtering -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DeviceRows:
    """Rows in a frame of the device, for the policies (`ingest_policies.Rows`).

    `frame`: the rows that are left. `settings`: how equal labels are taken.
    """

    frame: Any
    settings: IngestSettings

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def where(self, mask: Any) -> DeviceRows:
        """Keep the rows for which a mask is true."""
        return replace(self, frame=self.frame[mask])

    def complete(self) -> Any:
        """Whether nothing is missing."""
        valid = [self.frame[name].notna() for name in self.frame.columns if self.frame[name].has_nulls]
        return reduce(and_, valid) if valid else None

    def valued(self, least: float | None) -> None:
        """Whether the cell of a matrix is an edge: matrices are read by the CPU."""
        if least is not None:
            raise NotOnDevice("min_value is for matrices")

    def distinct(self) -> Any:
        """Whether the two labels are different text."""
        left, right = self.frame["left"], self.frame["right"]
        if left.dtype != right.dtype:
            raise NotOnDevice("labels of one side are numbers, those of the other text")
        distinct = left != right
        if self.settings.self_labels == "error" and not distinct.all():
            raise NotOnDevice("an edge has the same label on both sides")
        return distinct

    def heavy(self, least: float) -> Any:
        """Whether the weight is so large."""
        return self.frame["weight"] >= least

    def within(self, since: float, until: float) -> Any:
        """Whether the time lies in a window."""
        return (self.frame["time"] >= since) & (self.frame["time"] < until)

    def sampled(self, fraction: float) -> Any:
        """Whether the left label is of the sample; each distinct one is hashed on the host."""
        import cudf

        distinct = self.frame["left"].unique().to_arrow()
        return self.frame["left"].isin(cudf.Series.from_arrow(distinct.filter(of_sample(distinct, fraction))))


# ---- uniting -------------------------------------------------------------------------------------


def _unite(rows: _Table, uri: str, settings: IngestSettings) -> EdgeTable:
    """Rank the labels, and unite repeated edges."""
    _, cp = cudf_and_cupy()
    left_of, left_ids = _ranked(rows, "left")
    right_of, right_ids = _ranked(rows, "right")
    weighted = len(rows.weight) > 0
    keys, weights = Kept(int(free_bytes() * KEPT_SHARE)), Kept(int(free_bytes() * KEPT_SHARE))
    n_rows = 0
    ends = [(np.zeros(0, np.int32), np.zeros(0, np.int32))]  # of groups in step, beside their times
    for number in range(len(rows.left)):
        left = left_of(number, rows.left.pop_first())
        key = left.astype(cp.int64) << 32 | right_of(number, rows.right.pop_first())
        n_rows += key.size
        if settings.in_step is not None:
            ends.append(_halves(cp, key))
        weight = rows.weight.pop_first() if weighted else None
        key, weight = _united(cp, key, weight, settings)
        keys.add(key)
        if weight is not None:
            weights.add(weight)
        del left, key, weight
    left, right, weight = _merged(cp, keys, weights if weighted else None, settings)
    timed = None
    if settings.in_step is not None:
        lefts, rights = zip(*ends, strict=True)
        left_of_rows, right_of_rows, times = map(np.concatenate, (lefts, rights, rows.time))
        timed = TimedRows(left_of_rows, right_of_rows, times, None, -np.inf).each_once("cuda" if n_rows else "cpu")
    n_once = left.size if timed is None else len(timed)
    summary = summarize(uri, rows.counts, n_rows, left.size, (left_ids, right_ids), settings, rows.noted, n_once)
    return EdgeTable(left, right, weight, left_ids, right_ids, summary, {}, timed)


def _halves(cp: Any, keys: Any) -> tuple[Any, Any]:
    """Both ends of edges that are given as numbers, on the host."""
    return (keys >> 32).astype(cp.int32).get(), (keys & 0xFFFFFFFF).astype(cp.int32).get()


def _ranked(rows: _Table, side: str) -> tuple[Callable[[int, Any], Any], pa.Array]:
    """A function that ranks the labels of a chunk, and all labels by rank."""
    return _ranked_text(rows.labels[side]) if rows.labels[side] else _ranked_numbers(getattr(rows, side))


def _ranked_numbers(kept: Kept) -> tuple[Callable[[int, Any], Any], pa.Array]:
    _, cp = cudf_and_cupy()
    found = cp.zeros(0, cp.int64)
    for number in range(len(kept)):
        found = cp.unique(cp.concatenate([found, cp.unique(kept.part(number, 0, None))]))  # type: ignore[arg-type]
    return lambda number, labels: cp.searchsorted(found, labels), pa.array(found.get())


def _ranked_text(dictionaries: list[Any]) -> tuple[Callable[[int, Any], Any], pa.Array]:
    """Dictionaries of the chunks are united and sorted by UTF-8 bytes, that is by code point."""
    cudf, cp = cudf_and_cupy()
    codes, labels = cudf.concat(dictionaries, ignore_index=True).factorize()
    labels = cudf.Series(labels)
    order = labels.argsort()
    rank = cp.empty(len(labels), cp.int64)
    rank[order.values] = cp.arange(len(labels))
    ranks = rank[cp.asarray(codes)]
    starts = np.cumsum([0, *map(len, dictionaries)])
    ascending = labels.iloc[order].to_arrow()
    return lambda number, code: ranks[int(starts[number]) + code], _plain_text(ascending)


def _plain_text(labels: pa.Array) -> pa.Array:
    """The labels as Arrow's own readers leave them.

    32-bit offsets from 0, no spare bytes, no validity.
    """
    labels = labels.cast(pa.string())
    return pa.array(labels.to_numpy(zero_copy_only=False), pa.string())


def _united(cp: Any, keys: Any, weights: Any, settings: IngestSettings) -> tuple[Any, Any]:
    """Sort keys and unite equal ones, as the policy says."""
    if weights is None:
        keys.sort()
        return keys[differs(keys)], None
    order = cp.argsort(keys, kind="stable")
    keys, weights = keys[order], weights[order]
    starts = cp.flatnonzero(differs(keys))
    if settings.duplicates == "sum":
        whole = weights.size == 0 or bool((cp.floor(weights) == weights).all() & (cp.abs(weights).sum() < EXACT))
        if not whole:
            raise NotOnDevice("sums of such weights depend on their order")
        sums = cp.concatenate([cp.zeros(1), cp.cumsum(weights)])
        return keys[starts], sums[cp.append(starts[1:], weights.size)] - sums[starts]
    if settings.duplicates == "max":
        order = cp.lexsort(cp.stack([weights, keys]))
        last = cp.append(starts[1:], weights.size) - 1
        return keys[starts], weights[order][last]
    return keys[starts], weights[starts]


def _merged(cp: Any, keys: Kept, weights: Kept | None, settings: IngestSettings) -> tuple[Any, Any, Any]:
    """Unite the chunks, each sorted and united, range by range; returns arrays of the host."""
    ranges = max(1, -(-keys.nbytes // int(free_bytes() * SORT_SHARE)))
    places = keys.find(_bounds(keys, ranges))
    parts: list[tuple[Any, Any, Any]] = []
    for number in range(ranges if len(keys) else 0):
        spans = [(i, int(place[number]), int(place[number + 1])) for i, place in enumerate(places)]
        key = cp.concatenate([keys.part(*span) for span in spans])
        weight = None if weights is None else cp.concatenate([weights.part(*span) for span in spans])
        if len(keys) > 1:
            key, weight = _united(cp, key, weight, settings)
        parts.append((*_halves(cp, key), None if weight is None else weight.get()))
    if not parts:
        return np.zeros(0, np.int32), np.zeros(0, np.int32), None
    left, right, weight = (None if column[0] is None else np.concatenate(column) for column in zip(*parts, strict=True))
    return left, right, weight


def _bounds(keys: Kept, ranges: int) -> Any:
    """Keys that cut all chunks in so many ranges of about equal size."""
    if ranges == 1:
        return np.zeros(0, np.int64)
    step = max(keys.nbytes // 8 // (1000 * ranges), 1)
    sample = np.sort(np.concatenate([keys.part(i, 0, None)[::step].get() for i in range(len(keys))]))  # type: ignore[arg-type]
    return sample[np.arange(1, ranges) * sample.size // ranges]
