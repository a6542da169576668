"""Before the search of a run: what it will find and cost is said, warned of, or refused.

The estimate is that of the plan (`pipeline.stages.expected`). A run that is complete needs none;
of one that is partly there, what is committed already counts as paid.
"""

from __future__ import annotations

import math
import os
import shutil
from dataclasses import dataclass

from bicliq import kernels
from bicliq.pipeline.errors import CapacityError
from bicliq.pipeline.events import tell, warn
from bicliq.pipeline.placement.where import Placement
from bicliq.pipeline.settings import Settings
from bicliq.pipeline.stages.expected import short
from bicliq.pipeline.stages.planned import place_partitions
from bicliq.pipeline.store.entries import Expected
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.records import PlanRecord

MANY = 10_000_000
"""Bicliques that are warned of: nobody reads so many, and lower numbers are written in seconds."""


@dataclass(frozen=True, kw_only=True)
class Forecast(Expected):
    """What a plan expects, and its seconds here; None where another machine or a GPU searches."""

    seconds: float | None


def forecast(store: Store, planned: PlanRecord, settings: Settings) -> Forecast | None:
    """Say what the search of a run will find and cost; refuse what does not fit the disk.

    `store`: the store; only the disk of a local one is looked at. `settings`: `force` searches in
    any case, as does a limit of time; one of bicliques or bytes bounds what is written. Returns
    None where nothing is left to search, or where a plan has no estimate. Raises CapacityError if
    the results are expected to be larger than what the disk has free.
    """
    expected = planned.expected
    if expected is None or not planned.partitions:
        return None
    committed = store.run(planned.run).committed()
    if len(committed) >= planned.partitions:
        return None
    seconds = _seconds(expected, place_partitions(planned, settings), settings.search.threads)
    found = Forecast(**vars(expected), seconds=seconds)
    limit = settings.search.max_bicliques
    figures = {name: getattr(found, name) for name in ("bicliques", "low", "high", "ids", "bytes", "seconds")}
    tell("run expected", run=planned.run, **figures)
    if expected.bicliques >= MANY and (limit is None or limit >= MANY):
        named = _proposed(expected.would_do)
        warn("many bicliques are expected", run=planned.run, bicliques=short(expected.bicliques), **named)
    if store.root.is_local and not settings.force and settings.search.time_limit is None:
        share = 1.0 if limit is None else min(1.0, limit / max(expected.bicliques, 1))
        size = min(share * expected.bytes, settings.search.max_bytes or math.inf)
        _must_fit(store.root.path, size - sum(of.bytes for of in committed.values()), found)
    return found


def in_words(found: Forecast) -> str:
    """The estimate of a run as one line."""
    named = "biclique" if found.bicliques == 1 else "bicliques"
    said = f"expected: {found.bicliques:,} {named}"
    if not found.exact:
        said = f"expected: about {short(found.bicliques)} {named} (90 %: {short(found.low)} to {short(found.high)})"
    took = (
        f"{found.search_seconds + found.write_seconds:,.1f} s of one CPU thread"
        if found.seconds is None
        else f"{found.seconds:,.1f} s"
    )
    return f"{said}, {short(found.ids)} ids, {found.bytes / 2**20:,.1f} MiB, {took}"


def _seconds(expected: Expected, placement: Placement, threads: int) -> float | None:
    """Seconds of the search on this machine, where it is this machine's CPU that searches."""
    shared = placement.cluster
    if placement.search.backend != "cpu" or (shared is not None and shared.scheduler is not None):
        return None
    taken = 0 if shared is not None else threads
    return (expected.search_seconds + expected.write_seconds) / kernels.number_of_threads(taken)


def _proposed(rows: list[dict[str, int]]) -> dict[str, str]:
    """Thresholds that would do, as a fact of an event; nothing where none is known."""
    shown = [
        f"about {short(row['bicliques'])} with min_left = {row['min_left']} and min_right = {row['min_right']}"
        for row in rows
    ]
    return {"thresholds_that_would_do": " or ".join(shown)} if shown else {}


def _must_fit(path: str, needed: float, found: Forecast) -> None:
    free = shutil.disk_usage(os.path.realpath(path)).free
    if needed <= free:
        return
    do = "raise min_left and min_right, give max_bicliques or a store on another disk, or search with force = true"
    fitting = [row for row in found.would_do if row["bytes"] <= free]
    proposed = _proposed(fitting).get("thresholds_that_would_do")
    raise CapacityError(
        f"{path}: the disk has {_size(free)} free, and the results are expected to take {_size(needed)}"
        f" ({in_words(found)}); {do}" + (f"; fewer: {proposed}" if proposed else "")
    )


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 2**30:,.1f} GiB" if n_bytes >= 2**30 else f"{n_bytes / 2**20:,.1f} MiB"
