"""The files of a layer: what an update found, as bicliques, and what the version then is."""

from __future__ import annotations

import uuid
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import kernels
from pipeline.errors import BicliqError
from pipeline.graphs.bipartite import Int32s, Int64s
from pipeline.stages.plan import Plan
from pipeline.store.biclique_file import BicliqueWriter
from pipeline.store.bicliques import MASK, SCHEMA, table_of
from pipeline.store.choice import EVERYTHING
from pipeline.store.labels import Hashes
from pipeline.store.layout import RunFolder
from pipeline.store.records import StoredFile
from pipeline.store.sizes import Histogram, Sizes
from pipeline.store.versions import Layer, Part, net_changes

ROWS_A_GROUP, IDS_A_GROUP = 1 << 16, 1 << 24
"""Most rows and ids of a row group: what a reader holds at a time."""

FOLDED = 2
"""A layer takes in the one below it that has at most so many times its rows: each has then more
than twice the rows of the next one, so that there are never more than their logarithm, and a row
is written so often at most."""


@dataclass(frozen=True)
class ChangeFile:
    """A file of bicliques that appeared or vanished.

    Parameters
    ----------
    file
        The file.
    rows, digest
        Their number, and their set digest.
    sizes
        How many there are of each size, and the largest (`pipeline.store.sizes`).
    partitions
        Partition of the base, ascending, and rows of each row group; empty where the rows are not
        sorted by it.
    """

    file: StoredFile
    rows: int
    digest: int
    sizes: dict[str, Any]
    partitions: list[tuple[int, int]]

    def record(self) -> dict[str, Any]:
        """Plain record for JSON; the file is named by the record that it stands in."""
        return {
            "rows": self.rows,
            "digest": f"{self.digest:016x}",
            "sizes": self.sizes,
            "partitions": self.partitions,
        }


class Roots:
    """The root of any biclique, by the order of a plan, and the partition that is the root's.

    Vertices that the plan does not know come after all others, by their ids.

    Parameters
    ----------
    plan
        Of the base.
    n_vertices
        Vertices of the enumerated side, the new ones as well.
    """

    def __init__(self, plan: Plan, n_vertices: int) -> None:
        self._side = plan.side
        n = len(plan.roots)
        self._order = n + np.arange(n_vertices, dtype=np.int64)
        self._order[plan.roots] = np.arange(n)
        self._vertex = np.concatenate([plan.roots, np.arange(n_vertices, dtype=np.int32)])
        self._partition = np.full(n_vertices, int(plan.partition.max(initial=-1)) + 1, np.int64)
        self._partition[plan.roots] = plan.partition

    def of(self, lists: kernels.BicliqueLists) -> Int32s:
        """Return the root of each: its first member in the order."""
        offsets, members = getattr(lists, f"{self._side}_offsets"), getattr(lists, self._side)
        if not len(lists):
            return np.zeros(0, np.int32)
        found: Int32s = self._vertex[np.minimum.reduceat(self._order[members], offsets[:-1])].astype(np.int32)
        return found

    def partitions(self, roots: Int32s) -> Int64s:
        """Return the partition of each root; that after the last for one that the plan has not."""
        return self._partition[roots]


def fold(
    layers: tuple[Layer, ...], appeared: kernels.BicliqueLists, vanished: kernels.BicliqueLists, roots: Roots
) -> tuple[int, kernels.BicliqueLists, kernels.BicliqueLists]:
    """Unite what an update changes with what the last layers did, as far as these are not larger.

    Parameters
    ----------
    layers
        Those of the version before, the oldest first.
    appeared, vanished, roots
        What the update changes, and who the roots are.

    Returns
    -------
    int
        Layers that stay below.
    BicliqueLists
        What appeared since these, and what vanished.

    Notes
    -----
    O(rows log rows) of what is united; over many updates a row takes part `FOLDED` times the
    logarithm of all rows at most.
    """
    stay, rows = len(layers), len(appeared) + len(vanished)
    while stay and layers[stay - 1].rows <= FOLDED * rows:
        stay -= 1
        rows += layers[stay].rows
    if stay == len(layers):
        return stay, appeared, vanished
    steps = [(layer.appeared(), layer.vanished()) for layer in layers[stay:]]
    came, went = net_changes([*steps, (_table(appeared, roots), _table(vanished, roots))])
    return stay, _lists(came), _lists(went)


def _table(lists: kernels.BicliqueLists, roots: Roots) -> pa.Table:
    """Bicliques as rows of a file."""
    root = roots.of(lists)
    batches = (_taken(lists, rows, root) for rows in _in_groups(lists, np.arange(len(lists))))
    parts = [
        table_of(
            [
                *(batch.left_offsets, batch.left, batch.right_offsets, batch.right),
                *(np.diff(batch.left_offsets), np.diff(batch.right_offsets), batch.root),
            ],
            SCHEMA,
        )
        for batch in batches
    ]
    return pa.concat_tables([SCHEMA.empty_table(), *parts])


def _lists(table: pa.Table) -> kernels.BicliqueLists:
    """Rows of a file as bicliques."""
    columns: list[Any] = []
    for side in ("left", "right"):
        lengths = table[f"n_{side}"].to_numpy().astype(np.int64)
        columns += [np.concatenate([[0], np.cumsum(lengths)]), pc.list_flatten(table[side]).to_numpy()]
    return kernels.BicliqueLists(*columns)


def write_changes(
    folder: RunFolder,
    name: str,
    lists: kernels.BicliqueLists,
    roots: Roots,
    hashes: tuple[Hashes, Hashes],
    *,
    by_partition: bool,
) -> ChangeFile:
    """Write bicliques that appeared or vanished.

    Parameters
    ----------
    folder, name
        The run, and how the name of the file begins.
    lists, roots, hashes
        The bicliques, who their roots are, and the hashes of the labels of both sides.
    by_partition
        Whether they are sorted by the partition of their root, in a row group each.
    """
    root = roots.of(lists)
    numbers = roots.partitions(root) if by_partition else np.zeros(len(root), np.int64)
    order = np.argsort(numbers, kind="stable")
    partitions, counts = np.unique(numbers, return_counts=True)
    sizes, digest, shares = Sizes(), 0, []
    attempt = "" if folder.is_local else f"-{uuid.uuid4().hex[:8]}"
    with folder.sink(f"{name}{attempt}.parquet") as sink, BicliqueWriter(sink, 1) as writer:
        for number, rows in zip(
            partitions.tolist(), np.split(order, np.cumsum(counts)[:-1])[: len(counts)], strict=True
        ):
            for some in _in_groups(lists, rows):
                batch = _taken(lists, some, root)
                writer.write(batch)
                sizes.add(np.diff(batch.left_offsets), np.diff(batch.right_offsets))
                digest += kernels.check_bicliques(batch, *hashes)[0]
                shares.append((int(number), len(batch)))
    file = StoredFile(f"{name}{attempt}.parquet", sink.bytes, sink.checksum)
    return ChangeFile(file, len(root), digest & MASK, sizes.record(), shares if by_partition else [])


def _in_groups(lists: kernels.BicliqueLists, rows: Int64s) -> list[Int64s]:
    """Cut rows so that no part has too many ids."""
    ids = sum(offsets[rows + 1] - offsets[rows] for offsets in (lists.left_offsets, lists.right_offsets))
    number = np.cumsum(ids) // IDS_A_GROUP + np.arange(len(rows)) // ROWS_A_GROUP
    return [part for part in np.split(rows, np.flatnonzero(np.diff(number)) + 1) if len(part)]


def _taken(lists: kernels.BicliqueLists, rows: Int64s, root: Int32s) -> kernels.BicliqueBatch:
    """Some of the bicliques as a batch."""
    left = _some_lists(lists.left_offsets, lists.left, rows)
    return kernels.BicliqueBatch(*left, *_some_lists(lists.right_offsets, lists.right, rows), root[rows])


def _some_lists(offsets: Int64s, members: Int32s, rows: Int64s) -> tuple[Int32s, Int32s]:
    """Some lists of many, one after the other: their offsets and members."""
    first, last = int(rows[0]), int(rows[-1]) + 1
    if last - first == len(rows):  # as they stand, since rows ascend
        starts = offsets[first : last + 1]
        return (starts - starts[0]).astype(np.int32), members[starts[0] : starts[-1]]
    lengths = offsets[rows + 1] - offsets[rows]
    ends = np.cumsum(lengths)
    places = np.arange(ends[-1]) + np.repeat(offsets[rows] - (ends - lengths), lengths)
    return np.concatenate([[0], ends]).astype(np.int32), members[places]


def histogram_after(before: Histogram, vanished: Histogram, appeared: Histogram) -> Histogram:
    """Return how many bicliques there are of each size in the new version.

    Raises
    ------
    BicliqError
        Where more vanished than there were: the store is not what its records say.
    """
    counts = Counter(dict(before))
    counts.update(dict(appeared))
    counts.subtract(dict(vanished))
    if min(counts.values(), default=0) < 0:
        raise BicliqError(
            "more bicliques of a size vanished than there were: the run is not the one of its graph; `bicliq verify` says why"
        )
    return sorted((int(size), n) for size, n in counts.items() if n)


def largest_after(before: dict[str, Any] | None, parts: dict[int, Part], *, read: bool) -> Any:
    """Return the biclique with most edges of the new version, with its partition.

    Parameters
    ----------
    before
        That of the version before.
    parts
        Data files of the new version, that of what appeared last.
    read
        Whether `before` may have vanished, so that data files must be read.
    """
    newest = max(parts)
    offered = [{**entry, "partition": number} for number, entry in _largest_by_record(parts) if number == newest]
    if not read:
        return max([*([] if before is None else [before]), *offered], key=_rank, default=None)
    best: dict[str, int] | None = None
    for number, entry in sorted(_largest_by_record(parts), key=lambda one: _rank(one[1]), reverse=True):
        if best is not None and _rank(best) >= _rank(entry):
            break
        found = _largest_living(parts[number])
        if found is not None and (best is None or _rank(found) > _rank(best)):
            best = {**found, "partition": number}
    return best


def _largest_by_record(parts: dict[int, Part]) -> list[tuple[int, dict[str, int]]]:
    """Bounds of the largest of each part: it may have vanished."""
    return [(number, part.commit.sizes["largest"]) for number, part in parts.items() if part.commit.sizes["largest"]]


def _largest_living(part: Part) -> dict[str, int] | None:
    sizes = Sizes()
    with part.open() as file:
        for group, _, rows in part.rows(file, EVERYTHING):
            left, right = file.sizes(group)
            sizes.add(left[rows], right[rows])
    return sizes.largest


def _rank(biclique: dict[str, int]) -> tuple[int, int]:
    return biclique["n_edges"], biclique["n_left"]
