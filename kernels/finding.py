"""The best maximal bicliques by an objective: the largest, the heaviest, the least likely."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from bicliq.kernels.arguments import checked_csr, number_of_threads, one_of, whole_number
from bicliq.kernels.contracts import EnumerationRequest, Int32Array, Int64Array, Packed, Side
from bicliq.kernels.covers import greedy_choice
from bicliq.kernels.cpu import load_extension, wait_for
from bicliq.kernels.cuda.finding import MOST_WANTED, CudaFindSearch, Wanted
from bicliq.kernels.enumeration import LARGEST_SIZE, UNREACHED, chosen_side
from bicliq.kernels.errors import BackendError, memory_is_capacity
from bicliq.kernels.machine import Backend, why_not
from bicliq.kernels.surprise import SurpriseTerms
from bicliq.kernels.worth import NO_TERMS, OBJECTIVES, Objective, least_units, sums_of_edges, terms_of

MOST_ANSWERS = 2**24


@dataclass(frozen=True, eq=False)
class Group:
    """A maximal biclique and its value.

    Attributes
    ----------
    left, right : array of int32
        Its members, ascending.
    value : int or float
        In units of the objective: edges or vertices, the weights' own unit, or nats. Of a cover:
        what it adds to the groups before it.
    covered : int, optional
        Of a cover: edges of it and of the groups before it, each counted once.
    missing : array of int32, shape (n, 2), optional
        Of a group with gaps: its pairs that are no edges.
    """

    left: Int32Array
    right: Int32Array
    value: float
    covered: int | None = None
    missing: Int32Array | None = None


@dataclass(frozen=True)
class FindProgress:
    """How far a search for the best maximal bicliques is.

    Attributes
    ----------
    groups : list of Group
        Of a cover, the groups that stand; else the best one so far, where there is one.
    roots_done, n_roots : int
        Of the step of the cover, or the range of sizes, that is searched now.
    """

    groups: list[Group]
    roots_done: int
    n_roots: int


@dataclass(frozen=True)
class FindResult:
    """The best maximal bicliques.

    Attributes
    ----------
    groups : list of Group
        The best first.
    proven : bool
        Whether there is certainly no better one: False where the time limit ended the search.
    side : {"left", "right"}
        The side whose vertices were the roots.
    nodes, roots : int
        Nodes of the search, and roots that degrees alone did not rule out.
    seconds : dict of str to float
        ``prepare`` (order, adjacency and bounds) and ``search`` (greed and search).
    threads : int
    backend : str
    """

    groups: list[Group]
    proven: bool
    side: Side
    nodes: int
    roots: int
    seconds: dict[str, float]
    threads: int
    backend: str


@memory_is_capacity
def top_bicliques(
    indptr: Any,
    indices: Any,
    n_right: int,
    k: int = 1,
    objective: Objective = "edges",
    *,
    min_left: int = 1,
    min_right: int = 1,
    min_edges: int = 1,
    max_left: int | None = None,
    max_right: int | None = None,
    min_value: float | None = None,
    left_weights: Any = None,
    right_weights: Any = None,
    edge_weights: Any = None,
    left_degrees: Any = None,
    right_degrees: Any = None,
    diverse: bool = False,
    side: Literal["auto", "left", "right"] = "auto",
    threads: int = 1,
    time_limit: float | None = None,
    backend: str = "cpu",
    progress: Callable[[FindProgress], Any] | None = None,
) -> FindResult:
    """Find the `k` best maximal bicliques of a bipartite graph, without listing all.

    Parameters
    ----------
    indptr, indices, n_right
        CSR of the left side, as of `enumerate_maximal_bicliques`.
    k : int
        How many; with 1 a maximum biclique.
    objective : {"edges", "vertices", "balanced", "weight", "surprise"}
        What a biclique (L, R) is worth:

        - *edges*: |L| · |R|, in edges.
        - *vertices*: |L| + |R|, in vertices.
        - *balanced*: min(|L|, |R|), in vertices.
        - *weight*: the sum of `left_weights` over L and of `right_weights` over R, in their unit;
          or the sum of `edge_weights` over L × R.
        - *surprise*: how far it is beyond chance, in nats: Σ −ln p over its pairs, p the chance of
          a pair in a random table with these degrees, less what the choice of its members
          costs. Above 0 is news: see `SurpriseTerms`.
    min_left, min_right, min_edges, max_left, max_right : int
        Only maximal bicliques of these sizes.
    min_value : float, optional
        Only those that are worth at least so much.
    left_weights, right_weights : array of float
        A weight a vertex, for ``objective="weight"``; a side without weights counts nothing.
    edge_weights : array of float, shape (n_edges,)
        A weight an edge, for ``objective="weight"``, in place of weights of vertices.
    left_degrees, right_degrees : array of int, optional
        Degrees for *surprise*, where the graph is a part of another one; by default those
        of the graph itself.
    diverse : bool
        Cover the graph by greed: the best biclique, then again and again the one that adds most to
        the groups before it, by *edges*, *surprise* or *weight* of edges that none of these has.
        Each step is exact; it ends early where no biclique adds anything. `min_value` is then the
        least that one adds.
    side : {"auto", "left", "right"}
        The side whose vertices are the roots of the search. The answer does not depend on it.
    threads : int
        Worker threads; 0 takes all cores. The answer does not depend on it.
    time_limit : float, optional
        Seconds after which the search ends; the result then says that it is not proven.
    backend : {"cpu", "cuda"}
        Where it runs. A GPU knows no covers, no weights of edges, no time limit, and at most 4,096
        answers (`gpu_cannot_find`).
    progress : callable, optional
        Called about five times a second with how far the search is; by a GPU never. An exception
        of it ends the search.

    Returns
    -------
    FindResult
        Ordered by value, equal ones by edges, then by their lists of left vertices (the one that
        is smaller where they first differ comes first). A step of a cover takes the first in this
        order.

    Raises
    ------
    ValueError
        If the arrays are no CSR matrix of whole numbers, or an argument is out of its range.
    CapacityError
        If a size is beyond 32 bits, or memory runs out.
    BackendError
        If the backend cannot run here, or not for this.

    Notes
    -----
    Branch and bound in the search of `enumerate_maximal_bicliques`; `src/best/finding.hpp`
    and `best_sink.hpp` say how. O(edges) before the search; what the search visits are the nodes
    whose bound reaches the k-th best.

    Each −ln p is rounded to a multiple of
    2⁻²⁰ nats, so that equal blocks are equal to the last bit. Weights are rounded alike, to a power
    of two that lets the sum of all fit 61 bits: weights that are whole numbers stay exact.

    A greedy cover of k groups holds at least 1 − 1/e of the edges that the best k hold (Nemhauser,
    Wolsey and Fisher 1978). `src/best/edge_finding.hpp` says how it is found.

    Examples
    --------
    The complete graph K(2, 2) with one more left vertex that knows one right vertex:

    >>> best = top_bicliques([0, 2, 4, 5], [0, 1, 0, 1, 0], 2, k=2)
    >>> [(g.left.tolist(), g.right.tolist(), g.value) for g in best.groups]
    [([0, 1], [0, 1], 4), ([0, 1, 2], [0], 3)]

    Of the second one two edges lie in the first:

    >>> cover = top_bicliques([0, 2, 4, 5], [0, 1, 0, 1, 0], 2, k=2, diverse=True)
    >>> [(g.value, g.covered) for g in cover.groups]
    [(4, 4), (1, 5)]
    """
    starts, columns, n_columns = checked_csr(indptr, indices, n_right)
    one_of("objective", objective, OBJECTIVES)
    one_of("side", side, ("auto", "left", "right"))
    wanted = whole_number("k", k, most=MOST_ANSWERS)
    sizes = checked_sizes(min_left, min_right, min_edges, max_left, max_right)
    workers = number_of_threads(threads)
    check_time_limit(time_limit)
    weights, terms = None, NO_TERMS
    if edge_weights is not None or (diverse and objective != "surprise"):
        if edge_weights is not None and (left_weights is not None or right_weights is not None):
            raise ValueError("weights are those of edges or those of vertices, not both")
        if diverse and (objective not in ("edges", "surprise", "weight") or left_weights is not None):
            raise ValueError("diverse needs an objective that is a sum over edges: edges, surprise, or edge_weights")
        weights, unit = sums_of_edges(objective, columns, edge_weights)
    else:
        terms, unit = terms_of(
            objective, starts, columns, n_columns, left_weights, right_weights, left_degrees, right_degrees
        )
    graph, on_gpu = Packed.of(starts, columns, n_columns), Backend(backend) is Backend.CUDA
    if on_gpu:
        of_edges = edge_weights is not None
        reason = gpu_cannot_find(wanted, diverse=diverse, edge_weights=of_edges, time_limit=time_limit)
        if reason := why_not("cuda") or reason:
            raise BackendError(f"backend 'cuda' cannot find this: {reason}")
    chosen = chosen_side(side, graph, backend) if on_gpu or side != "auto" else _faster_side(graph)
    least = max(least_units(min_value, unit), 1) if diverse else least_units(min_value, unit)
    cover = _Cover(starts, columns) if diverse else None
    terms = _of_kept(graph, terms)
    asked = _Asked(graph, chosen, objective, wanted, least, sizes, terms, weights, unit, cover, workers, time_limit)
    if on_gpu:
        return _on_gpu(asked)
    if diverse and objective == "surprise":
        return _surprising_cover(asked, progress)
    return _by_one_search(asked, progress)


@dataclass(frozen=True, eq=False)
class _Asked:
    """A checked question."""

    graph: Packed
    side: Side
    objective: str
    k: int
    least: int
    sizes: tuple[int, ...]  # min_left, min_right, min_edges, max_left, max_right
    terms: SurpriseTerms
    edge_weights: Int64Array | None
    unit: float | None
    cover: _Cover | None
    threads: int
    time_limit: float | None

    def begun(self, covered: Sequence[Any] = (), *, only_opens: bool = False) -> Any:
        """A search of the extension."""
        extension, asked = load_extension(), (self.side == "left", self.k, self.least, self.sizes, self.threads)
        if self.edge_weights is not None:
            return extension.EdgeFinding(*self.graph.csr, *asked, self.edge_weights, self.cover is not None)
        by = extension.Objective[self.objective]
        return extension.Finding(*self.graph.csr, *asked, by, self.terms.arrays, covered, only_opens)

    def groups(self, answers: Sequence[Any]) -> list[Group]:
        """Answers of a search in the numbers and units of who asked."""
        of, unit = self.graph, self.unit
        return [
            Group(
                numbers_of_kept(of.left, left),
                numbers_of_kept(of.right, right),
                value if unit is None else value * unit,
            )
            for value, left, right in answers
        ]

    def result(self, groups: list[Group], told: Mapping[str, Any]) -> FindResult:
        """What a search of the extension has come to."""
        seconds = {name: told[f"{name}_seconds"] for name in ("prepare", "search")}
        backend = f"cpu-{load_extension().isa}"
        return FindResult(
            groups, told["proven"], self.side, told["nodes"], told["roots"], seconds, self.threads, backend
        )


def _by_one_search(asked: _Asked, progress: Callable[[FindProgress], Any] | None) -> FindResult:
    """Search the best, or a cover by weights of edges."""
    cover, task = asked.cover, asked.begun()

    def tell(callback: Callable[[FindProgress], Any]) -> None:
        found = asked.groups(task.so_far(len(cover.groups) if cover else 0))
        if cover:
            cover.add(found)
        callback(FindProgress(list(cover.groups) if cover else found, task.roots_done, task.n_roots))

    wait_for(task, None if progress is None else partial(tell, progress), time_limit=asked.time_limit)
    told = task.result()
    groups = asked.groups(told["answers"])
    if cover:
        cover.add(groups[len(cover.groups) :])
    return asked.result(cover.groups if cover else groups, told)


def _surprising_cover(asked: _Asked, progress: Callable[[FindProgress], Any] | None) -> FindResult:
    """Search for what adds most, where a pair counts for one group alone, until greed has it all.

    What was found when time is out is chosen from, too.
    """
    started, proven = time.monotonic(), True
    covered: list[Any] = []
    spent = dict.fromkeys(("nodes", "roots", "prepare_seconds", "search_seconds"), 0)
    cover = asked.cover
    assert cover is not None
    while len(covered) < asked.k:
        wanted = asked.k - len(covered)
        task = replace(asked, k=wanted).begun(covered)

        def tell(running: Any = task) -> None:
            if progress is not None:
                progress(FindProgress(list(cover.groups), running.roots_done, running.n_roots))

        limit = asked.time_limit
        wait_for(task, tell, time_limit=limit and max(limit - (time.monotonic() - started), 0.0))
        told = task.result()
        proven, spent = told["proven"], {name: before + told[name] for name, before in spent.items()}
        cut = proven and len(told["answers"]) == wanted
        chosen = greedy_choice(told["answers"], asked.terms, covered, asked.least, cut=cut)
        covered += [(left.tolist(), right.tolist()) for _, left, right in chosen]
        cover.add(asked.groups(chosen))
        if not cut:
            break
    return asked.result(cover.groups, {"proven": proven, **spent})


def gpu_cannot_find(
    k: int,
    *,
    diverse: bool = False,
    edge_weights: bool = False,
    time_limit: float | None = None,
) -> str | None:
    """Say why a GPU cannot answer a question of `top_bicliques`, or None where it can.

    Examples
    --------
    >>> gpu_cannot_find(20, diverse=True)
    'it finds no covers'
    """
    if diverse:
        return "it finds no covers"
    if edge_weights:
        return "it takes weights of vertices only"
    if time_limit is not None:
        return "it has no time limit"
    return None if k <= MOST_WANTED else f"it finds at most {MOST_WANTED:,} answers, and {k:,} are asked for"


def _on_gpu(asked: _Asked) -> FindResult:
    graph, terms = asked.graph, asked.terms
    min_left, min_right, min_edges, max_left, max_right = asked.sizes
    left_ids, right_ids = (np.arange(n, dtype=np.int32) for n in (graph.n_left, graph.n_right))
    no_hashes = np.zeros(0, np.uint64)
    request = EnumerationRequest(
        *graph.csr, asked.side, None, left_ids, right_ids, no_hashes, no_hashes, min_left, min_right,
        min_edges, max_bicliques=None, threads=1,
    )  # fmt: skip
    opening = replace(asked, threads=1).begun(only_opens=True)
    wanted = Wanted(asked.objective, asked.k, max_left, max_right, terms)
    search = CudaFindSearch(request, wanted, opening)
    groups = asked.groups([(value, np.array(left), np.array(right)) for value, left, right in search.answers()])
    done = search.result()
    seconds = {"prepare": done.seconds["prepare"] + done.seconds["lists"], "search": done.seconds["search"]}
    n_roots = search.progress().n_roots
    return FindResult(groups, True, asked.side, done.nodes, n_roots, seconds, done.threads, done.backend)


def _of_kept(graph: Packed, terms: SurpriseTerms) -> SurpriseTerms:
    """The terms of the vertices that are left."""
    left, right = (
        values if kept is None or not len(values) else values[kept]
        for values, kept in ((terms.left, graph.left), (terms.right, graph.right))
    )
    return replace(terms, left=left, right=right)


def checked_sizes(min_left: Any, min_right: Any, min_edges: Any, max_left: Any, max_right: Any) -> tuple[int, ...]:
    """The sizes of groups, as the extension takes them."""
    return (
        whole_number("min_left", min_left, most=LARGEST_SIZE),
        whole_number("min_right", min_right, most=LARGEST_SIZE),
        min(whole_number("min_edges", min_edges), UNREACHED),
        _largest("max_left", max_left),
        _largest("max_right", max_right),
    )


def check_time_limit(seconds: Any) -> None:
    """Check a time limit, where there is one."""
    if seconds is not None and not seconds >= 0:
        raise ValueError(f"time_limit is {seconds!r}; it must be a number of seconds of at least 0")


def _largest(name: str, value: Any) -> int:
    return 2**32 - 1 if value is None else whole_number(name, value, most=LARGEST_SIZE)


def numbers_of_kept(kept: Any, vertices: Any) -> Int32Array:
    """Vertices in the numbers of who asked."""
    numbers: Int32Array = (vertices if kept is None else kept[vertices]).astype(np.int32)
    return numbers


def _faster_side(graph: Packed) -> Side:
    """The side with fewer paths of two edges.

    Crowded tables are no exception, as they are for an enumeration: few columns over many rows are
    what bounds are good at (fimi-chess: 1 s, and not within 25 s from the other side).
    """
    paths = load_extension().Paths(*graph.csr)
    return "left" if paths.from_left <= paths.from_right else "right"


class _Cover:
    """The groups of a cover, each with the edges that are covered once it is taken."""

    def __init__(self, starts: Int64Array, columns: Int32Array) -> None:
        self._starts, self._columns = starts, columns
        self._covered = np.zeros(0, np.bool_)
        self.groups: list[Group] = []

    def add(self, groups: list[Group]) -> None:
        if not self.groups:
            self._covered = np.zeros(len(self._columns), np.bool_)
        for group in groups:
            for row in group.left:
                first, last = self._starts[row : row + 2]
                self._covered[first + np.searchsorted(self._columns[first:last], group.right)] = True
            self.groups.append(replace(group, covered=int(np.count_nonzero(self._covered))))
