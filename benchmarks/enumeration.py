"""Maximal bicliques of real graphs: our seconds beside those of published programs."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from benchmarks.graphs import read_graph_file
from benchmarks.peers import ADAMBE, Peer, adambe_seconds, enumeration_peers
from benchmarks.timing import median, repeated
from bicliq import kernels

SLOW_SECONDS = 10.0
"""A graph that takes longer is run once."""


@dataclass(frozen=True)
class Measurement:
    """One graph, measured.

    Parameters
    ----------
    graph
        Its name.
    bicliques, expected
        What was counted, and the published count where there is one.
    digest
        Set digest, 16 hex digits.
    backend, threads
        What it ran on.
    prepare, lists, search
        Median seconds of the phases, count mode, reading the file left out. On a GPU the subtrees
        of all roots are made before the search (``lists``), and the last two are times of the
        device.
    nodes, not_canonical
        Nodes of the search, and those that were not canonical.
    workspace_mib
        Memory of the workers besides the graph.
    busy
        Busy time of all workers over workers times the longest: 1 is perfect balance.
    peer
        The published programs' figures, as they were recorded.
    adambe_here
        Median seconds of AdaMBE on this machine, on one core, where it is on the PATH.
    """

    graph: str
    bicliques: int
    expected: int | None
    digest: str
    backend: str
    threads: int
    prepare: float
    lists: float
    search: float
    nodes: int
    not_canonical: int
    workspace_mib: float
    busy: float
    peer: Peer | None
    adambe_here: float | None

    @property
    def seconds(self) -> float:
        """Search with its preparation."""
        return self.prepare + self.lists + self.search

    @property
    def times_adambe(self) -> float | None:
        """How many times as fast as AdaMBE on one core of this machine."""
        return self.adambe_here / self.seconds if self.adambe_here else None

    def record(self) -> dict[str, Any]:
        """Flat record for JSON."""
        peer = {} if self.peer is None else {f"peer_{name}": value for name, value in vars(self.peer).items()}
        own = {name: value for name, value in vars(self).items() if name != "peer"}
        return {**own, "seconds": self.seconds, "times_adambe": self.times_adambe, **peer}


def measure(
    graphs: dict[str, Path],
    threads: int = 1,
    runs: int = 5,
    side: Literal["auto", "left", "right"] = "auto",
    backend: str = "cpu",
) -> Iterator[Measurement]:
    """Measure the enumeration of each graph: the median of some runs in count mode, and one digest.

    Graphs that take longer than `SLOW_SECONDS` are run once.

    Raises
    ------
    BackendError
        If the backend cannot run here.
    """
    options: dict[str, Any] = {"side": side, "threads": threads, "backend": backend}
    for name, path in graphs.items():
        graph = read_graph_file(path)
        csr = (graph.indptr, graph.indices, graph.n_right)
        timed = repeated(partial(kernels.enumerate_maximal_bicliques, *csr, **options), runs, slow=SLOW_SECONDS)
        digested = kernels.enumerate_maximal_bicliques(*csr, **options, mode="digest")
        best = timed[-1].result  # the first run on a GPU compiles
        peer = enumeration_peers().get(name)
        others = (
            repeated(partial(adambe_seconds, graph, best.bicliques), runs, slow=SLOW_SECONDS)
            if shutil.which(ADAMBE)
            else []
        )
        yield Measurement(
            graph=name,
            bicliques=best.bicliques,
            expected=peer.bicliques if peer else None,
            digest=f"{digested.digest:016x}",
            backend=best.backend,
            threads=best.threads,
            prepare=median(timed, lambda result: result.seconds["prepare"]),
            lists=median(timed, lambda result: result.seconds.get("lists", 0.0)),
            search=median(timed, lambda result: result.seconds["search"]),
            nodes=best.nodes,
            not_canonical=best.not_canonical,
            workspace_mib=best.workspace_bytes / 2**20,
            busy=best.busy_ratio,
            peer=peer,
            adambe_here=median(others, float) if others else None,
        )
