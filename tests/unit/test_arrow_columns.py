"""Columns of Arrow as arrays of NumPy and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bicliq.pipeline.columns import column_of, values_of, words_column

KINDS = ["bool", "int8", "int32", "int64", "uint32", "uint64", "float32", "float64"]
NUMBERS = st.sampled_from(KINDS).flatmap(lambda kind: hnp.arrays(kind, st.integers(0, 40)))


@settings(deadline=None)  # the first one loads pandas
@given(NUMBERS, st.integers(1, 3))
def test_a_column_of_an_array_is_what_pyarrow_makes_of_it(values, step):
    made = column_of(values[::step])
    made.validate(full=True)
    assert made.equals(pa.array(values[::step])) or np.isnan(values).any()
    assert made.type == pa.array(values).type


@settings(deadline=None)  # the first one loads pandas
@given(NUMBERS, st.integers(0, 10), st.integers(0, 10))
def test_values_of_slices_and_chunks_are_what_pyarrow_makes_of_them(values, start, length):
    column = pa.array(values).slice(start, length)
    for asked in (column, pa.chunked_array([column, pa.array(values)]), pa.chunked_array([], column.type)):
        found = values_of(asked)
        assert found.dtype == values.dtype
        np.testing.assert_array_equal(found, asked.to_numpy(zero_copy_only=False).astype(values.dtype))


def test_values_share_the_memory_of_their_column_and_are_not_to_be_written():
    values = np.arange(5)
    found = values_of(column_of(values))
    assert np.shares_memory(found, values)
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 7


@pytest.mark.parametrize(
    "column", [pa.array([1, None]), pa.array([True, None]), pa.array(["a"]), pa.array([1], pa.timestamp("s"))]
)
def test_nulls_and_values_that_are_no_numbers_are_refused(column):
    with pytest.raises(TypeError, match=r"null|not numbers"):
        values_of(column)


@given(st.lists(st.text()))
def test_a_column_of_words_is_what_pyarrow_makes_of_them(words):
    assert words_column(words).equals(pa.array(words, pa.string()))
