"""The same stages on an object store: moto's S3 server on this machine, reached through s3fs."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import fsspec
import pytest

from bicliq import kernels
from bicliq.pipeline.errors import DamageError, InputError, StorageError
from bicliq.pipeline.placement.cluster import open_cluster
from bicliq.pipeline.questions.clique import CliqueQuestion, answer
from bicliq.pipeline.questions.count_asked import CountAsked
from bicliq.pipeline.questions.count_partitions import count_partition, plan_count
from bicliq.pipeline.questions.count_tables import publish_counts
from bicliq.pipeline.repair import repair
from bicliq.pipeline.results.changes import changes_between
from bicliq.pipeline.run import run as run_all
from bicliq.pipeline.settings import ClusterSettings, PlanSettings, SearchSettings, load_settings
from bicliq.pipeline.stages.partition import write_partitions
from bicliq.pipeline.stages.plan import plan
from bicliq.pipeline.stages.publish import publish
from bicliq.pipeline.stages.search import search_partition
from bicliq.pipeline.stages.search_run import search_run
from bicliq.pipeline.stages.verify import verify, verify_store
from bicliq.pipeline.store.commits import data_name
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.record import StoredFile
from bicliq.pipeline.store.records import Commit
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.store.sizes import Sizes
from bicliq.pipeline.versions.compact import compact
from bicliq.pipeline.versions.prune import prune
from bicliq.pipeline.versions.update import update
from bicliq.pipeline.versions.watch import Watch
from tests.integration.stored_graphs import bicliques_of, brute_force, digest_of, flip_a_bit, put_graph, random_graph
from tests.nightly import part_of
from tests.s3_server import s3_at, s3_server

pytest.importorskip("s3fs")
pytest.importorskip("moto.server")

GRAPH = random_graph(seed=11)
ANSWER = brute_force(GRAPH)


@pytest.fixture(scope="module")
def bucket():
    import s3fs

    with s3_server() as (host, port), s3_at(f"http://{host}:{port}"):
        s3fs.S3FileSystem().mkdir("bicliques")
        yield "s3://bicliques"


def test_a_run_on_an_object_store_ends_with_its_manifest(bucket):
    store = Store.open(f"{bucket}/plain")
    record = plan(store, put_graph(store, GRAPH), SearchSettings(), PlanSettings(partitions=5))
    assert search_run(store, record.run).digest == digest_of(ANSWER)
    assert publish(store, record.run).bicliques == len(ANSWER)
    assert verify(store, record.run).problems == []
    run = open_run(f"{bucket}/plain")
    assert bicliques_of(run.table(ids=False)) == ANSWER
    assert run.top(3).num_rows == 3
    assert search_run(store, record.run).searched == 0


def test_a_partition_is_visible_only_with_its_commit_record(bucket):
    store = Store.open(f"{bucket}/commits")
    record = plan(store, put_graph(store, GRAPH), SearchSettings(), PlanSettings(partitions=4))
    search_run(store, record.run)
    folder = store.run(record.run)
    lost = folder.committed()[2]
    folder.uncommit_partition(2)
    assert not folder.has(Commit.name(2))
    assert folder.has(lost.file)
    assert open_run(store).table().num_rows == len(ANSWER) - lost.rows
    assert search_run(store, record.run).searched == 1
    assert publish(store, record.run).digest == digest_of(ANSWER)


def test_of_two_searches_at_once_one_stands(bucket):
    store = Store.open(f"{bucket}/twice")
    record = plan(store, put_graph(store, GRAPH), SearchSettings(), PlanSettings(partitions=4))
    write_partitions(store, record.run)
    folder = store.run(record.run)
    started = threading.Barrier(2)

    def search(number):
        started.wait()
        return search_partition(store.uri, record.run, number)

    with ThreadPoolExecutor(2) as pool:
        for number in range(4):
            one, other = pool.map(search, [number, number])
            assert one.file == other.file == folder.committed()[number].file
            assert list(folder.files(f"bicliques/partition={number:05d}")) == [one.file]
    assert publish(store, record.run).digest == digest_of(ANSWER)
    assert verify(store, record.run).problems == []


@pytest.mark.parametrize("answer", [None, OSError(22, "no conditions here"), TypeError("mode")])
def test_the_first_commit_stands_whatever_the_store_can_do(bucket, monkeypatch, answer):
    folder = Store.open(f"{bucket}/first-{type(answer).__name__}").run("r")
    if answer is not None:
        pipe = type(folder.fs).pipe_file

        def refuse(fs, path, value, mode="overwrite", **options):
            if mode == "create":
                raise answer
            return pipe(fs, path, value, mode=mode, **options)

        monkeypatch.setattr(type(folder.fs), "pipe_file", refuse)
    first, second = (
        Commit(
            stored=(StoredFile(folder.attempt_name(3), 1, ""),),
            partition=3,
            rows=0,
            digest="0" * 16,
            seconds=0.0,
            complete=True,
            sizes=Sizes().counts(),
            plan="p",
            backend="cpu",
            threads=1,
        )
        for _ in range(2)
    )
    for commit in (first, second):
        folder.write_bytes(commit.file, b"x")
    assert folder.commit_partition(first) == first
    assert folder.commit_partition(first) == first  # sent again by a client that heard no answer
    assert folder.commit_partition(second) == first
    assert (folder.has(first.file), folder.has(second.file)) == (True, False)


def test_an_upload_that_fails_shows_no_object(bucket):
    folder = Store.open(f"{bucket}/uploads").run("r")

    def write() -> None:
        with folder.sink("x.bin") as sink:
            sink.write(b"half")
            raise RuntimeError("lost")

    with pytest.raises(RuntimeError):
        write()
    assert not folder.has("x.bin")


def test_workers_reach_the_object_store_by_its_url(bucket):
    store = Store.open(f"{bucket}/workers")
    record = plan(store, put_graph(store, GRAPH), SearchSettings(), PlanSettings(partitions=6))
    with open_cluster(ClusterSettings(workers=1, dashboard=False)) as client:
        assert search_run(store, record.run, client).digest == digest_of(ANSWER)
    assert publish(store, record.run).complete


def test_a_missing_bucket_is_a_storage_error(bucket):
    with pytest.raises(StorageError, match="no-such-bucket"):
        Store.open("s3://no-such-bucket/store")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store on this disk with a finished run."""
    store = Store.open(str(tmp_path_factory.mktemp("made") / "store"))
    run = plan(store, put_graph(store, GRAPH), SearchSettings(), PlanSettings(partitions=4)).run
    search_run(store, run)
    publish(store, run)
    return store.path


def finished(made, uri):
    """Put it into the bucket."""
    fs, path = fsspec.core.url_to_fs(uri)
    fs.put(f"{made}/", path, recursive=True)
    store = Store.open(uri)
    (run,) = store.runs()
    return store, run


@pytest.mark.parametrize("damage", part_of(["record of another partition", "flipped", "gone"], 3))
def test_damage_is_named_refused_and_searched_again(bucket, made, damage):
    store, run = finished(made, f"{bucket}/damage-{damage[:4]}[1]*")
    folder = store.run(run)
    file = folder.committed()[2].file
    if damage == "flipped":
        flip_a_bit(folder, file)
    elif damage == "gone":
        folder.remove(file)
    else:
        folder.write_bytes(Commit.name(2), folder.fs.cat_file(folder.path_of(Commit.name(1))))
    assert not verify(store, run).ok
    with pytest.raises(DamageError):
        open_run(store).table()
    assert search_run(store, run).searched == 1
    assert publish(store, run).digest == digest_of(ANSWER)
    assert verify(store, run).problems == []
    assert bicliques_of(open_run(store).table(ids=False)) == ANSWER
    assert open_run(store).dataset().count_rows() == len(ANSWER)


def test_what_a_killed_attempt_left_is_removed_when_it_is_old(bucket, made, monkeypatch):
    store, run = finished(made, f"{bucket}/leftovers")
    left = f"runs/{run}/{data_name(1, '0badcafe')}"
    store.root.write_bytes(left, b"half")
    settings = load_settings(store=store.uri, cluster={"local": True})
    assert verify(store, run).leftovers == [left]
    assert verify(store, run).ok
    assert repair(store, settings) == []
    monkeypatch.setattr("bicliq.pipeline.store.inventory.FORGOTTEN_SECONDS", -1e9)
    assert repair(store, settings) == [f"{left}: removed, a file of an attempt that was not committed"]
    assert bicliques_of(open_run(store).table(ids=False)) == ANSWER


def test_a_run_goes_on_where_its_limit_stopped_it(bucket):
    store = Store.open(f"{bucket}/limits")
    run = plan(store, put_graph(store, GRAPH), SearchSettings(), PlanSettings(partitions=4)).run
    for limit in (20, 60, None):
        assert search_run(store, run, max_bicliques=limit).bicliques == (limit or len(ANSWER))
        assert publish(store, run, limit).complete == (limit is None)
        found = verify(store, run)
        assert (found.problems, found.leftovers) == ([], [])
    assert bicliques_of(open_run(store).table(ids=False)) == ANSWER


def test_a_partition_that_is_counted_twice_at_once_counts_once(bucket):
    store = Store.open(f"{bucket}/counts")
    settings = load_settings(store=store.uri, cluster={"local": True}, plan={"partitions": 2})
    asked = CountAsked(2, 2, vertices=True)
    run, method = plan_count(store, put_graph(store, GRAPH), asked, settings)
    write_partitions(store, run)
    started = threading.Barrier(2)

    def count(number):
        started.wait()
        return count_partition(store.uri, run, number, asked, method, 1)

    with ThreadPoolExecutor(2) as pool:
        for number in range(2):
            list(pool.map(count, [number, number]))
    counts = publish_counts(store, run, asked, method, 2).counts
    assert counts == {(2, 2): kernels.count_bicliques(GRAPH.indptr, GRAPH.indices, GRAPH.n_right, 2, 2).count}
    found = verify(store, run)
    assert (found.problems, found.leftovers) == ([], [])


def test_an_answer_of_a_clique_search_stands_until_there_is_a_better_one(bucket, tmp_path):
    store = Store.open(f"{bucket}/cliques")
    (tmp_path / "square.csv").write_text("u,v\n1,2\n2,3\n3,1\n3,4\n")
    first = answer(str(tmp_path / "square.csv"), CliqueQuestion(), store=store)
    again = answer(str(tmp_path / "square.csv"), CliqueQuestion(), store=store)
    assert (again["found"], again["members"]) == (True, first["members"])
    assert verify_store(store).problems == []


def test_a_version_on_an_object_store_is_committed_once_though_two_make_it(bucket):
    import s3fs

    fs = s3fs.S3FileSystem()
    fs.pipe_file(f"{bucket}/base.csv", b"user,item\nann,jam\nann,tea\nbob,jam\nbob,tea\ncid,tea\n")
    fs.pipe_file(f"{bucket}/new.csv", b"user,item\ncid,jam\ndan,rum\n")
    settings = load_settings(store=f"{bucket}/versions", cluster={"local": True})
    base = run_all(f"{bucket}/base.csv", settings)
    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(lambda _: update(f"{bucket}/new.csv", settings, base.run), range(2)))
    assert len({record.version for record in both}) == 1
    assert {record.how for record in both} <= {"changes", "taken"}
    opened = open_run(settings.store)
    assert [row["n_left"] for row in opened.top(2).to_pylist()] == [3, 1]
    found = verify_store(Store.open(settings.store))
    assert (found.problems, found.leftovers) == ([], [])
    assert update(f"{bucket}/new.csv", settings).how == "taken"
    assert [group["how"] for group in changes_between(opened).top("appeared")] == ["grown", "new"]


def test_versions_are_written_whole_and_pruned_on_an_object_store(bucket, tmp_path):
    (tmp_path / "base.csv").write_text("u,v\n" + "".join(f"{u},{v}\n" for u in range(6) for v in range(u, 6)))
    settings = load_settings(store=f"{bucket}/compacted", plan={"partitions": 2}, cluster={"local": True})
    here = settings.model_copy(update={"store": str(tmp_path / "store")})
    run_all(str(tmp_path / "base.csv"), here)
    for n in range(3):
        (tmp_path / f"{n}.csv").write_text(f"u,v\n{5 - n},{n}\n")
        if n == 2:  # the last one there
            fs, path = fsspec.core.url_to_fs(settings.store)
            fs.put(f"{here.store}/", path, recursive=True)
        version = update(str(tmp_path / f"{n}.csv"), settings if n == 2 else here)
    store = Store.open(settings.store)
    found = compact(store)
    assert (found.version, found.digest, found.partitions) == (version.version, version.digest, found.written)
    assert verify_store(store).problems == []
    assert len(prune(store, 1, remove=True).removed) > 4
    assert store.runs() == [found.run]
    assert verify_store(store).problems == []
    assert open_run(store).table().num_rows == version.bicliques


def test_objects_that_arrive_below_a_prefix_are_taken_once(bucket):
    import s3fs

    fs = s3fs.S3FileSystem()
    watch = Watch(f"{bucket}/orders", load_settings(store=f"{bucket}/watched", cluster={"local": True}), settle=0)
    assert not watch.take().anything
    for name, rows in (("1.csv", b"ann,jam\nann,tea\nbob,jam\nbob,tea\ncid,tea"), ("2.csv", b"cid,jam\ndan,rum")):
        fs.pipe_file(f"{bucket}/orders/{name}", b"user,item\n" + rows + b"\n")
        taken = watch.take()
        assert taken.files == (f"{bucket}/orders/{name}",)
        assert not watch.take().anything
    assert [row["n_left"] for row in open_run(f"{bucket}/watched").top(2).to_pylist()] == [3, 1]
    fs.pipe_file(f"{bucket}/orders/2.csv", b"user,item\ndan,rum\n")
    with pytest.raises(InputError, match="has changed since version"):
        watch.take()
    anew = Watch(
        f"{bucket}/orders", load_settings(store=f"{bucket}/watched", cluster={"local": True}), replace=True, settle=0
    )
    assert (anew.take().update.gone, anew.take().anything) == (1, False)
    assert verify_store(Store.open(f"{bucket}/watched")).problems == []
    with pytest.raises(InputError, match="no such folder"):
        Watch("s3://no-such-bucket/orders", load_settings(store=f"{bucket}/watched"), settle=0).take()
