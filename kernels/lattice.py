"""The concepts of a context and their cover edges: what a lattice is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from bicliq.kernels.arguments import checked_csr, one_of, whole_number
from bicliq.kernels.contracts import Int32Array
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.enumeration import LARGEST_SIZE, stream_maximal_bicliques
from bicliq.kernels.errors import CapacityError, memory_is_capacity
from bicliq.kernels.machine import check_room
from bicliq.kernels.rows import occurrences, transpose_rows

MOST_CONCEPTS = 2**31 - 1

Until = Callable[[str, int, int], bool]
"""Asked many times a second: what is made, how much of it is done, and how much there is (0: nobody
knows); True ends the work."""


@dataclass(frozen=True)
class ConceptBatch:
    """Some concepts; `i` of them has the objects ``left[left_offsets[i]:left_offsets[i + 1]]``.

    Its attributes are in `right` in the same way.
    """

    left_offsets: Int32Array
    left: Int32Array
    right_offsets: Int32Array
    right: Int32Array

    def __len__(self) -> int:
        return len(self.left_offsets) - 1


class ConceptLattice:
    """Concepts, numbered by falling extent (0 is the top), and which of them cover which.

    Left vertices are objects, right ones attributes. `find_concepts` makes one.

    Attributes
    ----------
    n_left, n_right : array of int32, shape (n,)
        How many objects and attributes each concept has.
    lower, upper : array of int32, shape (n_edges,)
        Cover edges, ascending by `upper`, then by `lower`.
    stability : array of int32, shape (n,)
        Delta-stability: how many objects a concept has more than its largest lower neighbour, or
        than none; neighbours of too few objects count as well.
    """

    n_left: Int32Array
    n_right: Int32Array
    lower: Int32Array
    upper: Int32Array
    stability: Int32Array

    def __init__(self, concepts: Any) -> None:
        self._concepts = concepts
        self.n_left, self.n_right = (concepts.sizes(left) for left in (True, False))

    def __len__(self) -> int:
        return len(self._concepts)

    def lists(self, first: int = 0, last: int | None = None) -> ConceptBatch:
        """Return extents and intents of the concepts from number `first` to before `last`.

        Examples
        --------
        >>> found = find_concepts([0, 1, 2], [0, 1], 2)
        >>> [half.tolist() for half in (found.lists(0, 1).left, found.lists(0, 1).right)]
        [[0, 1], []]
        """
        most = len(self)
        last = most if last is None else whole_number("last", last, least=0, most=most)
        return ConceptBatch(*self._concepts.lists(whole_number("first", first, least=0, most=last), last))


@memory_is_capacity
def find_concepts(
    indptr: Any,
    indices: Any,
    n_right: int,
    *,
    min_left: int = 0,
    threads: int = 1,
    until: Until | None = None,
) -> ConceptLattice | None:
    """Find the concepts of a context and their cover edges.

    Parameters
    ----------
    indptr : array of int, shape (n_left + 1,)
    indices : array of int, shape (n_edges,)
        CSR of the objects; each row ascending, without repetition. Rows may be empty.
    n_right : int
        Number of attributes.
    min_left : int
        Only concepts of at least so many objects; 0: all, those with an empty side included.
    threads : int
        Of the search, as of `enumerate_maximal_bicliques`. Cover edges are found by one.
    until : `Until`, optional
        What it ends gives None.

    Returns
    -------
    ConceptLattice or None

    Raises
    ------
    CapacityError
        If there are more than 2^31 - 1 concepts, or memory runs out.
    ValueError
        If the arrays are no CSR matrix of whole numbers.

    Notes
    -----
    See `src/lattice/concepts.hpp`. Memory: 4 bytes an id of either side, 60 a concept, 8 an edge.

    Examples
    --------
    >>> found = find_concepts([0, 2, 4, 5], [0, 1, 0, 1, 0], 2)
    >>> len(found), found.n_left.tolist(), found.lower.tolist(), found.upper.tolist()
    (2, [3, 2], [1], [0])
    """
    starts, columns, n_columns = checked_csr(indptr, indices, n_right)
    least = whole_number("min_left", min_left, least=0, most=LARGEST_SIZE)
    concepts = load_extension().concepts()
    _add_empty_sides(concepts, starts, columns, n_columns, least)
    n = 0

    def has_to_end() -> bool:
        progress = stream.progress()
        return until is not None and until("roots searched", progress.roots_done, progress.n_roots)

    with stream_maximal_bicliques(
        starts, columns, n_columns, min_left=max(least, 1), threads=threads, until=has_to_end
    ) as stream:
        for batch in stream:
            n += len(batch)
            if n >= MOST_CONCEPTS:
                raise CapacityError(f"there are more than {MOST_CONCEPTS:,} concepts; ask for more support")
            concepts.add(batch.left_offsets, batch.left, batch.right_offsets, batch.right)
        if not stream.result.complete:
            return None
    concepts.number()
    lattice = ConceptLattice(concepts)
    return lattice if _add_covers(lattice, concepts, (starts, columns, n_columns), least, until) else None


def _add_empty_sides(concepts: Any, starts: Any, columns: Any, n_columns: int, least: int) -> None:
    """Add top and bottom where one of their sides is empty."""
    n_rows = len(starts) - 1
    rows, others = np.arange(n_rows, dtype=np.int32), np.arange(n_columns, dtype=np.int32)
    none = np.zeros(0, np.int32)
    shared_by_all = bool((occurrences(columns, n_columns) == n_rows).any())
    if not shared_by_all and n_rows >= least:
        _add(concepts, rows, none)
    if n_columns and not least and not (np.diff(starts) == n_columns).any():
        _add(concepts, none, others)


def _add(concepts: Any, left: Int32Array, right: Int32Array) -> None:
    sides = [(np.array([0, side.size], np.int32), side) for side in (left, right)]
    concepts.add(*sides[0], *sides[1])


def _add_covers(
    lattice: ConceptLattice, concepts: Any, rows: tuple[Any, Any, int], least: int, until: Until | None
) -> bool:
    """Find the edges from the side with fewer steps; False where that was ended."""
    starts, columns, n_columns = rows
    other_starts, other_rows = transpose_rows(*rows)
    from_left = bool(least) or concepts.steps(True, starts) <= concepts.steps(False, other_starts)
    sides = (starts, columns, n_columns) if from_left else (other_starts, other_rows, len(starts) - 1)
    n_met = int(np.count_nonzero(np.diff(other_starts if from_left else starts)))
    bits_of_all = (len(sides[0]) - 1 + 63) // 64 * 8
    check_room(n_met * bits_of_all, "what each vertex of one side has of all of the other, as bits,")
    stream = load_extension().CoverStream(concepts, from_left, *sides, least)
    found: list[tuple[Any, Any, Any]] = []
    done = 0
    while (batch := stream.next()) is not None:
        done += len(batch[2])
        if until is not None and until("concepts placed", done, len(concepts)):
            return False
        found.append(batch)
    none = np.zeros(0, np.int32)
    own, other, largest = (np.concatenate([none, *(batch[i] for batch in found)]) for i in range(3))
    if from_left:
        lattice.lower, lattice.upper = other, own
    else:
        order = np.argsort(other, kind="stable")
        lattice.lower, lattice.upper = own[order], other[order]
        largest = np.zeros(len(lattice), np.int32)
        if len(order):
            first = np.flatnonzero(np.diff(lattice.upper, prepend=-1))
            largest[lattice.upper[first]] = np.maximum.reduceat(lattice.n_left[lattice.lower], first)
    lattice.stability = lattice.n_left - largest
    return True


@dataclass(frozen=True)
class Implications:
    """Implications between attributes, lists of them as in `ConceptBatch`.

    `support` says how many objects have all of a premise, and so of its conclusion.
    """

    premise_offsets: Int32Array
    premises: Int32Array
    conclusion_offsets: Int32Array
    conclusions: Int32Array
    support: Int32Array

    def __len__(self) -> int:
        return len(self.support)


@memory_is_capacity
def find_implications(
    indptr: Any,
    indices: Any,
    n_right: int,
    basis: Literal["canonical", "direct"] = "canonical",
    until: Until | None = None,
) -> Implications | None:
    """Find a basis of the implications between the attributes of a context.

    Parameters
    ----------
    indptr, indices, n_right
        As of `find_concepts`.
    basis : {"canonical", "direct"}
        The Duquenne-Guigues basis, with the fewest implications there can be, in lectic order; or
        the canonical direct one, from which a closure follows in one pass.
    until : `Until`, optional
        What it ends gives None.

    Returns
    -------
    Implications or None
        A conclusion is without the attributes of its premise.

    Notes
    -----
    See `src/lattice/implications.hpp`.

    Examples
    --------
    >>> found = find_implications([0, 2, 4, 5], [0, 1, 0, 1, 0], 2)
    >>> found.premises.tolist(), found.conclusions.tolist(), found.support.tolist()
    ([], [0], [3])
    """
    starts, columns, n_columns = checked_csr(indptr, indices, n_right)
    direct = one_of("basis", basis, ("canonical", "direct")) == "direct"
    check_room((len(starts) - 1) * (n_columns + 63) // 64 * 8, "a bit for each object and each attribute")
    made, n = ("attributes done", n_columns) if direct else ("implications found", 0)
    found = load_extension().implications(starts, columns, n_columns, direct, until and partial(_asked, until, made, n))
    return None if found is None else Implications(*found)


@memory_is_capacity
def minimal_transversals(family: Sequence[Any], n: int, until: Until | None = None) -> list[Int32Array] | None:
    """Return the minimal sets of numbers below `n` that meet every set of a family.

    What `until` ends gives None.

    Examples
    --------
    >>> [found.tolist() for found in minimal_transversals([[0, 1], [1, 2]], 3)]
    [[0, 2], [1]]
    >>> minimal_transversals([[]], 3)
    []
    """
    offsets = np.cumsum([0, *map(len, family)], dtype=np.int32)
    ids = np.concatenate([np.zeros(0, np.int32), *family]).astype(np.int32)
    told = until and partial(_asked, until, "sets found", 0)
    found = load_extension().minimal_transversals(offsets, ids, n, told)
    return None if found is None else [found[1][first:last] for first, last in pairwise(found[0].tolist())]


def _asked(until: Until, made: str, n: int, done: int) -> bool:
    return until(made, done, n)
