"""A window of time that ends with the latest row: what it holds, and what it needs to move on.

Edges alone do not say when one leaves the window, and united weights do not say what goes with it.
So a graph of a window keeps its rows beside its edges: without weights one row an edge, that of its
latest time; with weights every row, in the order in which they came.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bicliq.pipeline.columns import values_of
from bicliq.pipeline.settings import parse_duration
from bicliq.pipeline.store.layout import GraphFolder
from bicliq.pipeline.store.records import named_files

ROWS_FILE = "rows.parquet"

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

    Returns
    -------
    float, list of array
        The latest time (-inf: there are no rows), and a mask a column.
    """
    columns = [column.to_numpy(zero_copy_only=False) for column in times]
    latest = max((float(column.max()) for column in columns if len(column)), default=-np.inf)
    return latest, [column >= begin_of(latest, window) for column in columns]


def read_rows(folder: GraphFolder, record: dict[str, Any]) -> TimedRows | None:
    """Read the rows of the window of a graph, by its graph.json; None where it has no window."""
    stored = named_files(record)
    if ROWS_FILE not in stored:
        return None
    table = folder.read_table(stored[ROWS_FILE])
    weight = values_of(table["weight"]) if "weight" in table.column_names else None
    left, right, time = (values_of(table[name]) for name in ("left", "right", "time"))
    return TimedRows(left, right, time, weight, float(record["summary"]["latest"]))
