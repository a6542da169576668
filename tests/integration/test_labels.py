"""Labels come out as the text that went in, through the whole command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bicliq.flows.cli import invoke
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.settings import NULL_WORDS, IngestSettings, load_settings
from bicliq.pipeline.stages.ingest import EdgeTable, read_edge_table


def read(source: Path, **settings: object) -> EdgeTable:
    return read_edge_table(source, IngestSettings(**settings))


def edges_of(table: EdgeTable) -> set[tuple[object, object]]:
    left, right = table.left_ids.to_pylist(), table.right_ids.to_pylist()
    return {(left[u], right[v]) for u, v in zip(table.left, table.right, strict=True)}


def write(folder: Path, text: str, name: str = "t.csv") -> Path:
    (folder / name).write_bytes(text.encode())
    return folder / name


def test_zip_codes_keep_their_zeros_from_the_file_to_the_answer(tmp_path, capsys):
    path = write(tmp_path, "zip,item\n01234,x\n1234,y\n")
    assert invoke(["run", str(path), "--store", str(tmp_path / "store"), "--local", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["ingest"]["columns"] == {"left": "zip", "right": "item"}
    assert record["ingest"]["labels"] == {"left": "text", "right": "text"}
    assert invoke(["top", "--store", str(tmp_path / "store"), "--json"]) == 0
    groups = json.loads(capsys.readouterr().out)["bicliques"]
    assert {(*group["left"], *group["right"]) for group in groups} == {("01234", "x"), ("1234", "y")}


def test_the_columns_and_their_kinds_are_said_with_every_run(tmp_path, capsys):
    path = write(tmp_path, "zip,item\n01234,3\n1234,4\n")
    for command in (["run", str(path), "--local"], ["ingest", str(path)]):
        assert invoke([*command, "--store", str(tmp_path / "store")]) == 0
        assert "left: zip (text), right: item (numbers)" in capsys.readouterr().out


@pytest.mark.parametrize("odd", ["007", "+5", "-0", "1e3", "0x1F", "9223372036854775808", "1_000", "٣"])
@pytest.mark.parametrize("at", [0, 1, 70_000])
def test_one_label_that_no_number_is_written_like_makes_its_side_text(tmp_path, odd, at):
    rows = [f"{i},{i % 7}" for i in range(70_000)]
    rows.insert(at, f"{odd},3")
    table = read(write(tmp_path, "user,item\n" + "\n".join(rows)))
    assert table.summary.labels == {"left": "text", "right": "numbers"}
    assert set(table.left_ids.to_pylist()) == {odd, *map(str, range(70_000))}


def test_negative_numbers_are_numbers_in_their_order(tmp_path):
    table = read(write(tmp_path, "a,b\n-1,5\n3,-9223372036854775808\n-20,5\n"))
    assert table.left_ids.to_pylist() == [-20, -1, 3]
    assert edges_of(table) == {(-1, 5), (3, -(2**63)), (-20, 5)}


def test_ids_are_text_where_that_is_asked(tmp_path, monkeypatch):
    path = write(tmp_path, "a,b\n10,5\n9,5\n")
    assert read(path, ids="text").left_ids.to_pylist() == ["10", "9"]
    assert read(path).left_ids.to_pylist() == [9, 10]
    monkeypatch.setenv("BICLIQ__INGEST__IDS", "text")
    assert read_edge_table(path, load_settings().ingest).right_ids.to_pylist() == ["5"]


def test_equal_labels_are_equal_text_whatever_the_kinds_of_the_sides(tmp_path):
    path = write(tmp_path, "a,b\n5,5\n5,05\n6,x\n")
    assert edges_of(read(path, self_labels="drop")) == {(5, "05"), (6, "x")}
    with pytest.raises(InputError, match=r"t\.csv, line 2: an edge has the same label 5"):
        read(path, self_labels="error")


def test_a_label_may_be_as_long_as_it_likes(tmp_path):
    path = write(tmp_path, f'a,b\n{"x" * 300_000},1\n"{"y" * 300_000}",2\n')
    assert {len(label) for label in read(path).left_ids.to_pylist()} == {300_000}


# ---- words for missing values --------------------------------------------------------------------


@pytest.mark.parametrize("word", NULL_WORDS)
def test_a_word_for_a_missing_value_is_named_with_both_ways_out(tmp_path, word):
    path = write(tmp_path, f"a,b\nx,1\n{word},2\n")
    with pytest.raises(InputError) as caught:
        read(path)
    for words in ("line 3, column a (left)", repr(word), "nulls = 'drop'", "null_values = []"):
        assert words in str(caught.value)
    dropped = read(path, nulls="drop")
    assert edges_of(dropped) == {("x", 1)}
    assert dropped.summary.dropped_nulls == 1
    assert edges_of(read(path, null_values=[])) == {("x", 1), (word, 2)}


def test_a_quoted_word_is_text(tmp_path):
    assert edges_of(read(write(tmp_path, 'a,b\n"NA",1\n'))) == {("NA", 1)}


def test_other_words_may_mean_a_missing_value(tmp_path):
    path = write(tmp_path, "a,b\n-1,1\nNA,2\n3,-\n4,\n")
    table = read(path, null_values="-1,-", nulls="drop")
    assert edges_of(table) == {("NA", 2)}
    assert table.summary.dropped_nulls == 3


def test_numbers_that_mean_a_missing_value_are_none(tmp_path):
    table = read(write(tmp_path, "a,b\n-1,1\n7,99\n8,5\n"), null_values=["-1", "99"], nulls="drop")
    assert edges_of(table) == {(8, 5)}


def test_an_empty_field_is_missing_whatever_the_words_are(tmp_path):
    path = write(tmp_path, "a,b\n,1\nx,2\n")
    with pytest.raises(InputError, match="the field is empty"):
        read(path, null_values=[])


def test_missing_weights_and_times_are_dropped_and_counted_like_ids(tmp_path):
    path = write(tmp_path, "a,b,w,t\nx,1,5,2020-01-01\ny,1,NA,2020-01-01\nz,1,5,null\n")
    options = {"left": "a", "right": "b", "weight": "w", "min_weight": 1, "time": "t", "since": "2019-01-01"}
    with pytest.raises(InputError, match=r"line 3, column w \(weight\): the weight is missing"):
        read(path, **options)
    table = read(path, nulls="drop", **options)
    assert edges_of(table) == {("x", 1)}
    assert (table.summary.dropped_nulls, table.summary.dropped_by_time) == (2, 0)


@pytest.mark.parametrize(("variable", "expected"), [("-,?", ("-", "?")), ("", ())])
def test_words_come_from_the_environment_too(monkeypatch, variable, expected):
    monkeypatch.setenv("BICLIQ__INGEST__NULL_VALUES", variable)
    assert load_settings().ingest.null_values == expected


# ---- times ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("late", ["2020-07-01T00:00:00Z", "2020-07-01T02:00:00+02:00"])
def test_times_with_a_zone_are_read(tmp_path, late):
    path = write(tmp_path, f"a,b,t\nx,1,2020-01-01T00:00:00Z\ny,1,{late}\n")
    assert edges_of(read(path, time="t", since="2020-07-01")) == {("y", 1)}
    assert edges_of(read(path, time="t", until="2020-07-01")) == {("x", 1)}


def test_milliseconds_are_not_taken_for_seconds(tmp_path):
    path = write(tmp_path, "a,b,t\nx,1,1577836800\ny,1,1577836800000\n")
    with pytest.raises(InputError, match=r"line 3, column t \(time\): '1577836800000'.*milliseconds"):
        read(path, time="t", since="2019-01-01")


def test_the_last_day_of_all_is_a_day(tmp_path):
    path = write(tmp_path, "a,b,t\nx,1,9999-12-31\ny,1,2019-01-01\n")
    assert edges_of(read(path, time="t", since="2020-01-01")) == {("x", 1)}


@pytest.mark.parametrize("name", ["since", "until"])
def test_milliseconds_in_a_setting_are_refused(name):
    with pytest.raises(InputError, match=r"1577836800000 is beyond the year 9999: .*not milliseconds"):
        load_settings(ingest={"time": "t", name: "1577836800000"})


@pytest.mark.parametrize("time", ["2020-02-30", "2020-02-01 01:00 PM", "2020-02-01 01:00:00 +0100", "1577836800000"])
def test_a_time_that_is_written_as_all_others_is_not_to_be_written_as_these(tmp_path, time):
    with pytest.raises(InputError, match="write all of the column as 2026-01-31T12:00, or all as Unix seconds"):
        read(write(tmp_path, f"a,b,t\nx,1,{time}\n"), time="t", since="2019-01-01")


@pytest.mark.parametrize("numbers", [False, True])
def test_a_missing_value_of_postgresql_is_no_label(tmp_path, numbers):
    path = write(tmp_path, "u,v\n1,2\n3,\\N\n" if numbers else "u,v\nann,jam\nbob,\\N\n")
    with pytest.raises(InputError, match=r"line 3, column v \(right\): .*is a word for a missing value"):
        read(path)
    assert edges_of(read(path, nulls="drop")) == {(1, 2) if numbers else ("ann", "jam")}


@pytest.mark.parametrize("mark", ["\u200f", "\u200e", "\u2066", "\u202a"])
def test_marks_of_direction_are_not_seen(tmp_path, mark):
    summary = read(write(tmp_path, f"u,v\n{mark}ann,x\nann,x\n")).summary
    assert summary.noted == {"alike_but_for_unseen": 1}


@pytest.mark.parametrize(
    ("name", "text"), [("t.gmt", 's1\tna\t"A"\ts\n'), ("t.csv", 'u,v\ns1,"=""007"""\ns1,"""A"""\n')]
)
def test_quotes_that_are_part_of_a_label_are_said(tmp_path, name, text):
    summary = read(write(tmp_path, text, name)).summary
    assert summary.noted["quoted"] == text.count("s1")
    assert any("in quotes" in sentence for sentence in summary.assumed)


@pytest.mark.parametrize(
    ("name", "text", "settings"),
    [
        ("t.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n", {"header": False}),
        ("out.t", "% bip\n1 1\n", {"fold": "case"}),
        ("t.adj", "0 1\n", {"split": ";"}),
        ("t.cxt", "B\n\n1\n1\n\no\na\nX\n", {"delimiter": ";"}),
        ("t.gmt", "s\tna\tA\n", {"quotes": False}),
        ("t.net", '*Vertices 2 1\n1 "a"\n2 "x"\n*Edges\n1 2\n', {"header": True}),
        ("t.dl", "dl nr=1 nc=1 format=edgelist2\nlabels embedded\ndata:\na x\n", {"multiline": True}),
    ],
)
def test_a_setting_without_effect_on_a_format_of_its_own_is_said(tmp_path, name, text, settings):
    (name_of,) = settings
    (said,) = read(write(tmp_path, text, name), **settings).summary.assumed
    assert f"{name_of} = " in said
    assert "has no effect on format" in said


@pytest.mark.parametrize(("label", "said"), [("4.00538E+12", 1), ("4,00538E+12", 1), ("1E5", 0), ("E+12", 0)])
def test_a_number_that_a_sheet_shortened_is_said(tmp_path, label, said):
    summary = read(write(tmp_path, f"u;v\n{label};x\n{label};y\nann;x\n")).summary
    assert summary.noted == ({"rounded": 1} if said else {})
    assert len([one for one in summary.assumed if "several ids may have become one" in one]) == said


@pytest.mark.parametrize("value", ['"a\\ud800"', '["x", "a\\ud800"]'])
def test_half_a_character_is_named_with_its_line(tmp_path, value):
    path = write(tmp_path, f'{{"u": "b", "v": "x"}}\n{{"u": "c", "v": {value}}}\n', "t.jsonl")
    with pytest.raises(InputError, match=r"line 2, column v: .* holds half a character"):
        read(path)


@pytest.mark.parametrize("rows", ["ann,x\n\ufeffcid,x\n", "ann,x\n" * 30_000 + "cid\0,x\n"])
def test_marks_of_byte_order_and_zero_bytes_in_a_label_are_said(tmp_path, rows):
    summary = read(write(tmp_path, "u,v\n" + rows)).summary
    assert summary.noted == {"marked": 1}
    assert any("a mark of byte order or a zero byte" in sentence for sentence in summary.assumed)
