"""`bicliq find`: labels, restrictions pushed into the search, runs of a store, and the flow."""

from __future__ import annotations

import io
import json
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

import bicliq
from bicliq.flows.cli import console
from bicliq.flows.cli.app import invoke
from bicliq.pipeline.errors import BackendError, InputError
from bicliq.pipeline.questions.find import FindAsked, find_in_run, find_in_table
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import Settings, load_settings
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.states import latest_run
from tests.reference.brute_force import maximal_bicliques

Groups = list[tuple[list[Any], list[Any], float]]


def settings_of(**search: Any) -> Settings:
    return load_settings(search={"backend": "cpu", "threads": 1, **search})


@pytest.fixture
def table(tmp_path: Path) -> tuple[str, list[tuple[str, str]]]:
    random = np.random.default_rng(3)
    left, right = np.nonzero(random.random((14, 12)) < 0.45)
    edges = [(f"user{u:02}", f"item{v:02}") for u, v in zip(left.tolist(), right.tolist(), strict=True)]
    path = tmp_path / "edges.csv"
    path.write_text("user,item\n" + "".join(f"{u},{v}\n" for u, v in edges))
    return str(path), edges


def all_groups(edges: list[tuple[str, str]]) -> set[tuple[frozenset[str], frozenset[str]]]:
    lefts, rights = sorted({u for u, _ in edges}), sorted({v for _, v in edges})
    numbered = [(lefts.index(u), rights.index(v)) for u, v in edges]
    return {
        (frozenset(lefts[u] for u in left), frozenset(rights[v] for v in right))
        for left, right in maximal_bicliques(numbered, len(lefts))
    }


def groups_of(record: dict[str, Any]) -> Groups:
    assert record["proven"]
    return [(group["left"], group["right"], group["value"]) for group in record["groups"]]


def largest(groups: set[tuple[frozenset[str], frozenset[str]]], k: int) -> Groups:
    listed = [(sorted(left), sorted(right), len(left) * len(right)) for left, right in groups]
    return sorted(listed, key=lambda group: (-group[2], group[0]))[:k]


def test_the_groups_of_a_table_carry_its_labels(table):
    path, edges = table
    record = find_in_table(path, FindAsked(top=7), settings_of(min_left=2))
    expected = {group for group in all_groups(edges) if len(group[0]) >= 2}
    assert groups_of(record) == largest(expected, 7)
    assert all((g["n_left"], g["n_right"]) == (len(g["left"]), len(g["right"])) for g in record["groups"])
    assert record["n_edges"] == len(edges)


@pytest.mark.parametrize("labels", [("user03",), ("item05",), ("user03", "user07", "item05"), ("right:item05",)])
def test_groups_that_contain_members_are_the_maximal_ones_of_the_table(table, labels):
    path, edges = table
    record = find_in_table(path, FindAsked(top=1000, containing=labels), settings_of())
    wanted = {label.removeprefix("right:") for label in labels}
    expected = {group for group in all_groups(edges) if wanted <= group[0] | group[1]}
    assert groups_of(record) == largest(expected, 1000)


def test_groups_within_some_members_are_those_of_their_subgraph(table, tmp_path):
    path, edges = table
    names = [f"user{u:02}" for u in range(9)]
    (tmp_path / "names.txt").write_text("\n".join(names) + "\n")
    record = find_in_table(path, FindAsked(top=1000, within=str(tmp_path / "names.txt")), settings_of())
    assert groups_of(record) == largest(all_groups([edge for edge in edges if edge[0] in names]), 1000)
    assert record["left_out"] == {"within": len({u for u, _ in edges}) - len(names)}


def test_vertices_of_high_degree_are_left_out_and_counted(table):
    path, edges = table
    degree = {v: sum(edge[1] == v for edge in edges) for _, v in edges}
    most = sorted(degree.values())[-4]
    record = find_in_table(path, FindAsked(top=1000, max_right_degree=most), settings_of())
    assert groups_of(record) == largest(all_groups([edge for edge in edges if degree[edge[1]] <= most]), 1000)
    assert record["left_out"] == {"max_right_degree": sum(d > most for d in degree.values())}


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"min_surprise": 99}, "there is none of these sizes that has a surprise of at least 99"),
        ({"min_surprise": 99, "diverse": True}, "there is none of these sizes that adds a surprise of at least 99"),
        ({"min_surprise": -50, "diverse": True}, "there is none of these sizes that adds any surprise"),
        ({}, "nothing is beyond what chance gives in a table of these degrees"),
    ],
)
def test_where_nothing_is_worth_what_was_asked_for_that_is_said(asked, why):
    square = pa.table({"left": ["a", "a", "b", "b"], "right": ["x", "y", "x", "y"]})
    found = bicliq.find(square, by="surprise", **asked)
    assert (len(found), found.record["why_none"]) == (0, why)


def test_surprise_counts_with_the_degrees_of_the_whole_table(table):
    path, _ = table
    everything = find_in_table(path, FindAsked(top=1000, by="surprise", min_surprise=-1e6), settings_of())
    some = find_in_table(
        path, FindAsked(top=1000, by="surprise", min_surprise=-1e6, containing=("user03",)), settings_of()
    )
    assert groups_of(some) == [group for group in groups_of(everything) if "user03" in group[0]]
    least = everything["groups"][4]["value"]
    above = find_in_table(path, FindAsked(top=1000, by="surprise", min_surprise=least), settings_of())
    assert groups_of(above) == [group for group in groups_of(everything) if group[2] >= least]


def test_weights_of_labels_come_from_files(table, tmp_path):
    path, edges = table
    (tmp_path / "weights.csv").write_text("item01,2.5\nitem04,7\nitem05,-1\n")
    weights = {"item01": 2.5, "item04": 7, "item05": -1}
    asked = FindAsked(top=1, by="weight", right_weights=str(tmp_path / "weights.csv"))
    record = find_in_table(path, asked, settings_of())
    best = max(sum(weights.get(v, 0) for v in right) for _, right in all_groups(edges))
    assert record["groups"][0]["value"] == best
    assert record["left_out"] == {"right_without_weight": len({v for _, v in edges}) - 3}


def test_a_run_gives_the_best_of_its_own_bicliques(table, tmp_path):
    path, edges = table
    search = {"min_left": 3, "min_right": 2, "backend": "cpu"}
    settings = load_settings(store=str(tmp_path / "store"), search=search, cluster={"local": True})
    name = run(path, settings).run
    record = find_in_run(name[:6], FindAsked(top=5), load_settings(store=str(tmp_path / "store")))
    expected = {group for group in all_groups(edges) if len(group[0]) >= 3 and len(group[1]) >= 2}
    assert record["run"] == name
    assert groups_of(record) == largest(expected, 5)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (FindAsked(by="weight"), "needs weights"),
        (FindAsked(left_weights="w.csv"), "weights are for by = 'weight'"),
        (FindAsked(min_surprise=1.0), "min_surprise = 1.0 is for by = 'surprise'"),
        (FindAsked(containing=("nobody",)), "no label of either side"),
        (FindAsked(containing=("user03",), max_left_degree=0), "leave this member out"),
        (FindAsked(within="nowhere.txt"), "nowhere.txt: no such file"),
    ],
)
def test_wrong_questions_say_what_to_do(table, asked, words):
    with pytest.raises(InputError, match=words):
        find_in_table(table[0], asked, settings_of())


@pytest.mark.parametrize(
    ("sizes", "asked", "words"),
    [
        ({"min_left": 5}, FindAsked(max_left=4), "min_left = 5 is above max_left = 4"),
        ({"min_right": 5}, FindAsked(max_right=4), "min_right = 5 is above max_right = 4"),
        ({"min_edges": 7}, FindAsked(max_left=2, max_right=3), "min_edges = 7 is above 6"),
    ],
)
def test_sizes_that_no_group_can_have_are_refused(table, sizes, asked, words):
    with pytest.raises(InputError, match=words):
        find_in_table(table[0], asked, settings_of(**sizes))


@pytest.mark.parametrize(
    ("option", "text", "words"),
    [
        ("within", "user01\nnobody\n", "line 2: 'nobody' is no label"),
        ("within", "", "names nothing"),
        ("left_weights", "user01,1\nuser01,2\n", "line 2: .* is listed twice"),
        ("left_weights", "user01,much\n", "line 1: .* is no left label and its weight"),
        ("left_weights", "user01\n", "write LABEL,WEIGHT"),
    ],
)
def test_wrong_lines_of_files_are_named(table, tmp_path, option, text, words):
    (tmp_path / "file.txt").write_text(text)
    asked: dict[str, Any] = {option: str(tmp_path / "file.txt")}
    if option == "left_weights":
        asked["by"] = "weight"
    with pytest.raises(InputError, match=words):
        find_in_table(table[0], FindAsked(**asked), settings_of())


@pytest.mark.parametrize("diverse", [False, True])
def test_weights_of_edges_come_from_a_column_of_the_table(tmp_path, diverse):
    draw = np.random.default_rng(5)
    cells = np.argwhere(draw.random((25, 20)) < 0.35)
    weight = {(f"u{u}", f"i{v}"): int(draw.integers(1, 50)) for u, v in cells.tolist()}
    path = tmp_path / "edges.csv"
    rows = [f"{u},{v},{w}\n" for (u, v), w in weight.items()]
    path.write_text("user,item,paid\n" + "".join(draw.permutation(rows)))
    settings = load_settings(ingest={"weight": "paid"}, search={"backend": "cpu", "threads": 1, "min_left": 2})
    asked = FindAsked(top=3, by="weight", diverse=diverse, max_left_degree=9)
    record = find_in_table(str(path), asked, settings)
    kept = {u for u, n in Counter(u for u, _ in weight).items() if n <= 9}
    groups = [one for one in all_groups([pair for pair in weight if pair[0] in kept]) if len(one[0]) > 1]
    covered: set[tuple[str, str]] = set()
    for group in record["groups"]:
        values = sorted((sum(weight[e] for e in product(*one) if e not in covered) for one in groups), reverse=True)
        place = 0 if diverse else record["groups"].index(group)
        assert group["value"] == values[place]
        covered |= set(product(group["left"], group["right"])) if diverse else set()
    assert len(record["groups"]) == 3
    assert len(kept) < len({u for u, _ in weight})


def test_weights_of_edges_are_in_no_stored_graph(table, tmp_path):
    store = str(tmp_path / "s")
    record = run(table[0], load_settings(store=store, cluster={"local": True}))
    with pytest.raises(InputError, match="needs weights"):
        find_in_run(record.run, FindAsked(by="weight"), load_settings(store=store, ingest={"weight": "w"}))


def test_a_label_of_both_sides_must_say_which_is_meant(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("user,item\n1,1\n1,2\n2,2\n")
    with pytest.raises(InputError, match="say 'left:1' or 'right:1'"):
        find_in_table(str(path), FindAsked(containing=("1",)), settings_of())
    record = find_in_table(str(path), FindAsked(containing=("left:1",)), settings_of())
    assert groups_of(record) == [([1], [1, 2], 2), ([1, 2], [2], 2)]


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"diverse": True}, "it finds no covers"),
        ({"time_limit": 3.0}, "it has no time limit"),
        ({"top": 5000}, "it finds at most 4,096 answers, and 5,000 are asked for"),
    ],
)
def test_what_a_gpu_cannot_find_is_refused_with_the_reason(table, asked, reason):
    with pytest.raises(BackendError, match=reason):
        find_in_table(table[0], FindAsked(**asked), settings_of(backend="cuda"))
    assert find_in_table(table[0], FindAsked(**asked), settings_of(backend="auto"))["backend"].startswith("cpu")


def test_the_command_prints_groups_as_the_contract_says(table, capsys):
    assert invoke(["find", table[0], "--top", "2", "--by", "balanced", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["proven"] is True
    assert [set(group) for group in record["groups"]] == [{"left", "right", "n_left", "n_right", "value"}] * 2
    assert invoke(["find", table[0], "--top", "2", "--max-left", "3", "--max-right-degree", "5"]) == 0
    shown = capsys.readouterr().out
    assert "2 groups by edges" in shown
    assert "left out: " in shown


@pytest.mark.usefixtures("prefect_server")
def test_the_flow_finds_what_the_function_finds(table, tmp_path):
    from bicliq.flows.find import find

    asked = {"top": 3, "by": "surprise", "min_surprise": -1e6, "containing": ["user03"]}
    record = find(table[0], asked, {"store": str(tmp_path / "store")})
    plain = find_in_table(
        table[0], FindAsked(top=3, by="surprise", min_surprise=-1e6, containing=("user03",)), load_settings()
    )
    assert groups_of(record) == groups_of(plain)


@pytest.fixture
def crowded(tmp_path):
    """A table whose best groups take longer than a second."""
    left, right = np.nonzero(np.random.default_rng(1).random((300, 300)) < 0.5)
    path = tmp_path / "crowded.csv"
    path.write_text("u,v\n" + "".join(f"a{u},b{v}\n" for u, v in zip(left, right, strict=True)))
    return str(path)


@pytest.mark.parametrize(
    ("more", "words"), [([], "best so far "), (["--diverse"], "0 of 20 groups, 0.0% of all edges")]
)
def test_a_terminal_shows_how_far_a_long_search_is(crowded, monkeypatch, capsys, more, words):
    shown = io.StringIO()
    monkeypatch.setattr(console, "err", Console(file=shown, force_terminal=True, width=200))
    assert invoke(["find", crowded, *more, "--time-limit", "1.5"]) == 0
    assert words in shown.getvalue()
    assert "roots" in shown.getvalue()
    assert "best so far" not in capsys.readouterr().out


@pytest.mark.usefixtures("prefect_server")
def test_the_flow_shows_how_far_a_long_search_is(crowded, tmp_path):
    from prefect.client.orchestration import get_client

    from bicliq.flows.find import find

    find(crowded, {"top": 3, "time_limit": 1.5}, {"store": str(tmp_path / "store")})
    with get_client(sync_client=True) as client:
        shown = {one.key: one.data for one in client.read_artifacts()}
    assert 0 <= shown["find"] <= 100
    assert "best so far" in shown["find-so-far"]


def test_a_run_that_was_cut_off_is_answered_for_its_graph_and_says_so(tmp_path, capsys):
    store = str(tmp_path / "store")
    assert invoke(["run", "tests/data/UCforum.parquet", "--store", store, "--local", "--max-bicliques", "50"]) == 0
    name = latest_run(Store.open(store))
    capsys.readouterr()
    assert invoke(["find", "--run", name, "--store", store, "--top", "1", "--json"]) == 0
    printed = capsys.readouterr()
    record = json.loads(printed.out)
    assert (record["complete"], record["state"], record["groups"][0]["value"]) == (False, "limited", 126)
    assert "the run may not hold them" in printed.err


def test_diverse_groups_cover_more_and_more_of_the_table(table, capsys):
    path, edges = table
    assert invoke(["find", path, "--top", "4", "--diverse", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    held: set[tuple[str, str]] = set()
    for group in record["groups"]:
        added = {(u, v) for u in group["left"] for v in group["right"]} - held
        assert added <= set(edges)
        assert (
            group["value"]
            == len(added)
            == max(len({(u, v) for u in left for v in right} - held) for left, right in all_groups(edges))
        )
        held |= added
        assert (group["covered"], group["share"]) == (len(held), len(held) / len(edges))
    assert invoke(["find", path, "--top", "4", "--diverse"]) == 0
    assert f"together {len(held) / len(edges):.1%} of all edges" in capsys.readouterr().out


def test_diverse_is_refused_where_nothing_is_summed_over_edges(table, capsys):
    assert invoke(["find", table[0], "--diverse", "--by", "balanced"]) == 2
    assert "--diverse is for" in capsys.readouterr().err
