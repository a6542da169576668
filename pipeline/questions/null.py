"""What the same question finds in random tables of the same degrees: p-values of groups."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from bicliq import kernels
from bicliq.pipeline.events import warn
from bicliq.pipeline.graphs.bipartite import BipartiteGraph

Best = Callable[[Any, float, float | None], kernels.FindResult]
"""The best group of a table with other columns that is worth so much, in so many seconds."""


def compare(
    graph: BipartiteGraph, values: Sequence[float], tables: int, seed: int, seconds: float | None, best: Best
) -> dict[str, Any]:
    """Ask rewired tables for their best group, and say how often it reaches each value.

    Parameters
    ----------
    graph
        The table.
    values
        What its groups are worth.
    tables, seed
        How many random tables, and which: table i is that of seed + i.
    seconds
        For all of them together; None: no limit.
    best
        How to look for the best of one.

    Returns
    -------
    dict
        asked, tables (that were looked at in time), seed, unproven (whose search did not end: they
        count as if they reached every value), and p, a list: of each value the share of tables,
        this one among them, whose best reaches it. As the best of a table is one of all its groups,
        p is corrected for all of them.
    """
    started, reached, unproven, done = time.monotonic(), [0] * len(values), 0, 0
    for number in range(tables if values else 0):
        left = None if seconds is None else seconds - (time.monotonic() - started)
        if left is not None and left <= 0:
            warn("the time limit ended the comparison with random tables", tables=done, asked=tables)
            break
        columns = kernels.rewire_rows(graph.indptr, graph.indices, graph.n_right, seed + number)
        result = best(columns, min(values), left)
        most = max((group.value for group in result.groups), default=None)
        unproven += not result.proven
        reached = [
            n + (not result.proven or (most is not None and most >= value))
            for n, value in zip(reached, values, strict=True)
        ]
        done += 1
    shares = [(1 + n) / (1 + done) for n in reached]
    return {"asked": tables, "tables": done, "seed": seed, "unproven": unproven, "p": shares}
