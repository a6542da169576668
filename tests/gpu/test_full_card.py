"""A card with next to no memory left: "auto" leaves every stage to the CPU and says so once, and
who asked for it is told."""

from __future__ import annotations

import numpy as np
import pytest

from bicliq.pipeline.errors import BackendError
from bicliq.pipeline.placement import fallback, where
from bicliq.pipeline.placement.device import cudf_and_cupy, why_no_data_on_device
from bicliq.pipeline.placement.where import place_data
from bicliq.pipeline.questions.clique import CliqueQuestion, answer
from bicliq.pipeline.questions.count import count_run, count_table
from bicliq.pipeline.questions.count_asked import CountAsked
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import IngestSettings, PlanSettings, SearchSettings, load_settings
from bicliq.pipeline.stages.in_memory import project_table
from bicliq.pipeline.stages.ingest import ingest
from bicliq.pipeline.stages.partition import read_partition, write_partitions
from bicliq.pipeline.stages.plan import plan
from bicliq.pipeline.stages.profile import profile, two_hop
from bicliq.pipeline.stages.search import enumerate_table
from bicliq.pipeline.store.layout import Store
from tests.gpu.records import without_times
from tests.real_graphs import DATA

REASON = why_no_data_on_device()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=REASON or "")]

MARVEL, COLUMNS = str(DATA / "marvel.parquet"), {"left": "u", "right": "v"}
INGEST = IngestSettings(**COLUMNS)


@pytest.fixture(params=[1 << 16, 1 << 20, 1 << 22], ids=["64 KiB", "1 MiB", "4 MiB"])
def full_card(request, monkeypatch):
    """A GPU that is worth its start for everything, and has so many bytes."""
    import rmm

    cudf_and_cupy()
    whole = rmm.mr.get_current_device_resource()
    rmm.mr.set_current_device_resource(rmm.mr.LimitingResourceAdaptor(whole, request.param))
    for name in ("AUTO_BYTES", "AUTO_PATHS", "AUTO_SECONDS", "AUTO_TIES"):
        monkeypatch.setattr(where, name, 0)
    yield
    rmm.mr.set_current_device_resource(whole)


def ingested(store, backend):
    return ingest(MARVEL, store, INGEST, backend=backend).graph


def stored(store):
    return ingest(MARVEL, store, INGEST).graph


def profiled(store, backend):
    return without_times(profile(store, stored(store), backend))


def two_hops(store, backend):
    return two_hop(store, stored(store), backend)


def planned(store, backend):
    return without_times(plan(store, stored(store), SearchSettings(min_left=2), PlanSettings(partitions=4), backend))


def partitioned(store, backend):
    record = plan(store, stored(store), SearchSettings(), PlanSettings(partitions=4))
    write_partitions(store, record.run, place=place_data(backend))
    return [read_partition(store.run(record.run), number).indices.tolist() for number in range(4)]


def settings_of(store, backend):
    asked = {"data_backend": backend, "search": {"backend": "cpu"}, "cluster": {"local": True}, "ingest": COLUMNS}
    return load_settings(store=store.uri.removeprefix("file://"), **asked)


STAGES = {
    "ingest": ingested,
    "profile": profiled,
    "two_hop": two_hops,
    "plan": planned,
    "partition": partitioned,
    "run": lambda store, backend: run(MARVEL, settings_of(store, backend)).digest,
    "enumerate": lambda store, backend: enumerate_table(MARVEL, settings_of(store, backend), "digest")["digest"],
    "count": lambda store, backend: count_table(MARVEL, CountAsked(3, 3), settings_of(store, backend)).counts,
    "count run": lambda store, backend: count_run(MARVEL, CountAsked(3, 3), settings_of(store, backend)).counts,
    "clique": lambda store, backend: answer(
        MARVEL, CliqueQuestion("left", 2), INGEST, backend="cpu", data_backend=backend
    )["size"],
}


@pytest.mark.usefixtures("full_card")
@pytest.mark.parametrize("stage", STAGES)
def test_auto_leaves_a_stage_to_the_cpu(tmp_path, stage, caplog):
    expected = STAGES[stage](Store.open(str(tmp_path / "cpu")), "cpu")
    assert STAGES[stage](Store.open(str(tmp_path / "auto")), "auto") == expected
    assert len([record for record in caplog.records if record.name == "bicliq"]) == (fallback.given_up() is not None)


@pytest.mark.parametrize("full_card", [1 << 16], indirect=True)
@pytest.mark.parametrize("stage", STAGES)
def test_who_asked_for_the_card_is_told(tmp_path, stage, full_card):
    with pytest.raises(BackendError, match="GPU"):
        STAGES[stage](Store.open(str(tmp_path)), "cuda")


@pytest.mark.usefixtures("full_card")
@pytest.mark.parametrize("full_card", [1 << 16], indirect=True)
def test_a_projection_is_the_cpus(caplog):
    found = project_table(MARVEL, "left", 1, INGEST, backend="auto")
    expected = project_table(MARVEL, "left", 1, INGEST)
    assert "the GPU is given up" in caplog.text
    assert np.array_equal(found.indptr, expected.indptr)
    assert np.array_equal(found.indices, expected.indices)
