"""The largest bicliques of a data file: which row groups may hold them, and their rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bicliq.pipeline.store.biclique_reader import BicliqueReader, Int64s
from bicliq.pipeline.store.choice import Choice, Int32s
from bicliq.pipeline.store.records import Commit
from bicliq.pipeline.store.versions import Part
from bicliq.pipeline.store.worth import By, of_sizes


def largest_rows(
    file: BicliqueReader, part: Part, k: int, by: By, least: float, choice: Choice, members: tuple[Int32s, Int32s]
) -> list[tuple[int, Int64s, Any]]:
    """Row groups, rows and values of what can be among the k largest of a data file, ties included.

    The row groups that may hold the largest come first, by their statistics; those that cannot hold
    a large enough one are not read. Of the others the rows that are large enough are looked at,
    whether they vanished.
    """
    most = [file.most(group, by) for group in range(len(file.rows))]
    found, best = [], np.zeros(0, np.int64)
    for group in sorted(range(len(most)), key=lambda group: -most[group]):
        if most[group] < least:
            break
        rows = choice.rows_of(file, group, *members)
        if not rows.size:
            continue
        keys = file.values(group, by, rows)
        rows, keys = _largest_living(file, part, group, k, rows[keys >= least], keys[keys >= least])
        found.append((group, rows, keys))
        best = np.concatenate([best, keys])
        if best.size >= k:
            best = np.partition(best, best.size - k)[-k:]
            least = max(least, best.min().item())
    kept = [(group, rows[keys >= least], keys[keys >= least]) for group, rows, keys in found]
    return [entry for entry in kept if entry[1].size]


def _largest_living(
    file: BicliqueReader, part: Part, group: int, k: int, rows: Int64s, keys: Any
) -> tuple[Int64s, Any]:
    """What can be among the k largest of some rows and did not vanish; others are not looked at."""
    many = k
    while True:
        least = np.partition(keys, rows.size - many)[rows.size - many] if many < rows.size else -math.inf
        wanted = keys >= least
        lives = part.lives(file, group, rows[wanted])
        if many >= rows.size or np.count_nonzero(lives) >= k:
            return rows[wanted][lives], keys[wanted][lives]
        many *= 8


def most_of(commit: Commit, by: By) -> float:
    """What no biclique of a partition goes beyond, by its commit record."""
    if by == "surprise":
        return math.inf
    if by == "edges":
        return 0 if commit.sizes.largest is None else commit.sizes.largest.n_edges
    most = (max((size for size, _ in sizes), default=0) for sizes in (commit.sizes.left, commit.sizes.right))
    return int(of_sizes(by, *most))
