"""The whole way: an edge table in, a published and resumable run out; each stage is one call."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import kernels
from pipeline.errors import InputError
from pipeline.placement.cluster import open_cluster
from pipeline.settings import SearchSettings, Settings
from pipeline.stages.ingest import GraphRecord, ingest
from pipeline.stages.plan import PlanRecord, plan, plan_run, read_plan_record
from pipeline.stages.profile import profile
from pipeline.stages.publish import publish
from pipeline.stages.search import usable_backend
from pipeline.stages.search_run import SearchProgress, SearchRecord, search_run
from pipeline.store.layout import Store
from pipeline.store.manifest import Manifest


@dataclass(frozen=True)
class RunSummary:
    """What a run found, and what it took.

    Parameters
    ----------
    run, graph, store
        Names of the run and of its graph, and the URL of the store.
    output
        URL of the folder of its Parquet files.
    bicliques, digest, complete
        Their number, their set digest (16 hex digits), and whether no limit cut the search off.
    n_left, n_right, n_edges
        Size of the ingested graph.
    partitions, searched
        Partitions of the run, and those among them that this call searched.
    bytes
        Size of the Parquet files.
    backend, threads
        What the kernels ran on: the backend, and threads on this machine.
    seconds
        Duration of each stage of this call, and ``total``.
    ingest
        What ingest read, united and dropped; None where the graph was in the store before.
    largest
        The biclique with most edges: n_left, n_right, n_edges.
    busy
        Share of the search in which each worker of the cluster searched.
    """

    run: str
    graph: str
    store: str
    output: str
    bicliques: int
    digest: str
    complete: bool
    n_left: int
    n_right: int
    n_edges: int
    partitions: int
    searched: int
    bytes: int
    backend: str
    threads: int
    seconds: dict[str, float]
    ingest: dict[str, Any] | None
    largest: dict[str, int] | None
    busy: dict[str, float]

    def record(self) -> dict[str, Any]:
        """Plain record for JSON."""
        return asdict(self)


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
    """

    stage: Callable[[str], None] = lambda name: None
    rows: Callable[[int, int], None] | None = None
    search: Callable[[SearchProgress], None] | None = None
    dashboard: Callable[[str], None] = lambda address: None


def run(source: str, settings: Settings, observer: Observer | None = None) -> RunSummary:
    """Take an edge table all the way to published bicliques.

    Parameters
    ----------
    source
        Path or fsspec URL of the edge table.
    settings
        Where to, what and how. The same table and settings give the same run, which is then resumed.
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
    observer = observer or Observer()
    check_backend(settings.search)
    clock = StageClock(observer)
    store = Store.open(settings.store)
    with clock("ingest"):
        graph = ingest(source, store, settings.ingest, observer.rows, settings.data_backend)
    with clock("profile"):
        profile(store, graph.graph, settings.data_backend)
    with clock("plan"):
        asked = settings.search, settings.plan, settings.data_backend, settings.cluster
        planned = plan(store, graph.graph, *asked)
    return finish(store, planned, settings, observer, clock.seconds, graph)


def resume(run_id: str, settings: Settings, observer: Observer | None = None) -> RunSummary:
    """Do what is missing or damaged of a planned run, and publish it.

    The thresholds are those of the run; threads, backend, cluster and a limit are those of the settings.
    """
    store = Store.open(settings.store, create=False)
    folder = store.run(run_id)
    if not folder.exists():
        raise InputError(f"{folder.uri}: there is no such run; the store has: {', '.join(store.runs()) or 'none'}")
    if folder.read_record("run.json")["asks"] != "bicliques":
        raise InputError(f"{folder.uri}: this run is a count; it goes on when `bicliq count` asks the same again")
    planned = plan_run(store, run_id, settings.data_backend, settings.cluster)
    return finish(store, planned, settings, observer or Observer(), {}, None)


def check_backend(search: SearchSettings) -> None:
    """Refuse a backend that cannot enumerate here before anything is read."""
    if search.backend == "cuda":
        reason = kernels.why_not("cuda")
        if reason is not None:
            raise kernels.BackendError(f"backend 'cuda' cannot run here: {reason}")


def finish(
    store: Store,
    planned: PlanRecord,
    settings: Settings,
    observer: Observer,
    seconds: dict[str, float],
    graph: GraphRecord | None,
) -> RunSummary:
    """Search what is not committed of a planned run, and publish it."""
    clock = StageClock(observer, seconds)
    with clock("search"):
        searched = _search(store, planned, settings, observer)
    with clock("publish"):
        manifest = publish(store, planned.run, settings.search.max_bicliques)
    return summary(store, manifest, searched.searched, settings, clock.seconds, graph, searched.busy)


def summary(
    store: Store,
    manifest: Manifest,
    searched: int,
    settings: Settings,
    seconds: dict[str, float],
    graph: GraphRecord | None,
    busy: dict[str, float] | None = None,
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
        n_left=manifest.n_left,
        n_right=manifest.n_right,
        n_edges=manifest.n_edges,
        partitions=manifest.partitions,
        searched=searched,
        bytes=manifest.bytes,
        backend=usable_backend(settings.search.backend, paths=read_plan_record(store.run(manifest.run)).est_cost),
        threads=settings.search.threads or kernels.available_threads(),
        seconds={**seconds, "total": round(sum(seconds.values()), 6)},
        ingest=None if graph is None else graph.summary,
        largest=manifest.largest,
        busy=busy or {},
    )


def _search(store: Store, planned: PlanRecord, settings: Settings, observer: Observer) -> SearchRecord:
    run_id = planned.run
    options = call_options(settings.search)
    if settings.cluster.is_local(planned.est_cost):
        return search_run(store, run_id, None, observer.search, **options)
    with open_cluster(settings.cluster, usable_backend(settings.search.backend, paths=planned.est_cost)) as client:
        observer.dashboard(client.dashboard_link)
        return search_run(store, run_id, client, observer.search, **options)


def call_options(search: SearchSettings) -> dict[str, Any]:
    """Arguments of `search_run` that are those of a call, not of the run."""
    return {name: getattr(search, name) for name in ("threads", "backend", "max_bicliques", "on_limit", "check")}


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
