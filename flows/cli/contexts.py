"""Commands about contexts: `lattice`."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bicliq.flows.cli.baskets import OfRun, Overwrite, Top, rows_shown
from bicliq.flows.cli.commands import Room
from bicliq.flows.cli.options import Json, checked_page, number

if TYPE_CHECKING:
    from rich.console import RenderableType

    from bicliq.pipeline.results.concepts import Concepts, Context
    from bicliq.pipeline.settings import Settings

room = Room("From an edge table to answers")


File = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE",
        help="Context: .cxt, a table of 0 and 1, or rows of object and attribute; without it, that of a run of --store.",
    ),
]
Support = Annotated[
    str,
    typer.Option(
        "--min-support", metavar="<number>", parser=number, help="Least share of all objects; 0: all concepts."
    ),
]
Stability = Annotated[
    int, typer.Option("--min-stability", min=0, help="Objects more than the next concept below, at least.")
]
Of = Annotated[
    str | None, typer.Option("--of", metavar="LABEL", help="Only concepts that have this object or attribute.")
]
Scale = Annotated[
    list[str] | None,
    typer.Option(
        "--scale",
        metavar="COLUMN=KIND",
        help="Take FILE for a table of categories and numbers: nominal, ordinal, interordinal, none; auto: by what it"
        " holds; repeatable.",
    ),
]
NewSince = Annotated[
    str | None,
    typer.Option("--new-since", metavar="RUN", help="Only concepts that this run lacks; parent: the one before."),
]
Generators = Annotated[
    bool, typer.Option("--generators", help="Also the smallest sets of attributes that tell each that is shown.")
]
Basis = Literal["canonical", "direct"]
Implications = Annotated[
    Basis | None,
    typer.Option("--implications", help="What implies what, instead: the shortest basis, or the direct one."),
]
Page = Annotated[
    str | None,
    typer.Option("--report", metavar="FILE", callback=checked_page, help="Draw them on a page of HTML, too."),
]
By = Annotated[
    Literal["stability", "support", "n_objects", "n_attributes"], typer.Option("--by", help="What the best have.")
]
Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="Write them: .graphml, .dot, .json, .parquet, .svg; the context: .cxt; implications: .csv, ….",
    ),
]


@room.command(
    "lattice",
    "bicliq lattice context.cxt",
    "bicliq lattice onehot.csv --min-support 0.05 --top 50 --by support",
    "bicliq lattice context.cxt --of duck --out duck.graphml",
    "bicliq lattice context.cxt --implications canonical --out implications.csv",
    "bicliq lattice --store shop-store --new-since parent",
    "bicliq lattice people.csv --left name --scale age=ordinal:18,65 --scale city=nominal",
)
def lattice(
    settings: Settings,
    context: typer.Context,
    file: File = None,
    min_support: Support = "0",
    min_stability: Stability = 0,
    of: Of = None,
    scale: Scale = None,
    run: OfRun = None,
    new_since: NewSince = None,
    generators: Generators = False,
    implications: Implications = None,
    report: Page = None,
    top: Top = 20,
    by: By = "stability",
    out: Out = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Find the concepts of a context and which cover which: its lattice; or its implications."""
    from bicliq.flows.cli import console
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.questions.concepts import find_concepts
    from bicliq.pipeline.report.lattice import write_lattice_page
    from bicliq.pipeline.results.export_lattice import checked_lattice_format

    started = time.monotonic()
    if out is None and overwrite:
        raise InputError("--overwrite is for the file of --out; name one")
    source, before = _sources(context, file, scale, settings, run, new_since)
    if implications is not None:
        _refuse_those_of_concepts(context)
        return _answer_implications(source, implications, settings, top, out, overwrite, json)
    if out is not None:
        checked_lattice_format(out, overwrite=overwrite)
    with console.made(json) as told:
        whole = find_concepts(source, min_support, settings, told)  # type: ignore[arg-type]
        older = None if before is None else find_concepts(before, min_support, settings, told)  # type: ignore[arg-type]
    found = (whole if of is None else whole.of(of)).where(min_stability=min_stability)
    since = {}
    if older is not None:
        found, since = found.new_since(older), _vanished(whole, older, top, by)
    written = None if out is None else asdict(found.export(out, overwrite=overwrite))
    page = None if report is None else write_lattice_page(report, found, file or f"run {whole.record['run']}")
    best = [{**row, "upper": found.upper(row["concept"])} for row in found.top(top, by).to_pylist()]
    for row in best if generators else ():
        left = settings.search.time_limit and max(settings.search.time_limit - (time.monotonic() - started), 0)
        row["generators"] = found.generators(row["concept"], time_limit=left)
    asked = {"min_stability": min_stability, "of": of, "by": by, "found": len(found), "covers": found.edges.num_rows}
    record = {**whole.record, "out": written, "report": page, **asked, **since, "concepts": best}
    console.answer(record, json, _shown, wide_table=True)


def _vanished(whole: Concepts, older: Concepts, top: int, by: str) -> dict[str, Any]:
    """What is said of the concepts that an older run has and this one lacks."""
    gone = older.new_since(whole)
    intents = [row["intent"] for row in gone.top(top, by).to_pylist()]
    return {"new_since": older.record["run"], "vanished": intents, "n_vanished": len(gone)}


def _sources(
    context: typer.Context,
    file: str | None,
    scale: list[str] | None,
    settings: Settings,
    run: str | None,
    new_since: str | None,
) -> tuple[str | Context, Context | None]:
    """The file, the context that scales make of it, or that of a run; and that of an older run."""
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.questions.concepts import context_of_run
    from bicliq.pipeline.store.results import open_run

    if file is not None:
        for name, value in (("run", run), ("new-since", new_since), ("store", _given(context, "store"))):
            if value:
                raise InputError(f"--{name} is for the context of a run; name no FILE, or leave --{name} out")
        return (file if scale is None else _scaled(file, scale, settings)), None
    for name in ("scale", *type(settings.ingest).model_fields):
        if _given(context, name):
            raise InputError(f"--{name.replace('_', '-')} is for reading a FILE; name one, or leave it out")
    opened = open_run(settings.store, run)
    older = opened.folder.asked.parent if new_since == "parent" else new_since
    if new_since is not None and older is None:
        raise InputError(f"{opened.run}: has no parent; name the run whose concepts are left out: --new-since NAME")
    return context_of_run(opened), None if older is None else context_of_run(open_run(settings.store, older))


def _given(context: typer.Context, name: str) -> bool:
    """Whether an option stands on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _scaled(file: str, scale: list[str], settings: Settings) -> Context:
    """The context that a file of columns becomes."""
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.questions.scaling import scale_table

    scales = dict[str, str]()
    for one in scale:
        column, equals, kind = one.rpartition("=")
        if not equals and one != "auto":
            raise InputError(f"--scale {one!r} names no column and its scale; write COLUMN=ordinal, or auto")
        if column in scales:
            raise InputError(f"--scale names {column!r} twice; give it one scale")
        scales |= {column: kind} if equals else {}
    return scale_table(file, scales, settings.ingest)


def _refuse_those_of_concepts(context: typer.Context) -> None:
    from bicliq.pipeline.errors import InputError

    for name in ("min_support", "min_stability", "of", "by", "generators", "report", "new_since", "threads"):
        if _given(context, name):
            raise InputError(f"--{name.replace('_', '-')} is for concepts; leave it out, or --implications")


def _answer_implications(
    source: str | Context,
    basis: Basis,
    settings: Settings,
    top: int,
    out: str | None,
    overwrite: bool,
    json: bool,
) -> None:
    from bicliq.flows.cli import console
    from bicliq.pipeline.questions.concepts import find_implications
    from bicliq.pipeline.results.export_lists import checked_format

    if out is not None:
        checked_format(out, None, overwrite=overwrite, bom=False)
    with console.made(json) as told:
        found = find_implications(source, basis, settings, told)
    written = None if out is None else asdict(found.export(out, overwrite=overwrite))
    record = {**found.record, "out": written, "found": len(found), "implications": found.top(top).to_pylist()}
    console.answer(record, json, _implications_shown, wide_table=True)


def _implications_shown(record: dict[str, Any]) -> RenderableType:
    from bicliq.flows.cli.groups import members
    from bicliq.flows.words import many

    title = f"{many(record['found'], 'implication')}, the {record['basis']} basis of {_sides(record)}"
    rows = [
        (f"{row['count']:,}", members(row["premise"]), members(row["conclusion"])) for row in record["implications"]
    ]
    return rows_shown(title, ("objects", "if", "then"), rows, record)


def _shown(record: dict[str, Any]) -> RenderableType:
    from bicliq.flows.cli.groups import members
    from bicliq.flows.words import many

    covers = many(record["covers"], "cover edge")
    new = ""
    if "new_since" in record:
        new = f" that are new since run {record['new_since']}, {record['n_vanished']:,} vanished"
    title = f"{many(record['found'], 'concept')}{new} of {_sides(record)}; {covers} between them"
    names = ("concept", "objects", "stability", "extent", "intent")
    rows = [
        (
            *(f"{row[name]:,}" for name in ("concept", "n_objects", "stability")),
            *(members(row[side]) for side in ("extent", "intent")),
            *([members(row["upper"])] if new else []),
            *([_in_braces(row["generators"])] if "generators" in row else []),
        )
        for row in record["concepts"]
    ]
    below = ("next above",) if new else ()
    generators = ("generators",) if any("generators" in row for row in record["concepts"]) else ()
    return rows_shown(title, (*names, *below, *generators), rows, record)


def _in_braces(sets: list[list[Any]] | None) -> str:
    from bicliq.flows.cli.groups import members

    return "" if sets is None else members(["{" + members(some) + "}" for some in sets])


def _sides(record: dict[str, Any]) -> str:
    from bicliq.flows.words import many

    return f"{many(record['n_objects'], 'object')} and {many(record['n_attributes'], 'attribute')}"
