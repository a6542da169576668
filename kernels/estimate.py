"""How many maximal bicliques there are, without finding them all."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np

from bicliq.kernels.arguments import whole_number
from bicliq.kernels.contracts import EnumerationRequest, Side
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.cuda.device import multiprocessors
from bicliq.kernels.enumeration import LARGEST_SIZE, AskedOfAll, checked_request
from bicliq.kernels.errors import memory_is_capacity
from bicliq.kernels.machine import Backend, why_not

WORK = 1 << 23
"""Work that an estimate may take, in nodes of the search: about a second of a core."""

SHARE = 0.02
"""Of the work of the full search, which the estimate may take instead where that is more."""

NODE_WORK = 4096
"""Work after which a node is opened instead of searched."""

FIRST_NODES = 2
PILOT_SHARE = 8
"""One in so many parts of the work goes to a small estimate from each side. To lay the graph out
for one takes as long as a node an edge, and is worth a small estimate of one in so many parts of
that."""

LARGE_EDGES = 1 << 21
"""Edges that take a fifth of a second to lay out."""

QUANTILE = 1.753
"""Of Student's t with 15 degrees of freedom: nine in ten lie between it and its negative."""

SKEW = 1.25
"""Times a normal interval of the logarithm: sums of few heavy parts are skewed
(docs/results.md)."""

GPU_NODES = 11_500_000
"""Nodes that a multiprocessor searches in a second: the middle of ten graphs on an H200, of which
most lie within half and twice as much (docs/results.md)."""

GPU_START = 0.004
"""Seconds of a search on a GPU before its first node."""

MOST_STEPS, WIDEST_STEPS = 32, 1 << 20
"""Thresholds of a side, and the largest less the least of them."""


@dataclass(frozen=True, eq=False)
class BicliqueEstimate:
    """What a search for maximal bicliques is expected to find.

    Attributes
    ----------
    bicliques, low, high : int
        Their number, and the interval that holds the truth in nine cases of ten.
    ids, low_ids, high_ids : int
        The same of the sizes of both sides, summed.
    exact : bool
        Whether everything was searched; then the intervals are their values.
    seconds : float
        What one thread of this machine takes to search it all, preparation included.
    nodes : int
        Nodes of the full search, estimated.
    side : {"left", "right"}
        The side that a search would have its roots on.
    left_steps, right_steps : tuple of int
        Thresholds of the table.
    table : array of float, shape (len(left_steps), len(right_steps), 3)
        For each pair of thresholds: bicliques, low, high. Where the sample had none but is not
        everything, the high end is that of the lower thresholds next to it, which is certainly no
        less; and 0 where no thresholds had any.
    ids_table : array of float, of the same shape
    work : int
        Nodes that the estimate searched.
    """

    bicliques: int
    low: int
    high: int
    ids: int
    low_ids: int
    high_ids: int
    exact: bool
    seconds: float
    nodes: int
    side: Side
    left_steps: tuple[int, ...]
    right_steps: tuple[int, ...]
    table: Any = field(repr=False)
    ids_table: Any = field(repr=False)
    work: int = 0


@memory_is_capacity
def estimate_bicliques(
    indptr: Any,
    indices: Any,
    n_right: int,
    *,
    left_steps: Any = (),
    right_steps: Any = (),
    work: int = WORK,
    share: float = SHARE,
    seed: int = 0,
    one_side: bool = False,
    **asked: Unpack[AskedOfAll],
) -> BicliqueEstimate:
    """Estimate the number of maximal bicliques, and of the ids in their lists.

    Parameters
    ----------
    indptr, indices, n_right
        CSR of the left side, as of `enumerate_maximal_bicliques`.
    left_steps, right_steps : sequence of int
        Higher thresholds for which the number is wanted as well, ascending.
    work : int
        What the estimate may take, in nodes of the search; a core does some millions a second.
    share : float
        Share of the full search that it may take where that is more, up to sixteen times `work`.
    seed : int
        Of the random ways down. Seed and work give the same numbers on every machine, with any
        number of threads; only `seconds` is measured.
    one_side : bool
        Take all random ways from the side of the search, whether or not they scatter less from the
        other: to lay the graph out once is a third of a small estimate.
    **asked
        side, min_left, min_right, min_edges and threads, as of `enumerate_maximal_bicliques`.

    Returns
    -------
    BicliqueEstimate

    Raises
    ------
    CapacityError
        If an id or a size is beyond 32 bits, a thread cannot be started, or memory runs out.
    ValueError
        If the arrays are no CSR matrix of whole numbers, a threshold is below 1, or steps do not
        ascend.

    Notes
    -----
    The value is right on average over seeds; the interval comes from 16 independent batches and
    has been calibrated (docs/results.md). See `src/estimate/sampled_search.hpp` for the method and
    its papers. Random ways are taken from the side where they scatter less; in a graph of over two
    million edges whose search has fewer nodes than these from its own side, since to lay the graph
    out takes most of the time.

    Examples
    --------
    A small graph is searched whole:

    >>> found = estimate_bicliques([0, 2, 4, 5], [0, 1, 0, 1, 0], 2)
    >>> found.bicliques, found.low, found.high, found.ids, found.exact
    (2, 2, 2, 8, True)
    """
    request = checked_request(indptr, indices, n_right, "cpu", **asked)
    steps = _steps("left_steps", left_steps, request.min_left), _steps("right_steps", right_steps, request.min_right)
    if not 0 <= share < 1:
        raise ValueError(f"share is {share}; it must be at least 0 and below 1")
    allowed = whole_number("work", work, most=2**50)
    sampler = _Sampler(request, steps, whole_number("seed", seed, least=0, most=2**53))
    sample, here = (sampler.once if one_side else sampler.whole)(request.side, allowed, share)
    return _estimate(sample, here, steps, sampler.work)


def gpu_seconds(nodes: int) -> float | None:
    """Say what a search of so many nodes takes the GPU of this machine, in seconds.

    None where there is none. It is a rate of all graphs, not one seen on the graph at hand.

    Examples
    --------
    >>> from bicliq import kernels
    >>> (gpu_seconds(1000) is None) == (kernels.why_not("cuda") is not None)
    True
    """
    if why_not(Backend.CUDA) is not None:
        return None
    return GPU_START + nodes / (GPU_NODES * multiprocessors())


class _Sample:
    """What the batches of one run found, over the table of thresholds."""

    def __init__(self, run: Any, side: Side, shape: tuple[int, int]) -> None:
        told = run.result()
        batches = told["batches"]
        self.side, self.laid_out, self.exact, self.work = side, run, bool(told["exact"]), told["work"]
        sums = [(batch.found, batch.ids) for batch in batches]
        cells = np.array(sums).reshape(len(sums), 2, *(shape if side == "right" else shape[::-1]))
        if side == "left":
            cells = cells.swapaxes(2, 3)  # columns were the left side
        reached = cells[:, :, ::-1, ::-1].cumsum(2).cumsum(3)[:, :, ::-1, ::-1]
        self.found, self.ids = reached[:, 0], reached[:, 1]
        prepare = float(told["prepare_seconds"])
        self.seconds = prepare + float(np.mean([batch.seconds for batch in batches]))
        self.first_seconds = prepare + float(np.mean([batch.root_seconds for batch in batches]))
        self.nodes = round(float(np.mean([batch.nodes for batch in batches])))

    @property
    def node_seconds(self) -> float:
        """Seconds of a node below the roots; 0 where no search was large enough to be timed."""
        return (self.seconds - self.first_seconds) / max(self.nodes, 1)

    @property
    def doubt(self) -> float:
        """How much a batch scatters, relative to the mean, and over the mean once more.

        Of two small samples the one that says less is more likely to have missed what is rare.
        """
        found = self.found[:, 0, 0]
        mean = float(found.mean())
        return float(found.std(ddof=1)) / mean**2 if mean > 0 else math.inf


class _Sampler:
    def __init__(self, request: EnumerationRequest, steps: tuple[list[int], list[int]], seed: int) -> None:
        self._request, self._steps, self._seed = request, steps, seed
        self.work = 0

    def whole(self, side: Side, work: int, share: float) -> tuple[_Sample, _Sample]:
        """Return the estimate, and one from the side of the search, which says its cost.

        The estimate is made from the side that scatters less. Where the search of a large graph has
        fewer nodes than the graph has edges, most of its time goes into laying the graph out, and
        that is done once.
        """
        n_edges = len(self._request.indices)
        small = max(work, n_edges) // PILOT_SHARE
        here = self._sample(side, small, 0, 0)
        if here.exact:
            return here, here
        if n_edges >= LARGE_EDGES and here.nodes < n_edges:
            left = work - small - n_edges
            sample = here if left < small else self._again(here, left, share)
            if sample.nodes < n_edges:  # a small sample may have missed what takes most of it
                return sample, here
            del sample  # and the graph with it: one at a time
        left = max(work - 2 * small, small)
        here.laid_out = None
        pilot = self._sample("left" if side == "right" else "right", small, 0, 0)
        if pilot.exact:
            return pilot, here
        if pilot.doubt < here.doubt:
            return self._again(pilot, left, share), here
        pilot.laid_out = None
        return self._sample(side, left, share, 1), here

    def once(self, side: Side, work: int, share: float) -> tuple[_Sample, _Sample]:
        """Return the estimate of one sample, from the side of the search."""
        here = self._sample(side, work, share, 0)
        return here, here

    def _sample(self, side: Side, work: int, share: float, part: int) -> _Sample:
        """One sample; each part has random numbers of its own."""
        request, seed = self._request, 2 * self._seed + part
        graph = request.indptr, request.indices, request.n_right, side == "left"
        limits = *self._steps, request.min_edges, work, share, NODE_WORK, FIRST_NODES, seed
        return self._ended(load_extension().Estimate(*graph, *limits, request.threads), side)

    def _again(self, sample: _Sample, work: int, share: float) -> _Sample:
        """Another sample of the graph as it was laid out."""
        run = load_extension().Estimate(sample.laid_out, work, share, 2 * self._seed + 1)
        return self._ended(run, sample.side)

    def _ended(self, run: Any, side: Side) -> _Sample:
        sample = _Sample(run, side, (len(self._steps[0]), len(self._steps[1])))
        self.work += sample.work
        return sample


def _intervals(batches: Any) -> Any:
    """The mean of batches over a table, and where the truth lies in nine cases of ten."""
    mean = batches.mean(0)
    relative = batches.std(0, ddof=1) / (np.maximum(mean, 1e-300) * math.sqrt(len(batches)))
    reach = np.exp(SKEW * QUANTILE * np.sqrt(np.log1p(relative**2)))
    return np.stack([mean, mean / reach, mean * reach], axis=-1)


def _estimate(sample: _Sample, here: _Sample, steps: tuple[list[int], list[int]], work: int) -> BicliqueEstimate:
    """Put the batches together; `here`: a sample on the side of the search, which says its cost."""
    table, ids_table = _intervals(sample.found), _intervals(sample.ids)
    if not sample.exact:
        for values in (table, ids_table):
            _bound_unseen(values)
    nodes, seconds = sample.nodes, sample.seconds
    if sample.side != here.side:
        # A small sample may have timed no node.
        nodes = round(table[0, 0, 0] / max(here.found[:, 0, 0].mean(), 1) * here.nodes)
        seconds = here.first_seconds + nodes * max(here.node_seconds, sample.node_seconds)
    bicliques, low, high = (round(float(value)) for value in table[0, 0])
    ids, low_ids, high_ids = (round(float(value)) for value in ids_table[0, 0])
    return BicliqueEstimate(
        bicliques=bicliques,
        low=low,
        high=high,
        ids=ids,
        low_ids=low_ids,
        high_ids=high_ids,
        exact=sample.exact,
        seconds=seconds,
        nodes=nodes,
        side=here.side,
        left_steps=tuple(steps[0]),
        right_steps=tuple(steps[1]),
        table=table,
        ids_table=ids_table,
        work=work,
    )


def _bound_unseen(table: Any) -> None:
    """Thresholds of which nothing was seen leave no more than lower ones do."""
    for i, j in zip(*np.nonzero(table[..., 0] == 0), strict=True):
        table[i, j, 2] = min((table[at][2] for at in ((i - 1, j), (i, j - 1)) if min(at) >= 0), default=0)


def _steps(name: str, given: Any, least: int) -> list[int]:
    """Thresholds of one side: the least, and those above it."""
    steps = [whole_number(name, step, most=LARGEST_SIZE) for step in given]
    if any(a >= b for a, b in itertools.pairwise(steps)):
        raise ValueError(f"{name} are {steps}; give them in ascending order, each once")
    if len(steps) > MOST_STEPS:
        raise ValueError(f"{name} has {len(steps)} thresholds; {MOST_STEPS} are the most")
    kept = [least, *(step for step in steps if step > least)]
    if kept[-1] - least > WIDEST_STEPS:
        raise ValueError(f"{name} holds {kept[-1]}, more than {WIDEST_STEPS} above the least threshold, {least}")
    return kept
