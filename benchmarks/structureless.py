"""Tables without structure: how often chance alone gives a group that surprise calls news.

`python -m benchmarks.structureless 200 60` draws so many tables, asks each for a group above what
chance gives, so many seconds at most, and prints a line a table and what all come to. Customers and
items are drawn apart: their activity is lognormal, their popularity Zipf's.
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from bicliq import kernels
from bicliq.pipeline.graphs.bipartite import BipartiteGraph

PURCHASES = 10_000, 300_000
"""Least and most draws of a table; a pair that is drawn again is one edge."""

CUSTOMERS, ITEMS = 15, 100
"""Purchases a customer, and an item, on average."""


def structureless(seed: int) -> BipartiteGraph:
    """Draw a table, with exponents of Zipf from 0.6 to 1.2 and spreads of activity from 0.5 to 1.5.

    Examples
    --------
    >>> graph = structureless(1)
    >>> graph.n_edges < 300_000, graph.n_left > graph.n_right
    (True, True)
    """
    random = np.random.default_rng(seed)
    n = int(np.exp(random.uniform(*np.log(PURCHASES))))
    n_left, n_right = n // CUSTOMERS, n // ITEMS
    popularity = np.arange(1, n_right + 1) ** -random.uniform(0.6, 1.2)
    activity = random.lognormal(0, random.uniform(0.5, 1.5), n_left)
    left = random.choice(n_left, n, p=activity / activity.sum())
    right = random.choice(n_right, n, p=popularity / popularity.sum())
    pairs = np.unique(left * n_right + right)
    return BipartiteGraph.from_edges(pairs // n_right, pairs % n_right, n_left, n_right)


def best_of(seed: int, time_limit: float) -> dict[str, Any]:
    """Ask a table for its best group above 0 by surprise: none is the right answer."""
    graph, started = structureless(seed), time.perf_counter()
    found = kernels.top_bicliques(
        graph.indptr, graph.indices, graph.n_right, 1, "surprise", threads=1, min_value=0.0, time_limit=time_limit
    )
    best = [(round(group.value, 2), group.left.size, group.right.size) for group in found.groups]
    seconds = round(time.perf_counter() - started, 2)
    return {"seed": seed, "edges": graph.n_edges, "best": best, "proven": found.proven, "seconds": seconds}


def main(n: int, time_limit: float) -> None:
    """Ask so many tables on all cores; print a line a table, and what all come to."""
    with ProcessPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        rows = []
        for row in pool.map(partial(best_of, time_limit=time_limit), range(n)):
            print(json.dumps(row), flush=True)
            rows.append(row)
    above, proven = sum(bool(row["best"]) for row in rows), sum(row["proven"] for row in rows)
    seconds = sorted(row["seconds"] for row in rows)
    print(f"{n} tables: {above} with a group above chance, {proven} proven, median {seconds[n // 2]} s of a thread")


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
