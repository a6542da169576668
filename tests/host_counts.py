"""The kernels of (p,q)-counts in Python, from their definitions, or the device's own on threads."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from bicliq.kernels import _cpu_warps as warps
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.cuda import butterflies, counting, pivots, table
from bicliq.kernels.cuda.batches import Failure
from tests.host_kernels import ARENA_WORDS_A_ROOT, Launch, at


def count_roots(grid: Any, block: Any, arguments: Any) -> None:
    """All of a count, by its definition."""
    run = Launch(counting.RUN, counting.COUNTERS, arguments[0])
    starts = at(run.root_start, run.n_vertices + 1, np.uint64).astype(int)
    rows = at(run.root_rows, max(starts[-1], 1), np.uint32)
    lists = [set(rows[starts[v] : starts[v + 1]].tolist()) for v in range(run.n_vertices)]
    low, high = (at(pointer, max(map(len, lists)) + 1, np.uint64) for pointer in (run.table_low, run.table_high))
    assert at(run.binomials, counting.SMALL**2, np.uint32)[4 * counting.SMALL + 2] == comb(4, 2)
    if run.grids and run.p + run.grids > 3:
        return make_grids(run, lists)
    total = 0
    for root in at(run.roots, run.n_roots, np.uint32).tolist():
        if run.add("arena_used", ARENA_WORDS_A_ROOT) + ARENA_WORDS_A_ROOT > run.arena_words:
            return run.fail(Failure.ARENA_FULL)
        run.add("work", 1)
        for others in combinations(range(root + 1, run.n_vertices), run.p - 1):
            common = len(lists[root].intersection(*(lists[v] for v in others)))
            total += (int(high[common]) << 64) + int(low[common])
    if total >= counting.TOO_LARGE:  # one choice may be all ones, which stand for what does not fit
        run.write("too_large", 1)
    totals = at(run.totals, 2 * grid[0] * block[0] // 32, np.uint64)
    totals[-2:] = total % 2**64, (total >> 64) % 2**64
    return None


def make_grids(run: Launch, lists: list[set[int]]) -> None:
    """The later vertices that share q rows with a root, as masks over its rows."""
    for root in at(run.roots, run.n_roots, np.uint32).tolist():
        rows = sorted(lists[root])
        later = [(sum(1 << i for i, row in enumerate(rows) if row in lists[v]), v) for v in range(root + 1, len(lists))]
        columns = sorted((one for one in later if one[0].bit_count() >= run.q), key=lambda one: one[0].bit_count())
        masks = [mask for mask, _ in columns]
        if len(masks) + 1 < run.p:
            continue
        words, stride = -(-len(rows) // 32), (len(masks) + 63) // 32 * 32
        both = words * stride + -(-len(masks) // 32) * ((len(rows) + 63) // 32 * 32)
        size = both + (len(masks) + len(rows) + 1 if run.grids == 2 else 0)
        first = run.add("arena_used", size)
        if first + size > run.arena_words:
            return run.fail(Failure.ARENA_FULL)
        place = run.add("n_nodes", 1)
        if place >= run.node_capacity:
            return run.fail(Failure.TASKS_FULL)
        node = np.array([(first, len(masks), stride, words, len(rows))], pivots.NODE.dtype).view(np.uint8)
        at(run.nodes, run.node_capacity * pivots.NODE.size, np.uint8).reshape(-1, pivots.NODE.size)[place] = node
        grid = at(run.arena, run.arena_words, np.uint32)[first : first + size]
        if run.grids == 2:
            grid[both:] = [*(v for _, v in columns), *rows, root]
        grid[words * stride : both] = 2**32 - 1  # what the device leaves there is not known
        table = grid[: words * stride].reshape(words, stride)
        table[:] = 0
        for k in range(words):
            table[k, : len(masks)] = [mask >> (32 * k) & (2**32 - 1) for mask in masks]
    return None


def open_pivots(grid: Any, block: Any, arguments: Any, of_vertices: bool = False) -> None:
    """The search of the device, on threads of this machine."""
    warps.run_pivot_groups(arguments[0].ctypes.data, grid[0] * block[0] // 32, 2, of_vertices)


def search_pivots(grid: Any, block: Any, arguments: Any, of_vertices: bool = False) -> None:
    warps.run_pivot_groups(arguments[0].ctypes.data, grid[0] * block[0] // 32, int(arguments[1]), of_vertices)


def close_pivots(grid: Any, block: Any, arguments: Any) -> None:
    run = Launch(pivots.RUN, pivots.COUNTERS, arguments[0])
    words = at(run.counters, pivots.COUNTERS.size // 8, np.uint64)
    for name in ("next_task", "n_tasks", "node_words"):
        words[pivots.COUNTERS.word(name) + int(arguments[1])] = 0


def close_wave(grid: Any, block: Any, arguments: Any) -> None:
    assert (grid, block) == ((1,), (1,))


def count_wave(grid: Any, block: Any, arguments: Any) -> None:
    run = Launch(counting.RUN, counting.COUNTERS, arguments[0])
    assert arguments[1] < run.p - 2
    words = run.workspace_words * grid[0] * block[0] // 32
    at(run.workspace, words, np.uint32)[-1] = 1


def count_trees(grid: Any, block: Any, arguments: Any) -> None:
    """Trees, by the search in lanes of the CPU."""
    run = table.RUN.unpacked(np.asarray(arguments[0]))
    assert run["leaves_a_flush"] > 0
    assert at(run["next_tree"], 1, np.uint64)[0] == 0
    shape = table.TreeCells(run["most_roots"], run["most_rows"], run["optional"])
    trees = at(run["trees"], run["n_trees"] * load_extension().TREE_WORDS, np.uint32)
    high, low = warps.count_trees(np.array(trees), shape.most_roots, shape.most_rows, shape.optional)
    at(run["tables"], grid[0] * shape.n_cells, np.uint64)[-1] = 0
    assert at(run["binomials"], 65 * 65, np.uint64)[6 * 65 + 2] == comb(6, 2)
    totals = at(run["totals"], 2 * shape.n_cells, np.uint64).reshape(-1, 2)
    sums = [
        (int(a) + (int(b) << 64) + int(c) + (int(d) << 64)) % 2**128
        for (a, b), c, d in zip(totals.tolist(), low.tolist(), high.tolist(), strict=True)
    ]
    totals[:, 0], totals[:, 1] = [value % 2**64 for value in sums], [value >> 64 for value in sums]
    at(run["nodes"], 1, np.uint64)[0] += run["n_trees"]


def lay_out_butterflies(grid: Any, block: Any, arguments: Any) -> None:
    assert block == (butterflies.BUTTERFLY_THREADS,)
    assert arguments[1].dtype == np.uint32
    warps.run_butterfly_step(arguments[0].ctypes.data, int(arguments[1]), grid[0] * block[0])


def count_butterflies(grid: Any, block: Any, arguments: Any, edge_shares: bool = False) -> None:
    """The threads of the device, on some of this machine; a table that is not clean is noticed."""
    run, batch = butterflies.RUN.unpacked(np.asarray(arguments[0])), int(arguments[1])
    assert block == (butterflies.BUTTERFLY_THREADS,)
    first, end = at(run["batch_root"], batch + 2, np.uint64)[batch:].astype(int)
    words = at(run["first_word"], end + 1, np.uint64)[[first, end]].astype(int)
    table = at(run["table"], words[1] - words[0], np.uint64)
    assert table.any() == edge_shares
    warps.run_butterfly_threads(arguments[0].ctypes.data, batch, grid[0] * block[0], edge_shares)


COUNTS = {
    "count_roots": count_roots,
    "close_wave": close_wave,
    "count_wave": count_wave,
    "count_trees": count_trees,
    "open_pivots": open_pivots,
    "search_pivots": search_pivots,
    "open_vertex_pivots": partial(open_pivots, of_vertices=True),
    "search_vertex_pivots": partial(search_pivots, of_vertices=True),
    "close_pivots": close_pivots,
    "lay_out_butterflies": lay_out_butterflies,
    "count_path_ends": count_butterflies,
    "count_edge_shares": partial(count_butterflies, edge_shares=True),
}
