"""The CUDA driver of one (p,q) by pivots: `src/counting/pivots.cu`, wave after wave.

The grids that it begins with are made by `levels.cu` (`kernels.cuda.counting`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bicliq.kernels.cpu import load_extension
from bicliq.kernels.cuda.batches import FAILURE
from bicliq.kernels.cuda.device import Budget, multiprocessors, wait_for_event
from bicliq.kernels.cuda.program import Program, Struct, Values
from bicliq.kernels.errors import BackendError

PIVOT_THREADS = 128
BLOCKS_A_MULTIPROCESSOR = 8
WAVES_AT_ONCE = 8
"""Waves that are launched without a look: an even number, since two buffers take turns."""

NODES_SHARE, TASKS_SHARE, WORKSPACE_SHARE, TABLE_SHARE = 0.1, 0.05, 0.15, 0.05
"""Of the free memory; of the first two, two buffers have so much each."""

Look = Callable[[Any, Struct, Any], Callable[[], None]]

LARGEST_NODE_WORDS, LARGEST_TASKS = 2 << 30, 1 << 27
SUM_WORDS = 3

NODE = Struct("CountNode", np.dtype([("masks", "u8"), ("n", "u4"), ("stride", "u4"), ("words", "u4"), ("need", "u4")]))
TASK = Struct("PivotTask", np.dtype([("node", "u8"), ("candidate", "u4"), ("pad", "u4")]))
COUNTERS = Struct(
    "PivotCounters",
    np.dtype(
        [(name, "u8") for name in ("next_grid", "failure", "too_large", "work")]
        + [(name, "u8", (2,)) for name in ("next_task", "n_tasks", "node_words")]
    ),
)
RUN = Struct(
    "PivotLaunch",
    np.dtype(
        [(name, "u8") for name in ("arena", "grids", "nodes", "tasks", "workspace", "totals")]
        + [("of_vertex", "u8", (2,))]
        + [(name, "u8") for name in ("binomials", "counters", "n_grids", "p", "q", "binomials_width", "node_words")]
        + [(name, "u8") for name in ("task_capacity", "most_columns", "most_rows")]
    ),
)


def workspace_words(most_columns: int, most_rows: int) -> int:
    """Words of a group beside its trees, as `pivot_workspace` has them.

    Examples
    --------
    >>> workspace_words(33, 32)
    500
    """
    return 68 * (-(-most_columns // 32) + -(-most_rows // 32) + 2) + 160


PROGRAM = Program(
    "counting/pivots.cu",
    (
        NODE, TASK, COUNTERS, RUN, FAILURE,
        Values((
            ("kPivotThreads", PIVOT_THREADS), ("pivot_workspace(33, 32)", workspace_words(33, 32)),
            ("pivot_workspace(100, 1)", workspace_words(100, 1)),
        )),
    ),
)  # fmt: skip


class CudaPivots:
    """The waves of one count on the current GPU.

    Parameters
    ----------
    cp : module
        CuPy.
    budget : Budget
        Of which it takes shares.
    p, q : int
        Vertices of the roots' side, and of the other.
    """

    def __init__(self, cp: Any, budget: Budget, p: int, q: int) -> None:
        self._cp, self._budget, self._p, self._q = cp, budget, p, q
        self.of_vertices: tuple[int, int] | None = None
        """Numbers of roots and of rows, where the counts of each are wanted."""
        self.vertices: list[Any] = []
        """Low and high words of the last search's counts, of roots and of rows."""
        self._most_blocks = BLOCKS_A_MULTIPROCESSOR * multiprocessors()
        self._node_words = budget.items(NODES_SHARE, 4, LARGEST_NODE_WORDS)
        self._task_capacity = budget.items(TASKS_SHARE, TASK.size, LARGEST_TASKS)
        self._nodes = cp.empty(2 * self._node_words, dtype=cp.uint32)
        self._tasks = cp.empty(2 * self._task_capacity * TASK.size, dtype=cp.uint8)
        self._binomials = cp.empty(0, dtype=cp.uint64)
        self._width = 0

    def search(self, arena: Any, grids: Any, n_grids: int, look: Look) -> tuple[int, dict[str, int], float]:
        """Search some grids to their end.

        Parameters
        ----------
        arena, grids
            Their masks, and the bytes of their nodes.
        n_grids
            How many there are.
        look
            Of counters, their struct and an event: what is called until that event.

        Returns
        -------
        tuple
            What they come to, the counters (of which ``failure`` says that the rest is worth
            nothing), and the seconds of the device.

        Raises
        ------
        BackendError
            If a warp's workspace or the binomials do not fit.
        """
        cp = self._cp
        shapes = grids[: n_grids * NODE.size].get().view(NODE.dtype)
        most_columns, most_rows = (int(shapes[name].max(initial=0)) for name in ("n", "need"))
        self._make_binomials(max(most_columns, most_rows))
        groups = PIVOT_THREADS // 32
        words = workspace_words(most_columns, most_rows)
        blocks = self._budget.fitting(self._most_blocks, WORKSPACE_SHARE, 4 * words * groups, "blocks")
        workspace = cp.empty(words * groups * blocks, dtype=cp.uint32)
        totals = cp.zeros(SUM_WORDS * groups * blocks, dtype=cp.uint64)
        counters = cp.zeros(COUNTERS.size // 8, dtype=cp.uint64)
        self.vertices = [cp.zeros(2 * n, dtype=cp.uint64) for n in self.of_vertices or (0, 0)]
        held = {
            "arena": arena, "grids": grids, "nodes": self._nodes, "tasks": self._tasks, "workspace": workspace,
            "totals": totals, "binomials": self._binomials, "counters": counters,
        }  # fmt: skip
        numbers = {
            "n_grids": n_grids, "p": self._p, "q": self._q, "binomials_width": self._width, "node_words": self._node_words,
            "task_capacity": self._task_capacity, "most_columns": most_columns, "most_rows": most_rows,
        }  # fmt: skip
        run = cp.asarray(RUN.packed({**held, "of_vertex": tuple(self.vertices), **numbers}))
        seconds = self._run_waves(run, counters, blocks, look)
        return _sum_of_signed(totals.get()), COUNTERS.unpacked(counters.get()), seconds

    def _run_waves(self, run: Any, counters: Any, blocks: int, look: Look) -> float:
        """Launch waves until one is empty, or memory did not suffice; returns device seconds."""
        cp, module = self._cp, PROGRAM.compiled()
        of = "vertex_" if self.of_vertices else ""
        names = f"open_{of}pivots", f"search_{of}pivots", "close_pivots"
        start, search, close = (module.get_function(name) for name in names)
        events = [cp.cuda.Event() for _ in range(2)]
        events[0].record()
        start((blocks,), (PIVOT_THREADS,), (run,))
        while True:
            for wave in range(WAVES_AT_ONCE):
                search((blocks,), (PIVOT_THREADS,), (run, np.uint32(wave % 2)))
                close((1,), (1,), (run, np.uint32(wave % 2)))
            events[1].record()
            wait_for_event(events[1], look(counters, COUNTERS, events[1]))
            words, waiting = counters.get(), COUNTERS.word("n_tasks")
            if words[COUNTERS.word("failure")] or not words[waiting : waiting + 2].any():
                return float(cp.cuda.get_elapsed_time(*events)) / 1000

    def _make_binomials(self, largest: int) -> None:
        """See to it that there is C(n, k) for n up to the largest."""
        most = max(self._p, self._q)
        size = 16 * (most + 1) * (largest + 1)
        if size > self._budget.share(TABLE_SHARE):
            raise BackendError(
                f"the binomials for p={self._p}, q={self._q} take {size >> 20:,} MiB, which this GPU's free memory does not"
                " hold; use the CPU backend"
            )
        if self._width <= largest:
            self._binomials = self._cp.asarray(load_extension().binomial_words(largest, most))
            self._width = largest + 1


def _sum_of_signed(words: Any) -> int:
    """Add up numbers of 192 bits in two's complement.

    Examples
    --------
    >>> _sum_of_signed(np.array([5, 1, 0], np.uint64)) - 2**64
    5
    >>> _sum_of_signed(np.array([5, 0, 0, *[2**64 - 1] * 3], np.uint64))
    4
    """
    halves = words.view(np.uint32).reshape(-1, 2 * SUM_WORDS)
    columns: list[int] = halves.sum(axis=0, dtype=np.uint64).tolist()
    negative = int((halves[:, -1] >> 31).sum())
    return sum(column << 32 * place for place, column in enumerate(columns)) - (negative << 64 * SUM_WORDS)
