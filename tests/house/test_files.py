"""Files that fit a head, and prose that fits a screen."""

from __future__ import annotations

from pathlib import Path

from tests.house.prose import too_wide
from tests.house.sources import ROOT, files

MOST_LINES = 600
"""Lines of a source file; pages of docs/ may be longer."""


def lines_of(path: Path) -> int:
    return (ROOT / path).read_text(encoding="utf-8").count("\n")


def test_files_are_short():
    long = {path: lines_of(path) for path in files(".py", ".hpp", ".cpp", ".cu") if lines_of(path) > MOST_LINES}
    said = [f"{path}: {n} lines, {MOST_LINES} at most; split it by ideas" for path, n in long.items()]
    assert not long, "\n".join(said)


def test_prose_fits_in_100_columns():
    paths = files(".py", ".hpp", ".cpp", ".cu", ".md", ".toml", ".yaml", "")
    assert len(paths) > 10
    wide = [
        f"{path}:{number}: {columns} columns of prose; wrap at 100"
        for path in paths
        for number, columns in too_wide(path)
    ]
    assert not wide, "\n".join(wide)
