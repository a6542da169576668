"""How honest an estimate of a search is: known and random graphs, each with many seeds."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.choice import SHAPES, random_graph
from benchmarks.graphs import read_graph_file
from benchmarks.peers import enumeration_peers
from bicliq import kernels
from bicliq.kernels.estimate import SHARE, WORK

__all__ = ["SHARE", "WORK", "MeasuredEstimate", "measure_estimates"]

MOST_BICLIQUES = 10_000_000
"""A random graph with more of them has no truth to compare with, and is left out."""


@dataclass(frozen=True)
class MeasuredEstimate:
    """Estimates of one graph, and the truth.

    Parameters
    ----------
    graph
        Name, or shape and seed.
    bicliques
        The truth.
    seeds, held
        Estimates, and those among them whose interval holds the truth.
    exact
        Estimates that searched everything.
    error
        The mean of how far an estimate is off: the absolute value of the logarithm of its ratio to
        the truth.
    width
        The mean logarithm of the upper over the lower end of the interval.
    seconds
        Of an estimate, on average.
    search
        Seconds of the full search; None where it is known from elsewhere.
    """

    graph: str
    bicliques: int
    seeds: int
    held: int
    exact: int
    error: float
    width: float
    seconds: float
    search: float | None

    def record(self) -> dict[str, Any]:
        """Flat record for JSON."""
        return asdict(self)


def measure_estimates(
    graphs: dict[str, Path], random_seeds: Sequence[int], seeds: int, work: int, share: float, threads: int
) -> Iterator[MeasuredEstimate]:
    """Estimate graphs whose number of maximal bicliques is known or can be counted.

    Parameters
    ----------
    graphs
        Parquet files by name; what they hold is known, or counted first.
    random_seeds
        Of one random graph of each shape each.
    seeds
        Estimates of each graph.
    work, share
        What an estimate may take, as of `kernels.estimate_bicliques`.
    threads
        Of the estimates and the counts.
    """
    known = enumeration_peers()
    options = {"work": work, "share": share, "threads": threads}
    for name, path in graphs.items():
        graph = read_graph_file(path)
        truth = known[name].bicliques if name in known else None
        yield from _measured(name, (graph.indptr, graph.indices, graph.n_right), truth, seeds, options)
    for seed in random_seeds:
        for shape in SHAPES:
            yield from _measured(f"{shape} {seed}", random_graph(shape, seed), None, seeds, options)


def _measured(
    name: str, csr: tuple[Any, Any, int], truth: int | None, seeds: int, options: dict[str, Any]
) -> Iterator[MeasuredEstimate]:
    search = None
    if truth is None:
        count = partial(kernels.enumerate_maximal_bicliques, threads=options["threads"])
        counted = count(*csr, max_bicliques=MOST_BICLIQUES)
        if not counted.complete:
            return
        truth, search = counted.bicliques, sum(counted.seconds.values())
    started = time.perf_counter()
    found = [kernels.estimate_bicliques(*csr, seed=seed, **options) for seed in range(seeds)]
    seconds = (time.perf_counter() - started) / seeds
    yield MeasuredEstimate(
        name,
        truth,
        seeds,
        held=sum(one.low <= truth <= one.high for one in found),
        exact=sum(one.exact for one in found),
        error=sum(abs(math.log((one.bicliques + 1) / (truth + 1))) for one in found) / seeds,
        width=sum(math.log((one.high + 1) / (one.low + 1)) for one in found) / seeds,
        seconds=seconds,
        search=search,
    )
