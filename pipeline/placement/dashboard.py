"""A page of the Dask dashboard that shows searches: partitions, rates, workers, the end.

Clusters that we start have it at ``/bicliq``. A scheduler that others start gets it by::

    dask scheduler --preload bicliq.pipeline.placement.dashboard

The scheduler keeps what clients tell it (`pipeline.placement.watching`), once a second and search,
and adds what its workers' heartbeats say. Its ``/metrics`` has the same figures for Prometheus.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from distributed import SchedulerPlugin

from bicliq.pipeline.placement.watching import STATES, TOPIC

PAGE = "bicliq"
"""Last part of the page's address, and name of the plugin."""

KEPT = 8
"""Searches that are shown: those that were heard of last."""

HISTORY = 1800
"""Figures that are kept of a search: half an hour at one a second."""

RATE_SECONDS, SILENT_SECONDS = 5.0, 30.0
"""Time over which a rate is measured, and after which a search counts as silent."""


@dataclass
class Seen:
    """A search, as its client told it last.

    `told`: the message of `pipeline.placement.watching.Watched`. `at`: when it came, in seconds of
    `time.time`. `cost_before`: cost that was done when this search began. `history`: pairs of a
    time and the bicliques at that time.
    """

    told: dict[str, Any]
    at: float
    cost_before: float
    history: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=HISTORY))

    @property
    def state(self) -> str:
        """Say whether it goes on, in a word or two."""
        left = self.told["partitions"]["searching"] + self.told["partitions"]["waiting"]
        if self.told["ended"]:
            failed = self.told["partitions"]["failed"]
            return f"{failed:,} failed" if failed else "stopped" if left else "done"
        silent = time.time() - self.at
        return "goes on" if silent < SILENT_SECONDS else f"silent for {silent:.0f} s"

    @property
    def seconds_left(self) -> float | None:
        """Estimate of the time to the end, at the pace since the search began; None: unknown."""
        total, done = float(sum(self.told["cost"].values())), float(self.told["cost_done"])
        if self.told["ended"] or done <= self.cost_before:
            return None
        return max(total - done, 0.0) * float(self.told["seconds"]) / (done - self.cost_before)

    def rates(self) -> Iterator[tuple[float, float]]:
        """Yield times, and the bicliques a second in the seconds before each."""
        first = 0
        for at, found in self.history:
            while at - self.history[first][0] > RATE_SECONDS and self.history[first + 1][0] < at:
                first += 1
            then, before = self.history[first]
            if at > then:
                yield at, max(found - before, 0) / (at - then)


class Searches(SchedulerPlugin):  # type: ignore[misc]
    """Keeps what is told of searches, the last ones by the name of their run."""

    name = PAGE

    def __init__(self) -> None:
        self.by_run: dict[str, Seen] = {}

    def log_event(self, topic: str, msg: Any) -> None:
        """Take a message, where it is one of ours."""
        if topic != TOPIC:
            return
        run, now = msg["run"], time.time()
        seen = self.by_run.pop(run, None)
        if seen is None or seen.told["ended"] or msg["seconds"] < seen.told["seconds"]:  # a new search of it
            seen = Seen(msg, now, msg["cost_done"], deque(seen.history if seen else (), maxlen=HISTORY))
        seen.told, seen.at = msg, now
        if msg["asks"] == "bicliques":
            seen.history.append((now, msg["bicliques"]))
        self.by_run[run] = seen  # the last one told is the last one here
        while len(self.by_run) > KEPT:
            del self.by_run[next(iter(self.by_run))]

    async def close(self) -> None:
        """Offer nothing to Prometheus any more."""
        _FIGURES.searches.remove(self)


class _Figures:
    """Figures of the searches of all schedulers of this process, for Prometheus."""

    def __init__(self) -> None:
        self.searches: list[Searches] = []
        self.is_registered = False

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import GaugeMetricFamily

        named = ["run", "asks"]
        gauge = partial(GaugeMetricFamily, labels=named)
        by_state = partial(GaugeMetricFamily, labels=[*named, "state"])
        partitions = by_state("bicliq_partitions", "Partitions by their state.")
        cost = by_state("bicliq_cost", "Estimated cost of the partitions by their state, in paths of two edges.")
        bicliques = gauge("bicliq_bicliques", "Maximal bicliques that were found so far.")
        seconds = gauge("bicliq_search_seconds", "Seconds since the search began.")
        left = gauge("bicliq_search_seconds_left", "Estimate of the seconds to its end.")
        for seen in (each for known in self.searches for each in known.by_run.values()):
            told = seen.told
            labels = [told["run"], told["asks"]]
            for state in STATES:
                partitions.add_metric([*labels, state], told["partitions"][state])
                cost.add_metric([*labels, state], told["cost"][state])
            if told["asks"] == "bicliques":
                bicliques.add_metric(labels, told["bicliques"])
            seconds.add_metric(labels, told["seconds"])
            if seen.seconds_left is not None:
                left.add_metric(labels, seen.seconds_left)
        yield from (partitions, cost, bicliques, seconds, left)


_FIGURES = _Figures()


def dask_setup(scheduler: Any) -> None:
    """Add the page to a Dask scheduler, in its event loop; `dask scheduler --preload` calls this.

    Notes
    -----
    A scheduler without a dashboard (no Bokeh, or ``--no-dashboard``) still has the figures for
    Prometheus.
    """
    if PAGE in scheduler.plugins:
        return
    searches = Searches()
    scheduler.add_plugin(searches)
    _FIGURES.searches.append(searches)
    if not _FIGURES.is_registered:
        from prometheus_client import REGISTRY

        REGISTRY.register(_FIGURES)
        _FIGURES.is_registered = True
    if scheduler.http_application.applications:
        _serve_page(scheduler, searches)


def _serve_page(scheduler: Any, searches: Searches) -> None:
    from distributed.dashboard.core import BokehApplication
    from distributed.dashboard.scheduler import template_variables
    from tornado.ioloop import IOLoop

    from bicliq.pipeline.placement.dashboard_page import show_searches

    shown = template_variables(scheduler)  # one object for all pages of a scheduler
    shown["pages"].append(PAGE)
    prefix = scheduler.http_application.applications[0].prefix
    page = BokehApplication(
        {f"/{PAGE}": partial(show_searches, searches)}, scheduler, prefix=prefix, template_variables=shown
    )
    scheduler.http_application.add_application(page)
    page.initialize(IOLoop.current())
    page.start()
