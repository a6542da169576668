"""Counts of (p,q)-bicliques in the folder of a run.

A record a partition, and the tables of their sums.

A question has a folder below ``counts/``, named by its *key*: ``one-p3-q3``, ``vertices-p3-q3``
(with counts of vertices), or ``all-p8-q8`` (all sizes up to these). Each partition is committed as
in an enumeration: first its files, then the record that names them. ``counts.parquet`` and
``vertex_counts.parquet`` hold the sums of all questions that are counted to their end;
``counts.json`` names them.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from bicliq.pipeline.errors import DamageError
from bicliq.pipeline.store.folder import MEND
from bicliq.pipeline.store.layout import RunFolder
from bicliq.pipeline.store.records import StoredFile, named_files

COUNTS_RECORD, COUNTS_FILE, VERTICES_FILE = "counts.json", "counts.parquet", "vertex_counts.parquet"
COUNT = re.compile(
    r"counts/(?P<key>(?P<kind>one|vertices|all)-p(?P<p>\d+)-q(?P<q>\d+))/partition-(?P<partition>\d{5,})\.json"
)
COUNT_ATTEMPT = re.compile(r"counts/(?P<key>\w+-p\d+-q\d+)/(left|right)-(?P<partition>\d{5,})-\w+\.parquet")
"""Names of the record of a partition's counts, and of a file of vertices that it may name."""

Sizes = dict[tuple[int, int], int]
"""Counts by (p, q)."""


def count_name(key: str, number: int) -> str:
    """Name of the record of a partition's counts."""
    return f"counts/{key}/partition-{number:05d}.json"


def vertices_name(key: str, number: int, side: str) -> str:
    """Name for a file of counts of a partition's vertices, another one for each attempt."""
    return f"counts/{key}/{side}-{number:05d}-{uuid.uuid4().hex[:8]}.parquet"


def commit_count(
    folder: RunFolder, key: str, number: int, content: Mapping[str, Any], files: Iterable[StoredFile]
) -> dict[str, Any]:
    """Commit what was counted in a partition; returns the record that stands.

    What other attempts left is removed.
    """
    stands = folder.commit(count_name(key, number), {"partition": number, **content}, files)
    attempts = (COUNT_ATTEMPT.fullmatch(name) for name in folder.files(f"counts/{key}"))
    left = (found[0] for found in attempts if found and int(found["partition"]) == number)
    folder.remove(*(name for name in left if name not in named_files(stands)))
    return stands


def examine_counts(
    folder: RunFolder, key: str, check: bool = False
) -> tuple[dict[int, dict[str, Any]], dict[int, str]]:
    """Return the sound records of a question by partition, and why others are damaged.

    With `check`, the checksums of the files that they name are compared as well; otherwise their
    sizes are.
    """
    there = folder.files(f"counts/{key}")
    names = {name: int(found["partition"]) for name in there if (found := COUNT.fullmatch(name))}
    sound: dict[int, dict[str, Any]] = {}
    damaged: dict[int, str] = {}
    plan = folder.read_record("plan.json") if names else {}
    for name, record in folder.read_records(names).items():
        reason = _why_unusable(folder, name, record, plan, there, check)
        if isinstance(record, DamageError) or reason is not None:
            damaged[names[name]] = str(reason)
        else:
            sound[names[name]] = record
    return sound, damaged


def _why_unusable(
    folder: RunFolder,
    name: str,
    record: dict[str, Any] | DamageError,
    plan: dict[str, Any],
    there: dict[str, int],
    check: bool,
) -> str | None:
    if isinstance(record, DamageError):
        return str(record)
    if record["plan"] != plan["digest"] or record["partition"] >= plan["partitions"]:
        return f"{folder.path_of(name)}: it was counted for another plan; {MEND}"
    for file in named_files(record).values():
        if there.get(file.name) != file.bytes:
            return (
                f"{folder.path_of(file.name)}: it is missing, or has not the {file.bytes} bytes of its record; {MEND}"
            )
        if check:
            try:
                folder.check(file)
            except DamageError as error:
                return str(error)
    return None


def sums_of(records: Iterable[Mapping[str, Any]]) -> Sizes:
    """Add the counts of partitions up."""
    sums: Sizes = {}
    for record in records:
        for p, q, count in record["counts"]:
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
    return sorted({found["key"] for name in folder.files("counts") if (found := COUNT.fullmatch(name))})
