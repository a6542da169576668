"""The best bicliques against all of them, sorted."""

from __future__ import annotations

import os
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bicliq import kernels
from bicliq.kernels.surprise import SURPRISE_UNIT
from bicliq.kernels.worth import OBJECTIVES
from tests.nightly import drawn
from tests.property.graphs import Graph, broad_graphs, hub_graphs, random_graphs, tall_graphs
from tests.reference.brute_force import maximal_bicliques
from tests.reference.chance import cost, worth

MANY = settings(max_examples=drawn(600), deadline=None, suppress_health_check=list(HealthCheck))
SOME = settings(max_examples=drawn(200), deadline=None, suppress_health_check=list(HealthCheck))
FEW = settings(max_examples=drawn(60), deadline=None, suppress_health_check=list(HealthCheck))

Found = tuple[int, list[int], list[int]]


class Reference:
    """All maximal bicliques of a graph with their values, from the definitions."""

    def __init__(self, graph: Graph, objective: str, weights: tuple[np.ndarray, np.ndarray]) -> None:
        self.objective = objective
        self.weights = weights
        pairs = np.array(graph.edges, dtype=np.int64).reshape(-1, 2)
        self.degrees = [
            np.bincount(ends, minlength=n) for ends, n in ((pairs[:, 0], graph.n_left), (pairs[:, 1], graph.n_right))
        ]
        self.terms = kernels.SurpriseTerms.of_degrees(*self.degrees)
        self.all = [
            (self.value(left, right), sorted(left), sorted(right))
            for left, right in maximal_bicliques(graph.edges, graph.n_left)
        ]

    def value(self, left: frozenset[int], right: frozenset[int]) -> int:
        n, k = len(left), len(right)
        if self.objective == "weight":
            return int(sum(self.weights[0][u] for u in left) + sum(self.weights[1][v] for v in right))
        if self.objective == "surprise":
            costs = (cost(np.count_nonzero(of), size) for of, size in zip(self.degrees, (n, k), strict=True))
            return worth(self.terms, product(left, right)) - sum(costs)
        return {"edges": n * k, "vertices": n + k, "balanced": min(n, k)}[self.objective]

    def best(self, k: int, sizes: dict[str, int]) -> list[Found]:
        fits = [
            (value, left, right)
            for value, left, right in self.all
            if len(left) >= sizes.get("min_left", 1)
            and len(right) >= sizes.get("min_right", 1)
            and len(left) * len(right) >= sizes.get("min_edges", 1)
            and len(left) <= sizes.get("max_left", 10**9)
            and len(right) <= sizes.get("max_right", 10**9)
        ]
        return sorted(fits, key=lambda found: (-found[0], -len(found[1]) * len(found[2]), found[1]))[:k]


def found(graph: Graph, k: int, objective: str, **options: Any) -> list[Found]:
    result = kernels.top_bicliques(*graph.csr, k, objective, **options)  # type: ignore[arg-type]
    assert result.proven
    unit = SURPRISE_UNIT if objective == "surprise" else 1.0
    return [(round(g.value / unit), g.left.tolist(), g.right.tolist()) for g in result.groups]


def check(graph: Graph, k: int, seed: int, sizes: dict[str, int], threads: int = 1) -> None:
    random = np.random.default_rng(seed)
    weights = random.integers(-3, 9, graph.n_left), random.integers(-3, 9, graph.n_right)
    for objective in OBJECTIVES:
        expected = Reference(graph, objective, weights).best(k, sizes)
        asked: dict[str, Any] = dict(sizes)
        if objective == "weight":
            asked |= {"left_weights": weights[0], "right_weights": weights[1]}
        for side in ("left", "right"):
            assert found(graph, k, objective, side=side, threads=threads, **asked) == expected


@st.composite
def some_sizes(draw: st.DrawFn) -> dict[str, int]:
    names = draw(st.lists(st.sampled_from(["min_left", "min_right", "min_edges", "max_left", "max_right"]), max_size=3))
    return {name: draw(st.integers(1, 12 if name == "min_edges" else 5)) for name in names}


@MANY
@given(random_graphs(), st.integers(1, 30), st.integers(0, 2**32), some_sizes())
def test_the_best_of_small_graphs_are_the_first_of_all_sorted(
    graph: Graph, k: int, seed: int, sizes: dict[str, int]
) -> None:
    check(graph, k, seed, sizes)


@SOME
@given(st.one_of(tall_graphs(), hub_graphs()), st.integers(1, 30), st.integers(0, 2**32), some_sizes())
def test_the_best_of_tall_graphs_and_hubs_are_the_first_of_all_sorted(
    graph: Graph, k: int, seed: int, sizes: dict[str, int]
) -> None:
    check(graph, k, seed, sizes)


@FEW
@given(broad_graphs(), st.integers(1, 10), st.integers(0, 2**32), some_sizes())
def test_the_best_of_broad_graphs_are_the_first_of_all_sorted(
    graph: Graph, k: int, seed: int, sizes: dict[str, int]
) -> None:
    check(graph, k, seed, sizes)


@SOME
@given(
    st.tuples(st.integers(9, 22), st.integers(9, 22)),
    st.sampled_from([0.3, 0.5, 0.7, 0.85, 0.95]),
    st.integers(0, 2**32),
    st.integers(1, 30),
    some_sizes(),
)
def test_the_best_of_dense_tables_are_the_first_of_all_sorted(
    shape: tuple[int, int], density: float, seed: int, k: int, sizes: dict[str, int]
) -> None:
    """In these a local search comes before the search."""
    left, right = np.nonzero(np.random.default_rng(seed).random(shape) < density)
    graph = Graph(*shape, tuple(zip(left.tolist(), right.tolist(), strict=True)))
    check(graph, k, seed, sizes)


@pytest.mark.parametrize(
    ("shape", "density", "seed", "best"),
    [((100, 100), 0.8, 2, 462), ((100, 100), 0.8, 3, 494), ((100, 100), 0.9, 6, 930), ((60, 400), 0.8, 9, 906)],
)
def test_first_answers_of_dense_tables_are_the_best_that_are_known(
    shape: tuple[int, int], density: float, seed: int, best: int
) -> None:
    """The best of millions of steps of local search; greed alone ends at 368, 437, 650 and 875."""
    random = np.random.default_rng(seed)
    joined = random.random(shape) < density
    if (shape, density) == ((100, 100), 0.8):
        joined[np.ix_(random.choice(100, 20, False), random.choice(100, 20, False))] = True
    left, right = np.nonzero(joined)
    graph = Graph(*shape, tuple(zip(left.tolist(), right.tolist(), strict=True)))
    for side in ("left", "right"):
        result = kernels.top_bicliques(*graph.csr, min_left=2, min_right=2, side=side, time_limit=1)  # type: ignore[arg-type]
        assert result.groups[0].value >= best


@SOME
@given(st.one_of(tall_graphs(), hub_graphs(), broad_graphs()), st.integers(1, 30), st.integers(0, 2**32), st.data())
def test_most_of_a_side_leave_the_best_of_their_sizes(graph: Graph, k: int, seed: int, data: st.DataObject) -> None:
    """A bound of surprise took all columns' terms for as many columns as were allowed."""
    names = data.draw(st.sampled_from([["max_left"], ["max_right"], ["max_left", "max_right"]]))
    check(graph, k, seed, {name: data.draw(st.integers(2, 4)) for name in names})


@FEW
@given(st.one_of(random_graphs(), tall_graphs(), hub_graphs()), st.integers(1, 30), st.integers(0, 2**32))
def test_threads_find_the_same_in_the_same_order(graph: Graph, k: int, seed: int) -> None:
    check(graph, k, seed, {}, threads=2)


@FEW
@given(random_graphs(), st.integers(1, 20))
def test_a_least_value_leaves_out_what_is_worth_less(graph: Graph, least: int) -> None:
    weights = np.zeros(graph.n_left, int), np.zeros(graph.n_right, int)
    for objective in ("edges", "vertices", "balanced"):
        expected = [each for each in Reference(graph, objective, weights).best(50, {}) if each[0] >= least]
        assert found(graph, 50, objective, min_value=least) == expected


@SOME
@given(
    st.one_of(random_graphs(), tall_graphs(), hub_graphs()),
    st.integers(1, 30),
    st.integers(0, 2**32),
    some_sizes(),
    st.one_of(st.none(), st.integers(-20, 40)),
)
def test_surprise_may_have_the_degrees_of_another_graph(
    graph: Graph, k: int, seed: int, sizes: dict[str, int], least: int | None
) -> None:
    random = np.random.default_rng(seed)
    degrees = [random.integers(1, 40, n) for n in (graph.n_left, graph.n_right)]
    reference = Reference(graph, "weight", (np.zeros(graph.n_left, int), np.zeros(graph.n_right, int)))
    reference.objective = "surprise"
    reference.degrees, reference.terms = degrees, kernels.SurpriseTerms.of_degrees(*degrees)
    reference.all = [(reference.value(frozenset(u), frozenset(v)), u, v) for _, u, v in reference.all]
    expected = [each for each in reference.best(k, sizes) if least is None or each[0] >= least / SURPRISE_UNIT]
    asked: dict[str, Any] = {"left_degrees": degrees[0], "right_degrees": degrees[1], **sizes}
    for side in ("left", "right"):
        assert found(graph, k, "surprise", side=side, min_value=least, **asked) == expected


@pytest.mark.parametrize("seed", range(20))
def test_surprise_finds_planted_blocks_and_what_is_between_hubs_as_all_sorted(seed: int) -> None:
    """Groups that greed finds in a core may lack members outside of it."""
    random = np.random.default_rng(seed)
    odds = np.outer(random.lognormal(-2, 1, 50), 5 / np.arange(1, 41) ** 0.8)
    joined = random.random((50, 40)) < odds / (1 + odds)
    for _ in range(2):
        joined[np.ix_(random.choice(50, 7, False), random.choice(40, 6, False))] = True
    left, right = np.nonzero(joined)
    graph = Graph(50, 40, tuple(zip(left.tolist(), right.tolist(), strict=True)))
    terms, groups = kernels.SurpriseTerms.of_degrees(joined.sum(1), joined.sum(0)), []
    with kernels.stream_maximal_bicliques(*graph.csr) as stream:
        for batch in stream:
            for i, value in enumerate(terms.of(batch)):
                u = batch.left[slice(*batch.left_offsets[i : i + 2])].tolist()
                v = batch.right[slice(*batch.right_offsets[i : i + 2])].tolist()
                groups.append((round(value / SURPRISE_UNIT), sorted(u), sorted(v)))
    groups.sort(key=lambda group: (-group[0], -len(group[1]) * len(group[2]), group[1]))
    for side in ("left", "right"):
        assert found(graph, 25, "surprise", side=side) == groups[:25]
        above = [group for group in groups if group[0] >= 1]
        assert found(graph, len(groups), "surprise", side=side, min_value=SURPRISE_UNIT) == above


@pytest.mark.parametrize("lanes", ["portable", "avx2", "avx512"])
def test_lanes_find_the_same(lanes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    left, right = np.nonzero(random.random((80, 60)) < 0.2)
    graph = Graph(80, 60, tuple(zip(left.tolist(), right.tolist(), strict=True)))
    expected = {objective: found(graph, 25, objective) for objective in ("edges", "balanced", "surprise")}
    assert os.environ.get("BICLIQ_LANES") is None
    monkeypatch.setenv("BICLIQ_LANES", lanes)
    kernels.cpu.load_extension.cache_clear()
    try:
        kernels.cpu.load_extension()
    except kernels.BackendError as unavailable:
        pytest.skip(str(unavailable))
    try:
        for objective, best in expected.items():
            assert found(graph, 25, objective) == best
    finally:
        kernels.cpu.load_extension.cache_clear()


def test_large_sides_that_are_nearly_empty_keep_their_numbers() -> None:
    indptr = np.zeros(5_000_001, np.int64)
    indptr[4_000_001:] = 2
    best = kernels.top_bicliques(indptr, [7, 300_000_000], 300_000_001)
    assert [(g.left.tolist(), g.right.tolist()) for g in best.groups] == [([4_000_000], [7, 300_000_000])]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"objective": "size"}, "objective is 'size'"),
        ({"k": 0}, "k is 0"),
        ({"max_left": 0}, "max_left is 0"),
        ({"objective": "weight"}, "needs left_weights"),
        ({"left_weights": [1, 2, 3]}, "weights are for objective 'weight'"),
        ({"objective": "weight", "left_weights": [1.0, float("nan"), 0.0]}, "nan at index 1"),
        ({"objective": "weight", "right_weights": [1]}, "an array of 2 numbers"),
        ({"left_degrees": [1, 1, 1]}, "degrees are for objective 'surprise'"),
        ({"min_value": "much"}, "min_value is 'much'"),
        ({"time_limit": -1}, "time_limit is -1"),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        kernels.top_bicliques([0, 2, 4, 5], [0, 1, 0, 1, 0], 2, **options)


def test_a_search_that_is_out_of_time_says_so() -> None:
    random = np.random.default_rng(1)
    left, right = np.nonzero(random.random((400, 400)) < 0.5)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(left, minlength=400))])
    result = kernels.top_bicliques(indptr, right, 400, 5, "balanced", time_limit=0.05)
    assert isinstance(result, kernels.FindResult)
    assert not result.proven
    assert all(isinstance(group, kernels.Group) for group in result.groups)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u8", "f4", "f8"])
def test_terms_of_surprise_do_not_depend_on_how_degrees_are_stored(dtype: str) -> None:
    """NumPy takes logarithms of 8 bits in 16 bits."""
    for n in (1, 20, 300):
        degrees = np.random.default_rng(n).integers(0, 100, n)
        terms = kernels.SurpriseTerms.of_degrees(degrees, degrees)
        again = kernels.SurpriseTerms.of_degrees(degrees.astype(dtype), degrees.astype(dtype))
        assert (terms.left.tolist(), terms.left_costs.tolist()) == (again.left.tolist(), again.left_costs.tolist())


@FEW
@given(st.one_of(random_graphs(), hub_graphs()))
def test_a_random_table_has_every_degree_on_average(graph: Graph) -> None:
    degrees = Reference(graph, "edges", (np.zeros(0), np.zeros(0))).degrees
    terms = kernels.SurpriseTerms.of_degrees(*degrees)
    chances = 1 / (1 + np.exp((terms.left[:, None] + terms.right[None, :]) * SURPRISE_UNIT))
    for axis, of in ((1, degrees[0]), (0, degrees[1])):
        assert np.abs(chances.sum(axis) - of).max(initial=0) < 0.01 * max(of.max(initial=0), 1)


def test_every_size_has_an_answer() -> None:
    for n_left, n_right in product(range(3), repeat=2):
        graph = Graph(n_left, n_right, tuple(product(range(n_left), range(n_right))))
        assert len(found(graph, 3, "edges")) == (1 if n_left and n_right else 0)


@pytest.mark.parametrize("objective", ["edges", "vertices", "balanced"])
def test_no_group_is_worth_more_than_any_can_be(objective) -> None:
    """Values are kept with 30 bits below them, in which one of 2^34 was lost: it was no bound."""
    square = [0, 2, 4], [0, 1, 0, 1], 2
    values = {"edges": 4, "vertices": 4, "balanced": 2}
    for least in (5, 2**33, 2**34, 2**62):
        assert kernels.top_bicliques(*square, objective=objective, min_value=least).groups == []
    for least in (values[objective], 0, -1, -(2**62)):
        (group,) = kernels.top_bicliques(*square, objective=objective, min_value=least).groups
        assert group.value == values[objective]
