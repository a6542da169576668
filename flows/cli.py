"""The command line: the outermost room, and the only one that prints.

Every command reads its settings from arguments, then the environment (``BICLIQ__SEARCH__THREADS``), then
``bicliq.toml``, then defaults. Exit codes: 0 done, 2 the input or the arguments are wrong, 3 a limit was reached, 130
interrupted, 1 anything else.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from kernels.errors import BackendError, BicliqError
from pipeline.errors import InputError, LimitReached, StorageError

app = typer.Typer(
    name="bicliq",
    help="Maximal bicliques of large bipartite edge tables: exact, resumable, as partitioned Parquet.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
EXIT_OTHER, EXIT_INPUT, EXIT_LIMIT, EXIT_INTERRUPTED = 1, 2, 3, 130
UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""What typer raises at wrong arguments: click's class, or that of the copy of click that newer versions of typer carry."""

Edges = Annotated[str, typer.Argument(metavar="EDGES", help="Edge table: a path or an fsspec URL.")]
RunName = Annotated[
    str | None, typer.Argument(metavar="RUN", help="A run, or how its name begins; by default the latest.")
]
StoreUri = Annotated[str | None, typer.Option("--store", help="Store: a path or an fsspec URL (default bicliq-store).")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output, and nothing else there.")]
Threads = Annotated[int | None, typer.Option("--threads", help="Threads of a kernel; 0 takes all cores.")]
Backend = Annotated[str | None, typer.Option("--backend", help="auto, cpu or cuda.")]
Devices = Annotated[int, typer.Option("--devices", min=0, help="GPUs of a search for cliques; 0 takes all.")]
DataBackend = Annotated[
    str | None, typer.Option("--data-backend", help="Where ingest, reduce, profile and plan run: auto, cpu or cuda.")
]
SideOption = Annotated[str | None, typer.Option("--side", help="Enumerated side: auto, left or right.")]
MinLeft = Annotated[int | None, typer.Option("--min-left", help="Least number of left vertices.")]
MinRight = Annotated[int | None, typer.Option("--min-right", help="Least number of right vertices.")]
MinEdges = Annotated[int | None, typer.Option("--min-edges", help="Least number of edges (left times right).")]
MaxBicliques = Annotated[int | None, typer.Option("--max-bicliques", help="Stop after so many.")]
OnLimit = Annotated[
    str | None, typer.Option("--on-limit", help="A reached limit is: flag (marked) or error (exit code 3).")
]
Partitions = Annotated[
    int | None, typer.Option("--partitions", help="Number of partitions; by default by memory and work.")
]
MemoryBudget = Annotated[int | None, typer.Option("--memory-budget", help="Bytes that one partition may take.")]
Scheduler = Annotated[str | None, typer.Option("--scheduler", help="Existing Dask scheduler, as tcp://host:8786.")]
Workers = Annotated[int | None, typer.Option("--workers", help="Dask workers on this machine; by default one a core.")]
Local = Annotated[bool | None, typer.Option("--local", help="Search in this process, without a Dask cluster.")]
Format = Annotated[
    str | None, typer.Option("--format", help="auto, csv, tsv, parquet, konect, snap, mtx or adjacency.")
]
Left = Annotated[str | None, typer.Option("--left", help="Column of the left ids: name, or number from 0.")]
Right = Annotated[str | None, typer.Option("--right", help="Column of the right ids.")]
Weight = Annotated[str | None, typer.Option("--weight", help="Column of the weights.")]
Time = Annotated[str | None, typer.Option("--time", help="Column of the timestamps.")]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Field separator of a CSV file.")]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether a CSV file starts with column names.")
]
Duplicates = Annotated[str | None, typer.Option("--duplicates", help="Repeated edges: first, sum, max or error.")]
MinWeight = Annotated[float | None, typer.Option("--min-weight", help="Drop rows below this weight.")]
Since = Annotated[str | None, typer.Option("--since", help="Drop rows before this time (ISO date or Unix seconds).")]
Until = Annotated[str | None, typer.Option("--until", help="Drop rows from this time on.")]
Ragged = Annotated[str | None, typer.Option("--ragged", help="Lines with too many or too few fields: error or drop.")]
Nulls = Annotated[str | None, typer.Option("--nulls", help="Rows without an id: error or drop.")]
SelfLabels = Annotated[str | None, typer.Option("--self-labels", help="Edges with equal labels: keep, error or drop.")]
Sides = Annotated[str | None, typer.Option("--sides", help="SNAP files: source-target or columns.")]
Sample = Annotated[float | None, typer.Option("--sample", help="Keep this fraction of the left vertices.")]


NO_SETTINGS = ("edges", "p", "q", "all", "max_p", "max_q", "vertices", "method", "prefect", "json")
"""Arguments of `count` that say what is counted."""


def settings_from(**options: Any) -> Any:
    """Settings from the given options; those that are None are left to environment, file and defaults."""
    from pydantic import BaseModel

    from pipeline.settings import ClusterSettings, IngestSettings, PlanSettings, SearchSettings, load_settings

    tree: dict[str, Any] = {}
    groups: dict[str, type[BaseModel]] = {
        "ingest": IngestSettings,
        "search": SearchSettings,
        "plan": PlanSettings,
        "cluster": ClusterSettings,
    }
    for name, value in options.items():
        if value is None:
            continue
        group = next((group for group, model in groups.items() if name in model.model_fields), None)
        if group is None:
            tree[name] = value
        else:
            tree.setdefault(group, {})[name] = value
    return load_settings(**tree)


@app.command(epilog="Example: [bold]bicliq run out.edit-nawiki --store wiki-store --min-left 3 --min-right 3[/bold]")
def run(
    edges: Edges, store: StoreUri = None, min_left: MinLeft = None, min_right: MinRight = None, min_edges: MinEdges = None,
    max_bicliques: MaxBicliques = None, on_limit: OnLimit = None, side: SideOption = None, backend: Backend = None,
    threads: Threads = None, partitions: Partitions = None, memory_budget: MemoryBudget = None, scheduler: Scheduler = None,
    workers: Workers = None, local: Local = None, format: Format = None, left: Left = None, right: Right = None,
    weight: Weight = None, time: Time = None, delimiter: Delimiter = None, header: Header = None,
    duplicates: Duplicates = None, min_weight: MinWeight = None, since: Since = None, until: Until = None,
    ragged: Ragged = None, nulls: Nulls = None, self_labels: SelfLabels = None, sides: Sides = None, sample: Sample = None,
    data_backend: DataBackend = None,
    prefect: Annotated[bool, typer.Option("--prefect", help="Run as a Prefect flow, with its states and artifacts.")] = False,
    json: Json = False,
) -> None:  # fmt: skip
    """Take an edge table all the way: ingest, plan, search, publish. Run again, it does only what is missing."""
    options = {k: v for k, v in locals().items() if k not in ("edges", "prefect", "json")}
    settings = settings_from(**options)
    from flows import console

    if prefect:
        from flows.etl import etl

        record = etl(edges, settings.model_dump(mode="json"))
    else:
        from pipeline.run import run as run_all

        with console.observed(json) as observer:
            record = run_all(edges, settings, observer).record()
    _show(record, json)


@app.command(epilog="Example: [bold]bicliq enumerate youtube.parquet --left u --right v --digest[/bold]")
def enumerate(
    edges: Edges, count_only: Annotated[bool, typer.Option("--count-only", help="Count, and nothing else (the default).")] = False,
    digest: Annotated[bool, typer.Option("--digest", help="Compute the set digest as well.")] = False,
    min_left: MinLeft = None, min_right: MinRight = None, min_edges: MinEdges = None, max_bicliques: MaxBicliques = None,
    side: SideOption = None, backend: Backend = None, threads: Threads = None, format: Format = None, left: Left = None,
    right: Right = None, weight: Weight = None, time: Time = None, delimiter: Delimiter = None, header: Header = None,
    duplicates: Duplicates = None, min_weight: MinWeight = None, since: Since = None, until: Until = None,
    ragged: Ragged = None, nulls: Nulls = None, self_labels: SelfLabels = None, sides: Sides = None, sample: Sample = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Search an edge table in memory: count its maximal bicliques, publish nothing."""
    if count_only and digest:
        raise InputError("--count-only and --digest contradict each other; give one of them")
    options = {k: v for k, v in locals().items() if k not in ("edges", "count_only", "digest", "json")}
    settings = settings_from(**options)
    from flows import console
    from pipeline.search import enumerate_table

    record = enumerate_table(edges, settings, "digest" if digest else "count")
    if json:
        console.print_json(record)
    else:
        known = f", set digest {record['digest']}" if digest else ""
        more = "" if record["complete"] else " (a limit was reached: there are more)"
        console.out.print(
            f"{record['bicliques']:,} maximal bicliques{more}{known} in {record['seconds']['search']:.3f} s"
            f" ({record['backend']}, {record['threads']} threads)"
        )


@app.command(
    epilog="Examples:\n\n[bold]bicliq count youtube.parquet 4 4 --left u --right v[/bold]\n\n"
    "[bold]bicliq count youtube.parquet --all --max-p 12 --max-q 12 --json[/bold]\n\n"
    "[bold]bicliq count youtube.parquet 3 3 --vertices --store counts[/bold]"
)
def count(
    edges: Edges,
    p: Annotated[int | None, typer.Argument(metavar="P", help="Left vertices.")] = None,
    q: Annotated[int | None, typer.Argument(metavar="Q", help="Right vertices.")] = None,
    all: Annotated[bool, typer.Option("--all", help="Count all sizes up to --max-p and --max-q, in one pass.")] = False,
    max_p: Annotated[int | None, typer.Option("--max-p", help="Largest p of --all.")] = None,
    max_q: Annotated[int | None, typer.Option("--max-q", help="Largest q of --all.")] = None,
    vertices: Annotated[bool, typer.Option("--vertices", help="Count for each vertex, too (with --store).")] = False,
    method: Annotated[str, typer.Option("--method", help="auto, levels, pivot or butterfly.")] = "auto",
    store: StoreUri = None, side: SideOption = None, backend: Backend = None, threads: Threads = None,
    partitions: Partitions = None, memory_budget: MemoryBudget = None, scheduler: Scheduler = None, workers: Workers = None,
    local: Local = None, format: Format = None, left: Left = None, right: Right = None, weight: Weight = None, time: Time = None,
    delimiter: Delimiter = None, header: Header = None, duplicates: Duplicates = None, min_weight: MinWeight = None,
    since: Since = None, until: Until = None, ragged: Ragged = None, nulls: Nulls = None, self_labels: SelfLabels = None,
    sides: Sides = None, sample: Sample = None,
    prefect: Annotated[bool, typer.Option("--prefect", help="Run as a Prefect flow (with --store).")] = False,
    json: Json = False,
) -> None:  # fmt: skip
    """Count complete P x Q subgraphs: in memory, or with --store partition by partition into the store."""
    options = {k: v for k, v in locals().items() if k not in NO_SETTINGS}
    settings = settings_from(**options)
    from flows import console
    from pipeline.count import count_run, count_table

    asked = _count_asked(p, q, max_p, max_q, all, vertices, method)
    if prefect and store is None:
        raise InputError("--prefect counts into a store; name one with --store")
    if store is None:
        record = count_table(edges, asked, settings).record()
    elif prefect:
        from flows.count import count_flow

        record = count_flow(edges, vars(asked), settings.model_dump(mode="json"))
    else:
        with console.observed(json) as observer:
            record = count_run(edges, asked, settings, observer).record()
    if json:
        console.print_json(record)
    else:
        console.print_counts(record)


@app.command(epilog="Example: [bold]bicliq clique purchases.csv --project left --min-shared 3 --store groups[/bold]")
def clique(
    graph: Annotated[str, typer.Argument(metavar="GRAPH", help="DIMACS, MatrixMarket or edge table: a path or an fsspec URL.")],
    project: Annotated[str | None, typer.Option("--project", help="Side of a bipartite table to tie: left or right.")] = None,
    min_shared: Annotated[int, typer.Option("--min-shared", help="Common neighbours that tie two vertices.")] = 1,
    all: Annotated[bool, typer.Option("--all", help="Every maximum clique, not one.")] = False,
    time_limit: Annotated[float | None, typer.Option("--time-limit", help="Seconds; then the best so far, not proven.")] = None,
    stored: Annotated[bool, typer.Option("--stored", help="GRAPH is a graph of the store, or how its name begins.")] = False,
    devices: Devices = 1,
    store: StoreUri = None, threads: Threads = None, backend: Backend = None, format: Format = None, left: Left = None,
    right: Right = None, weight: Weight = None, delimiter: Delimiter = None, header: Header = None,
    min_weight: MinWeight = None, ragged: Ragged = None, nulls: Nulls = None, json: Json = False,
) -> None:  # fmt: skip
    """Find a maximum clique of an undirected graph, or of one side of a bipartite table; with --store, commit it."""
    asked = {"project": project, "min_shared": min_shared, "all": all, "time_limit": time_limit}
    options = {k: v for k, v in locals().items() if k not in ("graph", "stored", "devices", "json", "asked", *asked)}
    settings = settings_from(**options)
    from flows import console
    from pipeline.clique import CliqueQuestion, answer
    from pipeline.store import Store

    opened = Store.open(settings.store, create=not stored) if stored or store is not None else None
    question = CliqueQuestion(**asked)  # type: ignore[arg-type]
    search = settings.search
    record = answer(
        graph, question, settings.ingest, store=opened, stored=stored, threads=search.threads, backend=search.backend,
        devices=devices,
    )  # fmt: skip
    if json:
        console.print_json(record)
    else:
        console.show_cliques(record)


@app.command(epilog="Example: [bold]bicliq ingest purchases.csv.gz --left user --right item --since 2026-01-01[/bold]")
def ingest(
    edges: Edges, store: StoreUri = None, format: Format = None, left: Left = None, right: Right = None,
    weight: Weight = None, time: Time = None, delimiter: Delimiter = None, header: Header = None,
    duplicates: Duplicates = None, min_weight: MinWeight = None, since: Since = None, until: Until = None,
    ragged: Ragged = None, nulls: Nulls = None, self_labels: SelfLabels = None, sides: Sides = None, sample: Sample = None,
    data_backend: DataBackend = None, json: Json = False,
) -> None:  # fmt: skip
    """Read an edge table into the store as a canonical graph."""
    options = {k: v for k, v in locals().items() if k not in ("edges", "json")}
    settings = settings_from(**options)
    from dataclasses import asdict

    from flows import console
    from pipeline.ingest import ingest as ingest_table
    from pipeline.store import Store

    with console.observed(json) as observer:
        record = asdict(
            ingest_table(edges, Store.open(settings.store), settings.ingest, observer.rows, settings.data_backend)
        )
    if json:
        console.print_json(record)
    else:
        sizes = f"{record['n_left']:,} left × {record['n_right']:,} right, {record['n_edges']:,} edges"
        console.out.print(f"graph {record['graph']}: {sizes}; {record['uri']}")


@app.command(
    epilog="Example: [bold]bicliq generate big --left 20000000 --right 5000000 --edges 200000000 --seed 7[/bold]"
)
def generate(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A .parquet or .csv file, or a folder of Parquet files.")],
    left: Annotated[int, typer.Option("--left", help="Ids of the left side.")],
    right: Annotated[int, typer.Option("--right", help="Ids of the right side.")],
    edges: Annotated[int, typer.Option("--edges", help="Rows; some repeat an edge.")],
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same table.")] = 0,
    corners: Annotated[str, typer.Option("--corners", help="R-MAT's four probabilities; equal ones give no skew.")] = "0.57,0.19,0.19,0.05",
    text: Annotated[bool, typer.Option("--text", help="Labels are text instead of numbers.")] = False,
    json: Json = False,
) -> None:  # fmt: skip
    """Write a generated edge table, skewed like real data, of any size."""
    from dataclasses import asdict

    from flows import console
    from pipeline.generate import generate as generate_table
    from pipeline.generate import parse_corners

    record = asdict(generate_table(target, left, right, edges, seed, parse_corners(corners), text))
    if json:
        console.print_json(record)
    else:
        console.out.print(
            f"{record['edges']:,} edges in {record['files']} files of {record['bytes'] / 2**20:,.1f} MiB together; {record['uri']}"
        )


@app.command(epilog="Example: [bold]bicliq profile 5c1f… --two-hop --store wiki-store[/bold]")
def profile(
    graph: Annotated[str, typer.Argument(metavar="GRAPH", help="A graph of the store, or how its name begins.")],
    store: StoreUri = None,
    two_hop: Annotated[bool, typer.Option("--two-hop", help="Count the 2-hop neighbours of each vertex as well.")] = False,
    data_backend: DataBackend = None, json: Json = False,
) -> None:  # fmt: skip
    """Say what an ingested graph looks like: degrees, paths of two edges, components."""
    settings = settings_from(store=store, data_backend=data_backend)
    from dataclasses import asdict

    from flows import console
    from pipeline.profile import profile as profile_graph
    from pipeline.profile import two_hop as count_two_hop
    from pipeline.store import Store

    opened = Store.open(settings.store, create=False)
    name = opened.find_graph(graph)
    record = {"graph": name, **asdict(profile_graph(opened, name, settings.data_backend))}
    if two_hop:
        record["two_hop"] = count_two_hop(opened, name, settings.data_backend)
    if json:
        console.print_json(record)
        return
    for key, value in record.items():
        if not key.endswith("histogram"):
            console.out.print(f"{key}  {value:,}" if isinstance(value, int) else f"{key}  {value}", markup=False)


@app.command(epilog="Example: [bold]bicliq plan 5c1f… --partitions 32 --store wiki-store[/bold]")
def plan(
    graph: Annotated[str, typer.Argument(metavar="GRAPH", help="A graph of the store, or how its name begins.")],
    store: StoreUri = None, min_left: MinLeft = None, min_right: MinRight = None, min_edges: MinEdges = None,
    max_bicliques: MaxBicliques = None, side: SideOption = None, partitions: Partitions = None,
    memory_budget: MemoryBudget = None, data_backend: DataBackend = None, json: Json = False,
) -> None:  # fmt: skip
    """Plan a run over an ingested graph: side, order, partitions and their cost."""
    options = {k: v for k, v in locals().items() if k not in ("graph", "json")}
    settings = settings_from(**options)
    from dataclasses import asdict

    from flows import console
    from pipeline.plan import plan as plan_run
    from pipeline.profile import profile
    from pipeline.store import Store

    opened = Store.open(settings.store, create=False)
    name = opened.find_graph(graph)
    profile(opened, name, settings.data_backend)
    record = asdict(plan_run(opened, name, settings.search, settings.plan, settings.data_backend))
    if json:
        console.print_json(record)
    else:
        console.out.print(
            f"run {record['run']}: {record['n_roots']:,} roots of the {record['side']} side in {record['partitions']:,}"
            f" partitions of at most {record['est_bytes'] / 2**20:,.1f} MiB; search it with: bicliq resume {record['run']}"
        )


@app.command(epilog="Example: [bold]bicliq resume 3f2a --store wiki-store[/bold]")
def resume(
    run: RunName = None, store: StoreUri = None, backend: Backend = None, threads: Threads = None,
    scheduler: Scheduler = None, workers: Workers = None, local: Local = None, json: Json = False,
) -> None:  # fmt: skip
    """Search what is missing of a run, and publish it."""
    options = {k: v for k, v in locals().items() if k not in ("run", "json")}
    settings = settings_from(**options)
    from flows import console
    from pipeline.results import open_run
    from pipeline.run import resume as resume_run

    name = open_run(settings.store, run).run
    with console.observed(json) as observer:
        record = resume_run(name, settings, observer).record()
    _show(record, json)


@app.command(epilog="Example: [bold]bicliq top -k 20 --by left --store wiki-store[/bold]")
def top(
    run: RunName = None, store: StoreUri = None,
    k: Annotated[int, typer.Option("-k", help="How many.")] = 10,
    by: Annotated[str, typer.Option("--by", help="Size: edges, left or right.")] = "edges",
    dense: Annotated[bool, typer.Option("--dense", help="Show dense ids instead of the original ones.")] = False,
    json: Json = False,
) -> None:  # fmt: skip
    """Show the largest bicliques of a run, with their original ids."""
    settings = settings_from(store=store)
    from flows import console
    from pipeline.results import open_run

    opened = open_run(settings.store, run)
    rows = opened.top(k, by, ids=not dense).to_pylist()  # type: ignore[arg-type]
    if json:
        console.print_json({"run": opened.run, "by": by, "bicliques": rows})
    else:
        console.out.print(console.biclique_table(rows, f"the {len(rows)} largest of run {opened.run}, by {by}"))


@app.command(epilog="Example: [bold]bicliq verify --store wiki-store[/bold]")
def verify(
    run: RunName = None, store: StoreUri = None,
    sample: Annotated[int, typer.Option("--sample", min=0, help="Bicliques to check against the graph.")] = 1000,
    json: Json = False,
) -> None:  # fmt: skip
    """Read every file of a run again and check it: checksums, rows, digest, and a sample against the graph."""
    settings = settings_from(store=store)
    from dataclasses import asdict

    from flows import console
    from pipeline.publish import verify as verify_run
    from pipeline.results import open_run

    opened = open_run(settings.store, run)
    found = verify_run(opened.store, opened.run, sample)
    if json:
        console.print_json({**asdict(found), "ok": found.ok})
    elif found.ok:
        console.out.print(
            f"run {found.run} is sound: {found.bicliques:,} bicliques in {found.partitions:,} files, digest {found.digest},"
            f" {found.sampled:,} of them checked against the graph"
        )
    for problem in [] if json else found.problems:
        console.err.print(problem, style="red", markup=False)
    if not found.ok:
        raise typer.Exit(EXIT_OTHER)


@app.command(
    epilog='Example: [bold]bicliq serve s3://lake/edges.parquet --cron "0 3 * * *" --store s3://lake/groups[/bold]'
)
def serve(
    edges: Edges, store: StoreUri = None, min_left: MinLeft = None, min_right: MinRight = None, min_edges: MinEdges = None,
    max_bicliques: MaxBicliques = None, side: SideOption = None, backend: Backend = None, threads: Threads = None,
    partitions: Partitions = None, scheduler: Scheduler = None, workers: Workers = None, format: Format = None,
    left: Left = None, right: Right = None, weight: Weight = None, time: Time = None, min_weight: MinWeight = None,
    since: Since = None, until: Until = None, sides: Sides = None, sample: Sample = None,
    cron: Annotated[str | None, typer.Option("--cron", help='Schedule, as "0 3 * * *".')] = None,
    interval: Annotated[float | None, typer.Option("--interval", help="Schedule: seconds between two runs.")] = None,
    name: Annotated[str, typer.Option("--name", help="Name of the deployment.")] = "bicliq-etl",
) -> None:  # fmt: skip
    """Schedule the whole way as a Prefect deployment, and stay to run it."""
    options = {k: v for k, v in locals().items() if k not in ("edges", "cron", "interval", "name")}
    settings = settings_from(**options)
    from flows.deploy import serve_etl

    serve_etl(edges, settings, name=name, cron=cron, interval=interval)


@app.command(epilog="Example: [bold]bicliq doctor[/bold]")
def doctor(json: Json = False) -> None:
    """Say what is here: versions, instruction set, backends, and why one cannot be used."""
    from flows import console
    from pipeline.doctor import examine

    facts = examine()
    if json:
        console.print_json(facts)
        return
    for name, value in facts.items():
        console.out.print(f"{name}  {value}", markup=False, highlight=False)


bench = typer.Typer(help="Measure the kernels on real graphs, beside the published programs.", no_args_is_help=True)
app.add_typer(bench, name="bench")


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
    from flows import console
    from pipeline.bench import find_graphs, machine_facts, measure

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

    from flows import console
    from pipeline.bench import PEERS, find_graphs, machine_facts
    from pipeline.bench_gpu import LAYOUTS, measure_layouts

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
    if any(r["bicliques"] != PEERS[r["graph"]].bicliques for r in records if r["graph"] in PEERS):
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

    from flows import console
    from pipeline.end_to_end import measure_end_to_end

    records = [asdict(found) for found in measure_end_to_end(edges, settings, runs)]
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
    """Count and digest a planned run on clusters of several sizes: times, and how busy each worker was."""
    from dataclasses import asdict

    from flows import console
    from pipeline.results import open_run
    from pipeline.scaling import measure_scaling

    opened = open_run(settings_from(store=store).store, run)
    records = []
    for found in measure_scaling(opened.store, opened.run, workers or [1, 2], backend or "cpu", threads or 1):
        records.append(asdict(found))
        console.err.print(
            f"{found.workers} workers: {found.seconds:.2f} s, {found.times:.2f} times, {found.bicliques:,} bicliques,"
            f" digest {found.digest}, busy {', '.join(f'{share:.3f}' for share in found.busy.values())}"
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
    from flows import console
    from pipeline.bench import machine_facts
    from pipeline.bench_count import measure_counts

    records = [measured.record() for measured in measure_counts(graphs or [], threads, runs, backend)]
    if json:
        console.print_json({"machine": machine_facts(), "counts": records})
        return
    console.wide.print(console.count_bench_table(records))
    console.wide.print(", ".join(f"{name} {value}" for name, value in machine_facts().items()))
    if any(r["expected"] not in (None, r["count"]) for r in records):
        raise typer.Exit(EXIT_OTHER)


def _count_asked(
    p: int | None, q: int | None, max_p: int | None, max_q: int | None, all_sizes: bool, vertices: bool, method: str
) -> Any:
    """What `count` is asked for: P and Q, or with ``--all`` the largest ones."""
    from pipeline.count import CountAsked

    if all_sizes:
        if max_p is None or max_q is None:
            raise InputError("--all needs --max-p and --max-q: up to which sizes shall be counted?")
        if p is not None or q is not None:
            raise InputError(f"--all counts every size up to --max-p and --max-q; leave out {p} {q or ''}".rstrip())
        return CountAsked(max_p, max_q, True, vertices, method)
    if max_p is not None or max_q is not None:
        raise InputError("--max-p and --max-q belong to --all; for one size give P and Q")
    if p is None or q is None:
        raise InputError("give P and Q, the numbers of left and right vertices, or --all with --max-p and --max-q")
    return CountAsked(p, q, False, vertices, method)


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
    json: Json = False,
) -> None:
    """Time the maximum clique of DIMACS graphs beside the peers' figures."""
    from flows import console
    from pipeline.bench_clique import find_dimacs, machine_facts, measure_cliques

    records = []
    for measured in measure_cliques(find_dimacs(graphs or []), threads, runs, time_limit, backend, devices):
        records.append(measured.record())
        console.err.print(f"{measured.graph}: {measured.seconds:.3f} s")
    if json:
        console.print_json({"machine": machine_facts(), "graphs": records})
        return
    console.wide.print(console.clique_bench_table(records))
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
    from flows import console
    from pipeline.bench_random_cliques import DENSITIES, SIZES, draw_cells, machine_facts, measure_random

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


def _show(record: dict[str, Any], json: bool) -> None:
    from flows import console

    if json:
        console.print_json(record)
    else:
        console.out.print(console.summary_table(record))


def main() -> None:
    """Run the command line; every error of ours becomes one message and an exit code."""
    sys.exit(invoke(sys.argv[1:]))


def invoke(arguments: list[str]) -> int:
    """Run one command and return its exit code."""
    try:
        result = app(arguments, standalone_mode=False)
        return _left(result if isinstance(result, int) else 0)
    except typer.Exit as leave:
        return leave.exit_code
    except UsageError as error:
        error.show()  # type: ignore[attr-defined]
        return EXIT_INPUT
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted; what was committed is kept: run the same command again to go on", EXIT_INTERRUPTED)
    except LimitReached as error:
        return _say(str(error), EXIT_LIMIT)
    except (InputError, StorageError, BackendError) as error:
        return _say(str(error), EXIT_INPUT)
    except BicliqError as error:
        return _say(str(error), EXIT_OTHER)


def _left(code: int) -> int:
    """Pass on the exit code of a command; an interrupt (typer turns it into this code) says how to go on."""
    if code == EXIT_INTERRUPTED:
        _say("interrupted; what was committed is kept: run the same command again to go on", code)
    return code


def _say(message: str, code: int) -> int:
    print(f"bicliq: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
