"""An interrupt, and a limit of time, are heard in every kernel and in every phase of it."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.stops import CALLS, Csr, heard_after, random_rows, undirected
from bicliq import kernels
from tests.nightly import NIGHTLY

SLACK = 2.0
"""Seconds within which a kernel has to end, beside other tests: alone it is a fifth of a second."""

MOMENTS = (0.002, 0.02, 0.1, 0.3) if NIGHTLY else (0.002, 0.02, 0.1)
"""Seconds after which it is interrupted: in checks of arrays, in preparation, in the search."""


KINDS = ("large", "dense")
CASES = itertools.product(KINDS, CALLS) if NIGHTLY else zip(itertools.cycle(KINDS), CALLS, strict=False)


@pytest.fixture(scope="module")
def graphs() -> dict[str, Csr]:
    """One of many edges, where preparation takes long; and one that no search ever gets through."""
    return {"large": random_rows(600_000, 300_000, 2_500_000), "dense": random_rows(400, 400, 100_000)}


@pytest.mark.parametrize(("kind", "work"), CASES)
def test_an_interrupt_is_heard_in_every_phase(work: str, kind: str, graphs: dict[str, Csr]) -> None:
    waited = {}
    for moment in MOMENTS:
        seconds = heard_after(lambda: CALLS[work](graphs[kind]), moment)
        if seconds is None:
            break
        waited[moment] = seconds
    print(work, kind, {moment: f"{1000 * seconds:.0f} ms" for moment, seconds in waited.items()})
    assert all(seconds < SLACK for seconds in waited.values()), waited


TIMED: dict[str, Callable[[Csr, float], Any]] = {
    "find": lambda graph, limit: kernels.top_bicliques(*graph, objective="edges", k=9, time_limit=limit),
    "cover": lambda graph, limit: kernels.top_bicliques(*graph, k=9, diverse=True, time_limit=limit),
    "clique": lambda graph, limit: kernels.maximum_clique(graph[0], graph[1], time_limit=limit),
}


@pytest.mark.parametrize("kind", ["large", "dense"])
@pytest.mark.parametrize("work", TIMED)
def test_a_limit_of_time_is_heard_in_every_phase(work: str, kind: str, graphs: dict[str, Csr]) -> None:
    graph = graphs[kind]
    if work == "clique":
        graph = (*undirected(graph), 0)
    for limit in MOMENTS[1:]:
        started = time.monotonic()
        found = TIMED[work](graph, limit)
        seconds = time.monotonic() - started
        print(work, kind, f"limit {limit}: {seconds:.3f} s", found.proven)
        assert seconds < limit + SLACK
