"""Sisters of the tables that were once read wrong: read right and said, or refused."""

from __future__ import annotations

import re
import shlex

import pandas as pd
import pyarrow as pa
import pytest

import bicliq
from bicliq.flows.cli.app import invoke
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.versions.update import update
from tests.integration.test_guesses import edges_of, read, said_of, written

# ---- heads ---------------------------------------------------------------------------------------


GENES = "#tax_id\tGeneID\tGO_ID\n9606\t1\tGO:1\n9606\t2\tGO:1\n"
PROTEINS = "#BioGRID ID\tEntrez A\tEntrez B\n103\t6416\t2318\n117\t84665\t88\n"


@pytest.mark.parametrize("name", ["gene2go", "t.txt"])
def test_a_marked_header_with_names_is_no_list_of_edges(tmp_path, name):
    path = written(tmp_path, name, GENES)
    for settings in ({}, {"sides": "columns"}):
        with pytest.raises(InputError, match="3 columns, and which of them"):
            read(path, **settings)
    assert edges_of(read(path, left="GeneID", right="GO_ID")) == {(1, "GO:1"), (2, "GO:1")}
    proteins = written(tmp_path, f"b{name}", PROTEINS)
    with pytest.raises(InputError, match="3 columns, and which of them"):
        read(proteins, sides="columns")
    assert edges_of(read(proteins, left="Entrez A", right="Entrez B")) == {(6416, 2318), (84665, 88)}


def test_snap_stays_snap_and_says_what_it_leaves_out(tmp_path):
    signed = written(tmp_path, "s.txt", "# FromNodeId\tToNodeId\tSign\n1\t7\t-1\n2\t7\t1\n")
    table = read(signed, sides="columns")
    assert edges_of(table) == {(1, 7), (2, 7)}
    assert "columns beyond the second, as '-1', were left out" in "\n".join(table.summary.assumed)
    assert read(signed, sides="columns", weight="weight").summary.assumed == []
    with pytest.raises(InputError, match="one set of vertices"):
        read(written(tmp_path, "p.txt", "# FromNodeId\tToNodeId\n1\t7\n2\t7\n"))


@pytest.mark.parametrize("text", ["2001:db8::1,a\n2001:db8::2,a\n", "a::b\tc\nd::e\tf\n", "u,v\na::b,c\n"])
def test_colons_within_fields_are_none_between(tmp_path, text):
    assert len(edges_of(read(written(tmp_path, "t.csv", text), header=text.startswith("u")))) == text.count("::")


@pytest.mark.parametrize("name", ["ratings.dat", "ratings.csv"])
def test_double_colons_are_named_with_what_to_write(tmp_path, name):
    path = written(tmp_path, name, "1::1193::5::978300760\n1::661::3::978302109\n")
    with pytest.raises(InputError, match=r"line 1: .* is parted by '::', .* sed 's/::/\\t/g'"):
        read(path)
    path = written(tmp_path, name, "1\t1193\t5\t978300760\n1\t661\t3\t978302109\n")
    assert edges_of(read(path, left="0", right="1")) == {(1, 1193), (1, 661)}
    movies = "1::Toy Story (1995)::Animation|Children's\n5::Heat, the film::Action\n"
    with pytest.raises(InputError, match="parted by '::'"):
        read(written(tmp_path, "movies.dat", movies))


def test_a_word_above_numbers_alone_that_was_taken_for_a_label_is_said(tmp_path):
    path = written(tmp_path, "t.csv", "id,2\n3,4\n5,6\n")
    assert "line 1 ('id', '2') was taken for an edge, though 'id' stands above numbers alone" in said_of(path)
    assert edges_of(read(path, header=True)) == {(3, 4), (5, 6)}
    assert said_of(path, header=False) == ""
    assert said_of(written(tmp_path, "u.csv", "ann,2\nbob,4\n5,6\n")) == ""
    assert "'2024' stands above words alone" in said_of(written(tmp_path, "y.csv", "2024,2025\nann,jam\nbob,tea\n"))


@pytest.mark.parametrize("door", ["csv", "frame"])
@pytest.mark.parametrize(("value", "role", "cure"), [
    ("31.01.2026", "time", "write 2026-01-31"), ("1,5", "weight", "write 1.5"), ("1.500,25", "weight", r"write 1500\.25$"),
])  # fmt: skip
def test_commas_and_dates_of_europe_get_their_cure_from_every_door(tmp_path, door, value, role, cure):
    frame = pd.DataFrame({"u": ["a", "b"], "v": ["x", "y"], "n": [value] * 2})
    frame.to_csv(tmp_path / "t.csv", index=False, sep=";")
    settings = {"left": "u", "right": "v", role: "n"} | ({"since": "2026-01-01"} if role == "time" else {})
    with pytest.raises(InputError, match=rf"'{value}' is n.*; .*{cure}"):
        read(frame if door == "frame" else str(tmp_path / "t.csv"), **settings)


def test_decimal_commas_in_labels_are_not_called_lists(tmp_path):
    path = written(tmp_path, "t.csv", "name;price\nann;1,50\nbob;2,75\n")
    assert "as '1,50': decimal commas, or lists that split = ',' takes apart" in said_of(path)
    assert "decimal commas" not in said_of(written(tmp_path, "u.csv", "name;tags\nann;1,50,3\nbob;2,75\n"))


GROCERIES = "citrus fruit,bread,margarine,soup\ntropical fruit,yogurt,coffee\nwhole milk\n"


def test_ragged_lines_are_called_baskets_before_columns_are_asked_for(tmp_path):
    path = written(tmp_path, "groceries.csv", GROCERIES)
    with pytest.raises(InputError, match=r"lines have 1 to 4 columns: say format = 'baskets' if each is a basket"):
        read(path)
    assert len(edges_of(read(path, format="baskets", header=False))) == 8
    with pytest.raises(InputError) as caught:
        read(path, ragged="drop")
    assert "baskets" not in str(caught.value)


@pytest.mark.parametrize("settings", [{}, {"format": "baskets"}, {"delimiter": " "}])
def test_a_graph_of_dimacs_is_none_of_two_sides(tmp_path, settings):
    text = "c made by hand\np edge 3 3\ne 1 2\ne 2 3\ne 1 3\n"
    with pytest.raises(InputError, match=r"one set of vertices in the format of DIMACS; bicliq clique reads it"):
        read(written(tmp_path, "t.clq", text), **settings)
    assert bicliq.clique(str(tmp_path / "t.clq")).size == 3
    with pytest.raises(InputError, match=r"called \.clq"):
        bicliq.clique(written(tmp_path, "t.txt", text))


# ---- matrices ------------------------------------------------------------------------------------


def test_y_and_n_are_cells(tmp_path):
    path = written(tmp_path, "v.csv", "name,a,b,c\nx,y,n,y\nz,n,n,Y\n")
    with pytest.raises(InputError, match="format = 'matrix'"):
        read(path)
    assert edges_of(read(path, format="matrix")) == {("x", "a"), ("x", "c"), ("z", "c")}
    assert edges_of(read(written(tmp_path, "e.csv", "x,y\ny,x\nx,x\n"))) == {("y", "x"), ("x", "x")}


@pytest.mark.parametrize("door", ["csv", "frame", "parquet"])
@pytest.mark.parametrize("cells", [(0, 1), (False, True), ("no", "yes"), ("", "*")])
@pytest.mark.parametrize("names", [("x", "y"), ("n", "y"), ("t", "f"), ("x", "z")])
def test_names_that_are_marks_as_well_are_names(tmp_path, door, cells, names):
    no, yes = cells
    frame = pd.DataFrame({"name": names, names[0]: [yes, no], names[1]: [yes, yes]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    source = frame if door == "frame" else str(tmp_path / f"t.{door}")
    with pytest.raises(InputError, match="format = 'matrix'"):
        read(source)
    expected = {(names[0], names[0]), (names[0], names[1]), (names[1], names[1])}
    assert edges_of(read(source, format="matrix")) == expected


@pytest.mark.parametrize("door", ["csv", "frame"])
@pytest.mark.parametrize("cells", [[1, 0, 2], [True, False, True], [0.5, 0.0, 1.5]])
def test_a_matrix_of_one_column_has_cells(tmp_path, door, cells):
    frame = pd.DataFrame({"milk": cells})
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = read(frame if door == "frame" else str(tmp_path / "t.csv"), format="matrix")
    assert edges_of(table) == {(0, "milk"), (2, "milk")}


def test_numbers_that_are_no_names_are_cells():
    for first in ([-1, 0], [0.5, 2.0]):
        assert (0, "a") in edges_of(read(pd.DataFrame({"a": first, "b": [0, 1]}), format="matrix"))
    frame = pd.DataFrame({"id": [5, 6], "a": [1, 0]}, index=["r", "s"])
    assert "column 'id' was taken for cells; leave it out, or say left = 'id'" in said_of(frame, format="matrix")
    assert edges_of(read(frame, format="matrix", left="id")) == {(5, "a")}


def test_what_is_no_frame_is_no_matrix():
    for source in ([[1, 0], [0, 1]], {"a": [1, 0], "b": [0, 1]}, pd.Series([1, 0])):
        with pytest.raises(InputError, match=r"is no matrix; make a frame or an array of its rows"):
            read(source, format="matrix")


def test_marks_are_no_names_of_rows(tmp_path):
    path = written(tmp_path, "t.csv", "smoker,a,b\nyes,1,0\nno,0,1\nyes,1,1\n")
    assert len(edges_of(read(path, format="matrix"))) == 6
    path = written(tmp_path, "u.csv", "o1,X,\no2,,\no3,,\n")
    assert edges_of(read(path, format="matrix", header=False)) == {("o1", 0)}


@pytest.mark.parametrize("door", ["csv", "frame", "parquet"])
@pytest.mark.parametrize("cells", [["yes", "no", "yes"], [True, False, True], ["Y", "N", "N"], [1, 0, 1]])
def test_one_column_of_cells_beside_names_is_said(tmp_path, door, cells):
    frame = pd.DataFrame({"name": ["ann", "bob", "cid"], "milk": cells})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    source = frame if door == "frame" else str(tmp_path / f"t.{door}")
    assert "if they say whether a row has it, read them with format = 'matrix'" in said_of(source)
    assert ("ann", "milk") in edges_of(read(source, format="matrix"))


def test_labels_that_are_numbers_or_marks_by_chance_are_not_called_cells():
    for right in ([0, 1, 1], ["x", "x", "y"], ["no", "nay", "yes"]):
        assert said_of(pd.DataFrame({"u": ["a", "a", "b"], "v": right})) == ""


def test_sums_of_columns_are_those_of_all_rows(tmp_path):
    head = "g,a,b,All\n" + "".join(f"r{i},1,{i % 3},{1 + i % 3}\n" for i in range(20_000))
    assert len(head) > 1 << 17
    assert "column 'All' holds the sums" in said_of(written(tmp_path, "t.csv", head), format="matrix")
    table = read(written(tmp_path, "u.csv", head + "last,5,5,7\n"), format="matrix")
    assert "holds the sums" not in "\n".join(table.summary.assumed)


def test_entries_of_a_file_that_are_there_twice_are_said(tmp_path):
    head = "%%MatrixMarket matrix coordinate integer general\n2 2 3\n1 1 1\n"
    path = written(tmp_path, "t.mtx", head + "1 1 2\n2 2 5\n")
    assert "1 of its entries repeat others, of which the first counts" in said_of(path)
    summed = read(path, duplicates="sum")
    assert summed.weight.tolist() == [3.0, 5.0]
    assert summed.summary.assumed == []
    assert said_of(written(tmp_path, "u.mtx", head + "1 2 2\n2 2 5\n")) == ""


# ---- baskets -------------------------------------------------------------------------------------


@pytest.mark.parametrize("lines", [
    "['jam', 'tea']\n['tea']\n['tea', 'wine']\n", '["jam","tea"]\n["tea"]\n["tea","wine"]\n',
    "{jam,tea}\n{tea}\n{tea,wine}\n", "('jam', 'tea')\n('tea',)\n('tea', 'wine')\n",
])  # fmt: skip
def test_a_basket_that_is_a_list_is_taken_apart_or_refused(tmp_path, lines):
    path = written(tmp_path, "t.txt", lines)
    with pytest.raises(InputError, match=r"line 1: .* is a list, as most lines are; take them apart with split = ','"):
        read(path, format="baskets")
    expected = {(1, "jam"), (1, "tea"), (2, "tea"), (3, "tea"), (3, "wine")}
    assert edges_of(read(path, format="baskets", split=",")) == expected


@pytest.mark.parametrize("name", ["t.jsonl", "t.json", "t.txt", "t.csv"])
def test_lists_of_json_are_advised_as_baskets_and_can_be_read_so(tmp_path, name, capsys):
    path = written(tmp_path, name, '["jam","tea"]\n["tea"]\n')
    asked = ["count", path, "1", "1", "--store", str(tmp_path / "s"), "--local"]
    assert invoke(asked) == 2
    advice = re.search(r"if each line is a list of items, say (--format .*)", capsys.readouterr().err)[1]
    assert invoke([*asked, *shlex.split(advice)]) == 0
    assert "3" in capsys.readouterr().out


def test_lines_in_brackets_have_their_names_and_their_items(tmp_path):
    named = written(tmp_path, "t.txt", "items\n[a, b]\n[b]\n")
    assert "line 1 ('items') was taken for a basket" in said_of(named, format="baskets", split=",")
    assert edges_of(read(named, format="baskets", split=",", header=True)) == {(2, "a"), (2, "b"), (3, "b")}
    items = written(tmp_path, "u.txt", "(a) (b)\n(a) (c)\n")
    assert edges_of(read(items, format="baskets")) == {(1, "(a)"), (1, "(b)"), (2, "(a)"), (2, "(c)")}
    marked = written(tmp_path, "v.txt", "[x]\n[y]\n")
    assert edges_of(read(marked, format="baskets", delimiter="|")) == {(1, "[x]"), (2, "[y]")}


def test_features_of_libsvm_are_named(tmp_path):
    said = said_of(written(tmp_path, "a6a", "-1 3:1 11:0.5\n+1 3:1\n"), format="baskets")
    assert "numbers with values, as '-1 3:1 11:0.5' of LIBSVM" in said
    assert "LIBSVM" not in said_of(written(tmp_path, "t.dat", "mon 10:30 11:00\ntue 10:30\n"), format="baskets")


def test_names_before_baskets_are_judged_by_all_baskets(tmp_path):
    rows = [[f"T{i}", "jam", f"i{i % 7}"] for i in range(3_000)]
    lines = "".join(" ".join(row) + "\n" for row in rows)
    assert "'T0' and the first words" in said_of(written(tmp_path, "t.dat", lines), format="baskets")
    assert "first words" not in said_of(written(tmp_path, "u.dat", lines + "T7 jam\n"), format="baskets")
    assert "names of the baskets" in said_of(rows)
    assert said_of([*rows, ["T7", "jam"]]) == ""
    with pytest.raises(InputError, match="basket 3000 is 5, and not a list"):
        read([*rows, 5])


def test_an_empty_set_as_python_writes_it_holds_nothing():
    frame = pd.DataFrame({"u": [1, 2, 3, 4], "v": ["{'a'}", "set()", "frozenset()", "{'b'}"]})
    table = read(frame, split=",")
    assert edges_of(table) == {(1, "a"), (4, "b")}
    assert table.summary.noted == {"empty_lists": 2}
    with pytest.raises(InputError, match="looks like a list"):
        read(pd.DataFrame({"u": [1, 2], "v": ['{"a": 1}', '{"b": 2}']}), split=",")


# ---- tables in memory ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [pa.list_view, pa.large_list_view])
@pytest.mark.parametrize("text", [pa.string(), pa.string_view()])
def test_views_of_lists_lose_no_item(kind, text):
    table = pa.table({"u": [1, 2, 3, 4], "v": pa.array([["x"], ["y", "x"], [], None], kind(text))})
    found = read(table)
    assert edges_of(found) == {(1, "x"), (2, "x"), (2, "y")}
    assert found.summary.noted == {"empty_lists": 1, "null_lists": 1}


def test_an_index_of_several_levels_gets_its_cure():
    counts = pd.DataFrame({"u": ["a", "a", "b"], "v": ["x", "y", "x"]}).groupby(["u", "v"]).size()
    with pytest.raises(InputError, match=r"several levels; make columns of them, as with \.reset_index\(\)"):
        read(counts)
    assert edges_of(read(counts.rename("n").reset_index(), left="u", right="v")) == {("a", "x"), ("a", "y"), ("b", "x")}


def test_a_dict_of_columns_is_no_dict_of_baskets():
    columns = {"user": [1, 1, 2], "item": ["a", "b", "a"]}
    for settings in ({}, {"left": "user", "right": "item"}):
        with pytest.raises(InputError, match=r"'user', 'item', may be columns of a table or baskets"):
            read(columns, **settings)
    with pytest.raises(InputError, match="columns of a table"):
        read({"left": ["ann", "bob"], "right": ["jam", "tea"]})
    assert len(edges_of(read(pd.DataFrame(columns)))) == 3
    assert edges_of(read({"ann": ["jam", "tea"], "bob": ["jam", "oil"]})) >= {("ann", "jam"), ("bob", "oil")}
    assert edges_of(read({"ann": ["x", "x"], "bob": ["y", "x"]}, format="baskets")) == {
        ("ann", "x"),
        ("bob", "y"),
        ("bob", "x"),
    }


def test_lists_within_baskets_are_refused():
    for nested in ([[["a", "b"], ["c"]], [["a"]]], {"ann": [["a", "b"]]}, pd.Series([[["a"]], [["b"]]])):
        with pytest.raises(InputError, match=r"a list, and items are text or whole numbers"):
            read(nested)


# ---- sheets, objects, contexts -------------------------------------------------------------------


def test_a_row_that_underlines_the_names_of_a_sheet_is_no_edge(tmp_path):
    frame = pd.DataFrame({"user": ["----", "ann"], "item": ["-----", "jam"]})
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    with pytest.raises(InputError, match="row 2: '----', '-----' underline the names above them; take the row out"):
        read(tmp_path / "t.xlsx")
    frame[1:].to_excel(tmp_path / "t.xlsx", index=False)
    assert edges_of(read(tmp_path / "t.xlsx")) == {("ann", "jam")}


@pytest.mark.parametrize("corner", ["#OTU ID", "feature-id"])
def test_types_of_columns_of_qiime_are_no_row(tmp_path, corner):
    path = written(tmp_path, "t.tsv", f"{corner}\ts1\ts2\n#q2:types\tnumeric\tnumeric\no1\t1\t0\no2\t1\t2\n")
    table = read(path, format="matrix")
    assert edges_of(table) == {("o1", "s1"), ("o2", "s1"), ("o2", "s2")}
    assert "types of columns in QIIME 2, was left out" in "".join(table.summary.assumed)
    path = written(tmp_path, "u.tsv", "sample-id\tsite\n#q2:types\tcategorical\na\tgut\n")
    with pytest.raises(InputError, match=r"line 2: .* leave the line out with comment = '#q2:types'"):
        read(path)
    assert edges_of(read(path, comment="#q2:types")) == {("a", "gut")}


def test_a_title_of_a_sheet_is_no_header(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["Sales of May"], [], ["user", "item"], ["ann", "jam"]):
        book.active.append(row)
    path = str(tmp_path / "t.xlsx")
    book.save(path)
    with pytest.raises(InputError, match=r"row 1: 'Sales of May' stands alone and may be a title; .* skip = 1"):
        read(path)
    assert edges_of(read(path, skip=1)) == {("ann", "jam")}


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_columns_in_another_order_are_named_before_their_types(tmp_path, suffix):
    for name, frame in (("a", {"u": [1], "v": ["x"]}), ("b", {"v": ["x"], "u": [2]})):
        path = f"{tmp_path}/{name}.{suffix}"
        frame = pd.DataFrame(frame)
        frame.to_parquet(path) if suffix == "parquet" else frame.to_json(path, orient="records", lines=True)
    with pytest.raises(InputError, match=r"has the columns 'v', 'u', .*; name left and right"):
        read(str(tmp_path))
    assert edges_of(read(str(tmp_path), left="u", right="v")) == {(1, "x"), (2, "x")}


def test_a_workbook_holds_no_lines_of_baskets(tmp_path):
    pytest.importorskip("openpyxl")
    pd.DataFrame({"a": ["jam"], "b": ["tea"]}).to_excel(tmp_path / "t.xlsx", index=False)
    with pytest.raises(
        InputError, match="is an Excel workbook, and no text of format 'baskets'; save the sheet as CSV"
    ):
        read(str(tmp_path / "t.xlsx"), format="baskets")


@pytest.mark.parametrize("value", ['{"id": 1}', '["x", ["y"]]', '[{"id": "x"}]'])
def test_what_is_within_an_object_is_named_with_its_line(tmp_path, value):
    path = written(tmp_path, "t.jsonl", f'{{"user": "a", "item": "x"}}\n{{"user": "b", "item": {value}}}\n')
    with pytest.raises(InputError, match=r"line 2: 'item' is .* jq -c"):
        read(path)


NOTHING = "B\n\n2\n3\n\no1\no2\na1\na2\na3\n...\n...\n"


def test_a_context_without_a_cross_has_two_concepts(tmp_path):
    path = written(tmp_path, "t.cxt", NOTHING)
    found = [(row["extent"], row["intent"]) for row in bicliq.concepts(path).to_arrow().to_pylist()]
    assert found == [(["o1", "o2"], []), ([], ["a1", "a2", "a3"])]
    with pytest.raises(InputError, match="2 rows of it tie nothing"):
        bicliq.enumerate(path)
    with pytest.raises(InputError, match="has no objects"):
        bicliq.concepts(written(tmp_path, "none.cxt", "B\n\n0\n2\n\na1\na2\n"), min_support=0.5)
    zeros = written(tmp_path, "t.csv", "name,a,b\no1,0,0\no2,0,0\n")
    assert len(bicliq.concepts(zeros, format="matrix").to_arrow()) == 2
    with pytest.raises(
        InputError, match=r"no edge is left: 0 rows were read; .*line 2 \(ann, jam\) was taken for names"
    ):
        bicliq.concepts(written(tmp_path, "u.csv", "!x\nann,jam\n"), comment="!")
    frame = pd.DataFrame({"a": [0, 0], "b": [0, 0]}, index=["o1", "o2"])
    assert len(bicliq.concepts(frame, format="matrix").to_arrow()) == 2
    with pytest.raises(InputError, match="2 rows of it tie nothing"):
        read(frame, format="matrix")


def test_files_of_a_folder_that_are_not_read_are_said(tmp_path):
    written(tmp_path, "a.csv", "u,v\nann,jam\n")
    written(tmp_path, "_SUCCESS", "")
    assert "passed over" not in said_of(str(tmp_path))
    written(tmp_path, "b.dat", "bob,jam\n")
    assert "1 other file, as 'b.dat', was passed over" in said_of(str(tmp_path))
    assert "passed over" not in said_of(f"{tmp_path}/*.csv")


# ---- settings and updates ------------------------------------------------------------------------


def test_a_settings_file_that_is_no_file_is_not_passed_over(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "bicliq.toml"
    for make, undo in ((lambda: path.symlink_to("bicliq.toml"), path.unlink), (path.mkdir, path.rmdir),
                       (lambda: path.symlink_to("gone.toml"), path.unlink)):  # fmt: skip
        make()
        with pytest.raises(InputError, match=r"bicliq\.toml: cannot be read: .*; mend .* or remove it"):
            load_settings()
        undo()
    load_settings()


FIRST = "u,v\nann,jam\nbob,jam\n"


@pytest.mark.parametrize(
    ("content", "policy"),
    [
        ("u,v\ncid,jam\n,tea\n", {"nulls": "drop"}),
        ("u,v\ncid,jam\ndan\n", {"ragged": "drop"}),
        ("u,v\ncid,jam\n".encode("utf-16"), {"encoding": "utf-16"}),
        ("u,v\ncid,jam;jam\n", {"split": ";"}),
        ("Report\n\nu,v\ncid,jam\n", {"skip": 2}),
        ("!x\nu,v\ncid,jam\n", {"comment": "!"}),
    ],
)
def test_what_is_advised_for_the_file_of_an_update_can_be_said(tmp_path, content, policy):
    store = str(tmp_path / "s")
    bicliq.enumerate(written(tmp_path, "a.csv", FIRST), store=store)
    record = update(written(tmp_path, "b.csv", content), load_settings(store=store, ingest=policy)).record()
    assert (record["n_edges"], record["bicliques"]) == (3, 1)
    assert record["rows_read"] == record["edges"] + record["unchanged"] + record["duplicates"] + sum(
        record["dropped"].values()
    )
    later = update(written(tmp_path, "c.csv", "u,v\ndan,jam\n"), load_settings(store=store)).record()
    assert later["n_edges"] == 4
    with pytest.raises(InputError, match=r"ids 'text' .* leave that out, or begin another store"):
        update(written(tmp_path, "d.csv", "u,v\neve,jam\n"), load_settings(store=store, ingest={"ids": "text"}))


def test_names_above_an_update_of_a_run_without_names_are_said(tmp_path):
    store = str(tmp_path / "s")
    bicliq.enumerate(written(tmp_path, "a.csv", "ann,jam\nbob,jam\n"), header=False, store=store)
    account = bicliq.update(store, written(tmp_path, "b.csv", "cid,jam\nbob,jam\neve,tea\n")).account
    assert account["assumed"] == []
    account = bicliq.update(store, written(tmp_path, "c.csv", "user,item\ndan,jam\nann,tea\n")).account
    (said,) = account["assumed"]
    assert "line 1 ('user', 'item') was taken for an edge, as tables of the run name no columns" in said
    account = bicliq.update(store, written(tmp_path, "d.csv", "user,item\nfay,jam\n"), header=True).account
    assert (account["rows_read"], account["assumed"]) == (1, [])


@pytest.mark.parametrize("suffix", ["csv", "parquet", "xlsx"])
def test_a_column_without_a_name_is_that_of_its_place_in_an_update(tmp_path, suffix):
    for name, labels in (("a", ["ann", "bob"]), ("b", ["cid"])):
        frame = pd.DataFrame({"": labels, "item": "jam", "n": 1})  # as pandas writes an index, and R names of rows
        path = f"{tmp_path}/{name}.{suffix}"
        frame.to_csv(path, index=False) if suffix == "csv" else getattr(frame, f"to_{suffix.replace('xlsx', 'excel')}")(
            path, index=False
        )
    store = str(tmp_path / "s")
    bicliq.enumerate(f"{tmp_path}/a.{suffix}", left="0", right="item", store=store)
    account = bicliq.update(store, f"{tmp_path}/b.{suffix}").account
    assert account["edges"] == 1
    assert [group["left"] for group in bicliq.open(store)] == [["ann", "bob", "cid"]]


def test_the_first_of_two_columns_may_have_no_name(tmp_path):
    store = str(tmp_path / "s")
    bicliq.enumerate(written(tmp_path, "a.csv", ",item\nann,jam\n"), store=store)
    assert bicliq.update(store, written(tmp_path, "b.csv", ",item\ncid,jam\n")).account["edges"] == 1


@pytest.mark.parametrize("turned", [False, True])
def test_days_that_are_written_with_an_hour_are_said(tmp_path, turned):
    days = pd.DataFrame({"day": ["2026-01-01", "2026-01-02"], "item": "jam"})
    hours = pd.DataFrame({"day": pd.to_datetime(days["day"]), "item": "tea"})
    first, then = (hours, days) if turned else (days, hours)
    bicliq.enumerate(first, store=str(tmp_path / "s"))
    account = bicliq.update(str(tmp_path / "s"), then).account
    assert account["noted"] == {"alike_in_the_run_but_for_hours": 2}
    (said,) = account["assumed"]
    assert "2 new labels of the left side are in the run but for the hour" in said
