"""Bicliques that come and go as rows of smaller sides, packed into row groups as they are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from bicliq.kernels.arguments import as_int32, one_of, whole_number
from bicliq.kernels.cpu import load_extension
from bicliq.kernels.output import RowGroupLayout


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
