"""The whole way as a Prefect flow: the stages of `pipeline.run`, each as a task.

The flow's last state says what was found, and its artifacts show it.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from prefect import flow, get_run_logger
from prefect.runtime import flow_run

from bicliq.flows.artifacts import Artifacts, artifacts
from bicliq.flows.notices import HOOKS, finishes_alone, watched
from bicliq.flows.tasks import as_task, ended, settings_of
from bicliq.flows.turns import in_turn
from bicliq.flows.words import BETWEEN, graph_size, in_markdown, many
from bicliq.pipeline.report.page import has_report, write_report
from bicliq.pipeline.report.pictures import alone, sizes_picture
from bicliq.pipeline.run import RunSummary, run
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.words import number_of_found

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
    with artifacts() as shown:
        return run_in_pages(shown, partial(run, source), settings, verify)


def run_in_pages(
    shown: Artifacts, work: Callable[..., RunSummary], settings: dict[str, Any] | None, verify: bool
) -> dict[str, Any]:
    """Call `run` or `run_graph`, each stage as a task; leave a report, and end in words.

    Of a run that was there whole the report stands: one that is there says that it was told.
    """
    asked = finishes_alone(settings_of(settings))
    news: list[bool] = []

    def knows(name: str) -> bool:
        news.append(not has_report(asked.store, name))
        return not news[0]

    observer = replace(watched(shown), knows=knows)
    record = work(asked, observer, verify=verify, call=as_task, lineage=flow_run.id).record()
    if news == [False]:
        get_run_logger().info("nothing changed: the report of run %s stands", record["run"])
    else:
        shown.text(f"report-{record['run']}", _report(record), f"run {record['run']}, and its largest bicliques")
    return ended(in_words(record), record)


def in_words(record: dict[str, Any]) -> str:
    """What a run found and took, as one line."""
    more = "" if record["complete"] else " (a limit was reached: there are more)"
    return (
        f"{number_of_found(record)}{more}, digest {record['digest']}, run {record['run']},"
        f" {many(record['searched'], 'partition')} searched, {record['seconds']['total']:.1f} s; {record['output']}"
    )


def _readable(value: Any) -> str:
    """A figure as people read it: thousands apart, seconds to the hundredth."""
    if isinstance(value, float):
        return f"{value:,.2f}"
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _report(record: dict[str, Any]) -> str:
    """The run in words, a picture of its sizes, its largest bicliques, its figures and checks."""
    found = open_run(record["store"], record["run"])
    figures = {name: record[name] for name in FIGURES}
    figures |= {f"{stage} seconds": took for stage, took in record["seconds"].items()}
    largest = [
        {**row, "left": _some(row["left"]), "right": _some(row["right"])} for row in found.top(LARGEST).to_pylist()
    ]
    picture = b64encode(alone(sizes_picture(found.sizes())).encode()).decode()
    parts = [
        f"# {number_of_found(record)}",
        f"Run `{record['run']}` of graph `{record['graph']}` ({graph_size(record)}), set digest `{record['digest']}`,"
        f" {'complete' if record['complete'] else 'cut off by its limit'}. As a page to send on: `{write_report(found)}`",
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
