"""Files that fit a head, and prose that fits a screen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.prose import too_wide
from tests.house.sources import ROOT, files

MOST_LINES = 600
"""Lines of a source file; pages of docs/ may be longer."""

STILL_TO_SPLIT: set[Path] = set()
"""Files that are longer. Only ever fewer."""

WRAPPED = [
    "docs", "notebooks", "flows", "prefect.yaml", "tests/house", "README.md", "CHANGELOG.md",
    "pipeline/placement", "pipeline/bench", "pipeline/graphs", "pipeline/questions", "pipeline/run.py",
    "pipeline/errors.py", "pipeline/settings.py",
]  # fmt: skip
"""Where prose must fit: rooms and files, or ["all"]."""


def lines_of(path: Path) -> int:
    return (ROOT / path).read_text(encoding="utf-8").count("\n")


def is_wrapped(path: Path) -> bool:
    return WRAPPED == ["all"] or any(path == Path(room) or Path(room) in path.parents for room in WRAPPED)


def test_files_are_short():
    long = {path: lines_of(path) for path in files(".py", ".hpp", ".cpp", ".cu") if lines_of(path) > MOST_LINES}
    said = [f"{path}: {n} lines, {MOST_LINES} at most; split it by ideas" for path, n in long.items()]
    assert not set(long) - STILL_TO_SPLIT, "\n".join(said)
    assert not STILL_TO_SPLIT - set(long), f"short by now, take them off STILL_TO_SPLIT: {STILL_TO_SPLIT - set(long)}"


def test_prose_fits_in_100_columns():
    paths = [path for path in files(".py", ".hpp", ".cpp", ".cu", ".md", ".toml", ".yaml", "") if is_wrapped(path)]
    assert len(paths) > 10
    wide = [
        f"{path}:{number}: {columns} columns of prose; wrap at 100"
        for path in paths
        for number, columns in too_wide(path)
    ]
    assert not wide, "\n".join(wide)


@pytest.mark.parametrize("room", WRAPPED)
def test_the_rooms_whose_prose_is_wrapped_exist(room):
    assert room == "all" or (ROOT / room).exists(), f"take {room} off WRAPPED"
