"""What an update reads: files, each taken once, or a table in memory, in the way of the base's."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable
from functools import partial
from typing import Any, TypeAlias

import xxhash
from pydantic import ValidationError

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.extras import file_system
from bicliq.pipeline.formats import Edges, EdgeSource, Files, name_of, open_edges
from bicliq.pipeline.formats.columns import wants_time, wants_weight
from bicliq.pipeline.formats.files import file_of, files_of, input_errors, size_of
from bicliq.pipeline.formats.parquet import BATCH_ROWS
from bicliq.pipeline.formats.recognise import recognise, typed_kind
from bicliq.pipeline.formats.source import FIRST_WORD
from bicliq.pipeline.formats.tables import names_its_columns
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.extend import same_policies
from bicliq.pipeline.store.layout import RunFolder
from bicliq.pipeline.store.records import Reading, SourceFile, TakenFile
from bicliq.pipeline.store.taken import own_taken

CHOSEN = ("csv", "tsv", "parquet", "table", "jsonl", "excel", "duckdb")
"""Formats whose columns are chosen; others have fixed ones."""

UNNAMED = {"left": "left", "right": "right"}
"""Columns of baskets, matrices and graphs in memory, which name none."""

Taken: TypeAlias = str | Files | EdgeSource
"""What an update reads: files by their name, or a table in memory that was opened."""

BLOCK = 1 << 22

CHANGED = ("mtime", "ETag", "etag", "md5Hash", "LastModified", "last_modified", "updated", "created")
"""What file systems of fsspec call the last change of a file, or a tag of its content."""


def taken_from(source: Edges, known: Reading, asked: IngestSettings, *, delete: bool) -> Taken:
    """Return the name of files as text; open a table in memory, since it may be read only once."""
    if isinstance(source, Files):
        return source
    if isinstance(source, str | os.PathLike):
        return os.fspath(source)
    return open_edges(source, reading_of(source, known, asked, delete=delete))


def source_files(source: Taken) -> tuple[SourceFile, ...]:
    """Read the files of an edge table, and say what tells them from others.

    `source`: path or fsspec URL, a glob or a folder, or files, as of `pipeline.formats.open_edges`;
    or a table in memory. Raises InputError where one is missing, empty or unreadable.

    Each byte is read once more than its rows are, at memory speed on a local disk.
    """
    return (_table(source),) if isinstance(source, EdgeSource) else tuple(_file(uri) for uri in files_of(source))


def _table(source: EdgeSource) -> SourceFile:
    assert source.table is not None  # files are taken by their names
    state = xxhash.xxh3_128()
    for batch in source.table.to_batches(BATCH_ROWS):
        state.update(batch.serialize())
    return SourceFile(source.uri, source.bytes, state.hexdigest(), in_memory=True)


def _file(uri: str) -> SourceFile:
    size_of(uri)  # refuses what is no file
    fs, path = file_system(file_of(uri))
    state, size, modified = xxhash.xxh3_128(), 0, _last_change(uri)
    with input_errors(uri), fs.open(path, "rb") as file:
        while block := file.read(BLOCK):
            state.update(block)
            size += len(block)
    return SourceFile(str(fs.unstrip_protocol(path)), size, state.hexdigest(), modified)


def taken_entries(
    files: Iterable[SourceFile], run: str, *, delete: bool = False, changed: bool = True
) -> dict[str, TakenFile]:
    """Return what the record of a run says of files that it took, by their keys."""
    at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    taken = partial(TakenFile, version=run, deleted=delete, at=at, changed=changed)
    return {file.key: taken(modified=file.modified) for file in files if not file.in_memory}


def name_of_key(key: str) -> str:
    """Return the name of a file of which this is the key (`SourceFile.key`)."""
    return key.split(" ", 2)[2]


def refuse_changed(files: Iterable[SourceFile]) -> None:
    """Raise InputError where a file is not what it was when its checksum was made.

    Called after its rows were read: they are then those of the checksum.
    """
    for file in files:
        if not file.in_memory and _last_change(file.uri) != file.modified:
            raise InputError(f"{file.name}: changed while it was read; nothing was taken: give the same command again")


def _last_change(uri: str) -> str:
    fs, path = file_system(file_of(uri))
    fs.invalidate_cache()  # of listings: what another process wrote is seen
    with input_errors(uri):
        return last_change(fs.info(path))


def last_change(info: dict[str, Any]) -> str:
    """Return what a file system says of a file's last change: a time or a tag, as text.

    Examples
    --------
    >>> last_change({"size": 7, "mtime": 1700000000.5}), last_change({"size": 7, "ETag": '"9b2c"'})
    ('1700000000.5', '"9b2c"')
    """
    return next((str(info[name]) for name in CHANGED if info.get(name) is not None), "")


def as_it_was_taken(
    source: Taken,
    files: Iterable[SourceFile],
    asked: IngestSettings,
    reading: IngestSettings,
    version: RunFolder,
    *,
    delete: bool,
) -> None:
    """Refuse to take files for those that a version took, where they are asked for otherwise.

    `reading`: all that the files are read by, of which `asked` was given. Of files that changed
    nothing it is not known by which columns they were read.
    """
    record = version.record()
    graph = version.store.graph(record.graph)
    same_policies(graph, graph.record(), reading, delete=delete)
    took = own_taken(version.store, record) or {}
    known = graph.record().summary.columns
    if not all((entry := took.get(file.key)) and entry.changed and entry.version == version.run for file in files):
        return
    now = open_edges(source, reading).columns_to_ask
    for role in sorted(asked.model_fields_set & known.keys() & now.keys()):
        if now[role] != known[role]:
            raise InputError(
                f"{name_of(source)}: version {version.run} took it with {role} = {known[role]!r}, and {now[role]!r} is"
                " asked for; nothing was changed: take its rows away first, as they were read (bicliq update --delete), then"
                " join it"
            )


OF_LINES = ("matrix", "baskets")
"""Formats that no name of a file and none of its lines tells for sure."""


def reading_of(source: Edges, known: Reading, asked: IngestSettings, *, delete: bool) -> IngestSettings:
    """Return how an update's table is read: as the base's was, but for what is given.

    `known`: what is recorded of the base's table. `asked`: what is given for this table: only
    fields that were set count. `delete`: whether its edges are taken away: weights are then read
    only to filter by.

    Columns are those of the base where both tables are of formats in which columns are chosen. A
    format with fixed columns has its own. A table in memory was opened with what it is read by.
    """
    if isinstance(source, EdgeSource):
        return source.settings
    given = {name: getattr(asked, name) for name in asked.model_fields_set}
    before = {name: value for name, value in known.policies.items() if value is not None}
    before.setdefault("strip", False)  # a run of before knew no such setting, and kept blanks
    if delete:
        before.pop("window", None)
        before["duplicates"] = before["duplicates"].replace("sum", "first").replace("max", "first")
    if known.format in OF_LINES and not {"format", "left", "right"} & set(given) and _is_plain_text(source, asked):
        before["format"] = known.format
    policies = _settings({**before, **given})
    for name in _of_lines(source, policies) if {"skip", "comment", "encoding"} & set(before) else ():
        before.pop(name, None)
    named = known.columns != UNNAMED and "value" not in known.columns  # cells have columns of our own
    are_chosen = named and {_format_of(source, policies), known.format} <= set(CHOSEN)
    columns = {role: name for role, name in known.columns.items() if name} if are_chosen else {}
    if delete and not wants_weight(policies):
        columns.pop("weight", None)
    if not wants_time(policies):
        columns.pop("time", None)
    if policies.format == known.format == "baskets" and known.columns["left"] == FIRST_WORD:
        columns["left"] = FIRST_WORD
    return _settings({**before, **columns, **given})


def _settings(values: dict[str, Any]) -> IngestSettings:
    """What is given beside what the run was read by; raises InputError where they contradict."""
    try:
        return IngestSettings.model_validate(values)
    except ValidationError as error:
        reasons = "; ".join(problem["msg"].removeprefix("Value error, ") for problem in error.errors())
        raise InputError(f"what is given contradicts how the table of the run was read: {reasons}") from None


def _of_lines(source: Edges, policies: IngestSettings) -> tuple[str, ...]:
    """Settings of lines, where a table has none: those of the run's text mean nothing to it."""
    kind = "table"
    if isinstance(source, str | os.PathLike | Files):
        kind = typed_kind(files_of(source if isinstance(source, Files) else os.fspath(source))[0]) or "text"
        kind = _format_of(source, policies) if kind == "text" else kind
    of_text = "comment", "encoding"
    return {"excel": of_text, **dict.fromkeys(("table", "parquet", "duckdb"), (*of_text, "skip"))}.get(kind, ())


def _is_plain_text(source: Edges, asked: IngestSettings) -> bool:
    """Whether a file may be of a format that only what is asked for tells."""
    try:
        return isinstance(source, str | os.PathLike | Files) and _format_of(source, asked) in ("csv", "tsv")
    except InputError:
        return True


def _format_of(source: Edges, policies: IngestSettings) -> str:
    if isinstance(source, Files):
        return recognise(source.uris[0], policies) if policies.format == "auto" else policies.format
    if not isinstance(source, str | os.PathLike):
        return "table" if names_its_columns(source) else "baskets"
    return recognise(files_of(os.fspath(source))[0], policies) if policies.format == "auto" else policies.format
