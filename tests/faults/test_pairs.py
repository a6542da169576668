"""Two commands at once on one store, each killed or not, on a disk and on an object store.

``BICLIQ_FAULTS=300`` tries so many; in the ordinary suite a few.
"""

from __future__ import annotations

import itertools
import os
import shutil
from pathlib import Path

import pytest

from tests.faults.conftest import BUCKET
from tests.faults.pairs import Shop, Trial, trials, try_both
from tests.nightly import part_of

pytest.importorskip("s3fs")
pytest.importorskip("moto.server")

SEED = int(os.environ.get("BICLIQ_FAULTS_SEED", "20261127"))
TRIALS = trials(SEED, int(os.environ.get("BICLIQ_FAULTS", "8")))
TRIED = [*range(len(TRIALS))] if "BICLIQ_FAULTS" in os.environ else part_of(range(len(TRIALS)), 3)
NUMBER = itertools.count()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    return Shop(tmp_path_factory.mktemp("pairs"))


@pytest.mark.parametrize("at", TRIED, ids=lambda at: f"{at}: {TRIALS[at]}")
def test_two_commands_at_once(at: int, shop: Shop, tmp_path: Path, opened: object) -> None:
    trial: Trial = TRIALS[at]
    uri = str(tmp_path / "store") if trial.on_disk else f"s3://{BUCKET}/pairs-{at}"
    try_both(shop, trial, uri)
    if trial.on_disk:
        shutil.rmtree(uri)
