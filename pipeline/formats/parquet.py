"""Edge tables in Parquet: columns by name or number, as whole numbers or text."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipeline.errors import InputError
from pipeline.formats.files import open_bytes
from pipeline.formats.heads import place_of, refuse_one_column, wants_time, wants_weight
from pipeline.formats.source import KNOWN, EdgeSource, Layout
from pipeline.settings import IngestSettings


def open_parquet(source: str, size: int, settings: IngestSettings) -> EdgeSource:
    """Recognise a Parquet table by its schema."""
    with open_bytes(source) as file:
        try:
            schema = pq.ParquetFile(pa.PythonFile(file, "r")).schema_arrow
        except (pa.ArrowException, OSError) as error:
            raise InputError(
                f"{source}: is no Parquet file: {error}; check the file, or name its format: {KNOWN}"
            ) from error
    names = schema.names
    if len(names) < 2:
        raise InputError(f"{source}: has the columns {', '.join(names)}; an edge table needs a left and a right one")
    defaults = ("left", "right") if {"left", "right"} <= set(names) else ("0", "1")
    left = place_of(source, settings.left or defaults[0], "left", names, True)
    right = place_of(source, settings.right or defaults[1], "right", names, True)
    refuse_one_column(source, left, right, names[left])
    layout = Layout(
        skip=0,
        delimiter=None,
        left=left,
        right=right,
        weight=place_of(source, settings.weight, "weight", names, True) if wants_weight(settings) else None,
        time=place_of(source, settings.time, "time", names, True) if wants_time(settings) else None,
        ids="labels",
        columns=len(names),
    )
    text = frozenset(side for side in ("left", "right") if _is_text(schema.field(getattr(layout, side)).type))
    has = layout.weight is not None, layout.time is not None
    return EdgeSource(source, "parquet", size, settings, layout, *has, text_sides=text)


def parquet_batches(source: EdgeSource) -> Iterator[pa.RecordBatch]:
    """Batches of a Parquet file, a million rows at a time."""
    layout = source.layout
    assert layout is not None
    places = {"left": layout.left, "right": layout.right, "weight": layout.weight, "time": layout.time}
    wanted = {name: at for name, at in places.items() if at is not None}
    row = 0
    with open_bytes(source.uri) as raw:
        file = pq.ParquetFile(pa.PythonFile(raw, "r"))
        columns = [file.schema_arrow.names[at] for at in wanted.values()]
        for batch in file.iter_batches(1 << 20, columns=columns):
            arrays = [
                _parquet_column(source, name, batch[column], row) for name, column in zip(wanted, columns, strict=True)
            ]
            row += batch.num_rows
            yield pa.RecordBatch.from_arrays(arrays, names=list(wanted))


def _parquet_column(source: EdgeSource, name: str, column: pa.Array, row: int) -> pa.Array:
    """A column as int64 or text (ids), float64 (weight), or as it is (time)."""
    if name == "time":
        return column
    if name == "weight":
        return _parquet_weights(source, column, row)
    if column.null_count and source.settings.nulls == "error":
        at = row + pc.index(pc.is_null(column), True).as_py()
        raise InputError(
            f"{source.uri}, row {at}, column {name}: an id is missing (null); mend it, or drop such rows with nulls = 'drop'"
        )
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_integer(column.type):
        try:
            column = pc.cast(column, pa.int64())
        except pa.ArrowInvalid as error:
            raise InputError(f"{source.uri}, from row {row}, column {name}: {error}; ids must fit 64 bits") from None
        least = pc.min(column).as_py()
        if least is not None and least < 0:
            at = pc.index(pc.less(column, 0), True).as_py()
            raise InputError(
                f"{source.uri}, row {row + at}, column {name}: id {column[at]} is below 0; number the vertices from 0, or use text labels"
            )
        return column
    if _is_text(column.type):
        return pc.cast(column, pa.string())
    raise InputError(
        f"{source.uri}, column {name}: ids of type {column.type} are neither whole numbers nor text; cast them first"
    )


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _parquet_weights(source: EdgeSource, column: pa.Array, row: int) -> pa.Array:
    try:
        weights = pc.cast(column, pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(
            f"{source.uri}, from row {row}, column weight: {error}; weights are numbers: cast the column first"
        ) from None
    if weights.null_count:
        at = row + pc.index(pc.is_null(weights), True).as_py()
        raise InputError(f"{source.uri}, row {at}, column weight: a weight is missing (null); fill it in")
    return weights
