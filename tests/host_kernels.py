"""The kernels of the enumeration in Python, from their definitions: slow, and on the memory that
the drivers prepare (`host_counts` has those of the counts).

They keep to what the drivers rely on: counters, capacities, chunks of records, slots of subtrees
that are given away, and parking.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from bicliq.kernels import _cpu_warps as warps
from bicliq.kernels.cuda import search_program
from bicliq.kernels.cuda.batches import Failure
from bicliq.kernels.cuda.program import Struct
from bicliq.kernels.cuda.search_program import SUBTREE, Slot, Stop
from bicliq.kernels.digest import LEFT_SEED, _mix
from tests.host_cupy import CUDARuntimeError
from tests.reference.brute_force import maximal_bicliques

ONE_ROW = 2**32 - 1
ARENA_WORDS_A_ROOT = 100
WORKSPACE_WORDS = 1 << 10
"""What a warp of this emulation needs."""


def at(address: int, n: int, dtype: Any) -> np.ndarray:
    """Memory at an address, as an array."""
    assert address, "a null pointer"
    size = int(n) * np.dtype(dtype).itemsize
    if not size:
        return np.empty(0, dtype)
    block = (np.ctypeslib.ctypes.c_uint8 * size).from_address(address)
    return np.frombuffer(block, dtype=dtype)


class Launch:
    """What a kernel is told, and its counters."""

    def __init__(self, struct: Struct, counters: Struct, fields: Any) -> None:
        self.told = struct.unpacked(np.asarray(fields))
        self._counters, self._words = counters, at(self.told["counters"], counters.size // 8, np.uint64)

    def __getattr__(self, name: str) -> int:
        return self.told[name]

    def read(self, name: str) -> int:
        return int(self._words[self._counters.word(name)])

    def write(self, name: str, value: int) -> None:
        self._words[self._counters.word(name)] = value % 2**64

    def add(self, name: str, value: int) -> int:
        before = self.read(name)
        self.write(name, before + value)
        return before

    def fail(self, why: Failure) -> None:
        self.write("failure", why)


class Search(Launch):
    """A run of the enumeration."""

    def __init__(self, fields: Any) -> None:
        super().__init__(search_program.RUN, search_program.COUNTERS, fields)

    def fail(self, why: Failure) -> None:
        super().fail(why)
        self.write("stop", Stop.END)

    @cached_property
    def columns_of_row(self) -> list[list[int]]:
        starts = at(self.row_start, self.n_rows + 1, np.uint64).astype(int)
        columns = at(self.row_columns, max(starts[-1], 1), np.uint32)
        return [columns[starts[r] : starts[r + 1]].tolist() for r in range(self.n_rows)]

    @cached_property
    def rows_of_column(self) -> list[list[int]]:
        starts = at(self.column_start, self.n_columns + 1, np.uint64).astype(int)
        rows, places = (at(pointer, max(starts[-1], 1), np.uint32) for pointer in (self.column_rows, self.places))
        for column in range(self.n_columns):
            for edge in range(starts[column], starts[column + 1]):
                assert self.columns_of_row[rows[edge]][places[edge]] == column
        return [rows[starts[c] : starts[c + 1]].tolist() for c in range(self.n_columns)]

    def accepts(self, n_rows: int, n_columns: int) -> bool:
        if self.best and (n_rows > self.max_rows or n_columns > self.max_columns):
            return False
        return n_rows >= self.min_rows and n_columns >= self.min_columns and n_rows * n_columns >= self.min_edges

    @cached_property
    def by_root(self) -> dict[int, list[tuple[list[int], list[int]]]]:
        """The bicliques of at least two rows, by their first column."""
        edges = [(row, column) for row, columns in enumerate(self.columns_of_row) for column in columns]
        found: dict[int, list[tuple[list[int], list[int]]]] = {}
        for rows, columns in sorted(maximal_bicliques(edges, self.n_rows), key=lambda one: sorted(map(sorted, one))):
            if len(rows) > 1 and self.accepts(len(rows), len(columns)):
                found.setdefault(min(columns), []).append((sorted(rows), sorted(columns)))
        return found

    def report(self, rows: list[int], columns: list[int]) -> None:
        self.add("found", 1)
        if not self.row_hashes or self.best:
            return
        row_hashes, column_hashes = (
            at(self.row_hashes, self.n_rows, np.uint64),
            at(self.column_hashes, self.n_columns, np.uint64),
        )
        with np.errstate(over="ignore"):
            sums = row_hashes[rows].sum(), column_hashes[columns].sum()
            left, right = sums[:: -1 if self.columns_are_left else 1]
            self.add("digest", int(_mix(_mix(left ^ LEFT_SEED) + right)))

    def add_tasks(self, *tasks: tuple[int, int, int]) -> bool:
        first = self.add("n_tasks", len(tasks))
        if first + len(tasks) > self.task_capacity:
            self.fail(Failure.TASKS_FULL)
            return False
        place = at(self.tasks, 3 * self.task_capacity, np.uint32).reshape(-1, 3)
        place[first : first + len(tasks)] = tasks
        return True


def lay_out_lists(grid: Any, block: Any, arguments: Any) -> None:
    assert arguments[1].dtype == np.uint32
    warps.run_list_step(arguments[0].ctypes.data, int(arguments[1]), grid[0] * block[0])


def single_rows(grid: Any, block: Any, arguments: Any) -> None:
    run = Search(arguments[0])
    is_root = at(run.is_root, run.n_columns, np.uint32)
    for row, columns in enumerate(run.columns_of_row):
        others = (set(other) for k, other in enumerate(run.columns_of_row) if k != row)
        if not columns or not is_root[columns[0]] or not run.accepts(1, len(columns)):
            continue
        if any(set(columns) <= other for other in others):
            continue
        if not run.output:
            run.report([row], columns)
        elif not run.add_tasks((ONE_ROW, row, 0)):
            return


def build(roots: np.ndarray, next_root: str, fields: Any) -> None:
    run = Search(fields)
    subtrees = at(run.subtrees, run.subtree_capacity * SUBTREE.size, np.uint8).reshape(-1, SUBTREE.size)
    assert len(run.rows_of_column) == run.n_columns
    for root in roots.tolist():
        run.add(next_root, 1)
        if run.add("arena_used", ARENA_WORDS_A_ROOT) + ARENA_WORDS_A_ROOT > run.arena_words:
            return run.fail(Failure.ARENA_FULL)
        place = run.add("n_subtrees", 1)
        subtrees[place][:8] = np.array([root, 0], np.uint32).view(np.uint8)
        if not run.add_tasks((place, 0, 1)):
            return None
    return None


def build_heavy_roots(grid: Any, block: Any, arguments: Any) -> None:
    run = Search(arguments[0])
    assert block == (search_program.HEAVY_THREADS,)
    build(at(run.roots, run.n_heavy, np.uint32), "next_heavy", arguments[0])


def build_light_roots(grid: Any, block: Any, arguments: Any) -> None:
    run = Search(arguments[0])
    assert block == (search_program.LIGHT_THREADS,)
    assert arguments[1].dtype == np.uint32
    build(at(run.roots, run.n_heavy + run.n_light, np.uint32)[run.n_heavy :], "next_light", arguments[0])


def search(grid: Any, block: Any, arguments: Any) -> None:
    """Count, without writing."""
    run = Search(arguments[0])
    if run.read("stop"):
        return
    if run.workspace_words < WORKSPACE_WORDS:
        return run.fail(Failure.WORKSPACE_FULL)
    at(run.workspace, run.workspace_words * grid[0] * block[0] // 32, np.uint32)[-1] = 1
    subtrees = at(run.subtrees, run.subtree_capacity * SUBTREE.size, np.uint8).reshape(-1, SUBTREE.size)
    tasks = at(run.tasks, 3 * run.task_capacity, np.uint32).reshape(-1, 3)
    for subtree, _, _ in tasks[: run.read("n_tasks")]:
        run.add("next_task", 1)
        root = int(subtrees[subtree].view(np.uint32)[0])
        for rows, columns in run.by_root.get(root, []):
            run.add("nodes", 1)
            run.report(rows, columns)
            if run.read("found") > run.max_bicliques:
                run.write("stop", Stop.END)
                return None
    run.write("pending", 0)
    run.add("busy", 60)
    run.write("longest", 20)
    return None


class Output:
    """The chunks that one warp writes."""

    def __init__(self, run: Search) -> None:
        self._run, self._at, self._end = run, 0, 0
        self._words = at(run.output, run.output_words, np.uint32)
        self._chunks = at(run.chunks, 2 * (run.output_words // run.chunk_words + 1), np.uint64).reshape(-1, 2)

    def room(self, words: int) -> bool:
        if self._at + words <= self._end:
            return True
        self.close()
        size = max(words, self._run.chunk_words)
        first = self._run.add("output_used", size)
        if first + size > self._run.output_words:
            self._run.write("stop", Stop.PARK)
            return False
        self._start = self._at = first
        self._end, self._number = first + size, self._run.add("n_chunks", 1)
        return True

    def write(self, record: list[int]) -> None:
        self._words[self._at : self._at + len(record)] = record
        self._at += len(record)

    def close(self) -> None:
        if self._end:
            self._chunks[self._number] = (self._start, self._at - self._start)
        self._at = self._end = 0


def search_bicliques(grid: Any, block: Any, arguments: Any) -> None:
    """Write records; where there is no room, give the rest of the subtree at hand away, and
    park."""
    run = Search(arguments[0])
    assert not any(map(run.read, ("stop", "output_used", "n_chunks", "head")))
    if run.workspace_words < WORKSPACE_WORDS:
        return run.fail(Failure.WORKSPACE_FULL)
    parked = at(run.parked, search_program.PARKED_WORDS * grid[0] * block[0] // 32, np.uint32)
    output, slots = Output(run), at(run.slots, run.slot_capacity * SUBTREE.size, np.uint8).reshape(-1, SUBTREE.size)
    states = at(run.slot_states, run.slot_capacity, np.uint32)
    assert states[: run.read("tail")].tolist() == [Slot.FILLED] * run.read("tail")
    parked[0] += 1
    for root, first in work(run, slots, states):
        for i, (rows, columns) in enumerate(own_bicliques(run, root)[first:], first):
            if not output.room(3 + len(rows) + len(columns)):
                tail = run.add("tail", 1)
                slots[tail].view(np.uint32)[:2] = (root, i)
                states[tail] = Slot.FILLED
                return output.close()
            output.write([min(columns), len(rows), len(columns), *rows, *columns])
            run.report(rows, columns)
    run.write("pending", 0)
    output.close()
    return None


def work(run: Search, slots: np.ndarray, states: np.ndarray) -> Iterator[tuple[int, int]]:
    """Roots (or rows, from `ONE_ROW` down), and the first biclique of each: tasks, then what was
    given away."""
    subtrees = at(run.subtrees, run.subtree_capacity * SUBTREE.size, np.uint8).reshape(-1, SUBTREE.size)
    tasks = at(run.tasks, 3 * run.task_capacity, np.uint32).reshape(-1, 3)
    while run.read("next_task") < run.read("n_tasks"):
        subtree, row, _ = tasks[run.add("next_task", 1)].tolist()
        yield (ONE_ROW - row if subtree == ONE_ROW else int(subtrees[subtree].view(np.uint32)[0])), 0
    while run.read("head") < run.read("tail"):
        slot = run.add("head", 1)
        assert states[slot] == Slot.FILLED
        states[slot] = Slot.TAKEN
        root, first = slots[slot].view(np.uint32)[:2].tolist()
        yield root, first


def own_bicliques(run: Search, root: int) -> list[tuple[list[int], list[int]]]:
    if root >= run.n_columns:
        row = ONE_ROW - root
        return [([row], run.columns_of_row[row])]
    return run.by_root.get(root, [])


def measure_chunks(grid: Any, block: Any, arguments: Any) -> None:
    fields, sizes, n_chunks, smaller_only = arguments
    assert grid[0] * block[0] >= n_chunks
    for i, records in enumerate(chunks_of(Search(fields), int(n_chunks))):
        n_ids = [(len(rows), len(columns)) for _, rows, columns in records]
        if smaller_only:
            n_ids = [(min(each), 0) for each in n_ids]
        sizes[:, i] = len(records), sum(rows for rows, _ in n_ids), sum(columns for _, columns in n_ids)


def chunks_of(run: Search, n_chunks: int) -> Iterator[list[tuple[int, list[int], list[int]]]]:
    words = at(run.output, run.output_words, np.uint32)
    for start, size in at(run.chunks, 2 * n_chunks, np.uint64).reshape(-1, 2).astype(int):
        place, records = start, []
        while place < start + size:
            root, n_rows, n_columns = words[place : place + 3].tolist()
            rows = words[place + 3 : place + 3 + n_rows].tolist()
            columns = words[place + 3 + n_rows : place + 3 + n_rows + n_columns].tolist()
            records.append((root, rows, columns))
            place += 3 + n_rows + n_columns
        yield records


def unpack_chunks(grid: Any, block: Any, arguments: Any) -> None:
    fields, sizes, ends, n_chunks, roots, row_ends, column_ends, rows, columns = arguments
    run = Search(fields)
    row_ids, column_ids = at(run.row_ids, run.n_rows, np.int32), at(run.column_ids, run.n_columns, np.int32)
    for i, records in enumerate(chunks_of(run, int(n_chunks))):
        number, row, column = (int(ends[k, i] - sizes[k, i]) for k in range(3))
        for root, own_rows, own_columns in reversed(records):  # in any order
            roots[number] = column_ids[root]
            for first, ids, own, to in ((row, row_ids, own_rows, rows), (column, column_ids, own_columns, columns)):
                put_list(to[first : first + len(own)], [int(ids[v]) for v in own])
            number, row, column = number + 1, row + len(own_rows), column + len(own_columns)
            row_ends[number - 1], column_ends[number - 1] = row, column


def unpack_smaller(grid: Any, block: Any, arguments: Any) -> None:
    fields, sizes, ends, n_chunks, roots, list_ends, row_counts, column_counts, lists = arguments
    run = Search(fields)
    row_ids, column_ids = at(run.row_ids, run.n_rows, np.int32), at(run.column_ids, run.n_columns, np.int32)
    for i, records in enumerate(chunks_of(run, int(n_chunks))):
        number, first = (int(ends[k, i] - sizes[k, i]) for k in range(2))
        for root, rows, columns in reversed(records):
            left, right = (columns, rows) if run.columns_are_left else (rows, columns)
            rows_wanted = (left if len(left) <= len(right) else right) is rows
            own, ids = (rows, row_ids) if rows_wanted else (columns, column_ids)
            put_list(lists[first : first + len(own)], [int(ids[v]) for v in own])
            first += len(own)
            roots[number], list_ends[number] = column_ids[root], first
            row_counts[number], column_counts[number] = len(rows), len(columns)
            number += 1


def put_list(to: Any, ids: list[int]) -> None:
    """In order where it is short; `sort_long_lists` is launched for the others."""
    to[:] = sorted(ids) if len(ids) <= 32 else sorted(ids, reverse=True)


def sort_long_lists(grid: Any, block: Any, arguments: Any) -> None:
    _, offsets, n_lists, ids = arguments
    assert block == (search_program.SORT_THREADS,)
    assert 0 < grid[0] <= n_lists == len(offsets) - 1
    for first, end in pairwise(offsets.tolist()):
        if end - first > 32:
            ids[first:end].sort()


def move_subtrees(grid: Any, block: Any, arguments: Any) -> None:
    fields, moves, n = arguments
    run = Search(fields)
    assert grid[0] * block[0] >= 32 * n
    slots = at(run.slots, run.slot_capacity * SUBTREE.size, np.uint8).reshape(-1, SUBTREE.size)
    to, of = np.asarray(moves)
    assert len(to) == len(of) == n
    assert not set(to.tolist()) & set(of.tolist())
    slots[to] = slots[of]


class LostCard:
    """The enumeration of a card that is lost when a kernel begins for the n-th time."""

    def __init__(self, launches: int = 0, kernel: str = "search_bicliques") -> None:
        self.left, self._kernel = launches, ENUMERATION[kernel]
        self.kernels = {**ENUMERATION, kernel: self._search}

    def _search(self, grid: Any, block: Any, arguments: Any) -> None:
        self.left -= 1
        if self.left < 0:
            raise CUDARuntimeError("cudaErrorECCUncorrectable")
        self._kernel(grid, block, arguments)


ENUMERATION = {
    "lay_out_lists": lay_out_lists,
    "single_rows": single_rows,
    "build_heavy_roots": build_heavy_roots,
    "build_light_roots": build_light_roots,
    "search_count": search,
    "search_members": search,
    "search_bicliques": search_bicliques,
    "search_best": search_bicliques,  # all of these sizes: the driver sorts out the best
    "measure_chunks": measure_chunks,
    "unpack_chunks": unpack_chunks,
    "unpack_smaller": unpack_smaller,
    "sort_long_lists": sort_long_lists,
    "move_subtrees": move_subtrees,
}
