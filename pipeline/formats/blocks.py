"""Blocks of a text file.

Some whole lines each, with the number of the first, so that each can be parsed alone.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import IO

import numpy as np

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.fields import NEWLINE, PIECE, QUOTE, RETURN
from bicliq.pipeline.formats.files import input_errors
from bicliq.pipeline.words import shown

FIRST_BYTES = 1 << 20
"""Bytes of the first block: enough to see whether ids are numbers or text."""

BLOCK_BYTES = 16 << 20
"""Bytes of the other blocks, which go on to the end of a line: what a batch of a text file comes
from."""

LONGEST = 64 << 20
"""Bytes that no line of a table reaches."""


@dataclass(frozen=True)
class Block:
    """Whole lines of a text file.

    `framed`: the lines, with a line break added before the first and one after the last: so every
    field has neighbours. `line`: number of the first line in the file, from 1.
    """

    framed: bytes
    line: int

    @property
    def data(self) -> bytes:
        """The lines alone."""
        return self.framed[1:-1]

    @cached_property
    def n_lines(self) -> int:
        """Number of lines; the last one may lack its line break."""
        data = np.frombuffer(self.framed, np.uint8)
        pieces = (data[start : start + PIECE] for start in range(0, len(data), PIECE))
        breaks = sum(int(np.count_nonzero(piece == NEWLINE)) for piece in pieces)
        return breaks - (2 if self.framed.endswith(b"\n\n") else 1)

    def n_records(self, over_lines: bool) -> int:
        """Number of lines that are not blank.

        Those that end within quotes count to the next, where that is asked.
        """
        data = np.frombuffer(self.framed, np.uint8)
        ends = np.flatnonzero(data == NEWLINE)
        if over_lines:
            quotes = np.flatnonzero(data == QUOTE)
            ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
        lengths = np.diff(ends) - 1
        blank = (lengths == 0) | ((lengths == 1) & (data[ends[:-1] + 1] == RETURN))
        return len(lengths) - int(np.count_nonzero(blank))


def blocks(file: IO[bytes], source: str, skip: int, over_lines: bool = False) -> Iterator[Block]:
    """Cut a text file into blocks.

    `file`, `source`: the file from its beginning, and its name for messages. `skip`: lines to leave
    out at the beginning. `over_lines`: whether records may go on over the end of a line in quotes;
    blocks end where no quote is open, then. Raises InputError where the file cannot be read, or a
    line or a quoted field does not end.
    """
    with input_errors(source):
        for _ in range(skip):
            file.readline()
    line, wanted = skip + 1, FIRST_BYTES
    while True:
        with input_errors(source):
            start = file.read(wanted)
            if line == 1:
                start = start.removeprefix(codecs.BOM_UTF8)
            rest = _rest_of_line(file, source, start, line)
            if over_lines:
                rest += _rest_of_quotes(file, source, start + rest, line)
        if not start:
            return
        block = Block(b"".join((b"\n", start, rest, b"\n")), line)
        yield block
        line, wanted = line + block.n_lines, BLOCK_BYTES


def _rest_of_line(file: IO[bytes], source: str, start: bytes, line: int) -> bytes:
    if not start or start.endswith(b"\n"):
        return b""
    rest = file.readline(LONGEST)
    if len(rest) == LONGEST:
        begins = shown(start[start.rfind(b"\n") + 1 :][:40].decode("utf-8", "replace"))
        raise InputError(
            f"{source}, line {line + start.count(10)}: the line that begins {begins} is longer than {LONGEST >> 20}"
            " MiB; an edge table has short lines: check the file and its format"
        )
    return rest


def _rest_of_quotes(file: IO[bytes], source: str, start: bytes, line: int) -> bytes:
    """What follows up to the end of the line that closes the last open quote."""
    is_open = start.count(QUOTE) % 2
    rest: list[bytes] = []
    length = 0
    while is_open:
        more = file.readline(LONGEST)
        length += len(more)
        if not more or length >= LONGEST:
            at = line + start.count(NEWLINE, 0, start.rfind(QUOTE))
            raise InputError(f"{source}, line {at}: a quote opens there that no other closes; close it, or take it out")
        is_open ^= more.count(QUOTE) % 2
        rest.append(more)
    return b"".join(rest)
