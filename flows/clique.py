"""A maximum clique of a table, or of one side of it, as a Prefect flow."""

from __future__ import annotations

from typing import Any

from prefect import flow, task
from prefect.artifacts import create_table_artifact

from flows.etl import settings_of
from pipeline.questions.clique import CliqueQuestion, answer
from pipeline.store.layout import Store


@task(name="clique", task_run_name="clique {source}", persist_result=False)
def clique_task(source: str, question: dict[str, Any], settings: dict[str, Any] | None, stored: bool) -> dict[str, Any]:
    """Read or project, search, commit."""
    asked = settings_of(settings)
    return answer(
        source,
        CliqueQuestion(**question),
        asked.ingest,
        store=Store.open(asked.store),
        stored=stored,
        threads=asked.search.threads,
        backend=asked.search.backend,
        data_backend=asked.data_backend,
    )


@flow(name="bicliq-clique", flow_run_name="clique {source}", persist_result=False)
def clique(
    source: str, question: dict[str, Any] | None = None, settings: dict[str, Any] | None = None, stored: bool = False
) -> dict[str, Any]:
    """Find a maximum clique and commit it to the store; `question` holds the fields of a `CliqueQuestion`."""
    record = clique_task(source, question or {}, settings, stored)
    shown = ("size", "n_cliques", "proven", "n_vertices", "n_edges", "output")
    create_table_artifact(
        [{"figure": name, "value": str(record[name])} for name in shown],
        key=f"clique-{record['output'].rsplit('/', 1)[-1]}",
        description=f"a maximum clique of {source}",
    )
    return record
