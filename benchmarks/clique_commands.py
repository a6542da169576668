"""Commands of `python -m benchmarks` that are about cliques."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from benchmarks.commands import Graphs, Limit, OneBackend, Threads, end
from bicliq.flows.cli.commands import Room
from bicliq.flows.cli.options import Backend, Devices, Json, check_picture

room = Room(takes={})


@room.command("clique", "BICLIQ_DATA=graphs python -m benchmarks clique brock400_4 --threads 2")
def bench_clique(
    graphs: Annotated[
        list[str] | None, typer.Argument(metavar="[GRAPH]...", help="DIMACS graphs by name; by default all there are.")
    ] = None,
    threads: Threads = 1,
    runs: Annotated[int, typer.Option("--runs", min=1, max=1000, help="Runs of each graph; the median is shown.")] = 5,
    time_limit: Limit = 60.0,
    backend: OneBackend = "cpu",
    devices: Devices = 1,
    bounds: Annotated[
        Literal["colour", "recolour", "refute"], typer.Option("--bounds", help="The strongest bound in use.")
    ] = "refute",
    json: Json = False,
) -> None:
    """Time the maximum clique of DIMACS graphs beside the peers' figures."""
    from benchmarks import tables
    from benchmarks.clique import measure_cliques
    from benchmarks.graphs import find_dimacs
    from bicliq.flows.cli import console
    from bicliq.pipeline.placement.machine import machine_facts

    records = []
    for measured in measure_cliques(find_dimacs(graphs or []), threads, runs, time_limit, backend, devices, bounds):
        records.append(measured.record())
        console.note(f"{measured.graph}: {measured.seconds:.3f} s")
    record = {"machine": machine_facts(), "graphs": records}
    console.answer(record, json, tables.cliques(bounds), wide_table=True)
    end(all(not r["proven"] or r["expected"] in (None, r["size"]) for r in records))


@room.command("random-cliques", "python -m benchmarks random-cliques --size 200 --picture cliques.svg")
def bench_random_cliques(
    sizes: Annotated[
        list[int] | None, typer.Option("--size", min=1, max=20_000, help="Vertices; repeat for several.")
    ] = None,
    densities: Annotated[list[float] | None, typer.Option("--density", help="Densities; repeat for several.")] = None,
    threads: Threads = 2,
    time_limit: Limit = 5.0,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**62, help="Of the random graphs.")] = 1,
    backend: Annotated[Backend, typer.Option("--backend", help="With cuda, on GPUs as well.")] = "cpu",
    devices: Devices = 1,
    picture: Annotated[str | None, typer.Option("--picture", help="File to draw to: .svg, .png or .pdf.")] = None,
    json: Json = False,
) -> None:
    """Time the maximum clique of random graphs of many sizes and densities on several threads."""
    from benchmarks import tables
    from benchmarks.random_cliques import DENSITIES, SIZES, draw_cells, measure_random
    from bicliq.flows.cli import console
    from bicliq.pipeline.placement.machine import machine_facts

    check_picture(picture)
    cells = []
    for cell in measure_random(sizes or SIZES, densities or DENSITIES, threads, time_limit, seed, backend, devices):
        cells.append(cell)
        console.note(f"n = {cell.n}, density {cell.density:g}: size {cell.size}")
    if picture:
        draw_cells(cells, picture)
    record = {"machine": machine_facts(), "cells": [cell.record() for cell in cells]}
    console.answer(record, json, tables.random_cliques, wide_table=True)


@room.command(
    "projected-cliques",
    "BICLIQ_DATA=graphs python -m benchmarks projected-cliques gowalla --min-shared 1 --min-shared 4",
)
def bench_projected_cliques(
    graphs: Graphs = None,
    project: Annotated[Literal["left", "right"], typer.Option("--project", help="Side to tie.")] = "left",
    min_shared: Annotated[
        list[int] | None,
        typer.Option(
            "--min-shared", min=1, max=2**31 - 1, help="Common neighbours that tie two vertices; may be repeated."
        ),
    ] = None,
    threads: Threads = 0,
    runs: Annotated[int, typer.Option("--runs", min=1, max=1000, help="Runs of each way; the fastest is shown.")] = 3,
    time_limit: Limit = 60.0,
    backend: Annotated[
        Literal["auto", "cpu", "cuda"], typer.Option("--backend", help="Where the search runs.")
    ] = "auto",
    json: Json = False,
) -> None:
    """Take projected tables to a maximum clique with the data on the CPU and on the GPU.

    The table has the seconds of each stage.
    """
    from benchmarks import tables
    from benchmarks.graphs import find_graphs
    from benchmarks.projected_cliques import measure_projected
    from bicliq.flows.cli import console
    from bicliq.pipeline.placement.machine import machine_facts

    records = []
    options: Any = {"threads": threads, "runs": runs, "backend": backend, "time_limit": time_limit}
    for found in measure_projected(find_graphs(graphs or []), project, min_shared or [1, 2, 4], **options):
        records.append(found.record())
        took = found.reason or f"{(found.seconds or {})['total']:.3f} s, size {found.size}"
        console.note(f"{found.graph}, {found.min_shared} shared, data on {found.data_backend}: {took}")
    console.answer({"machine": machine_facts(), "ways": records}, json, tables.projected_cliques, wide_table=True)
    sizes = {(r["graph"], r["min_shared"], r["size"]) for r in records if r["proven"]}
    end(len(sizes) == len({key[:2] for key in sizes}))
