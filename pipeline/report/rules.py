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

LISTED = 1000
"""Rules that a page draws and lists; it says how many more there are."""


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
        "least support": f"{record['min_support']:g} ({record['min_count']:,} baskets)",
        f"least {record['metric']}": f"{record['min_threshold']:g}",
    }
    new = f" that are new since run {record['new_since']}" if record["new_since"] else ""
    title = f"{record['kind'].capitalize()} rules{new} in {name}"
    shown = [_in_words(rule) for rule in rules]
    picture = rules_picture(
        (rule["support"], rule["confidence"], rule["lift"], said) for rule, said in zip(rules, shown, strict=True)
    )
    of = (
        ""
        if len(rules) == record["found"]
        else f"the best {len(rules):,} of {record['found']:,} by {record['metric']}, "
    )
    rows = [_row(rule) for rule in rules]
    keys = {"support": "support", "confidence": "confidence", "lift": "lift", "leverage": "leverage"}
    explained = "Each row is a rule: who has all of the if members has the then members as often as confidence says."
    parts = [
        f"<h1>{escape(title)}</h1>{tiles(figures)}",
        f"<section><h2>Support and confidence</h2><p>A point is a rule: {of}darker where lift is higher.</p>"
        f'<div class="wide">{picture}</div></section>',
        filled_table("Rules to look through", explained, keys, ("if", "then"), "rules"),
        account_read(record),
    ]
    return framed(title, parts, rows)


def _in_words(rule: Mapping[str, Any]) -> str:
    sides = (" · ".join(map(str, rule[side])) for side in ("antecedents", "consequents"))
    return f"{' → '.join(sides)}: support {rule['support']:.4g}, confidence {rule['confidence']:.4g}, lift {rule['lift']:.4g}"


def _row(rule: Mapping[str, Any]) -> dict[str, Any]:
    """A rule as the page's script takes it."""
    sides = {"left": "antecedents", "right": "consequents"}
    row: dict[str, Any] = {name: rule[name] for name in ("support", "confidence", "lift", "leverage")}
    row |= {side: list(map(str, rule[of][:MEMBERS])) for side, of in sides.items()}
    return row | {f"n_{side}": len(rule[of]) for side, of in sides.items()} | {"n_edges": rule["support"]}
