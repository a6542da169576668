"""Counts of (p,q)-bicliques in the folder of a run.

A record a partition, and the tables of their sums.

A question has a folder below ``counts/``, named by its *key*: ``one-p3-q3``, ``vertices-p3-q3``
(with counts of vertices), or ``all-p8-q8`` (all sizes up to these). Each partition is committed as
in an enumeration: first its files, then the record that names them. ``counts.parquet`` and
``vertex_counts.parquet`` hold the sums of all questions that are counted to their end;
``counts.json`` names them.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from bicliq.pipeline.store.layout import RunFolder
from bicliq.pipeline.store.records import PartitionCounts

COUNTS_FILE, VERTICES_FILE = "counts.parquet", "vertex_counts.parquet"
"""Names of the tables."""

Sizes = dict[tuple[int, int], int]
"""Counts by (p, q)."""


def vertices_name(key: str, number: int, side: str) -> str:
    """Name for a file of counts of a partition's vertices, another one for each attempt."""
    return f"counts/{key}/{side}-{number:05d}-{uuid.uuid4().hex[:8]}.parquet"


def commit_count(folder: RunFolder, key: str, found: PartitionCounts) -> None:
    """Commit what was counted in a partition; what other attempts left is removed."""
    folder.commit(PartitionCounts.name(key, found.partition), found, f"counts/{key}")


def examine_counts(
    folder: RunFolder, key: str, check: bool = False
) -> tuple[dict[int, PartitionCounts], dict[int, str]]:
    """Return the sound records of a question by partition, and why others are damaged."""
    return folder.examine(PartitionCounts, f"counts/{key}", f"counts/{key}", check)


def sums_of(records: Iterable[PartitionCounts]) -> Sizes:
    """Add the counts of partitions up."""
    sums: Sizes = {}
    for record in records:
        for p, q, count in record.counts:
            sums[p, q] = sums.get((p, q), 0) + int(count)
    return sums


def sizes_of_key(key: str) -> list[tuple[int, int]]:
    """Return the (p, q) that a question is about.

    Examples
    --------
    >>> sizes_of_key("all-p1-q2"), sizes_of_key("one-p3-q4")
    ([(1, 1), (1, 2)], [(3, 4)])
    """
    kind, p, q = key.split("-")
    most_p, most_q = int(p[1:]), int(q[1:])
    if kind != "all":
        return [(most_p, most_q)]
    return [(p, q) for p in range(1, most_p + 1) for q in range(1, most_q + 1)]


def keys_of(folder: RunFolder) -> list[str]:
    """Return the questions that were asked of a run, counted to their end or not."""
    found = map(PartitionCounts.pattern.fullmatch, folder.files("counts"))
    return sorted({match[1] for match in found if match})
