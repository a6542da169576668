"""Covers by surprise: which of a search's best bicliques greed takes before it has to search again.

Once a group is taken, its pairs are worth nothing to all that come after it, so that values only
fall. What is left of the best k is therefore the next best of all as long as it is worth more than
the k-th was: whatever is not among the k was worth no more, and has not risen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bicliq.kernels.contracts import Int64Array
from bicliq.kernels.surprise import SurpriseTerms

Block = tuple[Any, Any]
"""Left and right vertices, ascending."""

Answer = tuple[int, Any, Any]
"""Value in units, left and right vertices."""


@dataclass
class _Candidate:
    value: int
    left: Any
    right: Any
    worth: Int64Array  # of its pairs that no group has
    fallen: bool = False  # is it worth less than when it was found?

    @property
    def place(self) -> tuple[int, int, list[int]]:
        """What it is sorted by, the best first, as the search sorts."""
        return -self.value, -self.worth.size, self.left.tolist()

    def cover(self, block: Block) -> int:
        """Pairs of the block are worth nothing any more; returns what they were worth."""
        held = np.ix_(np.isin(self.left, block[0]), np.isin(self.right, block[1]))
        lost = int(self.worth[held].sum())
        self.worth[held] = 0
        return lost


def greedy_choice(
    answers: Sequence[Answer], terms: SurpriseTerms, covered: Sequence[Block], least: int, *, cut: bool
) -> list[Answer]:
    """Return those of a search's answers that greed takes, with what each adds.

    Parameters
    ----------
    answers
        The best bicliques, the best first, valued without the pairs of `covered`.
    terms
        What pairs are worth.
    covered
        Groups that were taken before the search.
    least
        What a group must add, in units.
    cut
        Whether there may be more of them, worth no more than the last.

    Examples
    --------
    >>> terms = SurpriseTerms.of_degrees([1, 1], [1, 1])
    >>> taken = greedy_choice([(9, [0], [0, 1]), (8, [0, 1], [1])], terms, [], 1, cut=True)
    >>> [value for value, _, _ in taken]
    [9]
    """
    waiting = [
        _Candidate(value, np.asarray(left), np.asarray(right), terms.pairs(left, right))
        for value, left, right in answers
    ]
    for block in covered:
        for each in waiting:
            each.cover(block)
    floor = waiting[-1].value if cut else least - 1
    taken: list[Answer] = []
    while waiting:
        best = min(waiting, key=lambda each: each.place)
        if best.value < least or (best.fallen and best.value <= floor):
            break
        waiting.remove(best)
        taken.append((best.value, best.left, best.right))
        for each in waiting:
            lost = each.cover((best.left, best.right))
            each.value -= lost
            each.fallen |= lost != 0
    return taken
