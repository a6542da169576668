"""What a search will find and cost, before it: bicliques, ids, bytes and seconds, from a sample.

There is one estimate, that of `kernels.estimate_bicliques`; with it some bicliques are laid out as
a run would write them, to see what an id takes. `bicliq estimate` gives it a second. A run is
planned with a smaller one, which cuts it into partitions, and of which `forecast.py` makes what is
said before the search. But for seconds a graph gives the same numbers on every machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

import kernels
from pipeline.graphs.bipartite import BipartiteGraph
from pipeline.placement.arrays import to_host
from pipeline.settings import PublishSettings, SearchSettings
from pipeline.store.biclique_file import layout_of

LADDER = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 50)
"""Thresholds that are tried on both sides, from the ones asked for on."""

WORK, WRITTEN = 1 << 23, 1 << 16
"""Nodes of the search that an estimate may take, and bicliques that are written: a second of a
core."""

PLANNED_WORK, PLANNED_WRITTEN = 1 << 19, 1 << 14
"""The same before a run: a tenth of a second of a core, or 2 % of a long search."""

FEW = 1_000_000
"""Bicliques that thresholds leave which are proposed in place of those asked for."""

WRITTEN_A_PART = 1 << 13
"""So many of them are found by one search, below roots of its own."""

WRITTEN_ROOTS = 256
"""Roots below which they are taken; bicliques of one root are more alike than those of a run."""

SEED = 20_260_101


@dataclass(frozen=True)
class Expected:
    """What a search is expected to find, and to cost.

    Parameters
    ----------
    bicliques, low, high
        Maximal bicliques that pass the thresholds, and where their number lies in nine cases of
        ten.
    ids, low_ids, high_ids
        Ids in their lists.
    bytes, low_bytes, high_bytes
        Size of the Parquet files.
    exact
        Whether all bicliques were counted; bytes are an estimate nevertheless.
    nodes
        Nodes of the search: its work.
    search_seconds, write_seconds
        Of one thread of the machine that made the estimate.
    side
        The side whose vertices are the roots.
    thresholds
        For each pair of thresholds of the ladder: min_left, min_right, bicliques, low, high, ids,
        bytes.
    """

    bicliques: int
    low: int
    high: int
    ids: int
    low_ids: int
    high_ids: int
    bytes: int
    low_bytes: int
    high_bytes: int
    exact: bool
    nodes: int
    search_seconds: float
    write_seconds: float
    side: str
    thresholds: list[dict[str, int]] = field(repr=False)

    def record(self) -> dict[str, Any]:
        """Plain record for JSON, without the thresholds."""
        return {name: value for name, value in vars(self).items() if name not in ("thresholds", "side")}


@dataclass(frozen=True)
class WritingRate:
    """What writing bicliques takes.

    Parameters
    ----------
    bytes
        Bytes of Parquet an id.
    seconds
        Seconds of one thread an id, the search left out.
    """

    bytes: float
    seconds: float


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
) -> Expected:
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
        Bicliques that are written to memory.
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
    rate = writing_rate(host, asked, found.side, publish, written)
    return Expected(
        bicliques=found.bicliques,
        low=found.low,
        high=found.high,
        ids=found.ids,
        low_ids=found.low_ids,
        high_ids=found.high_ids,
        bytes=round(rate.bytes * found.ids),
        low_bytes=round(rate.bytes * found.low_ids),
        high_bytes=round(rate.bytes * found.high_ids),
        exact=found.exact,
        nodes=found.nodes,
        search_seconds=found.seconds,
        write_seconds=rate.seconds * found.ids,
        side=found.side,
        thresholds=_thresholds(found, rate),
    )


def writing_rate(
    graph: Any, asked: SearchSettings, side: Any, publish: PublishSettings | None, written: int = WRITTEN
) -> WritingRate:
    """Lay some bicliques of a graph out as row groups of a file, and see what an id takes."""
    degrees = np.asarray(graph.left_degrees if side == "left" else graph.right_degrees, np.float64)
    if not degrees.any():
        return WritingRate(0.0, 0.0)
    random = np.random.default_rng(SEED)
    n = min(WRITTEN_ROOTS, int((degrees > 0).sum()))
    roots = np.sort(random.choice(degrees.size, n, replace=False, p=degrees / degrees.sum())).astype(np.int32)
    batches = []
    for chosen in np.array_split(random.permutation(roots), min(n, -(-written // WRITTEN_A_PART))):
        stream = kernels.stream_maximal_bicliques(
            graph.indptr,
            graph.indices,
            graph.n_right,
            side=side,
            roots=np.sort(chosen),
            min_left=asked.min_left,
            min_right=asked.min_right,
            min_edges=asked.min_edges,
            max_bicliques=WRITTEN_A_PART,
        )
        with stream:
            batches += list(stream)
    ids = sum(len(batch.left) + len(batch.right) for batch in batches)
    terms = None
    if publish is not None and "surprise" in publish.objectives:  # once a run, however many ids there are
        terms = kernels.SurpriseTerms.of_degrees(graph.left_degrees, graph.right_degrees, graph.n_edges)
    layout = layout_of(publish or PublishSettings(), terms)
    started = time.process_time()
    size = sum(len(kernels.encode_bicliques(batch, layout).data) for batch in batches)
    seconds = time.process_time() - started
    return WritingRate(size / ids, seconds / ids) if ids else WritingRate(0.0, 0.0)


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


def _thresholds(found: kernels.BicliqueEstimate, rate: WritingRate) -> list[dict[str, int]]:
    rows = []
    for i, left in enumerate(found.left_steps):
        for j, right in enumerate(found.right_steps):
            value, low, high = (round(float(x)) for x in found.table[i, j])
            ids = round(float(found.ids_table[i, j, 0]))
            of = {"min_left": left, "min_right": right, "bicliques": value, "low": low, "high": high}
            rows.append({**of, "ids": ids, "bytes": round(rate.bytes * ids)})
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
