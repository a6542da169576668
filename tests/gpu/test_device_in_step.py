"""Groups in step whose rows a GPU reads and sorts, against the CPU: the tables of
`tests/integration/test_in_step_on_a_card.py`, as files and in small chunks."""

from __future__ import annotations

import numpy as np
import pytest

import bicliq
from benchmarks.shares import measure, write_shares
from bicliq.flows.cli.app import invoke
from bicliq.pipeline.graphs import actions as actions_module
from bicliq.pipeline.placement.device import why_no_data_on_device
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages import device_ingest, device_reading
from bicliq.pipeline.stages.ingest import read_edge_table
from tests.integration.test_in_step_on_a_card import NUMBERS, READ, assert_same, stored, timed_table

REASON = why_no_data_on_device()
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(REASON is not None, reason=REASON or "")]

ON_THE_CARD = {"read": "cuda", "sorted": "cuda", "searched": "cpu"}


@pytest.mark.parametrize("small", [False, True])
def test_groups_of_random_tables_are_those_of_the_cpu(tmp_path, monkeypatch, small):
    if small:  # chunks of files, of what is kept, and of pairs
        monkeypatch.setattr(device_reading, "TEXT_CHUNK", 500)
        monkeypatch.setattr(device_reading, "PARQUET_CHUNK", 1)
        monkeypatch.setattr(device_ingest, "free_bytes", lambda: 20_000)
        monkeypatch.setattr(actions_module, "AT_ONCE", 50)
        monkeypatch.setattr(actions_module.blocks_of, "__defaults__", (50,))
    for number in range(NUMBERS):
        path, asked = timed_table(tmp_path, number)
        policies = IngestSettings(**{name: asked[name] for name in READ})
        expected, found = (read_edge_table(path, policies, backend=on, in_step=True) for on in ("cpu", "cuda"))
        assert found.summary.backend == "cuda"
        for column, values in expected.rows.columns().items():
            assert np.array_equal(found.rows.columns()[column], values), (path, column)
        assert_same(path, asked, "cuda", ON_THE_CARD)


def test_runs_and_versions_are_those_of_the_cpu(tmp_path):
    for number in range(10):
        path, more = (timed_table(tmp_path, number + of)[0] for of in (0, 30))  # written alike
        asked = ["--left", "account", "--right", "link", "--time", "at", "--data-backend"]
        found = []
        for backend in ("cpu", "cuda"):
            store = str(tmp_path / f"{backend}-{number}")
            assert invoke(["run", path, "--in-step", "10s", "--store", store, *asked, backend]) == 0
            first = bicliq.open(store)
            assert invoke(["update", more, "--store", store, *asked, backend]) == 0
            second = bicliq.open(store)
            found.append([stored(run) for run in (first, second)])
        assert found[0] == found[1]


def test_rings_among_shares_are_found_on_the_card(tmp_path):
    write_shares(path := tmp_path / "shares.parquet", 200_000)
    measured = measure(path, "cuda")
    assert (measured["rings"], measured["found"], measured["in_step"]["machines"]) == (20, 20, ON_THE_CARD)
    for by in ("edges", "surprise"):
        asked = {"left": "account", "right": "link", "time": "at", "in_step": "60s", "by": by}
        assert_same(str(path), {**asked, "min_left": 3, "min_right": 3}, "cuda", ON_THE_CARD)
