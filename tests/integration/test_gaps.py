"""Groups with gaps, through the doors that users take."""

from __future__ import annotations

import csv
import json
from math import comb, log
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
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
    paid = [log(comb(n, k) * k * (k + 1)) for n, k in ((4, 3), (3, 2))] + [log(comb(6, 2) * 3 * 4)]
    assert value == pytest.approx(evidence - sum(paid), abs=1e-4)
    assert expected == pytest.approx(chance.sum(), abs=1e-3)  # pairs are rounded in steps
    whole, might_have_had_gaps = terms.of_group([0, 1], [1]), terms.of_group([0, 1], [1], np.zeros((0, 2), np.int64))
    assert whole[0] - might_have_had_gaps[0] == pytest.approx(log(2))


def _with_holes() -> tuple[pa.Table, set[tuple[str, str]]]:
    """A ring of 8 × 7 and one of 6 × 9 among random purchases, and the two pairs each lacks."""
    random = np.random.default_rng(3)
    bought = {(f"c{random.integers(400)}", f"i{random.integers(200)}") for _ in range(1500)}
    rings = [(f"{n}{u}", f"{n}{v}") for n, shape in (("a", (8, 7)), ("b", (6, 9))) for u, v in np.ndindex(shape)]
    holes = {("a1", "a2"), ("a5", "a0"), ("b2", "b8"), ("b4", "b3")}
    edges = sorted((bought | set(rings)) - holes)
    return pa.table(dict(zip(("left", "right"), map(list, zip(*edges, strict=True)), strict=True))), holes


def _listed(groups: Any) -> set[tuple[str, str]]:
    return {tuple(pair) for group in groups for pair in group["missing"]}


def test_by_surprise_the_planted_holes_are_what_is_missing(tmp_path: Path):
    bought, holes = _with_holes()
    best = bicliq.find(bought, top=2, by="surprise", missing=4, diverse=True)
    assert best.proven
    assert _listed(best) == holes
    assert [(group["n_left"], group["n_right"]) for group in best] == [(8, 7), (6, 9)]
    assert [group["covered"] for group in best] == [54, 106]
    plain = bicliq.find(bought, top=1, by="surprise")
    assert next(iter(best))["value"] > next(iter(plain))["value"]
    best.to_arrow()


def test_the_surprise_of_a_page_is_that_of_the_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path, page = tmp_path / "shop.parquet", tmp_path / "page.html"
    pq.write_table(_with_holes()[0], path)
    asked = ["find", str(path), "--missing", "4", "--by", "surprise", "--top", "2", "--json", "--report", str(page)]
    assert invoke(asked) == 0
    groups = json.loads(capsys.readouterr().out)["groups"]
    assert f"surprise {groups[0]['value']:,.0f}" in page.read_text()
    assert page.read_text().count('class="missing"') == sum(len(group["missing"]) for group in groups)


def test_members_that_groups_must_have_may_miss_some_of_the_others():
    best = bicliq.find(HOLED, top=1, missing=1, containing=["cid", "pie"])
    assert [(group["left"], group["missing"]) for group in best] == [(["ann", "bob", "cid"], [["cid", "pie"]])]
    assert len(bicliq.find(HOLED, missing=1, containing=["dan", "jam", "tea"])) == 0
    none = bicliq.find(HOLED, missing=2, missing_each=1, containing=["dan", "jam", "tea"])
    assert "not joined to all but 1 of" in none.record["why_none"]


def test_groups_within_labels_by_surprise_and_by_weight():
    bought, _ = _with_holes()
    labels = [f"a{n}" for n in range(8)]
    assert _listed(bicliq.find(bought, top=1, by="surprise", missing=4, within=labels)) == {("a1", "a2"), ("a5", "a0")}
    heavy = bicliq.find(HOLED, top=1, by="weight", missing=1, left_weights={"cid": 5}, right_weights={"pie": 2})
    assert [(group["value"], group["missing"]) for group in heavy] == [(7, [["cid", "pie"]])]
    sold = [(who, item, 10 if who == "cid" else 1) for who, items in HOLED.items() for item in items]
    priced = pa.table(dict(zip(("who", "what", "price"), map(list, zip(*sold, strict=True)), strict=True)))
    best = bicliq.find(priced, top=1, by="weight", missing=1, diverse=True, weight="price")
    assert [(group["value"], group["missing"]) for group in best] == [(26, [["cid", "pie"]])]


def test_random_tables_are_asked_for_groups_with_gaps_too():
    bought, _ = _with_holes()
    best = bicliq.find(bought, top=1, by="edges", missing=2, min_left=4, min_right=4, null=9)
    assert next(iter(best))["p"] == 0.1


def test_a_run_is_asked_like_its_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    store, table = str(tmp_path / "store"), str(DATA / "southern-women.parquet")
    asked = ["--missing", "2", "--by", "surprise", "--min-left", "3", "--min-right", "3", "--json"]
    assert invoke(["run", table, "--min-left", "3", "--min-right", "3", "--store", store, "--json"]) == 0
    run = json.loads(capsys.readouterr().out)["run"]
    assert invoke(["find", table, *asked]) == 0
    of_table = json.loads(capsys.readouterr().out)
    assert invoke(["find", "--run", run, "--store", store, *asked]) == 0
    of_run = json.loads(capsys.readouterr().out)
    assert of_run["groups"] == of_table["groups"]
    assert of_run["missing"] == 2


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"by": "balanced", "diverse": True}, "not for by = 'balanced'"),
        ({"missing": 256}, "the most that fits is 255"),
        ({"missing": -1}, "of at least 0"),
        ({"missing": "3"}, "missing is '3'; it must be a whole number"),
        ({"missing": 0, "missing_each": 2}, "as in missing = 2"),
    ],
)
def test_what_is_not_known_of_gaps_is_refused(asked: dict[str, Any], said: str):
    with pytest.raises(BicliqError, match=said):
        bicliq.find(HOLED, **{"missing": 3, **asked})


def test_a_refusal_names_options(capsys: pytest.CaptureFixture[str]):
    assert invoke(["find", str(DATA / "southern-women.parquet"), "--missing-each", "2"]) == 2
    assert "--missing-each 2 is of one member; say how many may be missing in all, as in --missing 2" in " ".join(
        capsys.readouterr().err.split()
    )


def test_a_gpu_is_refused_and_is_not_taken_by_itself(capsys: pytest.CaptureFixture[str]):
    table = str(DATA / "southern-women.parquet")
    assert invoke(["find", table, "--missing", "2", "--backend", "cuda"]) == 2
    assert "it finds no groups with gaps" in " ".join(capsys.readouterr().err.split())
    assert invoke(["find", table, "--missing", "2", "--backend", "auto", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["backend"].startswith("cpu-")


def test_groups_in_step_have_no_gaps():
    with pytest.raises(BicliqError, match="an action that is missing has no time"):
        bicliq.find([("ann", "tea", 1), ("bob", "tea", 2)], missing=1, left="0", right="1", time="2", in_step="60s")


def _updated(folder: Path, pairs: list[tuple[str, str]], *, delete: bool = False) -> None:
    pq.write_table(pa.table({"left": [u for u, _ in pairs], "right": [v for _, v in pairs]}), folder / "new.parquet")
    asked = ["update", str(folder / "new.parquet"), "--store", str(folder / "store"), *["--delete"] * delete]
    assert invoke(asked) == 0


def test_diff_says_which_groups_with_gaps_are_complete_now(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    pq.write_table(_with_holes()[0], tmp_path / "base.parquet")
    sizes = ["--min-left", "3", "--min-right", "3", "--store", str(tmp_path / "store")]
    assert invoke(["run", str(tmp_path / "base.parquet"), *sizes]) == 0
    _updated(tmp_path, [("a1", "a2"), ("a5", "a0"), ("b2", "b8"), ("new", "i1")])
    capsys.readouterr()
    asked = ["diff", "--missing", "4", "--by", "surprise", "--limit", "2", *sizes]
    assert invoke([*asked, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    first, second = record["gaps"]["groups"]
    assert (first["complete"], sorted(first["filled"]), first["lacking"]) == (True, [["a1", "a2"], ["a5", "a0"]], [])
    assert (second["complete"], second["filled"], second["lacking"]) == (False, [["b2", "b8"]], [["b4", "b3"]])
    assert record["gaps"]["proven"]
    assert record["gaps"]["searched"] == 2
    assert invoke(asked) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "1 complete in" in said
    assert "a1–a2" in said
    _updated(tmp_path, [("a0", "a1"), ("b4", "b3")], delete=True)
    _updated(tmp_path, [("b4", "b3")])
    capsys.readouterr()
    assert invoke([*asked, "--json"]) == 0
    (group,) = json.loads(capsys.readouterr().out)["gaps"]["groups"]
    assert (group["complete"], group["filled"]) == (True, [["b4", "b3"]])
    assert invoke(["diff", "--missing", "4", "--by", "left", *sizes]) == 2
    assert "which is one side alone" in " ".join(capsys.readouterr().err.split())
