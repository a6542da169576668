"""Commands about baskets: `itemsets` and `rules`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bicliq.flows.cli.commands import Room
from bicliq.flows.cli.options import Json, checked_page, number

if TYPE_CHECKING:
    from rich.console import RenderableType

    from bicliq.pipeline.results.itemsets import Itemsets, Rules
    from bicliq.pipeline.settings import Settings

room = Room("From an edge table to answers")

OF_LABELS = ("items", "antecedent", "consequent", "if", "then", "extent", "intent", "next above", "generators")
"""Columns of what is shown that hold labels."""

Baskets = Annotated[
    str, typer.Argument(metavar="FILE", help="Baskets: a line each, a table of 0 and 1, or rows of basket and item.")
]
Support = Annotated[
    str,
    typer.Option(
        "--min-support", metavar="<number>", parser=number, help="Least share of all baskets that hold a set."
    ),
]
Out = Annotated[
    str | None, typer.Option("--out", metavar="FILE", help="Write all of them: .parquet, .csv, .tsv, .xlsx or .jsonl.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the file of --out if it is there.")]
Bom = Annotated[bool, typer.Option("--bom", help="Begin CSV with a byte order mark, by which Excel tells UTF-8.")]
OfRun = Annotated[
    str | None, typer.Option("--run", help="A run of the store, or how its name begins; by default the latest.")
]
NewSince = Annotated[
    str | None,
    typer.Option("--new-since", metavar="RUN", help="Leave out rules of this run; parent: of the one before."),
]
Antecedents = Annotated[
    list[str] | None,
    typer.Option("--antecedents", metavar="ITEM", help="An item that each antecedent has; repeatable."),
]
Consequents = Annotated[
    list[str] | None,
    typer.Option("--consequents", metavar="ITEM", help="An item that each consequent has; repeatable."),
]
EmptyBaskets = Annotated[
    Literal["refuse", "count"],
    typer.Option("--empty", help="Refuse lists without items, or count them."),
]
Page = Annotated[
    str | None,
    typer.Option("--report", metavar="FILE", callback=checked_page, help="Write the best as a page of HTML, too."),
]
Top = Annotated[int, typer.Option("--top", "-k", min=1, max=2**24, help="How many are shown, the best first.")]


@room.command(
    "itemsets",
    "bicliq itemsets baskets.dat --format baskets --min-support 0.01",
    "bicliq itemsets onehot.csv --kind all --max-len 3 --out sets.parquet",
    "bicliq itemsets orders.csv --left order --right product --kind maximal",
)
def itemsets(
    settings: Settings,
    file: Baskets,
    min_support: Support = "0.01",
    kind: Annotated[
        Literal["closed", "maximal", "all"],
        typer.Option("--kind", help="Sets without a larger one in as many baskets, without a larger one, or all."),
    ] = "closed",
    max_len: Annotated[int | None, typer.Option("--max-len", min=1, max=2**31 - 1, help="Most items of a set.")] = None,
    empty: EmptyBaskets = "refuse",
    top: Top = 20,
    out: Out = None,
    overwrite: Overwrite = False,
    bom: Bom = False,
    json: Json = False,
) -> None:
    """Find the frequent itemsets of baskets, by default the closed ones."""
    from bicliq.flows.cli import console
    from bicliq.pipeline.questions.itemsets import find_frequent
    from bicliq.pipeline.results.itemsets import Itemsets
    from bicliq.pipeline.results.itemsets_asked import SetsAsked

    asked = SetsAsked(kind, max_len, empty)
    _check_out(out, overwrite, bom)
    found = Itemsets(find_frequent(file, min_support, settings, asked), asked)  # type: ignore[arg-type]
    best = found.top(top).to_pylist()
    record = {**_written(found, out, overwrite, bom), **asdict(asked), "found": len(found), "itemsets": best}
    console.answer(record, json, _sets_shown)


@room.command(
    "rules",
    "bicliq rules baskets.dat --format baskets --min-support 0.005 --min-threshold 0.6",
    "bicliq rules orders.csv --left order --right product --metric lift --min-threshold 1.5",
    "bicliq rules customers.csv --consequents churn --out rules.xlsx",
    "bicliq rules --store shop-store --min-support 0.05 --new-since parent",
)
def rules(
    settings: Settings,
    context: typer.Context,
    file: Annotated[
        str | None,
        typer.Argument(metavar="FILE", help="Baskets, as of itemsets; without it, those of a run of --store."),
    ] = None,
    min_support: Support = "0.01",
    metric: Annotated[str, typer.Option("--metric", help="What a rule has enough of: confidence, lift, …")] = (
        "confidence"
    ),
    min_threshold: Annotated[float, typer.Option("--min-threshold", help="Least value of the metric.")] = 0.8,
    kind: Annotated[
        Literal["non-redundant", "all"],
        typer.Option("--kind", help="The smallest antecedents with the largest consequents, or every rule."),
    ] = "non-redundant",
    which: Annotated[
        Literal["both", "exact", "approximate"],
        typer.Option("--which", help="Rules of confidence 1 alone, or those below."),
    ] = "both",
    antecedents: Antecedents = None,
    consequents: Consequents = None,
    max_len: Annotated[
        int | None, typer.Option("--max-len", min=2, max=2**31 - 1, help="Most items of a rule, of both sides.")
    ] = None,
    empty: EmptyBaskets = "refuse",
    run: OfRun = None,
    new_since: NewSince = None,
    report: Page = None,
    top: Top = 20,
    out: Out = None,
    overwrite: Overwrite = False,
    bom: Bom = False,
    json: Json = False,
) -> None:
    """Find association rules between the items of baskets, by default the non-redundant ones."""
    from bicliq.flows.cli import console
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.questions.itemsets import find_rules
    from bicliq.pipeline.report.rules import write_rules_page
    from bicliq.pipeline.results.export_lists import finite
    from bicliq.pipeline.results.itemsets_asked import RulesAsked

    source = context.get_parameter_source("store")
    if file is not None and source is not None and source.name == "COMMANDLINE":
        raise InputError("--store is for rules of a run; name no FILE, or leave --store out")
    asked = RulesAsked(metric, min_threshold, kind, max_len, tuple(antecedents or ()), tuple(consequents or ()), empty)
    _check_out(out, overwrite, bom)
    found = find_rules(file, asked, min_support, settings, run, new_since, which)  # type: ignore[arg-type]
    best = finite(found.top(top).to_pylist())
    record = {**_written(found, out, overwrite, bom), **found.record()}
    record["report"] = None if report is None else write_rules_page(report, found)
    console.answer({**record, "rules": best}, json, _rules_shown, wide_table=True)


def _check_out(out: str | None, overwrite: bool, bom: bool) -> None:
    """Refuse a file that cannot be written, before the work that it would hold."""
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.results.export_lists import checked_format

    if out is None and (overwrite or bom):
        raise InputError(f"--{'overwrite' if overwrite else 'bom'} is for the file of --out; name one")
    if out is not None:
        checked_format(out, None, overwrite=overwrite, bom=bom)


def _written(found: Itemsets | Rules, out: str | None, overwrite: bool, bom: bool) -> dict[str, Any]:
    """The record, with what was written where a file was asked for."""
    written = None if out is None else asdict(found.export(out, overwrite=overwrite, bom=bom))
    return {**found.frequent.record, "out": written}


def _sets_shown(record: dict[str, Any]) -> RenderableType:
    from bicliq.flows.cli.groups import members
    from bicliq.flows.words import many

    title = f"{many(record['found'], record['kind'] + ' itemset')} of {_of_baskets(record)}"
    rows = [(f"{row['support']:.4g}", f"{row['count']:,}", members(row["itemsets"])) for row in record["itemsets"]]
    return rows_shown(title, ("support", "baskets", "items"), rows, record)


def _rules_shown(record: dict[str, Any]) -> RenderableType:
    from bicliq.flows.cli.groups import members
    from bicliq.flows.words import many
    from bicliq.pipeline.results.itemsets_asked import rules_in_words

    columns = list(dict.fromkeys(["support", "confidence", "lift", record["metric"]]))
    title = f"{many(record['found'], record['kind'] + ' rule')} of {_of_baskets(record)}"
    rows = [
        (
            *("∞" if row[name] is None else f"{row[name]:.4g}" for name in columns),
            members(row["antecedents"]),
            members(row["consequents"]),
        )
        for row in record["rules"]
    ]
    new = f"; new since run {record['new_since']}" if record["new_since"] else ""
    names = (*columns, "antecedent", "consequent")
    return rows_shown(f"{title}; {rules_in_words(record)}{new}", names, rows, record)


def _of_baskets(record: dict[str, Any]) -> str:
    from bicliq.flows.words import many

    empty = f" ({record['n_empty']:,} without items)" if record["n_empty"] else ""
    least = f"in at least {record['min_count']:,} of them"
    return f"{many(record['n_baskets'], 'basket')}{empty} of {many(record['n_items'], 'item')}; {least}"


def rows_shown(
    title: str, names: tuple[str, ...], rows: Sequence[tuple[str, ...]], record: dict[str, Any]
) -> RenderableType:
    """Return the best of what was found as a table, what it leaves out, and what was written."""
    from rich.console import Group
    from rich.table import Table

    from bicliq.flows.words import many

    table = Table()
    for name in names:
        table.add_column(name, justify="left" if name in OF_LABELS else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    said: list[RenderableType] = [title, table] if rows else [f"{title}: there is none; ask for less"]
    if len(rows) < record["found"]:
        by = f" by {record['by']}" if "by" in record else ""
        said.append(f"the best {len(rows):,} of {record['found']:,}{by}; --top shows more, --out writes all")
    if record.get("report"):
        said.append(f"the page is in {record['report']}")
    if record["out"]:
        out = record["out"]
        rows_in_it = f"{out['rows']:,} rows, " if "rows" in out else ""
        guarded = f"; {many(out['guarded'], 'cell')} got an apostrophe before a formula" if out.get("guarded") else ""
        said.append(f"{out['path']}: {rows_in_it}{out['bytes']:,} bytes{guarded}")
    return Group(*said)
