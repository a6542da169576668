"""The program of the enumeration, and its structs (`src/search/device/device_run.hpp`)."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from bicliq.kernels.cuda.batches import FAILURE
from bicliq.kernels.cuda.layout import SharedEnum, Struct, Values
from bicliq.kernels.cuda.program import Program
from bicliq.kernels.cuda.tuning import Tuning

SEARCHES = {"search_count": 0, "search_members": 1, "search_bicliques": 2, "search_best": 3}
"""The kernels of which one is compiled: to count, to know both sides as well, to write them, or to
write the best."""

HEAVY_THREADS, LIGHT_THREADS = 1024, 64
"""Of a block that builds a root: one of many edges in two steps, and any other."""

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


SUBTREE = Struct("Subtree", np.dtype("V152"))
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
    "max_rows", "max_columns", "largest_pair",
)  # fmt: skip
OPTIONAL = ("row_hashes", "column_hashes", "row_ids", "column_ids", "output", "chunks", "parked", "output_words", "chunk_words",
            "max_row_degree", "best", "best_values", "n_best", "objective", "max_rows", "max_columns", "largest_pair")  # fmt: skip
"""Fields of `RUN` that are 0 where bicliques are only counted, or all are written."""

BEST = Struct("Best", np.dtype([("lock", "u8"), ("n", "u8"), ("least", "i8")]))

PROGRAM = Program(
    "search/device/enumeration.cu",
    (
        SUBTREE, TASK, CHUNK, COUNTERS, BEST, RUN, FAILURE, SharedEnum(Stop), SharedEnum(Slot),
        Values.of(
            kHeavyThreads=HEAVY_THREADS, kLightThreads=LIGHT_THREADS, kScratchWordsAColumn=SCRATCH_WORDS_A_COLUMN,
            kParkedWords=PARKED_WORDS,
        ),
    ),
)  # fmt: skip


def compiled_search(search: str, tuning: Tuning, device: int | None = None) -> Any:
    """The module with one of the searches, and all kernels that build roots."""
    return PROGRAM.compiled(f"-DBICLIQ_SEARCH={SEARCHES[search]}", *tuning.options(), device=device)
