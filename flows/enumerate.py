"""Search a graph that is in the store already, as a Prefect flow."""

from __future__ import annotations

from typing import Any

from prefect import flow
from prefect.runtime import flow_run

from bicliq.flows.etl import in_words, search_and_publish
from bicliq.flows.notices import HOOKS
from bicliq.flows.tasks import ended, plan_task, profile_task, settings_of
from bicliq.flows.turns import in_turn
from bicliq.pipeline.lineage import lineage_told
from bicliq.pipeline.placement.where import check_backends
from bicliq.pipeline.run import StageClock
from bicliq.pipeline.store.layout import Store


@flow(name="bicliq-enumerate", flow_run_name="enumerate {graph}", persist_result=False, **HOOKS)
@in_turn
def enumerate_graph(graph: str, settings: dict[str, Any] | None = None, verify: bool = False) -> dict[str, Any]:
    """Plan and search a graph that is in the store already; otherwise as `etl`."""
    asked = settings_of(settings)
    check_backends(asked.data_backend, asked.search.backend, asked.search.threads, cluster=asked.cluster)
    values = asked.model_dump(mode="json")
    clock = StageClock()
    store = Store.open(asked.store, create=False)
    name = store.find_graph(graph)
    with lineage_told(asked, store.graph(name).uri, flow_run.id) as told:
        with clock("profile"):
            profile_task(name, values)
        with clock("plan"):
            planned = plan_task(name, values)
        record = search_and_publish(planned["run"], asked, None, verify, clock)
        told.finished(record)
    return ended(in_words(record), record)
