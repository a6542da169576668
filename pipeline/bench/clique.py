"""Benchmarks of maximum cliques: our seconds on DIMACS graphs beside those of the published programs."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import kernels
from pipeline.bench.enumeration import DATA_VARIABLE, _roots, machine_facts
from pipeline.errors import InputError
from pipeline.graphs.undirected import read_undirected

__all__ = ["find_dimacs", "machine_facts", "measure_cliques"]

BOUNDS = ("colour", "recolour", "refute")


@dataclass(frozen=True)
class CliquePeer:
    """A graph's clique number, and the seconds of the best published program on one core and on one H200."""

    size: int
    cpu: float | None = None
    h200: float | None = None


PEERS = {
    "keller4": CliquePeer(11, 0.016),
    "MANN_a27": CliquePeer(126, None, 0.39),
    "p_hat300-3": CliquePeer(36, 0.29),
    "p_hat700-1": CliquePeer(11),
    "p_hat700-2": CliquePeer(44),
    "p_hat1000-1": CliquePeer(10),
    "p_hat1500-1": CliquePeer(12, 2.3, 0.58),
    "gen200_p0.9_44": CliquePeer(44, 0.17),
    "gen200_p0.9_55": CliquePeer(55),
    "san200_0.9_2": CliquePeer(60),
    "san400_0.7_2": CliquePeer(30),
    "san400_0.9_1": CliquePeer(100, None, 0.68),
    "sanr200_0.9": CliquePeer(42),
    "hamming8-4": CliquePeer(16),
    "c-fat500-5": CliquePeer(64),
    "C125.9": CliquePeer(34),
    "brock400_4": CliquePeer(33, 81),
    "brock400_2": CliquePeer(29, None, 5.2),
    "C250.9": CliquePeer(44, None, 23.3),
    "brock800_4": CliquePeer(26),
    "keller5": CliquePeer(27),
}


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


def find_dimacs(names: list[str]) -> dict[str, Path]:
    """Find DIMACS graphs by name or path; with no names, all known ones that are there.

    Raises
    ------
    InputError
        If a named graph is not found.
    """
    folders = [Path(root, "dimacs") for root in _roots()]
    found: dict[str, Path] = {}
    for name in names or list(PEERS):
        candidates = [Path(name), *(folder / f"{name}.clq{end}" for folder in folders for end in ("", ".zst", ".gz"))]
        path = next((path for path in candidates if path.is_file()), None)
        if path is not None:
            found[path.name.split(".clq")[0]] = path
        elif names:
            looked = ", ".join(str(folder) for folder in folders)
            raise InputError(f"graph {name!r}: not found in {looked}; name a .clq file, or set {DATA_VARIABLE}")
    return found


def measure_cliques(
    graphs: dict[str, Path],
    threads: int = 1,
    runs: int = 5,
    time_limit: float = 60.0,
    backend: str = "cpu",
    devices: int = 1,
    bounds: str = "refute",
) -> Iterator[CliqueMeasurement]:
    """Measure each graph: the median of some runs; graphs that take over two seconds are run once.

    On a GPU a run that is cut off at once comes first: it compiles what the others need. `bounds` is the strongest bound
    in use, as in `kernels.maximum_clique`.

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
        results: list[kernels.CliqueResult] = []
        while len(results) < runs and (not results or sum(results[0].seconds.values()) < 2):
            results.append(kernels.maximum_clique(graph.indptr, graph.indices, time_limit=time_limit, **options))
        first, peer = results[0], PEERS.get(name)
        yield CliqueMeasurement(
            graph=name,
            size=first.size,
            proven=all(result.proven for result in results),
            expected=peer.size if peer else None,
            backend=first.backend,
            threads=first.threads,
            bounds=bounds,
            order=statistics.median(r.seconds["order"] + r.seconds["heuristic"] for r in results),
            search=statistics.median(r.seconds["search"] for r in results),
            seconds=statistics.median(sum(r.seconds.values()) for r in results),
            nodes=first.nodes,
            peer_cpu=peer.cpu if peer else None,
            peer_h200=peer.h200 if peer else None,
        )
