"""Verify, row by row: what data files hold, compared with their records and with the graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bicliq import kernels
from bicliq.pipeline.columns import column_of, values_of
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.graphs.in_step import Windows
from bicliq.pipeline.settings import SearchSettings
from bicliq.pipeline.stages.planned import Plan
from bicliq.pipeline.store.biclique_reader import BicliqueReader
from bicliq.pipeline.store.bicliques import batches_of
from bicliq.pipeline.store.labels import Hashes
from bicliq.pipeline.store.records import Commit
from bicliq.pipeline.store.sizes import Sizes
from bicliq.pipeline.store.worth import By


class RowsRead:
    """What was found of some row groups of a data file."""

    def __init__(self) -> None:
        self.rows = self.digest = self.sampled = 0
        self.sizes = Sizes()
        self.problems: list[str] = []

    def add(self, table: pa.Table, name: str, sampled: int, hashes: tuple[Hashes, Hashes] | None) -> None:
        """Count a row group in, of which so many rows were compared with the graph."""
        unordered = 0
        for batch in batches_of(table):
            try:
                digest, falling = kernels.check_bicliques(batch, *(hashes or ()))
            except ValueError as error:
                self.problems.append(f"{name}: {error}")
                break
            self.digest += digest
            unordered += falling
        if unordered:
            self.problems.append(f"{name}: {unordered} bicliques have a side that is not ascending")
        self.rows += table.num_rows
        self.sampled += sampled
        self.sizes.add(values_of(table["n_left"]), values_of(table["n_right"]))

    def merge(self, other: RowsRead) -> None:
        """Count in what another has found."""
        self.rows += other.rows
        self.digest += other.digest
        self.sampled += other.sampled
        self.sizes.merge(other.sizes.counts())
        self.problems += other.problems


def columns_of(schema: pa.Schema) -> list[tuple[str, str]]:
    """Names and types.

    cuDF's writer calls the items of a list otherwise, and lets columns be null.
    """
    return [(f.name, f"list of {f.type.value_type}" if pa.types.is_list(f.type) else str(f.type)) for f in schema]


def wrong_values(name: str, file: BicliqueReader, group: int, table: pa.Table, objectives: Sequence[By]) -> list[str]:
    """Say in which rows of a row group the stored worth is not that of the bicliques beside it.

    A processor may round a logarithm otherwise than the one that wrote the file, which moves a
    vertex's term by one unit, and with it an edge's correction by one step at most.
    """
    problems = []
    edges = np.multiply(*(values_of(table[size]).astype(np.float64) for size in ("n_left", "n_right")))
    for by in objectives:
        stored, right = file.values(group, by, np.arange(table.num_rows)), file.values_of(table, by)
        far = np.abs(stored - right) > (kernels.SurpriseTerms.step * edges if by == "surprise" else 0)
        if far.any() or (stored.size and file.most(group, by) < stored.max()):
            problems.append(f"{name}: {int(far.sum())} bicliques are worth another {by} than is stored of them")
    return problems


class RowChecker:
    """Checks rows of a data file: their lists, their thresholds, and some against the graph.

    Of groups in step `graph` has the `windows`.
    """

    def __init__(
        self,
        graph: BipartiteGraph | None,
        side: str,
        search: SearchSettings,
        hashes: tuple[Hashes, Hashes] | None,
        plan: Plan | None = None,
        windows: Windows | None = None,
    ) -> None:
        self.graphs = None if graph is None else (graph, graph.transpose())
        self.windows = windows
        self.plan = plan
        self.side = side
        self.search = search
        self.hashes = hashes

    def compare(self, name: str, commit: Commit, rows: int, digest: str, sizes: Sizes) -> list[str]:
        """Say where a data file differs from its commit record."""
        problems = []
        if rows != commit.rows:
            problems.append(f"{name}: {rows} rows, its commit record says {commit.rows}")
        if self.hashes is not None and digest != commit.digest:
            problems.append(f"{name}: digest {digest}, its commit record says {commit.digest}")
        recorded = Sizes()
        recorded.merge(commit.sizes)
        if sizes.counts() != recorded.counts():
            problems.append(f"{name}: its bicliques have other sizes than its commit record says")
        return problems

    def check_rows(self, name: str, table: pa.Table, picked: Any) -> list[str]:
        """Check a row group of a data file, and the picked rows of it against the graph."""
        problems = []
        left, right = (
            values_of(table["n_left"]).astype(np.int64),
            values_of(table["n_right"]).astype(np.int64),
        )
        for side, sizes in (("left", left), ("right", right)):
            wrong = np.flatnonzero(values_of(pc.list_value_length(table[side])) != sizes)
            if wrong.size:
                problems.append(f"{name}: {wrong.size} rows where n_{side} is not the length of {side}")
        least = self.search
        small = (left < least.min_left) | (right < least.min_right) | (left * right < least.min_edges)
        if small.any():
            problems.append(f"{name}: {int(small.sum())} bicliques are smaller than asked for")
        if self.graphs is None:
            return problems
        for row in table.take(column_of(picked)).to_pylist():
            reason = self.why_not(row)
            if reason is not None:
                problems.append(f"{name}: {in_words(row)}: {reason}")
        return problems

    def check_partition(self, name: str, table: pa.Table, number: int) -> list[str]:
        """Check that the roots of a row group are those of its partition."""
        if self.plan is None:
            return []
        others = int((~np.isin(values_of(table["root"]), self.plan.roots[self.plan.partition == number])).sum())
        return [f"{name}: {others} bicliques are of roots of other partitions"] if others else []

    def why_not(self, row: dict[str, Any]) -> str | None:
        """Say why a row is no maximal biclique of the graph, or None; without a graph, None."""
        if self.graphs is None:
            return None
        by_left, by_right = self.graphs
        left, right, root = row["left"], row["right"], row["root"]
        if not left or not right or min(left + right) < 0:
            return "a side is empty or holds a negative id"
        n_right = by_left.n_right if self.windows is None else int(self.windows.right.max(initial=-1)) + 1
        if max(left) >= by_left.n_left or max(right) >= n_right:
            return "an id is not in the graph"
        if sorted(set(left)) != left or sorted(set(right)) != right:
            return "a list is not ascending"
        if root not in (left if self.side == "left" else right):
            return f"the root {root} is not a member of the {self.side} side"
        if self.windows is not None:
            return self.windows.why_not(left, right)
        if _common(by_left, left) != right:
            return "the right side is not the set of all common neighbours of the left side"
        if _common(by_right, right) != left:
            return "the left side is not the set of all common neighbours of the right side"
        return None


def in_words(row: dict[str, Any]) -> str:
    """Name a biclique by its first members."""
    sides = (f"{side} {row[side][:5]}{'…' if len(row[side]) > 5 else ''}" for side in ("left", "right"))
    return ", ".join(sides)


def _common(graph: BipartiteGraph, rows: list[int]) -> list[int]:
    """Vertices adjacent to all of some rows, ascending."""
    found, counts = np.unique(graph.rows_of(np.array(rows))[1], return_counts=True)
    common: list[int] = found[counts == len(rows)].tolist()
    return common
