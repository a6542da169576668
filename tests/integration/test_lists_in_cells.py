"""Cells that hold several labels: said, taken apart where that is asked, or refused."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import bicliq
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.settings import IngestSettings
from bicliq.pipeline.stages.ingest import read_edge_table
from tests.integration.test_dirty_text import CASES, edges_of, of_text, refusal, written


def test_fields_that_hold_lists_are_said_and_taken_apart_where_asked():
    said = bicliq.enumerate(str(CASES / "c21-listcells.csv")).account["assumed"]
    assert any("column 'urls' are lists" in sentence and "split = ','" in sentence for sentence in said)


LISTS = [("1", "a;b"), ("2", "b; c ;a"), ("3", "[]"), ("4", "d"), ("5", "['a', 'd']"), ("6", '["e"]'), ("7", ";")]
PAIRS = {("1", "a"), ("1", "b"), ("2", "a"), ("2", "b"), ("2", "c"), ("4", "d"), ("5", "a"), ("5", "d"), ("6", "e")}


@pytest.mark.parametrize("flip", [False, True])
def test_fields_are_taken_apart_on_either_side_from_files_and_frames(tmp_path, flip):
    text = "".join(f"{u}\t{v}\n" for u, v in LISTS)
    settings: dict[str, Any] = {"split": ";", "left": "1" if flip else "0", "right": "0" if flip else "1"}
    table = of_text(tmp_path, text, "t.tsv", ids="text", quotes=False, **settings)
    pairs = {(v, u) for u, v in PAIRS} if flip else PAIRS
    assert edges_of(table) == pairs
    assert table.summary.noted == {"split_fields": 3, "empty_lists": 2}
    left, right = map(list, zip(*LISTS, strict=True))
    frame = pa.table({"u": left, "v": right})
    assert edges_of(read_edge_table(frame, IngestSettings(**settings))) == pairs


@pytest.mark.parametrize(
    "cell",
    [
        "['jam', 'tea']",
        '["jam", "tea"]',
        "[jam, tea]",
        "('jam', 'tea')",
        "('jam', 'tea',)",
        "{'tea', 'jam'}",
        "{jam,tea}",
    ],
)
@pytest.mark.parametrize("door", ["text", "frame"])
def test_lists_are_taken_apart_however_they_are_written(tmp_path, cell, door):
    frame = pd.DataFrame({"u": ["ann", "bob"], "v": [cell, "jam"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = read_edge_table(frame if door == "frame" else str(tmp_path / "t.csv"), IngestSettings(split=","))
    assert edges_of(table) == {("ann", "jam"), ("ann", "tea"), ("bob", "jam")}


@pytest.mark.parametrize("cell", [
    "['jam' 'tea']", "[1 2 3]", "[1. nan]", "['a' 'b' ... 'z']", "['jam', 'tea'", "('jam', 'tea'", "jam', 'tea']", "jam, tea]",
    "array(['jam'], dtype=object)", "frozenset({'jam'})", "[np.int64(1)]", "[np.str_('jam')]", "[['jam'], 'tea']", '{"jam": 1}',
])  # fmt: skip
@pytest.mark.parametrize("door", ["text", "frame", "update"])
def test_what_looks_like_a_list_and_is_none_is_refused(tmp_path, cell, door):
    frame = pd.DataFrame({"u": ["bob", "ann"], "v": ["['jam']", cell]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    source, store = frame if door == "frame" else tmp_path / "t.csv", tmp_path / "store"
    if door == "update":
        bicliq.enumerate(pd.DataFrame({"u": ["ann"], "v": ["jam"]}), store=store, split=",")
    with pytest.raises(InputError, match=r"(row 1|line 3), column v \(right\): .* looks like a list"):
        bicliq.update(store, source) if door == "update" else bicliq.enumerate(source, split=",")


@pytest.mark.parametrize("cells", [["jam, tea", "tea, rum"], ["('jam', 'tea')", "('jam',)"], ["{jam,tea}", "{jam}"]])
@pytest.mark.parametrize("door", ["text", "frame"])
def test_fields_that_hold_several_labels_are_said_however_they_are_written(tmp_path, cells, door):
    frame = pd.DataFrame({"u": ["ann", "bob"], "v": cells})
    frame.to_csv(tmp_path / "t.csv", index=False)
    said = bicliq.enumerate(frame if door == "frame" else tmp_path / "t.csv").account["assumed"]
    assert any("most fields of column 'v'" in sentence and "split = ','" in sentence for sentence in said)


def test_brackets_within_labels_are_theirs(tmp_path):
    table = of_text(tmp_path, "u\tv\nann\t(hyper)active;[old] jam\nbob\tSmith (Joe);f(x)\n", "t.tsv", split=";")
    assert {label for _, label in edges_of(table)} == {"(hyper)active", "[old] jam", "Smith (Joe)", "f(x)"}


def test_items_that_are_numbers_are_numbers_and_keep_their_weights_and_places(tmp_path):
    table = of_text(tmp_path, "u,v,w\nann,1;2,3\nbob,2,4\n", weight="w", split=";")
    assert edges_of(table) == {("ann", 1), ("ann", 2), ("bob", 2)}
    assert table.weight is not None
    assert table.weight.tolist() == [3, 3, 4]
    assert "line 3: an edge has the same label" in refusal(
        tmp_path, "u,v\nann,x;y\nbob,bob;z\n", split=";", self_labels="error"
    )


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "xlsx", "pandas", "polars", "arrow"])
def test_cells_that_hold_several_labels_are_said_of_every_table(tmp_path, kind):
    source = written(kind, tmp_path)
    said = bicliq.enumerate(source).account["assumed"]
    assert any("most fields of column 'tags' hold ';'" in sentence for sentence in said)
    split = bicliq.enumerate(source, split=";").account
    assert (split["edges"], [sentence for sentence in split["assumed"] if "most fields" in sentence]) == (5, [])
