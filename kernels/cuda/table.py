"""The CUDA driver of tables of all (p,q): narrow ends of a search (`src/counting/trees.cu`).

The search starts on the CPU (`src/counting/pivot.hpp`), whose workers give away every subtree of at
most 32 candidates a side (a *tree*); the GPU counts these while the workers go on. A tree adds to
cells, and the cells make the counts at the end, here.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bicliq.kernels.cuda.device import device_errors, free_budget, multiprocessors, new_stream
from bicliq.kernels.cuda.program import Program, Struct, Values

MOST_OPTIONAL = 64
LARGEST_BINOMIAL = 2**42  # in a cell's sum, so that many leaves fit in 64 bits between two flushes
WARPS_A_BLOCK = 8
BLOCKS_A_MULTIPROCESSOR = 5  # 48 registers a thread
LAUNCHES_AT_ONCE = 8
TABLES_SHARE = 0.3  # of the free memory


def most_optional(largest_size: int) -> int:
    """Number of optional vertices that cells have room for, with sizes up to `largest_size`.

    Examples
    --------
    >>> most_optional(12), most_optional(100)
    (64, 45)
    """
    n = 0
    while n < MOST_OPTIONAL and comb(n + 1, min((n + 1) // 2, largest_size)) <= LARGEST_BINOMIAL:
        n += 1
    return n


@dataclass(frozen=True)
class TreeCells:
    """Shape of the cells of `src/counting/trees.hpp`.

    Their order: [held of the root side][its optional vertices][size of the other side].

    Parameters
    ----------
    most_roots, most_rows
        Largest size of the side of the roots, and of the other.
    optional
        Largest number of optional vertices.
    """

    most_roots: int
    most_rows: int
    optional: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of them each way."""
        return self.most_roots + 1, self.optional + 1, self.most_rows + 1

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return prod(self.shape)

    @cached_property
    def leaves_a_flush(self) -> int:
        """Leaves that a warp may add before its block's cells could wrap, whatever runs beside."""
        largest = max(comb(n, min(n // 2, self.most_rows)) for n in range(self.optional + 1))
        return 2**62 // (LAUNCHES_AT_ONCE * WARPS_A_BLOCK * largest)

    def sizes(self, high: NDArray[Any], low: NDArray[Any]) -> dict[tuple[int, int], int]:
        """Counts by (size of the root side, of the other) from 2 × 2 up, of cells modulo 2^128.

        Sizes of count 0 may lack.

        Examples
        --------
        >>> cells = np.zeros(4 * 3 * 4, np.uint64)
        >>> cells[(1 * 3 + 2) * 4 + 3] = 5  # one held, two optional: 5 × C(2, k) of 1 + k roots and 3 rows
        >>> TreeCells(3, 3, 2).sizes(np.zeros_like(cells), cells)
        {(2, 3): 10, (3, 3): 5}
        """
        found: defaultdict[tuple[int, int], int] = defaultdict(int)
        high, low = high.reshape(self.shape), low.reshape(self.shape)
        for held, n, q in np.argwhere(high | low).tolist():
            value = (int(high[held, n, q]) << 64) + int(low[held, n, q])
            value -= (value >> 127) << 128  # single cells may be negative
            for k in range(min(n, self.most_roots - held) + 1):
                if held + k > 1 and q > 1:
                    found[held + k, q] += value * comb(n, k)
        return {size: count for size, count in found.items() if count}


_SAMPLE = TreeCells(most_roots=3, most_rows=5, optional=7)

RUN = Struct.of_words(
    "TreeRun", "trees", "binomials", "tables", "totals", "next_tree", "nodes", "n_trees", "leaves_a_flush", "most_roots",
    "most_rows", "optional",
)  # fmt: skip
PROGRAM = Program(
    "counting/trees.cu",
    (
        RUN,
        Values((
            ("kMostOptional", MOST_OPTIONAL), ("kTreeThreads", 32 * WARPS_A_BLOCK),
            ("CellShape{{3, 5}, 7}.cells()", _SAMPLE.n_cells),
            ("CellShape{{3, 5}, 7}.row(1, 2)", int(np.ravel_multi_index((1, 2, 0), _SAMPLE.shape))),
        )),
    ),
)  # fmt: skip


class CudaTrees:
    """Counts trees on the current GPU; launches run side by side.

    Parameters
    ----------
    shape : TreeCells
    tree_words : int
        Words of a tree.
    """

    def __init__(self, shape: TreeCells, tree_words: int) -> None:
        import cupy

        self._cp, self._shape, self._tree_words = cupy, shape, tree_words
        self._launches = 0
        self.wait_seconds = 0.0
        with device_errors():
            device, wanted = cupy.cuda.Device(), multiprocessors() * BLOCKS_A_MULTIPROCESSOR
            self._blocks = free_budget(device).fitting(wanted, TABLES_SHARE, 8 * shape.n_cells, "blocks")
            binomials = [comb(n, k) for n in range(MOST_OPTIONAL + 1) for k in range(MOST_OPTIONAL + 1)]
            self._held = {
                "binomials": cupy.asarray(np.array(binomials, np.uint64)),
                "tables": cupy.zeros(self._blocks * shape.n_cells, dtype=cupy.uint64),
                "totals": cupy.zeros(2 * shape.n_cells, dtype=cupy.uint64),
                "nodes": cupy.zeros(1, dtype=cupy.uint64),
            }
            self._kernel = PROGRAM.compiled().get_function("count_trees")
            self._streams = [new_stream() for _ in range(LAUNCHES_AT_ONCE)]
            self._in_flight: list[Any] = [None] * LAUNCHES_AT_ONCE
            device.synchronize()

    def add(self, trees: NDArray[np.uint32]) -> None:
        """Start the count of some trees, words of uint32."""
        cp, place = self._cp, self._launches % LAUNCHES_AT_ONCE
        with device_errors(), self._streams[place] as stream:
            stream.synchronize()  # the launch before, whose arrays can go
            words, next_tree = cp.asarray(trees), cp.zeros(1, dtype=cp.uint64)
            n_trees = len(trees) // self._tree_words
            values = self._held | {
                "trees": words,
                "next_tree": next_tree,
                "n_trees": n_trees,
                "leaves_a_flush": self._shape.leaves_a_flush,
                "most_roots": self._shape.most_roots,
                "most_rows": self._shape.most_rows,
                "optional": self._shape.optional,
            }
            run = cp.asarray(RUN.packed(values))
            blocks = min(self._blocks, -(-n_trees // WARPS_A_BLOCK))
            self._kernel((blocks,), (32 * WARPS_A_BLOCK,), (run,))
        self._in_flight[place] = (trees, words, next_tree, run)
        self._launches += 1

    def finish(self) -> tuple[dict[tuple[int, int], int], int]:
        """Wait for all launches; returns counts by (roots' size, other size), and nodes."""
        started = time.perf_counter()
        with device_errors():
            for stream in self._streams:
                stream.synchronize()
            totals = self._held["totals"].get().reshape(-1, 2)
            nodes = int(self._held["nodes"].get()[0])
        self.wait_seconds = time.perf_counter() - started
        return self._shape.sizes(totals[:, 1], totals[:, 0]), nodes
