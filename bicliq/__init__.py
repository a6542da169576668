"""Bicliq: the dense structure of large edge tables, exactly.

Who bought what, who edited which page, which gene in which sample: an edge table ties left vertices
to right ones. Bicliq finds every **maximal biclique** in it (a group of left vertices and the right
vertices that all of them share, which can be extended on neither side), counts complete p × q
subgraphs, and finds maximum cliques.

In: a table, which is a path, a glob, a URL, a pandas, Polars, Dask or cuDF frame, an Arrow table or
stream, a DuckDB relation, a SciPy sparse matrix, a networkx graph, a list of baskets, or a dict of
them. Out: answers with the original ids.

`enumerate`, `find`, `estimate`, `count`, `clique`, `itemsets`, `rules` and `concepts` ask; `open`
and `update` are about what a store keeps.

Examples
--------
>>> import bicliq
>>> shop = {"ann": ["jam", "tea"], "bob": ["jam", "tea"], "cid": ["tea"]}
>>> groups: bicliq.Bicliques = bicliq.enumerate(shop, min_left=2)
>>> groups.top(2).select(["left", "right"]).to_pylist()  # doctest: +NORMALIZE_WHITESPACE
[{'left': ['ann', 'bob'], 'right': ['jam', 'tea']},
 {'left': ['ann', 'bob', 'cid'], 'right': ['tea']}]
>>> best: bicliq.Groups = bicliq.find(shop, top=1)
>>> [(group["left"], group["right"], group["value"]) for group in best]
[(['ann', 'bob'], ['jam', 'tea'], 4)]
>>> expected: bicliq.Estimate = bicliq.estimate(shop)
>>> expected.bicliques
2
>>> bicliq.count(shop, 2, 2)
1
>>> found: bicliq.Clique = bicliq.clique(shop, project="left", min_shared=2)
>>> found.members
['ann', 'bob']
>>> sets: bicliq.Itemsets = bicliq.itemsets(shop, min_support=0.5)
>>> sets.to_arrow()["itemsets"].to_pylist()
[['tea'], ['jam', 'tea']]
>>> implied: bicliq.Rules = bicliq.rules(shop, min_support=0.5)
>>> implied.to_arrow().select(["antecedents", "consequents"]).to_pylist()
[{'antecedents': ['jam'], 'consequents': ['tea']}]
>>> order: bicliq.Concepts = bicliq.concepts(shop)
>>> len(order), order.edges.num_rows
(2, 1)

What is wrong is one sentence; every error is a `BicliqError`:

>>> try:
...     bicliq.enumerate({"ann": ["jam", None]})
... except bicliq.InputError as error:
...     print(error)
baskets by name, row 1, column right (right): a value is missing (null); fill it in, or drop such rows with nulls = 'drop'
>>> errors = bicliq.BackendError, bicliq.CapacityError, bicliq.LimitReached, bicliq.StorageError
>>> all(issubclass(error, bicliq.BicliqError) for error in errors)
True
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bicliq.asking import Clique, clique, count, enumerate
    from bicliq.baskets import itemsets, rules
    from bicliq.choosing import estimate, find
    from bicliq.contexts import concepts, implications, scale
    from bicliq.keeping import open, update
    from bicliq.pipeline.errors import (
        BackendError,
        BicliqError,
        CapacityError,
        InputError,
        LimitReached,
        StorageError,
    )
    from bicliq.pipeline.formats.tables import from_matrix
    from bicliq.pipeline.results.answers import Estimate, Groups
    from bicliq.pipeline.results.bicliques import Bicliques
    from bicliq.pipeline.results.concepts import Concepts
    from bicliq.pipeline.results.implications import Implications
    from bicliq.pipeline.results.itemsets import Itemsets, Rules
    from bicliq.pipeline.versions.update_record import UpdateRecord

__all__ = [
    "BackendError",
    "BicliqError",
    "Bicliques",
    "CapacityError",
    "Clique",
    "Concepts",
    "Estimate",
    "Groups",
    "Implications",
    "InputError",
    "Itemsets",
    "LimitReached",
    "Rules",
    "StorageError",
    "UpdateRecord",
    "clique",
    "concepts",
    "count",
    "enumerate",
    "estimate",
    "find",
    "from_matrix",
    "implications",
    "itemsets",
    "open",
    "rules",
    "scale",
    "update",
]

_HOMES = {
    "asking": ("Clique", "clique", "count", "enumerate"),
    "baskets": ("itemsets", "rules"),
    "choosing": ("estimate", "find"),
    "contexts": ("concepts", "implications", "scale"),
    "keeping": ("open", "update"),
    "pipeline.errors": (
        "BackendError",
        "BicliqError",
        "CapacityError",
        "InputError",
        "LimitReached",
        "StorageError",
    ),
    "pipeline.formats.tables": ("from_matrix",),
    "pipeline.results.answers": ("Estimate", "Groups"),
    "pipeline.results.bicliques": ("Bicliques",),
    "pipeline.results.concepts": ("Concepts",),
    "pipeline.results.implications": ("Implications",),
    "pipeline.results.itemsets": ("Itemsets", "Rules"),
    "pipeline.versions.update_record": ("UpdateRecord",),
}
"""Modules, and what each gives when it is first asked for: importing takes next to nothing."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("bicliq")
    for module, names in _HOMES.items():
        if name in names:
            value = getattr(importlib.import_module(f"bicliq.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'bicliq' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
