"""A Parquet file whose row groups were encoded side by side is the file that pyarrow would have
written."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.store.bicliques import PARQUET, SCHEMA
from pipeline.store.parquet_parts import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    TRUE,
    ParallelParquetWriter,
    decode_struct,
    encode_struct,
)


def batch_of(n: int, seed: int) -> pa.RecordBatch:
    random = np.random.default_rng(seed)
    lists = [[random.integers(0, 1 << 30, random.integers(1, 9)).tolist() for _ in range(n)] for _ in range(2)]
    columns: dict[str, Any] = {"left": lists[0], "right": lists[1]}
    columns |= {name: random.integers(0, 99, n) for name in ("n_left", "n_right", "root")}
    return pa.RecordBatch.from_pydict(columns, schema=SCHEMA)


def written(batches: list[pa.RecordBatch], threads: int) -> io.BytesIO:
    file = io.BytesIO()
    with ParallelParquetWriter(file, SCHEMA, threads, **PARQUET) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return file


@pytest.mark.parametrize("sizes", [[], [1], [5, 1000, 3], [10] * 40])
@pytest.mark.parametrize("threads", [1, 3])
def test_rows_and_row_groups_are_those_that_were_written(sizes: list[int], threads: int) -> None:
    batches = [batch_of(n, seed) for seed, n in enumerate(sizes)]
    file = written(batches, threads)
    assert pq.read_table(file).equals(pa.Table.from_batches(batches, SCHEMA))
    parquet = pq.ParquetFile(file)
    assert [parquet.metadata.row_group(i).num_rows for i in range(parquet.num_row_groups)] == sizes
    assert parquet.metadata.num_rows == sum(sizes)
    assert parquet.schema_arrow.equals(SCHEMA)


def test_statistics_compression_and_single_groups_are_kept() -> None:
    batches = [batch_of(100, 1), batch_of(200, 2)]
    parquet = pq.ParquetFile(written(batches, 2))
    alone = io.BytesIO()
    with pq.ParquetWriter(alone, SCHEMA, **PARQUET) as writer:
        for batch in batches:
            writer.write_batch(batch)
    expected = pq.ParquetFile(alone)
    for i in range(2):
        assert parquet.read_row_group(i).equals(expected.read_row_group(i))
        for k in range(5):
            ours, theirs = parquet.metadata.row_group(i).column(k), expected.metadata.row_group(i).column(k)
            assert ours.to_dict() == theirs.to_dict()


def test_a_batch_that_cannot_be_encoded_ends_the_writing() -> None:
    with pytest.raises(ValueError, match="schema"), ParallelParquetWriter(io.BytesIO(), SCHEMA, 2, **PARQUET) as writer:
        writer.write_batch(pa.record_batch({"x": [1]}))


VALUES = st.deferred(
    lambda: st.one_of(
        st.tuples(st.sampled_from([I32, I64]), st.integers(-(2**62), 2**62)),
        st.tuples(st.just(BINARY), st.binary(max_size=300)),
        st.tuples(st.just(TRUE), st.booleans()),
        st.tuples(st.just(STRUCT), STRUCTS),
        st.tuples(st.just(LIST), st.tuples(st.just(I64), st.lists(st.integers(-9, 9), max_size=20))),
        st.tuples(st.just(LIST), st.tuples(st.just(STRUCT), st.lists(STRUCTS, max_size=3))),
    )
)
STRUCTS = st.dictionaries(st.integers(1, 300), VALUES, max_size=5)


@given(STRUCTS)
@settings(max_examples=60, deadline=None)
def test_what_is_encoded_is_decoded(struct: Any) -> None:
    data = encode_struct(struct)
    assert decode_struct(data, 0) == (struct, len(data))
