"""What is asked of itemsets and rules, and what no set and no rule can be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from bicliq.pipeline.arguments import check_whole
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.words import shown

METRICS = (
    "antecedent support", "consequent support", "support", "confidence", "lift", "representativity", "leverage",
    "conviction", "zhangs_metric", "jaccard", "certainty", "kulczynski",
)  # fmt: skip
"""What is said of a rule, in mlxtend's order."""

SHARES = ("antecedent support", "consequent support", "support", "confidence", "jaccard", "certainty", "kulczynski")
"""Metrics that are at most 1."""

Empty = Literal["refuse", "count"]
"""What becomes of lists that have no items."""


@dataclass(frozen=True)
class SetsAsked:
    """Which itemsets are wanted.

    Parameters
    ----------
    kind
        "closed" (no larger set is in as many baskets), "maximal" (no larger one is frequent), both
        by falling support, or "all".
    max_len
        Most items of a set.
    empty
        Whether a list of no items is refused, or counted as a basket.

    Raises
    ------
    InputError
        Where no set can be so.
    """

    kind: Literal["closed", "maximal", "all"] = "closed"
    max_len: int | None = None
    empty: Empty = "refuse"

    def __post_init__(self) -> None:
        """Refuse what no set can be."""
        if self.kind not in ("closed", "maximal", "all"):
            raise InputError(f"kind = {self.kind!r} is none of closed, maximal, all")
        _check_empty(self.empty)
        if self.max_len is not None:
            check_whole("max_len", self.max_len, 1, "a set has at least one item")

    @property
    def most_items(self) -> int | None:
        """Items of the sets whose supports tell these: one more, where larger ones matter."""
        return None if self.max_len is None else self.max_len + (self.kind != "all")


@dataclass(frozen=True)
class RulesAsked:
    """Which rules are wanted.

    Parameters
    ----------
    metric, min_threshold
        A rule has at least so much of the metric.
    kind
        "non-redundant": from minimal generators to closed itemsets; each other rule has the support
        and confidence of one whose antecedent is no larger, and whose consequent is no smaller. Or
        "all".
    max_len
        Most items of a rule, of both sides together.
    antecedents, consequents
        Items that each rule has on that side.
    empty
        As of `SetsAsked`.

    Raises
    ------
    InputError
        Where no rule can be so.
    """

    metric: str = "confidence"
    min_threshold: float = 0.8
    kind: Literal["non-redundant", "all"] = "non-redundant"
    max_len: int | None = None
    antecedents: tuple[Any, ...] = ()
    consequents: tuple[Any, ...] = ()
    empty: Empty = "refuse"

    def __post_init__(self) -> None:
        """Refuse what no rule can be."""
        if self.kind not in ("non-redundant", "all"):
            raise InputError(f"kind = {self.kind!r} is none of non-redundant, all")
        _check_empty(self.empty)
        if self.metric not in METRICS:
            raise InputError(f"metric = {self.metric!r} is none of {', '.join(METRICS)}")
        least = self.min_threshold
        if not is_number(least) or np.isnan(least):
            raise InputError(f"min_threshold = {least!r} is no number; write the least {self.metric}, as 0.8")
        if np.isinf(least):
            raise InputError(
                f"min_threshold = {least:g} is no least {self.metric}; of rules without an exception the confidence is 1"
            )
        if self.metric in SHARES and least > 1:
            share = f"; {least:g} percent are {least / 100:.15g}" if 2 <= least <= 100 else ""
            raise InputError(f"min_threshold = {least} is above 1, which no {self.metric} is{share}")
        both = {*map(str, self.antecedents)} & {*map(str, self.consequents)}
        if both:
            raise InputError(
                f"{sorted(both)[0]!r} is asked for on both sides of a rule, where no item is; leave out one"
            )
        if self.max_len is not None:
            check_whole("max_len", self.max_len, 2, "a rule has an item on each side")

    @property
    def most_items(self) -> int | None:
        """As of `SetsAsked`."""
        return None if self.max_len is None else self.max_len + (self.kind != "all")


def _check_empty(empty: str) -> None:
    if empty not in get_args(Empty):
        raise InputError(f"empty = {empty!r} is none of {', '.join(get_args(Empty))}")


def is_number(value: Any) -> bool:
    """Whether a value is a number, and no truth value, text, or whole number beyond 64 bits."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    return isinstance(value, float | np.floating) or (is_whole and abs(int(value)) < 1 << 63)


def items_of(asked: str, items: Any) -> tuple[Any, ...]:
    """Items as a tuple. `asked`: which argument holds them.

    Raises InputError where they are a text, whose letters would be items, or no list.

    Examples
    --------
    >>> items_of("consequents", ["tea"])
    ('tea',)
    """
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        kind = "a text, and not" if isinstance(items, str | bytes) else "not"
        raise InputError(f"{asked} = {shown(items)} is {kind} a list of items; one item is [{shown(items)}]")
    return tuple(items)


def rules_in_words(record: Mapping[str, Any]) -> str:
    """Say what was asked of each rule, by the record.

    Examples
    --------
    >>> asked = {"metric": "lift", "min_threshold": 2, "min_support": 0.01, "max_len": None, "which": "both"}
    >>> rules_in_words({**asked, "antecedents": [], "consequents": ["churn"]})
    'min support 0.01, min lift 2, consequent contains churn'
    """
    said = [f"min support {record['min_support']:g}", f"min {record['metric']} {record['min_threshold']:g}"]
    for side in ("antecedent", "consequent"):
        if record[f"{side}s"]:
            said.append(f"{side} contains {' and '.join(map(str, record[f'{side}s']))}")
    if record["max_len"] is not None:
        said.append(f"at most {record['max_len']:,} items")
    return ", ".join(said if record["which"] == "both" else [*said, f"{record['which']} ones alone"])
