"""How fast a run would be on many workers, from the times of its partitions.

A finished run says how long each partition took. From these times it is worked out when the last of
many workers would end, if they took the partitions in the order in which a search hands them out.
What then limits the speed is the longest partition. So its roots are cut in parts, these in parts
again (`benchmarks.pieces`), and the parts are timed, again and again: first until the longest piece
is a single root, then until it is a single branch below a root.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pieces import Piece, below
from benchmarks.scaling import search_partition
from bicliq.pipeline.errors import BicliqError, InputError
from bicliq.pipeline.picture import picture
from bicliq.pipeline.placement.cluster import open_cluster
from bicliq.pipeline.placement.tasks import Here, hand_out
from bicliq.pipeline.settings import ClusterSettings
from bicliq.pipeline.stages.partition import Partition, ready_partition
from bicliq.pipeline.stages.planned import read_plan
from bicliq.pipeline.store.layout import RunFolder, Store

EMPTY_TASKS = 200
"""Tasks by which it is measured what it takes to hand one out."""

MOST_TRIES, TRIED_SECONDS = 5, 0.05
"""A piece is searched so often that it takes so long, or so often; the fastest counts."""

CUTS = ("partitions", "roots", "branches")
"""What the longest piece may be: a partition, a single root, a single branch below one."""


@dataclass(frozen=True)
class Simulated:
    """A run on so many workers.

    Parameters
    ----------
    cut
        What the longest piece is, of `CUTS`.
    workers
        Their number.
    seconds, times
        Until the last one ends, and how many times as fast that is as one worker with whole
        partitions.
    times_if_free
        How many times, if it cost nothing to hand out a piece.
    pieces, longest
        How many pieces there are, and the seconds of the longest.
    """

    cut: str
    workers: int
    seconds: float
    times: float
    times_if_free: float
    pieces: int
    longest: float


def makespan(seconds: Sequence[float], workers: int, hand_out_seconds: float = 0.0) -> float:
    """Return when the last of some workers ends.

    Parameters
    ----------
    seconds
        Of each piece, in the order in which they are handed out.
    workers
        Each takes the next piece when it has done its own.
    hand_out_seconds
        What one process takes to hand out a piece: it does so one after the other.

    Notes
    -----
    O(pieces · log workers). Without the price of handing out it is at most twice the least possible
    (Graham 1966), and with the longest first at most 4/3 of it (Graham 1969).

    Examples
    --------
    >>> makespan([3.0, 2.0, 2.0, 1.0], 2), makespan([3.0, 2.0, 2.0, 1.0], 100), makespan([0.0] * 4, 2, 0.5)
    (4.0, 3.0, 2.0)
    """
    free = [0.0] * min(workers, max(len(seconds), 1))
    end = 0.0
    for number, piece in enumerate(seconds, start=1):
        ends = max(heapq.heappop(free), number * hand_out_seconds) + piece
        heapq.heappush(free, ends)
        end = max(end, ends)
    return end


def simulate(store: Store, run: str, workers: Sequence[int], hand_out_seconds: float) -> Iterator[Simulated]:
    """Work out how long a run would take on so many workers each, cut in each way of `CUTS`.

    Parameters
    ----------
    store, run
        A run whose partitions are all committed, searched by one thread each on a CPU.
    workers
        Numbers of workers.
    hand_out_seconds
        As of `makespan`; see `measure_hand_out`.

    Raises
    ------
    InputError
        Where the run is not finished, or is a version without partitions of its own.

    Notes
    -----
    Assumed is that all workers are as fast as the one that was measured and come at the start, that
    the store answers many as fast as one, and that a partition's parts share what it took to read
    and to write it as they share its search.
    """
    folder = store.run(run)
    partitions = _recorded(folder)
    whole = sum(partitions)
    for cut, seconds in {"partitions": partitions, **_cut(folder, partitions)}.items():
        for size in workers:
            took, free = makespan(seconds, size, hand_out_seconds), makespan(seconds, size)
            times = round(whole / took, 2), round(whole / free, 2)
            yield Simulated(cut, size, round(took, 4), *times, len(seconds), round(max(seconds), 6))


def sizes_up_to(workers: int) -> list[int]:
    """Return numbers of workers to look at: 1, 2, 5, 10, 20, 50 … and the last.

    Examples
    --------
    >>> sizes_up_to(60)
    [1, 2, 5, 10, 20, 50, 60]
    """
    steps = (step * 10**power for power in range(len(str(workers))) for step in (1, 2, 5))
    return [*(size for size in steps if size < workers), workers]


def measure_hand_out(workers: int = 2) -> float:
    """Return what handing out one task takes: seconds of the processor of client and scheduler.

    Both are this process, and Python lets one of its threads work at a time: so that many seconds
    pass between two tasks at the least, however many workers there are.
    """
    with open_cluster(ClusterSettings(workers=workers, dashboard=False)) as client:
        client.wait_for_workers(workers)
        started = 0.0
        for n_tasks in (workers, EMPTY_TASKS):  # the first ones import what they need
            tasks = iter([(number, _nothing) for number in range(n_tasks)])
            started = time.process_time()
            for ended in hand_out(client, lambda tasks=tasks: next(tasks, None)):  # type: ignore[misc]
                if ended.error is not None:
                    raise ended.error
        return (time.process_time() - started) / EMPTY_TASKS


def _nothing(here: Here) -> None:
    """A task that does nothing."""


def _recorded(folder: RunFolder) -> list[float]:
    """Seconds of each partition, in the order in which a search hands them out."""
    if folder.asked.layered is not None:
        raise InputError(f"{folder.uri}: this is a version, which has no partitions of its own; name a run")
    plan, commits = read_plan(folder), folder.committed()
    cost = np.bincount(plan.partition, weights=plan.cost)
    if len(commits) != cost.size or not all(commit.complete for commit in commits.values()):
        raise InputError(f"{folder.uri}: {len(commits)} of {cost.size} partitions are committed; resume the run first")
    return [commits[int(number)].seconds for number in np.argsort(-cost, kind="stable")]


def _cut(folder: RunFolder, partitions: list[float]) -> dict[str, list[float]]:
    """Seconds of the pieces when the longest is a single root, and when it is a single branch.

    The longest piece is cut, and its parts are timed, until the longest one cannot be cut.
    """
    plan, clock, found = read_plan(folder), _Clock(folder), dict[str, list[float]]()
    cost, n_roots = np.bincount(plan.partition, weights=plan.cost), np.bincount(plan.partition)
    order, tie = np.argsort(-cost, kind="stable").tolist(), count()
    waiting = [
        (-seconds, next(tie), number, Piece(0, int(n_roots[number])))
        for seconds, number in zip(partitions, order, strict=True)
    ]
    heapq.heapify(waiting)

    def as_it_is() -> list[float]:
        return sorted((-each[0] for each in waiting), reverse=True)

    while True:
        seconds, _, number, piece = waiting[0]
        alone = piece.last - piece.first == 1
        if alone and "roots" not in found:
            found["roots"] = as_it_is()
        if alone and piece.below is not None:  # by the first level, and no further
            return {**found, "branches": as_it_is()}
        heapq.heappop(waiting)
        if not alone:
            parts = clock.parts(number, piece)
        else:
            part = clock.partition(number)
            branches = Piece(0, below(part, int(part.roots[piece.first])).roots.size, piece.first)
            parts = clock.parts(number, branches) if branches.last > 1 else [(branches, 1.0)]
        for smaller, share in parts:
            heapq.heappush(waiting, (seconds * share, next(tie), number, smaller))


class _Clock:
    """Times the pieces of a run's partitions, on one thread."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder, self._asked = folder, folder.asked.search
        self.partition = lru_cache(8)(lambda number: ready_partition(folder, number))

    def parts(self, number: int, piece: Piece) -> list[tuple[Piece, float]]:
        """Cut a piece; with each part's share of the time of the whole, together more than 1.

        Raises
        ------
        BicliqError
            Where the parts do not hold as many bicliques as the whole.
        """
        whole, bicliques = self._timed(number, piece)
        parts = [(part, *self._timed(number, part)) for part in piece.parts()]
        if sum(found for _, _, found in parts) != bicliques:
            raise BicliqError(
                f"{self._folder.uri}: partition {number}: its pieces hold other bicliques: this is a defect"
            )
        return [(part, min(seconds / whole, 1.0)) for part, seconds, _ in parts]

    def _timed(self, number: int, piece: Piece) -> tuple[float, int]:
        """Seconds of the processor, which others that work here do not change, and bicliques."""
        part: Partition = self.partition(number)
        timed = list[float]()
        while len(timed) < MOST_TRIES and sum(timed) < TRIED_SECONDS:
            started = time.process_time()
            found = search_partition(piece.of(part), self._asked, mode="count", threads=1).bicliques
            timed.append(time.process_time() - started)
        return max(min(timed), 1e-6), found


def draw_simulation(records: Sequence[dict[str, Any]], title: str, path: str | Path) -> None:
    """Draw how many times as fast a run would be over the number of workers, a line a cut.

    Dotted: if handing out were free.

    Raises what `pipeline.picture.picture` does.
    """
    with picture(path, 4.6, 3.4) as figure:
        axes = figure.subplots()
        sizes = sorted({record["workers"] for record in records})
        axes.plot(sizes, sizes, color="0.7", linestyle="--", label="as many times as workers")
        for cut in CUTS:
            rows = [record for record in records if record["cut"] == cut]
            label = f"longest: a {cut.removesuffix('es' if cut == 'branches' else 's')} of {rows[0]['longest']:.3g} s"
            (line,) = axes.plot(sizes, [row["times"] for row in rows], "o-", markersize=3, label=label)
            axes.plot(sizes, [row["times_if_free"] for row in rows], ":", color=line.get_color())
        axes.set(title=title, xlabel="workers", ylabel="times as fast as one", xscale="log", yscale="log")
        axes.legend(fontsize=7)
