"""Read an edge table into the store, as a Prefect flow."""

from __future__ import annotations

from typing import Any

from prefect import flow

from bicliq.flows.artifacts import artifacts
from bicliq.flows.notices import HOOKS
from bicliq.flows.tasks import ended, ingest_task, profile_task, settings_of
from bicliq.flows.turns import in_turn
from bicliq.flows.words import graph_size


@flow(name="bicliq-ingest", flow_run_name="ingest {source}", persist_result=False, **HOOKS)
@in_turn
def ingest(source: str, settings: dict[str, Any] | None = None) -> dict[str, Any]:
    """Read an edge table into the store."""
    values = settings_of(settings).model_dump(mode="json")
    with artifacts() as shown:
        record = ingest_task(source, values)
        profile_task(record["graph"], values)
        rows = [{"count": name, "value": str(value)} for name, value in record["summary"].items()]
        shown.table(f"ingest-{record['graph']}", rows, f"what was read from {source}")
    message = f"graph {record['graph']}: {graph_size(record['summary'] | {'n_edges': record['summary']['edges']})}"
    return ended(message, record)
