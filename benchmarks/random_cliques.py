"""Maximum cliques of random graphs: seconds and speed-up by size and density, and a picture."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.timing import repeated
from bicliq import kernels
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.graphs.undirected import UndirectedGraph
from bicliq.pipeline.picture import picture

__all__ = ["RandomCell", "draw_cells", "measure_random", "random_graph"]

SIZES = (200, 350, 500, 1000, 2000)
DENSITIES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
REPEATED_BELOW = 0.5  # seconds; such a search is run three times, and the median taken


@dataclass(frozen=True)
class RandomCell:
    """One random graph, searched by one thread, by several, and by GPUs.

    Seconds are None where that was not asked for, or not done in time.
    """

    n: int
    density: float
    seed: int
    size: int
    threads: int
    one: float | None
    several: float | None
    device: float | None = None

    @property
    def times(self) -> float | None:
        """How many times as fast several threads are as one."""
        return _ratio(self.one, self.several)

    @property
    def device_times(self) -> float | None:
        """How many times as fast the GPUs are as one thread."""
        return _ratio(self.one, self.device)

    def record(self) -> dict[str, Any]:
        """Flat record for JSON."""
        return {**asdict(self), "times": self.times, "device_times": self.device_times}


def _ratio(slow: float | None, fast: float | None) -> float | None:
    return None if slow is None or fast is None else slow / fast


def random_graph(n: int, density: float, seed: int = 1) -> UndirectedGraph:
    """Draw a graph in which every pair of vertices is an edge with the same probability.

    Parameters
    ----------
    n
        Vertices.
    density
        Probability of an edge, from 0 to 1.
    seed
        Of numpy's default generator: the same graph on every machine.

    Raises
    ------
    InputError
        Where a number is out of range.

    Examples
    --------
    >>> random_graph(100, 0.5).n_edges == random_graph(100, 0.5).n_edges
    True
    """
    if n < 1:
        raise InputError(f"size is {n}; a graph needs at least 1 vertex")
    if not 0 <= density <= 1:
        raise InputError(f"density is {density}; it must be from 0 to 1")
    u, v = np.nonzero(np.triu(np.random.default_rng(seed).random((n, n)) < density, 1))
    return UndirectedGraph.from_edges(u, v, pa.array(np.arange(n)))


def measure_random(
    sizes: Sequence[int] = SIZES,
    densities: Sequence[float] = DENSITIES,
    threads: int = 2,
    time_limit: float = 5.0,
    seed: int = 1,
    backend: str = "cpu",
    devices: int = 1,
) -> Iterator[RandomCell]:
    """Measure a grid of random graphs.

    Parameters
    ----------
    sizes, densities, seed
        The graphs. At each size the densities are gone through from the thinnest; beyond the first
        that neither several threads nor the GPUs finish none is tried.
    threads
        How many "several" threads are.
    time_limit
        Seconds for each search.
    backend, devices
        ``"cuda"`` searches each graph on so many GPUs as well; the first search of a graph compiles
        and is left out.

    Raises
    ------
    BackendError
        Where there is no such GPU.
    """
    for n in sizes:
        for density in sorted(densities):
            graph = random_graph(n, density, seed)
            size, one = _seconds(graph, 1, time_limit)
            larger, several = _seconds(graph, threads, time_limit)
            device = None
            if backend == "cuda":
                _seconds(graph, 1, 0.001, backend, devices)
                largest, device = _seconds(graph, 1, time_limit, backend, devices)
                larger = max(larger, largest)
            yield RandomCell(n, density, seed, max(size, larger), threads, one, several, device)
            if several is None and device is None:
                break


def _seconds(
    graph: UndirectedGraph, threads: int, time_limit: float, backend: str = "cpu", devices: int = 1
) -> tuple[int, float | None]:
    """The best clique's size, and the seconds of the whole call; None where it was cut off."""
    options: dict[str, Any] = {"threads": threads, "time_limit": time_limit, "backend": backend, "devices": devices}
    search = partial(kernels.maximum_clique, graph.indptr, graph.indices, **options)
    timed = repeated(search, 3, slow=min(REPEATED_BELOW, time_limit))
    proven = all(run.result.proven for run in timed)
    return timed[0].result.size, statistics.median(run.seconds for run in timed) if proven else None


def draw_cells(cells: Sequence[RandomCell], path: str | Path) -> None:
    """Draw seconds and speed-up over density, a line for each size.

    The format of the picture is that of the path's suffix.

    Raises what `pipeline.picture.picture` does.
    """
    panels = [("one", "seconds, one thread")]
    panels.append(("times", f"times one thread: {cells[0].threads if cells else 1} threads"))
    if any(cell.device is not None for cell in cells):
        panels.append(("device_times", "times one thread: GPU"))
    with picture(path, 4.5 * len(panels), 3.6) as figure:
        for axes, (name, label) in zip(figure.subplots(1, len(panels)), panels, strict=True):
            for n in sorted({cell.n for cell in cells}):
                points = [(cell.density, cell.record()[name]) for cell in cells if cell.n == n]
                known = [(density, value) for density, value in points if value is not None]
                axes.plot(
                    *zip(*known, strict=True) if known else ((), ()), marker="o", markersize=3, label=f"n = {n:,}"
                )
            axes.set(xlabel="density", ylabel=label, xlim=(0, 1), yscale="linear" if name == "times" else "log")
            axes.legend(frameon=False, fontsize=8)
