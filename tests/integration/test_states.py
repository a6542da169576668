"""How far a run is, and that everybody says so; what is damaged is searched again, or refused."""

from __future__ import annotations

import json
import logging
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pytest

from bicliq.flows.cli import invoke
from bicliq.pipeline.errors import DamageError, InputError, StorageError
from bicliq.pipeline.questions.count_asked import CountAsked
from bicliq.pipeline.questions.count_partitions import count_partition, count_partitions, plan_count
from bicliq.pipeline.questions.count_tables import publish_counts
from bicliq.pipeline.repair import repair
from bicliq.pipeline.settings import PlanSettings, SearchSettings, load_settings
from bicliq.pipeline.stages.partition import write_partitions
from bicliq.pipeline.stages.plan import plan
from bicliq.pipeline.stages.publish import publish
from bicliq.pipeline.stages.search import search_partition
from bicliq.pipeline.stages.search_run import search_run
from bicliq.pipeline.stages.verify import examine, verify, verify_store
from bicliq.pipeline.store.commits import data_name, partition_name
from bicliq.pipeline.store.inventory import take_inventory
from bicliq.pipeline.store.layout import STORE_FILE, Store
from bicliq.pipeline.store.records import Commit, PlanRecord, Subgraph
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.store.states import list_runs, run_to_resume
from tests.integration.stored_graphs import bicliques_of, brute_force, digest_of, flip_a_bit, put_graph, random_graph
from tests.real_graphs import DATA

EDGES = str(DATA / "UCforum.adj")
GRAPH = random_graph(seed=7)
ANSWER = brute_force(GRAPH)


@pytest.fixture
def store(tmp_path):
    return Store.open(str(tmp_path / "store"))


def planned(store, partitions=4, **search):
    return plan(store, put_graph(store, GRAPH), SearchSettings(**search), PlanSettings(partitions=partitions)).run


def counted(store):
    settings, asked = settings_of(store, plan={"partitions": 2}), CountAsked(2, 2)
    run, method = plan_count(store, put_graph(store, GRAPH), asked, settings)
    publish_counts(store, run, asked, method, count_partitions(store, run, asked, method, settings))
    return run


def published(store, partitions=4):
    run = planned(store, partitions)
    search_run(store, run)
    publish(store, run)
    return run


def settings_of(store, **changes):
    return load_settings(store=store.uri, cluster={"local": True}, **changes)


def said(capsys, *arguments, code=0):
    assert invoke([*arguments, "--json"]) == code
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    return json.loads(lines[0])


# ---- states --------------------------------------------------------------------------------------


def test_a_run_says_how_far_it_is(store, caplog):
    run = planned(store)
    states = [str(open_run(store, run).state)]
    for number in range(4):
        search_run(store, run, only=[number])
        states.append(str(open_run(store, run).state))
    publish(store, run)
    assert caplog.messages == [f'run is not complete run={run} state="{state}"' for state in states]
    states.append(str(open_run(store, run).state))
    searched = [f"{n} of 4 partitions searched" for n in (1, 2, 3)]
    assert states == ["planned, none of 4 partitions searched", *searched, "searched, but not published", "published"]
    assert len(caplog.messages) == 5, "a published run needs no warning"


def test_commands_say_how_far_a_run_is(store, capsys, caplog):
    run = planned(store)
    search_run(store, run, only=[0, 2])
    top = said(capsys, "top", "--store", store.uri)
    assert (top["state"], top["complete"], top["partitions_searched"], top["partitions"]) == ("searching", False, 2, 4)
    assert f'run={run} state="2 of 4 partitions searched"' in caplog.text
    assert invoke(["top", "--store", store.uri]) == 0
    assert "(2 of 4 partitions searched)" in capsys.readouterr().out
    assert invoke(["verify", "--store", store.uri]) == 0
    assert "is sound, but 2 of 4 partitions searched" in capsys.readouterr().out
    (listed,) = said(capsys, "runs", "--store", store.uri)["runs"]
    assert (listed["run"], listed["state"], listed["complete"]) == (run, "searching", False)
    resumed = said(capsys, "resume", "--store", store.uri, "--local")
    assert (resumed["complete"], resumed["searched"], resumed["digest"]) == (True, 2, digest_of(ANSWER))
    assert said(capsys, "top", "--store", store.uri)["complete"]


def test_a_count_is_not_taken_for_an_enumeration(store, capsys):
    run = counted(store)
    opened = open_run(store, run)
    assert (opened.state.name, opened.state.complete) == ("count", True)
    for read in (opened.table, opened.top, opened.dataset, opened.to_dask):
        with pytest.raises(InputError, match="a count, not an enumeration"):
            read()
    with pytest.raises(InputError, match="no run is in this store"):
        open_run(store)
    assert invoke(["resume", run, "--store", store.uri, "--local"]) == 2
    assert "this run is a count" in capsys.readouterr().err
    assert said(capsys, "runs", "--store", store.uri)["runs"][0]["counts"] == ["one-p2-q2"]
    search, two = SearchSettings(min_left=2, min_right=2, side="left"), PlanSettings(partitions=2)
    assert plan(store, store.run(run).record().graph, search, two).run != run


def test_the_latest_run_is_the_one_that_was_published_last(store, capsys):
    first, second = published(store, 2), published(store, 3)
    assert open_run(store).run == second
    publish(store, first)
    assert open_run(store).run == first
    third = planned(store, 5)
    search_run(store, third, only=[0])
    assert open_run(store).run == first
    assert run_to_resume(store) == third
    assert [run["run"] for run in list_runs(store)] == [second, first, third]
    assert invoke(["runs", "--store", store.uri]) == 0
    shown = capsys.readouterr().out
    assert shown.index(second) < shown.index(first) < shown.index(third)


def test_a_run_whose_record_is_damaged_hides_no_other_one(store):
    first, second = published(store, 2), published(store, 3)
    flip_a_bit(store.run(second), "run.json")
    assert open_run(store, first).state.complete
    with pytest.raises(DamageError, match=r"run\.json"):
        open_run(store)  # which is the latest cannot be told
    states = {run["run"]: run["state"] for run in list_runs(store)}
    assert states == {first: "published", second: "damaged"}


# ---- a limit is a matter of the call -------------------------------------------------------------


def test_a_limit_is_left_behind_by_the_next_call(tmp_path, capsys):
    store = str(tmp_path / "store")
    command = ["run", EDGES, "--store", store, "--local", "--partitions", "3"]
    flagged = said(capsys, *command, "--max-bicliques", "500")
    assert (flagged["bicliques"], flagged["complete"]) == (500, False)
    assert invoke([*command, "--max-bicliques", "500", "--on-limit", "error"]) == 3
    assert "limit of 500" in capsys.readouterr().err
    assert said(capsys, "runs", "--store", store)["runs"][0]["limit"] == 500
    assert "cut off by its limit of 500" in said(capsys, "verify", "--store", store)["state"]
    more = said(capsys, *command, "--max-bicliques", "2000")
    assert (more["run"], more["bicliques"], more["complete"]) == (flagged["run"], 2000, False)
    whole = said(capsys, *command)
    assert (whole["run"], whole["bicliques"], whole["complete"]) == (flagged["run"], 16_261, True)
    assert invoke([*command, "--max-bicliques", "500", "--on-limit", "error"]) == 3
    assert said(capsys, *command)["complete"]


# ---- damage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", ["gone", "cut", "commit flipped", "commit of another partition"])
def test_resume_searches_again_what_is_damaged(store, caplog, damage):
    run = published(store)
    folder = store.run(run)
    if damage == "gone":
        folder.remove(data_name(2))
    elif damage == "cut":
        folder.write_bytes(data_name(2), folder.fs.cat_file(folder.path_of(data_name(2)))[:-9])
    elif damage == "commit flipped":
        flip_a_bit(folder, Commit.name(2))
    else:
        folder.write_bytes(Commit.name(2), folder.fs.cat_file(folder.path_of(Commit.name(1))))
    for read in (lambda: open_run(store), lambda: open_run(store, run).table(), lambda: publish(store, run)):
        with pytest.raises(StorageError, match="verify"):
            read()
    with caplog.at_level(logging.WARNING):
        assert search_run(store, run).searched == 1
    assert "partition=2 " in caplog.text
    assert publish(store, run).digest == digest_of(ANSWER)
    assert verify(store, run).problems == []


def test_a_flipped_bit_of_a_data_file_is_noticed_before_it_is_taken_as_done(store, capsys, caplog):
    run = published(store)
    flip_a_bit(store.run(run), data_name(1), 0.3)
    assert said(capsys, "resume", run, "--store", store.uri, "--local", "--no-check")["searched"] == 0
    opened = open_run(store)
    for read in (
        opened.table,
        opened.to_pandas,
        opened.dataset().to_table,
        opened.to_dask().compute,
        lambda: opened.top(10**6),
    ):
        with pytest.raises(DamageError, match="its checksum is"):
            read()
    assert said(capsys, "resume", run, "--store", store.uri, "--local")["searched"] == 1
    assert "searched again" in caplog.text
    assert bicliques_of(open_run(store).table(ids=False)) == ANSWER


def test_labels_of_a_changed_dictionary_are_never_given(store):
    published(store)
    graph = store.graph(GRAPH.digest)
    file = graph.record().named["left_ids.parquet"]
    ids = graph.read_table(file)["id"].to_pylist()
    graph.write_table(file.name, pa.table({"id": ids[::-1]}))
    opened = open_run(store)
    assert bicliques_of(opened.table(ids=False)) == ANSWER
    for read in (opened.table, opened.top, lambda: opened.left_ids, opened.to_dask):
        with pytest.raises(DamageError, match=r"left_ids\.parquet"):
            read()


def test_what_is_of_another_plan_is_cut_and_searched_again(store, caplog):
    run, other = published(store), planned(store, 3, side="right")
    folder, elsewhere = store.run(run), store.run(other)
    record = elsewhere.read(PlanRecord)
    (file,) = record.stored
    stored = (folder.write_table(file.name, elsewhere.read_table(file)),)
    folder.write(record.at, replace(record, run=run, stored=stored))
    with pytest.raises(DamageError, match="committed for another plan"):
        open_run(store, run)
    assert search_run(store, run).searched == 3
    assert caplog.text.count("is searched again") == 4
    assert publish(store, run).digest == digest_of(ANSWER)
    assert bicliques_of(open_run(store, run).table(ids=False)) == ANSWER


def test_what_cannot_be_mended_is_said_with_what_to_do(tmp_path, capsys):
    store = str(tmp_path / "store")
    run = said(capsys, "run", EDGES, "--store", store, "--local", "--partitions", "2")
    opened = Store.open(store)
    (graph,) = opened.graphs()
    flip_a_bit(opened.graph(graph), "right_ids.parquet")
    found = said(capsys, "verify", "--repair", "--store", store, code=1)
    assert not found["ok"]
    (sentence,) = found["repaired"]
    assert f"ingest {EDGES} again" in sentence
    assert f"come out as {graph}" in sentence
    assert said(capsys, "ingest", EDGES, "--store", store)["graph"] == graph
    mended = said(capsys, "verify", "--store", store)
    assert (mended["ok"], mended["digest"], mended["state"]) == (True, run["digest"], "published")


@pytest.mark.parametrize(
    "names",
    [
        ["plan.parquet"],
        ["plan.json"],
        ["manifest.json"],
        [partition_name(0), data_name(1), Commit.name(2)],
        [
            f"{folder}/{name}"
            for folder in ("commits", "partitions")
            for name in ("partition-00003.json", "part-00003.json")
        ],
    ],
)
def test_repair_mends_a_folder_that_is_half_gone(store, names):
    run = published(store)
    folder = store.run(run)
    folder.remove(*names)
    assert not verify(store, run).ok
    repair(store, settings_of(store))
    assert verify_store(store).problems == []
    assert bicliques_of(open_run(store).table(ids=False)) == ANSWER


def test_repair_leaves_what_was_not_searched_and_what_a_limit_cut_off(store):
    part, limited = planned(store, 4), planned(store, 3)
    search_run(store, part, only=[0, 1])
    search_run(store, limited, max_bicliques=20)
    publish(store, limited, 20)
    store.run(part).remove(data_name(1))
    (cut,) = (c for c in store.run(limited).committed().values() if c.rows)
    store.run(limited).remove(cut.file)
    repair(store, settings_of(store))
    assert verify_store(store).problems == []
    states = {run["run"]: (run["state"], run["bicliques"]) for run in list_runs(store)}
    assert states[limited] == ("limited", 20)
    assert states[part][0] == "searching"
    assert open_run(store, part).state.committed == 2


def test_a_store_without_its_own_record_is_mended(store):
    published(store)
    store.root.remove(STORE_FILE)
    with pytest.raises(DamageError, match="its store is there"):
        Store.open(store.uri)
    assert not verify_store(Store.to_verify(store.uri)).ok
    repair(Store.to_verify(store.uri), settings_of(store))
    assert verify_store(Store.open(store.uri)).ok


def test_a_foreign_file_is_named_and_never_removed(store, capsys):
    run = published(store)
    store.run(run).write_bytes("bicliques/notes.txt", b"mine")
    store.graph(GRAPH.digest).write_bytes("edges (copy).parquet", b"mine")
    found = said(capsys, "verify", "--repair", "--store", store.uri, code=1)
    assert sum("left to you" in sentence for sentence in found["repaired"]) == 2
    assert sum("foreign" in problem for problem in found["problems"]) == 2
    assert store.run(run).has("bicliques/notes.txt")


def test_leftovers_are_no_damage_and_go_with_a_repair(store, capsys):
    run = published(store)
    temporary = f"bicliques/partition=00001/.part-0.parquet.{'0' * 32}.tmp"
    attempt = data_name(1, "0badcafe")
    for name in (temporary, attempt):
        store.run(run).write_bytes(name, b"half")
    with store.graph(GRAPH.digest).sink("living.parquet") as sink:
        sink.write(b"half")
        found = said(capsys, "verify", "--repair", "--store", store.uri)
        assert found["ok"]
        assert {sentence.split(": ")[0] for sentence in found["repaired"]} == {
            f"runs/{run}/{n}" for n in (temporary, attempt)
        }
    assert store.graph(GRAPH.digest).has("living.parquet"), "its writer lived"
    assert open_run(store).table().num_rows == len(ANSWER)


def test_the_next_search_of_a_partition_removes_what_a_killed_one_left(store):
    run = planned(store)
    temporary = f"bicliques/partition=00001/.part-0.parquet.{'0' * 32}.tmp"
    for name in (temporary, data_name(1, "0badcafe"), data_name(1)):
        store.run(run).write_bytes(name, b"half")
    assert list(take_inventory(store).leftovers) == [
        f"runs/{run}/{n}" for n in sorted((temporary, data_name(1, "0badcafe"), data_name(1)))
    ]
    search_run(store, run)
    publish(store, run)
    assert take_inventory(store).leftovers == {}
    assert verify(store, run).ok
    assert open_run(store).table().num_rows == len(ANSWER)


def test_a_run_that_is_published_between_two_looks_of_verify_is_no_damage(store):
    run = published(store)
    folder, manifest = store.run(run), store.run(run).read_bytes("manifest.json")
    folder.unpublish()
    with folder.claim_run("share"):  # as a resumed run does, from its last commit to its manifest
        assert verify_store(store).problems == []
    seen = take_inventory(store)
    assert [found.problems for found in examine(store, seen)] == [
        [f"runs/{run}/manifest.json: it is missing, though all is searched; resume the run"]
    ]
    folder.write_bytes("manifest.json", manifest)
    assert [found.problems for found in examine(store, seen)] == [[]]


def test_counts_that_are_put_together_between_two_looks_of_verify_are_no_damage(store):
    run = counted(store)
    folder, record = store.run(run), store.run(run).read_bytes("counts.json")
    folder.remove("counts.json")
    seen = take_inventory(store)
    assert any("it is missing" in problem for found in examine(store, seen) for problem in found.problems)
    folder.write_bytes("counts.json", record)
    assert [found.problems for found in examine(store, seen)] == [[]]


def test_a_subgraph_whose_record_was_never_written_is_no_damage(store):
    run = planned(store)
    write_partitions(store, run)
    folder = store.run(run)
    folder.remove(Subgraph.name(1))  # its writer was killed between the two, or the disk was full
    found = verify(store, run)
    assert (found.problems, found.leftovers) == ([], [f"runs/{run}/{partition_name(1)}"])
    search_run(store, run)
    publish(store, run)
    assert (verify(store, run).problems, verify(store, run).leftovers) == ([], [])
    folder.remove(Subgraph.name(1))
    assert len(verify(store, run).problems) == 2, "what was searched needs it"


def test_a_commit_whose_disk_failed_just_after_it_leaves_no_data_file_behind(store):
    run = planned(store)
    search_run(store, run)
    folder = store.run(run)
    left = folder.write_table(data_name(1, "0badcafe"), pa.table({"x": [1]}))
    assert verify(store, run).leftovers == [f"runs/{run}/{left.name}"]
    publish(store, run)
    assert (verify(store, run).problems, verify(store, run).leftovers) == ([], [])


# ---- two at once ---------------------------------------------------------------------------------


def test_a_partition_that_is_counted_twice_at_once_counts_once(store):
    graph, asked = put_graph(store, GRAPH), CountAsked(2, 2, vertices=True)
    settings = settings_of(store, plan={"partitions": 3})
    run, method = plan_count(store, graph, asked, settings)
    started = threading.Barrier(4)
    write_partitions(store, run)

    def count(number):
        started.wait()
        return count_partition(store.uri, run, number % 3, asked, method, 1)

    with ThreadPoolExecutor(4) as pool:
        for first in range(0, 12, 4):
            list(pool.map(count, range(first, first + 4)))
    publish_counts(store, run, asked, method, 0)
    assert verify(store, run).problems == []
    assert verify(store, run).leftovers == []
    assert len([n for n in store.run(run).files("counts") if n.endswith(".parquet")]) == 6


def test_two_searches_and_a_limited_one_at_once_end_whole(store):
    run = planned(store, 8)
    limits = (None, 25, None)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda limit: search_run(store, run, max_bicliques=limit), limits))
    search_run(store, run)
    assert publish(store, run).digest == digest_of(ANSWER)
    assert verify(store, run).problems == []


# ---- places --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["st[1]", "a b", "ünï", "100%25", "partition=7"])
def test_a_run_in_a_store_anywhere(tmp_path, capsys, name):
    store = str(tmp_path / name / "store")
    record = said(capsys, "run", EDGES, "--store", store, "--local", "--partitions", "3")
    assert (record["bicliques"], record["complete"]) == (16_261, True)
    opened = open_run(store)
    assert opened.table().num_rows == 16_261
    assert set(opened.dataset().to_table(columns=["partition"])["partition"].to_pylist()) == {0, 1, 2}
    assert len(opened.to_dask().compute()) == 16_261
    assert said(capsys, "verify", "--store", store)["ok"]


@pytest.mark.parametrize(
    "written",
    [
        '{\n  "format": 4\n}\n',
        '{\n  "record": "bicliq-store.json",\n  "format": 4,\n  "stored": {},\n  "seal": "11db72"\n}\n',
    ],
)
def test_a_store_of_an_earlier_format_is_refused_with_what_to_do(tmp_path, capsys, written):
    (tmp_path / STORE_FILE).write_text(written)
    (tmp_path / "runs").mkdir()
    for command in (["top"], ["runs"], ["verify"], ["verify", "--repair"], ["resume"], ["run", EDGES]):
        assert invoke([*command, "--store", str(tmp_path)]) == 2
        assert (
            "the store has format 4, this version of bicliq reads and writes format 5; name another store"
            in capsys.readouterr().err
        )


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_store_on_a_disk_that_cannot_be_written_is_read_and_verified(tmp_path, capsys):
    store = Store.open(str(tmp_path / "store"))
    run = planned(store)
    search_run(store, run, only=[0, 1, 2])
    mounted = os.system(f"mount --bind '{store.path}' '{store.path}' && mount -o remount,bind,ro '{store.path}'") == 0
    if not mounted:
        pytest.skip("mounting is not allowed here")
    try:
        assert said(capsys, "verify", "--store", store.uri)["state"] == "3 of 4 partitions searched"
        assert said(capsys, "top", "--store", store.uri)["partitions_searched"] == 3
        assert invoke(["resume", "--store", store.uri, "--local"]) == 2
        assert "cannot" in capsys.readouterr().err
        with pytest.raises(StorageError, match="cannot"):
            search_partition(store.uri, run, 3)
    finally:
        os.system(f"umount '{store.path}'")
