"""What became of the rows of a table: the part of what ingest says that every answer repeats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DROPPED = "dropped_"
"""What the name of a count of dropped rows begins with; its reason follows."""


def account(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Say what became of the rows of a table, and what was taken for granted, for any answer.

    `summary`: what ingest says (`EdgeTable.summary`). Returns rows_read, edges, duplicates (rows
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
