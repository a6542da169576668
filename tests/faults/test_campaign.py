"""Nothing that was committed is lost, whatever is killed, stands still, jumps, or is full.

``BICLIQ_FAULTS=300`` (or ``make faults``) tries so many; in the ordinary suite one of some kinds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.faults.campaign import Fault, Stage, a_small_disk, faults, files_before, try_fault
from tests.nightly import NIGHTLY

SEED = int(os.environ.get("BICLIQ_FAULTS_SEED", "20261122"))
FAULTS = faults(SEED, int(os.environ.get("BICLIQ_FAULTS", "7")))
TRIED = [one for one in FAULTS if NIGHTLY or "BICLIQ_FAULTS" in os.environ or one.command != "run on workers"]
ROOM = 64 << 10
"""Bytes of the smallest disk: a store that holds nothing but its own record."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    folder = tmp_path_factory.mktemp("faults")
    library, source = folder / "broken.so", Path(__file__).with_name("broken.c")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is not None:
        subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    return Stage(folder, None if compiler is None else library)


def disk_for(fault: Fault, stage: Stage) -> int:
    """Bytes of a disk that fills up at the moment of the fault."""
    whole = stage.undisturbed(fault.command)
    before = 0 if whole.before is None else sum(4096 + path.stat().st_size for path in whole.before.rglob("*"))
    new = whole.bytes + 4096 * (whole.files - files_before(whole))
    return before + ROOM + int(fault.share * max(new - before, 0))


@pytest.mark.parametrize("fault", TRIED, ids=lambda fault: f"{fault.kind}-{fault.command}-{fault.share:.3f}")
def test_nothing_is_lost(fault: Fault, stage: Stage, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if fault.command == "flow":
        stage.table.variables["PREFECT_API_URL"] = request.getfixturevalue("prefect_server")
    if fault.kind == "the disk is full":
        with a_small_disk(tmp_path / "disk", disk_for(fault, stage)):
            result = try_fault(stage, fault, tmp_path / "disk" / "store")
    else:
        result = try_fault(stage, fault, tmp_path / "store")
        shutil.rmtree(tmp_path / "store", ignore_errors=True)
    assert result["committed"] > 0 or fault.command == "clique"
