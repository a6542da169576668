"""The page of association rules: a picture of support and confidence, and a table to sort."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from bicliq.pipeline.report.frame import framed, write_page
from bicliq.pipeline.report.groups import MEMBERS
from bicliq.pipeline.report.pictures import rules_picture
from bicliq.pipeline.report.sections import account_read, filled_table, tiles
from bicliq.pipeline.results.export_lists import finite
from bicliq.pipeline.results.itemsets import Rules
from bicliq.pipeline.results.itemsets_asked import rules_in_words

LISTED = 1000
"""Rules that a page draws and lists; it says how many more there are."""


COLUMNS = ("support", "confidence", "lift", "leverage")
"""Metrics of each rule that the table has, beside the one that was asked for."""


def write_rules_page(place: str, rules: Rules) -> str:
    """Write the page of the best rules to a path or fsspec URL, and return the place."""
    best = finite(rules.top(LISTED).to_pylist())
    return write_page(place, lambda: rules_page(rules.record(), best), overwrite="pages")


def rules_page(record: Mapping[str, Any], rules: Sequence[Mapping[str, Any]]) -> str:
    """Return the page of association rules.

    `rules`: the best of them, `LISTED` at most, as rows.
    """
    name = record["source"].rsplit("/", 1)[-1]
    figures = {
        "rules": f"{record['found']:,}",
        "baskets": f"{record['n_baskets']:,}",
        "items": f"{record['n_items']:,}",
        "min support": f"{record['min_support']:g} ({record['min_count']:,} basket{'' if record['min_count'] == 1 else 's'})",
        f"min {record['metric']}": f"{record['min_threshold']:g}",
    }
    new = f" that are new since run {record['new_since']}" if record["new_since"] else ""
    title = f"{record['kind'].capitalize()} rules{new} in {name}"
    asked = escape(rules_in_words(record))
    said = f"Asked for: {asked}." if rules else f"No rule is as asked: {asked}. Ask for less."
    head = f"<h1>{escape(title)}</h1><p>{said}</p>{tiles(figures)}"
    if not rules:
        return framed(title, [head, account_read(record)])
    return framed(title, [head, *_shown(record, rules), account_read(record)], [_row(rule, record) for rule in rules])


def _shown(record: Mapping[str, Any], rules: Sequence[Mapping[str, Any]]) -> list[str]:
    """The picture and the table of rules."""
    metric = record["metric"]
    picture = rules_picture((rule["support"], rule["confidence"], rule["lift"], _in_words(rule)) for rule in rules)
    every = len(rules) == record["found"]
    of = "" if every else f" Here are the best {len(rules):,} of {record['found']:,} by {metric}."
    keys = dict.fromkeys([*COLUMNS, metric])
    filters = {"left": "antecedent contains", "right": "consequent contains"}
    filters |= {name: f"min {name}" for name in dict.fromkeys(["support", "confidence", "lift", metric])}
    explained = (
        "Each row is a rule: baskets that hold its antecedent hold its consequent as well, as often as confidence"
        f" says.{of}"
    )
    return [
        f"<section><h2>Support and confidence</h2><p>A point is a rule, darker where lift is higher.{of}</p>"
        f'<div class="wide">{picture}</div></section>',
        filled_table(
            "Rules to look through",
            explained,
            {name: name for name in keys},
            ("antecedent", "consequent"),
            "rules",
            filters,
            metric,
        ),
    ]


def _in_words(rule: Mapping[str, Any]) -> str:
    sides = (" · ".join(map(str, rule[side])) for side in ("antecedents", "consequents"))
    return f"{' → '.join(sides)}: support {rule['support']:.4g}, confidence {rule['confidence']:.4g}, lift {rule['lift']:.4g}"


def _row(rule: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
    """A rule as the page's script takes it."""
    sides = {"left": "antecedents", "right": "consequents"}
    row: dict[str, Any] = {name: rule[name] for name in (*COLUMNS, record["metric"])}
    row |= {side: list(map(str, rule[of][:MEMBERS])) for side, of in sides.items()}
    return row | {f"n_{side}": len(rule[of]) for side, of in sides.items()} | {"n_edges": rule["support"]}
