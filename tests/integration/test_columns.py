"""Which columns are read: never guessed where there are more than two, found by name in every file
of a table."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.ingest import EdgeTable, read_edge_table

ORDERS = "order_id,customer,item,price\n1001,ann,lamp,9.99\n1002,bob,chair,20\n1003,ann,chair,20\n"
EDGES = {("ann", "lamp"), ("bob", "chair"), ("ann", "chair")}


def read(source: Path, **settings: object) -> EdgeTable:
    return read_edge_table(source, IngestSettings(**settings))


def edges_of(table: EdgeTable) -> set[tuple[object, object]]:
    left, right = table.left_ids.to_pylist(), table.right_ids.to_pylist()
    return {(left[u], right[v]) for u, v in zip(table.left, table.right, strict=True)}


@pytest.fixture(params=["csv", "tsv", "parquet"])
def orders(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"orders.{request.param}"
    if request.param == "parquet":
        columns = zip(*(line.split(",") for line in ORDERS.splitlines()), strict=True)
        pq.write_table(pa.table({name: values for name, *values in columns}), path)
    else:
        path.write_text(ORDERS if request.param == "csv" else ORDERS.replace(",", "\t"))
    return path


def test_more_than_two_columns_are_not_guessed_but_shown(orders):
    with pytest.raises(InputError) as caught:
        read(orders)
    for words in (
        "4 columns",
        "'order_id' ('1001', '1002')",
        "'item' ('lamp', 'chair')",
        "left = 'order_id', right = 'customer'",
    ):
        assert words in str(caught.value)


def test_one_name_does_not_say_which_column_the_other_is(orders):
    with pytest.raises(InputError, match=r"which of them are the right is not said.*right = .order_id"):
        read(orders, left="customer")


def test_named_columns_are_read_and_said(orders):
    table = read(orders, left="customer", right="item", weight="price", min_weight=0)
    assert edges_of(table) == EDGES
    assert table.summary.columns == {"left": "customer", "right": "item", "weight": "price"}
    assert table.summary.labels == {"left": "text", "right": "text"}


def test_the_columns_that_are_left_over_are_the_sides_where_they_are_two(tmp_path):
    (tmp_path / "t.csv").write_text("when,who,what,w\n2020-01-01,ann,lamp,1\n2021-01-01,bob,lamp,2\n")
    table = read(tmp_path / "t.csv", weight="w", time="when", since="2020-06-01", min_weight=1)
    assert edges_of(table) == {("bob", "lamp")}
    assert table.summary.columns == {"left": "who", "right": "what", "weight": "w", "time": "when"}


def test_columns_called_left_and_right_are_the_sides(tmp_path):
    (tmp_path / "t.csv").write_text("id,right,left\n7,x,ann\n8,y,bob\n")
    assert edges_of(read(tmp_path / "t.csv")) == {("ann", "x"), ("bob", "y")}


def test_the_other_of_two_columns_is_the_other_side(tmp_path):
    (tmp_path / "t.csv").write_text("user,item\nann,x\n")
    assert edges_of(read(tmp_path / "t.csv", left="item")) == {("x", "ann")}
    assert edges_of(read(tmp_path / "t.csv", right="user")) == {("x", "ann")}


def test_a_name_that_two_columns_have_is_refused_where_it_is_used(tmp_path):
    (tmp_path / "t.csv").write_text("id,id,item\n1,2,x\n3,4,y\n")
    with pytest.raises(InputError, match=r"2 columns are called 'id'.*number"):
        read(tmp_path / "t.csv", left="id", right="item")
    assert edges_of(read(tmp_path / "t.csv", left="1", right="item")) == {(2, "x"), (4, "y")}
    (tmp_path / "two.csv").write_text("id,id\n1,2\n3,4\n")
    with pytest.raises(InputError, match=r"2 columns are called 'id'.*number"):
        read(tmp_path / "two.csv")
    assert edges_of(read(tmp_path / "two.csv", left="0", right="1", header=True)) == {(1, 2), (3, 4)}
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["id", "id"]), tmp_path / "t.parquet")
    with pytest.raises(InputError, match="2 columns are called 'id'"):
        read(tmp_path / "t.parquet")


def test_a_column_cannot_serve_twice(tmp_path):
    (tmp_path / "t.csv").write_text("user,item,w\nann,x,1\n")
    with pytest.raises(InputError, match="'item' is asked for as right and weight"):
        read(tmp_path / "t.csv", left="user", right="item", weight="item", min_weight=1)


@pytest.mark.parametrize(("name", "text"), [
    ("out.x", "% bip\n1 1\n"), ("m.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n"), ("g.adj", "0 1\n"),
])  # fmt: skip
def test_columns_of_a_fixed_format_cannot_be_chosen(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match="fixed columns"):
        read(tmp_path / name, left="1", right="0")
    with pytest.raises(InputError, match="numbers its vertices"):
        read(tmp_path / name, ids="text")
    assert set(read(tmp_path / name).summary.columns) == {"left", "right"}


# ---- several files -------------------------------------------------------------------------------


def write_parts(folder: Path, *texts: str) -> Path:
    for number, text in enumerate(texts):
        (folder / f"part-{number}.csv").write_text(text)
    return folder / "part-*.csv"


def test_named_columns_are_found_in_each_file_wherever_they_are(tmp_path):
    pattern = write_parts(tmp_path, "user,item\nann,x\n", "item,day,user\ny,1,bob\n", "user;item\ncid;z\n")
    assert edges_of(read(pattern, left="user", right="item")) == {("ann", "x"), ("bob", "y"), ("cid", "z")}


@pytest.mark.parametrize(("texts", "named", "words"), [
    (["user,item\nann,x\n", "item,user\nx,ann\n"], "part-1.csv", "has the columns 'item', 'user'"),
    (["user,item\n1,5\n", "2,6\n"], "part-1.csv", "begins with data"),
    (["1,5\n", "user,item\n2,6\n"], "part-0.csv", "begins with data"),
    (["ann,x\nbob,x\n", "cid,x\ndan,x\n"], "part-1.csv", "header = false"),
    (["1,5\n2,6\n", "1,5,7\n"], "part-1.csv", "which of them"),
    (["user,item\n1,5\n", ""], "part-1.csv", "0 bytes"),
    (["user,item\n1,5\n", "user\n"], "part-1.csv", "delimiter"),
])  # fmt: skip
def test_files_that_are_not_one_table_are_refused_by_name(tmp_path, texts, named, words):
    with pytest.raises(InputError) as caught:
        read(write_parts(tmp_path, *texts))
    assert str(tmp_path / named) in str(caught.value)
    assert words in str(caught.value)


def test_a_file_without_the_header_that_was_named_is_refused(tmp_path):
    pattern = write_parts(tmp_path, "user,item\n1,5\n", "2,6\n")
    with pytest.raises(InputError, match=r"part-1\.csv: there is no column 'user'.*'2', '6'"):
        read(pattern, left="user", right="item")


def test_a_part_that_holds_a_header_only_has_no_rows(tmp_path):
    parts = write_parts(tmp_path, "user,item\n1,5\n", "user,item\n", "user,item\n2,6\n")
    table = read(parts, left="0", right="1", header=True)
    assert edges_of(table) == {(1, 5), (2, 6)}
    assert table.summary.rows_read == 2
    assert table.summary.source.files == 3


def test_files_without_header_lose_no_row_where_that_is_said(tmp_path):
    pattern = write_parts(tmp_path, "ann,x\nbob,y\n", "cid,z\n")
    assert edges_of(read(pattern, header=False)) == {("ann", "x"), ("bob", "y"), ("cid", "z")}


def test_parquet_files_with_other_columns_are_refused_or_read_by_name(tmp_path):
    pq.write_table(pa.table({"user": ["ann"], "item": ["x"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"item": ["y"], "user": ["bob"]}), tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b\.parquet: has the columns 'item', 'user'"):
        read(tmp_path)
    assert edges_of(read(tmp_path, left="user", right="item")) == {("ann", "x"), ("bob", "y")}


def test_ragged_lines_are_counted_in_the_file_that_they_are_of(tmp_path):
    head = "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n"
    (tmp_path / "a.mtx").write_text(head + "1 1\n2 2 9\n")
    (tmp_path / "b.mtx").write_text(head + "3 3\n1 2\n")
    table = read(tmp_path / "*.mtx", ragged="drop")
    assert edges_of(table) == {(1, 1), (3, 3), (1, 2)}
    assert (table.summary.rows_read, table.summary.dropped_ragged) == (4, 1)


def test_a_folder_of_tables_of_two_formats_is_refused(tmp_path):
    write_parts(tmp_path, "user,item\nann,x\n")
    pq.write_table(pa.table({"user": ["ann"], "item": ["x"]}), tmp_path / "part-1.parquet")
    with pytest.raises(InputError, match="one format"):
        read(tmp_path)


def test_a_pattern_that_matches_a_folder_says_so(tmp_path):
    (tmp_path / "day=1").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        read(tmp_path / "day=*")


def test_files_that_begin_with_an_underscore_are_read_where_the_pattern_says_so(tmp_path):
    (tmp_path / "_a.csv").write_text("user,item\nann,x\n")
    assert edges_of(read(tmp_path / "_*.csv")) == {("ann", "x")}
    with pytest.raises(InputError, match="nothing matches"):
        read(tmp_path / "*.csv")
