"""Groups in step beside chance: what each adds and what random tables have, by the definition."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from math import log
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import bicliq
from bicliq import kernels
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.graphs.dealt import Dealer
from tests.property.test_in_step import FEW, sizes, tables
from tests.reference.in_step import Action, beyond_chance, chance_in_window, groups_in_step

windows = st.sampled_from([0, 1, 3, 100])
RING = [(u, r, 50 * r + u) for u in range(3) for r in range(3)] + [(u, r, 900 * u) for u in (3, 4) for r in range(3)]


def asked_of(length: int, least: tuple[int, int, int], **more: Any) -> dict[str, Any]:
    names = dict(zip(("min_left", "min_right", "min_edges"), least, strict=True))
    return {"left": "who", "right": "what", "time": "at", "in_step": f"{length}s", **names, **more}


def table_of(rows: list[Action]) -> pa.Table:
    return pa.table(dict(zip(("who", "what", "at"), map(list, zip(*rows, strict=True)), strict=True)))


class Worth:
    """What groups are worth, and their pairs, from the definition; p is that without times."""

    def __init__(self, rows: list[Action], length: int) -> None:
        self.rows, self.length = sorted(set(rows)), length
        pairs = {row[:2] for row in self.rows}
        self.ids = [sorted({pair[side] for pair in pairs}) for side in (0, 1)]
        degrees = ([sum(p[side] == v for p in pairs) for v in self.ids[side]] for side in (0, 1))
        self.terms = kernels.SurpriseTerms.of_degrees(*degrees)

    def of(self, left: frozenset[int], right: frozenset[int]) -> float:
        ids = ([self.ids[side].index(v) for v in sorted(members)] for side, members in enumerate((left, right)))
        return beyond_chance(set(left), set(right), self.rows, self.length, self.terms.of_group(*ids)[0])

    def of_pairs(self, left: frozenset[int], right: frozenset[int]) -> dict[tuple[int, int], float]:
        found = {}
        for r in right:
            share, _ = chance_in_window(set(left), r, self.rows, self.length)
            for u in left:
                term = self.terms.pairs([self.ids[0].index(u)], [self.ids[1].index(r)])[0, 0] * self.terms.unit
                found[u, r] = term - log(share)
        return found


@FEW
@given(tables, windows, sizes, st.integers(1, 4))
@example(RING, 5, (1, 1, 1), 4)
def test_each_diverse_group_adds_most_surprise_to_those_before_it(rows, length, least, top):
    found = bicliq.find(table_of(rows), top=top, diverse=True, by="surprise", **asked_of(length, least))
    worth = Worth(rows, length)
    groups = groups_in_step(worth.rows, length, *least)
    alone = {group: (worth.of(*group), worth.of_pairs(*group)) for group in groups}
    covered: set[tuple[int, int]] = set()

    def adds(group: Any) -> float:
        value, pairs = alone[group]
        return value - sum(of_pair for pair, of_pair in pairs.items() if pair in covered)

    for told in found:
        group = frozenset(told["left"]), frozenset(told["right"])
        assert told["value"] == pytest.approx(adds(group), abs=2e-5)
        assert told["value"] == pytest.approx(max(map(adds, groups)), abs=2e-5)
        covered |= alone[group][1].keys()
        assert told["covered"] == len(covered)
        assert told["expected"] <= told["n_left"] * told["n_right"]
    assert len(found) == top or all(adds(group) < 2e-5 for group in groups)


def dealt(rows: list[Action], seed: int) -> list[Action]:
    """A random table of a seed: who acts is rewired, and dealt the times of a thing by lot."""
    left, right, time = (np.array(column) for column in zip(*rows, strict=True))
    (who, left), (what, right) = (np.unique(side, return_inverse=True) for side in (left, right))
    graph = BipartiteGraph.from_edges(*np.unique([left, right], axis=1), len(who), len(what))
    columns = kernels.rewire_rows(graph.indptr, graph.indices, graph.n_right, seed)
    new = Dealer(left.astype(np.int32), right.astype(np.int32), graph)(columns, seed)
    return list(zip(who[new].tolist(), what[right].tolist(), time.tolist(), strict=True))


@FEW
@given(tables, st.integers(0, 2**50))
def test_a_random_table_keeps_degrees_and_the_times_of_each_thing(rows, seed):
    rows = sorted(set(rows))
    random = dealt(rows, seed)
    for side in (0, 1):
        degrees = [Counter(pair[side] for pair in {row[:2] for row in table}) for table in (rows, random)]
        assert degrees[0] == degrees[1]
    bundles = []
    for table in (rows, random):
        by_pair = groupby(sorted(table, key=lambda row: (row[1], row[0], row[2])), key=lambda row: (row[1], row[0]))
        bundles.append(Counter((right, tuple(row[2] for row in some)) for (right, _), some in by_pair))
    assert bundles[0] == bundles[1]
    assert random == dealt(rows, seed)


def test_all_ways_to_deal_come_as_often():
    """Three accounts at one link: six ways to deal its three times."""
    tables = [tuple(row[0] for row in dealt([(0, 0, 1), (1, 0, 2), (2, 0, 3)], seed)) for seed in range(6000)]
    counts = Counter(tables)
    assert len(counts) == 6
    assert max(abs(n - 1000) for n in counts.values()) < 130  # 4.5 standard deviations


@FEW
@given(tables, windows, sizes, st.sampled_from(["edges", "surprise"]), st.integers(0, 99), st.sampled_from([1, 5]))
def test_p_is_the_share_of_tables_whose_best_group_is_worth_as_much(rows, length, least, by, seed, n):
    rows = sorted(set(rows))
    more = {"min_surprise": -1e9} if by == "surprise" else {}
    found = bicliq.find(table_of(rows), top=3, by=by, null=n, seed=seed, **asked_of(length, least), **more)
    best = []
    for number in range(n):
        random = dealt(rows, seed + number)
        worth = Worth(random, length)
        groups = groups_in_step(sorted(random), length, *least)
        values = [worth.of(*group) if by == "surprise" else len(group[0]) * len(group[1]) for group in groups]
        best.append(max(values, default=-np.inf))
    for group in found:
        above, near = (sum(value >= group["value"] + of for value in best) for of in (1e-5, -1e-5))
        assert (1 + above) / (1 + n) <= group["p"] <= (1 + near) / (1 + n)
    assert found.record["null"] == {
        "asked": n,
        "tables": n if len(found) else 0,
        "seed": seed,
        "unproven": 0,
        "times": "dealt",
    }
