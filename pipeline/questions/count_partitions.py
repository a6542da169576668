"""The partitions of a planned run, counted instead of searched, here or on a cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from bicliq import kernels
from bicliq.pipeline.errors import BackendError, BicliqError, sentence
from bicliq.pipeline.events import warn
from bicliq.pipeline.graphs.bipartite import read_graph, stored_edges, stored_sizes
from bicliq.pipeline.graphs.reduce import reduce
from bicliq.pipeline.placement.cluster import StartedAhead
from bicliq.pipeline.placement.tasks import Here, hand_out
from bicliq.pipeline.placement.watching import Watched, standing
from bicliq.pipeline.placement.where import CPU_SEARCH, Place, Placement, place_graph
from bicliq.pipeline.placement.work import WORK
from bicliq.pipeline.questions.count_asked import NOT_WORTH, CountAsked
from bicliq.pipeline.questions.count_tables import vertex_table
from bicliq.pipeline.settings import Settings
from bicliq.pipeline.stages.limits import GraphNeeds, MemoryRoom, of_a_run
from bicliq.pipeline.stages.partition import Partition, cut_partitions, ready_partition
from bicliq.pipeline.stages.plan import plan
from bicliq.pipeline.stages.planned import place_partitions, read_plan
from bicliq.pipeline.stages.search_run import SearchProgress
from bicliq.pipeline.store.counts import commit_count, examine_counts, vertices_name
from bicliq.pipeline.store.layout import RunFolder, Store
from bicliq.pipeline.store.records import PartitionCounts

NEEDED_SETTINGS: dict[str, Any] = {"min_edges": 1}
"""What a count asks of a run's plan besides p, q and the side: nothing."""


CHOSEN = GraphNeeds(edge=24, vertex=96)


def of_a_count(edges: int, vertices: int) -> int:
    """Bytes that a count in a store holds at most after its table was read.

    Examples
    --------
    >>> of_a_count(100_000_000, 10_000_000) >> 20
    3268
    """
    return max(CHOSEN.of(edges, vertices), of_a_run(edges, vertices))


def plan_count(store: Store, graph: str, asked: CountAsked, settings: Settings) -> tuple[str, str]:
    """Plan the run whose partitions are counted; returns its name and the search of all of them."""
    limit = settings.search.memory_limit
    folder = store.graph(graph)
    MemoryRoom.within(limit).require(CHOSEN.of(*stored_sizes(folder)), f"{folder.uri}: to choose how to count")
    place = place_graph(settings.data_backend, stored_edges(folder))
    core = place.run(lambda backend: reduce(read_graph(folder, backend), *asked.least).on_host()).graph
    method, side = kernels.choose_count(
        core.indptr,
        core.indices,
        core.n_right,
        min(asked.p, 2) if asked.all_sizes else asked.p,
        min(asked.q, 2) if asked.all_sizes else asked.q,
        method=_partition_method(asked),
        side=settings.search.side,
        threads=settings.search.threads,
        backend="cuda" if settings.search.backend == "cuda" else "cpu",
    )
    least_p, least_q = asked.least
    bounded = {"min_left": min(least_p, 2**31 - 1), "min_right": min(least_q, 2**31 - 1), "side": side}
    search = settings.search.model_copy(update={**bounded, **NEEDED_SETTINGS})
    del core
    where = settings.data_backend, settings.cluster
    planned = plan(store, graph, search, settings.plan, *where, asks="counts", memory_limit=limit)
    return planned.run, method


def count_partitions(
    store: Store,
    run: str,
    asked: CountAsked,
    method: str,
    settings: Settings,
    progress: Callable[[SearchProgress], None] | None = None,
    dashboard: Callable[[str], None] = lambda address: None,
    ahead: StartedAhead | None = None,
) -> int:
    """Count the partitions of a planned run that are not counted yet, or damaged.

    `store`, `run`, `asked`, `method`: the run, the question, and the search of its partitions
    (`plan_count`). `settings`: where and on how many threads, and whether files that are there are
    checked. `progress`: called in the thread of the caller: as the count begins, and as each
    partition ends. `dashboard`: called with the address of the Dask dashboard, where a cluster
    counts. `ahead`: a cluster that is starting already. Returns how many this call counted. Raises
    BicliqError where partitions failed, after all others were counted; or where the cluster was
    lost.
    """
    placement = place_partitions(store.run(run).planned, settings, not_worth=NOT_WORTH)
    with store.run(run).claim_run(settings.second_run), placement.opened(ahead) as client:
        if client is not None:
            dashboard(client.dashboard_link)
        cut_partitions(store, run, client, placement, settings.search.memory_limit)
        return _count_missing(store, run, asked, method, placement, client, progress, settings.search.check)


def _count_missing(
    store: Store,
    run: str,
    asked: CountAsked,
    method: str,
    placement: Placement,
    client: Any | None,
    progress: Callable[[SearchProgress], None] | None,
    check: bool,
) -> int:
    """Count what is missing, the costliest partitions first."""
    started = time.perf_counter()
    folder, planned = store.run(run), read_plan(store.run(run))
    cost = np.bincount(planned.partition, weights=planned.cost)
    roots = np.bincount(planned.partition)
    sound, damaged = examine_counts(folder, asked.key, check)
    for number, reason in damaged.items():
        warn("partition is counted again", run=run, partition=number, reason=reason)
        folder.remove(PartitionCounts.name(asked.key, number))
    waiting = [n for n in np.argsort(-cost, kind="stable").tolist() if n not in sound]
    done, failures = set(range(cost.size)) - set(waiting), dict[int, str]()
    watched, running = Watched(client, run, "counts"), set[int]()

    def how_far() -> dict[str, Any]:
        return standing(cost, done, dict.fromkeys(running - failures.keys(), 0.0), failures)

    def report() -> None:
        watched.tell(how_far)
        if progress is not None:
            chosen = sorted(done)
            figures = (int(roots[chosen].sum()), int(roots.sum()), int(cost[chosen].sum()), int(cost.sum()))
            progress(SearchProgress(len(done), cost.size, *figures, 0, time.perf_counter() - started, how_far()))

    report()
    tasks = ((number, partial(_count, store.uri, run, number, asked, method, placement)) for number in waiting)
    for ended in hand_out(client, lambda: next(tasks, None), running.add):
        if ended.error is None:
            done.add(ended.number)
        else:
            failures[ended.number] = sentence(ended.error)
        report()
    watched.tell(how_far, last=True)
    if failures:
        named = "; ".join(f"partition {number}: {error}" for number, error in sorted(failures.items())[:5])
        raise BicliqError(
            f"{folder.uri}: {len(failures)} of {cost.size} partitions failed ({named}); all others are counted: run"
            " the same command again to count only these"
        )
    return len(waiting)


def _count(
    store_uri: str, run: str, number: int, asked: CountAsked, method: str, placement: Placement, here: Here
) -> int:
    here.tell(number)
    with WORK.on(number):
        return count_partition(store_uri, run, number, asked, method, here.threads(placement.threads), placement.search)


def count_partition(
    store_uri: str,
    run: str,
    number: int,
    asked: CountAsked,
    method: str,
    threads: int = 1,
    place: Place = CPU_SEARCH,
) -> int:
    """Count one partition and commit its counts, unless it was counted; returns its number."""
    folder = Store.open(store_uri, create=False).run(run)
    with folder.claim(f"{asked.key}-{number:05d}"):
        if not folder.has(PartitionCounts.name(asked.key, number)):
            _count_and_commit(folder, number, asked, method, threads, place)
    return number


def _count_and_commit(
    folder: RunFolder, number: int, asked: CountAsked, method: str, threads: int, place: Place
) -> None:
    started = time.perf_counter()
    part = ready_partition(folder, number)
    csr = (part.indptr, part.indices, part.n_right)
    options: dict[str, Any] = {"side": part.side, "roots": part.roots, "threads": threads}
    files = []
    found: kernels.CountResult | kernels.CountTable
    if asked.all_sizes:
        found = place.run(
            lambda backend: kernels.count_all_bicliques(*csr, asked.p, asked.q, backend=backend, **options)
        )
        counts = found.counts
    else:
        options["per_vertex"] = asked.vertices
        found = place.run(lambda backend: _count_one(part, asked, method, backend, options))
        counts = {(asked.p, asked.q): found.count}
        if asked.vertices:
            for side, ids, values in (
                ("left", part.left_ids, found.left_counts),
                ("right", part.right_ids, found.right_counts),
            ):
                name = vertices_name(asked.key, number, side)
                files.append(folder.write_table(name, vertex_table(ids, values)))
    record = PartitionCounts(
        stored=tuple(files),
        partition=number,
        plan=folder.planned.digest,
        counts=[(p, q, str(count)) for (p, q), count in counts.items() if count],
        method=method,
        backend=found.backend,
        threads=found.threads,
        seconds=round(time.perf_counter() - started, 6),
        kernel_seconds={part: round(seconds, 6) for part, seconds in found.seconds.items()},
    )
    commit_count(folder, asked.key, record)


def _count_one(
    part: Partition, asked: CountAsked, method: str, backend: str, options: dict[str, Any]
) -> kernels.CountResult:
    """Count one (p, q); where levels were chosen and do not fit on a GPU, by pivots."""

    def count(by: Any) -> kernels.CountResult:
        graph = part.indptr, part.indices, part.n_right
        return kernels.count_bicliques(*graph, asked.p, asked.q, method=by, backend=backend, **options)

    try:
        return count(method)
    except BackendError:
        if backend == "cpu" or asked.method != "auto" or method == "pivot":
            raise
    return count("pivot")


def _partition_method(asked: CountAsked) -> Literal["auto", "levels", "pivot"]:
    """The search of partitions, as far as it is prescribed; butterflies count whole graphs only."""
    if asked.all_sizes or asked.vertices or asked.method == "pivot":
        return "pivot"
    return "levels" if asked.method == "levels" else "auto"
