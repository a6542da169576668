"""Two published ways to look for suspicious blocks, written from their papers, to compare with.

References
----------
Hooi, Song, Beutel, Shah, Shin, Faloutsos: FRAUDAR, bounding graph fraud in the face of camouflage,
KDD 2016. Zaki: Scalable algorithms for association mining (Eclat), TKDE 2000; Han, Wang, Lu,
Tzvetkov: Mining top-k frequent closed patterns without minimum support, ICDM 2002.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from bicliq.pipeline.graphs.bipartite import BipartiteGraph

Block = tuple[list[int], list[int]]
"""Left and right members of a suspicious block, ascending."""

COLUMN_WEIGHT = 5.0
"""FRAUDAR's edge to an item of degree d weighs 1 / ln(d + 5), as in the paper's section 4.2."""


def dense_blocks(graph: BipartiteGraph, k: int) -> list[Block]:
    """FRAUDAR: k times the block of largest weight a vertex that greed finds.

    Vertices leave one by one, the one with the least weight first; the best of all sets on the way
    is the block. Its edges are then taken away.

    Notes
    -----
    O(k · n_edges · log n_vertices).
    """
    edges = set(zip(graph.edge_left.tolist(), graph.indices.tolist(), strict=True))
    blocks: list[Block] = []
    while edges and len(blocks) < k:
        left, right = _densest(edges, graph.n_left)
        blocks.append((sorted(left), sorted(right)))
        edges = {(u, v) for u, v in edges if u not in left or v not in right}
    return blocks


def _densest(edges: set[tuple[int, int]], n_left: int) -> tuple[set[int], set[int]]:
    """The densest set on the way down; right vertices are numbered after the left ones."""
    neighbours: dict[int, list[int]] = {}
    for u, v in sorted(edges):
        neighbours.setdefault(u, []).append(n_left + v)
        neighbours.setdefault(n_left + v, []).append(u)
    of_item = {v: 1 / float(np.log(len(us) + COLUMN_WEIGHT)) for v, us in neighbours.items() if v >= n_left}
    weight = {x: sum(of_item[max(x, y)] for y in around) for x, around in neighbours.items()}
    heap = [(value, x) for x, value in weight.items()]
    heapq.heapify(heap)
    total, best, best_after = sum(weight.values()) / 2, 0.0, 0
    order: list[int] = []
    gone: set[int] = set()
    while len(gone) < len(weight):
        if (density := total / (len(weight) - len(gone))) > best:
            best, best_after = density, len(order)
        while True:
            value, x = heapq.heappop(heap)
            if x not in gone and value == weight[x]:
                break
        gone.add(x)
        order.append(x)
        total -= value
        for y in neighbours[x]:
            if y not in gone:
                weight[y] -= of_item[max(x, y)]
                heapq.heappush(heap, (weight[y], y))
    stay = weight.keys() - set(order[:best_after])
    return {x for x in stay if x < n_left}, {x - n_left for x in stay if x >= n_left}


def frequent_itemsets(graph: BipartiteGraph, k: int, min_items: int) -> list[Block]:
    """The k closed itemsets of at least so many items that most accounts have, by Eclat.

    Itemsets are searched depth first, each with the set of accounts that have it, as the bits of a
    whole number; the k-th best support so far is the least that is of use.
    """
    columns = graph.transpose()
    accounts = [
        (sum(1 << u for u in columns.indices[columns.indptr[v] : columns.indptr[v + 1]].tolist()), v)
        for v in np.flatnonzero(columns.left_degrees).tolist()
    ]
    accounts.sort(key=lambda entry: (-entry[0].bit_count(), entry[1]))
    miner = _Miner(k, min_items)
    miner.grow((), accounts)
    return miner.best()


@dataclass
class _Miner:
    """The best itemsets so far, by the accounts that have them."""

    k: int
    min_items: int

    def __post_init__(self) -> None:
        self._found: dict[int, tuple[int, ...]] = {}
        self._least = 2

    def grow(self, items: tuple[int, ...], candidates: list[tuple[int, int]]) -> None:
        """Extend an itemset by each candidate and those after it."""
        for place, (bits, item) in enumerate(candidates):
            if bits.bit_count() < self._least or len(items) + len(candidates) - place < self.min_items:
                continue
            after = ((bits & other, y) for other, y in candidates[place + 1 :])
            rest = [(both, y) for both, y in after if both.bit_count() >= self._least]
            closed = tuple(y for both, y in rest if both == bits)  # all of them have it: it joins at once
            own = (*items, item, *closed)
            self._offer(bits, own)
            self.grow(own, [(both, y) for both, y in rest if both != bits])

    def _offer(self, bits: int, items: tuple[int, ...]) -> None:
        if len(items) < self.min_items or len(items) <= len(self._found.get(bits, ())):
            return
        self._found[bits] = items
        if len(self._found) > self.k:
            worst = min(self._found, key=lambda each: (each.bit_count(), len(self._found[each])))
            del self._found[worst]
        if len(self._found) == self.k:
            self._least = min(each.bit_count() for each in self._found)

    def best(self) -> list[Block]:
        """Most accounts first."""
        ranked = sorted(self._found.items(), key=lambda entry: (-entry[0].bit_count(), -len(entry[1]), entry[1]))
        return [([u for u in range(bits.bit_length()) if bits >> u & 1], sorted(items)) for bits, items in ranked]
