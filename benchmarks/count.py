"""(p,q)-counts of real graphs: our milliseconds beside those of published programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.graphs import find_graphs, read_graph_file
from benchmarks.peers import CountPeer, all_sizes_peers, count_peers
from benchmarks.timing import fastest, repeated
from bicliq import kernels
from bicliq.pipeline.errors import InputError

ALL_SIZES = 12
"""All counts up to this p and q are measured, too."""


@dataclass(frozen=True)
class CountMeasurement:
    """One count, measured; times in milliseconds.

    Parameters
    ----------
    name
        Graph and size.
    count, expected
        What was counted, and what is known.
    method, side, backend, threads
        How it was counted.
    prepare, estimate, search
        Parts of the best run.
    total
        The best run, from arrays to the number.
    peer
        The published programs' figures.
    """

    name: str
    count: int
    expected: int | None
    method: str
    side: str | None
    backend: str
    threads: int
    prepare: float
    estimate: float
    search: float
    total: float
    peer: CountPeer | None

    def record(self) -> dict[str, Any]:
        """Flat record for JSON."""
        own = {name: value for name, value in vars(self).items() if name != "peer"}
        peers = {f"peer_{name}": getattr(self.peer, name, None) for name in ("bclist", "epivoter", "gbc_h200")}
        return {**own, **peers}


def measure_counts(
    names: list[str], threads: int = 1, runs: int = 3, backend: str = "cpu"
) -> Iterator[CountMeasurement]:
    """Measure the known counts of each graph, and all sizes in one pass: the best of some runs.

    Butterflies are counted for each vertex and edge, too.

    Raises
    ------
    InputError
        If a graph is not found, or no counts of it are known.
    """
    unknown = [name for name in names if name not in count_peers()]
    if unknown:
        raise InputError(f"graph {unknown[0]!r}: no counts of it are known; name some of: {', '.join(count_peers())}")
    how: dict[str, Any] = {"threads": threads, "backend": backend}
    found = find_graphs(names)
    for name, path in found.items():
        if name not in count_peers():
            continue
        graph = read_graph_file(path)
        csr = (graph.indptr, graph.indices, graph.n_right)
        for (p, q), peer in count_peers()[name].items():
            best = fastest(repeated(partial(kernels.count_bicliques, *csr, p, q, **how), runs))
            one = best.result
            yield _measured(f"{name} ({p},{q})", one.count, peer.count, one.method, one, best.seconds, peer)
        if (butterflies := count_peers()[name].get((2, 2))) is not None:
            parts = partial(kernels.count_bicliques, *csr, 2, 2, per_vertex=True, **how)
            best = fastest(repeated(parts, runs))
            of_each, title = best.result, f"{name} (2,2) of each vertex and edge"
            count = 0 if of_each.edge_counts is None else int(of_each.edge_counts.sum()) // 4
            yield _measured(title, count, butterflies.count, of_each.method, of_each, best.seconds, None)
        every = fastest(repeated(partial(kernels.count_all_bicliques, *csr, ALL_SIZES, ALL_SIZES, **how), runs))
        size, known = next(iter(count_peers()[name].items()))
        whole = CountPeer(known.count, **all_sizes_peers().get(name, {}))
        title, table = f"{name} all up to ({ALL_SIZES},{ALL_SIZES})", every.result
        yield _measured(title, table.counts[size], known.count, "pivot", table, every.seconds, whole)


def _measured(
    name: str, count: int, expected: int, method: str, result: Any, seconds: float, peer: CountPeer | None
) -> CountMeasurement:
    parts = {part: 1e3 * result.seconds.get(part, 0.0) for part in ("prepare", "estimate", "search")}
    parts["search"] += 1e3 * result.seconds.get("roots", 0.0)  # a part of their own on a GPU
    return CountMeasurement(
        name=name, count=count, expected=expected, method=method, side=result.side, backend=result.backend,
        threads=result.threads, total=1e3 * seconds, peer=peer, **parts,
    )  # fmt: skip
