"""Surprise: how unlikely a biclique is where edges fall by degree, as `top_bicliques` has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from bicliq.kernels.contracts import BicliqueBatch, Int64Array
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.errors import memory_is_capacity

SURPRISE_UNIT = 2.0**-20
"""Nats: logarithms are rounded to whole multiples of this, so that sums are exact."""


@dataclass(frozen=True, eq=False)
class SurpriseTerms:
    """What each vertex of a graph adds to the surprise of a biclique, an edge: ½ ln m − ln d.

    The surprise of L × R is then |R| times the sum of the terms of L, and |L| times that of R.

    Parameters
    ----------
    left, right : array of int64
        The terms of both sides, by id, in units of 2⁻²⁰ nats.

    Examples
    --------
    >>> SurpriseTerms.of_degrees([2, 2], [2, 2], 4).left.tolist()  # ½ ln 4 = ln 2
    [0, 0]
    """

    left: Int64Array
    right: Int64Array

    unit: ClassVar[float] = SURPRISE_UNIT
    """Nats of a term of 1."""

    @classmethod
    def of_degrees(cls, left_degrees: Any, right_degrees: Any, n_edges: int) -> SurpriseTerms:
        """Return the terms of a graph with these degrees and so many edges."""
        return cls(_terms(left_degrees, n_edges), _terms(right_degrees, n_edges))

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
        O(ids) time, without Python's lock. Sums are of whole numbers, so the value is that of
        `top_bicliques` and of a stored column (`encode_bicliques`), to the last bit.

        Examples
        --------
        >>> from bicliq.kernels import stream_maximal_bicliques
        >>> terms = SurpriseTerms.of_degrees([1, 1], [1, 1], 2)
        >>> with stream_maximal_bicliques([0, 1, 2], [0, 1], 2) as stream:
        ...     [terms.of(batch).round(3).tolist() for batch in stream]  # ln 2
        [[0.693, 0.693]]
        """
        return _surprise(batch, self)


@memory_is_capacity
def _surprise(batch: BicliqueBatch, terms: SurpriseTerms) -> npt.NDArray[np.float64]:
    lists = batch.left_offsets, batch.left, batch.right_offsets, batch.right
    found: npt.NDArray[np.float64] = load_extension().surprise(*lists, terms.left, terms.right, SURPRISE_UNIT)
    return found


def _terms(degrees: Any, n_edges: int) -> Int64Array:
    known = np.maximum(degrees, 1)
    most = known.max(initial=1)
    if known.dtype.kind in "iu" and most < known.size:  # far fewer degrees than vertices: 5 → 1 ms for EuAll
        terms: Int64Array = _terms_of(np.arange(int(most) + 1), n_edges)[known]
        return terms
    return _terms_of(known, n_edges)


def _terms_of(degrees: Any, n_edges: int) -> Int64Array:
    logarithms = 0.5 * np.log(max(n_edges, 1)) - np.log(np.maximum(degrees, 1), dtype=np.float64)
    terms: Int64Array = np.rint(logarithms / SURPRISE_UNIT).astype(np.int64)
    return terms
