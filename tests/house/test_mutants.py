"""The hand-made faults of the mutation check are still faults of lines that are there."""

from __future__ import annotations

import pytest

from tests.house.sources import ROOT
from tests.mutants import MUTANTS


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: f"{mutant.file}: {mutant.line[:30]}")
def test_a_mutant_changes_one_line(mutant):
    assert (ROOT / mutant.file).read_text(encoding="utf-8").count(mutant.line) == 1
    assert all((ROOT / "tests" / name).exists() for name in mutant.tests.split())
