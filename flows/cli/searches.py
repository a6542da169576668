"""Commands about an edge table: `run`, `enumerate`, `estimate`, `find`, `count`, `clique`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from bicliq.flows.cli.commands import Room
from bicliq.flows.cli.options import (
    Devices,
    Edges,
    Json,
    LeftWeights,
    Limit,
    OfTables,
    RightWeights,
    Seed,
    Tables,
    check_picture,
    checked_page,
    random_tables,
    settings_options,
)

if TYPE_CHECKING:
    from bicliq.pipeline.questions.find import FindAsked
    from bicliq.pipeline.settings import Settings

room = Room("From an edge table to answers")


@room.command("run", "bicliq run out.edit-nawiki --store wiki-store --min-left 3 --min-right 3")
def run(
    settings: Settings,
    edges: Edges,
    prefect: Annotated[
        bool, typer.Option("--prefect", help="Run as a Prefect flow, with its states and artifacts.")
    ] = False,
    json: Json = False,
) -> None:
    """Take an edge table all the way: ingest, plan, search, publish.

    Run again, it does only what is missing.
    """
    from bicliq.flows.cli import console

    if prefect:
        from bicliq.pipeline.extras import needs

        with needs("flows", "--prefect"):
            from bicliq.flows.etl import etl

        record = etl(edges, settings.model_dump(mode="json"))
    else:
        from bicliq.pipeline.run import run as run_all

        with console.observed(json) as observer:
            record = run_all(edges, settings, observer).record()
    console.answer(record, json, console.summary_table)


@room.command("enumerate", "bicliq enumerate youtube.parquet --left u --right v --digest")
def enumerate_bicliques(
    settings: Settings,
    edges: Edges,
    count_only: Annotated[bool, typer.Option("--count-only", help="Count, and nothing else (the default).")] = False,
    digest: Annotated[bool, typer.Option("--digest", help="Compute the set digest as well.")] = False,
    json: Json = False,
) -> None:
    """Search an edge table in memory: count its maximal bicliques, publish nothing."""
    from bicliq.flows.cli import console
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.stages.search import enumerate_table

    if count_only and digest:
        raise InputError("--count-only and --digest contradict each other; give one of them")
    record = enumerate_table(edges, settings, "digest" if digest else "count")
    console.answer(record, json, console.enumerated)


@room.command("estimate", "bicliq estimate gowalla.parquet --left u --right v --min-left 3 --picture gowalla.svg")
def estimate(
    settings: Settings,
    edges: Edges,
    picture: Annotated[str | None, typer.Option("--picture", help="File to draw to: .svg, .png or .pdf.")] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**50, help="Of the sample.")] = 0,
    json: Json = False,
) -> None:
    """Say what a run would find, write and take, and what other thresholds would leave."""
    from bicliq.flows.cli import console
    from bicliq.pipeline.questions.estimate import draw_thresholds, estimate_table

    check_picture(picture)
    record = estimate_table(edges, settings, seed)
    if picture is not None:
        draw_thresholds(record, picture)
    console.answer(record, json, console.estimated, wide_table=True)


Best = Annotated[int, typer.Option("--top", "-k", min=1, max=2**24, help="How many.")]
By = Annotated[
    Literal["edges", "vertices", "balanced", "weight", "surprise"], typer.Option("--by", help="What is good.")
]
MaxLeft = Annotated[int | None, typer.Option("--max-left", min=1, max=2**31 - 1, help="Most left members.")]
MaxRight = Annotated[int | None, typer.Option("--max-right", min=1, max=2**31 - 1, help="Most right members.")]
Containing = Annotated[
    list[str] | None, typer.Option("--containing", metavar="LABEL", help="A member of all answers; repeatable.")
]
Within = Annotated[
    str | None, typer.Option("--within", metavar="FILE", help="Only the members in this file, a label a line.")
]
MaxLeftDegree = Annotated[
    int | None,
    typer.Option("--max-left-degree", min=0, max=2**31 - 1, help="Leave out left vertices with more edges."),
]
MaxRightDegree = Annotated[
    int | None,
    typer.Option("--max-right-degree", min=0, max=2**31 - 1, help="Leave out right vertices with more edges."),
]
MinSurprise = Annotated[
    float | None,
    typer.Option("--min-surprise", help="Least surprise in nats, with --by surprise; else whatever is above 0."),
]
Diverse = Annotated[
    bool, typer.Option("--diverse", help="Each next group is the one that adds most to those before it.")
]
Missing = Annotated[
    int, typer.Option("--missing", min=0, max=255, help="So many pairs of a group may be missing; they are listed.")
]
MissingEach = Annotated[
    int | None,
    typer.Option("--missing-each", min=0, max=255, help="And so many of one member; else as many as of all."),
]
Page = Annotated[
    str | None,
    typer.Option("--report", metavar="FILE", callback=checked_page, help="Write the answer as a page of HTML, too."),
]


@room.command(
    "find",
    "bicliq find purchases.csv --top 20 --by surprise --min-left 3 --min-right 3",
    "bicliq find purchases.csv --top 5 --containing ann --containing tea",
    "bicliq find purchases.csv --top 12 --diverse --report twelve.html",
    "bicliq find purchases.csv --missing 3 --min-left 4 --min-right 4",
    "bicliq find --run 3f2a --store wiki-store --by balanced",
)
def find(
    context: typer.Context,
    settings: Settings,
    edges: Annotated[
        str | None, typer.Argument(metavar="EDGES", help="Edge table: a path or an fsspec URL; or give --run.")
    ] = None,
    run: Annotated[str | None, typer.Option("--run", help="A run of the store, or how its name begins.")] = None,
    top: Best = 20,
    by: By = "edges",
    max_left: MaxLeft = None,
    max_right: MaxRight = None,
    containing: Containing = None,
    within: Within = None,
    max_left_degree: MaxLeftDegree = None,
    max_right_degree: MaxRightDegree = None,
    min_surprise: MinSurprise = None,
    left_weights: LeftWeights = None,
    right_weights: RightWeights = None,
    diverse: Diverse = False,
    missing: Missing = 0,
    missing_each: MissingEach = None,
    null: Tables = 0,
    seed: Seed = 0,
    time_limit: Limit = None,
    report: Page = None,
    json: Json = False,
) -> None:
    """Find the best maximal bicliques, without listing all: of an edge table, or of a run."""
    from bicliq.flows.cli import console, groups
    from bicliq.pipeline.questions.find import FindAsked

    asked = FindAsked(
        top=top,
        by=by,
        max_left=max_left,
        max_right=max_right,
        containing=tuple(containing or ()),
        within=within,
        max_left_degree=max_left_degree,
        max_right_degree=max_right_degree,
        min_surprise=min_surprise,
        left_weights=left_weights,
        right_weights=right_weights,
        diverse=diverse,
        time_limit=time_limit,
        null=null,
        seed=seed,
        missing=missing,
        missing_each=missing_each,
    )
    in_store = context.params["store"] is not None
    record = _found(edges, run, asked, settings, report, in_store=in_store, json=json)
    console.answer(record, json, groups.groups_table)


def _found(
    edges: str | None,
    run: str | None,
    asked: FindAsked,
    settings: Settings,
    report: str | None,
    *,
    in_store: bool,
    json: bool,
) -> dict[str, Any]:
    """What is found in an edge table, or in a run of the store."""
    from bicliq.flows.cli import console
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.questions.find import find_in_run, find_in_table
    from bicliq.pipeline.settings import load_settings

    if (edges is None) == (run is None):
        raise InputError("name an edge table, or a run of the store with --run, one of the two")
    if edges is not None and in_store:
        raise InputError("--store is where the run of --run lies; an edge table is searched without one")
    if run is not None and settings.ingest != load_settings().ingest:
        raise InputError("--run: the graph has been read already; leave the options of the input out")
    with console.finding(json) as tell:
        if run is not None:
            return find_in_run(run, asked, settings, report, tell)
        assert edges is not None
        return find_in_table(edges, asked, settings, report, tell)


@room.command(
    "count",
    "bicliq count youtube.parquet 4 4 --left u --right v",
    "bicliq count youtube.parquet --all --max-p 12 --max-q 12 --json",
    "bicliq count youtube.parquet 3 3 --vertices --store counts",
)
def count(
    context: typer.Context,
    settings: Settings,
    edges: Edges,
    p: Annotated[int | None, typer.Argument(metavar="P", help="Left vertices.")] = None,
    q: Annotated[int | None, typer.Argument(metavar="Q", help="Right vertices.")] = None,
    all: Annotated[bool, typer.Option("--all", help="Count all sizes up to --max-p and --max-q, in one pass.")] = False,
    max_p: Annotated[int | None, typer.Option("--max-p", help="Largest p of --all.")] = None,
    max_q: Annotated[int | None, typer.Option("--max-q", help="Largest q of --all.")] = None,
    vertices: Annotated[bool, typer.Option("--vertices", help="Count for each vertex, too (with --store).")] = False,
    method: Annotated[
        Literal["auto", "levels", "pivot", "butterfly"], typer.Option("--method", help="How to count.")
    ] = "auto",
    prefect: Annotated[bool, typer.Option("--prefect", help="Run as a Prefect flow (with --store).")] = False,
    null: Tables = 0,
    seed: Seed = 0,
    time_limit: OfTables = None,
    json: Json = False,
) -> None:
    """Count complete P x Q subgraphs: in memory, or with --store by partitions, into the store."""
    from bicliq.flows.cli import console
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.questions.count import count_run, count_table

    asked = _count_asked(p, q, max_p, max_q, all, vertices, method)
    in_store = context.params["store"] is not None
    of_a_store = ["prefect", *(path[-1] for path in settings_options(("plan", "cluster", "checks")))]
    idle = [name for name in of_a_store if context.params[name] not in (None, False) and not in_store]
    if idle:
        flag = idle[0].replace("_", "-")
        raise InputError(f"--{flag} is for counts that go to a store, partition by partition; name one with --store")
    random_tables(null, seed, time_limit)  # refuses what contradicts itself, with a store as well
    if null and in_store:
        raise InputError("--null is for counts in memory; leave out --store")
    if prefect:
        from bicliq.pipeline.extras import needs

        with needs("flows", "--prefect"):
            from bicliq.flows.count import count_flow

        record = count_flow(edges, vars(asked), settings.model_dump(mode="json"))
    elif in_store:
        with console.observed(json) as observer:
            record = count_run(edges, asked, settings, observer).record()
    else:
        with console.tables(json) as tell:
            random = random_tables(null, seed, time_limit, settings.search.threads, tell)
            record = count_table(edges, asked, settings, random).record()
    console.answer(record, json, console.counted)


def _count_asked(
    p: int | None, q: int | None, max_p: int | None, max_q: int | None, all_sizes: bool, vertices: bool, method: str
) -> Any:
    """What `count` is asked for: P and Q, or with ``--all`` the largest ones."""
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.questions.count_asked import CountAsked

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


@room.command("clique", "bicliq clique purchases.csv --project left --min-shared 3 --store groups")
def clique(
    context: typer.Context,
    settings: Settings,
    graph: Annotated[
        str, typer.Argument(metavar="GRAPH", help="DIMACS, MatrixMarket or edge table: a path or an fsspec URL.")
    ],
    project: Annotated[
        Literal["left", "right"] | None, typer.Option("--project", help="Side of a bipartite table to tie.")
    ] = None,
    min_shared: Annotated[int, typer.Option("--min-shared", help="Common neighbours that tie two vertices.")] = 1,
    all: Annotated[bool, typer.Option("--all", help="Every maximum clique, not one.")] = False,
    time_limit: Limit = None,
    stored: Annotated[
        bool, typer.Option("--stored", help="GRAPH is a graph of the store, or how its name begins.")
    ] = False,
    devices: Devices = 1,
    json: Json = False,
) -> None:
    """Find a maximum clique of an undirected graph, or of one side of a bipartite table.

    With --store the answer is committed there.
    """
    from bicliq.flows.cli import console
    from bicliq.pipeline.errors import InputError
    from bicliq.pipeline.questions.clique import CliqueQuestion, answer
    from bicliq.pipeline.settings import load_settings
    from bicliq.pipeline.store.layout import Store

    if stored and settings.ingest != load_settings().ingest:
        raise InputError("--stored: the graph has been read already; leave the options of the input out")
    question = CliqueQuestion(project, min_shared, all, time_limit)
    in_store = stored or context.params["store"] is not None
    record = answer(
        graph,
        question,
        settings.ingest,
        store=Store.open(settings.store, create=not stored) if in_store else None,
        stored=stored,
        threads=settings.search.threads,
        backend=settings.search.backend,
        devices=devices,
        data_backend=settings.data_backend,
    )
    console.answer(record, json, console.cliques)
