"""Clusters of different sizes find the same, and say how busy their workers were."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest

from bicliq.flows.cli import invoke
from tests.benches import bench
from tests.nightly import by_night
from tests.real_graphs import COUNTS, DATA


@by_night
def test_scaling_finds_the_digest_of_the_run(tmp_path, capsys):
    store = str(tmp_path / "store")
    arguments = ["run", str(DATA / "UCforum.adj"), "--store", store, "--partitions", "6", "--workers", "2", "--json"]
    assert invoke(arguments) == 0
    run = json.loads(capsys.readouterr().out)
    assert len(run["busy"]) == 2
    assert all(0 < share <= 1 for share in run["busy"].values())
    assert bench("scale", "--store", store, "--workers", "1", "--workers", "2", "--json") == 0
    clusters = json.loads(capsys.readouterr().out)["clusters"]
    assert [cluster["workers"] for cluster in clusters] == [1, 2]
    assert [len(cluster["busy"]) for cluster in clusters] == [1, 2]
    for cluster in clusters:
        assert cluster["bicliques"] == COUNTS["UCforum"]
        assert cluster["digest"] == run["digest"]
        assert list(cluster["bytes"]) == list(cluster["busy"])
    assert len({sum(cluster["bytes"].values()) for cluster in clusters}) == 1
    partitions = Path(store).glob("runs/*/partitions/part-*.arrow")
    assert sum(clusters[0]["bytes"].values()) == sum(path.stat().st_size for path in partitions)


def test_little_is_searched_without_a_cluster(tmp_path, capsys):
    table = str(DATA / "UCforum.adj")
    assert invoke(["run", table, "--store", str(tmp_path / "one"), "--json"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert (alone["busy"], alone["partitions"]) == ({}, 1)
    assert invoke(["run", table, "--store", str(tmp_path / "two"), "--workers", "2", "--json"]) == 0
    shared = json.loads(capsys.readouterr().out)
    assert (len(shared["busy"]), shared["digest"]) == (2, alone["digest"])
    assert shared["partitions"] > 1


@pytest.mark.skipif(importlib.util.find_spec("dask_cuda") is not None, reason="Dask-CUDA is installed")
def test_a_cluster_of_gpus_needs_dask_cuda(tmp_path, capsys):
    assert invoke(["run", str(DATA / "UCforum.adj"), "--store", str(tmp_path / "store"), "--local"]) == 0
    assert bench("scale", "--store", str(tmp_path / "store"), "--backend", "cuda") == 2
    assert "pip install 'bicliq[gpu]'" in capsys.readouterr().err


def test_the_whole_way_is_measured_on_each_backend_or_says_why_not(capsys):
    arguments = ["run", str(DATA / "UCforum.adj"), "--local", "--runs", "1"]
    assert bench(*arguments, "--json") == 0
    ways = json.loads(capsys.readouterr().out)["ways"]
    assert [(way["data_backend"], way["backend"]) for way in ways] == [
        ("cpu", "cpu"),
        ("cpu", "cuda"),
        ("cuda", "cuda"),
    ]
    assert ways[0]["bicliques"] == COUNTS["UCforum"]
    assert {"ingest", "profile", "plan", "check", "search", "publish", "total"} == set(ways[0]["seconds"])
    assert all(way["reason"] or way["digest"] == ways[0]["digest"] for way in ways)
    assert bench(*arguments) == 0
    assert "publish" in capsys.readouterr().out
