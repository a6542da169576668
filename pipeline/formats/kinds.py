"""What is known of the formats, besides how they are read (`pipeline.formats.reading`)."""

from __future__ import annotations

from dataclasses import dataclass

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
"""Formats that files are told to be of by their extensions."""

BY_THEMSELVES = {".lad", ".nde", ".graph", ".duckdb"}
"""Extensions of graphs of one set of vertices, and of files of several tables."""

TABLES = tuple(suffix for suffix in SUFFIXES if suffix not in BY_THEMSELVES)
"""Extensions by which the tables of a folder are known."""


@dataclass(frozen=True)
class Lines:
    """A format whose lines are no rows of columns.

    Parameters
    ----------
    called
        What a file of it is, in words.
    sides
        What the sides are called.
    of_rows
        Whether a line that has nothing is still one, and counted.
    with_top
        Whether comments or names may stand above its lines.
    two_sided
        Whether it is never of one set of vertices.
    numbered
        Whether it numbers its vertices.
    valued
        Whether its edges have numbers.
    """

    called: str
    sides: tuple[str, str]
    of_rows: bool = False
    with_top: bool = False
    two_sided: bool = False
    numbered: bool = False
    valued: bool = False


LINES = {
    "adjacency": Lines("an adjacency list", ("lines", "neighbours"), numbered=True),
    "matrix": Lines("a matrix", ("row", "column"), of_rows=True),
    "baskets": Lines("a file of baskets", ("line", "item"), of_rows=True, with_top=True, two_sided=True),
    "gmt": Lines("a file of gene sets", ("set", "member"), of_rows=True, with_top=True, two_sided=True),
    "cxt": Lines("a context", ("object", "attribute"), of_rows=True, two_sided=True),
    "pajek": Lines("a Pajek network", ("first mode", "second mode"), valued=True),
    "dl": Lines("a DL file", ("row", "column"), valued=True),
}
"""Formats whose lines hold vertices: no columns, no times, and but for valued ones no weights."""
