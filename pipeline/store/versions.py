"""Versions of a run: the files of an earlier run, without what vanished, and with what appeared.

An update does not touch what is there. It makes a run of its own, whose record names the run that
the data files are of (its *base*) and the *layers* above it: the updates since then, the last one
its own. A layer holds two files of bicliques: what appeared and what vanished. A reader takes the
base's partitions and, as further partitions, what appeared in each layer, and leaves out what
vanished in a later one. Ids never move, and an update keeps the plan of its base, so that the root
of a biclique, and by it the partition, is known without looking for it: what vanished is sorted by
partition, and who reads one looks at its own share alone. A layer therefore costs what changed, and
no file of the base is read to make one. It holds what changed since the layers below it: those that
were not much larger are part of it (`pipeline.versions.layer.fold`), so there are never many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bicliq import kernels
from bicliq.pipeline.columns import column_of, empty_table, values_of
from bicliq.pipeline.store.biclique_reader import BicliqueReader, Int64s, LargerSides, open_bicliques
from bicliq.pipeline.store.bicliques import SCHEMA, batch_of, batches_of, table_of
from bicliq.pipeline.store.choice import Choice, Int32s
from bicliq.pipeline.store.layout import RunFolder, Store
from bicliq.pipeline.store.record import StoredFile
from bicliq.pipeline.store.records import Commit, LayerRows, RunRecord
from bicliq.pipeline.store.worth import Surprise

APPEARED, VANISHED = "changes/appeared", "changes/vanished"
"""Beginnings of the names of a layer's files in the folder of its run."""

UInt64s = npt.NDArray[np.uint64]
NOBODY = np.zeros(0, np.int32)
"""Members that a choice asks for, where it asks for none."""


@dataclass(frozen=True)
class Layer:
    """What one update changed: its record, which names the two files.

    `folder`: the run that the update made. `record`: its run.json. `below`: the layer that it
    stands on; None: the base.
    """

    folder: RunFolder
    record: RunRecord
    below: Layer | None = None

    def file(self, kind: str) -> StoredFile:
        """Return the file of what appeared or vanished (`APPEARED`, `VANISHED`)."""
        return next(file for name, file in self.record.named.items() if name.startswith(kind))

    def changed(self, kind: str) -> LayerRows:
        """Return what the record says of such a file."""
        return self.record.version.appeared if kind == APPEARED else self.record.version.vanished

    @property
    def rows(self) -> int:
        """Bicliques in both files."""
        return self.record.version.appeared.rows + self.record.version.vanished.rows

    @property
    def shares(self) -> list[tuple[int, int]]:
        """Partition of the base, and rows, of each row group of what vanished.

        What can be in no partition of the base stands under the number after its last.
        """
        return self.record.version.vanished.partitions

    def stores_smaller_sides(self, kind: str = APPEARED) -> bool:
        """Whether a file holds the smaller sides alone."""
        return self.changed(kind).columns == "smaller"

    def sides(self, kind: str = APPEARED) -> LargerSides:
        """Return the larger sides of what appeared (by its own graph) or vanished (that below)."""
        graph = self._graph_below if kind == VANISHED else self.record.graph
        return LargerSides(self.folder.store.graph(graph))

    @cached_property
    def _graph_below(self) -> str:
        return (self.below.record if self.below else self.folder.store.run(self.record.base).record()).graph

    def table(self, kind: str, check: bool = True) -> pa.Table:
        """Read what appeared or vanished, with both sides."""
        with self.open(kind, check) as file:
            groups = [file.table(group) for group in range(len(file.rows))]
        return pa.concat_tables([empty_table(SCHEMA), *groups])

    def vanished(self) -> pa.Table:
        """Read what vanished."""
        return self.table(VANISHED)

    def appeared(self) -> pa.Table:
        """Read what appeared."""
        return self.table(APPEARED)

    def vanished_sides(self, partition: int | None = None) -> Iterator[kernels.BicliqueBatch | kernels.SmallerBatch]:
        """Read what vanished, or what a partition of the base may hold of it, as it is stored."""
        groups = [at for at, (number, _) in enumerate(self.shares) if partition in (None, number)]
        if groups:
            with self.open(VANISHED) as file:
                for group in groups:
                    yield from file.batches(group)

    @cached_property
    def gone(self) -> kernels.BicliqueSet:
        """What vanished, which all layers below it ask for."""
        return kernels.BicliqueSet(self.vanished_sides(), self.record.version.vanished.rows)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "gone"}  # as of `Part`

    @contextmanager
    def open(self, kind: str, check: bool = True, surprise: Surprise | None = None) -> Iterator[BicliqueReader]:
        """Open one of the files; its bicliques are valued in its own graph, or in another one."""
        with open_bicliques(self.folder, self.file(kind), self.sides(kind), check, surprise) as file:
            yield file

    def commit(self, number: int, plan: str, kind: str = APPEARED) -> Commit:
        """Describe one of the files as that of a partition."""
        changed, manifest = self.changed(kind), self.record.version.manifest
        return Commit(
            stored=(self.file(kind),),
            partition=number,
            rows=changed.rows,
            digest=changed.digest,
            seconds=manifest.seconds["search"],
            complete=True,
            sizes=changed.sizes,
            plan=plan,
            backend=manifest.backend,
            threads=manifest.threads,
        )


@dataclass(frozen=True)
class Part:
    """A data file as one version sees it.

    Parameters
    ----------
    folder
        The run that wrote the file.
    commit
        Its commit, with the number that its partition has in the version. Rows and sizes count what
        vanished, too.
    sides
        The larger sides of its bicliques, by the graph that they were found in; a later graph would
        give those that vanished other sides.
    stores_smaller_sides
        Whether the file holds the smaller sides alone.
    later
        Layers in which something of it may have vanished.
    base
        The partition of the base that it is; None: what appeared in a layer.
    surprise
        How unlikely its bicliques are in the version's graph; None: in the graph of the file.
    """

    folder: RunFolder
    commit: Commit
    sides: LargerSides
    stores_smaller_sides: bool = False
    later: tuple[Layer, ...] = ()
    base: int | None = None
    surprise: Surprise | None = None

    @property
    def whole(self) -> bool:
        """Whether nothing of it can have vanished."""
        return not any(self.base in (None, number) for layer in self.later for number, _ in layer.shares)

    @contextmanager
    def open(self, check: bool = True) -> Iterator[BicliqueReader]:
        """Open the file, which gives both sides; it holds what vanished, too: see `rows`."""
        with open_bicliques(self.folder, self.commit.data, self.sides, check, self.surprise) as file:
            yield file

    def rows(
        self, file: BicliqueReader, choice: Choice, left: Int32s = NOBODY, right: Int32s = NOBODY
    ) -> Iterator[tuple[int, int, Int64s]]:
        """Yield the rows that a choice takes and that did not vanish, as `Choice.rows`."""
        for group, start, rows in choice.rows(file, left, right):
            living = rows[self.lives(file, group, rows)]
            if living.size:
                yield group, start, living

    def lives(
        self, file: BicliqueReader, group: int, rows: Int64s, table: pa.Table | None = None
    ) -> npt.NDArray[np.bool_]:
        """Say of each of some rows of a row group whether it did not vanish.

        `table`: these rows, where they were read already.

        Root and sizes tell most of them; lists are read and compared only of the rows that share
        these with something that vanished.
        """
        if not self.gone or not rows.size:
            return np.ones(rows.size, np.bool_)
        if table is not None:
            return ~self._hold(batches_of(table))
        numbers = [values_of(file.numbers(group)[name]) for name in ("n_left", "n_right", "root")]
        found = ~np.logical_or.reduce([gone.may_hold(*numbers) for gone in self.gone])[rows]
        return found if found.all() else ~self._hold(file.batches(group))[rows]

    def _hold(self, batches: Iterable[kernels.BicliqueBatch | kernels.SmallerBatch]) -> npt.NDArray[np.bool_]:
        """Say of each row of some batches whether it vanished."""
        found = [np.logical_or.reduce([gone.holds(batch) for gone in self.gone]) for batch in batches]
        return np.concatenate(found)

    def tables(
        self, file: BicliqueReader, choice: Choice, left: Int32s = NOBODY, right: Int32s = NOBODY
    ) -> Iterator[tuple[int, int, Int64s, pa.Table]]:
        """Yield a row group, its first row, the rows that `rows` takes of it, and their table."""
        for group, start, rows in choice.rows(file, left, right):
            table = file.table(group, None if rows.size == file.rows[group] else rows)
            lives = self.lives(file, group, rows, table)
            if lives.all():
                yield group, start, rows, table
            elif lives.any():
                yield group, start, rows[lives], _kept(table, lives)

    def living(self, file: BicliqueReader, group: int) -> pa.Table:
        """Read the rows of a row group that did not vanish."""
        table = file.table(group)
        lives = self.lives(file, group, np.arange(table.num_rows), table)
        return table if lives.all() else _kept(table, lives)

    def read(self) -> pa.Table:
        """Read all rows that did not vanish."""
        with self.open() as file:
            parts = [self.living(file, group) for group in range(len(file.rows))]
        return pa.concat_tables([empty_table(SCHEMA), *parts])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "gone"}  # another process reads it itself

    @cached_property
    def gone(self) -> tuple[kernels.BicliqueSet, ...]:
        """What of it may have vanished, told by smaller sides.

        A smaller side has one partner in a graph, and may have another one in a later graph. Where
        a row has the side of one that vanished, and another partner, the side had lost the row's
        partner before: then the row had vanished, too.
        """
        if self.whole:
            return ()
        if self.base is None:
            return tuple(layer.gone for layer in self.later)
        rows = sum(rows for layer in self.later for number, rows in layer.shares if number == self.base)
        sides = (batch for layer in self.later for batch in layer.vanished_sides(self.base))
        return (kernels.BicliqueSet(sides, rows),)


def hashes_of(table: pa.Table, labels: tuple[UInt64s, UInt64s] | None = None) -> UInt64s:
    """Return the hash of each biclique of a table of dense ids.

    `table`: columns left and right. `labels`: hashes of the labels of both sides; None: dense ids
    stand for them, which are the same in all versions of a graph.
    """
    columns: list[Any] = []
    for side in ("left", "right"):
        lengths = values_of(pc.list_value_length(table[side])).astype(np.int64)
        columns += [np.concatenate([[0], np.cumsum(lengths)]), values_of(pc.list_flatten(table[side]))]
    found: UInt64s = kernels.biclique_hashes(*columns, *(labels or ()))
    return found


def net_changes(steps: Iterable[tuple[pa.Table, pa.Table]]) -> tuple[pa.Table, pa.Table]:
    """Return what several changes change together.

    `steps`: what appeared and what vanished (dense ids), one change after the other.

    A biclique comes and goes by turns, so its comings less its goings are -1, 0 or 1.
    """
    batches = [
        (batch, sign)
        for step in steps
        for table, sign in zip(step, (1, -1), strict=True)
        for batch in table.cast(SCHEMA).to_batches()
        if batch.num_rows
    ]
    flags = kernels.net_changes((batch_of(batch), sign) for batch, sign in batches)
    kept = [(batch.filter(column_of(flag)), sign) for (batch, sign), flag in zip(batches, flags, strict=True)]
    came, went = (pa.Table.from_batches([batch for batch, own in kept if own == sign], SCHEMA) for sign in (1, -1))
    return came, went


def _kept(table: pa.Table, lives: npt.NDArray[np.bool_]) -> pa.Table:
    """Some rows of a table of `SCHEMA`."""
    (rows,) = table.combine_chunks().to_batches()
    kept = kernels.kept_rows(batch_of(rows), lives)
    sizes = (values_of(rows[name])[lives] for name in ("n_left", "n_right"))
    return table_of([kept.left_offsets, kept.left, kept.right_offsets, kept.right, *sizes, kept.root], SCHEMA)


def layers_of(store: Store, record: RunRecord) -> tuple[Layer, ...]:
    """Return the layers of a version, the oldest first; none where the run is no version.

    `store`, `record`: the run.json of a run.
    """
    found: tuple[Layer, ...] = ()
    for run in record.layers:
        known = record if run == record.run else store.run(run).record()
        found = (*found, Layer(store.run(run), known, found[-1] if found else None))
    return found


def parts_of(
    folder: RunFolder, asked: RunRecord, plan: str, commits: dict[int, Commit], layers: tuple[Layer, ...]
) -> dict[int, Part]:
    """Return the data files of a version by the number of their partition.

    `folder`, `asked`, `plan`, `commits`: the run whose files these are (the version's base, or the
    run itself), its run.json, and the digest of its plan. `layers`: what changed since.
    """
    sides, smaller = LargerSides(folder.store.graph(asked.graph)), asked.publish.columns == "smaller"
    now = layers[-1] if layers else None
    surprise = Surprise(folder.store.graph(now.record.graph)) if now else Surprise(sides.graph)
    found = {
        number: Part(folder, commit, sides, smaller, layers, number, surprise) for number, commit in commits.items()
    }
    first = max(commits, default=-1) + 1
    for at, layer in enumerate(layers):
        commit, smaller = layer.commit(first + at, plan), layer.stores_smaller_sides()
        found[commit.partition] = Part(
            layer.folder, commit, layer.sides(), smaller, later=layers[at + 1 :], surprise=surprise
        )
    return found
