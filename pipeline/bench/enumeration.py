"""Benchmarks: our seconds on real graphs beside those of the published programs, with the facts of the machine."""

from __future__ import annotations

import os
import platform
import re
import resource
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq

import kernels
from pipeline.errors import InputError
from pipeline.graphs.bipartite import BipartiteGraph

DATA_VARIABLE = "BICLIQ_DATA"
"""Environment variable that names a folder of Parquet graphs (columns u, v), searched with its ``graphs`` folder."""


@dataclass(frozen=True)
class Peer:
    """Published programs on one graph: seconds on one core of the kind of machine in docs/results.md.

    AdaMBE (SC'24) and MBET (ICDE'24) on one core; GMBE+ (SC'23) and cuMBE on one NVIDIA H200. All were built and
    run by this project, not copied from their papers; None where a program did not finish or was not run.
    """

    bicliques: int
    adambe: float | None = None
    mbet: float | None = None
    gmbe_h200: float | None = None
    cumbe_h200: float | None = None


PEERS = {
    "UCforum": Peer(16_261, 0.015, 0.018, 0.008, 0.074),
    "marvel": Peer(206_135, 0.168, 0.52, 0.047, 0.096),
    "MovieLens": Peer(140_266, 0.318, 0.21, 0.034, 0.25),
    "movielens-ui": Peer(2_365_457, 1.52, 4.5, 0.23, 0.67),
    "edit-nawiki": Peer(8_910_828, 5.09, 26, 0.332, 3.472),
    "YouTube": Peer(1_826_587, 1.91, 3.8, 0.30, 1.03),
    "fimi-retail": Peer(2_183_307, 2.86, None, 2.265, 2.540),
    "EuAll": Peer(12_306_755, 14.1, 42, 4.0, 16.1),
    "gowalla": Peer(36_353_156, 85, None, 14.2, None),
    "fimi-chess": Peer(930_851_335),
}


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
        Median seconds of the phases, count mode, reading the file left out. On a GPU the subtrees of all roots are made
        before the search (``lists``), and the last two are times of the device.
    nodes, dropped
        Nodes of the search, and those that were not canonical.
    workspace_mib
        Memory of the workers besides the graph.
    busy
        Busy time of all workers over workers times the longest: 1 is perfect balance.
    peer
        The published programs' figures.
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
    dropped: int
    workspace_mib: float
    busy: float
    peer: Peer | None

    @property
    def seconds(self) -> float:
        """Search with its preparation."""
        return self.prepare + self.lists + self.search

    @property
    def times_adambe(self) -> float | None:
        """How many times as fast as AdaMBE on one core."""
        return self.peer.adambe / self.seconds if self.peer and self.peer.adambe else None

    def record(self) -> dict[str, Any]:
        """Flat record for JSON."""
        peer = {} if self.peer is None else {f"peer_{name}": value for name, value in vars(self.peer).items()}
        own = {name: value for name, value in vars(self).items() if name != "peer"}
        return {**own, "seconds": self.seconds, "times_adambe": self.times_adambe, **peer}


def find_graphs(names: list[str]) -> dict[str, Path]:
    """Find graphs by name or path; with no names, all known ones that are there.

    Raises
    ------
    InputError
        If a named graph is not found.
    """
    folders = [Path(root, sub) for root in _roots() for sub in (".", "graphs")]
    found: dict[str, Path] = {}
    for name in names or list(PEERS):
        candidates = [Path(name), *(folder / f"{name}.parquet" for folder in folders)]
        path = next((path for path in candidates if path.is_file()), None)
        if path is not None:
            found[path.stem] = path
        elif names:
            looked = ", ".join(str(folder) for folder in folders)
            raise InputError(
                f"graph {name!r}: not found in {looked}; name a Parquet file, or set {DATA_VARIABLE} to their folder"
            )
    return found


def _roots() -> list[str]:
    named = os.environ.get(DATA_VARIABLE)
    return [*([named] if named else []), "tests/data"]


def read_graph_file(path: Path) -> BipartiteGraph:
    """Read a Parquet file of dense pairs (its first two columns)."""
    table = pq.read_table(path)
    left, right = (table.column(i).to_numpy() for i in (0, 1))
    return BipartiteGraph.from_edges(left, right, int(left.max(initial=-1)) + 1, int(right.max(initial=-1)) + 1)


def measure(
    graphs: dict[str, Path],
    threads: int = 1,
    runs: int = 5,
    side: Literal["auto", "left", "right"] = "auto",
    backend: str = "cpu",
) -> Iterator[Measurement]:
    """Measure the enumeration of each graph: the median of some runs in count mode, and one digest.

    Graphs that take over ten seconds are run once.

    Raises
    ------
    BackendError
        If the backend cannot run here.
    """
    options: dict[str, Any] = {"side": side, "threads": threads, "backend": backend}
    for name, path in graphs.items():
        graph = read_graph_file(path)
        csr = (graph.indptr, graph.indices, graph.n_right)
        results: list[kernels.EnumerationResult] = []
        while len(results) < runs and (not results or results[0].seconds["search"] < 10):
            results.append(kernels.enumerate_maximal_bicliques(*csr, **options))
        digested = kernels.enumerate_maximal_bicliques(*csr, **options, mode="digest")
        best = results[-1]  # the first run on a GPU compiles
        peer = PEERS.get(name)
        yield Measurement(
            graph=name,
            bicliques=best.bicliques,
            expected=peer.bicliques if peer else None,
            digest=f"{digested.digest:016x}",
            backend=best.backend,
            threads=best.threads,
            prepare=statistics.median(r.seconds["prepare"] for r in results),
            lists=statistics.median(r.seconds.get("lists", 0.0) for r in results),
            search=statistics.median(r.seconds["search"] for r in results),
            nodes=best.nodes,
            dropped=best.dropped,
            workspace_mib=best.workspace_bytes / 2**20,
            busy=best.busy_ratio,
            peer=peer,
        )


def machine_facts(backend: str = "cpu") -> dict[str, str]:
    """Processor, cores, memory, system and library versions; with backend "cuda", the GPU and its driver."""
    model = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": model,
        "cores": str(kernels.available_threads()),
        "memory": f"{memory:.0f} GiB",
        "system": platform.platform(),
        "python": platform.python_version(),
        "peak_memory": f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10:.0f} MiB",
        **(_gpu_facts() if backend == "cuda" else {}),
    }


def _gpu_facts() -> dict[str, str]:
    import cupy

    device = cupy.cuda.Device()
    driver = Path("/proc/driver/nvidia/version")
    version = re.search(r"\b\d+\.\d+(\.\d+)?\b", driver.read_text()) if driver.exists() else None
    return {
        "gpu": cupy.cuda.runtime.getDeviceProperties(device.id)["name"].decode(),
        "gpu_memory": f"{device.mem_info[1] / 2**30:.0f} GiB",
        "driver": version[0] if version else "unknown",
        "cuda": str(cupy.cuda.runtime.driverGetVersion()),
        "cupy": cupy.__version__,
    }
