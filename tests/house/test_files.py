"""Files and functions that fit a head, and prose that fits a screen."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.house.prose import too_wide
from tests.house.sources import ROOT, files, tree_of

FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef

MOST_LINES = 500
"""Lines of a source file; pages of docs/ may be longer."""

TABLES = {Path("pipeline/settings.py"), Path("pipeline/store/records.py")}
"""Every setting, and every record of a store: longer, for there is one list of each."""

MOST_LINES_OF_A_TABLE = 600

MOST_LINES_OF_A_FUNCTION = 60
"""Its docstring, which may have an example, not counted."""


def lines_of(path: Path) -> int:
    return (ROOT / path).read_text(encoding="utf-8").count("\n")


def most_lines(path: Path) -> int:
    return MOST_LINES_OF_A_TABLE if path in TABLES else MOST_LINES


def test_files_are_short():
    paths = files(".py", ".hpp", ".cpp", ".cu")
    long = [
        f"{path}: {lines_of(path)} lines, {most_lines(path)} at most; split it by ideas"
        for path in paths
        if lines_of(path) > most_lines(path)
    ]
    assert not long, "\n".join(long)
    short = [str(path) for path in TABLES if lines_of(path) <= MOST_LINES]
    assert not short, f"no longer an exception: {short}"


def test_functions_are_short():
    found = [(path, node) for path in files(".py") for node in ast.walk(tree_of(path)) if isinstance(node, FUNCTION)]
    assert len(found) > 1000
    long = [
        f"{path}:{node.lineno}: {node.name} has {n} lines, {MOST_LINES_OF_A_FUNCTION} at most; name a part of it"
        for path, node in found
        if (n := lines_of_function(node)) > MOST_LINES_OF_A_FUNCTION
    ]
    assert not long, "\n".join(long)


def lines_of_function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """From its first decorator to its end, without its docstring."""
    first = min(part.lineno for part in (node, *node.decorator_list))
    said = node.body[0] if ast.get_docstring(node) is not None else None
    return node.end_lineno - first + 1 - (0 if said is None else said.end_lineno - said.lineno + 1)


def test_prose_fits_in_100_columns():
    paths = files(".py", ".hpp", ".cpp", ".cu", ".md", ".toml", ".yaml", "")
    assert len(paths) > 10
    wide = [
        f"{path}:{number}: {columns} columns of prose; wrap at 100"
        for path in paths
        for number, columns in too_wide(path)
    ]
    assert not wide, "\n".join(wide)
