"""What a GPU is told before it looks for the best: no answer is ruled out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq.kernels.cpu import load_extension
from bicliq.kernels.cuda.finding import TIE_BITS
from bicliq.kernels.surprise import SurpriseTerms
from bicliq.kernels.worth import NO_VALUE, NONE, OBJECTIVES
from tests.nightly import drawn
from tests.property.graphs import Graph, broad_graphs, hub_graphs, random_graphs, tall_graphs
from tests.property.test_finding import FEW, SOME, Reference, some_sizes

UNLIMITED = 2**32 - 1

FEWER = settings(SOME, max_examples=drawn(200, 12))


def arrays_of(terms: Any) -> Any:
    """What the extension takes: terms of weight alone, or all of surprise."""
    if isinstance(terms, SurpriseTerms):
        return terms.arrays
    return SurpriseTerms(*(np.asarray(each, np.int64) for each in terms), NONE, NONE).arrays


def opened(
    graph: Graph, side: str, objective: str, k: int, least: int, terms: Any, sizes: dict[str, int]
) -> dict[str, Any]:
    """What a GPU is told."""
    limits = [sizes.get(name, 1) for name in ("min_left", "min_right", "min_edges")]
    limits += [sizes.get(name, UNLIMITED) for name in ("max_left", "max_right")]
    csr = graph.csr
    session = load_extension().Finding(
        np.asarray(csr[0], np.int64), np.asarray(csr[1], np.int32), csr[2], side == "left", k, least, limits, 1,
        load_extension().Objective[objective], arrays_of(terms), [], True,
    )  # fmt: skip
    told: dict[str, Any] = session.opened()
    return told


def check(graph: Graph, k: int, seed: int, sizes: dict[str, int], least: int = NO_VALUE) -> None:
    random = np.random.default_rng(seed)
    weights = random.integers(-3, 9, graph.n_left), random.integers(-3, 9, graph.n_right)
    pairs = np.array(graph.edges, dtype=np.int64).reshape(-1, 2)
    for objective in OBJECTIVES:
        reference = Reference(graph, objective, weights)
        expected = [found for found in reference.best(k, sizes) if found[0] >= least]
        terms = {"weight": weights, "surprise": reference.terms}.get(objective, ([], []))
        for role, n, side in ((0, graph.n_left, "left"), (1, graph.n_right, "right")):
            told = opened(graph, side, objective, k, least, terms, sizes)
            reached, roots = told["least"], set(told["roots"].tolist())
            order = np.argsort(np.bincount(pairs[:, role], minlength=n), kind="stable")
            place = np.argsort(order)
            for value, *members in expected:
                assert min(place[members[role]].tolist()) in roots
                edges = len(members[0]) * len(members[1])
                assert (value << TIE_BITS | edges if objective in ("vertices", "balanced") else value) >= reached


@FEWER
@given(random_graphs(), st.integers(1, 30), st.integers(0, 2**32), some_sizes())
def test_roots_of_answers_are_left_in_small_graphs(graph: Graph, k: int, seed: int, sizes: dict[str, int]) -> None:
    check(graph, k, seed, sizes)


@FEWER
@given(st.one_of(tall_graphs(), hub_graphs()), st.integers(1, 30), st.integers(0, 2**32), some_sizes())
def test_roots_of_answers_are_left_in_tall_graphs_and_hubs(
    graph: Graph, k: int, seed: int, sizes: dict[str, int]
) -> None:
    check(graph, k, seed, sizes)


@FEW
@given(broad_graphs(), st.integers(1, 10), st.integers(0, 2**32), some_sizes())
def test_roots_of_answers_are_left_in_broad_graphs(graph: Graph, k: int, seed: int, sizes: dict[str, int]) -> None:
    check(graph, k, seed, sizes)


@FEWER
@given(st.one_of(random_graphs(), hub_graphs()), st.integers(1, 30), st.integers(0, 2**32), st.integers(-20, 40))
def test_roots_of_answers_that_are_worth_enough_are_left(graph: Graph, k: int, seed: int, least: int) -> None:
    check(graph, k, seed, {}, least)


@pytest.mark.parametrize("objective", ["edges", "vertices", "weight"])
def test_most_roots_are_ruled_out_where_there_are_hubs(objective: str) -> None:
    """Five hubs, and 2,000 vertices of two neighbours."""
    random = np.random.default_rng(1)
    of_hubs = [(hub, v) for hub in range(5) for v in random.choice(1000, 400, replace=False).tolist()]
    of_others = [(u, v) for u in range(5, 2005) for v in random.choice(1000, 2, replace=False).tolist()]
    graph = Graph(2005, 1000, tuple(sorted(of_hubs + of_others)))
    terms = (np.ones(2005), np.ones(1000)) if objective == "weight" else ([], [])
    assert len(opened(graph, "left", objective, 3, NO_VALUE, terms, {})["roots"]) < 100
