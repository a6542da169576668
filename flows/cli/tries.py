"""Commands that need no table: `doctor` says what is here, `generate` writes a table to try."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from bicliq.flows.cli.commands import Room
from bicliq.flows.cli.options import Json

room = Room("Try and measure")


@room.command(
    "generate",
    "bicliq generate big --left 20000000 --right 5000000 --edges 200000000 --seed 7",
    "bicliq generate shop.csv --left 20000 --right 4000 --edges 300000 --rings 5 --truth rings.csv",
)
def generate(
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="A .parquet or .csv file, or a folder of Parquet files.")
    ],
    left: Annotated[int, typer.Option("--left", help="Ids of the left side.")],
    right: Annotated[int, typer.Option("--right", help="Ids of the right side.")],
    edges: Annotated[int, typer.Option("--edges", help="Rows; some repeat an edge.")],
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same table.")] = 0,
    corners: Annotated[
        str, typer.Option("--corners", help="R-MAT's four probabilities; equal ones give no skew.")
    ] = "0.57,0.19,0.19,0.05",
    text: Annotated[bool, typer.Option("--text", help="Labels are text instead of numbers.")] = False,
    rings: Annotated[int, typer.Option("--rings", min=0, help="Fraud rings to hide in it.")] = 0,
    truth: Annotated[
        str | None, typer.Option("--truth", metavar="FILE", help="A CSV file for the members of the rings.")
    ] = None,
    json: Json = False,
) -> None:
    """Write a generated edge table, skewed like real data, of any size."""
    from bicliq.flows.cli import console
    from bicliq.pipeline.graphs.generate import generate as generate_table
    from bicliq.pipeline.graphs.generate import parse_corners

    record = asdict(generate_table(target, left, right, edges, seed, parse_corners(corners), text, rings, truth))
    console.answer(record, json, console.generated)


@room.command("doctor", "bicliq doctor")
def doctor(json: Json = False) -> None:
    """Say what is here: versions, instruction set, backends, and why one cannot be used."""
    from bicliq.flows.cli import console
    from bicliq.pipeline.placement.doctor import examine

    console.answer(examine(), json, console.facts)
