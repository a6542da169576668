"""Commits say what each partition ran on, and manifest and summary say it after them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bicliq import kernels
from bicliq.kernels.cpu import load_extension
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
from tests.real_graphs import COUNTS, DATA

EDGES = str(DATA / "UCforum.adj")
CPU = f"cpu-{load_extension().isa}"


class GpuStream:
    """The CPU's stream, which says that it ran on a GPU."""

    def __init__(self, stream: kernels.BicliqueStream) -> None:
        self._stream = stream

    def __enter__(self) -> GpuStream:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stream.close()

    def __iter__(self) -> Any:
        return self._stream

    @property
    def result(self) -> kernels.EnumerationResult:
        return replace(self._stream.result, backend="cuda", threads=4224)

    def progress(self) -> kernels.Progress:
        return self._stream.progress()


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A machine whose GPU searches so many partitions before it is lost."""
    stream, left = kernels.stream_maximal_bicliques, [10**9]

    def search(*graph: Any, backend: str = "cpu", on_device: bool = False, **options: Any) -> Any:
        if backend == "cpu":
            return stream(*graph, **options)
        left[0] -= 1
        if left[0] < 0:
            raise BackendError("the GPU was lost")
        return GpuStream(stream(*graph, **options))

    monkeypatch.setattr(kernels, "stream_maximal_bicliques", search)
    monkeypatch.setattr(kernels, "why_not", lambda backend: None)
    monkeypatch.setattr(where, "AUTO_PATHS", 0)
    monkeypatch.setattr(where, "AUTO_SECONDS", 0)
    return left


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


def test_on_a_gpu(tmp_path, gpu):
    found = run(EDGES, settings_for(tmp_path, backend="cuda"))
    assert (found.bicliques, found.backend, found.threads) == (COUNTS["UCforum"], "cuda", 4224)
    assert found.placement["search"] == "cuda: it is asked for"


def test_on_a_gpu_until_it_was_lost_and_then_on_the_cpu(tmp_path, gpu):
    gpu[0] = 3
    found = run(EDGES, settings_for(tmp_path, backend="auto", threads=2))
    assert (found.bicliques, found.backend) == (COUNTS["UCforum"], f"cuda 3, {CPU} 2")


def test_a_run_that_is_resumed_elsewhere_says_both_and_not_what_would_be_chosen_now(tmp_path, gpu):
    first = run(EDGES, settings_for(tmp_path, backend="cuda"))
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
    opened = []

    def open_cluster(settings, backend="cpu", data_backend="cuda", ahead=None):
        opened.append((settings.workers, backend, data_backend))
        raise BackendError("no CUDA device")

    monkeypatch.setattr(where, "why_no_gpu_cluster", lambda: None)
    monkeypatch.setattr(where, "open_cluster", open_cluster)
    settings = settings_for(tmp_path, backend="cuda").model_copy(
        update={"cluster": load_settings(cluster={"workers": 4}).cluster}
    )
    with pytest.raises(BackendError, match="no CUDA device"):
        count_run(EDGES, CountAsked(3, 3), settings)
    assert opened == [(4, "cuda", "cpu")]  # a count has nothing for which cuDF would be worth its start


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
