"""Reading a run back: Arrow, pandas or Dask, with the original ids, and the largest bicliques."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from pipeline.errors import InputError
from pipeline.stages.publish import Manifest, read_manifest
from pipeline.store.bicliques import SCHEMA
from pipeline.store.layout import RunFolder, Store

By = Literal["edges", "left", "right"]


@dataclass(frozen=True)
class Run:
    """The committed bicliques of a run.

    Parameters
    ----------
    store
        The store.
    run
        Name of the run.

    Notes
    -----
    Only committed partitions are read, so a run can be looked at while it is searched.
    """

    store: Store
    run: str

    @property
    def folder(self) -> RunFolder:
        """Folder of the run."""
        return self.store.run(self.run)

    @cached_property
    def partitions(self) -> list[int]:
        """Partitions committed when this run was opened, ascending."""
        return list(self._files)

    @cached_property
    def _files(self) -> dict[int, str]:
        """Name of each partition's data file."""
        return {number: commit.file for number, commit in self.folder.committed().items()}

    @property
    def manifest(self) -> Manifest:
        """Manifest of the run; raises StorageError while it is not published."""
        return read_manifest(self.store, self.run)

    @cached_property
    def left_ids(self) -> pa.Array:
        """Original ids of the left vertices, by dense id."""
        return self._ids("left_ids.parquet")

    @cached_property
    def right_ids(self) -> pa.Array:
        """Original ids of the right vertices, by dense id."""
        return self._ids("right_ids.parquet")

    def dataset(self) -> ds.Dataset:
        """Return the bicliques as an Arrow dataset, with dense ids and the column partition."""
        schema = SCHEMA.append(pa.field("partition", pa.int32()))
        hive = ds.partitioning(pa.schema([("partition", pa.int32())]), flavor="hive")
        paths = [self.folder.path_of(name) for name in self._files.values()]
        return ds.dataset(paths, schema=schema, format="parquet", filesystem=self.folder.fs, partitioning=hive)

    def table(self, ids: bool = True) -> pa.Table:
        """Return all bicliques as one Arrow table.

        Parameters
        ----------
        ids
            Whether the lists hold original ids; otherwise dense ones.
        """
        return self._labelled(self.dataset().to_table(columns=SCHEMA.names), ids)

    def to_pandas(self, ids: bool = True) -> Any:
        """Return all bicliques as a pandas DataFrame; `left` and `right` are Arrow list columns."""
        return _to_pandas(self.table(ids))

    def to_dask(self, ids: bool = True) -> Any:
        """Return the bicliques as a Dask DataFrame with one Dask partition a partition."""
        import dask.dataframe as dd

        meta = _to_pandas(self._labelled(SCHEMA.empty_table(), ids))
        if not self.partitions:
            return dd.from_pandas(meta, npartitions=1)
        return dd.from_map(_read_frame, self.partitions, store_uri=self.store.uri, run=self.run, ids=ids, meta=meta)

    def read_partition(self, number: int, ids: bool = True) -> pa.Table:
        """Return the bicliques of one partition; `InputError` where it was not committed when this run was opened."""
        return self._labelled(self.folder.read_table(self._file_of(number)), ids)

    def top(self, k: int = 10, by: By = "edges", ids: bool = True) -> pa.Table:
        """Return the k largest bicliques.

        Parameters
        ----------
        k
            How many.
        by
            "edges" (left times right vertices), "left" or "right".
        ids
            Whether the lists hold original ids; otherwise dense ones.

        Returns
        -------
        pyarrow.Table
            Columns left, right, n_left, n_right, n_edges, root; largest first. Bicliques of equal size
            come in the order of their dense ids, whatever the partitions: the answer is always the same.

        Raises
        ------
        InputError
            Where `k` is below 1 or `by` is none of the three.
        """
        if by not in ("edges", "left", "right") or k < 1:
            raise InputError(f'top {k} by {by!r}: k must be at least 1, and by "edges", "left" or "right"')
        best: list[dict[str, Any]] = []
        for number in self.partitions:
            least = best[k - 1]["key"] if len(best) >= k else 0
            best = sorted([*best, *self._largest(number, k, by, least)], key=_largest_first)[:k]
        schema = SCHEMA.insert(4, pa.field("n_edges", pa.int64(), nullable=False))
        return self._labelled(pa.Table.from_pylist(best, schema=schema), ids)

    def _largest(self, number: int, k: int, by: By, least: int) -> list[dict[str, Any]]:
        """Rows of a partition that can be among the k largest, ties included."""
        with self.folder.open_parquet(self._file_of(number)) as file:
            sizes = file.read(columns=["n_left", "n_right"])
            left, right = (sizes[name].to_numpy().astype(np.int64) for name in ("n_left", "n_right"))
            key = {"edges": left * right, "left": left, "right": right}[by]
            if key.size > k:
                least = max(least, int(np.partition(key, key.size - k)[key.size - k]))
            wanted = np.flatnonzero(key >= least)
            rows, start = [], 0
            for group in range(file.num_row_groups):
                size = file.metadata.row_group(group).num_rows
                here = wanted[(wanted >= start) & (wanted < start + size)]
                if here.size:
                    rows += file.read_row_group(group).take(here - start).to_pylist()
                start += size
        return [
            {**row, "n_edges": int(edges), "key": int(size)}
            for row, edges, size in zip(rows, (left * right)[wanted], key[wanted], strict=True)
        ]

    def _file_of(self, number: int) -> str:
        if number not in self._files:
            raise InputError(
                f"{self.run}: partition {number} is not committed; {len(self._files)} partitions are, open the run again for later ones"
            )
        return self._files[number]

    def _ids(self, name: str) -> pa.Array:
        graph = self.store.graph(str(self.folder.read_json("run.json")["graph"]))
        return graph.read_table(name)["id"].combine_chunks()

    def _labelled(self, table: pa.Table, ids: bool) -> pa.Table:
        """Put original ids in place of dense ones, in the lists and in the root column."""
        if not ids:
            return table
        for position, (name, labels) in enumerate((("left", self.left_ids), ("right", self.right_ids))):
            chunks = [_take_lists(chunk, labels) for chunk in table[name].chunks]
            table = table.set_column(position, name, pa.chunked_array(chunks, pa.list_(labels.type)))
        position = table.schema.get_field_index("root")
        labels = self.left_ids if self._side == "left" else self.right_ids
        roots = pc.take(labels, table["root"].combine_chunks())
        return table.set_column(position, "root", roots)

    @cached_property
    def _side(self) -> str:
        return str(self.folder.read_json("plan.json")["side"])


def open_run(store: Store | str, run: str | None = None) -> Run:
    """Open a run of a store.

    Parameters
    ----------
    store
        A store or its URL.
    run
        Name of the run, or the beginning of one; by default the latest.

    Raises
    ------
    InputError
        Where there is no such run, or several begin so.

    Examples
    --------
    >>> import fsspec
    >>> with fsspec.open("memory://pairs.csv", "w") as table:
    ...     for row in ("user,item", "ann,jam", "ann,tea", "bob,jam", "bob,tea", "cid,tea"):
    ...         print(row, file=table)
    >>> from pipeline.run import run
    >>> from pipeline.settings import Settings
    >>> summary = run("memory://pairs.csv", Settings(store="memory://open-run-example"))
    >>> latest = open_run("memory://open-run-example")
    >>> latest.run == summary.run
    True
    >>> latest.top(1).to_pylist()[0]["left"]
    ['ann', 'bob']
    """
    if isinstance(store, str):
        store = Store.open(store, create=False)
    runs = store.runs()
    if not runs:
        raise InputError(f"{store.uri}: no run is in this store; start one with: bicliq run EDGES --store {store.uri}")
    if run is None:
        return Run(store, runs[-1])
    found = [run] if run in runs else [name for name in runs if name.startswith(run)]
    if len(found) != 1:
        what = f"is the beginning of {len(found)} runs" if found else "is no run of this store"
        raise InputError(f"{store.uri}: {run!r} {what}; its runs are {', '.join(runs[-5:])} (latest last)")
    return Run(store, found[0])


def _largest_first(row: dict[str, Any]) -> tuple[Any, ...]:
    return (-row["key"], -row["n_edges"], row["left"], row["right"])


def _take_lists(lists: pa.ListArray, labels: pa.Array) -> pa.ListArray:
    """Lists of labels in place of lists of their positions."""
    offsets = pc.subtract(lists.offsets, lists.offsets[0]) if len(lists) else pa.array([0], pa.int32())
    return pa.ListArray.from_arrays(offsets, labels.take(lists.flatten()))


def _to_pandas(table: pa.Table) -> Any:
    import pandas as pd

    def mapper(kind: pa.DataType) -> Any:
        return pd.ArrowDtype(kind) if pa.types.is_list(kind) else None

    return table.to_pandas(types_mapper=mapper)


def _read_frame(number: int, store_uri: str, run: str, ids: bool) -> Any:
    return _to_pandas(Run(Store.open(store_uri, create=False), run).read_partition(number, ids))
