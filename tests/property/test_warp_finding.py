"""The search of a GPU for the best, with a warp's bounds, on threads of this machine."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq.kernels._cpu_warps import find_best
from bicliq.kernels.worth import NO_VALUE, OBJECTIVES
from tests.nightly import drawn, part_of
from tests.property.graphs import Graph, broad_graphs, hub_graphs, random_graphs, tall_graphs
from tests.property.test_finding import FEW, SOME, Found, Reference, some_sizes
from tests.property.test_openings import UNLIMITED, opened

FEWER = settings(SOME, max_examples=drawn(200, 12))


def found(
    graph: Graph,
    side: str,
    objective: str,
    k: int,
    least: int,
    reference: Reference,
    sizes: dict[str, int],
    threads: int,
) -> list[Found]:
    """The best from the roots that the host leaves, in the order of answers."""
    terms: Any = {"weight": reference.weights, "surprise": reference.terms}.get(objective, ([], []))
    told = opened(graph, side, objective, k, least, terms, sizes)
    costs = (terms.left_costs, terms.right_costs) if objective == "surprise" else ([], [])
    order = 1 if side == "right" else -1  # rows are left vertices
    by_side = (("min_left", "min_right")[::order], ("max_left", "max_right")[::order])
    least_sizes, most_sizes = (
        [sizes.get(name, 1) for name in by_side[0]],
        [sizes.get(name, UNLIMITED) for name in by_side[1]],
    )
    answers, _ = find_best(
        np.asarray(graph.csr[0], np.int64), np.asarray(graph.csr[1], np.int32), graph.csr[2], side == "left", OBJECTIVES.index(objective),
        k, told["least"], told["row_terms"], told["column_terms"], *(np.asarray(each, np.int64) for each in costs[::order]),
        (told["row_charge"], told["column_charge"]), (*least_sizes, sizes.get("min_edges", 1), *most_sizes),
        np.sort(told["roots"]), threads,
    )  # fmt: skip
    listed = []
    for _, *both in answers:  # worth so much at most, and with bits that order equal ones
        left, right = (sorted(members.tolist()) for members in both[::order])
        listed.append((reference.value(frozenset(left), frozenset(right)), left, right))
    listed = [each for each in listed if each[0] >= least]
    return sorted(listed, key=lambda each: (-each[0], -len(each[1]) * len(each[2]), each[1]))[:k]


def check(graph: Graph, k: int, seed: int, sizes: dict[str, int], least: int = NO_VALUE, threads: int = 1) -> None:
    random = np.random.default_rng(seed)
    weights = random.integers(-3, 9, graph.n_left), random.integers(-3, 9, graph.n_right)
    for objective in OBJECTIVES:
        reference = Reference(graph, objective, weights)
        expected = [each for each in reference.best(k, sizes) if each[0] >= least]
        for side in ("left", "right"):
            assert found(graph, side, objective, k, least, reference, sizes, threads) == expected, (objective, side)


@FEWER
@given(random_graphs(), st.integers(1, 30), st.integers(0, 2**32), some_sizes())
def test_warps_find_the_best_of_small_graphs(graph: Graph, k: int, seed: int, sizes: dict[str, int]) -> None:
    check(graph, k, seed, sizes)


@FEWER
@given(st.one_of(tall_graphs(), hub_graphs()), st.integers(1, 30), st.integers(0, 2**32), some_sizes())
def test_warps_find_the_best_of_tall_graphs_and_hubs(graph: Graph, k: int, seed: int, sizes: dict[str, int]) -> None:
    check(graph, k, seed, sizes)


@FEW
@given(broad_graphs(), st.integers(1, 10), st.integers(0, 2**32), some_sizes())
def test_warps_find_the_best_of_broad_graphs(graph: Graph, k: int, seed: int, sizes: dict[str, int]) -> None:
    check(graph, k, seed, sizes)


@FEW
@given(st.one_of(random_graphs(), tall_graphs()), st.integers(1, 30), st.integers(0, 2**32), st.integers(-20, 40))
def test_warps_that_share_work_find_what_is_worth_enough(graph: Graph, k: int, seed: int, least: int) -> None:
    check(graph, k, seed, {}, least, threads=3)


def graph_of(cells: np.ndarray) -> Graph:
    return Graph(*cells.shape, tuple(zip(*(ends.tolist() for ends in np.nonzero(cells)), strict=True)))


@pytest.mark.parametrize(
    ("graph_sizes", "objective"),
    part_of(itertools.product([(60, 45, 0.3), (120, 20, 0.4), (30, 120, 0.3)], OBJECTIVES), 4),
)
def test_wide_nodes_are_bounded_alike(graph_sizes: tuple[int, int, float], objective: str) -> None:
    """Nodes of more than 32 rows, of which small graphs have few."""
    random = np.random.default_rng(3)
    n_left, n_right, density = graph_sizes
    graph = graph_of(random.random((n_left, n_right)) < density)
    weights = random.integers(-20, 99, n_left), random.integers(-20, 99, n_right)
    reference = Reference(graph, objective, weights)
    for k, sizes in ((1, {}), (20, {}), (20, {"min_left": 3, "max_right": 5})):
        for side in ("left", "right"):
            for threads in (1, 3):
                assert found(graph, side, objective, k, NO_VALUE, reference, sizes, threads) == reference.best(k, sizes)


def test_weights_rule_most_nodes_out() -> None:
    """All weights are alike, but for a few vertices."""
    random = np.random.default_rng(5)
    graph = graph_of(random.random((200, 100)) < 0.15)
    weights = [np.where(random.random(n) < 0.05, 100, 1).astype(np.int64) for n in (200, 100)]
    roots = np.arange(100, dtype=np.uint32)
    csr = np.asarray(graph.csr[0], np.int64), np.asarray(graph.csr[1], np.int32), 100, False
    sizes = (1, 1, 1, UNLIMITED, UNLIMITED)
    order = np.argsort(np.bincount(graph.csr[1], minlength=100), kind="stable")
    no_costs = np.zeros(0, np.int64), np.zeros(0, np.int64), (0, 0)
    rest = weights[0], weights[1][order], *no_costs, sizes, roots, 1
    by_weight = find_best(*csr, OBJECTIVES.index("weight"), 5, NO_VALUE, *rest)[1]
    all_nodes = find_best(*csr, OBJECTIVES.index("edges"), 10**6, NO_VALUE, *rest)[1]
    assert by_weight < all_nodes / 2
