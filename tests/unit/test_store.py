from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
import time

import pyarrow as pa
import pytest

from pipeline.errors import StorageError
from pipeline.store.layout import Commit, Store, commit_name, data_name

COMMIT = Commit(
    3, data_name(3), rows=2, bytes=10, checksum="aa", digest="00000000000000ff", seconds=0.5, complete=True, sizes={}
)


@pytest.fixture(params=["local", "memory"])
def store(request, tmp_path):
    return Store.open(str(tmp_path / "store") if request.param == "local" else f"memory://{tmp_path}/store")


def test_a_store_opens_again_by_its_uri(store):
    assert Store.open(store.uri, create=False).uri == store.uri
    assert pickle.loads(pickle.dumps(store)).uri == store.uri


def test_a_store_of_another_format_is_refused_with_both_formats(tmp_path):
    (tmp_path / "bicliq-store.json").write_text('{"format": 99}')
    with pytest.raises(StorageError, match=r"format 99.*format 2"):
        Store.open(str(tmp_path))


def test_a_missing_store_is_not_created_unasked(tmp_path):
    with pytest.raises(StorageError, match="no store is here"):
        Store.open(str(tmp_path / "nothing"), create=False)
    assert not (tmp_path / "nothing").exists()


def test_a_store_below_a_file_is_a_storage_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot"):
        Store.open(str(tmp_path / "file" / "store"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_store_is_a_storage_error(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError, match="permissions"):
        Store.open(str(tmp_path / "store"))


def test_an_unknown_protocol_is_a_storage_error():
    with pytest.raises(StorageError, match="fsspec URL"):
        Store.open("nosuch://bucket/store")


def test_tables_and_records_come_back(store):
    folder = store.run("r")
    table = pa.table({"left": pa.array([[1, 2], [3]], pa.list_(pa.int32())), "n": [2, 1]})
    folder.write_table("a/b.parquet", table)
    folder.write_json("c.json", {"x": 1})
    assert folder.read_table("a/b.parquet").equals(table)
    assert folder.read_table("a/b.parquet", ["n"]).column_names == ["n"]
    assert folder.read_json("c.json") == {"x": 1}
    assert folder.names("a/*.parquet") == ["a/b.parquet"]


def test_a_file_is_hashed_while_it_is_written(store):
    folder = store.run("r")
    with folder.sink("x.bin") as sink:
        sink.write(b"some ")
        sink.write(b"bytes")
    assert (sink.bytes, sink.checksum) == (folder.size("x.bin"), folder.checksum("x.bin"))


def test_a_write_that_fails_leaves_nothing_behind(tmp_path):
    folder = Store.open(str(tmp_path)).run("r")

    def write() -> None:
        with folder.sink("x.bin") as sink:
            sink.write(b"half")
            raise RuntimeError("lost")

    with pytest.raises(RuntimeError):
        write()
    assert os.listdir(folder.path) == []


def test_a_write_that_fails_keeps_the_old_file(store):
    folder = store.run("r")
    folder.write_bytes("x.bin", b"old")

    def write() -> None:
        with folder.sink("x.bin") as sink:
            sink.write(b"new")
            raise RuntimeError("lost")

    if folder.is_local:
        with pytest.raises(RuntimeError):
            write()
        assert folder.fs.cat_file(folder.path_of("x.bin")) == b"old"


def test_only_commit_records_make_partitions_visible(store):
    run = store.run("r")
    run.write_bytes(data_name(3), b"0123456789")
    assert run.committed() == {}
    run.record_failure(3, "worker lost")
    assert run.failures() == {3: "worker lost"}
    run.commit_partition(COMMIT)
    assert run.committed() == {3: COMMIT}
    assert run.read_commit(3) == COMMIT
    assert run.failures() == {}
    run.uncommit_partition(3)
    assert run.committed() == {}


def test_commits_come_in_order_of_their_numbers(store):
    run = store.run("r")
    for number in (100_000, 11, 2):
        run.commit_partition(Commit(number, data_name(number), 0, 0, "", "0" * 16, 0.0, True, {}))
    assert list(run.committed()) == [2, 11, 100_000]


def test_graphs_and_runs_are_listed_once_they_are_whole(store):
    store.graph("g").write_json("other.json", {})
    assert store.graphs() == []
    store.graph("g").write_json("graph.json", {})
    assert store.graphs() == ["g"]
    assert store.graph("g").exists()
    for run, created in (("b", "2024"), ("a", "2025"), ("c", "2023")):
        store.run(run).write_json("run.json", {"created": created})
    assert store.runs() == ["c", "b", "a"]
    assert store.run("a").manifest() is None


def test_a_missing_file_is_named(store):
    with pytest.raises(StorageError, match=r"graphs/g/graph\.json"):
        store.graph("g").read_json("graph.json")


def test_a_damaged_record_is_a_storage_error(store):
    run = store.run("r")
    run.write_bytes(commit_name(1), b"{")
    with pytest.raises(StorageError):
        run.read_commit(1)


def test_a_writer_killed_in_the_middle_shows_no_file(tmp_path):
    store = Store.open(str(tmp_path))
    script = textwrap.dedent(
        f"""
        import time
        from pipeline.store.layout import Store
        with Store.open({store.uri!r}).run("r").sink("x.bin") as sink:
            sink.write(b"half")
            print("writing", flush=True)
            time.sleep(60)
        """
    )
    writer = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "writing\n"
    writer.kill()
    writer.wait()
    time.sleep(0.05)
    assert not store.run("r").has("x.bin")
    store.run("r").write_bytes("x.bin", b"whole")
    assert store.run("r").size("x.bin") == 5


@pytest.mark.parametrize("error", [KeyboardInterrupt, PermissionError])
def test_only_a_file_that_is_missing_is_not_there(tmp_path, monkeypatch, error):
    folder = Store.open(str(tmp_path)).graph("g")

    def info(path: str) -> None:
        raise error

    assert not folder.has("graph.json")
    monkeypatch.setattr(folder.fs, "info", info)
    with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else StorageError):
        folder.has("graph.json")
