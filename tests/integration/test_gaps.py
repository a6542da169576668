"""Groups with gaps, through the doors that users take."""

from __future__ import annotations

import csv
import json
from math import comb, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bicliq
from bicliq import kernels
from bicliq.flows.cli.app import invoke
from bicliq.pipeline.errors import BicliqError

DATA = Path("tests/data")

HOLED = {"ann": ["jam", "tea", "pie"], "bob": ["jam", "tea", "pie"], "cid": ["jam", "tea"], "dan": ["nut"]}
"""Three customers and three items, of which one pair is missing."""


def test_the_missing_pair_is_listed_by_its_labels():
    best = bicliq.find(HOLED, top=1, missing=1)
    assert best.proven
    assert list(best) == [
        {
            "left": ["ann", "bob", "cid"],
            "right": ["jam", "pie", "tea"],
            "n_left": 3,
            "n_right": 3,
            "value": 8,
            "missing": [["cid", "pie"]],
        }
    ]
    assert best.to_arrow()["missing"].to_pylist() == [[{"left": "cid", "right": "pie"}]]


@pytest.mark.parametrize(
    ("graph", "missing", "left", "right", "value"),
    [("marvel", 1, 4, 589, 2355), ("marvel", 3, 4, 591, 2361), ("UCforum", 1, 3, 17, 50)],
)
def test_published_values_of_graphs(graph: str, missing: int, left: int, right: int, value: int):
    """MaximumDefectiveBiclique (2026), both sides at least 3."""
    best = bicliq.find(DATA / f"{graph}.parquet", top=1, missing=missing, min_left=3, min_right=3)
    (group,) = best
    assert best.proven
    assert (group["n_left"], group["n_right"], group["value"]) == (left, right, value)
    assert len(group["missing"]) == left * right - value


def test_without_gaps_it_is_today_s_question():
    table, sizes = DATA / "southern-women.parquet", {"min_left": 2, "min_right": 2}
    for by in ("edges", "vertices", "balanced"):
        plain = bicliq.find(table, top=30, by=by, **sizes)
        none = bicliq.find(table, top=30, by=by, missing=4, missing_each=0, **sizes)
        assert [{**group, "missing": []} for group in plain] == list(none)


def test_no_member_misses_more_than_it_may():
    for group in bicliq.find(
        DATA / "southern-women.parquet", top=20, missing=4, missing_each=1, min_left=3, min_right=3
    ):
        for side in (0, 1):
            members = [pair[side] for pair in group["missing"]]
            assert len(members) == len(set(members))


def test_members_that_are_left_out_are_in_no_group():
    best = bicliq.find(HOLED, top=5, missing=3, within=["ann", "bob", "jam", "tea", "pie"])
    assert {member for group in best for member in group["left"]} == {"ann", "bob"}


def test_a_search_that_is_cut_off_says_so():
    best = bicliq.find(DATA / "marvel.parquet", missing=40, top=1000, time_limit=0.2)
    assert not best.proven


def test_the_command_lists_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path, page = tmp_path / "shop.csv", tmp_path / "page.html"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["who", "what"], *((who, item) for who, items in HOLED.items() for item in items)])
    asked = ["find", str(path), "--missing", "1", "--top", "1"]
    assert invoke([*asked, "--json", "--report", str(page)]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["missing"], record["missing_each"]) == (1, None)
    assert record["groups"][0]["missing"] == [["cid", "pie"]]
    assert "8 edges, and 1 missing" in page.read_text()
    assert 'class="missing"' in page.read_text()
    assert invoke(asked) == 0
    assert "cid–pie" in capsys.readouterr().out


def test_surprise_of_a_group_with_gaps_pays_for_which_pairs_are_missing():
    terms = kernels.SurpriseTerms.of_degrees([2, 1, 1, 3], [2, 2, 3])
    missing = np.array([[0, 1], [2, 2]])
    value, expected = terms.of_group([0, 1, 2], [1, 2], missing)
    chance = np.exp(-terms.pairs([0, 1, 2], [1, 2]) * terms.unit)
    there = np.array([[False, True], [True, True], [True, False]])
    evidence = -np.log(chance[there]).sum() + np.log(1 - chance[~there]).sum()
    paid = [log(comb(n, k) * k * (k + 1)) for n, k in ((4, 3), (3, 2), (6, 2))]
    assert value == pytest.approx(evidence - sum(paid), abs=1e-4)
    assert expected == pytest.approx(chance.sum(), abs=1e-3)  # pairs are rounded in steps
    assert terms.of_group([0, 1], [1], np.zeros((0, 2), np.int64)) == terms.of_group([0, 1], [1])


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"by": "surprise"}, "not for by = 'surprise'"),
        ({"by": "weight", "left_weights": {"ann": 1}}, "not for by = 'weight'"),
        ({"diverse": True}, "not for diverse"),
        ({"null": 9}, "not for null"),
        ({"containing": ["ann"]}, "not for containing"),
        ({"missing": 256}, "the most that fits is 255"),
        ({"missing": -1}, "of at least 0"),
        ({"missing": 0, "missing_each": 2}, "say with missing"),
    ],
)
def test_what_is_not_known_of_gaps_is_refused(asked: dict[str, Any], said: str):
    with pytest.raises(BicliqError, match=said):
        bicliq.find(HOLED, **{"missing": 3, **asked})


def test_a_gpu_and_a_run_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    store, table = str(tmp_path / "store"), str(DATA / "southern-women.parquet")
    assert invoke(["find", table, "--missing", "2", "--backend", "cuda"]) == 2
    assert capsys.readouterr().err.count("\n") < 4
    assert invoke(["run", table, "--store", store]) == 0
    capsys.readouterr()
    assert invoke(["find", "--run", "latest", "--store", store, "--missing", "2"]) == 2
    assert "name the table that it was made of" in " ".join(capsys.readouterr().err.split())


def test_a_page_of_groups_in_step_has_no_gaps():
    with pytest.raises(BicliqError, match="not groups in step"):
        bicliq.find([("ann", "tea", 1), ("bob", "tea", 2)], missing=1, left="0", right="1", time="2", in_step="60s")
