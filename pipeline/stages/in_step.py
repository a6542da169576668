"""Groups in step of an edge table with times: read, expanded into windows, searched."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from bicliq import kernels
from bicliq.pipeline.errors import CapacityError, InputError, LimitReached
from bicliq.pipeline.formats import Edges
from bicliq.pipeline.graphs.actions import MICROSECONDS, Actions
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.graphs.in_step import Windows, groups_among, windows_of
from bicliq.pipeline.graphs.moments import ByChance, Moments, window_sizes
from bicliq.pipeline.graphs.reduce import Reduced, peel, reduce
from bicliq.pipeline.placement.device import on
from bicliq.pipeline.placement.where import Backend, place_graph
from bicliq.pipeline.settings import SearchSettings, Settings
from bicliq.pipeline.stages.edge_table import OTHER_TIMES, EdgeTable
from bicliq.pipeline.stages.ingest import read_edge_table
from bicliq.pipeline.stages.partition import Partition
from bicliq.pipeline.stages.window import read_rows
from bicliq.pipeline.store.acted import ROWS_FILE
from bicliq.pipeline.store.edges import read_edge_columns
from bicliq.pipeline.store.labels import label_hashes, read_labels
from bicliq.pipeline.store.layout import GraphFolder
from bicliq.pipeline.times import parse_duration

BYTES_A_MEMBER = 40
"""Of a window, while windows are made."""

FIRST_SECOND = -62_135_596_800
"""Unix seconds of the year 1: dates begin with it."""


@dataclass(frozen=True, eq=False)
class InStep:
    """A table whose rows have times, and what of it can be in step.

    Parameters
    ----------
    table
        The table.
    actions
        Its rows that may be in a group.
    length
        Of a window, in microseconds.
    search
        Sizes of the groups.
    sorted_on
        The machine that sorted its rows, and left out what cannot be in step.
    """

    table: EdgeTable
    actions: Actions
    length: int
    search: SearchSettings
    sorted_on: Backend = "cpu"

    @cached_property
    def windows(self) -> Windows:
        """Left vertices and the windows in which they acted.

        Raises
        ------
        CapacityError
            Where they would take more memory than there is.
        """
        members = int(window_sizes(self.actions, self.length, self.search.min_left)[1].sum())
        room = kernels.available_memory()
        if members * BYTES_A_MEMBER > room:
            raise CapacityError(
                f"{self.table.summary.source.uri}: its windows hold {members:,} vertices together, which take"
                f" {members * BYTES_A_MEMBER >> 20:,} MiB where {room >> 20:,} MiB are left; give a shorter in_step, or"
                " higher min_left and min_right"
            )
        return windows_of(self.actions, self.length, self.search.min_left, len(self.table.left_ids))

    @cached_property
    def core(self) -> Reduced:
        """What of the windows is searched."""
        return reduce(self.windows.graph, self.search.min_left, self.search.min_right)

    @cached_property
    def searched(self) -> Windows:
        """What of the windows is searched, with the ids of the table."""
        graph, _ = peel(self.windows.graph, self.search.min_left, self.search.min_right)
        return Windows(graph, self.windows.right)

    @cached_property
    def moments(self) -> Moments:
        """When groups were in step."""
        return Moments(self.actions, self.length)

    def by_chance(self, graph: BipartiteGraph) -> ByChance:
        """Weigh groups against chance: all rows of the table count, whatever was left out."""
        rows = self.table.rows
        assert rows is not None
        actions = Actions.of(rows.left, rows.right, rows.time)
        return ByChance(actions, self.length, graph.right_degrees, graph.surprise_terms)

    def record(self) -> dict[str, Any]:
        """Say how large the table is, and what of it may be in step."""
        table = self.table
        return {
            "n_left": len(table.left_ids),
            "n_right": len(table.right_ids),
            "n_edges": len(table.left),
            "columns": table.summary.columns,
            "in_step": {
                "seconds": self.length / MICROSECONDS,
                "actions": len(self.actions),
                "windows": self.windows.graph.n_right,
                "members_of_windows": self.windows.graph.n_edges,
                "machines": {"read": table.summary.backend, "sorted": self.sorted_on, "searched": "cpu"},
            },
        }

    def stream(self, until: Callable[[], bool] | None = None, most: int | None = None) -> GroupStream:
        """Search for groups in the ids of the table, until `until` says enough, or `most`."""
        core, asked = self.core, self.search
        found = kernels.stream_maximal_bicliques(
            core.graph.indptr,
            core.graph.indices,
            core.graph.n_right,
            left_ids=core.left_kept,
            right_ids=core.right_kept,
            min_left=asked.min_left,
            min_right=asked.min_right,
            min_edges=asked.min_edges,
            side=asked.side,
            threads=asked.threads,
            until=until,
        )
        return GroupStream(found, self.windows, asked, most)


class GroupStream:
    """Groups in step, while maximal bicliques of left vertices and windows are found.

    Parameters
    ----------
    stream
        The bicliques.
    windows
        What they are found in, with their ids.
    search
        Sizes of the groups.
    most
        End after so many groups; None: after all.
    """

    def __init__(
        self, stream: kernels.BicliqueStream, windows: Windows, search: SearchSettings, most: int | None = None
    ) -> None:
        self._stream, self._windows, self._search, self._most = stream, windows, search, most
        self._found, self._is_cut = 0, False

    def __enter__(self) -> Self:
        self._stream.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()

    def __iter__(self) -> Iterator[kernels.BicliqueBatch]:
        """Yield them, their right sides in right vertices."""
        for batch in self._stream:
            groups = groups_among(batch, self._windows, self._search.min_right, self._search.min_edges)
            if self._most is not None and self._found + len(groups) > self._most:
                groups, self._is_cut = groups.head(self._most - self._found), True
            self._found += len(groups)
            if len(groups):
                yield groups
            if self._is_cut:
                return

    def progress(self) -> kernels.Progress:
        """How far the search has come."""
        return replace(self._stream.progress(), bicliques=self._found)

    @property
    def result(self) -> kernels.EnumerationResult:
        """The outcome, once the stream is left; it has no digest."""
        result = self._stream.result
        return replace(result, bicliques=self._found, complete=result.complete and not self._is_cut, digest=None)


def refuse_gpu(settings: Settings) -> None:
    """Refuse to search on a GPU; raises InputError."""
    if settings.search.backend == "cuda":
        raise InputError(
            "groups in step are searched on the CPU; leave out backend = 'cuda': data_backend = 'cuda' reads and sorts"
            " their rows on a GPU"
        )


def read_timed(source: Edges, settings: Settings) -> EdgeTable:
    """Read a table with the times of its rows.

    Raises
    ------
    InputError
        At anything wrong in the table or the settings.
    """
    refuse_gpu(settings)
    return read_edge_table(source, settings.ingest, backend=settings.data_backend, in_step=True)


def stored_table(folder: GraphFolder) -> EdgeTable:
    """Read a table with the times of its rows from a store."""
    record = folder.record()
    ends, labels = read_edge_columns(folder), read_labels(folder, record)
    return EdgeTable(*ends, None, *labels, record.summary, {}, read_rows(folder, record))


def account_of_rows(table: EdgeTable) -> dict[str, Any]:
    """Account for the rows of a stored table: those of all its versions, each once."""
    assert table.rows is not None
    again = len(table.rows) - len(table.left)
    noted = {OTHER_TIMES: again} if again else {}
    return {"rows_read": len(table.rows), "edges": len(table.left), "duplicates": 0, "noted": noted}


def search_windows(
    part: Partition,
    search: SearchSettings,
    threads: int = 0,
    until: Callable[[], bool] | None = None,
    most: int | None = None,
) -> GroupStream:
    """Search a partition of left vertices and windows for groups; see `GroupStream`.

    It holds all that acted in each of its windows, and so says which groups no vertex can join.
    """
    rows = BipartiteGraph(part.left_ids.size, part.n_right, part.indptr, part.indices)
    found = kernels.stream_maximal_bicliques(
        part.indptr,
        part.indices,
        part.n_right,
        side=part.side,
        roots=part.roots,
        left_ids=part.left_ids,
        min_left=search.min_left,
        min_right=search.min_right,
        min_edges=search.min_edges,
        threads=threads,
        until=until,
    )
    return GroupStream(found, Windows(rows, part.right_ids.astype(np.int32)), search, most)


def stored_rows(folder: GraphFolder) -> int:
    """Return the number of rows of such a table."""
    with folder.open_parquet(folder.record().written(ROWS_FILE)) as file:
        return int(file.metadata.num_rows)


def expand(
    table: EdgeTable, search: SearchSettings, kept: dict[str, Any] | None = None, backend: Backend = "cpu"
) -> InStep:
    """Choose what of a table may be in step.

    Parameters
    ----------
    table
        Of `read_timed` or `stored_table`; its policies say how long a window is.
    search
        Sizes of the groups.
    kept
        For each side which of its vertices may be in a group; None: all.
    backend
        The machine that sorts the rows, and leaves out what cannot be in step.

    Raises
    ------
    InputError
        At a time before the year 1.
    """
    rows = table.rows
    assert rows is not None
    if kept is not None:
        rows = rows.where(kept["left"][rows.left] & kept["right"][rows.right])
    if len(rows) and rows.time.min() < FIRST_SECOND:
        raise InputError(
            f"{table.summary.source.uri}: {rows.time.min():.15g} s is a time before the year 1; mend such rows, or"
            " leave them out with since = '0001-01-01'"
        )
    assert table.summary.in_step is not None
    length = round(parse_duration(table.summary.in_step) * MICROSECONDS)
    backend = backend if len(rows) else "cpu"
    actions = Actions.of(*on(backend, rows.left, rows.right, rows.time))
    may_be = actions.that_may_be(length, search.min_left, search.min_right)
    return InStep(table, may_be.on_host(), length, search, backend)


def expand_where(asked: str, table: EdgeTable, search: SearchSettings, kept: dict[str, Any] | None = None) -> InStep:
    """Expand a table where `asked`, the setting `data_backend`, says; see `expand`."""
    assert table.rows is not None
    place = place_graph(asked, len(table.rows))
    return place.run(lambda chosen: expand(table, search, kept, chosen))


def count_in_step(source: Edges, settings: Settings, mode: Literal["count", "digest"] = "count") -> dict[str, Any]:
    """Count the groups in step of a table; parameters and record as of `search.enumerate_table`."""
    asked, started = settings.search, time.perf_counter()
    table, most = read_timed(source, settings), asked.max_bicliques
    hashes = {"left_hashes": label_hashes(table.left_ids), "right_hashes": label_hashes(table.right_ids)}
    read = time.perf_counter()
    found = expand_where(settings.data_backend, table, asked)
    stream = found.stream(most=most)
    expanded = time.perf_counter()
    digest = 0
    with stream:
        for groups in stream:
            if mode == "digest":
                lists = groups.left_offsets, groups.left, groups.right_offsets, groups.right
                digest = (digest + kernels.set_digest(*lists, **hashes)) % 2**64
    result = stream.result
    if not result.complete and asked.on_limit == "error":
        raise LimitReached(f"{source}: the limit of {most} groups was reached; raise max_bicliques")
    ended = time.perf_counter()
    return {
        "bicliques": result.bicliques,
        "digest": f"{digest:016x}" if mode == "digest" and result.complete else None,
        "complete": result.complete,
        **found.record(),
        "side": result.side,
        "backend": result.backend,
        "threads": result.threads,
        "nodes": result.nodes,
        "not_canonical": result.not_canonical,
        **table.summary.account,
        "seconds": {
            "ingest": read - started,
            "reduce": expanded - read,
            "search": ended - expanded,
            "total": ended - started,
        },
    }
