"""Verify, root by root: what data files hold of some roots, compared with a new search of them.

Checksums, numbers and digests say that a file is the one that was written. That it is right, only
the graph can say: here the roots are cut out of it and searched once more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bicliq import kernels
from bicliq.pipeline.columns import column_of, values_of
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, Int32s, Int64s
from bicliq.pipeline.graphs.reduce import reduce
from bicliq.pipeline.settings import SearchSettings
from bicliq.pipeline.stages.in_step import GroupStream, search_windows
from bicliq.pipeline.stages.partition import Layout, Partition
from bicliq.pipeline.stages.planned import Plan
from bicliq.pipeline.stages.verify_rows import RowChecker, in_words
from bicliq.pipeline.store.bicliques import SCHEMA, table_of
from bicliq.pipeline.store.labels import Hashes
from bicliq.pipeline.store.versions import Part, hashes_of

EVERY_ROOT = 2**62
"""Roots to search again where all of them are meant."""

NAMED = 10
"""Bicliques that are named of what is wrong in a partition; the others are counted."""

ROOT_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""Odd, so that no two roots add the same to a hash."""


@dataclass(frozen=True)
class _Stored:
    """Bicliques that are stored of some roots: hash, number of the part, row group, and row.

    They are sorted by hash.
    """

    hashes: Hashes
    places: Int64s

    @classmethod
    def of(cls, found: list[tuple[Hashes, Int64s]]) -> _Stored:
        hashes = np.concatenate([np.zeros(0, np.uint64), *(hashes for hashes, _ in found)])
        places = np.concatenate([np.zeros((0, 3), np.int64), *(places for _, places in found)])
        order = np.argsort(hashes, kind="stable")
        return cls(hashes[order], places[order])

    def where(self, hashes: Hashes) -> tuple[npt.NDArray[np.bool_], Int64s]:
        """Say which hashes are here, and the first place of each that is."""
        at = np.searchsorted(self.hashes, hashes)
        there = at < self.hashes.size
        there[there] = self.hashes[at[there]] == hashes[there]
        return there, at[there]


def graph_to_search(graph: BipartiteGraph, search: SearchSettings) -> BipartiteGraph:
    """Reduce a graph anew, with its old ids: whatever was stored of it may be wrong."""
    return reduce(graph, search.min_left, search.min_right).in_old_ids(graph.n_left, graph.n_right)


class RootCheck:
    """Searches roots of a run again.

    Parameters
    ----------
    name
        The run, as problems name it.
    graph
        Its graph, as `graph_to_search` gives it.
    plan
        The roots in their order, with the partitions that `parts` are of.
    search
        What is searched for.
    parts
        Data files, as a reader sees them.
    checker
        Says why a stored biclique is none.
    """

    def __init__(
        self,
        name: str,
        graph: BipartiteGraph,
        plan: Plan,
        search: SearchSettings,
        parts: list[Part],
        checker: RowChecker,
    ) -> None:
        self._name, self._graph, self._plan, self._search = name, graph, plan, search
        self._parts, self._checker = parts, checker
        self._n_vertices = graph.n_left if plan.side == "left" else graph.n_right
        self.searched = 0
        self.wrong: list[int] = []

    def problems(self, roots: int, seed: int, partitions: set[int] | None = None) -> list[str]:
        """Search a seeded sample of roots, and compare what is found with what is stored.

        `roots`, `seed`: how many roots, and how they are chosen. `partitions`: choose among those
        of these partitions; None: of all. Returns a sentence for each biclique that is stored and
        not found, or found and not stored. `searched` then says how many roots were searched, and
        `wrong` of which partitions something is wrong.

        A partition at a time: held are its subgraph, and some 60 bytes for each biclique that is
        stored of its roots.
        """
        plan, wrong = self._plan, self._other_roots()
        open_to = np.arange(plan.roots.size)
        if partitions is not None:
            open_to = np.flatnonzero(np.isin(plan.partition, list(partitions)))
        chosen = np.sort(np.random.default_rng(seed).choice(open_to, min(roots, open_to.size), replace=False))
        if not chosen.size:
            return wrong
        by_root = self._graph if plan.side == "left" else self._graph.transpose()
        right_of = None if self._checker.windows is None else self._checker.windows.right
        n_right = self._graph.n_right if right_of is None else int(right_of.max(initial=-1)) + 1
        no_hashes = np.zeros(self._graph.n_left, np.uint64), np.zeros(n_right, np.uint64)
        layout = Layout.of(plan, by_root, no_hashes, right_of)
        for number in np.unique(plan.partition[chosen]).tolist():
            order = chosen[plan.partition[chosen] == number]
            found = self._compared(number, plan.roots[order], layout.cut(number, order))
            self.wrong += [number] if found else []
            wrong += found
        self.searched = int(chosen.size)
        return wrong

    def _other_roots(self) -> list[str]:
        """Say where the plan has other roots than the vertices that can be in an answer."""
        degrees = self._graph.left_degrees if self._plan.side == "left" else self._graph.right_degrees
        if np.array_equal(np.sort(self._plan.roots), np.flatnonzero(degrees)):
            return []
        return [
            f"{self._name}: its plan has other roots than its graph; remove this folder and give the command of the run again"
        ]

    def _compared(self, number: int, roots: Int32s, cut: Partition) -> list[str]:
        """Say what is stored of some roots of a partition and not found, or the other way round."""
        stored = _Stored.of(list(self._stored(number, roots)))
        seen = np.zeros(stored.hashes.size, np.bool_)
        missing, named = 0, list[str]()
        for table in self._searched(cut):
            there, at = stored.where(_rooted_hashes(table))
            seen[at] = True
            rows = np.flatnonzero(~there)
            missing += rows.size
            named += [
                f"{self._name}: {in_words(row)}: it is not stored, and a search of root {row['root']} finds it"
                for row in table.take(column_of(rows[: NAMED - len(named)])).to_pylist()
            ]
        named += [f"{self._name}: {missing - NAMED:,} more of partition {number} are not stored"] * (missing > NAMED)
        return named + self._surplus(number, stored, seen)

    def _stored(self, number: int, roots: Int32s) -> Iterator[tuple[Hashes, Int64s]]:
        """Hashes and places of what is stored of some roots of a partition, by row groups."""
        wanted = np.zeros(self._n_vertices, np.bool_)
        wanted[roots] = True
        for at, part in enumerate(self._parts):
            if part.base not in (None, number):
                continue
            with part.open(check=False) as file:
                for group in range(len(file.rows)):
                    root = values_of(file.numbers(group)["root"])
                    known = (root >= 0) & (root < self._n_vertices)
                    rows = np.flatnonzero(known & wanted[np.where(known, root, 0)])
                    rows = rows[part.lives(file, group, rows)]
                    if rows.size:
                        places = np.stack([np.full(rows.size, at), np.full(rows.size, group), rows], axis=1)
                        yield _rooted_hashes(file.table(group, rows)), places

    def _searched(self, cut: Partition) -> Iterator[pa.Table]:
        """Search the roots of a subgraph."""
        stream: kernels.BicliqueStream | GroupStream = (
            search_windows(cut, self._search) if self._checker.windows is not None else self._bicliques(cut)
        )
        with stream:
            for batch in stream:
                lists = batch.left_offsets, batch.left, batch.right_offsets, batch.right
                yield table_of([*lists, np.diff(batch.left_offsets), np.diff(batch.right_offsets), batch.root], SCHEMA)

    def _bicliques(self, cut: Partition) -> kernels.BicliqueStream:
        return kernels.stream_maximal_bicliques(
            cut.indptr,
            cut.indices,
            cut.n_right,
            side=cut.side,
            roots=cut.roots,
            left_ids=cut.left_ids,
            right_ids=cut.right_ids,
            threads=0,
            min_left=self._search.min_left,
            min_right=self._search.min_right,
            min_edges=self._search.min_edges,
        )

    def _surplus(self, number: int, stored: _Stored, seen: npt.NDArray[np.bool_]) -> list[str]:
        """Name what is stored of a partition and was not found."""
        rows = np.flatnonzero(~seen)
        named = []
        for hash, (at, group, row) in zip(stored.hashes[rows[:NAMED]], stored.places[rows[:NAMED]], strict=True):
            part = self._parts[at]
            with part.open(check=False) as file:
                (found,) = file.table(int(group), np.array([row])).to_pylist()
            name = f"{part.folder.place}/{part.commit.file}"
            twice = bool(np.count_nonzero(stored.hashes == hash) > 1)
            named.append(f"{name}: {in_words(found)}: {self._why_not(found, twice=twice)}")
        if rows.size > NAMED:
            named.append(f"{self._name}: {rows.size - NAMED:,} more of partition {number} are stored, and not found")
        return named

    def _why_not(self, row: dict[str, Any], *, twice: bool) -> str:
        reason = self._checker.why_not(row)
        if reason is not None:
            return reason
        return "it is stored twice" if twice else f"it is no biclique of root {row['root']}, but of an earlier one"


def _rooted_hashes(table: pa.Table) -> Hashes:
    """Hash of each biclique with its root."""
    with np.errstate(over="ignore"):
        found: Hashes = hashes_of(table) + values_of(table["root"]).astype(np.uint64) * ROOT_FACTOR
    return found
