"""Ids of every type of Parquet column: a label that is well defined, or one clear error."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.ingest import read_edge_table


def labels_of(path: Path, column: pa.Array, **settings: object) -> list[object]:
    """Labels of the left side, in the order of the rows."""
    pq.write_table(pa.table({"u": column, "v": range(len(column))}), path / "t.parquet", row_group_size=2)
    table = read_edge_table(path / "t.parquet", IngestSettings(left="u", right="v", **settings))
    right = table.right_ids.to_pylist()
    labels = {right[v]: table.left_ids[int(u)].as_py() for u, v in zip(table.left, table.right, strict=True)}
    return [labels[row] for row in sorted(labels)]


NOON = dt.datetime(2020, 1, 2, 12, 30)


@pytest.mark.parametrize(
    ("ids", "labels"),
    [
        (pa.array([5, -3]), [5, -3]),
        (pa.array([5, 3], pa.uint8()), [5, 3]),
        (pa.array([2**63 - 1, 3], pa.uint64()), [2**63 - 1, 3]),
        (pa.array([2**63, 3], pa.uint64()), ["9223372036854775808", "3"]),
        (pa.array([1, 2, 2**64 - 1], pa.uint64()), ["1", "2", "18446744073709551615"]),
        (pa.array([5, 3]).dictionary_encode(), [5, 3]),
        (pa.array([5.0, -3.0]), [5, -3]),
        (pa.array([2.0**24, -0.0], pa.float32()), [2**24, 0]),
        (pa.array([Decimal(10), Decimal(7)], pa.decimal128(38, 0)), [10, 7]),
        (pa.array([Decimal(10**30), Decimal(7)], pa.decimal128(38, 0)), ["1" + "0" * 30, "7"]),
        (pa.array([Decimal("12.50"), Decimal("0.10")]), ["12.50", "0.10"]),
        (pa.array([Decimal("1e-10")], pa.decimal128(20, 10)), ["0.0000000001"]),
        (pa.array(["007", "7"]), ["007", "7"]),
        (pa.array(["12", "7"]), ["12", "7"]),
        (pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
        (pa.array(["a", "b"], pa.string_view()), ["a", "b"]),
        (pa.array(["a", "b", "a"]).dictionary_encode(), ["a", "b", "a"]),
        (pa.array([b"a", "é".encode()]), ["a", "é"]),
        (pa.array([b"ab", b"cd"], pa.binary(2)), ["ab", "cd"]),
        (pa.array([True, False]), ["true", "false"]),
        (pa.array([dt.date(2020, 1, 2)]), ["2020-01-02"]),
        (pa.array([NOON], pa.timestamp("s")), ["2020-01-02 12:30:00"]),
        (pa.array([NOON], pa.timestamp("ms", "UTC")), ["2020-01-02 12:30:00Z"]),
        (pa.array([NOON], pa.timestamp("ns", "Asia/Kolkata")), ["2020-01-02 18:00:00+0530"]),
        (pa.array([NOON.replace(microsecond=500)], pa.timestamp("us")), ["2020-01-02 12:30:00.0005"]),
        (pa.array([NOON.replace(microsecond=500)], pa.timestamp("ns")), ["2020-01-02 12:30:00.0005"]),
        (pa.array([dt.time(1, 2, 3)], pa.time32("s")), ["01:02:03"]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_an_id_has_the_label_that_says_it_exactly(tmp_path, ids, labels):
    assert labels_of(tmp_path, ids) == labels
    assert labels_of(tmp_path, ids, ids="text") == [str(label) for label in labels]


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (pa.array([1.0, 2.5]), ["row 1", "column u (left)", "2.5", "fraction"]),
        (pa.array([1.0, float("inf")]), ["row 1", "inf"]),
        (pa.array([1.0, 2.0**53 + 2]), ["row 1", "9,007,199,254,740,992"]),
        (pa.array([1.0, 2.0**24 + 2], pa.float32()), ["row 1", "16,777,216"]),
        (pa.array([b"a", b"\xff"]), ["row 1", "no UTF-8"]),
        (pa.array([{"a": 1}]), ["struct", "cast"]),
        (pa.array([1, 2], pa.duration("s")), ["duration", "cast"]),
        (pa.array([None, None]), ["row 0", "missing (null)", "nulls = 'drop'"]),
        (pa.array([1.0, float("nan")]), ["row 1", "missing (null)", "nulls = 'drop'"]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_an_id_without_a_label_is_named(tmp_path, ids, words):
    with pytest.raises(InputError) as caught:
        labels_of(tmp_path, ids)
    assert not [word for word in words if word not in str(caught.value)], str(caught.value)


def test_whole_numbers_that_pandas_made_floats_for_a_missing_one_are_whole_numbers(tmp_path):
    frame = pd.DataFrame({"user": [10, None, 30], "item": ["x", "y", "z"]})
    assert frame["user"].dtype == float
    frame.to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"row 1, column user \(left\): a value is missing"):
        read_edge_table(tmp_path / "t.parquet")
    table = read_edge_table(tmp_path / "t.parquet", IngestSettings(nulls="drop"))
    assert table.left_ids.to_pylist() == [10, 30]
    assert (table.summary.rows_read, table.summary.dropped_nulls) == (3, 1)


def test_names_with_points_are_columns_like_others(tmp_path):
    pq.write_table(pa.table({"a.b": ["x"], "a": ["y"], "c d": [3]}), tmp_path / "t.parquet")
    table = read_edge_table(tmp_path / "t.parquet", IngestSettings(left="a.b", right="c d"))
    assert (table.left_ids.to_pylist(), table.right_ids.to_pylist()) == (["x"], [3])


@pytest.mark.parametrize(("weights", "row"), [([1.0, float("nan")], 1), ([float("inf"), 1.0], 0)])
def test_weights_that_are_no_numbers_are_named(tmp_path, weights, row):
    pq.write_table(pa.table({"u": [1, 2], "v": [1, 2], "w": weights}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=rf"row {row}, column w \(weight\)"):
        read_edge_table(tmp_path / "t.parquet", IngestSettings(weight="w", duplicates="sum"))


def edges_in(path: Path, **settings: object) -> set[tuple[object, object]]:
    table = read_edge_table(path, IngestSettings(**settings))
    left, right = table.left_ids.to_pylist(), table.right_ids.to_pylist()
    return {(left[u], right[v]) for u, v in zip(table.left, table.right, strict=True)}


def test_an_index_of_pandas_is_no_side_that_nobody_named(tmp_path):
    frame = pd.DataFrame({"user": ["ann", "bob", "cid"], "item": ["jam", "tea", "jam"]})
    frame.set_index("user").to_parquet(tmp_path / "named.parquet")
    with pytest.raises(InputError, match=r"'user' is an index of pandas, .* left = 'user', right = 'item'"):
        edges_in(tmp_path / "named.parquet")
    expected = {("ann", "jam"), ("bob", "tea"), ("cid", "jam")}
    for named in ({"left": "user", "right": "item"}, {"left": "user"}, {"right": "item"}):
        assert edges_in(tmp_path / "named.parquet", **named) == expected
    frame.iloc[[0, 2, 1]].to_parquet(tmp_path / "some.parquet")
    assert edges_in(tmp_path / "some.parquet") == expected
    assert edges_in(tmp_path / "some.parquet", left="__index_level_0__", right="item") == {
        (0, "jam"),
        (1, "tea"),
        (2, "jam"),
    }


@pytest.mark.parametrize("named", ["who", None])
@pytest.mark.parametrize("who", [["a", "b", "b"], [101, 102, 102]])
def test_an_index_of_pandas_names_the_rows_of_a_matrix(tmp_path, named, who):
    cross = pd.crosstab(pd.Series(who, name="who"), pd.Series(list("xyz"), name="what")).rename_axis(named)
    cross.to_parquet(tmp_path / "t.parquet")
    expected = {(who[0], "x"), (who[1], "y"), (who[2], "z")}
    assert edges_in(tmp_path / "t.parquet", format="matrix") == expected
    assert edges_in(tmp_path / "t.parquet", format="matrix", left=named or "__index_level_0__") == expected
    pd.concat([cross], keys=["k"]).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"several levels; .*reset_index\(\)"):
        edges_in(tmp_path / "t.parquet", format="matrix")
