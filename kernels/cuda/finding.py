"""The CUDA driver that finds the best maximal bicliques by an objective.

While the device sorts the graph, the host finds what is wanted and from which roots it can be had
(`Finding::open` in `src/best/finding.hpp`). The search is that of the streams, from these
roots, and writes those bicliques only whose value reaches that of the k-th best which any warp has
found so far (`WarpBest` in `src/search/device/device_sinks.hpp`). What was written too early is
sorted out here; ties are broken as on the CPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bicliq.kernels.contracts import BicliqueBatch, EnumerationRequest, Int64Array
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.cuda.search_graph import SearchGraph
from bicliq.kernels.cuda.search_program import BEST
from bicliq.kernels.cuda.stream import CudaStreamSearch
from bicliq.kernels.surprise import CORRECTION_SHIFT, LOWEST_CORRECTED, SURPRISE_UNIT, SurpriseTerms, corrections

OUTPUT_WORDS = 1 << 24
"""Of the block that bicliques are written to: few are."""

MOST_WANTED = 1 << 12
"""Best bicliques that warps keep the values of."""

TIE_BITS = 30
"""Below the value of *vertices* and *balanced*: edges, which order equal ones (`objective.hpp`)."""

Answer = tuple[int, list[int], list[int]]
"""Value in units of the objective, left and right vertices."""


@dataclass(frozen=True, eq=False)
class Wanted:
    """What is looked for.

    Parameters
    ----------
    objective : str
        One of the extension's `Objective`.
    k : int
        How many, `MOST_WANTED` at most.
    max_left, max_right : int
        Most members of a side.
    terms : SurpriseTerms
        A term a vertex, of *weight*, and all that *surprise* is made of; else they are empty.
    """

    objective: str
    k: int
    max_left: int
    max_right: int
    terms: SurpriseTerms

    @property
    def has_ties(self) -> bool:
        """Whether the low bits of a value order equal ones."""
        return self.objective in ("vertices", "balanced")

    def values(self, batch: BicliqueBatch) -> Int64Array:
        """The values of bicliques, with the bits that order equal ones."""
        n_left, n_right = (np.diff(offsets).astype(np.int64) for offsets in (batch.left_offsets, batch.right_offsets))
        edges = n_left * n_right
        if self.objective == "edges":
            return edges
        if self.has_ties:
            size = n_left + n_right if self.objective == "vertices" else np.minimum(n_left, n_right)
            tied: Int64Array = (size << TIE_BITS) | np.minimum(edges, (1 << TIE_BITS) - 1)
            return tied
        if self.objective == "surprise":
            return np.rint(self.terms.of(batch) / SURPRISE_UNIT).astype(np.int64)
        left = np.add.reduceat(self.terms.left[batch.left], batch.left_offsets[:-1])
        right = np.add.reduceat(self.terms.right[batch.right], batch.right_offsets[:-1])
        found: Int64Array = left + right
        return found


class CudaFindSearch(CudaStreamSearch):
    """One search on the current GPU for the best bicliques.

    Parameters
    ----------
    request : EnumerationRequest
        What is searched; without roots.
    wanted : Wanted
    opening : Finding
        A search of the extension that only opens: says what an answer must be worth, with the bits
        that order equal ones, and which roots can have one.
    """

    kernel = "search_best"

    def __init__(self, request: EnumerationRequest, wanted: Wanted, opening: Any) -> None:
        super().__init__(request)
        self._output_words = OUTPUT_WORDS
        self._wanted = wanted
        self._opening = opening

    def answers(self) -> list[Answer]:
        """Search to the end; the best first."""
        best: list[tuple[int, int, list[int], list[int]]] = []
        while (batch := self.next_batch()) is not None:
            if len(batch):
                best = sorted([*best, *self._best_of(batch)])[: self._wanted.k]
        shift = TIE_BITS if self._wanted.has_ties else 0
        return [(-value >> shift, left, right) for value, _, left, right in best]

    def _best_of(self, batch: BicliqueBatch) -> list[tuple[int, int, list[int], list[int]]]:
        """The best of a batch, as what they are sorted by: value and edges negated, members."""
        values, least = self._wanted.values(batch), self._opened["least"]
        edges = np.diff(batch.left_offsets).astype(np.int64) * np.diff(batch.right_offsets)
        order = np.lexsort((-edges, -values))
        order = order[values[order] >= least]
        if len(order) > self._wanted.k:
            last = order[self._wanted.k - 1]
            kept = (values > values[last]) | ((values == values[last]) & (edges >= edges[last]))
            order = np.flatnonzero(kept)
        return [
            (
                -int(values[i]),
                -int(edges[i]),
                batch.left[slice(*batch.left_offsets[i : i + 2])].tolist(),
                batch.right[slice(*batch.right_offsets[i : i + 2])].tolist(),
            )
            for i in order
        ]

    @cached_property
    def _opened(self) -> dict[str, Any]:
        """What an answer must be worth, which roots can have one, and what bounds them."""
        found: dict[str, Any] = self._opening.opened()
        return found

    def _some_roots(self) -> Any:
        return self._opened["roots"]

    def _arrays(self, graph: SearchGraph) -> dict[str, Any]:
        begin = np.zeros(1, BEST.dtype)
        begin["least"] = self._opened["least"]
        return {
            **super()._arrays(graph),
            "best": begin.view(np.uint64),
            "best_values": np.zeros(self._wanted.k, np.int64),
            **(self._of_surprise() if self._wanted.objective == "surprise" else {}),
        }

    def _of_surprise(self) -> dict[str, Any]:
        """What a choice of so many rows or columns costs, and what pairs are worth."""
        columns, rows = self._by_role(self._wanted.terms.left_costs, self._wanted.terms.right_costs)
        own = {name: self._opened[name] for name in ("own_row_terms", "own_column_terms")}
        return {"column_costs": columns, "row_costs": rows, **own, "corrections": corrections()}

    def _hashes(self, graph: SearchGraph) -> dict[str, Any]:
        opened = self._opened
        if not len(opened["column_terms"]):
            return {}
        return {"column_hashes": opened["column_terms"], "row_hashes": opened["row_terms"]}

    def _numbers(self, graph: SearchGraph) -> dict[str, int]:
        wanted, left = self._wanted, self._request.side == "left"
        most = (wanted.max_right, wanted.max_left)[:: 1 if left else -1]
        return {
            **super()._numbers(graph),
            "n_best": wanted.k,
            "objective": load_extension().Objective[wanted.objective].value,
            "max_rows": most[0],
            "max_columns": most[1],
            **{name: self._opened[name] % 2**64 for name in ("largest_pair", "row_charge", "column_charge")},
            "n_corrections": len(corrections()),
            "lowest_corrected": LOWEST_CORRECTED % 2**64,
            "correction_shift": CORRECTION_SHIFT,
        }
