"""Every room says what it is for: what comes in, and what goes out."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.house.sources import CODE, ROOT, files, tree_of

TABLE = Path("kernels/src/README.md")
"""Where the rooms of C++ below it are told, a row each."""

SCRIPTS = {Path("tests/data/cases"), Path("docs"), Path("notebooks")}
"""Files that no module imports: each is read by itself."""

ROOMS = sorted({path.parent for path in files(*CODE) if path.parent.parts} - SCRIPTS)
MOST_LINES = 25


def said_of(room: Path) -> str:
    """The docstring of a package but for its examples; of a room of C++ its README, or its row."""
    if (ROOT / room / "__init__.py").exists():
        return (ast.get_docstring(tree_of(room / "__init__.py")) or "").split("\nExamples\n")[0]
    if (ROOT / room / "README.md").exists():
        return (ROOT / room / "README.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split(" | ") for line in (ROOT / TABLE).read_text(encoding="utf-8").split("\n")]
    told = {row[0].strip(" `"): row[1:] for row in rows if len(row) == 4}
    what, taken, given = told.get(room.as_posix().removeprefix("kernels/src/"), ("", "", ""))
    return what and f"{what}\nIn: {taken}\nOut: {given}"


@pytest.mark.parametrize("room", ROOMS, ids=str)
def test_a_room_says_what_comes_in_and_what_goes_out(room):
    said = said_of(room)
    assert said, f"{room}: say in a few lines what it is for: `__init__.py`, README.md, or a row in {TABLE}"
    assert "In:" in said.split(), f"{room}: say what comes in, In: …"
    assert "Out:" in said.split(), f"{room}: say what goes out, Out: …"
    assert said.count("\n") < MOST_LINES, f"{room}: {MOST_LINES} lines at most"
