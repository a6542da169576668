"""A data file of bicliques says the same to every reader: pyarrow, DuckDB and Polars."""

from __future__ import annotations

import functools
import io
import itertools
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq import kernels
from bicliq.kernels import (
    DescribedRowGroup,
    RowGroup,
    RowGroupLayout,
    check_bicliques,
    encode_bicliques,
    has_codec,
    set_digest,
)
from bicliq.kernels.contracts import CODECS, Compression
from bicliq.kernels.output import Columns, Kind
from bicliq.pipeline.settings import PublishSettings
from bicliq.pipeline.store.biclique_file import BicliqueWriter, layout_of
from bicliq.pipeline.store.biclique_reader import BicliqueReader, LargerSides
from bicliq.pipeline.store.bicliques import SCHEMA, batches_of
from bicliq.pipeline.store.layout import Store
from tests.nightly import NIGHTLY, drawn, part_of

Biclique = tuple[list[int], list[int], int]


def batch_of(bicliques: list[Biclique]) -> kernels.BicliqueBatch:
    sides = [[row[side] for row in bicliques] for side in (0, 1)]
    offsets = [np.cumsum([0, *map(len, lists)]).astype(np.int32) for lists in sides]
    ids = [np.array([x for one in lists for x in one], np.int32) for lists in sides]
    return kernels.BicliqueBatch(
        offsets[0], ids[0], offsets[1], ids[1], np.array([row[2] for row in bicliques], np.int32)
    )


def rows_of(bicliques: list[Biclique]) -> list[dict[str, Any]]:
    return [
        {"left": left, "right": right, "n_left": len(left), "n_right": len(right), "root": root}
        for left, right, root in bicliques
    ]


def written(
    batches: list[list[Biclique]], threads: int = 1, compression: Compression = "zstd", columns: Columns = "both"
) -> bytes:
    file = io.BytesIO()
    with BicliqueWriter(file, threads, PublishSettings(compression=compression, columns=columns)) as writer:
        for bicliques in batches:
            writer.write(batch_of(bicliques))
    return file.getvalue()


def some(n: int, most: int, ids: int, seed: int = 0) -> list[Biclique]:
    random = np.random.default_rng(seed)
    sides = [
        [np.unique(random.integers(0, ids, random.integers(1, most + 1))).tolist() for _ in range(n)] for _ in (0, 1)
    ]
    return [(left, right, left[0]) for left, right in zip(*sides, strict=True)]


def read_by_all(path: Any) -> list[list[dict[str, Any]]]:
    import duckdb
    import polars as pl

    return [
        pq.read_table(path).to_pylist(),
        duckdb.sql(f"select * from read_parquet('{path}')").to_arrow_table().to_pylist(),
        pl.read_parquet(path).to_dicts(),
        pl.read_parquet(path, use_pyarrow=True).to_dicts(),
    ]


# Ids of 8 and 16 bits with a dictionary, ids that are too many for one, lists longer than a page,
# and lengths that end in the middle of a group of eight.
FILES: dict[str, Callable[[], list[list[Biclique]]]] = {
    "none": lambda: [],
    "one": lambda: [[([0], [0], 0)]],
    "8 bits": lambda: [some(3000, 9, 200)],
    "16 bits": lambda: [some(9000, 30, 60000)],
    "3 bits": lambda: [some(3000, 4, 5)],
    "10 bits": lambda: [some(9999, 30, 1000)],
    "few and far": lambda: [[([7, 1 << 30], [1, 2], 7)] * 300],
    "roots in runs": lambda: [[(left, right, i // 90) for i, (left, right, _) in enumerate(some(2999, 4, 60))]],
    "plain": lambda: [some(2000, 20, 1 << 30)],
    "65,536 and one more": lambda: [[(list(range(65536)) * 20, [65536] * 7, 0)]],
    "a list of several pages": lambda: [[([3], [5], 3), (list(range(300_000)), [1], 0), ([2], [7], 2)]],
    "many groups": lambda: [some(100, 5, 50, seed) for seed in range(40)],
}


@functools.cache
def batches_in(name: str) -> list[list[Biclique]]:
    return FILES[name]()


@pytest.mark.parametrize(("name", "compression"), part_of(itertools.product(FILES, CODECS), 2))
def test_every_reader_reads_what_was_written(tmp_path, name: str, compression: Compression) -> None:
    (tmp_path / "file.parquet").write_bytes(written(batches_in(name), 2, compression))
    expected = rows_of([row for batch in batches_in(name) for row in batch])
    for rows in read_by_all(tmp_path / "file.parquet"):
        assert rows == expected


@pytest.mark.parametrize("name", FILES)
def test_the_smaller_sides_alone_are_written(tmp_path, name: str) -> None:
    (tmp_path / "file.parquet").write_bytes(written(batches_in(name), 2, columns="smaller"))
    expected = [
        {"smaller": row["left"] if row["n_left"] <= row["n_right"] else row["right"]}
        | {number: row[number] for number in ("n_left", "n_right", "root")}
        for row in rows_of([row for batch in batches_in(name) for row in batch])
    ]
    for rows in read_by_all(tmp_path / "file.parquet"):
        assert rows == expected


class NoGraph(LargerSides):
    """Both sides are stored, so none is looked for."""

    def __init__(self) -> None:
        super().__init__(Store.open("memory://no-graph").graph("none"))


def read(data: bytes) -> BicliqueReader:
    return BicliqueReader(pa.BufferReader(data), NoGraph())


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("compression", CODECS)
def test_the_kernels_read_what_they_wrote(monkeypatch, name: str, compression: Compression) -> None:
    reader = read(written(batches_in(name), 2, compression))
    monkeypatch.delattr(pq.ParquetFile, "read_row_group")  # no other reader helps
    expected = [rows_of(batch) for batch in batches_in(name) if batch]
    assert [reader.table(group).to_pylist() for group in range(len(reader.rows))] == expected
    for group, rows in enumerate(expected):
        left, right = (np.array([row[name] for row in rows]) for name in ("n_left", "n_right"))
        assert reader.lists(group, "right").to_pylist() == [row["right"] for row in rows]
        assert [sizes.tolist() for sizes in reader.sizes(group)] == [left.tolist(), right.tolist()]
        assert reader.ranges(group) == ((left.min(), left.max()), (right.min(), right.max()))
        assert reader.table(group, np.array([0])).to_pylist() == rows[:1]


@pytest.mark.parametrize(
    "options", [{}, {"use_dictionary": False}, {"data_page_version": "2.0"}, {"compression": "gzip"}]
)
def test_files_of_other_writers_are_read(options: dict[str, Any]) -> None:
    rows = rows_of(some(3000, 9, 200))
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), file, **options)
    assert read(file.getvalue()).table(0).to_pylist() == rows
    nullable = pa.Table.from_pylist(rows)  # as cuDF says it
    file = io.BytesIO()
    pq.write_table(nullable, file, **options)
    assert read(file.getvalue()).table(0).to_pylist() == rows


def side_by_side(*matrices: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], int]:
    """A graph of which each matrix is a part that no edge leaves."""
    whole = np.zeros([sum(lengths) for lengths in zip(*(m.shape for m in matrices), strict=True)], dtype=bool)
    row = column = 0
    for matrix in matrices:
        whole[row : row + len(matrix), column : column + matrix.shape[1]] = matrix
        row, column = row + len(matrix), column + matrix.shape[1]
    return np.cumsum([0, *whole.sum(axis=1)]), np.nonzero(whole)[1], whole.shape[1]


@pytest.mark.parametrize("compression", CODECS if NIGHTLY else ["none"])
def test_places_grow_wider_within_a_row_group(tmp_path, compression: Compression) -> None:
    """Where bicliques of few vertices are found first, places in later pages take more bits."""
    few, many = ~np.eye(14, dtype=bool), np.random.default_rng(3).random((600, 300)) < 0.03
    graph, publish = side_by_side(few, many, few), PublishSettings(compression=compression)
    with kernels.stream_row_groups(*graph, layout_of(publish), side="left", batch_bicliques=50_000) as groups:
        [group] = groups
    with (tmp_path / "file.parquet").open("wb") as file, BicliqueWriter(file, 1, publish) as writer:
        writer.write(group)
    by_ids = io.BytesIO()
    with kernels.stream_maximal_bicliques(*graph, side="left") as batches, BicliqueWriter(by_ids, 1, publish) as writer:
        for batch in batches:
            writer.write(batch)
    expected = pq.read_table(by_ids).to_pylist()
    for rows in read_by_all(tmp_path / "file.parquet"):
        assert rows == expected
    column, n_ids = group.columns[0], len({id for row in expected for id in row["left"]})
    assert n_ids > 256
    if compression == "none":  # a bit of level each, and fewer than the last of them take
        assert 8 * (column.end - column.data) < column.n_values * (1 + (n_ids - 1).bit_length() - 0.5)


@given(
    st.sampled_from(["zstd", "none", "lz4_raw"]), st.lists(st.tuples(st.integers(0), st.integers(0, 255)), min_size=1)
)
@settings(max_examples=drawn(300), deadline=None)
def test_damaged_pages_are_never_read_beyond_their_bytes(compression: Compression, changes: Any) -> None:
    terms = kernels.SurpriseTerms.of_degrees(np.ones(60), np.ones(60))
    group = encode_bicliques(
        batch_of(some(300, 9, 60)), RowGroupLayout(compression, objectives=["surprise", "edges"], terms=terms)
    )
    data = np.array(group.data)
    for place, value in changes:
        data[place % len(data)] = value
    kinds: list[Kind] = ["list", "list", "int32", "int32", "int32", "float64", "int64"]
    columns = [(c.begin, c.end, c.n_values, kind) for c, kind in zip(group.columns, kinds, strict=True)]
    arrays = kernels.read_columns(data, compression, columns, group.rows)
    if arrays is not None:
        for offsets, ids, column in ((arrays[0], arrays[1], columns[0]), (arrays[2], arrays[3], columns[1])):
            assert (offsets[0], offsets[-1], len(ids)) == (0, column[2], column[2])
            assert (np.diff(offsets) > 0).all()
    beyond = [(begin, end + len(data), n, is_list) for begin, end, n, is_list in columns]
    assert kernels.read_columns(data, compression, beyond, group.rows) is None


BICLIQUES = st.tuples(
    st.lists(st.integers(0, 300), min_size=1, max_size=30),
    st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=30),
    st.integers(0, 2**31 - 1),
)


@given(st.lists(st.lists(BICLIQUES, max_size=40), max_size=4), st.integers(1, 3), st.sampled_from(list(CODECS)))
@settings(max_examples=drawn(60), deadline=None)
def test_any_lists_are_read_back(batches: list[list[Biclique]], threads: int, compression: Compression) -> None:
    table = pq.read_table(pa.BufferReader(written(batches, threads, compression)))
    assert table.schema.equals(SCHEMA)
    assert table.to_pylist() == rows_of([row for batch in batches for row in batch])


def smaller_of(bicliques: list[Biclique]) -> kernels.SmallerBatch:
    batch = batch_of(bicliques)
    ids = [left if len(left) <= len(right) else right for left, right, _ in bicliques]
    offsets = np.cumsum([0, *map(len, ids)]).astype(np.int32)
    smaller = np.array([x for one in ids for x in one], np.int32)
    return kernels.SmallerBatch(offsets, smaller, batch.n_left, batch.n_right, batch.root)


@given(st.lists(BICLIQUES, max_size=40), st.sampled_from(list(CODECS)))
@settings(max_examples=drawn(60), deadline=None)
def test_smaller_sides_are_encoded_as_those_of_both(bicliques: list[Biclique], compression: Compression) -> None:
    layout = RowGroupLayout(compression, columns="smaller", objectives=["edges", "balanced"])
    ours, theirs = (encode_bicliques(make(bicliques), layout) for make in (smaller_of, batch_of))
    assert bytes(ours.data) == bytes(theirs.data)
    assert (ours.rows, ours.columns, ours.sizes) == (theirs.rows, theirs.columns, theirs.sizes)


def test_smaller_sides_that_tell_too_little_are_refused() -> None:
    terms = kernels.SurpriseTerms.of_degrees(np.ones(60), np.ones(60))
    batch = smaller_of(some(9, 5, 60))
    for layout, said in (
        (RowGroupLayout("none"), "takes batches of both"),
        (RowGroupLayout("none", columns="smaller", objectives=["surprise"], terms=terms), "takes both of its sides"),
    ):
        with pytest.raises(ValueError, match=said):
            encode_bicliques(batch, layout)
    for change in ({"n_left": batch.n_left + 9, "n_right": batch.n_right + 9}, {"n_left": batch.n_left[1:]}, {"offsets": batch.offsets + 1}):  # fmt: skip
        with pytest.raises(ValueError, match=r"do not fit|differ in length|as is said beside it"):
            encode_bicliques(replace(batch, **change), RowGroupLayout("none", columns="smaller"))


def test_a_batch_is_cut_without_losing_a_biclique() -> None:
    bicliques = some(70, 9, 50)
    for make in (batch_of, smaller_of):
        batch, parts = make(bicliques), [make(bicliques[first : first + 30]) for first in (0, 30, 60)]
        for i, part in enumerate(parts):
            ours = batch.part(30 * i, min(30 * i + 30, 70))
            assert [array.tolist() for array in vars(ours).values()] == [
                array.tolist() for array in vars(part).values()
            ]


def test_the_footer_says_where_bicliques_are() -> None:
    batches = [some(100, 9, 50, 1), some(200, 9, 50, 2)]
    parquet = pq.ParquetFile(pa.BufferReader(written(batches)))
    assert [parquet.metadata.row_group(i).num_rows for i in range(2)] == [100, 200]
    for i, bicliques in enumerate(batches):
        rows = rows_of(bicliques)
        for k in range(2, 5):
            column = parquet.metadata.row_group(i).column(k)
            values = [row[column.path_in_schema] for row in rows]
            assert (column.statistics.min, column.statistics.max) == (min(values), max(values))
            assert column.statistics.null_count == 0
        assert parquet.read_row_group(i).to_pylist() == rows


@pytest.mark.skipif(not has_codec("zstd"), reason="no libzstd.so.1 here")
def test_sizes_are_packed_by_how_often_they_occur() -> None:
    random = np.random.default_rng(5)
    lengths = 1 + random.binomial(16, 0.1, 20_000)  # 2.0 bits a size by their entropy, 8 as places
    file = pq.ParquetFile(io.BytesIO(written([[(list(range(n)), [0], 0) for n in lengths.tolist()]])))
    column = file.metadata.row_group(0).column(2)
    assert column.path_in_schema == "n_left"
    assert column.total_compressed_size < 0.3 * column.total_uncompressed_size
    assert file.read()["n_left"].to_pylist() == lengths.tolist()


@pytest.mark.parametrize("compression", ["zstd", "lz4_raw"])
def test_a_machine_without_the_library_writes_by_pyarrow(monkeypatch, compression: Compression) -> None:
    monkeypatch.setattr(kernels, "has_codec", lambda name: False)
    bicliques = some(3000, 9, 200)
    table = pq.read_table(pa.BufferReader(written([bicliques], 2, compression)))
    assert table.to_pylist() == rows_of(bicliques)


def test_a_codec_that_fails_is_heard_of(monkeypatch) -> None:
    class Broken:
        def __init__(self, *options: Any) -> None:
            pass

        def compress(self, page: bytes, asbytes: bool) -> bytes:
            raise ValueError("this codec is broken")

    monkeypatch.setattr(kernels, "has_codec", lambda name: False)
    monkeypatch.setattr(pa, "Codec", Broken)  # none does by itself
    with pytest.raises(ValueError, match="broken"):
        written([some(5, 5, 5)])


def test_a_disk_that_fails_is_heard_of_and_no_thread_stays() -> None:
    class Full(io.BytesIO):
        def write(self, data: Any, /) -> int:
            if self.tell() > 2000:
                raise OSError("no space left")
            return super().write(data)

    def write_much() -> None:
        with BicliqueWriter(Full(), 2) as writer:
            for seed in range(100):
                writer.write(batch_of(some(50, 5, 50, seed)))

    before = threading.active_count()
    with pytest.raises(OSError, match="no space left"):
        write_much()
    assert threading.active_count() == before


def test_an_empty_side_or_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(RuntimeError, match="empty side"):
        encode_bicliques(batch_of([([], [1], 0)]), RowGroupLayout())
    sound = batch_of([([1], [1], 0)])
    for left_offsets in ([0], [0, 2], [-1, 1], [0, 1, 1]):
        batch = kernels.BicliqueBatch(
            np.array(left_offsets, np.int32), sound.left, sound.right_offsets, sound.right, sound.root
        )
        with pytest.raises(ValueError, match="do not fit"):
            encode_bicliques(batch, RowGroupLayout())
    with pytest.raises(ValueError, match="compression"):
        encode_bicliques(sound, RowGroupLayout("gzip"))  # type: ignore[arg-type]


def test_a_row_group_says_where_its_columns_are() -> None:
    assert has_codec("none")
    group = encode_bicliques(batch_of(some(1000, 9, 20)), RowGroupLayout("none"))
    assert isinstance(group, RowGroup)
    left, right, *numbers = group.columns
    assert group.rows == 1000
    assert group.described == DescribedRowGroup(1000, 0, len(group.data), group.columns)
    assert [column.n_values for column in numbers] == [1000] * 3
    assert left.begin < left.data < left.end == right.begin  # a dictionary first
    assert numbers[-1].end == len(group.data) == sum(column.uncompressed for column in group.columns)


LISTS = st.lists(st.integers(0, 2**31 - 1) | st.integers(16380, 16390), min_size=1, max_size=9)


@given(st.lists(st.tuples(LISTS, LISTS, st.just(0)), max_size=20))
@settings(max_examples=drawn(100), deadline=None)
def test_lists_are_checked_as_numpy_would(bicliques: list[Biclique]) -> None:
    batch = batch_of(bicliques)
    unordered = sum(sorted(set(left)) != left or sorted(set(right)) != right for left, right, _ in bicliques)
    digest = set_digest(batch.left_offsets, batch.left, batch.right_offsets, batch.right)
    assert check_bicliques(batch) == (digest, unordered)


def test_an_id_beyond_the_labels_is_refused() -> None:
    batch, labels = batch_of([([0, 3], [1], 0)]), np.arange(5, dtype=np.uint64)
    check_bicliques(batch, labels[:4], labels)
    with pytest.raises(ValueError, match="an id that no vertex of the graph has"):
        check_bicliques(batch, labels[:3], labels)


def test_a_table_gives_back_its_batches() -> None:
    bicliques = some(50, 9, 70)
    table = pq.read_table(pa.BufferReader(written([bicliques]))).slice(7, 20)
    (batch,) = batches_of(table)
    assert encode_bicliques(batch, RowGroupLayout("none")).rows == 20
    file = io.BytesIO()
    with BicliqueWriter(file, 1) as writer:
        writer.write(batch)
    assert pq.read_table(file).to_pylist() == rows_of(bicliques[7:27])
