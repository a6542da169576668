"""The pages of answers: counts, maximum cliques, and the best groups by an objective."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

from bicliq.pipeline.errors import StorageError
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.report.frame import framed
from bicliq.pipeline.report.groups import DRAWN, Group, chance_of, pictures_of, row_of
from bicliq.pipeline.report.pictures import counts_picture
from bicliq.pipeline.report.sections import (
    GAPPED,
    IN_STEP,
    MAXIMAL,
    bars,
    checks_table,
    drawn_groups,
    heads,
    table_of_groups,
    table_read,
    tiles,
    two_columns,
)
from bicliq.pipeline.report.times import Timed
from bicliq.pipeline.stages.checks import read_checks
from bicliq.pipeline.store.account import Summary
from bicliq.pipeline.store.counts import COUNTS_FILE
from bicliq.pipeline.store.records import Counts
from bicliq.pipeline.store.results import Run

LISTED = 500
"""Groups, counts or cliques that a page lists; it says how many more there are."""

VALUES = {
    "edges": "edges between its left and right vertices",
    "vertices": "left vertices and right vertices together",
    "balanced": "vertices of the smaller side",
    "weight": "the weights of its members, or of its edges",
    "surprise": "how far it is beyond what chance gives in a table where every vertex has as many edges; above 0 is news",
}
"""What each objective measures."""


def find_page(
    record: Mapping[str, Any],
    summary: Summary,
    graph: BipartiteGraph,
    groups: Sequence[Group],
    labels: Any,
    in_step: Sequence[Timed] = (),
) -> str:
    """Return the page of the best groups by an objective.

    Parameters
    ----------
    record
        The record of `pipeline.questions.find.find_in_table`.
    summary
        That of the table, as of a graph's record.
    graph
        All of its edges.
    groups
        Vertices of the groups, in the order of the record.
    labels
        Labels of the left and the right vertices of the graph.
    in_step
        Of groups in step what times have to do with each that is listed.

    Notes
    -----
    O(edges) time, and O(members) for each group that is listed.
    """
    by, name = record["by"], _name(summary.source.uri)
    found = f"{len(groups):,} best group{'' if len(groups) == 1 else 's'} by {by}" if groups else f"No group by {by}"
    null = record.get("null", {"tables": 0})
    told = ["value", *["p"] * bool(null["tables"])]
    values = [{key: group[key] for key in told} for group in record["groups"][:LISTED]]
    gapped = "missing" in record
    rows = [value | row_of(graph, group, labels, gapped) for value, group in zip(values, groups, strict=False)]
    shown = pictures_of(graph, groups[:DRAWN], labels, gapped)
    for row, each in zip(rows, in_step, strict=False):
        row |= chance_of(each.surprise, each.expected)
    shown = [
        replace(p, surprise=t.surprise, expected=t.expected) for p, t in zip(shown, in_step, strict=False)
    ] or shown
    times = [each.times for each in in_step[:DRAWN]] or None
    heading = None if by == "surprise" and not record["diverse"] else _value_in_words(record)
    listed = table_of_groups("All of them", _of(len(groups), len(rows), "groups") + _p(null), rows, heading)
    out = [(f"left out: {why}", f"{n:,}") for why, n in record["left_out"].items()]
    drawn = (
        f" The first {len(shown)} are drawn.</p>{drawn_groups(shown, times)}"
        if shown
        else f"</p><p>{_why_none(record)}</p>"
    )
    diverse = " Each next one adds most to those before it." if record["diverse"] else ""
    parts = [
        f"<h1>{escape(found)} in {escape(name)}</h1><p>{_what_they_are(record)}</p>{_proven(record)}{tiles(_best(record))}",
        f"<section><h2>The best</h2><p>By {escape(by)}: {_measured(record)}.{diverse}{drawn}</section>",
        *([listed] if rows else []),
        table_read(summary, out),
        _time(record, f"The search looked at {record['nodes']:,} nodes from the {record['side']} side"),
    ]
    return framed(f"{found} in {name}", parts, rows or None)


def count_page(run: Run) -> str:
    """Return the page of the counts of a run, all that were asked of it.

    Raises StorageError where they are not counted to their end, or damaged.
    """
    counts, methods = _counts_of(run)
    graph, plan = run.graph.record(), run.folder.planned
    name, most = _name(graph.summary.source.uri), max(counts.values())
    (p, q), *others = counts
    title = f"{len(counts):,} counts" if others else f"{most:,} complete {p:,} × {q:,} subgraphs"
    said = (
        "A (p,q)-biclique is a choice of p left and q right vertices of which each left one has an edge to each right"
        " one; all of them are counted, maximal or not."
    )
    sizes = {"left vertices": graph.n_left, "right vertices": graph.n_right, "edges": graph.n_edges}
    told = {key: f"{value:,}" for key, value in sizes.items()} | {"largest count": f"{most:,}"}
    picture = f'<div class="wide">{counts_picture(counts)}</div>' if others else ""
    lines = "".join(
        f"<tr><td class='n'>{p:,}</td><td class='n'>{q:,}</td><td class='n'>{count:,}</td></tr>"
        for (p, q), count in list(counts.items())[:LISTED]
    )
    how = (
        f"Counted by {escape(' and '.join(methods))} from the {escape(plan.side)} side in {plan.partitions:,}"
        f" partition{'' if plan.partitions == 1 else 's'}. Run <code>{escape(run.run)}</code> of graph"
        f" <code>{escape(plan.graph)}</code>."
    )
    parts = [
        f"<h1>{title} in {escape(name)}</h1><p>{said}</p>{tiles(told)}",
        f"<section><h2>Counts</h2>{picture}<div class='tall' tabindex='0'><table><thead>{heads('p|', 'q|', 'count|')}"
        f"</thead>{lines}</table></div><p class='soft'>{_of(len(counts), min(len(counts), LISTED), 'counts')} {how}</p>"
        "</section>",
        table_read(graph.summary, after=checks_table(read_checks(run.folder))),
    ]
    return framed(f"{title} in {name}", parts)


def _counts_of(run: Run) -> tuple[dict[tuple[int, int], int], list[str]]:
    """The published counts of a run by (p, q), and by which methods they were counted."""
    folder = run.folder
    record = folder.find(Counts)
    if record is None:
        raise StorageError(f"{folder.uri}: its counts are not finished; give the same bicliq count again")
    rows = folder.read_table(record.named[COUNTS_FILE]).to_pylist()
    return {(row["p"], row["q"]): int(row["count"]) for row in rows}, sorted(set(record.keys.values()))


def clique_page(record: Mapping[str, Any]) -> str:
    """Return the page of a maximum clique.

    `record` is that of `pipeline.questions.clique.answer`.
    """
    name, question = _name(str(record["source"])), record["question"]
    cliques = record.get("cliques") or ([record["members"]] if record["members"] else [])
    side, shared = question["project"], question["min_shared"]
    what = (
        "The table is an undirected graph."
        if side is None
        else f"Two {side} vertices are tied where they share at least {shared:,} neighbour{'' if shared == 1 else 's'}."
    )
    figures = {
        "members": record["size"],
        "maximum cliques" if question["all"] else "cliques": record["n_cliques"],
        "vertices": record["n_vertices"],
        "edges": record["n_edges"],
        "degeneracy": record["degeneracy"],
    }
    lines = "".join(
        f"<tr><td class='n'>{number:,}</td><td>{escape(' · '.join(map(str, clique)))}</td></tr>"
        for number, clique in enumerate(cliques[:LISTED], 1)
    )
    listed = (
        f"<div class='tall' tabindex='0'><table class='changes'><thead>{heads('clique|', 'members')}</thead>{lines}</table>"
        f"</div><p class='soft'>{_of(len(cliques), min(len(cliques), LISTED), 'cliques')}</p>"
    )
    left_out = [("loops that were left out", record["self_loops"]), ("repeats of an edge", record["repeated"])]
    title = f"A clique of {record['size']:,} in {name}"
    parts = [
        f"<h1>{escape(title)}</h1><p>{what} A clique is a set of vertices that are all tied to each other; a maximum one is"
        f" a largest.</p>{_proven(record)}{tiles({key: f'{value:,}' for key, value in figures.items()})}",
        f"<section><h2>Members</h2>{listed}</section>",
        f"<section><h2>What went in</h2><p><code>{escape(str(record['source']))}</code></p>"
        f"{two_columns((said, f'{n:,}') for said, n in left_out)}</section>",
        _time(record, f"The search looked at {record['nodes']:,} nodes"),
    ]
    return framed(title, parts)


def _name(uri: str) -> str:
    return uri.rstrip("/").rsplit("/", 1)[-1]


def _what_they_are(record: Mapping[str, Any]) -> str:
    return IN_STEP if "in_step" in record else GAPPED if "missing" in record else MAXIMAL


def _measured(record: Mapping[str, Any]) -> str:
    """What the objective measures; chance draws times as well where groups are in step."""
    said = VALUES[record["by"]]
    return said.replace("as many edges", "as many edges, at times of others") if "in_step" in record else said


def _best(record: Mapping[str, Any]) -> dict[str, str]:
    """The figures at the head of the page of a find."""
    sizes = {"left vertices": record["n_left"], "right vertices": record["n_right"], "edges": record["n_edges"]}
    figures = {said: f"{value:,}" for said, value in sizes.items()}
    if record["groups"]:
        best = record["groups"][0]
        figures |= {
            "the best": f"{best['n_left']:,} × {best['n_right']:,}",
            _value_in_words(record): f"{round(best['value'], 2):,}",
        }
        if record["diverse"]:
            figures["of all edges, together"] = f"{record['groups'][-1]['share']:.1%}"
    return figures


def _value_in_words(record: Mapping[str, Any]) -> str:
    return f"adds, by {record['by']}" if record["diverse"] else f"value by {record['by']}"


def _why_none(record: Mapping[str, Any]) -> str:
    why = record["why_none"]
    return f"No group: {escape(why)}." if why else "There is no group of these sizes."


def _p(null: Mapping[str, Any]) -> str:
    said = "p: the share of {:,} random tables of the same degrees, and of this one, whose best group is worth as much."
    return f" {said.format(null['tables'])}" if null["tables"] else ""


def _proven(record: Mapping[str, Any]) -> str:
    ended = "The time for this search was over before it was proven that there is nothing better."
    return "" if record["proven"] else f'<p class="warn">{ended}</p>'


def _of(n: int, shown: int, what: str) -> str:
    return f"{n:,} {what}." if shown == n else f"The first {shown:,} of {n:,} {what}."


def _time(record: Mapping[str, Any], how: str) -> str:
    """Seconds of each stage, and where it ran."""
    seconds: Iterable[tuple[str, float]] = record["seconds"].items()
    ran = f"on {escape(record['backend'])} with {record['threads']:,} thread{'' if record['threads'] == 1 else 's'}"
    where = f" It is kept in <code>{escape(str(record['output']))}</code>." if record.get("output") else ""
    return f"<section><h2>Time</h2>{bars(dict(seconds))}<p class='soft'>{how}, {ran}.{where}</p></section>"
