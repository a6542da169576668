"""Questions about baskets: which items are bought together, and which rules follow."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Unpack

from bicliq.asking import Reading, read_as
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats import Edges
from bicliq.pipeline.questions.itemsets import find_frequent, frequent_in_run
from bicliq.pipeline.results.bicliques import Bicliques
from bicliq.pipeline.results.itemsets import Frequent, Itemsets, Rules
from bicliq.pipeline.results.itemsets_asked import Empty, RulesAsked, SetsAsked, items_of
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.store.choice import EVERYTHING

OF_MLXTEND = ("use_colnames", "support_only", "num_itemsets", "return_metrics", "low_memory", "verbose")
"""Arguments of mlxtend's functions that have no counterpart."""


def itemsets(
    baskets: Edges | Bicliques,
    min_support: float = 0.01,
    *,
    kind: Literal["closed", "maximal", "all"] = "closed",
    max_len: int | None = None,
    empty: Empty = "refuse",
    threads: int = 0,
    **reading: Unpack[Reading],
) -> Itemsets:
    """Find the frequent itemsets of baskets.

    Parameters
    ----------
    baskets
        All that `enumerate` takes: left vertices are baskets, right ones items. A frame or file of
        True and False or 0 and 1 is read as one, a row a basket. Or a run (`bicliq.open`).
    min_support
        A set is in at least this share of all baskets, those without items included.
    kind
        "closed": no larger set is in as many baskets; the others follow from them. "maximal": no
        larger set is frequent. "all": what mlxtend's `apriori` gives.
    max_len
        Leave sets of more items out.
    empty
        Lists of no items are refused, or counted among the baskets ("count"), as rows of cells that
        are all 0 always are.
    threads
        As in `enumerate`.
    **reading
        How the table is read, as in `enumerate`.

    Returns
    -------
    Itemsets
        With columns support, itemsets, count; `to_pandas`, `to_arrow`, `top`, `rows`, `export`.

    Raises
    ------
    InputError
        At anything wrong in the table or the arguments.

    Examples
    --------
    >>> import bicliq
    >>> shop = [["jam", "tea"], ["jam", "tea", "wine"], ["tea"], []]
    >>> bicliq.itemsets(shop, min_support=0.5, empty="count").to_arrow().to_pylist()  # doctest: +NORMALIZE_WHITESPACE
    [{'support': 0.75, 'itemsets': ['tea'], 'count': 3},
     {'support': 0.5, 'itemsets': ['jam', 'tea'], 'count': 2}]
    """
    asked = SetsAsked(kind, max_len, empty)
    return Itemsets(_frequent("itemsets", baskets, min_support, threads, reading, asked), asked)


def rules(
    baskets: Edges | Bicliques,
    min_support: float = 0.01,
    metric: str = "confidence",
    min_threshold: float = 0.8,
    *,
    kind: Literal["non-redundant", "all"] = "non-redundant",
    antecedents: Iterable[Any] | None = None,
    consequents: Iterable[Any] | None = None,
    max_len: int | None = None,
    empty: Empty = "refuse",
    threads: int = 0,
    **reading: Unpack[Reading],
) -> Rules:
    """Find association rules between the items of baskets.

    Parameters
    ----------
    baskets, min_support
        As in `itemsets`.
    metric, min_threshold
        A rule has at least so much of it: "confidence", "lift", "leverage", "conviction" or another
        column of the answer.
    kind
        "non-redundant": the antecedent as small and the consequent as large as they can be without
        another support. "all": what mlxtend's `association_rules` gives.
    antecedents, consequents
        Items that each rule has on that side; others may stand beside them.
    max_len
        Leave rules of more items, of both sides together, out. Of non-redundant ones, this may
        leave out the only one that says something.
    empty
        As in `itemsets`.
    threads
        As in `enumerate`.
    **reading
        How the table is read, as in `enumerate`.

    Returns
    -------
    Rules
        With mlxtend's columns; `to_pandas`, `to_arrow`, `top`, `exact`, `approximate`, `export`.

    Raises
    ------
    InputError
        At anything wrong in the table or the arguments.

    Examples
    --------
    >>> import bicliq
    >>> shop = [["jam", "tea"], ["jam", "tea", "wine"], ["tea"]]
    >>> found = bicliq.rules(shop, min_support=0.5, min_threshold=0.9).to_pandas()
    >>> found[["antecedents", "consequents", "confidence"]].values.tolist()
    [[frozenset({'jam'}), frozenset({'tea'}), 1.0]]
    """
    asked_for = {"antecedents": antecedents, "consequents": consequents}
    sides = {side: items_of(side, () if items is None else items) for side, items in asked_for.items()}
    asked = RulesAsked(metric, min_threshold, kind, max_len, empty=empty, **sides)
    return Rules(_frequent("rules", baskets, min_support, threads, reading, asked), asked)


def _frequent(
    question: str,
    baskets: Edges | Bicliques,
    min_support: float,
    threads: int,
    reading: Reading,
    asked: SetsAsked | RulesAsked,
) -> Frequent:
    _refuse_steps_of_mlxtend(question, baskets, reading)
    if isinstance(baskets, Bicliques):
        if reading or baskets.choice != EVERYTHING:
            raise InputError(
                "baskets: a run was read already, and is taken whole; give no where and no options of reading"
            )
        return frequent_in_run(baskets.run, min_support, asked)
    settings = load_settings(ingest=read_as(reading), search={"threads": threads})
    return find_frequent(baskets, min_support, settings, asked)


def _refuse_steps_of_mlxtend(question: str, baskets: Any, reading: Reading) -> None:
    """Say where a script goes another way: arguments of mlxtend's, and its frame of itemsets."""
    if "min_confidence" in reading:
        raise InputError("min_confidence: is min_threshold here, of rules with metric = 'confidence'")
    found = isinstance(baskets, Itemsets) or _are_frequent(baskets)
    given = "baskets: frequent itemsets" if found else next((name for name in OF_MLXTEND if name in reading), None)
    if given is not None:
        raise InputError(
            f"{given}: there is no such step here; give the baskets themselves{'' if found else ' without it'}:"
            f" bicliq.{question}(baskets, min_support=0.01)"
        )


def _are_frequent(baskets: Any) -> bool:
    """Whether a frame holds itemsets: their supports are shares, and no labels of baskets."""
    columns: Any = getattr(baskets, "column_names", None) or getattr(baskets, "columns", ())  # Arrow's, or a frame's
    if {*columns} - {"count", "length"} != {"support", "itemsets"}:
        return False
    supports = baskets["support"]
    kind = str(getattr(supports, "dtype", getattr(supports, "type", ""))).lower()
    return "float" in kind or "double" in kind
