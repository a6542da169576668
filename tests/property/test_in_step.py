"""Groups in step against the definition, on small tables with ties and repeated actions."""

from __future__ import annotations

import uuid
from typing import Any

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import bicliq
from bicliq import kernels
from bicliq.pipeline.graphs import actions as actions_module
from bicliq.pipeline.graphs.actions import MICROSECONDS, Actions
from bicliq.pipeline.graphs.in_step import groups_among, windows_of
from bicliq.pipeline.graphs.moments import Moments
from bicliq.pipeline.run import run
from bicliq.pipeline.settings import load_settings
from bicliq.pipeline.stages.in_step import count_in_step
from bicliq.pipeline.stages.verify import verify
from bicliq.pipeline.stages.verify_roots import EVERY_ROOT
from bicliq.pipeline.store.layout import Store
from tests.nightly import drawn
from tests.reference.in_step import Action, GroupInStep, beyond_chance, groups_in_step, window_of

MANY = settings(max_examples=drawn(1200, 10), deadline=None, suppress_health_check=list(HealthCheck))
FEW = settings(max_examples=drawn(180, 10), deadline=None, suppress_health_check=list(HealthCheck))

tables = st.sampled_from([2, 6, 20]).flatmap(
    lambda late: st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, late)), min_size=1, max_size=24
    )
)
lengths = st.sampled_from([0, 1, 2, 5, 100])
sizes = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 6))

TWO_WINDOWS = [(0, 0, 0), (1, 0, 1), (2, 0, 0), (3, 0, 2), (0, 1, 0), (1, 1, 0)]
"""0 and 1 lie in two windows of right vertex 0, which counts once: {0, 1} × {0, 1}, not × 3."""

ONE_IN_EACH = [(0, 0, 2), (1, 0, 2), (2, 0, 0), (3, 0, 4), (2, 1, 0), (0, 1, 0), (1, 1, 0)]
"""{0, 1} is in two windows of 0, but 2 is in one of them, and in that of 1: no group."""


def actions_of(rows: list[Action], scale: float = 1.0) -> Actions:
    left, right, times = (np.array(column) for column in zip(*rows, strict=True))
    return Actions.of(left.astype(np.int32), right.astype(np.int32), times * scale)


def found(rows: list[Action], length: int, min_left: int, min_right: int, min_edges: int) -> list[GroupInStep]:
    """As a list, so that a repetition shows; the windows that are told are checked."""
    micros = length * MICROSECONDS
    actions = actions_of(rows).that_may_be(micros, min_left, min_right)
    windows = windows_of(actions, micros, min_left, 6)
    moments = Moments(actions, micros)
    groups: list[GroupInStep] = []
    least = {"min_left": min_left, "min_right": min_right, "min_edges": min_edges}
    graph = windows.graph
    with kernels.stream_maximal_bicliques(graph.indptr, graph.indices, graph.n_right, **least) as stream:
        for batch in stream:
            some = groups_among(batch, windows, min_right, min_edges)
            for i in range(len(some)):
                left, right = (ids[ends[i] : ends[i + 1]] for ends, ids in some.lists.values())
                told = [window_of(left.tolist(), r, rows, length) for r in right.tolist()]
                assert moments.of(left, right) == [tuple(t * MICROSECONDS for t in window) for window in told]
                groups.append((frozenset(left.tolist()), frozenset(right.tolist())))
    return groups


@MANY
@given(tables, lengths, sizes)
@example(TWO_WINDOWS, 1, (2, 1, 1))
@example(ONE_IN_EACH, 2, (1, 1, 1))
def test_groups_in_step_are_those_of_the_definition(rows, length, least):
    groups = found(rows, length, *least)
    assert len(groups) == len(set(groups))
    assert set(groups) == groups_in_step(rows, length, *least)


@pytest.mark.parametrize("at_once", [1, 5])
@FEW
@given(rows=tables, length=lengths, least=sizes)
def test_groups_are_the_same_where_little_is_held_at_a_time(at_once, rows, length, least):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(actions_module, "AT_ONCE", at_once)
        patch.setattr(actions_module.blocks_of, "__defaults__", (at_once,))
        assert set(found(rows, length, *least)) == groups_in_step(rows, length, *least)


@FEW
@given(tables, st.sampled_from([0, 1, 3, 100]), sizes)
def test_find_gives_all_groups_with_their_windows(rows, length, least):
    names = dict(zip(("min_left", "min_right", "min_edges"), least, strict=True))
    columns = zip(*((f"u{u}", f"r{r}", t / 10) for u, r, t in rows), strict=True)
    table = dict(zip(("who", "what", "at"), map(list, columns), strict=True))
    expected = groups_in_step(rows, length, *least)
    asked = {"left": "who", "right": "what", "time": "at", "in_step": str(length / 10)}
    groups = bicliq.find(pa.table(table), top=1000, **names, **asked)
    assert groups.proven
    for group in groups.to_arrow().to_pylist():
        left, right = ([int(label[1:]) for label in group[side]] for side in ("left", "right"))
        spans = [tuple(round(10 * at.timestamp()) for at in (w["start"], w["end"])) for w in group["windows"]]
        assert spans == [window_of(left, r, rows, length) for r in right]
        assert group["value"] == len(left) * len(right)
        expected.remove((frozenset(left), frozenset(right)))
    assert not expected


@MANY
@given(tables, st.sampled_from([0, 1, 3, 100]), sizes, st.booleans())
def test_by_surprise_all_groups_are_worth_what_the_definition_says(rows, length, least, all_of_them):
    rows = sorted(set(rows))
    who, what = (sorted({row[side] for row in rows}) for side in (0, 1))
    pairs = {(u, r) for u, r, _ in rows}
    terms = kernels.SurpriseTerms.of_degrees(
        *([sum(p[side] == v for p in pairs) for v in vertices] for side, vertices in enumerate((who, what)))
    )
    columns = zip(*((u, r, t / 10) for u, r, t in rows), strict=True)
    table = pa.table(dict(zip(("who", "what", "at"), map(list, columns), strict=True)))
    expected = []
    for left, right in groups_in_step(rows, length, *least):
        block = terms.of_group([who.index(u) for u in sorted(left)], [what.index(r) for r in sorted(right)])[0]
        expected.append(
            (round(beyond_chance(set(left), set(right), rows, length, block), 6), sorted(left), sorted(right))
        )
    expected.sort(key=lambda group: (-group[0], group[1:]))
    names = dict(zip(("min_left", "min_right", "min_edges"), least, strict=True))
    asked = {"left": "who", "right": "what", "time": "at", "in_step": str(length / 10), "by": "surprise", **names}
    found = bicliq.find(table, top=1000 if all_of_them else 2, min_surprise=-1e9, **asked)
    values = [round(group["value"], 6) for group in found]
    assert values == pytest.approx([worth for worth, *_ in expected][: len(found)], abs=2e-6)
    assert len(found) == (len(expected) if all_of_them else min(2, len(expected)))
    if all_of_them:
        assert sorted((g["left"], g["right"]) for g in found) == sorted(group[1:] for group in map(tuple, expected))
    above = bicliq.find(table, top=1000, **asked)
    assert len(above) == sum(worth >= kernels.SurpriseTerms.unit for worth, *_ in expected)
    assert above.record["why_none"] is None or not len(above)


@FEW
@given(tables, sizes)
def test_in_windows_that_hold_all_groups_are_worth_what_they_are_without_times(rows, least):
    table = pa.table(dict(zip(("who", "what", "at"), map(list, zip(*set(rows), strict=True)), strict=True)))
    once = table.group_by(["who", "what"]).aggregate([("at", "min")]).rename_columns(["who", "what", "at"])
    names = dict(zip(("min_left", "min_right", "min_edges"), least, strict=True))
    asked = {"left": "who", "right": "what", "by": "surprise", "top": 1000, "min_surprise": -1e9, **names}
    without = {(*g["left"], None, *g["right"]): (g["value"], g["expected"]) for g in bicliq.find(once, **asked)}
    within = {
        (*g["left"], None, *g["right"]): (g["value"], g["expected"])
        for g in bicliq.find(once, in_step="1000s", time="at", **asked)
    }
    assert within.keys() == without.keys()
    for group, worth in within.items():
        assert worth == pytest.approx(without[group])


@FEW
@given(tables, lengths, sizes, st.sets(st.sampled_from([f"{side}{i}" for side in "ur" for i in range(3)]), max_size=3))
def test_containing_chooses_among_all_groups(rows, length, least, members):
    labels = {f"u{row[0]}" for row in rows} | {f"r{row[1]}" for row in rows}
    columns = zip(*((f"u{u}", f"r{r}", t / 10) for u, r, t in rows), strict=True)
    table = pa.table(dict(zip(("who", "what", "at"), map(list, columns), strict=True)))
    names = dict(zip(("min_left", "min_right", "min_edges"), least, strict=True))
    asked = {"left": "who", "right": "what", "time": "at", "in_step": str(length / 10), "top": 1000, **names}
    wanted = members & labels
    expected = {
        (frozenset(g["left"]), frozenset(g["right"]))
        for g in bicliq.find(table, **asked)
        if wanted <= {*g["left"], *g["right"]}
    }
    found = bicliq.find(table, containing=sorted(wanted), **asked)
    assert {(frozenset(g["left"]), frozenset(g["right"])) for g in found} == expected
    assert len(found) == len(expected)


def test_what_no_group_has_is_left_out_before_windows_are_made():
    popular = [(u, 0, u) for u in range(4)] + [(u, 1, 100 * u) for u in range(4)]
    ring = [(u, r, 1000 * r) for u in (4, 5) for r in (0, 1)]
    kept = actions_of([*popular, *ring]).that_may_be(10 * MICROSECONDS, 2, 2)
    assert sorted(set(kept.left.tolist())) == [4, 5]


def written(rows: list[Action]) -> pa.Table:
    columns = zip(*((f"u{u}", f"r{r}", t / 10) for u, r, t in rows), strict=True)
    return pa.table(dict(zip(("who", "what", "at"), map(list, columns), strict=True)))


def groups_and_windows(bicliques: bicliq.Bicliques) -> dict[GroupInStep, list[tuple[int, int]]]:
    told = {}
    for row in bicliques.to_arrow().to_pylist():
        left, right = (frozenset(int(label[1:]) for label in row[side]) for side in ("left", "right"))
        spans = [tuple(round(10 * w[end].timestamp()) for end in ("start", "end")) for w in row["windows"]]
        order = [int(label[1:]) for label in row["right"]]
        told[left, right] = [span for _, span in sorted(zip(order, spans, strict=True))]
    assert len(told) == len(bicliques)
    return told


def expected_in(rows: set[Action], length: int, least: tuple[int, int, int]) -> dict[GroupInStep, list[Any]]:
    return {
        (left, right): [window_of(left, r, rows, length) for r in sorted(right)]
        for left, right in groups_in_step(rows, length, *least)
    }


@settings(FEW, max_examples=drawn(180, 12))
@given(
    tables,
    st.lists(st.tuples(st.booleans(), tables), max_size=3),
    st.sampled_from([0, 1, 3, 100]),
    sizes,
    st.sampled_from([1, 2, 5]),
)
@example(ONE_IN_EACH, [(True, ONE_IN_EACH[:1]), (False, ONE_IN_EACH[:1])], 2, (1, 1, 1), 2)
def test_a_run_and_its_versions_hold_the_groups_of_all_rows_that_are_there(rows, steps, length, least, partitions):
    store = f"memory://in-step-{uuid.uuid4().hex}"
    names = dict(zip(("min_left", "min_right", "min_edges"), least, strict=True))
    asked: Any = {"left": "who", "right": "what", "time": "at", "in_step": str(length / 10)}
    given_settings = load_settings(store=store, ingest=asked, search=names, plan={"partitions": partitions})
    run(written(rows), given_settings)
    there = set(rows)
    for delete, more in [(False, []), *steps]:
        after = there - set(more) if delete else there | set(more)
        if more and after:
            before = set(expected_in(there, length, least))
            done = bicliq.update(store, written(more), delete=delete)
            assert done.edges == len(there ^ after)
            assert done.unchanged == len(set(more)) - done.edges
            if there != after:
                now = set(expected_in(after, length, least))
                assert (done.appeared, done.vanished) == (len(now - before), len(before - now))
            there = after
        found = bicliq.open(store)
        assert groups_and_windows(found) == expected_in(there, length, least)
        whole = count_in_step(written(sorted(there)), load_settings(ingest=asked, search=names), "digest")
        assert (found.digest, len(found)) == (whole["digest"], whole["bicliques"])
        assert verify(Store.open(store), found.run.run, roots=EVERY_ROOT).problems == []
    fsspec.filesystem("memory").rm(store, recursive=True)


@FEW
@given(tables, st.sampled_from([0, 1, 3, 100]), sizes, st.integers(1, 4))
def test_each_diverse_group_adds_most_edges_to_those_before_it(rows, length, least, top):
    names = dict(zip(("min_left", "min_right", "min_edges"), least, strict=True))
    asked: Any = {"left": "who", "right": "what", "time": "at", "in_step": str(length / 10), **names}
    found = bicliq.find(written(rows), top=top, diverse=True, **asked)
    groups = {(tuple(sorted(left)), tuple(sorted(right))) for left, right in groups_in_step(rows, length, *least)}
    edges = {group: {(u, r) for u in group[0] for r in group[1]} for group in groups}
    covered: set[tuple[int, int]] = set()
    for group in found:
        left, right = (tuple(int(label[1:]) for label in group[side]) for side in ("left", "right"))
        most = max(len(own - covered) for own in edges.values())
        assert group["value"] == len(edges[left, right] - covered) == most > 0
        covered |= edges[left, right]
        assert (group["covered"], group["share"]) == (len(covered), len(covered) / len({row[:2] for row in rows}))
    assert len(found) == top or all(own <= covered for own in edges.values())
