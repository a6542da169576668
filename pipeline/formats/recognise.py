"""The format of a file, told from its name and its first bytes."""

from __future__ import annotations

import re

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.encoded import BOMS, encoding_advice, likely_encoding, open_text
from bicliq.pipeline.formats.fields import NEWLINE
from bicliq.pipeline.formats.files import COMPRESSIONS, MAGIC, bare_name, input_errors
from bicliq.pipeline.formats.kinds import SUFFIXES
from bicliq.pipeline.formats.problems import MARKS, is_number, refuse_double_colons
from bicliq.pipeline.formats.source import KNOWN
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import SHOWN, shown

HEAD_BYTES = 1 << 16
"""Bytes looked at to recognise a format, and on to the end of their last line."""

LONGEST_LINE = 16 << 20
"""Bytes of a line of the head, at most."""

HEAD_LINES = 20
"""Lines that a head has where they are long: a header alone says nothing of what is below it."""

MOST_COLUMNS = 4
"""Columns of a line of KONECT and SNAP: two vertices, a weight and a time."""

ENDS = re.compile("from|source|src", re.IGNORECASE)
"""How SNAP calls the first end of an edge."""

NEW = "\n"

TYPED = ("parquet", "excel", "duckdb")
"""Formats whose columns have types."""

FOREIGN = {
    **{
        MAGIC[kind]: f"is compressed with {kind}, but is not called {end}: rename it"
        for end, kind in COMPRESSIONS.items()
    },
    b"PK\x03\x04": "is a ZIP archive, or an Excel workbook not called .xlsx: extract the table, or say format = 'excel'",
    b"\xd0\xcf\x11\xe0": "is an old Excel workbook: save it as .xlsx or as CSV",
    b"PAR1": "is a Parquet file: say format = 'parquet'",
    b"ARROW1": "is an Arrow file, as of Feather: write Parquet, as pandas.read_feather(path).to_parquet(other) does",
    b"SQLite format 3\0": "is a database of SQLite: write CSV, as sqlite3 -csv FILE 'select * from TABLE' does",
    b"\x93NUMPY": "is a NumPy array: give it to Python's bicliq with format = 'matrix', as from numpy.load",
    b"\x89HDF": "is an HDF5 file: write its table as CSV or Parquet",
    b"%PDF-": "is a PDF file: write its table as CSV",
}
"""What files that are no table in a known format begin with, and what to do."""

POINTER = "version https://git-lfs.github.com/spec/"
"""What a file begins with that Git LFS left in the place of the table."""

DIMACS = re.compile(r"^p[ \t]+(?:edge|col)[ \t]+[0-9]+[ \t]+[0-9]+[ \t]*\r?$", re.MULTILINE)
"""A line by which a graph of DIMACS is known."""

JSON = re.compile(r'\s*(\[\s*)?\{\s*"')

MARKUP = {
    ('{"', "["): "JSON",
    ("<",): "HTML or XML (an error page of a server?)",
    ("--\n", "-- ", "CREATE TABLE ", "INSERT INTO ", "PRAGMA "): "a dump of SQL",
}
"""What a text begins with that is no table, unless its name or the settings say so."""


AS_BASKETS = "if each line is a list of items, say format = 'baskets', split = ','"


def recognise(source: str, settings: IngestSettings) -> str:
    """The format, from the name first and the first bytes then."""
    name = bare_name(source)
    for suffix, kind in SUFFIXES.items():
        if name.endswith(suffix):
            if kind in ("csv", "tsv"):
                _refuse_markup(source, text_head(source, settings))
            return kind
    if _head_bytes(source, None).startswith(b"PAR1"):
        return "parquet"
    head = text_head(source, settings)
    filled = [line for line in head.split("\n") if line.strip()]
    first, rows = filled[0], [line for line in filled if not line.startswith(MARKS)]
    if first.startswith("%%MatrixMarket"):
        return "mtx"
    if name.startswith("out.") and all(map(str.isdigit, (rows or filled)[0].split())):
        return "konect"
    comments = filled[: len(filled) - len(rows)] if rows else []
    if (
        first.startswith(("%", "#"))
        and settings.delimiter is None
        and not _holds_fields(rows or filled, comments, settings)
    ):
        return "konect" if first.startswith("%") else "snap"
    if JSON.match(head):
        return "jsonl"
    _refuse_markup(source, head)
    begins = rows[0] if rows else first
    refuse_double_colons(f"{source}, line {head.split(begins)[0].count(NEW) + 1}", rows or filled, settings)
    if settings.delimiter is not None or any(mark in begins for mark in "\t,;|"):
        return "tsv" if settings.delimiter is None and "\t" in begins else "csv"
    if _are_pairs(rows):
        return "snap"
    raise InputError(
        f"{source}, line {head.split(begins)[0].count(NEW) + 1}: {shown(begins)} is of no format that can be told from its"
        " name or its first lines; with blanks between, two numbers a line are format = 'snap', two words or more columns"
        f" delimiter = ' ', a basket a line is format = 'baskets' and a table of 0 and 1 format = 'matrix'; all are {KNOWN}"
    )


def _holds_fields(rows: list[str], comments: list[str], settings: IngestSettings) -> bool:
    """Whether rows below comments are fields with a mark between, and no numbers of vertices.

    They are fields where the last comment names more than the two ends of an edge, or one is asked.
    """
    mark = next((mark for mark in "\t,;|" if rows and mark in rows[0]), None)
    if mark is None:
        return False
    words = rows[0].split()
    if len(words) > MOST_COLUMNS or len(words) < 2 or not all(word.isdigit() for word in words[:2]):
        return True
    if any(not is_number(word) for row in rows[:HEAD_LINES] for word in row.split()[2:]):
        return True
    names = comments[-1].lstrip("#").strip().split(mark) if comments and comments[-1].startswith("#") else []
    named = len(names) == len(words) and ENDS.match(names[0]) is None
    asked = settings.left is not None or settings.right is not None
    return len(names) == len(words) and (asked or (named and len(names) > 2))


def _are_pairs(rows: list[str]) -> bool:
    """Whether rows are pairs of whole numbers with blanks between, and not only of 0 and 1."""
    words = [row.split() for row in rows]
    numbers = {word for row in words for word in row}
    return all(len(row) == 2 for row in words) and all(map(str.isdigit, numbers)) and not numbers <= {"0", "1"}


def typed_kind(source: str) -> str | None:
    """The format of a file whose columns have types, by its name; None where it is text."""
    name = bare_name(source)
    return next((kind for suffix, kind in SUFFIXES.items() if kind in TYPED and name.endswith(suffix)), None)


def _refuse_markup(source: str, head: str) -> None:
    for begins, what in MARKUP.items():
        if head.lstrip().startswith(begins):
            raise InputError(
                f"{source}, line 1: {shown(head.lstrip()[:SHOWN])} looks like {what}; convert it to CSV or Parquet, or"
                f" name its format: one of {KNOWN}{f'; {AS_BASKETS}' if head.lstrip()[0] == '[' else ''}"
            )


def _head_bytes(source: str, encoding: str | None, at_least: int = 0) -> bytes:
    """The first bytes as UTF-8, on to the end of a line; of long lines as many as tell a head."""
    with open_text(source, encoding) as file, input_errors(source):
        head = file.read(HEAD_BYTES)
        if not head.endswith(b"\n"):
            head += file.readline(LONGEST_LINE)
        while head.count(b"\n") < at_least and len(head) < LONGEST_LINE and (line := file.readline(LONGEST_LINE)):
            head += line
        return head


def text_head(source: str, settings: IngestSettings) -> str:
    """The first lines, as text; what is no text is refused.

    Those that are to be left out are blank: lines keep their numbers.
    """
    head = _head_bytes(source, settings.encoding, settings.skip + HEAD_LINES)
    for magic, advice in FOREIGN.items():
        if head.startswith(magic) and typed_kind(source) == "excel":
            raise InputError(
                f"{source}: is an Excel workbook, and no text of format {settings.format!r}; save the sheet as CSV"
            )
        if head.startswith(magic):
            raise InputError(f"{source}: {advice}")
    if head.startswith(tuple(BOMS)) or (b"\0" in head and _is_wide(head)):
        name = likely_encoding(head)
        raise InputError(f"{source}: is {name[:6].upper()} text; read it with encoding = {name!r}")
    try:
        text = head.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        start = head.rfind(b"\n", 0, error.start) + 1
        line = head[start:].split(b"\n", 1)[0].rstrip(b"\r")
        raise InputError(
            f"{source}, line {head[:start].count(NEWLINE) + 1}: byte {head[error.start]:#04x} is no UTF-8 text: a binary"
            f" file, or another encoding: {encoding_advice(line)}; or name its format (one of {KNOWN})"
        ) from None
    if "\0" in text:
        raise InputError(f"{source}: holds zero bytes, as a binary file does; name an edge table in one of {KNOWN}")
    if not text.strip():
        raise InputError(f"{source}: holds nothing but blanks; an edge table has at least one line")
    if "\n" not in text and "\r" in text.rstrip():
        raise InputError(
            f"{source}: its lines end with carriage returns only, as on an old Mac; end them with line feeds, as"
            " tr '\\r' '\\n' does"
        )
    if text.startswith(POINTER):
        raise InputError(
            f"{source}: is a pointer of Git LFS, and not the file itself; fetch that, as with git lfs pull"
        )
    if DIMACS.search(text):
        raise InputError(
            f"{source}: is a graph of one set of vertices in the format of DIMACS; bicliq clique reads it, called .clq, .col or"
            " .dimacs"
        )
    return _without_left_out(source, text, settings)


def _without_left_out(source: str, text: str, settings: IngestSettings) -> str:
    if settings.skip == 0 and settings.comment is None:
        return text
    mark, lines = settings.comment, text.split("\n")
    lines[: settings.skip] = [""] * len(lines[: settings.skip])
    left = "\n".join("" if mark is not None and line.startswith(mark) else line for line in lines)
    if not left.strip():
        raise InputError(
            f"{source}: nothing is left of its first {len(lines):,} lines without those to skip and comments; skip fewer"
        )
    return left


def _is_wide(head: bytes) -> bool:
    """Whether bytes are UTF-16 or UTF-32 text of Western letters: every other, or more, is zero."""
    some = head[:1000]
    zeros = max(some[::2].count(0), some[1::2].count(0))
    return zeros > 0.4 * len(some) and "".join(some.decode(likely_encoding(some), "replace").split()).isprintable()
