"""The format of a file, told from its name and its first bytes."""

from __future__ import annotations

import codecs

import pyarrow as pa

from pipeline.errors import InputError
from pipeline.formats.files import bare_name, open_bytes
from pipeline.formats.source import KNOWN

HEAD_BYTES = 1 << 16
"""Bytes looked at to recognise a format."""


def recognise(source: str) -> str:
    """The format, from the name first and the first bytes then."""
    name = bare_name(source)
    by_suffix = {
        ".parquet": "parquet",
        ".pq": "parquet",
        ".csv": "csv",
        ".tsv": "tsv",
        ".mtx": "mtx",
        ".adj": "adjacency",
    }
    for suffix, kind in by_suffix.items():
        if name.endswith(suffix):
            return kind
    if _head_bytes(source).startswith(b"PAR1"):
        return "parquet"
    head = text_head(source)
    first = next(line for line in head.splitlines() if line.strip())
    if first.startswith("%%MatrixMarket"):
        return "mtx"
    if first.startswith("%") or name.startswith("out."):
        return "konect"
    if first.startswith("#"):
        return "snap"
    if "\t" in first:
        return "tsv"
    if any(mark in first for mark in ",;|"):
        return "csv"
    raise InputError(
        f"{source}, line 1: {first[:60]!r} is of no format that can be told from its name or its first line;"
        f" name the format: one of {KNOWN}"
    )


def _head_bytes(source: str) -> bytes:
    with open_bytes(source) as file:
        try:
            return file.read(HEAD_BYTES)
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{source}: cannot be decompressed: {error}; check the file") from error


def text_head(source: str) -> str:
    """The first lines, as text; a binary file is refused."""
    head = _head_bytes(source)
    whole = head[: head.rfind(b"\n") + 1] if len(head) == HEAD_BYTES and b"\n" in head else head
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(whole, final=len(head) < HEAD_BYTES)
    except UnicodeDecodeError as error:
        line = whole[: error.start].count(b"\n") + 1
        raise InputError(
            f"{source}, line {line}: byte {whole[error.start]:#04x} is no UTF-8 text: a binary file, or another encoding;"
            f" convert it to UTF-8, or name its format (one of {KNOWN})"
        ) from None
    if "\0" in text:
        raise InputError(f"{source}: holds zero bytes: a binary file; name an edge table in one of {KNOWN}")
    if not text.strip():
        raise InputError(f"{source}: holds nothing but blanks; an edge table has at least one line")
    return text
