"""The commands of `python -m benchmarks`: kernels and the whole way beside published programs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bicliq.flows.cli.commands import Room
from bicliq.flows.cli.options import EXIT_OTHER, Backend, Edges, Json, RunName, Side, check_picture
from bicliq.pipeline.bounds import MOST_THREADS

if TYPE_CHECKING:
    from bicliq.pipeline.settings import Settings

Threads = Annotated[
    int, typer.Option("--threads", min=0, max=MOST_THREADS, help="Threads of a kernel; 0 takes all cores.")
]
Graphs = Annotated[
    list[str] | None,
    typer.Argument(metavar="[GRAPH]...", help="Names of known graphs, or Parquet files; by default all."),
]
OneBackend = Annotated[Backend, typer.Option("--backend", help="Where the kernels run.")]
Limit = Annotated[float, typer.Option("--time-limit", min=1e-3, max=1e9, help="Seconds for each search.")]


room = Room(
    takes={
        "run": ("ingest", "search", "-search.backend", "plan", "publish", "cluster"),
        "scale": ("store",),
        "growth": ("search", "plan", "publish", "data_backend"),
    }
)


@room.command("enumerate", "BICLIQ_DATA=graphs python -m benchmarks enumerate YouTube EuAll --runs 5")
def bench_enumerate(
    graphs: Graphs = None,
    threads: Threads = 1,
    runs: Annotated[int, typer.Option("--runs", min=1, max=1000, help="Runs of each graph; the median is shown.")] = 5,
    side: Annotated[Side, typer.Option("--side", help="Enumerated side.")] = "auto",
    backend: OneBackend = "cpu",
    json: Json = False,
) -> None:
    """Time the enumeration (count mode, preparation included) beside the peers' figures."""
    from benchmarks import tables
    from benchmarks.enumeration import measure
    from benchmarks.graphs import find_graphs
    from bicliq.flows.cli import console
    from bicliq.pipeline.placement.machine import machine_facts

    records = []
    for measured in measure(find_graphs(graphs or []), threads, runs, side, backend):
        records.append(measured.record())
        console.note(f"{measured.graph}: {measured.seconds:.3f} s")
    record = {"machine": machine_facts(backend), "graphs": records}
    console.answer(record, json, tables.enumeration, wide_table=True)
    end(all(r["expected"] in (None, r["bicliques"]) for r in records))


@room.command("gpu", "BICLIQ_DATA=graphs python -m benchmarks gpu YouTube EuAll --runs 3")
def bench_gpu(
    graphs: Graphs = None,
    runs: Annotated[int, typer.Option("--runs", min=1, max=1000, help="Runs of each layout; the median is shown.")] = 3,
    layouts: Annotated[
        list[str] | None, typer.Option("--layout", help="Only layouts whose name holds this; may be repeated.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare layouts of the search on a GPU: launch shapes, giving work away, sizes of tasks."""
    from benchmarks import tables
    from benchmarks.graphs import find_graphs
    from benchmarks.layouts import LAYOUTS, measure_layouts
    from benchmarks.peers import enumeration_peers
    from bicliq.flows.cli import console
    from bicliq.pipeline.placement.machine import machine_facts

    shipped = next(iter(LAYOUTS))
    chosen = {
        name: tuning
        for name, tuning in LAYOUTS.items()
        if not layouts or name == shipped or any(part in name for part in layouts)
    }
    records = []
    for measured in measure_layouts(find_graphs(graphs or []), chosen, runs):
        records.append(asdict(measured))
        console.note(f"{measured.layout}, {measured.graph}: {measured.milliseconds:.2f} ms, busy {measured.busy:.2f}")
    console.answer({"machine": machine_facts("cuda"), "layouts": records}, json, tables.layouts, wide_table=True)
    known = enumeration_peers()
    end(all(r["bicliques"] == known[r["graph"]].bicliques for r in records if r["graph"] in known))


@room.command("run", "python -m benchmarks run out.YouTube --local --threads 16")
def bench_run(
    settings: Settings,
    edges: Edges,
    runs: Annotated[int, typer.Option("--runs", min=1, max=1000, help="Runs of each way; the fastest is shown.")] = 2,
    json: Json = False,
) -> None:
    """Take an edge table all the way on the CPU and on the GPU: the seconds of each stage."""
    from benchmarks import tables
    from benchmarks.end_to_end import measure_end_to_end
    from bicliq.flows.cli import console

    records = []
    for found in measure_end_to_end(edges, settings, runs):
        records.append(asdict(found))
        took = found.reason or f"{found.seconds['total']:.2f} s, digest {found.digest}"
        console.note(f"data on {found.data_backend}, search on {found.backend}: {took}")
    console.answer({"edges": edges, "ways": records}, json, tables.stages, wide_table=True)
    end(len({record["digest"] for record in records if record["reason"] is None}) <= 1)


@room.command("scale", "python -m benchmarks scale 3f2a --store dense --workers 1 --workers 2 --backend cuda")
def bench_scale(
    settings: Settings,
    run: RunName = None,
    workers: Annotated[
        list[int] | None,
        typer.Option("--workers", min=1, max=MOST_THREADS, help="Workers of a cluster; may be repeated."),
    ] = None,
    simulated: Annotated[
        int | None,
        typer.Option(
            "--simulate",
            min=1,
            max=1_000_000,
            help="Start no such clusters: work out from the times of a finished run how fast up to so many would be.",
        ),
    ] = None,
    picture: Annotated[
        str | None, typer.Option("--picture", help="With --simulate, file to draw to: .svg, .png or .pdf.")
    ] = None,
    backend: OneBackend = "cpu",
    threads: Threads = 1,
    json: Json = False,
) -> None:
    """Count and digest a planned run on clusters of several sizes.

    The table has times, how busy each worker was, and what it read. With --simulate, it has times
    that the partitions of a finished run would take on many workers: as they are, with the longest
    cut to single roots, and those by their first level.
    """
    from benchmarks import tables
    from benchmarks.scaling import measure_scaling
    from benchmarks.simulation import draw_simulation, measure_hand_out, simulate, sizes_up_to
    from bicliq.flows.cli import console
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.store.results import open_run

    check_picture(picture)
    if simulated is None and picture is not None:
        raise InputError("--picture draws what --simulate works out; give both, or neither")
    if simulated is not None and (backend, threads) != ("cpu", 1):
        raise InputError("--simulate times pieces on one thread of a CPU; leave --backend and --threads out")
    opened = open_run(settings.store, run)
    if simulated is not None:
        price = measure_hand_out()
        sizes = workers or sizes_up_to(simulated)
        records = [asdict(found) for found in simulate(opened.store, opened.run, sizes, price)]
        if picture is not None:
            draw_simulation(records, f"run {opened.run}", picture)
        answer = {"run": opened.run, "hand_out": price, "simulated": records}
        console.answer(answer, json, tables.simulation, wide_table=True)
        return
    records = []
    for measured in measure_scaling(opened.store, opened.run, workers or [1, 2], backend, threads):
        records.append(asdict(measured))
        console.note(f"{measured.workers} workers: {measured.seconds:.2f} s")
    console.answer({"run": opened.run, "clusters": records}, json, tables.scaling, wide_table=True)
    end(len({record["digest"] for record in records}) <= 1)


@room.command("growth", "python -m benchmarks growth big --edges 1000000 --edges 10000000 --min-left 20 --min-right 20")
def bench_growth(
    settings: Settings,
    folder: Annotated[str, typer.Argument(help="Where tables and stores lie, on a disk with 25 bytes an edge.")],
    edges: Annotated[
        list[int] | None,
        typer.Option(
            "--edges", min=1, max=2**36, help="Edges of a table; repeat for several. By default 1, 3 and 10 million."
        ),
    ] = None,
    picture: Annotated[str | None, typer.Option("--picture", help="File to draw to: .svg, .png or .pdf.")] = None,
    json: Json = False,
) -> None:
    """Take generated tables of growing size all the way: what each stage takes and holds.

    Each stage is a process of its own. A measurement that was ended goes on where it was.
    """
    from benchmarks import tables
    from benchmarks.growth import draw_growth, growth_exponents, measure_growth
    from bicliq.flows.cli import console
    from bicliq.pipeline.placement.machine import machine_facts

    check_picture(picture)
    records = []
    for measured in measure_growth(Path(folder), edges or (1_000_000, 3_000_000, 10_000_000), settings):
        records.append(measured.record())
        took = f"{measured.seconds:.1f} s, {measured.peak / 2**30:.2f} GiB"
        console.note(f"{measured.edges:,} edges, {measured.stage}: {took}")
    if picture is not None:
        draw_growth(records, picture)
    record = {"machine": machine_facts(), "stages": records, "exponents": growth_exponents(records)}
    console.answer(record, json, tables.growth, wide_table=True)


@room.command("count", "BICLIQ_DATA=graphs python -m benchmarks count YouTube marvel")
def bench_count(
    graphs: Graphs = None,
    threads: Threads = 1,
    runs: Annotated[int, typer.Option("--runs", min=1, max=1000, help="Runs of each count; the best is shown.")] = 3,
    backend: OneBackend = "cpu",
    json: Json = False,
) -> None:
    """Time (p,q)-counts (reading the file left out) beside the peers' figures."""
    from benchmarks import tables
    from benchmarks.count import measure_counts
    from bicliq.flows.cli import console
    from bicliq.pipeline.placement.machine import machine_facts

    records = [measured.record() for measured in measure_counts(graphs or [], threads, runs, backend)]
    console.answer({"machine": machine_facts(), "counts": records}, json, tables.counts, wide_table=True)
    end(all(r["expected"] in (None, r["count"]) for r in records))


@room.command("choice", "python -m benchmarks choice --seeds 12 --first-seed 1000")
def bench_choice(
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, max=100_000, help="Number of seeds: a graph of each shape each.")
    ] = 12,
    first_seed: Annotated[int, typer.Option("--first-seed", min=0, max=2**62, help="The first of the seeds.")] = 1000,
    shapes: Annotated[list[str] | None, typer.Option("--shape", help="rmat, uniform or block; by default all.")] = None,
    time_limit: Limit = 2.0,
    json: Json = False,
) -> None:
    """Compare what (p,q)-counts of random graphs take as chosen and in the other ways.

    The ways are both searches on both sides.
    """
    from benchmarks import tables
    from benchmarks.choice import SHAPES, measure_choices
    from bicliq.flows.cli import console
    from bicliq.pipeline.placement.machine import machine_facts

    records = []
    for found in measure_choices(range(first_seed, first_seed + seeds), shapes or list(SHAPES), time_limit=time_limit):
        records.append(found.record())
        if found.is_judged:
            times = "given up" if found.times is None else f"{found.times:.2f} times the best"
            console.note(f"{found.graph} ({found.p},{found.q}): {records[-1]['chosen']}, {times}")
    console.answer({"machine": machine_facts(), "counts": records}, json, tables.choices, wide_table=True)


@room.command("sides", "BICLIQ_DATA=graphs python -m benchmarks sides gowalla EuAll")
def bench_sides(graphs: Graphs = None, json: Json = False) -> None:
    """Compare what counts with least sizes take from the side that is chosen and from the other."""
    from benchmarks import tables
    from benchmarks.graphs import all_graphs, find_graphs
    from benchmarks.sides import measure_sides
    from bicliq.flows.cli import console
    from bicliq.pipeline.placement.machine import machine_facts

    records = []
    for measured in measure_sides(find_graphs(graphs or all_graphs())):
        records.append(measured.record())
        console.note("{graph}, {min_left} x {min_right}: {times:.2f} times the better side".format(**records[-1]))
    console.answer({"machine": machine_facts(), "pairs": records}, json, tables.sides, wide_table=True)


@room.command("estimate", "BICLIQ_DATA=graphs python -m benchmarks estimate --random 10 --seeds 5")
def bench_estimate(
    graphs: Graphs = None,
    random: Annotated[
        int, typer.Option("--random", min=0, max=100_000, help="Random graphs of each of three shapes.")
    ] = 10,
    first_seed: Annotated[int, typer.Option("--first-seed", min=0, max=2**62, help="The first of their seeds.")] = 1,
    seeds: Annotated[int, typer.Option("--seeds", min=1, max=1000, help="Estimates of each graph.")] = 5,
    work: Annotated[
        int | None, typer.Option("--work", min=1, max=2**50, help="Nodes that an estimate may search.")
    ] = None,
    share: Annotated[
        float | None,
        typer.Option("--share", min=0, max=0.999, help="Share of a search that it may take where that is more."),
    ] = None,
    threads: Threads = 2,
    json: Json = False,
) -> None:
    """Estimate searches whose outcome is known, and say how often the interval holds the truth."""
    from benchmarks import tables
    from benchmarks.estimates import SHARE, WORK, measure_estimates
    from benchmarks.graphs import find_graphs
    from bicliq.flows.cli import console
    from bicliq.pipeline.placement.machine import machine_facts

    records = []
    drawn = range(first_seed, first_seed + random)
    allowed = work or WORK, SHARE if share is None else share
    for measured in measure_estimates(find_graphs(graphs or []), drawn, seeds, *allowed, threads):
        records.append(measured.record())
        console.note(f"{measured.graph}: {measured.held} of {measured.seeds} hold {measured.bicliques:,}")
    console.answer({"machine": machine_facts(), "graphs": records}, json, tables.estimates, wide_table=True)


@room.command("find", "BICLIQ_DATA=graphs python -m benchmarks find YouTube EuAll gowalla edit-nawiki --runs 9")
def bench_find(
    graphs: Graphs = None,
    top: Annotated[
        int, typer.Option("--top", min=1, max=100_000, help="How many of the best, by each objective.")
    ] = 20,
    runs: Annotated[int, typer.Option("--runs", min=1, max=1000, help="Runs of each question.")] = 9,
    threads: Threads = 1,
    backend: OneBackend = "cpu",
    json: Json = False,
) -> None:
    """Time the search for the best bicliques, by every objective, beside the published figures."""
    from benchmarks import tables
    from benchmarks.finding import measure_finds
    from benchmarks.graphs import find_graphs
    from bicliq.flows.cli import console
    from bicliq.pipeline.placement.machine import machine_facts

    records = []
    for measured in measure_finds(find_graphs(graphs or []), top, runs, threads, backend):
        records.append(measured.record())
        console.note(f"{measured.graph}, {measured.k} by {measured.by}: {measured.milliseconds:.1f} ms")
    record = {"machine": machine_facts(backend), "questions": records}
    console.answer(record, json, tables.finds, wide_table=True)
    end(all(r["exact"] for r in records))


@room.command("planted", "python -m benchmarks planted UCforum movielens-ui --seeds 5 --picture planted.svg")
def bench_planted(
    graphs: Annotated[
        list[str] | None,
        typer.Argument(metavar="[GRAPH]...", help="Names of known graphs, or Parquet files, besides a generated one."),
    ] = None,
    rings: Annotated[int, typer.Option("--rings", min=1, max=1000, help="Rings that are planted in a graph.")] = 10,
    seeds: Annotated[int, typer.Option("--seeds", min=1, max=1000, help="Graphs made of each background.")] = 5,
    density: Annotated[
        float, typer.Option("--density", min=0.01, max=1, help="Share of a ring's pairs that are edges.")
    ] = 1.0,
    purchases: Annotated[
        int, typer.Option("--purchases", min=1000, max=10**8, help="Rows of the generated graph.")
    ] = 30_000,
    small: Annotated[bool, typer.Option("--small", help="Rings have 5 to 8 accounts and items.")] = False,
    ways: Annotated[list[str] | None, typer.Option("--way", help="Who looks, as in the table; by default all.")] = None,
    picture: Annotated[str | None, typer.Option("--picture", help="File to draw to: .svg, .png or .pdf.")] = None,
    json: Json = False,
) -> None:
    """Plant fraud rings in graphs, and say who finds them first."""
    from benchmarks import tables
    from benchmarks.graphs import find_graphs
    from benchmarks.planted import WAYS, draw_planted, measure_planted
    from bicliq.flows.cli import console
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.placement.machine import machine_facts

    check_picture(picture)
    if unknown := [way for way in ways or () if way not in WAYS]:
        raise InputError(f"--way {unknown[0]!r} is none of {', '.join(WAYS)}")
    records, named = [], find_graphs(graphs) if graphs else {}
    for measured in measure_planted(
        named, rings, seeds, density, rows=purchases, small=small, ways=ways or tuple(WAYS)
    ):
        records.append(measured.record())
        console.note(f"{measured.graph}, {measured.way}: {measured.found:g} of {rings} rings")
    if picture is not None:
        draw_planted(records, picture)
    console.answer({"machine": machine_facts(), "graphs": records}, json, tables.planted, wide_table=True)


@room.command("update", "BICLIQ_DATA=graphs python -m benchmarks update YouTube gowalla --picture updates.svg")
def bench_update(
    graphs: Graphs = None,
    edges: Annotated[
        list[int] | None,
        typer.Option("--edges", min=1, max=2**31, help="Edges of a batch; repeat for several. By default 1 to 10 %."),
    ] = None,
    threads: Threads = 1,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**62, help="Of the order of the edges.")] = 1,
    runs: Annotated[
        int | None,
        typer.Option("--runs", min=1, max=1000, help="Runs of each batch; the median is shown. By default 3."),
    ] = None,
    nights: Annotated[
        int | None,
        typer.Option(
            "--nights",
            min=1,
            max=10_000,
            help="Join so many batches one after the other, each to the version before; by default a thousandth of the edges each.",
        ),
    ] = None,
    picture: Annotated[str | None, typer.Option("--picture", help="File to draw to: .svg, .png or .pdf.")] = None,
    json: Json = False,
) -> None:
    """Join batches of edges to a run, one edge to a tenth of all, beside a run from scratch."""
    from benchmarks import tables
    from benchmarks.graphs import find_graphs
    from benchmarks.updates import draw_updates, measure_nights, measure_updates
    from bicliq.flows.cli import console
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.placement.machine import machine_facts

    check_picture(picture)
    if nights is not None and (len(edges or ()) > 1 or picture is not None):
        raise InputError(
            "--nights: batches are of one size, and there is no picture of them; name --edges once at most"
        )
    if nights is not None and runs is not None:
        raise InputError("--nights: each batch is joined once, to the version before; leave --runs out")
    found, sizes = find_graphs(graphs or []), edges or ()
    several = measure_updates(found, seed, threads, sizes, runs or 3)
    records = []
    for measured in several if nights is None else measure_nights(found, nights, seed, threads, *sizes):
        records.append(measured.record())
        console.note(f"{measured.graph}, {measured.edges:,} edges: {measured.seconds:.3f} s ({measured.how})")
    if picture is not None:
        draw_updates(records, picture)
    console.answer({"machine": machine_facts(), "graphs": records}, json, tables.updates, wide_table=True)


def end(agrees: bool) -> None:
    """Leave with 1 where a figure is not what is known, or two ways differ."""
    if not agrees:
        raise typer.Exit(EXIT_OTHER)


@room.command(
    "generate",
    "python -m benchmarks generate big --left 20000000 --right 5000000 --edges 200000000 --seed 7",
    "python -m benchmarks generate shop.csv --left 20000 --right 4000 --edges 300000 --rings 5 --truth rings.csv",
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
    from benchmarks.generate import generate as generate_table
    from benchmarks.generate import parse_corners
    from bicliq.flows.cli import console

    record = asdict(generate_table(target, left, right, edges, seed, parse_corners(corners), text, rings, truth))
    console.answer(record, json, _generated)


def _generated(record: dict[str, Any]) -> str:
    """What was written, in words."""
    from bicliq.flows.words import many

    files = f"{many(record['files'], 'file')} of {record['bytes'] / 2**20:,.1f} MiB"
    return f"{many(record['edges'], 'edge')} in {files}{' together' if record['files'] > 1 else ''}; {record['uri']}"
