"""Concepts, their order and implications by their definitions, for contexts of a few attributes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

Set = frozenset[int]
Concept = tuple[Set, Set]


def subsets(items: Set) -> Iterator[Set]:
    """Every subset, by rising size."""
    for n in range(len(items) + 1):
        yield from map(frozenset, combinations(sorted(items), n))


def shared(rows: Sequence[Set], objects: Set, attributes: Set) -> Set:
    """What all of some objects have."""
    return frozenset(attributes.intersection(*(rows[g] for g in objects)))


def holders(rows: Sequence[Set], intent: Set) -> Set:
    """The objects that have all of some attributes."""
    return frozenset(g for g, row in enumerate(rows) if intent <= row)


def closure(rows: Sequence[Set], some: Set, attributes: Set) -> Set:
    """What all objects have that have these attributes."""
    return shared(rows, holders(rows, some), attributes)


def concepts(rows: Sequence[Set], attributes: Set) -> set[Concept]:
    """All of them."""
    intents = {closure(rows, some, attributes) for some in subsets(attributes)}
    return {(holders(rows, intent), intent) for intent in intents}


def covers(found: set[Concept]) -> set[tuple[Concept, Concept]]:
    """Pairs of a lower and an upper one, none between them."""
    below = {(a, b) for a in found for b in found if a[0] < b[0]}
    return {(a, b) for a, b in below if not any((a, c) in below and (c, b) in below for c in found)}


def stability(found: set[Concept]) -> dict[Concept, int]:
    """How many objects each has more than the largest below it, or than none."""
    return {a: len(a[0]) - max((len(b[0]) for b in found if b[0] < a[0]), default=0) for a in found}


def generators(rows: Sequence[Set], intent: Set) -> set[Set]:
    """The minimal sets of attributes with the holders of an intent."""
    same = [some for some in subsets(intent) if holders(rows, some) == holders(rows, intent)]
    return {some for some in same if not any(other < some for other in same)}


def canonical_basis(rows: Sequence[Set], attributes: Set) -> dict[Set, Set]:
    """Pseudo-intents (they hold what smaller ones imply, and are no intents), with conclusions."""
    found: dict[Set, Set] = {}
    for some in subsets(attributes):
        closed = closure(rows, some, attributes)
        if closed != some and all(found[other] | other <= some for other in found if other < some):
            found[some] = closed - some
    return found


def direct_basis(rows: Sequence[Set], attributes: Set) -> dict[Set, Set]:
    """Of each attribute the minimal sets without it that imply it, united by sets."""
    found: dict[Set, Set] = {}
    for m in attributes:
        implying = [some for some in subsets(attributes - {m}) if m in closure(rows, some, attributes)]
        for some in implying:
            if not any(other < some for other in implying):
                found[some] = found.get(some, frozenset()) | {m}
    return found
