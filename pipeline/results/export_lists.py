"""Itemsets, rules and implications in files: rows with lists, in text and sheets a cell each."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.extras import check_new_file
from bicliq.pipeline.results.as_table import OfLists
from bicliq.pipeline.results.export import DELIMITERS, FORMULA, Format, format_of, write_file

OF_ROWS = ("parquet", "csv", "tsv", "xlsx", "jsonl")
"""Formats that rows with lists are written to."""

APART = '[,"]|^\\s|\\s$|^$'
"""What an item has that stands in quotes in a cell: it could be taken for two, or be lost."""


@dataclass(frozen=True)
class ExportedRows:
    """What an export of such rows wrote.

    `path`, `format`: the file. `rows`, `bytes`: rows in it, and its size. `guarded`: cells that
    could be taken for formulas, and got an apostrophe before them.
    """

    path: str
    format: str
    rows: int
    bytes: int
    guarded: int


def export_rows(
    found: OfLists,
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    overwrite: bool = False,
    bom: bool = False,
) -> ExportedRows:
    """Write itemsets, rules or implications to one file, batch by batch.

    Parameters
    ----------
    found
        What is written.
    path
        Path or fsspec URL.
    format
        "parquet", "csv", "tsv", "xlsx" or "jsonl"; by default what the name ends on. In CSV, TSV
        and Excel a set is a cell, its items between commas; an item with a comma, a quote or blanks
        around it is in quotes. Cells that a spreadsheet may run get an apostrophe before them. In
        JSON Lines an infinite conviction is null, in Excel the text inf.
    overwrite
        Whether a file that is there is replaced.
    bom
        Whether CSV and TSV begin with a byte order mark, by which Excel tells UTF-8.

    Raises
    ------
    InputError
        Where the format is not known, the file is there already, or a label cannot be written.
    StorageError
        Where the file cannot be written; what was there before is still there.

    Examples
    --------
    >>> import bicliq
    >>> rules = bicliq.rules([["jam", "tea"], ["jam", "tea"], ["tea"]])
    >>> export_rows(rules, "memory://rules.csv", overwrite=True).rows
    1
    """
    place = os.fspath(path)
    kind = checked_format(place, format, overwrite=overwrite, bom=bom)
    rows = _Rows(found, kind in DELIMITERS or kind == "xlsx")
    size = write_file(rows, place, kind, overwrite=overwrite, bom=bom)
    return ExportedRows(place, kind, rows.rows, size, rows.guarded)


def checked_format(place: str, format: str | None, *, overwrite: bool, bom: bool) -> Format:
    """Return the format that a file will have; arguments and errors as of `export_rows`.

    Examples
    --------
    >>> checked_format("memory://sets.tsv.gz", None, overwrite=False, bom=True)
    'tsv'
    """
    kind = format or format_of(place, OF_ROWS)
    if kind not in OF_ROWS:
        raise InputError(f"{place}: rows with lists are written as {', '.join(OF_ROWS)}, and not as {kind}")
    if bom and kind not in DELIMITERS:
        raise InputError(f"{place}: {kind} has no byte order mark; leave bom out, or write CSV or TSV")
    check_new_file(place, overwrite=overwrite)
    return cast(Format, kind)


class _Rows:
    """The batches of an export, counted as they pass; with lists as text where cells hold none."""

    def __init__(self, found: OfLists, as_text: bool) -> None:
        self.found, self.as_text = found, as_text
        self.rows = self.guarded = 0
        self.sheet = type(found).__name__.lower()

    @property
    def schema(self) -> pa.Schema:
        """Columns of the tables to write."""
        own = self.found.schema
        if not self.as_text:
            return own
        return pa.schema([(one.name, pa.string() if pa.types.is_list(one.type) else one.type) for one in own])

    def batches(self) -> Iterator[pa.Table]:
        """Yield the tables to write."""
        for batch in self.found.batches():
            self.rows += batch.num_rows
            yield self._in_text(batch) if self.as_text else batch

    def rows_of(self, batch: pa.Table) -> list[dict[str, Any]]:
        """The rows of a batch for JSON Lines."""
        return finite(batch.to_pylist())

    def _in_text(self, batch: pa.Table) -> pa.Table:
        for at, column in enumerate(self.schema):
            if pa.types.is_list(batch.schema.field(at).type):
                cells = in_one_cell(batch.column(at).combine_chunks())
                safe = pc.replace_substring_regex(cells, FORMULA, r"'\1")
                self.guarded += pc.sum(pc.not_equal(cells, safe)).as_py() or 0
                batch = batch.set_column(at, column.name, safe)
        return batch


def finite(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without infinity, which JSON has not: None stands for it.

    Examples
    --------
    >>> finite([{"conviction": float("inf"), "lift": 2.0}])
    [{'conviction': None, 'lift': 2.0}]
    """
    return [{name: None if value == math.inf else value for name, value in row.items()} for row in rows]


def in_one_cell(lists: pa.ListArray) -> pa.StringArray:
    """Lists of labels as text: commas between, and in quotes what could be taken for two.

    Examples
    --------
    >>> in_one_cell(pa.array([["jam", "tea, green"], ["tea"]])).to_pylist()
    ['jam, "tea, green"', 'tea']
    """
    labels = lists.values.cast(pa.string())
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(labels, '"', '""'), '"', "")
    labels = pc.if_else(pc.match_substring_regex(labels, APART), quoted, labels)
    return pc.binary_join(pa.ListArray.from_arrays(lists.offsets, labels), ", ")
