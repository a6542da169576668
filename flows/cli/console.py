"""What people see: progress and notes on standard error, answers on standard out.

The functions that take a record give what is printed of it: a sentence or a table. Labels come from
files, so nothing that is printed is read as markup.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from bicliq.flows.cli.groups import share_of
from bicliq.flows.cli.objects import Record, print_json
from bicliq.flows.cli.options import in_options
from bicliq.flows.words import BETWEEN, graph_size, how_far, label, many, read_in_words, update_in_words
from bicliq.pipeline.events import say_as_json, shown_as_json
from bicliq.pipeline.redact import printable
from bicliq.pipeline.run import Observer
from bicliq.pipeline.stages.forecast import Forecast, in_words
from bicliq.pipeline.words import number_of_found

if TYPE_CHECKING:
    from bicliq.pipeline.questions.find import Reached


class _Plain(Console):
    """A console that shows text as it is: no markup, no emoji, and no terminal's escapes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a text for what is printed, be it a line, a cell or a title."""
        return super().render_str(printable(text, keep="\n"), **options)


out = _Plain(soft_wrap=True)
wide = _Plain(width=220)
err = _Plain(stderr=True, soft_wrap=True)


def answer(record: Record, as_json: bool, words: Callable[[Record], RenderableType], wide_table: bool = False) -> None:
    """Print what a command has found: as one JSON object, or in words."""
    if "assumed" in record:
        record = {**record, "assumed": list(map(in_options, record["assumed"]))}
    if as_json:
        print_json(record)
        return
    if shown := words(record):
        (wide if wide_table else out).print(shown)
    if record.get("rows_read"):
        out.print("\n".join(read_in_words(record)))


def note(sentence: str) -> None:
    """Say on standard error how far the work is."""
    if shown_as_json():
        say_as_json(sentence)
    else:
        err.print(sentence)


def complain(problems: Iterable[str]) -> None:
    """Say on standard error what is wrong."""
    for problem in problems:
        if shown_as_json():
            say_as_json(problem, logging.ERROR)
        else:
            err.print(problem, style="red")


@contextmanager
def observed(quiet: bool) -> Iterator[Observer]:
    """An observer that tells on standard error what is expected, unless `quiet`.

    On a terminal it draws a progress bar, too.
    """
    if quiet:
        yield Observer()
        return
    if not err.is_terminal or shown_as_json():
        yield Observer(expected=lambda found: note(in_words(found)))
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
        yield Observer(bar.stage, bar.rows, bar.search, bar.dashboard, bar.expected)


@contextmanager
def steps(quiet: bool) -> Iterator[Callable[[str, int, int | None], None] | None]:
    """Whom long work tells what it does, and how far it is: on a terminal, a progress bar."""
    if quiet or not err.is_terminal or shown_as_json():
        yield None
        return
    columns = SpinnerColumn(), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("start", total=None)
        yield lambda words, done, total: progress.update(task, total=total, completed=done, description=words)


@contextmanager
def finding(quiet: bool) -> Iterator[Callable[[Reached], None] | None]:
    """Whom a search for the best groups tells how far it is: on a terminal, a progress bar."""
    with steps(quiet) as told:
        if told is None:
            yield None
            return

        def tell(state: Reached) -> None:
            share, words = how_far(state)
            told(words, round(share * 1000), 1000)

        yield tell


@contextmanager
def made(quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Whom work tells what it makes, how much is done, and how much there is (0: nobody knows)."""
    with steps(quiet) as told:
        yield None if told is None else lambda words, done, n: told(f"{done:,} {words}", done, n or None)


@contextmanager
def tables(quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Whom a comparison with random tables tells how many are done."""
    with steps(quiet) as told:
        yield None if told is None else lambda done, n: told(f"{done:,}/{many(n, 'random table')}", done, n)


@dataclass
class _Bar:
    """One bar that the stages share, one after the other."""

    progress: Progress

    def __post_init__(self) -> None:
        self.task = self.progress.add_task("start", total=None, detail="")

    def stage(self, name: str) -> None:
        self.progress.reset(self.task, description=name, total=None, detail="")

    def rows(self, rows: int, size: int) -> None:
        self.progress.update(self.task, detail=f"{many(rows, 'row')} of {size / 2**20:,.0f} MiB")

    def search(self, state: Any) -> None:
        rate = state.bicliques / state.seconds if state.seconds > 0 else 0
        self.progress.update(
            self.task,
            total=max(state.cost, 1),
            completed=state.cost_done,
            detail=(
                f"{state.roots_done:,}/{state.n_roots:,} roots, {state.partitions_done}/{state.partitions} partitions,"
                f" {many(state.bicliques, 'biclique')}, {rate:,.0f}/s"
            ),
        )

    def dashboard(self, address: str) -> None:
        self.progress.console.print(f"Dask dashboard: {address}")

    def expected(self, found: Forecast) -> None:
        self.progress.console.print(in_words(found))


# ---- answers of the commands ---------------------------------------------------------------------


def summary_table(record: Record) -> Table:
    """The figures of a run."""
    table = Table(title=f"run {record['run']}", show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    more = "" if record["complete"] else "  (a limit was reached: there are more)"
    name = "bicliques" if record["in_step"] is None else f"groups in step ({record['in_step']})"
    table.add_row(name, f"{record['bicliques']:,}{more}")
    table.add_row("set digest", record["digest"])
    table.add_row("graph", graph_size(record))
    if record.get("ingest"):
        table.add_row("columns", columns_read(record["ingest"]))
    if record.get("largest"):
        largest = record["largest"]
        edges = many(largest["n_edges"], "edge")
        table.add_row("largest", f"{largest['n_left']:,} × {largest['n_right']:,} = {edges}")
    if doubts := _doubts(record):
        table.add_row("checks", doubts)
    table.add_row("partitions", f"{record['partitions']:,} ({record['searched']:,} searched now)")
    table.add_row("seconds", ", ".join(f"{name} {value:.2f}" for name, value in record["seconds"].items()))
    if record.get("busy"):
        table.add_row("busy workers", ", ".join(f"{share:.0%}" for share in record["busy"].values()))
    table.add_row("output", f"{record['output']}  ({record['bytes'] / 2**20:,.1f} MiB)")
    return table


def _doubts(record: Record) -> str:
    """The checks of the input that did not pass."""
    return ", ".join(
        f"{check['name']} {check['state']}s ({check['value']:g})"
        for check in record["checks"]
        if check["state"] != "pass"
    )


def columns_read(counts: Record) -> str:
    """Name the columns of a table, and say whether the ids of a side are text or numbers."""
    kinds = {side: f" ({kind})" for side, kind in counts["labels"].items()}
    return ", ".join(f"{role}: {name}{kinds.get(role, '')}" for role, name in counts["columns"].items())


def enumerated(record: Record) -> str:
    """How many maximal bicliques an edge table has."""
    digest = f", set digest {record['digest']}" if record["digest"] else ""
    more = "" if record["complete"] else " (a limit was reached: there are more)"
    how = f"{record['backend']}, {many(record['threads'], 'thread')}"
    return f"{number_of_found(record)}{more}{digest} in {record['seconds']['search']:.3f} s ({how})"


def estimated(record: Record) -> Group:
    """What a run would find and cost, and what is left of it by thresholds."""
    from bicliq.pipeline.stages.expected import short

    seconds = record["seconds"]
    said = f"{many(record['bicliques'], 'maximal biclique')}"
    if not record["exact"]:
        said = f"about {short(record['bicliques'])} maximal bicliques (90 %: {short(record['low'])} to {short(record['high'])})"
        if not record["bicliques"]:
            said = "none seen in the sample, which is not all"
    cost = (
        f"{short(record['ids'])} ids in about {record['bytes'] / 2**20:,.1f} MiB; search {seconds['search']:,.1f} s and"
        f" writing {seconds['write']:,.1f} s on {many(record['threads'], 'thread')} (estimated in {seconds['estimate']:.1f} s)"
    )
    if seconds["gpu_search"] is not None:
        cost += f"; on the GPU {seconds['gpu_search']:,.2f} s and {seconds['gpu_write']:,.2f} s"
    rows = record["thresholds"]
    rights = sorted({row["min_right"] for row in rows})
    table = Table(title="bicliques by least left (down) and right vertices (across)", title_justify="left")
    for name in ("", *map(str, rights)):
        table.add_column(name, justify="right")
    for left in sorted({row["min_left"] for row in rows}):
        table.add_row(str(left), *(_seen(row, record["exact"]) for row in rows if row["min_left"] == left))
    return Group(said, cost, table)


def _seen(row: Record, exact: bool) -> str:
    """The bicliques that thresholds leave; of those of which a sample had none, what is known."""
    from bicliq.pipeline.stages.expected import short

    if row["bicliques"] or exact:
        return short(row["bicliques"])
    return f"≤ {short(row['high'])}" if row["high"] else "none seen"


def counted(record: Record) -> Group:
    """One count as a sentence, several as a table, and where they are."""
    side = f"{record['side']} side" if record["side"] else "both sides"
    how = f"{record['method']}, {side}, {record['backend']}, {many(record['threads'], 'thread')}"
    said: list[RenderableType] = []
    if len(record["counts"]) == 1:
        row = record["counts"][0]
        what = f"complete {row['p']} × {row['q']} subgraph"
        said.append(f"{many(int(row['count']), what)} ({how})")
    else:
        table = Table(title=f"complete p × q subgraphs ({how})", title_justify="left")
        for name in ("p \\ q", *map(str, sorted({row["q"] for row in record["counts"]}))):
            table.add_column(name, justify="right")
        for p in sorted({row["p"] for row in record["counts"]}):
            table.add_row(str(p), *(f"{int(row['count']):,}" for row in record["counts"] if row["p"] == p))
        said.append(table)
    if "null" in record:
        said.append(_counts_by_chance(record))
    if record["too_large"]:
        said.append(f"0, because {record['too_large']}")
    if doubts := _doubts(record):
        said.append(f"checks: {doubts}")
    if record["output"]:
        partitions = many(record["partitions"], "partition")
        said.append(f"{record['counted']} of {partitions} counted now; {record['output']}")
    return Group(*said)


def _counts_by_chance(record: Record) -> Table:
    """What random tables have, beside each count."""
    done = many(record["null"]["tables"], "random table")
    table = Table(title=f"in {done} of the same degrees; p: the share that has as many", title_justify="left")
    for name in ("p × q", "here", "there", "z", "p"):
        table.add_column(name, justify="right")
    for row in record["counts"]:
        found = row["random"]
        mean = "" if found["mean"] is None else f"{Decimal(found['mean']):,.{0 if len(row['count']) > 3 else 2}f}"
        z = "" if found["z"] is None else f"{found['z']:,.2f}"
        table.add_row(f"{row['p']} × {row['q']}", f"{int(row['count']):,}", mean, z, share_of(found["p"]))
    return table


def cliques(record: Record) -> str:
    """A sentence about the answer, and its members."""
    known = "a maximum clique" if record["proven"] else "the best clique in time (not proven to be a maximum)"
    some = f", one of {record['n_cliques']:,}" if record["n_cliques"] > 1 else ""
    threads = record["threads"]
    how = f"{record['backend']}, {many(threads, 'thread')}" if threads else "the densest core, no search"
    graph = f"{many(record['n_vertices'], 'vertex', 'vertices')}, {many(record['n_edges'], 'edge')}"
    listed = record.get("cliques", [record["members"]] if record["members"] else [])
    return "\n".join(
        [
            f"{known}{some}: {record['size']:,} of {graph}, in {record['seconds']['total']:.3f} s ({how})",
            *("  " + BETWEEN.join(map(label, members)) for members in listed),
            *([f"in {record['output']}"] if "output" in record else []),
        ]
    )


def ingested(record: Record) -> str:
    """What a table became."""
    return f"graph {record['graph']}: {graph_size(record)}; {record['uri']}\n{columns_read(record['summary'])}"


def profiled(record: Record) -> str:
    """The figures of a graph, a line each."""
    shown = {name: value for name, value in record.items() if not name.endswith("histogram")}
    return "\n".join(f"{k}  {v:,}" if isinstance(v, int) else f"{k}  {v}" for k, v in shown.items())


def planned(record: Record) -> str:
    """How a run was cut, and how it is searched."""
    roots, partitions = many(record["n_roots"], "root"), many(record["partitions"], "partition")
    return (
        f"run {record['run']}: {roots} of the {record['side']} side in {partitions}"
        f" of at most {record['est_bytes'] / 2**20:,.1f} MiB; search it with: bicliq resume {record['run']}"
    )


def updated(record: Record) -> str:
    """What an update changed."""
    seconds = ", ".join(f"{name} {took:.2f}" for name, took in record["seconds"].items())
    same = f"{many(record['unchanged'], 'edge')} changed nothing; " if record["rows_read"] else ""
    doubts = f"checks: {found}; " if (found := _doubts(record)) else ""
    return f"{update_in_words(record)}\n{doubts}{same}seconds: {seconds}"


def runs_table(record: Record) -> Table:
    """Runs with their states, a row each; the last used one last."""
    table = Table(title=f"runs of {record['store']}", title_justify="left")
    figures = ("partitions", "bicliques", "MiB", "search s")
    for name in ("run", "graph", "state", "at least", *figures, "last used (UTC)", "made of"):
        table.add_column(name, justify="right" if name in figures else "left")
    for r in record["runs"]:
        if r["state"] == "damaged":
            table.add_row(r["run"], "", "damaged", "", "", "", "", "", "", r["reason"], style="red")
            continue
        state = "cut off" if r["state"] == "limited" else r["state"]
        if r["failed"]:
            state = "; ".join(f"partition {number} failed: {reason}" for number, reason in r["failed"].items())
        least = f"{r['min_left']} × {r['min_right']}" + (f", {r['min_edges']:,} edges" if r["min_edges"] > 1 else "")
        least += "" if r["in_step"] is None else f", in step {r['in_step']}"
        done = ", ".join(r["counts"]) if r["state"] == "count" else f"{r['bicliques']:,}"
        table.add_row(
            r["run"], r["graph"], state, least, f"{r['partitions_searched']:,} of {r['partitions']:,}", done,
            f"{r['bytes'] / 2**20:,.1f}", f"{r['seconds']:,.1f}", (r["published"] or r["created"])[:19], _made_of(r),
        )  # fmt: skip
    return table


def _made_of(r: Record) -> str:
    """The parent of a version, the files that it took, and what they changed."""
    update = r["update"]
    if update is None:
        return ""
    names = [source.rsplit("/", 1)[-1] for source in update["sources"]]
    files = ", ".join(names[:2]) + (f", … ({len(names)} files)" if len(names) > 2 else "")
    changed = "full run" if update["appeared"] is None else f"+{update['appeared']:,} -{update['vanished']:,}"
    whole = "" if r["compacts"] is None else f"; {r['compacts']} written whole"
    return f"{r['parent']} {'without' if update['deleted'] else 'and'} {files} ({changed}){whole}"


def compacted(record: Record) -> str:
    """What a version was written as."""
    if record["run"] == record["version"]:
        return f"run {record['run']} stands on no other run already; nothing to do"
    bicliques, sizes = many(record["bicliques"], "biclique"), (record["bytes"] / 2**20, record["bytes_before"] / 2**20)
    return (
        f"run {record['run']} is version {record['version']} written whole ({record['how']}): {bicliques}, digest {record['digest']};"
        f" {sizes[0]:,.1f} MiB (before {sizes[1]:,.1f}) in {record['seconds']:.2f} s"
    )


def pruned(record: Record) -> str:
    """What goes, with its bytes, and what was done."""
    lines = [f"{one['what']}  {one['bytes'] / 2**20:,.1f} MiB  {one['why']}" for one in record["removed"]]
    total = f"{len(record['removed']):,} of them, {record['bytes'] / 2**20:,.1f} MiB"
    if not lines:
        return f"nothing to remove; {many(len(record['kept']), 'run')} kept"
    done = f"removed: {total}" if record["done"] else f"nothing was removed; --yes removes {total}"
    return "\n".join([*lines, f"{done}; {many(len(record['kept']), 'run')} kept"])


def verified(record: Record) -> str:
    """What was mended, found of each run, and left over; problems are told apart."""
    lines = list(record.get("repaired", []))
    wrong = {r["run"] for r in record["runs"] if r["problems"]}
    wrong |= {problem.split("/")[1] for problem in record["problems"] if "/" in problem}
    lines += [_verified_run(r) for r in record["runs"] if r["run"] not in wrong]
    lines += [
        f"{path}: left by a process that was killed; no damage, --repair removes it" for path in record["leftovers"]
    ]
    if not record["runs"]:
        lines.append(f"{record['store']}: there are no runs in it")
    if record["ok"]:
        lines.append(f"no damage: {record['bytes'] / 2**20:,.1f} MiB read")
    return "\n".join(lines)


def _verified_run(r: Record) -> str:
    """What was checked of a run that is sound."""
    if r["state"].startswith("a count"):
        return f"run {r['run']} is " + (r["state"] if r["complete"] else f"sound, but {r['state']}")
    return (
        f"run {r['run']} is {'sound' if r['complete'] else 'sound, but ' + r['state']}:"
        f" {many(r['bicliques'], 'biclique')} in {many(r['partitions'], 'file')}, digest {r['digest']},"
        f" {r['sampled']:,} of them checked against the graph"
        + (f", {many(r['roots'], 'root')} searched again" if r["roots"] else "")
    )


def exported(record: Record) -> str:
    """What an export wrote, as one line."""
    more = "" if record["complete"] else "; the run is not complete: there are more"
    found = f"{many(record['bicliques'], 'biclique')} with {many(record['members'], 'member')}"
    guarded = f"; {many(record['guarded'], 'label')} got an apostrophe, being no formula (--no-guard)"
    said = f"{record['path']}: {found}, {record['bytes']:,} bytes of {record['format']}"
    return f"{said}{guarded if record['guarded'] else ''}{more}"


def facts(record: Record) -> str:
    """Facts by name, a line each."""
    return "\n".join(f"{name}  {value}" for name, value in record.items())
