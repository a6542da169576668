"""Slow and obvious answers, written from the definitions and from nothing in the product."""

from __future__ import annotations

from collections.abc import Iterable

Edge = tuple[int, int]
Biclique = tuple[frozenset[int], frozenset[int]]


def maximal_bicliques(edges: Iterable[Edge], n_left: int) -> set[Biclique]:
    """All maximal bicliques, from the closures of all sets of left vertices.

    The right side of a maximal biclique is the common neighbourhood of its left side, so every one
    shows up among the intersections of neighbourhoods: close the set of neighbourhoods under
    intersection, then find who has all.
    """
    neighbours: dict[int, set[int]] = {}
    for u, v in edges:
        neighbours.setdefault(u, set()).add(v)
    right_sides: set[frozenset[int]] = set()
    for u in range(n_left):
        own = frozenset(neighbours.get(u, ()))
        right_sides |= {own} | {own & other for other in right_sides}
    right_sides.discard(frozenset())
    return {(frozenset(u for u in range(n_left) if right <= neighbours.get(u, set())), right) for right in right_sides}


def passing(bicliques: set[Biclique], min_left: int, min_right: int, min_edges: int) -> set[Biclique]:
    """Those large enough, filtered afterwards."""
    return {
        (left, right)
        for left, right in bicliques
        if len(left) >= min_left and len(right) >= min_right and len(left) * len(right) >= min_edges
    }
