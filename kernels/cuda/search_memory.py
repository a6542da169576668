"""Device memory of an enumeration: blocks that are shares of what is free."""

from __future__ import annotations

from typing import Any

import numpy as np

from bicliq.kernels.cuda.device import free_budget, multiprocessors
from bicliq.kernels.cuda.search_graph import SearchGraph
from bicliq.kernels.cuda.search_program import (
    CHUNK,
    PARKED_WORDS,
    SCRATCH_WORDS_A_COLUMN,
    SUBTREE,
    TASK,
    Slot,
    current_tuning,
)
from bicliq.kernels.errors import BackendError

HEAVY_BLOCKS_A_MULTIPROCESSOR = 1
LIGHT_BLOCKS_A_MULTIPROCESSOR = 16
LARGEST_ARENA_WORDS = 8 << 30
MOST_TASKS = 1 << 25
MOST_SLOTS = 1 << 20
FIRST_WORKSPACE_WORDS = 1 << 19  # of a warp
ARENA_SHARE, WORKSPACE_SHARE, SCRATCH_SHARE, TASKS_SHARE, SLOTS_SHARE = 0.4, 0.3, 0.1, 0.02, 0.02
GROWTH_SHARE = 0.1  # on top, for workspaces that are enlarged
OUTPUT_SHARE = 0.02  # six times as much is needed to sort it
PIECE_WORDS = 16  # 64 bytes, to which every piece of memory is aligned
CHUNKS_A_WARP = 4
FEWEST_CHUNK_WORDS, MOST_CHUNK_WORDS = 256, 4096


class SearchMemory:
    """Blocks of device memory for the runs of an enumeration.

    Parameters
    ----------
    cp : module
        CuPy.
    graph : SearchGraph
        What is searched.
    n_roots : int
        Roots of all batches together.
    output_words : int
        Of the block that bicliques are written to, at most; 0: they are counted only.
    """

    def __init__(self, cp: Any, graph: SearchGraph, n_roots: int, output_words: int = 0) -> None:
        self._cp = cp
        self.tuning = current_tuning()
        self.multiprocessors = min(multiprocessors(), self.tuning.most_multiprocessors)
        self._blocks_a_multiprocessor = self.tuning.blocks_a_multiprocessor
        budget = self._budget = free_budget(cp.cuda.Device())
        self._max_degree = int(graph.column_degree.max(initial=0))
        self._shape_scratch(len(graph.column_degree), n_roots)
        self.arena = cp.empty(budget.items(ARENA_SHARE, 4, LARGEST_ARENA_WORDS), dtype=cp.uint32)
        self._n_tasks = budget.items(TASKS_SHARE, TASK.size, MOST_TASKS)
        self.tasks = cp.empty(self._n_tasks * TASK.size, dtype=cp.uint8)
        self.subtrees = cp.empty(max(n_roots, 1) * SUBTREE.size, dtype=cp.uint8)
        self._n_slots = budget.items(SLOTS_SHARE, SUBTREE.size, MOST_SLOTS)
        self.slots = cp.empty(self._n_slots * SUBTREE.size, dtype=cp.uint8)
        self.slot_states = cp.zeros(self._n_slots, dtype=cp.uint32)
        self.workspace_words = budget.items(WORKSPACE_SHARE, 4) // self.n_warps // PIECE_WORDS * PIECE_WORDS
        if not output_words:  # a search that has written cannot start again with more: it gets all at once
            self.workspace_words = min(FIRST_WORKSPACE_WORDS, self.workspace_words)
        self.workspace = cp.empty(self.workspace_words * self.n_warps, dtype=cp.uint32)
        self._output: dict[str, Any] = {}
        if output_words:
            self._make_output(output_words, graph.largest_row)

    @property
    def n_warps(self) -> int:
        """Warps of the search."""
        return self.multiprocessors * self._blocks_a_multiprocessor * self.tuning.warps_a_block

    def fields(self) -> dict[str, Any]:
        """The fields of `RUN` that describe memory."""
        fields = self._arrays() | {
            "max_degree": self._max_degree,
            "arena_words": self.arena.size,
            "subtree_capacity": self.subtrees.size // SUBTREE.size,
            "task_capacity": self._n_tasks,
            "slot_capacity": self._n_slots,
            "workspace_words": self.workspace_words,
        }
        if self._output:
            fields |= {
                "output_words": self._output["output"].size,
                "chunk_words": self._chunk_words,
                "max_row_degree": self._max_row_degree,
            }
        return fields

    def bytes(self) -> int:
        """All of it."""
        return sum(int(array.nbytes) for array in self._arrays().values())

    def _arrays(self) -> dict[str, Any]:
        names = ("scratch", "arena", "subtrees", "tasks", "slots", "slot_states", "workspace")
        return {name: getattr(self, name) for name in names} | self._output

    def enlarge_workspaces(self) -> None:
        """Twice the workspace a warp, with half of the warps where the memory is too small for all.

        Raises
        ------
        BackendError
            If it is too small for one block a multiprocessor as well.
        """
        words = max(2 * self.workspace_words, PIECE_WORDS)
        free = self._budget.n_bytes
        while 4 * words * self.n_warps > free * WORKSPACE_SHARE and self._blocks_a_multiprocessor > 1:
            self._blocks_a_multiprocessor //= 2
        if 4 * words * self.n_warps > free * (WORKSPACE_SHARE + GROWTH_SHARE):
            raise self.too_small()
        self.workspace = None  # freed first
        self.workspace_words = words
        self.workspace = self._cp.empty(words * self.n_warps, dtype=self._cp.uint32)

    def too_small(self) -> BackendError:
        """The error of a node that its warp's workspace does not hold."""
        return BackendError(
            f"a node needs more than {4 * self.workspace_words >> 20} MiB of workspace a warp, which this GPU's free "
            "memory does not hold; use the CPU backend"
        )

    def clear_scratch(self) -> None:
        """Forget the marks that a failed run leaves behind."""
        self.scratch.fill(0)

    def forget_parked(self) -> None:
        """No warp has anything to go on with."""
        self._output["parked"].fill(0)

    def requeue(self, tail: int) -> tuple[int, Any]:
        """Say that the first slots hold the subtrees that nobody has taken.

        Returns how many there are, and the moves that make it true (`move_subtrees`): to where, and
        from where.
        """
        filled = self.slot_states[:tail].get() == Slot.FILLED
        n = int(filled.sum())
        to, of = np.flatnonzero(~filled[:n]), n + np.flatnonzero(filled[n:])
        self.slot_states.fill(int(Slot.EMPTY))
        self.slot_states[:n].set(np.full(n, Slot.FILLED, np.uint32))
        return n, self._cp.asarray(np.stack([to, of]).astype(np.uint32))

    def _make_output(self, most_words: int, max_row_degree: int) -> None:
        """Make the block for bicliques, and the one for what warps keep when they park.

        The first holds the largest biclique that may come, whatever was asked for.
        """
        self._max_row_degree = max_row_degree
        largest = 3 + self._max_degree + max_row_degree
        words = max(self._budget.items(OUTPUT_SHARE, 4, most_words), largest)
        chunk_words = words // (CHUNKS_A_WARP * self.n_warps)
        self._chunk_words = min(max(chunk_words, FEWEST_CHUNK_WORDS), MOST_CHUNK_WORDS, words)
        self._output = {
            "output": self._cp.empty(words, dtype=self._cp.uint32),
            "chunks": self._cp.empty((words // self._chunk_words + 1, len(CHUNK.names)), dtype=self._cp.uint64),
            "parked": self._cp.zeros(self.n_warps * PARKED_WORDS, dtype=self._cp.uint32),
        }

    def _shape_scratch(self, n_columns: int, n_roots: int) -> None:
        """Choose the blocks that build roots, which need some words for every column each.

        No more than there are roots: their words are cleared first.
        """
        words = SCRATCH_WORDS_A_COLUMN * n_columns + self._max_degree
        blocks = max(2, self._budget.items(SCRATCH_SHARE, 4) // max(words, 1))
        most = max(n_roots, 1)
        self.heavy_blocks = min(self.multiprocessors * HEAVY_BLOCKS_A_MULTIPROCESSOR, blocks // 2, most)
        self.light_blocks = min(self.multiprocessors * LIGHT_BLOCKS_A_MULTIPROCESSOR, blocks - self.heavy_blocks, most)
        self.scratch = self._cp.zeros((self.heavy_blocks + self.light_blocks) * words, dtype=self._cp.uint32)
