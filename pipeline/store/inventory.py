"""One walk over a store: every file compared with the records, and these with each other.

What is damaged, missing, foreign, or left by a process that was killed; and what a record reaches,
for each says which others it needs. `verify`, `repair` and `prune` all go by it.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from bicliq.pipeline.errors import DamageError
from bicliq.pipeline.store.folder import TEMPORARY, Folder, R, is_at_work
from bicliq.pipeline.store.layout import STORE_FILE, Store
from bicliq.pipeline.store.local_disk import NO_FILE, writer_lives
from bicliq.pipeline.store.needs import needs, place_of
from bicliq.pipeline.store.record import Record, StoredFile, owner_of
from bicliq.pipeline.store.records import Pruned, RunRecord, StoredGraph, Subgraph

FOLDERS = ("graphs", "runs", "cliques", "publications", "sources", "claims", "quarantine")
"""Folders of a store in which there is nothing but what is listed in `pipeline.store.layout`."""

LOCK = re.compile(r"(.*/)?claims/[\w-]+\.lock")
"""Files that are locked, and empty."""

FORGOTTEN_SECONDS = 3600
"""Age from which a file of an attempt on an object store, which nobody can lock, belongs to no
living process."""


@dataclass(frozen=True)
class Problem:
    """What is wrong with a file: in words, and of which kind that is."""

    reason: str
    kind: Literal["damaged", "missing", "foreign"]

    def __str__(self) -> str:
        return self.reason


@dataclass
class Inventory:
    """What is in a store, or in some folders of it; paths are those in the store.

    Parameters
    ----------
    records
        Content of all records that are sound.
    sizes
        Bytes of all files.
    files
        Files that records name, as far as they are what these say.
    problems
        What is wrong with a file.
    leftovers
        Files that a process left which was killed, and that nobody reads; and what they are.
    bytes
        Bytes that were read.
    """

    records: dict[str, Record] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    files: dict[str, StoredFile] = field(default_factory=dict)
    problems: dict[str, Problem] = field(default_factory=dict)
    leftovers: dict[str, str] = field(default_factory=dict)
    bytes: int = 0

    def record(self, kind: type[R], place: str) -> R | None:
        """The sound record of a kind in a folder, or None."""
        found = self.records.get(f"{place}/{kind.at}")
        return found if isinstance(found, kind) else None

    def records_in(self, kind: type[R], place: str) -> dict[str, R]:
        """All sound records of a kind in a folder, by their names there."""
        start = f"{place}/"
        return {
            path.removeprefix(start): record
            for path, record in self.records.items()
            if path.startswith(start) and isinstance(record, kind)
        }

    def is_damaged(self, path: str) -> bool:
        """Whether a file is there, and not what was written."""
        return path in self.problems and self.problems[path].kind == "damaged"

    @property
    def places(self) -> list[str]:
        """Folders of the graphs, runs and cliques that there is something of."""
        there = (path for path, problem in self.problems.items() if problem.kind != "missing")
        return sorted({place_of(path) for path in (*self.records, *self.files, *there) if path.count("/") > 1})

    def needed(self) -> dict[str, str]:
        """The records that others need, and one that does, by their paths."""
        beside: dict[str, dict[str, Record]] = defaultdict(dict)
        for path, record in self.records.items():
            beside[place_of(path)][path.removeprefix(f"{place_of(path)}/")] = record
        found: dict[str, str] = {}
        for path, record in self.records.items():
            found |= dict.fromkeys(needs(path, record, beside[place_of(path)]), path)
        return found

    def reached(self, paths: Iterable[str]) -> set[str]:
        """Some records, and all that these need and that need others."""
        seen = dict.fromkeys(paths)
        todo = list(seen)
        for path in todo:  # grows as it is gone through
            needed = needs(path, self.records[path]) if path in self.records else []
            new = [other for other in needed if other not in seen]
            seen |= dict.fromkeys(new)
            todo += new
        return set(seen)

    def sentences(self) -> list[str]:
        """One sentence a problem."""
        return [f"{path}: {reason}" for path, reason in sorted(self.problems.items())]


def take_inventory(store: Store, places: Iterable[str] = FOLDERS, *, check: bool = True) -> Inventory:
    """Read every file of a store and compare it with the records.

    `places`: folders to look at, as ``runs/3f2a``; the record of the store is looked at always.
    `check`: whether to read the files; otherwise only the records are, and which files are there.

    Reads each byte once. Of a run that is being searched, what changes meanwhile may be reported.
    """
    found, looked = Inventory(), set(places)
    root, sizes = store.root, found.sizes
    for place in sorted(looked):
        for path, size in root.files(place).items():
            if size == NO_FILE:
                found.problems[path] = Problem(
                    "it is foreign: a FIFO, a device, a socket or a link to a folder, which nobody reads", "foreign"
                )
            else:
                sizes[path] = size
    rest = _without_pruned(_read_records(root, sizes, found), found)
    needed = found.needed()
    for path in sorted({*needed} - {*found.records, *found.problems}):
        if {path.split("/")[0], place_of(path)} & looked:
            found.problems[path] = Problem(f"it is missing, and {needed[path]} needs it", "missing")
    named = _named(root, found)
    for path, file in named.items():
        try:
            if check:
                root.check(file)
            found.files[path] = file
            found.bytes += file.bytes
        except DamageError as error:
            found.problems[path] = Problem(_reason(error, root.path_of(path)), "damaged")
    for path in rest:
        if path not in named:
            _classify(root, path, found, needed)
    return found


def _read_records(root: Folder, sizes: dict[str, int], found: Inventory) -> list[str]:
    """Read the records; returns the other files."""
    names = [path for path in sizes if path.endswith(".json")]
    for path, record in root.read_each(Record, [STORE_FILE, *names]).items():
        found.bytes += sizes.get(path, 0)
        if isinstance(record, DamageError):
            found.problems[path] = Problem(_reason(record, root.path_of(path)), "damaged")
        else:
            found.records[path] = record
    return [path for path in sizes if not path.endswith(".json")]


def _without_pruned(rest: list[str], found: Inventory) -> list[str]:
    """Take out what is left of runs and graphs that were pruned; returns the other files."""
    marked = {path.removesuffix(Pruned.at) for path, record in found.records.items() if isinstance(record, Pruned)}
    own = (RunRecord.at, StoredGraph.at)
    gone = tuple(place for place in marked if not {f"{place}{name}" for name in own} & set(found.records))
    for path in [*(path for path in (*found.records, *found.problems) if path.startswith(gone)), *rest]:
        if gone and path.startswith(gone):
            found.records.pop(path, None)
            found.problems.pop(path, None)
            found.leftovers[path] = "left of what was pruned"
    return [path for path in rest if path not in found.leftovers]


def _named(root: Folder, found: Inventory) -> dict[str, StoredFile]:
    """Files that the records name, by their path in the store."""
    named = {}
    for path, record in found.records.items():
        place = place_of(path)
        for file in record.stored:
            named[f"{place}/{file.name}"] = StoredFile(f"{place}/{file.name}", file.bytes, file.checksum)
    return named


FOREIGN = Problem("it is foreign: no record names it, and nobody reads it", "foreign")


def _classify(root: Folder, path: str, found: Inventory, needed: Mapping[str, str]) -> None:
    """Say what a file is that no record names."""
    name, size = path.rsplit("/", 1)[-1], found.sizes[path]
    place, inside = place_of(path), "/".join(path.split("/")[2:])
    if LOCK.fullmatch(path):
        if size:
            found.problems[path] = Problem(f"it is a lock and must be empty, but has {size} bytes", "damaged")
    elif TEMPORARY.fullmatch(name):
        if not writer_lives(root.path_of(path)):
            found.leftovers[path] = "a temporary file of a process that was killed"
    elif (kind := owner_of(inside)) and (match := kind.file_pattern.fullmatch(inside)):
        if kind is RunRecord or match.groupdict().get("attempt"):
            found.leftovers[path] = "a file of an attempt that was not committed"
            return
        record = kind.name(int(match[1])) if kind is Subgraph else kind.at
        if any(f"{place}/{record}" in known for known in (found.records, found.problems, needed)):
            found.problems[path] = FOREIGN
        else:
            found.leftovers[path] = f"a file without its {record}, which comes after it"
    else:
        found.problems[path] = FOREIGN


def is_gone(store: Store, place: str, found: Inventory) -> bool:
    """Whether a run or a graph that was there was removed meanwhile."""
    own = {f"{place}/{kind.at}" for kind in (RunRecord, StoredGraph)} & {*found.sizes}
    return not all(store.root.has(path) for path in own)


def places_of(store: Store, run: str) -> list[str]:
    """Return the folders of a run, of its graph, and of all that they stand on, as records tell."""
    places, paths = dict[str, None](), [f"runs/{run}/{RunRecord.at}"]
    for path in paths:  # grows as it is gone through
        if path.startswith(("runs/", "graphs/")) and place_of(path) not in places:
            places[place_of(path)] = None
            with contextlib.suppress(DamageError):  # it is reported with the folder
                record = store.root.find(Record, path)
                paths += needs(path, record) if record else []
    return list(places)


def forgotten(store: Store, found: Inventory | None = None) -> list[tuple[str, str]]:
    """Return the leftovers that no living process can want, and what they are.

    `found`: what is in it; None: it is looked at, and no data is read.
    """
    found = found or take_inventory(store, check=False)
    seen = [path for path in sorted(found.leftovers) if not _may_be_wanted(store, path)]
    places = {place_of(path) if path.count("/") > 1 else path.split("/")[0] for path in seen}
    again = take_inventory(store, places, check=False).leftovers  # a process may have ended since, and named it
    return [(path, again[path]) for path in seen if path in again]


def _may_be_wanted(store: Store, path: str) -> bool:
    """Whether the process that wrote a leftover may live: it holds that, or a claim beside it."""
    kind, *inside = path.split("/")
    folder = Folder(store.fs, store.path, f"{kind}/{inside[0]}")
    return not is_forgotten(store.root, path) or (len(inside) > 1 and is_at_work(folder))


def is_forgotten(root: Folder, path: str) -> bool:
    """Whether no living process can want a leftover.

    It is old, or, on a local disk, nobody holds its partition.
    """
    if root.is_local:
        return not writer_lives(root.path_of(path))
    try:
        age = dt.datetime.now(dt.UTC) - root.fs.modified(root.path_of(path))
    except (FileNotFoundError, NotImplementedError):
        return False
    return bool(age.total_seconds() > FORGOTTEN_SECONDS)


def _reason(error: DamageError, path: str) -> str:
    """The text of an error without the path that it begins with, and without what to do."""
    return str(error).removeprefix(f"{path}: ").rsplit("; ", 1)[0]
