"""How good the choice of the side is where least sizes are wanted: CPU seconds of one thread."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.graphs import read_graph_file
from bicliq import kernels
from bicliq.kernels.contracts import Packed, Side
from bicliq.kernels.enumeration import core_of
from bicliq.kernels.side import side_of

SIZES = (1, 2, 5, 10, 20, 30)
MOST = 4.0  # seconds of the chosen side; the pair is left out that takes longer
GIVEN_UP, GIVEN_UP_FROM = 1.3, 0.01  # the other side: times the seconds of the chosen one, and at least so many
SHORT, RUNS = 0.3, 5  # the least of so many runs, where one takes less
AS_GOOD, AS_SOON = 1.2, 0.001  # times the seconds of the other side, or so many more
JUDGED_FROM = 0.001  # seconds of a search; below it the estimate's share says little


@dataclass(frozen=True)
class MeasuredSide:
    """One pair of least sizes of a graph.

    Parameters
    ----------
    graph, min_left, min_right, side
        What was asked for, and the side that was chosen.
    estimate
        Seconds of the choice.
    seconds, other
        Of preparation and search of what the least sizes leave, from the chosen side and from the
        other one; None where that was given up, since it takes longer.
    """

    graph: str
    min_left: int
    min_right: int
    side: Side
    estimate: float
    seconds: float
    other: float | None

    @property
    def times(self) -> float:
        """Seconds of the chosen side by those of the better one."""
        return max(self.seconds / self.other, 1.0) if self.other else 1.0

    def record(self) -> dict[str, Any]:
        """Flat record for JSON."""
        good = self.times <= AS_GOOD or self.other is None or self.seconds <= self.other + AS_SOON
        share = self.estimate / self.seconds if self.seconds >= JUDGED_FROM else None
        return {**asdict(self), "times": self.times, "good": good, "share": share}


def measure_sides(graphs: dict[str, Path]) -> Iterator[MeasuredSide]:
    """Count each graph from both sides, for each pair of `SIZES` that leaves some of it.

    Parameters
    ----------
    graphs
        Parquet files by name.
    """
    for name, path in graphs.items():
        whole = read_graph_file(path)
        for sizes in itertools.product(SIZES, SIZES):
            measured = _measured(name, Packed.of(whole.indptr, whole.indices, whole.n_right), *sizes)
            if measured:
                yield measured


def _measured(name: str, whole: Packed, min_left: int, min_right: int) -> MeasuredSide | None:
    core = core_of(whole, min_left, min_right)
    if not core.indices.size:
        return None

    def seconds(side: Side, limit: float) -> float:
        started = time.process_time()

        def give_up(_: Any) -> None:
            if time.process_time() - started > limit:
                raise _GivenUpError

        try:
            kernels.enumerate_maximal_bicliques(
                *core.csr, min_left=min_left, min_right=min_right, side=side, progress=give_up
            )
        except _GivenUpError:
            return math.inf
        return time.process_time() - started

    chosen = other = estimate = math.inf
    for _ in range(RUNS):  # by turns, since what else the machine does comes and goes
        core = core_of(whole, min_left, min_right)  # as in a call: its rows have just been written
        started = time.process_time()
        side = side_of(*core.csr, min_left, min_right, "cpu", core.paths)
        estimate = min(estimate, time.process_time() - started)
        chosen = min(chosen, seconds(side, MOST))
        if chosen > MOST:
            return None
        other = min(other, seconds("left" if side == "right" else "right", max(GIVEN_UP * chosen, GIVEN_UP_FROM)))
        if chosen > SHORT:
            break
    return MeasuredSide(name, min_left, min_right, side, estimate, chosen, other if other < math.inf else None)


class _GivenUpError(Exception):
    """Raised when a search takes longer than it may."""
