"""Hashes of labels, and digests that are made of them: kernels, stages and NumPy alike."""

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq import kernels
from bicliq.pipeline.settings import IngestSettings, Settings
from bicliq.pipeline.stages.search import enumerate_table
from bicliq.pipeline.store.labels import label_hashes
from tests.integration.stored_graphs import random_graph


@settings(deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_a_number_has_one_hash_however_it_is_written(numbers):
    as_numbers = label_hashes(pa.array(numbers, pa.int64()))
    as_text = label_hashes(pa.array([str(n) for n in numbers], pa.string()))
    assert as_numbers.tolist() == as_text.tolist()


@settings(deadline=None)
@given(st.lists(st.text()))
def test_other_text_hashes_to_the_xxh3_of_its_bytes(labels):
    def expected(label):
        small = len(label.removeprefix("-")) <= 18 and str(label).isascii() and label.removeprefix("-").isdigit()
        return int(label) % 2**64 if small and str(int(label)) == label else xxhash.xxh3_64_intdigest(label.encode())

    assert label_hashes(pa.array(labels, pa.string())).tolist() == [expected(label) for label in labels]


@settings(deadline=None)
@given(st.data())
def test_a_digest_depends_on_labels_and_not_on_their_numbers(data):
    graph = random_graph(8, 6, 0.5, seed=data.draw(st.integers(0, 99)))
    hashes = [np.random.default_rng(side).integers(0, 2**64, n, np.uint64) for side, n in enumerate((8, 6))]
    lefts, rights = (np.array(data.draw(st.permutations(range(n)))) for n in (8, 6))
    moved = type(graph).from_edges(lefts[graph.edge_left], rights[graph.indices], 8, 6)
    moved_hashes = [np.empty_like(own) for own in hashes]
    for to, own, places in zip(moved_hashes, hashes, (lefts, rights), strict=True):
        to[places] = own

    def digest(of, labels):
        found = kernels.enumerate_maximal_bicliques(
            of.indptr, of.indices, of.n_right, mode="digest", left_hashes=labels[0], right_hashes=labels[1]
        )
        with kernels.stream_maximal_bicliques(of.indptr, of.indices, of.n_right) as stream:
            batches = list(stream)
        lists = ((b.left_offsets, b.left, b.right_offsets, b.right) for b in batches)
        assert sum(kernels.set_digest(*four, *labels) for four in lists) % 2**64 == found.digest
        return found.digest

    assert digest(graph, hashes) == digest(moved, moved_hashes)


@pytest.mark.parametrize("hashes", [np.arange(3, dtype=np.uint64), np.arange(4), np.zeros((4, 1), np.uint64)])
def test_hashes_of_another_shape_or_type_are_refused(hashes):
    with pytest.raises(ValueError, match="left_hashes"):
        kernels.enumerate_maximal_bicliques([0, 1, 2, 2, 2], [0, 1], 2, mode="digest", left_hashes=hashes)
    with pytest.raises(ValueError, match="left"):
        kernels.set_digest([0, 1], [4], [0, 1], [0], hashes, np.arange(1, dtype=np.uint64))


def test_a_table_has_one_digest_in_any_format_and_order(tmp_path):
    rows = ["ann 7", "ann 10", "bob 7", "bob 10", "cid 10", "dee 9"]
    (tmp_path / "a.csv").write_text("left,right\n" + "".join(row.replace(" ", ",") + "\n" for row in rows))
    (tmp_path / "b.tsv").write_text("left\tright\n" + "".join(row.replace(" ", "\t") + "\n" for row in rows[::-1]))
    more = [*rows, "aaa x"]  # a label of text makes all labels of that side text, in another order
    (tmp_path / "c.csv").write_text(
        "left,right,weight\n" + "".join(f"{row.replace(' ', ',')},{row != more[-1]:d}\n" for row in more)
    )
    plain = [enumerate_table(tmp_path / name, Settings(), "digest")["digest"] for name in ("a.csv", "b.tsv")]
    heavy = Settings(ingest=IngestSettings(weight="weight", min_weight=1))
    assert {*plain, enumerate_table(tmp_path / "c.csv", heavy, "digest")["digest"]} == {plain[0]}
