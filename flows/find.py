"""The best maximal bicliques of an edge table, or of a run, as a Prefect flow."""

from __future__ import annotations

import json
from typing import Any

from prefect import flow, get_run_logger, task
from xxhash import xxh3_64_hexdigest

from bicliq.flows.artifacts import artifacts, show_find
from bicliq.flows.notices import HOOKS
from bicliq.flows.tasks import STAGE, ended, run_named, settings_of
from bicliq.flows.turns import in_turn
from bicliq.flows.words import many
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.questions.find import FindAsked, find_in_run, find_in_table
from bicliq.pipeline.report.frame import place_of
from bicliq.pipeline.settings import Settings
from bicliq.pipeline.store.layout import Store

SHOWN = 100
"""Groups that the artifact lists, at most."""


@task(name="find", **STAGE)
def find_task(
    source: str | None, run: str | None, asked: dict[str, Any], settings: dict[str, Any] | None
) -> dict[str, Any]:
    """Read, bound, search."""
    values = settings_of(settings)
    question = FindAsked(**{**asked, "containing": tuple(asked.get("containing", ()))})
    if (source is None) == (run is None):
        raise InputError("name an edge table or a run, one of the two")
    page = _place(source, run, asked, values)
    record = (
        find_in_table(source, question, values, page, show_find)
        if source is not None
        else find_in_run(str(run), question, values, page, show_find)
    )
    get_run_logger().info("%s", in_words(record))
    return record


@flow(name="bicliq-find", flow_run_name=run_named("find in"), persist_result=False, **HOOKS)
@in_turn
def find(
    source: str | None = None,
    asked: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    run: str | None = None,
) -> dict[str, Any]:
    """Find the best maximal bicliques by an objective.

    Parameters
    ----------
    source
        Path or fsspec URL of an edge table.
    asked
        The fields of `pipeline.questions.find.FindAsked`, as ``{"top": 20, "by": "surprise"}``.
    settings
        The tree of `pipeline.settings.Settings` as plain values.
    run
        In place of a table: a run of the store, or how its name begins.

    Returns
    -------
    dict
        The record of `pipeline.questions.find.find_in_table`, with its page in the store, as the
        data of a state whose message says the best.
    """
    with artifacts() as shown:
        record = find_task(source, run, asked or {}, settings)
        named = ("value", "n_left", "n_right", *(["share"] if record["diverse"] else []))
        rows = [{name: str(group[name]) for name in named} for group in record["groups"][:SHOWN]]
        shown.table("groups", rows, f"the best groups by {record['by']}, {SHOWN} at most")
        shown.page(record["report"], "the best groups as one page")
    return ended(in_words(record), record)


def _place(source: str | None, run: str | None, asked: dict[str, Any], values: Settings) -> str:
    """Where the page of a question lies: the same question replaces its page."""
    settings = values.model_dump(mode="json", include={"ingest", "search"})
    question = json.dumps([source, run, asked, settings], sort_keys=True)
    return place_of(Store.open(values.store), f"find-{xxh3_64_hexdigest(question.encode())}")


def in_words(record: dict[str, Any]) -> str:
    """Say how many were found, how good the best is, and whether that is proven."""
    groups = record["groups"]
    if not groups:
        why = record["why_none"]
        return (
            f"no group: {why}"
            if why
            else "no maximal biclique of these sizes"
            if record["proven"]
            else "nothing found in time"
        )
    best = groups[0]
    known = "the best" if record["proven"] else "the best in time, not proven,"
    value = f"{best['value']:,.2f}" if isinstance(best["value"], float) else f"{best['value']:,}"
    first = f"from {value} ({best['n_left']:,} × {best['n_right']:,}) down"
    if record["diverse"]:
        first += f", together {groups[-1]['share']:.1%} of all edges"
        known = "greed's" if record["proven"] else "greed's first"
    return f"{known} {many(len(groups), 'group')} by {record['by']}, {first}"
