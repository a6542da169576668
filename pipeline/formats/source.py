"""What is known of an edge table once it was recognised: its files, where its columns are, and what its ids mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from pipeline.settings import IngestSettings

KNOWN = "csv, tsv, parquet, konect, snap, mtx, adjacency"
INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True)
class Layout:
    """Where the columns of a text file are, and what its ids mean.

    Parameters
    ----------
    skip
        Lines before the first edge.
    delimiter
        Field separator; None: any run of blanks.
    left, right, weight, time
        Positions of the columns, from 0; weight and time only where they are wanted.
    ids
        "labels" are any text or whole numbers, "numbers" are whole numbers from 0, and "indices" count from 1.
    n_left, n_right
        Declared sizes, which no index may exceed; 0: not declared.
    columns
        Fields a line has.
    rows
        Declared number of edges; None: not declared.
    """

    skip: int
    delimiter: str | None
    left: int
    right: int
    weight: int | None
    time: int | None
    ids: Literal["labels", "numbers", "indices"]
    columns: int
    n_left: int = 0
    n_right: int = 0
    rows: int | None = None


class TextLabels(Exception):
    """Raised when a side's labels are text after all: read the table again `with_text`."""

    def __init__(self, side: str) -> None:
        super().__init__(side)
        self.side = side


class DroppedLines:
    """Counts the ragged lines that a reader leaves out."""

    def __init__(self) -> None:
        self.lines = 0

    def add(self, row: Any) -> str:
        """Tell the parser to skip a row."""
        self.lines += 1
        return "skip"


@dataclass(frozen=True)
class EdgeSource:
    """An edge table that was recognised, ready to be read.

    Parameters
    ----------
    uri, format, bytes
        The file, its format and its size.
    has_weight, has_time
        Which columns the batches have besides left and right.
    shared_labels
        Whether both sides draw their ids from one space, so that equal labels are the same thing.
    parts
        The files of a glob or folder; none for a single file.
    """

    uri: str
    format: str
    bytes: int
    settings: IngestSettings
    layout: Layout | None
    has_weight: bool
    has_time: bool
    shared_labels: bool = False
    text_sides: frozenset[str] = frozenset()
    parts: tuple[EdgeSource, ...] = ()

    @property
    def files(self) -> tuple[EdgeSource, ...]:
        """The files of the table, each a source of its own, in the order of their names."""
        return self.parts or (self,)

    def with_text(self, side: str) -> EdgeSource:
        """The same table with the labels of a side read as text."""
        parts = tuple(part.with_text(side) for part in self.parts)
        return replace(self, text_sides=self.text_sides | {side}, parts=parts)
