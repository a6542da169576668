"""Two-hop neighbourhoods on a GPU by cuDF and by cuGraph, to be compared with the profile's.

Both return what `pipeline.graphs.paths.two_hop_sizes` returns, and are slower
(docs/results.md).
"""

from __future__ import annotations

from typing import Any

from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.graphs.paths import path_batches
from bicliq.pipeline.placement.arrays import repeat
from bicliq.pipeline.placement.device import cudf_and_cupy
from bicliq.pipeline.stages.device_profile import cugraph_of


def two_hop_by_merge(graph: BipartiteGraph, starts: Any, pairs: int) -> Any:
    """Return what `two_hop_sizes` returns, by cuDF: the edges merged with themselves."""
    cudf, cp = cudf_and_cupy()
    edges = cudf.DataFrame({"end": graph.edge_left, "middle": graph.indices})
    sizes = cp.zeros(starts.size, cp.int64)
    for batch in path_batches(graph, starts, pairs):
        lengths, middle = graph.rows_of(starts[batch])
        owner = repeat(cp.arange(lengths.size, dtype=cp.int32), lengths)
        reached = cudf.DataFrame({"start": owner, "middle": middle}).merge(edges, on="middle")[["start", "end"]]
        found = reached.drop_duplicates()["start"].values
        sizes[batch] = cp.bincount(found, minlength=lengths.size) - (lengths > 0)
    return sizes


def two_hop_by_cugraph(graph: BipartiteGraph, starts: Any, pairs: int) -> Any:
    """Return what `two_hop_sizes` returns, by cuGraph's `get_two_hop_neighbors`."""
    import cugraph

    cudf, cp = cudf_and_cupy()
    whole = cugraph_of(cudf, cugraph, graph)
    sizes = cp.zeros(starts.size, cp.int64)
    place = cp.zeros(graph.n_left, cp.int32)
    for batch in path_batches(graph, starts, pairs):
        place[starts[batch]] = cp.arange(batch.start, batch.stop, dtype=cp.int32)
        found = whole.get_two_hop_neighbors(start_vertices=cudf.Series(starts[batch].astype(cp.int32)))
        one, other = found["first"].values, found["second"].values
        counted = place[one[one != other]] - batch.start
        sizes[batch] = cp.bincount(counted, minlength=batch.stop - batch.start)
    return sizes
