"""Edges that are sorted on disk, in runs of every size, against the same table read in memory."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq.pipeline.errors import BicliqError, CapacityError
from bicliq.pipeline.formats import blocks, parquet, tables
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages import ingest as ingesting
from bicliq.pipeline.stages import limits, sorted_runs
from bicliq.pipeline.stages.ingest import GraphRecord, ingest
from bicliq.pipeline.store.layout import Store
from tests.nightly import drawn
from tests.real_graphs import DATA

NUMBERS = st.sampled_from(["1", "2", "3", "10", "20", "-4", "9000000000000000000"])
MIXED = st.sampled_from(["1", "2", "10", "9", "007", "ann", "bob", "Ünï", "a b"])
WEIGHTS = st.sampled_from(["0.1", "0.2", "0.3", "1e16", "-1e16", "1", "7.25"])
ALWAYS_RUNS = 1 << 50


@contextmanager
def small_runs(run_bytes: int, block_bytes: int, merged: int = 2) -> Iterator[None]:
    """Make a run of so many bytes of rows, and merge so many edges at a time, two a run or more."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("FEW_BYTES", "MOST_RUN_BYTES"):
            patch.setattr(sorted_runs, name, run_bytes)
        patch.setattr(sorted_runs, "BESIDE_ROWS", 0)
        patch.setattr(sorted_runs, "MERGED_SHARE", ALWAYS_RUNS // merged)
        patch.setattr(ingesting, "ROW_GROUP", 3 * merged)
        for name in ("FIRST_BYTES", "BLOCK_BYTES"):
            patch.setattr(blocks, name, block_bytes)
        for module in (parquet, tables):
            patch.setattr(module, "BATCH_ROWS", block_bytes)
        yield


def fresh_store() -> Store:
    return Store.open(f"memory://{uuid.uuid4().hex}")


def outcome(source: object, asked: IngestSettings, limit: int | None) -> tuple[object, ...]:
    """What a table comes to: its graph, its labels, and the account of its rows; or the error."""
    store = fresh_store()
    try:
        record = ingest(source, store, asked, memory_limit=limit)
    except BicliqError as error:
        assert store.graphs() == []
        return type(error), str(error)
    stored = store.graph(record.graph).record().named
    of = {name.split("-")[0].split(".")[0]: file for name, file in stored.items()}  # an attempt is in the name
    labels = [of[f"{side}_ids"].checksum for side in ("left", "right")]
    edges = store.graph(record.graph).read_table(of["edges"])
    summary = {name: value for name, value in record.summary.record().items() if name not in ("seconds", "sorted_runs")}
    return record.graph, record.n_left, record.n_right, record.n_edges, labels, edges.to_pydict(), summary


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


@settings(max_examples=drawn(100), deadline=None)
@given(data=st.data(), run_bytes=st.sampled_from([1, 60, 200]), block_bytes=st.sampled_from([1, 30, 1000]))
def test_a_table_sorted_on_disk_is_the_graph_that_it_is_in_memory(folder, data, run_bytes, block_bytes):
    kinds = data.draw(st.sampled_from([(NUMBERS, NUMBERS), (NUMBERS, MIXED), (MIXED, MIXED)]))
    rows = data.draw(st.lists(st.tuples(*kinds, WEIGHTS, st.integers(0, 9)), min_size=1, max_size=40))
    asked = IngestSettings(
        left="l",
        right="r",
        weight=data.draw(st.sampled_from([None, "w"])),
        duplicates=data.draw(st.sampled_from(["first", "error"])),
    )
    if asked.weight is not None:
        asked = asked.model_copy(update={"duplicates": data.draw(st.sampled_from(["first", "sum", "max", "error"]))})
    if data.draw(st.booleans()):
        asked = asked.model_copy(update={"time": "t", "since": "3", "self_labels": "drop"})
    path = folder / "t.csv"
    path.write_text("l,r,w,t\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    in_memory = outcome(path, asked, None)
    with small_runs(run_bytes, block_bytes):
        assert outcome(path, asked, ALWAYS_RUNS) == in_memory


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("out.edit-nawiki", {}),
        ("UCforum.adj", {}),
        ("marvel.parquet", {}),
        ("southern-women.parquet", {"left": "u", "right": "v"}),
        ("movielens_tags.dat", {"left": "2", "right": "1", "delimiter": ";", "ragged": "drop"}),
    ],
)
def test_every_format_can_be_sorted_on_disk(name, asked):
    in_memory = outcome(DATA / name, IngestSettings(**asked), None)
    with small_runs(40_000, 1 << 13, merged=1 << 12):
        assert outcome(DATA / name, IngestSettings(**asked), ALWAYS_RUNS) == in_memory


def test_a_table_in_memory_can_be_sorted_on_disk():
    source = pa.table({"l": [3, 1, 2, 1], "r": ["b", "a", "b", "a"]})
    in_memory = outcome(source, IngestSettings(), None)
    with small_runs(1, 1):
        assert outcome(source, IngestSettings(), ALWAYS_RUNS) == in_memory
        assert ingest(source, fresh_store(), memory_limit=ALWAYS_RUNS).summary.sorted_runs == 4


def test_a_table_that_fits_is_read_in_memory():
    record: GraphRecord = ingest(pa.table({"l": [3, 1], "r": [1, 1]}), fresh_store(), memory_limit=1)
    assert record.summary.sorted_runs is None


def test_labels_that_do_not_fit_are_refused_with_a_limit_that_would_do():
    source = pa.table({"l": range(50_000), "r": range(50_000)})
    with small_runs(1 << 10, 1 << 10), pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "resident_bytes", lambda: 0)
        with pytest.raises(CapacityError, match=r"labels of its first .* at least memory_limit = \d+") as caught:
            ingest(source, store := fresh_store(), memory_limit=1 << 20)
        assert store.graphs() == []
        enough = int(str(caught.value).split()[-1])
        assert enough > 1 << 20


def test_a_window_of_time_that_does_not_fit_is_refused():
    source = pa.table({"l": range(50_000), "r": range(50_000), "t": range(50_000)})
    asked = IngestSettings(left="l", right="r", time="t", window="1h")
    with (
        small_runs(1 << 10, 1 << 10),
        pytest.raises(CapacityError, match="a window of time is read in memory, and for its 50,000 rows"),
    ):
        ingest(source, fresh_store(), asked, memory_limit=1 << 20)
