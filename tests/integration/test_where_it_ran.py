"""Commits say what each partition ran on, and manifest and summary say it after them."""

from __future__ import annotations

from typing import Any

import pytest

from bicliq.kernels.cpu import load_extension
from bicliq.kernels.cuda.search_program import Tuning
from bicliq.pipeline.errors import BackendError
from bicliq.pipeline.placement import where
from bicliq.pipeline.questions.clique import CliqueQuestion, answer
from bicliq.pipeline.questions.count import count_run, count_table
from bicliq.pipeline.questions.count_asked import NOT_WORTH, CountAsked
from bicliq.pipeline.run import resume, run
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.stages.search import enumerate_table
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run
from tests import host_cupy, host_kernels
from tests.host_cupy import HostCupy
from tests.integration.stored_graphs import random_graph
from tests.real_graphs import DATA

EDGES = str(DATA / "UCforum.adj")
CPU = f"cpu-{load_extension().isa}"


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A machine with a GPU."""
    with host_cupy.installed(HostCupy(host_kernels.ENUMERATION), monkeypatch) as cupy:
        yield cupy


@pytest.fixture
def small(tmp_path: Any) -> str:
    """A table for kernels in Python."""
    graph = random_graph(60, 50, 0.15, seed=2)
    table = tmp_path / "small.csv"
    table.write_text("".join(f"{u},{v}\n" for u, v in zip(graph.edge_left, graph.indices, strict=True)))
    return str(table)


def settings_for(tmp_path: Any, **search: Any) -> Any:
    return load_settings(
        store=str(tmp_path / "store"),
        plan={"partitions": 5},
        cluster={"local": True},
        data_backend="cpu",
        search=search,
    )


def test_on_the_cpu_with_so_many_threads(tmp_path):
    settings = settings_for(tmp_path, backend="cpu", threads=3)
    found = run(EDGES, settings)
    assert (found.backend, found.threads) == (CPU, 3)
    commits = Store.open(settings.store).run(found.run).committed()
    assert {(commit.backend, commit.threads) for commit in commits.values()} == {(CPU, 3)}
    manifest = Store.open(settings.store).run(found.run).published()
    assert {(file.backend, file.threads) for file in manifest.files} == {(CPU, 3)}


@pytest.mark.usefixtures("gpu")
def test_on_a_gpu(tmp_path, small):
    found = run(small, settings_for(tmp_path, backend="cuda"))
    alone = run(small, settings_for(tmp_path / "cpu", backend="cpu"))
    warps = 2 * Tuning().warps_a_block * Tuning().blocks_a_multiprocessor
    assert (found.digest, found.backend, found.threads) == (alone.digest, "cuda", warps)
    assert found.placement["search"] == "cuda: it is asked for"


@pytest.mark.usefixtures("gpu")
def test_a_run_that_is_resumed_elsewhere_says_both_and_not_what_would_be_chosen_now(tmp_path, small):
    first = run(small, settings_for(tmp_path, backend="cuda"))
    folder = Store.open(str(tmp_path / "store")).run(first.run)
    folder.uncommit_partition(2)
    again = resume(first.run, settings_for(tmp_path, backend="cpu", threads=1))
    assert (again.backend, again.searched, again.digest) == (f"cuda 4, {CPU} 1", 1, first.digest)
    assert resume(first.run, settings_for(tmp_path, backend="cpu")).backend == again.backend


def test_a_count_says_it_too(tmp_path):
    found = count_run(EDGES, CountAsked(2, 2), settings_for(tmp_path, backend="auto", threads=2))
    assert (found.backend, found.threads) == (CPU, 2)


@pytest.mark.usefixtures("gpu")
def test_a_count_for_which_a_gpu_was_asked_starts_a_cluster_of_gpus(tmp_path, monkeypatch):
    """As far as it goes without one."""
    host_cupy.add_libraries(monkeypatch, "cudf")
    asked = host_cupy.add_dask_cuda(monkeypatch, "no CUDA device")
    settings = settings_for(tmp_path, backend="cuda").model_copy(
        update={"cluster": load_settings(cluster={"workers": 4}).cluster}
    )
    with pytest.raises(BackendError, match="no CUDA device"):
        count_run(EDGES, CountAsked(3, 3), settings)
    (options,) = asked
    assert options["n_workers"] == 4
    assert "rmm_async" not in options  # a count has nothing for which cuDF would be worth its start


@pytest.mark.usefixtures("gpu")
def test_a_count_goes_to_a_gpu_only_where_one_is_asked_for():
    placed = [where.place_search(backend, 1 << 40, not_worth=NOT_WORTH) for backend in ("cuda", "auto")]
    assert [(place.backend, place.why) for place in placed] == [("cuda", "it is asked for"), ("cpu", NOT_WORTH)]


def test_tables_and_stores_may_be_named_by_paths(tmp_path):
    settings = load_settings(store=tmp_path / "store", cluster={"local": True})
    found = run(DATA / "UCforum.adj", settings)
    assert open_run(tmp_path / "store").run == open_run(Store.open(tmp_path / "store")).run == found.run
    assert enumerate_table(DATA / "UCforum.adj", settings)["bicliques"] == found.bicliques
    assert count_table(DATA / "UCforum.adj", CountAsked(3, 3), settings).counts == {(3, 3): 39_733}
    assert count_run(DATA / "UCforum.adj", CountAsked(3, 3), settings).counts == {(3, 3): 39_733}
    store = Store.open(tmp_path / "store")
    answered = answer(DATA / "UCforum.adj", CliqueQuestion(project="left", min_shared=4), store=store)
    assert answered["size"] == 19
