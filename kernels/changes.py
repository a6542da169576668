"""What a batch of new edges changes: the maximal bicliques that appear, and those that vanish."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from bicliq.kernels.arguments import as_int32, checked_csr, checked_hashes, number_of_threads, one_of, whole_number
from bicliq.kernels.contracts import BicliqueBatch, EnumerationRequest, Int32Array, Int64Array, Side
from bicliq.kernels.cpu import BicliqueStream, CpuSearch, load_extension
from bicliq.kernels.cuda.changes import TABLES, Columns, CudaJudge, empty_on_host
from bicliq.kernels.enumeration import LARGEST_SIZE, UNREACHED, checked_request, stream_maximal_bicliques
from bicliq.kernels.errors import TooManyError, memory_is_capacity
from bicliq.kernels.estimate import estimate_bicliques
from bicliq.kernels.laying_out import BicliqueLists, ChangedRows, RowChanges, RowPacking, list_arrays
from bicliq.kernels.machine import Backend
from bicliq.kernels.rows import find_edges, row_starts
from bicliq.kernels.sharing import cut, finish, joined, pool_of, ranges_of, shares_of
from bicliq.kernels.side import choose_side
from bicliq.kernels.subgraphs import Subgraphs, side_by_side

PATHS_A_SEARCH = 1 << 24
"""Paths of two edges over the changes that are searched together: some 100 MB of subgraphs."""

GROUPS_ESTIMATED = 4
"""Groups of changes whose bicliques are estimated."""

ROUGH_PORTIONS, ROUGH_SHARE = 64, 8
"""Portions of the changes, every eighth of which a rough estimate looks at."""

WORK_ROUGH, WORK_ESTIMATED = 20_000, 100_000
"""What an estimate may take, in nodes of the search: 3 to 50 ms."""


class Allowance:
    """Counts what a search meets.

    Parameters
    ----------
    most
        Bicliques that it may meet; None: any number.
    """

    def __init__(self, most: int | None) -> None:
        self._most, self._met = most, 0

    @property
    def left(self) -> int | None:
        """How many more it may meet: 1 at least, since no search is limited to nothing."""
        return None if self._most is None else max(self._most - self._met, 1)

    def take(self, met: int) -> None:
        """Count some more.

        Raises
        ------
        TooManyError
            Where that is one too many.
        """
        self._met += met
        if self._most is not None and self._met > self._most:
            raise TooManyError(f"more than {self._most:,} bicliques are found around what changed")

    def counted(self, batch: BicliqueBatch) -> BicliqueBatch:
        """Count those of a batch, and pass it on."""
        self.take(len(batch))
        return batch


@dataclass(frozen=True, eq=False)
class Changes:
    """What new edges change.

    Parameters
    ----------
    appeared
        Maximal bicliques of the graph with the new edges that are none of the graph without.
    vanished
        Maximal bicliques of the graph without the new edges that are none of the graph with them.
    backend
        What searched: "cpu-avx2", "cuda"; empty where there was nothing to search.
    """

    appeared: BicliqueLists
    vanished: BicliqueLists
    backend: str

    def backwards(self) -> Changes:
        """What edges that are taken away change, found in the graph that has them."""
        return Changes(self.vanished, self.appeared, self.backend)


class ChangeSearch:
    """The changes that a batch of new edges makes to the maximal bicliques of a graph.

    Parameters
    ----------
    indptr, indices, n_right
        CSR of the graph *with* the new edges, as for `enumerate_maximal_bicliques`.
    new_left, new_right : array of int, shape (n_new,)
        The new edges, each once; all of them are in the graph.
    min_left, min_right, min_edges : int
        Only bicliques of at least these sizes appear or vanish.

    Raises
    ------
    ValueError
        If a new edge is not in the graph, or is there twice.

    Notes
    -----
    Edges that are taken away are the same read backwards: search the graph before, with them as the
    new edges, and exchange appeared and vanished. See `src/changes/changes.hpp` for the method,
    after Das and Tirthapura (2018).

    Examples
    --------
    The fourth edge makes a square of a path of three:

    >>> search = ChangeSearch([0, 2, 4], [0, 1, 0, 1], 2, [1], [1])
    >>> found = search.find()
    >>> found.appeared.left.tolist(), found.appeared.right.tolist()
    ([0, 1], [0, 1])
    >>> len(found.vanished)
    2
    """

    @memory_is_capacity
    def __init__(
        self,
        indptr: Any,
        indices: Any,
        n_right: int,
        new_left: Any,
        new_right: Any,
        *,
        min_left: int = 1,
        min_right: int = 1,
        min_edges: int = 1,
    ) -> None:
        starts, columns, n_columns = checked_csr(indptr, indices, n_right)
        self._least: dict[str, Any] = {
            "min_left": whole_number("min_left", min_left, most=LARGEST_SIZE),
            "min_right": whole_number("min_right", min_right, most=LARGEST_SIZE),
            "min_edges": min(whole_number("min_edges", min_edges), UNREACHED - 1),
        }
        fresh = _rows_of(starts, columns, as_int32(new_left, "new_left"), as_int32(new_right, "new_right"))
        self._rows, self._fresh, self._n_vertices = (starts, columns), fresh, (len(starts) - 1, n_columns)
        self._search = load_extension().ChangeSearch(starts, columns, n_columns, *fresh, *self._least.values())
        self._costs: Int64Array = self._search.costs()

    @property
    def cost(self) -> int:
        """Paths of two edges over the changes: the work of `find`, but for what it finds."""
        return int(self._costs.sum())

    def portions(self, n: int) -> list[tuple[int, int]]:
        """Cut the changes into at most n ranges of about equal cost.

        Parameters
        ----------
        n : int
            Their number. A change that costs more than its share is a range of its own, with
            others before it or not.

        Returns
        -------
        list of tuple of int
            Where each range begins and ends, for `find`; together they are all changes.

        Examples
        --------
        >>> search = ChangeSearch([0, 2, 4], [0, 1, 0, 1], 2, [0, 1], [0, 1])
        >>> search.portions(2), search.portions(1)
        ([(0, 1), (1, 2)], [(0, 2)])
        """
        return ranges_of(self._costs, whole_number("n", n))

    @memory_is_capacity
    def estimate(self, *, rough: bool = False) -> int:
        """Estimate how many bicliques `find` meets: one with several changes once for each.

        Parameters
        ----------
        rough : bool
            Look at an eighth of the changes only, or of one group: an eighth of the time, and the
            number is seldom more than a factor of 4 off.

        Notes
        -----
        10 to 50 ms, a rough one 3 to 10. Random ways are taken from one side alone: to lay the
        subgraphs out for a look at the other took two thirds of the time, and the numbers were no
        better. Where the changes are searched in several groups, `GROUPS_ESTIMATED` of them stand
        for all, by their paths. The same changes give the same number.
        """
        groups = self._groups()
        chosen = [[group] for group in groups[:: -(-len(groups) // GROUPS_ESTIMATED)]] if groups else []
        work = WORK_ESTIMATED
        if rough and groups:
            n = len(groups)
            chosen, work = [self.portions(ROUGH_PORTIONS * n)[:: ROUGH_SHARE * n]], WORK_ROUGH
        found, paths = 0, 0
        for ranges in chosen:
            graph = side_by_side([self._search.neighbourhoods(*range) for range in ranges])
            csr = graph.indptr, graph.indices, len(graph.right)
            found += estimate_bicliques(*csr, work=work, one_side=True, **self._least).bicliques
            paths += sum(int(self._costs[first:last].sum()) for first, last in ranges)
        return round(found * (self.cost / paths)) if paths else 0

    @memory_is_capacity
    def find(
        self,
        *,
        threads: int = 1,
        backend: str = "cpu",
        portion: tuple[int, int] | None = None,
        most: int | None = None,
    ) -> Changes:
        """Search the changes.

        Parameters
        ----------
        threads : int
            Worker threads; 0 takes all cores that this process may use.
        backend : {"cpu", "cuda"}
            Where the subgraphs are searched, and what vanishes in bicliques of one new edge is
            found; the rest is done on the CPU.
        portion : tuple of int, optional
            Search these changes only, one of `portions`. What appears is then of no other portion;
            what vanishes may be of several (`unite_changes`).
        most : int, optional
            Bicliques that may be met, as `estimate` counts them.

        Returns
        -------
        Changes

        Raises
        ------
        BackendError
            If the backend cannot run here.
        TooManyError
            If more than `most` bicliques are met.

        Notes
        -----
        Memory: what appears and vanishes, the subgraphs of `PATHS_A_SEARCH` paths, and some 24
        bytes for each vertex, isolated ones too.
        """
        workers, ran_on, met = number_of_threads(threads), "", Allowance(most)
        found, judged = load_extension().FoundChanges(), []
        judge = CudaJudge(self._tables(), self._least) if backend == Backend.CUDA else None
        with pool_of(workers, found) as pool:
            for first, last in self._groups(*(portion or ())):
                graph = self._spanned(first, last, pool, workers)
                settle = partial(self._settle, found, pool, workers, graph.told, first)
                with self._streamed(graph, workers, backend) as stream:
                    batches = map(met.counted, stream)
                    if judge is None:
                        finish(settle([_columns_of(batch) for batch in batches]))
                    else:
                        judged += [_judged(judge, batch, graph.told, settle) for batch in batches if len(batch)]
                    ran_on = stream.result.backend
            return _listed(found, judged, pool, workers, ran_on, empty_on_host if judge else np.empty)

    def _tables(self) -> dict[str, Any]:
        """The graph and its changes, for a GPU."""
        right_start, right_row, *others = self._search.tables()
        return dict(zip(TABLES, (*self._rows, right_start, right_row, *self._fresh, *others), strict=True))

    def _streamed(self, graph: Subgraphs, workers: int, backend: str) -> BicliqueStream:
        """The bicliques of subgraphs, in batches; those of a GPU stay there."""
        if backend != Backend.CUDA:
            return BicliqueStream(CpuSearch(self._request(graph, workers), "enumerate"), None)
        csr = graph.indptr, graph.indices, len(graph.right)
        return stream_maximal_bicliques(*csr, backend=backend, on_device=True, **self._least)

    def _request(self, graph: Subgraphs, workers: int, most: int | None = None) -> EnumerationRequest:
        """The search of subgraphs on the CPU, below the roots that find everything."""
        csr = graph.indptr, graph.indices, len(graph.right)
        side = choose_side(*csr, min_left=self._least["min_left"], min_right=self._least["min_right"])
        order, roots = graph.searches[side]
        bounds: dict[str, Any] = {
            "side": side,
            "roots": roots,
            "threads": workers,
            "max_bicliques": most,
            **self._least,
        }
        return replace(checked_request(*csr, Backend.CPU, **bounds), order=order)

    @memory_is_capacity
    def find_rows(
        self,
        hashes: Sequence[Any],
        side: Side,
        place: Any,
        *,
        threads: int = 1,
        least: int = 0,
        most: int | None = None,
        packing: RowPacking | None = None,
    ) -> Changes | RowChanges:
        """Search the changes on the CPU, and make rows of smaller sides of what is found.

        Parameters
        ----------
        hashes : pair of arrays of uint64
            The 64-bit hash of each vertex's label, by id, of the left side and of the right one.
        side : {"left", "right"}
            The side of the roots.
        place : array of int
            Of each vertex of that side its place in an order; the root of a biclique is its first
            one.
        threads : int
            As of `find`.
        least : int
            Where fewer bicliques are met, lists are made of them, as by `find`.
        most : int, optional
            As of `find`.
        packing : RowPacking, optional
            How rows are kept.

        Returns
        -------
        RowChanges or Changes

        Raises
        ------
        ValueError
            If a vertex has no hash, no place or no partition, or a layout is one of both sides.
        TooManyError
            If more than `most` bicliques are met.

        Notes
        -----
        What `find` finds, in less time: a biclique is settled where it is found, as a word of its
        rows and one of its columns (`src/changes/change_sink.hpp`), and no list of it is made
        but of its smaller side (`packed_rows.hpp`).

        Examples
        --------
        >>> search = ChangeSearch([0, 2, 4], [0, 1, 0, 1], 2, [1], [1])
        >>> hashes = [np.arange(2, dtype=np.uint64)] * 2
        >>> found = search.find_rows(hashes, "left", [0, 1])
        >>> len(found.appeared), len(found.vanished)
        (1, 2)
        """
        workers, ran_on, extension = number_of_threads(threads), "", load_extension()
        sides = zip(("left", "right"), hashes, self._n_vertices, strict=True)
        left, right = (checked_hashes(each, n, f"{name}_hashes") for name, each, n in sides)
        of_graph = left, right, one_of("side", side, ("left", "right")) == "left", as_int32(place, "place")
        packing, groups = packing or RowPacking(), self._groups()
        found, vertices, met = packing.collector(), extension.GraphVertices(*of_graph), Allowance(most)
        with pool_of(workers, found.others) as pool:
            for first, last in groups:
                graph = self._spanned(first, last, pool, workers)
                few = least if len(groups) == 1 else 0
                left_of, right_of, _, *starts = graph.told
                told = graph.indptr, graph.indices, left_of, right_of, *starts
                settler = extension.Settler(self._search, vertices, found, *told, first, few)
                search = CpuSearch(self._request(graph, workers, met.left), "enumerate", settler)
                search.wait(None)
                met.take(search.progress().bicliques)
                ran_on = search.result().backend
                if settler.finish():
                    return _listed(found.others, [], pool, workers, ran_on)
        appeared, vanished = (ChangedRows(rows, packing) for rows in found.take(vertices))
        return RowChanges(appeared, vanished, ran_on)

    def _settle(
        self,
        found: Any,
        pool: ThreadPoolExecutor,
        workers: int,
        told: Sequence[Any],
        first: int,
        batches: list[Columns],
    ) -> list[Future[None]]:
        """Let threads add what bicliques of the subgraphs change, each at its first change."""
        met = load_extension().MetBicliques(batches, told[2])
        settle = partial(self._search.settle, found, met)
        return [pool.submit(partial(settle, *share, *told, first)) for share in cut(len(met), shares_of(workers))]

    def _spanned(self, first: int, last: int, pool: ThreadPoolExecutor, workers: int) -> Subgraphs:
        """The subgraphs of changes as one graph; each thread makes those of some changes."""
        ranges = ranges_of(self._costs[first:last], shares_of(workers))
        parts = list(pool.map(lambda at: self._search.neighbourhoods(first + at[0], first + at[1]), ranges))
        return side_by_side(parts)

    def _groups(self, first: int = 0, last: int | None = None) -> list[tuple[int, int]]:
        """Changes from `first` to before `last` that are searched together, one after the other."""
        number = np.cumsum(self._costs[first:last]) // PATHS_A_SEARCH
        bounds = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(number)]
        return [(first + begin, first + end) for begin, end in pairwise(bounds) if begin < end]


@memory_is_capacity
def unite_changes(parts: Iterable[Changes]) -> Changes:
    """Unite what was found in portions of the changes of one graph.

    Parameters
    ----------
    parts : iterable of Changes
        What `ChangeSearch.find` found in each portion; taken one after the other.

    Returns
    -------
    Changes
        What one search of all of them finds, in another order; `backend` is that of the last part
        that has one.

    Raises
    ------
    ValueError
        If the lists of a part are none.

    Notes
    -----
    What appeared is counted at one change, and so is in one part. What vanished may lie inside of
    several that appeared; it is taken once. O(ids) time.

    Examples
    --------
    >>> search = ChangeSearch([0, 2, 4], [0, 1, 0, 1], 2, [0, 1], [0, 1])
    >>> found = unite_changes(search.find(portion=portion) for portion in search.portions(2))
    >>> len(found.appeared), len(found.vanished)
    (1, 2)
    """
    found, ran_on = load_extension().FoundChanges(), ""
    for part in parts:
        found.add(*list_arrays(part.appeared), *list_arrays(part.vanished))
        ran_on = part.backend or ran_on
    with pool_of(1, found) as pool:
        return _listed(found, [], pool, 1, ran_on)


def _columns_of(batch: BicliqueBatch) -> Columns:
    return batch.left_offsets, batch.left, batch.right_offsets, batch.right


def _judged(
    judge: CudaJudge, batch: BicliqueBatch, told: Sequence[Any], settle: Callable[[list[Columns]], list[Future[None]]]
) -> tuple[Columns, Columns]:
    """What appeared and vanished by a batch on a GPU; what it cannot tell is settled meanwhile."""
    judged = judge.judge(batch, *told[:3])
    settling = settle([judged.unsettled])
    changes = judged.changes()
    finish(settling)
    return changes


def _listed(
    found: Any,
    judged: Sequence[tuple[Columns, Columns]],
    pool: ThreadPoolExecutor,
    workers: int,
    ran_on: str,
    empty: Any = np.empty,
) -> Changes:
    """What threads have found, and a GPU has judged, as lists."""
    appeared, vanished = (
        BicliqueLists(*joined([*(one[kind] for one in judged), *parts], pool, workers, empty))
        for kind, parts in enumerate(found.take())
    )
    return Changes(appeared, vanished, ran_on)


def _rows_of(
    indptr: Int64Array, indices: Int32Array, left: Int32Array, right: Int32Array
) -> tuple[Int64Array, Int32Array]:
    """The new edges as rows of the left side; all of them are in the graph, each once."""
    n_left = len(indptr) - 1
    if left.shape != right.shape:
        raise ValueError(f"new_left has {len(left)} entries, new_right {len(right)}")
    order = np.lexsort((right, left))
    left, right = left[order], right[order]
    twice = (left[1:] == left[:-1]) & (right[1:] == right[:-1])
    if twice.any():
        place = int(np.argmax(twice))
        raise ValueError(f"the new edge ({left[place]}, {right[place]}) is given twice")
    there = find_edges(indptr, indices, left, right)[1]
    if not there.all():
        place = int(np.argmin(there))
        raise ValueError(
            f"the new edge ({left[place]}, {right[place]}) is not in the graph, which must hold all of them"
        )
    return row_starts(left, n_left), right
