"""Covers and weights of edges against a greedy choice among all maximal bicliques, listed."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bicliq import kernels
from bicliq.kernels.surprise import SURPRISE_UNIT
from tests.nightly import drawn
from tests.property.graphs import Graph, broad_graphs, hub_graphs, random_graphs, tall_graphs
from tests.reference.brute_force import maximal_bicliques
from tests.reference.chance import cost, worth

MANY = settings(max_examples=drawn(600), deadline=None, suppress_health_check=list(HealthCheck))
SOME = settings(max_examples=drawn(150), deadline=None, suppress_health_check=list(HealthCheck))
FEW = settings(max_examples=drawn(60), deadline=None, suppress_health_check=list(HealthCheck))

Weights = dict[tuple[int, int], int]
Found = tuple[int, list[int], list[int]]


def surprises(graph: Graph) -> Weights:
    """What each edge adds to the surprise of a block, in units of `SURPRISE_UNIT`."""
    pairs = np.array(graph.edges, dtype=np.int64).reshape(-1, 2)
    degrees = [
        np.bincount(ends, minlength=n) for ends, n in ((pairs[:, 0], graph.n_left), (pairs[:, 1], graph.n_right))
    ]
    terms = kernels.SurpriseTerms.of_degrees(*degrees)
    return {edge: worth(terms, [edge]) for edge in graph.edges}


def bicliques(graph: Graph, sizes: dict[str, int]) -> list[tuple[list[int], list[int]]]:
    """All maximal bicliques of these sizes."""
    return [
        (sorted(left), sorted(right))
        for left, right in maximal_bicliques(graph.edges, graph.n_left)
        if sizes.get("min_left", 1) <= len(left) <= sizes.get("max_left", 10**9)
        and sizes.get("min_right", 1) <= len(right) <= sizes.get("max_right", 10**9)
        and len(left) * len(right) >= sizes.get("min_edges", 1)
    ]


def ranked(
    groups: list[tuple[list[int], list[int]]], weights: Weights, of: tuple[int, int] | None = None
) -> list[Found]:
    """The heaviest first; of equal ones that with more edges, then with the smaller left list.

    Where blocks are chosen `of` so many vertices, each costs that.
    """

    def chosen(left: list[int], right: list[int]) -> int:
        return 0 if of is None else cost(of[0], len(left)) + cost(of[1], len(right))

    valued = [
        (sum(weights[pair] for pair in product(left, right)) - chosen(left, right), left, right)
        for left, right in groups
    ]
    return sorted(valued, key=lambda found: (-found[0], -len(found[1]) * len(found[2]), found[1]))


def greedy_cover(
    groups: list[tuple[list[int], list[int]]], weights: Weights, k: int, of: tuple[int, int] | None = None
) -> list[Found]:
    """Again and again the group whose edges weigh most, after which they weigh nothing."""
    left_over, chosen = dict(weights), []
    while groups and len(chosen) < k:
        best = ranked(groups, left_over, of)[0]
        if best[0] < 1:
            break
        chosen.append(best)
        left_over |= dict.fromkeys(product(best[1], best[2]), 0)
    return chosen


def found(graph: Graph, k: int, unit: float = 1.0, **options: Any) -> list[Found]:
    result = kernels.top_bicliques(*graph.csr, k, **options)
    assert result.proven
    return [(round(g.value / unit), g.left.tolist(), g.right.tolist()) for g in result.groups]


def check(graph: Graph, k: int, seed: int, sizes: dict[str, int], threads: int = 1) -> None:
    random = np.random.default_rng(seed)
    edges = sorted(graph.edges)
    ones = dict.fromkeys(edges, 1)
    given_weights = dict(zip(edges, random.integers(-3, 9, len(edges)).tolist(), strict=True))
    as_array = np.array([given_weights[edge] for edge in edges], np.int64)
    groups = bicliques(graph, sizes)
    present = len({u for u, _ in edges}), len({v for _, v in edges})
    for side in ("left", "right"):
        options: dict[str, Any] = {"side": side, "threads": threads, **sizes}
        cover = options | {"diverse": True}
        assert found(graph, k, **cover) == greedy_cover(groups, ones, k)
        assert found(graph, k, SURPRISE_UNIT, objective="surprise", **cover) == greedy_cover(
            groups, surprises(graph), k, present
        )
        heavy = {"objective": "weight", "edge_weights": as_array}
        assert found(graph, k, **heavy, **options) == ranked(groups, given_weights)[:k]
        assert found(graph, k, **heavy, **cover) == greedy_cover(groups, given_weights, k)


@st.composite
def some_sizes(draw: st.DrawFn) -> dict[str, int]:
    names = draw(st.lists(st.sampled_from(["min_left", "min_right", "min_edges", "max_left", "max_right"]), max_size=2))
    return {name: draw(st.integers(1, 9 if name == "min_edges" else 4)) for name in names}


@MANY
@given(random_graphs(), st.integers(1, 12), st.integers(0, 2**32), some_sizes())
def test_covers_of_small_graphs_are_those_of_greed_among_all(
    graph: Graph, k: int, seed: int, sizes: dict[str, int]
) -> None:
    check(graph, k, seed, sizes)


@SOME
@given(st.one_of(tall_graphs(), hub_graphs()), st.integers(1, 8), st.integers(0, 2**32), some_sizes())
def test_covers_of_tall_graphs_and_hubs_are_those_of_greed_among_all(
    graph: Graph, k: int, seed: int, sizes: dict[str, int]
) -> None:
    check(graph, k, seed, sizes)


@FEW
@given(broad_graphs(), st.integers(1, 5), st.integers(0, 2**32), some_sizes())
def test_covers_of_broad_graphs_are_those_of_greed_among_all(
    graph: Graph, k: int, seed: int, sizes: dict[str, int]
) -> None:
    check(graph, k, seed, sizes)


@FEW
@given(st.one_of(random_graphs(), tall_graphs(), hub_graphs()), st.integers(1, 8), st.integers(0, 2**32))
def test_threads_find_the_same_cover(graph: Graph, k: int, seed: int) -> None:
    check(graph, k, seed, {}, threads=2)


@SOME
@given(random_graphs())
def test_a_whole_cover_holds_every_edge_once(graph: Graph) -> None:
    groups = kernels.top_bicliques(*graph.csr, 1000, diverse=True).groups
    held: set[tuple[int, int]] = set()
    for group in groups:
        before = len(held)
        held |= set(product(group.left.tolist(), group.right.tolist()))
        assert (group.value, group.covered) == (len(held) - before, len(held))
    assert held == set(graph.edges)


def test_weights_that_are_fractions_keep_their_unit() -> None:
    best = kernels.top_bicliques([0, 2, 4], [0, 1, 0, 1], 2, 1, "weight", edge_weights=[0.5, 0.25, 1.0, 2.0])
    assert best.groups[0].value == pytest.approx(3.75, rel=1e-12)


def crowded(n: int) -> tuple[np.ndarray, np.ndarray, int]:
    """A graph in which every other pair is an edge: its best biclique takes seconds and more."""
    left, right = np.nonzero(np.random.default_rng(1).random((n, n)) < 0.5)
    return np.concatenate([[0], np.cumsum(np.bincount(left, minlength=n))]), right, n


def test_a_cover_that_is_out_of_time_keeps_its_steps() -> None:
    result = kernels.top_bicliques(*crowded(300), 50, diverse=True, time_limit=0.3)
    assert not result.proven
    assert len(result.groups) < 50
    assert all(group.covered is not None for group in result.groups)


def test_who_waits_for_a_cover_is_told_the_groups_that_stand() -> None:
    for seconds in (2, 8, 32):  # steps of milliseconds, or of seconds with the checks of a sanitizer
        told: list[kernels.FindProgress] = []
        result = kernels.top_bicliques(*crowded(60), 1000, diverse=True, time_limit=seconds, progress=told.append)
        if told[-1].groups:
            break
    found = [(list(group.left), list(group.right), group.value, group.covered) for group in result.groups]
    for state in told:
        known = [(list(group.left), list(group.right), group.value, group.covered) for group in state.groups]
        assert known == found[: len(known)]
        assert 0 <= state.roots_done <= state.n_roots
    assert [len(state.groups) for state in told] == sorted(len(state.groups) for state in told)
    assert told[-1].groups


def test_who_waits_for_the_best_is_told_the_best_so_far() -> None:
    told: list[kernels.FindProgress] = []
    kernels.top_bicliques(*crowded(300), 3, time_limit=1, progress=told.append)
    values = [group.value for state in told for group in state.groups]
    assert values
    assert values == sorted(values)


def test_an_error_of_who_is_told_ends_the_search() -> None:
    with pytest.raises(ZeroDivisionError):
        kernels.top_bicliques(*crowded(300), 3, progress=lambda state: 1 / 0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"objective": "vertices", "diverse": True}, "sum over edges"),
        ({"objective": "weight", "diverse": True, "left_weights": [1, 1, 1]}, "sum over edges"),
        ({"objective": "weight", "diverse": True}, "needs edge_weights"),
        ({"objective": "weight", "edge_weights": [1, 2]}, "5 numbers, one an edge"),
        ({"objective": "edges", "edge_weights": [1, 2, 3, 4, 5]}, "weights are for objective 'weight'"),
        ({"objective": "weight", "edge_weights": [1] * 5, "right_weights": [1, 1]}, "not both"),
    ],
)
def test_wrong_arguments_of_covers_are_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        kernels.top_bicliques([0, 2, 4, 5], [0, 1, 0, 1, 0], 2, **options)


def test_no_more_surprising_groups_are_chosen_than_are_asked_for() -> None:
    """Small random graphs have hardly one above 0."""
    blocks = tuple((6 * block + u, 6 * block + v) for block in range(5) for u in range(6) for v in range(6))
    chosen = [found(Graph(30, 30, blocks), k, SURPRISE_UNIT, objective="surprise", diverse=True) for k in (2, 5, 9)]
    assert [len(groups) for groups in chosen] == [2, 5, 5]


@st.composite
def overlapping_blocks(draw: st.DrawFn) -> Graph:
    """Blocks that share members and edges, a few edges by lot, and pairs that nobody shares."""
    edges = {(60 + n, 60 + n) for n in range(300)}
    for _ in range(draw(st.integers(3, 9))):
        sides = [(draw(st.integers(0, 40)), draw(st.integers(4, 9))) for _ in range(2)]
        edges |= set(product(*(range(first, first + n) for first, n in sides)))
    lots = draw(st.lists(st.tuples(st.integers(0, 25), st.integers(0, 25)), max_size=20))
    return Graph(360, 360, tuple(sorted(edges.union(lots))))


@SOME
@given(overlapping_blocks(), st.integers(1, 7), st.integers(0, 99))
def test_covers_beyond_chance_count_no_edge_twice(graph: Graph, k: int, least: int) -> None:
    """What groups add is what all their edges are worth, each once, less what choosing costs."""
    worths, present = surprises(graph), (len({u for u, _ in graph.edges}), len({v for _, v in graph.edges}))
    expected = [each for each in greedy_cover(bicliques(graph, {}), worths, k, present) if each[0] >= least << 20]
    for side in ("left", "right"):
        asked: dict[str, Any] = {"objective": "surprise", "diverse": True, "side": side, "min_value": float(least)}
        cover = found(graph, k, SURPRISE_UNIT, **asked)
        assert cover == expected
    covered = {pair for _, left, right in cover for pair in product(left, right)}
    costs = sum(cost(present[0], len(left)) + cost(present[1], len(right)) for _, left, right in cover)
    assert sum(value for value, _, _ in cover) == sum(worths[pair] for pair in covered) - costs


def test_what_fell_below_all_that_was_asked_for_is_searched_beside_the_rest() -> None:
    """The second best shares edges with the best, so that the third adds more."""
    sides = [(range(9), range(9)), (range(5, 14), range(5, 14)), (range(20, 25), range(20, 27))]
    edges = {(60 + n, 60 + n) for n in range(300)}.union(*(set(product(*block)) for block in sides))
    graph = Graph(360, 360, tuple(sorted(edges)))
    first, second, third = (tuple(map(list, block)) for block in sides)
    for k, diverse, expected in ((3, False, [first, second, third]), (2, True, [first, third])):
        chosen = found(graph, k, SURPRISE_UNIT, objective="surprise", diverse=diverse)
        assert [(left, right) for _, left, right in chosen] == expected
