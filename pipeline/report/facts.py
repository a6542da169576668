"""What a report says: figures of a run and of its graph, its sizes, and its largest groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.graphs.bipartite import BipartiteGraph, read_graph
from pipeline.stages.profile import Profile, profile
from pipeline.store.manifest import Manifest
from pipeline.store.results import Run

LISTED, DRAWN = 200, 9
"""Groups that the table lists, and those among them that are drawn."""

MEMBERS = 40
"""Members of a side that the table holds of a group; it says how many more there are."""

ROWS, COLUMNS, AROUND = 24, 30, 5
"""Members of a group that a picture shows on each side, and vertices around it on each side."""

Bools = npt.NDArray[np.bool_]
Ids = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class GroupPicture:
    """A group with some of what is around it.

    Parameters
    ----------
    rank
        Its rank by edges, from 1.
    n_left, n_right
        Its size; a picture may show fewer.
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
    left: list[str]
    right: list[str]
    left_members: int
    right_members: int
    present: Bools
    overlap: tuple[int, int] | None


@dataclass(frozen=True)
class Facts:
    """All that a report shows.

    Parameters
    ----------
    manifest, asked, graph, profile
        Records of the run and of its graph.
    sizes
        Bicliques by (number of left vertices, number of right vertices).
    rows
        The largest groups: rank, left, right, n_left, n_right, n_edges; labels as text.
    pictures
        The very largest with what is around them.
    """

    manifest: Manifest
    asked: dict[str, Any]
    graph: dict[str, Any]
    profile: Profile
    sizes: dict[tuple[int, int], int]
    rows: list[dict[str, Any]]
    pictures: list[GroupPicture]


def gather(run: Run) -> Facts:
    """Read what a report says of a published run.

    Raises
    ------
    StorageError
        Where the run is not published, or something is damaged.

    Notes
    -----
    Reads the graph, the sizes of all bicliques, and the largest of them: O(edges + bicliques) time,
    O(edges) memory.
    """
    manifest = run.manifest
    folder = run.store.graph(manifest.graph)
    graph = read_graph(folder)
    top = run.top(LISTED, ids=False)
    labels = (run.left_ids, run.right_ids)
    groups = [(np.array(row["left"]), np.array(row["right"])) for row in top.select(["left", "right"]).to_pylist()]
    return Facts(
        manifest=manifest,
        asked=run.folder.read_record("run.json"),
        graph=folder.read_record("graph.json"),
        profile=profile(run.store, manifest.graph),
        sizes=_sizes(run),
        rows=[_row(rank, group, labels) for rank, group in enumerate(groups, 1)],
        pictures=[_picture(graph, labels, groups[:DRAWN], at) for at in range(len(groups[:DRAWN]))],
    )


def _sizes(run: Run) -> dict[tuple[int, int], int]:
    found: dict[tuple[int, int], int] = {}
    for commit in run.commits.values():
        with run.open(commit) as file:
            for group in range(len(file.rows)):
                keys, counts = np.unique(np.stack(file.sizes(group)), axis=1, return_counts=True)
                for left, right, n in zip(*keys.tolist(), counts.tolist(), strict=True):
                    found[left, right] = found.get((left, right), 0) + n
    return found


def _row(rank: int, group: tuple[Ids, Ids], labels: Any) -> dict[str, Any]:
    members = [_texts(ids, side[:MEMBERS]) for ids, side in zip(labels, group, strict=True)]
    n_left, n_right = map(len, group)
    sizes = {"n_left": n_left, "n_right": n_right, "n_edges": n_left * n_right}
    return {"rank": rank, **sizes, "left": members[0], "right": members[1]}


def _texts(ids: Any, dense: Ids) -> list[str]:
    return [str(label) for label in ids.take(dense).to_pylist()]


def _picture(graph: BipartiteGraph, labels: Any, groups: list[tuple[Ids, Ids]], at: int) -> GroupPicture:
    left, right = groups[at]
    back = graph.transpose()
    rows = np.concatenate([left[:ROWS], _around(back, right, left)])
    columns = np.concatenate([right[:COLUMNS], _around(graph, left, right)])
    present = np.array([np.isin(columns, graph.indices[graph.indptr[u] : graph.indptr[u + 1]]) for u in rows])
    shared = [
        (len(np.intersect1d(left, other[0])) * len(np.intersect1d(right, other[1])), rank)
        for rank, other in enumerate(groups, 1)
        if rank != at + 1
    ]
    most, rank = max(shared, default=(0, 0))
    return GroupPicture(
        rank=at + 1,
        n_left=len(left),
        n_right=len(right),
        left=_texts(labels[0], rows),
        right=_texts(labels[1], columns),
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
