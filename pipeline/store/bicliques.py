"""Bicliques in files: the columns of a data file, and its rows as batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

import kernels

SCHEMA = pa.schema(
    [
        pa.field("left", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
        pa.field("right", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
        pa.field("n_left", pa.int32(), nullable=False),
        pa.field("n_right", pa.int32(), nullable=False),
        pa.field("root", pa.int32(), nullable=False),
    ]
)
"""Columns of a partition's data file: dense ids of the canonical graph, ascending in each list."""

MASK = (1 << 64) - 1
"""Set digests add up modulo 2**64."""


def batches_of(table: pa.Table) -> Iterator[kernels.BicliqueBatch]:
    """The bicliques of a table as batches of a kernel."""
    for batch in table.to_batches():
        (left_offsets, left), (right_offsets, right) = (_offsets_and_values(batch[side]) for side in ("left", "right"))
        yield kernels.BicliqueBatch(left_offsets, left, right_offsets, right, batch["root"].to_numpy())


def _offsets_and_values(lists: pa.ListArray) -> tuple[Any, Any]:
    offsets = lists.offsets.to_numpy()
    return offsets - offsets[0], lists.flatten().to_numpy()
