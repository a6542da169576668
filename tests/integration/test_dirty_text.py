"""Delimited text as people have it: read as it is meant from every door, and it is said."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bicliq
from bicliq.flows.cli.app import invoke
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats import open_edges
from bicliq.pipeline.settings import IngestSettings, load_settings
from bicliq.pipeline.stages.ingest import EdgeTable, read_edge_table
from tests.nightly import part_of

CASES = Path(__file__).parents[1] / "data" / "cases"

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": partial(lzma.compress, preset=0),
}


def read(source: Path | str, **settings: object) -> EdgeTable:
    return read_edge_table(str(source), IngestSettings(**settings))


def edges_of(table: EdgeTable) -> set[tuple[object, object]]:
    left, right = table.left_ids.to_pylist(), table.right_ids.to_pylist()
    return {(left[u], right[v]) for u, v in zip(table.left, table.right, strict=True)}


def of_text(folder: Path, text: str, name: str = "t.csv", **settings: object) -> EdgeTable:
    (folder / name).write_bytes(text.encode())
    return read(folder / name, **settings)


def refusal(folder: Path, text: str, name: str = "t.csv", **settings: object) -> str:
    with pytest.raises(InputError) as caught:
        of_text(folder, text, name, **settings)
    return str(caught.value)


def written(kind: str, folder: Path) -> Any:
    columns = {"user": ["ann", "bob", "cid"], "tags": ["a;b", "b;c", "d"]}
    if kind == "parquet":
        pq.write_table(pa.table(columns), folder / "t.parquet")
    elif kind == "jsonl":
        pl.DataFrame(columns).write_ndjson(folder / "t.jsonl")
    elif kind == "xlsx":
        pd.DataFrame(columns).to_excel(folder / "t.xlsx", index=False)
    else:
        return {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}[kind](columns)
    return folder / f"t.{kind}"


# ---- the cases of public reports -----------------------------------------------------------------


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize(("name", "settings", "bicliques", "noted"), [
    ("c01-quoted-empty.csv", {"nulls": "drop"}, 1, {}),
    ("c02-headerless.dat", {"header": False}, 2, {}),
    ("c04-numbered.csv", {"left": "1", "right": "0"}, 2, {}),
    ("c15-sep.csv", {}, 2, {}),
    ("c21-listcells.csv", {"split": ","}, 2, {"split_fields": 2, "empty_lists": 1}),
    ("c28-annot.gaf", {"comment": "!", "left": "1", "right": "4"}, 1, {"comments": 2}),
])  # fmt: skip
def test_cases_of_reports_have_their_right_values(tmp_path, packed, name, settings, bicliques, noted):
    (tmp_path / (name + packed)).write_bytes(PACKED[packed]((CASES / name).read_bytes()))
    found = bicliq.enumerate(str(tmp_path / (name + packed)), **settings)
    assert len(found) == bicliques
    assert found.account["noted"] == noted


def test_a_quoted_empty_field_is_a_missing_id(tmp_path):
    message = refusal(tmp_path, (CASES / "c01-quoted-empty.csv").read_text())
    assert "line 2, column link (right): the id is missing" in message


def test_a_guessed_header_is_said():
    (said,) = bicliq.enumerate(str(CASES / "c02-headerless.dat")).account["assumed"]
    assert "line 1 (s1, d1) was taken for names of columns" in said


@pytest.mark.parametrize("name", ["c18-spaces.csv", "c29-pairs.txt"])
def test_cliques_of_cases(name):
    assert bicliq.clique(str(CASES / name)).size == 3


def test_ragged_lines_point_to_baskets_first():
    with pytest.raises(
        InputError, match=r"line 2, 3 columns: .*format = 'baskets' \(and header = true if line 1 is names\), or drop"
    ):
        read(CASES / "c19-ragged.csv")


# ---- headers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 8_000, 12_000, 20_000])
def test_a_wide_header_is_a_header(tmp_path, n):
    text = ",".join(f"c{i}" for i in range(n)) + "\n" + ",".join(["1"] * n) + "\n"
    assert edges_of(of_text(tmp_path, text, left="0", right="1", header=True)) == {(1, 1)}
    assert "line 1: 'c0', 'c1'" in refusal(tmp_path, text, left="0", right="1")
    assert edges_of(read(tmp_path / "t.csv", left="c0", right=f"c{n - 1}")) == {(1, 1)}


@pytest.mark.parametrize("text", ["B52,ann\n1984,bob\n", "a,1984\nb,x\n", "a,x,3\nb,7,4\n", "a,x\nb,1.5\n"])
def test_numbered_columns_begin_with_the_first_line(tmp_path, text):
    table = of_text(tmp_path, text, left="0", right="1")
    assert (len(table.left), table.summary.assumed) == (2, [])


@pytest.mark.parametrize("settings", [{"left": "0", "right": "1"}, {"right": "1"}, {"left": "0"}])
def test_a_header_is_never_guessed_where_columns_are_numbered(tmp_path, settings):
    (tmp_path / "t.csv").write_text("user,item\n7,5\n8,5\n")
    with pytest.raises(InputError, match=r"line 1: 'user'.* say header = true or header = false"):
        read(tmp_path / "t.csv", **settings)
    named, bare = (read(tmp_path / "t.csv", **settings, header=header) for header in (True, False))
    assert (edges_of(named), named.summary.assumed) == ({(7, 5), (8, 5)}, [])
    assert (edges_of(bare), bare.summary.assumed) == ({("user", "item"), ("7", "5"), ("8", "5")}, [])


def test_a_header_of_a_sheet_is_never_guessed_where_columns_are_numbered(tmp_path):
    pd.DataFrame([["user", "item"], [7, 5], [8, 5]]).to_excel(tmp_path / "n.xlsx", index=False, header=False)
    with pytest.raises(InputError, match="row 1: 'user', 'item' may be names"):
        read(tmp_path / "n.xlsx", left="0", right="1")
    assert edges_of(read(tmp_path / "n.xlsx", left="0", right="1", header=True)) == {(7, 5), (8, 5)}
    pd.DataFrame([["cats", "ann"], ["dogs", "bob"]]).to_excel(tmp_path / "t.xlsx", index=False, header=False)
    table = read(tmp_path / "t.xlsx", left="0", right="1")
    assert edges_of(table) == {("cats", "ann"), ("dogs", "bob")}
    assert "row 1 was taken for data" in table.summary.assumed[0]
    assert edges_of(read(tmp_path / "t.xlsx", left="cats", right="ann")) == {("dogs", "bob")}


@pytest.mark.parametrize(("text", "settings", "edges"), [
    ("# made by x\n# on Monday\nuser,item\nann,jam\n", {}, {("ann", "jam")}),
    ("#user,item\nann,jam\n", {}, {("ann", "jam")}),
    ("% a note, of two\n% and more\n#user,item\nann,jam\n", {"comment": "%", "header": False},
     {("#user", "item"), ("ann", "jam")}),
    ("// made\nuser;item\nann;jam\n", {}, {("ann", "jam")}),
    ("made on Monday\n\nuser,item\nann,jam\n", {"skip": 2}, {("ann", "jam")}),
    ('"sep=|"\nuser|item\nann|jam\n', {}, {("ann", "jam")}),
    ("sep=,\r\nuser,item\r\nann,jam\r\n", {}, {("ann", "jam")}),
    ("! a\nuser,item\n! b\nann,jam\n! c", {"comment": "!"}, {("ann", "jam")}),
    ("#cats,ann\n#dogs,bob\n", {"header": False}, {("#cats", "ann"), ("#dogs", "bob")}),
    (" user , item \nann,jam\n", {"left": "user", "right": "item"}, {("ann", "jam")}),
    ("user,item\nann,#jam\n#bob,tea\n", {}, {("ann", "#jam"), ("#bob", "tea")}),
])  # fmt: skip
@pytest.mark.parametrize("name", ["t.csv", "t.dat"])
def test_what_stands_above_the_rows_is_understood(tmp_path, text, settings, edges, name):
    assert edges_of(of_text(tmp_path, text, name, **settings)) == edges


def test_comments_that_may_be_rows_are_asked_about(tmp_path):
    text = "#a,b\n#c,d\nuser,item\n"
    assert "line 1: '#a,b' begins like a comment" in refusal(tmp_path, text)
    assert len(read(tmp_path / "t.csv", header=False).left) == 3
    assert len(read(tmp_path / "t.csv", comment="#", header=False).left) == 1


def test_lines_keep_their_numbers_below_what_is_left_out(tmp_path):
    text = "note\n! a\nuser,item\n! b\nann,jam\n! c\nbob\n"
    assert "line 7, 1 columns" in refusal(tmp_path, text, skip=1, comment="!")


def test_comments_are_counted_in_files_of_many_blocks(tmp_path):
    rows = "".join(f"{i},{i % 7}\n" + ("# x, y\n" if i % 1000 == 0 else "") for i in range(400_000))
    table = of_text(tmp_path, "# top\na,b\n" + rows, comment="#")
    assert (len(table.left), table.summary.noted) == (400_000, {"comments": 401})


@pytest.mark.parametrize(("skip", "asked"), [(1, {}), (2, {"header": True}), (1, {"left": "user", "right": "item"})])
def test_rows_at_the_top_of_a_sheet_are_left_out_where_that_is_asked(tmp_path, skip, asked):
    rows = [["Sales", None], *[[None, None]] * (skip - 1), ["user", "item"], ["ann", "jam"], ["bob", "jam"]]
    pd.DataFrame(rows).to_excel(tmp_path / "t.xlsx", index=False, header=False)
    table = read(tmp_path / "t.xlsx", skip=skip, **asked)
    assert edges_of(table) == {("ann", "jam"), ("bob", "jam")}
    assert all(f"row {skip + 1} ('user', 'item')" in said for said in table.summary.assumed)
    with pytest.raises(InputError, match="the sheet holds nothing, but for rows to skip"):
        read(tmp_path / "t.xlsx", skip=9)


@pytest.mark.parametrize("kind", ["parquet", "xlsx", "pandas", "polars", "arrow"])
@pytest.mark.parametrize("settings", [{"comment": "u"}, {"skip": 1}])
@pytest.mark.parametrize("form", ["auto", "matrix"])
def test_lines_are_not_left_out_of_what_has_none(tmp_path, kind, settings, form):
    if kind == "xlsx" and "skip" in settings:
        return  # rows of sheets are left out
    with pytest.raises(InputError, match=f"{next(iter(settings))} = .* is for lines of text"):
        bicliq.enumerate(written(kind, tmp_path), format=form, **settings)


@pytest.mark.parametrize("kind", ["parquet", "xlsx", "jsonl"])
@pytest.mark.parametrize(
    "given", [{"delimiter": ";"}, {"encoding": "cp1252"}, {"header": False}, {"quotes": False}, {"multiline": True}]
)
def test_a_setting_of_text_that_has_no_effect_is_said(tmp_path, kind, given):
    ((name, _),) = given.items()
    has_effect = (kind, name) in {("xlsx", "header"), ("jsonl", "encoding")}
    table = read(written(kind, tmp_path), **given)
    said = [sentence for sentence in table.summary.assumed if "has no effect" in sentence]
    assert len(said) == (0 if has_effect else 1)
    assert all(f"{name} = " in sentence for sentence in said)


def test_the_encoding_of_a_run_is_not_said_of_an_update_that_is_no_text(tmp_path):
    (tmp_path / "a.csv").write_bytes("user,tags\nJosé,jam\n".encode("cp1252"))
    bicliq.enumerate(tmp_path / "a.csv", store=tmp_path / "store", encoding="cp1252")
    version = bicliq.update(tmp_path / "store", written("parquet", tmp_path))
    assert not any("has no effect" in sentence for sentence in version.account.get("assumed", ()))


@pytest.mark.parametrize("kind", ["parquet", "xlsx", "pandas", "jsonl"])
def test_an_update_that_has_no_lines_takes_none_of_the_settings_of_its_run(tmp_path, kind):
    (tmp_path / "a.csv").write_text("user,tags\n! mid\nann,jam\n")
    bicliq.enumerate(tmp_path / "a.csv", store=tmp_path / "store", comment="!", left="user", right="tags")
    assert bicliq.update(tmp_path / "store", written(kind, tmp_path)).account["edges"] == 3


def test_comments_and_fields_over_lines_contradict_each_other():
    with pytest.raises(InputError, match="comment and multiline contradict"):
        load_settings(ingest={"comment": "#", "multiline": True})


# ---- missing and blank ---------------------------------------------------------------------------

DIRTY = [("ann", "jam "), (" bob", "tea"), ("cid", ""), ("dan", " "), ("eve", " NA "), ("\u00a0fay", "jam\u3000")]
CLEAN = {("ann", "jam"), ("bob", "tea"), ("fay", "jam")}
COUNTS = {"rows_read": 6, "dropped_nulls": 3, "edges": 3, "noted": {"stripped": 4}}


def door(kind: str, folder: Path) -> Any:
    if kind == "quoted":
        (folder / "t.csv").write_text("left,right\n" + "".join(f'"{u}","{v}"\n' for u, v in DIRTY))
    elif kind == "several":
        for i, (u, v) in enumerate(DIRTY):
            (folder / f"t{i}.csv").write_text(f"left,right\n{u},{v}\n")
        return str(folder)
    elif kind == "utf-16":
        (folder / "t.csv").write_bytes(("left;right\n" + "".join(f"{u};{v}\n" for u, v in DIRTY)).encode("utf-16"))
    else:
        (folder / "t.csv").write_text("left,right\n" + "".join(f"{u},{v}\n" for u, v in DIRTY))
    return str(folder / "t.csv")


@pytest.mark.parametrize("kind", ["bare", "quoted", "several", "utf-16"])
def test_missing_and_blank_are_one_policy(tmp_path, kind):
    encoding = "utf-16" if kind == "utf-16" else None
    table = read_edge_table(door(kind, tmp_path), IngestSettings(nulls="drop", encoding=encoding))
    assert edges_of(table) == CLEAN
    assert {name: getattr(table.summary, name) for name in COUNTS} == COUNTS
    with pytest.raises(InputError, match="missing"):
        read_edge_table(door(kind, tmp_path), IngestSettings(encoding=encoding))


def test_blanks_stay_where_that_is_asked(tmp_path):
    table = of_text(tmp_path, "a,b\nann, jam\nbob,jam\n", strip=False)
    assert edges_of(table) == {("ann", " jam"), ("bob", "jam")}
    assert table.summary.noted == {}


def test_numbers_with_blanks_are_numbers(tmp_path):
    table = of_text(tmp_path, 'u, v, w\n1, 2, 0.5\n 2,3 ,1\n3,4," 2"\n', weight="w")
    assert edges_of(table) == {(1, 2), (2, 3), (3, 4)}
    assert table.weight is not None
    assert table.weight.tolist() == [0.5, 1, 2]
    assert table.summary.labels == {"left": "numbers", "right": "numbers"}


@pytest.mark.parametrize("weight", ['""', "", " ", " NA"])
def test_a_missing_weight_is_one_policy(tmp_path, weight):
    text = f"u,v,w\n1,2,0.5\n2,3,{weight}\n"
    assert "line 3, column w (weight): the weight is missing" in refusal(tmp_path, text, weight="w")
    assert len(read(tmp_path / "t.csv", weight="w", nulls="drop").left) == 1


def test_quoted_words_for_missing_values_stay_text(tmp_path):
    table = of_text(tmp_path, 'a,b\nann,"NA"\nbob,"null"\n')
    assert edges_of(table) == {("ann", "NA"), ("bob", "null")}


# ---- forms and lists -----------------------------------------------------------------------------

FORMS = "a,b\nann,JAM\nbob,jam\ncid,José\ndan,Jose\u0301\n"


def test_labels_that_differ_in_form_alone_are_counted_and_said(tmp_path):
    summary = of_text(tmp_path, FORMS).summary
    assert summary.noted == {"alike_but_for_case": 1, "alike_but_for_unicode": 1}
    assert any("'JAM' and 'jam'" in said and "fold = 'case'" in said for said in summary.assumed)
    frame = pa.table({"a": ["ann", "bob"], "b": ["JAM", "jam"]})
    assert read_edge_table(frame).summary.noted == {"alike_but_for_case": 1}


@pytest.mark.parametrize(("fold", "n"), [("case", 3), ("unicode", 3), ("case,unicode", 2)])
def test_forms_are_united_where_that_is_asked(tmp_path, fold, n):
    table = of_text(tmp_path, FORMS, fold=fold)
    assert len(table.right_ids) == n
    (tmp_path / "t.csv").unlink()
    pq.write_table(pa.table({"a": ["ann", "bob"], "b": ["JAM", "jam"]}), tmp_path / "t.parquet")
    assert len(read(tmp_path / "t.parquet", fold=fold).right_ids) == (1 if "case" in fold else 2)


@pytest.mark.parametrize("fold", ["upper", "case;unicode"])
def test_a_form_that_is_none_is_refused(fold):
    with pytest.raises(InputError, match="write case, unicode, or case,unicode"):
        load_settings(ingest={"fold": fold})


def test_an_update_is_read_as_its_run_was(tmp_path):
    (tmp_path / "a.csv").write_bytes("! top\nu;v\nAnn;jam,TEA\nJosé;tea\n".encode("latin-1"))
    settings = {"comment": "!", "encoding": "latin-1", "split": ",", "fold": "case"}
    run = bicliq.enumerate(str(tmp_path / "a.csv"), store=str(tmp_path / "store"), **settings)
    assert len(run) == 2
    (tmp_path / "b.csv").write_bytes("! next\nu;v\n! x\nANN;oil\nJosé;JAM,oil\n".encode("latin-1"))
    bicliq.update(str(tmp_path / "store"), str(tmp_path / "b.csv"))
    found = {
        (tuple(row["left"]), tuple(sorted(row["right"])))
        for row in bicliq.open(str(tmp_path / "store")).to_arrow().to_pylist()
    }
    assert found == {(("ann", "josé"), ("jam", "oil", "tea"))}


# ---- messages whose cure works -------------------------------------------------------------------


@pytest.mark.parametrize(("text", "settings", "words"), [
    ("u;v;w\na;b;3,5\n", {"weight": "w", "left": "u", "right": "v"}, ("line 2, column w", "decimal comma: write 3.5")),
    ("u,v,t\na,b,31.01.2026\n", {"time": "t", "since": "2020-01-01"}, ("line 2, column t", "write 2026-01-31")),
    ("u,v,t\na,b,1/2/2026\n", {"time": "t", "since": "2020-01-01"}, ("write the year first",)),
    ('u,v,w\na,b,"1,000"\n', {"weight": "w"}, ("line 2, column w", "write 1000 if", "or 1.000 if")),
    ('u,v,w\na,b,"1,234.5"\n', {"weight": "w"}, ("write 1234.5",)),
    ("u,v,w\na,b,50%\n", {"weight": "w"}, ("'50%' is no number; write 50",)),
    ("u,v,t\na,b,20260201\nc,b,20240101\n", {"time": "t", "window": "7d"}, ("line 2, column t", "write 2026-02-01,")),
])  # fmt: skip
def test_numbers_and_dates_of_other_countries_get_their_cure(tmp_path, text, settings, words):
    message = refusal(tmp_path, text, **settings)
    for word in words:
        assert word in message


@pytest.mark.parametrize(("text", "kind"), [
    ("1 2\n2 3\n", "snap"),
    ("# c\n1 2\n", "snap"),
    ("# c\n1\t2\n", "snap"),
    ("# c\na\tb\n", "tsv"),
    ("% c\n1 2 3\n", "konect"),
    ("% c\na;b\n", "csv"),
    ("# c\n1,2\n", "csv"),
    ("// c\n1,2\n", "csv"),
])  # fmt: skip
def test_formats_are_told_by_the_rows_below_comments(tmp_path, text, kind):
    (tmp_path / "t").write_text(text)
    assert open_edges(str(tmp_path / "t"), IngestSettings(sides="columns")).format == kind


def test_a_blank_may_be_the_delimiter(tmp_path):
    message = refusal(tmp_path, "ann jam\nbob tea\n", "t.txt")
    assert "delimiter = ' '" in message
    assert "format = 'snap'" in message
    assert edges_of(read(tmp_path / "t.txt", delimiter=" ", header=False)) == {("ann", "jam"), ("bob", "tea")}


@pytest.mark.parametrize("text", ["0 1\n1 0\n", "0 1 1\n1 0 1\n"])
def test_rows_of_zeros_and_ones_are_not_taken_for_pairs(tmp_path, text):
    assert "format = 'matrix'" in refusal(tmp_path, text, "t.txt")


# ---- the same is said at every door --------------------------------------------------------------


@pytest.mark.parametrize("delete", [False, True])
def test_an_update_says_which_labels_the_run_has_in_another_form(tmp_path, delete):
    store = tmp_path / "store"
    bicliq.enumerate({"ann": ["JAM", "tea"], "bob": ["José", "tea"]}, store=store)
    account = bicliq.update(store, {"ann": ["jam", "oil", "tea"], "bob": ["Jose\u0301"]}, delete=delete).account
    assert account["noted"] == {"alike_in_the_run_but_for_case": 1, "alike_in_the_run_but_for_unicode": 1}
    assert "as 'jam' and 'JAM'" in account["assumed"][0]
    assert "fold = 'case'" in account["assumed"][0]
    again = bicliq.update(store, {"cid": ["tea", "oil"]}).account
    assert (again["noted"], again["assumed"]) == ({}, [])


def test_comments_and_blanks_are_one_policy_in_baskets_and_matrices(tmp_path):
    baskets = of_text(tmp_path, "! top\nann, bob\n! mid\nann,cid\n", format="baskets", comment="!")
    assert edges_of(baskets) == {(2, "ann"), (2, "bob"), (4, "ann"), (4, "cid")}
    assert baskets.summary.noted == {"stripped": 1, "comments": 2}
    kept = of_text(tmp_path, "ann, bob\nann,cid\n", format="baskets", strip=False)
    assert {label for _, label in edges_of(kept)} == {"ann", " bob", "cid"}
    text = "! top\nname,c0, c1\nr0,1,0\n! mid\n r1,0,1\n"
    matrix = of_text(tmp_path, text, format="matrix", comment="!")
    assert edges_of(matrix) == {("r0", "c0"), ("r1", "c1")}
    assert matrix.summary.noted == {"stripped": 2, "comments": 2}
    assert edges_of(read(tmp_path / "t.csv", format="matrix", comment="!", strip=False)) == {
        ("r0", "c0"),
        (" r1", " c1"),
    }


def test_baskets_that_begin_like_metadata_are_baskets(tmp_path):
    text = "@CONVERTED_FROM_TEXT\n@ITEM=1=jam\n@ITEM=2=@tea\n1 2\n@ann 2\n@X\n"
    table = of_text(tmp_path, text, "t.dat", format="baskets")
    assert edges_of(table) == {(4, "jam"), (4, "@tea"), (5, "@ann"), (5, "@tea"), (6, "@X")}
    assert table.summary.noted == {"comments": 1}


def test_an_update_of_cells_is_read_as_cells(tmp_path):
    store = tmp_path / "store"
    bicliq.enumerate({"ann": {"jam": 1, "tea": 0}, "bob": {"jam": 2}}, store=store)
    account = bicliq.update(store, {"cid": {"jam": 1, "tea": 0}}).account
    assert (account["edges"], account["dropped"]) == (1, {"by_value": 1})


def test_a_comment_behind_a_byte_order_mark_is_counted(tmp_path, capsys):
    (tmp_path / "t.csv").write_bytes(b"\xef\xbb\xbf! a, b\nuser,item\nann,jam\n")
    words = ["enumerate", str(tmp_path / "t.csv"), "--left", "user", "--right", "item", "--comment", "!", "--json"]
    assert invoke(words) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["rows_read"], record["noted"]) == (1, {"comments": 1})


# ---- one policy, also of baskets and matrices ----------------------------------------------------


def test_a_quoted_word_for_a_missing_value_is_a_label_in_baskets(tmp_path):
    text = 'jam,"NA",tea\n"null",jam\n'
    table = of_text(tmp_path, text, format="baskets")
    assert edges_of(table) == {(1, "jam"), (1, "NA"), (1, "tea"), (2, "null"), (2, "jam")}
    assert "line 1: a right id is missing" in refusal(tmp_path, text.replace('"', ""), format="baskets")
    dropped = read(tmp_path / "t.csv", format="baskets", nulls="drop")
    assert (edges_of(dropped), dropped.summary.dropped_nulls) == ({(1, "jam"), (1, "tea"), (2, "jam")}, 2)
    assert "is missing" in refusal(tmp_path, "jam, NA\n", format="baskets")
    assert "is missing" in refusal(tmp_path, 'jam," NA "\n', format="baskets")  # as in edge tables


def test_a_quoted_word_for_a_missing_value_is_a_name_in_a_matrix(tmp_path):
    table = of_text(tmp_path, 'name,"NA",b\nx,1,0\n"null",1,1\n', format="matrix")
    assert edges_of(table) == {("x", "NA"), ("null", "NA"), ("null", "b")}
    assert "a column has no name" in refusal(tmp_path, "name,NA,b\nx,1,0\ny,0,1\n", format="matrix")
    assert "left id is missing" in refusal(tmp_path, "name,a,b\nx,1,0\nNA,0,1\n", format="matrix")


@pytest.mark.parametrize("door", ["text", "pandas", "polars"])
def test_names_of_a_matrix_that_lose_blanks_are_counted_as_labels_are(tmp_path, door):
    cells = {"id": [" x", "y", "z"], "a ": [1, 0, 1], " b": [1, 1, 0], "c": [0, 1, 1]}
    if door == "text":
        pd.DataFrame(cells).to_csv(tmp_path / "m.csv", index=False)
    source = {"text": tmp_path / "m.csv", "pandas": pd.DataFrame(cells), "polars": pl.DataFrame(cells)}[door]
    table = read_edge_table(source, IngestSettings(format="matrix"))
    assert edges_of(table) == {("x", "a"), ("x", "b"), ("y", "b"), ("y", "c"), ("z", "a"), ("z", "c")}
    assert table.summary.noted == {"stripped": 6}  # a label a row: x and a, x and b, b, a


@pytest.mark.parametrize(
    "cells", [{"id": ["x", " x"], "a": [1, 0], "b": [1, 1]}, {"id": ["x", "y"], "a": [1, 0], "a ": [1, 1]}]
)
@pytest.mark.parametrize("door", ["text", "pandas"])
def test_names_of_a_matrix_that_blanks_would_unite_are_refused(tmp_path, door, cells):
    pd.DataFrame(cells).to_csv(tmp_path / "m.csv", index=False)
    with pytest.raises(InputError, match=r"is there already|share a name|2 columns are called"):
        bicliq.enumerate(tmp_path / "m.csv" if door == "text" else pd.DataFrame(cells), format="matrix")


@pytest.mark.parametrize("n", part_of([1 << 17, (1 << 17) - 1, (1 << 17) + 1, 1 << 18], 2))
def test_comments_below_json_lines_are_counted(tmp_path, n):
    rows = "".join(f'{{"u":{i},"v":{i % 7}}}\n' for i in range(n))
    table = of_text(tmp_path, f"# a\n{rows}# b\n# c\n", "t.jsonl", comment="#")
    assert (len(table.left), table.summary.noted) == (n, {"comments": 3})


@pytest.mark.parametrize("least", [-1, 0, "nan", "inf", "1e999"])
def test_a_least_value_that_makes_no_sense_is_refused(tmp_path, least):
    (tmp_path / "m.csv").write_text("name,a,b\nx,1,0\ny,-1,2\n")
    with pytest.raises(InputError, match="min_value"):
        bicliq.enumerate(str(tmp_path / "m.csv"), format="matrix", min_value=least)
    assert len(bicliq.enumerate(str(tmp_path / "m.csv"), format="matrix", min_value=2)) == 1


@pytest.mark.parametrize("least", ["nan", "inf", "-inf"])
def test_a_least_weight_that_is_no_number_is_refused(least):
    with pytest.raises(InputError, match="min_weight"):
        load_settings(ingest={"min_weight": least})
