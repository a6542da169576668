"""Bicliques in files: the columns of a data file, and its rows as batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bicliq import kernels
from bicliq.pipeline.columns import column_of, values_of
from bicliq.pipeline.settings import PublishSettings

SCHEMA = pa.schema(
    [
        pa.field("left", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
        pa.field("right", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
        pa.field("n_left", pa.int32(), nullable=False),
        pa.field("n_right", pa.int32(), nullable=False),
        pa.field("root", pa.int32(), nullable=False),
    ]
)
"""Columns of bicliques: dense ids of the canonical graph, ascending in each list."""

SMALLER_SCHEMA = pa.schema([SCHEMA.field("left").with_name("smaller"), *(SCHEMA.field(i) for i in range(2, 5))])
"""The same of a run that stores the smaller sides alone (`PublishSettings.columns`): the left one
where ``n_left <= n_right``."""

OBJECTIVE_COLUMNS = {
    "surprise": pa.field("surprise", pa.float64(), nullable=False),
    "edges": pa.field("n_edges", pa.int64(), nullable=False),
    "vertices": pa.field("n_vertices", pa.int64(), nullable=False),
    "balanced": pa.field("balanced", pa.int64(), nullable=False),
}
"""Columns of what bicliques are worth, by objective: surprise in nats, by the degrees of the run's
graph."""

MASK = (1 << 64) - 1
"""Set digests add up modulo 2**64."""


def schema_of(publish: PublishSettings) -> pa.Schema:
    """Columns of the data files of a run.

    Examples
    --------
    >>> schema_of(PublishSettings(columns="smaller", objectives=("surprise", "edges"))).names
    ['smaller', 'n_left', 'n_right', 'root', 'surprise', 'n_edges']
    """
    lists = SCHEMA if publish.columns == "both" else SMALLER_SCHEMA
    return pa.schema([*lists, *(OBJECTIVE_COLUMNS[objective] for objective in publish.objectives)])


def table_of(arrays: Iterable[Any], schema: pa.Schema) -> pa.Table:
    """A table of NumPy arrays, without copying them: of a list column its offsets and its ids."""
    rest = iter(arrays)
    columns = []
    for field in schema:
        if pa.types.is_list(field.type):
            columns.append(pa.ListArray.from_arrays(column_of(next(rest)), column_of(next(rest)), type=field.type))
        else:
            columns.append(column_of(next(rest)))
    return pa.Table.from_arrays(columns, schema=schema)


def table_of_rows(rows: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """A table of rows as `Table.to_pylist` gives them, without nulls."""
    return table_of(_arrays_of(rows, schema), schema)


def _arrays_of(rows: list[dict[str, Any]], schema: pa.Schema) -> Iterator[npt.NDArray[Any]]:
    for field in schema:
        values = [row[field.name] for row in rows]
        if pa.types.is_list(field.type):
            yield np.cumsum([0, *map(len, values)], dtype=np.int32)
            values = [member for members in values for member in members]
        kind = field.type.value_type if pa.types.is_list(field.type) else field.type
        yield np.array(values, kind.to_pandas_dtype())


def batches_of(table: pa.Table) -> Iterator[kernels.BicliqueBatch]:
    """The bicliques of a table as batches of a kernel."""
    for batch in table.to_batches():
        yield batch_of(batch)


def batch_of(rows: pa.RecordBatch) -> kernels.BicliqueBatch:
    """Rows of both sides as a batch of a kernel."""
    (left_offsets, left), (right_offsets, right) = (offsets_and_ids(rows[side]) for side in ("left", "right"))
    return kernels.BicliqueBatch(left_offsets, left, right_offsets, right, values_of(rows["root"]))


def smaller_batch_of(rows: pa.RecordBatch) -> kernels.SmallerBatch:
    """Rows of smaller sides as a batch of a kernel."""
    return kernels.SmallerBatch(
        *offsets_and_ids(rows["smaller"]), *(values_of(rows[name]) for name in ("n_left", "n_right", "root"))
    )


def offsets_and_ids(lists: pa.ListArray) -> tuple[Any, Any]:
    """Arrays of a list column: where each list begins and the last one ends, and the ids."""
    offsets = values_of(lists.offsets)
    return offsets - offsets[0], values_of(lists.flatten())
