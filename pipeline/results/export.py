"""Bicliques in the files of other programs: Parquet, CSV, JSON Lines, GraphML, DuckDB, Delta.

A file is written beside its place, batch by batch, and moved there when it is whole. What every
format can hold decides its shape: Parquet, JSON Lines and Delta have lists, a row a biclique; CSV
has the long form, a row a member; GraphML has a node a biclique, tied to the nodes of its members;
DuckDB has both tables.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Literal
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from bicliq.pipeline.errors import InputError, StorageError
from bicliq.pipeline.extras import file_system, needs
from bicliq.pipeline.results.bicliques import Bicliques

Format = Literal["parquet", "csv", "jsonl", "graphml", "duckdb", "delta"]

SUFFIXES: dict[str, Format] = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".graphml": "graphml",
    ".duckdb": "duckdb",
    ".db": "duckdb",
    ".delta": "delta",
}
"""Formats by the ends of names."""

RETURN = "\r"
LETTERS = {0x9, 0xA, 0xD}
"""Characters below a blank that XML can hold."""


@dataclass(frozen=True)
class Exported:
    """What an export wrote.

    Parameters
    ----------
    path, format
        The file.
    bicliques, members
        Bicliques in it, and the members of all of them.
    bytes
        Its size.
    """

    path: str
    format: str
    bicliques: int
    members: int
    bytes: int


def export(
    groups: Bicliques,
    path: str | os.PathLike[str],
    format: Format | None = None,
    *,
    long: bool = False,
    overwrite: bool = False,
) -> Exported:
    """Write bicliques to one file.

    Parameters
    ----------
    groups
        The bicliques.
    path
        Path or fsspec URL; for DuckDB and Delta a path.
    format
        "parquet", "csv", "jsonl", "graphml", "duckdb" or "delta"; by default what the name ends on.
    long
        Whether Parquet, JSON Lines and Delta have a row a member (biclique_id, side, label), as CSV
        has in any case, instead of a row a biclique with lists.
    overwrite
        Whether a file that is there is replaced. A Delta table gets a new version; its history
        stays.

    Returns
    -------
    Exported

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
    kind = format or _format_of(place)
    if long and kind in ("graphml", "duckdb"):
        raise InputError(f"{place}: {kind} holds members in a form of its own; leave long out")
    state = groups.run.state
    if not state.published:
        raise InputError(
            f"{groups.run.folder.uri}: {state}, so there is more to come; finish it first: bicliq resume {groups.run.run}"
        )
    system, target = file_system(place)
    if kind in LOCAL and not _is_local(system):
        raise InputError(f"{place}: {LOCAL[kind]} is written to a local disk only; give a path")
    is_there = system.exists(target)
    if is_there and not overwrite:
        raise InputError(f"{place}: is there already; name another file, or overwrite it")
    count = _Counted(groups, long or kind == "csv")
    try:
        if kind == "delta" and is_there:
            _write_delta(count, system, target)
        else:
            with _beside(system, target) as unfinished:
                WRITERS[kind](count, system, unfinished)
    except OSError as error:
        raise StorageError(f"{place}: cannot be written: {error}; check the folder and the space") from error
    return Exported(place, kind, count.bicliques, count.members, int(system.du(target)))


def _format_of(path: str) -> Format:
    for suffix, kind in SUFFIXES.items():
        if path.lower().endswith(suffix):
            return kind
    raise InputError(f"{path}: which format? End the name on {', '.join(SUFFIXES)}, or name the format")


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


def _is_local(system: Any) -> bool:
    return "file" in (system.protocol if isinstance(system.protocol, tuple) else (system.protocol,))


class _Counted:
    """The batches of an export, counted as they pass."""

    def __init__(self, groups: Bicliques, long: bool) -> None:
        self.groups, self.long = groups, long
        self.bicliques = self.members = 0

    def batches(self) -> Iterator[pa.Table]:
        """Yield the tables to write, in the form that is asked for."""
        for wide in self.wide():
            yield self.groups.in_long_form(wide) if self.long else wide

    def wide(self) -> Iterator[pa.Table]:
        """Yield tables with a row a biclique."""
        for batch in _ahead(self.groups.batches()):
            self.bicliques += batch.num_rows
            self.members += sum(pa.compute.sum(batch[name]).as_py() or 0 for name in ("n_left", "n_right"))
            yield batch

    @property
    def schema(self) -> pa.Schema:
        """Columns of the tables to write."""
        wide = self.groups.schema
        return self.groups.in_long_form(wide.empty_table()).schema if self.long else wide


def _ahead(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Have the next table read while one is written."""
    with ThreadPoolExecutor(1, "export") as pool:
        coming = pool.submit(next, tables, None)
        while (table := coming.result()) is not None:
            coming = pool.submit(next, tables, None)
            yield table


def _write_parquet(count: _Counted, system: Any, path: str) -> None:
    with system.open(path, "wb") as file, pq.ParquetWriter(file, count.schema, compression="zstd") as writer:
        for batch in count.batches():
            writer.write_table(batch)


def _write_csv(count: _Counted, system: Any, path: str) -> None:
    with system.open(path, "wb") as file, pacsv.CSVWriter(file, count.schema) as writer:
        for batch in count.batches():
            writer.write_table(batch)


def _write_jsonl(count: _Counted, system: Any, path: str) -> None:
    with _text(system, path) as write:
        for batch in count.batches():
            for row in batch.to_pylist():
                write(json.dumps(row, ensure_ascii=False) + "\n")


def _write_graphml(count: _Counted, system: Any, path: str) -> None:
    """A node a vertex and a node a biclique; an edge says who is in what."""
    keys = {"kind": "string", "label": "string", "n_left": "int", "n_right": "int", "n_edges": "long"}
    met: set[tuple[str, Any]] = set()
    with _text(system, path) as write:
        write('<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
        for name, kind in keys.items():
            write(f'<key id="{name}" for="node" attr.name="{name}" attr.type="{kind}"/>\n')
        write('<graph edgedefault="undirected">\n')
        for batch in count.wide():
            for row in batch.to_pylist():
                group = f"biclique {row['biclique_id']}"
                write(
                    _node(group, {"kind": "biclique", **{name: row[name] for name in ("n_left", "n_right", "n_edges")}})
                )
                for side in ("left", "right"):
                    for label in row[side]:
                        vertex = f"{side} {label}"
                        if (side, label) not in met:
                            met.add((side, label))
                            write(_node(vertex, {"kind": side, "label": label}))
                        write(f"<edge source={_attribute(group)} target={_attribute(vertex)}/>\n")
        write("</graph>\n</graphml>\n")


def _node(name: str, data: dict[str, Any]) -> str:
    told = "".join(
        f'<data key="{key}">{escape(_xml(str(value)), {RETURN: "&#13;"})}</data>' for key, value in data.items()
    )
    return f"<node id={_attribute(name)}>{told}</node>\n"


def _attribute(text: str) -> str:
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
def _text(system: Any, path: str) -> Iterator[Callable[[str], Any]]:
    """A file of UTF-8 text, to write to."""
    file: IO[bytes]
    with system.open(path, "wb") as file:
        yield lambda text: file.write(text.encode())


WRITERS: dict[str, Callable[[_Counted, Any, str], None]] = {
    "parquet": _write_parquet,
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "graphml": _write_graphml,
    "duckdb": _write_duckdb,
    "delta": _write_delta,
}
"""What writes each format."""

LOCAL = {"duckdb": "DuckDB", "delta": "Delta"}
"""Formats whose writers are programs of their own, which know no fsspec."""
