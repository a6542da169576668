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
from tests.property.graphs import Graph, random_graphs, tall_graphs

RANDOM = np.random.default_rng(8)
LOTS = sorted({(f"u{u}", f"i{v}") for u, v in zip(*RANDOM.integers(0, [[300], [200]], (2, 2000)), strict=True)})
RING = [(f"u{u}", f"i{v}") for u in range(6) for v in range(7)]


def baskets(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    lists: dict[str, list[str]] = {}
    for who, what in sorted(set(pairs)):
        lists.setdefault(who, []).append(what)
    return lists


@settings(max_examples=100, deadline=None)
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


def test_a_time_limit_ends_the_comparison_and_that_is_said(caplog: pytest.LogCaptureFixture) -> None:
    few = bicliq.find(baskets(LOTS + RING), top=1, by="surprise", null=100_000, time_limit=1)
    assert 0 < few.record["null"]["tables"] < 100_000
    assert "the time limit ended the comparison" in caplog.text


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
