"""What this process works on, for those who watch its worker.

Dask's workers send it with their heartbeats (`metrics_on`), so it costs no message of its own, and
offer it to Prometheus at ``/metrics``.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

RATE_SECONDS = 5.0
"""Least time over which a rate is measured."""


class Work:
    """Partitions that are worked on, and bicliques that were found; for any number of threads.

    Examples
    --------
    >>> work = Work()
    >>> with work.on(12) as found:
    ...     found(500)
    ...     work.searching(), work.bicliques()
    ('12', 500)
    >>> work.searching(), work.bicliques(), work.partitions
    ('', 500, 1)
    """

    def __init__(self) -> None:
        self.partitions = 0
        self._lock = threading.Lock()
        self._found_before = 0
        self._running: dict[int, tuple[int, int]] = {}  # by thread: partition, and what it found so far
        self._measured = (time.monotonic(), 0, 0.0)  # when, how many there were, and the rate

    @contextmanager
    def on(self, partition: int) -> Iterator[Callable[[int], None]]:
        """Work on a partition in this thread; what is yielded is told how many were found in it."""
        thread = threading.get_ident()

        def found(bicliques: int) -> None:
            self._running[thread] = partition, bicliques

        found(0)
        try:
            yield found
            self.partitions += 1
        finally:
            with self._lock:
                self._found_before += self._running.pop(thread)[1]

    def searching(self) -> str:
        """Numbers of the partitions that are worked on now."""
        return ", ".join(str(number) for number, _ in sorted(self._running.copy().values()))

    def bicliques(self) -> int:
        """Bicliques that this process has found since it began, those it is about to commit too."""
        with self._lock:
            return self._found_before + sum(found for _, found in self._running.copy().values())

    def rate(self) -> float:
        """Bicliques a second over the last seconds."""
        now, (then, before, rate) = time.monotonic(), self._measured
        if now - then >= RATE_SECONDS:
            there = self.bicliques()
            rate = max(there - before, 0) / (now - then)
            self._measured = now, there, rate
        return round(rate, 1)


WORK = Work()
"""Of this process."""

METRICS: dict[str, tuple[str, Callable[[], Any]]] = {
    "bicliq_partition": ("Partitions that are searched now.", WORK.searching),
    "bicliq_partitions": ("Partitions that were searched.", lambda: WORK.partitions),
    "bicliq_bicliques": ("Maximal bicliques that were found.", WORK.bicliques),
    "bicliq_bicliques_per_second": ("Maximal bicliques a second.", WORK.rate),
}
"""What a worker tells of itself: columns of the dashboard's page *Workers*."""


def metrics_on(worker: Any) -> None:
    """Add `METRICS` to the heartbeats and to the ``/metrics`` of a Dask worker, if they are not."""
    if "bicliq_partition" in worker.metrics:
        return
    ours = {name: lambda worker, value=value: value() for name, (_, value) in METRICS.items()}
    worker.metrics = {**worker.metrics, **ours}  # a new one: a heartbeat may go through the old one now
    _offer_to_prometheus()


def _offer_to_prometheus() -> None:
    from prometheus_client import REGISTRY
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    class Collector:
        def collect(self) -> Iterator[Any]:
            for name, (what, value) in METRICS.items():
                if name in ("bicliq_partitions", "bicliq_bicliques"):
                    yield CounterMetricFamily(name.replace("bicliq_", "bicliq_worker_"), what, value=value())
            searching = len(WORK.searching().split())
            yield GaugeMetricFamily("bicliq_worker_searching", METRICS["bicliq_partition"][0], value=searching)

    with _OFFER:
        if not _OFFERED:
            REGISTRY.register(Collector())
            _OFFERED.append(True)


_OFFER, _OFFERED = threading.Lock(), list[bool]()
