"""Text formats read into batches: one reader for all of them, guided by the `Layout` of their head.

Blocks of whole lines are parsed side by side, each by Arrow in a thread of ours. Arrow's own
streaming reader is not used: its threads read ahead in a Python file, and abort the process when
they meet an interpreter that ends on an error. Every block's rows are checked against its lines, so
nothing is lost between them.
"""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from bicliq import kernels
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.blocks import Block, blocks
from bicliq.pipeline.formats.encoded import open_text
from bicliq.pipeline.formats.fields import NEWLINE, QUOTE, RETURN, quotes_are_regular
from bicliq.pipeline.formats.labels import may_read_otherwise, plain_numbers, tidy
from bicliq.pipeline.formats.problems import (
    COMMENTS,
    DROP_NULLS,
    find_problem,
    first_failing,
    is_number,
    line_of,
    locate,
    refuse_bad_quotes,
)
from bicliq.pipeline.formats.source import EdgeBatch, EdgeSource, Layout
from bicliq.pipeline.formats.times import told_of, unix_seconds
from bicliq.pipeline.words import brief, shown, time_cure

FLOAT = pa.float64()

HEAD_LINES = 1_000
"""A block that begins by this line shows whether the numbers of a column of times are seconds."""

MOST_THREADS = 8
"""Blocks parsed at once, at most: each takes some 50 MiB, and more than so many wait for the file
anyway."""


def text_batches(source: EdgeSource) -> Iterator[EdgeBatch]:
    """Batches of a text file; see `read_batches`."""
    layout, settings = source.layout, source.settings
    assert layout is not None
    parser = _Parser(source, layout, set(source.text_sides))
    rows, above = 0, _comments_above(source, layout)
    with open_text(source.uri, settings.encoding) as file:
        found = blocks(file, source.uri, layout.skip, settings.quotes and settings.multiline)
        for batch in _in_order(parser.parse, found):
            rows += batch.edges.num_rows + batch.ragged
            if above:
                batch = replace(batch, noted={**batch.noted, "comments": batch.noted.get("comments", 0) + above})
                above = 0
            yield batch
    if layout.rows is not None and rows != layout.rows:
        raise InputError(
            f"{source.uri}, line {layout.skip}: declares {layout.rows} entries, but {rows} follow; the file is cut off,"
            " or its head is wrong: fetch it again, or mend the head"
        )


def _comments_above(source: EdgeSource, layout: Layout) -> int:
    """Comments between the lines that are skipped and the first row."""
    if source.settings.comment is None:
        return 0
    mark = source.settings.comment.encode()
    with open_text(source.uri, source.settings.encoding) as file:
        lines = [file.readline() for _ in range(layout.skip)]
    lines[:1] = [line.removeprefix(codecs.BOM_UTF8) for line in lines[:1]]
    return sum(line.startswith(mark) for line in lines[source.settings.skip :])


def _in_order(parse: Callable[[Block], EdgeBatch], found: Iterable[Block]) -> Iterator[EdgeBatch]:
    """Parse the first block, which shows what the ids are, then the others side by side.

    In the order of the file.
    """
    rest = iter(found)
    for first in rest:
        yield parse(first)
        break
    threads = min(kernels.available_threads(), MOST_THREADS)
    waiting: deque[Future[EdgeBatch]] = deque()
    pool = ThreadPoolExecutor(threads)
    try:
        for block in rest:
            waiting.append(pool.submit(parse, block))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:  # also where an error ends it: no thread is left when the interpreter ends
        pool.shutdown(cancel_futures=True)


@dataclass
class _Parser:
    """Parses the blocks of one file; `text` are the sides that were seen to be text."""

    source: EdgeSource
    layout: Layout
    text: set[str] = field(default_factory=set)

    def parse(self, block: Block) -> EdgeBatch:
        """Turn a block into a batch, or raise an `InputError` for its first bad line."""
        rows, comments = self._without_comments(block)
        lines = self._lines(rows)
        try:
            columns, ragged, stripped = self._columns(lines)
        except pa.ArrowInvalid as error:
            locate(self.source, block, brief(error))
        self._check_rows(lines, block, len(columns["left"]) + ragged)
        if "value" in columns:
            columns["value"] = pc.if_else(pc.is_nan(columns["value"]), None, columns["value"])
            if self.layout.weight == self.layout.value:
                columns["weight"] = columns["value"]
        self._check_values(columns, block)
        noted = {name: n for name, n in (("stripped", stripped), ("comments", comments)) if n}
        if "time" in columns:
            noted |= told_of(columns["time"]) if self.source.settings.in_step is not None else {}
            columns["time"] = self._seconds(columns["time"], block)
        return EdgeBatch(pa.record_batch(columns), partial(line_of, self.source, block), ragged, noted)

    # ---- lines -----------------------------------------------------------------------------------

    def _without_comments(self, block: Block) -> tuple[Block, int]:
        """The rows without lines that begin with the mark of comments, and how many these are."""
        mark = (self.source.settings.comment or "").encode()
        if not mark or b"\n" + mark not in block.framed:
            return block, 0
        rows, comments = re.subn(rb"(?m)^" + re.escape(mark) + rb".*\n", b"", block.framed[1:])
        return Block(b"\n" + rows, block.line), comments

    def _lines(self, block: Block) -> Block:
        """Lines that Arrow reads as they are meant.

        An `InputError` where their line ends or quotes are not.
        """
        settings, delimiter = self.source.settings, self.layout.delimiter
        quotes = settings.quotes and delimiter is not None and QUOTE in block.framed
        if RETURN in block.framed:
            _refuse_returns(self.source.uri, block, quotes and settings.multiline)
        if delimiter is not None:
            if quotes and not quotes_are_regular(block.framed, delimiter):
                refuse_bad_quotes(self.source, block)
            return block
        lines = Block(_with_tabs(block.framed, COMMENTS[self.source.format].encode()), block.line)
        if b"x" in lines.framed or b"X" in lines.framed:  # Arrow takes 0x1F for a number
            problem = find_problem(self.source, block)
            if problem is not None:
                raise InputError(problem)
        return lines

    def _check_rows(self, lines: Block, block: Block, rows: int) -> None:
        """Refuse a block whose rows are not its lines.

        Then a quoted field goes over the end of a line.
        """
        if rows == lines.n_lines:
            return
        settings = self.source.settings
        expected = lines.n_records(settings.quotes and settings.multiline)
        if rows != expected:
            refuse_bad_quotes(self.source, block)
            raise InputError(
                f"{self.source.uri}, from line {block.line}: {expected} lines were read as {rows} rows; this is a"
                " defect of Bicliq: please report it"
            )

    # ---- columns ---------------------------------------------------------------------------------

    def _columns(self, lines: Block) -> tuple[dict[str, pa.Array], int, int]:
        """Columns by what they are for, ids as numbers where all are plain ones, else as text.

        And ragged lines, and labels that had blanks around them.
        """
        numbers = {"left", "right"} - self.text
        if self.layout.ids != "labels":
            return *self._read(lines, numbers), 0
        plain = not numbers or not may_read_otherwise(lines.framed, self.layout.delimiter or "")
        try:
            columns, ragged = self._read(lines, numbers if plain else set())
        except pa.ArrowInvalid as error:
            if "CSV conversion error to" not in str(error):
                raise
            columns, ragged = self._read(lines, set(), weights=pa.string())
        stripped = 0
        for role, column in columns.items():
            if pa.types.is_string(column.type):
                columns[role], changed = tidy(column, self.source.settings)
                stripped += changed if role in ("left", "right") else 0
        self._find_numbers(columns, numbers)
        return columns, ragged, stripped

    def _find_numbers(self, columns: dict[str, pa.Array], sides: set[str]) -> None:
        """Turn columns of text to numbers where all of it is numbers."""
        for side in sides:
            if pa.types.is_string(columns[side].type):
                found = plain_numbers(columns[side])
                if found is None:
                    self.text.add(side)
                else:
                    columns[side] = found
        if "weight" in columns:
            columns["weight"] = pc.cast(columns["weight"], pa.float64())

    def _read(self, lines: Block, numbers: set[str], weights: pa.DataType = FLOAT) -> tuple[dict[str, pa.Array], int]:
        """Let Arrow parse lines; ids are numbers on the given sides, and text on the others."""
        layout, settings = self.layout, self.source.settings
        kinds = {side: pa.int64() if side in numbers else pa.string() for side in ("left", "right")}
        kinds |= {"weight": weights, "value": pa.float64(), "time": pa.string()}
        names = {role: str(at) for role, at in layout.wanted.items() if at < layout.columns}
        if not lines.data.strip(b"\r\n"):
            return self._with_keys({role: pa.array([], kinds[role]) for role in names}, 0), 0
        ragged = _Ragged()
        table = pacsv.read_csv(
            pa.BufferReader(_copy_for_arrow(lines.framed)),
            read_options=pacsv.ReadOptions(
                column_names=[str(at) for at in range(layout.columns)],
                use_threads=False,
                block_size=len(lines.framed),
            ),
            parse_options=pacsv.ParseOptions(
                delimiter=layout.delimiter or "\t",
                quote_char='"' if settings.quotes and layout.delimiter is not None else False,
                newlines_in_values=settings.multiline,
                invalid_row_handler=ragged.skip if settings.ragged == "drop" else None,
            ),
            convert_options=pacsv.ConvertOptions(
                column_types={at: kinds[role] for role, at in names.items()},
                include_columns=list(dict.fromkeys(names.values())),
                null_values=["", *self._null_words(numbers)],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        columns = {role: _one_chunk(table[at]) for role, at in names.items()}
        return self._with_keys(columns, table.num_rows), ragged.lines

    def _with_keys(self, columns: dict[str, pa.Array], rows: int) -> dict[str, pa.Array]:
        """The columns with those that are keys of the file's folders."""
        layout, settings = self.layout, self.source.settings
        for role, at in layout.wanted.items():
            if at >= layout.columns:
                value = layout.keys[layout.names[at]]
                if (value is None or value in settings.null_values) and settings.nulls == "error":
                    raise InputError(
                        f"{self.source.uri}, column {layout.names[at]} ({role}): the folder names no value; name one, or"
                        f" {DROP_NULLS}"
                    )
                columns[role] = pa.array([None if value in settings.null_values else value], pa.string()).take(
                    pa.array(np.zeros(rows, np.int64))
                )
        return {role: columns[role] for role in layout.wanted}

    def _null_words(self, numbers: set[str]) -> Iterable[str]:
        """Words that Arrow shall take for missing values.

        Where all columns are numbers, words are left out that are none: they end that attempt
        anyway, and looking for them would take a fifth of the time of parsing.
        """
        if self.layout.ids != "labels":
            return ()
        words = self.source.settings.null_values
        return (word for word in words if is_number(word.strip())) if numbers >= set(self.layout.wanted) else words

    def _check_values(self, columns: dict[str, pa.Array], block: Block) -> None:
        """Refuse missing values, ids out of range, and weights that are none."""
        for role, column in columns.items():
            if column.null_count and self.source.settings.nulls == "error":
                locate(self.source, block, f"a {role} is missing")
            if role in ("weight", "value") and not pc.all(pc.is_finite(column), min_count=0).as_py():
                locate(self.source, block, "a weight is not finite")
            if role in ("left", "right") and self.layout.ids != "labels":
                limits = pc.min_max(column).as_py()
                least = 1 if self.layout.ids == "indices" else 0
                most = self.layout.n_left if role == "left" else self.layout.n_right
                if limits["min"] is not None and (limits["min"] < least or (most and limits["max"] > most)):
                    locate(self.source, block, f"{role} ids from {limits['min']} to {limits['max']}")

    def _seconds(self, times: pa.Array, block: Block) -> pa.Array:
        convert = partial(unix_seconds, head=block.line <= HEAD_LINES)
        try:
            return convert(times)
        except pa.ArrowInvalid as error:
            row = first_failing(convert, times)
            raise InputError(
                f"{line_of(self.source, block, row)}, column {self.source.columns['time']} (time):"
                f" {shown(times[row].as_py())} is neither Unix seconds nor an ISO date ({brief(error)}); {time_cure(times[row].as_py())}, or"
                " leave out since, until, window and in_step"
            ) from None


class _Ragged:
    """Counts the lines that the parser leaves out for having too many or too few fields."""

    def __init__(self) -> None:
        self.lines = 0

    def skip(self, row: Any) -> str:
        """Tell the parser to leave a line out."""
        self.lines += 1
        return "skip"


def _refuse_returns(uri: str, block: Block, may_be_quoted: bool) -> None:
    """Raise an `InputError` for a carriage return before no line feed.

    Arrow would end a line there.
    """
    data = np.frombuffer(block.framed, np.uint8)
    at = np.flatnonzero(data == RETURN)
    lone = at[data[at + 1] != NEWLINE]
    if may_be_quoted and len(lone):
        lone = lone[np.searchsorted(np.flatnonzero(data == QUOTE), lone) % 2 == 0]
    if len(lone):
        line = block.line + int(np.count_nonzero(data[1 : lone[0]] == NEWLINE))
        raise InputError(
            f"{uri}, line {line}: holds a carriage return (\\r) before no line feed (\\n); end lines with \\n or \\r\\n,"
            " as tr '\\r' '\\n' does with those of an old Mac"
        )


def _with_tabs(framed: bytes, comment: bytes) -> bytes:
    """Lines with single tabs for runs of blanks, no blanks at their ends, and no comments."""
    lines = framed.replace(b" ", b"\t")
    if RETURN in lines:
        lines = lines.replace(b"\r\n", b"\n")
    if b"\t\t" in lines:
        lines = re.sub(rb"\t\t+", b"\t", lines)
    lines = lines.replace(b"\t\n", b"\n").replace(b"\n\t", b"\n")
    if b"\n" + comment in lines:
        lines = b"\n" + re.sub(rb"(?m)^" + comment + rb".*\n", b"", lines[1:])
    return lines


def _copy_for_arrow(data: bytes) -> pa.Buffer:
    """Copy into memory of Arrow's own, which its threads may let go of without asking Python."""
    memory = pa.allocate_buffer(len(data))
    memoryview(memory).cast("B")[:] = data
    return memory


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
