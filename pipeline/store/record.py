"""What every record is: a seal, the files that it names, and entries of known types.

Every file of a store is a record, or is named by one. The first entry of a record is its path in
the store, so that a copy of it elsewhere is noticed; the last one is the xxh3-128 of all bytes
before it, so that no byte of it can change unnoticed. `record_of` turns a file into the class of
its kind (`pipeline.store.records` has them), or says in one sentence what is damaged: an entry that
is missing, of another type, or absurd.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from typing import Annotated, Any, ClassVar

import xxhash
from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python

from bicliq.pipeline.errors import DamageError

PLACE, KIND, SEAL = "record", "kind", "seal"
"""Entries that all records have, besides their content: see above."""

SEAL_BEGINS = f',\n  "{SEAL}": "'.encode()


def _inside(name: str) -> str:
    """Refuse the name of a file, a graph or a run that would lead out of its folder."""
    if {"", ".", ".."} & set(name.split("/")) or {"\0", "\\"} & set(name):
        raise ValueError("it names what lies outside of its folder")
    return name


def _one_folder(name: str) -> str:
    if "/" in name:
        raise ValueError("it names what lies outside of its folder")
    return _inside(name)


Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Vertices = Annotated[int, Field(ge=0, le=1 << 31)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{16}$")]
Name = Annotated[str, AfterValidator(_one_folder)]
"""Numbers of something, of vertices of a side, a set digest, and the name of a graph or a run."""


class Entry:
    """Part of a record, whose entries have exactly the types that it says."""

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")


@dataclass(frozen=True)
class StoredFile(Entry):
    """A file as a record names it.

    `name`: its name in the folder of the record (that of the graph, the run or the clique).
    `bytes`: its size. `checksum`: xxh3-128 of its bytes, in hex.
    """

    name: Annotated[str, AfterValidator(_inside)]
    bytes: Count
    checksum: str


@dataclass(frozen=True, kw_only=True)
class Record(Entry):
    """What all kinds have: the files that they name.

    `stored`: the files, which are in the folder of the record's graph, run or clique.
    """

    kind: ClassVar[str]
    at: ClassVar[str]
    pattern: ClassVar[re.Pattern[str]]
    """Its name in that folder, with braces, or groups, for what tells it from others."""
    file_pattern: ClassVar[re.Pattern[str]]
    """Names of files that it may name; a group of it tells those that each attempt writes anew."""

    stored: tuple[StoredFile, ...] = ()

    def __init_subclass__(cls, kind: str, at: str, files: str = "(?!)") -> None:
        parts = re.split(r"(\{.*?\})", at)
        groups = {"{:05d}": r"(\d{5,})", "{}": "([^/]+)"}
        cls.kind, cls.at, cls.file_pattern = kind, at, re.compile(files)
        cls.pattern = re.compile("".join(groups.get(part, re.escape(part)) for part in parts))
        KINDS[kind] = cls

    @classmethod
    def name(cls, *parts: str | int) -> str:
        """Return the name of the record of a partition, or of whatever tells it from others."""
        return cls.at.format(*parts)

    @classmethod
    def may_name(cls, name: str, file: str) -> bool:
        """Whether a record of this name may name a file: that of its partition, if it has one."""
        own, found = cls.pattern.fullmatch(name), cls.file_pattern.fullmatch(file)
        return bool(own and found and found.groups()[: len(own.groups())] == own.groups())

    def if_written(self, name: str) -> StoredFile | None:
        """Return the file of a name, whichever attempt wrote it; None: there is none."""
        stem, _, ending = name.rpartition(".")
        return next((file for file in self.stored if re.fullmatch(rf"{stem}(-\w+)?\.{ending}", file.name)), None)

    def written(self, name: str) -> StoredFile:
        """Return the file of a name, whichever attempt wrote it."""
        found = self.if_written(name)
        if found is None:
            raise DamageError(f"{name}: this file is missing in its record of {self.kind}")
        return found

    @cached_property
    def named(self) -> dict[str, StoredFile]:
        """The files by their names."""
        return {file.name: file for file in self.stored}

    @property
    def made_of(self) -> tuple[str | None, ...]:
        """Other graphs or runs, in folders beside its own, that it needs."""
        return ()

    def entries(self) -> dict[str, Any]:
        """What it says, but for its files, as plain values for JSON."""
        return {name: value for name, value in asdict(self).items() if name != "stored"}


KINDS: dict[str, type[Record]] = {}


def owner_of(name: str) -> type[Record] | None:
    """Return the kind whose records may name a file, by its name in their folder."""
    return next((kind for kind in KINDS.values() if kind.file_pattern.fullmatch(name)), None)


@cache
def _reader(kind: str) -> TypeAdapter[Record]:
    return TypeAdapter(KINDS[kind])


def text_of(place: str, record: Record) -> bytes:
    """Return the text of a record, whose path in the store this is."""
    return sealed(place, record.kind, to_jsonable_python(record, fallback=str))


def record_of(place: str, data: bytes) -> Record:
    """Return the record that a file of the store holds.

    Raises ValueError where it is damaged, or belongs to another place; its text says which.

    Examples
    --------
    >>> from bicliq.pipeline.store.records import Pruned
    >>> record_of("runs/r/pruned.json", text_of("runs/r/pruned.json", Pruned(pruned="runs/r")))
    Pruned(stored=(), pruned='runs/r')
    >>> record_of("runs/r/pruned.json", sealed("runs/r/pruned.json", "pruned", {"pruned": 7}))
    Traceback (most recent call last):
    ValueError: it is damaged: pruned is 7
    """
    name, content = unsealed(place, data)
    kind = KINDS.get(name)
    if kind is None or not re.fullmatch(f"(?:.*/)?{kind.pattern.pattern}", place):
        raise ValueError(f"it is damaged: it says that it is of kind {name!r}, which has another name")
    try:
        record = _reader(name).validate_json(content)
    except ValidationError as error:
        raise ValueError(f"it is damaged: {_in_words(error)}") from None
    own = place.split("/")[1:2]
    if own and own[0] in record.made_of:
        raise ValueError("it is damaged: it says that it is made of itself")
    return record


def _in_words(error: ValidationError) -> str:
    first = error.errors()[0]
    entry = ".".join(map(str, first["loc"]))
    if first["type"] in ("missing", "unexpected_keyword_argument"):
        return f"{entry} {'is missing' if first['type'] == 'missing' else 'is an entry that none has'}"
    return str(first["ctx"]["error"]) if first["type"] == "value_error" else f"{entry} is {first['input']!r}"


def sealed(place: str, kind: str, content: Mapping[str, Any]) -> bytes:
    r"""Return the text of a record.

    `place`, `kind`: its path in the store, and what kind of record it is. `content`: its entries;
    JSON values.

    Examples
    --------
    >>> unsealed("runs/r/pruned.json", sealed("runs/r/pruned.json", "pruned", {"x": 1}))
    ('pruned', b'{\n  "x": 1\n}')
    """
    entries = {PLACE: place, KIND: kind, **content}.items()
    lines = (f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in entries)
    text = "{\n" + ",\n".join(lines)  # a line an entry: `indent` takes ten times as long
    body = text.encode("utf-8", "replace")  # a name of a file may be no UTF-8
    return body + SEAL_BEGINS + _ending(body)


def unsealed(place: str, data: bytes) -> tuple[str, bytes]:
    """Return the kind of a record, and its content as JSON.

    Raises ValueError where a byte of it changed, or it belongs to another place; its text says
    which.
    """
    body, _, ending = data.rpartition(SEAL_BEGINS)
    if ending != _ending(body):
        raise ValueError("it is damaged: its seal does not fit its text")
    _, *head, content = body.split(b"\n", 3)
    about = json.loads(b"{" + b"".join(head).rstrip(b",") + b"}")
    if about[PLACE] != place:
        raise ValueError(f"it is the record {about[PLACE]}, copied or moved here")
    return str(about.get(KIND)), b"{\n" + content + b"\n}"


def _ending(body: bytes) -> bytes:
    return f'{xxhash.xxh3_128_hexdigest(body)}"\n}}\n'.encode()


def earlier_format(data: bytes | None) -> object:
    """The format that a record of an earlier version of bicliq says, in another place than now."""
    try:
        found = json.loads(data or b"")
    except ValueError:
        return None
    return found.get("format") if isinstance(found, dict) and KIND not in found else None
