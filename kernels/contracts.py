"""What goes into the kernels and what comes out: the records shared by both backends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from bicliq.kernels.machine import check_room

Side = Literal["left", "right"]
Int32Array = NDArray[np.int32]
UInt64Array = NDArray[np.uint64]
Int64Array = NDArray[np.int64]
Counts = NDArray[Any]
Method = Literal["levels", "pivot", "butterfly"]
Compression = Literal["zstd", "lz4_raw", "none"]

CODECS = {"none": 0, "zstd": 6, "lz4_raw": 7}
"""The numbers that the Parquet format gives them."""

FEW_VERTICES, VERTICES_AN_EDGE = 1 << 20, 4  # from which on vertices without an edge are left out


@dataclass(frozen=True)
class Progress:
    """How far a search has come."""

    roots_done: int
    n_roots: int
    bicliques: int


ProgressCallback = Callable[[Progress], Any]


@dataclass(frozen=True)
class EnumerationResult:
    """Outcome of an enumeration.

    Attributes
    ----------
    bicliques : int
        Number of maximal bicliques that pass the thresholds, at most `max_bicliques`.
    digest : int or None
        64-bit set digest, None in count mode or when the limit cut the search off.
    complete : bool
        False when `max_bicliques` cut the search off, or its consumer stopped early.
    side : {"left", "right"}
        The enumerated side.
    nodes, not_canonical : int
        Nodes of the search, and those that were left because they were not canonical.
    seconds : dict of str to float
        Seconds of ``prepare`` (order and adjacency) and of ``search``.
    threads : int
    backend : str
        ``"cpu"`` with the instruction set of its lanes, as ``"cpu-avx512"``, or ``"cuda"``.
    workspace_bytes : int
        Memory that the workers held besides the graph.
    busy_seconds : tuple of float
        Seconds that each worker searched rather than waited; empty on a GPU.
    busy_ratio : float
        Busy time of all workers over workers times the longest: 1 is perfect balance.
    """

    bicliques: int
    digest: int | None
    complete: bool
    side: Side
    nodes: int
    not_canonical: int
    seconds: dict[str, float]
    threads: int
    backend: str
    workspace_bytes: int = 0
    busy_seconds: tuple[float, ...] = ()
    busy_ratio: float = 1.0


@dataclass(frozen=True)
class BicliqueBatch:
    """Some maximal bicliques, in the layout of two Arrow list columns.

    Biclique `i` has the left vertices ``left[left_offsets[i]:left_offsets[i + 1]]`` and the right
    vertices alike; both lists are ascending. `root` is the vertex of the enumerated side below
    which it was found.
    """

    left_offsets: Int32Array
    left: Int32Array
    right_offsets: Int32Array
    right: Int32Array
    root: Int32Array

    def __len__(self) -> int:
        return len(self.root)

    @property
    def n_left(self) -> Int32Array:
        """How many left vertices each biclique has."""
        return self.left_offsets[1:] - self.left_offsets[:-1]

    @property
    def n_right(self) -> Int32Array:
        """How many right vertices each biclique has."""
        return self.right_offsets[1:] - self.right_offsets[:-1]

    @property
    def lists(self) -> dict[str, tuple[Int32Array, Int32Array]]:
        """The list columns: name, offsets and ids."""
        return {"left": (self.left_offsets, self.left), "right": (self.right_offsets, self.right)}

    def head(self, n: int) -> BicliqueBatch:
        """The first `n` bicliques of the batch, without copying."""
        return BicliqueBatch(
            self.left_offsets[: n + 1],
            self.left[: self.left_offsets[n]],
            self.right_offsets[: n + 1],
            self.right[: self.right_offsets[n]],
            self.root[:n],
        )

    def part(self, first: int, last: int) -> BicliqueBatch:
        """The bicliques from `first` to before `last`; of arrays only the offsets are copied."""
        left, right = (lists_between(*lists, first, last) for lists in self.lists.values())
        return BicliqueBatch(*left, *right, self.root[first:last])


@dataclass(frozen=True)
class SmallerBatch:
    """Some maximal bicliques, of each the smaller side alone: the left one of sides alike.

    That of biclique `i` is ``smaller[offsets[i]:offsets[i + 1]]``, ascending; it has `n_left` left
    and `n_right` right vertices. `root` is as of `BicliqueBatch`.
    """

    offsets: Int32Array
    smaller: Int32Array
    n_left: Int32Array
    n_right: Int32Array
    root: Int32Array

    def __len__(self) -> int:
        return len(self.root)

    @property
    def lists(self) -> dict[str, tuple[Int32Array, Int32Array]]:
        """The list column: name, offsets and ids."""
        return {"smaller": (self.offsets, self.smaller)}

    def part(self, first: int, last: int) -> SmallerBatch:
        """The same of `BicliqueBatch`."""
        lists = lists_between(self.offsets, self.smaller, first, last)
        return SmallerBatch(*lists, *(numbers[first:last] for numbers in (self.n_left, self.n_right, self.root)))


def lists_between(offsets: Any, ids: Any, first: int, last: int) -> tuple[Any, Any]:
    """Offsets and ids of the lists from `first` to before `last`."""
    bounds = offsets[first : last + 1]
    return bounds - bounds[0], ids[int(bounds[0]) : int(bounds[-1])]


class StreamingSearch(Protocol):
    """A running search whose bicliques are read batch by batch, on whatever machine it runs."""

    def next_batch(self, until: Callable[[], bool] | None = None) -> Any:
        """The next batch or row group.

        None when the search has ended, or `until` has said that it has to.
        """

    def stop(self) -> None:
        """End the search, and wait until it has ended."""

    def progress(self) -> Progress:
        """How far the search has come."""

    def result(self, *, interrupted: bool = False) -> EnumerationResult:
        """The outcome; valid once the search has ended."""


@dataclass(frozen=True)
class EnumerationRequest:
    """A checked request: arrays of the right types, thresholds in range, the side chosen.

    Where there are `roots`, the vertices of the side are searched in `order`, which names each of
    them; None: in the order of their numbers.
    """

    indptr: Int64Array
    indices: Int32Array
    n_right: int
    side: Side
    roots: Int32Array | None
    left_ids: Int32Array
    right_ids: Int32Array
    left_hashes: UInt64Array
    right_hashes: UInt64Array
    min_left: int
    min_right: int
    min_edges: int
    max_bicliques: int | None
    threads: int
    batch_bicliques: int = 65_536
    batch_ids: int = 1 << 20
    order: Int32Array | None = None

    @property
    def n_left(self) -> int:
        """Number of left vertices."""
        return len(self.indptr) - 1


@dataclass(frozen=True, eq=False)
class CountResult:
    """Outcome of a count.

    Attributes
    ----------
    count : int
        Number of complete p×q subgraphs.
    p, q : int
        Their left and right size.
    side : {"left", "right"} or None
        The side that held the roots; None where the method roots at both.
    method : {"levels", "pivot", "butterfly"}
    seconds : dict of str to float
        ``prepare`` (core and order), ``estimate`` (choice of search and side) and ``search``; on a
        GPU ``roots`` as well.
    threads : int
    backend : str
        ``"cpu"`` with the instruction set of its lanes, as ``"cpu-avx512"``, or ``"cuda"``.
    work : int
        What the search did, in the time of a register that levels touch (3 ns) or of a small node
        of pivots (36 ns); 0 for butterflies. On a GPU the registers alone.
    left_counts, right_counts : array of uint64, or of object, or None
        How many of the subgraphs each vertex lies in, where asked; Python integers where one is
        beyond 64 bits.
    edge_counts : array of uint64 or None
        The same of each edge, in the order of `indices` (p = q = 2).
    """

    count: int
    p: int
    q: int
    side: Side | None
    method: Method
    seconds: dict[str, float]
    threads: int
    backend: str
    work: int = 0
    left_counts: Counts | None = None
    right_counts: Counts | None = None
    edge_counts: Counts | None = None


@dataclass(frozen=True, eq=False)
class CountTable:
    """All counts up to a largest p and q.

    Attributes
    ----------
    counts : dict of (int, int) to int
        Number of complete p×q subgraphs of each (p, q), in ascending order.
    max_p, max_q : int
    side : {"left", "right"}
        The side that held the roots.
    seconds : dict of str to float
        As of a `CountResult`; with a GPU ``device_wait`` as well, what it still took when the CPU's
        part had ended.
    threads : int
    backend : str
    work : int
        What the search did, in the time of a small node, those that a GPU counted included.
    """

    counts: dict[tuple[int, int], int]
    max_p: int
    max_q: int
    side: Side
    seconds: dict[str, float]
    threads: int
    backend: str
    work: int = 0


@dataclass(frozen=True, eq=False)
class Packed:
    """A graph without the vertices of a side that have no edge, where these are nearly all of it.

    A search takes memory by the vertices of a side, whether or not they have an edge. So what is
    paid for is what is there, however large the numbers of the vertices are.

    Attributes
    ----------
    indptr, indices, n_right
        CSR of the left side.
    left, right : array or None
        The numbers of the vertices that were kept, where some were not.
    paths
        The extension's `Paths` of these arrays, where they were made by the way.
    """

    indptr: Int64Array
    indices: Int32Array
    n_right: int
    left: NDArray[Any] | None
    right: NDArray[Any] | None
    paths: Any = None

    @classmethod
    def of(cls, indptr: Int64Array, indices: Int32Array, n_right: int) -> Packed:
        """Leave the vertices without an edge out of a side that is large and sparse."""
        left = right = None
        if _is_sparse(len(indptr) - 1, len(indices)):
            left = np.flatnonzero(np.diff(indptr))
            indptr = np.append(indptr[left], indptr[-1])
        if _is_sparse(n_right, len(indices)):
            right, places = np.unique(indices, return_inverse=True)
            indices, n_right = places.astype(np.int32), len(right)
        return cls(indptr, indices, n_right, left, right)

    @property
    def n_left(self) -> int:
        """Number of left vertices that were kept."""
        return len(self.indptr) - 1

    @property
    def csr(self) -> tuple[Int64Array, Int32Array, int]:
        """The CSR of the left side."""
        return self.indptr, self.indices, self.n_right

    def of_side(self, side: str) -> NDArray[Any] | None:
        """The numbers of the vertices of a side that were kept, where some were not."""
        return self.left if side == "left" else self.right

    def roots(self, roots: Int32Array, side: str) -> Int32Array:
        """The places of roots among the vertices that were kept; the others lie in no biclique."""
        kept = self.of_side(side)
        if kept is None:
            return roots
        return np.flatnonzero(np.isin(kept, roots)).astype(np.int32)

    def spread(self, values: Any, side: str, n: int) -> Any:
        """Put values of the vertices that were kept where they belong among all `n` of their side.

        Others get 0.
        """
        kept = self.of_side(side)
        if kept is None:
            return values
        check_room(n * values.itemsize, f"one number for each of the {n:,} {side} vertices")
        spread = np.zeros(n, values.dtype)
        spread[kept] = values
        return spread


def _is_sparse(n: int, n_edges: int) -> bool:
    return n > FEW_VERTICES and n > VERTICES_AN_EDGE * n_edges


@dataclass(frozen=True, eq=False)
class CountRequest:
    """A checked request: the graph without most of what has no edge, and its true sizes."""

    graph: Packed
    n_left: int
    n_right: int
    p: int
    q: int
    side: Literal["auto", "left", "right"]
    roots: Int32Array | None
    threads: int


@dataclass(frozen=True)
class ColumnChunk:
    """A column of a row group.

    Attributes
    ----------
    begin, data, end : int
        Bytes of the row group: the dictionary page, if there is one, begins at `begin`, the data
        pages at `data`.
    n_values : int
        Values, over all lists.
    uncompressed : int
        Bytes of its pages before they were compressed, headers included.
    n_pages : int
        Data pages.
    least, most : bytes
        Its smallest and largest number, as they stand in a page; empty for a column of lists.
    """

    begin: int
    data: int
    end: int
    n_values: int
    uncompressed: int
    n_pages: int
    least: bytes
    most: bytes


@dataclass(frozen=True)
class DescribedRowGroup:
    """What the footer of a Parquet file must say of some bicliques.

    Attributes
    ----------
    rows : int
    codec : int
        The number that the Parquet format gives its codec.
    size : int
        Bytes in the file.
    columns : list of ColumnChunk
        Their lists, then n_left, n_right, root, and what they are worth by each objective.
    """

    rows: int
    codec: int
    size: int
    columns: list[ColumnChunk]
