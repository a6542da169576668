"""Concept lattices through the doors that people use: Python, the command line, files."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import bicliq
from bicliq.flows.cli import invoke
from tests.real_graphs import DATA

KNOWN = {
    "tealady": (65, 148),
    "digits": (48, 120),
    "lattice": (24, 39),
    "liveinwater": (19, 32),
    "gewaesser": (28, 62),
    "bob-ross": (3463, 12935),
}
WATER = {"duck": ["flies", "swims"], "owl": ["flies", "hunts"], "pike": ["swims", "hunts"], "hen": []}


def context(name):
    return DATA / "contexts" / f"{name}.cxt"


@pytest.mark.parametrize("name", KNOWN)
def test_lattices_that_others_have_counted(name):
    found: bicliq.Concepts = bicliq.concepts(context(name))
    assert (len(found), found.edges.num_rows) == KNOWN[name]
    assert (found.record["n_concepts"], found.record["n_covers"]) == KNOWN[name]


def test_bob_ross_has_so_many_stable_concepts():
    assert len(bicliq.concepts(context("bob-ross")).where(min_stability=10)) == 109


def cxt(folder, rows, attributes, crosses):
    path = folder / "context.cxt"
    lines = ["B", "", str(len(rows)), str(len(attributes)), "", *rows, *attributes, *crosses]
    path.write_text("\n".join(lines) + "\n")
    return path


def frame():
    table = pd.DataFrame({"swims": [1, 0, 0], "flies": [1, 1, 0], "sings": [0, 0, 0]}, index=["duck", "owl", "hen"])
    return table.astype(bool)


@pytest.mark.parametrize("form", ["cxt", "frame", "csv"])
def test_names_without_a_cross_stay(form, tmp_path):
    source = frame()
    if form == "cxt":
        source = cxt(tmp_path, ["duck", "owl", "hen"], ["swims", "flies", "sings"], ["XX.", ".X.", "..."])
    elif form == "csv":
        source = tmp_path / "context.csv"
        frame().astype(int).to_csv(source)
    found = bicliq.concepts(source, format="auto")
    rows = [(set(row["extent"]), set(row["intent"])) for row in found]
    hen = {None} if form == "csv" else {"hen"}
    assert rows == [
        ({"duck", "owl"} | hen, set()),
        ({"duck", "owl"}, {"flies"}),
        ({"duck"}, {"flies", "swims"}),
        (set(), {"flies", "swims", "sings"}),
    ]
    assert found.edges.to_pylist() == [{"lower": n + 1, "upper": n} for n in range(3)]
    nameless = [sentence for sentence in found.account["assumed"] if "no name" in sentence]
    assert len(nameless) == (form == "csv")


def test_filters_choose_among_them():
    found = bicliq.concepts(WATER)
    assert len(found) == 8
    above = found.where(objects=["duck"])
    assert [row["intent"] for row in above] == [[], ["flies"], ["swims"], ["flies", "swims"]]
    assert above.edges.num_rows == 4
    assert [row["concept"] for row in found.of("duck")] == above.numbers.tolist()
    assert [row["extent"] for row in found.where(attributes=["flies", "swims"])] == [["duck"], []]
    assert len(found.where(min_support=0.5)) == len(bicliq.concepts(WATER, min_support=0.5)) == 4
    assert found.lower(0) == [1, 2, 3]
    assert found.upper(len(found) - 1) == [4, 5, 6]
    assert found.top(1, by="support")["n_objects"].to_pylist() == [4]


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: bicliq.concepts(WATER, min_support=2), "above 1"),
        (lambda: bicliq.concepts(WATER, min_support=1), "may be all"),
        (lambda: bicliq.concepts(WATER, min_support=-0.5), "not a share"),
        (lambda: bicliq.concepts(WATER).where(objects=["cow"]), "no 'cow'"),
        (lambda: bicliq.concepts(WATER).where(attributes="flies"), "is a text"),
        (lambda: bicliq.concepts(WATER).of("cow"), "neither"),
        (lambda: bicliq.concepts({"a": ["a", "b"]}).of("a"), "both"),
        (lambda: bicliq.concepts(WATER).top(3, by="size"), "none of"),
        (lambda: bicliq.concepts(WATER).lower(8), "no concept 8"),
    ],
)
def test_wrong_questions_are_sentences(ask, said):
    with pytest.raises(bicliq.InputError, match=said):
        ask()


def test_a_time_limit_ends_a_lattice_that_is_too_large():
    chance = np.random.default_rng(5)
    with pytest.raises(bicliq.LimitReached, match="time limit"):
        bicliq.concepts(pd.DataFrame(chance.random((60, 60)) < 0.8), time_limit=0.3)


@pytest.mark.parametrize("kind", ["graphml", "json", "parquet"])
def test_files_hold_concepts_and_edges(kind, tmp_path):
    found = bicliq.concepts(context("tealady"))
    path = tmp_path / f"tea.{kind}"
    written = found.export(path)
    assert (written.concepts, written.covers) == (65, 148)
    edges = {(edge["lower"], edge["upper"]) for edge in found.edges.to_pylist()}
    rows = [*found]
    if kind == "graphml":
        graph = nx.read_graphml(path)
        assert {(int(low[1:]), int(up[1:])) for low, up in graph.edges} == edges
        told = [(json.loads(data["extent"]), data["stability"]) for _, data in graph.nodes(data=True)]
        assert told == [(row["extent"], row["stability"]) for row in rows]
    elif kind == "json":
        read = json.loads(path.read_text())
        assert read["concepts"] == rows
        assert {(edge["lower"], edge["upper"]) for edge in read["edges"]} == edges
    else:
        assert pq.read_table(path).to_pylist() == rows
        assert {(e["lower"], e["upper"]) for e in pq.read_table(written.edges_path).to_pylist()} == edges
    with pytest.raises(bicliq.InputError, match="there already"):
        found.export(path)


def test_dot_quotes_labels(tmp_path):
    bicliq.concepts({'du"ck': ["a\\b"]}).export(tmp_path / "c.dot")
    assert '0 [label="a\\\\b\\ndu\\"ck"];' in (tmp_path / "c.dot").read_text()


@pytest.mark.parametrize("name", KNOWN)
def test_a_context_is_written_as_it_was(name, tmp_path):
    found = bicliq.concepts(context(name))
    found.export(tmp_path / "again.cxt")
    again = bicliq.concepts(tmp_path / "again.cxt")
    assert again.to_arrow().equals(found.to_arrow())
    assert again.edges.equals(found.edges)


def test_a_context_keeps_who_has_nothing(tmp_path):
    table = frame()
    bicliq.concepts(table).export(tmp_path / "again.cxt")
    assert bicliq.concepts(tmp_path / "again.cxt").to_arrow().equals(bicliq.concepts(table).to_arrow())


def test_the_command_says_what_the_function_does(capsys, tmp_path):
    out = tmp_path / "tea.dot"
    assert invoke(["lattice", str(context("tealady")), "--json", "--top", "3", "--out", str(out)]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["n_concepts"], record["n_covers"], record["found"], record["covers"]) == (65, 148, 65, 148)
    found = bicliq.concepts(context("tealady"))
    best = found.top(3).to_pylist()
    assert record["concepts"] == [{**row, "generators": found.generators(row["concept"])} for row in best]
    assert record["out"]["concepts"] == 65
    assert out.read_text().startswith("digraph")
    assert invoke(["lattice", str(context("tealady")), "--out", str(out)]) == 2
    assert "there already" in capsys.readouterr().err
    assert invoke(["lattice", str(context("digits")), "--min-stability", "1"]) == 0
    assert "concepts of 10 objects and 7 attributes" in capsys.readouterr().out


def test_implications_have_labels_and_say_how_many():
    found: bicliq.Implications = bicliq.implications(context("lattice"))
    whole = bicliq.concepts(context("lattice"))
    holders = {frozenset(row["intent"]): row["n_objects"] for row in whole}
    for row in found:
        assert holders[frozenset(row["premise"] + row["conclusion"])] == row["count"]
    direct = bicliq.implications(whole.context, "direct")
    assert len(direct) >= len(found) == found.to_arrow().num_rows
    assert found.account["edges"] == whole.account["edges"]
    with pytest.raises(bicliq.InputError, match="none of"):
        bicliq.implications(WATER, "minimal")
    with pytest.raises(bicliq.LimitReached, match="time limit"):
        bicliq.implications(pd.DataFrame(np.random.default_rng(3).random((60, 60)) < 0.8), "direct", time_limit=0.2)
