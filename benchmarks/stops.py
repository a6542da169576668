"""How soon each kernel hears an interrupt, and how long it holds Python's lock.

``python -m benchmarks.stops gowalla fimi-chess`` starts every call on each graph four times,
interrupts it at moments drawn by lot, and says the longest waits for the end and for the lock. A
wait for the lock is the least of the four: other processes hold the ticks up as well.
"""

from __future__ import annotations

import contextlib
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal

import numpy as np

from benchmarks.graphs import find_graphs, read_graph_file
from bicliq import kernels
from bicliq.kernels.cpu import load_extension, wait_for

Csr = tuple[np.ndarray, np.ndarray, int]
LONGEST = 2.0
"""Seconds after which a call is interrupted, at most."""
AGAIN = 0.5
"""Seconds after which it is once more: Python loses one in 3,000 where it starts threads."""


def random_rows(n_left: int, n_right: int, n_edges: int) -> Csr:
    """Return a graph drawn by lot, of about so many edges."""
    keys = np.unique(np.random.default_rng(3).integers(0, n_left * n_right, n_edges))
    starts = np.zeros(n_left + 1, np.int64)
    np.cumsum(np.bincount(keys // n_right, minlength=n_left), out=starts[1:])
    return starts, (keys % n_right).astype(np.int32), n_right


def _costs(graph: Csr) -> tuple[np.ndarray, np.ndarray]:
    return np.full(graph[2], 8, np.int64), np.ones(len(graph[0]) - 1, np.int64)


def _new_edges(graph: Csr) -> tuple[np.ndarray, np.ndarray]:
    starts, row, _ = graph
    some = np.flatnonzero(np.diff(starts))[:200]
    return some, row[starts[some]]


def _rows_of_changes(graph: Csr) -> Any:
    n_left, n_right = len(graph[0]) - 1, graph[2]
    hashes = np.arange(n_left, dtype=np.uint64), np.arange(n_right, dtype=np.uint64)
    return kernels.ChangeSearch(*graph, *_new_edges(graph)).find_rows(hashes, "left", np.arange(n_left))


def undirected(graph: Csr) -> tuple[np.ndarray, np.ndarray]:
    """Both sides of a graph as one."""
    starts, row, n_right = graph
    n_left = len(starts) - 1
    other_starts, others = kernels.transpose_rows(starts, row, n_right)
    return np.concatenate([starts, starts[-1] + other_starts[1:]]), np.concatenate([row + np.int32(n_left), others])


def _implications(graph: Csr, basis: Literal["canonical", "direct"]) -> Any:
    with contextlib.suppress(kernels.CapacityError):  # for bits of a large one there is no room
        kernels.find_implications(*graph, basis)


def _baskets(graph: Csr) -> kernels.ClosedSets:
    return kernels.closed_itemsets(*graph, 3)


def _rules(graph: Csr) -> Any:
    return list(_baskets(graph).rules("all"))


CALLS: dict[str, Callable[[Csr], Any]] = {
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
    "clique planned for a card": lambda graph: wait_for(load_extension().plan_cliques(*undirected(graph), 0)),
    "project": lambda graph: kernels.project_one_mode(*graph),
    "changes": lambda graph: kernels.ChangeSearch(*graph, *_new_edges(graph)).find(),
    "changes as rows": _rows_of_changes,
    "transpose": lambda graph: kernels.transpose_rows(*graph),
    "check": lambda graph: kernels.arguments.checked_csr(*graph),
    "starts": lambda graph: kernels.row_starts(np.sort(graph[1]), graph[2]),
    "peel": lambda graph: kernels.peel_rows(graph[0], graph[1].copy(), graph[2], 3, 3),
    "paths": lambda graph: kernels.count_paths(*graph),
    "connect": lambda graph: kernels.connect_rows(*graph),
    "group": lambda graph: kernels.group_roots(graph[0], graph[1], *_costs(graph), 99),
    "cut": lambda graph: kernels.cut_roots(
        graph[0], graph[1], _costs(graph)[0], np.arange(len(graph[0]) - 1), np.zeros(0, np.int64), 10**6
    ),
    "edges": lambda graph: kernels.find_edges(graph[0], graph[1], graph[1][:1_000_000] % 400, graph[1][:1_000_000]),
    "change rows": lambda graph: kernels.change_rows(graph[0], graph[1], None, [0], [1], [True], None, len(graph[0]) - 1),
    "restore": lambda graph: kernels.SideRestorer(*graph),
    "find surprising ones": lambda graph: kernels.top_bicliques(*graph, objective="surprise", k=9),
    "gaps": lambda graph: kernels.groups_with_gaps(*graph, missing=2, k=3),
    "rewire": lambda graph: kernels.rewire_rows(*graph, seed=1),
    "concepts": lambda graph: kernels.find_concepts(*graph),
    "implications": lambda graph: _implications(graph, "canonical"),
    "direct implications": lambda graph: _implications(graph, "direct"),
    "transversals": lambda graph: kernels.minimal_transversals(np.split(graph[1], graph[0][1:60])[:-1], graph[2]),
    "rules": _rules,
    "maximal itemsets": lambda graph: list(_baskets(graph).sets("maximal")),
    "itemsets of few": lambda graph: kernels.closed_itemsets(*graph, 3, max_items=4),
}  # fmt: skip


@contextlib.contextmanager
def ticking() -> Iterator[list[float]]:
    """A thread that wants the lock every millisecond, and the seconds that it waited for it."""
    gaps: list[float] = []
    ended = threading.Event()

    def tick() -> None:
        before = time.perf_counter()
        while not ended.is_set():
            time.sleep(0.001)
            now = time.perf_counter()
            gaps.append(now - before)
            before = now

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        yield gaps
    finally:
        ended.set()
        thread.join()


def heard_after(work: Callable[[], Any], moment: float) -> float | None:
    """Seconds from an interrupt to the end; None where the work was done before."""
    at_work = True

    def interrupt(number: int, frame: Any) -> None:
        if at_work:  # one that comes later would end the process of the tests
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    started = time.monotonic()
    try:
        signal.setitimer(signal.ITIMER_REAL, moment, AGAIN)
        work()
        at_work = False
        return None
    except KeyboardInterrupt:
        return time.monotonic() - started - moment
    finally:
        at_work = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def main(names: list[str]) -> None:
    """Measure all calls on some graphs."""
    for name, path in find_graphs(names).items():
        graph = read_graph_file(path)
        csr = graph.indptr, graph.indices, graph.n_right
        for call, work in CALLS.items():
            heard, held = [0.0], []
            for _ in range(4):
                with ticking() as gaps:
                    heard.append(heard_after(partial(work, csr), LONGEST * random.random()) or 0.0)
                held.append(max(gaps, default=0.0))
            print(f"{name:16} {call:25} heard {1000 * max(heard):5.0f} ms, lock {1000 * min(held):5.0f} ms", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
