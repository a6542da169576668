"""Association rules of a table, or of a run and its versions, as a Prefect flow."""

from __future__ import annotations

import json
from typing import Any

from prefect import flow, get_run_logger, task
from xxhash import xxh3_64_hexdigest

from bicliq.flows.artifacts import artifacts
from bicliq.flows.notices import HOOKS
from bicliq.flows.tasks import STAGE, ended, run_named, settings_of
from bicliq.flows.turns import in_turn
from bicliq.flows.words import many, some
from bicliq.pipeline.questions.itemsets import find_rules
from bicliq.pipeline.report.frame import place_of
from bicliq.pipeline.report.rules import write_rules_page
from bicliq.pipeline.results.export_lists import finite
from bicliq.pipeline.results.itemsets_asked import RulesAsked, items_of, rules_in_words
from bicliq.pipeline.store.layout import Store

SHOWN = 100
"""Rules that the artifact lists, at most."""


@task(name="rules", **STAGE)
def rules_task(
    source: str | None, asked: dict[str, Any], settings: dict[str, Any] | None, run: str | None, new_since: str | None
) -> dict[str, Any]:
    """Read, search, make the rules, and write the page of the best."""
    values, question = settings_of(settings), json.dumps([source, asked, settings, new_since], sort_keys=True)
    min_support = asked.get("min_support", 0.01)
    sides = {side: items_of(side, asked.get(side) or ()) for side in ("antecedents", "consequents")}
    wanted = RulesAsked(**{**{name: value for name, value in asked.items() if name != "min_support"}, **sides})
    found = find_rules(source, wanted, min_support, values, run, new_since)
    record = found.record()
    place = place_of(Store.open(values.store), f"rules-{record.get('run', '')}{xxh3_64_hexdigest(question.encode())}")
    best = finite(found.top(SHOWN).to_pylist())
    get_run_logger().info("%s", in_words(record))
    return {**record, "rules": best, "report": write_rules_page(place, found)}


@flow(name="bicliq-rules", flow_run_name=run_named("rules of"), persist_result=False, **HOOKS)
@in_turn
def rules_flow(
    source: str | None = None,
    asked: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    run: str | None = None,
    new_since: str | None = None,
) -> dict[str, Any]:
    """Find association rules of baskets, or of a run, and which are new since another one.

    Parameters
    ----------
    source
        Path or fsspec URL of baskets; None: those of a run of the store.
    asked
        min_support, and the fields of `pipeline.results.itemsets_asked.RulesAsked`.
    settings
        The tree of `pipeline.settings.Settings` as plain values.
    run
        A run of the store, or how its name begins; None: the latest.
    new_since
        A run whose rules are left out; "parent": those of the version before.

    Returns
    -------
    dict
        The record, the best rules, and where their page is, as the data of a state whose message
        says how many there are.
    """
    with artifacts() as shown:
        record = rules_task(source, asked or {}, settings, run, new_since)
        rows = [
            {
                "antecedent": some(rule["antecedents"]),
                "consequent": some(rule["consequents"]),
                **{name: f"{rule[name]:.4g}" for name in ("support", "confidence", "lift")},
            }
            for rule in record["rules"]
        ]
        shown.table("rules", rows, f"the best rules by {record['metric']}, {SHOWN} at most")
        shown.page(record["report"], "the best rules as one page")
    return ended(in_words(record), record)


def in_words(record: dict[str, Any]) -> str:
    """Say how many rules were found, and since when they are new."""
    new = f", new since run {record['new_since']}" if record["new_since"] else ""
    found = f"{many(record['found'], record['kind'] + ' rule')} of {many(record['n_baskets'], 'basket')}{new}"
    return f"{found}: {rules_in_words(record)}"
