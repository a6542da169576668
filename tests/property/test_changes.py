"""What new edges change, against the bicliques before and after by force."""

import signal
import time
from bisect import bisect_left
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bicliq import kernels
from bicliq.kernels.cuda.search_program import Tuning, tuned
from bicliq.kernels.enumeration import checked_request
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from tests import host_changes, host_cupy, host_kernels
from tests.host_cupy import HostCupy
from tests.nightly import drawn
from tests.reference.brute_force import maximal_bicliques, passing


def graph_of(edges, n_left, n_right):
    left, right = zip(*sorted(edges), strict=True) if edges else ((), ())
    return BipartiteGraph.from_edges(np.array(left, np.int64), np.array(right, np.int64), n_left, n_right)


def by_force(edges, n_left, least):
    found = passing(maximal_bicliques(sorted(edges), n_left), *least)
    return sorted((tuple(sorted(left)), tuple(sorted(right))) for left, right in found)


def listed(lists):
    left, right = (
        np.split(ids, at[1:-1]) for ids, at in ((lists.left, lists.left_offsets), (lists.right, lists.right_offsets))
    )
    return sorted((tuple(a.tolist()), tuple(b.tolist())) for a, b in zip(left, right, strict=True))[: len(lists)]


def found_by(edges, new, n_left, n_right, least=(1, 1, 1), **options):
    graph = graph_of(edges, n_left, n_right)
    ends = np.array(sorted(new), np.int64).reshape(-1, 2).T
    thresholds = dict(zip(("min_left", "min_right", "min_edges"), least, strict=True))
    return kernels.ChangeSearch(graph.indptr, graph.indices, n_right, *ends, **thresholds).find(**options)


@st.composite
def batches(draw):
    n_left, n_right = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    pairs = st.tuples(st.integers(0, n_left - 1), st.integers(0, n_right - 1))
    edges = draw(st.sets(pairs, min_size=1, max_size=n_left * n_right))
    if draw(st.booleans()):  # a dense graph: what it lacks is drawn
        edges = {(u, v) for u in range(n_left) for v in range(n_right)} - edges
    new = (
        {edge for edge in sorted(edges) if draw(st.booleans())}
        if draw(st.booleans())
        else set(draw(st.lists(st.sampled_from(sorted(edges)), max_size=4)) if edges else [])
    )
    return edges, new, n_left, n_right


@settings(max_examples=drawn(400), deadline=None)
@given(batches(), st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 8)), st.integers(1, 2))
def test_new_edges_make_and_end_what_they_do_by_force(batch, least, threads):
    edges, new, n_left, n_right = batch
    before, after = (by_force(of, n_left, least) for of in (edges - new, edges))
    found = found_by(edges, new, n_left, n_right, least, threads=threads)
    assert listed(found.appeared) == sorted(set(after) - set(before))
    assert listed(found.vanished) == sorted(set(before) - set(after))


@settings(max_examples=drawn(60), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 60))
def test_batches_of_larger_graphs_in_many_searches(seed, size):
    generator = np.random.default_rng(seed)
    table = generator.random((30, 25)) < 0.25
    edges = set(zip(*map(np.ndarray.tolist, np.nonzero(table)), strict=True))
    new = {sorted(edges)[i] for i in generator.choice(len(edges), min(size, len(edges)), replace=False)}
    before, after = (by_force(of, 30, (1, 1, 1)) for of in (edges - new, edges))
    found = found_by(edges, new, 30, 25)
    assert listed(found.appeared) == sorted(set(after) - set(before))
    assert listed(found.vanished) == sorted(set(before) - set(after))


def test_changes_are_searched_in_groups_of_bounded_size(monkeypatch):
    edges = {(u, v) for u in range(12) for v in range(12) if (u * v + u) % 3}
    new = {edge for edge in edges if sum(edge) % 4 == 0}
    whole = found_by(edges, new, 12, 12)
    monkeypatch.setattr("bicliq.kernels.changes.PATHS_A_SEARCH", 50)
    parts = found_by(edges, new, 12, 12, threads=2)
    assert (listed(parts.appeared), listed(parts.vanished)) == (listed(whole.appeared), listed(whole.vanished))


@settings(max_examples=drawn(200), deadline=None)
@given(batches(), st.integers(1, 12), st.integers(1, 2))
def test_portions_of_the_changes_make_up_all_of_them(batch, n, threads):
    edges, new, n_left, n_right = batch
    graph = graph_of(edges, n_left, n_right)
    ends = np.array(sorted(new), np.int64).reshape(-1, 2).T
    search = kernels.ChangeSearch(graph.indptr, graph.indices, n_right, *ends)
    portions, whole = search.portions(n), search.find()
    assert len(portions) <= n
    assert [first for first, _ in portions] == [0, *(last for _, last in portions)][: len(portions)]
    parts = [search.find(portion=portion, threads=threads) for portion in portions]
    found = kernels.unite_changes(iter(parts))
    assert (listed(found.appeared), listed(found.vanished)) == (listed(whole.appeared), listed(whole.vanished))
    assert sum(len(part.appeared) for part in parts) == len(whole.appeared)


def test_portions_cost_about_the_same():
    edges = {(u, v) for u in range(60) for v in range(60) if (u * v + u) % 3 == 1}
    graph = graph_of(edges, 60, 60)
    ends = np.array(sorted(edge for edge in edges if sum(edge) % 4 == 0), np.int64).T
    search = kernels.ChangeSearch(graph.indptr, graph.indices, 60, *ends)
    alone = [kernels.ChangeSearch(graph.indptr, graph.indices, 60, *end.reshape(2, 1)) for end in ends.T]
    costs = np.array([change.cost for change in alone])
    shares = [costs[first:last].sum() for first, last in search.portions(8)]
    assert len(shares) == 8
    assert max(shares) <= search.cost / 8 + costs.max()
    assert min(shares) >= search.cost / 8 - costs.max()


def test_searches_side_by_side_do_not_mix_what_they_find():
    edges = {(u, v) for u in range(30) for v in range(30) if (u * v + u) % 3}
    graph = graph_of(edges, 30, 30)
    ends = np.array(sorted(edge for edge in edges if sum(edge) % 9 == 0), np.int64).T
    search = kernels.ChangeSearch(graph.indptr, graph.indices, 30, *ends)
    portions = search.portions(6)
    alone = [listed(search.find(portion=portion).appeared) for portion in portions]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda portion: search.find(portion=portion), portions))
    assert [listed(found.appeared) for found in together] == alone


@pytest.mark.parametrize(
    ("spoilt", "problem"),
    [
        ({"left_offsets": [0, 5]}, "left_offsets must start with 0"),
        ({"right_offsets": [0, 1, 2]}, "1 left sides and 2 right sides"),
        ({"left": [-1]}, "left"),
    ],
)
def test_lists_that_are_none_are_not_united(spoilt, problem):
    lists = {"left_offsets": [0, 1], "left": [0], "right_offsets": [0, 2], "right": [0, 1]}
    sound = kernels.BicliqueLists(**{name: np.array(values) for name, values in lists.items()})
    bad = kernels.BicliqueLists(**{name: np.array(values) for name, values in {**lists, **spoilt}.items()})
    assert len(kernels.unite_changes([kernels.Changes(sound, sound, "cpu")] * 2).vanished) == 1
    for changes in (kernels.Changes(bad, sound, ""), kernels.Changes(sound, bad, "")):
        with pytest.raises(ValueError, match=problem):
            kernels.unite_changes([changes])


@settings(max_examples=drawn(200), deadline=None)
@given(batches(), st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 5)), st.integers(1, 2), st.booleans())
def test_what_a_gpu_has_judged_is_what_the_cpu_finds(batch, least, threads, in_groups):
    expected = found_by(*batch, least)
    with pytest.MonkeyPatch.context() as patch:
        if in_groups:
            patch.setattr("bicliq.kernels.changes.PATHS_A_SEARCH", 20)
            patch.setattr("bicliq.kernels.sharing.COPIED_AT_ONCE", 3)
        gpu = HostCupy({**host_kernels.ENUMERATION, **host_changes.CHANGES})
        with host_cupy.installed(gpu, patch), tuned(Tuning(most_multiprocessors=1)):
            found = found_by(*batch, least, threads=threads, backend="cuda")
    assert (listed(found.appeared), listed(found.vanished)) == (listed(expected.appeared), listed(expected.vanished))
    assert found.backend == ("cuda" if expected.backend else "")


@settings(deadline=None)
@given(batches(), st.integers(1, 60))
def test_a_small_search_is_estimated_exactly_in_one_group_or_many(batch, paths):
    edges, new, n_left, n_right = batch
    graph = graph_of(edges, n_left, n_right)
    ends = np.array(sorted(new), np.int64).reshape(-1, 2).T
    search = kernels.ChangeSearch(graph.indptr, graph.indices, n_right, *ends)
    found, estimated = len(search.find().appeared), search.estimate()
    assert estimated >= found
    assert len(new) > 1 or estimated == found
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bicliq.kernels.changes.PATHS_A_SEARCH", paths)
        patch.setattr("bicliq.kernels.changes.GROUPS_ESTIMATED", 100)
        assert search.estimate() == estimated


def test_a_rough_estimate_looks_at_some_of_the_changes():
    edges = {(u, v) for u in range(60) for v in range(60) if (u * v + u) % 3 == 1}
    graph = graph_of(edges, 60, 60)
    ends = np.array(sorted(edge for edge in edges if sum(edge) % 4 == 0), np.int64).T
    search = kernels.ChangeSearch(graph.indptr, graph.indices, 60, *ends)
    whole = search.estimate()
    assert whole / 4 < search.estimate(rough=True) < 4 * whole
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bicliq.kernels.changes.PATHS_A_SEARCH", search.cost // 5)
        assert whole / 8 < search.estimate(rough=True) < 8 * whole
    none = kernels.ChangeSearch(graph.indptr, graph.indices, 60, [], [])
    assert none.estimate(rough=True) == 0


def test_a_few_groups_of_changes_stand_for_all(monkeypatch):
    edges = {(u, v) for u in range(40) for v in range(40) if (u * v + u) % 3 == 1}
    graph = graph_of(edges, 40, 40)
    ends = np.array(sorted(edge for edge in edges if sum(edge) % 4 == 0), np.int64).T
    search = kernels.ChangeSearch(graph.indptr, graph.indices, 40, *ends)
    whole = search.estimate()
    monkeypatch.setattr("bicliq.kernels.changes.PATHS_A_SEARCH", 200)
    assert whole / 2 < search.estimate() < 2 * whole


@pytest.mark.parametrize(
    ("left", "right", "problem"),
    [
        ([0], [1], r"\(0, 1\) is not in the graph"),
        ([9], [0], r"\(9, 0\) is not"),
        ([0, 0], [0, 0], "twice"),
        ([0], [], "entries"),
    ],
)
def test_new_edges_that_the_graph_has_not_are_refused(left, right, problem):
    with pytest.raises(ValueError, match=problem):
        kernels.ChangeSearch([0, 1, 2], [0, 1], 2, left, right)


def test_a_search_that_is_done_twice_finds_the_same():
    search = kernels.ChangeSearch([0, 2, 4], [0, 1, 0, 1], 2, [1], [1])
    first, second = search.find(), search.find()
    assert listed(first.appeared) == listed(second.appeared) == [((0, 1), (0, 1))]
    assert listed(first.vanished) == listed(second.vanished)
    assert len(second.vanished) == 2


def test_no_new_edge_changes_nothing():
    found = found_by({(0, 0)}, set(), 1, 1)
    assert isinstance(found, kernels.Changes)
    assert isinstance(found.appeared, kernels.BicliqueLists)
    assert (len(found.appeared), len(found.vanished), found.backend) == (0, 0, "")


@settings(max_examples=drawn(300), deadline=None)
@given(batches(), st.integers(1, 2), st.booleans(), st.sampled_from([1, 2, 65_536]))
def test_a_search_that_may_meet_no_more_ends_there(batch, threads, in_groups, of_a_batch):
    edges, new, n_left, n_right = batch
    graph, ends = graph_of(edges, n_left, n_right), np.array(sorted(new), np.int64).reshape(-1, 2).T
    appeared = listed(found_by(*batch).appeared)
    hashes = [np.arange(n, dtype=np.uint64) for n in (n_left, n_right)]
    with pytest.MonkeyPatch.context() as patch:
        if in_groups:
            patch.setattr("bicliq.kernels.changes.PATHS_A_SEARCH", 20)
        patch.setattr("bicliq.kernels.changes.checked_request", partial(checked_request, batch_bicliques=of_a_batch))
        search = kernels.ChangeSearch(graph.indptr, graph.indices, n_right, *ends)

        def is_enough(find, most):
            try:
                found = find(threads=threads, most=most)
            except kernels.TooManyError:
                return False
            assert len(found.appeared) == len(appeared)
            return True

        finds = search.find, partial(search.find_rows, hashes, "left", np.arange(n_left))
        most = len(new) * len(appeared)
        met = [bisect_left(range(most + 1), True, key=partial(is_enough, find)) for find in finds]
    assert most >= met[0] == met[1] >= len(appeared)  # a biclique of several changes is met once or more often
    if len(new) == 1:
        assert met[0] == len(appeared)


@st.composite
def packings(draw):
    """Ways in which rows are kept: packed as they come or not, by partition or not."""
    layouts = [
        kernels.RowGroupLayout(codec, columns="smaller") for codec in ("none", "zstd") if kernels.has_codec(codec)
    ]
    return kernels.RowPacking(
        draw(st.sampled_from([None, *layouts])),
        by_partition=draw(st.sampled_from(["appeared", "vanished"])),
        most_rows=draw(st.integers(1, 4)),
        most_ids=draw(st.sampled_from([1, 5, 1000])),
    )


STARS = {(0, 0), (0, 1), (0, 2), (1, 0), (1, 2), (1, 3), (2, 1), (2, 3)}  # 1 on the right has new edges only


@settings(max_examples=drawn(600), deadline=None)
@given(
    batches(),
    st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 5)),
    st.sampled_from(["left", "right"]),
    st.integers(0, 2**32),
    st.integers(1, 2),
    st.booleans(),
    st.sampled_from([0, 3, 8]),
    packings(),
)
@example((STARS, {(0, 1), (2, 1)}, 3, 4), (1, 1, 1), "left", 0, 1, False, 0, kernels.RowPacking(most_rows=3))
def test_rows_of_smaller_sides_are_of_the_same_bicliques(
    batch, least, side, seed, threads, in_groups, too_few, packing
):
    edges, new, n_left, n_right = batch
    expected = found_by(*batch, least)
    generator = np.random.default_rng(seed)
    hashes = [generator.integers(0, 2**63, n).astype(np.uint64) for n in (n_left, n_right)]
    place = generator.permutation(n_left if side == "left" else n_right)
    if packing.by_partition == "appeared" or seed % 2:
        packing = replace(packing, partition=generator.integers(3, size=len(place)))
    graph, ends = graph_of(edges, n_left, n_right), np.array(sorted(new), np.int64).reshape(-1, 2).T
    thresholds = dict(zip(("min_left", "min_right", "min_edges"), least, strict=True))
    with pytest.MonkeyPatch.context() as patch:
        if in_groups:
            patch.setattr("bicliq.kernels.changes.PATHS_A_SEARCH", 20)
        search = kernels.ChangeSearch(graph.indptr, graph.indices, n_right, *ends, **thresholds)
        found = search.find_rows(hashes, side, place, threads=threads, least=too_few, packing=packing)
        if isinstance(found, kernels.Changes):
            assert len(found.appeared) < too_few
            found = search.find_rows(hashes, side, place, threads=threads, packing=packing)
        few = search.find_rows(hashes, side, place, threads=threads, least=10**6)
    if new and not in_groups:  # rows do not pay
        assert isinstance(few, kernels.Changes)
        assert (listed(few.appeared), listed(few.vanished)) == (listed(expected.appeared), listed(expected.vanished))
    assert found.backend == expected.backend
    assert found.backwards().appeared is found.vanished
    for kind in ("appeared", "vanished"):
        rows, lists = getattr(found, kind), getattr(expected, kind)
        columns = lists.left_offsets, lists.left, lists.right_offsets, lists.right
        assert rows.digest == kernels.set_digest(*columns, *hashes)
        assert len(rows) == len(lists)
        assert told_by(rows, packing, partitioned=packing.by_partition == kind) == sorted(
            (
                left if len(left) <= len(right) else right,
                len(left),
                len(right),
                min(left if side == "left" else right, key=lambda v: place[v]),
            )
            for left, right in listed(lists)
        )


def told_by(rows, packing, *, partitioned):
    """Smaller sides, sizes and roots of rows, which are packed as was asked."""
    laid_out = kernels.LaidOutRows(rows)
    told, partitions = [], [partition for partition, _ in laid_out.groups]
    assert partitions == sorted(partitions)
    for i, (partition, n) in enumerate(laid_out.groups):
        batch = laid_out.batch(i)
        assert len(batch) == n <= packing.most_rows
        assert n == 1 or len(batch.smaller) <= packing.most_ids
        if packing.partition is not None and partitioned:
            assert set(packing.partition[batch.root].tolist()) == {partition}
        else:
            assert partition == 0
        sides = map(tuple, np.split(batch.smaller, batch.offsets[1:-1]))
        told += zip(sides, batch.n_left.tolist(), batch.n_right.tolist(), batch.root.tolist(), strict=True)
    return sorted(told)


def of_scratch(edges, n_left, n_right, least):
    """Maximal bicliques by the search of the whole graph, which is another one."""
    graph = graph_of(edges, n_left, n_right)
    thresholds = dict(zip(("min_left", "min_right", "min_edges"), least, strict=True))
    with kernels.stream_maximal_bicliques(graph.indptr, graph.indices, n_right, **thresholds) as stream:
        return {biclique for batch in stream for biclique in listed(batch)}


def with_pendants(table, n, most, generator):
    """A table with n more rows, of one entry to `most` each."""
    more = np.zeros((n, table.shape[1]), bool)
    for row in more:
        row[generator.integers(table.shape[1], size=generator.integers(1, most + 1))] = True
    return np.vstack([table, more])


def shaped(sizes, density, pendants, n_new, n_whole, generator):
    """A table, and new ones of its entries: at one of the vertices that are adjacent to all but
    pendants, all of some vertices, and others that may meet."""
    table = generator.random(sizes) < min(density, 18 / min(sizes))
    full, (v, w) = (generator.integers(size, size=2) for size in sizes)
    table[full] = table[:, [v, w]] = True
    for _ in range(2):
        table = with_pendants(table, *pendants, generator).T
    entries = np.argwhere(table)
    new = generator.permutation(entries)[:n_new].tolist() + entries[entries[:, 1] == v][:1].tolist()
    for side in generator.integers(2, size=n_whole):
        new += entries[entries[:, side] == generator.integers(table.shape[side])].tolist()
    return table, set(map(tuple, new))


@settings(max_examples=drawn(250), deadline=None)
@given(
    st.integers(0, 2**32),
    st.one_of(
        st.tuples(st.integers(4, 70), st.integers(4, 70)),
        st.tuples(st.integers(4, 14), st.integers(40, 160)),  # more columns than a leaf has lanes
        st.tuples(st.integers(40, 160), st.integers(4, 14)),
    ),
    st.sampled_from([0.05, 0.15, 0.3, 0.45]),
    st.tuples(st.sampled_from([0, 40]), st.integers(2, 3)),
    st.integers(1, 12),
    st.integers(0, 2),
    st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(1, 6)),
    st.sampled_from(["left", "right"]),
    st.sampled_from(["left", "right"]),
    st.integers(1, 2),
)
# All that reach two members in common reach no third: they are met at the last words read.
@example(37183, (23, 48), 0.15, (40, 2), 1, 0, (1, 1, 1), "right", "left", 1)
def test_rows_and_lists_of_subgraphs_of_all_shapes(
    seed, sizes, density, pendants, n_new, n_whole, least, searched, side, threads
):
    generator = np.random.default_rng(seed)
    table, new = shaped(sizes, density, pendants, n_new, n_whole, generator)
    edges, (n_left, n_right) = set(map(tuple, np.argwhere(table).tolist())), table.shape
    before, after = (of_scratch(of, n_left, n_right, least) for of in (edges - new, edges))
    graph, ends = graph_of(edges, n_left, n_right), np.array(sorted(new), np.int64).T
    thresholds = dict(zip(("min_left", "min_right", "min_edges"), least, strict=True))
    search = kernels.ChangeSearch(graph.indptr, graph.indices, n_right, *ends, **thresholds)
    hashes = [generator.integers(0, 2**63, n).astype(np.uint64) for n in table.shape]
    place = generator.permutation(n_left if side == "left" else n_right)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bicliq.kernels.changes.choose_side", lambda *_, **__: searched)
        lists, rows = (search.find_rows(hashes, side, place, threads=threads, least=few) for few in (10**9, 0))
    assert listed(lists.appeared) == sorted(after - before)
    assert listed(lists.vanished) == sorted(before - after)
    for few, many in ((lists.appeared, rows.appeared), (lists.vanished, rows.vanished)):
        columns = few.left_offsets, few.left, few.right_offsets, few.right
        assert (len(many), many.digest) == (len(few), kernels.set_digest(*columns, *hashes))


def test_rows_of_a_vertex_without_a_hash_or_a_place_are_refused():
    search = kernels.ChangeSearch([0, 2, 4], [0, 1, 0, 1], 2, [1], [1])
    two = np.arange(2, dtype=np.uint64)
    for hashes, side, place, problem in (
        ([two[:1], two], "left", [0], "hash"),
        ([two, two[:1]], "left", [0, 1], "hash"),
        ([two, two], "left", [0], "place"),
        ([two, two], "right", [0], "place"),
        ([two, two], "both", [0, 1], "side"),
    ):
        with pytest.raises(ValueError, match=problem):
            search.find_rows(hashes, side, place)


def test_a_new_vertex_with_very_many_edges_takes_little_memory():
    """Each of its edges took a frame of the stack and a copy of the list: 50,000 ended the
    process."""
    n = 50_000
    graph = np.arange(0, 2 * n + 1, 2), np.tile([0, 1], n), 2
    search = kernels.ChangeSearch(*graph, np.arange(n), np.ones(n, np.int64))
    found = search.find()
    assert (len(found.appeared), len(found.appeared.left), found.appeared.right.tolist()) == (1, n, [0, 1])
    assert (len(found.vanished), len(found.vanished.left), found.vanished.right.tolist()) == (1, n, [0])
    rows = search.find_rows([np.arange(n, dtype=np.uint64), np.arange(2, dtype=np.uint64)], "left", np.arange(n))
    assert (len(rows.appeared), len(rows.vanished)) == (1, 1)


def test_a_split_that_never_ends_hears_an_interrupt():
    """Forty left vertices with a new edge each to a right one of their own: 2^40 remainders."""
    n = 40
    old = [(u, v) for u in range(n) for v in range(n) if u != v]
    new = [(u, u) for u in range(n)]
    graph = graph_of(old + new, n, n)
    search = kernels.ChangeSearch(graph.indptr, graph.indices, n, *np.array(new).T)
    hashes = [np.arange(n, dtype=np.uint64)] * 2
    for work in (search.find, partial(search.find_rows, hashes, "left", np.arange(n))):
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        started = time.monotonic()
        try:
            with pytest.raises(KeyboardInterrupt):
                work()
        finally:
            signal.signal(signal.SIGALRM, before)
        assert time.monotonic() - started < 60
