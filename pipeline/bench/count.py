"""Benchmarks of (p,q)-counts: our milliseconds on real graphs beside those of the published programs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import kernels
from pipeline.bench.enumeration import find_graphs, read_graph_file
from pipeline.errors import InputError


@dataclass(frozen=True)
class CountPeer:
    """A count and the milliseconds of published programs, built and run by this project; None where one was not or did not end.

    BCList++ (VLDB J. 2021) and EPivoter (SIGMOD 2023) on one core, both of which count in floating point; GBC (2024) on an
    NVIDIA H200, whose counts were wrong and differed from run to run.
    """

    count: int
    bclist: int | None = None
    epivoter: int | None = None
    gbc_h200: int | None = None


COUNT_PEERS: dict[str, dict[tuple[int, int], CountPeer]] = {
    "marvel": {
        (5, 5): CountPeer(17_564_422_616, 1_920, 3_030),
        (8, 8): CountPeer(4_316_588_655, 15_700, 3_440, 1_930),
    },
    "movielens-ui": {
        (5, 5): CountPeer(1_943_851_098, 3_120, 8_670),
        (8, 8): CountPeer(179_356_013, 1_970, 9_270),
    },
    "YouTube": {
        (3, 3): CountPeer(146_517_782, 1_380, 7_270, 28),
        (4, 4): CountPeer(626_892_852, 4_420, 7_550, 74),
        (5, 5): CountPeer(1_260_503_264, 11_100, 7_690),
        (8, 8): CountPeer(205_411_586, 21_200, 8_000, 990),
    },
    "EuAll": {
        (4, 4): CountPeer(1_928_149_589, 56_600, None, 1_590),
        (8, 8): CountPeer(29_815_436_729, None, None, 19_550),
    },
    "gowalla": {
        (4, 4): CountPeer(12_893_738_932),
        (8, 8): CountPeer(104_712_248_320_789),
    },
}
EPIVOTER_ALL_MS = {"YouTube": 23_000}
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

    Raises
    ------
    InputError
        If a graph is not found, or no counts of it are known.
    """
    unknown = [name for name in names if name not in COUNT_PEERS]
    if unknown:
        raise InputError(f"graph {unknown[0]!r}: no counts of it are known; name some of: {', '.join(COUNT_PEERS)}")
    how: dict[str, Any] = {"threads": threads, "backend": backend}
    found = find_graphs(names)
    for name, path in found.items():
        if name not in COUNT_PEERS:
            continue
        graph = read_graph_file(path)
        csr = (graph.indptr, graph.indices, graph.n_right)
        for (p, q), peer in COUNT_PEERS[name].items():
            seconds, result = _best(runs, partial(kernels.count_bicliques, *csr, p, q, **how))
            yield _measured(f"{name} ({p},{q})", result.count, peer.count, result.method, result, seconds, peer)
        seconds, table = _best(runs, partial(kernels.count_all_bicliques, *csr, ALL_SIZES, ALL_SIZES, **how))
        size, known = next(iter(COUNT_PEERS[name].items()))
        whole = CountPeer(known.count, epivoter=EPIVOTER_ALL_MS.get(name))
        title = f"{name} all up to ({ALL_SIZES},{ALL_SIZES})"
        yield _measured(title, table.counts[size], known.count, "pivot", table, seconds, whole)


def _best(runs: int, count: Any) -> tuple[float, Any]:
    best: tuple[float, Any] | None = None
    for _ in range(runs):
        started = time.perf_counter()
        result = count()
        seconds = time.perf_counter() - started
        if best is None or seconds < best[0]:
            best = (seconds, result)
    assert best is not None
    return best


def _measured(
    name: str, count: int, expected: int, method: str, result: Any, seconds: float, peer: CountPeer
) -> CountMeasurement:
    parts = {part: 1e3 * result.seconds.get(part, 0.0) for part in ("prepare", "estimate", "search")}
    parts["search"] += 1e3 * result.seconds.get("roots", 0.0)  # a part of their own on a GPU
    return CountMeasurement(
        name=name, count=count, expected=expected, method=method, side=result.side, backend=result.backend,
        threads=result.threads, total=1e3 * seconds, peer=peer, **parts,
    )  # fmt: skip
