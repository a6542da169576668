"""A basis of the implications between the attributes of a context, with its own labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from bicliq import kernels
from bicliq.pipeline.columns import column_of
from bicliq.pipeline.errors import InputError, LimitReached
from bicliq.pipeline.results.as_table import AsTable
from bicliq.pipeline.results.concepts import Context
from bicliq.pipeline.store.account import account_of


@dataclass(frozen=True, eq=False, repr=False)
class Implications(AsTable):
    """Implications: who has all of a premise has all of its conclusion.

    Parameters
    ----------
    found
        The basis, of numbers of attributes.
    context
        Of what.
    basis
        "canonical" or "direct".

    Examples
    --------
    >>> import bicliq
    >>> found = bicliq.implications({"duck": ["flies", "swims"], "owl": ["flies"], "pike": ["swims", "dives"]})
    >>> [(row["premise"], row["conclusion"], row["count"]) for row in found]
    [(['dives'], ['swims'], 1)]
    """

    found: kernels.Implications
    context: Context
    basis: Literal["canonical", "direct"]

    def __len__(self) -> int:
        return len(self.found)

    def __repr__(self) -> str:
        return f"<{len(self):,} implications, the {self.basis} basis of {self.context.graph.n_right:,} attributes>"

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield each as a dict of the columns of `to_arrow`."""
        yield from self.to_arrow().to_pylist()

    @property
    def account(self) -> dict[str, Any]:
        """What became of the rows of the table: see `account_of`."""
        return account_of(self.context.record)

    def to_arrow(self) -> pa.Table:
        """Return them as an Arrow table: premise, conclusion, count (of objects), support."""
        found, labels = self.found, self.context.attributes
        sides = ((found.premise_offsets, found.premises), (found.conclusion_offsets, found.conclusions))
        lists = [pa.ListArray.from_arrays(column_of(at), labels.take(column_of(ids))) for at, ids in sides]
        counts = found.support.astype(np.int64)
        support = column_of(counts / max(self.context.graph.n_left, 1))
        return pa.table([*lists, column_of(counts), support], ["premise", "conclusion", "count", "support"])


def find_implications(
    context: Context, basis: Literal["canonical", "direct"], time_limit: float | None
) -> Implications:
    """Find a basis of a context.

    Raises
    ------
    InputError
        Where there is no such basis.
    LimitReached
        When the time is up.
    """
    if basis not in ("canonical", "direct"):
        raise InputError(f"basis = {basis!r} is none of canonical, direct")
    graph, limit = context.graph, float("inf") if time_limit is None else time_limit
    found = kernels.find_implications(graph.indptr, graph.indices, graph.n_right, basis, limit)
    if found is None:
        raise LimitReached(f"the time limit of {limit:g} s was reached before the basis was whole; raise time_limit")
    return Implications(found, context, basis)
