"""Maximum cliques of projected tables, with the data on the CPU and on the GPU, by stage."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from benchmarks.cores import core_numbers, cores_of_numbers
from benchmarks.timing import repeated
from bicliq import kernels
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.graphs.cores import Cores, cores_by_halving
from bicliq.pipeline.graphs.undirected import UndirectedGraph, project
from bicliq.pipeline.placement.arrays import library_of
from bicliq.pipeline.placement.device import why_no_data_on_device
from bicliq.pipeline.questions.clique import CliqueQuestion, find_clique
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.in_memory import read_sides

DATA_BACKENDS = ("cpu", "cuda")
STAGES = ("read", "project", "cores", "first", "narrow", "search")

WAYS_TO_CORES: dict[str, Callable[[UndirectedGraph], Cores]] = {
    "by cuGraph": lambda graph: cores_of_numbers(core_numbers(graph)),
    "by halving": cores_by_halving,
}
"""Both ways to the cores that a search asks for; it takes the second."""


@dataclass(frozen=True)
class ProjectedClique:
    """One way from a bipartite table to a maximum clique of its projection.

    Parameters
    ----------
    graph, side, min_shared
        What was projected.
    data_backend, backend
        Where it was read and projected, and where it was searched; None: it was not.
    seconds
        Of each of `STAGES` that this way has, and ``total``, of the fastest run. With the data on
        the CPU, cores and first clique are parts of the search; ``search`` is all else after the
        projection, its checks included. With the data on the GPU there are also `WAYS_TO_CORES`, no
        part of the total: what each takes for the same cores.
    reason
        Why this way cannot be gone here; None where it was.
    """

    graph: str
    side: str
    min_shared: int
    data_backend: str
    backend: str | None = None
    n_vertices: int = 0
    n_edges: int = 0
    degeneracy: int = 0
    size: int = 0
    proven: bool = False
    seconds: dict[str, float] | None = None
    reason: str | None = None

    def record(self) -> dict[str, Any]:
        """Flat record for JSON."""
        return asdict(self)


def measure_projected(
    graphs: dict[str, Path],
    side: Literal["left", "right"],
    min_shared: Sequence[int],
    *,
    threads: int = 0,
    runs: int = 3,
    backend: str = "cpu",
    time_limit: float | None = None,
) -> Iterator[ProjectedClique]:
    """Take each table to a maximum clique in both ways, and keep the fastest of some runs.

    Parameters
    ----------
    graphs
        Edge tables by name (`find_graphs`).
    side, min_shared
        Side to project, and the numbers of common neighbours that make an edge: a row each.
    threads, backend, time_limit
        Of the search; the threads are those of a projection on the CPU as well.
    runs
        Runs of each way; the first one on a GPU in a process loads libraries and compiles.
    """
    for name, path in graphs.items():
        for least in min_shared:
            question = CliqueQuestion(side, least, time_limit=time_limit)
            for data_backend in DATA_BACKENDS:
                reason = (why_no_data_on_device() if data_backend == "cuda" else None) or kernels.why_not(
                    "cpu" if backend == "auto" else backend
                )
                if reason is not None:
                    yield ProjectedClique(name, side, least, data_backend, reason=reason)
                    continue
                timed = repeated(partial(_measured, name, path, question, data_backend, backend, threads), runs)
                yield min((run.result for run in timed), key=lambda one: (one.seconds or {})["total"])


def _measured(
    name: str, path: Path, question: CliqueQuestion, data_backend: str, backend: str, threads: int
) -> ProjectedClique:
    side = question.project or "left"
    clock = [time.perf_counter()]
    bipartite, ids, _ = read_sides(str(path), side, IngestSettings(), backend=data_backend)
    clock.append(_now(bipartite))
    graph = project(bipartite, ids, side, question.min_shared, threads)
    clock.append(_now(graph))
    record = find_clique(graph, question, threads=threads, backend=backend)
    clock.append(time.perf_counter())
    read, projected, found = (after - before for before, after in itertools.pairwise(clock))
    seconds = {"read": read, "project": projected, **_stages(record["seconds"], found), "total": clock[-1] - clock[0]}
    if "cores" in record["seconds"]:
        seconds |= {way: _seconds_of(find, graph, record["size"]) for way, find in WAYS_TO_CORES.items()}
    shown = {key: record[key] for key in ("backend", "n_vertices", "n_edges", "degeneracy", "size", "proven")}
    return ProjectedClique(name, side, question.min_shared, data_backend, **shown, seconds=seconds)


def _stages(record: dict[str, float], found: float) -> dict[str, float]:
    """Seconds of a search by stages, which `search_by_cores` and the kernel name differently."""
    if "cores" in record:
        stages = {name: record[name] for name in STAGES if name in record and name != "search"}
    else:
        stages = {"cores": record.get("order", 0.0), "first": record.get("heuristic", 0.0)}
    return {**stages, "search": found - sum(stages.values())}


def _seconds_of(find: Callable[[UndirectedGraph], Cores], graph: UndirectedGraph, size: int) -> float:
    """Seconds for the densest core, and for the one in which a larger clique would lie."""
    started = time.perf_counter()
    cores = find(graph)
    int(cores.at_least(cores.degeneracy).sum() + cores.at_least(size).sum())
    return time.perf_counter() - started


def _now(graph: BipartiteGraph | UndirectedGraph) -> float:
    """The time when all that was asked of a graph's device is done."""
    xp = library_of(graph.indices)
    if xp.__name__ == "cupy":
        xp.cuda.Device().synchronize()
    return time.perf_counter()
