"""Commands about contexts: `lattice`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bicliq.flows.cli.commands import Room
from bicliq.flows.cli.options import Json, number

if TYPE_CHECKING:
    from rich.console import RenderableType

    from bicliq.pipeline.settings import Settings

room = Room("From an edge table to answers")


@room.command(
    "lattice",
    "bicliq lattice context.cxt",
    "bicliq lattice onehot.csv --min-support 0.05 --top 50 --by support",
    "bicliq lattice context.cxt --of duck --out duck.graphml",
)
def lattice(
    settings: Settings,
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
    top: Annotated[int, typer.Option("--top", "-k", min=1, max=2**24, help="How many are shown, the best first.")] = 20,
    by: Annotated[
        Literal["stability", "support", "n_objects", "n_attributes"], typer.Option("--by", help="What the best have.")
    ] = "stability",
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE", help="Write them: .graphml, .dot, .json, .parquet; the context: .cxt."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file of --out if it is there.")] = False,
    json: Json = False,
) -> None:
    """Find the concepts of a context and which cover which: its concept lattice."""
    from bicliq.flows.cli import console
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.questions.concepts import find_concepts
    from bicliq.pipeline.results.export_lattice import checked_lattice_format

    if out is None and overwrite:
        raise InputError("--overwrite is for the file of --out; name one")
    if out is not None:
        checked_lattice_format(out, overwrite=overwrite)
    whole = find_concepts(file, min_support, settings)  # type: ignore[arg-type]
    found = (whole if of is None else whole.of(of)).where(min_stability=min_stability)
    written = None if out is None else asdict(found.export(out, overwrite=overwrite))
    best = [{**row, "generators": found.generators(row["concept"])} for row in found.top(top, by).to_pylist()]
    asked = {"min_stability": min_stability, "of": of, "by": by, "found": len(found), "covers": found.edges.num_rows}
    console.answer({**whole.record, "out": written, **asked, "concepts": best}, json, _shown, wide_table=True)


def _shown(record: dict[str, Any]) -> RenderableType:
    from rich.console import Group
    from rich.table import Table

    from bicliq.flows.cli.console import members
    from bicliq.flows.words import many

    sides = f"{many(record['n_objects'], 'object')} and {many(record['n_attributes'], 'attribute')}"
    title = f"{many(record['found'], 'concept')} of {sides}; {many(record['covers'], 'cover edge')} between them"
    table = Table()
    for name in ("concept", "objects", "stability", "extent", "intent"):
        table.add_column(name, justify="left" if name in ("extent", "intent") else "right", overflow="fold")
    for row in record["concepts"]:
        sizes = (f"{row[name]:,}" for name in ("concept", "n_objects", "stability"))
        table.add_row(*sizes, *(members(row[side]) for side in ("extent", "intent")))
    said: list[RenderableType] = [title, table] if record["concepts"] else [f"{title}: there is none; ask for less"]
    if len(record["concepts"]) < record["found"]:
        shown, all_of = len(record["concepts"]), record["found"]
        said.append(f"the best {shown:,} of {all_of:,} by {record['by']}; --top shows more, --out writes all")
    if record["out"]:
        said.append(f"{record['out']['path']}: {record['out']['bytes']:,} bytes")
    return Group(*said)
