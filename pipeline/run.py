"""The whole way: an edge table in, a published and resumable run out. Read this file first.

`STAGES` is the list that `bicliq run`, the Python functions with a store, the Prefect flows and
their deployments work through. A stage is a function of a `Job`: what it makes lies in the store
under a name that is given by what it is made of, so a stage that is called again finds it there.
One that is added to the list is worked through at its place by all of them (CONTRIBUTING.md, "Add a
stage"). Part of the list: a run of a graph of the store begins after `ingest`, `resume` after
`plan`; an update makes a version in its own way (`pipeline/versions`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, TypeAlias

from bicliq.pipeline.errors import BicliqError, InputError, PartitionsFailed
from bicliq.pipeline.events import tell
from bicliq.pipeline.formats import Edges, name_of
from bicliq.pipeline.lineage import lineage_told
from bicliq.pipeline.notify import failures_notified, notify_finished
from bicliq.pipeline.placement.cluster import StartedAhead
from bicliq.pipeline.placement.where import check_backends, cluster_ahead
from bicliq.pipeline.settings import SearchSettings, Settings
from bicliq.pipeline.stages.checks import check_input
from bicliq.pipeline.stages.forecast import Forecast, forecast
from bicliq.pipeline.stages.ingest import ingest
from bicliq.pipeline.stages.plan import OF_THE_CALL, check_in_step, plan, plan_run
from bicliq.pipeline.stages.planned import place_partitions
from bicliq.pipeline.stages.profile import profile
from bicliq.pipeline.stages.publish import publish, publish_in_part, standing
from bicliq.pipeline.stages.search_run import SearchProgress, SearchRecord, search_run
from bicliq.pipeline.store.account import Summary, account
from bicliq.pipeline.store.entries import Check, LargestOfRun
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.log import number_again
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
        Those of the input.
    expected
        What this call expected to find and to cost, before its search (`pipeline.stages.forecast`);
        None where there was nothing to search.
    in_step
        How long a window is, where `bicliques` are groups in step; None: they are bicliques.
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
    largest: LargestOfRun | None
    busy: dict[str, float]
    checks: list[Check]
    expected: Forecast | None
    in_step: str | None = None

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
    knows
        Asked of a run that was there whole: whether its end was told. If so nobody is told again.
    """

    stage: Callable[[str], None] = lambda name: None
    rows: Callable[[int, int], None] | None = None
    search: Callable[[SearchProgress], None] | None = None
    dashboard: Callable[[str], None] = lambda address: None
    expected: Callable[[Forecast], None] = lambda found: None
    planned: Callable[[str], None] = lambda run: None
    told: Callable[[dict[str, Any] | None], None] = lambda content: None
    knows: Callable[[str], bool] = lambda run: True


@dataclass
class Job:
    """What the stages of one call hand on: names and small records, never a table or a graph.

    Parameters
    ----------
    settings, observer, store
        What and how, whom to tell, where to.
    source
        The edge table; None where its graph is in the store.
    graph, read, checks
        Name of the graph, what its ingest read, and how that compares with earlier input.
    planned, expected, searched, manifest
        What the stages of these names found.
    stood
        Its manifest, where it was the latest run and whole before this call.
    ahead
        The cluster, where it starts while the table is read.
    seconds
        Duration of each stage.
    """

    settings: Settings
    observer: Observer
    store: Store
    source: Edges | None = None
    graph: str = ""
    read: Summary | None = None
    checks: list[Check] | None = None
    planned: PlanRecord | None = None
    expected: Forecast | None = None
    searched: SearchRecord | None = None
    manifest: Manifest | None = None
    stood: Manifest | None = None
    ahead: StartedAhead | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def run(self) -> str:
        """Name of the run, once it is planned."""
        assert self.planned is not None
        return self.planned.run

    @property
    def unchanged(self) -> bool:
        """Whether the run was there whole, and the latest one, before this call."""
        return self.stood is not None and self.searched is not None and not self.searched.searched


def ingest_table(job: Job) -> None:
    """Edge table to canonical graph."""
    asked, limit = job.settings, job.settings.search.memory_limit
    assert job.source is not None
    how: Any = {"backend": asked.data_backend, "memory_limit": limit, "in_step": True}
    found = ingest(job.source, job.store, asked.ingest, job.observer.rows, **how)
    job.graph, job.read = found.graph, found.summary


def profile_graph(job: Job) -> None:
    """Degrees, two-step work, components: what a report shows."""
    profile(job.store, job.graph, job.settings.data_backend, job.settings.search.memory_limit)


def plan_graph(job: Job) -> None:
    """Side, order, partitions."""
    asked, limit = job.settings, job.settings.search.memory_limit
    where = asked.data_backend, asked.cluster
    job.planned = plan(
        job.store, job.graph, asked.search, asked.plan, *where, publish=asked.publish, memory_limit=limit
    )


def check(job: Job) -> None:
    """Refuse an input that fails its checks, and a run that does not fit its disk or its limits."""
    assert job.planned is not None
    if job.read is not None:
        job.checks = check_input(job.store, job.run, job.read, job.settings.checks)
    job.observer.planned(job.run)
    job.expected = forecast(job.store, job.planned, job.settings)
    if job.expected is not None:
        job.observer.expected(job.expected)


def search(job: Job) -> None:
    """Search what is not committed; partitions that fail keep no other from being searched."""
    assert job.planned is not None
    folder, placement = job.store.run(job.run), place_partitions(job.planned, job.settings)
    job.stood = standing(folder)
    # of a whole run nothing is handed out
    workers = placement.opened(job.ahead) if job.stood is None else nullcontext()
    with folder.claim_run(job.settings.second_run), workers as client:
        if client is not None:
            job.observer.dashboard(client.dashboard_link)
        options = call_options(job.settings.search)
        job.searched = search_run(job.store, job.run, client, job.observer.search, placement=placement, **options)


def publish_run(job: Job) -> None:
    """Write the manifest: the run is now whole, or says which limit ended it."""
    assert job.searched is not None
    if job.unchanged:
        job.manifest = job.stood
        number_again(job.store.run(job.run))
    else:
        job.manifest = publish(job.store, job.run, limited_by=job.searched.limited_by)


def verify_run(job: Job) -> None:
    """Read all that was written again, and fail at any problem."""
    from bicliq.pipeline.stages.verify import verify  # for those who ask

    found = verify(job.store, job.run)
    if not found.ok:
        number = len(found.problems)
        raise BicliqError(f"run {job.run}: {number} problem{'s' * (number > 1)}: {'; '.join(found.problems[:5])}")
    tell("run verified", run=job.run, files=found.partitions)


Stages: TypeAlias = "dict[str, Callable[[Any], None]]"

STAGES: Stages = {
    "ingest": ingest_table,
    "profile": profile_graph,
    "plan": plan_graph,
    "check": check,
    "search": search,
    "publish": publish_run,
    "verify": verify_run,
}
IF_ASKED = {"profile", "verify"}
"""Stages that are worked through only by who names them."""

Call: TypeAlias = "Callable[[str, Callable[[], None]], None]"
"""How a stage is called, given its name and itself: as it is, or as a task of Prefect."""


def as_it_is(name: str, stage: Callable[[], None]) -> None:
    """Call a stage in the caller's thread, once."""
    stage()


@contextmanager
def timed(name: str, observer: Observer, seconds: dict[str, float]) -> Iterator[None]:
    """Tell of a stage as it starts, and note its duration."""
    observer.stage(name)
    started = time.perf_counter()
    yield
    seconds[name] = round(time.perf_counter() - started, 6)


def work_through(job: Job, stages: Stages, call: Call = as_it_is) -> None:
    """Call stages in turn."""
    for name, stage in stages.items():
        with timed(name, job.observer, job.seconds):
            call(name, partial(stage, job))


def chosen(*names: str) -> Stages:
    """Return some of the stages."""
    return {name: STAGES[name] for name in names}


def between(after: str | None, before: str | None, asked: Container[str] = ()) -> Stages:
    """Return the stages after one and before another; of those of `IF_ASKED` what is asked for."""
    names = list(STAGES)
    start, stop = names.index(after) + 1 if after else 0, names.index(before) if before else None
    return chosen(*(name for name in names[start:stop] if name not in IF_ASKED or name in asked))


def run(
    source: Edges,
    settings: Settings,
    observer: Observer | None = None,
    *,
    verify: bool = False,
    call: Call = as_it_is,
    lineage: str | None = None,
) -> RunSummary:
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
    verify
        Whether to read all results again and check them.
    call
        How each stage is called.
    lineage
        A UUID by which OpenLineage knows this call; None: a new one.

    Raises
    ------
    InputError, StorageError
        At bad input; nothing is then published.
    LimitReached
        Where `max_bicliques` was reached and the settings ask for an error.
    """
    name = name_of(source)
    with failures_notified(settings, name), lineage_told(settings, name, lineage) as told:
        if settings.ingest.in_step is not None:
            check_in_step(settings.search, settings.publish)
        check_machines(settings)
        job = Job(settings, observer or Observer(), Store.open(settings.store), source=source)
        with cluster_ahead(settings) as job.ahead:
            work_through(job, between(None, "search"), call)
            found = finish(job, verify=verify, call=call)
        told.finished(found.record())
    return found


def run_graph(
    graph: str,
    settings: Settings,
    observer: Observer | None = None,
    *,
    verify: bool = False,
    call: Call = as_it_is,
    lineage: str | None = None,
) -> RunSummary:
    """Take a graph that is in the store already (its name, or how that begins) as `run` does."""
    store = Store.open(settings.store, create=False)
    name = store.find_graph(graph)
    with failures_notified(settings, name), lineage_told(settings, store.graph(name).uri, lineage) as told:
        check_machines(settings)
        job = Job(settings, observer or Observer(), store, graph=name)
        work_through(job, between("ingest", "search"), call)
        found = finish(job, verify=verify, call=call)
        told.finished(found.record())
    return found


def resume(run_id: str, settings: Settings, observer: Observer | None = None) -> RunSummary:
    """Do what is missing or damaged of a planned run, and publish it.

    The thresholds are those of the run; threads, backends, cluster and a limit are those of the
    settings.
    """
    source = f"{settings.store.rstrip('/')}/runs/{run_id}"
    with failures_notified(settings, f"run {run_id}"), lineage_told(settings, source) as told:
        check_machines(settings)
        job = Job(settings, observer or Observer(), Store.open(settings.store, create=False))
        job.planned = _planned(job.store, run_id, settings)
        work_through(job, between("plan", "search"))
        found = finish(job)
        told.finished(found.record())
    return found


def _planned(store: Store, run_id: str, settings: Settings) -> PlanRecord:
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
    return plan_run(store, run_id, settings.data_backend, settings.cluster, settings.search.memory_limit)


def check_machines(settings: Settings) -> None:
    """Refuse backends that this machine, or the cluster, has not."""
    search = settings.search
    check_backends(settings.data_backend, search.backend, search.threads, cluster=settings.cluster, starts=True)


def finish(job: Job, *, verify: bool = False, call: Call = as_it_is) -> RunSummary:
    """Search what is not committed of a planned and checked run, and publish it.

    Where partitions fail, what was found is published as not complete, and the error is raised. Of
    a run that was there whole, and the latest one, nobody is told again.
    """
    try:
        work_through(job, chosen("search"), call)
    except PartitionsFailed as failed:
        publish_in_part(job.store, job.run, failed.limited_by)
        raise
    work_through(job, between("search", None, {"verify"} if verify else ()), call)
    assert job.searched is not None
    found = summary(job)
    if job.unchanged and job.observer.knows(job.run):
        tell("nothing changed", run=job.run, published=job.stood and job.stood.created)
    else:
        job.observer.told(notify_finished(job.settings, found.record()))
    return found


def summary(job: Job) -> RunSummary:
    """Put together what the stages found."""
    manifest, searched = job.manifest, job.searched
    assert manifest is not None
    assert searched is not None
    assert job.planned is not None
    return RunSummary(
        run=manifest.run,
        graph=manifest.graph,
        store=job.store.uri,
        output=f"{job.store.run(manifest.run).uri}/bicliques",
        bicliques=manifest.bicliques,
        digest=manifest.digest,
        complete=manifest.complete,
        limited_by=manifest.limited_by,
        n_left=manifest.n_left,
        n_right=manifest.n_right,
        n_edges=manifest.n_edges,
        partitions=manifest.partitions,
        searched=searched.searched,
        bytes=manifest.bytes,
        backend=manifest.backend,
        threads=manifest.threads,
        placement=place_partitions(job.planned, job.settings).record(),
        seconds={**job.seconds, "total": round(sum(job.seconds.values()), 6)},
        ingest=None if job.read is None else job.read.record(),
        largest=manifest.largest,
        busy=searched.busy,
        checks=manifest.checks if job.checks is None else job.checks,
        expected=job.expected,
        in_step=job.store.run(job.run).asked.in_step,
    )


def call_options(search: SearchSettings) -> dict[str, Any]:
    """Arguments of `search_run` that are those of a call, not of the run."""
    return {name: getattr(search, name) for name in OF_THE_CALL}
