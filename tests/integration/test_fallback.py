"""When the GPU fails, "auto" goes on with the CPU, says why once, and loses nothing; who asked for
the GPU gets an error."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from math import comb
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bicliq.kernels.cpu import load_extension
from bicliq.kernels.cuda.device import MEMORY_VARIABLE
from bicliq.pipeline.errors import AskedBackendError, BackendError, BicliqError
from bicliq.pipeline.placement import where
from bicliq.pipeline.placement.where import AUTO_PATHS, Placement, place_run, place_search
from bicliq.pipeline.questions.count import count_run, count_table
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
from tests.host_cupy import CUDARuntimeError, HostCupy
from tests.host_kernels import LostCard
from tests.integration.stored_graphs import put_graph
from tests.integration.test_resume import GRAPH


def given_up(caplog: pytest.LogCaptureFixture) -> list[bool]:
    """Whether each warning is that the GPU is given up, but for what was assumed of the table."""
    return [
        "the GPU is given up" in record.getMessage()
        for record in caplog.records
        if getattr(record, "event", None) != "assumed"
    ]


@pytest.fixture
def failing_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose GPU looks fine until it has searched a partition."""
    with host_cupy.installed(HostCupy(LostCard(launches=1).kernels), monkeypatch):
        yield


def placed(backend: str) -> Placement:
    return place_run("cpu", SearchSettings(backend=backend), ClusterSettings(local=True), n_edges=1, paths=AUTO_PATHS)


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
    (reason,) = reasons
    said = "the GPU is given up, the CPU goes on (nothing committed is lost) reason="
    assert reason.startswith(f'{said}"the GPU was lost during the search (cudaErrorECCUncorrectable)')
    assert place_search("auto").backend == "cpu"
    searched = [commit.backend.split("-")[0] for commit in store.run(run).committed().values()]
    assert sorted(searched) == ["cpu", "cpu", "cpu", "cuda"]
    assert publish(store, run).backend == f"cpu-{load_extension().isa} 3, cuda 1"
    assert verify(store, run).ok


@pytest.mark.usefixtures("failing_gpu")
def test_who_asks_for_the_gpu_gets_the_error_and_keeps_what_is_committed(tmp_path: Any) -> None:
    store = Store.open(str(tmp_path))
    run = planned(store)
    search_run(store, run, placement=placed("cpu"), only=[0, 1])
    with pytest.raises(BicliqError, match="the GPU was lost"):
        search_run(store, run, placement=placed("cuda"))
    assert len({0, 1} & set(store.run(run).committed())) == 2
    assert len(store.run(run).committed()) == 3


# ---- projections


@pytest.fixture
def looks_like_a_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine that seems to have what the data path on a GPU needs, and has not."""

    def not_there() -> None:
        raise CUDARuntimeError("cudaErrorNoDevice")

    host_cupy.add_libraries(monkeypatch, "cudf", "cugraph", "rmm", "rmm.allocators", "rmm.allocators.cupy")
    sys.modules["rmm"].mr = SimpleNamespace(get_current_device_resource=not_there)  # type: ignore[attr-defined]
    sys.modules["rmm.allocators.cupy"].rmm_cupy_allocator = None  # type: ignore[attr-defined]
    with host_cupy.installed(HostCupy({}), monkeypatch):
        yield


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


def test_who_asks_for_a_projection_on_the_gpu_gets_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host_cupy.take_away(monkeypatch, "cudf")
    table = tmp_path / "table.csv"
    table.write_text("who,what\n1,1\n2,1\n")
    with pytest.raises(BackendError, match="'cuda' cannot run here"):
        in_memory.project_table(str(table), "left", 1, backend="cuda")


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, str]]:
    """A store with a run, and a table of a new edge, where the GPU is lost as it begins."""
    for name, rows in (("base", "1,1 1,2 2,1 2,2 3,2"), ("new", "3,1")):
        (tmp_path / f"{name}.csv").write_text("l,r\n" + rows.replace(" ", "\n") + "\n")
    store = str(tmp_path / "store")
    run(str(tmp_path / "base.csv"), load_settings(store=store, cluster={"local": True}))
    monkeypatch.setattr(where, "AUTO_FOUND", 0)
    monkeypatch.setattr(where, "AUTO_PATHS", 0)
    with host_cupy.installed(HostCupy(LostCard().kernels), monkeypatch):
        yield store, str(tmp_path / "new.csv")


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


CUDA = {"search": {"backend": "cuda"}}


@pytest.fixture
def counting_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[HostCupy]:
    """A machine whose GPU is this one's processor."""
    host_cupy.take_away(monkeypatch, "cudf")
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
TOO_LARGE = "does not fit in the 128 bits .*; use the CPU backend"


@pytest.mark.usefixtures("counting_gpu")
def test_a_count_too_large_for_a_gpu_says_what_to_do(large: str, tmp_path: Path) -> None:
    asked = CountAsked(3, 150, method="pivot")  # else the CPU counts beside it, and may have ended first
    found = count_table(large, asked, load_settings())
    assert (found.counts, found.backend[:3]) == ({(3, 150): LARGE}, "cpu")
    with pytest.raises(AskedBackendError, match=TOO_LARGE):
        count_table(large, asked, load_settings(**CUDA))
    store = {"store": str(tmp_path / "store"), "cluster": {"local": True}, "plan": {"partitions": 2}}
    with pytest.raises(BicliqError, match=f"2 of 2 partitions failed .*{TOO_LARGE}"):
        count_run(large, asked, load_settings(**store, **CUDA))
    assert count_run(large, asked, load_settings(**store)).counts == {(3, 150): LARGE}


@pytest.mark.usefixtures("counting_gpu")
def test_a_table_of_all_sizes_has_no_largest_count_on_a_gpu(large: str) -> None:
    found = count_table(large, CountAsked(4, 150, all_sizes=True), load_settings(**CUDA))
    assert (found.counts[3, 150], found.backend) == (LARGE, "cuda")


def test_butterflies_of_a_full_card_are_an_error(
    counting_gpu: HostCupy, large: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = count_table(large, CountAsked(2, 2), load_settings(**CUDA))
    assert (found.counts, found.method, found.backend) == ({(2, 2): 6 * 44_850}, "butterfly", "cuda")
    assert "count_path_ends" in counting_gpu.launches
    counting_gpu.launches.clear()
    monkeypatch.setenv(MEMORY_VARIABLE, "0")
    with pytest.raises(AskedBackendError, match="use the CPU backend"):
        count_table(large, CountAsked(2, 2), load_settings(**CUDA))
    assert "count_path_ends" not in counting_gpu.launches
