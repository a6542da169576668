"""What a label is: the text that stands in the file, or a number where that says the same.

A number may stand for a label only where writing it gives the label's text again, as 12 and -3 do.
007, +5, 1e3, a blank before a number, or a number beyond 64 bits are text: zip codes and account
numbers keep their zeros, and two labels that are written differently are never one, but for blanks
around them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bicliq.pipeline.columns import words_column
from bicliq.pipeline.formats.fields import NEWLINE, PIECE, QUOTE, RETURN
from bicliq.pipeline.settings import IngestSettings

ZERO, MINUS, POINT, SLASH, BLANK, TAB = b"0-./ \t"

Bytes = npt.NDArray[Any]


def plain_numbers(labels: pa.Array) -> pa.Array | None:
    """Text labels as int64, or None where one of them would not come out as it is written.

    Examples
    --------
    >>> plain_numbers(pa.array(["12", "-3", None])).to_pylist()
    [12, -3, None]
    >>> plain_numbers(pa.array(["12", "007"])) is plain_numbers(pa.array(["9" * 19])) is None
    True
    """
    try:
        numbers = pc.cast(labels, pa.int64())
    except pa.ArrowInvalid:
        return None
    return numbers if pc.cast(numbers, pa.string()).equals(labels) else None


def tidy(labels: pa.Array, settings: IngestSettings, *, typed: bool = False) -> tuple[pa.Array, int]:
    """Labels as they are meant, from every table: without blanks around them, and null where empty.

    `labels`: text; null where nothing stands, or (in text files) a bare word for a missing value.
    `settings`: whether blanks are stripped, and the words for missing values. `typed`: whether
    words for missing values were not looked for yet. Returns the labels, and how many lost blanks.

    Examples
    --------
    >>> labels, stripped = tidy(pa.array([" jam", "tea", "", " NA "]), IngestSettings())
    >>> labels.to_pylist(), stripped
    (['jam', 'tea', None, None], 1)
    """
    if not _may_be_untidy(labels, settings, typed=typed):
        return labels, 0
    trimmed = pc.utf8_trim_whitespace(labels) if settings.strip else labels
    changed = pc.not_equal(trimmed, labels)
    absent = pc.is_in(trimmed, value_set=words_column(settings.null_values))
    missing = pc.or_(pc.equal(trimmed, ""), absent if typed else pc.and_(absent, changed))
    stripped = pc.sum(pc.and_not(changed, missing)).as_py() or 0
    return pc.if_else(missing, pa.scalar(None, pa.string()), trimmed), stripped


def _may_be_untidy(labels: pa.Array, settings: IngestSettings, *, typed: bool) -> bool:
    """Whether a label is empty, or begins or ends as blanks and words for missing values do.

    It looks at two bytes of each: a fortieth of the time that parsing takes.
    """
    if len(labels) == labels.null_count:
        return False
    ends = np.frombuffer(labels.buffers()[1], np.int32)[labels.offset : labels.offset + len(labels) + 1]
    if np.count_nonzero(ends[1:] == ends[:-1]) > labels.null_count:
        return True
    data = np.frombuffer(labels.buffers()[2], np.uint8)
    suspect = np.zeros(256, np.bool_)
    if settings.strip:
        suspect[: BLANK + 1] = suspect[128:] = True
    last = data[ends[1:] - 1]
    if suspect[last].any():
        return True
    if typed:
        suspect[[word.encode()[0] for word in settings.null_values]] = True
    return bool(suspect[data[np.minimum(ends[:-1], len(data) - 1)]].any())


def may_read_otherwise(lines: bytes, delimiter: str) -> bool:
    r"""Whether Arrow may read a field of these lines as a number that is written otherwise.

    It takes blanks around a number, zeros before it, -0, and 0x1F. This looks for fields that begin
    so, of whatever column: it may raise false alarms, and misses none.

    `lines`: whole lines, with a line break before the first and one after the last. `delimiter`:
    field separator.

    0.08 s for ten million lines, a twentieth of what parsing them takes.

    Examples
    --------
    >>> def check(lines): return may_read_otherwise(lines, ",")
    >>> check(b"\n0,10\n-5,0\n"), check(b"\n01,10\n"), check(b"\n1, 10\n")
    (False, True, True)
    """
    mark = ord(delimiter)
    data = np.frombuffer(lines, np.uint8)
    for start in range(0, len(data) - 2, PIECE):
        piece = data[start : start + PIECE + 2]
        edge = piece == NEWLINE
        breaks = np.count_nonzero(edge)
        edge |= piece == mark
        low = np.count_nonzero(piece < POINT)
        if low != (np.count_nonzero(edge) if mark < POINT else breaks) and _has_odd_field(piece, edge, mark):
            return True
        begins = edge[:-2]
        begins &= piece[1:-1] == ZERO
        begins &= piece[2:] > SLASH  # a digit or a letter
        if begins.any() and (piece[2:][begins] != mark).any():
            return True
    return False


def _has_odd_field(piece: Bytes, edge: Bytes, mark: int) -> bool:
    """Whether a -0, a quoted 0… or a blank at an end of a field is in these lines.

    It is asked where bytes below the point are more than the edges: blanks, quotes, signs, carriage
    returns.
    """
    first, then = piece[1:-1], piece[2:]
    edge = edge | (piece == QUOTE) | (piece == RETURN)
    begins, ends = edge[:-2], edge[2:]
    blank = ((first == BLANK) | (first == TAB)) & (first != mark)
    odd = (blank & (begins | ends)) | (begins & (first == MINUS) & (then == ZERO))
    odd |= (piece[:-2] == QUOTE) & (first == ZERO) & (then > SLASH)
    return bool(odd.any())
