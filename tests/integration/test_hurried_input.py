"""What people give in a hurry: each is read as it is meant, or one clear error."""

from __future__ import annotations

import gzip
import http.server
import os
import re
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bicliq
from bicliq.pipeline.errors import InputError, StorageError
from bicliq.pipeline.settings import IngestSettings, load_settings
from bicliq.pipeline.stages.ingest import EdgeTable, read_edge_table

ROOT = Path(__file__).parents[2]


def read(source: Path | str, **settings: object) -> EdgeTable:
    return read_edge_table(source, IngestSettings(**settings))


def edges_of(table: EdgeTable) -> set[tuple[object, object]]:
    left, right = table.left_ids.to_pylist(), table.right_ids.to_pylist()
    return {(left[u], right[v]) for u, v in zip(table.left, table.right, strict=True)}


def refusal(folder: Path, name: str, content: str | bytes, **settings: object) -> str:
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        read(folder / name, **settings)
    message = str(caught.value)
    assert name in message
    assert len(message) < 1500
    return message


ROWS = "".join(f"u{i},i{i % 9}\n" for i in range(20_000))


@pytest.mark.parametrize("stray", ['"u9,i3\n', 'u9,"i3\n', '"u9,i3\n"u8",i1\n'])
@pytest.mark.parametrize("packed", [False, True])
def test_a_stray_quote_is_named_and_swallows_nothing(tmp_path, stray, packed):
    text = ("user,item\n" + ROWS + stray + ROWS).encode()
    message = refusal(tmp_path, "t.csv.gz" if packed else "t.csv", gzip.compress(text, mtime=0) if packed else text)
    for words in ("line 20002,", "is not closed on that line", "quotes = false", "multiline = true"):
        assert words in message


def test_a_quote_that_is_never_closed_is_named_where_fields_may_hold_line_breaks(tmp_path):
    message = refusal(tmp_path, "t.csv", "user,item\n" + ROWS + '"u9,i3\n' + ROWS, multiline=True)
    assert "line 20002: a quote opens there that no other closes" in message


def test_quotes_are_characters_where_that_is_said(tmp_path):
    (tmp_path / "t.tsv").write_text('user\titem\nann\t"Foo" Bar\nbob\t"\n')
    assert edges_of(read(tmp_path / "t.tsv", quotes=False)) == {("ann", '"Foo" Bar'), ("bob", '"')}
    with pytest.raises(InputError, match=r"line 2, column 1: .*quotes = false"):
        read(tmp_path / "t.tsv")


def test_a_header_in_quotes_may_hold_a_line_break(tmp_path):
    (tmp_path / "t.csv").write_text('"the\nuser",item\nann,x\n"b\nc",y\n')
    assert edges_of(read(tmp_path / "t.csv", multiline=True)) == {("ann", "x"), ("b\nc", "y")}


@pytest.mark.parametrize(("name", "content", "words"), [
    ("cr.csv", "user,item\rann,x\rbob,y\r", "carriage returns only"),
    ("cr.csv", "user,item\nann,x\rbob,y\n", "line 2: holds a carriage return"),
    ("utf16.csv", "user,item\nann,x\n".encode("utf-16"), "UTF-16"),
    ("utf16.csv", "user,item\nann,x\n".encode("utf-16-le"), "UTF-16"),
    ("latin.csv", "user,item\nJosé,x\n".encode("latin-1"), "line 2: byte 0xe9 is no UTF-8"),
    ("latin.csv", ("user,item\n" + ROWS + "José,x\n").encode("latin-1"), "line 20002, column user (left)"),
    ("t.json", '{"user": [' + "1234567890, " * 10_000, "is no JSON: "),
    ("t.csv", '[{"user": 1, "item": 2}]', "looks like JSON"),
    ("t.html", "<html>404, not found</html>\n", "HTML"),
    ("t.csv", gzip.compress(b"user,item\nann,x\n", mtime=0), "not called .gz"),
    ("t.csv", b"PK\x03\x04 whatever", "Excel"),
    ("t.csv", "user,item\n", "no edge is left: 0 rows were read"),
    ("t.csv", "", "0 bytes"),
    ("t.csv", "\n\n\n", "nothing but blanks"),
    ("t.csv", "ann\nbob\n", "name the delimiter"),
    ("t.csv", "user,item,\nann,x,\n", "3 columns"),
    ("t.csv", "user,item\nann,x,\n", "line 2, 3 columns: the lines before have 2"),
    ("t.csv", "user,item\n1,234,5\n", "line 2, 3 columns"),
    ("t.csv", "x" * 70_000 + "," + "y" * 70_000 + "," + "z" * 70_000 + "\n", "(70,000 characters)"),
])  # fmt: skip
def test_what_is_no_edge_table_is_refused_in_few_words(tmp_path, name, content, words):
    assert words in refusal(tmp_path, name, content)


def test_a_wrong_delimiter_is_guessed_at_in_the_message(tmp_path):
    assert "delimiter" in refusal(tmp_path, "t.csv", "user,item\nann,x\n", delimiter=";")


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    from bicliq.pipeline.formats import blocks

    monkeypatch.setattr(blocks, "FIRST_BYTES", 1000)
    monkeypatch.setattr(blocks, "LONGEST", 5000)
    message = refusal(tmp_path, "t.csv", "user,item\n" + "a,b\n" * 200 + "x" * 70_000 + ",1\n")
    assert "line 202: the line that begins 'xxxx" in message


@pytest.mark.parametrize(("text", "edges"), [
    ("user;item\nann;x\n", {("ann", "x")}),
    ('"who; when; how",what\n"Smith; Ann; Dr",x\n"Jones; Bob",y\n', {("Smith; Ann; Dr", "x"), ("Jones; Bob", "y")}),
    ("user,item\r\nann,x\nbob,y\r\n\r\n\ncid,z", {("ann", "x"), ("bob", "y"), ("cid", "z")}),
    ("user,item\n\"1,234\",5\n", {("1,234", 5)}),
    ("user, item\n1, 2\n", {(1, 2)}),
    ("a,0.5\nb,0.7\n", {("a", "0.5"), ("b", "0.7")}),
    ("ann,2020-01-01\nbob,2020-01-02\n", {("ann", "2020-01-01"), ("bob", "2020-01-02")}),
    ("\ufeffuser,item\nann,x\n", {("ann", "x")}),
    ("a\u2028b,x\nc,y\n", {("c", "y")}),
])  # fmt: skip
def test_tables_of_many_kinds_are_read_as_they_are_meant(tmp_path, text, edges):
    (tmp_path / "t.csv").write_bytes(text.encode())
    assert edges_of(read(tmp_path / "t.csv")) == edges


@pytest.mark.parametrize("name", ["T.CSV", "t.CSV.GZ", "t.Csv.Zst"])
def test_names_in_capitals_are_names(tmp_path, name):
    text = b"user,item\nann,x\n"
    pack = {"GZ": gzip.compress, "Zst": partial(pa.compress, codec="zstd", asbytes=True)}.get(
        name.split(".")[-1], bytes
    )
    (tmp_path / name).write_bytes(pack(text))
    assert edges_of(read(tmp_path / name)) == {("ann", "x")}


def test_a_pipe_is_refused_since_nothing_of_it_may_be_lost(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="is a pipe or a device"):
        read(tmp_path / "pipe.csv")


def test_standard_input_from_a_file_is_read_and_from_a_pipe_refused(tmp_path):
    (tmp_path / "t.csv").write_text("user,item\nann,x\n")
    command = [sys.executable, "-m", "bicliq.flows.cli", "enumerate", "/dev/stdin", "--json"]
    options = {"cwd": ROOT, "capture_output": True, "text": True}
    with open(tmp_path / "t.csv") as file:
        assert subprocess.run(command, stdin=file, **options).returncode == 0
    piped = subprocess.run(command, input="user,item\nann,x\n", **options)
    assert (piped.returncode, "Traceback" in piped.stderr) == (2, False)


# ---- dates, heads, quotes and comments -----------------------------------------------------------

DATES = {"user": ["a", "b", "c"], "item": ["x"] * 3, "t": [20260201, 20240101, 20200101]}


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "pandas", "floats", "polars", "arrow"])
def test_dates_of_eight_digits_are_not_read_as_seconds_of_1970(tmp_path, kind):
    def source(times: list[Any]) -> Any:
        columns = {**DATES, "t": times}
        if kind == "csv":
            pd.DataFrame(columns).to_csv(tmp_path / "t.csv", index=False)
        elif kind == "parquet":
            pq.write_table(pa.table(columns), tmp_path / "t.parquet")
        elif kind == "jsonl":
            pl.DataFrame(columns).write_ndjson(tmp_path / "t.jsonl")
        else:
            frame = {"polars": pl.DataFrame, "arrow": pa.table}.get(kind, pd.DataFrame)(columns)
            return frame.astype({"t": float}) if kind == "floats" and times == DATES["t"] else frame
        return tmp_path / f"t.{kind}"

    asked = {"left": "user", "right": "item", "time": "t", "window": "7d", "window_jump": "inf"}
    with pytest.raises(InputError, match=r"\(time\).*write 2026-02-01, or 1970-08-23T11:50:01 for seconds"):
        bicliq.enumerate(source(DATES["t"]), **asked)
    for times in (["2026-02-01", "2024-01-01", "2020-01-01"], ["1970-08-23T11:50:01", "1970-01-01", "1970-01-01"]):
        assert bicliq.enumerate(source(times), **asked).to_arrow()["left"].to_pylist() == [["a"]]


@pytest.mark.parametrize(("times", "what"), [
    ([2023, 2024], "four digits may be a year.*write 2023-01-01, or 1970-01-01T00:33:43"),
    ([45292.5, 45300], "days, as Excel counts them.*write 2024-01-01, or 1970-01-01T12:34:52"),
])  # fmt: skip
@pytest.mark.parametrize("kind", ["csv", "pandas"])
def test_years_and_days_of_excel_are_not_read_as_seconds_of_1970(tmp_path, times, what, kind):
    frame = pd.DataFrame({"u": ["a", "b"], "v": ["x", "x"], "t": times})
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(InputError, match=what):
        bicliq.enumerate(frame if kind == "pandas" else tmp_path / "t.csv", left="u", right="v", time="t", window="7d")


def test_a_message_about_a_time_quotes_that_time_alone(tmp_path):
    message = refusal(
        tmp_path, "t.csv", "u,v,t\na,x,21-07-2015\nb,x,05-01-2015\n", left="u", right="v", time="t", since="2015-01-02"
    )
    assert "'21-07-2015' is neither Unix seconds nor an ISO date (as 2026-01-31" in message
    assert "05-01" not in message


def test_digits_beyond_the_microsecond_are_no_reason_to_refuse_a_time(tmp_path):
    lines = ["u,v,t", "a,x,2026-11-28 10:00:00.123456789", "b,x,2026-11-28T10:00:01.1234567Z", "c,x,2026-11-28"]
    (tmp_path / "t.csv").write_text("\n".join([*lines, ""]))
    asked = {"left": "u", "right": "v", "time": "t"}
    found = bicliq.find(tmp_path / "t.csv", **asked, in_step="1s", min_left=2)
    (window,) = found.to_arrow()["windows"][0].as_py()
    assert (window["start"].isoformat(), window["end"].isoformat()) == (
        "2026-11-28T10:00:00.123456+00:00",
        "2026-11-28T10:00:01.123456+00:00",
    )
    (tmp_path / "t.csv").write_text("\n".join([*lines, "d,x,2026-11-28 10:00:00.12345678x", ""]))
    with pytest.raises(InputError, match=r"line 5.*'2026-11-28 10:00:00.12345678x' is neither"):
        bicliq.find(tmp_path / "t.csv", **asked, in_step="1s")


@pytest.mark.parametrize(("text", "settings", "edges"), [
    ("1,5;2\n2,5;3\n", {}, None),
    ("a;b,x\nc;d,x\n", {"header": False}, None),
    ("a;b,x\nc;d,x\n", {"header": False, "delimiter": ","}, {("a;b", "x"), ("c;d", "x")}),
    ("a;b,x\nc;d,x\n", {"header": False, "split": ";"}, {(u, "x") for u in "abcd"}),
    ("a,b;x\nc,d;x\n", {"header": False, "split": ","}, {(u, "x") for u in "abcd"}),
    ("u,v\na;b,x\n", {}, {("a;b", "x")}),
])  # fmt: skip
def test_a_delimiter_that_may_be_either_is_asked_for(tmp_path, text, settings, edges):
    if edges is None:
        assert "may be cut at ',' or ';'" in refusal(tmp_path, "t.csv", text, **settings)
        return
    (tmp_path / "t.csv").write_text(text)
    assert edges_of(read(tmp_path / "t.csv", **settings)) == edges


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("door", ["csv", "frame", "update"])
def test_names_of_columns_amid_the_rows_are_said(tmp_path, mark, door):
    text = "u,v\na,x\n"
    (tmp_path / "t.csv").write_text(text + mark + text)
    frame = pd.DataFrame({"u": ["a", f"{mark}u"], "v": ["x", "v"]})
    store = tmp_path / "store"
    if door == "update":
        bicliq.enumerate(pd.DataFrame({"u": ["b"], "v": ["x"]}), store=store)
        assumed = bicliq.update(store, tmp_path / "t.csv").account["assumed"]
    else:
        assumed = bicliq.enumerate(frame if door == "frame" else tmp_path / "t.csv").account["assumed"]
    assert [sentence for sentence in assumed if "the names of the columns, 'u' and 'v', are labels as well" in sentence]


def test_labels_that_differ_in_what_is_not_seen_are_counted_and_said(tmp_path):
    (tmp_path / "t.csv").write_text("u,v\na\u200b,x\na,x\nb,x\u00ad\n")
    summary = read(tmp_path / "t.csv").summary
    assert summary.noted == {"alike_but_for_unseen": 2}
    assert any(r"as 'a' and 'a\u200b'" in sentence for sentence in summary.assumed)
    (tmp_path / "t.csv").write_text("u,v\na,\u200b\nb,x\n")
    assert "is of characters alone that are not seen, as '\\u200b'" in "".join(read(tmp_path / "t.csv").summary.assumed)


def test_names_of_people_are_no_lists(tmp_path):
    for names, said in (('"Smith, John"\n"Ó Briain, Máire"', 0), ('"jam, tea"\n"oil, tea"', 1)):
        (tmp_path / "t.csv").write_text("u,v\n" + "".join(f"{name},x\n" for name in names.split("\n")))
        assert len(read(tmp_path / "t.csv").summary.assumed) == 1 + said


@pytest.mark.parametrize(("text", "words"), [
    ("ann,jam\n", "line 1 (ann, jam) was taken for names of columns; say header = false"),
    ("# nothing\n# here\n", "holds nothing but comments"),
    ("version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12\n", "a pointer of Git LFS"),
    ("a,b,c\n1,10,0.5\n2,10,3\n", "a row has, read it with format = 'matrix'"),
    ("user_id,item_id,rating\n1,10,5\n2,10,3\n", "name them, as in left = 'user_id', right = 'item_id'"),
    ("u,i,r\n1,10,5\n1,11,3\n", "name them, as in left = 'u', right = 'i'"),
])  # fmt: skip
def test_a_table_that_is_none_or_not_clear_says_why(tmp_path, text, words):
    assert words in refusal(tmp_path, "t.csv", text)


def test_a_delimiter_may_be_written_as_hive_does(tmp_path):
    (tmp_path / "t.csv").write_text("ann\x01jam\n1\x012\n")
    assert edges_of(read(tmp_path / "t.csv", delimiter="\\x01", header=False)) == {("ann", "jam"), ("1", "2")}


def test_a_settings_file_of_windows_is_read_and_a_lost_setting_found(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("bicliq.toml").write_text("\ufeff[search]\nmin_left = 3\n", encoding="utf-8")
    assert load_settings().search.min_left == 3
    Path("bicliq.toml").write_text("min_left = 3\n")
    with pytest.raises(InputError, match=r"did you mean search\.min_left\?"):
        load_settings()


def test_questions_take_lists_of_labels_and_weights_that_are_numbers():
    table = {"ann": ["x"], "a": ["x"], "n": ["x"]}
    for name in ("containing", "within"):
        with pytest.raises(InputError, match=rf"{name} = 'ann' is one label, and a list is asked for: \['ann'\]"):
            bicliq.find(table, **{name: "ann"})
    with pytest.raises(InputError, match="left_weights: 'ann' weighs nan"):
        bicliq.find(table, by="weight", left_weights={"ann": float("nan")})


@pytest.mark.parametrize("name", ["since", "until"])
def test_a_date_of_eight_digits_is_no_second_in_settings(name):
    with pytest.raises(InputError, match=r"Write 2024-01-01; Unix seconds that are meant are 20240101\.0"):
        load_settings(ingest={"time": "t", name: "20240101"})
    assert load_settings(ingest={"time": "t", name: "20240101.0"})


def test_an_update_with_dates_of_eight_digits_is_refused(tmp_path):
    store = tmp_path / "store"
    asked = {"left": "u", "right": "v", "time": "t", "window": "7d"}
    bicliq.enumerate(pa.table({"u": ["a"], "v": ["x"], "t": ["2026-02-01"]}), store=store, **asked)
    with pytest.raises(InputError, match="write 2026-02-03"):
        bicliq.update(store, pa.table({"u": ["b"], "v": ["x"], "t": [20260203]}))


@pytest.mark.parametrize(("text", "settings", "edges", "said"), [
    ('"jam" "tea"\n"1" 1 0\n"2" 1 1\n', {"format": "matrix"}, {(1, "jam"), (2, "jam"), (2, "tea")}, "'jam', 'tea'"),
    ('"jam tea" "oil"\n"oil" egg\n', {"format": "baskets"}, {(1, "jam tea"), (1, "oil"), (2, "oil"), (2, "egg")}, None),
    ('"jam tea"\n', {"format": "baskets", "quotes": False}, {(1, '"jam'), (1, 'tea"')}, None),
    ("# transactions\njam tea\n", {"format": "baskets"}, {(2, "jam"), (2, "tea")}, "line 1 was taken for comments"),
    ("#a b\nb\n", {"format": "baskets", "header": False}, {(1, "#a"), (1, "b"), (2, "b")}, None),
    ("#a b\n#b\n", {"format": "baskets"}, {(1, "#a"), (1, "b"), (2, "#b")}, None),
    ("# sets\td\tx\nA\td\ty\n", {"format": "gmt"}, {("A", "y")}, "line 1 was taken for comments"),
    ("sep=;\nid;jam;tea\nann;1;0\nbob;0;1\n", {"format": "matrix"}, {("ann", "jam"), ("bob", "tea")}, "'id', 'jam'"),
    ("sep=;\njam;tea\n", {"format": "baskets"}, {(2, "jam"), (2, "tea")}, None),
    ("// c\nid,jam,tea\nann,1,0\nbob,0,1\n", {"format": "matrix"}, {("ann", "jam"), ("bob", "tea")}, "line 1 was taken"),
    ("id,i1,i2\n1,a,b\n2,a,\n", {"format": "baskets", "nulls": "drop", "header": True},
     {(2, "1"), (2, "a"), (2, "b"), (3, "2"), (3, "a")}, None),
    ("id,i1\na,b\nb,a\n", {"format": "baskets"},
     {(1, "id"), (1, "i1"), (2, "a"), (2, "b"), (3, "b"), (3, "a")}, "header = true if it is names"),
])  # fmt: skip
def test_lists_and_matrices_have_the_heads_and_quotes_of_other_text(tmp_path, text, settings, edges, said):
    (tmp_path / "t.txt").write_text(text)
    table = read(tmp_path / "t.txt", **settings)
    assert edges_of(table) == edges
    assert any(said in sentence for sentence in table.summary.assumed) if said else not table.summary.assumed


@pytest.mark.parametrize(("text", "settings"), [
    ("id,jam,tea\nann,1,0\nbob,0,1\n#comment\n", {"format": "matrix"}),
    ("id,jam,tea\nann,1,0\n#comment\nbob,0,1\n", {"format": "matrix"}),
    ("id,jam\nann,1\nbob,0\n#comment\n", {}),
])  # fmt: skip
def test_a_comment_among_the_rows_is_named_with_its_cure(tmp_path, text, settings):
    message = refusal(tmp_path, "t.csv", text, **settings)
    assert f"line {text[: text.index('#')].count(chr(10)) + 1}" in message
    assert "comment = '#'" in message
    assert len(read(tmp_path / "t.csv", comment="#", **settings).left) == 2


def test_a_quote_that_encloses_no_item_is_refused_between_blanks(tmp_path):
    message = refusal(tmp_path, "t.txt", 'jam "tea\n', format="baskets")
    assert "line 1, column 1: the quote before 'tea' is not closed" in message


def test_a_ragged_table_with_names_is_no_list_of_baskets_with_a_basket_of_names(tmp_path):
    assert "format = 'baskets' (and header = true if line 1 is names)" in refusal(
        tmp_path, "t.csv", "user,item\na,1,5\n"
    )
    assert edges_of(read(tmp_path / "t.csv", format="baskets", header=True)) == {(2, "a"), (2, "1"), (2, "5")}


# ---- matrices, titles and names: no advice that ends in wrong edges ------------------------------

OTU = "# Constructed from biom file\n#OTU ID\tS1\tS2\nO1\t5.0\t0.0\nO2\t1.0\t2.0\n"
CELLS = (("T", "F"), ("✓", ""), ("50%", "0%"), ('"0,5"', '"1,5"'), ('"1,000"', '"2,500"'), ("-1", "1"),
         ("1e-3", "0.5"), ("inf", "1"), ("1", "0"), ("7", "3"))  # fmt: skip


@pytest.mark.parametrize("text", [
    OTU,
    OTU.replace("S2\n", "S2\ttaxonomy\n").replace("0.0\n", "0.0\tk__B; p__P\n").replace("2.0\n", "2.0\tk__A; p__Q\n"),
    OTU.replace("O1", "447").replace("O2", "448"),
    "name\tS1\tS2\ttaxonomy\nO1\t5\t4\tk__B\nO2\t1\t2\tk__A\n",
    "id,2019,2020\nann,1,0\nbob,1,1\n",
    *(f"id,jam,tea\nann,{a},{b}\nbob,{b},{a}\ncid,{a},{a}\n" for a, b in CELLS),
])  # fmt: skip
@pytest.mark.parametrize("door", ["file", "frame"])
def test_two_columns_of_what_may_be_a_matrix_are_never_advised(tmp_path, text, door):
    name = "t.tsv" if "\t" in text else "t.csv"
    (tmp_path / name).write_text(text)
    frame = pd.read_csv(tmp_path / name, sep=None, engine="python", skiprows=int(text.startswith("# ")))
    source = tmp_path / name if door == "file" else frame
    with pytest.raises(InputError, match="format = 'matrix'") as caught:
        bicliq.enumerate(source)
    assert "left = " not in str(caught.value)
    if "%" in text or '"' in text or "inf" in text:
        with pytest.raises(InputError) as caught:
            bicliq.enumerate(source, format="matrix")
        assert re.search("is no cell of a matrix.*(write |mend it)|not finite", str(caught.value))
        assert "left = " not in str(caught.value)
    else:
        assert bicliq.count(source, 1, 1, format="matrix") > 0


def test_amounts_of_ids_and_weights_can_be_said_to_be_edges(tmp_path):
    (tmp_path / "t.csv").write_text("user,item,stars\nann,17,4\nbob,18,5\n")
    assert "say left and right if a row is an edge" in refusal(
        tmp_path, "t.csv", "user,item,stars\nann,17,4\nbob,18,5\n"
    )
    assert edges_of(read(tmp_path / "t.csv", left="user", right="item")) == {("ann", 17), ("bob", 18)}


@pytest.mark.parametrize("item", ["x", "jam"])
def test_numbers_of_columns_are_not_advised_where_line_1_may_be_names(tmp_path, item):
    message = refusal(tmp_path, "t.csv", f"user,item,2024-01-01\na,{item},1\nb,{item},2\n")
    assert "say header = true if line 1 holds names, else header = false, and then " in message
    assert edges_of(read(tmp_path / "t.csv", header=True, left="0", right="1")) == {("a", item), ("b", item)}
    assert "header" not in refusal(tmp_path, "t.csv", f"a,{item},1\nb,{item},2\n", header=False)


@pytest.mark.parametrize(
    "title", ["Report of sales, 2024\n\n", "Report of sales, 2024\n", "Report, 3, sales\n\n", "Sales\n\n"]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("items", ["xx", "17"])
def test_a_title_is_no_edge(tmp_path, title, end, items):
    text = f"{title}user,item\na,{items[0]}\nb,{items[1]}\n".replace("\n", end)
    message = refusal(tmp_path, "t.csv", text)
    skip = re.findall("skip = ([0-9])", message)[0]
    assert edges_of(read(tmp_path / "t.csv", skip=int(skip), ids="text")) == {("a", items[0]), ("b", items[1])}
    if title.startswith("Report of"):
        assert len(read(tmp_path / "t.csv", header=False).left) == 4


@pytest.mark.parametrize(
    "text", ["a,1\n\nb,2\n\nc,3\n", "1,2\n\n3,4\n5,6\n", "a,1\nb,2\n\nc,3\n", "a,1\nb,x\n", "a,1\nb,x\nc,3\n"]
)
def test_blank_lines_between_rows_make_no_title(tmp_path, text):
    (tmp_path / "t.csv").write_text(text)
    assert len(read(tmp_path / "t.csv").left) == text.count(",")


@pytest.mark.parametrize("door", ["file", "frame"])
@pytest.mark.parametrize("delete", [False, True])
def test_an_update_says_which_numbers_the_run_writes_otherwise(tmp_path, door, delete):
    (tmp_path / "a.csv").write_text("u,v\n007,x\n008,x\nann,x\n")
    bicliq.enumerate(tmp_path / "a.csv", store=tmp_path / "store")
    (tmp_path / "b.csv").write_text("u,v\n7,x\n8.0,x\n70,x\n")
    new = tmp_path / "b.csv" if door == "file" else pd.DataFrame({"u": ["7", "8.0", "70"], "v": ["x"] * 3})
    account = bicliq.update(tmp_path / "store", new, delete=delete).account
    assert account["noted"] == {"alike_in_the_run_but_for_zeros": 2}
    assert "for zeros, as '7' and '007'; write them as there" in account["assumed"][-1]
    assert "fold" not in account["assumed"][-1]


# ---- far away ------------------------------------------------------------------------------------


@pytest.fixture
def web(tmp_path):
    """URL of a folder behind a web server."""
    (tmp_path / "t.csv").write_text("user,item\nann,x\n")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_table_on_the_web_is_read_and_one_that_is_not_there_is_refused(web):
    pytest.importorskip("aiohttp")
    assert edges_of(read(f"{web}/t.csv")) == {("ann", "x")}
    with pytest.raises(InputError, match="no such file"):
        read(f"{web}/absent.csv")


def test_a_server_that_gives_no_parts_of_files_is_named_and_sheets_are_read(tmp_path, web):
    pytest.importorskip("aiohttp")
    frame = pd.DataFrame({"user": ["ann", "bob"], "item": ["jam", "tea"]})
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        frame.to_excel(book, sheet_name="Data", index=False)
        frame.to_excel(book, sheet_name="More", index=False)
    assert edges_of(read(f"{web}/two.xlsx::Data")) == {("ann", "jam"), ("bob", "tea")}
    with pytest.raises(InputError, match="holds 2 sheets"):
        read(f"{web}/two.xlsx")
    ids = np.random.default_rng(0).permutation(1 << 21)
    pq.write_table(pa.table({"user": ids, "item": ids[::-1]}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"t\.parquet: its server gives whole files alone.*fetch it first"):
        read(f"{web}/t.parquet")


@pytest.mark.parametrize(("library", "url"), [("aiohttp", "http://127.0.0.1:9/t.csv"), ("s3fs", "s3://bucket/t.csv")])
def test_a_server_that_is_down_is_one_error(monkeypatch, library, url):
    module = pytest.importorskip(library)
    keys = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "x")
    for name, value in {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_MAX_ATTEMPTS": "1", **keys}.items():
        monkeypatch.setenv(name, value)
    if library == "s3fs":
        module.S3FileSystem.clear_instance_cache()
    with pytest.raises(StorageError, match="cannot be reached"):
        read(url)
    if library == "s3fs":
        module.S3FileSystem.clear_instance_cache()
