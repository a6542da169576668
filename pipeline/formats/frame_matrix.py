"""Matrices whose columns have types: in frames, Parquet files, sheets and databases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.columns import values_of, words_column
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.cells import are_sums, cell, told_others, told_sums
from bicliq.pipeline.formats.columns import SAMPLE
from bicliq.pipeline.formats.labels import plain_numbers
from bicliq.pipeline.formats.lines import Label
from bicliq.pipeline.formats.matrix import (
    NAMES_ROWS,
    assumed_of_names,
    label_columns,
    no_cell,
    place_of_names,
    refuse_two_sets,
)
from bicliq.pipeline.formats.problems import DROP_CELLS
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import shown

Lone = tuple[Sequence[Any], Sequence[Any]]
"""Labels of rows and of columns of a matrix in which nothing is tied."""


def matrix_table(
    name: str,
    columns: Sequence[str],
    column: Callable[[int], pa.Array],
    first_rows: Sequence[Sequence[str]],
    index: pa.Array | None,
    settings: IngestSettings,
) -> tuple[pa.Table, int, bool, tuple[str, ...], Lone]:
    """Cells that are not 0 as columns left, right and weight, how many rows, and what was assumed.

    Before that, whether the last row holds the sums of those above it; last, the labels of rows and
    columns that have no such cell.

    `name`: what the matrix is, for messages. `columns`, `column`, `first_rows`: names of its
    columns, what returns one, and some first rows as text. `index`: names of its rows beside its
    columns; None: a column names them, or they are numbered. `settings`: may name the column of row
    names. Raises InputError where a column holds no cells, or rows or columns share a name.
    """
    at = None
    if index is None or settings.left is not None:
        at = place_of_names(name, settings, columns, first_rows)
    labels, remarks = label_columns(name, columns, len(columns), at, settings)
    values = {
        place: _cells(name, columns[place], column(place), index is not None or at is not None) for place in labels
    }
    n = len(next(iter(values.values()))) if values else 0
    if settings.nulls == "error":
        for place, some in values.items():
            _refuse_missing(name, columns[place], some)
    rows = index if at is None else column(at)
    if rows is not None and len((as_compared(rows) if settings.strip else rows).unique()) < len(rows):
        raise InputError(f"{name}: some rows share a name; two vertices would become one: rename them")
    if settings.sides == "source-target":
        refuse_two_sets(name, list(range(n)) if rows is None else rows.to_pylist(), list(labels.values()))
    tied = {place: np.flatnonzero(pc.fill_null(pc.not_equal(some, 0), True)) for place, some in values.items()}
    left = pa.array(np.concatenate(list(tied.values())) if tied else np.zeros(0, np.int64))
    owners = np.repeat(np.arange(len(tied)), [len(some) for some in tied.values()])
    right = words_column(list(map(str, labels.values())))
    numbers = None if settings.ids == "text" else plain_numbers(right)
    weights = [values[place].take(pa.array(some)).cast(pa.float64()) for place, some in tied.items()]
    table = pa.table(
        {
            "left": left if rows is None else rows.take(left),
            "right": (right if numbers is None else numbers).take(pa.array(owners)),
            "weight": pa.concat_arrays(weights) if weights else pa.array([], pa.float64()),
        }
    )
    said = () if index is not None and at is None else assumed_of_names(name, None, False, at, columns)
    if index is not None and at is None and columns and NAMES_ROWS.fullmatch(columns[0]):
        said = (
            f"{name}: its index names its rows, and column {shown(columns[0])} was taken for cells; leave it out, or say"
            f" left = {columns[0]!r}, if it names them",
        )
    cells = list(values.values())  # one at a time as numbers: all would be 8 bytes a cell
    said += _told(name, list(labels.values()), cells)
    above, last = np.array([(some[:-1].sum(), some[-1]) for some in map(_numbers, cells) if n > 2]).reshape(-1, 2).T
    sums = n > 2 and are_sums([above, np.zeros(len(above))], last)
    used = np.bincount(values_of(left), minlength=n) > 0
    empty_rows = pa.array(np.flatnonzero(~used))
    names = (right if numbers is None else numbers).take(
        pa.array([at for at, some in enumerate(tied.values()) if not len(some)], pa.int64())
    )
    lone = ((empty_rows if rows is None else rows.take(empty_rows)).to_pylist(), names.to_pylist())
    return table, n, sums, (*said, *remarks), lone


def _told(name: str, labels: Sequence[Label], cells: Sequence[pa.Array]) -> tuple[str, ...]:
    """Say which columns are most likely no cells, or sums of the others."""
    others = told_others(name, {label: _numbers(some[:SAMPLE]) for label, some in zip(labels, cells, strict=True)})
    if cells and (last := _numbers(cells[-1])).max(initial=0) > 1 and are_sums(list(map(_numbers, cells[:-1])), last):
        return (*others, told_sums(name, labels[-1]))
    return others


def as_compared(names: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Names without blanks around them, as labels are: two that are alike then would be one vertex.

    Examples
    --------
    >>> as_compared(pa.array(["ann", " ann"])).to_pylist()
    ['ann', 'ann']
    """
    text = pa.types.is_string(names.type) or pa.types.is_large_string(names.type)
    return pc.utf8_trim_whitespace(names) if text else names


def _refuse_missing(name: str, called: str, cells: pa.Array) -> None:
    row = pc.index(pc.is_null(cells, nan_is_null=True), True).as_py()
    if row >= 0:
        raise InputError(
            f"{name}, row {row}, column {shown(called)}: a value is missing; fill it with 0 for no edge, or {DROP_CELLS}"
        )


def _numbers(cells: pa.Array) -> Any:
    """Cells in NumPy, those that are missing as 0."""
    return np.nan_to_num(cells.to_numpy(zero_copy_only=False))


def _cells(name: str, called: str, column: pa.Array | pa.ChunkedArray, named: bool) -> pa.Array:
    """A column as numbers; text as the cells of text files, in which nothing is no edge."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_null(kind):
        return pa.array(np.zeros(len(column)))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        encoded = column if pa.types.is_dictionary(column.type) else column.cast(pa.string()).dictionary_encode()
        said = encoded.dictionary.to_pylist()
        for text in said:
            if text is not None and cell(text) is None:
                raise InputError(f"{name}, column {shown(called)}: {no_cell(text, named)}")
        numbers = pa.array([0.0 if text is None else cell(text) for text in said], pa.float64(), from_pandas=True)
        return pc.if_else(pc.is_null(encoded.indices), 0.0, numbers.take(encoded.indices))
    try:
        return pc.cast(column, pa.int8() if pa.types.is_boolean(kind) else pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(
            f"{name}, column {shown(called)}: is of type {kind}, which is no cell of a matrix; leave the column out"
        ) from None
