"""What a search will find and cost, before it: bicliques, ids, bytes and seconds, from a sample.

There is one estimate, that of `kernels.estimate_bicliques`; with it some bicliques are laid out as
a run would write them, to see what one takes (`writing_rate.py`). `bicliq estimate` gives it a
second. A run is planned with a smaller one, which cuts it into partitions, and of which
`forecast.py` makes what is said before the search. But for seconds a graph gives the same numbers
on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import numpy as np

from bicliq import kernels
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.placement.arrays import to_host
from bicliq.pipeline.settings import PublishSettings, SearchSettings
from bicliq.pipeline.stages.writing_rate import writing_rate
from bicliq.pipeline.store.entries import Expected

LADDER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 50)
"""Thresholds that are tried on both sides, from the ones asked for on."""

WORK, WRITTEN = 1 << 23, 1 << 19
"""Nodes of the search that an estimate may take, and bicliques that are written: a second of a
core."""

PLANNED_WORK, PLANNED_WRITTEN = 1 << 19, 1 << 16
"""The same before a run: a tenth of a second of a core, or 2 % of a long search."""

FEW = 1_000_000
"""Bicliques that thresholds leave which are proposed in place of those asked for."""


@dataclass(frozen=True, kw_only=True)
class Estimated(Expected):
    """What the search of a sample lets expect, and more that it saw.

    `side`: the side whose vertices are the roots. `thresholds`: for each pair of thresholds of the
    ladder: min_left, min_right, bicliques, low, high, ids, bytes.
    """

    side: str
    thresholds: list[dict[str, int]] = field(repr=False)

    def as_bound(self) -> Estimated:
        """Return it as a bound: so many are found at most."""
        thresholds = [{**row, "low": 0} for row in self.thresholds]
        return replace(self, low=0, low_ids=0, low_bytes=0, exact=False, thresholds=thresholds)

    def entry(self) -> Expected:
        """What a plan says of it."""
        return Expected(**{each.name: getattr(self, each.name) for each in fields(Expected)})


def expected_output(
    graph: BipartiteGraph,
    asked: SearchSettings,
    side: Literal["auto", "left", "right"],
    publish: PublishSettings | None = None,
    *,
    work: int = WORK,
    written: int = WRITTEN,
    threads: int = 1,
    seed: int = 0,
) -> Estimated:
    """Estimate what the search of a graph finds and costs.

    Parameters
    ----------
    graph
        The graph, reduced to what its thresholds leave.
    asked
        The thresholds.
    side
        The side that the search has its roots on.
    publish
        How what is found is to lie in its files.
    work
        Nodes that the estimate may search; or 2 % of the search, where that is more, up to sixteen
        times as many.
    written
        Bicliques that are written to memory, at most.
    threads
        Threads of the estimate.
    seed
        Of the sample.

    Notes
    -----
    O(n_edges), and the search of the sample.
    """
    host = BipartiteGraph(graph.n_left, graph.n_right, to_host(graph.indptr), to_host(graph.indices))
    found = kernels.estimate_bicliques(
        host.indptr,
        host.indices,
        host.n_right,
        side=side,
        min_left=asked.min_left,
        min_right=asked.min_right,
        min_edges=asked.min_edges,
        left_steps=[step for step in LADDER if step > asked.min_left],
        right_steps=[step for step in LADDER if step > asked.min_right],
        work=work,
        seed=seed,
        threads=threads,
    )
    rate = writing_rate(host, asked, found.side, publish or PublishSettings(), written)
    bytes_an_id = rate.bytes * found.bicliques / max(found.ids, 1)
    return Estimated(
        bicliques=found.bicliques,
        low=found.low,
        high=found.high,
        ids=found.ids,
        low_ids=found.low_ids,
        high_ids=found.high_ids,
        bytes=round(bytes_an_id * found.ids),
        low_bytes=round(bytes_an_id * found.low_ids),
        high_bytes=round(bytes_an_id * found.high_ids),
        exact=found.exact,
        nodes=found.nodes,
        search_seconds=found.seconds,
        write_seconds=rate.seconds * found.bicliques,
        side=found.side,
        thresholds=_thresholds(found, bytes_an_id),
    )


def short(value: float) -> str:
    """A number in a few characters.

    Examples
    --------
    >>> short(930_851_335), short(8_910), short(63), short(0)
    ('931M', '8.91k', '63', '0')
    """
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= 0.9995 * size:
            scaled = value / size
            return f"{scaled:.{max(0, 2 - int(np.log10(max(scaled, 1))))}f}{letter}"
    return f"{value:.0f}"


def with_proposals(found: Estimated, graph: BipartiteGraph, asked: SearchSettings) -> Estimated:
    """Name thresholds that leave few; of very many, where an estimate of their own says so as well.

    A sample that holds fewer than a thousand of what they leave may miss nearly all of it: of a
    crown of 40 × 40, 10⁹ groups in 10¹².
    """
    rows = would_do(found.thresholds)
    if not found.exact and found.bicliques * 1000 > FEW * PLANNED_WRITTEN:
        host = to_host(graph.indptr), to_host(graph.indices), graph.n_right
        rows = would_do([_again(found, row, host, asked) for row in rows])
    return replace(found, would_do=rows)


def _again(found: Estimated, row: dict[str, int], host: tuple[Any, Any, int], asked: SearchSettings) -> dict[str, int]:
    """Estimate what thresholds leave by themselves."""
    how: Any = {name: row[name] for name in ("min_left", "min_right")} | {"side": found.side, "work": PLANNED_WORK}
    threads = kernels.number_of_threads(asked.threads)
    own = kernels.estimate_bicliques(*host, **how, min_edges=asked.min_edges, threads=threads)
    size = round(found.bytes / max(found.ids, 1) * own.ids)
    return {**row, **{name: getattr(own, name) for name in ("bicliques", "low", "high", "ids")}, "bytes": size}


def _thresholds(found: kernels.BicliqueEstimate, bytes_an_id: float) -> list[dict[str, int]]:
    rows = []
    for i, left in enumerate(found.left_steps):
        for j, right in enumerate(found.right_steps):
            value, low, high = (round(float(x)) for x in found.table[i, j])
            ids = round(float(found.ids_table[i, j, 0]))
            of = {"min_left": left, "min_right": right, "bicliques": value, "low": low, "high": high}
            rows.append({**of, "ids": ids, "bytes": round(bytes_an_id * ids)})
    return rows


def is_easy(expected: Expected | None, asked: SearchSettings, n_edges: int) -> bool:
    """Whether fewer bicliques than edges are expected, and none that thresholds hide.

    Words of bits in a dense graph take a thousandth of what a node of another search takes:
    K(5000, 5000) has one biclique, and 10¹¹ paths of two edges.
    """
    hides = max(asked.min_left, asked.min_right, asked.min_edges) > 1
    return expected is not None and not hides and expected.high < n_edges


def would_do(thresholds: list[dict[str, int]]) -> list[dict[str, int]]:
    """Lowest thresholds that leave a number of bicliques that a person can look at.

    Three at most: the one that asks for fewest left vertices, the one with the least sum, and the
    one that asks for fewest right vertices. Thresholds that leave none, as far as the sample shows,
    are named only where there are no others.
    """
    few = [row for row in thresholds if row["high"] <= FEW and row["bicliques"]]
    few = few or [row for row in thresholds if 0 < row["high"] <= FEW]
    orders: tuple[Callable[[dict[str, int]], tuple[int, ...]], ...] = (
        lambda row: (row["min_left"], row["min_right"]),
        lambda row: (row["min_left"] + row["min_right"], row["min_left"]),
        lambda row: (row["min_right"], row["min_left"]),
    )
    chosen: list[dict[str, int]] = []
    for order in orders if few else ():
        best = min(few, key=order)
        if best not in chosen:
            chosen.append(best)
    return chosen
