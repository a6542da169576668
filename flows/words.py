"""Figures in words, for people at a terminal and in Prefect's pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from bicliq.pipeline.redact import printable
from bicliq.pipeline.words import number_of_found

if TYPE_CHECKING:
    from bicliq.pipeline.questions.find import Reached


def many(n: int, one: str, several: str | None = None) -> str:
    """Say how many there are of something.

    Examples
    --------
    >>> many(1, "maximal biclique"), many(8910828, "maximal biclique"), many(0, "vertex", "vertices")
    ('1 maximal biclique', '8,910,828 maximal bicliques', '0 vertices')
    """
    return f"{n:,} {one if n == 1 else several or one + 's'}"


def in_markdown(label: str) -> str:
    r"""Write a label so that Markdown shows it as it is: no link, picture or tag comes of it.

    Examples
    --------
    >>> print(in_markdown("[a](b) <i>\nx|y"))
    \[a\]\(b\) \<i\> x\|y
    """
    return re.sub(r"([\\`*_{}\[\]<>()#!|~&])", r"\\\1", " ".join(label.splitlines()))


def graph_size(record: dict[str, Any]) -> str:
    """Say how large a bipartite graph is."""
    return f"{record['n_left']:,} left × {record['n_right']:,} right, {many(record['n_edges'], 'edge')}"


def how_far(state: Reached) -> tuple[float, str]:
    """Say how far a search for the best groups is: its share from 0 to 1, and in words.

    Examples
    --------
    >>> from bicliq.pipeline.questions.find import Reached
    >>> how_far(Reached(top=3, diverse=False, groups=1, best=(6, 2, 3), share=0.6, roots_done=5, n_roots=20))
    (0.25, '5/20 roots, best so far 6 (2 × 3)')
    >>> how_far(Reached(top=4, diverse=True, groups=1, best=(6, 2, 3), share=0.6, roots_done=5, n_roots=20))
    (0.25, '1 of 4 groups, 60.0% of all edges; of the next 5/20 roots')
    """
    if state.tables is not None:
        done, n = state.tables
        return done / n, f"{done:,}/{many(n, 'random table')}"
    roots = f"{state.roots_done:,}/{state.n_roots:,} roots"
    if state.diverse:
        found = f"{state.groups:,} of {many(state.top, 'group')}, {state.share:.1%} of all edges"
        return state.groups / state.top, f"{found}; of the next {roots}"
    share = state.roots_done / max(state.n_roots, 1)
    if state.best is None:
        return share, roots
    value, n_left, n_right = state.best
    shown = f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"
    return share, f"{roots}, best so far {shown} ({n_left:,} × {n_right:,})"


def read_in_words(record: dict[str, Any]) -> list[str]:
    """Say what became of the rows that were read, and what was taken for granted, a line each.

    Examples
    --------
    >>> read = {"rows_read": 4, "duplicates": 1, "dropped": {"nulls": 1}, "noted": {}, "assumed": []}
    >>> read_in_words(read)
    ['4 rows read: 1 repeats an edge; 1 dropped: nulls']
    """
    repeated = record["duplicates"]
    what = "an action" if record.get("in_step") else "an item of a basket" if "n_baskets" in record else "an edge"
    said = [f"{repeated:,} {'repeats' if repeated == 1 else 'repeat'} {what}"]
    said += [f"{n:,} dropped: {why.replace('_', ' ')}" for why, n in record["dropped"].items()] or ["nothing dropped"]
    said += [f"{n:,} {what.replace('_', ' ')}" for what, n in record["noted"].items()]
    return [
        f"{many(record['rows_read'], 'row')} read: {'; '.join(said)}",
        *map("assumed: {}".format, record["assumed"]),
    ]


def label(member: Any) -> str:
    """Return a label on one line, so that none of its lines looks like one of ours."""
    return printable(str(member))


BETWEEN = " · "
"""What stands between members: names of people have commas in them."""


def some(members: list[Any], n: int = 6) -> str:
    """Name the first members of a side, and say how many there are.

    Examples
    --------
    >>> some(["ann", "bob", "cid"], 2)
    'ann · bob · … (3)'
    """
    return BETWEEN.join(map(label, members[:n])) + (f"{BETWEEN}… ({len(members):,})" if len(members) > n else "")


def taken_in_words(record: dict[str, Any]) -> str:
    """Say what a look of a watch took, in one line."""
    waiting = f"; {many(len(record['waiting']), 'file')} still written or empty" if record["waiting"] else ""
    aside = [f"{one['file'].rsplit('/', 1)[-1]} is set aside: {one['reason']}" for one in record["quarantined"]]
    if record["set_aside"]:
        waiting += f"; {many(len(record['set_aside']), 'file')} rolled back or rejected stay out"
    if record["how"] == "set aside":
        return "; ".join(aside) + waiting
    waiting += "".join(f"; {one}" for one in aside)
    if record["how"] == "nothing new":
        over = f" ({many(len(record['passed_over']), 'other file')})" if record["passed_over"] else ""
        return f"nothing new in {record['place']}{over}{waiting}"
    if record["passed_over"]:
        waiting += f"; {many(len(record['passed_over']), 'other file')} passed over"
    files = some([uri.rsplit("/", 1)[-1] for uri in record["files"]], 3)
    if record["how"] == "run":
        found = f"{number_of_found(record['run'])}, digest {record['digest']}"
        return f"{files}: run {record['version']}: {found}{waiting}"
    return f"{files}: {update_in_words(record['update'])}{waiting}"


def rolled_back_in_words(record: dict[str, Any]) -> str:
    """Say which run is the latest now, and which files are set aside.

    Examples
    --------
    >>> gone = {"set_aside": ["in/3.csv", "in/4.csv"], "held_otherwise": ["in/4.csv"], "rejected": False}
    >>> rolled_back_in_words({"run": "a1", "before": "b2", **gone})
    'run a1 is the latest now; it was b2; 3.csv: watch --again takes it; 4.csv: watch --again --replace takes it'
    """
    said = f"run {record['run']} is the latest now; it was {record['before']}"
    held = set() if record["rejected"] else set(record["held_otherwise"])
    then = "no watch takes" if record["rejected"] else "watch --again takes"
    for how, files in (
        (then, [uri for uri in record["set_aside"] if uri not in held]),
        ("watch --again --replace takes", [uri for uri in record["set_aside"] if uri in held]),
    ):
        if files:
            named = some([uri.rsplit("/", 1)[-1] for uri in files], 3)
            said += f"; {named}: {how} {'it' if len(files) == 1 else 'them'}"
    return said


def update_in_words(record: dict[str, Any]) -> str:
    """Say what an update changed, in one line."""
    if record["how"] in ("nothing", "taken"):
        return f"nothing changed: {record['reason']}"
    moved = f"{many(record['edges'], 'edge')} {'taken away' if record['deleted'] else 'joined'}"
    moved += f", {record['gone']:,} gone" if record["gone"] else ""
    outside = record["dropped_by_window"]
    moved += f", {many(outside, 'row')} before the window left out" if outside else ""
    moved += f", {many(record['left_window'], 'row')} left the window" if record["left_window"] else ""
    found = f"{number_of_found(record)}, digest {record['digest']}"
    if record["appeared"] is None:
        return f"version {record['version']} of run {record['parent']}: {moved}; {found} ({record['reason']})"
    changed = f"{record['appeared']:,} appeared, {record['vanished']:,} vanished"
    whole = "" if record["compacted"] is None else f"; written whole as run {record['compacted']}"
    return f"version {record['version']} of run {record['parent']}: {moved}; {changed}; now {found}{whole}"
