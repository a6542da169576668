"""Messages name what their reader can give: parameters in Python, options at the command line."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pandas as pd
import pytest

import bicliq
from bicliq.flows.cli import invoke
from bicliq.pipeline.errors import InputError

PIPELINE = Path(bicliq.pipeline.__file__).parent
OF_THE_COMMAND_LINE = ("extras.py", "lineage.py", "report")
"""What only the command line says: what an extra brings, and pages and colours."""


def sentences() -> list[tuple[str, str]]:
    """Texts of the pipeline that are no docstrings and no commands to type, with their files."""
    found = []
    for path in sorted(PIPELINE.rglob("*.py")):
        if path.relative_to(PIPELINE).parts[0] in OF_THE_COMMAND_LINE:
            continue
        tree = ast.parse(path.read_text())
        documents = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
                found.append((f"{path.name}:{node.lineno}", node.value))
    return found


def test_the_pipeline_names_no_options_but_in_commands_to_type():
    named = [(place, text) for place, text in sentences() if re.search(r"(?<![\w-])--[a-z]", text)]
    assert [(place, text) for place, text in named if not re.search("bicliq [a-z]+|^ --store $", text)] == []


def test_columns_that_are_not_said_are_named_as_the_reader_gives_them(tmp_path, capsys):
    frame = pd.DataFrame({"user id": ["ann"], "item": ["jam"], "shop": ["x"]})
    with pytest.raises(InputError, match=r"name them, as in left = 'user id', right = 'item'$"):
        bicliq.enumerate(frame)
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert invoke(["enumerate", str(tmp_path / "t.csv")]) == 2
    said = capsys.readouterr().err
    assert said.rstrip().endswith("name them, as in --left 'user id' --right item")
    assert invoke(["enumerate", str(tmp_path / "t.csv"), "--left", "user id", "--right", "item"]) == 0
