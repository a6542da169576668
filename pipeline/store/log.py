"""The numbered log: which run is the latest, by entries that are each made only where none is.

Whoever publishes a run, joins edges, rolls back or prunes takes the next number when its files are
there (`publications/number-00000012.json` names the run). Of two at once one gets the number; the
other looks again, and is refused where what it stands on is no longer the latest, or goes. So no
version can leave another's edges out without a word, on a disk or on an object store that creates
an object only if it is absent. A record beside an entry says which table its run is of; none of
them is ever written again.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

import xxhash

from bicliq.pipeline.errors import DamageError, InputError
from bicliq.pipeline.store.file_systems import storage_errors
from bicliq.pipeline.store.folder import TEMPORARY, Folder
from bicliq.pipeline.store.layout import STORE_FILE, RunFolder, Store
from bicliq.pipeline.store.manifest import moment_after
from bicliq.pipeline.store.needs import needs, place_of
from bicliq.pipeline.store.record import Record
from bicliq.pipeline.store.records import (
    Asks,
    Checks,
    Counts,
    LastOfSource,
    Manifest,
    Numbered,
    Pruned,
    RunRecord,
    StoredGraph,
)

PLACE = "publications"
"""Folder of a store."""


class Overtaken(InputError):
    """Raised where another version became the latest since the one that was to be changed."""


# ---- what it says --------------------------------------------------------------------------------


def last_number(store: Store) -> int:
    """Return the last number that was taken; 0: none was."""
    return max(_numbers(_names(store)), default=0)


def numbered_latest(store: Store) -> str | None:
    """Return the run of the last number whose run is published; None: there is none.

    Reads one listing, and mostly one entry and one manifest.
    """
    entries = (entry.run for entry in _backwards(store) if entry.run is not None)
    return next((run for run in entries if published_at(store.run(run)) is not None), None)


def latest_published(store: Store) -> str | None:
    """Return the run that was published last, or None where none is; counts are left out.

    Where nothing is numbered, moments decide.
    """
    latest = numbered_latest(store)
    if latest is not None:
        return latest
    moments = {run: moment for run in store.runs() if (moment := published_at(store.run(run)))}
    return max(moments, key=lambda run: (moments[run], store.run(run).record().created, run), default=None)


def published_at(folder: RunFolder, asks: Asks = "bicliques") -> str | None:
    """Return when a run, or its counts, were published by their record; None: they are not."""
    found = folder.find(Counts) if asks == "counts" else folder.manifest()
    return None if found is None else found.created


def last_moment(store: Store) -> str | None:
    """Return when a run or its counts were last published, or rolled back to; None: never."""
    for entry in _backwards(store):
        if entry.created is not None:
            now = published_at(store.run(entry.counted), "counts") if entry.counted else None
            now = now or (published_at(store.run(entry.run)) if entry.run else None)
            return max(entry.created, now or "")
    return None


def last_moments(store: Store) -> dict[str, str]:
    """Return when each run was last made the latest."""
    entries = _entries(store)
    return {entry.run: entry.created for entry in entries if entry.run and entry.created and not entry.counted}


def was_published(folder: RunFolder) -> bool:
    """Whether the log says that a run, or its counts, were published once."""
    return any(folder.run in (entry.run, entry.counted) for entry in _entries(folder.store))


def last_of_source(store: Store, source: str) -> Checks | None:
    """Return the checks of the run of a table that was published last."""
    start = _name_of_source(source, 0).removesuffix(f"{0:08d}.json")
    for name in sorted((name for name in _names(store) if name.startswith(start)), reverse=True):
        one = store.root.find(LastOfSource, name)
        if one is not None and published_at(store.run(one.run), one.asks) is not None:
            return store.run(one.run).read(Checks)
    return None


# ---- writing -------------------------------------------------------------------------------------


def make_next(folder: RunFolder, created: str, follows: str | None = None, asked: RunRecord | None = None) -> None:
    """Make a run, which is published, the latest: give it the next number.

    `folder`, `created`: the run, and when it was published, or rolled back to. `follows`: the run
    that must be the latest until then; None: whichever is. `asked`: its run.json: what it needs
    must stay; None: nothing is looked for. Raises Overtaken where another one is the latest, or one
    of the records is gone or about to go.
    """
    store, needed = folder.store, [] if asked is None else needs(RunRecord.at, asked)
    number, entry = last_number(store), Numbered(run=folder.run, created=created)
    while next((entry.run for entry in _backwards(store)), None) != folder.run:
        latest = latest_published(store)
        if follows is not None and latest not in (follows, folder.run) and not _holds(store, latest, follows):
            raise Overtaken(
                f"{store.uri}: run {latest} became the latest while a version of {follows} was made; nothing was"
                " changed: give the command again, which then goes on from there (rebase = true does so by itself)"
            )
        for path in (path for path in needed if path.startswith(("graphs/", "runs/"))):
            _refuse_pruned(store, path)
            base = store.graph(path.split("/")[1]).base() if path.startswith("graphs/") else None
            if base is not None:
                _refuse_pruned(store, f"{base.place}/{StoredGraph.at}")
        if take_number(store, number + 1, entry):
            number += 1
            break
        number = last_number(store)
    tell_source(store, number, entry)


def number_again(folder: RunFolder) -> None:
    """Write down that a run, which is the latest, was asked for again and is whole."""
    store = folder.store
    tell_again(folder)
    take_number(
        store, last_number(store) + 1, Numbered(run=folder.run, created=moment_after(last_moment(store)))
    )  # where somebody else takes it, something was published now as well


def tell_again(folder: RunFolder) -> None:
    """Write down of which table what a killed process numbered last is: a run, or its counts."""
    store = folder.store
    last = last_number(store)
    before, entry = (store.root.find(Numbered, number_name(number)) for number in (last - 1, last))
    if entry is None:
        return
    is_again = entry.counted is None and before is not None and before.run == entry.run
    if folder.run == (entry.counted or entry.run) and not is_again:
        tell_source(store, last, entry)


def number_counts(folder: RunFolder, created: str) -> None:
    """Write down that counts of a run were published; the latest run stays what it is."""
    store, taken = folder.store, False
    while not taken:
        number = last_number(store) + 1
        entry = Numbered(run=latest_published(store), counted=folder.run, created=created)
        taken = take_number(store, number, entry)
    tell_source(store, number, entry)


def take_number(store: Store, number: int, entry: Numbered) -> bool:
    """Make an entry of the log; False where the number is taken."""
    with store.root.claim("log"):
        if store.root.is_local and any(TEMPORARY.fullmatch(name.rsplit("/", 1)[-1]) for name in _names(store)):
            Folder(store.fs, store.path, PLACE).sweep()
        return store.root.create(number_name(number), entry)


def tell_source(store: Store, number: int, entry: Numbered) -> None:
    """Write down of which table the run of an entry is, if its input was checked."""
    run = entry.counted or entry.run
    checks = store.run(run).find(Checks) if run and entry.created else None
    if checks is not None:
        store.root.create(_name_of_source(checks.source, number), _of_source(entry))


def refuse_many_writers(store: Store, *, one_writer: bool) -> None:
    """Refuse to change a store that cannot tell who came first, unless nobody else changes it.

    Raises InputError where the object store overwrites what is to be created only where it is
    absent.
    """
    if one_writer or store.root.is_local:
        return
    data = store.root.read_bytes(STORE_FILE)
    try:
        store.fs.pipe_file(store.root.path_of(STORE_FILE), data, mode="create")
    except FileExistsError:
        return
    except (OSError, TypeError, ValueError, NotImplementedError):
        pass
    raise InputError(
        f"{store.uri}: this object store cannot create an object only if it is absent (If-None-Match), so of two"
        " updates at once one would be lost; where no two processes change it at once, say so: one_writer = true"
    )


# ---- what is missing -----------------------------------------------------------------------------


def next_to_number(records: Mapping[str, Record]) -> tuple[int, Numbered] | None:
    """Return the entry that is missing at the end of the log, and its number.

    `records`: the sound records of a store, by path.

    A run that was published later than any numbered one was, or was gone back to, and goes on from
    the last, was to be the latest: its process was killed, or its number is gone. One that goes on
    from another run was overtaken.
    """
    asked = {record.run: record for record in records.values() if isinstance(record, RunRecord)}
    published = {found.run: found.created for found in records.values() if isinstance(found, Manifest)}
    published = {run: created for run, created in published.items() if run in asked}
    published |= {run: found.layered.manifest.created for run, found in asked.items() if found.layered is not None}
    entries = [record for _, record in sorted(records.items()) if isinstance(record, Numbered)]
    numbered = [entry for entry in entries if entry.run in published]
    if not entries or not published:
        return None
    last = max(published, key=lambda run: (published[run], asked[run].created))
    latest = asked[str(numbered[-1].run)] if numbered else None
    told = [entry.created for entry in entries if entry.created and not entry.counted]
    since = "" if latest is None else max([*told, published[latest.run]])
    if published[last] <= since or last in [entry.run for entry in numbered]:
        return None
    goes_on = {None} if latest is None else {None, latest.run, latest.compacts}
    if asked[last].parent in goes_on or asked[last].beside:
        return max(_numbers(set(records))) + 1, Numbered(run=last, created=published[last])
    return None


def unnumbered(records: Mapping[str, Record], problems: Iterable[str]) -> list[str]:
    """Say whether the last entry of the log is missing, by sound records and other paths."""
    missing = next_to_number(records)
    if missing is None or number_name(missing[0]) in problems:
        return []
    number, entry = missing
    return [
        f"{number_name(number)}: it is missing, and was to say that {entry.run} is the latest; give its command again, or bicliq verify --repair writes it"
    ]


def untold(records: Mapping[str, Record]) -> dict[str, LastOfSource]:
    """Return the records beside entries of the log that are missing, by path.

    `records`: as `next_to_number` takes them. What was asked for again (`number_again`) has none,
    nor what was published before its input was checked.
    """
    checks = {record.run: record for record in records.values() if isinstance(record, Checks)}
    missing, latest = dict[str, LastOfSource](), None
    for number in sorted(_numbers(records)):
        entry = records[number_name(number)]
        assert isinstance(entry, Numbered)
        is_again = entry.run == latest and entry.counted is None
        latest = entry.run or latest
        checked = checks.get(entry.counted or entry.run or "")
        if is_again or checked is None or entry.created is None or checked.created > entry.created:
            continue
        name = _name_of_source(checked.source, number)
        if name not in records:
            missing[name] = _of_source(entry)
    return missing


def number_name(number: int) -> str:
    """Return the name of an entry of the log."""
    return Numbered.name(f"{number:08d}")


def _of_source(entry: Numbered) -> LastOfSource:
    """Return what the record beside an entry says that makes a run, or its counts, public."""
    run, created = entry.counted or entry.run, entry.created
    assert run is not None
    assert created is not None
    return LastOfSource(run=run, created=created, asks="counts" if entry.counted else "bicliques")


def _name_of_source(source: str, number: int) -> str:
    return LastOfSource.name(f"{xxhash.xxh3_64_hexdigest(source.encode())}-{number:08d}")


def _entries(store: Store) -> list[Numbered]:
    """Sound entries of the log, the first one first."""
    log = store.root.read_each(Numbered, sorted(name for name in _names(store) if Numbered.pattern.fullmatch(name)))
    return [entry for entry in log.values() if not isinstance(entry, DamageError)]


def _backwards(store: Store) -> Iterator[Numbered]:
    """Entries of the log, the last one first."""
    for number in sorted(_numbers(_names(store)), reverse=True):
        entry = store.root.find(Numbered, number_name(number))
        if entry is not None:
            yield entry


def _numbers(names: Iterable[str]) -> list[int]:
    return [int(found[1]) for found in map(Numbered.pattern.fullmatch, names) if found]


def _names(store: Store) -> set[str]:
    folder = Folder(store.fs, store.path, PLACE)
    with storage_errors("list", folder.path):
        try:
            found = os.listdir(folder.path) if folder.is_local else store.fs.ls(folder.path, detail=False)
        except FileNotFoundError:
            return set()
    return {f"{PLACE}/{str(path).rsplit('/', 1)[-1]}" for path in found}


def _refuse_pruned(store: Store, path: str) -> None:
    """Refuse what is gone or about to go."""
    if store.root.has(f"{place_of(path)}/{Pruned.at}") or not store.root.has(path):
        raise Overtaken(f"{store.root.path_of(place_of(path))}: it was pruned meanwhile; give the command again")


def _holds(store: Store, latest: str | None, version: str) -> bool:
    """Whether a run is a version that was written whole."""
    if latest is None:
        return False
    try:
        return store.run(latest).record().compacts == version
    except DamageError:
        return False
