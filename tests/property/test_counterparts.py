"""The bicliques that share most edges with some groups, against all pairs by force."""

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq.pipeline.results.changed import Changed, Held
from bicliq.pipeline.results.counterparts import Sharing, counterparts
from tests.nightly import drawn

N = 6
SIDE = st.sets(st.integers(0, N - 1), min_size=1).map(sorted)
PAIR = st.tuples(SIDE, SIDE)
MAYBE = st.tuples(st.sets(st.integers(0, N - 1)).map(sorted), SIDE)  # who is in no other graph has no place there
LISTS = pa.list_(pa.int32())


def table_of(pairs, a_chunk):
    chunks = [pairs[at : at + a_chunk] for at in range(0, len(pairs), a_chunk)]
    columns = [
        pa.chunked_array([pa.array([pair[side] for pair in chunk], LISTS) for chunk in chunks], LISTS)
        for side in (0, 1)
    ]
    sizes = [pa.array([len(pair[side]) for pair in pairs], pa.int32()) for side in (0, 1)]
    return pa.table([*columns, *sizes], names=["left", "right", "n_left", "n_right"])


def by_force(group, others):
    keys = [
        (-len({*group[0]} & {*left}) * len({*group[1]} & {*right}), len(left) * len(right), row)
        for row, (left, right) in enumerate(others)
    ]
    shared, _, row = min(keys, default=(0, 0, 0))
    return Sharing(row, -shared) if shared else None


@settings(max_examples=drawn(1000, 12), deadline=None)
@given(st.lists(MAYBE, max_size=5), st.lists(PAIR, max_size=12), st.integers(1, 5), st.sampled_from([1, 30, 64]))
def test_the_one_that_shares_most_edges_is_found(groups, others, a_chunk, times):
    wanted = [by_force(group, others) for group in groups] * times  # also more groups than a pass takes
    members = [tuple(np.array(side, np.int32) for side in group) for group in groups] * times
    assert counterparts(members, Changed([Held(table_of(others, a_chunk))]), N, N) == wanted


def test_slices_of_a_table_are_read_where_they_lie():
    table = table_of([([0], [0]), ([1, 2], [1]), ([2], [1, 2])], 3).slice(1)
    assert counterparts([(np.array([2], np.int32), np.array([2], np.int32))], Changed([Held(table)]), N, N) == [
        Sharing(1, 1)
    ]
