"""Bicliques in files of other programs: Parquet, CSV, Excel, JSON Lines, GraphML, DuckDB, Delta.

A file is written beside its place, batch by batch, and moved there when it is whole. What every
format can hold decides its shape: Parquet, JSON Lines and Delta have lists, a row a biclique; CSV
and Excel have the long form, a row a member; GraphML has a node a biclique, tied to the nodes of
its members; DuckDB has both tables.
"""

from __future__ import annotations

import gzip
import json
import math
import os
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Literal, Protocol, get_args
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from bicliq.pipeline.errors import InputError, StorageError
from bicliq.pipeline.extras import file_system, is_local, needs, new_file, written
from bicliq.pipeline.results.bicliques import Bicliques
from bicliq.pipeline.store.acted import in_words

Format = Literal["parquet", "csv", "tsv", "xlsx", "jsonl", "graphml", "duckdb", "delta"]

SUFFIXES: dict[str, Format] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".tsv": "tsv",
    ".tsv.gz": "tsv",
    ".xlsx": "xlsx",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".graphml": "graphml",
    ".duckdb": "duckdb",
    ".db": "duckdb",
    ".delta": "delta",
}
"""Formats by the ends of names."""

DELIMITERS = {"csv": ",", "tsv": "\t"}
"""What stands between the fields of formats of text."""

BOM = b"\xef\xbb\xbf"
"""What tells Excel that a text is UTF-8."""

FORMULA = "^('*[=+\\-@\t\r])"
"""How a text begins that a spreadsheet may run, behind apostrophes as well: without one that was
put before it, it is what it was."""

SHEET_ROWS, CELL_LETTERS, SHEET_DIGITS = 1_048_576, 32_767, 15
"""What a sheet of Excel holds: rows with the header, letters a cell, digits a number."""

RETURN = "\r"
LETTERS = {0x9, 0xA, 0xD}
"""Characters below a blank that XML can hold."""


@dataclass(frozen=True)
class Exported:
    """What an export wrote.

    `path`, `format`: the file. `bicliques`, `members`: bicliques in it, and the members of all of
    them. `bytes`: its size. `guarded`: labels that could be taken for formulas, and got an
    apostrophe before them.
    """

    path: str
    format: str
    bicliques: int
    members: int
    bytes: int
    guarded: int


def export(
    groups: Bicliques,
    path: str | os.PathLike[str],
    format: Format | None = None,
    *,
    long: bool = False,
    overwrite: bool = False,
    guard: bool = True,
    bom: bool = False,
) -> Exported:
    """Write bicliques to one file.

    Parameters
    ----------
    groups
        The bicliques.
    path
        Path or fsspec URL; for DuckDB and Delta a path.
    format
        "parquet", "csv", "tsv", "xlsx", "jsonl", "graphml", "duckdb" or "delta"; by default what
        the name ends on. CSV and TSV are packed where it ends on .gz.
    long
        Whether Parquet, JSON Lines and Delta have a row a member (biclique_id, side, label), as CSV
        and Excel have in any case, instead of a row a biclique with lists.
    overwrite
        Whether a file that is there is replaced. A Delta table gets a new version; its history
        stays.
    guard
        Whether labels of text in CSV, TSV and Excel that begin with ``=``, ``+``, ``-``, ``@``, a
        tab or a carriage return get an apostrophe before them: spreadsheets run such cells.
    bom
        Whether CSV and TSV begin with a byte order mark, by which Excel tells UTF-8.

    Raises
    ------
    InputError
        Where the run is not published: there is more to come. Where the format is not known or
        cannot be so, the file is there already, or a label cannot be written.
    StorageError
        Where the file cannot be written; what was there before is still there.

    Examples
    --------
    >>> import bicliq
    >>> groups = bicliq.enumerate({"ann": ["jam"], "bob": ["jam"]})
    >>> export(groups, "memory://groups.jsonl").members
    3
    """
    place = os.fspath(path)
    if format not in (None, *get_args(Format)):
        raise InputError(f"format is {format!r}; it must be one of {', '.join(get_args(Format))}")
    kind = format or format_of(place)
    if bom and kind not in DELIMITERS:
        raise InputError(f"{place}: {kind} has no byte order mark; leave bom out, or write CSV or TSV")
    if long and kind in ("graphml", "duckdb"):
        raise InputError(f"{place}: {kind} holds members in a form of its own; leave long out")
    state = groups.run.state
    if not state.published:
        raise InputError(
            f"{groups.run.folder.uri}: {state}, so there is more to come; finish it first: bicliq resume {groups.run.run}"
        )
    sheet = kind in DELIMITERS or kind == "xlsx"
    count = _Counted(groups, long or sheet, guard and sheet)
    size = write_file(count, place, kind, overwrite=overwrite, bom=bom)
    return Exported(place, kind, count.bicliques, count.members, size, count.guarded)


class Tables(Protocol):
    """What a file is written from: tables of one schema, and what a sheet of them is called."""

    sheet: str

    @property
    def schema(self) -> pa.Schema:
        """Columns of the tables."""

    def batches(self) -> Iterator[pa.Table]:
        """Yield the tables."""

    def rows_of(self, batch: pa.Table) -> list[dict[str, Any]]:
        """The rows of a table for JSON Lines."""


def write_file(
    count: Any,
    place: str,
    kind: str,
    *,
    overwrite: bool,
    bom: bool = False,
    writer: Callable[[Any, Any, str], None] | None = None,
) -> int:
    """Write `Tables`, or what a format or a writer takes, and return the size of the file.

    Raises InputError where the file is there already, or cannot be there. Raises StorageError where
    it cannot be written; what was there before is still there.
    """
    if kind in LOCAL and not is_local(file_system(place)[0]):
        raise InputError(f"{place}: {LOCAL[kind]} is written to a local disk only; give a path")
    system, target = new_file(place, overwrite=overwrite)
    text = _Text(DELIMITERS.get(kind, ""), place.lower().endswith(".gz"), bom)
    with written(place):
        if kind == "delta" and system.exists(target):
            _write_delta(count, system, target)
        else:
            with _beside(system, target) as unfinished:
                if writer is not None:
                    writer(count, system, unfinished)
                elif text.delimiter:
                    _write_csv(count, system, unfinished, text)
                else:
                    WRITERS[kind](count, system, unfinished)
    return int(system.du(target))


def format_of(path: str, of: Collection[str] | None = None) -> Format:
    """Return the format that the end of a name tells.

    Raises InputError where it tells none; of some formats alone, `of`, it names their ends.

    Examples
    --------
    >>> format_of("groups.csv.gz")
    'csv'
    """
    for suffix, kind in SUFFIXES.items():
        if path.lower().endswith(suffix):
            return kind
    ends = ", ".join(suffix for suffix, kind in SUFFIXES.items() if of is None or kind in of)
    raise InputError(f"{path}: which format? End the name on {ends}{', or name the format' if of is None else ''}")


@contextmanager
def _beside(system: Any, target: str) -> Iterator[str]:
    """A name beside the place, which is moved there at the end, or removed after an error."""
    unfinished = f"{target}.unfinished-{os.getpid()}"
    try:
        yield unfinished
        system.mv(unfinished, target, recursive=system.isdir(unfinished))
    except BaseException:
        if system.exists(unfinished):
            system.rm(unfinished, recursive=True)
        raise


class _Counted:
    """The batches of an export, counted as they pass."""

    sheet = "members"

    def __init__(self, groups: Bicliques, long: bool, guard: bool) -> None:
        self.groups, self.long, self.guard = groups, long, guard
        self.bicliques = self.members = self.guarded = 0

    def batches(self) -> Iterator[pa.Table]:
        """Yield the tables to write, in the form that is asked for."""
        for wide in self.wide():
            yield self.groups.in_long_form(wide) if self.long else wide

    def wide(self) -> Iterator[pa.Table]:
        """Yield tables with a row a biclique."""
        for batch in _ahead(self.groups.batches()):
            self.bicliques += batch.num_rows
            self.members += sum(pa.compute.sum(batch[name]).as_py() or 0 for name in ("n_left", "n_right"))
            yield self._guarded(batch) if self.guard else batch

    def _guarded(self, wide: pa.Table) -> pa.Table:
        """Put apostrophes before labels of text that a spreadsheet would run; numbers stay."""
        for side in ("left", "right"):
            if pa.types.is_integer(wide[side].type.value_type):
                continue
            lists = wide[side].combine_chunks()
            labels = pc.replace_substring_regex(lists.values, FORMULA, r"'\1")
            self.guarded += pc.sum(pc.not_equal(lists.flatten(), _lists(lists, labels).flatten())).as_py() or 0
            wide = wide.set_column(wide.column_names.index(side), side, _lists(lists, labels))
        return wide

    def rows_of(self, batch: pa.Table) -> list[dict[str, Any]]:
        """The rows of a batch for JSON Lines."""
        return list(map(with_times_in_words, batch.to_pylist()))

    @property
    def schema(self) -> pa.Schema:
        """Columns of the tables to write."""
        wide = self.groups.schema
        return self.groups.in_long_form(wide.empty_table()).schema if self.long else wide


def with_times_in_words(row: dict[str, Any]) -> dict[str, Any]:
    """Return a biclique as JSON can hold it: windows of a group in step as ISO text.

    Examples
    --------
    >>> with_times_in_words({"left": ["ann"]})
    {'left': ['ann']}
    """
    times = {"windows": in_words(row["windows"])} if "windows" in row else {}
    ends: dict[str, Any] = {end: row[end] and row[end].isoformat() for end in ("start", "end") if end in row}
    return {**row, **times, **ends}


def _lists(lists: pa.ListArray, values: pa.Array) -> pa.ListArray:
    """The lists with other values."""
    return pa.ListArray.from_arrays(lists.offsets, values)


def _ahead(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Have the next table read while one is written."""
    with ThreadPoolExecutor(1, "export") as pool:
        coming = pool.submit(next, tables, None)
        while (table := coming.result()) is not None:
            coming = pool.submit(next, tables, None)
            yield table


def _write_parquet(count: Tables, system: Any, path: str) -> None:
    with system.open(path, "wb") as file, pq.ParquetWriter(file, count.schema, compression="zstd") as writer:
        for batch in count.batches():
            writer.write_table(batch)


@dataclass(frozen=True)
class _Text:
    """How a file of delimited text is written."""

    delimiter: str
    packed: bool
    bom: bool


def _write_csv(count: Tables, system: Any, path: str, text: _Text) -> None:
    options = pacsv.WriteOptions(delimiter=text.delimiter)
    with system.open(path, "wb") as place, gzip.GzipFile("", "wb", 6, place, 0) if text.packed else place as file:
        file.write(BOM if text.bom else b"")
        with pacsv.CSVWriter(file, count.schema, write_options=options) as writer:
            for batch in count.batches():
                writer.write_table(batch)


def _write_xlsx(count: Tables, system: Any, path: str) -> None:
    """A sheet whose labels are text, whatever they look like; so are numbers that Excel rounds."""
    with needs("excel", "an export to Excel"):
        import openpyxl
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet(count.sheet)

    def cell(value: Any) -> Any:
        if value is None:
            return None
        text = str(value)
        if isinstance(value, float) and math.isfinite(value):
            return value
        if isinstance(value, int) and len(text.lstrip("-")) <= SHEET_DIGITS:
            return value
        if len(text) > CELL_LETTERS or ILLEGAL_CHARACTERS_RE.search(text) or RETURN in text:
            raise InputError(f"the label {text[:40]!r} is not what a sheet of Excel can hold; export to another format")
        made = WriteOnlyCell(sheet, text)
        made.data_type = "s"  # or openpyxl takes =1+1 for a formula
        return made

    try:
        sheet.append(count.schema.names)
        rows = 1
        for batch in count.batches():
            rows += batch.num_rows
            if rows > SHEET_ROWS:
                raise InputError(
                    f"more than the {SHEET_ROWS:,} rows that a sheet of Excel has; choose fewer, or write CSV"
                )
            for row in zip(*(batch[name].to_pylist() for name in batch.column_names), strict=True):
                sheet.append([cell(value) for value in row])
    finally:
        sheet.close()
    with system.open(path, "wb") as file:
        book.save(file)


def _write_jsonl(count: Tables, system: Any, path: str) -> None:
    with text_file(system, path) as write:
        for batch in count.batches():
            for row in count.rows_of(batch):
                write(json.dumps(row, ensure_ascii=False) + "\n")


def _write_graphml(count: _Counted, system: Any, path: str) -> None:
    """A node a vertex and a node a biclique; an edge says who is in what."""
    keys = {"kind": "string", "label": "string", "n_left": "int", "n_right": "int", "n_edges": "long"}
    met: set[tuple[str, Any]] = set()
    with text_file(system, path) as write:
        write('<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
        for name, kind in keys.items():
            write(f'<key id="{name}" for="node" attr.name="{name}" attr.type="{kind}"/>\n')
        for name in ("start", "end") if "windows" in count.schema.names else ():
            write(f'<key id="{name}" for="edge" attr.name="{name}" attr.type="string"/>\n')
        write('<graph edgedefault="undirected">\n')
        for batch in count.wide():
            for row in batch.to_pylist():
                group = f"biclique {row['biclique_id']}"
                write(
                    graphml_node(
                        group, {"kind": "biclique", **{name: row[name] for name in ("n_left", "n_right", "n_edges")}}
                    )
                )
                for side in ("left", "right"):
                    windows = row.get("windows") if side == "right" else None
                    for at, label in enumerate(row[side]):
                        vertex = f"{side} {label}"
                        if (side, label) not in met:
                            met.add((side, label))
                            write(graphml_node(vertex, {"kind": side, "label": label}))
                        told = "/" if windows is None else f">{_told(in_words([windows[at]])[0])}</edge"
                        write(f"<edge source={xml_attribute(group)} target={xml_attribute(vertex)}{told}>\n")
        write("</graph>\n</graphml>\n")


def graphml_node(name: str, data: dict[str, Any]) -> str:
    """Return a node of GraphML with what is told of it."""
    return f"<node id={xml_attribute(name)}>{_told(data)}</node>\n"


def _told(data: dict[str, Any]) -> str:
    return "".join(
        f'<data key="{key}">{escape(_xml(str(value)), {RETURN: "&#13;"})}</data>' for key, value in data.items()
    )


def xml_attribute(text: str) -> str:
    """Return a text in quotes, as XML has it."""
    return quoteattr(_xml(text))


def _xml(text: str) -> str:
    """Text that XML can hold; what it cannot hold is an error, since it would be another label."""
    if any((ord(letter) < 0x20 and ord(letter) not in LETTERS) or ord(letter) in (0xFFFE, 0xFFFF) for letter in text):
        raise InputError(f"the label {text!r} has a character that GraphML cannot hold; export to another format")
    return text


def _write_duckdb(count: _Counted, system: Any, path: str) -> None:
    """Tables `bicliques`, with lists, and `members`, in long form."""
    with needs("frames", "an export to DuckDB"):
        import duckdb

    with duckdb.connect(path) as database:
        for at, batch in enumerate(_or_empty(count)):
            members = count.groups.in_long_form(batch)
            for name, table in (("bicliques", batch), ("members", members)):
                database.register("batch", table)
                database.execute(
                    f"{f'CREATE TABLE {name} AS' if at == 0 else f'INSERT INTO {name}'} SELECT * FROM batch"
                )
                database.unregister("batch")


def _write_delta(count: _Counted, system: Any, path: str) -> None:
    """A Delta table, or a new version of one that is there."""
    with needs("delta", "an export to Delta"):
        from deltalake import DeltaTable, write_deltalake
        from deltalake.exceptions import DeltaError

    if system.exists(path) and not DeltaTable.is_deltatable(path):
        raise InputError(f"{path}: is there, and no Delta table; name another folder")
    batches = (batch for table in count.batches() for batch in table.to_batches())
    reader = pa.RecordBatchReader.from_batches(count.schema, batches)
    try:
        write_deltalake(path, reader, mode="overwrite", schema_mode="overwrite")
    except DeltaError as error:
        raise StorageError(f"{path}: cannot be written: {error}; check the folder and the space") from error


def _or_empty(count: _Counted) -> Iterator[pa.Table]:
    """Begin with an empty table, so that there are columns where there are no rows."""
    yield count.schema.empty_table()
    yield from count.wide()


@contextmanager
def text_file(system: Any, path: str) -> Iterator[Callable[[str], Any]]:
    """A file of UTF-8 text, to write to."""
    file: IO[bytes]
    with system.open(path, "wb") as file:
        yield lambda text: file.write(text.encode())


WRITERS: dict[str, Callable[[Any, Any, str], None]] = {
    "parquet": _write_parquet,
    "xlsx": _write_xlsx,
    "jsonl": _write_jsonl,
    "graphml": _write_graphml,
    "duckdb": _write_duckdb,
    "delta": _write_delta,
}
"""What writes each format that is no delimited text."""

LOCAL = {"duckdb": "DuckDB", "delta": "Delta"}
"""Formats whose writers are programs of their own, which know no fsspec."""
