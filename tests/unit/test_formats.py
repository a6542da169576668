"""Readers of edge tables: what is recognised, and what several files and odd heads mean."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bicliq.pipeline.errors import InputError
from bicliq.pipeline.formats import open_edges
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.ingest import EdgeTable, read_edge_table


def read(source: Path | str, **settings: object) -> EdgeTable:
    return read_edge_table(str(source), IngestSettings(**settings))


def edges_of(table: EdgeTable) -> set[tuple[object, object]]:
    left, right = table.left_ids.to_pylist(), table.right_ids.to_pylist()
    return {(left[u], right[v]) for u, v in zip(table.left, table.right, strict=True)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "parts").mkdir()
    (tmp_path / "texts").mkdir()
    for i, (left, right) in enumerate([([1, 2], [5, 5]), ([2, 3], [6, 5])]):
        pq.write_table(pa.table({"left": left, "right": right}), tmp_path / f"parts/part-{i}.parquet")
        (tmp_path / f"texts/t{i}.csv").write_text(
            "left,right\n" + "".join(f"{u},{v}\n" for u, v in zip(left, right, strict=True))
        )
    (tmp_path / "parts/_SUCCESS").write_text("")
    return tmp_path


@pytest.mark.parametrize("pattern", ["parts", "parts/*.parquet", "texts", "texts/*.csv", "texts/t[01].csv", "texts/"])
def test_a_folder_or_a_glob_is_one_table(folder, pattern):
    found = read(f"{folder}/{pattern}")
    assert edges_of(found) == {(1, 5), (2, 5), (2, 6), (3, 5)}
    assert found.summary.source.files == 2


def test_a_glob_goes_through_any_file_system(folder):
    assert edges_of(read(f"file://{folder}/texts/*.csv")) == edges_of(read(folder / "parts"))


def test_a_single_file_whose_name_looks_like_a_glob_is_that_file(tmp_path):
    (tmp_path / "t[1].csv").write_text("left,right\n1,5\n")
    assert edges_of(read(tmp_path / "t[1].csv")) == {(1, 5)}


def test_a_side_that_is_text_in_one_file_is_text_in_all(folder):
    (folder / "texts/t2.csv").write_text("left,right\nann,7\n")
    assert edges_of(read(f"{folder}/texts/*.csv")) == {("1", 5), ("2", 5), ("2", 6), ("3", 5), ("ann", 7)}


def test_parquet_files_with_numbers_and_with_text_are_not_one_table(folder):
    pq.write_table(pa.table({"left": ["ann"], "right": [7]}), folder / "parts/part-2.parquet")
    with pytest.raises(InputError, match=r"part-2\.parquet.*left.*text.*cast"):
        read(folder / "parts")
    assert edges_of(read(folder / "parts", ids="text")) == {
        ("1", "5"),
        ("2", "5"),
        ("2", "6"),
        ("3", "5"),
        ("ann", "7"),
    }


@pytest.mark.parametrize(
    ("text", "settings", "edges"),
    [
        ("ann,5\nbob,6\n", {}, {("ann", 5), ("bob", 6)}),
        ("user,item\n1,5\n2,6\n", {"left": "0", "right": "1", "header": True}, {(1, 5), (2, 6)}),
        ("ann,x\nbob,y\n", {"left": "0", "right": "1"}, {("ann", "x"), ("bob", "y")}),
        ("user,item\nann,x\n", {}, {("ann", "x")}),
        ("user,item\nann,x\n", {"header": False}, {("user", "item"), ("ann", "x")}),
        ("\n1,5\n2,6\n", {}, {(1, 5), (2, 6)}),
        ("1,5\r\n2,6\r\n", {}, {(1, 5), (2, 6)}),
    ],
)
def test_the_first_line_is_a_head_only_where_it_looks_like_one(tmp_path, text, settings, edges):
    (tmp_path / "t.csv").write_bytes(text.encode())
    assert edges_of(read(tmp_path / "t.csv", **settings)) == edges


def test_letters_that_lie_across_the_end_of_the_head_are_no_error(tmp_path):
    (tmp_path / "t.csv").write_text("u,v\n" + "é" * 40000 + ",x\nb,y\n")
    assert len(read(tmp_path / "t.csv").left) == 2


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.adj", "0 1\n", "adjacency"),
        ("out.a", "1 1\n", "konect"),
        ("a", "% bip\n1 1\n", "konect"),
        ("a", "%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1\n", "mtx"),
        ("a", "1\t2\n", "tsv"),
        ("a", "1;2\n", "csv"),
    ],
)
def test_a_format_is_told_from_the_name_or_the_first_line(tmp_path, name, text, kind):
    (tmp_path / name).write_text(text)
    assert open_edges(str(tmp_path / name), IngestSettings()).format == kind


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("5 2 3\n0 2 3\n1 4\n", {(0, 2), (0, 3), (1, 4)}),
        ("5 2 3\n0 2 3\n1 4\n2 0\n3 0\n4 1\n", {(0, 2), (0, 3), (1, 4)}),
        ("0 1\n\n2\n", {(0, 0), (0, 1), (2, 2)}),
        ("0 1 2\n1 2\n", {(0, 0), (0, 1), (0, 2), (1, 1), (1, 2)}),
    ],
)
def test_adjacency_lists_with_and_without_a_head(tmp_path, text, edges):
    (tmp_path / "g.adj").write_text(text)
    assert edges_of(read(tmp_path / "g.adj")) == edges
