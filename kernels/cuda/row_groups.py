"""The CUDA driver of row groups (`src/output/row_groups.cu`): bicliques as files have them.

Nothing but the encoded bytes leaves the device. All columns of some row groups are encoded
together, so that a launch has thousands of pages.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bicliq.kernels.contracts import CODECS, BicliqueBatch, ColumnChunk, Compression, DescribedRowGroup, SmallerBatch
from bicliq.kernels.cuda import nvcomp
from bicliq.kernels.cuda.device import Streams, current_device, device_errors, new_stream, streams
from bicliq.kernels.cuda.pages import (
    HEADER_BYTES,
    PAGE,
    PLAIN_WIDTH,
    ZSTD_BLOCK,
    PageType,
    framed,
    in_order,
    list_bytes,
    number_bytes,
)
from bicliq.kernels.cuda.program import Program, SharedEnum, Struct, Values
from bicliq.kernels.errors import BackendError

PAGE_VALUES = 1 << 14
"""A page ends with the list that reaches so many: small ones, since they are compressed side by
side."""

GROUP_ROWS, GROUP_VALUES = 1 << 19, 1 << 24
"""Bicliques of a row group at most, and values of a column on average at most."""

PART_VALUES, PART_MARKS = 1 << 26, 1 << 26
"""Values of all columns that are encoded together, and words of their bitmaps, about."""

LEAST_PARTS = 2
"""Parts of a batch that has as many row groups: one is laid out while another is compressed, and
what is written last is short."""

ROOM = 1 << 30
"""Bytes for what is compressed together, about; a page with a long list makes all of them long."""

STORED_BYTES = 40 << 10
"""Of a dictionary that is not compressed, where the codec is zstd: nvCOMP takes 0.1 ms for a KiB of
a page, whatever else it has to do, and no reader takes a dictionary in pieces."""

BLOCK_BYTES = 1 << 24
"""Bytes that are copied to the host at a time."""

NUMBERS = ("n_left", "n_right", "root")

LONGEST_SIDE = 4_000_000
"""Vertices of a biclique's side at most: nvCOMP's LZ4 takes pages of 16 MiB."""

MOST_ENTRIES = 1 << 16  # of a dictionary: places have 16 bits
DICTIONARY_PAYS = 16  # values for each entry of a dictionary
THREADS, BLOCKS_A_GROUP, MOST_BLOCKS = 256, 32, 1 << 12


COLUMN = Struct.of_words("PageColumn", "values", "offsets", "marks", "ends", "n_words")
PROGRAM = Program(
    "output/row_groups.cu",
    (
        COLUMN,
        PAGE,
        SharedEnum(PageType),
        Values.of(kPlainWidth=PLAIN_WIDTH, kHeaderBytes=HEADER_BYTES, kZstdBlock=ZSTD_BLOCK),
    ),
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
        Those that were encoded together, in their order. Meanwhile the next ones are.

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
    own = streams(current_device())
    with device_errors(), own.beside:
        encoder = _Encoder(batch, compression)
    begun: deque[_Begun] = deque()
    try:
        for rows, lane in zip(encoder.parts, cycle(own.compress), strict=False):
            begun.append(encoder.begin(rows, own, lane))
            if len(begun) == len(own.compress):
                yield encoder.finish(begun.popleft(), own)
        while begun:
            yield encoder.finish(begun.popleft(), own)
    finally:
        for part in begun:  # nobody wants it, but its memory is free only then
            with suppress(BackendError), device_errors():
                part.compressed.synchronize()


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

    def pages(self, rows: NDArray[np.int64], starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Rows with which pages begin, and the last one's end; and where their values begin.

        Row groups, of which the same is given, share no page.
        """
        n_pages = -(-np.diff(starts) // PAGE_VALUES)
        number = np.arange(n_pages.sum()) - np.repeat(n_pages.cumsum() - n_pages, n_pages)
        wanted = np.repeat(starts[:-1], n_pages) + number * PAGE_VALUES
        found, begins = wanted, wanted
        if self.offsets is not None:
            import cupy

            of_part = self.offsets[rows[0] : rows[-1] + 1]
            places = cupy.searchsorted(of_part, cupy.asarray(wanted, cupy.int32))
            found, begins = cupy.stack([places + rows[0], of_part[places].astype(cupy.int64)]).get()
        bounds, first = np.unique(np.concatenate([rows, found]), return_index=True)
        return bounds, np.concatenate([starts, begins])[first]


@dataclass(frozen=True, eq=False)
class _Marked:
    """Which numbers a column has in some row groups."""

    column: _Column
    starts: NDArray[np.int64]
    marks: Any
    ends: Any
    entries: NDArray[np.int64]
    widths: NDArray[np.int64]
    least: NDArray[np.int32]
    most: NDArray[np.int32]

    def told(self) -> dict[str, Any]:
        """The fields of a `PageColumn`."""
        column, offsets = self.column, 0 if self.column.offsets is None else self.column.offsets
        return {
            "values": column.values,
            "marks": self.marks,
            "ends": self.ends,
            "offsets": offsets,
            "n_words": column.n_words,
        }

    def range(self, group: int) -> tuple[bytes, bytes]:
        """The least and the largest number of a row group, as a footer says them; none of lists."""
        if self.column.offsets is not None:
            return b"", b""
        return self.least[group].tobytes(), self.most[group].tobytes()


@dataclass(frozen=True, eq=False)
class _Packed:
    """Pages as they are compressed, in the order of the file.

    Attributes
    ----------
    held
        The memory that they lie in.
    pointers, packed, failed : array of uint64, uint64 and int32
        Where each begins, its bytes, and whether nvCOMP could not compress it.
    stored : array of int64
        Bytes of those that are stored as they are, and still have to be framed; 0 of others.
    """

    held: Any
    pointers: Any
    packed: Any
    failed: Any
    stored: Any


@dataclass(frozen=True, eq=False)
class _Begun:
    """Row groups whose pages are being compressed, and the memory that this takes."""

    rows: NDArray[np.int64]
    marked: list[_Marked]
    pages: NDArray[Any]
    content: Any
    packed: _Packed
    compressed: Any  # an event


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
        if self._longest > LONGEST_SIDE:
            raise BackendError(
                f"a biclique has {self._longest:,} vertices on one side, and a GPU encodes up to {LONGEST_SIDE:,}"
            )
        largest_page = list_bytes(np.int64(PAGE_VALUES + self._longest), PLAIN_WIDTH)
        part_values = min(PART_VALUES, max(ROOM // int(largest_page), 1) * PAGE_VALUES)
        most_values = max(column.values.size for column in self._columns)
        group_rows = max(1, min(GROUP_ROWS, min(GROUP_VALUES, part_values) * n // most_values))
        n_values = sum(column.values.size for column in self._columns) * group_rows // n
        n_words = sum(column.n_words for column in self._columns)
        most_groups = max(1, min(part_values // max(n_values, 1), PART_MARKS // n_words))
        n_groups = -(-n // group_rows)
        n_parts = max(-(-n_groups // most_groups), LEAST_PARTS)
        part_rows = group_rows * -(-n_groups // n_parts)
        for first in range(0, n, part_rows):
            end = min(first + part_rows, n)
            yield np.append(np.arange(first, end, group_rows), end)

    def begin(self, rows: NDArray[np.int64], own: Streams, lane: Any) -> _Begun:
        """Lay out row groups that begin with these rows, and have their pages compressed.

        The last row is their end; `lane` is the stream that compresses.
        """
        with device_errors(), own.beside:
            marked = self._marked(rows)
            pages = self._pages(marked, rows)
            content = self._laid(marked, pages)
            laid = own.beside.record()
        with device_errors(), lane:
            lane.wait_event(laid)
            packed = self._packed(content, pages)
            return _Begun(rows, marked, pages, content, packed, lane.record())

    def finish(self, begun: _Begun, own: Streams) -> DeviceRowGroups:
        """The row groups, as soon as their pages are compressed."""
        with device_errors(), own.beside:
            begun.compressed.synchronize()
            joined, header_bytes, ends = self._joined(begun.pages, begun.packed)
            own.beside.synchronize()
        return DeviceRowGroups(joined, self._described(begun, header_bytes, ends))

    def _marked(self, rows: NDArray[np.int64]) -> list[_Marked]:
        """Which numbers each column has in some row groups; the device is waited for once."""
        import cupy

        n, starts = len(rows) - 1, [column.starts(rows) for column in self._columns]
        marks, ends, own, ranges = self._mark(n, starts)
        steps = [column.n_words for column in self._columns]
        group_ends = [ends[words.start + of : words.stop + 1 : of] for words, of in zip(own, steps, strict=True)]
        every = cupy.concatenate([*(each.view(cupy.int32) for each in group_ends), ranges.ravel()])
        ended, least, most = every.get().reshape(3, len(starts), n)
        entries = np.diff(ended.view(np.uint32).astype(np.int64).ravel(), prepend=0).reshape(ended.shape)
        found = []
        for i, (column, words) in enumerate(zip(self._columns, own, strict=True)):
            of_column = column, starts[i], marks[words], ends[words.start + 1 :], entries[i]
            found.append(_Marked(*of_column, self._widths(entries[i], np.diff(starts[i])), least[i], most[i]))
        return found

    def _mark(self, n: int, starts: list[NDArray[np.int64]]) -> tuple[Any, Any, list[slice], Any]:
        """Mark the numbers of all columns in `n` row groups, whose values begin there.

        Returns the marks, how many there are before each word and in the end, the words of each
        column, and the least and the largest numbers of columns and row groups.
        """
        import cupy

        places = np.cumsum([0, *(column.n_words * n for column in self._columns)]).tolist()
        marks, counts = cupy.zeros(places[-1], cupy.uint32), cupy.empty(places[-1], cupy.uint32)
        least, most = ranges = cupy.stack([cupy.full((len(starts), n), limit, cupy.int32) for limit in (2**31 - 1, -1)])
        bounds = cupy.asarray(np.stack(starts), cupy.uint32)
        own = [slice(*pair) for pair in pairwise(places)]
        for i, (column, words) in enumerate(zip(self._columns, own, strict=True)):
            size, n_words = words.stop - words.start, np.uint64(column.n_words)
            self._launch("mark_values", (BLOCKS_A_GROUP, n), column.values, bounds[i], n_words, marks[words])
            counted = marks[words], n_words, np.uint64(size), counts[words], least[i], most[i]
            self._launch("count_marks", (min(-(-size // THREADS), MOST_BLOCKS),), *counted)
        ends = cupy.zeros(places[-1] + 1, cupy.uint32)
        cupy.cumsum(counts, dtype=cupy.uint32, out=ends[1:])
        return marks, ends, own, ranges

    def _widths(self, entries: NDArray[np.int64], n_values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Bits that a value of each row group takes: those of a place, where a dictionary pays."""
        bits = np.maximum(np.frexp(entries - 1)[1], 1).astype(np.int64)
        if self._compression != "none":
            bits = (bits + 7) // 8 * 8  # a codec finds repetitions in bytes
        return np.where((entries <= MOST_ENTRIES) & (DICTIONARY_PAYS * entries <= n_values), bits, PLAIN_WIDTH)

    def _pages(self, marked: list[_Marked], rows: NDArray[np.int64]) -> NDArray[Any]:
        """All pages, in the order of the file; those of numbers begin with the same rows."""
        of_numbers = marked[-1].column.pages(rows, rows)
        bounds = [of_numbers if of.column.offsets is None else of.column.pages(rows, of.starts) for of in marked]
        return in_order([_column_pages(number, of, rows, *bounds[number]) for number, of in enumerate(marked)])

    def _laid(self, marked: list[_Marked], pages: NDArray[Any]) -> Any:
        """What is in the pages."""
        import cupy

        columns = cupy.asarray(np.concatenate([COLUMN.packed(of.told()) for of in marked]))
        content = cupy.empty(int(pages["at"][-1] + pages["size"][-1]), cupy.uint8)
        self._launch("lay_pages", (len(pages),), columns, cupy.asarray(pages.view(np.uint64)), content)
        return content

    def _packed(self, content: Any, pages: NDArray[Any]) -> _Packed:
        """Have the pages compressed.

        The largest begin first: a block of threads takes milliseconds for one, and the last to
        begin shall be short.
        """
        import cupy

        size = pages["size"].astype(np.int64)
        is_stored = (pages["type"] == PageType.DICTIONARY) & (size >= STORED_BYTES) & (self._compression == "zstd")
        stored = np.where(is_stored, size, 0)
        places, sizes, packed, stored_sizes = cupy.asarray(
            np.stack([pages["at"].astype(np.int64), size, framed(size), stored])
        )
        pointers, failed = (places + content.data.ptr).astype(cupy.uint64), cupy.zeros(len(pages), cupy.int32)
        if self._compression == "none":
            return _Packed(content, pointers, sizes.astype(cupy.uint64), failed, stored_sizes)
        others = np.flatnonzero(~is_stored)
        others = others[np.argsort(size[others])[::-1]]
        first, packed = cupy.asarray(others), packed.astype(cupy.uint64)
        of_codec = self._compression, pointers[first], sizes[first].astype(cupy.uint64)
        room, packed[first], failed[first] = nvcomp.compress(*of_codec, int(size[others[0]]), int(size[others].sum()))
        pointers[first] = room.data.ptr + cupy.arange(len(others), dtype=cupy.uint64) * room.shape[1]
        return _Packed((content, room), pointers, packed, failed, stored_sizes)

    def _joined(self, pages: NDArray[Any], of: _Packed) -> tuple[Any, Any, Any]:
        """All pages behind one another, the bytes of each one's header, and where each ends."""
        import cupy

        n = len(pages)
        headers, lengths = cupy.empty(n * HEADER_BYTES, cupy.uint8), cupy.empty(n, cupy.uint64)
        told = cupy.asarray(pages.view(np.uint64)), np.uint64(n), of.packed, headers, lengths
        self._launch("frame_pages", (-(-n // THREADS),), *told)
        ends = cupy.cumsum(lengths, dtype=cupy.uint64)
        header_bytes, on_host, wrong = (
            cupy.stack([lengths - of.packed, ends, of.failed.astype(cupy.uint64)]).get().astype(np.int64)
        )
        if wrong.any():
            raise BackendError(f"nvCOMP could not compress pages by {self._compression}; use another codec or the CPU")
        joined = cupy.empty(int(on_host[-1]), cupy.uint8)
        self._launch("join_pages", (n,), headers, of.pointers, of.packed, of.stored, lengths, ends, joined)
        return joined, header_bytes, on_host

    def _described(
        self, begun: _Begun, header_bytes: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> list[DescribedRowGroup]:
        """What the footer must say of them."""
        marked, pages, rows = begun.marked, begun.pages, begun.rows
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


def _column_pages(
    number: int, of: _Marked, rows: NDArray[np.int64], bounds: NDArray[np.int64], starts: NDArray[np.int64]
) -> NDArray[Any]:
    """The pages of a column, but for their places."""
    n, with_dictionary = np.diff(starts), np.flatnonzero(of.widths < PLAIN_WIDTH)
    data = np.zeros(len(n), PAGE.dtype)
    data["group"] = np.searchsorted(rows, bounds[:-1], side="right") - 1
    data["first_row"], data["end_row"] = bounds[:-1], bounds[1:]
    data["first"], data["n"], data["width"] = starts[:-1], n, of.widths[data["group"]]
    size = number_bytes if of.column.offsets is None else list_bytes
    data["size"] = size(n, data["width"].astype(np.int64))
    dictionaries = np.zeros(len(with_dictionary), PAGE.dtype)
    dictionaries["type"], dictionaries["group"] = PageType.DICTIONARY, with_dictionary
    dictionaries["n"], dictionaries["size"] = of.entries[with_dictionary], 4 * of.entries[with_dictionary]
    pages = np.concatenate([dictionaries, data])
    pages["column"] = number
    return pages
