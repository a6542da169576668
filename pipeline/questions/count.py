"""Count (p,q)-bicliques of an edge table: in memory, or partition by partition into the store.

A count in the store is a planned run (thresholds p and q, so that the graph is reduced to what can
hold one) whose partitions are counted instead of searched (`count_partitions`). Every
(p,q)-biclique belongs to its first vertex in the order of the plan, so the partitions' counts add
up (`count_tables`).
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from bicliq import kernels
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats import Edges
from bicliq.pipeline.placement.where import place_search
from bicliq.pipeline.questions.count_asked import NOT_WORTH, CountAsked, CountRecord, check_count_backends, why_none
from bicliq.pipeline.questions.count_partitions import count_partitions, of_a_count, plan_count
from bicliq.pipeline.questions.count_tables import publish_counts
from bicliq.pipeline.questions.null import Null, compare_counts
from bicliq.pipeline.run import Observer
from bicliq.pipeline.settings import Settings
from bicliq.pipeline.stages.checks import check_input
from bicliq.pipeline.stages.in_memory import bipartite_of
from bicliq.pipeline.stages.ingest import ingest, read_edge_table
from bicliq.pipeline.store.account import account
from bicliq.pipeline.store.layout import Store


def count_table(source: Edges, asked: CountAsked, settings: Settings, null: Null | None = None) -> CountRecord:
    """Count the (p,q)-bicliques of an edge table in memory, and publish nothing.

    Parameters
    ----------
    source
        Path or fsspec URL of the edge table, or a table in memory.
    asked
        What to count.
    settings
        Its `ingest` part, `data_backend`, and `side`, `threads` and `backend` of its `search` part
        are used.
    null
        Random tables that are counted, too; the record then has what `compare_counts` returns.

    Returns
    -------
    CountRecord

    Raises
    ------
    InputError
        At bad input, or where vertices or a limit of memory are asked for: these need a store.
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
        account=account(table.summary),
    )


def count_run(source: Edges, asked: CountAsked, settings: Settings, observer: Observer | None = None) -> CountRecord:
    """Take an edge table all the way to counts in the store, partition by partition.

    Parameters
    ----------
    source
        Path or fsspec URL of the edge table, or a table in memory.
    asked
        What to count.
    settings
        Where to, how, and on which cluster. The same table and settings give the same run, which is
        then resumed.
    observer
        Whom to tell how far the work is.

    Returns
    -------
    CountRecord

    Raises
    ------
    InputError, StorageError
        At bad input, or where it fails a check.
    BicliqError
        Where partitions failed, after all others were counted.
    """
    observer = observer or Observer()
    check_count_backends(settings)
    store = Store.open(settings.store)
    observer.stage("ingest")
    started = time.perf_counter()
    limit = settings.search.memory_limit
    read = ingest(source, store, settings.ingest, observer.rows, settings.data_backend, limit, of_a_count)
    ingested = time.perf_counter()
    observer.stage("plan")
    run, method = plan_count(store, read.graph, asked, settings)
    check_input(store, run, read.summary, settings.checks)
    planned = time.perf_counter()
    observer.stage("count")
    counted = count_partitions(store, run, asked, method, settings, observer.search, observer.dashboard)
    searched = time.perf_counter()
    observer.stage("publish")
    record = publish_counts(store, run, asked, method, counted)
    times = (started, ingested, planned, searched, time.perf_counter())
    seconds = dict(zip(("ingest", "plan", "count", "publish"), np.diff(times).round(6).tolist(), strict=True))
    seconds["total"] = round(times[-1] - started, 6)
    return replace(record, seconds=seconds, account=account(read.summary))
