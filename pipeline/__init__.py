"""Data engineering around the kernels: tables, plans, storage, clusters.

The stages are functions of the modules of the same names, in this order: `ingest`, `profile`, `plan` (which
reduces), `partition`, `search`, `publish`; `results` reads a run back. Each takes the store and small
records, and can be run alone, repeated and resumed. Importing this package loads no stage.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.errors import InputError, LimitReached, StorageError
    from pipeline.graphs.bipartite import BipartiteGraph
    from pipeline.placement.cluster import open_cluster
    from pipeline.settings import ClusterSettings, IngestSettings, PlanSettings, SearchSettings, Settings
    from pipeline.stages.publish import Manifest, Verification
    from pipeline.stages.search_run import SearchProgress, SearchRecord, run_plan, search_run
    from pipeline.store.layout import Commit, Store
    from pipeline.store.results import Run, open_run

__all__ = [
    "BipartiteGraph",
    "ClusterSettings",
    "Commit",
    "IngestSettings",
    "InputError",
    "LimitReached",
    "Manifest",
    "PlanSettings",
    "Run",
    "SearchProgress",
    "SearchRecord",
    "SearchSettings",
    "Settings",
    "StorageError",
    "Store",
    "Verification",
    "open_cluster",
    "open_run",
    "run_plan",
    "search_run",
]

_HOMES = {
    "errors": ("InputError", "LimitReached", "StorageError"),
    "graphs.bipartite": ("BipartiteGraph",),
    "placement.cluster": ("open_cluster",),
    "settings": ("ClusterSettings", "IngestSettings", "PlanSettings", "SearchSettings", "Settings"),
    "stages.publish": ("Manifest", "Verification"),
    "stages.search_run": ("SearchProgress", "SearchRecord", "run_plan", "search_run"),
    "store.layout": ("Commit", "Store"),
    "store.results": ("Run", "open_run"),
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module when it is first asked for."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"pipeline.{module}"), name)
    raise AttributeError(f"module 'pipeline' has no attribute {name!r}")
