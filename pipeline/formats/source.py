"""What is known of an edge table once it was recognised, and the batches in which its rows come."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import pyarrow as pa

from bicliq.pipeline.formats.kinds import LINES
from bicliq.pipeline.settings import Format, IngestSettings

KNOWN = ", ".join(name for name in get_args(Format) if name != "auto")

FIRST_WORD = "0"
"""The left column of baskets that begin with their names."""


@dataclass(frozen=True)
class Layout:
    """Where the columns of a file are, and what its ids mean.

    Parameters
    ----------
    skip
        Lines before the first edge.
    delimiter
        Field separator; None: any run of blanks.
    left, right, weight, time
        Positions of the columns, from 0; weight and time only where they are wanted.
    ids
        "labels" are any text or whole numbers, "numbers" are whole numbers from 0, and "indices"
        count from 1.
    columns
        Fields that a line has.
    names
        Names of the columns, or their numbers where the file names none, and the keys.
    header
        Whether the names are the file's own.
    by_name
        Whether every wanted column was found by its name, so that its position does not matter.
    n_left, n_right
        Declared sizes, which no index may exceed; 0: not declared.
    rows
        Declared number of edges; None: not declared.
    one_set
        Whether the file says that both columns are of one set of vertices.
    value
        Position of the column that ties a row's labels only where it is not 0, as in the entries of
        a matrix; None: every row is an edge.
    keys
        Columns that are no fields but keys of the file's folders, and their labels; None: missing.
    assumed
        What was taken for granted: see `EdgeSource`.
    """

    skip: int
    delimiter: str | None
    left: int
    right: int
    weight: int | None
    time: int | None
    ids: Literal["labels", "numbers", "indices"]
    columns: int
    names: tuple[str, ...] = ()
    header: bool = False
    by_name: bool = False
    n_left: int = 0
    n_right: int = 0
    rows: int | None = None
    one_set: bool = False
    value: int | None = None
    keys: Mapping[str, str | None] = field(default_factory=dict)
    assumed: tuple[str, ...] = ()

    @property
    def wanted(self) -> dict[str, int]:
        """Positions of the columns that are read, by what they are for."""
        places = {"left": self.left, "right": self.right, "weight": self.weight, "time": self.time}
        places["value"] = self.value
        return {name: at for name, at in places.items() if at is not None}


@dataclass(frozen=True)
class EdgeBatch:
    """Some rows of an edge table, in the order of the file.

    Parameters
    ----------
    edges
        Columns left and right (int64 or string), weight (float64) and time (Unix seconds, float64)
        as wanted. Labels are text where one of the batch is no plain whole number: a side may be
        numbers in one batch and text in the next, and is text then.
    place
        Says where a row, counted from 0, stands: "edges.csv, line 12".
    ragged
        Lines with too many or too few fields, which were left out.
    noted
        Numbers of what was found and read otherwise than it is written, by name: they are added up
        over batches.
    empty
        Where its first list of no label stands; "": all have some.
    """

    edges: pa.RecordBatch
    place: Callable[[int], str]
    ragged: int = 0
    noted: Mapping[str, int] = field(default_factory=dict)
    empty: str = ""


@dataclass(frozen=True)
class EdgeSource:
    """An edge table that was recognised, ready to be read.

    Parameters
    ----------
    uri, format, bytes
        The file, its format and its size.
    settings
        How it is read.
    layout
        Where its columns are; None: it has none (adjacency lists).
    text_sides
        Sides whose labels are text, whatever they look like.
    parts
        The files of a glob or folder; none for a single file.
    table
        The columns that are read, where the table is in memory; None: they are in the file.
    assumed
        What was taken for granted when it was opened: sentences that begin with the file, and say
        what to do where it is wrong, with settings as in Python (header = false).
    noted
        What was found when it was opened: see `EdgeBatch`.
    lone
        Labels of left and of right vertices without an edge, where its opening told them.
    rows
        Numbers of the rows of `table` in a sheet; none: they are counted from 0.
    """

    uri: str
    format: str
    bytes: int
    settings: IngestSettings
    layout: Layout | None
    text_sides: frozenset[str] = frozenset()
    parts: tuple[EdgeSource, ...] = ()
    table: pa.Table | None = None
    assumed: tuple[str, ...] = ()
    noted: Mapping[str, int] = field(default_factory=dict)
    lone: tuple[Sequence[Any], Sequence[Any]] = ((), ())
    rows: Sequence[int] = ()

    @property
    def files(self) -> tuple[EdgeSource, ...]:
        """The files of the table, each a source of its own, in the order of their names."""
        return self.parts or (self,)

    @property
    def names_its_baskets(self) -> bool:
        """Whether the first word of each basket is its name."""
        return self.format == "baskets" and self.settings.left == FIRST_WORD

    @property
    def columns(self) -> dict[str, str]:
        """Names of the columns that are read, by what they are for."""
        if self.layout is None:
            names = dict(zip(("left", "right"), LINES[self.format].sides, strict=True))
            return names | ({"left": FIRST_WORD} if self.names_its_baskets else {})
        return {role: self.layout.names[at] for role, at in self.layout.wanted.items()}

    @property
    def columns_to_ask(self) -> dict[str, str]:
        """The columns by what they are asked for again: one without a name by its number."""
        places = {} if self.layout is None else self.layout.wanted
        return {role: name or str(places[role]) for role, name in self.columns.items()}
