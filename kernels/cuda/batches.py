"""Batches of roots: where memory does not suffice, half of the roots are searched at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import IntEnum
from typing import Generic, Protocol, TypeVar

from bicliq.kernels.cuda.program import SharedEnum
from bicliq.kernels.errors import BackendError


class Failure(IntEnum):
    """Why a run ended early (`src/lanes/errors.hpp`): memory, or the host's decision."""

    NONE = 0
    ARENA_FULL = 1
    TASKS_FULL = 2
    WORKSPACE_FULL = 3
    GIVEN_UP = 4


FAILURE = SharedEnum(Failure)


class Sized(Protocol):
    """A batch; its length is the number of its roots."""

    def __len__(self) -> int: ...


Batch = TypeVar("Batch", bound=Sized)


class RootBatches(Generic[Batch]):
    """The batches that are still to be searched, the next one first; iterating takes them out.

    Parameters
    ----------
    first
        All roots.
    halves
        Divides a batch of at least two roots.

    Examples
    --------
    A device that holds two roots at a time:

    >>> batches = RootBatches([1, 2, 3, 4, 5], lambda roots: (roots[::2], roots[1::2]))
    >>> for batch in batches:
    ...     if len(batch) > 2:
    ...         batches.halve(batch)
    ...     else:
    ...         print(batch)
    [1, 5]
    [3]
    [2, 4]
    """

    def __init__(self, first: Batch, halves: Callable[[Batch], tuple[Batch, Batch]]) -> None:
        self._waiting = [first]
        self._halves = halves

    def __iter__(self) -> Iterator[Batch]:
        while self._waiting:
            yield self._waiting.pop()

    def repeat(self, batch: Batch) -> None:
        """Search a batch once more."""
        self._waiting.append(batch)

    def halve(self, batch: Batch) -> None:
        """Search a batch again, half of it at a time.

        Raises
        ------
        BackendError
            If it is a single root.
        """
        if len(batch) < 2:
            raise BackendError("the largest root does not fit in the GPU's free memory; use the CPU backend")
        self._waiting.extend(reversed(self._halves(batch)))
