"""Count (p,q)-bicliques of an edge table as a Prefect flow: ingest, plan, count, publish."""

from __future__ import annotations

from functools import partial
from typing import Any

from prefect import flow, task

from bicliq.flows.artifacts import artifacts, show_search
from bicliq.flows.notices import HOOKS
from bicliq.flows.tasks import STAGE, check_task, ended, ingest_task, quiet_dask, settings_of
from bicliq.flows.turns import in_turn
from bicliq.flows.words import many
from bicliq.pipeline.events import tell
from bicliq.pipeline.questions.count_asked import CountAsked, check_count_backends
from bicliq.pipeline.questions.count_partitions import count_partitions, plan_count
from bicliq.pipeline.questions.count_tables import publish_counts
from bicliq.pipeline.report.page import write_report
from bicliq.pipeline.store.account import account
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run

SHOWN = 100
"""Counts that the artifact lists, at most."""


@task(name="plan-count", **STAGE)
def plan_count_task(graph: str, asked: dict[str, Any], settings: dict[str, Any]) -> list[str]:
    """Side, search, order, partitions."""
    values = settings_of(settings)
    return list(plan_count(Store.open(values.store, create=False), graph, CountAsked(**asked), values))


@task(name="count", task_run_name="count {run}", **STAGE)
def count_task(run: str, method: str, asked: dict[str, Any], settings: dict[str, Any]) -> int:
    """Count the partitions that are not counted yet, on the cluster."""
    values = settings_of(settings)
    quiet_dask()
    store = Store.open(values.store, create=False)
    counted = count_partitions(store, run, CountAsked(**asked), method, values, partial(show_search, run, "count"))
    tell("partitions counted", run=run, counted=counted)
    return counted


@task(name="publish-counts", **STAGE)
def publish_counts_task(
    run: str, method: str, counted: int, asked: dict[str, Any], settings: dict[str, Any]
) -> dict[str, Any]:
    """Add up the partitions."""
    values = settings_of(settings)
    store = Store.open(values.store, create=False)
    return publish_counts(store, run, CountAsked(**asked), method, counted).record()


@flow(name="bicliq-count", flow_run_name="count {source}", persist_result=False, **HOOKS)
@in_turn
def count_flow(source: str, asked: dict[str, Any], settings: dict[str, Any] | None = None) -> dict[str, Any]:
    """Take an edge table to (p,q)-counts in the store.

    Parameters
    ----------
    source
        Path or fsspec URL of the edge table.
    asked
        The fields of `pipeline.questions.count.CountAsked`, as ``{"p": 3, "q": 3}``.
    settings
        The tree of `pipeline.settings.Settings` as plain values.

    Returns
    -------
    dict
        The record of `pipeline.questions.count.CountRecord`, as the data of a state whose message
        says the count.
    """
    tree = settings_of(settings)
    check_count_backends(tree)
    values = tree.model_dump(mode="json")
    with artifacts() as shown:
        ingested = ingest_task(source, values)
        run, method = plan_count_task(ingested["graph"], asked, values)
        check_task(run, ingested["summary"], values)
        counted = count_task(run, method, asked, values)
        found = publish_counts_task(run, method, counted, asked, values)
        record: dict[str, Any] = {**found, **account(ingested["summary"])}
        rows = [{name: str(row[name]) for name in ("p", "q", "count")} for row in record["counts"][:SHOWN]]
        shown.table(f"counts-{run}", rows, f"(p,q)-counts, the first {SHOWN} at most")
        shown.page(write_report(open_run(tree.store, run)), "the counts as one page")
    return ended(f"{_in_words(record)}, run {run}; {record['output']}", record)


def _in_words(record: dict[str, Any]) -> str:
    """Say the one count that was asked for, or how many there are."""
    if len(record["counts"]) > 1:
        return many(len(record["counts"]), "count")
    (row,) = record["counts"]
    return many(int(row["count"]), f"complete {row['p']} × {row['q']} subgraph")
