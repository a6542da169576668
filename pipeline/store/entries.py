"""Entries that several records have: checks, sizes, and what a search is expected to find."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from bicliq.pipeline.store.record import Count, Entry

Histogram = list[tuple[int, int]]
"""Pairs (size, number of bicliques), ascending."""

CheckState = Literal["pass", "warn", "fail"]


@dataclass(frozen=True)
class Check(Entry):
    """What came of one check of the input (`pipeline.stages.checks`).

    Parameters
    ----------
    name
        "rows": share by which the number of rows changed since the last run of this source;
        "dropped": share of the rows that ingest dropped; "labels": share of the labels that the
        last run did not have; "degree": most edges of a vertex; "paths": estimated work of the
        search, as paths of two edges.
    state
        "pass", "warn" or "fail".
    value
        What was measured; None where there is no earlier run to compare with.
    warn, fail
        The thresholds: a value above one warns, or fails.
    """

    name: str
    state: CheckState
    value: int | float | None
    warn: float | None
    fail: float | None

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.name}: no earlier run of this source"
        limit = {"warn": self.warn, "fail": self.fail}.get(self.state)
        return f"{self.name}: {self.value:g}" + ("" if limit is None else f" is above {limit:g}")


@dataclass(frozen=True)
class Largest(Entry):
    """The biclique with most edges; of several the one with most left vertices."""

    n_left: Count
    n_right: Count
    n_edges: Count

    @property
    def rank(self) -> tuple[int, int]:
        """What the largest of several has most of: edges, then left vertices."""
        return self.n_edges, self.n_left

    def of(self, partition: int) -> LargestOfRun:
        """Return the same with the partition that it is in."""
        return LargestOfRun(self.n_left, self.n_right, self.n_edges, partition)


@dataclass(frozen=True)
class LargestOfRun(Largest):
    """The largest one of a run, and its partition."""

    partition: Count


@dataclass(frozen=True)
class SizeCounts(Entry):
    """How many bicliques of a file have how many left, and right, vertices; and the largest."""

    left: Histogram
    right: Histogram
    largest: Largest | None


@dataclass(frozen=True, kw_only=True)
class Expected(Entry):
    """What a search is expected to find, and to cost.

    Parameters
    ----------
    bicliques, low, high
        Maximal bicliques that pass the thresholds, and where their number lies in nine cases of
        ten.
    ids, low_ids, high_ids
        Ids in their lists.
    bytes, low_bytes, high_bytes
        Size of the Parquet files.
    exact
        Whether all bicliques were counted; bytes are an estimate nevertheless.
    nodes
        Nodes of the search: its work.
    search_seconds, write_seconds
        Of one thread of the machine that made the estimate.
    would_do
        Thresholds that leave few bicliques, and what they leave.
    """

    bicliques: int
    low: int
    high: int
    ids: int
    low_ids: int
    high_ids: int
    bytes: int
    low_bytes: int
    high_bytes: int
    exact: bool
    nodes: int
    search_seconds: float
    write_seconds: float
    would_do: list[dict[str, int]] = field(default_factory=list, repr=False)
