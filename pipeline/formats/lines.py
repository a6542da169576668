"""Formats whose lines are no rows of columns: their lines in, edges by the line out, as batches."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.columns import wants_weight
from bicliq.pipeline.formats.encoded import encoding_advice, open_text
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

    Parameters
    ----------
    line
        Number of the line, from 1.
    left
        The vertex.
    right
        Its neighbours.
    values
        What stands in the cell of each, where there are cells.
    """

    line: int
    left: Label
    right: Sequence[Label]
    values: Sequence[float] | None = None


def text_lines(uri: str, settings: IngestSettings) -> Iterator[tuple[int, str]]:
    """Numbered lines of a text file, without their ends; blank ones as well.

    Without those that are to be left out.

    Raises
    ------
    InputError
        At the first line that is no UTF-8 text.
    """
    with open_text(uri, settings.encoding) as file:
        mark = None if settings.comment is None else settings.comment.encode()
        for number, line in enumerate(file, 1):
            if number <= settings.skip or (mark is not None and line.startswith(mark)):
                continue
            try:
                text = (line.removeprefix(codecs.BOM_UTF8) if number == 1 else line).decode()
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{uri}, line {number}: byte {line[error.start]:#04x} is no UTF-8 text: {encoding_advice(line)}"
                ) from None
            yield number, text.rstrip("\r\n")


@dataclass
class _Collected:
    """Edges of some lines, until they are a batch."""

    left: list[Label] = field(default_factory=list)
    degrees: list[int] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    right: list[Label] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def add(self, found: Neighbours) -> None:
        """Take what a line says."""
        self.left.append(found.left)
        self.degrees.append(len(found.right))
        self.lines.append(found.line)
        self.right.extend(found.right)
        self.values.extend(found.values or ())


def edge_batches(source: EdgeSource, found: Iterable[Neighbours]) -> Iterator[EdgeBatch]:
    """Batches of the edges that lines hold.

    Parameters
    ----------
    source
        The file, and how it is read; its layout says whether cells are weights.
    found
        What the lines say, in their order.

    Raises
    ------
    InputError
        Where a label is missing and that is an error.
    """
    some = _Collected()
    for each in found:
        some.add(each)
        if len(some.right) >= BATCH_ROWS:
            yield _batch(source, some)
            some = _Collected()
    yield _batch(source, some)


def _batch(source: EdgeSource, some: _Collected) -> EdgeBatch:
    lines = np.repeat(np.array(some.lines, np.int64), some.degrees)
    owners = pa.array(np.repeat(np.arange(len(some.left)), some.degrees))
    (left, of_left), (right, of_right) = (labels_of(side, source.settings) for side in (some.left, some.right))
    columns = {"left": left.take(owners), "right": right}
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
    stripped = of_left + of_right
    return EdgeBatch(pa.record_batch(columns), place, noted={"stripped": stripped} if stripped else {})


def labels_of(values: Sequence[Label], settings: IngestSettings) -> tuple[pa.Array, int]:
    """Labels of a side, and how many lost blanks around them.

    Numbers where all are plain ones, else text; null where one is missing.

    Examples
    --------
    >>> labels, stripped = labels_of(["7", " 12 "], IngestSettings())
    >>> labels.to_pylist(), stripped
    ([7, 12], 1)
    >>> labels_of(["007", "NA"], IngestSettings())[0].to_pylist()
    ['007', None]
    """
    if values and isinstance(values[0], int):
        numbers = pa.array(values, pa.int64())
        return numbers.cast(pa.string()) if settings.ids == "text" else numbers, 0
    text, stripped = tidy(pa.array(values, pa.string()), settings, typed=True)
    numbers = None if settings.ids == "text" else plain_numbers(text)
    return text if numbers is None else numbers, stripped


def refuse_line(uri: str, number: int, line: str, what: str) -> InputError:
    """What is wrong with a line, as an error to raise."""
    return InputError(f"{uri}, line {number}: {shown(line)} {what}")
