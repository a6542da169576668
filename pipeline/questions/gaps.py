"""Groups with gaps: what is asked of them, and what is not known of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bicliq import kernels
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.questions.members import Part

if TYPE_CHECKING:
    from bicliq.pipeline.questions.find import FindAsked

CANNOT_ON_GPU = "it finds no groups with gaps"


def check_gaps(asked: FindAsked) -> None:
    """Refuse gaps that are none."""
    for name, gaps in (("missing", asked.missing), ("missing_each", asked.missing_each)):
        if gaps is not None and gaps < 0:
            raise InputError(f"{name} is {gaps!r}; it must be a whole number of pairs of at least 0")
    if asked.missing_each and not asked.missing:
        raise InputError(
            f"missing_each = {asked.missing_each} is of one member; say how many may be missing in all, as in missing ="
            f" {asked.missing_each}"
        )


def missing_labels(group: kernels.Group, part: Part) -> list[list[Any]]:
    """Return the pairs that a group misses, by their labels."""
    assert group.missing is not None, "the group was found with its gaps"
    left, right = group.missing.T
    return [list(pair) for pair in zip(part.labels("left", left), part.labels("right", right), strict=True)]
