"""All maximum cliques, from the definition."""

from __future__ import annotations


def maximum_cliques(neighbours: list[set[int]]) -> tuple[int, list[tuple[int, ...]]]:
    """The largest size, and every clique of that size, in lexicographic order; no vertices: size 0
    and no clique."""
    layer = [(v,) for v in range(len(neighbours))]
    size = 0
    largest: list[tuple[int, ...]] = []
    while layer:
        size, largest = size + 1, layer
        layer = [
            (*clique, v)
            for clique in layer
            for v in sorted(neighbours[clique[-1]])
            if v > clique[-1] and all(v in neighbours[u] for u in clique)
        ]
    return size, largest
