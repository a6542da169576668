"""What a table may hold beside its edges: each is read as what it is and said, or refused."""

from __future__ import annotations

import os

import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import bicliq
from bicliq.flows.update import watch_flow
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats.files import read_lines
from bicliq.pipeline.settings import IngestSettings, load_settings
from bicliq.pipeline.stages.ingest import EdgeTable, read_edge_table
from bicliq.pipeline.versions.update import update
from tests.integration.server import ask, logs_of, wait_for


def read(source, **settings) -> EdgeTable:
    return read_edge_table(source, IngestSettings(**settings))


def written(folder, name, content):
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def edges_of(table: EdgeTable) -> set[tuple[object, object]]:
    left, right = table.left_ids.to_pylist(), table.right_ids.to_pylist()
    return {(left[u], right[v]) for u, v in zip(table.left, table.right, strict=True)}


def said_of(source, **settings) -> str:
    return "\n".join(read(source, **settings).summary.assumed)


# ---- sets and baskets ----------------------------------------------------------------------------


MANY = "".join(f"t{i}\t\tg{i},0.5\n" for i in range(200))


def test_genes_with_weights_are_genes_and_that_is_said(tmp_path):
    table = read(written(tmp_path, "e.gmt", "s1\t\tTP53,1.0\tEGFR,0.5\ns2\t\tTP53,0.25\tTP53,1e-3\t\n"))
    assert edges_of(table) == {("s1", "TP53"), ("s1", "EGFR"), ("s2", "TP53")}
    assert table.summary.duplicates == 1
    (said,) = table.summary.assumed
    assert "'TP53,1.0'" in said
    assert "left out" in said
    with pytest.raises(InputError, match=r"line 202: 'KRAS' has no number"):
        read(written(tmp_path, "f.gmt", "s1\t\tTP53,1.0\n" + MANY + "s2\t\tKRAS\n"))
    plain = read(written(tmp_path, "g.gmt", "s1\t\t1,4-dioxane\t2,5\ns2\t\tTP53\n"))
    assert ("s1", "2,5") in edges_of(plain)
    assert plain.summary.assumed == []


NAMED_BASKETS = "T1,jam,milk\nT2,tea\nT3,jam,tea\n"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (NAMED_BASKETS, "T1"),
        ("id,items\n" + NAMED_BASKETS, "T1"),
        ("1 10 20\n2 10\n3 20 30\n", "1"),
        ("2024-001;a\n2024-002;b;a\n2024-003;b\n", "2024-001"),
    ],
)
def test_names_before_baskets_are_said_and_can_be_taken_as_such(tmp_path, text, first):
    path = written(tmp_path, "t.dat", text)
    said = said_of(path, format="baskets")
    assert f"{first!r} and the first words of the other lines" in said
    assert "left = '0'" in said
    table = read(path, format="baskets", left="0", header=text.startswith("id") or None)
    assert len(table.left_ids) == 3
    assert first in map(str, table.left_ids.to_pylist())
    assert first not in map(str, table.right_ids.to_pylist())


@pytest.mark.parametrize(
    "text", ["jam milk\ntea\njam tea\n", "1 2\n3 4\n5 6\n", "T1 jam\nT2 T1\nT3 jam\n", "a1 b2\na2 b3\n"]
)
def test_items_that_come_first_are_no_names_of_baskets(tmp_path, text):
    assert "first words" not in said_of(written(tmp_path, "t.dat", text), format="baskets")


def test_baskets_that_have_names_are_several_files_and_hold_what_they_hold(tmp_path):
    written(tmp_path, "1.dat", "T1 jam tea\nT2\n")
    written(tmp_path, "2.dat", "T1 wine\nT3 tea\n")
    table = read(f"{tmp_path}/*.dat", format="baskets", left="0")
    assert edges_of(table) == {("T1", "jam"), ("T1", "tea"), ("T1", "wine"), ("T3", "tea")}
    assert table.summary.noted == {"empty_rows": 1}
    with pytest.raises(InputError, match="left = '1'"):
        read(f"{tmp_path}/1.dat", format="baskets", left="1")


def test_an_update_of_baskets_that_have_names_has_them_too(tmp_path):
    bicliq.enumerate(written(tmp_path, "t.dat", NAMED_BASKETS), format="baskets", left="0", store=str(tmp_path / "s"))
    settings = load_settings(store=str(tmp_path / "s"))
    record = update(written(tmp_path, "n.dat", "T4,jam\nT2,jam\n"), settings).record()
    assert record["assumed"] == []
    now = bicliq.open(str(tmp_path / "s"))
    assert {label for group in now for label in group["left"]} == {"T1", "T2", "T3", "T4"}
    assert {label for group in now for label in group["right"]} == {"jam", "milk", "tea"}


def test_names_before_baskets_in_memory_are_said():
    baskets = [["T1", "jam", "milk"], ["T2", "tea"], ["T3", "jam", "tea"]]
    assert "dict of baskets" in said_of(baskets)
    assert "dict of baskets" in said_of(pl.Series(baskets))
    assert said_of({"T1": ["jam", "milk"], "T2": ["tea"]}) == ""


# ---- matrices ------------------------------------------------------------------------------------


def test_entries_of_a_sparse_matrix_that_are_there_twice_are_summed():
    twice = sp.coo_array(([1.0, -1.0, 2.0, 3.0, 1.0], ([0, 0, 0, 1, 1], [0, 0, 1, 0, 0])), shape=(2, 2))
    for matrix in (twice, twice.tocsr(), sp.csr_array(([1.0, -1.0, 2.0, 3.0, 1.0], [0, 0, 1, 0, 0], [0, 3, 5]))):
        table = read(matrix, weight="weight")
        assert edges_of(table) == {(0, 1), (1, 0)}
        assert table.weight.tolist() == [2.0, 4.0]
    assert twice.nnz == 5  # what was given stays as it is
    assert read(twice).summary.noted["summed_entries"] == 2
    assert bicliq.from_matrix(twice, ["a", "b"], ["x", "y"]).num_rows == 2


COUNTS = pd.DataFrame({"who": list("aabbc"), "what": list("xyxzz")})


@pytest.mark.parametrize("door", ["frame", "csv", "tsv", "parquet"])
def test_totals_of_a_cross_table_are_named(tmp_path, door):
    cross = pd.crosstab(COUNTS.who, COUNTS.what, margins=True)
    source = {"frame": lambda: cross}.get(door, lambda: f"{tmp_path}/t.{door}")
    cross.to_csv(f"{tmp_path}/t.csv")
    cross.to_csv(f"{tmp_path}/t.tsv", sep="\t")
    cross.reset_index().to_parquet(f"{tmp_path}/t.parquet")
    said = said_of(source(), format="matrix")
    assert "column 'All' holds the sums of those before it" in said
    assert "margins" in said
    bare = cross.drop(index="All", columns="All")
    assert "sums" not in said_of(bare, format="matrix")
    below = cross.drop(columns="All")
    below.to_csv(f"{tmp_path}/t.{door if door in ('csv', 'tsv') else 'csv'}", sep="\t" if door == "tsv" else ",")
    if door != "parquet":
        assert "its last row holds the sums of those above it" in said_of(
            below if door == "frame" else source(), format="matrix"
        )


def test_cells_that_add_up_by_chance_are_no_totals():
    assert "sums" not in said_of(pd.DataFrame({"a": [1, 0], "b": [0, 1], "c": [1, 1]}), format="matrix")


# ---- labels and columns --------------------------------------------------------------------------


@pytest.mark.parametrize("marks", ["''", "“”", "‘’", "«»", "„“", "``"])
@pytest.mark.parametrize("door", ["csv", "frame"])
def test_labels_in_other_quotes_are_counted_and_said(tmp_path, marks, door):
    begin, end = marks
    names = [f"{begin}{name}{end}" for name in ("jam", "tea")]
    path = written(tmp_path, "t.csv", "u,v\n" + "".join(f"ann,{name}\n" for name in names))
    table = read(path if door == "csv" else pd.DataFrame({"u": "ann", "v": names}))
    assert table.summary.noted == {"quoted": 2}
    assert f"2 labels of the right side are in quotes, as {names[0]!a}" in "\n".join(table.summary.assumed)


def test_an_apostrophe_makes_no_quotes():
    assert read(pd.DataFrame({"u": ["'s-Hertogenbosch", "rock'"], "v": ["a", "b"]})).summary.assumed == []


@pytest.mark.parametrize(
    ("true", "given", "likely"),
    [
        ("utf-8", "latin-1", "utf-8"),
        ("utf-8", "cp1252", "utf-8"),
        ("utf-8", "mac-roman", "utf-8"),
        ("utf-8", "cp437", "utf-8"),
        ("cp1252", "latin-1", "cp1252"),
    ],
)
def test_a_wrong_encoding_is_said_with_the_likely_one(tmp_path, true, given, likely):
    text = "who,what\nJosé,café “noir“\nbob,tea\n"
    path = written(tmp_path, "t.csv", text.encode(true))
    table = read(path, encoding=given)
    said = "\n".join(table.summary.assumed)
    assert f"encoding = {likely!r}" in said
    assert table.summary.noted["garbled"] >= 1
    assert "garbled" not in read(path, encoding=likely).summary.noted


def test_labels_that_were_garbled_before_are_said():
    table = read(pd.DataFrame({"u": ["JosÃ©", "bob"], "v": ["tea", "tea"]}))
    assert "'Jos\\xc3\\xa9'" in (said := "\n".join(table.summary.assumed)), said
    assert "'Jos\\xe9'" in said
    assert read(pd.DataFrame({"u": ["José", "SÃO", "Ã", "€5"], "v": list("abcd")})).summary.assumed == []


@pytest.mark.parametrize("door", ["csv", "frame", "parquet"])
def test_a_number_that_names_one_column_and_counts_another_is_refused(tmp_path, door):
    frame = pd.DataFrame({"1": ["a", "b"], "0": ["x", "y"]})
    frame.to_csv(f"{tmp_path}/t.csv", index=False)
    frame.to_parquet(f"{tmp_path}/t.parquet")
    source = frame if door == "frame" else f"{tmp_path}/t.{door}"
    with pytest.raises(
        InputError, match=r"left = '0' may be the column called '0' or that of this number from 0, called '1'"
    ):
        read(source, left="0", right="1", header=True if door == "csv" else None)
    assert edges_of(read(frame.rename(columns={"1": "0", "0": "1"}), left="0", right="1")) == {("a", "x"), ("b", "y")}


# ---- messages ------------------------------------------------------------------------------------


@pytest.mark.parametrize("blanks", ["   ", "\t"])
def test_a_line_of_blanks_alone_is_named(tmp_path, blanks):
    path = written(tmp_path, "t.csv", f"ann,jam\n{blanks}\nbob,jam\n")
    with pytest.raises(InputError, match=r"line 2: holds blanks alone; take it out, or drop such lines with ragged"):
        read(path)
    assert read(path, ragged="drop").summary.dropped_ragged == 1


@pytest.mark.parametrize("ask", [bicliq.enumerate, bicliq.clique])
def test_a_complex_matrix_is_refused_by_its_head(tmp_path, ask):
    path = written(tmp_path, "c.mtx", "%%MatrixMarket matrix coordinate complex general\n2 2 1\n1 2 0.0 0.5\n")
    with pytest.raises(InputError, match=r"line 1: .* complex numbers"):
        ask(path)


@pytest.mark.parametrize("place", ["loop.csv", "*.csv", "", "names"])
def test_a_loop_of_links_is_called_one(tmp_path, place):
    os.symlink("loop.csv", tmp_path / "loop.csv")
    ask = read_lines if place == "names" else read
    with pytest.raises(InputError, match=r"loop\.csv: is a loop of symbolic links; "):
        ask(str(tmp_path / place.replace("names", "loop.csv")))


def test_names_are_folded_as_the_labels_were(tmp_path):
    shop = {"Ann": ["Jam", "tea"], "BOB": ["JAM", "wine"], "cid": ["jam"]}
    asked = {"fold": "case", "min_left": 2}
    assert next(iter(bicliq.find(shop, containing=["ANN"], **asked)))["left"] == ["ann", "bob", "cid"]
    assert next(iter(bicliq.find(shop, within=["Ann", "bob"], **asked)))["left"] == ["ann", "bob"]
    assert next(iter(bicliq.find(shop, by="weight", left_weights={"Ann": 2.0, "BOB": 1.0}, **asked)))["value"] == 3.0
    groups = bicliq.enumerate(shop, store=str(tmp_path / "s"), **asked)
    assert groups.where(with_left=["Ann"]).to_arrow().num_rows == 1
    with pytest.raises(InputError, match="the nearest is 'ann'"):
        bicliq.find(shop, containing=["anne"], **asked)
    with pytest.raises(InputError, match="give each one"):
        bicliq.find(shop, by="weight", left_weights={"Ann": 2.0, "ann": 1.0}, **asked)
    rules = bicliq.rules(shop, min_support=0.1, fold="case", consequents=["JAM"])
    assert len(rules.to_arrow()) == 2


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.net", '*Vertices 3\n1 "a"\n2 "b"\n3 "c"\n*Edges\n1 2\n2 3\n1 3\n'),
        ("p.dl", "DL n=3 format=edgelist1\nlabels embedded\ndata:\na b\nb c\na c\n"),
    ],
)
def test_a_network_of_one_mode_is_not_guessed_to_be_one_set(tmp_path, name, text):
    found = bicliq.clique(written(tmp_path, name, text))
    assert len(found.members) == 3
    assert found.account["assumed"] == []


def test_the_flow_of_a_watch_says_what_was_dropped(tmp_path, prefect_server):
    written(tmp_path, "a.csv", "u,v\nann,jam\nbob,\nann,jam\n")
    asked = {"store": str(tmp_path / "s"), "ingest": {"nulls": "drop"}, "cluster": {"local": True}}
    watch_flow(str(tmp_path / "*.csv"), asked, settle=0)
    (run,) = ask(f"{prefect_server}/flow_runs/filter", {"flow_runs": {"name": {"like_": f"{tmp_path}"}}})
    said = wait_for(lambda: (log := logs_of(prefect_server, run["id"])) and "rows read" in log and log, 30)
    assert "3 rows read: 1 repeats an edge; 1 dropped: nulls" in said
    assert "was taken for names of columns" in said


# ---- names of columns that are none --------------------------------------------------------------


R_TABLE = '"user"\t"item"\n"1"\t"ann"\t"jam"\n"2"\t"bob"\t"jam"\n'
MARKDOWN = "| user | item |\n|------|:-----|\n| ann | jam |\n| bob | jam |\n"


@pytest.mark.parametrize(
    ("name", "text", "asked", "what", "cure"),
    [
        ("t.csv", "Sales of May,\nuser,item\nann,jam\nbob,jam\n", {}, "may be a title; .* skip = 1", {"skip": 1}),
        (
            "t.csv",
            "Sales of May,,\nuser,item,n\nann,jam,1\nbob,jam,2\n",
            {"left": "user", "right": "item"},
            "above 3 columns and may be a title",
            {"skip": 1},
        ),
        (
            "t.tsv",
            R_TABLE,
            {},
            "one name less than the lines below have fields, .* left = '1', right = '2'",
            {"skip": 1, "header": False, "left": "1", "right": "2"},
        ),
        ("t.csv", "user,item\n----,----\nann,jam\nbob,jam\n", {}, "underlines .* comment = '--'", {"comment": "--"}),
        ("t.md", MARKDOWN, {"left": "user", "right": "item"}, r"comment = '\|-'", {"comment": "|-"}),
    ],
)
def test_names_of_columns_that_are_none_are_refused_and_the_cure_works(tmp_path, name, text, asked, what, cure):
    path = written(tmp_path, name, text)
    with pytest.raises(InputError, match=rf"line [12]: .*{what}"):
        read(path, **asked)
    assert edges_of(read(path, **(asked | cure))) == {("ann", "jam"), ("bob", "jam")}


def test_a_column_without_a_name_is_not_advised_as_a_side(tmp_path):
    path = written(tmp_path, "t.csv", ",user,item\n0,ann,jam\n1,bob,tea\n")
    with pytest.raises(InputError, match="as in left = 'user', right = 'item'"):
        read(path)


# ---- numbers beside cells ------------------------------------------------------------------------


AGES = pd.DataFrame({"name": ["ann", "bob", "cid"], "age": [34, 25, 34], "jam": [1, 0, 1], "tea": [0, 1, 1]})


@pytest.mark.parametrize("door", ["frame", "csv", "parquet"])
def test_a_column_of_numbers_beside_cells_of_0_and_1_is_said(tmp_path, door):
    AGES.to_csv(tmp_path / "t.csv", index=False)
    AGES.to_parquet(tmp_path / "t.parquet")
    source = AGES if door == "frame" else f"{tmp_path}/t.{door}"
    assert "column 'age' holds other numbers than 0 and 1, unlike those beside it" in said_of(source, format="matrix")


@pytest.mark.parametrize("cells", [[2, 0, 1], [2, 0, 2], [1, 1, 1]])
def test_a_column_of_counts_is_not_said_to_be_none_of_cells(cells):
    frame = pd.DataFrame({"a": [0, 1, 1], "b": [1, 0, 0], "c": [0, 2, 0], "d": cells}, index=["x", "y", "z"])
    assert "other numbers" not in said_of(frame, format="matrix")


MATRIX = "name,jam,tea\nann,1,0\nbob,1,1\n"


@pytest.mark.parametrize("title", ["Sales of May\n", "Sales of May,,\n", "Sales of May\n\n"])
def test_a_title_of_a_matrix_is_refused_and_the_cure_works(tmp_path, title):
    path = written(tmp_path, "t.csv", title + MATRIX)
    with pytest.raises(InputError, match=r"line 1: 'Sales of May' stands alone and may be a title; .* skip = 1"):
        read(path, format="matrix")
    expected = {("ann", "jam"), ("bob", "jam"), ("bob", "tea")}
    assert edges_of(read(path, format="matrix", skip=1)) == expected


def test_delimiters_at_the_ends_of_the_rows_of_a_matrix_do_not_shift_its_names(tmp_path):
    for text in ("name,jam,tea\nann,1,0,\nbob,1,1,\n", "name,jam,tea,,\nann,1,0,,\nbob,1,1,,\n"):
        with pytest.raises(InputError, match=r"delimiters at the(ir)? ends"):
            read(written(tmp_path, "t.csv", text), format="matrix")
    shorter = written(tmp_path, "t.csv", "jam,tea\nann,1,0\nbob,1,1\n")
    assert ("bob", "tea") in edges_of(read(shorter, format="matrix"))


@pytest.mark.parametrize("form", ["matrix", "auto"])
def test_columns_of_a_sheet_that_hold_nothing_are_none(tmp_path, form):
    pytest.importorskip("openpyxl")
    rows = [("name", "jam", None, None), ("ann", "1" if form == "auto" else 1, None, None)]
    pd.DataFrame(rows).to_excel(tmp_path / "t.xlsx", index=False, header=False)
    assert len(edges_of(read(f"{tmp_path}/t.xlsx", format=form))) == 1
    pd.DataFrame([("Sales", None, None), ("name", "jam", "tea"), ("ann", 1, 1)]).to_excel(
        tmp_path / "t.xlsx", index=False, header=False
    )
    with pytest.raises(InputError, match=r"row 1: 'Sales' stands alone and may be a title"):
        read(f"{tmp_path}/t.xlsx", format=form, left="name", right=None if form == "matrix" else "jam")


# ---- settings and arguments that fit no table ----------------------------------------------------


@pytest.mark.parametrize("given", [{"delimiter": ";"}, {"header": False}, {"encoding": "cp1252"}, {"quotes": False}])
@pytest.mark.parametrize("source", [pd.DataFrame({"u": [1], "v": [2]}), {"ann": ["jam"]}, [["jam"]]])
def test_a_setting_of_text_has_no_effect_on_a_table_in_memory_and_that_is_said(source, given):
    (name,) = given
    assert f"{name} = " in (said := said_of(source, **given))
    assert "has no effect on a table in memory" in said


@pytest.mark.parametrize("source", [sp.csr_array([[1, 0], [1, 1]]), {"ann": {"jam": 1}}])
def test_sides_that_are_fixed_cannot_be_chosen(tmp_path, source):
    with pytest.raises(InputError, match="left = 'user' cannot be chosen: its sides are fixed; leave it out"):
        read(source, left="user")
    bicliq.enumerate(source, store=str(tmp_path / "s"))
    assert bicliq.update(str(tmp_path / "s"), source).account["edges"] > 0


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"by": "size"}, "by is 'size'; it must be one of 'edges'"),
        ({"top": 0}, "top is 0; it must be a whole number of at least 1"),
        ({"top": 2.5}, "top is 2.5"),
        ({"missing": 1.5}, "missing is 1.5; it must be a whole number"),
    ],
)
def test_arguments_of_find_are_refused_by_their_own_names(asked, said):
    with pytest.raises(InputError, match=said):
        bicliq.find({"ann": ["jam"]}, **asked)
