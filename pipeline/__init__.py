"""Data engineering around the kernels: tables, plans, storage, clusters.

The stages are functions of the modules of the same names, in this order: `ingest`, `profile`, `plan` (which
reduces), `partition`, `search`, `publish`; `results` reads a run back. Each takes the store and small
records, and can be run alone, repeated and resumed. Importing this package loads no stage.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.cluster import open_cluster
    from pipeline.errors import InputError, LimitReached, StorageError
    from pipeline.graph import BipartiteGraph
    from pipeline.publish import Manifest, Verification
    from pipeline.results import Run, open_run
    from pipeline.search_run import SearchProgress, SearchRecord, run_plan, search_run
    from pipeline.settings import ClusterSettings, IngestSettings, PlanSettings, SearchSettings, Settings
    from pipeline.store import Commit, Store

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
    "cluster": ("open_cluster",),
    "errors": ("InputError", "LimitReached", "StorageError"),
    "graph": ("BipartiteGraph",),
    "publish": ("Manifest", "Verification"),
    "results": ("Run", "open_run"),
    "search": ("SearchProgress", "SearchRecord", "run_plan", "search_run"),
    "settings": ("ClusterSettings", "IngestSettings", "PlanSettings", "SearchSettings", "Settings"),
    "store": ("Commit", "Store"),
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module when it is first asked for."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"pipeline.{module}"), name)
    raise AttributeError(f"module 'pipeline' has no attribute {name!r}")
