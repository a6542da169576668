"""What bicliques are worth by an objective: from their sizes, from the graph, or from a column."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bicliq import kernels
from bicliq.pipeline.store.acted import Acted, groups_of
from bicliq.pipeline.store.bicliques import batches_of
from bicliq.pipeline.store.edges import read_edge_columns
from bicliq.pipeline.store.layout import GraphFolder

By = Literal["edges", "vertices", "balanced", "left", "right", "surprise"]

Floats = npt.NDArray[np.float64]


def of_sizes(by: By, left: Any, right: Any) -> Any:
    """Return what bicliques of so many left and right vertices are worth.

    Examples
    --------
    >>> int(of_sizes("edges", 3, 4)), int(of_sizes("balanced", 3, 4))
    (12, 3)
    """
    values = {"edges": left * right, "vertices": left + right, "balanced": np.minimum(left, right), "left": left}
    return {**values, "right": right}[by]


class Surprise:
    """How far bicliques of a stored graph are beyond chance, in nats: see `kernels.SurpriseTerms`.

    Of groups in step: see `pipeline.graphs.moments.ByChance`. The graph is read when it is first
    asked for.

    `graph`: whose degrees count.

    Examples
    --------
    >>> from bicliq.pipeline.run import run
    >>> from bicliq.pipeline.settings import Settings
    >>> from bicliq.pipeline.store.layout import Store
    >>> summary = run(pa.table({"a": ["x", "x", "y"], "b": ["s", "t", "t"]}), Settings(store="memory://surprise"))
    >>> lists = pa.table({"left": [[0], [0, 1]], "right": [[0, 1], [1]], "root": [0, 0]})
    >>> Surprise(Store.open("memory://surprise").graph(summary.graph)).of(lists).round(3).tolist()
    [-3.169, -3.168]
    """

    def __init__(self, graph: GraphFolder) -> None:
        self.graph = graph

    def __getstate__(self) -> dict[str, Any]:
        return {"graph": self.graph}  # another process reads the graph itself

    def of(self, table: pa.Table) -> Floats:
        """Return the surprise of each biclique of dense ids: columns left, right, root."""
        if self.acted is not None:
            return np.array([self.acted.worth(*group)[0] for group in groups_of(table)], float)
        values = [self.terms.of(batch) for batch in batches_of(table)]
        return np.concatenate([np.zeros(0), *values])

    def expected(self, table: pa.Table) -> Floats:
        """Return how many edges chance gives each biclique of dense ids."""
        if self.acted is not None:
            return np.array([self.acted.worth(*group)[1] for group in groups_of(table)], float)
        return np.array([self.terms.expected(*group) for group in groups_of(table)], float)

    def of_group(self, left: Any, right: Any) -> tuple[float, float]:
        """Return the surprise of a group of dense ids, and how many edges chance gives it."""
        return self.terms.of_group(left, right) if self.acted is None else self.acted.worth(left, right)

    @cached_property
    def acted(self) -> Acted | None:
        """When its vertices acted, of groups in step."""
        return Acted.of(self.graph)

    @cached_property
    def terms(self) -> kernels.SurpriseTerms:
        """What it is made of."""
        record = self.graph.record()
        ends = read_edge_columns(self.graph)
        left, right = (np.bincount(end, minlength=n) for n, end in zip(record.sizes, ends, strict=True))
        return kernels.SurpriseTerms.of_degrees(left, right)
