"""Nothing that was committed is lost, whatever is killed, stands still, or is full.

``BICLIQ_FAULTS=300`` (or ``make faults``) tries so many; in the ordinary suite one of each kind.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.campaign import COMMANDS, Fault, Stage, Undisturbed, faults, try_fault

SEED = int(os.environ.get("BICLIQ_FAULTS_SEED", "20261122"))
FAULTS = faults(SEED, int(os.environ.get("BICLIQ_FAULTS", "10")))


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    return Stage(tmp_path_factory.mktemp("faults"))


@pytest.fixture(scope="module")
def expected(stage: Stage) -> dict[str, Undisturbed]:
    answers = {command: stage.undisturbed(command) for command in COMMANDS}
    assert answers["run"].answer == answers["run on workers"].answer
    assert answers["run"].answer[0] > 10_000
    return answers


@contextmanager
def a_small_disk(folder: Path, size: int) -> Iterator[None]:
    """A disk of so many bytes at a folder, which grows when the context ends."""
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "bicliq", str(folder)], capture_output=True)
    if made.returncode:
        pytest.skip(f"a disk cannot be made here: {made.stderr.decode().strip()}")
    yield
    subprocess.run(["mount", "-o", "remount,size=1g", str(folder)], check=True)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.kind}-{fault.command}-{fault.share:.3f}")
def test_nothing_is_lost(fault: Fault, stage: Stage, expected: dict[str, Undisturbed], tmp_path: Path) -> None:
    whole = expected[fault.command]
    if fault.kind != "the disk is full":
        result = try_fault(stage, fault, whole, tmp_path / "store")
    else:
        disk = tmp_path / "disk"
        try:
            with a_small_disk(disk, max(4096 * 4, int(whole.bytes * fault.share))):
                force = ["--force"] * (fault.command == "run")  # or it is refused, since it will not fit
                process = stage.start(fault.command, disk / "store", *force)
                _, said = process.communicate(timeout=120)
                assert process.returncode in (0, 1, 2), said
                assert "Traceback" not in said, said
                assert process.returncode == 0 or "No space left" in said, said
            result = try_fault(stage, Fault("nothing", fault.command, 1.0), whole, disk / "store")
        finally:
            subprocess.run(["umount", str(disk)], check=False)
    assert result["committed"] > 0 or fault.command == "clique"
    shutil.rmtree(tmp_path / "store", ignore_errors=True)
