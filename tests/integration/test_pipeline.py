"""From a stored graph to its verified bicliques: one set, whatever the side, partitions and
workers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bicliq.kernels.errors import BicliqError
from bicliq.pipeline.errors import InputError, LimitReached, StorageError
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.placement.cluster import open_cluster
from bicliq.pipeline.settings import ClusterSettings, PlanSettings, SearchSettings
from bicliq.pipeline.stages.partition import read_partition, write_partition, write_partitions
from bicliq.pipeline.stages.plan import plan
from bicliq.pipeline.stages.profile import profile
from bicliq.pipeline.stages.publish import publish
from bicliq.pipeline.stages.search import search_partition
from bicliq.pipeline.stages.search_run import search_run
from bicliq.pipeline.stages.verify import verify
from bicliq.pipeline.store.commits import data_name, partition_name
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.records import Commit, Manifest, Subgraph
from bicliq.pipeline.store.results import open_run
from tests.integration.stored_graphs import (
    bicliques_of,
    brute_force,
    digest_of,
    flip_a_bit,
    left_label,
    put_graph,
    random_graph,
    right_label,
)
from tests.real_graphs import COUNTS, DATA

GRAPH = random_graph(seed=3)
ANSWER = brute_force(GRAPH)


@pytest.fixture
def store(tmp_path):
    return Store.open(str(tmp_path / "store"))


@pytest.fixture
def client(cluster):
    return cluster


def planned(store, graph=GRAPH, partitions=None, **search):
    return plan(store, put_graph(store, graph), SearchSettings(**search), PlanSettings(partitions=partitions))


def finished(store, client=None, **options):
    record = planned(store, **options)
    search_run(store, record.run, client)
    return record.run


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("partitions", [1, 7, 100])
def test_sides_and_partitions_do_not_change_the_set(store, side, partitions):
    record = planned(store, partitions=partitions, side=side)
    assert record.partitions == min(partitions, record.n_roots)
    found = search_run(store, record.run)
    manifest = publish(store, record.run)
    assert bicliques_of(open_run(store).table(ids=False)) == ANSWER
    assert manifest.bicliques == found.bicliques == len(ANSWER)
    assert manifest.digest == found.digest == digest_of(ANSWER)
    assert verify(store, record.run).problems == []


@pytest.mark.parametrize("partitions", [1, 9])
def test_workers_do_not_change_the_set(store, client, partitions):
    run = finished(store, client, partitions=partitions)
    assert publish(store, run).digest == digest_of(ANSWER)


@pytest.mark.parametrize("seed", range(8))
def test_random_graphs_agree_with_brute_force(store, seed):
    sizes = np.random.default_rng(seed).integers(1, 25, 2).tolist()
    graph = random_graph(*sizes, density=0.1 + 0.08 * seed, seed=seed)
    run = finished(store, graph=graph, partitions=1 + seed)
    assert bicliques_of(open_run(store, run).table(ids=False)) == brute_force(graph)


@pytest.mark.parametrize("side", ["left", "right"])
def test_roots_that_are_searched_together_and_partitions_of_them_find_the_same(store, side):
    graph, least = random_graph(150, 14, 0.6), 40
    graph, asked = (graph, {"min_left": least}) if side == "right" else (graph.transpose(), {"min_right": least})
    answer = brute_force(graph, **asked)
    for partitions in (1, 2, 7):
        run = finished(store, graph=graph, partitions=partitions, side=side, **asked)
        assert publish(store, run).digest == digest_of(answer)
    assert len(answer) > 20


@pytest.mark.parametrize("sizes", [(2, 1, 1), (1, 3, 1), (2, 2, 6), (3, 2, 1), (30, 1, 1)])
@pytest.mark.parametrize("side", ["left", "right"])
def test_thresholds_are_in_terms_of_the_graphs_own_sides(store, sizes, side):
    asked = dict(zip(("min_left", "min_right", "min_edges"), sizes, strict=True))
    run = finished(store, partitions=5, side=side, **asked)
    assert bicliques_of(open_run(store, run).table(ids=False)) == brute_force(GRAPH, **asked)
    publish(store, run)
    assert verify(store, run).problems == []


def test_a_graph_without_edges_is_searched_and_published(store):
    run = finished(store, graph=BipartiteGraph.from_edges([], [], 3, 2))
    manifest = publish(store, run)
    assert (manifest.bicliques, manifest.partitions, manifest.largest) == (0, 0, None)
    assert manifest.complete
    assert verify(store, run).problems == []
    assert open_run(store, run).table().num_rows == 0
    assert open_run(store, run).top(3).num_rows == 0
    assert len(open_run(store, run).to_dask().compute()) == 0


def table_of(graph: BipartiteGraph) -> np.ndarray:
    """The graph as a table of left × right zeros and ones."""
    table = np.zeros((graph.n_left, graph.n_right), np.int8)
    table[graph.edge_left, graph.indices] = 1
    return table


@pytest.mark.parametrize("partitions", [1, 4])
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_partition_is_closed_under_the_neighbours_of_its_roots(store, side, partitions):
    record = planned(store, partitions=partitions, side=side)
    matrix = table_of(GRAPH) if side == "left" else table_of(GRAPH).T
    searched = []
    for number in range(partitions):
        assert write_partition(store, record.run, number) > 0
        part = read_partition(store.run(record.run), number)
        local = BipartiteGraph(part.left_ids.size, part.n_right, part.indptr, part.indices)
        dense = table_of(local)
        ids = (part.left_ids, part.right_ids)
        if side == "right":
            dense, ids = dense.T, ids[::-1]
        columns, rows = ids
        roots = columns[part.roots]
        searched += roots.tolist()
        assert rows.tolist() == np.flatnonzero(matrix[roots].any(axis=0)).tolist()
        assert sorted(columns) == np.flatnonzero(matrix[:, rows].any(axis=1)).tolist()
        assert (dense == matrix[np.ix_(columns, rows)]).all()
        degrees = matrix.sum(axis=1)
        assert (np.lexsort((columns, degrees[columns])) == np.arange(columns.size)).all()
    assert sorted(searched) == np.flatnonzero(matrix.any(axis=1)).tolist()


def test_partitions_that_are_written_are_kept(store, client):
    record = planned(store, partitions=6)
    assert write_partitions(store, record.run, client) == 6
    store.run(record.run).remove(partition_name(2))
    assert write_partitions(store, record.run) == 1


def test_planning_again_names_the_same_run(store):
    first = planned(store, partitions=3, min_left=2)
    assert planned(store, partitions=3, min_left=2) == first
    assert store.runs() == [first.run]


def test_a_profile_is_kept_beside_its_graph(store):
    graph = put_graph(store, GRAPH)
    found = profile(store, graph)
    assert profile(store, graph) == found
    assert found.left_wedges == int((GRAPH.right_degrees**2).sum())


def test_a_graph_that_is_not_there_is_an_input_error(store):
    with pytest.raises(InputError, match="ingest"):
        plan(store, "nothing", SearchSettings(), PlanSettings())


def test_a_committed_partition_is_never_searched_twice(store):
    run = finished(store, partitions=5)
    before = store.run(run).committed()
    again = search_run(store, run)
    assert (again.searched, again.bicliques) == (0, len(ANSWER))
    assert search_partition(store.uri, run, 2) == before[2]
    assert store.run(run).committed() == before


def test_data_without_a_commit_record_is_invisible_and_searched_again(store):
    run = finished(store, partitions=5)
    folder = store.run(run)
    lost = folder.committed()[3]
    folder.remove(Commit.name(3))
    folder.write_bytes(data_name(3), b"half a file")
    assert open_run(store, run).table().num_rows == len(ANSWER) - lost.rows
    assert open_run(store, run).state.name == "searching"
    with pytest.raises(StorageError, match=r"partitions 3 \(1\) of 5 not committed"):
        publish(store, run)
    found = verify(store, run)
    assert (found.problems, found.state) == ([], "4 of 5 partitions searched")
    assert found.leftovers == [f"runs/{run}/{data_name(3)}"]
    assert search_run(store, run).searched == 1
    assert publish(store, run).digest == digest_of(ANSWER)


@pytest.mark.parametrize("on_cluster", [False, True])
def test_a_partition_that_fails_is_named_and_the_others_are_searched(store, client, on_cluster):
    record = planned(store, partitions=5)
    write_partitions(store, record.run)
    folder, graph = store.run(record.run), store.graph(record.graph)
    flip_a_bit(folder, partition_name(1))
    edges = graph.fs.cat_file(graph.path_of("edges.parquet"))
    flip_a_bit(graph, "edges.parquet")  # or the partition would be cut again
    with pytest.raises(BicliqError, match=r"1 of 5 partitions failed.*partition 1: .*edges\.parquet: its checksum is"):
        search_run(store, record.run, client if on_cluster else None)
    assert list(folder.committed()) == [0, 2, 3, 4]
    assert list(folder.failures()) == [1]
    graph.write_bytes("edges.parquet", edges)
    assert search_run(store, record.run).digest == digest_of(ANSWER)
    assert folder.failures() == {}


@pytest.mark.parametrize("name", [partition_name(1), Subgraph.name(1)])
def test_a_damaged_partition_is_cut_again_before_it_is_searched(store, caplog, name):
    record = planned(store, partitions=3)
    write_partitions(store, record.run)
    flip_a_bit(store.run(record.run), name)
    assert search_run(store, record.run).digest == digest_of(ANSWER)
    assert name.endswith("json") or f"partition is cut again run={record.run} partition=1 " in caplog.text
    publish(store, record.run)
    assert verify(store, record.run).problems == []


@pytest.mark.parametrize("on_cluster", [False, True])
def test_a_limit_bounds_the_whole_run_and_is_flagged(store, client, on_cluster):
    record = planned(store, partitions=5)
    found = search_run(store, record.run, client if on_cluster else None, max_bicliques=30)
    assert (found.bicliques, found.complete) == (30, False)
    manifest = publish(store, record.run, 30)
    assert (manifest.bicliques, manifest.complete, manifest.limit) == (30, False, 30)
    opened = open_run(store)
    assert bicliques_of(opened.table(ids=False)) <= ANSWER
    assert (opened.state.name, opened.state.complete) == ("limited", False)
    assert str(opened.state) == "cut off by its limit of 30 bicliques"
    assert verify(store, record.run).problems == []
    assert search_run(store, record.run, max_bicliques=30).searched == 0


@pytest.mark.parametrize("on_cluster", [False, True])
@pytest.mark.parametrize("limits", [(30, None), (30, 70, None), (70, 30, 71)])
def test_a_run_goes_on_where_its_limit_stopped_it(store, client, on_cluster, limits):
    record = planned(store, partitions=5)
    held = 0
    for limit in limits:
        search_run(store, record.run, client if on_cluster else None, max_bicliques=limit)
        manifest = publish(store, record.run, limit)
        held = len(ANSWER) if limit is None else max(held, limit)
        assert (manifest.bicliques, manifest.complete) == (held, limit is None)
        assert verify(store, record.run).problems == []
        assert bicliques_of(open_run(store).table(ids=False)) <= ANSWER
    assert held < len(ANSWER) or publish(store, record.run).digest == digest_of(ANSWER)


def test_a_limit_below_what_a_run_holds_takes_nothing_away(store):
    run = finished(store, partitions=3)
    assert search_run(store, run, max_bicliques=10).bicliques == len(ANSWER)
    assert publish(store, run, 10).complete
    with pytest.raises(LimitReached, match="limit of 10"):
        search_run(store, run, max_bicliques=10, on_limit="error")
    assert verify(store, run).problems == []


def test_a_limit_is_an_error_whenever_it_is_asked_to_be(store):
    run = planned(store, partitions=2).run
    for _ in range(2):
        with pytest.raises(LimitReached, match="limit of 5"):
            search_run(store, run, max_bicliques=5, on_limit="error")
        assert search_run(store, run, max_bicliques=5).bicliques == 5


def test_a_limit_that_is_just_enough_is_no_limit(store):
    record = planned(store, partitions=3)
    assert search_run(store, record.run, max_bicliques=len(ANSWER), on_limit="error").complete


def test_the_manifest_sums_up_the_run(store):
    run = finished(store, partitions=3)
    manifest = publish(store, run)
    assert store.run(run).published() == manifest
    largest = max((len(left) * len(right), len(left)) for left, right in ANSWER)
    assert manifest.largest.rank == largest
    assert manifest.left_histogram == sorted(Counter(len(left) for left, _ in ANSWER).items())
    assert manifest.right_histogram == sorted(Counter(len(right) for _, right in ANSWER).items())
    assert [file.path for file in manifest.files] == [data_name(n) for n in range(3)]
    assert set(manifest.seconds) == {"reduce", "plan", "search"}
    record = json.loads(store.run(run).fs.cat_file(store.run(run).path_of("manifest.json")))
    assert record["bicliques"] == len(ANSWER)


def test_an_unpublished_run_has_no_manifest(store):
    with pytest.raises(StorageError, match="not published"):
        store.run(finished(store)).published()


def rewrite(store, run, number, change):
    """Replace a data file by a changed one, and its commit record's checksum and size with it."""
    folder = store.run(run)
    commit = folder.committed()[number]
    table = change(folder.read_table(commit.data))
    with folder.sink(commit.file) as sink:
        pq.write_table(table, sink)
    folder.commit_partition(replace(commit, stored=(sink.file(commit.file),)))


def with_lists(table, name, change):
    lists = [change(row) for row in table[name].to_pylist()]
    position = table.schema.get_field_index(name)
    return table.set_column(position, table.schema.field(name), pa.array(lists, table.schema.field(name).type))


def test_verify_finds_a_flipped_byte(store):
    run = finished(store, partitions=3)
    flip_a_bit(store.run(run), data_name(1))
    found = verify(store, run)
    assert not found.ok
    assert any("partition=00001" in problem and "checksum" in problem for problem in found.problems)


def test_verify_finds_a_file_that_is_gone(store):
    run = finished(store, partitions=3)
    publish(store, run)
    store.run(run).remove(data_name(0))
    assert [p.split(",")[0] for p in verify(store, run).problems] == [f"runs/{run}/{data_name(0)}: it is missing"]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda t: t.slice(1), "rows, its commit record says"),
        (lambda t: with_lists(t, "left", lambda ids: [ids[0], *ids]), "not the length of left"),
        (lambda t: with_lists(t, "right", lambda ids: [i + 1 for i in ids]), "digest"),
        (lambda t: t.rename_columns(["right", "left", "n_left", "n_right", "root"]), "columns"),
    ],
)
def test_verify_finds_what_a_checksum_cannot(store, change, problem):
    run = finished(store, partitions=1)
    publish(store, run)
    rewrite(store, run, 0, change)
    assert any(problem in found for found in verify(store, run).problems)


def test_verify_finds_a_biclique_that_can_be_extended(store):
    run = finished(store, partitions=1)

    def shorten(table):
        rows = table.to_pylist()
        row = max(range(len(rows)), key=lambda i: min(rows[i]["n_left"], rows[i]["n_right"]))
        rows[row]["left"].remove(next(i for i in rows[row]["left"] if i != rows[row]["root"]))
        rows[row]["n_left"] -= 1
        return pa.Table.from_pylist(rows, schema=table.schema)

    rewrite(store, run, 0, shorten)
    assert any("common neighbours" in problem for problem in verify(store, run).problems)


def test_verify_finds_sizes_that_are_not_those_of_the_file(store):
    run = finished(store, partitions=2)
    publish(store, run)
    folder = store.run(run)
    commit = folder.committed()[1]
    (size, count), *rest = commit.sizes.left
    folder.commit_partition(replace(commit, sizes=replace(commit.sizes, left=[(size, count + 1), *rest])))
    assert verify(store, run).problems == [
        f"runs/{run}/{data_name(1)}: its bicliques have other sizes than its commit record says"
    ]


def test_verify_finds_a_manifest_that_disagrees(store):
    run = finished(store, partitions=2)
    publish(store, run)
    folder = store.run(run)
    folder.write(Manifest.at, replace(folder.published(), bicliques=1))
    assert any("manifest.json: bicliques 1" in problem for problem in verify(store, run).problems)


def original(bicliques):
    return {(tuple(map(left_label, left)), tuple(map(right_label, right))) for left, right in bicliques}


def test_results_carry_the_original_ids(store):
    publish(store, finished(store, partitions=3))
    run = open_run(store.uri)
    assert bicliques_of(run.table()) == original(ANSWER)
    for frame in (run.to_pandas(), run.to_dask().compute()):
        lists = zip(frame.left, frame.right, strict=True)
        assert {(tuple(left), tuple(right)) for left, right in lists} == original(ANSWER)
    assert run.dataset().count_rows() == len(ANSWER)
    assert set(run.dataset().to_table()["partition"].to_pylist()) == {0, 1, 2}
    roots = zip(run.table()["root"].to_pylist(), run.table()[run.manifest.side].to_pylist(), strict=True)
    assert all(root in members for root, members in roots)


@pytest.mark.parametrize("by", ["edges", "left", "right"])
def test_the_largest_are_the_same_from_any_number_of_partitions(store, by):
    def size(biclique):
        left, right = len(biclique[0]), len(biclique[1])
        return {"edges": left * right, "left": left, "right": right}[by], left * right

    expected = sorted(ANSWER, key=lambda b: (*(-x for x in size(b)), b))[:12]
    for partitions in (1, 8):
        run = open_run(store, finished(store, partitions=partitions))
        found = run.top(12, by, ids=False)
        assert [(tuple(r["left"]), tuple(r["right"])) for r in found.to_pylist()] == expected
        assert bicliques_of(run.top(12, by)) == original(expected)
        with pytest.raises(InputError, match=f"partition {partitions} is not committed; {partitions} partitions are"):
            run.read_partition(partitions)
    assert open_run(store).top(10**6, by).num_rows == len(ANSWER)


def test_runs_are_opened_by_name_by_prefix_or_the_latest(store):
    with pytest.raises(InputError, match="no run is in this store"):
        open_run(store)
    first, second = finished(store, partitions=1), finished(store, partitions=2)
    assert open_run(store).run == second
    assert open_run(store, first[:6]).run == first
    with pytest.raises(InputError, match="'zzz' is no run of this store"):
        open_run(store, "zzz")
    with pytest.raises(InputError, match="at least 1"):
        open_run(store).top(0)


def test_a_scheduler_that_does_not_answer_is_an_input_error(monkeypatch):
    monkeypatch.setattr("bicliq.pipeline.placement.cluster.CONNECT_SECONDS", 0.2)
    settings = ClusterSettings(scheduler="tcp://127.0.0.1:9")
    with pytest.raises(InputError, match="no Dask scheduler answers"), open_cluster(settings):
        pass


def test_an_existing_cluster_is_used_by_its_address(store, client):
    record = planned(store, partitions=3)
    with open_cluster(ClusterSettings(scheduler=client.scheduler.address)) as other:
        found = search_run(store, record.run, other)
    assert found.digest == digest_of(ANSWER)
    assert client.nthreads()


LONG_RUN = """
from pathlib import Path
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import load_settings
record = run({table!r}, load_settings(store={store!r}, cluster={{"local": True}}, search={{"threads": 2}}))
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
print(record.bicliques, 1024 * int(peak.split()[1]))
"""


def test_a_run_holds_a_small_part_of_what_it_writes(tmp_path):
    table, store = str(DATA / "out.edit-nawiki"), str(tmp_path / "store")
    said = subprocess.run(
        [sys.executable, "-c", LONG_RUN.format(table=table, store=store)], capture_output=True, text=True, check=True
    )
    bicliques, peak = map(int, said.stdout.split())
    assert bicliques == COUNTS["edit-nawiki"]
    sizes = open_run(store).sizes()
    written = 4 * sum((left + right) * n for (left, right), n in sizes.items())
    assert written > 1.2e9
    assert peak < written / 2
