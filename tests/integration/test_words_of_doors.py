"""Messages name what their reader can give: parameters in Python, options at the command line."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
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


def test_what_the_command_line_advises_is_quoted_for_a_shell(tmp_path):
    (tmp_path / "t.csv").write_text("page,tags\np1,a;b\np2,b;c\n")
    line = f"{sys.executable} -m bicliq.flows.cli enumerate {tmp_path / 't.csv'} --count-only --json"
    said = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
    advised = re.search(r"take them apart with (--split \S+)", json.loads(said.stdout)["assumed"][1])
    apart = subprocess.run(f"{line} {advised[1]}", shell=True, capture_output=True, text=True, check=True)
    assert json.loads(apart.stdout)["edges"] == 4


@pytest.mark.parametrize("door", ["file", "frame"])
def test_no_message_takes_two_columns_of_an_abundance_table_for_edges(tmp_path, door):
    text = "# Constructed from biom file\n#OTU ID\ts1\ts2\ttaxonomy\no1\t0.0\t3.0\tk__A; p__B\no2\t2.0\t0.0\tk__C\n"
    (tmp_path / "otu.tsv").write_text(text)
    frame = pd.read_csv(tmp_path / "otu.tsv", sep="\t", skiprows=1)
    source = tmp_path / "otu.tsv" if door == "file" else frame
    with pytest.raises(InputError, match="looks like a matrix"):
        bicliq.enumerate(source)
    assert bicliq.count(source, 1, 1, format="matrix") == 2


def test_columns_that_are_not_said_are_named_as_the_reader_gives_them(tmp_path, capsys):
    frame = pd.DataFrame({"user id": ["ann"], "item": ["jam"], "shop": ["x"]})
    with pytest.raises(InputError, match=r"name them, as in left = 'user id', right = 'item'$"):
        bicliq.enumerate(frame)
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert invoke(["enumerate", str(tmp_path / "t.csv")]) == 2
    said = capsys.readouterr().err
    assert said.rstrip().endswith("name them, as in --left 'user id' --right item")
    assert invoke(["enumerate", str(tmp_path / "t.csv"), "--left", "user id", "--right", "item"]) == 0
