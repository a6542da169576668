"""Groups in step of an edge table with times: read, expanded into windows, searched."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from bicliq import kernels
from bicliq.pipeline.errors import CapacityError, InputError, LimitReached
from bicliq.pipeline.events import say
from bicliq.pipeline.formats import Edges
from bicliq.pipeline.graphs.actions import MICROSECONDS, Actions
from bicliq.pipeline.graphs.bipartite import BipartiteGraph
from bicliq.pipeline.graphs.in_step import ByChance, Moments, Windows, groups_among, window_sizes, windows_of
from bicliq.pipeline.graphs.reduce import Reduced, reduce
from bicliq.pipeline.settings import SearchSettings, Settings
from bicliq.pipeline.stages.edge_table import EdgeTable
from bicliq.pipeline.stages.ingest import read_edge_table
from bicliq.pipeline.store.account import account
from bicliq.pipeline.store.labels import label_hashes
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
    """

    table: EdgeTable
    actions: Actions
    length: int
    search: SearchSettings

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
                f"{self.table.summary['source']['uri']}: its windows hold {members:,} vertices together, which take"
                f" {members * BYTES_A_MEMBER >> 20:,} MiB where {room >> 20:,} MiB are left; give a shorter in_step, or"
                " higher min_left and min_right"
            )
        return windows_of(self.actions, self.length, self.search.min_left, len(self.table.left_ids))

    @cached_property
    def core(self) -> Reduced:
        """What of the windows is searched."""
        return reduce(self.windows.graph, self.search.min_left, self.search.min_right)

    @cached_property
    def moments(self) -> Moments:
        """When groups were in step."""
        return Moments(self.actions, self.length)

    def by_chance(self, graph: BipartiteGraph) -> ByChance:
        """Weigh groups against chance: all rows of the table count, whatever was left out."""
        rows = self.table.rows
        assert rows is not None
        return ByChance(Actions.of(rows.left, rows.right, rows.time), self.length, graph)

    def record(self) -> dict[str, Any]:
        """Say how large the table is, and what of it may be in step."""
        table = self.table
        return {
            "n_left": len(table.left_ids),
            "n_right": len(table.right_ids),
            "n_edges": len(table.left),
            "columns": table.summary["columns"],
            "in_step": {
                "seconds": self.length / MICROSECONDS,
                "actions": len(self.actions),
                "windows": self.windows.graph.n_right,
                "members_of_windows": self.windows.graph.n_edges,
            },
        }

    def search_windows(self, until: Callable[[], bool] | None = None) -> kernels.BicliqueStream:
        """Search for maximal bicliques of left vertices and windows, until `until` says enough."""
        core, asked = self.core, self.search
        return kernels.stream_maximal_bicliques(
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

    def groups_among(self, batch: kernels.BicliqueBatch) -> kernels.BicliqueBatch:
        """Return the groups among such bicliques, in the ids of the table."""
        return groups_among(batch, self.windows, self._by_window, self.search.min_right, self.search.min_edges)

    @cached_property
    def _by_window(self) -> BipartiteGraph:
        return self.windows.by_window()


def read_timed(source: Edges, settings: Settings) -> EdgeTable:
    """Read a table with the times of its rows.

    Raises
    ------
    InputError
        At anything wrong in the table or the settings.
    """
    if settings.search.backend == "cuda":
        raise InputError("groups in step are searched on the CPU; leave out backend = 'cuda'")
    table = read_edge_table(source, settings.ingest, backend=settings.data_backend, in_step=True)
    zone = f"times of column {table.summary['columns']['time']}: numbers are Unix seconds, dates without a zone are UTC"
    table.summary["assumed"] = [*table.summary["assumed"], zone]
    say("assumed", zone)
    return table


def expand(table: EdgeTable, settings: Settings, kept: dict[str, Any] | None = None) -> InStep:
    """Choose what of a table may be in step.

    Parameters
    ----------
    table
        Of `read_timed`.
    settings
        Its `ingest.in_step` is the length of a window; sizes are those of `search`.
    kept
        For each side which of its vertices may be in a group; None: all.

    Raises
    ------
    InputError
        At a time before the year 1.
    """
    rows, search = table.rows, settings.search
    assert rows is not None
    assert settings.ingest.in_step is not None
    if kept is not None:
        rows = rows.where(kept["left"][rows.left] & kept["right"][rows.right])
    if len(rows) and rows.time.min() < FIRST_SECOND:
        raise InputError(
            f"{table.summary['source']['uri']}: {rows.time.min():.15g} s is a time before the year 1; mend such rows, or"
            " leave them out with since = '0001-01-01'"
        )
    length = round(parse_duration(settings.ingest.in_step) * MICROSECONDS)
    actions = Actions.of(rows.left, rows.right, rows.time)
    return InStep(table, actions.that_may_be(length, search.min_left, search.min_right), length, search)


def count_in_step(source: Edges, settings: Settings, mode: Literal["count", "digest"] = "count") -> dict[str, Any]:
    """Count the groups in step of a table; parameters and record as of `search.enumerate_table`."""
    asked, started = settings.search, time.perf_counter()
    table, most = read_timed(source, settings), asked.max_bicliques
    hashes = {"left_hashes": label_hashes(table.left_ids), "right_hashes": label_hashes(table.right_ids)}
    read = time.perf_counter()
    found = expand(table, settings)
    stream = found.search_windows()
    expanded = time.perf_counter()
    number, digest, complete = 0, 0, True
    with stream:
        for groups in map(found.groups_among, stream):
            complete = most is None or number + len(groups) <= most
            kept = groups if complete or most is None else groups.head(most - number)
            number += len(kept)
            if mode == "digest":
                lists = kept.left_offsets, kept.left, kept.right_offsets, kept.right
                digest = (digest + kernels.set_digest(*lists, **hashes)) % 2**64
            if not complete:
                break
    if not complete and asked.on_limit == "error":
        raise LimitReached(f"{source}: the limit of {most} groups was reached; raise max_bicliques")
    ended = time.perf_counter()
    return {
        "bicliques": number,
        "digest": f"{digest:016x}" if mode == "digest" and complete else None,
        "complete": complete,
        **found.record(),
        "side": stream.result.side,
        "backend": stream.result.backend,
        "threads": stream.result.threads,
        "nodes": stream.result.nodes,
        "not_canonical": stream.result.not_canonical,
        **account(table.summary),
        "seconds": {
            "ingest": read - started,
            "reduce": expanded - read,
            "search": ended - expanded,
            "total": ended - started,
        },
    }
