"""Planted groups: fraud rings with a known membership, in a graph that a seed or a table gives.

A ring is what review and payment fraud looks like in an edge table: some accounts that all touch
the same items. It is hidden as in practice. A part of its accounts are honest ones that were taken
over, with all that they bought before; the others are new, and buy popular items as camouflage. A
part of its items are old ones, and honest customers, who buy more the more active they are, touch
the new ones as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.graphs.bipartite import BipartiteGraph

ACCOUNTS, ITEMS = (8, 30), (5, 40)
"""Least and most accounts and items of a ring."""

SMALL = (5, 8), (5, 8)
"""The same of small rings."""

TAKEN_OVER, OLD_ITEMS = 0.3, 0.5
"""Shares of a ring's accounts and items that were in the graph before."""

CAMOUFLAGE = 1.0
"""Popular items that a new account buys, as a share of the ring's items."""

HONEST = 0.5
"""Honest customers of a new item, as a share of the ring's accounts."""

Int64s = npt.NDArray[np.int64]
Sizes = tuple[tuple[int, int], tuple[int, int]]


@dataclass(frozen=True)
class Ring:
    """Members of a planted ring, ascending.

    Parameters
    ----------
    left, right
        Its accounts and its items.
    """

    left: Int64s
    right: Int64s


@dataclass(frozen=True)
class Planted:
    """Rings, and the edges that come with them; some may repeat another.

    Parameters
    ----------
    rings
        Their members.
    left, right
        Ends of the edges: of the rings, their camouflage and their honest customers.
    n_left, n_right
        Vertices of each side with the new ones.
    """

    rings: list[Ring]
    left: Int64s
    right: Int64s
    n_left: int
    n_right: int


def plant_rings(
    graph: BipartiteGraph, n_rings: int, seed: int = 0, density: float = 1.0, sizes: Sizes = (ACCOUNTS, ITEMS)
) -> tuple[BipartiteGraph, list[Ring]]:
    """Add fraud rings to a graph.

    Parameters
    ----------
    graph
        The honest traffic: left are accounts, right items. Its vertices keep their numbers; new
        ones follow.
    n_rings
        How many; no two share a member.
    seed
        The same graph and seed give the same rings on every machine.
    density
        Share of a ring's pairs that are edges; with less than 1 a ring is no biclique.
    sizes
        Least and most accounts and items of a ring.

    Returns
    -------
    BipartiteGraph
        With the edges of the rings, their camouflage and their honest customers.
    list of Ring

    Raises
    ------
    InputError
        If the graph has too few vertices with an edge for so many rings, or density is out of
        range.

    Examples
    --------
    >>> whole, rings = plant_rings(BipartiteGraph.from_edges(range(500), range(500), 500, 500), 3, seed=1)
    >>> [(ring.left.size, ring.right.size) for ring in rings]
    [(18, 23), (25, 39), (8, 10)]
    >>> whole.n_edges > sum(ring.left.size * ring.right.size for ring in rings)
    True
    """
    honest = graph.edge_left.astype(np.int64), graph.indices.astype(np.int64)
    planted = ring_edges(*honest, graph.n_left, graph.n_right, n_rings, seed, density, sizes)
    n_right = planted.n_right
    left, right = (np.concatenate(sides) for sides in zip(honest, (planted.left, planted.right), strict=True))
    pairs = np.unique(left * n_right + right)
    return BipartiteGraph.from_edges(pairs // n_right, pairs % n_right, planted.n_left, n_right), planted.rings


def ring_edges(
    buyers: Int64s,
    bought: Int64s,
    n_left: int,
    n_right: int,
    n_rings: int,
    seed: int = 0,
    density: float = 1.0,
    sizes: Sizes = (ACCOUNTS, ITEMS),
) -> Planted:
    """Draw the rings of `plant_rings`, and the edges that come with them.

    Parameters
    ----------
    buyers, bought
        Ends of honest edges, all or a part: whoever is taken over has one of them, and who is
        popular or active has many.
    n_left, n_right
        Numbers of the first new account and item.
    n_rings, seed, density, sizes
        As for `plant_rings`.

    Raises
    ------
    InputError
        As `plant_rings`.
    """
    if not 0 < density <= 1:
        raise InputError(f"density is {density}; it must be above 0 and at most 1")
    there = np.unique(buyers), np.unique(bought)
    for side, least in enumerate((round(TAKEN_OVER * sizes[0][0]), round(OLD_ITEMS * sizes[1][0]))):
        _refuse_too_many(side, there[side], n_rings * least)
    random = np.random.default_rng(seed)
    drawn = [[int(random.integers(least, most + 1)) for least, most in sizes] for _ in range(n_rings)]
    old_sizes = [(round(TAKEN_OVER * a), round(OLD_ITEMS * b)) for a, b in drawn]
    taken = [_old(random, there[side], [pair[side] for pair in old_sizes], side) for side in (0, 1)]
    left, right, rings = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], []
    for (accounts, items), (old_accounts, old_items), a, b in zip(drawn, old_sizes, *taken, strict=True):
        new_accounts = np.arange(n_left, n_left := n_left + accounts - old_accounts)
        new_items = np.arange(n_right, n_right := n_right + items - old_items)
        ring = Ring(np.sort(np.concatenate([a, new_accounts])), np.sort(np.concatenate([b, new_items])))
        rings.append(ring)
        inside = random.random((accounts, items)) < density
        popular = bought[random.integers(0, buyers.size, (new_accounts.size, round(CAMOUFLAGE * items)))]
        active = buyers[random.integers(0, buyers.size, (new_items.size, round(HONEST * accounts)))]
        left += [ring.left[np.nonzero(inside)[0]], np.repeat(new_accounts, popular.shape[1]), active.ravel()]
        right += [ring.right[np.nonzero(inside)[1]], popular.ravel(), np.repeat(new_items, active.shape[1])]
    return Planted(rings, np.concatenate(left), np.concatenate(right), n_left, n_right)


def _old(random: np.random.Generator, there: Int64s, sizes: list[int], side: int) -> list[Int64s]:
    """Different vertices of a side that have edges, so many for each ring."""
    _refuse_too_many(side, there, sum(sizes))
    drawn = random.permutation(there)[: sum(sizes)]
    return [np.sort(part) for part in np.split(drawn, np.cumsum(sizes)[:-1])] if sizes else []


def _refuse_too_many(side: int, there: Int64s, needed: int) -> None:
    if there.size < needed:
        raise InputError(
            f"{('left', 'right')[side]} has {there.size:,} vertices with an edge; so many rings need {needed:,}"
        )
