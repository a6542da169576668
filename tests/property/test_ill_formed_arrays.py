"""The kernels' entry points, given what is no graph, no threshold and no list: an error that says
so, or the right answer of what was given; never a crash.

``make sanitize-cpu`` runs them where a byte read beyond an array ends the process, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import combinations, pairwise
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq import kernels
from tests.nightly import drawn
from tests.property.graphs import random_graphs
from tests.reference.brute_force import maximal_bicliques, passing
from tests.reference.cliques import maximum_cliques

TRIES = int(os.environ.get("BICLIQ_FUZZ", drawn(150)))
TYPES = ["int8", "uint8", "int16", "uint16", "int32", ">i4", "uint32", "int64", ">i8", "uint64", "float64", "bool", "O"]
ODD = [-(2**63), -1, 0, 1, 7, 127, 2**31 - 1, 2**31, 2**32, 2**63 - 1]
SIDES = [-1, 0, 1, 100, 2**16, 2**31, 2**63, 2**64, True, 1.5, None, "2", np.int8(2)]
"""Sizes of a side; vertices cost memory, and those of a side of 2^31 - 1 more than there may be."""

REFUSED = (ValueError, kernels.BicliqError, RuntimeError)
fuzzed = settings(max_examples=TRIES, deadline=None)


def seldom(usual: st.SearchStrategy[Any], odd: list[Any]) -> st.SearchStrategy[Any]:
    """One of many times an odd value: several at once would hide each other."""
    return st.integers(0, 11).flatmap(lambda number: usual if number else st.sampled_from(odd))


sizes = seldom(st.integers(1, 3), [*ODD, 2**64, True, 1.5, None, "2", np.int8(2)])
threads = seldom(st.sampled_from([1, 1, 2, 0]), [-1, 10**6, 1.0, None])
sides = seldom(st.sampled_from(["left", "right", "auto"]), ["both", None, 1])


@st.composite
def changed(draw: st.DrawFn, array: np.ndarray) -> Any:
    """An array, as a rule as it is, or with one number, its length, its type or form changed."""
    found = np.array(array, np.int64)
    how = draw(seldom(st.just("as it is"), ["set", "set", "cut", "add", "type", "form"]))
    if how == "set" and found.size:
        found[draw(st.integers(0, found.size - 1))] = draw(st.sampled_from(ODD))
    elif how == "cut":
        found = found[: draw(st.integers(0, found.size))]
    elif how == "add":
        found = np.append(found, draw(st.sampled_from(ODD)))
    elif how == "type":
        return found.astype(draw(st.sampled_from(TYPES)))
    elif how == "form":
        forms = (found.tolist(), found[None], found[::-1], np.repeat(found, 2)[::2], [found.tolist()], None, "edges")
        return draw(st.sampled_from(forms))
    return found


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    """The three arguments of a graph, of which at most some are wrong."""
    indptr, indices, n_right = draw(random_graphs(max_side=7)).csr
    return draw(changed(indptr)), draw(changed(indices)), draw(seldom(st.just(n_right), SIDES))


def neighbours_of(indptr: Any, indices: Any, n_right: Any) -> list[set[int]]:
    """The rows of a matrix that was taken, which must be one by its definition."""
    starts, columns = (np.asarray(array).tolist() for array in (indptr, indices))
    assert all(type(number) is int for number in [*starts, *columns])
    assert starts[0] == 0
    assert starts[-1] == len(columns)
    rows = [columns[begin:end] for begin, end in pairwise(starts)]
    assert sum(map(len, rows)) == len(columns)
    assert all(row == sorted(set(row)) and all(0 <= v < n_right for v in row) for row in rows)
    return [set(row) for row in rows]


def bicliques_by_force(rows: list[set[int]], *least: int) -> set[tuple[frozenset[int], frozenset[int]]]:
    return passing(maximal_bicliques([(u, v) for u, row in enumerate(rows) for v in row], len(rows)), *least)


def answer(ask: Callable[[], Any]) -> Any:
    """What is answered; None where it is refused. Any other error is one of ours."""
    try:
        return ask()
    except REFUSED:
        return None


@fuzzed
@given(graph=graphs(), least=st.tuples(sizes, sizes, sizes), threads=threads, side=sides)
def test_enumeration(graph, least, threads, side) -> None:
    asked = dict(zip(("min_left", "min_right", "min_edges"), least, strict=True), threads=threads, side=side)

    def streamed() -> set[tuple[frozenset[int], frozenset[int]]]:
        found = set()
        with kernels.stream_maximal_bicliques(*graph, batch_bicliques=3, batch_ids=5, **asked) as stream:
            for batch in stream:
                for at in range(len(batch)):
                    left = batch.left[batch.left_offsets[at] : batch.left_offsets[at + 1]].tolist()
                    right = batch.right[batch.right_offsets[at] : batch.right_offsets[at + 1]].tolist()
                    found.add((frozenset(left), frozenset(right)))
        return found

    counted = answer(lambda: kernels.enumerate_maximal_bicliques(*graph, mode="digest", **asked).bicliques)
    listed = answer(streamed)
    assert (counted is None) == (listed is None)
    if listed is not None:
        assert listed == bicliques_by_force(neighbours_of(*graph), *map(int, least))
        assert counted == len(listed)


@fuzzed
@given(graph=random_graphs(max_side=7), side=st.sampled_from(["left", "right"]), data=st.data())
def test_roots_ids_and_hashes(graph, side, data) -> None:
    n = {"left": graph.n_left, "right": graph.n_right}
    roots = data.draw(changed(np.arange(n[side])))
    ids = {name: data.draw(changed(np.arange(n[name])[::-1])) for name in n}
    hashes = {
        name: data.draw(st.sampled_from([None, None, np.arange(n[name], dtype=np.uint64), ids[name]])) for name in n
    }

    def searched() -> Any:
        return kernels.enumerate_maximal_bicliques(
            *graph.csr,
            mode="digest",
            side=side,
            roots=roots,
            left_ids=ids["left"],
            right_ids=ids["right"],
            left_hashes=hashes["left"],
            right_hashes=hashes["right"],
        )

    found = answer(searched)
    if found is not None and roots is not None and len(set(np.asarray(roots).tolist())) == n[side]:
        assert found.bicliques == len(maximal_bicliques(graph.edges, graph.n_left))


@fuzzed
@given(
    graph=graphs(), p=sizes, q=sizes, threads=threads, side=sides, method=st.sampled_from(["auto", "levels", "pivot"])
)
def test_counts(graph, p, q, threads, side, method) -> None:
    asked = {"threads": threads, "side": side}
    found = answer(lambda: kernels.count_bicliques(*graph, p, q, method=method, per_vertex=True, **asked))
    if found is not None:
        rows = neighbours_of(*graph)
        p, q = int(p), int(q)
        some = combinations(rows, p) if p <= len(rows) else ()
        assert found.count == sum(comb(len(set.intersection(*rows)), q) for rows in some)
    table = answer(lambda: kernels.count_all_bicliques(*graph, p, q, **asked))
    if found is not None and table is not None:
        assert table.counts[(p, q)] == found.count


@fuzzed
@given(graph=graphs(), k=sizes, least=st.tuples(sizes, sizes), threads=threads, side=sides)
def test_finding_and_estimates(graph, k, least, threads, side) -> None:
    asked = {"min_left": least[0], "min_right": least[1], "threads": threads, "side": side}
    found = answer(lambda: kernels.top_bicliques(*graph, k=k, **asked))
    guess = answer(lambda: kernels.estimate_bicliques(*graph, work=1000, **asked))
    if found is not None:
        values = [len(a) * len(b) for a, b in bicliques_by_force(neighbours_of(*graph), *map(int, least), 1)]
        assert [group.value for group in found.groups] == sorted(values, reverse=True)[:k]
    if guess is not None:
        assert guess.low <= guess.bicliques <= guess.high
        assert guess.bicliques > 0 or not bicliques_by_force(neighbours_of(*graph), *map(int, least), 1)


@fuzzed
@given(graph=graphs(), shared=sizes, threads=threads, data=st.data())
def test_projections_and_cliques(graph, shared, threads, data) -> None:
    made = answer(lambda: kernels.project_one_mode(*graph, min_shared=shared, threads=threads))
    if made is None:
        return
    rows = neighbours_of(*graph)
    tied = [{v for v, other in enumerate(rows) if u != v and len(row & other) >= shared} for u, row in enumerate(rows)]
    assert neighbours_of(*made, len(rows)) == tied
    indptr, indices = (data.draw(changed(array)) for array in made)
    bound = data.draw(st.sampled_from([0, 0, 1, -1, 2**40, None]))
    found = answer(lambda: kernels.maximum_clique(indptr, indices, all=True, lower_bound=bound, threads=threads))
    if found is not None:
        rows = neighbours_of(indptr, indices, len(np.asarray(indptr)))
        size, cliques = maximum_cliques(rows)
        assert (found.size, len(found.cliques)) == ((size, len(cliques)) if size > bound else (0, 0))


@fuzzed
@given(graph=graphs(), parts=sizes, data=st.data())
def test_groups_of_roots(graph, parts, data) -> None:
    n_rows = graph[2] if type(graph[2]) is int and 0 <= graph[2] < 100 else 3
    n_roots = max(np.size(graph[0]) - 1, 0) if graph[0] is not None else 0
    weights = [data.draw(changed(np.ones(n, np.int64))) for n in (n_rows, n_roots)]
    found = answer(lambda: kernels.group_roots(graph[0], graph[1], *weights, parts))
    if found is not None:
        lengths = np.diff(np.asarray(graph[0]).astype(np.int64))  # the rows themselves are in any order
        assert sorted(found[0].tolist()) == np.flatnonzero(lengths).tolist()
        assert len(set(found[1].tolist())) <= parts


@fuzzed
@given(graph=graphs(), least=st.tuples(sizes, sizes), budget=sizes, data=st.data())
def test_passes_over_rows(graph, least, budget, data) -> None:
    """Their rows may be in any order."""
    turned = answer(lambda: kernels.transpose_rows(*graph))
    joined = answer(lambda: kernels.connect_rows(*graph))
    paths = answer(lambda: kernels.count_paths(*graph))
    whole = [part is not None for part in (turned, joined, paths)]
    assert all(whole) or not any(whole)
    if turned is not None:
        starts, columns = (np.asarray(array).astype(np.int64) for array in graph[:2])
        owners = np.repeat(np.arange(starts.size - 1), np.diff(starts))
        assert np.array_equal(turned[1], owners[np.argsort(columns, kind="stable")])
        assert all(joined[owners] == joined[starts.size - 1 + columns])
        assert paths[0].sum() == (np.bincount(columns) ** 2).sum()
    rows = graph[1].astype(np.int32) if isinstance(graph[1], np.ndarray) and graph[1].dtype == np.int64 else graph[1]
    core = answer(lambda: kernels.peel_rows(graph[0], rows, graph[2], *least))
    assert core is None or len(core[1]) <= len(rows)
    row_bytes, roots = data.draw(changed(np.ones(7, np.int64))), data.draw(changed(np.arange(2)))
    cut = answer(lambda: kernels.cut_roots(graph[0], graph[1], row_bytes, roots, data.draw(changed([1])), budget))
    assert cut is None or (cut[1] <= np.sum(row_bytes)).all()


@fuzzed
@given(graph=graphs(), fresh=st.lists(st.tuples(st.integers(-1, 7), st.integers(-1, 7)), max_size=4), least=sizes)
def test_changes(graph, fresh, least) -> None:
    ends = [np.array([edge[side] for edge in fresh], np.int64) for side in (0, 1)]
    found = answer(lambda: kernels.ChangeSearch(*graph, *ends, min_left=least).find())
    if found is not None:
        rows = neighbours_of(*graph)
        before = [{v for v in row if (u, v) not in fresh} for u, row in enumerate(rows)]
        then, now = (bicliques_by_force(some, int(least), 1, 1) for some in (before, rows))
        assert (len(found.appeared), len(found.vanished)) == (len(now - then), len(then - now))


def batch_of(graph: Any) -> kernels.BicliqueBatch | None:
    with kernels.stream_maximal_bicliques(*graph.csr, batch_bicliques=1 << 20, batch_ids=1 << 20) as stream:
        return next(iter(stream), None)


@fuzzed
@given(graph=random_graphs(max_side=7), data=st.data())
def test_lists_of_bicliques(graph, data) -> None:
    """A damaged file gives such lists: numbers of 32 bits, and any of them."""
    batch = batch_of(graph)
    if batch is None:
        return
    names = ("left_offsets", "left", "right_offsets", "right", "root")
    arrays = {name: np.array(getattr(batch, name)) for name in names}
    spoilt = arrays[data.draw(st.sampled_from(names))]
    before = spoilt.copy()
    at = data.draw(st.integers(0, spoilt.size - 1))
    spoilt[at] = data.draw(st.sampled_from([-(2**31), -1, 0, 1, 5, 2**31 - 1]))
    wrong = kernels.BicliqueBatch(**arrays)
    found = answer(lambda: kernels.check_bicliques(wrong))
    if found is not None:
        lists = (arrays[name] for name in names[:-1])
        assert found[0] == kernels.set_digest(*lists)
    restorer = kernels.SideRestorer(*graph.csr)
    lengths = [np.diff(arrays[name]) for name in ("left_offsets", "right_offsets")]
    made = answer(lambda: restorer.restore(arrays["left_offsets"], arrays["left"], *lengths, arrays["root"]))
    if made is not None and np.array_equal(spoilt, before) and (lengths[0] <= lengths[1]).all():
        assert np.array_equal(made.right, batch.right)
    group = answer(lambda: kernels.encode_bicliques(wrong, kernels.RowGroupLayout("none")))
    assert group is None or group.rows == len(batch)


@fuzzed
@given(graph=random_graphs(max_side=7), compression=st.sampled_from(["none", "zstd", "lz4_raw"]), data=st.data())
def test_pages_of_a_file(graph, compression, data) -> None:
    """Any bytes in the place of pages: they are read as they were, or left to another reader."""
    batch = batch_of(graph)
    if batch is None or not kernels.has_codec(compression):
        return
    group = kernels.encode_bicliques(batch, kernels.RowGroupLayout(compression))
    pages = np.frombuffer(group.data, np.uint8).copy()
    counts = [len(batch.left), len(batch.right), *[len(batch)] * 3]
    columns = [
        (c.begin, c.end, n, "list" if at < 2 else "int32")
        for at, (c, n) in enumerate(zip(group.columns, counts, strict=True))
    ]
    sound = kernels.read_columns(pages, compression, columns, len(batch))
    assert sound is not None
    assert np.array_equal(sound[1], batch.left)
    for at in data.draw(st.lists(st.integers(0, len(pages) - 1), min_size=1, max_size=4)):
        pages[at] = data.draw(st.integers(0, 255))
    begin, end, values, kind = columns[0]
    columns[0] = begin, data.draw(st.sampled_from([end, end, end - 1, begin, begin + 1])), values, kind
    found = answer(lambda: kernels.read_columns(pages, compression, columns, len(batch)))
    assert found is None or [len(array) for array in found] == [len(array) for array in sound]


@pytest.mark.parametrize("name", ["indptr", "indices"])
def test_an_error_names_the_array_and_the_place(name) -> None:
    arrays = {"indptr": [0, 2, 4], "indices": [0, 1, 0, 1]}
    arrays[name] = [*arrays[name][:-1], -5]
    with pytest.raises(ValueError, match=rf"{name}.*-5.*index|{name}.*falls from 2 to -5 at index 2"):
        kernels.enumerate_maximal_bicliques(**arrays, n_right=2)
