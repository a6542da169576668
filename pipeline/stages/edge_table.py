"""The edge table that ingest makes on CPU and GPU alike, and the account of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bicliq.pipeline.columns import column_of
from bicliq.pipeline.errors import BicliqError, InputError
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.column_on_disk import ColumnOnDisk
from bicliq.pipeline.stages.window import TimedRows
from bicliq.pipeline.store.account import DROPPED, Summary
from bicliq.pipeline.times import parse_duration

POLICIES = (
    "ids", "duplicates", "ragged", "nulls", "self_labels", "min_weight", "min_value", "since", "until",
    "sample", "window", "in_step", "strip", "fold", "split", "comment", "skip", "encoding",
)  # fmt: skip
"""Settings that decide which rows stay and what their labels are: updates are read alike."""


OTHER_TIMES = "actions_at_other_times"
"""Of groups in step: rows whose edge is there at another time as well, which is no repetition."""


def same_policy(name: str, one: Any, other: Any) -> bool:
    """Say whether two values of a policy mean the same: lengths of time are written in many ways.

    Examples
    --------
    >>> same_policy("in_step", "60s", "1m"), same_policy("fold", "case", None)
    (True, False)
    """
    if name in ("window", "in_step") and one is not None and other is not None:
        return parse_duration(one) == parse_duration(other)
    return bool(one == other)


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """A canonical edge table in memory: dense ids, sorted, unique; labels by dense id.

    Parameters
    ----------
    left, right
        int32, shape (n_edges,).
    weight
        float64 of the same shape, where weights were asked for.
    left_ids, right_ids
        Arrow arrays (int64 or string) of the labels, ascending.
    summary
        What became of the rows, and how they were read.
    seconds
        Duration of ``read`` and ``unite``.
    rows
        Of a window of time: what it needs to move on (`pipeline.stages.window`); of groups in step:
        all rows.
    """

    left: npt.NDArray[np.int32]
    right: npt.NDArray[np.int32]
    weight: npt.NDArray[np.float64] | None
    left_ids: pa.Array
    right_ids: pa.Array
    summary: Summary
    seconds: dict[str, float]
    rows: TimedRows | None = None


@dataclass(frozen=True, eq=False)
class EdgesOnDisk:
    """A canonical edge table whose edges were sorted on disk; its labels are in memory.

    Parameters
    ----------
    left, right, weight
        As of `EdgeTable`, in files.
    left_ids, right_ids, summary, seconds
        As of `EdgeTable`.
    """

    left: ColumnOnDisk
    right: ColumnOnDisk
    weight: ColumnOnDisk | None
    left_ids: pa.Array
    right_ids: pa.Array
    summary: Summary
    seconds: dict[str, float]
    rows: None = None

    def batches(self, n: int) -> pa.RecordBatchReader:
        """Return the edges, `n` at a time."""
        columns = {"left": self.left, "right": self.right, **({} if self.weight is None else {"weight": self.weight})}
        kinds = {name: pa.from_numpy_dtype(column.kind) for name, column in columns.items()}
        schema = pa.schema(kinds.items())
        parts = zip(*(map(column_of, column.blocks(n)) for column in columns.values()), strict=True)
        return pa.RecordBatchReader.from_batches(schema, (pa.record_batch(list(part), schema=schema) for part in parts))


def summarize(
    source: str,
    counts: dict[str, int],
    n_rows: int,
    n_edges: int,
    ids: tuple[pa.Array, pa.Array],
    settings: IngestSettings,
    noted: Mapping[str, int],
    n_once: int,
) -> Summary:
    """Account for the rows of a table.

    Each is an edge, the repetition of one, or dropped for a reason; of groups in step it may be an
    edge at another time.

    Parameters
    ----------
    source
        The table, for messages.
    counts
        ``rows_read`` and what was dropped, by reason (``dropped_...``).
    n_rows, n_edges
        Rows that passed the filters, and different edges among them.
    ids
        Labels of the left and of the right side.
    settings
        The policies.
    noted
        What was read otherwise than it is written (`EdgeBatch.noted`).
    n_once
        Rows that repeat none before: different edges, or of groups in step different actions.

    Raises
    ------
    InputError
        Where a row is repeated and that is an error.
    BicliqError
        Where the rows do not add up.
    """
    dropped = sum(number for name, number in counts.items() if name.startswith(DROPPED))
    if counts["rows_read"] != n_rows + dropped or not n_edges <= n_once <= n_rows:
        raise BicliqError(
            f"{source}: {counts} and {n_edges} edges of {n_rows} rows do not add up; this is a defect of Bicliq: please"
            " report it"
        )
    if settings.duplicates == "error" and n_once < n_rows:
        repeat = f"{source}: {n_rows - n_once} of {n_rows} rows repeat"
        if settings.in_step is not None:
            raise InputError(f"{repeat} an action, at the same time; unite them with duplicates = 'first'")
        raise InputError(f"{repeat} an edge; unite them with duplicates = 'first', 'sum' or 'max'")
    left_ids, right_ids = ids
    return Summary(
        **dict[str, Any](counts),
        duplicates=n_rows - n_once,
        edges=n_edges,
        noted={**noted, **({OTHER_TIMES: n_once - n_edges} if n_once > n_edges else {})},
        n_left=len(left_ids),
        n_right=len(right_ids),
        labels={"left": _kind(left_ids), "right": _kind(right_ids)},
        policies={name: getattr(settings, name) for name in POLICIES},
    )


def _kind(ids: pa.Array) -> str:
    return "numbers" if pa.types.is_integer(ids.type) else "text"
