"""Planted rings: how many of them are found first, by which objective, and by published ways."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.generate import edges
from benchmarks.graphs import read_graph_file
from benchmarks.rings import ACCOUNTS, ITEMS, SMALL, Ring, plant_rings
from benchmarks.suspects import Block, dense_blocks, frequent_itemsets
from bicliq import kernels
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.picture import picture

ROWS, OF_ACCOUNT, OF_ITEM = 30_000, 7.5, 15
"""Purchases of the generated background, and of an account and an item of it on average: its most
active account has some hundred items."""

LEAST = 4
"""Members of a side below which no group is of interest; they are the same for all ways."""

ALIKE = 0.5
"""A ring is found where a group has that share of the union with it, on both sides (Jaccard)."""


def _best(by: Any, diverse: bool) -> Callable[[BipartiteGraph, int], list[Block]]:
    def found(graph: BipartiteGraph, k: int) -> list[Block]:
        best = kernels.top_bicliques(
            graph.indptr,
            graph.indices,
            graph.n_right,
            k,
            by,
            diverse=diverse,
            threads=0,
            min_left=LEAST,
            min_right=LEAST,
        )
        return [(group.left.tolist(), group.right.tolist()) for group in best.groups]

    return found


WAYS: dict[str, Callable[[BipartiteGraph, int], list[Block]]] = {
    "surprise, diverse": _best("surprise", True),
    "surprise": _best("surprise", False),
    "edges, diverse": _best("edges", True),
    "edges": _best("edges", False),
    "FRAUDAR": dense_blocks,
    "frequent itemsets": lambda graph, k: frequent_itemsets(graph, k, LEAST),
}
"""Each gives the first k groups of a graph."""


@dataclass(frozen=True)
class PlantedMeasured:
    """How good the first groups of one way are.

    Parameters
    ----------
    graph, way
        The background, and who looked.
    rings, seeds
        Rings that were planted in it, and graphs that were made so.
    found
        Rings among the first so many groups, on average.
    precision, recall
        After 1, 2, … groups, on average: the share of the accounts in them that are in a ring, and
        the share of the rings' accounts that are in them.
    seconds
        Of one graph, on average.
    """

    graph: str
    way: str
    rings: int
    seeds: int
    found: float
    precision: list[float]
    recall: list[float]
    seconds: float

    def record(self) -> dict[str, Any]:
        """Flat record for JSON."""
        return asdict(self)


def measure_planted(
    graphs: dict[str, Path],
    n_rings: int,
    seeds: int,
    density: float = 1.0,
    *,
    rows: int = ROWS,
    small: bool = False,
    ways: Sequence[str] = tuple(WAYS),
) -> Iterator[PlantedMeasured]:
    """Plant rings in a generated graph and in real ones, and look for them in every way.

    Parameters
    ----------
    graphs
        Parquet files by name.
    n_rings
        Rings a graph, and groups that each way may name.
    seeds
        Graphs that are made of each background, with seeds from 1.
    density
        As of `benchmarks.rings.plant_rings`.
    rows
        Purchases of the generated graph.
    small
        Whether rings have 5 to 8 accounts and items.
    ways
        Those of `WAYS` that look.
    """
    backgrounds: dict[str, Callable[[int], BipartiteGraph]] = {"generated": partial(_skewed, rows)}
    sizes = SMALL if small else (ACCOUNTS, ITEMS)
    for name, path in graphs.items():
        backgrounds[name] = lambda seed, path=path: read_graph_file(path)  # type: ignore[misc]
    for name, background in backgrounds.items():
        planted = [plant_rings(background(seed), n_rings, seed, density, sizes) for seed in range(1, seeds + 1)]
        for way in ways:
            yield _measured(name, way, planted, n_rings)


def _skewed(rows: int, seed: int) -> BipartiteGraph:
    accounts, items = round(rows / OF_ACCOUNT), round(rows / OF_ITEM)
    pairs = np.concatenate([left * items + right for left, right in edges(accounts, items, rows, seed)])
    left, right = np.divmod(np.unique(pairs), items)
    return BipartiteGraph.from_edges(left, right, accounts, items)


def _measured(name: str, way: str, planted: list[tuple[BipartiteGraph, list[Ring]]], k: int) -> PlantedMeasured:
    started = time.perf_counter()
    groups = [WAYS[way](graph, k) for graph, _ in planted]
    seconds = (time.perf_counter() - started) / len(planted)
    curves = np.array([_curve(found, rings, k) for found, (_, rings) in zip(groups, planted, strict=True)]).mean(axis=0)
    found = [sum(_is_found(ring, each) for ring in rings) for each, (_, rings) in zip(groups, planted, strict=True)]
    precision, recall = curves.round(4).tolist()
    return PlantedMeasured(name, way, k, len(planted), float(np.mean(found)), precision, recall, seconds)


def _curve(groups: list[Block], rings: list[Ring], k: int) -> tuple[list[float], list[float]]:
    """Precision and recall of the accounts of the first 1, 2, … k groups."""
    guilty = {u for ring in rings for u in ring.left.tolist()}
    named: set[int] = set()
    precision, recall = [], []
    for i in range(k):
        named |= set(groups[i][0]) if i < len(groups) else set()
        precision.append(len(named & guilty) / max(len(named), 1))
        recall.append(len(named & guilty) / len(guilty))
    return precision, recall


def _is_found(ring: Ring, groups: list[Block]) -> bool:
    sides = [set(ring.left.tolist()), set(ring.right.tolist())]
    return any(
        all(len(own & set(theirs)) >= ALIKE * len(own | set(theirs)) for own, theirs in zip(sides, group, strict=True))
        for group in groups
    )


def draw_planted(records: Sequence[dict[str, Any]], path: str | Path) -> None:
    """Draw precision over recall as groups are added, a panel a graph.

    Raises what `pipeline.picture.picture` does.
    """
    names = list(dict.fromkeys(record["graph"] for record in records))
    with picture(path, 3.4 * len(names) + 1.8, 3.2) as figure:
        panels = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
        for axes, name in zip(panels, names, strict=True):
            for number, way in enumerate(dict.fromkeys(record["way"] for record in records)):
                of = next(r for r in records if (r["graph"], r["way"]) == (name, way))
                axes.plot(of["recall"], of["precision"], marker="o", markersize=3, label=way, color=f"C{number}")
            axes.set(title=name, xlabel="recall of the rings' accounts", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        panels[0].set_ylabel("precision")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", fontsize=8)
