"""The best groups with gaps against all L × R of small tables."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bicliq import kernels
from tests.nightly import drawn
from tests.property.graphs import Graph, random_graphs

MANY = settings(max_examples=drawn(2000), deadline=None, suppress_health_check=list(HealthCheck))

Members = tuple[int, ...]


class Reference:
    """All groups of a table with at most so many gaps, by the definition."""

    def __init__(self, graph: Graph, by: str, missing: int, each: int, least: tuple[int, int]) -> None:
        self.edges, self.by, self.missing, self.each, self.least = set(graph.edges), by, missing, each, least
        self.vertices = [sorted({edge[side] for edge in graph.edges}) for side in (0, 1)]

    def gaps(self, left: Members, right: Members) -> list[tuple[int, int]]:
        return [(u, v) for u in left for v in right if (u, v) not in self.edges]

    def allowed(self, left: Members, right: Members) -> bool:
        gaps = self.gaps(left, right)
        most = max((sum(x in pair for pair in gaps_of) for gaps_of, x in self._by_member(gaps)), default=0)
        return len(gaps) <= self.missing and most <= self.each

    @staticmethod
    def _by_member(gaps: list[tuple[int, int]]) -> Any:
        for side in (0, 1):
            for x in {gap[side] for gap in gaps}:
                yield [(gap[side],) for gap in gaps], x

    def worth(self, left: Members, right: Members) -> tuple[int, int]:
        n, k = len(left), len(right)
        edges = n * k - len(self.gaps(left, right))
        return {"edges": edges, "vertices": n + k, "balanced": min(n, k)}[self.by], edges

    def cannot_be_bettered(self, left: Members, right: Members) -> bool:
        worth = self.worth(left, right)
        for u in set(self.vertices[0]) - set(left):
            if self.allowed((*left, u), right) and self.worth((*left, u), right) > worth:
                return False
        for v in set(self.vertices[1]) - set(right):
            if self.allowed(left, (*right, v)) and self.worth(left, (*right, v)) > worth:
                return False
        for u in left:
            if len(left) > self.least[0] and self.worth(tuple(x for x in left if x != u), right) >= worth:
                return False
        for v in right:
            if len(right) > self.least[1] and self.worth(left, tuple(x for x in right if x != v)) >= worth:
                return False
        return True

    def best(self, k: int, sizes: dict[str, int]) -> list[tuple[Any, ...]]:
        found = []
        most = [sizes.get(name, 10**9) for name in ("max_left", "max_right")]
        for left in _subsets(self.vertices[0], self.least[0], most[0]):
            for right in _subsets(self.vertices[1], self.least[1], most[1]):
                if not self.allowed(left, right):
                    continue
                worth = self.worth(left, right)
                if worth[1] >= sizes.get("min_edges", 1) and self.cannot_be_bettered(left, right):
                    found.append(((-worth[0], -worth[1], len(self.gaps(left, right)), left, right), worth[0]))
        return [(value, *key[3:], self.gaps(*key[3:])) for key, value in sorted(found)[:k]]


def _subsets(of: list[int], least: int, most: int) -> list[Members]:
    return [members for n in range(least, min(len(of), most) + 1) for members in combinations(of, n)]


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
    assert found.proven
    for group in found.groups:
        assert kernels.missing_pairs(*graph.csr[:2], group.left, group.right).tolist() == group.missing.tolist()  # type: ignore[union-attr]
    expected = Reference(graph, by, missing, missing if each is None else each, least).best(k, others)
    assert [
        (group.value, tuple(group.left), tuple(group.right), [tuple(pair) for pair in group.missing.tolist()])  # type: ignore[union-attr]
        for group in found.groups
    ] == expected


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


def test_dense_tables_of_all_sizes() -> None:
    """First answers hide what a search leaves out: it shows where a few hundred tables are full."""
    for seed in range(drawn(6000)):
        random = np.random.default_rng(seed)
        matrix = random.random(random.integers(3, 7, 2)) < random.choice([0.3, 0.5, 0.6, 0.7, 0.8, 0.9])
        edges = tuple((int(u), int(v)) for u, v in np.argwhere(matrix))
        least, each = (int(random.integers(1, 5)), int(random.integers(1, 5))), int(random.integers(0, 5))
        by = ("edges", "vertices", "balanced")[random.integers(3)]
        k = int(random.choice([1, 1, 2, 3, 10, 50]))
        graph = Graph(*matrix.shape, edges)
        check(graph, by, int(random.integers(0, 7)), None if each == 4 else each, least, k, {})
