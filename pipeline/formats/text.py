"""Text formats read into batches: one reader for all of them, guided by the `Layout` of their head."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import IO, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from pipeline.errors import InputError
from pipeline.formats.files import open_bytes
from pipeline.formats.heads import is_whole
from pipeline.formats.problems import locate
from pipeline.formats.source import DroppedLines, EdgeSource, Layout, TextLabels

BLOCK_BYTES = 16 << 20
"""Bytes parsed at a time: what a batch of a text file comes from."""


class _Blanks(io.RawIOBase):
    """A text body whose runs of blanks are single tabs, and whose lines have no blanks at their ends."""

    def __init__(self, file: IO[bytes], skip: int, comment: bytes) -> None:
        self._file = file
        self._comment = comment
        self._rest = b""
        for _ in range(skip):
            file.readline()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            block = self._file.read(1 << 20)
            if not block:
                return 0
            block += self._file.readline()
            if not block.endswith(b"\n"):
                block = block.rstrip() + b"\n"
            block = re.sub(rb"[ \t\r]*\n[ \t]*", b"\n", re.sub(rb"[ \t]+", b"\t", block).lstrip(b"\t"))
            if self._comment in block:
                block = re.sub(rb"(?m)^" + self._comment + rb".*\n?", b"", block)
            self._rest = block
        n = min(len(buffer), len(self._rest))
        buffer[:n] = self._rest[:n]
        self._rest = self._rest[n:]
        return n


def text_batches(source: EdgeSource, dropped: DroppedLines | None) -> Iterator[pa.RecordBatch]:
    """Batches of a text file; see `read_batches`."""
    layout = source.layout
    assert layout is not None
    types = {side: pa.string() if side in source.text_sides else pa.int64() for side in ("left", "right")}
    try:
        yield from _parsed(source, layout, types, dropped)
    except pa.ArrowInvalid as error:
        failed = re.search(r"column #(\d+): CSV conversion error to int64: invalid value '(.*)'", str(error), re.DOTALL)
        if failed and layout.ids == "labels" and not is_whole(failed[2]):
            raise TextLabels("left" if int(failed[1]) == layout.left else "right") from None
        locate(source, str(error))


def _parsed(
    source: EdgeSource, layout: Layout, types: dict[str, pa.DataType], dropped: DroppedLines | None
) -> Iterator[pa.RecordBatch]:
    places = {"left": layout.left, "right": layout.right, "weight": layout.weight, "time": layout.time}
    wanted = {name: at for name, at in places.items() if at is not None}
    names = [f"column {i}" for i in range(layout.columns)]
    kinds: dict[str, pa.DataType] = {**types, "weight": pa.float64(), "time": pa.string()}
    with open_bytes(source.uri) as file:
        body: Any = file
        skip = layout.skip
        if layout.delimiter is None:
            body = io.BufferedReader(_Blanks(file, skip, b"#" if source.format == "snap" else b"%"), 1 << 20)
            skip = 0
        reader = pacsv.open_csv(
            body,
            read_options=pacsv.ReadOptions(column_names=names, skip_rows=skip, block_size=BLOCK_BYTES),
            parse_options=pacsv.ParseOptions(
                delimiter=layout.delimiter or "\t",
                newlines_in_values=False,
                invalid_row_handler=None if dropped is None else dropped.add,
            ),
            convert_options=pacsv.ConvertOptions(
                column_types={names[at]: kinds[name] for name, at in wanted.items()},
                include_columns=[names[at] for at in wanted.values()],
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        n_rows = 0
        with reader:  # it reads ahead in threads of its own
            for batch in reader:
                n_rows += batch.num_rows
                yield _checked(source, layout, batch.rename_columns(list(wanted)))
    if layout.rows is not None and n_rows + (dropped.lines if dropped else 0) != layout.rows:
        raise InputError(
            f"{source.uri}, line {layout.skip}: declares {layout.rows} entries, but {n_rows} follow;"
            " the file is cut off, or its head is wrong: fetch it again, or mend the head"
        )


def _checked(source: EdgeSource, layout: Layout, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Refuse ids out of range and missing weights."""
    columns = []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if name in ("left", "right") and pa.types.is_integer(column.type):
            limits = pc.min_max(column).as_py()
            least = 1 if layout.ids == "indices" else 0
            most = layout.n_left if name == "left" else layout.n_right
            if limits["min"] is not None and (limits["min"] < least or (most and limits["max"] > most)):
                locate(source, f"{name} ids from {limits['min']} to {limits['max']}")
        if name == "weight" and column.null_count:
            locate(source, "a weight is missing")
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
