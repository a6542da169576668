"""When the vertices of a stored graph acted, where its runs are of groups in step.

Such a graph keeps all rows of its table with their times. When a group was in step, and how far
that is beyond chance, is reckoned from them when it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bicliq import kernels
from bicliq.pipeline.columns import column_of, values_of
from bicliq.pipeline.graphs.actions import MICROSECONDS, Actions
from bicliq.pipeline.graphs.moments import ByChance, Moments
from bicliq.pipeline.store.bicliques import offsets_and_ids
from bicliq.pipeline.store.edges import read_edge_columns
from bicliq.pipeline.store.layout import GraphFolder
from bicliq.pipeline.times import parse_duration

ROWS_FILE = "rows.parquet"
"""Rows of a graph with their times: left, right, time."""

WINDOW = pa.struct([("start", pa.timestamp("us", "UTC")), ("end", pa.timestamp("us", "UTC"))])
"""Of a right member of a group in step: the first and the last action in its window."""

Group = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]


def groups_of(table: pa.Table) -> Iterator[Group]:
    """Yield the members of each biclique of a table with the columns left and right.

    Examples
    --------
    >>> table = pa.table({"left": [[0, 1]], "right": [[2]]})
    >>> [(left.tolist(), right.tolist()) for left, right in groups_of(table)]
    [([0, 1], [2])]
    """
    for left, right in zip(*(table[side] for side in ("left", "right")), strict=True):
        yield values_of(left.values), values_of(right.values)


class Acted:
    """When the vertices of a graph acted; its rows are read when they are first asked for.

    Parameters
    ----------
    graph
        A graph of which runs are of groups in step.
    in_step
        How long a window is, as it is written.
    """

    def __init__(self, graph: GraphFolder, in_step: str) -> None:
        self.graph = graph
        self.length = round(parse_duration(in_step) * MICROSECONDS)

    @classmethod
    def of(cls, graph: GraphFolder) -> Acted | None:
        """Return this of a graph; None where its runs are of bicliques."""
        in_use, in_step = _IN_USE.get(graph.uri), graph.record().summary.in_step
        if in_use is None and in_step is not None:
            in_use = _IN_USE[graph.uri] = cls(graph, in_step)
        return in_use

    def __getstate__(self) -> dict[str, Any]:
        return {"graph": self.graph, "length": self.length}  # another process reads the rows itself

    @cached_property
    def _rows(self) -> list[Any]:
        table = self.graph.read_table(self.graph.record().written(ROWS_FILE))
        return [values_of(table[name]) for name in ("left", "right", "time")]

    @cached_property
    def actions(self) -> Actions:
        """All rows."""
        return Actions.of(*self._rows)

    @cached_property
    def moments(self) -> Moments:
        """When groups were in step."""
        return Moments(self.actions, self.length)

    @cached_property
    def chance(self) -> ByChance:
        """What groups are worth beside chance."""
        ends, sizes = read_edge_columns(self.graph), self.graph.record().sizes
        left, right = (np.bincount(end, minlength=n) for n, end in zip(sizes, ends, strict=True))
        return ByChance(self.actions, self.length, right, kernels.SurpriseTerms.of_degrees(left, right))

    def worth(self, left: Any, right: Any) -> tuple[float, float]:
        """Return the surprise of a group, and how many pairs chance puts into its windows."""
        return self.chance.of(left, right, self.moments.of(left, right))

    def windows(self, table: pa.Table) -> pa.ListArray:
        """Return the windows of groups of dense ids: a list of `WINDOW` each, by right members."""
        moments = self._moments_of(table)
        spans = [span for left, right in groups_of(table) for span in moments.of(left, right)]
        ends = np.array(spans, np.int64).reshape(-1, 2)
        times = [column_of(ends[:, side].copy()).cast(WINDOW.field(side).type) for side in (0, 1)]
        offsets = offsets_and_ids(table["right"].combine_chunks())[0]
        return pa.ListArray.from_arrays(column_of(offsets), pa.StructArray.from_arrays(times, fields=list(WINDOW)))

    def _moments_of(self, table: pa.Table) -> Moments:
        """When the members of some groups acted on each other: a small part of the rows."""
        kept = np.ones(len(self._rows[0]), np.bool_)
        for side, ends, n in zip(("left", "right"), self._rows, self.graph.record().sizes, strict=False):
            members = np.zeros(n, np.bool_)
            members[offsets_and_ids(table[side].combine_chunks())[1]] = True
            kept &= members[ends]
        return Moments(Actions.of(*(column[kept] for column in self._rows)), self.length)


_IN_USE: WeakValueDictionary[str, Acted] = WeakValueDictionary()
"""Of each graph the one that somebody holds: rows are read once for all that ask at a time."""


def in_words(windows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return windows with their times as ISO text.

    Examples
    --------
    >>> import datetime as dt
    >>> at = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    >>> in_words([{"start": at, "end": at}])[0]["end"]
    '2026-01-01T00:00:00+00:00'
    """
    return [{end: time.isoformat() for end, time in window.items()} for window in windows]
