"""The format of a file, told from its name and its first bytes."""

from __future__ import annotations

import codecs

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.files import bare_name, input_errors, open_bytes
from bicliq.pipeline.formats.source import KNOWN
from bicliq.pipeline.formats.words import SHOWN, shown

HEAD_BYTES = 1 << 16
"""Bytes looked at to recognise a format, and on to the end of their last line."""

LONGEST_LINE = 16 << 20
"""Bytes of a line of the head, at most."""

SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "tsv",
    ".mtx": "mtx",
    ".adj": "adjacency",
    ".lad": "adjacency",
    ".nde": "adjacency",
    ".graph": "adjacency",
    ".cxt": "cxt",
    ".gmt": "gmt",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".net": "pajek",
    ".dl": "dl",
    ".xlsx": "excel",
    ".duckdb": "duckdb",
}

TYPED = ("parquet", "excel", "duckdb")
"""Formats whose columns have types."""

FOREIGN = {
    b"\x1f\x8b": "is compressed with gzip, but is not called .gz: rename it",
    b"\x28\xb5\x2f\xfd": "is compressed with zstd, but is not called .zst: rename it",
    b"BZh": "is compressed with bzip2: decompress it, or compress it with gzip or zstd",
    b"\xfd7zXZ": "is compressed with xz: decompress it, or compress it with gzip or zstd",
    b"PK\x03\x04": "is a ZIP archive, or an Excel workbook that is not called .xlsx: extract the table, or name format = 'excel'",
    codecs.BOM_UTF16_LE: "is UTF-16 text: convert it to UTF-8, as with iconv -f utf-16 -t utf-8",
    codecs.BOM_UTF16_BE: "is UTF-16 text: convert it to UTF-8, as with iconv -f utf-16 -t utf-8",
}
"""What files that are no table in a known format begin with, and what to do."""

MARKUP = {'{"': "JSON", "[": "JSON", "<": "HTML or XML (an error page of a server?)"}
"""What a text begins with that is no table, unless its name or the settings say so."""


def recognise(source: str) -> str:
    """The format, from the name first and the first bytes then."""
    name = bare_name(source)
    for suffix, kind in SUFFIXES.items():
        if name.endswith(suffix):
            if kind in ("csv", "tsv"):
                _refuse_markup(source, text_head(source))
            return kind
    if _head_bytes(source).startswith(b"PAR1"):
        return "parquet"
    head = text_head(source)
    first = next(line for line in head.split("\n") if line.strip())
    if first.startswith("%%MatrixMarket"):
        return "mtx"
    if first.startswith("%") or name.startswith("out."):
        return "konect"
    if first.startswith("#"):
        return "snap"
    if head.lstrip().startswith(('{"', "[{")):
        return "jsonl"
    _refuse_markup(source, head)
    if "\t" in first:
        return "tsv"
    if any(mark in first for mark in ",;|"):
        return "csv"
    raise InputError(
        f"{source}, line 1: {shown(first)} is of no format that can be told from its name or its first line;"
        f" name the format: one of {KNOWN}"
    )


def typed_kind(source: str) -> str | None:
    """The format of a file whose columns have types, by its name; None where it is text."""
    name = bare_name(source)
    return next((kind for suffix, kind in SUFFIXES.items() if kind in TYPED and name.endswith(suffix)), None)


def _refuse_markup(source: str, head: str) -> None:
    for begins, what in MARKUP.items():
        if head.lstrip().startswith(begins):
            raise InputError(
                f"{source}, line 1: {shown(head.lstrip()[:SHOWN])} looks like {what}; convert it to CSV or Parquet, or"
                f" name its format: one of {KNOWN}"
            )


def _head_bytes(source: str) -> bytes:
    with open_bytes(source) as file, input_errors(source):
        head = file.read(HEAD_BYTES)
        return head if head.endswith(b"\n") else head + file.readline(LONGEST_LINE)


def text_head(source: str) -> str:
    """The first lines, as text; what is no text is refused."""
    head = _head_bytes(source)
    for magic, advice in FOREIGN.items():
        if head.startswith(magic):
            raise InputError(f"{source}: {advice}")
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = head[: error.start].count(b"\n") + 1
        raise InputError(
            f"{source}, line {line}: byte {head[error.start]:#04x} is no UTF-8 text: a binary file, or another encoding"
            f" (Latin-1?); convert it to UTF-8, as with iconv -f latin1 -t utf-8, or name its format (one of {KNOWN})"
        ) from None
    if "\0" in text:
        raise InputError(
            f"{source}: holds zero bytes: a binary file, or UTF-16 text; name an edge table in one of {KNOWN}"
        )
    if not text.strip():
        raise InputError(f"{source}: holds nothing but blanks; an edge table has at least one line")
    if "\n" not in text and "\r" in text.rstrip():
        raise InputError(
            f"{source}: its lines end with carriage returns only, as on an old Mac; end them with line feeds, as"
            " tr '\\r' '\\n' does"
        )
    return text
