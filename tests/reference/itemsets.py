"""Frequent itemsets and association rules by their definitions, for tables of a few items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

Set = frozenset[int]
Rule = tuple[Set, Set]


def subsets(items: Iterable[int]) -> list[Set]:
    """Every subset but the empty one."""
    listed = sorted(items)
    return [frozenset(some) for n in range(1, len(listed) + 1) for some in combinations(listed, n)]


def frequent(baskets: Sequence[Set], least: int) -> dict[Set, int]:
    """Every itemset that is in so many baskets, and in how many."""
    counts = {some: sum(some <= basket for basket in baskets) for some in subsets(frozenset().union(*baskets))}
    return {some: n for some, n in counts.items() if n >= least}


def closed(sets: dict[Set, int]) -> dict[Set, int]:
    """Those without a larger one in as many baskets."""
    return {some: n for some, n in sets.items() if not any(some < other and n == m for other, m in sets.items())}


def closed_by_growth(sets: dict[Set, int]) -> dict[Set, int]:
    """The same of many sets: none that is larger by one item is in as many baskets."""
    grown = {some - {item} for some, n in sets.items() for item in some if sets.get(some - {item}) == n}
    return {some: n for some, n in sets.items() if some not in grown}


def closed_of_matrix(matrix: npt.NDArray[np.bool_], least: int) -> dict[Set, int]:
    """The closed sets of a table of baskets and items: closures of each with one item more."""
    found: dict[Set, int] = {}
    waiting = [np.zeros(matrix.shape[1], bool)]
    while waiting:
        some = waiting.pop()
        rows = matrix[matrix[:, some].all(axis=1)]
        if len(rows) < least:
            continue
        closure = rows.all(axis=0)
        items = frozenset(np.flatnonzero(closure).tolist())
        if items in found:
            continue
        found[items] = len(rows)
        for item in np.flatnonzero(~closure & (rows.sum(axis=0) >= least)):
            waiting.append(closure.copy())
            waiting[-1][item] = True
    found.pop(frozenset(), None)
    return found


def maximal(sets: dict[Set, int]) -> dict[Set, int]:
    """Those without a larger one."""
    return {some: n for some, n in sets.items() if not any(some < other for other in sets)}


def all_rules(sets: dict[Set, int], min_confidence: float) -> dict[Rule, tuple[int, int, int]]:
    """Every rule, and in how many baskets both sides, its antecedent and its consequent are."""
    return {
        (some, whole - some): (n, sets[some], sets[whole - some])
        for whole, n in sets.items()
        for some in subsets(whole)
        if some != whole and n / sets[some] >= min_confidence
    }


def non_redundant_rules(sets: dict[Set, int], min_confidence: float) -> dict[Rule, tuple[int, int, int]]:
    """Rules from minimal generators to closed sets (Bastide et al. 2000)."""
    generators = [
        some for some, n in sets.items() if all(sets[less] != n for less in subsets(some) if less != some)
    ]  # fmt: skip
    return {
        (some, whole - some): (n, sets[some], sets[whole - some])
        for whole, n in closed(sets).items()
        for some in generators
        if some < whole and n / sets[some] >= min_confidence
    }
