"""Surprise: how far a biclique is beyond chance, given the degrees, as `top_bicliques` has it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import lgamma, log
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bicliq.kernels.contracts import BicliqueBatch, Int32Array, Int64Array
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.errors import memory_is_capacity
from bicliq.kernels.rows import occurrences, of_entries

SURPRISE_UNIT = 2.0**-20
"""Nats: logarithms are rounded to whole multiples of this, so that sums are exact."""

LARGEST_TERM = 12.0
"""Nats of a term, at most, in either direction: a chance that differs from 0 or 1 by 4e-11."""

CORRECTION_SHIFT = 10
"""Bits of a sum of two terms that its correction does not look at: steps of 2⁻¹⁰ nats."""

LOWEST_CORRECTED = int(-2 * LARGEST_TERM / SURPRISE_UNIT)
"""Units of a sum of two terms that is corrected, at least."""

LARGEST_CORRECTED = 16.0
"""Nats of a sum of two terms from which on its correction is less than half a unit."""

LARGEST_TABLE = 1 << 24
"""Degrees up to this, or the number of vertices, are counted in a table."""

ROUNDS, CLOSE_ENOUGH = 300, 1e-7
"""Of the fixed point: at most so many rounds, until all degrees are met to this share. A
vertex that is joined to nearly all others comes near slowly, and makes no difference."""


@dataclass(frozen=True, eq=False)
class SurpriseTerms:
    """What the surprise of a biclique is made of, for one graph.

    Left vertex u and right vertex v are joined by chance p = x_u · y_v / (1 + x_u · y_v), where x
    and y are such that every vertex has its degree on average: the random table of maximum entropy.
    L × R is worth Σ −ln p over its pairs, less what its choice costs on either side: ln C(n, k) for
    having chosen k of n vertices, and ln k (k + 1) for having chosen k. As Σ 1 / k (k + 1) is 1, a
    random table has at most exp(−s) blocks worth s or more on average, of all sizes together.

    Parameters
    ----------
    left, right : array of int64
        −ln x and −ln y by vertex, in units of 2⁻²⁰ nats.
    left_costs, right_costs : array of int64
        ln C(n, k) + ln k (k + 1) by k, in the same unit.

    Examples
    --------
    >>> terms = SurpriseTerms.of_degrees([1, 1], [1, 1])  # p = 1/2 for each pair: x · y = 1
    >>> (terms.left + terms.right).tolist()
    [0, 0]
    >>> (terms.left_costs * terms.unit).round(3).tolist()  # ln 2 · 2 and ln 1 · 6
    [0.0, 1.386, 1.792]
    """

    left: Int64Array
    right: Int64Array
    left_costs: Int64Array
    right_costs: Int64Array

    unit: ClassVar[float] = SURPRISE_UNIT
    """Nats of a term of 1."""

    step: ClassVar[float] = SURPRISE_UNIT * (2**CORRECTION_SHIFT + 2)
    """Nats by which a pair is worth more or less where its terms are rounded otherwise, at most."""

    @classmethod
    def of_degrees(cls, left_degrees: Any, right_degrees: Any) -> SurpriseTerms:
        """Return the terms of a graph with these degrees; both sides' must add up to its edges.

        Notes
        -----
        O(different left degrees × different right degrees) a round of a fixed point; vertices of
        one degree have one term (Squartini, Garlaschelli 2011; Saracco et al. 2015).
        """
        left, right = np.asarray(left_degrees), np.asarray(right_degrees)
        return cls(*_terms(left, right), *(_costs(int(np.count_nonzero(side)), len(side)) for side in (left, right)))

    def of(self, batch: BicliqueBatch) -> npt.NDArray[np.float64]:
        """Return the surprise of each biclique of a batch, in nats.

        Parameters
        ----------
        batch : BicliqueBatch
            Ids of these vertices, on the host.

        Raises
        ------
        ValueError
            If the arrays are no batch, or an id has no term.

        Notes
        -----
        O(edges of the bicliques) time, without Python's lock. Sums are of whole numbers, so the
        value is that of `top_bicliques` and of a stored column (`encode_bicliques`), to the last
        bit.

        Examples
        --------
        >>> from bicliq.kernels import stream_maximal_bicliques
        >>> terms = SurpriseTerms.of_degrees([1, 1], [1, 1])
        >>> with stream_maximal_bicliques([0, 1, 2], [0, 1], 2) as stream:
        ...     [terms.of(batch).round(3).tolist() for batch in stream]  # about ln 2 - 4 ln 2
        [[-2.08, -2.08]]
        """
        return _surprise(batch, self)

    def pairs(self, left: Any, right: Any) -> Int64Array:
        """Return −ln p of each pair of some left and right vertices, in units.

        Parameters
        ----------
        left, right : array of int

        Returns
        -------
        array of int64, shape (left, right)

        Examples
        --------
        >>> terms = SurpriseTerms.of_degrees([1, 1], [1, 1])
        >>> (terms.pairs([0, 1], [0]) * terms.unit).round(2).tolist()  # ln 2
        [[0.69], [0.69]]
        """
        return self._worth(np.add.outer(self.left[np.asarray(left)], self.right[np.asarray(right)]))

    def edges(self, indptr: Int64Array, indices: Int32Array) -> Int64Array:
        """Return −ln p of each edge of a graph of these vertices, a CSR of the left side, in units.

        Examples
        --------
        >>> terms = SurpriseTerms.of_degrees([1, 1], [1, 1])
        >>> (terms.edges(np.array([0, 1, 2]), np.array([0, 1])) * terms.unit).round(2).tolist()  # ln 2
        [0.69, 0.69]
        """
        return self._worth(of_entries(self.left, indptr) + self.right[indices])

    def _worth(self, sums: Int64Array) -> Int64Array:
        *_, corrected, lowest, shift = self.arrays
        step = np.maximum((sums - lowest) >> shift, 0)
        return sums + np.where(step < len(corrected), corrected[np.minimum(step, len(corrected) - 1)], 0)

    def of_group(self, left: Any, right: Any, missing: Any = None) -> tuple[float, float]:
        """Return the surprise of one block, and how many edges chance puts there on average.

        Parameters
        ----------
        left, right : array of int
            Its members, ascending.
        missing : array of int, shape (n, 2), optional
            Its pairs that are no edges, where a group may have such: each counts ln(1 − p) in place
            of −ln p, and having chosen m of n pairs, or none, costs ln C(n, m) + ln (m + 1)(m + 2).
            As Σ 1 / (m + 1)(m + 2) is 1, exp(−s) bounds the expected number as it does without.

        Notes
        -----
        O(edges of the block).

        Examples
        --------
        >>> terms = SurpriseTerms.of_degrees([1, 1], [1, 1])
        >>> [round(value, 3) for value in terms.of_group([0], [0])]
        [-2.08, 0.5]
        """
        ids = [np.asarray(side, np.int32) for side in (left, right)]
        ends = [np.array([0, len(side)], np.int32) for side in ids]
        batch = BicliqueBatch(ends[0], ids[0], ends[1], ids[1], np.zeros(1, np.int32))
        value = float(self.of(batch)[0])
        if missing is not None:
            gaps = (self.left[missing[:, 0]] + self.right[missing[:, 1]]) * SURPRISE_UNIT
            value -= float((np.logaddexp(0, gaps) + np.logaddexp(0, -gaps)).sum())  # −ln p and −ln(1 − p)
            pairs, m = len(ids[0]) * len(ids[1]), len(missing)
            value -= _ways(pairs, m) + log((m + 1) * (m + 2))
        return value, self.expected(*ids)

    def expected(self, left: Any, right: Any) -> float:
        """Return how many edges chance puts into a block on average: O(edges of the block).

        Examples
        --------
        >>> SurpriseTerms.of_degrees([1, 1], [1, 1]).expected([0, 1], [0])
        1.0
        """
        return float((1 / (1 + np.exp(np.add.outer(self.left[left], self.right[right]) * SURPRISE_UNIT))).sum())

    @property
    def arrays(self) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array, Int32Array, int, int]:
        """What the extension takes: terms, costs, and the correction of a sum of two terms."""
        corrected = corrections() if len(self.left_costs) else np.zeros(0, np.int32)
        return self.left, self.right, self.left_costs, self.right_costs, corrected, LOWEST_CORRECTED, CORRECTION_SHIFT


@cache
def corrections() -> Int32Array:
    """Return ln(1 + exp(−x)) in units, by x from −2 · `LARGEST_TERM` on, in steps."""
    step = SURPRISE_UNIT * 2**CORRECTION_SHIFT
    x = np.arange(-2 * LARGEST_TERM, LARGEST_CORRECTED, step) + step / 2
    found: Int32Array = np.rint(np.log1p(np.exp(-x)) / SURPRISE_UNIT).astype(np.int32)
    return found


@memory_is_capacity
def _surprise(batch: BicliqueBatch, terms: SurpriseTerms) -> npt.NDArray[np.float64]:
    lists = batch.left_offsets, batch.left, batch.right_offsets, batch.right
    found: npt.NDArray[np.float64] = load_extension().surprise(*lists, terms.arrays, SURPRISE_UNIT)
    return found


def _ways(n: int, k: int) -> float:
    """Return ln C(n, k)."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _costs(n: int, most: int) -> Int64Array:
    """Return ln C(n, k) + ln k (k + 1) for k from 0 to `most`, 0 for 0 and beyond n."""
    k = np.arange(1, n + 1, dtype=np.float64)
    found = np.zeros(most + 1)
    found[1 : n + 1] = np.cumsum(np.log((n - k + 1) / k)) + np.log(k * (k + 1))
    return np.rint(np.maximum(found, 0) / SURPRISE_UNIT).astype(np.int64)


def _distinct(degrees: Any) -> tuple[Any, Any, Any]:
    """Return what `np.unique` does, with inverse and counts, in passes that an interrupt ends."""
    most = degrees.max(initial=0)
    if degrees.dtype.kind != "i" or degrees.min(initial=0) < 0 or most > max(len(degrees), LARGEST_TABLE):
        return np.unique(degrees, return_inverse=True, return_counts=True)
    times = occurrences(degrees, int(most) + 1)
    found = np.flatnonzero(times)
    return found, (np.cumsum(times > 0) - 1)[degrees], times[found]


def _terms(left: Any, right: Any) -> tuple[Int64Array, Int64Array]:
    """Return −ln x and −ln y of the random table whose degrees are these on average."""
    (a, left_at, n_a), (b, right_at, n_b) = (_distinct(side) for side in (left, right))
    edges = max(float((a * n_a).sum()), 1.0)
    low, high = np.exp(-LARGEST_TERM), np.exp(LARGEST_TERM)
    x, y = (np.clip(each / np.sqrt(edges), low, high) for each in (a, b))
    for _ in range(ROUNDS):
        had = (n_b * y / (1 + np.outer(x, y))).sum(1)  # a vertex of degree a has x times this on average
        if (np.abs(x * had - a) <= CLOSE_ENOUGH * a)[a > 0].all():
            break
        x = np.clip(a / np.maximum(had, low * low), low, high)
        y = np.clip(b / np.maximum((n_a * x / (1 + np.outer(y, x))).sum(1), low * low), low, high)
    terms = [np.rint(-np.log(each) / SURPRISE_UNIT).astype(np.int64) for each in (x, y)]
    return terms[0][left_at], terms[1][right_at]
