"""Concept lattices through the doors that people use: Python, the command line, files."""

from __future__ import annotations

import json
import math
import re
import signal
import time
from itertools import pairwise
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import pandas as pd
import psutil
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import bicliq
from bicliq.flows.cli import invoke
from bicliq.pipeline.results import concepts
from tests.forked import command
from tests.integration.chromium import browser, needs_chromium
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


def test_empty_lists_are_objects_by_their_keys_and_null_ones_are_counted():
    for shop, name in (({"x": ["jam"], "y": []}, "y"), ([["jam"], []], 1)):
        assert name in bicliq.concepts(shop).to_pandas()["extent"][0]
    found = bicliq.concepts(pd.DataFrame({"basket": ["x", "y"], "items": [["jam"], None]}))
    assert list(found.to_pandas()["extent"][0]) == ["x", None]


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
        (lambda: bicliq.concepts(WATER).where(attributes="flies"), "is not a list"),
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
    assert record["concepts"] == [{**row, "upper": found.upper(row["concept"])} for row in best]
    assert record["out"]["concepts"] == 65
    assert out.read_text().startswith("digraph")
    assert invoke(["lattice", str(context("tealady")), "--out", str(out)]) == 2
    assert "there already" in capsys.readouterr().err
    assert invoke(["lattice", str(context("digits")), "--min-stability", "1"]) == 0
    assert "concepts of 10 objects and 7 attributes" in capsys.readouterr().out


def test_the_command_shows_generators_where_they_are_asked_for(capsys):
    asked = ["lattice", str(context("digits")), "--top", "3", "--generators"]
    assert invoke([*asked, "--json"]) == 0
    found = bicliq.concepts(context("digits"))
    rows = json.loads(capsys.readouterr().out)["concepts"]
    assert [row["generators"] for row in rows] == [found.generators(row["concept"]) for row in rows]
    assert invoke(asked) == 0
    assert "{" + str(rows[0]["generators"][0][0]) in capsys.readouterr().out


def too_many_generators(folder):
    """Ten objects that lack 40 attributes each, and one that has all: 40 to the power of 10."""
    table = np.ones((11, 400), bool)
    for g in range(10):
        table[g, 40 * g : 40 * g + 40] = False
    path = folder / "many.csv"
    pd.DataFrame(table.astype(int), [f"g{g}" for g in range(11)], [f"m{m}" for m in range(400)]).to_csv(path)
    return path


def test_a_time_limit_ends_generators(capsys, tmp_path):
    path = too_many_generators(tmp_path)
    found = bicliq.concepts(path)
    with pytest.raises(bicliq.LimitReached, match="generators"):
        found.generators(len(found) - 1, time_limit=0.2)
    assert invoke(["lattice", str(path), "--generators", "--top", "1024", "--time-limit", "2"]) == 3
    assert "generators; raise --time-limit" in capsys.readouterr().err


@pytest.mark.parametrize("basis", ["canonical", "direct"])
def test_the_command_tells_implications(basis, capsys, tmp_path):
    out = tmp_path / "implications.csv"
    asked = ["lattice", str(context("lattice")), "--implications", basis]
    assert invoke([*asked, "--json", "--top", "1000", "--out", str(out)]) == 0
    record = json.loads(capsys.readouterr().out)
    found = bicliq.implications(context("lattice"), basis)
    rows = [*found]
    assert record["found"] == record["n_implications"] == len(rows) == record["out"]["rows"]
    assert record["implications"] == sorted(rows, key=lambda row: -row["count"]) == found.top(1000).to_pylist()
    written = pd.read_csv(out)
    assert written["count"].tolist() == [row["count"] for row in rows]
    assert written["conclusion"].tolist() == [", ".join(row["conclusion"]) for row in rows]
    assert invoke([*asked, "--top", "2"]) == 0
    said = capsys.readouterr().out
    assert f"{len(rows)} implications, the {basis} basis of" in said
    assert f"the best 2 of {len(rows)}" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--min-support", "0.1"], "--min-support is for concepts"),
        (["--of", "duck"], "--of is for concepts"),
        (["--by", "support"], "--by is for concepts"),
        (["--generators"], "--generators is for concepts"),
        (["--out", "x.dot"], "which format?"),
        (["--overwrite"], "--overwrite is for the file of --out"),
    ],
)
def test_implications_refuse_what_is_for_concepts(options, said, capsys):
    assert invoke(["lattice", str(context("digits")), "--implications", "direct", *options]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("of", [[], ["--implications", "canonical"], ["--implications", "direct"]])
def test_long_work_on_a_lattice_ends_when_it_is_told_to(of, capsys, tmp_path):
    path = tmp_path / "chance.csv"
    pd.DataFrame((np.random.default_rng(5).random((60, 60)) < 0.8).astype(int)).to_csv(path)
    assert invoke(["lattice", str(path), *of, "--time-limit", "0.3"]) == 3
    assert "--time-limit" in capsys.readouterr().err
    running = command("lattice", str(path), *of)
    while psutil.Process(running.pid).cpu_times().user < 0.7:  # longer than its start takes
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(60)  # it would take hours
    assert (running.returncode, out) == (130, "")
    assert "interrupted" in err


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


def drawn(found):
    """Dots of a diagram by their places, with the numbers in their titles; lines, and labels."""
    picture = ElementTree.fromstring(found.diagram())
    name = "{http://www.w3.org/2000/svg}"
    dots = {
        (float(dot.get("cx")), float(dot.get("cy"))): int(re.match(r"concept (\d+);", dot[0].text)[1])
        for dot in picture.iter(f"{name}circle")
    }
    lines = [
        [tuple(map(float, place.split(","))) for place in line.get("points").split()]
        for line in picture.iter(f"{name}polyline")
    ]
    texts = [(float(text.get("x")), float(text.get("y")), text.text) for text in picture.iter(f"{name}text")]
    return dots, lines, texts


def far_from(dot, start, end):
    """Pixels between a dot and a part of a line."""
    (x, y), (a, b), (c, d) = dot, start, end
    along = ((x - a) * (c - a) + (y - b) * (d - b)) / max((c - a) ** 2 + (d - b) ** 2, 1e-9)
    along = min(max(along, 0), 1)
    return math.hypot(x - a - along * (c - a), y - b - along * (d - b))


def small_lattices():
    for name in ("digits", "lattice", "liveinwater", "gewaesser"):
        yield bicliq.concepts(context(name))
    chance = np.random.default_rng(8)
    for _ in range(100):
        table = chance.random(chance.integers(2, 16, 2)) < chance.uniform(0.2, 0.9)
        found = bicliq.concepts(pd.DataFrame(table, columns=[f"attribute {m}" for m in range(table.shape[1])]))
        if len(found) <= 60:
            yield found


def test_a_diagram_shows_the_order_and_no_other():
    for found in small_lattices():
        dots, lines, _ = drawn(found)
        assert sorted(dots.values()) == found.numbers.tolist()
        ends = sorted((dots[line[0]], dots[line[-1]]) for line in lines)
        assert ends == sorted((edge["lower"], edge["upper"]) for edge in found.edges.to_pylist())
        for line in lines:
            assert line[0][1] > line[-1][1]
            for dot in dots.keys() - {line[0], line[-1]}:
                assert min(far_from(dot, *part) for part in pairwise(line)) > 6


def test_the_page_of_lattices_shows_a_diagram_of_today():
    here = bicliq.concepts(context("liveinwater")).diagram()
    shown = (DATA.parents[1] / "docs" / "lattice.svg").read_text(encoding="utf-8")
    assert re.sub(r"[0-9]+\.[0-9]", "", shown.strip()) == re.sub(r"[0-9]+\.[0-9]", "", here)


def test_labels_of_a_diagram_are_reduced():
    _, _, texts = drawn(bicliq.concepts(context("liveinwater")))
    table = bicliq.concepts(context("liveinwater")).context
    assert sorted(text for _, _, text in texts) == sorted(table.objects.to_pylist() + table.attributes.to_pylist())


def test_a_diagram_of_chosen_concepts_keeps_their_order():
    found = bicliq.concepts(context("lattice"))
    chosen = found.where(min_stability=1)
    dots, lines, _ = drawn(chosen)
    intents = {row["concept"]: set(row["intent"]) for row in chosen}
    less = {(low, up) for low in intents for up in intents if intents[up] < intents[low]}
    covers = {(low, up) for low, up in less if not any((low, mid) in less and (mid, up) in less for mid in intents)}
    assert {(dots[line[0]], dots[line[-1]]) for line in lines} == covers
    with pytest.raises(bicliq.InputError, match="1 to 60 concepts, and here are 65"):
        bicliq.concepts(context("tealady")).diagram()


@needs_chromium
def test_a_browser_shows_the_page_of_a_lattice(tmp_path, capsys):
    page = tmp_path / "water.html"
    labels = cxt(tmp_path, ["<b>hen</b>", "duck & co"], ["a long attribute", "sw</script>ims", "x"], ["X.X", "XX."])
    assert invoke(["lattice", str(labels), "--report", str(page), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["report"] == str(page)
    with browser(tmp_path / "home", 1280) as tab:
        tab.open(f"file://{page}")
        text = tab.wait_for("Line diagram", "4 of 4 concepts", "<b>hen</b>", "duck & co", "sw</script>ims")
        assert "2 objects" not in text
        boxes = tab.value(
            "[...document.querySelectorAll('svg text')].map(t => {const b = t.getBoundingClientRect();"
            " return [b.left, b.right, b.top, b.bottom]})"
        )
        assert len(boxes) == 5
        for at, (left, right, top, bottom) in enumerate(boxes):
            for other in boxes[:at]:
                assert right <= other[0] or other[1] <= left or bottom <= other[2] + 3 or other[3] <= top + 3
    assert invoke(["lattice", str(context("tealady")), "--report", str(page)]) == 0
    assert "up to 60 concepts, and here are 65" in page.read_text()


def test_batches_are_bounded_by_members():
    n = 17  # who lacks one attribute each: every set of objects is an extent
    found = bicliq.concepts({f"o{i}": [f"a{j}" for j in range(n) if j != i] for i in range(n)})
    sizes = [
        (len(batch), pc.sum(batch["n_objects"]).as_py() + pc.sum(batch["n_attributes"]).as_py())
        for batch in found.batches()
    ]
    assert len(sizes) == 3
    assert all(members == n * rows <= concepts.BATCH_IDS for rows, members in sizes)
    whole = found.to_arrow()
    assert np.array_equal(whole["concept"], np.arange(2**n))
    assert np.array_equal(pc.list_value_length(whole["extent"]), whole["n_objects"])
    assert set(pc.value_counts(pc.list_flatten(whole["extent"])).field("counts").to_pylist()) == {2 ** (n - 1)}
    some = found.where(attributes=["a3"])
    assert len(some) == len(some.to_arrow()) == 2 ** (n - 1)
    assert "o3" not in pc.list_flatten(some.to_arrow()["extent"]).unique().to_pylist()


@pytest.mark.parametrize("name", ["tealady", "digits", "lattice", "liveinwater", "gewaesser"])
def test_the_library_concepts_finds_the_same_edges_and_labels(name):
    """On examples of its own (bob-ross takes it a minute)."""
    peer = pytest.importorskip("concepts", "0.9", reason="the library concepts is not installed")
    theirs = peer.Context.fromfile(str(context(name)), frmat="cxt").lattice
    found = bicliq.concepts(context(name), ids="text")
    rows = [(frozenset(row["extent"]), frozenset(row["intent"])) for row in found]
    known = {(frozenset(one.extent), frozenset(one.intent)) for one in theirs}
    assert len(rows) == len(set(rows)) == len(theirs)
    assert set(rows) == known
    edges = {(rows[edge["lower"]], rows[edge["upper"]]) for edge in found.edges.to_pylist()}
    assert edges == {
        tuple((frozenset(each.extent), frozenset(each.intent)) for each in (low, one))
        for one in theirs
        for low in one.lower_neighbors
    }


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """A store with a run, and versions of it by an update and by edges taken away."""
    folder = tmp_path_factory.mktemp("versions")
    chance = np.random.default_rng(4)
    table = pd.DataFrame(chance.integers(0, (9, 7), (45, 2)), columns=["bird", "does"]).astype(str).drop_duplicates()
    parts = {"first": table[:25], "more": table[25:], "less": table[table["does"] == table["does"].iloc[0]]}
    for name, part in parts.items():
        part.to_csv(folder / f"{name}.csv", index=False)
    store = str(folder / "store")
    for asked in (["run", "first"], ["update", "more"], ["update", "less", "--delete"]):
        command, name, *rest = asked
        reading = ["--left", "bird", "--right", "does", "--ids", "text"]
        assert invoke([command, str(folder / f"{name}.csv"), "--store", store, *reading, *rest]) == 0
    gone = parts["less"].index
    return store, [table[:25], table, table.drop(gone)]


def intents_of(table):
    return {
        frozenset(row["intent"]): row["concept"]
        for row in bicliq.concepts(table, left="bird", right="does", ids="text")
    }


def test_concepts_of_a_run_are_those_of_its_table(versions):
    store, tables = versions
    found = bicliq.concepts(bicliq.open(store))
    known = bicliq.concepts(tables[-1], left="bird", right="does", ids="text")
    here, there = ({(frozenset(row["extent"]), frozenset(row["intent"])) for row in one} for one in (found, known))
    assert here == there
    assert found.edges.num_rows == known.edges.num_rows
    assert len(bicliq.implications(bicliq.open(store))) == len(bicliq.implications(known.context))
    with pytest.raises(bicliq.InputError, match="was read already"):
        bicliq.concepts(bicliq.open(store), left="bird")


def test_the_command_says_which_concepts_a_version_has_anew(versions, capsys):
    store, (_, before, now) = versions
    assert invoke(["lattice", "--store", store, "--new-since", "parent", "--top", "1000", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    new, old = intents_of(now), intents_of(before)
    assert {frozenset(row["intent"]) for row in record["concepts"]} == new.keys() - old.keys()
    assert {frozenset(intent) for intent in record["vanished"]} == old.keys() - new.keys()
    assert record["n_vanished"] == len(record["vanished"]) > 0
    whole = bicliq.concepts(bicliq.open(store))
    assert all(row["upper"] == whole.upper(row["concept"]) for row in record["concepts"])
    runs = [each["run"] for each in json.loads(out_of(capsys, ["runs", "--store", store, "--json"]))["runs"]]
    counts = {}
    for run in runs:
        found = json.loads(out_of(capsys, ["lattice", "--store", store, "--new-since", run, "--json"]))
        counts[run] = (found["found"], found["n_vanished"])
    assert (0, 0) in counts.values()
    assert f"new since run {runs[0]}" in out_of(capsys, ["lattice", "--store", store, "--new-since", runs[0]])


def out_of(capsys, command):
    assert invoke(command) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--left", "bird"], "--left is for reading a FILE"),
        (["--scale", "auto"], "--scale is for reading a FILE"),
        (["--new-since", "nix"], "'nix' is no run of this store"),
        (["--implications", "direct", "--new-since", "parent"], "--new-since is for concepts"),
        (["FILE"], "--store is for the context of a run"),
    ],
)
def test_a_run_refuses_what_is_for_files(options, said, versions, capsys):
    assert invoke(["lattice", "--store", versions[0], *options]) == 2
    assert said in capsys.readouterr().err


def test_an_object_whose_counts_are_all_too_low_stays_in_the_context():
    counts = pd.DataFrame({"a": [2, 1, 0], "b": [3, 1, 2]}, index=["x", "y", "z"])
    found = bicliq.concepts(counts, min_value=2, format="matrix")
    assert [sorted(row["extent"]) for row in found.to_pandas().to_dict("records")] == [
        ["x", "y", "z"],
        ["x", "z"],
        ["x"],
    ]
