"""What was planned: the records that a plan leaves, which every later stage reads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import xxhash

from bicliq.pipeline.columns import column_of, values_of
from bicliq.pipeline.errors import DamageError
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, Int32s, Int64s, read_edges, read_graph
from bicliq.pipeline.placement.where import Placement, place_run
from bicliq.pipeline.settings import Settings
from bicliq.pipeline.store.commits import SUBGRAPH
from bicliq.pipeline.store.layout import PLANNED, RunFolder
from bicliq.pipeline.store.records import STORED, StoredFile, named_files

Side = Literal["left", "right"]
Asks = Literal["bicliques", "counts"]
"""What the partitions of a run are for."""

PLAN_COLUMNS = ["order", "root", "cost", "partition"]


@dataclass(frozen=True)
class PlanRecord:
    """What was planned.

    Parameters
    ----------
    run
        Name of the run, which follows from the graph and the settings: planned again, it is
        resumed.
    graph
        The graph it searches.
    side
        The enumerated side.
    n_left, n_right, n_edges
        Size of the searched graph, after reduction; without isolated vertices.
    n_roots
        Roots: vertices of the enumerated side.
    partitions
        Number of partitions.
    est_bytes
        Estimated memory of the largest partition while it is searched.
    est_cost
        Estimated work: paths of two edges from all roots.
    digest
        xxh3-64 of side, roots and their partitions, 16 hex digits: what belongs to this plan names
        it.
    seconds
        Duration: ``reduce`` and ``plan``.
    expected
        What the search will find and cost, as a record of `pipeline.stages.expected.Expected`, and
        ``would_do``: thresholds that leave few bicliques. None of a count.
    """

    run: str
    graph: str
    side: Side
    n_left: int
    n_right: int
    n_edges: int
    n_roots: int
    partitions: int
    est_bytes: int
    est_cost: int
    digest: str
    seconds: dict[str, float]
    expected: dict[str, Any] | None = None

    def placement(
        self,
        settings: Settings,
        cannot: str | None = None,
        not_worth: str | None = None,
    ) -> Placement:
        """Decide where the partitions are cut, and searched or counted.

        Parameters
        ----------
        settings
            Their `data_backend`, `search` and `cluster` parts.
        cannot, not_worth
            Why no GPU can do what is asked, or why "auto" takes none, in words.

        Raises
        ------
        BackendError
            If a GPU is asked for and cannot be used here, or not for this.
        """
        return place_run(
            settings.data_backend,
            settings.search,
            settings.cluster,
            n_edges=self.n_edges,
            paths=self.est_cost,
            cannot=cannot,
            not_worth=not_worth,
        )


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


def read_plan_record(folder: RunFolder) -> PlanRecord:
    """Read plan.json of a run."""
    return plan_record_of(folder.read_record("plan.json"))


def commit_plan(folder: RunFolder, record: PlanRecord, files: Iterable[StoredFile]) -> PlanRecord:
    """Write plan.json, and return the plan that stands.

    On an object store that may be another process's, which came first. What other attempts left is
    removed, and subgraphs that were cut for another plan, which is damaged.
    """
    stands = folder.commit("plan.json", asdict(record), files)
    there = folder.files()
    folder.remove(*(name for name in there if PLANNED.fullmatch(name) and name not in stands[STORED]))
    cut = folder.read_records(name for name in there if SUBGRAPH.fullmatch(name) and name.endswith(".json"))
    for name, of in cut.items():
        if not isinstance(of, DamageError) and of.get("plan") != stands["digest"]:
            folder.remove(name, name.removesuffix("json") + "arrow")
    return plan_record_of(stands)


def plan_record_of(record: dict[str, Any]) -> PlanRecord:
    """Return what a plan.json says."""
    return PlanRecord(**{field.name: record[field.name] for field in fields(PlanRecord) if field.name in record})


def plan_files(record: dict[str, Any]) -> dict[str, StoredFile]:
    """Files that a plan.json names, by what they hold: "plan", and "reduced" if the graph was."""
    found = {file: PLANNED.fullmatch(file.name) for file in named_files(record).values()}
    return {kind[1]: file for file, kind in found.items() if kind is not None}


def read_plan(folder: RunFolder) -> Plan:
    """Read the roots of a run, in plan order."""
    record = folder.read_record("plan.json")
    columns = folder.read_table(plan_files(record)["plan"], PLAN_COLUMNS[1:]).columns
    return Plan(record["side"], *map(values_of, columns))


def read_run_graph(folder: RunFolder, backend: str = "cpu") -> BipartiteGraph:
    """Read the graph that a run searches: the reduced one, where there is one.

    With "cuda", onto the GPU.
    """
    reduced = plan_files(folder.planned).get("reduced")
    if reduced is None:
        return read_graph(folder.graph, backend)
    record = folder.graph.read_record("graph.json")
    return read_edges(folder, reduced, int(record["n_left"]), int(record["n_right"]), backend)
