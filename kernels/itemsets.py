"""Closed itemsets as a table of their own, and the itemsets and association rules that it gives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from bicliq.kernels.arguments import as_int32, checked_csr, one_of, whole_number
from bicliq.kernels.contracts import Int32Array
from bicliq.kernels.cpu import BicliqueStream, CpuSearch, load_extension
from bicliq.kernels.enumeration import LARGEST_SIZE, checked_request
from bicliq.kernels.errors import memory_is_capacity
from bicliq.kernels.machine import Backend
from bicliq.kernels.side import WARP_ROWS

BATCH = 65_536
"""Itemsets or rules of a batch, about."""

UNBOUNDED = 2**63
"""More items than a set can have."""


@dataclass(frozen=True)
class ItemsetBatch:
    """Some itemsets: set `i` is ``items[offsets[i]:offsets[i + 1]]``, ascending.

    `support` says in how many baskets each is.
    """

    offsets: Int32Array
    items: Int32Array
    support: Int32Array

    def __len__(self) -> int:
        return len(self.support)


@dataclass(frozen=True)
class RuleBatch:
    """Some rules: lists of items as in `ItemsetBatch`, and in how many baskets each side is.

    `support` is that of both sides together.
    """

    antecedent_offsets: Int32Array
    antecedents: Int32Array
    consequent_offsets: Int32Array
    consequents: Int32Array
    support: Int32Array
    antecedent_support: Int32Array
    consequent_support: Int32Array

    def __len__(self) -> int:
        return len(self.support)


class ClosedSets:
    """The closed itemsets of a table, which answer for the support of every itemset.

    Parameters
    ----------
    offsets, items : array of int32, shape (n + 1,) and (n_ids,)
        Lists of items, each ascending, as of `ItemsetBatch`: all closed sets of some least support.
    support : array of int32, shape (n,)
        In how many baskets each is.
    n_items : int
        Number of items.

    Raises
    ------
    ValueError
        If the arrays are no lists of items below `n_items`.

    Notes
    -----
    About 12 bytes an item of a set and 24 a set. See `src/rules/closed_sets.hpp`.

    Examples
    --------
    >>> closed = ClosedSets([0, 1, 3], [0, 0, 1], [3, 2], 2)
    >>> [(batch.items.tolist(), batch.support.tolist()) for batch in closed.sets("all")]
    [([1, 0, 1, 0], [2, 2, 3])]
    >>> [(batch.antecedents.tolist(), batch.consequents.tolist()) for batch in closed.rules()]
    [([0, 1], [1, 0])]
    """

    @memory_is_capacity
    def __init__(self, offsets: Any, items: Any, support: Any, n_items: int) -> None:
        arrays = (as_int32(values, name) for values, name in ((offsets, "offsets"), (items, "items")))
        most = whole_number("n_items", n_items, least=0, most=LARGEST_SIZE)
        self._sets = load_extension().closed_sets(*arrays, as_int32(support, "support"), most)

    @classmethod
    def _held(cls, sets: Any) -> ClosedSets:
        """Those that the extension holds."""
        closed = cls.__new__(cls)
        closed._sets = sets
        return closed

    def __len__(self) -> int:
        return len(self._sets)

    def sets(
        self, kind: Literal["closed", "maximal", "all"] = "closed", max_items: int | None = None
    ) -> Iterator[ItemsetBatch]:
        """Yield the closed sets, the maximal ones among them, or all itemsets that lie in one.

        Parameters
        ----------
        kind : {"closed", "maximal", "all"}
            Closed and maximal ones come by falling support.
        max_items : int, optional
            Leave larger sets out.

        Yields
        ------
        ItemsetBatch
        """
        extension = load_extension()
        kinds = extension.Itemsets[one_of("kind", kind, ("closed", "maximal", "all"))]
        stream = extension.SetStream(self._sets, kinds, _most(max_items))
        yield from (ItemsetBatch(*arrays) for arrays in _batches(stream))

    def rules(
        self,
        kind: Literal["non-redundant", "all"] = "non-redundant",
        min_confidence: float = 0.0,
        max_items: int | None = None,
        antecedents: Iterable[int] = (),
        consequents: Iterable[int] = (),
    ) -> Iterator[RuleBatch]:
        """Yield association rules.

        Parameters
        ----------
        kind : {"non-redundant", "all"}
            From minimal generators to closed sets, or every split of every itemset.
        min_confidence : float
            Rules of less are not made, but for rounding.
        max_items : int, optional
            Leave rules of more items out.
        antecedents, consequents : iterable of int
            Items that each rule has on that side.

        Yields
        ------
        RuleBatch
        """
        one_of("kind", kind, ("non-redundant", "all"))
        make = getattr(load_extension(), "NonRedundantRules" if kind == "non-redundant" else "AllRules")
        sides = [as_int32(np.array([*side], np.int64), "items") for side in (antecedents, consequents)]
        if set(sides[0].tolist()) & set(sides[1].tolist()):
            return
        stream = memory_is_capacity(make)(self._sets, float(min_confidence), _most(max_items), *sides)
        yield from (RuleBatch(*arrays) for arrays in _batches(stream))


def _most(max_items: int | None) -> int:
    return UNBOUNDED if max_items is None else min(whole_number("max_items", max_items), UNBOUNDED)


def _batches(stream: Any) -> Iterator[Any]:
    following = memory_is_capacity(stream.next)
    while (arrays := following(BATCH)) is not None:
        yield arrays


@memory_is_capacity
def closed_itemsets(
    indptr: Any, indices: Any, n_items: int, min_support: int, threads: int = 1, max_items: int | None = None
) -> ClosedSets:
    """Find the closed itemsets of baskets.

    Parameters
    ----------
    indptr : array of int, shape (n_baskets + 1,)
    indices : array of int, shape (n,)
        CSR of the baskets; each ascending, without repetition.
    n_items : int
        Number of items.
    min_support : int
        Least number of baskets, at least 1.
    threads : int
        As of `enumerate_maximal_bicliques`.
    max_items : int, optional
        Find what answers for sets of at most so many items, in one thread, and not the closed sets
        of more: in their place, all sets of just so many. See `src/rules/few_items.hpp`.

    Returns
    -------
    ClosedSets
        Without the empty set.

    Raises
    ------
    CapacityError
        If memory runs out.
    ValueError
        If the arrays are no CSR matrix of whole numbers.

    Examples
    --------
    >>> len(closed_itemsets([0, 2, 4, 5], [0, 1, 0, 1, 0], 2, 1))
    2
    """
    if max_items is not None:
        starts, columns, n = checked_csr(indptr, indices, n_items)
        least = whole_number("min_support", min_support, most=LARGEST_SIZE)
        most = whole_number("max_items", max_items)
        offsets, items, support = load_extension().few_items(starts, columns, n, least, most)
        return ClosedSets(offsets, items, support, n_items)
    asked: dict[str, Any] = {"min_left": min_support, "threads": threads}
    if min_support > WARP_ROWS and n_items <= max(len(indptr), len(indices) // 2):
        # to pass over the items takes no longer than to peel
        asked |= {"side": "right", "peels": False}  # as src/search/short_rows.hpp has it
    request = checked_request(indptr, indices, n_items, Backend.CPU, **asked)
    if request.side == "right":
        taker = load_extension().SetTaker()
        CpuSearch(request, "enumerate", taker).wait(None)
        return ClosedSets._held(taker.take(n_items))
    lengths, lists, supports = [], [], []
    with BicliqueStream(CpuSearch(request, "enumerate"), None) as stream:
        for batch in stream:
            lengths.append(batch.n_right)
            lists.append(batch.right[: batch.right_offsets[-1]].copy())
            supports.append(batch.n_left)
    none = np.zeros(0, np.int32)
    offsets = np.concatenate(([0], np.cumsum(np.concatenate([none, *lengths], dtype=np.int64))))
    return ClosedSets(offsets, np.concatenate([none, *lists]), np.concatenate([none, *supports]), n_items)
