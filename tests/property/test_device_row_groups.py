"""Row groups that the kernels of a GPU encode, run on a host, say what those of the CPU do."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq import kernels
from bicliq.kernels.contracts import CODECS, Compression
from bicliq.kernels.cuda import nvcomp, pages, row_groups
from bicliq.kernels.cuda.row_groups import encode_on_device
from bicliq.kernels.errors import BackendError
from bicliq.kernels.output import Columns
from bicliq.pipeline.settings import PublishSettings
from bicliq.pipeline.store.biclique_file import BicliqueWriter
from bicliq.pipeline.store.device_bicliques import DeviceBicliqueWriter
from tests import host_cupy
from tests.host_cupy import HostCupy, as_array
from tests.host_row_groups import row_group_kernels, use_host
from tests.nightly import drawn

Batch = kernels.BicliqueBatch | kernels.SmallerBatch


@pytest.fixture(scope="module")
def gpu(tmp_path_factory):
    """A machine whose GPU is this one's processor."""
    built = row_group_kernels(tmp_path_factory.mktemp("row_groups"))
    with pytest.MonkeyPatch.context() as patch, host_cupy.installed(HostCupy(built), patch) as cupy:
        use_host(patch)
        yield cupy


@contextmanager
def encoded_by(**most: int) -> Iterator[None]:
    """Let pages, row groups and what is encoded at a time be so small."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in most.items():
            patch.setattr(row_groups, name, value)
        yield


FEW = encoded_by(PAGE_VALUES=40, GROUP_ROWS=64, PART_VALUES=500, BLOCK_BYTES=1000, STORED_BYTES=20)


def batch_of(rows: list[tuple[list[int], list[int], int]], columns: Columns = "both") -> Any:
    roots = np.array([root for *_, root in rows], np.int32)
    if columns == "smaller":
        smaller = [left if len(left) <= len(right) else right for left, right, _ in rows]
        sides = (np.array([len(row[side]) for row in rows], np.int32) for side in (0, 1))
        return kernels.SmallerBatch(*lists_of(smaller), *sides, roots)
    return kernels.BicliqueBatch(*lists_of([row[0] for row in rows]), *lists_of([row[1] for row in rows]), roots)


def lists_of(lists: list[list[int]]) -> tuple[Any, Any]:
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int32)
    return offsets, np.array([x for one in lists for x in one], np.int32)


def on_device(batch: Any) -> Any:
    return type(batch)(*map(as_array, vars(batch).values()))


def written(batches: list[Any], publish: PublishSettings, *, device: bool) -> tuple[bytes, dict[str, Any]]:
    file = io.BytesIO()
    writer = DeviceBicliqueWriter(file, publish) if device else BicliqueWriter(file, 1, publish)
    with writer:
        for batch in batches:
            writer.write(on_device(batch) if device else batch)
    return file.getvalue(), writer.sizes.counts()


IDS = st.integers(0, 20) | st.integers(0, 400) | st.integers(0, 2**17)
SIDE = st.lists(IDS, min_size=1, max_size=12) | st.lists(st.integers(0, 300), min_size=90, max_size=130)
ROWS = st.lists(st.tuples(SIDE, SIDE, IDS), max_size=150)


@given(st.lists(ROWS, max_size=3), st.sampled_from(list(CODECS)), st.sampled_from(["both", "smaller"]))
@settings(max_examples=drawn(150), deadline=None)
@FEW
def test_files_say_what_those_of_the_host_do(
    gpu: HostCupy, batches: list[Any], compression: Compression, columns: Columns
) -> None:
    made, publish = (
        [batch_of(rows, columns) for rows in batches],
        PublishSettings(compression=compression, columns=columns),
    )
    (ours, our_sizes), (theirs, their_sizes) = (written(made, publish, device=device) for device in (True, False))
    found, expected = (pq.ParquetFile(pa.BufferReader(data)) for data in (ours, theirs))
    assert found.read().equals(expected.read())
    assert found.schema_arrow.equals(expected.schema_arrow)
    assert our_sizes == their_sizes


def many(n: int, most: int, ids: int, seed: int = 0) -> list[tuple[list[int], list[int], int]]:
    random = np.random.default_rng(seed)
    sides = [[random.integers(0, ids, random.integers(1, most + 1)).tolist() for _ in range(n)] for _ in (0, 1)]
    return [(left, right, i // 7) for i, (left, right) in enumerate(zip(*sides, strict=True))]


@pytest.mark.parametrize("compression", CODECS)
@pytest.mark.parametrize("ids", [2, 7, 250, 60_000, 10**8])
@encoded_by(PAGE_VALUES=3000, GROUP_ROWS=1500)
def test_row_groups_are_as_the_footer_says(gpu: HostCupy, ids: int, compression: Compression) -> None:
    rows = many(2000, 40, ids)
    data, _ = written([batch_of(rows)], PublishSettings(compression=compression), device=True)
    parquet = pq.ParquetFile(pa.BufferReader(data))
    assert [parquet.metadata.row_group(i).num_rows for i in range(parquet.num_row_groups)] == [1500, 500]
    assert parquet.read().to_pylist() == [
        {"left": left, "right": right, "n_left": len(left), "n_right": len(right), "root": root}
        for left, right, root in rows
    ]
    for i, some in enumerate((rows[:1500], rows[1500:])):
        group = parquet.metadata.row_group(i)
        for k, values in enumerate(([len(left) for left, _, _ in some], [len(right) for _, right, _ in some], [r for *_, r in some]), 2):  # fmt: skip
            statistics = group.column(k).statistics
            assert (statistics.min, statistics.max, statistics.null_count) == (min(values), max(values), 0)
        assert group.column(0).has_dictionary_page == (ids < 60_000)
        assert group.column(0).num_values == sum(len(left) for left, _, _ in some)
        read = kernels.read_columns(
            np.frombuffer(data, np.uint8), compression, [column_of(group.column(0), "list")], len(some)
        )
        assert read is not None, "our own reader knows these pages"
        assert read[1].tolist() == [x for left, _, _ in some for x in left]


@pytest.mark.parametrize("n_ids", [9_000, 40_000, 70_000])
def test_large_dictionaries_are_stored_as_they_are(gpu: HostCupy, n_ids: int) -> None:
    """One of 40,000 ids takes two blocks of zstd; for 70,000 places are too short."""
    ids, offsets = np.repeat(np.arange(n_ids, dtype=np.int32) * 3, 16), np.arange(0, 16 * n_ids + 1, 16, dtype=np.int32)
    sizes, roots = np.full(n_ids, 16, np.int32), np.arange(n_ids, dtype=np.int32)
    data, _ = written(
        [kernels.SmallerBatch(offsets, ids, sizes, sizes, roots)], PublishSettings(columns="smaller"), device=True
    )
    parquet = pq.ParquetFile(pa.BufferReader(data))
    column = parquet.metadata.row_group(0).column(0)
    assert column.has_dictionary_page == (n_ids <= 1 << 16)
    is_stored = column.has_dictionary_page and 4 * n_ids > row_groups.STORED_BYTES
    assert (4 * n_ids < column.total_compressed_size) == is_stored
    assert np.array_equal(pc.list_flatten(parquet.read(["smaller"])["smaller"]).to_numpy(), ids)
    read = kernels.read_columns(np.frombuffer(data, np.uint8), "zstd", [column_of(column, "list")], n_ids)
    assert read is not None
    assert np.array_equal(read[1], ids)


def column_of(column: Any, kind: Any) -> Any:
    begin = column.dictionary_page_offset if column.has_dictionary_page else column.data_page_offset
    return begin, begin + column.total_compressed_size, column.num_values, kind


@FEW
def test_an_empty_side_is_refused(gpu: HostCupy) -> None:
    for rows in (
        [([], [1], 0)],
        [([1], [1], 0), ([2], [], 0)],
        [([1, 2], [1], 0), ([], [3], 1), ([4], [5], 2)],
        [(list(range(8)), [1], 0), ([], [2], 1)],
    ):
        with pytest.raises(RuntimeError, match="empty side"):
            list(encode_on_device(on_device(batch_of(rows)), "none"))


def test_a_side_that_no_page_holds_is_refused(gpu: HostCupy) -> None:
    longest = row_groups.PAGE_VALUES + row_groups.LONGEST_SIDE
    assert pages.list_bytes(np.int64(longest), pages.PLAIN_WIDTH) <= 16 << 20
    offsets, side = np.array([0, 4_000_001], np.int32), np.arange(4_000_001, dtype=np.int32)
    with pytest.raises(BackendError, match="4,000,001 vertices on one side, and a GPU encodes up to 4,000,000"):
        list(encode_on_device(on_device(kernels.BicliqueBatch(offsets, side, offsets, side, side[:1])), "none"))


@FEW
def test_a_page_that_cannot_be_compressed_is_heard_of(gpu: HostCupy, monkeypatch) -> None:
    compress = nvcomp.compress

    def fail_once(*told: Any) -> Any:
        *found, failed = compress(*told)
        failed[0] = 1
        return *found, failed

    monkeypatch.setattr(nvcomp, "compress", fail_once)
    with pytest.raises(BackendError, match="could not compress pages by zstd; use another codec or the CPU"):
        list(encode_on_device(on_device(batch_of(many(200, 9, 99)))))


@FEW
def test_who_stops_in_the_middle_leaves_nothing_behind(gpu: HostCupy) -> None:
    parts = encode_on_device(on_device(batch_of(many(1000, 9, 99))))
    assert len(next(parts).groups) > 0
    parts.close()


@FEW
def test_a_disk_that_fails_is_heard_of(gpu: HostCupy) -> None:
    class Full(io.BytesIO):
        def write(self, data: Any, /) -> int:
            if self.tell() > 2000:
                raise OSError("no space left")
            return super().write(data)

    def write_much() -> None:
        with DeviceBicliqueWriter(Full(), PublishSettings(compression="none")) as writer:
            for seed in range(9):
                writer.write(on_device(batch_of(many(200, 9, 99, seed))))

    before = threading.active_count()
    with pytest.raises(OSError, match="no space left"):
        write_much()
    assert threading.active_count() == before
