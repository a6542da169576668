"""The command line: the outermost room, and the only one that prints.

Every command reads its settings from arguments, then the environment (``BICLIQ__SEARCH__THREADS``), then
``bicliq.toml``, then defaults. Exit codes: 0 done, 2 the input or the arguments are wrong, 3 a limit was reached, 130
interrupted, 1 anything else.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from flows.cli.bench import bench
from flows.cli.options import (
    EXIT_INPUT,
    EXIT_INTERRUPTED,
    EXIT_LIMIT,
    EXIT_OTHER,
    Backend,
    Check,
    DataBackend,
    Delimiter,
    Devices,
    Duplicates,
    Edges,
    Format,
    Header,
    Json,
    Left,
    Local,
    MaxBicliques,
    MemoryBudget,
    MinEdges,
    MinLeft,
    MinRight,
    MinWeight,
    Nulls,
    OnLimit,
    Partitions,
    Ragged,
    Right,
    RunName,
    Sample,
    Scheduler,
    SelfLabels,
    SideOption,
    Sides,
    Since,
    StoreUri,
    Threads,
    Time,
    Until,
    Weight,
    Workers,
    settings_from,
)
from pipeline.errors import BackendError, BicliqError, InputError, LimitReached, StorageError

app = typer.Typer(
    name="bicliq",
    help="Maximal bicliques, (p,q)-counts and maximum cliques of large edge tables: exact, resumable, as Parquet.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
app.add_typer(bench, name="bench")
UsageError: type[Exception] = typer.BadParameter.__bases__[0]
"""What typer raises at wrong arguments: click's class, or that of the copy of click that newer versions of typer carry."""

NO_SETTINGS = ("edges", "p", "q", "all", "max_p", "max_q", "vertices", "method", "prefect", "json")
"""Arguments of `count` that say what is counted."""


@app.command(epilog="Example: [bold]bicliq run out.edit-nawiki --store wiki-store --min-left 3 --min-right 3[/bold]")
def run(
    edges: Edges, store: StoreUri = None, min_left: MinLeft = None, min_right: MinRight = None, min_edges: MinEdges = None,
    max_bicliques: MaxBicliques = None, on_limit: OnLimit = None, side: SideOption = None, backend: Backend = None,
    threads: Threads = None, partitions: Partitions = None, memory_budget: MemoryBudget = None, scheduler: Scheduler = None,
    workers: Workers = None, local: Local = None, format: Format = None, left: Left = None, right: Right = None,
    weight: Weight = None, time: Time = None, delimiter: Delimiter = None, header: Header = None,
    duplicates: Duplicates = None, min_weight: MinWeight = None, since: Since = None, until: Until = None,
    ragged: Ragged = None, nulls: Nulls = None, self_labels: SelfLabels = None, sides: Sides = None, sample: Sample = None,
    data_backend: DataBackend = None, check: Check = None,
    prefect: Annotated[bool, typer.Option("--prefect", help="Run as a Prefect flow, with its states and artifacts.")] = False,
    json: Json = False,
) -> None:  # fmt: skip
    """Take an edge table all the way: ingest, plan, search, publish. Run again, it does only what is missing."""
    options = {k: v for k, v in locals().items() if k not in ("edges", "prefect", "json")}
    settings = settings_from(**options)
    from flows.cli import console

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
    from flows.cli import console
    from pipeline.stages.search import enumerate_table

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
    from flows.cli import console
    from pipeline.questions.count import count_run, count_table

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
    min_weight: MinWeight = None, ragged: Ragged = None, nulls: Nulls = None, data_backend: DataBackend = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Find a maximum clique of an undirected graph, or of one side of a bipartite table; with --store, commit it."""
    asked = {"project": project, "min_shared": min_shared, "all": all, "time_limit": time_limit}
    options = {k: v for k, v in locals().items() if k not in ("graph", "stored", "devices", "json", "asked", *asked)}
    settings = settings_from(**options)
    from flows.cli import console
    from pipeline.questions.clique import CliqueQuestion, answer
    from pipeline.store.layout import Store

    opened = Store.open(settings.store, create=not stored) if stored or store is not None else None
    question = CliqueQuestion(**asked)  # type: ignore[arg-type]
    search = settings.search
    record = answer(
        graph, question, settings.ingest, store=opened, stored=stored, threads=search.threads, backend=search.backend,
        devices=devices, data_backend=settings.data_backend,
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

    from flows.cli import console
    from pipeline.stages.ingest import ingest as ingest_table
    from pipeline.store.layout import Store

    with console.observed(json) as observer:
        record = asdict(
            ingest_table(edges, Store.open(settings.store), settings.ingest, observer.rows, settings.data_backend)
        )
    if json:
        console.print_json(record)
    else:
        sizes = f"{record['n_left']:,} left × {record['n_right']:,} right, {record['n_edges']:,} edges"
        console.out.print(f"graph {record['graph']}: {sizes}; {record['uri']}")
        console.out.print(console.columns_read(record["summary"]))


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

    from flows.cli import console
    from pipeline.graphs.generate import generate as generate_table
    from pipeline.graphs.generate import parse_corners

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

    from flows.cli import console
    from pipeline.stages.profile import profile as profile_graph
    from pipeline.stages.profile import two_hop as count_two_hop
    from pipeline.store.layout import Store

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
    side: SideOption = None, partitions: Partitions = None, memory_budget: MemoryBudget = None,
    data_backend: DataBackend = None, json: Json = False,
) -> None:  # fmt: skip
    """Plan a run over an ingested graph: side, order, partitions and their cost."""
    options = {k: v for k, v in locals().items() if k not in ("graph", "json")}
    settings = settings_from(**options)
    from dataclasses import asdict

    from flows.cli import console
    from pipeline.stages.plan import plan as plan_run
    from pipeline.stages.profile import profile
    from pipeline.store.layout import Store

    opened = Store.open(settings.store, create=False)
    name = opened.find_graph(graph)
    profile(opened, name, settings.data_backend)
    asked = settings.search, settings.plan, settings.data_backend, settings.cluster
    record = asdict(plan_run(opened, name, *asked))
    if json:
        console.print_json(record)
    else:
        console.out.print(
            f"run {record['run']}: {record['n_roots']:,} roots of the {record['side']} side in {record['partitions']:,}"
            f" partitions of at most {record['est_bytes'] / 2**20:,.1f} MiB; search it with: bicliq resume {record['run']}"
        )


@app.command(epilog="Example: [bold]bicliq resume 3f2a --store wiki-store[/bold]")
def resume(
    run: RunName = None, store: StoreUri = None, max_bicliques: MaxBicliques = None, on_limit: OnLimit = None,
    backend: Backend = None, threads: Threads = None, scheduler: Scheduler = None, workers: Workers = None,
    local: Local = None, check: Check = None, json: Json = False,
) -> None:  # fmt: skip
    """Search what is missing or damaged of a run, and publish it; by default the last one that is not complete."""
    options = {k: v for k, v in locals().items() if k not in ("run", "json")}
    settings = settings_from(**options)
    from flows.cli import console
    from pipeline.run import resume as resume_run
    from pipeline.store.layout import Store
    from pipeline.store.states import run_to_resume

    opened = Store.open(settings.store, create=False)
    name = run_to_resume(opened) if run is None else opened.find_run(run)
    with console.observed(json) as observer:
        record = resume_run(name, settings, observer).record()
    _show(record, json)


@app.command(epilog="Example: [bold]bicliq runs --store wiki-store[/bold]")
def runs(store: StoreUri = None, json: Json = False) -> None:
    """List the runs of a store: how far each is, what it asks for, its sizes and times."""
    settings = settings_from(store=store)
    from flows.cli import console
    from pipeline.store.layout import Store
    from pipeline.store.states import list_runs

    opened = Store.open(settings.store, create=False)
    listed = list_runs(opened)
    if json:
        console.print_json({"store": opened.uri, "runs": listed})
    else:
        console.wide.print(console.runs_table(listed, opened.uri))


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
    from flows.cli import console
    from pipeline.store.results import open_run

    opened = open_run(settings.store, run)
    rows = opened.top(k, by, ids=not dense).to_pylist()  # type: ignore[arg-type]
    if json:
        console.print_json({"run": opened.run, "by": by, **opened.state.record(), "bicliques": rows})
    else:
        of = "" if opened.state.complete else f" ({opened.state})"
        console.out.print(console.biclique_table(rows, f"the {len(rows)} largest of run {opened.run}{of}, by {by}"))


@app.command(
    epilog="Examples:\n\n[bold]bicliq verify --store wiki-store[/bold]\n\n"
    "[bold]bicliq verify --repair --store wiki-store[/bold]"
)
def verify(
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="A run, or how its name begins; by default all that is in the store.")] = None,
    store: StoreUri = None,
    sample: Annotated[int, typer.Option("--sample", min=0, help="Bicliques of a run to check against the graph.")] = 1000,
    repair: Annotated[bool, typer.Option("--repair", help="Search or derive again what is damaged, remove what killed processes left.")] = False,
    backend: Backend = None, threads: Threads = None, scheduler: Scheduler = None, workers: Workers = None, local: Local = None,
    json: Json = False,
) -> None:  # fmt: skip
    """Read every file again and check it: seals, checksums, rows, digests, and a sample against the graph."""
    options = {k: v for k, v in locals().items() if k not in ("run", "sample", "repair", "json")}
    settings = settings_from(**options)
    from flows.cli import console
    from pipeline.stages.verify import verify_store
    from pipeline.store.layout import Store

    opened = Store.to_verify(settings.store)
    name = None if run is None else opened.find_run(run)
    mended = None
    if repair:
        from pipeline.repair import repair as mend

        mended = mend(opened, settings, name)
    found = verify_store(opened, name, sample)
    if json:
        console.print_json({**found.record(), **({} if mended is None else {"repaired": mended})})
    else:
        console.show_verification(found, mended)
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
    from flows.cli import console
    from pipeline.placement.doctor import examine

    facts = examine()
    if json:
        console.print_json(facts)
        return
    for name, value in facts.items():
        console.out.print(f"{name}  {value}", markup=False, highlight=False)


def _count_asked(
    p: int | None, q: int | None, max_p: int | None, max_q: int | None, all_sizes: bool, vertices: bool, method: str
) -> Any:
    """What `count` is asked for: P and Q, or with ``--all`` the largest ones."""
    from pipeline.questions.count_asked import CountAsked

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


def _show(record: dict[str, Any], json: bool) -> None:
    from flows.cli import console

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
