"""A maximum clique of a table, or of one side of it, as a Prefect flow."""

from __future__ import annotations

from typing import Any

from prefect import flow, task

from bicliq.flows.artifacts import artifacts
from bicliq.flows.notices import HOOKS
from bicliq.flows.tasks import STAGE, ended, settings_of
from bicliq.flows.turns import in_turn
from bicliq.flows.words import many
from bicliq.pipeline.events import tell
from bicliq.pipeline.questions.clique import CliqueQuestion, answer
from bicliq.pipeline.report.answers import clique_page
from bicliq.pipeline.report.frame import place_of, write_page
from bicliq.pipeline.store.layout import Store


@task(name="clique", task_run_name="clique {source}", **STAGE)
def clique_task(
    source: str, question: dict[str, Any], settings: dict[str, Any] | None, stored: bool, devices: int
) -> dict[str, Any]:
    """Read or project, search, commit."""
    asked = settings_of(settings)
    record = answer(
        source,
        CliqueQuestion(**question),
        asked.ingest,
        store=Store.open(asked.store, create=not stored),
        stored=stored,
        threads=asked.search.threads,
        backend=asked.search.backend,
        devices=devices,
        data_backend=asked.data_backend,
    )
    tell("clique found", **{name: record[name] for name in ("size", "proven", "n_vertices", "n_edges")})
    return record


@flow(name="bicliq-clique", flow_run_name="clique {source}", persist_result=False, **HOOKS)
@in_turn
def clique(
    source: str,
    question: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
    stored: bool = False,
    devices: int = 1,
) -> dict[str, Any]:
    """Find a maximum clique and commit it to the store.

    Parameters
    ----------
    source
        Path or fsspec URL of a graph or table; where `stored`, a graph of the store.
    question
        The fields of `pipeline.questions.clique.CliqueQuestion`, as ``{"project": "left",
        "min_shared": 3}``.
    settings
        The tree of `pipeline.settings.Settings` as plain values.
    stored
        Whether `source` is the name of a graph of the store, or how it begins.
    devices
        GPUs of the search; 0 takes all.

    Returns
    -------
    dict
        The record of `pipeline.questions.clique.answer`, as the data of a state whose message says
        the size.
    """
    with artifacts() as shown:
        record = clique_task(source, question or {}, settings, stored, devices)
        named = ("size", "n_cliques", "proven", "n_vertices", "n_edges", "output")
        rows = [{"figure": name, "value": str(record[name])} for name in named]
        name = f"clique-{record['output'].rsplit('/', 1)[-1]}"
        shown.table(name, rows, f"a maximum clique of {source}")
        place = place_of(Store.open(settings_of(settings).store, create=False), name)
        shown.page(write_page(place, lambda: clique_page(record), overwrite=True), "the clique as one page")
    return ended(f"{_in_words(record)}; {record['output']}", record)


def _in_words(record: dict[str, Any]) -> str:
    """Say how large the clique is, and whether there is no larger one."""
    proven = "a maximum clique" if record["proven"] else "the best clique in time, not proven to be a maximum"
    return f"{proven}: {record['size']:,} of {many(record['n_vertices'], 'vertex', 'vertices')}"
