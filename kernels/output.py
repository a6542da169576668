"""Bicliques as row groups of a Parquet file: encoded, read, checked, larger sides restored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from bicliq.kernels.arguments import as_int32, checked_csr, checked_hashes, one_of
from bicliq.kernels.contracts import CODECS, BicliqueBatch, ColumnChunk, Compression, DescribedRowGroup, SmallerBatch
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.errors import memory_is_capacity
from bicliq.kernels.surprise import SURPRISE_UNIT, SurpriseTerms

Columns = Literal["both", "smaller"]
StoredObjective = Literal["surprise", "edges", "vertices", "balanced"]
Kind = Literal["list", "int32", "int64", "float64"]

WORDS: dict[Kind, int] = {"list": 0, "int32": 1, "int64": 2, "float64": 2}
"""Words of four bytes that a number of a column takes; lists have columns of their own."""


@dataclass(frozen=True)
class RowGroup:
    """Some bicliques as they stand in a Parquet file.

    Columns: their lists, then n_left, n_right, root, and what they are worth by each objective.

    Attributes
    ----------
    rows : int
    codec : int
        The number that the Parquet format gives its codec.
    data : array of uint8
        The bytes.
    columns : list of ColumnChunk
        What the footer of the file must say of them.
    sizes : dict
        How many bicliques have so many vertices, as pairs (size, number): `left`, `right`; and the
        `largest`, or None without a biclique.
    """

    rows: int
    codec: int
    data: Any
    columns: list[ColumnChunk]
    sizes: dict[str, Any]

    @property
    def described(self) -> DescribedRowGroup:
        """What the footer must say of it."""
        return DescribedRowGroup(self.rows, self.codec, len(self.data), self.columns)

    def __len__(self) -> int:
        return self.rows


@dataclass(frozen=True)
class RowGroupLayout:
    """How bicliques are laid out as row groups.

    Parameters
    ----------
    compression : {"zstd", "lz4_raw", "none"}
    level : int
        Level of zstd.
    compress : callable, optional
        Compresses a page where this machine lacks the library of the codec (`has_codec`).
    columns : {"both", "smaller"}
        Whether there is a list column for each side, or one of the smaller sides: the left one
        where ``n_left <= n_right``. `SideRestorer` finds the others again.
    objectives : sequence of {"surprise", "edges", "vertices", "balanced"}
        What of each biclique's worth is a column, as `top_bicliques` defines it: of float64 for
        surprise (nats), else of int64.
    terms : SurpriseTerms, optional
        Needed for surprise.

    Raises
    ------
    ValueError
        If there is no such codec or objective, or terms are missing.
    RuntimeError
        If the codec's library is missing, and nothing compresses in its stead.
    """

    compression: Compression = "zstd"
    level: int = 1
    compress: Callable[[bytes], bytes] | None = None
    columns: Columns = "both"
    objectives: Sequence[StoredObjective] = ()
    terms: SurpriseTerms | None = None

    def __post_init__(self) -> None:
        one_of("compression", self.compression, tuple(CODECS))
        one_of("columns", self.columns, ("both", "smaller"))
        for objective in self.objectives:
            one_of("objective", objective, get_args(StoredObjective))
        if self.terms is None and "surprise" in self.objectives:
            raise ValueError("objective 'surprise' needs terms")
        if self.compress is None and not has_codec(self.compression):
            raise RuntimeError(f"this machine has no library for {self.compression}; give a function that compresses")

    @property
    def maker(self) -> Any:
        """The extension's, which makes row groups so."""
        extension = load_extension()
        return extension.RowGroupMaker(
            self.columns == "smaller",
            extension.Codec[self.compression],
            self.level,
            self.compress,
            [extension.Objective[objective] for objective in self.objectives],
            None if self.terms is None else self.terms.arrays,
            SURPRISE_UNIT,
        )

    def group(self, made: tuple[Any, ...]) -> RowGroup:
        """A row group of what the extension has made."""
        rows, data, chunks, left, right, (n_left, n_right) = made
        largest = {"n_left": n_left, "n_right": n_right, "n_edges": n_left * n_right}
        sizes = {"left": left, "right": right, "largest": largest if rows else None}
        return RowGroup(rows, CODECS[self.compression], data, [ColumnChunk(*chunk) for chunk in chunks], sizes)


@memory_is_capacity
def encode_bicliques(batch: BicliqueBatch | SmallerBatch, layout: RowGroupLayout) -> RowGroup:
    """Encode a batch as a row group of a Parquet file.

    Parameters
    ----------
    batch : BicliqueBatch or SmallerBatch
        On the host; no side of a biclique is empty. One of smaller sides takes a layout that has
        these alone, and no surprise.
    layout : RowGroupLayout
        How it is laid out.

    Returns
    -------
    RowGroup

    Raises
    ------
    ValueError
        If the arrays are no batch, the layout takes more than they have, or an id has no term.
    RuntimeError
        If the codec's library failed, or a side is empty.
    CapacityError
        If a list or a page is longer than the format can say.

    Examples
    --------
    >>> from bicliq.kernels import stream_maximal_bicliques
    >>> with stream_maximal_bicliques([0, 2, 4], [0, 1, 0, 1], 2) as stream:
    ...     [encode_bicliques(batch, RowGroupLayout("none")).rows for batch in stream]
    [1]
    """
    extension = load_extension()
    encode = extension.encode_smaller if isinstance(batch, SmallerBatch) else extension.encode_bicliques
    return layout.group(encode(*vars(batch).values(), layout.maker))


@memory_is_capacity
def read_columns(
    data: Any, compression: Compression, columns: Sequence[tuple[int, int, int, Kind]], rows: int
) -> list[Any] | None:
    """Read columns of a row group that `encode_bicliques` made.

    Parameters
    ----------
    data : array of uint8
        Bytes of the file that hold them.
    compression : {"zstd", "lz4_raw", "none"}
    columns : sequence of (begin, end, n_values, {"list", "int32", "int64", "float64"})
        Where the pages of each column lie in `data`, how many values they hold, and of what kind it
        is, as the footer of the file says. No column has a null, and no list is empty.
    rows : int

    Returns
    -------
    list of array, or None
        Of a list column its offsets and then its ids (int32), of any other its numbers. None where
        the pages are damaged or another writer's, or this machine lacks the codec's library: a
        general reader can tell.

    Notes
    -----
    O(ids) time, four times as fast as a general reader (docs/methods.md).

    Examples
    --------
    >>> import numpy as np
    >>> batch = BicliqueBatch(*[np.array(x, np.int32) for x in ([0, 2], [3, 7], [0, 1], [5], [3])])
    >>> group = encode_bicliques(batch, RowGroupLayout("none"))
    >>> left = group.columns[0]
    >>> [x.tolist() for x in read_columns(group.data, "none", [(left.begin, left.end, 2, "list")], 1)]
    [[0, 2], [3, 7]]
    """
    one_of("compression", compression, tuple(CODECS))
    if not has_codec(compression):
        return None
    places = [(begin, end, n_values, WORDS[kind]) for begin, end, n_values, kind in columns]
    extension = load_extension()
    found = extension.read_columns(data, extension.Codec[compression], places, rows)
    if found is None:
        return None
    kinds = [one for *_, kind in columns for one in (("int32", "int32") if kind == "list" else (kind,))]
    return [array.view(np.dtype(kind)) for array, kind in zip(found, kinds, strict=True)]


def check_bicliques(batch: BicliqueBatch, left_hashes: Any = None, right_hashes: Any = None) -> tuple[int, int]:
    """Digest of a batch, and how many of its bicliques have a side that is not ascending.

    The digest is that of `set_digest`, at the speed of memory and without Python's lock.

    Parameters
    ----------
    batch : BicliqueBatch
    left_hashes, right_hashes : array of uint64, optional
        The 64-bit hash of each vertex's label, by id; the ids by default.

    Returns
    -------
    tuple of int
        The digest, and how many bicliques have a side that is not ascending.

    Raises
    ------
    ValueError
        If the arrays are no batch, or an id has no hash.

    Notes
    -----
    O(ids) time.

    Examples
    --------
    >>> import numpy as np
    >>> from bicliq.kernels import BicliqueBatch, check_bicliques, set_digest
    >>> lists = np.array([0, 2], np.int32), np.array([4, 3], np.int32)
    >>> digest, unordered = check_bicliques(BicliqueBatch(*lists, *lists, np.array([4], np.int32)))
    >>> digest == set_digest(*lists, *lists), unordered
    (True, 1)
    """
    arrays = batch.left_offsets, batch.left, batch.right_offsets, batch.right
    hashes = (
        None if each is None else checked_hashes(each, len(each), "hashes") for each in (left_hashes, right_hashes)
    )
    digest, unordered = load_extension().check_bicliques(*arrays, *hashes)
    return int(digest), int(unordered)


class SideRestorer:
    """Restores bicliques of one graph of which only the smaller sides were kept.

    Either side of a maximal biclique is the set of all common neighbours of the other one, so the
    smaller one is enough.

    Parameters
    ----------
    indptr, indices, n_right
        CSR of the left side, as of `enumerate_maximal_bicliques`.

    Raises
    ------
    ValueError
        If the arrays are no CSR matrix of whole numbers.

    Notes
    -----
    Memory: the graph in both orientations, and as much again or 64 MiB a side for bit sets.
    `src/output/restore_sides.hpp` has the method. Threads may share one.

    Examples
    --------
    >>> from bicliq.kernels import SideRestorer
    >>> graph = SideRestorer([0, 2, 4, 5], [0, 1, 0, 1, 0], 2)
    >>> batch = graph.restore([0, 1, 3], [0, 0, 1], [3, 2], [1, 2], [0, 0])
    >>> batch.left.tolist(), batch.right.tolist()
    ([0, 1, 2, 0, 1], [0, 0, 1])
    """

    def __init__(self, indptr: Any, indices: Any, n_right: int) -> None:
        self._graph = load_extension().SideRestorer(*checked_csr(indptr, indices, n_right))

    @memory_is_capacity
    def restore(self, offsets: Any, ids: Any, n_left: Any, n_right: Any, root: Any) -> BicliqueBatch:
        """Restore some bicliques.

        Parameters
        ----------
        offsets, ids : array of int
            The smaller side of each, as a list column: the left one where ``n_left <= n_right``.
        n_left, n_right : array of int
            Numbers of vertices of both sides.
        root : array of int
            The root of each, which is passed on.

        Returns
        -------
        BicliqueBatch

        Raises
        ------
        ValueError
            If the arrays do not fit together, an id is not in the graph, or the graph gives a side
            another size.
        CapacityError
            If a side of all of them together has more than 2^31 - 1 ids.

        Notes
        -----
        O(smaller * larger) lookups a biclique at most; as a rule few, since the number of ids that
        are to come says when no more rows need to be looked at.
        """
        lists = as_int32(offsets, "offsets"), as_int32(ids, "ids")
        sizes = as_int32(n_left, "n_left"), as_int32(n_right, "n_right")
        left_offsets, left, right_offsets, right = self._graph.restore(*lists, *sizes)
        return BicliqueBatch(left_offsets, left, right_offsets, right, as_int32(root, "root"))


def has_codec(compression: Compression) -> bool:
    """Say whether this machine has the library of a codec (libzstd.so.1, liblz4.so.1).

    Examples
    --------
    >>> has_codec("none")
    True
    """
    extension = load_extension()
    return bool(extension.has_library(extension.Codec[compression]))
