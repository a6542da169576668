"""How a benchmark runs something: some times, or once where it is slow."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True)
class Timed(Generic[Result]):
    """One run: seconds of the whole call, and what it returned."""

    seconds: float
    result: Result


def repeated(
    work: Callable[[], Result], runs: int, *, slow: float = float("inf"), unseen: int = 0
) -> list[Timed[Result]]:
    """Run something some times.

    Parameters
    ----------
    work
        What is measured.
    runs
        How often.
    slow
        Seconds of a first run from which on there is no second one.
    unseen
        Runs that come first and do not count, since they load and compile what the others need.

    Examples
    --------
    >>> len(repeated(dict, 5)), len(repeated(dict, 5, slow=0.0))
    (5, 1)
    """
    for _ in range(unseen):
        work()
    timed: list[Timed[Result]] = []
    while len(timed) < runs and (not timed or timed[0].seconds < slow):
        started = time.perf_counter()
        result = work()
        timed.append(Timed(time.perf_counter() - started, result))
    return timed


def fastest(timed: Sequence[Timed[Result]]) -> Timed[Result]:
    """Return the run that took the least time."""
    return min(timed, key=lambda run: run.seconds)


def median(timed: Sequence[Timed[Result]], seconds: Callable[[Result], float]) -> float:
    """Return the median over the runs of a time that each of them reports."""
    return statistics.median(seconds(run.result) for run in timed)
