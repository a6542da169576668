"""JSON Lines, objects of whose keys two are the sides; an array of objects as well."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.columns import SAMPLE
from bicliq.pipeline.formats.in_python import array_of_values
from bicliq.pipeline.formats.lines import TextLines, refuse_line
from bicliq.pipeline.formats.parquet import BATCH_ROWS, text_sides, told_cells, typed_batches, typed_layout, with_keys
from bicliq.pipeline.formats.recognise import AS_BASKETS, text_head
from bicliq.pipeline.formats.source import EdgeBatch, EdgeSource
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import shown

KEYED = 1000
"""Objects whose keys are looked at to find out what keys there are."""

Object = dict[str, Any]
Placed = tuple[str, Object]
"""An object, after the place where it stands, in words."""


def open_json_lines(source: str, size: int, settings: IngestSettings) -> EdgeSource:
    """Recognise objects by the keys of the first ones."""
    text_head(source, settings)
    first = list(islice(_objects(source, TextLines(source, settings)), KEYED))
    names = list(dict.fromkeys(name for _, found in first for name in found))
    layout = typed_layout(
        source, settings, names, lambda: [[str(found.get(name, "")) for name in names] for _, found in first[:SAMPLE]]
    )
    wanted = {side: layout.names[layout.wanted[side]] for side in ("left", "right")}
    cells = {name: _array(source, name, first) for name in wanted.values() if name not in layout.keys}
    kinds = {side: cells[name].type for side, name in wanted.items() if name in cells}
    said = told_cells(source, cells, settings)
    return EdgeSource(source, "jsonl", size, settings, layout, text_sides(kinds, settings), assumed=said)


def json_batches(source: EdgeSource) -> Iterator[EdgeBatch]:
    """Batches of the objects; a list is as many rows, and a key that is not there null."""
    lines, places = TextLines(source.uri, source.settings), list[str]()

    def placed(_: int) -> Callable[[int], str]:
        of_batch = tuple(places)
        return lambda row: f"{source.uri}, {of_batch[row]}"

    yield from map(lines.told, typed_batches(source, _batches(source, lines, places), placed))


def _batches(source: EdgeSource, numbered: TextLines, places: list[str]) -> Iterator[pa.RecordBatch]:
    """Batches of the columns that are wanted; `places` holds those of the rows of the last one."""
    objects = _objects(source.uri, numbered)
    assert source.layout is not None
    names = [name for name in dict.fromkeys(source.columns.values()) if name not in source.layout.keys]
    kinds: dict[str, pa.DataType] = {}
    while some := list(islice(objects, BATCH_ROWS // 8)):
        columns = {name: _array(source.uri, name, some) for name in names}
        for name, column in columns.items():
            known = kinds.setdefault(name, column.type)
            if pa.types.is_null(known) or pa.types.is_null(column.type):
                kinds[name] = column.type if pa.types.is_null(known) else known
            elif _is_text(known) != _is_text(column.type):
                raise InputError(
                    f"{source.uri}, from {some[0][0]}: the values of {shown(name)} are of type {column.type}, and those"
                    f" before it {known}; make them one type"
                )
        batch = with_keys(pa.record_batch(columns), source.layout)
        places[:] = [place for place, _ in some]
        yield batch
    if numbered.noted:  # below the last full batch
        yield batch.slice(0, 0)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or (pa.types.is_list(kind) and pa.types.is_string(kind.value_type)))


def _array(uri: str, name: str, objects: Sequence[Placed]) -> pa.Array:
    values = [found.get(name) for _, found in objects]
    for (place, _), value in zip(objects, values, strict=True):
        if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(one, dict | list) for one in value)):
            raise InputError(
                f"{uri}, {place}: {shown(name)} is {shown(json.dumps(value))}, and an id is text or a whole number, or"
                " a list of them; write what is inside on its own, as jq -c '{user: .user.id, item}' does"
            )
    if any(isinstance(value, list) for value in values):  # one item may stand without brackets
        values = [value if value is None or isinstance(value, list) else [value] for value in values]
    return array_of_values(uri, name, values, lambda row: objects[row][0])


def _objects(uri: str, numbered: TextLines) -> Iterator[Placed]:
    """The object of each line, or those of an array."""
    lines = ((number, line) for number, line in numbered if line.strip())
    for number, line in lines:
        if line.lstrip().startswith("["):
            _refuse_baskets(uri, number, line)
            whole = _parsed(uri, number, "\n".join([line, *(more for _, more in lines)]))
            yield from (_checked(uri, f"object {at}", found) for at, found in enumerate(whole, 1))
            return
        yield _checked(uri, f"line {number}", _parsed(uri, number, line))


def _refuse_baskets(uri: str, number: int, line: str) -> None:
    """Raise an `InputError` where a line is a list of items, and no array of objects."""
    with contextlib.suppress(ValueError, RecursionError):
        if (items := json.loads(line)) and not any(isinstance(item, dict | list) for item in items):
            raise refuse_line(uri, number, line, f"is a list, and no object; {AS_BASKETS}")


def _checked(uri: str, place: str, value: Any) -> Placed:
    if not isinstance(value, dict):
        raise InputError(f'{uri}, {place}: {shown(value)} is no object; write one there, as {{"user": 1, …}}')
    return place, value


def _parsed(uri: str, number: int, text: str) -> Any:
    def refuse(pairs: list[tuple[str, Any]]) -> Object:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise refuse_line(uri, number, text, "has a key twice; rename one")
        return found

    try:
        return json.loads(text, object_pairs_hook=refuse)
    except (json.JSONDecodeError, RecursionError) as error:
        what = f"is no JSON: {error}; a line holds one object, as jq -c . writes them"
        raise refuse_line(uri, number, text, what) from None
