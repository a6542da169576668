"""The kernels of `src/clique/clique.cu` on threads of the host: each group of 32 lanes is a thread,
memory is NumPy's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from bicliq.kernels._cpu_warps import run_clique_groups
from bicliq.kernels.cuda.device import Budget


def search_cliques(grid: Any, block: Any, arguments: Any) -> None:
    run_clique_groups(arguments[0].ctypes.data, grid[0] * block[0] // 32, 1)


def build_clique_roots(grid: Any, block: Any, arguments: Any) -> None:
    run_clique_groups(arguments[0].ctypes.data, grid[0] * block[0] // 32, 0)


CLIQUES = {"search_cliques": search_cliques, "build_clique_roots": build_clique_roots}
"""For `host_cupy`."""


class EmulatedGpu:
    """A machine for `kernels.cuda.clique.search`."""

    xp = np

    def __init__(self, groups: int = 8, near_words: int = 1000, memory: int = 1 << 30) -> None:
        self.groups, self.near_words, self._memory = groups, near_words, memory
        self._pool = ThreadPoolExecutor(1)
        self.launches: list[tuple[str, int]] = []

    def opened(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def budget(self) -> Budget:
        return Budget(self._memory)

    def launch(self, kernel: str, fields: np.ndarray, groups: int, width: int, near_words: int) -> None:
        self.launches.append((kernel, width))
        asked = (fields.ctypes.data, groups, width if kernel == "search_cliques" else 0)
        self._run = self._pool.submit(run_clique_groups, *asked)

    def running(self) -> bool:
        if self._run.done():
            self._run.result()
        return not self._run.done()

    def peek(self, array: np.ndarray) -> np.ndarray:
        return array.copy()

    def poke(self, array: np.ndarray, place: int, value: int) -> None:
        array[place] = value
