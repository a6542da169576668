"""Every stage on a GPU that is emulated: the CPU's results; and where the card fills up, "auto"
leaves it to the CPU."""

from __future__ import annotations

import logging
from dataclasses import asdict

import numpy as np
import pyarrow.parquet as pq
import pytest

from bicliq.pipeline.errors import AskedBackendError, BackendError
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, read_graph
from bicliq.pipeline.placement import fallback
from bicliq.pipeline.placement.where import place_data
from bicliq.pipeline.questions.clique import CliqueQuestion, answer
from bicliq.pipeline.questions.count import count_run, count_table
from bicliq.pipeline.questions.count_asked import CountAsked
from bicliq.pipeline.questions.estimate import estimate_table
from bicliq.pipeline.questions.find import FindAsked, find_in_table
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import PlanSettings, SearchSettings, load_settings
from bicliq.pipeline.stages.in_memory import project_table, read_sides, read_undirected
from bicliq.pipeline.stages.ingest import ingest
from bicliq.pipeline.stages.partition import read_partition, write_partitions
from bicliq.pipeline.stages.plan import plan
from bicliq.pipeline.stages.profile import profile, two_hop
from bicliq.pipeline.stages.search import enumerate_table
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.versions.update import update
from tests.emulated_cupy import Card, GpuArray, card
from tests.host_cupy import take_away
from tests.integration.stored_graphs import put_graph, random_graph

__all__ = ["card"]  # a fixture

GRAPH = random_graph(60, 50, 0.15, seed=2)
ENOUGH, HALF = 1 << 40, 0.5


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "table.csv"
    rows = zip(GRAPH.edge_left.tolist(), GRAPH.indices.tolist(), strict=True)
    path.write_text("who,what\n" + "".join(f"{who},{what}\n" for who, what in rows))
    return str(path)


def without_times(record) -> dict:
    values = {name: value for name, value in asdict(record).items() if name != "seconds"}
    if values.get("expected"):  # an estimate holds seconds as well
        values["expected"] = {name: of for name, of in values["expected"].items() if not name.endswith("seconds")}
    return values


def rows_of(folder, name) -> list[dict]:
    return pq.read_table(folder.path_of(name)).to_pylist()


# ---- each stage by itself: what it returns, and what lies in the store


def profiled(store: Store, backend: str):
    graph = put_graph(store, GRAPH)
    found = without_times(profile(store, graph, backend))
    return found, rows_of(store.graph(graph), "profile.parquet")


def two_hops(store: Store, backend: str):
    graph = put_graph(store, GRAPH)
    return two_hop(store, graph, backend), rows_of(store.graph(graph), "two_hop.parquet")


def planned(store: Store, backend: str):
    search = SearchSettings(min_left=2, min_right=2)
    record = plan(store, put_graph(store, GRAPH), search, PlanSettings(partitions=5), backend)
    tables = [rows_of(store.run(record.run), name) for name in ("plan.parquet", "reduced.parquet")]
    return without_times(record), tables


def partitioned(store: Store, backend: str):
    record = plan(store, put_graph(store, GRAPH), SearchSettings(), PlanSettings(partitions=5))
    write_partitions(store, record.run, place=place_data(backend))
    parts = [read_partition(store.run(record.run), number) for number in range(record.partitions)]
    return [[array.tolist() for array in (p.indptr, p.indices, p.left_ids, p.right_ids, p.roots)] for p in parts]


STAGES = {"profile": profiled, "two_hop": two_hops, "plan": planned, "partition": partitioned}


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_on_the_gpu_leaves_what_the_cpu_leaves(tmp_path, card: Card, stage):
    expected = STAGES[stage](Store.open(str(tmp_path / "cpu")), "cpu")
    assert card.used == 0
    assert STAGES[stage](Store.open(str(tmp_path / "gpu")), "auto") == expected
    assert card.used > 0
    assert fallback.given_up() is None


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("share", [0, 0.02, 0.5, 0.95])
def test_a_stage_whose_card_fills_up_is_the_cpus_work(tmp_path, card: Card, caplog, stage, share):
    expected = STAGES[stage](Store.open(str(tmp_path / "gpu")), "auto")
    card.has_left(int(share * card.used))
    with caplog.at_level(logging.WARNING, "bicliq"):
        found = STAGES[stage](Store.open(str(tmp_path / "full")), "auto")
    assert found == expected
    assert "the GPU has too little free memory" in (fallback.given_up() or "")
    assert len(caplog.records) == 1


@pytest.mark.parametrize("stage", STAGES)
def test_who_asks_for_the_gpu_is_told_that_it_is_full(tmp_path, card: Card, stage):
    card.has_left(1000)
    with pytest.raises(AskedBackendError, match="the GPU has too little free memory"):
        STAGES[stage](Store.open(str(tmp_path)), "cuda")


# ---- tables


def test_a_table_that_fills_the_card_is_read_by_the_cpu(tmp_path, card: Card, table, caplog):
    card.has_left(1000)
    expected = ingest(table, Store.open(str(tmp_path / "cpu")), backend="cpu")
    found = ingest(table, Store.open(str(tmp_path / "auto")), backend="auto")
    assert (found.graph, found.summary.backend) == (expected.graph, "cpu")
    said = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert len([line for line in said if "the GPU is given up" in line]) == 1
    assert all("was taken for names" in line for line in said if "the GPU is given up" not in line)
    with pytest.raises(BackendError, match="Out of memory allocating"):
        ingest(table, Store.open(str(tmp_path / "cuda")), backend="cuda")


def on_gpu(graph) -> bool:
    return isinstance(graph.indices, GpuArray)


@pytest.mark.parametrize("min_shared", [1, 3])
def test_projections_are_those_of_the_cpu_also_where_the_card_fills_up(card: Card, table, min_shared):
    expected = project_table(table, "left", min_shared, backend="cpu")
    found = project_table(table, "left", min_shared, backend="auto")
    assert on_gpu(found)
    for share in (1, 0.9, 0.5, 0.1, 0):
        fallback.reasons.clear()
        card.has_left(int(share * card.used) if share < 1 else ENOUGH)
        found = project_table(table, "left", min_shared, backend="auto")
        assert on_gpu(found) == (share == 1)
        assert np.array_equal(np.asarray(found.indptr), expected.indptr)
        assert np.array_equal(np.asarray(found.indices), expected.indices)


def test_undirected_tables_lie_on_the_gpu_or_where_it_is_full_on_the_host(card: Card, table):
    assert on_gpu(read_undirected(table, backend="auto"))
    card.has_left(1000)
    assert not on_gpu(read_undirected(table, backend="auto"))
    assert not on_gpu(read_sides(table, "left", backend="auto")[0])
    fallback.reasons.clear()
    with pytest.raises(AskedBackendError, match="too little"):
        read_undirected(table, backend="cuda")


# ---- cliques


@pytest.mark.parametrize("project", ["left", None])
def test_a_card_that_fills_up_in_the_cores_of_a_clique_search_is_the_cpus_work(card: Card, table, project, caplog):
    question = CliqueQuestion(project=project)
    expected = answer(table, question, data_backend="cpu", backend="cpu")
    found = answer(table, question, data_backend="auto", backend="cpu")
    assert "cores" in found["seconds"]
    used, sizes = card.used, set()
    for left in range(0, used, max(used // 40, 1)):
        fallback.reasons.clear()
        card.has_left(left)
        again = answer(table, question, data_backend="auto", backend="cpu")
        sizes.add((again["size"], again["proven"], again["n_edges"]))
        assert fallback.given_up() is not None
    assert sizes == {(expected["size"], True, expected["n_edges"])}


def test_a_card_that_is_full_only_for_the_cores_says_so_to_who_asked_for_it(card: Card, table):
    project_table(table, "left", 1, backend="cuda")
    projected = card.used
    card.has_left(ENOUGH)
    answer(table, CliqueQuestion(project="left"), data_backend="cuda", backend="cpu")
    in_the_cores = (projected + card.used) // 2
    card.has_left(in_the_cores)
    assert answer(table, CliqueQuestion(project="left"), data_backend="auto", backend="cpu")["proven"]
    fallback.reasons.clear()
    card.has_left(in_the_cores)
    with pytest.raises(AskedBackendError, match="too little free memory"):
        answer(table, CliqueQuestion(project="left"), data_backend="cuda", backend="cpu")


def test_a_search_for_which_a_gpu_was_asked_is_not_done_again_on_the_host(card: Card, table, monkeypatch):
    monkeypatch.setattr("bicliq.pipeline.questions.clique_by_cores.FIRST_SECONDS", 1e-9)
    with pytest.raises(AskedBackendError, match="cudaErrorECCUncorrectable"):
        answer(table, CliqueQuestion(), data_backend="auto", backend="cuda")
    assert card.searches == 1


# ---- whole commands obey the setting


COMMANDS = {
    "enumerate": lambda table, settings: enumerate_table(table, settings)["bicliques"],
    "count": lambda table, settings: count_table(table, CountAsked(2, 2), settings).counts,
    "count in a store": lambda table, settings: count_run(table, CountAsked(2, 2), settings).counts,
    "run": lambda table, settings: run(table, settings).bicliques,
    "estimate": lambda table, settings: estimate_table(table, settings)["bicliques"],
    "find": lambda table, settings: find_in_table(table, FindAsked(), settings)["groups"],
    "clique": lambda table, settings: answer(table, CliqueQuestion(), data_backend=settings.data_backend)["size"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_obeys_the_data_backend(card: Card, tmp_path, table, monkeypatch, command):
    monkeypatch.setenv("BICLIQ__SEARCH__BACKEND", "cpu")
    monkeypatch.setenv("BICLIQ__CLUSTER__LOCAL", "true")
    found = {}
    for backend in ("cpu", "cuda"):
        monkeypatch.setenv("BICLIQ__DATA_BACKEND", backend)
        found[backend] = COMMANDS[command](table, load_settings(store=str(tmp_path / backend)))
        assert bool(card.texts) == (backend == "cuda")
    assert found["cuda"] == found["cpu"]


def test_an_update_reads_its_table_where_the_data_backend_says(card: Card, tmp_path, table):
    def settings_for(backend):
        here = {"cluster": {"local": True}, "search": {"backend": "cpu"}}
        return load_settings(store=str(tmp_path), data_backend=backend, **here)

    first = run(table, settings_for("cpu"))
    more = tmp_path / "more.csv"
    more.write_text("who,what\n" + "".join(f"{100 + i % 3},{100 + i % 5}\n" for i in range(15)))
    found = {}
    for backend in ("cuda", "cpu"):
        card.texts = 0
        found[backend] = update(str(more), settings_for(backend), run=first.run).digest
        assert bool(card.texts) == (backend == "cuda")
    assert found["cuda"] == found["cpu"] != first.digest


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_does_something_else_where_the_data_backend_cannot_run(tmp_path, table, monkeypatch, command):
    take_away(monkeypatch, "cudf")
    monkeypatch.setenv("BICLIQ__DATA_BACKEND", "cuda")
    with pytest.raises(BackendError, match=r"data backend 'cuda' cannot run here: .*cudf.* not installed"):
        COMMANDS[command](table, load_settings(store=str(tmp_path / "store"), cluster={"local": True}))


def test_a_run_whose_card_fills_up_at_any_point_finds_what_the_cpu_finds(card: Card, tmp_path, table):
    def found(name, backend):
        settings = load_settings(
            store=str(tmp_path / name), data_backend=backend, search={"backend": "cpu"}, cluster={"local": True},
            plan={"partitions": 4},
        )  # fmt: skip
        return run(table, settings).digest

    expected = found("cpu", "cpu")
    assert found("whole", "auto") == expected
    used = card.used
    for i, left in enumerate(range(0, used, used // 12)):
        fallback.reasons.clear()
        card.has_left(left)
        assert found(f"full {i}", "auto") == expected
        assert fallback.given_up() is not None


def test_graphs_of_the_emulated_device_do_not_mix_with_those_of_the_host(card: Card):
    graph = BipartiteGraph.from_edges(GRAPH.edge_left, GRAPH.indices, GRAPH.n_left, GRAPH.n_right).on("cuda")
    assert on_gpu(graph)
    with pytest.raises(TypeError, match="Unsupported type"):
        graph.indices + GRAPH.indices
    assert np.array_equal(graph.indices.get(), GRAPH.indices)
    assert type(graph.transpose().on("cpu").indices) is np.ndarray


def test_a_stored_graph_is_read_onto_the_device(card: Card, tmp_path):
    store = Store.open(str(tmp_path))
    folder = store.graph(put_graph(store, GRAPH))
    assert on_gpu(read_graph(folder, "cuda"))
