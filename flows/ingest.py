"""Read an edge table into the store, as a Prefect flow."""

from __future__ import annotations

from typing import Any

from prefect import flow

from bicliq.flows.artifacts import artifacts
from bicliq.flows.notices import HOOKS
from bicliq.flows.tasks import as_task, ended, settings_of
from bicliq.flows.turns import in_turn
from bicliq.flows.words import graph_size
from bicliq.pipeline.run import Job, Observer, between, work_through
from bicliq.pipeline.store.layout import Store


@flow(name="bicliq-ingest", flow_run_name="ingest {source}", persist_result=False, **HOOKS)
@in_turn
def ingest(source: str, settings: dict[str, Any] | None = None) -> dict[str, Any]:
    """Read an edge table into the store."""
    asked = settings_of(settings)
    job = Job(asked, Observer(), Store.open(asked.store), source=source)
    with artifacts() as shown:
        work_through(job, between(None, "plan", {"profile"}), as_task)
        assert job.read is not None
        rows = [{"count": name, "value": str(value)} for name, value in job.read.record().items()]
        shown.table(f"ingest-{job.graph}", rows, f"what was read from {source}")
    record = {"graph": job.graph, "summary": job.read.record(), "seconds": job.seconds["ingest"]}
    message = f"graph {job.graph}: {graph_size(job.read.record() | {'n_edges': job.read.edges})}"
    return ended(message, record)
