"""Arrivals: the files that lie in a folder, below a prefix or behind a glob, as one look sees them.

Nothing is read here but names, sizes and times of change. A file that two looks see alike is
settled: nobody writes it any more.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.extras import file_system, is_local
from bicliq.pipeline.formats.files import bare_name, input_errors
from bicliq.pipeline.formats.kinds import TABLES
from bicliq.pipeline.versions.sources import last_change

UNFINISHED = (".tmp", ".part")
"""Endings of names that files have while they are being written."""


@dataclass(frozen=True)
class Arrival:
    """A file as a look sees it.

    `uri`, `bytes`: its name and its size. `modified`: what its file system says of its last change
    (`pipeline.versions.sources.last_change`).
    """

    uri: str
    bytes: int
    modified: str


@dataclass(frozen=True)
class Look:
    """What lies in a place.

    `files`: tables, in the order of their names. `passed_over`: URLs of all else: names that begin
    with . or _ or end on .tmp or .part and, in a folder, names that are no tables'; pipes and
    devices.
    """

    files: tuple[Arrival, ...]
    passed_over: tuple[str, ...]


def look(place: str) -> Look:
    """Look what lies in a place.

    `place`: a folder or prefix (all tables below it), a glob, or a file; a path or an fsspec URL. A
    folder may be empty, and an object store knows no folders: there a prefix may have no object
    yet. Raises StorageError where it cannot be reached, and InputError where it is a local folder
    that is not there.
    """
    fs, path = file_system(place)
    fs.invalidate_cache()  # of listings: other processes write
    with input_errors(place):
        found, of_a_folder = _found(fs, path)
    start = len(path.rstrip("/")) + 1 if of_a_folder else None
    files, passed_over = [], []
    for name in sorted(found):
        uri = str(fs.unstrip_protocol(name))
        inside = name[start:] if start is not None else name.rsplit("/", 1)[-1]
        if (
            _is_meant(inside)
            and _is_file(fs, name, found[name])
            and (not of_a_folder or bare_name(name).endswith(TABLES))
        ):
            files.append(Arrival(uri, int(found[name].get("size") or 0), last_change(found[name])))
        else:
            passed_over.append(uri)
    return Look(tuple(files), tuple(passed_over))


def look_at(uri: str) -> Arrival | None:
    """Look at one file; None where it is not there."""
    fs, path = file_system(uri)
    fs.invalidate_cache()
    with input_errors(uri):
        try:
            info = fs.info(path)
        except FileNotFoundError:
            return None
    return Arrival(str(fs.unstrip_protocol(path)), int(info.get("size") or 0), last_change(info))


def settled(before: Look, after: Look) -> tuple[list[Arrival], list[Arrival]]:
    """Sort the files of a look by whether an earlier one saw them alike: settled ones, and others.

    Examples
    --------
    >>> one, grown, more = Arrival("a.csv", 7, "1"), Arrival("b.csv", 3, "1"), Arrival("b.csv", 9, "2")
    >>> ready, written = settled(Look((one, grown), ()), Look((one, more), ()))
    >>> [file.uri for file in ready], [file.uri for file in written]
    (['a.csv'], ['b.csv'])
    """
    known = set(before.files)
    ready = [file for file in after.files if file in known and file.bytes > 0]
    return ready, [file for file in after.files if file not in ready]


def refuse_store_inside(place: str, store: str) -> None:
    """Raise InputError where a store lies in the place: its own tables would arrive there."""
    roots = []
    for uri in (place, store):
        fs, path = file_system(uri)
        roots.append(str(fs.unstrip_protocol(path)).rstrip("/") + "/")
    if roots[1].startswith(roots[0]):
        raise InputError(
            f"{store}: the store lies in {place}, and its own tables would be taken; put it elsewhere, or watch a glob"
        )


def _found(fs: Any, path: str) -> tuple[dict[str, Any], bool]:
    """Files with what is known of them, and whether they are those of a folder."""
    kind = _kind(fs, path)
    if kind == "file":
        return {path: fs.info(path)}, False
    if kind is None and any(mark in path for mark in "*?["):
        found = fs.glob(path, detail=True)
        return {name: info for name, info in found.items() if info["type"] != "directory"}, False
    if kind is None and (is_local(fs) or _kind(fs, path.split("/", 1)[0]) is None):
        raise InputError(f"{fs.unstrip_protocol(path)}: no such folder; make it, or check the path")
    return fs.find(path, detail=True), True


def _kind(fs: Any, path: str) -> str | None:
    try:
        return str(fs.info(path)["type"])
    except FileNotFoundError:
        return None


def _is_file(fs: Any, name: str, info: dict[str, Any]) -> bool:
    """Whether it is a file, or a link to one: fsspec says "other" of links, pipes and devices."""
    return info["type"] == "file" or (is_local(fs) and os.path.isfile(name))


def _is_meant(name: str) -> bool:
    """Whether no part of a name says that the file is hidden or unfinished."""
    hidden = any(part.startswith((".", "_")) for part in name.split("/"))
    return not hidden and not name.lower().endswith(UNFINISHED)
