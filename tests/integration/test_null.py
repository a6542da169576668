"""Random tables of the same degrees, and what a question that is asked of a table finds there."""

from __future__ import annotations

import itertools
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bicliq
from bicliq import kernels
from bicliq.flows.cli import invoke
from tests.nightly import drawn
from tests.property.graphs import Graph, random_graphs, tall_graphs

RANDOM = np.random.default_rng(8)
LOTS = sorted({(f"u{u}", f"i{v}") for u, v in zip(*RANDOM.integers(0, [[300], [200]], (2, 2000)), strict=True)})
RING = [(f"u{u}", f"i{v}") for u in range(6) for v in range(7)]


def baskets(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {}
    for who, what in sorted(set(pairs)):
        lists.setdefault(who, []).append(what)
    return lists


def from_pairs(pairs: list[tuple[str, str]]) -> tuple[Any, Any, int]:
    """The CSR matrix of `baskets`, whose labels are sorted."""
    lists = baskets(pairs)
    items = sorted({item for basket in lists.values() for item in basket})
    rows = [sorted(items.index(item) for item in basket) for basket in lists.values()]
    return np.cumsum([0, *map(len, rows)]), np.concatenate(rows).astype(np.int32), len(items)


@settings(max_examples=drawn(100), deadline=None)
@given(st.one_of(random_graphs(), tall_graphs()), st.integers(0, 2**40))
def test_a_rewired_table_has_the_same_degrees_and_no_edge_twice(graph: Graph, seed: int) -> None:
    indptr, indices, n_right = graph.csr
    columns = kernels.rewire_rows(indptr, indices, n_right, seed)
    for first, last in itertools.pairwise(indptr):
        assert (np.diff(columns[first:last]) > 0).all()
    degrees = [np.bincount(np.asarray(of, np.int64), minlength=n_right).tolist() for of in (indices, columns)]
    assert degrees[0] == degrees[1]
    assert columns.tolist() == kernels.rewire_rows(indptr, indices, n_right, seed).tolist()


def test_all_tables_of_some_degrees_come_as_often() -> None:
    """Three rows of one entry each, in three columns: six tables."""
    drawn = [tuple(kernels.rewire_rows([0, 1, 2, 3], [0, 1, 2], 3, seed).tolist()) for seed in range(6000)]
    counts = [drawn.count(each) for each in set(drawn)]
    assert len(counts) == 6
    assert max(abs(n - 1000) for n in counts) < 130  # 4.5 standard deviations


def test_a_planted_ring_is_beyond_all_random_tables_and_the_largest_of_a_random_one_is_not() -> None:
    ring = bicliq.find(baskets(LOTS + RING), top=1, by="surprise", null=19, seed=3)
    assert [group["p"] for group in ring] == [1 / 20]
    assert ring.to_arrow()["p"].to_pylist() == [1 / 20]
    lots = bicliq.find(baskets(LOTS), top=1, by="edges", min_left=2, min_right=2, null=19, seed=3)
    assert next(group["p"] for group in lots) > 1 / 20
    again = bicliq.find(baskets(LOTS), top=1, by="edges", min_left=2, min_right=2, null=19, seed=3)
    assert list(again) == list(lots)


def test_the_command_says_what_p_is(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "shop.csv"
    path.write_text("".join(f"{u},{v}\n" for u, v in [("who", "what"), *sorted(set(LOTS + RING))]))
    asked = ["find", str(path), "--by", "surprise", "--top", "1", "--null", "9"]
    assert invoke(asked) == 0
    assert "the share of 9 random tables" in " ".join(capsys.readouterr().out.split())
    assert invoke([*asked, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["groups"][0]["p"] == 0.1
    assert record["null"] == {"asked": 9, "tables": 9, "seed": 0, "unproven": 0}


def test_a_count_is_beside_those_of_random_tables(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    table = baskets(LOTS + RING)
    found = bicliq.count(table, 3, 3, up_to=True, null=9, seed=4)
    graph = from_pairs(LOTS + RING)
    for (p, q), size in found.items():
        random = [
            kernels.count_bicliques(graph[0], kernels.rewire_rows(*graph, 4 + i), graph[2], p, q).count
            for i in range(9)
        ]
        assert size["count"] == bicliq.count(table, p, q)
        assert size["p"] == (1 + sum(n >= size["count"] for n in random)) / 10
        assert float(size["mean"]) == pytest.approx(np.mean(random), rel=1e-5)
        if size["z"] is None:
            assert len(set(random)) == 1
        else:
            assert size["z"] == pytest.approx((size["count"] - np.mean(random)) / np.std(random, ddof=1))
    assert found[1, 1]["z"] is None
    assert found[3, 3]["p"] == 0.1
    path = tmp_path / "shop.csv"
    path.write_text("".join(f"{u},{v}\n" for u, v in [("who", "what"), *sorted(set(LOTS + RING))]))
    assert invoke(["count", str(path), "3", "3", "--null", "9", "--seed", "4", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["counts"][0]["random"]["p"] == 0.1
    assert record["null"] == {"asked": 9, "tables": 9, "seed": 4}
    assert invoke(["count", str(path), "3", "3", "--null", "9"]) == 0
    assert "9 random tables of the same degrees" in " ".join(capsys.readouterr().out.split())


def test_bicliques_of_a_run_have_p(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path, store = tmp_path / "shop.csv", str(tmp_path / "store")
    path.write_text("".join(f"{u},{v}\n" for u, v in [("who", "what"), *sorted(set(LOTS + RING))]))
    assert invoke(["run", str(path), "--store", store, "--min-left", "2", "--min-right", "2"]) == 0
    capsys.readouterr()
    for command in (["top", "-k", "3"], ["show", "--size", "3"]):
        for by in ("edges", "balanced", "surprise"):
            assert invoke([*command, "--by", by, "--null", "9", "--seed", "2", "--store", store, "--json"]) == 0
            record = json.loads(capsys.readouterr().out)
            asked: dict[str, Any] = {"by": by, "min_left": 2, "min_right": 2, "null": 9, "seed": 2}
            found = list(bicliq.find(baskets(LOTS + RING), top=1, **asked))
            assert next(row["p"] for row in record["bicliques"]) == found[0]["p"]
            assert record["null"] == {"asked": 9, "tables": 9, "seed": 2, "unproven": 0}
    assert invoke(["top", "--by", "left", "--null", "9", "--store", store]) == 2
    assert "not for --by left" in capsys.readouterr().err
    assert invoke(["top", "--time-limit", "9", "--store", store]) == 2
    assert "for the random tables of --null" in capsys.readouterr().err


def test_random_tables_do_not_depend_on_the_threads_that_make_them() -> None:
    counts = [bicliq.count(baskets(LOTS), 2, 2, null=7, seed=1, threads=threads) for threads in (1, 3)]
    assert counts[0] == counts[1]


def test_a_time_limit_ends_the_comparison_and_that_is_said(caplog: pytest.LogCaptureFixture) -> None:
    few = bicliq.find(baskets(LOTS + RING), top=1, by="surprise", null=100_000, time_limit=1)
    assert 0 < few.record["null"]["tables"] < 100_000
    assert "the time limit ended the comparison" in caplog.text


def test_where_no_random_table_was_asked_there_is_no_p(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    none = bicliq.find(baskets(LOTS + RING), top=1, by="surprise", null=9, time_limit=1e-6, min_surprise=-99.0)
    assert none.record["null"]["tables"] == 0
    assert {group["p"] for group in none} <= {None}
    assert none.to_arrow().num_rows == len(list(none))
    (counted,) = bicliq.count(baskets(LOTS), 3, 3, null=9, time_limit=1e-6).values()
    assert (counted["mean"], counted["z"], counted["p"]) == (None, None, None)
    path = tmp_path / "lots.csv"
    path.write_text("".join(f"{u},{v}\n" for u, v in [("who", "what"), *LOTS]))
    assert invoke(["count", str(path), "3", "3", "--null", "9", "--time-limit", "0.000001"]) == 0
    assert invoke(["find", str(path), "--by", "edges", "--null", "9", "--time-limit", "0.000001"]) == 0
    assert invoke(["find", str(path), "--by", "surprise", "--null", "9"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "in 0 random tables" in said
    assert "no random table was asked: there is no group to compare" in said


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"null": -1}, "give 0 to 100,000 tables"),
        ({"null": 9, "containing": ["u1"]}, "not for a part of it"),
        ({"null": 9, "by": "weight", "left_weights": {"u1": 2.0}}, "not for by = 'weight'"),
        ({"seed": 9}, "seed = 9 is for null"),
    ],
)
def test_what_no_random_table_can_be_asked_is_refused(asked: dict[str, Any], said: str) -> None:
    with pytest.raises(bicliq.InputError, match=said):
        bicliq.find(baskets(LOTS), **asked)
