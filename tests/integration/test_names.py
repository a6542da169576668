"""Names of vertices in questions: only what is written as a label names it, and only its vertex."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bicliq
from bicliq.flows.cli.app import invoke
from tests.nightly import drawn
from tests.reference.brute_force import maximal_bicliques

NUMBERS = {7: ["007", "x"], 8: ["007", "x"]}
"""The left labels are the numbers 7 and 8, and a right one is text that int() would take for 7."""

NO_NUMBERS = ("007", "1_000", " 7", "7 ", "+7", "７", "7.0", "-7")
"""What is not written as the number 7 is."""


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_only_what_is_written_as_a_number_names_it(tmp_path, name):
    table = {7: ["x"], 8: ["x"], 1000: ["x"]}
    with pytest.raises(bicliq.InputError, match="no label of either side"):
        bicliq.find(table, within=[name])
    with pytest.raises(bicliq.InputError, match="no label of either side"):
        bicliq.find(table, containing=[name])
    with pytest.raises(bicliq.InputError, match="is no left label"):
        bicliq.find(table, by="weight", left_weights={name: 5.0})
    weights = tmp_path / "weights.csv"
    weights.write_text(f"{name},5\n")
    with pytest.raises(bicliq.InputError, match="is no left label"):
        bicliq.find(table, by="weight", left_weights=weights)
    with pytest.raises(bicliq.InputError, match="there is no left vertex"):
        bicliq.enumerate(table).where(with_left=[name])


def test_text_that_looks_like_a_number_names_text_alone():
    found = bicliq.find(NUMBERS, within=["007", "x"])
    assert [(group["left"], group["right"]) for group in found] == [([7, 8], ["007", "x"])]
    found = bicliq.find(NUMBERS, within=[7, "x"])
    assert [(group["left"], group["right"]) for group in found] == [([7], ["x"])]


def test_a_mistyped_label_gets_the_nearest(tmp_path, capfd):
    table = tmp_path / "t.csv"
    table.write_text("user,item\nuser03,jam\nuser04,jam\n")
    assert invoke(["find", str(table), "--containing", "user3"]) == 2
    err = capfd.readouterr().err
    assert "the nearest are 'user03', 'user04'" in err
    assert "--containing user3" in err
    assert invoke(["run", str(table), "--store", str(tmp_path / "s")]) == 0
    assert invoke(["show", "--with-left", "user3", "--store", str(tmp_path / "s")]) == 2
    assert "the nearest are 'user03', 'user04'" in capfd.readouterr().err


def test_members_that_are_not_joined_are_in_no_group(tmp_path, capfd):
    table = tmp_path / "e.csv"
    table.write_text("l,r\na,x\nb,x\nb,y\n")
    command = ["find", str(table), "--containing", "a", "--containing", "y"]
    assert invoke([*command, "--json"]) == 0
    record = json.loads(capfd.readouterr().out)
    why = "'a' is not joined to all of 'y', so no group holds these members"
    assert (record["groups"], record["proven"], record["why_none"]) == ([], True, why)
    assert invoke(command) == 0
    assert f"no group: {why}" in capfd.readouterr().out


EDGES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=18, unique=True)


@settings(max_examples=drawn(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(EDGES, st.lists(st.integers(0, 99), min_size=1, max_size=3), st.booleans())
def test_groups_that_contain_members_are_those_of_the_whole_table_that_hold_them(edges, picks, diverse):
    """Members of both sides, one to three, by every objective, against brute force."""
    frame = pa.table({"left": [f"l{u}" for u, _ in edges], "right": [f"r{v}" for _, v in edges]})
    labels = sorted({*frame["left"].to_pylist(), *frame["right"].to_pylist()})
    asked = {labels[pick % len(labels)] for pick in picks}
    every = {
        (frozenset(f"l{u}" for u in left), frozenset(f"r{v}" for v in right))
        for left, right in maximal_bicliques(edges, 5)
        if left and right
    }
    expected = {group for group in every if asked <= group[0] | group[1]}
    weights: dict[str, Any] = {"left_weights": {label: 1.0 for label in labels if label[0] == "l"}}
    for by in ("edges", "vertices", "balanced", "surprise", "weight"):
        more = {"weight": weights, "surprise": {"min_surprise": -1e6}}.get(by, {})
        found = bicliq.find(frame, top=1000, by=by, containing=sorted(asked), **more)
        named = {(frozenset(group["left"]), frozenset(group["right"])) for group in found}
        assert named == expected, by
        assert found.proven
        assert (found.record["why_none"] is None) or not expected
    if diverse:
        cover = bicliq.find(frame, top=1000, diverse=True, containing=sorted(asked))
        assert {(frozenset(group["left"]), frozenset(group["right"])) for group in cover} <= expected


def test_files_of_names_are_read_as_they_are_written(tmp_path: Path):
    names = tmp_path / "names.txt"
    names.write_bytes("\ufeffann\r\njam\r\n".encode())
    assert invoke(["find", str(write(tmp_path)), "--within", str(names)]) == 0


def write(folder: Path) -> Path:
    path = folder / "t.csv"
    path.write_text("user,item\nann,jam\nbob,jam\n")
    return path
