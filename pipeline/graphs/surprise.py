"""Surprise: how unlikely a biclique is where edges fall by degree, in nats.

The sum of ln(m / (d_u · d_v)) over its edges, as `kernels.top_bicliques` looks for it: m edges in
the graph, d their ends' degrees. It is |L|·|R|·ln m − |R|·Σ ln d_u − |L|·Σ ln d_v, so lists of
members are read once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.graphs.bipartite import BipartiteGraph

Numbers = np.ndarray[Any, Any]


class Surprise:
    """The surprise of bicliques of one graph.

    Parameters
    ----------
    graph
        Whose degrees count.

    Examples
    --------
    >>> graph = BipartiteGraph.from_edges(np.array([0, 0, 1]), np.array([0, 1, 1]), 2, 2)
    >>> lists = pa.table({"left": [[0], [0, 1]], "right": [[0, 1], [1]], "n_left": [1, 2], "n_right": [2, 1]})
    >>> Surprise(graph).of(lists).round(3).tolist()
    [0.118, 0.118]
    """

    def __init__(self, graph: BipartiteGraph) -> None:
        degrees = {"left": graph.left_degrees, "right": graph.right_degrees}
        self._logarithms = {side: np.log(np.maximum(degrees[side], 1)) for side in degrees}
        self._edges = np.log(max(graph.n_edges, 1))

    def of(self, table: pa.Table) -> Numbers:
        """Return the surprise of each biclique of a table of dense ids.

        Parameters
        ----------
        table
            Columns left, right, n_left, n_right; no list is empty.
        """
        n_left, n_right = (table[name].to_numpy().astype(float) for name in ("n_left", "n_right"))
        left, right = (sums_of(table[side], self._logarithms[side]) for side in ("left", "right"))
        return np.asarray(n_left * n_right * self._edges - n_right * left - n_left * right)


def sums_of(lists: Any, weights: Numbers) -> Numbers:
    """Return the sum of the weights of each list, none of which is empty.

    Examples
    --------
    >>> sums_of(pa.chunked_array([[[0, 2], [1]]]), np.array([1.0, 5.0, 3.0])).tolist()
    [4.0, 5.0]
    """
    combined = lists.combine_chunks()
    starts = combined.offsets.to_numpy()
    if len(combined) == 0:
        return np.zeros(0)
    values = weights[combined.values.to_numpy()[starts[0] : starts[-1]]]
    return np.asarray(np.add.reduceat(values, starts[:-1] - starts[0]))
