"""The sections of a report's page, in their order; every label is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from bicliq.pipeline.report.facts import Facts
from bicliq.pipeline.report.groups import DRAWN, MEMBERS, GroupPicture
from bicliq.pipeline.report.history import Step
from bicliq.pipeline.report.pictures import (
    degrees_picture,
    group_picture,
    sizes_picture,
    times_picture,
    two_step_picture,
)
from bicliq.pipeline.report.times import Times
from bicliq.pipeline.store.account import Summary
from bicliq.pipeline.store.entries import Check, Largest
from bicliq.pipeline.store.records import Manifest
from bicliq.pipeline.words import about

Rows = Iterable[tuple[str, str]]

DROPPED = {
    "dropped_nulls": "a value was missing",
    "dropped_by_value": "0, or below the least value of a cell",
    "dropped_self_labels": "both labels were equal",
    "dropped_by_weight": "below the least weight",
    "dropped_by_time": "before since, or from until on",
    "dropped_by_window": "outside of the window of time",
    "dropped_by_sample": "not of the sample",
    "dropped_ragged": "too many or too few fields",
}
"""Why rows were dropped, in words."""

CHECKED = {
    "rows": "rows, change since the last run",
    "dropped": "share of rows dropped",
    "labels": "share of labels that are new",
    "degree": "most edges of a vertex",
    "paths": "paths of two edges to search",
}
"""What each check of the input measures, in words."""

BEYOND_CHANCE = (
    "By surprise: how far a group is beyond what chance gives in a table where every vertex has as many edges. Above 0 it"
    " is news: of such tables, drawn by lot, at most 1 of 1,000 has a group of surprise 7, and 1 of 500 million one of 20."
)
"""What makes groups matter, in words."""

NONE_BEYOND = (
    "No group of this table is beyond chance: a table where every vertex has as many edges, and which are drawn by lot,"
    " has groups like its best ones."
)
"""Said where nothing matters."""

MAXIMAL = (
    "A maximal biclique is a group of left vertices and the right vertices that all of them share, which can be"
    " extended on neither side."
)
"""What the groups of a page are."""

GAPPED = (
    "A group with gaps is a choice of left and right vertices of which a few pairs are no edges. It has every vertex that"
    " is joined to its whole other side; no other one more, and none that lacks an edge less, makes it better."
)
"""What they are where pairs may be missing."""

IN_STEP = (
    "A group in step is a choice of left vertices and the right vertices on which all of them acted within one window of"
    " time, to which no left vertex can be added. The line below each shows when."
)
"""What they are where rows have times."""

NAMED = 12
"""Members of a side that the tables of changes name."""


def name_of(facts: Facts) -> str:
    """The table of the first run, and how many updates followed."""
    first, *updates = facts.steps
    name = str(first.graph.summary.source.uri).rstrip("/").rsplit("/", 1)[-1]
    return name if not updates else f"{name} and {len(updates):,} update{'' if len(updates) == 1 else 's'}"


def _why_not_complete(manifest: Manifest) -> str:
    """What ended the search of a run that is not complete, in a sentence that goes on."""
    if not manifest.failed:
        return "A limit ended the search"
    return "; ".join(f"Partition {number} failed ({escape(reason)})" for number, reason in manifest.failed.items())


def head(facts: Facts, name: str, found: str) -> str:
    """What was found, in figures."""
    manifest = facts.manifest
    largest = manifest.largest or Largest(0, 0, 0)
    figures = {
        "left vertices": f"{manifest.n_left:,}",
        "right vertices": f"{manifest.n_right:,}",
        "edges": f"{manifest.n_edges:,}",
        "maximal bicliques" if facts.in_step is None else "groups in step": f"{manifest.bicliques:,}",
        "largest": f"{largest.n_left:,} × {largest.n_right:,}",
        "set digest": manifest.digest,
    }
    warning = (
        "" if manifest.complete else f'<p class="warn">{_why_not_complete(manifest)}: there are more than these.</p>'
    )
    what = MAXIMAL if facts.in_step is None else f"{IN_STEP} A window is {escape(facts.in_step)} long."
    return f"<h1>{escape(found)} in {escape(name)}</h1><p>{what}</p>{warning}{tiles(figures)}"


def tiles(figures: dict[str, str]) -> str:
    """The figures at the head of a page."""
    told = "".join(
        f'<div><span class="soft">{escape(said)}</span><b>{escape(value)}</b></div>' for said, value in figures.items()
    )
    return f'<div class="figures">{told}</div>'


def what_went_in(facts: Facts) -> str:
    """Rows that were read, united and dropped, updates, and what the checks of the input said."""
    search = facts.asked.search
    more = [("connected components", f"{facts.profile.components:,}")]
    more += [
        (f"least {what}", f"{getattr(search, key):,}")
        for key, what in (("min_left", "left vertices"), ("min_right", "right vertices"), ("min_edges", "edges"))
        if getattr(search, key) > 1
    ]
    return table_read(facts.steps[0].graph.summary, more, _updates(facts.steps) + checks_table(facts.manifest.checks))


def table_read(summary: Summary, more: Rows = (), after: str = "") -> str:
    """The account of a table that was read: the `summary` of a graph's record."""
    source, columns = summary.source, summary.columns
    repeat = "repeat an edge" if summary.in_step is None else "repeat an action"
    rows = [("rows read", f"{summary.rows_read:,}"), (repeat, f"{summary.duplicates:,}")]
    rows += [(f"dropped: {why}", f"{n:,}") for key, why in DROPPED.items() if (n := getattr(summary, key))]
    rows += [("edges kept", f"{summary.edges:,}"), *more]
    dropped = "" if summary.dropped else " Nothing was dropped."
    said = (
        f"<p><code>{escape(source.uri)}</code> ({escape(source.format)}, {source.bytes:,} bytes); left is"
        f" <b>{escape(str(columns['left']))}</b>, right is <b>{escape(str(columns['right']))}</b>.{dropped}</p>"
    )
    return f"<section><h2>What went in</h2>{said}{two_columns(rows)}{after}</section>"


def account_read(record: Mapping[str, Any]) -> str:
    """What went in, by the account of an answer's table."""
    read = [(what.replace("_", " "), f"{record[what]:,}") for what in ("rows_read", "edges", "duplicates")]
    read += [(f"dropped: {why}", f"{n:,}") for why, n in record["dropped"].items()]
    read += [(what.replace("_", " "), f"{n:,}") for what, n in record["noted"].items()]
    assumed = "".join(f"<p class='soft'>{escape(sentence)}</p>" for sentence in record["assumed"])
    return f"<section><h2>What went in</h2>{two_columns(read)}{assumed}</section>"


def two_columns(rows: Rows) -> str:
    """A table of two columns: what is told, and its value."""
    cells = "".join(f'<tr><td>{escape(what)}</td><td class="n">{escape(value)}</td></tr>' for what, value in rows)
    return f"<table>{cells}</table>"


def _updates(steps: list[Step]) -> str:
    lines = ""
    for step in steps:
        if step.update is not None:
            files = ", ".join(file.uri.rsplit("/", 1)[-1] for file in step.update.files)
            did = "taken away" if step.update.deleted else "joined"
            numbers = "".join(
                f"<td class='n'>{getattr(step.update, name):,}</td>" for name in ("rows_read", "edges", "unchanged")
            )
            lines += f"<tr><td>{escape(files)}</td><td>{did}</td>{numbers}<td><code>{escape(step.run)}</code></td></tr>"
    headings = heads("update", "edges are", "rows read|", "edges|", "no change|", "version")
    return f"<h3>Updates</h3><div class='wide'><table><thead>{headings}</thead>{lines}</table></div>" if lines else ""


def checks_table(checks: list[Check]) -> str:
    """What the checks of the input said; nothing where there are none."""
    if not checks:
        return ""
    lines = ""
    for check in checks:
        value = "no earlier run" if check.value is None else f"{check.value:,.6g}"
        levels = ("warn", check.warn), ("fail", check.fail)
        limits = ", ".join(f"{level} above {limit:,.6g}" for level, limit in levels if limit is not None)
        lines += (
            f"<tr><td>{escape(CHECKED.get(check.name, check.name))}</td><td class='n'>{value}</td>"
            f"<td class='{check.state}'>{check.state}</td><td>{limits or 'no limit set'}</td></tr>"
        )
    headings = heads("check", "value|", "result", "limits")
    return f"<h3>Checks of the input</h3><div class='wide'><table><thead>{headings}</thead>{lines}</table></div>"


def groups_that_matter(facts: Facts) -> str:
    """The most surprising groups, each drawn with what is around it."""
    times = None if isinstance(facts.times, str) else facts.times
    proven = "" if facts.groups.proven else " The time for this search was over: there may be better ones."
    seen = "its edges were first seen" if facts.in_step is None else "its members acted in its windows"
    line = escape(facts.times) if isinstance(facts.times, str) else f"Below each, when {seen}."
    title = "<h2>The groups that matter</h2>"
    if not facts.groups.pictures:
        none = NONE_BEYOND if facts.groups.proven else "No group beyond chance was found."
        why_no_times = f"<p class='soft'>{line}</p>" if isinstance(facts.times, str) else ""
        return f"<section>{title}<p>{none}{proven} {BEYOND_CHANCE}</p>{why_no_times}</section>"
    chosen = (
        f"Of up to {DRAWN}, each is the one that is best beside those before it."
        if facts.in_step is None
        else f"They are the {len(facts.groups.pictures):,} most surprising ones."
    )
    return f"<section>{title}<p>{BEYOND_CHANCE} {chosen}{proven} {line}</p>{drawn_groups(facts.groups.pictures, times)}</section>"


def drawn_groups(pictures: list[GroupPicture], times: Times | Sequence[Times] | None = None) -> str:
    """Draw groups with what is around each, and explain the colours; times of all, or of each."""
    key = "".join(
        f'<span class="key" style="background:var({colour})"></span>{said}'
        for colour, said in (("--left", "in the group"), ("--right", "edge around it"), ("--absent", "no edge"))
    )
    if any(group.missing for group in pictures):
        key += '<span class="key hollow"></span>missing in the group'
    by_group = times if isinstance(times, Sequence) else [times] * len(pictures)
    drawn = "".join(map(_drawn, pictures, by_group))
    return f"<p>{key}</p><div class='pictures'>{drawn}</div>"


def _drawn(group: GroupPicture, times: Times | None) -> str:
    cut = group.n_left > group.left_members or group.n_right > group.right_members
    said = f", the first {group.left_members} × {group.right_members} of them" if cut else ""
    overlap = (
        " It shares no edge with the others here."
        if group.overlap is None
        else f" It shares most with group {group.overlap[0]}: {group.overlap[1]:,} edges."
    )
    line = "" if times is None else _times_of(group, times)
    missing = f", and {group.missing:,} missing" if group.missing else ""
    return (
        f"<div><h3>Group {group.rank}: {group.n_left:,} × {group.n_right:,}, {_surprise_of(group)}</h3>"
        f"<p class='soft'>{group.n_left * group.n_right - group.missing:,} edges{missing}, where chance gives {about(group.expected)} on average."
        f" Rows are left, columns are right vertices{said}.{overlap}</p>"
        f'<div class="wide">{group_picture(group, times)}</div>{line}</div>'
    )


def _surprise_of(group: GroupPicture) -> str:
    return f"surprise {group.surprise:,.0f}" if group.surprise > 0 else "not beyond chance"


def _times_of(group: GroupPicture, times: Times) -> str:
    cells = times.of_cells(group)[: group.left_members, : group.right_members]
    seen = np.sort(cells[~np.isnan(cells)])
    if not seen.size:
        return "<p class='soft'>No edge of it has a time.</p>"
    middle = times.in_words(float(seen[seen.size // 2]))
    return (
        f"{times_picture(group, times)}<p class='soft'>Edges of the group from {times.in_words(float(seen[0]))} to"
        f" {times.in_words(float(seen[-1]))}, half of them by {middle}.</p>"
    )


def groups_to_look_through(facts: Facts) -> str:
    """The table of groups, which the page's script fills, filters and sorts."""
    rows, all_of_them = facts.groups.rows, f"{facts.manifest.bicliques:,}"
    beyond = sum(row["surprise"] > 0 for row in rows)
    said = (
        f"The most surprising and the largest of {all_of_them}: {len(rows):,}, of which {beyond:,} are beyond chance."
        if beyond
        else f"The largest of {all_of_them}: {len(rows):,}, none of them beyond chance, as their surprise is not above 0."
    )
    return table_of_groups("Groups to look through", said, rows)


def table_of_groups(title: str, said: str, rows: list[dict[str, Any]], value: str | None = None) -> str:
    """The table that the page's script fills; `value` heads a column of what groups are worth."""
    keys = {} if value is None else {"value": value}
    keys |= {"surprise": "surprise", "n_edges": "edges", "expected": "by chance", "n_left": "left", "n_right": "right"}
    keys |= {"p": "p"} if any("p" in row for row in rows) else {}
    cut = f" Of each side up to {MEMBERS} members are here, and searched." if _is_cut(rows) else ""
    return filled_table(title, said + cut, keys, ("left members", "right members"), "groups")


def filled_table(
    title: str,
    said: str,
    keys: Mapping[str, str],
    sides: tuple[str, str],
    what: str,
    filters: Mapping[str, str] | None = None,
    by: str | None = None,
) -> str:
    """A table that the page's script fills, sorts and filters.

    `title`, `said`: its heading, and what is said of it. `keys`: what the columns of numbers are
    called, by their keys in the rows. `sides`, `what`: what both sides of a row are called, and the
    rows. `filters`: what fields ask for, by what they look at: labels that have a word, of a side
    or of both, or a number that is as large; None: a member, and the sizes of both sides. `by`: the
    key by which the rows are sorted at first; None: the first one.
    """
    left, right = sides
    sizes = {"left right": "member contains", "n_left": f"least {left}", "n_right": f"least {right}"}
    fields = "".join(
        f'<label>{name}<input data-of="{of}" type="{"search" if of.split()[0] in ("left", "right") else "number"}"'
        ' step="any"></label>'
        for of, name in (filters or sizes).items()
    )
    heads = "".join(
        f'<th class="n" scope="col" data-key="{key}"><button type="button">{name}</button></th>'
        for key, name in keys.items()
    )
    return (
        f"<section><h2>{title}</h2><p>{said} Click on a heading to sort.</p>"
        f'<div class="filters">{fields}</div><p class="soft" id="matching" data-what="{what}" data-by="{by or next(iter(keys))}" aria-live="polite"></p>'
        f'<div class="tall" tabindex="0"><table id="groups"><thead><tr>'
        f'{heads}<th scope="col">{left}</th><th scope="col">{right}</th></tr></thead><tbody></tbody></table>'
        "<noscript>This table needs JavaScript; the pictures above do not.</noscript></div></section>"
    )


def _is_cut(rows: list[dict[str, Any]]) -> bool:
    return any(max(row["n_left"], row["n_right"]) > MEMBERS for row in rows)


def what_changed(facts: Facts) -> str:
    """Groups that appeared and vanished since the run before."""
    changes = facts.changes
    if isinstance(changes, str):
        return f"<section><h2>What changed</h2><p>{escape(changes)}</p></section>"
    tables = "".join(_changed(changes, kind) for kind in ("appeared", "vanished"))
    return (
        f"<section><h2>What changed</h2><p>Since run <code>{escape(changes['before'])}</code>:"
        f" {changes['n_appeared']:,} groups appeared and {changes['n_vanished']:,} vanished; a group that grew counts as"
        f" both.</p>{tables}</section>"
    )


def _changed(changes: dict[str, Any], kind: str) -> str:
    if not changes[kind]:
        return ""
    lines = ""
    for group in changes[kind]:
        other = group["other"]
        beside = "" if other is None else f"{other['n_left']:,} × {other['n_right']:,}"
        lines += (
            f"<tr><td>{escape(group['how'])}</td><td class='n'>{group['n_left']:,} × {group['n_right']:,}</td>"
            f"<td class='n'>{beside}</td><td>{_some(group['left'])}</td><td>{_some(group['right'])}</td></tr>"
        )
    headings = heads("how", "size|", "was|" if kind == "appeared" else "is left|", "left members", "right members")
    shown = f"The {len(changes[kind]):,} largest that {kind}"
    return f"<h3>{shown}</h3><div class='wide'><table class='changes'><thead>{headings}</thead>{lines}</table></div>"


def _some(labels: list[Any]) -> str:
    more = f" · … {len(labels) - NAMED:,} more" if len(labels) > NAMED else ""
    return escape(" · ".join(map(str, labels[:NAMED])) + more)


def shapes(facts: Facts) -> str:
    """Sizes of the groups, degrees, and two-step neighbourhoods."""
    left, right = (facts.two_step[side] for side in ("left", "right"))
    looked_at = " and ".join(
        f"{of.looked_at:,} of {of.vertices:,} {side}"
        for side, of in facts.two_step.items()
        if of.looked_at < of.vertices
    )
    sample = f" A sample: {looked_at} vertices were looked at." if looked_at else ""
    profile = facts.profile
    return (
        '<div class="two">'
        + _picture(
            "Sizes of the groups",
            sizes_picture(facts.sizes),
            "Each cell: groups of that size; the stronger its colour, the more, on a logarithmic scale.",
        )
        + _picture(
            "Degrees",
            degrees_picture(profile.left_degree_histogram, profile.right_degree_histogram),
            "How many vertices have how many edges; both axes are logarithmic.",
        )
        + _picture(
            "Two steps away",
            two_step_picture(left.histogram, right.histogram),
            f"How many vertices share a neighbour with so many others of their side, or more.{sample}",
        )
        + "</div>"
    )


def _picture(title: str, picture: str, caption: str) -> str:
    return (
        f'<section><h2>{title}</h2><figure style="margin:0"><div class="wide">{picture}</div>'
        f"<figcaption>{caption}</figcaption></figure></section>"
    )


def expected_and_found(facts: Facts) -> str:
    """What the plan expected, beside what came."""
    expected = facts.expected
    if expected is None:
        return ""
    ids = sum((left + right) * count for (left, right), count in facts.sizes.items())
    found = {"bicliques": facts.manifest.bicliques, "ids": ids, "bytes": facts.manifest.bytes}
    lines = ""
    for name, truth in found.items():
        of = "" if name == "bicliques" else f"_{name}"
        bounds = getattr(expected, f"low{of}"), getattr(expected, f"high{of}")
        within = "yes" if bounds[0] <= truth <= bounds[1] else "no"
        lines += (
            f"<tr><td>{ {'ids': 'members of all of them'}.get(name, name) }</td><td class='n'>{getattr(expected, name):,}</td>"
            f"<td class='n'>{bounds[0]:,} to {bounds[1]:,}</td><td class='n'>{truth:,}</td><td>{within}</td></tr>"
        )
    headings = heads("", "expected|", "nine cases of ten|", "found|", "within")
    how = (
        "All was searched for it, so it is exact but for the bytes."
        if expected.exact
        else "From a sample of the search."
    )
    cut = "" if facts.manifest.complete else f" {_why_not_complete(facts.manifest)}: not all was found."
    return (
        f"<section><h2>Expected and found</h2><p>{how}{cut}</p><div class='wide'><table><thead>{headings}</thead>{lines}"
        "</table></div></section>"
    )


def time_and_machine(facts: Facts) -> str:
    """Seconds of each stage, what searched, and what names the answer."""
    manifest = facts.manifest
    read = {name: facts.steps[-1].graph.seconds.get(name, 0.0) for name in ("read", "unite", "write")}
    seconds = {**read, "profile": facts.profile.seconds, **manifest.seconds}
    named = ("processor", "cores", "memory", "system")
    machine = ", ".join(
        f"{manifest.machine[name]}{' cores' if name == 'cores' else ''}" for name in named if name in manifest.machine
    )
    published = f" on a machine with {escape(machine)}" if machine else ""
    return (
        f"<section><h2>Time and machine</h2>{bars(seconds)}<p class='soft'>The search is summed over"
        f" {manifest.partitions:,} partitions. They ran on {escape(manifest.backend)} with up to {manifest.threads:,}"
        f" threads and take {manifest.bytes:,} bytes. Run <code>{manifest.run}</code> of graph"
        f" <code>{manifest.graph}</code>, published {escape(manifest.created[:16].replace('T', ' '))} UTC{published}. Set"
        f" digest <code>{manifest.digest}</code>: equal digests mean equal sets of bicliques.</p></section>"
    )


def bars(seconds: dict[str, float]) -> str:
    """Seconds of stages, as numbers and as bars."""
    most = max(seconds.values(), default=0) or 1
    rows = "".join(
        f'<tr><td>{escape(name)}</td><td class="n">{took:,.3f} s</td><td style="width:60%"><div class="bar"'
        f' style="width:{100 * took / most:.1f}%"></div></td></tr>'
        for name, took in seconds.items()
    )
    return f"<table>{rows}</table>"


def heads(*names: str) -> str:
    """A row of headings; a bar at the end of a name says that its column holds numbers."""
    kinds = [' class="n"' if name.endswith("|") else "" for name in names]
    cells = [f'<th scope="col"{kind}>{name.rstrip("|")}</th>' for kind, name in zip(kinds, names, strict=True)]
    return f"<tr>{''.join(cells)}</tr>"
