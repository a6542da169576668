"""What groups are worth by an objective, in whole numbers, so that sums are exact."""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from bicliq.kernels.contracts import Int32Array, Int64Array
from bicliq.kernels.rows import occurrences
from bicliq.kernels.surprise import SURPRISE_UNIT, SurpriseTerms

NONE = np.zeros(0, np.int64)
"""Terms or costs of what has none."""

NO_TERMS = SurpriseTerms(NONE, NONE, NONE, NONE)

Objective = Literal["edges", "vertices", "balanced", "weight", "surprise"]
OBJECTIVES: tuple[str, ...] = get_args(Objective)

NO_VALUE = -(2**63)
SUM_BITS = 61  # all weights together stay below two to this power


def least_units(value: Any, unit: float | None) -> int:
    """The least whole number that reaches a value."""
    if value is None:
        return NO_VALUE
    if not isinstance(value, (int, float, np.integer, np.floating)) or value != value:
        raise ValueError(f"min_value is {value!r}; it must be a number")
    return int(np.clip(np.ceil(float(value) if unit is None else float(value) / unit), -(2.0**62), 2.0**62))


def sums_of_edges(objective: str, columns: Int32Array, edge_weights: Any) -> tuple[Int64Array, float | None]:
    """A whole number an edge, and the unit of these numbers; None where edges are counted."""
    if edge_weights is None:
        if objective == "weight":
            raise ValueError("diverse by weight needs edge_weights")
        return np.ones(len(columns), np.int64), None
    if objective != "weight":
        raise ValueError(f"weights are for objective 'weight', not {objective!r}")
    given = _checked(edge_weights, len(columns), "edge_weights", "an edge")
    (weights, _), unit_of_weights = _of_weights(given, np.zeros(0))
    return weights, unit_of_weights


def terms_of(
    objective: str,
    starts: Int64Array,
    columns: Int32Array,
    n_right: int,
    left_weights: Any,
    right_weights: Any,
    left_degrees: Any,
    right_degrees: Any,
) -> tuple[SurpriseTerms, float | None]:
    """Whole numbers by vertex, and their unit; None where sizes alone count."""
    n_left = len(starts) - 1
    if objective == "weight":
        if left_weights is None and right_weights is None:
            raise ValueError("objective 'weight' needs left_weights, right_weights, or both")
        given = _checked(left_weights, n_left, "left_weights"), _checked(right_weights, n_right, "right_weights")
        terms, unit = _of_weights(*given)
        return SurpriseTerms(*terms, NONE, NONE), unit
    if left_weights is not None or right_weights is not None:
        raise ValueError(f"weights are for objective 'weight', not {objective!r}")
    if objective == "surprise":
        left = np.diff(starts) if left_degrees is None else _checked(left_degrees, n_left, "left_degrees")
        if right_degrees is None:
            right_degrees = occurrences(columns, n_right)
        right = _checked(right_degrees, n_right, "right_degrees")
        return SurpriseTerms.of_degrees(left, right), SURPRISE_UNIT
    if left_degrees is not None or right_degrees is not None:
        raise ValueError(f"degrees are for objective 'surprise', not {objective!r}")
    return NO_TERMS, None


def _checked(values: Any, n: int, name: str, of: str = "a vertex") -> Any:
    if values is None:
        return np.zeros(n)
    array = np.asarray(values)
    if array.ndim != 1 or len(array) != n or array.dtype.kind not in "iuf":
        raise ValueError(f"{name} must be an array of {n} numbers, one {of}")
    if not np.isfinite(array).all():
        place = int(np.argmin(np.isfinite(array)))
        raise ValueError(f"{name} holds {array[place]} at index {place}; it must be a number")
    return array


def _of_weights(left: Any, right: Any) -> tuple[tuple[Int64Array, Int64Array], float]:
    total = float(np.abs(left).sum(dtype=np.float64) + np.abs(right).sum(dtype=np.float64))
    unit = 2.0 ** (int(np.ceil(np.log2(total))) - SUM_BITS) if total > 0 else 1.0
    whole = all(array.dtype.kind in "iu" or (array == np.rint(array)).all() for array in (left, right))
    if whole and total < 2.0**SUM_BITS:
        unit = 1.0

    terms = [
        array.astype(np.int64) if unit == 1.0 else np.rint(array / unit).astype(np.int64) for array in (left, right)
    ]
    return (terms[0], terms[1]), unit
