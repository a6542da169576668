"""The command line as people and scripts use it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from shutil import which

import pytest

from benchmarks.peers import ADAMBE
from bicliq.flows.cli import invoke
from bicliq.kernels import why_not
from bicliq.pipeline.placement.device import why_no_data_on_device
from bicliq.pipeline.store.layout import Store
from tests.benches import bench
from tests.nightly import part_of
from tests.real_graphs import COUNTS, DATA

EDGES = str(DATA / "UCforum.adj")


def said(capsys: pytest.CaptureFixture[str], *arguments: str, run: Callable[..., int] | None = None) -> dict:
    """What a command with --json prints: one object, and nothing else."""
    assert (run(*arguments, "--json") if run else invoke([*arguments, "--json"])) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    return json.loads(lines[0])


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> str:
    store = str(tmp_path_factory.mktemp("cli") / "store")
    assert invoke(["run", EDGES, "--store", store, "--partitions", "5", "--local"]) == 0
    return store


def test_run_prints_the_contract(tmp_path, capsys):
    record = said(capsys, "run", EDGES, "--store", str(tmp_path / "store"), "--workers", "2")
    assert record["bicliques"] == COUNTS["UCforum"]
    assert (record["n_left"], record["n_right"], record["n_edges"]) == (899, 522, 7089)
    assert int(record["digest"], 16) > 0
    assert record["backend"].split("-")[0] in ("cpu", "cuda")
    assert record["threads"] >= 1
    assert set(record["seconds"]) == {"ingest", "plan", "check", "search", "publish", "total"}
    assert record["seconds"]["total"] == pytest.approx(
        sum(v for k, v in record["seconds"].items() if k != "total"), abs=1e-3
    )


def test_run_again_searches_nothing_again(published, capsys):
    again = said(capsys, "run", EDGES, "--store", published, "--partitions", "5", "--local")
    assert again["searched"] == 0
    assert again["bicliques"] == COUNTS["UCforum"]


def test_a_whole_run_needs_no_workers(tmp_path, capsys):
    asked = ["run", str(DATA / "moreno_crime.parquet"), "--store", str(tmp_path / "store"), "--partitions", "2"]
    assert said(capsys, *asked, "--local")["searched"] == 2
    assert said(capsys, *asked, "--scheduler", "tcp://127.0.0.1:9")["bicliques"] == COUNTS["moreno_crime"]


def test_enumerate_counts_without_a_store(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    record = said(
        capsys, "enumerate", str(DATA / "marvel.parquet"), "--left", "u", "--right", "v", "--digest", "--threads", "2"
    )
    assert record["bicliques"] == COUNTS["marvel"]
    assert len(record["digest"]) == 16
    other = said(capsys, "enumerate", str(DATA / "marvel.parquet"), "--digest", "--side", "right")
    assert other["digest"] == record["digest"]
    assert said(capsys, "enumerate", str(DATA / "marvel.parquet"), "--count-only")["digest"] is None
    assert not list(tmp_path.iterdir())


def test_thresholds_reach_the_search(capsys):
    all_of_them = said(capsys, "enumerate", EDGES)
    larger = said(capsys, "enumerate", EDGES, "--min-left", "4", "--min-right", "3")
    assert 0 < larger["bicliques"] < all_of_them["bicliques"]


def test_a_limit_is_reported_and_may_be_an_error(tmp_path, capsys):
    record = said(capsys, "enumerate", EDGES, "--max-bicliques", "100")
    assert (record["bicliques"], record["complete"]) == (100, False)
    arguments = [
        "run",
        EDGES,
        "--store",
        str(tmp_path / "s"),
        "--local",
        "--max-bicliques",
        "100",
        "--on-limit",
        "error",
    ]
    assert invoke(arguments) == 3
    assert "limit of 100" in capsys.readouterr().err
    flagged = said(capsys, "run", EDGES, "--store", str(tmp_path / "t"), "--local", "--max-bicliques", "100")
    assert (flagged["bicliques"], flagged["complete"]) == (100, False)


def test_top_shows_the_largest_with_their_labels(published, capsys):
    rows = said(capsys, "top", "--store", published, "-k", "3", "--by", "left")["bicliques"]
    sizes = [row["n_left"] for row in rows]
    assert sizes == sorted(sizes, reverse=True)
    assert all(len(row["left"]) == row["n_left"] for row in rows)
    shown = said(capsys, "show", "--store", published, "--top", "3", "--by", "left")
    assert [{name: row[name] for name in shown["bicliques"][0]} for row in rows] == shown["bicliques"]
    assert invoke(["top", "--store", published]) == 0
    assert "the 10 largest" in capsys.readouterr().out
    assert invoke(["--help"]) == 0
    assert not re.search(r"^│ top ", capsys.readouterr().out, re.M), "an alias of show --top"


def test_verify_says_what_is_wrong(published, tmp_path, capsys):
    assert said(capsys, "verify", "--store", published)["ok"]
    store = str(tmp_path / "store")
    assert invoke(["run", EDGES, "--store", store, "--partitions", "2", "--local"]) == 0
    file = next((tmp_path / "store").rglob("partition=00001/part-0.parquet"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    capsys.readouterr()
    assert invoke(["verify", "--store", store]) == 1
    assert "checksum" in capsys.readouterr().err


def test_ingest_plan_resume_are_the_stages_one_by_one(tmp_path, capsys):
    store = str(tmp_path / "store")
    graph = said(capsys, "ingest", EDGES, "--store", store)["graph"]
    planned = said(capsys, "plan", graph[:6], "--store", store, "--partitions", "4")
    assert planned["partitions"] == 4
    record = said(capsys, "resume", planned["run"][:5], "--store", store, "--local")
    assert (record["bicliques"], record["searched"]) == (COUNTS["UCforum"], 4)


def test_settings_come_from_arguments_then_environment_then_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bicliq.toml").write_text("[search]\nmin_left = 2\nmin_right = 2\n")
    from_file = said(capsys, "enumerate", EDGES)["bicliques"]
    monkeypatch.setenv("BICLIQ__SEARCH__MIN_LEFT", "5")
    from_environment = said(capsys, "enumerate", EDGES)["bicliques"]
    from_arguments = said(capsys, "enumerate", EDGES, "--min-left", "2")["bicliques"]
    assert from_environment < from_file == from_arguments


@pytest.mark.parametrize(
    "command", ["run", "enumerate", "ingest", "plan", "top", "verify", "resume", "serve", "doctor"]
)
def test_help_has_an_example(command, capsys):
    assert invoke([command, "--help"]) == 0
    assert f"bicliq {command}" in capsys.readouterr().out


def test_an_unknown_option_is_an_argument_error(capsys):
    assert invoke(["run", EDGES, "--min-lefts", "3"]) == 2
    assert "--min-lefts" in capsys.readouterr().err


def test_doctor_says_why_a_backend_cannot_be_used(capsys):
    facts = said(capsys, "doctor")
    assert facts["backend cpu"] == "can run"
    assert facts["lanes"] in ("avx512", "avx2", "portable")
    assert facts["backend cuda"] == "can run" or facts["backend cuda"].startswith("cannot run: ")
    assert "searches from 1,048,576 paths of two edges on" in facts["a gpu pays"]  # where there is none as well


def test_doctor_names_the_extra_of_the_cuda_that_is_installed(monkeypatch, tmp_path, capsys):
    own = tmp_path / "cupy_cuda12x-14.2.0.dist-info"
    own.mkdir()
    (own / "METADATA").write_text("Metadata-Version: 2.1\nName: cupy-cuda12x\nVersion: 14.2.0\n")
    (own / "top_level.txt").write_text("cupy\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = set(said(capsys, "doctor"))
    assert "extra gpu-cu12" in found
    assert "extra gpu" not in found


def test_profile_counts_two_hop_neighbours(published, capsys):
    (graph,) = Store.open(published).graphs()
    record = said(capsys, "profile", graph[:6], "--store", published, "--two-hop")
    assert (record["n_left"], record["n_edges"]) == (899, 7089)
    assert record["two_hop"]["left"]["largest"] < 899
    assert invoke(["profile", graph, "--store", published]) == 0
    assert "components" in capsys.readouterr().out


@pytest.mark.skipif(why_no_data_on_device() is None, reason="the GPU data path can run here")
def test_a_data_path_that_cannot_run_here_is_refused_with_the_way_to_install_it(tmp_path, capsys):
    assert invoke(["run", EDGES, "--store", str(tmp_path / "store"), "--data-backend", "cuda"]) == 2
    assert "pip install 'bicliq[gpu]'" in capsys.readouterr().err
    assert not (tmp_path / "store" / "graphs").exists()


def test_bench_prints_the_peers_beside_us(capsys):
    record = said(capsys, "enumerate", str(DATA / "UCforum.parquet"), "--runs", "2", run=bench)
    (graph,) = record["graphs"]
    assert graph["bicliques"] == graph["expected"] == COUNTS["UCforum"]
    assert graph["peer_adambe"] > 0
    assert (graph["times_adambe"] is None) == (which(ADAMBE) is None)  # a ratio is of one machine
    assert record["machine"]["processor"]


@pytest.mark.skipif(why_not("cuda") is None, reason="a GPU can run here")
def test_bench_on_a_gpu_that_is_not_there_is_refused(capsys):
    assert bench("enumerate", str(DATA / "UCforum.parquet"), "--backend", "cuda") == 2
    assert "backend 'cuda' cannot run here" in capsys.readouterr().err


@pytest.mark.parametrize("where", part_of(["--local", "--workers=2"], 2))
def test_an_interrupt_keeps_what_was_committed(tmp_path, where):
    store = tmp_path / "store"
    command = [
        sys.executable,
        "-m",
        "bicliq.flows.cli",
        "run",
        str(DATA / "edit-nawiki.parquet"),
        "--store",
        str(store),
    ]
    process = subprocess.Popen(
        [*command, "--partitions", "60", where, "--threads", "1"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored where tests run behind a shell's "&"
    )
    deadline = time.monotonic() + 60
    while not list(store.rglob("commits/*.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process of the group
    _, message = process.communicate(timeout=60)
    committed = len(list(store.rglob("commits/*.json")))
    assert process.returncode == 130
    assert message.strip().splitlines()[-1].endswith("run the same command again to go on")
    assert "Traceback" not in message
    assert 0 < committed < 60
    assert not list(store.rglob("manifest.json"))
