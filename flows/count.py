"""Count (p,q)-bicliques of an edge table as a Prefect flow: ingest, plan, count, publish."""

from __future__ import annotations

from typing import Any

from prefect import flow

from bicliq.flows.artifacts import artifacts
from bicliq.flows.notices import HOOKS, watched
from bicliq.flows.tasks import as_task, ended, settings_of
from bicliq.flows.turns import in_turn
from bicliq.flows.words import many
from bicliq.pipeline.questions.count import count_run
from bicliq.pipeline.questions.count_asked import CountAsked
from bicliq.pipeline.report.page import write_report
from bicliq.pipeline.store.results import open_run

SHOWN = 100
"""Counts that the artifact lists, at most."""


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
    with artifacts() as shown:
        found = count_run(source, CountAsked(**asked), tree, watched(shown, "count"), as_task)
        record, run = found.record(), str(found.run)
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
