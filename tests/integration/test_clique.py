"""`bicliq clique` from files to answers in the store; and what it says to bad input."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.projected_cliques import STAGES
from benchmarks.random_cliques import random_graph
from bicliq.flows.cli import console, invoke
from bicliq.flows.clique import clique
from bicliq.kernels import maximum_clique
from bicliq.pipeline.placement.device import why_no_data_on_device
from bicliq.pipeline.questions.clique import CliqueQuestion, answer
from bicliq.pipeline.stages.ingest import ingest
from bicliq.pipeline.store.layout import Store
from tests.benches import bench
from tests.dimacs import find
from tests.real_graphs import DATA

SQUARE_WITH_DIAGONAL = [(1, 2), (2, 3), (3, 4), (4, 1), (1, 3)]
DIMACS = "c a square\np edge 5 5\n" + "".join(f"e {u} {v}\n" for u, v in SQUARE_WITH_DIAGONAL)


def asked(capsys, *arguments):
    code = invoke(["clique", *map(str, arguments), "--json"])
    captured = capsys.readouterr()
    assert code == 0, captured.err
    return json.loads(captured.out)


def refused(capsys, *arguments):
    code = invoke(["clique", *map(str, arguments)])
    captured = capsys.readouterr()
    assert (code, captured.out) == (2, "")
    assert len(captured.err.strip().splitlines()) == 1
    return captured.err


def write(folder, name, text):
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def matrix_market(symmetry):
    edges = "".join(f"{max(e)} {min(e)}\n" for e in SQUARE_WITH_DIAGONAL)
    return f"%%MatrixMarket matrix coordinate pattern {symmetry}\n% a square\n5 5 5\n{edges}"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("square.clq", DIMACS),
        ("square.clq.gz", DIMACS),
        ("square.mtx", matrix_market("symmetric")),
        ("directed.mtx", matrix_market("general")),
        ("square.csv", "from,to\n" + "".join(f"{u},{v}\n" for u, v in SQUARE_WITH_DIAGONAL)),
        ("snap.txt", "# nodes\n" + "".join(f"{u}\t{v}\n" for u, v in SQUARE_WITH_DIAGONAL)),
    ],
)
def test_every_format_gives_the_same_cliques(tmp_path, capsys, name, text):
    record = asked(capsys, write(tmp_path, name, text), "--all")
    assert record["cliques"] == [[1, 2, 3], [1, 3, 4]]
    assert (record["size"], record["proven"], record["n_edges"]) == (3, True, 5)


def test_parquet_with_text_labels_loops_and_repetitions_in_both_directions(tmp_path, capsys):
    pairs = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "a"), ("c", "c"), ("d", "a"), ("a", "b")]
    pq.write_table(pa.table({"from": [u for u, _ in pairs], "to": [v for _, v in pairs]}), tmp_path / "edges.parquet")
    record = asked(capsys, tmp_path / "edges.parquet")
    assert record["members"] == ["a", "b", "c"]
    assert (record["n_vertices"], record["n_edges"], record["self_loops"]) == (4, 4, 1)


@pytest.mark.parametrize(
    ("text", "size", "members"),
    [("p edge 0 0\n", 0, []), ("p edge 3 0\n", 1, [1]), ("p edge 2 1\ne 2 2\n", 1, [1]), ("p edge 2 2\ne 1 2\ne 2 1\n", 2, [1, 2])],
    ids=["no vertices", "no edges", "only a self-loop", "one edge twice"],
)  # fmt: skip
def test_small_graphs_have_defined_answers(tmp_path, capsys, text, size, members):
    record = asked(capsys, write(tmp_path, "small.clq", text), "--all")
    assert record["size"] == size
    assert record["members"] == members
    assert record["proven"]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("min_shared", [1, 2, 4])
def test_a_projection_ties_what_shares_enough(tmp_path, capsys, side, min_shared):
    table = pq.read_table(DATA / "southern-women.parquet")
    matrix = np.zeros((18, 14), int)
    matrix[table.column(0).to_numpy(), table.column(1).to_numpy()] = 1
    shared = matrix @ matrix.T if side == "left" else matrix.T @ matrix
    arguments = ("--project", side, "--min-shared", min_shared)
    record = asked(capsys, DATA / "southern-women.parquet", *arguments)
    assert record["n_edges"] == (np.triu(shared >= min_shared, 1)).sum()
    members = record["members"]
    assert all(shared[u, v] >= min_shared for u in members for v in members)
    store = tmp_path / "store"
    graph = ingest(str(DATA / "southern-women.parquet"), Store.open(str(store))).graph
    again = asked(capsys, graph[:8], "--stored", "--store", store, *arguments)
    assert (again["size"], again["n_edges"]) == (record["size"], record["n_edges"])


def test_a_proven_answer_is_committed_once_and_found_again(tmp_path, capsys):
    store = tmp_path / "store"
    first = asked(capsys, find("keller4"), "--store", store, "--all", "--threads", 1)
    assert "found" not in first
    second = asked(capsys, find("keller4"), "--store", store, "--all")
    assert second["found"]
    assert second["cliques"] == first["cliques"]
    table = pq.read_table(next(store.rglob("cliques-*.parquet")))
    assert table["members"].to_pylist() == first["cliques"]


def test_an_answer_without_a_record_is_not_there(tmp_path):
    store = Store.open(str(tmp_path / "store"))
    answer(str(find("keller4")), CliqueQuestion(), store=store)
    next((tmp_path / "store").rglob("clique.json")).unlink()
    assert "found" not in answer(str(find("keller4")), CliqueQuestion(), store=store)


def test_a_time_limit_gives_the_best_so_far_and_is_searched_again(tmp_path, capsys):
    random = np.random.default_rng(5)
    u, v = np.nonzero(np.triu(random.random((400, 400)) < 0.9, 1))
    pq.write_table(pa.table({"u": u, "v": v}), tmp_path / "dense.parquet")
    arguments = (tmp_path / "dense.parquet", "--time-limit", "0.1", "--store", tmp_path / "store")
    for _ in range(2):
        record = asked(capsys, *arguments)
        assert not record["proven"]
        assert "found" not in record
        assert record["size"] > 20


def test_what_a_terminal_shows(tmp_path, capsys):
    assert invoke(["clique", str(write(tmp_path, "square.clq", DIMACS)), "--all"]) == 0
    shown = capsys.readouterr().out
    assert "a maximum clique, one of 2: 3 of 5 vertices, 5 edges" in shown
    assert "  1 · 3 · 4" in shown


def test_a_terminal_says_where_no_search_was_needed(capsys):
    found = {"size": 2, "n_cliques": 1, "members": ["a", "b"], "proven": True, "backend": "none", "threads": 0}
    told = console.cliques({**found, "n_vertices": 3, "n_edges": 1, "seconds": {"total": 0.0}})
    assert "2 of 3 vertices, 1 edge, in 0.000 s (the densest core, no search)" in told


@pytest.mark.usefixtures("prefect_server")
def test_the_flow_answers_and_commits(tmp_path):
    store = str(tmp_path / "store")
    record = clique(str(find("keller4")), {"all": False}, {"store": store})
    assert (record["size"], record["proven"]) == (11, True)
    assert record["output"].startswith(Store.open(store).uri)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("no-size.clq", "c nothing\n", "holds no line 'p edge"),
        ("early.clq", "e 1 2\n", "line 1: an edge before"),
        ("size.clq", "p edge five 2\n", "line 1: 'p edge five 2'"),
        ("twice.clq", "p edge 2 1\np edge 2 1\n", "line 2: a second 'p' line"),
        ("outside.clq", "p edge 2 1\ne 1 3\n", "line 2: edge 1 3 is outside the vertices 1…2"),
        ("words.clq", "p edge 2 1\ne one two\n", "line 2: 'one two' must be two vertex numbers"),
        ("cut.clq", "p edge 3 3\ne 1 2\n", "declares 3 edges, but holds 1; is the file cut off?"),
        ("one less.clq", "p edge 4 3\ne 1 2\ne 2 3\n", "declares 3 edges, but holds 2"),
        ("one more.clq", "p edge 4 1\ne 1 2\ne 2 3\n", "declares 1 edges, but holds 2"),
        ("other.clq", "p edge 3 3\nq 1 2\n", "line 2: 'q' begins no DIMACS line"),
        ("bad.clq.gz", None, "is text, and not compressed with gzip"),
        ("oblong.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 3 1\n1 3\n", "2 rows and 3 columns"),
        ("head.mtx", "1 2\n", "line 1: must begin with '%%MatrixMarket"),
        ("cut.mtx", "%%MatrixMarket matrix coordinate pattern general\n3 3 2\n1 3\n", "declares 2 entries"),
    ],
)
def test_bad_files_are_refused_with_their_line(tmp_path, capsys, name, text, message):
    path = tmp_path / name
    path.write_bytes(b"no gzip" if text is None else text.encode())
    said = refused(capsys, path)
    assert name in said
    assert message in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.clq"], "no such file"),
        ([str(DATA / "southern-women.parquet"), "--project", "middle"], "'middle' is not one of"),
        ([str(DATA / "southern-women.parquet"), "--min-shared", "2"], "nothing is projected"),
        ([str(DATA / "southern-women.parquet"), "--project", "left", "--min-shared", "0"], "--min-shared is 0"),
        ([str(DATA / "southern-women.parquet"), "--time-limit", "0"], "--time-limit is 0"),
        ([str(DATA / "southern-women.parquet"), "--backend", "cuda", "--all"], "use the CPU backend"),
    ],
)
def test_bad_arguments_are_refused(capsys, arguments, message):
    assert message in refused(capsys, *arguments)


@pytest.mark.skipif(why_no_data_on_device() is None, reason="the GPU data path can run here")
@pytest.mark.parametrize("project", [["--project", "left"], []], ids=["projected", "undirected"])
def test_a_data_path_that_cannot_run_here_is_refused(capsys, project):
    said = refused(capsys, DATA / "southern-women.parquet", *project, "--data-backend", "cuda")
    assert "data backend 'cuda' cannot run here" in said


def test_the_bench_shows_size_and_peers(capsys):
    assert bench("clique", "keller4", "c-fat500-5", "--runs", "1", "--json") == 0
    graphs = json.loads(capsys.readouterr().out)["graphs"]
    assert [(g["graph"], g["size"], g["expected"]) for g in graphs] == [("keller4", 11, 11), ("c-fat500-5", 64, 64)]


def test_the_bench_compares_bounds(capsys):
    nodes = []
    for bounds in ("refute", "recolour", "colour"):
        assert bench("clique", "keller4", "--runs", "1", "--bounds", bounds, "--json") == 0
        graph = json.loads(capsys.readouterr().out)["graphs"][0]
        assert (graph["size"], graph["bounds"]) == (11, bounds)
        nodes.append(graph["nodes"])
    assert nodes == sorted(set(nodes))
    assert bench("clique", "keller4", "--runs", "1", "--bounds", "recolour") == 0
    assert "no bound stronger than recolour" in capsys.readouterr().out
    assert bench("clique", "keller4", "--bounds", "best") == 2
    assert "'best' is not one of 'colour', 'recolour', 'refute'" in capsys.readouterr().err


RANDOM = ["random-cliques", "--size", "60", "--density", "0.2", "--density", "0.9"]


def test_the_random_bench_searches_each_cell_with_one_thread_and_several(tmp_path, capsys):
    picture = tmp_path / "cells.svg"
    assert bench(*RANDOM, "--json", "--picture", str(picture)) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert [(c["n"], c["density"], c["threads"]) for c in cells] == [(60, 0.2, 2), (60, 0.9, 2)]
    for cell in cells:
        graph = random_graph(60, cell["density"])
        assert cell["size"] == maximum_clique(graph.indptr, graph.indices, bounds="colour").size
        assert cell["times"] == cell["one"] / cell["several"]
    assert "<svg" in picture.read_text()


def test_the_random_bench_stops_a_size_at_the_first_density_that_takes_too_long(capsys):
    arguments = ["--size", "400", "--density", "0.9", "--density", "0.95", "--time-limit", "0.05"]
    assert bench("random-cliques", *arguments) == 0
    shown = capsys.readouterr().out
    assert ">= " in shown
    assert "0.95" not in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--density", "1.5"], "density is 1.5"),
        (["--size", "0"], "'--size': Input should be greater than or equal to 1"),
        (["--size", "9", "--picture", "cells.nothing"], "--picture 'cells.nothing': name a .svg"),
    ],
)
def test_the_random_bench_refuses_what_cannot_be_drawn(capsys, arguments, message):
    assert bench("random-cliques", *arguments) == 2
    assert message in capsys.readouterr().err


def test_the_projected_bench_shows_each_stage_with_the_data_on_either_machine(capsys):
    arguments = ["projected-cliques", "southern-women", "--project", "right", "--min-shared", "1"]
    assert bench(*arguments, "--min-shared", "3", "--runs", "1", "--backend", "cpu", "--json") == 0
    ways = json.loads(capsys.readouterr().out)["ways"]
    assert [(way["min_shared"], way["data_backend"]) for way in ways] == [
        (1, "cpu"),
        (1, "cuda"),
        (3, "cpu"),
        (3, "cuda"),
    ]
    for way in ways:
        if way["reason"] is None:
            expected = asked(
                capsys, DATA / "southern-women.parquet", "--project", "right", "--min-shared", way["min_shared"]
            )
            assert (way["size"], way["n_edges"], way["proven"]) == (expected["size"], expected["n_edges"], True)
            stages = {name: value for name, value in way["seconds"].items() if name in STAGES}
            assert sum(stages.values()) == pytest.approx(way["seconds"]["total"])
        else:
            assert way["data_backend"] == "cuda"
    assert bench(*arguments, "--runs", "1") == 0
    assert "maximum clique of projected tables" in capsys.readouterr().out
    assert bench(*arguments[:2], "southern-women", "--project", "middle") == 2
    assert "'middle' is not one of" in capsys.readouterr().err
