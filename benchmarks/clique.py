"""Maximum cliques of DIMACS graphs: our seconds beside those of published programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.peers import clique_peers
from benchmarks.timing import median, repeated
from bicliq import kernels
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.stages.in_memory import read_undirected

SLOW_SECONDS = 2.0
"""A graph that takes longer is run once."""

BOUNDS = ("colour", "recolour", "refute")


@dataclass(frozen=True)
class CliqueMeasurement:
    """One graph, measured: medians of some runs, reading the file left out."""

    graph: str
    size: int
    proven: bool
    expected: int | None
    backend: str
    threads: int
    bounds: str
    order: float
    search: float
    seconds: float
    nodes: int
    peer_cpu: float | None
    peer_h200: float | None

    def record(self) -> dict[str, Any]:
        """Flat record for JSON."""
        return asdict(self)


def measure_cliques(
    graphs: dict[str, Path],
    threads: int = 1,
    runs: int = 5,
    time_limit: float = 60.0,
    backend: str = "cpu",
    devices: int = 1,
    bounds: str = "refute",
) -> Iterator[CliqueMeasurement]:
    """Measure each graph: the median of some runs, or one run where it takes `SLOW_SECONDS`.

    On a GPU a run that is cut off at once comes first: it compiles what the others need. `bounds`
    is the strongest bound in use, as in `kernels.maximum_clique`.

    Raises
    ------
    InputError
        If there are no such bounds.
    """
    if bounds not in BOUNDS:
        raise InputError(f"bounds is {bounds!r}; it must be {', '.join(BOUNDS[:-1])} or {BOUNDS[-1]}")
    for name, path in graphs.items():
        graph = read_undirected(str(path))
        options: dict[str, Any] = {"threads": threads, "backend": backend, "devices": devices, "bounds": bounds}
        if backend == "cuda":
            kernels.maximum_clique(graph.indptr, graph.indices, time_limit=0.001, **options)
        search = partial(kernels.maximum_clique, graph.indptr, graph.indices, time_limit=time_limit, **options)
        timed = repeated(search, runs, slow=SLOW_SECONDS)
        first, peer = timed[0].result, clique_peers().get(name)
        yield CliqueMeasurement(
            graph=name,
            size=first.size,
            proven=all(run.result.proven for run in timed),
            expected=peer.size if peer else None,
            backend=first.backend,
            threads=first.threads,
            bounds=bounds,
            order=median(timed, lambda result: result.seconds["order"] + result.seconds["heuristic"]),
            search=median(timed, lambda result: result.seconds["search"]),
            seconds=median(timed, lambda result: sum(result.seconds.values())),
            nodes=first.nodes,
            peer_cpu=peer.cpu if peer else None,
            peer_h200=peer.h200 if peer else None,
        )
