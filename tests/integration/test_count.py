"""(p,q)-counts of edge tables: in memory, by partitions in the store, and as a flow."""

from __future__ import annotations

import json
from itertools import pairwise
from math import comb

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.choice import SHAPES, SIZES, WAYS, measure_choices
from benchmarks.choice import random_graph as random_shape
from bicliq import kernels
from bicliq.flows.cli import invoke
from bicliq.pipeline.errors import BicliqError, InputError
from bicliq.pipeline.questions.count import count_run, count_table
from bicliq.pipeline.questions.count_asked import CountAsked
from bicliq.pipeline.questions.count_partitions import count_partitions, plan_count
from bicliq.pipeline.questions.count_tables import publish_counts
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.stages.verify import verify_store
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.records import Counts, PartitionCounts
from tests.benches import bench
from tests.integration.stored_graphs import flip_a_bit, left_label, put_graph, random_graph, right_label
from tests.nightly import by_night
from tests.real_graphs import DATA

EDGES = str(DATA / "UCforum.adj")
KNOWN = {(2, 2): 76_095, (3, 3): 39_733, (4, 4): 3_059}


def settings_for(folder, **changes):
    cluster = {"local": True, **changes.pop("cluster", {})}
    return load_settings(store=str(folder / "store"), cluster=cluster, **changes)


def table_of(store, run, name):
    folder = store.run(run)
    return folder.read_table(folder.read(Counts).named[name])


def counts_in(folder, run) -> dict[tuple[int, int], int]:
    table = table_of(Store.open(str(folder / "store")), run, "counts.parquet")
    return {(row["p"], row["q"]): int(row["count"]) for row in table.to_pylist()}


def csr(graph):
    return graph.indptr, graph.indices, graph.n_right


@pytest.mark.parametrize("partitions", [1, 2, 7, 40])
@pytest.mark.parametrize("side", ["left", "right"])
def test_partitions_add_up_to_the_whole(tmp_path, partitions, side):
    graph = random_graph(density=0.25, seed=partitions)
    settings = settings_for(tmp_path, plan={"partitions": partitions}, search={"side": side})
    store = Store.open(settings.store)
    name = put_graph(store, graph)
    for method in ("levels", "pivot"):
        for p, q in [(1, 1), (2, 2), (3, 2), (2, 4)]:
            asked = CountAsked(p, q, method=method)
            run, chosen = plan_count(store, name, asked, settings)
            assert chosen == method
            counted = count_partitions(store, run, asked, chosen, settings)
            record = publish_counts(store, run, asked, chosen, counted)
            assert record.counts == {(p, q): kernels.count_bicliques(*csr(graph), p, q).count}
            assert record.side == side
    asked = CountAsked(5, 4, all_sizes=True)
    run, chosen = plan_count(store, name, asked, settings)
    count_partitions(store, run, asked, chosen, settings)
    record = publish_counts(store, run, asked, chosen, 0)
    assert record.counts == kernels.count_all_bicliques(*csr(graph), 5, 4).counts == counts_in(tmp_path, run)


def test_counts_of_vertices_carry_the_original_ids(tmp_path):
    graph = random_graph(density=0.3, seed=3)
    settings = settings_for(tmp_path, plan={"partitions": 6})
    store = Store.open(settings.store)
    asked = CountAsked(3, 3, vertices=True)
    run, method = plan_count(store, put_graph(store, graph), asked, settings)
    count_partitions(store, run, asked, method, settings)
    record = publish_counts(store, run, asked, method, 0)
    whole = kernels.count_bicliques(*csr(graph), 3, 3, per_vertex=True)
    rows = table_of(store, run, "vertex_counts.parquet").to_pylist()
    for side, counts, label in (("left", whole.left_counts, left_label), ("right", whole.right_counts, right_label)):
        found = {row["id"]: int(row["count"]) for row in rows if row["side"] == side}
        assert found == {str(label(i)): int(n) for i, n in enumerate(counts.tolist()) if n}
        assert sum(found.values()) == 3 * record.counts[3, 3]


def test_counts_beyond_64_bits_keep_every_digit(tmp_path):
    rows = [(f"l{i}", f"r{j}") for i in range(6) for j in range(100)]
    pq.write_table(pa.table({"l": [a for a, _ in rows], "r": [b for _, b in rows]}), tmp_path / "complete.parquet")
    settings = settings_for(tmp_path, plan={"partitions": 3})
    record = count_run(str(tmp_path / "complete.parquet"), CountAsked(3, 50, vertices=True), settings)
    expected = kernels.count_bicliques(np.arange(7) * 100, np.tile(np.arange(100), 6), 100, 3, 50).count
    assert record.counts[3, 50] == expected > 2**96
    table = table_of(Store.open(settings.store), record.run, "vertex_counts.parquet").to_pylist()
    assert {int(row["count"]) for row in table if row["side"] == "left"} == {expected // 2}
    assert {int(row["count"]) for row in table if row["side"] == "right"} == {expected // 2}


def test_one_cell_beyond_128_bits_does_not_lose_the_table(tmp_path):
    rows = [(f"l{i}", f"r{j}") for i in range(4) for j in range(300)]
    pq.write_table(pa.table({"l": [a for a, _ in rows], "r": [b for _, b in rows]}), tmp_path / "complete.parquet")
    asked = CountAsked(4, 150, all_sizes=True)
    expected = {(p, q): comb(4, p) * comb(300, q) for p in range(1, 5) for q in range(1, 151)}
    assert max(expected.values()) > 2**290
    source = str(tmp_path / "complete.parquet")
    record = count_run(source, asked, settings_for(tmp_path, plan={"partitions": 3}))
    assert record.counts == expected == counts_in(tmp_path, record.run)
    assert count_table(source, asked, load_settings()).counts == expected
    one = count_run(source, CountAsked(3, 150), settings_for(tmp_path, plan={"partitions": 3}))
    assert one.counts == {(3, 150): expected[3, 150]} == counts_in(tmp_path, one.run)


def test_a_run_on_a_cluster_is_resumed_where_it_was(tmp_path):
    settings = settings_for(tmp_path, plan={"partitions": 9}, cluster={"local": False, "workers": 2})
    asked = CountAsked(3, 3)
    first = count_run(EDGES, asked, settings)
    assert (first.counts, first.counted, first.partitions) == ({(3, 3): KNOWN[3, 3]}, 9, 9)
    folder = Store.open(settings.store).run(first.run)
    for number in (2, 5):
        folder.remove(PartitionCounts.name(asked.key, number))
    again = count_run(EDGES, asked, settings_for(tmp_path, plan={"partitions": 9}))
    assert (again.counts, again.counted, again.run) == (first.counts, 2, first.run)


def test_a_partition_that_fails_is_named_and_the_others_are_kept(tmp_path):
    settings = settings_for(tmp_path, plan={"partitions": 4})
    asked = CountAsked(2, 2)
    run = count_run(EDGES, asked, settings).run
    folder = Store.open(settings.store).run(run)
    flip_a_bit(folder, "partitions/part-00001.arrow")
    flip_a_bit(folder, "reduced.parquet")  # or the partition would be cut again
    for number in (0, 1):
        folder.remove(PartitionCounts.name(asked.key, number))
    with pytest.raises(BicliqError, match=r"1 of 4 partitions failed \(partition 1: .*reduced\.parquet: its checksum"):
        count_partitions(folder.store, run, asked, "levels", settings)
    assert folder.has(PartitionCounts.name(asked.key, 0))
    assert count_run(EDGES, asked, settings).counts == {(2, 2): KNOWN[2, 2]}, (
        "what is derived of the graph is derived again"
    )


def test_several_counts_of_a_run_stand_in_one_table(tmp_path):
    settings = settings_for(tmp_path, search={"side": "left"})
    small = count_run(EDGES, CountAsked(2, 3, all_sizes=True), settings)
    large = count_run(EDGES, CountAsked(4, 4, all_sizes=True), settings)
    assert small.run == large.run
    assert counts_in(tmp_path, large.run) == large.counts
    assert {size: large.counts[size] for size in KNOWN} == KNOWN


def test_in_memory_and_in_the_store_agree(tmp_path):
    for asked in (CountAsked(3, 3), CountAsked(2, 2, method="butterfly"), CountAsked(4, 5, all_sizes=True)):
        settings = settings_for(tmp_path, plan={"partitions": 3})
        assert count_table(EDGES, asked, settings).counts == count_run(EDGES, asked, settings).counts


@pytest.mark.parametrize(("p", "q"), [(900, 1), (1, 600), (2**40, 2)])
def test_sizes_larger_than_the_graph_count_nothing_and_say_so(tmp_path, p, q):
    for record in (
        count_table(EDGES, CountAsked(p, q), settings_for(tmp_path)),
        count_run(EDGES, CountAsked(p, q), settings_for(tmp_path)),
    ):
        assert record.counts == {(p, q): 0}
        assert "are asked for" in record.too_large
    assert counts_in(tmp_path, record.run) == {(p, q): 0}
    assert verify_store(Store.open(settings_for(tmp_path).store)).problems == []


def test_vertices_of_a_count_of_nothing_have_a_table_without_rows(tmp_path):
    record = count_run(EDGES, CountAsked(900, 2, vertices=True), settings_for(tmp_path))
    assert counts_in(tmp_path, record.run) == {(900, 2): 0}
    assert table_of(Store.open(str(tmp_path / "store")), record.run, "vertex_counts.parquet").num_rows == 0


def said(capsys, *arguments, run=None) -> dict:
    assert (run(*arguments, "--json") if run else invoke([*arguments, "--json"])) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    return json.loads(lines[0])


def test_the_command_counts_in_memory_and_into_a_store(tmp_path, capsys):
    assert said(capsys, "count", EDGES, "3", "3", "--threads", "2")["counts"] == [{"p": 3, "q": 3, "count": "39733"}]
    assert said(capsys, "count", EDGES, "3", "3", "--method", "pivot", "--side", "left")["side"] == "left"
    record = said(capsys, "count", EDGES, "--all", "--max-p", "4", "--max-q", "4")
    assert {(r["p"], r["q"]): int(r["count"]) for r in record["counts"]}.items() >= KNOWN.items()
    stored = said(capsys, "count", EDGES, "2", "2", "--vertices", "--store", str(tmp_path / "store"), "--local")
    assert stored["counts"][0]["count"] == str(KNOWN[2, 2])
    assert list((tmp_path / "store").rglob("vertex_counts.parquet"))
    assert invoke(["count", EDGES, "3", "3"]) == 0
    assert "39,733 complete 3 × 3 subgraphs" in capsys.readouterr().out
    assert invoke(["count", EDGES, "1000", "3"]) == 0
    assert "0, because the graph has only 899 left vertices" in capsys.readouterr().out
    assert invoke(["count", "--help"]) == 0
    assert "bicliq count" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["0", "3"], "p 0: it must be a whole number of at least 1"),
        (["3", "-2"], "q -2: it must be"),
        (["3", "2.5"], "'Q'"),
        (["3"], "give P and Q"),
        ([], "give P and Q"),
        (["--all"], "--all needs --max-p and --max-q"),
        (["3", "3", "--all", "--max-p", "3", "--max-q", "3"], "leave out 3 3"),
        (["3", "3", "--max-p", "3"], "belong to --all"),
        (["--all", "--max-p", "100000", "--max-q", "100000"], "10,000,000,000 cells"),
        (["3", "3", "--method", "guess"], "'guess' is not one of"),
        (["3", "3", "--method", "butterfly"], "counts p = q = 2, not (3, 3)"),
        (["3", "3", "--vertices"], "name one, as in --store counts"),
        (["3", "3", "--prefect"], "name one with --store"),
        (["3", "3", "--vertices", "--method", "levels"], "counts no vertices"),
        (["--all", "--max-p", "3", "--max-q", "3", "--method", "levels"], "all sizes need pivot"),
        (["--all", "--max-p", "3", "--max-q", "3", "--vertices"], "contradict each other"),
        (["3", "3", "--side", "top"], "side"),
        (["3", "3", "--threads", "-1"], "threads"),
    ],
)
def test_bad_arguments_end_with_code_2_and_one_message(arguments, message, capsys):
    options = [a for a in arguments if a.startswith("--") or not a.startswith("-")]
    command = ["count", EDGES, *arguments] if options == arguments else ["count", "--", EDGES, *arguments]
    assert invoke(command) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("where", [[], ["--store", "store", "--local"]])
def test_a_gpu_that_is_not_there_is_a_clear_error(where, tmp_path, monkeypatch, capsys):
    if kernels.why_not("cuda") is None:
        pytest.skip("there is a GPU")
    monkeypatch.chdir(tmp_path)
    assert invoke(["count", EDGES, "3", "3", "--backend", "cuda", *where]) == 2
    assert "use the CPU backend" in capsys.readouterr().err
    assert not list(tmp_path.rglob("graph.json"))


def test_a_file_that_is_missing_is_an_input_error(tmp_path, capsys):
    assert invoke(["count", str(tmp_path / "absent.csv"), "2", "2"]) == 2
    assert "no such file" in capsys.readouterr().err
    with pytest.raises(InputError, match="max_p 0"):
        CountAsked(0, 3, all_sizes=True)


def test_the_flow_does_what_the_plain_functions_do(tmp_path, prefect_server):
    from bicliq.flows.count import count_flow

    settings = {"store": str(tmp_path / "store"), "plan": {"partitions": 3}, "cluster": {"workers": 2}}
    record = count_flow(EDGES, {"p": 3, "q": 3, "vertices": True}, settings)  # on Dask workers
    assert record["counts"] == [{"p": 3, "q": 3, "count": str(KNOWN[3, 3])}]
    assert (record["counted"], record["partitions"]) == (3, 3)
    again = count_flow(EDGES, {"p": 3, "q": 3, "vertices": True}, {**settings, "cluster": {"local": True}})
    assert (again["counted"], again["counts"]) == (0, record["counts"])


def test_bench_prints_the_peers_beside_us(capsys):
    record = said(capsys, "count", "marvel", "--runs", "1", run=bench)
    found = {row["name"]: row for row in record["counts"]}
    assert found["marvel (8,8)"]["count"] == found["marvel (8,8)"]["expected"]
    assert found["marvel (8,8)"]["peer_bclist"] > 0
    for butterflies in (found["marvel (2,2)"], found["marvel (2,2) of each vertex and edge"]):
        assert (butterflies["count"], butterflies["method"]) == (10_709_594, "butterfly")
    assert bench("count", "nowhere") == 2
    assert "no counts of it are known" in capsys.readouterr().err
    assert bench("count", "marvel", "--runs", "1") == 0
    assert "EPivoter" in capsys.readouterr().out


@by_night
def test_the_bench_of_the_choice_counts_every_way_and_says_how_good_it_was(capsys):
    arguments = ["choice", "--seeds", "1", "--first-seed", "5", "--shape", "block", "--time-limit", "0.2"]
    counts = said(capsys, *arguments, run=bench)["counts"]
    assert [(c["p"], c["q"]) for c in counts] == list(SIZES)
    assert {c["graph"] for c in counts} == {"block 5"}
    for count in counts:
        ways = [count[f"{method}_{side}"] for method, side in WAYS]
        assert count["best"] == min((s for s in ways if s is not None), default=None)
        if count["judged"] and count["times"] is not None:
            assert count["times"] == count[count["chosen"].replace(" ", "_")] / count["best"] >= 1
    assert bench(*arguments) == 0
    assert "within 2" in capsys.readouterr().out


def test_a_search_that_takes_too_long_is_given_up_and_not_judged():
    (found,) = measure_choices([1], ["block"], [(9, 9)], time_limit=1e-9)
    assert found.seconds == (None,) * 4 or found.best < 0.3  # ended before it was looked at
    assert found.is_judged == (found.best is not None and found.best >= 0.002)


@pytest.mark.parametrize("shape", SHAPES)
def test_random_graphs_of_a_seed_are_the_same_again(shape):
    first, again, other = (random_shape(shape, seed) for seed in (3, 3, 4))
    assert all((x == y).all() for x, y in zip(first[:2], again[:2], strict=True))
    assert first[0].shape != other[0].shape or (first[0] != other[0]).any()
    assert all((np.diff(first[1][a:b]) > 0).all() for a, b in pairwise(first[0][:50]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--shape", "star"], "shape 'star' is unknown"), (["--time-limit", "0"], "Invalid value for '--time-limit'")],
)
def test_the_bench_of_the_choice_refuses_what_it_cannot_draw_or_time(capsys, arguments, message):
    assert bench("choice", *arguments) == 2
    assert message in capsys.readouterr().err
