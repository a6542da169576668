"""Every format gives its known graph, and every policy is counted."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from bicliq.pipeline.errors import CapacityError, InputError
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.host_rows import HostRows
from bicliq.pipeline.stages.ingest import GraphRecord, ingest, read_edge_table
from bicliq.pipeline.store.layout import Store
from tests.real_graphs import DATA

TABLE = "user;item;weight;day\nann;x;1;2020-01-01\nann;y;2;2020-02-01\nbob;x;3;2020-03-01\nann;x;4;2020-04-01\n"


def read(source: Path | str, **settings: object):
    return read_edge_table(str(source), IngestSettings(**settings))


def edges_of(table) -> set[tuple[object, object]]:
    left, right = table.left_ids.to_pylist(), table.right_ids.to_pylist()
    return {(left[u], right[v]) for u, v in zip(table.left.tolist(), table.right.tolist(), strict=True)}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "t.csv").write_text(TABLE)
    return tmp_path / "t.csv"


@pytest.mark.parametrize(
    ("name", "settings", "sizes"),
    [
        ("out.edit-nawiki", {}, (844, 4014, 25917)),
        ("out.moreno_crime_crime", {}, (829, 551, 1476)),
        ("UCforum.adj", {}, (899, 522, 7089)),
        ("leadership.txt", {"format": "adjacency"}, (20, 24, 99)),
        ("marvel.parquet", {}, (6486, 12942, 96662)),
        ("southern-women.parquet", {"left": "u", "right": "v"}, (18, 14, 89)),
    ],
)
def test_a_known_file_gives_its_known_graph(name, settings, sizes):
    found = read(DATA / name, **settings)
    assert (len(found.left_ids), len(found.right_ids), len(found.left)) == sizes


def test_the_raw_and_the_prepared_form_of_a_graph_are_the_same_graph():
    raw, dense = read(DATA / "out.edit-nawiki"), read(DATA / "edit-nawiki.parquet")
    assert np.array_equal(raw.left, dense.left)
    assert np.array_equal(raw.right, dense.right)
    assert raw.summary.rows_read == 70695
    assert raw.summary.duplicates == 70695 - 25917


def test_strings_with_blanks_and_punctuation_keep_their_text():
    found = read(DATA / "movielens_tags.dat", left="2", right="1", delimiter=";", ragged="drop")
    assert "chick flick 212" in found.left_ids.to_pylist()
    assert found.summary.dropped_ragged == 1
    assert found.summary.rows_read == 5000


def test_quoted_fields_may_hold_the_delimiter(tmp_path):
    (tmp_path / "q.csv").write_text('user,item\n"Smith, Ann",x\n"said ""hi""",y\n')
    assert edges_of(read(tmp_path / "q.csv")) == {("Smith, Ann", "x"), ('said "hi"', "y")}


def test_labels_that_turn_out_to_be_text_are_text_from_the_first_row(tmp_path):
    rows = "".join(f"{i},{i % 7}\n" for i in range(200_000))
    (tmp_path / "late.csv").write_text("user,item\n" + rows + "x9,1\n")
    found = read(tmp_path / "late.csv")
    assert found.left_ids.type == pa.string()
    assert found.right_ids.type == pa.int64()
    assert len(found.left_ids) == 200_001
    assert found.summary.rows_read == 200_001


def test_dense_ids_are_ranks_so_the_order_of_rows_is_of_no_importance(tmp_path):
    rows = [f"{u},{v}" for u, v in [(10, "b"), (9, "a"), (100, "c"), (9, "c"), (10, "a")]]
    store = Store.open(str(tmp_path / "store"))
    graphs = set()
    for seed in range(4):
        random.Random(seed).shuffle(rows)
        (tmp_path / "r.csv").write_text("n,s\n" + "\n".join(rows) + "\n")
        graphs.add(ingest(str(tmp_path / "r.csv"), store).graph)
    assert len(graphs) == 1
    folder = store.graph(graphs.pop())
    stored = folder.record().named
    assert folder.read_table(stored["left_ids.parquet"])["id"].to_pylist() == [9, 10, 100]
    assert folder.read_table(stored["right_ids.parquet"])["id"].to_pylist() == ["a", "b", "c"]


def test_wide_ranges_of_numbers_are_ranked_too(tmp_path):
    (tmp_path / "wide.csv").write_text("a,b\n5,9000000000000000000\n4000000000,1\n5,1\n")
    found = read(tmp_path / "wide.csv")
    assert found.left_ids.to_pylist() == [5, 4000000000]
    assert edges_of(found) == {(5, 9000000000000000000), (4000000000, 1), (5, 1)}


@pytest.mark.parametrize(("policy", "weight"), [("first", 1.0), ("sum", 5.0), ("max", 4.0)])
def test_repeated_edges_are_united_by_policy(table, policy, weight):
    found = read(table, left="user", right="item", weight="weight", duplicates=policy)
    assert found.summary.duplicates == 1
    assert found.weight is not None
    assert found.weight[0] == weight


def test_weights_and_times_filter_rows_before_they_are_united(table):
    light = read(table, left="user", right="item", weight="weight", min_weight=2)
    assert edges_of(light) == {("ann", "y"), ("bob", "x"), ("ann", "x")}
    assert (light.summary.dropped_by_weight, light.summary.duplicates) == (1, 0)
    early = read(table, left="user", right="item", time="day", since="2020-02-01", until="2020-04-01")
    assert edges_of(early) == {("ann", "y"), ("bob", "x")}
    assert early.summary.dropped_by_time == 2


def test_nulls_and_equal_labels_are_dropped_only_when_asked(tmp_path):
    (tmp_path / "n.csv").write_text("a,b\nx,y\n,y\nz,z\n")
    with pytest.raises(InputError, match="line 3"):
        read(tmp_path / "n.csv")
    found = read(tmp_path / "n.csv", nulls="drop", self_labels="drop")
    assert edges_of(found) == {("x", "y")}
    assert (found.summary.dropped_nulls, found.summary.dropped_self_labels) == (1, 1)
    with pytest.raises(InputError, match="'z'"):
        read(tmp_path / "n.csv", nulls="drop", self_labels="error")


def test_snap_files_are_read_with_their_sides_said(tmp_path):
    (tmp_path / "g.txt").write_text("# Directed graph\n# FromNodeId ToNodeId\n0\t5\n3 \t 0\n3\t5\n")
    found = read(tmp_path / "g.txt", sides="source-target")
    assert edges_of(found) == {(0, 5), (3, 0), (3, 5)}


def test_matrix_market_rows_are_left(tmp_path):
    (tmp_path / "m.mtx").write_text(
        "%%MatrixMarket matrix coordinate real general\n% a comment\n2 3 3\n1 3 0.5\n2 1 2\n1 1 1\n"
    )
    found = read(tmp_path / "m.mtx", min_weight=0.9)
    assert edges_of(found) == {(2, 1), (1, 1)}


def test_a_sample_keeps_whole_left_vertices_and_always_the_same(tmp_path):
    small = read(DATA / "marvel.parquet", sample=0.1)
    again = read(DATA / "marvel.parquet", sample=0.1)
    assert 400 < len(small.left_ids) < 900
    assert small.left_ids.equals(again.left_ids)
    whole = read(DATA / "marvel.parquet")
    degrees = np.bincount(whole.left)
    labels = small.left_ids.to_numpy()
    assert np.array_equal(np.bincount(small.left), degrees[labels])


def test_ingesting_the_same_table_again_writes_nothing(tmp_path):
    store = Store.open(str(tmp_path / "store"))
    first = ingest(str(DATA / "UCforum.adj"), store)
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*") if path.is_file()}
    second = ingest(DATA / "UCforum.adj", store)
    assert isinstance(second, GraphRecord)
    assert second.graph == first.graph
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "store").rglob("*") if path.is_file()} == written


def test_parquet_text_dictionaries_and_unsigned_ids_are_read(tmp_path):
    columns = {"who": pa.array(["a", "b", "a"]).dictionary_encode(), "what": pa.array([1, 2, 2], pa.uint32())}
    pq.write_table(pa.table(columns), tmp_path / "d.parquet")
    assert edges_of(read(tmp_path / "d.parquet")) == {("a", 1), ("b", 2), ("a", 2)}


def test_a_large_random_table_is_united_like_numpy_unites_it(tmp_path):
    generator = np.random.default_rng(3)
    left, right = generator.integers(0, 500, 50_000), generator.integers(0, 300, 50_000)
    pacsv.write_csv(pa.table({"l": left, "r": right}), tmp_path / "big.csv")
    found = read(tmp_path / "big.csv")
    assert edges_of(found) == set(zip(left.tolist(), right.tolist(), strict=True))


def test_memory_that_runs_out_is_not_called_a_damaged_file(table, tmp_path, monkeypatch):
    def run_out(*_: object, **__: object) -> None:
        raise pa.ArrowMemoryError("malloc of size 8388608 failed")

    monkeypatch.setattr(HostRows, "complete", run_out)
    with pytest.raises(CapacityError, match=r"t\.csv: memory ran out .*malloc.*memory_limit below"):
        read(table, left="user", right="item", nulls="drop")
    monkeypatch.setattr("openpyxl.load_workbook", run_out)
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    with pytest.raises(
        CapacityError, match=r"t\.xlsx: memory ran out while the table was recognised .*malloc.*Parquet"
    ):
        read(tmp_path / "t.xlsx")
