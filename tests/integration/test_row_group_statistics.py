"""What a choice reads of a run: nothing of row groups whose statistics tell enough."""

from __future__ import annotations

import io
import math
from bisect import bisect_right
from typing import Any, get_args

import numpy as np
import pyarrow.parquet as pq
import pytest

from bicliq import kernels
from bicliq.pipeline.settings import PublishSettings
from bicliq.pipeline.store.biclique_file import BicliqueWriter
from bicliq.pipeline.store.biclique_reader import BicliqueReader, LargerSides
from bicliq.pipeline.store.choice import Choice
from bicliq.pipeline.store.largest import largest_rows
from bicliq.pipeline.store.layout import Store
from bicliq.pipeline.store.record import StoredFile
from bicliq.pipeline.store.records import Commit
from bicliq.pipeline.store.sizes import Sizes
from bicliq.pipeline.store.versions import Part
from bicliq.pipeline.store.worth import By

NOBODY = (np.zeros(0, np.int32), np.zeros(0, np.int32))


def whole_part() -> Part:
    """A part in which nothing vanished."""
    store = Store.open("memory://statistics")
    commit = Commit(
        stored=(StoredFile("none", 0, ""),),
        partition=0,
        rows=54,
        digest="",
        seconds=0.0,
        complete=True,
        sizes=Sizes().counts(),
        plan="",
        backend="cpu",
        threads=1,
    )
    return Part(store.run("none"), commit, LargerSides(store.graph("none")))


class WatchedFile(io.BytesIO):
    """Notes where it is read."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.places: list[int] = []

    def read(self, size: int | None = -1, /) -> bytes:
        self.places.append(self.tell())
        return super().read(size)


class Watched(BicliqueReader):
    """Knows the row groups that anything is read of."""

    def __init__(self, data: bytes, sides: LargerSides) -> None:
        self.file = WatchedFile(data)
        super().__init__(self.file, sides)
        self.file.places.clear()  # of the footer

    @property
    def read(self) -> set[int]:
        groups = pq.ParquetFile(io.BytesIO(self.file.getvalue())).metadata
        firsts = [groups.row_group(i).column(0) for i in range(groups.num_row_groups)]
        begins = [column.dictionary_page_offset or column.data_page_offset for column in firsts]
        return {bisect_right(begins, place) - 1 for place in self.file.places}


@pytest.fixture(params=[(), ("edges", "surprise")], ids=["sizes", "objectives"])
def file(request) -> Watched:
    """Row groups of bicliques with sizes 1 × 1 to 9 × 9, 10 × 10 to 18 × 18, and so on."""
    return written(request.param)


def written(objectives: Any) -> Watched:
    out = io.BytesIO()
    degrees = np.ones(54, np.int64)  # so that an edge adds ln 54 to surprise
    terms = kernels.SurpriseTerms.of_degrees(degrees, degrees)
    with BicliqueWriter(out, 1, PublishSettings(objectives=objectives), terms) as writer:
        for group in range(6):
            sizes = np.arange(1 + 9 * group, 10 + 9 * group)
            offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
            ids = np.concatenate([np.arange(n) for n in sizes]).astype(np.int32)
            writer.write(kernels.BicliqueBatch(offsets, ids, offsets, ids, np.zeros(9, np.int32)))
    graph = Store.open("memory://statistics").graph("none")
    return Watched(out.getvalue(), LargerSides(graph))


def chosen(file: Watched, **bounds: Any) -> list[tuple[int, int]]:
    found = Choice(**bounds).rows(file, *NOBODY)
    return [(group, int(row)) for group, _, rows in found for row in rows]


def test_a_choice_reads_the_row_groups_that_hold_some_and_not_all_of_it(file) -> None:
    assert chosen(file, min_left=12, max_right=30) == [
        *((1, row) for row in range(2, 9)),
        *((2, row) for row in range(9)),
        *((3, row) for row in range(3)),
    ]
    assert file.read == {1, 3}


@pytest.mark.parametrize("bounds", [{}, {"min_edges": 1}, {"min_left": 100}, {"max_edges": 54 * 54}])
def test_a_choice_of_all_or_nothing_reads_nothing(file, bounds) -> None:
    assert len(chosen(file, **bounds)) == (0 if "min_left" in bounds else 54)
    assert file.read == set()


@pytest.mark.parametrize("by", [by for by in get_args(By) if by != "surprise"])
def test_the_largest_are_found_in_the_row_groups_that_can_hold_them(file, by) -> None:
    found = largest_rows(file, whole_part(), 11, by, 0, Choice(), NOBODY)
    assert {(group, int(row)) for group, rows, _ in found for row in rows} == {
        *((5, row) for row in range(9)),
        *((4, row) for row in (7, 8)),
    }
    assert file.read == {4, 5}


def test_a_stored_surprise_leaves_row_groups_unread() -> None:
    file = written(("surprise",))
    least = 40 * 40 * math.log(54) - 2 * math.log(math.comb(54, 40) * 40 * 41) - 0.01
    assert chosen(file, min_surprise=least) == [*((4, row) for row in range(3, 9)), *((5, row) for row in range(9))]
    assert file.read == {4, 5}
    file = written(("surprise",))
    found = largest_rows(file, whole_part(), 2, "surprise", -math.inf, Choice(), NOBODY)
    assert [(group, rows.tolist()) for group, rows, _ in found] == [(5, [7, 8])]
    assert file.read == {5}


def test_what_is_smaller_than_the_largest_so_far_is_not_read(file) -> None:
    assert largest_rows(file, whole_part(), 3, "left", 55, Choice(), NOBODY) == []
    assert file.read == set()
    (only,) = largest_rows(file, whole_part(), 3, "left", 54, Choice(), NOBODY)  # of those as large, all are candidates
    assert (only[0], only[1].tolist()) == (5, [8])
