"""In which order runs were published: a small record each, named by time, source and run.

Who asks for the last run lists these names and reads one manifest, however many runs there are. A
record is written before the manifest that it tells of. Where its process was killed in between, or
the run was published again, taken back or removed since, the two do not agree, and it is passed
over: the manifests are what counts. Only what nobody wrote down would be missed. So the first
record of a store whose runs an earlier version of bicliq wrote comes after theirs, and a mark says
that all are there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import xxhash

from bicliq.pipeline.errors import DamageError
from bicliq.pipeline.events import warn
from bicliq.pipeline.store.folder import TEMPORARY, Folder, storage_errors
from bicliq.pipeline.store.layout import RunFolder, Store
from bicliq.pipeline.store.record import Record
from bicliq.pipeline.store.records import Begun, Checks, Counts, Manifest, Numbered, Published, RunRecord

PLACE = "publications"
"""Folder of a store."""

NAME = re.compile(
    rf"{PLACE}/(?P<created>[\dT:.+-]+)_(?P<asks>bicliques|counts)_(?P<source>[0-9a-f]{{16}}|none)_(?P<run>[\w-]+)\.json"
)


@dataclass(frozen=True)
class Publication:
    """That a run was, or was about to be, published.

    Parameters
    ----------
    created
        When (ISO, UTC), as its manifest says, or its record of counts.
    run
        Name of the run.
    asks
        "bicliques" or "counts".
    source
        Hash of the table that its input was checked as (`source_hash`); "none" where it was not.
    """

    created: str
    run: str
    asks: str
    source: str

    @property
    def name(self) -> str:
        """Name of its record in the store."""
        return Published.name(f"{self.created}_{self.asks}_{self.source}_{self.run}")


def source_hash(uri: str | None) -> str:
    """Return the name of a source among publications.

    Examples
    --------
    >>> source_hash(None), source_hash("edges.csv")
    ('none', '58cc67d7926905af')
    """
    return "none" if uri is None else str(xxhash.xxh3_64_hexdigest(uri.encode()))


def publications(store: Store, part: str = "") -> Iterator[Publication] | None:
    """Return what was written down of a store, the last first; None: not all of it was.

    Parameters
    ----------
    store
        The store.
    part
        What their names must hold, such as a run or the hash of a source.

    Notes
    -----
    One listing of names, and no record is read.
    """
    names = _names(store)
    if Begun.at not in names:
        return None
    matching = sorted((name for name in names if part in name), reverse=True)  # by their moments
    return (Publication(**found.groupdict()) for found in map(NAME.fullmatch, matching) if found)


def last_number(store: Store) -> int:
    """Return the last number that was taken; 0: none was."""
    return max(_numbers(_names(store)), default=0)


def numbered_latest(store: Store) -> str | None:
    """Return the run of the last number whose run is published; None: there is none.

    Reads one listing, and mostly one entry and one manifest.
    """
    for number in sorted(_numbers(_names(store)), reverse=True):
        record = store.root.find(Numbered, number_name(number))
        if record is not None and record.run and published_at(store.run(record.run)) is not None:
            return record.run
    return None


def announce(folder: RunFolder, created: str, asks: str = "bicliques") -> None:
    """Write down that a run is published now; its manifest, or its counts, must come after it.

    Parameters
    ----------
    folder
        The run.
    created
        What the manifest will say.
    asks
        "bicliques" or "counts".
    """
    new = Publication(created, folder.run, asks, source_hash(_source_of(folder)))
    known = publications_to_add_to(folder.store, folder.run)
    earlier = [one for one in known if (one.run, one.asks) == (new.run, new.asks) and one != new]
    root = folder.store.root
    root.write(new.name, Published(run=folder.run))
    if earlier:
        stands = published_at(folder, asks)
        root.remove(*(one.name for one in earlier if one.created != stands))
    if any(TEMPORARY.fullmatch(name.rsplit("/", 1)[-1]) for name in _names(folder.store)):
        _log(folder.store).sweep()


def publications_to_add_to(store: Store, part: str = "") -> Iterator[Publication]:
    """Return publications as above, of a store to which this process may write what is missing."""
    known = publications(store, part)
    if known is None:
        complete_publications(store)
        known = publications(store, part)
    return known or iter(())


def complete_publications(store: Store) -> int:
    """Write down what is not: runs of an earlier version of bicliq, or what was damaged.

    Returns how many were written. Reads the records of all runs.
    """
    names, written = _names(store), 0
    for run in store.runs():
        try:
            missing = [one for one in _publications_of(store.run(run)) if one.name not in names]
        except DamageError as error:  # `verify` tells of it, and its repair comes back here
            warn("run is not written down as published", run=run, reason=error)
            continue
        for one in missing:
            store.root.write(one.name, Published(run=run))
            written += 1
    store.root.write(Begun.at, Begun())
    return written


def forget(store: Store, run: str) -> None:
    """Remove what was written down of a run that is removed."""
    store.root.remove(*(one.name for one in publications(store, run) or () if one.run == run))


def published_at(folder: RunFolder, asks: str = "bicliques") -> str | None:
    """Return when a run, or its counts, were published by their record; None: they are not."""
    if asks == "counts":
        counts = folder.find(Counts)
        return None if counts is None else counts.created
    manifest = folder.manifest()
    return None if manifest is None else manifest.created


def unwritten(records: Mapping[str, Record], paths: set[str]) -> list[str]:
    """Say which publications of a store are not written down.

    Parameters
    ----------
    records
        Its sound records, by path.
    paths
        Paths of all of its records.
    """
    there = {path for path in paths if path.startswith(f"{PLACE}/")}
    if not there:
        return []  # nothing was published
    known = {(found["created"], found["asks"], found["run"]) for found in map(NAME.fullmatch, there) if found}
    problems = [] if Begun.at in there else [f"{Begun.at}: it is missing, and other publications are there"]
    for run, asks, created in _moments(records):
        if (created, asks, run) not in known:
            path = f"runs/{run}/{Checks.at}"
            checks = records.get(path)
            source = checks.source if isinstance(checks, Checks) else None
            unreadable = path in paths and path not in records
            name = Publication(created, run, asks, "*" if unreadable else source_hash(source)).name
            problems.append(f"{name}: it is missing, but {run} was published then")
    return [*problems, *_unnumbered(records, paths)]


def _moments(records: Mapping[str, Record]) -> Iterator[tuple[str, str, str]]:
    """Run, what it asks and when it was published, by the records that say so."""
    for path, record in records.items():
        run = path.split("/")[1] if path.startswith("runs/") else ""
        if isinstance(record, Counts):
            yield run, "counts", record.created
        elif isinstance(record, Manifest):
            yield run, "bicliques", record.created
        elif isinstance(record, RunRecord) and record.layered is not None:
            yield run, "bicliques", record.layered.manifest.created


def next_to_number(records: Mapping[str, Record]) -> tuple[int, str] | None:
    """Return the number that is missing at the end of the log, and the run that it is of.

    Parameters
    ----------
    records
        The sound records of a store, by path.

    Notes
    -----
    A run that was published later than the last numbered one was, and goes on from there, was to
    be the latest: its process was killed, or its number is gone. One that goes on from another run
    was overtaken.
    """
    entries = [record for _, record in sorted(records.items()) if isinstance(record, Numbered)]
    asked = {record.run: record for record in records.values() if isinstance(record, RunRecord)}
    published = {run: created for run, asks, created in _moments(records) if asks == "bicliques"}
    moments = {run: moment for run, moment in published.items() if run in asked}
    if not entries or not moments:
        return None
    numbered = [entry.run for entry in entries if entry.run in published]
    last = max(moments, key=lambda run: (moments[run], asked[run].created))
    latest = numbered[-1] if numbered else None
    if latest is not None and (last == latest or moments[last] <= published[latest]):
        return None
    before = asked.get(latest or "")
    goes_on = {None, latest, before and before.compacts}
    if last in numbered or asked[last].parent in goes_on or asked[last].beside:
        return max(_numbers(set(records))) + 1, last
    return None


def _unnumbered(records: Mapping[str, Record], paths: set[str]) -> list[str]:
    """Say which entries of the numbered log are missing."""
    there = set(_numbers(paths))
    problems = [
        f"{number_name(number)}: it is missing, and later ones are there"
        for number in sorted(set(range(1, max(there, default=0))) - there)
    ]
    missing = next_to_number(records)
    if missing is not None and max(there) < missing[0]:
        number, run = missing
        problems.append(
            f"{number_name(number)}: it is missing, and was to say that {run} is the latest; give its command again, or bicliq verify --repair writes it"
        )
    return problems


def number_name(number: int) -> str:
    """Return the name of an entry of the numbered log."""
    return Numbered.name(f"{number:08d}")


def _numbers(names: set[str]) -> list[int]:
    return [int(found[1]) for found in map(Numbered.pattern.fullmatch, names) if found]


def _publications_of(folder: RunFolder) -> Iterator[Publication]:
    for asks in ("bicliques", "counts"):
        created = published_at(folder, asks)
        if created is not None:
            yield Publication(created, folder.run, asks, source_hash(_source_of(folder)))


def _source_of(folder: RunFolder) -> str | None:
    checks = folder.find(Checks)
    return None if checks is None else checks.source


def _log(store: Store) -> Folder:
    return Folder(store.fs, store.path, PLACE)


def _names(store: Store) -> set[str]:
    folder = _log(store)
    with storage_errors("list", folder.path):
        try:
            found = os.listdir(folder.path) if folder.is_local else store.fs.ls(folder.path, detail=False)
        except FileNotFoundError:
            return set()
    return {f"{PLACE}/{str(path).rsplit('/', 1)[-1]}" for path in found}
