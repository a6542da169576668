"""The groups of a graph that chance does not give, for whoever shows a few of them beside a run."""

from __future__ import annotations

from bicliq import kernels
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.settings import SearchSettings

SECONDS = 10.0
"""What a search may take; then the best so far are shown."""


def best_beyond_chance(
    graph: BipartiteGraph, k: int, search: SearchSettings, *, diverse: bool = True
) -> kernels.FindResult:
    """Return the most surprising groups that are beyond chance, of the sizes that a run has.

    `graph`: the whole table. `k`: how many, at most. `search`: least sizes. `diverse`: whether an
    edge counts for one group alone.

    Examples
    --------
    >>> few = BipartiteGraph.from_edges([0, 0, 1, 1], [0, 1, 0, 1], 2, 2)
    >>> best_beyond_chance(few, 5, SearchSettings()).groups
    []
    """
    least = {name: getattr(search, name) for name in ("min_left", "min_right", "min_edges")}
    csr, beyond = (graph.indptr, graph.indices, graph.n_right), kernels.SurpriseTerms.unit
    return kernels.top_bicliques(
        *csr, k, "surprise", diverse=diverse, threads=0, time_limit=SECONDS, min_value=beyond, **least
    )
