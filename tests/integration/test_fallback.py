"""When the GPU fails, "auto" goes on with the CPU, says why once, and loses nothing; who asked for
the GPU gets an error."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from math import comb
from pathlib import Path
from typing import Any

import pytest

from bicliq import kernels
from bicliq.kernels.cuda.device import MEMORY_VARIABLE
from bicliq.pipeline.errors import AskedBackendError, BackendError, BicliqError
from bicliq.pipeline.placement import device, where
from bicliq.pipeline.placement.device import why_no_data_on_device
from bicliq.pipeline.placement.where import Placement, place_run, place_search
from bicliq.pipeline.questions import count, count_partitions
from bicliq.pipeline.questions.count_asked import CountAsked
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import ClusterSettings, PlanSettings, SearchSettings, load_settings
from bicliq.pipeline.stages import in_memory
from bicliq.pipeline.stages.plan import plan
from bicliq.pipeline.stages.publish import publish
from bicliq.pipeline.stages.search_run import search_run
from bicliq.pipeline.stages.verify import verify
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.results import open_run
from bicliq.pipeline.versions.update import update
from tests import host_counts, host_cupy
from tests.host_cupy import HostCupy
from tests.integration.stored_graphs import put_graph
from tests.integration.test_resume import GRAPH


def given_up(caplog: pytest.LogCaptureFixture) -> list[bool]:
    """Whether each warning is that the GPU is given up, but for what was assumed of the table."""
    return [
        "the GPU is given up" in record.getMessage()
        for record in caplog.records
        if getattr(record, "event", None) != "assumed"
    ]


class LostStream:
    """A stream whose GPU is lost after its first batch."""

    def __init__(self, stream: kernels.BicliqueStream) -> None:
        self._stream = stream

    def __enter__(self) -> LostStream:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stream.close()

    def __iter__(self) -> Iterator[kernels.BicliqueBatch]:
        yield next(self._stream)
        raise BackendError("the GPU was lost")

    def progress(self) -> kernels.Progress:
        return self._stream.progress()


@pytest.fixture
def failing_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose GPU looks fine until it is used."""
    stream = kernels.stream_maximal_bicliques

    def lost(*graph: Any, backend: str = "cpu", **options: Any) -> Any:
        return LostStream(stream(*graph, **options)) if backend == "cuda" else stream(*graph, **options)

    monkeypatch.setattr(kernels, "stream_maximal_bicliques", lost)
    monkeypatch.setattr(kernels, "why_not", lambda backend: None)
    monkeypatch.setattr(where, "AUTO_PATHS", 0)


def placed(backend: str) -> Placement:
    return place_run("cpu", SearchSettings(backend=backend), ClusterSettings(local=True), n_edges=1, paths=1)


def planned(store: Store) -> str:
    return plan(store, put_graph(store, GRAPH), SearchSettings(), PlanSettings(partitions=4)).run


@pytest.mark.usefixtures("failing_gpu")
def test_auto_goes_on_with_the_cpu_and_says_why_once(tmp_path: Any, caplog: pytest.LogCaptureFixture) -> None:
    store = Store.open(str(tmp_path))
    run = planned(store)
    with caplog.at_level(logging.WARNING, "bicliq"):
        record = search_run(store, run, placement=placed("auto"))
    assert record.complete
    reasons = [entry.getMessage() for entry in caplog.records if entry.name == "bicliq"]
    assert reasons == ['the GPU is given up, the CPU goes on (nothing committed is lost) reason="the GPU was lost"']
    assert place_search("auto").backend == "cpu"
    assert {commit.backend.split("-")[0] for commit in store.run(run).committed().values()} == {"cpu"}
    publish(store, run)
    assert verify(store, run).ok


@pytest.mark.usefixtures("failing_gpu")
def test_who_asks_for_the_gpu_gets_the_error_and_keeps_what_is_committed(tmp_path: Any) -> None:
    store = Store.open(str(tmp_path))
    run = planned(store)
    search_run(store, run, placement=placed("cpu"), only=[0, 1])
    with pytest.raises(BicliqError, match="the GPU was lost"):
        search_run(store, run, placement=placed("cuda"))
    assert sorted(store.run(run).committed()) == [0, 1]


# ---- projections


def not_there() -> Any:
    raise BackendError("the GPU was lost")


@pytest.fixture
def looks_like_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that seems to have what the data path on a GPU needs, and has not."""
    monkeypatch.setattr(device, "why_no_data_on_device", lambda: None)
    monkeypatch.setattr(device, "cudf_and_cupy", not_there)


@pytest.mark.usefixtures("looks_like_a_gpu")
@pytest.mark.parametrize(("ties", "warnings"), [(11, 0), (10, 1)])
def test_auto_projects_on_the_cpu_where_the_gpu_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, ties: int, warnings: int
) -> None:
    monkeypatch.setattr(where, "AUTO_TIES", ties)  # expected, from which on a GPU is started
    table = tmp_path / "table.csv"
    table.write_text("who,what\n" + "".join(f"{who},{what}\n" for what in range(4) for who in range(5)))
    with caplog.at_level(logging.WARNING, logger="bicliq"):
        found = in_memory.project_table(
            str(table), "left", 2, backend="auto"
        )  # 4 × 10 paths, a fourth of them expected
    assert (found.n, found.n_edges) == (5, 10)
    assert given_up(caplog) == [True] * warnings


@pytest.mark.skipif(why_no_data_on_device() is None, reason="there is a GPU here")
def test_who_asks_for_a_projection_on_the_gpu_gets_an_error(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("who,what\n1,1\n2,1\n")
    with pytest.raises(BackendError, match="'cuda' cannot run here"):
        in_memory.project_table(str(table), "left", 1, backend="cuda")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """A store with a run, and a table of a new edge, where the GPU is lost as it begins."""
    for name, rows in (("base", "1,1 1,2 2,1 2,2 3,2"), ("new", "3,1")):
        (tmp_path / f"{name}.csv").write_text("l,r\n" + rows.replace(" ", "\n") + "\n")
    store = str(tmp_path / "store")
    run(str(tmp_path / "base.csv"), load_settings(store=store, cluster={"local": True}))
    find = kernels.ChangeSearch.find

    def lost(self: kernels.ChangeSearch, *, backend: str = "cpu", **options: Any) -> kernels.Changes:
        if backend == "cuda":
            raise RuntimeError("cudaErrorECCUncorrectable")
        return find(self, backend=backend, **options)

    monkeypatch.setattr(kernels.ChangeSearch, "find", lost)
    monkeypatch.setattr(kernels, "why_not", lambda backend: None)
    monkeypatch.setattr(where, "AUTO_FOUND", 0)
    monkeypatch.setattr(where, "AUTO_PATHS", 0)
    return store, str(tmp_path / "new.csv")


def test_an_update_goes_on_with_the_cpu_where_the_gpu_fails(
    shop: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    store, new = shop
    with caplog.at_level(logging.WARNING, logger="bicliq"):
        found = update(new, load_settings(store=store, cluster={"local": True}))
    assert (found.how, found.bicliques) == ("changes", 1)
    assert found.backend.startswith("cpu")
    assert given_up(caplog) == [True]


def test_an_update_that_asks_for_a_gpu_that_fails_changes_nothing(shop: tuple[str, str]) -> None:
    store, new = shop
    before = open_run(store).run
    with pytest.raises(BackendError, match="cudaErrorECCUncorrectable"):
        update(new, load_settings(store=store, cluster={"local": True}, search={"backend": "cuda"}))
    assert open_run(store).run == before


# ---- counts


@pytest.fixture
def counting_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[HostCupy]:
    """A machine whose GPU is this one's processor, and is taken for every count."""
    host_counts.count_on_a_card_alone(monkeypatch)
    monkeypatch.setattr(device, "why_no_data_on_device", lambda: "there is no cuDF here")
    monkeypatch.setattr(count, "NOT_WORTH", None)
    monkeypatch.setattr(count_partitions, "NOT_WORTH", None)
    monkeypatch.setattr(where, "AUTO_PATHS", 0)
    with host_cupy.installed(HostCupy(host_counts.COUNTS, memory=1 << 24), monkeypatch) as cupy:
        yield cupy


@pytest.fixture
def large(tmp_path: Path) -> str:
    """A table of four rows and 300 columns, all of it filled."""
    edges = "".join(f"{u},{v}\n" for u in range(4) for v in range(300))
    (tmp_path / "large.csv").write_text("u,v\n" + edges)
    return str(tmp_path / "large.csv")


LARGE = 4 * comb(300, 150)
"""Of three rows and 150 columns: 298 bits."""


@pytest.mark.usefixtures("counting_gpu")
def test_a_count_too_large_for_a_gpu_is_the_work_of_the_cpu(large: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="bicliq"):
        found = count.count_table(large, CountAsked(3, 150), load_settings())
    assert (found.counts, found.backend[:3]) == ({(3, 150): LARGE}, "cpu")
    assert given_up(caplog) == [True]
    assert "does not fit in the 128 bits" in caplog.text
    with pytest.raises(AskedBackendError, match="use the CPU backend"):
        count.count_table(large, CountAsked(3, 150), load_settings(search={"backend": "cuda"}))


@pytest.mark.usefixtures("counting_gpu")
def test_partitions_too_large_for_a_gpu_are_the_work_of_the_cpu(
    large: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = load_settings(store=str(tmp_path / "store"), cluster={"local": True}, plan={"partitions": 2})
    with caplog.at_level(logging.WARNING, logger="bicliq"):
        found = count.count_run(large, CountAsked(3, 150), settings)
    assert found.counts == {(3, 150): LARGE}
    assert given_up(caplog) == [True]


@pytest.mark.usefixtures("counting_gpu")
def test_a_table_of_all_sizes_has_no_largest_count_on_a_gpu(large: str, caplog: pytest.LogCaptureFixture) -> None:
    found = count.count_table(large, CountAsked(4, 150, all_sizes=True), load_settings())
    assert (found.counts[3, 150], found.backend) == (LARGE, "cuda")
    assert given_up(caplog) == []


@pytest.mark.parametrize(("megabytes", "backend", "warnings"), [(1, "cuda", 0), (0, "cpu", 1)])
def test_butterflies_of_a_full_card_are_the_work_of_the_cpu(
    counting_gpu: HostCupy,
    large: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    megabytes: int,
    backend: str,
    warnings: int,
) -> None:
    monkeypatch.setenv(MEMORY_VARIABLE, str(megabytes << 20))
    with caplog.at_level(logging.WARNING, logger="bicliq"):
        found = count.count_table(large, CountAsked(2, 2), load_settings())
    assert (found.counts, found.method, found.backend[:4].rstrip("-")) == ({(2, 2): 6 * 44_850}, "butterfly", backend)
    assert given_up(caplog) == [True] * warnings
    assert ("count_path_ends" in counting_gpu.launches) == (backend == "cuda")
