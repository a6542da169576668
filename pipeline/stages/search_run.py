"""The search of a whole run: its partitions handed out until all of them are committed."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from bicliq import kernels
from bicliq.pipeline.errors import BicliqError, LimitReached, PartitionsFailed, sentence
from bicliq.pipeline.events import tell, warn
from bicliq.pipeline.placement.tasks import Ended, Here, Task, hand_out
from bicliq.pipeline.placement.watching import Watched, standing
from bicliq.pipeline.placement.where import Placement
from bicliq.pipeline.placement.work import WORK
from bicliq.pipeline.settings import ClusterSettings
from bicliq.pipeline.stages.limits import Cut, LimitName, Limits
from bicliq.pipeline.stages.partition import cut_partitions
from bicliq.pipeline.stages.planned import Plan, place_plan, read_plan
from bicliq.pipeline.stages.search import keep_first, search_partition
from bicliq.pipeline.store.bicliques import MASK
from bicliq.pipeline.store.layout import RunFolder, Store
from bicliq.pipeline.store.records import Commit

TELL_SECONDS = 0.5
"""Time between two messages of a worker about one partition."""

REPORT_SECONDS = 0.1
"""Least time between two reports to the caller, but for the first and the last."""

DEADLY = (
    "each worker that searched it died, when nothing else was searched as well; give workers more memory, or begin"
    " another run with more partitions"
)
"""What is said of a partition that takes its workers down."""


@dataclass(frozen=True)
class SearchProgress:
    """How far a run is, or a batch of its partitions.

    Parameters
    ----------
    partitions_done, partitions
        Committed partitions and all; of the run, or of the batch that is searched.
    roots_done, n_roots
        Roots of these partitions.
    cost_done, cost
        Estimated work of these partitions: what a time left is best drawn from.
    bicliques
        Bicliques found so far.
    seconds
        Time since this search began.
    standing
        How many partitions of the whole run are in which state
        (`pipeline.placement.watching.standing`).
    """

    partitions_done: int
    partitions: int
    roots_done: int
    n_roots: int
    cost_done: int
    cost: int
    bicliques: int
    seconds: float
    standing: dict[str, Any]


@dataclass(frozen=True)
class SearchRecord:
    """What a search of a run did.

    Parameters
    ----------
    run
        Name of the run.
    bicliques
        Bicliques of all committed partitions.
    digest
        Set digest of all committed partitions, 16 hex digits.
    complete
        False where a limit ended the search before its end.
    limited_by
        The limit that ended it, by its name; or None.
    partitions, searched
        Committed partitions, and those among them that this call searched.
    seconds
        Duration of this call: ``partition`` and ``search``.
    busy
        Share of the search's duration in which each worker of a cluster searched, by its name.
    """

    run: str
    bicliques: int
    digest: str
    complete: bool
    limited_by: LimitName | None
    partitions: int
    searched: int
    seconds: dict[str, float]
    busy: dict[str, float]


def search_run(
    store: Store,
    run: str,
    client: Any | None = None,
    progress: Callable[[SearchProgress], None] | None = None,
    *,
    placement: Placement | None = None,
    only: list[int] | None = None,
    max_bicliques: int | None = None,
    max_bytes: int | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    on_limit: Literal["error", "flag"] = "flag",
    check: bool = True,
) -> SearchRecord:
    """Search all partitions of a run that are not committed, or are damaged, the costliest first.

    Parameters
    ----------
    store, run
        A planned run; partitions that are not written yet are written first.
    client
        A Dask client, whose workers share the partitions; None: this process searches one after the
        other.
    progress
        Called in the thread of the caller: as the search begins, at most every `REPORT_SECONDS`
        while partitions are searched and committed, and as it ends.
    placement
        Where and on how many threads; None: as the run's own settings say.
    only
        Search these partitions only; the progress is theirs.
    max_bicliques, max_bytes, time_limit, memory_limit
        Stop this call when the run holds so many bicliques, or its data files so many bytes; after
        so many seconds; or when a process that searches holds so many bytes of memory. A later call
        goes on from there.
    on_limit
        Whether a limit that was reached is an error.
    check
        Whether the data files that are there are read, and their checksums compared, before they
        are taken as done; otherwise their sizes are. Partitions that are damaged are searched
        again, with a warning.

    Returns
    -------
    SearchRecord
        Totals of the run.

    Raises
    ------
    PartitionsFailed
        Where partitions failed, after all others were searched and committed. One whose workers
        died is then searched once more, alone.
    BicliqError
        Where the cluster was lost.
    LimitReached
        Where a limit was reached and `on_limit` is "error".

    Notes
    -----
    `max_bicliques` bounds the whole run: a partition is given what is left when it starts, none
    starts when nothing is left, and what partitions that ran side by side found too many is cut off
    the last ones. Which bicliques are kept is then arbitrary; the run is marked incomplete. What
    was committed before, with a higher limit or none, is never cut. The other limits end a search
    within a batch (some megabytes) for each worker, or a tenth of a second; a partition that was
    cut off is searched from its beginning by the call that goes on.

    Examples
    --------
    >>> import fsspec
    >>> with fsspec.open("memory://pairs.csv", "w") as table:
    ...     for row in ("user,item", "ann,jam", "ann,tea", "bob,jam", "bob,tea", "cid,tea"):
    ...         print(row, file=table)
    >>> from bicliq.pipeline.settings import IngestSettings, PlanSettings, SearchSettings
    >>> from bicliq.pipeline.stages.ingest import ingest
    >>> from bicliq.pipeline.stages.plan import plan
    >>> store = Store.open("memory://search-run-example")
    >>> graph = ingest("memory://pairs.csv", store, IngestSettings()).graph
    >>> planned = plan(store, graph, SearchSettings(), PlanSettings(partitions=2))
    >>> record = search_run(store, planned.run)
    >>> record.bicliques, record.partitions, record.searched
    (2, 2, 2)
    >>> search_run(store, planned.run).searched
    0
    """
    started = time.perf_counter()
    folder = store.run(run)
    placement = placement or _own_placement(folder, client)
    cut_partitions(store, run, client, placement, memory_limit)
    partitioned = time.perf_counter()
    watched = Watched(client, run, "bicliques")
    limits = Limits(max_bicliques, max_bytes, time_limit, memory_limit)
    state = _State(folder, read_plan(folder), limits, progress, watched, started, only, check)
    if state.reached() is None and state.waiting():
        folder.unpublish()
    state.search(client, placement)
    record = state.record(started, partitioned)
    told = {"searched": record.searched, "bicliques": record.bicliques, "complete": record.complete}
    tell("search ended", run=run, **told, seconds=record.seconds["search"])
    if record.limited_by is not None and on_limit == "error":
        raise LimitReached(
            f"run {run}: the {limits.in_words(record.limited_by)} was reached; what was found is in"
            f" the store: raise {record.limited_by}, or ask for larger bicliques (min_left, min_right, min_edges)"
        )
    return record


def _own_placement(folder: RunFolder, client: Any | None) -> Placement:
    """Where a run's own settings place its search, by this process or by a client's workers."""
    cluster = ClusterSettings(local=True) if client is None else ClusterSettings(scheduler=client.scheduler.address)
    return place_plan(folder.planned, "auto", folder.asked.search, cluster)


class _State:
    """Commits, failures and progress of a run, for the one thread that searches it."""

    def __init__(
        self,
        folder: RunFolder,
        plan: Plan,
        limits: Limits,
        progress: Callable[[SearchProgress], None] | None,
        watched: Watched,
        started: float,
        only: list[int] | None,
        check: bool,
    ) -> None:
        self.folder = folder
        self.limits = limits
        self.cut: LimitName | None = None  # why a worker ended a partition
        self.progress = progress
        self.watched = watched
        self.started = started
        self.reported = float("-inf")
        self.told: SearchProgress | None = None
        size = int(plan.partition.max(initial=-1)) + 1
        self.roots = np.bincount(plan.partition, minlength=size)
        self.cost = np.bincount(plan.partition, weights=plan.cost, minlength=size)
        self.wanted = sorted(range(size) if only is None else set(only))
        self.commits = sound_commits(folder, check, only)
        self.done = {number for number, commit in self.commits.items() if commit.complete}
        self.bicliques = sum(commit.rows for commit in self.commits.values())
        self.searched: set[int] = set()
        self.failures: dict[int, str] = {}
        self.running: dict[int, kernels.Progress] = {}
        self.busy: dict[str, float] = {}  # seconds that each worker of a cluster searched
        self.report()

    @property
    def bytes(self) -> int:
        """Bytes of the data files."""
        return sum(commit.bytes for commit in self.commits.values())

    def reached(self) -> LimitName | None:
        """The limit that is reached, if one is."""
        limits = self.limits
        if limits.max_bicliques is not None and self.bicliques >= limits.max_bicliques:
            return "max_bicliques"
        if limits.max_bytes is not None and self.bytes >= limits.max_bytes:
            return "max_bytes"
        if limits.time_limit is not None and time.perf_counter() - self.started >= limits.time_limit:
            return "time_limit"
        return self.cut

    @property
    def complete(self) -> bool:
        """Whether every partition was searched to its end."""
        return len(self.commits) == self.roots.size and all(c.complete for c in self.commits.values())

    @property
    def limited_by(self) -> LimitName | None:
        """The limit that kept something from being searched, or is below what was there."""
        most = self.limits.max_bicliques
        held_more = most is not None and self.bicliques > most
        return None if self.complete and not held_more else self.reached()

    def waiting(self) -> list[int]:
        """Partitions to search: those that a limit had cut off, and then the costliest first."""
        missing = [number for number in self.wanted if number not in self.done]
        return sorted(missing, key=lambda number: (number not in self.commits, -self.cost[number], number))

    def room_for(self, number: int) -> Limits:
        """What is left of the limits for a partition, and what it held when it was cut off."""
        held, limits = self.commits.get(number), self.limits
        rows, size = (0, 0) if held is None else (held.rows, held.bytes)
        most, largest, seconds = limits.max_bicliques, limits.max_bytes, limits.time_limit
        return Limits(
            None if most is None else max(most - self.bicliques, 0) + rows,
            None if largest is None else max(largest - self.bytes, 0) + size,
            None if seconds is None else max(seconds - (time.perf_counter() - self.started), 0.0),
            limits.memory_limit,
        )

    def task(self, number: int, placement: Placement) -> Task:
        """The search of a partition, with what is left of the limits."""
        folder = self.folder
        return partial(_search, folder.store.uri, folder.run, number, self.room_for(number), time.time(), placement)

    def search(self, client: Any, placement: Placement) -> None:
        """Search the partitions that wait, by this process or a client's workers."""
        missing = self.waiting()
        tell("search begun", run=self.folder.run, partitions=len(self.wanted), missing=len(missing))
        waiting = iter(missing)

        def next_task() -> tuple[int, Task] | None:
            number = None if self.reached() else next(waiting, None)
            return None if number is None else (number, self.task(number, placement))

        killed: list[int] = []
        for ended in hand_out(client, next_task, self.advance):
            if _is_killed(ended.error):
                killed.append(ended.number)
            else:
                self.finish(ended)
        for number in killed:  # alone, in case another one took their workers down
            self.finish_alone(client, number, placement)
        self.report(last=True)
        self.trim()
        self.raise_failures()

    def record(self, started: float, partitioned: float) -> SearchRecord:
        """What this call did, which began then, and to search when all partitions were written."""
        duration = time.perf_counter() - partitioned
        return SearchRecord(
            run=self.folder.run,
            bicliques=self.bicliques,
            digest=f"{sum(int(c.digest, 16) for c in self.commits.values()) & MASK:016x}",
            complete=self.complete,
            limited_by=self.limited_by,
            partitions=len(self.commits),
            searched=len(self.searched),
            seconds={"partition": round(partitioned - started, 6), "search": round(duration, 6)},
            busy={name: round(busy / duration, 4) for name, busy in sorted(self.busy.items())},
        )

    def finish_alone(self, client: Any, number: int, placement: Placement) -> None:
        """Search a partition whose workers died, and nothing beside it; note how it ended."""
        tasks = iter([] if self.reached() else [(number, self.task(number, placement))])
        for ended in hand_out(client, lambda: next(tasks, None), self.advance):
            self.finish(replace(ended, error=BicliqError(DEADLY)) if _is_killed(ended.error) else ended)

    def finish(self, ended: Ended) -> None:
        """Note that a partition was committed, or why it was not."""
        number = ended.number
        self.running.pop(number, None)
        if ended.value is not None:
            commit, cut = ended.value
            self.cut = self.cut or cut
            self.bicliques += commit.rows - (self.commits[number].rows if number in self.commits else 0)
            self.commits[number] = commit
        if ended.error is None:
            self.done.add(number)
            self.searched.add(number)
            did = {
                "bicliques": commit.rows,
                "bytes": commit.bytes,
                "backend": commit.backend,
                "seconds": commit.seconds,
            }
            tell("partition committed", run=self.folder.run, partition=number, worker=ended.worker, **did)
            if ended.worker is not None:
                self.busy[ended.worker] = self.busy.get(ended.worker, 0.0) + commit.seconds
        else:
            self.failures[number] = sentence(ended.error)
            self.folder.record_failure(number, self.failures[number])
            reason = self.failures[number]
            warn("partition failed", run=self.folder.run, partition=number, worker=ended.worker, reason=reason)
        self.report()

    def advance(self, told: list[int]) -> None:
        """Note how far one partition is: its number, and the fields of a `kernels.Progress`."""
        number, *progress = told
        if number not in self.done:
            self.running[number] = kernels.Progress(*progress)
            self.report()

    def report(self, *, last: bool = False) -> None:
        """Tell how far the partitions that are wanted are, unless that was told a moment ago.

        The last report is made in any case, but for one that would say the same again.
        """
        self.watched.tell(self._standing, last=last)
        now = time.perf_counter()
        if self.progress is None or (now - self.reported < REPORT_SECONDS and not last):
            return
        state = self._progress(now - self.started)
        if last and self.told is not None and replace(state, seconds=self.told.seconds) == self.told:
            return
        self.reported, self.told = now, state
        self.progress(state)

    def _progress(self, seconds: float) -> SearchProgress:
        done = [number for number in self.wanted if number in self.done]
        roots, cost = int(self.roots[done].sum()), float(self.cost[done].sum())
        bicliques = sum(self.commits[number].rows for number in done)
        for number, kernel in self.running.items():
            roots += kernel.roots_done
            cost += self.cost[number] * kernel.roots_done / max(kernel.n_roots, 1)
            bicliques += kernel.bicliques
        return SearchProgress(
            partitions_done=len(done),
            partitions=len(self.wanted),
            roots_done=roots,
            n_roots=int(self.roots[self.wanted].sum()),
            cost_done=int(cost),
            cost=int(self.cost[self.wanted].sum()),
            bicliques=bicliques,
            seconds=seconds,
            standing=self._standing(),
        )

    def _standing(self) -> dict[str, Any]:
        """How far the whole run is, whichever of its partitions this call searches."""
        shares = {number: kernel.roots_done / max(kernel.n_roots, 1) for number, kernel in self.running.items()}
        found = sum(kernel.bicliques for number, kernel in self.running.items() if number not in self.done)
        known = standing(self.cost, self.done, shares, self.failures)
        return known | {"bicliques": self.bicliques + found}

    def raise_failures(self) -> None:
        """Raise an error that names the partitions that failed."""
        if self.failures:
            named = "; ".join(f"partition {number}: {error}" for number, error in sorted(self.failures.items())[:5])
            error = PartitionsFailed(
                f"{self.folder.uri}: {len(self.failures)} of {self.roots.size} partitions failed ({named});"
                " all others are committed: resume the run to search only these again"
            )
            error.limited_by = self.limited_by
            raise error

    def trim(self) -> None:
        """Cut what this call found beyond the limit off the last partitions."""
        for number in sorted(self.searched, reverse=True):
            most = self.limits.max_bicliques
            surplus = 0 if most is None else self.bicliques - most
            if surplus <= 0:
                return
            commit = self.commits[number]
            self.commits[number] = keep_first(self.folder, commit, max(commit.rows - surplus, 0))
            self.bicliques -= commit.rows - self.commits[number].rows


def _is_killed(error: BaseException | None) -> bool:
    """Whether a task failed because each worker that tried it died."""
    return type(error).__name__ == "KilledWorker"


def sound_commits(folder: RunFolder, check: bool, only: list[int] | None = None) -> dict[int, Commit]:
    """Return the commits of a run; a partition that is damaged loses its own.

    It is then searched again.
    """
    sound, damaged = folder.examine_commits(check, only)
    for number, reason in damaged.items():
        warn("partition is searched again", run=folder.run, partition=number, reason=reason)
        folder.uncommit_partition(number)
    return sound


def _search(
    store_uri: str, run: str, number: int, room: Limits, handed_out: float, placement: Placement, here: Here
) -> tuple[Commit, LimitName | None]:
    """Search a partition, and tell now and then how far it is.

    Returns its commit, and which limit ended it.
    """
    cut = Cut(room, handed_out)
    here.tell([number, 0, 0, 0])
    told = time.monotonic()

    def tell(kernel: kernels.Progress) -> None:
        nonlocal told
        found(kernel.bicliques)
        if time.monotonic() - told >= TELL_SECONDS:
            told = time.monotonic()
            here.tell([number, kernel.roots_done, kernel.n_roots, kernel.bicliques])

    threads = here.threads(placement.threads)
    with WORK.on(number) as found:
        commit = search_partition(store_uri, run, number, threads, tell, placement.search, cut)
        found(commit.rows)
    return commit, cut.reason
