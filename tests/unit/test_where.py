"""Where work runs is decided in one place: what is asked for is obeyed or refused, and "auto" says
why."""

from __future__ import annotations

import pickle

import pytest

from bicliq.pipeline.errors import AskedBackendError, BackendError, InputError
from bicliq.pipeline.placement import fallback
from bicliq.pipeline.placement.where import (
    AUTO_BYTES,
    AUTO_FOUND,
    AUTO_PATHS,
    AUTO_SECONDS,
    AUTO_TIES,
    FOUND_A_THREAD,
    LITTLE_TO_SEARCH,
    check_backends,
    place_changes,
    place_data,
    place_graph,
    place_projection,
    place_run,
    place_search,
)
from bicliq.pipeline.settings import ClusterSettings, SearchSettings
from tests import host_cupy
from tests.host_cupy import HostCupy

MUCH = {"n_edges": AUTO_BYTES, "paths": LITTLE_TO_SEARCH + 1}
HERE = ClusterSettings(local=True)


@pytest.fixture
def gpu(monkeypatch):
    """A machine that seems to have a GPU and all of its libraries."""
    host_cupy.add_libraries(monkeypatch, "cudf", "cugraph", "rmm", "dask_cuda")
    with host_cupy.installed(HostCupy({}), monkeypatch):
        yield


@pytest.fixture
def no_gpu(monkeypatch):
    """A machine with CuPy alone, and nothing to run it on."""
    host_cupy.add_libraries(monkeypatch, "cugraph", "rmm")
    host_cupy.take_away(monkeypatch, "cudf")
    with host_cupy.installed(HostCupy({}, devices=0), monkeypatch):
        yield


def run_placed(cluster=HERE, data="auto", cannot=None, **search):
    return place_run(data, SearchSettings(**search), cluster, **MUCH, cannot=cannot)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(
    ("place", "backend", "why"),
    [
        (lambda: place_data("auto", AUTO_BYTES), "cuda", "enough work"),
        (lambda: place_data("auto", AUTO_BYTES - 1), "cpu", "a GPU is worth its start from 64 MiB on"),
        (lambda: place_data("cuda", 1), "cuda", "asked for"),
        (lambda: place_data("cpu", 1 << 40), "cpu", "asked for"),
        (lambda: place_graph("auto", AUTO_BYTES // 16), "cuda", "enough work"),
        (lambda: place_graph("auto", AUTO_BYTES // 16 - 1), "cpu", "64 MiB"),
        (lambda: place_projection("auto", AUTO_TIES), "cuda", "enough work"),
        (lambda: place_projection("auto", AUTO_TIES - 1), "cpu", "edges are expected"),
        (lambda: place_search("auto", AUTO_PATHS), "cuda", "enough work"),
        (lambda: place_search("auto", AUTO_PATHS - 1), "cpu", "paths of two edges"),
        (lambda: place_search("auto"), "cuda", "enough work"),
        (lambda: place_search("auto", cannot="it counts no vertices"), "cpu", "it counts no vertices"),
        (lambda: place_search("auto", not_worth="only where it is asked for"), "cpu", "only where it is asked for"),
        (lambda: place_search("cuda", 1, not_worth="only where it is asked for"), "cuda", "asked for"),
    ],
)
def test_auto_takes_a_gpu_where_the_work_is_worth_it_and_says_why(place, backend, why):
    found = place()
    assert (found.backend, found.here()) == (backend, backend)
    assert why in str(found)


@pytest.mark.usefixtures("no_gpu")
def test_auto_takes_the_cpu_where_no_gpu_is_and_says_so():
    assert str(place_data("auto", AUTO_BYTES)).startswith("cpu: cudf not installed: pip install")
    assert str(place_search("auto", AUTO_PATHS)) == "cpu: this machine has no NVIDIA GPU; use the CPU backend"


@pytest.mark.usefixtures("no_gpu")
def test_a_gpu_that_is_asked_for_and_not_there_is_refused_with_the_reason():
    with pytest.raises(AskedBackendError, match="data backend 'cuda' cannot run here: cudf not installed"):
        place_data("cuda")
    with pytest.raises(BackendError, match="backend 'cuda' cannot run here: this machine has no NVIDIA GPU"):
        place_search("cuda")
    for asked in (("cuda", "auto"), ("auto", "cuda")):
        with pytest.raises(BackendError, match="cannot run here"):
            check_backends(*asked)
    check_backends("auto", "auto")
    check_backends(
        "auto", "cuda", cluster=ClusterSettings(scheduler="tcp://host:8786")
    )  # the workers say whether they have one


@pytest.mark.usefixtures("gpu")
def test_what_a_gpu_cannot_do_is_a_reason_in_words():
    with pytest.raises(BackendError, match="it counts no vertices; use the CPU backend"):
        place_search("cuda", cannot="it counts no vertices; use the CPU backend")


@pytest.mark.parametrize("place", [place_data, place_search])
def test_a_backend_that_does_not_exist_is_named(place):
    with pytest.raises(InputError, match="backend 'gpu': it must be auto, cpu or cuda"):
        place("gpu")


def test_a_cluster_is_started_where_there_is_work_for_it_or_it_is_asked_for():
    def shared(paths, **cluster):
        placed = place_run("cpu", SearchSettings(backend="cpu"), ClusterSettings(**cluster), n_edges=1, paths=paths)
        return placed.cluster is not None, placed.why

    little, much = LITTLE_TO_SEARCH, LITTLE_TO_SEARCH + 1
    assert shared(little) == (False, "there are 268,435,456 paths of two edges, not more than 268,435,456")
    assert shared(much) == (True, "there are 268,435,457 paths of two edges, more than 268,435,456")
    assert shared(little, workers=2) == (True, "a number of workers is given")
    assert shared(little, scheduler="tcp://host:8786") == (True, "a scheduler is given")
    assert shared(little, dashboard=":8787") == (True, "the address of a dashboard is given")
    assert shared(little, local=False) == (True, "it is asked for")
    assert shared(much, local=True, workers=2) == (False, "it is asked for")


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(
    ("seconds", "paths", "backend", "why"),
    [
        (None, AUTO_PATHS, "cuda", "enough work"),
        (4 * AUTO_SECONDS, AUTO_PATHS, "cuda", "enough work"),
        (3.9 * AUTO_SECONDS, AUTO_PATHS, "cpu", "the search should take 4 threads 0.97 s, and a GPU is worth its start from 1 s on"),
        (4 * AUTO_SECONDS, AUTO_PATHS - 1, "cpu", "paths of two edges"),
    ],
)  # fmt: skip
def test_auto_searches_a_run_on_a_gpu_where_the_threads_here_should_take_longer_than_its_start(
    seconds, paths, backend, why
):
    def placed(search, cluster=HERE):
        return place_run("cpu", search, cluster, n_edges=1, paths=paths, seconds=seconds).search

    found = placed(SearchSettings(threads=4))
    assert (found.backend, why in found.why) == (backend, True)
    assert placed(SearchSettings(threads=4, backend="cuda")).backend == "cuda"  # who asks for it gets it
    remote = placed(SearchSettings(threads=4), ClusterSettings(scheduler="tcp://host:8786"))
    assert remote.backend == ("cuda" if paths >= AUTO_PATHS else "cpu")  # workers see what they have


@pytest.mark.usefixtures("gpu")
def test_where_a_graph_is_cut_follows_its_size_and_not_where_it_is_searched():
    def backends(data_backend, cluster, n_edges):
        placed = place_run(data_backend, SearchSettings(), cluster, n_edges=n_edges, paths=AUTO_PATHS)
        return placed.search.backend, placed.data.backend

    for cluster in (ClusterSettings(local=False), HERE):
        assert backends("auto", cluster, 1) == ("cuda", "cpu")
        assert backends("auto", cluster, AUTO_BYTES) == ("cuda", "cuda")
        assert backends("cpu", cluster, AUTO_BYTES) == ("cuda", "cpu")


@pytest.mark.usefixtures("gpu")
def test_auto_shares_work_among_cores_where_no_cluster_of_gpus_can_be_started(monkeypatch):
    host_cupy.take_away(monkeypatch, "dask_cuda")
    placed = run_placed(ClusterSettings(local=False))
    assert str(placed.search).startswith("cpu: a cluster of GPUs needs Dask-CUDA: ")
    with pytest.raises(BackendError, match="a cluster of GPUs needs Dask-CUDA"):
        run_placed(ClusterSettings(local=False), backend="cuda")


@pytest.mark.usefixtures("no_gpu")
def test_workers_elsewhere_see_for_themselves_what_they_have():
    placed = run_placed(ClusterSettings(scheduler="tcp://host:8786"))
    assert placed.search.backend == "cuda"
    assert placed.search.here() == "cpu"  # as on a worker without a GPU
    assert placed.search.run(lambda backend: backend) == "cpu"


def test_a_placement_travels_to_workers_and_says_in_words_what_it_is():
    placed = run_placed(data="cpu", backend="cpu", threads=3)
    assert pickle.loads(pickle.dumps(placed)) == placed
    assert placed.threads == 3
    assert placed.record() == {
        "data": "cpu: it is asked for",
        "search": "cpu: it is asked for",
        "partitions": "this process: it is asked for",
    }


@pytest.mark.usefixtures("gpu")
def test_a_cluster_of_gpus_that_does_not_start_becomes_one_of_cores(monkeypatch, caplog):
    asked = host_cupy.add_dask_cuda(monkeypatch, "cudaErrorNoDevice")
    cluster = ClusterSettings(workers=1, dashboard=False)
    with run_placed(cluster, data="cpu").opened() as client:
        assert client.submit(sum, [1, 2]).result(timeout=60) == 3
    assert [options["n_workers"] for options in asked] == [1]
    assert "the GPU is given up" in caplog.text
    fallback.reasons.clear()
    placed = run_placed(cluster, data="cpu", backend="cuda")
    with pytest.raises(AskedBackendError, match="cudaErrorNoDevice"), placed.opened():
        pass


# ---- fallback


def fails(error):
    def work(backend):
        if backend == "cuda":
            raise error
        return backend

    return work


FULL = MemoryError("out of memory: 3 GiB")
FAILURES = [FULL, RuntimeError("cudaErrorIllegalAddress"), BackendError("the GPU was lost")]


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("error", FAILURES, ids=["full", "failed", "lost"])
def test_auto_goes_on_with_the_cpu_and_says_why_once(error, caplog):
    place = place_data("auto")
    assert place.run(fails(error)) == "cpu"
    assert place.run(fails(AssertionError("a GPU that failed is asked again"))) == "cpu"
    assert place_search("auto", AUTO_PATHS).why.startswith("the GPU was given up before: ")
    assert len(caplog.records) == 1
    assert str(error) in caplog.text


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("error", FAILURES, ids=["full", "failed", "lost"])
def test_who_asked_for_the_gpu_gets_its_error(error):
    with pytest.raises(AskedBackendError, match=str(error)):
        place_data("cuda").run(fails(error))
    assert place_data("auto").here() == "cuda"  # one failure of what was asked for gives up nothing


@pytest.mark.usefixtures("gpu")
def test_a_gpu_that_was_asked_for_is_not_given_up_by_what_goes_on_around_it():
    with pytest.raises(AskedBackendError, match="lost"):
        place_data("auto").run(lambda backend: place_search("cuda").run(fails(BackendError("lost"))))


@pytest.mark.usefixtures("gpu")
def test_errors_that_are_none_of_the_gpus_are_passed_on(caplog):
    with pytest.raises(InputError, match="line 3"):
        place_data("auto").run(fails(InputError("line 3: 2 fields")))
    with pytest.raises(KeyError):
        place_data("auto").run(fails(KeyError("x")))
    assert caplog.records == []


WORTH = {"paths": 10 * AUTO_PATHS, "found": 15 * FOUND_A_THREAD}


@pytest.mark.usefixtures("no_gpu")
@pytest.mark.parametrize(
    ("cluster", "threads", "found", "shared", "why"),
    [
        (ClusterSettings(scheduler="tcp://host:1"), 15, WORTH["found"], True, "which is worth a cluster"),
        (ClusterSettings(scheduler="tcp://host:1"), 16, WORTH["found"], False, "worth its start from 32,000,000 on"),
        (ClusterSettings(workers=2), 3, WORTH["found"], True, "30,000,000 bicliques are expected"),
        (ClusterSettings(workers=2), 3, WORTH["found"] - 1, False, "worth its start from 30,000,000 on"),
        (ClusterSettings(), 1, WORTH["found"], False, "no cluster is named"),
        (ClusterSettings(local=True), 1, WORTH["found"], False, "it is asked for"),
        (ClusterSettings(local=True, workers=2), 1, WORTH["found"], False, "it is asked for"),
    ],
)
def test_an_update_takes_a_cluster_that_is_named_where_it_is_worth_it(cluster, threads, found, shared, why):
    placed = place_changes(SearchSettings(threads=threads), cluster, paths=WORTH["paths"], found=found)
    assert (placed.cluster is cluster) == shared
    assert placed.record("changes")["changes"].startswith("a cluster: " if shared else "this process: ")
    assert why in placed.why


@pytest.mark.usefixtures("gpu")
def test_an_update_takes_a_gpu_that_is_asked_for_or_worth_it():
    def placed(backend, found, paths=10**9):
        return place_changes(SearchSettings(backend=backend), HERE, paths=paths, found=found).search

    assert placed("cuda", 0, 0).backend == placed("auto", AUTO_FOUND).backend == "cuda"
    assert placed("cpu", AUTO_FOUND).backend == "cpu"
    assert "worth its start from 16,777,216 on" in placed("auto", AUTO_FOUND - 1).why


@pytest.mark.usefixtures("no_gpu")
def test_workers_elsewhere_see_for_themselves_whether_they_have_a_gpu():
    there = place_changes(SearchSettings(), ClusterSettings(scheduler="tcp://host:1"), paths=10**9, found=10**9)
    assert (there.search.backend, there.search.here()) == ("cuda", "cpu")
    with pytest.raises(AskedBackendError, match="this machine has no NVIDIA GPU"):
        place_changes(SearchSettings(backend="cuda"), HERE, paths=10**9, found=10**9)
