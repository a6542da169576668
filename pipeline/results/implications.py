"""A basis of the implications between the attributes of a context, with its own labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bicliq import kernels
from bicliq.pipeline.arguments import check_whole
from bicliq.pipeline.columns import column_of
from bicliq.pipeline.results.as_table import Answered, OfLists
from bicliq.pipeline.results.concepts import BATCH, Context


@dataclass(frozen=True, eq=False, repr=False)
class Implications(Answered, OfLists):
    """Implications: who has all of a premise has all of its conclusion.

    Parameters
    ----------
    found
        The basis, of numbers of attributes.
    context
        Of what.
    record
        As of `Concepts`, with n_implications and basis.

    Examples
    --------
    >>> import bicliq
    >>> found = bicliq.implications({"duck": ["flies", "swims"], "owl": ["flies"], "pike": ["swims", "dives"]})
    >>> [(row["premise"], row["conclusion"], row["count"]) for row in found]
    [(['dives'], ['swims'], 1)]
    """

    found: kernels.Implications
    context: Context
    record: dict[str, Any]

    def __len__(self) -> int:
        return len(self.found)

    def __repr__(self) -> str:
        sides = f"the {self.record['basis']} basis of {self.context.graph.n_right:,} attributes"
        return f"<{len(self):,} implications, {sides}>"

    @property
    def schema(self) -> pa.Schema:
        """Columns: premise, conclusion, count (of objects), support."""
        labels = pa.list_(self.context.attributes.type)
        sides = [("premise", labels), ("conclusion", labels)]
        return pa.schema([*sides, ("count", pa.int64()), ("support", pa.float64())])

    def batches(self) -> Iterator[pa.Table]:
        """Yield them as Arrow tables of bounded size."""
        for first in range(0, len(self), BATCH):
            yield self._table(np.arange(first, min(first + BATCH, len(self))))

    def _table(self, numbers: npt.NDArray[np.int64]) -> pa.Table:
        found, labels = self.found, self.context.attributes
        sides = ((found.premise_offsets, found.premises), (found.conclusion_offsets, found.conclusions))
        wanted = column_of(numbers)
        lists = [pa.ListArray.from_arrays(column_of(at), column_of(ids)).take(wanted) for at, ids in sides]
        named = [pa.ListArray.from_arrays(some.offsets, labels.take(some.values)) for some in lists]
        counts = found.support[numbers].astype(np.int64)
        support = column_of(counts / max(self.context.graph.n_left, 1))
        return pa.Table.from_arrays([*named, column_of(counts), support], schema=self.schema)

    def top(self, k: int = 10) -> pa.Table:
        """Return the k that most objects meet as an Arrow table; of equal ones the first."""
        check_whole("k", k, 0, "it says how many are shown")
        return self._table(np.argsort(-self.found.support.astype(np.int64), kind="stable")[:k])
