"""Reading a run back: Arrow, pandas or Dask, with the original ids, and the largest bicliques.

Records are read and compared when a run is opened, data files and id dictionaries are checked
against their checksums when they are read: what does not fit is a `DamageError`, and gives no row
(docs/decisions.md has what that costs).
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from bicliq.pipeline.columns import column_of, empty_table, pandas_frame
from bicliq.pipeline.errors import InputError
from bicliq.pipeline.events import warn
from bicliq.pipeline.extras import needs
from bicliq.pipeline.store.acted import Acted
from bicliq.pipeline.store.biclique_reader import BicliqueReader, Int64s
from bicliq.pipeline.store.bicliques import OBJECTIVE_COLUMNS, SCHEMA, schema_of, table_of_rows
from bicliq.pipeline.store.choice import EVERYTHING, Choice, Int32s
from bicliq.pipeline.store.labels import nearest, place_of, read_labels
from bicliq.pipeline.store.largest import largest_rows, most_of
from bicliq.pipeline.store.layout import GraphFolder, RunFolder, Store
from bicliq.pipeline.store.records import Commit, Manifest
from bicliq.pipeline.store.states import OpenedRun, RunState, latest_run, read_run
from bicliq.pipeline.store.versions import VANISHED, Part, layers_of
from bicliq.pipeline.store.worth import By, Surprise

Side = Literal["left", "right"]
Members = tuple[Int32s, Int32s]


@dataclass(frozen=True)
class Run:
    """The committed bicliques of a run, as they were when it was first read.

    Parameters
    ----------
    store
        The store.
    run
        Name of the run.

    Notes
    -----
    Only committed partitions are read, so a run can be looked at while it is searched: `state` says
    how far it is.
    """

    store: Store
    run: str

    @property
    def folder(self) -> RunFolder:
        """Folder of the run."""
        return self.store.run(self.run)

    @property
    def graph(self) -> GraphFolder:
        """Folder of its graph."""
        return self.store.graph(self._graph_and_side[0])

    @cached_property
    def fold(self) -> str | None:
        """Forms in which its labels were united (`IngestSettings.fold`)."""
        return self.graph.record().summary.fold

    @property
    def state(self) -> RunState:
        """How far the run is; ``state.complete`` says whether all that was asked for is here."""
        return self._opened.state

    @property
    def partitions(self) -> list[int]:
        """Partitions that are committed, ascending."""
        return list(self.commits)

    @property
    def manifest(self) -> Manifest:
        """Manifest of the run; raises StorageError while it is not published."""
        return self.folder.published()

    @property
    def left_ids(self) -> pa.Array:
        """Original ids of the left vertices, by dense id."""
        return self._labels.left

    @property
    def right_ids(self) -> pa.Array:
        """Original ids of the right vertices, by dense id."""
        return self._labels.right

    @property
    def acted(self) -> Acted | None:
        """When vertices acted, where it is of groups in step."""
        return self._labels.acted

    @cached_property
    def _opened(self) -> OpenedRun:
        return read_run(self.folder)

    @cached_property
    def _labels(self) -> _Labels:
        return _Labels.read(self.store, *self._graph_and_side)

    @property
    def _graph_and_side(self) -> tuple[str, str]:
        return self._opened.asked.graph, "left" if self._opened.plan is None else self._opened.plan.side

    @property
    def commits(self) -> dict[int, Commit]:
        """Commit records of the partitions that are committed, by number."""
        if self.state.name == "count":
            raise InputError(
                f"{self.folder.uri}: this run is a count, not an enumeration, and has no bicliques; its counts are in"
                " counts.parquet there"
            )
        return self._opened.commits

    @property
    def parts(self) -> dict[int, Part]:
        """Data files of the partitions that are committed, by number, as this run sees them."""
        return {number: self._opened.parts[number] for number in self.commits}

    @property
    def stores_smaller_sides(self) -> bool:
        """Whether all files hold smaller sides alone; an update may write both."""
        return self._opened.asked.publish.columns == "smaller" and self._opened.asked.layered is None

    @property
    def objectives(self) -> tuple[By, ...]:
        """Objectives by which its bicliques have a value; in a version it is reckoned anew."""
        return self._opened.asked.publish.objectives

    def stores(self, by: By) -> bool:
        """Whether all files have the values of an objective, as no update's have."""
        return by in self.objectives and self._opened.asked.layered is None

    def dataset(self) -> Any:
        """Return the files as an Arrow dataset, with dense ids and the column partition.

        Where the smaller sides alone are stored, it has the column `smaller` instead of left and
        right, which all other methods give; where objectives are, their columns. Each data file is
        checked when it is first opened. A version has both sides and no objectives, whatever its
        base stores: a file that holds something else than the version shows is read, and written
        again in memory.
        """
        import pyarrow.dataset as ds  # brings pandas, which takes longer than most commands

        stored = schema_of(self._opened.asked.publish) if self._opened.asked.layered is None else SCHEMA
        schema = stored.append(pa.field("partition", pa.int32()))
        hive = ds.partitioning(pa.schema([("partition", pa.int32())]), flavor="hive")
        files = {
            f"partition={number:05d}/{part.folder.path_of(part.commit.file)}": part
            for number, part in self.parts.items()
        }
        return ds.dataset(
            list(files),
            schema=schema,
            format="parquet",
            filesystem=pafs.PyFileSystem(_CheckedFiles(self.folder.fs, files, stored)),
            partitioning=hive,
        )

    def table(self, ids: bool = True) -> pa.Table:
        """Return all bicliques as one Arrow table.

        `ids`: whether the lists hold original ids; otherwise dense ones.
        """
        parts = [part.read() for part in self.parts.values()]
        return self._labelled(pa.concat_tables([empty_table(SCHEMA), *parts]), ids)

    def to_pandas(self, ids: bool = True) -> Any:
        """Return all bicliques as a pandas DataFrame; `left` and `right` are Arrow list columns."""
        return pandas_frame(self.table(ids))

    def to_dask(self, ids: bool = True) -> Any:
        """Return the bicliques as a Dask DataFrame with one Dask partition a partition."""
        with needs("frames", "to_dask"):
            import pandas  # noqa: F401 - Dask says itself, at length, that it is missing
        with needs("cluster", "to_dask"):
            import dask.dataframe as dd

        meta = pandas_frame(self._labelled(empty_table(SCHEMA), ids))
        parts = list(self.parts.values())
        if not parts:
            return dd.from_pandas(meta, npartitions=1)
        labels = self._graph_and_side if ids else None
        return dd.from_map(_read_frame, parts, store_uri=self.store.uri, labels=labels, meta=meta)

    def read_partition(self, number: int, ids: bool = True) -> pa.Table:
        """Return the bicliques of one partition.

        `InputError` where it was not committed when this run was opened.
        """
        if number not in self.commits:
            raise InputError(
                f"{self.run}: partition {number} is not committed; {len(self.commits)} partitions are, open the run again"
                " for later ones"
            )
        return self._labelled(self.parts[number].read(), ids)

    def dense(self, side: Side, label: object) -> int:
        """Return the dense id of an original one.

        Raises InputError where the side has no such vertex.
        """
        labels = self.left_ids if side == "left" else self.right_ids
        found = place_of(label, labels, self.fold)
        if found is None:
            kind = "numbers" if pa.types.is_integer(labels.type) else "text"
            near = nearest(label, labels)
            raise InputError(f"{self.run}: there is no {side} vertex {label!r}; the {side} ids are {kind}{near}")
        return found

    def chosen(self, choice: Choice) -> Iterator[pa.Table]:
        """Yield the bicliques that a choice takes, with dense ids, a row group at a time.

        Returns columns biclique_id (partition times 2**32 plus the row in its file, so that it
        stays the same while a run goes on), left, right, n_left, n_right, root, and those of the
        run's objectives.
        """
        members = self._members(choice)
        for number, part in self.parts.items():
            if not choice.may_take(part.commit.sizes):
                continue
            with part.open() as file:
                for group, start, rows, table in part.tables(file, choice, *members):
                    ids = column_of((np.int64(number) << 32) + start + rows)
                    yield self._valued(table.add_column(0, "biclique_id", ids), file, group, rows)

    def count(self, choice: Choice) -> int:
        """Return how many bicliques a choice takes; without members only sizes are read."""
        manifest = self._opened.manifest
        if choice == EVERYTHING and self.parts:
            return manifest.bicliques if manifest else sum(commit.rows for commit in self.commits.values())
        members, n = self._members(choice), 0
        for sign, file in self._counted(choice):
            n += sign * sum(len(rows) for _, _, rows in choice.rows(file, *members))
        return n

    def sizes(self) -> dict[tuple[int, int], int]:
        """Return how many bicliques there are of each number of left and of right vertices."""
        found: Counter[tuple[int, int]] = Counter()
        for sign, file in self._counted(EVERYTHING):
            for group in range(len(file.rows)):
                left, right = (sizes.astype(np.int64) for sizes in file.sizes(group))
                keys, counts = np.unique(left << 32 | right, return_counts=True)
                pairs = zip((keys >> 32).tolist(), (keys & 0xFFFFFFFF).tolist(), strict=True)
                found.update(dict(zip(pairs, (sign * counts).tolist(), strict=True)))
        return {pair: count for pair, count in found.items() if count}

    def _counted(self, choice: Choice) -> Iterator[tuple[int, BicliqueReader]]:
        """Open the files that may hold what a choice takes, and, to be taken off, what vanished.

        What vanished was there once for each time, so counts need not ask which rows live.
        """
        for part in self.parts.values():
            if choice.may_take(part.commit.sizes):
                with part.open() as file:
                    yield 1, file
        for layer in layers_of(self.store, self._opened.asked):
            if choice.may_take(layer.changed(VANISHED).sizes):
                with layer.open(VANISHED, surprise=Surprise(self.graph)) as file:
                    yield -1, file

    def top(
        self, k: int = 10, by: By = "edges", ids: bool = True, *, choice: Choice = EVERYTHING, skip: int = 0
    ) -> pa.Table:
        """Return the k largest bicliques.

        Parameters
        ----------
        k
            How many.
        by
            "edges" (left times right vertices), "vertices" (both together), "balanced" (the smaller
            side), "left" or "right"; or "surprise": how far it is beyond chance.
            Surprise reads all lists, unless it is a column of the run.
        ids
            Whether the lists hold original ids; otherwise dense ones.
        choice
            Which bicliques to look at; by default all.
        skip
            How many of the largest to leave out before these: the pages before.

        Returns
        -------
        pyarrow.Table
            Columns left, right, n_left, n_right, n_edges, root, biclique_id, and those of the
            run's objectives; with `by` "surprise" that, too, and expected: how many of its edges
            chance gives. The largest first. Bicliques of equal
            worth come by their edges and then in the order of their dense ids, whatever the
            partitions: the answer is always the same.

        Raises
        ------
        InputError
            Where `k` is below 1, `skip` below 0, or `by` is none of these.
        """
        if by not in get_args(By) or k < 1 or skip < 0:
            raise InputError(
                f"top {k} by {by!r} after {skip}: k must be at least 1, by one of {', '.join(get_args(By))}, and what is left"
                " out at least 0"
            )
        best: list[dict[str, Any]] = []
        _in_use = self.acted if by == "surprise" else None  # its rows are read once for all that follows
        members, many = self._members(choice), k + skip
        promising = [part for part in self.parts.values() if choice.may_take(part.commit.sizes)]
        for most, part in sorted(((most_of(p.commit, by), p) for p in promising), key=lambda p: -p[0]):
            least = best[many - 1]["key"] if len(best) >= many else -math.inf
            if most >= least:
                found = self._largest(part, many, by, least, choice, members)
                best = sorted(
                    [*best, *found], key=lambda row: (-row["key"], -row["n_edges"], row["left"], row["right"])
                )[:many]
        edges, *others = (OBJECTIVE_COLUMNS[one] for one in self._shown(by))
        schema = pa.schema([*SCHEMA.insert(4, edges), pa.field("biclique_id", pa.int64(), nullable=False), *others])
        table = table_of_rows(best[skip:], schema)
        if by == "surprise":
            table = table.append_column("expected", pa.array(Surprise(self.graph).expected(table)))
        return self._labelled(table, ids)

    def _valued(self, table: pa.Table, file: BicliqueReader, group: int, rows: Int64s) -> pa.Table:
        """Put what bicliques are worth behind them, by the objectives of the run."""
        for by in self.objectives:
            table = table.append_column(OBJECTIVE_COLUMNS[by], column_of(file.values(group, by, rows)))
        return table

    def _largest(
        self, part: Part, k: int, by: By, least: float, choice: Choice, members: Members
    ) -> list[dict[str, Any]]:
        """Rows of a partition that can be among the k largest, ties included."""
        found: list[dict[str, Any]] = []
        with part.open() as file:
            starts = np.cumsum([0, *file.rows])
            for group, rows, keys in largest_rows(file, part, k, by, least, choice, members):
                table = file.table(group, rows)
                columns = {OBJECTIVE_COLUMNS[one].name: file.values_of(table, one) for one in self._shown(by)}
                columns["biclique_id"] = (np.int64(part.commit.partition) << 32) + starts[group] + rows
                for name, values in {**columns, "key": keys}.items():
                    table = table.append_column(name, column_of(values))
                found += table.to_pylist()
        return found

    def _shown(self, by: By) -> list[By]:
        """Objectives that the largest are shown with: edges, and those asked for, now or before."""
        asked = (*self.objectives, *(("surprise",) if by == "surprise" else ()))
        return list(dict.fromkeys(("edges", *asked)))

    def _members(self, choice: Choice) -> Members:
        """Dense ids of the members that a choice asks for."""
        sides: tuple[Side, Side] = ("left", "right")
        left, right = (
            np.array([self.dense(side, label) for label in labels], np.int32)
            for side, labels in zip(sides, (choice.with_left, choice.with_right), strict=True)
        )
        return left, right

    def labelled(self, table: pa.Table) -> pa.Table:
        """Put original ids in the place of dense ones, in the lists and in the column root.

        Groups in step get the column windows (`pipeline.store.acted`).
        """
        return self._labels.put_into(table)

    def _labelled(self, table: pa.Table, ids: bool) -> pa.Table:
        return self._labels.put_into(table) if ids else table


@dataclass(frozen=True)
class _Labels:
    """The id dictionaries of a graph, and which of them the roots of a run are of."""

    left: pa.Array
    right: pa.Array
    side: str
    acted: Acted | None

    @classmethod
    def read(cls, store: Store, graph: str, side: str) -> _Labels:
        folder = store.graph(graph)
        return cls(*read_labels(folder), side, Acted.of(folder))

    def put_into(self, table: pa.Table) -> pa.Table:
        """Original ids in place of dense ones, in the lists and in the root column.

        Groups in step then have their windows.
        """
        if self.acted is not None:
            table = table.append_column("windows", self.acted.windows(table))
        for name, labels in (("left", self.left), ("right", self.right)):
            chunks = [_take_lists(chunk, labels) for chunk in table[name].chunks]
            table = table.set_column(
                table.schema.get_field_index(name), name, pa.chunked_array(chunks, pa.list_(labels.type))
            )
        labels = self.left if self.side == "left" else self.right
        roots = pc.take(labels, table["root"].combine_chunks())
        return table.set_column(table.schema.get_field_index("root"), "root", roots)


class _CheckedFiles(pafs.FSSpecHandler):  # type: ignore[misc]
    """What an Arrow dataset reads data files through.

    Each is checked against its record when it is first opened.
    """

    def __init__(self, fs: Any, files: dict[str, Part], schema: pa.Schema) -> None:
        super().__init__(fs)
        self._files, self._schema = files, schema
        self._checked: set[str] = set()

    def open_input_file(self, path: str) -> Any:
        """Open a data file for reading at any place."""
        part = self._files[path]
        if not part.whole or (part.stores_smaller_sides and "left" in self._schema.names):
            living = pa.BufferOutputStream()
            pq.write_table(part.read(), living, compression="none")
            return pa.BufferReader(living.getvalue())
        source = part.folder.open_source(part.commit.data, check=path not in self._checked)
        self._checked.add(path)
        return source if isinstance(source, pa.NativeFile) else pa.PythonFile(source, mode="r")


def open_run(store: Store | str | os.PathLike[str], run: str | None = None) -> Run:
    """Open a run of a store; a warning is logged where it is not published whole.

    `store`: a store, its path or its URL. `run`: name of the run, or the beginning of one; by
    default the one that was published last. Raises InputError where there is no such run, or
    several begin so. Raises DamageError where its records are damaged or contradict each other, or
    data files are missing.

    Examples
    --------
    >>> import fsspec
    >>> with fsspec.open("memory://pairs.csv", "w") as table:
    ...     for row in ("user,item", "ann,jam", "ann,tea", "bob,jam", "bob,tea", "cid,tea"):
    ...         print(row, file=table)
    >>> from bicliq.pipeline.run import run
    >>> from bicliq.pipeline.settings import Settings
    >>> summary = run("memory://pairs.csv", Settings(store="memory://open-run-example"))
    >>> latest = open_run("memory://open-run-example")
    >>> latest.run == summary.run
    True
    >>> latest.top(1).to_pylist()[0]["left"]
    ['ann', 'bob']
    """
    if not isinstance(store, Store):
        store = Store.open(store, create=False)
    opened = Run(store, latest_run(store) if run is None else store.find_run(run))
    if not opened.state.complete:
        warn("run is not complete", run=opened.run, state=opened.state)
    return opened


def _take_lists(lists: pa.ListArray, labels: pa.Array) -> pa.ListArray:
    """Lists of labels in place of lists of their positions."""
    offsets = pc.subtract(lists.offsets, lists.offsets[0]) if len(lists) else column_of(np.zeros(1, np.int32))
    return pa.ListArray.from_arrays(offsets, labels.take(lists.flatten()))


def _read_frame(part: Part, store_uri: str, labels: tuple[str, str] | None) -> Any:
    table = part.read()
    return pandas_frame(
        table if labels is None else _Labels.read(Store.open(store_uri, create=False), *labels).put_into(table)
    )
