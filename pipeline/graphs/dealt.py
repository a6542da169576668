"""Random tables of actions: who acted is drawn by lot, and when is dealt anew at each thing.

Every left and every right vertex keeps how many others it acts with (`kernels.rewire_rows` draws
such a table). Who acts on a right vertex is then dealt the times of those who acted on it: one of
them all times of one of these. So each right vertex has its actions at the same moments, in the
same bundles, and only whose they are is by lot.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bicliq.pipeline.graphs.actions import Int32s
from bicliq.pipeline.graphs.bipartite import BipartiteGraph


class Dealer:
    """Deals the actions of a table among the left vertices of random ones.

    Parameters
    ----------
    left, right
        int32: both ends of each action.
    graph
        Its edges.

    Examples
    --------
    >>> graph = BipartiteGraph.from_edges([0, 1], [0, 0], 2, 1)
    >>> deal = Dealer(np.int32([0, 0, 1]), np.int32([0, 0, 0]), graph)
    >>> sorted({tuple(deal(graph.indices, seed).tolist()) for seed in range(9)})
    [(0, 0, 1), (1, 1, 0)]
    """

    def __init__(self, left: Int32s, right: Int32s, graph: BipartiteGraph) -> None:
        edges = (graph.edge_left.astype(np.int64) << 32) | graph.indices
        self._edge_of_row = np.searchsorted(edges, (left.astype(np.int64) << 32) | right)
        self._by_right = np.argsort(graph.indices, kind="stable")
        self._edge_left = graph.edge_left

    def __call__(self, columns: Any, seed: int) -> Int32s:
        """Return who does each action in a random table with these columns, by a seed."""
        drawn = np.random.default_rng(seed).random(len(self._edge_left))
        who = np.empty(len(self._edge_left), np.int32)
        who[self._by_right] = self._edge_left[np.lexsort((drawn, columns))]
        found: Int32s = who[self._edge_of_row]
        return found
