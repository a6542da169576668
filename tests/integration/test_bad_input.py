"""Bad input: exit code 2, one clear message that says where and what to do, and nothing
published."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest

import bicliq
from bicliq.flows.cli import invoke

GOOD = "user,item\na,x\na,y\nb,x\n"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


def refused(capsys: pytest.CaptureFixture[str], store: Path, *arguments: str) -> str:
    """Run `bicliq run` on bad input, check what always holds, and return its message."""
    code = invoke(["run", *arguments, "--store", str(store), "--local"])
    captured = capsys.readouterr()
    assert code == 2, captured.err
    assert captured.out == ""
    assert "Traceback" not in captured.err
    assert len(captured.err.strip().splitlines()) == 1
    assert not list(store.rglob("manifest.json"))
    assert not list(store.rglob("graph.json"))
    return captured.err


def write(folder: Path, name: str, text: str | bytes) -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_a_missing_file(tmp_path, store, capsys):
    message = refused(capsys, store, str(tmp_path / "absent.csv"))
    assert "absent.csv" in message
    assert "no such file" in message


def test_an_empty_file(tmp_path, store, capsys):
    message = refused(capsys, store, write(tmp_path, "empty.csv", ""))
    assert "empty.csv" in message
    assert "the file is empty" in message


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\x00\x01", b"a,b\n\x00\x00,1\n", b"a,b\n\xff\xfe\xfd,2\n"])
def test_a_binary_file(tmp_path, store, capsys, content):
    message = refused(capsys, store, write(tmp_path, "data.csv", content))
    assert "data.csv" in message
    assert "binary file" in message


def test_a_damaged_gzip_file(tmp_path, store, capsys):
    message = refused(capsys, store, write(tmp_path, "data.csv.gz", b"\x1f\x8b\x08 no gzip at all"))
    assert "is damaged or cut off" in message


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("t.csv.gz", GOOD.encode(), "is text, and not compressed with gzip, as its name says"),
        ("t.csv.bz2", gzip.compress(GOOD.encode(), mtime=0), "is compressed with gzip, and not compressed with bzip2"),
        ("t.csv", b"PAR1\x15\x04", "is a Parquet file: say --format parquet"),
        ("t.db", b"SQLite format 3\0\x10", "is a database of SQLite"),
        ("t.feather", b"ARROW1\0\0\xff\xff", "is an Arrow file"),
        ("t.npy", b"\x93NUMPY\x01\0v\0{'descr'", "is a NumPy array"),
        ("t.xls", b"\xd0\xcf\x11\xe0\xa1\xb1", "is an old Excel workbook"),
        ("t.h5", b"\x89HDF\r\n\x1a\n", "is an HDF5 file"),
        ("t.pdf", b"%PDF-1.7\n%\xe2\xe3", "is a PDF file"),
        ("t.bin", b"\x82ab\0\0\xff\xfe\0\0", "name its encoding"),
        ("t.sql", "CREATE TABLE t(u,v);\nINSERT INTO t VALUES('ann','jam');\n", "looks like a dump of SQL"),
        ("t.csv", "-- PostgreSQL\nCOPY t FROM stdin;\n", "looks like a dump of SQL"),
    ],
)
def test_what_a_file_is_instead_of_a_table_is_named(tmp_path, store, capsys, name, content, what):
    assert what in refused(capsys, store, write(tmp_path, name, content))


@pytest.mark.parametrize("source", ["", "s3://"])
def test_a_source_that_names_nothing_is_no_folder(source, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "good.csv", GOOD)
    with pytest.raises(bicliq.InputError, match="names no file"):
        bicliq.enumerate(source)


def test_a_table_in_a_zip_archive_is_read_to_its_end(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("t.csv", GOOD)
    assert len(bicliq.enumerate(f"zip://t.csv::{tmp_path}/t.zip")) == 2


@pytest.mark.parametrize("name", ["out.txt", "out.csv"])
def test_a_table_called_out_is_no_file_of_konect(tmp_path, name):
    assert len(bicliq.enumerate(write(tmp_path, name, GOOD.replace(",", "\t")))) == 2


@pytest.mark.parametrize("head", ["[\n  {\n    ", "[\n{", " [ {", "{\n"])
def test_objects_are_told_however_they_are_set(tmp_path, head):
    body = '"u": "a", "v": "x"}' + ("]" if "[" in head else "")
    path = write(tmp_path, "t.json", head + body)
    if "[" in head:
        assert len(bicliq.enumerate(path)) == 1
        return
    with pytest.raises(bicliq.InputError, match=r"line 1: .* a line holds one object, as jq -c \. writes them"):
        bicliq.enumerate(path)


@pytest.mark.parametrize("text", ["%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1\n", "% bip\n1 1\n2\n"])
def test_a_line_of_numbers_is_not_said_to_be_a_basket(tmp_path, text):
    with pytest.raises(bicliq.InputError, match=r"; mend the line, or drop such lines") as caught:
        bicliq.enumerate(write(tmp_path, "t.mtx" if text[1] == "%" else "out.t", text))
    assert "baskets" not in str(caught.value)


def test_a_wrong_column_names_those_there_are(tmp_path, store, capsys):
    message = refused(capsys, store, write(tmp_path, "good.csv", GOOD), "--left", "person", "--right", "item")
    assert "'person'" in message
    assert "'user', 'item'" in message


@pytest.mark.parametrize("line", ["b", "b,x,extra"])
def test_a_ragged_line_is_named(tmp_path, store, capsys, line):
    message = refused(
        capsys, store, write(tmp_path, "ragged.csv", GOOD + line + "\nc,z\n"), "--left", "user", "--right", "item"
    )
    assert "line 5" in message
    assert "--ragged drop" in message


def test_a_ragged_konect_line_is_named(tmp_path, store, capsys):
    message = refused(capsys, store, write(tmp_path, "out.x", "% bip\n1 1 1 5\n1 2 1\n2 2 1 5\n"), "--since", "1")
    assert "line 3" in message


@pytest.mark.parametrize(
    ("name", "text", "line", "value"),
    [
        ("out.neg", "% bip\n1 1\n-3 2\n", 3, "-3"),
        ("out.huge", "% bip\n1 1\n99999999999999999999 2\n", 3, "99999999999999999999"),
        ("out.hex", "% bip\n1 1\n0x1F 2\n", 3, "0x1F"),
        ("out.long", f"% bip\n1 1\n{'9' * 5000} 2\n", 3, "(5,000 characters)"),
        ("out.zero", "% bip\n% 2 3 3\n1 1\n0 2\n", 4, "0"),
        ("out.big", "% bip\n% 2 3 3\n1 1\n2 9\n", 4, "9"),
        ("m.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n3 1\n", 4, "3"),
        ("g.adj", "0 1\n-1 2\n", 2, "-1"),
        ("h.adj", "0 1\n5 99999999999999999999\n", 2, "99999999999999999999"),
        ("l.adj", f"0 1\n5 {'9' * 5000}\n", 2, "(5,000 characters)"),
    ],
)
def test_a_negative_or_huge_id_is_named(tmp_path, store, capsys, name, text, line, value):
    message = refused(capsys, store, write(tmp_path, name, text))
    assert f"line {line}" in message
    assert value in message


@pytest.mark.parametrize("text", ["user,item\n1,2\n,4\n", "user,item\na,b\nc,\n"])
def test_a_null_is_named(tmp_path, store, capsys, text):
    message = refused(capsys, store, write(tmp_path, "null.csv", text))
    assert "line 3" in message
    assert "--nulls drop" in message


def test_a_null_in_parquet_is_named(tmp_path, store, capsys):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"u": [1, None, 3], "v": [1, 2, 3]}), tmp_path / "null.parquet")
    message = refused(capsys, store, str(tmp_path / "null.parquet"))
    assert "left" in message
    assert "--nulls drop" in message


def test_a_snap_file_needs_a_side_mapping(tmp_path, store, capsys):
    message = refused(capsys, store, write(tmp_path, "graph.txt", "# SNAP\n# FromNodeId ToNodeId\n0\t1\n1\t2\n"))
    assert "source-target" in message
    assert "columns" in message


def test_a_symmetric_matrix_is_no_biadjacency(tmp_path, store, capsys):
    text = "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 1\n2 1\n"
    message = refused(capsys, store, write(tmp_path, "s.mtx", text))
    assert "line 1" in message
    assert "biadjacency" in message


def test_an_unknown_format_lists_the_known_ones(tmp_path, store, capsys):
    message = refused(capsys, store, write(tmp_path, "table.txt", "hello world\n"))
    assert "line 1" in message
    assert "konect, snap, mtx, adjacency" in message


def test_a_format_that_is_none(tmp_path, store, capsys):
    message = refused(capsys, store, write(tmp_path, "good.csv", GOOD), "--format", "sas")
    assert "ingest.format" in message
    assert "'excel'" in message


def test_a_parquet_file_that_is_none(tmp_path, store, capsys):
    assert "Parquet" in refused(capsys, store, write(tmp_path, "x.parquet", GOOD))


def test_an_unwritable_store(tmp_path, capsys):
    edges = write(tmp_path, "good.csv", GOOD)
    below_a_file = Path(write(tmp_path, "file", "x")) / "store"
    code = invoke(["run", edges, "--store", str(below_a_file), "--local"])
    captured = capsys.readouterr()
    assert code == 2
    assert str(below_a_file) in captured.err
    assert "choose another store" in captured.err or "check" in captured.err


def test_a_store_of_another_version(tmp_path, store, capsys):
    store.mkdir()
    (store / "bicliq-store.json").write_text(json.dumps({"format": 99}))
    message = refused(capsys, store, write(tmp_path, "good.csv", GOOD))
    assert "format 99" in message
    assert "name another store" in message


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--min-left", "0"], "search.min_left 0"),
        (["--min-right", "-4"], "search.min_right -4"),
        (["--max-bicliques", "0"], "search.max_bicliques 0"),
        (["--on-limit", "error"], "--max-bicliques"),
        (["--since", "2012-01-01", "--until", "2011-01-01"], "since"),
        (["--since", "2012-01-01", "--until", "2012-01-01"], "give a later until"),
        (["--since", "yesterday"], "'yesterday'"),
        (["--since", "2012"], "2012-01-01"),
        (["--since", "nan"], "'nan'"),
        (["--since", "2012-01-01"], "which column is the time"),
        (["--delimiter", ";;"], "one ASCII character"),
        (["--delimiter", '"'], "one ASCII character"),
        (["--weight", "item", "--min-weight", "1"], "too few columns for the left and right ('item' is the weight)"),
        (["--partitions", "0"], "plan.partitions 0"),
        (["--backend", "abacus"], "search.backend 'abacus'"),
        (["--sample", "2"], "ingest.sample 2"),
        (["--duplicates", "sum"], "weight"),
        (["--min-weight", "2"], "weight"),
    ],
)
def test_contradictory_or_impossible_settings(tmp_path, store, capsys, options, words):
    assert words in refused(capsys, store, write(tmp_path, "good.csv", GOOD), *options)


@pytest.mark.parametrize(("min_left", "min_right"), [(100, 1), (1, 100)])
def test_thresholds_beyond_the_graph_give_an_empty_run(tmp_path, store, capsys, min_left, min_right):
    arguments = ["--min-left", str(min_left), "--min-right", str(min_right), "--json"]
    assert invoke(["run", write(tmp_path, "good.csv", GOOD), "--store", str(store), "--local", *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["bicliques"] == 0


def test_duplicates_that_are_errors(tmp_path, store, capsys):
    message = refused(capsys, store, write(tmp_path, "twice.csv", GOOD + "a,x\n"), "--duplicates", "error")
    assert "1 of 4 rows repeat an edge" in message


def test_a_filter_that_leaves_nothing(tmp_path, store, capsys):
    edges = write(tmp_path, "w.csv", "user,item,weight\na,x,1\nb,y,2\n")
    message = refused(capsys, store, edges, "--weight", "weight", "--min-weight", "5")
    assert "no edge is left" in message


def test_a_weight_that_is_no_number(tmp_path, store, capsys):
    edges = write(tmp_path, "w.csv", "user,item,weight\na,x,1\nb,y,heavy\n")
    message = refused(capsys, store, edges, "--weight", "weight", "--min-weight", "0")
    assert "line 3" in message
    assert "'heavy'" in message


def test_an_unknown_setting_in_the_file(tmp_path, store, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bicliq.toml").write_text("[search]\nmin_lefts = 3\n")
    message = refused(capsys, store, write(tmp_path, "good.csv", GOOD))
    assert "search.min_lefts" in message


def test_a_run_that_does_not_exist(store, capsys):
    assert invoke(["top", "--store", str(store)]) == 2
    assert "store" in capsys.readouterr().err


def test_gzip_and_zstd_are_read_like_plain_files(tmp_path, capsys):
    import pyarrow as pa

    digests = set()
    for name, data in [
        ("a.csv", GOOD.encode()),
        ("a.csv.gz", gzip.compress(GOOD.encode())),
        ("a.csv.zst", pa.compress(GOOD.encode(), codec="zstd", asbytes=True)),
    ]:
        assert invoke(["enumerate", write(tmp_path, name, data), "--digest", "--json"]) == 0
        digests.add(json.loads(capsys.readouterr().out)["digest"])
    assert len(digests) == 1
