"""The best bicliques of real graphs, in milliseconds, beside the best published program."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.graphs import read_graph_file
from benchmarks.peers import maximum_peers
from benchmarks.timing import fastest, repeated
from bicliq import kernels
from bicliq.pipeline.graphs.bipartite import BipartiteGraph

SEED, HEAVIEST = 1, 100
"""Weights are drawn from 1 to so much, alike."""


@dataclass(frozen=True)
class Question:
    """What is asked of a graph.

    Parameters
    ----------
    k
        How many of the best.
    by
        An objective; *weight* is by weights of vertices, *edge weight* by those of edges.
    min_size
        Of both sides.
    edges, published
        Of the best one, and the milliseconds of the best published program; None where nothing was
        published.
    """

    k: int
    by: str
    min_size: int = 1
    edges: int | None = None
    published: int | None = None


@dataclass(frozen=True)
class FindMeasured:
    """One question, measured.

    Parameters
    ----------
    graph, k, by, min_size, edges, published
        What was asked, and what is known (`Question`).
    left, right, value
        Sizes and worth of the best one.
    roots, nodes
        That were opened and searched.
    milliseconds, median
        The fastest call and the median, by the clock: the graph lies in memory, all else is in it.
    prepare
        Milliseconds of the fastest call before its search.
    runs, alike
        How many there were, and whether all gave the same answers.
    backend, threads
        What it ran on.
    """

    graph: str
    k: int
    by: str
    min_size: int
    edges: int | None
    published: int | None
    left: int
    right: int
    value: float
    roots: int
    nodes: int
    milliseconds: float
    median: float
    prepare: float
    runs: int
    alike: bool
    backend: str
    threads: int

    @property
    def exact(self) -> bool:
        """Say whether all answers are alike, and the best one as large as is known."""
        return self.alike and self.edges in (None, self.left * self.right)

    def record(self) -> dict[str, Any]:
        """Flat record for JSON."""
        return {**asdict(self), "exact": self.exact}


def measure_finds(
    graphs: dict[str, Path], top: int, runs: int, threads: int = 1, backend: str = "cpu"
) -> Iterator[FindMeasured]:
    """Measure the maximum bicliques that others have published, then the best few by everything.

    Parameters
    ----------
    graphs
        Parquet files by name.
    top
        How many of the best, by each objective, sides of any size.
    runs
        Of each question, after one that does not count.
    threads, backend
        What the searches run on. A GPU is not asked what it cannot find.

    Raises
    ------
    BackendError
        If the backend cannot run here.
    """
    for name, path in graphs.items():
        graph = read_graph_file(path)
        for asked in [*_published(name), *(Question(top, by) for by in _weights(graph))]:
            if backend == "cuda" and kernels.gpu_cannot_find(asked.k, edge_weights=asked.by == "edge weight"):
                continue
            yield _measured(name, graph, asked, runs, {"threads": threads, "backend": backend})


def _published(name: str) -> list[Question]:
    return [Question(1, "edges", peer.min_size, peer.edges, peer.best) for peer in maximum_peers().get(name, [])]


def _weights(graph: BipartiteGraph) -> dict[str, dict[str, Any]]:
    """Return what the kernels are given besides the graph, by objective."""
    draw = np.random.default_rng(SEED)

    def weights(n: int) -> Any:
        return draw.integers(1, HEAVIEST, n, endpoint=True).astype(np.float64)

    of_vertices = {"left_weights": weights(graph.n_left), "right_weights": weights(graph.n_right)}
    of_edges = {"edge_weights": weights(graph.n_edges)}
    without: dict[str, dict[str, Any]] = {by: {} for by in ("edges", "vertices", "balanced", "surprise")}
    return {**without, "weight": of_vertices, "edge weight": of_edges}


def _measured(name: str, graph: BipartiteGraph, asked: Question, runs: int, options: dict[str, Any]) -> FindMeasured:
    objective: Any = "weight" if asked.by == "edge weight" else asked.by
    find = partial(
        kernels.top_bicliques, graph.indptr, graph.indices, graph.n_right, asked.k, objective,
        min_left=asked.min_size, min_right=asked.min_size, **_weights(graph)[asked.by], **options,
    )  # fmt: skip
    timed = repeated(find, runs, unseen=1)
    best = fastest(timed)
    first = best.result.groups[0] if best.result.groups else None
    return FindMeasured(
        graph=name,
        **asdict(asked),
        left=0 if first is None else len(first.left),
        right=0 if first is None else len(first.right),
        value=0.0 if first is None else first.value,
        roots=best.result.roots,
        nodes=best.result.nodes,
        milliseconds=1e3 * best.seconds,
        median=1e3 * statistics.median(run.seconds for run in timed),
        prepare=1e3 * best.result.seconds["prepare"],
        runs=runs,
        alike=len({_members(run.result) for run in timed}) == 1,
        backend=best.result.backend,
        threads=best.result.threads,
    )


def _members(found: kernels.FindResult) -> tuple[tuple[float, bytes, bytes], ...]:
    return tuple((group.value, group.left.tobytes(), group.right.tobytes()) for group in found.groups)
