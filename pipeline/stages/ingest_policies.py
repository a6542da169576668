"""Which rows of a table stay: the policies, in the one order in which they are applied and counted.

The CPU and the GPU hold rows in tables of different libraries, but ask the same questions of them.
`Rows` are the questions; `filtered` puts them in order and counts what each drops.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa
import xxhash

from bicliq.pipeline.columns import column_of
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.times import parse_time

DROPPED = (
    "dropped_nulls",
    "dropped_by_value",
    "dropped_self_labels",
    "dropped_by_weight",
    "dropped_by_time",
    "dropped_by_sample",
    "dropped_by_window",
)
"""Reasons for which a row is dropped, in the order in which it is asked about them."""


def no_rows() -> dict[str, int]:
    """Counts of a table of which nothing was read yet."""
    return dict.fromkeys(("rows_read", *DROPPED, "dropped_ragged"), 0)


def refuse_in_step(settings: IngestSettings, asked: bool = False) -> None:
    """Refuse `in_step` where a question has no groups in step."""
    if settings.in_step is not None and not asked:
        raise InputError(
            f"in_step = {settings.in_step!r} is for runs, find, estimate, and the command enumerate, which counts; counts of"
            " p × q, cliques, concepts and itemsets know no groups in step: leave it out"
        )


class Rows(Protocol):
    """Some rows of a table, in the arrays of one library.

    Each question returns a mask of the rows that pass, or None where all do.
    """

    def __len__(self) -> int:
        """Number of rows."""
        ...

    def where(self, mask: Any) -> Self:
        """Keep the rows for which a mask is true."""
        ...

    def complete(self) -> Any:
        """Whether nothing is missing."""
        ...

    def valued(self, least: float | None) -> Any:
        """Whether the cell of a matrix is an edge: not 0, and at least so much."""
        ...

    def distinct(self) -> Any:
        """Whether the two labels are different text.

        Where equal ones are an error, that is raised.
        """
        ...

    def heavy(self, least: float) -> Any:
        """Whether the weight is so large."""
        ...

    def within(self, since: float, until: float) -> Any:
        """Whether the time (Unix seconds) lies in a window; its end does not belong to it."""
        ...

    def sampled(self, fraction: float) -> Any:
        """Whether the left label is of the sample."""
        ...


AnyRows = TypeVar("AnyRows", bound=Rows)


def filtered(rows: AnyRows, settings: IngestSettings, counts: dict[str, int]) -> AnyRows:
    """Apply the policies, and count the rows that each drops.

    `rows`: rows of which nothing was dropped yet. `counts`: begun by `no_rows`; what each policy
    drops is added.
    """
    for reason, passes in _policies(settings):
        mask = passes(rows)
        if mask is not None:
            kept = rows.where(mask)
            counts[reason] += len(rows) - len(kept)
            rows = kept
    return rows


def _policies(settings: IngestSettings) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    if settings.nulls == "drop":
        yield "dropped_nulls", lambda rows: rows.complete()
    yield "dropped_by_value", lambda rows: rows.valued(settings.min_value)
    if settings.self_labels != "keep":
        yield "dropped_self_labels", lambda rows: rows.distinct()
    if settings.min_weight is not None:
        yield "dropped_by_weight", lambda rows: rows.heavy(settings.min_weight)
    if settings.since is not None or settings.until is not None:
        since = -math.inf if settings.since is None else parse_time(settings.since)
        until = math.inf if settings.until is None else parse_time(settings.until)
        yield "dropped_by_time", lambda rows: rows.within(since, until)
    if settings.sample is not None:
        yield "dropped_by_sample", lambda rows: rows.sampled(settings.sample)


def of_sample(labels: pa.Array, fraction: float) -> pa.Array:
    """Whether labels are of the sample: by a hash of their text, so always the same ones.

    Examples
    --------
    >>> of_sample(pa.array(["ann", "bob", "ann"]), 0.5).to_pylist()
    [True, True, True]
    >>> of_sample(pa.array([7, 8]), 0.5).equals(of_sample(pa.array(["7", "8"]), 0.5))
    True
    """
    encoded = labels.dictionary_encode()
    distinct = encoded.dictionary.to_pylist()
    keep = [xxhash.xxh3_64_intdigest(str(label).encode()) < fraction * 2**64 for label in distinct]
    return column_of(np.array(keep, np.bool_)).take(encoded.indices)
