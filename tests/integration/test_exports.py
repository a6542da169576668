"""Every format of an export holds every biclique and every label, whatever is in it."""

from __future__ import annotations

import csv
import gzip
import io
import json

import duckdb
import fsspec
import networkx as nx
import openpyxl
import polars as pl
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

import bicliq
from bicliq.flows.cli import invoke
from bicliq.pipeline.results.export import SUFFIXES, export

ODD = ['a, "b"', "<jam>", "&amp;", "two\nlines", "tab\there", "ret\rurn", "Ünï ☕", "' OR 1=1", "=1+1", "-", " x "]
SHOP = {f"p{n}": [item for at, item in enumerate(ODD) if (n >> (at % 4)) & 1 or at == n] for n in range(11)}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    place = tmp_path_factory.mktemp("store")
    bicliq.enumerate(SHOP, store=place)
    return place


@pytest.fixture
def groups(store):
    return bicliq.open(store)


def members(rows) -> list[tuple[int, str, str]]:
    return sorted(
        (row["biclique_id"], side, label) for row in rows for side in ("left", "right") for label in row[side]
    )


def read(path: str, kind: str) -> list[tuple[int, str, str]]:
    """Members as another program reads them from a file."""
    data = fsspec.open(path, "rb").open().read() if kind not in ("duckdb", "delta") else b""
    if kind == "parquet":
        return members(pq.read_table(io.BytesIO(data)).to_pylist())
    if kind == "jsonl":
        return members(json.loads(line) for line in data.decode().split("\n") if line)
    if kind in ("csv", "tsv"):
        text = (gzip.decompress(data) if path.endswith(".gz") else data).decode()
        rows = csv.DictReader(io.StringIO(text, newline=""), delimiter="," if kind == "csv" else "\t")
        return sorted((int(row["biclique_id"]), row["side"], row["label"]) for row in rows)
    if kind == "xlsx":
        (_, *cells) = openpyxl.load_workbook(io.BytesIO(data)).active.iter_rows()
        assert all(cell.data_type == "s" for row in cells for cell in row[1:])
        return sorted((row[0].value, row[1].value, row[2].value) for row in cells)
    if kind == "graphml":
        graph = nx.read_graphml(io.BytesIO(data))
        nodes = graph.nodes(data=True)
        ends = [(u, v) if nodes[u]["kind"] == "biclique" else (v, u) for u, v in graph.edges]
        return sorted((int(u.split()[1]), nodes[v]["kind"], nodes[v]["label"]) for u, v in ends)
    if kind == "delta":
        found = members(DeltaTable(path).to_pyarrow_table().to_pylist())
        assert found == members(pl.read_delta(path).to_dicts())
        return found
    with duckdb.connect(path, read_only=True) as database:
        assert database.sql("SELECT count(*) FROM bicliques").fetchall()[0][0] > 0
        return sorted(database.sql("SELECT biclique_id, side, label FROM members").fetchall())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_another_program_reads_every_member(groups, tmp_path, suffix):
    if suffix == ".xlsx":  # which has no carriage returns
        groups = bicliq.enumerate(
            {key: [item for item in items if "\r" not in item] for key, items in SHOP.items()}, strip=False
        )
    path = str(tmp_path / f"groups{suffix}")
    written = groups.export(path, guard=False)
    assert written.guarded == 0
    expected = members(groups)
    assert read(path, SUFFIXES[suffix]) == expected
    assert (written.bicliques, written.members) == (len(groups), len(expected))
    assert written.bytes == fsspec.filesystem("file").du(path)
    assert [each.name for each in tmp_path.iterdir()] == [f"groups{suffix}"]


def test_the_long_form_of_parquet_and_json_lines(groups, tmp_path):
    groups.export(tmp_path / "long.parquet", long=True)
    groups.export(tmp_path / "long.jsonl", long=True)
    expected = groups.long().to_pylist()
    key = lambda row: tuple(row.values())  # noqa: E731
    lines = (tmp_path / "long.jsonl").read_text().split("\n")[:-1]
    assert sorted(pq.read_table(tmp_path / "long.parquet").to_pylist(), key=key) == sorted(expected, key=key)
    assert sorted(map(json.loads, lines), key=key) == sorted(expected, key=key)


def test_a_delta_table_that_is_overwritten_keeps_its_history(groups, tmp_path):
    path = str(tmp_path / "groups.delta")
    groups.export(path)
    with pytest.raises(bicliq.InputError, match="is there already"):
        groups.export(path)
    groups.where(min_left=3).export(path, long=True, overwrite=True)
    now = pl.read_delta(path)
    assert sorted(now.rows()) == sorted(tuple(row.values()) for row in groups.where(min_left=3).long().to_pylist())
    assert members(pl.read_delta(path, version=0).to_dicts()) == members(groups)


def test_a_folder_that_is_no_delta_table_is_not_overwritten(groups, tmp_path):
    (tmp_path / "groups.delta").mkdir()
    (tmp_path / "groups.delta" / "precious").write_text("precious")
    with pytest.raises(bicliq.InputError, match="no Delta table"):
        groups.export(tmp_path / "groups.delta", overwrite=True)
    assert [each.name for each in (tmp_path / "groups.delta").iterdir()] == ["precious"]


def test_what_was_chosen_is_exported_and_nothing_else(groups):
    chosen = groups.where(min_left=3, with_right=["<jam>"])
    assert 0 < len(chosen) < len(groups)
    chosen.export("memory://chosen.jsonl", overwrite=True)
    assert read("memory://chosen.jsonl", "jsonl") == members(chosen)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_chosen_is_a_file_without_rows(groups, tmp_path, suffix):
    path = tmp_path / f"none{suffix}"
    written = groups.where(min_edges=1000).export(path)
    assert (written.bicliques, written.members) == (0, 0)
    assert path.exists()


def test_a_file_that_is_there_stays_unless_it_may_be_replaced(groups, tmp_path):
    path = tmp_path / "groups.csv"
    path.write_text("precious")
    with pytest.raises(bicliq.InputError, match="is there already"):
        groups.export(path)
    assert path.read_text() == "precious"
    groups.export(path, overwrite=True)
    assert path.read_text().startswith('"biclique_id"')
    assert [each.name for each in tmp_path.iterdir()] == ["groups.csv"]


def test_an_export_that_fails_leaves_no_file(tmp_path):
    groups = bicliq.enumerate({"a": ["bell\x07"]})
    with pytest.raises(bicliq.InputError, match="GraphML cannot hold"):
        groups.export(tmp_path / "groups.graphml")
    assert list(tmp_path.iterdir()) == []


FORMULAS = ["=cmd()", "+1", "-2", "@sum", "\tx", "'=cmd()"]
"""Labels that a spreadsheet may run, and one that looks like the guard of another."""

HARMLESS = ["a=b", "'tis", " =1"]


@pytest.mark.parametrize("name", ["g.csv", "g.tsv.gz", "g.xlsx"])
def test_a_spreadsheet_runs_no_label(tmp_path, capsys, name):
    baskets = {-n: [*FORMULAS, *HARMLESS] for n in (1, 2)}
    bicliq.enumerate(baskets, strip=False, store=tmp_path / "store")
    path = str(tmp_path / name)
    kind = SUFFIXES[name.removeprefix("g")]
    told = ["export", path, "--store", str(tmp_path / "store"), "--overwrite"]
    assert invoke([*told, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["guarded"] == len(FORMULAS)
    labels = {label for _, _, label in read(path, kind)}
    assert labels == {"-1", "-2", *(f"'{label}" for label in FORMULAS), *HARMLESS}  # numbers stay
    assert invoke(told) == 0
    assert "6 labels got an apostrophe" in " ".join(capsys.readouterr().out.split())
    assert invoke([*told, "--no-guard", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["guarded"] == 0
    assert {label for _, _, label in read(path, kind)} == {"-1", *FORMULAS, *HARMLESS}


def test_text_for_excel_begins_with_a_mark(groups, tmp_path):
    groups.export(tmp_path / "g.csv", bom=True)
    groups.export(tmp_path / "g.csv.gz", bom=True)
    plain = (tmp_path / "g.csv").read_bytes()
    assert plain.startswith(b'\xef\xbb\xbf"biclique_id"')
    assert gzip.decompress((tmp_path / "g.csv.gz").read_bytes()) == plain
    groups.export(tmp_path / "long.csv")
    assert plain[3:] == (tmp_path / "long.csv").read_bytes()


def test_numbers_that_excel_would_round_are_text(tmp_path):
    ids = [7, -(10**15 - 1), 10**15, 2**53 + 1]
    bicliq.enumerate({1: ids}).export(tmp_path / "g.xlsx")
    (_, *rows) = openpyxl.load_workbook(tmp_path / "g.xlsx").active.iter_rows(values_only=True)
    assert {label for _, side, label in rows if side == "right"} == {*ids[:2], *map(str, ids[2:])}


@pytest.mark.parametrize("label", ["bell\x07", "ret\rurn", "x" * 32_768])
def test_what_a_sheet_cannot_hold_is_refused(tmp_path, label):
    with pytest.raises(bicliq.InputError, match="not what a sheet of Excel can hold"):
        bicliq.enumerate({"a": [label]}).export(tmp_path / "g.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_more_rows_than_a_sheet_has_are_refused(groups, tmp_path, monkeypatch):
    monkeypatch.setattr("bicliq.pipeline.results.export.SHEET_ROWS", 5)
    with pytest.raises(bicliq.InputError, match="more than the 5 rows"):
        groups.where(min_left=2).export(tmp_path / "g.xlsx", guard=False)


@pytest.mark.parametrize(
    ("path", "asked", "said"),
    [
        ("groups.parquet", {"bom": True}, "no byte order mark"),
        ("groups.parquet.gz", {}, "which format"),
        ("groups.txt", {}, "which format"),
        ("groups.graphml", {"long": True}, "leave long out"),
        ("memory://groups.duckdb", {}, "DuckDB is written to a local disk only"),
        ("memory://groups.delta", {}, "Delta is written to a local disk only"),
    ],
)
def test_what_cannot_be_exported_is_refused(groups, path, asked, said):
    with pytest.raises(bicliq.InputError, match=said):
        export(groups, path, **asked)


def test_show_pages_through_what_was_chosen(store, groups, capsys):
    place = str(store)
    assert invoke(["show", "--store", place, "--min-left", "2", "--size", "3", "--page", "2", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    chosen = groups.where(min_left=2)
    assert record["matching"] == len(chosen)
    assert record["bicliques"] == chosen.page(2, 3).to_pylist()
    assert invoke(["show", "--store", place, "--with-left", "p3", "--with-right", "<jam>"]) == 0
    shown = capsys.readouterr().out
    assert f"{len(groups.where(with_left=['p3'], with_right=['<jam>']))} biclique" in shown
    assert invoke(["show", "--store", place, "--with-left", "nobody"]) == 2
    assert "there is no left vertex 'nobody'" in capsys.readouterr().err


def test_export_writes_and_says_what(store, groups, tmp_path, capsys):
    path = str(tmp_path / "groups.csv")
    assert invoke(["export", path, "--store", str(store), "--min-edges", "4", "--no-guard", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["bicliques"] == len(groups.where(min_edges=4))
    assert read(path, "csv") == members(groups.where(min_edges=4))
    assert invoke(["export", path, "--store", str(store)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert invoke(["export", path, "--store", str(store), "--overwrite"]) == 0
    assert f"{len(groups)} bicliques" in capsys.readouterr().out


def test_members_with_commas_in_their_names_are_told_apart(tmp_path, capsys):
    bicliq.enumerate({"Smith, Ann": ["jam"], "O'Neill, Cathal": ["jam"]}, store=tmp_path)
    assert invoke(["show", "--store", str(tmp_path)]) == 0
    assert "O'Neill, Cathal · Smith, Ann" in " ".join(capsys.readouterr().out.replace("│", " ").split())
