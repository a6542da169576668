"""`bicliq bench`: the kernels and the whole way measured on real graphs, beside the published programs."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from flows.cli.options import (
    EXIT_OTHER,
    Backend,
    Devices,
    Edges,
    Format,
    Json,
    Left,
    Local,
    Partitions,
    Right,
    RunName,
    SideOption,
    StoreUri,
    Threads,
    Workers,
    settings_from,
)

bench = typer.Typer(help="Measure the kernels on real graphs, beside the published programs.", no_args_is_help=True)


@bench.callback()
def _bench() -> None:
    """Measure the kernels on real graphs, beside the published programs."""


@bench.command(
    "enumerate", epilog="Example: [bold]BICLIQ_DATA=graphs bicliq bench enumerate YouTube EuAll --runs 5[/bold]"
)
def bench_enumerate(
    graphs: Annotated[
        list[str] | None, typer.Argument(help="Names of known graphs, or Parquet files; by default all.")
    ] = None,
    threads: Annotated[int, typer.Option("--threads", help="Threads.")] = 1,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Runs of each graph; the median is shown.")] = 5,
    side: SideOption = "auto",
    backend: Backend = "cpu",
    json: Json = False,
) -> None:
    """Time the enumeration (count mode, preparation included) beside the peers' figures."""
    from flows.cli import console
    from pipeline.bench.enumeration import measure
    from pipeline.bench.graphs import find_graphs
    from pipeline.bench.machine import machine_facts

    records = []
    backend = backend or "cpu"
    for measured in measure(find_graphs(graphs or []), threads, runs, side or "auto", backend):  # type: ignore[arg-type]
        records.append(measured.record())
        console.err.print(f"{measured.graph}: {measured.seconds:.3f} s")
    if json:
        console.print_json({"machine": machine_facts(backend), "graphs": records})
        return
    console.wide.print(console.bench_table(records))
    console.wide.print(", ".join(f"{name} {value}" for name, value in machine_facts(backend).items()))
    if any(r["expected"] not in (None, r["bicliques"]) for r in records):
        raise typer.Exit(EXIT_OTHER)


@bench.command("gpu", epilog="Example: [bold]BICLIQ_DATA=graphs bicliq bench gpu YouTube EuAll --runs 3[/bold]")
def bench_gpu(
    graphs: Annotated[
        list[str] | None, typer.Argument(help="Names of known graphs, or Parquet files; by default all.")
    ] = None,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Runs of each layout; the median is shown.")] = 3,
    layouts: Annotated[
        list[str] | None, typer.Option("--layout", help="Only layouts whose name holds this; may be repeated.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare layouts of the search on a GPU: launch shapes, giving work away, sizes of tasks."""
    from dataclasses import asdict

    from flows.cli import console
    from pipeline.bench.graphs import find_graphs
    from pipeline.bench.layouts import LAYOUTS, measure_layouts
    from pipeline.bench.machine import machine_facts
    from pipeline.bench.peers import enumeration_peers

    shipped = next(iter(LAYOUTS))
    chosen = {
        name: tuning
        for name, tuning in LAYOUTS.items()
        if layouts is None or name == shipped or any(part in name for part in layouts)
    }
    records = []
    for measured in measure_layouts(find_graphs(graphs or []), chosen, runs):
        records.append(asdict(measured))
        console.err.print(
            f"{measured.layout}, {measured.graph}: {measured.milliseconds:.2f} ms, busy {measured.busy:.2f}"
        )
    if json:
        console.print_json({"machine": machine_facts("cuda"), "layouts": records})
    else:
        console.wide.print(console.layouts_table(records))
    known = enumeration_peers()
    if any(r["bicliques"] != known[r["graph"]].bicliques for r in records if r["graph"] in known):
        raise typer.Exit(EXIT_OTHER)


@bench.command("run", epilog="Example: [bold]bicliq bench run out.YouTube --local --threads 16[/bold]")
def bench_run(
    edges: Edges, runs: Annotated[int, typer.Option("--runs", min=1, help="Runs of each way; the fastest is shown.")] = 2,
    threads: Threads = None, partitions: Partitions = None, workers: Workers = None, local: Local = None,
    format: Format = None, left: Left = None, right: Right = None, json: Json = False,
) -> None:  # fmt: skip
    """Take an edge table all the way on the CPU and on the GPU: the seconds of each stage."""
    options = {k: v for k, v in locals().items() if k not in ("edges", "runs", "json")}
    settings = settings_from(**options)
    from dataclasses import asdict

    from flows.cli import console
    from pipeline.bench.end_to_end import measure_end_to_end

    records = []
    for found in measure_end_to_end(edges, settings, runs):
        records.append(asdict(found))
        took = found.reason or f"{found.seconds['total']:.2f} s, digest {found.digest}"
        console.err.print(f"data on {found.data_backend}, search on {found.backend}: {took}")
    if json:
        console.print_json({"edges": edges, "ways": records})
    else:
        console.wide.print(console.stages_table(records))
    if len({record["digest"] for record in records if record["reason"] is None}) > 1:
        raise typer.Exit(EXIT_OTHER)


@bench.command(
    "scale", epilog="Example: [bold]bicliq bench scale 3f2a --store dense --workers 1 --workers 2 --backend cuda[/bold]"
)
def bench_scale(
    run: RunName = None, store: StoreUri = None,
    workers: Annotated[list[int] | None, typer.Option("--workers", min=1, help="Workers of a cluster; may be repeated.")] = None,
    backend: Backend = "cpu", threads: Threads = 1, json: Json = False,
) -> None:  # fmt: skip
    """Count and digest a planned run on clusters of several sizes: times, how busy each worker was, and what it read."""
    from dataclasses import asdict

    from flows.cli import console
    from pipeline.bench.scaling import measure_scaling
    from pipeline.store.results import open_run

    opened = open_run(settings_from(store=store).store, run)
    records = []
    for found in measure_scaling(opened.store, opened.run, workers or [1, 2], backend or "cpu", threads or 1):
        records.append(asdict(found))
        console.err.print(
            f"{found.workers} workers: {found.seconds:.2f} s, {found.times:.2f} times, {found.bicliques:,} bicliques,"
            f" digest {found.digest}, busy {', '.join(f'{share:.3f}' for share in found.busy.values())},"
            f" read {', '.join(f'{size / 2**20:.1f}' for size in found.bytes.values())} MiB"
        )
    if json:
        console.print_json({"run": opened.run, "clusters": records})
    if len({record["digest"] for record in records}) > 1:
        raise typer.Exit(EXIT_OTHER)


@bench.command("count", epilog="Example: [bold]BICLIQ_DATA=graphs bicliq bench count YouTube marvel[/bold]")
def bench_count(
    graphs: Annotated[list[str] | None, typer.Argument(help="Names of known graphs; by default all.")] = None,
    threads: Annotated[int, typer.Option("--threads", help="Threads.")] = 1,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Runs of each count; the best is shown.")] = 3,
    backend: Annotated[str, typer.Option("--backend", help="cpu or cuda.")] = "cpu",
    json: Json = False,
) -> None:
    """Time (p,q)-counts (reading the file left out) beside the peers' figures."""
    from flows.cli import console
    from pipeline.bench.count import measure_counts
    from pipeline.bench.machine import machine_facts

    records = [measured.record() for measured in measure_counts(graphs or [], threads, runs, backend)]
    if json:
        console.print_json({"machine": machine_facts(), "counts": records})
        return
    console.wide.print(console.count_bench_table(records))
    console.wide.print(", ".join(f"{name} {value}" for name, value in machine_facts().items()))
    if any(r["expected"] not in (None, r["count"]) for r in records):
        raise typer.Exit(EXIT_OTHER)


@bench.command("choice", epilog="Example: [bold]bicliq bench choice --seeds 12 --first-seed 1000[/bold]")
def bench_choice(
    seeds: Annotated[int, typer.Option("--seeds", min=1, help="Number of seeds: a graph of each shape each.")] = 12,
    first_seed: Annotated[int, typer.Option("--first-seed", min=0, help="The first of the seeds.")] = 1000,
    shapes: Annotated[list[str] | None, typer.Option("--shape", help="rmat, uniform or block; by default all.")] = None,
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds for each search.")] = 2.0,
    json: Json = False,
) -> None:
    """Compare what (p,q)-counts of random graphs take as chosen and in the other ways: both searches, both sides."""
    from flows.cli import console
    from pipeline.bench.choice import SHAPES, measure_choices
    from pipeline.bench.machine import machine_facts

    records = []
    for found in measure_choices(range(first_seed, first_seed + seeds), shapes or list(SHAPES), time_limit=time_limit):
        records.append(found.record())
        if found.is_judged:
            times = "given up" if found.times is None else f"{found.times:.2f} times the best"
            console.err.print(f"{found.graph} ({found.p},{found.q}): {records[-1]['chosen']}, {times}")
    if json:
        console.print_json({"machine": machine_facts(), "counts": records})
        return
    console.wide.print(console.choice_table(records))
    console.wide.print(", ".join(f"{name} {value}" for name, value in machine_facts().items()))


@bench.command("clique", epilog="Example: [bold]BICLIQ_DATA=graphs bicliq bench clique brock400_4 --threads 2[/bold]")
def bench_clique(
    graphs: Annotated[
        list[str] | None, typer.Argument(help="Names of DIMACS graphs; by default all that are there.")
    ] = None,
    threads: Annotated[int, typer.Option("--threads", help="Threads.")] = 1,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Runs of each graph; the median is shown.")] = 5,
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds for each run.")] = 60.0,
    backend: Annotated[str, typer.Option("--backend", help="cpu or cuda.")] = "cpu",
    devices: Devices = 1,
    bounds: Annotated[
        str, typer.Option("--bounds", help="The strongest bound in use: colour, recolour or refute.")
    ] = "refute",
    json: Json = False,
) -> None:
    """Time the maximum clique of DIMACS graphs beside the peers' figures."""
    from flows.cli import console
    from pipeline.bench.clique import measure_cliques
    from pipeline.bench.graphs import find_dimacs
    from pipeline.bench.machine import machine_facts

    records = []
    found = find_dimacs(graphs or [])
    for measured in measure_cliques(found, threads, runs, time_limit, backend, devices, bounds):
        records.append(measured.record())
        console.err.print(f"{measured.graph}: {measured.seconds:.3f} s")
    if json:
        console.print_json({"machine": machine_facts(), "graphs": records})
        return
    console.wide.print(console.clique_bench_table(records, bounds))
    console.wide.print(", ".join(f"{name} {value}" for name, value in machine_facts().items()))
    if any(r["proven"] and r["expected"] not in (None, r["size"]) for r in records):
        raise typer.Exit(EXIT_OTHER)


@bench.command(
    "random-cliques", epilog="Example: [bold]bicliq bench random-cliques --size 200 --picture cliques.svg[/bold]"
)
def bench_random_cliques(
    sizes: Annotated[list[int] | None, typer.Option("--size", help="Vertices; repeat for several.")] = None,
    densities: Annotated[list[float] | None, typer.Option("--density", help="Densities; repeat for several.")] = None,
    threads: Annotated[int, typer.Option("--threads", min=1, help="Threads to compare with one.")] = 2,
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds for each search.")] = 5.0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the random graphs.")] = 1,
    backend: Annotated[str, typer.Option("--backend", help="cpu, or cuda: on GPUs as well.")] = "cpu",
    devices: Devices = 1,
    picture: Annotated[str | None, typer.Option("--picture", help="File to draw to: .svg, .png or .pdf.")] = None,
    json: Json = False,
) -> None:
    """Time the maximum clique of random graphs of many sizes and densities, one thread and several."""
    from flows.cli import console
    from pipeline.bench.machine import machine_facts
    from pipeline.bench.random_cliques import DENSITIES, SIZES, draw_cells, measure_random

    cells = []
    for cell in measure_random(sizes or SIZES, densities or DENSITIES, threads, time_limit, seed, backend, devices):
        cells.append(cell)
        console.err.print(f"n = {cell.n}, density {cell.density:g}: size {cell.size}")
    if picture:
        draw_cells(cells, picture)
    records = [cell.record() for cell in cells]
    if json:
        console.print_json({"machine": machine_facts(), "cells": records})
        return
    console.wide.print(console.random_clique_table(records))
    console.wide.print(", ".join(f"{name} {value}" for name, value in machine_facts().items()))


@bench.command(
    "projected-cliques",
    epilog="Example: [bold]BICLIQ_DATA=graphs bicliq bench projected-cliques gowalla --min-shared 1 --min-shared 4[/bold]",
)
def bench_projected_cliques(
    graphs: Annotated[
        list[str] | None, typer.Argument(help="Names of known graphs, or Parquet files; by default all.")
    ] = None,
    project: Annotated[str, typer.Option("--project", help="Side to tie: left or right.")] = "left",
    min_shared: Annotated[
        list[int] | None, typer.Option("--min-shared", help="Common neighbours that tie two vertices; may be repeated.")
    ] = None,
    threads: Annotated[int, typer.Option("--threads", help="Threads; 0 takes all cores.")] = 0,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Runs of each way; the fastest is shown.")] = 3,
    time_limit: Annotated[float, typer.Option("--time-limit", help="Seconds for each search.")] = 60.0,
    backend: Annotated[str, typer.Option("--backend", help="Of the search: auto, cpu or cuda.")] = "auto",
    json: Json = False,
) -> None:
    """Take projected tables to a maximum clique with the data on the CPU and on the GPU: the seconds of each stage."""
    from flows.cli import console
    from pipeline.bench.graphs import find_graphs
    from pipeline.bench.machine import machine_facts
    from pipeline.bench.projected_cliques import measure_projected

    records = []
    options: Any = {"threads": threads, "runs": runs, "backend": backend, "time_limit": time_limit}
    for found in measure_projected(find_graphs(graphs or []), project, min_shared or [1, 2, 4], **options):  # type: ignore[arg-type]
        records.append(found.record())
        took = found.reason or f"{(found.seconds or {})['total']:.3f} s, size {found.size}"
        console.err.print(
            f"{found.graph}, {found.min_shared} shared, data on {found.data_backend}: {took}", markup=False
        )
    if json:
        console.print_json({"machine": machine_facts(), "ways": records})
    else:
        console.wide.print(console.projected_cliques_table(records))
        console.wide.print(", ".join(f"{name} {value}" for name, value in machine_facts().items()))
    sizes = {(r["graph"], r["min_shared"], r["size"]) for r in records if r["proven"]}
    if len(sizes) > len({key[:2] for key in sizes}):
        raise typer.Exit(EXIT_OTHER)
