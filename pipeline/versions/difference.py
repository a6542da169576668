"""What an update changes: edges that were joined, edges that went, or both in one version.

A kernel searches either. Where both happen, the graph between them (without what went, and still
without what came) is never written: what appears as edges go and vanishes as others come was in
neither version, and what vanishes and comes again was in both; such bicliques are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bicliq import kernels
from bicliq.pipeline.errors import BicliqError
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, Int32s, gather
from bicliq.pipeline.versions.way import Way, choose_way

Ends = tuple[Int32s, Int32s]
Least = dict[str, int]
AnyChanges = kernels.Changes | kernels.RowChanges


@dataclass(frozen=True, eq=False)
class Step:
    """Edges that come or go, beside the graph that has them.

    `graph`, `stored`: the graph with the edges, and its name in the store. `edges`: their ends.
    `delete`: whether they go. `least`: thresholds of the run: min_left, min_right, min_edges.
    """

    graph: BipartiteGraph
    stored: str
    edges: Ends
    delete: bool
    least: Least

    def search(self) -> kernels.ChangeSearch:
        """Prepare the search of what they change."""
        graph = self.graph
        return kernels.ChangeSearch(graph.indptr, graph.indices, graph.n_right, *self.edges, **self.least)


class Difference:
    """The bicliques that differ between two graphs.

    `steps`: first what goes, then what comes; one of them, or both.
    """

    def __init__(self, steps: list[Step]) -> None:
        self._steps = [(step, step.search()) for step in steps]

    def way(self, bicliques: int) -> Way:
        """Choose how the new version is made; `bicliques` are those of the one before."""
        ways = [choose_way(search, bicliques) for _, search in self._steps]
        whole = [way for way in ways if way.how == "full run"]
        reasons, found = "; ".join(way.reason for way in ways), sum(way.found for way in ways)
        return whole[0] if whole else Way("changes", reasons, found, ways[0].most)

    @property
    def cost(self) -> int:
        """Paths of two edges over what changes."""
        return sum(search.cost for _, search in self._steps)

    def find(self, searched: Callable[[Step, kernels.ChangeSearch], kernels.Changes]) -> kernels.Changes:
        """Search what appears and what vanishes, all steps together; `searched` does one."""
        found = []
        for step, search in self._steps:
            one = searched(step, search)
            found.append(one.backwards() if step.delete else one)
        return found[0] if len(found) == 1 else _together(*found)

    def find_rows(self, searched: Callable[[Step, kernels.ChangeSearch], AnyChanges]) -> AnyChanges | None:
        """The same, maybe as rows, which `searched` may make; None where there are two steps."""
        if len(self._steps) > 1:
            return None
        step, search = self._steps[0]
        found = searched(step, search)
        return found.backwards() if step.delete else found


def _together(first: kernels.Changes, second: kernels.Changes) -> kernels.Changes:
    """Two steps as one: what the second one takes back of the first is left out."""
    between_first, between_second = _shared(first.appeared, second.vanished)
    both_first, both_second = _shared(first.vanished, second.appeared)
    return kernels.Changes(
        _joined(_without(first.appeared, between_first), _without(second.appeared, both_second)),
        _joined(_without(first.vanished, both_first), _without(second.vanished, between_second)),
        second.backend or first.backend,
    )


Rows = npt.NDArray[np.int64]


def _shared(some: kernels.BicliqueLists, others: kernels.BicliqueLists) -> tuple[Rows, Rows]:
    """Rows of bicliques that are in both: equal by hash, and then list by list."""
    hashes = [kernels.biclique_hashes(b.left_offsets, b.left, b.right_offsets, b.right) for b in (some, others)]
    _, rows, places = np.intersect1d(hashes[0], hashes[1], return_indices=True)
    for side in ("left", "right"):
        (lengths, members), (other_lengths, others_of) = _lists(some, side, rows), _lists(others, side, places)
        if not (np.array_equal(lengths, other_lengths) and np.array_equal(members, others_of)):
            raise BicliqError("two different bicliques have the same 64-bit hash; give the full run of this version")
    return rows.astype(np.int64), places.astype(np.int64)


def _lists(lists: kernels.BicliqueLists, side: str, rows: Rows) -> tuple[Rows, Int32s]:
    """Lengths and members of some lists of a side, one list after the other."""
    offsets, members = getattr(lists, f"{side}_offsets"), getattr(lists, side)
    lengths = offsets[rows + 1] - offsets[rows]
    return lengths, gather(members, offsets[rows], lengths) if len(rows) else members[:0]


def _without(lists: kernels.BicliqueLists, rows: Rows) -> kernels.BicliqueLists:
    """All but some of the bicliques."""
    kept = np.setdiff1d(np.arange(len(lists)), rows)
    left_lengths, left = _lists(lists, "left", kept)
    right_lengths, right = _lists(lists, "right", kept)
    return kernels.BicliqueLists(_offsets(left_lengths), left, _offsets(right_lengths), right)


def _joined(some: kernels.BicliqueLists, others: kernels.BicliqueLists) -> kernels.BicliqueLists:
    """The bicliques of two lists, those of the first one first."""
    left_lengths = np.concatenate([np.diff(some.left_offsets), np.diff(others.left_offsets)])
    right_lengths = np.concatenate([np.diff(some.right_offsets), np.diff(others.right_offsets)])
    left, right = np.concatenate([some.left, others.left]), np.concatenate([some.right, others.right])
    return kernels.BicliqueLists(_offsets(left_lengths), left, _offsets(right_lengths), right)


def _offsets(lengths: Rows) -> Rows:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
