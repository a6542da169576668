"""A search makes row groups of what it finds, and a writer takes them as they are."""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bicliq import kernels
from bicliq.kernels import RowGroup, RowGroupLayout, Stream, enumerate_maximal_bicliques, set_digest, stream_row_groups
from bicliq.kernels.contracts import CODECS
from bicliq.pipeline.settings import PublishSettings
from bicliq.pipeline.store.biclique_file import BicliqueWriter, layout_of
from bicliq.pipeline.store.entries import Largest, SizeCounts
from bicliq.pipeline.store.sizes import Sizes
from tests.nightly import drawn
from tests.property.graphs import random_graphs


def searched(graph: Any, publish: PublishSettings, **options: Any) -> tuple[list[RowGroup], kernels.EnumerationResult]:
    csr = graph if isinstance(graph, tuple) else graph.csr
    with stream_row_groups(*csr, layout_of(publish), **options) as stream:
        assert isinstance(stream, Stream)
        return list(stream), stream.result


def table_of(found: Iterable[Any], publish: PublishSettings, terms: kernels.SurpriseTerms | None = None) -> Any:
    file = io.BytesIO()
    with BicliqueWriter(file, 1, publish, terms) as writer:
        for part in found:
            writer.write(part)
    return pq.read_table(file)


@given(random_graphs(), st.sampled_from(list(CODECS)), st.integers(1, 3), st.sampled_from(["left", "right"]))
@settings(max_examples=drawn(60), deadline=None)
def test_row_groups_hold_what_the_search_finds(graph: Any, compression: Any, threads: int, side: str) -> None:
    publish = PublishSettings(compression=compression)
    groups, result = searched(graph, publish, threads=threads, side=side, batch_bicliques=3)
    expected = enumerate_maximal_bicliques(*graph.csr, mode="digest", side=side)
    assert (result.bicliques, result.digest, result.complete) == (expected.bicliques, expected.digest, True)
    assert sum(map(len, groups)) == expected.bicliques
    table = table_of(groups, publish)
    lists = [table[name].combine_chunks() for name in ("left", "right")]
    arrays = [np.asarray(part) for one in lists for part in (one.offsets, one.values)] if len(table) else []
    assert (set_digest(*arrays) if arrays else 0) == expected.digest
    counted, told = Sizes(), Sizes()
    for group in groups:
        told.merge(SizeCounts(**{**group.sizes, "largest": Largest(**group.sizes["largest"])}))
    counted.add(*(np.asarray(table[name]) for name in ("n_left", "n_right")))
    assert told.counts() == counted.counts()


@given(random_graphs(), st.sampled_from(["both", "smaller"]), st.sampled_from(["left", "right"]), st.randoms())
@settings(max_examples=drawn(60), deadline=None)
def test_places_say_what_ids_say(graph: Any, columns: Any, side: Any, random: Any) -> None:
    """Whatever the ids, and wherever a row group ends: in a subtree, in a leaf, between them."""
    sizes = {"left_ids": graph.n_left, "right_ids": graph.n_right}
    ids: Any = {name: np.array(random.sample(range(1000), n), dtype=np.int32) for name, n in sizes.items()}
    terms = kernels.SurpriseTerms(*(np.arange(1000) * 7 + n for n in (1, 2)), *[np.zeros(1000, np.int64)] * 2)
    publish = PublishSettings(compression="none", columns=columns, objectives=["surprise"])
    asked: Any = {"side": side, "batch_bicliques": 5, **ids}
    with stream_row_groups(*graph.csr, layout_of(publish, terms), **asked) as groups:
        numbered = table_of(groups, publish, terms)
    with kernels.stream_maximal_bicliques(*graph.csr, **asked) as batches:
        assert numbered.equals(table_of(batches, publish, terms))


@pytest.mark.parametrize("n", [70_000, 2_200_000], ids=["as places", "as ids, as of more vertices than get places"])
def test_ids_of_which_hardly_any_comes_twice_are_written_as_they_are(n: int) -> None:
    stars = np.arange(n + 1), np.arange(n), n
    publish = PublishSettings(compression="none")
    groups, result = searched(stars, publish)
    assert all(column.begin == column.data for group in groups for column in group.columns[:2])
    table = table_of(groups, publish)
    assert result.bicliques == len(table) == n
    left, right = (pc.list_flatten(table[side].combine_chunks()).to_numpy() for side in ("left", "right"))
    assert (left == right).all()
    assert (np.sort(left) == np.arange(n)).all()


def three_each(n: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], int]:
    """Rows of three columns of their own."""
    return 3 * np.arange(n + 1), np.arange(3 * n), 3 * n


def one_of_many(n: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], int]:
    """A row of n columns, and small ones before and after it."""
    rows = [np.arange(9), np.arange(n), np.array([3, n // 2, n - 1]), np.array([3, n // 3])]
    return np.cumsum([0, *map(len, rows)]), np.concatenate(rows), n


def written_as_ids_would_be(graph: Any, side: Any) -> list[RowGroup]:
    publish = PublishSettings(compression="none")
    groups, result = searched(graph, publish, side=side)
    assert result.digest == enumerate_maximal_bicliques(*graph, mode="digest").digest
    assert sum(map(len, groups)) == result.bicliques
    with kernels.stream_maximal_bicliques(*graph, side=side) as batches:
        assert table_of(groups, publish).equals(table_of(batches, publish))
    return groups


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_row_group_ends_where_its_vertices_have_all_places(side: Any) -> None:
    groups = written_as_ids_would_be(three_each(40_000), side)
    assert [len(group) for group in groups] == [65_536 // 3, 40_000 - 65_536 // 3]


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_biclique_of_more_vertices_than_places_is_written_as_ids(side: Any) -> None:
    groups = written_as_ids_would_be(one_of_many(70_000), side)
    assert max(group.sizes["largest"]["n_right"] for group in groups) == 70_000


def many() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], int]:
    rows = [np.flatnonzero(row) for row in np.random.default_rng(3).random((300, 90)) < 0.3]
    return np.cumsum([0, *map(len, rows)]), np.concatenate(rows), 90


@pytest.mark.parametrize("threads", [1, 3])
def test_a_row_group_that_is_held_keeps_its_bytes(threads: int) -> None:
    """The memory of one that is dropped goes to a later one."""
    held = list[tuple[RowGroup, bytes]]()
    with stream_row_groups(*many(), RowGroupLayout("zstd"), threads=threads, batch_bicliques=200) as stream:
        for number, group in enumerate(stream):
            if number % 3 == 0:
                held.append((group, bytes(group.data)))
    del stream, group
    assert len(held) > 20
    assert all(bytes(group.data) == data for group, data in held)


@pytest.mark.parametrize("compress", [None, zlib.compress], ids=["library", "Python"])
def test_a_stream_that_is_left_early_ends(compress: Any) -> None:
    layout = RowGroupLayout("zstd", compress=compress)
    with stream_row_groups(*many(), layout, threads=2, batch_bicliques=50) as stream:
        assert len(next(stream)) == 50
    assert not stream.result.complete
    forgotten = stream_row_groups(*many(), layout, threads=2, batch_bicliques=50)
    next(forgotten)
    del forgotten  # its threads end, though they may be waiting for Python's lock


def test_an_error_of_who_compresses_ends_the_search() -> None:
    def fails(page: bytes) -> bytes:
        raise OSError("no room")

    with (
        pytest.raises(Exception, match="no room"),
        stream_row_groups(*many(), RowGroupLayout(compress=fails)) as stream,
    ):
        list(stream)


def test_until_ends_it() -> None:
    with stream_row_groups(*many(), RowGroupLayout("none"), batch_bicliques=50, until=lambda: True) as stream:
        assert list(stream) == []
    assert not stream.result.complete


def test_limits_and_layouts_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="row groups"):
        stream_row_groups(*many(), RowGroupLayout(), max_bicliques=3)
    with pytest.raises(ValueError, match="compression"):
        RowGroupLayout("gzip")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="terms"):
        RowGroupLayout(objectives=["surprise"])
