"""Small files that were read wrong: each gives what is right, or is refused in words.

`tests/data/cases/NAME.right` says what is right of each, and why.
"""

from __future__ import annotations

import json
import runpy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import bicliq
from bicliq.flows.cli import invoke
from bicliq.pipeline.stages.ingest import read_edge_table

CASES = Path(__file__).parents[1] / "data" / "cases"


@dataclass(frozen=True)
class Case:
    """A question about a file, and its answer."""

    name: str
    bicliques: int | None = None
    refused: str | None = None
    asked: dict[str, Any] = field(default_factory=dict)
    groups: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        said = ",".join(f"{name}={value}" for name, value in self.asked.items())
        return f"{self.name}:{said or 'auto'}"

    @property
    def options(self) -> list[str]:
        """What is asked, as options of the command line."""
        flags = {True: "--", False: "--no-"}
        return [
            word
            for name, value in self.asked.items()
            for word in ([f"{flags[value]}{name}"] if isinstance(value, bool) else [f"--{name}", str(value)])
        ]


MATRIX, BASKETS = {"format": "matrix"}, {"format": "baskets"}

ENUMERATED = (
    Case("c01-quoted-empty.csv", refused="line 2, column link"),
    Case("c01-quoted-empty.csv", 1, asked={"nulls": "drop"}),
    Case("c02-headerless.dat", 2, asked={"header": False}),
    Case("c04-numbered.csv", 2, asked={"left": "1", "right": "0"}),
    Case("c05-lad.lad", refused="LAD"),
    Case("c05-lad.lad", refused="LAD", asked={"format": "adjacency"}),
    Case("c07-matrix01.txt", refused="matrix"),
    Case("c07-matrix01.txt", refused="matrix", asked={"format": "adjacency"}),
    Case("c07-matrix01.txt", 7, asked=MATRIX),
    Case("c08-context.cxt", 4, groups=(("o1", "a1 a2"), ("o2", "a1 a3"), ("o1 o2", "a1"), ("o1 o3", "a2"))),
    Case("c09-xmarks.csv", refused="matrix"),
    Case("c09-xmarks.csv", 4, asked=MATRIX),
    Case("c15-sep.csv", 2),
    Case("c17-otu.txt", 5, asked=MATRIX),
    Case("c19-ragged.csv", 9, asked=BASKETS),
    Case("c21-listcells.csv", 2, asked={"split": ","}),
    Case("c23-zeros.mtx", 2),
    Case("c26-baskets.txt", 6, asked=BASKETS),
    Case("c28-annot.gaf", 1, asked={"comment": "!", "left": "1", "right": "4"}, groups=(("P1 P2", "G:1"),)),
)


def sets_of(groups: bicliq.Bicliques) -> set[tuple[frozenset[str], frozenset[str]]]:
    rows = groups.to_arrow().select(["left", "right"]).to_pylist()
    return {(frozenset(map(str, row["left"])), frozenset(map(str, row["right"]))) for row in rows}


@pytest.mark.parametrize("case", ENUMERATED, ids=str)
def test_a_file_gives_what_is_right_or_is_refused_at_the_command_line(case, capsys):
    code = invoke(["enumerate", str(CASES / case.name), *case.options, "--json"])
    said = capsys.readouterr()
    if case.refused is not None:
        assert code == 2
        assert case.refused in said.err
        for advice in ("--left name --right", "name the columns"):  # two columns of a matrix are no edge table
            assert advice not in said.err
    else:
        assert code == 0, said.err
        assert json.loads(said.out)["bicliques"] == case.bicliques


@pytest.mark.parametrize("case", ENUMERATED, ids=str)
def test_a_file_gives_what_is_right_or_is_refused_in_python(case):
    if case.refused is not None:
        with pytest.raises(bicliq.InputError, match=case.refused):
            bicliq.enumerate(CASES / case.name, **case.asked)
        return
    groups = bicliq.enumerate(CASES / case.name, **case.asked)
    assert len(groups) == case.bicliques
    if case.groups:
        assert sets_of(groups) == {(frozenset(left.split()), frozenset(right.split())) for left, right in case.groups}


@pytest.mark.parametrize("name", ["c11-onehot-two.py", "c12-edges-as-lists.py"])
def test_tables_that_may_mean_two_things_are_refused(name):
    with pytest.raises(bicliq.InputError, match=r"format = '(matrix|baskets)'(?!.*name the columns)"):
        runpy.run_path(str(CASES / name))


def test_two_columns_of_ones_are_a_matrix_where_that_is_said():
    ones = pd.DataFrame({"a": [1, 1], "b": [1, 1]})
    assert bicliq.count(ones, 2, 2, format="matrix") == 1
    with pytest.raises(bicliq.InputError, match="looks like a matrix"):
        bicliq.count(ones, 2, 2)


def test_a_series_of_lists_is_baskets_by_its_index(capsys):
    runpy.run_path(str(CASES / "c14-series.py"))
    assert capsys.readouterr().out.split() == ["2"]


@pytest.mark.parametrize("name", ["c18-spaces.csv", "c29-pairs.txt", "c31-repeated.csv"])
def test_a_triangle_is_a_clique_of_three(name, capsys):
    assert bicliq.clique(CASES / name).size == 3
    assert invoke(["clique", str(CASES / name), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["size"], found["repeated"], found["self_loops"]) == (
        3,
        *((2, 2) if name.startswith("c31") else (0, 0)),
    )


def test_a_lad_file_is_one_graph_for_cliques():
    assert bicliq.clique(CASES / "c05-lad.lad").size == 2


def test_zeros_of_a_matrix_are_counted_and_no_edges():
    source = str(CASES / "c23-zeros.mtx")
    assert bicliq.count(source, 2, 2) == 0
    assert bicliq.clique(source).size == 2
    summary = read_edge_table(source).summary
    assert (summary.rows_read, summary.dropped_by_value, summary.edges) == (4, 1, 3)


def test_a_clique_tells_the_entries_of_a_matrix_that_are_no_edges(tmp_path, capsys):
    head = "%%MatrixMarket matrix coordinate real general"
    (tmp_path / "m.mtx").write_text(f"{head}\n3 3 5\n1 2 1\n2 3 1\n1 3 0\n3 1 nan\n2 1 0.5\n")
    assert invoke(["clique", str(tmp_path / "m.mtx")]) == 2
    assert "line 6: 'nan' is no value; write 0, or drop such rows with --nulls drop" in capsys.readouterr().err
    assert invoke(["clique", str(tmp_path / "m.mtx"), "--nulls", "drop", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["size"], found["rows_read"], found["edges"]) == (2, 5, 2)
    assert found["dropped"] == {"by_value": 1, "nulls": 1}
