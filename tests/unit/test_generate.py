"""Generated edge tables: repeatable, bounded, skewed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks import generate as generation
from benchmarks.generate import edges, generate, parse_corners
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.stages.ingest import read_edge_table
from tests.benches import bench


def drawn(*arguments, **options):
    left, right = zip(*edges(*arguments, **options), strict=True)
    return np.concatenate(left), np.concatenate(right)


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    for name in ("a.parquet", "b.parquet"):
        generate(str(tmp_path / name), 1000, 300, 5000, seed=3)
    generate(str(tmp_path / "c.parquet"), 1000, 300, 5000, seed=4)
    a, b, c = (hashlib.sha256((tmp_path / f"{name}.parquet").read_bytes()).hexdigest() for name in "abc")
    assert a == b != c


def test_a_seed_gives_the_same_edges_on_every_machine():
    left, right = drawn(1000, 300, 4)
    assert list(zip(left.tolist(), right.tolist(), strict=True)) == EXPECTED


EXPECTED = [(301, 187), (984, 75), (494, 196), (289, 196)]


@pytest.mark.parametrize(("n_left", "n_right"), [(1, 1), (1, 7), (1024, 1024), (1025, 3), (3, 100_000)])
def test_ids_lie_on_their_side(n_left, n_right):
    left, right = drawn(n_left, n_right, 20_000)
    assert left.size == right.size == 20_000
    for ids, n in ((left, n_left), (right, n_right)):
        assert ids.min() >= 0
        assert ids.max() < n
    if max(n_left, n_right) < 2000:
        assert np.unique(left).size > 0.4 * n_left


def test_degrees_are_skewed_unless_the_corners_are_equal():
    skewed, even = (np.bincount(drawn(4096, 4096, 50_000, corners=c)[0]) for c in (generation.CORNERS, (0.25,) * 4))
    assert skewed.max() > 20 * 50_000 / 4096
    assert even.max() < 5 * 50_000 / 4096


def test_chunks_do_not_change_the_number_of_rows_and_files_hold_them_all(tmp_path, monkeypatch):
    monkeypatch.setattr(generation, "CHUNK_EDGES", 1000)
    monkeypatch.setattr(generation, "FILE_CHUNKS", 2)
    made = generate(str(tmp_path / "folder"), 500, 500, 5500, seed=1)
    assert made.files == 3
    files = sorted(Path(tmp_path / "folder").glob("*.parquet"))
    assert [pq.read_metadata(file).num_rows for file in files] == [2000, 2000, 1500]
    assert [pq.read_metadata(file).num_row_groups for file in files] == [2, 2, 2]
    assert made.bytes == sum(file.stat().st_size for file in files)
    left, right = drawn(500, 500, 5500, seed=1)
    assert np.array_equal(pq.read_table(files)["left"].to_numpy(), left)
    assert np.array_equal(pq.read_table(files)["right"].to_numpy(), right)


def test_a_chunk_that_is_drawn_alone_is_that_of_the_whole(monkeypatch):
    monkeypatch.setattr(generation, "CHUNK_EDGES", 1000)
    drawing = generation._Drawing(500, 70, 4500, 5, generation.CORNERS)
    chunks = [drawing.chunk(i) for i in (4, 2, 0)]
    assert [left.size for left, _ in chunks] == [500, 1000, 1000]
    again = drawn(500, 70, 4500, seed=5)
    for (left, right), i in zip(chunks, (4, 2, 0), strict=True):
        assert np.array_equal(left, again[0][1000 * i : 1000 * i + 1000])
        assert np.array_equal(right, again[1][1000 * i : 1000 * i + 1000])


def test_text_in_csv_is_the_same_graph_as_numbers_in_parquet(tmp_path):
    generate(str(tmp_path / "text.csv"), 50, 70, 900, text=True)
    generate(str(tmp_path / "numbers.parquet"), 50, 70, 900)
    text, numbers = (read_edge_table(str(tmp_path / name)) for name in ("text.csv", "numbers.parquet"))
    assert len(text.left) == len(numbers.left)
    assert text.summary.duplicates == numbers.summary.duplicates
    assert sorted(text.left_ids.to_pylist()) == sorted(f"u{i}" for i in numbers.left_ids.to_pylist())


@pytest.mark.parametrize(
    ("sizes", "message"),
    [((0, 1, 1), "left is 0"), ((1, 2**31, 1), "right is 2147483648"), ((1, 1, 0), "edges is 0")],
)
def test_sizes_out_of_range_are_refused(tmp_path, sizes, message):
    with pytest.raises(InputError, match=message):
        generate(str(tmp_path / "x.parquet"), *sizes)


@pytest.mark.parametrize("text", ["0.5,0.5", "a,b,c,d", ""])
def test_corners_that_are_not_four_numbers_are_refused(text):
    with pytest.raises(InputError, match="four numbers"):
        parse_corners(text)


def test_corners_must_add_up(tmp_path, capsys):
    arguments = ["generate", str(tmp_path / "x.csv"), "--left", "9", "--right", "9", "--edges", "9"]
    assert bench(*arguments, "--corners", "0.5,0.5,0.5,0.5") == 2
    assert "add up to 1" in capsys.readouterr().err
    assert bench(*arguments) == 0
    assert "9 edges in 1 file of" in capsys.readouterr().out
