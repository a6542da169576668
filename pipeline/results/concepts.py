"""A concept lattice with its own labels: concepts, which cover which, filters and neighbours."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from xxhash import xxh3_128_digest

from bicliq import kernels
from bicliq.pipeline.arguments import check_kind, check_whole
from bicliq.pipeline.columns import column_of
from bicliq.pipeline.errors import InputError, LimitReached
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.results.as_table import SHOWN, Answered, InBatches, as_text
from bicliq.pipeline.words import shown

if TYPE_CHECKING:
    from bicliq.pipeline.results.export_lattice import ExportedLattice

BATCH, BATCH_IDS = 65_536, 1 << 20
"""Rows of a batch, at most, and members of its concepts: those at the top have many objects."""

RANKS = ("stability", "support", "n_objects", "n_attributes")
"""What concepts are ranked by."""


@dataclass(frozen=True, eq=False)
class Context(Answered):
    """Who has what, those without a cross included.

    `graph`: objects are left vertices, attributes right ones. `objects`, `attributes`: their
    labels; null where a format does not tell that of an empty row. `record`: how the table was
    read, and its `account`.
    """

    graph: BipartiteGraph
    objects: pa.Array
    attributes: pa.Array
    record: dict[str, Any]

    def __repr__(self) -> str:
        return f"<a context of {self.graph.n_left:,} objects and {self.graph.n_right:,} attributes>"

    def numbers(self, side: str, labels: Iterable[Any]) -> list[int]:
        """Numbers of objects or attributes by their labels.

        Raises InputError where there is none with a label.
        """
        if isinstance(labels, str) or not isinstance(labels, Iterable):
            raise InputError(f"{side} = {labels!r} is not a list of labels; one is [{labels!r}]")
        wanted = pa.array([str(label) for label in labels], pa.string())
        found = pc.index_in(wanted, (self.objects if side == "objects" else self.attributes).cast(pa.string()))
        for label, number in zip(wanted.to_pylist(), found.to_pylist(), strict=True):
            if number is None:
                raise InputError(f"{side}: the context has no {shown(label)}; name one as the table has it")
        return [int(number) for number in found.to_pylist()]


@dataclass(frozen=True, eq=False, repr=False)
class Concepts(Answered, InBatches):
    """The concepts of a context, numbered by falling extent, and which cover which.

    Parameters
    ----------
    lattice
        All of them.
    context
        Of what.
    record
        n_objects, n_attributes, n_concepts, n_covers, min_support, min_count, seconds, and the
        `account` of the table.
    kept
        Numbers of those that a filter left, ascending; None: all.

    Examples
    --------
    >>> import bicliq
    >>> birds = bicliq.concepts({"duck": ["flies", "swims"], "owl": ["flies", "hunts"]})
    >>> len(birds), birds.edges.num_rows
    (4, 4)
    >>> birds.top(1).select(["extent", "intent", "stability"]).to_pylist()
    [{'extent': ['duck', 'owl'], 'intent': ['flies'], 'stability': 1}]
    """

    lattice: kernels.ConceptLattice
    context: Context
    record: dict[str, Any]
    kept: npt.NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.lattice) if self.kept is None else len(self.kept)

    def __repr__(self) -> str:
        rows = self.top(SHOWN).to_pylist()
        lines = (f"stability {row['stability']}: {row['extent']} × {row['intent']}" for row in rows)
        sides = f"{self.context.graph.n_left:,} objects and {self.context.graph.n_right:,} attributes"
        return as_text(f"{len(self):,} concepts of {sides}; the most stable", lines)

    @property
    def schema(self) -> pa.Schema:
        """Columns: concept, extent, intent, n_objects, n_attributes, support, stability."""
        lists = [("extent", pa.list_(self.context.objects.type)), ("intent", pa.list_(self.context.attributes.type))]
        sizes = [("n_objects", pa.int64()), ("n_attributes", pa.int64())]
        return pa.schema(
            [("concept", pa.int64()), *lists, *sizes, ("support", pa.float64()), ("stability", pa.int64())]
        )

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """Numbers of the concepts, ascending: the top of the lattice is 0."""
        return np.arange(len(self.lattice)) if self.kept is None else self.kept

    def batches(self) -> Iterator[pa.Table]:
        """Yield them as Arrow tables of bounded size, by their numbers."""
        for first, last in self._spans():
            if self.kept is None:
                yield self._table(first, last)
                continue
            wanted = self.kept[np.searchsorted(self.kept, first) : np.searchsorted(self.kept, last)]
            if wanted.size:
                yield self._table(first, last).take(column_of(wanted - first))

    def _spans(self) -> Iterator[tuple[int, int]]:
        """First and last numbers of batches, the last one excluded."""
        ends = np.cumsum(self.lattice.n_left + self.lattice.n_right.astype(np.int64))
        first = 0
        while first < len(ends):
            most = (ends[first - 1] if first else 0) + BATCH_IDS
            last = min(max(int(np.searchsorted(ends, most, "right")), first + 1), first + BATCH)
            yield first, last
            first = last

    def _table(self, first: int, last: int) -> pa.Table:
        lists = self.lattice.lists(first, last)
        lattice, graph = self.lattice, self.context.graph
        counts = lattice.n_left[first:last].astype(np.int64)
        columns = [
            column_of(np.arange(first, last)),
            pa.ListArray.from_arrays(column_of(lists.left_offsets), self.context.objects.take(column_of(lists.left))),
            pa.ListArray.from_arrays(
                column_of(lists.right_offsets), self.context.attributes.take(column_of(lists.right))
            ),
            column_of(counts),
            column_of(lattice.n_right[first:last].astype(np.int64)),
            column_of(counts / max(graph.n_left, 1)),
            column_of(lattice.stability[first:last].astype(np.int64)),
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)

    @cached_property
    def edges(self) -> pa.Table:
        """Cover edges between them: numbers `lower` and `upper`, with no concept between."""
        lower, upper = self.lattice.lower, self.lattice.upper
        if self.kept is not None:
            there = np.zeros(len(self.lattice), bool)
            there[self.kept] = True
            both = there[lower] & there[upper]
            lower, upper = lower[both], upper[both]
        return pa.table({"lower": column_of(lower.astype(np.int64)), "upper": column_of(upper.astype(np.int64))})

    def top(self, k: int = 10, by: str = "stability") -> pa.Table:
        """Return the k largest as an Arrow table; of equal ones those that come first.

        Parameters
        ----------
        by
            "stability", "support" (as "n_objects"), or "n_attributes".
        """
        if by not in RANKS:
            raise InputError(f"by = {by!r} is none of {', '.join(RANKS)}")
        check_whole("k", k, 0, "it says how many are shown")
        lattice = self.lattice
        worth = {"stability": lattice.stability, "n_attributes": lattice.n_right}.get(by, lattice.n_left)[self.numbers]
        best = self.numbers[np.argsort(-worth.astype(np.int64), kind="stable")[:k]]
        tables = [self._table(number, number + 1) for number in best.tolist()]
        return pa.concat_tables([self.schema.empty_table(), *tables]).combine_chunks()

    def where(
        self,
        *,
        min_support: float = 0.0,
        min_stability: int = 0,
        objects: Iterable[Any] = (),
        attributes: Iterable[Any] = (),
    ) -> Concepts:
        """Return those with at least so much, and with all of these objects and attributes.

        Those with some objects are the lattice above their least concept, those with some
        attributes the one below their largest; either is a lattice of its own.
        """
        for name, value in (("min_support", min_support), ("min_stability", min_stability)):
            check_kind(name, value, "float")
        kept = self.numbers
        lattice, n = self.lattice, max(self.context.graph.n_left, 1)
        kept = kept[(lattice.n_left[kept] / n >= min_support) & (lattice.stability[kept] >= min_stability)]
        for side, labels in (("objects", objects), ("attributes", attributes)):
            wanted = self.context.numbers(side, labels)
            if wanted:
                kept = kept[self._has(side, wanted)[kept]]
        return Concepts(self.lattice, self.context, self.record, kept)

    def _has(self, side: str, wanted: list[int]) -> npt.NDArray[np.bool_]:
        """Which concepts of the lattice have all of these."""
        parts = [np.zeros(0, bool)]
        for first, last in self._spans():
            lists = self.lattice.lists(first, last)
            left = side == "objects"
            offsets, ids = (lists.left_offsets, lists.left) if left else (lists.right_offsets, lists.right)
            met = np.concatenate([[0], np.cumsum(np.isin(ids, wanted))])
            parts.append(met[offsets[1:]] - met[offsets[:-1]] == len(set(wanted)))
        return np.concatenate(parts)

    def new_since(self, before: Concepts) -> Concepts:
        """Return those whose intent is none of others, as of an older version of the context.

        An intent that was there before is not new, whoever has come to have it.

        Notes
        -----
        Some 100 bytes of memory a concept of the others.

        Examples
        --------
        >>> import bicliq
        >>> old = bicliq.concepts({"duck": ["flies", "swims"], "owl": ["flies"]})
        >>> now = bicliq.concepts({"duck": ["flies", "swims"], "owl": ["flies"], "pike": ["swims"]})
        >>> new = now.new_since(old)
        >>> [(row["concept"], row["intent"], now.upper(row["concept"])) for row in new]
        [(0, [], []), (2, ['swims'], [0])]
        """
        known = {key for _, key in before._intent_keys()}
        kept = [number for number, key in self._intent_keys() if key not in known]
        return Concepts(self.lattice, self.context, self.record, np.array(kept, np.int64))

    def _intent_keys(self) -> Iterator[tuple[int, bytes]]:
        """Numbers of concepts, and a hash of the labels of each intent."""
        names = [str(label) for label in self.context.attributes.to_pylist()]
        kept = set(self.numbers.tolist())
        for first, last in self._spans():
            lists = self.lattice.lists(first, last)
            for number, intent in enumerate(np.split(lists.right, lists.right_offsets[1:-1]), first):
                if number in kept:
                    labels = repr(sorted(names[m] for m in intent.tolist()))
                    yield number, xxh3_128_digest(labels.encode(errors="surrogatepass"))

    def of(self, label: Any) -> Concepts:
        """Return the concepts that have an object or, if there is none of this label, an attribute.

        Raises
        ------
        InputError
            Where neither has this label, or both have it.
        """
        sides = {"objects": self.context.objects, "attributes": self.context.attributes}
        there = [
            side
            for side, labels in sides.items()
            if pc.is_in(pa.array([str(label)]), labels.cast(pa.string()))[0].as_py()
        ]
        if len(there) != 1:
            said = "both an object and an attribute" if there else "neither an object nor an attribute"
            raise InputError(
                f"{shown(str(label))} is {said} of the context; say where(objects=[…]) or where(attributes=[…])"
            )
        return self.where(objects=[label]) if there == ["objects"] else self.where(attributes=[label])

    def lower(self, concept: int) -> list[int]:
        """Numbers of the concepts that lie next below one, in the whole lattice."""
        return self.lattice.lower[self.lattice.upper == self._checked(concept)].tolist()  # type: ignore[no-any-return]

    def upper(self, concept: int) -> list[int]:
        """Numbers of the concepts that lie next above one, in the whole lattice."""
        return self.lattice.upper[self.lattice.lower == self._checked(concept)].tolist()  # type: ignore[no-any-return]

    def generators(self, concept: int, *, time_limit: float | None = None) -> list[list[Any]] | None:
        """Return the minimal sets of attributes whose holders are the objects of a concept.

        There can be exponentially many. None for a concept without objects: which sets nobody has
        is told by `implications`.

        Raises
        ------
        LimitReached
            After so many seconds.
        """
        start, limit = time.perf_counter(), np.inf if time_limit is None else time_limit
        intent = self._intent(self._checked(concept))
        if not self.lattice.n_left[concept]:
            return None
        lacked = [np.setdiff1d(intent, self._intent(upper)) for upper in self.upper(concept)]
        sets = [np.searchsorted(intent, some) for some in lacked]
        found = kernels.minimal_transversals(sets, len(intent), lambda *_: time.perf_counter() - start > limit)
        if found is None:
            raise LimitReached(
                f"the time limit of {limit:g} s was reached before concept {concept} had all of its generators; raise"
                " time_limit, or leave them out"
            )
        return [self.context.attributes.take(column_of(intent[some])).to_pylist() for some in found]

    def _intent(self, concept: int) -> npt.NDArray[np.int32]:
        return self.lattice.lists(concept, concept + 1).right

    def diagram(self) -> str:
        """Return their line diagram as SVG, for a page or a notebook; see `diagram_of`.

        Raises
        ------
        InputError
            Where there are none, or more than 60.
        """
        from bicliq.pipeline.results.diagram import diagram_of

        return diagram_of(self, alone=True)

    def export(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> ExportedLattice:
        """Write them with their cover edges: GraphML, DOT, JSON, Parquet, SVG; or the context.

        Parameters and errors as of `pipeline.results.export_lattice.export_lattice`.
        """
        from bicliq.pipeline.results.export_lattice import export_lattice

        return export_lattice(self, path, overwrite=overwrite)

    def _checked(self, concept: int) -> int:
        if not isinstance(concept, int | np.integer) or not 0 <= concept < len(self.lattice):
            raise InputError(f"there is no concept {concept!r}: they are numbered from 0 to {len(self.lattice) - 1}")
        return concept
