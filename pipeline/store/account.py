"""What became of the rows of a table: the part of what ingest says that every answer repeats."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from bicliq.pipeline.store.record import Count, Entry, Name

DROPPED = "dropped_"
"""What the name of a count of dropped rows begins with; its reason follows."""


def account(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Say what became of the rows of a table, and what was taken for granted, for any answer.

    `summary`: what is counted of its rows. Returns rows_read, edges, duplicates (rows
    that repeat an edge), dropped (rows by reason: of those that dropped any), noted
    (`EdgeBatch.noted`), and assumed (`EdgeSource.assumed`). Rows read are edges, duplicates and
    dropped rows; of groups in step duplicates are rows that repeat an action, and noted counts
    actions at other times of an edge.

    Examples
    --------
    >>> account({"rows_read": 4, "edges": 2, "duplicates": 1, "dropped_nulls": 1, "dropped_ragged": 0})
    {'rows_read': 4, 'edges': 2, 'duplicates': 1, 'dropped': {'nulls': 1}, 'noted': {}, 'assumed': []}
    """
    dropped = {name.removeprefix(DROPPED): n for name, n in summary.items() if name.startswith(DROPPED) and n}
    return {
        **{name: summary[name] for name in ("rows_read", "edges", "duplicates")},
        "dropped": dropped,
        "noted": summary.get("noted", {}),
        "assumed": summary.get("assumed", []),
    }


@dataclass(frozen=True)
class Source(Entry):
    """A table that was read; of several files `bytes` are those of all."""

    uri: str = ""
    format: str = ""
    bytes: Count = 0
    files: Count = 0


@dataclass(frozen=True, kw_only=True)
class Summary(Entry):
    """What ingest says of a table: what became of its rows, and how it was read.

    Parameters
    ----------
    rows_read, duplicates, edges
        Rows are edges, repetitions of one, or dropped, for reasons as ``dropped_nulls``; of groups
        in step they may be an edge at another time.
    noted, assumed
        What was read otherwise than it is written (`EdgeBatch.noted`), and what was taken for
        granted (`EdgeSource.assumed`), in sentences.
    n_left, n_right, labels
        Labels of either side, and whether they are "numbers" or "text".
    policies
        Settings that decide which rows stay and what their labels are (`stages.edge_table`).
    latest, left_window
        Time of the latest row of a window, in Unix seconds, and rows that left it by an update.
    sorted_runs
        Runs on disk, where edges were sorted there.
    backend
        What read it, and why not another one.
    columns, source, seconds
        The columns of either side, weights and times; the table; and the duration.
    parent, inserted, deleted
        The graph that an update made this one of, and edges that it joined or took away.
    """

    rows_read: Count = 0
    dropped_nulls: Count = 0
    dropped_by_value: Count = 0
    dropped_self_labels: Count = 0
    dropped_by_weight: Count = 0
    dropped_by_time: Count = 0
    dropped_by_sample: Count = 0
    dropped_by_window: Count = 0
    dropped_ragged: Count = 0
    duplicates: Count = 0
    edges: Count = 0
    noted: dict[str, int] = field(default_factory=dict)
    n_left: Count = 0
    n_right: Count = 0
    labels: dict[str, str] = field(default_factory=dict)
    policies: dict[str, Any] = field(default_factory=dict)
    latest: float | None = None
    sorted_runs: Count | None = None
    backend: str = ""
    assumed: list[str] = field(default_factory=list)
    columns: dict[str, Any] = field(default_factory=dict)
    source: Source = Source()
    seconds: float = 0.0
    left_window: Count | None = None
    parent: Name | None = None
    inserted: Count | None = None
    deleted: Count | None = None

    @property
    def account(self) -> dict[str, Any]:
        """What every answer repeats of it."""
        return account(vars(self))

    @property
    def dropped(self) -> int:
        """Rows that were dropped, for any reason."""
        return sum(self.account["dropped"].values())

    @property
    def in_step(self) -> str | None:
        """How long a window is, where groups in step are asked of it."""
        found: str | None = self.policies.get("in_step")
        return found

    @property
    def fold(self) -> str | None:
        """Forms in which labels were united."""
        found: str | None = self.policies.get("fold")
        return found

    def record(self) -> dict[str, Any]:
        """Plain values for JSON; what does not apply is left out."""
        return {name: value for name, value in asdict(self).items() if value is not None}


NOTHING_READ = account({"rows_read": 0, "edges": 0, "duplicates": 0})
"""The account of no table."""


def account_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a record says of the rows that were read for it.

    Rows read are edges, duplicates (rows that repeat one) and dropped rows, by reason. Noted is
    what was read otherwise than it is written, assumed what was taken for granted, in sentences.

    Examples
    --------
    >>> import bicliq
    >>> bicliq.find([["jam", "jam", None]], nulls="drop").account  # doctest: +NORMALIZE_WHITESPACE
    {'rows_read': 3, 'edges': 1, 'duplicates': 1, 'dropped': {'nulls': 1}, 'noted': {},
     'assumed': []}
    """
    return {name: record[name] for name in NOTHING_READ if name in record}
