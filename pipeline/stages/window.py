"""A window of time that ends with the latest row: what it holds, and what it needs to move on.

Edges alone do not say when one leaves the window, and united weights do not say what goes with it.
So a graph of a window keeps its rows beside its edges: without weights one row an edge, that of its
latest time; with weights every row, in the order in which they came.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bicliq.pipeline.columns import values_of
from bicliq.pipeline.graphs.actions import in_one, micros_of
from bicliq.pipeline.placement.arrays import differs, order_by, to_host
from bicliq.pipeline.placement.device import on
from bicliq.pipeline.placement.where import Backend
from bicliq.pipeline.store.account import Summary
from bicliq.pipeline.store.acted import ROWS_FILE
from bicliq.pipeline.store.layout import GraphFolder
from bicliq.pipeline.store.records import StoredGraph
from bicliq.pipeline.times import parse_duration, parse_jump

Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
Float64s = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TimedRows:
    """Rows of a window of time.

    Parameters
    ----------
    left, right
        int32: dense ids.
    time
        float64: Unix seconds.
    weight
        float64, or None.
    latest
        Time of the latest row that was ever read: the end of the window.
    """

    left: Int32s
    right: Int32s
    time: Float64s
    weight: Float64s | None
    latest: float

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.left)

    @property
    def keys(self) -> Int64s:
        """Both ends of each row in one number, which sorts like them."""
        keys: Int64s = (self.left.astype(np.int64) << 32) | self.right
        return keys

    def where(self, chosen: Any) -> TimedRows:
        """Keep some rows: a mask, or their numbers."""
        weight = None if self.weight is None else self.weight[chosen]
        return replace(self, left=self.left[chosen], right=self.right[chosen], time=self.time[chosen], weight=weight)

    def until(self, latest: float, window: str) -> TimedRows:
        """Move the window on: keep the rows that lie in it when it ends with this time."""
        return replace(self.where(self.time >= begin_of(latest, window)), latest=latest)

    def followed_by(self, more: TimedRows) -> TimedRows:
        """Return these rows and then others, which end the window."""
        weight = None if self.weight is None or more.weight is None else np.concatenate([self.weight, more.weight])
        left, right = np.concatenate([self.left, more.left]), np.concatenate([self.right, more.right])
        return TimedRows(left, right, np.concatenate([self.time, more.time]), weight, more.latest)

    def needed(self) -> TimedRows:
        """Keep what a window needs to move on: without weights the latest row of each edge.

        Examples
        --------
        >>> rows = TimedRows(np.int32([0, 1, 0]), np.int32([2, 2, 2]), np.array([5.0, 6.0, 9.0]), None, 9.0)
        >>> rows.needed().left.tolist(), rows.needed().time.tolist()
        ([0, 1], [9.0, 6.0])
        """
        if self.weight is not None:
            return self
        order = np.lexsort((self.time, self.keys))
        keys = self.keys[order]
        last = np.ones(len(keys), np.bool_)
        np.not_equal(keys[1:], keys[:-1], out=last[:-1])
        return self.where(order[last])

    def each_once(self, backend: Backend = "cpu") -> TimedRows:
        """Return actions by right vertex, time and left vertex, each once, and without weights.

        `backend`: the machine that sorts them.

        Examples
        --------
        >>> rows = TimedRows(np.int32([1, 0, 1]), np.int32([0, 0, 0]), np.array([5.0, 5.0, 5.0]), None, 0.0)
        >>> rows.each_once().left.tolist()
        [0, 1]
        """
        order, first = self.as_actions(backend)
        return replace(self.where(order[first]), weight=None)

    def as_actions(self, backend: Backend = "cpu") -> tuple[Int64s, npt.NDArray[np.bool_]]:
        """Return that order of the rows, and which of them differ from the one before."""
        left, right, time = on(backend, self.left, self.right, self.time)
        key = in_one(right, micros_of(time))
        order = order_by(time, left, key)
        return to_host(order), to_host(differs(key[order]) | differs(left[order]))

    def in_ids(self, left: Int64s, right: Int64s) -> TimedRows:
        """Return the rows with other ids: those at the places of the old ones."""
        return replace(self, left=left[self.left].astype(np.int32), right=right[self.right].astype(np.int32))

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return what is stored of them."""
        weight = {} if self.weight is None else {"weight": self.weight}
        return {"left": self.left, "right": self.right, "time": self.time, **weight}


def begin_of(latest: float, window: str) -> float:
    """Return the first moment of a window that ends with a time; it belongs to the window."""
    return latest - parse_duration(window)


def cut_to_window(times: Iterable[pa.Array], window: str) -> tuple[float, list[npt.NDArray[np.bool_]]]:
    """Say of some columns of times which rows the window holds that ends with the latest of all.

    Returns the latest time (-inf: there are no rows), and a mask a column.
    """
    columns = [column.to_numpy(zero_copy_only=False) for column in times]
    latest = max((float(column.max()) for column in columns if len(column)), default=-np.inf)
    return latest, [column >= begin_of(latest, window) for column in columns]


@dataclass(frozen=True)
class Jump:
    """A move of a window that is larger than it may be.

    Parameters
    ----------
    before, time
        Unix seconds of the row before it, or of the end of the window, and of the row that does it.
    windows
        What `window_jump` must be, in windows, so that no row of the table is refused.
    """

    before: float
    time: float
    windows: int


def find_jump(times: Iterable[pa.Array], window: str, most: str, latest: float | None) -> Jump | None:
    """Find the first row, by time, that moves a window on by more than it may be moved.

    `times`: columns of times. `window`, `most`: `window` and `window_jump` of the settings.
    `latest`: where the window ends before these rows; None: they are its first. Fewer of those then
    lie behind the jump than before it: a table may begin with rows that are far too old.

    Examples
    --------
    >>> find_jump([pa.array([0.0, 5.0, 900.0])], "10", "3", None)
    Jump(before=5.0, time=900.0, windows=90)
    >>> find_jump([pa.array([0.0, 5.0, 35.0])], "10", "3", 0.0) is None
    True
    """
    columns = [column.to_numpy(zero_copy_only=False) for column in times]
    found = np.sort(np.concatenate([np.zeros(0), *columns]))
    if latest is not None:
        found = np.concatenate([[latest], found[found > latest]])
    steps = np.diff(found)
    behind = len(found) - 1 - np.arange(len(steps))
    refused = np.flatnonzero(steps > parse_jump(most, window))
    if latest is None:
        refused = refused[2 * behind[refused] <= len(found)]
    if not len(refused):
        return None
    first, length = int(refused[0]), parse_duration(window)
    return Jump(float(found[first]), float(found[first + 1]), math.ceil(float(steps[refused].max()) / length))


def in_words(seconds: float) -> str:
    """Write a time as an ISO date, or as a date with a time of the day, of UTC.

    Examples
    --------
    >>> in_words(1230768000.0), in_words(1230768001.5)
    ('2009-01-01', '2009-01-01T00:00:01.500000')
    """
    try:
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)
    except OverflowError:  # before the year 1
        return f"{seconds:,.0f} s"
    return moment.isoformat().removesuffix("T00:00:00")


def left_out(summary: Summary) -> str | None:
    """Say how many rows of a table lie before the window that it was joined to; None: none does."""
    n, window = summary.dropped_by_window, summary.policies.get("window")
    if not n or window is None or summary.latest is None:
        return None
    begin = in_words(begin_of(summary.latest, window))
    rows, lie, are = ("row", "lies", "is") if n == 1 else ("rows", "lie", "are")
    return f"{n:,} {rows} {lie} before the window, which begins at {begin}, and {are} left out"


def read_rows(folder: GraphFolder, record: StoredGraph) -> TimedRows | None:
    """Read the rows of the window of a graph, by its graph.json; None where it has no window."""
    file = record.if_written(ROWS_FILE)
    if file is None:
        return None
    table = folder.read_table(file)
    weight = values_of(table["weight"]) if "weight" in table.column_names else None
    left, right, time = (values_of(table[name]) for name in ("left", "right", "time"))
    return TimedRows(left, right, time, weight, -math.inf if record.summary.latest is None else record.summary.latest)
