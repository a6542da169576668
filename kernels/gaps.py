"""The best groups with gaps: bicliques of which a few pairs are missing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bicliq.kernels.arguments import checked_csr, number_of_threads, one_of, whole_number
from bicliq.kernels.contracts import Int32Array, Int64Array, Packed, Side
from bicliq.kernels.cpu import load_extension, wait_for
from bicliq.kernels.errors import memory_is_capacity
from bicliq.kernels.finding import (
    MOST_ANSWERS,
    FindProgress,
    FindResult,
    Group,
    check_time_limit,
    checked_sizes,
    numbers_of_kept,
    top_bicliques,
)
from bicliq.kernels.rows import occurrences, of_entries
from bicliq.kernels.surprise import SurpriseTerms
from bicliq.kernels.worth import NO_TERMS, NONE, OBJECTIVES, Objective, least_units, sums_of_edges, terms_of

MOST_MISSING = 255
"""A node holds a bit set for each number of pairs that a member may miss."""

FIRST_SECONDS, FIRST_SHARE = 1.0, 0.25
"""That are spent on groups without gaps, which say what is wanted; and of a time limit, at most."""

MORE_FIRST = 16
"""Groups without a common edge from which a search begins, more than are wanted."""

TIE_BITS = 30
"""Of a value by vertices or by balance, that order equal ones."""


@memory_is_capacity
def groups_with_gaps(
    indptr: Any,
    indices: Any,
    n_right: int,
    k: int = 1,
    objective: Objective = "edges",
    *,
    missing: int,
    missing_each: int | None = None,
    containing: tuple[Sequence[int], Sequence[int]] = ((), ()),
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
    threads: int = 1,
    time_limit: float | None = None,
    progress: Callable[[FindProgress], Any] | None = None,
) -> FindResult:
    """Find the `k` best L × R of a bipartite graph of which at most so many pairs are missing.

    Parameters
    ----------
    indptr, indices, n_right
        CSR of the left side, as of `enumerate_maximal_bicliques`. A vertex without an edge is never
        a member.
    k : int
        How many.
    objective : {"edges", "vertices", "balanced", "weight", "surprise"}
        What a group is worth: the edges that are there, |L| + |R| or min(|L|, |R|), of equal ones
        those with more edges first; the weights of its members, or of its edges that are there; or
        its surprise, for which a missing pair counts ln(1 − p) in place of −ln p, and having chosen
        m of n pairs costs ln C(n, m) + ln (m + 1)(m + 2). As Σ 1 / (m + 1)(m + 2) is 1, exp(−s)
        still bounds the expected number of groups worth s or more in a random table.
    missing : int
        Pairs that may be missing, at most 255. With 0 this is `top_bicliques`.
    missing_each : int, optional
        Pairs that one member may miss, of either side; by default as many.
    containing : pair of sequences of int
        Left and right vertices that every group has.
    min_left, min_right, min_edges, max_left, max_right : int
        Only groups of these sizes; edges are those that are there.
    min_value, left_weights, right_weights, edge_weights, left_degrees, right_degrees
        As of `top_bicliques`.
    diverse : bool
        Whether each next group is the one that adds most to those before it: an edge that one of
        them has is worth nothing. Each may take its share of the time limit.
    threads : int
        Worker threads; 0 takes all cores. The answer does not depend on it.
    time_limit : float, optional
        Seconds after which the search ends; the result then says that it is not proven.
    progress : callable, optional
        Called about five times a second with how far the search is.

    Returns
    -------
    FindResult
        Groups that have all vertices that are joined to their whole other side, and cannot be
        bettered: no other vertex can be added so that a group is worth more, and none that misses
        something taken away so that it is worth as much. Ordered by value, then by edges, fewer
        missing pairs, left and right vertices. Each says which pairs it misses.

    Raises
    ------
    ValueError
        If the arrays are no CSR matrix of whole numbers, or an argument is out of its range.
    CapacityError
        If a size is beyond 32 bits, or memory runs out.

    Notes
    -----
    `src/gaps/gap_finding.hpp` says how. The search visits what may reach the k-th best; with small
    `min_left` and `min_right`, not above `missing`, that may be much.

    Examples
    --------
    K(3, 3) without one of its edges:

    >>> found = groups_with_gaps([0, 3, 6, 8], [0, 1, 2, 0, 1, 2, 0, 1], 3, missing=1)
    >>> [(g.left.tolist(), g.right.tolist(), g.value, g.missing.tolist()) for g in found.groups]
    [([0, 1, 2], [0, 1, 2], 8, [[2, 2]])]
    """
    starts, columns, n_columns = checked_csr(indptr, indices, n_right)
    one_of("objective", objective, OBJECTIVES)
    gaps = whole_number("missing", missing, least=0, most=MOST_MISSING)
    each = gaps if missing_each is None else whole_number("missing_each", missing_each, least=0, most=MOST_MISSING)
    sizes = checked_sizes(min_left, min_right, min_edges, max_left, max_right)
    members = [_members(given, n) for given, n in zip(containing, (len(starts) - 1, n_columns), strict=True)]
    workers, started = number_of_threads(threads), time.monotonic()
    check_time_limit(time_limit)
    weights = {"left_weights": left_weights, "right_weights": right_weights, "edge_weights": edge_weights}
    degrees = {"left_degrees": left_degrees, "right_degrees": right_degrees}
    if objective == "surprise":  # of the whole graph, not of a part
        own = {"left_degrees": np.diff(starts), "right_degrees": occurrences(columns, n_columns)}
        degrees = {name: own[name] if given is None else given for name, given in degrees.items()}
    whole = _joined_to_all(starts, columns, n_columns, members) if any(map(len, members)) else None
    options = {"max_left": max_left, "max_right": max_right, "threads": threads, **degrees}
    plain = _WithoutGaps(starts, columns, n_columns, objective, whole, weights, options)
    asked = {"min_left": min_left, "min_right": min_right}
    if not gaps or not each:
        more = {"min_edges": min_edges, "min_value": min_value, "diverse": diverse, "time_limit": time_limit}
        return _with_missing(plain.best(whole, k, progress=progress, **asked, **more), starts, columns)
    by_sums = diverse or objective in ("weight", "surprise")
    seconds = FIRST_SECONDS if time_limit is None else min(FIRST_SECONDS, FIRST_SHARE * time_limit)
    first, side = plain.to_begin_with(k, seconds, asked, many=by_sums)
    worth, misses = _worth(objective, starts, columns, n_columns, weights, degrees, diverse), (gaps, min(each, gaps))
    wanted, graph = whole_number("k", k, most=MOST_ANSWERS), Packed.of(starts, columns, n_columns)
    search = _Search(plain, graph, worth, wanted, min_value, misses, members, sizes, workers, first, side, progress)
    prepared = time.monotonic() - started
    has_edges = whole is None or (np.diff(starts)[members[0]].all() and np.isin(members[1], columns).all())
    limit = None if time_limit is None else max(time_limit - prepared, 0.0)
    found = (search.cover(limit) if diverse else search.best(limit)) if has_edges else search.none()
    found.seconds["prepare"] += prepared
    return found


@dataclass(frozen=True, eq=False)
class _WithoutGaps:
    """The best groups without gaps, from which a search begins: of all edges, or of some."""

    starts: Int64Array
    columns: Int32Array
    n_right: int
    objective: Objective
    whole: Any  # the edges between vertices that are joined to all of `containing`; None: all
    weights: dict[str, Any]
    options: dict[str, Any]

    def best(self, stay: Any, k: int, **options: Any) -> FindResult:
        """Find the k best among the edges that stay; None: all do."""
        part, own = (self.starts, self.columns), dict(self.weights)
        if stay is not None:
            part = np.concatenate([[0], np.cumsum(stay)])[self.starts], self.columns[stay]
            if own["edge_weights"] is not None:
                own["edge_weights"] = np.asarray(own["edge_weights"])[stay]
        return top_bicliques(*part, self.n_right, k, self.objective, **{**self.options, **own, **options})

    def apart(self, covered: Any, seconds: float) -> list[Group]:
        """Find the best one that has no covered edge."""
        rest = ~covered if self.whole is None else self.whole & ~covered
        return self.best(rest, 1, time_limit=seconds).groups

    def to_begin_with(self, k: int, seconds: float, least: dict[str, int], *, many: bool) -> tuple[list[Group], Side]:
        """Find the k best; of `many`, of any size, and those without a common edge as well."""
        best = self.best(self.whole, k, time_limit=seconds, **({} if many else least))
        first, most = list(best.groups), len(best.groups) + k + MORE_FIRST
        until, covered = time.monotonic() + seconds, np.zeros(len(self.columns), np.bool_)
        while many and len(first) < most and (left := until - time.monotonic()) > 0:
            others = self.apart(covered, left)
            if not others:
                break
            first += others
            covered[entries_of(self.starts, self.columns, others[0].left, others[0].right)] = True
        return first, best.side


@dataclass(frozen=True, eq=False)
class _Worth:
    """What groups are worth, as the extension takes it."""

    objective: str
    gains: Int64Array  # of edges: none, where sizes say it
    weights: tuple[Int64Array, Int64Array]  # of vertices
    terms: SurpriseTerms
    unit: float | None  # of a value of 1

    def of(self, value: int) -> float:
        """In the units of who asked."""
        if self.objective in ("vertices", "balanced"):
            return value >> TIE_BITS
        return value if self.unit is None else value * self.unit


def _worth(
    objective: str, starts: Int64Array, columns: Int32Array, n_right: int, weights: Any, degrees: Any, diverse: bool
) -> _Worth:
    edge_weights = weights["edge_weights"]
    of_vertices = weights["left_weights"] is not None or weights["right_weights"] is not None
    if diverse and (objective not in ("edges", "surprise", "weight") or of_vertices):
        raise ValueError("diverse needs an objective that is a sum over edges: edges, surprise, or edge_weights")
    if edge_weights is not None or (diverse and objective != "surprise"):
        if of_vertices:
            raise ValueError("weights are those of edges or those of vertices, not both")
        gains, unit = sums_of_edges(objective, columns, edge_weights)
        return _Worth("weight", gains, (NONE, NONE), NO_TERMS, unit)
    vertex_weights = weights["left_weights"], weights["right_weights"]
    terms, unit = terms_of(objective, starts, columns, n_right, *vertex_weights, *degrees.values())
    if objective == "weight":
        return _Worth(objective, np.zeros(len(columns), np.int64), (terms.left, terms.right), NO_TERMS, unit)
    gains = terms.edges(starts, columns) if objective == "surprise" else NONE
    return _Worth(objective, gains, (NONE, NONE), terms, unit)


@dataclass(frozen=True, eq=False)
class _Search:
    """A checked question."""

    plain: _WithoutGaps
    graph: Packed
    worth: _Worth
    k: int
    min_value: float | None
    gaps: tuple[int, int]
    members: list[Int32Array]
    sizes: tuple[int, ...]
    threads: int
    first: list[Group]
    side: Side
    progress: Callable[[FindProgress], Any] | None

    def _begun(self, k: int, gains: Int64Array, least: int, first: Sequence[Group] = ()) -> Any:
        extension, worth, kept = load_extension(), self.worth, (self.graph.left, self.graph.right)
        terms = worth.terms if worth.objective == "surprise" else NO_TERMS
        own = [_of_kept(kept[0], terms.left), _of_kept(kept[1], terms.right), *terms.arrays[2:]]
        return extension.GapFinding(
            *self.graph.csr,
            extension.Objective[worth.objective],
            k,
            least << TIE_BITS if worth.objective in ("vertices", "balanced") and least > 0 else least,
            *self.gaps,
            [(_places(kept[0], group.left), _places(kept[1], group.right)) for group in (*self.first, *first)],
            tuple(_places(of, vertices) for of, vertices in zip(kept, self.members, strict=True)),
            self.sizes,
            gains,
            tuple(_of_kept(of, values) for of, values in zip(kept, worth.weights, strict=True)),
            tuple(own),
            SurpriseTerms.unit if worth.objective == "surprise" else 0.0,
            self.threads,
        )

    def _groups(self, answers: Sequence[Any]) -> list[Group]:
        found = []
        for value, *sides in answers:
            left, right = (
                numbers_of_kept(*each) for each in zip((self.graph.left, self.graph.right), sides, strict=True)
            )
            missing = missing_pairs(self.plain.starts, self.plain.columns, left, right)
            found.append(Group(left, right, self.worth.of(value), missing=missing))
        return found

    def _result(self, groups: list[Group], told: list[dict[str, Any]]) -> FindResult:
        nodes, roots, prepare, search = (
            sum(each[name] for each in told) for name in ("nodes", "roots", "prepare_seconds", "search_seconds")
        )
        seconds = {"prepare": float(prepare), "search": float(search)}
        proven = all(each["proven"] for each in told)
        backend = f"cpu-{load_extension().isa}"
        return FindResult(groups, proven, self.side, nodes, roots, seconds, self.threads, backend)

    def none(self) -> FindResult:
        """Where one that every group has is joined to nobody."""
        return self._result([], [])

    def best(self, time_limit: float | None) -> FindResult:
        """Search the k best."""
        task = self._begun(self.k, self.worth.gains, least_units(self.min_value, self.worth.unit))
        told = self._waited(task, lambda: self._groups(task.so_far()), time_limit)
        return self._result(self._groups(told["answers"]), [told])

    def cover(self, time_limit: float | None) -> FindResult:
        """Search what adds most, one group after the other."""
        started, gains, told = time.monotonic(), self.worth.gains.copy(), []
        groups: list[Group] = []
        covered = np.zeros(len(self.plain.columns), np.bool_)
        least = max(least_units(self.min_value, self.worth.unit), 1)
        for number in range(self.k):
            step, limit = time.monotonic(), None
            if time_limit is not None:
                limit = max(time_limit - (step - started), 0.0) / (self.k - number)
            seconds = FIRST_SECONDS if limit is None else min(FIRST_SECONDS, FIRST_SHARE * limit)
            first = self.plain.apart(covered, seconds)
            left = None if limit is None else max(limit - (time.monotonic() - step), 0.0)
            told.append(self._waited(self._begun(1, gains, least, first), lambda: list(groups), left))
            found = self._groups(told[-1]["answers"])
            if not found:
                break
            held = entries_of(self.plain.starts, self.plain.columns, found[0].left, found[0].right)
            covered[held], gains[held] = True, 0
            groups.append(replace(found[0], covered=int(covered.sum())))
        return self._result(groups, told)

    def _waited(self, task: Any, groups: Callable[[], list[Group]], time_limit: float | None) -> dict[str, Any]:
        def tell() -> None:
            assert self.progress is not None
            self.progress(FindProgress(groups(), task.roots_done, task.n_roots))

        wait_for(task, None if self.progress is None else tell, time_limit=time_limit)
        told: dict[str, Any] = task.result()
        return told


def _members(given: Sequence[int], n: int) -> Int32Array:
    found = np.unique(np.asarray(given, np.int64))
    if len(found) and not 0 <= found[0] <= found[-1] < n:
        raise ValueError(f"containing holds {found[0]} to {found[-1]}; vertices are from 0 to {n - 1}")
    return found.astype(np.int32)


def _joined_to_all(starts: Int64Array, columns: Int32Array, n_right: int, members: Sequence[Int32Array]) -> Any:
    """Edges between vertices that are joined to all of these members; none where these are not."""
    own_rows = [columns[starts[u] : starts[u + 1]] for u in members[0].tolist()]
    right = occurrences(np.concatenate([columns[:0], *own_rows]), n_right) == len(members[0])
    met = np.append(0, np.cumsum(np.isin(columns, members[1])))[starts]
    left = np.diff(met) == len(members[1])
    together = left[members[0]].all() and right[members[1]].all()
    return of_entries(left, starts) & right[columns] & together


def _with_missing(result: FindResult, starts: Int64Array, columns: Int32Array) -> FindResult:
    groups = [
        replace(group, missing=missing_pairs(starts, columns, group.left, group.right)) for group in result.groups
    ]
    return replace(result, groups=groups)


def missing_pairs(indptr: Any, indices: Any, left: Any, right: Any) -> Int32Array:
    """Return the pairs of L × R that are no edges of a graph.

    Parameters
    ----------
    indptr, indices
        CSR of the left side, rows ascending.
    left, right : array of int32
        Members, ascending.

    Returns
    -------
    array of int32, shape (n, 2)
        Left and right vertex, ascending.

    Notes
    -----
    O(edges of the left members) time.

    Examples
    --------
    >>> import numpy as np
    >>> missing_pairs([0, 2, 3], np.array([0, 1, 1]), np.array([0, 1]), np.array([0, 1])).tolist()
    [[1, 0]]
    """
    left, right = np.asarray(left), np.asarray(right)
    first, last = np.asarray(indptr)[left], np.asarray(indptr)[left + 1]
    held = np.searchsorted(first, entries_of(indptr, indices, left, right), "right") - 1
    lacking = np.flatnonzero(np.bincount(held, minlength=len(left)) < len(right))
    found = [
        (int(left[i]), int(v))
        for i in lacking
        for v in np.setdiff1d(right, indices[first[i] : last[i]], assume_unique=True)
    ]
    return np.array(found, np.int32).reshape(-1, 2)


def entries_of(indptr: Any, indices: Any, left: Any, right: Any) -> Int64Array:
    """Return the places of the edges of L × R among the entries of a graph.

    Parameters
    ----------
    indptr, indices, left, right
        As of `missing_pairs`.

    Examples
    --------
    >>> import numpy as np
    >>> entries_of([0, 2, 3], np.array([0, 1, 1]), np.array([0, 1]), np.array([1])).tolist()
    [1, 2]
    """
    left = np.asarray(left)
    first, last = np.asarray(indptr)[left], np.asarray(indptr)[left + 1]
    ends = np.cumsum(last - first)
    entries = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - (ends - (last - first)), last - first)
    found: Int64Array = entries[np.isin(indices[entries], right)]
    return found


def _of_kept(kept: Any, values: Int64Array) -> Int64Array:
    return values if kept is None or not len(values) else values[kept]


def _places(kept: Any, vertices: Int32Array) -> list[int]:
    places: list[int] = (vertices if kept is None else np.searchsorted(kept, vertices)).tolist()
    return places
