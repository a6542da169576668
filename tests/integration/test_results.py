"""Choosing among the bicliques of a run, paging and the long form, against a plain list."""

from __future__ import annotations

from collections import Counter
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bicliq
from bicliq import kernels
from bicliq.pipeline.results.bicliques import Bicliques
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import PlanSettings, load_settings
from bicliq.pipeline.store.results import By, open_run
from tests.nightly import drawn


@pytest.fixture(scope="module")
def groups(tmp_path_factory) -> Bicliques:
    """Bicliques of a random table in several partitions, with labels of text and of numbers."""
    rng = np.random.default_rng(7)
    baskets = {f"u{u:02}": [v * 10 for v in range(18) if rng.random() < 0.45] for u in range(24)}
    settings = load_settings(store=tmp_path_factory.mktemp("store"), plan=PlanSettings(partitions=5))
    run(baskets, settings)
    return Bicliques(open_run(settings.store))


@pytest.fixture(scope="module")
def every(groups) -> list[dict[str, Any]]:
    rows = list(groups)
    assert len(rows) > 200
    assert len(groups.run.partitions) > 1
    return rows


@pytest.fixture(scope="module")
def surprise(every) -> dict[int, float]:
    """How far each is beyond chance, in nats."""
    edges = {(u, v) for row in every for u in row["left"] for v in row["right"]}
    degrees = [Counter(ends) for ends in zip(*edges, strict=True)]
    places = [{label: n for n, label in enumerate(of)} for of in degrees]
    terms = kernels.SurpriseTerms.of_degrees(*(list(of.values()) for of in degrees))
    return {
        row["biclique_id"]: terms.of_group(
            *(sorted(map(at.get, row[side])) for at, side in zip(places, ("left", "right"), strict=True))
        )[0]
        for row in every
    }


SIZE = st.integers(1, 8)
BOUNDS = st.fixed_dictionaries(
    {},
    optional={
        "min_left": SIZE,
        "max_left": SIZE,
        "min_right": SIZE,
        "max_right": SIZE,
        "min_edges": st.integers(1, 30),
        "max_edges": st.integers(1, 30),
        "with_left": st.lists(st.sampled_from([f"u{u:02}" for u in range(24)]), max_size=3),
        "with_right": st.lists(st.sampled_from([v * 10 for v in range(18)]), max_size=3),
    },
)


def fits(row: dict[str, Any], bounds: dict[str, Any]) -> bool:
    sizes = {"left": row["n_left"], "right": row["n_right"], "edges": row["n_edges"]}
    return all(
        sizes[what] >= bounds.get(f"min_{what}", 1) and sizes[what] <= bounds.get(f"max_{what}", 10**9)
        for what in sizes
    ) and all(set(bounds.get(f"with_{side}", ())) <= set(row[side]) for side in ("left", "right"))


@settings(deadline=None, max_examples=drawn(80, 10))
@given(bounds=BOUNDS, by=st.sampled_from(get_args(By)), size=st.integers(1, 40))
def test_a_choice_takes_what_a_plain_filter_takes(groups, every, surprise, bounds, by, size):
    contradict = any(
        bounds.get(f"min_{what}", 1) > bounds.get(f"max_{what}", 10**9) for what in ("left", "right", "edges")
    )
    if contradict:
        with pytest.raises(bicliq.InputError, match="nothing can be both"):
            groups.where(**bounds)
        return
    expected = [row for row in every if fits(row, bounds)]
    chosen = groups.where(**bounds)
    assert list(chosen) == expected
    assert len(chosen) == len(expected)
    pages = [row for number in range(1, len(expected) // size + 2) for row in chosen.page(number, size, by).to_pylist()]
    value = {
        "edges": lambda row: row["n_left"] * row["n_right"],
        "vertices": lambda row: row["n_left"] + row["n_right"],
        "balanced": lambda row: min(row["n_left"], row["n_right"]),
        "left": lambda row: row["n_left"],
        "right": lambda row: row["n_right"],
        "surprise": lambda row: surprise[row["biclique_id"]],
    }[by]
    assert list(map(value, pages)) == sorted(map(value, expected), reverse=True)
    assert sorted(row["biclique_id"] for row in pages) == sorted(row["biclique_id"] for row in expected)


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_bound_takes_what_is_just_as_large(groups, every, side):
    """Row groups are passed over by the smallest and the largest of each."""
    sizes = [row[f"n_{side}"] for row in every]
    for bound, size in ((f"min_{side}", max(sizes)), (f"max_{side}", min(sizes))):
        assert len(groups.where(**{bound: size})) == sizes.count(size)


def test_the_long_form_has_a_row_a_member(groups, every):
    expected = [
        (row["biclique_id"], side, str(label)) for row in every for side in ("left", "right") for label in row[side]
    ]
    long = groups.long()
    assert long.column_names == ["biclique_id", "side", "label"]
    assert sorted(zip(*(long[name].to_pylist() for name in long.column_names), strict=True)) == sorted(expected)
    assert len({row["biclique_id"] for row in every}) == len(every)


def test_ids_of_bicliques_name_the_partition_and_the_row(groups):
    number = groups.run.partitions[-1]
    of_partition = groups.run.read_partition(number).to_pylist()
    named = {row["biclique_id"]: row["left"] for row in groups}
    assert all(named[(number << 32) + at] == row["left"] for at, row in enumerate(of_partition))


def test_bounds_add_up_and_may_be_given_again(groups):
    narrow = groups.where(min_left=3).where(min_right=2)
    assert (narrow.choice.min_left, narrow.choice.min_right) == (3, 2)
    assert len(narrow.where(min_left=1, min_right=1)) == len(groups)


def test_members_are_found_whether_given_as_text_or_as_number(groups):
    assert len(groups.where(with_right=["10"])) == len(groups.where(with_right=[10])) > 0


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        ({"with_left": ["nobody"]}, "there is no left vertex 'nobody'; the left ids are text"),
        ({"with_right": ["x"]}, "there is no right vertex 'x'; the right ids are numbers"),
        ({"with_right": ["010"]}, "there is no right vertex '010'"),
        ({"with_right": [10**30]}, "there is no right vertex"),
        ({"with_left": "u01"}, "give a list of ids, as ['u01']"),
        ({"min_left": 0}, "must be a whole number of at least 1"),
        ({"max_edges": 2.5}, "must be a whole number of at least 1"),
    ],
)
def test_a_choice_that_cannot_be_is_refused(groups, bounds, said):
    with pytest.raises(bicliq.InputError) as caught:
        groups.where(**bounds)
    assert said in str(caught.value)


def test_nothing_chosen_is_an_empty_answer_of_the_same_columns(groups):
    none = groups.where(min_edges=10**6)
    assert (len(none), list(none), len(none.long())) == (0, [], 0)
    assert none.to_arrow().schema == groups.to_arrow().schema
    assert len(none.top(3)) == 0
    with pytest.raises(bicliq.InputError, match="number is 0; it must be"):
        groups.page(0)
