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
    """Refuse gaps that are none, and what is not known of groups with gaps.

    Raises
    ------
    InputError
    """
    for name, gaps in (("missing", asked.missing), ("missing_each", asked.missing_each)):
        if gaps is not None and gaps < 0:
            raise InputError(f"{name} is {gaps}; it must be a whole number of pairs of at least 0")
    if not asked.missing:
        if asked.missing_each:
            raise InputError(
                f"missing_each = {asked.missing_each} is of one member; say with missing how many pairs may be missing in all"
            )
        return
    why = {
        f"by = {asked.by!r}": asked.by in ("weight", "surprise"),
        "diverse": asked.diverse,
        "null": bool(asked.null),
        "containing": bool(asked.containing),
    }
    for what, given in why.items():
        if given:
            raise InputError(
                f"missing = {asked.missing} finds groups with gaps by edges, vertices or balanced, and is not for {what};"
                " leave one of the two out"
            )


def refuse_gaps(asked: FindAsked, what: str) -> None:
    """Refuse gaps where the question is not put to an edge table as it is.

    Raises
    ------
    InputError
    """
    if asked.missing:
        raise InputError(f"missing = {asked.missing} finds groups with gaps in an edge table, and not {what}")


def missing_labels(group: kernels.Group, part: Part) -> list[list[Any]]:
    """Return the pairs that a group misses, by their labels."""
    assert group.missing is not None, "the group was found with its gaps"
    left, right = group.missing.T
    return [list(pair) for pair in zip(part.labels("left", left), part.labels("right", right), strict=True)]
