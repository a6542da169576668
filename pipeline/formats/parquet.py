"""Edge tables in Parquet, and what else has typed columns: which are meant, by name or number.

What the ids of each type of column are called. Tables in memory (`pipeline.formats.tables`) go the
same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.extras import file_system
from bicliq.pipeline.formats.columns import SAMPLE, asked_keys, choose_columns
from bicliq.pipeline.formats.files import input_errors, open_bytes
from bicliq.pipeline.formats.forms import told_lists
from bicliq.pipeline.formats.heads import refuse_lines
from bicliq.pipeline.formats.in_python import refuse_cells
from bicliq.pipeline.formats.labels import plain_numbers, tidy
from bicliq.pipeline.formats.problems import DROP_NULLS, first_failing
from bicliq.pipeline.formats.source import EdgeBatch, EdgeSource, Layout
from bicliq.pipeline.formats.times import told_of, unix_seconds
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.words import brief, listed, number_cure, shown, time_cure

BATCH_ROWS = 1 << 20

Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)

EXACT = {"halffloat": 2**11, "float": 2**24, "double": 2**53}
"""Whole numbers up to here are exact, by the type of a column of floating point numbers; beyond,
two ids may be one."""


def open_parquet(source: str, size: int, settings: IngestSettings) -> EdgeSource:
    """Recognise a Parquet table by its schema."""
    refuse_lines(source, settings)
    with opened_parquet(source) as file:
        schema = file.schema_arrow
        index = index_of(schema)
        names = _without_numbers(schema.names, index, settings)
        layout = typed_layout(source, settings, names, partial(_first_rows, file, len(names)))
        _refuse_index(source, layout, index, settings)
        known = [*schema.types, *[pa.null()] * len(layout.keys)]  # the label of a folder may be a number or text
        said = _told_lists(source, file, [name for name in names_of_sides(layout) if name in schema.names], settings)
    kinds = {side: known[layout.wanted[side]] for side in ("left", "right")}
    return EdgeSource(source, "parquet", size, settings, layout, text_sides(kinds, settings), assumed=said)


def index_of(schema: pa.Schema) -> list[str]:
    """Names of the columns that were the index of a frame of pandas, one a level."""
    return [name for name in (schema.pandas_metadata or {}).get("index_columns", ()) if isinstance(name, str)]


def _without_numbers(names: list[str], index: Sequence[str], settings: IngestSettings) -> list[str]:
    """Names of columns without an index of pandas that has no name and is not asked for.

    It stands last, and numbers rows.
    """
    asked = (settings.left, settings.right, settings.weight, settings.time)
    if index and index == names[-1:] and index[0].startswith("__index_level_") and index[0] not in asked:
        return names[:-1]
    return names


def _refuse_index(source: str, layout: Layout, index: Sequence[str], settings: IngestSettings) -> None:
    """Raise an `InputError` where no side is named, and one of the two is an index of pandas.

    It is the last column of its file, and the first of the frame.
    """
    left, right = names_of_sides(layout)
    guessed = settings.left is None and settings.right is None and (left, right) != ("left", "right")
    if guessed and {left, right} & {*index}:
        raise InputError(
            f"{source}: {listed(name for name in (left, right) if name in index)} is an index of pandas, and which side it is"
            f" is not said; name both, as in left = {right!r}, right = {left!r}"
        )


def names_of_sides(layout: Layout) -> list[str]:
    """Names of the columns of the left and right ids."""
    return [layout.names[at] for at in (layout.left, layout.right)]


def told_cells(
    source: str, columns: Mapping[str, pa.Array | pa.ChunkedArray], settings: IngestSettings
) -> tuple[str, ...]:
    """Say which columns of text hold several labels a cell, by their first cells.

    Raises InputError where one of lists holds rows of a matrix.
    """
    for name, cells in columns.items():
        if is_list(cells.type):
            called = f"{source}, column {shown(name)}"
            refuse_cells(called, cells[:SAMPLE].to_pylist(), "take them apart first, a row an item")
    text = {
        name: [cell for cell in cells[:SAMPLE].to_pylist() if isinstance(cell, str)] for name, cells in columns.items()
    }
    return told_lists(source, text, settings)


def _told_lists(source: str, file: pq.ParquetFile, names: list[str], settings: IngestSettings) -> tuple[str, ...]:
    for batch in file.iter_batches(SAMPLE, columns=names):
        return told_cells(source, dict(zip(batch.schema.names, batch.columns, strict=True)), settings)
    return ()


def typed_layout(
    source: str, settings: IngestSettings, names: Sequence[str], first_rows: Callable[[], Sequence[Sequence[str]]]
) -> Layout:
    """Choose the columns of a table whose columns have names and types, as Parquet's have.

    `source`: the table, for messages. `settings`: what was named. `names`, `first_rows`: names of
    its columns, and what returns some first rows, for messages. Raises InputError where the columns
    that are meant are not clear, or share a name.
    """
    keys = asked_keys(source, settings, names)
    names = [*names, *keys]
    chosen = choose_columns(source, settings, names, True, first_rows)
    layout = Layout(
        skip=0,
        delimiter=None,
        left=chosen.left,
        right=chosen.right,
        weight=chosen.weight,
        time=chosen.time,
        ids="labels",
        columns=len(names),
        names=tuple(names),
        header=True,
        by_name=chosen.by_name,
        keys=keys,
    )
    for at in layout.wanted.values():
        if names.count(names[at]) > 1:
            raise InputError(f"{source}: {names.count(names[at])} columns are called {shown(names[at])}; rename them")
    return layout


def text_sides(kinds: dict[str, pa.DataType], settings: IngestSettings) -> frozenset[str]:
    """Sides whose labels are text, by the types of their columns."""
    return frozenset(side for side, kind in kinds.items() if settings.ids == "text" or _is_text(_plain(kind)))


@contextmanager
def opened_parquet(source: str) -> Iterator[pq.ParquetFile]:
    """The file, opened by Arrow itself where it is local.

    Python is not asked for every page, then.
    """
    fs, path = file_system(source)
    with input_errors(source), open_bytes(source) as raw:
        try:
            file = pq.ParquetFile(
                path if isinstance(fs, LocalFileSystem) else pa.PythonFile(raw, "r"), pre_buffer=False
            )
        except (pa.ArrowException, OSError) as error:
            raise InputError(
                f"{source}: is no Parquet file: {brief(error)}; check the file, or name its format"
            ) from error
        with file:
            yield file


def _first_rows(file: pq.ParquetFile, columns: int) -> list[list[str]]:
    for batch in file.iter_batches(SAMPLE):
        return [[str(value) for value in row.values()][:columns] for row in batch.to_pylist()]
    return []


def parquet_batches(source: EdgeSource) -> Iterator[EdgeBatch]:
    """Batches of a Parquet file, a million rows at a time."""
    with opened_parquet(source.uri) as file:
        names = [name for name in source.columns.values() if name in file.schema_arrow.names]
        yield from typed_batches(
            source, (with_keys(batch, source.layout) for batch in file.iter_batches(BATCH_ROWS, columns=names))
        )


def with_keys(rows: Rows, layout: Layout | None) -> Rows:
    """Rows with a column a key of the file's folders that is read."""
    for name, value in ({} if layout is None else layout.keys).items():
        text = pa.array([value], pa.string())
        numbers = plain_numbers(text)
        one = text if numbers is None else numbers
        rows = rows.append_column(name, one.take(pa.array(np.zeros(rows.num_rows, np.int64))))
    return rows


def typed_batches(
    source: EdgeSource, batches: Iterable[pa.RecordBatch], placed: Callable[[int], Callable[[int], str]] | None = None
) -> Iterator[EdgeBatch]:
    """Labels, weights and times of batches whose columns have types.

    A row with a list of labels is as many rows. `placed`: by how many rows came before a batch,
    what says where its rows are; by default they are counted from 0.
    """
    placed = placed or partial(_counted, source.uri)
    first = 0
    for batch in batches:
        given = {role: batch.column(name) for role, name in source.columns.items()}
        given, rows, noted, empty = _without_lists(source, given)
        place_given = placed(first)
        place = place_given if rows is None else partial(_place, place_given, rows)
        columns: dict[str, pa.Array] = {}
        stripped = 0
        for role, column in given.items():
            columns[role], changed = _column(source, role, column, place, head=first == 0)
            stripped += changed
        noted = {**noted, "stripped": stripped} if stripped else noted
        if "time" in given and source.settings.in_step is not None:
            noted = {**noted, **told_of(given["time"])}
        where = place_given(empty) if empty >= 0 else ""
        yield EdgeBatch(pa.record_batch(columns), place, noted=noted, empty=where)
        first += batch.num_rows


def _counted(uri: str, first: int) -> Callable[[int], str]:
    return lambda row: f"{uri}, row {first + row}"


def _place(place_given: Callable[[int], str], rows: pa.Array, row: int) -> str:
    return place_given(rows[row].as_py())


def _without_lists(
    source: EdgeSource, columns: dict[str, pa.Array]
) -> tuple[dict[str, pa.Array], pa.Array | None, dict[str, int], int]:
    """Columns with a row a label, their rows of before, notes, and the first empty list."""
    sides = [side for side in ("left", "right") if is_list(columns[side].type)]
    if not sides:
        return columns, None, {}, -1
    if len(sides) == 2:
        raise InputError(
            f"{source.uri}: both columns, {listed(source.columns[side] for side in sides)}, hold lists; take the lists of"
            " one apart first, a row an item"
        )
    lists = columns[sides[0]]
    if not (pa.types.is_list(lists.type) or pa.types.is_large_list(lists.type)):
        lists = pc.cast(lists, pa.large_list(lists.type.value_type))
    rows = pc.list_parent_indices(lists)
    are_empty = pc.fill_null(pc.equal(pc.list_value_length(lists), 0), fill_value=True)
    empty = (pc.sum(are_empty).as_py() or 0) - lists.null_count
    noted = {name: n for name, n in (("empty_lists", empty), ("null_lists", lists.null_count)) if n}
    apart = {role: column.take(rows) for role, column in columns.items() if role != sides[0]}
    return (
        {role: apart.get(role, pc.list_flatten(lists)) for role in columns},
        rows,
        noted,
        pc.index(are_empty, True).as_py(),
    )


def is_list(kind: pa.DataType) -> bool:
    """Whether a type holds lists."""
    names = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")
    return any(getattr(pa.types, f"is_{name}")(kind) for name in names)


def _column(
    source: EdgeSource, role: str, column: pa.Array, place: Callable[[int], str], *, head: bool
) -> tuple[pa.Array, int]:
    """A column as int64 or text (ids), float64 (weight, value), or Unix seconds (time).

    And how many labels lost blanks around them.
    """
    stripped = 0
    where = f"column {source.columns[role]} ({role})"
    seconds: Callable[[pa.Array], pa.Array] = partial(unix_seconds, head=head)
    convert = {"weight": _weights, "value": _weights, "time": seconds}.get(role, to_labels)
    try:
        found = convert(column)
    except pa.ArrowNotImplementedError as error:
        raise InputError(f"{source.uri}, {where}: {brief(error)}") from None
    except pa.ArrowInvalid as error:
        row = first_failing(convert, column)
        said = str(column[row])
        raise InputError(f"{place(row)}, {where}: {shown(said)} {_why_not(role, said, brief(error))}") from None
    if role in ("left", "right") and pa.types.is_string(found.type):
        found, stripped = tidy(found, source.settings, typed=True)
    if found.null_count and source.settings.nulls == "error":
        row = pc.index(pc.is_null(found), True).as_py()
        raise InputError(f"{place(row)}, {where}: a value is missing (null); fill it in, or {DROP_NULLS}")
    if role in source.text_sides and not pa.types.is_string(found.type):
        found = pc.cast(found, pa.string())
    return found, stripped


def _why_not(role: str, said: str, why: str) -> str:
    """Why a value is none for its column, and what to write; of text files sed does it as well."""
    if role == "time":
        return f"is neither Unix seconds nor an ISO date ({why}); {time_cure(said).split(', as sed')[0]}"
    if role in ("weight", "value") and (cure := number_cure(said).split(", as sed")[0]) != "mend it":
        return f"is no number; {cure}"
    return why


# ---- labels --------------------------------------------------------------------------------------


def to_labels(column: pa.Array) -> pa.Array:
    """Labels of a column of ids: int64 or text, and null where there is none.

    Text and UTF-8 bytes are their own labels. Whole numbers are numbers, as are those that a
    floating point column holds exactly, and decimals without places; where one of them is beyond 64
    bits, they are text. Decimals with places, dates, times and Booleans are their canonical text:
    12.50, 2026-01-31, 2026-01-31 12:00:00, true.

    Raises pyarrow.ArrowInvalid where a value has no label: a fraction, or bytes that are no text;
    the message is the end of a sentence that begins with the value. Raises
    pyarrow.ArrowNotImplementedError where the type has none.

    Examples
    --------
    >>> to_labels(pa.array([1.0, None])).to_pylist()
    [1, None]
    >>> to_labels(pa.array([2**64 - 1, 7], pa.uint64())).to_pylist()
    ['18446744073709551615', '7']
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_integer(kind):
        return _whole(column)
    if pa.types.is_floating(kind):
        return _whole_floats(column)
    if pa.types.is_decimal(kind):
        return _decimal_text(column) if kind.scale > 0 else _whole(column)
    if pa.types.is_null(kind):
        return pc.cast(column, pa.string())
    if _is_binary(kind):
        return _utf8(column)
    if pa.types.is_timestamp(kind) or pa.types.is_time(kind):
        return _without_zeros(pc.cast(column, pa.string()))
    if _is_text(kind):
        return pc.cast(column, pa.string())
    raise pa.ArrowNotImplementedError(
        f"is of type {kind}, which has no labels; cast the column to text or whole numbers"
    )


def _whole(numbers: pa.Array) -> pa.Array:
    try:
        return pc.cast(numbers, pa.int64())
    except pa.ArrowInvalid:
        return _decimal_text(numbers) if pa.types.is_decimal(numbers.type) else pc.cast(numbers, pa.string())


def _decimal_text(decimals: pa.Array) -> pa.Array:
    """Digits and a point, with as many places as the type has; Arrow would write 1E-10."""
    encoded = decimals.dictionary_encode()
    text = pa.array([None if value is None else f"{value:f}" for value in encoded.dictionary.to_pylist()], pa.string())
    return text.take(encoded.indices)


def _whole_floats(column: pa.Array) -> pa.Array:
    """Whole numbers of a floating point column, in which NaN means null."""
    limit = EXACT[str(column.type)]
    values = pc.cast(column, pa.float64())
    values = pc.if_else(pc.is_nan(values), None, values)
    if pc.any(pc.not_equal(values, pc.floor(values))).as_py():
        raise pa.ArrowInvalid(
            "is a fraction, and ids are whole numbers or text; name another column, or cast it to text"
        )
    if pc.any(pc.greater(pc.abs(values), limit)).as_py():
        raise pa.ArrowInvalid(
            f"is beyond {limit:,}, from where {column.type} holds not every whole number; cast it to int64"
        )
    return pc.cast(values, pa.int64())


def _without_zeros(times: pa.Array) -> pa.Array:
    """Fractions of a second without zeros at their ends.

    The unit of the column changes no label.
    """
    zone = "(Z|[+-][0-9]+)?$"
    shorter = pc.replace_substring_regex(times, rf"\.0+{zone}", r"\1")
    return pc.replace_substring_regex(shorter, rf"(\.[0-9]*[1-9])0+{zone}", r"\1\2")


def _utf8(column: pa.Array) -> pa.Array:
    try:
        return pc.cast(column, pa.string())
    except pa.ArrowInvalid:
        raise pa.ArrowInvalid("is binary and no UTF-8 text; cast the column to text, as with hex()") from None


def _is_text(kind: pa.DataType) -> bool:
    """Whether ids of a type are text."""
    types = pa.types
    if types.is_decimal(kind):
        return bool(kind.scale > 0)
    return bool(
        types.is_string(kind)
        or types.is_large_string(kind)
        or types.is_string_view(kind)
        or _is_binary(kind)
        or types.is_boolean(kind)
        or types.is_temporal(kind)
    ) and not types.is_duration(kind)


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_binary_view(kind)
    )


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type of labels: of the values of a dictionary, or of a list."""
    return _plain(kind.value_type) if pa.types.is_dictionary(kind) or is_list(kind) else kind


# ---- weights -------------------------------------------------------------------------------------


def _weights(column: pa.Array) -> pa.Array:
    """Finite numbers as float64; NaN means null."""
    try:
        weights = pc.cast(column, pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise pa.ArrowInvalid("is no number, as weights are; mend it, or cast the column first") from None
    weights = pc.if_else(pc.is_nan(weights), None, weights)
    if not pc.all(pc.is_finite(weights), min_count=0).as_py():
        raise pa.ArrowInvalid("is not finite, as weights are; mend it")
    return weights
