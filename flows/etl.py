"""The whole way as a Prefect flow: ingest, plan, search by batches of partitions, publish, verify.

Tasks are stages and batches, each one call of a `pipeline` function that writes to the store and returns a small record;
partitions are Dask's business (a Prefect task costs about 80 ms, a Dask future 3). A task that runs again, after a
failure or because a worker died, finds what is committed and does only the rest.
"""

from __future__ import annotations

import logging
from typing import Any

from prefect import flow, get_run_logger, task
from prefect.artifacts import (
    create_link_artifact,
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.cache_policies import NO_CACHE

from pipeline.errors import BackendError, BicliqError, InputError, LimitReached
from pipeline.placement.cluster import open_cluster
from pipeline.placement.where import Placement, check_backends
from pipeline.run import StageClock, call_options, summary
from pipeline.settings import Settings, load_settings
from pipeline.stages.ingest import ingest as ingest_table
from pipeline.stages.plan import plan as plan_run
from pipeline.stages.plan import read_plan_record
from pipeline.stages.profile import profile as profile_graph
from pipeline.stages.publish import publish as publish_run
from pipeline.stages.search_run import SearchProgress, batches_of, search_run
from pipeline.stages.verify import verify as verify_run
from pipeline.store.layout import Store
from pipeline.store.manifest import read_manifest
from pipeline.store.results import open_run


def _may_heal(task: Any, task_run: Any, state: Any) -> bool:
    """Whether another try makes sense: wrong input, a reached limit and a missing backend stay what they are."""
    return not isinstance(state.result(raise_on_failure=False), InputError | LimitReached | BackendError)


STAGE: dict[str, Any] = {
    "retries": 2,
    "retry_delay_seconds": [2, 10],
    "retry_condition_fn": _may_heal,
    "cache_policy": NO_CACHE,
    "persist_result": False,
}


LARGEST, SHOWN_IDS = 10, 6
"""Bicliques that the report lists, and ids of each side that it shows."""


def settings_of(values: dict[str, Any] | None) -> Settings:
    """Settings from plain values over environment, file and defaults."""
    return load_settings(**(values or {}))


@task(name="ingest", task_run_name="ingest {source}", **STAGE)
def ingest_task(source: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Edge table to canonical graph."""
    asked = settings_of(settings)
    record = ingest_table(source, Store.open(asked.store), asked.ingest, backend=asked.data_backend)
    return {"graph": record.graph, "summary": record.summary, "seconds": record.seconds}


@task(name="profile", **STAGE)
def profile_task(graph: str, settings: dict[str, Any]) -> float:
    """Degrees, two-step work, components."""
    asked = settings_of(settings)
    return profile_graph(Store.open(asked.store, create=False), graph, asked.data_backend).seconds


@task(name="plan", **STAGE)
def plan_task(graph: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Side, order, partitions."""
    asked = settings_of(settings)
    store = Store.open(asked.store, create=False)
    record = plan_run(store, graph, asked.search, asked.plan, asked.data_backend, asked.cluster)
    return {"run": record.run, "partitions": record.partitions, "side": record.side}


@task(name="search", task_run_name="search {run} batch {number}", **STAGE)
def search_task(run: str, number: int, partitions: list[int], settings: dict[str, Any], scheduler: str | None) -> int:
    """Search one batch of partitions on the cluster, and tell Prefect how far it is."""
    asked = settings_of(settings)
    store = Store.open(asked.store, create=False)
    bar: Any = create_progress_artifact(0.0, key=f"search-{run}-{number}", description=f"partitions of run {run}")
    shown = [0.0]

    def report(state: SearchProgress) -> None:
        share = 100.0 * state.cost_done / max(state.cost, 1)
        if share - shown[0] >= 5 or state.partitions_done == state.partitions:
            shown[0] = share
            update_progress_artifact(bar, progress=round(share, 1))

    placement = read_plan_record(store.run(run)).placement(asked)
    options = {**call_options(asked.search), "placement": placement, "only": partitions}
    if scheduler is None:
        return search_run(store, run, None, report, **options).searched
    with open_cluster(asked.cluster.model_copy(update={"scheduler": scheduler})) as client:
        return search_run(store, run, client, report, **options).searched


@task(name="publish", **STAGE)
def publish_task(run: str, settings: dict[str, Any]) -> str:
    """Write the manifest; the run is now whole."""
    asked = settings_of(settings)
    return publish_run(Store.open(asked.store, create=False), run, asked.search.max_bicliques).digest


@task(name="verify", **STAGE)
def verify_task(run: str, settings: dict[str, Any]) -> int:
    """Read everything again, and fail at any problem."""
    found = verify_run(Store.open(settings_of(settings).store, create=False), run)
    if not found.ok:
        raise BicliqError(f"run {run}: {len(found.problems)} problems: {'; '.join(found.problems[:5])}")
    return found.bicliques


@flow(name="bicliq-etl", flow_run_name="etl {source}", persist_result=False)
def etl(source: str, settings: dict[str, Any] | None = None, verify: bool = False) -> dict[str, Any]:
    """Take an edge table all the way to published, and if asked verified, bicliques.

    Parameters
    ----------
    source
        Path or fsspec URL of the edge table.
    settings
        The tree of `pipeline.settings.Settings` as plain values; what is left out comes from the environment,
        ``bicliq.toml`` and the defaults. ``{"ingest": {"sample": 0.01}}`` tries a big job small.
    verify
        Whether to read all results again and check them.

    Returns
    -------
    dict
        The record of `pipeline.run.RunSummary`.
    """
    asked = settings_of(settings)
    check_backends(asked.data_backend, asked.search.backend, remote=asked.cluster.scheduler is not None)
    values = asked.model_dump(mode="json")
    clock = StageClock()
    with clock("ingest"):
        ingested = ingest_task(source, values)
    with clock("profile"):
        profile_task(ingested["graph"], values)
    with clock("plan"):
        planned = plan_task(ingested["graph"], values)
    return search_and_publish(planned["run"], asked, ingested["summary"], verify, clock)


def search_and_publish(
    run: str, asked: Settings, ingested: dict[str, Any] | None, verify: bool, clock: StageClock
) -> dict[str, Any]:
    """Search all partitions of a planned run in batches, publish it, and leave its artifacts."""
    values = asked.model_dump(mode="json")
    store = Store.open(asked.store, create=False)
    placement = read_plan_record(store.run(run)).placement(asked)
    with clock("search"):
        searched = _search(store, run, placement, values)
    with clock("publish"):
        publish_task(run, values)
    if verify:
        with clock("verify"):
            verify_task(run, values)
    return _leave_artifacts(store, run, placement, ingested, searched, clock.seconds)


def _search(store: Store, run: str, placement: Placement, values: dict[str, Any]) -> int:
    """Search the partitions, batch by batch, and say how many were not there yet."""
    searched = 0
    if placement.cluster is not None:
        quiet_dask()
    with placement.opened() as client:
        if client is not None:
            get_run_logger().info("Dask dashboard: %s", client.dashboard_link)
            create_link_artifact(
                client.dashboard_link,
                "Dask dashboard",
                key=f"dask-{run}",
                description="the workers, while the search runs",
            )
        address = None if client is None else client.scheduler.address
        for number, batch in enumerate(batches_of(store, run)):
            searched += search_task(run, number, batch, values, address)
    return searched


def quiet_dask() -> None:
    """Keep Dask's chatter about connections out of the flow's log, whose root logger Prefect opens at INFO."""
    import distributed  # noqa: F401 - sets the level of its logger when it is first imported

    logging.getLogger("distributed").setLevel(logging.WARNING)


def _leave_artifacts(
    store: Store,
    run: str,
    placement: Placement,
    ingested: dict[str, Any] | None,
    searched: int,
    seconds: dict[str, float],
) -> dict[str, Any]:
    record = summary(store, read_manifest(store, run), searched, placement, seconds, None).record()
    record["ingest"] = ingested
    shown = (
        "bicliques",
        "digest",
        "complete",
        "n_left",
        "n_right",
        "n_edges",
        "partitions",
        "searched",
        "bytes",
        "output",
    )
    figures = {name: record[name] for name in shown} | {
        f"{stage} seconds": took for stage, took in record["seconds"].items()
    }
    create_table_artifact(
        [{"figure": name, "value": _readable(value)} for name, value in figures.items()],
        key=f"summary-{run}",
        description=f"run {run} in figures",
    )
    create_markdown_artifact(
        _report(store, record), key=f"report-{run}", description=f"run {run}, and its largest bicliques"
    )
    return record


def _readable(value: Any) -> str:
    """A figure as people read it: thousands apart, seconds to the hundredth."""
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _report(store: Store, record: dict[str, Any]) -> str:
    """The run in words, and a table of its largest bicliques with their original ids, each side cut short."""
    lines = [
        f"# {record['bicliques']:,} maximal bicliques",
        f"Run `{record['run']}` of graph `{record['graph']}` ({record['n_left']:,} left × {record['n_right']:,} right,"
        f" {record['n_edges']:,} edges), set digest `{record['digest']}`,"
        f" {'complete' if record['complete'] else 'cut off by its limit'}.",
        f"Output: `{record['output']}`",
        "| left | right | left ids | right ids |\n|---|---|---|---|\n"
        + "\n".join(
            f"| {row['n_left']:,} | {row['n_right']:,} | {_some(row['left'])} | {_some(row['right'])} |"
            for row in open_run(store.uri, record["run"]).top(LARGEST).to_pylist()
        ),
    ]
    return "\n\n".join(lines) + "\n"


def _some(ids: list[Any]) -> str:
    """The first ids of a side, as a cell of a Markdown table."""
    text = ", ".join(str(v).replace("|", "\\|").replace("\n", " ") for v in ids[:SHOWN_IDS])
    return text + (f", … ({len(ids):,})" if len(ids) > SHOWN_IDS else "")
