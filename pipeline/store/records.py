"""Sealed records: JSON that says where it belongs, names files, and ends with its checksum.

Every file of a store is a record, or is named by one. The first entry of a record is its path in
the store, so that a copy of it elsewhere is noticed; the last one is the xxh3-128 of all bytes
before it, so that no byte of it can change unnoticed. Entry ``stored`` holds the files that it
names.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import xxhash

PLACE, STORED, SEAL = "record", "stored", "seal"
"""Entries that all records have, besides their own: see above."""

NUMBERS = {
    **dict.fromkeys(("n_left", "n_right"), 1 << 31),
    **dict.fromkeys(("n_edges", "bicliques", "partitions", "partition", "rows", "n_roots"), (1 << 63) - 1),
}
"""Entries that are numbers of something, and the largest that each can be."""

SEAL_BEGINS = f',\n  "{SEAL}": "'.encode()


@dataclass(frozen=True)
class StoredFile:
    """A file as a record names it.

    Parameters
    ----------
    name
        Its name in the folder of the record (that of the graph, the run or the clique).
    bytes
        Its size.
    checksum
        xxh3-128 of its bytes, in hex.
    """

    name: str
    bytes: int
    checksum: str


def sealed(place: str, content: Mapping[str, Any], files: Iterable[StoredFile] = ()) -> bytes:
    """Return the text of a record.

    Parameters
    ----------
    place
        Its path in the store.
    content
        Its entries; JSON values, everything else becomes text.
    files
        The files that it names.

    Examples
    --------
    >>> unsealed("runs/r/run.json", sealed("runs/r/run.json", {"x": 1}))
    {'x': 1, 'stored': {}}
    """
    stored = {file.name: {"bytes": file.bytes, "checksum": file.checksum} for file in files}
    entries = {PLACE: place, **content, STORED: stored}.items()
    lines = (f"  {json.dumps(name)}: {json.dumps(value, default=str)}" for name, value in entries)
    body = ("{\n" + ",\n".join(lines)).encode()  # a line an entry: `indent` takes ten times as long
    return body + SEAL_BEGINS + _ending(body)


def unsealed(place: str, data: bytes) -> dict[str, Any]:
    """Return the content of a record, with ``stored``.

    Raises
    ------
    ValueError
        Where a byte of it changed, or it belongs to another place; its text says which.
    """
    body, _, ending = data.rpartition(SEAL_BEGINS)
    if ending != _ending(body):
        raise ValueError("it is damaged: its seal does not fit its text")
    record: dict[str, Any] = json.loads(data)
    del record[SEAL]
    found = record.pop(PLACE)
    if found != place:
        raise ValueError(f"it is the record {found}, copied or moved here")
    if any(not _stays_inside(name) for name in _names_in(record)):
        raise ValueError("it is damaged: it names what lies outside of its folder")
    manifest = record.get("manifest")
    for entries in (record, manifest if isinstance(manifest, dict) else {}):
        for name in NUMBERS.keys() & entries.keys():
            if type(entries[name]) is not int or not 0 <= entries[name] <= NUMBERS[name]:
                raise ValueError(f"it is damaged: {name} is {entries[name]!r}")
    own = place.split("/")[1:2]
    if own and own[0] in (record.get("base"), record.get("parent"), record.get("compacts")):
        raise ValueError("it is damaged: it says that it is made of itself")
    return record


def named_files(record: Mapping[str, Any]) -> dict[str, StoredFile]:
    """Return the files that a record names, by name."""
    return {name: StoredFile(name, **entry) for name, entry in record[STORED].items()}


def _names_in(record: Mapping[str, Any]) -> list[str]:
    """Names in a record that become paths: of files, of a graph, and of other runs."""
    others = [record[name] for name in ("graph", "run", "base", "parent") if isinstance(record.get(name), str)]
    layers = record.get("layers", [])
    return [*record[STORED], *(name.replace("/", "\0") for name in [*others, *layers])]


def _stays_inside(name: str) -> bool:
    parts = name.split("/")
    return not {"", ".", ".."} & set(parts) and not {"\0", "\\"} & set(name)


def _ending(body: bytes) -> bytes:
    return f'{xxhash.xxh3_128_hexdigest(body)}"\n}}\n'.encode()
