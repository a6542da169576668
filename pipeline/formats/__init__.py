"""Readers of edge tables: a file of any known format in, Arrow batches of raw labels out.

Text formats differ in their head (comments, declared sizes, column names) and in what their ids mean; a `Layout`
says both (`heads`), and one reader serves them all (`text`). The fast path checks whole columns; when something is
wrong, the slow path (`problems`) reads the file again, line by line, to say where.
"""

from pipeline.formats.files import bare_name, open_bytes
from pipeline.formats.problems import find_problem, locate
from pipeline.formats.reading import open_edges, read_batches
from pipeline.formats.source import DroppedLines, EdgeSource, Layout, TextLabels

__all__ = [
    "DroppedLines",
    "EdgeSource",
    "Layout",
    "TextLabels",
    "bare_name",
    "find_problem",
    "locate",
    "open_bytes",
    "open_edges",
    "read_batches",
]
