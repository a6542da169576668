"""Ablation of the search on a GPU: layouts that differ from the shipped one in one thing."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.graphs import read_graph_file
from benchmarks.timing import median, repeated
from bicliq import kernels
from bicliq.kernels.cuda.device import current_device
from bicliq.kernels.cuda.search_program import Tuning, compiled_search, tuned

LAYOUTS = {
    "as shipped": Tuning(),
    "2 blocks a multiprocessor": Tuning(blocks_a_multiprocessor=2),
    "3 blocks (168 registers)": Tuning(blocks_a_multiprocessor=3),
    "5 blocks (96 registers)": Tuning(blocks_a_multiprocessor=5),
    "6 blocks (80 registers)": Tuning(blocks_a_multiprocessor=6),
    "8 blocks (64 registers)": Tuning(blocks_a_multiprocessor=8),
    "blocks of 1 warp, 16 of them": Tuning(warps_a_block=1, blocks_a_multiprocessor=16),
    "tall nodes (more code)": Tuning(tall_nodes=True),
    "nothing is given away": Tuning(most_given=0),
    "one subtree is given at a time": Tuning(most_given=1),
    "all of a level is given, once": Tuning(most_given=1, shares=1),
    "half of a level is given": Tuning(shares=2),
    "a fourth of a level is given": Tuning(shares=4),
    "a look every 8 nodes": Tuning(nodes_a_poll=8),
    "a look every 128 nodes": Tuning(nodes_a_poll=128),
    "a task a candidate": Tuning(task_words=1),
    "tasks of 8,192 words": Tuning(task_words=1 << 13),
    "tasks of 32 candidates": Tuning(task_words=1 << 40),
}


@dataclass(frozen=True)
class LayoutMeasurement:
    """One graph searched with one layout.

    Parameters
    ----------
    layout, graph
        Name of the layout, and of the graph.
    milliseconds
        Lists and search, device time: the median of some runs after a first one.
    busy
        Busy time of all warps over warps times the longest.
    bicliques
        What was counted.
    """

    layout: str
    graph: str
    milliseconds: float
    busy: float
    bicliques: int


def measure_layouts(graphs: dict[str, Path], layouts: dict[str, Tuning], runs: int = 3) -> Iterator[LayoutMeasurement]:
    """Count the maximal bicliques of each graph with each layout; all are compiled first.

    Raises
    ------
    BackendError
        If there is no GPU, or a kernel does not compile for it.
    """
    if reason := kernels.why_not("cuda"):
        raise kernels.BackendError(f"layouts are compared on a GPU, and here is none: {reason}")
    device = current_device()
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda tuning: compiled_search("search_count", tuning, device), set(layouts.values())))
    loaded = {name: read_graph_file(path) for name, path in graphs.items()}
    for layout, tuning in layouts.items():
        for name, graph in loaded.items():
            with tuned(tuning):
                csr = (graph.indptr, graph.indices, graph.n_right)
                search = partial(kernels.enumerate_maximal_bicliques, *csr, backend="cuda")
                timed = repeated(search, runs, unseen=1)
            seconds = median(timed, lambda result: result.seconds["lists"] + result.seconds["search"])
            last = timed[-1].result
            yield LayoutMeasurement(layout, name, 1000 * seconds, last.busy_ratio, last.bicliques)
