"""When the edges of some groups were first seen: the store keeps no times, so tables tell again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.errors import InputError, StorageError
from bicliq.pipeline.formats import open_edges, read_batches
from bicliq.pipeline.report.groups import GroupPicture
from bicliq.pipeline.report.history import Step
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.host_rows import HostRows
from bicliq.pipeline.stages.ingest_policies import filtered, no_rows
from bicliq.pipeline.store.account import Summary
from bicliq.pipeline.store.records import StoredGraph
from bicliq.pipeline.store.results import Run

CHOSEN = ("csv", "tsv", "parquet")
"""Formats whose columns are chosen; KONECT has times in a fixed one."""


@dataclass(frozen=True)
class Times:
    """When edges were first seen.

    `first`, `last`: of all edges of the tables, in Unix seconds. `of`: by the labels of an edge, in
    Unix seconds. `to_the_second`: whether people are told more than the day.
    """

    first: float
    last: float
    of: dict[tuple[Any, Any], float]
    to_the_second: bool = False

    def in_words(self, seconds: float) -> str:
        """Write a time."""
        return str(np.datetime64(int(seconds), "s")).replace("T", " ") if self.to_the_second else day(seconds)

    def of_cells(self, picture: GroupPicture) -> npt.NDArray[np.float64]:
        """Return the times of the cells of a picture, shape (rows, columns); NaN: not known."""
        times = [[self.of.get((left, right), math.nan) for right in picture.right] for left in picture.left]
        return np.array(times).reshape(picture.present.shape)


def day(seconds: float) -> str:
    """The day of a time in Unix seconds, UTC.

    Examples
    --------
    >>> day(86400.0), day(1e11)
    ('1970-01-02', '5138-11-16')
    """
    return str(np.datetime64(int(seconds), "s").astype("datetime64[D]"))


@dataclass(frozen=True)
class Timed:
    """What a page says of a group in step.

    `times`: when its members acted. `surprise`, `expected`: how far it is beyond chance, and how
    many of its pairs chance puts into its windows.
    """

    times: Times
    surprise: float
    expected: float


def read_times(run: Run, steps: Iterable[Step], pictures: Iterable[GroupPicture]) -> Times | str:
    """Read the times of the edges of some groups from the tables that a run was made of.

    Returns a sentence instead that says why they are not known: a table has no times, was in
    memory, is gone, or is no longer what it was.

    O(rows): each table is read once more.
    """
    shown = list(pictures)
    members = [
        sorted({label for each in shown for label in labels(each)})
        for labels in (attrgetter("left"), attrgetter("right"))
    ]
    kinds = run.left_ids.type, run.right_ids.type
    wanted = [pa.array(side, kind) for side, kind in zip(members, kinds, strict=True)]
    found, bounds = [], []
    try:
        for edges in _rows(steps):
            span = pc.min_max(edges["time"]).as_py()
            if span["min"] is not None:
                bounds += [span["min"], span["max"]]
            sides = [edges[name].cast(kind) for name, kind in zip(("left", "right"), kinds, strict=True)]
            mask = pc.and_(*(pc.is_in(side, value_set=some) for side, some in zip(sides, wanted, strict=True)))
            found.append(pa.table([*sides, edges["time"]], ["left", "right", "time"]).filter(mask))
    except _NoTimesError as reason:
        return str(reason)
    except (InputError, StorageError, pa.ArrowInvalid) as error:
        return f"Times cannot be read again: {error}."
    if not bounds:
        return "No edge has a time."
    first = pa.concat_tables(found).group_by(["left", "right"]).aggregate([("time", "min")]).to_pydict()
    pairs = zip(first["left"], first["right"], strict=True)
    return Times(min(bounds), max(bounds), dict(zip(pairs, first["time_min"], strict=True)))


class _NoTimesError(Exception):
    """Raised when a table has no times to tell; its text says why."""


def _rows(steps: Iterable[Step]) -> Iterator[pa.RecordBatch]:
    """Rows of the tables that a run was made of, filtered as they were."""
    for step in steps:
        if step.update is None or not step.update.deleted:
            yield from _rows_of(step.graph)


def _rows_of(graph: StoredGraph) -> Iterator[pa.RecordBatch]:
    source = graph.summary.source
    reading = _reading(graph.summary)
    opened = open_edges(source.uri, reading)
    if opened.bytes != source.bytes:
        raise _NoTimesError(f"{source.uri} is no longer the table that was read: times are not shown.")
    for batch in read_batches(opened):
        yield filtered(HostRows(batch.edges, batch, reading), reading, no_rows()).edges


def _reading(summary: Summary) -> IngestSettings:
    """How a table was read, with its times."""
    kind = summary.source.format
    if kind == "table":
        raise _NoTimesError("The table was in memory: times are not shown.")
    if kind not in (*CHOSEN, "konect"):
        raise _NoTimesError(f"Tables of the format {kind} are not looked at for times.")
    columns = dict(summary.columns) if kind in CHOSEN else {"time": "time"}
    if "time" not in columns:
        raise _NoTimesError("No column of times was named: name it with --time, and each edge gets its time here.")
    policies = {name: value for name, value in summary.policies.items() if value is not None}
    return IngestSettings.model_validate({**policies, **columns, "format": kind})
