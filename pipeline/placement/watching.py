"""How far a search is, told to the scheduler of its cluster, for the dashboard and Prometheus.

One small message a second, whatever the number of partitions and workers; `dashboard` shows it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

TOPIC = "bicliq"
"""Topic of the messages among the events of a scheduler."""

SECONDS_APART = 1.0
"""Time between two messages."""

STATES = ("committed", "searching", "waiting", "failed")
"""Of a partition."""


def standing(
    cost: np.ndarray[Any, Any], done: Collection[int], running: Mapping[int, float], failed: Collection[int]
) -> dict[str, Any]:
    """Count the partitions of a run, and their estimated cost, by their state.

    `cost`: float64[partitions], the estimated cost of each. `done`, `failed`: numbers of the
    committed ones, and of those that failed. `running`: those that are searched, each with the
    share that is done.

    Examples
    --------
    >>> found = standing(np.array([4.0, 2.0, 1.0]), {1}, {0: 0.25}, ())
    >>> found["partitions"]
    {'committed': 1, 'searching': 1, 'waiting': 1, 'failed': 0}
    >>> found["cost"]["searching"], found["cost_done"]
    (4.0, 3.0)
    """
    members: dict[str, list[int]] = {
        "committed": list(done),
        "searching": [number for number in running if number not in done],
        "failed": [number for number in failed if number not in done],
    }
    sums = {state: float(cost[numbers].sum()) for state, numbers in members.items()}
    sizes = {state: len(numbers) for state, numbers in members.items()}
    sizes["waiting"] = cost.size - sum(sizes.values())
    sums["waiting"] = max(float(cost.sum()) - sum(sums.values()), 0.0)
    partly = sum(float(cost[number]) * running[number] for number in members["searching"])
    return {
        "partitions": {state: sizes[state] for state in STATES},
        "cost": {state: sums[state] for state in STATES},
        "cost_done": sums["committed"] + partly,
    }


class Watched:
    """A search whose scheduler is told now and then how far it is.

    `client`: a Dask client; None: there is nobody to tell. `run`, `asks`: name of the run, and
    "bicliques" or "counts".

    Notes
    -----
    A scheduler that does not answer is no reason to end a search here: whoever waits for its tasks
    finds out (`pipeline.placement.tasks`).
    """

    def __init__(self, client: Any | None, run: str, asks: str) -> None:
        self._client, self._what = client, {"run": run, "asks": asks}
        self._started, self._told = time.monotonic(), float("-inf")

    def tell(self, how_far: Callable[[], dict[str, Any]], *, last: bool = False) -> None:
        """Tell how far the search is, unless that was told a moment ago; the end is always told."""
        now = time.monotonic()
        if self._client is None or (now - self._told < SECONDS_APART and not last):
            return
        self._told = now
        if self._client.status == "running":
            message = {**self._what, **how_far(), "seconds": now - self._started, "ended": last}
            with suppress(OSError, TimeoutError):
                self._client.log_event(TOPIC, message)
