"""Commands of one stage each, up to a planned run: `ingest`, `profile`, `plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bicliq.flows.cli.commands import Room
from bicliq.flows.cli.options import Edges, GraphName, Json

if TYPE_CHECKING:
    from bicliq.pipeline.settings import Settings

room = Room("Stage by stage")


@room.command("ingest", "bicliq ingest purchases.csv.gz --left user --right item --since 2026-01-01")
def ingest(settings: Settings, edges: Edges, json: Json = False) -> None:
    """Read an edge table into the store as a canonical graph."""
    from bicliq.flows.cli import console
    from bicliq.pipeline.stages.ingest import ingest as ingest_table
    from bicliq.pipeline.store.layout import Store

    with console.observed(json) as observer:
        store = Store.open(settings.store)
        limit = settings.search.memory_limit
        record = ingest_table(edges, store, settings.ingest, observer.rows, settings.data_backend, limit).record()
    console.answer(record, json, console.ingested)


@room.command("profile", "bicliq profile 5c1f… --two-hop --store wiki-store")
def profile(
    settings: Settings,
    graph: GraphName,
    two_hop: Annotated[
        bool, typer.Option("--two-hop", help="Count the 2-hop neighbours of each vertex as well.")
    ] = False,
    json: Json = False,
) -> None:
    """Say what an ingested graph looks like: degrees, paths of two edges, components."""
    from bicliq.flows.cli import console
    from bicliq.pipeline.stages.profile import profile as profile_graph
    from bicliq.pipeline.stages.profile import two_hop as count_two_hop
    from bicliq.pipeline.store.layout import Store

    store = Store.open(settings.store, create=False)
    name = store.find_graph(graph)
    limit = settings.search.memory_limit
    record = {"graph": name, **profile_graph(store, name, settings.data_backend, limit).entries()}
    if two_hop:
        record["two_hop"] = count_two_hop(store, name, settings.data_backend)
    console.answer(record, json, console.profiled)


@room.command("plan", "bicliq plan 5c1f… --partitions 32 --store wiki-store")
def plan(settings: Settings, graph: GraphName, json: Json = False) -> None:
    """Plan a run over an ingested graph: side, order, partitions and their cost."""
    from bicliq.flows.cli import console
    from bicliq.pipeline.stages.plan import plan as plan_run
    from bicliq.pipeline.store.layout import Store

    store = Store.open(settings.store, create=False)
    name = store.find_graph(graph)
    limit = settings.search.memory_limit
    where = settings.data_backend, settings.cluster
    planned = plan_run(
        store, name, settings.search, settings.plan, *where, publish=settings.publish, memory_limit=limit
    )
    console.answer(planned.entries(), json, console.planned)
