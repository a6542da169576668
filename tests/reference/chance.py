"""The surprise of a block, pair by pair, as its definition says."""

from __future__ import annotations

from collections.abc import Iterable
from math import comb, exp, log, log1p

from bicliq.kernels.surprise import CORRECTION_SHIFT, LARGEST_CORRECTED, SURPRISE_UNIT, SurpriseTerms


def pair(x: int) -> int:
    """−ln of the chance whose odds are exp(−x), in units, corrected as in a step's middle."""
    nats = x * SURPRISE_UNIT
    if nats >= LARGEST_CORRECTED:
        return x
    middle = ((x >> CORRECTION_SHIFT) + 0.5) * 2**CORRECTION_SHIFT * SURPRISE_UNIT
    return x + round(log1p(exp(-middle)) / SURPRISE_UNIT)


def worth(terms: SurpriseTerms, pairs: Iterable[tuple[int, int]]) -> int:
    """What pairs are worth, without what their choice costs."""
    return sum(pair(int(terms.left[u]) + int(terms.right[v])) for u, v in pairs)


def cost(n: int, k: int) -> int:
    """ln C(n, k) + ln k (k + 1) in units."""
    return round(log(comb(n, k) * k * (k + 1)) / SURPRISE_UNIT)
