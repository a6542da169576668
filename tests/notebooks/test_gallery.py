"""The pictures of the gallery are drawn by the code that stands under them."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from tests.nightly import part_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "gallery.md"

spec = importlib.util.spec_from_file_location("gallery", ROOT / "docs" / "gallery.py")
assert spec is not None
assert spec.loader is not None
gallery = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gallery)


def drawn_by(block: str) -> str:
    (name,) = re.findall(r'"docs/(gallery/\w+\.png)"', block)
    return name


def test_every_picture_but_that_of_the_report_is_drawn_by_a_block():
    shown = re.findall(r"\]\((gallery/\w+\.png)\)", PAGE.read_text(encoding="utf-8"))
    assert shown == [*map(drawn_by, gallery.blocks()), "gallery/report.png"]
    assert all((PAGE.parent / name).stat().st_size > 5_000 for name in shown)


@pytest.mark.parametrize("number", part_of(range(len(gallery.blocks())), 99))
def test_a_block_draws_its_picture(number, tmp_path, monkeypatch):
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    (tmp_path / "docs" / "gallery").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    block = gallery.blocks()[number]
    page = tmp_path / "page.md"
    page.write_text(f"```python\n{block}```\n", encoding="utf-8")
    gallery.draw(page)
    plt.close("all")
    assert (tmp_path / "docs" / drawn_by(block)).stat().st_size > 5_000
