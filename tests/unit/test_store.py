"""A store and its folders: files whole or not at all, checked when they are read."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import replace

import pyarrow as pa
import pytest
import xxhash

from bicliq.pipeline.errors import DamageError, InputError, StorageError
from bicliq.pipeline.settings import PlanSettings, PublishSettings, SearchSettings
from bicliq.pipeline.store.commits import data_name
from bicliq.pipeline.store.file_systems import storage_errors
from bicliq.pipeline.store.inventory import take_inventory
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.record import StoredFile
from bicliq.pipeline.store.records import Commit, PlanRecord, Pruned, RunRecord
from bicliq.pipeline.store.sizes import Sizes

COMMIT = Commit(
    stored=(StoredFile(data_name(3), 10, "aa"),),
    partition=3,
    rows=2,
    digest="00000000000000ff",
    seconds=0.5,
    complete=True,
    sizes=Sizes().counts(),
    plan="p",
    backend="cpu-avx2",
    threads=2,
)


@pytest.fixture(params=["local", "memory"])
def store(request, tmp_path):
    return Store.open(str(tmp_path / "store") if request.param == "local" else f"memory://{tmp_path}/store")


def test_a_store_opens_again_by_its_uri(store):
    assert Store.open(store.uri, create=False).uri == store.uri
    assert pickle.loads(pickle.dumps(store)).uri == store.uri


def test_a_store_of_another_format_is_refused_with_both_formats(tmp_path):
    (tmp_path / "bicliq-store.json").write_text('{"format": 99}')
    with pytest.raises(StorageError, match=r"format 99.*format 5.*name another store and run again"):
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


def test_an_unknown_protocol_is_refused():
    with pytest.raises(InputError, match="fsspec URL"):
        Store.open("nosuch://bucket/store")


def test_tables_and_records_come_back(store):
    folder = store.run("r")
    table = pa.table({"left": pa.array([[1, 2], [3]], pa.list_(pa.int32())), "n": [2, 1]})
    file = folder.write_table("a/b.parquet", table)
    folder.write(Pruned.at, Pruned(stored=(file,), pruned="r"))
    record = folder.read(Pruned)
    assert record.pruned == "r"
    assert record.named == {"a/b.parquet": file}
    assert folder.read_table(file).equals(table)
    assert folder.read_table(file, ["n"]).column_names == ["n"]
    assert folder.files("a") == {"a/b.parquet": file.bytes}
    assert list(folder.files()) == ["a/b.parquet", "pruned.json"]


def test_every_byte_of_a_record_is_sealed(store):
    folder = store.run("r")
    folder.write(Pruned.at, Pruned(pruned="é"))
    data = folder.fs.cat_file(folder.path_of(Pruned.at))
    for at in range(len(data)):
        for changed in (
            data[:at],
            data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :],
            data[:at] + data[at + 1 :],
        ):
            folder.write_bytes(Pruned.at, changed)
            with pytest.raises(DamageError, match="its seal does not fit"):
                folder.read(Pruned)


def test_a_record_of_another_place_is_noticed(store):
    store.run("a").write("commits/partition-00001.json", replace(COMMIT, partition=1))
    data = store.fs.cat_file(store.run("a").path_of("commits/partition-00001.json"))
    for folder, name in (
        (store.run("a"), "commits/partition-00002.json"),
        (store.run("b"), "commits/partition-00001.json"),
    ):
        folder.write_bytes(name, data)
        with pytest.raises(
            DamageError, match=r"is the record runs/a/commits/partition-00001\.json, copied or moved here"
        ):
            folder.read(Commit, name)


@pytest.mark.parametrize("damage", ["flip", "cut", "longer", "gone"])
def test_a_file_that_is_not_what_its_record_says_is_never_read(store, damage):
    folder = store.run("r")
    file = folder.write_table("t.parquet", pa.table({"n": range(1000)}))
    data = folder.fs.cat_file(folder.path_of(file.name))
    changed = {"flip": data[:9] + bytes([data[9] ^ 1]) + data[10:], "cut": data[:-1], "longer": data + b"\0"}
    if damage == "gone":
        folder.remove(file.name)
    else:
        folder.write_bytes(file.name, changed[damage])
    for read in (folder.read_table, folder.check):
        with pytest.raises(DamageError, match=rf"t\.parquet: .*record says {file.bytes} bytes.*bicliq verify"):
            read(file)


def test_a_file_is_hashed_while_it_is_written(store):
    folder = store.run("r")
    with folder.sink("x.bin") as sink:
        sink.write(b"some ")
        sink.write(b"bytes")
    assert (sink.bytes, sink.checksum) == (folder.size("x.bin"), xxhash.xxh3_128_hexdigest(b"some bytes"))
    folder.check(StoredFile("x.bin", sink.bytes, sink.checksum))


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


def put_plan(run, partitions):
    sizes = dict.fromkeys(("n_left", "n_right", "n_edges", "n_roots", "est_bytes", "est_cost"), 0)
    about = {"run": run.run, "graph": "g", "side": "left", "seconds": {}}
    run.write(PlanRecord.at, PlanRecord(**sizes, **about, partitions=partitions, digest="p"))


def put_run(run):
    how = {"search": SearchSettings(), "plan": PlanSettings(), "publish": PublishSettings()}
    run.write(RunRecord.at, RunRecord(run=run.run, graph="g", asks="bicliques", created="2026", **how))


def test_only_commit_records_make_partitions_visible(store):
    run = store.run("r")
    put_plan(run, 4)
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
    put_plan(run, 100_001)
    for number in (100_000, 11, 2):
        run.write_bytes(data_name(number), b"")
        run.commit_partition(replace(COMMIT, partition=number, stored=(StoredFile(data_name(number), 0, ""),)))
    assert list(run.committed()) == [2, 11, 100_000]


@pytest.mark.parametrize("why", ["no file", "another size", "another plan", "no such partition", "damaged"])
def test_a_commit_that_cannot_be_used_is_named(store, why):
    run = store.run("r")
    put_plan(run, 3 if why == "no such partition" else 4)
    run.write_bytes(data_name(3), b"01234" if why == "another size" else b"0123456789")
    run.commit_partition(replace(COMMIT, plan="other" if why == "another plan" else "p"))
    if why == "no file":
        run.remove(data_name(3))
    if why == "damaged":
        run.write_bytes(Commit.name(3), b"{}")
    assert list(run.examine_commits()[1]) == [3]
    with pytest.raises(DamageError, match=r"partition 3: .*bicliq verify"):
        run.committed()


def test_a_commit_removes_what_other_attempts_left(tmp_path):
    run = Store.open(str(tmp_path)).run("r")
    put_plan(run, 4)
    left = [data_name(3, "0badcafe"), f"{data_name(3)[:-14]}.part-0.parquet.{'0' * 32}.tmp"]
    for name in (*left, data_name(3), data_name(2, "0badcafe")):
        run.write_bytes(name, b"0123456789")
    run.commit_partition(COMMIT)
    run.sweep()
    assert list(run.files("bicliques")) == [data_name(2, "0badcafe"), data_name(3)]


def test_graphs_and_runs_are_listed_once_they_are_whole(store):
    store.graph("g").write_bytes("other.json", b"{}")
    assert store.graphs() == []
    store.graph("g").write_bytes("graph.json", b"{}")
    assert store.graphs() == ["g"]
    assert store.graph("g").exists()
    for run in ("b", "a", "c"):
        put_run(store.run(run))
    assert store.runs() == ["a", "b", "c"]
    assert store.run("a").manifest() is None


@pytest.mark.parametrize("name", ["st[1]", "a b", "ü*?", "100%25", "x=1/partition=7", "{a,b}", "#1"])
@pytest.mark.parametrize("protocol", ["", "memory://"])
def test_a_store_may_lie_anywhere(tmp_path, protocol, name):
    store = Store.open(f"{protocol}{tmp_path}/{name}/store")
    run = store.run("r")
    put_plan(run, 4)
    put_run(run)
    run.write_bytes(data_name(3), b"0123456789")
    run.commit_partition(COMMIT)
    again = Store.open(store.uri, create=False)
    assert again.runs() == ["r"]
    assert again.run("r").committed() == {3: COMMIT}
    if not protocol:
        assert (tmp_path / name / "store" / "bicliq-store.json").exists()


def test_a_store_behind_a_link_is_the_same_store(tmp_path):
    store = Store.open(str(tmp_path / "store"))
    put_run(store.run("r"))
    (tmp_path / "link").symlink_to(tmp_path / "store")
    assert Store.open(str(tmp_path / "link"), create=False).runs() == ["r"]
    assert "bicliq-store.json" in Store.at(str(tmp_path / "link")).root.files()


def test_a_store_without_its_own_record_is_not_taken_for_a_new_one(store):
    put_run(store.run("r"))
    store.root.remove("bicliq-store.json")
    with pytest.raises(DamageError, match="its store is there"):
        Store.open(store.uri)


def test_a_missing_file_is_named(store):
    with pytest.raises(DamageError, match=r"graphs/g/graph\.json: this record is missing"):
        store.graph("g").record()
    with pytest.raises(StorageError, match=r"x\.bin: no such file"):
        store.graph("g").size("x.bin")


def test_a_damaged_record_is_a_storage_error(store):
    run = store.run("r")
    run.write_bytes(Commit.name(1), b"{")
    with pytest.raises(StorageError):
        run.read_commit(1)


def test_a_writer_killed_in_the_middle_shows_no_file(tmp_path):
    store = Store.open(str(tmp_path))
    script = textwrap.dedent(
        f"""
        import time
        from bicliq.pipeline.store.layout import Store
        with Store.open({store.uri!r}).run("r").sink("x.bin") as sink:
            sink.write(b"half")
            print("writing", flush=True)
            time.sleep(60)
        """
    )
    writer = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    assert writer.stdout.readline() == "writing\n"
    assert take_inventory(store).leftovers == {}, "its writer lives"
    writer.kill()
    writer.wait()
    time.sleep(0.05)
    assert not store.run("r").has("x.bin")
    (left,) = take_inventory(store).leftovers
    assert left.startswith("runs/r/.x.bin.")
    store.run("r").write_bytes("x.bin", b"whole")
    assert store.run("r").size("x.bin") == 5


@pytest.mark.parametrize("error", [KeyboardInterrupt, PermissionError])
def test_only_a_file_that_is_missing_is_not_there(tmp_path, monkeypatch, error):
    folder = Store.open(str(tmp_path)).graph("g")

    def stat(path: str) -> None:
        raise error

    assert not folder.has("graph.json")
    monkeypatch.setattr("bicliq.pipeline.store.folder.os.stat", stat)
    with pytest.raises(KeyboardInterrupt if error is KeyboardInterrupt else StorageError):
        folder.has("graph.json")


def test_memory_that_runs_out_is_not_called_a_fault_of_the_storage():
    with pytest.raises(MemoryError), storage_errors("read", "edges.parquet"):
        raise pa.ArrowMemoryError("malloc of size 400343872 failed")


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("An error occurred (InvalidRange) when calling GetObject", DamageError),
        ("[Errno 22] The requested range is not satisfiable", DamageError),
        ("[Errno 5] Input/output error: 'lake/runs/416b8b9c2f0d/run.json'", StorageError),
    ],
)
def test_an_object_without_bytes_is_damaged_and_one_that_cannot_be_read_is_not(tmp_path, monkeypatch, said, kind):
    folder = Store.open(str(tmp_path)).run("416b8b9c2f0d")

    def fails(*arguments: object, **options: object) -> bytes:
        raise OSError(said)

    monkeypatch.setattr(folder.fs, "cat_file", fails)
    with pytest.raises(kind):
        folder.record()


def test_a_claim_that_another_process_holds_for_long_is_said_to_be_waited_for(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("bicliq.pipeline.store.local_disk.WAITS_IN_SILENCE", 0.1)
    root = Store.open(str(tmp_path / "store")).root
    taken = threading.Event()

    def wait():
        with root.claim("update"):
            taken.set()

    with root.claim("update"):
        waiting = threading.Thread(target=wait, daemon=True)
        waiting.start()
        while "waiting for another process" not in caplog.text:  # or the test takes too long
            assert not taken.wait(0.1)
        assert "claims/update.lock" in caplog.text
    assert taken.wait(10)


@pytest.mark.parametrize("data", [b"123456789", b"12345678901"], ids=["shorter", "longer"])
def test_a_file_of_another_length_is_damage_whether_its_sum_is_compared_or_not(store, data):
    store.root.write_bytes("some.bin", data)
    for check in (False, True):
        with pytest.raises(DamageError, match=r"some\.bin"):
            store.root.open_source(StoredFile("some.bin", 10, xxhash.xxh3_128_hexdigest(data)), check)
