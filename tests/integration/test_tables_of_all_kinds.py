"""Frames, arrays and files of unusual kinds: an answer, or one sentence of ours."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import partial

import duckdb
import fsspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import bicliq
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.ingest import read_edge_table

ONE_HOT = pd.DataFrame({"jam": [True, False], "tea": [True, True]}, index=["ann", "bob"])


def groups(source, **reading) -> set[tuple[tuple, tuple]]:
    return {
        (tuple(sorted(group["left"])), tuple(sorted(group["right"]))) for group in bicliq.enumerate(source, **reading)
    }


SHOP = {(("ann",), ("jam", "tea")), (("ann", "bob"), ("tea",))}

ANSWERED = {
    "Polars Categorical and Enum": pl.DataFrame({"u": ["ann", "ann", "bob"], "v": ["jam", "tea", "tea"]}).with_columns(
        pl.col("u").cast(pl.Categorical), pl.col("v").cast(pl.Enum(["jam", "tea"]))
    ),
    "pandas categories": pd.DataFrame({"u": ["ann", "ann", "bob"], "v": ["jam", "tea", "tea"]}).astype("category"),
    "Polars lists of categories": pl.DataFrame({"u": ["ann", "bob"], "v": [["jam", "tea"], ["tea"]]}).with_columns(
        pl.col("v").cast(pl.List(pl.Categorical))
    ),
    "DuckDB lists": duckdb.sql("select 'ann' u, ['jam', 'tea'] v union all select 'bob', ['tea']"),
    "Arrow lists of a fixed size": pa.table(
        {"u": ["ann", "bob"], "v": pa.array([["jam", "tea"], ["tea", "tea"]], pa.list_(pa.string(), 2))}
    ),
    "blanks": {"ann": [" jam", "tea "], "bob": ["tea"]},
    "dicts of attributes": {"ann": {"jam": {}, "tea": {"weight": 2}}, "bob": {"tea": {}}},
    "lists of NumPy, as pandas reads Parquet": pd.DataFrame(
        {"u": ["ann", "bob"], "v": [np.array(["jam", "tea"]), np.array(["tea"])]}
    ),
    "such lists below a missing one": pd.DataFrame(
        {"u": ["cid", "ann", "bob"], "v": [pd.NA, np.array(["jam", "tea"]), np.array(["tea"])]}, dtype=object
    ),
    "dicts of numbers": {"ann": {"jam": 2, "tea": True}, "bob": {"jam": Decimal(0), "tea": np.int64(1)}},
}


@pytest.mark.parametrize("name", ANSWERED)
def test_tables_of_unusual_types_are_answered(name):
    assert groups(ANSWERED[name]) == SHOP


REFUSED = {
    "tuples as ids": (bicliq.enumerate({"ann": ["jam"]}).to_networkx(), "is a tuple, and an id is text"),
    "tuples in a frame": (pd.DataFrame({"u": [(1, 2)], "v": [1]}), "is a tuple"),
    "sets in a frame": (pd.DataFrame({"u": [{1}], "v": [1]}), "is a set"),
    "intervals": (pd.DataFrame({"u": pd.interval_range(0, 2), "v": [1, 2]}), "has no labels"),
    "complex numbers": (pd.DataFrame({"u": [1j], "v": [1]}), "column u"),
    "structs": (pl.DataFrame({"u": [{"a": 1}], "v": [1]}), "has no labels"),
    "lists of lists": (pl.DataFrame({"u": ["a"], "v": [[["x"]]]}), "has no labels"),
    "lists on both sides": (pl.DataFrame({"u": [["a"]], "v": [["x"]]}), "both columns, 'u', 'v', hold lists"),
    "lists of two": ([["ann", "jam"], ["bob", "jam"]], "each is a list of two"),
    "tuples of three": ([("ann", "jam", "2024"), ("bob", "tea", "2023")], "each is a tuple of 3.*format = 'baskets'"),
    "a list of frames": ([pd.DataFrame({"u": ["ann"], "v": ["jam"]})], "basket 0 is a DataFrame.*concat"),
    "a dict of frames": ({"a": pl.DataFrame({"u": ["ann"], "v": ["jam"]})}, "basket 'a' is a DataFrame"),
    "an index of levels": (pd.DataFrame({"w": [1]}, pd.MultiIndex.from_tuples([("ann", "jam")])), r"reset_index\(\)"),
    "integers of 128 bits": (
        pl.DataFrame({"u": pl.Series([1], dtype=pl.Int128), "v": ["x"]}),
        "cannot be taken as Arrow.*cast the column",
    ),
    "one column": (pd.DataFrame({"u": ["ann"]}), "a left and a right column$"),
    "records": ([{"u": "ann", "v": "jam"}, {"u": "bob", "v": "jam"}], r"pandas\.DataFrame\(rows\)"),
    "records of numbers": ([{"u": 1, "v": 2}, {"u": 2, "v": 2}], r"pandas\.DataFrame\(rows\)"),
    "a series of records": (pd.Series([{"u": "ann", "v": "jam"}]), "and not numbers alone"),
    "dicts of text": ({"ann": {"jam": "1", "tea": "0"}}, "basket 'ann' stand .*'1', '0'.*, and not numbers alone"),
    "dicts of numbers and attributes": ({"ann": {"jam": 0, "tea": {}}}, "and not numbers alone"),
    "rows of 0 and 1": ([[0, 1, 1], [1, 0, 1]], "row of a matrix.*format = 'baskets'"),
    "truth values": ([[True, False, True]], "row of a matrix"),
    "named rows of 0 and 1": ({"ann": [0, 1, 1], "bob": [1, 0, 1]}, "row of a matrix"),
    "a series of rows of 0 and 1": (pd.Series([[0, 1, 1], [1, 0, 1]]), "row of a matrix"),
    "a Polars series of rows of 0 and 1": (pl.Series([[0, 1, 1], [1, 0, 1]]), "row of a matrix"),
    "a column of rows of 0 and 1": (pd.DataFrame({"u": [1, 2], "v": [[0, 1, 1], [1, 0, 1]]}), "take them apart first"),
    "a series of numbers": (pd.Series([1, 2]), "not a list of items"),
    "an array": (np.eye(2), "format = 'matrix'"),
    "one-hot": (ONE_HOT, "looks like a matrix"),
    "sparse one-hot": (ONE_HOT.astype(pd.SparseDtype(bool, False)), "looks like a matrix"),
    "an item that is None": ({"ann": [None, "tea"]}, "a value is missing"),
    "an item that is nothing": ({"ann": ["", "tea"]}, "a value is missing"),
    "an item that is nan": ({"ann": ["nan", "tea"]}, "a value is missing"),
    "a number that is NaN": ({"ann": {"jam": float("nan")}}, "a value is missing"),
    "complex numbers in a sparse matrix": (sp.csr_array(np.eye(2) * 1j), r"complex numbers .*abs\(matrix\)"),
    "NaN in a sparse matrix": (sp.coo_array(np.array([[1.0, float("nan")]])), "a value is missing"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_tables_that_are_none_are_refused_in_a_sentence(name):
    source, what = REFUSED[name]
    with pytest.raises(bicliq.InputError, match=what):
        bicliq.enumerate(source)


def test_lists_of_zeros_and_ones_are_what_is_said(tmp_path):
    rows = [[0, 1, 1], [1, 0, 1]]
    assert groups(rows, format="baskets") == {((0, 1), (0, 1))}
    assert groups(pd.DataFrame(rows), format="matrix") == {((0,), (1, 2)), ((1,), (0, 2)), ((0, 1), (2,))}
    pd.DataFrame({"u": [1, 2], "v": rows}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(bicliq.InputError, match=r"t\.parquet, column 'v': .*row of a matrix"):
        bicliq.enumerate(tmp_path / "t.parquet")
    bicliq.enumerate([["jam"]], store=tmp_path / "store")
    with pytest.raises(bicliq.InputError, match="row of a matrix"):
        bicliq.update(tmp_path / "store", rows)


def test_a_masked_array_says_not_what_its_cells_are():
    masked = np.ma.array([[1, 1], [1, 1]], mask=[[0, 1], [0, 0]])
    for ask in (partial(groups, format="matrix"), partial(bicliq.from_matrix, left="ab", right="xy")):
        with pytest.raises(bicliq.InputError, match=r"some of its cells are masked.*filled\(0\)"):
            ask(masked)
    assert groups(masked.filled(0), format="matrix") == {((0, 1), (0,)), ((1,), (0, 1))}


@pytest.mark.parametrize("labels", [["a", " a"], ["a", "a"]])
@pytest.mark.parametrize("side", [0, 1])
def test_labels_of_a_matrix_that_blanks_would_unite_are_refused(labels, side):
    sides = [["p", "q"], ["p", "q"]]
    sides[side] = labels
    with pytest.raises(bicliq.InputError, match="labels are there twice"):
        bicliq.from_matrix(np.eye(2), *sides)


def test_names_of_columns_of_a_matrix_are_no_tuples():
    frame = pd.DataFrame([[1, 0], [1, 1]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]))
    with pytest.raises(bicliq.InputError, match=r"names of its columns have several levels.*join them"):
        bicliq.enumerate(frame, format="matrix")
    frame.columns = ["_".join(map(str, names)) for names in frame.columns]
    assert groups(frame, format="matrix") == {((0, 1), ("a_x",)), ((1,), ("a_x", "a_y"))}


@pytest.mark.parametrize(("name", "text"), [
    ("t.net", '*Vertices 4 2\n1 "a"\n2 "a "\n3 "x"\n4 "y"\n*Edges\n1 3\n2 4\n'),
    ("t.net", '*Vertices 4 2\n1 "2"\n3 "x"\n4 "y"\n*Matrix\n1 0\n0 1\n'),
    ("t.dl", "dl nr=2 nc=2 format=fullmatrix\nlabels embedded\ndata:\nx y\na 1 0\na 0 1\n"),
])  # fmt: skip
def test_vertices_of_a_network_that_share_a_label_are_refused(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(bicliq.InputError, match="would become one"):
        bicliq.enumerate(tmp_path / name)


def test_lists_of_two_are_baskets_where_that_is_said():
    assert groups([["jam", "tea"], ["jam", "wine"]], format="baskets") == {
        ((0,), ("jam", "tea")), ((1,), ("jam", "wine")), ((0, 1), ("jam",)),
    }  # fmt: skip


def test_zeros_and_missing_entries_are_counted(tmp_path):
    matrix = sp.coo_array((np.array([1, 0, np.nan, 3]), ([0, 0, 1, 1], [0, 1, 0, 1])))
    summary = read_edge_table(matrix, IngestSettings(nulls="drop", min_value=2)).summary
    assert [getattr(summary, name) for name in ("rows_read", "dropped_nulls", "dropped_by_value", "edges")] == [
        4,
        1,
        2,
        1,
    ]


def test_lists_that_hold_nothing_are_counted():
    table = pa.table({"u": ["a", "b", "c"], "v": pa.array([["x", "y"], [], None], pa.list_(pa.string()))})
    lists = dict(zip(table["u"].to_pylist(), table["v"].to_pylist(), strict=True))
    for source in (table, table.to_pandas(), lists, pd.Series(lists), lists | {"c": math.nan}, lists | {"c": pd.NA}):
        assert read_edge_table(source).summary.noted == {"empty_lists": 1, "null_lists": 1}


def test_a_missing_cell_is_named_or_dropped():
    frame = pd.DataFrame({"jam": [1.0, float("nan")], "tea": [1, 1]}, index=["ann", "bob"])
    with pytest.raises(bicliq.InputError, match="row 1, column 'jam': a value is missing; fill it with 0"):
        bicliq.enumerate(frame, format="matrix")
    assert groups(frame, format="matrix", nulls="drop") == SHOP


def test_cells_are_weights_where_these_are_asked_for(tmp_path):
    (tmp_path / "m.csv").write_text("name,jam,tea\nann,2,5\nbob,0,7\n")
    assert groups(tmp_path / "m.csv", format="matrix", min_weight=5) == {(("ann", "bob"), ("tea",))}
    assert groups(tmp_path / "m.csv", format="matrix", min_value=6) == {(("bob",), ("tea",))}
    (tmp_path / "e.csv").write_text("who,what\nann,jam\n")
    with pytest.raises(bicliq.InputError, match=r"e\.csv, line 2: min_value is for cells of a matrix"):
        groups(tmp_path / "e.csv", min_value=6)


def test_what_was_taken_for_names_is_said(tmp_path):
    (tmp_path / "m.csv").write_text("name,jam,tea\nann,1,1\nbob,0,1\n")
    assumed = read_edge_table(str(tmp_path / "m.csv"), IngestSettings(format="matrix")).summary.assumed
    assert [sentence.partition(": ")[2].partition(";")[0] for sentence in assumed] == [
        "line 1 ('name', 'jam', 'tea') was taken for names of columns",
        "column 0 ('name') was taken for names of rows",
    ]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1 2 3:10:2 3 5\n", "utilities"),
        ("1 -1 2 -1 -2\n", "sequences"),
        ("jam,,tea\n", "a right id is missing"),
    ],
)
def test_what_is_no_basket_is_refused(tmp_path, text, what):
    (tmp_path / "b.dat").write_text(text)
    with pytest.raises(bicliq.InputError, match=f"line 1.*{what}"):
        bicliq.enumerate(tmp_path / "b.dat", format="baskets")


def test_items_of_spmf_have_their_names(tmp_path):
    (tmp_path / "b.txt").write_text("@CONVERTED_FROM_TEXT\n@ITEM=1=jam\n@ITEM=2=black tea\n1 2\n2\n")
    assert groups(tmp_path / "b.txt", format="baskets") == {((4,), ("black tea", "jam")), ((4, 5), ("black tea",))}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("3 3\n2 3\n1 3\n1 2\n", "METIS"),
        ("3\n0 2\n1 2\n2 2\n0 1\n1 2\n0 2\n", "NDE"),
        ("3\n2 1 2\n2 0 2\n2 0 1\n", "LAD"),
        ("3 3 000\n2 3\n1 3\n1 2\n", "METIS"),
        ("3 3 001\n2 5 3 7\n1 5 3 1\n1 7 2 1\n", "METIS"),
        ("4 3 011 2\n1 1 2 5 3 7\n1 1 1 5 3 1\n9 1 1 7 2 1\n9 9\n", "METIS"),
        ("3 3 10\n9 2 3\n8 1 3\n7 1 2\n", "METIS"),
        ("3 3 111 1\n1 9 2 5 3 7\n1 8 1 5 3 1\n1 7 1 7 2 1\n", "METIS"),
    ],
)
def test_graphs_of_one_set_are_named_and_read_by_clique(tmp_path, text, what):
    (tmp_path / "g.graph").write_text(text)
    for ask in (bicliq.enumerate, bicliq.find):
        with pytest.raises(bicliq.InputError, match=f"those of the format {what}"):
            ask(tmp_path / "g.graph")
    assert bicliq.clique(tmp_path / "g.graph").size == 3


def test_weights_of_a_graph_of_one_set_are_no_neighbours(tmp_path):
    (tmp_path / "g.graph").write_text("3 2 001\n2 5 3 7\n1 5\n1 7\n")
    assert bicliq.clique(tmp_path / "g.graph", all=True).cliques == [[1, 2], [1, 3]]
    (tmp_path / "g.graph").write_text("% weighted\n3 2 011\n4 2 5 3 7\n4 1 5\n% mid\n4 1 7\n")
    with pytest.raises(bicliq.InputError, match=r"line 1: '%' is no whole number from 0; .*comment = '%'"):
        bicliq.clique(tmp_path / "g.graph")
    assert bicliq.clique(tmp_path / "g.graph", comment="%").size == 2


@pytest.mark.parametrize("text", ["011\n100\n", "10\n01\n", "10\n11\n"])
def test_cells_without_blanks_between_are_those_of_a_matrix(tmp_path, text):
    (tmp_path / "g.adj").write_text(text)
    with pytest.raises(bicliq.InputError, match="format = 'matrix'"):
        bicliq.enumerate(tmp_path / "g.adj")
    matrix = np.array([[*map(int, line)] for line in text.split()])
    assert groups(tmp_path / "g.adj", format="matrix") == groups(matrix, format="matrix")
    assert len(bicliq.enumerate(tmp_path / "g.adj", format="baskets")) > 0


def test_zeros_before_a_neighbour_are_refused_and_one_of_two_digits_is_a_neighbour(tmp_path):
    (tmp_path / "g.adj").write_text("10 2\n11\n")
    assert groups(tmp_path / "g.adj") == {((0,), (2, 10)), ((1,), (11,))}
    (tmp_path / "g.adj").write_text("7 2\n007\n")
    with pytest.raises(bicliq.InputError, match="line 2: '007' begins with a zero"):
        bicliq.enumerate(tmp_path / "g.adj")


def test_lines_of_an_adjacency_list_are_left_out_where_that_is_asked(tmp_path):
    (tmp_path / "g.adj").write_text("neighbours\n1 2\n! mid\n2\n")
    found = bicliq.enumerate(tmp_path / "g.adj", skip=1, comment="!")
    assert {(tuple(group["left"]), tuple(group["right"])) for group in found} == {((0,), (1, 2)), ((0, 1), (2,))}
    assert found.account["noted"] == {"comments": 1}


@pytest.mark.parametrize("text", ["2 1 4\n2 0 5\n1 3\n", "0 2 1 4\n1 2 0 5\n2 1 3\n", "2\n0 1\n1 3\n"])
def test_degrees_and_lone_counts_are_no_neighbours(tmp_path, text):
    (tmp_path / "g.adj").write_text(text)
    with pytest.raises(bicliq.InputError, match=r"as a (degree|count) is"):
        bicliq.enumerate(tmp_path / "g.adj")
    assert len(bicliq.enumerate(tmp_path / "g.adj", format="baskets")) > 0  # as the message says


@pytest.mark.parametrize("name", ["m.csv", "frame"])
def test_a_matrix_of_two_sets_has_no_cliques(tmp_path, name):
    ONE_HOT.astype(int).to_csv(tmp_path / "m.csv")
    source = ONE_HOT if name == "frame" else tmp_path / name
    with pytest.raises(bicliq.InputError, match="are two sets of vertices"):
        bicliq.clique(source, format="matrix")
    triangle = pd.DataFrame(1 - np.eye(3, dtype=int), index=list("abc"), columns=list("abc"))
    assert bicliq.clique(triangle, format="matrix").members == ["a", "b", "c"]


def test_tables_within_files_are_named(tmp_path):
    with duckdb.connect(str(tmp_path / "s.duckdb")) as database:
        database.execute("create table one as select 'ann' u, 'jam' v")
        database.execute("create table two as select 'bob' u, 'tea' v")
    with pytest.raises(bicliq.InputError, match=r"holds 2 tables; there are: 'one', 'two'; name one, as in .*::one"):
        bicliq.enumerate(tmp_path / "s.duckdb")
    assert groups(f"{tmp_path / 's.duckdb'}::two") == {(("bob",), ("tea",))}
    pd.DataFrame({"u": ["ann"], "v": ["jam"]}).to_excel(tmp_path / "s.xlsx", index=False, sheet_name="edges")
    assert groups(f"{tmp_path / 's.xlsx'}::edges") == {(("ann",), ("jam",))}
    with pytest.raises(bicliq.InputError, match="holds no sheet 'nope'"):
        bicliq.enumerate(f"{tmp_path / 's.xlsx'}::nope")


def test_a_duckdb_file_that_cannot_be_read_is_refused(tmp_path):
    (tmp_path / "none.duckdb").write_text("u,v\nann,jam\n")
    (tmp_path / "none.csv").write_text("u,v\nann,jam\n")
    for name in ("none.duckdb", "none.csv"):
        with pytest.raises(bicliq.InputError, match=rf"{name}: is no DuckDB file; name .* its format: one of csv"):
            bicliq.enumerate(tmp_path / name, format="duckdb")
        assert groups(tmp_path / name, format="csv") == {(("ann",), ("jam",))}
    duckdb.connect(str(tmp_path / "empty.duckdb")).close()
    with pytest.raises(bicliq.InputError, match="holds 0 tables; name another file"):
        bicliq.enumerate(tmp_path / "empty.duckdb")
    with duckdb.connect(str(tmp_path / "s.duckdb")) as database:
        database.execute("create table sales as select 'ann' u, 'jam' v")
    with pytest.raises(bicliq.InputError, match="holds no table 'nope'; there are: 'sales'"):
        bicliq.enumerate(f"{tmp_path / 's.duckdb'}::nope")
    for asked in ({"skip": 1}, {"comment": "#"}):
        with pytest.raises(bicliq.InputError, match="duckdb"):
            bicliq.enumerate(tmp_path / "s.duckdb", **asked)
    fsspec.filesystem("memory").pipe("/shop.duckdb", (tmp_path / "s.duckdb").read_bytes())
    with pytest.raises(bicliq.InputError, match="read where it lies on a disk; copy it"):
        bicliq.enumerate("memory://shop.duckdb", format="duckdb")


def in_folders(folder, kind, header=True):
    """A table in folders of a year each, in files of some kind."""
    for year, items in (("2024", ["jam", "tea"]), ("2025", ["tea"])):
        (folder / f"year={year}").mkdir()
        frame = pd.DataFrame({"item": items, "n": ["x"] * len(items)})
        path = folder / f"year={year}" / f"0.{kind}"
        if kind == "parquet":
            frame.to_parquet(path)
        elif kind == "xlsx":
            frame.to_excel(path, index=False)
        elif kind == "jsonl":
            frame.to_json(path, orient="records", lines=True)
        else:
            frame.to_csv(path, index=False, header=header, sep="\t" if "tsv" in kind else ",")
    return folder


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "csv.gz", "jsonl", "xlsx"])
def test_a_key_of_a_folder_is_a_column_where_it_is_named(tmp_path, kind):
    folder = in_folders(tmp_path, kind)
    assert groups(folder, left="year", right="item") == {((2024,), ("jam", "tea")), ((2024, 2025), ("tea",))}
    assert groups(folder, left="item", right="n", weight="year", min_weight=2025) == {(("tea",), ("x",))}
    with pytest.raises(bicliq.InputError, match=r"\(time\).*four digits may be a year"):
        bicliq.enumerate(folder, left="item", right="n", time="year", since="2025.0")
    with pytest.raises(bicliq.InputError, match="there is no column 'month'"):
        bicliq.enumerate(folder, left="month", right="item")


def test_a_key_of_a_folder_takes_no_line_of_a_file_for_names(tmp_path):
    folder = in_folders(tmp_path, "csv", header=False)
    found = bicliq.enumerate(folder, left="year", right="0")
    assert {tuple(group["left"]) for group in found.to_arrow().to_pylist()} == {(2024,), (2024, 2025)}
    assert found.account["assumed"] == []


def test_a_folder_without_a_value_is_a_missing_label(tmp_path):
    in_folders(tmp_path, "csv")
    (tmp_path / "year=2025").rename(tmp_path / "year=__HIVE_DEFAULT_PARTITION__")
    with pytest.raises(bicliq.InputError, match=r"column year \(left\): the folder names no value"):
        bicliq.enumerate(tmp_path, left="year", right="item")
    assert groups(tmp_path, left="year", right="item", nulls="drop") == {((2024,), ("jam", "tea"))}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"u": 1, "v": 2, "v": 3}\n', "has a key twice"),
        ('{"u": 1, "v": 2\n', "is no JSON"),
        ("[[1, 2]]\n", "object 1: .1, 2. is no object"),
        (
            "\n[1, 2]\n",
            "line 2: .* is a list, and no object; if each line is a list of items, say format = 'baskets', split",
        ),
        ('{"u": 1, "v": 2}\n\n{"u": 3}\n', "line 3, column v .right.: a value is missing"),
        ('{"u": 1, "v": [2, 4]}\n{"u": 3, "v": [5, null]}\n', "line 2, column v .right.: a value is missing"),
        ('[{"u": 1, "v": 2},\n{"u": 3, "v": null}]\n', "object 2, column v .right.: a value is missing"),
        ('{"u": 1, "v": 2}\n\n{"u": "a", "v": 2}\n', "line 3, .* of type str, and those before it are int"),
        ('{"u": 99999999999999999999, "v": 2}\n', "beyond 64 bits"),
    ],
)
def test_objects_that_are_no_edges_are_refused(tmp_path, text, what):
    (tmp_path / "t.jsonl").write_text(text)
    with pytest.raises(bicliq.InputError, match=what):
        bicliq.enumerate(tmp_path / "t.jsonl")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([("ann", "jam"), (None, None), ("bob", None)], "row 4, column item"),
        ([("ann", 1), ("bob", "x")], "row 3, column"),
    ],
)
def test_a_row_of_a_sheet_has_the_number_that_it_has_there(tmp_path, rows, said):
    pd.DataFrame([("user", "item"), *rows]).to_excel(tmp_path / "t.xlsx", index=False, header=False)
    with pytest.raises(bicliq.InputError, match=said):
        bicliq.enumerate(tmp_path / "t.xlsx")


def test_a_blank_column_of_a_sheet_is_not_advised_as_a_side(tmp_path):
    frame = pd.DataFrame([(None, "user", "item"), (None, "ann", "jam")])
    frame.to_excel(tmp_path / "t.xlsx", index=False, header=False)
    with pytest.raises(bicliq.InputError, match="as in left = 'user', right = 'item'"):
        bicliq.enumerate(tmp_path / "t.xlsx")


def test_tables_of_two_schemas_are_two(tmp_path):
    with duckdb.connect(str(tmp_path / "s.duckdb")) as database:
        database.execute("create table e as select 'ann' u, 'jam' v; create schema old")
        database.execute("create table old.e as select 'bob' u, 'tea' v")
    with pytest.raises(bicliq.InputError, match=r"holds 2 tables; there are: 'e', 'old\.e'"):
        bicliq.enumerate(f"{tmp_path}/s.duckdb")
    assert groups(f"{tmp_path}/s.duckdb::old.e") == {(("bob",), ("tea",))}
    assert groups(f"{tmp_path}/s.duckdb::e") == {(("ann",), ("jam",))}
