"""The CUDA driver of row groups (`src/output/row_groups.cu`): bicliques as files have them.

Nothing but the encoded bytes leaves the device. All columns of some row groups are encoded
together, so that a launch has thousands of pages.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernels.contracts import CODECS, BicliqueBatch, ColumnChunk, Compression, DescribedRowGroup, SmallerBatch
from kernels.cuda import nvcomp
from kernels.cuda.device import current_device, device_errors, new_stream, streams
from kernels.cuda.layout import SharedEnum, Struct, Values
from kernels.cuda.program import Program
from kernels.errors import BackendError

PAGE_VALUES = 1 << 14
"""A page ends with the list that reaches so many: small ones, since they are compressed side by
side."""

GROUP_ROWS, GROUP_VALUES = 1 << 19, 1 << 24
"""Bicliques of a row group at most, and values of a column on average at most."""

PART_VALUES, PART_MARKS = 1 << 26, 1 << 26
"""Values of all columns that are encoded together, and words of their bitmaps, about."""

ROOM = 1 << 30
"""Bytes for what is compressed together, about; a page with a long list makes all of them long."""

BLOCK_BYTES = 1 << 24
"""Bytes that are copied to the host at a time."""

NUMBERS = ("n_left", "n_right", "root")

MOST_PAGE_BYTES = 1 << 24  # nvCOMP's, of LZ4
MOST_ENTRIES = 1 << 16  # of a dictionary: places have 16 bits
DICTIONARY_PAYS = 16  # values for each entry of a dictionary
PLAIN_WIDTH = 32
HEADER_BYTES = 64
THREADS, BLOCKS_A_GROUP, MOST_BLOCKS = 256, 32, 1 << 12


class PageType(IntEnum):
    """As parquet.thrift numbers them."""

    DATA = 0
    DICTIONARY = 2


COLUMN = Struct.of_words("PageColumn", "values", "offsets", "marks", "ends", "n_words")
PAGE = Struct(
    "Page",
    np.dtype([
        ("at", "u8"), ("size", "u8"),
        *((name, "u4") for name in ("type", "column", "group", "width", "first", "n", "first_row", "end_row")),
    ]),
)  # fmt: skip
PROGRAM = Program(
    "output/row_groups.cu",
    (COLUMN, PAGE, SharedEnum(PageType), Values.of(kPlainWidth=PLAIN_WIDTH, kHeaderBytes=HEADER_BYTES)),
)


@dataclass(frozen=True, eq=False)
class DeviceRowGroups:
    """Row groups that follow each other in a file, and whose bytes are on a GPU.

    Attributes
    ----------
    data : array of uint8
        The bytes, on the device.
    groups : list of DescribedRowGroup
    """

    data: Any
    groups: list[DescribedRowGroup]

    def pieces(self) -> Iterator[NDArray[np.uint8]]:
        """The bytes, some at a time, on the host; each piece is lent until the next is asked for.

        They pass through one pinned block that is used again: to pin as much as there is to copy
        would take longer than to copy it.

        Raises
        ------
        BackendError
            If the device fails.
        """
        import cupyx

        with device_errors():
            block, stream = cupyx.empty_pinned(BLOCK_BYTES, np.uint8), new_stream()
        for first in range(0, len(self.data), BLOCK_BYTES):
            some = self.data[first : first + BLOCK_BYTES]
            with device_errors():
                some.get(stream=stream, out=block[: len(some)])
                stream.synchronize()
            yield block[: len(some)]


def encode_on_device(
    batch: BicliqueBatch | SmallerBatch, compression: Compression = "zstd"
) -> Iterator[DeviceRowGroups]:
    """Encode a batch that lies on the current GPU as row groups of a Parquet file.

    Parameters
    ----------
    batch : BicliqueBatch or SmallerBatch
        Its columns are written: both sides, or the smaller ones.
    compression : {"zstd", "lz4_raw", "none"}
        One that `nvcomp.compresses`.

    Yields
    ------
    DeviceRowGroups
        Those that were encoded together, in their order.

    Raises
    ------
    RuntimeError
        If a side is empty.
    BackendError
        If the device has no room for it, or a side is so long that no page holds it.

    Examples
    --------
    >>> with stream_maximal_bicliques(indptr, indices, 2, on_device=True, backend="cuda") as stream:  # doctest: +SKIP
    ...     sum(len(part.data) for batch in stream for part in encode_on_device(batch, "none"))
    """
    if not len(batch):
        return
    with device_errors(), streams(current_device()).beside:
        encoder = _Encoder(batch, compression)
    for rows in encoder.parts:
        with device_errors(), streams(current_device()).beside as stream:
            encoded = encoder.encode(rows)
            stream.synchronize()
        yield encoded


class _Column:
    """A column of a batch: lists where it has offsets."""

    def __init__(self, values: Any, offsets: Any | None, largest: int) -> None:
        self.values, self.offsets = values, offsets
        self.n_words = largest // 32 + 1

    def starts(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where the values of some rows begin."""
        if self.offsets is None:
            return rows
        import cupy

        return np.asarray(self.offsets[cupy.asarray(rows)].get(), np.int64)

    def page_rows(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows with which pages begin, and the last one's end; row groups share no page."""
        starts = self.starts(rows)
        n_pages = -(-np.diff(starts) // PAGE_VALUES)
        number = np.arange(n_pages.sum()) - np.repeat(n_pages.cumsum() - n_pages, n_pages)
        wanted = np.repeat(starts[:-1], n_pages) + number * PAGE_VALUES
        if self.offsets is not None:
            import cupy

            of_part = self.offsets[rows[0] : rows[-1] + 1]
            wanted = rows[0] + cupy.searchsorted(of_part, cupy.asarray(wanted, cupy.int32)).get()
        return np.unique(np.concatenate([rows, wanted]))


@dataclass(frozen=True, eq=False)
class _Marked:
    """Which numbers a column has in some row groups."""

    column: _Column
    marks: Any
    ends: Any
    entries: NDArray[np.int64]
    widths: NDArray[np.int64]
    least: NDArray[np.int32]
    most: NDArray[np.int32]

    def told(self) -> dict[str, int]:
        """The fields of a `PageColumn`."""
        arrays = {"values": self.column.values, "marks": self.marks, "ends": self.ends}
        pointers = {name: int(array.data.ptr) for name, array in arrays.items()}
        offsets = 0 if self.column.offsets is None else int(self.column.offsets.data.ptr)
        return {**pointers, "offsets": offsets, "n_words": self.column.n_words}

    def range(self, group: int) -> tuple[bytes, bytes]:
        """The least and the largest number of a row group, as a footer says them; none of lists."""
        if self.column.offsets is not None:
            return b"", b""
        return self.least[group].tobytes(), self.most[group].tobytes()


class _Encoder:
    """Encodes a batch, some row groups at a time."""

    def __init__(self, batch: BicliqueBatch | SmallerBatch, compression: Compression) -> None:
        import cupy

        self._compression = compression
        numbers = [(None, getattr(batch, name)) for name in NUMBERS]
        columns = [*batch.lists.values(), *numbers]
        lengths = [offsets[1:] - offsets[:-1] for offsets, _ in batch.lists.values()]
        *longest, shortest = _on_host(
            *(each.max() for each in lengths), cupy.stack([each.min() for each in lengths]).min()
        )
        if shortest < 1:
            raise RuntimeError("a biclique has an empty side")
        self._longest = max(longest)
        largest = _on_host(*(values.max() for _, values in columns))
        self._columns = [
            _Column(values, offsets, most) for (offsets, values), most in zip(columns, largest, strict=True)
        ]
        self._module = PROGRAM.compiled()
        self.parts = list(self._cut(len(batch)))

    def _cut(self, n: int) -> Iterator[NDArray[np.int64]]:
        """Rows with which the row groups of each part begin, and the last one's end."""
        largest_page = _list_bytes(np.int64(PAGE_VALUES + self._longest), PLAIN_WIDTH)
        if largest_page > MOST_PAGE_BYTES:
            raise BackendError(
                f"a biclique has {self._longest:,} vertices on one side, more than a GPU compresses at once; use the CPU backend for data"
            )
        part_values = min(PART_VALUES, max(ROOM // int(largest_page), 1) * PAGE_VALUES)
        most_values = max(column.values.size for column in self._columns)
        group_rows = max(1, min(GROUP_ROWS, min(GROUP_VALUES, part_values) * n // most_values))
        n_values = sum(column.values.size for column in self._columns) * group_rows // n
        n_words = sum(column.n_words for column in self._columns)
        part_rows = group_rows * max(1, min(part_values // max(n_values, 1), PART_MARKS // n_words))
        for first in range(0, n, part_rows):
            end = min(first + part_rows, n)
            yield np.append(np.arange(first, end, group_rows), end)

    def encode(self, rows: NDArray[np.int64]) -> DeviceRowGroups:
        """Row groups that begin with these rows; the last row is their end."""
        launched = [self._launch_marks(column, column.starts(rows)) for column in self._columns]
        marked = [self._marked(*each) for each in launched]
        pages = _in_order([self._pages(number, of, rows) for number, of in enumerate(marked)])
        content = self._laid(marked, pages)
        joined, header_bytes, ends = self._joined(pages, *self._packed(content, pages))
        return DeviceRowGroups(joined, self._described(marked, pages, rows, header_bytes, ends))

    def _launch_marks(self, column: _Column, starts: NDArray[np.int64]) -> tuple[Any, ...]:
        """Mark the numbers of some row groups, whose values begin there, and count them."""
        import cupy

        n, n_words = len(starts) - 1, column.n_words
        marks, counts = cupy.zeros(n * n_words, cupy.uint32), cupy.empty(n * n_words, cupy.uint32)
        least, most = cupy.full(n, 2**31 - 1, cupy.int32), cupy.full(n, -1, cupy.int32)
        told = column.values, cupy.asarray(starts, cupy.uint32), np.uint64(n_words), marks
        self._launch("mark_values", (BLOCKS_A_GROUP, n), *told)
        blocks = min(-(-marks.size // THREADS), MOST_BLOCKS)
        self._launch("count_marks", (blocks,), marks, np.uint64(n_words), np.uint64(marks.size), counts, least, most)
        return column, np.diff(starts), marks, cupy.cumsum(counts, dtype=cupy.uint32), least, most

    def _marked(self, column: _Column, n_values: NDArray[np.int64], marks: Any, ends: Any, *range_of: Any) -> _Marked:
        entries = np.diff(ends[column.n_words - 1 :: column.n_words].get().astype(np.int64), prepend=0)
        least, most = (each.get() for each in range_of)
        return _Marked(column, marks, ends, entries, self._widths(entries, n_values), least, most)

    def _widths(self, entries: NDArray[np.int64], n_values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Bits that a value of each row group takes: those of a place, where a dictionary pays."""
        bits = np.maximum(np.frexp(entries - 1)[1], 1).astype(np.int64)
        if self._compression != "none":
            bits = (bits + 7) // 8 * 8  # a codec finds repetitions in bytes
        return np.where((entries <= MOST_ENTRIES) & (DICTIONARY_PAYS * entries <= n_values), bits, PLAIN_WIDTH)

    def _pages(self, number: int, of: _Marked, rows: NDArray[np.int64]) -> NDArray[Any]:
        """The pages of a column, but for their places."""
        bounds = of.column.page_rows(rows)
        starts = of.column.starts(bounds)
        data, with_dictionary = np.zeros(len(bounds) - 1, PAGE.dtype), np.flatnonzero(of.widths < PLAIN_WIDTH)
        data["group"] = np.searchsorted(rows, bounds[:-1], side="right") - 1
        data["first_row"], data["end_row"] = bounds[:-1], bounds[1:]
        data["first"], data["n"], data["width"] = starts[:-1], np.diff(starts), of.widths[data["group"]]
        size = _number_bytes if of.column.offsets is None else _list_bytes
        data["size"] = size(np.diff(starts), data["width"].astype(np.int64))
        dictionaries = np.zeros(len(with_dictionary), PAGE.dtype)
        dictionaries["type"], dictionaries["group"] = PageType.DICTIONARY, with_dictionary
        dictionaries["n"], dictionaries["size"] = of.entries[with_dictionary], 4 * of.entries[with_dictionary]
        pages = np.concatenate([dictionaries, data])
        pages["column"] = number
        return pages

    def _laid(self, marked: list[_Marked], pages: NDArray[Any]) -> Any:
        """What is in the pages."""
        import cupy

        columns = cupy.asarray(np.concatenate([COLUMN.packed(of.told()) for of in marked]))
        content = cupy.empty(int(pages["at"][-1] + pages["size"][-1]), cupy.uint8)
        self._launch("lay_pages", (len(pages),), columns, cupy.asarray(pages.view(np.uint64)), content)
        return content

    def _packed(self, content: Any, pages: NDArray[Any]) -> tuple[Any, Any, Any]:
        """What holds the pages, compressed, where each begins there, and its bytes."""
        import cupy

        places, sizes = (cupy.asarray(np.ascontiguousarray(pages[name])) for name in ("at", "size"))
        if self._compression == "none":
            return content, places, sizes
        largest, total = int(pages["size"].max()), int(pages["size"].sum())
        room, packed = nvcomp.compress(self._compression, places + content.data.ptr, sizes, largest, total)
        return room, cupy.arange(len(pages), dtype=cupy.uint64) * room.shape[1], packed

    def _joined(self, pages: NDArray[Any], held: Any, places: Any, packed: Any) -> tuple[Any, Any, Any]:
        """All pages behind one another, the bytes of each one's header, and where each ends."""
        import cupy

        n = len(pages)
        headers, lengths = cupy.empty(n * HEADER_BYTES, cupy.uint8), cupy.empty(n, cupy.uint64)
        told = cupy.asarray(pages.view(np.uint64)), np.uint64(n), packed, headers, lengths
        self._launch("frame_pages", (-(-n // THREADS),), *told)
        ends = cupy.cumsum(lengths, dtype=cupy.uint64)
        header_bytes, on_host = cupy.stack([lengths - packed, ends]).get().astype(np.int64)
        joined = cupy.empty(int(on_host[-1]), cupy.uint8)
        self._launch("join_pages", (n,), headers, places + held.data.ptr, packed, lengths, ends, joined)
        return joined, header_bytes, on_host

    def _described(
        self,
        marked: list[_Marked],
        pages: NDArray[Any],
        rows: NDArray[np.int64],
        header_bytes: NDArray[np.int64],
        ends: NDArray[np.int64],
    ) -> list[DescribedRowGroup]:
        """What the footer must say of them."""
        n_columns, is_data = len(marked), pages["type"] == PageType.DATA
        chunk = pages["group"].astype(np.int64) * n_columns + pages["column"]
        first = np.flatnonzero(np.diff(chunk, prepend=-1))
        begins = np.append(np.append(0, ends)[first], ends[-1])
        data = np.append(0, ends)[first + ~is_data[first]]
        values, sizes, n_pages = (
            np.add.reduceat(each, first)
            for each in (
                np.where(is_data, pages["n"], 0),
                header_bytes + pages["size"].astype(np.int64),
                is_data.astype(int),
            )
        )
        groups = []
        for group, n_rows in enumerate(np.diff(rows).tolist()):
            at, end = int(begins[group * n_columns]), int(begins[(group + 1) * n_columns])
            chunks = [
                ColumnChunk(
                    int(begins[i]) - at, int(data[i]) - at, int(begins[i + 1]) - at, int(values[i]), int(sizes[i]),
                    int(n_pages[i]), *of.range(group),
                )
                for i, of in enumerate(marked, group * n_columns)
            ]  # fmt: skip
            groups.append(DescribedRowGroup(n_rows, CODECS[self._compression], end - at, chunks))
        return groups

    def _launch(self, kernel: str, blocks: tuple[int, ...], *arguments: Any) -> None:
        self._module.get_function(kernel)(blocks, (THREADS,), arguments)


def _on_host(*numbers: Any) -> list[int]:
    """Numbers of the device, which is waited for once."""
    import cupy

    return [int(number) for number in cupy.stack(numbers).get()]


def _in_order(pages: list[NDArray[Any]]) -> NDArray[Any]:
    """Pages in the order of the file, with their places."""
    every = np.concatenate(pages)
    order = np.lexsort((every["first"], every["type"] == PageType.DATA, every["column"], every["group"]))
    every = every[order]
    room = -(-every["size"].astype(np.int64) // nvcomp.ALIGNMENT) * nvcomp.ALIGNMENT
    every["at"] = room.cumsum() - room
    return every


def _number_bytes(n: Any, width: Any) -> Any:
    """Bytes of a page of numbers, so many bits each."""
    eights = (n + 7) // 8
    return np.where(width == PLAIN_WIDTH, 4 * n, 1 + _varint_bytes(2 * eights + 1) + eights * width)


def _list_bytes(n: Any, width: Any) -> Any:
    """Bytes of a page of lists: repetition levels, definition levels, and ids."""
    eights = (n + 7) // 8
    return 4 + _varint_bytes(2 * eights + 1) + eights + 4 + _varint_bytes(2 * n) + 1 + _number_bytes(n, width)


def _varint_bytes(x: Any) -> Any:
    """Bytes of a number, seven bits a byte.

    Examples
    --------
    >>> _varint_bytes(np.array([0, 127, 128, 2**31])).tolist()
    [1, 1, 2, 5]
    """
    return 1 + sum((x >= 1 << shift).astype(np.int64) for shift in (7, 14, 21, 28))
