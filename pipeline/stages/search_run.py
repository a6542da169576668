"""The search of a whole run: its partitions handed out, here or on a cluster, until all of them are committed."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

import kernels
from pipeline.errors import BicliqError, LimitReached
from pipeline.placement.cluster import hand_out, open_cluster
from pipeline.settings import ClusterSettings
from pipeline.stages.partition import write_partitions
from pipeline.stages.plan import Plan, read_plan, read_plan_record
from pipeline.stages.search import keep_first, search_partition, search_settings, usable_backend
from pipeline.store.bicliques import MASK
from pipeline.store.layout import Commit, RunFolder, Store

LOGGER = logging.getLogger("bicliq")

BATCHES = 4
"""Batches of partitions that an orchestrator sees as tasks: enough to retry and to watch, few enough to keep workers busy."""

RETRIES = 2
"""Attempts at a partition after its first one failed with an exception."""

TELL_SECONDS = 0.5
"""Time between two messages of a worker about one partition."""


@dataclass(frozen=True)
class SearchProgress:
    """How far a run is.

    Parameters
    ----------
    partitions_done, partitions
        Committed partitions and all.
    roots_done, n_roots
        Roots of these partitions.
    cost_done, cost
        Estimated work of these partitions: what a time left is best drawn from.
    bicliques
        Bicliques found so far.
    seconds
        Time since this search began.
    """

    partitions_done: int
    partitions: int
    roots_done: int
    n_roots: int
    cost_done: int
    cost: int
    bicliques: int
    seconds: float


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
    threads: int | None = None,
    backend: str | None = None,
    only: list[int] | None = None,
    max_bicliques: int | None = None,
    on_limit: Literal["error", "flag"] = "flag",
    check: bool = False,
) -> SearchRecord:
    """Search all partitions of a run that are not committed, or are damaged, the costliest first.

    Parameters
    ----------
    store, run
        A planned run; partitions that are not written yet are written first.
    client
        A Dask client, whose workers share the partitions; None: this process searches one after the other.
    progress
        Called when a partition is committed, and while it is searched whenever some bicliques were written.
    threads, backend
        In place of the run's own settings. 0 threads: all cores, shared among the workers of a machine.
    only
        Search these partitions only, as one of the batches of `batches_of`.
    max_bicliques, on_limit
        Stop this call when the run holds so many, and whether that is an error. A later call goes on from there.
    check
        Whether the checksums of data files that are there are compared before they are taken as done; otherwise their
        sizes are. Partitions that are damaged are searched again, with a warning.

    Returns
    -------
    SearchRecord
        Totals of the run.

    Raises
    ------
    BicliqError
        Where partitions failed, after all others were searched and committed.
    LimitReached
        Where `max_bicliques` was reached and `on_limit` is "error".

    Notes
    -----
    `max_bicliques` bounds the whole run: a partition is given what is left when it starts, none
    starts when nothing is left, and what partitions that ran side by side found too many is cut off
    the last ones. Which bicliques are kept is then arbitrary; the run is marked incomplete. What
    was committed before, with a higher limit or none, is never cut.

    Examples
    --------
    >>> import fsspec
    >>> with fsspec.open("memory://pairs.csv", "w") as table:
    ...     for row in ("user,item", "ann,jam", "ann,tea", "bob,jam", "bob,tea", "cid,tea"):
    ...         print(row, file=table)
    >>> from pipeline.settings import IngestSettings, PlanSettings, SearchSettings
    >>> from pipeline.stages.ingest import ingest
    >>> from pipeline.stages.plan import plan
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
    write_partitions(store, run, client)
    partitioned = time.perf_counter()
    folder = store.run(run)
    settings = search_settings(folder)
    threads = settings.threads if threads is None else threads
    state = _State(folder, read_plan(folder), max_bicliques, progress, started, only, check)
    arguments = {"threads": _threads_a_task(threads, client), "backend": backend or settings.backend}
    searched = 0
    if state.left != 0 and state.waiting():
        folder.unpublish()
    for number, commit, error in _searched(store, run, state, client, arguments):
        searched += commit is not None
        state.finish(number, commit, error)
    state.raise_failures()
    state.trim()
    duration = time.perf_counter() - partitioned
    record = SearchRecord(
        run=run,
        bicliques=state.bicliques,
        digest=f"{sum(int(c.digest, 16) for c in state.commits.values()) & MASK:016x}",
        complete=state.complete,
        partitions=len(state.commits),
        searched=searched,
        seconds={
            "partition": round(partitioned - started, 6),
            "search": round(duration, 6),
        },
        busy={name: round(busy / duration, 4) for name, busy in sorted(state.busy.items())},
    )
    if state.cut_off and on_limit == "error":
        raise LimitReached(
            f"run {run}: the limit of {max_bicliques} bicliques was reached; what was found is in"
            " the store: raise max_bicliques, or ask for larger bicliques (min_left, min_right, min_edges)"
        )
    return record


def batches_of(store: Store, run: str) -> list[list[int]]:
    """Cut the partitions of a planned run in at most `BATCHES` batches of about equal cost, for retries and progress."""
    plan = read_plan(store.run(run))
    cost = np.bincount(plan.partition, weights=plan.cost)
    costliest_first = np.argsort(-cost, kind="stable").tolist()
    return [batch for batch in (costliest_first[i::BATCHES] for i in range(BATCHES)) if batch]


def run_plan(
    store: Store,
    run: str,
    cluster: ClusterSettings | None = None,
    progress: Callable[[SearchProgress], None] | None = None,
    *,
    threads: int | None = None,
    backend: str | None = None,
    **options: Any,
) -> SearchRecord:
    """Search a run on a cluster that is opened for it, or in this process where `cluster` is None.

    The other parameters, and what it returns and raises, are those of `search_run`.

    Examples
    --------
    >>> import fsspec
    >>> with fsspec.open("memory://pairs.csv", "w") as table:
    ...     for row in ("user,item", "ann,jam", "ann,tea", "bob,jam", "bob,tea", "cid,tea"):
    ...         print(row, file=table)
    >>> from pipeline.settings import IngestSettings, PlanSettings, SearchSettings
    >>> from pipeline.stages.ingest import ingest
    >>> from pipeline.stages.plan import plan
    >>> store = Store.open("memory://run-plan-example")
    >>> graph = ingest("memory://pairs.csv", store, IngestSettings()).graph
    >>> planned = plan(store, graph, SearchSettings(min_left=3), PlanSettings())
    >>> run_plan(store, planned.run).bicliques
    1
    """
    if cluster is None:
        return search_run(store, run, None, progress, threads=threads, backend=backend, **options)
    folder = store.run(run)
    asked = backend or search_settings(folder).backend
    with open_cluster(cluster, usable_backend(asked, paths=read_plan_record(folder).est_cost)) as client:
        return search_run(store, run, client, progress, threads=threads, backend=backend, **options)


class _State:
    """Commits, failures and progress of a run while it is searched."""

    def __init__(
        self,
        folder: RunFolder,
        plan: Plan,
        limit: int | None,
        progress: Callable[[SearchProgress], None] | None,
        started: float,
        only: list[int] | None,
        check: bool,
    ) -> None:
        self.folder = folder
        self.only = None if only is None else set(only)
        self.limit = limit
        self.progress = progress
        self.started = started
        size = int(plan.partition.max(initial=-1)) + 1
        self.roots = np.bincount(plan.partition, minlength=size)
        self.cost = np.bincount(plan.partition, weights=plan.cost, minlength=size)
        self.commits = _sound_commits(folder, check)
        self.done = {number for number, commit in self.commits.items() if commit.complete}
        self.bicliques = sum(commit.rows for commit in self.commits.values())
        self.searched: set[int] = set()
        self.failures: dict[int, str] = {}
        self.running: dict[int, kernels.Progress] = {}
        self.busy: dict[str, float] = {}  # seconds that each worker of a cluster searched
        self.report()

    @property
    def left(self) -> int | None:
        """Bicliques until the limit is reached."""
        return None if self.limit is None else max(self.limit - self.bicliques, 0)

    @property
    def complete(self) -> bool:
        """Whether every partition was searched to its end."""
        return len(self.commits) == self.roots.size and all(c.complete for c in self.commits.values())

    @property
    def cut_off(self) -> bool:
        """Whether the limit kept something from being searched, or the run held more before."""
        if self.limit is None:
            return False
        missing = self.left == 0 and len(self.commits) < self.roots.size
        return missing or self.bicliques > self.limit or not all(c.complete for c in self.commits.values())

    def waiting(self) -> list[int]:
        """Partitions to search: those that a limit had cut off, and then the costliest first."""
        numbers = np.argsort(-self.cost, kind="stable").tolist()
        wanted = self.only if self.only is not None else set(numbers)
        waiting = [number for number in numbers if number in wanted and number not in self.done]
        return sorted(waiting, key=lambda number: number not in self.commits)

    def room_for(self, number: int) -> int | None:
        """Bicliques that a partition may hold: what is left, and what it held when a limit cut it off."""
        held = self.commits[number].rows if number in self.commits else 0
        return None if self.left is None else self.left + held

    def finish(self, number: int, commit: Commit | None, error: str | None) -> None:
        """Note that a partition was committed, or why it was not."""
        self.running.pop(number, None)
        if commit is not None:
            self.bicliques += commit.rows - (self.commits[number].rows if number in self.commits else 0)
            self.commits[number] = commit
            self.done.add(number)
            self.searched.add(number)
        else:
            self.failures[number] = error or "unknown"
            self.folder.record_failure(number, self.failures[number])
        self.report()

    def advance(self, number: int, kernel: kernels.Progress) -> None:
        """Note how far the search of one partition is."""
        if number not in self.done:
            self.running[number] = kernel
            self.report()

    def report(self) -> None:
        """Tell the caller how far the run is, partitions that are being searched included."""
        if self.progress is None:
            return
        done = sorted(self.done)
        roots, cost, bicliques = int(self.roots[done].sum()), float(self.cost[done].sum()), self.bicliques
        for number, kernel in list(self.running.items()):
            roots += kernel.roots_done
            cost += self.cost[number] * kernel.roots_done / max(kernel.n_roots, 1)
            bicliques += kernel.bicliques
        self.progress(
            SearchProgress(
                partitions_done=len(done),
                partitions=int(self.roots.size),
                roots_done=roots,
                n_roots=int(self.roots.sum()),
                cost_done=int(cost),
                cost=int(self.cost.sum()),
                bicliques=bicliques,
                seconds=time.perf_counter() - self.started,
            )
        )

    def raise_failures(self) -> None:
        """Raise an error that names the partitions that failed."""
        if self.failures:
            named = "; ".join(f"partition {number}: {error}" for number, error in sorted(self.failures.items())[:5])
            raise BicliqError(
                f"{self.folder.uri}: {len(self.failures)} of {self.roots.size} partitions failed ({named});"
                " all others are committed: resume the run to search only these again"
            )

    def trim(self) -> None:
        """Cut what this call found beyond the limit off the last partitions."""
        for number in sorted(self.searched, reverse=True):
            surplus = 0 if self.limit is None else self.bicliques - self.limit
            if surplus <= 0:
                return
            commit = self.commits[number]
            self.commits[number] = keep_first(self.folder, commit, max(commit.rows - surplus, 0))
            self.bicliques -= commit.rows - self.commits[number].rows


def _sound_commits(folder: RunFolder, check: bool) -> dict[int, Commit]:
    """Commits of a run; a partition that is damaged loses its own, so that it is searched again."""
    found = folder.examine(check)
    for number, reason in found.damaged.items():
        LOGGER.warning("partition %d is searched again: %s", number, reason)
        folder.uncommit_partition(number)
    return found.sound


def _threads_a_task(threads: int, client: Any | None) -> int:
    """Threads of the kernel in one task: those asked for, or a machine's cores shared by its workers."""
    if threads or client is None:
        return threads
    hosts: dict[str, int] = {}
    for address, count in client.nthreads().items():
        host = address.rsplit(":", 1)[0]
        hosts[host] = hosts.get(host, 0) + count
    return max(kernels.available_threads() // max(hosts.values(), default=1), 1)


_Outcome = tuple[int, Commit | None, str | None]


def _searched(
    store: Store, run: str, state: _State, client: Any | None, arguments: dict[str, Any]
) -> Iterator[_Outcome]:
    """Search what is waiting and yield each partition's number with its commit or its error."""
    return (
        _searched_here(store, run, state, arguments)
        if client is None
        else _searched_on(client, store, run, state, arguments)
    )


def _searched_here(store: Store, run: str, state: _State, arguments: dict[str, Any]) -> Iterator[_Outcome]:
    for number in state.waiting():
        if state.left == 0:
            return
        commit, error = None, None
        advance = partial(state.advance, number)
        try:
            commit = search_partition(
                store.uri, run, number, max_bicliques=state.room_for(number), progress=advance, **arguments
            )
        except Exception as failure:
            error = _sentence(failure)
        yield number, commit, error


def _searched_on(client: Any, store: Store, run: str, state: _State, arguments: dict[str, Any]) -> Iterator[_Outcome]:
    """Keep the workers busy with a short queue, so that a limit stops what was not handed out."""
    waiting = iter(state.waiting())

    def submit(number: int) -> Any:
        options = {**arguments, "max_bicliques": state.room_for(number), "pure": False, "retries": RETRIES}
        return client.submit(_search_on_worker, store.uri, run, number, **options)

    def hear(event: tuple[float, dict[str, Any]]) -> None:
        number, *kernel = event[1]["progress"]
        state.advance(number, kernels.Progress(*kernel))

    client.subscribe_topic(_topic(run), hear)
    try:
        for number, future in hand_out(client, lambda: None if state.left == 0 else next(waiting, None), submit):
            if future.status != "finished":
                yield number, None, _reason(future)
                continue
            commit, worker = future.result()
            state.busy[worker] = state.busy.get(worker, 0.0) + commit.seconds
            yield number, commit, None
    finally:
        client.unsubscribe_topic(_topic(run))


def _search_on_worker(store_uri: str, run: str, number: int, **options: Any) -> tuple[Commit, str]:
    """Search a partition on a Dask worker, whose name is returned too, and tell the client now and then how far it is."""
    from distributed import get_worker

    worker = get_worker()
    told = float("-inf")

    def tell(kernel: kernels.Progress) -> None:
        nonlocal told
        if time.monotonic() - told >= TELL_SECONDS:
            told = time.monotonic()
            figures = (number, kernel.roots_done, kernel.n_roots, kernel.bicliques)
            worker.log_event(_topic(run), {"progress": figures})

    return search_partition(store_uri, run, number, progress=tell, **options), str(worker.name)


def _topic(run: str) -> str:
    return f"bicliq-search-{run}"


def _reason(future: Any) -> str:
    """Why a task failed, in words."""
    error = future.exception() if future.status == "error" else None
    return f"the task was {future.status}" if error is None else _sentence(error)


def _sentence(error: BaseException) -> str:
    """Return the text of our own errors, and of others their name, too."""
    return str(error) if isinstance(error, BicliqError) else f"{type(error).__name__}: {error}"
