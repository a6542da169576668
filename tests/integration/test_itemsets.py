"""Itemsets and rules through the doors that people use: Python, the command line, files."""

from __future__ import annotations

import csv
import json
import signal
import threading
import time
from fractions import Fraction

import fsspec
import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import bicliq
from bicliq import kernels
from bicliq.flows.cli import invoke
from bicliq.flows.rules import rules_flow
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.graphs.reduce import reduce
from bicliq.pipeline.results.itemsets_asked import METRICS
from tests.integration.server import artifacts, ask
from tests.nightly import part_of
from tests.real_graphs import load
from tests.reference import itemsets as reference

SHOP = [["jam", "tea"], ["jam", "tea", "wine"], ["tea"], []]
ONE_HOT = pd.DataFrame(
    {"jam": [True, True, False, False], "tea": [True, True, True, False], "wine": [False, True, False, False]}
)

GROCERIES = [
    ["Milk", "Onion", "Nutmeg", "Kidney Beans", "Eggs", "Yogurt"],
    ["Dill", "Onion", "Nutmeg", "Kidney Beans", "Eggs", "Yogurt"],
    ["Milk", "Apple", "Kidney Beans", "Eggs"],
    ["Milk", "Unicorn", "Corn", "Kidney Beans", "Yogurt"],
    ["Corn", "Onion", "Kidney Beans", "Ice cream", "Eggs"],
]
"""The table of mlxtend's documentation."""


def pairs(found) -> dict[frozenset, float]:
    frame = found.to_pandas()
    return dict(zip(frame["itemsets"], frame["support"], strict=True))


@pytest.mark.parametrize(
    "baskets",
    [
        SHOP,
        dict(enumerate(SHOP)),
        pd.Series(SHOP),
        [set(items) for items in SHOP],
        pd.DataFrame({"basket": [1, 2, 3, 4], "items": SHOP}),
        ONE_HOT,
        ONE_HOT.astype(int),
        ONE_HOT.astype(float),
        ONE_HOT.astype(pd.SparseDtype(bool)),
        ONE_HOT.set_axis(["x", "x", "y", "z"]),
        bicliq.from_matrix,
    ],
    ids=lambda baskets: type(baskets).__name__,
)
def test_every_form_of_baskets_gives_the_same_and_counts_the_empty_one(baskets):
    if baskets is bicliq.from_matrix:
        found = bicliq.itemsets(sp.csr_matrix(ONE_HOT.to_numpy().astype(int)), 0.25, kind="all")
        sets = {frozenset(ONE_HOT.columns[[*some]]): support for some, support in pairs(found).items()}
    else:
        found = bicliq.itemsets(baskets, 0.25, kind="all", empty="count")
        sets = pairs(found)
    every = reference.frequent([frozenset(items) for items in SHOP], 1)
    assert sets == {some: n / 4 for some, n in every.items()}
    assert found.n_baskets == 4
    assert found.frequent.record["n_empty"] == 1
    assert sum(found.account["noted"].values()) == 1


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("jam,tea\njam,tea,wine\n\ntea\n\n", ["--format", "baskets"]),
        ("jam tea\njam tea wine\n\ntea\n", ["--format", "baskets"]),
        ("jam,tea,wine\n1,1,0\n1,1,1\n0,0,0\n0,1,0\n", []),
        ('{"b": 1, "i": ["jam", "tea"]}\n{"b": 2, "i": ["jam", "tea", "wine"]}\n{"b": 3, "i": []}\n{"b": 4, "i": "tea"}\n', []),
    ],
    ids=["commas", "blanks", "one-hot", "jsonl"],
)  # fmt: skip
def test_files_of_baskets_count_the_empty_one_and_say_so(tmp_path, capsys, text, options):
    path = tmp_path / ("baskets.jsonl" if text.startswith("{") else "baskets.csv")
    path.write_text(text)
    count = ["--min-support", "0.5", "--empty", "count", *options]
    assert invoke(["itemsets", str(path), "--json", *count]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["itemsets"] == [
        {"support": 0.75, "itemsets": ["tea"], "count": 3},
        {"support": 0.5, "itemsets": ["jam", "tea"], "count": 2},
    ]
    assert (record["n_baskets"], record["n_empty"], record["found"], record["rows_read"]) == (4, 1, 2, 6)
    assert bool(record["assumed"]) == (not options and path.suffix == ".csv")
    assert invoke(["rules", str(path), *count]) == 0
    said = capsys.readouterr().out
    assert "4 baskets (1 without items)" in said
    assert "6 rows read: 0 repeat an item of a basket" in said


@pytest.mark.parametrize("frame", [ONE_HOT, ONE_HOT.astype(pd.SparseDtype(bool)), ONE_HOT[["tea"]], pa.table(ONE_HOT)])
def test_nothing_is_guessed_of_a_frame_of_true_and_false(frame):
    found = bicliq.itemsets(frame, 0.75)
    assert pairs(found) == {frozenset({"tea"}): 0.75}
    assert found.account["assumed"] == []


def test_the_groceries_of_mlxtends_documentation():
    found = bicliq.itemsets(GROCERIES, 0.6, kind="all")
    assert isinstance(found, bicliq.Itemsets)
    sets = pairs(found)
    assert sets == {
        frozenset(some.split("+")): support
        for some, support in {
            "Eggs": 0.8, "Kidney Beans": 1.0, "Milk": 0.6, "Onion": 0.6, "Yogurt": 0.6, "Eggs+Kidney Beans": 0.8,
            "Eggs+Onion": 0.6, "Kidney Beans+Milk": 0.6, "Kidney Beans+Onion": 0.6, "Kidney Beans+Yogurt": 0.6,
            "Eggs+Kidney Beans+Onion": 0.6,
        }.items()
    }  # fmt: skip
    rules = bicliq.rules(GROCERIES, 0.6, "confidence", 0.7, kind="all").to_pandas()
    assert list(rules.columns) == ["antecedents", "consequents", *METRICS]
    assert len(rules) == 12
    (row,) = rules[(rules.antecedents == {"Eggs"}) & (rules.consequents == {"Onion"})].to_dict("records")
    assert [row[name] for name in METRICS] == pytest.approx(
        [0.8, 0.6, 0.6, 0.75, 1.25, 1.0, 0.12, 1.6, 1.0, 0.75, 0.375, 0.875], abs=1e-12
    )
    kept = bicliq.rules(GROCERIES, 0.6, "lift", 1.2, kind="all").to_pandas()
    assert len(kept) == 6
    assert kept.lift.min() == pytest.approx(1.25)


def random_frame(seed):
    """A table as mlxtend takes it, a least support, and what drew them."""
    chance = np.random.default_rng(seed)
    size = int(chance.integers(3, 40)), int(chance.integers(2, 8))
    frame = pd.DataFrame(chance.random(size) < chance.uniform(0.2, 0.9, size[1]), columns=[*"abcdefgh"[: size[1]]])
    return frame, float(chance.choice([0.05, 0.1, 0.2, 0.35])), chance


@pytest.mark.parametrize("seed", part_of(range(1000, 1500), 25))
def test_mlxtend_gives_the_same(seed, record_property):
    patterns = pytest.importorskip("mlxtend.frequent_patterns", reason="mlxtend is not installed")
    frame, support, chance = random_frame(seed)
    theirs = patterns.apriori(frame, support, use_colnames=True)
    for kind, sets in (("all", theirs), ("maximal", patterns.fpmax(frame, support, use_colnames=True))):
        expected = dict(zip(sets["itemsets"], sets["support"], strict=True))
        assert pairs(bicliq.itemsets(frame, support, kind=kind)) == expected
    every = theirs if theirs.empty else patterns.association_rules(theirs, metric="support", min_threshold=0.0)
    if every.empty:
        assert len(bicliq.rules(frame, support, min_threshold=0, kind="all")) == 0
        return
    metric = METRICS[seed % len(METRICS)]
    least = every[metric].replace(np.inf, np.nan).quantile(chance.random()) - 1e-9  # what no rule has exactly
    for name, threshold in (("support", 0.0), (metric, least)):
        expected = patterns.association_rules(theirs, metric=name, min_threshold=threshold)
        found = bicliq.rules(frame, support, name, threshold, kind="all").to_pandas()
        assert list(expected.columns) == list(found.columns)
        numbers = [{row[:2]: row[2:] for row in one.itertuples(index=False, name=None)} for one in (expected, found)]
        assert numbers[0].keys() == numbers[1].keys()
        for sides, row in numbers[0].items():
            assert numbers[1][sides] == pytest.approx(row, rel=1e-12, abs=1e-12)
    record_property("sets", len(theirs))
    record_property("rules", len(every))


@pytest.mark.parametrize("seed", part_of(range(1000, 1500), 25))
def test_pyfim_gives_the_same_closed_and_maximal_sets(seed):
    fim = pytest.importorskip("fim", reason="pyfim is not installed")
    frame, support, _ = random_frame(seed)
    n, baskets = len(frame), [frame.columns[row].tolist() for row in frame.to_numpy()]
    for kind, target in (("closed", "c"), ("maximal", "m")):
        theirs = fim.fpgrowth(baskets, target=target, supp=-int(np.ceil(support * n - 1e-9)), report="a")
        found = bicliq.itemsets(frame, support, kind=kind).to_pandas()
        ours = dict(zip(found["itemsets"], found["count"], strict=True))
        most = n if kind == "maximal" else n - 1  # a closed set of all baskets is none to pyfim
        assert {some: count for some, count in ours.items() if count <= most} == {
            frozenset(items): count for items, count in theirs if count <= most
        }


def test_exact_and_approximate_rules_are_told_apart():
    rules = bicliq.rules(SHOP, 0.25, min_threshold=0.5, empty="count")
    assert isinstance(rules.exact, bicliq.Rules)
    assert len(rules) == len(rules.exact) + len(rules.approximate)
    assert set(rules.exact.to_arrow()["confidence"].to_pylist()) == {1.0}
    assert max(rules.approximate.to_arrow()["confidence"].to_pylist()) < 1
    everything = bicliq.rules(SHOP, 0.25, min_threshold=0.5, kind="all", empty="count")
    assert len(everything.exact) + len(everything.approximate) == len(everything) > len(rules)


def test_a_confidence_that_is_the_threshold_reaches_it():
    baskets = [["a", "b"]] * 4 + [["a"]] + [["c"]] * 2
    assert Fraction(4, 5) == Fraction("0.8")
    assert (4 / 7) / (5 / 7) < 0.8  # so mlxtend loses it
    rules = bicliq.rules(baskets, 0.1, min_threshold=0.8, kind="all", format="baskets")
    assert [row["confidence"] for row in rules if row["antecedents"] == ["a"]] == [0.8]


def test_rules_lead_to_the_items_that_are_asked_for(capsys, tmp_path):
    (tmp_path / "shop.csv").write_text("jam,tea\njam,tea,wine\ntea,wine\n")
    assert invoke(
        ["rules", str(tmp_path / "shop.csv"), "--format", "baskets", "--min-support", "0.3", "--min-threshold", "0",
         "--consequents", "tea", "--antecedents", "wine", "--json"]
    ) == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)["rules"]
    assert {(*row["antecedents"], "→", *row["consequents"]) for row in found} == {
        ("wine", "→", "tea"),
        ("wine", "→", "jam", "tea"),
        ("jam", "wine", "→", "tea"),
    }
    rare = bicliq.rules(SHOP, 0.5, consequents=["wine"], empty="count")
    assert len(rare) == 0
    assert rare.to_pandas().empty


@pytest.mark.parametrize("ending", ["parquet", "csv", "tsv", "xlsx", "jsonl"])
def test_files_hold_every_rule(tmp_path, ending):
    baskets = [["=1+1", "tea, green"], ["=1+1", "tea, green", 'a "b"'], ["x"]]
    rules = bicliq.rules(baskets, 0.3, min_threshold=0.5, format="baskets")
    path = tmp_path / f"rules.{ending}"
    written = rules.export(path)
    rows = rules.to_arrow().to_pylist()
    assert written.rows == len(rows) > 4
    if ending == "parquet":
        assert pq.read_table(path).to_pylist() == rows
    elif ending == "jsonl":
        found = [json.loads(line, parse_constant=pytest.fail) for line in path.read_text().splitlines()]
        assert [row["antecedents"] for row in found] == [row["antecedents"] for row in rows]
        assert {row["conviction"] for row in found if row["confidence"] == 1} == {None}
    elif ending == "xlsx":
        head, *cells = openpyxl.load_workbook(path)["rules"].iter_rows(values_only=True)
        assert list(head) == rules.schema.names
        assert [line[3] for line in cells] == [row["consequent support"] for row in rows]
    else:
        with path.open(newline="") as file:
            found = list(csv.DictReader(file, delimiter="," if ending == "csv" else "\t"))
        assert [float(row["lift"]) for row in found] == [row["lift"] for row in rows]
        texts = {row["antecedents"] for row in found} | {row["consequents"] for row in found}
        assert "'=1+1" in texts
        assert '"tea, green"' in texts
        assert written.guarded == sum(text.startswith("'") for row in found for text in row.values())
    with pytest.raises(bicliq.InputError, match="is there already"):
        rules.export(path)


def test_formats_of_groups_are_refused(tmp_path):
    with pytest.raises(bicliq.InputError, match="and not as graphml"):
        bicliq.itemsets(SHOP, 0.5, empty="count").export(tmp_path / "sets.graphml")


@pytest.mark.parametrize(
    ("baskets", "asked", "said"),
    [
        (SHOP, {"min_support": 2, "empty": "count"}, "2 of 4 baskets are 0.5"),
        (SHOP, {"min_support": 80, "empty": "count"}, "is above 1"),
        (SHOP, {"min_support": 1, "empty": "count"}, "write 1.0 for all, 0.25 for one"),
        (SHOP, {"min_support": 0}, "is not a share"),
        (SHOP, {"min_support": float("nan")}, "is not a share"),
        (SHOP, {"min_support": True}, "write a number"),
        (SHOP, {"min_support": 10**400}, "write a number"),
        (SHOP, {"kind": "open"}, "none of closed, maximal, all"),
        (SHOP, {"max_len": 0}, "at least one item"),
        (SHOP, {"max_len": "3"}, "max_len is '3'; it must be a whole number of at least 1"),
        (SHOP, {"max_len": 2.5}, r"max_len is 2\.5; it must be a whole number of at least 1"),
        (SHOP, {"use_colnames": True}, r"use_colnames: there is no such step.*bicliq\.itemsets\(baskets"),
        (ONE_HOT * 3, {}, "basket '0', item 'jam': the cell is 3.*min_value = 1"),
        (sp.csr_matrix(ONE_HOT.to_numpy() * 2), {}, "the cell is 2"),
        (ONE_HOT.where(ONE_HOT, np.nan).astype(float), {}, "row 2, column 'jam': a value is missing"),
        ([[], []], {}, "no rows"),
    ],
)
def test_what_is_no_question_about_itemsets_is_refused(baskets, asked, said):
    with pytest.raises(bicliq.InputError, match=said):
        bicliq.itemsets(baskets, **{"min_support": 0.25, **asked})


def test_counts_are_items_where_that_is_said():
    assert len(bicliq.itemsets(ONE_HOT * 3, 0.25, min_value=1)) == 3


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"metric": "conf"}, "none of antecedent support"),
        ({"min_threshold": 80}, "80 percent are 0.8"),
        ({"min_threshold": float("nan")}, "min_threshold = nan is no number"),
        ({"min_threshold": "0.8"}, "min_threshold = '0.8' is no number; write the least confidence, as 0.8"),
        ({"min_threshold": 10**400, "metric": "lift"}, "0 is no number; write the least lift"),
        ({"min_threshold": float("inf"), "metric": "conviction"}, "the confidence is 1"),
        ({"min_threshold": None, "metric": "lift"}, "min_threshold = None is no number; write the least lift"),
        ({"min_threshold": 1.0000001}, r"1\.0000001 is above 1, which no confidence is$"),
        ({"max_len": "3"}, "max_len is '3'; it must be a whole number of at least 2"),
        ({"max_len": 2.5}, r"max_len is 2\.5; it must be a whole number of at least 2"),
        ({"antecedents": 3}, r"antecedents = 3 is not a list of items; one item is \[3\]"),
        ({"use_colnames": True}, r"use_colnames: there is no such step.*bicliq\.rules\(baskets"),
        ({"min_confidence": 0.8}, "min_confidence: is min_threshold here"),
        ({"kind": "closed"}, "none of non-redundant, all"),
        ({"max_len": 1}, "an item on each side"),
        ({"consequents": "churn"}, r"one item is \['churn'\]"),
        ({"consequents": ["churn"]}, "no basket has the item 'churn'"),
        ({"antecedents": ["tea"], "consequents": ["tea"]}, "on both sides"),
    ],
)
def test_what_is_no_question_about_rules_is_refused(asked, said):
    with pytest.raises(bicliq.InputError, match=said):
        bicliq.rules(SHOP, 0.25, **asked, empty="count")


@pytest.mark.parametrize("form", ["to_pandas", "to_arrow", "to_polars", "as they are"])
def test_itemsets_are_no_baskets(form):
    found = bicliq.itemsets(SHOP, 0.25, kind="all", empty="count")
    given = getattr(found, form)() if form.startswith("to") else found
    with pytest.raises(bicliq.InputError, match=r"no such step here.*bicliq\.rules\(baskets, min_support=0\.01\)"):
        bicliq.rules(given, 0.25)


def test_pairs_in_columns_of_the_names_of_itemsets_are_baskets():
    frame = pd.DataFrame({"support": ["b1", "b1", "b2"], "itemsets": ["tea", "jam", "tea"]})
    for table in (frame, pa.table(frame)):
        assert pairs(bicliq.itemsets(table, 1.0)) == {frozenset({"tea"}): 1.0}


def test_what_is_no_question_about_found_itemsets_is_refused():
    found = bicliq.itemsets(SHOP, 0.25, empty="count")
    assert found.rows(["wine", "tea"]).to_pylist() == [1]
    for items, said in [
        ("jam", r"itemset = 'jam' is a text, and not a list of items; one item is \['jam'\]"),
        (["jam", "churn"], "itemset: no basket has the item 'churn'"),
        (None, "itemset = None is not a list"),
        ([], "itemset: has no items"),
    ]:
        with pytest.raises(bicliq.InputError, match=said):
            found.rows(items)
    assert found.top(1, by="count") == found.top(1)
    with pytest.raises(bicliq.InputError, match="by = 'lift' is none of support, count"):
        found.top(by="lift")
    with pytest.raises(bicliq.InputError, match="k is '3'; it must be a whole number"):
        found.top("3")


def test_no_side_is_no_demand_and_nothing_found_is_said():
    both = {"antecedents": None, "consequents": None, "empty": "count"}
    assert bicliq.rules(SHOP, 0.25, **both).to_arrow() == bicliq.rules(SHOP, 0.25, empty="count").to_arrow()
    assert repr(bicliq.itemsets([["a"], ["b"]], 0.9)) == "<no closed itemsets of 2 baskets>"
    assert repr(bicliq.rules(SHOP, 0.25, "lift", 9, consequents=["tea"], empty="count").exact) == (
        "<no non-redundant rules of 4 baskets with min support 0.25, min lift 9, consequent contains tea, exact ones alone>"
    )


def test_baskets_that_lost_their_items_are_told_of():
    found = bicliq.itemsets({"ann": ["jam", None], "bob": [None]}, 0.5, nulls="drop")
    assert found.n_baskets == 1
    assert "is not counted as one" in found.account["assumed"][-1]


def test_the_options_of_a_file_need_one_that_can_be(tmp_path, capsys):
    (tmp_path / "shop.csv").write_text("jam,tea\njam,tea,wine\n")
    for command in ("itemsets", "rules"):
        line = [command, str(tmp_path / "shop.csv"), "--format", "baskets", "--out"]
        assert invoke([*line, str(tmp_path / "x.json")]) == 2
        assert capsys.readouterr().err.endswith(
            "End the name on .parquet, .csv, .csv.gz, .tsv, .tsv.gz, .xlsx, .jsonl, .ndjson\n"
        )
        assert invoke([*line, str(tmp_path / "shop.csv")]) == 2
        assert capsys.readouterr().err.endswith("or replace it with --overwrite\n")
        assert invoke([command, str(tmp_path / "not.csv"), "--out", str(tmp_path / "not" / "x.csv")]) == 2
        assert "its folder is not there" in capsys.readouterr().err  # before the work
    with pytest.raises(bicliq.InputError, match=r"replace it with overwrite = True$"):
        bicliq.rules(SHOP, 0.5, empty="count").export(tmp_path / "shop.csv")
    assert invoke(["rules", str(tmp_path / "shop.csv"), "--format", "baskets", "--overwrite"]) == 2
    assert "--out" in capsys.readouterr().err


@pytest.mark.large
@pytest.mark.parametrize(
    ("name", "least", "n"),
    [("fimi-retail", 9, 189_077), ("T10I4D100K", 100, 26_806), ("T10I4D100K", 10, 283_397), ("T10I4D100K", 500, 1_073)],
)
def test_known_numbers_of_closed_sets(name, least, n):
    graph = reduce(load(name), least, 1).graph
    assert len(kernels.closed_itemsets(graph.indptr, graph.indices, graph.n_right, least)) == n


def test_rules_that_are_new_since_yesterday(tmp_path, capsys):
    store = str(tmp_path / "s")
    monday = {"b1": ["jam", "tea"], "b2": ["jam", "tea"], "b3": ["wine"]}
    tuesday = {"b4": ["rum", "wine"], "b5": ["rum", "wine", "tea"]}
    first = bicliq.enumerate(monday, store=store)
    bicliq.update(store, tuesday)
    now, asked = bicliq.open(store), {"min_support": 0.25, "min_threshold": 0.6}
    assert pairs(bicliq.itemsets(now, 0.25)) == pairs(bicliq.itemsets(monday | tuesday, 0.25))
    for kind in ("all", "non-redundant"):
        found = bicliq.rules(now, kind=kind, **asked)
        whole = bicliq.rules(monday | tuesday, kind=kind, **asked).to_pandas()
        key = ["antecedents", "consequents"]
        assert set(map(tuple, found.to_pandas()[key].to_numpy())) == set(map(tuple, whole[key].to_numpy()))
        new = found.new_since(bicliq.rules(first, kind=kind, **asked)).to_pandas()
        assert {frozenset(a | c) for a, c in new[key].to_numpy()} == {frozenset({"rum", "wine"})}
    line = ["rules", "--store", store, "--min-support", "0.25", "--min-threshold", "0.6", "--new-since", "parent"]
    capsys.readouterr()
    assert invoke([*line, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["new_since"] == first.run.run
    assert [(row["antecedents"], row["consequents"]) for row in record["rules"]] == [
        (["rum"], ["wine"]),
        (["wine"], ["rum"]),
    ]
    assert invoke([*line, "--run", first.run.run[:6]]) == 2
    assert "has no parent" in capsys.readouterr().err
    assert invoke(["rules", "t.csv", "--new-since", "parent"]) == 2
    assert "name no file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sizes", "support"), [({"min_right": 2}, 0.4), ({"min_left": 3}, 0.4), ({"max_bicliques": 1}, 0.4)]
)
def test_a_run_without_all_itemsets_is_refused(tmp_path, sizes, support):
    groups = bicliq.enumerate(dict(enumerate(SHOP)), store=str(tmp_path / "s"), **sizes)
    with pytest.raises(InputError, match=r"does not hold all itemsets of support 0\.4"):
        bicliq.rules(groups, support)
    with pytest.raises(InputError, match="taken whole"):
        bicliq.rules(groups.where(min_left=2), support)


def test_few_items_are_found_without_the_closed_sets_of_many(tmp_path):
    chance = np.random.default_rng(7)
    dense = pd.DataFrame(chance.random((60, 60)) < 0.9)  # 10**9 closed sets, and more
    found = bicliq.itemsets(dense, 0.5, kind="all", max_len=3).to_pandas()
    assert found["itemsets"].map(len).value_counts().to_dict() == {1: 60, 2: 1770, 3: 34220}
    rules = bicliq.rules(dense, 0.5, max_len=2, min_threshold=0.9).to_pandas()
    cells = dense.to_numpy()
    for row in rules.head(50).itertuples():
        (a,), (b,) = row.antecedents, row.consequents
        both = (cells[:, int(a)] & cells[:, int(b)]).sum()
        assert row.confidence == both / cells[:, int(a)].sum()


def test_an_interrupt_ends_the_search_for_generators(request):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a server of another test took it
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    chance = np.random.default_rng(3)
    columns = np.argsort(chance.random((4000, 400)), axis=1)[:, :60]
    closed = kernels.ClosedSets(np.arange(4001) * 60, np.sort(columns, axis=1).ravel(), np.arange(4000, 0, -1), 400)
    threading.Timer(1.0, signal.raise_signal, [signal.SIGINT]).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        next(closed.rules())
    assert time.monotonic() - started < 20  # the whole takes minutes


def test_the_flow_of_rules_says_what_is_new_since_the_version_before(tmp_path, prefect_server):
    store = str(tmp_path / "s")
    first = bicliq.enumerate({"b1": ["jam", "tea"], "b2": ["jam", "tea"]}, store=store)
    bicliq.update(store, {"b3": ["rum", "oil"]})
    asked = {"min_support": 0.3, "min_threshold": 0.9}
    record = rules_flow(asked=asked, settings={"store": store}, new_since="parent")
    assert {tuple(sorted(rule["antecedents"] + rule["consequents"])) for rule in record["rules"]} == {("oil", "rum")}
    assert record["new_since"] == first.run.run
    assert "new since run" in fsspec.open(record["report"], "rt").open().read()
    assert artifacts(prefect_server)["rules"]["type"] == "table"
    with pytest.raises(InputError, match="consequents = 'rum' is a text"):
        rules_flow(asked={**asked, "consequents": "rum"}, settings={"store": store})
    source = str(tmp_path / "no.csv")
    with pytest.raises(InputError, match="name no file"):
        rules_flow(source, asked, {"store": store}, first.run.run)
    rules_flow(asked=asked, settings={"store": store}, run=first.run.run)
    for of in ("the latest run", source, f"run {first.run.run}"):
        assert ask(f"{prefect_server}/flow_runs/filter", {"flow_runs": {"name": {"any_": [f"rules of {of}"]}}}), of
    assert invoke(["verify", "--store", store]) == 0
