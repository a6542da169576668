"""The order-free set digest in NumPy.

What `src/lanes/hash.hpp` computes, from the lists themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bicliq.kernels.arguments import as_int64, checked_hashes, whole_numbers
from bicliq.kernels.errors import memory_is_capacity

U64 = NDArray[np.uint64]
LEFT_SEED = np.uint64(0x9E3779B97F4A7C15)
RIGHT_SEED = np.uint64(0xD1B54A32D192ED03)


@memory_is_capacity
def set_digest(
    left_offsets: Any, left: Any, right_offsets: Any, right: Any, left_hashes: Any = None, right_hashes: Any = None
) -> int:
    """Digest of a set of bicliques given as two list columns.

    The digest of a union of disjoint sets is the sum of their digests modulo 2**64, so a table of
    any size can be digested in pieces.

    Parameters
    ----------
    left_offsets, right_offsets : array of int, shape (n + 1,)
        Where each biclique's list starts and the last one ends.
    left, right : array of int
        Dense vertex ids; their order within a list is of no importance.
    left_hashes, right_hashes : array of uint64, optional
        The 64-bit hash of each vertex's label, by id; the ids by default.

    Returns
    -------
    int
        In 0…2**64 - 1; 0 for the empty set.

    Raises
    ------
    ValueError
        If the arrays hold anything but whole numbers, or are no lists.

    Notes
    -----
    O(ids) time. A vertex is hashed by SplitMix64's finaliser [1]_ over the hash of its label and
    its side's seed, a side is the sum of its vertices, a biclique ``mix(mix(L ^ seed) + R)``, a set
    the sum of its bicliques.

    References
    ----------
    .. [1] Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.

    Examples
    --------
    >>> set_digest([0, 2], [0, 1], [0, 1], [5]) == set_digest([0, 2], [1, 0], [0, 1], [5])
    True
    """
    hashes = biclique_hashes(left_offsets, left, right_offsets, right, left_hashes, right_hashes)
    return int(np.sum(hashes, dtype=np.uint64))


@memory_is_capacity
def biclique_hashes(
    left_offsets: Any, left: Any, right_offsets: Any, right: Any, left_hashes: Any = None, right_hashes: Any = None
) -> U64:
    """Hash of each biclique given in two list columns: what `set_digest` adds up.

    Parameters and errors as of `set_digest`.

    Returns
    -------
    array of uint64, shape (n,)

    Examples
    --------
    >>> one, other = biclique_hashes([0, 2, 4], [0, 1, 1, 0], [0, 1, 2], [5, 5])
    >>> bool(one == other)
    True
    """
    left_sums = _list_sums(left_offsets, left, LEFT_SEED, "left", left_hashes)
    right_sums = _list_sums(right_offsets, right, RIGHT_SEED, "right", right_hashes)
    if len(left_sums) != len(right_sums):
        raise ValueError(f"there are {len(left_sums)} left sides and {len(right_sums)} right sides")
    with np.errstate(over="ignore"):
        found: U64 = _mix(_mix(left_sums ^ LEFT_SEED) + right_sums)
    return found


def vertex_hashes(label_hashes: U64, seed: np.uint64) -> U64:
    """Hash of each vertex of one side, given the hashes of their labels and the side's seed."""
    with np.errstate(over="ignore"):
        return _mix(label_hashes + seed)


def _mix(x: U64) -> U64:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _list_sums(offsets: Any, ids: Any, seed: np.uint64, side: str, label_hashes: Any) -> U64:
    """Sum of the vertex hashes of each list (no list is empty in a biclique, but it may be)."""
    values = whole_numbers(ids, side)
    bounds = as_int64(offsets, f"{side}_offsets")
    if not len(bounds) or bounds[0] < 0 or bounds[-1] > len(values) or (np.diff(bounds) < 0).any():
        raise ValueError(
            f"{side}_offsets must have an entry more than there are lists, never fall, and lie in 0…{len(values)}"
        )
    with np.errstate(over="ignore"):
        hashes = vertex_hashes(_labels_of(values, label_hashes, side), seed)
        running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
        sums: U64 = running[bounds[1:]] - running[bounds[:-1]]
    return sums


def _labels_of(ids: Any, label_hashes: Any, side: str) -> U64:
    """Hash of the label of each id."""
    if label_hashes is None:
        own: U64 = np.asarray(ids).astype(np.int64).view(np.uint64)
        return own
    if len(ids) and (ids.min() < 0 or ids.max() >= len(label_hashes)):
        raise ValueError(f"{side} holds ids from {ids.min()} to {ids.max()}, of {len(label_hashes)} labels")
    hashes: U64 = checked_hashes(label_hashes, len(label_hashes), f"{side}_hashes")[ids]
    return hashes
