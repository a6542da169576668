"""Formats whose lines are no rows of columns: their lines in, edges by the line out, as batches."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.columns import wants_weight
from bicliq.pipeline.formats.encoded import encoding_advice, open_text
from bicliq.pipeline.formats.kinds import LINES
from bicliq.pipeline.formats.labels import plain_numbers, tidy
from bicliq.pipeline.formats.problems import DROP_NULLS
from bicliq.pipeline.formats.source import EdgeBatch, EdgeSource
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import shown

BATCH_ROWS = 1 << 20
"""Edges of a batch, to the end of a line."""

Label: TypeAlias = str | int


@dataclass(frozen=True)
class Neighbours:
    """What a line says of one left vertex.

    `line`: number of the line, from 1. `right`: its neighbours; None: the label is missing.
    `values`: what stands in the cell of each, where there are cells.
    """

    line: int
    left: Label | None
    right: Sequence[Label | None]
    values: Sequence[float] | None = None


@dataclass
class TextLines:
    """Numbered lines of a text file, without their ends and without comments; blank ones as well.

    `uri`, `settings`: the file, and which lines of it are left out. `noted`: counts of what was
    found and not told yet: comments, which were left out.

    Raises
    ------
    InputError
        At the first line that is no UTF-8 text.
    """

    uri: str
    settings: IngestSettings
    noted: Counter[str] = field(default_factory=Counter)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Yield number and text of each."""
        with open_text(self.uri, self.settings.encoding) as file:
            mark = None if self.settings.comment is None else self.settings.comment.encode()
            for number, whole in enumerate(file, 1):
                line = whole.removeprefix(codecs.BOM_UTF8) if number == 1 else whole
                if number <= self.settings.skip:
                    continue
                if mark is not None and line.startswith(mark):
                    self.noted["comments"] += 1
                    continue
                try:
                    text = line.decode()
                except UnicodeDecodeError as error:
                    raise InputError(
                        f"{self.uri}, line {number}: byte {line[error.start]:#04x} is no UTF-8 text:"
                        f" {encoding_advice(line)}"
                    ) from None
                yield number, text.rstrip("\r\n")

    def told(self, batch: EdgeBatch) -> EdgeBatch:
        """Note in a batch what was found since the last one."""
        noted, self.noted = self.noted, Counter()
        return replace(batch, noted={**batch.noted, **noted})


@dataclass
class _Collected:
    """Edges of some lines, until they are a batch."""

    left: list[Label | None] = field(default_factory=list)
    degrees: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    right: list[Label | None] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    empty: list[int] = field(default_factory=list)

    def add(self, found: Neighbours) -> None:
        """Take what a line says."""
        if not found.right:
            self.empty.append(found.line)
        self.left.append(found.left)
        self.degrees.append(len(found.right))
        self.lines.append(found.line)
        self.right.extend(found.right)
        self.values.extend(found.values or ())


def edge_batches(
    source: EdgeSource, lines: TextLines, found: Iterable[Neighbours], *, quoted: bool = False
) -> Iterator[EdgeBatch]:
    """Batches of the edges that lines hold.

    `source`: the file, and how it is read; its layout says whether cells are weights. `lines`,
    `found`: the lines, and what they say, in their order. `quoted`: whether words for missing
    values are None already, as in quotes they are labels. Raises InputError where a label is
    missing and that is an error.
    """
    some = _Collected()
    for each in found:
        some.add(each)
        if len(some.right) >= BATCH_ROWS:
            yield lines.told(_batch(source, some, quoted))
            some = _Collected()
    yield lines.told(_batch(source, some, quoted))


def _batch(source: EdgeSource, some: _Collected, quoted: bool) -> EdgeBatch:
    lines = np.repeat(np.array(some.lines, np.int64), some.degrees)
    owners = pa.array(np.repeat(np.arange(len(some.left)), some.degrees))
    left, of_left = _labels_of(_column(some.left).take(owners), source.settings, quoted)
    right, of_right = _labels_of(_column(some.right), source.settings, quoted)
    columns = {"left": left, "right": right}
    if some.values:
        values = pa.array(some.values, pa.float64(), from_pandas=True)
        columns |= dict.fromkeys(("value", "weight") if wants_weight(source.settings) else ("value",), values)

    def place(row: int) -> str:
        return f"{source.uri}, line {lines[row]}"

    if source.settings.nulls == "error":
        for role, column in columns.items():
            if column.null_count:
                row = pc.index(pc.is_null(column), True).as_py()
                what = "cell is no number" if role in ("value", "weight") else f"{role} id is missing (null)"
                raise InputError(f"{place(row)}: a {what}; fill it in, or {DROP_NULLS}")
    empty = some.empty if LINES[source.format].of_rows else []
    found = {"stripped": of_left + of_right, "empty_rows": len(empty)}
    noted = {name: n for name, n in found.items() if n}
    return EdgeBatch(
        pa.record_batch(columns), place, noted=noted, empty=f"{source.uri}, line {empty[0]}" if empty else ""
    )


def _column(labels: Sequence[Label | None]) -> pa.Array:
    return pa.array(labels, pa.int64() if labels and isinstance(labels[0], int) else pa.string())


def _labels_of(labels: pa.Array, settings: IngestSettings, quoted: bool) -> tuple[pa.Array, int]:
    """Labels of a side, and how many lost blanks around them.

    Numbers where all are plain ones, else text; null where one is missing.
    """
    if pa.types.is_integer(labels.type):
        return labels.cast(pa.string()) if settings.ids == "text" else labels, 0
    text, stripped = tidy(labels, settings, typed=not quoted)
    numbers = None if settings.ids == "text" else plain_numbers(text)
    return text if numbers is None else numbers, stripped


def refuse_line(uri: str, number: int, line: str, what: str) -> InputError:
    """What is wrong with a line, as an error to raise."""
    return InputError(f"{uri}, line {number}: {shown(line)} {what}")
