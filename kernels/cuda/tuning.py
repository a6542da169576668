"""How the search is laid out on a GPU.

Numbers that the kernels are compiled with, and that an ablation varies.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


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
