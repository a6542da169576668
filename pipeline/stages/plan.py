"""Plan: the enumerated side, the order of its vertices, and its roots grouped in partitions.

A root's partition must hold the root's neighbours (rows) and all of their neighbours (columns), so
a row is stored in every partition with a root beside it. Roots are therefore grouped by the rows
that they share (`kernels.group_roots`), or, in very large graphs, by their neighbour of largest
degree (docs/methods.md compares).
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import time

import numpy as np
import pyarrow as pa

from bicliq import kernels
from bicliq.pipeline.columns import column_of
from bicliq.pipeline.errors import DamageError, InputError
from bicliq.pipeline.events import tell, warn
from bicliq.pipeline.graphs.bipartite import BipartiteGraph, Int32s, Int64s, read_graph, stored_edges, stored_sizes
from bicliq.pipeline.graphs.paths import row_blocks, wedges
from bicliq.pipeline.graphs.reduce import largest_degree, peel
from bicliq.pipeline.placement.arrays import largest_of_rows, library_of, to_host
from bicliq.pipeline.placement.where import Backend, place_graph
from bicliq.pipeline.settings import ClusterSettings, PlanSettings, PublishSettings, SearchSettings
from bicliq.pipeline.stages.expected import (
    PLANNED_WORK,
    PLANNED_WRITTEN,
    Estimated,
    expected_output,
    is_easy,
    with_proposals,
)
from bicliq.pipeline.stages.in_step import expand, stored_rows, stored_table
from bicliq.pipeline.stages.limits import GraphNeeds, MemoryRoom
from bicliq.pipeline.stages.partition import write_whole
from bicliq.pipeline.stages.planned import PLAN_COLUMNS, WINDOWS_FILE, Plan, commit_plan
from bicliq.pipeline.stages.worth import Worth, worth_to
from bicliq.pipeline.store.entries import Expected
from bicliq.pipeline.store.layout import RunFolder, Store
from bicliq.pipeline.store.record import StoredFile
from bicliq.pipeline.store.records import FORMAT, Asks, PlanRecord, RunRecord, Side

OF_THE_CALL = {"max_bicliques", "max_bytes", "time_limit", "memory_limit", "on_limit", "check"}
"""Settings of a search that are no part of its run: where this call stops, and what it checks
before."""

BYTES_PER_EDGE = 12
"""Memory of an edge while its partition is searched: the file's 4 bytes, and 4 in each
orientation."""

BYTES_PER_VERTEX = 24
"""Memory of a vertex while its partition is searched: its offset in both orientations, its id."""

READ = GraphNeeds(edge=4, vertex=32)
CUT = GraphNeeds(edge=6, vertex=40)
ESTIMATED = GraphNeeds(edge=10, vertex=72)
"""What a plan holds at most: to read and reduce the graph; beside it, to group its roots; and
beside it, to estimate what a search finds."""

BYTES_PER_ROW = 120
"""Memory of a row of a table with times while its windows are made."""

NO_BUDGET = 1 << 62

GROUPED_EDGES = 1 << 30
"""Edges times partitions up to which roots are grouped by what they share, in 3 s at most; beyond,
by their hub."""


def plan(
    store: Store,
    graph_id: str,
    search: SearchSettings,
    plan_settings: PlanSettings,
    backend: str = "cpu",
    cluster: ClusterSettings | None = None,
    asks: Asks = "bicliques",
    publish: PublishSettings | None = None,
    memory_limit: int | None = None,
) -> PlanRecord:
    """Plan a run and write run.json, its reduced graph, its roots and, last, plan.json.

    Parameters
    ----------
    store, graph_id
        Where the graph is.
    search, plan_settings
        What is asked for. Thresholds are in terms of the graph's own sides.
    backend
        "cpu", "cuda" (CuPy), or "auto": the GPU for a large graph. The plan is the same.
    cluster
        Who will search the partitions: there are fewer of them for a process alone, unless
        `plan_settings` says how many.
    asks
        Whether the partitions are searched for bicliques or counted.
    publish
        How what is found is to lie in its files.
    memory_limit
        Bytes of memory that this process may hold; None: no limit. Where an estimate of what the
        search finds does not fit, there is none; the bicliques are the same.

    Returns
    -------
    PlanRecord
        Read back, where the same run was planned before; a plan that is damaged is made again.

    Raises
    ------
    CapacityError
        Where the limit of memory is too low, with one that would do.
    """
    store.graph(graph_id).must_exist()
    in_step = store.graph(graph_id).record().summary.in_step
    if in_step is not None:
        check_in_step(search, publish or PublishSettings())
    run = run_id(graph_id, search, plan_settings, asks, publish)
    asked = RunRecord(
        run=run,
        graph=graph_id,
        asks=asks,
        search=search.model_copy(update={name: SearchSettings.model_fields[name].default for name in OF_THE_CALL}),
        plan=plan_settings,
        publish=publish or PublishSettings(),
        created=dt.datetime.now(dt.UTC).isoformat(),
        in_step=in_step,
    )
    _write_what_is_asked(store.run(run), asked)
    record = plan_run(store, run, backend, cluster, memory_limit)
    sizes = {"roots": record.n_roots, "partitions": record.partitions}
    tell("run planned", run=run, graph=graph_id, side=record.side, **sizes, seconds=sum(record.seconds.values()))
    return record


def plan_run(
    store: Store,
    run: str,
    backend: str = "cpu",
    cluster: ClusterSettings | None = None,
    memory_limit: int | None = None,
) -> PlanRecord:
    """Plan a run by what its run.json asks for, unless its plan is there and sound."""
    folder = store.run(run)
    with folder.claim("plan"):
        known = known_plan(folder)
        if known is not None:
            return known
        asked = folder.record()
        place = place_graph(backend, stored_edges(store.graph(asked.graph)))
        call = backend, cluster or ClusterSettings(), memory_limit
        return place.run(lambda chosen: _plan(folder, asked, chosen, *call))


def _plan(
    folder: RunFolder,
    asked: RunRecord,
    backend: Backend,
    data_backend: str,
    cluster: ClusterSettings,
    memory_limit: int | None,
) -> PlanRecord:
    """Read a graph, reduce it and group its roots, where its arrays lie, and write the plan."""
    started, search = time.perf_counter(), asked.search
    graph, written, max_degree = _reduced(folder, asked, backend, memory_limit)
    in_step = asked.in_step is not None
    reduced = time.perf_counter()
    sizes = graph.n_edges, graph.n_left + graph.n_right
    room = MemoryRoom.within(memory_limit)
    room.require_for_graph(CUT.of(*sizes), f"{folder.uri}: to plan a run of {graph.n_edges:,} edges", *sizes)
    side = "left" if in_step else choose_side(graph, search.side, search.min_left, search.min_right)
    others = graph.right_degrees if side == "left" else graph.left_degrees
    expected = None
    if asked.asks == "bicliques" and room.bytes < ESTIMATED.of(*sizes):
        tell("search is not estimated", run=folder.run, reason="the limit of memory leaves no room for it")
    elif asked.asks == "bicliques":
        expected = _expected(graph, search, side, asked.publish)
        expected = expected.as_bound() if in_step else expected
    seconds = None if expected is None else expected.search_seconds
    n_left, n_right = (int((degrees > 0).sum()) for degrees in (graph.left_degrees, graph.right_degrees))
    whole = expected is not None and kernels.searches_roots_together(
        side, search.min_left, search.min_right, n_left if side == "left" else n_right
    )
    worth = worth_to(data_backend, search, cluster, graph.n_edges, int((others**2).sum()), seconds, whole)
    easy = is_easy(expected, search, graph.n_edges)
    together = whole and worth.most == 1 and memory_limit is None
    wanted = asked.plan.partitions, _budget(asked.plan, ESTIMATED.of(*sizes) if together else 0)
    by_root = graph if side == "left" else graph.transpose()
    del graph
    found, est_bytes = plan_partitions(by_root, side, *wanted, worth, expected, is_easy=easy)
    name = folder.attempt_of("plan.parquet")
    written.append(folder.write_table(name, found.to_table(), differences=PLAN_COLUMNS))
    record = PlanRecord(
        stored=tuple(written),
        run=asked.run,
        graph=asked.graph,
        side=side,
        n_left=n_left,
        n_right=n_right,
        n_edges=by_root.n_edges,
        n_roots=int(found.roots.size),
        partitions=int(found.partition.max(initial=-1)) + 1,
        est_bytes=est_bytes,
        est_cost=int(found.cost.sum()),
        max_degree=max_degree,
        digest=found.digest,
        expected=None if expected is None else expected.entry(),
        seconds={"reduce": round(reduced - started, 6), "plan": round(time.perf_counter() - reduced, 6)},
    )
    stands = commit_plan(folder, record)
    alone = stands.partitions == 1 and cluster.scheduler is None  # other machines cut it, if they reach the store
    if alone and stands.digest == found.digest:
        write_whole(folder, found, by_root, memory_limit)
    return stands


def _budget(asked: PlanSettings, held: int) -> int:
    """Bytes of a partition: those asked for, or as many as the plan held, if more and none are."""
    is_asked = asked.memory_budget != PlanSettings().memory_budget
    return asked.memory_budget if is_asked else max(asked.memory_budget, held)


def _reduced(
    folder: RunFolder, asked: RunRecord, backend: Backend, memory_limit: int | None
) -> tuple[BipartiteGraph, list[StoredFile], int | None]:
    """Read what a run searches, and reduce it.

    Returns the files that were written of it, too, and the most edges of a vertex of the whole
    graph, where that was read.
    """
    search, stored = asked.search, folder.store.graph(asked.graph)
    whole = stored_sizes(stored)
    room = MemoryRoom.within(memory_limit)
    if asked.in_step is not None:
        room.require(BYTES_PER_ROW * stored_rows(stored), f"{stored.uri}: to find who was in step in its rows")
        windows = expand(stored_table(stored), search, backend=backend).searched
        right = pa.table({"right": column_of(windows.right)})
        written = [folder.write_table(folder.attempt_of(WINDOWS_FILE), right)]
        return windows.graph, [*written, _write_reduced(folder, windows.graph)], None
    room.require_for_graph(READ.of(*whole), f"{stored.uri}: to read the graph for a plan", *whole)
    graph = read_graph(stored, backend)
    max_degree = largest_degree(graph)
    if search.min_left == 1 and search.min_right == 1:
        return graph, [], max_degree
    graph, _ = peel(graph, search.min_left, search.min_right, in_place=True)
    return graph, [_write_reduced(folder, graph)], max_degree


def _write_reduced(folder: RunFolder, graph: BipartiteGraph) -> StoredFile:
    return folder.write_table(folder.attempt_of("reduced.parquet"), graph.to_batches())


def check_in_step(search: SearchSettings, publish: PublishSettings) -> None:
    """Refuse what a run of groups in step cannot be; raises InputError."""
    why_not = {
        "groups in step are searched from the left side; leave out side = 'right'": search.side == "right",
        "both sides of groups in step are stored; leave out columns = 'smaller'": publish.columns == "smaller",
        "what groups in step are beyond chance is no column of a run; leave surprise out of objectives, and ask top, show"
        " or find by surprise": "surprise" in publish.objectives,
        "groups in step are searched on the CPU; leave out backend = 'cuda'": search.backend == "cuda",
    }
    for reason, holds in why_not.items():
        if holds:
            raise InputError(reason)


def _write_what_is_asked(folder: RunFolder, asked: RunRecord) -> None:
    """Write run.json, unless it is there and sound."""
    try:
        if folder.find(RunRecord) is not None:
            return
    except DamageError as error:
        warn("what is asked is written again", run=folder.run, reason=error)
    folder.write(asked.at, asked)


def known_plan(folder: RunFolder) -> PlanRecord | None:
    """Return the plan that was made before, if it is there and sound; its claim must be held.

    One that is damaged is removed from an object store, where the first that is written stands.
    """
    try:
        found = folder.find(PlanRecord)
        for file in found.stored if found else ():
            folder.check(file)
        return found
    except DamageError as error:
        warn("run is planned again", run=folder.run, reason=error)
        if not folder.is_local:
            folder.remove(PlanRecord.at)
        return None


def run_id(
    graph_id: str,
    search: SearchSettings,
    plan_settings: PlanSettings,
    asks: Asks = "bicliques",
    publish: PublishSettings | None = None,
) -> str:
    """Name a run: a hash of its graph and of all settings that change the result or its layout.

    A limit is none of them: it says where a call stops, and the next one goes on.
    """
    what = {
        "format": FORMAT,
        "graph": graph_id,
        "asks": asks,
        "search": search.model_dump(mode="json", exclude=OF_THE_CALL | {"threads", "backend"}),
        "plan": plan_settings.model_dump(mode="json"),
    }
    if publish is not None and publish != PublishSettings():
        what["publish"] = publish.model_dump(mode="json")
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:12]


def choose_side(graph: BipartiteGraph, asked: str = "auto", min_left: int = 1, min_right: int = 1) -> Side:
    """Return the side to enumerate: the asked one, or that which the kernels would choose."""
    if asked == "left":
        return "left"
    if asked == "right":
        return "right"
    if asked != "auto":
        raise InputError(f'side {asked!r}: it must be "auto", "left" or "right"')
    csr = to_host(graph.indptr), to_host(graph.indices), graph.n_right
    return kernels.choose_side(*csr, min_left=min_left, min_right=min_right)


def plan_partitions(
    by_root: BipartiteGraph,
    side: Side,
    partitions: int | None,
    memory_budget: int,
    worth: Worth = Worth(),  # noqa: B008
    expected: Expected | None = None,
    *,
    is_easy: bool = False,
) -> tuple[Plan, int]:
    """Order the roots and group them.

    Parameters
    ----------
    by_root
        The graph to search, as rows of the enumerated side: transposed where that is the right one.
    side
        The enumerated side.
    partitions
        Number of partitions (fewer where there are fewer roots), or None: as many as the memory
        budget asks for, as keep a machine's cores busy, and as a long search needs to commit as it
        goes.
    memory_budget
        Bytes a partition may take while it is searched; a single root may exceed it. Not used when
        `partitions` is given.
    worth
        What a partition is worth (work: paths of two edges), where `partitions` is None.
    expected
        What a search for bicliques is expected to find; None: there is none.
    is_easy
        Whether to copy the graph takes longer than to search it: one partition then holds it.

    Returns
    -------
    Plan
        Roots with cost and partition.
    int
        Estimated bytes of the largest partition.

    Notes
    -----
    O(n_edges), and O(vertices log vertices); deterministic. Beside the graph there are its rows on
    the host, once more in the other direction where roots are grouped by what they share, and some
    numbers a vertex.
    """
    xp = library_of(by_root.indices)
    degrees = by_root.left_degrees
    order = xp.argsort(degrees, kind="stable")
    order = order[degrees[order] > 0]
    cost = wedges(by_root)[0]
    if partitions is None:
        wanted = min(worth.partitions(int(cost.sum()), expected), order.size)
    else:
        wanted = min(partitions, order.size)
    if partitions == 1 and order.size:
        roots = to_host(order).astype(np.int32)
        whole = int(_row_bytes(by_root)[by_root.right_degrees > 0].sum())
        return Plan(side, roots, to_host(cost[order]), np.zeros(order.size, np.int32)), whole
    sequence, cuts = _grouped(by_root, order, cost, wanted)
    pieces = _Cutting(by_root, to_host(sequence).astype(np.int32))
    if partitions is None:
        one_will_do = is_easy and pieces.are_copies(cuts)
        starts, sizes = pieces.cut(cuts[:0] if one_will_do else cuts, memory_budget)
    else:
        starts, sizes = pieces.cut(cuts)
    number = np.empty(by_root.n_left, np.int32)
    number[pieces.sequence] = np.repeat(np.arange(starts.size, dtype=np.int32), np.diff(starts, append=order.size))
    roots = to_host(order).astype(np.int32)
    return Plan(side, roots, to_host(cost[order]), number[roots]), int(sizes.max(initial=0))


def _expected(graph: BipartiteGraph, search: SearchSettings, side: Side, publish: PublishSettings) -> Estimated:
    sample = {"work": PLANNED_WORK, "written": PLANNED_WRITTEN}
    threads = kernels.number_of_threads(search.threads)
    return with_proposals(expected_output(graph, search, side, publish, threads=threads, **sample), graph, search)


def _grouped(by_root: BipartiteGraph, order: Int64s, cost: Int64s, partitions: int) -> tuple[Int64s, Int64s]:
    """Return the roots, partition by partition, and the positions where partitions begin."""
    xp = library_of(order)
    if partitions > 1 and by_root.n_edges * partitions <= GROUPED_EDGES:
        rows = to_host(by_root.indptr), to_host(by_root.indices)
        roots, numbers = kernels.group_roots(*rows, to_host(_row_bytes(by_root)), to_host(cost), partitions)
        return xp.asarray(roots, dtype=xp.int64), np.flatnonzero(np.diff(numbers)) + 1
    sequence = order[_by_hub(by_root, order)]
    return sequence, _cut_by_cost(to_host(xp.cumsum(cost[sequence])), partitions)


def _row_bytes(by_root: BipartiteGraph) -> Int64s:
    """Bytes of each row in a partition that holds it."""
    return by_root.right_degrees * BYTES_PER_EDGE + BYTES_PER_VERTEX


class _Cutting:
    """A sequence of roots, to be cut in partitions.

    A row counts once a partition, with all its edges.
    """

    def __init__(self, by_root: BipartiteGraph, sequence: Int32s) -> None:
        arrays = by_root.indptr, by_root.indices, _row_bytes(by_root)
        self.indptr, self.indices, self.row_bytes = map(to_host, arrays)
        self.sequence = sequence

    def cut(self, cuts: Int64s, budget: int = NO_BUDGET) -> tuple[Int64s, Int64s]:
        """Return where partitions begin, and their bytes: at these cuts, and within a budget."""
        return kernels.cut_roots(self.indptr, self.indices, self.row_bytes, self.sequence, cuts, budget)

    def are_copies(self, cuts: Int64s) -> bool:
        """Whether partitions hold more than half of what there is each, as in a dense graph."""
        sizes = self.cut(cuts)[1]
        return sizes.size > 1 and bool(sizes.sum() > sizes.size * self.cut(cuts[:0])[1].sum() / 2)


def _by_hub(by_root: BipartiteGraph, order: Int64s) -> Int64s:
    """Positions in `order`, roots with the same neighbour of largest degree side by side."""
    xp = library_of(order)
    rank = xp.empty(by_root.n_right, xp.int32)
    rank[xp.argsort(by_root.right_degrees, kind="stable")] = xp.arange(by_root.n_right, dtype=xp.int32)
    hubs = xp.empty(by_root.n_left, xp.int32)
    for some in row_blocks(by_root):
        starts = by_root.indptr[some.start : some.stop + 1]
        hubs[some] = largest_of_rows(rank[by_root.indices[int(starts[0]) : int(starts[-1])]], starts - starts[0])
    found: Int64s = xp.argsort(hubs[order], kind="stable")
    return found


def _cut_by_cost(spent: Int64s, partitions: int) -> Int64s:
    """Positions where partitions 1, 2, … begin: equal shares of the cost, none empty."""
    if partitions < 1:
        return np.zeros(0, np.int64)
    number = np.arange(1, partitions, dtype=np.int64)
    cuts = np.searchsorted(spent, number * (float(spent[-1]) / partitions)).astype(np.int64)
    cuts = np.maximum.accumulate(np.maximum(cuts, 1) - number) + number
    return np.minimum(cuts, spent.size - partitions + number)
