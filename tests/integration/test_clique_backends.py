"""Which backend searches a maximum clique: what is asked, and what "auto" makes of it; the GPU is
emulated."""

from __future__ import annotations

import json
import logging

import numpy as np
import pytest

from bicliq import kernels
from bicliq.flows.cli import invoke
from bicliq.pipeline.questions import clique
from bicliq.pipeline.questions.clique import CliqueQuestion, find_clique
from bicliq.pipeline.stages.in_memory import read_undirected
from tests import host_cupy
from tests.benches import bench
from tests.dimacs import find
from tests.emulated_gpu import CLIQUES
from tests.host_cupy import HostCupy


@pytest.fixture
def gpus(monkeypatch):
    """A machine with two GPUs."""
    with host_cupy.installed(HostCupy(CLIQUES), monkeypatch) as cupy:
        yield cupy


def graph_of(name):
    return read_undirected(str(find(name)))


@pytest.mark.usefixtures("gpus")
@pytest.mark.parametrize("devices", [1, 2])
def test_the_gpu_that_is_asked_for(capsys, devices):
    arguments = ["clique", str(find("keller4")), "--backend", "cuda", "--devices", str(devices), "--json"]
    assert invoke(arguments) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["size"], record["proven"], record["backend"]) == (11, True, "cuda")
    assert record["threads"] == 64 * devices


def test_auto_begins_on_the_cpu_and_may_end_there(gpus):
    assert find_clique(graph_of("keller4"), CliqueQuestion())["backend"].startswith("cpu")
    assert gpus.launches == []


@pytest.mark.parametrize("name", ["MANN_a27", "p_hat300-3"])
def test_auto_goes_on_with_a_gpu(gpus, monkeypatch, name):
    monkeypatch.setattr(clique, "AUTO_SECONDS", 0.01)
    record = find_clique(graph_of(name), CliqueQuestion(time_limit=100), threads=1)
    assert (record["size"], record["proven"]) == ({"MANN_a27": 126, "p_hat300-3": 36}[name], True)
    assert record["backend"] == "cuda"
    assert len(record["members"]) == record["size"]
    assert "search_cliques" in gpus.launches


def test_auto_finds_all_cliques_on_the_cpu_and_says_so(gpus, caplog):
    with caplog.at_level(logging.INFO, "bicliq"):
        record = find_clique(graph_of("keller4"), CliqueQuestion(all=True))
    assert record["backend"].startswith("cpu")
    assert record["n_cliques"] > 1
    assert "searched on the CPU" in caplog.text
    assert gpus.launches == []


@pytest.mark.usefixtures("gpus")
def test_all_cliques_on_a_gpu_are_refused():
    with pytest.raises(kernels.BackendError, match="a GPU finds one maximum clique, not all"):
        find_clique(graph_of("keller4"), CliqueQuestion(all=True), backend="cuda")


def test_a_gpu_that_fails_is_given_up(gpus, monkeypatch, caplog):
    def full(grid, block, arguments):
        raise MemoryError("out of memory")

    monkeypatch.setitem(gpus.kernels, "search_cliques", full)
    monkeypatch.setattr(clique, "AUTO_SECONDS", 0.01)
    record = find_clique(graph_of("p_hat300-3"), CliqueQuestion())
    assert (record["size"], record["proven"]) == (36, True)
    assert record["backend"].startswith("cpu")
    assert "the GPU is given up" in caplog.text
    with pytest.raises(kernels.BackendError, match="too little"):
        find_clique(graph_of("p_hat300-3"), CliqueQuestion(), backend="cuda")


@pytest.mark.usefixtures("gpus")
def test_the_bench_measures_a_gpu(capsys):
    assert bench("clique", "keller4", "--runs", "1", "--backend", "cuda", "--json") == 0
    measured = json.loads(capsys.readouterr().out)["graphs"][0]
    assert (measured["size"], measured["proven"], measured["backend"]) == (11, True, "cuda")


def test_devices_are_a_number():
    empty = (np.zeros(1, np.int64), np.empty(0, np.int32))
    with pytest.raises(ValueError, match="devices is -1"):
        kernels.maximum_clique(*empty, devices=-1)


def test_the_random_bench_searches_each_cell_on_gpus_as_well(gpus, tmp_path, capsys):
    picture = tmp_path / "cells.svg"
    arguments = ["--size", "50", "--density", "0.5", "--backend", "cuda", "--devices", "2"]
    assert bench("random-cliques", *arguments, "--json", "--picture", str(picture)) == 0
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert cell["device_times"] == cell["one"] / cell["device"]
    assert "search_cliques" in gpus.launches
    assert picture.stat().st_size > 0
    assert bench("random-cliques", *arguments) == 0
    assert "GPU" in capsys.readouterr().out
