"""Commands about what is in the store: runs, resume, top, show, export, report, verify."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bicliq.flows.cli.commands import Room
from bicliq.flows.cli.options import EXIT_OTHER, Json, OfTables, RunName, Seed, Tables, random_tables

if TYPE_CHECKING:
    from bicliq.pipeline.results.bicliques import Bicliques
    from bicliq.pipeline.settings import Settings
    from bicliq.pipeline.store.results import Run

CHOICE = "Which bicliques"
By = Annotated[
    Literal["edges", "vertices", "balanced", "left", "right", "surprise"],
    typer.Option("--by", help="What is large; balanced is the smaller side. For weights: bicliq find --run."),
]
room = Room("Runs of the store")


@room.command("resume", "bicliq resume 3f2a --store wiki-store")
def resume(settings: Settings, run: RunName = None, json: Json = False) -> None:
    """Search what is missing or damaged of a run, and publish it.

    Without RUN: the last one that is not complete.
    """
    from bicliq.flows.cli import console
    from bicliq.pipeline.run import resume as resume_run
    from bicliq.pipeline.store.layout import Store
    from bicliq.pipeline.store.states import run_to_resume

    opened = Store.open(settings.store, create=False)
    name = run_to_resume(opened) if run is None else opened.find_run(run)
    with console.observed(json) as observer:
        record = resume_run(name, settings, observer).record()
    console.answer(record, json, console.summary_table)


@room.command("runs", "bicliq runs --store wiki-store")
def runs(settings: Settings, json: Json = False) -> None:
    """List the runs of a store: how far each is, what it asks for, its sizes and times."""
    from bicliq.flows.cli import console
    from bicliq.pipeline.events import warn
    from bicliq.pipeline.stale import stale_in_words
    from bicliq.pipeline.store.layout import Store
    from bicliq.pipeline.store.states import list_runs

    opened = Store.open(settings.store, create=False)
    stale = stale_in_words(settings)
    console.answer(
        {"store": opened.uri, "stale": stale, "runs": list_runs(opened)}, json, console.runs_table, wide_table=True
    )
    if stale is not None:
        warn("no version came", reason=stale)


@room.command("top", "bicliq top -k 20 --by left --store wiki-store", hidden=True)
def top(
    settings: Settings,
    run: RunName = None,
    k: Annotated[int, typer.Option("-k", "--top", help="How many.")] = 10,
    by: By = "edges",
    dense: Annotated[bool, typer.Option("--dense", help="Show dense ids instead of the original ones.")] = False,
    null: Tables = 0,
    seed: Seed = 0,
    time_limit: OfTables = None,
    json: Json = False,
) -> None:
    """Show the largest bicliques of a run, with their original ids: `show --top`."""
    from bicliq.flows.cli import console, groups
    from bicliq.pipeline.results.export import with_times_in_words
    from bicliq.pipeline.store.results import open_run

    opened = open_run(settings.store, run)
    rows = list(map(with_times_in_words, opened.top(k, by, ids=not dense).to_pylist()))
    compared = _compared(opened, by, rows, (null, seed, time_limit), json)
    record = {"run": opened.run, "by": by, **opened.state.record(), **compared, "bicliques": rows}
    console.answer(record, json, lambda shown: groups.biclique_table(shown, str(opened.state)))


def _compared(
    opened: Run, by: str, rows: list[Any], asked: tuple[int, int, float | None], quiet: bool
) -> dict[str, Any]:
    """Ask the random tables of --null, too; each row then has p."""
    from bicliq.flows.cli import console
    from bicliq.pipeline.questions.find import compare_in_run

    with console.tables(quiet) as tell:
        null = random_tables(*asked, tell=tell)
        return {"null": compare_in_run(opened, by, rows, null)} if null.tables else {}


Least = Annotated[int, typer.Option(min=1, max=2**62, help="At least so many.", rich_help_panel=CHOICE)]
Most = Annotated[int | None, typer.Option(min=1, max=2**62, help="At most so many.", rich_help_panel=CHOICE)]
Members = Annotated[
    list[str] | None, typer.Option(metavar="LABEL", help="Only those with this member; may be given again.",
                                   rich_help_panel=CHOICE)
]  # fmt: skip
Surprising = Annotated[
    float | None, typer.Option("--min-surprise", help="At least so surprising, in nats.", rich_help_panel=CHOICE)
]


@room.command(
    "show",
    "bicliq show --top 20 --by left --store wiki-store",
    "bicliq show --with-left ann --min-right 3 --page 2 --store wiki-store",
)
def show(
    settings: Settings,
    run: RunName = None,
    min_left: Least = 1,
    max_left: Most = None,
    min_right: Least = 1,
    max_right: Most = None,
    min_edges: Least = 1,
    max_edges: Most = None,
    with_left: Members = None,
    with_right: Members = None,
    min_surprise: Surprising = None,
    page: Annotated[int, typer.Option("--page", min=1, max=2**62, help="Which page, largest first.")] = 1,
    size: Annotated[int, typer.Option("--size", "--top", "-k", min=1, max=2**24, help="Bicliques on a page.")] = 20,
    by: By = "edges",
    null: Tables = 0,
    seed: Seed = 0,
    time_limit: OfTables = None,
    json: Json = False,
) -> None:
    """Show the bicliques of a run that were chosen, page by page, with their original ids."""
    from bicliq.flows.cli import console, groups
    from bicliq.pipeline.results.export import with_times_in_words

    bounds = (min_left, max_left, min_right, max_right, min_edges, max_edges, with_left, with_right, min_surprise)
    chosen = _chosen(settings, run, *bounds)
    rows = list(map(with_times_in_words, chosen.page(page, size, by).to_pylist()))
    state = chosen.run.state
    compared = _compared(chosen.run, by, rows, (null, seed, time_limit), json)
    record = {
        "run": chosen.run.run,
        "by": by,
        **state.record(),
        **compared,
        "matching": len(chosen),
        "page": page,
        "size": size,
    }
    console.answer({**record, "bicliques": rows}, json, lambda shown: groups.page_table(shown, str(state)))


@room.command(
    "export",
    "bicliq export groups.parquet --store wiki-store",
    "bicliq export big.csv --min-left 5 --min-right 5 --run 3f2a --store wiki-store",
)
def export(
    settings: Settings,
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to: a path or an fsspec URL.")],
    run: Annotated[
        str | None, typer.Option("--run", help="A run, or how its name begins; by default the latest.")
    ] = None,
    format: Annotated[
        Literal["parquet", "csv", "tsv", "xlsx", "jsonl", "graphml", "duckdb", "delta"] | None,
        typer.Option("--format", help="By default what the name of the file ends on."),
    ] = None,
    long: Annotated[bool, typer.Option("--long", help="A row a member (CSV and Excel in any case).")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
    guard: Annotated[
        bool,
        typer.Option("--guard/--no-guard", help="Text that a spreadsheet would run gets an apostrophe."),
    ] = True,
    bom: Annotated[bool, typer.Option("--bom", help="Begin CSV with a byte order mark, for Excel.")] = False,
    min_left: Least = 1,
    max_left: Most = None,
    min_right: Least = 1,
    max_right: Most = None,
    min_edges: Least = 1,
    max_edges: Most = None,
    with_left: Members = None,
    with_right: Members = None,
    min_surprise: Surprising = None,
    json: Json = False,
) -> None:
    """Write the bicliques of a run that were chosen to one file, with their original ids.

    Parquet, JSON Lines and Delta have a row a biclique, CSV and Excel a row a member; GraphML ties
    a node for each biclique to its members; DuckDB has the tables bicliques and members.
    """
    from dataclasses import asdict

    from bicliq.flows.cli import console
    from bicliq.pipeline.results.export import export as write

    bounds = (min_left, max_left, min_right, max_right, min_edges, max_edges, with_left, with_right, min_surprise)
    groups = _chosen(settings, run, *bounds)
    written = write(groups, file, format, long=long, overwrite=overwrite, guard=guard, bom=bom)
    record = {"run": groups.run.run, **groups.run.state.record(), **asdict(written)}
    console.answer(record, json, console.exported)


def _chosen(settings: Settings, run: str | None, *bounds: Any) -> Bicliques:
    """The bicliques of a run within the bounds that were given, in the order of `Choice`."""
    from dataclasses import fields

    from bicliq.pipeline.results.bicliques import Bicliques
    from bicliq.pipeline.store.choice import Choice
    from bicliq.pipeline.store.results import open_run

    names = [entry.name for entry in fields(Choice)]
    choice = Choice(**{name: value for name, value in zip(names, bounds, strict=True) if value is not None})
    return Bicliques(open_run(settings.store, run), choice)


@room.command("report", "bicliq report --store wiki-store --out wiki.html")
def report(
    settings: Settings,
    run: RunName = None,
    out: Annotated[
        str | None, typer.Option("--out", help="Where to; by default reports/<run>.html in the store.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file of --out that is there.")] = False,
    json: Json = False,
) -> None:
    """Write a run as one page of HTML: what went in, sizes, the largest groups, times; or counts.

    The page needs no server and no network. It holds labels of the table: send it to those who may
    see them.
    """
    from bicliq.flows.cli import console
    from bicliq.pipeline.report.page import write_report
    from bicliq.pipeline.store.results import open_run

    opened = open_run(settings.store, run)
    written = write_report(opened, out, overwrite=overwrite or out is None)
    record = {"run": opened.run, **opened.state.record(), "report": written}
    console.answer(record, json, lambda found: str(found["report"]))


def _roots(text: str | int) -> int:
    """Read how many roots to search again: a number, or all."""
    from bicliq.pipeline.stages.verify_roots import EVERY_ROOT

    text = str(text)  # its default comes as a number
    if text == "all":
        return EVERY_ROOT
    if not text.isascii() or not text.isdigit():
        raise typer.BadParameter(f"{text!r} is neither a number of roots nor all")
    return min(int(text), EVERY_ROOT)


@room.command(
    "verify",
    "bicliq verify --store wiki-store",
    "bicliq verify --deep 1000 --store wiki-store",
    "bicliq verify --repair --store wiki-store",
)
def verify(
    settings: Settings,
    run: Annotated[
        str | None,
        typer.Argument(metavar="RUN", help="A run, or how its name begins; by default all that is in the store."),
    ] = None,
    sample: Annotated[
        int, typer.Option("--sample", min=0, help="Bicliques of a run to check against the graph.")
    ] = 1000,
    deep: Annotated[
        int,
        typer.Option(
            "--deep",
            metavar="N|all",
            parser=_roots,
            help="Search so many roots of each run again: all that is found must be stored, and nothing else.",
        ),
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**62, help="Choose other bicliques and roots.")] = 0,
    repair: Annotated[
        bool,
        typer.Option("--repair", help="Search or derive again what is damaged, remove what killed processes left."),
    ] = False,
    json: Json = False,
) -> None:
    """Read every file again and check it: seals, checksums, rows, digests, and a sample.

    The sample of bicliques is checked against the graph. Files may fit their records and yet be
    wrong: --deep asks the search itself.
    """
    from bicliq.flows.cli import console
    from bicliq.pipeline.stages.verify import verify_store
    from bicliq.pipeline.store.layout import Store

    opened = Store.to_verify(settings.store)
    name = None if run is None else opened.find_run(run)
    mended = {}
    if repair:
        from bicliq.pipeline.repair import repair as mend

        mended = {"repaired": mend(opened, settings, name, deep, seed)}
    found = verify_store(opened, name, sample, seed, deep)
    console.answer({**found.record(), **mended}, json, console.verified)
    if not json:
        console.complain(found.problems)
    if not found.ok:
        raise typer.Exit(EXIT_OTHER)
