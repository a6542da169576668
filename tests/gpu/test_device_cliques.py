"""Projections, cores and maximum cliques of graphs on a GPU against those of the host."""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.cores import core_numbers
from bicliq.kernels import BackendError, maximum_clique, project_one_mode
from bicliq.pipeline.graphs import projection
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.graphs.cores import cores_by_halving
from bicliq.pipeline.graphs.undirected import UndirectedGraph, project
from bicliq.pipeline.placement import where
from bicliq.pipeline.placement.device import to_device, why_no_data_on_device
from bicliq.pipeline.questions import clique_by_cores
from bicliq.pipeline.questions.clique import CliqueQuestion, answer, find_clique, read_graph_of
from bicliq.pipeline.questions.clique_by_cores import induced_part
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.in_memory import project_table, read_undirected
from bicliq.pipeline.stages.ingest import ingest
from bicliq.pipeline.store.layout import Store
from tests import dimacs, real_graphs
from tests.real_graphs import DATA
from tests.reference import cores as reference

REASON = why_no_data_on_device()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=REASON or "")]

MARVEL = str(DATA / "marvel.parquet")
COLUMNS = IngestSettings(left="u", right="v")


def on_device(graph):
    """A graph of either kind with its arrays on the GPU."""
    if isinstance(graph, BipartiteGraph):
        return graph.on("cuda")
    return UndirectedGraph(to_device(graph.indptr), to_device(graph.indices), graph.ids)


def undirected(csr):
    return UndirectedGraph(*csr, pa.array(range(len(csr[0]) - 1)))


def random_csr(n, density, seed):
    matrix = np.random.default_rng(seed).random((n, n)) < density
    return dimacs.symmetric_csr(np.argwhere(np.triu(matrix, 1)), n)


def blocks(n, seed):
    """A sparse graph with dense blocks of several sizes."""
    random = np.random.default_rng(seed)
    matrix = random.random((n, n)) < 0.02
    for density in (0.6, 0.8, 1.0):
        block = random.choice(n, int(random.integers(8, 30)), replace=False)
        matrix[np.ix_(block, block)] |= random.random((len(block), len(block))) < density
    return dimacs.symmetric_csr(np.argwhere(np.triu(matrix, 1)), n)


def assert_projected_alike(graph, side, min_shared):
    expected = project_one_mode(graph.indptr, graph.indices, graph.n_right, side=side, min_shared=min_shared)
    found = project(on_device(graph), pa.array([]), side, min_shared)
    for ours, theirs in zip((found.indptr, found.indices), expected, strict=True):
        assert ours.dtype == theirs.dtype
        assert np.array_equal(ours.get(), theirs)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("paths", [1, 1_000, 1 << 26])
@pytest.mark.parametrize("seed", range(12))
def test_a_projection_is_the_hosts_bit_for_bit(monkeypatch, side, paths, seed):
    monkeypatch.setattr(projection, "PATHS_AT_A_TIME", paths)
    random = np.random.default_rng(seed)
    shape = random.integers(0, 70, 2)
    left, right = np.nonzero(random.random(shape) < random.choice([0.0, 0.02, 0.1, 0.4, 0.9]))
    graph = BipartiteGraph.from_edges(left, right, *map(int, shape))
    for min_shared in (1, 2, 3, 7):
        assert_projected_alike(graph, side, min_shared)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", ["marvel", "YouTube"])
def test_so_are_those_of_real_graphs(monkeypatch, name, side):
    monkeypatch.setattr(projection, "PATHS_AT_A_TIME", 1 << 20)
    graph = real_graphs.load(name)
    for min_shared in (2, 20):
        assert_projected_alike(graph, side, min_shared)


@pytest.mark.parametrize(
    "csr",
    [
        dimacs.symmetric_csr([], 1), dimacs.symmetric_csr([], 5), dimacs.symmetric_csr([(3, 4)], 9), random_csr(40, 1.0, 0),
        *(random_csr(300, density, 1) for density in (0.01, 0.1, 0.5)), *(blocks(800, seed) for seed in range(4)),
    ],
)  # fmt: skip
def test_cores_are_those_of_peeling(csr):
    graph, expected = on_device(undirected(csr)), reference.core_numbers(*csr)
    assert core_numbers(graph).get().tolist() == expected.tolist()
    halved = cores_by_halving(graph)
    assert halved.degeneracy == expected.max(initial=0)
    for k in (0, 1, halved.degeneracy // 2, halved.degeneracy, halved.degeneracy + 1):
        assert halved.at_least(k).get().tolist() == (expected >= k).tolist()


def test_an_induced_part_is_the_hosts():
    for seed in range(5):
        graph = undirected(blocks(500, seed))
        kept = np.random.default_rng(seed).random(graph.n) < 0.4
        ours, theirs = induced_part(on_device(graph), to_device(kept)), induced_part(graph, kept)
        for name in ("vertices", "indptr", "indices"):
            assert getattr(ours, name).dtype == getattr(theirs, name).dtype
            assert np.array_equal(getattr(ours, name), getattr(theirs, name))


@pytest.mark.parametrize("first_seconds", [clique_by_cores.FIRST_SECONDS, 1e-6])
@pytest.mark.parametrize("seed", range(12))
def test_cliques_from_the_cores_down_are_those_of_the_whole_graph(monkeypatch, seed, first_seconds):
    monkeypatch.setattr(clique_by_cores, "FIRST_SECONDS", first_seconds)
    csr = blocks(700, seed)
    expected = maximum_clique(*csr, all=True)
    for backend in ("cpu", "cuda", "auto"):
        record = find_clique(on_device(undirected(csr)), CliqueQuestion(), backend=backend)
        assert (record["size"], record["proven"]) == (expected.size, True)
        assert (record["degeneracy"], record["n_edges"]) == (expected.degeneracy, len(csr[1]) // 2)
        assert record["members"] in expected.cliques.tolist()
    record = find_clique(on_device(undirected(csr)), CliqueQuestion(all=True))
    assert (record["cliques"], record["proven"]) == (expected.cliques.tolist(), True)


def test_all_cliques_by_the_gpus_search_are_refused_as_of_a_graph_of_the_host():
    with pytest.raises(BackendError, match="not all"):
        find_clique(on_device(undirected(blocks(300, 0))), CliqueQuestion(all=True), backend="cuda")


@pytest.mark.parametrize("question", [
    CliqueQuestion("left", 1), CliqueQuestion("left", 20), CliqueQuestion("left", 20, all=True),
    CliqueQuestion("right", 2), CliqueQuestion("right", 5, all=True),
])  # fmt: skip
def test_a_projected_table_gives_the_answer_of_the_cpu(tmp_path, question):
    host = read_graph_of(MARVEL, question, COLUMNS, data_backend="cpu")
    numbers = {label: v for v, label in enumerate(host.ids.to_pylist())}
    theirs = answer(MARVEL, question, COLUMNS, backend="cpu", data_backend="cpu")
    ours = answer(MARVEL, question, COLUMNS, backend="cpu", data_backend="cuda")
    for name in ("size", "proven", "n_vertices", "n_edges", "degeneracy", "n_cliques"):
        assert ours[name] == theirs[name], name
    assert ours.get("cliques") == theirs.get("cliques")
    assert "cores" in ours["seconds"]
    members = [numbers[label] for label in ours["members"]]
    assert len(set(members)) == ours["size"]
    for v in members:
        assert set(members) - {v} <= set(host.indices[host.indptr[v] : host.indptr[v + 1]].tolist())


def test_a_graph_of_the_store_and_an_answer_that_is_found_wherever_it_was_searched(tmp_path):
    store = Store.open(str(tmp_path / "store"))
    graph = ingest(MARVEL, store, COLUMNS).graph
    question = CliqueQuestion("left", 10)
    first = answer(graph[:8], question, store=store, stored=True, data_backend="cuda")
    assert "found" not in first
    again = answer(graph[:8], question, store=store, stored=True, data_backend="cpu")
    from_table = answer(MARVEL, question, COLUMNS, store=store, data_backend="cuda")
    for known in (again, from_table):
        assert known["found"]
        assert (known["output"], known["members"]) == (first["output"], first["members"])


@pytest.mark.parametrize("text", [False, True])
def test_an_undirected_table_gives_the_graph_of_the_cpu(tmp_path, text):
    ends = np.random.default_rng(3).integers(0, 60, (2, 900))
    u, v = (pa.array(ends[i].astype(str) if text else ends[i]) for i in (0, 1))
    pq.write_table(pa.table({"from": u, "to": v}), tmp_path / "edges.parquet")
    settings = IngestSettings(left="from", right="to")
    theirs, ours = (read_undirected(str(tmp_path / "edges.parquet"), settings, backend) for backend in ("cpu", "cuda"))
    assert np.array_equal(ours.indptr.get(), theirs.indptr)
    assert np.array_equal(ours.indices.get(), theirs.indices)
    assert ours.ids.equals(theirs.ids)
    assert (ours.self_loops, ours.repeated) == (theirs.self_loops, theirs.repeated)
    found = [find_clique(graph, CliqueQuestion(all=True))["cliques"] for graph in (ours, theirs)]
    assert found[0] == found[1]


def test_a_numbered_file_stays_on_the_host():
    graph = read_graph_of(str(dimacs.find("keller4")), CliqueQuestion(), data_backend="cuda")
    assert isinstance(graph.indices, np.ndarray)


@pytest.mark.parametrize("backend", ["cpu", "cuda", "auto"])
def test_a_time_limit_gives_the_best_so_far(backend):
    csr = random_csr(800, 0.9, 1)
    graph = on_device(undirected(csr))
    find_clique(graph, CliqueQuestion(time_limit=0.1), backend=backend)
    started = time.monotonic()
    record = find_clique(graph, CliqueQuestion(time_limit=1.5), backend=backend)
    assert time.monotonic() - started < 6
    assert not record["proven"]
    members = set(record["members"])
    assert len(members) == record["size"] > 50
    for v in members:
        assert members - {v} <= set(csr[1][csr[0][v] : csr[0][v + 1]].tolist())


def test_many_ties_are_worth_the_gpu(monkeypatch):
    for ties, place in ((1 << 62, "numpy"), (0, "cupy")):
        monkeypatch.setattr(where, "AUTO_TIES", ties)
        found = project_table(MARVEL, "left", 2, COLUMNS, backend="auto")
        assert type(found.indices).__module__.split(".")[0] == place
