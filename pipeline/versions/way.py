"""Which way to a new version is cheaper: around the changed edges, or a full search of the graph.

A few of the changed edges are searched, each as if it were the only one, and what they change is
scaled to all by the paths of two edges over them. A changed biclique costs some eight times what
one costs that a full search finds (docs/results.md). Numbers of bicliques are compared, not
seconds: the choice is then the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

import kernels
from pipeline.graphs.bipartite import BipartiteGraph, Int32s

SAMPLED = 32
"""Changed edges that are searched to see what a batch changes; so few are worth no full run. Eight
took 1,027 edges of gowalla for a full run, at seven times the seconds."""

FEW = 50_000
"""Changed bicliques that take less time (0.2 s of one thread) than a run takes to begin."""

PRICE = 8
"""What a changed biclique costs, in bicliques of a full run. That writes them all, too, which takes
longer than its search; but bicliques with several new edges are found several times."""


@dataclass(frozen=True)
class Way:
    """How a version is made.

    Parameters
    ----------
    how
        "changes": around the changed edges; "full run": the new graph is searched whole.
    reason
        Why, in words.
    """

    how: Literal["changes", "full run"]
    reason: str


def choose_way(
    graph: BipartiteGraph, left: Int32s, right: Int32s, paths: int, bicliques: int, least: dict[str, int]
) -> Way:
    """Choose how a version is made.

    Parameters
    ----------
    graph
        The graph that has the changed edges.
    left, right
        Their ends.
    paths
        Paths of two edges over all changes (`kernels.ChangeSearch.cost`).
    bicliques
        Those of the version before.
    least
        Its thresholds: min_left, min_right, min_edges.

    Notes
    -----
    The sample is seeded, so that the same batch is always made in the same way. It costs the
    search of `SAMPLED` edges.
    """
    if len(left) <= SAMPLED:
        return Way("changes", f"{len(left)} edges changed, and so few are never worth a full run")
    chosen = np.random.default_rng(len(left)).choice(len(left), SAMPLED, replace=False)
    sample = kernels.ChangeSearch(graph.indptr, graph.indices, graph.n_right, left[chosen], right[chosen], **least)
    found = sample.find()
    changed = round((len(found.appeared) + len(found.vanished)) * paths / max(sample.cost, 1))
    said = f"about {changed:,} bicliques change, of {bicliques:,}"
    if changed <= FEW or changed * PRICE < bicliques:
        return Way("changes", said)
    return Way("full run", f"{said}: a full run is cheaper")
