"""The page: one file of HTML with its style, its pictures and its script inside."""

from __future__ import annotations

import json
import os
from html import escape
from importlib.resources import files
from typing import Any

import fsspec

from pipeline.errors import InputError, StorageError
from pipeline.report.facts import MEMBERS, Facts, gather
from pipeline.report.pictures import degrees_picture, group_picture, sizes_picture
from pipeline.store.results import Run

DROPPED = {
    "dropped_nulls": "a value was missing",
    "dropped_self_labels": "both labels were equal",
    "dropped_by_weight": "below the least weight",
    "dropped_by_time": "before since, or from until on",
    "dropped_by_window": "outside of the window of time",
    "dropped_by_sample": "not of the sample",
    "dropped_ragged": "too many or too few fields",
}
"""Why rows were dropped, in words."""


def write_report(run: Run, path: str | os.PathLike[str] | None = None, *, overwrite: bool = True) -> str:
    """Write the report of a published run as one page of HTML.

    Parameters
    ----------
    run
        The run.
    path
        Path or fsspec URL; by default reports/<run>.html in the store.
    overwrite
        Whether a file that is there is replaced.

    Returns
    -------
    str
        Where it is.

    Raises
    ------
    InputError
        Where the file is there already, and shall not be replaced.
    StorageError
        Where the run is not published, is damaged, or the page cannot be written.
    """
    place = f"{run.store.uri}/reports/{run.run}.html" if path is None else os.fspath(path)
    system, target = fsspec.core.url_to_fs(place)
    if not overwrite and system.exists(target):
        raise InputError(f"{place}: is there already; name another file, or overwrite it")
    text = page(gather(run))
    try:
        system.makedirs(system._parent(target), exist_ok=True)
        with system.open(target, "wb") as file:
            file.write(text.encode())
    except OSError as error:
        raise StorageError(f"{place}: cannot be written: {error}; check the folder and the space") from error
    return place


def page(facts: Facts) -> str:
    """Return the page of a run; every label is escaped."""
    room = files("pipeline.report")
    style, script = (room.joinpath(f"page.{kind}").read_text(encoding="utf-8") for kind in ("css", "js"))
    name = str(facts.graph["source"]["uri"]).rstrip("/").rsplit("/", 1)[-1]
    found = f"{facts.manifest.bicliques:,} maximal biclique{'' if facts.manifest.bicliques == 1 else 's'}"
    return "".join(
        [
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            f"<title>{escape(found)} of {escape(name)}</title><style>{style}</style></head><body><main>",
            _head(facts, name, found),
            _input(facts),
            '<div class="two">',
            _section("Sizes of the groups", sizes_picture(facts.sizes), "Each cell: groups of that size; the stronger its colour, the more, on a logarithmic scale."),
            _section("Degrees", degrees_picture(facts.profile.left_degree_histogram, facts.profile.right_degree_histogram),
                     "How many vertices have how many edges; both axes are logarithmic."),
            "</div>",
            _pictures(facts),
            _groups(facts),
            _times(facts),
            f'</main><script type="application/json" id="data">{_json(facts.rows)}</script>',
            f"<script>{script}</script></body></html>\n",
        ]
    )  # fmt: skip


def _json(rows: list[dict[str, Any]]) -> str:
    """JSON that ends no script: no label can close the element that it stands in."""
    return json.dumps(rows, ensure_ascii=False).replace("<", "\\u003c").replace("\u2028", "\\u2028")


def _head(facts: Facts, name: str, found: str) -> str:
    manifest = facts.manifest
    largest = manifest.largest or {"n_left": 0, "n_right": 0, "n_edges": 0}
    figures = {
        "left vertices": f"{manifest.n_left:,}",
        "right vertices": f"{manifest.n_right:,}",
        "edges": f"{manifest.n_edges:,}",
        "maximal bicliques": f"{manifest.bicliques:,}",
        "largest": f"{largest['n_left']:,} × {largest['n_right']:,}",
        "set digest": manifest.digest,
    }
    warning = "" if manifest.complete else '<p class="warn">A limit ended the search: there are more than these.</p>'
    told = "".join(
        f'<div><span class="soft">{said}</span><b>{escape(value)}</b></div>' for said, value in figures.items()
    )
    return (
        f"<h1>{escape(found)} in {escape(name)}</h1>"
        "<p>A maximal biclique is a group of left vertices and the right vertices that all of them share, which can be"
        f' extended on neither side.</p>{warning}<div class="figures">{told}</div>'
    )


def _input(facts: Facts) -> str:
    summary, source = facts.graph["summary"], facts.graph["source"]
    columns, asked = summary["columns"], facts.asked["search"]
    rows = [("rows read", f"{summary['rows_read']:,}"), ("repeat an edge", f"{summary['duplicates']:,}")]
    rows += [(f"dropped: {why}", f"{summary[key]:,}") for key, why in DROPPED.items() if summary.get(key)]
    rows += [("edges kept", f"{summary['edges']:,}"), ("connected components", f"{facts.profile.components:,}")]
    rows += [
        (f"least {what}", f"{asked[key]:,}")
        for key, what in (("min_left", "left vertices"), ("min_right", "right vertices"), ("min_edges", "edges"))
        if asked[key] > 1
    ]
    lines = "".join(f'<tr><td>{escape(said)}</td><td class="n">{value}</td></tr>' for said, value in rows)
    dropped = "" if any(summary.get(key) for key in DROPPED) else " Nothing was dropped."
    return (
        f"<section><h2>What went in</h2><p><code>{escape(str(source['uri']))}</code> ({escape(source['format'])},"
        f" {source['bytes']:,} bytes); left is <b>{escape(str(columns['left']))}</b>, right is"
        f" <b>{escape(str(columns['right']))}</b>.{dropped}</p>"
        f"<table>{lines}</table></section>"
    )


def _section(title: str, picture: str, caption: str) -> str:
    return (
        f'<section><h2>{title}</h2><figure style="margin:0"><div class="wide">{picture}</div>'
        f"<figcaption>{caption}</figcaption></figure></section>"
    )


def _groups(facts: Facts) -> str:
    heads = "".join(
        f'<th class="n" scope="col" data-key="{key}"><button type="button">{said}</button></th>'
        for key, said in (("rank", "#"), ("n_left", "left"), ("n_right", "right"), ("n_edges", "edges"))
    )
    listed = len(facts.rows)
    cut = f" Of each side up to {MEMBERS} members are here, and searched." if _is_cut(facts.rows) else ""
    return (
        f"<section><h2>Groups to look through</h2><p>The {listed:,} largest by edges, of {facts.manifest.bicliques:,}.{cut}"
        " Click on a heading to sort.</p>"
        '<div class="filters"><label>member contains<input id="member" type="search"></label>'
        '<label>least left<input id="least-left" type="number" min="1" value="1"></label>'
        '<label>least right<input id="least-right" type="number" min="1" value="1"></label></div>'
        '<p class="soft" id="matching" aria-live="polite"></p><div class="tall" tabindex="0"><table id="groups"><thead><tr>'
        f'{heads}<th scope="col">left members</th><th scope="col">right members</th></tr></thead><tbody></tbody></table>'
        "<noscript>This table needs JavaScript; the pictures above do not.</noscript></div></section>"
    )


def _is_cut(rows: list[dict[str, Any]]) -> bool:
    return any(max(row["n_left"], row["n_right"]) > MEMBERS for row in rows)


def _pictures(facts: Facts) -> str:
    parts = []
    for group in facts.pictures:
        cut = group.n_left > group.left_members or group.n_right > group.right_members
        said = f", the first {group.left_members} × {group.right_members} of them" if cut else ""
        overlap = (
            ""
            if group.overlap is None
            else f" It shares most with group {group.overlap[0]}: {group.overlap[1]:,} edges."
        )
        parts.append(
            f"<div><h3>Group {group.rank}: {group.n_left:,} × {group.n_right:,}</h3><p class='soft'>Rows are left, columns are"
            f' right vertices{said}.{overlap}</p><div class="wide">{group_picture(group)}</div></div>'
        )
    key = "".join(
        f'<span class="key" style="background:var({colour})"></span>{said}'
        for colour, said in (("--left", "in the group"), ("--right", "edge around it"), ("--absent", "no edge"))
    )
    return f"<section><h2>The largest, with what is around them</h2><p>{key}</p><div class='pictures'>{''.join(parts)}</div></section>"


def _times(facts: Facts) -> str:
    manifest = facts.manifest
    read = {name: facts.graph["seconds"].get(name, 0.0) for name in ("read", "unite", "write")}
    seconds = {**read, "profile": facts.profile.seconds, **manifest.seconds}
    most = max(seconds.values(), default=0) or 1
    lines = "".join(
        f'<tr><td>{escape(name)}</td><td class="n">{took:,.3f} s</td><td style="width:60%"><div class="bar"'
        f' style="width:{100 * took / most:.1f}%"></div></td></tr>'
        for name, took in seconds.items()
    )
    return (
        f"<section><h2>Time and machine</h2><table>{lines}</table><p class='soft'>The search is summed over"
        f" {manifest.partitions:,} partitions. They ran on {escape(manifest.backend)} with up to {manifest.threads:,}"
        f" threads and take {manifest.bytes:,} bytes. Run <code>{manifest.run}</code> of graph"
        f" <code>{manifest.graph}</code>, published {escape(manifest.created[:16].replace('T', ' '))} UTC. Equal digests"
        " mean equal sets of bicliques.</p></section>"
    )
