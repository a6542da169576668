"""Commands about contexts: `lattice`."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bicliq.flows.cli.commands import Room
from bicliq.flows.cli.options import Json, number

if TYPE_CHECKING:
    from rich.console import RenderableType

    from bicliq.pipeline.results.concepts import Context
    from bicliq.pipeline.settings import Settings

room = Room("From an edge table to answers")


@room.command(
    "lattice",
    "bicliq lattice context.cxt",
    "bicliq lattice onehot.csv --min-support 0.05 --top 50 --by support",
    "bicliq lattice context.cxt --of duck --out duck.graphml",
    "bicliq lattice context.cxt --implications canonical --out implications.csv",
    "bicliq lattice people.csv --left name --scale age=ordinal:18,65 --scale city=nominal",
)
def lattice(
    settings: Settings,
    context: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Context: .cxt, a table of 0 and 1, or rows of object and attribute.")
    ],
    min_support: Annotated[
        str,
        typer.Option(
            "--min-support", metavar="<number>", parser=number, help="Least share of all objects; 0: all concepts."
        ),
    ] = "0",
    min_stability: Annotated[
        int, typer.Option("--min-stability", min=0, help="Objects more than the next concept below, at least.")
    ] = 0,
    of: Annotated[
        str | None, typer.Option("--of", metavar="LABEL", help="Only concepts that have this object or attribute.")
    ] = None,
    scale: Annotated[
        list[str] | None,
        typer.Option(
            "--scale",
            metavar="COLUMN=KIND",
            help="Take FILE for a table of categories and numbers: nominal, ordinal, interordinal, none; auto: by what it"
            " holds; repeatable.",
        ),
    ] = None,
    generators: Annotated[
        bool, typer.Option("--generators", help="Also the smallest sets of attributes that tell each that is shown.")
    ] = False,
    implications: Annotated[
        Literal["canonical", "direct"] | None,
        typer.Option("--implications", help="What implies what, instead: the shortest basis, or the direct one."),
    ] = None,
    report: Annotated[
        str | None, typer.Option("--report", metavar="FILE", help="Draw them on a page of HTML, too.")
    ] = None,
    top: Annotated[int, typer.Option("--top", "-k", min=1, max=2**24, help="How many are shown, the best first.")] = 20,
    by: Annotated[
        Literal["stability", "support", "n_objects", "n_attributes"], typer.Option("--by", help="What the best have.")
    ] = "stability",
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write them: .graphml, .dot, .json, .parquet, .svg; the context: .cxt; implications: .csv, ….",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file of --out if it is there.")] = False,
    json: Json = False,
) -> None:
    """Find the concepts of a context and which cover which: its lattice; or its implications."""
    from bicliq.flows.cli import console
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.questions.concepts import find_concepts, find_implications
    from bicliq.pipeline.report.lattice import write_lattice_page
    from bicliq.pipeline.results.export_lattice import checked_lattice_format
    from bicliq.pipeline.results.export_lists import checked_format

    started = time.monotonic()
    if out is None and overwrite:
        raise InputError("--overwrite is for the file of --out; name one")
    if implications is not None:
        _refuse_those_of_concepts(context)
        if out is not None:
            checked_format(out, None, overwrite=overwrite, bom=False)
        with console.made(json) as told:
            basis = find_implications(_source(file, scale, settings), implications, settings, told)
        written = None if out is None else asdict(basis.export(out, overwrite=overwrite))
        record = {**basis.record, "out": written, "found": len(basis), "implications": basis.top(top).to_pylist()}
        console.answer(record, json, _implications_shown, wide_table=True)
        return
    if out is not None:
        checked_lattice_format(out, overwrite=overwrite)
    with console.made(json) as told:
        whole = find_concepts(_source(file, scale, settings), min_support, settings, told)  # type: ignore[arg-type]
    found = (whole if of is None else whole.of(of)).where(min_stability=min_stability)
    written = None if out is None else asdict(found.export(out, overwrite=overwrite))
    page = None if report is None else write_lattice_page(report, found, file)
    best = found.top(top, by).to_pylist()
    for row in best if generators else ():
        left = settings.search.time_limit and max(settings.search.time_limit - (time.monotonic() - started), 0)
        row["generators"] = found.generators(row["concept"], time_limit=left)
    asked = {"min_stability": min_stability, "of": of, "by": by, "found": len(found), "covers": found.edges.num_rows}
    console.answer(
        {**whole.record, "out": written, "report": page, **asked, "concepts": best}, json, _shown, wide_table=True
    )


def _source(file: str, scale: list[str] | None, settings: Settings) -> str | Context:
    """The file, or the context that it becomes by scales."""
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.questions.scaling import scale_table

    if scale is None:
        return file
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

    for name in ("min_support", "min_stability", "of", "by", "generators", "report", "threads"):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise InputError(f"--{name.replace('_', '-')} is for concepts; leave it out, or --implications")


def _implications_shown(record: dict[str, Any]) -> RenderableType:
    from bicliq.flows.cli.baskets import rows_shown
    from bicliq.flows.cli.console import members
    from bicliq.flows.words import many

    title = f"{many(record['found'], 'implication')}, the {record['basis']} basis of {_sides(record)}"
    rows = [
        (f"{row['count']:,}", members(row["premise"]), members(row["conclusion"])) for row in record["implications"]
    ]
    return rows_shown(title, ("objects", "if", "then"), rows, record)


def _shown(record: dict[str, Any]) -> RenderableType:
    from bicliq.flows.cli.baskets import rows_shown
    from bicliq.flows.cli.console import members
    from bicliq.flows.words import many

    covers = many(record["covers"], "cover edge")
    title = f"{many(record['found'], 'concept')} of {_sides(record)}; {covers} between them"
    names = ("concept", "objects", "stability", "extent", "intent")
    rows = [
        (
            *(f"{row[name]:,}" for name in ("concept", "n_objects", "stability")),
            *(members(row[side]) for side in ("extent", "intent")),
            *(_in_braces(row["generators"]) for _ in range("generators" in row)),
        )
        for row in record["concepts"]
    ]
    generators = ("generators",) if rows and len(rows[0]) > len(names) else ()
    return rows_shown(title, (*names, *generators), rows, record)


def _in_braces(sets: list[list[Any]] | None) -> str:
    from bicliq.flows.cli.console import members

    return "" if sets is None else members(["{" + members(some) + "}" for some in sets])


def _sides(record: dict[str, Any]) -> str:
    from bicliq.flows.words import many

    return f"{many(record['n_objects'], 'object')} and {many(record['n_attributes'], 'attribute')}"
