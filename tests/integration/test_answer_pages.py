"""The pages of counts, cliques and finds say what the answer says; every flow leaves one."""

from __future__ import annotations

import json
import re
from math import comb
from pathlib import Path

import fsspec
import pytest

from bicliq.flows.cli import invoke
from bicliq.pipeline.questions.clique import CliqueQuestion, answer
from bicliq.pipeline.questions.find import FindAsked, find_in_table
from bicliq.pipeline.report.answers import clique_page
from bicliq.pipeline.settings import load_settings
from tests.integration.chromium import browser, needs_chromium
from tests.integration.server import artifacts
from tests.integration.test_report import NASTY, Elements
from tests.real_graphs import DATA

EDGES = str(DATA / "southern-women.parquet")
LABELS = [label for label in NASTY if "\n" not in label]


@pytest.fixture(scope="module")
def nasty(tmp_path_factory) -> str:
    """A table whose labels are markup: a block of them all, and a tail."""
    path = tmp_path_factory.mktemp("nasty") / "nasty.csv"
    quoted = ['"' + label.replace('"', '""') + '"' for label in LABELS]
    rows = [f"{left},{right}" for left in quoted for right in [*quoted, "tail"]] + ["alone,tail", "alone,end"]
    path.write_text("\n".join(["who,what", *rows]) + "\n")
    return str(path)


def found_in(path: str, tmp_path: Path, **asked) -> tuple[dict, str]:
    record = find_in_table(path, FindAsked(**asked), load_settings(), tmp_path / "found.html")
    return record, (tmp_path / "found.html").read_text()


def test_a_find_page_lists_and_draws_what_was_found(tmp_path):
    record, text = found_in(EDGES, tmp_path, top=12, by="vertices")
    rows = json.loads(Elements(text).scripts[0])
    assert [(row["value"], row["n_left"], row["n_right"]) for row in rows] == [
        (group["value"], group["n_left"], group["n_right"]) for group in record["groups"]
    ]
    assert [row["left"] for row in rows] == [list(map(str, group["left"])) for group in record["groups"]]
    assert "12 best groups by vertices in southern-women.parquet" in text
    assert text.count("<h3>Group ") == 9
    assert "rows read" in text


def test_no_label_of_an_answer_becomes_markup(tmp_path, nasty):
    _, text = found_in(nasty, tmp_path, top=3, by="edges")
    clique = clique_page(answer(nasty, CliqueQuestion(project="left", min_shared=len(LABELS)), load_settings().ingest))
    for page in (text, clique):
        tags = [tag for tag, _ in Elements(page).found]
        assert "img" not in tags
        assert tags.count("script") == (2 if page is text else 0)
    assert "&lt;script&gt;" in clique


def test_an_answer_that_is_not_proven_says_so(tmp_path):
    record, text = found_in(EDGES, tmp_path, top=2, by="edges", diverse=True)
    assert f"{record['groups'][-1]['share']:.1%}" in text
    assert "before it was proven" not in text
    cut = {"source": "x", "question": {"project": None, "min_shared": 1, "all": False}, "seconds": {"search": 1.0}}
    figures = {"size": 2, "n_cliques": 1, "n_vertices": 3, "n_edges": 2, "degeneracy": 1, "nodes": 9, "self_loops": 0}
    rest = {"repeated": 0, "members": ["a", "b"], "proven": False, "backend": "cpu", "threads": 1}
    assert "before it was proven" in clique_page({**cut, **figures, **rest})


def test_a_table_without_such_groups_has_a_page_too(tmp_path):
    record, text = found_in(EDGES, tmp_path, top=3, by="edges", max_left=1, max_right=1)
    assert not record["groups"]
    assert "There is no group of these sizes" in text
    assert "<h1>No group by edges in southern-women.parquet</h1>" in text
    assert not Elements(text).scripts  # and no table to fill
    _, text = found_in(EDGES, tmp_path, top=3, by="surprise", max_left=1)
    assert "No group: nothing is beyond what chance gives" in text


def test_a_page_beside_random_tables_has_their_p(tmp_path):
    record, text = found_in(EDGES, tmp_path, top=3, by="edges", null=9)
    rows = json.loads(Elements(text).scripts[0])
    assert [row["p"] for row in rows] == [group["p"] for group in record["groups"]]
    assert 'data-key="p"' in text
    assert "p: the share of 9 random tables of the same degrees" in text
    _, text = found_in(EDGES, tmp_path, top=3, by="edges")
    assert 'data-key="p"' not in text


def test_the_report_of_a_count_shows_each_of_its_counts(tmp_path, capsys):
    table, store = tmp_path / "block.csv", str(tmp_path / "store")
    table.write_text("u,v\n" + "".join(f"u{i},v{j}\n" for i in range(6) for j in range(5)))
    assert invoke(["count", str(table), "--all", "--max-p", "4", "--max-q", "3", "--store", store]) == 0
    capsys.readouterr()
    (run,) = (path.name for path in Path(store, "runs").iterdir())
    assert invoke(["report", run, "--store", store, "--json"]) == 0
    text = fsspec.open(json.loads(capsys.readouterr().out)["report"], "rt").open().read()
    shown = re.findall(r"<tr><td class='n'>(\d+)</td><td class='n'>(\d+)</td><td class='n'>([\d,]+)</td></tr>", text)
    counts = {(int(p), int(q)): int(count.replace(",", "")) for p, q, count in shown}
    assert counts == {(p, q): comb(6, p) * comb(5, q) for p in range(1, 5) for q in range(1, 4)}
    assert "12 counts in block.csv" in text
    Path(store, "runs", run, "counts.json").unlink()
    assert invoke(["report", run, "--store", store]) == 2
    assert "count" in capsys.readouterr().err


def test_every_flow_leaves_a_page(tmp_path, prefect_server):
    from bicliq.flows.clique import clique
    from bicliq.flows.count import count_flow
    from bicliq.flows.enumerate import enumerate_graph
    from bicliq.flows.etl import etl
    from bicliq.flows.find import find
    from bicliq.flows.ingest import ingest

    settings = {"store": str(tmp_path / "store"), "cluster": {"local": True}}
    before = set(artifacts(prefect_server))
    etl(EDGES, settings)
    graph = ingest(EDGES, settings)["graph"]
    enumerate_graph(graph, {**settings, "search": {"min_left": 2}})
    count_flow(EDGES, {"p": 3, "q": 3}, settings)
    clique(EDGES, {"project": "left", "min_shared": 2}, settings)
    find(EDGES, {"top": 3, "by": "surprise"}, settings)
    find(EDGES, {"top": 3, "by": "surprise"}, settings)  # the same question: the same page
    swapped = {**settings, "ingest": {"left": "v", "right": "u"}}
    find(EDGES, {"top": 3, "by": "surprise"}, swapped)  # another: read the other way round
    left = artifacts(prefect_server)
    pages = {key: left[key]["data"] for key in set(left) - before if key.startswith("report-")}
    assert len(pages) == 6
    assert len(list((tmp_path / "store" / "reports").iterdir())) == 6
    for said in pages.values():
        (place,) = re.findall(r"to send on: `([^`]+)`", said)
        assert fsspec.open(place, "rt").open().read().startswith("<!doctype html>")
    assert invoke(["verify", "--store", settings["store"]]) == 0


@needs_chromium
def test_a_browser_fills_and_sorts_the_groups_of_an_answer(tmp_path, nasty):
    found_in(nasty, tmp_path, top=5, by="vertices")
    with browser(tmp_path / "home", 1280) as tab:
        tab.open(f"file://{tmp_path / 'found.html'}")
        tab.wait_for("All of them", "The search looked at")
        first = "[...document.querySelectorAll('#groups tbody tr')].map(row => +row.cells[0].textContent)"
        values = tab.value(first)
        assert values
        assert values == sorted(values, reverse=True)
        tab.value("document.querySelector('#groups th[data-key=value] button').click()")
        assert tab.value(first) == sorted(values)
        assert tab.value("document.documentElement.scrollWidth") <= 1280
