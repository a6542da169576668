"""The CUDA driver of maximum cliques: runs `src/clique/clique.cu` on one GPU, or on several.

The host finds core numbers and a first clique (`src/clique/clique_plan.hpp`); what is left goes to
the devices: one dense graph by its vertices, or the neighbourhoods of roots, which each device
builds itself. Tasks are dealt out like cards, so that every device has large and small ones. A host
thread a device waits, and tells its device when another one has found a larger clique. Where the
memory does not hold the graphs of all roots at once, half of them go first.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np

from bicliq.kernels.contracts import Int32Array, Int64Array
from bicliq.kernels.cpu import load_extension, wait_for
from bicliq.kernels.cuda.batches import RootBatches
from bicliq.kernels.cuda.clique_program import (
    BLOCKS_A_MULTIPROCESSOR,
    BUILD_THREADS,
    COUNTERS,
    FIELDS,
    LAUNCH,
    NO_ROOT,
    TREE,
    WARPS_A_BLOCK,
    WHOLE_TREE,
    WIDTHS,
    LaunchShape,
    compiled_for,
)
from bicliq.kernels.cuda.device import POLL_SECONDS, Budget, device_errors, free_budget, is_pending, streams
from bicliq.kernels.errors import BackendError

NEAR_SHARE = 0.54  # of a multiprocessor's shared memory; the rest caches rows (an H200 divides it at 132 KiB)
LARGEST_NEAR_WORDS = 3072  # of a warp: four of them are the 48 KiB that a block gets unasked
ARENA_SHARE, SCRATCH_SHARE, SEARCH_SHARE = 0.4, 0.1, 0.3  # of the free memory
EXCHANGE_SECONDS = 0.002  # between two looks at what the other devices have found


class Machine(Protocol):
    """What runs the kernels: a GPU; in tests, threads of the host."""

    xp: Any
    groups: int
    near_words: int

    def opened(self) -> AbstractContextManager[Any]:
        """Within it, arrays belong to this machine."""

    def budget(self) -> Budget:
        """Memory that a search may take."""

    def launch(self, kernel: str, fields: Any, groups: int, width: int, near_words: int) -> None:
        """Start a kernel with so many groups of 32 lanes; `fields` is a `CliqueLaunch`."""

    def running(self) -> bool:
        """Whether a kernel still runs."""

    def peek(self, array: Any) -> Any:
        """An array's contents, read beside a running kernel."""

    def poke(self, array: Any, place: int, value: int) -> None:
        """Set one word of an array beside a running kernel."""


class Card:
    """One GPU of this process."""

    def __init__(self, number: int) -> None:
        import cupy

        self.xp = cupy
        self._device = cupy.cuda.Device(number)
        attributes = self._device.attributes
        blocks = int(attributes["MultiProcessorCount"]) * BLOCKS_A_MULTIPROCESSOR
        self.groups = blocks * WARPS_A_BLOCK
        shared = int(attributes["MaxSharedMemoryPerMultiprocessor"]) * NEAR_SHARE
        words = int(shared) // (4 * WARPS_A_BLOCK * BLOCKS_A_MULTIPROCESSOR)
        self.near_words = min(words // 4 * 4, LARGEST_NEAR_WORDS)
        self._done: Any = None

    def opened(self) -> AbstractContextManager[Any]:
        """Its device and the stream of searches."""
        stack = ExitStack()
        stack.enter_context(self._device)
        stack.enter_context(device_errors())
        stack.enter_context(streams(self._device.id).search)
        return stack

    def budget(self) -> Budget:
        """What is free now, or `BICLIQ_GPU_MEMORY` where that is less."""
        return free_budget(self._device)

    def launch(self, kernel: str, fields: Any, groups: int, width: int, near_words: int) -> None:
        """Start a kernel on the stream of searches."""
        threads = 32 * WARPS_A_BLOCK if near_words else BUILD_THREADS
        function = compiled_for(width, self._device.id).get_function(kernel)
        shared = 4 * near_words * WARPS_A_BLOCK
        function((groups * 32 // threads,), (threads,), (fields,), shared_mem=shared)
        self._done = self.xp.cuda.Event()
        self._done.record()

    def running(self) -> bool:
        """Whether the last kernel has not ended."""
        return is_pending(self._done)

    def peek(self, array: Any) -> Any:
        """Copied on the stream beside that of the search."""
        return array.get(stream=streams(self._device.id).beside)

    def poke(self, array: Any, place: int, value: int) -> None:
        """Copied likewise."""
        array[place : place + 1].set(np.full(1, value, array.dtype), stream=streams(self._device.id).beside)


def cards(devices: int) -> list[Machine]:
    """The first so many GPUs of this process; 0: all of them.

    Raises
    ------
    BackendError
        If there are fewer.
    """
    import cupy

    there = int(cupy.cuda.runtime.getDeviceCount())
    if devices > there:
        raise BackendError(f"{devices} GPUs were asked for, but this process sees {there}; ask for at most {there}")
    return [Card(number) for number in range(devices or there)]


class Exchange:
    """What threads of several devices tell each other: the best size, and that all are to end."""

    def __init__(self, best: int) -> None:
        self.best = best  # written without a lock: a lost update comes again with the next look
        self.stopped = False


@dataclass(frozen=True)
class Found:
    """What the devices came to.

    Attributes
    ----------
    members : array of int32
        The vertices of the largest clique, ascending; empty where none is larger than the lower
        bound.
    proven : bool
        Whether no clique is larger.
    nodes, given : int
        Nodes of the search, and parts of it that one group of lanes gave to another.
    groups : int
        Groups of 32 lanes that searched.
    degeneracy : int
    seconds : dict of str to float
        ``order``, ``heuristic``, ``roots`` (their graphs), ``search`` (all else).
    """

    members: Int32Array
    proven: bool
    nodes: int
    given: int
    groups: int
    degeneracy: int
    seconds: dict[str, float]


def search(
    machines: Sequence[Machine],
    indptr: Int64Array,
    indices: Int32Array,
    *,
    lower_bound: int = 0,
    recolour: bool = True,
    refute: bool = True,
    time_limit: float | None = None,
) -> Found:
    """Search a maximum clique with some machines, each of which gets a share of the tasks.

    Parameters
    ----------
    machines
        GPUs.
    indptr, indices
        Symmetric CSR, checked.
    lower_bound, time_limit
        As in `maximum_clique`.
    recolour, refute
        Which bounds are used beside colouring.
    """
    started = time.monotonic()
    planning = load_extension().plan_cliques(indptr, indices, lower_bound)
    wait_for(planning, time_limit=time_limit)
    plan = SimpleNamespace(**planning.result())
    host_seconds = {"order": plan.order_seconds, "heuristic": plan.heuristic_seconds}
    if not plan.is_complete:
        first = np.zeros(min(len(indptr) - 1, 1 if lower_bound == 0 else 0), np.int32)
        members = np.sort(plan.ids[plan.members]).astype(np.int32) if len(plan.members) else first
        return Found(members, False, 0, 0, 0, int(plan.degeneracy), host_seconds)
    planned = time.monotonic()
    exchange = Exchange(plan.best)
    shares = [
        Share(machine, plan, exchange, (i, len(machines)), recolour, refute) for i, machine in enumerate(machines)
    ]
    proven = _run(shares, exchange, None if time_limit is None else started + time_limit)
    best = max((share.members for share in shares), key=len)
    build = max(share.build_seconds for share in shares)
    return Found(
        members=np.sort(plan.ids[best if len(best) else plan.members]).astype(np.int32),
        proven=proven,
        nodes=sum(share.nodes for share in shares),
        given=sum(share.given for share in shares),
        groups=sum(share.groups for share in shares),
        degeneracy=int(plan.degeneracy),
        seconds={
            **host_seconds,
            "roots": build,
            "search": time.monotonic() - planned - build,
        },
    )


def _run(shares: Sequence[Share], exchange: Exchange, deadline: float | None) -> bool:
    """Run all shares, a thread each; says whether they came to their end."""
    with ThreadPoolExecutor(len(shares)) as pool:
        runs = [pool.submit(share.run) for share in shares]
        try:
            while True:
                left = None if deadline is None else max(deadline - time.monotonic(), 0)
                pending = wait(runs, 0.2 if left is None else min(left, 0.2)).not_done
                if not pending or any(run.done() and run.exception() for run in runs):
                    break
                if deadline is not None and time.monotonic() >= deadline:
                    break
        finally:
            exchange.stopped = any(not run.done() for run in runs)
    for run in runs:
        run.result()
    return not exchange.stopped


class Share:
    """The part of a search that one machine does, and what it has come to."""

    def __init__(
        self, machine: Machine, plan: Any, exchange: Exchange, dealt: tuple[int, int], recolour: bool, refute: bool
    ) -> None:
        self._machine, self._plan, self._exchange, self._dealt = machine, plan, exchange, dealt
        self._switches = {"recolour": int(recolour), "refute": int(refute)}
        self.members: Any = np.empty(0, np.uint32)  # places, where it has found a larger clique than was known
        self.nodes = self.given = self.groups = 0
        self.build_seconds = 0.0

    def run(self) -> None:
        """Search to the end, or until the exchange says to stop."""
        part, parts = self._dealt
        n_whole = len(self._plan.whole)
        roots = np.arange(len(self._plan.ids) - 1, self._plan.first_root - 1, -1, dtype=np.uint32)
        if not n_whole and len(roots) <= self._plan.best:
            return
        with self._machine.opened():
            if n_whole:
                vertices = np.arange(n_whole - 1, self._plan.best - 1, -1, dtype=np.uint32)[part::parts]
                self._search_whole(vertices)
            else:
                self._search_roots(roots[part::parts])

    def _search_whole(self, vertices: Any) -> None:
        """Search one graph; a task is a vertex and those before it."""
        plan, xp = self._plan, self._machine.xp
        tree = np.array([(0, len(plan.whole), plan.stride, NO_ROOT, 0)], TREE.dtype)
        tasks = np.stack([np.zeros_like(vertices), vertices], axis=1)
        arena = xp.asarray(np.concatenate([plan.rows, plan.whole]))
        self._search(arena, xp.asarray(tree.view(np.uint64)), tree, tasks)

    # ---- roots

    def _search_roots(self, roots: Any) -> None:
        """Build the graphs of roots, the densest cores first, and search them.

        Where they do not fit, half of the roots go first.
        """
        xp, plan = self._machine.xp, self._plan
        self._held = {"start": xp.asarray(plan.start), "later": xp.asarray(plan.later)}
        behind = plan.colours_behind
        batches = RootBatches(roots, lambda batch: (batch[: len(batch) // 2], batch[len(batch) // 2 :]))
        for waiting in batches:
            if self._exchange.stopped:
                return
            batch = waiting[behind[waiting] >= self._exchange.best]
            if not len(batch):
                continue
            built = self._build(batch)
            if built is None:
                batches.halve(batch)
            else:
                self._search_trees(*built)

    def _build(self, batch: Any) -> tuple[Any, Any] | None:
        """The graphs of some roots: arena and trees; None where they do not fit."""
        started = time.monotonic()
        xp, budget = self._machine.xp, self._machine.budget()
        scratch_words = 2 * (int(self._plan.degeneracy) + 64)
        granule = BUILD_THREADS // 32
        groups = budget.fitting(self._machine.groups, SCRATCH_SHARE, 4 * scratch_words, "warps", granule)
        arena = xp.empty(max(budget.items(ARENA_SHARE, 4), 1), dtype=xp.uint32)
        tree_words = TREE.size // 8
        trees = xp.zeros(tree_words * len(batch), dtype=xp.uint64)
        roots, scratch = xp.asarray(batch), xp.empty(groups * scratch_words, dtype=xp.uint32)
        counters = self._counters(0)
        arrays = self._held | {"arena": arena, "trees": trees, "roots": roots, "scratch": scratch, "counters": counters}
        numbers = {"n_roots": len(batch), "arena_words": len(arena), "scratch_words": scratch_words}
        outcome = self._launch("build_clique_roots", arrays, numbers, groups, 1, 0)
        self.build_seconds += time.monotonic() - started
        if outcome["arena_full"]:
            return None
        return arena, trees[: tree_words * outcome["n_trees"]]

    def _search_trees(self, arena: Any, trees: Any) -> None:
        """Search all trees, the largest first, those of each width by a launch of their own."""
        known = np.ascontiguousarray(self._machine.peek(trees)).view(TREE.dtype)
        order = np.argsort(-known["n"].astype(np.int64), kind="stable").astype(np.uint32)
        widths = np.searchsorted(np.array(WIDTHS) * 1024, known["n"][order])
        for width in np.unique(widths)[::-1]:
            chosen = order[widths == width]
            if self._exchange.stopped:
                return
            tasks = np.stack([chosen, np.full_like(chosen, WHOLE_TREE)], axis=1)
            self._search(arena, trees, known[chosen], tasks)

    # ---- one launch

    def _search(self, arena: Any, trees: Any, shapes: Any, tasks: Any) -> None:
        xp, machine = self._machine.xp, self._machine
        if not len(tasks):
            return
        largest, stride = int(shapes["n"].max()), int(shapes["stride"].max())
        shape = LaunchShape(largest, stride, int(self._plan.degeneracy), machine.near_words)
        width = shape.width
        groups = machine.budget().fitting(machine.groups, SEARCH_SHARE, shape.bytes_a_group, "warps", WARPS_A_BLOCK)
        slots = 1 << (2 * groups - 1).bit_length()
        records = xp.zeros(groups * shape.record_words, dtype=xp.uint32)
        arrays = {
            "arena": arena,
            "trees": trees,
            "tasks": xp.asarray(tasks.astype(np.uint32)),
            "turns": xp.zeros(slots, dtype=xp.uint32),
            "slots": xp.empty(slots * shape.slot_words, dtype=xp.uint32),
            "stacks": xp.empty(groups * shape.stack_words, dtype=xp.uint32),
            "classes": xp.empty(groups * shape.class_words, dtype=xp.uint32),
            "records": records,
            "counters": self._counters(len(tasks)),
        }
        numbers = {
            "n_tasks": len(tasks), "slot_capacity": slots, "slot_words": shape.slot_words, "most_levels": shape.levels,
            "stack_words": shape.stack_words, "class_words": shape.class_words, "near_words": shape.near_words,
            "small_levels": shape.small_levels, **self._switches,
        }  # fmt: skip
        outcome = self._launch("search_cliques", arrays, numbers, groups, width, shape.near_words)
        self.groups = max(self.groups, groups)
        self.nodes += outcome["nodes"]
        self.given += outcome["given"]
        self._take_best(machine.peek(records).reshape(groups, shape.record_words))

    def _take_best(self, records: Any) -> None:
        """Every group's record is the largest clique that it raised the size with."""
        best = records[records[:, 0].argmax()]
        if best[0] > len(self.members):
            self.members = best[1 : 1 + int(best[0])].copy()

    def _counters(self, tasks: int) -> Any:
        values = {"best": self._exchange.best, "pending": tasks}
        return self._machine.xp.asarray(COUNTERS.packed(values, optional=COUNTERS.names).view(np.uint32))

    def _launch(
        self, kernel: str, arrays: dict[str, Any], numbers: dict[str, int], groups: int, width: int, near_words: int
    ) -> dict[str, int]:
        """Run a kernel to its end, telling it meanwhile what others find; returns the counters."""
        machine, counters = self._machine, arrays["counters"]
        optional = tuple(set(LAUNCH.names) - set(FIELDS[kernel]))
        fields = machine.xp.asarray(LAUNCH.packed(arrays | numbers, optional))
        machine.launch(kernel, fields, groups, width, near_words)
        due, told = time.monotonic() + EXCHANGE_SECONDS, self._exchange.best
        while machine.running():
            time.sleep(POLL_SECONDS)
            if self._exchange.stopped:
                machine.poke(counters, COUNTERS.word("stop", 4), 1)
            elif self._dealt[1] > 1 and time.monotonic() >= due:
                self._exchange.best = max(self._exchange.best, COUNTERS.unpacked(machine.peek(counters))["best"])
                if self._exchange.best > told:
                    told = self._exchange.best
                    machine.poke(counters, COUNTERS.word("outside", 4), told)
                due = time.monotonic() + EXCHANGE_SECONDS
        outcome = COUNTERS.unpacked(machine.peek(counters))
        self._exchange.best = max(self._exchange.best, outcome["best"])
        return outcome
