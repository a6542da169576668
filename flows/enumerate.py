"""Search a graph that is in the store already, as a Prefect flow."""

from __future__ import annotations

from functools import partial
from typing import Any

from prefect import flow

from bicliq.flows.artifacts import artifacts
from bicliq.flows.etl import run_in_pages
from bicliq.flows.notices import HOOKS
from bicliq.flows.turns import in_turn
from bicliq.pipeline.run import run_graph


@flow(name="bicliq-enumerate", flow_run_name="enumerate {graph}", persist_result=False, **HOOKS)
@in_turn
def enumerate_graph(graph: str, settings: dict[str, Any] | None = None, verify: bool = False) -> dict[str, Any]:
    """Plan and search a graph that is in the store already; otherwise as `etl`."""
    with artifacts() as shown:
        return run_in_pages(shown, partial(run_graph, graph), settings, verify)
