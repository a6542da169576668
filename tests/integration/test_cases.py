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
        return [
            word for name, value in self.asked.items() for word in (f"--{name.replace('_', '-')}", str(value)) if word
        ]


MATRIX, BASKETS = {"format": "matrix"}, {"format": "baskets"}

ENUMERATED = (
    Case("c05-lad.lad", refused="LAD"),
    Case("c05-lad.lad", refused="LAD", asked={"format": "adjacency"}),
    Case("c07-matrix01.txt", refused="matrix"),
    Case("c07-matrix01.txt", refused="matrix", asked={"format": "adjacency"}),
    Case("c07-matrix01.txt", 7, asked=MATRIX),
    Case("c08-context.cxt", 4, groups=(("o1", "a1 a2"), ("o2", "a1 a3"), ("o1 o2", "a1"), ("o1 o3", "a2"))),
    Case("c09-xmarks.csv", refused="matrix"),
    Case("c09-xmarks.csv", 4, asked=MATRIX),
    Case("c17-otu.txt", 5, asked=MATRIX),
    Case("c19-ragged.csv", 9, asked=BASKETS),
    Case("c23-zeros.mtx", 2),
    Case("c26-baskets.txt", 6, asked=BASKETS),
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
        assert "--left name --right" not in said.err  # two columns of a matrix are no edge table
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
    with pytest.raises(bicliq.InputError, match=r"format = '(matrix|baskets)'"):
        runpy.run_path(str(CASES / name))


def test_two_columns_of_ones_are_a_matrix_where_that_is_said():
    ones = pd.DataFrame({"a": [1, 1], "b": [1, 1]})
    assert bicliq.count(ones, 2, 2, format="matrix") == 1
    with pytest.raises(bicliq.InputError, match="looks like a matrix"):
        bicliq.count(ones, 2, 2)


def test_a_series_of_lists_is_baskets_by_its_index(capsys):
    runpy.run_path(str(CASES / "c14-series.py"))
    assert capsys.readouterr().out.split() == ["2"]


def test_a_lad_file_is_one_graph_for_cliques():
    assert bicliq.clique(CASES / "c05-lad.lad").size == 2


def test_zeros_of_a_matrix_are_counted_and_no_edges():
    source = str(CASES / "c23-zeros.mtx")
    assert bicliq.count(source, 2, 2) == 0
    assert bicliq.clique(source).size == 2
    summary = read_edge_table(source).summary
    assert (summary["rows_read"], summary["dropped_by_value"], summary["edges"]) == (4, 1, 3)
