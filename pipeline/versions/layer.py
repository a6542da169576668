"""The files of a layer: what an update found, as bicliques, and what the version then is."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bicliq import kernels
from bicliq.pipeline.columns import empty_table, values_of
from bicliq.pipeline.errors import BicliqError
from bicliq.pipeline.graphs.bipartite import Int32s, Int64s
from bicliq.pipeline.settings import PublishSettings
from bicliq.pipeline.stages.planned import Plan
from bicliq.pipeline.store.biclique_file import BicliqueWriter, layout_of
from bicliq.pipeline.store.biclique_reader import LargerSides
from bicliq.pipeline.store.bicliques import MASK, SCHEMA, SMALLER_SCHEMA, table_of
from bicliq.pipeline.store.choice import EVERYTHING
from bicliq.pipeline.store.entries import Histogram, Largest, LargestOfRun
from bicliq.pipeline.store.labels import Hashes
from bicliq.pipeline.store.layout import GraphFolder, RunFolder
from bicliq.pipeline.store.record import StoredFile
from bicliq.pipeline.store.records import LayerRows
from bicliq.pipeline.store.sizes import Sizes
from bicliq.pipeline.store.versions import Layer, Part, net_changes
from bicliq.pipeline.versions.difference import AnyChanges, Step
from bicliq.pipeline.versions.way import Way

ROWS_A_GROUP, IDS_A_GROUP = 1 << 16, 1 << 24
"""Most rows and ids of a row group: what a reader holds at a time."""

MOST: Any = {"most_rows": ROWS_A_GROUP, "most_ids": IDS_A_GROUP}

FOLDED = 2
"""A layer takes in the one below it that has at most so many times its rows: each has then more
than twice the rows of the next one, so that there are never more than their logarithm, and a row
is written so often at most."""

FOLDED_ROWS, FOLDED_SHARE = 1 << 16, 64
"""It does so while both have at most so many rows, or so small a share of the version's bicliques:
to write more again would cost more than the update. Larger ones are as few as the share of what
changed allows (`compact_share`)."""

SURELY = 2
"""Where so many times the bicliques of such a layer are expected, it is taken to be larger."""

MOST_LAYERS = 32
"""Where there are so many, larger ones are taken in as well."""


Columns = Literal["both", "smaller"]


def publish_of_layer(
    base: PublishSettings, files: Sequence[kernels.BicliqueLists | kernels.ChangedRows], bicliques: int
) -> PublishSettings:
    """How a layer lies in its files, in a version of so many bicliques: with the codec of its base.

    The smaller sides are written in a third of the time, and take a third of the bytes. Small
    layers hold both: whoever unites them needs no graph for that.
    """
    are_rows = any(isinstance(file, kernels.ChangedRows) for file in files)
    columns: Columns = "smaller" if are_rows or sum(map(len, files)) > most_folded(bicliques) else "both"
    return PublishSettings(compression=base.compression, columns=columns)


def most_folded(bicliques: int) -> int:
    """Rows of a layer that is written again, in a version of so many bicliques, at most."""
    return max(FOLDED_ROWS, bicliques // FOLDED_SHARE)


class Roots:
    """The root of any biclique, by the order of a plan, and the partition that is the root's.

    Vertices that the plan does not know come after all others, by their ids.

    `plan`: of the base. `n_vertices`: vertices of the enumerated side, the new ones as well.
    """

    def __init__(self, plan: Plan, n_vertices: int) -> None:
        self._side = plan.side
        n = len(plan.roots)
        self._order = np.arange(n, n + n_vertices, dtype=np.int32)
        self._order[plan.roots] = np.arange(n)
        self._vertex = np.concatenate([plan.roots, np.arange(n_vertices, dtype=np.int32)])
        self._partition = np.full(n_vertices, int(plan.partition.max(initial=-1)) + 1, np.int32)
        self._partition[plan.roots] = plan.partition

    def of(self, lists: kernels.BicliqueLists) -> Int32s:
        """Return the root of each: its first member in the order."""
        offsets, members = getattr(lists, f"{self._side}_offsets"), getattr(lists, self._side)
        if not len(lists):
            return np.zeros(0, np.int32)
        found: Int32s = self._vertex[np.minimum.reduceat(self._order[members], offsets[:-1])].astype(np.int32)
        return found

    def rows(
        self,
        step: Step,
        search: kernels.ChangeSearch,
        threads: int,
        way: Way,
        *,
        hashes: tuple[Hashes, Hashes],
        bicliques: int,
        publish: PublishSettings,
    ) -> AnyChanges:
        """Search changes, and make rows of what is found, where it is a layer of smaller sides.

        What vanishes is sorted by the partition of the root: where edges are deleted, that is what
        the search takes to appear. Where an estimate promises many, nothing is kept that lists
        would be made of; where it promised too many, a small layer is one of smaller sides.
        """
        least = most_folded(bicliques) // 2  # about as many vanish as appear
        if way.found >= SURELY * least:
            least = 0
        layout = layout_of(PublishSettings(compression=publish.compression, columns="smaller"))
        packing = kernels.RowPacking(layout, self._partition, "appeared" if step.delete else "vanished", **MOST)
        bounds: dict[str, Any] = {"threads": threads, "least": least, "most": way.most}
        return search.find_rows(hashes, self._side, self._order, packing=packing, **bounds)

    def in_groups(
        self, lists: kernels.BicliqueLists, *, by_partition: bool
    ) -> tuple[list[tuple[int, int]], Callable[[int], kernels.BicliqueBatch]]:
        """Cut bicliques into groups that have not too many rows and ids.

        Returns their partitions and rows, and what makes a group. Where they are sorted, by the
        partition of the root, a group is of one; a root that the plan has not is of the partition
        after the last.
        """
        root = self.of(lists)
        number = self._partition[root] if by_partition else np.zeros(len(lists), np.int32)
        order = np.argsort(number, kind="stable")
        number, root = number[order], root[order]
        sides = (lists.left_offsets, lists.left), (lists.right_offsets, lists.right)
        ids = np.cumsum((np.diff(lists.left_offsets) + np.diff(lists.right_offsets))[order])
        block = ids // IDS_A_GROUP + np.arange(len(lists)) // ROWS_A_GROUP
        ends = np.flatnonzero((np.diff(block) != 0) | (np.diff(number) != 0)) + 1
        bounds = [*pairwise([0, *ends.tolist(), len(lists)])] if len(lists) else []

        def group(i: int) -> kernels.BicliqueBatch:
            first, last = bounds[i]
            left, right = (
                _some_lists(*side, order[first:last] if by_partition else slice(first, last)) for side in sides
            )
            return kernels.BicliqueBatch(*left, *right, root[first:last])

        return [(int(number[first]), last - first) for first, last in bounds], group


def fold_changes(
    layers: tuple[Layer, ...],
    changes: AnyChanges,
    roots: Roots,
    bicliques: int,
    after: GraphFolder,
    before: GraphFolder,
) -> tuple[int, kernels.BicliqueLists | kernels.ChangedRows, kernels.BicliqueLists | kernels.ChangedRows]:
    """Layers that stay below, and what appeared and vanished since these, as `fold` has it.

    Rows stay what they are if they stand alone; else they become lists, by the graphs of the
    version and of the one before.
    """
    if isinstance(changes, kernels.RowChanges):
        rows = len(changes.appeared) + len(changes.vanished)
        if layers_below([layer.rows for layer in layers], rows, bicliques) == len(layers):
            return len(layers), changes.appeared, changes.vanished
        appeared, vanished = LargerSides(after), LargerSides(before)
        changes = kernels.Changes(
            lists_of(changes.appeared, appeared), lists_of(changes.vanished, vanished), changes.backend
        )
    return fold(layers, changes.appeared, changes.vanished, roots, bicliques)


def fold(
    layers: tuple[Layer, ...],
    appeared: kernels.BicliqueLists,
    vanished: kernels.BicliqueLists,
    roots: Roots,
    bicliques: int,
) -> tuple[int, kernels.BicliqueLists, kernels.BicliqueLists]:
    """Unite what an update changes with what the last layers did, as far as these are not larger.

    Parameters
    ----------
    layers
        Those of the version before, the oldest first.
    appeared, vanished, roots
        What the update changes, and who the roots are.
    bicliques
        Those of the version before.

    Returns
    -------
    int
        Layers that stay below.
    BicliqueLists
        What appeared since these, and what vanished.

    Notes
    -----
    O(ids) of what is united; over many updates a row takes part `FOLDED` times the logarithm of all
    rows at most.
    """
    stay = layers_below([layer.rows for layer in layers], len(appeared) + len(vanished), bicliques)
    if stay == len(layers):
        return stay, appeared, vanished
    steps = [(layer.appeared(), layer.vanished()) for layer in layers[stay:]]
    came, went = net_changes([*steps, (_table(appeared, roots), _table(vanished, roots))])
    return stay, _lists(came), _lists(went)


def lists_of(rows: kernels.ChangedRows, sides: LargerSides) -> kernels.BicliqueLists:
    """Rows of smaller sides as bicliques, of a graph that has them."""
    laid_out = kernels.LaidOutRows(rows)
    batches = (laid_out.batch(i) for i in range(len(laid_out.groups)))
    tables = [sides.restored(table_of(vars(batch).values(), SMALLER_SCHEMA)) for batch in batches]
    return _lists(pa.concat_tables([empty_table(SCHEMA), *tables]))


def layers_below(layers: list[int], rows: int, bicliques: int) -> int:
    """How many of the layers of so many rows stay below one that has `rows`.

    Examples
    --------
    >>> layers_below([9_000_000, 300, 100], 200, 10**8), layers_below([9_000_000], 5_000_000, 10**8)
    (1, 1)
    """
    stay = len(layers)
    while stay and layers[stay - 1] <= FOLDED * rows:
        rows += layers[stay - 1]
        if rows > most_folded(bicliques) and stay <= MOST_LAYERS:
            break
        stay -= 1
    return stay


def _table(lists: kernels.BicliqueLists, roots: Roots) -> pa.Table:
    """Bicliques as rows of a file."""
    groups, group = roots.in_groups(lists, by_partition=False)
    parts = [
        table_of(
            [
                *(batch.left_offsets, batch.left, batch.right_offsets, batch.right),
                *(np.diff(batch.left_offsets), np.diff(batch.right_offsets), batch.root),
            ],
            SCHEMA,
        )
        for batch in map(group, range(len(groups)))
    ]
    return pa.concat_tables([empty_table(SCHEMA), *parts])


def _lists(table: pa.Table) -> kernels.BicliqueLists:
    """Rows of a file as bicliques."""
    columns: list[Any] = []
    for side in ("left", "right"):
        lengths = values_of(table[f"n_{side}"]).astype(np.int64)
        columns += [np.concatenate([[0], np.cumsum(lengths)]), values_of(pc.list_flatten(table[side]))]
    return kernels.BicliqueLists(*columns)


def write_changes(
    folder: RunFolder,
    name: str,
    found: kernels.BicliqueLists | kernels.ChangedRows,
    roots: Roots,
    hashes: tuple[Hashes, Hashes],
    *,
    by_partition: bool,
    publish: PublishSettings,
    threads: int = 1,
) -> tuple[StoredFile, LayerRows]:
    """Write bicliques that appeared or vanished; returns the file, and what a record says of it.

    Parameters
    ----------
    folder, name
        The run, and how the name of the file begins.
    found, roots, hashes
        The bicliques, who their roots are, and the hashes of the labels of both sides.
    by_partition
        Whether they are sorted by the partition of their root, in a row group each.
    publish
        How they lie in the file.
    threads
        Threads that lay out row groups.
    """
    shares, digest, encode = _encoder(found, roots, hashes, layout_of(publish), by_partition=by_partition)
    name = folder.attempt_of(f"{name}.parquet")
    with (
        folder.sink(name) as sink,
        BicliqueWriter(sink, 1, publish) as writer,
        ThreadPoolExecutor(threads, "lay out") as pool,
    ):
        for group, own in _in_turn(pool, threads, len(shares), encode):
            writer.write(group)
            digest += own
    return sink.file(name), LayerRows(
        rows=len(found),
        digest=f"{digest & MASK:016x}",
        sizes=writer.sizes.counts(),
        partitions=shares if by_partition else [],
        columns=publish.columns,
    )


Encode = Callable[[int], tuple[kernels.RowGroup, int]]


def _encoder(
    found: kernels.BicliqueLists | kernels.ChangedRows,
    roots: Roots,
    hashes: tuple[Hashes, Hashes],
    layout: kernels.RowGroupLayout,
    *,
    by_partition: bool,
) -> tuple[list[tuple[int, int]], int, Encode]:
    """Partition and rows of each row group, what is known of the digest, and what makes a group.

    With a group comes its part of the digest, where that was not known.
    """
    if isinstance(found, kernels.ChangedRows):
        rows = kernels.LaidOutRows(found)
        return rows.groups, found.digest, lambda i: (rows.encode(i, layout), 0)
    groups, group = roots.in_groups(found, by_partition=by_partition)

    def encode(i: int) -> tuple[kernels.RowGroup, int]:
        batch = group(i)
        return kernels.encode_bicliques(batch, layout), kernels.check_bicliques(batch, *hashes)[0]

    return groups, 0, encode


def _in_turn(pool: ThreadPoolExecutor, threads: int, n: int, make: Encode) -> Iterator[tuple[kernels.RowGroup, int]]:
    """Make n things on some threads, and yield them in their order; few wait at a time."""
    waiting: deque[Future[tuple[kernels.RowGroup, int]]] = deque()
    for i in range(n):
        waiting.append(pool.submit(make, i))
        if len(waiting) > 2 * threads:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _some_lists(offsets: Int64s, members: Int32s, rows: Int64s | slice) -> tuple[Int32s, Int32s]:
    """Offsets and members of some lists; of a range they are looked at where they lie."""
    starts, ends = offsets[:-1][rows], offsets[1:][rows]
    to = np.concatenate([[0], np.cumsum(ends - starts)])
    if isinstance(rows, slice):
        return to.astype(np.int32), members[starts[0] : ends[-1]]
    return to.astype(np.int32), members[np.arange(to[-1]) + np.repeat(starts - to[:-1], ends - starts)]


def histogram_after(before: Histogram, vanished: Histogram, appeared: Histogram) -> Histogram:
    """Return how many bicliques there are of each size in the new version.

    Raises BicliqError where more vanished than there were: the store is not what its records say.
    """
    counts = Counter(dict(before))
    counts.update(dict(appeared))
    counts.subtract(dict(vanished))
    if min(counts.values(), default=0) < 0:
        raise BicliqError(
            "more bicliques of a size vanished than there were: the run is not the one of its graph; `bicliq verify` says why"
        )
    return sorted((int(size), n) for size, n in counts.items() if n)


def largest_after(before: LargestOfRun | None, parts: dict[int, Part], *, read: bool) -> LargestOfRun | None:
    """Return the biclique with most edges of the new version, with its partition.

    `parts`: data files of the new version, that of what appeared last. `read`: whether `before` may
    have vanished, so that data files must be read.
    """
    newest = max(parts)
    bounds = [each.of(n) for n, part in parts.items() if (each := part.commit.sizes.largest)]  # it may have vanished
    if not read:
        offered = [each for each in (before, *bounds) if each and (each is before or each.partition == newest)]
        return max(offered, key=lambda each: each.rank, default=None)
    best: LargestOfRun | None = None
    for bound in sorted(bounds, key=lambda each: each.rank, reverse=True):
        if best is not None and best.rank >= bound.rank:
            break
        found = _largest_living(parts[bound.partition])
        if found is not None and (best is None or found.rank > best.rank):
            best = found.of(bound.partition)
    return best


def _largest_living(part: Part) -> Largest | None:
    sizes = Sizes()
    with part.open() as file:
        for group, _, rows in part.rows(file, EVERYTHING):
            left, right = file.sizes(group)
            sizes.add(left[rows], right[rows])
    return sizes.largest
