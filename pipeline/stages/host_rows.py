"""Rows of an edge table on the CPU: filtered batch by batch, and kept until they are united."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.columns import column_of, values_of
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats import EdgeBatch
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.ingest_policies import no_rows, of_sample
from bicliq.pipeline.stages.window import cut_to_window
from bicliq.pipeline.words import shown


class KeptRows:
    """The rows that pass the filters, one array a batch; counts of the others, and notes."""

    def __init__(self) -> None:
        self.left: list[pa.Array] = []
        self.right: list[pa.Array] = []
        self.weight: list[pa.Array] = []
        self.time: list[pa.Array] = []
        self.latest = -math.inf
        self.counts = no_rows()
        self.noted: Counter[str] = Counter()

    def add(self, edges: pa.RecordBatch) -> None:
        """Keep rows; labels of text as a dictionary and codes."""
        for name, chunks in (("left", self.left), ("right", self.right)):
            column = edges[name]
            chunks.append(column.dictionary_encode() if pa.types.is_string(column.type) else column)
        for name, chunks in (("weight", self.weight), ("time", self.time)):
            if name in edges.schema.names:
                chunks.append(edges[name])

    @property
    def bytes(self) -> int:
        """Bytes of the rows that are kept."""
        return sum(int(chunk.nbytes) for chunks in (self.left, self.right, self.weight, self.time) for chunk in chunks)

    def clear(self) -> None:
        """Let go of the rows; their counts stay."""
        for chunks in (self.left, self.right, self.weight, self.time):
            chunks.clear()

    def weights(self) -> npt.NDArray[np.float64] | None:
        """Return the weights of all rows, where there are any."""
        return values_of(pa.chunked_array(self.weight)) if self.weight else None

    def cut(self, window: str) -> None:
        """Keep the rows of a window of time."""
        self.latest, masks = cut_to_window(self.time, window)
        for chunks in (self.left, self.right, self.weight, self.time):
            chunks[:] = [chunk.filter(column_of(mask)) for chunk, mask in zip(chunks, masks, strict=False)]
        self.counts["dropped_by_window"] += sum(int((~mask).sum()) for mask in masks)


@dataclass(frozen=True, eq=False)
class HostRows:
    """Rows in Arrow arrays, for the policies (`ingest_policies.Rows`).

    `edges`: the rows that are left. `batch`: what was read, to say where a row stands. `settings`:
    how equal labels are taken.
    """

    edges: pa.RecordBatch
    batch: EdgeBatch
    settings: IngestSettings

    def __len__(self) -> int:
        """Number of rows."""
        return int(self.edges.num_rows)

    def where(self, mask: pa.Array) -> HostRows:
        """Keep the rows for which a mask is true."""
        return replace(self, edges=self.edges.filter(mask, null_selection_behavior="drop"))

    def complete(self) -> pa.Array | None:
        """Whether nothing is missing."""
        valid = [pc.is_valid(column) for column in self.edges.columns if column.null_count]
        return reduce(pc.and_, valid) if valid else None

    def valued(self, least: float | None) -> pa.Array | None:
        """Whether the cell of a matrix is an edge."""
        if "value" not in self.edges.schema.names:
            if least is not None and self.batch.edges.num_rows:
                raise InputError(
                    f"{self.batch.place(0)}: min_value is for cells of a matrix, and this is a row of an edge table;"
                    " leave it out, name the weight and say min_weight, or say format = 'matrix' if it is one"
                )
            return None
        value = self.edges["value"]
        return (
            pc.not_equal(value, 0) if least is None else pc.and_(pc.greater_equal(value, least), pc.not_equal(value, 0))
        )

    def distinct(self) -> pa.Array:
        """Whether the two labels are different text."""
        if self.settings.self_labels == "error":
            row = pc.index(_equal_labels(self.batch.edges), True).as_py()
            if row >= 0:
                raise InputError(
                    f"{self.batch.place(row)}: an edge has the same label"
                    f" {shown(self.batch.edges['left'][row].as_py())} on both sides; drop such edges with"
                    " self_labels = 'drop', or keep them with 'keep'"
                )
        return pc.invert(_equal_labels(self.edges))

    def heavy(self, least: float) -> pa.Array:
        """Whether the weight is so large."""
        return pc.greater_equal(self.edges["weight"], least)

    def within(self, since: float, until: float) -> pa.Array:
        """Whether the time lies in a window."""
        seconds = self.edges["time"]
        return pc.and_(pc.greater_equal(seconds, since), pc.less(seconds, until))

    def sampled(self, fraction: float) -> pa.Array:
        """Whether the left label is of the sample."""
        return of_sample(self.edges["left"], fraction)


def loops_among(edges: pa.RecordBatch) -> int:
    """Number of rows that tie a label to itself."""
    return int(pc.sum(_equal_labels(edges)).as_py() or 0)


def _equal_labels(edges: pa.RecordBatch) -> pa.Array:
    left, right = edges["left"], edges["right"]
    if left.type != right.type:
        left, right = pc.cast(left, pa.string()), pc.cast(right, pa.string())
    return pc.equal(left, right)
