"""Every notebook runs from its first cell to its last, and says how many groups there are."""

from __future__ import annotations

from pathlib import Path

import jupytext
import pytest
from nbclient import NotebookClient

from tests.nightly import part_of

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.py"))


def test_the_notebooks_are_numbered_one_after_the_other():
    assert [int(path.stem[:2]) for path in NOTEBOOKS] == list(range(1, len(NOTEBOOKS) + 1))


@pytest.mark.parametrize("path", part_of(NOTEBOOKS, 99), ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.setenv("BICLIQ_NOTEBOOK_STORE", str(tmp_path))
    notebook = jupytext.read(path)
    NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(path.parents[1])}}
    ).execute()
    printed = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert "maximal groups" in str(printed)
