"""New edges to a new version of a run, as Prefect flows: of a table, or of what arrived."""

from __future__ import annotations

from typing import Any

from prefect import flow, get_run_logger, task

from bicliq.flows.artifacts import Artifacts, artifacts
from bicliq.flows.notices import HOOKS, finishes_alone, tell_prefect
from bicliq.flows.tasks import STAGE, ended, settings_of
from bicliq.flows.turns import in_turn
from bicliq.flows.words import read_in_words, some, taken_in_words, update_in_words
from bicliq.pipeline.report.page import write_report
from bicliq.pipeline.results.changes import changes_between
from bicliq.pipeline.run import Observer
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.versions.update import update
from bicliq.pipeline.versions.watch import SETTLE_SECONDS, Watch

SHOWN = 10
"""Groups of each kind that an artifact lists."""

FIGURES = ("version", "parent", "how", "reason", "edges", "unchanged", "appeared", "vanished", "bicliques", "digest")
"""What the table of an update shows, besides the seconds."""


@task(name="update", task_run_name="update with {source}", **STAGE)
def update_task(source: str, settings: dict[str, Any] | None, run: str | None, delete: bool) -> dict[str, Any]:
    """Read, extend, search what changes, commit; tried again, it takes nothing twice."""
    asked = finishes_alone(settings_of(settings))
    record = update(source, asked, run, delete=delete, observer=Observer(told=tell_prefect)).record()
    _log(update_in_words(record), record)
    return record


def _log(done: str, record: dict[str, Any]) -> None:
    """Log what was done, and what became of the rows that were read."""
    read = f"; {read_in_words(record)[0]}" if record["rows_read"] else ""
    get_run_logger().info("%s%s", done, read)


@flow(name="bicliq-update", flow_run_name="update with {source}", persist_result=False, **HOOKS)
@in_turn
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
        The record of `pipeline.versions.update_record.UpdateRecord`: data of a state whose message
        says what changed.
    """
    record = update_task(source, settings, run, delete)
    _leave_artifacts(source, record)
    return ended(update_in_words(record), record)


@task(name="watch", task_run_name="look at {source}", **STAGE)
def watch_task(
    source: str, settings: dict[str, Any] | None, replace: bool, settle: float, quarantine: bool, again: bool
) -> list[dict[str, Any]]:
    """Look, and take what is new; tried again, it takes nothing twice."""
    asked = finishes_alone(settings_of(settings))
    watch = Watch(source, asked, replace=replace, settle=settle, quarantine=quarantine, again=again)
    records: list[dict[str, Any]] = []
    while True:
        taken = watch.take(Observer(told=tell_prefect))
        if taken.anything or not taken.more:
            records.append(taken.record())
            _log(taken_in_words(records[-1]), records[-1])
        if not taken.more:
            return records


@flow(name="bicliq-watch", flow_run_name="look at {source}", persist_result=False, **HOOKS)
@in_turn
def watch_flow(
    source: str,
    settings: dict[str, Any] | None = None,
    replace: bool = False,
    settle: float = SETTLE_SECONDS,
    quarantine: bool = False,
    again: bool = False,
) -> dict[str, Any]:
    """Take what is new in a folder, below a prefix or behind a glob: one look a scheduled run.

    Parameters
    ----------
    source
        The place: a path or an fsspec URL.
    settings
        The tree of `pipeline.settings.Settings` as plain values.
    replace
        Take a file that changed anew, in place of what it held, instead of an error.
    settle
        Seconds for which a new file must stay as it is, so that it is taken.
    quarantine
        Set a file aside that cannot be taken, instead of an error, and go on with the others.
    again
        Take files that were rolled back with the version that took them, too.

    Returns
    -------
    dict
        The last record of `pipeline.versions.watch.Taken`, as the data of a state whose message
        says what was taken and set aside; there are several where files were taken one by one.
    """
    records = watch_task(source, settings, replace, settle, quarantine, again)
    for record in records:
        if record["update"] is not None:
            _leave_artifacts(source, record["update"])
        elif record["run"] is not None:
            with artifacts() as shown:
                _leave_page(shown, record)
    return ended("; ".join(map(taken_in_words, records)), records[-1])


def _leave_artifacts(source: str, record: dict[str, Any]) -> None:
    """Show the figures of an update, the largest groups that changed, and where its page is."""
    rows = [{"figure": name, "value": str(record[name])} for name in FIGURES]
    rows += [{"figure": f"{stage} seconds", "value": f"{took:.2f}"} for stage, took in record["seconds"].items()]
    with artifacts() as shown:
        shown.table(f"update-{record['version']}", rows, f"what {source} changed")
        if record["how"] in ("changes", "full run") and record["appeared"] is not None:
            _show_groups(shown, record)
        if record["how"] in ("changes", "full run"):
            _leave_page(shown, record)


def _leave_page(shown: Artifacts, record: dict[str, Any]) -> None:
    """Write the report of a version, and say where it is."""
    shown.page(write_report(open_run(record["store"], record["version"])), "the version as one page")


def _show_groups(shown: Artifacts, record: dict[str, Any]) -> None:
    """Show the largest groups that appeared or vanished, with what they were or became."""
    changes = changes_between(open_run(record["store"], record["version"]))
    rows = []
    for kind in ("appeared", "vanished"):
        for group in changes.top(kind, SHOWN):
            other = group["other"]
            size = "" if other is None else f"{other['n_left']:,} × {other['n_right']:,}"
            about = {"change": kind, "how": group["how"], "size": f"{group['n_left']:,} × {group['n_right']:,}"}
            rows.append({**about, "was or became": size, "left": some(group["left"]), "right": some(group["right"])})
    shown.table(f"changes-{record['version']}", rows, "the largest groups that changed")
