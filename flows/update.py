"""New edges to a new version of a run, as a Prefect flow: what an update every night is made of."""

from __future__ import annotations

from typing import Any

from prefect import flow, get_run_logger, task
from prefect.artifacts import create_table_artifact

from flows.notices import HOOKS
from flows.tasks import STAGE, ended, settings_of
from flows.words import some, update_in_words
from pipeline.results.changes import changes_between
from pipeline.store.results import open_run
from pipeline.versions.update import update

SHOWN = 10
"""Groups of each kind that an artifact lists."""

FIGURES = ("version", "parent", "how", "reason", "edges", "unchanged", "appeared", "vanished", "bicliques", "digest")
"""What the table of an update shows, besides the seconds."""


@task(name="update", task_run_name="update with {source}", **STAGE)
def update_task(source: str, settings: dict[str, Any] | None, run: str | None, delete: bool) -> dict[str, Any]:
    """Read, extend, search what changes, commit; tried again, it takes nothing twice."""
    record = update(source, settings_of(settings), run, delete=delete).record()
    get_run_logger().info("%s", update_in_words(record))
    return record


@flow(name="bicliq-update", flow_run_name="update with {source}", persist_result=False, **HOOKS)
def update_flow(
    source: str, settings: dict[str, Any] | None = None, run: str | None = None, delete: bool = False
) -> dict[str, Any]:
    """Join the edges of a table to a run, or take them away, as a new version of it.

    Parameters
    ----------
    source
        Path or fsspec URL of an edge table.
    settings
        The tree of `pipeline.settings.Settings` as plain values; what is left out of ``ingest`` is
        as it was for the run.
    run
        The run, or how its name begins; by default the one that was published last.
    delete
        Take the edges away.

    Returns
    -------
    dict
        The record of `pipeline.versions.update.UpdateRecord`, as the data of a state whose message
        says what changed.
    """
    record = update_task(source, settings, run, delete)
    rows = [{"figure": name, "value": str(record[name])} for name in FIGURES]
    rows += [{"figure": f"{stage} seconds", "value": f"{took:.2f}"} for stage, took in record["seconds"].items()]
    key = f"update-{record['version']}"
    create_table_artifact(rows, key=key, description=f"what {source} changed")
    if record["how"] == "changes":
        _show_groups(record)
    return ended(update_in_words(record), record)


def _show_groups(record: dict[str, Any]) -> None:
    """Show the largest groups that appeared or vanished, with what they were or became."""
    changes = changes_between(open_run(record["store"], record["version"]))
    rows = []
    for kind in ("appeared", "vanished"):
        for group in changes.top(kind, SHOWN):
            other = group["other"]
            size = "" if other is None else f"{other['n_left']:,} × {other['n_right']:,}"
            about = {"change": kind, "how": group["how"], "size": f"{group['n_left']:,} × {group['n_right']:,}"}
            rows.append({**about, "was or became": size, "left": some(group["left"]), "right": some(group["right"])})
    create_table_artifact(rows, key=f"changes-{record['version']}", description="the largest groups that changed")
