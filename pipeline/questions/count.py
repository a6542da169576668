"""Count (p,q)-bicliques of an edge table: in memory, or partition by partition into the store.

A count in the store is a planned run (thresholds p and q, so that the graph is reduced to what can
hold one) whose partitions are counted instead of searched (`count_partitions`). Every
(p,q)-biclique belongs to its first vertex in the order of the plan, so the partitions' counts add
up (`count_tables`).
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from bicliq import kernels
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.events import tell
from bicliq.pipeline.formats import Edges
from bicliq.pipeline.placement.where import cluster_ahead, place_search
from bicliq.pipeline.questions.count_asked import NOT_WORTH, CountAsked, CountRecord, check_count_backends, why_none
from bicliq.pipeline.questions.count_partitions import count_partitions, of_a_count, plan_count
from bicliq.pipeline.questions.count_tables import publish_counts
from bicliq.pipeline.questions.null import Null, compare_counts
from bicliq.pipeline.run import Call, Job, Observer, Stages, as_it_is, work_through
from bicliq.pipeline.settings import Settings
from bicliq.pipeline.stages.checks import check_input
from bicliq.pipeline.stages.in_memory import bipartite_of
from bicliq.pipeline.stages.ingest import ingest, read_edge_table
from bicliq.pipeline.store.layout import Store


def count_table(source: Edges, asked: CountAsked, settings: Settings, null: Null | None = None) -> CountRecord:
    """Count the (p,q)-bicliques of an edge table in memory, and publish nothing.

    `source`: path or fsspec URL of the edge table, or a table in memory. `settings`: its `ingest`
    part, `data_backend`, and `side`, `threads` and `backend` of its `search` part are used. `null`:
    random tables that are counted, too; the record then has what `compare_counts` returns. Raises
    InputError at bad input, or where vertices or a limit of memory are asked for: these need a
    store.
    """
    if asked.vertices:
        raise InputError("counts of vertices are written to a store; name one, as in store = 'counts'")
    if settings.search.memory_limit is not None:
        raise InputError("a count in memory knows no limit of it; in a store it keeps to memory_limit")
    check_count_backends(settings)
    started = time.perf_counter()
    table = read_edge_table(source, settings.ingest, backend=settings.data_backend)
    graph = bipartite_of(table)
    read = time.perf_counter()
    place = place_search(settings.search.backend, not_worth=NOT_WORTH)
    options: dict[str, Any] = {"side": settings.search.side, "threads": settings.search.threads}

    def count(columns: Any) -> tuple[dict[tuple[int, int], int], kernels.CountResult | kernels.CountTable]:
        csr = graph.indptr, columns, graph.n_right
        if asked.all_sizes:
            table = place.run(lambda on: kernels.count_all_bicliques(*csr, asked.p, asked.q, backend=on, **options))
            return table.counts, table
        how: dict[str, Any] = {**options, "method": asked.method}
        one = place.run(lambda on: kernels.count_bicliques(*csr, asked.p, asked.q, backend=on, **how))
        return {(asked.p, asked.q): one.count}, one

    counts, found = count(graph.indices)
    return CountRecord(
        counts=counts,
        n_left=graph.n_left,
        n_right=graph.n_right,
        n_edges=graph.n_edges,
        too_large=why_none(asked, graph.n_left, graph.n_right),
        method="pivot" if isinstance(found, kernels.CountTable) else found.method,
        side=found.side,
        backend=found.backend,
        threads=found.threads,
        null=compare_counts(graph, counts, null, lambda columns: count(columns)[0]) if null and null.tables else None,
        seconds={"ingest": read - started, **found.seconds, "total": time.perf_counter() - started},
        account=table.summary.account,
    )


@dataclass(kw_only=True)
class CountJob(Job):
    """What the stages of a count hand on, besides.

    `asked`: the question. `name`, `method`: name of the run, and the search of its partitions.
    `counted`: partitions that this call counted. `record`: the answer.
    """

    asked: CountAsked
    name: str = ""
    method: str = ""
    counted: int = 0
    record: CountRecord | None = None


def _ingest(job: CountJob) -> None:
    asked, limit = job.settings, job.settings.search.memory_limit
    assert job.source is not None
    read = ingest(job.source, job.store, asked.ingest, job.observer.rows, asked.data_backend, limit, of_a_count)
    job.graph, job.read = read.graph, read.summary


def _plan(job: CountJob) -> None:
    job.name, job.method = plan_count(job.store, job.graph, job.asked, job.settings)
    assert job.read is not None
    check_input(job.store, job.name, job.read, job.settings.checks)
    job.observer.planned(job.name)


def _count(job: CountJob) -> None:
    told = job.observer.search, job.observer.dashboard, job.ahead
    job.counted = count_partitions(job.store, job.name, job.asked, job.method, job.settings, *told)
    tell("partitions counted", run=job.name, counted=job.counted)


def _publish(job: CountJob) -> None:
    job.record = publish_counts(job.store, job.name, job.asked, job.method, job.counted)


COUNT_STAGES: Stages = {"ingest": _ingest, "plan": _plan, "count": _count, "publish": _publish}


def count_run(
    source: Edges, asked: CountAsked, settings: Settings, observer: Observer | None = None, call: Call = as_it_is
) -> CountRecord:
    """Take an edge table all the way to counts in the store, partition by partition.

    `source`: path or fsspec URL of the edge table, or a table in memory. `settings`: where to, how,
    and on which cluster. The same table and settings give the same run, which is then resumed.
    `observer`: whom to tell how far the work is. `call`: how each stage is called. Raises
    InputError or StorageError at bad input, or where it fails a check. Raises BicliqError where
    partitions failed, after all others were counted.
    """
    check_count_backends(settings)
    job = CountJob(settings, observer or Observer(), Store.open(settings.store), source=source, asked=asked)
    with cluster_ahead(settings) as job.ahead:
        work_through(job, COUNT_STAGES, call)
    assert job.record is not None
    assert job.read is not None
    seconds = {**job.seconds, "total": round(sum(job.seconds.values()), 6)}
    return replace(job.record, seconds=seconds, account=job.read.account)
