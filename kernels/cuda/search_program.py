"""The program of the enumeration, its structs, and how it is laid out on a GPU.

The structs are those of `src/search/device/device_run.hpp`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from bicliq.kernels.cuda.batches import FAILURE
from bicliq.kernels.cuda.program import Program, SharedEnum, Struct, Values

SEARCHES = {"search_count": 0, "search_members": 1, "search_bicliques": 2, "search_best": 3}
"""The kernels of which one is compiled: to count, to know both sides as well, to write them, or to
write the best."""

HEAVY_THREADS, LIGHT_THREADS = 1024, 64
"""Of a block that builds a root: one of many edges in two steps, and any other."""

SORT_THREADS = 128
"""Of a block that sorts lists."""

SCRATCH_WORDS_A_COLUMN = 4
"""Of a block that builds roots; and a word for each row of the largest root."""

PARKED_WORDS = 64
"""What a warp keeps between two launches, besides its workspace."""


class Stop(IntEnum):
    """Why all warps end: for good, or until the output has been emptied."""

    END = 1
    PARK = 2


class Slot(IntEnum):
    """State of a place in the queue of subtrees that warps give away."""

    EMPTY = 0
    FILLED = 1
    ENDED = 2
    TAKEN = 3


class ListStep(IntEnum):
    """What is done for all columns, rows or edges before the next step."""

    DEGREES = 0
    RANKS = 1
    EDGES = 2
    LISTS = 3
    PLACES = 4


LISTS = Struct.of_words(
    "SearchLists", "indptr", "indices", "degrees", "rank", "by_column", "by_row", "column_start", "row_start", "column_rows",
    "row_columns", "places", "edges_in_two_steps", "n_left", "n_columns", "n_rows", "n_edges", "columns_are_left",
)  # fmt: skip
SUBTREE = Struct("Subtree", np.dtype("V160"))
TASK = Struct("Task", np.dtype([("subtree", "u4"), ("from", "u4"), ("to", "u4")]))
CHUNK = Struct.of_words("Chunk", "start", "words")
COUNTERS = Struct.of_words(
    "Counters", "head", "tail", "stop", "found", "digest", "nodes", "dropped", "next_heavy", "next_light", "next_task",
    "arena_used", "n_subtrees", "n_tasks", "pending", "failure", "busy", "longest", "output_used", "n_chunks",
)  # fmt: skip
RUN = Struct.of_words(
    "Run", "row_start", "column_start", "row_columns", "column_rows", "places", "row_hashes", "column_hashes", "is_root", "roots",
    "scratch", "arena", "subtrees", "tasks", "slots", "slot_states", "workspace", "counters", "parked", "output", "chunks",
    "row_ids", "column_ids", "n_rows", "n_columns", "n_heavy", "n_light", "max_degree", "arena_words", "subtree_capacity",
    "task_capacity", "slot_capacity", "workspace_words", "min_rows", "min_columns", "min_edges", "columns_are_left",
    "max_bicliques", "task_words", "output_words", "chunk_words", "max_row_degree", "best", "best_values", "n_best", "objective",
    "max_rows", "max_columns", "largest_pair", "row_charge", "column_charge", "row_costs", "column_costs",
    "own_row_terms", "own_column_terms", "corrections", "n_corrections", "lowest_corrected", "correction_shift",
)  # fmt: skip
OPTIONAL = ("row_hashes", "column_hashes", "row_ids", "column_ids", "output", "chunks", "parked", "output_words", "chunk_words",
            "max_row_degree", "best", "best_values", "n_best", "objective", "max_rows", "max_columns", "largest_pair",
            "row_charge", "column_charge", "row_costs", "column_costs", "own_row_terms", "own_column_terms", "corrections",
            "n_corrections", "lowest_corrected", "correction_shift")  # fmt: skip
"""Fields of `RUN` that are 0 where bicliques are only counted, or all are written."""

BEST = Struct("Best", np.dtype([("lock", "u8"), ("n", "u8"), ("least", "i8")]))

PROGRAM = Program(
    "search/device/enumeration.cu",
    (
        SUBTREE, TASK, CHUNK, COUNTERS, BEST, RUN, LISTS, FAILURE, SharedEnum(Stop), SharedEnum(Slot), SharedEnum(ListStep),
        Values.of(
            kHeavyThreads=HEAVY_THREADS, kLightThreads=LIGHT_THREADS, kScratchWordsAColumn=SCRATCH_WORDS_A_COLUMN,
            kParkedWords=PARKED_WORDS, kSortThreads=SORT_THREADS,
        ),
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Tuning:
    """One layout of the search.

    Parameters
    ----------
    warps_a_block, blocks_a_multiprocessor
        Shape of the launch; more blocks leave fewer registers a thread.
    task_words
        Words of a wide root that a task should read: where it is less, a root is cut into more
        tasks.
    most_given
        Subtrees that a warp gives away at most in one go; with 0, tasks are all that is shared.
    shares
        A warp gives one of so many shares of its shallowest open level; with 1, all that is left of
        it.
    nodes_a_poll
        Nodes between two looks at whether warps wait.
    tall_nodes
        Whether wide nodes of few columns become lists of masks of several words.
    most_multiprocessors
        Use no more of them; a sanitizer runs many thousand times slower.
    """

    warps_a_block: int = 4
    blocks_a_multiprocessor: int = 4
    task_words: int = 1 << 11
    most_given: int = 4
    shares: int = 3
    nodes_a_poll: int = 32
    tall_nodes: bool = False
    most_multiprocessors: int = 1 << 16

    def options(self) -> tuple[str, ...]:
        """What the compiler is told.

        Examples
        --------
        >>> Tuning(most_given=1).options()[2]
        '-DBICLIQ_MOST_GIVEN=1'
        """
        return (
            f"-DBICLIQ_WARPS={self.warps_a_block}",
            f"-DBICLIQ_BLOCKS={self.blocks_a_multiprocessor}",
            f"-DBICLIQ_MOST_GIVEN={self.most_given}",
            f"-DBICLIQ_SHARES={self.shares}",
            f"-DBICLIQ_POLL={self.nodes_a_poll}",
            f"-DBICLIQ_TALL={int(self.tall_nodes)}",
        )


_tuning: ContextVar[Tuning | None] = ContextVar("tuning", default=None)


def current_tuning() -> Tuning:
    """The layout of the searches that start now."""
    return _tuning.get() or Tuning()


@contextmanager
def tuned(tuning: Tuning) -> Iterator[None]:
    """Search with another layout inside a ``with`` block, for a benchmark or a test."""
    token = _tuning.set(tuning)
    try:
        yield
    finally:
        _tuning.reset(token)


def options(search: str, tuning: Tuning) -> tuple[str, ...]:
    """What the compiler is told for one of the searches, in a layout."""
    return f"-DBICLIQ_SEARCH={SEARCHES[search]}", *tuning.options()


def compiled_search(search: str, tuning: Tuning, device: int | None = None) -> Any:
    """The module with one of the searches, and all kernels that build roots."""
    return PROGRAM.compiled(*options(search, tuning), device=device)
