"""The whole way as a Prefect flow: ingest, plan, search by batches of partitions, publish, verify.

Tasks are stages and batches; partitions are Dask's business (a Prefect task costs about 80 ms, a
Dask future 3). The flow's last state says what was found, and its artifacts show it.
"""

from __future__ import annotations

import time
from base64 import b64encode
from typing import Any

from prefect import flow, get_run_logger
from prefect.runtime import flow_run

from bicliq.flows.artifacts import Artifacts, artifacts
from bicliq.flows.notices import HOOKS, tell_prefect
from bicliq.flows.tasks import (
    check_task,
    ended,
    forecast_task,
    ingest_task,
    plan_task,
    profile_task,
    publish_task,
    quiet_dask,
    search_task,
    settings_of,
    verify_task,
)
from bicliq.flows.turns import in_turn
from bicliq.flows.words import BETWEEN, graph_size, in_markdown, many
from bicliq.pipeline.errors import PartitionsFailed
from bicliq.pipeline.lineage import lineage_told
from bicliq.pipeline.notify import notify_finished
from bicliq.pipeline.placement.where import Placement, check_backends
from bicliq.pipeline.report.page import has_report, write_report
from bicliq.pipeline.report.pictures import alone, sizes_picture
from bicliq.pipeline.run import StageClock, summary
from bicliq.pipeline.settings import Settings
from bicliq.pipeline.stages.planned import place_partitions
from bicliq.pipeline.stages.publish import publish_in_part
from bicliq.pipeline.stages.search_run import batches_of
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run

LARGEST, SHOWN_IDS = 10, 6
"""Bicliques that the report lists, and ids of each side that it shows."""

FIGURES = (
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
"""What the table of a run shows, besides the seconds."""


@flow(name="bicliq-etl", flow_run_name="etl {source}", persist_result=False, **HOOKS)
@in_turn
def etl(source: str, settings: dict[str, Any] | None = None, verify: bool = False) -> dict[str, Any]:
    """Take an edge table all the way to published, and if asked verified, bicliques.

    Parameters
    ----------
    source
        Path or fsspec URL of the edge table.
    settings
        The tree of `pipeline.settings.Settings` as plain values; what is left out comes from the
        environment, ``bicliq.toml`` and the defaults. ``{"ingest": {"sample": 0.01}}`` tries a big
        job small.
    verify
        Whether to read all results again and check them.

    Returns
    -------
    dict
        The record of `pipeline.run.RunSummary`, as the data of a state whose message says the
        figures.
    """
    asked = settings_of(settings)
    check_backends(asked.data_backend, asked.search.backend, asked.search.threads, cluster=asked.cluster)
    values = asked.model_dump(mode="json")
    clock = StageClock()
    with lineage_told(asked, source, flow_run.id) as told:
        with clock("ingest"):
            ingested = ingest_task(source, values)
        with clock("profile"):
            profile_task(ingested["graph"], values)
        with clock("plan"):
            planned = plan_task(ingested["graph"], values)
            check_task(planned["run"], ingested["summary"], values)
        record = search_and_publish(planned["run"], asked, ingested["summary"], verify, clock)
        told.finished(record)
    return ended(in_words(record), record)


def search_and_publish(
    run: str, asked: Settings, ingested: dict[str, Any] | None, verify: bool, clock: StageClock
) -> dict[str, Any]:
    """Search a planned run in batches, publish it, leave its artifacts, and return its record.

    Where it was published before, and nothing was to be searched, its report stands and nobody is
    told again.
    """
    values = asked.model_dump(mode="json")
    store = Store.open(asked.store, create=False)
    before = store.run(run).manifest()
    placement = place_partitions(store.run(run).planned, asked)
    expected = forecast_task(run, values)
    with artifacts() as shown:
        with clock("search"):
            searched, limited_by, failed = _search(store, run, placement, asked, shown)
        if failed is not None:
            publish_in_part(store, run, limited_by)
            raise failed
        with clock("publish"):
            publish_task(run, values, limited_by)
        if verify:
            with clock("verify"):
                verify_task(run, values)
        record = summary(
            store, store.run(run).published(), searched, placement, clock.seconds, ingested, expected=expected
        ).record()
        if before is not None and before.complete and not searched and has_report(store.uri, run):
            get_run_logger().info("nothing changed since %s: the report of run %s stands", before.created, run)
            return record
        tell_prefect(notify_finished(asked, record))  # first: a report that is there says that this was told
        shown.text(f"report-{run}", _report(store, record), f"run {run}, and its largest bicliques")
    return record


def _search(
    store: Store, run: str, placement: Placement, asked: Settings, shown: Artifacts
) -> tuple[int, str | None, PartitionsFailed | None]:
    """Search the partitions, batch by batch; one that fails keeps no other from being searched.

    Says how many were not there yet, which limit ended that, and which partitions failed.
    """
    values, searched, started = asked.model_dump(mode="json"), 0, time.monotonic()
    failed: list[PartitionsFailed] = []
    limited_by = None
    if placement.cluster is not None:
        quiet_dask()
    with store.run(run).claim_run(asked.second_run), placement.opened() as client:
        if client is not None:
            get_run_logger().info("Dask dashboard: %s", client.dashboard_link)
            link = f"[Dask dashboard]({client.dashboard_link})"
            shown.text(f"dask-{run}", link, "the workers, while the search runs")
        address = None if client is None else client.scheduler.address
        for number, batch in enumerate(batches_of(store, run)):
            limit = asked.search.time_limit
            left = None if limit is None else max(limit - (time.monotonic() - started), 0.001)
            try:
                record = search_task(run, number, batch, values, address, left)
            except PartitionsFailed as error:
                failed.append(error)
                limited_by = error.limited_by
            else:
                searched += record["searched"]
                limited_by = record["limited_by"]
            if limited_by is not None:
                break
    together = PartitionsFailed("; ".join(map(str, failed))) if failed else None
    return searched, limited_by, together


def in_words(record: dict[str, Any]) -> str:
    """What a run found and took, as one line."""
    more = "" if record["complete"] else " (a limit was reached: there are more)"
    return (
        f"{many(record['bicliques'], 'maximal biclique')}{more}, digest {record['digest']}, run {record['run']},"
        f" {many(record['searched'], 'partition')} searched, {record['seconds']['total']:.1f} s; {record['output']}"
    )


def _readable(value: Any) -> str:
    """A figure as people read it: thousands apart, seconds to the hundredth."""
    if isinstance(value, float):
        return f"{value:,.2f}"
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _report(store: Store, record: dict[str, Any]) -> str:
    """The run in words, a picture of its sizes, its largest bicliques, its figures and checks."""
    run = open_run(store.uri, record["run"])
    figures = {name: record[name] for name in FIGURES}
    figures |= {f"{stage} seconds": took for stage, took in record["seconds"].items()}
    largest = [
        {**row, "left": _some(row["left"]), "right": _some(row["right"])} for row in run.top(LARGEST).to_pylist()
    ]
    picture = b64encode(alone(sizes_picture(run.sizes())).encode()).decode()
    parts = [
        f"# {many(record['bicliques'], 'maximal biclique')}",
        f"Run `{record['run']}` of graph `{record['graph']}` ({graph_size(record)}), set digest `{record['digest']}`,"
        f" {'complete' if record['complete'] else 'cut off by its limit'}. As a page to send on: `{write_report(run)}`",
        f"![bicliques by size](data:image/svg+xml;base64,{picture})",
        "## The largest",
        _table(largest, ("n_left", "n_right", "left", "right")),
        "## Figures",
        _table([{"figure": name, "value": value} for name, value in figures.items()], ("figure", "value")),
        "## Checks of the input",
        _table(record["checks"], ("name", "state", "value", "warn", "fail")) if record["checks"] else "none",
    ]
    return "\n\n".join(parts) + "\n"


def _table(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> str:
    lines = ["| " + " | ".join(_readable(row[name]) for name in columns) + " |" for row in rows]
    return "\n".join([f"| {' | '.join(columns)} |", "|---" * len(columns) + "|", *lines])


def _some(ids: list[Any]) -> str:
    """The first ids of a side, as a cell of a Markdown table."""
    text = BETWEEN.join(in_markdown(str(label)) for label in ids[:SHOWN_IDS])
    return text + (f"{BETWEEN}… ({len(ids):,})" if len(ids) > SHOWN_IDS else "")
