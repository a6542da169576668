"""The program of maximum cliques, and the memory of a launch.

The structs and numbers are those of `src/clique/clique_launch.hpp`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bicliq.kernels.cuda.program import Program, Struct, Values
from bicliq.kernels.errors import BackendError

LANES = 32
WARPS_A_BLOCK, BLOCKS_A_MULTIPROCESSOR = 4, 8
BUILD_THREADS = 256
WIDTHS = (1, 2, 4, 8, 16, 64)  # words a lane: 1,024 vertices each
MOST_CLASS_GROUPS = 32  # of 32 classes; beyond, vertices are only coloured
SMALL_WORDS = 5  # of a set of few vertices
SMALL_NEAR_WORDS = LANES * SMALL_WORDS * (SMALL_WORDS + 1)
SMALL_STRIDE = 8
NO_ROOT = WHOLE_TREE = 2**32 - 1

TREE = Struct("CliqueTree", np.dtype([("at", "u8"), ("n", "u4"), ("stride", "u4"), ("root", "u4"), ("pad", "u4")]))
TASK = Struct("CliqueTask", np.dtype([("tree", "u4"), ("vertex", "u4")]))
COUNTERS = Struct(
    "CliqueCounters",
    np.dtype(
        [("head", "u8"), ("tail", "u8"), ("best", "u4"), ("outside", "u4"), ("stop", "u4"), ("pad", "u4")]
        + [
            (name, "u8")
            for name in ("pending", "next_task", "next_root", "n_trees", "arena_used", "arena_full", "nodes", "given")
        ]
    ),
)
LAUNCH = Struct.of_words(
    "CliqueLaunch", "start", "later", "roots", "scratch", "arena", "trees", "tasks", "turns", "slots", "stacks", "classes",
    "records", "counters", "n_roots", "n_tasks", "arena_words", "scratch_words", "slot_capacity", "slot_words", "most_levels",
    "stack_words", "class_words", "near_words", "small_levels", "recolour", "refute",
)  # fmt: skip

FIELDS = {
    "build_clique_roots": (
        "start", "later", "roots", "scratch", "arena", "trees", "counters", "n_roots", "arena_words", "scratch_words",
    ),
    "search_cliques": (
        "arena", "trees", "tasks", "turns", "slots", "stacks", "classes", "records", "counters", "n_tasks", "slot_capacity",
        "slot_words", "most_levels", "stack_words", "class_words", "near_words", "small_levels", "recolour", "refute",
    ),
}  # fmt: skip
"""Fields of a `LAUNCH` that each kernel needs."""


def class_words(groups: int, set_words: int) -> int:
    """Words of so many groups of 32 colour classes over sets of so many words."""
    return groups * (set_words * (LANES + 1) + 3 * LANES)


def level_words(stride: int) -> int:
    """Words of a level of the stack: candidates, branches, and when these were chosen."""
    return 2 * stride + 1


def slot_words(stride: int, levels: int) -> int:
    """Words of a part that is given away: its tree, the clique so far, and a level."""
    return 2 + levels + level_words(stride)


def stack_words(stride: int, levels: int, small_levels: int) -> int:
    """Words of a stack: the clique so far, twice, and the levels of either kind."""
    return 2 * levels + levels * level_words(stride) + small_levels * level_words(SMALL_STRIDE)


PROGRAM = Program(
    "clique/clique.cu",
    (
        TREE, TASK, COUNTERS, LAUNCH,
        Values((
            ("kLanes", LANES), ("kNoRoot", NO_ROOT), ("kWholeTree", WHOLE_TREE), ("kBuildThreads", BUILD_THREADS),
            ("kSmallNearWords", SMALL_NEAR_WORDS), ("kMostClassGroups", MOST_CLASS_GROUPS),
            ("words_for_groups(3, 5)", class_words(3, 5)), ("slot_words(8, 5)", slot_words(8, 5)),
            ("stack_words(8, 5, 3)", stack_words(8, 5, 3)),
        )),
    ),
)  # fmt: skip


def blocks_a_multiprocessor(width: int) -> int:
    """Blocks of a launch: wide sets take more registers."""
    return BLOCKS_A_MULTIPROCESSOR if width <= 2 else BLOCKS_A_MULTIPROCESSOR // 2


def options(width: int) -> tuple[str, ...]:
    """What the compiler is told for sets of so many words a lane."""
    return (
        f"-DBICLIQ_WIDTH={width}",
        f"-DBICLIQ_WARPS={WARPS_A_BLOCK}",
        f"-DBICLIQ_SMALL_WORDS={SMALL_WORDS}",
        f"-DBICLIQ_BLOCKS={blocks_a_multiprocessor(width)}",
    )


def compiled_for(width: int, device: int) -> Any:
    """The module for sets of so many words a lane."""
    return PROGRAM.compiled(*options(width), device=device)


@dataclass(frozen=True)
class LaunchShape:
    """Memory that each group of lanes needs in a launch.

    Parameters
    ----------
    largest : int
        Vertices of the largest graph.
    stride : int
        Words of a row of it.
    degeneracy : int
        Of the whole graph: it bounds the depth of the search.
    most_near_words : int
        Fast memory that a group can have.
    """

    largest: int
    stride: int
    degeneracy: int
    most_near_words: int

    @property
    def width(self) -> int:
        """Words of a set in each lane.

        Raises
        ------
        BackendError
            If the graph is too large for any.
        """
        if self.largest > WIDTHS[-1] * 1024:
            raise BackendError(
                f"a root has {self.largest} candidates, the CUDA backend holds {WIDTHS[-1] * 1024}; use the CPU backend"
            )
        return next(w for w in WIDTHS if self.largest <= 1024 * w)

    @property
    def levels(self) -> int:
        """Of the search at most."""
        return min(self.degeneracy, self.largest) + 4

    @property
    def class_words(self) -> int:
        """For colour classes, where they are kept in slow memory."""
        groups = min((self.levels + LANES - 1) // LANES, MOST_CLASS_GROUPS)
        return class_words(groups, (self.largest + 31) // 32)

    @property
    def near_words(self) -> int:
        """Of fast memory."""
        return min(max(-(-self.class_words // 4) * 4, SMALL_NEAR_WORDS), self.most_near_words)

    @property
    def small_levels(self) -> int:
        """Levels below one of few candidates, where fast memory holds their matrix."""
        return min(self.levels, LANES * SMALL_WORDS + 2) if self.near_words >= SMALL_NEAR_WORDS else 0

    @property
    def stack_words(self) -> int:
        """Of the open levels."""
        return stack_words(self.stride, self.levels, self.small_levels)

    @property
    def slot_words(self) -> int:
        """Of a part that is given away."""
        return slot_words(self.stride, self.levels)

    @property
    def record_words(self) -> int:
        """Of the best clique of a group: its size and members."""
        return self.levels + 1

    @property
    def bytes_a_group(self) -> int:
        """All of it; there are up to four slots a group."""
        return 4 * (self.stack_words + self.class_words + self.record_words + 4 * self.slot_words + 4)
