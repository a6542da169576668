"""What is a basket: blank lines, empty rows, counts, names and numbers, and baskets of a run."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import bicliq
from bicliq.flows.cli import invoke
from bicliq.pipeline.errors import InputError
from tests.integration.test_itemsets import SHOP, pairs


def test_blank_lines_above_and_below_all_baskets_are_told_apart_from_empty_ones(tmp_path, capsys):
    (tmp_path / "shop.dat").write_text("\n\na b\n\nb\n\n")
    line = ["itemsets", str(tmp_path / "shop.dat"), "--format", "baskets", "--min-support", "0.3", "--empty", "count"]
    assert invoke([*line, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["n_baskets"], record["n_empty"], record["noted"]["blank_lines_not_counted"]) == (3, 1, 3)
    assert invoke(line) == 0
    assert "3 blank lines not counted" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["rules.pdf", "shop.dat", "data.html"])
def test_a_report_replaces_nothing_but_a_page(tmp_path, capsys, name):
    for there in ("shop.dat", "data.html"):
        (tmp_path / there).write_text("a b\nb\n")
    line = ["rules", str(tmp_path / "shop.dat"), "--format", "baskets", "--min-support", "0.3", "--report"]
    assert invoke([*line, str(tmp_path / name)]) == 2
    assert ("HTML" in (said := capsys.readouterr()).err, said.out) == (True, "")
    assert (tmp_path / "shop.dat").read_text() == (tmp_path / "data.html").read_text() == "a b\nb\n"
    for _ in range(2):  # the page of before is replaced
        assert invoke([*line, str(tmp_path / "rules.html")]) == 0
        assert (tmp_path / "rules.html").read_text().startswith("<!doctype html>")


def test_baskets_of_a_later_day_are_not_joined_to_those_that_have_their_numbers(tmp_path, capsys):
    for name, text in {
        "first": "a b\nc d\n", "second": "e f\n", "part": "a\n", "numbered": "7 e f\n", "grown": "a b\nc d\ne f\n"
    }.items():  # fmt: skip
        (tmp_path / f"{name}.dat").write_text(text)
    store = ["--store", str(tmp_path / "store")]
    assert invoke(["run", str(tmp_path / "first.dat"), "--format", "baskets", *store]) == 0
    for other in ("second", "part"):
        capsys.readouterr()
        assert invoke(["update", str(tmp_path / f"{other}.dat"), *store]) == 2
        assert "basket 1 is another one than basket 1 of the run" in capsys.readouterr().err
    bicliq.enumerate([["a", "b"]], format="baskets", store=tmp_path / "lists")
    with pytest.raises(InputError, match=r"list of baskets: basket . is another one"):
        bicliq.update(tmp_path / "lists", [["x", "y", "z"]])
    for more in (["numbered.dat", "--format", "baskets", "--left", "0"], ["grown.dat"]):
        assert invoke(["update", str(tmp_path / more[0]), *more[1:], *store]) == 0
        capsys.readouterr()
    assert invoke(["rules", *store, "--min-support", "0.2", "--new-since", "parent", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["n_baskets"] == 4


def test_a_table_of_0_and_1_is_one_whose_first_rows_are_empty_and_whose_names_are_said(tmp_path):
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.random((60, 4)) < 0.5, columns=["jam", "tea", "oil", "rice"])
    expected = pairs(bicliq.itemsets(frame, 0.2))
    late = pd.concat([pd.DataFrame(False, index=range(25), columns=frame.columns), frame], ignore_index=True)
    late.astype(int).to_csv(tmp_path / "late.csv", index=False)
    for table in (late, late.astype(int), tmp_path / "late.csv"):
        found = bicliq.itemsets(table, 0.1)
        assert found.n_baskets == 85
    frame.insert(2, "customer", range(100, 160))
    assert pairs(bicliq.itemsets(frame, 0.2, left="customer")) == expected
    with pytest.raises(InputError, match="if 'customer' names the baskets, say left = 'customer'"):
        bicliq.itemsets(frame, 0.2)


def test_a_run_says_that_it_has_no_baskets_without_items(tmp_path, capsys):
    (tmp_path / "shop.dat").write_text("a b\n\nb\n")
    store = ["--store", str(tmp_path / "store")]
    assert invoke(["run", str(tmp_path / "shop.dat"), "--format", "baskets", *store]) == 0
    capsys.readouterr()
    assert invoke(["rules", *store, "--min-support", "0.3", "--json"]) == 0
    told = json.loads((said := capsys.readouterr()).out)
    assert (told["n_baskets"], "so 1 that were read are not counted" in told["assumed"][-1]) == (2, True)
    assert "are not counted" in said.err


def test_a_row_whose_counts_are_all_too_low_is_a_basket_still():
    counts = pd.DataFrame({"jam": [2, 1, 0, 3], "tea": [1, 1, 2, 0]})
    for table in (counts, sp.csr_matrix(counts.to_numpy())):
        found = bicliq.itemsets(table, 0.25, min_value=2, **({"format": "matrix"} if table is counts else {}))
        assert (found.n_baskets, sorted(found.to_pandas().support)) == (4, [0.25, 0.5])
        assert found.frequent.record["dropped"] == {"by_value": 3}


@pytest.mark.parametrize(
    ("baskets", "place", "counted"),
    [
        (SHOP, "list of baskets, basket 3: the basket is empty (1 of 4 are)", 4),
        ({"x": [], "y": ["jam"]}, "baskets by name, basket 'x': the basket is empty (1 of 2 are)", 2),
        (pd.Series([["jam"], []], index=["x", "y"]), "basket 'y'", 2),
        (pd.DataFrame({"basket": [1, 2], "items": [["jam"], []]}), "row 1", 2),
        (pa.table({"basket": ["x", "y", "z"], "items": [["jam"], [], ["tea"]]}), "row 1", 3),
        (pd.DataFrame({"basket": [1, 2, 3], "items": [["jam"], None, ["tea"]]}), "row 1", 3),
    ],
    ids=["list", "dict", "series", "frame", "arrow", "null"],
)
def test_an_empty_basket_in_memory_is_refused_with_its_place_or_counted(baskets, place, counted):
    with pytest.raises(InputError, match="with empty = 'count'") as refused:
        bicliq.rules(baskets, 0.1)
    assert place in str(refused.value)
    assert bicliq.itemsets(baskets, 0.1, empty="count").n_baskets == counted


@pytest.mark.parametrize(
    ("place", "text", "options", "counted"),
    [
        ("shop.dat, line 2: the basket is empty (2 of 4 are)", "jam,tea\n\n\ntea\n", ["--format", "baskets"], 4),
        ("shop.jsonl, line 2", '{"b": 1, "i": ["jam"]}\n{"b": 2, "i": []}\n', [], 2),
        ("shop.gmt, line 2", "set\tof\tTP53\nnone\tof\n", [], 2),
        ("shop.csv, line 3", "b,i\n1,[jam]\n2,[]\n3,[tea]\n", ["--split", ","], 3),
    ],
    ids=["lines", "jsonl", "gmt", "csv"],
)
@pytest.mark.parametrize("command", ["itemsets", "rules"])
def test_an_empty_basket_of_a_file_is_refused_with_its_place_or_counted(
    tmp_path, capsys, command, place, text, options, counted
):
    (tmp_path / place.split(",")[0]).write_text(text)
    line = [command, str(tmp_path / place.split(",")[0]), "--min-support", "0.1", *options]
    assert invoke(line) == 2
    said = capsys.readouterr()
    assert (place in said.err, "with --empty count" in said.err, said.out) == (True, True, "")
    assert invoke([*line, "--empty", "count", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["n_baskets"], record["empty"]) == (counted, "count")


def test_empty_baskets_are_refused_or_counted_and_nothing_else(tmp_path):
    with pytest.raises(InputError, match="empty = 'drop' is none of refuse, count"):
        bicliq.itemsets(SHOP, 0.1, empty="drop")
    run = bicliq.enumerate(SHOP[:3], format="baskets", store=tmp_path / "store")
    with pytest.raises(InputError, match="holds no baskets without items; leave it out"):
        bicliq.rules(run, 0.4, empty="count")
