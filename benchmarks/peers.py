"""Published programs on the graphs of the benchmarks, as ``peers.toml`` has them."""

from __future__ import annotations

import itertools
import subprocess
import tempfile
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bicliq.pipeline.graphs.bipartite import BipartiteGraph

ADAMBE = "MBE_ALL"
"""AdaMBE, where it is on the PATH; ``peers.toml`` says how it is built."""


@dataclass(frozen=True)
class Peer:
    """The number of maximal bicliques of a graph, and the seconds of published programs."""

    bicliques: int
    adambe: float | None = None
    mbet: float | None = None
    gmbe_h200: float | None = None
    cumbe_h200: float | None = None


@dataclass(frozen=True)
class CountPeer:
    """What is known of a count: the number, and the milliseconds of published programs."""

    count: int
    bclist: int | None = None
    epivoter: int | None = None
    gbc_h200: int | None = None


@dataclass(frozen=True)
class CliquePeer:
    """A graph's clique number, and the seconds of the best programs on one core and one H200."""

    size: int
    cpu: float | None = None
    h200: float | None = None


@dataclass(frozen=True)
class MaximumPeer:
    """Edges of a maximum biclique of least sizes, and the milliseconds of the best program."""

    min_size: int
    edges: int
    best: int


def adambe_seconds(graph: BipartiteGraph, bicliques: int) -> float:
    """Return the seconds that AdaMBE takes here to count, without reading and putting in order.

    Raises
    ------
    ValueError
        If it finds another number.
    """
    with tempfile.TemporaryDirectory() as folder:
        rows = (graph.indices[first:last] for first, last in itertools.pairwise(graph.indptr))
        (Path(folder) / "graph").write_text("".join(" ".join(map(str, row)) + "\n" for row in rows))
        said = subprocess.run(
            [ADAMBE, "-i", "graph", "-s", "7"], cwd=folder, capture_output=True, text=True, check=True
        )
    _, _, seconds, _, found, *_ = said.stdout.split(", ")
    if int(found) != bicliques:
        raise ValueError(f"AdaMBE finds {found} maximal bicliques where {bicliques} were found")
    return float(seconds)


@cache
def enumeration_peers() -> dict[str, Peer]:
    """Return what is known of each graph whose bicliques are measured."""
    return {name: Peer(**figures) for name, figures in _table("enumeration")["graphs"].items()}


@cache
def count_peers() -> dict[str, dict[tuple[int, int], CountPeer]]:
    """Return what is known of each graph whose counts are measured, by p and q.

    Examples
    --------
    >>> count_peers()["YouTube"][3, 3].count
    146517782
    """
    return {
        name: {(row["p"], row["q"]): CountPeer(**_without(row, "p", "q")) for row in rows}
        for name, rows in _table("count")["graphs"].items()
    }


@cache
def all_sizes_peers() -> dict[str, dict[str, int]]:
    """Return milliseconds for all counts of a graph in one pass, by graph and program."""
    return dict(_table("count")["all_sizes"])


@cache
def maximum_peers() -> dict[str, list[MaximumPeer]]:
    """Return what is known of the maximum bicliques of each graph.

    Examples
    --------
    >>> maximum_peers()["gowalla"][0].edges
    936
    """
    return {name: [MaximumPeer(**row) for row in rows] for name, rows in _table("maximum")["graphs"].items()}


@cache
def clique_peers() -> dict[str, CliquePeer]:
    """Return what is known of each graph whose maximum clique is measured."""
    return {name: _clique_peer(figures) for name, figures in _table("clique")["graphs"].items()}


def _clique_peer(figures: dict[str, Any]) -> CliquePeer:
    on_a_core = [figures[program] for program in ("pmc", "lmc") if program in figures]
    return CliquePeer(figures["size"], min(on_a_core, default=None), figures.get("gpu_h200"))


def _without(record: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


@cache
def _table(name: str) -> dict[str, Any]:
    return dict(tomllib.loads(Path(__file__).with_name("peers.toml").read_text(encoding="utf-8"))[name])
