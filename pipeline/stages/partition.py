"""Partition: one closed subgraph a partition, in one Arrow file.

It holds the partition's roots, all of their neighbours (rows), all neighbours of these rows
(columns), and every edge between them. So whoever reads that one file can search all of its roots.
Columns are numbered in the order of the plan, rows by ascending dense id, and the rows of the
file's graph are those of the canonical left side, whichever side is enumerated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np

from bicliq.pipeline.errors import DamageError
from bicliq.pipeline.events import warn
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, Int32s, Int64s, stored_sizes
from bicliq.pipeline.placement.arrays import library_of, starts_of, to_host
from bicliq.pipeline.placement.tasks import Here, hand_out
from bicliq.pipeline.placement.where import CPU_DATA, Backend, Place, Placement
from bicliq.pipeline.stages.limits import KEPT_OF_READING, GraphNeeds, MemoryRoom
from bicliq.pipeline.stages.planned import Plan, read_plan, read_run_graph, right_of_windows
from bicliq.pipeline.store.commits import partition_name
from bicliq.pipeline.store.folder import MEND
from bicliq.pipeline.store.labels import Hashes, read_hashes
from bicliq.pipeline.store.layout import RunFolder, Store
from bicliq.pipeline.store.record import StoredFile
from bicliq.pipeline.store.records import Commit, PlanRecord, Side, Subgraph

BATCHES_PER_THREAD = 4
"""Batches of partitions for each thread of a cluster: few, since each batch reads the graph
once."""


LAID_OUT = GraphNeeds(edge=8, vertex=56)
"""What is held to cut partitions, beside the one that is cut."""

WHOLE = GraphNeeds(edge=4, vertex=24)
"""Of a partition with all roots: the ids of its vertices, and its rows in the other direction where
the left side is enumerated."""


@dataclass(frozen=True, eq=False)
class Partition:
    """A closed subgraph and the roots to search in it.

    Parameters
    ----------
    number
        Number of the partition in its run.
    side
        The enumerated side; its vertices are numbered in the order of the plan.
    indptr, indices
        Rows of the left side (int64, int32).
    left_ids, right_ids
        int64: dense id in the canonical graph of each vertex; of a window that of its right vertex.
    left_hashes, right_hashes
        uint64: hash of each vertex's label, for the digest.
    roots
        int32: roots, as vertices of the enumerated side of this subgraph, ascending.
    """

    number: int
    side: Side
    indptr: Int64s
    indices: Int32s
    left_ids: Int64s
    right_ids: Int64s
    left_hashes: Hashes
    right_hashes: Hashes
    roots: Int32s

    @property
    def n_right(self) -> int:
        """Number of right vertices."""
        return int(self.right_ids.size)


@dataclass(frozen=True, eq=False)
class Layout:
    """What all partitions of a run are cut from; made once for many.

    `plan`: the plan, with its arrays where those of the graph lie. `by_root`, `by_row`: the graph
    by its roots; and by the other side, with the places of roots in the order of the plan for their
    neighbours. `hashes`: hashes of the labels of both sides. `right_of`: of groups in step the
    right vertex of each window of the graph; None: of bicliques.
    """

    plan: Plan
    by_root: BipartiteGraph
    by_row: BipartiteGraph
    hashes: tuple[Any, Any]
    right_of: Any = None

    @classmethod
    def of(cls, plan: Plan, by_root: BipartiteGraph, hashes: tuple[Any, Any], right_of: Int32s | None = None) -> Layout:
        """Number the enumerated side of a graph, whose rows these are, by a plan, where it lies."""
        xp = library_of(by_root.indices)
        plan = Plan(plan.side, *map(xp.asarray, (plan.roots, plan.cost, plan.partition)))
        right_of = None if right_of is None else xp.asarray(right_of)
        arrays = (xp.asarray(hashes[0]), xp.asarray(hashes[1])), right_of
        return cls(plan, by_root, by_root.transpose(plan.roots), *arrays)

    def cut(self, number: int, order: Any) -> Partition:
        """Cut the closed subgraph of some roots out of the graph, in time linear in its edges.

        `number`: number that the partition gets. `order`: places of its roots in the order of the
        plan, ascending.
        """
        plan, by_root = self.plan, self.by_root
        if order.size == plan.roots.size:
            return self._whole(number)
        xp = library_of(by_root.indices)
        rows = _present(by_root.rows_of(plan.roots[order])[1], by_root.n_right)
        lengths, ranks = self.by_row.rows_of(rows)
        kept = _present(ranks, plan.roots.size)
        local = xp.empty(plan.roots.size, xp.int32)
        local[kept] = xp.arange(kept.size, dtype=xp.int32)
        graph = BipartiteGraph(rows.size, kept.size, starts_of(lengths), local[ranks])
        return self._partition(number, graph, rows, kept, local[order])

    def _whole(self, number: int) -> Partition:
        """Return the partition of all roots: the graph by its rows, of which no edge is copied."""
        xp, n = library_of(self.by_row.indices), self.plan.roots.size
        rows = xp.flatnonzero(self.by_row.left_degrees)
        graph = BipartiteGraph(rows.size, n, starts_of(self.by_row.left_degrees[rows]), self.by_row.indices)
        return self._partition(number, graph, rows, xp.arange(n), xp.arange(n, dtype=xp.int32))

    def _partition(self, number: int, graph: BipartiteGraph, rows: Any, columns: Any, roots: Any) -> Partition:
        """Return rows and columns, these by their places in the order of the plan, on the host."""
        plan = self.plan
        left, right = rows, plan.roots[columns].astype(np.int64)
        if plan.side == "left":
            graph, left, right = graph.transpose(), right, left
        if self.right_of is not None:
            right = self.right_of[right].astype(np.int64)
        hashes = self.hashes[0][left], self.hashes[1][right]
        return Partition(number, plan.side, *map(to_host, (graph.indptr, graph.indices, left, right, *hashes, roots)))


def write_whole(folder: RunFolder, plan: Plan, by_root: BipartiteGraph, memory_limit: int | None) -> None:
    """Write the one partition of a plan while its graph is at hand, if there is room for it.

    `folder`: the run, whose plan is written. `by_root`: the graph to search, as rows of the
    enumerated side. `memory_limit`: bytes of memory that this process may hold. Where that is too
    little, nothing is written: who cuts the partition later says so.
    """
    if _needed(folder, folder.planned) <= MemoryRoom.within(memory_limit).bytes:
        layout = Layout.of(plan, by_root, read_hashes(folder.graph), right_of_windows(folder))
        _write(folder, layout, plan.digest, 0)


def write_partition(store: Store, run: str, number: int) -> int:
    """Cut one partition out of the graph and write it.

    `store`, `run`: a planned run. Returns bytes of the file.

    Reads the whole graph; `write_partitions` reads it once for many partitions.
    """
    return _write(store.run(run), *_read_layout(store, run, "cpu"), number).bytes


def write_partitions(
    store: Store,
    run: str,
    client: Any | None = None,
    place: Place = CPU_DATA,
    memory_limit: int | None = None,
) -> int:
    """Write all partitions of a run that are not there, or damaged and yet to be searched.

    Parameters
    ----------
    store, run
        A planned run.
    client
        A Dask client, whose workers share the work; None: this process does it.
    place
        Where the graph lies while they are cut out of it.
    memory_limit
        Bytes of memory that a process may hold that cuts them; None: no limit.

    Returns
    -------
    int
        Number of partitions written.

    Raises
    ------
    CapacityError
        Where the limit of memory is too low, with one that would do.
    """
    folder = store.run(run)
    missing = _missing(folder, folder.planned)
    batches = enumerate(
        partial(_write_batch, batch, store.uri, run, place, memory_limit) for batch in _batches(missing, client)
    )
    for ended in hand_out(client, lambda: next(batches, None)):
        if ended.error is not None:
            raise ended.error
    return len(missing)


def cut_partitions(
    store: Store, run: str, client: Any | None, placement: Placement, memory_limit: int | None = None
) -> int:
    """Write the partitions of a run that are not there yet, where that is placed.

    Returns their number.

    On a GPU they are cut by this process, unless each worker has a GPU of its own.
    """
    alone = placement.data.backend == "cuda" and placement.search.backend == "cpu"
    return write_partitions(store, run, None if alone else client, place=placement.data, memory_limit=memory_limit)


def read_partition(folder: RunFolder, number: int) -> Partition:
    """Read a partition's subgraph.

    Raises DamageError where it was not written, is damaged, or is of another plan.
    """
    record = folder.read(Subgraph, Subgraph.name(number))
    (file,) = record.stored
    if record.plan != folder.planned.digest:
        raise DamageError(f"{folder.path_of(file.name)}: it was cut for another plan; {MEND}")
    arrays, about = folder.read_arrays(file)
    return Partition(number, cast(Side, about["side"]), *(arrays[name] for name in _COLUMNS))


def ready_partition(folder: RunFolder, number: int) -> Partition:
    """Read a partition's subgraph; one that is damaged is cut out of the graph again."""
    try:
        return read_partition(folder, number)
    except DamageError as error:
        warn("partition is cut again", run=folder.run, partition=number, reason=error)
    write_partition(folder.store, folder.run, number)
    return read_partition(folder, number)


_COLUMNS = ("indptr", "indices", "left_ids", "right_ids", "left_hashes", "right_hashes", "roots")


def _read_layout(store: Store, run: str, backend: Backend) -> tuple[Layout, str]:
    """Read graph and plan, once for all cuts; returns the digest of the plan, too."""
    folder = store.run(run)
    plan, graph = read_plan(folder), read_run_graph(folder, backend)
    by_root = graph if plan.side == "left" else graph.transpose()
    return Layout.of(plan, by_root, read_hashes(folder.graph), right_of_windows(folder)), plan.digest


def _require_room(store: Store, run: str, memory_limit: int | None) -> None:
    """Refuse a graph that does not fit with its rows in both directions."""
    folder = store.run(run)
    plan = folder.planned
    what = f"run {run}: to cut its partitions out of {plan.n_edges:,} edges"
    MemoryRoom.within(memory_limit).require(_needed(folder, plan), what, kept=KEPT_OF_READING)


def _needed(folder: RunFolder, plan: PlanRecord) -> int:
    """Bytes of memory to cut a partition of a run."""
    vertices = max(stored_sizes(folder.store.graph(plan.graph))[1], plan.n_left + plan.n_right)
    needed = LAID_OUT.of(plan.n_edges, vertices)
    if needed and plan.partitions == 1:
        needed += WHOLE.of(plan.n_edges, plan.n_left + plan.n_right)
    elif needed:
        needed += plan.est_bytes
    return needed


def _present(values: Int32s, n: int) -> Int64s:
    """Those of 0…n-1 that occur, ascending."""
    xp = library_of(values)
    there = xp.zeros(n, xp.bool_)
    there[values] = True
    return xp.flatnonzero(there)  # type: ignore[no-any-return]


def _write(folder: RunFolder, layout: Layout, plan_digest: str, number: int) -> StoredFile:
    """Cut a partition, and write its record and its arrays, as one row of lists."""
    part = layout.cut(number, library_of(layout.plan.roots).flatnonzero(layout.plan.partition == number))
    about = {"side": part.side, "partition": str(part.number), "n_right": str(part.n_right)}
    file = folder.write_arrays(partition_name(number), {name: getattr(part, name) for name in _COLUMNS}, about)
    record = Subgraph(stored=(file,), partition=number, plan=plan_digest)
    folder.write(record.name(number), record, durable=False)
    return file


def _missing(folder: RunFolder, plan: PlanRecord) -> list[int]:
    """Partitions to write: those not there, and those to be searched that fit no record or plan."""
    there = folder.files("partitions")
    committed = folder.numbers_of(Commit, "commits")
    here = [n for n in range(plan.partitions) if {partition_name(n), Subgraph.name(n)} <= set(there)]
    waiting = {Subgraph.name(n): n for n in here if n not in committed}
    missing = set(range(plan.partitions)) - set(here)
    for name, record in folder.read_each(Subgraph, waiting).items():
        if folder.why_unusable(name, record, plan, there, check=False) is not None:
            missing.add(waiting[name])
    return sorted(missing)


def _batches(missing: list[int], client: Any | None) -> list[list[int]]:
    """Partitions that are cut out of a graph that is read once.

    All, or some a thread of a cluster.
    """
    if client is None or not missing:
        return [missing] if missing else []
    size = -(-len(missing) // (BATCHES_PER_THREAD * max(sum(client.nthreads().values()), 1)))
    return [missing[start : start + size] for start in range(0, len(missing), size)]


def _write_batch(
    numbers: list[int], store_uri: str, run: str, place: Place, memory_limit: int | None, here: Here
) -> None:
    """Cut partitions and write them; where a GPU fails, the CPU goes on with what is left."""
    store = Store.open(store_uri, create=False)
    waiting = list(numbers)
    _require_room(store, run, memory_limit)

    def write(backend: Backend) -> None:
        layout = _read_layout(store, run, backend)
        while waiting:
            _write(store.run(run), *layout, waiting[0])
            waiting.pop(0)

    place.run(write)
