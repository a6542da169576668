"""The whole way: an edge table in, a published and resumable run out; each stage is one call."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from bicliq.pipeline.errors import InputError, PartitionsFailed
from bicliq.pipeline.events import tell
from bicliq.pipeline.formats import Edges, name_of
from bicliq.pipeline.lineage import lineage_told
from bicliq.pipeline.notify import failures_notified, notify_finished
from bicliq.pipeline.placement.where import Placement, check_backends
from bicliq.pipeline.settings import SearchSettings, Settings
from bicliq.pipeline.stages.checks import check_input
from bicliq.pipeline.stages.forecast import forecast
from bicliq.pipeline.stages.ingest import ingest
from bicliq.pipeline.stages.plan import OF_THE_CALL, plan, plan_run
from bicliq.pipeline.stages.planned import place_partitions
from bicliq.pipeline.stages.profile import profile
from bicliq.pipeline.stages.publish import publish, publish_in_part
from bicliq.pipeline.stages.search_run import SearchProgress, search_run
from bicliq.pipeline.store.account import account
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.log import numbered_latest
from bicliq.pipeline.store.records import Manifest, PlanRecord


@dataclass(frozen=True)
class RunSummary:
    """What a run found, and what it took.

    Parameters
    ----------
    run, graph, store
        Names of the run and of its graph, and the URL of the store.
    output
        URL of the folder of its Parquet files.
    bicliques, digest, complete, limited_by
        Their number, their set digest (16 hex digits), whether no limit cut the search off, and
        which one did, by its name.
    n_left, n_right, n_edges
        Size of the ingested graph.
    partitions, searched
        Partitions of the run, and those among them that this call searched.
    bytes
        Size of the Parquet files.
    backend, threads
        What the partitions ran on, as their commits say: "cpu-avx2", "cuda", or "cuda 30, cpu-avx2
        2" with numbers of partitions; and the most threads (on a GPU warps) that searched one.
    placement
        Where this call decided to cut and search partitions, and why, in words: ``data``,
        ``search``, ``partitions``.
    seconds
        Duration of each stage of this call, and ``total``.
    ingest
        What ingest read, united and dropped; None where the graph was in the store before.
    largest
        The biclique with most edges: n_left, n_right, n_edges.
    busy
        Share of the search in which each worker of the cluster searched.
    checks
        One record a check of the input (`pipeline.stages.checks.Check`).
    expected
        What this call expected to find and to cost, before its search (`pipeline.stages.forecast`);
        None where there was nothing to search.
    """

    run: str
    graph: str
    store: str
    output: str
    bicliques: int
    digest: str
    complete: bool
    limited_by: str | None
    n_left: int
    n_right: int
    n_edges: int
    partitions: int
    searched: int
    bytes: int
    backend: str
    threads: int
    placement: dict[str, str]
    seconds: dict[str, float]
    ingest: dict[str, Any] | None
    largest: dict[str, int] | None
    busy: dict[str, float]
    checks: list[dict[str, Any]]
    expected: dict[str, Any] | None

    def record(self) -> dict[str, Any]:
        """Plain record for JSON."""
        return {**asdict(self), **({} if self.ingest is None else account(self.ingest))}


@dataclass(frozen=True)
class Observer:
    """Whom to tell how far the work is; every part may be left out.

    Parameters
    ----------
    stage
        Called with the name of each stage as it starts.
    rows
        Called with the rows read and the bytes of the file while it is ingested.
    search
        Called while the partitions are searched.
    dashboard
        Called with the address of the Dask dashboard.
    expected
        Called before the search with what it is expected to find and to cost.
    planned
        Called with the name of the run as soon as it is planned and checked, before its search.
    told
        Called at the end with what a notification says; None: the end is not worth one.
    """

    stage: Callable[[str], None] = lambda name: None
    rows: Callable[[int, int], None] | None = None
    search: Callable[[SearchProgress], None] | None = None
    dashboard: Callable[[str], None] = lambda address: None
    expected: Callable[[dict[str, Any]], None] = lambda record: None
    planned: Callable[[str], None] = lambda run: None
    told: Callable[[dict[str, Any] | None], None] = lambda content: None


def run(source: Edges, settings: Settings, observer: Observer | None = None) -> RunSummary:
    """Take an edge table all the way to published bicliques.

    Parameters
    ----------
    source
        Path or fsspec URL of the edge table, or a table in memory (`pipeline.formats.tables`).
    settings
        Where to, what and how. The same table and settings give the same run, which is then
        resumed.
    observer
        Whom to tell how far the work is.

    Returns
    -------
    RunSummary

    Raises
    ------
    InputError, StorageError
        At bad input; nothing is then published.
    LimitReached
        Where `max_bicliques` was reached and the settings ask for an error.
    """
    name = name_of(source)
    with failures_notified(settings, name), lineage_told(settings, name) as told:
        found = _run(source, settings, observer or Observer())
        told.finished(found.record())
    return found


def _run(source: Edges, settings: Settings, observer: Observer) -> RunSummary:
    check_backends(
        settings.data_backend,
        settings.search.backend,
        settings.search.threads,
        cluster=settings.cluster,
    )
    clock = StageClock(observer)
    store = Store.open(settings.store)
    with clock("ingest"):
        graph = ingest(
            source, store, settings.ingest, observer.rows, settings.data_backend, settings.search.memory_limit
        )
    with clock("profile"):
        profile(store, graph.graph, settings.data_backend, settings.search.memory_limit)
    with clock("plan"):
        asked = settings.search, settings.plan, settings.data_backend, settings.cluster
        limit = settings.search.memory_limit
        planned = plan(store, graph.graph, *asked, publish=settings.publish, memory_limit=limit)
        check_input(store, planned.run, graph.summary, settings.checks)
        observer.planned(planned.run)
    return finish(store, planned, settings, observer, clock.seconds, graph.summary)


def resume(run_id: str, settings: Settings, observer: Observer | None = None) -> RunSummary:
    """Do what is missing or damaged of a planned run, and publish it.

    The thresholds are those of the run; threads, backends, cluster and a limit are those of the
    settings.
    """
    source = f"{settings.store.rstrip('/')}/runs/{run_id}"
    with failures_notified(settings, f"run {run_id}"), lineage_told(settings, source) as told:
        found = _resume(run_id, settings, observer or Observer())
        told.finished(found.record())
    return found


def _resume(run_id: str, settings: Settings, observer: Observer) -> RunSummary:
    check_backends(
        settings.data_backend,
        settings.search.backend,
        settings.search.threads,
        cluster=settings.cluster,
    )
    store = Store.open(settings.store, create=False)
    folder = store.run(run_id)
    if not folder.exists():
        raise InputError(f"{folder.uri}: there is no such run; the store has: {', '.join(store.runs()) or 'none'}")
    asked = folder.record()
    if asked.layered is not None:
        raise InputError(
            f"{folder.uri}: this run is a version that an update committed whole; there is nothing to resume"
        )
    if asked.asks != "bicliques":
        raise InputError(f"{folder.uri}: this run is a count; it goes on when `bicliq count` asks the same again")
    planned = plan_run(store, run_id, settings.data_backend, settings.cluster, settings.search.memory_limit)
    return finish(store, planned, settings, observer, {}, None)


def finish(
    store: Store,
    planned: PlanRecord,
    settings: Settings,
    observer: Observer,
    seconds: dict[str, float],
    read: dict[str, Any] | None,
) -> RunSummary:
    """Search what is not committed of a planned run, and publish it.

    Where partitions fail, what was found is published as not complete, and the error is raised. Of
    a run that was there whole, and the latest one, nobody is told again.
    """
    clock = StageClock(observer, seconds)
    if (expected := forecast(store, planned, settings)) is not None:
        observer.expected(expected)
    placement, asked = place_partitions(planned, settings), call_options(settings.search)
    before = store.run(planned.run).manifest()
    stood = before is not None and before.complete and numbered_latest(store) == planned.run
    claim = store.run(planned.run).claim_run(settings.second_run)
    try:
        with clock("search"), claim, placement.opened() as client:
            if client is not None:
                observer.dashboard(client.dashboard_link)
            searched = search_run(store, planned.run, client, observer.search, placement=placement, **asked)
    except PartitionsFailed as failed:
        publish_in_part(store, planned.run, failed.limited_by)
        raise
    with clock("publish"):
        manifest = publish(store, planned.run, limited_by=searched.limited_by)
    found = summary(store, manifest, searched.searched, placement, clock.seconds, read, searched.busy, expected)
    if stood and not searched.searched:
        tell("nothing changed", run=planned.run, published=before and before.created)
    else:
        observer.told(notify_finished(settings, found.record()))
    return found


def summary(
    store: Store,
    manifest: Manifest,
    searched: int,
    placement: Placement,
    seconds: dict[str, float],
    read: dict[str, Any] | None,
    busy: dict[str, float] | None = None,
    expected: dict[str, Any] | None = None,
) -> RunSummary:
    """Put the records of the stages together."""
    return RunSummary(
        run=manifest.run,
        graph=manifest.graph,
        store=store.uri,
        output=f"{store.run(manifest.run).uri}/bicliques",
        bicliques=manifest.bicliques,
        digest=manifest.digest,
        complete=manifest.complete,
        limited_by=manifest.limited_by,
        n_left=manifest.n_left,
        n_right=manifest.n_right,
        n_edges=manifest.n_edges,
        partitions=manifest.partitions,
        searched=searched,
        bytes=manifest.bytes,
        backend=manifest.backend,
        threads=manifest.threads,
        placement=placement.record(),
        seconds={**seconds, "total": round(sum(seconds.values()), 6)},
        ingest=read,
        largest=manifest.largest,
        busy=busy or {},
        checks=manifest.checks,
        expected=expected,
    )


def call_options(search: SearchSettings) -> dict[str, Any]:
    """Arguments of `search_run` that are those of a call, not of the run."""
    return {name: getattr(search, name) for name in OF_THE_CALL}


class StageClock:
    """Times the stages (wall seconds, in `seconds`), and names each to the observer."""

    def __init__(self, observer: Observer | None = None, seconds: dict[str, float] | None = None) -> None:
        self.seconds = dict(seconds or {})
        self._observer = observer or Observer()
        self._name = ""
        self._started = 0.0

    def __call__(self, name: str) -> StageClock:
        """Name the stage that is entered next."""
        self._name = name
        return self

    def __enter__(self) -> None:
        self._observer.stage(self._name)
        self._started = time.perf_counter()

    def __exit__(self, *exception: object) -> None:
        self.seconds[self._name] = round(time.perf_counter() - self._started, 6)
