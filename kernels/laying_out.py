"""Bicliques that come and go, as lists or as rows of smaller sides, and their row groups.

These are those of a Parquet file, in the order of a layer; rows are packed as they are found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from bicliq.kernels.arguments import as_int32, checked_starts, one_of, whole_number
from bicliq.kernels.contracts import Int32Array, Int64Array, SmallerBatch
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.errors import memory_is_capacity
from bicliq.kernels.output import Kind, RowGroup, RowGroupLayout, read_columns


@dataclass(frozen=True, eq=False)
class BicliqueLists:
    """Bicliques as two list columns, in dense ids, ascending in each list.

    Parameters
    ----------
    left_offsets, right_offsets
        int64, shape (n + 1,).
    left, right
        int32.
    """

    left_offsets: Int64Array
    left: Int32Array
    right_offsets: Int64Array
    right: Int32Array

    def __len__(self) -> int:
        return len(self.left_offsets) - 1


def list_arrays(lists: BicliqueLists) -> tuple[Int64Array, Int32Array, Int64Array, Int32Array]:
    """The columns of lists, checked: compiled code follows the offsets."""
    left, right = as_int32(lists.left, "left"), as_int32(lists.right, "right")
    left_offsets = checked_starts(lists.left_offsets, len(left), "left_offsets", "left")
    right_offsets = checked_starts(lists.right_offsets, len(right), "right_offsets", "right")
    if len(left_offsets) != len(right_offsets):
        raise ValueError(f"there are {len(left_offsets) - 1} left sides and {len(right_offsets) - 1} right sides")
    return left_offsets, left, right_offsets, right


@dataclass(frozen=True, eq=False)
class RowPacking:
    """How rows that change are kept while they are searched.

    Parameters
    ----------
    layout : RowGroupLayout, optional
        One of smaller sides. Rows that fill a row group are laid out so as soon as they are found;
        where a function of Python compresses, and without a layout, all stay rows.
    partition : array of int, optional
        For each vertex that may be a root its partition. Each row group is of one.
    by_partition : {"appeared", "vanished"}
        Which rows have partitions.
    most_rows, most_ids : int
        The most of a row group; one row may have more ids.

    Raises
    ------
    ValueError
        If the layout is one of both sides.

    Examples
    --------
    >>> import numpy as np
    >>> from bicliq.kernels import ChangeSearch, LaidOutRows
    >>> search = ChangeSearch([0, 2, 4], [0, 1, 0, 1], 2, [1], [1])
    >>> packing = RowPacking(RowGroupLayout("none", columns="smaller"), most_rows=1)
    >>> found = search.find_rows([np.arange(2, dtype=np.uint64)] * 2, "left", [0, 1], packing=packing)
    >>> LaidOutRows(found.vanished).groups
    [(0, 1), (0, 1)]
    """

    layout: RowGroupLayout | None = None
    partition: Any = None
    by_partition: Literal["appeared", "vanished"] = "vanished"
    most_rows: int = 1 << 16
    most_ids: int = 1 << 24

    def __post_init__(self) -> None:
        if self.layout is not None and self.layout.columns != "smaller":
            raise ValueError("rows are packed in a layout of smaller sides")

    def collector(self) -> Any:
        """The extension's, to which threads add what they find."""
        numbers = None if self.partition is None else as_int32(self.partition, "partition")
        maker = None if self.layout is None or self.layout.compress is not None else self.layout.maker
        most = whole_number("most_rows", self.most_rows), whole_number("most_ids", self.most_ids, most=2**31 - 1)
        by_appeared = one_of("by_partition", self.by_partition, ("appeared", "vanished")) == "appeared"
        return load_extension().RowCollector(numbers, by_appeared, maker, *most)


class ChangedRows:
    """Bicliques of which the smaller sides are kept, for `LaidOutRows`.

    Parameters
    ----------
    held
        The extension's, which holds them.
    packing
        How it does.

    Attributes
    ----------
    digest : int
        Their set digest.
    """

    def __init__(self, held: Any, packing: RowPacking) -> None:
        self.held, self.packing = held, packing
        self.digest = int(held.digest)

    def __len__(self) -> int:
        return len(self.held)


@dataclass(frozen=True, eq=False)
class RowChanges:
    """What new edges change, as `Changes`, of each biclique the smaller side alone.

    Parameters
    ----------
    appeared, vanished
        The bicliques.
    backend
        As of `Changes`.
    """

    appeared: ChangedRows
    vanished: ChangedRows
    backend: str

    def backwards(self) -> RowChanges:
        """As of `Changes`."""
        return RowChanges(self.vanished, self.appeared, self.backend)


class LaidOutRows:
    """Rows of smaller sides as row groups, which threads may encode side by side.

    Those that are packed come as they are; the others are cut as their packing says.

    Parameters
    ----------
    rows : ChangedRows

    Examples
    --------
    >>> import numpy as np
    >>> from bicliq.kernels import ChangeSearch
    >>> search = ChangeSearch([0, 2, 4], [0, 1, 0, 1], 2, [1], [1])
    >>> found = search.find_rows([np.arange(2, dtype=np.uint64)] * 2, "left", [0, 1])
    >>> laid_out = LaidOutRows(found.vanished)
    >>> laid_out.groups, laid_out.encode(0, RowGroupLayout("none", columns="smaller")).rows
    ([(0, 2)], 2)
    >>> batch = laid_out.batch(0)
    >>> sorted(zip(batch.n_left.tolist(), batch.n_right.tolist()))
    [(1, 2), (2, 1)]
    """

    @memory_is_capacity
    def __init__(self, rows: ChangedRows) -> None:
        self._packing = rows.packing
        self._laid_out = load_extension().LaidOutRows(rows.held, rows.packing.most_rows, rows.packing.most_ids)

    @property
    def groups(self) -> list[tuple[int, int]]:
        """Partition (0 without them) and rows of each row group, ascending by partition."""
        return [(int(number), int(rows)) for number, rows in self._laid_out.groups()]

    @memory_is_capacity
    def encode(self, number: int, layout: RowGroupLayout) -> RowGroup:
        """Lay out a row group.

        Parameters
        ----------
        number : int
            Which one.
        layout : RowGroupLayout
            One of smaller sides; of a packed group, the one that it was packed with.

        Raises
        ------
        ValueError
            If the layout is another one.
        """
        if self._laid_out.is_packed(number) and layout != self._packing.layout:
            raise ValueError(f"row group {number} is packed already, in another layout")
        return layout.group(self._laid_out.encode(number, layout.maker))

    @memory_is_capacity
    def batch(self, number: int) -> SmallerBatch:
        """The rows of a row group; those of one that is packed are read again."""
        if not self._laid_out.is_packed(number):
            return SmallerBatch(*self._laid_out.columns(number))
        layout = self._packing.layout
        assert layout is not None  # it packed them
        group = self.encode(number, layout)
        kinds: tuple[Kind, ...] = ("list", "int32", "int32", "int32")
        places = [(one.begin, one.end, one.n_values, kind) for one, kind in zip(group.columns, kinds, strict=False)]
        columns = read_columns(group.data, layout.compression, places, group.rows)
        assert columns is not None  # the pages are ours
        return SmallerBatch(*columns)
