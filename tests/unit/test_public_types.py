"""What the library returns is of the types that it shows."""

from __future__ import annotations

import sys

import pytest

from bicliq import kernels
from bicliq.flows.cli import main
from bicliq.pipeline.errors import DamageError
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import Settings
from bicliq.pipeline.stages.search_run import SearchRecord, search_run
from bicliq.pipeline.stages.verify import StoreVerification, Verification, verify, verify_store
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.records import Manifest
from bicliq.pipeline.store.results import Run, open_run
from bicliq.pipeline.store.states import RunState

SQUARE = ([0, 2, 4], [0, 1, 0, 1], 2)


def test_kernels_return_the_records_that_they_name():
    assert isinstance(kernels.enumerate_maximal_bicliques(*SQUARE), kernels.EnumerationResult)
    assert isinstance(kernels.count_bicliques(*SQUARE, 2, 2), kernels.CountResult)
    assert isinstance(kernels.count_all_bicliques(*SQUARE, 2, 2), kernels.CountTable)
    assert isinstance(kernels.maximum_clique([0, 1, 2], [1, 0]), kernels.CliqueResult)
    with kernels.stream_maximal_bicliques(*SQUARE) as stream:
        assert isinstance(stream, kernels.BicliqueStream)
        assert all(isinstance(batch, kernels.BicliqueBatch) for batch in stream)


def test_sizes_of_a_table_are_checked_before_it_is_made():
    assert kernels.check_table(12, 12) == (12, 12)
    with pytest.raises(kernels.CapacityError, match=r"up to p=2000, q=2000 would have 4,000,000 cells"):
        kernels.check_table(2000, 2000)


def test_a_backend_is_a_name_and_threads_are_cores():
    assert kernels.Backend("cpu") is kernels.Backend.CPU
    assert kernels.number_of_threads(0) == kernels.available_threads() >= 1


def test_a_run_and_what_it_leaves_are_of_the_types_that_they_name(tmp_path):
    (tmp_path / "shop.csv").write_text("user,item\nann,tea\nbob,tea\n")
    settings = Settings(store=str(tmp_path / "store"))
    summary = run(str(tmp_path / "shop.csv"), settings)
    shop = open_run(settings.store, summary.run)
    assert isinstance(shop, Run)
    assert isinstance(shop.store, Store)
    assert isinstance(shop.manifest, Manifest)
    assert isinstance(shop.state, RunState)
    assert isinstance(verify(shop.store, shop.run), Verification)
    assert isinstance(verify_store(shop.store), StoreVerification)
    assert isinstance(search_run(shop.store, shop.run), SearchRecord)
    shop.folder.remove("manifest.json", "plan.json")
    with pytest.raises(DamageError):
        open_run(settings.store, summary.run)


def test_the_command_is_the_main_of_the_command_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["bicliq", "--help"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert "Usage" in capsys.readouterr().out
