"""Bicliques as the row groups of a layer: sorted by partition, cut, laid out and digested."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from bicliq.kernels import (
    BicliqueBatch,
    BicliqueLists,
    ChangedRows,
    ChangeSearch,
    LaidOutRows,
    RowChanges,
    RowGroupLayout,
    RowPacking,
)
from bicliq.kernels.digest import U64
from bicliq.pipeline.settings import PublishSettings
from bicliq.pipeline.store.biclique_file import BicliqueWriter, layout_of
from bicliq.pipeline.versions import layer

N_LEFT, N_RIGHT = 40, 30
MOST: Any = {"most_rows": 100, "most_ids": 10_000}


def _lists(n: int, seed: int) -> tuple[BicliqueLists, list[tuple[list[int], list[int]]]]:
    rng = np.random.default_rng(seed)

    def side(size: int) -> list[int]:
        return sorted(rng.choice(size, rng.integers(1, size), replace=False).tolist())

    rows = [(side(N_LEFT), side(N_RIGHT)) for _ in range(n)]
    columns: list[Any] = []
    for at in (0, 1):
        columns += [np.cumsum([0, *(len(row[at]) for row in rows)]), np.concatenate([row[at] for row in rows])]
    return BicliqueLists(*columns), rows


def _hashes() -> tuple[U64, U64]:
    rng = np.random.default_rng(5)
    return rng.integers(0, 2**63, N_LEFT).astype(np.uint64), rng.integers(0, 2**63, N_RIGHT).astype(np.uint64)


@pytest.mark.parametrize("by_partition", [True, False])
@pytest.mark.parametrize("side", ["left", "right"])
def test_rows_are_sorted_by_the_partition_of_their_root_and_cut(side, by_partition, monkeypatch):
    monkeypatch.setattr(layer, "ROWS_A_GROUP", 20)
    monkeypatch.setattr(layer, "IDS_A_GROUP", 500)
    lists, rows = _lists(300, 1)
    n, at = (N_LEFT, 0) if side == "left" else (N_RIGHT, 1)
    place = np.random.default_rng(2).permutation(n)
    partition = place // 7
    planned = np.argsort(place)
    roots_of = layer.Roots(SimpleNamespace(side=side, roots=planned, partition=partition[planned]), n)
    groups, group = roots_of.in_groups(lists, by_partition=by_partition)
    batches = [group(i) for i in range(len(groups))]
    roots = [min(row[at], key=lambda v: place[v]) for row in rows]
    order = sorted(range(300), key=lambda i: partition[roots[i]]) if by_partition else range(300)
    found = [row for batch in batches for row in zip(*_sides(batch), batch.root.tolist(), strict=True)]
    assert found == [(*rows[i], roots[i]) for i in order]
    numbers = [partition[roots[i]] if by_partition else 0 for i in order]
    assert np.repeat(*np.transpose(groups)).tolist() == numbers
    for (_, n_rows), batch in zip(groups, batches, strict=True):
        assert len(batch) == n_rows <= 20
        assert len(batch.left) + len(batch.right) <= 500 + N_LEFT + N_RIGHT


def _sides(batch: BicliqueBatch) -> list[list[list[int]]]:
    sides = (batch.left, batch.left_offsets), (batch.right, batch.right_offsets)
    return [[each.tolist() for each in np.split(ids, offsets[1:-1])] for ids, offsets in sides]


def test_no_bicliques_are_no_groups():
    none = BicliqueLists(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(1, np.int64), np.zeros(0, np.int32))
    plan = SimpleNamespace(side="left", roots=np.arange(3), partition=np.arange(3))
    assert layer.Roots(plan, 3).in_groups(none, by_partition=True)[0] == []


def _changed_rows(n: int, packing: RowPacking | None = None) -> ChangedRows:
    """What appears as a random graph of n vertices a side gets half of its edges."""
    rng = np.random.default_rng(3)
    left, right = np.nonzero(rng.random((n, n)) < 0.3)
    new = rng.random(len(left)) < 0.5
    starts = np.concatenate([[0], np.cumsum(np.bincount(left, minlength=n))])
    search = ChangeSearch(starts, right, n, left[new], right[new])
    hashes = [np.arange(n, dtype=np.uint64)] * 2
    found = search.find_rows(hashes, "left", rng.permutation(n), packing=packing)
    assert isinstance(found, RowChanges)
    return found.appeared


SMALLER = layout_of(PublishSettings(columns="smaller"))


@pytest.mark.parametrize("partitions", [None, 1, 4])
@pytest.mark.parametrize("layout", [None, SMALLER])
def test_rows_of_smaller_sides_are_sorted_and_cut_alike(partitions, layout):
    partition = None if partitions is None else np.arange(16) % partitions
    rows = _changed_rows(16, RowPacking(layout, partition, "appeared", most_rows=20, most_ids=60))
    laid_out = LaidOutRows(rows)
    whole = LaidOutRows(_changed_rows(16)).batch(0)
    of = np.zeros(len(rows), int) if partition is None else partition[whole.root]
    order = np.argsort(of, kind="stable")
    file = io.BytesIO()
    with BicliqueWriter(file, 1, PublishSettings(columns="smaller")) as writer:
        for i in range(len(laid_out.groups)):
            writer.write(laid_out.encode(i, SMALLER))
    stored = pq.read_table(file).to_pylist()
    sides = np.split(whole.smaller, whole.offsets[1:-1])
    numbers = zip(whole.n_left.tolist(), whole.n_right.tolist(), whole.root.tolist(), strict=True)
    expected = [(side.tolist(), *own) for side, own in zip(sides, numbers, strict=True)]
    assert [tuple(row.values()) for row in stored] == [expected[i] for i in order]
    assert np.repeat(*np.transpose(laid_out.groups)).tolist() == of[order].tolist()
    assert len(laid_out.groups) > len(rows) // 20
    ids = np.array([len(expected[i][0]) for i in order])
    ends = np.cumsum([n for _, n in laid_out.groups])
    for (_, n), end in zip(laid_out.groups, ends, strict=True):
        assert n <= 20
        assert n == 1 or ids[end - n : end].sum() <= 60


def test_packed_row_groups_are_those_of_rows_that_are_laid_out_afterwards():
    packed, kept = (LaidOutRows(_changed_rows(16, RowPacking(layout, most_rows=20))) for layout in (SMALLER, None))
    assert packed.groups == kept.groups
    for i in range(len(kept.groups)):
        one, other = (laid_out.encode(i, SMALLER) for laid_out in (packed, kept))
        assert (bytes(one.data), one.described, one.sizes) == (bytes(other.data), other.described, other.sizes)
        for column, same in zip(vars(packed.batch(i)).values(), vars(kept.batch(i)).values(), strict=True):
            np.testing.assert_array_equal(column, same)


def test_a_packed_row_group_is_of_one_layout():
    laid_out = LaidOutRows(_changed_rows(16, RowPacking(SMALLER, most_rows=20)))
    with pytest.raises(ValueError, match="another layout"):
        laid_out.encode(0, RowGroupLayout("none", columns="smaller"))


def test_rows_stay_rows_where_python_compresses():
    of_python = RowGroupLayout("zstd", 1, lambda page: pytest.fail("a page was compressed"), "smaller")
    laid_out = LaidOutRows(_changed_rows(16, RowPacking(of_python, most_rows=20)))
    assert sum(len(laid_out.batch(i)) for i in range(len(laid_out.groups))) == len(_changed_rows(16))


def test_rows_take_a_layout_of_smaller_sides_and_partitions_of_all_roots():
    rows = _changed_rows(8)
    with pytest.raises(ValueError, match="both sides"):
        LaidOutRows(rows).encode(0, layout_of(PublishSettings()))
    with pytest.raises(ValueError, match="smaller sides"):
        RowPacking(layout_of(PublishSettings()))
    for partition, problem in (([0], "no partition"), ([-1] * 8, "at least 0")):
        with pytest.raises(ValueError, match=problem):
            _changed_rows(8, RowPacking(partition=partition, by_partition="appeared"))
