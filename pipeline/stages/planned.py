"""What was planned: the records that a plan leaves, which every later stage reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import xxhash

from bicliq import kernels
from bicliq.pipeline.columns import column_of, values_of
from bicliq.pipeline.errors import DamageError
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, Int32s, Int64s, read_edges, read_graph
from bicliq.pipeline.placement.where import Placement, place_run
from bicliq.pipeline.settings import ClusterSettings, SearchSettings, Settings
from bicliq.pipeline.store.commits import partition_name
from bicliq.pipeline.store.layout import RunFolder
from bicliq.pipeline.store.records import PlanRecord, Side, Subgraph

WINDOWS_FILE = "windows.parquet"
"""The right vertex of each window that a run of groups in step searches."""

PLAN_COLUMNS = ["order", "root", "cost", "partition"]


@dataclass(frozen=True, eq=False)
class Plan:
    """The roots of a run in plan order.

    Parameters
    ----------
    side
        The enumerated side.
    roots
        int32: the roots (dense ids) in their order, ascending by degree, then by id.
    cost
        int64: estimated work of each root.
    partition
        int32: the partition of each root.
    """

    side: Side
    roots: Int32s
    cost: Int64s
    partition: Int32s

    @property
    def digest(self) -> str:
        """xxh3-64 of side, roots and partitions, 16 hex digits."""
        state = xxhash.xxh3_64(self.side.encode())
        for values in (self.roots, self.partition):
            state.update(np.ascontiguousarray(values, np.int32).tobytes())
        return str(state.hexdigest())

    def to_table(self) -> pa.Table:
        """Return the plan as a table: order, root, cost, partition."""
        order = column_of(np.arange(self.roots.size, dtype=np.int32))
        return pa.table([order, column_of(self.roots), column_of(self.cost), column_of(self.partition)], PLAN_COLUMNS)


def place_partitions(planned: PlanRecord, settings: Settings, not_worth: str | None = None) -> Placement:
    """Decide where the partitions of a plan are cut, and searched or counted.

    `settings`: their `data_backend`, `search` and `cluster` parts. `not_worth`: why "auto" takes no
    GPU, in words. Raises BackendError if one is asked for and cannot be used here, or not for this.
    """
    return place_plan(planned, settings.data_backend, settings.search, settings.cluster, not_worth)


def place_plan(
    planned: PlanRecord,
    data_backend: str,
    search: SearchSettings,
    cluster: ClusterSettings,
    not_worth: str | None = None,
) -> Placement:
    """Decide the same by parts of the settings."""
    cannot = None if planned.if_written(WINDOWS_FILE) is None else "groups in step are searched on the CPU"
    seconds = None if planned.expected is None else planned.expected.search_seconds
    least = search.min_left, search.min_right
    whole = planned.expected is not None and kernels.searches_roots_together(planned.side, *least, planned.n_roots)
    work: Any = {"n_edges": planned.n_edges, "paths": planned.est_cost, "seconds": seconds, "whole": whole}
    return place_run(data_backend, search, cluster, **work, cannot=cannot, not_worth=not_worth)


def commit_plan(folder: RunFolder, record: PlanRecord) -> PlanRecord:
    """Write plan.json, and return the plan that stands.

    On an object store that may be another process's, which came first. What other attempts left is
    removed, and subgraphs that were cut for another plan, which is damaged.
    """
    stands = folder.commit(record.at, record, attempts="")
    cut = folder.numbers_of(Subgraph, "partitions")
    for number, of in zip(cut, folder.read_each(Subgraph, cut.values()).values(), strict=True):
        if not isinstance(of, DamageError) and of.plan != stands.digest:
            folder.remove(cut[number], partition_name(number))
    return stands


def read_plan(folder: RunFolder) -> Plan:
    """Read the roots of a run, in plan order."""
    record = folder.read(PlanRecord)
    columns = folder.read_table(record.written("plan.parquet"), PLAN_COLUMNS[1:]).columns
    return Plan(record.side, *map(values_of, columns))


def read_run_graph(folder: RunFolder, backend: str = "cpu") -> BipartiteGraph:
    """Read the graph that a run searches: the reduced one, where there is one.

    With "cuda", onto the GPU.
    """
    reduced = folder.planned.if_written("reduced.parquet")
    if reduced is None:
        return read_graph(folder.graph, backend)
    n_left, n_right = folder.graph.record().sizes
    right = right_of_windows(folder)
    return read_edges(folder, reduced, n_left, n_right if right is None else len(right), backend)


def right_of_windows(folder: RunFolder) -> Int32s | None:
    """Read the right vertices of the windows that a run searches; None: it has no windows."""
    file = folder.planned.if_written(WINDOWS_FILE)
    return None if file is None else values_of(folder.read_table(file)["right"])
