"""Readers of edge tables.

In: a file of any known format, or a table in memory. Out: Arrow batches of raw labels.

A file is found (`files`) and recognised (`recognise`). Text formats differ in their head (comments,
declared sizes, column names) and in what their ids mean: a `Layout` says both (`heads`, `columns`),
and one reader serves them all (`text`), block by block (`blocks`). It checks whole columns at once;
where something is wrong, the block is read again line by line to say where (`problems`). `labels`
says when an id is a number and when it is text.

Formats whose lines are no rows of columns (baskets, gene sets, networks) say what each line holds
(`lines`). CONTRIBUTING.md lists all places that name a new format.

Tables in memory (`tables`: pandas, Polars, Arrow, DuckDB, SciPy, networkx, baskets) are sources
like files: their columns go through the reader of Parquet's, so labels, checks and policies are the
same.
"""

from bicliq.pipeline.formats.files import Files, bare_name, input_errors, open_bytes
from bicliq.pipeline.formats.reading import open_edges, read_batches
from bicliq.pipeline.formats.source import EdgeBatch, EdgeSource, Layout
from bicliq.pipeline.formats.tables import Edges, name_of

__all__ = [
    "EdgeBatch",
    "EdgeSource",
    "Edges",
    "Files",
    "Layout",
    "bare_name",
    "input_errors",
    "name_of",
    "open_bytes",
    "open_edges",
    "read_batches",
]
