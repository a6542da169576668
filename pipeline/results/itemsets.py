"""Itemsets and association rules with their own labels, in the table library that people know.

Columns and metrics are those of mlxtend, by its names. Nothing is held of them before it is asked
for: closed sets lie in memory, and what they give is made batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from xxhash import xxh3_128_digest

from bicliq import kernels
from bicliq.pipeline.arguments import check_whole
from bicliq.pipeline.columns import column_of, folded, values_of, words_column
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.extras import needs
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.results.as_table import SHOWN, OfLists, as_text
from bicliq.pipeline.results.itemsets_asked import METRICS, RulesAsked, SetsAsked, items_of, rules_in_words
from bicliq.pipeline.store.account import account_of
from bicliq.pipeline.words import shown

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Frequent:
    """The closed itemsets of baskets, and what is needed to speak of them.

    Parameters
    ----------
    closed
        The sets, of numbers of items.
    items
        Labels of these items, ascending.
    all_items
        Labels of all items, rare ones as well.
    n_baskets, min_count
        Baskets, those without items included, and in how many a set is at least.
    graph, basket_ids
        The baskets that have an item, by numbers of `all_items`, and their labels.
    record
        n_baskets, n_empty, n_items, min_support, min_count, threads, seconds, and the `account` of
        the table.
    fold
        Forms in which labels were united.
    """

    closed: kernels.ClosedSets
    items: pa.Array
    all_items: pa.Array
    n_baskets: int
    min_count: int
    graph: BipartiteGraph
    basket_ids: pa.Array
    record: dict[str, Any]
    fold: str | None = None

    def numbers(self, side: str, labels: Iterable[Any]) -> list[int] | None:
        """Numbers of items; None where one is in too few baskets to be frequent.

        Raises InputError where no basket has one.
        """
        found = pc.index_in(self._named(side, labels), self.items.cast(pa.string()))
        return None if found.null_count else [int(number) for number in found.to_pylist()]

    def _named(self, asked: str, items: Iterable[Any]) -> pa.Array:
        """Items as the table has them; InputError where no basket has one."""
        wanted = words_column([str(item) for item in items])
        wanted = wanted if self.fold is None else folded(wanted, self.fold)
        for label, known in zip(wanted, pc.is_in(wanted, self.all_items.cast(pa.string())), strict=True):
            if not known.as_py():
                raise InputError(
                    f"{asked}: no basket has the item {shown(label.as_py())}; name one as the table has it"
                )
        return wanted

    def baskets_with(self, items: Iterable[Any]) -> pa.Array:
        """Labels of the baskets that have all of some items; errors as of `numbers`."""
        wanted = pc.unique(self._named("itemset", items_of("itemset", items)))
        if not len(wanted):
            raise InputError("itemset: has no items; name one at least")
        numbers = pc.index_in(wanted, self.all_items.cast(pa.string()))
        has = np.isin(self.graph.indices, np.array(numbers.to_pylist(), np.int64))
        found = np.bincount(self.graph.edge_left[has], minlength=self.graph.n_left) == len(numbers)
        return self.basket_ids.take(pa.array(np.flatnonzero(found)))


@dataclass(frozen=True, eq=False, repr=False)
class Listed(OfLists):
    """Itemsets or rules, made batch by batch from the closed itemsets.

    Parameters
    ----------
    frequent
        The closed itemsets, and of which baskets.
    """

    frequent: Frequent

    @cached_property
    def _count(self) -> int:
        return sum(batch.num_rows for batch in self.batches())

    def __len__(self) -> int:
        """How many there are; the first time, they are all made for it."""
        return self._count

    @property
    def account(self) -> dict[str, Any]:
        """What became of the rows of the table: see `account_of`."""
        return account_of(self.frequent.record)

    @property
    def n_baskets(self) -> int:
        """What supports are shares of: all baskets, those without items included."""
        return self.frequent.n_baskets

    def to_pandas(self) -> Any:
        """Return all of them as a pandas DataFrame; sets are frozensets, as mlxtend has them."""
        with needs("frames", "to_pandas"):
            import pandas as pd

        table = self.to_arrow()
        columns = {
            name: [frozenset(items) for items in column.to_pylist()]
            if pa.types.is_list(column.type)
            else column.to_numpy()
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
        return pd.DataFrame(columns, columns=table.column_names)

    def _best(self, k: int, by: str) -> pa.Table:
        """The k largest by a column of numbers; of equal ones those that come first."""
        if by not in (columns := [column.name for column in self.schema if not pa.types.is_list(column.type)]):
            raise InputError(f"by = {by!r} is none of {', '.join(columns)}")
        check_whole("k", k, 0, "it says how many are shown")
        best, n = self.schema.empty_table(), 0
        for batch in self.batches():
            n += batch.num_rows
            best = pa.concat_tables([best, batch]).combine_chunks()
            worth = np.nan_to_num(values_of(best[by]).astype(np.float64), nan=-np.inf)
            best = best.take(pa.array(np.argsort(-worth, kind="stable")[:k]))
        self.__dict__["_count"] = n  # they need not be made again for it
        return best

    def _lists(self, offsets: npt.NDArray[np.int32], items: npt.NDArray[np.int32]) -> pa.Array:
        return pa.ListArray.from_arrays(column_of(offsets), self.frequent.items.take(column_of(items)))


@dataclass(frozen=True, eq=False, repr=False)
class Itemsets(Listed):
    """Frequent itemsets with their supports.

    Parameters
    ----------
    asked
        Which ones.

    Examples
    --------
    >>> import bicliq
    >>> sets = bicliq.itemsets({"ann": ["jam", "tea"], "bob": ["jam", "tea"], "cid": ["tea"]}, min_support=0.5)
    >>> sets.to_arrow().select(["itemsets", "count"]).to_pylist()
    [{'itemsets': ['tea'], 'count': 3}, {'itemsets': ['jam', 'tea'], 'count': 2}]
    >>> sets.rows(["jam", "tea"]).to_pylist()
    ['ann', 'bob']
    """

    asked: SetsAsked

    def __repr__(self) -> str:
        lines = [f"{row['support']:.4g}: {row['itemsets']}" for row in self.top(SHOWN).to_pylist()]
        return as_text(
            f"{f'{len(self):,}' if lines else 'no'} {self.asked.kind} itemsets of {self.n_baskets:,} baskets", lines
        )

    @property
    def schema(self) -> pa.Schema:
        """Columns: support, itemsets, count."""
        items = pa.list_(self.frequent.items.type)
        return pa.schema([("support", pa.float64()), ("itemsets", items), ("count", pa.int64())])

    def batches(self) -> Iterator[pa.Table]:
        """Yield all of them as Arrow tables of bounded size, always in the same order."""
        for batch in self.frequent.closed.sets(self.asked.kind, self.asked.max_len):
            columns = [
                column_of(batch.support / self.n_baskets),
                self._lists(batch.offsets, batch.items),
                column_of(batch.support.astype(np.int64)),
            ]
            yield pa.Table.from_arrays(columns, schema=self.schema)

    def top(self, k: int = 10, by: str = "support") -> pa.Table:
        """Return the k sets in most baskets as an Arrow table; by count it is the same."""
        return self._best(k, by)

    def rows(self, itemset: Iterable[Any]) -> pa.Array:
        """Return the labels of the baskets that have all items of a set, ascending.

        Raises InputError where no basket has one of the items, or there is none.
        """
        return self.frequent.baskets_with(itemset)


@dataclass(frozen=True, eq=False, repr=False)
class Rules(Listed):
    """Association rules with mlxtend's metrics.

    Parameters
    ----------
    asked
        Which ones.
    which
        "both", or the "exact" rules alone, whose confidence is 1, or the "approximate" ones.
    before
        Leave out those that are among these, by the labels of their items.

    Raises
    ------
    InputError
        Where no basket has an item that is asked for.

    Examples
    --------
    >>> import bicliq
    >>> shop = {"ann": ["jam", "tea"], "bob": ["jam", "tea"], "cid": ["tea"]}
    >>> rules = bicliq.rules(shop, min_support=0.5, min_threshold=0.6)
    >>> rules.to_arrow().select(["antecedents", "consequents", "confidence", "lift"]).to_pylist()[1]
    {'antecedents': ['jam'], 'consequents': ['tea'], 'confidence': 1.0, 'lift': 1.0}
    >>> len(rules.exact), len(rules.approximate)
    (1, 1)
    """

    asked: RulesAsked
    which: Literal["both", "exact", "approximate"] = "both"
    before: Rules | None = None

    def __post_init__(self) -> None:
        """Refuse items that are not there, before rules are made."""
        self._numbers  # noqa: B018

    def __repr__(self) -> str:
        metric, rows = self.asked.metric, self.top(SHOWN).to_pylist()
        lines = [f"{row[metric]:.4g}: {row['antecedents']} → {row['consequents']}" for row in rows]
        of = f"{self.asked.kind} rule{'' if len(rows) == 1 else 's'} of {self.n_baskets:,} baskets"
        if not rows:
            return as_text(f"no {of} with {rules_in_words(self.record())}", ())
        return as_text(f"{len(self):,} {of}; the best by {metric}", lines)

    @cached_property
    def _numbers(self) -> list[list[int] | None]:
        sides = (("antecedents", self.asked.antecedents), ("consequents", self.asked.consequents))
        return [self.frequent.numbers(side, labels) for side, labels in sides]

    @property
    def exact(self) -> Rules:
        """Those whose confidence is 1: no basket is against them."""
        return replace(self, which="exact")

    @property
    def approximate(self) -> Rules:
        """Those whose confidence is below 1."""
        return replace(self, which="approximate")

    def record(self) -> dict[str, Any]:
        """Return that of the baskets, with what was asked and how many rules there are."""
        new_since = None if self.before is None else self.before.frequent.record.get("run")
        asked = {**asdict(self.asked), "which": self.which, "new_since": new_since}
        return {**self.frequent.record, **asked, "found": len(self)}

    def new_since(self, before: Rules) -> Rules:
        """Return those that others are not among, as the rules of an older version of the run.

        Whose antecedent and consequent are the same is not new, whatever its metrics are now.

        Notes
        -----
        Some 100 bytes of memory a rule of the others.

        Examples
        --------
        >>> import bicliq
        >>> old, now = ([["jam", "tea"], ["jam"]], [["jam", "tea"], ["jam"], ["oil", "jam"]])
        >>> rules = bicliq.rules(now, 0.1).new_since(bicliq.rules(old, 0.1))
        >>> rules.to_arrow().select(["antecedents", "consequents"]).to_pylist()
        [{'antecedents': ['oil'], 'consequents': ['jam']}]
        """
        return replace(self, before=before)

    @cached_property
    def _keys(self) -> set[bytes]:
        """What tells each rule from all others."""
        return {key for table in self.batches() for key in _keys_of(table)}

    @property
    def schema(self) -> pa.Schema:
        """Columns: antecedents, consequents, and the metrics."""
        items = pa.list_(self.frequent.items.type)
        sides = [("antecedents", items), ("consequents", items)]
        return pa.schema([*sides, *((name, pa.float64()) for name in METRICS)])

    def batches(self) -> Iterator[pa.Table]:
        """Yield all of them as Arrow tables of bounded size, always in the same order."""
        asked, (with_left, with_right) = self.asked, self._numbers
        if with_left is None or with_right is None:
            return
        least = asked.min_threshold if asked.metric == "confidence" else 0.0
        least = 1.0 if self.which == "exact" else max(least, 0.0)
        for batch in self.frequent.closed.rules(asked.kind, least, asked.max_len, with_left, with_right):
            values = metrics(batch.support, batch.antecedent_support, batch.consequent_support, self.n_baskets)
            kept = values[asked.metric] >= asked.min_threshold
            if self.which != "both":
                kept &= (batch.support == batch.antecedent_support) == (self.which == "exact")
            sides = [
                self._lists(batch.antecedent_offsets, batch.antecedents),
                self._lists(batch.consequent_offsets, batch.consequents),
            ]
            table = pa.Table.from_arrays([*sides, *map(column_of, values.values())], schema=self.schema)
            table = table if kept.all() else table.filter(column_of(kept))
            if self.before is not None:
                known = self.before._keys
                table = table.filter(pa.array([key not in known for key in _keys_of(table)], pa.bool_()))
            yield table

    def top(self, k: int = 10, by: str | None = None) -> pa.Table:
        """Return the k best by a metric, by default theirs, as an Arrow table."""
        return self._best(k, by or self.asked.metric)


def _keys_of(table: pa.Table) -> Iterator[bytes]:
    """A hash of the labels of both sides of each rule."""
    for sides in zip(table["antecedents"].to_pylist(), table["consequents"].to_pylist(), strict=True):
        yield xxh3_128_digest(repr([sorted(map(str, side)) for side in sides]).encode())


def metrics(
    both: npt.NDArray[np.int32], antecedent: npt.NDArray[np.int32], consequent: npt.NDArray[np.int32], n_baskets: int
) -> dict[str, Floats]:
    """Say what the metrics of rules are, by name.

    `both`, `antecedent`, `consequent`: in how many baskets the items of both sides are, and those
    of each. `n_baskets`: how many baskets there are.

    Formulas are mlxtend's; but confidence is one count by the other, where it divides two rounded
    shares, and may find 0.7999999999999999 where 4 of 5 baskets hold.

    Examples
    --------
    >>> found = metrics(*(np.array([n], np.int32) for n in (4, 5, 6)), 10)
    >>> found["confidence"].tolist(), found["lift"].round(3).tolist()
    ([0.8], [1.333])
    """
    s_both, s_from, s_to = both / n_baskets, antecedent / n_baskets, consequent / n_baskets
    confidence = both / antecedent
    leverage = s_both - s_from * s_to
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.maximum(s_both * (1 - s_from), s_from * (s_to - s_both))
        values = {
            "antecedent support": s_from,
            "consequent support": s_to,
            "support": s_both,
            "confidence": confidence,
            "lift": confidence / s_to,
            "representativity": np.ones_like(s_both),
            "leverage": leverage,
            "conviction": np.where(confidence < 1, (1 - s_to) / (1 - confidence), np.inf),
            "zhangs_metric": np.where(most == 0, 0.0, leverage / most),
            "jaccard": s_both / (s_from + s_to - s_both),
            "certainty": np.where(s_to == 1, 0.0, (confidence - s_to) / (1 - s_to)),
            "kulczynski": (confidence + both / consequent) / 2,
        }
    return {name: values[name] for name in METRICS}
