"""The best groups with gaps against all L × R of small tables."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import combinations
from math import comb, log
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bicliq import kernels
from tests.nightly import drawn
from tests.property.graphs import Graph, random_graphs

MANY = settings(max_examples=drawn(2000, 20), deadline=None, suppress_health_check=list(HealthCheck))

Members = tuple[int, ...]
UNIT = kernels.SurpriseTerms.unit


class Reference:
    """All groups of a table with at most so many gaps, by the definition."""

    def __init__(
        self,
        graph: Graph,
        by: str,
        missing: int,
        each: int,
        least: tuple[int, int] = (1, 1),
        containing: tuple[Members, Members] = ((), ()),
        **worth: Any,
    ) -> None:
        self.edges, self.by, self.missing, self.each, self.least = set(graph.edges), by, missing, each, least
        self.containing = containing
        # Each group is a neighbour of some others, which ask for the same of it.
        self.gaps, self.allowed, self.worth = cache(self._gaps), cache(self._allowed), cache(self._worth)
        self.vertices = [sorted({edge[side] for edge in graph.edges}) for side in (0, 1)]
        self.sums = by in ("weight", "surprise") or bool(worth.get("diverse"))
        shape = len(graph.csr[0]) - 1, graph.csr[2]
        gain, loss = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        self.weights = [worth.get(f"{side}_weights") for side in ("left", "right")]
        self.terms = None
        if by == "surprise":
            rows = np.diff(graph.csr[0])
            self.terms = kernels.SurpriseTerms.of_degrees(rows, np.bincount(graph.csr[1], minlength=shape[1]))
            gain = self.terms.pairs(range(shape[0]), range(shape[1]))
            loss = gain - np.add.outer(self.terms.left, self.terms.right)
        elif worth.get("edge_weights") is not None:
            for (u, v), weight in zip(sorted(graph.edges), worth["edge_weights"], strict=True):
                gain[u, v] = weight
        elif by == "edges":
            gain += 1
        self.gain, self.loss = gain.tolist(), loss.tolist()

    def _gaps(self, left: Members, right: Members) -> list[tuple[int, int]]:
        return [(u, v) for u in left for v in right if (u, v) not in self.edges]

    def _allowed(self, left: Members, right: Members) -> bool:
        gaps = self.gaps(left, right)
        if len(gaps) > self.missing:
            return False
        return all(n <= self.each for side in (0, 1) for n in Counter(gap[side] for gap in gaps).values())

    def _worth(self, left: Members, right: Members) -> tuple[int, int]:
        n, k, gaps = len(left), len(right), self.gaps(left, right)
        edges = n * k - len(gaps)
        if not self.sums:
            return {"edges": edges, "vertices": n + k, "balanced": min(n, k)}[self.by], edges
        value = sum(self.gain[u][v] for u in left for v in right if (u, v) in self.edges)
        value -= sum(self.loss[u][v] for u, v in gaps)
        for weights, members in zip(self.weights, (left, right), strict=True):
            value += 0 if weights is None else sum(int(weights[x]) for x in members)
        if self.terms is not None:
            m = len(gaps)
            value -= int(self.terms.left_costs[n] + self.terms.right_costs[k])
            value -= round(log(comb(n * k, m) * (m + 1) * (m + 2)) / UNIT)
        return value, 0

    def cannot_be_bettered(self, left: Members, right: Members) -> bool:
        worth, group = self.worth(left, right), (left, right)
        for side in (0, 1):
            for x in self.vertices[side]:
                inside = x in group[side]
                own = tuple(y for y in group[side] if y != x) if inside else tuple(sorted((*group[side], x)))
                other = (own, right) if side == 0 else (left, own)
                lacks = self.gaps((x,), right) if side == 0 else self.gaps(left, (x,))
                if inside and lacks and len(own) >= self.least[side] and x not in self.containing[side]:
                    if self.worth(*other) >= worth:
                        return False
                elif not inside and self.allowed(*other) and (not lacks or self.worth(*other) > worth):
                    return False
        return True

    def best(self, k: int, sizes: dict[str, int] | None = None) -> list[tuple[Any, ...]]:
        sizes = sizes or {}
        found = []
        most = [sizes.get(name, 10**9) for name in ("max_left", "max_right")]
        for left in _subsets(self.vertices[0], self.least[0], most[0], self.containing[0]):
            for right in _subsets(self.vertices[1], self.least[1], most[1], self.containing[1]):
                if len(left) * len(right) - len(self.gaps(left, right)) < sizes.get("min_edges", 1):
                    continue
                if self.allowed(left, right) and self.cannot_be_bettered(left, right):
                    worth = self.worth(left, right)
                    found.append(((-worth[0], -worth[1], len(self.gaps(left, right)), left, right), worth[0]))
        return [(value, *key[3:], self.gaps(*key[3:])) for key, value in sorted(found)[:k]]

    def cover(self, k: int) -> list[tuple[Any, ...]]:
        """Greed, the edges of groups before worth nothing."""
        found, covered = [], set()
        for _ in range(k):
            best = self.best(1)
            if not best or best[0][0] < 1:
                break
            held = [(u, v) for u in best[0][1] for v in best[0][2] if (u, v) in self.edges]
            covered |= set(held)
            for u, v in held:
                self.gain[u][v] = 0
            self.worth.cache_clear()
            found.append((*best[0], len(covered)))
        return found


def _subsets(of: list[int], least: int, most: int, with_: Members = ()) -> list[Members]:
    found = [members for n in range(least, min(len(of), most) + 1) for members in combinations(of, n)]
    return [members for members in found if set(with_) <= set(members)]


def _told(found: kernels.FindResult, unit: float = 1) -> list[tuple[Any, ...]]:
    assert found.proven
    return [
        (
            round(group.value / unit),
            tuple(group.left),
            tuple(group.right),
            [tuple(pair) for pair in group.missing.tolist()],
        )  # type: ignore[union-attr]
        for group in found.groups
    ]


def check(
    graph: Graph, by: Any, missing: int, each: int | None, least: tuple[int, int], k: int, others: dict[str, int]
) -> None:
    found = kernels.groups_with_gaps(
        *graph.csr,
        k,
        by,
        missing=missing,
        missing_each=each,
        min_left=least[0],
        min_right=least[1],
        threads=1 + k % 2,
        **others,  # type: ignore[arg-type]
    )
    for group in found.groups:
        assert kernels.missing_pairs(*graph.csr[:2], group.left, group.right).tolist() == group.missing.tolist()  # type: ignore[union-attr]
    expected = Reference(graph, by, missing, missing if each is None else each, least).best(k, others)
    assert _told(found) == expected


@MANY
@given(
    random_graphs(max_side=6),
    st.sampled_from(["edges", "vertices", "balanced"]),
    st.integers(0, 6),
    st.one_of(st.none(), st.integers(0, 3)),
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.sampled_from([1, 1, 2, 3, 7, 20]),
    st.dictionaries(st.sampled_from(["max_left", "max_right", "min_edges"]), st.integers(1, 6), max_size=2),
)
def test_the_best_with_gaps_are_the_first_of_all_that_cannot_be_bettered(
    graph: Graph, by: Any, missing: int, each: int | None, least: tuple[int, int], k: int, others: dict[str, int]
) -> None:
    check(graph, by, missing, each, least, k, others)


def _drawn_table(random: np.random.Generator) -> Graph:
    matrix = random.random(random.integers(3, 7, 2)) < random.choice([0.3, 0.5, 0.6, 0.7, 0.8, 0.9])
    return Graph(*matrix.shape, tuple((int(u), int(v)) for u, v in np.argwhere(matrix)))


def test_dense_tables_of_all_sizes() -> None:
    """First answers hide what a search leaves out: it shows where a few hundred tables are full."""
    for seed in range(drawn(6000, 24)):
        random = np.random.default_rng(seed)
        graph = _drawn_table(random)
        least, each = (int(random.integers(1, 5)), int(random.integers(1, 5))), int(random.integers(0, 5))
        by = ("edges", "vertices", "balanced")[random.integers(3)]
        k = int(random.choice([1, 1, 2, 3, 10, 50]))
        check(graph, by, int(random.integers(0, 7)), None if each == 4 else each, least, k, {})


def _weights(random: np.random.Generator, graph: Graph, kind: str) -> dict[str, Any]:
    n_left, n_right = len(graph.csr[0]) - 1, graph.csr[2]
    if kind == "edges":
        return {"edge_weights": random.integers(-2, 6, len(graph.edges))}
    sides = {"left_weights": random.integers(-2, 6, n_left), "right_weights": random.integers(-2, 6, n_right)}
    return {name: sides[name] for name in sides if kind in (name, "both")}


def test_weight_and_surprise_of_all_sizes() -> None:
    for seed in range(drawn(3000, 30)):
        random = np.random.default_rng(seed)
        graph = _drawn_table(random)
        if not graph.edges:
            continue
        by = random.choice(["weight", "surprise", "surprise"])
        kinds = ["edges", "both", "left_weights", "right_weights"]
        worth = _weights(random, graph, random.choice(kinds)) if by == "weight" else {}
        least = int(random.integers(1, 4)), int(random.integers(1, 4))
        missing, each = int(random.integers(1, 7)), int(random.integers(1, 4))
        k = int(random.choice([1, 1, 2, 3, 10, 50]))
        sizes = {
            name: int(random.integers(3, 7)) for name in ("max_left", "max_right", "min_edges") if random.random() < 0.2
        }
        sides = {"min_left": least[0], "min_right": least[1], "threads": 1 + seed % 2}
        found = kernels.groups_with_gaps(
            *graph.csr, k, by, missing=missing, missing_each=each, **sides, **sizes, **worth
        )
        expected = Reference(graph, by, missing, each, least, **worth).best(k, sizes)
        assert _told(found, UNIT if by == "surprise" else 1) == expected, seed


def test_groups_that_contain_members() -> None:
    for seed in (
        1229,
        *range(drawn(2000, 12)),
    ):  # the first: a member that all have, and that does not pay for its choice
        random = np.random.default_rng(seed)
        graph = _drawn_table(random)
        if not graph.edges:
            continue
        by = random.choice(["edges", "vertices", "balanced", "weight", "surprise"])
        worth = _weights(random, graph, random.choice(["edges", "both"])) if by == "weight" else {}
        sides = [np.unique([edge[side] for edge in graph.edges]) for side in (0, 1)]
        containing = tuple(tuple(sorted(map(int, random.permutation(ids)[: random.integers(0, 3)]))) for ids in sides)
        missing, each, k = int(random.integers(0, 5)), int(random.integers(1, 4)), int(random.choice([1, 2, 5, 50]))
        found = kernels.groups_with_gaps(
            *graph.csr, k, by, missing=missing, missing_each=each, containing=containing, **worth
        )
        if not missing:
            assert all(
                set(containing[0]) <= {*group.left} and set(containing[1]) <= {*group.right} for group in found.groups
            )
            continue
        expected = Reference(graph, by, missing, each, containing=containing, **worth).best(k)
        assert _told(found, UNIT if by == "surprise" else 1) == expected, seed


def test_covers_are_what_greed_takes() -> None:
    for seed in range(drawn(1800, 30)):
        random = np.random.default_rng(seed)
        graph = _drawn_table(random)
        if not graph.edges:
            continue
        by = random.choice(["edges", "weight", "surprise"])
        worth = _weights(random, graph, "edges") if by == "weight" else {}
        missing, each, k = int(random.integers(1, 7)), int(random.integers(1, 4)), int(random.integers(1, 6))
        found = kernels.groups_with_gaps(*graph.csr, k, by, missing=missing, missing_each=each, diverse=True, **worth)
        unit = UNIT if by == "surprise" else 1
        told = [(*each, group.covered) for each, group in zip(_told(found, unit), found.groups, strict=True)]
        assert told == Reference(graph, by, missing, each, diverse=True, **worth).cover(k), seed
