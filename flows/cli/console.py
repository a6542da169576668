"""What people see: progress bars and tables on standard error and out, one JSON object where it was asked for."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from pipeline.run import Observer

MEMBERS_SHOWN = 8
"""Members of a side that a table shows before it says how many more there are."""

out = Console(soft_wrap=True)
err = Console(stderr=True, soft_wrap=True)
wide = Console(width=220)


def print_json(record: Any) -> None:
    """Print one JSON object on standard output."""
    print(json.dumps(record, default=str))


@contextmanager
def observed(quiet: bool) -> Iterator[Observer]:
    """An observer that draws a progress bar on standard error, on a terminal and where `quiet` is false."""
    if quiet or not err.is_terminal:
        yield Observer()
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[detail]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as progress:
        bar = _Bar(progress)
        yield Observer(bar.stage, bar.rows, bar.search, bar.dashboard)


@dataclass
class _Bar:
    """One bar that the stages share, one after the other."""

    progress: Progress

    def __post_init__(self) -> None:
        self.task = self.progress.add_task("start", total=None, detail="")

    def stage(self, name: str) -> None:
        self.progress.reset(self.task, description=name, total=None, detail="")

    def rows(self, rows: int, size: int) -> None:
        self.progress.update(self.task, detail=f"{rows:,} rows of {size / 2**20:,.0f} MiB")

    def search(self, state: Any) -> None:
        rate = state.bicliques / state.seconds if state.seconds > 0 else 0
        self.progress.update(
            self.task,
            total=max(state.cost, 1),
            completed=state.cost_done,
            detail=(
                f"{state.roots_done:,}/{state.n_roots:,} roots, {state.partitions_done}/{state.partitions} partitions,"
                f" {state.bicliques:,} bicliques, {rate:,.0f}/s"
            ),
        )

    def dashboard(self, address: str) -> None:
        self.progress.console.print(f"Dask dashboard: {address}")


def summary_table(record: dict[str, Any]) -> Table:
    """The figures of a run."""
    table = Table(title=f"run {record['run']}", show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column()
    table.add_row(
        "bicliques",
        f"{record['bicliques']:,}" + ("" if record["complete"] else "  (a limit was reached: there are more)"),
    )
    table.add_row("set digest", record["digest"])
    table.add_row("graph", f"{record['n_left']:,} left × {record['n_right']:,} right, {record['n_edges']:,} edges")
    for name, value in _ingested(record.get("ingest")):
        table.add_row(name, value)
    if record.get("largest"):
        largest = record["largest"]
        table.add_row("largest", f"{largest['n_left']:,} × {largest['n_right']:,} = {largest['n_edges']:,} edges")
    table.add_row("partitions", f"{record['partitions']:,} ({record['searched']:,} searched now)")
    table.add_row("seconds", ", ".join(f"{name} {value:.2f}" for name, value in record["seconds"].items()))
    if record.get("busy"):
        table.add_row("busy workers", ", ".join(f"{share:.0%}" for share in record["busy"].values()))
    table.add_row("output", f"{record['output']}  ({record['bytes'] / 2**20:,.1f} MiB)")
    return table


def runs_table(runs: list[dict[str, Any]], store: str) -> Table:
    """Runs with their states, a row each; the last used one last."""
    table = Table(title=f"runs of {store}", title_justify="left")
    for name in ("run", "graph", "state", "at least", "partitions", "bicliques", "MiB", "search s", "last used (UTC)"):
        table.add_column(name, justify="right" if name in ("partitions", "bicliques", "MiB", "search s") else "left")
    for r in runs:
        if r["state"] == "damaged":
            table.add_row(r["run"], "", "[red]damaged[/red]", "", "", "", "", "", escape(r["reason"]))
            continue
        state = "cut off" if r["state"] == "limited" else r["state"]
        least = f"{r['min_left']} × {r['min_right']}" + (f", {r['min_edges']:,} edges" if r["min_edges"] > 1 else "")
        done = ", ".join(r["counts"]) if r["state"] == "count" else f"{r['bicliques']:,}"
        table.add_row(
            r["run"], r["graph"], state, least, f"{r['partitions_searched']:,} of {r['partitions']:,}", done,
            f"{r['bytes'] / 2**20:,.1f}", f"{r['seconds']:,.1f}", (r["published"] or r["created"])[:19],
        )  # fmt: skip
    return table


def show_verification(found: Any, mended: list[str] | None) -> None:
    """What was mended, what was found of each run, what is left over, and what is wrong."""
    for sentence in mended or []:
        out.print(sentence, markup=False)
    wrong = {run.run for run in found.runs if not run.ok} | {p.split("/")[1] for p in found.problems if "/" in p}
    for run in found.runs:
        if run.run in wrong:
            continue
        count = run.state.startswith("a count")
        what = run.state if run.complete and count else "sound" if run.complete else f"sound, but {run.state}"
        read = f"{run.bicliques:,} bicliques in {run.partitions:,} files, digest {run.digest}"
        sampled = f", {run.sampled:,} of them checked against the graph"
        out.print(f"run {run.run} is {what}" + ("" if count else f": {read}{sampled}"))
    for path in found.leftovers:
        out.print(f"{path}: left by a process that was killed; no damage, --repair removes it", markup=False)
    for problem in found.problems:
        err.print(problem, style="red", markup=False)
    if found.ok:
        out.print(f"no damage: {found.bytes / 2**20:,.1f} MiB read")


def layouts_table(records: list[dict[str, Any]]) -> Table:
    """Milliseconds (and busy ratio) of each graph, a row a layout of the search on a GPU."""
    table = Table("layout", title="maximal bicliques on the GPU, milliseconds (busy ratio)", title_justify="left")
    for graph in dict.fromkeys(r["graph"] for r in records):
        table.add_column(graph, justify="right")
    for layout in dict.fromkeys(r["layout"] for r in records):
        cells = (f"{r['milliseconds']:.2f} ({r['busy']:.2f})" for r in records if r["layout"] == layout)
        table.add_row(layout, *cells)
    return table


def stages_table(records: list[dict[str, Any]]) -> Table:
    """Seconds of each stage, one column a way from edges to bicliques."""
    table = Table("stage")
    ways = [f"data {record['data_backend']}, search {record['backend']}" for record in records]
    for way in ways:
        table.add_column(way, justify="right", overflow="fold")
    for stage in records[0]["seconds"]:
        table.add_row(stage, *(f"{r['seconds'][stage]:.3f}" if r["seconds"] else "–" for r in records))
    base = records[0]["seconds"].get("total", 0.0)
    table.add_row("times", *(f"{base / r['seconds']['total']:.2f}" if r["seconds"] else "–" for r in records))
    table.add_row("digest", *(record["digest"] or "cannot run" for record in records))
    reasons = (f"{way}: {record['reason']}" for way, record in zip(ways, records, strict=True) if record["reason"])
    table.caption, table.caption_justify = escape("\n".join(reasons)), "left"
    return table


def _ingested(counts: dict[str, Any] | None) -> Iterator[tuple[str, str]]:
    if counts is None:
        return
    dropped = {
        name.removeprefix("dropped_").replace("_", " "): n for name, n in counts.items() if name.startswith("dropped")
    }
    said = ", ".join(f"{n:,} dropped: {name}" for name, n in dropped.items() if n) or "nothing dropped"
    yield "rows read", f"{counts['rows_read']:,} ({counts['duplicates']:,} repeat an edge; {said})"
    yield "columns", columns_read(counts)


def columns_read(counts: dict[str, Any]) -> str:
    """The columns that an edge table was read from, and whether the ids of a side are text or numbers."""
    kinds = {side: f" ({kind})" for side, kind in counts["labels"].items()}
    return ", ".join(f"{role}: {escape(name)}{kinds.get(role, '')}" for role, name in counts["columns"].items())


def biclique_table(rows: list[dict[str, Any]], title: str) -> Table:
    """Bicliques with their members, the longer lists cut."""
    table = Table(title=title, title_justify="left")
    for name in ("#", "left", "right", "edges"):
        table.add_column(name, justify="right")
    table.add_column("left members", overflow="fold")
    table.add_column("right members", overflow="fold")
    for rank, row in enumerate(rows, 1):
        sizes = (f"{row[name]:,}" for name in ("n_left", "n_right", "n_edges"))
        table.add_row(str(rank), *sizes, _members(row["left"]), _members(row["right"]))
    return table


def _members(members: list[Any]) -> str:
    shown = ", ".join(str(member) for member in members[:MEMBERS_SHOWN])
    more = len(members) - MEMBERS_SHOWN
    return f"{shown}, … {more:,} more" if more > 0 else shown


def bench_table(records: list[dict[str, Any]]) -> Table:
    """Our seconds beside the peers'."""
    table = Table(title="maximal bicliques, seconds", title_justify="left")
    heads = (
        "graph",
        "bicliques",
        "exact",
        "threads",
        "prepare",
        "lists",
        "search",
        "total",
        "AdaMBE",
        "times",
        "MBET",
        "GMBE+ H200",
        "cuMBE H200",
    )
    for name in (*heads, "nodes", "dropped", "M/s", "MiB", "busy"):
        table.add_column(name, justify="left" if name == "graph" else "right")
    for r in records:
        exact = "–" if r["expected"] is None else "yes" if r["expected"] == r["bicliques"] else "NO"
        peers = [r.get(f"peer_{name}") for name in ("adambe", "mbet", "gmbe_h200", "cumbe_h200")]
        adambe, mbet, gmbe, cumbe = ("–" if value is None else f"{value:g}" for value in peers)
        times = "–" if r["times_adambe"] is None else f"{r['times_adambe']:.1f}"
        table.add_row(
            r["graph"], f"{r['bicliques']:,}", exact, str(r["threads"]), f"{r['prepare']:.4f}", f"{r['lists']:.4f}",
            f"{r['search']:.4f}", f"{r['seconds']:.4f}", adambe, times, mbet, gmbe, cumbe, f"{r['nodes']:,}", f"{r['dropped']:,}",
            f"{r['bicliques'] / r['seconds'] / 1e6:.1f}", f"{r['workspace_mib']:.0f}", f"{r['busy']:.2f}",
        )  # fmt: skip
    return table


def print_counts(record: dict[str, Any]) -> None:
    """One count as a sentence, several as a table, and where they are."""
    how = f"{record['method']}, {record['side'] or 'both'} side, {record['backend']}, {record['threads']} threads"
    if len(record["counts"]) == 1:
        row = record["counts"][0]
        out.print(f"{int(row['count']):,} complete {row['p']} × {row['q']} subgraphs ({how})")
    else:
        table = Table(title=f"complete p × q subgraphs ({how})", title_justify="left")
        sizes = sorted({row["q"] for row in record["counts"]})
        for name in ("p \\ q", *map(str, sizes)):
            table.add_column(name, justify="right")
        for p in sorted({row["p"] for row in record["counts"]}):
            table.add_row(str(p), *(f"{int(row['count']):,}" for row in record["counts"] if row["p"] == p))
        out.print(table)
    if record["too_large"]:
        out.print(f"0, because {record['too_large']}")
    if record["output"]:
        out.print(f"{record['counted']} of {record['partitions']} partitions counted now; {record['output']}")


def count_bench_table(records: list[dict[str, Any]]) -> Table:
    """Our milliseconds beside the peers'."""
    table = Table(title="(p,q)-bicliques, milliseconds", title_justify="left")
    heads = ("count", "found", "exact", "threads", "method", "side", "prepare", "estimate", "search", "total")
    for name in (*heads, "BCList++", "EPivoter", "GBC H200"):
        table.add_column(name, justify="left" if name == "count" else "right")
    for r in records:
        exact = "–" if r["expected"] is None else "yes" if r["expected"] == r["count"] else "NO"
        peers = (
            "–" if r[f"peer_{name}"] is None else f"{r[f'peer_{name}']:,}"
            for name in ("bclist", "epivoter", "gbc_h200")
        )
        own = (f"{r[name]:.1f}" for name in ("prepare", "estimate", "search", "total"))
        table.add_row(r["name"], f"{r['count']:,}", exact, str(r["threads"]), r["method"], str(r["side"]), *own, *peers)
    return table


def choice_table(records: list[dict[str, Any]]) -> Table:
    """How often the choice was right, a row a shape of graph."""
    table = Table(title="choice of search and side for (p,q)-counts", title_justify="left")
    for name in ("shape", "counts", "judged", "within 1.3", "within 2", "worst", "of", "estimate / best"):
        table.add_column(name, justify="left" if name in ("shape", "of") else "right")
    shapes = list(dict.fromkeys(r["graph"].split()[0] for r in records))
    for shape in (*shapes, ""):
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
    return table


def show_cliques(record: dict[str, Any]) -> None:
    """A sentence about the answer, and its members."""
    known = "a maximum clique" if record["proven"] else "the best clique in time (not proven to be a maximum)"
    many = f", one of {record['n_cliques']:,}" if record["n_cliques"] > 1 else ""
    how = f"{record['backend']}, {record['threads']} threads" if record["threads"] else "the densest core, no search"
    out.print(
        f"{known}{many}: {record['size']:,} of {record['n_vertices']:,} vertices, {record['n_edges']:,} edges,"
        f" in {record['seconds']['total']:.3f} s ({how})"
    )
    for members in record.get("cliques", [record["members"]] if record["members"] else []):
        out.print("  " + ", ".join(map(str, members)), markup=False)
    if "output" in record:
        out.print(f"in {record['output']}", markup=False)


def clique_bench_table(records: list[dict[str, Any]], bounds: str) -> Table:
    """Our seconds beside the peers'; `bounds` is the strongest bound that was in use."""
    weaker = "" if bounds == "refute" else f", no bound stronger than {bounds}"
    table = Table(title=f"maximum clique, seconds{weaker}", title_justify="left")
    for name in (
        "graph",
        "size",
        "exact",
        "threads",
        "order",
        "search",
        "total",
        "nodes",
        "best peer, CPU",
        "best peer, H200",
    ):
        table.add_column(name, justify="left" if name == "graph" else "right")
    for r in records:
        exact = (
            "not proven"
            if not r["proven"]
            else "–"
            if r["expected"] is None
            else "yes"
            if r["expected"] == r["size"]
            else "NO"
        )
        peers = ["–" if r[name] is None else f"{r[name]:g}" for name in ("peer_cpu", "peer_h200")]
        seconds = (f"{r[name]:.4f}" for name in ("order", "search", "seconds"))
        table.add_row(r["graph"], str(r["size"]), exact, str(r["threads"]), *seconds, f"{r['nodes']:,}", *peers)
    return table


def projected_cliques_table(records: list[dict[str, Any]]) -> Table:
    """Seconds of each stage from a bipartite table to a maximum clique of its projection, a row a way."""
    from pipeline.bench.projected_cliques import STAGES, WAYS_TO_CORES

    table = Table("graph", "data", title="maximum clique of projected tables, seconds", title_justify="left")
    for name in ("shared", "vertices", "edges", "size", "exact", *STAGES, "total", *WAYS_TO_CORES):
        table.add_column(name, justify="right")
    for r in records:
        seconds = r["seconds"] or {}
        known = (r["n_vertices"], r["n_edges"], r["size"]) if seconds else ()
        cells = [f"{value:,}" for value in known] or ["–"] * 3
        proven = ("yes" if r["proven"] else "not proven") if seconds else "–"
        times = [f"{seconds[name]:.4f}" if name in seconds else "–" for name in (*STAGES, "total", *WAYS_TO_CORES)]
        table.add_row(r["graph"], r["data_backend"], str(r["min_shared"]), *cells, proven, *times)
    reasons = dict.fromkeys(f"{r['data_backend']}: {r['reason']}" for r in records if r["reason"])
    table.caption, table.caption_justify = escape("\n".join(reasons)), "left"
    return table


def random_clique_table(records: list[dict[str, Any]]) -> Table:
    """Seconds and how many times as fast as one thread; a dash where the time did not suffice."""
    table = Table(title="maximum clique of random graphs, seconds", title_justify="left")
    threads = records[0]["threads"] if records else 1
    heads = {"one": "1 thread", "several": f"{threads} threads", "times": "times"}
    if any(r["device"] is not None for r in records):
        heads |= {"device": "GPU", "device_times": "times"}
    for name in ("n", "density", "size", *heads.values()):
        table.add_column(name, justify="right")
    for r in records:
        proven = any(r[name] is not None for name in ("one", "several", "device"))
        values = ("–" if r[name] is None else f"{r[name]:.{2 if 'times' in name else 4}f}" for name in heads)
        table.add_row(f"{r['n']:,}", f"{r['density']:g}", f"{r['size']}" if proven else f">= {r['size']}", *values)
    return table
