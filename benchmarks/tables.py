"""What `python -m benchmarks` prints: our figures beside the published programs', as tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from rich.console import Group
from rich.table import Table

Record = dict[str, Any]


def enumeration(record: Record) -> Group:
    """Seconds of the enumeration of each graph."""
    table = _table(
        "maximal bicliques, seconds",
        ("graph",),
        (
            "bicliques",
            "exact",
            "threads",
            "prepare",
            "lists",
            "search",
            "total",
            "AdaMBE here",
            "times",
            "recorded",
            "MBET",
            "GMBE+ H200",
        ),
        ("cuMBE H200", "nodes", "not canonical", "M/s", "MiB", "busy"),
    )
    for r in record["graphs"]:
        own = [f"{r[name]:.4f}" for name in ("prepare", "lists", "search", "seconds")]
        adambe, *others = (
            _or_dash(r.get(f"peer_{name}"), "g") for name in ("adambe", "mbet", "gmbe_h200", "cumbe_h200")
        )
        known = [f"{r['bicliques']:,}", _exact(r["expected"], r["bicliques"]), str(r["threads"])]
        peers = [_or_dash(r["adambe_here"], ".4f"), _or_dash(r["times_adambe"], ".1f"), adambe, *others]
        rate = f"{r['bicliques'] / r['seconds'] / 1e6:.1f}"
        search = [f"{r['nodes']:,}", f"{r['not_canonical']:,}", rate, f"{r['workspace_mib']:.0f}", f"{r['busy']:.2f}"]
        table.add_row(r["graph"], *known, *own, *peers, *search)
    return Group(table, _facts(record))


def layouts(record: Record) -> Group:
    """Milliseconds (and busy ratio) of each graph, a row a layout of the search on a GPU."""
    records = record["layouts"]
    graphs = tuple(dict.fromkeys(r["graph"] for r in records))
    table = _table("maximal bicliques on the GPU, milliseconds (busy ratio)", ("layout",), graphs)
    for layout in dict.fromkeys(r["layout"] for r in records):
        cells = (f"{r['milliseconds']:.2f} ({r['busy']:.2f})" for r in records if r["layout"] == layout)
        table.add_row(layout, *cells)
    return Group(table, _facts(record))


def stages(record: Record) -> Table:
    """Seconds of each stage, one column a way from edges to bicliques."""
    ways = record["ways"]
    heads = [f"data {r['data_backend']}, search {r['backend']}" for r in ways]
    table = Table("stage")
    for head in heads:
        table.add_column(head, justify="right", overflow="fold")
    for stage in ways[0]["seconds"]:
        table.add_row(stage, *(_or_dash(r["seconds"].get(stage), ".3f") for r in ways))
    base = ways[0]["seconds"].get("total", 0.0)
    table.add_row("times", *(f"{base / r['seconds']['total']:.2f}" if r["seconds"] else "–" for r in ways))
    table.add_row("digest", *(r["digest"] or "cannot run" for r in ways))
    return _with_reasons(table, (f"{head}: {r['reason']}" for head, r in zip(heads, ways, strict=True) if r["reason"]))


def scaling(record: Record) -> Table:
    """Seconds of a run on clusters of several sizes, how busy workers were, what they read."""
    heads = ("seconds", "times", "bicliques", "digest", "busy workers", "MiB read")
    table = _table(f"run {record['run']} on clusters", (), ("workers", *heads))
    for r in record["clusters"]:
        busy = ", ".join(f"{share:.3f}" for share in r["busy"].values())
        read = ", ".join(f"{size / 2**20:.1f}" for size in r["bytes"].values())
        own = (f"{r['seconds']:.2f}", f"{r['times']:.2f}", f"{r['bicliques']:,}", r["digest"])
        table.add_row(str(r["workers"]), *own, busy, read)
    return table


def simulation(record: Record) -> Table:
    """What many workers would take, a column a way to cut the longest piece."""
    rows = record["simulated"]
    longest = {r["cut"]: f"{r['longest']:.3f}" for r in rows}
    heads = tuple(f"{cut}, longest {seconds} s" for cut, seconds in longest.items())
    price = f"{1000 * record['hand_out']:.1f} ms to hand out a piece"
    title = f"run {record['run']}: seconds, times as fast (if handing out were free), {price}"
    table = _table(title, (), ("workers", *heads))
    for size in dict.fromkeys(r["workers"] for r in rows):
        found = (r for r in rows if r["workers"] == size)
        table.add_row(str(size), *(f"{r['seconds']:.2f}, {r['times']:.1f} ({r['times_if_free']:.1f})" for r in found))
    return table


def growth(record: Record) -> Group:
    """What each stage of growing tables takes, a row a size; by which power it grows."""
    rows = {(r["edges"], r["stage"]): r for r in record["stages"]}
    stages = tuple(dict.fromkeys(stage for _, stage in rows))
    title = "seconds of the processor, by the clock, and GiB of memory held"
    table = _table(title, (), ("edges", *stages, "bicliques", "digest"))
    for size in dict.fromkeys(edges for edges, _ in rows):
        took = (rows[size, stage] for stage in stages)
        cells = (f"{r['cpu_seconds']:.1f}, {r['seconds']:.1f}, {r['peak'] / 2**30:.2f}" for r in took)
        found = rows[size, "search"]["found"]
        table.add_row(f"{size:,}", *cells, f"{found['bicliques']:,}", found["digest"])
    if record["exponents"]:
        table.add_section()
        table.add_row("power", *(f"{record['exponents'][stage]:.2f}" for stage in stages), "", "")
    return Group(table, _facts(record))


def counts(record: Record) -> Group:
    """Milliseconds of each (p,q)-count."""
    heads = ("found", "exact", "threads", "method", "side", "prepare", "estimate", "search", "total")
    table = _table("(p,q)-bicliques, milliseconds", ("count",), heads, ("BCList++", "EPivoter", "GBC H200"))
    for r in record["counts"]:
        peers = (_or_dash(r[f"peer_{name}"], ",") for name in ("bclist", "epivoter", "gbc_h200"))
        own = (f"{r[name]:.1f}" for name in ("prepare", "estimate", "search", "total"))
        known = (f"{r['count']:,}", _exact(r["expected"], r["count"]), str(r["threads"]), r["method"], str(r["side"]))
        table.add_row(r["name"], *known, *own, *peers)
    return Group(table, _facts(record))


def choices(record: Record) -> Group:
    """How often the choice was right, a row a shape of graph."""
    table = Table(title="choice of search and side for (p,q)-counts", title_justify="left")
    for name in ("shape", "counts", "judged", "within 1.3", "within 2", "worst", "of", "estimate / best"):
        table.add_column(name, justify="left" if name in ("shape", "of") else "right")
    records = record["counts"]
    for shape in (*dict.fromkeys(r["graph"].split()[0] for r in records), ""):
        mine = [r for r in records if r["graph"].startswith(shape)]
        judged = [r for r in mine if r["judged"]]
        row = [shape or "all", str(len(mine)), str(len(judged))]
        if judged:
            worst = max(judged, key=lambda r: math.inf if r["times"] is None else r["times"])
            for limit in (1.3, 2):
                row.append(f"{sum(r['times'] is not None and r['times'] <= limit for r in judged) / len(judged):.1%}")
            row.append("given up" if worst["times"] is None else f"{worst['times']:.2f}")
            row.append(f"{worst['graph']} ({worst['p']},{worst['q']}), {worst['chosen']}")
            row.append(f"{sum(r['estimate'] for r in judged) / sum(r['best'] for r in judged):.1%}")
        table.add_row(*row)
    return Group(table, _facts(record))


def sides(record: Record) -> Group:
    """How often the better side was chosen, a row a graph."""
    heads = ("pairs", "within 1.2 or 1 ms", "worst", "of", "estimate / search", "at most", "of")
    table = _table("choice of the side by least sizes, CPU seconds of one thread", ("graph",), heads)
    records = record["pairs"]
    for graph in (*dict.fromkeys(r["graph"] for r in records), None):
        mine = [r for r in records if graph in (None, r["graph"])]
        judged = [r for r in mine if r["share"] is not None]
        row = [graph or "all", str(len(mine)), str(sum(r["good"] for r in mine))]
        row += _most(mine, "times", ".2f")
        row.append(f"{sum(r['estimate'] for r in judged) / sum(r['seconds'] for r in judged):.1%}" if judged else "–")
        table.add_row(*row, *_most(judged, "share", ".1%"))
    return Group(table, _facts(record))


def _most(records: list[Record], of: str, style: str) -> list[str]:
    """The largest value of some pairs of least sizes, and which pair has it."""
    most = max(records, key=lambda r: r[of], default=None)
    if most is None:
        return ["–", "–"]
    return [format(most[of], style), f"{most['min_left']} x {most['min_right']}, {most['seconds']:.4f} s"]


def cliques(bounds: str) -> Callable[[Record], Group]:
    """Seconds of the maximum clique of each graph; `bounds` is the strongest bound in use."""
    weaker = "" if bounds == "refute" else f", no bound stronger than {bounds}"
    heads = ("size", "exact", "threads", "order", "search", "total", "nodes", "best peer, CPU", "best peer, H200")

    def shown(record: Record) -> Group:
        table = _table(f"maximum clique, seconds{weaker}", ("graph",), heads)
        for r in record["graphs"]:
            exact = _exact(r["expected"], r["size"]) if r["proven"] else "not proven"
            peers = (_or_dash(r[name], "g") for name in ("peer_cpu", "peer_h200"))
            seconds = (f"{r[name]:.4f}" for name in ("order", "search", "seconds"))
            table.add_row(r["graph"], str(r["size"]), exact, str(r["threads"]), *seconds, f"{r['nodes']:,}", *peers)
        return Group(table, _facts(record))

    return shown


def planted(record: Record) -> Group:
    """Rings that each way found, and how many of those whom it named are in one."""
    table = _table("planted rings", ("graph", "way"), ("rings found", "of", "precision", "recall", "seconds"))
    for r in record["graphs"]:
        shares = (f"{r[name][-1]:.2f}" for name in ("precision", "recall"))
        table.add_row(r["graph"], r["way"], f"{r['found']:g}", str(r["rings"]), *shares, f"{r['seconds']:.2f}")
    return Group(table, _facts(record))


def updates(record: Record) -> Group:
    """What batches of edges change, and what an update takes beside a run from scratch."""
    heads = ("edges", "share", "appeared", "vanished", "MiB", "seconds", "of it search", "run", "run / update")
    table = _table("updates", ("graph", "how"), heads)
    for r in record["graphs"]:
        changed = (_or_dash(r[kind], ",") for kind in ("appeared", "vanished"))
        took = (f"{r[name]:.3f}" for name in ("seconds", "search", "full"))
        table.add_row(
            r["graph"], r["how"], f"{r['edges']:,}", f"{r['share']:.3%}", *changed, f"{r['bytes'] / 2**20:,.2f}", *took,
            f"{r['full'] / r['seconds']:,.1f}",
        )  # fmt: skip
    return Group(table, _facts(record))


def estimates(record: Record) -> Group:
    """How often intervals hold the truth, how wide they are, and what they took."""
    heads = ("bicliques", "held", "exact", "error", "width", "seconds", "search")
    table = _table("estimates of a search", ("graph",), heads)
    for r in record["graphs"]:
        off = (f"{math.expm1(r[name]):.1%}" for name in ("error", "width"))
        of = f" of {r['seeds']}"
        table.add_row(
            r["graph"], f"{r['bicliques']:,}", f"{r['held']}{of}", f"{r['exact']}{of}", *off, f"{r['seconds']:.2f}",
            _or_dash(r["search"], ".2f"),
        )  # fmt: skip
    sampled = [r for r in record["graphs"] if r["exact"] < r["seeds"]]
    said = []
    for what, rows in (("all graphs", record["graphs"]), ("graphs that were not searched whole", sampled)):
        held, n = (sum(r[name] for r in rows) for name in ("held", "seeds"))
        if n:
            said.append(f"{what}: {held} of {n} intervals hold the truth ({held / n:.0%})")
    return Group(table, *said, _facts(record))


def finds(record: Record) -> Group:
    """Milliseconds of the best bicliques of each graph, by every objective."""
    heads = ("first answer", "exact", "on", "roots", "nodes", "prepare", "fastest", "median", "published")
    table = _table("the best bicliques, milliseconds", ("graph",), ("sides ≥", "best", *heads))
    for r in record["questions"]:
        own = (f"{r[name]:.1f}" for name in ("prepare", "milliseconds", "median"))
        table.add_row(
            r["graph"], str(r["min_size"]), f"{r['k']} by {r['by']}", f"{r['left']:,} × {r['right']:,}",
            "yes" if r["exact"] else "NO", r["backend"], f"{r['roots']:,}", f"{r['nodes']:,}", *own, _or_dash(r["published"], ","),
        )  # fmt: skip
    return Group(table, _facts(record))


def random_cliques(record: Record) -> Group:
    """Seconds and how many times as fast as one thread; a dash where the time did not suffice."""
    records = record["cells"]
    heads = {"one": "1 thread", "several": f"{records[0]['threads']} threads", "times": "times"}
    if any(r["device"] is not None for r in records):
        heads |= {"device": "GPU", "device_times": "times"}
    table = _table("maximum clique of random graphs, seconds", (), ("n", "density", "size", *heads.values()))
    for r in records:
        proven = any(r[name] is not None for name in ("one", "several", "device"))
        values = (_or_dash(r[name], ".2f" if "times" in name else ".4f") for name in heads)
        table.add_row(f"{r['n']:,}", f"{r['density']:g}", f"{r['size']}" if proven else f">= {r['size']}", *values)
    return Group(table, _facts(record))


def projected_cliques(record: Record) -> Group:
    """Seconds of each stage from a bipartite table to a clique of its projection, a row a way."""
    from benchmarks.projected_cliques import STAGES, WAYS_TO_CORES

    timed = (*STAGES, "total", *WAYS_TO_CORES)
    heads = ("shared", "vertices", "edges", "size", "exact", *timed)
    table = _table("maximum clique of projected tables, seconds", ("graph", "data"), heads)
    for r in record["ways"]:
        seconds = r["seconds"] or {}
        known = [f"{r[name]:,}" for name in ("n_vertices", "n_edges", "size")] if seconds else ["–"] * 3
        proven = ("yes" if r["proven"] else "not proven") if seconds else "–"
        times = (_or_dash(seconds.get(name), ".4f") for name in timed)
        table.add_row(r["graph"], r["data_backend"], str(r["min_shared"]), *known, proven, *times)
    reasons = dict.fromkeys(f"{r['data_backend']}: {r['reason']}" for r in record["ways"] if r["reason"])
    return Group(_with_reasons(table, reasons), _facts(record))


def _table(title: str, names: tuple[str, ...], *figures: tuple[str, ...]) -> Table:
    """A table with columns of names, then columns of figures."""
    table = Table(*names, title=title, title_justify="left")
    for head in (head for heads in figures for head in heads):
        table.add_column(head, justify="right")
    return table


def _facts(record: Record) -> str:
    """What the machine is, on one line."""
    return ", ".join(f"{name} {value}" for name, value in record["machine"].items())


def _with_reasons(table: Table, reasons: Iterable[str]) -> Table:
    """Say below a table why some ways could not be gone."""
    table.caption, table.caption_justify = "\n".join(reasons), "left"
    return table


def _exact(expected: int | None, found: int) -> str:
    """Whether a figure is the one that is known."""
    return "–" if expected is None else "yes" if expected == found else "NO"


def _or_dash(value: Any, style: str) -> str:
    return "–" if value is None else format(value, style)
