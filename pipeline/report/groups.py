"""The groups that matter: the most surprising ones and the largest, and what is around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bicliq import kernels
from bicliq.pipeline.graphs.beyond_chance import best_beyond_chance
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.settings import SearchSettings
from bicliq.pipeline.store.results import Run
from bicliq.pipeline.store.worth import By as RunBy

LISTED, DRAWN = 150, 9
"""Groups of each kind (largest, most surprising) that the table lists, and those that are drawn."""

MEMBERS = 40
"""Members of a side that the table holds of a group; it says how many more there are."""

ROWS, COLUMNS, AROUND = 24, 30, 5
"""Members of a group that a picture shows on each side, and vertices around it on each side."""

Bools = npt.NDArray[np.bool_]
Ids = npt.NDArray[np.integer[Any]]
Group = tuple[Ids, Ids]


@dataclass(frozen=True)
class GroupPicture:
    """A group with some of what is around it.

    Parameters
    ----------
    rank
        Its rank among those that are drawn, from 1.
    n_left, n_right
        Its size; a picture may show fewer.
    missing
        How many of its pairs are no edges.
    surprise
        How far it is beyond chance, in nats.
    expected
        Edges that chance gives it on average.
    left, right
        Labels of rows and columns: members, then those around.
    left_members, right_members
        How many of them are members.
    present
        Whether there is an edge, shape (rows, columns).
    overlap
        The other drawn group with which it shares most edges, and how many; None: none.
    """

    rank: int
    n_left: int
    n_right: int
    missing: int
    surprise: float
    expected: float
    left: list[Any]
    right: list[Any]
    left_members: int
    right_members: int
    present: Bools
    overlap: tuple[int, int] | None


@dataclass(frozen=True)
class Matter:
    """The groups that a report shows.

    `rows`: groups to look through, the most surprising first: left, right (labels as text), n_left,
    n_right, n_edges, surprise, expected (edges that chance gives it). `pictures`: groups that are
    drawn: each is the best beside those before it, and beyond chance; there may be none. `proven`:
    whether there are no better ones; False where the time for that was over.
    """

    rows: list[dict[str, Any]]
    pictures: list[GroupPicture]
    proven: bool


def groups_that_matter(run: Run, graph: BipartiteGraph, search: SearchSettings) -> Matter:
    """Return the most surprising groups of a graph, and the largest of its run.

    Where surprise is a column of the run, its row groups' statistics tell the most surprising ones.
    """
    stored = run.stores("surprise") and run.state.complete
    surprising = None if stored else best_beyond_chance(graph, LISTED, search, diverse=False)
    drawn = best_beyond_chance(graph, DRAWN, search)
    orders: list[RunBy] = ["surprise", "edges"] if surprising is None else ["edges"]
    tops = [row for order in orders for row in run.top(LISTED, order, ids=False).select(["left", "right"]).to_pylist()]
    found = () if surprising is None else surprising.groups
    groups = [(group.left, group.right) for group in (*found, *drawn.groups)]
    groups += [(np.array(row["left"]), np.array(row["right"])) for row in tops]
    labels = (run.left_ids, run.right_ids)
    listed = {(left.tobytes(), right.tobytes()): (left, right) for left, right in map(_as_int64, groups)}
    rows = [row_of(graph, group, labels) for group in listed.values()]
    rows.sort(key=lambda row: (-row["surprise"], -row["n_edges"]))
    pictures = pictures_of(graph, [(group.left, group.right) for group in drawn.groups], labels)
    return Matter(rows, pictures, (surprising is None or surprising.proven) and drawn.proven)


def _as_int64(group: Group) -> Group:
    left, right = (ids.astype(np.int64) for ids in group)
    return left, right


def row_of(graph: BipartiteGraph, group: Group, labels: Any, may_miss: bool = False) -> dict[str, Any]:
    """Return a group as a row of the table of groups.

    `labels` are those of both sides; with `may_miss` its surprise pays for the choice of gaps.
    """
    left, right = (list(map(str, _labels(ids, side[:MEMBERS]))) for ids, side in zip(labels, group, strict=True))
    n_left, n_right = map(len, group)
    missing = kernels.missing_pairs(graph.indptr, graph.indices, *group)
    sizes = {"n_left": n_left, "n_right": n_right, "n_edges": n_left * n_right - len(missing)}
    surprise, expected = graph.surprise_terms.of_group(*group, missing if may_miss else None)
    return {**sizes, **chance_of(surprise, expected), "left": left, "right": right}


def chance_of(surprise: float, expected: float) -> dict[str, float]:
    """Return what a row says of chance."""
    return {"surprise": round(surprise, 1), "expected": float(f"{expected:.2g}")}


def _labels(ids: Any, dense: Ids) -> list[Any]:
    return list(ids.take(dense).to_pylist())


def pictures_of(
    graph: BipartiteGraph, groups: Sequence[Group], labels: Any, may_miss: bool = False
) -> list[GroupPicture]:
    """Return groups with some of what is around each, in their order; see `row_of`."""
    back = graph.transpose()
    return [_picture(graph, back, labels, groups, at, may_miss) for at in range(len(groups))]


def _picture(
    graph: BipartiteGraph, back: BipartiteGraph, labels: Any, groups: Sequence[Group], at: int, may_miss: bool
) -> GroupPicture:
    left, right = groups[at]
    rows = np.concatenate([left[:ROWS], _around(back, right, left)])
    columns = np.concatenate([right[:COLUMNS], _around(graph, left, right)])
    present = np.array([np.isin(columns, graph.indices[graph.indptr[u] : graph.indptr[u + 1]]) for u in rows])
    shared = [
        (len(np.intersect1d(left, other[0])) * len(np.intersect1d(right, other[1])), rank)
        for rank, other in enumerate(groups, 1)
        if rank != at + 1
    ]
    most, rank = max(shared, default=(0, 0))
    missing = kernels.missing_pairs(graph.indptr, graph.indices, left, right)
    surprise, expected = graph.surprise_terms.of_group(left, right, missing if may_miss else None)
    return GroupPicture(
        rank=at + 1,
        n_left=len(left),
        n_right=len(right),
        missing=len(missing),
        surprise=surprise,
        expected=expected,
        left=_labels(labels[0], rows),
        right=_labels(labels[1], columns),
        left_members=min(len(left), ROWS),
        right_members=min(len(right), COLUMNS),
        present=present,
        overlap=(rank, most) if most else None,
    )


def _around(graph: BipartiteGraph, members: Ids, group: Ids) -> Ids:
    """Vertices that share most with the members of the other side without being in the group."""
    _, neighbours = graph.rows_of(members)
    counts = np.bincount(neighbours, minlength=graph.n_right)
    counts[group] = 0
    best = np.argsort(-counts, kind="stable")[:AROUND]
    return np.asarray(best[counts[best] > 0])
