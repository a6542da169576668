"""Data engineering around the kernels: tables, plans, storage, clusters.

The stages are functions of the modules of the same names, in this order: `ingest`, `profile`,
`plan` (which reduces), `partition`, `search`, `publish`; `results` reads a run back. Each takes the
store and small records, and can be run alone, repeated and resumed. Importing this package loads no
stage.

Examples
--------
Who bought what, all the way to its groups, in a store in memory:

>>> import fsspec
>>> with fsspec.open("memory://shop.csv", "w") as table:
...     for row in ("user,item", "ann,jam", "ann,tea", "bob,jam", "bob,tea", "cid,tea"):
...         print(row, file=table)
>>> from bicliq.pipeline import ClusterSettings, IngestSettings, PlanSettings, SearchSettings, Settings
>>> from bicliq.pipeline import Run, open_run
>>> from bicliq.pipeline.run import run
>>> settings = Settings(
...     store="memory://shop",
...     ingest=IngestSettings(left="user", right="item"),
...     search=SearchSettings(min_left=2),
...     plan=PlanSettings(partitions=2),
...     cluster=ClusterSettings(local=True),
... )
>>> run("memory://shop.csv", settings).bicliques
2
>>> shop: Run = open_run("memory://shop")
>>> for group in shop.top(2).to_pylist():
...     print(group["left"], group["right"])
['ann', 'bob'] ['jam', 'tea']
['ann', 'bob', 'cid'] ['tea']

What a run leaves, and what proves it:

>>> from bicliq.pipeline import Commit, Manifest, RunState, Store, StoreVerification, Verification
>>> state: RunState = shop.state
>>> state.complete, str(state)
(True, 'published')
>>> manifest: Manifest = shop.manifest
>>> commits: dict[int, Commit] = Store.open("memory://shop").run(shop.run).committed()
>>> manifest.bicliques, sum(commit.rows for commit in commits.values())
(2, 2)
>>> from bicliq.pipeline.stages.verify import verify, verify_store
>>> found: Verification = verify(shop.store, shop.run)
>>> found.ok, found.digest == manifest.digest
(True, True)
>>> everything: StoreVerification = verify_store(shop.store)
>>> everything.problems
[]

A run that is searched again finds everything committed, and says how far it is:

>>> from bicliq.pipeline import SearchProgress, SearchRecord, search_run
>>> def tell(progress: SearchProgress) -> None:
...     print(f"{progress.partitions_done} of {progress.partitions} partitions")
>>> again: SearchRecord = search_run(shop.store, shop.run, progress=tell)
2 of 2 partitions
>>> again.bicliques, again.searched
(2, 0)

What goes wrong is one sentence that says what, where, and what to do; the type says whether the
input, the store or a limit is at fault:

>>> from bicliq.pipeline import InputError, LimitReached, StorageError
>>> strict = SearchSettings(max_bicliques=1, on_limit="error")
>>> for mistake in (
...     lambda: open_run("memory://shop", "none"),
...     lambda: Store.open("memory://nowhere", create=False),
...     lambda: run("memory://shop.csv", settings.model_copy(update={"search": strict})),
... ):
...     try:
...         mistake()
...     except (InputError, StorageError, LimitReached) as error:
...         print(type(error).__name__)
InputError
StorageError
LimitReached

A file of the store that is missing, or is not what its record says, is never read:

>>> from bicliq.pipeline import DamageError
>>> shop.folder.remove("plan.json")
>>> try:
...     open_run("memory://shop")
... except DamageError as error:
...     print(str(error).rsplit("/", 1)[-1])
plan.json: this record is missing; `bicliq verify` names what is damaged, and with --repair mends what can be mended
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bicliq.pipeline.errors import DamageError, InputError, LimitReached, StorageError
    from bicliq.pipeline.graphs.bipartite import BipartiteGraph
    from bicliq.pipeline.placement.cluster import open_cluster
    from bicliq.pipeline.settings import ClusterSettings, IngestSettings, PlanSettings, SearchSettings, Settings
    from bicliq.pipeline.stages.search_run import SearchProgress, SearchRecord, search_run
    from bicliq.pipeline.stages.verify import StoreVerification, Verification
    from bicliq.pipeline.store.commits import Commit
    from bicliq.pipeline.store.layout import Store
    from bicliq.pipeline.store.manifest import Manifest
    from bicliq.pipeline.store.results import Run, open_run
    from bicliq.pipeline.store.states import RunState

__all__ = [
    "BipartiteGraph",
    "ClusterSettings",
    "Commit",
    "DamageError",
    "IngestSettings",
    "InputError",
    "LimitReached",
    "Manifest",
    "PlanSettings",
    "Run",
    "RunState",
    "SearchProgress",
    "SearchRecord",
    "SearchSettings",
    "Settings",
    "StorageError",
    "Store",
    "StoreVerification",
    "Verification",
    "open_cluster",
    "open_run",
    "search_run",
]

_HOMES = {
    "errors": ("DamageError", "InputError", "LimitReached", "StorageError"),
    "graphs.bipartite": ("BipartiteGraph",),
    "placement.cluster": ("open_cluster",),
    "settings": ("ClusterSettings", "IngestSettings", "PlanSettings", "SearchSettings", "Settings"),
    "stages.search_run": ("SearchProgress", "SearchRecord", "search_run"),
    "stages.verify": ("StoreVerification", "Verification"),
    "store.commits": ("Commit",),
    "store.layout": ("Store",),
    "store.manifest": ("Manifest",),
    "store.results": ("Run", "open_run"),
    "store.states": ("RunState",),
}


def __getattr__(name: str) -> Any:
    """Load a public name from its module when it is first asked for."""
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"bicliq.pipeline.{module}"), name)
    raise AttributeError(f"module 'bicliq.pipeline' has no attribute {name!r}")
