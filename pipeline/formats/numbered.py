"""Files of graphs that number their vertices from 1: DIMACS (``.clq``) and MatrixMarket."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.files import open_bytes
from bicliq.pipeline.formats.heads import refuse_complex
from bicliq.pipeline.formats.problems import DROP_NULLS, int64_of, is_number
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import shown

DIMACS_SUFFIXES = (".clq", ".col", ".dimacs")


@dataclass(frozen=True, eq=False)
class NumberedEdges:
    """The edges of a file that numbers its vertices.

    `edges`: int64, shape (rows, 2): both ends of each row, from 1. `dropped`: rows that are no
    edges, by reason.
    """

    n: int
    edges: npt.NDArray[np.int64]
    dropped: Mapping[str, int] = field(default_factory=dict)


def read_dimacs(source: str) -> NumberedEdges:
    """Read a DIMACS file: ``p edge VERTICES EDGES``, then ``e U V`` a line.

    Raises InputError at anything wrong in it: what, and in which line.
    """
    n, declared = -1, 0
    edges: list[tuple[int, int]] = []
    for number, words in _lines(source):
        if words[0] == "p":
            if n >= 0:
                raise InputError(f"{source}, line {number}: a second 'p' line; a file holds one graph")
            sizes = [_whole(word) for word in words[2:]]
            if len(words) != 4 or sizes[0] is None or sizes[1] is None:
                raise InputError(f"{source}, line {number}: {shown(' '.join(words))} must read 'p edge VERTICES EDGES'")
            n, declared = sizes[0], sizes[1]
        elif words[0] == "e":
            if n < 0:
                raise InputError(f"{source}, line {number}: an edge before the line 'p edge VERTICES EDGES'")
            edges.append(_pair(source, number, words[1:3], n))
        elif words[0] not in ("c", "n", "d", "v", "x"):
            raise InputError(f"{source}, line {number}: {words[0][:20]!r} begins no DIMACS line (c, p or e)")
    if n < 0:
        raise InputError(f"{source}: holds no line 'p edge VERTICES EDGES'; a DIMACS file must declare its size")
    if declared not in (len(edges), 2 * len(edges)):
        raise InputError(f"{source}: declares {declared} edges, but holds {len(edges)}; is the file cut off?")
    return NumberedEdges(n, np.array(edges, np.int64).reshape(-1, 2))


def read_matrix_market(source: str, settings: IngestSettings) -> NumberedEdges:
    """Read a square MatrixMarket file in coordinates; entries of 0 are no edges.

    Raises InputError at anything wrong in it: what, and in which line.
    """
    lines = _lines(source)
    number, words = next(lines, (1, []))
    if [word.lower() for word in words[:3]] != ["%%matrixmarket", "matrix", "coordinate"]:
        raise InputError(f"{source}, line {number}: must begin with '%%MatrixMarket matrix coordinate …'")
    refuse_complex(source, words)
    size: tuple[int, int] | None = None
    edges: list[tuple[int, int]] = []
    entries, dropped = 0, Counter[str]()
    for number, words in lines:
        if words[0].startswith("%"):
            continue
        if size is None:
            sizes = [_whole(word) for word in words]
            if len(words) != 3 or None in sizes:
                raise InputError(f"{source}, line {number}: must be three numbers: rows, columns, entries")
            rows, columns, declared = (size or 0 for size in sizes)
            if rows != columns:
                raise InputError(
                    f"{source}, line {number}: {rows} rows and {columns} columns are two sets of vertices;"
                    " give a square matrix, or project a side with project = 'left' or 'right'"
                )
            size = rows, declared
            continue
        entries += 1
        pair = _pair(source, number, words[:2], size[0])
        reason = _why_no_edge(source, number, words[2], settings) if len(words) > 2 else None
        if reason is None:
            edges.append(pair)
        else:
            dropped[reason] += 1
    if size is None:
        raise InputError(f"{source}: holds no line of sizes: rows, columns, entries")
    if entries != size[1]:
        raise InputError(f"{source}: declares {size[1]} entries, but holds {entries}; is the file cut off?")
    return NumberedEdges(size[0], np.array(edges, np.int64).reshape(-1, 2), dropped)


def _why_no_edge(source: str, number: int, word: str, settings: IngestSettings) -> str | None:
    """The reason for which an entry is no edge; None where it is one."""
    if word.lower().strip("+-") == "nan":
        if settings.nulls == "drop":
            return "dropped_nulls"
        raise InputError(f"{source}, line {number}: {shown(word)} is no value; write 0, or {DROP_NULLS}")
    if not is_number(word):
        raise InputError(f"{source}, line {number}: {shown(word)} is no number; mend it")
    least = settings.min_value
    return "dropped_by_value" if float(word) == 0 or (least is not None and float(word) < least) else None


def _lines(source: str) -> Iterator[tuple[int, list[str]]]:
    """Numbered lines that are not blank, as words."""
    try:
        with open_bytes(source) as file, io.TextIOWrapper(file, "utf-8") as text:
            for number, line in enumerate(text, 1):
                if words := line.split():
                    yield number, words
    except FileNotFoundError as error:
        raise InputError(f"{source}: no such file; check the path") from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source}: is no text ({error.reason}); a DIMACS or MatrixMarket file is plain text"
        ) from error
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{source}: cannot be read: {error}; check the file") from error


def _pair(source: str, number: int, words: list[str], n: int) -> tuple[int, int]:
    ends = [_whole(word) for word in words]
    if len(ends) < 2 or ends[0] is None or ends[1] is None:
        raise InputError(f"{source}, line {number}: {shown(' '.join(words))} must be two vertex numbers")
    u, v = ends[0], ends[1]
    if not (1 <= u <= n and 1 <= v <= n):
        raise InputError(f"{source}, line {number}: edge {u} {v} is outside the vertices 1…{n} that the file declares")
    return u, v


def _whole(word: str) -> int | None:
    """Read a whole number from 0 in ASCII digits; None where it is none or beyond 64 bits."""
    return int64_of(word) if word.isascii() and word.isdigit() else None
