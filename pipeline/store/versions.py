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

import kernels
from pipeline.columns import column_of, empty_table, values_of
from pipeline.errors import DamageError
from pipeline.store.biclique_reader import BicliqueReader, Int64s, LargerSides, open_bicliques
from pipeline.store.bicliques import SCHEMA, publish_of
from pipeline.store.choice import EVERYTHING, Choice, Int32s
from pipeline.store.commits import Commit
from pipeline.store.layout import RunFolder, Store
from pipeline.store.records import StoredFile, named_files
from pipeline.store.worth import Surprise

APPEARED, VANISHED = "changes/appeared", "changes/vanished"
"""Beginnings of the names of a layer's files in the folder of its run."""

UInt64s = npt.NDArray[np.uint64]
NOBODY = np.zeros(0, np.int32)
"""Members that a choice asks for, where it asks for none."""


@dataclass(frozen=True)
class Layer:
    """What one update changed: its record, which names the two files.

    Parameters
    ----------
    folder
        The run that the update made.
    record
        Its run.json.
    """

    folder: RunFolder
    record: dict[str, Any]

    def file(self, kind: str) -> StoredFile:
        """Return the file of what appeared or vanished (`APPEARED`, `VANISHED`)."""
        return next(file for name, file in named_files(self.record).items() if name.startswith(kind))

    @property
    def rows(self) -> int:
        """Bicliques in both files."""
        return int(self.record["appeared"]["rows"]) + int(self.record["vanished"]["rows"])

    @property
    def shares(self) -> list[tuple[int, int]]:
        """Partition of the base, and rows, of each row group of what vanished.

        What can be in no partition of the base stands under the number after its last.
        """
        return [(int(partition), int(rows)) for partition, rows in self.record["vanished"]["partitions"]]

    def vanished(self, partition: int | None = None) -> pa.Table:
        """Read what vanished: all of it, or what a partition of the base may hold."""
        groups = [at for at, (number, _) in enumerate(self.shares) if partition in (None, number)]
        if not groups:
            return empty_table(SCHEMA)
        with self.folder.open_parquet(self.file(VANISHED)) as file:
            return file.read_row_groups(groups)

    def appeared(self) -> pa.Table:
        """Read what appeared."""
        return self.folder.read_table(self.file(APPEARED))

    def commit(self, number: int, plan: str, kind: str = APPEARED) -> Commit:
        """Describe one of the files as that of a partition."""
        file, manifest = self.file(kind), self.record["manifest"]
        changed = self.record[kind.removeprefix("changes/")]
        return Commit(
            partition=number,
            file=file.name,
            rows=int(changed["rows"]),
            bytes=file.bytes,
            checksum=file.checksum,
            digest=str(changed["digest"]),
            seconds=float(manifest["seconds"]["search"]),
            complete=True,
            sizes=changed["sizes"],
            plan=plan,
            backend=str(manifest["backend"]),
            threads=int(manifest["threads"]),
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
        Whether the file holds the smaller sides alone; what an update writes holds both.
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
        with open_bicliques(self.folder, self.commit.stored, self.sides, check, self.surprise) as file:
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

        Parameters
        ----------
        file, group, rows
            The rows.
        table
            These rows, where they were read already.

        Notes
        -----
        Root and sizes tell most of them; lists are read, hashed and compared only of the rows that
        share these with something that vanished.
        """
        found = np.ones(rows.size, np.bool_)
        if self._gone is None or not rows.size:
            return found
        kinds = _kinds(file.numbers(group))[rows] if table is None else _kinds(table)
        doubtful = np.flatnonzero(_are_in(self._gone.kinds, kinds)[0])
        if doubtful.size:
            lists = file.table(group, rows[doubtful]) if table is None else table.take(column_of(doubtful))
            found[doubtful] = ~self._gone.holds(lists.select(["left", "right"]))
        return found

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
                yield group, start, rows[lives], table.filter(column_of(lives))

    def read(self) -> pa.Table:
        """Read all rows that did not vanish."""
        with self.open() as file:
            parts = [table for *_, table in self.tables(file, EVERYTHING)]
        return pa.concat_tables([empty_table(SCHEMA), *parts])

    @cached_property
    def _gone(self) -> _Gone | None:
        if self.whole:
            return None
        return _Gone.of(pa.concat_tables([layer.vanished(self.base) for layer in self.later]))


@dataclass(frozen=True)
class _Gone:
    """Bicliques that vanished: hashes of root and sizes, and of the lists, both ascending."""

    kinds: UInt64s
    hashes: UInt64s
    lists: pa.Table

    @classmethod
    def of(cls, table: pa.Table) -> _Gone:
        hashes = hashes_of(table)
        order = np.argsort(hashes)
        return cls(np.unique(_kinds(table)), hashes[order], table.select(["left", "right"]).take(column_of(order)))

    def holds(self, lists: pa.Table) -> npt.NDArray[np.bool_]:
        """Whether each biclique is among these: equal by hash, and then list by list."""
        found, places = _are_in(self.hashes, hashes_of(lists))
        same = self.lists.take(column_of(places[found]))
        for side in ("left", "right"):
            if not _equal_lists(lists[side].filter(column_of(found)), same[side]):
                raise DamageError(
                    "two different bicliques have the same 64-bit hash; give the full run of this version"
                )
        return found


def _are_in(ascending: UInt64s, values: UInt64s) -> tuple[npt.NDArray[np.bool_], Int64s]:
    """Whether each value is among the ascending ones, and where it would be."""
    places = np.minimum(np.searchsorted(ascending, values), len(ascending) - 1)
    return ascending[places] == values, places


def _equal_lists(some: pa.ChunkedArray, others: pa.ChunkedArray) -> bool:
    return all(
        np.array_equal(values_of(part(some)), values_of(part(others)))
        for part in (pc.list_value_length, pc.list_flatten)
    )


def hashes_of(table: pa.Table, labels: tuple[UInt64s, UInt64s] | None = None) -> UInt64s:
    """Return the hash of each biclique of a table of dense ids.

    Parameters
    ----------
    table
        Columns left and right.
    labels
        Hashes of the labels of both sides; None: dense ids stand for them, which are the same in
        all versions of a graph.
    """
    columns: list[Any] = []
    for side in ("left", "right"):
        lengths = values_of(pc.list_value_length(table[side])).astype(np.int64)
        columns += [np.concatenate([[0], np.cumsum(lengths)]), values_of(pc.list_flatten(table[side]))]
    found: UInt64s = kernels.biclique_hashes(*columns, *(labels or ()))
    return found


def net_changes(steps: Iterable[tuple[pa.Table, pa.Table]]) -> tuple[pa.Table, pa.Table]:
    """Return what several changes change together.

    Parameters
    ----------
    steps
        What appeared and what vanished (dense ids), one change after the other.

    Notes
    -----
    A biclique comes and goes by turns, so its comings less its goings are -1, 0 or 1.
    """
    tables, signs = [empty_table(SCHEMA)], [np.zeros(0, np.int64)]
    for appeared, vanished in steps:
        for table, sign in ((appeared, 1), (vanished, -1)):
            tables.append(table.cast(SCHEMA))
            signs.append(np.full(table.num_rows, sign))
    whole = pa.concat_tables(tables)
    _, first, places = np.unique(hashes_of(whole), return_index=True, return_inverse=True)
    net = np.bincount(places, weights=np.concatenate(signs), minlength=len(first)).astype(np.int64)
    came, went = (whole.take(column_of(np.sort(first[net == sign]))) for sign in (1, -1))
    return came, went


def _kinds(table: pa.Table) -> UInt64s:
    """Root and sizes in one number: equal where these are, and seldom otherwise."""
    root, left, right = (values_of(table[name]).astype(np.uint64) for name in ("root", "n_left", "n_right"))
    found: UInt64s = (root << np.uint64(32)) ^ (left << np.uint64(16)) ^ right
    return found


def layers_of(store: Store, record: dict[str, Any]) -> tuple[Layer, ...]:
    """Return the layers of a version, the oldest first; none where the run is no version.

    Parameters
    ----------
    store, record
        The run.json of a run.
    """
    own = str(record.get("run"))
    return tuple(
        Layer(store.run(run), record if run == own else store.run(run).read_record("run.json"))
        for run in record.get("layers", ())
    )


def parts_of(
    folder: RunFolder, asked: dict[str, Any], plan: str, commits: dict[int, Commit], layers: tuple[Layer, ...]
) -> dict[int, Part]:
    """Return the data files of a version by the number of their partition.

    Parameters
    ----------
    folder, asked, plan, commits
        The run whose files these are (the version's base, or the run itself), its run.json, and the
        digest of its plan.
    layers
        What changed since.
    """
    sides, smaller = LargerSides(folder.store.graph(str(asked["graph"]))), publish_of(asked).columns == "smaller"
    now = layers[-1] if layers else None
    surprise = Surprise(folder.store.graph(str(now.record["graph"]))) if now else Surprise(sides.graph)
    found = {
        number: Part(folder, commit, sides, smaller, layers, number, surprise) for number, commit in commits.items()
    }
    first = max(commits, default=-1) + 1
    for at, layer in enumerate(layers):
        commit = layer.commit(first + at, plan)
        of_layer = LargerSides(folder.store.graph(str(layer.record["graph"])))
        found[commit.partition] = Part(layer.folder, commit, of_layer, later=layers[at + 1 :], surprise=surprise)
    return found
