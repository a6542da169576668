"""Tables of groups on a terminal: their sizes, what they are worth, and their members."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from bicliq.flows.cli.objects import Record
from bicliq.flows.words import BETWEEN, label, many
from bicliq.pipeline.words import about

MEMBERS_SHOWN = 8
"""Members of a side that a table shows before it says how many more there are."""

Columns = dict[str, Callable[[Record], str]]
"""Of a table of groups, by name: what stands there."""


def _ranked(title: str, rows: list[Record], numbers: Columns, texts: Columns, first: int = 1) -> Table:
    """Groups with their ranks: numbers to the right, then texts, which are folded."""
    table = Table(title=title, title_justify="left", caption_justify="left")
    for name in ("#", *numbers):
        table.add_column(name, justify="right")
    for name in texts:
        table.add_column(name, overflow="fold")
    for rank, row in enumerate(rows, first):
        table.add_row(str(rank), *(show(row) for show in (*numbers.values(), *texts.values())))
    return table


def _counted(name: str) -> Callable[[Record], str]:
    return lambda row: f"{row[name]:,}"


MEMBERS: Columns = {
    "left members": lambda row: members(row["left"]),
    "right members": lambda row: _in_step(row) if "windows" in row else members(row["right"]),
}


def biclique_table(record: Record, state: str, first: int = 1) -> Table:
    """Bicliques with their members, the longer lists cut; what a run's state is stands above."""
    rows = record["bicliques"]
    largest = f"the {len(rows):,} largest" if len(rows) != 1 else "the largest"
    of = record["run"] + ("" if record["complete"] else f" ({state})")
    numbers: Columns = {name: _counted(f"n_{name}") for name in ("left", "right", "edges")}
    if record["by"] == "surprise":
        numbers["by chance"] = lambda row: about(row["expected"])
        numbers["surprise"] = lambda row: f"{row['surprise']:,.2f}"
    if "null" in record:
        numbers["p"] = lambda row: share_of(row["p"])
    table = _ranked(f"{largest} of run {of}, by {record['by']}", rows, numbers, MEMBERS, first)
    table.caption = _what_p_is(record["null"]) if "null" in record else None
    return table


def share_of(p: float | None) -> str:
    """A p-value; there is none where no random table was done in time."""
    return "–" if p is None else f"{p:.3g}"


def _what_p_is(null: Record) -> str:
    if not null["tables"]:
        return f"none of {many(null['asked'], 'random table')} was done in time: p is not known"
    unproven = f"; {null['unproven']:,} were not searched to their end" if null["unproven"] else ""
    tables = many(null["tables"], "random table")
    kept = " and times at each right vertex" if "times" in null else ""
    return f"p: the share of {tables} of the same degrees{kept}, and of this one, whose best group is worth as much{unproven}"


def groups_table(record: Record) -> Group:
    """The best groups with their members, and what restrictions left out."""
    groups = record["groups"]
    said: list[RenderableType] = []
    known = "" if record["proven"] else ", the best in time: not proven"
    covers = record["diverse"]
    cover = f", together {groups[-1]['share']:.1%} of all edges" if covers and groups else ""
    title = f"{many(len(groups), 'group')} by {record['by']}{cover}{known}"
    numbers: Columns = {name: _counted(f"n_{name}") for name in ("left", "right")}
    numbers[f"{record['by']} added" if covers else record["by"]] = _value
    if record["by"] == "surprise":
        numbers["edges by chance"] = lambda group: about(group["expected"])
    if covers:
        numbers["covered"] = lambda group: f"{group['share']:.2%}"
    if "null" in record:
        numbers["p"] = lambda group: share_of(group["p"])
    texts: Columns = MEMBERS
    if "missing" in record:
        texts = {**MEMBERS, "missing": lambda group: members([f"{left}–{right}" for left, right in group["missing"]])}
    table = _ranked(title, groups, numbers, texts)
    said.append(
        table
        if groups
        else f"no group: {record['why_none']}"
        if record["why_none"]
        else f"no group{known or ' of these sizes'}"
    )
    if "null" in record:
        said.append(_what_p_is(record["null"]) if groups else "no random table was asked: there is no group to compare")
    if record["left_out"]:
        said.append(
            "left out: " + ", ".join(f"{n:,} ({why.replace('_', ' ')})" for why, n in record["left_out"].items())
        )
    return Group(*said)


def _value(group: Record) -> str:
    return f"{group['value']:,.2f}" if isinstance(group["value"], float) else f"{group['value']:,}"


def changes_tables(record: Record) -> Group:
    """What appeared and what vanished, each beside what it was or became."""
    said: list[RenderableType] = []
    if record["unchanged"]:
        said.append(f"the last update changed nothing (all that is in {', '.join(record['unchanged'])} was so already)")
    if record["left_window"]:
        said.append(f"{many(record['left_window'], 'row')} left the window")
    if record["dropped_by_window"]:
        said.append(f"{many(record['dropped_by_window'], 'row')} came too late for the window")
    for kind, became in (("appeared", "was"), ("vanished", "became")):
        rows, n = record[kind], record[f"n_{kind}"]
        title = f"{many(n, 'group')} {kind} from {record['before']} to {record['after']}; by {record['by']}"
        table = Table(title=title, title_justify="left")
        for name in ("#", "left", "right", "how", became):
            table.add_column(name, justify="left" if name == "how" else "right")
        table.add_column("left members", overflow="fold")
        table.add_column("right members", overflow="fold")
        for rank, row in enumerate(rows, 1):
            other = row["other"]
            size = "" if other is None else f"{other['n_left']:,} × {other['n_right']:,}"
            sizes = f"{row['n_left']:,}", f"{row['n_right']:,}"
            table.add_row(str(rank), *sizes, row["how"], size, members(row["left"]), members(row["right"]))
        said.append(table if rows else title.split(";")[0])
    if "gaps" in record:
        said += _filled(record["gaps"], record["before"], record["after"])
    if "out" in record:
        said.append(f"{record['out']}: {many(record['rows'], 'group')}")
    return Group(*said)


def _filled(gaps: Record, before: str, after: str) -> list[RenderableType]:
    """Groups with gaps that lack less now, and how many were looked at."""
    known = "" if gaps["proven"] else ", the best in time: not proven"
    complete = sum(group["complete"] for group in gaps["groups"])
    said = (
        f"{many(gaps['searched'], 'group')} with gaps in {before}{known}: {complete:,} complete in {after},"
        f" {len(gaps['groups']) - complete:,} with some of the missing pairs"
    )
    table = Table(title=said, title_justify="left")
    for name in ("left", "right", "there now", "still missing", "left members", "right members"):
        table.add_column(name, justify="right" if name in ("left", "right") else "left", overflow="fold")
    for group in gaps["groups"]:
        pairs = [members([f"{left}–{right}" for left, right in group[kind]]) for kind in ("filled", "lacking")]
        sizes = f"{group['n_left']:,}", f"{group['n_right']:,}"
        table.add_row(*sizes, *pairs, members(group["left"]), members(group["right"]))
    return [table if gaps["groups"] else said]


def page_table(record: Record, state: str) -> Table:
    """A page of bicliques; how many there are stands above."""
    table = biclique_table(record, state, 1 + (record["page"] - 1) * record["size"])
    pages = -(-record["matching"] // record["size"])
    of = "" if record["complete"] else f" ({state})"
    found = many(record["matching"], "biclique")
    table.title = f"{found} of run {record['run']}{of}, by {record['by']}; page {record['page']:,} of {pages:,}"
    return table


def members(labels: list[Any]) -> str:
    """Return the first of some labels, and how many more there are."""
    shown = BETWEEN.join(map(label, labels[:MEMBERS_SHOWN]))
    more = len(labels) - MEMBERS_SHOWN
    return f"{shown}{BETWEEN}… {more:,} more" if more > 0 else shown


def _in_step(group: Record) -> str:
    """Right members of a group in step, each with when it began there and how long it took."""
    shown = []
    for member, window in zip(group["right"][:MEMBERS_SHOWN], group["windows"], strict=False):
        start, end = (datetime.fromisoformat(window[name]) for name in ("start", "end"))
        seconds = f"{(end - start).total_seconds():.6f}".rstrip("0").rstrip(".")
        shown.append(f"{label(member)} ({start.replace(tzinfo=None).isoformat(' ')} UTC + {seconds} s)")
    more = group["n_right"] - MEMBERS_SHOWN
    return BETWEEN.join(shown) + (f"{BETWEEN}… {more:,} more" if more > 0 else "")
