"""An interrupt, and a limit of time, are heard in every kernel and in every phase of it."""

from __future__ import annotations

import itertools
import signal
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bicliq import kernels
from tests.nightly import part_of

SLACK = 4.0
"""Seconds within which a kernel has to end, beside other tests: alone it is a fifth of a second."""

MOMENTS = (0.002, 0.02, 0.1, 0.3)
"""Seconds after which it is interrupted: in checks of arrays, in preparation, in the search."""

Csr = tuple[np.ndarray, np.ndarray, int]


def random_rows(n_left: int, n_right: int, n_edges: int) -> Csr:
    keys = np.unique(np.random.default_rng(3).integers(0, n_left * n_right, n_edges))
    starts = np.zeros(n_left + 1, np.int64)
    np.cumsum(np.bincount(keys // n_right, minlength=n_left), out=starts[1:])
    return starts, (keys % n_right).astype(np.int32), n_right


@pytest.fixture(scope="module")
def graphs() -> dict[str, Csr]:
    """One of many edges, where preparation takes long; and one that no search ever gets through."""
    return {"large": random_rows(600_000, 300_000, 2_500_000), "dense": random_rows(400, 400, 100_000)}


def costs(graph: Csr) -> tuple[np.ndarray, np.ndarray]:
    return np.full(graph[2], 8, np.int64), np.ones(len(graph[0]) - 1, np.int64)


def new_edges(graph: Csr) -> tuple[np.ndarray, np.ndarray]:
    starts, row, _ = graph
    some = np.flatnonzero(np.diff(starts))[:200]
    return some, row[starts[some]]


def rows_of_changes(graph: Csr) -> Any:
    n_left, n_right = len(graph[0]) - 1, graph[2]
    hashes = np.arange(n_left, dtype=np.uint64), np.arange(n_right, dtype=np.uint64)
    return kernels.ChangeSearch(*graph, *new_edges(graph)).find_rows(hashes, "left", np.arange(n_left))


def undirected(graph: Csr) -> tuple[np.ndarray, np.ndarray]:
    """Both sides of a graph as one."""
    starts, row, n_right = graph
    n_left = len(starts) - 1
    other_starts, others = kernels.transpose_rows(starts, row, n_right)
    return np.concatenate([starts, starts[-1] + other_starts[1:]]), np.concatenate([row + np.int32(n_left), others])


WORK: dict[str, Callable[[Csr], Any]] = {
    "enumerate": lambda graph: kernels.enumerate_maximal_bicliques(*graph, mode="digest"),
    "enumerate on two threads": lambda graph: kernels.enumerate_maximal_bicliques(*graph, threads=2),
    "stream": lambda graph: list(kernels.stream_maximal_bicliques(*graph)),
    "count": lambda graph: kernels.count_bicliques(*graph, 3, 3),
    "count by levels": lambda graph: kernels.count_bicliques(*graph, 6, 6, method="levels"),
    "count by pivots": lambda graph: kernels.count_bicliques(*graph, 6, 6, method="pivot"),
    "count of vertices": lambda graph: kernels.count_bicliques(*graph, 4, 4, per_vertex=True),
    "count all": lambda graph: kernels.count_all_bicliques(*graph, 9, 9),
    "butterflies": lambda graph: kernels.count_bicliques(*graph, 2, 2, per_vertex=True),
    "find": lambda graph: kernels.top_bicliques(*graph, objective="edges", k=9),
    "find by weight": lambda graph: kernels.top_bicliques(
        *graph, objective="weight", k=9, edge_weights=np.arange(1, len(graph[1]) + 1, dtype=np.float64)
    ),
    "cover": lambda graph: kernels.top_bicliques(*graph, k=9, diverse=True),
    "estimate": lambda graph: kernels.estimate_bicliques(*graph, work=10**9),
    "clique": lambda graph: kernels.maximum_clique(*kernels.project_one_mode(*graph, min_shared=45)),
    "clique of large": lambda graph: kernels.maximum_clique(*undirected(graph)),
    "project": lambda graph: kernels.project_one_mode(*graph),
    "changes": lambda graph: kernels.ChangeSearch(*graph, *new_edges(graph)).find(),
    "changes as rows": rows_of_changes,
    "transpose": lambda graph: kernels.transpose_rows(*graph),
    "peel": lambda graph: kernels.peel_rows(graph[0], graph[1].copy(), graph[2], 3, 3),
    "paths": lambda graph: kernels.count_paths(*graph),
    "connect": lambda graph: kernels.connect_rows(*graph),
    "group": lambda graph: kernels.group_roots(graph[0], graph[1], *costs(graph), 99),
    "cut": lambda graph: kernels.cut_roots(
        graph[0], graph[1], costs(graph)[0], np.arange(len(graph[0]) - 1), np.zeros(0, np.int64), 10**6
    ),
    "edges": lambda graph: kernels.find_edges(graph[0], graph[1], graph[1][:1_000_000] % 400, graph[1][:1_000_000]),
    "change rows": lambda graph: kernels.change_rows(graph[0], graph[1], None, [0], [1], [True], None, len(graph[0]) - 1),
    "restore": lambda graph: kernels.SideRestorer(*graph),
}  # fmt: skip


def heard_after(work: Callable[[], Any], moment: float) -> float | None:
    """Seconds from an interrupt to the end; None where the work was done before."""
    at_work = True

    def interrupt(number: int, frame: Any) -> None:
        if at_work:  # one that comes later would end the process of the tests
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    started = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, moment)
        work()
        at_work = False
        return None
    except KeyboardInterrupt:
        return time.monotonic() - started - moment
    finally:
        at_work = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(("kind", "work"), part_of(itertools.product(("large", "dense"), WORK), 2))
def test_an_interrupt_is_heard_in_every_phase(work: str, kind: str, graphs: dict[str, Csr]) -> None:
    waited = {}
    for moment in MOMENTS:
        seconds = heard_after(lambda: WORK[work](graphs[kind]), moment)
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
