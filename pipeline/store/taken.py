"""Files that versions took: in their records, and beside them where nothing else changed."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import xxhash

from bicliq.pipeline.store.folder import Folder
from bicliq.pipeline.store.layout import RunFolder, Store
from bicliq.pipeline.store.record import text_of
from bicliq.pipeline.store.records import RunRecord, Sources, TakenFile, Took

MOST_TAKEN = 128
"""Files that the record of a version lists before the next one names a record of them."""


def take(folder: RunFolder, entries: dict[str, TakenFile], *, alone: bool = False) -> None:
    """Write down that a run took files, beside its run.json, which stays as it is."""
    with folder.claim("took"):
        number = 0
        while not number or not folder.create(Took.name(number), Took(taken=entries, alone=alone)):
            number = max(folder.numbers_of(Took, "took"), default=0) + 1


def taken_since(folder: RunFolder) -> list[Took]:
    """Return what a run took since its run.json was written; raises DamageError."""
    return [folder.read(Took, name) for name in folder.numbers_of(Took, "took").values()]


def own_taken(store: Store, record: RunRecord) -> dict[str, TakenFile] | None:
    """Return the files that a run and the last ones before it took; None: that is not known."""
    since = [one.taken for one in taken_since(store.run(record.run))]
    if record.taken is None and not since:
        return None
    return {key: entry for part in (record.taken or {}, *since) for key, entry in part.items()}


def all_taken(store: Store, record: RunRecord) -> dict[str, TakenFile]:
    """Return all files that a version and those before it took, by their keys; O(files)."""
    parts, before = [own_taken(store, record) or {}], record.taken_before
    while before is not None:
        part = _read_sources(store.root, before)
        parts, before = [*parts, part.taken], part.before
    return {key: entry for part in reversed(parts) for key, entry in part.items()}


def with_taken(store: Store, record: RunRecord, entries: dict[str, TakenFile]) -> RunRecord:
    """Return the record of a version that took some files more.

    What those before it took is listed there as long as it is little, and in a record of its own
    that later versions name: so that none grows with the number of versions.
    """
    own = record.taken or {}
    if len(own) < MOST_TAKEN:
        return replace(record, taken={**own, **entries})
    before = Sources(taken=own, before=record.taken_before)
    store.root.create(Sources.name(name_of_sources(before)), before)
    return replace(record, taken=entries, taken_before=name_of_sources(before))


def holds_taken_alone(store: Store, record: RunRecord) -> bool:
    """Whether all edges of a run are from files that are known."""
    return record.holds_taken_alone or any(one.alone for one in taken_since(store.run(record.run)))


def name_of_sources(record: Sources) -> str:
    """Return the name of a record of files that were taken: a hash of what it says."""
    return str(xxhash.xxh3_64_hexdigest(text_of(Sources.at, record)))


@lru_cache(maxsize=256)
def _read_sources(root: Folder, name: str) -> Sources:
    """Read such a record, which is never written again."""
    return root.read(Sources, Sources.name(name))
